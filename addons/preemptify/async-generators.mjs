/**
 * addons/preemptify/async-generators.mjs: async generators and `for await` at run time.
 *
 * The twin of an async generator function is a generator function: it yields what it awaits, calls, points,
 * and its values in a `Produced`. A native async generator around it keeps the queue of requests. Each request
 * runs the twin up to its next value: first on the stack of the caller, then as a child job.
 */

import { budget, extend } from '../../rt.mjs'
import { capability, continued, fulfilled, isCall, outermost, rejected, startAsync } from './asynchronous.mjs'
import { give, lengthOf, put } from './builtins.mjs'
import { familyOf } from './family.mjs'
import {
  NO_ARGUMENTS, apply, engine, getPrototypeOf, isConstructor, isObject, next, reflectConstruct, returnFromNext,
  setPrototypeOf, throwInNext
} from './primordials.mjs'
import { beginners, callerJob, entryOf, generatorOf, suspended, wait } from './run.mjs'
/** @import { Family } from './family.mjs' */
/** @import { Twin } from './run.mjs' */

const { Suspended, child } = extend.code

/** A value that an async generator has yielded. */
class Produced {
  /** @param {any} value */
  constructor(value) {
    this.value = value
  }
}

/** @param {any} value @returns {Produced} */
export const produced = value => new Produced(value)

/** The value by which a generator is told to return: its caller knows the true one. */
const RETURNED = /* @__PURE__ */ Object.freeze({ __proto__: null })

/**
 * Runs a twin up to its next value.
 *
 * @param {any} generator @param {any} method a method of generators @param {any} value
 * @returns {Generator<any, { done: boolean, value: any }, any>}
 */
function* producing(generator, method, value) {
  for (;;) {
    const step = apply(method, generator, [value])
    if (step.done) return { done: true, value: step.value }
    if (step.value instanceof Produced) return { done: false, value: step.value.value }
    try {
      value = yield step.value
      method = next
    } catch (error) {
      value = error
      method = throwInNext
    }
  }
}

/** The twin of an async generator, its function, and the family of the job that has called it. */
class Requests {
  /** @param {any} generator @param {any} fn @param {Family} family */
  constructor(generator, fn, family) {
    this.generator = generator
    this.fn = fn
    this.family = family
  }

  /**
   * Serves one request. Up to the first point, await or value, the twin runs on the stack of the caller.
   *
   * @param {any} method @param {any} value @returns {Promise<{ done: boolean, value: any }>}
   */
  serve(method, value) {
    const { fn, family } = this
    const request = producing(this.generator, method, value)
    if (callerJob() === null) return this.#later(request)
    let step
    try {
      step = apply(next, request, NO_ARGUMENTS)
    } catch (error) {
      return rejected(error)
    }
    if (step.done) return fulfilled(step.value)
    if (step.value !== undefined && !isCall(step.value)) return continued([request], step.value, fn)
    return this.#later(resumed(new Suspended(request, step)))
  }

  /** Runs the rest of a request as a child job, before all other continuations. @param {any} call */
  #later(call) {
    const { fn, family } = this
    const outcome = capability()
    family.enter(() => {
      const job = child(family.root, fn, [outermost(outcome), call], null)
      family.holder = job
      family.add(job)
    }, true)
    return outcome.promise
  }
}

/** @param {any} call @returns {Generator<any, any, any>} */
function* resumed(call) {
  return yield call
}

/**
 * The native async generator, which has the queue of requests.
 *
 * @param {Requests} requests @param {any} method @param {any} value
 * @returns {AsyncGenerator<any, any, any>}
 */
async function* shell(requests, method, value) {
  let step = await requests.serve(method, value)
  while (!step.done) {
    let isReturned = true
    try {
      value = yield step.value
      method = next
      isReturned = false
    } catch (error) {
      value = error
      method = throwInNext
      isReturned = false
    } finally {
      if (isReturned) {
        const result = yield* shell(requests, returnFromNext, RETURNED)
        if (result !== RETURNED) return result
      }
    }
    step = await requests.serve(method, value)
  }
  return step.value
}

/** @param {Twin} twin of an async generator function @param {any} fn */
beginners.asyncGenerator = (twin, fn) => /** @this {any} @param {any[]} args */ function (...args) {
  const job = callerJob()
  if (job === null) return apply(fn, this, args)
  const requests = new Requests(apply(generatorOf(twin, fn), this, args), fn, familyOf(job))
  const { prototype } = fn
  return setPrototypeOf(shell(requests, next, undefined), isObject(prototype) ? prototype : getPrototypeOf(shell.prototype))
}

/** A `for await` loop of a twin. Each method returns a call. */
class AsyncWalk {
  /** @type {any} */
  #iterator = null
  /** @type {any} */
  #step
  /** Whether each value is in a box. */
  #isBoxed = false
  #isClosed = false

  /** @param {any} iterable */
  constructor(iterable) {
    this.iterable = iterable
  }

  /** Begins the iteration. @returns {Generator<any, void, any>} */
  *#begin() {
    const { iterable } = this
    const method = iterable[Symbol.asyncIterator] ?? undefined
    this.#isBoxed = method === undefined
    const iterator = this.#isBoxed ? boxed(iterable) : yield* called(method, iterable)
    if (!isObject(iterator)) throw new TypeError(`Result of the Symbol.asyncIterator method is not an object`)
    this.#step = iterator.next
    this.#iterator = iterator
  }

  /** @returns {Generator<any, { value: { value: any } | null }, any>} `value`: null at the end */
  *next() {
    if (this.#iterator === null) yield* this.#begin()
    const result = yield wait(yield* called(this.#step, this.#iterator))
    if (!isObject(result)) throw new TypeError(`Iterator result ${String(result)} is not an object`)
    if (result.done) return { value: null }
    const { value } = result
    return { value: this.#isBoxed ? value : { value } }
  }

  /** The body has thrown: the error counts, and not the one of the iterator. */
  *throw() {
    this.#isClosed = true
    try {
      const method = this.#iterator.return ?? undefined
      if (method !== undefined) yield wait(yield* called(method, this.#iterator))
    } catch {}
  }

  /** The body has ended the loop. @returns {Generator<any, void, any>} */
  *return() {
    if (this.#isClosed) return
    const method = this.#iterator.return ?? undefined
    if (method === undefined) return
    const result = yield wait(yield* called(method, this.#iterator))
    if (!isObject(result)) throw new TypeError(`${String(result)} is not an object`)
  }
}

/** @param {any} method @param {any} self @param {any[]} [args] @returns {Generator<any, any, any>} */
function* called(method, self, args = NO_ARGUMENTS) {
  const result = apply(entryOf(method), self, args)
  return result === budget ? yield suspended() : result
}

/** Iterates what has no async iterator. `yield` would await the values, so each one is in a box. @param {any} iterable */
async function* boxed(iterable) {
  for await (const value of iterable) yield { value }
}

/** Returns what a `for await` loop of a twin calls. @param {any} iterable */
export const iterate = iterable => new AsyncWalk(iterable)

/** `Array.fromAsync`. @param {any} Class @param {any[]} args @returns {Generator<any, any, any>} */
function* fromAsync(Class, { 0: items, 1: callback, 2: self }) {
  const isMapping = callback !== undefined
  if (isMapping && typeof callback !== 'function') throw new TypeError(`${String(callback)} is not a function`)
  const make = isConstructor(Class) ? () => reflectConstruct(Class, NO_ARGUMENTS) : () => []
  const isAsync = (items[Symbol.asyncIterator] ?? undefined) !== undefined
  if (!isAsync && (items[Symbol.iterator] ?? undefined) === undefined) {
    const list = Object(items)
    const length = lengthOf(list)
    const result = isConstructor(Class) ? reflectConstruct(Class, [length]) : new engine.Array(length)
    for (let i = 0; i < length; i++) {
      if (--budget.left <= 0) yield
      let value = yield wait(list[i])
      if (isMapping) value = yield wait(yield* called(callback, self, [value, i]))
      put(result, i, value)
    }
    result.length = length
    return result
  }
  const result = make()
  const walk = new AsyncWalk(items)
  let count = 0
  for (let step; (step = (yield* walk.next()).value) !== null; count++) {
    if (--budget.left <= 0) yield
    try {
      put(result, count, isMapping ? yield wait(yield* called(callback, self, [step.value, count])) : step.value)
    } catch (error) {
      yield* walk.throw()
      throw error
    }
  }
  result.length = count
  return result
}

/** Gives `Array.fromAsync` a twin, where there is one. */
export function stampFromAsync() {
  give(engine.Array, 'fromAsync', own => /** @this {any} @param {any[]} args */ function (...args) {
    return callerJob() === null ? apply(own, this, args) : startAsync(fromAsync(this, args), own)
  })
}
