/**
 * Sorts with all kinds of comparators, natively and as a job: both must make the same comparisons and leave
 * the same order. The tests run in Node and in browsers.
 */
import { seeded } from './seeded.mjs'

/** Lists of a length, from sorted to random. */
const lists = {
  sorted: n => Array.from({ length: n }, (_, i) => i),
  reversed: n => Array.from({ length: n }, (_, i) => n - i),
  'nearly sorted': n => [...Array.from({ length: n - 1 }, (_, i) => i), n / 2 - 0.5],
  runs: n => Array.from({ length: n }, (_, i) => i % 40 * 10 + i % 3),
  'few values': (n, random) => Array.from({ length: n }, () => random.integer(0, 2)),
  random: (n, random) => Array.from({ length: n }, () => random.integer(0, 1000))
}

/** Comparators, including contradictory ones. */
const comparators = {
  numbers: (a, b) => a - b,
  booleans: (a, b) => a > b,
  'the reverse of booleans': (a, b) => a < b,
  inconsistent: (a, b) => (a * 7 + b * 13) % 5 - 2,
  'always more': () => 1,
  'always less': () => -1,
  NaN: () => NaN
}

const kinds = {
  'sort of an array': { make: list => list.slice(), name: 'sort' },
  'toSorted of an array': { make: list => list.slice(), name: 'toSorted' },
  'sort of an array with undefined': { make: list => list.map((x, i) => i % 7 === 3 ? undefined : x), name: 'sort' },
  'sort of a typed array': { make: list => Float64Array.from(list), name: 'sort' }
}

/**
 * Lists the sorts that differ between native code and a job.
 *
 * @param {(sort: any, list: any, compare: any) => any} asJob calls a sort as a job does
 * @returns {string[]}
 */
export function differentSorts(asJob) {
  const random = seeded(7)
  const different = []
  for (const kind in kinds) {
    const { make, name } = kinds[kind]
    if (!make([])[name]) continue
    for (const length of [2, 5, 8, 9, 33, 64, 300, 1000]) {
      for (const form in lists) {
        const list = lists[form](length, random)
        for (const comparator in comparators) {
          const compare = comparators[comparator]
          const traced = sort => {
            const calls = []
            const given = make(list)
            const result = sort(given[name], given, (a, b) => {
              calls.push(a, b)
              return compare(a, b)
            })
            return `${[...result].join()} of ${calls.join()}`
          }
          const native = traced((sort, given, compare) => Reflect.apply(sort, given, [compare]))
          if (traced(asJob) !== native) different.push(`${kind}, ${form}, length ${length}, ${comparator}`)
        }
      }
    }
  }
  return different
}
