// An asynchronous loop that returns to the browser every 5 ms and stops when the text has changed.
import { items } from './items.mjs'
import { Best, match } from './match.mjs'
import { field, show } from './page.mjs'

/** Browsers without `scheduler.yield` get the usual replacement. */
const giveWay = () => globalThis.scheduler?.yield?.() ?? new Promise(resolve => setTimeout(resolve))

field.addEventListener('input', async () => {
  const text = field.value
  const best = new Best(text)
  let end = performance.now() + 5
  for (const item of items) {
    if (performance.now() >= end) {
      await giveWay()
      if (field.value !== text) return
      end = performance.now() + 5
    }
    best.add(match(text, item))
  }
  show(best.result())
})
