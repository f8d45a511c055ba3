/**
 * alarms.mjs: what makes work start. Alarms, waiting for time, and releases: periodic, sporadic, by animation
 * frame, by event.
 *
 * Alarms fire from inside the dispatcher, between budgets, while jobs run; when it is idle one host timer
 * waits for the earliest (RT.js III-D). Activation times are absolute: a late alarm delays none of its
 * successors.
 *
 * Everything acts on the scheduler of the running job; outside jobs on `options.scheduler`, by default `rt`.
 *
 * @module alarms
 */

import { Scheduler, Task, seam } from './rt.mjs'

const { Waitable, here } = seam

/** @typedef {import('./rt.mjs').Job} Job */
/** @typedef {import('./rt.mjs').TaskOptions} TaskOptions */
/** @template [T=any] @typedef {import('./rt.mjs').Awaitable<T>} Awaitable */
/** @typedef {Task | ((...args: any[]) => any)} Work */

// ------------------------------------------------------------------------------- errors and input checks

/** What was waited for did not come in time. */
export class TimeoutError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message)
    this.name = 'TimeoutError'
  }
}

/** @param {unknown} value */
function describe(value) {
  try {
    if (typeof value === 'string') return JSON.stringify(value)
    if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`
    if (typeof value !== 'object' || value === null) return String(value)
    return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'no constructor'})`
  } catch {
    return 'an object' // that cannot be looked at
  }
}

/**
 * @param {string} name @param {string} wanted @param {unknown} value @param {boolean} valid
 * @returns {number}
 */
function number(name, wanted, value, valid) {
  if (typeof value !== 'number') throw new TypeError(`${name} must be ${wanted}, got ${describe(value)}`)
  if (!valid) throw new RangeError(`${name} must be ${wanted}, got ${describe(value)}`)
  return value
}
/** @param {string} name @param {any} value */
const duration = (name, value) =>
  number(name, 'a finite number >= 0', value, Number.isFinite(value) && value >= 0)
/** @param {string} name @param {any} value */
const interval = (name, value) =>
  number(name, 'a finite number > 0', value, Number.isFinite(value) && value > 0)
/** @param {string} name @param {any} value */
const timestamp = (name, value) => number(name, 'a finite number', value, Number.isFinite(value))
/** @param {any} value */
const times = value => number('count', 'an integer >= 1 or Infinity', value,
  value === Infinity || Number.isSafeInteger(value) && value >= 1)

/** @param {string} name @param {any} value @param {readonly string[]} choices */
function oneOf(name, value, choices) {
  if (choices.includes(value)) return value
  const wanted = choices.map(choice => `'${choice}'`).join(' or ')
  throw new TypeError(`${name} must be ${wanted}, got ${describe(value)}`)
}

/** @param {string} name @param {any} value @returns {boolean} */
function flag(name, value) {
  if (typeof value === 'boolean') return value
  throw new TypeError(`${name} must be a boolean, got ${describe(value)}`)
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

/** @param {any} value */
const isEventTarget = value => typeof value?.addEventListener === 'function' &&
  typeof value.removeEventListener === 'function'

/** @param {any} signal @returns {AbortSignal | undefined} */
function signalOf(signal) {
  if (signal === undefined) return undefined
  try {
    if (typeof signal.aborted === 'boolean' && isEventTarget(signal)) return signal
  } catch {} // what cannot be looked at is none
  throw new TypeError(`signal must be an AbortSignal, got ${describe(signal)}`)
}

/**
 * Calls `end` when the signal is aborted.
 *
 * @param {AbortSignal | undefined} signal @param {() => void} end
 * @returns {() => void} ends it
 */
function follow(signal, end) {
  if (signal === undefined) return () => {}
  signal.addEventListener('abort', end)
  return () => signal.removeEventListener('abort', end)
}

const PARAMETERS = /** @type {const} */ ([
  'name', 'deadline', 'priority', 'period', 'wcet', 'budget', 'miss', 'onMiss', 'onOverrun', 'reservation',
  'uses', 'scheduler'
])

/** The parameters of a task that are set. @param {any} source @returns {TaskOptions} */
function parametersOf(source) {
  /** @type {any} */
  const found = {}
  for (const name of PARAMETERS) {
    const value = source[name]
    if (value !== undefined) found[name] = value
  }
  return found
}

/**
 * Releases the jobs of some work. A task remains itself: its parameters are read at each release, and those
 * that were given as options come before them.
 */
class Source {
  /** @param {string} name of the parameter @param {any} work @param {TaskOptions} given */
  constructor(name, work, given) {
    const isTask = work instanceof Task
    const run = isTask ? work.run : work
    if (typeof run !== 'function') {
      throw new TypeError(`${name} must be a Task or a function, got ${describe(work)}`)
    }
    if (/** @type {any} */ (run)[Symbol.toStringTag] === 'AsyncGeneratorFunction') {
      throw new TypeError(`${name} must be a generator function, not an async one, got ${describe(work)}`)
    }
    const checked = new Task(run, isTask ? { ...parametersOf(work), ...given } : given)
    this.task = isTask ? work : checked
    this.scheduler = here(checked)
    this.options = isTask ? given : {}
    this.given = given
  }

  /** Whether nobody has said a word about deadlines. */
  get lacksDeadline() {
    return this.given.deadline === undefined && this.task.deadline === Infinity
  }

  /** @template {keyof TaskOptions} N @param {N} name @returns {TaskOptions[N]} */
  parameter(name) {
    return this.given[name] ?? this.task[name]
  }

  /** @param {import('./rt.mjs').JobOptions & TaskOptions} own @param {any[]} [args] @param {Task} [task] */
  release(own, args = [], task = this.task) {
    return this.scheduler.spawn(task, { ...this.options, ...own }, ...args)
  }
}

/**
 * Has an error reported as that of a callback, where it must not disturb whoever comes by.
 *
 * @param {Scheduler} scheduler @param {unknown} error
 */
function report(scheduler, error) {
  seam.at(scheduler, scheduler.now(), () => { throw error })
}

// ----------------------------------------------------------------------------------------------- 1 alarms

const RELEASED = ['GeneratorFunction', 'AsyncFunction', 'AsyncGeneratorFunction']

/**
 * What an alarm does: calls a callback in the dispatcher, or releases a job whose deadline counts from the
 * alarm's time.
 *
 * @param {any} work @param {any} options
 * @returns {{ scheduler: Scheduler, activate: (time: number) => void }}
 */
function activationOf(work, options) {
  if (typeof work === 'function' && !RELEASED.includes(work[Symbol.toStringTag])) {
    return { scheduler: here(options), activate: work }
  }
  const source = new Source('work', work, parametersOf(options))
  return { scheduler: source.scheduler, activate: time => { source.release({ release: time }) } }
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
   * @param {Scheduler} scheduler @param {number} time @param {(time: number) => void} work
   * @param {(time: number) => number | undefined} next when it fires again
   * @param {{ ref?: boolean, signal?: AbortSignal }} options
   */
  constructor(scheduler, time, work, next, options) {
    if (!(scheduler instanceof Scheduler)) throw new TypeError('alarms are made by after(), at() and every()')
    const { ref = true } = options
    const signal = signalOf(options.signal)
    this.#scheduler = scheduler
    this.#work = work
    this.#next = next
    this.#ref = flag('ref', ref)
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
    const next = this.#next(time)
    // Before the work, which may cancel the alarm, or throw.
    if (next !== undefined) this.#set(next)
    else this.cancel()
    this.#work(time)
  }

  /** When it fires next, host timestamp in ms; undefined after the last time, or when it was cancelled. */
  get time() { return this.#entry?.time }

  /** @returns {boolean} whether it would still have fired */
  cancel() {
    if (this.#over) return false
    this.#over = true
    this.#unfollow()
    this.#entry?.cancel()
    this.#entry = null
    return true
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
 * @param {Work} work a callback, called in the dispatcher with the alarm's time; or a Task, a generator
 *   function or an async function, which is released as a job whose deadline counts from the alarm's time
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function after(ms, work, options = {}) {
  duration('ms', ms)
  const { scheduler, activate } = activationOf(work, optionsOf(options))
  return new Alarm(scheduler, scheduler.now() + ms, activate, once, options)
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
  const { scheduler, activate } = activationOf(work, optionsOf(options))
  return new Alarm(scheduler, time, activate, once, options)
}

const once = () => undefined

/**
 * Again and again, at absolute times: it does not drift.
 *
 * @param {number} period ms, > 0
 * @param {Work} work as for `after`
 * @param {AlarmOptions & { phase?: number, count?: number, catchUp?: 'skip' | 'all' }} [options] `phase`: ms
 *   until the first time, default one period; `count`: how often it fires, default Infinity; `catchUp`: what
 *   happens to times that passed while the page slept: 'skip' (default) fires for the latest only, 'all' for
 *   each
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function every(period, work, options = {}) {
  interval('period', period)
  const { phase = period, count = Infinity, catchUp = 'skip' } = optionsOf(options)
  duration('phase', phase)
  oneOf('catchUp', catchUp, ['skip', 'all'])
  let left = times(count)
  const { scheduler, activate } = activationOf(work, options)
  const cycle = new Cycle(scheduler.now() + phase, period)
  const advance = () => {
    cycle.advance(catchUp === 'all' ? -Infinity : scheduler.now())
    return --left > 0 ? cycle.time : undefined
  }
  return new Alarm(scheduler, cycle.time, () => activate(cycle.latest), advance, options)
}

/** Times `origin + index * period`: multiplied, not added up, so that hours do not drift. */
class Cycle {
  /** Of the next time. */
  index = 0
  /** The time that was taken last. */
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

  /** Takes the next time, or the latest that has come by `now`. @param {number} now */
  advance(now) {
    this.index = Math.max(this.index, this.indexAt(now))
    this.latest = this.time
    this.index++
  }

  /** @param {number} now @returns {number} the index of the latest time that has come */
  indexAt(now) {
    const index = Math.floor((now - this.origin) / this.period)
    // The quotient may have been rounded across a whole number.
    if (this.timeOf(index) > now) return index - 1
    return this.timeOf(index + 1) <= now ? index + 1 : index
  }
}

// ----------------------------------------------------------------------------------------------- 2 waiting

/** Waits for a time. */
class Moment extends Waitable {
  #timeOf
  #options
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /** @param {(scheduler: Scheduler) => number} timeOf @param {{ scheduler?: Scheduler }} options */
  constructor(timeOf, options) {
    super()
    here(optionsOf(options)) // only at `begin` is it known which, but a wrong one is refused here
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
 * @returns {Awaitable<void>}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sleep(ms, options = {}) {
  duration('ms', ms)
  return new Moment(scheduler => scheduler.now() + ms, options)
}

/**
 * Waits until a time.
 *
 * @param {number} time host timestamp, ms
 * @param {{ scheduler?: Scheduler }} [options]
 * @returns {Awaitable<void>}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function until(time, options = {}) {
  timestamp('time', time)
  return new Moment(() => time, options)
}

/** Waits for something, and for a time at the longest. */
class Timeout extends Waitable {
  #ms
  #subject
  #awaited
  #options
  /** @type {{ cancel(): boolean } | null} */
  #entry = null
  /** @type {{ job: Job | null, woken: () => void } | null} */
  #waiter = null

  /** @param {number} ms @param {any} subject @param {{ scheduler?: Scheduler }} options */
  constructor(ms, subject, options) {
    super()
    const awaited = Waitable.of(subject)
    if (awaited === null) {
      throw new TypeError(`awaited must be a promise, a job or a waitable, got ${describe(subject)}`)
    }
    here(optionsOf(options))
    this.#ms = ms
    this.#subject = subject
    this.#awaited = awaited
    this.#options = options
  }

  get handsOver() { return this.#awaited.handsOver }

  /** @param {Job | null} job */
  begin(job) {
    if (job !== null && this.#subject === job) throw new TypeError(`${job.name} waits for itself`)
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
 * @returns {Awaitable} fails with a TimeoutError
 * @throws {TypeError | RangeError} naming the parameter
 */
export function timeout(ms, awaited, options = {}) {
  duration('ms', ms)
  return new Timeout(ms, awaited, options)
}

// ---------------------------------------------------------------------------------------------- 3 releases

/** @typedef {{ count: number, min: number, mean: number, p99: number, max: number }} Summary */

/** The last samples of a quantity. */
class Samples {
  /** @type {number[]} */
  #ring = []
  #count = 0

  /** @param {number} value ms */
  add(value) {
    this.#ring[this.#count++ % 1000] = value
  }

  /** Of the last 1000; NaN of none. @returns {Summary} */
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

/** How far behind their periods jobs are released, start and finish. */
class Jitter {
  release = new Samples()
  start = new Samples()
  finish = new Samples()
}

/** @typedef {'skip' | 'queue' | 'abort'} Excess */

/** Releases a job every period (RTSJ: a periodic thread's release parameters). Made by `periodic`. */
class Periodic {
  #source
  #excess
  #cycle
  #count
  #alarm
  #unfollow
  /** The latest job, while it lives. @type {Job | null} */
  #job = null
  /** That job, once it has turned out to go from period to period itself. @type {Loop | null} */
  #loop = null
  #cancelled = false
  #released = 0
  /** Periods of which the jobs wait for their predecessor. */
  #behind = 0
  #jitter = new Jitter()

  /**
   * @internal
   * @param {Source} source @param {Excess} excess @param {Cycle} cycle @param {number} count
   * @param {{ ref?: boolean, signal?: AbortSignal }} options
   */
  constructor(source, excess, cycle, count, { ref, signal }) {
    const { scheduler } = source
    this.#source = source
    this.#excess = excess
    this.#cycle = cycle
    this.#count = count
    signalOf(signal)
    this.#alarm = new Alarm(scheduler, cycle.time, () => this.#due(), () => {
      cycle.advance(excess === 'queue' ? -Infinity : scheduler.now())
      return cycle.time
    }, { ref })
    this.#unfollow = follow(signal, () => { this.#cancel(signal?.reason) })
    if (signal?.aborted) this.cancel()
  }

  /** Jobs released so far. */
  get jobs() { return this.#released }
  /** Periods that have begun and for which there was no job. */
  get skipped() {
    return this.#loop === null ? this.#cycle.index - this.#released - this.#behind : this.#loop.missed
  }

  /**
   * How far behind their periods jobs were released, started and finished: ms, over the last 1000.
   *
   * @returns {{ release: Summary, start: Summary, finish: Summary }}
   */
  jitter() {
    const { release, start, finish } = this.#jitter
    return { release: release.summary(), start: start.summary(), finish: finish.summary() }
  }

  /**
   * Releases no more jobs; a loop is cancelled, other jobs run to their ends.
   *
   * @returns {boolean} whether it would have gone on
   */
  cancel() {
    return this.#cancel()
  }

  /** @param {unknown} [reason] */
  #cancel(reason) {
    const wasLooping = this.#loop !== null && this.#job !== null && this.#job.cancel(reason)
    const wasBehind = this.#behind > 0
    this.#cancelled = true
    this.#behind = 0
    this.#unfollow()
    return this.#alarm.cancel() || wasLooping || wasBehind
  }

  /** A period begins. */
  #due() {
    if (this.#excess === 'queue') {
      this.#behind++
      if (this.#released + this.#behind >= this.#count) this.#alarm.cancel()
      if (this.#job === null) this.#releaseNext()
      return
    }
    if (this.#job !== null && this.#excess === 'skip') return
    if (this.#released + 1 >= this.#count) this.#alarm.cancel()
    this.#job?.cancel(new DOMException('The next period has begun', 'AbortError'))
    this.#release(this.#cycle.latest)
  }

  #releaseNext() {
    if (this.#behind === 0) return
    const time = this.#cycle.timeOf(this.#cycle.index - this.#behind)
    this.#behind--
    this.#release(time)
  }

  /** @param {number} time */
  #release(time) {
    const source = this.#source
    const lag = source.scheduler.now() - time
    const { period } = this.#cycle
    const job = source.release(source.lacksDeadline ? { release: time, deadline: period } : { release: time })
    this.#job = job
    this.#released++
    beginnings.set(job, () => this.#beginLoop(job, lag))
    seam.ended(job, () => this.#ended(job, time, lag))
  }

  /** @param {Job} job @param {number} time @param {number} lag ms, of its release */
  #ended(job, time, lag) {
    const { release, start, finish } = this.#jitter
    const loop = loops.get(job)
    if (loop !== undefined) {
      if (job.state === 'done') finish.add(/** @type {number} */ (job.finished) - loop.time)
    } else if (job.started !== undefined) {
      release.add(lag)
      start.add(job.started - time)
      finish.add(/** @type {number} */ (job.finished) - time)
    }
    if (this.#job !== job) return
    this.#job = null
    try {
      this.#releaseNext()
    } catch (error) {
      report(this.#source.scheduler, error)
    }
    if (this.#job === null && this.#alarm.time === undefined) this.#unfollow()
  }

  /**
   * The job keeps its periods itself from now on.
   *
   * @param {Job} job @param {number} lag
   * @returns {Loop}
   */
  #beginLoop(job, lag) {
    const isLatest = this.#job === job
    const left = isLatest && !this.#cancelled ? this.#count - 1 : 0
    const loop = new Loop(new Cycle(job.release, this.#cycle.period), left, this.#jitter)
    this.#jitter.release.add(lag)
    this.#jitter.start.add(/** @type {number} */ (job.started) - job.release)
    if (!isLatest) return loop
    this.#behind = 0
    this.#alarm.cancel()
    return this.#loop = loop
  }
}

/**
 * A periodic task: a job every period, or one job that loops with `yield nextPeriod()`.
 *
 * @param {Work} task
 * @param {AlarmOptions & { phase?: number, count?: number, excess?: Excess }} [options] `period` is the
 *   task's by default, `deadline` the period; `phase`: ms until the first release, default 0; `count`: the
 *   number of jobs, or of the periods of a loop, default Infinity; `excess`: what happens when the previous
 *   job still runs at a release: 'skip' (default) leaves the period out, 'queue' releases the job when the
 *   previous one has ended, 'abort' cancels the previous one
 * @returns {Periodic} `{ cancel(), jobs, skipped, jitter() }`
 * @throws {TypeError | RangeError} naming the parameter
 */
export function periodic(task, options = {}) {
  const { phase = 0, count = Infinity, excess = 'skip' } = optionsOf(options)
  const { period = task instanceof Task ? task.period : undefined } = options
  interval('period', period)
  duration('phase', phase)
  times(count)
  oneOf('excess', excess, ['skip', 'queue', 'abort'])
  const source = new Source('task', task, { ...parametersOf(options), period })
  return new Periodic(source, excess, new Cycle(source.scheduler.now() + phase, period), count, options)
}

/** Jobs of periodic tasks, and what makes each a loop. @type {WeakMap<Job, () => Loop>} */
const beginnings = new WeakMap()
/** Jobs that loop over their periods. @type {WeakMap<Job, Loop>} */
const loops = new WeakMap()

/** How a job goes from period to period. */
class Loop {
  /** Of the present period. */
  index = 0
  missed = 0

  /** @param {Cycle} cycle @param {number} left periods after the present one @param {Jitter | null} jitter */
  constructor(cycle, left, jitter) {
    this.cycle = cycle
    this.left = left
    this.jitter = jitter
  }

  /** @param {Job} job @returns {Loop} */
  static of(job) {
    const known = loops.get(job)
    if (known !== undefined) return known
    const begin = beginnings.get(job)
    if (begin === undefined && job.period === Infinity) {
      throw new TypeError(`nextPeriod() needs a job with a period; ${job.name} has none`)
    }
    const loop = begin === undefined ? new Loop(new Cycle(job.release, job.period), Infinity, null) : begin()
    loops.set(job, loop)
    return loop
  }

  /** When the present period began. */
  get time() { return this.cycle.timeOf(this.index) }

  /** @param {number} finished @returns {number} the index of the first period that begins then, or later */
  after(finished) {
    const latest = this.cycle.indexAt(finished)
    return Math.max(this.index + 1, this.cycle.timeOf(latest) === finished ? latest : latest + 1)
  }
}

/** Waits for the beginning of a job's next period. */
class Beginning extends Waitable {
  #scheduler
  #job
  #loop
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /** @param {Scheduler} scheduler @param {Job} job @param {Loop} loop */
  constructor(scheduler, job, loop) {
    super()
    this.#scheduler = scheduler
    this.#job = job
    this.#loop = loop
  }

  begin() {
    const finished = this.#scheduler.now()
    // In the dispatcher, when the last budget has been charged to the period that ends.
    this.#entry = seam.at(this.#scheduler, finished, () => this.#conclude(finished))
  }

  undo() {
    this.#entry?.cancel()
  }

  /** @param {number} finished */
  #conclude(finished) {
    const scheduler = this.#scheduler
    const loop = this.#loop
    const index = loop.after(finished)
    const time = loop.cycle.timeOf(index)
    const begin = () => {
      const missed = index - loop.index - 1
      loop.index = index
      loop.missed += missed
      loop.left--
      loop.jitter?.release.add(scheduler.now() - time)
      this.wake(missed)
    }
    seam.renew(this.#job, time)
    if (time > scheduler.now()) this.#entry = seam.at(scheduler, time, begin)
    else begin()
  }
}

/** @returns {Generator<any, number, any>} */
function* passPeriod() {
  const scheduler = here()
  const job = scheduler.current
  if (job === null) throw new TypeError('nextPeriod() is for jobs')
  const loop = Loop.of(job)
  loop.jitter?.finish.add(scheduler.now() - loop.time)
  if (loop.left === 0) {
    const reason = new DOMException('The last period is over', 'AbortError')
    job.cancel(reason)
    yield
    throw reason // in a critical section, which cancelling spares
  }
  const missed = yield new Beginning(scheduler, job, loop)
  loop.jitter?.start.add(scheduler.now() - loop.time)
  return missed
}

/** What `nextPeriod` returns: a call, so that it learns when the job goes on, and not when it was woken. */
class NextPeriod {
  #steps = passPeriod()

  /** @param {any} [value] */
  next(value) { return this.#steps.next(value) }
  /** @param {any} error */
  throw(error) { return this.#steps.throw(error) }
  /** @param {any} [value] */
  return(value) { return this.#steps.return(value) }
  [Symbol.iterator]() { return this.#steps }

  /** @param {any} [onDone] @param {any} [onFailed] @returns {Promise<never>} */
  then(onDone, onFailed) {
    const error = new TypeError('nextPeriod() is for generators, which yield it')
    return Promise.reject(error).then(onDone, onFailed)
  }
}

/**
 * In a job with a period: waits for the beginning of its next one, from which its deadline then counts (RTSJ:
 * waitForNextPeriod). When `periodic` was asked for `count` periods, and they are over, the job is cancelled.
 *
 * @returns {NextPeriod} to be yielded; gives the number of periods that have been missed
 */
export function nextPeriod() {
  return new NextPeriod()
}

/**
 * A sporadic task: its jobs are released at least `interarrival` apart.
 *
 * @param {Work} task
 * @param {TaskOptions & { interarrival: number, excess?: 'defer' | 'drop' }} options `interarrival`: ms, > 0;
 *   `excess`: what comes too early is released later ('defer', default) or not at all ('drop')
 * @returns {(...args: any[]) => Job | null} releases a job; null when it is dropped
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sporadic(task, options) {
  const { interarrival, excess = 'defer' } = optionsOf(options)
  interval('interarrival', interarrival)
  oneOf('excess', excess, ['defer', 'drop'])
  const source = new Source('task', task, parametersOf(options))
  let earliest = -Infinity
  return (...args) => {
    const now = source.scheduler.now()
    if (now < earliest && excess === 'drop') return null
    const release = Math.max(now, earliest)
    const job = source.release({ release }, args)
    earliest = release + interarrival
    return job
  }
}

/**
 * A job per animation frame; none while the page is hidden, none while the previous one still runs.
 *
 * @param {Work} task called with the frame's time, which is its release
 * @param {TaskOptions & { signal?: AbortSignal }} [options] `deadline`: by default the next frame, as far as
 *   the frames so far tell when that is
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} naming the parameter; TypeError where there are no animation frames
 */
export function frames(task, options = {}) {
  const signal = signalOf(optionsOf(options).signal)
  const source = new Source('task', task, parametersOf(options))
  const { scheduler } = source
  const { host } = scheduler
  if (host.frame === undefined) throw new TypeError('there are no animation frames here')
  let interval = 1000 / 60
  let shown = -Infinity
  /** @type {Job | null} */
  let running = null
  /** @type {(() => void) | null} */
  let cancelFrame = null

  const request = () => { cancelFrame = /** @type {any} */ (host).frame(onFrame) }
  const onFrame = (/** @type {number} */ time) => {
    request()
    const gap = time - shown
    // One frame that came late says little about the next.
    if (gap > 4 && gap < 100) interval = gap < interval ? gap : interval + (gap - interval) / 8
    shown = time
    if (running !== null || host.hidden?.()) return
    const release = Math.min(time, scheduler.now())
    const deadline = time + interval - release
    const job = running = source.release(source.lacksDeadline ? { release, deadline } : { release }, [time])
    seam.ended(job, () => { running = null })
  }
  const cancel = () => {
    if (cancelFrame === null) return false
    cancelFrame()
    cancelFrame = null
    unfollow()
    letGo()
    return true
  }
  const letGo = seam.hold(scheduler)
  const unfollow = follow(signal, cancel)
  request()
  if (signal?.aborted) cancel()
  return { cancel }
}

// ------------------------------------------------------------------------------------------------ 4 events

/** The listeners of a target, by what distinguishes them. @type {WeakMap<any, Map<string, Listener>>} */
const listeners = new WeakMap()

/** One listener for all handlers of a target and type. */
class Listener {
  /** @type {Set<(event: any) => void>} */
  handlers = new Set()

  /**
   * @param {any} target @param {string} type @param {boolean} capture @param {boolean | undefined} passive
   * @returns {Listener}
   */
  static of(target, type, capture, passive) {
    let known = listeners.get(target)
    if (known === undefined) listeners.set(target, known = new Map())
    const key = `${type} ${capture} ${passive}`
    const listener = known.get(key) ?? new Listener(target, type, capture, passive, () => known.delete(key))
    known.set(key, listener)
    return listener
  }

  /**
   * @param {any} target @param {string} type @param {boolean} capture @param {boolean | undefined} passive
   * @param {() => void} forget
   */
  constructor(target, type, capture, passive, forget) {
    const listen = (/** @type {any} */ event) => {
      // As with listeners: one that is added meanwhile does not get this event, one that is removed neither.
      for (const handler of [...this.handlers]) if (this.handlers.has(handler)) handler(event)
    }
    target.addEventListener(type, listen, passive === undefined ? { capture } : { capture, passive })
    this.end = () => {
      target.removeEventListener(type, listen, { capture })
      forget()
    }
  }

  /** @param {(event: any) => void} handler @returns {boolean} whether it was there */
  remove(handler) {
    const there = this.handlers.delete(handler)
    if (there && this.handlers.size === 0) this.end()
    return there
  }
}

/**
 * A job per event. It is released when the event happened, by its time stamp, so that the time it queued in
 * the event loop counts against the deadline. Handlers of one target and type share a listener.
 *
 * @param {EventTarget} target
 * @param {string} type
 * @param {Work} task called with the event, or with what `before` returned, unless that is undefined
 * @param {TaskOptions & { before?: (event: any) => any, once?: boolean, passive?: boolean, capture?: boolean,
 *   signal?: AbortSignal }} [options] `before` runs in the listener itself: for preventDefault, and to pick
 *   what the job needs before the event is gone; when it throws, there is no job
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function on(target, type, task, options = {}) {
  if (!isEventTarget(target)) throw new TypeError(`target must be an EventTarget, got ${describe(target)}`)
  if (typeof type !== 'string') throw new TypeError(`type must be a string, got ${describe(type)}`)
  const { before, once = false, passive, capture = false } = optionsOf(options)
  if (before !== undefined) callable('before', before)
  flag('once', once)
  flag('capture', capture)
  if (passive !== undefined) flag('passive', passive)
  const signal = signalOf(options.signal)
  if (/** @type {any} */ (options).capacity !== undefined) {
    throw new TypeError('capacity is not possible here yet: handlers have no reservations of their own')
  }
  const source = new Source('task', task, parametersOf(options))
  const { scheduler } = source
  const { host } = scheduler

  const handler = (/** @type {any} */ event) => {
    if (once) cancel()
    try {
      const now = scheduler.now()
      const happened = host.eventTime === undefined ? event.timeStamp : host.eventTime(event)
      const picked = before?.(event)
      // A time stamp of 0, or in the future, is none.
      const release = happened > 0 && happened < now ? happened : now
      source.release({ release }, [picked === undefined ? event : picked])
    } catch (error) {
      report(scheduler, error)
    }
  }
  const cancel = () => {
    if (!listener.remove(handler)) return false
    unfollow()
    letGo()
    return true
  }
  const listener = Listener.of(target, type, capture, passive)
  listener.handlers.add(handler)
  const letGo = seam.hold(scheduler)
  const unfollow = follow(signal, cancel)
  if (signal?.aborted) cancel()
  return { cancel }
}

/**
 * An asynchronous event (RTSJ): something that happens in the program and that any number of handlers handle,
 * the most eligible first.
 *
 * Firing releases one handler only; each releases the next less eligible one when it starts. So the most
 * eligible runs as soon with a thousand others behind it as alone (RTJPerf's priority-inversion test).
 * Handlers with a reservation are released at once: whether they may run is not known from their parameters.
 */
export class AsyncEvent {
  /** In order of eligibility; replaced, never changed. @type {Handler[]} */
  #handlers = []
  #scheduler
  /** The policy by which they are in order. */
  #policy

  /** @param {{ scheduler?: Scheduler }} [options] */
  constructor(options = {}) {
    this.#scheduler = here(optionsOf(options))
    this.#policy = this.#scheduler.policy
  }

  /**
   * @param {Work} task called with the arguments of `fire`
   * @param {TaskOptions} [options] with those of the task, they decide about the order from now on
   * @returns {{ cancel(): boolean }}
   * @throws {TypeError | RangeError} naming the parameter
   */
  handle(task, options = {}) {
    const scheduler = this.#scheduler
    const source = new Source('task', task, parametersOf(optionsOf(options)))
    const own = source.parameter('scheduler')
    if (own !== undefined && own !== scheduler) throw new TypeError('scheduler must be that of the event')
    source.scheduler = scheduler
    const handler = new Handler(source)
    const place = this.#handlers.findIndex(other => handler.precedes(other))
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
    const scheduler = this.#scheduler
    if (scheduler.policy !== this.#policy) this.#rearrange()
    new Firing(this.#handlers, scheduler, args).pass(0)
  }

  #rearrange() {
    this.#policy = this.#scheduler.policy
    for (const handler of this.#handlers) handler.grade()
    this.#handlers = this.#handlers.toSorted((a, b) => a.precedes(b) ? -1 : b.precedes(a) ? 1 : 0)
  }
}

/** Who handles an event, and how eligible the jobs for it are. */
class Handler {
  cancelled = false
  /** @type {import('./rt.mjs').Ranked} */
  rank

  /** @param {Source} source */
  constructor(source) {
    this.source = source
    this.isReserved = source.parameter('reservation') !== undefined
    this.rank = this.grade()
  }

  grade() {
    const { source } = this
    const priority = source.parameter('priority') ?? 0
    const period = source.parameter('period') ?? Infinity
    return this.rank = {
      absoluteDeadline: source.parameter('deadline') ?? Infinity,
      priority: source.scheduler.policy.priority?.({ priority, period }) ?? priority
    }
  }

  /** @param {Handler} other */
  precedes(other) {
    if (this.isReserved !== other.isReserved) return this.isReserved
    return this.source.scheduler.policy.compare(this.rank, other.rank) < 0
  }
}

/** One event on its way from handler to handler. */
class Firing {
  /** @param {Handler[]} handlers @param {Scheduler} scheduler @param {any[]} args */
  constructor(handlers, scheduler, args) {
    this.handlers = handlers
    this.scheduler = scheduler
    this.args = args
    this.release = scheduler.now()
  }

  /** Releases the handler at `index`, or the next that can be. @param {number} index */
  pass(index) {
    const { handlers, args, release } = this
    for (; index < handlers.length; index++) {
      const { cancelled, isReserved, source } = handlers[index]
      if (cancelled) continue
      try {
        if (!isReserved) return this.#chain(source, index + 1)
        source.release({ release }, args)
      } catch (error) {
        report(this.scheduler, error)
      }
    }
  }

  /**
   * Releases a handler that passes the event on when it starts.
   *
   * @param {Source} source @param {number} next
   */
  #chain(source, next) {
    const { task } = source
    let passed = next >= this.handlers.length
    const passOn = () => {
      if (passed) return
      passed = true
      this.pass(next)
    }
    const run = (/** @type {any[]} */ ...args) => {
      // At the next reading of the clock, so that the others are not released at the expense of this one.
      if (!passed) seam.at(this.scheduler, this.release, passOn)
      return task.run(...args)
    }
    const isAsync = /** @type {any} */ (task.run)[Symbol.toStringTag] === 'AsyncFunction'
    const value = isAsync ? async (/** @type {any[]} */ ...args) => run(...args) : run
    const passing = Object.create(task, { run: { value } })
    const job = source.release({ release: this.release }, this.args, passing)
    seam.ended(job, passOn) // cancelled before it started
  }
}
