import * as _ from 'lodash-es'
import { records } from '../workloads/inputs.mjs'

export function inputs(name, which) {
  if (/^size|^pad|^words|^trim/.test(name)) return which ? 'b\u{1F601}\u{1F602} '.repeat(15) : '\u{1F600}a, '.repeat(20)
  return records(10, which + 1)
}

export const calls = {
  orderBy: list => _.orderBy(list, ['age', 'id'], ['desc', 'asc']),
  groupBy: list => _.mapValues(_.groupBy(list, row => row.name), group => group.length),
  uniqBy: list => _.uniqBy(_.flatMap(list, row => [row.age, row.id]), value => value % 7),
  cloneDeep: list => _.isEqual(_.cloneDeep(list), list),
  merge: list => _.merge({}, ...list),
  template: list => _.template('<% _.forEach(list, row => { %><b><%- row.name %></b><% }) %>')({ list, _ }),
  chain: list => _.chain(list).filter('active').map('score').sortBy().take(3).value(),
  memoize: list => list.map(_.memoize(row => row.age * 2, row => row.id)),
  difference: list => _.differenceWith(list, list.slice(0, 4), _.isEqual),
  get: list => list.map(row => _.get(row, 'address.city', 'none')),
  curry: list => _.curry((a, b) => [a.length, b])(list)(1),
  size: text => _.size(text),
  pad: text => _.pad(text, 90, '\u{1F600}x'),
  words: text => _.words(text).map(_.upperFirst),
  trim: text => _.trim(text, ', \u{1F602}')
}
