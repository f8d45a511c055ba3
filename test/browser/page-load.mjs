/**
 * Keeps a scheduler busy with endless jobs.
 *
 * @param {import('../../rt.mjs').Scheduler} scheduler
 * @returns {() => Promise<void>} cancels the jobs
 */
export function load(scheduler) {
  const jobs = [1, 2].map(() => scheduler.spawn(function* () { for (;;) yield }))
  return async () => {
    for (const job of jobs) job.cancel()
    await Promise.allSettled(jobs)
  }
}
