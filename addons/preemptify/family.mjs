/**
 * addons/preemptify/family.mjs: the order of asynchronous code that a job has started.
 *
 * An async function that rewritten code calls without `await` runs as a child job, and so does a callback of
 * a promise. A job and its children are a family. Plain code relies on run-to-completion: between two awaits,
 * no other part of the same program runs. So one member of a family at a time has the turn:
 *
 *             Family.enter                     Family.leave
 *   settled --------------> has the turn ... -------------> awaits, or has ended
 *      |                         ^
 *      +---> queue --------------+   first come, first served: the order of microtasks
 *
 * A member keeps its turn while it is suspended at a preemption point. Other jobs can run at that time, but
 * the other members cannot.
 */

import { extend } from '../../rt.mjs'
import { emptyWeakMap, promiseResolve, thenOf } from './primordials.mjs'
/** @import { Job } from '../../rt.mjs' */

const { Waitable, code } = extend

/** A fulfilled promise. */
const SETTLED = /* @__PURE__ */ promiseResolve()

/** @type {WeakMap<Job, Family>} */
const families = /* @__PURE__ */ emptyWeakMap()

/**
 * A continuation that waits for its turn. `start` gives the turn to a job, or has ended when it returns.
 *
 * @typedef {{ start: () => void, next: Continuation | null }} Continuation
 */

/** A job and the child jobs that its asynchronous calls and callbacks have started. */
export class Family {
  /** The member that has the turn. @type {Job | null} */
  holder = null
  /** The first continuation that waits for the turn. @type {Continuation | null} */
  #first = null
  /** The last continuation that waits for the turn. @type {Continuation | null} */
  #last = null

  /** @param {Job} root the job from which all members get their rank */
  constructor(root) {
    this.root = root
  }

  /** Adds a member. @param {Job} job */
  add(job) {
    families.set(job, this)
    code.onRest(job, () => this.leave(job))
  }

  /**
   * Starts a continuation when no member has the turn. The job runs in this microtask while the round has
   * time left. So short microtasks of a program keep their order.
   *
   * @param {Continuation['start']} start
   * @param {boolean} [isNext] whether to start it before all waiting continuations
   */
  enter(start, isNext = false) {
    extend.event(() => {
      const last = this.#last
      const node = { start, next: isNext ? this.#first : null }
      if (isNext || last === null) this.#first = node
      else last.next = node
      if (!isNext || last === null) this.#last = node
      this.#startNext()
    })
  }

  /** Ends the turn of a member that awaits or has ended. @param {Job} job */
  leave(job) {
    if (this.holder !== job) return
    this.holder = null
    this.#startNext()
  }

  /** Whether a continuation would have to wait for its turn. */
  get isBusy() {
    return this.holder !== null || this.#first !== null
  }

  #startNext() {
    while (this.holder === null && this.#first !== null) {
      const { start, next } = this.#first
      this.#first = next
      if (next === null) this.#last = null
      start()
    }
  }
}

/** Whether a job has started asynchronous code, or runs asynchronous code of another job. @param {Job} job */
export const hasFamily = job => families.has(job)

/**
 * Returns the member that has the turn in the family of a job, or null.
 *
 * @param {Job} job @returns {Job | null}
 */
export const holderOf = job => families.get(job)?.holder ?? null

/**
 * Returns the family of a job. The first call makes one, in which the job has the turn.
 *
 * @param {Job} job the job whose code is on the stack
 */
export function familyOf(job) {
  let family = families.get(job)
  if (family === undefined) {
    family = new Family(job)
    family.add(job)
  }
  family.holder ??= job
  return family
}

/** Waits for a promise, and then for the turn in a family. */
class Await extends Waitable {
  /** The number of waits. A promise resumes the job only if no later wait has started. */
  #waits = 0

  /** @param {Family} family @param {Promise<any>} promise */
  constructor(family, promise) {
    super()
    this.family = family
    this.thenable = promise
  }

  get isRanked() { return false }
  get isExternal() { return true }

  /** @param {Job | null} job */
  enter(job) {
    const wait = ++this.#waits
    const settle = (/** @type {boolean} */ isFulfilled) => (/** @type {any} */ outcome) => {
      this.family.enter(() => {
        if (wait !== this.#waits) return
        this.family.holder = job
        if (isFulfilled) this.wake(outcome)
        else this.fail(outcome)
      })
    }
    thenOf(this.thenable, settle(true), settle(false))
  }

  leave() {
    this.#waits++
  }
}

/**
 * Returns the value that a twin yields to wait for a promise.
 *
 * @param {Promise<any>} promise @returns {Promise<any> | Await}
 */
export function awaiting(promise) {
  const job = code.current()
  return job === null ? promise : new Await(familyOf(job), promise)
}

/**
 * Returns the value that a member yields to wait for its turn, after a wait for something other than a
 * promise.
 *
 * @returns {Await | undefined} undefined if the running job need not wait
 */
export function turn() {
  const job = code.current()
  const family = job === null ? undefined : families.get(job)
  const hasTurn = family === undefined || family.holder === job || !family.isBusy
  return hasTurn ? undefined : new Await(family, SETTLED)
}
