/**
 * addons/deadlock.mjs: reports that the remaining jobs can never run again.
 *
 * rt.mjs itself reports a cycle of jobs in which each job waits for a lock of the next job. This addon finds
 * the second kind of deadlock. There every job waits on a channel, a semaphore, a barrier, a lock or a job,
 * and no code is left to wake a job. CSP calls such a set of jobs a closed world. The scheduler of a page is
 * usually open, because the next click can start a job. Therefore a page must request the report:
 *
 *   const stop = reportDeadlocks()
 *   await rt.idle() // rejects with a DeadlockError if the jobs are deadlocked
 *
 * A scheduler is deadlocked if all of these hold:
 *
 *   - jobs are left, and all of them wait;
 *   - no job is ready, pending, or waits for a reservation to be replenished;
 *   - no alarm is set, no job sleeps, and no job has `miss: 'abort'` and a deadline;
 *   - no job waits for a promise, an event, a peer or another thread, also as one branch of a choice
 *     (`isExternal` of waitables);
 *   - no listener of `on()` and no `frames()` can release a job (`extend.hold`).
 *
 * The addon is an observer (`scheduler.observe`): it follows which jobs wait. It cannot know jobs that were
 * spawned before it, so it reports nothing while one of them lives.
 *
 * @module deadlock
 */

import { DeadlockError, Job, extend, rt } from '../rt.mjs'
/** @import { Scheduler } from '../rt.mjs' */

/** Maximum number of jobs that a message names. */
const MAX_NAMES = 12

/** @param {Job[]} jobs @returns {string} */
function namesOf(jobs) {
  const names = jobs.slice(0, MAX_NAMES).map(({ name }) => name).join(', ')
  return jobs.length <= MAX_NAMES ? names : `${names} and ${jobs.length - MAX_NAMES} more`
}

/**
 * Whether only a job can end a wait.
 *
 * @param {any} on the value that a job waits for: a waitable, job or thenable
 */
const isInternal = on => on instanceof Job || on instanceof extend.Waitable && !on.isExternal

/** The states of the jobs of one scheduler. */
class Watch {
  /**
   * The value that each known job waits for; null if the job does not wait, or if no job can wake it.
   *
   * @type {Map<Job, any>}
   */
  #waits = new Map()
  /** The present deadlock. @type {DeadlockError | null} */
  #error = null

  /** @param {{ type: string, job: Job | null, on?: unknown }} record */
  note({ type, job, on }) {
    if (job === null) return
    switch (type) {
      case 'release':
      case 'wake':
        this.#waits.set(job, null)
        this.#error = null
        break
      case 'block':
        this.#waits.set(job, on) // null: async code awaits a foreign promise
        break
      case 'finish':
      case 'fail':
      case 'cancel':
        this.#waits.delete(job)
        this.#error = null
    }
  }

  /**
   * @param {number} live the number of jobs that have not ended
   * @returns {DeadlockError | null} the error of the present deadlock: the same object until a job is woken
   *   or ends
   */
  find(live) {
    /** @type {Job[]} */
    const jobs = []
    let areInternal = true
    this.#waits.forEach((wait, job) => {
      jobs.push(job)
      areInternal &&= isInternal(wait)
    })
    if (jobs.length !== live || !areInternal) return null
    return this.#error ??= new DeadlockError(`deadlock: nothing can wake ${namesOf(jobs)}`, jobs)
  }
}

/**
 * Reports deadlocks of a scheduler: `idle()` rejects with a DeadlockError that names the jobs, and `onError`
 * is called with it once per deadlock. Call this function before the jobs are spawned. A second call replaces
 * the first one.
 *
 * @param {Scheduler} [scheduler] default: `rt`
 * @returns {() => void} stops reporting
 * @throws {TypeError} if `scheduler` is not a Scheduler
 *
 * @example
 * const core = new Scheduler()
 * const stop = reportDeadlocks(core)
 * core.spawn(function* () { yield new Channel().receive() }, { name: 'reader' })
 * await core.idle().catch(({ message }) => console.log(message)) // → deadlock: nothing can wake reader
 * stop()
 */
export function reportDeadlocks(scheduler = rt) {
  extend.check.scheduler('scheduler', scheduler)
  const watch = new Watch()
  const unsubscribe = scheduler.observe(record => watch.note(record))
  const forget = extend.onQuiet(scheduler, live => watch.find(live))
  return () => {
    unsubscribe()
    forget()
  }
}
