import { rt } from '../../rt.mjs'

/**
 * How a run ended, and what it took.
 *
 * @typedef {object} Outcome
 * @property {'done' | 'failed' | 'cancelled'} state
 * @property {any} [result]
 * @property {any} [error]
 * @property {number} elapsed ms from its start to its end
 * @property {number} [cost] ms of them that it computed; as it is, nobody knows once it waits
 * @property {number} [lateness] ms after the deadline, negative before it; where there was one
 */

/**
 * Runs a function as it is: until it returns, nothing else happens on this thread.
 *
 * @param {Function} fn
 * @param {any[]} args
 * @param {{ now?: () => number, signal?: AbortSignal }} [options] signal: no longer to wait for a promise
 * @returns {Promise<Outcome>}
 */
export async function runPlain(fn, args, { now = () => performance.now(), signal } = {}) {
  const began = now()
  const finish = outcome => ({ ...outcome, elapsed: now() - began })
  const computed = outcome => {
    const elapsed = now() - began
    return { ...outcome, elapsed, cost: elapsed }
  }
  let returned
  try {
    returned = fn(...args)
  } catch (error) {
    return computed({ state: 'failed', error })
  }
  // Awaiting what is no promise would be a trip to the event loop.
  if (typeof returned?.then !== 'function') return computed({ state: 'done', result: returned })
  try {
    return finish({ state: 'done', result: await unless(signal, returned) })
  } catch (error) {
    return finish({ state: signal?.aborted ? 'cancelled' : 'failed', error })
  }
}

/** @param {AbortSignal | undefined} signal @param {PromiseLike<any>} promise */
function unless(signal, promise) {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    promise.then(resolve, reject)
  })
}

/**
 * Runs a preemptible function as a job.
 *
 * @param {(...args: any[]) => Generator} work
 * @param {any[]} args
 * @param {object} [options]
 * @param {number} [options.deadline] ms
 * @param {import('../../rt.mjs').Scheduler} [options.scheduler]
 * @param {AbortSignal} [options.signal] cancels it
 * @returns {Promise<Outcome>}
 */
export async function runPreempted(work, args, { deadline = Infinity, scheduler = rt, signal } = {}) {
  const job = scheduler.spawn(work, { deadline, signal, name: work.name }, ...args)
  const finish = outcome => ({
    ...outcome,
    elapsed: job.finished - job.release,
    cost: job.cost,
    ...deadline < Infinity ? { lateness: job.lateness } : {}
  })
  try {
    const result = await job
    return finish({ state: 'done', result })
  } catch (error) {
    return finish({ state: job.state, error })
  }
}

/** How long the frames of a page are apart, in all and while something is watched. */
export class Frames {
  /** When each of the last ones came. @type {number[]} */
  times = []
  #watched = null

  /** @param {number} time ms, when a frame is drawn */
  add(time) {
    const last = this.times[this.times.length - 1]
    if (this.#watched && last !== undefined) {
      this.#watched.longest = Math.max(this.#watched.longest, time - last)
      this.#watched.count++
    }
    this.times.push(time)
    if (this.times.length >= 2000) this.times.splice(0, 1000)
  }

  /** Frames per second, of those in the last half second. @param {number} now @returns {number} */
  rate(now) {
    let count = 0
    while (count < this.times.length && this.times[this.times.length - 1 - count] > now - 500) count++
    return count * 2
  }

  /** @param {number} from ms, when what is watched begins */
  watch(from) {
    this.#watched = { from, longest: 0, count: 0 }
  }

  /**
   * Ends at the last frame, so there has to be one after the end.
   * @returns {{ longest: number, rate: number }} the longest gap in ms; frames per second
   */
  unwatch() {
    const { from, longest, count } = this.#watched
    this.#watched = null
    const last = this.times[this.times.length - 1]
    return { longest, rate: count / (last - from) * 1000 }
  }
}
