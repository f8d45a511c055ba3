/**
 * The page without React: a field, a line with the number of results, and a list of rows.
 *
 * @typedef {object} Result
 * @property {string} text
 * @property {number} count
 * @property {{ item: string, start: number, end: number }[]} matches the rows
 */

const [status, list] = ['status', 'list'].map(id => document.getElementById(id))
export const field = /** @type {HTMLInputElement} */ (document.getElementById('field'))

/** @param {Result} result */
export function show(result) {
  const rows = result.matches.map(match =>
    partsOf(match).map(({ text, isMatched }) => isMatched ? `<b>${text}</b>` : text).join(''))
  list.innerHTML = rows.map(row => `<li>${row}</li>`).join('')
  status.textContent = statusOf(result)
}

/** @param {Result} result */
export const statusOf = ({ text, count }) => `${text}: ${count} results`

/**
 * Splits an item into the part that matches and the parts around it.
 *
 * @returns {{ text: string, isMatched: boolean }[]}
 */
export function partsOf({ item, start, end }) {
  return [[0, start], [start, end], [end, item.length]]
    .map(([from, to], i) => ({ text: item.slice(from, to), isMatched: i === 1 }))
    .filter(({ text }) => text !== '')
}
