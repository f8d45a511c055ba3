import { setTimeout as elapse } from 'node:timers/promises'

/**
 * Opens load.html and types keys into it, as if by a user, until it reports.
 *
 * @param {import('./run.mjs').Browser} browser
 * @param {Awaited<ReturnType<typeof import('./results.mjs').serveTests>>} server
 * @param {{ isolated: boolean, seconds: number, warmup?: number, jobs?: number }} options
 */
export async function measureLoad(browser, server, { isolated, seconds, warmup = 1, jobs = 3 }) {
  const { report, results } = server.expect((warmup + seconds) * 1000 + 60_000)
  const parameters = new URLSearchParams({ report, seconds: String(seconds), warmup: String(warmup), jobs: String(jobs) })
  let reported = false
  const settled = results.finally(() => { reported = true })
  settled.catch(() => {})
  await browser.open(`${isolated ? server.isolated : server.plain}/test/browser/load.html?${parameters}`)
  for (let count = 0; !reported; count++) {
    await browser.press('abcdefghij'[count % 10])
    // Uneven, so that keys do not fall into step with frames or rounds.
    await elapse(100 + count * 37 % 100)
    const problems = await browser.takeProblems()
    if (problems.length) throw new Error(`errors on the console:\n${problems.join('\n')}`)
  }
  return settled
}
