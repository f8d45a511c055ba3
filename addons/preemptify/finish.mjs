/**
 * addons/preemptify/finish.mjs: starts and finishes the calls of an adopted page.
 *
 * `finish` runs a suspended job to completion, inside the current step. adopt() calls it before the browser
 * applies an edit of the user, because in a plain page the listeners of the previous edit and their
 * microtasks have ended by then.
 */

import { budget, extend } from '../../rt.mjs'
import { finishStay, holdsClaims, isClaim } from './claims.mjs'
import { hasFamily, holderOf } from './family.mjs'
import { apply } from './primordials.mjs'
import { entryPointOf, suspended, takeClaimAtEntry, undriven } from './run.mjs'
/** @import { Job } from '../../rt.mjs' */

const { code } = extend

/**
 * Runs a job and then the members of its family, one after the other. Each job runs until it finishes, or
 * until it waits for something other than a claim.
 *
 * @param {Job} job
 */
export function finish(job) {
  finishJob(job)
  for (let member = holderOf(job); member !== null; member = holderOf(job)) {
    finishJob(member)
    if (holderOf(job) === member) return // the code of the member is on the call stack
  }
}

/**
 * Whether a member of the family of a job is suspended.
 *
 * @param {Job} job @returns {boolean | undefined} undefined if the job has started no asynchronous code
 */
export const isBusy = job => hasFamily(job) ? holderOf(job) !== null : undefined

/**
 * Whether a job, or the member of its family that has the turn, is suspended with claims. A job that waits
 * for a claim counts too, because it gets the claim when the holder finishes. So does a member that has not
 * run yet: in plain code nothing runs between the job and its microtasks.
 *
 * @param {Job} job
 */
export function isInStay(job) {
  const member = holderOf(job) ?? job
  return holdsClaims(member) || isClaim(code.waitOf(member)) || member !== job && member.cost === 0
}

/**
 * Starts a twin whose arguments may change while it waits for the claims at its entry: see
 * `extend.code.startAtEntry`.
 *
 * @param {any} fn @param {any} self @param {any[]} args @param {(isWaiting: boolean) => void} note
 * @returns {Generator<any, any, any>}
 */
export function* startAtEntry(fn, self, args, note) {
  code.enter(code.counts.job, 1)
  for (;;) {
    const entry = entryPointOf(fn)
    const result = apply(entry, self, args)
    if (result !== budget) return result
    const claim = takeClaimAtEntry(entry, isClaim)
    if (claim === null) return yield suspended()
    note(true)
    yield claim
    note(false)
  }
}

/** @param {Job} job */
function finishJob(job) {
  while (job.finished === undefined) {
    const waitable = code.waitOf(job)
    if (waitable === null) {
      undriven(() => code.runInside(job, () => code.waitOf(job) !== null))
      if (code.waitOf(job) === null) return
    } else if (!isClaim(waitable) || !finishStay(job) && code.waitOf(job) === waitable) return
  }
}
