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

export default {
  async 'jobs continue in a hidden page, and frames resume when it is shown'({ browser, server }) {
    const demand = (condition, what, seen) => {
      if (!condition) throw new Error(`${what}: ${JSON.stringify(seen)}`)
    }
    if (!browser.hide) return false
    await browser.open(`${server.isolated}/test/browser/hidden.html`)
    await until(browser, 'snapshot().points > 0')

    await browser.hide()
    // The browser stops the frames of a hidden page after a moment.
    await elapse(1000)
    const hidden = await progress(browser, 1000)
    demand(hidden.state === 'hidden', 'the page was not hidden', hidden)
    demand(hidden.frames < 10, 'a hidden page drew frames', hidden)
    demand(hidden.points > 0 && hidden.busy > 200, 'jobs starved in a hidden page', hidden)

    await browser.show()
    // Even on a slow machine a visible page draws more than five frames in half a second.
    const goesOn = ({ state, points, frames }) => state === 'visible' && points > 0 && frames > 5
    let shown
    for (let looks = 0; looks < 60 && !(shown && goesOn(shown)); looks++) shown = await progress(browser, 500)
    demand(goesOn(shown), 'jobs or frames did not go on', shown)
  }
}
