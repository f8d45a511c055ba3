/** The search with main-thread-scheduling, as its documentation shows it for a loop. */
import { isTimeToYield, yieldControl } from '../peers/node_modules/main-thread-scheduling/index.js'
import { items } from './items.mjs'
import { Best, match } from './match.mjs'
import { field, show } from './page.mjs'

/** Searches at each key; a new search aborts the stale one. @param {'interactive' | 'smooth'} strategy */
export function searchBy(strategy) {
  let controller = new AbortController()
  field.addEventListener('input', () => {
    controller.abort()
    controller = new AbortController()
    find(field.value, strategy, controller.signal).catch(error => {
      if (error.name !== 'AbortError') throw error
    })
  })
}

async function find(text, strategy, signal) {
  const best = new Best(text)
  for (const item of items) {
    if (isTimeToYield(strategy)) await yieldControl(strategy, signal)
    best.add(match(text, item))
  }
  show(best.result())
}
