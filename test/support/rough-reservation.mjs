/**
 * A reservation of `capacity` ms every `period`, in as few lines as the seam allows. Under fp a sporadic
 * server (Sprunt, Sha, Lehoczky 1989): what was used comes back one period after its use began. Under edf a
 * server with a deadline (Abeni, Buttazzo 1998), which gets its whole capacity back at that deadline.
 */
import { seam } from '../../rt.mjs'

/** @typedef {{ amount: number, end: number }} Use */

export class Reservation {
  /**
   * @param {{ scheduler: any, capacity: number, period: number, priority?: number,
   *   depleted?: 'background' | 'wait' | 'postpone' }} options
   */
  constructor({ scheduler, capacity, period, priority = 1 / period, depleted = 'background' }) {
    this.scheduler = scheduler
    this.capacity = this.remaining = capacity
    this.period = period
    this.priority = priority
    this.depleted = depleted
    this.isSporadic = scheduler.policy.name !== 'edf'
    this.deadline = Infinity
    this.depletions = 0
    /** @type {Set<any>} */
    this.jobs = new Set()
    /** The latest use that is still going on. @type {Use} */
    this.use = { amount: 0, end: -Infinity }
    this.rank()
    this[seam.protocol] = this
  }

  // A standing is never changed in place: the queues that it orders would not notice.
  rank() {
    const { deadline, priority } = this
    this.granted = { band: this.isSporadic ? 1 : 0, job: { absoluteDeadline: deadline, priority } }
  }

  /** @param {any} job */
  attach(job) {
    this.jobs.add(job)
    if (this.isSporadic) return
    const now = Math.max(job.release, this.scheduler.now())
    const bandwidth = this.capacity / this.period
    // A server that was idle begins anew where the old deadline would give it more than its bandwidth.
    if (this.deadline < Infinity && this.remaining < (this.deadline - now) * bandwidth) return
    this.remaining = this.capacity
    this.deadline = now + this.period
    this.regrade()
  }

  /** @param {any} job */
  detach(job) {
    this.jobs.delete(job)
  }

  /** @param {any} job */
  standing(job) {
    if (this.remaining > 0) return this.granted
    if (this.depleted !== 'background') return null
    const { absoluteDeadline, priority } = job
    return { band: -1, job: { absoluteDeadline, priority } }
  }

  /** @param {any} job @param {number} ms @param {number} time */
  charge(job, ms, time) {
    const had = this.remaining
    if (ms === 0 || had <= 0 && this.depleted === 'background') return
    this.remaining -= ms
    if (this.isSporadic) this.expect(ms, time)
    if (this.remaining > 0 || had <= 0) return
    this.depletions++
    if (this.depleted === 'postpone') return this.recharge()
    if (!this.isSporadic) this.at(this.deadline, () => this.recharge())
    this.regrade()
  }

  /** Has what was used come back. @param {number} ms @param {number} time */
  expect(ms, time) {
    if (this.use.end !== time - ms) {
      const use = this.use = { amount: 0, end: time }
      this.at(time - ms + this.period, () => this.replenish(use.amount))
    }
    this.use.amount += ms
    this.use.end = time
  }

  /** @param {number} time @param {() => void} fn */
  at(time, fn) {
    seam.at(this.scheduler, time, fn, { replenishment: true })
  }

  recharge() {
    this.deadline += this.period
    this.replenish(this.capacity)
  }

  /** @param {number} amount */
  replenish(amount) {
    this.use = { amount: 0, end: -Infinity }
    this.remaining = Math.min(this.capacity, this.remaining + amount)
    this.regrade()
  }

  regrade() {
    this.rank()
    for (const job of this.jobs) seam.refresh(job)
  }
}
