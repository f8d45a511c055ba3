import * as _ from 'lodash-es'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 4, full: 6000 }

export function main(size) {
  const list = records(size)
  const deep = _.cloneDeep(list)
  const merged = _.merge({}, ...list.slice(0, 50), { tags: { length: 2 } })
  return [
    _.isEqual(list, deep),
    _.mapValues(_.groupBy(list, 'address.city'), group => _.sumBy(group, 'score')),
    digest(_.sortBy(list, ['name', r => -r.age])),
    digest(_.orderBy(list, ['age', 'name'], ['desc', 'asc'])),
    _.countBy(list, r => r.tags.length),
    digest(_.uniqBy(list, 'age').map(_.property('id'))),
    _.chain ? 'chain' : _.flow([_.flatten, _.uniq, _.sortBy])(list.map(r => r.tags)),
    merged,
    digest(_.chunk(_.range(size), 7)),
    _.words(_.startCase('some text_of-words')).map(_.camelCase),
    digest(
      _.zipObjectDeep(
        list.map(r => `a[${r.id % 50}].b${r.id % 7}`),
        _.map(list, 'age')
      )
    ),
    _.template('<% _.forEach(list, function (x) { %><i><%- x.name %></i><% }) %>')({ list: list.slice(0, 5) }),
    _.reduceRight(list, (sum, { age }) => ((sum * 3) % 1009) + age, 1),
    digest(
      _.transform(
        list,
        (all, { name, age }) => {
          ;(all[name] ??= []).push(age)
        },
        {}
      )
    ),
    _.maxBy(list, 'score').id,
    _.memoize(n => n * 2)(21),
    digest(_.differenceWith(list.slice(0, 60), list.slice(20, 80), _.isEqual)),
    _.intersectionBy(list, list.slice(1, 9), 'id').length,
    _.curry((a, b, c) => a + b + c)(1)(2)(3),
    digest(_.invertBy(_.fromPairs(list.map(r => [r.id, r.name]))))
  ]
}
