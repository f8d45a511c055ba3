/**
 * Fuzzy matching that tolerates typing errors: finds the part of an item that differs least from the text
 * (Sellers 1980).
 *
 * @typedef {object} Match
 * @property {string} item
 * @property {number} errors the number of characters to add, remove or replace
 * @property {number} start
 * @property {number} end the matching part is `item.slice(start, end)`
 */

/**
 * Finds the part of `item` that differs least from `text`.
 *
 * @param {string} text @param {string} item
 * @returns {Match | null} `null` if all parts have too many errors
 */
export function match(text, item) {
  const { length } = text
  // For the first `j` characters of the text: the fewest errors of all parts that end at the present
  // character of the item, and the start of the part with these errors.
  const errors = Array.from({ length: length + 1 }, (_, j) => j)
  const starts = Array(length + 1).fill(0)
  const best = { item, errors: length, start: 0, end: 0 }
  for (let end = 1; end <= item.length; end++) {
    let previousErrors = 0
    let previousStart = end - 1
    starts[0] = end
    for (let j = 1; j <= length; j++) {
      const replaced = previousErrors + (text[j - 1] === item[end - 1] ? 0 : 1)
      const added = errors[j] + 1
      const removed = errors[j - 1] + 1
      const fewest = Math.min(replaced, added, removed)
      const start = fewest === replaced ? previousStart : fewest === added ? starts[j] : starts[j - 1]
      previousErrors = errors[j]
      previousStart = starts[j]
      errors[j] = fewest
      starts[j] = start
    }
    if (errors[length] < best.errors) {
      Object.assign(best, { errors: errors[length], start: starts[length], end })
    }
  }
  return best.errors <= length / 4 ? best : null
}

/** The matches with the fewest errors. Sorts at most 1000 matches at a time, which takes about 1 ms. */
export class Best {
  #matches = []
  #count = 0

  /** @param {string} text @param {number} [limit] the number of rows */
  constructor(text, limit = 50) {
    this.text = text
    this.limit = limit
  }

  /** @param {Match | null} match */
  add(match) {
    if (match === null) return
    this.#count++
    this.#matches.push(match)
    if (this.#matches.length === 1000) this.#sort()
  }

  /** @returns {import('./page.mjs').Result} */
  result() {
    this.#sort()
    return { text: this.text, count: this.#count, matches: this.#matches }
  }

  #sort() {
    this.#matches.sort(compare)
    this.#matches.length = Math.min(this.#matches.length, this.limit)
  }
}

/** @param {Match} a @param {Match} b */
function compare(a, b) {
  return a.errors - b.errors || a.item.length - b.item.length || (a.item < b.item ? -1 : 1)
}
