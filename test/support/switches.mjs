/**
 * Counts how often the processor goes from one job to another.
 *
 * @param {import('../../rt.mjs').Scheduler} scheduler
 * @returns {{ count: number }} the count, which grows while the scheduler runs
 */
export function switchesOf(scheduler) {
  let last = null
  const found = { count: 0 }
  scheduler.observe(({ type, job }) => {
    if (type !== 'start' && type !== 'resume') return
    if (last !== null && job !== last) found.count++
    last = job
  })
  return found
}
