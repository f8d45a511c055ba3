/**
 * alarms.mjs: what makes work start. Alarms, waiting for time, and releases: periodic, sporadic, by animation frame,
 * by event.
 *
 * Alarms fire from inside the dispatcher, between budgets, while jobs run; when it is idle one host timer waits for the
 * earliest (RT.js III-D). Activation times are absolute: a late alarm delays none of its successors.
 *
 * Everything acts on the scheduler of the running job; outside jobs on `options.scheduler`, by default `rt`.
 *
 * @module alarms
 */

import { Job, Scheduler, Task, seam } from './rt.mjs'

const { Waitable, here } = seam

/** @typedef {import('./rt.mjs').TaskOptions} TaskOptions */
/** @typedef {Task | ((...args: any[]) => any)} Work */

// ------------------------------------------------------------------------------------- errors and input checks

/** What was waited for did not come in time. */
export class TimeoutError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message)
    this.name = 'TimeoutError'
  }
}

/** @param {unknown} value */
const describe = value => typeof value === 'string' ? JSON.stringify(value)
  : typeof value === 'function' ? `function ${value.name || '(anonymous)'}`
  : typeof value === 'object' && value !== null ? `an object (${value.constructor?.name ?? 'no constructor'})`
  : String(value)

/** @param {string} name @param {string} wanted @param {unknown} value @param {boolean} valid @returns {number} */
function number(name, wanted, value, valid) {
  if (typeof value !== 'number') throw new TypeError(`${name} must be ${wanted}, got ${describe(value)}`)
  if (!valid) throw new RangeError(`${name} must be ${wanted}, got ${describe(value)}`)
  return value
}
/** @param {string} name @param {any} value */
const duration = (name, value) => number(name, 'a finite number >= 0', value, Number.isFinite(value) && value >= 0)
/** @param {string} name @param {any} value */
const interval = (name, value) => number(name, 'a finite number > 0', value, Number.isFinite(value) && value > 0)
/** @param {string} name @param {any} value */
const timestamp = (name, value) => number(name, 'a finite number', value, Number.isFinite(value))
/** @param {any} value */
const times = value => number('count', 'an integer >= 1 or Infinity', value,
  value >= 1 && (value === Infinity || Number.isSafeInteger(value)))

/** @param {string} name @param {any} value @param {readonly string[]} choices */
function oneOf(name, value, choices) {
  if (choices.includes(value)) return value
  throw new TypeError(`${name} must be ${choices.map(choice => `'${choice}'`).join(' or ')}, got ${describe(value)}`)
}

/** @param {any} options */
function optionsOf(options) {
  if (typeof options === 'object' && options !== null) return options
  throw new TypeError(`options must be an object, got ${describe(options)}`)
}

/** @param {string} name @param {any} value @returns {any} */
function callable(name, value) {
  if (typeof value === 'function') return value
  throw new TypeError(`${name} must be a function, got ${describe(value)}`)
}

/**
 * The task of `work`, with `options` before its own parameters and `defaults` behind them.
 *
 * @param {any} work @param {any} options @param {TaskOptions} [defaults] @returns {Task}
 */
function taskOf(work, options, defaults = {}) {
  if (!(work instanceof Task)) return new Task(callable('task', work), { ...defaults, ...given(options) })
  const own = given(work)
  if (own.deadline === Infinity) delete own.deadline
  return new Task(work.run.bind(work), { ...defaults, ...own, ...given(options) })
}

/** Parameters of a task that are set. @param {any} source @returns {any} */
function given(source) {
  /** @type {any} */
  const found = {}
  for (const name of ['name', 'deadline', 'priority', 'period', 'wcet', 'budget', 'miss', 'onMiss', 'onOverrun',
    'reservation', 'uses', 'scheduler']) {
    if (source[name] !== undefined) found[name] = source[name]
  }
  return found
}

/** Calls `end` when the signal is aborted. @param {any} signal @param {() => void} end @returns {() => void} ends it */
function follow(signal, end) {
  if (signal === undefined) return () => {}
  if (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function') {
    throw new TypeError(`signal must be an AbortSignal, got ${describe(signal)}`)
  }
  signal.addEventListener('abort', end)
  return () => signal.removeEventListener('abort', end)
}

// ----------------------------------------------------------------------------------------------- 1 alarms

const GENERATORS = ['GeneratorFunction', 'AsyncFunction']

/**
 * What an alarm does: calls a callback in the dispatcher, or releases a job whose deadline counts from the alarm's time.
 *
 * @param {any} work @param {any} options @param {Scheduler} scheduler
 * @returns {(time: number) => void}
 */
function activationOf(work, options, scheduler) {
  if (!(work instanceof Task) && !GENERATORS.includes(callable('work', work)[Symbol.toStringTag])) return work
  const task = taskOf(work, options)
  return time => { scheduler.spawn(task, { release: time }) }
}

/** A time at which something happens, once or again and again. Made by `after`, `at` and `every`. */
export class Alarm {
  #scheduler
  #work
  #next
  #ref
  #unfollow
  #over = false
  /** @type {{ readonly time: number, cancel(): boolean } | null} */
  #entry = null

  /**
   * @internal
   * @param {Scheduler} scheduler @param {number} time
   * @param {(time: number) => void} work @param {(time: number) => number | undefined} next when it fires again
   * @param {{ ref?: boolean, signal?: AbortSignal }} options
   */
  constructor(scheduler, time, work, next, { ref = true, signal }) {
    if (typeof ref !== 'boolean') throw new TypeError(`ref must be a boolean, got ${describe(ref)}`)
    this.#scheduler = scheduler
    this.#work = work
    this.#next = next
    this.#ref = ref
    this.#unfollow = follow(signal, () => { this.cancel() })
    if (signal?.aborted) this.cancel()
    else this.#set(time)
  }

  /** @param {number} time */
  #set(time) {
    this.#entry = seam.at(this.#scheduler, time, () => this.#fire(time), { ref: this.#ref })
  }

  /** @param {number} time */
  #fire(time) {
    this.#entry = null
    const next = this.#next(time)
    // Before the work, which may cancel the alarm, or throw.
    if (next !== undefined) this.#set(next)
    else this.cancel()
    this.#work(time)
  }

  /** When it fires next, host timestamp in ms; undefined when it has fired for the last time or was cancelled. */
  get time() { return this.#entry?.time }

  /** @returns {boolean} whether it would still have fired */
  cancel() {
    if (this.#over) return false
    this.#over = true
    this.#unfollow()
    const entry = this.#entry
    this.#entry = null
    return entry !== null && entry.cancel()
  }
}

/**
 * @typedef {TaskOptions & { ref?: boolean, signal?: AbortSignal }} AlarmOptions
 *   those of the jobs it releases; `ref: false` does not keep the process alive; `signal` cancels the alarm
 */

/**
 * Once, after a time.
 *
 * @param {number} ms >= 0
 * @param {Work} work a callback, called in the dispatcher with the alarm's time; or a Task, a generator function or an
 *   async function, which is released as a job whose deadline counts from the alarm's time
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function after(ms, work, options = {}) {
  duration('ms', ms)
  const scheduler = here(optionsOf(options))
  return new Alarm(scheduler, scheduler.now() + ms, activationOf(work, options, scheduler), once, options)
}

/**
 * Once, at a time; at once when that has passed.
 *
 * @param {number} time host timestamp, ms
 * @param {Work} work as for `after`
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function at(time, work, options = {}) {
  timestamp('time', time)
  const scheduler = here(optionsOf(options))
  return new Alarm(scheduler, time, activationOf(work, options, scheduler), once, options)
}

const once = () => undefined

/**
 * Again and again, at absolute times: it does not drift.
 *
 * @param {number} period ms, > 0
 * @param {Work} work as for `after`
 * @param {AlarmOptions & { phase?: number, count?: number, catchUp?: 'skip' | 'all' }} [options] `phase`: ms until the
 *   first time, default one period; `count`: how often it fires, default Infinity; `catchUp`: what happens to times that
 *   passed while the page slept: 'skip' (default) fires for the latest only, 'all' for each
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function every(period, work, options = {}) {
  interval('period', period)
  const { phase = period, count = Infinity, catchUp = 'skip' } = optionsOf(options)
  const scheduler = here(options)
  const cycle = new Cycle(scheduler, scheduler.now() + duration('phase', phase), period, times(count),
    oneOf('catchUp', catchUp, ['skip', 'all']))
  const activate = activationOf(work, options, scheduler)
  return new Alarm(scheduler, cycle.time, () => activate(cycle.fired), () => cycle.advance(), options)
}

/** Times `origin + index * period`: multiplied, not added up, so that hours do not drift. */
class Cycle {
  index = 0
  /** The time for which it fired last. */
  fired = NaN

  /**
   * @param {Scheduler} scheduler @param {number} origin @param {number} period @param {number} left
   * @param {'skip' | 'all'} catchUp
   */
  constructor(scheduler, origin, period, left, catchUp) {
    this.scheduler = scheduler
    this.origin = origin
    this.period = period
    this.left = left
    this.catchUp = catchUp
  }

  get time() { return this.origin + this.index * this.period }

  /** It fires: for the latest time that has come, or for the next. @returns {number | undefined} when it fires again */
  advance() {
    if (this.catchUp === 'skip') {
      const now = this.scheduler.now()
      const latest = Math.floor((now - this.origin) / this.period)
      if (latest > this.index) this.index = latest
    }
    this.fired = this.time
    this.index++
    return --this.left > 0 ? this.time : undefined
  }
}

// ----------------------------------------------------------------------------------------------- 2 waiting

/** Waits for a time. */
class Moment extends Waitable {
  #timeOf
  #options
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /** @param {(scheduler: Scheduler) => number} timeOf @param {{ scheduler?: Scheduler }} [options] */
  constructor(timeOf, options) {
    super()
    this.#timeOf = timeOf
    this.#options = options
  }
  begin() {
    const scheduler = here(this.#options)
    this.#entry = seam.at(scheduler, this.#timeOf(scheduler), () => this.wake())
  }
  undo() {
    this.#entry?.cancel()
  }
}

/**
 * Waits for some time, from when it is yielded or awaited.
 *
 * @param {number} ms >= 0
 * @param {{ scheduler?: Scheduler }} [options]
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sleep(ms, options) {
  duration('ms', ms)
  return new Moment(scheduler => scheduler.now() + ms, options)
}

/**
 * Waits until a time.
 *
 * @param {number} time host timestamp, ms
 * @param {{ scheduler?: Scheduler }} [options]
 * @throws {TypeError | RangeError} naming the parameter
 */
export function until(time, options) {
  timestamp('time', time)
  return new Moment(() => time, options)
}

/** Waits for something, and for a time at the longest. */
class Timeout extends Waitable {
  #ms
  #awaited
  #options
  /** @type {{ cancel(): boolean } | null} */
  #entry = null
  /** @type {{ job: Job | null, woken: () => void } | null} */
  #waiter = null

  /** @param {number} ms @param {InstanceType<typeof Waitable>} awaited @param {{ scheduler?: Scheduler }} [options] */
  constructor(ms, awaited, options) {
    super()
    this.#ms = ms
    this.#awaited = awaited
    this.#options = options
  }

  /** @param {Job | null} job */
  begin(job) {
    const scheduler = here(this.#options)
    const waiter = this.#waiter = { job, woken: () => this.#hear() }
    if (this.#awaited.enlist(waiter)) return this.#hear()
    this.#entry = seam.at(scheduler, scheduler.now() + this.#ms, () => {
      this.#awaited.leave(waiter)
      this.fail(new TimeoutError(`not within ${this.#ms} ms`))
    })
  }

  #hear() {
    this.#entry?.cancel()
    if (this.#awaited.isFulfilled) this.wake(this.#awaited.outcome)
    else this.fail(this.#awaited.outcome)
  }

  undo() {
    this.#entry?.cancel()
    if (this.#waiter !== null) this.#awaited.leave(this.#waiter)
  }

  refresh() {
    this.#awaited.refresh()
  }
}

/**
 * Waits for something, at the longest for a time, and lets go of it then.
 *
 * @param {number} ms >= 0, from when it is yielded or awaited
 * @param {any} awaited a promise, a job or a waitable
 * @param {{ scheduler?: Scheduler }} [options]
 * @returns {Timeout} fails with a TimeoutError
 * @throws {TypeError | RangeError} naming the parameter
 */
export function timeout(ms, awaited, options) {
  duration('ms', ms)
  const waitable = Waitable.of(awaited)
  if (waitable === null) {
    throw new TypeError(`timeout() waits for a promise, a job or a waitable, got ${describe(awaited)}`)
  }
  return new Timeout(ms, waitable, options)
}

// ---------------------------------------------------------------------------------------------- 3 releases

/** The last samples of a quantity. */
class Samples {
  /** @type {number[]} */
  #ring = []
  #count = 0

  /** @param {number} value ms */
  add(value) {
    this.#ring[this.#count++ % 1000] = value
  }

  /** @returns {{ count: number, min: number, mean: number, p99: number, max: number }} of the last 1000; NaN of none */
  summary() {
    const sorted = this.#ring.toSorted((a, b) => a - b)
    const { length } = sorted
    return {
      count: this.#count,
      min: sorted[0] ?? NaN,
      mean: sorted.reduce((sum, value) => sum + value, 0) / length,
      p99: sorted[Math.ceil(length * 0.99) - 1] ?? NaN,
      max: sorted[length - 1] ?? NaN
    }
  }
}

/** @param {Job} job @param {() => void} fn called when it has ended, in the dispatcher */
function whenEnded(job, fn) {
  const join = /** @type {InstanceType<typeof Waitable>} */ (Waitable.of(job))
  if (join.enlist({ job: null, woken: fn })) fn()
}

/** Releases a job every period (RTSJ: a periodic thread's release parameters). Made by `periodic`. */
class Periodic {
  #scheduler
  #task
  #excess
  #cycle
  #alarm
  /** The latest job, while it lives. @type {Job | null} */
  #job = null
  /** Times at which jobs are due that wait for their predecessor. @type {number[]} */
  #backlog = []
  #released = 0
  #skipped = 0
  #jitter = { release: new Samples(), start: new Samples(), finish: new Samples() }

  /** @internal @param {Scheduler} scheduler @param {Task} task @param {'skip' | 'queue' | 'abort'} excess @param {Cycle} cycle @param {any} options */
  constructor(scheduler, task, excess, cycle, options) {
    this.#scheduler = scheduler
    this.#task = task
    this.#excess = excess
    this.#cycle = cycle
    this.#alarm = new Alarm(scheduler, cycle.time, () => this.#due(cycle.fired), () => cycle.advance(), options)
  }

  /** Jobs released so far. */
  get jobs() { return this.#released }
  /** Periods for which no job was released because the previous one still ran. */
  get skipped() { return this.#skipped }

  /**
   * How far behind their periods jobs were released, started and finished: ms, over the last 1000.
   *
   * @returns {Record<'release' | 'start' | 'finish', { count: number, min: number, mean: number, p99: number, max: number }>}
   */
  jitter() {
    const { release, start, finish } = this.#jitter
    return { release: release.summary(), start: start.summary(), finish: finish.summary() }
  }

  /** Releases no more jobs; a loop is cancelled, other jobs run to their ends. @returns {boolean} whether it went on */
  cancel() {
    this.#backlog.length = 0
    const job = this.#job
    const looped = job !== null && loops.has(job) && job.cancel()
    return this.#alarm.cancel() || looped
  }

  /** @param {number} time */
  #due(time) {
    const job = this.#job
    if (job === null) return this.#release(time)
    if (loops.has(job)) return void this.#alarm.cancel() // it keeps its periods itself
    if (this.#excess === 'queue') {
      this.#backlog.push(time)
    } else if (this.#excess === 'abort') {
      job.cancel(new DOMException('The next period has begun', 'AbortError'))
      this.#release(time)
    } else {
      this.#skipped++
    }
  }

  /** @param {number} time */
  #release(time) {
    const released = this.#scheduler.now() - time
    this.#released++
    const job = this.#job = this.#scheduler.spawn(this.#task, { release: time })
    whenEnded(job, () => {
      if (job.started !== undefined) {
        this.#jitter.release.add(released)
        this.#jitter.start.add(job.started - time)
        this.#jitter.finish.add(/** @type {number} */ (job.finished) - time)
      }
      if (this.#job !== job) return
      this.#job = null
      const next = this.#backlog.shift()
      if (next !== undefined) this.#release(next)
    })
  }
}

/**
 * A periodic task: a job every period, or one job that loops with `yield nextPeriod()`.
 *
 * @param {Work} task
 * @param {AlarmOptions & { phase?: number, count?: number, excess?: 'skip' | 'queue' | 'abort' }} options `period` is
 *   the task's by default, `deadline` the period; `phase`: ms until the first release, default 0; `count`: the number of
 *   periods, default Infinity; `excess`: what happens when the previous job still runs at a release: 'skip' (default)
 *   leaves the period out, 'queue' releases the job when the previous one has ended, 'abort' cancels the previous one
 * @returns {Periodic} `{ cancel(), jobs, skipped, jitter() }`
 * @throws {TypeError | RangeError} naming the parameter
 */
export function periodic(task, options) {
  const { phase = 0, count = Infinity, excess = 'skip' } = optionsOf(options ?? {})
  const period = interval('period', options?.period ?? (task instanceof Task ? task.period : undefined))
  oneOf('excess', excess, ['skip', 'queue', 'abort'])
  const released = taskOf(task, { ...options, period }, { deadline: period })
  const scheduler = here(options)
  const cycle = new Cycle(scheduler, scheduler.now() + duration('phase', phase), period, times(count),
    excess === 'queue' ? 'all' : 'skip')
  return new Periodic(scheduler, released, excess, cycle, options ?? {})
}

/** Which period the jobs are in that loop over their periods. @type {WeakMap<Job, { origin: number, index: number }>} */
const loops = new WeakMap()

class NextPeriod extends Waitable {
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /** @param {Job | null} job */
  begin(job) {
    if (job === null) throw new TypeError('nextPeriod() is for jobs')
    const { period } = job
    if (period === Infinity) throw new TypeError(`nextPeriod() needs a job with a period; ${job.name} has none`)
    const scheduler = here()
    const loop = loops.get(job) ?? { origin: job.release, index: 0 }
    loops.set(job, loop)
    const index = Math.max(loop.index + 1, Math.ceil((scheduler.now() - loop.origin) / period))
    const time = loop.origin + index * period
    const missed = index - loop.index - 1
    this.#entry = seam.at(scheduler, time, () => {
      loop.index = index
      seam.renew(job, time)
      this.wake(missed)
    })
  }
  undo() {
    this.#entry?.cancel()
  }
}

/**
 * In a job with a period: waits for the beginning of its next one, from which its deadline then counts (RTSJ:
 * waitForNextPeriod).
 *
 * @returns {NextPeriod} gives the number of periods that have been missed
 */
export function nextPeriod() {
  return new NextPeriod()
}

/**
 * A sporadic task: its jobs are released at least `interarrival` apart.
 *
 * @param {Work} task
 * @param {TaskOptions & { interarrival: number, excess?: 'defer' | 'drop' }} options `interarrival`: ms, > 0; `excess`:
 *   what comes too early is released later ('defer', default) or not at all ('drop')
 * @returns {(...args: any[]) => Job | null} releases a job; null when it is dropped
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sporadic(task, options) {
  const { interarrival, excess = 'defer' } = optionsOf(options)
  interval('interarrival', interarrival)
  oneOf('excess', excess, ['defer', 'drop'])
  const released = taskOf(task, options)
  const scheduler = here(options)
  let earliest = -Infinity
  return (...args) => {
    const now = scheduler.now()
    if (now < earliest && excess === 'drop') return null
    const release = Math.max(now, earliest)
    earliest = release + interarrival
    return scheduler.spawn(released, { release }, ...args)
  }
}

/**
 * A job per animation frame; none while the page is hidden, none while the previous one still runs.
 *
 * @param {Work} task called with the frame's time
 * @param {TaskOptions & { signal?: AbortSignal }} [options] `deadline`: by default the frame's interval, as measured
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} naming the parameter; TypeError where there are no animation frames
 */
export function frames(task, options = {}) {
  const released = taskOf(task, optionsOf(options))
  const hasDeadline = released.deadline < Infinity
  const scheduler = here(options)
  const { host } = scheduler
  if (host.frame === undefined) throw new TypeError('there are no animation frames here')
  let interval = 1000 / 60
  let shown = -Infinity
  /** @type {Job | null} */
  let running = null
  /** @type {(() => void) | null} */
  let cancelFrame = null

  const request = () => { cancelFrame = /** @type {Required<import('./rt.mjs').Host>} */ (host).frame(onFrame) }
  const onFrame = (/** @type {number} */ time) => {
    request()
    if (time - shown > 4) interval = Math.min(time - shown, 1000 / 30)
    shown = time
    if (running !== null) return
    const release = scheduler.now()
    const job = running = scheduler.spawn(released, hasDeadline ? { release } : { release, deadline: interval }, time)
    whenEnded(job, () => { if (running === job) running = null })
  }
  const cancel = () => {
    const going = cancelFrame !== null
    cancelFrame?.()
    cancelFrame = null
    unfollow()
    return going
  }
  const unfollow = follow(options.signal, cancel)
  if (!options.signal?.aborted) request()
  return { cancel }
}

// ------------------------------------------------------------------------------------------------ 4 events

/** The listeners of a target, by what distinguishes them. @type {WeakMap<any, Map<string, Listener>>} */
const listeners = new WeakMap()

/** One listener for all handlers of a target and type. */
class Listener {
  /** @type {Set<(event: any) => void>} */
  handlers = new Set()

  /** @param {any} target @param {string} type @param {{ capture: boolean, passive: boolean | undefined }} options */
  static of(target, type, options) {
    let known = listeners.get(target)
    if (known === undefined) listeners.set(target, known = new Map())
    const key = `${type} ${options.capture} ${options.passive}`
    let listener = known.get(key)
    if (listener === undefined) known.set(key, listener = new Listener(target, type, options, known, key))
    return listener
  }

  /**
   * @param {any} target @param {string} type @param {{ capture: boolean, passive: boolean | undefined }} options
   * @param {Map<string, Listener>} known @param {string} key
   */
  constructor(target, type, options, known, key) {
    const { capture, passive } = options
    const listen = (/** @type {any} */ event) => { for (const handler of [...this.handlers]) handler(event) }
    target.addEventListener(type, listen, passive === undefined ? { capture } : { capture, passive })
    this.end = () => {
      target.removeEventListener(type, listen, { capture })
      known.delete(key)
    }
  }

  /** @param {(event: any) => void} handler @returns {boolean} */
  remove(handler) {
    const there = this.handlers.delete(handler)
    if (there && this.handlers.size === 0) this.end()
    return there
  }
}

/**
 * A job per event. It is released when the event happened, by its time stamp, so that the time it queued in the event
 * loop counts against the deadline. Handlers of one target and type share a listener.
 *
 * @param {EventTarget} target
 * @param {string} type
 * @param {Work} task called with the event, or with what `before` returned
 * @param {TaskOptions & { before?: (event: any) => any, once?: boolean, passive?: boolean, capture?: boolean,
 *   signal?: AbortSignal }} [options] `before` runs in the listener itself: for preventDefault, and to pick what the job
 *   needs before the event is gone
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function on(target, type, task, options = {}) {
  if (typeof target?.addEventListener !== 'function' || typeof target.removeEventListener !== 'function') {
    throw new TypeError(`target must be an EventTarget, got ${describe(target)}`)
  }
  if (typeof type !== 'string') throw new TypeError(`type must be a string, got ${describe(type)}`)
  const { before, once = false, passive, capture = false, signal } = optionsOf(options)
  if (before !== undefined) callable('before', before)
  const released = taskOf(task, options)
  const scheduler = here(options)
  const { host } = scheduler

  const handler = (/** @type {any} */ event) => {
    if (once) cancel()
    const now = scheduler.now()
    const happened = host.eventTime === undefined ? event.timeStamp : host.eventTime(event)
    const picked = before?.(event)
    // A time stamp of 0, or in the future, is none.
    scheduler.spawn(released, { release: happened > 0 && happened < now ? happened : now }, picked ?? event)
  }
  const cancel = () => {
    unfollow()
    return listener.remove(handler)
  }
  const unfollow = follow(signal, cancel)
  const listener = Listener.of(target, type, { capture: Boolean(capture), passive })
  listener.handlers.add(handler)
  if (signal?.aborted) cancel()
  return { cancel }
}

/**
 * An asynchronous event (RTSJ): something that happens in the program and that any number of handlers handle, the most
 * eligible first.
 *
 * Firing releases one handler only; each releases the next less eligible one when it starts. So the most eligible runs
 * as soon with a thousand others behind it as alone (RTJPerf's priority-inversion test).
 */
export class AsyncEvent {
  /** In order of eligibility; replaced, never changed. @type {Handler[]} */
  #handlers = []
  #scheduler

  /** @param {{ scheduler?: Scheduler }} [options] */
  constructor(options = {}) {
    this.#scheduler = here(optionsOf(options))
  }

  /**
   * @param {Work} task called with the arguments of `fire`
   * @param {TaskOptions} [options]
   * @returns {{ cancel(): boolean }}
   * @throws {TypeError | RangeError} naming the parameter
   */
  handle(task, options = {}) {
    const handler = new Handler(taskOf(task, optionsOf(options)), this.#scheduler)
    const place = this.#handlers.findIndex(other => other.compare(handler) > 0)
    this.#handlers = this.#handlers.toSpliced(place < 0 ? this.#handlers.length : place, 0, handler)
    return {
      cancel: () => {
        const there = !handler.cancelled
        handler.cancelled = true
        this.#handlers = this.#handlers.filter(other => other !== handler)
        return there
      }
    }
  }

  /** Releases the handlers, as of now. @param {...any} args */
  fire(...args) {
    releaseFrom(this.#handlers, 0, this.#scheduler, this.#scheduler.now(), args)
  }
}

class Handler {
  cancelled = false

  /** @param {Task} task @param {Scheduler} scheduler */
  constructor(task, scheduler) {
    this.task = task
    this.policy = scheduler.policy
    this.rank = {
      absoluteDeadline: task.deadline,
      priority: this.policy.priority?.(task) ?? task.priority
    }
  }

  /** @param {Handler} other */
  compare(other) {
    return this.policy.compare(this.rank, other.rank)
  }
}

/**
 * @param {Handler[]} handlers @param {number} index @param {Scheduler} scheduler @param {number} release
 * @param {any[]} args
 */
function releaseFrom(handlers, index, scheduler, release, args) {
  while (index < handlers.length && handlers[index].cancelled) index++
  if (index === handlers.length) return
  const { task } = handlers[index]
  let passedOn = false
  const passOn = () => {
    if (passedOn) return
    passedOn = true
    releaseFrom(handlers, index + 1, scheduler, release, args)
  }
  const job = scheduler.spawn(new HandlerTask(task, passOn), { release }, ...args)
  whenEnded(job, passOn) // cancelled before it started
}

/** A handler's task, which passes the event on when its job starts. */
class HandlerTask extends Task {
  /** @param {Task} task @param {() => void} passOn */
  constructor(task, passOn) {
    super((...args) => {
      passOn()
      return task.run(...args)
    }, given(task))
  }
}
