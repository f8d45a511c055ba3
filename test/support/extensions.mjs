/** A lock and a reservation server, written from the documentation of `extend` alone. */
import { extend } from '../../rt.mjs'

const { Waitable, WaitQueue, check, here, protocol } = extend

/** The wait of a job that enters a reader-writer lock. */
class Entering extends Waitable {
  /** @param {RwLock} lock @param {boolean} isWriter @param {{ signal?: AbortSignal }} [options] */
  constructor(lock, isWriter, options = {}) {
    super(check.options(options, { signal: check.signal }))
    this.lock = lock
    this.isWriter = isWriter
  }

  // A job that is cancelled after it got the lock has to leave the lock.
  get handsOver() { return true }

  /** @param {import('../../rt.mjs').Job | null} job */
  try(job) {
    return this.lock.waiters.size === 0 && this.lock.admit(this, job) && this.fulfill()
  }

  enter() {
    this.lock.waiters.push(this)
    this.lock.admitWaiters() // the new waiter can be more eligible than the waiting writer
  }

  leave() {
    super.leave()
    this.lock.admitWaiters() // the readers after this writer may enter now
  }
}

/** Many readers or one writer; the jobs inside inherit the rank of the first waiter. */
export class RwLock {
  /** @type {Set<import('../../rt.mjs').Job>} */
  inside = new Set()
  isWriting = false
  waiters = new WaitQueue(null, job => this.#remove(job))

  /** @param {{ signal?: AbortSignal }} [options] */
  read(options) {
    return new Entering(this, false, options)
  }
  /** @param {{ signal?: AbortSignal }} [options] */
  write(options) {
    return new Entering(this, true, options)
  }
  /** Lets the running job leave the lock. */
  leave() {
    this.#remove(/** @type {any} */ (here().current))
  }

  /** @param {Entering} entering @param {any} job */
  admit({ isWriter }, job) {
    if (this.isWriting || isWriter && this.inside.size > 0) return false
    this.isWriting = isWriter
    this.inside.add(job)
    this.waiters.addOwner(job)
    return true
  }
  admitWaiters() {
    for (let next = this.waiters.next; next !== null; next = this.waiters.next) {
      const entering = /** @type {Entering} */ (next)
      if (this.isWriting || entering.isWriter && this.inside.size > 0) return
      this.waiters.shift()
      this.admit(entering, entering.job)
      entering.wake()
    }
  }
  /** @param {import('../../rt.mjs').Job} job */
  #remove(job) {
    if (!this.inside.delete(job)) return
    this.isWriting = false
    this.waiters.deleteOwner(job)
    this.admitWaiters()
  }
}

/**
 * A server whose jobs use one token per ms. Tokens arrive at a constant rate, up to the size of the bucket.
 */
export class TokenBucket {
  /**
   * @param {{ scheduler: any, size: number, rate: number, priority?: number, deadline?: number, name?: string
   * }} options
   */
  constructor({ scheduler, size, rate, priority = 0, deadline = Infinity, name = 'bucket' }) {
    Object.assign(this, { scheduler, size, rate, name })
    this.tokens = size
    this.updated = scheduler.now()
    this.keys = { absoluteDeadline: deadline, priority }
    this.refill = Object.assign((/** @type {number} */ time) => {
      this.#update(time)
      this.group.change(this.keys)
    }, { of: name })
    this.group = extend.group(scheduler, { name, drain: (_, ms, time) => this.#drain(ms, time) })
    this.group.change(this.keys)
    this[protocol] = { groupFor: () => this.group }
  }

  /** @param {number} time */
  #update(time) {
    this.tokens = Math.min(this.size, this.tokens + (time - this.updated) * this.rate)
    this.updated = time
  }

  /** @param {number} ms @param {number} time */
  #drain(ms, time) {
    this.#update(time)
    this.tokens -= ms
    if (this.tokens > 0 || this.group.isOut) return
    const full = time + (this.size - this.tokens) / this.rate
    extend.at(this.scheduler, full, this.refill, { replenishment: true })
    this.group.change(null)
  }
}
