/**
 * The search of a page without a scheduler: it blocks until all items are compared. preemptify rewrites this
 * module; its source needs no changes.
 */
import { items } from './items.mjs'
import { Best, match } from './match.mjs'
import { show } from './page.mjs'

/** @param {string} text @param {number} [limit] the number of rows */
export function search(text, limit) {
  const best = new Best(text, limit)
  for (const item of items) best.add(match(text, item))
  return best.result()
}

/** @param {string} text */
export function find(text) {
  show(search(text))
}
