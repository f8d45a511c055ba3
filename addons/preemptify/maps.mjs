/**
 * addons/preemptify/maps.mjs: source maps of rewritten text.
 */

import { emptyMap, min, push, stringify } from './primordials.mjs'
import { lineAt, linesOf } from './read.mjs'

/** @param {string} bytes a text with one character for each byte */
const toBase64 = bytes => /** @type {any} */ (globalThis).btoa(bytes)

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Encodes a number. Each digit has five bits of the number, and a sixth bit if more digits follow. The lowest
 * bit of the first digit is the sign.
 *
 * @param {number} value
 */
function vlq(value) {
  let rest = value < 0 ? -value * 2 + 1 : value * 2
  let digits = ''
  for (; rest > 31; rest >>>= 5) digits += DIGITS[rest & 31 | 32]
  return digits + DIGITS[rest]
}

/**
 * Returns the mappings of a source map (ECMA-426). A segment starts at each line of the text, and at each
 * unchanged range of the source. Inserted text belongs to the range before it.
 *
 * @param {string} source
 * @param {string} text
 * @param {number[]} kept the unchanged ranges in the order of the text, with three numbers each: the
 *   position in the text, the position in the source, and the length
 * @param {(number | string)[]} [named] indexes in `kept`, each with the name of the range
 * @param {string[]} [names] receives the names
 */
function mapOf(source, text, kept, named = [], names = []) {
  /** Index of each name, and the last one that was written. */
  const indexes = emptyMap()
  let lastName = 0
  let next = 0
  const lines = linesOf(source)
  const starts = linesOf(text)
  let mappings = ''
  let row = 0
  let written = -1 // the position of the last segment in this row, or -1
  let line = 0
  let column = 0
  for (let i = 0; i < kept.length; i += 3) {
    const at = kept[i]
    const original = kept[i + 1]
    const length = kept[i + 2]
    const end = i + 3 < kept.length ? kept[i + 3] : text.length + 1
    for (let here = at; here < end; here = row + 1 < starts.length ? starts[row + 1] : end) {
      for (; starts[row + 1] <= here; row++) {
        mappings += ';'
        written = -1
      }
      const position = original + min(here - at, length)
      const originalLine = position < lines[line] || position >= lines[line + 1]
        ? lineAt(lines, position) : line
      const begun = written < 0 ? vlq(here - starts[row]) : `,${vlq(here - written)}`
      mappings += `${begun}A${vlq(originalLine - line)}${vlq(position - lines[originalLine] - column)}`
      if (named[next] === i) {
        const name = /** @type {string} */ (named[next + 1])
        if (!indexes.has(name)) {
          indexes.set(name, names.length)
          push(names, name)
        }
        mappings += vlq(indexes.get(name) - lastName)
        lastName = indexes.get(name)
        next += 2
      }
      written = here
      line = originalLine
      column = position - lines[originalLine]
    }
  }
  return mappings
}

/**
 * Returns the comment with the source map of a rewritten text. The map is in Base64, because Node accepts no
 * other encoding.
 *
 * @param {string} source @param {string} text @param {number[]} kept the unchanged ranges: see mapOf
 * @param {string} url the URL of the source
 * @param {(number | string)[]} [named] the names of ranges: see mapOf
 */
export function mapLine(source, text, kept, url, named) {
  /** @type {string[]} */
  const names = []
  const mappings = mapOf(source, text, kept, named, names)
  const map = stringify({ version: 3, sources: [url], names, mappings })
  const bytes = unescape(encodeURIComponent(map)) // the UTF-8 bytes
  return `\n//# sourceMappingURL=data:application/json;base64,${toBase64(bytes)}`
}
