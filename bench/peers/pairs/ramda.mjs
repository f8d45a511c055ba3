import * as R from 'ramda'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => records(12, which + 1)

export const calls = {
  sortWith: list => R.sortWith([R.descend(R.prop('age')), R.ascend(R.prop('name'))], list),
  groupBy: list => R.map(R.pipe(R.pluck('age'), R.mean), R.groupBy(R.prop('name'), list)),
  clone: list => R.equals(list, R.clone(list)),
  transduce: list => R.transduce(R.compose(R.map(R.prop('age')), R.filter(R.gt(50))), R.add, 0, list),
  evolve: list => list.map(R.evolve({ age: R.inc, tags: R.map(R.toUpper) })),
  uniq: list => R.uniq(R.chain(R.prop('tags'), list)),
  lens: list => R.over(R.lensPath([0, 'address', 'city']), city => `${city}!`, list)
}
