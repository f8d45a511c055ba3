/**
 * addons/preemptify/run.mjs: twins and calls at run time.
 *
 * A function of rewritten code has a twin, which uses the same variables and which jobs run in place of the
 * function. The twin is a generator function, or a function that saves its state in a `Frame`. `enter(f)` is
 * `f` itself, or a function that starts the twin of `f` on the native call stack. If this call is suspended,
 * the rest of the call is added to `pending`. The caller yields the rest, and the scheduler resumes it.
 *
 * State of this file:
 *   pending     suspended calls that their callers have not yielded yet
 *   resumed     the frame of the twin that is being called again; `frameOf` takes the frame
 *   pointsLeft  the budget that is left for that twin; `budget.left` is 0 until `frameOf` restores the value
 *   driving     how many plain calls run twins to completion; loops then never end their budget in place
 */

import { budget, extend } from '../../rt.mjs'
import {
  NO_ARGUMENTS, apply, defineProperty, emptyWeakMap, engine, getPrototypeOf, next, pop, promiseResolve, push,
  pushAll, symbolIterator, takeLast, throwInNext
} from './primordials.mjs'
import { awaiting } from './family.mjs'

const { code } = extend
const { ROOM, Suspended, checkpoint, counts } = code

/** The suspended calls that their callers have not yielded yet. @type {any[]} */
export const pending = /* @__PURE__ */ defineProperty([], 'pop', { value: pop })

/**
 * Runs the first part of a generator as a call. Most calls return before the budget is used up, and then the
 * call costs no more than the generator. Otherwise the caller yields the suspended call, and the scheduler
 * resumes the callee itself. So calls are on the native call stack only while they run, and a yield costs the
 * same at any depth.
 *
 * If the generator throws, `counts.room` stays lower until the scheduler resumes the job. A `finally` that
 * restores this value would take half of the time of a call in Firefox.
 *
 * @param {any} generator
 * @returns {any} the result, or `budget` if the call is suspended
 */
export function run(generator) {
  if (counts.room > 0 && budget.left > 1) {
    const free = counts.room--
    const step = apply(next, generator, NO_ARGUMENTS)
    counts.room = free
    if (step.done) return step.value
    generator = new Suspended(generator, step)
  }
  push(pending, generator)
  return budget
}

/**
 * Returns the generator that finishes the call that has just returned `budget`. If the call was not
 * suspended, because `budget` is its result, this generator returns `budget`.
 */
export function suspended() {
  const last = pending.pop()
  return last instanceof Frame ? begun(goOnFrom(last)) : last ?? returning(budget)
}

/** Returns a value as the result of a call. @template T @param {T} value @returns {Generator<never, T>} */
function* returning(value) {
  return value
}

/** The saved values of the twin that is being called again. @type {any} */
let resumed = null
/** The remaining budget, while `budget.left` is 0 because a twin is being called again. */
let pointsLeft = 0

/**
 * Returns the saved values with which a twin resumes; null if the twin must suspend, because the budget or
 * the call depth is used up.
 *
 * @returns {any}
 */
export function frameOf() {
  const found = resumed
  if (found !== null) {
    resumed = null
    budget.left = pointsLeft
  } else {
    // The twin and its callers leave the native stack now, so the full depth is available again. If code
    // outside of the scheduler has resumed a generator, `room` may also count calls that have returned.
    counts.room = ROOM
  }
  return found
}

/** The claim that the running twin waits for next, until its text or its frame takes it. @type {any} */
let expected = null

/** Sets the claim for which the running twin must wait. @param {any} claim */
export function expect(claim) {
  expected = claim
}

/** Takes the claim for which the running twin must wait; null if the twin is at a preemption point. */
export function takeExpected() {
  const claim = expected
  expected = null
  return claim
}

/**
 * Suspends a call of a twin until the expected claim is granted, and then calls the twin.
 *
 * @param {any} entry @param {any} self @param {any} args @returns {any} `budget`
 */
export function later(entry, self, args) {
  push(pending, callAfter(takeExpected(), entry, self, args))
  return budget
}

/**
 * Calls a twin after a claim has been granted.
 *
 * @param {any} claim @param {any} entry @param {any} self @param {any} args
 * @returns {Generator<any, any, any>}
 */
function* callAfter(claim, entry, self, args) {
  yield claim
  return yield* forwarded(entry, self, args)
}

/** The saved state of a suspended twin. */
class Frame {
  /**
   * @param {any} entry the twin
   * @param {any} values the resume point and the variables by their names; the property 0 is the result of
   *   the call, or `budget` if this call is suspended
   * @param {any} self the value of `this`
   * @param {boolean} isAway whether blocks around the call stay open; see `away`
   */
  constructor(entry, values, self, isAway) {
    this.entry = entry
    this.values = values
    this.self = self
    /** The claim that the twin waits for; null if the twin is at a preemption point. */
    this.wait = takeExpected()
    this.isAway = isAway
  }
}

/**
 * Takes a twin that waits for a claim at its entry from the suspended calls. No part of its body has run.
 *
 * @param {any} entry the function that has started the call of the twin
 * @param {(value: any) => boolean} isClaim
 * @returns {any} the claim; null if the call is suspended elsewhere, and stays among the suspended calls
 */
export function takeClaimAtEntry(entry, isClaim) {
  const last = pending[pending.length - 1]
  // In frame form, a call in tail position leaves the frame of the callee in `pending`. In generator form,
  // the claim of a callee is inside of the suspended call of this callee.
  const claim = last instanceof Frame ? last.entry === entry ? last.wait : null : last.step?.value
  if (!isClaim(claim)) return null
  pending.pop()
  return claim
}

/**
 * Suspends a twin in frame form: adds its frame to the suspended calls.
 *
 * @param {any} entry @param {any} values @param {any} self see Frame
 */
export function suspend(entry, values, self) {
  const isAway = counts.away
  counts.away = false
  push(pending, new Frame(entry, values, self, isAway))
  return budget
}

/**
 * Resumes a twin from its frame until the twin returns. If the twin is suspended again, the generator
 * continues with the new frame. This can be the frame of a callee whose result the twin returns.
 *
 * @param {Frame} frame @returns {Generator<any, any, any>}
 */
export function* goOnFrom(frame) {
  for (let result; ; frame = pending.pop()) {
    const { entry, values, self, isAway, wait } = frame
    try {
      values[0] = values[0] === budget ? yield suspended() : yield wait ?? counts.p
    } catch (error) {
      if (!isAway) throw error
      values[0] = new Failure(error)
    }
    resumed = values
    pointsLeft = budget.left
    budget.left = 0
    result = apply(entry, self, NO_ARGUMENTS)
    if (result !== budget) return result
    if (!(pending[pending.length - 1] instanceof Frame)) return yield suspended()
  }
}

/** The result of a wait that has failed. `rethrow` throws the error inside of the twin. */
export class Failure {
  /** @param {any} error */
  constructor(error) {
    this.error = error
  }
}

/**
 * Keeps the loops and `try` statements around a resume point open while the twin is suspended.
 *
 * @param {number} resumePoint the number of the resume point @returns {number} this number
 */
export function away(resumePoint) {
  counts.away = true
  return resumePoint
}

/** Throws the error of a failed wait. @param {any} result the result of the wait */
export function rethrow(result) {
  if (result instanceof Failure) throw result.error
}

/**
 * Starts a generator, so that it has already yielded its callee. If the job is cancelled then, the
 * cancellation reaches the callee.
 *
 * @param {any} generator
 */
export const begun = generator => new Suspended(generator, apply(next, generator, NO_ARGUMENTS))

/** How many generators plain calls run to completion on the native call stack. */
let driving = 0

/** Whether a plain call runs twins to completion on the native call stack. These twins cannot wait. */
export const isDriving = () => driving > 0

/** Runs code of another job inside of a plain call. @param {() => void} fn */
export function undriven(fn) {
  const depth = driving
  driving = 0
  try {
    fn()
  } finally {
    driving = depth
  }
}

/** Ends the budget of a loop in place, if possible, and returns whether the loop must yield instead. */
export const over = () => driving > 0 || checkpoint()

/**
 * Adjusts the budget after the yield of a loop that runs in chunks. The yield was the preemption point of a
 * round, so this round is not counted again. At least one round can run.
 */
export const again = () => { budget.left = budget.left > 0 ? budget.left + 1 : 2 }

/**
 * Returns the entry of a generator function: calls of the entry run the generator.
 *
 * @param {any} generatorFunction @returns {Function}
 */
export const wayInto = generatorFunction => /** @this {any} @param {any[]} args */ function (...args) {
  return run(apply(generatorFunction, this, args))
}

/** Returns an object that represents a variable. @param {() => any} get @param {(value: any) => void} set */
export const access = (get, set) => ({
  get value() {
    return get()
  },
  set value(value) {
    set(value)
  },
  /** The value for `typeof`, which does not throw for a variable that is not declared. */
  get typed() {
    try {
      return get()
    } catch {}
  }
})

/** Returns the waitable that an `await` in a twin yields. @param {any} value the awaited value */
export const wait = value => awaiting(promiseResolve(value))

/**
 * Returns the property descriptors of the built-in methods of generators. An object with these properties
 * works as a generator even if the page replaces the methods that generators inherit.
 *
 * @param {any} generatorFunction
 */
function stepsOf(generatorFunction) {
  const prototype = /** @type {any} */ (getPrototypeOf(generatorFunction.prototype))
  return {
    next: { __proto__: null, value: prototype.next },
    throw: { __proto__: null, value: prototype.throw },
    return: { __proto__: null, value: prototype.return },
    [symbolIterator]: { __proto__: null, /** @this {any} */ value() { return this } }
  }
}
export const steps = /* @__PURE__ */ stepsOf(function* () {})

// A call in a twin starts the twin of the callee, if the callee has one:
//
//   (result = enter(f)(a, b)) === budget ? yield suspended() : result
//
// Modules import these functions from runtime.mjs. Scripts find them by a global symbol: see `shared` there.

/**
 * The twin of a function, with the data for calls of the twin.
 *
 * @typedef {object} Twin
 * @property {any} generator the generator function; null for functions that only start other functions, for
 *   example Function.prototype.call
 * @property {Function | boolean | number | null} entry the function that starts a call; the original function
 *   if the call must not be preempted. Before the first call: true for a generator function, false for an
 *   async function, ASYNC_GENERATOR for an async generator function, null for any other function
 * @property {Function | boolean | null} awaited the entry of an async function for calls that are awaited;
 *   false before the first such call; null for any other function
 * @property {any[] | true | null} self the `this` of an arrow function, as a list; true if the generator
 *   function, or the body, has `new.target` as its first parameter
 * @property {{ fn: any, args: any[] } | null} target the function that a bound function calls, and the
 *   arguments of `bind`
 * @property {any} [body] the body of the constructor of a class, which is called with the new object as
 *   `this`; a generator function is in an array. For a derived class: a Derived
 * @property {any} Blank a constructor of empty objects with the prototype of the class
 * @property {number} changes the arguments that the function may change: bit 0 is `this`, bit 1 the first
 *   parameter
 * @property {any} outer the twin for code that is not rewritten, which claims the arguments
 */

/**
 * Creates a store of twins. The store keeps a twin in a private field of the function. So reflection does not
 * show the twin, a proxy of the function has no twin, and frozen functions can have one.
 *
 * A hit takes 2 ns, a miss 10 ns, and a lookup at a megamorphic call site 20 ns (Firefox: 2 and 48 ns). With
 * a symbol, a lookup takes 1 to 27 ns; with a WeakMap, 4 to 11 ns. Creating a closure with a twin takes 30 to
 * 100 ns; with a WeakMap, 170 to 650 ns (Node 20, Chromium 156, Firefox 153).
 *
 * @returns {{ get(fn: any): any, set(fn: any, what: any): void }}
 */
export function newTwinStore() {
  class TwinHolder extends /** @type {any} */ (function (/** @type {any} */ fn) { return fn }) {
    /** @type {Twin} */
    #twin
    /** @param {Function} fn @param {Twin} twin */
    constructor(fn, twin) {
      super(fn)
      this.#twin = twin
    }
    /** @param {any} fn @returns {Twin | undefined} */
    static get(fn) {
      return (typeof fn === 'function' || (typeof fn === 'object' && fn !== null)) && #twin in fn
        ? fn.#twin : undefined
    }
  }
  return { get: TwinHolder.get, set: (fn, twin) => { new TwinHolder(fn, twin) } }
}

/**
 * The store of twins. If a script was evaluated before this module, this is the store of the script.
 *
 * @type {{ get(fn: any): Twin | undefined, set(fn: Function, twin: Twin): void }}
 */
let twins = /* @__PURE__ */ newTwinStore()

/**
 * The function without a twin that was called last. A call site without an inline cache looks here first,
 * because most loops call the same function again.
 *
 * @type {any}
 */
let latestPlain = NO_ARGUMENTS

/** Returns the twin record of a function, or undefined. @param {any} fn @returns {Twin | undefined} */
export const recordOf = fn => twins.get(fn)

/** Whether a function is the latest function without a twin that was looked up. @param {any} fn */
export const isLatestPlain = fn => fn === latestPlain

/**
 * Functions of rewritten code that have no twin, with the functions that claim for them.
 *
 * @type {WeakMap<Function, any>}
 */
const wholes = /* @__PURE__ */ emptyWeakMap()
const noClaim = () => false

/**
 * Registers a function that has no twin.
 *
 * @param {any} fn
 * @param {(() => boolean) | 0} [claim] claims the contested locations that the function uses, and returns
 *   whether the job must wait; 0 if the function uses no contested location
 * @param {number} [changes] the arguments that the function may change: bit 0 is `this`
 */
export function whole(fn, claim, changes = 0) {
  wholes.set(fn, { claim: claim || noClaim, changes })
  return fn
}

/**
 * Returns the registration of a function without a twin: see `whole`.
 *
 * @param {any} fn @returns {{ claim: () => boolean, changes: number } | undefined}
 */
export const claimerOf = fn => wholes.get(fn)

/** Whether a function has been registered without a twin. @param {any} fn */
export const isWhole = fn => wholes.has(fn)

/** Takes over the twins of scripts that were evaluated before this module. @param {typeof twins} store */
export function adoptTwins(store) {
  twins = store
  latestPlain = NO_ARGUMENTS
}

/** The `entry` of an async generator function that has not been called. */
export const ASYNC_GENERATOR = 2
/** The `entry` of a function that uses `new.target`, and that has not been called. */
export const TAKES_TARGET = 3

/**
 * Attaches a twin to a function: see Twin for the parameters.
 *
 * @param {any} fn @param {any} generator @param {any} entry @param {Twin['self']} self
 * @param {Twin['target']} target @param {any} [body] @param {number} [changes]
 */
export function attachTwin(fn, generator, entry, self = null, target = null, body, changes = 0) {
  latestPlain = NO_ARGUMENTS
  if (entry === TAKES_TARGET) self = true
  const awaited = entry === false ? false : null
  twins.set(fn, { generator, entry, awaited, self, target, Blank: null, body, changes, outer: null })
}

/** The lowest bit of `changes` that encodes how a listener uses its event. */
export const EVENT_USE = 9
/** The bits of `changes` for `this` and the parameters. */
export const CHANGES = 2 ** EVENT_USE - 1

/** Whether a twin belongs to an async function. @param {Twin} twin */
export const isAsyncTwin = ({ awaited }) => awaited !== null

/**
 * Returns the generator function of a twin, ready for a call with the parameters of the original function.
 * A twin that has only frame form gets a generator function that calls its entry. If the twin takes
 * `new.target` (`self` is true), a plain call passes undefined for it. See Twin for the values of `entry` and
 * `self`.
 *
 * @param {Twin} twin @param {any} fn the function with this twin
 * @returns {any}
 */
export function generatorOf(twin, fn) {
  if (twin.generator === undefined) twin.generator = forwarding(twin.entry)
  if (twin.entry === true) begin(twin, fn)
  if (twin.self === true) return twin.generator && calledPlainly(twin.generator)
  if (twin.self !== null) {
    twin.generator = apply(engine.bind, twin.generator, twin.self)
    twin.self = null
  }
  return twin.generator
}

/**
 * Returns a generator function that calls a twin in frame form.
 *
 * @param {any} entry
 */
const forwarding = entry => /** @this {any} @param {any[]} args @returns {any} */ function* (...args) {
  return yield* forwarded(entry, this, args)
}

/**
 * Calls a twin in frame form, and waits until the call has returned. This function serves all such twins,
 * because the first call of each new generator function takes V8 4 us.
 *
 * @param {any} entry @param {any} self @param {any[]} args @returns {Generator<any, any, any>}
 */
export function* forwarded(entry, self, args) {
  const result = apply(entry, self, args)
  return result === budget ? yield suspended() : result
}

/**
 * Returns a function that calls a twin without `new`: the first parameter of the twin, `new.target`, is
 * undefined.
 *
 * @param {any} generator
 */
const calledPlainly = generator => /** @this {any} @param {any[]} args */ function (...args) {
  return apply(generator, this, pushAll([undefined], args))
}

/** Returns the entry of a twin at its first call. @param {Twin} twin @param {any} fn the function */
const begin = (twin, fn) => twin.entry === true ? beginners.generator(twin, fn)
  : twin.entry === ASYNC_GENERATOR ? beginners.asyncGenerator(twin, fn)
  : isAsyncTwin(twin) ? beginners.async(twin, fn) : wayInto(generatorOf(twin, fn))

/**
 * Functions that create the entries of generator functions, async functions and async generator functions.
 * The files that define them import this file, and set these properties.
 *
 * @type {Record<'generator' | 'async' | 'asyncGenerator', (twin: Twin, fn: any) => any>}
 */
export const beginners = /** @type {any} */ ({})

/** Returns the job that runs the current twin; null if a plain call runs the twin to completion. */
export const callerJob = () => driving > 0 ? null : code.current()

/**
 * Creates an error whose stack trace starts below a function of this library, in the code of the page.
 *
 * @param {any} thrower the function that throws the error @param {string} message @returns {TypeError}
 */
export function typeErrorBelow(thrower, message) {
  const error = new TypeError(message)
  if (engine.captureStackTrace) apply(engine.captureStackTrace, engine.Error, [error, thrower])
  return error
}

/**
 * Returns a function that throws the error for a call of a value that is not a function. The error occurs
 * after the arguments have been evaluated.
 *
 * @param {string} text the callee in the source
 */
const failing = text => function call() {
  throw typeErrorBelow(call, `${text} is not a function`)
}

/**
 * Throws the error for `new` with a value that is not a constructor.
 *
 * @param {string} text the constructor in the source @param {any} thrower see typeErrorBelow
 * @returns {never}
 */
export function notConstructor(text, thrower) {
  throw typeErrorBelow(thrower, `${text} is not a constructor`)
}

/**
 * Returns the function that a job calls in place of a value: the entry of its twin, or the value itself.
 *
 * @param {any} fn @param {string} [text] the text of the callee, for the error if this is not a function
 * @returns {any}
 */
export function entryPointOf(fn, text) {
  if (fn === latestPlain) return fn
  const twin = twins.get(fn)
  if (twin === undefined) {
    return typeof fn !== 'function' && text !== undefined ? failing(text) : latestPlain = fn
  }
  return typeof twin.entry === 'function' ? twin.entry : twin.entry = begin(twin, fn)
}

/**
 * Returns the function that a job calls in place of a value if the call is awaited. An async function then
 * runs as part of its caller.
 *
 * @param {any} fn @param {string} [text] see entryPointOf @returns {any}
 */
export function awaitedEntryPointOf(fn, text) {
  const twin = twins.get(fn)
  if (twin === undefined || !isAsyncTwin(twin)) return entryPointOf(fn, text)
  return twin.awaited ||= wayInto(generatorOf(twin, fn))
}

/** The text for an expression in a message if the text of the expression is not known. */
const INTERMEDIATE = '(intermediate value)'
/**
 * Returns the text of a callee for a message: see asMethod.
 *
 * @param {string | 0} [text] @param {string} [name]
 */
const calleeText = (text, name) => name === undefined ? text || INTERMEDIATE
  : `${text === 0 ? INTERMEDIATE : text ?? 'this'}.${name}`

/**
 * Returns an object whose method `call` makes a member call. For most functions this is the entry. An entry
 * with another method `call` gets a wrapper. A value that is not a function also gets a wrapper, which throws
 * the error after the arguments have been evaluated.
 *
 * Limits: a proxy can observe that its `call` is read. If a page replaces `Function.prototype.call`, or sets
 * `call` of a function without a twin, after this check, the member call uses that method.
 *
 * @param {any} entry
 * @param {string | 0} [text] the text of the callee, for the error if this is not a function; the text of its
 *   object if `name` is given. 0: the text of the object is not known. Default: `this`
 * @param {string} [name] the name of the member
 * @returns {{ call(self: any, ...args: any[]): any }}
 */
export const asMethod = (entry, text, name) => typeof entry !== 'function'
  ? { call: failing(calleeText(text, name)) }
  : entry.call === engine.call ? entry
  : { call: (/** @type {any} */ self, /** @type {any[]} */ ...args) => apply(entry, self, args) }

/**
 * Maximum depth of nested calls in one plain call of a twin, about ten times the limit of engines. Endless
 * recursion must end with an error.
 */
const DEEPEST = 2 ** 17

/**
 * A budget that plain calls do not use up: code does not pass this many preemption points in a second. V8
 * stores numbers up to this value without an allocation.
 */
export const MANY_POINTS = 2 ** 30 - 1

/**
 * Runs a twin to completion. A plain call of a function without a separate body does this. The preemption
 * points of the twin are counted, but hardly ever yield.
 *
 * @param {any} generator @returns {any}
 */
export function driveToEnd(generator) {
  const free = counts.room
  const { left } = budget
  budget.left = MANY_POINTS
  driving++
  try {
    const step = apply(next, generator, NO_ARGUMENTS)
    return step.done ? step.value : driveOn(generator, step.value, free)
  } finally {
    driving--
    counts.room = free
    const rest = left - MANY_POINTS + budget.left
    budget.left = rest > 0 ? rest : 0
  }
}

/**
 * Runs the rest of a twin after its first yield. The array `callers` is the call stack, so DEEPEST limits
 * recursion, and not the native stack.
 *
 * @param {any} leaf the generator that has yielded @param {any} value the yielded value
 * @param {number} free the value of `counts.room` for each step @returns {any}
 */
function driveOn(leaf, value, free) {
  /** @type {any[]} */
  const callers = []
  let isThrowing = false
  let isOut = false
  for (let done = false; !done || callers.length > 0;) {
    if (done) {
      leaf = takeLast(callers)
    } else {
      if (budget.left <= 1) {
        isOut = true // the budget has ended: another job needs the processor, or the call took long
        budget.left = MANY_POINTS
      }
      while (value instanceof Suspended) {
        push(callers, leaf)
        leaf = value.generator
        value = value.take()
      }
      counts.isPoint = false
      if (value !== undefined) push(callers, leaf)
      leaf = value ?? leaf
      value = undefined
      if (callers.length > DEEPEST) {
        value = new RangeError('Maximum call stack size exceeded')
        isThrowing = true
      }
    }
    counts.room = free
    try {
      const step = apply(isThrowing ? throwInNext : next, leaf, [value])
      value = step.value
      done = step.done
      isThrowing = false
    } catch (error) {
      value = error
      done = isThrowing = true
    }
  }
  if (isOut) budget.left = 0
  if (isThrowing) throw value
  return value
}
