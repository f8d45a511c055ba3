/** The search as a job: the loop of search.mjs as a generator, with a preemption point for each item. */
import { budget } from '../../rt.mjs'
import { items } from './items.mjs'
import { Best, match } from './match.mjs'

/** @param {string} text @param {number} [limit] the number of rows */
export function* search(text, limit) {
  const best = new Best(text, limit)
  for (const item of items) {
    if (--budget.left <= 0) yield
    best.add(match(text, item))
  }
  return best.result()
}
