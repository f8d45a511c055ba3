import { List, Map, OrderedSet, Range, Record, Seq, fromJS, is } from 'immutable'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 4, full: 2500 }

class Point extends Record({ x: 1, y: 2 }) {
  get sum() {
    return this.x + this.y
  }
}

export function main(size) {
  let state = fromJS({ list: records(size), byName: {} })
  for (let i = 0; i < size; i++)
    state = state.updateIn(['list', i, 'age'], age => age + 1).setIn(['byName', state.getIn(['list', i, 'name'])], i)
  const groups = state
    .get('list')
    .groupBy(record => record.get('age') % 10)
    .map(group => group.reduce((sum, record) => sum + record.get('score'), 0))
  const map = Map().withMutations(m => {
    for (let i = 0; i < size; i++) m.set(`k${(i * 7919) % size}`, i)
  })
  return [
    digest(groups.sortBy((_, key) => key).toJS()),
    is(fromJS(state.toJS()), state),
    map.size,
    digest(
      map
        .filter(v => v % 3 === 0)
        .keySeq()
        .sort()
        .toArray()
    ),
    Seq(Range(0, Infinity))
      .filter(x => x % 2)
      .map(x => x * x)
      .take(5)
      .toJS(),
    OrderedSet('hello').union('world').join(''),
    List([3, 1, 2])
      .sort((a, b) => b - a)
      .interpose(0)
      .toJS(),
    new Point({ x: 5 }).sum,
    state.get('byName').toJS(),
    digest(
      state
        .get('list')
        .sortBy(r => [r.get('name'), r.get('id')].join())
        .map(r => r.get('id'))
        .toJS()
    ),
    List.of(1, 2).zip(List.of('a', 'b')).toJS(),
    map.hashCode(),
    digest(state.mergeDeep({ list: [{ age: 0 }] }).toString())
  ]
}
