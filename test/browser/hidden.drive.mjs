import { setTimeout as elapse } from 'node:timers/promises'
import { until } from './page-control.mjs'

async function progress(browser, ms) {
  const before = await browser.evaluate('snapshot()')
  await elapse(ms)
  const after = await browser.evaluate('snapshot()')
  return {
    state: after.state,
    points: after.points - before.points,
    frames: after.frames - before.frames,
    busy: after.busy - before.busy
  }
}

/** Waits for half a second in which the page does as it should. A busy machine needs several. */
async function expect(browser, isRight, message) {
  let seen
  for (let looks = 0; looks < 60; looks++) {
    seen = await progress(browser, 500)
    if (isRight(seen)) return
  }
  throw new Error(`${message}: ${JSON.stringify(seen)}`)
}

export default {
  async 'jobs continue in a hidden page, and frames resume when it is shown'({ browser, server }) {
    if (!browser.hide) return false
    await browser.open(`${server.isolated}/test/browser/hidden.html`)
    await until(browser, 'snapshot().points > 0')

    await browser.hide()
    // The browser stops the frames of a hidden page after a moment.
    await expect(browser, ({ state, frames, points, busy }) => state === 'hidden' && frames === 0 && points > 0 && busy > 100,
      'jobs starved, or frames continued, in a hidden page')

    await browser.show()
    // Even on a slow machine a visible page draws more than five frames in half a second.
    await expect(browser, ({ state, points, frames }) => state === 'visible' && points > 0 && frames > 5,
      'jobs or frames did not resume')
  }
}
