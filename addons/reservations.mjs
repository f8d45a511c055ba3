/**
 * addons/reservations.mjs: processor time set aside for jobs, for event handlers and for loops.
 *
 * A reservation grants its jobs `capacity` ms in every `period` (Qduino: a Main VCPU). The jobs take no more
 * than that from other jobs. If the reservation was admitted (`admit`), they also get no less. An I/O
 * reservation runs short, frequent work for other reservations, such as the bottom halves of `interrupt`.
 *
 * Words of this file:
 * - account: the books of a reservation, and the hooks of its group (Group in rt.mjs)
 * - group: the ready jobs of a reservation, which the scheduler queues as one node by the keys of the
 *   reservation
 * - server: the law by which capacity is used up and comes back; it knows times and amounts, but no jobs
 * - refill: an amount of capacity that comes back at a time
 * - claim: the processor time that a reservation or a task asks for; admission compares claims
 * - main: the reservation that an I/O reservation works for
 * - foreground: execution by the rank of the reservation, which uses up capacity; the background does not
 *
 * States of a server. Each arrow is a method that the account calls:
 *
 *          wake()             consume()
 *   idle ---------> serving -------------> depleted
 *        <---------         <-------------
 *          sleep()            replenish()
 *
 * A server that is off (a capacity of 0, or `noInterrupts()`) is left unchanged. `resume()` continues it.
 *
 * Invariants:
 * 1. A depleted reservation with work has a replenishment on the timeline, or its deadline is postponed.
 * 2. By fixed priority, the refills at finite times sum to the capacity.
 * 3. An overrun is a debt: the next replenishments pay it, and none of it is forgiven.
 * 4. A reservation or a resize that is not admitted changes nothing.
 *
 * @module reservations
 */

import {
  Cycle, EventHandler, HANDLING, Handle, InterruptMask, JobSource, apply, checkTarget, parametersOf
} from '../alarms.mjs'
import { edf, extend, fp } from '../rt.mjs'
import { AdmissionError, demandOf, percent, schedulable } from './schedulable.mjs'
/** @import { EventOf, Handles, Handling, QueuedEvent, Releasable, ReleaseOptions } from '../alarms.mjs' */
/** @import { Job, Policy, Scheduler, TaskOptions, Yieldable } from '../rt.mjs' */
/** @import { CriticalSection, Sums, TaskParameters } from './schedulable.mjs' */

const { check, here } = extend
const { parameters: TASK } = check
const {
  among, callable, duration, elsewhere, finite, interval, number, options: checked, text, wrongType
} = check

export { AdmissionError }

const fraction = /* @__PURE__ */ number('a number from 0 to 1', value => value >= 0 && value <= 1)
const positiveFraction = /* @__PURE__ */ number('a number > 0 and <= 1', value => value > 0 && value <= 1)

/** What reservations of both kinds have. */
class Reserved extends Handle {
  constructor() {
    super()
  }
  get scheduler() { return accountOf(this).scheduler }
  get name() { return accountOf(this).name }
  /** The share of the processor. */
  get utilization() { return accountOf(this).claim.utilization }
  /** ms used in the foreground so far. */
  get used() { return accountOf(this).used }
  /** ms per period; NaN where the period is that of whom it works for */
  get capacity() { return accountOf(this).claim.wcet }
  /** ms; Infinity where it is that of whom it works for */
  get period() { return accountOf(this).claim.period }
  /** How often nothing remained. @returns {number} */
  get depletions() { return accountOf(this).server.depletions }
  /** How often capacity came back. @returns {number} */
  get replenishments() { return accountOf(this).server.replenishments }

  /**
   * Gives the share of the processor back, so that other reservations can be admitted. Jobs of the
   * reservation still run by it.
   *
   * @returns {boolean} `true` if the share was promised
   */
  cancel() { return accountOf(this).withdraw() }
}

/** @typedef {'sporadic' | 'deferrable' | 'polling' | 'constant-bandwidth'} Kind */
/** @typedef {'background' | 'wait' | 'postpone'} Depleted */

/** A policy is known by how it compares, as `schedulable` knows it. @param {Policy} policy */
const isByDeadline = ({ compare }) => compare === edf.compare
/** @param {Policy} policy */
const isByPriority = ({ compare }) => compare === fp.compare

/** @type {Kind[]} */
const KINDS = ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']

/** Which kinds a policy can have, the default first; a user's own can have all. @param {Policy} policy */
const kindsUnder = policy =>
  KINDS.filter(kind => kind === 'constant-bandwidth' ? !isByPriority(policy) : !isByDeadline(policy))

/** @param {any} capacity @param {any} period */
function checkCapacity(capacity, period) {
  duration('capacity', capacity)
  interval('period', period)
  if (capacity <= period) return
  throw new RangeError(`capacity must not exceed the period of ${period} ms, got ${capacity}`)
}

const CAPACITY = { capacity: elsewhere, period: elsewhere, priority: finite }
const kindOption = /* @__PURE__ */ (() => among.apply(null, KINDS))()
const RESERVATION = { ...CAPACITY, kind: kindOption, depleted: elsewhere, name: text, scheduler: elsewhere }
const IO_CAPACITY = { utilization: elsewhere, capacity: elsewhere, period: elsewhere }
const IO_RESERVATION = { ...IO_CAPACITY, depleted: among('background', 'wait'), name: text, scheduler: elsewhere }

/**
 * Reserves processor time: `capacity` ms in every `period` (the Main VCPU of Qduino II-A). Jobs that are
 * spawned with the reservation run by its keys while capacity remains. They cannot take more from other jobs.
 * Other jobs cannot take the reserved time from them if the set of reservations was admitted (`admit`).
 *
 * `period` is the longest pause that you accept, `capacity` the time that the work needs in each period. With
 * `depleted: 'wait'` the jobs never get more.
 *
 * Under fp a reservation ranks by its priority, above all jobs without a reservation. Under edf it ranks by
 * the deadline of the server. Its jobs rank among each other by their own keys, and equals take turns. The
 * scheduler tests the capacity at every budget. The next replenishment pays for the excess of the last budget
 * or of a critical section.
 */
export class Reservation extends Reserved {
  /**
   * @param {{ capacity: number, period: number, kind?: Kind, priority?: number, depleted?: Depleted, name?:
   *   string, scheduler?: Scheduler }} options `capacity`: ms per period; with 0 the jobs do not run.
   *   `period`: ms, > 0. `kind`: 'sporadic' (default), 'deferrable' or 'polling' under fp;
   *   'constant-bandwidth' under edf. `priority`: default 1 / period, the rate. `depleted`: if the capacity
   *   is used up, the jobs run after all others ('background', default), wait for the replenishment ('wait'),
   *   or the server postpones its deadline ('postpone', constant-bandwidth only). `name`: for traces and
   *   errors
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left (see `admit`)
   */
  constructor(options) {
    super()
    const { capacity, period, priority, depleted = 'background', name = 'reservation' } = checked(options, RESERVATION)
    const scheduler = here(options)
    const kinds = kindsUnder(scheduler.policy)
    const { kind = kinds[0] } = options
    const claim = claimOfReservation({ name, kind, capacity, period, priority })
    if (!kinds.includes(kind)) {
      throw wrongType('kind', `${kinds.map(one => `'${one}'`).join(' or ')} under ${scheduler.policy.name}`, kind)
    }
    const isRankedByDeadline = kind === 'constant-bandwidth'
    const depletedOption = isRankedByDeadline ? among('background', 'wait', 'postpone')
      : among('background', 'wait')
    depletedOption('depleted', depleted)
    const server = new SERVERS[kind](capacity, period, scheduler.now(), depleted === 'postpone')
    const account = new Account(scheduler, server, claim, depleted, isRankedByDeadline)
    Object.defineProperty(this, extend.protocol, /** @type {any} */ ({ __proto__: null, value: account }))
  }

  get kind() { return /** @type {Kind} */ (accountOf(this).claim.kind) }
  get depleted() { return accountOf(this).depleted }
  get priority() { return accountOf(this).claim.priority }
  /** ms that its jobs may still use, as of the latest reading of the clock. @returns {number} */
  get remaining() { return accountOf(this).isDepleted ? 0 : accountOf(this).server.remaining }

  /**
   * Changes the reservation, also while its jobs run. New capacity can be used immediately, as far as the
   * bandwidth has earned the time used before. A smaller capacity removes the latest replenishments. With a
   * capacity of 0 the jobs stop until the capacity is larger again; used time is still replenished.
   *
   * @param {{ capacity?: number, period?: number, priority?: number }} options
   * @returns {this}
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left; nothing has changed then
   */
  resize(options) {
    const { name, kind } = this
    const { capacity = this.capacity, period = this.period } = checked(options, CAPACITY)
    const { priority = this.priority === 1 / this.period ? undefined : this.priority } = options
    accountOf(this).change(claimOfReservation({ name, kind, capacity, period, priority }))
    return this
  }
}

/**
 * A share of the processor for short, frequent work that is done for others: the bottom halves of events
 * (Qduino II-A: an I/O VCPU; Danish, Li, West 2011). It takes priority and period from the reservation that
 * it works for, and uses no more than its utilization whichever that is. With a period of its own it has the
 * priority of that rate.
 *
 * Work for it: `interrupt(target, type, handler, { io, capacity, period })`;
 * `spawn(work, { reservation: io.for(main) })`; or, in a job that has a reservation,
 * `spawn(work, { reservation: io })`.
 */
export class IoReservation extends Reserved {
  #mask = new InterruptMask(() => accountOf(this).turn({ isMasked: !this.isOn }))

  /**
   * @param {{ utilization?: number, capacity?: number, period?: number, depleted?: 'background' | 'wait',
   *   name?: string, scheduler?: Scheduler }} options `utilization`: > 0 and <= 1, or 0 = off; or `capacity`,
   *   ms per period, 0 = off, and `period`, ms, > 0; `depleted`: default 'wait', since events in the
   *   background would take what is left over at any rate
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left (see `admit`)
   */
  constructor(options) {
    super()
    const { depleted = 'wait', name = 'I/O reservation' } = checked(options, IO_RESERVATION)
    const scheduler = here(options)
    const claim = claimOfIo(name, options)
    const account = new IoAccount(scheduler, new PIBS(claim), claim, depleted, isByDeadline(scheduler.policy))
    Object.defineProperty(this, extend.protocol, /** @type {any} */ ({ __proto__: null, value: account }))
  }

  /** Whether events are handled. */
  get isOn() { return this.#mask.isOn }
  /** Whether events that happen while they are not handled are lost. */
  get drops() { return this.#mask.drops }

  /** Handles events again, first those that were held back. */
  interrupts() {
    this.#mask.interrupts()
  }
  /**
   * Handles no events until `interrupts()`. They are held back; with `drop`, those that happen from now on
   * are lost. Its share remains promised to it.
   *
   * @param {{ drop?: boolean }} [options]
   * @throws {TypeError} naming the parameter
   */
  noInterrupts(options) {
    this.#mask.noInterrupts(options)
  }

  /**
   * What `reservation` is to be where the work is done for `main`.
   *
   * @param {Reservation} main
   * @returns {object}
   * @throws {TypeError}
   */
  for(main) {
    if (!(main instanceof Reservation)) throw wrongType('main', 'a Reservation', main)
    if (main.scheduler !== this.scheduler) throw new TypeError(`main must be of the scheduler of ${this.name}`)
    const account = /** @type {IoAccount} */ (accountOf(this))
    return { [extend.protocol]: account.delegateOf(accountOf(main)) }
  }

  /**
   * Changes its share (Qduino II-C: interruptsVcpu), as a utilization, which leaves its period, or as a
   * capacity and a period; 0 turns it off.
   *
   * @param {{ utilization?: number, capacity?: number, period?: number }} options
   * @returns {this}
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left; nothing has changed then
   */
  resize(options) {
    const account = accountOf(this)
    account.change(claimOfIo(this.name, checked(options, IO_CAPACITY), account.claim))
    return this
  }
}

// -------------------------------------------------------------------------------------------------- accounts

/** @param {any} reservation @returns {Account} */
const accountOf = reservation => reservation?.[extend.protocol]

/** Stands for an entry where nothing is to be replenished. */
const NEVER = { time: Infinity, ref: false, cancel: () => true }

/**
 * The books of a reservation. The account is also the hook that the scheduler finds in the reservation
 * (`groupFor`, `level`), and the hooks of the group (`arrives`, `departs`, `drain`, `detach`).
 */
class Account {
  /** @type {Set<Job>} */
  jobs = new Set()
  /** Those that have work to do. @type {Set<Job>} */
  busy = new Set()
  /** I/O reservations that work for it. @type {Set<IoAccount>} */
  delegates = new Set()
  /** ms used in the foreground. */
  used = 0
  /** Whether it is off whatever is promised. */
  isMasked = false
  /** Whether its claim counts in admission. */
  isPromised = true
  /** The keys of the group: see `Group.change`. @type {Keys | undefined} */
  keys = undefined
  /** @type {{ readonly time: number, readonly ref: boolean, cancel(): boolean }} */
  #entry = NEVER
  #replenish

  /**
   * @param {Scheduler} scheduler @param {any} server a Server @param {Claim} claim what is promised
   * @param {Depleted} depleted @param {boolean} isRankedByDeadline
   */
  constructor(scheduler, server, claim, depleted, isRankedByDeadline) {
    this.scheduler = scheduler
    this.policy = scheduler.policy
    this.group = extend.group(scheduler, this)
    this.server = server
    this.claim = claim
    this.name = claim.name
    this.depleted = depleted
    this.isRankedByDeadline = isRankedByDeadline
    this.#replenish = Object.assign((/** @type {number} */ time) => {
      if (this.server.next > time) return // an observer of the replenishment has resized it
      this.#entry = NEVER
      this.server.replenish(time)
      this.update()
    }, { of: this.name })
    commitmentsOf(scheduler).commit([[this, claim]])
  }

  /** Whether its jobs do nothing at all. Its server is idle then: what it has used comes back as before. */
  get isOff() { return this.isMasked || this.claim.utilization === 0 }
  get isDepleted() { return this.isOff || this.server.isDepleted }

  /** Which reservation one of its jobs works for. @param {Job} _job @returns {Account} */
  mainOf(_job) { return this }

  /** Above all without a reservation, by fixed priority; among all jobs, by deadline. */
  get level() { return this.isRankedByDeadline ? -this.claim.period : Infinity }

  /** @param {Claim} claim what is to be promised, which is refused unless it counts no more */
  change(claim) {
    if (this.#isCounted) commitmentsOf(this.scheduler).commit([[this, claim]])
    const now = this.scheduler.now()
    if (claim.utilization > 0) this.server.resize(claim, now)
    this.turn({ claim })
    this.delegates.forEach(delegate => {
      delegate.follow(now)
      delegate.update()
    })
  }

  /** Takes the claim back. @returns {boolean} `true` if it was promised */
  withdraw() {
    const wasCounted = this.#isCounted
    this.isPromised = false
    if (wasCounted) commitmentsOf(this.scheduler).delete(this)
    return wasCounted
  }

  /** The claims of another policy have ended with that policy. */
  get #isCounted() { return this.isPromised && this.scheduler.policy === this.policy }

  /** @param {{ claim?: Claim, isMasked?: boolean }} change on or off, perhaps */
  turn(change) {
    const wasOff = this.isOff
    Object.assign(this, change)
    if (wasOff && !this.isOff && this.server.isAwake) this.server.resume(this.scheduler.now())
    this.update()
  }

  /** @param {Job} job that is released @param {Scheduler} scheduler */
  groupFor(job, scheduler) {
    if (scheduler !== this.scheduler) {
      throw new TypeError(`reservation must be of the scheduler of its jobs, but ${this.name} is not`)
    }
    if (scheduler.policy !== this.policy) {
      throw new TypeError(`reservation must be made for the policy ${scheduler.policy.name}, ` +
        `but ${this.name} was made under ${this.policy.name}`)
    }
    if (this.jobs.size === 0) this.server.expectJobs(scheduler.now())
    this.jobs.add(job)
    this.update()
    return this.group
  }

  /** @param {Job} job */
  detach(job) {
    this.jobs.delete(job)
    this.departs(job, this.scheduler.now())
  }

  /** @param {Job} job @param {number} time */
  arrives(job, time) {
    const { busy, server } = this
    this.#replenishBefore(time)
    if (!this.jobs.has(job)) return // an observer of the replenishment has cancelled it
    busy.add(job)
    if (!server.isAwake) {
      server.isAwake = true
      server.wake(time, job.started === undefined ? Math.min(job.release, time) : time)
    }
    this.update()
  }

  /**
   * Fires a replenishment that is due at this reading of the clock. A job that arrives at the same reading
   * finds the capacity, whichever entry of the timeline was created first.
   *
   * @param {number} time
   */
  #replenishBefore(time) {
    const { time: due } = this.#entry
    if (due > time) return
    this.#entry.cancel()
    extend.emit(this.scheduler, 'replenish', null, { reservation: this.name, due })
    this.#replenish(time)
  }

  /** @param {Job} job @param {number} time */
  departs(job, time) {
    const { busy, server } = this
    if (busy.delete(job) && busy.size === 0) {
      server.isAwake = false
      server.sleep(time)
    }
    this.update()
  }

  /** @param {Job} job @param {number} ms @param {number} time @param {boolean} isBackground */
  drain(job, ms, time, isBackground) {
    if (ms === 0 || isBackground) return
    this.used += ms
    if (this.isOff) return
    const { server } = this
    const { depletions } = server
    server.consume(ms, time, !this.jobs.has(job))
    this.update()
    // The scheduler reports jobs that have to stop.
    if (server.depletions === depletions || this.depleted === 'wait') return
    const reservation = this.name
    extend.emit(this.scheduler, 'deplete', job, { reservation, depleted: this.depleted })
    if (this.depleted === 'postpone') extend.emit(this.scheduler, 'replenish', null, { reservation, due: time })
  }

  /** Passes the state of the server on: to the group, and to the timeline. */
  update() {
    const { server, isDepleted, isRankedByDeadline, claim: { priority } } = this
    const absoluteDeadline = isRankedByDeadline ? server.deadline : Infinity
    /** @type {Keys} */
    const keys = !isDepleted ? { absoluteDeadline, priority, isAbove: !isRankedByDeadline }
      : this.isOff || this.depleted !== 'background' ? null : 'background'
    if (!areEqual(keys, this.keys)) {
      this.keys = keys
      this.group.change(keys)
    }
    const isIdle = this.isOff || this.jobs.size === 0 && server instanceof Polling
    const time = isIdle ? Infinity : server.next
    const ref = isDepleted && server.isAwake
    if (this.#entry.time === time && this.#entry.ref === ref) return
    this.#entry.cancel()
    this.#entry = time === Infinity ? NEVER : extend.at(this.scheduler, time, this.#replenish, { replenishment: true, ref })
  }
}

/**
 * The keys of a group: see `Group.change`.
 *
 * @typedef {{ absoluteDeadline: number, priority: number, isAbove: boolean } | 'background' | null} Keys
 */

/** @param {Keys} a @param {Keys | undefined} b */
function areEqual(a, b) {
  if (typeof a === 'string' || typeof b === 'string' || !a || !b) return a === b
  return a.absoluteDeadline === b.absoluteDeadline && a.priority === b.priority
}

/**
 * The books of an I/O reservation: without a period of its own, it takes that and the priority from the most
 * urgent that it works for.
 */
class IoAccount extends Account {
  /** Whether its jobs must work for a main reservation, from which it takes priority and period. */
  needsMain = true
  /** @type {WeakMap<Job, Account>} */
  #mains = new WeakMap()
  /** For how many of its busy jobs each. @type {Map<Account, number>} */
  #served = new Map()

  /**
   * @param {Scheduler} scheduler @param {any} server @param {Claim} claim @param {Depleted} depleted
   * @param {boolean} isRankedByDeadline
   */
  constructor(scheduler, server, claim, depleted, isRankedByDeadline) {
    super(scheduler, server, claim, depleted, isRankedByDeadline)
  }

  /** Its jobs work for `main`: what the scheduler attaches them by. @param {Account} main */
  delegateOf(main) {
    const level = this.claim.period < Infinity ? this.level : main.level
    const groupFor = (/** @type {Job} */ job, /** @type {Scheduler} */ scheduler) => this.groupFor(job, scheduler, main)
    return { level, groupFor }
  }

  /** @param {Job} job */
  mainOf(job) { return /** @type {Account} */ (this.#mains.get(job)) }

  /**
   * @param {Job} job @param {Scheduler} scheduler
   * @param {Account | null} [main] default: that of the running job
   */
  groupFor(job, scheduler, main = mainOfRunning(scheduler)) {
    if (!main) {
      throw new TypeError(`reservation must be given as io.for(main) where the running job has none: ` +
        `${this.name} takes priority and period from the reservation that it works for`)
    }
    this.#mains.set(job, main)
    return super.groupFor(job, scheduler)
  }

  /** @param {Job} job @param {number} time */
  arrives(job, time) {
    const isNew = !this.busy.has(job)
    this.#serve(job, isNew ? 1 : 0, time)
    super.arrives(job, time)
    if (isNew && !this.busy.has(job)) this.#serve(job, -1, time) // cancelled by an observer
  }

  /** @param {Job} job @param {number} time */
  departs(job, time) {
    this.#serve(job, this.busy.has(job) ? -1 : 0, time)
    super.departs(job, time)
  }

  /** @param {Job} job @param {number} more @param {number} time */
  #serve(job, more, time) {
    const main = this.mainOf(job)
    const count = (this.#served.get(main) ?? 0) + more
    if (count > 0) this.#served.set(main, count)
    else this.#served.delete(main)
    main.delegates[count > 0 ? 'add' : 'delete'](this)
    this.follow(time)
  }

  /** Takes priority and period from the most urgent. @param {number} time */
  follow(time) {
    if (this.#served.size === 0 || this.claim.period < Infinity) return
    const urgencyOf = (/** @type {Account} */ { claim }) => this.isRankedByDeadline ? -claim.period : claim.priority
    /** @type {Account | undefined} */
    let most
    this.#served.forEach((_, main) => {
      if (most === undefined || urgencyOf(main) > urgencyOf(most)) most = main
    })
    const { claim } = /** @type {Account} */ (most)
    this.claim.priority = claim.priority
    this.server.inherit(claim.period, time)
  }
}

/** The account that the running job works for. @param {Scheduler} scheduler @returns {Account | null} */
function mainOfRunning({ current }) {
  const account = current === null ? undefined : extend.groupOf(current)?.hooks
  return account instanceof Account ? account.mainOf(/** @type {Job} */ (current)) : null
}

// --------------------------------------------------------------------------------------------------- servers

/** Less capacity than this, in ms, is none. */
const SPECK = 1e-6
/** In how many pieces the capacity of a sporadic server may come back; more are merged. */
const MOST_REFILLS = 32

/**
 * How capacity is used up, and how it comes back. A server knows times and amounts, neither jobs nor
 * schedulers:
 *
 *   wake(time, since)   somebody has work again; the work has been there `since`
 *   consume(ms, time, isLent)  it was done in the foreground, until `time`; by somebody else if `isLent`
 *   sleep(time)         nobody has work any more
 *   replenish(time)     `next` has come
 *   resize(claim, time) to a capacity > 0; a server that is off is idle, and left as it is
 *   resume(time)        it was off, and somebody has work: what it may do begins now
 *
 * It may run in the foreground while something remains; at `next` capacity comes back, Infinity when all of
 * it is there. `remaining` falls below 0 when the last budget outlasts it: a debt that the next
 * replenishments pay, so that none of it is forgiven.
 *
 * Each law overrides these, `spend` for what is consumed, and `refill` for a replenishment.
 */
class Server {
  /** What its jobs are ranked by under edf. */
  deadline = Infinity
  depletions = 0
  replenishments = 0
  /** Whether anybody has work, as the account tells. */
  isAwake = false

  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    this.capacity = this.remaining = capacity
    this.period = period
    this.began = time
    this.postpones = postpones
  }

  get isDepleted() { return this.remaining < SPECK }
  get bandwidth() { return this.capacity / this.period }

  /** The first job is attached. @param {number} _time */
  expectJobs(_time) {}
  /** @param {number} _time @param {number} _since */
  wake(_time, _since) {}
  /** @param {number} _time */
  sleep(_time) {}
  /** @param {number} _time */
  resume(_time) {}
  /** @param {number} _time */
  refill(_time) {}
  /** @param {number} ms @param {number} _time @param {boolean} _isLent */
  spend(ms, _time, _isLent) { this.remaining -= ms }

  /** @param {number} ms @param {number} time @param {boolean} isLent */
  consume(ms, time, isLent) {
    const wasDepleted = this.isDepleted
    this.spend(ms, time, isLent)
    if (this.isDepleted && !wasDepleted) this.depletions++
  }

  /** @param {number} time */
  replenish(time) {
    this.replenishments++
    this.refill(time)
  }
}

/**
 * Capacity that comes back at a time.
 *
 * @typedef {{ time: number, amount: number, due: number }} Refill `time`: Infinity of what a resize has taken
 *   away; `due`: when it would come if nothing had been resized, to less or to a bandwidth that has to earn
 *   it first
 */

/**
 * A server by fixed priority. Its capacity is a list of refills in order of time. Each piece that is used
 * comes back at a time of its own; the amounts that come always sum to the capacity, so it is not amplified;
 * an overrun is taken from the refill that is to come.
 */
class Refilled extends Server {
  next = Infinity
  /** @type {Refill[]} */
  refills = [{ time: this.began, amount: this.capacity, due: this.began }]
  #owed = 0
  #asOf = 0

  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  /** Whether what is left of a refill counts from the end of what was used. */
  get isMoving() { return false }

  /**
   * When a piece comes back.
   *
   * @param {number} _began when it came @param {number} _used since when it is used @returns {number}
   */
  returnOf(_began, _used) { return Infinity }

  /** @param {number} ms @param {number} time @param {boolean} isLent */
  spend(ms, time, isLent) {
    const { refills, isMoving } = this
    const used = time - ms
    this.#owedAt(time, ms)
    for (let left = ms; left > 0;) {
      const first = refills[0]
      // Of what is to come within a period, each capacity more puts all off by that: after a night in one
      // budget, not one by one.
      const rounds = left > ms - 2 * this.capacity ? 0 : Math.floor(left / this.capacity) - 1
      const coming = rounds > 0 ? refills.filter(({ time }) => time < Infinity) : []
      if (rounds > 0 && first.time > used && coming[coming.length - 1].time < first.time + this.period) {
        coming.forEach(refill => {
          refill.time += rounds * this.period
          refill.due += rounds * this.period
        })
        left -= rounds * this.capacity
      }
      // Where four periods have passed without any use, the page was stopped: more important work cannot be
      // the reason, unless priorities are not by rate. What was missed is not made up for, at the expense of
      // others.
      if (first.time + 4 * this.period <= used) first.time = used
      const { time: began, amount } = first
      const taken = Math.min(amount, left)
      left -= taken
      if (taken === amount) refills.shift()
      this.#append(this.returnOf(began, used), taken)
      // A server that woke at the end of what others did for it has what is left at once.
      if (isMoving) first.time = isLent && began <= time ? Math.min(began + taken, time) : began + taken
      first.amount -= taken
    }
    const first = refills[0]
    // A sliver is not worth a dispatch: it comes with the next refill.
    if (refills.length > 1 && first.amount < Math.max(SPECK, this.capacity / 4096)) {
      refills.shift()
      refills[0].amount += first.amount
    }
    this.refill(isMoving ? time : used)
  }

  /** @param {number} time @param {number} amount */
  #append(time, amount) {
    const { refills } = this
    let index = refills.length
    while (index > 0 && refills[index - 1].time > time) index-- // that one had to be earned first
    const last = refills[index - 1]
    const isAdjacent = last !== undefined && last.time + (this.isMoving ? last.amount : 0) >= time - SPECK
    if (!isAdjacent && (last === undefined || refills.length < MOST_REFILLS)) {
      refills.splice(index, 0, { time, amount, due: time })
      return
    }
    // The sooner one waits, when they have to be merged: by `time` no more than itself can have been used.
    if (!isAdjacent) last.time = last.due = time - last.amount
    last.amount += amount
  }

  /** @param {number} time */
  refill(time) {
    const { refills } = this
    let index = 0
    this.remaining = 0
    while (index < refills.length && refills[index].time <= time) this.remaining += refills[index++].amount
    this.next = index < refills.length ? refills[index].time : Infinity
  }

  /**
   * Resizing must not give back what the bandwidth has not.
   *
   * @param {number} time @param {number} [ms] that were used until then
   * @returns {number} ms that were used and that the bandwidth has not given since
   */
  #owedAt(time, ms = 0) {
    const owed = this.#owed - Math.max(0, time - ms - this.#asOf) * this.bandwidth
    this.#asOf = time
    return this.#owed = Math.max(0, owed) + ms * (1 - this.bandwidth)
  }

  /** @param {Claim} claim @param {number} time */
  resize({ wcet: capacity, period }, time) {
    const owed = this.#owedAt(time)
    const most = Math.max(capacity, this.capacity)
    const later = period - this.period
    const there = this.refills.filter(refill => refill.time <= time)
    // What was taken away after it had been used comes back no sooner than if it had not been.
    const used = this.refills.filter(({ time: at, due }) => at > time && (at < Infinity || due > time))
    used.forEach(refill => { refill.due = Math.max(time, refill.due + later) })
    used.sort((a, b) => a.due - b.due)
    const known = there.concat(used).reduce((sum, { amount }) => sum + amount, 0)
    const grown = { time: Infinity, amount: Math.max(0, capacity - known), due: time }
    // What is taken away is what would have come last.
    this.refills = []
    let given = 0
    there.concat(grown, used).forEach(({ time: at, amount, due }) => {
      const kept = Math.min(amount, capacity - given)
      given += kept
      const earned = time + (owed + given - most) * period / capacity - kept
      if (kept > 0) this.refills.push({ time: at <= time ? at : Math.max(due, earned), amount: kept, due })
      if (amount > kept) this.refills.push({ time: Infinity, amount: amount - kept, due })
    })
    this.capacity = capacity
    this.period = period
    this.refill(time)
  }
}

/**
 * The sporadic server (Sprunt, Sha, Lehoczky 1989): what is used comes back one period after the server had
 * both work and capacity, so it interferes with others no more than a periodic task. With the corrections by
 * Stanovich, Baker, Wang, Harbour 2010: each piece that is used comes back a period after its own refill, so
 * none is premature.
 */
class Sporadic extends Refilled {
  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  get isMoving() { return true }

  /** @param {number} began */
  returnOf(began) { return began + this.period }

  /** @param {number} time @param {number} _since */
  wake(time, _since) {
    const { refills } = this
    if (refills[0].time > time) return
    // The period counts from here, also for what will have come by the time it is needed.
    refills[0].time = time
    while (refills.length > 1 && refills[1].time <= time + refills[0].amount) {
      refills[0].amount += refills.splice(1, 1)[0].amount
    }
    this.refill(time)
  }

  /** @param {number} time */
  resume(time) { this.wake(time, time) }
}

/**
 * The deferrable server (Strosnider, Lehoczky, Sha 1995): its capacity is restored at the start of every
 * period and is kept while there is no work. It may be used at the end of one period and again at the start
 * of the next: a jitter of period - capacity.
 */
class Deferrable extends Refilled {
  /** The starts of its periods. */
  cycle = new Cycle(this.began, this.period)

  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  /** @param {number} time @returns {number} the first start after it */
  startAfter(time) { return this.cycle.timeOf(this.cycle.indexAt(time) + 1) }

  /** @param {number} began @param {number} used */
  returnOf(began, used) { return this.startAfter(Math.max(began, used)) }

  /** Whether anything happens at the start of the next period; perhaps that a debt is paid. */
  get isExpecting() { return this.next < Infinity }

  /** @param {number} time */
  refill(time) {
    super.refill(time)
    if (this.isExpecting) this.next = Math.min(this.next, this.startAfter(time))
  }

  /** @param {Claim} claim @param {number} time */
  resize(claim, time) {
    this.cycle = new Cycle(this.cycle.timeOf(this.cycle.indexAt(time)), claim.period)
    super.resize(claim, time)
  }
}

/**
 * The polling server: at the start of each period it has its capacity if there is work, and loses what it has
 * when there is none. It interferes like a periodic task; work that comes just after the poll waits a period.
 */
class Polling extends Deferrable {
  /** Whether the latest poll found work, which has not ended since. */
  #isServing = false
  /** The reading of the clock at which that poll was noticed. */
  #polled = -Infinity
  next = this.cycle.timeOf(1)

  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  /** It polls whether or not its capacity is there. */
  get isExpecting() { return true }
  get isDepleted() { return !this.#isServing || super.isDepleted }

  /** Passes the polls that were left out while there were no jobs. @param {number} time */
  expectJobs(time) {
    if (this.next <= time) this.refill(time)
  }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    // Work that is noticed at the same reading of the clock as the poll was there.
    this.#isServing = this.cycle.timeOf(this.cycle.indexAt(time)) === since || this.#polled === time
  }

  /** @param {number} _time */
  sleep(_time) {
    this.#isServing = false
  }

  /** @param {number} time */
  replenish(time) {
    super.replenish(time)
    this.#polled = time
    this.#isServing = this.isAwake
  }
}

/**
 * The constant-bandwidth server (Abeni, Buttazzo 1998): jobs are ranked by its deadline. Work that uses the
 * capacity up gets it back at the price of a deadline one period later, at once ('postpone') or when the
 * deadline has come (the hard variant). In any interval it uses at most its bandwidth, capacity / period, of
 * the deadlines inside.
 */
class ConstantBandwidth extends Server {
  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  get next() { return this.isDepleted ? this.deadline : Infinity }

  /** @param {number} time @param {number} _since */
  wake(time, _since) {
    // What remains of the old deadline may be used only as far as the bandwidth allows it.
    const left = this.deadline === Infinity ? -Infinity : this.deadline - time
    if (this.remaining < left * this.bandwidth) return
    this.#restart(time)
    this.#postpone()
  }

  /** @param {number} time */
  resume(time) { this.wake(time, time) }

  /** @param {number} ms @param {number} time @param {boolean} isLent */
  consume(ms, time, isLent) {
    super.consume(ms, time, isLent)
    this.#postpone()
  }

  /** All but its debts is forgotten. @param {number} time */
  #restart(time) {
    this.remaining = this.capacity + Math.min(0, this.remaining)
    this.deadline = time + this.period
  }

  #postpone() {
    while (this.postpones && this.isDepleted && this.capacity >= SPECK) this.#recharge()
  }

  #recharge() {
    this.replenishments++
    this.remaining = Math.min(this.capacity, this.remaining + this.capacity)
    this.deadline += this.period
  }

  /** @param {number} time */
  replenish(time) {
    while (this.isDepleted && this.deadline <= time) this.#recharge()
    // It comes more than a period late: a deadline in the past would let it make up for what it did not use.
    if (this.deadline <= time) this.deadline = time + this.period
  }

  /** @param {Claim} claim @param {number} time */
  resize({ wcet: capacity, period }, time) {
    // Until the deadline that others have been promised, what the old bandwidth gives until now and the new
    // one from now on; the deadline comes sooner where that is more than the capacity.
    const left = this.deadline - time
    const owed = left * this.bandwidth - this.remaining
    this.capacity = capacity
    this.period = period
    if (left > 0 && left < Infinity) {
      this.deadline = Math.min(this.deadline, time + period + Math.max(0, owed) / this.bandwidth)
      this.remaining = Math.min(capacity, (this.deadline - time) * this.bandwidth - owed)
    } else {
      this.#restart(time)
    }
    this.#postpone()
  }
}

/**
 * PIBS, the priority inheritance bandwidth preserving server of Quest (Danish, Li, West 2011): short,
 * frequent work under a bound of its utilization. Its period is its own, or else that of the reservation it
 * works for, and its capacity the utilization's share of it. After every use of `u` ms it is eligible again u
 * / utilization after that use began: one time to remember, where a sporadic server would break its capacity
 * into pieces. It may be used at the end of one period and again at the start of the next.
 */
class PIBS extends Server {
  #eligible = -Infinity
  #used = 0

  get next() { return this.isAwake && this.remaining === 0 ? this.#eligible : Infinity }

  /** @param {Claim} claim */
  constructor({ utilization, period }) {
    super(0, Infinity, 0, false)
    this.utilization = utilization
    if (period < Infinity) this.inherit(period, 0)
  }

  /**
   * Takes the period of the reservation that the work is for. A shorter period applies immediately: the rest
   * of the present use must not exceed the capacity of that period. A longer period applies to the next use.
   *
   * @param {number} period @param {number} time
   */
  inherit(period, time) {
    const isShorter = period < this.period
    this.period = period
    this.capacity = this.utilization * period
    if (!isShorter || !this.isAwake || this.isDepleted) return
    this.deadline = Math.min(this.deadline, time + period)
    this.remaining = Math.min(this.remaining, this.capacity - this.#used)
    if (!this.isDepleted) return
    this.depletions++
    this.#conclude()
  }

  /** @param {number} time @param {number} _since */
  wake(time, _since) {
    if (time < this.#eligible) return
    this.#eligible = time
    this.refill()
  }

  refill() {
    this.remaining = this.capacity
    this.deadline = this.#eligible + this.period
  }

  /** @param {number} ms @param {number} time */
  spend(ms, time) {
    // More than a period late, the page was stopped: what nobody could use is lost.
    if (this.#used === 0 && this.#eligible + this.period <= time - ms) this.#eligible = time - ms
    this.remaining -= ms
    this.#used += ms
    if (this.isDepleted) this.#conclude()
  }

  /** @param {number} _time */
  sleep(_time) {
    this.#conclude()
  }

  /** @param {number} time */
  resume(time) {
    this.#conclude()
    this.wake(time, time)
  }

  /** A use has ended. */
  #conclude() {
    if (this.#used > 0) this.#eligible += this.#used / this.utilization
    this.#used = this.remaining = 0
  }

  /** @param {Claim} claim @param {number} time */
  resize({ utilization, period }, time) {
    this.#conclude()
    // What was used is earned from now on at the new rate.
    if (this.#eligible > time) this.#eligible = time + (this.#eligible - time) * this.utilization / utilization
    this.utilization = utilization
    this.inherit(period < Infinity ? period : this.period, time)
    if (this.isAwake) this.wake(time, time)
  }
}

/**
 * @type {Record<Kind, new (capacity: number, period: number, time: number, postpones: boolean) => Server>}
 */
const SERVERS = { sporadic: Sporadic, deferrable: Deferrable, polling: Polling, 'constant-bandwidth': ConstantBandwidth }

// ------------------------------------------------------------------------------------------------- admission

/**
 * What is asked for.
 *
 * @typedef {object} Claim
 * @property {string} name
 * @property {'reservation' | 'I/O' | 'task'} of
 * @property {number} utilization
 * @property {number} wcet ms; of a reservation its capacity
 * @property {number} period ms
 * @property {number} deadline ms
 * @property {number} priority
 * @property {Kind} [kind] of a reservation
 * @property {Required<CriticalSection>[]} [sections] of a task
 */

/**
 * @param {{ name: string, kind: Kind, capacity: any, period: any, priority?: number }} reservation
 * @returns {Claim}
 */
function claimOfReservation({ name, kind, capacity, period, priority: own }) {
  checkCapacity(capacity, period)
  const priority = own === undefined ? 1 / period : finite('priority', own)
  return { name, of: 'reservation', utilization: capacity / period, wcet: capacity, period, deadline: period, priority, kind }
}

/**
 * @param {string} name @param {{ utilization?: any, capacity?: any, period?: any }} options
 * @param {{ period: number, priority: number }} [before] those of a utilization; by default, of the
 *   reservation it works for
 * @returns {Claim}
 */
function claimOfIo(name, { utilization, capacity, period }, { period: own, priority } = { period: Infinity, priority: 0 }) {
  if (capacity === undefined && period === undefined) {
    fraction('utilization', utilization)
    capacity = own < Infinity ? utilization * own : NaN
    period = own
  } else {
    if (utilization !== undefined) throw new TypeError('utilization must not be given beside capacity and period')
    checkCapacity(capacity, period)
    utilization = capacity / period
    priority = 1 / period
  }
  return { name, of: 'I/O', utilization, wcet: capacity, period, deadline: period, priority }
}

/** @param {any} member @param {string} where @param {Policy} policy @returns {[object, Claim]} */
function claimOf(member, where, policy) {
  if (member instanceof Reserved) return [accountOf(member), accountOf(member).claim]
  if (typeof member !== 'object' || member === null) throw wrongType(where, 'a reservation or a task', member)
  const { name = where, kind, utilization, capacity, period, priority } = member
  if (utilization !== undefined) return [member, claimOfIo(name, { utilization: fraction(`${where}.utilization`, utilization) })]
  interval(`${where}.period`, period)
  if (capacity !== undefined && kind !== undefined) kindOption(`${where}.kind`, kind)
  if (capacity !== undefined) return [member, claimOfReservation({ name, kind, capacity, period, priority })]
  const demand = demandOf(where, member, policy)
  return [member, { ...demand, name, of: 'task', utilization: demand.wcet / period }]
}

/** Whether it may come at the end of a period and again at the start of the next. @param {Claim} claim */
const isBursty = ({ of, kind }) => of === 'I/O' || kind === 'deferrable'

/** What sums may exceed their bounds by: less than a thousand fractions add up to by rounding. */
const NOISE = 1e-9

/** Sums over claims. */
class Totals {
  utilization = 0
  /** The left side of equation 1. */
  demand = 0
  /** Number of claims that are not I/O. */
  count = 0
  tasks = 0
  /** Number of reservations whose priority is not their rate. */
  unranked = 0

  /** @param {Claim} claim @param {1 | -1} sign */
  add({ utilization, of, kind, priority, period }, sign) {
    const isBursty = of === 'I/O' || kind === 'deferrable'
    this.utilization += sign * utilization
    this.demand += sign * (isBursty ? (2 - utilization) * utilization : utilization)
    if (of !== 'I/O') this.count += sign
    if (of === 'task') this.tasks += sign
    if (of === 'reservation' && priority !== 1 / period) this.unranked += sign
  }
}

/**
 * Claims per correction of the totals: they are summed up again when one in 64 claims has been removed, so
 * that rounding errors do not add up. A set of up to 64 claims is always summed up in order.
 */
const CLAIMS_PER_CORRECTION = 64

/** The processor time that a scheduler has promised under a policy. */
class Commitments {
  /** By the account or the task. A claim of nothing is not kept. @type {Map<object, Claim>} */
  #claims = new Map()
  #totals = new Totals()
  /** Number of claims that were removed or changed since the totals were summed up. */
  #removed = 0
  share = 1
  /** Whether all claims get their time when they need it. */
  guarantees = false

  /** @param {Policy} policy */
  constructor(policy) {
    this.policy = policy
  }

  /** @param {object} claimant @returns {boolean} whether it had a claim */
  delete(claimant) {
    const isKnown = this.#claims.has(claimant)
    this.#set([[claimant, undefined]])
    return isKnown
  }

  /**
   * Adds claims, or changes them.
   *
   * @param {[object, Claim][]} added @param {number} [share] @param {boolean} [guarantees]
   * @returns {Sums}
   * @throws {AdmissionError} if this is more than there is; nothing has changed then
   */
  commit(added, share = this.share, guarantees = this.guarantees) {
    const before = added.map(({ 0: claimant }) => this.#claims.get(claimant))
    this.#set(added)
    try {
      const sums = sumsOf(this.policy, this.#summedUp(), () => this.#list(), share, guarantees)
      this.share = share
      this.guarantees = guarantees
      return sums
    } catch (error) {
      // In reverse order, because a claimant can be given twice.
      for (let i = added.length - 1; i >= 0; i--) this.#set([[added[i][0], before[i]]])
      throw error
    }
  }

  /** @param {(readonly [object, Claim | undefined])[]} entries */
  #set(entries) {
    entries.forEach(({ 0: claimant, 1: claim }) => {
      const before = this.#claims.get(claimant)
      if (before !== undefined) {
        this.#totals.add(before, -1)
        this.#removed++
      }
      if (claim === undefined || claim.utilization === 0) return void this.#claims.delete(claimant)
      this.#claims.set(claimant, claim)
      this.#totals.add(claim, 1)
    })
  }

  #summedUp() {
    if (this.#removed * CLAIMS_PER_CORRECTION <= this.#claims.size) return this.#totals
    this.#totals = new Totals()
    this.#removed = 0
    this.#claims.forEach(claim => this.#totals.add(claim, 1))
    return this.#totals
  }

  #list() {
    /** @type {Claim[]} */
    const claims = []
    this.#claims.forEach(claim => claims.push(claim))
    return claims
  }
}

/** @type {WeakMap<Scheduler, Commitments>} */
const commitments = new WeakMap()

/** @param {Scheduler} scheduler @returns {Commitments} */
function commitmentsOf(scheduler) {
  const { policy } = scheduler
  let known = commitments.get(scheduler)
  if (known?.policy !== policy) commitments.set(scheduler, known = new Commitments(policy))
  return known
}

/**
 * @param {Policy} policy @param {Totals} totals @param {() => Claim[]} list the claims of these totals
 * @param {number} share @param {boolean} guarantees
 * @returns {Sums}
 * @throws {AdmissionError}
 */
function sumsOf(policy, totals, list, share, guarantees) {
  const { utilization, demand, count } = totals
  const test = guarantees ? testOf(totals, list, policy) : 'utilization'
  /** @type {Sums} */
  const sums = { utilization, demand: utilization, bound: share, share, test }
  if (test === 'equation 1') {
    const members = Math.max(1, count)
    sums.demand = demand
    sums.bound = share * members * (2 ** (1 / members) - 1)
  }
  const fits = sums.demand <= sums.bound + NOISE
  if (fits && (test !== 'schedulable' || isSchedulable(list(), policy, share))) return Object.freeze(sums)
  const askers = list().map(({ name }) => name).join(', ')
  throw new AdmissionError(fits ? `${askers} cannot all be served in time`
    : `${askers} ask for ${percent(sums.demand)} of the processor, more than ${percent(sums.bound)}`, policy, sums)
}

/** @param {Totals} totals @param {() => Claim[]} list @param {Policy} policy @returns {Sums['test']} */
function testOf({ tasks, unranked }, list, policy) {
  if (tasks > 0) return 'schedulable'
  if (isByDeadline(policy)) return 'utilization'
  if (unranked === 0) return 'equation 1'
  // Liu, Layland 1973: the bound is that of rate monotonic priorities.
  const ranked = list().filter(({ of }) => of === 'reservation')
    .sort((a, b) => b.priority - a.priority || b.period - a.period)
  const isMonotonic = ranked.every(({ period }, index) => index === 0 || ranked[index - 1].period <= period)
  return isMonotonic ? 'equation 1' : 'schedulable'
}

/** @param {Claim[]} claims @param {Policy} policy @param {number} share */
function isSchedulable(claims, policy, share) {
  const tasks = claims.filter(({ of }) => of === 'task')
  const reservations = claims.filter(({ of }) => of === 'reservation')
  const io = claims.reduce((sum, { of, utilization }) => of === 'I/O' ? sum + utilization : sum, 0)
  const speed = share - io // in any time t, I/O takes io * t
  if (!(speed > 0)) return false
  // By fixed priority, reservations are above all tasks, and I/O above them.
  const top = tasks.reduce((most, { priority }) => Math.max(most, priority), 0)
  const rank = (/** @type {Claim} */ { of, priority }) => of === 'task' ? priority
    : top + 1 + reservations.filter(other => of === 'I/O' || other.priority < priority).length
  const set = tasks.concat(reservations).map(claim => ({
    ...claim, wcet: claim.wcet / speed, priority: rank(claim),
    sections: claim.sections?.map(({ resource, wcet }) => ({ resource, wcet: wcet / speed }))
  }))
  if (isByDeadline(policy)) return schedulable(set, { policy: edf }).schedulable
  // What may be used back to back is there once more, at the worst moment: a task that comes once.
  const longest = reservations.reduce((most, { period }) => Math.max(most, period), 0)
  const extra = longest === 0 ? [] : claims.filter(isBursty).map(claim => ({
    name: claim.name, wcet: (claim.period < Infinity ? claim.wcet : claim.utilization * longest) / speed,
    period: 2 ** 30 * longest, priority: rank(claim)
  }))
  const all = /** @type {TaskParameters[]} */ (set).concat(extra)
  return schedulable(all, { policy: fp }).schedulable
}

/**
 * What asks for processor time.
 *
 * @typedef {Reservation | IoReservation | TaskParameters | { utilization: number, name?: string }
 *   | { capacity: number, period: number, kind?: Kind, priority?: number, name?: string }} Claimant
 */

/**
 * Promises processor time: from now on what was admitted gets its time, as far as the schedule decides that,
 * and what asks for more than is left is refused. Before the first call, reservations are refused only where
 * all of them exceed the processor.
 *
 * The test. Under edf, utilizations add up to the share at most (Liu, Layland 1973; Abeni, Buttazzo 1998).
 * Under fp and rm, Qduino equation 1: `sum(C / T) + sum((2 - U) U) <= n (2^(1/n) - 1)` times the share, where
 * the second sum is of what may be used at the end of a period and again at the start of the next: I/O and
 * deferrable reservations. Where priorities are not rate monotonic, and where there are tasks, whose wcet,
 * period and deadline are known, it is that of `schedulable`, exact but for those two kinds.
 *
 * @param {Iterable<Claimant> | Claimant} set reservations and I/O reservations; tasks with `wcet`, `period`
 *   and `deadline` (default: the period); or objects like those that they are made of. Reservations count,
 *   named or not
 * @param {{ share?: number, scheduler?: Scheduler }} [options] `share` of the processor, > 0 and <= 1,
 *   default the one in force, at first 1; pages should give what the browser leaves, about 0.85
 * @returns {Readonly<Sums> & { cancel(): boolean }} `cancel` takes back what was promised to the tasks of
 *   this call
 * @throws {AdmissionError} when that is more than there is; nothing has changed then
 * @throws {TypeError | RangeError} naming the parameter
 */
export function admit(set, options = {}) {
  const { share } = checked(options, { share: positiveFraction, scheduler: elsewhere })
  if (typeof set !== 'object' || set === null) throw wrongType('set', 'reservations or tasks', set)
  const members = /** @type {any[]} */ (Array.isArray(set) ? set : Symbol.iterator in set ? [...set] : [set])
  const { scheduler: given = members.find(member => member?.scheduler !== undefined)?.scheduler } = options
  const scheduler = here({ scheduler: given })
  const stranger = members.find(member => member?.scheduler !== undefined && member.scheduler !== scheduler)
  if (stranger !== undefined) throw new TypeError(`set must be of one scheduler, but ${stranger.name} is of another`)
  const { policy } = scheduler
  if (!isByDeadline(policy) && !isByPriority(policy)) {
    throw new TypeError(`admit() knows edf, fp and rm, and not the policy ${JSON.stringify(policy.name)}`)
  }
  const claims = members.map((member, index) => claimOf(member, `set[${index}]`, policy))
  const committed = commitmentsOf(scheduler)
  const sums = committed.commit(claims, share, true)
  const tasks = claims.map(({ 0: claimant }) => claimant).filter(claimant => {
    if (!(claimant instanceof Account)) return true
    claimant.isPromised = true
  })
  const cancel = () => tasks.filter(task => committed.delete(task)).length > 0
  return Object.freeze(Object.assign(new Handle(), sums, { cancel }))
}

// ---------------------------------------------------------------------------------------- handlers and loops

const RESERVED = { capacity: elsewhere, kind: elsewhere, depleted: elsewhere }
const INTERRUPT = { ...HANDLING, ...RESERVED, io: elsewhere, bottomHalf: callable }

/**
 * Handles events by a separate reservation (Qduino II-C: attachInterruptVcpu): one after the other, in at
 * most `capacity` ms of every `period`. A storm of events takes no more than that from other jobs.
 *
 * Use it for input whose rate the page does not control: messages of sockets and workers, sensors, MIDI, a
 * pointer. With `io`, an I/O reservation first runs `bottomHalf` for each event, for example to decode a
 * message. Two reservations then bound the work of the events, and `worstCaseDelay` tells how late a handler
 * may start.
 *
 * ```js
 * const io = new IoReservation({ utilization: 0.05 })
 * const feed = interrupt(socket, 'message', function* (order) { yield* insert(order) }, {
 *   capacity: 4, period: 16, io, bottomHalf: ({ data }) => JSON.parse(data), size: 1000
 * })
 * feed.noInterrupts() // holds messages back until feed.interrupts()
 * ```
 *
 * @template {EventTarget} T @template {string} K @template {Releasable} W
 * @template {Event} [E=EventOf<T, K>] @template [V=E]
 * @param {T} target
 * @param {K} type
 * @param {(W | ((value: NoInfer<V>) => unknown)) & Handles<W, NoInfer<V>>} task called with the event, or
 *   with the return value of `before` or `bottomHalf`, unless that is undefined
 * @param {ReleaseOptions & { before?: (event: E) => V | void, once?: boolean, passive?: boolean,
 *   capture?: boolean, signal?: AbortSignal, capacity?: number, period?: number, kind?: Kind,
 *   depleted?: Depleted, io?: IoReservation, bottomHalf?: (event: V) => unknown, size?: number }} [options]
 *   the options of `on`, and: `capacity`, `period`, `kind`, `priority`, `depleted`: the parameters of the
 *   handler's reservation (see Reservation); without a capacity, the handler runs as with `on`. `io`: the I/O
 *   reservation that delivers the events to the handler. `bottomHalf`: a function or generator function that
 *   `io` runs for each event
 * @returns {Handling<Reservation | undefined>}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 * @throws {AdmissionError} if the admitted reservations leave too little processor time (see `admit`)
 */
export function interrupt(target, type, task, options = {}) {
  checkTarget(target, type)
  const { capacity, kind, depleted, io, bottomHalf, size = Infinity } = checked(options, INTERRUPT)
  if (io !== undefined && !(io instanceof IoReservation)) throw wrongType('io', 'an IoReservation', io)
  if (bottomHalf !== undefined && io === undefined) throw new TypeError('bottomHalf needs an io, which does it')
  const isReserved = capacity !== undefined
  if (!isReserved && (kind !== undefined || depleted !== undefined)) {
    throw new TypeError('kind and depleted are those of a reservation, which needs a capacity and a period')
  }
  const excess = isReserved || io !== undefined || size < Infinity ? 'queue' : undefined
  const source = isReserved
    ? reservedSource('interrupt', 'task', task, options, excess) : new JobSource('task', task, options, excess)
  if (io !== undefined) {
    if (io.scheduler !== source.scheduler) throw new TypeError('io must be of the scheduler of the handler')
    if (!isReserved && !(source.parameter('reservation') instanceof Reservation)) {
      throw new TypeError('io takes its standing from the handler, which needs a capacity and a period')
    }
  }
  const handle = (/** @type {Reservation | null} */ own) => {
    return /** @type {any} */ (new InterruptHandler(source, options, own).listen(target, type))
  }
  if (!isReserved) return handle(null)
  return withReservation(source, source.parameter('name') || type, options, handle)
}

/** Runs bottom halves between `raised` and `delivered`; gives the reservation back after the last job. */
class InterruptHandler extends EventHandler {
  /** The job that runs bottom halves. @type {Job | null} */
  #bottomHalf = null
  /** Number of jobs of the handler that have not ended. */
  #living = 0

  /**
   * @param {JobSource} source @param {any} options those of `interrupt`
   * @param {Reservation | null} own the reservation that `interrupt` made for this handler
   */
  constructor(source, options, own) {
    super(source, options, own ?? undefined)
    this.own = own
    this.io = options.io
    this.bottomHalf = options.bottomHalf
  }

  get drops() { return this.io?.drops || super.drops }

  deliver() {
    const { io, source: { scheduler } } = this
    if (io === undefined) return super.deliver()
    if (!this.mask.isOn || this.raised.size === 0 || this.#bottomHalf !== null) return
    const name = `${this.source.parameter('name')}, bottom half`
    const job = scheduler.spawn(this.#bottomHalves(), { name, reservation: io.for(this.reservation) })
    this.#bottomHalf = job
    extend.ended(job, () => {
      this.#bottomHalf = null
      this.deliver()
      this.settled()
    })
  }

  /** @param {QueuedEvent} event */
  start(event) {
    const job = super.start(event)
    if (job === null || this.own === null) return job
    this.#living++
    extend.ended(job, () => {
      this.#living--
      this.settled()
    })
    return job
  }

  /** @returns {Generator<any, void, any>} */
  *#bottomHalves() {
    const { bottomHalf, mask, raised } = this
    while (mask.isOn && raised.size > 0) {
      const { args, release } = /** @type {QueuedEvent} */ (raised.shift())
      let found = bottomHalf && (yield* resultOf(bottomHalf, args))
      if (typeof found?.next === 'function' || typeof found?.then === 'function') found = yield found
      if (this.isCancelled) return void this.dropped++
      this.handle({ args: found === undefined ? args : [found], release })
      yield
    }
  }

  /** After the last job, gives the reservation back. */
  settled() {
    const { own } = this
    if (own === null || !this.isOver || this.isHearing || this.waiting > 0 || this.#living > 0) return
    if (this.#bottomHalf === null || this.isCancelled) own.cancel()
  }
}

/**
 * A loop with a reservation of its own (Qduino II-C: `loop(id, C, T)`): `body` again and again, in `capacity`
 * ms of every `period`. Any number of them; what one does disturbs no other. It is not paced: a body that is
 * to wait does so, as by `yield sleep(ms)`.
 *
 * @param {() => Iterator<Yieldable, unknown, any> | PromiseLike<unknown> | void} body a generator function,
 *   or a function that returns something to wait for
 * @param {TaskOptions & { capacity: number, period: number, kind?: Kind, depleted?: Depleted, signal?:
 *   AbortSignal }} options those of the reservation and of its job
 * @returns {{ cancel(reason?: unknown): boolean, readonly job: Job, readonly reservation: Reservation }}
 *   `cancel` ends the loop; so does an error in the body. Its capacity is free again then
 * @throws {TypeError | RangeError} naming the parameter
 * @throws {AdmissionError} when the processor has not that much left
 */
export function loop(body, options) {
  callable('body', body)
  const { signal } = checked(options, { ...TASK, ...RESERVED, signal: check.signal })
  const source = reservedSource('loop', 'body', body, options)
  const name = source.given.name ?? (extend.nameOf(body) || 'loop')
  const run = function* () {
    for (;;) {
      const begun = yield* resultOf(body, [])
      yield typeof begun === 'object' && begun !== null ? begun : undefined
    }
  }
  return withReservation(source, name, options, reservation => {
    const job = source.scheduler.spawn(run, { ...source.given, name, signal, reservation })
    extend.ended(job, () => { reservation.cancel() })
    const cancel = (/** @type {unknown} */ reason) => job.cancel(reason)
    return Object.assign(new Handle(), { cancel, job, reservation })
  })
}

/**
 * The source of jobs with their own reservation. The period in the options is that of the reservation.
 *
 * @param {string} by @param {string} name @param {any} work @param {any} options
 * @param {'queue'} [excess] the default
 */
function reservedSource(by, name, work, options, excess) {
  const { period, reservation, ...given } = parametersOf(options)
  if (reservation !== undefined) throw new TypeError(`reservation is made by ${by}(), of capacity and period`)
  return new JobSource(name, work, { ...given, excess: options.excess }, excess)
}

/**
 * Makes the reservation, and what runs by it; or neither.
 *
 * @template T
 * @param {JobSource} source @param {string} name @param {any} options
 * @param {(reservation: Reservation) => T} make
 * @returns {T}
 */
function withReservation({ scheduler }, name, { capacity, period, kind, depleted, priority }, make) {
  const reservation = new Reservation({ capacity, period, kind, depleted, priority, name, scheduler })
  try {
    return make(reservation)
  } catch (error) {
    reservation.cancel()
    throw error
  }
}

/**
 * What a function returns, by its twin if it has one.
 *
 * @param {any} fn @param {any[]} args @returns {Generator<any, any, any>}
 */
function* resultOf(fn, args) {
  const body = extend.preemptible(fn)
  const result = apply(body, undefined, args)
  return body === fn ? result : yield result
}

/**
 * How long an event may take from its listener to its handler, at most (Qduino equation 3):
 *
 *   (T_h - C_h) + (T_io - C_io) + (ceil(b / C_io) - 1) T_io + (b mod C_io), the remainder taken in (0, C_io]
 *
 * It holds plus one budget (and, with an I/O reservation, one budget / utilization), in an admitted set, for
 * reservations that none of higher standing holds up and an event that comes when the previous ones have been
 * handled. Where others may hold them up, each blackout `T - C` may be twice as long (Shin, Lee 2003). The
 * time until the browser calls the listener is not in it.
 *
 * @param {object} options
 * @param {{ capacity: number, period: number }} options.handler the reservation that the handler runs by
 * @param {{ capacity: number, period: number } | { utilization: number }} [options.io] the I/O reservation
 *   that delivers the event, by default none; with a utilization alone, it has the handler's period
 * @param {number} [options.bottomHalf] ms of work between listener and handler, default 0
 * @returns {number} ms; Infinity where a capacity is 0
 * @throws {TypeError | RangeError} naming the parameter
 */
export function worstCaseDelay(options) {
  const { handler, io, bottomHalf = 0 } = checked(options, { handler: elsewhere, io: elsewhere, bottomHalf: duration })
  if (typeof handler !== 'object' || handler === null) throw wrongType('handler', 'a reservation', handler)
  checkCapacity(handler.capacity, handler.period)
  if (handler.capacity === 0) return Infinity
  const blackout = handler.period - handler.capacity
  if (io === undefined) return blackout + bottomHalf
  if (typeof io !== 'object' || io === null) throw wrongType('io', 'an I/O reservation', io)
  const { utilization, period: own = Infinity } = /** @type {any} */ (io)
  const { period, capacity } = utilization === undefined || own < Infinity ? /** @type {any} */ (io)
    : { period: handler.period, capacity: fraction('utilization', utilization) * handler.period }
  checkCapacity(capacity, period)
  if (capacity === 0) return Infinity
  const periods = Math.max(0, Math.ceil(bottomHalf / capacity - NOISE) - 1)
  return blackout + (period - capacity) + periods * period + (bottomHalf - periods * capacity)
}
