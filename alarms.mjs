/**
 * alarms.mjs: starts work at a time, again and again, per frame or per event, and lets jobs wait for a time.
 *
 * Alarms fire inside the dispatcher, between two budgets, while jobs run. An idle scheduler waits for the
 * earliest alarm by one host timer (RT.js III-D). Activation times are absolute, so a late alarm does not
 * delay its successors.
 *
 * Functions of this module act on the scheduler of the running job; outside jobs on `options.scheduler`, by
 * default `rt`. Each handle has `cancel()`, which returns whether it had an effect, and `[Symbol.dispose]()`.
 *
 * Words of this file:
 * - source: releases the jobs of a task or function, with the parameters that users passed as options.
 * - line: the running job of a source, and the jobs that wait for their turn; it applies `excess`.
 * - cycle: the times `origin + index * period`.
 * - tracker: the progress of a job through its periods, with the samples of its jitter.
 * - last listener: the listener after which the jobs of an event run, in the same task of the event loop.
 *
 * A release that is due before the previous job of its source has ended:
 *
 *   (none)     both jobs run
 *   'queue'    the new job waits for its turn; the running job inherits its rank
 *   'skip'     no job is released
 *   'latest'   the new job waits, and replaces the waiting job
 *   'restart'  the new job starts, and the running job is cancelled
 *
 * Invariants:
 * 1. No alarm fires early, and no activation time depends on how late an earlier alarm fired.
 * 2. A call that throws has registered no alarm, listener or job.
 * 3. A handler counts each event exactly once: as waiting, handled or dropped.
 *
 * Exports marked `@internal` are the interface of the addons:
 * - `Handle`: the base class of handles.
 * - `JobSource`, `parametersOf`: release jobs of a task or function with the options of a user.
 * - `startsJob`: whether an alarm releases a function as a job.
 * - `Cycle`: periodic times without drift.
 * - `EventHandler`, `HANDLING`, `checkTarget`, `Fifo`: extend `on`.
 * - `InterruptMask`: the state of `interrupts()` and `noInterrupts()`.
 * - `releaseOf`: the time of an event on the clock of the host.
 * - `apply`: Reflect.apply, taken when this module was loaded.
 * - `scriptAddress`: the address of this module, by which browsers name its scripts.
 *
 * @module alarms
 */

import { Job, Scheduler, Task, extend } from './rt.mjs'
/** @import { ArgumentsOf, Awaitable, Checked, JobOptions, Keys, ResultOf } from './rt.mjs' */
/** @import { Taking, TaskOptions, Yieldable } from './rt.mjs' */

const { Sleep, WaitQueue, Waitable, Waiter, check, here, labelOf, membersOf, nameOf } = extend
const { parameters: TASK } = check
const { among, callable, duration, flag, interval, notNegative, number, text, wrongType } = check
const { options: checked, scheduler: schedulerOption, signal: signalOption } = check

/**
 * The error of `timeout` if the time has passed.
 *
 * @example
 * await timeout(5, sleep(1000)).then(null, error => console.log(error instanceof TimeoutError)) // → true
 */
export class TimeoutError extends Error {
  name = 'TimeoutError'

  // Not the default constructor: see DeadlineError in rt.mjs.
  /** @param {string} [message] @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options)
  }
}

/**
 * The base class of handles: `using handle = every(...)` cancels it at the end of its block.
 *
 * @internal
 */
export const Handle = /* @__PURE__ */ (() => {
  class Handle {}
  const { dispose } = /** @type {any} */ (Symbol) // undefined in engines without explicit resource management
  const value = /** @this {any} */ function () { this.cancel() }
  if (dispose) Object.defineProperty(Handle.prototype, dispose, extend.hiddenProperty(value))
  return Handle
})()

/** A registration that lasts until it is cancelled, or until its signal is aborted. */
class Subscription extends Handle {
  /** @type {(() => void) | null} */
  #end
  #unsubscribe

  /** @param {AbortSignal | undefined} signal @param {() => void} end called once, at the end */
  constructor(signal, end) {
    super()
    this.#end = end
    this.#unsubscribe = signal && extend.onAbort(signal, () => { this.cancel() })
    if (signal?.aborted) this.cancel()
  }

  /** @returns {boolean} `true` if the registration was still active */
  cancel() {
    const end = this.#end
    if (end === null) return false
    this.#end = null
    this.#unsubscribe?.()
    end()
    return true
  }
}

/** A queue, first in, first out. @internal @template T */
export class Fifo {
  /** @type {T[]} */
  #items = []
  /** How many items at the start of the array have been taken. */
  #taken = 0

  get size() { return this.#items.length - this.#taken }

  /** @param {T} item */
  push(item) {
    this.#items.push(item)
  }

  /** @returns {T | undefined} */
  shift() {
    if (this.size === 0) return undefined
    const item = this.#items[this.#taken]
    this.#items[this.#taken++] = /** @type {any} */ (undefined)
    if (2 * this.#taken > this.#items.length) {
      this.#items.splice(0, this.#taken)
      this.#taken = 0
    }
    return item
  }
}

/** Reflect.apply, taken now: a page may replace it later. @internal */
export const apply = Reflect.apply

/** @internal */
export function scriptAddress() { return import.meta.url }

const timestamp = /* @__PURE__ */ number('a number > -Infinity', value => value > -Infinity)
/** @param {number} value */
const isCount = value => Number.isSafeInteger(value) && value >= 1 || value === Infinity
const countOption = /* @__PURE__ */ number('an integer >= 1 or Infinity', isCount)
const sizeOption = /* @__PURE__ */ number('an integer >= 0 or Infinity', size => size === 0 || isCount(size))
const excessOption = /* @__PURE__ */ among('queue', 'skip', 'latest', 'restart')

/**
 * Joins tables of options.
 *
 * @param {Record<string, (name: string, value: any) => unknown>[]} tables
 * @returns {Record<string, (name: string, value: any) => unknown>}
 */
const tableOf = (...tables) => tables.reduce((all, table) => Object.assign(all, table), Object.create(null))

// ------------------------------------------------------------------------------------ 1 jobs of one source

/**
 * @typedef {'queue' | 'skip' | 'latest' | 'restart'} Excess
 *   the treatment of a release before the end of the previous job. By default both jobs run. 'queue': the new
 *   job waits for its turn. 'skip': no job is released. 'latest': the new job waits, and replaces the waiting
 *   job. 'restart': the new job starts, and the running job is cancelled
 */
/** @typedef {TaskOptions & { excess?: Excess }} ReleaseOptions parameters of jobs that can overlap */
/** Work that can be released again and again. @typedef {Function | Task<any, any>} Releasable */

const RELEASE = /* @__PURE__ */ tableOf(TASK, { excess: excessOption })

/** Returns the parameters of a task that are set. @internal @param {any} source @returns {TaskOptions} */
export function parametersOf(source) {
  /** @type {any} */
  const parameters = {}
  Object.keys(TASK).forEach(name => {
    if (source[name] !== undefined) parameters[name] = source[name]
  })
  return parameters
}

/**
 * Releases the jobs of a task or function. The parameters of a task are read at each release, and the options
 * of the user override them.
 *
 * @internal
 */
export class JobSource {
  /**
   * @param {string} name the parameter that is `work` @param {any} work
   * @param {any} options parameters of tasks, and other options of the user
   * @param {Excess} [excess] the default
   */
  constructor(name, work, options, excess = undefined) {
    const isTask = work instanceof Task
    const run = isTask ? work.run : work
    if (typeof run !== 'function') throw wrongType(name, 'a Task or a function', work)
    check.refuseAsyncGenerator(name, run, work)
    const given = parametersOf(options)
    const checkedTask = new Task(run, isTask ? { ...parametersOf(work), ...given } : given)
    this.task = isTask ? work : checkedTask
    this.scheduler = here(checkedTask)
    this.given = given
    const kind = options.excess ?? excess
    /** Null if jobs may overlap. */
    this.line = kind === undefined ? null : new Line(kind)
  }

  /** @template {keyof TaskOptions} N @param {N} name @returns {TaskOptions[N]} */
  parameter(name) {
    return this.given[name] ?? this.task[name]
  }

  /**
   * @param {JobOptions & TaskOptions} own `deadline`: the default @param {any[]} [args] @param {Task} [task]
   * @returns {Job | null} null if the release is skipped
   */
  release({ deadline, ...own }, args = [], task = this.task) {
    const options = { ...this.given, ...own }
    if (task.deadline === Infinity) options.deadline ??= deadline
    const { line, scheduler } = this
    if (line === null) return extend.spawn(scheduler, task, options, args)
    if (line.mustSkip) return null
    return line.latest = extend.spawn(scheduler, task, options, args, job => line.admit(job, args))
  }
}

/**
 * Decides about releases that are due before the previous job has ended. A waiting job waits in a queue that
 * the running job owns, so that the running job inherits its rank.
 */
class Line {
  #turns = new WaitQueue(null, () => this.#advance())
  /** The job that was released last. @type {Job | null} */
  latest = null
  /** Called when a job has ended and the next one has got its turn. */
  onAdvanced = () => {}
  /** Called when a job has lost its turn: it was replaced or cancelled before it could start. */
  onLost = () => {}

  /** @param {Excess} excess */
  constructor(excess) {
    this.excess = excess
  }

  get mustSkip() {
    return this.excess === 'skip' && this.latest !== null && this.latest.finished === undefined
  }
  /** The job whose turn it is. @returns {Job | null} */
  get running() { return this.#turns.owner }
  /** The number of waiting jobs. @returns {number} */
  get waiting() { return this.#turns.size }

  /**
   * Called by the scheduler when the release of a job is due.
   *
   * @param {Job} job @param {any[]} args @returns {Turn | null} null if the job may start
   */
  admit(job, args) {
    const { excess, running } = this
    if (running !== null && excess !== 'queue') this.clear()
    if (running !== null && excess !== 'restart') return new Turn(this, args)
    this.#turns.owner = job
    if (running === null) return null
    if (running.started === undefined) this.onLost()
    running.cancel(new DOMException('A newer job of the task replaces this job', 'AbortError'))
    return null
  }

  /** Makes a job wait. @param {Turn} turn */
  push(turn) {
    this.#turns.push(turn)
  }

  /** Cancels the waiting jobs. */
  clear() {
    const reason = new DOMException('The job lost its turn', 'AbortError')
    while (this.#turns.next?.job?.cancel(reason));
  }

  /** Starts the first waiting job after the running job has ended. */
  #advance() {
    const turn = /** @type {Turn | null} */ (this.#turns.shift())
    this.#turns.owner = turn && turn.job
    turn?.start()
    this.onAdvanced()
  }
}

/** The wait of a job for its turn. */
class Turn extends Waitable {
  #line
  #args

  /** @param {Line} line @param {any[]} args the arguments of the job */
  constructor(line, args) {
    super()
    this.#line = line
    this.#args = args
  }

  enter() {
    this.#line.push(this)
  }
  leave() {
    super.leave()
    this.#line.onLost()
  }
  start() {
    this.wake(this.#args)
  }
}

// ------------------------------------------------------------------------------------------------ 2 alarms

/**
 * The times `origin + index * period`. The product, unlike a sum, does not drift over hours.
 *
 * @internal
 */
export class Cycle {
  /** Index of the next time. */
  index = 0
  /** The time that `advance` passed last. */
  latest = NaN

  /** @param {number} origin @param {number} period */
  constructor(origin, period) {
    this.origin = origin
    this.period = period
  }

  /** @param {number} index */
  timeOf(index) { return this.origin + index * this.period }

  /** The next time. */
  get time() { return this.timeOf(this.index) }

  /** Passes the next time, or all times until `now`. @param {number} now @returns {number} the next time */
  advance(now) {
    this.index = Math.max(this.index, this.indexAt(now))
    this.latest = this.time
    this.index++
    return this.time
  }

  /** @param {number} now @returns {number} the index of the latest time until `now` */
  indexAt(now) {
    const index = Math.floor((now - this.origin) / this.period)
    // Rounding can move the quotient across an integer.
    if (this.timeOf(index) > now) return index - 1
    return this.timeOf(index + 1) <= now ? index + 1 : index
  }
}

/**
 * The alarm that `after`, `at` or `every` returns: its next time, and `cancel()`.
 *
 * An alarm is never early. While jobs run, it fires between two budgets; otherwise one timer of the host
 * wakes the scheduler, up to half a millisecond late. Pages spend the last millisecond before an alarm in
 * turns of the event loop: alarms of every millisecond take a quarter of the processor. In a hidden page,
 * timers fire once per second, and in Chromium once per minute after five minutes. Alarms in workers, and in
 * pages whose jobs run, stay on time.
 *
 * @example
 * const alarm = after(5, () => console.log('never'))
 * console.log(alarm instanceof Alarm, alarm.time !== undefined) // → true, true
 * alarm.cancel()
 * console.log(alarm.time) // → undefined
 */
export class Alarm extends Handle {
  /** Null if the signal was aborted before the alarm was set. */
  #entry
  #unsubscribe

  /**
   * @internal
   * @param {Scheduler} scheduler @param {number} time
   * @param {((time: number) => void) & { of?: string }} work
   * @param {((time: number) => number | undefined) | null} next returns the next time
   * @param {{ ref?: boolean, signal?: AbortSignal }} options
   */
  constructor(scheduler, time, work, next, options) {
    super()
    if (!(scheduler instanceof Scheduler)) throw new TypeError('alarms are made by after(), at() and every()')
    const { ref, signal } = options
    const fire = next === null && signal === undefined ? work : this.#firing(work, next)
    this.#entry = signal?.aborted ? null : extend.at(scheduler, time, fire, { ref })
    this.#unsubscribe = signal && this.#entry && extend.onAbort(signal, () => this.cancel())
  }

  /**
   * @param {((time: number) => void) & { of?: string }} work
   * @param {((time: number) => number | undefined) | null} next
   */
  #firing(work, next) {
    const fire = (/** @type {number} */ time) => {
      const following = next?.(time)
      // This must precede the work, because the work can cancel the alarm or throw.
      if (following === undefined) this.#unsubscribe?.()
      else this.#entry?.set(following)
      work(time)
    }
    fire.of = labelOf(work)
    return fire
  }

  /**
   * The next time at which the alarm fires: a host timestamp in ms; undefined after the last time, or if the
   * alarm was cancelled.
   */
  get time() { return this.#entry?.isSet ? this.#entry.time : undefined }

  /** @returns {boolean} `true` if the alarm was still pending */
  cancel() {
    this.#unsubscribe?.()
    return this.#entry?.cancel() ?? false
  }
}

/**
 * @typedef {TaskOptions & { ref?: boolean, signal?: AbortSignal }} AlarmOptions
 *   parameters of the released jobs. `ref`: `false` lets a process of Node end before the alarm. `signal`:
 *   cancels the alarm
 */
/**
 * Rejects work that an alarm cannot do: an alarm calls a callback with its time, and releases jobs without
 * arguments.
 *
 * @internal
 * @template W
 * @typedef {W extends (time: number) => infer R
 *   ? R extends Iterator<any, any, any> | AsyncIterator<any, any, any> | PromiseLike<any> ? Taking<W, []> :
 *   unknown : Taking<W, []>} Alarmed
 */

const ONCE = /* @__PURE__ */ tableOf(TASK, { signal: signalOption, ref: flag })
const REPEATED = /* @__PURE__ */ tableOf(ONCE, {
  phase: duration, count: countOption, catchUp: /* @__PURE__ */ among('skip', 'all')
})

/**
 * Whether an alarm releases a function as a job; any other function is a callback.
 *
 * @internal
 * @param {any} fn
 */
export function startsJob(fn) {
  const kind = fn[Symbol.toStringTag]
  return kind === 'GeneratorFunction' || kind === 'AsyncFunction' || kind === 'AsyncGeneratorFunction'
}

/**
 * The effect of an alarm: it calls a callback in the dispatcher, or releases a job whose deadline counts from
 * the time of the alarm.
 *
 * @param {any} work @param {any} options
 * @returns {{ scheduler: Scheduler, activate: ((time: number) => void) & { of?: string } }} `of`: the name
 */
function effectOf(work, options) {
  const isFunction = typeof work === 'function'
  const isCallback = isFunction && !startsJob(work)
  if (isCallback && !startsJob(extend.preemptible(work))) return { scheduler: here(options), activate: work }
  const source = new JobSource('work', work, options)
  // The preemptible twin of a callback gets the argument of the callback.
  const activate = (/** @type {number} */ time) => {
    source.release({ release: time }, isCallback ? [time] : [])
  }
  activate.of = source.task.name
  return { scheduler: source.scheduler, activate }
}

/**
 * Calls `work` after a delay, or releases `work` as a job.
 *
 * @template {Releasable} W
 * @param {number} ms the delay, >= 0; Infinity: never
 * @param {(W | ((time: number) => unknown)) & Alarmed<W>} work a callback, which the dispatcher calls with
 *   the time of the alarm; or a Task, a generator function or an async function, which is released as a job.
 *   The deadline of the job counts from the time of the alarm
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const alarm = after(5, () => console.log('never'))
 * alarm.cancel()
 * after(10, function* () { console.log('a job') }, { deadline: 5 })
 * await sleep(20)
 * await rt.idle() // → a job
 */
export function after(ms, work, options = {}) {
  notNegative('ms', ms)
  const { scheduler, activate } = effectOf(work, checked(options, ONCE))
  return new Alarm(scheduler, scheduler.now() + ms, activate, null, options)
}

/**
 * Calls `work` at a time, or releases `work` as a job. Fires immediately if the time has passed.
 *
 * @template {Releasable} W
 * @param {number} time a host timestamp, ms; Infinity: never
 * @param {(W | ((time: number) => unknown)) & Alarmed<W>} work the callback, or the task or function to
 *   release as a job
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * at(rt.now() + 5, () => console.log('now'))
 * await sleep(10) // → now
 */
export function at(time, work, options = {}) {
  timestamp('time', time)
  const { scheduler, activate } = effectOf(work, checked(options, ONCE))
  return new Alarm(scheduler, time, activate, null, options)
}

/**
 * Calls `work` every `period` ms, or releases `work` as a job. Activation times are absolute, so they do not
 * drift. Jobs can overlap; `periodic` prevents that.
 *
 * @template {Releasable} W
 * @param {number} period ms, > 0
 * @param {(W | ((time: number) => unknown)) & Alarmed<W>} work the callback, or the task or function to
 *   release as jobs
 * @param {AlarmOptions & { phase?: number, count?: number, catchUp?: 'skip' | 'all' }} [options] `phase`: ms
 *   until the first time, default one period. `count`: the number of times, default Infinity. `catchUp`:
 *   whether the times that passed while the page was suspended fire once ('skip', default) or each ('all')
 * @returns {Alarm}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * let ticks = 0
 * const ticking = every(1000 / 60, () => { if (++ticks === 3) ticking.cancel() }, { catchUp: 'all' })
 * while (ticks < 3) await sleep(10)
 * console.log(ticks) // → 3
 */
export function every(period, work, options = {}) {
  interval('period', period)
  const { phase = period, count = Infinity, catchUp = 'skip' } = checked(options, REPEATED)
  const { scheduler, activate } = effectOf(work, options)
  const cycle = new Cycle(scheduler.now() + phase, period)
  let left = count
  const next = () => {
    const time = cycle.advance(catchUp === 'all' ? -Infinity : scheduler.now())
    return --left > 0 ? time : undefined
  }
  const fire = () => activate(cycle.latest)
  fire.of = labelOf(activate)
  return new Alarm(scheduler, cycle.time, fire, next, options)
}

// ----------------------------------------------------------------------------------------------- 3 waiting

/**
 * @typedef {{ scheduler?: Scheduler, signal?: AbortSignal }} WaitOptions
 *   `scheduler`: the clock that counts if code outside of jobs waits, default `rt`. `signal`: ends the wait,
 *   which then fails with the reason
 */

const SCHEDULER = /* @__PURE__ */ tableOf({ scheduler: schedulerOption })
const WAIT = /* @__PURE__ */ tableOf(SCHEDULER, { signal: signalOption })
const LIMIT = /* @__PURE__ */ tableOf(WAIT, { cancel: flag })

/**
 * Waits for a duration, which starts when a job yields the waitable, or async code awaits it.
 *
 * In TypeScript, `yield*` has the type of its result: `const reply = yield* timeout(100, request)`. All plain
 * `yield` of a generator share one type, so `const reply = yield request` is an error in strict code (TS7057:
 * implicitly any). It compiles with a declared type: `const reply: Response = yield request`.
 *
 * @param {number} ms >= 0; Infinity: forever
 * @param {WaitOptions} [options] `signal`: ends the wait; the waitable then fails with the reason
 * @returns {Awaitable<void>}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const start = rt.now()
 * await rt.spawn(function* () { yield sleep(20) })
 * console.log(rt.now() - start >= 20) // → true
 */
export function sleep(ms, options = {}) {
  notNegative('ms', ms)
  return /** @type {any} */ (new Sleep(ms, true, checked(options, WAIT)))
}

/**
 * Waits until a time. The wait ends immediately if the time has passed.
 *
 * @param {number} time a host timestamp, ms; Infinity: forever
 * @param {WaitOptions} [options] `signal`: ends the wait; the waitable then fails with the reason
 * @returns {Awaitable<void>}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const time = rt.now() + 10
 * await until(time)
 * console.log(rt.now() >= time) // → true
 */
export function until(time, options = {}) {
  timestamp('time', time)
  return /** @type {any} */ (new Sleep(time, false, checked(options, WAIT)))
}

/** Waits for another waitable, at most for a duration. The job waits for both through this waitable. */
class Timeout extends Sleep {
  /** @type {InstanceType<typeof Waiter> | null} */
  #waiter = null
  #awaited
  #subject

  /** @param {number} ms @param {any} subject @param {WaitOptions & { cancel?: boolean }} options */
  constructor(ms, subject, options) {
    const awaited = Waitable.of(subject)
    if (awaited === null) throw wrongType('awaited', 'a promise, a job or a waitable', subject)
    super(ms, true, options, () => {
      const error = new TimeoutError(`timed out after ${ms} ms`)
      this.leave()
      if (options.cancel && subject instanceof Job) subject.cancel(error)
      this.fail(error)
    })
    this.#awaited = awaited
    this.#subject = subject
  }

  get isRanked() { return true }
  get handsOver() { return this.#awaited.handsOver }
  get commits() { return this.#awaited.commits }
  get isExternal() { return this.#awaited.isExternal }
  // The other jobs of a deadlock cannot end this wait before its time, so the deadlock is reported.
  owners() {
    return this.#awaited.owners()
  }
  refresh() {
    this.#waiter?.refresh()
  }

  /** @param {Job | null} job */
  try(job) {
    const awaited = this.#awaited
    if (job !== null && this.#subject === job) throw new TypeError(`${job.name} waits for itself`)
    if (!awaited.attempt(job)) return false
    return awaited.isFulfilled ? this.fulfill(awaited.outcome) : this.reject(awaited.outcome)
  }
  /** @param {Job | null} job */
  enter(job) {
    const awaited = this.#awaited
    const copy = () => awaited.isFulfilled ? this.wake(awaited.outcome) : this.fail(awaited.outcome)
    const waiter = new Waiter(job, () => {
      super.leave()
      copy()
    }, this)
    this.#waiter = waiter
    // `try` has found `awaited` pending, but the wait can settle it: with an error, or with a partner.
    if (awaited.waitBy(waiter)) copy()
    else super.enter(job)
  }
  leave() {
    super.leave()
    if (this.#waiter !== null) this.#awaited.dismiss(this.#waiter)
  }
}

/**
 * Waits for a promise, a job or a waitable, at most for a duration. Then it stops waiting and fails.
 *
 * @template T
 * @param {number} ms >= 0; Infinity: without a limit
 * @param {PromiseLike<T>} awaited
 * @param {WaitOptions & { cancel?: boolean }} [options] `cancel`: whether a job that does not end in time is
 *   cancelled; by default it continues
 * @returns {Awaitable<Awaited<T>>} the result of `awaited`; fails with a TimeoutError after `ms` ms
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const replies = new Channel()
 * try {
 *   await timeout(5, replies.receive())
 * } catch (error) {
 *   console.log(String(error)) // → TimeoutError: timed out after 5 ms
 * }
 */
export function timeout(ms, awaited, options = {}) {
  notNegative('ms', ms)
  return /** @type {any} */ (new Timeout(ms, awaited, checked(options, LIMIT)))
}

// ---------------------------------------------------------------------------------------------- 4 releases

/** @typedef {{ count: number, min: number, mean: number, p99: number, max: number }} Summary */

/** Maximum number of samples in a summary. */
const MAX_SAMPLES = 1000

/** The last samples of a quantity. */
class Samples {
  /** @type {number[]} */
  #ring = []
  #count = 0

  /** @param {number} value ms */
  add(value) {
    this.#ring[this.#count++ % MAX_SAMPLES] = value
  }

  /** @returns {Summary} NaN without samples */
  summary() {
    const sorted = this.#ring.toSorted((a, b) => a - b)
    return {
      count: this.#count,
      min: sorted[0] ?? NaN,
      mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
      p99: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? NaN,
      max: sorted.at(-1) ?? NaN
    }
  }
}

/**
 * The delays from the starts of periods to the releases, starts and finishes of their jobs.
 *
 * @typedef {ReturnType<typeof newJitter>} Jitter
 */
const newJitter = () => ({ release: new Samples(), start: new Samples(), finish: new Samples() })

/** @type {WeakMap<Job, PeriodTracker>} */
const trackers = new WeakMap()

/** Follows a job through its periods: one period, or a loop that passes periods by `nextPeriod`. */
class PeriodTracker extends Cycle {
  missed = 0
  /** Number of periods of a loop after the present period. */
  left = 0
  isLoop = false

  /**
   * @param {Job} job @param {number} lag ms between the start of the period and the release
   * @param {Jitter} jitter
   * @param {(tracker: PeriodTracker) => number} onLoop called at the first `nextPeriod` of the job; returns
   *   `left`
   */
  constructor(job, lag, jitter, onLoop) {
    super(job.release, job.period)
    this.job = job
    this.lag = lag
    this.jitter = jitter
    this.onLoop = onLoop
    trackers.set(job, this)
  }

  /** Returns the tracker of a job that calls nextPeriod. @param {Job} job @returns {PeriodTracker} */
  static of(job) {
    if (!trackers.has(job) && job.period === Infinity) {
      throw new TypeError(`nextPeriod() needs a job with a period; ${job.name} has none`)
    }
    const tracker = trackers.get(job) ?? new PeriodTracker(job, 0, newJitter(), () => Infinity)
    if (tracker.isLoop) return tracker
    tracker.isLoop = true
    tracker.begin()
    tracker.left = tracker.onLoop(tracker)
    return tracker
  }

  /** Notes that the job has started in its first period. */
  begin() {
    this.jitter.release.add(this.lag)
    this.jitter.start.add(/** @type {number} */ (this.job.started) - this.job.release)
  }

  /**
   * @param {number} finished
   * @returns {number} the index of the first period that starts at `finished` or later
   */
  indexAfter(finished) {
    const latest = this.indexAt(finished)
    return Math.max(this.index + 1, this.timeOf(latest) === finished ? latest : latest + 1)
  }

  /**
   * Notes the start of a period.
   *
   * @param {number} index @param {number} now @returns {number} missed periods
   */
  enterPeriod(index, now) {
    const missed = index - this.index - 1
    this.index = index
    this.missed += missed
    this.left--
    this.jitter.release.add(now - this.time)
    return missed
  }
}

/**
 * @typedef {object} Periodic made by `periodic`
 * @property {() => boolean} cancel stops releasing jobs. A loop is cancelled; other jobs run to completion.
 *   Returns `true` if further jobs or periods were due
 * @property {number} jobs number of released jobs
 * @property {number} skipped number of periods that have started without a job
 * @property {() => { release: Summary, start: Summary, finish: Summary }} jitter the delays from the starts
 *   of the last 1000 periods to the releases, starts and finishes of their jobs, ms
 */

/** The jobs of `periodic`. */
class PeriodicTask extends Handle {
  #source
  #line
  #cycle
  #count
  #jitter = newJitter()
  #alarm
  #unsubscribe
  #isCancelled = false
  #released = 0
  /** Number of started periods whose jobs have not been released. */
  #backlog = 0
  /** Number of released jobs that have not ended. */
  #living = 0
  /** The tracker of a job that loops with `nextPeriod`. @type {PeriodTracker | null} */
  #loop = null

  /**
   * @param {JobSource} source @param {Cycle} cycle
   * @param {{ count?: number, ref?: boolean, signal?: AbortSignal }} options
   */
  constructor(source, cycle, { count = Infinity, ref, signal }) {
    super()
    const { scheduler } = source
    const line = /** @type {Line} */ (source.line)
    this.#source = source
    this.#line = line
    this.#cycle = cycle
    this.#count = count
    const advance = () => this.#releaseBacklog()
    line.onAdvanced = () => {
      if (this.#backlog > 0) extend.callUser(scheduler, 'release', advance)
      this.#stopAtCount()
    }
    line.onLost = () => { if (line.excess !== 'restart') this.#released-- }
    const start = () => this.#onPeriodStart()
    start.of = source.task.name
    const next = () => cycle.advance(line.excess === 'queue' ? -Infinity : scheduler.now())
    this.#alarm = new Alarm(scheduler, cycle.time, start, next, { ref })
    this.#unsubscribe = signal && extend.onAbort(signal, reason => { this.#stop(reason) })
    if (signal?.aborted) this.#stop(signal.reason)
  }

  /** @returns {number} */
  get jobs() { return this.#released }
  /** @returns {number} */
  get skipped() {
    return this.#loop === null ? this.#cycle.index - this.#released - this.#backlog : this.#loop.missed
  }
  jitter() {
    const { release, start, finish } = this.#jitter
    return { release: release.summary(), start: start.summary(), finish: finish.summary() }
  }

  cancel() {
    return this.#stop(undefined)
  }

  /** Stops, and cancels a job that loops. @param {unknown} reason @returns {boolean} */
  #stop(reason) {
    const wasLooping = this.#loop !== null && this.#loop.job.cancel(reason)
    const wasWaiting = this.#backlog > 0 || this.#line.waiting > 0
    this.#isCancelled = true
    this.#backlog = 0
    this.#line.clear()
    this.#unsubscribe?.()
    return this.#alarm.cancel() || wasLooping || wasWaiting
  }

  #onPeriodStart() {
    this.#backlog = this.#line.excess === 'queue' ? this.#backlog + 1 : 1
    this.#releaseBacklog()
  }

  /** Releases the job of the oldest queued period, unless the job of another queued period waits. */
  #releaseBacklog() {
    const line = this.#line
    if (this.#backlog > 0 && !(line.excess === 'queue' && line.waiting > 0)) {
      const time = this.#cycle.timeOf(this.#cycle.index - this.#backlog--)
      const lag = this.#source.scheduler.now() - time
      const job = this.#source.release({ release: time, deadline: this.#cycle.period })
      if (job !== null) this.#track(new PeriodTracker(job, lag, this.#jitter, loop => this.#becomeLoop(loop)))
    }
    this.#stopAtCount()
  }

  /** Ends the alarm after the last job, unless the job of a later period can replace a waiting one. */
  #stopAtCount() {
    const line = this.#line
    const isLast = this.#released + this.#backlog >= this.#count
    if (isLast && !(line.excess === 'latest' && line.waiting > 0)) this.#alarm.cancel()
  }

  /** @param {PeriodTracker} tracker */
  #track(tracker) {
    this.#released++
    this.#living++
    extend.ended(tracker.job, () => this.#onJobEnded(tracker))
  }

  /** @param {PeriodTracker} tracker */
  #onJobEnded(tracker) {
    const { job, isLoop } = tracker
    const hasStarted = job.started !== undefined
    if (!isLoop && hasStarted) tracker.begin()
    if (isLoop ? job.state === 'done' : hasStarted) {
      this.#jitter.finish.add(/** @type {number} */ (job.finished) - tracker.time)
    }
    if (--this.#living === 0 && this.#alarm.time === undefined) this.#unsubscribe?.()
  }

  /**
   * Stops releasing jobs, because the running job has called `nextPeriod` and loops.
   *
   * @param {PeriodTracker} tracker @returns {number} periods that are left
   */
  #becomeLoop(tracker) {
    if (this.#line.running !== tracker.job) return 0
    this.#loop = tracker
    this.#backlog = 0
    this.#line.clear()
    this.#alarm.cancel()
    return this.#isCancelled ? 0 : this.#count - 1
  }
}

const PERIODIC = /* @__PURE__ */ tableOf(ONCE, { phase: duration, count: countOption, excess: excessOption })

/**
 * Releases a job every period, or one job that loops with `yield nextPeriod()`.
 *
 * @template {Releasable} W
 * @param {(W | (() => unknown)) & Taking<W, []>} task
 * @param {AlarmOptions & { phase?: number, count?: number, excess?: Excess }} [options] `period` defaults to
 *   the period of the task, and `deadline` to the period. `phase`: ms until the first release, default 0.
 *   `count`: the number of jobs, or of periods of a loop, default Infinity. `excess`: the treatment of a
 *   period that starts before the previous job has ended, default 'skip'
 * @returns {Periodic}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * let samples = 0
 * const sampling = periodic(function* () { samples++ }, { period: 10, wcet: 2 })
 * while (samples < 3) await sleep(10)
 * sampling.cancel()
 * console.log(samples >= 3) // → true
 */
export function periodic(task, options = {}) {
  const { phase = 0, excess } = checked(options, PERIODIC)
  const { period = task instanceof Task ? task.period : undefined } = options
  interval('period', period)
  const source = new JobSource('task', task, { ...parametersOf(options), period, excess }, 'skip')
  const cycle = new Cycle(source.scheduler.now() + phase, /** @type {number} */ (period))
  return new PeriodicTask(source, cycle, options)
}

/** Waits for the start of the next period. */
class PeriodStart extends Sleep {
  /** @param {number} time @param {{ scheduler: Scheduler }} options @param {() => void} ring */
  constructor(time, options, ring) {
    super(time, false, options, ring)
  }
}

/** @returns {Generator<any, number, any>} */
function* passPeriod() {
  const scheduler = here()
  const job = scheduler.current
  if (job === null) throw new TypeError('nextPeriod() must be called inside a job')
  const tracker = PeriodTracker.of(job)
  const finished = scheduler.now()
  tracker.jitter.finish.add(finished - tracker.time)
  if (tracker.left === 0) {
    const reason = new DOMException('The last period has ended', 'AbortError')
    job.cancel(reason)
    yield
    throw reason // in a critical section, which defers the cancellation
  }
  const start = new PeriodStart(finished, { scheduler }, () => {
    // In the dispatcher, after the last budget has been charged to the period that ends.
    const index = tracker.indexAfter(finished)
    const time = tracker.timeOf(index)
    extend.nextPeriod(job, time)
    start.ring = () => start.wake(tracker.enterPeriod(index, scheduler.now()))
    if (time > scheduler.now()) start.sleepUntil(scheduler, time)
    else start.ring()
  })
  const missed = yield start
  tracker.jitter.start.add(scheduler.now() - tracker.time)
  return missed
}

/**
 * Waits for the start of the next period of the running job. The deadline then counts from that start. After
 * the last of the `count` periods of `periodic`, the job is cancelled (RTSJ: waitForNextPeriod).
 *
 * @returns {Iterator<Yieldable, number, unknown> & { [Symbol.iterator](): Generator<Yieldable, number,
 *   unknown> }} to be yielded; returns the number of missed periods
 *
 * @example
 * await rt.spawn(function* () {
 *   for (const step of [1, 2, 3]) {
 *     console.log(step)
 *     yield nextPeriod()
 *   }
 * }, { period: 5 }) // → 1, 2, 3
 */
export function nextPeriod() {
  // Not a waitable, which settles when the job is woken: the code must observe when the job resumes.
  return Object.assign(passPeriod(), {
    /** @param {any} [onDone] @param {any} [onFailed] @returns {Promise<never>} */
    then(onDone, onFailed) {
      const error = new TypeError('nextPeriod() is for generators, which yield it')
      return Promise.reject(error).then(onDone, onFailed)
    }
  })
}

const SPORADIC = /* @__PURE__ */ tableOf(RELEASE, {
  interarrival: duration, late: /* @__PURE__ */ among('defer', 'drop')
})

/**
 * Returns a function that releases jobs of a task, at least `interarrival` ms apart.
 *
 * @template {Releasable} W
 * @param {(W | ((...args: any[]) => unknown)) & Checked<W>} task
 * @param {ReleaseOptions & { interarrival?: number, late?: 'defer' | 'drop' }} [options] `interarrival`: ms,
 *   default 0; `late`: whether a release that is called too early is deferred ('defer', default) or ignored
 *   ('drop'). With `excess` 'latest' or 'restart', the newest release replaces a deferred one
 * @returns {(...args: ArgumentsOf<W>) => Job<ResultOf<W>> | null} releases a job; returns null if no job is
 *   released
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const save = sporadic(function* (text = '') { console.log(text) }, { interarrival: 1000, late: 'drop' })
 * save('first')
 * save('too early')
 * await rt.idle() // → first
 */
export function sporadic(task, options = {}) {
  const { interarrival = 0, late = 'defer' } = checked(options, SPORADIC)
  const source = new JobSource('task', task, options)
  const { scheduler, line } = source
  const isReplacing = line !== null && line.excess !== 'queue'
  /** @type {Job | null} */
  let latest = null
  let earliest = -Infinity
  return /** @param {any[]} args @returns {any} */ (...args) => {
    const now = scheduler.now()
    if (now < earliest && late === 'drop') return null
    const deferred = isReplacing && latest?.state === 'pending' ? latest : null
    const release = Math.max(now, deferred?.release ?? earliest)
    const job = source.release({ release }, args)
    if (job === null) return null
    latest = job
    deferred?.cancel()
    earliest = release + interarrival
    return job
  }
}

/**
 * Releases a job per animation frame, except while the page is hidden.
 *
 * @template {Releasable} W
 * @param {(W | ((time: number) => unknown)) & Taking<W, [time: number]>} task called with the time of the
 *   frame, which is the release
 * @param {ReleaseOptions & { signal?: AbortSignal }} [options] `deadline` defaults to the expected time of
 *   the next frame. `excess`: the treatment of a frame that arrives before the previous job has ended,
 *   default 'skip'
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range; TypeError if the
 *   platform has no animation frames
 *
 * @example
 * let shown = 0
 * const drawing = frames(function* (time) { shown = time })
 * while (shown === 0) await sleep(20)
 * drawing.cancel()
 * console.log(shown > 0) // → true
 */
export function frames(task, options = {}) {
  const { signal } = checked(options, { ...RELEASE, signal: signalOption })
  const source = new JobSource('task', task, options, 'skip')
  const { scheduler } = source
  const host = /** @type {any} */ (scheduler.host)
  if (host.frame === undefined) throw new TypeError('there are no animation frames here')
  const intervalAfter = extend.page.frameInterval()
  let shown = -Infinity
  const onFrame = (/** @type {number} */ time) => {
    cancelFrame = host.frame(onFrame)
    const interval = intervalAfter(time - shown)
    shown = time
    if (host.hidden?.()) return
    const release = Math.min(time, scheduler.now())
    source.release({ release, deadline: time + interval - release }, [time])
  }
  let cancelFrame = host.frame(onFrame)
  const release = extend.hold(scheduler)
  return new Subscription(signal, () => {
    cancelFrame()
    release()
  })
}

// ------------------------------------------------------------------------------------------------ 5 events

// Deadlines, and not the order of listeners, decide which handler runs first: the jobs of an event run after
// the last listener of the event. That listener is added when the window captures the event, before all other
// listeners run: the event target looks its own listeners up later.

/**
 * Events on their way to the last listener, and the schedulers whose jobs follow.
 *
 * @type {WeakMap<any, Set<Scheduler>>}
 */
const followers = new WeakMap()
/** Number of listeners per event type. @type {Map<string, number>} */
const listenerCounts = new Map()

/** Changes the number of listeners of a type. @param {string} type @param {number} change */
function countListeners(type, change) {
  const count = (listenerCounts.get(type) ?? 0) + change
  listenerCounts.set(type, count)
  extend.markInternal(armLastListener)
  extend.markInternal(onLastListener)
  if (count > 0) globalThis.addEventListener?.(type, armLastListener, { capture: true, passive: true })
  else globalThis.removeEventListener?.(type, armLastListener, { capture: true })
}

/** @param {any} event */
function armLastListener(event) {
  const target = event.bubbles ? event.composedPath().at(-1) : event.target
  target.removeEventListener(event.type, onLastListener)
  target.addEventListener(event.type, onLastListener, { once: true })
  followers.set(event, new Set())
}

/** @param {any} event */
function onLastListener(event) {
  const schedulers = followers.get(event)
  if (schedulers !== undefined && schedulers.size > 0) runInMicrotask(schedulers)
}

/**
 * Runs the jobs of a scheduler after the last listener of an event.
 *
 * @param {any} event @param {Scheduler} scheduler
 */
function runAfter(event, scheduler) {
  const schedulers = followers.get(event)
  if (schedulers === undefined) runInMicrotask([scheduler]) // the window does not see this event
  else schedulers.add(scheduler)
}

/**
 * Waits for a microtask, because code that dispatches an event continues afterwards.
 *
 * @param {Set<Scheduler> | Scheduler[]} schedulers
 */
function runInMicrotask(schedulers) {
  queueMicrotask(() => extend.event(() => {}, schedulers))
}

/**
 * The listeners of a target, by type and options. All handlers with equal options share a listener.
 *
 * @type {WeakMap<any, Map<string, { handlers: Set<(event: any) => void>, notify: (event: any) => void }>>}
 */
const listeners = new WeakMap()

/**
 * @param {any} target @param {string} type @param {boolean} capture @param {boolean | undefined} passive
 * @param {(event: any) => void} handler
 * @returns {() => void} removes the handler
 */
function addHandler(target, type, capture, passive, handler) {
  let known = listeners.get(target)
  if (known === undefined) listeners.set(target, known = new Map())
  const key = `${type} ${capture} ${passive}`
  let listener = known.get(key)
  if (listener === undefined) {
    /** @type {Set<(event: any) => void>} */
    const handlers = new Set()
    const notify = (/** @type {any} */ event) => {
      // The rule of the DOM: handlers that were added or removed during this event do not get it.
      membersOf(handlers).forEach(handler => { if (handlers.has(handler)) handler(event) })
    }
    countListeners(type, 1)
    extend.markInternal(notify)
    target.addEventListener(type, notify, passive === undefined ? { capture } : { capture, passive })
    known.set(key, listener = { handlers, notify })
  }
  const { handlers, notify } = listener
  handlers.add(handler)
  return () => {
    handlers.delete(handler)
    if (handlers.size > 0) return
    known.delete(key)
    countListeners(type, -1)
    target.removeEventListener(type, notify, { capture })
  }
}

/**
 * Returns the time of an event.
 *
 * @internal
 * @param {Scheduler} scheduler @param {any} event @returns {number} host timestamp, ms
 */
export function releaseOf(scheduler, event) {
  const now = scheduler.now()
  const time = scheduler.host.eventTime?.(event) ?? event.timeStamp
  return time > 0 && time < now ? time : now // a time stamp of 0, or in the future, is not valid
}

/**
 * The state of `interrupts()` and `noInterrupts()`.
 *
 * @internal
 */
export class InterruptMask {
  isOn = true
  /** Whether events that arrive now are lost. */
  drops = false
  #switched

  /** @param {() => void} switched called after each change */
  constructor(switched) {
    this.#switched = switched
  }

  interrupts() {
    this.#set(true, false)
  }
  /** @param {{ drop?: boolean }} [options] */
  noInterrupts(options = {}) {
    this.#set(false, checked(options, { drop: flag }).drop ?? false)
  }

  /** @param {boolean} isOn @param {boolean} drops */
  #set(isOn, drops) {
    this.isOn = isOn
    this.drops = drops
    this.#switched()
  }
}

/** An event on its way to its handler. @typedef {{ args: any[], release: number }} QueuedEvent */

/**
 * @template [R=object | undefined]
 * @typedef {object} Handling made by `on`, and by `interrupt` of addons/reservations.mjs
 * @property {() => boolean} cancel stops handling events. Waiting events are lost; the running job continues.
 *   Returns `true` if further events would have been handled
 * @property {() => void} interrupts handles events again, starting with the held events
 * @property {(options?: { drop?: boolean }) => void} noInterrupts holds events back until `interrupts()`;
 *   with `drop`, events that arrive until then are lost
 * @property {R} reservation pays for the jobs of the handler
 * @property {number} waiting number of events that wait
 * @property {number} dropped number of lost events: because `size` events waited, because of `excess`,
 *   `noInterrupts({ drop: true })` or `cancel`
 */

/**
 * Handles the events of a target and type:
 *
 *   listener -> before -> raised -> deliver() -> delivered -> start() -> job of the handler
 *
 * Events wait in `raised` while interrupts are off. With `excess: 'queue'`, the next event waits as a job of
 * the line, and the others in `delivered`. `interrupt` of addons/reservations.mjs overrides `drops`,
 * `deliver`, `start` and `settled`.
 *
 * @internal
 */
export class EventHandler extends Handle {
  dropped = 0
  /** Whether the listener has been removed. */
  isOver = false
  /** Whether waiting events are lost. */
  isCancelled = false
  /** Whether the listener is on the stack. `before` can cancel the handler. */
  isHearing = false
  mask = new InterruptMask(() => this.deliver())
  /** @type {Fifo<QueuedEvent>} */
  raised = new Fifo()
  /** @type {Fifo<QueuedEvent>} */
  delivered = new Fifo()
  /** @type {Subscription | null} */
  #subscription = null

  /**
   * @param {JobSource} source @param {any} options the options of `on`
   * @param {any} [reservation] the reservation that pays for the jobs
   */
  constructor(source, options, reservation = source.parameter('reservation')) {
    super()
    const { line, scheduler } = source
    this.source = source
    this.options = options
    this.size = options.size ?? Infinity
    this.reservation = reservation
    if (line === null) return
    const next = () => { this.start(/** @type {QueuedEvent} */ (this.delivered.shift())) }
    line.onAdvanced = () => { if (this.delivered.size > 0) extend.callUser(scheduler, 'release', next) }
    line.onLost = () => { this.dropped++ }
  }

  /** @returns {number} */
  get waiting() {
    return this.raised.size + this.delivered.size + (this.source.line?.waiting ?? 0)
  }

  /** Whether events that arrive now are lost. */
  get drops() {
    const { line } = this.source
    const waiting = line?.excess === 'latest' ? this.raised.size : this.waiting
    return this.mask.drops || waiting >= this.size
  }

  /** Hands raised events to the handler. */
  deliver() {
    while (this.mask.isOn && this.raised.size > 0) {
      this.handle(/** @type {QueuedEvent} */ (this.raised.shift()))
    }
  }

  /** @param {QueuedEvent} event */
  handle(event) {
    const { line } = this.source
    if (line?.excess === 'queue' && line.waiting > 0) this.delivered.push(event)
    else this.start(event)
  }

  /** Releases the job of an event. @param {QueuedEvent} event @returns {Job | null} */
  start({ args, release }) {
    const job = this.source.release({ release, reservation: this.reservation }, args)
    if (job === null) this.dropped++
    return job
  }

  /** Called after each event, for extensions that act on the last one. */
  settled() {}

  interrupts() {
    this.mask.interrupts()
  }
  /** @param {{ drop?: boolean }} [options] */
  noInterrupts(options) {
    this.mask.noInterrupts(options)
  }

  cancel() {
    const isActive = /** @type {Subscription} */ (this.#subscription).cancel() || this.waiting > 0
    this.drop()
    return isActive
  }

  /** Discards the waiting events, and counts them as dropped. */
  drop() {
    const { raised, delivered } = this
    this.dropped += raised.size + delivered.size
    while (raised.size > 0) raised.shift()
    while (delivered.size > 0) delivered.shift()
    this.source.line?.clear()
    this.isCancelled = true
    this.settled()
  }

  /** @param {any} target @param {string} type @returns {any} the handler, as a Handling */
  listen(target, type) {
    const { source: { scheduler } } = this
    const { before, once = false, passive, capture = false, signal } = this.options
    const hear = (/** @type {any} */ event) => {
      const release = releaseOf(scheduler, event)
      const picked = before?.(event)
      if (this.drops) return void this.dropped++
      this.raised.push({ args: [picked === undefined ? event : picked], release })
      this.deliver()
    }
    const name = before && nameOf(before)
    hear.of = name === 'before' ? '' : name
    const removeListener = addHandler(target, type, capture, passive, event => {
      if (once) this.#subscription?.cancel()
      runAfter(event, scheduler)
      this.isHearing = true
      extend.callUser(scheduler, `before ${type}`, hear, event)
      this.isHearing = false
      this.settled()
    })
    const release = extend.hold(scheduler)
    this.#subscription = new Subscription(signal, () => {
      removeListener()
      release()
      this.isOver = true
      if (signal?.aborted) this.drop()
    })
    return this
  }
}

/** @internal @param {any} target @param {any} type */
export function checkTarget(target, type) {
  if (typeof target?.addEventListener !== 'function' || typeof target.removeEventListener !== 'function') {
    throw wrongType('target', 'an EventTarget', target)
  }
  text('type', type)
}

/** The options of `on`. @internal */
export const HANDLING = /* @__PURE__ */ tableOf(RELEASE, {
  signal: signalOption, before: callable, once: flag, passive: flag, capture: flag, size: countOption
})

/**
 * The events of a type: the parameter of the handler that the target has as a property, such as `onkeydown`.
 *
 * @template T @template {string} K
 * @typedef {T extends { [P in `on${K}`]: infer H } ? NonNullable<H> extends
 *   (event: infer E, ...rest: any) => any ? E extends Event ? E : Event : Event : Event} EventOf
 */
/**
 * Rejects work that cannot handle an event, or the return value of `before`. A handler can declare a more
 * specific event than the target does.
 *
 * @internal
 * @template W @template V
 * @typedef {ArgumentsOf<W> extends [] | [event?: V] ? Checked<W> : Taking<W, [V]>} Handles
 */
/**
 * Handles events in jobs: releases a job per event. The release is the time stamp of the event, so the
 * deadline includes the time for which the event waited in the event loop.
 *
 * Handlers of one target and type share a listener. Their jobs run directly after the last listener of the
 * event, in the same task of the event loop, for at most a slice. If a listener stops the event, they run in
 * the next round.
 *
 * Use `interrupt` of addons/reservations.mjs for events whose rate the page does not control: it bounds their
 * processor time.
 *
 * @template {EventTarget} T @template {string} K @template {Releasable} W
 * @template {Event} [E=EventOf<T, K>] @template [V=E]
 * @param {T} target
 * @param {K} type
 * @param {(W | ((value: NoInfer<V>) => unknown)) & Handles<W, NoInfer<V>>} task called with the event, or
 *   with the return value of `before` unless that is undefined
 * @param {ReleaseOptions & { before?: (event: E) => V | void, once?: boolean, passive?: boolean,
 *   capture?: boolean, signal?: AbortSignal, size?: number }} [options] `before`: runs inside the listener,
 *   for example to call preventDefault, or to read the event while it lasts; if it throws, no job is
 *   released. In TypeScript, declare its parameter: `before: (event: KeyboardEvent) => event.key`. `once`:
 *   handles one event. `passive`: see addEventListener. `capture`: see addEventListener. `signal`: ends the
 *   handling. `size`: the number of events that may wait, default Infinity; further events are lost
 * @returns {Handling}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const field = Object.assign(new EventTarget(), { value: 'rt' }) // for example an input element
 * const search = function* (text = '') { console.log(`results for ${text}`) }
 * const searching = on(field, 'input', search, { before: () => field.value, excess: 'restart' })
 * field.dispatchEvent(new Event('input'))
 * await rt.idle() // → results for rt
 * searching.cancel()
 */
export function on(target, type, task, options = {}) {
  checkTarget(target, type)
  const { size = Infinity } = checked(options, HANDLING)
  const source = new JobSource('task', task, options, size < Infinity ? 'queue' : undefined)
  return new EventHandler(source, options).listen(target, type)
}

/** Waits for the next event of an event queue. */
class NextEvent extends Waitable {
  #queue
  /** @type {Scheduler | null} */
  scheduler = null

  /** @param {EventQueue} queue @param {{ signal?: AbortSignal }} options */
  constructor(queue, options) {
    super(options)
    this.#queue = queue
  }

  get handsOver() { return true }
  get isExternal() { return true }
  try() {
    return this.#queue.take(this)
  }
  enter() {
    this.scheduler = here()
    this.#queue.receivers.push(this)
  }
}

/** A queue of the events of a target and type. */
class EventQueue extends Handle {
  /** Number of lost events. */
  dropped = 0
  /** @internal */
  receivers = new WaitQueue()
  /** @type {Fifo<any>} */
  #events = new Fifo()
  /** The reason with which waits fail after the end; null before. @type {{ reason: unknown } | null} */
  #end = null
  #subscription

  /**
   * @param {any} target @param {string} type
   * @param {{ size?: number, overflow?: string, signal?: AbortSignal }} options
   */
  constructor(target, type, { size = Infinity, overflow, signal }) {
    super()
    const removeListener = addHandler(target, type, false, undefined, event => {
      const receiver = /** @type {NextEvent | null} */ (this.receivers.shift())
      if (receiver !== null) {
        runAfter(event, /** @type {Scheduler} */ (receiver.scheduler))
        receiver.wake(event)
      } else {
        if (overflow === 'slide' || this.#events.size < size) this.#events.push(event)
        else this.dropped++
        if (this.#events.size <= size) return
        this.#events.shift()
        this.dropped++
      }
    })
    this.#subscription = new Subscription(signal, () => {
      removeListener()
      const error = new DOMException('The events were cancelled', 'AbortError')
      const reason = signal?.aborted ? signal.reason : error
      this.#end = { reason }
      this.#events = new Fifo()
      for (let next = this.receivers.shift(); next !== null; next = this.receivers.shift()) next.fail(reason)
    })
  }

  /** @internal A job that yields the queue waits for the next event. */
  get [extend.protocol]() {
    return { waitable: () => this.receive() }
  }
  /** Number of events in the queue. */
  get length() { return this.#events.size }

  /** @param {{ signal?: AbortSignal }} [options] @returns {Awaitable<any>} the next event */
  receive(options = {}) {
    return /** @type {any} */ (new NextEvent(this, checked(options, { signal: signalOption })))
  }
  /** @internal @param {NextEvent} receiver @returns {boolean} */
  take(receiver) {
    if (this.#end !== null) return receiver.reject(this.#end.reason)
    return this.#events.size > 0 && receiver.fulfill(this.#events.shift())
  }

  /** @returns {boolean} */
  cancel() {
    return this.#subscription.cancel()
  }

  /** @param {any} [onDone] @param {any} [onFailed] @returns {Promise<any>} */
  then(onDone, onFailed) {
    return /** @type {any} */ (this.receive()).then(onDone, onFailed)
  }
  async *[Symbol.asyncIterator]() {
    try {
      for (;;) yield await this.receive()
    } catch (error) {
      const end = this.#end
      if (end === null || end.reason !== error) throw error
    } finally {
      this.cancel()
    }
  }
}

const EVENTS = /* @__PURE__ */ tableOf({
  size: sizeOption, overflow: /* @__PURE__ */ among('block', 'drop', 'slide'), signal: signalOption
})

/**
 * The queue of `events`; `cancel` ends it.
 *
 * @template E
 * @typedef {AsyncIterable<E> & PromiseLike<E> & { receive(options?: { signal?: AbortSignal }): Awaitable<E>,
 *   cancel(): boolean, readonly length: number, readonly dropped: number }} Events
 */
/**
 * Collects the events of a target in a queue. Async code iterates over the queue; a job yields it, or
 * `receive()`, for the next event.
 *
 * @template {Event} [E=never] @template {EventTarget} [T=EventTarget] @template {string} [K=string]
 * @param {T} target
 * @param {K} type
 * @param {{ size?: number, overflow?: 'block' | 'drop' | 'slide', signal?: AbortSignal }} [options] `size`:
 *   the number of events that the queue keeps, an integer >= 0, default Infinity. `overflow`: a full queue
 *   loses the oldest event ('slide'), or the new event ('drop'). 'block' (default) is 'drop' here, because a
 *   listener cannot wait. `signal` ends the queue, and all waits fail with its reason
 * @returns {Events<[E] extends [never] ? EventOf<T, K> : E>}
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const target = new EventTarget()
 * const keys = events(target, 'key')
 * target.dispatchEvent(new Event('key'))
 * const { type } = await keys.receive() // in a job: yield keys
 * console.log(type) // → key
 * keys.cancel()
 */
export function events(target, type, options = {}) {
  checkTarget(target, type)
  return new EventQueue(target, type, checked(options, EVENTS))
}

/** @typedef {{ source: JobSource, isDirect: boolean, isCancelled: boolean, keys: Keys }} Handler */

/**
 * The keys of the jobs of a handler, as far as its parameters determine them.
 *
 * @param {JobSource} source @returns {Keys}
 */
function keysOf(source) {
  const priority = source.parameter('priority') ?? 0
  const period = source.parameter('period') ?? Infinity
  const deadline = source.parameter('deadline') ?? Infinity
  const assigned = source.scheduler.policy.priority?.({ deadline, priority, period })
  return { absoluteDeadline: deadline, priority: assigned ?? priority }
}

/**
 * An event that code fires: any number of handlers run as jobs, the most eligible first.
 *
 * `fire` releases only the most eligible handler. The start of each job releases the next handler, so the
 * first handler runs as soon with a thousand handlers after it as alone (the priority inversion test of
 * RTJPerf). Handlers with a reservation or an `excess` are released immediately, because their parameters do
 * not tell when they can run.
 *
 * @template {any[]} [A=[]] the arguments of `fire`
 *
 * @example
 * const changed = new AsyncEvent()
 * changed.handle(() => console.log('background'), { deadline: 1000 })
 * changed.handle(() => console.log('urgent'), { deadline: 10 })
 * changed.fire()
 * await rt.idle() // → urgent, background
 */
export class AsyncEvent {
  /** In order of eligibility. The array is never changed in place. @type {Handler[]} */
  #handlers = []
  #scheduler
  /** The policy that ordered the handlers. */
  #policy

  /** @param {{ scheduler?: Scheduler }} [options] @throws {TypeError} if an option has the wrong type */
  constructor(options = {}) {
    this.#scheduler = here(checked(options, SCHEDULER))
    this.#policy = this.#scheduler.policy
  }

  /**
   * Adds a handler.
   *
   * @template {Releasable} W
   * @param {(W | ((...args: A) => unknown)) & Taking<W, A>} task called with the arguments of `fire`
   * @param {ReleaseOptions} [options] parameters of the jobs; with the parameters of the task, they order the
   *   handlers
   * @returns {{ cancel(): boolean }}
   * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
   */
  handle(task, options = {}) {
    const scheduler = this.#scheduler
    const source = new JobSource('task', task, checked(options, RELEASE))
    const own = source.parameter('scheduler')
    if (own !== undefined && own !== scheduler) {
      throw new TypeError('scheduler must be the scheduler of the event')
    }
    source.scheduler = scheduler
    const isDirect = source.parameter('reservation') !== undefined || source.line !== null
    const handler = { source, isDirect, isCancelled: false, keys: keysOf(source) }
    this.#arrange(this.#handlers.concat(handler))
    return new Subscription(undefined, () => {
      handler.isCancelled = true
      source.line?.clear()
      this.#handlers = this.#handlers.filter(other => other !== handler)
    })
  }

  /** Releases the handlers; their deadlines count from this call. @param {A} args */
  fire(...args) {
    const { policy } = this.#scheduler
    if (policy !== this.#policy) {
      this.#policy = policy
      this.#handlers.forEach(handler => { handler.keys = keysOf(handler.source) })
      this.#arrange(this.#handlers)
    }
    this.#pass(this.#handlers, 0, this.#scheduler.now(), args)
  }

  /** @param {Handler[]} handlers */
  #arrange(handlers) {
    this.#handlers = handlers.toSorted((a, b) =>
      Number(b.isDirect) - Number(a.isDirect) || this.#policy.compare(a.keys, b.keys))
  }

  /**
   * Releases the handlers from `index` on, up to the first handler that passes the event on when it starts.
   *
   * @param {Handler[]} handlers @param {number} index @param {number} release @param {any[]} args
   */
  #pass(handlers, index, release, args) {
    for (; index < handlers.length; index++) {
      const { isCancelled, isDirect, source } = handlers[index]
      if (isCancelled) continue
      try {
        if (!isDirect) return this.#chain(handlers, index, release, args)
        source.release({ release }, args)
      } catch (error) {
        extend.at(this.#scheduler, release, () => { throw error }) // the caller of `fire` must not get it
      }
    }
  }

  /**
   * Releases a handler that passes the event on when it starts, or if it is cancelled before.
   *
   * @param {Handler[]} handlers @param {number} index @param {number} release @param {any[]} args
   */
  #chain(handlers, index, release, args) {
    const { source } = handlers[index]
    const { task } = source
    let next = index + 1
    const passOn = () => {
      const first = next
      next = handlers.length
      this.#pass(handlers, first, release, args)
    }
    const run = (/** @type {any[]} */ ...args) => {
      // At the next reading of the clock, so that this job does not pay for the releases of the others.
      if (next < handlers.length) extend.at(this.#scheduler, release, passOn)
      return apply(extend.preemptible(task.run), task, args)
    }
    const job = source.release({ release }, args, Object.create(task, { run: extend.hiddenProperty(run) }))
    extend.ended(/** @type {Job} */ (job), passOn)
  }
}
