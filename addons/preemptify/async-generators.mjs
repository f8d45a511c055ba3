/**
 * addons/preemptify/async-generators.mjs: async generators and `for await` at run time.
 *
 * The twin of an async generator function is a generator function: it yields what it awaits, calls, points,
 * and its values in a `Produced`. A native async generator around it keeps the queue of requests. Each
 * request runs the twin up to its next value: first on the stack of the caller, then as a child job.
 */

import { budget, extend } from '../../rt.mjs'
import { capability, continued, isCall, outermost, startAsync } from './asynchronous.mjs'
import { give, lengthOf, put } from './builtins.mjs'
import { familyOf } from './family.mjs'
import {
  NO_ARGUMENTS, apply, bare, emptyWeakMap, engine, getPrototypeOf, isConstructor, isObject, next, push,
  reflectConstruct, returnFromNext, setPrototypeOf, symbolAsyncIterator, symbolIterator, thenOf, throwInNext,
  toObject
} from './primordials.mjs'
import { Failure, beginners, callerJob, entryPointOf, generatorOf, pending, suspended, wait } from './run.mjs'
/** @import { Answers, Capability } from './asynchronous.mjs' */
/** @import { Family } from './family.mjs' */
/** @import { Twin } from './run.mjs' */

const { Suspended, child, counts } = extend.code

/** A value that an async generator has yielded. */
class Produced {
  /** @param {any} value */
  constructor(value) {
    this.value = value
  }
}

/** @param {any} value @returns {Produced} */
export const produced = value => new Produced(value)

/** @typedef {{ done: boolean, value: any }} Step */

/** The value by which a generator is told to return: its caller knows the true one. */
const RETURNED = /* @__PURE__ */ Object.freeze({ __proto__: null })

/**
 * Runs a twin up to its next value.
 *
 * @param {any} generator @param {any} method a method of generators @param {any} value
 * @returns {Generator<any, Step, any>}
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

/**
 * The outcome of a request that is known when its first part ends is a step or a Failure. A promise would
 * take another microtask.
 *
 * @type {Answers}
 */
const STEPS = { fulfilled: step => step, rejected: error => new Failure(error) }

/** The twin of an async generator, its function, and the family of the job that has called it. */
class Requests {
  /** @param {any} generator @param {any} fn @param {Family} family */
  constructor(generator, fn, family) {
    this.generator = generator
    this.fn = fn
    this.family = family
    /** How many requests of twins have not been answered. */
    this.open = 0
    /** The answer to the request that comes next. @type {any} */
    this.prepared = null
    /**
     * Puts the request whose first part runs into the native queue. Otherwise the request gets there when its
     * outcome is known, which saves a microtask.
     *
     * @type {(() => void) | null}
     */
    this.enqueue = null
    this.isDone = false
  }

  /**
   * Begins the next request as a call of the caller.
   *
   * @param {any} value @returns {any} the answer; `budget` where the first part is suspended
   */
  begin(value) {
    return startAsync(producing(this.generator, next, value), this.fn, STEPS)
  }

  /**
   * Serves one request. Up to the first point, await or value, the twin runs on the stack of the caller.
   *
   * @param {any} method @param {any} value @returns {any} a Step, or a promise of a Step
   */
  serve(method, value) {
    const { prepared } = this
    this.prepared = null
    const answer = prepared ?? this.#start(producing(this.generator, method, value))
    if (answer instanceof Failure) throw answer.error
    return answer
  }

  /** @param {any} request @returns {any} a Step, a Failure, or a promise of a Step */
  #start(request) {
    if (callerJob() === null) return this.#later(request)
    let step
    try {
      step = apply(next, request, NO_ARGUMENTS)
    } catch (error) {
      return new Failure(error)
    }
    if (step.done) return step.value
    if (step.value !== undefined && !isCall(step.value)) return continued([request], step.value, this.fn)
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
  try {
    for (;;) {
      let step = requests.serve(method, value)
      if (step instanceof engine.Promise) step = await step
      if (step.done) return step.value
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
    }
  } finally {
    requests.isDone = true
  }
}

/** @type {WeakMap<AsyncGenerator, Requests>} */
const requestsOf = /* @__PURE__ */ emptyWeakMap()

/** @param {Twin} twin @param {any} fn an async generator function */
beginners.asyncGenerator = (twin, fn) => /** @this {any} @param {any[]} args */ function (...args) {
  const job = callerJob()
  if (job === null) return apply(fn, this, args)
  const requests = new Requests(apply(generatorOf(twin, fn), this, args), fn, familyOf(job))
  const { prototype } = fn
  const generator = shell(requests, next, undefined)
  requestsOf.set(generator, requests)
  return setPrototypeOf(generator, isObject(prototype) ? prototype : asyncGenerators)
}

/** The prototype of all async generators. @type {any} */
const asyncGenerators = /* @__PURE__ */ getPrototypeOf(shell.prototype)

/**
 * Makes the entry of `next`. A request starts in the job of the caller: `begin` runs the generator up to its
 * first await or value, and returns the answer, or `budget` if that part was suspended. Only then does the
 * native queue get the request, and serves it with the answer that is in `prepared`. If another request comes
 * while the first part is suspended, `enqueue` puts this request into the queue before, with a promise of the
 * answer.
 *
 * @param {any} own the built-in `next` of async generators
 */
const nextEntry = own => /** @this {any} @param {any} value */ function (value) {
  const requests = callerJob() === null ? undefined : requestsOf.get(this)
  if (requests === undefined) return apply(own, this, [value])
  const request = () => apply(own, this, [value])
  if (requests.isDone || requests.open > 0) return queued(requests, request) // other requests come first
  /** @type {Promise<any> | null} */
  let promise = null
  /** @type {Capability | null} */
  let outcome = null
  requests.open++
  requests.enqueue = () => {
    outcome = capability()
    requests.enqueue = null
    requests.prepared = outcome.promise
    promise = closing(requests, request())
  }
  /** @param {any} prepared */
  const answer = prepared => {
    if (outcome === null) {
      requests.enqueue = null
      requests.prepared = prepared
      return closing(requests, request())
    }
    if (prepared instanceof Failure) outcome.reject(prepared.error)
    else outcome.resolve(prepared)
    return promise
  }
  const prepared = requests.begin(value)
  if (prepared !== budget) return answer(prepared)
  push(pending, requesting(suspended(), answer))
  return budget
}

/** @param {any} own the built-in `throw` or `return` of async generators */
const endEntry = own => /** @this {any} @param {any} value */ function (value) {
  const requests = callerJob() === null ? undefined : requestsOf.get(this)
  const request = () => apply(own, this, [value])
  return requests === undefined ? request() : queued(requests, request)
}

/**
 * Puts a request into the native queue, after the request whose first part makes it.
 *
 * @param {Requests} requests @param {() => any} request @returns {Promise<any>}
 */
function queued(requests, request) {
  requests.enqueue?.()
  requests.open++
  return closing(requests, request())
}

/** @param {Requests} requests @param {Promise<any>} promise the answer to one of them */
function closing(requests, promise) {
  const close = () => { requests.open-- }
  thenOf(promise, close, close)
  return promise
}

/** @param {any} call @param {(prepared: any) => any} request @returns {Generator<any, any, any>} */
function* requesting(call, request) {
  return request(yield call)
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
    const method = iterable[symbolAsyncIterator] ?? undefined
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
  const result = apply(entryPointOf(method), self, args)
  return result === budget ? yield suspended() : result
}

/**
 * Iterates an object without an async iterator. `yield` would await the values, so each one is in a box.
 *
 * @param {any} iterable
 */
async function* boxed(iterable) {
  for await (const value of iterable) yield { value }
}

/** Returns the iterator of a `for await` loop in a twin. @param {any} iterable */
export const iterate = iterable => new AsyncWalk(iterable)

/** `Array.fromAsync`. @param {any} Class @param {any[]} args @returns {Generator<any, any, any>} */
function* fromAsync(Class, { 0: items, 1: callback, 2: self }) {
  const isMapping = callback !== undefined
  if (isMapping && typeof callback !== 'function') {
    throw new TypeError(`${String(callback)} is not a function`)
  }
  const make = isConstructor(Class) ? () => reflectConstruct(Class, NO_ARGUMENTS) : () => []
  const isAsync = (items[symbolAsyncIterator] ?? undefined) !== undefined
  if (!isAsync && (items[symbolIterator] ?? undefined) === undefined) {
    const list = toObject(items)
    const length = lengthOf(list)
    const result = isConstructor(Class) ? reflectConstruct(Class, [length]) : new engine.Array(length)
    for (let i = 0; i < length; i++) {
      if (--budget.left <= 0) yield counts.p
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
    if (--budget.left <= 0) yield counts.p
    try {
      const { value } = step
      put(result, count, isMapping ? yield wait(yield* called(callback, self, [value, count])) : value)
    } catch (error) {
      yield* walk.throw()
      throw error
    }
  }
  result.length = count
  return result
}

/** Gives the built-in functions that use async iterators their twins. Some engines lack `Array.fromAsync`. */
export function attachAsyncTwins() {
  give(asyncGenerators, 'next', nextEntry)
  give(asyncGenerators, 'throw', endEntry)
  give(asyncGenerators, 'return', endEntry)
  give(engine.Array, 'fromAsync', own => /** @this {any} @param {any[]} args */ function (...args) {
    return callerJob() === null ? apply(own, this, args) : startAsync(fromAsync(this, bare(args)), own)
  })
}
