// Runs in pages: a whole program natively, rewritten and called plainly, and rewritten as a job.
import { preemptify } from '../addons/preemptify.mjs'
import { Scheduler } from '../rt.mjs'

/**
 * Measures all ways in turn. The first run of each way is cold.
 *
 * @param {string} url URL of the program @param {number} passes
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
      // Let the browser finish the work that the previous run left.
      await new Promise(resolve => setTimeout(resolve, 20))
      const began = performance.now()
      await run()
      costs[name].push(performance.now() - began)
    }
    ways.push(ways.shift())
  }
  return costs
}
