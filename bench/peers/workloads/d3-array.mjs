import * as d3 from 'd3-array'
import { digest, reals, records } from './inputs.mjs'

export const sizes = { small: 10, full: 40000 }

export function main(size) {
  const values = Array.from(reals(size))
  const list = records(Math.ceil(size / 4))
  return [
    d3.extent(values),
    d3.mean(values),
    d3.median(values),
    d3.deviation(values),
    [0.1, 0.5, 0.9].map(p => d3.quantile(values, p)),
    d3.fsum(values),
    d3.ticks(-1, 1, 10),
    digest(
      d3
        .bin()
        .thresholds(20)(values)
        .map(bin => bin.length)
    ),
    digest(
      [
        ...d3.rollup(
          list,
          group => d3.sum(group, d => d.score),
          d => d.address?.city,
          d => d.age % 10
        )
      ].map(([key, map]) => [key, [...map]])
    ),
    digest(d3.flatGroup(list, d => d.name).map(([name, group]) => [name, group.length])),
    digest(
      d3.groupSort(
        list,
        group => d3.median(group, d => d.score),
        d => d.name
      )
    ),
    digest(Array.from(d3.rank(values))),
    d3.bisector(d => d.id).left(list, 5),
    digest(d3.shuffler(d3.randomLcg ?? (() => 0.5))(values.slice(0, 100))),
    [...d3.union([1, 2], [2, 3])],
    digest(d3.cross([1, 2, 3], 'ab', (a, b) => a + b)),
    digest(
      d3.sort(
        list,
        d => -d.score,
        d => d.id
      )
    ),
    digest(Array.from(d3.blur(values.slice(0, 500), 3))),
    d3.least(list, (a, b) => a.age - b.age)?.id,
    digest(
      d3.transpose([
        [1, 2],
        [3, 4]
      ])
    ),
    d3.quickselect(values.slice(), size >> 1)[size >> 1],
    digest([...d3.index(list, d => d.id).keys()])
  ]
}
