/** The smallest lock and the smallest channel that can be written with `extend`, for tests of rt.mjs alone. */
import { extend } from '../../rt.mjs'

const { Waitable, WaitQueue } = extend

/** One end of a rendezvous. */
class End extends Waitable {
  constructor(own, partners, isSender, message) {
    super()
    Object.assign(this, { own, partners, isSender, message })
  }

  get handsOver() { return true }
  get goesOn() { return true }

  try() {
    const partner = /** @type {any} */ (this.partners.shift())
    if (partner === null) return false
    partner.wake(partner.isSender ? undefined : this.message)
    return this.fulfill(this.isSender ? undefined : partner.message)
  }

  enter() {
    this.own.push(this)
  }
}

/** A rendezvous channel. */
export class Mailbox {
  senders = new WaitQueue()
  receivers = new WaitQueue()

  /** @param {any} [message] */
  send(message) {
    return new End(this.senders, this.receivers, true, message)
  }

  receive() {
    return new End(this.receivers, this.senders, false, undefined)
  }
}

class Locking extends Waitable {
  /** @param {Lock} lock */
  constructor(lock) {
    super()
    this.lock = lock
  }

  get handsOver() { return true }

  try(job) {
    const { waiters } = this.lock
    if (waiters.owner !== null) return false
    waiters.owner = job
    return this.fulfill()
  }

  enter() {
    this.lock.waiters.push(this)
  }
}

/** A lock of jobs with priority inheritance; it is passed on when its holder ends. */
export class Lock {
  waiters = new WaitQueue(null, () => this.unlock())

  lock() {
    return new Locking(this)
  }

  unlock() {
    const next = this.waiters.shift()
    this.waiters.owner = next && next.job
    next?.wake()
  }
}
