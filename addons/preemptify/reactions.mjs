/**
 * addons/preemptify/reactions.mjs: twins of built-in functions that call back later: `then` and its siblings,
 * microtasks, and the executors of promises.
 *
 * The callbacks that a job gives away run in the family of the job, in the order in which the platform calls
 * them. That holds for short callbacks too: otherwise they could overtake suspended ones.
 */

import { budget } from '../../rt.mjs'
import { callBack, capability } from './asynchronous.mjs'
import { give } from './builtins.mjs'
import { makers } from './construct.mjs'
import { familyOf } from './family.mjs'
import {
  NO_ARGUMENTS, apply, bare, engine, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isObject,
  promiseResolve, push, realm, reflectConstruct, symbolSpecies
} from './primordials.mjs'
import { attachTwin, begun, callerJob, entryPointOf, pending, recordOf, suspended } from './run.mjs'

/** Any source text: a page may replace these functions, because they only get another callback. */
const ANY = /^/

/**
 * Whether `then` makes a promise without running code of the program.
 *
 * @param {any} promise
 */
function isPlainPromise(promise) {
  const { Promise, promiseSpecies } = engine
  return isObject(promise) && getPrototypeOf(promise) === Promise.prototype &&
    !hasOwn(promise, 'constructor') &&
    getOwnPropertyDescriptor(Promise.prototype, 'constructor')?.value === Promise &&
    getOwnPropertyDescriptor(Promise, symbolSpecies)?.get === promiseSpecies
}

/** @param {any} own the built-in `then` */
const thenEntry = own => /** @this {any} @param {any} onDone @param {any} onFailed */ function (
  onDone, onFailed
) {
  const job = callerJob()
  if (job === null || typeof onDone !== 'function' && typeof onFailed !== 'function') {
    return apply(own, this, [onDone, onFailed])
  }
  const family = familyOf(job)
  const isPlain = isPlainPromise(this)
  const outcome = isPlain ? capability() : null
  const reaction = (/** @type {any} */ callback) => (/** @type {any} */ value) => {
    const settled = outcome ?? capability() // the promise of another class follows this one
    callBack(family, callback, undefined, [value], settled)
    if (outcome === null) return settled.promise
  }
  const result = apply(own, this, [
    typeof onDone === 'function' ? reaction(onDone) : outcome?.resolve,
    typeof onFailed === 'function' ? reaction(onFailed) : outcome?.reject
  ])
  return outcome === null ? result : outcome.promise
}

/** @param {any} own the built-in `catch` */
const catchEntry = own => /** @this {any} @param {any} onFailed */ function (onFailed) {
  const then = callerJob() === null || !isPlainPromise(this) ? undefined : this.then
  return typeof then === 'function' ? apply(entryPointOf(then), this, [undefined, onFailed])
    : apply(own, this, [onFailed])
}

/** @param {any} own the built-in `finally` */
const finallyEntry = own => /** @this {any} @param {any} onEnded */ function (onEnded) {
  const then = callerJob() === null || !isPlainPromise(this) ? undefined : this.then
  if (typeof then !== 'function') return apply(own, this, [onEnded])
  if (typeof onEnded !== 'function') return apply(entryPointOf(then), this, [onEnded, onEnded])
  const pass = (/** @type {any} */ value) => value
  const fail = (/** @type {any} */ error) => { throw error }
  return apply(entryPointOf(then), this, [ending(onEnded, pass), ending(onEnded, fail)])
}

/**
 * Returns the callback of `then` that does the work of `finally`.
 *
 * @param {any} onEnded @param {(outcome: any) => any} settle
 */
function ending(onEnded, settle) {
  // The program can replace `then` of the promise, as built-in code allows.
  const settled = (/** @type {any} */ result, /** @type {any} */ outcome) =>
    /** @type {any} */ (promiseResolve(result)).then(() => settle(outcome))
  const fn = unnamed(outcome => settled(onEnded(), outcome))
  if (recordOf(onEnded) !== undefined) {
    attachTwin(fn, /** @param {any} outcome @returns {Generator<any, any, any>} */ function* (outcome) {
      const result = entryPointOf(onEnded)()
      return settled(result === budget ? yield suspended() : result, outcome)
    }, null)
  }
  return fn
}

/** Keeps a function without a name, as built-in functions are. @param {(outcome: any) => any} fn */
const unnamed = fn => fn

/** `new Promise(executor)`. @param {any[]} args @param {any} target new.target */
function promiseOf(args, target) {
  const { 0: executor } = bare(args)
  if (recordOf(executor) === undefined || callerJob() === null) {
    return reflectConstruct(engine.Promise, args, target)
  }
  /** @type {any[]} */
  let settle = NO_ARGUMENTS
  const capture = (/** @type {any} */ resolve, /** @type {any} */ reject) => { settle = [resolve, reject] }
  const promise = reflectConstruct(engine.Promise, [capture], target)
  try {
    if (apply(entryPointOf(executor), undefined, settle) !== budget) return promise
  } catch (error) {
    settle[1](error)
    return promise
  }
  push(pending, begun(executing(promise, suspended(), settle[1])))
  return budget
}

/**
 * @param {any} promise @param {any} call the suspended executor @param {(error: any) => void} reject
 * @returns {Generator<any, any, any>}
 */
function* executing(promise, call, reject) {
  try {
    yield call
  } catch (error) {
    reject(error)
  }
  return promise
}

/**
 * Returns the entry of a function whose first argument is called later, with the other arguments.
 *
 * @param {any} own
 */
const laterEntry = own => /** @this {any} @param {any} callback @param {any[]} args */ function (
  callback, ...args
) {
  const job = callerJob()
  if (job === null || typeof callback !== 'function') return apply(own, this, arguments)
  const family = familyOf(job)
  const fail = (/** @type {any} */ error) => { apply(own, this, [() => { throw error }]) }
  return apply(own, this, [() => {
    callBack(family, callback, undefined, args, /** @type {any} */ ({ resolve() {}, reject: fail }))
  }])
}

/** Gives the built-in functions of this realm that call back later their twins. */
export function attachReactionTwins() {
  const { Promise } = engine
  give(Promise.prototype, 'then', thenEntry)
  give(Promise.prototype, 'catch', catchEntry)
  give(Promise.prototype, 'finally', finallyEntry)
  attachTwin(Promise, null, Promise)
  makers.set(Promise, promiseOf)
  give(realm, 'queueMicrotask', laterEntry, ANY)
  if (isObject(realm.process)) give(realm.process, 'nextTick', laterEntry, ANY)
}
