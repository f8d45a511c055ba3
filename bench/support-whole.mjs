// Runs in pages: a whole program as it is, rewritten and called plainly, and rewritten as a job.
import { preemptify } from '../addons/preemptify.mjs'
import { Scheduler } from '../rt.mjs'

/**
 * How long each way takes, in turn: the first run of each is cold.
 *
 * @param {string} url of the program @param {number} passes
 * @returns {Promise<Record<'native' | 'plain' | 'job', number[]>>} ms
 */
export async function measure(url, passes) {
  const native = await import(url)
  const program = await preemptify.import(url)
  const scheduler = new Scheduler(native.scheduler)
  const { full } = native.sizes
  const ways = [
    ['native', () => native.main(full)],
    ['plain', () => program.main(full)],
    ['job', () => scheduler.spawn(program.main, undefined, full)]
  ]
  const costs = { native: [], plain: [], job: [] }
  for (let pass = 0; pass < passes; pass++) {
    for (const [name, run] of ways) {
      // What the run before left to the browser is done.
      await new Promise(resolve => setTimeout(resolve, 20))
      const began = performance.now()
      await run()
      costs[name].push(performance.now() - began)
    }
    ways.push(ways.shift())
  }
  return costs
}
