/**
 * sync.mjs: where jobs meet.
 *
 * A call (1) runs in the job that yields it: critical sections (2) are calls, and so are `forEach`, choices
 * with actions, `par` and `race`. Locks, semaphores and barriers (3), channels (4), choices (5) and groups of
 * jobs (6) are waited for.
 *
 * Everything here is for the jobs of one thread. addons/shared.mjs has locks between threads,
 * addons/connect.mjs channels between threads, processes and machines, addons/workers.mjs jobs in workers.
 *
 * Exports marked `@internal` are the interface of the addons. One object of all of them would keep the channels
 * in the bundle of a SharedMutex (5.0 instead of 4.1 kB, minified and gzipped).
 * - `Supply`: a number of things that jobs take one at a time. `take()` takes one, `turn(...)` waits for one
 * - `Turn`: the waitable of a supply
 * - `Exchange`: the place where the senders and receivers of a channel meet; see `End` for its protocol
 * - `End`: the waitable of a channel, which sends or receives one message
 * - `take(queue)`: removes and returns the first end of a queue that may meet the acting end
 * - `decide(end)`: tells a choice that `end` will settle, so that the choice withdraws its other ends
 * - `sideOf(end)`: the queue of its exchange in which an end waits
 * - `NOTHING`: the result of `exchange.next()` if there is no message
 *
 * @module sync
 */

import { DeadlockError, Job, Task, budget, seam } from './rt.mjs'

export { DeadlockError }

/**
 * One member of the seam. Bundlers keep a destructuring declaration even if none of its names is used, and
 * drop these calls.
 *
 * @param {keyof typeof seam} name @returns {any}
 */
const member = name => seam[name]
/** @type {typeof seam.Fifo} */
const Fifo = /* @__PURE__ */ member('Fifo')
/** @type {typeof seam.Heap} */
const Heap = /* @__PURE__ */ member('Heap')
/** @type {typeof seam.Queue} */
const Queue = /* @__PURE__ */ member('Queue')
/** @type {typeof seam.Sleep} */
const Sleep = /* @__PURE__ */ member('Sleep')
/** @type {WaitableClass} */
const Waitable = /* @__PURE__ */ member('Waitable')
/** @type {typeof seam.asCall} */
const asCall = /* @__PURE__ */ member('asCall')
/** @type {typeof seam.check} */
const check = /* @__PURE__ */ member('check')
/** @type {typeof seam.here} */
const here = /* @__PURE__ */ member('here')
/** @type {typeof seam.preemptible} */
const preemptible = /* @__PURE__ */ member('preemptible')

/** @import { Awaitable, Checked, Outcome, ResultOf, Scheduler, Taking, Work } from './rt.mjs' */
/** @typedef {InstanceType<typeof seam.Waitable>} Waitable */
/** @typedef {InstanceType<typeof seam.Queue>} Queue */
/**
 * The class under a name of this file: tsc would write all of the class into the declarations.
 *
 * @typedef {{ new (): Waitable } & Pick<typeof seam.Waitable, 'of' | 'BEGUN'>} WaitableClass
 */

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
const permitCount = /* @__PURE__ */ check.number('an integer >= 0', isCount)
const partyCount = /* @__PURE__ */ check.number('an integer >= 1', value => isCount(value) && value > 0)
const bufferSize = /* @__PURE__ */ check.number('an integer >= 0 or Infinity',
  value => value === Infinity || isCount(value))
const anyNumber = /* @__PURE__ */ check.number('a number', value => !Number.isNaN(value))

/** @param {string} name @param {unknown} value */
function array(name, value) {
  if (!Array.isArray(value)) throw check.wrongType(name, 'an array', value)
}
/** @param {string} name @param {unknown} fn that a job calls */
const forJobs = (name, fn) => check.refuseAsyncGenerator(name, check.callable(name, fn), fn)
const NAMED = /* @__PURE__ */ (() => ({ name: check.text }))()
const ACTING = /* @__PURE__ */ (() => ({ scheduler: check.scheduler }))()

// ------------------------------------------------------------------------------------------------- 1 calls

/** Parameters of a job that works for another one, or for nobody. @param {Job | null} job @returns {any} */
function onBehalfOf(job) {
  if (job === null) return {}
  const { release, deadline, priority } = job
  const reservation = seam.payer(job)
  return deadline === Infinity ? { priority, reservation } : { release, deadline, priority, reservation }
}

/**
 * One object of each kind of waitable, made when the program first uses that kind. V8 drops the compiled code
 * of a shape when a garbage collection finds no object of that shape. With a collection between bursts of
 * 1000, a job of `par` takes 11 to 13 us without these objects and 3.5 to 5.7 us with them, a choice 15 to 26
 * and 5.3 to 5.7 us (Node 20).
 *
 * @type {{ call: unknown, turn: unknown, end: unknown, group: unknown, choice: unknown }}
 */
const kept = { call: null, turn: null, end: null, group: null, choice: null }

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
const Call = /* @__PURE__ */ (() => class Call extends Waitable {
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
    if (kept.call === null) keepCall()
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
})()

function keepCall() {
  const call = new Call('call', () => finish(undefined))
  kept.call = call // before its own first use
  kept.call = [call, call[asCall](/** @type {any} */ (null))]
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

const RESOURCE = /* @__PURE__ */ (() => ({ ...NAMED, ceiling: anyNumber }))()

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

/** Waits for its turn at a lock, a semaphore or a barrier. @internal */
export class Turn extends Waitable {
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

const keepTurn = () => { kept.turn ??= new Turn({ name: '' }, '', () => {}) }

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

/** What jobs take one of at a time: who finds none waits for a turn. @internal */
export class Supply {
  /**
   * @param {(turn: Waitable, job: Job | null) => void} give has somebody go on for whom one has been taken
   * @param {Queue} [queue] of those who wait
   */
  constructor(give, queue = new Queue()) {
    /** @type {(turn: Waitable, job: Job | null) => void} */
    this.give = give
    /** @type {Queue} */
    this.queue = queue
    keepTurn()
  }
  /** Takes one, if there is one. */
  take() { return false }

  /**
   * @param {{ name: string }} place @param {string} action @param {boolean} [isForSection]
   * @param {(turn: Turn, job: Job | null) => void} [ask]
   * @returns {any} what waits for one
   */
  turn(place, action, isForSection, ask = this.request) {
    return new Turn(place, action, ask, isForSection)
  }
  /** @type {(turn: Turn, job: Job | null) => void} */
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
  /** Whether other threads may have some. */
  isShared = false
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
 * Makes the permits of a lock: those of one thread, or of several (addons/shared.mjs).
 *
 * @typedef {(count: number, give: any, queue?: any) => any} PermitsMaker `count`: the number of permits at first;
 *   `give(turn, job)`: resumes a waiter that got a permit; `queue`: of the waiters
 */
/** @type {PermitsMaker} */
const localPermits = (count, give, queue) => new LocalPermits(count, give, queue)

/**
 * A lock with priority inheritance (Sha, Rajkumar, Lehoczky 1990): the job that holds it runs on the standing of
 * the best job that waits for it, through chains of locks and jobs, until it unlocks it. Deadlines and misses
 * stay its own. Waiters are served by eligibility, equals in order of arrival.
 *
 * When its owner ends without unlocking it, it goes to the next, who finds `abandoned` set.
 *
 * SharedMutex (addons/shared.mjs) excludes jobs of several threads.
 */
export class Mutex {
  /** @type {string} */
  #name
  /** A job, or what proves that it was taken outside jobs; null while it is free, or another thread has it. @type {any} */
  #holder = null
  #waiters = new Queue(null, () => this.#pass(true))
  #permits

  /**
   * @param {{ name?: string }} [options] `name` for traces and errors
   * @param {PermitsMaker} [permitsOf] for SharedMutex only
   * @throws {TypeError} naming the option
   */
  constructor(options = {}, permitsOf = localPermits) {
    this.#name = check.options(options, NAMED).name ?? 'mutex'
    this.#permits = permitsOf(1, this.#grant, this.#waiters)
  }

  get name() { return this.#name }
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
   *
   * @returns {boolean}
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
    if (this.#waiters.size > 0 || this.#permits.isShared) this.#waiters.owner = job
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
 * SharedSemaphore (addons/shared.mjs) counts permits of several threads.
 */
export class Semaphore {
  /** @type {string} */
  #name
  #permits

  /**
   * @param {number} permits how many there are at first, an integer >= 0
   * @param {{ name?: string }} [options] `name` for traces and errors
   * @param {PermitsMaker} [permitsOf] for SharedSemaphore only
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(permits, options = {}, permitsOf = localPermits) {
    permitCount('permits', permits)
    this.#name = check.options(options, NAMED).name ?? 'semaphore'
    this.#permits = permitsOf(permits, (/** @type {Waitable} */ turn) => turn.wake())
  }

  get name() { return this.#name }
  /** How many may be acquired without waiting. @returns {number} */
  get available() { return this.#permits.available }

  /** @returns {Awaitable<void>} */
  acquire() {
    return this.#permits.turn(this, '.acquire()')
  }

  /**
   * Gives a permit back, or adds one, at once.
   *
   * @throws {RangeError} when a SharedSemaphore would have too many
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
    keepTurn()
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
 * Who waits at a channel is an end of it: a waitable, which sends a message or receives one. Its exchange is
 * where ends meet, and all that an external channel does otherwise. The protocol between the two, and with
 * choices:
 *
 * - `exchange.trySend(end, group)` and `exchange.tryReceive(end)` act at once if they can: they settle the
 *   end, by `wake` or `fail`, and return true. Else they change nothing and return false. `group` is the
 *   choice that tries a send, or null: an exchange that needs time must not send for a choice before the
 *   choice is decided.
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
 *
 * @internal
 */
export class End extends Waitable {
  /** @param {Exchange} exchange @param {boolean} isSender @param {any} [message] */
  constructor(exchange, isSender, message) {
    super()
    this.exchange = exchange
    this.isSender = isSender
    this.message = message
    /** The choice in which it waits. @type {object | null} */
    this.group = null
  }
  get name() { return `${this.exchange.name}.${this.isSender ? 'send' : 'receive'}()` }
  get mayBlock() { return !this.isSender || this.exchange.overflow === 'block' && this.exchange.size < Infinity }
  get handsOver() { return true }
  get goesOn() { return true }
  get isDecided() { return this.queue === null }

  /** Acts at once if it can. @returns {boolean} whether it is settled or decided */
  attempt() {
    return this.isSender ? this.exchange.trySend(this, choosing) : this.exchange.tryReceive(this)
  }
  /** @param {Job | null} job */
  begin(job) {
    if (this.attempt()) return
    this.group = choosing
    this.exchange.enter(this, job)
  }
  undo() {
    this.exchange.withdraw(this)
  }
}

/**
 * Tells who waits that it will be settled: nobody else in its choice may be.
 *
 * @internal
 * @param {Waitable} waitable
 */
export function decide(waitable) {
  /** @type {any} */ (waitable.waiter)?.decided?.(waitable)
}

/** The choice that is about to try or enter its ends: no two of them may meet. @type {Choice | null} */
let choosing = null

/**
 * Removes and returns the first end that belongs to no choice that is just looking for a peer.
 *
 * @internal
 * @param {Queue} queue @returns {End | null}
 */
export function take(queue) {
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

/** Stands for a message where there is none. @internal */
export const NOTHING = /* @__PURE__ */ Symbol('nothing')

/**
 * Where senders and receivers of a channel within this page meet.
 *
 * Nobody waits who could act: who waits to receive finds no message and no sender, who waits to send no
 * receiver and no room; but for ends of one choice, which never meet.
 *
 * @internal
 */
export class Exchange {
  /** @type {InstanceType<typeof Fifo>} */
  buffer = new Fifo()
  /** @type {Queue} */
  senders = new Queue()
  /** @type {Queue} */
  receivers = new Queue()
  /** Once it has been closed, what every later end fails with. @type {ChannelError | null} */
  closed = null
  /** Whether it was closed because of an error. */
  failed = false

  /** @param {number} size @param {string} overflow @param {string} name */
  constructor(size, overflow, name) {
    this.size = size
    this.overflow = overflow
    this.name = name
  }

  /** Messages that are buffered. */
  get length() { return this.buffer.size }

  /** @param {boolean} isSender @param {any} [message] @returns {End} not yet in a queue */
  newEnd(isSender, message) {
    return new End(this, isSender, message)
  }

  /**
   * @param {End} send
   * @param {object | null} _group the choice that tries it, if one does
   * @returns {boolean}
   */
  trySend(send, _group) {
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

/** @internal @param {End} end @returns {Queue} where it waits */
export function sideOf({ isSender, exchange }) {
  return isSender ? exchange.senders : exchange.receivers
}

const CHANNEL = /* @__PURE__ */ (() => ({ ...NAMED, overflow: check.among('block', 'drop', 'slide') }))()

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
    kept.end ??= new End(new Exchange(0, 'block', 'channel'), true)
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
    return this.#exchange.newEnd(true, message)
  }

  /** @returns {Awaitable<T>} the next message; fails with a ChannelError when there will be none */
  receive() {
    return this.#exchange.newEnd(false)
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
    const receive = exchange.newEnd(false)
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
    const receive = this.exchange.newEnd(false)
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
const memories = /* @__PURE__ */ new WeakMap()
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
const GUARD = /* @__PURE__ */ (() => check.unchecked(...KINDS, 'value', 'when', 'action'))()
const CHOICE = /* @__PURE__ */ (() => ({ ...ACTING, fair: check.flag }))()
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
  kept.choice ??= [new Choice([], false), new Time(0, false, {})]
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
  kept.group ??= new Group('par', [], hasFailed)
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
