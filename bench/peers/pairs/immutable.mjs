import { List, Map, OrderedMap, Record, Seq, Set, fromJS, is } from 'immutable'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => records(12, which + 1)

export const calls = {
  list: list => List(list).sortBy(row => row.age).map(row => row.name).toArray(),
  map: list => Map(list.map(row => [row.name, row.id])).merge({ x: 1 }).toJS(),
  nested: list => fromJS(list).setIn([0, 'address', 'city'], 'Rome').toJS(),
  equal: list => is(fromJS(list), fromJS(list)),
  set: list => Set(list.map(row => row.age)).union([1, 2]).toArray(),
  lazy: list => Seq(list).filter(row => row.active).map(row => row.score).take(3).toArray(),
  record: list => list.map(row => Record({ id: 0, name: '' })(row).toJS()),
  ordered: list => OrderedMap(list.map(row => [row.id, row.age])).reverse().toArray()
}
