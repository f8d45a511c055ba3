/**
 * addons/preemptify/sorts.mjs: the sorting algorithms of engines, so that they can be suspended.
 *
 * ECMA-262 leaves the comparisons of a sort to engines. If a comparator contradicts itself or returns
 * booleans, the order depends on the algorithm. On sorted lists, a merge sort without runs makes up to nine
 * times more comparisons. So a job sorts by the algorithm of its engine. `algorithmOf` finds this algorithm:
 * it records the comparisons of the built-in sort on two lists. If no algorithm makes the same comparisons,
 * the first one is used. All algorithms are stable, so only a contradictory comparator can show the
 * difference.
 *
 * | engine | arrays | typed arrays |
 * | --- | --- | --- |
 * | V8 | TimSort; since 2025 with powers | merge sort from the top down |
 * | SpiderMonkey | insertion sort of windows, then merges | the same |
 * | JavaScriptCore | powersort, since 2026 with galloping | powersort without galloping |
 * | JavaScriptCore before 2024 | merge sort from the bottom up | the same |
 *
 * Each algorithm sorts a list without holes in place.
 */

import { budget, extend } from '../../rt.mjs'
import {
  apply, defineProperties, find, floor, forEach, min, push, pushAll, resume, takeLast
} from './primordials.mjs'
import { MANY_POINTS, steps, suspended } from './run.mjs'

const { counts } = extend.code

/**
 * A comparator as a job calls it, and the test of its answer: see isLess and isMore.
 *
 * @typedef {{ call: any, isMet: (answer: any) => boolean }} Comparison
 */

/**
 * Continues after a comparison that was suspended, or at a point.
 *
 * @param {any} answer @returns {Generator<any, any, any>} the answer of the comparator
 */
function* wait(answer) {
  if (answer === budget) return yield suspended()
  yield counts.p
  return answer
}

/** Whether the first element comes before the second one. @param {any} answer */
const isLess = answer => +answer < 0
/** Whether the first element comes after the second one. @param {any} answer */
const isMore = answer => +answer > 0
/** The same as isLess; JavaScriptCore reads `false` as -1. @param {any} answer */
const isLessOrFalse = answer => typeof answer === 'boolean' ? !answer : +answer < 0

/**
 * Moves elements, which may overlap.
 *
 * @param {any[]} from @param {number} at @param {any[]} to @param {number} start @param {number} count
 */
function move(from, at, to, start, count) {
  if (from === to && at < start) for (let i = count; i-- > 0;) to[start + i] = from[at + i]
  else for (let i = 0; i < count; i++) to[start + i] = from[at + i]
  budget.left -= count >> 4
}

/** @param {any[]} list @param {number} from @param {number} to */
function reverse(list, from, to) {
  for (let a = from, b = to - 1; a < b; a++, b--) {
    const kept = list[a]
    list[a] = list[b]
    list[b] = kept
  }
}

// Runs

/**
 * Finds the run at a position. A strictly descending run is reversed.
 *
 * @param {any[]} list @param {Comparison} less @param {number} from @param {number} end
 * @param {boolean} [reverses] whether a descending part is a run, too
 * @returns {Generator<any, number, any>} the end of the run
 */
function* runAt(list, less, from, end, reverses = true) {
  const { call, isMet } = less
  if (from + 1 >= end) return end
  let isDescending = call(list[from + 1], list[from])
  if (isDescending === budget || --budget.left <= 0) isDescending = yield* wait(isDescending)
  isDescending = isMet(isDescending)
  if (isDescending && !reverses) return from + 1
  let at = from + 2
  for (; at < end; at++) {
    let isNext = call(list[at], list[at - 1])
    if (isNext === budget || --budget.left <= 0) isNext = yield* wait(isNext)
    isNext = isMet(isNext)
    if (isNext !== isDescending) break
  }
  if (isDescending) reverse(list, from, at)
  return at
}

/**
 * Sorts a part by binary insertion. The start of the part is sorted already.
 *
 * @param {any[]} list @param {Comparison} less @param {number} from
 * @param {number} sorted the end of the sorted start
 * @param {number} end @returns {Generator<any, void, any>}
 */
function* insertInto(list, less, from, sorted, end) {
  const { call, isMet } = less
  for (let at = sorted; at < end; at++) {
    const value = list[at]
    let low = from
    let high = at
    while (low < high) {
      const middle = low + ((high - low) >> 1)
      let isBefore = call(value, list[middle])
      if (isBefore === budget || --budget.left <= 0) isBefore = yield* wait(isBefore)
      isBefore = isMet(isBefore)
      if (isBefore) high = middle
      else low = middle + 1
    }
    for (let i = at; i > low; i--) list[i] = list[i - 1]
    list[low] = value
  }
}

/** Consecutive wins of one run after which a merge gallops. */
const MIN_GALLOP = 7

/**
 * Finds the place of a key in a sorted part: exponential search from a hint, then binary search.
 *
 * @param {any[]} list @param {Comparison} less @param {any} key @param {number} from start of the part
 * @param {number} length length of the part @param {number} hint an index in the part
 * @param {boolean} isAfter whether the place is after equal elements, or before them
 * @returns {Generator<any, number, any>} the number of elements before the place
 */
function* gallop(list, less, key, from, length, hint, isAfter) {
  // isRight: whether the place is to the right of an element.
  const { call, isMet } = less
  let isBefore = isAfter ? call(key, list[from + hint]) : call(list[from + hint], key)
  if (isBefore === budget || --budget.left <= 0) isBefore = yield* wait(isBefore)
  isBefore = isMet(isBefore)
  const isRight = isBefore !== isAfter
  const limit = isRight ? length - hint : hint + 1
  let last = 0
  let offset = 1
  while (offset < limit) {
    const element = list[from + (isRight ? hint + offset : hint - offset)]
    let isBefore = isAfter ? call(key, element) : call(element, key)
    if (isBefore === budget || --budget.left <= 0) isBefore = yield* wait(isBefore)
    isBefore = isMet(isBefore)
    if ((isBefore !== isAfter) !== isRight) break
    last = offset
    offset = 2 * offset + 1
  }
  offset = min(offset, limit)
  let low = (isRight ? hint + last : hint - offset) + 1
  let high = isRight ? hint + offset : hint - last
  while (low < high) {
    const middle = low + ((high - low) >> 1)
    const element = list[from + middle]
    let isBefore = isAfter ? call(key, element) : call(element, key)
    if (isBefore === budget || --budget.left <= 0) isBefore = yield* wait(isBefore)
    isBefore = isMet(isBefore)
    if (isBefore !== isAfter) low = middle + 1
    else high = middle
  }
  return high
}

// TimSort, as in CPython and V8

/**
 * Minimum length of a list that is sorted by runs. Shorter lists are sorted by insertion alone, since 2025.
 */
const MIN_TIM_SORT = 16
const MAX_MIN_RUN = 64

/**
 * @typedef {object} TimSort
 * @property {any[]} list
 * @property {Comparison} less
 * @property {any[]} temp the shorter run while two are merged
 * @property {number} minGallop
 * @property {{ base: number, length: number, power: number }[]} runs
 */

/**
 * @param {boolean} isPowersort whether runs are merged by their powers, not by their lengths, and short lists
 *   are sorted by insertion alone: from 2025 on
 * @returns {(list: any[], call: any) => Generator<any, void, any>}
 */
const timSort = isPowersort => function* (list, call) {
  const size = list.length
  /** @type {TimSort} */
  const sort = { list, less: { call, isMet: isLess }, temp: [], minGallop: MIN_GALLOP, runs: [] }
  const { less, runs } = sort
  if (isPowersort && size < MIN_TIM_SORT) return yield* insertInto(list, less, 0, 1, size)
  // Runs of a random list have 32 to 64 elements. Their lengths differ by at most one, so that merges are
  // balanced. Old versions round all lengths up. New versions round so that the sum of lengths follows
  // size / 2 ** shift.
  let shift = 0
  while (size >> shift >= MAX_MIN_RUN) shift++
  const rest = size & ((1 << shift) - 1)
  let sum = 0
  for (let low = 0, high; low < size; low = high) {
    high = yield* runAt(list, less, low, size)
    sum = (sum & ((1 << shift) - 1)) + size
    const shortest = isPowersort ? sum >> shift : (size >> shift) + (rest > 0 ? 1 : 0)
    const forced = min(low + shortest, size)
    if (high < forced) {
      yield* insertInto(list, less, low, high, forced)
      high = forced
    }
    if (isPowersort && low > 0) {
      const power = powerOf(runs[runs.length - 1].base, low, high, size)
      while (runs.length > 1 && runs[runs.length - 2].power > power) yield* mergeRuns(sort, runs.length - 2)
      runs[runs.length - 1].power = power
    }
    push(runs, { base: low, length: high - low, power: 0 })
    if (!isPowersort) for (let at; (at = unbalanced(runs)) >= 0;) yield* mergeRuns(sort, at)
  }
  while (runs.length > 1) {
    const at = runs.length - 2
    yield* mergeRuns(sort, at > 0 && runs[at - 1].length < runs[at + 1].length ? at - 1 : at)
  }
}

/**
 * Finds the run that must be merged with the next one, so that lengths shrink like Fibonacci numbers.
 *
 * @param {TimSort['runs']} runs @returns {number} the index of the run, or -1
 */
function unbalanced(runs) {
  const at = runs.length - 2
  if (at < 0) return -1
  const isOrdered = (/** @type {number} */ n) =>
    n < 2 || runs[n - 2].length > runs[n - 1].length + runs[n].length
  if (!isOrdered(at + 1) || !isOrdered(at)) return runs[at - 1].length < runs[at + 1].length ? at - 1 : at
  return runs[at].length <= runs[at + 1].length ? at : -1
}

/**
 * Merges a run with the next one.
 *
 * @param {TimSort} sort
 * @param {number} at
 * @returns {Generator<any, void, any>}
 */
function* mergeRuns(sort, at) {
  const { list, less, runs } = sort
  const { base, length } = runs[at]
  const { base: right, length: rightLength } = runs[at + 1]
  runs[at].length = length + rightLength
  const last = takeLast(runs)
  if (at + 1 < runs.length) runs[at + 1] = last
  const skipped = yield* gallop(list, less, list[right], base, length, 0, true)
  const left = base + skipped
  const leftCount = length - skipped
  if (leftCount === 0) return
  const rightCount = yield* gallop(list, less, list[right - 1], right, rightLength, rightLength - 1, false)
  if (rightCount === 0) return
  if (leftCount <= rightCount) yield* mergeLow(sort, left, leftCount, right, rightCount)
  else yield* mergeHigh(sort, left, leftCount, right, rightCount)
}

/**
 * Merges two runs from the left; the left run is copied first.
 *
 * @param {TimSort} sort @param {number} base @param {number} left length of the left run
 * @param {number} cursor index in the right run @param {number} right length of the right run
 * @returns {Generator<any, void, any>}
 */
function* mergeLow(sort, base, left, cursor, right) {
  const { list, less, temp } = sort
  const { call, isMet } = less
  move(list, base, temp, 0, left)
  let to = base
  let from = 0
  list[to++] = list[cursor++]
  right--
  merging: while (right > 0 && left > 1) {
    let leftWins = 0
    let rightWins = 0
    do {
      let isRight = call(list[cursor], temp[from])
      if (isRight === budget || --budget.left <= 0) isRight = yield* wait(isRight)
      isRight = isMet(isRight)
      if (isRight) {
        list[to++] = list[cursor++]
        leftWins = 0
        rightWins++
        if (--right === 0) break merging
      } else {
        list[to++] = temp[from++]
        rightWins = 0
        leftWins++
        if (--left === 1) break merging
      }
    } while (leftWins < sort.minGallop && rightWins < sort.minGallop)
    sort.minGallop++
    do {
      if (sort.minGallop > 1) sort.minGallop--
      leftWins = yield* gallop(temp, less, list[cursor], from, left, 0, true)
      move(temp, from, list, to, leftWins)
      to += leftWins
      from += leftWins
      left -= leftWins
      if (leftWins > 0 && left <= 1) break merging // 0 with a comparator that contradicts itself
      list[to++] = list[cursor++]
      if (--right === 0) break merging
      rightWins = yield* gallop(list, less, temp[from], cursor, right, 0, false)
      move(list, cursor, list, to, rightWins)
      to += rightWins
      cursor += rightWins
      right -= rightWins
      if (rightWins > 0 && right === 0) break merging
      list[to++] = temp[from++]
      if (--left === 1) break merging
    } while (leftWins >= MIN_GALLOP || rightWins >= MIN_GALLOP)
    sort.minGallop++
  }
  // The last element of the left run comes after all elements of the right run.
  if (left === 1 && right > 0) {
    move(list, cursor, list, to, right)
    list[to + right] = temp[from]
  } else {
    move(temp, from, list, to, left)
  }
}

/**
 * Merges two runs from the right; the right run is copied first.
 *
 * @param {TimSort} sort @param {number} base @param {number} left length of the left run
 * @param {number} start index of the right run @param {number} right length of the right run
 * @returns {Generator<any, void, any>}
 */
function* mergeHigh(sort, base, left, start, right) {
  const { list, less, temp } = sort
  const { call, isMet } = less
  move(list, start, temp, 0, right)
  let to = start + right - 1
  let from = right - 1
  let cursor = start - 1
  list[to--] = list[cursor--]
  left--
  merging: while (left > 0 && right > 1) {
    let leftWins = 0
    let rightWins = 0
    do {
      let isLeft = call(temp[from], list[cursor])
      if (isLeft === budget || --budget.left <= 0) isLeft = yield* wait(isLeft)
      isLeft = isMet(isLeft)
      if (isLeft) {
        list[to--] = list[cursor--]
        rightWins = 0
        leftWins++
        if (--left === 0) break merging
      } else {
        list[to--] = temp[from--]
        leftWins = 0
        rightWins++
        if (--right === 1) break merging
      }
    } while (leftWins < sort.minGallop && rightWins < sort.minGallop)
    sort.minGallop++
    do {
      if (sort.minGallop > 1) sort.minGallop--
      leftWins = left - (yield* gallop(list, less, temp[from], base, left, left - 1, true))
      to -= leftWins
      cursor -= leftWins
      move(list, cursor + 1, list, to + 1, leftWins)
      left -= leftWins
      if (leftWins > 0 && left === 0) break merging
      list[to--] = temp[from--]
      if (--right === 1) break merging
      rightWins = right - (yield* gallop(temp, less, list[cursor], 0, right, right - 1, false))
      to -= rightWins
      from -= rightWins
      move(temp, from + 1, list, to + 1, rightWins)
      right -= rightWins
      if (rightWins > 0 && right <= 1) break merging // 0 with a comparator that contradicts itself
      list[to--] = list[cursor--]
      if (--left === 0) break merging
    } while (leftWins >= MIN_GALLOP || rightWins >= MIN_GALLOP)
    sort.minGallop++
  }
  // The first element of the right run comes before all elements of the left run.
  if (right === 1 && left > 0) {
    move(list, cursor - left + 1, list, to - left + 1, left)
    list[to - left] = temp[from]
  } else {
    move(temp, 0, list, to - right + 1, right)
  }
}

// Merge sorts

/**
 * Merges two parts that follow each other into another list.
 *
 * @param {any[]} source @param {any[]} target @param {number} from @param {number} middle @param {number} end
 * @param {Comparison} comparison
 * @param {boolean} isMore whether `comparison` tests if the left element comes after the right one; otherwise
 *   it tests if the right element comes before the left one
 * @returns {Generator<any, void, any>}
 */
function* mergeParts(source, target, from, middle, end, comparison, isMore) {
  const { call, isMet } = comparison
  let left = from
  let right = middle
  let to = from
  while (left < middle && right < end) {
    let isRight = isMore ? call(source[left], source[right]) : call(source[right], source[left])
    if (isRight === budget || --budget.left <= 0) isRight = yield* wait(isRight)
    isRight = isMet(isRight)
    target[to++] = isRight ? source[right++] : source[left++]
  }
  move(source, left, target, to, middle - left)
  move(source, right, target, to + middle - left, end - right)
}

/**
 * Sorts short parts by insertion, then merges neighbours, as SpiderMonkey does. There `undefined` is an
 * element of the sorted list, and is last without a call of the comparator. Other engines remove it before
 * they sort.
 *
 * @param {any[]} list @param {any} compare @returns {Generator<any, void, any>}
 */
function* windowSort(list, compare) {
  const size = list.length
  const more = { isMet: isMore, call: (/** @type {any} */ a, /** @type {any} */ b) =>
    a === undefined ? b === undefined ? 0 : 1 : b === undefined ? -1 : compare(a, b) }
  const { call, isMet } = more
  const window = size <= 8 ? size : 4
  for (let from = 0; from < size; from += window) {
    const end = min(from + window, size)
    for (let at = from + 1; at < end; at++) {
      const value = list[at]
      let to = at
      for (; to > from; to--) {
        let isAfter = call(list[to - 1], value)
        if (isAfter === budget || --budget.left <= 0) isAfter = yield* wait(isAfter)
        isAfter = isMet(isAfter)
        if (!isAfter) break
        list[to] = list[to - 1]
      }
      list[to] = value
    }
  }
  let source = list
  /** @type {any[]} */
  let target = []
  for (let width = window; width < size; width *= 2) {
    for (let from = 0; from < size; from += 2 * width) {
      const middle = from + width
      const end = min(middle + width, size)
      let isUnsorted = middle < end && call(source[middle - 1], source[middle])
      if (isUnsorted === budget || --budget.left <= 0) isUnsorted = yield* wait(isUnsorted)
      if (isMet(isUnsorted)) yield* mergeParts(source, target, from, middle, end, more, true)
      else move(source, from, target, from, end - from)
    }
    const sorted = target
    target = source
    source = sorted
  }
  if (source !== list) move(source, 0, list, 0, size)
}

/**
 * Sorts by merging from the top down, as V8 does for typed arrays.
 *
 * @param {any[]} list @param {any} call @returns {Generator<any, void, any>}
 */
function* halvesSort(list, call) {
  /** @type {any[]} */
  const copy = []
  move(list, 0, copy, 0, list.length)
  if (list.length > 1) yield* sortHalves(copy, list, 0, list.length, { call, isMet: isMore })
}

/**
 * Sorts the elements of `source` into `target`. Both lists have the same elements at first.
 *
 * @param {any[]} source @param {any[]} target @param {number} from @param {number} end
 * @param {Comparison} more @returns {Generator<any, void, any>}
 */
function* sortHalves(source, target, from, end, more) {
  const middle = from + ((end - from) >> 1)
  if (middle - from > 1) yield* sortHalves(target, source, from, middle, more)
  if (end - middle > 1) yield* sortHalves(target, source, middle, end, more)
  yield* mergeParts(source, target, from, middle, end, more, true)
}

/**
 * Sorts by merging from the bottom up, as older versions of JavaScriptCore do.
 *
 * @param {any[]} list @param {any} call @returns {Generator<any, void, any>}
 */
function* widthSort(list, call) {
  const size = list.length
  const less = { call, isMet: isLessOrFalse }
  let source = list
  /** @type {any[]} */
  let target = []
  for (let width = 1; width < size; width *= 2) {
    for (let from = 0; from < size; from += 2 * width) {
      const middle = min(from + width, size)
      yield* mergeParts(source, target, from, middle, min(middle + width, size), less, false)
    }
    const sorted = target
    target = source
    source = sorted
  }
  if (source !== list) move(source, 0, list, 0, size)
}

// Powersort (Munro, Wild 2018), as in JavaScriptCore

/**
 * Lists below this length are sorted by insertion. Runs up to this length are extended to FORCED_RUN
 * elements.
 */
const SHORT_RUN = 8
const FORCED_RUN = 64

/**
 * @param {boolean} gallops whether merges gallop
 * @param {boolean} reverses whether descending runs are reversed: from 2026 on
 * @returns {(list: any[], call: any) => Generator<any, void, any>}
 */
const powerSort = (gallops, reverses) => function* (list, call) {
  const size = list.length
  const less = { call, isMet: isLessOrFalse }
  if (size < SHORT_RUN) return yield* insertInto(list, less, 0, 1, size)
  const merge = { list, less, temp: /** @type {any[]} */ ([]), minGallop: MIN_GALLOP }
  /** @type {{ from: number, end: number, power: number }[]} */
  const stack = []
  let from = 0
  let end = yield* longRunAt(list, less, 0, reverses)
  while (end < size) {
    const next = yield* longRunAt(list, less, end, reverses)
    const power = powerOf(from, end, next, size)
    while (stack.length > 0 && stack[stack.length - 1].power > power) {
      const left = takeLast(stack)
      yield* mergeNeighbours(merge, left.from, from, end, gallops)
      from = left.from
    }
    push(stack, { from, end, power })
    from = end
    end = next
  }
  while (stack.length > 0) {
    const left = takeLast(stack)
    yield* mergeNeighbours(merge, left.from, from, end, gallops)
    from = left.from
  }
}

/**
 * Finds the run at a position, and extends a short run by insertion.
 *
 * @param {any[]} list @param {Comparison} less @param {number} from @param {boolean} reverses
 * @returns {Generator<any, number, any>} the end of the run
 */
function* longRunAt(list, less, from, reverses) {
  const { call, isMet } = less
  const size = list.length
  let end = yield* runAt(list, less, from, size, reverses)
  if (end - from <= SHORT_RUN) {
    const forced = min(from + FORCED_RUN, size)
    yield* insertInto(list, less, from, end, forced)
    end = forced
  }
  for (; end < size; end++) {
    let isBefore = call(list[end], list[end - 1])
    if (isBefore === budget || --budget.left <= 0) isBefore = yield* wait(isBefore)
    isBefore = isMet(isBefore)
    if (isBefore) break
  }
  return end
}

/**
 * Returns the depth at which two runs meet in a balanced tree over the list. It is the number of leading bits
 * that the middles of the two runs share, as fractions of the length.
 *
 * @param {number} from @param {number} middle @param {number} end @param {number} size
 */
function powerOf(from, middle, end, size) {
  let a = from + middle
  let b = middle + end
  let power = 0
  for (const whole = 2 * size; floor(2 * a / whole) === floor(2 * b / whole); power++) {
    const bit = floor(2 * a / whole)
    a = 2 * a - bit * whole
    b = 2 * b - bit * whole
  }
  return power
}

/**
 * Merges two runs that follow each other.
 *
 * @param {{ list: any[], less: Comparison, temp: any[], minGallop: number }} merge
 * @param {number} from @param {number} middle @param {number} end @param {boolean} gallops
 * @returns {Generator<any, void, any>}
 */
function* mergeNeighbours(merge, from, middle, end, gallops) {
  const { list, less, temp } = merge
  const { call, isMet } = less
  if (!gallops) {
    yield* mergeParts(list, temp, from, middle, end, less, false)
    return move(temp, from, list, from, end - from)
  }
  let left = from + (yield* gallop(list, less, list[middle], from, middle - from, 0, true))
  if (left === middle) return
  const start = left
  const count = end - middle
  const rightEnd = middle + (yield* gallop(list, less, list[middle - 1], middle, count, count - 1, false))
  if (rightEnd === middle) return
  let right = middle
  let to = left
  merging: for (;;) {
    let leftWins = 0
    let rightWins = 0
    while (leftWins < merge.minGallop && rightWins < merge.minGallop) {
      if (left >= middle || right >= rightEnd) break merging
      let isRight = call(list[right], list[left])
      if (isRight === budget || --budget.left <= 0) isRight = yield* wait(isRight)
      isRight = isMet(isRight)
      temp[to++] = isRight ? list[right++] : list[left++]
      leftWins = isRight ? 0 : leftWins + 1
      rightWins = isRight ? rightWins + 1 : 0
    }
    merge.minGallop++
    do {
      if (merge.minGallop > 1) merge.minGallop--
      if (left >= middle || right >= rightEnd) break merging
      leftWins = yield* gallop(list, less, list[right], left, middle - left, 0, true)
      move(list, left, temp, to, leftWins)
      to += leftWins
      left += leftWins
      temp[to++] = list[right++]
      if (left >= middle || right >= rightEnd) break merging
      rightWins = yield* gallop(list, less, list[left], right, rightEnd - right, 0, false)
      move(list, right, temp, to, rightWins)
      to += rightWins
      right += rightWins
      temp[to++] = list[left++]
      if (left >= middle || right >= rightEnd) break merging
    } while (leftWins >= MIN_GALLOP || rightWins >= MIN_GALLOP)
    merge.minGallop++
  }
  move(list, left, temp, to, middle - left)
  move(list, right, temp, to + middle - left, rightEnd - right)
  move(temp, start, list, start, rightEnd - start)
}

// The algorithm of this engine

/** @typedef {(list: any[], call: any) => Generator<any, void, any>} Sort */

/** The algorithms of engines for arrays, and for typed arrays. @type {Sort[]} */
const ALGORITHMS = [
  timSort(true), timSort(false), halvesSort, windowSort, powerSort(true, true), powerSort(false, true),
  powerSort(false, false), widthSort
]

/** Whether an algorithm also sorts `undefined`. @param {Sort} sort */
export const sortsUndefined = sort => sort === windowSort

/**
 * The generator functions that others delegate to. A page may replace what `yield*` looks up on generators,
 * so the prototype of each of these gets its own methods.
 */
const DELEGATES = [
  wait, runAt, insertInto, gallop, mergeRuns, mergeLow, mergeHigh, mergeParts, sortHalves, longRunAt,
  mergeNeighbours
]

/**
 * Lengths of the lists on which algorithms are compared. The short list is sorted by insertion alone, the
 * long list by runs, merges and galloping.
 */
const PROBE_LENGTHS = [12, 700]

/** Returns an element of such a list, which has ascending, descending and random parts. @param {number} i */
const probeElement = i => i % 100 < 40 ? i : i % 100 < 70 ? -i : i * 73 % 251

/**
 * Finds the algorithm of a built-in sort. The first algorithm with the same comparisons in the same order is
 * taken.
 *
 * @param {any} sort the built-in method @param {(length: number) => any} make makes an array, typed or not
 * @returns {Sort}
 */
export function algorithmOf(sort, make) {
  forEach(pushAll(pushAll([], DELEGATES), ALGORITHMS), ({ prototype }) => {
    defineProperties(prototype, steps)
  })
  /** @type {Probe[]} */
  const probes = []
  forEach(PROBE_LENGTHS, length => { push(probes, probeOf(sort, make, length)) })
  const { left } = budget
  const found = find(ALGORITHMS, algorithm => !find(probes, probe => !comparesAlike(algorithm, probe)))
  budget.left = left
  return found ?? ALGORITHMS[0]
}

/**
 * A list, and the elements that the built-in sort compares in the list, in pairs.
 *
 * @typedef {{ list: any[], pairs: any[] }} Probe
 */

/**
 * Records the comparisons of a built-in sort.
 *
 * @param {any} sort @param {(length: number) => any} make @param {number} length @returns {Probe}
 */
function probeOf(sort, make, length) {
  const list = make(length)
  for (let i = 0; i < length; i++) list[i] = probeElement(i)
  const probe = { list: copied(list), pairs: /** @type {any[]} */ ([]) }
  apply(sort, list, [(/** @type {number} */ a, /** @type {number} */ b) => {
    push(probe.pairs, a, b)
    return a - b
  }])
  return probe
}

/** Whether an algorithm makes the comparisons of a probe. @param {Sort} algorithm @param {Probe} probe */
function comparesAlike(algorithm, { list, pairs }) {
  let isAlike = true
  let at = 0
  budget.left = MANY_POINTS
  resume(algorithm(copied(list), (/** @type {number} */ a, /** @type {number} */ b) => {
    isAlike &&= pairs[at] === a && pairs[at + 1] === b
    at += 2
    return a - b
  }))
  return isAlike && at === pairs.length
}

/** @param {any} list */
function copied(list) {
  /** @type {any[]} */
  const copy = []
  for (let i = 0; i < list.length; i++) push(copy, list[i])
  return copy
}
