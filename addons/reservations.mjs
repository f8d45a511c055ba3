/**
 * addons/reservations.mjs: processor time set aside for jobs, for event handlers and for loops.
 *
 * A reservation grants its jobs `capacity` ms in every `period` (Qduino: a Main VCPU). The jobs take no more
 * than that from other jobs. If the reservation was admitted (`admit`), they also get no less. An I/O
 * reservation runs short, frequent work for other reservations, such as the bottom halves of `interrupt`.
 *
 * A Reservation is an account: it decides which of its jobs run. The scheduler queues its ready jobs as one
 * group, by the keys of the reservation (Group in rt.mjs). The account asks a server, the algorithm that
 * consumes and replenishes capacity; a server knows times and amounts, but no jobs. A refill is an amount of
 * capacity and the time at which it becomes available. Execution by the rank of the reservation, in the
 * foreground, uses up capacity; background execution does not.
 *
 * States of a server. Each arrow is a method that the account calls:
 *
 *          wake()             consume()
 *   idle ---------> serving -------------> depleted
 *        <---------         <-------------
 *          sleep()            replenish()
 *
 * A server that is off (a capacity of 0, or `noInterrupts()`) does not change. `resume()` continues it.
 *
 * Invariants:
 * 1. A depleted reservation with work has a replenishment on the timeline, or its deadline is postponed.
 * 2. Under fixed priorities, the refills at finite times sum to the capacity.
 * 3. An overrun is a debt: the next replenishments pay all of it.
 * 4. A rejected reservation or resize changes nothing.
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

/** The properties that Reservation and IoReservation share. */
class Reserved extends Handle {
  constructor() {
    super()
  }
  get scheduler() { return accountOf(this).scheduler }
  get name() { return accountOf(this).name }
  /** The share of the processor: capacity / period. */
  get utilization() { return accountOf(this).request.utilization }
  /** Execution time in the foreground so far, ms. */
  get used() { return accountOf(this).used }
  /** The capacity, ms per period; NaN if an I/O reservation takes its period from a main reservation. */
  get capacity() { return accountOf(this).request.wcet }
  /** The period, ms; Infinity if an I/O reservation takes its period from a main reservation. */
  get period() { return accountOf(this).request.period }
  /** How often the capacity was used up. @returns {number} */
  get depletions() { return accountOf(this).server.depletions }
  /** How often capacity was replenished. @returns {number} */
  get replenishments() { return accountOf(this).server.replenishments }

  /**
   * Releases the share of the processor, so that other reservations can be admitted. The jobs of the
   * reservation keep its capacity and rank.
   *
   * @returns {boolean} `true` if the reservation still held its share
   */
  cancel() { return accountOf(this).withdraw() }
}

/** @typedef {'sporadic' | 'deferrable' | 'polling' | 'constant-bandwidth'} Kind */
/** @typedef {'background' | 'wait' | 'postpone'} Depleted */

/** Whether a policy compares like edf. `schedulable` uses the same test. @param {Policy} policy */
const isByDeadline = ({ compare }) => compare === edf.compare
/** @param {Policy} policy */
const isByPriority = ({ compare }) => compare === fp.compare

/** @type {Kind[]} */
const KINDS = ['sporadic', 'deferrable', 'polling', 'constant-bandwidth']

/** The kinds that a policy supports, the default first. A custom one supports all. @param {Policy} policy */
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
const IO_RESERVATION = {
  ...IO_CAPACITY, depleted: among('background', 'wait'), name: text, scheduler: elsewhere
}

/**
 * Reserves processor time: `capacity` ms in every `period`. Jobs that are spawned with the reservation run by
 * its keys while capacity remains (the Main VCPU of Qduino II-A). They cannot take more from other jobs.
 * If the set of reservations was admitted (`admit`), other jobs cannot take the reserved time from them.
 *
 * `period` is the longest pause that you accept, `capacity` the time that the work needs in each period. With
 * `depleted: 'wait'` the jobs never get more than the capacity.
 *
 * Under fp a reservation ranks by its priority, above all jobs without a reservation. Under edf it ranks by
 * the deadline of the server. Its jobs rank among each other by their own keys, and jobs of equal rank
 * rotate. The scheduler tests the capacity at every budget. If the last budget or a critical section uses
 * more than the capacity, the next replenishment pays for the excess.
 *
 * @example
 * const video = new Reservation({ capacity: 5, period: 20 })
 * await rt.spawn(function* () {
 *   for (const end = rt.now() + 10; rt.now() < end;) yield
 * }, { reservation: video })
 * console.log(video.used > 0, video.utilization) // → true, 0.25
 * video.cancel()
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
   * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
   * @throws {AdmissionError} if the admitted reservations leave too little processor time (see `admit`)
   */
  constructor(options) {
    super()
    const {
      capacity, period, priority, depleted = 'background', name = 'reservation'
    } = checked(options, RESERVATION)
    const scheduler = here(options)
    const kinds = kindsUnder(scheduler.policy)
    const { kind = kinds[0] } = options
    const request = requestOfReservation({ name, kind, capacity, period, priority })
    if (!kinds.includes(kind)) {
      const list = kinds.map(one => `'${one}'`).join(' or ')
      throw wrongType('kind', `${list} under ${scheduler.policy.name}`, kind)
    }
    const isRankedByDeadline = kind === 'constant-bandwidth'
    const depletedOption = isRankedByDeadline ? among('background', 'wait', 'postpone')
      : among('background', 'wait')
    depletedOption('depleted', depleted)
    const server = new SERVERS[kind](capacity, period, scheduler.now(), depleted === 'postpone')
    const account = new Account(scheduler, server, request, depleted, isRankedByDeadline)
    Object.defineProperty(this, extend.protocol, /** @type {any} */ ({ __proto__: null, value: account }))
  }

  get kind() { return /** @type {Kind} */ (accountOf(this).request.kind) }
  get depleted() { return accountOf(this).depleted }
  get priority() { return accountOf(this).request.priority }
  /** Capacity that the jobs can still use, in ms, at the latest reading of the clock. @returns {number} */
  get remaining() { return accountOf(this).isDepleted ? 0 : accountOf(this).server.remaining }

  /**
   * Changes the reservation, also while its jobs run. Added capacity is available immediately, except for
   * time that the jobs have used and the bandwidth has not earned back. A smaller capacity removes the latest
   * replenishments. With a capacity of 0 the jobs stop until the capacity is larger again; used time is still
   * replenished.
   *
   * @param {{ capacity?: number, period?: number, priority?: number }} options
   * @returns {this}
   * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
   * @throws {AdmissionError} if too little processor time is left; the reservation then stays unchanged
   */
  resize(options) {
    const { name, kind } = this
    const { capacity = this.capacity, period = this.period } = checked(options, CAPACITY)
    const { priority = this.priority === 1 / this.period ? undefined : this.priority } = options
    accountOf(this).change(requestOfReservation({ name, kind, capacity, period, priority }))
    return this
  }
}

/**
 * A share of the processor for short, frequent work on behalf of other reservations, such as the bottom
 * halves of events. It takes priority and period from the reservation for which it works, but never uses more
 * than its own utilization (an I/O VCPU: Qduino II-A; Danish, Li, West 2011). If you pass a period, its
 * priority is the rate, 1 / period.
 *
 * There are three ways to give it work: `interrupt(target, type, handler, { io, capacity, period })`;
 * `spawn(work, { reservation: io.for(main) })`; or, in a job that has a reservation,
 * `spawn(work, { reservation: io })`.
 *
 * @example
 * const io = new IoReservation({ utilization: 0.05 })
 * const bumper = new EventTarget()
 * interrupt(bumper, 'hit', () => console.log('stop'), { capacity: 1, period: 10, io, once: true })
 * bumper.dispatchEvent(new Event('hit'))
 * await rt.idle() // → stop
 * io.cancel()
 */
export class IoReservation extends Reserved {
  #mask = new InterruptMask(() => accountOf(this).turn({ isMasked: !this.isOn }))

  /**
   * @param {{ utilization?: number, capacity?: number, period?: number, depleted?: 'background' | 'wait',
   *   name?: string, scheduler?: Scheduler }} options `utilization`: > 0 and <= 1, or 0 to turn it off.
   *   Alternatively `capacity`, ms per period, or 0 to turn it off, and `period`, ms, > 0. `depleted`:
   *   default 'wait', because event work in the background could otherwise take all idle time
   * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
   * @throws {AdmissionError} if the admitted reservations leave too little processor time (see `admit`)
   */
  constructor(options) {
    super()
    const { depleted = 'wait', name = 'I/O reservation' } = checked(options, IO_RESERVATION)
    const scheduler = here(options)
    const request = requestOfIo(name, options)
    const isRankedByDeadline = isByDeadline(scheduler.policy)
    const account = new IoAccount(scheduler, new PIBS(request), request, depleted, isRankedByDeadline)
    Object.defineProperty(this, extend.protocol, /** @type {any} */ ({ __proto__: null, value: account }))
  }

  /** Whether events are handled, rather than held back or dropped. */
  get isOn() { return this.#mask.isOn }
  /** Whether events that arrive after `noInterrupts()` are dropped. */
  get drops() { return this.#mask.drops }

  /** Handles events again, starting with the events that were held back. */
  interrupts() {
    this.#mask.interrupts()
  }
  /**
   * Stops handling events until `interrupts()`. Events that arrive in the meantime are held back, or dropped
   * with `drop: true`. The reservation keeps its share of the processor.
   *
   * @param {{ drop?: boolean }} [options]
   * @throws {TypeError} if `drop` is not a boolean
   */
  noInterrupts(options) {
    this.#mask.noInterrupts(options)
  }

  /**
   * Returns a value for the option `reservation`. Jobs that are spawned with this value work for `main`.
   *
   * @param {Reservation} main
   * @returns {object}
   * @throws {TypeError} if `main` is not a Reservation of the same scheduler
   */
  for(main) {
    if (!(main instanceof Reservation)) throw wrongType('main', 'a Reservation', main)
    if (main.scheduler !== this.scheduler) {
      throw new TypeError(`main must be of the scheduler of ${this.name}`)
    }
    const account = /** @type {IoAccount} */ (accountOf(this))
    return { [extend.protocol]: account.delegateOf(accountOf(main)) }
  }

  /**
   * Changes the share (Qduino II-C: interruptsVcpu). Pass a utilization to keep the period, or a capacity and
   * a period. A share of 0 turns the reservation off.
   *
   * @param {{ utilization?: number, capacity?: number, period?: number }} options
   * @returns {this}
   * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
   * @throws {AdmissionError} if too little processor time is left; the reservation then stays unchanged
   */
  resize(options) {
    const account = accountOf(this)
    account.change(requestOfIo(this.name, checked(options, IO_CAPACITY), account.request))
    return this
  }
}

// -------------------------------------------------------------------------------------------------- accounts

/** @param {any} reservation @returns {Account} */
const accountOf = reservation => reservation?.[extend.protocol]

/** The timeline entry of an account that has no pending replenishment. */
const NEVER = { time: Infinity, ref: false, cancel: () => true }

/**
 * The state of a reservation. The account is also the hook that the scheduler finds in the reservation
 * (`groupFor`, `level`), and it implements the hooks of the group (`arrives`, `departs`, `drain`, `detach`).
 */
class Account {
  /** @type {Set<Job>} */
  jobs = new Set()
  /** The jobs that are ready or running. @type {Set<Job>} */
  busy = new Set()
  /** I/O reservations that work for this reservation. @type {Set<IoAccount>} */
  delegates = new Set()
  /** Execution time in the foreground, ms. */
  used = 0
  /** Whether `noInterrupts()` has turned the reservation off. */
  isMasked = false
  /** Whether the reservation holds its share: `cancel()` releases it, `admit` takes it again. */
  isPromised = true
  /** The keys of the group: see `Group.change`. @type {Keys | undefined} */
  keys = undefined
  /** @type {{ readonly time: number, readonly ref: boolean, cancel(): boolean }} */
  #entry = NEVER
  #replenish

  /**
   * @param {Scheduler} scheduler @param {any} server a Server @param {ShareRequest} request the requested
   *   share
   * @param {Depleted} depleted @param {boolean} isRankedByDeadline
   */
  constructor(scheduler, server, request, depleted, isRankedByDeadline) {
    this.scheduler = scheduler
    this.policy = scheduler.policy
    this.group = extend.group(scheduler, this)
    this.server = server
    this.request = request
    this.name = request.name
    this.depleted = depleted
    this.isRankedByDeadline = isRankedByDeadline
    this.#replenish = Object.assign((/** @type {number} */ time) => {
      if (this.server.next > time) return // an observer of the replenishment has resized the reservation
      this.#entry = NEVER
      this.server.replenish(time)
      this.update()
    }, { of: this.name })
    commitmentsOf(scheduler).commit([[this, request]])
  }

  /** Whether the jobs are stopped. The server is idle then, and time used earlier is still replenished. */
  get isOff() { return this.isMasked || this.request.utilization === 0 }
  get isDepleted() { return this.isOff || this.server.isDepleted }

  /** Returns the reservation for which a job works. @param {Job} _job @returns {Account} */
  mainOf(_job) { return this }

  /** The preemption level: above all jobs without a reservation under fp, by the period under edf. */
  get level() { return this.isRankedByDeadline ? -this.request.period : Infinity }

  /**
   * @param {ShareRequest} request the new request; it is tested unless the reservation has released its share
   */
  change(request) {
    if (this.#isCounted) commitmentsOf(this.scheduler).commit([[this, request]])
    const now = this.scheduler.now()
    if (request.utilization > 0) this.server.resize(request, now)
    this.turn({ request })
    this.delegates.forEach(delegate => {
      delegate.follow(now)
      delegate.update()
    })
  }

  /** Releases the share of the processor. @returns {boolean} `true` if the reservation still held it */
  withdraw() {
    const wasCounted = this.#isCounted
    this.isPromised = false
    if (wasCounted) commitmentsOf(this.scheduler).delete(this)
    return wasCounted
  }

  /** Whether the request counts in admission. Requests end with the policy under which they were made. */
  get #isCounted() { return this.isPromised && this.scheduler.policy === this.policy }

  /** @param {{ request?: ShareRequest, isMasked?: boolean }} change can turn the reservation on or off */
  turn(change) {
    const wasOff = this.isOff
    Object.assign(this, change)
    if (wasOff && !this.isOff && this.server.isAwake) this.server.resume(this.scheduler.now())
    this.update()
  }

  /** @param {Job} job the released job @param {Scheduler} scheduler */
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
    if (!this.jobs.has(job)) return // an observer of the replenishment has cancelled the job
    busy.add(job)
    if (!server.isAwake) {
      server.isAwake = true
      server.wake(time, job.started === undefined ? Math.min(job.release, time) : time)
    }
    this.update()
  }

  /**
   * Fires a replenishment that is due at this reading of the clock. A job that arrives at the same reading
   * thus finds the capacity, even if its timeline entry was created first.
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
    // For `depleted: 'wait'`, the scheduler itself reports each job that has to stop.
    if (server.depletions === depletions || this.depleted === 'wait') return
    const reservation = this.name
    extend.emit(this.scheduler, 'deplete', job, { reservation, depleted: this.depleted })
    if (this.depleted === 'postpone') {
      extend.emit(this.scheduler, 'replenish', null, { reservation, due: time })
    }
  }

  /** Passes the state of the server to the group and to the timeline. */
  update() {
    const { server, isDepleted, isRankedByDeadline, request: { priority } } = this
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
    const options = { replenishment: true, ref }
    this.#entry = time === Infinity ? NEVER : extend.at(this.scheduler, time, this.#replenish, options)
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
 * The state of an I/O reservation. Without a period of its own, it takes period and priority from the most
 * urgent reservation for which it works.
 */
class IoAccount extends Account {
  /** Whether its jobs must work for a main reservation, from which it takes priority and period. */
  needsMain = true
  /** @type {WeakMap<Job, Account>} */
  #mains = new WeakMap()
  /** Number of busy jobs that work for each main reservation. @type {Map<Account, number>} */
  #served = new Map()

  /**
   * @param {Scheduler} scheduler @param {any} server @param {ShareRequest} request @param {Depleted} depleted
   * @param {boolean} isRankedByDeadline
   */
  constructor(scheduler, server, request, depleted, isRankedByDeadline) {
    super(scheduler, server, request, depleted, isRankedByDeadline)
  }

  /** Returns the hooks of the reservation for jobs that work for `main`. @param {Account} main */
  delegateOf(main) {
    const level = this.request.period < Infinity ? this.level : main.level
    const groupFor = (/** @type {Job} */ job, /** @type {Scheduler} */ scheduler) =>
      this.groupFor(job, scheduler, main)
    return { level, groupFor }
  }

  /** @param {Job} job */
  mainOf(job) { return /** @type {Account} */ (this.#mains.get(job)) }

  /**
   * @param {Job} job @param {Scheduler} scheduler
   * @param {Account | null} [main] default: the reservation of the running job
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

  /** Takes priority and period from the most urgent reservation in `#served`. @param {number} time */
  follow(time) {
    if (this.#served.size === 0 || this.request.period < Infinity) return
    const urgencyOf = (/** @type {Account} */ { request }) =>
      this.isRankedByDeadline ? -request.period : request.priority
    /** @type {Account | undefined} */
    let most
    this.#served.forEach((_, main) => {
      if (most === undefined || urgencyOf(main) > urgencyOf(most)) most = main
    })
    const { request } = /** @type {Account} */ (most)
    this.request.priority = request.priority
    this.server.inherit(request.period, time)
  }
}

/** The account for which the running job works. @param {Scheduler} scheduler @returns {Account | null} */
function mainOfRunning({ current }) {
  const account = current === null ? undefined : extend.groupOf(current)?.hooks
  return account instanceof Account ? account.mainOf(/** @type {Job} */ (current)) : null
}

// --------------------------------------------------------------------------------------------------- servers

/** Minimum capacity that counts, ms. A smaller remainder is treated as 0. */
const SPECK = 1e-6
/** Maximum number of refills of a sporadic server. Further refills are merged. */
const MAX_REFILLS = 32

/**
 * The algorithm that consumes and replenishes capacity. A server knows times and amounts, but neither jobs
 * nor schedulers:
 *
 *   wake(time, since)          the first job becomes busy; it has been ready since `since`
 *   consume(ms, time, isLent)  a job ran in the foreground for `ms` until `time`. `isLent`: the job
 *                              belongs to another reservation, and inherited the rank of this one
 *   sleep(time)                no job is busy any more
 *   replenish(time)            the time `next` has been reached
 *   resize(request, time)        to a capacity > 0; a server that is off is idle, and does not change
 *   resume(time)               the server was off and has busy jobs: it can run from now on
 *
 * Jobs can run in the foreground while `remaining` is positive. Capacity returns at `next`, which is Infinity
 * when none is missing. `remaining` falls below 0 if the last budget exceeds it. This is a debt that the next
 * replenishments pay in full.
 *
 * Each algorithm overrides these methods, `spend` to consume time and `refill` to replenish.
 */
class Server {
  /** The deadline that ranks the jobs under edf. */
  deadline = Infinity
  depletions = 0
  replenishments = 0
  /** Whether there are busy jobs; set by the account. */
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

  /** Called when the first job is attached. @param {number} _time */
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
 * An amount of capacity that becomes available at a time.
 *
 * @typedef {{ time: number, amount: number, due: number }} Refill `time`: Infinity for an amount that a
 *   resize has removed; `due`: the time at which the amount would return if no resize had removed or
 *   postponed it
 */

/**
 * A server for fixed priorities. Its capacity is a list of refills, ordered by time. Each used piece returns
 * at a separate time. The amounts at finite times always sum to the capacity, so a resize or an overrun
 * cannot create capacity. An overrun is taken from the next refill.
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

  /** Whether the rest of a refill is timed from the end of the part that was used. */
  get isMoving() { return false }

  /**
   * Returns the time at which a used piece becomes available again.
   *
   * @param {number} _began when the piece became available @param {number} _used when its use started
   * @returns {number}
   */
  returnOf(_began, _used) { return Infinity }

  /** @param {number} ms @param {number} time @param {boolean} isLent */
  spend(ms, time, isLent) {
    const { refills, isMoving } = this
    const used = time - ms
    this.#owedAt(time, ms)
    for (let left = ms; left > 0;) {
      const first = refills[0]
      // All pending refills may lie within one period. Each whole capacity that is consumed then postpones
      // all of them by one period. One step does this for all rounds, because a budget in which the page was
      // suspended overnight would otherwise need thousands of iterations.
      const rounds = left > ms - 2 * this.capacity ? 0 : Math.floor(left / this.capacity) - 1
      const coming = rounds > 0 ? refills.filter(({ time }) => time < Infinity) : []
      if (rounds > 0 && first.time > used && coming[coming.length - 1].time < first.time + this.period) {
        coming.forEach(refill => {
          refill.time += rounds * this.period
          refill.due += rounds * this.period
        })
        left -= rounds * this.capacity
      }
      // A refill that stayed unused for four periods means that the page was suspended: more important work
      // cannot be the reason, unless priorities are not by rate. The refill starts now, so that the server
      // does not make up for the missed periods at the expense of other jobs.
      if (first.time + 4 * this.period <= used) first.time = used
      const { time: began, amount } = first
      const taken = Math.min(amount, left)
      left -= taken
      if (taken === amount) refills.shift()
      this.#append(this.returnOf(began, used), taken)
      // If a job of another reservation used the time and the server woke only at its end, the rest of the
      // refill is available immediately.
      if (isMoving) first.time = isLent && began <= time ? Math.min(began + taken, time) : began + taken
      first.amount -= taken
    }
    const first = refills[0]
    // A tiny refill is not worth a dispatch: it is merged into the next refill.
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
    while (index > 0 && refills[index - 1].time > time) index-- // a resize has postponed that refill
    const last = refills[index - 1]
    const isAdjacent = last !== undefined && last.time + (this.isMoving ? last.amount : 0) >= time - SPECK
    if (!isAdjacent && (last === undefined || refills.length < MAX_REFILLS)) {
      refills.splice(index, 0, { time, amount, due: time })
      return
    }
    // The earlier of two merged refills moves to the time by which at most its own amount could be used.
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
   * Updates the execution time that was used and that the bandwidth has not earned back since. A resize must
   * not return this time early.
   *
   * @param {number} time @param {number} [ms] execution time used until `time`
   * @returns {number} the time owed, ms
   */
  #owedAt(time, ms = 0) {
    const owed = this.#owed - Math.max(0, time - ms - this.#asOf) * this.bandwidth
    this.#asOf = time
    return this.#owed = Math.max(0, owed) + ms * (1 - this.bandwidth)
  }

  /** @param {ShareRequest} request @param {number} time */
  resize({ wcet: capacity, period }, time) {
    const owed = this.#owedAt(time)
    const most = Math.max(capacity, this.capacity)
    const later = period - this.period
    const there = this.refills.filter(refill => refill.time <= time)
    // An amount that was used and then removed by a resize returns no earlier than without the resize.
    const used = this.refills.filter(({ time: at, due }) => at > time && (at < Infinity || due > time))
    used.forEach(refill => { refill.due = Math.max(time, refill.due + later) })
    used.sort((a, b) => a.due - b.due)
    const known = there.concat(used).reduce((sum, { amount }) => sum + amount, 0)
    const grown = { time: Infinity, amount: Math.max(0, capacity - known), due: time }
    // A smaller capacity removes the amounts that would return last.
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
 * The sporadic server (Sprunt, Sha, Lehoczky 1989). Used capacity returns one period after the server had
 * both work and capacity, so the server interferes with other jobs no more than a periodic task does. It
 * includes the corrections by Stanovich, Baker, Wang, Harbour 2010: each used piece returns one period after
 * its own refill, so that no capacity returns too early.
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
    // The period starts now, also for the refills that arrive before the first refill is used up.
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
 * The deferrable server (Strosnider, Lehoczky, Sha 1995). Its capacity is restored at the start of every
 * period, and it keeps unused capacity while it has no work. The jobs can use the capacity at the end of one
 * period and again at the start of the next: a jitter of period - capacity.
 */
class Deferrable extends Refilled {
  /** The sequence of its periods. */
  cycle = new Cycle(this.began, this.period)

  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  /** @param {number} time @returns {number} the first start of a period after `time` */
  startAfter(time) { return this.cycle.timeOf(this.cycle.indexAt(time) + 1) }

  /** @param {number} began @param {number} used */
  returnOf(began, used) { return this.startAfter(Math.max(began, used)) }

  /** Whether the start of the next period matters, for example because it pays a debt. */
  get isExpecting() { return this.next < Infinity }

  /** @param {number} time */
  refill(time) {
    super.refill(time)
    if (this.isExpecting) this.next = Math.min(this.next, this.startAfter(time))
  }

  /** @param {ShareRequest} request @param {number} time */
  resize(request, time) {
    this.cycle = new Cycle(this.cycle.timeOf(this.cycle.indexAt(time)), request.period)
    super.resize(request, time)
  }
}

/**
 * The polling server. At the start of each period it has its capacity if there is work. It loses the capacity
 * as soon as it has no work. It interferes like a periodic task. Work that arrives just after the poll waits
 * for the next period.
 */
class Polling extends Deferrable {
  /** Whether the latest poll found work, and the work has not ended since. */
  #isServing = false
  /** The reading of the clock at which the latest poll was processed. */
  #polled = -Infinity
  next = this.cycle.timeOf(1)

  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  /** The server polls at every start of a period, even if its full capacity is available. */
  get isExpecting() { return true }
  get isDepleted() { return !this.#isServing || super.isDepleted }

  /** Skips the polls that passed without any jobs. @param {number} time */
  expectJobs(time) {
    if (this.next <= time) this.refill(time)
  }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    // Work that arrives at the reading of the clock that processes the poll counts as present.
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
 * The constant-bandwidth server (Abeni, Buttazzo 1998). Its deadline ranks its jobs. When the capacity is
 * used up, the server recharges it and postpones its deadline by one period: immediately ('postpone') or at
 * the deadline (the hard variant). In any interval it uses at most its bandwidth, capacity / period, measured
 * by the deadlines inside the interval.
 */
class ConstantBandwidth extends Server {
  /** @param {number} capacity @param {number} period @param {number} time @param {boolean} postpones */
  constructor(capacity, period, time, postpones) {
    super(capacity, period, time, postpones)
  }

  get next() { return this.isDepleted ? this.deadline : Infinity }

  /** @param {number} time @param {number} _since */
  wake(time, _since) {
    // The server keeps the old deadline only if the bandwidth allows the remaining capacity until then.
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

  /** Restores the full capacity, less the debts, with a new deadline. @param {number} time */
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
    // The replenishment is more than a period late. A deadline in the past would let the server make up
    // for time that it did not use.
    if (this.deadline <= time) this.deadline = time + this.period
  }

  /** @param {ShareRequest} request @param {number} time */
  resize({ wcet: capacity, period }, time) {
    // Until the present deadline, the jobs may use the time that the old bandwidth earned so far, plus the
    // time that the new bandwidth earns from now on. If this exceeds the capacity, the deadline is shortened.
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
 * PIBS, the priority inheritance bandwidth preserving server of Quest (Danish, Li, West 2011), for short,
 * frequent work within a fixed utilization. Its period is its own or the period of the reservation for which
 * it works. Its capacity is the utilization times that period. After a use of `u` ms, the server is eligible
 * again at the start of that use plus u / utilization. It only has to remember this one time, whereas a
 * sporadic server splits its capacity into pieces. The jobs can use the capacity at the end of one period and
 * again at the start of the next.
 */
class PIBS extends Server {
  #eligible = -Infinity
  #used = 0

  get next() { return this.isAwake && this.remaining === 0 ? this.#eligible : Infinity }

  /** @param {ShareRequest} request */
  constructor({ utilization, period }) {
    super(0, Infinity, 0, false)
    this.utilization = utilization
    if (period < Infinity) this.inherit(period, 0)
  }

  /**
   * Takes the period of the main reservation. A shorter period applies immediately: the rest of the present
   * use must not exceed the capacity of that period. A longer period applies to the next use.
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
    // A use that starts more than a period late means that the page was suspended: unused time is lost.
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

  /** Ends a use, and computes when the server is eligible again. */
  #conclude() {
    if (this.#used > 0) this.#eligible += this.#used / this.utilization
    this.#used = this.remaining = 0
  }

  /** @param {ShareRequest} request @param {number} time */
  resize({ utilization, period }, time) {
    this.#conclude()
    // The new utilization applies to time that was used and is not yet earned back.
    if (this.#eligible > time) {
      this.#eligible = time + (this.#eligible - time) * this.utilization / utilization
    }
    this.utilization = utilization
    this.inherit(period < Infinity ? period : this.period, time)
    if (this.isAwake) this.wake(time, time)
  }
}

/**
 * @type {Record<Kind, new (capacity: number, period: number, time: number, postpones: boolean) => Server>}
 */
const SERVERS = {
  sporadic: Sporadic, deferrable: Deferrable, polling: Polling, 'constant-bandwidth': ConstantBandwidth
}

// ------------------------------------------------------------------------------------------------- admission

/**
 * The processor time that a reservation or a task requests.
 *
 * @typedef {object} ShareRequest
 * @property {string} name
 * @property {'reservation' | 'I/O' | 'task'} of
 * @property {number} utilization
 * @property {number} wcet the worst-case execution time of a task or the capacity of a reservation, ms
 * @property {number} period ms
 * @property {number} deadline ms
 * @property {number} priority
 * @property {Kind} [kind] the kind of a reservation
 * @property {Required<CriticalSection>[]} [sections] the critical sections of a task
 */

/**
 * @param {{ name: string, kind: Kind, capacity: any, period: any, priority?: number }} reservation
 * @returns {ShareRequest}
 */
function requestOfReservation({ name, kind, capacity, period, priority: own }) {
  checkCapacity(capacity, period)
  const priority = own === undefined ? 1 / period : finite('priority', own)
  const utilization = capacity / period
  return { name, of: 'reservation', utilization, wcet: capacity, period, deadline: period, priority, kind }
}

/**
 * @param {string} name @param {{ utilization?: any, capacity?: any, period?: any }} options
 * @param {{ period: number, priority: number }} [before] the period and priority for a bare utilization; by
 *   default, those of the main reservation apply
 * @returns {ShareRequest}
 */
function requestOfIo(
  name, { utilization, capacity, period }, { period: own, priority } = { period: Infinity, priority: 0 }
) {
  if (capacity === undefined && period === undefined) {
    fraction('utilization', utilization)
    capacity = own < Infinity ? utilization * own : NaN
    period = own
  } else {
    if (utilization !== undefined) {
      throw new TypeError('utilization must not be given beside capacity and period')
    }
    checkCapacity(capacity, period)
    utilization = capacity / period
    priority = 1 / period
  }
  return { name, of: 'I/O', utilization, wcet: capacity, period, deadline: period, priority }
}

/** @param {any} member @param {string} where @param {Policy} policy @returns {[object, ShareRequest]} */
function requestOf(member, where, policy) {
  if (member instanceof Reserved) return [accountOf(member), accountOf(member).request]
  if (typeof member !== 'object' || member === null) throw wrongType(where, 'a reservation or a task', member)
  const { name = where, kind, utilization, capacity, period, priority } = member
  if (utilization !== undefined) {
    return [member, requestOfIo(name, { utilization: fraction(`${where}.utilization`, utilization) })]
  }
  interval(`${where}.period`, period)
  if (capacity !== undefined && kind !== undefined) kindOption(`${where}.kind`, kind)
  if (capacity !== undefined) {
    return [member, requestOfReservation({ name, kind, capacity, period, priority })]
  }
  const demand = demandOf(where, member, policy)
  return [member, { ...demand, name, of: 'task', utilization: demand.wcet / period }]
}

/**
 * Whether capacity can be used at the end of a period and again at the next start.
 *
 * @param {ShareRequest} request
 */
const isBursty = ({ of, kind }) => of === 'I/O' || kind === 'deferrable'

/** Tolerance of a sum against its bound: larger than the rounding error of a thousand summands. */
const NOISE = 1e-9

/** Sums over requests. */
class Totals {
  utilization = 0
  /** The left side of equation 1. */
  demand = 0
  /** Number of requests that are not I/O. */
  count = 0
  tasks = 0
  /** Number of reservations whose priority is not their rate. */
  unranked = 0

  /** @param {ShareRequest} request @param {1 | -1} sign */
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
 * Number of requests per removed request before the totals are summed up again. Rounding errors then do not
 * accumulate. With at most 64 requests, each removal leads to a new sum.
 */
const REQUESTS_PER_CORRECTION = 64

/** The processor time that a scheduler has promised under a policy. */
class Commitments {
  /** The requests of the accounts and tasks, except requests of 0. @type {Map<object, ShareRequest>} */
  #requests = new Map()
  #totals = new Totals()
  /** Number of requests that were removed or changed since the last summation. */
  #removed = 0
  share = 1
  /** Whether `admit` was called: every request must then receive its time in every period. */
  guarantees = false

  /** @param {Policy} policy */
  constructor(policy) {
    this.policy = policy
  }

  /** @param {object} requester @returns {boolean} `true` if the requester had a request */
  delete(requester) {
    const isKnown = this.#requests.has(requester)
    this.#set([[requester, undefined]])
    return isKnown
  }

  /**
   * Adds requests or changes existing requests.
   *
   * @param {[object, ShareRequest][]} added @param {number} [share] @param {boolean} [guarantees]
   * @returns {Sums}
   * @throws {AdmissionError} if the requests exceed the processor; no request is changed then
   */
  commit(added, share = this.share, guarantees = this.guarantees) {
    const before = added.map(({ 0: requester }) => this.#requests.get(requester))
    this.#set(added)
    try {
      const sums = sumsOf(this.policy, this.#summedUp(), () => this.#list(), share, guarantees)
      this.share = share
      this.guarantees = guarantees
      return sums
    } catch (error) {
      // In reverse order, because the same requester can occur twice.
      for (let i = added.length - 1; i >= 0; i--) this.#set([[added[i][0], before[i]]])
      throw error
    }
  }

  /** @param {(readonly [object, ShareRequest | undefined])[]} entries */
  #set(entries) {
    entries.forEach(({ 0: requester, 1: request }) => {
      const before = this.#requests.get(requester)
      if (before !== undefined) {
        this.#totals.add(before, -1)
        this.#removed++
      }
      if (request === undefined || request.utilization === 0) return void this.#requests.delete(requester)
      this.#requests.set(requester, request)
      this.#totals.add(request, 1)
    })
  }

  #summedUp() {
    if (this.#removed * REQUESTS_PER_CORRECTION <= this.#requests.size) return this.#totals
    this.#totals = new Totals()
    this.#removed = 0
    this.#requests.forEach(request => this.#totals.add(request, 1))
    return this.#totals
  }

  #list() {
    /** @type {ShareRequest[]} */
    const requests = []
    this.#requests.forEach(request => requests.push(request))
    return requests
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
 * @param {Policy} policy @param {Totals} totals @param {() => ShareRequest[]} list the requests of these
 *   totals
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
  const shares = `${percent(sums.demand)} of the processor, more than ${percent(sums.bound)}`
  const reason = fits ? `${askers} cannot all be served in time` : `${askers} ask for ${shares}`
  throw new AdmissionError(reason, policy, sums)
}

/**
 * @param {Totals} totals @param {() => ShareRequest[]} list @param {Policy} policy @returns {Sums['test']}
 */
function testOf({ tasks, unranked }, list, policy) {
  if (tasks > 0) return 'schedulable'
  if (isByDeadline(policy)) return 'utilization'
  if (unranked === 0) return 'equation 1'
  // Liu, Layland 1973: the bound holds for rate-monotonic priorities.
  const ranked = list().filter(({ of }) => of === 'reservation')
    .sort((a, b) => b.priority - a.priority || b.period - a.period)
  const isMonotonic = ranked.every(({ period }, index) => index === 0 || ranked[index - 1].period <= period)
  return isMonotonic ? 'equation 1' : 'schedulable'
}

/** @param {ShareRequest[]} requests @param {Policy} policy @param {number} share */
function isSchedulable(requests, policy, share) {
  const tasks = requests.filter(({ of }) => of === 'task')
  const reservations = requests.filter(({ of }) => of === 'reservation')
  const io = requests.reduce((sum, { of, utilization }) => of === 'I/O' ? sum + utilization : sum, 0)
  const speed = share - io // in any time t, I/O takes io * t
  if (!(speed > 0)) return false
  // Under fixed priorities, reservations rank above all tasks, and I/O ranks above reservations.
  const top = tasks.reduce((most, { priority }) => Math.max(most, priority), 0)
  const rank = (/** @type {ShareRequest} */ { of, priority }) => of === 'task' ? priority
    : top + 1 + reservations.filter(other => of === 'I/O' || other.priority < priority).length
  const set = tasks.concat(reservations).map(request => ({
    ...request, wcet: request.wcet / speed, priority: rank(request),
    sections: request.sections?.map(({ resource, wcet }) => ({ resource, wcet: wcet / speed }))
  }))
  if (isByDeadline(policy)) return schedulable(set, { policy: edf }).schedulable
  // A bursty request can use its capacity twice in a row: one more activation at the worst moment.
  const longest = reservations.reduce((most, { period }) => Math.max(most, period), 0)
  const extra = longest === 0 ? [] : requests.filter(isBursty).map(request => ({
    name: request.name,
    wcet: (request.period < Infinity ? request.wcet : request.utilization * longest) / speed,
    period: 2 ** 30 * longest, priority: rank(request)
  }))
  const all = /** @type {TaskParameters[]} */ (set).concat(extra)
  return schedulable(all, { policy: fp }).schedulable
}

/**
 * A reservation or a task, or their parameters, that `admit` can test.
 *
 * @typedef {Reservation | IoReservation | TaskParameters | { utilization: number, name?: string }
 *   | { capacity: number, period: number, kind?: Kind, priority?: number, name?: string }} Claimant
 */

/**
 * Guarantees processor time to reservations and tasks, or throws an `AdmissionError` if they do not fit.
 * After the first call, a new reservation is rejected if it would endanger this guarantee. Before the first
 * call, reservations are rejected only if all of them together exceed the processor.
 *
 * The test depends on the policy. Under edf, the sum of the utilizations must not exceed the share (Liu,
 * Layland 1973; Abeni, Buttazzo 1998). Under fp and rm, it is Qduino's equation 1: `sum(C / T) +
 * sum((2 - U) U) <= n (2^(1/n) - 1)` times the share. The second sum is for I/O and deferrable reservations,
 * because their jobs can use the capacity at the end of a period and again at the start of the next. If
 * priorities are not rate monotonic, or if there are tasks (with wcet, period and deadline), the test is
 * `schedulable`. This test is exact, except for I/O and deferrable reservations.
 *
 * @param {Iterable<Claimant> | Claimant} set reservations and I/O reservations; tasks with `wcet`, `period`
 *   and `deadline` (default: the period); or plain objects with the same parameters. The existing
 *   reservations of the scheduler always count, whether listed or not
 * @param {{ share?: number, scheduler?: Scheduler }} [options] `share`: the usable share of the processor, >
 *   0 and <= 1; default the share of the previous call, at first 1. Pages should pass the share that the
 *   browser leaves, about 0.85
 * @returns {Readonly<Sums> & { cancel(): boolean }} the sums of the test. `cancel` ends the guarantee for the
 *   tasks of this call
 * @throws {AdmissionError} if the set does not fit; nothing has changed then
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const scheduler = new Scheduler()
 * admit({ wcet: 5, period: 10 }, { share: 0.8, scheduler })
 * try {
 *   new Reservation({ capacity: 4, period: 10, scheduler })
 * } catch (error) { console.log(error instanceof AdmissionError) } // → true
 */
export function admit(set, options = {}) {
  const { share } = checked(options, { share: positiveFraction, scheduler: elsewhere })
  if (typeof set !== 'object' || set === null) throw wrongType('set', 'reservations or tasks', set)
  const members = /** @type {any[]} */ (Array.isArray(set) ? set : Symbol.iterator in set ? [...set] : [set])
  const { scheduler: given = members.find(member => member?.scheduler !== undefined)?.scheduler } = options
  const scheduler = here({ scheduler: given })
  const stranger = members.find(member => member?.scheduler !== undefined && member.scheduler !== scheduler)
  if (stranger !== undefined) {
    throw new TypeError(`set must be of one scheduler, but ${stranger.name} is of another`)
  }
  const { policy } = scheduler
  if (!isByDeadline(policy) && !isByPriority(policy)) {
    throw new TypeError(`admit() knows edf, fp and rm, and not the policy ${JSON.stringify(policy.name)}`)
  }
  const requests = members.map((member, index) => requestOf(member, `set[${index}]`, policy))
  const committed = commitmentsOf(scheduler)
  const sums = committed.commit(requests, share, true)
  const tasks = requests.map(({ 0: requester }) => requester).filter(requester => {
    if (!(requester instanceof Account)) return true
    requester.isPromised = true
  })
  const cancel = () => tasks.filter(task => committed.delete(task)).length > 0
  return Object.freeze(Object.assign(new Handle(), sums, { cancel }))
}

// ---------------------------------------------------------------------------------------- handlers and loops

const RESERVED = { capacity: elsewhere, kind: elsewhere, depleted: elsewhere }
const INTERRUPT = { ...HANDLING, ...RESERVED, io: elsewhere, bottomHalf: callable }

/**
 * Handles events in a separate reservation: one event after the other, in at most `capacity` ms of every
 * `period`. A storm of events takes no more than that from other jobs (Qduino II-C: attachInterruptVcpu).
 *
 * Use it for input whose rate the page does not control: messages of sockets and workers, sensors, MIDI, a
 * pointer. With `io`, an I/O reservation first runs `bottomHalf` for each event, for example to decode a
 * message. Two reservations then bound the work of the events, and `worstCaseDelay` returns how late a
 * handler can start.
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
 *
 * @example
 * const sensor = new EventTarget()
 * const handle = function* ({ type = '' }) { console.log(type) }
 * const handling = interrupt(sensor, 'change', handle, { capacity: 4, period: 16 })
 * sensor.dispatchEvent(new Event('change'))
 * await rt.idle() // → change
 * handling.cancel()
 */
export function interrupt(target, type, task, options = {}) {
  checkTarget(target, type)
  const { capacity, kind, depleted, io, bottomHalf, size = Infinity } = checked(options, INTERRUPT)
  if (io !== undefined && !(io instanceof IoReservation)) throw wrongType('io', 'an IoReservation', io)
  if (bottomHalf !== undefined && io === undefined) {
    throw new TypeError('bottomHalf needs an io, which does it')
  }
  const isReserved = capacity !== undefined
  if (!isReserved && (kind !== undefined || depleted !== undefined)) {
    throw new TypeError('kind and depleted are those of a reservation, which needs a capacity and a period')
  }
  const excess = isReserved || io !== undefined || size < Infinity ? 'queue' : undefined
  const source = isReserved
    ? reservedSource('interrupt', 'task', task, options, excess)
    : new JobSource('task', task, options, excess)
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

/** Runs bottom halves between listener and handler, and cancels the reservation after the last job. */
class InterruptHandler extends EventHandler {
  /** The job that runs bottom halves. @type {Job | null} */
  #bottomHalf = null
  /** Number of jobs of the handler that have not finished. */
  #living = 0

  /**
   * @param {JobSource} source @param {any} options the options of `interrupt`
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

  /** Cancels the reservation after the last job. */
  settled() {
    const { own } = this
    if (own === null || !this.isOver || this.isHearing || this.waiting > 0 || this.#living > 0) return
    if (this.#bottomHalf === null || this.isCancelled) own.cancel()
  }
}

/**
 * Runs `body` repeatedly in a separate reservation, in `capacity` ms of every `period`. You can start any
 * number of loops; they do not disturb each other (Qduino II-C: `loop(id, C, T)`). The next iteration starts
 * immediately: if the body should wait, let it wait, for example by `yield sleep(ms)`.
 *
 * @param {() => Iterator<Yieldable, unknown, any> | PromiseLike<unknown> | void} body a generator function,
 *   or a function that returns a promise or another waitable
 * @param {TaskOptions & { capacity: number, period: number, kind?: Kind, depleted?: Depleted, signal?:
 *   AbortSignal }} options the parameters of the reservation and of its job
 * @returns {{ cancel(reason?: unknown): boolean, readonly job: Job, readonly reservation: Reservation }}
 *   `cancel` ends the loop. An error in the body ends the loop too. Either frees the capacity
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 * @throws {AdmissionError} if the admitted reservations leave too little processor time (see `admit`)
 *
 * @example
 * let turns = 0
 * const steer = function* () { turns++; yield sleep(5) }
 * const steering = loop(steer, { capacity: 2, period: 10 })
 * while (turns < 3) await sleep(5)
 * steering.cancel()
 * console.log(turns >= 3) // → true
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
 * Returns the source of jobs with their own reservation, to which `period` in the options belongs.
 *
 * @param {string} by @param {string} name @param {any} work @param {any} options
 * @param {'queue'} [excess] the default of the option `excess`
 */
function reservedSource(by, name, work, options, excess) {
  const { period, reservation, ...given } = parametersOf(options)
  if (reservation !== undefined) throw new TypeError(`reservation is made by ${by}(), of capacity and period`)
  return new JobSource(name, work, { ...given, excess: options.excess }, excess)
}

/**
 * Creates a reservation and calls `make` with it. If `make` throws, the reservation is cancelled.
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
 * Calls a function, or its preemptible twin if there is one, and returns the result.
 *
 * @param {any} fn @param {any[]} args @returns {Generator<any, any, any>}
 */
function* resultOf(fn, args) {
  const body = extend.preemptible(fn)
  const result = apply(body, undefined, args)
  return body === fn ? result : yield result
}

/**
 * Returns the maximum time from the listener of an event to its handler.
 *
 * Qduino equation 3:
 *
 *   (T_h - C_h) + (T_io - C_io) + (ceil(b / C_io) - 1) T_io + (b mod C_io), the remainder taken in (0, C_io]
 *
 * Add one budget to the result and, with an I/O reservation, one budget / utilization. The bound holds in an
 * admitted set if no reservation of higher rank delays these two, and if the previous events have been
 * handled when the event arrives. If reservations of higher rank delay them, each blackout `T - C` may be
 * twice as long (Shin, Lee 2003). The time until the browser calls the listener is not included.
 *
 * @param {object} options
 * @param {{ capacity: number, period: number }} options.handler the reservation in which the handler runs
 * @param {{ capacity: number, period: number } | { utilization: number }} [options.io] the I/O reservation
 *   that delivers the event, by default none; with a utilization alone, it has the handler's period
 * @param {number} [options.bottomHalf] ms of work between listener and handler, default 0
 * @returns {number} the maximum delay in ms, or Infinity if a capacity is 0
 * @throws {TypeError | RangeError} if an option has the wrong type or is out of range
 *
 * @example
 * const handler = { capacity: 3, period: 10 }
 * const io = { capacity: 2, period: 10 }
 * console.log(worstCaseDelay({ handler, io, bottomHalf: 1 })) // → 16
 */
export function worstCaseDelay(options) {
  const table = { handler: elsewhere, io: elsewhere, bottomHalf: duration }
  const { handler, io, bottomHalf = 0 } = checked(options, table)
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
