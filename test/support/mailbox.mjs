/** The smallest channel, lock and choice that can be written with `extend`, for tests of rt.mjs alone. */
import { extend } from '../../rt.mjs'

const { Sleep, Waitable, Waiter, WaitQueue } = extend

/** The wait for a rendezvous, by a sender or a receiver. */
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

/** A lock of jobs with priority inheritance. When its holder ends, the next waiter gets the lock. */
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

/** @param {number} ms @param {object} [options] */
export const sleep = (ms, options) => new Sleep(ms, true, options)

/** Waits for the first of several waitables, jobs or promises. */
class Either extends Waitable {
  /** @param {any[]} ways */
  constructor(ways) {
    super()
    this.ways = ways.map(way => /** @type {any} */ (Waitable.of(way)))
    /** @type {any[]} */
    this.waiters = []
    /** @type {any} */
    this.winner = null
  }

  get handsOver() { return this.winner?.handsOver ?? false }

  try(job) {
    return this.ways.some((way, index) => way.attempt(job) && this.settle(way, index))
  }

  enter(job) {
    for (const [index, way] of this.ways.entries()) {
      const settled = () => {
        this.leave()
        this.settle(way, index)
      }
      this.waiters[index] = new Waiter(job, settled)
      if (way.waitBy(this.waiters[index])) return settled()
    }
  }

  leave() {
    this.waiters.forEach((waiter, index) => this.ways[index].dismiss(waiter))
  }

  refresh() {
    for (const waiter of this.waiters) waiter.refresh()
  }

  owners() {
    return this.ways.flatMap(way => way.owners())
  }

  settle(way, index) {
    this.winner = way
    if (way.isFulfilled) this.wake({ index, value: way.outcome })
    else this.fail(way.outcome)
    return true
  }
}

/** @param {...any} ways */
export const either = (...ways) => new Either(ways)
