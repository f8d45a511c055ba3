import _ from 'underscore'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 3, full: 15000 }

export function main(size) {
  const list = records(size)
  return [
    digest(_.chain(list).where({ active: true }).sortBy('name').pluck('id').value()),
    _.isEqual(list, list.map(_.clone)),
    digest(_.groupBy(list, r => r.age % 10)),
    _.countBy(list, 'name'),
    digest(_.uniq(list, false, r => r.score)),
    _.reduce(list, (sum, r) => sum + r.age, 0),
    _.template('<% _.each(list, function (r) { %><%- r.name %>;<% }) %>')({ list: list.slice(0, 20) }).length,
    digest(_.zip([1, 2], ['a', 'b'])),
    digest(_.object(list.map(r => [r.id, r.age]))),
    _.partial((a, b) => a - b, _, 1)(5),
    digest(_.sortBy(_.shuffle([3]), _.identity)),
    _.compose(
      x => x + 1,
      x => x * 2
    )(5),
    _.max(list, r => r.score).id,
    digest(_.indexBy(list, 'id')),
    _.range(10, 0, -3),
    _.escape('<&>'),
    digest(_.mapObject({ a: 1 }, x => x + 1)),
    _.difference([1, 2, 3], [2]),
    _(list).some(r => r.age > 98)
  ]
}
