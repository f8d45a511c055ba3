/**
 * addons/preemptify/asynchronous.mjs: calls of async functions, and callbacks of promises, at run time.
 *
 * The first part of an async function, up to its first `await`, runs as a part of its caller, so that effects
 * keep their order. The rest is a child job, whose promise the caller gets. A callback with a twin is a child
 * job from its start. The children of a job take turns with it: see family.mjs.
 */

import { budget, extend } from '../../rt.mjs'
import { isClaim } from './claims.mjs'
import { awaiting, familyOf } from './family.mjs'
import {
  NO_ARGUMENTS, apply, engine, generatorPrototype, isBefore, next, push, takeLast, throwInNext
} from './primordials.mjs'
import { beginners, callerJob, entryPointOf, forwarded, generatorOf, pending, recordOf } from './run.mjs'
/** @import { Family } from './family.mjs' */
/** @import { Twin } from './run.mjs' */

const { code } = extend
const { Suspended, counts } = code

/**
 * @typedef {object} Capability a promise and the functions that settle it
 * @property {Promise<any>} promise
 * @property {(value: any) => void} resolve
 * @property {(error: any) => void} reject
 */

/** @returns {Capability} */
export function capability() {
  const made = /** @type {Capability} */ ({})
  made.promise = new engine.Promise((resolve, reject) => {
    made.resolve = resolve
    made.reject = reject
  })
  return made
}

/** @param {any} value @returns {Promise<any>} the promise of an async function that has returned a value */
export function fulfilled(value) {
  const { promise, resolve } = capability()
  resolve(value)
  return promise
}

/** @param {any} error @returns {Promise<any>} the promise of an async function that has thrown */
export function rejected(error) {
  const { promise, reject } = capability()
  reject(error)
  return promise
}

/**
 * The functions that pass an outcome to the caller of an asynchronous call, if the first part has this
 * outcome.
 *
 * @typedef {object} Answers
 * @property {(value: any) => any} fulfilled
 * @property {(error: any) => any} rejected
 */
/** The caller gets a promise. @type {Answers} */
const PROMISES = { fulfilled, rejected }

/** Whether a yielded value is a point or a claim, and not an await or a call. @param {any} value */
const isPoint = value => value === undefined || isClaim(value)
/** Whether a yielded value is not an await. @param {any} value */
const isPointOrCall = value => isPoint(value) || isCall(value)
/** Whether a yielded value is a call. @param {any} value */
export const isCall = value => isBefore(generatorPrototype, value)

/**
 * Returns the entry of an async function.
 *
 * @param {any} generatorFunction the twin: it yields the values that the function awaits @param {any} fn
 */
export const asyncEntry = (generatorFunction, fn) => /** @this {any} @param {any[]} args */ function (
  ...args
) {
  if (callerJob() === null) return apply(fn, this, args)
  let generator
  try {
    generator = apply(generatorFunction, this, args)
  } catch (error) {
    return rejected(error) // an initial value of a parameter has thrown
  }
  return startAsync(generator, fn)
}

/** @param {Twin} twin @param {any} fn an async function */
beginners.async = (twin, fn) => asyncEntry(generatorOf(twin, fn), fn)

/**
 * Starts an async function on the call stack.
 *
 * @param {any} generator the twin @param {any} fn @param {Answers} [answers]
 * @returns {any} the promise of the function; `budget` if the first part is suspended
 */
export function startAsync(generator, fn, answers = PROMISES) {
  if (counts.room > 0 && budget.left > 1) {
    const free = counts.room--
    let step
    try {
      step = apply(next, generator, NO_ARGUMENTS)
    } catch (error) {
      counts.room = free
      return answers.rejected(error)
    }
    counts.room = free
    if (step.done) return answers.fulfilled(step.value)
    if (!isPointOrCall(step.value)) return continued([generator], step.value, fn)
    generator = new Suspended(generator, step)
  }
  push(pending, firstPart(generator, fn, answers))
  return budget
}

/**
 * Runs an async function up to its first `await`, as a call of its caller.
 *
 * @param {any} call the twin, started or not @param {any} fn @param {Answers} answers
 * @returns {Generator<any, any, any>} returns the promise of the function
 */
function* firstPart(call, fn, { fulfilled, rejected }) {
  /** Generators of the function and of calls in it, outermost first. @type {any[]} */
  const calls = []
  /** The error by which the caller is cancelled. @type {{ error: any } | null} */
  let cancellation = null
  for (let yielded = call, input, isThrowing = false; ;) {
    let isStarted = true
    while (isCall(yielded)) {
      isStarted = yielded instanceof Suspended
      push(calls, isStarted ? yielded.generator : yielded)
      yielded = isStarted ? yielded.take() : undefined
    }
    if (!isPoint(yielded)) return continued(calls, yielded, fn)
    try {
      if (isStarted) yield yielded
    } catch (error) {
      cancellation = { error }
      input = error
      isThrowing = true
    }
    for (let hasEnded = true; hasEnded;) {
      try {
        /** @type {any} */
        const step = apply(isThrowing ? throwInNext : next, calls[calls.length - 1], [input])
        hasEnded = step.done
        isThrowing = false
        input = hasEnded ? step.value : undefined
        yielded = hasEnded ? undefined : step.value
      } catch (error) {
        isThrowing = true
        input = error
      }
      if (!hasEnded) break
      takeLast(calls)
      if (calls.length > 0) continue
      if (isThrowing && cancellation?.error === input) throw input
      return isThrowing ? rejected(input) : fulfilled(input)
    }
  }
}

/**
 * Settles a promise with the outcome of the call inside.
 *
 * @param {Capability} outcome @returns {Generator<any, void, any>}
 */
function* settling({ resolve, reject }) {
  try {
    resolve(yield)
  } catch (error) {
    reject(error)
  }
}

/**
 * Returns the outermost generator of a child job, which waits for the call inside.
 *
 * @param {Capability} outcome
 */
export function outermost(outcome) {
  const generator = settling(outcome)
  apply(next, generator, NO_ARGUMENTS)
  return generator
}

/**
 * Continues an async function as a child job.
 *
 * @param {any[]} calls generators of the function and of calls in it, outermost first
 * @param {any} awaited the value that the innermost generator has yielded @param {any} fn
 * @returns {Promise<any>} the promise of the function
 */
export function continued(calls, awaited, fn) {
  const family = familyOf(/** @type {any} */ (callerJob()))
  const outcome = capability()
  const all = [outermost(outcome)]
  for (let i = 0; i < calls.length; i++) push(all, calls[i])
  const waitable = awaited instanceof engine.Promise ? awaiting(awaited) : awaited
  family.add(code.child(family.root, fn, all, waitable))
  return outcome.promise
}

/**
 * Calls a callback of a promise. It waits for its turn in the family of the job that has registered it.
 *
 * @param {Family} family @param {any} fn @param {any} self @param {any[]} args @param {Capability} outcome
 */
export function callBack(family, fn, self, args, outcome) {
  const isShort = recordOf(fn) === undefined
  if (isShort && !family.isBusy) {
    let result
    try {
      result = apply(fn, self, args)
    } catch (error) {
      return outcome.reject(error)
    }
    return outcome.resolve(result)
  }
  family.enter(() => {
    const child = code.child(family.root, fn,
      [outermost(outcome), forwarded(entryPointOf(fn), self, args)], null)
    family.holder = child
    family.add(child)
  })
}
