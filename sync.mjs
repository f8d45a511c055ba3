/**
 * sync.mjs: where jobs meet.
 *
 * A call (1) runs in the job that yields it: critical sections (2) are calls, and so are `forEach`, choices with actions,
 * `par` and `race`. Locks, semaphores and barriers (3), channels (4), choices (5) and groups of jobs (6) are waited for.
 * Between threads there are values in shared memory (8) and channels (9), both of which keep values as bytes (7).
 *
 * @module sync
 */

import { AdmissionError, demandOf, percent, schedulable } from './addons/schedulable.mjs'
import { DeadlineError, DeadlockError, Job, Scheduler, Task, budget, edf, fp, rm, seam } from './rt.mjs'

export { DeadlockError }

const { Elsewhere, Fifo, Heap, Queue, Sleep, Waitable, asCall, check, here, preemptible } = seam

/** @import { ArgumentsOf, Awaitable, Checked, JobOptions, Outcome, Policy, ResultOf, Taking, TaskOptions,
 *   TraceRecord, Work } from './rt.mjs' */
/** @import { TaskParameters } from './addons/schedulable.mjs' */
/** @typedef {InstanceType<typeof seam.Waitable>} Waitable */
/** @typedef {InstanceType<typeof seam.Queue>} Queue */

export { AdmissionError }

/** A channel has been closed, or its other end has gone; `reason` says why, if anybody did. */
export class ChannelError extends Error {
  name = 'ChannelError'

  /** @param {string} message @param {unknown} [reason] */
  constructor(message, reason) {
    super(message, reason === undefined ? undefined : { cause: reason })
    this.reason = reason
  }
}

/** A lock was let go of by somebody who does not hold it, or a resource is in use already. */
export class OwnershipError extends Error {
  name = 'OwnershipError'
}

/** @param {unknown} value @returns {value is number} */
const isCount = value => Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0
const permitCount = check.number('an integer >= 0', isCount)
const partyCount = check.number('an integer >= 1', value => isCount(value) && value > 0)
const bufferSize = check.number('an integer >= 0 or Infinity', value => value === Infinity || isCount(value))
const anyNumber = check.number('a number', value => !Number.isNaN(value))

/** @param {string} name @param {unknown} value */
function array(name, value) {
  if (!Array.isArray(value)) throw check.wrongType(name, 'an array', value)
}
/** @param {string} name @param {unknown} fn that a job calls */
const forJobs = (name, fn) => check.refuseAsyncGenerator(name, check.callable(name, fn), fn)
const NAMED = { name: check.text }
const ACTING = { scheduler: check.scheduler }

// ------------------------------------------------------------------------------------------------- 1 calls

/** Parameters of a job that works for another one, or for nobody. @param {Job | null} job @returns {any} */
function onBehalfOf(job) {
  if (job === null) return {}
  const { release, deadline, priority } = job
  const reservation = seam.payer(job)
  return deadline === Infinity ? { priority, reservation } : { release, deadline, priority, reservation }
}

/** How many outcomes are being handed on. */
let settling = 0
/** Jobs whose work nobody waits for any more. @type {Job[]} */
const superfluous = []

/**
 * Hands on an outcome. Superfluous jobs are cancelled only when all outcomes are where they belong: observers are told of
 * it, who may do anything.
 *
 * @param {() => void} act
 */
function undisturbed(act) {
  settling++
  try {
    act()
  } finally {
    settling--
    while (settling === 0 && superfluous.length > 0) superfluous.shift()?.cancel()
  }
}

/**
 * A call acts once, and then repeats its outcome. The job that yields it first makes it itself. For everybody else, as
 * combinators and code outside jobs, a job of its own makes it, which is cancelled when nobody waits for it any more.
 * The job that makes it inherits from those that wait for it.
 */
class Call extends Waitable {
  /** @type {Job | null} */
  #maker = null
  /** That of its own. @type {Job | null} */
  #child = null
  #hasBegun = false
  /** @type {Queue | null} */
  #waiters = null

  /**
   * @param {string} name
   * @param {(job: Job) => Generator<any, any, any>} body
   * @param {any} [options] `scheduler`, where no job says which; `uses`, of a job of its own
   */
  constructor(name, body, options = {}) {
    super()
    this.name = name
    this.body = body
    this.options = options
  }
  get handsOver() { return true }
  /** For `yield* call`. @returns {Generator<this, any, any>} */
  *[Symbol.iterator]() {
    if (here().current === null) throw new TypeError(`${this.name} is for jobs`)
    return yield this
  }

  /** @param {Job} job @returns {Generator<any, any, any>} for the job to drive */
  [asCall](job) {
    if (kept === null) keepShapes()
    this.#maker = job
    this.#hasBegun = true
    const steps = this.#steps(job)
    steps.next()
    return steps
  }
  /** @param {Job} job @returns {Generator<any, any, any>} */
  *#steps(job) {
    try {
      yield // to here it goes at once, so that even a cancellation before its first step is its outcome
      const outcome = yield* this.body(job)
      this.#leaveQueue()
      this.wake(outcome)
      return outcome
    } catch (error) {
      this.#leaveQueue()
      this.fail(error)
      throw error
    }
  }
  #leaveQueue() {
    if (this.#waiters === null) return
    this.#waiters.remove(this)
    this.#waiters.owner = null
  }

  /** @param {Job | null} job */
  begin(job) {
    const { name, options } = this
    /** @type {Job} */
    const child = here(job === null ? options : undefined)
      .spawn(() => this[asCall](child), { ...onBehalfOf(job), name, uses: options.uses })
    this.#maker = this.#child = child
    const end = /** @type {Waitable} */ (Waitable.of(child))
    end.enlist({
      job: null,
      woken: () => { if (child === this.#child && !this.#hasBegun) this.fail(end.outcome) }
    })
  }
  /** @param {{ job: Job | null, woken(waitable: Waitable): void }} waiter */
  enlist(waiter) {
    if (super.enlist(waiter)) return true
    if (this.queue === null) {
      this.#waiters ??= new Queue()
      this.#waiters.owner = this.#maker
      this.#waiters.push(this, waiter.job)
    }
    return false
  }
  undo() {
    const child = this.#child
    this.#leaveQueue()
    this.#child = null
    // What has begun ends; then that is its outcome.
    if (this.#hasBegun) this.phase = Waitable.BEGUN
    if (child !== null) undisturbed(() => superfluous.push(child))
  }
}

/**
 * @param {string} name @param {string} parameter @param {any} fn what the call calls @param {any} options of it
 * @param {(job: Job) => Generator<any, any, any>} body @returns {any}
 */
function callOf(name, parameter, fn, options, body) {
  forJobs(parameter, fn)
  check.options(options, ACTING)
  return new Call(name, body, options)
}

/** @param {any} result of a function @returns {boolean} whether its job is to yield it */
function isUnfinished(result) {
  return typeof result?.next === 'function' || typeof result?.then === 'function'
}

/**
 * Goes on with what was called with a message, at once: at a `yield` before that, a cancellation would lose the message.
 *
 * @param {any} result unfinished @returns {Generator<any, any, any>}
 */
function* finish(result) {
  return typeof result[Symbol.iterator] === 'function' ? yield* result : yield result
}

// -------------------------------------------------------------------------------------- 2 critical sections

/**
 * A non-preemptive critical section (NPCS; RT.js III-D): no other job runs until it has ended, however it
 * ends. Rounds still end inside it, alarms and event handlers still run, and what is released meanwhile keeps
 * its true release time. Sections nest; their end is a preemption point. Waiting inside one is a TypeError; a
 * cancellation is put off to its end.
 *
 * ```js
 * yield nonPreemptive(function* () {
 *   balance -= amount
 *   yield // time for the page, not for other jobs
 *   other += amount
 * })
 * ```
 *
 * @template T
 * @param {(() => T) & Checked<T>} section
 * @param {{ scheduler?: Scheduler }} [options] where its job runs when it is awaited outside jobs;
 *   default `rt`
 * @returns {Awaitable<Outcome<T>>} what the section returns
 * @throws {TypeError} when `section` is no function, `scheduler` no Scheduler
 */
export function nonPreemptive(section, options = {}) {
  return callOf('nonPreemptive()', 'section', section, options, job => gated(section, () => seam.gate(job, Infinity)))
}

/**
 * Runs a section while no job of a level up to a gate's preempts its own.
 *
 * @param {() => any} section @param {() => { close(): void }} open
 * @returns {Generator<any, any, any>}
 */
function* gated(section, open) {
  if (budget.left <= 0) yield // somebody goes first, who has come since the last point
  const gate = open()
  try {
    const result = preemptible(section)()
    return isUnfinished(result) ? yield result : result
  } finally {
    gate.close()
    if (budget.left <= 0) yield // somebody waits for the end of the section
  }
}

const RESOURCE = { ...NAMED, ceiling: anyNumber }

/**
 * That a job may use a resource.
 *
 * @typedef {{ level: number, id: number, queue: any, slot: number, before: any, after: any }} Declaration
 */
/**
 * Something that one job at a time may use, under the stack resource policy (Baker 1991): a job starts, or
 * goes on after a wait, only when nothing that it could need is in use. So it is never blocked once it runs,
 * at most once before that, for at most one outermost section of a less eligible job, and there are no
 * deadlocks.
 *
 * Jobs declare what they may use: `spawn(work, { uses: [resource] })`, or a task's `uses`. From their levels
 * follows the ceiling; a declaration counts at once, even while the resource is held.
 */
export class Resource {
  /** @type {string} */
  #name
  /** @type {number | undefined} */
  #given
  /** @type {Job | null} */
  #holder = null
  /** @type {{ raise(level: number): void, close(): void } | null} */
  #gate = null
  /** Those of the jobs that may use it. @type {Map<Job, Declaration>} */
  #declarations = new Map()
  /** The same, the highest level first. @type {InstanceType<typeof seam.Heap<Declaration>>} */
  #highest = new Heap((a, b) => b.level - a.level || a.id - b.id)
  /** @type {Scheduler | undefined} */
  #scheduler

  /**
   * @param {{ ceiling?: number, name?: string }} [options] `ceiling`: a level, which no job that uses it may
   *   exceed, and below which none need declare it; default: the highest level of the jobs that declare it.
   *   Levels are priorities under fp, and deadlines with their sign changed under edf.
   * @throws {TypeError | RangeError} naming the option
   */
  constructor(options = {}) {
    const { name = 'resource', ceiling } = check.options(options, RESOURCE)
    this.#name = name
    this.#given = ceiling
    Object.defineProperty(this, seam.protocol, { value: { attach: this.#attach, detach: this.#detach } })
  }

  get name() { return this.#name }
  /**
   * The level that a job must exceed to run while the resource is in use; -Infinity when no job declares it.
   *
   * @returns {number}
   */
  get ceiling() { return this.#given ?? this.#highest.first?.level ?? -Infinity }
  /** The job that uses it. @returns {Job | null} */
  get holder() { return this.#holder }

  /**
   * Uses it. Waiting inside is a TypeError at that yield; a cancellation is put off to the end of the
   * section; the end is a preemption point. Awaited outside jobs, the section runs in a job that declares it.
   *
   * @template R
   * @param {(() => R) & Checked<R>} section
   * @param {{ scheduler?: Scheduler }} [options] where that job runs; default: with those that
   *   declare the resource, else `rt`
   * @returns {Awaitable<Outcome<R>>} what the section returns
   * @throws {TypeError} when `section` is no function, `scheduler` no Scheduler; at the yield, when the job has not
   *   declared the resource
   */
  use(section, options = {}) {
    const call = callOf(`${this.#name}.use()`, 'section', section, options, job => gated(section, () => this.#open(job)))
    call.options = { scheduler: options.scheduler ?? this.#scheduler, uses: [this] }
    return call
  }

  get [Symbol.toStringTag]() { return 'Resource' }

  /** @param {Job} job @param {Scheduler} scheduler */
  #attach = (job, scheduler) => {
    const { level } = job
    if (this.#given !== undefined && level > this.#given) {
      throw new RangeError(
        `uses must not exceed the ceiling ${this.#given} of ${this.#name}, got ${job.name} of level ${level}`)
    }
    if (this.#declarations.size > 0 && this.#scheduler !== scheduler) {
      throw new TypeError(`uses must be of one scheduler, got ${this.#name} of another one`)
    }
    if (this.#declarations.has(job)) return
    this.#scheduler = scheduler
    const declaration = { level, id: job.id, queue: null, slot: 0, before: null, after: null }
    this.#declarations.set(job, declaration)
    this.#highest.push(declaration)
    this.#gate?.raise(this.ceiling)
  }

  /** @param {Job} job */
  #detach = job => {
    const declaration = this.#declarations.get(job)
    if (declaration === undefined) return
    this.#declarations.delete(job)
    this.#highest.remove(declaration)
  }

  /** @param {Job} job @throws {TypeError | OwnershipError} */
  #open(job) {
    if (!this.#declarations.has(job) && !(this.#given !== undefined && job.level <= this.#given)) {
      throw new TypeError(`${job.name} does not declare ${this.#name}: spawn it with { uses: [resource] }`)
    }
    if (this.#holder !== null && this.#holder.finished === undefined) {
      throw new OwnershipError(`${job.name} cannot use ${this.#name}, which ${this.#holder.name} uses`)
    }
    const gate = this.#gate = seam.gate(job, this.ceiling)
    this.#holder = job
    return {
      close: () => {
        // A job that the gate lets through must find the resource free.
        this.#gate = this.#holder = null
        gate.close()
      }
    }
  }
}

// ----------------------------------------------------------------------------- 3 locks, semaphores, barriers

/** Waits for its turn at a lock, a semaphore or a barrier. */
class Turn extends Waitable {
  /**
   * @param {{ name: string }} place @param {string} action
   * @param {(turn: Turn, job: Job | null) => void} ask wakes it, or queues it
   * @param {boolean} isForSection which gives it back if its job is cancelled before
   */
  constructor(place, action, ask, isForSection = false) {
    super()
    this.place = place
    this.action = action
    this.ask = ask
    this.isForSection = isForSection
  }
  get name() { return this.place.name + this.action }
  get handsOver() { return !this.isForSection }
  /** @param {Job | null} job */
  begin(job) {
    this.ask(this, job)
  }
}

/**
 * Runs a section in its turn, which ends with it.
 *
 * @param {Turn} turn @param {() => any} section @param {(isUnused: boolean) => void} end
 * @returns {Generator<any, any, any>}
 */
function* inTurn(turn, section, end) {
  try {
    yield turn
  } catch (error) {
    if (turn.isFulfilled) end(true)
    throw error
  }
  try {
    const result = preemptible(section)()
    return isUnfinished(result) ? yield result : result
  } finally {
    end(false)
  }
}

/** What jobs take one of at a time: who finds none waits for a turn. */
class Supply {
  /** Undefined unless other threads may have some. @type {SharedArrayBuffer | undefined} */
  buffer = undefined

  /**
   * @param {(turn: Waitable, job: Job | null) => void} give has somebody go on for whom one has been taken
   * @param {Queue} [queue] of those who wait
   */
  constructor(give, queue = new Queue()) {
    this.give = give
    this.queue = queue
  }
  /** Takes one, if there is one. */
  take() { return false }

  /**
   * @param {{ name: string }} place @param {string} action @param {boolean} [isForSection]
   * @param {(turn: Turn, job: Job | null) => void} [ask]
   * @returns {any} what waits for one
   */
  turn(place, action, isForSection, ask = this.request) {
    return new (this.buffer === undefined ? Turn : OutsideTurn)(place, action, ask, isForSection)
  }
  /** @param {Turn} turn @param {Job | null} job */
  request = (turn, job) => {
    if (this.queue.size === 0 && this.take()) return this.give(turn, job)
    this.queue.push(turn, job)
    this.listen()
  }

  /** Has them go on as far as there is something. */
  listen() {
    while (this.serve());
  }
  /** @returns {boolean} whether one of those who wait has gone on */
  serve() {
    if (this.queue.size === 0 || !this.take()) return false
    const turn = /** @type {Waitable} */ (this.queue.shift())
    this.give(turn, turn.job)
    return true
  }
  /** There is more of it. */
  changed() {
    this.listen()
  }
}

/** Permits within a thread. */
class LocalPermits extends Supply {
  isAbandoned = false

  /** @param {number} available @param {(turn: Waitable, job: Job | null) => void} give @param {Queue} [queue] */
  constructor(available, give, queue) {
    super(give, queue)
    this.available = available
  }
  take() {
    if (this.available === 0) return false
    this.available--
    return true
  }
  /** @param {boolean} isAbandoned */
  release(isAbandoned) {
    this.isAbandoned = isAbandoned
    this.available++
    this.listen()
  }
}

/**
 * @param {number} layout @param {number} count how many there are at first @param {LockOptions} options
 * @param {(turn: Waitable, job: Job | null) => void} give @param {Queue} [queue]
 * @returns {LocalPermits | Permits}
 */
const permitsOf = (layout, count, { shared, buffer }, give, queue) => shared || buffer !== undefined
  ? new Permits(layout, count, buffer, give, queue) : new LocalPermits(count, give, queue)

/**
 * A lock with priority inheritance (Sha, Rajkumar, Lehoczky 1990): the job that holds it runs on the standing of
 * the best job that waits for it, through chains of locks and jobs, until it unlocks it. Deadlines and misses
 * stay its own. Waiters are served by eligibility, equals in order of arrival.
 *
 * When its owner ends without unlocking it, it goes to the next, who finds `abandoned` set; so, shared, when the
 * thread of its owner ends.
 *
 * Shared, it excludes jobs of all threads that have its buffer. Waiting is told by Atomics.waitAsync, else by a worker
 * that waits. A thread that unlocks it has no better claim to it than others that wait. Standings are lent, and cycles
 * found, within a thread. That a thread has ended is known where there are Web Locks, and in Node from 20.19 on.
 */
export class Mutex {
  /** @type {string} */
  #name
  /** A job, or what proves that it was taken outside jobs; null while it is free, or another thread has it. @type {any} */
  #holder = null
  #waiters = new Queue(null, () => this.#pass(true))
  #permits

  /**
   * @param {LockOptions} [options]
   * @throws {TypeError} when shared where there is no SharedArrayBuffer
   */
  constructor(options = {}) {
    this.#name = check.options(options, LOCK).name ?? 'mutex'
    this.#permits = permitsOf(MUTEX, 1, options, this.#grant, this.#waiters)
  }

  /** The one of another thread. @param {SharedArrayBuffer} buffer @param {{ name?: string }} [options] */
  static from(buffer, options) {
    return new Mutex({ ...options, shared: true, buffer })
  }

  get name() { return this.#name }
  /** What another thread joins by; undefined unless shared. @returns {SharedArrayBuffer | undefined} */
  get buffer() { return this.#permits.buffer }
  /** Whether somebody holds it. */
  get locked() { return this.#noticed().#permits.available === 0 }
  /** The job that holds it; null also while it is held outside jobs. @returns {Job | null} */
  get owner() {
    const holder = this.#noticed().#holder
    return holder instanceof Job ? holder : null
  }
  /**
   * Whether a former owner ended without unlocking it: what it protects may be half done. Until the next
   * `unlock`.
   */
  get abandoned() { return this.#noticed().#permits.isAbandoned }

  /**
   * @returns {Awaitable<unknown>} in a job nothing; `await mutex.lock()`, outside jobs and in async ones, a key
   *   for `unlock`. Locks taken that way inherit nothing, and no cycle is found through them. Fails with a
   *   DeadlockError, which names who waits for whom, when the owner waits for this job; in a choice or a race, which
   *   may end otherwise, it waits.
   */
  lock() {
    return this.#permits.turn(this, '', false, this.#request)
  }

  /**
   * Unlocks it, at once.
   *
   * @param {unknown} [key] what `await lock()` gave
   * @throws {OwnershipError} when neither the running job nor `key` holds it
   */
  unlock(key) {
    if (!this.locked) throw new OwnershipError(`${this.#name} is not locked`)
    const { current } = here()
    const holder = this.#holder
    if (holder === null || (holder instanceof Job ? key !== undefined || current !== holder : key !== holder)) {
      const owner = holder === null ? 'another thread' : holder instanceof Job ? holder.name : 'whoever has its key'
      const who = current === null ? 'code outside jobs' : current.name
      throw new OwnershipError(`${this.#name} is held by ${owner}, not by ${who}`)
    }
    this.#pass(false)
  }

  /**
   * Holds it during a section, however that ends.
   *
   * @template R
   * @param {(() => R) & Checked<R>} section it may wait
   * @param {{ scheduler?: Scheduler }} [options] where its job runs when it is awaited outside jobs;
   *   default `rt`
   * @returns {Awaitable<Outcome<R>>} what the section returns
   * @throws {TypeError} when `section` is no function, `scheduler` no Scheduler
   */
  use(section, options = {}) {
    return callOf(`${this.#name}.use()`, 'section', section, options, job =>
      inTurn(this.#permits.turn(this, '', true, this.#request), section, isUnused => {
        // What it has not used the next owner finds as it was.
        if (this.#holder === job) this.#pass(isUnused && this.abandoned)
      }))
  }
  get [Symbol.toStringTag]() { return 'Mutex' }

  /** @param {Turn} turn @param {Job | null} job */
  #request = (turn, job) => {
    // Lent to only now: a lock that nobody else wants costs no more than a flag.
    if (this.locked) this.#waiters.owner = this.owner
    this.#permits.request(turn, job)
  }

  /** @param {Waitable} turn @param {Job | null} job */
  #grant = (turn, job) => {
    this.#holder = job ?? Object.freeze({ name: this.#name })
    // Of a job that ends without unlocking it, all threads are to know.
    if (this.#waiters.size > 0 || this.buffer !== undefined) this.#waiters.owner = job
    turn.wake(job === null ? this.#holder : undefined)
  }

  /** To the next who waits, in whichever thread. @param {boolean} isAbandoned */
  #pass(isAbandoned) {
    this.#holder = this.#waiters.owner = null
    this.#permits.release(isAbandoned)
  }

  /** An owner whose lock nobody else wanted may have ended unnoticed. */
  #noticed() {
    if (this.#holder?.finished !== undefined) this.#pass(true)
    return this
  }
}

/**
 * A number of permits (Dijkstra 1965), which nobody owns: anything may release one, a callback too.
 * Waiters are served by eligibility, equals in order of arrival; a permit goes to them before anybody who
 * comes later.
 *
 * Shared, it counts permits of all threads that have its buffer, told as with Mutex; at most 1024, or as many as there
 * were at first. What is released is one that its own thread has acquired, else one of another thread, else a new one.
 * Those that a thread has when it ends come back, and `abandoned` is set.
 */
export class Semaphore {
  /** @type {string} */
  #name
  #permits

  /**
   * @param {number} permits how many there are at first, an integer >= 0
   * @param {LockOptions} [options]
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(permits, options = {}) {
    permitCount('permits', permits)
    this.#name = check.options(options, LOCK).name ?? 'semaphore'
    this.#permits = permitsOf(SEMAPHORE, permits, options, turn => turn.wake())
  }

  /** The one of another thread. @param {SharedArrayBuffer} buffer @param {{ name?: string }} [options] */
  static from(buffer, options) {
    return new Semaphore(0, { ...options, shared: true, buffer })
  }

  get name() { return this.#name }
  /** What another thread joins by; undefined unless shared. @returns {SharedArrayBuffer | undefined} */
  get buffer() { return this.#permits.buffer }
  /** How many may be acquired without waiting. */
  get available() { return this.#permits.available }
  /**
   * Whether a thread ended with a permit, which nobody has acquired and released since: what it protects may be half done.
   */
  get abandoned() { return this.#permits.isAbandoned }

  /** @returns {Awaitable<void>} */
  acquire() {
    return this.#permits.turn(this, '.acquire()')
  }

  /**
   * Gives a permit back, or adds one, at once.
   *
   * @throws {RangeError} when there would be too many, shared
   */
  release() {
    this.#permits.release(false)
  }

  /**
   * Holds a permit during a section, however that ends.
   *
   * @template R
   * @param {(() => R) & Checked<R>} section it may wait
   * @param {{ scheduler?: Scheduler }} [options] where its job runs when it is awaited outside jobs;
   *   default `rt`
   * @returns {Awaitable<Outcome<R>>} what the section returns
   * @throws {TypeError} when `section` is no function, `scheduler` no Scheduler
   */
  use(section, options = {}) {
    return callOf(`${this.#name}.use()`, 'section', section, options, () =>
      inTurn(this.#permits.turn(this, '.acquire()', true), section, () => this.release()))
  }
  get [Symbol.toStringTag]() { return 'Semaphore' }
}

/**
 * Where a number of jobs wait until all of them have come; again and again. Who is cancelled meanwhile has
 * not come.
 */
export class Barrier {
  /** @type {string} */
  #name
  #parties
  #waiters = new Queue()

  /**
   * @param {number} parties how many meet, an integer >= 1
   * @param {{ name?: string }} [options] `name` for traces and errors
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(parties, options = {}) {
    this.#parties = partyCount('parties', parties)
    this.#name = check.options(options, NAMED).name ?? 'barrier'
  }

  get name() { return this.#name }
  get parties() { return this.#parties }
  /** How many have come and wait. */
  get waiting() { return this.#waiters.size }

  /** @returns {Awaitable<void>} over when all have come */
  wait() {
    return new Turn(this, '.wait()', this.#arrive)
  }
  get [Symbol.toStringTag]() { return 'Barrier' }

  /** @param {Turn} turn @param {Job | null} job */
  #arrive = (turn, job) => {
    const waiters = this.#waiters
    if (waiters.size < this.#parties - 1) return waiters.push(turn, job)
    this.#waiters = new Queue() // of who comes while these are told
    for (let next = waiters.shift(); next !== null; next = waiters.shift()) next.wake()
    turn.wake()
  }
}

// -------------------------------------------------------------------------------------------- 4 channels

/**
 * Who waits at a channel is an end of it: a waitable, which sends a message or receives one. Its exchange is where
 * ends meet, and all that an external channel does otherwise. The protocol between the two, and with choices:
 *
 * - `exchange.trySend(end)` and `exchange.tryReceive(end)` act at once if they can: they settle the end, by
 *   `wake` or `fail`, and return true. Else they change nothing and return false.
 * - `exchange.enter(end, job)` has it wait in a queue, `exchange.senders` or `exchange.receivers`, for a peer
 *   that comes later; that takes it from the queue and settles it. `exchange.withdraw(end)` takes it out
 *   unsettled.
 * - A choice first tries its ends in order, and only if none can act enters all; the first that is settled
 *   makes it withdraw the others. All of that happens within one synchronous step, so one commits, whoever is
 *   on the other side.
 * - An exchange that needs time between the decision and the settling calls `decide(end)` before it returns
 *   to the event loop: a choice then withdraws the others, and waits for this end alone. From `trySend` or
 *   `tryReceive` it returns true for that.
 * - Ends that entered on behalf of one choice have it as their `group`, and never meet.
 *
 * `offer` and `poll` are the same without an end, for callbacks.
 */
class End extends Waitable {
  /** @param {Exchange} exchange @param {boolean} isSender @param {any} [message] */
  constructor(exchange, isSender, message) {
    super()
    this.exchange = exchange
    this.isSender = isSender
    this.message = message
    /** The choice in which it waits. @type {Choice | null} */
    this.group = null
  }
  get name() { return `${this.exchange.name}.${this.isSender ? 'send' : 'receive'}()` }
  get mayBlock() { return !this.isSender || this.exchange.overflow === 'block' && this.exchange.size < Infinity }
  get handsOver() { return true }
  get goesOn() { return true }
  get isDecided() { return this.queue === null }

  /** Acts at once if it can. @returns {boolean} whether it is settled or decided */
  attempt() {
    return this.isSender ? this.exchange.trySend(this) : this.exchange.tryReceive(this)
  }
  /** @param {Job | null} job */
  begin(job) {
    if (!this.attempt()) this.exchange.enter(this, job)
  }
  undo() {
    this.exchange.withdraw(this)
  }
}

/**
 * Waits for what nothing in this thread shows to come: jobs that do are not stuck.
 *
 * @template {new (...given: any[]) => Waitable} T
 * @param {T} Base @param {boolean} isTimed whether Node is to be kept alive by a timer, since nothing else does
 */
const outside = (Base, isTimed) => class extends Base {
  #letGo = () => {}
  /** @param {Job | null} job */
  begin(job) {
    super.begin(job)
    if (this.phase !== Waitable.BEGUN) return
    const release = job === null ? () => {} : seam.hold(here())
    const timer = isTimed ? setInterval(() => {}, 2 ** 30) : undefined
    this.#letGo = () => {
      clearInterval(timer)
      release()
    }
  }
  undo() {
    super.undo()
    // Its job may be about to be woken by something else, and must not look as if nobody would.
    queueMicrotask(this.#letGo)
  }
  // Once it is settled: an idle scheduler asks at once who is left.
  /** @param {any} [value] */
  wake(value) {
    super.wake(value)
    this.#letGo()
  }
  /** @param {unknown} error */
  fail(error) {
    super.fail(error)
    this.#letGo()
  }
}
const OutsideTurn = /* @__PURE__ */ outside(Turn, true)
const OutsideEnd = /* @__PURE__ */ outside(End, false)

/** @param {Exchange} exchange @param {boolean} isSender @param {any} [message] */
const endAt = (exchange, isSender, message) => new (exchange.isOutside ? OutsideEnd : End)(exchange, isSender, message)

/** Tells who waits that it will be settled: nobody else in its choice may be. @param {Waitable} waitable */
const decide = waitable => /** @type {any} */ (waitable.waiter)?.decided?.(waitable)

/** The choice that is about to try or enter its ends: no two of them may meet. @type {Choice | null} */
let choosing = null

/** @param {Queue} queue @returns {End | null} the first, removed; it belongs to no choice that is just looking for a peer */
function take(queue) {
  let skipped = null
  let end = /** @type {End | null} */ (queue.shift())
  while (end !== null && end.group !== null && end.group === choosing) {
    (skipped ??= []).push(end)
    end = /** @type {End | null} */ (queue.shift())
  }
  // They entered last of all, so they lose no place.
  skipped?.forEach(one => { queue.push(one, one.job) })
  return end
}

/** Stands for a message where there is none. */
const NOTHING = Symbol('nothing')

/**
 * Where senders and receivers of a channel within this page meet.
 *
 * Nobody waits who could act: who waits to receive finds no message and no sender, who waits to send no
 * receiver and no room; but for ends of one choice, which never meet.
 */
class Exchange {
  /** @type {InstanceType<typeof Fifo>} */
  buffer = new Fifo()
  senders = new Queue()
  receivers = new Queue()
  /** Once it has been closed, what every later end fails with. @type {ChannelError | null} */
  closed = null
  /** Whether it was closed because of an error. */
  failed = false
  /** Whether its other side is elsewhere. */
  isOutside = false

  /** @param {number} size @param {string} overflow @param {string} name */
  constructor(size, overflow, name) {
    this.size = size
    this.overflow = overflow
    this.name = name
  }

  /** Messages that are buffered. */
  get length() { return this.buffer.size }

  /** @param {End} send @returns {boolean} */
  trySend(send) {
    if (this.closed !== null) send.fail(this.closed)
    else if (this.hand(send.message) || this.overflow !== 'block') send.wake()
    else return false
    return true
  }

  /** @param {End} receive @returns {boolean} */
  tryReceive(receive) {
    const message = this.next()
    if (message !== NOTHING) receive.wake(message)
    else if (this.closed !== null) receive.fail(this.closed)
    else return false
    return true
  }

  /** @returns {any} the oldest message, whose place the most eligible sender that waits takes; NOTHING where there is none */
  next() {
    const { buffer } = this
    const isKept = buffer.size > 0
    const send = take(this.senders)
    if (send !== null && isKept) buffer.push(send.message)
    const message = isKept ? buffer.shift() : send === null ? NOTHING : send.message
    send?.wake()
    return message
  }

  /** @param {any} message @returns {boolean} whether it has been received or kept */
  hand(message) {
    const receive = take(this.receivers)
    if (receive !== null) {
      receive.wake(message)
      return true
    }
    const { buffer, size } = this
    if (buffer.size === size) {
      if (this.overflow !== 'slide' || size === 0) return false
      buffer.shift()
    }
    buffer.push(message)
    return true
  }

  /** @param {End} end @param {Job | null} job */
  enter(end, job) {
    end.group = choosing
    sideOf(end).push(end, job)
  }

  /** @param {End} end */
  withdraw(end) {
    end.queue?.remove(end)
  }

  /** @param {End} receive settled @returns {boolean} whether the channel has just come to its end */
  isEnd(receive) {
    return this.closed !== null && receive.outcome === this.closed && !this.failed
  }

  /** @param {any} message @returns {boolean} whether it has been received or kept */
  offer(message) {
    return this.closed === null && this.hand(message)
  }

  /** @returns {any} a message, or undefined */
  poll() {
    const message = this.next()
    return message === NOTHING ? undefined : message
  }

  /** @param {unknown} reason @returns {boolean} whether it was open */
  close(reason) {
    if (this.closed !== null) return false
    this.ended('is closed', reason)
    return true
  }
  /** @param {string} what has happened @param {unknown} reason */
  ended(what, reason) {
    // Objects say nothing of themselves as texts, and some have none: whoever is at the other side may send one.
    const text = reason instanceof Error || typeof reason === 'string' ? String(reason) : check.describe(reason)
    const why = reason === undefined ? '' : `: ${text}`
    const error = reason instanceof ChannelError ? reason : new ChannelError(`${this.name} ${what}${why}`, reason)
    this.end(error, reason instanceof Error)
  }

  /** @param {ChannelError} error @param {boolean} failed */
  end(error, failed) {
    this.closed = error
    this.failed = failed
    this.failAll(this.senders)
    this.failAll(this.receivers)
  }
  /** @param {Queue} queue */
  failAll(queue) {
    for (let end = take(queue); end !== null; end = take(queue)) end.fail(this.closed)
  }
}

/** @param {End} end @returns {Queue} where it waits */
const sideOf = ({ isSender, exchange }) => isSender ? exchange.senders : exchange.receivers

const CHANNEL = { ...NAMED, overflow: check.among('block', 'drop', 'slide') }

/**
 * Carries messages between jobs, any number at each end (Communicating Generators 2.3; Hoare 1978). Without a
 * buffer, sender and receiver meet: who comes first waits. Ends that wait are served by eligibility, equals
 * in order of arrival.
 *
 * ```js
 * const lines = new Channel()
 * rt.spawn(function* () { for (const line of text) yield lines.send(line); lines.close() })
 * rt.spawn(() => lines.forEach(show))
 * ```
 *
 * Closing it ends it once what it keeps has been received. Who waits to send learns that the message was not
 * taken: it fails with a ChannelError, as does every later `send`. Receivers get what is left; after that,
 * `receive` fails with the ChannelError and iteration is over.
 *
 * @template [T=unknown]
 */
export class Channel {
  /** @type {Exchange} */
  #exchange

  /**
   * @param {number} [size] how many messages it keeps for receivers to come, an integer >= 0 or Infinity;
   *   default 0
   * @param {{ overflow?: 'block' | 'drop' | 'slide', name?: string }} [options] what happens to a message
   *   that finds neither receiver nor room: its sender waits (default), it is dropped, or the oldest one is;
   *   `name` for traces and errors
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(size = 0, options = {}) {
    if (/** @type {unknown} */ (size) instanceof Exchange) {
      this.#exchange = /** @type {any} */ (size)
      return
    }
    bufferSize('size', size)
    const { name = 'channel', overflow = 'block' } = check.options(options, CHANNEL)
    this.#exchange = new Exchange(size, overflow, name)
  }

  /** @returns {string} */
  get name() { return this.#exchange.name }
  /** How many messages it keeps at most. */
  get size() { return this.#exchange.size }
  /** How many messages it keeps now. */
  get length() { return this.#exchange.length }
  /** Whether nothing can be sent any more. */
  get closed() { return this.#exchange.closed !== null }

  /**
   * Nothing is sent before this is yielded or awaited; `offer` is what callbacks call.
   *
   * @param {T} message
   * @returns {Awaitable<void>} over when it has been received, or kept; fails with a ChannelError when
   *   neither will be
   */
  send(message) {
    return endAt(this.#exchange, true, message)
  }

  /** @returns {Awaitable<T>} the next message; fails with a ChannelError when there will be none */
  receive() {
    return endAt(this.#exchange, false)
  }

  /**
   * Sends, if that can be done at once; for callbacks.
   *
   * @param {T} message
   * @returns {boolean} whether it was received or kept
   */
  offer(message) {
    return this.#exchange.offer(message)
  }

  /**
   * Receives, if there is something; for callbacks.
   *
   * @returns {T | undefined} undefined when there is nothing
   */
  poll() {
    return this.#exchange.poll()
  }

  /**
   * @param {unknown} [reason] what the ChannelError has as `reason`; a ChannelError itself is used as it is.
   *   When it is an Error, iteration does not end but fails.
   * @returns {boolean} whether this call closed it
   */
  close(reason) {
    return this.#exchange.close(reason)
  }

  /**
   * Receives until the channel ends, as iteration does, in a job.
   *
   * @param {(message: T) => unknown} work a function or generator function, called with one message after the
   *   other
   * @param {{ scheduler?: Scheduler }} [options] where its job runs when it is awaited outside jobs;
   *   default `rt`
   * @returns {Awaitable<void>} fails when `work` does, or with the ChannelError when the channel was closed
   *   by an Error
   * @throws {TypeError} when `work` is no function, `scheduler` no Scheduler
   */
  forEach(work, options = {}) {
    return callOf(`${this.name}.forEach()`, 'work', work, options, () => receiveAll(this.#exchange, work))
  }

  /**
   * For `for await (const message of channel)`. It may be left at any time; that closes nothing.
   *
   * @returns {AsyncIterableIterator<T, void, void>}
   */
  [Symbol.asyncIterator]() {
    return new Messages(this.#exchange)
  }
  get [Symbol.toStringTag]() { return 'Channel' }
}

/** @param {Exchange} exchange @param {(message: any) => any} work @returns {Generator<any, any, any>} */
function* receiveAll(exchange, work) {
  for (;;) {
    const receive = endAt(exchange, false)
    try {
      yield receive
    } catch (error) {
      if (exchange.isEnd(receive)) return
      throw error
    }
    const result = preemptible(work)(receive.outcome)
    if (isUnfinished(result)) yield* finish(result)
  }
}

/**
 * The same for async code.
 *
 * @implements {AsyncIterableIterator<any, void, void>}
 */
class Messages {
  /** Settled when no more is to come. */
  #end = new Waitable()

  /** @param {Exchange} exchange */
  constructor(exchange) {
    this.exchange = exchange
  }

  /** @returns {Promise<IteratorResult<any, void>>} */
  async next() {
    const receive = endAt(this.exchange, false)
    try {
      const { index, value } = await /** @type {any} */ (new Group('next', [this.#end, receive], always))
      if (index === 1) return { done: false, value }
    } catch (error) {
      this.#end.wake()
      if (!this.exchange.isEnd(receive)) throw error
    }
    return this.return()
  }

  /** @returns {Promise<IteratorResult<any, void>>} */
  async return() {
    this.#end.wake()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator]() {
    return this
  }
}

// --------------------------------------------------------------------------------------------- 5 choice

/** Waits for a time; over at once when it has come. */
class Time extends Sleep {
  get name() { return `${this.isRelative ? 'timeout' : 'until'}(${this.time})` }
  get mayBlock() { return this.time > -Infinity }
  /** @param {Scheduler} scheduler @param {number} time */
  sleepUntil(scheduler, time) {
    // What counts from now is not compared with it: another reading of the clock would cost 10 to 50 ns of 600.
    if (this.isRelative ? this.time === 0 : time <= scheduler.now()) this.wake()
    else super.sleepUntil(scheduler, time)
  }
}

/** When each job, or all code outside jobs, has last chosen what. @type {WeakMap<object, WeakMap<object, number>>} */
const memories = new WeakMap()
const OUTSIDE = {}
let choices = 0
/** Stand for guards that are at no channel. @type {object[]} */
const PLACES = []

/** @param {Job | null} job @returns {WeakMap<object, number>} */
function memoryOf(job) {
  const memory = memories.get(job ?? OUTSIDE) ?? new WeakMap()
  memories.set(job ?? OUTSIDE, memory)
  return memory
}

/**
 * Waits for several: for one that decides, or until all are over. Each of its members tells it, as its waiter, when it is
 * settled.
 */
class Group extends Waitable {
  /** On whose behalf it waits. @type {Job | null} */
  job = null
  /** The member that decides. @type {Waitable | null} */
  decision = null

  /**
   * @param {string} kind @param {Waitable[]} members
   * @param {(member: Waitable) => boolean} decides whether one that is over does: `always`, if it `hasFailed`, or `never`
   */
  constructor(kind, members, decides) {
    super()
    this.kind = kind
    this.members = members
    this.decides = decides
    this.unfinished = members.length
    /** Where its members have their places for who made it. @type {(Waitable | null)[]} */
    this.listed = members
  }
  get name() {
    return `${this.kind}(${this.members.map(member => /** @type {any} */ (member).name ?? 'wait').join(', ')})`
  }
  get mayBlock() { return this.members.length > 0 }
  get handsOver() { return true }
  get isDecided() { return this.decision !== null }

  owners() {
    // Only who needs all of them is stuck when one is.
    return this.decides === always && this.members.length > 1 ? [] : this.members.flatMap(member => member.owners())
  }
  /** @param {Job | null} job */
  begin(job) {
    this.job = job
    if (this.unfinished === 0) return this.wake([])
    for (const member of this.members) {
      if (member.enlist(this)) this.woken(member)
      if (this.decision !== null) return
    }
  }
  undo() {
    this.unfinished = this.members.length
    this.leaveAll(null)
  }
  refresh() {
    super.refresh()
    for (const member of this.members) member.refresh()
  }

  /** As their waiter: one is over. @param {Waitable} member */
  woken(member) {
    this.unfinished--
    if (this.decision !== null && this.decision !== member) return
    if (this.decides(member)) undisturbed(() => this.conclude(member))
    else if (this.unfinished === 0) this.wake(this.members.map(({ outcome }) => outcome))
  }

  /** @param {Waitable} member */
  conclude(member) {
    this.leaveAll(member)
    if (member.isFulfilled) this.wake({ index: this.listed.indexOf(member), value: member.outcome })
    else this.fail(member.outcome)
  }
  /** @param {Waitable | null} decision but for it */
  leaveAll(decision) {
    this.decision = decision
    for (const member of this.members) if (member !== decision) member.leave(this)
  }
}

const always = () => true
const hasFailed = (/** @type {Waitable} */ member) => !member.isFulfilled
const never = () => false

/** A group of which one is chosen. It tries its branches in order, then enters all. */
class Choice extends Group {
  /** @param {(Waitable | null)[]} branches by the places of their guards; null for one that does not count @param {boolean} isFair */
  constructor(branches, isFair) {
    super('choice', /** @type {Waitable[]} */ (branches.filter((branch, place) => branch !== null && branches.indexOf(branch) === place)), always)
    this.listed = branches
    this.isFair = isFair
  }
  get mayBlock() { return this.members.every(branch => branch.mayBlock) }

  /** @param {Job | null} job */
  begin(job) {
    this.job = job
    if (this.isFair) this.#order(memoryOf(job))
    const outer = choosing
    choosing ??= this
    try {
      if (!this.#try()) this.#enter()
    } finally {
      choosing = outer
    }
  }

  /** Puts first what has not been chosen for longest. @param {WeakMap<object, number>} memory */
  #order(memory) {
    const turnOf = (/** @type {Waitable} */ branch) => memory.get(this.#subjectOf(branch)) ?? 0
    this.members.sort((a, b) => turnOf(a) - turnOf(b))
  }

  /** @returns {boolean} whether a branch could act at once */
  #try() {
    for (const branch of this.members) {
      // What is no end of a channel is entered by being tried.
      if (branch instanceof End && !branch.attempt()) continue
      if (branch.enlist(this)) this.woken(branch)
      else if (branch.isDecided) this.decided(branch)
      if (this.decision !== null) return true
    }
    return false
  }

  #enter() {
    for (const branch of this.members) {
      if (branch instanceof End && branch.enlist(this)) return this.woken(branch)
    }
  }

  /** As their waiter: a branch is the only one that will be settled. @param {Waitable} branch */
  decided(branch) {
    if (this.decision !== null) return
    this.leaveAll(branch)
    decide(this)
  }

  /** @param {Waitable} branch */
  conclude(branch) {
    this.decided(branch)
    if (this.isFair) memoryOf(this.job).set(this.#subjectOf(branch), ++choices)
    super.conclude(branch)
  }
  /** What fair choices take turns by: sides of channels, or else places. @param {Waitable} branch @returns {object} */
  #subjectOf(branch) {
    return branch instanceof End ? sideOf(branch) : PLACES[this.listed.indexOf(branch)] ??= {}
  }
}

/**
 * @typedef {object} Guard one of `receive`, `send` with `value`, `timeout`, `until`, `wait` and `skip`
 * @property {Channel<any>} [receive] ready when there is a message, which is its value
 * @property {Channel<any>} [send] ready when `value` can be sent
 * @property {unknown} [value]
 * @property {number} [timeout] ready after so many ms, >= 0; Infinity: never
 * @property {number} [until] ready at that time, host timestamp in ms; Infinity: never
 * @property {PromiseLike<unknown>} [wait] ready when the waitable, job or promise is over; its outcome is its value
 * @property {true} [skip] always ready
 * @property {boolean} [when] whether it counts; default true
 * @property {Function} [action] a function or generator function, called in the job with the value of its guard when
 *   that has been chosen; what it returns takes the place of the value
 */
/**
 * What a guard is about.
 *
 * @template G
 * @typedef {G extends { receive: Channel<infer T> } ? T : G extends { wait: PromiseLike<infer T> } ? T : undefined} Received
 */
/**
 * What follows for a guard from its channel.
 *
 * @template G
 * @typedef {(G extends { send: Channel<infer T> } ? { value: T } : unknown) & (
 *   G extends { action: (value: infer V) => any } ? Received<G> extends V ? unknown
 *     : { action: (value: Received<G>) => unknown } : unknown)} Fitting
 */
/**
 * The outcome of a choice.
 *
 * @template {readonly Guard[]} G
 * @typedef {{ [I in keyof G]: {
 *   index: I extends `${infer N extends number}` ? N : number,
 *   value: G[I] extends { action: (...args: any[]) => infer R } ? Outcome<R> : Received<G[I]>
 * } }[number]} Chosen
 */

const KINDS = /** @type {const} */ (['receive', 'send', 'timeout', 'until', 'wait', 'skip'])
const GUARD = check.unchecked(...KINDS, 'value', 'when', 'action')
const CHOICE = { ...ACTING, fair: check.flag }
/** Of guards, for errors. Made anew for each, a choice costs a tenth more. @type {string[]} */
const PLACE_NAMES = []

/**
 * @param {any} guard @param {number} place @param {any} options of the choice
 * @returns {Waitable | null} null for what `wait` says, which is asked only when nothing can be wrong any more: who waits
 *   for a job is told of its failure
 */
function branchOf(guard, place, options) {
  const name = PLACE_NAMES[place] ??= `guards[${place}]`
  const { receive, send, timeout, until, wait, skip, when, action } = check.knownOptions(guard, GUARD, name)
  if ([receive, send, timeout, until, wait, skip].filter(isGiven).length !== 1) {
    const kinds = KINDS.filter(kind => isGiven(guard[kind])).join(' and ')
    throw new TypeError(`${name} must have one of ${KINDS.join(', ')}, got ${kinds || 'none'}`)
  }
  if (when !== undefined) check.flag(`${name}.when`, when)
  if (action !== undefined) forJobs(`${name}.action`, action)
  if (receive !== undefined) return channelAt(`${name}.receive`, receive).receive()
  if (send !== undefined) return channelAt(`${name}.send`, send).send(guard.value)
  if (timeout !== undefined) return new Time(check.notNegative(`${name}.timeout`, timeout), true, options)
  if (until !== undefined) return new Time(anyNumber(`${name}.until`, until), false, options)
  if (skip === true) return new Time(-Infinity, false, options)
  if (skip !== undefined) throw check.wrongType(`${name}.skip`, 'true', skip)
  if (when !== false && typeof wait?.then !== 'function') {
    throw check.wrongType(`${name}.wait`, 'a promise, a job or a waitable', wait)
  }
  return null
}

const isGiven = (/** @type {unknown} */ value) => value !== undefined

/** @param {string} name @param {unknown} value @returns {any} a channel */
function channelAt(name, value) {
  if (value instanceof Channel) return value
  throw check.wrongType(name, 'a Channel', value)
}

/**
 * Waits until one of several guards is ready, and commits to it: that one happens, none of the others does,
 * whatever is on the other side of a channel, another choice included; and it never meets itself
 * (Communicating Generators 2.5; Hoare 1985, 3.3). A guard whose channel is closed, or whose `wait` fails, is
 * ready too: the choice fails.
 *
 * ```js
 * const { index, value } = yield choice([
 *   { receive: orders, when: stock > 0, action: function* (order) { yield pack(order) } },
 *   { send: offers, value: price },
 *   { timeout: 100 }
 * ])
 * ```
 *
 * @template {readonly Guard[]} const G
 * @param {{ readonly [I in keyof G]: G[I] & Fitting<G[I]> }} guards the first that is ready is chosen
 * @param {{ fair?: boolean, scheduler?: Scheduler }} [options] `fair`: of those that are
 *   ready, the one that this job has not chosen for longest; `scheduler`: whose clock it waits by, and where its job runs
 *   if it has an action, when it is awaited outside jobs; default `rt`
 * @returns {Awaitable<Chosen<G>>} the chosen guard's place and its value, or its action's
 *   result
 * @throws {TypeError | RangeError} naming the guard; TypeError when `when` leaves none
 */
export function choice(guards, options = {}) {
  array('guards', guards)
  const { fair = false } = check.options(options, CHOICE)
  const made = guards.map((guard, place) => branchOf(guard, place, options))
  const branches = guards.map(({ when, wait }, place) => when === false ? null : made[place] ?? Waitable.of(wait))
  const chosen = new Choice(branches, fair)
  if (chosen.members.length === 0) throw new TypeError('guards must have one that is enabled, got none')
  if (guards.every(({ when, action }) => when === false || action === undefined)) return /** @type {any} */ (chosen)
  return /** @type {any} */ (new Call(chosen.name, () => acted(chosen, guards.map(({ action }) => action)), options))
}

/** @param {Choice} chosen @param {any[]} actions @returns {Generator<any, any, any>} */
function* acted(chosen, actions) {
  const result = yield chosen
  const action = actions[result.index]
  if (action === undefined) return result
  const value = preemptible(action)(result.value)
  return { index: result.index, value: isUnfinished(value) ? yield* finish(value) : value }
}

// ----------------------------------------------------------------------------------------- 6 par and race

/**
 * A job for one of several works, which stands as the one that it works for where a Task does not say otherwise.
 *
 * @param {any} work @param {Job} parent @returns {Job}
 */
function spawnFor(work, parent) {
  const options = onBehalfOf(parent)
  if (work instanceof Task) {
    if (work.deadline < Infinity) options.release = options.deadline = undefined
    if (work.priority !== 0) options.priority = undefined
    if (work.reservation !== undefined) options.reservation = undefined
  }
  const inherits = options.deadline !== undefined || options.priority || options.reservation !== undefined
  return here().spawn(work, inherits ? options : undefined)
}

/**
 * The body of `par` and `race`.
 *
 * @param {string} kind @param {any[]} works @param {Job} parent @returns {Generator<any, any, any>}
 */
function* together(kind, works, parent) {
  /** @type {Job[]} */
  const children = []
  /** @type {any[]} */
  const errors = []
  /** @type {Group | undefined} */
  let group
  let result
  try {
    const members = works.map(work => {
      const awaited = Waitable.of(work)
      if (awaited !== null) return awaited
      const child = spawnFor(work, parent)
      children.push(child)
      return /** @type {Waitable} */ (Waitable.of(child))
    })
    group = new Group(kind, members, kind === 'race' ? always : hasFailed)
    result = yield group
  } catch (error) {
    errors.push(error)
  }
  // Children that are left are cancelled, and have the time to clean up.
  const left = children.filter(({ finished }) => finished === undefined)
  // The reason is that of the caller's own cancellation, or one for those whom the others made superfluous.
  const reason = group !== undefined && group.decision === null ? errors[0]
    : new DOMException(`${kind}() is decided`, 'AbortError')
  for (const child of left) child.cancel(reason)
  for (const child of left) {
    const end = new Group(kind, [/** @type {Waitable} */ (Waitable.of(child))], never)
    try {
      yield end
    } catch (error) {
      errors.push(error)
      // A job is cancelled once, so this waits to the end; unless the child waits for what the caller holds.
      if (!(error instanceof DeadlockError)) yield end
    }
    if (child.state === 'failed') errors.push(end.members[0].outcome)
  }
  if (errors.length === 0) return result
  if (errors.length === 1) throw errors[0]
  throw new AggregateError(errors, `${kind}(): ${errors.length} works failed`)
}

/** @param {any} value */
const isWork = value => typeof value === 'function' || value instanceof Task || isUnfinished(value)

/** @param {string} kind @param {any} given works, and last perhaps options @returns {any} */
function callOfAll(kind, given) {
  const last = given.at(-1)
  const hasOptions = typeof last === 'object' && last !== null && Object.hasOwn(last, 'scheduler') && !isWork(last)
  const works = hasOptions ? given.slice(0, -1) : given
  works.forEach((/** @type {any} */ work, /** @type {number} */ index) => {
    if (isWork(work)) return
    const error = check.wrongType(`works[${index}]`, 'a function, a Task, a generator, or something to wait for', work)
    if (works.length === 1 && Array.isArray(work)) error.message += `: write ${kind}(...works)`
    throw error
  })
  if (kind === 'race' && works.length === 0) {
    throw new TypeError('works must not be empty, or the race would never end')
  }
  const options = hasOptions ? check.options(last, ACTING) : {}
  return new Call(`${kind}()`, parent => together(kind, works, parent), options)
}

/** What may be done together. @typedef {Work | PromiseLike<unknown> | { scheduler: Scheduler }} Member */
/**
 * @template {readonly Member[]} W
 * @typedef {{ [I in keyof W]: (W[I] | ((job: Job) => unknown)) & (W[I] extends PromiseLike<any> | { scheduler: Scheduler }
 *   ? unknown : Taking<W[I], []>) }} Members
 */
/** @template {readonly unknown[]} W @typedef {W extends readonly [...infer Works, { scheduler: Scheduler }] ? Works : W} WorksIn */
/** @template {readonly unknown[]} W @typedef {{ -readonly [I in keyof W]: ResultOf<W[I]> }} Results */
/**
 * @template {readonly unknown[]} W
 * @typedef {{ [I in keyof W]: { index: I extends `${infer N extends number}` ? N : number, value: ResultOf<W[I]> }
 * }[number]} Winner
 */

/**
 * Does several things at once, each as a job of its own, and waits for all of them (Communicating Generators
 * 2.2; occam's PAR). When one fails or is cancelled, or the caller is, the others are cancelled; only when
 * they have ended, `finally` blocks included, it fails: with that error, or with an AggregateError of all
 * when cleaning up failed too.
 *
 * ```js
 * const [left, right] = yield par(sort(a), sort(b)) // of generator functions; or par(() => sort(a), ...)
 * ```
 *
 * @template {readonly Member[]} const W
 * @param {Members<W>} works functions, Tasks and generators become jobs with the caller's deadline, priority and reservation
 *   where a Task has none of its own; waitables, jobs and promises are waited for. Last of all may come
 *   `{ scheduler }`: where they run when it is awaited outside jobs; default `rt`
 * @returns {Awaitable<Results<WorksIn<W>>>} the results, in order
 * @throws {TypeError} naming the work that is none
 */
export function par(...works) {
  return callOfAll('par', works)
}

/**
 * Does several things at once, and waits for the first that is over, which decides: with its result, or with
 * its error. The others are cancelled, and it waits until they have ended, `finally` blocks included.
 *
 * @template {readonly Member[]} const W
 * @param {W extends readonly [] ? ['at least one'] : Members<W>} works as for `par`, at least one
 * @returns {Awaitable<Winner<WorksIn<W>>>}
 * @throws {TypeError} naming the work that is none
 */
export function race(...works) {
  return callOfAll('race', works)
}

/** @type {object[] | null} */
let kept = null

/**
 * One object of each kind that jobs wait for, made at the first call. V8 throws away the code compiled for a shape when a
 * collection finds no object of it: without these, where one lies between bursts of 1000, a job of `par` takes 11 to 13 us instead of
 * 3.5 to 5.7, a choice 15 to 26 instead of 5.3 to 5.7 (Node 20).
 */
function keepShapes() {
  kept = []
  const exchange = new Exchange(0, 'block', 'channel')
  const call = new Call('call', () => finish(undefined))
  kept.push(exchange, new End(exchange, true), call, call[asCall](/** @type {any} */ (null)), new Group('par', [], hasFailed),
    new Choice([], false), new Time(0, false, {}), new Turn({ name: '' }, '', () => {}))
}

// --------------------------------------------------------------------------------------- 7 values as bytes

/**
 * Values are kept as structured clone keeps them, also where there are only bytes: as JSON in which
 * `{ "$": [kind, ...] }` stands for what JSON has no word for, with the bytes of buffers beside it. Class instances
 * become plain objects; functions, symbols, cycles and what else has no bytes are refused with a DataCloneError.
 *
 * Several values make one sequence of bytes: the length of a text in 4 bytes (the low one first); that text, the JSON of an
 * array of the values and, last, of the lengths of all buffers; the buffers.
 */
const ESCAPE = '$'

/** Of an array that has holes. @param {number} length @param {[string, any][]} entries @returns {any[]} */
const arrayOf = (length, entries) =>
  Object.assign([], { length }, Object.fromEntries(entries.filter(([key]) => isPlace(key, length))))

/** @param {string} key @param {number} length */
const isPlace = (key, length) => isCount(Number(key)) && Number(key) < length

/**
 * Kinds of values, by what is packed of them, and what makes them of that again.
 *
 * @type {Record<string, { pack(value: any): any[], make(...content: any[]): any }>}
 */
const PACKED = {
  undefined: { pack: () => [], make: () => undefined },
  number: { pack: value => [Object.is(value, -0) ? '-0' : String(value)], make: Number },
  bigint: { pack: value => [String(value)], make: BigInt },
  Date: { pack: date => [date.getTime()], make: time => new Date(time) },
  RegExp: { pack: ({ source, flags }) => [source, flags], make: (source, flags) => new RegExp(source, flags) },
  Error: {
    pack: ({ name, message }) => [name in ERRORS ? name : 'Error', String(message)],
    make: (name, message) => new (Object.hasOwn(ERRORS, name) ? ERRORS[name] : Error)(message)
  },
  Map: { pack: map => [[...map]], make: entries => new Map(entries) },
  Set: { pack: set => [[...set]], make: values => new Set(values) },
  // Of an array with holes, and of an object that looks like an escape.
  array: { pack: array => [array.length, Object.entries(array).filter(([key]) => isPlace(key, array.length))], make: arrayOf },
  object: { pack: object => [Object.entries(object)], make: Object.fromEntries }
}

const ERRORS = /** @type {Record<string, ErrorConstructor>} */ (
  { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError })

/** The classes of what shows bytes. */
const VIEW = /^(?:(?:Big)?(?:Ui|I)nt\d+(?:Clamped)?Array|Float\d+Array|DataView)$/

/** @type {any[]} */
const NONE = []
/** Made when first asked for, since not all surroundings have them. @type {TextEncoder} */
let encoder
/** @type {TextDecoder} */
let decoder

/** The name of what a value is built of, also of those from another realm. @param {unknown} value */
const kindOf = value => Object.prototype.toString.call(value).slice(8, -1)
/** @param {any} value */
const isBytes = value => ArrayBuffer.isView(value) || kindOf(value) === 'ArrayBuffer'

/** @param {ArrayBufferView | ArrayBuffer} source @returns {Uint8Array} the same memory */
const bytesOf = source => ArrayBuffer.isView(source)
  ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  : new Uint8Array(source)

/** @param {Uint8Array[]} chunks @returns {Uint8Array} not copied if it is one */
function joined(chunks) {
  if (chunks.length === 1) return chunks[0]
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
  }
  return whole
}

/** @param {unknown} value */
const cannotClone = value => new DOMException(`${check.describe(value)} could not be cloned`, 'DataCloneError')

/**
 * @param {any[]} values
 * @returns {Uint8Array[]} parts of the bytes: the length, the text, and the buffers, which are not copied
 * @throws {DOMException} DataCloneError
 */
function encoded(values) {
  /** @type {Uint8Array[]} */
  const buffers = []
  const list = values.map(value => {
    try {
      return packed(value, buffers)
    } catch (error) {
      throw error instanceof RangeError ? cannotClone(value) : error // a cycle, or too deep for the stack
    }
  })
  const text = (encoder ??= new TextEncoder()).encode(JSON.stringify([...list, buffers.map(({ length }) => length)]))
  const { length } = text
  return [Uint8Array.of(length, length >>> 8, length >>> 16, length >>> 24), text, ...buffers]
}

/** @param {any} value @param {Uint8Array[]} buffers @returns {any} what JSON can say */
function packed(value, buffers) {
  const all = (/** @type {any[]} */ values) => Array.from(values, part => packed(part, buffers))
  const kind = packedKindOf(value)
  if (kind === 'JSON') return value
  if (kind === 'Array') return all(value)
  if (kind === 'Object') return Object.fromEntries(all(Object.entries(value)))
  if (['Number', 'String', 'Boolean'].includes(kind)) return packed(value.valueOf(), buffers)
  if (Object.hasOwn(PACKED, kind)) return { [ESCAPE]: [kind, ...all(PACKED[kind].pack(value))] }
  if (isBytes(value)) return { [ESCAPE]: [kind, buffers.push(bytesOf(value)) - 1] }
  throw cannotClone(value)
}

/** @param {any} value @returns {string} 'JSON' where it is its own word for it */
function packedKindOf(value) {
  const type = typeof value
  if (type === 'string' || type === 'boolean' || value === null) return 'JSON'
  if (type === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? 'JSON' : type
  if (type !== 'object') return type
  if (Array.isArray(value)) {
    return value.findIndex((part, place) => part === undefined && !Object.hasOwn(value, place)) < 0 ? 'Array' : 'array'
  }
  const kind = kindOf(value)
  return kind === 'Object' && Object.hasOwn(value, ESCAPE) ? 'object' : kind
}

/**
 * Reads what `encoded` has made, beginning with its first message; then it asks for the next ones.
 *
 * @param {Uint8Array} bytes @param {number} [most] bytes of a message
 * @returns {Generator<void, { values: any[], buffers: Uint8Array[] }, Uint8Array>} values that are still packed
 * @throws {Error} when it is not what `encoded` makes
 */
function* decoding(bytes, most = Infinity) {
  const begin = checkLength(4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true))
  const head = bytes.length < begin ? joined([bytes, yield* part(begin - bytes.length, most)]) : bytes
  const values = list(JSON.parse((decoder ??= new TextDecoder()).decode(head.subarray(4, begin))))
  const lengths = list(values.pop())
  let end = begin
  const buffers = lengths.map(length => head.subarray(end, end = checkLength(end + checkLength(length))))
  if (head.length === begin) for (let i = 0; i < lengths.length; i++) buffers[i] = yield* part(lengths[i], most)
  else if (head.length !== end) throw new SyntaxError('not as many bytes as announced')
  return { values, buffers }
}

/** @param {number} length @param {number} most @returns {Generator<void, Uint8Array, Uint8Array>} */
function* part(length, most) {
  const chunks = []
  for (let left = length; left > 0; left -= most) {
    const chunk = yield
    if (chunk.length !== Math.min(left, most)) throw new SyntaxError('not what was to follow')
    chunks.push(chunk)
  }
  return joined(chunks)
}

/** @param {unknown} length which somebody announces */
function checkLength(length) {
  if (isCount(length) && length <= 2 ** 31) return length
  throw new SyntaxError('not the length of what follows')
}

/**
 * The inverse of `packed`; what was packed is used up.
 *
 * @param {any} value @param {Uint8Array[]} buffers of which the value takes hold
 * @returns {any}
 * @throws {Error} when it is not what `packed` makes
 */
function unpacked(value, buffers) {
  if (typeof value !== 'object' || value === null) return value
  if (!Object.hasOwn(value, ESCAPE)) {
    // An own __proto__, as JSON.parse makes it, is assigned to like any other own property.
    for (const key of Object.keys(value)) value[key] = unpacked(value[key], buffers)
    return value
  }
  const [kind, ...content] = list(value[ESCAPE])
  if (kind === 'ArrayBuffer') return bufferOf(buffers[content[0]])
  if (VIEW.test(kind)) return new /** @type {any} */ (globalThis)[kind](bufferOf(buffers[content[0]]))
  if (!Object.hasOwn(PACKED, kind)) throw new SyntaxError('an escape of an unknown kind')
  return PACKED[kind].make(...content.map(part => unpacked(part, buffers)))
}

/** @param {unknown} value @returns {any[]} */
function list(value) {
  if (!Array.isArray(value)) throw new SyntaxError('not an array')
  return value
}

/** A buffer of nothing but these bytes. @param {Uint8Array} bytes */
const bufferOf = bytes => bytes.length === bytes.buffer.byteLength && kindOf(bytes.buffer) === 'ArrayBuffer'
  ? bytes.buffer : Uint8Array.from(bytes).buffer

// ------------------------------------------------------------------------------------- 8 Latest and Ring

const LATEST = 0x34534c32 // with the version of the layout
const RING = 0x52494e32
const MUTEX = 0x4d545832
const SEMAPHORE = 0x53454d32
const NAMES = /** @type {Record<number, string>} */ ({ [LATEST]: 'Latest', [RING]: 'Ring', [MUTEX]: 'Mutex', [SEMAPHORE]: 'Semaphore' })

/**
 * Values in shared memory, a place for each. Its layout, in words of 4 bytes: what it is, bytes per value, count of values,
 * words of control; then per value its kind, and from an even word on its bytes.
 */
const HEADER = 10
const KIND = 2
/** Where a number stands beside a kind. */
const NUMBERED = 1
/** The word of control that is 1 when somebody may wait. */
const WAITING = 8

// Kinds of values; others than these are encoded, in so many bytes.
const UNDEFINED = 0
const NUMBER = 1

class Memory {
  /**
   * @param {number} layout what it is @param {number} count of values @param {number} bytes per value
   * @param {SharedArrayBuffer | undefined} buffer made by another one, which knows the rest
   */
  constructor(layout, count, bytes, buffer) {
    /** Words that a value takes. @param {number} size */
    const strideOf = size => Math.ceil(size / 8) * 2 + KIND
    this.buffer = buffer ?? sharedMemory((HEADER + count * strideOf(bytes)) * 4)
    this.words = new Int32Array(this.buffer, 0, this.buffer.byteLength >>> 2)
    /** Here, and not joined. */
    this.isMade = buffer === undefined
    if (this.isMade) this.words.set([layout, bytes, count])
    const [kind, size, number] = this.words
    this.bytes = size
    this.count = number
    this.stride = strideOf(size)
    if (kind !== layout || (HEADER + number * this.stride) * 4 !== this.buffer.byteLength) {
      throw new TypeError(`buffer must be that of a shared ${NAMES[layout]}, got one of ${this.buffer.byteLength} bytes`)
    }
  }
}

/** With the values in it. */
class Store extends Memory {
  octets = new Uint8Array(this.buffer)
  doubles = new Float64Array(this.buffer)

  /**
   * @param {number} index whose bytes nobody else may touch meanwhile @param {any} value @param {number} [number] beside it
   * @throws {RangeError | DOMException} when it takes too many bytes, or has none
   */
  put(index, value, number = 0) {
    const at = HEADER + index * this.stride
    this.words[at + NUMBERED] = number
    if (typeof value === 'number') {
      this.doubles[(at + KIND) / 2] = value
      this.words[at] = NUMBER
    } else if (value === undefined) {
      this.words[at] = UNDEFINED
    } else {
      const bytes = joined(encoded([value]))
      if (bytes.length > this.bytes) {
        throw new RangeError(`value must take at most ${this.bytes} bytes (see options.bytes), got ${bytes.length}`)
      }
      this.octets.set(bytes, (at + KIND) * 4)
      this.words[at] = bytes.length
    }
  }

  /** @param {number} index */
  numberOf(index) {
    return this.words[HEADER + index * this.stride + NUMBERED]
  }

  /** @param {number} index @returns {any} */
  get(index) {
    const at = HEADER + index * this.stride
    const kind = this.words[at]
    if (kind === NUMBER) return this.doubles[(at + KIND) / 2]
    if (kind === UNDEFINED) return undefined
    const begin = (at + KIND) * 4
    const { values, buffers } = /** @type {any} */ (decoding(this.octets.slice(begin, begin + kind)).next().value)
    return unpacked(values[0], buffers)
  }
}

/** The same within a thread: values as they are. */
class Local {
  buffer = undefined
  isMade = true
  words = new Int32Array(HEADER)
  /** @type {any[]} */
  #values = []

  /** @param {number} count of values that are kept */
  constructor(count) {
    this.count = count
  }
  /** @param {number} index @param {any} value */
  put(index, value) {
    this.#values[index % this.count] = value
  }
  numberOf() { return this.words[WRITES] }
  /** @param {number} index */
  get(index) { return this.#values[index % this.count] }
}

/** @param {number} bytes @returns {SharedArrayBuffer} */
function sharedMemory(bytes) {
  if (globalThis.crossOriginIsolated === false) {
    throw new TypeError('shared must be false here: SharedArrayBuffer needs a cross-origin isolated page; ' +
      'serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp')
  }
  if (typeof SharedArrayBuffer === 'undefined') {
    throw new TypeError('shared must be false here: this engine has no SharedArrayBuffer')
  }
  return new SharedArrayBuffer(bytes)
}

/**
 * @typedef {object} SharedOptions
 * @property {boolean} [shared] over SharedArrayBuffer, so that reader and writer may be in different threads;
 *   default false
 * @property {SharedArrayBuffer} [buffer] `.buffer` of the other side: joins it
 * @property {number} [bytes] the most bytes a value may take, an integer >= 8; default 1024. A number takes
 *   8, anything else its JSON in UTF-8, the bytes of its buffers, the digits of their lengths, and 10 more
 */

/** @param {number} least */
const sizeFrom = least => check.number(`an integer from ${least} to ${2 ** 28}`, value => isCount(value) && value >= least && value <= 2 ** 28)
const valueCount = sizeFrom(1)
/** @param {string} name @param {unknown} value */
function sharedBuffer(name, value) {
  if (kindOf(value) !== 'SharedArrayBuffer') throw check.wrongType(name, 'a SharedArrayBuffer', value)
}
const SHARED = { shared: check.flag, bytes: sizeFrom(8), buffer: sharedBuffer }
const LOCK = { ...NAMED, shared: check.flag, buffer: sharedBuffer }

/**
 * @typedef {object} LockOptions
 * @property {string} [name] for traces and errors
 * @property {boolean} [shared] between threads, over SharedArrayBuffer; default false
 * @property {SharedArrayBuffer} [buffer] `.buffer` of the one of another thread: joins it
 */

/**
 * @param {number} layout @param {any} count of values @param {any} options @param {any} first parameter, which may be
 *   the buffer
 * @returns {Store | Local}
 */
function storeOf(layout, count, options, first) {
  const { shared = false, bytes = 1024, buffer = shared && kindOf(first) === 'SharedArrayBuffer' ? first : undefined } =
    check.options(options, SHARED)
  if (buffer === undefined) valueCount('n', count)
  return shared || buffer !== undefined ? new Store(layout, count, bytes, buffer) : new Local(layout === LATEST ? 1 : count)
}

/**
 * @param {Store | Local} store @param {number} word that changes with each value @param {() => boolean} hasNext
 * @param {() => any} read
 */
function supplyOf(store, word, hasNext, read) {
  const give = (/** @type {Waitable} */ turn) => turn.wake(read())
  const supply = store instanceof Store ? new Watch(store, word, give) : new Supply(give)
  supply.take = hasNext
  return supply
}

/** Those that will be told. @type {Set<Watch>} */
const listening = new Set()

/** What there is of something in shared memory, of which a word changes when there is more. */
class Watch extends Supply {
  /**
   * @param {Memory} memory @param {number} word @param {(turn: Waitable, job: Job | null) => void} give
   * @param {Queue} [queue]
   */
  constructor(memory, word, give, queue) {
    super(give, queue)
    this.words = memory.words
    this.word = word
    this.buffer = memory.buffer
  }

  listen() {
    while (!listening.has(this) && this.queue.size > 0) {
      const seen = Atomics.load(this.words, this.word)
      if (this.serve()) continue
      const { async, value } = changeOf(this.words, this.word, seen)
      if (!async) continue
      listening.add(this)
      Atomics.store(this.words, WAITING, 1)
      // Who changed it before that has told nobody.
      if (Atomics.load(this.words, this.word) !== seen) Atomics.notify(this.words, this.word)
      value.then(() => {
        listening.delete(this)
        seam.event(() => this.listen())
      })
    }
  }
  /** A thread has ended. @param {number} owner */
  takeBack(owner) {}

  /** Tells all threads, if any has waited since: to tell nobody takes a lock of the engine, and 20 to 100 ns. */
  changed() {
    if (Atomics.load(this.words, WAITING) === 0) return
    Atomics.store(this.words, WAITING, 0)
    this.tell()
  }

  /** Tells all threads. @returns {boolean} whether any other one waited */
  tell() {
    return Atomics.notify(this.words, this.word) > Number(listening.has(this))
  }
}

/** @param {...any} wait words, which of them, and what it is @returns {{ async: boolean, value: any }} over when it has changed */
function changeOf(...wait) {
  const { waitAsync } = /** @type {any} */ (Atomics)
  if (waitAsync !== undefined) return waitAsync(...wait)
  const source = 'onmessage = ({ data }) => postMessage(Atomics.wait(...data))'
  const url = URL.createObjectURL(new Blob([source]))
  const worker = new Worker(url)
  const value = new Promise(resolve => { worker.onmessage = resolve }).then(() => {
    worker.terminate()
    URL.revokeObjectURL(url)
  })
  worker.postMessage(wait)
  return { async: true, value }
}

/** The number of this thread, from 2; 0 as long as that is not known. */
let thread = 0
/** Ends of ports that close with this thread. @type {any[]} */
const vitals = []

/** @returns {Promise<void>} over when the number of this thread is known, and others can see its end */
async function identified() {
  const { threadId = 0, postMessageToThread } = threads() ?? {}
  if (postMessageToThread !== undefined) { // asked first: a thread of Node that is terminated keeps its locks
    if (thread === 0) /** @type {any} */ (globalThis).process.on('workerMessage', (/** @type {any} */ message) => {
      if (message?.[PROTOCOL] !== undefined) vitals.push(message[PROTOCOL])
    })
    thread = threadId + 2
  } else if (globalThis.navigator?.locks !== undefined) {
    const life = await lifeOfThread()
    thread ||= life === '' ? randomThread() : Number(life.slice(PROTOCOL.length))
  } else thread ||= randomThread()
}
const randomThread = () => randomId() % 0x3FFFFFFE + 2

/** Threads whose end is watched for. @type {Set<number>} */
const watched = new Set()

/** @param {number} owner a thread, whose permits are taken back from now on when it ends */
function watchFor(owner) {
  if (owner <= FREE || owner === thread || watched.has(owner)) return
  watched.add(owner)
  const ended = () => {
    watched.delete(owner)
    for (const watch of listening) watch.takeBack(owner)
  }
  const locks = globalThis.navigator?.locks
  const { MessageChannel, postMessageToThread } = threads() ?? {}
  if (postMessageToThread !== undefined) {
    const { port1, port2 } = new MessageChannel()
    port1.on('close', ended).unref()
    postMessageToThread(owner - 2, { [PROTOCOL]: port2 }, [port2]).catch(() => port1.close())
  } else locks?.request(`${PROTOCOL} ${owner}`, { mode: 'shared' }, ended).catch(() => {})
}

// What a permit is, twice, and 1 when a thread that had it has ended: none yet, free, or the number of a thread.
const FREE = 1
/** Changes when a permit has become free. */
const RELEASES = 3
const MOST_PERMITS = 1024

/**
 * Permits that threads take from each other, a word for each. No step changes more than one, so a thread may end after any.
 */
class Permits extends Watch {
  /**
   * @param {number} layout @param {number} count how many there are at first @param {SharedArrayBuffer | undefined} buffer
   * @param {(turn: Waitable, job: Job | null) => void} give @param {Queue} [queue]
   */
  constructor(layout, count, buffer, give, queue) {
    const memory = new Memory(layout, layout === MUTEX ? 1 : Math.max(count, MOST_PERMITS), 0, buffer)
    super(memory, RELEASES, give, queue)
    this.most = memory.count
    for (let i = 0; buffer === undefined && i < count; i++) this.words[HEADER + i * KIND] = FREE << 1
    identified().then(() => { if (listening.has(this)) this.tell() })
  }

  /** What each permit is that there is. @returns {number[]} */
  get #all() {
    const all = []
    for (let at = HEADER; at < this.words.length; at += KIND) {
      const permit = Atomics.load(this.words, at)
      if (permit === 0) break
      all.push(permit)
    }
    return all
  }
  get available() { return this.#all.filter(permit => permit >> 1 === FREE).length }
  get isAbandoned() { return this.#all.some(permit => (permit & 1) === 1) }

  /**
   * Changes the first that it can.
   *
   * @param {(owner: number) => boolean} mayChange @param {number} owner @param {number} [isAbandoned] default: as it was
   */
  #change(mayChange, owner, isAbandoned) {
    for (let at = HEADER; at < this.words.length; at += KIND) {
      const permit = Atomics.load(this.words, at)
      const next = owner << 1 | (isAbandoned ?? permit & 1)
      if (mayChange(permit >> 1) && Atomics.compareExchange(this.words, at, permit, next) === permit) return true
      if (permit === 0 && mayChange !== isNone) return false // else another thread has added that one
    }
    return false
  }

  /** @returns {boolean} whether this thread has got one */
  take() {
    return thread !== 0 && this.#change(owner => owner === FREE, thread)
  }

  /** @param {boolean} isAbandoned @throws {RangeError} */
  release(isAbandoned) {
    const isFree = [isOurs, isTaken, isNone].some(mayChange => this.#change(mayChange, FREE, Number(isAbandoned)))
    if (!isFree) throw new RangeError(`permits must be at most ${this.most}`)
    // What this thread's have waited for they get at once, unless others wait.
    if (!this.tell()) while (this.serve());
  }

  /** A thread has ended; even if it has nothing now, it may not have told so. @param {number} ended */
  takeBack(ended) {
    while (this.#change(owner => owner === ended, FREE, 1));
    this.tell()
  }

  tell() {
    Atomics.add(this.words, RELEASES, 1)
    return super.tell()
  }
  listen() {
    super.listen()
    if (listening.has(this)) for (const permit of this.#all) watchFor(permit >> 1)
  }
}

const isOurs = (/** @type {number} */ owner) => owner === thread
const isTaken = (/** @type {number} */ owner) => owner > FREE
const isNone = (/** @type {number} */ owner) => owner === 0

// The words of control of the four slots.
const NEWEST = 3
const READING = 4
const SLOT = 5
const WRITES = 7

/**
 * The freshest value, for one writer and one reader, neither of which ever waits for the other: Simpson's
 * four-slot fully asynchronous communication mechanism (IEE Proceedings E 137, 1990; Qduino II-C). What is
 * overwritten before it is read is lost; what is read is never older than what was read before, nor half one
 * value and half another.
 *
 * ```js
 * const distance = new Latest(0, { shared: true })
 * worker.postMessage(distance.buffer) // there: Latest.from(buffer).write(17)
 * distance.read()
 * ```
 *
 * Within a thread nothing comes between the parts of a write, and values are kept as they are. Shared, they
 * are copied, as by structured clone.
 *
 * @template [T=unknown]
 */
export class Latest {
  #store
  /** The number of the write that was read last. */
  #seen = 0
  #supply

  /**
   * @param {T} [initial] what is read before anything is written; shared: by the one that makes the buffer
   * @param {SharedOptions} [options]
   * @throws {TypeError} when shared where there is no SharedArrayBuffer: in a page that is not cross-origin
   *   isolated, and in some builds of WebKit
   * @throws {RangeError} when `initial` takes more than `bytes`
   */
  constructor(initial, options = {}) {
    const store = this.#store = storeOf(LATEST, 4, options, initial)
    this.#supply = supplyOf(store, WRITES, () => (Atomics.load(store.words, WRITES) - this.#seen | 0) > 0, () => this.read())
    if (store.isMade) this.#put(/** @type {T} */ (initial), 0)
  }

  /** The other side. @template [T=unknown] @param {SharedArrayBuffer} buffer @returns {Latest<T>} */
  static from(buffer) {
    return new Latest(/** @type {any} */ (undefined), { shared: true, buffer })
  }

  /** What the other thread joins by; undefined unless shared. @returns {SharedArrayBuffer | undefined} */
  get buffer() { return this.#store.buffer }

  /**
   * Replaces the value.
   *
   * @param {T} value
   * @throws {RangeError | DOMException} when shared and it takes more than `bytes`, or cannot be cloned; what
   *   was written before stays
   */
  write(value) {
    this.#put(value, this.#store.words[WRITES] + 1 | 0)
    this.#supply.changed()
  }
  /** @param {T} value @param {number} number */
  #put(value, number) {
    const { words } = this.#store
    // Not the pair that is being read, and in it not the slot that was read last.
    const pair = 1 - Atomics.load(words, READING)
    const slot = 1 - Atomics.load(words, SLOT + pair)
    this.#store.put(pair * 2 + slot, value, number)
    Atomics.store(words, SLOT + pair, slot)
    Atomics.store(words, NEWEST, pair)
    Atomics.store(words, WRITES, number)
  }

  /** @returns {T} */
  read() {
    const { words } = this.#store
    const pair = Atomics.load(words, NEWEST)
    Atomics.store(words, READING, pair)
    const place = pair * 2 + Atomics.load(words, SLOT + pair)
    this.#seen = this.#store.numberOf(place)
    return this.#store.get(place)
  }

  /** @returns {Awaitable<T>} what has been written and not read here; else what will be written next */
  receive() {
    return this.#supply.turn({ name: 'latest' }, '.receive()')
  }
}

// The words of control of a ring: how often was written and read, modulo twice its size.
const WRITTEN = 3
const READ = 4

/**
 * The last values in order, for one writer and one reader that never wait: a ring buffer (Lamport 1977;
 * Qduino II-C).
 *
 * @template [T=unknown]
 */
export class Ring {
  #store
  #words
  #supply

  /**
   * @param {number | SharedArrayBuffer} n how many values it holds, an integer >= 1
   * @param {SharedOptions} [options]
   * @throws {TypeError} when shared where there is no SharedArrayBuffer: in a page that is not cross-origin
   *   isolated, and in some builds of WebKit
   * @throws {RangeError} when `n` is out of range
   */
  constructor(n, options = {}) {
    const store = this.#store = storeOf(RING, n, options, n)
    this.#words = store.words
    this.#supply = supplyOf(store, WRITTEN, () => this.length > 0, () => this.read())
  }

  /** The other side. @template [T=unknown] @param {SharedArrayBuffer} buffer @returns {Ring<T>} */
  static from(buffer) {
    return new Ring(buffer, { shared: true })
  }

  /** What the other thread joins by; undefined unless shared. @returns {SharedArrayBuffer | undefined} */
  get buffer() { return this.#store.buffer }
  /** How many values it holds. */
  get size() { return this.#store.count }
  /** How many are to be read. */
  get length() {
    const ahead = Atomics.load(this.#words, WRITTEN) - Atomics.load(this.#words, READ)
    return ahead < 0 ? ahead + 2 * this.size : ahead
  }

  /** @param {number} word */
  #advance(word) {
    Atomics.store(this.#words, word, (this.#words[word] + 1) % (2 * this.size))
  }

  /**
   * @param {T} value anything but undefined
   * @returns {boolean} false when it is full, and nothing is written
   * @throws {TypeError} when `value` is undefined
   * @throws {RangeError | DOMException} when shared and it takes more than `bytes`, or cannot be cloned
   */
  write(value) {
    if (value === undefined) throw new TypeError('value must not be undefined, which says that it is empty')
    if (this.length === this.size) return false
    this.#store.put(this.#words[WRITTEN] % this.size, value)
    this.#advance(WRITTEN)
    this.#supply.changed()
    return true
  }

  /** @returns {T | undefined} the oldest value; undefined when there is none */
  read() {
    if (this.length === 0) return undefined
    const place = this.#words[READ] % this.size
    const value = this.#store.get(place)
    this.#store.put(place, undefined)
    this.#advance(READ)
    return value
  }

  /** @returns {Awaitable<T>} the oldest value, once there is one */
  receive() {
    return this.#supply.turn({ name: 'ring' }, '.receive()')
  }
}

// ------------------------------------------------------------------------------------ 9 external channels

// ------------------------------------------------------------------------------------------ 9a the protocol

/**
 * What two ends of a channel say to each other. Each direction is on its own: what one end sends, receivers
 * at the other end get. A frame is an array; its first three elements, and those of HELLO, are the same in
 * every version:
 *
 *   ['rt.mjs', version, HELLO, to, from, name, life, probe]  to 0: whoever has that name; else an answer
 *   ['rt.mjs', version, DATA, to, number, kept, message]     kept: 1 if offered, so never withdrawn
 *   ['rt.mjs', version, DONE, to, number, wanted, problem]   it has been received, or withdrawn
 *   ['rt.mjs', version, WITHDRAW, to, number]                drop it, if nobody has received it
 *   ['rt.mjs', version, ASK, to]                             from now on say what is wanted
 *   ['rt.mjs', version, WANT, to, wanted]                    whether somebody waits to receive
 *   ['rt.mjs', version, CLOSE, to, from, given, reason]      given: 1 if there is a reason
 *   ['rt.mjs', version, REFUSE, to]                          the name is taken
 *
 * `version` is a byte, `to` and `from` are random numbers that ends choose when they are made, `number`
 * counts the messages of one direction from 1. `life` names a Web Lock that the sender's thread holds as long
 * as it lives; `probe` shows by what becomes of it how the endpoint treats messages.
 *
 * Rendezvous: a message goes out at once and is held at the other end until a receiver comes for it; only
 * then the DONE lets its sender go on. There is one such message per direction at most, which is the
 * backpressure.
 *
 * A choice must not send before it is decided. So the guards of an end ASK what is wanted, and one commits
 * when the other end has said that a receiver waits there: the message goes out, no other guard of that
 * choice can happen any more, and the choice is over with the DONE. If that receiver has left in the
 * meantime, the next one gets the message.
 *
 * Who abandons a send whose message is out, by cancellation or timeout, cannot know whether it arrives: the
 * WITHDRAW may come too late. It is received once or not at all; and so it is for who closes a channel whose
 * message is out.
 *
 * Frames that do not fit, of another kind, number or addressee than could have come, change nothing;
 * `channel.rejected` counts them. Messages on the same endpoint that are no frames are left to others.
 *
 * An endpoint that clones what it carries gets frames as they are. Any other one gets their bytes (7) after 'rt.mjs', the
 * version, and a byte that is 0: all in one message while they are few, else each buffer in messages of its own; as a text
 * in base64 where bytes do not survive. Which of these it is shows at the HELLO, which goes out as it is but to sockets.
 * The first message tells how long those are that follow; one of another length ends the frame, and is looked at by itself.
 */
const PROTOCOL = 'rt.mjs'
const VERSION = 1

const HELLO = 1
const DATA = 2
const DONE = 3
const WITHDRAW = 4
const ASK = 5
const WANT = 6
const CLOSE = 7
const REFUSE = 8
// Of sessions (9c).
const JOIN = 9
const NEXT = 10
const HEARD = 11
const OVER = 12
/** What shows how an endpoint treats frames. */
const GREETINGS = [HELLO, JOIN]

/** Where a frame that has a message has it. */
const MESSAGE_AT = 6
/** Stands for a message that could not be read, or a kind. */
const UNREADABLE = Symbol('unreadable')

const PREFIX = Uint8Array.from([...Array.from(PROTOCOL, sign => sign.charCodeAt(0)), VERSION, 0])
/** How its first bytes, and so the frame, begin in base64. */
const TEXT_PREFIX = /* @__PURE__ */ btoa(PROTOCOL)
/** Up to this a frame is one message: RTCDataChannels of all browsers take it, and to copy it costs 8 us, as a message does (Node 20). */
const SHORT = 2 ** 16

// How an endpoint treats frames.
const CLONES = 'clones'
const TAKES_BYTES = 'takes bytes'
const TAKES_TEXT = 'takes text'

/** What shows, when it has arrived, how an endpoint treats messages. */
const probe = () => [new Uint8Array(1), new Map()]

/** @param {any} probed @returns {string} */
function treatmentBy(probed) {
  const [bytes, map] = Array.isArray(probed) ? probed : []
  return kindOf(map) === 'Map' ? CLONES : isBytes(bytes) ? TAKES_BYTES : TAKES_TEXT
}

/** @param {Uint8Array} bytes */
function toBase64(bytes) {
  let binary = ''
  for (let i = 0; i < bytes.length; i += 0x2000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x2000))
  return btoa(binary)
}

/** @param {any[]} frame @param {number} most bytes of a message @returns {Generator<Uint8Array, void>} the messages that carry it */
function* messagesOf(frame, most) {
  const parts = [PREFIX, ...encoded(frame)]
  const isShort = parts.reduce((sum, { length }) => sum + length, 0) <= SHORT
  const messages = isShort ? [joined(parts)] : [joined(parts.splice(0, 3)), ...parts]
  for (const message of messages) {
    for (let at = 0; at < message.length; at += most) yield message.subarray(at, at + most)
  }
}

/** Buffers of this size and more are transferred rather than copied, bytes. */
const LARGE = 2 ** 16

/** What is worth nothing, or nothing as yet, where it is left behind. */
const ALWAYS_TRANSFERRED = new Set(['MessagePort', 'OffscreenCanvas', 'ImageBitmap', 'ReadableStream',
  'WritableStream', 'TransformStream', 'RTCDataChannel', 'MediaStreamTrack'])

/** Whose elements or properties are looked at, too. */
const HAVE_PARTS = new Set(['Array', 'Object'])

/** What may be transferred, and cloned as well. */
const CLONED = ['ArrayBuffer', 'ImageBitmap', 'VideoFrame', 'AudioData']

/** @param {any[]} values @param {any[]} [found] @returns {any[]} what to transfer: them, or what they have as elements or properties */
function transferablesIn(values, found) {
  const all = found ?? []
  for (const value of values) {
    const own = transferableIn(value)
    if (own !== null && !all.includes(own)) all.push(own)
    else if (found === undefined && HAVE_PARTS.has(kindOf(value))) transferablesIn(Object.values(value), all)
  }
  return all
}

/** @param {any} value @returns {any} */
function transferableIn(value) {
  if (typeof value !== 'object' || value === null) return null
  // A sender of a part of a buffer keeps the rest.
  const whole = ArrayBuffer.isView(value) && value.byteLength === value.buffer.byteLength ? value.buffer : value
  const kind = platformKindOf(whole)
  if (kind === 'ArrayBuffer') return whole.byteLength >= LARGE ? whole : null
  return ALWAYS_TRANSFERRED.has(kind) ? whole : null
}

/**
 * Has `act` transfer what it is told to, or what pays. Some buffers cannot be, as that of a WebAssembly.Memory.
 *
 * @param {any[]} values @param {any[] | undefined} given @param {(transfer: any[]) => any} act @returns {any} what that returns
 */
function transferring(values, given, act) {
  const chosen = given ?? transferablesIn(values)
  try {
    return act(chosen)
  } catch (error) {
    if (given !== undefined || chosen.length === 0) throw error
    return act(NONE)
  }
}

/** Objects of Node say more by their constructors. @param {any} object @returns {string} */
function platformKindOf(object) {
  const kind = kindOf(object)
  return kind === 'EventTarget' || kind === 'Object' ? String(object.constructor?.name) : kind
}

/** A number for an end that nobody else has. @returns {number} */
function randomId() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2))
  return (high & 0xFFFFF) * 2 ** 32 + low || randomId()
}

// ------------------------------------------------------------------------------------------ 9b endpoints

/** Endpoints whose other side can die without an event here, in browsers. */
const SILENT = new Set(['Worker', 'MessagePort', 'BroadcastChannel', 'DedicatedWorkerGlobalScope'])

/**
 * An endpoint, whatever its shape: anything that has `postMessage`, `send` or `emit`, and `addEventListener` or `on`.
 */
class Transport {
  /** @type {(() => void)[]} */
  #endings = []
  /** @type {(error: Error | null) => void} */
  #sent = () => {}

  /** @param {any} endpoint @throws {TypeError} when it is none */
  constructor(endpoint) {
    const has = (/** @type {string} */ method) => typeof endpoint?.[method] === 'function'
    const way = ['postMessage', 'send', 'emit'].find(has)
    const refuse = (/** @type {string} */ wanted) => { throw check.wrongType('endpoint', wanted, endpoint) }
    if (way === undefined || !has('addEventListener') && !has('on')) {
      refuse('an object with postMessage, send or emit, and with addEventListener or on')
    }
    if (endpoint.window === endpoint) refuse('no window (send it a MessagePort, and take the other one)')
    // An RTCDataChannel has null or undefined where it has no limit.
    if (endpoint.ordered === false || typeof (endpoint.maxRetransmits ?? endpoint.maxPacketLifeTime) === 'number') {
      refuse('ordered and reliable')
    }
    this.endpoint = endpoint
    this.way = way
    this.kind = platformKindOf(endpoint)
    this.isEventTarget = has('addEventListener')
    this.isSocket = way === 'send' && ('binaryType' in endpoint || 'readyState' in endpoint)
    /** Whether it is one of Node's, which throws an error at nobody unless it gets a callback. */
    this.isProcess = way === 'send' && typeof (endpoint.process ?? endpoint).pid === 'number'
    /** Whether nobody tells when the other side has died, so that a lock must. Locks of another process are out of sight. */
    this.isSilent = SILENT.has(this.kind) && !has('unref') && !this.isProcess && !!globalThis.navigator?.locks
    /** The most bytes of a message. */
    this.most = 'maxPacketLifeTime' in endpoint ? SHORT : Infinity
  }

  /** 0 while it connects, 1 when it is open, more when it is not any more. */
  get state() {
    const { readyState = 1 } = this.endpoint
    return typeof readyState === 'number' ? readyState : ['connecting', 'open', 'closing', 'closed'].indexOf(readyState)
  }

  /** @param {{ receive(message: any): unknown, gone(why: string, reason?: unknown): unknown, open(): unknown, closeUnreadable(): unknown }} link */
  listen(link) {
    const { endpoint, isEventTarget } = this
    const gone = (/** @type {string} */ why) => link.gone(why)
    this.#sent = error => { if (error) link.gone('nothing can be sent', error) }
    // A Blob could only be read later, after frames that come after it.
    if (this.isSocket && 'binaryType' in endpoint) endpoint.binaryType = 'arraybuffer'
    this.#add('message', event => link.receive(isEventTarget ? event?.data : event))
    this.#add('messageerror', () => link.closeUnreadable())
    this.#add('open', () => link.open())
    this.#add('close', () => gone('closed'))
    if (isEventTarget) {
      // An error without a message: its script could not be loaded. Other errors do not end a worker.
      if (this.kind === 'Worker') this.#add('error', event => event.message === undefined && gone('did not load'))
      endpoint.start?.()
      return
    }
    this.#add('disconnect', () => gone('disconnected'))
    this.#add('exit', code => gone(typeof code === 'number' ? `ended with exit code ${code}` : 'ended'))
  }

  /** @param {string} type @param {(event: any) => unknown} listener */
  #add(type, listener) {
    const { endpoint } = this
    const [add, ...removals] = this.isEventTarget ? ['addEventListener', 'removeEventListener'] : ['on', 'off', 'removeListener']
    const remove = removals.find(name => endpoint[name])
    seam.ours.add(listener)
    endpoint[add](type, listener)
    this.#endings.push(() => remove && endpoint[remove](type, listener))
  }

  unlisten() {
    for (const end of this.#endings.splice(0)) end()
  }

  /** @param {any} message @param {any[]} transfer */
  post(message, transfer = NONE) {
    const { endpoint } = this
    if (transfer.length > 0) endpoint.postMessage(message, transfer)
    else if (this.way === 'emit') endpoint.emit('message', message)
    else if (this.isProcess) endpoint.send(message, this.#sent)
    else endpoint[/** @type {string} */ (this.way)](message)
  }
}

/**
 * The lock that this thread holds while it lives, so that others see its end: a worker that is terminated
 * says nothing.
 *
 * @type {Promise<string> | undefined} its name; '' where there are no locks, or somebody else has that one
 */
let life

/** No other lock is to be touched, whatever the other side says. */
const LIFE = /^rt[.]mjs \d{1,16}$/

/** @returns {Promise<string>} */
const lifeOfThread = () => life ??= new Promise(resolve => {
  const name = `${PROTOCOL} ${randomThread()}`
  navigator.locks.request(name, { ifAvailable: true }, lock => {
    resolve(lock === null ? '' : name)
    return lock && new Promise(() => {})
  }).catch(() => resolve(''))
})

/** Links by endpoint, by the function that opens theirs, or by themselves. @type {WeakMap<object, Link>} */
const links = new WeakMap()

const LONGEST_NAME = 1000

/** Whether a frame is being posted: what endpoints without delay bring in the midst of that has to wait. */
let posting = false

/** Carries the channels of one endpoint. */
class Link {
  /** @type {Map<string, Wire>} */
  #byName = new Map()
  /** @type {Map<number, Wire>} */
  #byId = new Map()
  /** How many arrived while a frame was posted, and have not been looked at. */
  #late = 0
  /** Reads a frame of which messages are missing. @type {ReturnType<typeof decoding> | null} */
  #reading = null
  /** What ends the watch on a life. @type {Map<string, AbortController>} */
  #watches = new Map()
  isOpen = false
  isOver = false
  /** Whether another link may take its place. */
  isFree = false
  /** @type {Transport | null} */
  transport = null
  /** The life of this thread; null until that is known. @type {string | null} */
  life = null
  /** How the endpoint treats frames; null until the other side has been heard. @type {string | null} */
  treatment = null
  rejected = 0

  /** @param {object | null} key what it is found by; null: itself @param {Transport} [transport] */
  constructor(key, transport) {
    links.set(key ?? this, this)
    if (transport) this.use(transport)
  }

  /** @param {Transport} transport */
  use(transport) {
    this.transport = transport
    this.treatment = transport.isSocket ? TAKES_BYTES : null
    this.#reading = null
    transport.listen(this)
    if (transport.state > 1) this.gone('closed')
    else if (transport.isSilent && this.life === null) lifeOfThread().then(life => this.open(life))
    else this.open('')
  }

  get wires() { return [...this.#byName.values()] }
  /** Whether more is out than is good. */
  get isFull() { return false }
  /** Whether a name may have more ends than two. */
  get isBroadcast() { return this.transport?.kind === 'BroadcastChannel' }

  open(life = this.life) {
    this.life = life
    if (this.isOpen || this.isOver || this.life === null || this.transport?.state !== 1) return
    this.isOpen = true
    for (const wire of this.wires) {
      wire.hello(wire.peer)
      wire.pump()
    }
  }

  /** @param {string} name @returns {Wire} */
  connect(name) {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const wire = new Wire(this, name)
    this.#byName.set(name, wire)
    this.#byId.set(wire.id, wire)
    if (this.isOver) wire.lose('the other side has gone')
    else wire.hello(0)
    return wire
  }

  /** @param {Wire} wire */
  forget(wire) {
    if (!this.#byId.delete(wire.id)) return
    this.#byName.delete(wire.name)
    if (this.#byId.size === 0 && !this.isOver) this.close()
  }

  /** All channels have been closed. */
  close() {
    this.isFree = true
    this.end()
  }
  end() {
    this.isOver = true
    this.transport?.unlisten()
    for (const watch of this.#watches.values()) watch.abort()
  }

  /** A message could not be read. Nobody knows whose it was, so nobody may wait for its answer. */
  closeUnreadable() {
    for (const wire of this.wires) wire.close(new ChannelError(`${wire.name}: a message could not be read`))
  }

  /** The other side has ended or is out of reach. @param {string} why @param {unknown} [reason] */
  gone(why, reason) {
    // It will not say so again; but sockets of socket.io connect again.
    this.isFree ||= this.transport?.way === 'emit' || this.transport?.endpoint.connected === true
    this.fail(why, reason)
  }

  /** @param {string} why @param {unknown} [reason] */
  fail(why, reason) {
    const { wires } = this
    this.end()
    for (const wire of wires) wire.lose(`the other side has gone (${why})`, reason)
  }

  /** Fails the channels whose other ends live as long as a lock is held. @param {string} life */
  watch(life) {
    const locks = globalThis.navigator?.locks
    if (life === '' || life === this.life || this.#watches.has(life) || locks === undefined) return
    const watch = new AbortController()
    this.#watches.set(life, watch)
    const ended = () => {
      if (!this.isBroadcast) return this.gone('its thread has ended')
      const lost = this.wires.filter(wire => wire.life === life)
      for (const wire of lost) wire.lose('the other side has gone (its thread has ended)')
    }
    const request = () => locks.request(life, { signal: watch.signal, mode: 'shared' }, ended)
    // The other side of a port may be of another origin, whose locks are out of sight.
    const watched = this.transport?.kind === 'MessagePort'
      ? locks.query().then(({ held }) => held?.some(({ name }) => name === life) ? request() : undefined)
      : request()
    watched.catch(() => {})
  }

  // --- out

  /** @param {any[]} frame without a message */
  send(frame) {
    // As soon as it is open, all of its ends say hello; before, nobody has heard of them.
    if (this.isOver || !this.isOpen) return
    try {
      this.post(frame)
    } catch (error) {
      this.gone('nothing can be sent', error)
    }
  }

  /**
   * @param {any[]} frame with a message
   * @param {any[]} [transfer] by default what is large
   * @throws {DOMException | Error} what the endpoint says to it, as that it cannot be cloned; nothing is sent
   *   then
   */
  sendMessage(frame, transfer) {
    const mayTransfer = this.treatment === CLONES && !this.isBroadcast && this.transport?.way === 'postMessage'
    transferring([frame[MESSAGE_AT]], mayTransfer ? transfer : NONE, chosen => this.post(frame, chosen))
  }

  /** @param {any[]} frame @param {any[]} [transfer] */
  post(frame, transfer) {
    const { treatment } = this
    const transport = /** @type {Transport} */ (this.transport)
    // It may say so itself only later, and complain to the console of what is sent meanwhile.
    if (transport.state > 1) return this.gone('closed')
    const asItIs = treatment === null || treatment === CLONES || GREETINGS.includes(frame[2]) && !transport.isSocket
    const outer = posting
    posting = true
    try {
      if (asItIs) transport.post(frame, transfer)
      else if (treatment === TAKES_TEXT) transport.post(toBase64(joined([...messagesOf(frame, Infinity)])))
      else for (const message of messagesOf(frame, transport.most)) transport.post(message)
    } finally {
      posting = outer
    }
  }

  // --- in

  /** @param {any} message */
  receive(message) {
    if (!posting && this.#late === 0) return seam.event(() => this.#take(message))
    this.#late++
    queueMicrotask(() => {
      this.#late--
      this.#take(message)
    })
  }

  /** @param {any} message @returns {void} */
  #take(message) {
    if (this.isOver) return
    const isRest = this.#reading !== null
    let frame = null
    try {
      const bytes = bytesIn(message)
      if (Array.isArray(message)) frame = message[0] === PROTOCOL ? message : null
      else if (bytes !== null && (isRest || startsFrame(bytes))) frame = this.#decode(bytes)
    } catch {
      this.#reading = null
      this.rejected++
      if (isRest) return this.#take(message) // it may well be the next
    }
    if (frame !== null && !this.handle(frame)) this.rejected++
  }

  /** @param {Uint8Array} bytes of a message @returns {any[] | null} null as long as some are missing @throws {Error} when it is none */
  #decode(bytes) {
    const version = bytes[PREFIX.length - 2]
    if (this.#reading === null && version !== VERSION) return [PROTOCOL, version, UNREADABLE]
    this.#reading ??= decoding(bytes.subarray(PREFIX.length), /** @type {Transport} */ (this.transport).most)
    const { done, value } = this.#reading.next(bytes)
    if (!done) return null
    this.#reading = null
    return frameOf(value)
  }

  /** @param {any[]} frame @returns {boolean} whether it was one that could come */
  handle(frame) {
    const [, version, kind, to, from] = frame
    if (kind === UNREADABLE) return this.#differ(version, this.wires, 0)
    if (!isCount(to)) return false
    if (kind === HELLO) return this.#hello(frame)
    if (version !== VERSION) return false
    const wire = to === 0 && kind === CLOSE ? this.wires.find(({ peer }) => peer === from) : this.#byId.get(to)
    // It may have ended meanwhile.
    return wire === undefined ? to !== 0 || kind === CLOSE : wire.handle(frame)
  }

  /**
   * The other side speaks another version, and is told of it.
   *
   * @param {number} version @param {Wire[]} wires those that have been met speak ours @param {number | null} to whom
   * @returns {boolean} whether that ends any
   */
  #differ(version, wires, to) {
    const lost = wires.filter(({ peer }) => peer === 0)
    for (const wire of lost) {
      if (to !== null) wire.hello(to)
      wire.lose(`the other side speaks version ${version} of the protocol, this one version ${VERSION}`)
    }
    return lost.length > 0
  }

  /** @param {any[]} frame @returns {boolean} */
  #hello([, version, , to, from, name, life, probed]) {
    if (!isCount(from) || from === 0) return false
    const wire = to === 0 ? this.#byName.get(name) : this.#byId.get(to)
    if (wire !== undefined && wire.name !== name) return false
    if (version !== VERSION) {
      return isCount(version) && version <= 255 && wire !== undefined && this.#differ(version, [wire], to === 0 ? from : null)
    }
    if (life !== '' && (typeof life !== 'string' || !LIFE.test(life))) return false
    // An emitter may say to us what we say to it.
    if (this.#byId.has(from)) return true
    this.treatment ??= treatmentBy(probed)
    // Who is not here yet says hello when it comes.
    wire?.meet(from, life, to !== 0)
    return true
  }
}

/** @param {{ values: any[], buffers: Uint8Array[] }} decoded @returns {any[]} */
function frameOf({ values: frame, buffers }) {
  try {
    frame[MESSAGE_AT] = unpacked(frame[MESSAGE_AT], buffers)
  } catch {
    frame[MESSAGE_AT] = UNREADABLE
  }
  return frame
}

/** @param {Uint8Array} bytes @returns {boolean} of whatever version */
const startsFrame = bytes => bytes.length >= PREFIX.length && [...PROTOCOL].every((_, i) => bytes[i] === PREFIX[i])

/** @param {any} message @returns {Uint8Array | null} what it says in bytes, or in base64; null: neither @throws {DOMException} */
const bytesIn = message => isBytes(message) ? bytesOf(message)
  : typeof message !== 'string' || !message.startsWith(TEXT_PREFIX) ? null
    : Uint8Array.from(atob(message), character => character.charCodeAt(0))

// ------------------------------------------------------------------------------ 9c what outlives its endpoint

/**
 * A session is a link over one endpoint after another, and never ends by itself. It numbers frames; its own are:
 *
 *   ['rt.mjs', version, JOIN, received, from, to, isAnswer, probe]  first over each endpoint, from both sides; to 0: not known yet
 *   ['rt.mjs', version, NEXT, received, number, 0, frame]           in bytes; numbered from 1, and kept until it has been received
 *   ['rt.mjs', version, HEARD, received, asks]                      asks: whether an answer is due
 *   ['rt.mjs', version, OVER, received]                             all channels have been closed, and everything has been received
 *
 * `received` is how many frames have arrived; `from` and `to` are random numbers that sessions choose when they are made.
 * Who gets a JOIN sends what has not been received. One from another session than before: that side has been started anew.
 */

/** After so many frames they are acknowledged, if nothing else says so. */
const ACKNOWLEDGED = 16
/** When so many are out, ends do not say any more what is wanted. */
const FULL = 64

/** Sessions that were accepted, by the numbers of the other sides. @type {Map<number, Session>} */
const accepted = new Map()

/**
 * @typedef {object} SessionOptions times in ms
 * @property {number} [timeout] how long the other side may be silent before channels fail, > 0; default 60 000
 * @property {number} [heartbeat] after so long without a word it is asked for one, and after one more the
 *   endpoint is given up; default 5000, at most a quarter of `timeout`
 * @property {number} [retry] the longest pause before the next endpoint; default 10 000. Pauses grow from 100 by
 *   doubling, and half of each is random
 * @property {Scheduler} [scheduler] whose clock counts; default that of the running job, else `rt`
 */

class Session extends Link {
  id = randomId()
  /** The other side; 0 as long as it has not been heard. */
  peer = 0
  isOpen = true
  /** @type {string | null} */
  life = ''
  /** Why what it got is no endpoint. @type {unknown} */
  refusal = null
  #isJoined = false
  #isClosing = false
  #attempts = 0

  /** Frames that may have to be sent again, from number `#acknowledged` + 1. @type {Uint8Array[]} */
  #kept = []
  #acknowledged = 0
  #received = 0
  #unacknowledged = 0

  /** Heartbeats since the other side was heard, and since there is this endpoint or it was heard. */
  #silence = 0
  #quiet = 0
  /** @type {{ cancel(): boolean }} */
  #beats
  /** @type {{ cancel(): boolean } | null} */
  #pause = null

  /**
   * @param {(() => any) | null} source opens the next endpoint; null when the other side does
   * @param {any} options SessionOptions
   * @param {(session: any) => void} [joined] told when it is not one that there was
   */
  constructor(source, options, joined) {
    const { timeout = 60_000, retry = 10_000 } = options
    const heartbeat = Math.min(options.heartbeat ?? 5000, timeout / 4) // or it would be given up before it is asked
    const scheduler = here(options)
    super(source)
    this.scheduler = scheduler
    this.source = source
    this.joined = joined
    this.timeout = timeout
    this.heartbeat = heartbeat
    this.retry = retry
    // While there is an endpoint, that is what keeps Node alive.
    const next = () => seam.at(scheduler, scheduler.now() + heartbeat, () => {
      this.#beats = next()
      this.#beat()
    }, { ref: false })
    this.#beats = next()
  }

  // --- endpoints

  /** Opens the next one. */
  dial() {
    this.#pause = null
    const take = (/** @type {any} */ endpoint) => {
      try {
        if (endpoint === null) this.#again()
        else this.use(new Transport(endpoint))
      } catch (error) {
        this.refusal = error
        this.fail('no endpoint', error)
      }
    }
    let endpoint = null
    try {
      endpoint = this.source?.()
    } catch {} // it is asked again
    if (typeof endpoint?.then === 'function') endpoint.then(take, () => take(null))
    else take(endpoint)
  }

  #again() {
    const { scheduler, retry } = this
    if (this.isOver || this.source === null || this.#pause !== null) return
    const pause = Math.min(retry, 100 * 2 ** this.#attempts++) * (1 + Math.random()) / 2
    this.#pause = seam.at(scheduler, scheduler.now() + pause, () => this.dial())
  }

  /** @param {Transport} transport */
  use(transport) {
    this.#leave()
    if (this.isOver) return shut(transport)
    this.#quiet = 0
    // One of Node that nobody hears throws it.
    if (!transport.isEventTarget) transport.endpoint.on('error', () => {})
    super.use(transport)
  }
  open() {
    if (this.source !== null && this.transport?.state === 1) this.#greet(this.peer, false)
  }
  #leave() {
    const { transport } = this
    this.transport = null
    this.#isJoined = false
    if (transport !== null) shut(transport)
  }
  /** The endpoint has ended. */
  gone() {
    this.#leave()
    if (this.source === null && this.peer === 0) this.end()
    else this.#again()
  }

  #beat() {
    const { timeout, heartbeat } = this
    if (++this.#silence * heartbeat >= timeout) return this.fail(`silent for ${timeout} ms`, 'timeout')
    if (this.transport !== null && ++this.#quiet > 2) this.gone()
    else if (this.#quiet > 1 || this.#unacknowledged > 0) this.#say(HEARD, this.#quiet > 1)
  }

  close() {
    this.#isClosing = true
    this.isFree = this.source !== null
    this.#say(HEARD, true)
    this.#closeIfDone()
  }
  end() {
    super.end()
    this.isFree = this.source !== null
    this.#leave()
    this.#beats.cancel()
    this.#pause?.cancel()
    this.#kept = []
    if (accepted.get(this.peer) === this) accepted.delete(this.peer)
  }
  #closeIfDone() {
    if (!this.#isClosing || this.wires.length > 0 || this.#kept.length > 0 || this.isOver) return
    this.#say(OVER)
    this.end()
  }

  // --- frames

  get isFull() { return this.#kept.length >= FULL }

  /** @param {number} kind @param {...any} content */
  #say(kind, ...content) {
    if (this.transport === null || kind !== JOIN && !this.#isJoined) return
    this.#unacknowledged = 0
    try {
      super.post([PROTOCOL, VERSION, kind, this.#received, ...content])
    } catch {
      this.gone()
    }
  }
  /** @param {number} to @param {boolean} isAnswer */
  #greet(to, isAnswer) {
    this.#say(JOIN, this.id, to, isAnswer, probe())
  }

  /** @param {any[]} frame copied: its sender may change what it is made of */
  post(frame) {
    this.#kept.push(joined(encoded(frame)))
    this.#sendKept(this.#kept.length - 1)
  }
  /** @param {number} from the place of the first */
  #sendKept(from) {
    const first = this.#acknowledged + from + 1
    this.#kept.slice(from).forEach((frame, i) => this.#say(NEXT, first + i, 0, frame))
  }

  /** @returns {Transport} what is no more its own */
  #part() {
    const transport = /** @type {Transport} */ (this.transport)
    transport.unlisten()
    this.transport = null
    this.end()
    return transport
  }
  /** The other side keeps no session. */
  #release() {
    if (this.joined === undefined || this.peer !== 0) return this.fail('it keeps no session: its end is not one of `accept`')
    this.joined(this.#part().endpoint)
  }

  /** @param {any[]} frame @returns {boolean} */
  handle(frame) {
    const [, version, kind, received, ...rest] = frame
    if (version !== VERSION) this.fail(`of version ${check.describe(version)} of the protocol, this is version ${VERSION}`)
    else if (!isCount(kind) || kind < JOIN) this.#release()
    else if (!isCount(received)) this.gone()
    else if (kind === JOIN) this.#join(received, rest)
    else if (this.#isJoined && this.#acknowledge(received)) {
      this.#closeIfDone()
      if (kind === NEXT) return this.#next(rest)
      if (kind === HEARD && rest[0] === true) this.#say(HEARD, false)
      else if (kind === OVER) this.fail('closed')
    }
    return true
  }

  /** @param {number} received @param {any[]} rest @returns {void} */
  #join(received, [from, to, isAnswer, probed]) {
    if (!isCount(from) || from === 0 || !isCount(to)) return this.gone()
    const known = accepted.get(from) ?? this
    if (known !== this) {
      known.use(this.#part())
      return known.#join(received, [from, to, isAnswer, probed])
    }
    if (this.peer !== 0 && from !== this.peer) return this.fail('started anew', 'restarted')
    this.treatment ??= treatmentBy(probed)
    const isNew = this.peer === 0
    if (to !== 0 && to !== this.id) {
      // It takes this side for another, and learns by the answer that that is no more.
      this.#greet(from, true)
      return this.gone()
    }
    this.peer = from
    const wasJoined = this.#isJoined
    if (!this.#acknowledge(received)) return
    // First of all, since an endpoint without delay may bring frames at once.
    this.#isJoined = true
    this.#attempts = 0
    if (!isAnswer) this.#greet(from, true)
    if (!wasJoined) this.#sendKept(0)
    if (isNew && this.joined !== undefined) {
      accepted.set(from, this)
      this.joined(this)
    }
    if (this.#isClosing) this.#say(HEARD, true)
    this.#closeIfDone()
  }

  /** @param {number} received @returns {boolean} whether it can be */
  #acknowledge(received) {
    if (received > this.#acknowledged + this.#kept.length) {
      this.fail('started anew', 'restarted')
      return false
    }
    this.#silence = this.#quiet = 0
    const wasFull = this.isFull
    this.#kept.splice(0, received - this.#acknowledged)
    this.#acknowledged = Math.max(received, this.#acknowledged)
    if (wasFull && !this.isFull) for (const wire of this.wires) wire.announce()
    return true
  }

  /** @param {any[]} rest @returns {boolean} */
  #next([number, , bytes]) {
    if (isCount(number) && number <= this.#received) return true
    if (number !== this.#received + 1 || !isBytes(bytes)) {
      this.gone()
      return false
    }
    this.#received++
    if (++this.#unacknowledged >= ACKNOWLEDGED) this.#say(HEARD, false)
    let frame
    try {
      frame = frameOf(/** @type {any} */ (decoding(bytesOf(bytes)).next().value))
    } catch {
      return false
    }
    return super.handle(frame)
  }
}

/** Ends what was made for a session. @param {Transport} transport */
function shut(transport) {
  const { endpoint } = transport
  transport.unlisten()
  if (endpoint === globalThis) return
  try {
    (endpoint.close ?? endpoint.terminate ?? endpoint.disconnect)?.call(endpoint)
  } catch {
    // It has ended.
  }
}

const SESSION = { timeout: check.positive, heartbeat: check.interval, retry: check.interval, scheduler: check.scheduler }

/** @param {any} endpoint or a function that opens it @param {SessionOptions} options @throws {TypeError | RangeError} */
function linkOver(endpoint, options) {
  if (typeof endpoint !== 'function') return new Link(endpoint, new Transport(endpoint))
  const session = new Session(endpoint, options)
  session.dial()
  if (session.refusal !== null) throw session.refusal
  return session
}

/**
 * The side that does not open endpoints: finds out which session an endpoint belongs to, by the first it says. One that
 * goes on gets it; with one that begins `work` is called.
 *
 * ```js
 * server.on('connection', socket => accept(socket, session => hub.join(connect(session, 'say'))))
 * ```
 *
 * Who knows the random number of a session, of 52 bits, can take it over: carry it over what others cannot read.
 *
 * @param {any} endpoint as those of `connect`; it is closed when another one takes its place, or the session ends
 * @param {(session: any) => void} work gets an endpoint for `connect`, which lasts as long as the session; of a side that
 *   keeps none, `endpoint` itself
 * @param {SessionOptions} [options]
 * @throws {TypeError | RangeError} naming the parameter
 */
export function accept(endpoint, work, options = {}) {
  check.callable('work', work)
  check.options(options, SESSION)
  const transport = new Transport(endpoint)
  new Session(null, options, work).use(transport)
}

// --------------------------------------------------------------------------------- 9d channels over them

/** One end of an external channel. */
class Wire extends Exchange {
  id = randomId()
  /** The other end; 0 as long as it has not been heard. */
  peer = 0
  /** What the other end's thread holds. */
  life = ''
  /** Whether the other end has been heard since. */
  #isAnswered = false
  /** What users have. @type {any} */
  channel = null

  // Out:
  /** Sends of choices, which must not go out before they are decided. */
  #guards = new Queue()
  /** Whether a guard was the last to go. */
  #wasGuard = false
  #sent = 0
  /** While the last of that is out; null in it when nobody waits for the answer. @type {{ send: End | null } | null} */
  #flight = null
  #isAsking = false
  /** Whether somebody waits at the other end. */
  #isWanted = false

  // In:
  #received = 0
  /** The last of that, while nobody has come for it. @type {{ message: any, kept: boolean } | null} */
  #held = null
  /** Whether the other end asks what is wanted. */
  #isAsked = false
  /** What it has been told. */
  #saidWanted = false

  isOutside = true

  /** @param {Link} link @param {string} name */
  constructor(link, name) {
    super(0, 'block', name)
    this.link = link
  }

  get length() { return this.#held?.kept ? 1 : 0 }
  get isConnected() { return this.peer !== 0 && this.link.isOpen }

  /** @param {number} to who has said hello; 0 when nobody has */
  hello(to) {
    const { link } = this
    link.send([PROTOCOL, VERSION, HELLO, to, this.id, this.name, link.life, probe()])
  }

  /** @param {number} kind @param {...any} rest */
  #tell(kind, ...rest) {
    this.link.send([PROTOCOL, VERSION, kind, this.peer, ...rest])
  }

  /** An end of this name is there. @param {number} from @param {string} life @param {boolean} isAnswer to our own hello */
  meet(from, life, isAnswer) {
    const { link } = this
    if (this.peer === from) {
      this.#isAnswered = true
    } else if (this.peer === 0) {
      this.peer = from
      this.life = life
      this.#isAnswered = isAnswer
      if (!isAnswer) this.hello(from)
      link.watch(life)
      this.pump()
    } else if (link.isBroadcast) {
      link.send([PROTOCOL, VERSION, REFUSE, from])
    } else {
      this.lose('the other side has connected anew')
    }
  }

  /** @param {any[]} frame addressed to it @returns {boolean} whether it was one that could come */
  handle([, , kind, , number, flag, content]) {
    if (this.peer === 0 && kind !== REFUSE) return false
    switch (kind) {
      case DATA:
        return number === this.#received + 1 && this.#held === null && (flag === 0 || flag === 1) &&
          this.#arrive(flag === 1, content)
      case DONE:
        return this.#flight !== null && number === this.#sent && typeof flag === 'boolean' &&
          this.#done(this.#flight, flag, content)
      case WITHDRAW:
        if (this.#held === null || number !== this.#received) return isCount(number) && number <= this.#received
        this.#held = null
        this.#finish()
        return true
      case ASK:
        this.#isAsked = true
        this.#saidWanted = false
        this.announce()
        return true
      case WANT:
        if (typeof number !== 'boolean') return false
        this.#isWanted = number
        this.pump()
        return true
      case CLOSE:
        if (number !== this.peer || flag !== 0 && flag !== 1) return false
        this.ended('was closed by the other side', flag === 0 || content === UNREADABLE ? undefined : content)
        return true
      case REFUSE:
        if (!this.link.isBroadcast || this.#isAnswered) return false
        this.lose('the name is taken: over a BroadcastChannel a channel has two ends')
        return true
    }
    return false
  }

  // --- out

  /** Sends what may go out. */
  pump() {
    while (this.isConnected && this.#flight === null) {
      const mayGuard = this.#isWanted && this.#guards.size > 0
      const isGuard = mayGuard && (this.senders.size === 0 || !this.#wasGuard)
      const send = take(isGuard ? this.#guards : this.senders)
      if (send === null) break
      if (isGuard) decide(send)
      this.#wasGuard = isGuard
      this.#launch(send)
    }
    if (this.#guards.size > 0) this.#ask()
  }

  #ask() {
    if (this.#isAsking || !this.isConnected) return
    this.#isAsking = true
    this.#tell(ASK)
  }

  /** @param {End} send */
  #launch(send) {
    try {
      this.#post(send.message, send, /** @type {any} */ (send).transfer)
    } catch (error) {
      send.fail(error)
    }
  }

  /** @param {any} message @param {End | null} send @param {any[]} [transfer] */
  #post(message, send, transfer) {
    const frame = [PROTOCOL, VERSION, DATA, this.peer, this.#sent + 1, send === null ? 1 : 0, message]
    this.#flight = { send }
    try {
      this.link.sendMessage(frame, transfer)
      this.#sent++
    } catch (error) {
      this.#flight = null
      throw error
    }
  }

  /** @param {{ send: End | null }} flight @param {boolean} wanted @param {unknown} problem @returns {true} */
  #done({ send }, wanted, problem) {
    this.#flight = null
    this.#isWanted = wanted
    if (problem === undefined || problem === null) send?.wake()
    else send?.fail(new ChannelError(`${this.name}: the other side could not read the message`))
    this.pump()
    return true
  }

  /** @param {End} send @returns {boolean} */
  trySend(send) {
    if (this.closed !== null) {
      send.fail(this.closed)
      return true
    }
    if (this.#flight !== null) return this.#flight.send === send
    if (!this.isConnected || choosing !== null && !this.#isWanted) return false
    this.#launch(send)
    return true
  }

  /**
   * Sends, unless the message before has not been received yet.
   *
   * @param {any} message @returns {boolean}
   */
  offer(message) {
    if (this.closed !== null || this.#flight !== null || !this.isConnected) return false
    this.#post(message, null)
    return this.closed === null
  }

  // --- in

  /** @param {boolean} kept @param {any} message @returns {boolean} */
  #arrive(kept, message) {
    this.#received++
    if (message === UNREADABLE) {
      this.#finish('unreadable')
      return false
    }
    const receive = take(this.receivers)
    if (receive === null) {
      this.#held = { message, kept }
      return true
    }
    // First of all the answer, which somebody waits for.
    this.#finish()
    receive.wake(message)
    return true
  }

  /** Says that the last message is over. @param {...string} problem */
  #finish(...problem) {
    this.#saidWanted = this.receivers.size > 0
    this.#tell(DONE, this.#received, this.#saidWanted, ...problem)
  }

  /** Says whether somebody waits to receive, to an end that asks and does not know. @param {boolean} [isWanted] */
  announce(isWanted = this.#held === null && this.receivers.size > 0) {
    if (!this.#isAsked || isWanted === this.#saidWanted || this.link.isFull) return
    this.#saidWanted = isWanted
    this.#tell(WANT, isWanted)
  }

  /** @returns {any} what is held */
  next() {
    if (this.#held === null) return NOTHING
    const { message } = this.#held
    this.#held = null
    if (this.closed === null) this.#finish()
    return message
  }

  poll() {
    // Who polls will do so again: a choice at the other end may send to it.
    if (this.#held === null && this.closed === null) this.announce(true)
    return super.poll()
  }

  // --- both

  /** @param {End} end @param {Job | null} job */
  enter(end, job) {
    end.group = choosing
    const queue = end.isSender && choosing !== null ? this.#guards : sideOf(end)
    queue.push(end, job)
    if (queue === this.#guards) this.#ask()
    else if (queue === this.receivers) this.announce()
  }

  /** @param {End} end */
  withdraw(end) {
    super.withdraw(end)
    if (this.#flight?.send === end) {
      this.#flight.send = null
      this.#tell(WITHDRAW, this.#sent)
    }
    if (!end.isSender && this.closed === null) this.announce()
  }

  /** @param {unknown} reason @returns {boolean} */
  close(reason) {
    if (this.closed !== null) return false
    const { link } = this
    // To 0 before it is connected: its hello may have been heard.
    const frame = [PROTOCOL, VERSION, CLOSE, this.peer, this.id]
    try {
      if (reason === undefined || !this.isConnected) link.send([...frame, 0])
      else link.sendMessage([...frame, 1, reason])
    } catch {
      link.send([...frame, 0])
    }
    return super.close(reason)
  }

  /** @param {string} why @param {unknown} [reason] */
  lose(why, reason) {
    this.end(new ChannelError(`${this.name}: ${why}`, reason), true)
  }

  /** @param {ChannelError} error @param {boolean} failed */
  end(error, failed) {
    if (this.closed !== null) return
    this.closed = error
    const send = this.#flight?.send
    this.#flight = null
    // The sender learns that it failed, unless it was an offer.
    if (this.#held !== null && !this.#held.kept) this.#held = null
    this.link.forget(this)
    send?.fail(error)
    this.failAll(this.#guards)
    super.end(error, failed)
  }
}

const TRANSFER = { transfer: array }

/**
 * One end of a channel between threads, processes or machines. It is used like any other channel, with these
 * differences: what one end sends, receivers at the other end get, so that both may send; `offer` succeeds
 * when all that was sent before has been received, and then its message waits at the other end.
 *
 * @template [T=unknown]
 * @extends {Channel<T>}
 */
class ExternalChannel extends Channel {
  /** @type {Wire} */
  #wire

  /** @internal @param {any} wire */
  constructor(wire) {
    super(wire)
    this.#wire = wire
  }
  /** How many frames at this endpoint were malformed, or could not have come; they have changed nothing. */
  get rejected() { return this.#wire.link.rejected }

  /**
   * @param {T} message what structured clone can copy. Buffers of 64 KiB and more, and what can only be
   *   transferred, are transferred where the endpoint can: the message itself, or its elements or properties.
   *   The sender has them no more.
   * @param {{ transfer?: any[] }} [options] `transfer`: exactly what to transfer; `[]` copies
   * @returns {Awaitable<void>} over when it has been received; fails with a ChannelError when the other side
   *   closes or dies before, with a DataCloneError when it cannot be cloned
   * @throws {TypeError} when `transfer` is no array
   */
  send(message, options = {}) {
    const { transfer } = check.options(options, TRANSFER)
    return Object.assign(endAt(this.#wire, true, message), { transfer })
  }
}

/**
 * A channel to another thread, process or machine: both sides connect the same name over their ends of one
 * endpoint, in any order, as many names as they like. The rendezvous is kept: a send is over when the message
 * has been received at the other side. `choice` works on both ends.
 *
 * ```js
 * // page                                             // worker.mjs
 * const worker = new Worker('worker.mjs', ...)        const lines = connect(self, 'lines')
 * const lines = connect(worker, 'lines')              rt.spawn(() => lines.forEach(draw))
 * rt.spawn(function* () {
 *   for (const line of all) yield lines.send(line)
 *   lines.close()
 * })
 * ```
 *
 * The endpoint: a Worker, the global scope of one, a MessagePort, a BroadcastChannel (two ends per name), a
 * WebSocket, an RTCDataChannel, one of Node's workers, ports, child processes or cluster workers, `process`,
 * a socket of socket.io; anything with `postMessage`, `send` or `emit`, and with `addEventListener` or `on`.
 * It stays yours: other messages pass by, and it is not closed. The `binaryType` of a socket is set to
 * 'arraybuffer'. Between Node's processes `serialization: 'advanced'` spares binary messages the way through
 * text. An open channel listens to its endpoint, which keeps Node alive as listening does; closing the last
 * one ends that.
 *
 * When the other side closes, ends or crashes, whatever waits fails with a ChannelError, at both ends. That a
 * worker, a port's other side or a page has ended is known from a Web Lock that each thread holds, since
 * browsers send no event for it; so not in pages without a secure context, nor across origins. Node sends
 * events; but none for a BroadcastChannel. A peer that hangs is no dead one: use a timeout.
 *
 * A function as the endpoint makes a channel that outlives it: when one ends, or is silent, the function opens the
 * next, after a pause that grows. What was sent and not received is sent again, so every message arrives once and in
 * order, whatever is cut; `send` and `close` just take longer. Such endpoints are not yours: they are closed when they
 * are replaced, and after the last channel. The other side has such a function too, or `accept`s what is opened.
 * Channels fail when the other side is silent for `timeout` (the `reason` is 'timeout') or does not know the session,
 * since it was started anew ('restarted').
 *
 * ```js
 * const lines = connect(() => new WebSocket(url), 'lines')
 * ```
 *
 * @template [T=unknown]
 * @param {any} endpoint or a function that returns the next one, a promise of it, or null when there is none now
 * @param {string} name up to 1000 characters
 * @param {SessionOptions} [options] of the first channel over a function
 * @returns {ExternalChannel<T>} the same one while it is open
 * @throws {TypeError | RangeError} naming the parameter
 */
export function connect(endpoint, name, options = {}) {
  check.text('name', name)
  if (name.length > LONGEST_NAME) throw check.outOfRange('name', `at most ${LONGEST_NAME} characters long`, name)
  check.options(options, SESSION)
  const known = links.get(endpoint)
  const link = known === undefined || known.isFree ? linkOver(endpoint, options) : known
  const wire = link.connect(name)
  return wire.channel ??= new ExternalChannel(wire)
}

// ------------------------------------------------------------------------------------------- 10 workers

// -------------------------------------------------------------------------------------- 10a placement

/** @typedef {{ name?: string, wcet: number, period: number, deadline: number, priority: number }} Promised */

/**
 * Time of a processor that is promised, once in every period: to one job after the other.
 *
 * @typedef {Promised & { site: Site, isBusy: boolean, isPast: boolean, until: number, before?: object }} Slot `isBusy`: a job has it;
 *   `isPast`: since its job ended there was a time without any promised job; `until`: when its period is over; `before`: both, before
 *   its last job had it
 */

const KEYS = /** @type {const} */ (['wcet', 'period', 'deadline', 'priority'])
/** @param {Promised[]} tasks */
const usedBy = tasks => tasks.reduce((sum, { wcet, period }) => sum + wcet / period, 0)

/**
 * A worker's processor, by what is promised of it. The jobs of one busy period all have slots that passed the test together, and no two
 * jobs of a slot are closer than its period: so they are what was tested. A slot is taken anew, or given up, only after that.
 */
class Site {
  /** @type {Slot[]} */
  slots = []
  /** @type {Map<number, Remote>} */
  jobs = new Map()
  /** @type {Line | null} */
  line = null
  /** @type {any} */
  stats = new Scheduler().stats()

  /** @param {Slot} slot @param {number} time @returns {number} when its next job may be released */
  take(slot, time) {
    const { isPast, until } = slot
    const release = isPast ? time : Math.max(time, until)
    Object.assign(slot, { isBusy: true, isPast: false, until: release + slot.period, before: { isPast, until } })
    return release
  }

  /** @param {Slot} slot whose job has ended @param {number} time */
  leave(slot, time) {
    slot.isBusy = false
    if (this.slots.some(({ isBusy }) => isBusy)) return
    this.slots = this.slots.filter(({ until, period }) => until + period > time) // for others nobody has come
    for (const one of this.slots) one.isPast = true
  }
}

/**
 * First fit: the first of the sites at which all will meet their deadlines.
 *
 * @param {Site[]} sites @param {Promised} task @param {number} time
 * @param {{ policy: Policy, share: number }} options the share of each that may be promised
 * @returns {Slot}
 * @throws {AdmissionError}
 */
function firstFit(sites, task, time, { policy, share }) {
  const free = sites.flatMap(({ slots }) => slots).find(slot => !slot.isBusy && KEYS.every(key => slot[key] === task[key]))
  if (free !== undefined) return free
  // Beside all that have been promised, or else those whose time is not over.
  for (const from of [-Infinity, time]) {
    for (const site of sites) {
      const slots = site.slots.filter(({ isPast, until }) => !isPast || until > from)
      const demands = [...slots, task].map(one => ({ ...one, wcet: one.wcet / share }))
      if (usedBy(demands) > 1 + 1e-9 || !schedulable(demands, { policy }).schedulable) continue
      const slot = { ...task, site, isBusy: false, isPast: true, until: 0 }
      site.slots = [...slots, slot]
      return slot
    }
  }
  const sums = sites.map(({ slots }) => usedBy(slots))
  const utilization = usedBy([task])
  throw new AdmissionError(
    `${task.name ?? 'a task'} asks for ${percent(utilization)}, for which no worker has time beside ${sums.map(percent).join(', ')}`,
    policy, { utilization, demand: Math.min(...sums) + utilization, bound: share, share, test: 'schedulable' })
}

// -------------------------------------------------------------------------------------- 10b in a worker

/**
 * What is said to a worker, in arrays of WORK and pairs of a kind and an array:
 *
 *   begin    where the works are, settings
 *   start    number, name, options, arguments of a job
 *   cancel   number, reason
 *   change   number, 'deadline' or 'priority', value
 *   observe  whether to
 *
 * and by it, with times on the clock of who spawns:
 *
 *   broken   why there are no works
 *   tell     number, 'onMiss' or 'onOverrun'
 *   ended    number, state, outcome, whether it knew of its cancellation, whether missed, times
 *   status   of each job that has changed: number, state, times; statistics; records
 */
const WORK = 'rt.mjs work'
/** At such an address of this module a worker begins. */
const ENTRY = '#worker'
/** ms between two reports of a worker. */
const REPORT = 20

const POLICIES = /** @type {Record<string, Policy>} */ ({ edf, fp, rm })
/** Errors that stay what they are. @type {Record<string, any>} */
const THROWN = { ...ERRORS, AggregateError, AdmissionError, ChannelError, DeadlineError, DeadlockError, OwnershipError }
const COUNTS = ['started', 'finished', 'cost', 'preemptions']
const SHOWN = ['id', 'name', 'release', 'absoluteDeadline', 'deadline', 'priority', 'period', 'missed', ...COUNTS]
const TIMES = new Set(['release', 'absoluteDeadline', 'started', 'finished', 'time', 'start', 'due'])

/** @param {any} value @returns {boolean} */
function isClonable(value) {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}

/** @param {any} error @param {number} [depth] of causes @returns {any[]} what can be cloned of it */
function portable(error, depth = 4) {
  if (!(error instanceof Error)) return isClonable(error) ? [error] : portable(cannotClone(error))
  const { name, message, stack, cause, errors } = /** @type {any} */ (error)
  const own = Object.entries({ ...error, name, stack }).filter(([, value]) => isClonable(value))
  const kind = error instanceof DOMException ? 'DOMException' : String(name)
  const inner = (/** @type {any} */ one) => portable(one, depth - 1)
  return [message, kind, own, cause === undefined || depth === 0 ? null : inner(cause), Array.isArray(errors) && depth > 0 ? errors.map(inner) : null]
}

/** @param {any[]} sent by `portable` @returns {any} */
function restored([message, kind, own, cause, errors]) {
  if (kind === undefined) return message
  const error = /** @type {any} */ (kind === 'DOMException' ? new DOMException(message, Object.fromEntries(own).name) : new Error(message))
  if (Object.hasOwn(THROWN, kind)) Object.setPrototypeOf(error, THROWN[kind].prototype)
  if (cause !== null) own.push(['cause', restored(cause)])
  if (errors !== null) own.push(['errors', errors.map(restored)])
  for (const [key, value] of own) {
    if (error[key] !== value) Object.defineProperty(error, key, { value, writable: true, configurable: true })
  }
  return error
}

/** Between a worker and who has it work. */
class Line extends Transport {
  /** What waits for the end of the turn. @type {[string, any[]][]} */
  #waiting = []
  /** @type {any[]} */
  #transfer = []

  /**
   * @param {string} kind @param {any[]} content @param {any[]} [transfer]
   * @param {boolean} [mayWait] for others, until the turn or round is over: each message wakes a thread, which takes the core of
   *   another one where there are few. Nobody changes it meanwhile, and nothing of it is refused
   */
  say(kind, content, transfer = NONE, mayWait = false) {
    if (!mayWait) {
      this.#flush()
      return this.post([WORK, [kind, content]], transfer)
    }
    this.#transfer.push(...transfer)
    if (this.#waiting.push([kind, content]) === 1) queueMicrotask(() => this.#flush())
  }
  #flush() {
    const waiting = this.#waiting.splice(0)
    if (waiting.length > 0) this.post([WORK, ...waiting], this.#transfer.splice(0))
  }

  /**
   * Hears the other side, until it has gone: each pair is an act of that name.
   *
   * @param {(kind: string, content: any[]) => void} act @param {(why: string, error?: unknown) => void} [gone]
   */
  hear(act, gone = () => {}) {
    const receive = (/** @type {any} */ message) => {
      if (Array.isArray(message) && message[0] === WORK) seam.event(() => { for (const [kind, content] of message.slice(1)) act(kind, content) })
    }
    this.listen({ receive, gone, open() {}, closeUnreadable: () => gone('a message could not be read') })
    // It tells by a lock, and hears each message, too.
    if (this.isSilent) connect(this.endpoint, WORK).receive().then(undefined, error => gone('its thread has ended', error))
  }
}

/**
 * A worker's side: runs what it is told to.
 *
 * @param {(source: any) => any} load the works @param {any} endpoint @param {Scheduler} scheduler
 */
function labour(load, endpoint, scheduler) {
  const line = new Line(endpoint)
  /** @type {Map<number, { job: Job, isTold: boolean, state: string, cost: number }>} */
  const jobs = new Map()
  /** @type {any} */
  let works = null
  /** What is said before they are there. @type {[string, any[]][]} */
  const early = []
  /** ms that this clock is ahead. */
  let ahead = 0
  /** @type {any[]} */
  let records = []
  let stopObserving = () => {}
  let isReporting = false

  /** @param {any} from @param {string[]} [keys] @returns {any} */
  const copied = (from, keys = Object.keys(from)) =>
    Object.fromEntries(keys.map(key => [key, TIMES.has(key) && from[key] !== undefined ? from[key] - ahead : shown(from[key])]))
  const shown = (/** @type {any} */ value) => value instanceof Job ? copied(value, SHOWN)
    : Object(value) === value ? String(value.name ?? platformKindOf(value)) : value

  function report() {
    isReporting = false
    const changed = []
    for (const [id, entry] of jobs) {
      const { state, cost } = entry.job
      if (state === entry.state && cost === entry.cost) continue
      // Between rounds nobody runs.
      changed.push([id, state === 'ready' && cost > entry.cost ? 'running' : state, copied(entry.job, COUNTS)])
      Object.assign(entry, { state, cost })
    }
    line.say('status', [changed, scheduler.stats(), records])
    records = []
    if (jobs.size > 0) reportSoon()
  }
  function reportSoon() {
    if (!isReporting) scheduler.host.after(REPORT, report, { ref: false })
    isReporting = true
  }

  /** @param {number} id @param {Job['state']} state @param {any} outcome @param {Job} [job] @param {boolean} [isTold] */
  function ended(id, state, outcome, job, isTold = false) {
    const entry = /** @type {any} */ (jobs.get(id))
    jobs.delete(id)
    // A Map keeps what it had, in old tables, until all is collected: of 4000 jobs of 1 ms 3 instead of 11 MB become old.
    if (entry) entry.job = null
    const result = state === 'done' ? outcome : portable(outcome)
    // What others may change does not wait for them, and what cannot be cloned is refused here.
    const mayWait = (!job || job.deadline === Infinity) && isConstant(result)
    try {
      transferring([result], undefined, transfer =>
        line.say('ended', [id, state, result, isTold, job?.missed, job && copied(job, COUNTS)], transfer, mayWait))
    } catch (error) {
      ended(id, 'failed', error, job, isTold)
    }
  }

  /** @type {Record<string, (content: any[]) => void>} */
  const acts = {
    async begin([{ origin, settings, ...source }]) {
      ahead = origin - performance.timeOrigin
      try {
        scheduler.configure({ ...settings, policy: POLICIES[settings.policy] })
        const loaded = await load(source)
        if (Object(loaded) !== loaded) throw check.wrongType('works', 'an object', loaded)
        works = loaded
        for (const [kind, content] of early) acts[kind](content)
      } catch (error) {
        line.say('broken', [portable(error)])
      }
    },
    start([id, name, options, args]) {
      const work = Object.hasOwn(works, name) ? works[name] : undefined
      const telling = (/** @type {string} */ event) => (/** @type {Job} */ job) => {
        work[event]?.(job)
        line.say('tell', [id, event])
      }
      try {
        if (work === undefined) throw new TypeError(`${name} is not among the works, ${Object.keys(works).join(', ')}`)
        const job = scheduler.spawn(work, {
          name, ...options, release: options.release + ahead, onMiss: telling('onMiss'), onOverrun: telling('onOverrun')
        }, ...args)
        const entry = { job, isTold: false, state: 'ready', cost: 0 }
        jobs.set(id, entry)
        const end = /** @type {Waitable} */ (Waitable.of(job))
        const woken = () => ended(id, job.state, end.outcome, job, entry.isTold)
        if (end.enlist({ job: null, woken })) woken()
      } catch (error) {
        ended(id, 'failed', error)
      }
      reportSoon()
    },
    cancel([id, reason]) {
      const entry = jobs.get(id)
      if (entry?.job.cancel(restored(reason))) entry.isTold = true
    },
    change([id, key, value]) {
      const entry = jobs.get(id)
      if (entry) Object.assign(entry.job, { [key]: value })
    },
    observe([isWanted]) {
      stopObserving()
      stopObserving = !isWanted ? () => {} : scheduler.observe(record => {
        records.push(copied(record))
        reportSoon()
      })
    }
  }
  line.hear((kind, content) => {
    if (works === null && kind !== 'begin') early.push([kind, content])
    else acts[kind](content)
  })
}

// ---------------------------------------------------------------------------------- 10c who has them work

/**
 * Jobs are held here while those before them keep a worker busy for so many ms more, or are too many. With half as much, workers
 * that share their cores with this thread run dry before it is heard.
 */
const BUSY = 10
const MOST = 64
/** ms that jobs have to end in when they are cancelled by `close`. */
const GRACE = 1000

/** A job in a worker. */
class Remote extends Elsewhere {
  /** @type {Site | null} */
  site = null
  /** @type {Slot | null} */
  promised = null
  isCancelled = false
  /** Of what it has that there can be only one of, so that it starts once; '' where it has nothing of that. */
  unique = ''

  /**
   * @param {any} far of Elsewhere @param {Scheduler} scheduler @param {number} id @param {string} name of the work
   * @param {any} given options that go there @param {any[]} args @param {any[] | undefined} transfer
   * @param {number} restarts how often it may still be started again
   */
  constructor(far, scheduler, id, name, given, args, transfer, restarts) {
    super(far)
    this.scheduler = scheduler
    this.id = id
    this.name = name
    this.given = given
    this.args = args
    this.transfer = transfer
    this.restarts = restarts
  }
}

const aShare = check.number('a number > 0 and <= 1', value => value > 0 && value <= 1)
/** @param {(name: string, value: any) => unknown} check @returns {(name: string, value: any) => unknown} */
const orFlag = check => (name, value) => typeof value === 'boolean' || check(name, value)
const PLACING = {
  size: partyCount,
  policy: (/** @type {string} */ name, /** @type {any} */ value) => {
    if (POLICIES[value?.name] !== value) throw check.wrongType(name, 'edf, fp or rm', value)
  },
  admit: orFlag(aShare)
}
const CREW = {
  ...PLACING, restart: orFlag(permitCount), limit: partyCount, preemptify: check.flag,
  slice: check.positive, round: check.positive, budget: check.points
}
const SPAWNED = {
  deadline: check.positive, priority: check.finite, period: check.positive, wcet: check.notNegative, release: check.finite,
  transfer: array, restart: orFlag(permitCount),
  ...check.unchecked('scheduler', 'name', 'budget', 'miss', 'onMiss', 'onOverrun', 'signal')
}
/** @param {boolean | number} restart @returns {number} how often: works that end their worker have to end, too */
const timesOf = restart => restart === true ? 3 : Number(restart)

/** Node's module of threads. @returns {any} */
const threads = () => /** @type {any} */ (globalThis).process?.getBuiltinModule?.('node:worker_threads')
/** What a worker speaks to its maker by. @returns {any} */
const threadEnd = () => typeof globalThis.postMessage === 'function' ? globalThis : threads()?.parentPort
/** @returns {number} */
const countOfCores = () => globalThis.navigator?.hardwareConcurrency ??
  /** @type {any} */ (globalThis).process.getBuiltinModule('node:os').availableParallelism()

/** Whether a worker may begin with this module: bundlers leave out what it begins by. */
let mayBegin = false

/** One for all workers, since who may take it away when is nobody's to know. */
let blob = ''
/** @param {string} script */
const blobOf = script => blob ||= URL.createObjectURL(new Blob([script], { type: 'text/javascript' }))

/** @returns {any} */
function makeWorker() {
  // Bundles that are no modules have none. Without what stands for it, webpack would take this for a module of its own.
  const address = new URL(ENTRY, import.meta.url ?? 'bundle:')
  if (!mayBegin || !address.pathname.endsWith('/sync.mjs')) {
    throw new TypeError('in a bundle, url must be a function that makes a worker, which calls Workers.serve()')
  }
  const script = `import ${JSON.stringify(address)}`
  // Node drops what says so from the address of a file.
  if (!globalThis.Worker) return new (threads().Worker)(new URL(`data:text/javascript,${encodeURIComponent(script)}`))
  // A page's worker is of its origin, but what it imports may come from a CDN.
  const isElsewhere = (globalThis.origin ?? address.origin) !== address.origin
  return new Worker(isElsewhere ? blobOf(script) : address, { type: 'module' })
}

/**
 * @typedef {object} WorkersOptions
 * @property {number} [size] how many workers; default: as many as there are cores
 * @property {Policy} [policy] of their schedulers: `edf` (default), `fp` or `rm`
 * @property {boolean | number} [admit] the share of each worker that may be promised, > 0 and <= 1; default true, which is 1;
 *   false: nothing is promised, nor refused
 * @property {boolean | number} [restart] how often a job is started again whose worker has gone; default 0, true is 3
 * @property {number} [limit] of jobs that have not ended; default 16384
 * @property {boolean} [preemptify] whether the works are to be preemptified as `preemptify.import` does; default false
 * @property {number} [slice] ms, of their schedulers
 * @property {number} [round] ms
 * @property {number | 'auto'} [budget] points
 */
/**
 * Options of one job in a worker.
 *
 * @typedef {Pick<TaskOptions, 'name' | 'deadline' | 'priority' | 'period' | 'wcet' | 'budget' | 'miss' | 'onMiss' | 'onOverrun' |
 *   'scheduler'> & JobOptions & { transfer?: any[], restart?: boolean | number }} RemoteOptions `scheduler`: where the
 *   job is known; `transfer`: exactly what of the arguments to transfer; `restart`: instead of that of all
 */

/**
 * Workers, each with a scheduler of its own, and jobs that run there: partitioned scheduling, on Web Workers or the threads of
 * Node.
 *
 * ```js
 * const workers = new Workers(new URL('works.mjs', import.meta.url))
 * const picture = await workers.spawn('render', { deadline: 100 }, scene)
 * ```
 *
 * Its works are what a module exports, whatever `rt.spawn` takes. A job is one here, too: it is awaited, cancelled, and moved by
 * its deadline or priority like others. What it does with its cancellation is waited for. Its times, cost and misses are those
 * of the worker, known some 20 ms later while it lives. Arguments and results are cloned; buffers of 64 KiB and more, and what
 * can only be transferred, as a MessagePort to `connect` by, are transferred: it, or what it has as elements or properties. An
 * outcome that is no object, of a job without a deadline, is told when the round of its worker is over, with all that have ended in
 * it: one that dies before that has lost them.
 *
 * A job that declares wcet and period goes to the first worker where it and all like it will meet their deadlines, by what
 * `schedulable` says; others are not counted. That time is kept until its period is over, for the next job with the same
 * parameters first, which is not released before. Everything else goes to the worker that will be free for it first, by
 * what works have cost so far, and waits here while all have enough to do.
 *
 * When a worker ends, its jobs fail with a ChannelError, unless they are to be started again, which those are not that were given
 * what cannot be cloned; the next job begins with another worker. Idle workers do not keep Node alive.
 *
 * @template {Record<string, any>} [M=Record<string, (...args: any[]) => unknown>] the module's type: `Workers<typeof works>`, of its namespace
 */
export class Workers {
  #options
  /** @type {Site[]} */
  #sites
  /** Jobs that have not ended. @type {Set<Remote>} */
  #all = new Set()
  /** Those that no worker has yet. @type {InstanceType<typeof Heap<any>>} */
  #held
  /** What works have cost lately, ms. @type {Map<string, number>} */
  #costs = new Map()
  /** @type {Set<(record: any) => void>} */
  #observers = new Set()
  /** @type {Queue} */
  #waiters = new Queue()
  #spawned = 0
  #isTelling = false
  #isClosed = false

  /**
   * @param {string | URL | (() => any)} url of the module, relative to the page, or to the working directory; or a function that
   *   makes a worker, or another endpoint, at whose other side `Workers.serve` is called: in bundles
   * @param {WorkersOptions} [options]
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(url, options = {}) {
    const { size = countOfCores(), policy = edf, admit = true, restart = false, limit = 2 ** 14, preemptify = false, ...settings } =
      check.options(options, CREW)
    const { document, location, process } = /** @type {any} */ (globalThis)
    const isMade = typeof url === 'function'
    if (!isMade && typeof url !== 'string' && kindOf(url) !== 'URL') throw check.wrongType('url', 'an address or a function', url)
    const base = document?.baseURI ?? location?.href ?? `file://${process?.cwd()}/`
    const source = { url: isMade ? '' : new URL(url, base).href, preemptify, settings: { ...settings, policy: policy.name } }
    this.#options = { policy, share: Number(admit), restart, limit, source, make: isMade ? url : makeWorker }
    this.#held = new Heap((a, b) => policy.compare(a.job, b.job) || a.id - b.id)
    this.#sites = Array.from({ length: size }, () => new Site())
    try {
      for (const site of this.#sites) this.#start(site)
    } catch (error) {
      for (const site of this.#sites) end(site)
      throw error
    }
  }

  /**
   * Releases a job in a worker.
   *
   * @template {keyof M & string} K
   * @param {K} name of the work
   * @param {RemoteOptions} [options]
   * @param {ArgumentsOf<M[K]>} args
   * @returns {Job<ResultOf<M[K]>>}
   * @throws {AdmissionError} when no worker has time for its wcet and period
   * @throws {RangeError} when there are as many jobs as may be: wait for `ready()`
   * @throws {ChannelError} when the workers have been closed
   * @throws {TypeError | RangeError | DOMException} naming the parameter, or what cannot be cloned
   */
  spawn(name, options = {}, ...args) {
    const { restart: usual, limit, policy } = this.#options
    const { transfer, restart = usual, scheduler: wanted, ...parameters } = check.options(options, SPAWNED)
    check.text('name', name)
    if (this.#isClosed) throw new ChannelError('the workers have been closed')
    if (this.#all.size >= limit) throw new RangeError(`more than ${limit} jobs have not ended: wait for ready()`)
    const { signal, onMiss, onOverrun, ...given } = parameters
    const scheduler = here({ scheduler: wanted })
    const priority = policy.priority?.({ deadline: Infinity, priority: 0, period: Infinity, ...given }) ?? given.priority
    const remote = new Remote(this.#far, scheduler, ++this.#spawned, name, given, args, transfer, timesOf(restart))
    this.#all.add(remote)
    try {
      const release = this.#admit(remote, given.release ?? scheduler.now())
      const job = /** @type {any} */ (scheduler.spawn(/** @type {any} */ (remote), { name, ...parameters, priority, release }))
      if (release > scheduler.now()) remote.state = 'pending'
      if (job.state === 'cancelled') this.#refuse(remote, undefined)
      else this.#place(remote)
      return job
    } catch (error) {
      this.#refuse(remote, error)
      throw error
    }
  }
  /** What has not begun has taken no time. @param {Remote} remote @param {unknown} error */
  #refuse(remote, error) {
    if (remote.promised !== null) Object.assign(remote.promised, remote.promised.before)
    this.#finish(remote, 'cancelled', error)
  }

  /** How many workers there are. */
  get size() { return this.#sites.length }
  /** How many jobs have not ended. */
  get unfinished() { return this.#all.size }

  /**
   * Waits until another job may be spawned, which is to be done at once: nothing is kept for who has waited.
   *
   * @returns {Awaitable<void>}
   */
  ready() {
    return new Turn({ name: 'workers' }, '.ready()',
      (turn, job) => this.#all.size < this.#options.limit ? turn.wake() : this.#waiters.push(turn, job))
  }

  /**
   * Tells of the schedules of all workers, as `Scheduler.observe` does: some 20 ms later, with copies of the jobs, those that
   * works spawn among them, and with the index of the worker, `worker`, in each record.
   *
   * @param {(record: TraceRecord & { worker: number }) => void} fn
   * @returns {() => void} ends it
   */
  observe(fn) {
    const observers = this.#observers
    const scheduler = here()
    const observer = (/** @type {any} */ record) => seam.call(scheduler, 'observer', fn, record)
    const tell = () => { for (const { line } of this.#sites) line?.say('observe', [observers.size > 0]) }
    check.callable('fn', fn)
    observers.add(observer)
    tell()
    return () => {
      observers.delete(observer)
      tell()
    }
  }

  /**
   * Sums of what their schedulers' `stats` said lately, the longest of what is longest; and each one's.
   *
   * @returns {ReturnType<Scheduler['stats']> & { workers: ReturnType<Scheduler['stats']>[] }}
   */
  stats() {
    const workers = this.#sites.map(({ stats }) => stats)
    const total = /** @type {any} */ ({})
    for (const [key, value] of workers.flatMap(stats => Object.entries(stats))) {
      total[key] = key.startsWith('longest') ? Math.max(total[key] ?? 0, value) : (total[key] ?? 0) + value
    }
    return { ...total, workers }
  }

  /**
   * Ends the workers, when all jobs have ended; no more are taken.
   *
   * @param {{ cancel?: boolean }} [options] `cancel`: whether to cancel them; those that have not ended
   *   a second later, as what awaits for ever or hangs, end with their workers
   * @returns {Promise<void>} when that has happened
   */
  async close(options = {}) {
    const { cancel = false } = check.options(options, { cancel: check.flag })
    this.#isClosed = true
    const all = [...this.#all]
    const ended = Promise.all(all.map(({ job }) => new Promise(resolve => seam.ended(job, () => resolve(undefined)))))
    if (cancel) {
      all[0]?.scheduler.host.after(GRACE, () => { for (const site of this.#sites) this.#lose(site, 'closed') }, { ref: false })
      for (const { job } of all) job.cancel()
    }
    await ended
    for (const site of this.#sites) end(site)
  }

  /**
   * Where periodic tasks would go, one after the other: first fit, which is best in order of falling utilization.
   *
   * @param {readonly TaskParameters[]} tasks
   * @param {Pick<WorkersOptions, 'size' | 'policy' | 'admit'>} [options]
   * @returns {number[]} the worker of each, from 0 on
   * @throws {AdmissionError} when one does not fit
   */
  static partition(tasks, options = {}) {
    const { size = countOfCores(), policy = edf, admit = true } = check.options(options, PLACING)
    const sites = Array.from({ length: size }, () => new Site())
    array('tasks', tasks)
    tasks.forEach((task, index) => demandOf(`tasks[${index}]`, task, policy))
    return tasks.map(({ deadline = Infinity, priority = 0, ...task }) => {
      const slot = firstFit(sites, { ...task, deadline, priority }, 0, { policy, share: Number(admit) })
      slot.site.take(slot, 0)
      return sites.indexOf(slot.site)
    })
  }

  /**
   * In a worker that the user has made: runs what `Workers` at its other side spawn.
   *
   * @param {any} works by name, or a promise of them
   * @param {{ endpoint?: any, scheduler?: Scheduler }} [options] by default the thread's own, and `rt`
   */
  static serve(works, { endpoint = threadEnd(), scheduler } = {}) {
    labour(() => works, endpoint, here({ scheduler }))
  }

  /** @param {Remote} remote @param {number} time @returns {number} when it may be released @throws {AdmissionError} */
  #admit(remote, time) {
    const { name = remote.name, wcet = Infinity, period = Infinity, deadline = Infinity, priority = 0 } = remote.given
    if (this.#options.share === 0 || wcet === Infinity || period === Infinity) return time
    const slot = remote.promised = firstFit(this.#sites, { name, wcet, period, deadline, priority }, time, this.#options)
    return slot.site.take(slot, time)
  }

  /** @param {Remote} remote */
  #place(remote) {
    const { promised, job, args, transfer } = remote
    const unique = remote.restarts > 0 ? (transfer ?? transferablesIn(args)).find(one => !CLONED.includes(kindOf(one))) : undefined
    if (unique !== undefined) Object.assign(remote, { unique: platformKindOf(unique), restarts: 0 })
    const { restarts } = remote
    const { first } = this.#held
    const isBehind = first !== null && this.#options.policy.compare(first.job, job) <= 0
    const site = promised?.site ?? (isBehind ? null : this.#siteFor(job))
    if (restarts > 0 || site === null) [remote.args, remote.transfer] = snapshot(args, restarts > 0 ? transfer ?? NONE : transfer)
    if (restarts > 0) remote.transfer = NONE // for the next worker there is to be one, too
    if (site !== null) this.#send(remote, site)
    else this.#held.push(remote)
  }

  /** @param {Job} job @returns {Site | null} the one that will be free for it first, unless it is to be held */
  #siteFor(job) {
    const { policy } = this.#options
    let least = BUSY
    /** @type {Site | null} */
    let free = null
    for (const site of this.#sites) {
      let count = 0
      let ms = 0
      for (const other of site.jobs.values()) {
        if (policy.compare(other.job, job) > 0) continue
        count++
        // Of what has taken longer than was expected, as much again.
        ms += Math.abs((other.given.wcet ?? this.#costs.get(other.name) ?? 1) - other.job.cost)
      }
      if (count >= MOST || ms > least || ms === least && free !== null && site.jobs.size >= free.jobs.size) continue
      least = ms
      free = site
    }
    return free
  }

  /** @param {Remote} remote @param {Site} site @param {boolean} [wasHeld] */
  #send(remote, site, wasHeld = false) {
    const { id, name, given, args, transfer, job } = remote
    remote.site = site
    site.jobs.set(id, remote)
    if (site.line === null && !this.#start(site)) return // it is lost as others are
    const { line } = site
    if (site.jobs.size === 1) line?.endpoint.ref?.()
    const options = { ...given, release: job.release }
    transferring(args, transfer, chosen => line?.say('start', [id, name, options, args], chosen, wasHeld))
  }

  #sendHeld() {
    for (let first = this.#held.first; first !== null; first = this.#held.first) {
      const site = this.#siteFor(first.job)
      if (site === null) return
      this.#held.remove(first)
      this.#attempt(first, () => this.#send(first, site, true))
    }
  }

  /** @param {Remote} remote @param {() => void} act */
  #attempt(remote, act) {
    try {
      act()
    } catch (error) {
      this.#finish(remote, 'failed', error)
    }
  }

  /** @param {Site} site @returns {boolean} whether its worker has not gone meanwhile */
  #start(site) {
    const { make, source } = this.#options
    const line = site.line = new Line(make())
    const gone = (/** @type {string} */ why, /** @type {unknown} */ error = undefined) => {
      if (site.line === line) this.#lose(site, why, error)
    }
    const { endpoint } = line
    const { terminate } = endpoint
    endpoint.on?.('error', (/** @type {unknown} */ error) => gone('an error was not handled', error))
    // Browsers do not say so, and who has said nothing yet has no life to watch.
    if (line.isSilent) endpoint.terminate = () => { terminate.call(endpoint); gone('terminated') }
    line.hear((kind, content) => this.#acts[kind](site, content), gone)
    endpoint.unref?.()
    line.say('begin', [{ ...source, origin: performance.timeOrigin }])
    if (this.#observers.size > 0) line.say('observe', [true])
    return site.line === line
  }

  /** What a worker says. @type {Record<string, (site: Site, content: any[]) => void>} */
  #acts = {
    broken: (site, [error]) => this.#lose(site, 'its works could not be loaded', restored(error), true),
    tell: (site, [id, event]) => site.jobs.get(id)?.tell(event),
    ended: (site, [id, state, outcome, isTold, missed, counts]) => {
      const remote = site.jobs.get(id)
      if (remote === undefined) return
      const { name, activation } = remote
      if (counts) this.#costs.set(name, ((this.#costs.get(name) ?? counts.cost) * 3 + counts.cost) / 4)
      if (missed) remote.tell('onMiss')
      this.#finish(remote, state, state === 'done' ? outcome : restored(outcome), isTold)
      Object.assign(activation, counts)
      this.#sendHeld()
    },
    status: (site, [changed, stats, records]) => {
      site.stats = stats
      for (const [id, state, counts] of changed) {
        const remote = site.jobs.get(id)
        if (remote !== undefined) Object.assign(remote, { state }) && Object.assign(remote.activation, counts)
      }
      this.#sendHeld()
      for (const record of records) for (const observer of this.#observers) observer({ ...record, worker: this.#sites.indexOf(site) })
    }
  }

  /** @param {Remote} remote @param {Job['state']} state @param {unknown} outcome @param {boolean} [isTold] */
  #finish(remote, state, outcome, isTold) {
    const { promised, scheduler, site, id } = remote
    if (!this.#all.delete(remote)) return
    remote.args = NONE
    if (remote.queue !== null) this.#held.remove(remote)
    if (site?.jobs.delete(id) && site.jobs.size === 0) site.line?.endpoint.unref?.()
    promised?.site.leave(promised, scheduler.now())
    remote.end(state, outcome, isTold)
    this.#tellOfRoom(scheduler)
  }

  /** Who is told need not spawn: if there is room a while later, the next one is, too. @param {Scheduler} scheduler */
  #tellOfRoom(scheduler) {
    if (this.#all.size >= this.#options.limit) return
    this.#waiters.shift()?.wake()
    if (this.#waiters.first === null || this.#isTelling) return
    this.#isTelling = true
    scheduler.host.after(REPORT, () => {
      this.#isTelling = false
      this.#tellOfRoom(scheduler)
    }, { ref: true })
  }

  /** A worker has gone. @param {Site} site @param {string} why @param {unknown} [error] @param {boolean} [isBroken] for others, too */
  #lose(site, why, error, isBroken = false) {
    const { jobs } = site
    site.jobs = new Map()
    end(site)
    for (const remote of jobs.values()) {
      const { promised, scheduler, isCancelled, name, unique } = remote
      remote.site = null
      if (isBroken || isCancelled || remote.restarts-- === 0) {
        const rest = unique && `, and with it the ${unique} that was transferred: it is not started again`
        this.#finish(remote, isCancelled ? 'cancelled' : 'failed', new ChannelError(`${name}: its worker has gone (${why})${rest}`, error))
        continue
      }
      remote.state = 'ready'
      promised?.site.take(promised, scheduler.now())
      this.#attempt(remote, () => this.#place(remote))
    }
    this.#sendHeld()
  }

  /** What is done to jobs here. */
  #far = {
    cancel: (/** @type {Remote} */ remote, /** @type {unknown} */ reason) => {
      const { site, id } = remote
      remote.isCancelled = true
      if (site === null) return this.#finish(remote, 'cancelled', reason)
      site.line?.say('cancel', [id, portable(reason)])
    },
    change: (/** @type {Remote} */ remote, /** @type {string} */ key, /** @type {number} */ value) => {
      remote.given[key] = value
      if (remote.queue === null) return remote.site?.line?.say('change', [remote.id, key, value])
      this.#held.remove(remote)
      this.#held.push(remote)
      this.#sendHeld()
    }
  }
}

/** @param {Site} site */
function end(site) {
  const { line } = site
  site.line = null
  line?.unlisten()
  line?.endpoint.terminate?.()
}

/** A clone takes 20 to 30 us in Node. @param {any} value @returns {boolean} whether it is cloned as what it is */
const isConstant = value => value === null || typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol'

/** @param {any[]} values @param {any[]} [given] @returns {[any[], any[]]} them as they are now, and what of that to transfer */
function snapshot(values, given) {
  if (given === undefined && values.every(isConstant)) return [values, NONE]
  return transferring(values, given, transfer => structuredClone([values, transfer], { transfer }))
}

/** Does nothing but where a worker begins with this module. Bundlers leave it out, and with it all that only workers need. */
function beginAsWorker() {
  const address = import.meta.url
  mayBegin = true
  if (!address?.endsWith(ENTRY)) return // bundles that are no modules have none
  const { bring } = seam
  labour(async ({ url, preemptify }) => {
    const load = preemptify ? (await bring(new URL('rt.mjs', address).href)).preemptify.import : bring
    return load(url)
  }, threadEnd(), here())
}
/* @__PURE__ */ beginAsWorker()
