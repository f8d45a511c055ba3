/**
 * sync.mjs: where jobs meet.
 *
 * @module sync
 */

import { DeadlockError, budget, seam } from './rt.mjs'

export { DeadlockError }

/**
 * A non-preemptive critical section (NPCS; RT.js III-D): no other job runs until it has ended, however it ends. Rounds
 * still end inside it, alarms and event handlers still run, and what is released meanwhile keeps its true release
 * time. Sections nest; their end is a preemption point. Waiting inside one is a TypeError; a cancellation is put off to
 * its end.
 *
 * ```js
 * yield nonPreemptive(function* () {
 *   balance -= amount
 *   yield // time for the page, not for other jobs
 *   other += amount
 * })
 * ```
 *
 * @template T
 * @param {(() => Generator<any, T, any>) | (() => T)} section called when the job yields the result of this function
 * @returns {Generator<any, T, any>} for `yield` or `yield*` in a job
 * @throws {TypeError} when `section` is no function; at the yield when that is not in a generator job
 */
export function nonPreemptive(section) {
  if (typeof section !== 'function') throw new TypeError(`section must be a function, got ${String(section)}`)
  return enclosed(section, Infinity)
}

/** @param {() => any} section @param {number} ceiling @returns {Generator<any, any, any>} */
function* enclosed(section, ceiling) {
  const job = seam.here().current
  if (job === null) throw new TypeError('critical sections are for jobs')
  const gate = seam.gate(job, ceiling)
  let result
  try {
    result = section()
    if (typeof result?.next === 'function') result = yield result
  } finally {
    gate.close()
  }
  if (budget.left <= 0) yield // somebody waits for the end of the section
  return result
}
