import { getEventListeners } from 'node:events'
import { Scheduler as OurScheduler, fp, extend } from '../../rt.mjs'
import { record } from './trace.mjs'
import { execute, virtualHost } from './virtual-host.mjs'

/**
 * Makes a scheduler that reads its clock at every point, on a host whose time moves only when a test moves
 * it.
 *
 * @param {any} [options] the options of the scheduler, and: `host`: the options of the host; `except`: types
 *   of records that the trace leaves out; `Scheduler`: another class
 * @returns {{ host: ReturnType<typeof virtualHost>, scheduler: OurScheduler, log: any[], trace:
 *   ReturnType<typeof record>, spawn: (name: string, options?: object, ms?: number) => any }} `log`: a list
 *   for the test; `spawn`: spawns a job that executes for `ms`
 */
export function world({ host: hostOptions, hostOf = virtualHost, except = ['round'], Scheduler = OurScheduler, ...options } = {}) {
  const host = hostOf(hostOptions)
  // An assertion that fails in a callback or a job must fail the test, and not be collected as an error.
  const { report } = host
  host.report = error => {
    if (/** @type {any} */ (error)?.code === 'ERR_ASSERTION') throw error
    report(error)
  }
  const scheduler = new Scheduler({ host, budget: 1, ...options })
  const spawn = (name, given, ms = 1) => scheduler.spawn(execute(host, ms), { name, ...given })
  return { host, scheduler, log: [], trace: record(scheduler, { except }), spawn }
}

/** A world with fixed priorities, in which slices and rounds never end by themselves. @type {typeof world} */
export const exactWorld = options => world({ policy: fp, slice: Infinity, round: Infinity, ...options })

/** Resolves to the error of a promise. @param {PromiseLike<any>} promise @returns {Promise<any>} */
export const rejection = async promise => promise.then(() => { throw new Error('it was fulfilled') }, error => error)

/**
 * Returns a promise with its resolving functions.
 *
 * @returns {{ promise: Promise<any>, resolve(value?: any): void, reject(error: unknown): void }}
 */
export function deferred() {
  /** @type {any} */
  const settle = {}
  const promise = new Promise((resolve, reject) => Object.assign(settle, { resolve, reject }))
  return { promise, ...settle }
}

/** The number of abort listeners of a signal. @param {AbortSignal} signal */
export const abortListeners = signal => getEventListeners(signal, 'abort').length

/**
 * The names of the jobs that have finished, in this order.
 *
 * @param {ReturnType<typeof record>} trace
 */
export const finishOrder = ({ records }) => records.flatMap(({ type, job }) => type === 'finish' ? job.name : []).join(' ')

/**
 * The hook of a reservation without an account. Its jobs run by `keys`.
 *
 * @param {OurScheduler} scheduler
 * @param {any} [more] `keys`: default, the keys of a job without a deadline; `groupFor` and `level` of the
 *   hook; the hooks of its group
 */
export function hookOf(scheduler, { keys = { absoluteDeadline: Infinity, priority: 0 }, groupFor, level, ...hooks } = {}) {
  const group = extend.group(scheduler, hooks)
  group.change(keys)
  return { group, groupFor: groupFor ?? (() => group), level }
}
