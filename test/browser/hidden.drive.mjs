import { setTimeout as elapse } from 'node:timers/promises'

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
  async 'jobs go on in a hidden page, and frames come back with it'({ browser, server }) {
    const demand = (condition, what, seen) => {
      if (!condition) throw new Error(`${what}: ${JSON.stringify(seen)}`)
    }
    await browser.open(`${server.isolated}/test/browser/hidden.html`)
    demand((await progress(browser, 300)).points > 0, 'no job ran')

    await browser.hide()
    // The browser stops the frames of a hidden page after a moment.
    await elapse(1000)
    const hidden = await progress(browser, 1000)
    demand(hidden.state === 'hidden', 'the page was not hidden', hidden)
    demand(hidden.frames < 10, 'a hidden page drew frames', hidden)
    demand(hidden.points > 0 && hidden.busy > 200, 'jobs starved in a hidden page', hidden)

    await browser.show()
    await elapse(300)
    const shown = await progress(browser, 500)
    demand(shown.state === 'visible', 'the page did not come back', shown)
    demand(shown.points > 0 && shown.frames > 5, 'jobs or frames did not go on', shown)
  }
}
