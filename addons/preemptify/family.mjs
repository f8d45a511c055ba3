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
 * A member keeps its turn while it is suspended at a preemption point. Other jobs run meanwhile, the other
 * members do not.
 */

import { extend } from '../../rt.mjs'
import { adopt, emptyWeakMap, thenOf } from './primordials.mjs'
/** @import { Job } from '../../rt.mjs' */

const { Waitable, code } = extend

/** A promise that is fulfilled. */
const SETTLED = /* @__PURE__ */ adopt()

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
  /** The last one. @type {Continuation | null} */
  #last = null

  /** @param {Job} root the job that all members get their rank from */
  constructor(root) {
    this.root = root
  }

  /** Adds a member. @param {Job} job */
  add(job) {
    families.set(job, this)
    code.onRest(job, () => this.leave(job))
  }

  /**
   * Starts a continuation when no member has the turn. Its job runs in this microtask, as long as the round
   * has time left. So the microtasks of a program keep their order if they are short.
   *
   * @param {Continuation['start']} start
   * @param {boolean} [isNext] whether it comes before all others that wait
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

/** Whether a job has started asynchronous code, or is such code. @param {Job} job */
export const hasFamily = job => families.has(job)

/**
 * The member that has the turn in the family of a job; null: there is none.
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
  /** How often a job has waited: an outcome counts for the present wait only. */
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
 * Waits for the turn, after a member of a family has waited for something else than a promise.
 *
 * @returns {Await | undefined} undefined: the running job need not wait
 */
export function turn() {
  const job = code.current()
  const family = job === null ? undefined : families.get(job)
  const hasTurn = family === undefined || family.holder === job || !family.isBusy
  return hasTurn ? undefined : new Await(family, SETTLED)
}
