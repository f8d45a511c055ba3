/** Alarms, sleep and timeout, in as few lines as the seam allows. */
import { seam } from '../../rt.mjs'

/** @typedef {{ scheduler?: any, ref?: boolean }} Options */

/** @param {number} ms @param {(time: number) => void} fn @param {Options} [options] */
export function after(ms, fn, { scheduler, ref } = {}) {
  const here = seam.here({ scheduler })
  return seam.at(here, here.now() + ms, fn, { ref })
}

/** @param {number} period @param {(time: number) => void} fn @param {Options} [options] */
export function every(period, fn, { scheduler, ref } = {}) {
  const here = seam.here({ scheduler })
  /** @param {number} time */
  const next = time => seam.at(here, time, now => {
    // Set anew before the callback, which may cancel it, and from the due time, or it would drift.
    alarm = next(time + period)
    fn(now)
  }, { ref })
  let alarm = next(here.now() + period)
  return { get time() { return alarm.time }, cancel: () => alarm.cancel() }
}

class Sleep extends seam.Waitable {
  /** @param {number} ms @param {Options} options */
  constructor(ms, options) {
    super()
    this.ms = ms
    this.options = options
    /** @type {ReturnType<typeof after> | null} */
    this.alarm = null
  }

  get name() {
    return `sleep(${this.ms})`
  }

  begin() {
    this.alarm = after(this.ms, () => this.wake(), this.options)
  }

  undo() {
    this.alarm?.cancel()
  }
}

/** @param {number} ms @param {Options} [options] */
export const sleep = (ms, options = {}) => new Sleep(ms, options)

export class TimeoutError extends Error {
  name = 'TimeoutError'
}

class Timeout extends seam.Waitable {
  /** @param {number} ms @param {any} inner @param {Options} options */
  constructor(ms, inner, options) {
    super()
    this.ms = ms
    this.inner = inner
    this.options = options
    /** @type {ReturnType<typeof after> | null} */
    this.alarm = null
    /** @type {any} */
    this.party = null
  }

  get name() {
    return `timeout(${this.ms})`
  }

  /** @param {any} job */
  begin(job) {
    const { inner, ms } = this
    const party = this.party = { job, woken: () => this.follow() }
    if (inner.enlist(party)) return this.follow()
    this.alarm = after(ms, () => {
      inner.leave(party)
      this.fail(new TimeoutError(`${ms} ms have passed`))
    }, this.options)
  }

  follow() {
    this.alarm?.cancel()
    if (this.inner.isFulfilled) this.wake(this.inner.outcome)
    else this.fail(this.inner.outcome)
  }

  undo() {
    this.alarm?.cancel()
    this.inner.leave(this.party)
  }

  refresh() {
    this.inner.refresh()
  }
}

/** @param {number} ms @param {any} subject a waitable, a job or a promise @param {Options} [options] */
export const timeout = (ms, subject, options = {}) => new Timeout(ms, seam.Waitable.of(subject), options)
