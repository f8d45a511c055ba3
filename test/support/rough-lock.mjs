/** A mutual exclusion lock with priority inheritance, in as few lines as the seam allows. */
import { seam } from '../../rt.mjs'

const { Queue, Waitable } = seam

const ENDED = ['done', 'failed', 'cancelled']

class Lock extends Waitable {
  /** @param {Mutex} mutex */
  constructor(mutex) {
    super()
    this.mutex = mutex
  }

  get name() {
    return this.mutex.name
  }

  /** @param {any} job */
  begin(job) {
    const { mutex } = this
    if (mutex.isFree) {
      mutex.give(job, this)
    } else {
      mutex.queue.push(this, job)
    }
  }
}

export class Mutex {
  /** @param {string} [name] @param {{ inherits?: boolean }} [options] */
  constructor(name = 'mutex', { inherits = true } = {}) {
    this.name = name
    this.inherits = inherits
    this.queue = new Queue()
    /** @type {any} */
    this.holder = null
  }

  // Whoever asks a dead owner's lock gets it; nothing tells those who wait already.
  get isFree() {
    return this.holder === null || ENDED.includes(this.holder.state) && this.queue.size === 0
  }

  lock() {
    return new Lock(this)
  }

  unlock() {
    const { current } = seam.here()
    if (this.holder !== current) throw new Error(`${current?.name} does not hold ${this.name}`)
    const next = this.queue.shift()
    this.give(next && /** @type {any} */ (next).waiter.job, next)
  }

  /** @param {any} job @param {any} lock */
  give(job, lock) {
    this.holder = job
    if (this.inherits) this.queue.owner = job
    lock?.wake()
  }

  /** @param {() => Generator<any, any, any>} section */
  *use(section) {
    const lock = this.lock()
    // Inside: a job may be cancelled after it was given the lock, but before it hears of it.
    try {
      yield lock
      return yield section()
    } finally {
      if (lock.isFulfilled) this.unlock()
    }
  }
}
