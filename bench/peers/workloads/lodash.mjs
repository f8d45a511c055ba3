import _ from 'lodash'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 4, full: 15000 }

export function main(size) {
  const list = records(size)
  return [
    _(list).filter('active').map('tags').flatten().countBy().toPairs().sortBy(0).value(),
    digest(
      _.chain(list)
        .groupBy('name')
        .mapValues(group => _.meanBy(group, 'age'))
        .value()
    ),
    _.isEqualWith(list, _.cloneDeep(list), (a, b, key) => (key === 'id' ? true : undefined)),
    digest(_.sortBy(list, 'score')),
    digest(_.partition(list, { active: true })),
    _.findLast(list, r => r.age > 50)?.id,
    _(list)
      .map('age')
      .filter(age => age > 30)
      .take(5)
      .value(),
    digest(_.keyBy(list, 'id')),
    digest(_.defaultsDeep({ a: { b: 1 } }, ...list.slice(0, 20))),
    digest(_.unionBy(list, list.slice().reverse(), 'name')),
    _.isMatch(list[0], { id: 0 }),
    _.trimEnd('x  '),
    _.padStart(_.toUpper(_.deburr('Jörg')), 8, '*'),
    digest(_.omitBy(list[1], _.isNumber)),
    digest(_.pick(list[2], ['name', 'address.city'])),
    _.sortedIndexBy(list, list[1], 'id')
  ]
}
