/**
 * addons/scheduler.mjs: the platform's `scheduler` (Prioritized Task Scheduling API), on a scheduler of
 * rt.mjs.
 *
 * Code written for the platform changes one line. Its tasks then run in rounds with all other jobs, by the
 * same policy, and in engines that have no `scheduler`.
 *
 *   import { scheduler } from 'rt.mjs/scheduler'
 *   await scheduler.postTask(save, { priority: 'background' })
 *
 * A task is a job. Its priority is a number, or one of the platform's names: 'user-blocking' is 1,
 * 'user-visible' is 0, and 'background' is -1. The order is the platform's:
 *
 *   1. A task with a larger priority runs first. Tasks of equal priority run in the order in which they were
 *      posted, or in which their delays ended.
 *   2. Code that awaits a task runs before the next task.
 *   3. Code that continues after `yield()` runs before tasks of equal priority that have not started.
 *
 * This API differs from the platform's in four points. Misuse throws at the call. A generator function is
 * work: the scheduler drives it, and every `yield` is a preemption point. A task can have a deadline, which
 * ranks before priorities under edf. A rejection by an aborted signal is never reported as unhandled.
 *
 * @module scheduler
 */

import { extend } from '../rt.mjs'
/** @import { Job, Scheduler } from '../rt.mjs' */

const { check, here } = extend
const { callerOf, promiseOf } = extend.tasks

/** @typedef {'user-blocking' | 'user-visible' | 'background'} TaskPriority */
/**
 * An AbortSignal that may have a priority. Tasks with the signal follow its priority.
 *
 * @typedef {AbortSignal & { readonly priority?: TaskPriority }} TaskSignal
 */
/**
 * @typedef {object} PostTaskOptions
 * @property {TaskPriority | number} [priority] default: the priority of the signal, else 'user-visible'
 * @property {TaskSignal} [signal] cancels the task until `fn` has returned; after that, each `yield()` of the
 *   task rejects
 * @property {number} [delay] minimum ms before the task starts; default 0
 * @property {number} [deadline] ms after the end of the delay, > 0; default Infinity
 */
/**
 * @typedef {object} YieldOptions the continuation then has a rank of its own
 * @property {TaskPriority | number | 'inherit'} [priority] default 'inherit': the priority of the calling
 *   task or job, else 0
 * @property {TaskSignal | 'inherit'} [signal] rejects the yield; 'inherit': the signal of the calling task
 * @property {number} [deadline] ms from now, > 0; default: the deadline of the calling task or job
 */

/** The priorities of the platform. @type {Record<string, number>} */
const PRIORITIES = { 'user-blocking': 1, 'user-visible': 0, background: -1 }

/** @param {string} name @param {unknown} value @returns {number} */
function priorityOf(name, value) {
  if (typeof value === 'number') return check.finite(name, value)
  if (typeof value === 'string' && Object.hasOwn(PRIORITIES, value)) return PRIORITIES[value]
  throw check.wrongType(name, "a finite number, 'user-blocking', 'user-visible' or 'background'", value)
}

/** A check that also accepts 'inherit'. @param {(name: string, value: any) => any} other */
const inheritable = other => (/** @type {string} */ name, /** @type {any} */ value) => {
  return value === 'inherit' ? value : other(name, value)
}

const POST_OPTIONS = {
  priority: priorityOf, signal: check.signal, delay: check.duration, deadline: check.positive
}
const YIELD_OPTIONS = {
  priority: inheritable(priorityOf), signal: inheritable(check.signal), deadline: check.positive
}

/** The options of most tasks. */
const USER_VISIBLE = { deadline: Infinity, priority: 0, delay: 0, signal: undefined }

/** The signals of tasks, for `signal: 'inherit'`. @type {WeakMap<Job, AbortSignal>} */
const signals = new WeakMap()

/**
 * The tasks that follow the priority of one signal. They share one listener, because a signal searches its
 * listeners one by one.
 */
class Followers {
  /** @type {Set<Job>} */
  #jobs = new Set()

  /** @param {TaskSignal} signal */
  constructor(signal) {
    this.signal = signal
    this.listener = extend.markInternal(() => {
      extend.membersOf(this.#jobs).forEach(job => {
        job.priority = priorityOf('priority', signal.priority)
      })
    })
  }

  /** @param {Job} job */
  add(job) {
    if (this.#jobs.size === 0) this.signal.addEventListener('prioritychange', this.listener)
    this.#jobs.add(job)
    extend.ended(job, () => {
      this.#jobs.delete(job)
      if (this.#jobs.size === 0) this.signal.removeEventListener('prioritychange', this.listener)
    })
  }
}

/** @type {WeakMap<TaskSignal, Followers>} */
const followers = new WeakMap()

/** @param {TaskSignal} signal @param {Job} job */
function follow(signal, job) {
  let tasks = followers.get(signal)
  if (tasks === undefined) followers.set(signal, tasks = new Followers(signal))
  tasks.add(job)
}

/** The API of the platform's `scheduler`. */
class TaskScheduler {
  /** @type {{ scheduler?: Scheduler }} */
  #place

  /** @param {Scheduler} [scheduler] default: the scheduler of the running job, or `rt` */
  constructor(scheduler) {
    this.#place = { scheduler }
  }

  /**
   * Runs a function as a task.
   *
   * @template T
   * @param {() => T} fn called without arguments; the scheduler drives a generator that it returns
   * @param {PostTaskOptions | null} [options]
   * @returns {Promise<T extends Generator<any, infer R, any> ? R : Awaited<T>>} the result or error of `fn`;
   *   rejects with the reason of `signal` if the signal cancels the task
   * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
   *
   * @example
   * const { signal } = new TaskController({ priority: 'background' })
   * const index = await scheduler.postTask(() => 'index of a text', { signal, delay: 10 })
   * console.log(index) // → index of a text
   */
  postTask(fn, options) {
    check.refuseAsyncGenerator('fn', check.callable('fn', fn), fn)
    const scheduler = here(this.#place)
    if (options === undefined || options === null) {
      return /** @type {any} */ (promiseOf(extend.tasks.release(scheduler, fn, USER_VISIBLE)))
    }
    const { priority, signal, delay = 0, deadline = Infinity } = check.options(options, POST_OPTIONS)
    const isFollowing = priority === undefined && signal?.priority !== undefined
    const job = extend.tasks.release(scheduler, fn, {
      priority: priorityOf('priority', isFollowing ? signal.priority : priority ?? 0), deadline, delay, signal
    })
    if (signal !== undefined) signals.set(job, signal)
    if (isFollowing && !signal.aborted) follow(signal, job)
    return /** @type {any} */ (promiseOf(job))
  }

  /**
   * A preemption point of any async code: the same as `rt.yield()`, with the platform's names for priorities.
   *
   * The continuation keeps the priority and the signal of its task as long as the task has only awaited its
   * own yields; in engines with AsyncContext, after any await. Elsewhere the continuation is user-visible.
   *
   * @param {YieldOptions | null} [options]
   * @returns {Promise<void>} rejects if the task, or its signal, has been aborted
   * @throws {TypeError | RangeError} if an option has the wrong type or is out of range
   *
   * @example
   * await scheduler.postTask(async () => {
   *   for (const photo of ['first', 'second']) {
   *     console.log(photo)
   *     await scheduler.yield()
   *   }
   * }) // → first, second
   */
  yield(options) {
    const scheduler = here(this.#place)
    if (options === undefined || options === null) return scheduler.yield()
    const { priority = 'inherit', signal, deadline } = check.options(options, YIELD_OPTIONS)
    const caller = callerOf(scheduler)
    return scheduler.yield({
      deadline,
      priority: priority === 'inherit' ? undefined : priorityOf('priority', priority),
      signal: signal !== 'inherit' ? signal : caller === null ? undefined : signals.get(caller)
    })
  }
}

/**
 * Returns the platform's API, `postTask` and `yield`, for one scheduler.
 *
 * @param {Scheduler} scheduler
 * @returns {TaskScheduler}
 * @throws {TypeError} if `scheduler` is not a Scheduler
 *
 * @example
 * const core = new Scheduler({ policy: fp, round: 2 })
 * const background = schedulerOf(core)
 * console.log(await background.postTask(() => 42), core.stats().jobs) // → 42, 1
 */
export const schedulerOf = scheduler => new TaskScheduler(check.scheduler('scheduler', scheduler))

/**
 * The platform's `scheduler`, with `postTask` and `yield`, on jobs. It acts on the scheduler of the running
 * job, and outside of jobs on `rt`.
 *
 * @type {TaskScheduler}
 *
 * @example
 * scheduler.postTask(() => console.log('background'), { priority: 'background' })
 * scheduler.postTask(async () => {
 *   await scheduler.yield()
 *   console.log('continued')
 * })
 * await rt.idle() // → continued, background
 */
export const scheduler = /* @__PURE__ */ new TaskScheduler()

const taskPriority = /* @__PURE__ */ check.among.apply(null, /* @__PURE__ */ Object.keys(PRIORITIES))
const CONTROLLER_OPTIONS = { priority: taskPriority }

/** Our TaskController, for engines that have none. */
class OwnTaskController extends AbortController {
  #isChanging = false

  /**
   * @param {{ priority?: TaskPriority } | null} [options] default 'user-visible'
   * @throws {TypeError} if `priority` is not one of the three
   */
  constructor(options) {
    super()
    const { priority = 'user-visible' } = check.options(options ?? {}, CONTROLLER_OPTIONS)
    const signal = /** @type {any} */ (this.signal)
    signal.priority = priority
    const callHandler = (/** @type {Event} */ event) => signal.onprioritychange?.(event)
    signal.addEventListener('prioritychange', callHandler)
  }

  /**
   * Changes the priority of the signal, and of the tasks that follow it.
   *
   * @param {TaskPriority} priority
   * @throws {TypeError} if it is not one of the three
   * @throws {DOMException} if called inside a `prioritychange` event of this signal (NotAllowedError)
   */
  setPriority(priority) {
    const signal = /** @type {any} */ (this.signal)
    const { priority: previousPriority } = signal
    taskPriority('priority', priority)
    if (this.#isChanging) throw new DOMException('the priority is being changed already', 'NotAllowedError')
    if (priority === previousPriority) return
    this.#isChanging = true
    signal.priority = priority
    try {
      signal.dispatchEvent(Object.assign(new Event('prioritychange'), { previousPriority }))
    } finally {
      this.#isChanging = false
    }
  }
}

/** @param {any} platform the global object @returns {typeof OwnTaskController} */
function controllerOf({ TaskController = OwnTaskController }) {
  return TaskController
}

/**
 * The platform's TaskController; in engines that have none, a class with the same members. Its signal is an
 * AbortSignal with a `priority` and `prioritychange` events.
 *
 * @type {typeof OwnTaskController}
 *
 * @example
 * const controller = new TaskController({ priority: 'background' })
 * scheduler.postTask(() => console.log('first'), { signal: controller.signal })
 * scheduler.postTask(() => console.log('second'))
 * controller.setPriority('user-blocking')
 * await rt.idle() // → first, second
 */
export const TaskController = /* @__PURE__ */ controllerOf(globalThis)
