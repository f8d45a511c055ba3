import { setTimeout as elapse } from 'node:timers/promises'

/** Opens load.html and types keys as a user would, until the page reports. */
async function measureLoad(browser, server, { isolated, seconds, jobs = 3 }) {
  const { report, results } = server.expect(seconds * 1000 + 60_000)
  const parameters = new URLSearchParams({ report, seconds: String(seconds), jobs: String(jobs) })
  let reported = false
  const settled = results.finally(() => { reported = true })
  settled.catch(() => {})
  await browser.open(`${isolated ? server.isolated : server.plain}/test/browser/load.html?${parameters}`)
  for (let count = 0; !reported; count++) {
    await browser.press('abcdefghij'[count % 10])
    // The intervals vary, so that keys do not coincide with frames or rounds.
    await elapse(100 + count * 37 % 100)
    const problems = await browser.takeProblems()
    if (problems.length) throw new Error(`errors on the console:\n${problems.join('\n')}`)
  }
  return settled
}

const under = isolated => async ({ browser, server }) => {
  const idle = await measureLoad(browser, server, { isolated, seconds: 1, jobs: 0 })
  // A page whose frames starve falls from 60 to 9 or 15 frames per second. A busy machine is also slower
  // without jobs.
  const isStarved = count => load[count] <= idle[count] / 3
  let load
  for (let looks = 0; looks < 3 && (!load || isStarved('framesPerSecond') || isStarved('keysPerSecond')); looks++) {
    load = await measureLoad(browser, server, { isolated, seconds: 2 })
  }
  const demand = (condition, what) => {
    if (!condition) throw new Error(`${what}: ${JSON.stringify({ load, idle })}`)
  }
  demand(load.isolated === isolated, 'isolation is not as asked')
  demand(load.rounds.every(count => count > 0), 'a job starved')
  demand(Math.max(...load.rounds) < 3 * Math.min(...load.rounds), 'jobs of equal rank did not share')
  demand(!isStarved('keysPerSecond'), 'keys were late')
  demand(!isStarved('framesPerSecond'), 'frames starved')
  demand(load.busy > 0.2, 'jobs starved')
}

export default {
  'endless jobs delay neither frames nor keys': under(true),
  'endless jobs delay neither frames nor keys, not isolated': under(false)
}
