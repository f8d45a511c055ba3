// You sort a large array, and `sort()` blocks the page until the last comparison. Here a merge sort runs
// in pieces: the result is the same, also for equal elements, and the page stays responsive.
//
//   const rows = await rt.spawn(sorted, {}, items, (a, b) => a.price - b.price)
import { budget } from 'rt.mjs'

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(a: T, b: T) => number} compare
 * @returns {Generator<void, T[], any>} a sorted copy
 */
export function* sorted(items, compare) {
  let from = [...items], to = [...items]
  for (let width = 1; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length), end = Math.min(start + 2 * width, from.length)
      for (let left = start, right = middle, i = start; i < end; i++) {
        const isLeft = right === end || left < middle && compare(from[left], from[right]) <= 0
        to[i] = from[isLeft ? left++ : right++]
        if (--budget.left <= 0) yield
      }
    }
    [from, to] = [to, from]
  }
  return from
}
