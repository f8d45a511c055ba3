/**
 * alarms.mjs: what makes work start, and how much of it. Alarms, waiting for time, and releases: periodic, sporadic, by
 * animation frame, by event; and reservations, by which work takes no more than its share, and gets no less.
 *
 * Alarms fire from inside the dispatcher, between budgets, while jobs run; when it is idle one host timer
 * waits for the earliest (RT.js III-D). Activation times are absolute: a late alarm delays none of its
 * successors.
 *
 * Everything acts on the scheduler of the running job; outside jobs on `options.scheduler`, by default `rt`.
 *
 * @module alarms
 */

import { Scheduler, Task, edf, fp, schedulable, seam } from './rt.mjs'

const { Waitable, check, here, parameters: PARAMETERS } = seam
const { callable, finite, flag, notNegative, number, oneOf, options: optionsOf, text, wrongType } = check

/** @import { ArgumentsOf, Awaitable, Checked, Job, JobOptions, ResultOf, Taking, TaskOptions, TaskParameters,
 *   Work, Yieldable } from './rt.mjs' */

// ------------------------------------------------------------------------------- errors and input checks

/** What was waited for did not come in time. */
export class TimeoutError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message)
    this.name = 'TimeoutError'
  }
}

const duration = number('a finite number >= 0', value => Number.isFinite(value) && value >= 0)
const interval = number('a finite number > 0', value => Number.isFinite(value) && value > 0)
const timestamp = number('a number > -Infinity', value => value > -Infinity)
const times = number('an integer >= 1 or Infinity', value => value === Infinity || Number.isSafeInteger(value) && value >= 1)
const fraction = number('a number from 0 to 1', value => value >= 0 && value <= 1)
const shareOf = number('a number > 0 and <= 1', value => value > 0 && value <= 1)

/** @param {any} value */
const isEventTarget = value => typeof value?.addEventListener === 'function' &&
  typeof value.removeEventListener === 'function'

/** @param {any} given @returns {AbortSignal | undefined} */
const signalOf = given => given === undefined ? undefined : check.signal(given)

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
      throw wrongType(name, 'a Task or a function', work)
    }
    if (/** @type {any} */ (run)[Symbol.toStringTag] === 'AsyncGeneratorFunction') {
      throw wrongType(name, 'a generator function, not an async one', work)
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

  /** @param {JobOptions & TaskOptions} own @param {any[]} [args] @param {Task} [task] */
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

/**
 * Refuses what an alarm cannot do: it calls callbacks with its time, and releases jobs without arguments.
 *
 * @template W
 * @typedef {W extends (time: number) => infer R
 *   ? R extends Iterator<any, any, any> | PromiseLike<any> ? Taking<W, []> : unknown : Taking<W, []>} Alarmed
 */

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

const NEVER = { time: Infinity, cancel: () => true }

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
    this.#entry = time === Infinity ? NEVER
      : seam.at(this.#scheduler, time, () => this.#fire(time), { ref: this.#ref })
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
 * @template {Work} W
 * @param {number} ms >= 0; Infinity: never
 * @param {(W | ((time: number) => unknown)) & Alarmed<W>} work a callback, called in the dispatcher with the alarm's time; or a Task, a generator
 *   function or an async function, which is released as a job whose deadline counts from the alarm's time
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function after(ms, work, options = {}) {
  notNegative('ms', ms)
  const { scheduler, activate } = activationOf(work, optionsOf(options, ALARM))
  return new Alarm(scheduler, scheduler.now() + ms, activate, once, options)
}

/**
 * Once, at a time; at once when that has passed.
 *
 * @template {Work} W
 * @param {number} time host timestamp, ms; Infinity: never
 * @param {(W | ((time: number) => unknown)) & Alarmed<W>} work as for `after`
 * @param {AlarmOptions} [options]
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function at(time, work, options = {}) {
  timestamp('time', time)
  const { scheduler, activate } = activationOf(work, optionsOf(options, ALARM))
  return new Alarm(scheduler, time, activate, once, options)
}

const ALARM = [...PARAMETERS, 'ref', 'signal']
const once = () => undefined

/**
 * Again and again, at absolute times: it does not drift.
 *
 * @template {Work} W
 * @param {number} period ms, > 0
 * @param {(W | ((time: number) => unknown)) & Alarmed<W>} work as for `after`
 * @param {AlarmOptions & { phase?: number, count?: number, catchUp?: 'skip' | 'all' }} [options] `phase`: ms
 *   until the first time, default one period; `count`: how often it fires, default Infinity; `catchUp`: what
 *   happens to times that passed while the page slept: 'skip' (default) fires for the latest only, 'all' for
 *   each
 * @returns {Alarm}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function every(period, work, options = {}) {
  interval('period', period)
  const { phase = period, count = Infinity, catchUp = 'skip' } = optionsOf(options, REPEATED)
  duration('phase', phase)
  oneOf('catchUp', catchUp, ['skip', 'all'])
  let left = times('count', count)
  const { scheduler, activate } = activationOf(work, options)
  const cycle = new Cycle(scheduler.now() + phase, period)
  const advance = () => {
    cycle.advance(catchUp === 'all' ? -Infinity : scheduler.now())
    return --left > 0 ? cycle.time : undefined
  }
  return new Alarm(scheduler, cycle.time, () => activate(cycle.latest), advance, options)
}

const REPEATED = [...ALARM, 'phase', 'count', 'catchUp']

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

const WAITING = ['scheduler']

/** Waits for a time. */
class Moment extends Waitable {
  get isRanked() { return false }
  #timeOf
  #options
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /** @param {(scheduler: Scheduler) => number} timeOf @param {{ scheduler?: Scheduler }} options */
  constructor(timeOf, options) {
    super()
    here(optionsOf(options, WAITING)) // only at `begin` is it known which, but a wrong one is refused here
    this.#timeOf = timeOf
    this.#options = options
  }
  begin() {
    const scheduler = here(this.#options)
    const time = this.#timeOf(scheduler)
    if (time < Infinity) this.#entry = seam.at(scheduler, time, () => this.wake())
  }
  undo() {
    this.#entry?.cancel()
  }
}

/**
 * Waits for some time, from when it is yielded or awaited.
 *
 * @param {number} ms >= 0; Infinity: never
 * @param {{ scheduler?: Scheduler }} [options]
 * @returns {Awaitable<void>}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sleep(ms, options = {}) {
  notNegative('ms', ms)
  return new Moment(scheduler => scheduler.now() + ms, options)
}

/**
 * Waits until a time.
 *
 * @param {number} time host timestamp, ms; Infinity: never
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
      throw wrongType('awaited', 'a promise, a job or a waitable', subject)
    }
    here(optionsOf(options, WAITING))
    this.#ms = ms
    this.#subject = subject
    this.#awaited = awaited
    this.#options = options
  }

  get handsOver() { return this.#awaited.handsOver }
  // The others of a circle cannot end this wait before its time: a circle is none the less told when it closes.
  owners() {
    return this.#awaited.owners()
  }

  /** @param {Job | null} job */
  begin(job) {
    if (job !== null && this.#subject === job) throw new TypeError(`${job.name} waits for itself`)
    const scheduler = here(this.#options)
    const waiter = this.#waiter = { job, woken: () => this.#hear() }
    if (this.#awaited.enlist(waiter)) return this.#hear()
    if (this.#ms < Infinity) this.#entry = seam.at(scheduler, scheduler.now() + this.#ms, () => {
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
 * @template T
 * @param {number} ms >= 0, from when it is yielded or awaited; Infinity: as long as it takes
 * @param {PromiseLike<T>} awaited a promise, a job or a waitable
 * @param {{ scheduler?: Scheduler }} [options]
 * @returns {Awaitable<Awaited<T>>} fails with a TimeoutError
 * @throws {TypeError | RangeError} naming the parameter
 */
export function timeout(ms, awaited, options = {}) {
  notNegative('ms', ms)
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
 * @template {Work} W
 * @param {(W | (() => unknown)) & Taking<W, []>} task
 * @param {AlarmOptions & { phase?: number, count?: number, excess?: Excess }} [options] `period` is the
 *   task's by default, `deadline` the period; `phase`: ms until the first release, default 0; `count`: the
 *   number of jobs, or of the periods of a loop, default Infinity; `excess`: what happens when the previous
 *   job still runs at a release: 'skip' (default) leaves the period out, 'queue' releases the job when the
 *   previous one has ended, 'abort' cancels the previous one
 * @returns {Periodic} `{ cancel(), jobs, skipped, jitter() }`
 * @throws {TypeError | RangeError} naming the parameter
 */
export function periodic(task, options = {}) {
  const { phase = 0, count = Infinity, excess = 'skip' } = optionsOf(options, PERIODIC)
  const { period = task instanceof Task ? task.period : undefined } = options
  const length = interval('period', period)
  duration('phase', phase)
  times('count', count)
  oneOf('excess', excess, ['skip', 'queue', 'abort'])
  const source = new Source('task', task, { ...parametersOf(options), period })
  return new Periodic(source, excess, new Cycle(source.scheduler.now() + phase, length), count, options)
}

const PERIODIC = [...ALARM, 'phase', 'count', 'excess']

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
  get isRanked() { return false }
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
 * @returns {Iterator<Yieldable, number, unknown> & { [Symbol.iterator](): Generator<Yieldable, number, unknown> }} to be
 *   yielded; gives the number of periods that have been missed
 */
export function nextPeriod() {
  return /** @type {any} */ (new NextPeriod())
}

/**
 * A sporadic task: its jobs are released at least `interarrival` apart.
 *
 * @template {Work} W
 * @param {(W | ((job: Job, ...args: any[]) => unknown)) & Checked<W>} task
 * @param {TaskOptions & { interarrival: number, excess?: 'defer' | 'drop' }} options `interarrival`: ms, > 0;
 *   `excess`: what comes too early is released later ('defer', default) or not at all ('drop')
 * @returns {(...args: ArgumentsOf<W>) => Job<ResultOf<W>> | null} releases a job; null when it is dropped
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sporadic(task, options) {
  const { interarrival, excess = 'defer' } = optionsOf(options, [...PARAMETERS, 'interarrival', 'excess'])
  interval('interarrival', interarrival)
  oneOf('excess', excess, ['defer', 'drop'])
  const source = new Source('task', task, parametersOf(options))
  let earliest = -Infinity
  return /** @param {any[]} args @returns {any} */ (...args) => {
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
 * @template {Work} W
 * @param {(W | ((time: number) => unknown)) & Taking<W, [time: number]>} task called with the frame's time, which is its release
 * @param {TaskOptions & { signal?: AbortSignal }} [options] `deadline`: by default the next frame, as far as
 *   the frames so far tell when that is
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} naming the parameter; TypeError where there are no animation frames
 */
export function frames(task, options = {}) {
  const signal = signalOf(optionsOf(options, [...PARAMETERS, 'signal']).signal)
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

// Deadlines and not the order of listeners decide who comes first: jobs follow the last listener of their event. It is added
// when the window captures the event, before all others hear it; those of a target are looked up when the event gets there.

/** Events on their way to their last listener, and the schedulers whose jobs follow it. @type {WeakMap<any, Set<Scheduler>>} */
const heard = new WeakMap()
/** How many listeners there are of a type. @type {Map<string, number>} */
const listened = new Map()

/** @param {string} type @param {number} change of the number of listeners */
function countListeners(type, change) {
  const number = (listened.get(type) ?? 0) + change
  listened.set(type, number)
  if (number > 0) globalThis.addEventListener?.(type, expectLast, { capture: true, passive: true })
  else globalThis.removeEventListener?.(type, expectLast, { capture: true })
}

/** @param {any} event */
function expectLast(event) {
  const target = event.bubbles ? event.composedPath().at(-1) : event.target
  target.removeEventListener(event.type, last)
  target.addEventListener(event.type, last, { once: true })
  heard.set(event, new Set())
}

/** @param {any} event */
function last(event) {
  const schedulers = heard.get(event)
  if (schedulers !== undefined && schedulers.size > 0) runRightAfter(schedulers)
}

/** In a microtask: an event may have been dispatched by code that goes on. @param {Iterable<Scheduler>} schedulers */
function runRightAfter(schedulers) {
  queueMicrotask(() => seam.event(() => {}, schedulers))
}

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
    countListeners(type, 1)
    target.addEventListener(type, listen, passive === undefined ? { capture } : { capture, passive })
    this.end = () => {
      countListeners(type, -1)
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

/** An event on its way to its handler. @typedef {{ args: any[], release: number }} Happening */

/** First in, first out, at a cost independent of how many there are. */
class Fifo {
  /** @type {Happening[]} */
  #entries = []
  #first = 0

  get size() { return this.#entries.length - this.#first }

  /** @param {Happening} happening */
  push(happening) {
    this.#entries.push(happening)
  }

  /** @returns {Happening} the first, removed; there must be one */
  shift() {
    const happening = this.#entries[this.#first++]
    if (this.#first * 2 < this.#entries.length) return happening
    this.#entries.splice(0, this.#first)
    this.#first = 0
    return happening
  }
}

/**
 * Refuses what cannot handle an event, or what was picked of it; which kind of event is for the handler to say.
 *
 * @template W @template V
 * @typedef {ArgumentsOf<W> extends [] | [event?: V] ? Checked<W> : Taking<W, [V]>} Handles
 */
/**
 * A job per event. It is released when the event happened, by its time stamp, so that the time it queued in
 * the event loop counts against the deadline. Handlers of one target and type share a listener. Jobs run right after the
 * event's last listener, in the same task and for a slice at most; in the next round where a listener stops the event.
 *
 * With `capacity` and `period` the handler has a reservation of its own (Qduino II-C: attachInterruptVcpu): events are
 * handled one after the other, in no more than that. With `io`, what has to be done before, the bottom half, is done by
 * that I/O reservation. No rate of events takes more than those two; `worstCaseDelay` tells how late one may be.
 *
 * @template {Work} W @template {Event} [E=Event] @template [V=Event]
 * @param {EventTarget} target
 * @param {string} type
 * @param {(W | ((value: NoInfer<V>) => unknown)) & Handles<W, NoInfer<V>>} task called with the event, or with what `before` or `bottomHalf` returned, unless that is undefined
 * @param {TaskOptions & { before?: (event: E) => V | void, once?: boolean, passive?: boolean, capture?: boolean,
 *   signal?: AbortSignal, capacity?: number, period?: number, kind?: Kind, depleted?: Depleted, io?: IoReservation,
 *   bottomHalf?: (event: V) => unknown, size?: number }} [options] `before` runs in the listener itself: for
 *   preventDefault, and to pick what the job needs before the event is gone; when it throws, there is no job.
 *   `capacity`, `period`, `kind`, `depleted`: the handler's reservation (see Reservation). `io`: delivers the events;
 *   `bottomHalf`: what it does for each, a function or a generator function. `size`: how many events may wait to be
 *   handled, default Infinity; further ones are lost
 * @returns {Handling} `{ cancel(), interrupts(), noInterrupts({ drop }), reservation, waiting, dropped }`
 * @throws {TypeError | RangeError} naming the parameter
 * @throws {AdmissionError} when the processor has not that much left
 */
export function on(target, type, task, options = {}) {
  if (!isEventTarget(target)) throw wrongType('target', 'an EventTarget', target)
  if (typeof type !== 'string') throw wrongType('type', 'a string', type)
  const { before, once = false, passive, capture = false, size = Infinity, bottomHalf, io } = optionsOf(options, HANDLING)
  const { signal, capacity, period, kind, depleted } = options
  if (before !== undefined) callable('before', before)
  flag('once', once)
  flag('capture', capture)
  if (passive !== undefined) flag('passive', passive)
  signalOf(signal)
  times('size', size)
  if (bottomHalf !== undefined) callable('bottomHalf', bottomHalf)
  if (io !== undefined && !(io instanceof IoReservation)) {
    throw wrongType('io', 'an IoReservation', io)
  }
  if (bottomHalf !== undefined && io === undefined) throw new TypeError('bottomHalf needs an io, which does it')
  const parameters = parametersOf(options)
  const isReserved = capacity !== undefined
  if (isReserved) {
    if (parameters.reservation !== undefined) throw new TypeError('reservation is made by on(), of capacity and period')
    delete parameters.period // that of the reservation, and not of the jobs
  } else if (kind !== undefined || depleted !== undefined) {
    throw new TypeError('kind and depleted are those of a reservation, which needs a capacity and a period')
  }
  const source = new Source('task', task, parameters)
  const { scheduler } = source
  if (io !== undefined) {
    if (io.scheduler !== scheduler) throw new TypeError('io must be of the scheduler of the handler')
    if (!isReserved && !(source.parameter('reservation') instanceof Reservation)) {
      throw new TypeError('io takes its standing from the handler, which needs a capacity and a period')
    }
  }
  const { priority } = parameters
  const name = source.parameter('name') || type
  const own = !isReserved ? null
    : new Reservation({ capacity, period: /** @type {any} */ (period), kind, depleted, priority, name, scheduler })
  try {
    return new Handling(source, own, { target, type, before, once, passive, capture, signal, size, io, bottomHalf })
  } catch (error) {
    if (own !== null) retire(own)
    throw error
  }
}

const HANDLING = [...PARAMETERS, 'before', 'once', 'passive', 'capture', 'signal', 'capacity', 'kind', 'depleted', 'io',
  'bottomHalf', 'size']

/** What handles the events of a target and type. Made by `on`. */
class Handling {
  #source
  /** @type {Reservation | undefined} */
  #reservation
  /** That reservation, when it is for this handler only. */
  #own
  /** @type {IoReservation | undefined} */
  #io
  #bottomHalf
  #size
  #end
  /** Whether events are handled one after the other. */
  #isSerial
  #isOn = true
  #drops = false
  #dropped = 0
  /** Whether no more events come, and whether none that came is handled. */
  #isOver = false
  #isCancelled = false
  /** Events on their way to the bottom half, or held back. */
  #raised = new Fifo()
  /** Events on their way to the handler. */
  #delivered = new Fifo()
  /** The bottom half, and the handler, while they run. @type {Job | null} */
  #lower = null
  /** @type {Job | null} */
  #handler = null

  /** @internal @param {Source} source @param {Reservation | null} own @param {any} options */
  constructor(source, own, { target, type, before, once, passive, capture, signal, size, io, bottomHalf }) {
    const { scheduler } = source
    const { host } = scheduler
    this.#source = source
    this.#own = own
    this.#reservation = own ?? /** @type {any} */ (source.parameter('reservation'))
    this.#io = io
    this.#bottomHalf = bottomHalf
    this.#size = size
    this.#isSerial = own !== null || io !== undefined || size < Infinity

    const listen = (/** @type {any} */ event) => {
      if (once) this.#isOver = this.#end()
      const schedulers = heard.get(event)
      if (schedulers === undefined) runRightAfter([scheduler]) // the window does not see it
      else schedulers.add(scheduler)
      try {
        const now = scheduler.now()
        const happened = host.eventTime === undefined ? event.timeStamp : host.eventTime(event)
        const picked = before?.(event)
        // A time stamp of 0, or in the future, is none.
        const release = happened > 0 && happened < now ? happened : now
        this.#raise({ args: [picked === undefined ? event : picked], release })
      } catch (error) {
        report(scheduler, error)
      }
      this.#conclude()
    }
    const listener = Listener.of(target, type, capture, passive)
    listener.handlers.add(listen)
    const letGo = seam.hold(scheduler)
    const unfollow = follow(signal, () => { this.cancel() })
    this.#end = () => {
      if (!listener.remove(listen)) return false
      unfollow()
      letGo()
      return true
    }
    if (signal?.aborted) this.cancel()
  }

  /** By which the handler runs. @type {Reservation | undefined} */
  get reservation() { return this.#reservation }
  /** How many events wait to be handled. */
  get waiting() { return this.#raised.size + this.#delivered.size }
  /** How many were lost: when `size` of them waited, by `noInterrupts({ drop: true })`, or by `cancel`. */
  get dropped() { return this.#dropped }

  /**
   * Handles no more events. Those that wait are lost; what handles one goes on.
   *
   * @returns {boolean} whether there would have been more
   */
  cancel() {
    const wouldGoOn = this.#end() || this.waiting > 0
    this.#dropped += this.waiting
    this.#raised = new Fifo()
    this.#delivered = new Fifo()
    this.#isOver = this.#isCancelled = true
    this.#conclude()
    return wouldGoOn
  }

  /** After the last job. */
  #conclude() {
    if (this.#own === null || !this.#isOver || this.waiting > 0) return
    if (this.#handler === null && (this.#lower === null || this.#isCancelled)) retire(this.#own)
  }

  /** Handles events again, first those that were held back. */
  interrupts() {
    this.#isOn = true
    this.#advance()
  }

  /**
   * Handles no events until `interrupts()`. They are held back; with `drop`, those that happen from now on are lost.
   *
   * @param {{ drop?: boolean }} [options]
   * @throws {TypeError} naming the parameter
   */
  noInterrupts(options = {}) {
    const { drop = false } = optionsOf(options, ['drop'])
    this.#drops = flag('drop', drop)
    this.#isOn = false
  }

  /** The top half. @param {Happening} happening */
  #raise(happening) {
    const isLost = !this.#isOn && this.#drops || this.#io?.drops || this.waiting >= this.#size
    if (isLost) {
      this.#dropped++
    } else {
      this.#raised.push(happening)
      this.#advance()
    }
  }

  /** Has handled what is not held back. */
  #advance() {
    if (!this.#isOn) return
    if (this.#io !== undefined) return this.#work()
    const raised = this.#raised
    this.#raised = new Fifo()
    while (raised.size > 0) this.#deliver(raised.shift())
  }

  /** Has the bottom half run. */
  #work() {
    if (this.#lower !== null || this.#raised.size === 0) return
    const io = /** @type {IoReservation} */ (this.#io)
    this.#lower = this.#source.scheduler.spawn(this.#lowerHalf(), {
      name: `${this.#source.parameter('name')}, bottom half`,
      reservation: io.for(/** @type {Reservation} */ (this.#reservation))
    })
    this.#when(this.#lower, () => {
      this.#lower = null
      this.#advance()
      this.#conclude()
    })
  }

  /** @returns {Generator<any, void, any>} */
  *#lowerHalf() {
    while (this.#isOn && this.#raised.size > 0) {
      const { args, release } = this.#raised.shift()
      let found = this.#bottomHalf?.(...args)
      if (typeof found === 'object' && found !== null) found = yield found
      if (this.#isCancelled) return
      this.#deliver({ args: found === undefined ? args : [found], release })
      yield
    }
  }

  /** @param {Happening} happening */
  #deliver(happening) {
    if (!this.#isSerial) return void this.#release(happening)
    this.#delivered.push(happening)
    this.#handle()
  }

  /** Has the first event that waits handled, when the one before it has been. */
  #handle() {
    if (this.#handler !== null || this.#delivered.size === 0) return
    this.#handler = this.#release(this.#delivered.shift())
    this.#when(this.#handler, () => {
      this.#handler = null
      this.#handle()
      this.#conclude()
    })
  }

  /** @param {Happening} happening */
  #release({ args, release }) {
    const reservation = this.#reservation
    return this.#source.release(reservation === undefined ? { release } : { release, reservation }, args)
  }

  /** @param {Job} job @param {() => void} ended */
  #when(job, ended) {
    seam.ended(job, () => {
      try {
        ended()
      } catch (error) {
        report(this.#source.scheduler, error)
      }
    })
  }
}

/**
 * An asynchronous event (RTSJ): something that happens in the program and that any number of handlers handle,
 * the most eligible first.
 *
 * Firing releases one handler only; each releases the next less eligible one when it starts. So the most
 * eligible runs as soon with a thousand others behind it as alone (RTJPerf's priority-inversion test).
 * Handlers with a reservation are released at once: whether they may run is not known from their parameters.
 *
 * @template {any[]} [A=[]] what it is fired with
 */
export class AsyncEvent {
  /** In order of eligibility; replaced, never changed. @type {Handler[]} */
  #handlers = []
  #scheduler
  /** The policy by which they are in order. */
  #policy

  /** @param {{ scheduler?: Scheduler }} [options] */
  constructor(options = {}) {
    this.#scheduler = here(optionsOf(options, WAITING))
    this.#policy = this.#scheduler.policy
  }

  /**
   * @template {Work} W
   * @param {(W | ((...args: A) => unknown)) & Taking<W, A>} task called with the arguments of `fire`
   * @param {TaskOptions} [options] with those of the task, they decide about the order from now on
   * @returns {{ cancel(): boolean }}
   * @throws {TypeError | RangeError} naming the parameter
   */
  handle(task, options = {}) {
    const scheduler = this.#scheduler
    const source = new Source('task', task, parametersOf(optionsOf(options, PARAMETERS)))
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

  /** Releases the handlers, as of now. @param {A} args */
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
    const deadline = source.parameter('deadline') ?? Infinity
    return this.rank = {
      absoluteDeadline: deadline,
      priority: source.scheduler.policy.priority?.({ deadline, priority, period }) ?? priority
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

// ------------------------------------------------------------------------------------------ 5 reservations

/** Less capacity than this, in ms, is none. */
const SPECK = 1e-6
/** In how many pieces the capacity of a sporadic server may come back; more are merged. */
const MOST_REFILLS = 32

/**
 * How capacity is used up, and how it comes back. A server knows times and amounts, neither jobs nor schedulers:
 *
 *   wake(time, since)   somebody has work again; the work has been there `since`
 *   consume(ms, time)   it was done in the foreground, until `time`; by somebody else if `isLent`
 *   sleep(time)         nobody has work any more
 *   replenish(time)     `next` has come
 *   resize(capacity, period, time)  to a capacity > 0; a server that is off is idle, and left as it is
 *
 * It may run in the foreground while something remains. `remaining` falls below 0 when the last budget outlasts
 * it: a debt that the next replenishments pay, so that none of it is forgiven.
 */
class Server {
  remaining = 0
  /** When capacity comes back; Infinity when all of it is there. */
  next = Infinity
  /** What its jobs are ranked by under edf. */
  deadline = Infinity
  depletions = 0
  replenishments = 0
  isAwake = false

  /** @param {number} capacity @param {number} period */
  constructor(capacity, period) {
    this.capacity = capacity
    this.period = period
  }

  get isDepleted() { return this.remaining < SPECK }
  get bandwidth() { return this.capacity / this.period }

  /** @param {number} time @param {number} since */
  wake(time, since) { this.isAwake = true }
  /** @param {number} time */
  sleep(time) { this.isAwake = false }
  /** It was off, and somebody has work: what it may do begins now. @param {number} time */
  resume(time) {}
}

/** A server by fixed priority: whatever its law, resizing must not give back what its bandwidth has not. */
class Limited extends Server {
  #owed = 0
  #asOf = 0

  /** @param {number} time @returns {number} ms that were used and that the bandwidth has not given since */
  owedAt(time) {
    this.#owed = Math.max(0, this.#owed - Math.max(0, time - this.#asOf) * this.bandwidth)
    this.#asOf = time
    return this.#owed
  }

  /** @param {number} ms @param {number} time */
  owe(ms, time) {
    this.#owed = this.owedAt(time - ms) + ms * (1 - this.bandwidth)
    this.#asOf = time
  }
}

/**
 * Capacity that comes back at a time.
 *
 * @typedef {{ time: number, amount: number, due: number }} Refill `due`: when it would if nothing had been resized to a
 *   bandwidth that has to earn it first
 */

/**
 * The sporadic server (Sprunt, Sha, Lehoczky 1989): what is used comes back one period after the server had both
 * work and capacity, so it interferes with others no more than a periodic task.
 *
 * With the corrections by Stanovich, Baker, Wang, Harbour 2010. The capacity is a list of refills in order of
 * time. Each piece that is used comes back a period after its own refill, so none is premature; the amounts always
 * sum to the capacity, so it is not amplified; an overrun is taken from the refill that is to come.
 */
class Sporadic extends Limited {
  /** @type {Refill[]} */
  #refills
  /** Of what had been used when it was taken away. @type {Refill[]} */
  #withdrawn = []

  /** @param {number} capacity @param {number} period @param {number} time */
  constructor(capacity, period, time) {
    super(capacity, period)
    this.#refills = [{ time, amount: capacity, due: time }]
    this.remaining = capacity
  }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    super.wake(time, since)
    const refills = this.#refills
    if (refills[0].time > time) return
    // The period counts from here, also for what will have come by the time it is needed.
    refills[0].time = time
    while (refills.length > 1 && refills[1].time <= time + refills[0].amount) {
      const [{ amount }] = refills.splice(1, 1)
      refills[0].amount += amount
    }
    this.#look(time)
  }

  /** @param {number} time */
  resume(time) { this.wake(time, time) }

  /** @param {number} ms @param {number} time @param {boolean} isLent */
  consume(ms, time, isLent) {
    const wasDepleted = this.isDepleted
    const refills = this.#refills
    this.owe(ms, time)
    let left = ms
    this.#renew(time - ms)
    while (refills[0].amount <= left) {
      const { time: began, amount } = /** @type {any} */ (refills.shift())
      left -= amount
      this.#append(began + this.period, amount)
      this.#renew(time - ms)
    }
    const [first] = refills
    if (left > 0) {
      this.#append(first.time + this.period, left)
      // A server that woke at the end of what others did for it has what is left at once.
      first.time = isLent && first.time <= time ? Math.min(first.time + left, time) : first.time + left
      first.amount -= left
    }
    // A sliver is not worth a dispatch: it comes with the next refill.
    if (refills.length > 1 && first.amount < Math.max(SPECK, this.capacity / 4096)) {
      refills.shift()
      refills[0].amount += first.amount
    }
    this.#look(time)
    if (this.isDepleted && !wasDepleted) this.depletions++
  }

  /**
   * Where several periods have passed without any use, the page was stopped, and more important work cannot be the
   * reason. What was missed is not made up for, at the expense of others.
   *
   * @param {number} time
   */
  #renew(time) {
    const [first] = this.#refills
    if (first.time + 4 * this.period <= time) first.time = time
  }

  /** @param {number} time @param {number} amount */
  #append(time, amount) {
    const refills = this.#refills
    let index = refills.length
    while (index > 0 && refills[index - 1].time > time) index-- // that one had to be earned first
    const last = refills[index - 1]
    const isAdjacent = last !== undefined && last.time + last.amount >= time - SPECK
    if (!isAdjacent && (last === undefined || refills.length < MOST_REFILLS)) {
      refills.splice(index, 0, { time, amount, due: time })
      return
    }
    // The sooner one waits, when they have to be merged: by `time` no more than itself can have been used.
    if (!isAdjacent) last.time = last.due = time - last.amount
    last.amount += amount
  }

  /** @param {number} time */
  replenish(time) {
    this.replenishments++
    this.#look(time)
  }

  /** @param {number} time */
  #look(time) {
    const refills = this.#refills
    let index = 0
    this.remaining = 0
    while (index < refills.length && refills[index].time <= time) this.remaining += refills[index++].amount
    this.next = index < refills.length ? refills[index].time : Infinity
  }

  /** @param {number} capacity @param {number} period @param {number} time */
  resize(capacity, period, time) {
    const owed = this.owedAt(time)
    const most = Math.max(capacity, this.capacity)
    const later = period - this.period
    const there = this.#refills.filter(refill => refill.time <= time)
    // What was taken away after it had been used comes back no sooner than if it had not been.
    const used = [...this.#refills, ...this.#withdrawn].filter(refill => refill.time > time)
    for (const refill of used) refill.due = Math.max(time, refill.due + later)
    used.sort((a, b) => a.due - b.due)
    const known = [...there, ...used].reduce((sum, { amount }) => sum + amount, 0)
    const grown = { time: Infinity, amount: Math.max(0, capacity - known), due: time }
    // What is taken away is what would have come last.
    this.#refills = []
    this.#withdrawn = []
    let given = 0
    let earned = time
    for (const { time: at, amount, due } of [...there, grown, ...used]) {
      const kept = Math.min(amount, capacity - given)
      given += kept
      earned = Math.max(earned, time + (owed + given - most) * period / capacity - kept)
      if (kept > 0) this.#refills.push({ time: at <= time ? at : Math.max(due, earned), amount: kept, due })
      if (amount > kept) this.#withdrawn.push({ time: due, amount: amount - kept, due })
    }
    this.capacity = capacity
    this.period = period
    this.#look(time)
  }
}

/**
 * The deferrable server (Strosnider, Lehoczky, Sha 1995): its capacity is restored at the beginning of every period
 * and is kept while there is no work. It may be used at the end of one period and again at the beginning of the
 * next: a jitter of period - capacity.
 */
class Deferrable extends Limited {
  /** The beginnings of its periods. */
  cycle
  /** ms used since the latest one. */
  spent = 0

  /** @param {number} capacity @param {number} period @param {number} time */
  constructor(capacity, period, time) {
    super(capacity, period)
    this.cycle = new Cycle(time, period)
    this.remaining = capacity
  }

  /** @param {number} ms @param {number} time */
  consume(ms, time) {
    const wasDepleted = this.isDepleted
    this.remaining -= ms
    this.spent += ms
    this.owe(ms, time)
    this.expect(time - ms)
    if (this.isDepleted && !wasDepleted) this.depletions++
  }

  /** @param {number} time */
  replenish(time) {
    this.replenishments++
    this.restore(time)
    this.expect(time)
  }

  /** @param {number} time */
  restore(time) {
    this.remaining = this.restored(time)
    this.spent = this.capacity - this.remaining
  }

  /** What remains when the periods that have begun by `time` have given what they have. @param {number} time */
  restored(time) {
    const periods = this.cycle.indexAt(time) - this.cycle.indexAt(this.next) + 1
    return Math.min(this.capacity, Math.min(0, this.remaining) + periods * this.capacity)
  }

  /** @param {number} time */
  expect(time) {
    if (this.spent <= 0) this.next = Infinity
    else if (!(this.next > time && this.next < Infinity)) this.next = this.cycle.timeOf(this.cycle.indexAt(time) + 1)
  }

  /** @param {number} capacity @param {number} period @param {number} time */
  resize(capacity, period, time) {
    const { cycle } = this
    const owed = this.owedAt(time)
    if (this.next <= time) this.restore(time)
    // What has been used of a period is not there again.
    this.remaining = Math.min(capacity, Math.max(this.remaining, capacity - Math.max(this.spent, owed)))
    // By then a capacity has been earned, of the two that may be used back to back.
    const earned = time + (owed - Math.max(capacity, this.capacity)) * period / capacity
    const began = Math.max(cycle.timeOf(cycle.indexAt(time)), earned - period)
    this.cycle = new Cycle(began, period)
    this.capacity = capacity
    this.period = period
    this.next = began > time ? began + period : Infinity
    this.expect(time)
  }
}

/**
 * The polling server: at the beginning of each period it has its capacity if there is work, and loses what it has when
 * there is none. It interferes like a periodic task; work that comes just after the poll waits a period.
 */
class Polling extends Deferrable {
  /** Whether the latest poll found work, which has not ended since. */
  #isServing = false
  /** The reading of the clock at which that poll was noticed. */
  #polled = -Infinity

  /** @param {number} capacity @param {number} period @param {number} time */
  constructor(capacity, period, time) {
    super(capacity, period, time)
    this.expect(time)
  }

  get isDepleted() { return !this.#isServing || super.isDepleted }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    super.wake(time, since)
    if (this.next <= time) this.#poll(time) // nobody has, since there were no jobs
    // Work that is noticed at the same reading of the clock as the poll was there.
    this.#isServing = this.cycle.timeOf(this.cycle.indexAt(time)) === since || this.#polled === time
  }

  /** @param {number} time */
  sleep(time) {
    super.sleep(time)
    this.#isServing = false
  }

  /** @param {number} time */
  replenish(time) {
    this.replenishments++
    this.#poll(time)
    this.#polled = time
    this.#isServing = this.isAwake
  }

  /** @param {number} time */
  #poll(time) {
    this.restore(time)
    this.expect(time)
  }

  /** It polls whether or not its capacity is there. @param {number} time */
  expect(time) {
    if (!(this.next > time && this.next < Infinity)) this.next = this.cycle.timeOf(this.cycle.indexAt(time) + 1)
  }
}

/**
 * The constant-bandwidth server (Abeni, Buttazzo 1998): jobs are ranked by its deadline. Whoever uses the capacity up
 * gets it back at the price of a deadline one period later, at once ('postpone') or when the deadline has come (the
 * hard variant). In any interval it uses at most its bandwidth, capacity / period, of the deadlines inside.
 */
class ConstantBandwidth extends Server {
  #postpones

  /** @param {number} capacity @param {number} period @param {boolean} postpones */
  constructor(capacity, period, postpones) {
    super(capacity, period)
    this.remaining = capacity
    this.#postpones = postpones
  }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    super.wake(time, since)
    // What remains of the old deadline may be used only as far as the bandwidth allows it.
    const left = this.deadline === Infinity ? 0 : this.deadline - time
    if (this.remaining < left * this.bandwidth) return
    this.#restart(time)
    this.#look()
  }

  /** @param {number} time */
  resume(time) { this.wake(time, time) }

  /** @param {number} ms @param {number} time */
  consume(ms, time) {
    const wasDepleted = this.isDepleted
    this.remaining -= ms
    if (this.isDepleted && !wasDepleted) this.depletions++
    this.#look()
  }

  /** All but its debts is forgotten. @param {number} time */
  #restart(time) {
    this.remaining = this.capacity + Math.min(0, this.remaining)
    this.deadline = time + this.period
  }

  #look() {
    while (this.#postpones && this.isDepleted && this.capacity >= SPECK) this.#recharge()
    this.next = this.isDepleted ? this.deadline : Infinity
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
    this.#look()
  }

  /** @param {number} capacity @param {number} period @param {number} time */
  resize(capacity, period, time) {
    // Until the deadline that others have been promised, what the old bandwidth gives until now and the new one from now
    // on; the deadline comes sooner where that is more than the capacity.
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
    this.#look()
  }
}

/**
 * The I/O server of Quest (Danish, Li, West 2011): short, frequent work under a bound of its utilization. Its period is
 * that of the reservation it works for, and its capacity the utilization's share of it. After every use of `u` ms it is
 * eligible again u / utilization after that use began: one time to remember, where a sporadic server would break its
 * capacity into pieces. It may be used at the end of one period and again at the beginning of the next.
 */
class PriorityInheriting extends Server {
  #eligible = -Infinity
  #used = 0

  /** @param {number} utilization */
  constructor(utilization) {
    super(0, Infinity)
    this.utilization = utilization
  }

  /**
   * Work for one of a shorter period comes by its standing, so also what is left of a use must not exceed what that may
   * take; a longer period is that of the next use.
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
    if (this.isDepleted) this.#deplete()
  }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    super.wake(time, since)
    this.next = this.#eligible
    if (time < this.#eligible) return
    this.#eligible = time
    this.#begin()
  }

  #begin() {
    this.remaining = this.capacity
    this.deadline = this.#eligible + this.period
    this.next = Infinity
  }

  /** @param {number} ms @param {number} time */
  consume(ms, time) {
    const wasDepleted = this.isDepleted
    this.remaining -= ms
    this.#used += ms
    if (!this.isDepleted) return
    if (wasDepleted) this.depletions--
    this.#deplete()
  }

  #deplete() {
    this.depletions++
    this.#conclude()
    this.next = this.#eligible
  }

  /** @param {number} time */
  sleep(time) {
    super.sleep(time)
    this.#conclude()
    this.next = Infinity
  }

  #conclude() {
    if (this.#used > 0) this.#eligible += this.#used / this.utilization
    this.#used = this.remaining = 0
  }

  /** @param {number} time */
  replenish(time) {
    this.replenishments++
    this.#begin()
  }

  /** @param {number} utilization @param {number} time */
  resize(utilization, time) {
    this.#conclude()
    // What was used is earned from now on at the new rate.
    const wait = Math.max(0, this.#eligible - time)
    if (wait > 0) this.#eligible = time + wait * this.utilization / utilization
    this.utilization = utilization
    this.inherit(this.period, time)
    if (this.isAwake) this.wake(time, time)
  }
}

/** Who pays for a job. @type {WeakMap<Job, Account>} */
const accounts = new WeakMap()

/** The books of a reservation, and what the scheduler sees of it (see JobHook in rt.mjs). */
class Account {
  /** Jobs, and those of them that have work to do. @type {Set<Job>} */
  jobs = new Set()
  /** @type {Set<Job>} */
  busy = new Set()
  /** ms used in the foreground. */
  used = 0
  /** Whether its jobs do nothing at all. Its server is idle then: what it has used comes back as before. */
  isOff = false
  /** How its jobs rank in the foreground; never changed in place. @type {import('./rt.mjs').Standing} */
  #granted = { band: 0, job: { absoluteDeadline: Infinity, priority: 0 } }
  /** How each job ranks behind all others. @type {WeakMap<Job, import('./rt.mjs').Standing>} */
  #background = new WeakMap()
  /** @type {{ readonly time: number, cancel(): boolean } | null} */
  #entry = null
  #ref = false
  #wasDepleted = false
  #replenish
  pool

  /**
   * @param {Scheduler} scheduler @param {string} name @param {any} server a Server
   * @param {{ priority: number, depleted: Depleted, isRankedByDeadline: boolean }} options
   */
  constructor(scheduler, name, server, { priority, depleted, isRankedByDeadline }) {
    this.scheduler = scheduler
    this.policy = scheduler.policy
    this.pool = seam.pool(scheduler)
    this.name = name
    this.server = server
    /** What is promised, ms; 0 = off, when the server keeps what it had. */
    this.capacity = server.capacity
    this.period = server.period
    this.priority = priority
    this.depleted = depleted
    this.isRankedByDeadline = isRankedByDeadline
    this.#replenish = Object.assign((/** @type {number} */ time) => {
      if (this.server.next > time) return // an observer of the replenishment has resized it
      this.#entry = null
      this.server.replenish(time)
      this.update()
    }, { of: name })
    this.#grant()
  }

  get claim() {
    const { name, server, capacity, period, priority } = this
    const isBursty = server instanceof Deferrable && !(server instanceof Polling)
    return claimOfReservation(name, capacity, period, priority, isBursty)
  }

  get payer() { return this }
  get isDepleted() { return this.isOff || this.server.isDepleted }

  /** Above all without a reservation, by fixed priority; among all jobs, by deadline. */
  get level() { return this.isRankedByDeadline ? -this.period : Infinity }

  #grant() {
    const { priority, server, isRankedByDeadline } = this
    this.#granted = {
      band: isRankedByDeadline ? 0 : 1,
      job: { absoluteDeadline: isRankedByDeadline ? server.deadline : Infinity, priority },
      payer: this
    }
  }

  /** @param {boolean} isOff @param {number} time */
  turn(isOff, time) {
    const wasOff = this.isOff
    this.isOff = isOff
    if (wasOff && !isOff && this.busy.size > 0) this.server.resume(time)
    this.update()
  }

  /** @param {Job} job @param {Scheduler} scheduler */
  attach(job, scheduler) {
    if (scheduler !== this.scheduler) {
      throw new TypeError(`reservation must be of the scheduler of its jobs, but ${this.name} is not`)
    }
    if (scheduler.policy !== this.policy) {
      throw new TypeError(`reservation must be made for the policy ${scheduler.policy.name}, ` +
        `but ${this.name} was made under ${this.policy.name}`)
    }
    this.jobs.add(job)
    accounts.set(job, this)
    this.update()
  }

  /** @param {Job} job */
  detach(job) {
    this.jobs.delete(job)
    accounts.delete(job)
    this.rest(job, this.scheduler.now())
  }

  /** @param {Job} job @param {number} time */
  ready(job, time) {
    const { size } = this.busy
    this.busy.add(job)
    if (size > 0) return
    this.server.wake(time, job.started === undefined ? Math.min(job.release, time) : time)
    this.update()
  }

  /** @param {Job} job @param {number} time */
  rest(job, time) {
    if (this.busy.delete(job) && this.busy.size === 0) this.server.sleep(time)
    this.update()
  }

  /** @param {Job} job @returns {import('./rt.mjs').Standing | null} */
  standing(job) {
    if (this.isOff) return null
    if (!this.server.isDepleted) return this.#granted
    if (this.depleted !== 'background') return null
    const { absoluteDeadline, priority } = job
    const known = this.#background.get(job)
    if (known?.job.absoluteDeadline === absoluteDeadline && known.job.priority === priority) return known
    const standing = { band: -1, job: seam.rank(job) }
    this.#background.set(job, standing)
    return standing
  }

  /** @param {Job} job @param {number} ms @param {number} time @param {import('./rt.mjs').Standing} standing */
  charge(job, ms, time, standing) {
    if (ms === 0 || standing.band < 0) return
    this.used += ms
    if (this.isOff) return
    const { server } = this
    const { depletions } = server
    server.consume(ms, time, !this.jobs.has(job))
    if (server.depletions > depletions) this.#report(job, time)
    this.update()
  }

  /** Of jobs that go on. (Of those that have to stop the scheduler tells itself.) @param {Job} job @param {number} time */
  #report(job, time) {
    if (this.depleted === 'wait') return
    const reservation = this.name
    seam.emit(this.scheduler, 'deplete', job, { reservation, depleted: this.depleted })
    if (this.depleted === 'postpone') seam.emit(this.scheduler, 'replenish', null, { reservation, due: time })
  }

  /** After anything that the server did: its jobs get their new standing, and the next replenishment is waited for. */
  update() {
    const { server, isDepleted } = this
    const { absoluteDeadline, priority } = this.#granted.job
    const ranksAnew = priority !== this.priority || this.isRankedByDeadline && absoluteDeadline !== server.deadline
    if (ranksAnew) this.#grant()
    const isOut = this.isOff || isDepleted && this.depleted !== 'background'
    if (ranksAnew || isDepleted !== this.#wasDepleted || isOut !== this.pool.isOut) {
      this.#wasDepleted = isDepleted
      this.pool.refresh(isOut, this.jobs)
    }
    this.#expect(isDepleted)
  }

  /** @param {boolean} isDepleted */
  #expect(isDepleted) {
    const isIdle = this.isOff || this.jobs.size === 0 && this.server instanceof Polling
    const time = isIdle ? Infinity : this.server.next
    const ref = isDepleted && this.busy.size > 0
    if (this.#entry !== null ? this.#entry.time === time && this.#ref === ref : time === Infinity) return
    this.#entry?.cancel()
    this.#ref = ref
    this.#entry = time === Infinity ? null
      : seam.at(this.scheduler, time, this.#replenish, { replenishment: true, ref })
  }
}

/** The books of an I/O reservation, which takes period and priority from those that it works for. */
class IoAccount extends Account {
  /** Which reservation each of its jobs works for. @type {WeakMap<Job, Account>} */
  mains = new WeakMap()
  /** For how many of its busy jobs each. @type {Map<Account, number>} */
  #served = new Map()

  /** What is promised; 0 = off. */
  utilization = this.server.utilization

  get claim() { return claimOfIo(this.name, this.utilization) }

  /** @param {Job} job @param {Scheduler} scheduler */
  attach(job, scheduler) {
    if (!this.mains.has(job)) this.mains.set(job, this.#mainOf(scheduler.current))
    super.attach(job, scheduler)
  }

  /** @param {Job | null} job @returns {Account} */
  #mainOf(job) {
    const account = job === null ? undefined : accounts.get(job)
    const main = account instanceof IoAccount ? account.mains.get(/** @type {Job} */ (job)) : account
    if (main !== undefined) return main
    throw new TypeError(`reservation must be given as io.for(main) where the running job has none: ` +
      `${this.name} takes priority and period from the reservation that it works for`)
  }

  /** @param {Job} job @param {number} time */
  ready(job, time) {
    const isFirst = this.busy.size === 0
    if (!this.busy.has(job)) this.#count(job, 1)
    this.#inherit(time)
    super.ready(job, time)
    if (!isFirst) this.update()
  }

  /** @param {Job} job @param {number} time */
  rest(job, time) {
    if (this.busy.has(job)) this.#count(job, -1)
    this.#inherit(time)
    super.rest(job, time)
  }

  /** @param {Job} job @param {number} more */
  #count(job, more) {
    const main = /** @type {Account} */ (this.mains.get(job))
    const count = (this.#served.get(main) ?? 0) + more
    if (count > 0) this.#served.set(main, count)
    else this.#served.delete(main)
  }

  /** From the most urgent that it works for. @param {number} time */
  #inherit(time) {
    if (this.#served.size === 0) return
    const main = [...this.#served.keys()].reduce((best, other) => this.#isMoreUrgent(other, best) ? other : best)
    this.priority = main.priority
    this.server.inherit(main.period, time)
  }

  /** @param {Account} a @param {Account} b */
  #isMoreUrgent(a, b) {
    return this.isRankedByDeadline ? a.period < b.period : a.priority > b.priority
  }
}

/** Work of an I/O reservation on behalf of another one, as the scheduler sees it. */
class Errand {
  #account
  #main

  /** @param {IoAccount} account @param {Account} main */
  constructor(account, main) {
    this.#account = account
    this.#main = main
  }

  get name() { return this.#account.name }
  get level() { return this.#main.level }
  get payer() { return this.#account }
  get pool() { return this.#account.pool }

  /** @param {Job} job @param {Scheduler} scheduler */
  attach(job, scheduler) {
    this.#account.mains.set(job, this.#main)
    this.#account.attach(job, scheduler)
  }

  /** @param {Job} job */
  detach(job) { this.#account.detach(job) }
  /** @param {Job} job */
  standing(job) { return this.#account.standing(job) }
  /** @param {Job} job @param {number} time */
  ready(job, time) { this.#account.ready(job, time) }
  /** @param {Job} job @param {number} time */
  rest(job, time) { this.#account.rest(job, time) }
  /** @param {Job} job @param {number} ms @param {number} time @param {import('./rt.mjs').Standing} standing */
  charge(job, ms, time, standing) { this.#account.charge(job, ms, time, standing) }
}

/** @typedef {'sporadic' | 'deferrable' | 'polling' | 'constant-bandwidth'} Kind */
/** @typedef {'background' | 'wait' | 'postpone'} Depleted */

/** A policy is known by how it compares, as `schedulable` knows it. @param {import('./rt.mjs').Policy} policy */
const isByDeadline = ({ compare }) => compare === edf.compare
/** @param {import('./rt.mjs').Policy} policy */
const isByPriority = ({ compare }) => compare === fp.compare

const RESERVATION = ['capacity', 'period', 'kind', 'priority', 'depleted', 'name', 'scheduler']
const BY_PRIORITY = ['sporadic', 'deferrable', 'polling']
const BY_DEADLINE = ['constant-bandwidth']

/** Which kinds a policy can have, the default first. @param {import('./rt.mjs').Policy} policy */
function kindsUnder(policy) {
  if (isByDeadline(policy)) return BY_DEADLINE
  return isByPriority(policy) ? BY_PRIORITY : [...BY_PRIORITY, ...BY_DEADLINE]
}

/** @param {any} capacity @param {any} period */
function checkCapacity(capacity, period) {
  duration('capacity', capacity)
  interval('period', period)
  if (capacity <= period) return
  throw new RangeError(`capacity must not exceed the period of ${period} ms, got ${capacity}`)
}

/**
 * Processor time set aside: `capacity` ms in every `period` (Qduino II-A: a Main VCPU). Jobs that are spawned with
 * it run by its standing as long as something remains, and cannot take more from others than that; what others do
 * cannot take it from them, if the set was admitted (`admit`).
 *
 * Under fp it ranks by its priority, above all jobs without a reservation; under edf by the server's deadline. Among each
 * other its jobs rank by their own keys, and equals take turns. What remains is found at every budget; the overrun of the last one is charged to
 * the next replenishment, and a critical section is finished on credit.
 */
export class Reservation {
  /** @type {Account} */
  #account
  #kind

  /**
   * @param {{ capacity: number, period: number, kind?: Kind, priority?: number, depleted?: Depleted, name?: string,
   *   scheduler?: Scheduler }} options `capacity`: ms per period, 0 = off: its jobs do not run at all; `period`: ms, > 0;
   *   `kind`: 'sporadic' (default), 'deferrable' or 'polling' under fp, 'constant-bandwidth' under edf; `priority`:
   *   default the rate, 1 / period; `depleted`: what its jobs do when nothing remains: run behind all others
   *   ('background', default), 'wait' for the replenishment, or have the server's deadline 'postpone'd
   *   (constant-bandwidth only); `name`: for traces and errors
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left (see `admit`)
   */
  constructor(options) {
    const { capacity, period, depleted = 'background', name = 'reservation' } = optionsOf(options, RESERVATION)
    const scheduler = here(options)
    const kinds = kindsUnder(scheduler.policy)
    checkCapacity(capacity, period)
    const { kind = kinds[0], priority = 1 / period } = options
    oneOf('kind', kind, [...BY_PRIORITY, ...BY_DEADLINE])
    if (!kinds.includes(kind)) {
      throw wrongType('kind', `${kinds.map(one => `'${one}'`).join(' or ')} under ${scheduler.policy.name}`, kind)
    }
    const isRankedByDeadline = kind === 'constant-bandwidth'
    oneOf('depleted', depleted, isRankedByDeadline ? ['background', 'wait', 'postpone'] : ['background', 'wait'])
    finite('priority', priority)
    const now = scheduler.now()
    const server = kind === 'sporadic' ? new Sporadic(capacity, period, now)
      : kind === 'deferrable' ? new Deferrable(capacity, period, now)
        : kind === 'polling' ? new Polling(capacity, period, now)
          : new ConstantBandwidth(capacity, period, depleted === 'postpone')
    this.#kind = /** @type {Kind} */ (kind)
    this.#account = new Account(scheduler, text('name', name), server, { priority, depleted, isRankedByDeadline })
    this.#account.isOff = capacity === 0
    Admission.of(scheduler).enter([[this.#account, this.#account.claim]])
  }

  // A getter of that name would put the symbol into the declarations.
  static {
    Object.defineProperty(this.prototype, seam.protocol, {
      /** @this {Reservation} */
      get() {
        return this.#account
      }
    })
  }

  get scheduler() { return this.#account.scheduler }
  get name() { return this.#account.name }
  get kind() { return this.#kind }
  get depleted() { return this.#account.depleted }
  /** ms per period @returns {number} */
  get capacity() { return this.#account.capacity }
  /** ms @returns {number} */
  get period() { return this.#account.period }
  get priority() { return this.#account.priority }
  get utilization() { return this.capacity / this.period }
  /** ms used in the foreground so far. */
  get used() { return this.#account.used }
  /** ms that its jobs may still use, as of the latest reading of the clock. @returns {number} */
  get remaining() { return this.#account.isDepleted ? 0 : this.#account.server.remaining }
  /** How often nothing remained. @returns {number} */
  get depletions() { return this.#account.server.depletions }
  /** How often capacity came back. @returns {number} */
  get replenishments() { return this.#account.server.replenishments }

  /**
   * Changes it, while jobs run by it or not. More capacity is there at once, as far as the bandwidth has earned what was
   * used before; what is taken away is what would have come last. With a capacity of 0 its jobs stop, until it has some
   * again; what they have used comes back meanwhile.
   *
   * @param {{ capacity?: number, period?: number, priority?: number }} options
   * @returns {this}
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left; nothing has changed then
   */
  resize(options) {
    const account = this.#account
    const { capacity = account.capacity, period = account.period } =
      optionsOf(options, ['capacity', 'period', 'priority'])
    checkCapacity(capacity, period)
    const { priority = account.priority === 1 / account.period ? 1 / period : account.priority } = options
    finite('priority', priority)
    promise(account, claimOfReservation(account.name, capacity, period, priority, account.claim.isBursty))
    const now = account.scheduler.now()
    if (capacity > 0) account.server.resize(capacity, period, now)
    account.capacity = capacity
    account.period = period
    account.priority = priority
    account.turn(capacity === 0, now)
    return this
  }
}

/**
 * A share of the processor for short, frequent work that is done for others: the bottom halves of events (Qduino II-A:
 * an I/O VCPU; Danish, Li, West 2011). It takes priority and period from the reservation that it works for, and uses
 * no more than its utilization whoever that is.
 *
 * Work for it: `on(target, type, handler, { io, capacity, period })`; `spawn(work, { reservation: io.for(main) })`; or
 * `spawn(work, { reservation: io })` in a job that has a reservation.
 */
export class IoReservation {
  /** @type {IoAccount} */
  #account
  #isOn = true
  #drops = false

  /**
   * @param {{ utilization: number, depleted?: 'background' | 'wait', name?: string, scheduler?: Scheduler }} options
   *   `utilization`: > 0 and <= 1, or 0 = off; `depleted`: default 'wait', since events in the background would take
   *   what is left over at any rate
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left (see `admit`)
   */
  constructor(options) {
    const { utilization, depleted = 'wait', name = 'I/O reservation' } =
      optionsOf(options, ['utilization', 'depleted', 'name', 'scheduler'])
    const scheduler = here(options)
    fraction('utilization', utilization)
    oneOf('depleted', depleted, ['background', 'wait'])
    const isRankedByDeadline = kindsUnder(scheduler.policy) === BY_DEADLINE
    this.#account = new IoAccount(scheduler, text('name', name), new PriorityInheriting(utilization),
      { priority: 0, depleted, isRankedByDeadline })
    this.#account.isOff = utilization === 0
    Admission.of(scheduler).enter([[this.#account, this.#account.claim]])
  }

  // A getter of that name would put the symbol into the declarations.
  static {
    Object.defineProperty(this.prototype, seam.protocol, {
      /** @this {IoReservation} */
      get() {
        return this.#account
      }
    })
  }

  get scheduler() { return this.#account.scheduler }
  get name() { return this.#account.name }
  /** The share of the processor that it may use, while events are handled. @returns {number} */
  get utilization() { return this.#account.utilization }
  /** ms used so far. */
  get used() { return this.#account.used }
  /** How often nothing remained. @returns {number} */
  get depletions() { return this.#account.server.depletions }
  /** How often capacity came back to work that waited for it. @returns {number} */
  get replenishments() { return this.#account.server.replenishments }
  /** Whether events are handled. */
  get isOn() { return this.#isOn }
  /** Whether events that happen while they are not handled are lost. */
  get drops() { return !this.#isOn && this.#drops }

  /**
   * What `reservation` is to be where the work is done for `main`.
   *
   * @param {Reservation} main
   * @returns {object}
   * @throws {TypeError}
   */
  for(main) {
    if (!(main instanceof Reservation)) throw wrongType('main', 'a Reservation', main)
    const { scheduler } = this.#account
    if (main.scheduler !== scheduler) throw new TypeError(`main must be of the scheduler of ${this.name}`)
    return { [seam.protocol]: new Errand(this.#account, accountOf(main)) }
  }

  /**
   * Changes its share (Qduino II-C: interruptsVcpu); 0 turns it off.
   *
   * @param {{ utilization: number }} options
   * @returns {this}
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left; nothing has changed then
   */
  resize(options) {
    const utilization = fraction('utilization', optionsOf(options, ['utilization']).utilization)
    const account = this.#account
    promise(account, claimOfIo(account.name, utilization))
    if (utilization > 0) account.server.resize(utilization, account.scheduler.now())
    account.utilization = utilization
    this.#apply()
    return this
  }

  /** Handles events again, first those that were held back. */
  interrupts() {
    this.#isOn = true
    this.#apply()
  }

  /**
   * Handles no events until `interrupts()`. They are held back; with `drop`, those that happen from now on are lost. Its
   * share remains promised to it.
   *
   * @param {{ drop?: boolean }} [options]
   * @throws {TypeError} naming the parameter
   */
  noInterrupts(options = {}) {
    const { drop = false } = optionsOf(options, ['drop'])
    this.#drops = flag('drop', drop)
    this.#isOn = false
    this.#apply()
  }

  #apply() {
    this.#account.turn(!this.#isOn || this.utilization === 0, this.scheduler.now())
  }
}

/** @param {Reservation | IoReservation} reservation @returns {Account} */
const accountOf = reservation => /** @type {any} */ (reservation)[seam.protocol]

/** Has a change admitted, unless it is one of a reservation that counts no more. @param {Account} account @param {Claim} claim */
function promise(account, claim) {
  const admission = Admission.of(account.scheduler)
  if (admission.has(account)) admission.enter([[account, claim]])
}

// -------------------------------------------------------------------------------------------- 6 admission

/**
 * What is asked of the processor, and what there is.
 *
 * @typedef {object} Sums
 * @property {number} utilization the sum of capacity / period, utilization, and wcet / period
 * @property {number} demand what is compared with the bound: the same, with what jitter and early deadlines cost
 * @property {number} bound
 * @property {number} share of the processor
 * @property {'utilization' | 'equation 1' | 'schedulable'} test see `admit`
 */

/** The processor has not that much left. */
export class AdmissionError extends Error {
  /** @param {string} message @param {Sums} sums */
  constructor(message, sums) {
    super(message)
    this.name = 'AdmissionError'
    this.sums = sums
    this.utilization = sums.utilization
    this.demand = sums.demand
    this.bound = sums.bound
    this.share = sums.share
  }
}

/**
 * What somebody asks for. `isBursty`: it may come at the end of a period and again at the beginning of the next.
 *
 * @typedef {object} Claim
 * @property {string} name
 * @property {'reservation' | 'I/O' | 'task'} of
 * @property {number} utilization
 * @property {number} wcet ms
 * @property {number} period ms
 * @property {number} deadline ms
 * @property {number} priority
 * @property {boolean} isBursty
 * @property {any} [task] whose resources count
 */

/** @param {string} name @param {number} capacity @param {number} period @param {number} priority @returns {Claim} */
const claimOfReservation = (name, capacity, period, priority, isBursty = false) => ({
  name, of: 'reservation', utilization: capacity / period, wcet: capacity, period, deadline: period, priority, isBursty
})

/** @param {string} name @param {number} utilization @returns {Claim} */
const claimOfIo = (name, utilization) =>
  ({ name, of: 'I/O', utilization, wcet: NaN, period: NaN, deadline: NaN, priority: NaN, isBursty: true })

/** What sums may exceed their bounds by: less than a thousand fractions add up to by rounding. */
const NOISE = 1e-9

/** @type {WeakMap<Scheduler, Admission>} */
const admissions = new WeakMap()

/** What a scheduler has promised, and to whom. */
class Admission {
  /** By the account, or the task. @type {Map<object, Claim>} */
  #claims = new Map()
  #share = 1
  /** Whether it sees to it that everybody gets what he was promised. */
  #guarantees = false
  #policy

  /** @param {import('./rt.mjs').Policy} policy */
  constructor(policy) {
    this.#policy = policy
  }

  /** @param {Scheduler} scheduler @returns {Admission} */
  static of(scheduler) {
    const known = admissions.get(scheduler)
    if (known !== undefined && known.#policy === scheduler.policy) return known
    const admission = new Admission(scheduler.policy)
    admissions.set(scheduler, admission)
    return admission
  }

  /**
   * @param {Iterable<[object, Claim]>} claims new or changed ones
   * @param {{ share?: number, guarantees?: boolean }} [options]
   * @returns {Sums}
   * @throws {AdmissionError} nothing has changed then
   */
  enter(claims, { share = this.#share, guarantees = this.#guarantees } = {}) {
    const all = new Map([...this.#claims, ...claims])
    const sums = this.#check([...all.values()].filter(({ utilization }) => utilization > 0), share, guarantees)
    this.#claims = all
    this.#share = share
    this.#guarantees = guarantees
    return sums
  }

  /** @param {object} claimant @returns {boolean} whether it had been promised anything */
  leave(claimant) {
    return this.#claims.delete(claimant)
  }

  /** @param {object} claimant */
  has(claimant) {
    return this.#claims.has(claimant)
  }

  /** @param {Claim[]} claims @param {number} share @param {boolean} guarantees @returns {Sums} */
  #check(claims, share, guarantees) {
    const sum = (/** @type {(claim: Claim) => number} */ of) => claims.reduce((total, claim) => total + of(claim), 0)
    const test = guarantees ? this.#testOf(claims) : 'utilization'
    const utilization = sum(claim => claim.utilization)
    /** @type {Sums} */
    const sums = { utilization, demand: utilization, bound: share, share, test }
    if (test === 'equation 1') {
      sums.demand = sum(({ utilization: used, isBursty }) => isBursty ? (2 - used) * used : used)
      const count = Math.max(1, claims.filter(({ of }) => of !== 'I/O').length)
      sums.bound = share * count * (2 ** (1 / count) - 1)
    }
    const fits = sums.demand <= sums.bound + NOISE
    if (fits && (test !== 'schedulable' || this.#isSchedulable(claims, share))) return Object.freeze(sums)
    const askers = claims.map(({ name }) => name).join(', ')
    const { name } = this.#policy
    throw new AdmissionError(fits
      ? `${askers} cannot all be served in time (schedulable, ${name}, share ${share})`
      : `${askers} ask for ${percent(sums.demand)} of the processor, more than ${percent(sums.bound)} ` +
        `(${test}, ${name}, share ${share})`, sums)
  }

  /** @param {Claim[]} claims @returns {Sums['test']} */
  #testOf(claims) {
    if (claims.some(({ of }) => of === 'task')) return 'schedulable'
    if (isByDeadline(this.#policy)) return 'utilization'
    // Liu, Layland 1973: the bound is that of rate monotonic priorities.
    const ranked = claims.filter(({ of }) => of === 'reservation').sort((a, b) => b.priority - a.priority)
    const isMonotonic = ranked.every(({ period }, index) => index === 0 || ranked[index - 1].period <= period)
    return isMonotonic ? 'equation 1' : 'schedulable'
  }

  /** @param {Claim[]} claims @param {number} share */
  #isSchedulable(claims, share) {
    const policy = isByDeadline(this.#policy) ? edf : fp
    const own = claims.filter(({ of }) => of !== 'I/O')
    const io = claims.reduce((sum, { of, utilization }) => of === 'I/O' ? sum + utilization : sum, 0)
    const speed = share - io // in any time t, I/O takes io * t
    if (!(speed > 0)) return false
    // By fixed priority, reservations are above all tasks.
    const top = Math.max(0, ...own.filter(({ of }) => of === 'task').map(({ priority }) => priority))
    const ranks = own.filter(({ of }) => of === 'reservation').map(({ priority }) => priority).sort((a, b) => a - b)
    const tasks = own.map(({ name, of, wcet, period, deadline, priority, task }) => ({
      name, period, deadline, wcet: wcet / speed,
      priority: of === 'task' ? priority : top + 1 + ranks.indexOf(priority),
      uses: task?.uses,
      sections: task?.sections?.map((/** @type {any} */ section) => ({ ...section, wcet: section.wcet / speed }))
    }))
    if (policy === fp) {
      // What may be used back to back is there once more, at the worst moment: a task that comes once.
      const longest = Math.max(0, ...own.filter(({ of }) => of === 'reservation').map(({ period }) => period))
      const extra = claims.filter(({ isBursty }) => isBursty && longest > 0).map(({ name, of, utilization, wcet, priority }) => ({
        name, wcet: (of === 'I/O' ? utilization * longest : wcet) / speed, period: 2 ** 30 * longest,
        priority: of === 'I/O' ? top + 1 + ranks.length : top + 1 + ranks.indexOf(priority)
      }))
      tasks.push(.../** @type {any[]} */ (extra))
    }
    return schedulable(tasks, { policy }).schedulable
  }
}

/**
 * What asks for processor time.
 *
 * @typedef {Reservation | IoReservation | TaskParameters | { utilization: number, name?: string }
 *   | { capacity: number, period: number, kind?: Kind, priority?: number, name?: string }} Claimant
 */

/** @param {number} value */
const percent = value => `${Math.round(value * 1e4) / 100} %`

/**
 * Promises processor time: from now on whoever was admitted gets his in time, as far as the schedule decides that, and
 * whoever asks for more than is left is refused. Before the first call, reservations are refused only where all of them
 * exceed the processor.
 *
 * The test. Under edf, utilizations add up to the share at most (Liu, Layland 1973; Abeni, Buttazzo 1998). Under fp and
 * rm, Qduino equation 1: `sum(C / T) + sum((2 - U) U) <= n (2^(1/n) - 1)` times the share, where the second sum is of
 * what may be used at the end of a period and again at the beginning of the next: I/O and deferrable reservations. Where
 * priorities are not rate monotonic, and where there are tasks, whose wcet, period and deadline are known, it is that of
 * `schedulable`, exact but for those two kinds.
 *
 * @param {Iterable<Claimant> | Claimant} set reservations and I/O reservations; tasks with `wcet`, `period` and `deadline`
 *   (default: the period); or objects like those that they are made of. Reservations count, named or not
 * @param {{ share?: number, scheduler?: Scheduler }} [options] `share` of the processor, > 0 and <= 1, default the one in
 *   force, at first 1; pages should give what the browser leaves, about 0.85
 * @returns {Readonly<Sums> & { cancel(): boolean }} `cancel` takes back what was promised to the tasks of this call
 * @throws {AdmissionError} when that is more than there is; nothing has changed then
 * @throws {TypeError | RangeError} naming the parameter
 */
export function admit(set, options = {}) {
  const { share } = optionsOf(options, ['share', 'scheduler'])
  if (share !== undefined) shareOf('share', share)
  if (typeof set !== 'object' || set === null) {
    throw wrongType('set', 'reservations or tasks', set)
  }
  const members = /** @type {any[]} */ (Symbol.iterator in set ? [...set] : [set])
  const scheduler = schedulerOf(members, options)
  const { policy } = scheduler
  if (!isByDeadline(policy) && !isByPriority(policy)) {
    throw new TypeError(`admit() knows edf, fp and rm, and not the policy ${JSON.stringify(policy.name)}`)
  }
  const admission = Admission.of(scheduler)
  const claims = members.map((member, index) => claimOf(member, `set[${index}]`, policy))
  const sums = admission.enter(claims, { share, guarantees: true })
  const withdrawn = claims.map(([claimant]) => claimant).filter(claimant => !(claimant instanceof Account))
  return Object.freeze({
    ...sums,
    cancel: () => withdrawn.filter(claimant => admission.leave(claimant)).length > 0
  })
}

/** @param {any[]} members @param {any} options @returns {Scheduler} */
function schedulerOf(members, options) {
  const { scheduler: given = members.find(member => member?.scheduler !== undefined)?.scheduler } = options
  const scheduler = here({ scheduler: given })
  for (const member of members) {
    if (member?.scheduler === undefined || member.scheduler === scheduler) continue
    throw new TypeError(`set must be of one scheduler, but ${member.name} is of another`)
  }
  return scheduler
}

/** @param {any} member @param {string} where @param {import('./rt.mjs').Policy} policy @returns {[object, Claim]} */
function claimOf(member, where, policy) {
  if (member instanceof Reservation || member instanceof IoReservation) {
    const account = accountOf(member)
    return [account, account.claim]
  }
  if (typeof member !== 'object' || member === null) {
    throw wrongType(where, 'a reservation or a task', member)
  }
  const { name = where, kind, capacity, wcet, period } = member
  if (member.utilization !== undefined) {
    return [member, claimOfIo(name, fraction(`${where}.utilization`, member.utilization))]
  }
  interval(`${where}.period`, period)
  if (capacity !== undefined) {
    checkCapacity(capacity, period)
    const { priority = 1 / period } = member
    return [member, claimOfReservation(name, capacity, period, finite('priority', priority), kind === 'deferrable')]
  }
  duration(`${where}.wcet`, wcet)
  const deadline = member.deadline === undefined || member.deadline === Infinity ? period : member.deadline
  interval(`${where}.deadline`, deadline)
  const priority = finite('priority', policy.priority?.(member) ?? member.priority ?? 0)
  const utilization = wcet / period
  return [member, { name, of: 'task', utilization, wcet, period, deadline, priority, isBursty: false, task: member }]
}

// -------------------------------------------------------------------------------------- 7 what runs reserved

/**
 * A loop with a reservation of its own (Qduino II-C: `loop(id, C, T)`): `body` again and again, in `capacity` ms of every
 * `period`. Any number of them; what one does disturbs no other. It is not paced: a body that is to wait does so, as by
 * `yield sleep(ms)`.
 *
 * @param {() => Iterator<Yieldable, unknown, any> | PromiseLike<unknown> | void} body a generator function, or a function that returns something to wait for
 * @param {TaskOptions & { capacity: number, period: number, kind?: Kind, depleted?: Depleted, signal?: AbortSignal }}
 *   options those of the reservation and of its job
 * @returns {{ cancel(reason?: unknown): boolean, readonly job: Job, readonly reservation: Reservation }} `cancel` ends
 *   the loop; so does an error in the body. Its capacity is free again then
 * @throws {TypeError | RangeError} naming the parameter
 * @throws {AdmissionError} when the processor has not that much left
 */
export function loop(body, options) {
  callable('body', body)
  const { capacity, period, priority, kind, depleted, signal } =
    optionsOf(options, [...PARAMETERS, 'capacity', 'kind', 'depleted', 'signal'])
  if (options.reservation !== undefined) throw new TypeError('reservation is made by loop(), of capacity and period')
  const parameters = parametersOf(options)
  delete parameters.period
  const source = new Source('body', body, parameters)
  signalOf(signal)
  const name = parameters.name ?? (body.name || 'loop')
  const { scheduler } = source
  const reservation = new Reservation({ capacity, period, priority, kind, depleted, name, scheduler })
  const run = function* () {
    for (;;) {
      const begun = body()
      yield typeof begun === 'object' && begun !== null ? begun : undefined
    }
  }
  try {
    const job = scheduler.spawn(run, { ...parameters, name, signal, reservation })
    seam.ended(job, () => { retire(reservation) })
    return { cancel: reason => job.cancel(reason), job, reservation }
  } catch (error) {
    retire(reservation)
    throw error
  }
}

/** Nobody will use it any more. @param {Reservation} reservation */
function retire(reservation) {
  Admission.of(reservation.scheduler).leave(accountOf(reservation))
}

/**
 * How long an event may take from its listener to its handler, at the longest (Qduino equation 3):
 *
 *   (T_h - C_h) + (T_io - C_io) + (ceil(b / C_io) - 1) T_io + (b mod C_io), the remainder taken in (0, C_io]
 *
 * It holds plus one budget (and, with an I/O reservation, one budget / utilization), in an admitted set, for reservations
 * that none of higher standing holds up and an event that comes when the previous ones have been handled. Where others
 * may hold them up, each blackout `T - C` may be twice as long (Shin, Lee 2003). The time until the browser calls the
 * listener is not in it.
 *
 * @param {object} options
 * @param {{ capacity: number, period: number }} options.handler the reservation that the handler runs by
 * @param {{ capacity: number, period: number } | { utilization: number }} [options.io] the I/O reservation that delivers
 *   the event, by default none; with a utilization, it has the handler's period
 * @param {number} [options.bottomHalf] ms of work between listener and handler, default 0
 * @returns {number} ms; Infinity where a capacity is 0
 * @throws {TypeError | RangeError} naming the parameter
 */
export function worstCaseDelay(options) {
  const { handler, io, bottomHalf = 0 } = optionsOf(options, ['handler', 'io', 'bottomHalf'])
  if (typeof handler !== 'object' || handler === null) {
    throw wrongType('handler', 'a reservation', handler)
  }
  checkCapacity(handler.capacity, handler.period)
  duration('bottomHalf', bottomHalf)
  if (handler.capacity === 0) return Infinity
  const blackout = handler.period - handler.capacity
  if (io === undefined) return blackout + bottomHalf
  if (typeof io !== 'object' || io === null) throw wrongType('io', 'an I/O reservation', io)
  const { utilization } = /** @type {any} */ (io)
  const { period, capacity } = utilization === undefined ? /** @type {any} */ (io)
    : { period: handler.period, capacity: fraction('utilization', utilization) * handler.period }
  checkCapacity(capacity, period)
  if (capacity === 0) return Infinity
  const periods = Math.max(0, Math.ceil(bottomHalf / capacity - NOISE) - 1)
  return blackout + (period - capacity) + periods * period + (bottomHalf - periods * capacity)
}
