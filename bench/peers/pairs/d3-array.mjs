import * as d3 from 'd3-array'
import { reals, records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => /^rollup|^group/.test(name) ? records(30, which + 1) : Array.from(reals(40 + which, which + 1))

export const calls = {
  sort: list => d3.sort(list, d3.descending),
  bin: list => d3.bin().thresholds(8)(list).map(bin => bin.length),
  quantile: list => [d3.quantile(list, 0.3), d3.median(list), d3.deviation(list)],
  rollup: list => [...d3.rollup(list, group => d3.sum(group, d => d.score), d => d.age % 10)],
  groupSort: list => d3.groupSort(list, group => d3.median(group, d => d.score), d => d.name),
  sets: list => [d3.rank(list).join(), [...d3.union(list, [1, 2])].length, d3.cumsum(list).join()]
}
