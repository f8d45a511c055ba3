/**
 * addons/preemptify/maps.mjs: source maps of rewritten text.
 */

import { min, stringify } from './primordials.mjs'
import { lineAt, linesOf } from './read.mjs'

/** @param {string} bytes a character each */
const toBase64 = bytes => /** @type {any} */ (globalThis).btoa(bytes)

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Five bits a digit, the sign last, the sixth bit where more follow. @param {number} value */
function vlq(value) {
  let rest = value < 0 ? -value * 2 + 1 : value * 2
  let digits = ''
  for (; rest > 31; rest >>>= 5) digits += DIGITS[rest & 31 | 32]
  return digits + DIGITS[rest]
}

/**
 * The mappings of a source map (ECMA-426), with a segment where each line begins and where each piece of the
 * source begins that was kept. What was inserted belongs to the piece before it.
 *
 * @param {string} source
 * @param {string} text
 * @param {number[]} kept the pieces in the order of the text: of each its place in the text, its place in the
 *   source, and its length
 */
function mapOf(source, text, kept) {
  const lines = linesOf(source)
  const starts = linesOf(text)
  let mappings = ''
  let row = 0
  let written = -1 // in this row, up to here
  let line = 0
  let column = 0
  for (let i = 0; i < kept.length; i += 3) {
    const at = kept[i]
    const original = kept[i + 1]
    const length = kept[i + 2]
    const next = i + 3 < kept.length ? kept[i + 3] : text.length + 1
    for (let here = at; here < next; here = row + 1 < starts.length ? starts[row + 1] : next) {
      for (; starts[row + 1] <= here; row++) {
        mappings += ';'
        written = -1
      }
      const place = original + min(here - at, length)
      const next = place < lines[line] || place >= lines[line + 1] ? lineAt(lines, place) : line
      const begun = written < 0 ? vlq(here - starts[row]) : `,${vlq(here - written)}`
      mappings += `${begun}A${vlq(next - line)}${vlq(place - lines[next] - column)}`
      written = here
      line = next
      column = place - lines[next]
    }
  }
  return mappings
}

/**
 * The line that leads from a rewritten text to its source. In base64, since Node takes no other.
 *
 * @param {string} source @param {string} text @param {number[]} kept as of mapOf
 * @param {string} url of the source
 */
export function mapLine(source, text, kept, url) {
  const map = stringify({ version: 3, sources: [url], names: [], mappings: mapOf(source, text, kept) })
  const bytes = unescape(encodeURIComponent(map)) // of UTF-8
  return `\n//# sourceMappingURL=data:application/json;base64,${toBase64(bytes)}`
}
