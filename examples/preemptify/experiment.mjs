import { rt } from '../../rt.mjs'

/**
 * Result and duration of a run.
 *
 * @typedef {object} Outcome
 * @property {'done' | 'failed' | 'cancelled'} state
 * @property {any} [result]
 * @property {any} [error]
 * @property {number} elapsed ms from start to end
 * @property {number} [cost] execution time, ms; unknown for a plain async function
 * @property {number} [lateness] ms after the deadline, negative before it; undefined without a deadline
 */

/**
 * Calls a function plainly. Nothing else runs on this thread until it returns.
 *
 * @param {Function} fn
 * @param {any[]} args
 * @param {{ now?: () => number, signal?: AbortSignal }} [options] `signal` stops waiting for a returned
 *   promise
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
  // Await only promises, because awaiting any other value costs a trip to the microtask queue.
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
 * @param {AbortSignal} [options.signal] cancels the job
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

/** Records the frames of a page: their rate, and the gaps between frames during a watched interval. */
export class Frames {
  /** Times of the last frames. @type {number[]} */
  times = []
  #watched = null

  /** @param {number} time time at which a frame is drawn, ms */
  add(time) {
    const last = this.times[this.times.length - 1]
    if (this.#watched && last !== undefined) {
      this.#watched.longest = Math.max(this.#watched.longest, time - last)
      this.#watched.count++
    }
    this.times.push(time)
    if (this.times.length >= 2000) this.times.splice(0, 1000)
  }

  /**
   * Returns the frame rate of the last half second.
   *
   * @param {number} now @returns {number} frames per second
   */
  rate(now) {
    let count = 0
    while (count < this.times.length && this.times[this.times.length - 1 - count] > now - 500) count++
    return count * 2
  }

  /** Starts watching. @param {number} from start of the watched interval, ms */
  watch(from) {
    this.#watched = { from, longest: 0, count: 0 }
  }

  /**
   * Stops watching at the last frame. Call it only after a frame that follows the end of the run.
   * @returns {{ longest: number, rate: number }} `longest`: the longest gap, ms; `rate`: frames per second
   */
  unwatch() {
    const { from, longest, count } = this.#watched
    this.#watched = null
    const last = this.times[this.times.length - 1]
    return { longest, rate: count / (last - from) * 1000 }
  }
}
