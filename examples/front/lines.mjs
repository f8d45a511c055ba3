const words = ('time clock round slice budget job task queue frame paint script page key press late early wait wake ' +
  'lock share thread loop point yield call stack heap list graph node edge path cost load fetch parse render').split(' ')

/** @param {number} n @returns {string} eight words; the same ones for the same number */
export const lineOf = n => [1, 3, 5, 7, 11, 13, 17, 19].map(step => words[(n * step + n % 389) % words.length]).join(' ')

/** The distances of one line to prefixes of the text. Shared, because an array for each line costs time. */
const distances = new Int32Array(100)

/**
 * Whether a line contains a text with at most one typo for every four characters (Sellers 1980).
 *
 * @param {string} line @param {string} text up to 99 characters
 */
export function isLike(line, text) {
  const { length } = text
  const limit = length >> 2
  for (let j = 0; j <= length; j++) distances[j] = j
  for (let i = 0; i < line.length; i++) {
    const char = line.charCodeAt(i)
    for (let j = 1, diagonal = 0; j <= length; j++) {
      const before = distances[j]
      const change = text.charCodeAt(j - 1) === char ? diagonal : diagonal + 1
      distances[j] = Math.min(change, before + 1, distances[j - 1] + 1)
      diagonal = before
    }
    if (distances[length] <= limit) return true
  }
  return false
}
