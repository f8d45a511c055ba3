/**
 * alarms.mjs: when work starts. Alarms, waiting for time, periodic and sporadic tasks, frames, events.
 *
 * Alarms fire from inside the dispatcher, between budgets, while jobs run; when it is idle one host timer
 * waits for the earliest (RT.js III-D). Activation times are absolute: a late alarm delays none of its
 * successors.
 *
 * Everything acts on the scheduler of the running job; outside jobs on `options.scheduler`, by default `rt`.
 *
 * Words of this file:
 * - source: releases the jobs of a task or function, with the parameters that were given as options
 * - cycle: the times `origin + index * period`
 * - course: the progress of a job through its periods, with the samples of its jitter
 * - stage: a queue in which events wait until the job of an earlier event has ended
 * - last listener: the listener after which the jobs of an event run, in the same task of the event loop
 *
 * Invariants:
 * 1. No alarm fires early, and no activation time depends on how late an earlier alarm fired.
 * 2. A call that throws has registered no alarm, no listener and no job.
 * 3. A handler counts each event once: as waiting, handled or dropped.
 *
 * Exports marked `@internal` are the interface of the addons:
 * - `Source`, `parametersOf`: release jobs of a task or function that users pass, with its options
 * - `RELEASED`: the kinds of functions that become jobs when they are called
 * - `follow`: calls a function when a signal is aborted
 * - `Cycle`: periodic times without drift
 * - `EventHandler`, `HANDLING`, `checkTarget`: extend `on`
 * - `interruptible`: the mask behind `interrupts()` and `noInterrupts()`
 * - `releaseOf`: the time of an event on the host's clock
 * - `apply`: Reflect.apply as it was when this module was loaded
 * - `scriptAddress`: the address of this module, by which browsers name its scripts
 *
 * @module alarms
 */

import { Scheduler, Task, seam } from './rt.mjs'
/** @import { ArgumentsOf, Awaitable, Checked, Job, JobOptions, ResultOf } from './rt.mjs' */
/** @import { Taking, TaskOptions, Work, Yieldable } from './rt.mjs' */

const { Fifo, Sleep, Waitable, check, here, parameters: TASK } = seam
const {
  among, callable, duration, elsewhere, flag, interval, notNegative, number, options: checked, text, wrongType
} = check

/** What was waited for did not come in time. */
export class TimeoutError extends Error {
  name = 'TimeoutError'
}

const timestamp = /* @__PURE__ */ number('a number > -Infinity', value => value > -Infinity)
/** @param {number} value */
const isCount = value => Number.isSafeInteger(value) && value >= 1 || value === Infinity
const times = /* @__PURE__ */ number('an integer >= 1 or Infinity', isCount)
const SIGNAL = { signal: check.signal }

/**
 * What goes on until it is ended: by the signal, or by what this returns.
 *
 * @param {AbortSignal | undefined} signal @param {() => void} end done once @returns {() => boolean} whether it went on
 */
function ending(signal, end) {
  let goesOn = true
  const cancel = () => {
    if (!goesOn) return false
    goesOn = false
    unfollow()
    end()
    return true
  }
  const unfollow = follow(signal, cancel)
  if (signal?.aborted) cancel()
  return cancel
}

/**
 * @internal
 * @param {AbortSignal | undefined} signal @param {() => void} end called when the signal is aborted
 * @returns {() => void} ends that
 */
export function follow(signal, end) {
  if (!signal) return () => {}
  seam.ours.add(end) // of each alarm it would make collections of a page with many of them take half as long again
  signal.addEventListener('abort', end)
  return () => signal.removeEventListener('abort', end)
}

/** A page may replace Reflect.apply after this module was loaded. @internal */
export const apply = Reflect.apply

/** @internal */
export function scriptAddress() { return import.meta.url }

/** The parameters of a task that are set. @internal @param {any} source @returns {TaskOptions} */
export function parametersOf(source) {
  const all = Object.keys(TASK).map(name => [name, source[name]])
  return Object.fromEntries(all.filter(([, value]) => value !== undefined))
}

/**
 * Releases the jobs of some work. A task remains itself: its parameters are read at each release, and those
 * that were given as options come before them.
 *
 * @internal
 */
export class Source {
  /** @param {string} name of the parameter @param {any} work @param {any} options with parameters of tasks among them */
  constructor(name, work, options) {
    const isTask = work instanceof Task
    const run = isTask ? work.run : work
    if (typeof run !== 'function') throw wrongType(name, 'a Task or a function', work)
    check.refuseAsyncGenerator(name, run, work)
    const given = parametersOf(options)
    const checked = new Task(run, isTask ? { ...parametersOf(work), ...given } : given)
    this.task = isTask ? work : checked
    this.scheduler = here(checked)
    this.given = given
  }

  /** @template {keyof TaskOptions} N @param {N} name @returns {TaskOptions[N]} */
  parameter(name) {
    return this.given[name] ?? this.task[name]
  }

  /**
   * @param {JobOptions & TaskOptions} own its deadline is for want of another @param {any[]} [args] @param {Task} [task]
   * @returns {Job}
   */
  release({ deadline, ...own }, args = [], task = this.task) {
    const options = { ...this.given, ...own }
    if (task.deadline === Infinity) options.deadline ??= deadline
    return this.scheduler.spawn(task, options, ...args)
  }
}

// -------------------------------------------------------------------------------------------------- 1 alarms

/** Times `origin + index * period`: multiplied, not added up, so that hours do not drift. @internal */
export class Cycle {
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

  /** Takes the next time, or the latest that has come by `now`. @param {number} now @returns {number} the one after it */
  advance(now) {
    this.index = Math.max(this.index, this.indexAt(now))
    this.latest = this.time
    this.index++
    return this.time
  }

  /** @param {number} now @returns {number} the index of the latest time that has come */
  indexAt(now) {
    const index = Math.floor((now - this.origin) / this.period)
    // The quotient may have been rounded across a whole number.
    if (this.timeOf(index) > now) return index - 1
    return this.timeOf(index + 1) <= now ? index + 1 : index
  }
}

/**
 * A time at which something happens, once or again and again. Made by `after`, `at` and `every`.
 *
 * Never early. While jobs run it fires between two budgets, else by one timer of the host, which may be half a ms late. In pages
 * turns of the event loop pass the last ms before it: a quarter of the processor for alarms of every ms. In a hidden page timers
 * come once in a second, in Chromium after five minutes once in a minute; beside jobs, and in workers, alarms come when they
 * are due.
 */
export class Alarm {
  /** null when it was over before it began. */
  #entry
  #unfollow

  /**
   * @internal
   * @param {Scheduler} scheduler @param {number} time @param {((time: number) => void) & { of?: string }} work
   * @param {((time: number) => number | undefined) | null} next when it fires again
   * @param {{ ref?: boolean, signal?: AbortSignal }} options
   */
  constructor(scheduler, time, work, next, options) {
    if (!(scheduler instanceof Scheduler)) throw new TypeError('alarms are made by after(), at() and every()')
    const { ref, signal } = options
    const fire = next === null && signal === undefined ? work : this.#firing(work, next)
    this.#entry = signal?.aborted ? null : seam.at(scheduler, time, fire, { ref })
    this.#unfollow = signal && this.#entry && follow(signal, () => this.cancel())
  }

  /** @param {((time: number) => void) & { of?: string }} work @param {((time: number) => number | undefined) | null} next */
  #firing(work, next) {
    const fire = (/** @type {number} */ time) => {
      const following = next?.(time)
      // Before the work, which may cancel the alarm, or throw.
      if (following === undefined) this.#unfollow?.()
      else this.#entry?.set(following)
      work(time)
    }
    fire.of = work.of ?? work.name
    return fire
  }

  /** When it fires next, host timestamp in ms; undefined after the last time, or when it was cancelled. */
  get time() { return this.#entry?.isSet ? this.#entry.time : undefined }

  /** @returns {boolean} whether it would still have fired */
  cancel() {
    this.#unfollow?.()
    return this.#entry?.cancel() ?? false
  }
}

/**
 * @typedef {TaskOptions & { ref?: boolean, signal?: AbortSignal }} AlarmOptions
 *   those of the jobs it releases; `ref: false` does not keep the process alive; `signal` cancels the alarm
 */
/**
 * Refuses what an alarm cannot do: it calls callbacks with its time, and releases jobs without arguments.
 *
 * @template W
 * @typedef {W extends (time: number) => infer R
 *   ? R extends Iterator<any, any, any> | AsyncIterator<any, any, any> | PromiseLike<any> ? Taking<W, []> : unknown : Taking<W, []>} Alarmed
 */

const ONCE = { ...TASK, ...SIGNAL, ref: flag }
const REPEATED = { ...ONCE, phase: duration, count: times, catchUp: among('skip', 'all') }
/** @internal */
export const RELEASED = ['GeneratorFunction', 'AsyncFunction', 'AsyncGeneratorFunction']

/**
 * What an alarm does: calls a callback in the dispatcher, or releases a job whose deadline counts from the
 * alarm's time.
 *
 * @param {any} work @param {any} options
 * @returns {{ scheduler: Scheduler, activate: ((time: number) => void) & { of?: string } }} `of`: its name
 */
function effectOf(work, options) {
  const body = seam.preemptible(work)
  if (typeof work === 'function' && !RELEASED.includes(body[Symbol.toStringTag])) {
    return { scheduler: here(options), activate: work }
  }
  const source = new Source('work', work, options)
  const isCallback = body !== work && !RELEASED.includes(work[Symbol.toStringTag]) // with a twin: it is given what callbacks are
  const activate = (/** @type {number} */ time) => { source.release({ release: time }, isCallback ? [time] : []) }
  activate.of = source.task.name
  return { scheduler: source.scheduler, activate }
}

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
  const { scheduler, activate } = effectOf(work, checked(options, ONCE))
  return new Alarm(scheduler, scheduler.now() + ms, activate, null, options)
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
  const { scheduler, activate } = effectOf(work, checked(options, ONCE))
  return new Alarm(scheduler, time, activate, null, options)
}

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
  const { phase = period, count = Infinity, catchUp = 'skip' } = checked(options, REPEATED)
  const { scheduler, activate } = effectOf(work, options)
  const cycle = new Cycle(scheduler.now() + phase, period)
  let left = count
  const next = () => {
    const time = cycle.advance(catchUp === 'all' ? -Infinity : scheduler.now())
    return --left > 0 ? time : undefined
  }
  const fire = () => activate(cycle.latest)
  fire.of = activate.of ?? activate.name
  return new Alarm(scheduler, cycle.time, fire, next, options)
}

// ------------------------------------------------------------------------------------------------- 2 waiting

const ACTING = { scheduler: check.scheduler }

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
  return new Sleep(ms, true, checked(options, ACTING))
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
  return new Sleep(time, false, checked(options, ACTING))
}

/** Waits for something else, but no longer than for a time. */
class Timeout extends Sleep {
  /** @param {number} ms @param {any} subject @param {{ scheduler?: Scheduler }} options */
  constructor(ms, subject, options) {
    const awaited = Waitable.of(subject)
    if (awaited === null) throw wrongType('awaited', 'a promise, a job or a waitable', subject)
    super(ms, true, options, () => {
      this.undo()
      this.fail(new TimeoutError(`not within ${ms} ms`))
    })
    this.awaited = awaited
    this.subject = subject
  }

  get isRanked() { return true }
  get handsOver() { return this.awaited.handsOver }
  get isDecided() { return this.awaited.isDecided }
  // The others of a circle cannot end this wait before its time: a circle is none the less told when it closes.
  owners() {
    return this.awaited.owners()
  }
  refresh() {
    super.refresh()
    this.awaited.refresh()
  }

  /** @param {Job | null} job */
  begin(job) {
    if (job !== null && this.subject === job) throw new TypeError(`${job.name} waits for itself`)
    this.job = job
    if (this.awaited.enlist(this)) this.woken()
    else super.begin(job)
  }

  /** What it waits for is decided: see the channels of sync.mjs. */
  decided() {
    /** @type {any} */ (this.waiter)?.decided?.(this)
  }
  /** What it waits for is over. */
  woken() {
    super.undo()
    if (this.awaited.isFulfilled) this.wake(this.awaited.outcome)
    else this.fail(this.awaited.outcome)
  }

  undo() {
    super.undo()
    this.awaited.leave(this)
  }
}

/**
 * Waits for something, but no longer than for a time, and lets go of it then.
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
  return new Timeout(ms, awaited, checked(options, ACTING))
}

// ------------------------------------------------------------------------------------------------ 3 releases

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
    return {
      count: this.#count,
      min: sorted[0] ?? NaN,
      mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
      p99: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? NaN,
      max: sorted.at(-1) ?? NaN
    }
  }
}

/** How long after the starts of their periods jobs are released, start and finish. @typedef {ReturnType<typeof newJitter>} Jitter */
const newJitter = () => ({ release: new Samples(), start: new Samples(), finish: new Samples() })

/** The courses of the jobs that have one. @type {WeakMap<Job, Course>} */
const courses = new WeakMap()

/** How a job goes through its periods: one of them, or from one to the next, by `nextPeriod`. */
class Course extends Cycle {
  missed = 0
  /** Periods after the present one, of a job that loops. */
  left = 0
  isLoop = false

  /**
   * @param {Job} job @param {number} lag ms, of its release @param {Jitter} jitter
   * @param {(course: Course) => number} looped told when the job turns out to loop; how many periods are left to it then
   */
  constructor(job, lag, jitter, looped) {
    super(job.release, job.period)
    this.job = job
    this.lag = lag
    this.jitter = jitter
    this.looped = looped
    courses.set(job, this)
  }

  /** @param {Job} job that loops @returns {Course} */
  static of(job) {
    if (!courses.has(job) && job.period === Infinity) {
      throw new TypeError(`nextPeriod() needs a job with a period; ${job.name} has none`)
    }
    const course = courses.get(job) ?? new Course(job, 0, newJitter(), () => Infinity)
    if (course.isLoop) return course
    course.isLoop = true
    course.begin()
    course.left = course.looped(course)
    return course
  }

  /** The job has started in its first period. */
  begin() {
    this.jitter.release.add(this.lag)
    this.jitter.start.add(/** @type {number} */ (this.job.started) - this.job.release)
  }

  /** @param {number} finished @returns {number} the index of the first period that starts then, or later */
  after(finished) {
    const latest = this.indexAt(finished)
    return Math.max(this.index + 1, this.timeOf(latest) === finished ? latest : latest + 1)
  }

  /** @param {number} index of the period that has started @param {number} now @returns {number} how many were missed */
  enter(index, now) {
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
 * @property {() => boolean} cancel releases no more jobs; a loop is cancelled, other jobs run to their ends. Whether it would
 *   have gone on
 * @property {number} jobs released so far
 * @property {number} skipped periods that have started and for which there was no job
 * @property {() => { release: Summary, start: Summary, finish: Summary }} jitter how long after the starts of their periods
 *   jobs were released, started and finished: ms, over the last 1000
 */

const PERIODIC = { ...ONCE, phase: duration, count: times, excess: elsewhere }

/**
 * A periodic task: a job every period, or one job that loops with `yield nextPeriod()`.
 *
 * @template {Work} W
 * @param {(W | (() => unknown)) & Taking<W, []>} task
 * @param {AlarmOptions & { phase?: number, count?: number }} [options] `period` is the
 *   task's by default, `deadline` the period; `phase`: ms until the first release, default 0; `count`: the
 *   number of jobs, or of the periods of a loop, default Infinity; `excess`: what happens when the previous
 *   job still runs at a release: 'skip' (default) leaves the period out; 'queue' releases the job when the
 *   previous one has ended, 'replace' that of the latest period only; 'abort' cancels the previous one
 * @returns {Periodic}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function periodic(task, options = {}) {
  const { phase = 0, count = Infinity, signal } = checked(options, PERIODIC)
  const { period = task instanceof Task ? task.period : undefined } = options
  interval('period', period)
  const source = new Source('task', task, { ...parametersOf(options), period })
  const { scheduler } = source
  const excess = source.parameter('excess') ?? 'skip'
  const cycle = new Cycle(scheduler.now() + phase, /** @type {number} */ (period))
  const jitter = newJitter()
  /** That of the latest job, while it lives; and of the job that loops. @type {Course | null} */
  let latest = null
  /** @type {Course | null} */
  let loop = null
  let released = 0
  /** Periods of which the jobs wait for their predecessor. */
  let waiting = 0
  let isCancelled = false

  const start = () => {
    if (latest !== null && excess === 'skip') return
    waiting = excess === 'replace' ? 1 : waiting + 1
    if (released + waiting >= count && excess !== 'replace') alarm.cancel()
    if (excess === 'abort') latest?.job.cancel(new DOMException('The next period has begun', 'AbortError'))
    else if (latest !== null) return
    releaseNext()
  }
  const releaseNext = () => {
    if (waiting === 0) return
    const time = cycle.timeOf(cycle.index - waiting)
    waiting--
    const lag = scheduler.now() - time
    const job = source.release({ release: time, deadline: cycle.period })
    const course = latest = new Course(job, lag, jitter, leave)
    if (++released >= count) alarm.cancel()
    seam.ended(job, () => ended(course))
  }
  /** The job loops: it keeps its periods itself from now on. */
  const leave = (/** @type {Course} */ course) => {
    if (latest !== course) return 0
    waiting = 0
    alarm.cancel()
    loop = course
    return isCancelled ? 0 : count - 1
  }
  const ended = (/** @type {Course} */ course) => {
    const { job, isLoop } = course
    if (!isLoop && job.started !== undefined) course.begin()
    if (isLoop ? job.state === 'done' : job.started !== undefined) {
      jitter.finish.add(/** @type {number} */ (job.finished) - course.time)
    }
    if (latest !== course) return
    latest = null
    releaseNext()
    if (latest === null && alarm.time === undefined) unfollow()
  }
  const cancel = (/** @type {unknown} */ reason) => {
    const wasLooping = loop !== null && loop.job.cancel(reason)
    const wasWaiting = waiting > 0
    isCancelled = true
    waiting = 0
    unfollow()
    return alarm.cancel() || wasLooping || wasWaiting
  }
  const next = () => cycle.advance(excess === 'queue' ? -Infinity : scheduler.now())
  start.of = source.task.name
  const alarm = new Alarm(scheduler, cycle.time, start, next, { ref: options.ref })
  const unfollow = follow(signal, () => { cancel(signal.reason) })
  if (signal?.aborted) cancel(undefined)
  return {
    cancel: () => cancel(undefined),
    get jobs() { return released },
    get skipped() { return loop === null ? cycle.index - released - waiting : loop.missed },
    jitter: () => ({ release: jitter.release.summary(), start: jitter.start.summary(), finish: jitter.finish.summary() })
  }
}

/** Waits for the start of a job's next period. */
class PeriodStart extends Sleep {}

/** @returns {Generator<any, number, any>} */
function* passPeriod() {
  const scheduler = here()
  const job = scheduler.current
  if (job === null) throw new TypeError('nextPeriod() is for jobs')
  const course = Course.of(job)
  const finished = scheduler.now()
  course.jitter.finish.add(finished - course.time)
  if (course.left === 0) {
    const reason = new DOMException('The last period is over', 'AbortError')
    job.cancel(reason)
    yield
    throw reason // in a critical section, which cancelling spares
  }
  const start = new PeriodStart(finished, false, { scheduler }, () => {
    // In the dispatcher, when the last budget has been charged to the period that ends.
    const index = course.after(finished)
    const time = course.timeOf(index)
    seam.renew(job, time)
    start.ring = () => start.wake(course.enter(index, scheduler.now()))
    if (time > scheduler.now()) start.sleepUntil(scheduler, time)
    else start.ring()
  })
  const missed = yield start
  course.jitter.start.add(scheduler.now() - course.time)
  return missed
}

/**
 * In a job with a period: waits for the start of its next one, from which its deadline then counts (RTSJ:
 * waitForNextPeriod). When `periodic` was asked for `count` periods, and they are over, the job is cancelled.
 *
 * @returns {Iterator<Yieldable, number, unknown> & { [Symbol.iterator](): Generator<Yieldable, number, unknown> }} to be
 *   yielded; gives the number of periods that have been missed
 */
export function nextPeriod() {
  // A call, so that it learns when the job goes on, and not when it was woken.
  return Object.assign(passPeriod(), {
    /** @param {any} [onDone] @param {any} [onFailed] @returns {Promise<never>} */
    then: (onDone, onFailed) => Promise.reject(new TypeError('nextPeriod() is for generators, which yield it')).then(onDone, onFailed)
  })
}

const SPORADIC = { ...TASK, interarrival: interval, excess: among('defer', 'drop', 'queue', 'skip', 'replace', 'abort') }

/**
 * A sporadic task: its jobs are released at least `interarrival` apart.
 *
 * @template {Work} W
 * @param {(W | ((job: Job, ...args: any[]) => unknown)) & Checked<W>} task
 * @param {Omit<TaskOptions, 'excess'> & { interarrival: number, excess?: 'defer' | 'drop' | TaskOptions['excess'] }} options
 *   `interarrival`: ms, > 0; `excess`: what comes too early is released later ('defer', default) or not at all ('drop'); with
 *   the others, also what comes while a job of the task lives is treated so: 'skip' drops what comes too early, with 'replace'
 *   and 'abort' the newest takes the place of what waits for its time
 * @returns {(...args: ArgumentsOf<W>) => Job<ResultOf<W>> | null} releases a job; null when it is dropped
 * @throws {TypeError | RangeError} naming the parameter
 */
export function sporadic(task, options) {
  const { interarrival, excess = task instanceof Task && task.excess || 'defer' } = checked(options, SPORADIC)
  interval('interarrival', interarrival)
  const isPlain = excess === 'defer' || excess === 'drop'
  const source = new Source('task', task, isPlain ? { ...options, excess: undefined } : options)
  /** @type {Job | undefined} */
  let latest
  let earliest = -Infinity
  return /** @param {any[]} args @returns {any} */ (...args) => {
    const now = source.scheduler.now()
    if (now < earliest && (excess === 'drop' || excess === 'skip')) return null
    const replaced = (excess === 'replace' || excess === 'abort') && latest?.state === 'pending' ? latest : undefined
    const release = Math.max(now, replaced?.release ?? earliest)
    latest = source.release({ release }, args)
    replaced?.cancel()
    earliest = release + interarrival
    return latest
  }
}

/**
 * A job per animation frame; none while the page is hidden, none while the previous one still runs unless `excess` says so.
 *
 * @template {Work} W
 * @param {(W | ((time: number) => unknown)) & Taking<W, [time: number]>} task called with the frame's time, which is its release
 * @param {TaskOptions & { signal?: AbortSignal }} [options] `deadline`: by default the next frame, as far as
 *   the frames so far tell when that is
 * @returns {{ cancel(): boolean }}
 * @throws {TypeError | RangeError} naming the parameter; TypeError where there are no animation frames
 */
export function frames(task, options = {}) {
  const { signal } = checked(options, { ...TASK, ...SIGNAL })
  const source = new Source('task', task, options)
  const { scheduler } = source
  const host = /** @type {any} */ (scheduler.host)
  if (host.frame === undefined) throw new TypeError('there are no animation frames here')
  const isLone = (source.parameter('excess') ?? 'skip') === 'skip'
  const intervalAfter = seam.frameInterval()
  let shown = -Infinity
  /** @type {Job | undefined} */
  let latest

  const onFrame = (/** @type {number} */ time) => {
    cancelFrame = host.frame(onFrame)
    const interval = intervalAfter(time - shown)
    shown = time
    const isRunning = latest !== undefined && latest.finished === undefined
    if (isRunning && isLone || host.hidden?.()) return
    const release = Math.min(time, scheduler.now())
    latest = source.release({ release, deadline: time + interval - release }, [time])
  }
  const letGo = seam.hold(scheduler)
  let cancelFrame = host.frame(onFrame)
  return {
    cancel: ending(signal, () => {
      cancelFrame()
      letGo()
    })
  }
}

// -------------------------------------------------------------------------------------------------- 4 events

// Deadlines and not the order of listeners decide what comes first: jobs follow the last listener of their event. It is added
// when the window captures the event, before all others hear it; those of a target are looked up when the event gets there.

/** Events on their way to their last listener, and the schedulers whose jobs follow it. @type {WeakMap<any, Set<Scheduler>>} */
const heard = new WeakMap()
/** How many listeners there are of a type. @type {Map<string, number>} */
const listened = new Map()

/** @param {string} type @param {number} change of the number of listeners */
function countListeners(type, change) {
  const count = (listened.get(type) ?? 0) + change
  listened.set(type, count)
  for (const listener of [expectLast, last]) seam.ours.add(listener)
  if (count > 0) globalThis.addEventListener?.(type, expectLast, { capture: true, passive: true })
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

/**
 * The listeners of a target, by what distinguishes them: one for all handlers.
 *
 * @type {WeakMap<any, Map<string, { handlers: Set<(event: any) => void>, tell: (event: any) => void }>>}
 */
const listeners = new WeakMap()

/**
 * @param {any} target @param {string} type @param {boolean} capture @param {boolean | undefined} passive
 * @param {(event: any) => void} handler
 * @returns {() => void} removes it
 */
function addHandler(target, type, capture, passive, handler) {
  let known = listeners.get(target)
  if (known === undefined) listeners.set(target, known = new Map())
  const key = `${type} ${capture} ${passive}`
  let listener = known.get(key)
  if (listener === undefined) {
    const handlers = new Set()
    const tell = (/** @type {any} */ event) => {
      // As with listeners: one that is added meanwhile does not get this event, one that is removed neither.
      for (const handler of [...handlers]) if (handlers.has(handler)) handler(event)
    }
    countListeners(type, 1)
    seam.ours.add(tell)
    target.addEventListener(type, tell, passive === undefined ? { capture } : { capture, passive })
    known.set(key, listener = { handlers, tell })
  }
  const { handlers, tell } = listener
  handlers.add(handler)
  return () => {
    handlers.delete(handler)
    if (handlers.size > 0) return
    known.delete(key)
    countListeners(type, -1)
    target.removeEventListener(type, tell, { capture })
  }
}

/**
 * When an event happened.
 *
 * @internal
 * @param {Scheduler} scheduler @param {any} event @returns {number} host timestamp, ms
 */
export function releaseOf(scheduler, event) {
  const now = scheduler.now()
  const happened = scheduler.host.eventTime?.(event) ?? event.timeStamp
  return happened > 0 && happened < now ? happened : now // a time stamp of 0, or in the future, is none
}

/** An event on its way to its handler. @typedef {{ args: any[], release: number }} QueuedEvent */

/** Where events wait for one job after the other. @extends {Fifo<QueuedEvent>} */
class Stage extends Fifo {
  /** Jobs that have not ended. */
  busy = 0

  /**
   * @param {() => Job | null} start takes events and has them handled; null where nothing waits for that
   * @param {() => void} ended after each job @param {boolean} [isSerial] whether the other events wait for that
   */
  constructor(start, ended, isSerial = true) {
    super()
    this.start = start
    this.ended = ended
    this.isSerial = isSerial
  }

  /** @param {QueuedEvent} event */
  push(event) {
    super.push(event)
    this.advance()
  }

  advance() {
    if (this.isSerial && this.busy > 0 || this.size === 0) return
    const job = this.start()
    if (job === null) return
    this.busy++
    seam.ended(job, () => {
      this.busy--
      this.advance()
      this.ended()
    })
  }
}

/**
 * @template [R=object | undefined]
 * @typedef {object} Handling made by `on` and by `interrupt` of addons/reservations.mjs
 * @property {() => boolean} cancel handles no more events: those that wait are lost, what handles one goes on. Whether there
 *   would have been more
 * @property {() => void} interrupts handles events again, first those that were held back
 * @property {(options?: { drop?: boolean }) => void} noInterrupts handles no events until `interrupts()`. They are held back;
 *   with `drop`, those that happen from now on are lost
 * @property {R} reservation by which the handler runs
 * @property {number} waiting how many events wait to be handled
 * @property {number} dropped how many were lost: when `size` of them waited, by `noInterrupts({ drop: true })`, by `cancel`, or
 *   as `excess` before their jobs began
 */

/**
 * Whether events are handled: what `interrupts` and `noInterrupts` do, wherever there is such a thing.
 *
 * @internal
 * @param {() => void} switched called when that changes
 */
export function interruptible(switched) {
  const turn = (/** @type {boolean} */ isOn, /** @type {boolean} */ drops) => {
    Object.assign(mask, { isOn, drops })
    switched()
  }
  const mask = {
    isOn: true,
    /** Whether events that happen now are lost. */
    drops: false,
    interrupts: () => turn(true, false),
    /** @param {{ drop?: boolean }} [options] */
    noInterrupts: (options = {}) => turn(false, checked(options, { drop: flag }).drop ?? false)
  }
  return mask
}

/**
 * Handles the events of one target and type:
 *
 *   listener -> before -> raised -> deliver() -> delivered -> start() -> job of the handler
 *
 * Events wait in `raised` while interrupts are off, and in `delivered` while an earlier event is handled.
 * `interrupt` of addons/reservations.mjs overrides `drops`, `deliver` and `settled`.
 *
 * @internal
 */
export class EventHandler {
  dropped = 0
  /** Whether the listener is removed. */
  isOver = false
  /** Whether `drop` has been called: no further event is handled. */
  isCancelled = false
  /** Whether the listener is being called. `before` may cancel the handler. */
  isHearing = false
  mask = interruptible(() => this.raised.advance())
  raised = new Stage(() => this.mask.isOn ? this.deliver() : null, () => this.settled())

  /**
   * @param {Source} source
   * @param {any} options those of `on`
   * @param {{ reservation?: any, isSerial?: boolean, isTracked?: boolean }} [own] `reservation`: pays for the
   *   jobs, default the reservation of the source; `isSerial`: whether an event waits for the job of the
   *   previous event if no `excess` is given; `isTracked`: whether `delivered.busy` counts jobs in any case
   */
  constructor(source, options, { reservation, isSerial = false, isTracked = false } = {}) {
    const { size = Infinity } = options
    const excess = source.parameter('excess')
    const mustQueue = excess === 'queue' || excess === undefined && (isSerial || size < Infinity)
    this.source = source
    this.options = options
    this.size = size
    this.excess = excess
    this.reservation = reservation ?? source.parameter('reservation')
    this.delivered = new Stage(() => {
      const job = this.start()
      return mustQueue || isTracked ? job : null
    }, () => this.settled(), mustQueue)
  }

  get waiting() { return this.raised.size + this.delivered.size }

  /** Whether events that happen now are lost. */
  get drops() { return this.mask.drops || this.waiting >= this.size }

  /** Hands the raised events to the handler. @returns {Job | null} the job that does so, if one is needed */
  deliver() {
    while (this.raised.size > 0) this.delivered.push(this.raised.shift())
    return null
  }

  /** Releases the job that handles the next event. @returns {Job} */
  start() {
    const { args, release } = this.delivered.shift()
    const job = this.source.release({ release, reservation: this.reservation }, args)
    if (this.excess !== undefined) seam.ended(job, () => { if (job.started === undefined) this.dropped++ })
    return job
  }

  /** Called after each event and each job, for extensions that act on the last of them. */
  settled() {}

  /** Loses the events that wait. */
  drop() {
    this.dropped += this.waiting
    for (const stage of [this.raised, this.delivered]) while (stage.size > 0) stage.shift()
    this.isCancelled = true
    this.settled()
  }

  /** @param {any} target @param {string} type @returns {Handling} */
  listen(target, type) {
    const { source: { scheduler }, mask, reservation } = this
    const { before, once = false, passive, capture = false, signal } = this.options
    const hear = (/** @type {any} */ event) => {
      const release = releaseOf(scheduler, event)
      const picked = before?.(event)
      if (this.drops) this.dropped++
      else this.raised.push({ args: [picked === undefined ? event : picked], release })
    }
    hear.of = before?.name === 'before' ? '' : before?.name
    const removeListener = addHandler(target, type, capture, passive, event => {
      if (once) end()
      const schedulers = heard.get(event)
      if (schedulers === undefined) runRightAfter([scheduler]) // the window does not see it
      else schedulers.add(scheduler)
      this.isHearing = true
      seam.call(scheduler, `before ${type}`, hear, event)
      this.isHearing = false
      this.settled()
    })
    const letGo = seam.hold(scheduler)
    const end = ending(signal, () => {
      removeListener()
      letGo()
      this.isOver = true
      if (signal?.aborted) this.drop()
    })
    const handler = this
    return {
      cancel() {
        const wouldGoOn = end() || handler.waiting > 0
        handler.drop()
        return wouldGoOn
      },
      interrupts: mask.interrupts,
      noInterrupts: mask.noInterrupts,
      reservation,
      get waiting() { return handler.waiting },
      get dropped() { return handler.dropped }
    }
  }
}

/** @internal @param {any} target @param {any} type */
export function checkTarget(target, type) {
  if (typeof target?.addEventListener !== 'function' || typeof target.removeEventListener !== 'function') {
    throw wrongType('target', 'an EventTarget', target)
  }
  text('type', type)
}

/** The options of `on`. @internal @type {Record<string, (name: string, value: any) => unknown>} */
export const HANDLING = {
  ...TASK, ...SIGNAL, before: callable, once: flag, passive: flag, capture: flag, size: times
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
 * If events come at a rate that the page does not control, use `interrupt` of addons/reservations.mjs: it
 * bounds the processor time that they take.
 *
 * @template {Work} W @template {Event} [E=Event] @template [V=Event]
 * @param {EventTarget} target
 * @param {string} type
 * @param {(W | ((value: NoInfer<V>) => unknown)) & Handles<W, NoInfer<V>>} task called with the event, or with what `before`
 *   returned, unless that is undefined
 * @param {TaskOptions & { before?: (event: E) => V | void, once?: boolean, passive?: boolean, capture?: boolean,
 *   signal?: AbortSignal, size?: number }} [options] `before` runs in the listener itself: for
 *   preventDefault, and to pick what the job needs before the event is gone; when it throws, there is no job.
 *   `size`: how many events may wait to be handled, default Infinity; further ones are lost
 * @returns {Handling}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function on(target, type, task, options = {}) {
  checkTarget(target, type)
  checked(options, HANDLING)
  return new EventHandler(new Source('task', task, options), options).listen(target, type)
}

/**
 * @typedef {{ source: Source, isDirect: boolean, isCancelled: boolean, rank: import('./rt.mjs').Ranked }} Handler isDirect:
 *   released at once
 */

/** How eligible the jobs of a handler will be. @param {Source} source @returns {import('./rt.mjs').Ranked} */
function rankOf(source) {
  const priority = source.parameter('priority') ?? 0
  const period = source.parameter('period') ?? Infinity
  const deadline = source.parameter('deadline') ?? Infinity
  const { policy } = source.scheduler
  return { absoluteDeadline: deadline, priority: policy.priority?.({ deadline, priority, period }) ?? priority }
}

/**
 * An asynchronous event (RTSJ): something that happens in the program and that any number of handlers handle,
 * the most eligible first.
 *
 * Firing releases one handler only; each releases the next less eligible one when it starts. So the most
 * eligible runs as soon with a thousand others after it as alone (RTJPerf's priority-inversion test).
 * Handlers with a reservation, or an `excess`, are released at once: when they may run is not known from their parameters.
 *
 * @template {any[]} [A=[]] what it is fired with
 */
export class AsyncEvent {
  /** In order of eligibility; replaced, never changed. @type {Handler[]} */
  #handlers = []
  #scheduler
  /** The policy by which they are in order. */
  #policy

  /** @param {{ scheduler?: Scheduler }} [options] @throws {TypeError} naming the option */
  constructor(options = {}) {
    this.#scheduler = here(checked(options, ACTING))
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
    const source = new Source('task', task, checked(options, TASK))
    const own = source.parameter('scheduler')
    if (own !== undefined && own !== scheduler) throw new TypeError('scheduler must be that of the event')
    source.scheduler = scheduler
    const isDirect = source.parameter('reservation') !== undefined || source.parameter('excess') !== undefined
    const handler = { source, isDirect, isCancelled: false, rank: rankOf(source) }
    this.#arrange([...this.#handlers, handler])
    return {
      cancel: () => {
        const there = !handler.isCancelled
        handler.isCancelled = true
        this.#handlers = this.#handlers.filter(other => other !== handler)
        return there
      }
    }
  }

  /** Releases the handlers, as of now. @param {A} args */
  fire(...args) {
    const { policy } = this.#scheduler
    if (policy !== this.#policy) {
      this.#policy = policy
      for (const handler of this.#handlers) handler.rank = rankOf(handler.source)
      this.#arrange(this.#handlers)
    }
    this.#pass(this.#handlers, 0, this.#scheduler.now(), args)
  }

  /** @param {Handler[]} handlers */
  #arrange(handlers) {
    this.#handlers = handlers.toSorted((a, b) =>
      Number(b.isDirect) - Number(a.isDirect) || this.#policy.compare(a.rank, b.rank))
  }

  /**
   * Releases the handler at `index`, or the next that can be.
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
        seam.at(this.#scheduler, this.#scheduler.now(), () => { throw error }) // it must not disturb who has fired
      }
    }
  }

  /**
   * Releases a handler that passes the event on when it starts.
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
      // At the next reading of the clock, so that the others are not released at the expense of this one.
      if (next < handlers.length) seam.at(this.#scheduler, release, passOn)
      return apply(isAsync ? task.run : seam.preemptible(task.run), task, args)
    }
    const isAsync = /** @type {any} */ (task.run)[Symbol.toStringTag] === 'AsyncFunction'
    const value = isAsync ? async (/** @type {any[]} */ ...args) => run(...args) : run
    // Also when it is cancelled before it started.
    seam.ended(source.release({ release }, args, Object.create(task, { run: { value } })), passOn)
  }
}
