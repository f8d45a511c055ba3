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

import { AdmissionError, demandOf, percent, schedulable } from './addons/schedulable.mjs'
import { Scheduler, Task, edf, fp, seam } from './rt.mjs'

const { Fifo, Sleep, Waitable, check, here, parameters: TASK } = seam
const {
  among, callable, duration, elsewhere, finite, flag, interval, notNegative, number, options: checked, text, wrongType
} = check

/** @import { ArgumentsOf, Awaitable, Checked, Job, JobOptions, Policy, ResultOf, Taking, TaskOptions, Work, Yieldable } from './rt.mjs' */
/** @import { CriticalSection, Sums, TaskParameters } from './addons/schedulable.mjs' */

export { AdmissionError }

/** What was waited for did not come in time. */
export class TimeoutError extends Error {
  name = 'TimeoutError'
}

const timestamp = number('a number > -Infinity', value => value > -Infinity)
const times = number('an integer >= 1 or Infinity', value => value === Infinity || Number.isSafeInteger(value) && value >= 1)
const fraction = number('a number from 0 to 1', value => value >= 0 && value <= 1)
const positiveFraction = number('a number > 0 and <= 1', value => value > 0 && value <= 1)
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

/** @param {AbortSignal | undefined} signal @param {() => void} end when it is aborted @returns {() => void} ends that */
function follow(signal, end) {
  if (!signal) return () => {}
  seam.ours.add(end) // of each alarm it would make collections of a page with many of them take half as long again
  signal.addEventListener('abort', end)
  return () => signal.removeEventListener('abort', end)
}

/** What a function returns, by its twin if it has one. @param {any} fn @param {any[]} args @returns {Generator<any, any, any>} */
function* resultOf(fn, args) {
  const body = seam.preemptible(fn)
  const result = body(...args)
  return body === fn ? result : yield result
}

/** The parameters of a task that are set. @param {any} source @returns {TaskOptions} */
const parametersOf = source =>
  Object.fromEntries(Object.keys(TASK).map(name => [name, source[name]]).filter(([, value]) => value !== undefined))

/**
 * Releases the jobs of some work. A task remains itself: its parameters are read at each release, and those
 * that were given as options come before them.
 */
class Source {
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

// ----------------------------------------------------------------------------------------------- 1 alarms

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
const RELEASED = ['GeneratorFunction', 'AsyncFunction', 'AsyncGeneratorFunction']

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

// ----------------------------------------------------------------------------------------------- 2 waiting

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

// ------------------------------------------------------------------------------------------- 4 servers

/** Less capacity than this, in ms, is none. */
const SPECK = 1e-6
/** In how many pieces the capacity of a sporadic server may come back; more are merged. */
const MOST_REFILLS = 32

/**
 * How capacity is used up, and how it comes back. A server knows times and amounts, neither jobs nor schedulers:
 *
 *   wake(time, since)   somebody has work again; the work has been there `since`
 *   consume(ms, time, isLent)  it was done in the foreground, until `time`; by somebody else if `isLent`
 *   sleep(time)         nobody has work any more
 *   replenish(time)     `next` has come
 *   resize(claim, time) to a capacity > 0; a server that is off is idle, and left as it is
 *   resume(time)        it was off, and somebody has work: what it may do begins now
 *
 * It may run in the foreground while something remains; at `next` capacity comes back, Infinity when all of it is there.
 * `remaining` falls below 0 when the last budget outlasts it: a debt that the next replenishments pay, so that none of it is
 * forgiven.
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

  /** @param {number} time @param {number} since */
  wake(time, since) {}
  /** @param {number} time */
  sleep(time) {}
  /** @param {number} time */
  resume(time) {}
  /** @param {number} time */
  refill(time) {}
  /** @param {number} ms @param {number} time @param {boolean} isLent */
  spend(ms, time, isLent) { this.remaining -= ms }

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
 * @typedef {{ time: number, amount: number, due: number }} Refill `time`: Infinity of what a resize has taken away; `due`: when
 *   it would come if nothing had been resized, to less or to a bandwidth that has to earn it first
 */

/**
 * A server by fixed priority. Its capacity is a list of refills in order of time. Each piece that is used comes back at a time
 * of its own; the amounts that come always sum to the capacity, so it is not amplified; an overrun is taken from the refill
 * that is to come.
 */
class Refilled extends Server {
  next = Infinity
  /** @type {Refill[]} */
  refills = [{ time: this.began, amount: this.capacity, due: this.began }]
  #owed = 0
  #asOf = 0

  /** Whether what is left of a refill counts from the end of what was used. */
  get isMoving() { return false }

  /** When a piece comes back. @param {number} began when it came @param {number} used since when it is used @returns {number} */
  returnOf(began, used) { return Infinity }

  /** @param {number} ms @param {number} time @param {boolean} isLent */
  spend(ms, time, isLent) {
    const { refills, isMoving } = this
    const used = time - ms
    this.#owedAt(time, ms)
    for (let left = ms; left > 0;) {
      const [first] = refills
      // Of what is to come within a period, each capacity more puts all off by that: after a night in one budget, not one by one.
      const rounds = left > ms - 2 * this.capacity ? 0 : Math.floor(left / this.capacity) - 1
      const coming = rounds > 0 ? refills.filter(({ time }) => time < Infinity) : []
      if (rounds > 0 && first.time > used && coming[coming.length - 1].time < first.time + this.period) {
        for (const refill of coming) {
          refill.time += rounds * this.period
          refill.due += rounds * this.period
        }
        left -= rounds * this.capacity
      }
      // Where four periods have passed without any use, the page was stopped: more important work cannot be the reason, unless
      // priorities are not by rate. What was missed is not made up for, at the expense of others.
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
    const [first] = refills
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
    for (const refill of used) refill.due = Math.max(time, refill.due + later)
    used.sort((a, b) => a.due - b.due)
    const known = [...there, ...used].reduce((sum, { amount }) => sum + amount, 0)
    const grown = { time: Infinity, amount: Math.max(0, capacity - known), due: time }
    // What is taken away is what would have come last.
    this.refills = []
    let given = 0
    for (const { time: at, amount, due } of [...there, grown, ...used]) {
      const kept = Math.min(amount, capacity - given)
      given += kept
      const earned = time + (owed + given - most) * period / capacity - kept
      if (kept > 0) this.refills.push({ time: at <= time ? at : Math.max(due, earned), amount: kept, due })
      if (amount > kept) this.refills.push({ time: Infinity, amount: amount - kept, due })
    }
    this.capacity = capacity
    this.period = period
    this.refill(time)
  }
}

/**
 * The sporadic server (Sprunt, Sha, Lehoczky 1989): what is used comes back one period after the server had both
 * work and capacity, so it interferes with others no more than a periodic task. With the corrections by Stanovich, Baker,
 * Wang, Harbour 2010: each piece that is used comes back a period after its own refill, so none is premature.
 */
class Sporadic extends Refilled {
  get isMoving() { return true }

  /** @param {number} began */
  returnOf(began) { return began + this.period }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    const { refills } = this
    if (refills[0].time > time) return
    // The period counts from here, also for what will have come by the time it is needed.
    refills[0].time = time
    while (refills.length > 1 && refills[1].time <= time + refills[0].amount) {
      const [{ amount }] = refills.splice(1, 1)
      refills[0].amount += amount
    }
    this.refill(time)
  }

  /** @param {number} time */
  resume(time) { this.wake(time, time) }
}

/**
 * The deferrable server (Strosnider, Lehoczky, Sha 1995): its capacity is restored at the start of every period
 * and is kept while there is no work. It may be used at the end of one period and again at the start of the
 * next: a jitter of period - capacity.
 */
class Deferrable extends Refilled {
  /** The starts of its periods. */
  cycle = new Cycle(this.began, this.period)

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
 * The polling server: at the start of each period it has its capacity if there is work, and loses what it has when
 * there is none. It interferes like a periodic task; work that comes just after the poll waits a period.
 */
class Polling extends Deferrable {
  /** Whether the latest poll found work, which has not ended since. */
  #isServing = false
  /** The reading of the clock at which that poll was noticed. */
  #polled = -Infinity
  next = this.cycle.timeOf(1)

  /** It polls whether or not its capacity is there. */
  get isExpecting() { return true }
  get isDepleted() { return !this.#isServing || super.isDepleted }

  /** @param {number} time @param {number} since */
  wake(time, since) {
    if (this.next <= time) this.refill(time) // nobody has polled, since there were no jobs
    // Work that is noticed at the same reading of the clock as the poll was there.
    this.#isServing = this.cycle.timeOf(this.cycle.indexAt(time)) === since || this.#polled === time
  }

  /** @param {number} time */
  sleep(time) {
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
 * The constant-bandwidth server (Abeni, Buttazzo 1998): jobs are ranked by its deadline. Work that uses the capacity up
 * gets it back at the price of a deadline one period later, at once ('postpone') or when the deadline has come (the
 * hard variant). In any interval it uses at most its bandwidth, capacity / period, of the deadlines inside.
 */
class ConstantBandwidth extends Server {
  get next() { return this.isDepleted ? this.deadline : Infinity }

  /** @param {number} time @param {number} since */
  wake(time, since) {
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
    this.#postpone()
  }
}

/**
 * PIBS, the priority inheritance bandwidth preserving server of Quest (Danish, Li, West 2011): short, frequent work under
 * a bound of its utilization. Its period is its own, or else that of the reservation it works for, and its capacity the
 * utilization's share of it. After every use of `u` ms it is eligible again u / utilization after that use began: one time to remember,
 * where a sporadic server would break its capacity into pieces. It may be used at the end of one period and again at the
 * start of the next.
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
    if (!this.isDepleted) return
    this.depletions++
    this.#conclude()
  }

  /** @param {number} time @param {number} since */
  wake(time, since) {
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

  /** @param {number} time */
  sleep(time) {
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

// ------------------------------------------------------------------------------------------ 5 reservations

/** Stands for an entry where nothing is to be replenished. */
const NEVER = { time: Infinity, ref: false, cancel: () => true }

/** The books of a reservation, and what the scheduler sees of it (see ReservationHook in rt.mjs). */
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
  /** How its jobs rank in the foreground; null while it is depleted. Never changed in place. @type {import('./rt.mjs').Standing | null} */
  #granted = null
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
    this.pool = seam.pool(scheduler)
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
    commit(scheduler, [[this, claim]])
  }

  /** Whether its jobs do nothing at all. Its server is idle then: what it has used comes back as before. */
  get isOff() { return this.isMasked || this.claim.utilization === 0 }
  get isDepleted() { return this.isOff || this.server.isDepleted }

  /** Which reservation one of its jobs works for. @param {Job} job @returns {Account} */
  mainOf(job) { return this }

  /** Above all without a reservation, by fixed priority; among all jobs, by deadline. */
  get level() { return this.isRankedByDeadline ? -this.claim.period : Infinity }

  /** @param {Claim} claim what is to be promised, which is refused unless it counts no more */
  change(claim) {
    if (commitmentsOf(this.scheduler).claims.has(this)) commit(this.scheduler, [[this, claim]])
    const now = this.scheduler.now()
    if (claim.utilization > 0) this.server.resize(claim, now)
    this.turn({ claim })
    for (const delegate of this.delegates) {
      delegate.follow(now)
      delegate.update()
    }
  }

  /** @param {{ claim?: Claim, isMasked?: boolean }} change on or off, perhaps */
  turn(change) {
    const wasOff = this.isOff
    Object.assign(this, change)
    if (wasOff && !this.isOff && this.server.isAwake) this.server.resume(this.scheduler.now())
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
    this.update()
  }

  /** @param {Job} job */
  detach(job) {
    this.jobs.delete(job)
    this.rest(job, this.scheduler.now())
  }

  /** @param {Job} job @param {number} time */
  ready(job, time) {
    const { busy, server } = this
    busy.add(job)
    if (!server.isAwake) {
      server.isAwake = true
      server.wake(time, job.started === undefined ? Math.min(job.release, time) : time)
    }
    this.update()
  }

  /** @param {Job} job @param {number} time */
  rest(job, time) {
    const { busy, server } = this
    if (busy.delete(job) && busy.size === 0) {
      server.isAwake = false
      server.sleep(time)
    }
    this.update()
  }

  /** @param {Job} job @returns {import('./rt.mjs').Standing | null} */
  standing(job) {
    return this.#granted ?? (this.isOff || this.depleted !== 'background' ? null : seam.background(job))
  }

  /** @param {Job} job @param {number} ms @param {number} time @param {import('./rt.mjs').Standing} standing */
  charge(job, ms, time, standing) {
    if (ms === 0 || standing.band < 0) return
    this.used += ms
    if (this.isOff) return
    const { server } = this
    const { depletions } = server
    server.consume(ms, time, !this.jobs.has(job))
    this.update()
    // Of jobs that have to stop the scheduler tells itself.
    if (server.depletions === depletions || this.depleted === 'wait') return
    const reservation = this.name
    seam.emit(this.scheduler, 'deplete', job, { reservation, depleted: this.depleted })
    if (this.depleted === 'postpone') seam.emit(this.scheduler, 'replenish', null, { reservation, due: time })
  }

  /** After anything that the server did: its jobs get their new standing, and the next replenishment is waited for. */
  update() {
    const { server, isDepleted, isRankedByDeadline, claim: { priority } } = this
    const absoluteDeadline = isRankedByDeadline ? server.deadline : Infinity
    const before = this.#granted
    if (isDepleted) this.#granted = null
    else if (before === null || before.job.priority !== priority || before.job.absoluteDeadline !== absoluteDeadline) {
      this.#granted = { band: isRankedByDeadline ? 0 : 1, job: { absoluteDeadline, priority }, payer: this }
    }
    const isOut = this.isOff || isDepleted && this.depleted !== 'background'
    if (this.#granted !== before || isOut !== this.pool.isOut) this.pool.refresh(isOut, this.jobs)
    const isIdle = this.isOff || this.jobs.size === 0 && server instanceof Polling
    const time = isIdle ? Infinity : server.next
    const ref = isDepleted && server.isAwake
    if (this.#entry.time === time && this.#entry.ref === ref) return
    this.#entry.cancel()
    this.#entry = time === Infinity ? NEVER : seam.at(this.scheduler, time, this.#replenish, { replenishment: true, ref })
  }
}

/** The books of an I/O reservation: without a period of its own, it takes that and the priority from the most urgent that it works for. */
class IoAccount extends Account {
  /** @type {WeakMap<Job, Account>} */
  #mains = new WeakMap()
  /** For how many of its busy jobs each. @type {Map<Account, number>} */
  #served = new Map()

  /** Its jobs work for `main`: what the scheduler attaches them by. @param {Account} main */
  delegateOf(main) {
    const level = this.claim.period < Infinity ? this.level : main.level
    return { level, payer: this, attach: (/** @type {Job} */ job, /** @type {Scheduler} */ scheduler) => this.attach(job, scheduler, main) }
  }

  /** @param {Job} job */
  mainOf(job) { return /** @type {Account} */ (this.#mains.get(job)) }

  /** @param {Job} job @param {Scheduler} scheduler @param {Account | null} [main] default: that of the running job */
  attach(job, scheduler, main = scheduler.current && accountOf(seam.payer(scheduler.current))?.mainOf(scheduler.current)) {
    if (!main) {
      throw new TypeError(`reservation must be given as io.for(main) where the running job has none: ` +
        `${this.name} takes priority and period from the reservation that it works for`)
    }
    this.#mains.set(job, main)
    super.attach(job, scheduler)
  }

  /** @param {Job} job @param {number} time */
  ready(job, time) {
    this.#serve(job, this.busy.has(job) ? 0 : 1, time)
    super.ready(job, time)
  }

  /** @param {Job} job @param {number} time */
  rest(job, time) {
    this.#serve(job, this.busy.has(job) ? -1 : 0, time)
    super.rest(job, time)
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
    const { claim } = [...this.#served.keys()].reduce((best, other) => urgencyOf(other) > urgencyOf(best) ? other : best)
    this.claim.priority = claim.priority
    this.server.inherit(claim.period, time)
  }
}

/** @param {any} reservation @returns {Account} */
const accountOf = reservation => reservation?.[seam.protocol]

/** What reservations of both kinds have. */
class Reserved {
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
}

/** @typedef {'sporadic' | 'deferrable' | 'polling' | 'constant-bandwidth'} Kind */
/** @typedef {'background' | 'wait' | 'postpone'} Depleted */

/** A policy is known by how it compares, as `schedulable` knows it. @param {Policy} policy */
const isByDeadline = ({ compare }) => compare === edf.compare
/** @param {Policy} policy */
const isByPriority = ({ compare }) => compare === fp.compare

/** @type {Record<Kind, new (capacity: number, period: number, time: number, postpones: boolean) => Server>} */
const SERVERS = { sporadic: Sporadic, deferrable: Deferrable, polling: Polling, 'constant-bandwidth': ConstantBandwidth }
const KINDS = /** @type {const} */ (['sporadic', 'deferrable', 'polling', 'constant-bandwidth'])

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
const RESERVATION = { ...CAPACITY, kind: among(...KINDS), depleted: elsewhere, name: text, scheduler: elsewhere }
const IO_CAPACITY = { utilization: elsewhere, capacity: elsewhere, period: elsewhere }
const IO_RESERVATION = { ...IO_CAPACITY, depleted: among('background', 'wait'), name: text, scheduler: elsewhere }

/**
 * Processor time set aside: `capacity` ms in every `period` (Qduino II-A: a Main VCPU). Jobs that are spawned with
 * it run by its standing as long as something remains, and cannot take more from others than that; what others do
 * cannot take it from them, if the set was admitted (`admit`).
 *
 * Under fp it ranks by its priority, above all jobs without a reservation; under edf by the server's deadline. Among each
 * other its jobs rank by their own keys, and equals take turns. What remains is found at every budget; the overrun of the last one is charged to
 * the next replenishment, and a critical section is finished on credit.
 */
export class Reservation extends Reserved {
  /**
   * @param {{ capacity: number, period: number, kind?: Kind, priority?: number, depleted?: Depleted, name?: string,
   *   scheduler?: Scheduler }} options `capacity`: ms per period, 0 = off: its jobs do not run at all; `period`: ms, > 0;
   *   `kind`: 'sporadic' (default), 'deferrable' or 'polling' under fp, 'constant-bandwidth' under edf; `priority`:
   *   default the rate, 1 / period; `depleted`: what its jobs do when nothing remains: run after all others
   *   ('background', default), 'wait' for the replenishment, or have the server's deadline 'postpone'd
   *   (constant-bandwidth only); `name`: for traces and errors
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
    among('background', 'wait', ...isRankedByDeadline ? ['postpone'] : [])('depleted', depleted)
    const server = new SERVERS[kind](capacity, period, scheduler.now(), depleted === 'postpone')
    const account = new Account(scheduler, server, claim, depleted, isRankedByDeadline)
    Object.defineProperty(this, seam.protocol, { value: account })
  }

  get kind() { return /** @type {Kind} */ (accountOf(this).claim.kind) }
  get depleted() { return accountOf(this).depleted }
  get priority() { return accountOf(this).claim.priority }
  /** ms that its jobs may still use, as of the latest reading of the clock. @returns {number} */
  get remaining() { return accountOf(this).isDepleted ? 0 : accountOf(this).server.remaining }

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
    const { name, kind } = this
    const { capacity = this.capacity, period = this.period } = checked(options, CAPACITY)
    const { priority = this.priority === 1 / this.period ? undefined : this.priority } = options
    accountOf(this).change(claimOfReservation({ name, kind, capacity, period, priority }))
    return this
  }
}

/**
 * Whether events are handled: what `interrupts` and `noInterrupts` do, wherever there is such a thing.
 *
 * @param {() => void} switched called when that changes
 */
function interruptible(switched) {
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
 * A share of the processor for short, frequent work that is done for others: the bottom halves of events (Qduino II-A:
 * an I/O VCPU; Danish, Li, West 2011). It takes priority and period from the reservation that it works for, and uses
 * no more than its utilization whichever that is. With a period of its own it has the priority of that rate.
 *
 * Work for it: `on(target, type, handler, { io, capacity, period })`; `spawn(work, { reservation: io.for(main) })`; or
 * `spawn(work, { reservation: io })` in a job that has a reservation.
 */
export class IoReservation extends Reserved {
  #mask = interruptible(() => accountOf(this).turn({ isMasked: !this.isOn }))

  /**
   * @param {{ utilization?: number, capacity?: number, period?: number, depleted?: 'background' | 'wait', name?: string,
   *   scheduler?: Scheduler }} options `utilization`: > 0 and <= 1, or 0 = off; or `capacity`, ms per period, 0 = off, and
   *   `period`, ms, > 0; `depleted`: default 'wait', since events in the background would take what is left over at any
   *   rate
   * @throws {TypeError | RangeError} naming the parameter
   * @throws {AdmissionError} when the processor has not that much left (see `admit`)
   */
  constructor(options) {
    super()
    const { depleted = 'wait', name = 'I/O reservation' } = checked(options, IO_RESERVATION)
    const scheduler = here(options)
    const claim = claimOfIo(name, options)
    const account = new IoAccount(scheduler, new PIBS(claim), claim, depleted, isByDeadline(scheduler.policy))
    Object.defineProperty(this, seam.protocol, { value: account })
  }

  /** Whether events are handled. */
  get isOn() { return this.#mask.isOn }
  /** Whether events that happen while they are not handled are lost. */
  get drops() { return this.#mask.drops }

  /** Handles events again, first those that were held back. */
  interrupts = this.#mask.interrupts
  /**
   * Handles no events until `interrupts()`. They are held back; with `drop`, those that happen from now on are lost. Its
   * share remains promised to it.
   *
   * @throws {TypeError} naming the parameter
   */
  noInterrupts = this.#mask.noInterrupts

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
    return { [seam.protocol]: account.delegateOf(accountOf(main)) }
  }

  /**
   * Changes its share (Qduino II-C: interruptsVcpu), as a utilization, which leaves its period, or as a capacity and a
   * period; 0 turns it off.
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

// -------------------------------------------------------------------------------------------- 6 admission

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

/** @param {{ name: string, kind: Kind, capacity: any, period: any, priority?: number }} reservation @returns {Claim} */
function claimOfReservation({ name, kind, capacity, period, priority: own }) {
  checkCapacity(capacity, period)
  const priority = own === undefined ? 1 / period : finite('priority', own)
  return { name, of: 'reservation', utilization: capacity / period, wcet: capacity, period, deadline: period, priority, kind }
}

/**
 * @param {string} name @param {{ utilization?: any, capacity?: any, period?: any }} options
 * @param {{ period: number, priority: number }} [before] those of a utilization; by default, of the reservation it works for
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
  if (capacity !== undefined && kind !== undefined) among(...KINDS)(`${where}.kind`, kind)
  if (capacity !== undefined) return [member, claimOfReservation({ name, kind, capacity, period, priority })]
  const demand = demandOf(where, member, policy)
  return [member, { ...demand, name, of: 'task', utilization: demand.wcet / period }]
}

/** Whether it may come at the end of a period and again at the start of the next. @param {Claim} claim */
const isBursty = ({ of, kind }) => of === 'I/O' || kind === 'deferrable'

/** What sums may exceed their bounds by: less than a thousand fractions add up to by rounding. */
const NOISE = 1e-9

/**
 * What a scheduler has promised under a policy, and to what: by the account, or the task. `guarantees`: whether it sees to
 * it that all get in time what they were promised.
 *
 * @typedef {{ policy: Policy, claims: Map<object, Claim>, share: number, guarantees: boolean }} Commitments
 */
/** @type {WeakMap<Scheduler, Commitments>} */
const commitments = new WeakMap()

/** @param {Scheduler} scheduler @returns {Commitments} */
function commitmentsOf(scheduler) {
  const { policy } = scheduler
  let known = commitments.get(scheduler)
  if (known?.policy !== policy) commitments.set(scheduler, known = { policy, claims: new Map(), share: 1, guarantees: false })
  return known
}

/**
 * @param {Scheduler} scheduler @param {Iterable<[object, Claim]>} added new claims, or changed ones
 * @param {{ share?: number, guarantees?: boolean }} [options]
 * @returns {Sums}
 * @throws {AdmissionError} nothing has changed then
 */
function commit(scheduler, added, options) {
  const known = commitmentsOf(scheduler)
  const next = { ...known, ...options, claims: new Map([...known.claims, ...added]) }
  const sums = sumsOf(next)
  Object.assign(known, next)
  return sums
}

/** @param {Commitments} committed @returns {Sums} @throws {AdmissionError} */
function sumsOf({ policy, claims: all, share, guarantees }) {
  const claims = [...all.values()].filter(({ utilization }) => utilization > 0)
  const sum = (/** @type {(claim: Claim) => number} */ of) => claims.reduce((total, claim) => total + of(claim), 0)
  const test = guarantees ? testOf(claims, policy) : 'utilization'
  const utilization = sum(claim => claim.utilization)
  /** @type {Sums} */
  const sums = { utilization, demand: utilization, bound: share, share, test }
  if (test === 'equation 1') {
    sums.demand = sum(claim => isBursty(claim) ? (2 - claim.utilization) * claim.utilization : claim.utilization)
    const count = Math.max(1, claims.filter(({ of }) => of !== 'I/O').length)
    sums.bound = share * count * (2 ** (1 / count) - 1)
  }
  const fits = sums.demand <= sums.bound + NOISE
  if (fits && (test !== 'schedulable' || isSchedulable(claims, policy, share))) return Object.freeze(sums)
  const askers = claims.map(({ name }) => name).join(', ')
  throw new AdmissionError(fits ? `${askers} cannot all be served in time`
    : `${askers} ask for ${percent(sums.demand)} of the processor, more than ${percent(sums.bound)}`, policy, sums)
}

/** @param {Claim[]} claims @param {Policy} policy @returns {Sums['test']} */
function testOf(claims, policy) {
  if (claims.some(({ of }) => of === 'task')) return 'schedulable'
  if (isByDeadline(policy)) return 'utilization'
  // Liu, Layland 1973: the bound is that of rate monotonic priorities.
  const ranked = claims.filter(({ of }) => of === 'reservation').sort((a, b) => b.priority - a.priority || b.period - a.period)
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
  const top = Math.max(0, ...tasks.map(({ priority }) => priority))
  const rank = (/** @type {Claim} */ { of, priority }) => of === 'task' ? priority
    : top + 1 + reservations.filter(other => of === 'I/O' || other.priority < priority).length
  const set = [...tasks, ...reservations].map(claim => ({
    ...claim, wcet: claim.wcet / speed, priority: rank(claim),
    sections: claim.sections?.map(({ resource, wcet }) => ({ resource, wcet: wcet / speed }))
  }))
  if (isByDeadline(policy)) return schedulable(set, { policy: edf }).schedulable
  // What may be used back to back is there once more, at the worst moment: a task that comes once.
  const longest = Math.max(0, ...reservations.map(({ period }) => period))
  const extra = longest === 0 ? [] : claims.filter(isBursty).map(claim => ({
    name: claim.name, wcet: (claim.period < Infinity ? claim.wcet : claim.utilization * longest) / speed,
    period: 2 ** 30 * longest, priority: rank(claim)
  }))
  return schedulable([...set, ...extra], { policy: fp }).schedulable
}

/**
 * What asks for processor time.
 *
 * @typedef {Reservation | IoReservation | TaskParameters | { utilization: number, name?: string }
 *   | { capacity: number, period: number, kind?: Kind, priority?: number, name?: string }} Claimant
 */

/**
 * Promises processor time: from now on what was admitted gets its time, as far as the schedule decides that, and
 * what asks for more than is left is refused. Before the first call, reservations are refused only where all of them
 * exceed the processor.
 *
 * The test. Under edf, utilizations add up to the share at most (Liu, Layland 1973; Abeni, Buttazzo 1998). Under fp and
 * rm, Qduino equation 1: `sum(C / T) + sum((2 - U) U) <= n (2^(1/n) - 1)` times the share, where the second sum is of
 * what may be used at the end of a period and again at the start of the next: I/O and deferrable reservations. Where
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
  const { share } = checked(options, { share: positiveFraction, scheduler: elsewhere })
  if (typeof set !== 'object' || set === null) throw wrongType('set', 'reservations or tasks', set)
  const members = /** @type {any[]} */ (Symbol.iterator in set ? [...set] : [set])
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
  const sums = commit(scheduler, claims, { share: share ?? committed.share, guarantees: true })
  const tasks = claims.map(([claimant]) => claimant).filter(claimant => !(claimant instanceof Account))
  return Object.freeze({ ...sums, cancel: () => tasks.filter(task => committed.claims.delete(task)).length > 0 })
}

/** Nothing will use it any more. @param {Reservation} reservation */
function retire(reservation) {
  commitmentsOf(reservation.scheduler).claims.delete(accountOf(reservation))
}

// ------------------------------------------------------------------------------------------------ 7 events

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

/** When an event happened. @param {Scheduler} scheduler @param {any} event @returns {number} host timestamp, ms */
function releaseOf(scheduler, event) {
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
 * @typedef {object} Handling made by `on`
 * @property {() => boolean} cancel handles no more events: those that wait are lost, what handles one goes on. Whether there
 *   would have been more
 * @property {() => void} interrupts handles events again, first those that were held back
 * @property {(options?: { drop?: boolean }) => void} noInterrupts handles no events until `interrupts()`. They are held back;
 *   with `drop`, those that happen from now on are lost
 * @property {Reservation | undefined} reservation by which the handler runs
 * @property {number} waiting how many events wait to be handled
 * @property {number} dropped how many were lost: when `size` of them waited, by `noInterrupts({ drop: true })`, by `cancel`, or
 *   as `excess` before their jobs began
 */

/**
 * From the listener to the handler: the top half, which holds events back while there are no interrupts; the bottom half,
 * where there is an I/O reservation; and the handler.
 *
 * @param {EventTarget} target @param {string} type @param {Source} source @param {Reservation | null} own that of this
 * handler only @param {any} options
 * @returns {Handling}
 */
function handling(target, type, source, own, options) {
  const { before, once = false, passive, capture = false, signal, size = Infinity, io, bottomHalf } = options
  const { scheduler } = source
  const reservation = own ?? /** @type {any} */ (source.parameter('reservation'))
  const excess = source.parameter('excess')
  const isSerial = excess === 'queue' || excess === undefined && (own !== null || io !== undefined || size < Infinity)
  let dropped = 0
  /** Whether no more events come, and whether none that came is handled. */
  let isOver = false
  let isCancelled = false
  /** Whether an event is in `before`, which may cancel all but that. */
  let isHearing = false

  /** @returns {Generator<any, void, any>} */
  const work = function* () {
    while (mask.isOn && raised.size > 0) {
      const { args, release } = raised.shift()
      let found = bottomHalf && (yield* resultOf(bottomHalf, args))
      if (typeof found?.next === 'function' || typeof found?.then === 'function') found = yield found
      if (isCancelled) return void dropped++
      delivered.push({ args: found === undefined ? args : [found], release })
      yield
    }
  }
  /** After the last job. */
  const conclude = () => {
    if (own === null || !isOver || isHearing || waiting() > 0 || delivered.busy > 0) return
    if (raised.busy === 0 || isCancelled) retire(own)
  }
  /** On their way to the bottom half, or held back. */
  const raised = new Stage(() => {
    if (!mask.isOn) return null
    if (io !== undefined) return scheduler.spawn(work(), { name: `${source.parameter('name')}, bottom half`, reservation: io.for(reservation) })
    while (raised.size > 0) delivered.push(raised.shift())
    return null
  }, conclude)
  /** On their way to the handler. */
  const delivered = new Stage(() => {
    const { args, release } = delivered.shift()
    const job = source.release({ release, reservation }, args)
    if (excess !== undefined) seam.ended(job, () => { if (job.started === undefined) dropped++ })
    return isSerial || own !== null ? job : null
  }, conclude, isSerial)
  const mask = interruptible(() => raised.advance())
  const waiting = () => raised.size + delivered.size

  const hear = (/** @type {any} */ event) => {
    const release = releaseOf(scheduler, event)
    const picked = before?.(event)
    if (mask.drops || io?.drops || waiting() >= size) dropped++
    else raised.push({ args: [picked === undefined ? event : picked], release })
  }
  hear.of = before?.name === 'before' ? '' : before?.name
  const listen = (/** @type {any} */ event) => {
    if (once) end()
    const schedulers = heard.get(event)
    if (schedulers === undefined) runRightAfter([scheduler]) // the window does not see it
    else schedulers.add(scheduler)
    isHearing = true
    seam.call(scheduler, `before ${type}`, hear, event)
    isHearing = false
    conclude()
  }
  const drop = () => {
    dropped += waiting()
    for (const stage of [raised, delivered]) while (stage.size > 0) stage.shift()
    isCancelled = true
    conclude()
  }
  const removeListener = addHandler(target, type, capture, passive, listen)
  const letGo = seam.hold(scheduler)
  const end = ending(signal, () => {
    removeListener()
    letGo()
    isOver = true
    if (signal?.aborted) drop()
  })
  return {
    cancel() {
      const wouldGoOn = end() || waiting() > 0
      drop()
      return wouldGoOn
    },
    interrupts: mask.interrupts,
    noInterrupts: mask.noInterrupts,
    reservation,
    get waiting() { return waiting() },
    get dropped() { return dropped }
  }
}

/**
 * Of work with a reservation of its own, whose period it is, and not that of the jobs.
 *
 * @param {string} by @param {string} name @param {any} work @param {any} options
 */
function reservedSource(by, name, work, options) {
  const { period, reservation, ...given } = parametersOf(options)
  if (reservation !== undefined) throw new TypeError(`reservation is made by ${by}(), of capacity and period`)
  return new Source(name, work, given)
}

/**
 * Makes the reservation, and what runs by it; or neither.
 *
 * @template T
 * @param {Source} source @param {string} name @param {any} options @param {(reservation: Reservation) => T} make
 * @returns {T}
 */
function withReservation({ scheduler }, name, { capacity, period, kind, depleted, priority }, make) {
  const reservation = new Reservation({ capacity, period, kind, depleted, priority, name, scheduler })
  try {
    return make(reservation)
  } catch (error) {
    retire(reservation)
    throw error
  }
}

const RESERVED = { capacity: elsewhere, kind: elsewhere, depleted: elsewhere }
const HANDLING = {
  ...TASK, ...SIGNAL, ...RESERVED, before: callable, once: flag, passive: flag, capture: flag, size: times, io: elsewhere,
  bottomHalf: callable
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
 * @param {(W | ((value: NoInfer<V>) => unknown)) & Handles<W, NoInfer<V>>} task called with the event, or with what `before`
 *   or `bottomHalf` returned, unless that is undefined
 * @param {TaskOptions & { before?: (event: E) => V | void, once?: boolean, passive?: boolean, capture?: boolean,
 *   signal?: AbortSignal, capacity?: number, period?: number, kind?: Kind, depleted?: Depleted, io?: IoReservation,
 *   bottomHalf?: (event: V) => unknown, size?: number }} [options] `before` runs in the listener itself: for
 *   preventDefault, and to pick what the job needs before the event is gone; when it throws, there is no job.
 *   `capacity`, `period`, `kind`, `depleted`: the handler's reservation (see Reservation). `io`: delivers the events;
 *   `bottomHalf`: what it does for each, a function or a generator function. `size`: how many events may wait to be
 *   handled, default Infinity; further ones are lost
 * @returns {Handling}
 * @throws {TypeError | RangeError} naming the parameter
 * @throws {AdmissionError} when the processor has not that much left
 */
export function on(target, type, task, options = {}) {
  if (typeof /** @type {any} */ (target)?.addEventListener !== 'function' || typeof target.removeEventListener !== 'function') {
    throw wrongType('target', 'an EventTarget', target)
  }
  text('type', type)
  const { capacity, kind, depleted, io, bottomHalf } = checked(options, HANDLING)
  if (io !== undefined && !(io instanceof IoReservation)) throw wrongType('io', 'an IoReservation', io)
  if (bottomHalf !== undefined && io === undefined) throw new TypeError('bottomHalf needs an io, which does it')
  const isReserved = capacity !== undefined
  if (!isReserved && (kind !== undefined || depleted !== undefined)) {
    throw new TypeError('kind and depleted are those of a reservation, which needs a capacity and a period')
  }
  const source = isReserved ? reservedSource('on', 'task', task, options) : new Source('task', task, options)
  if (io !== undefined) {
    if (io.scheduler !== source.scheduler) throw new TypeError('io must be of the scheduler of the handler')
    if (!isReserved && !(source.parameter('reservation') instanceof Reservation)) {
      throw new TypeError('io takes its standing from the handler, which needs a capacity and a period')
    }
  }
  if (!isReserved) return handling(target, type, source, null, options)
  const name = source.parameter('name') || type
  return withReservation(source, name, options, reservation => handling(target, type, source, reservation, options))
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

// ------------------------------------------------------------------------------------- 8 what runs reserved

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
  const { signal } = checked(options, { ...TASK, ...SIGNAL, ...RESERVED })
  const source = reservedSource('loop', 'body', body, options)
  const name = source.given.name ?? (body.name || 'loop')
  const run = function* () {
    for (;;) {
      const begun = yield* resultOf(body, [])
      yield typeof begun === 'object' && begun !== null ? begun : undefined
    }
  }
  return withReservation(source, name, options, reservation => {
    const job = source.scheduler.spawn(run, { ...source.given, name, signal, reservation })
    seam.ended(job, () => { retire(reservation) })
    return { cancel: reason => job.cancel(reason), job, reservation }
  })
}

/**
 * How long an event may take from its listener to its handler, at most (Qduino equation 3):
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
 *   the event, by default none; with a utilization alone, it has the handler's period
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

// --------------------------------------------------------------------------------------------- 9 a page adopted

// The functions by which a page hands over callbacks are replaced by proxies of themselves, which hand on ours. The platform calls
// these as it would have called the page's; so what it decides (whether a listener is there, `once`, duplicates, order, `this`) is
// left to it. Ours make a job of the call, which begins right there, unless calls of at least its standing have not ended: then it
// waits for its turn. So calls of equal standing begin in the platform's order, each when the one before has ended.

/** How a function that sets a timer is called, what takes that back, and what rule its callbacks go by. */
const TIMERS = /** @type {const} */ ([
  ['setTimeout', 'clearTimeout', 'timer'], ['setInterval', 'clearInterval', 'timer'], ['setImmediate', 'clearImmediate', 'timer'],
  ['requestAnimationFrame', 'cancelAnimationFrame', 'frame'], ['requestIdleCallback', 'cancelIdleCallback', 'idle']
])
const OBSERVERS = ['MutationObserver', 'ResizeObserver', 'IntersectionObserver', 'PerformanceObserver', 'ReportingObserver']
/** What has `on...` properties beside the global object; to look at all that there is would have a browser make all of it, in 17 to 40 ms. */
const HANDLED = [
  'HTMLElement', 'HTMLBodyElement', 'HTMLFrameSetElement', 'HTMLMediaElement', 'HTMLVideoElement', 'SVGElement', 'MathMLElement', 'Document',
  'ShadowRoot', 'MessagePort', 'Worker', 'SharedWorker', 'ServiceWorker', 'ServiceWorkerContainer', 'ServiceWorkerRegistration',
  'BroadcastChannel', 'WebSocket', 'EventSource', 'RTCDataChannel', 'RTCPeerConnection', 'XMLHttpRequest', 'XMLHttpRequestEventTarget',
  'FileReader', 'IDBRequest', 'IDBOpenDBRequest', 'IDBTransaction', 'IDBDatabase', 'MediaQueryList', 'VisualViewport', 'Screen',
  'ScreenOrientation', 'Animation', 'FontFaceSet', 'Notification', 'PermissionStatus', 'AbortSignal', 'MediaRecorder', 'MediaSource',
  'SourceBuffer', 'MediaStream', 'MediaStreamTrack', 'TextTrack', 'AudioScheduledSourceNode', 'SpeechSynthesisUtterance'
]
/** Events whose listeners run to their ends: what they may do, they may do there only, or the page ends. */
const WHOLE = [
  'beforeunload', 'unload', 'pagehide', 'visibilitychange', 'freeze', 'beforeprint', 'submit', 'reset', 'formdata', 'copy', 'cut', 'paste',
  'dragstart', 'drop', 'navigate', 'audioprocess', 'success', 'upgradeneeded', 'error'
]
/** Input, beside UIEvents. */
const INPUT = ['input', 'change', 'submit', 'scroll', 'select', 'selectionchange', 'toggle']
/** Of which the elements of a page are asked for handlers that they have. */
const COMMON = [
  'onclick', 'ondblclick', 'oninput', 'onchange', 'onsubmit', 'onkeydown', 'onkeypress', 'onkeyup', 'onmousedown', 'onmouseup',
  'onmousemove', 'onmouseover', 'onmouseout', 'onmouseenter', 'onmouseleave', 'onpointerdown', 'onpointermove', 'onpointerup',
  'ontouchstart', 'ontouchmove', 'ontouchend', 'onwheel', 'onscroll', 'onfocus', 'onblur', 'onload'
]
/** Callbacks that are told apart; what comes after these is counted together. */
const MOST_ROWS = 1000
/** How much of a function tells it from others. */
const SHOWN = 200
/** The deadline of input and of frames, ms. */
const SOON = 16

/**
 * @typedef {object} AdoptionRule
 * @property {number} [deadline] ms, counted from the event's time stamp, or from the call
 * @property {number} [priority]
 * @property {object} [reservation]
 * @property {boolean} [latest] of the calls of a callback that come while one waits for its turn, only the newest is made; so a
 *   listener waits also where its event could be cancelled, which it cannot be any more then
 */
/** @typedef {AdoptionRule & { type?: string | string[], target?: string | EventTarget | ((target: any) => boolean) }} EventRule */
/**
 * A callback, or all that look like it.
 *
 * @typedef {object} AdoptionRow
 * @property {string} kind 'timer', 'frame', 'idle', 'observer', 'message', the type of the event, or 'script': no callback, but
 *   part of a long animation frame
 * @property {string} name of the function
 * @property {string} where it was registered first
 * @property {number} calls that have ended
 * @property {number} time ms
 * @property {number} longest ms that a call took
 * @property {number} stalls how often it kept the thread for longer than a slice
 * @property {number} longestStall ms
 * @property {number} misses
 */

const ADOPTION = { rules: elsewhere, scheduler: check.scheduler, warn: flag }

/** @param {Scheduler} scheduler @param {any} rules @returns {any} */
function rulesOf(scheduler, rules = {}) {
  const checks = { deadline: elsewhere, priority: elsewhere, reservation: elsewhere, latest: flag }
  const eventChecks = {
    ...checks,
    type(/** @type {string} */ name, /** @type {any} */ types) {
      for (const type of [types].flat()) if (type !== undefined) text(name, type)
    },
    target(/** @type {string} */ name, /** @type {any} */ target) {
      if (['string', 'function'].includes(typeof target) || typeof target?.addEventListener === 'function') return
      throw wrongType(name, 'a selector, a function or an EventTarget', target)
    }
  }
  const checkRule = (/** @type {string} */ where, /** @type {any} */ rule, /** @type {any} */ known = checks) => {
    check.knownOptions(rule, known, where)
    const { deadline, priority, reservation } = checked(rule, known)
    new Task(/** @type {any} */ (() => {}), { deadline, priority, reservation })
    if (reservation instanceof IoReservation || (reservation?.scheduler ?? scheduler) !== scheduler) {
      throw new TypeError(`${where}.reservation must be a Reservation, or io.for(main), of the scheduler of the jobs`)
    }
    return rule
  }
  check.knownOptions(rules, check.unchecked('timer', 'frame', 'idle', 'observer', 'message', 'event'), 'rules')
  const { event = [], ...others } = rules
  for (const kind in others) checkRule(`rules.${kind}`, others[kind])
  return { ...others, event: [event].flat().map((rule, index) => checkRule(`rules.event[${index}]`, rule, eventChecks)) }
}

/**
 * A collection whose methods remain as they are now, whatever a page makes of the prototype later.
 *
 * @template {new (...args: any[]) => any} C @param {C} Class @returns {C}
 */
function hardened(Class) {
  class Hardened extends Class {}
  Object.defineProperties(Hardened.prototype, Object.getOwnPropertyDescriptors(Class.prototype))
  return Hardened
}

const OwnMap = /* @__PURE__ */ hardened(Map)
const OwnSet = /* @__PURE__ */ hardened(Set)
const OwnWeakMap = /* @__PURE__ */ hardened(WeakMap)

/**
 * How a callback is called.
 *
 * @typedef {object} Invocation
 * @property {AdoptionRow} row
 * @property {Function} fn
 * @property {any} self
 * @property {any[]} args
 * @property {any} owner by which the page can take it back: a timer's id, an observer, or all listeners of its kind
 * @property {any} [part] which of the owner's: the kind of timer, the listener, or null for the handler in a property
 * @property {any} [event]
 * @property {any} [called] what the event calls
 * @property {boolean} [isWhole] whether it runs to its end
 */

/** A call that has not ended; as a waitable, its turn. */
class Call extends Waitable {
  /** @type {Job | null} */
  made = null
  /** What the function returned. @type {any} */
  value = undefined
  isWaiting = false
  /** Called when it has ended, for the queue where it was; unless that was at once. */
  woken = () => {}

  /** @param {Invocation} invocation @param {number} absoluteDeadline @param {number} priority */
  constructor(invocation, absoluteDeadline, priority) {
    super()
    const { event } = invocation
    this.invocation = invocation
    /** Where its event was when its listener was called. @type {{ target: any, currentTarget: any, eventPhase: number } | undefined} */
    this.place = event && { target: event.target, currentTarget: event.currentTarget, eventPhase: event.eventPhase }
    this.absoluteDeadline = absoluteDeadline
    this.priority = priority
  }
  // The queue that it is in is that of calls, which it leaves when it has ended.
  get isRanked() { return false }
  undo() {}
  refresh() {}

  /** Neither waits for its turn nor, in a scheduler that is paused, for its first dispatch. */
  get hasBegun() { return !this.isWaiting && this.made?.started !== undefined }
  /** It is not to be made, unless it has begun. */
  drop() {
    if (!this.hasBegun) this.made?.cancel()
  }
}

/** The calls of a page's callbacks, as jobs. */
class Calls {
  isReleased = false
  /** By their reservation; each in order of eligibility, equals as they came. @type {Map<any, any>} */
  #queues = new OwnMap()
  /** Those that have not ended where they began. @type {WeakMap<Job, Call>} */
  #calls = new OwnWeakMap()
  /** That which begins. @type {Call | null} */
  #begun = null
  /** @type {Map<string, AdoptionRow>} */
  #rows = new OwnMap()
  /** The event for which others had to end, and until when. */
  #event = null
  #until = 0
  /** Those that have not ended, by what the page has to take them back. @type {Map<any, Set<Call>>} */
  #pending = new OwnMap()
  /** The call of a function that waits, where only the newest is made. @type {WeakMap<Function, Call>} */
  #newest = new OwnWeakMap()
  #source = Function.prototype.toString
  #unwatch

  /** @param {Scheduler} scheduler @param {any} target @param {boolean} warn */
  constructor(scheduler, target, warn) {
    const { console, reportError } = target
    this.scheduler = scheduler
    this.fail = reportError?.bind(target) ?? ((/** @type {unknown} */ error) => queueMicrotask(() => { throw error }))
    this.#unwatch = seam.stalling(scheduler, (job, ms) => {
      const row = this.#callOf(job)?.invocation.row
      if (row === undefined) return
      const isWorse = Math.floor(Math.log10(ms)) > Math.floor(Math.log10(row.longestStall))
      addStall(row, ms)
      if (!isWorse || !warn) return
      const { kind, name, where } = row
      console?.warn(`${kind} ${name}${where && `, registered at ${where},`} kept the thread for ${Math.round(ms * 10) / 10} ms`.trimStart())
    })
  }

  /**
   * Found by what the function looks like, so that one that is made anew for each timer is one callback; a stack is taken for the
   * first only.
   *
   * @param {string} kind @param {any} fn @returns {AdoptionRow}
   */
  row(kind, fn) {
    const isFunction = typeof fn === 'function'
    const text = isFunction ? apply(this.#source, fn, []) : nameOf(Object.getPrototypeOf(fn)?.constructor)
    const name = () => (isFunction ? nameOf(fn) : text) || 'anonymous'
    return this.#rowOf(`${kind} ${text.length} ${text.slice(0, SHOWN)}`, kind, name, callingPlace)
  }

  /** @param {string} key @param {string} kind @param {() => string} name @param {() => string} where @returns {AdoptionRow} */
  #rowOf(key, kind, name, where) {
    let row = this.#rows.get(key)
    if (row !== undefined) return row
    if (this.#rows.size >= MOST_ROWS && key !== '') return this.#rowOf('', '', () => 'others', () => '')
    row = { kind, name: name(), where: where(), calls: 0, time: 0, longest: 0, stalls: 0, longestStall: 0, misses: 0 }
    this.#rows.set(key, row)
    return row
  }

  /** A script that made a frame long, and was no callback of ours. @param {any} script PerformanceScriptTiming */
  tell({ sourceURL, sourceFunctionName, sourceCharPosition, invoker, duration }) {
    if (sourceURL === import.meta.url || sourceURL === seam.url) return
    const where = `${sourceURL}:${sourceCharPosition}`
    const row = this.#rowOf(`script ${where}`, 'script', () => sourceFunctionName || invoker, () => where)
    this.#add(row, duration)
    addStall(row, duration)
  }

  /** Calls that wait are made; further ones are the platform's. */
  release() {
    this.isReleased = true
    this.#unwatch()
  }

  report() {
    return [...this.#rows.values()].map(row => ({ ...row })).sort((a, b) => b.time - a.time)
  }

  /**
   * Begins a call, or has it wait for its turn; unless it is part of what runs right now, or no job any more.
   *
   * @param {Invocation} invocation @param {AdoptionRule} [rule]
   * @returns {any} what it returned, if it has ended
   */
  enter(invocation, rule = {}) {
    const { row, fn, self, args, event, called } = invocation
    if (this.isReleased || seam.isBusy() || event?.isTrusted === false) return apply(fn, self, args)
    const { scheduler } = this
    const { deadline = Infinity, priority: given = 0, reservation, latest = false } = rule
    const release = event === undefined ? scheduler.now() : releaseOf(scheduler, event)
    const priority = scheduler.policy.priority?.({ deadline, priority: given, period: Infinity }) ?? given
    const call = new Call(invocation, release + deadline, priority)
    const queue = this.#queueOf(reservation)
    let { isWhole = false } = invocation
    const waits = call.isWaiting = queue.first !== null && scheduler.policy.compare(queue.first, /** @type {any} */ (call)) <= 0
    if (waits && event !== undefined && scheduler.host.nested?.(called)) return apply(fn, self, args)
    const { stalls } = row
    /** @type {any} */
    let end
    const spawn = () => {
      const work = () => call.isWaiting ? this.#startInTurn(call) : this.#start(call)
      const job = call.made = scheduler.spawn(work, { name: `${row.kind} ${row.name}`, deadline, priority: given, reservation, release })
      end = Waitable.of(job) // its errors are the platform's to report
      return job
    }
    this.#begun = call
    if (waits || scheduler.paused) spawn()
    else seam.run(scheduler, spawn, isWhole ? Infinity : undefined)
    const job = /** @type {Job} */ (call.made)
    if (!waits && event !== undefined && job.finished === undefined && scheduler.host.nested?.(called)) {
      isWhole = true
      seam.run(scheduler, () => job, Infinity)
    }
    if (isWhole && row.stalls === stalls && job.cost > scheduler.slice) seam.stall(job) // by all of its steps
    if (end.enlist(call)) {
      this.#count(call)
      if (end.isFulfilled) return call.value
      throw end.outcome
    }
    call.woken = () => this.#leave(queue, call, end)
    this.#calls.set(job, call)
    queue.push(call)
    if (event !== undefined) this.#keepPlace(event)
    if (waits && latest) this.#replace(fn, call)
    const { owner } = invocation
    const others = this.#pending.get(owner) ?? new OwnSet()
    this.#pending.set(owner, others.add(call))
    if (!waits || event === undefined) return
    if (event.cancelable && !latest || isWhole || event.type === 'readystatechange') { // whose listeners look at a state that goes on
      this.#makeWay(queue, call)
      if (job.finished !== undefined) return
      call.isWaiting = false
      seam.run(scheduler, () => job, isWhole ? Infinity : undefined)
      if (isWhole && row.stalls === stalls && job.cost > scheduler.slice) seam.stall(job)
      if (end.isFulfilled) return call.value
    }
  }

  /** @param {any} owner @param {any} [part] @returns {Call[]} that have not ended */
  pending(owner, part) {
    const calls = this.#pending.get(owner)
    return calls === undefined ? [] : [...calls].filter(({ invocation }) => invocation.part === part)
  }

  /** What has not begun is not to be called. @param {any} owner @param {any} [part] */
  drop(owner, part) {
    for (const call of this.pending(owner, part)) call.drop()
  }

  /** @param {Call} call @returns {any} the call of a twin */
  #start(call) {
    call.isWaiting = false
    const { fn, self, args } = call.invocation
    const isAsync = RELEASED.includes(/** @type {any} */ (fn)[Symbol.toStringTag]) // its rest is the platform's
    const body = isAsync ? fn : seam.preemptible(fn)
    const result = apply(body, self, args)
    if (body !== fn) return this.#end(call, result)
    call.value = result
  }

  /** A promise that it returns is not waited for. @param {Call} call @param {Generator<any, any, any>} twin */
  *#end(call, twin) {
    call.value = yield* twin
  }

  /** @param {Call} call @returns {Generator<any, any, any>} */
  *#startInTurn(call) {
    yield call
    yield this.#start(call)
  }

  /** @param {Function} fn @param {Call} call that waits, in place of another of the same target */
  #replace(fn, call) {
    const before = this.#newest.get(fn)
    if (before?.place?.currentTarget === call.place?.currentTarget) before?.drop()
    this.#newest.set(fn, call)
  }

  /** @param {Job} job */
  #callOf(job) {
    return this.#begun?.made === job ? this.#begun : this.#calls.get(job)
  }

  /** @param {any} reservation */
  #queueOf(reservation) {
    const queue = this.#queues.get(reservation) ?? new seam.Heap((/** @type {any} */ a, /** @type {any} */ b) =>
      this.scheduler.policy.compare(a, b) || a.made.id - b.made.id)
    this.#queues.set(reservation, queue)
    return queue
  }

  /**
   * An event that can be cancelled cannot wait: those before it go on here, for a round at most.
   *
   * @param {any} queue @param {Call} call
   */
  #makeWay(queue, call) {
    const { scheduler } = this
    if (this.#event !== call.invocation.event) {
      this.#event = call.invocation.event
      this.#until = scheduler.now() + scheduler.round
    }
    while (call.queue !== null && queue.first !== call) { // its listener may be removed meanwhile
      const { first } = queue
      const left = this.#until - scheduler.now()
      if (!(left > 0)) break
      first.wake()
      seam.run(scheduler, () => first.made, left)
      if (queue.first === first) break // it waits for something else
    }
  }

  /** @param {any} queue @param {Call} call @param {any} end */
  #leave(queue, call, end) {
    queue.remove(call)
    const { owner } = call.invocation
    const others = /** @type {Set<Call>} */ (this.#pending.get(owner))
    others.delete(call)
    if (others.size === 0) this.#pending.delete(owner)
    if (call.hasBegun) this.#count(call)
    if (!end.isFulfilled && /** @type {Job} */ (call.made).state === 'failed') this.fail(end.outcome)
    // In a task of its own, so that the microtasks of this one come before.
    if (queue.first?.isWaiting) this.scheduler.host.post(() => queue.first?.wake())
  }

  /** @param {Call} call */
  #count({ invocation: { row }, made }) {
    const { cost, missed } = /** @type {Job} */ (made)
    this.#add(row, cost)
    if (missed) row.misses++
  }

  /** @param {AdoptionRow} row @param {number} ms */
  #add(row, ms) {
    row.calls++
    row.time += ms
    row.longest = Math.max(row.longest, ms)
  }

  /** To a job, its event remains where its listener was called. @param {any} event */
  #keepPlace(event) {
    for (const name of /** @type {const} */ (['target', 'currentTarget', 'eventPhase'])) {
      if (Object.hasOwn(event, name)) continue
      const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(holderOf(event, name), name))
      const own = () => {
        const { current } = this.scheduler
        const running = current === null ? undefined : this.#callOf(current)
        return running?.place && running.invocation.event === event ? running.place[name] : apply(get, event, [])
      }
      Object.defineProperty(event, name, { configurable: true, get: own })
    }
  }
}

/** @param {any} object @param {PropertyKey} name @returns {any} whose own property that is; null where there is none */
function holderOf(object, name) {
  while (object !== null && !Object.hasOwn(object, name)) object = Object.getPrototypeOf(object)
  return object
}

/** @param {AdoptionRow} row @param {number} ms */
function addStall(row, ms) {
  row.stalls++
  row.longestStall = Math.max(row.longestStall, ms)
}

/** Without calling what a page may have put there. @param {any} fn @returns {string} */
function nameOf(fn) {
  const name = fn && Object.getOwnPropertyDescriptor(fn, 'name')?.value
  return typeof name === 'string' ? name : ''
}

/** Where the page has called what leads here, as far as the engine tells. @returns {string} file:line, or '' */
function callingPlace() {
  const line = `${new Error().stack}`.split('\n').find(line => /:\d+:\d+/.test(line) && !line.includes(import.meta.url))
  return /([^\s()@]+:\d+):\d+/.exec(line ?? '')?.[1] ?? ''
}

/** What stands for a timer: a number, of anything that is one; Node's immediates are none. @param {any} id */
function numberOf(id) {
  const number = typeof id === 'symbol' || typeof id === 'bigint' ? NaN : Number(id)
  return number === number ? number | 0 : id
}

/** Of a listener's target nothing else is in reach from here: its signal may outlive that. @param {WeakRef<any>} entry */
const aborting = entry => () => { entry.deref()?.abort() }

const apply = Reflect.apply
/** @type {WeakSet<object>} */
const realms = new WeakSet()

/** @param {any} fn */
const isOthers = fn => typeof fn === 'function' && !seam.ours.has(fn)

/** @param {string} type @param {any} at @returns {(rule: EventRule) => boolean} */
const fits = (type, at) => ({ type: types, target: wanted }) => (types === undefined || [types].flat().includes(type)) &&
  (typeof wanted === 'string' ? at.matches?.(wanted) : typeof wanted === 'function' ? wanted(at) : wanted === undefined || wanted === at)

/** What is done instead of a function. @typedef {(native: any, self: any, args: any[]) => any} Replacement */

/** A global object that is adopted. */
class Realm {
  /** What has been replaced. @type {(() => void)[]} */
  undo = []
  /**
   * What the platform has of ours, in its order: by target, by phase and type, and by listener, which is null for a property.
   *
   * @type {WeakMap<any, Map<string, Map<any, any>>>}
   */
  #registered = new OwnWeakMap()
  /** Targets that still are. @type {Set<WeakRef<any>>} */
  #targets = new OwnSet()
  #gone = new FinalizationRegistry(ref => this.#targets.delete(ref))

  /** @param {any} target @param {Calls} calls @param {any} rules */
  constructor(target, calls, rules) {
    this.target = target
    this.calls = calls
    this.rules = rules
  }

  /**
   * What the platform calls has to be of the target's realm: by that it knows whose `event` it is, and where errors are reported.
   *
   * @template {object} T @param {T} callback @returns {T}
   */
  own(callback) {
    const { Proxy: Other = Proxy } = this.target
    return Other === Proxy ? callback : new Other(callback, {})
  }

  /** @param {any} holder @param {PropertyKey} name @param {Record<string, any>} replaced parts of the property; a page may have frozen it */
  put(holder, name, replaced) {
    const before = holder && Object.getOwnPropertyDescriptor(holder, name)
    if (!before?.configurable || Object.keys(replaced).some(key => !(key in before))) return
    Object.defineProperty(holder, name, { ...before, ...replaced })
    this.undo.push(() => {
      const now = /** @type {any} */ (Object.getOwnPropertyDescriptor(holder, name)) // a page may have replaced it since
      if (now?.configurable && Object.keys(replaced).every(key => now[key] === replaced[key])) Object.defineProperty(holder, name, before)
    })
  }

  /** @param {any} holder @param {PropertyKey} name @param {Record<string, Replacement>} own of its value, or its getter and setter */
  redefine(holder, name, own) {
    const before = holder && Object.getOwnPropertyDescriptor(holder, name)
    /** @type {Record<string, any>} */
    const replaced = {}
    for (const key in own) {
      const native = before?.[key]
      if (typeof native !== 'function') return
      const replacement = (/** @type {any} */ _, /** @type {any} */ self, /** @type {any[]} */ args) =>
        this.calls.isReleased ? apply(native, self, args) : own[key](native, self, args)
      replaced[key] = new Proxy(native, { apply: replacement })
    }
    this.put(holder, name, replaced)
  }

  /** @param {any} holder @param {PropertyKey} name @param {Replacement} value */
  replace(holder, name, value) {
    this.redefine(holder, name, { value })
  }

  /** @param {any} at @param {string} type @param {boolean} [capture] @returns {Map<any, any>} */
  listenersOf(at, type, capture = false) {
    let keys = this.#registered.get(at)
    if (keys === undefined) {
      const ref = new WeakRef(at)
      this.#targets.add(ref)
      this.#gone.register(at, ref)
      this.#registered.set(at, keys = new OwnMap())
    }
    const key = `${capture} ${type}`
    if (!keys.has(key)) keys.set(key, new OwnMap())
    return /** @type {any} */ (keys.get(key))
  }

  /** The platform has it no more. @param {Map<any, any>} listeners @param {any} listener */
  forget(listeners, listener) {
    this.calls.drop(listeners, listener)
    listeners.delete(listener)
  }

  /**
   * @param {Map<any, any>} listeners @param {any} listener null in a property @param {any} given by the page
   * @param {string} type @returns {any}
   */
  entryFor(listeners, listener, given, type) {
    const { calls, rules } = this
    const isMessage = type === 'message' || type === 'messageerror'
    const row = calls.row(isMessage ? 'message' : type, given)
    const isInput = INPUT.includes(type)
    const mustEnd = WHOLE.includes(type)
    /** @param {any} event @returns {AdoptionRule} */
    const ruleOf = event => {
      const deadline = isMessage || !isInput && event.view === undefined ? Infinity : SOON
      return { deadline, ...isMessage ? rules.message : rules.event.find(fits(type, event.currentTarget)) }
    }
    /** Whether what it returns might prevent the default. @type {boolean | undefined} */
    let answers
    const begin = () => { if (entry.once && listeners.get(listener) === entry) listeners.delete(listener) }
    /** @param {any} fn @param {any} [object] whose method it is */
    const enteringOf = (fn, object) => {
      /** @type {any} */
      const entering = /** @this {any} @param {any[]} args */ function (...args) {
        const [event] = args
        begin()
        if (event?.eventPhase === undefined) return apply(fn, this, args) // onerror of a window, `on` of a port of Node
        const isWhole = mustEnd || event.waitUntil !== undefined || listener === null && event.cancelable && (answers ??= seam.answers(given))
        const self = object ?? this
        const answer = calls.enter({ row, fn, self, args, owner: listeners, part: listener, event, called: entering, isWhole }, ruleOf(event))
        return answer // not in one: WebKit takes a function that calls last from the stack, where `nested` looks for it
      }
      return entering
    }
    /** @type {any} Where the method is none, the platform says so. */
    const entry = this.own(typeof given === 'function' ? enteringOf(given) : {
      get handleEvent() {
        begin()
        const { handleEvent } = given
        return typeof handleEvent === 'function' ? enteringOf(handleEvent, given) : handleEvent
      }
    })
    return entry
  }

  release() {
    for (const ref of this.#targets) this.#registered.get(ref.deref())?.forEach(all => all.forEach(entry => entry.restore()))
    for (const undone of this.undo.reverse()) undone()
    realms.delete(this.target)
  }
}

/** Timers, frames, idle callbacks. @param {Realm} realm */
function adoptTimers(realm) {
  const { target, calls, rules } = realm
  for (const [set, clear, kind] of TIMERS) {
    const isDelayed = set === 'setTimeout' || set === 'setInterval'
    realm.replace(holderOf(target, set), set, (native, self, args) => {
      const fn = args[0]
      if (!isOthers(fn)) return apply(native, self, args)
      const row = calls.row(kind, fn)
      if (isDelayed) args[1] = +args[1] || 0
      const deadline = kind === 'idle' ? Infinity : isDelayed ? Math.max(SOON, args[1] | 0) : SOON // a delay beyond 32 bits is cut by browsers
      args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
        const owner = numberOf(id)
        if (calls.pending(owner, kind).length > 0) return // an interval is late
        calls.enter({ row, fn, self: this, args: given, owner, part: kind }, { deadline, ...rules[kind] })
      })
      const id = apply(native, self, args)
      return id
    })
    realm.replace(holderOf(target, clear), clear, (native, self, args) => {
      args[0] = numberOf(args[0]) // an object is asked once
      calls.drop(args[0], kind)
      return apply(native, self, args)
    })
  }
}

/** @param {Realm} realm */
function adoptObservers(realm) {
  const { target, calls, rules } = realm
  const { PerformanceObserver } = target
  if (PerformanceObserver?.supportedEntryTypes?.includes('long-animation-frame')) {
    const observer = new PerformanceObserver((/** @type {any} */ list) => {
      for (const { scripts } of list.getEntries()) for (const script of scripts) calls.tell(script)
    })
    observer.observe({ type: 'long-animation-frame' })
    realm.undo.push(() => observer.disconnect())
  }
  for (const name of OBSERVERS) {
    const native = target[name]
    if (typeof native !== 'function') continue
    const value = new Proxy(native, {
      construct(_, args, made) {
        const fn = args[0]
        if (isOthers(fn)) {
          const row = calls.row('observer', fn)
          args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
            return calls.enter({ row, fn, self: this, args: given, owner: given[1] }, rules.observer)
          })
        }
        return Reflect.construct(native, args, made)
      }
    })
    realm.put(holderOf(target, name), name, { value })
    realm.put(native.prototype, 'constructor', { value })
    realm.replace(native.prototype, 'disconnect', (native, self, args) => {
      calls.drop(self)
      return apply(native, self, args)
    })
  }
}

const asObject = (/** @type {any} */ options) => Object(options) === options ? options : { capture: options }
const isListener = (/** @type {any} */ listener) => isOthers(listener) || typeof listener === 'object' && listener !== null

/** @param {Realm} realm */
function adoptListeners(realm) {
  const { target } = realm
  for (const holder of new Set([target, target.EventTarget?.prototype ?? null].map(one => holderOf(one, 'addEventListener')))) {
    const { addEventListener: add, removeEventListener: remove } = holder ?? {}
    realm.replace(holder, 'addEventListener', (native, self, args) => {
      const { 1: listener } = args
      if (!isListener(listener)) return apply(native, self, args)
      const at = self ?? target
      const type = `${args[0]}`
      const { capture, once, passive, signal } = asObject(args[2]) // read once, in the platform's order: what they say may change
      /** @type {any} */
      const options = { __proto__: args[2], capture: !!capture, once, passive, signal }
      const listeners = realm.listenersOf(at, type, !!capture)
      // Those that hear of an abort before us may add anew what the platform has removed.
      if (listeners.get(listener)?.signal?.aborted) realm.forget(listeners, listener)
      const known = listeners.get(listener)
      const entry = known ?? realm.entryFor(listeners, listener, listener, type)
      apply(native, self, [type, entry, options])
      if (known !== undefined || signal?.aborted) return
      apply(remove, self, [type, listener, options]) // it may have been there before: then it is not to be called twice
      if (signal) follow(signal, aborting(new WeakRef(entry)))
      const abort = () => (listeners.get(listener) ?? entry) === entry && realm.forget(listeners, listener) // else it was added anew since
      const restore = () => {
        apply(remove, at, [type, entry, options])
        apply(add, at, [type, listener, options])
      }
      listeners.set(listener, Object.assign(entry, { once, signal, restore, abort }))
    })
    realm.replace(holder, 'removeEventListener', (native, self, args) => {
      const { 1: listener } = args
      if (!isListener(listener)) return apply(native, self, args)
      const type = args[0] = `${args[0]}`
      const capture = !!asObject(args[2]).capture
      if (args.length > 2) args[2] = capture
      const listeners = realm.listenersOf(self ?? target, type, capture)
      const entry = listeners.get(listener)
      if (entry !== undefined) apply(native, self, [type, entry, capture])
      apply(native, self, args)
      realm.forget(listeners, listener)
    })
  }
}

const isOn = (/** @type {string} */ name) => name.startsWith('on')

/** Properties `on...`. @param {Realm} realm */
function adoptHandlers(realm) {
  const { target, calls } = realm
  /** What the page has put there, by what the platform has: the body has properties of the window. @type {WeakMap<Function, any>} */
  const handlers = new OwnWeakMap()
  const holders = [target, ...HANDLED.map(name => target[name]?.prototype)].filter(Boolean)
  for (const holder of holders) {
    for (const name of Object.getOwnPropertyNames(holder).filter(isOn)) {
      const { get, set } = /** @type {any} */ (Object.getOwnPropertyDescriptor(holder, name))
      realm.redefine(holder, name, {
        get(native, self, args) {
          const value = apply(native, self, args)
          return handlers.get(value) ?? value
        },
        set(native, self, args) {
          const handler = args[0]
          const at = self ?? target
          const type = name.slice(2)
          const listeners = realm.listenersOf(at, type)
          if (!isOthers(handler)) {
            realm.forget(listeners, null)
            return apply(native, self, args)
          }
          const entry = realm.entryFor(listeners, null, handler, type)
          handlers.set(entry, handler)
          entry.restore = () => {
            if (apply(get, at, []) !== entry) return
            const [first] = listeners.keys()
            if (first !== null) apply(set, at, [null]) // it comes after those listeners before it that have been added anew
            apply(set, at, [handler])
          }
          apply(native, self, [entry])
          for (const call of calls.pending(listeners, null)) call.invocation.fn = handler // it is called in the place of the one before
          listeners.set(null, entry) // in its place, too
        }
      })
    }
  }
  const { document } = target
  for (const object of [target, document, ...document?.querySelectorAll('*') ?? []].filter(Boolean)) {
    const names = object === target || object === document
      ? Object.getOwnPropertyNames(holderOf(object, 'onclick') ?? object).filter(isOn) : COMMON
    for (const name of names) {
      try {
        if (isOthers(object[name])) object[name] = object[name] // set anew, through ours
      } catch {} // something else that the page has put there
    }
  }
}

/**
 * Makes jobs of the callbacks of a page, a worker or of Node: of timers, animation frames, idle callbacks, event listeners and
 * `on...` properties, observers and messages, whoever registers them, from now on; and of the `on...` properties that are there
 * already, of the global object, the document and, for common events, its elements. (No platform lists its listeners.) Not taken are
 * the `on...` properties of devices, payments, speech recognition, sound in scripts, and other rare things; their listeners are; nor
 * attributes like `onclick="..."` that come later, reactions of custom elements and promises, `queueMicrotask`, and other realms: an
 * iframe's window is adopted by a call of its own. (Firefox has no `event` in it then.)
 *
 * A callback with a twin (see `preemptify.source`) begins inside its event, and goes on as a job where its first budget ends, or a
 * slice if that is automatic. One without runs to its end, is charged, and named when it stalls.
 *
 * Kept is the platform's order among calls of equal standing: one begins when the one before has ended, and its microtasks have
 * run. A call that finds such unfinished waits, and begins outside of its event; unless the event can be cancelled, and its rule is
 * not `latest`: then those before it go on right there, for a round at most, before it begins. Kept are `this`, arguments, `target`,
 * `currentTarget`, `eventPhase`, exceptions, `once`, `signal`, `passive`, `capture`, and that clearTimeout, removeEventListener or
 * disconnect prevent what has not begun.
 *
 * Not kept, once a call has left its event: preventDefault and stopPropagation have no effect (but the former has where a
 * listener is passive that goes on in a later one of the same event, which is not), composedPath() is empty, `window.event` is
 * gone, the event does not reach listeners that it adds, what it reads of its target may have changed, and microtasks run
 * where it is suspended. So listeners of readystatechange begin in their event, and these run to their ends: what a script
 * waits for (dispatchEvent, click, focus); listeners of submit, beforeunload and others that must answer, after which a page
 * may be frozen, or that have something only then, as dragged data, `waitUntil` or a database; handlers in `on...` properties
 * of events that can be cancelled, if they may return something; async functions, as far as their first await. Text given to
 * setTimeout is the platform's.
 *
 * @param {any} [target] a global object, default globalThis
 * @param {{ rules?: { timer?: AdoptionRule, frame?: AdoptionRule, idle?: AdoptionRule, observer?: AdoptionRule, message?: AdoptionRule,
 *   event?: EventRule | EventRule[] }, scheduler?: Scheduler, warn?: boolean }} [options] `rules`: of those for events, the first
 *   that matches counts, by `type` and by `target` (a selector, a target, or a function that is told the target). Deadlines are by
 *   default 16 ms for input and frames, its delay for a timer but not less than that, and else none. `warn`: whether the console
 *   is told of each callback that keeps the thread for longer than a slice, and again where that reaches 10, 100, ... ms; default true
 * @returns {{ release(): void, report(): AdoptionRow[] }} `release` undoes it: all is as it was, and calls that wait are made; an
 *   event whose listener calls it does not reach the next listeners of the same target. `report` tells of all callbacks, the
 *   costliest first
 * @throws {TypeError | RangeError} naming the parameter; TypeError where the target is adopted already
 */
export function adopt(target = globalThis, options = {}) {
  if (typeof target?.setTimeout !== 'function') throw wrongType('target', 'a global object', target)
  const { rules: given, warn = true } = checked(options, ADOPTION)
  const scheduler = here(options)
  const rules = rulesOf(scheduler, given)
  if (realms.has(target)) throw new TypeError('target is adopted already; release() it first')
  realms.add(target)

  const calls = new Calls(scheduler, target, warn)
  const realm = new Realm(target, calls, rules)
  adoptTimers(realm)
  adoptObservers(realm)
  adoptListeners(realm)
  adoptHandlers(realm)
  return {
    release() {
      if (calls.isReleased) return
      calls.release()
      realm.release()
    },
    report: () => calls.report()
  }
}
