/**
 * addons/preemptify/run.mjs: twins and calls at run time.
 *
 * A function of rewritten code stays what it was. Its twin over the same variables stands beside it, and jobs
 * run the twin: a generator function, or a function that saves its state in a `Frame`. `enter(f)` is `f`
 * itself, or a function that starts the twin of `f` on the call stack. A call that is suspended then waits in
 * `pending`, and the scheduler resumes it.
 *
 * State of this file:
 *   pending     suspended calls that their callers have not yielded yet
 *   resumed     the frame of the twin that is being called again; `frameOf` takes it
 *   pointsLeft  the budget that is left for that twin; `budget.left` is 0 until `frameOf` restores it
 *   driving     how many plain calls run twins to completion; loops then never end their budget in place
 */

import { budget, extend } from '../../rt.mjs'
import {
  NO_ARGUMENTS, adopt, append, apply, defineProperty, emptyWeakMap, engine, getPrototypeOf, joined, next, pop,
  symbolIterator, takeLast,
  throwInNext
} from './primordials.mjs'
import { awaiting } from './family.mjs'

const { code } = extend
const { ROOM, Suspended, checkpoint, counts } = code

/** A delegated call that has not returned, until its caller yields it. @type {any[]} */
export const pending = /* @__PURE__ */ defineProperty([], 'pop', { value: pop })

/**
 * A delegated call. Most return before the budget is used up, and then they have cost no more than the
 * generator. Otherwise the caller yields what is pending, and from there on the scheduler resumes the callee
 * itself: calls stand on the engine's stack only while they run, and a yield costs the same at any depth.
 *
 * An error leaves less room, until somebody resumes the job: a `finally` would take half of the time in
 * Firefox.
 *
 * @param {any} generator
 * @returns {any} the result; `budget` where something is pending
 */
export function run(generator) {
  if (counts.room > 0 && budget.left > 1) {
    const free = counts.room--
    const step = apply(next, generator, NO_ARGUMENTS)
    counts.room = free
    if (step.done) return step.value
    generator = new Suspended(generator, step)
  }
  append(pending, generator)
  return budget
}

/** What gives the result of a call that has given `budget`; of one that has returned just that, too. */
export function suspended() {
  const last = pending.pop()
  return last instanceof Frame ? begun(goOnFrom(last)) : last ?? returning(budget)
}

/** @template T @param {T} value @returns {Generator<never, T>} */
function* returning(value) {
  return value
}

/** The frame of the twin that is called next to go on. @type {any} */
let resumed = null
/** What is left of the budget meanwhile. */
let pointsLeft = 0

/** @returns {any} the frame from which a twin is to go on; null: its budget is used up */
export function frameOf() {
  const found = resumed
  if (found !== null) {
    resumed = null
    budget.left = pointsLeft
  } else {
    counts.room = ROOM // all of it is left, and who asked a generator by hand counted calls that have returned
  }
  return found
}

/** The claim that the running twin waits for next, until its text or its frame takes it. @type {any} */
let expected = null

/** Says for what the running twin must wait. @param {any} claim */
export function expect(claim) {
  expected = claim
}

/** Takes the claim for which the running twin must wait; null: it is at a point. */
export function takeExpected() {
  const claim = expected
  expected = null
  return claim
}

/**
 * Calls a twin when the claim is granted that it must wait for.
 *
 * @param {any} entry @param {any} self @param {any} args @returns {any} `budget`
 */
export function later(entry, self, args) {
  append(pending, callAfter(takeExpected(), entry, self, args))
  return budget
}

/**
 * @param {any} claim @param {any} entry @param {any} self @param {any} args
 * @returns {Generator<any, any, any>}
 */
function* callAfter(claim, entry, self, args) {
  yield claim
  return yield* forwarded(entry, self, args)
}

/** What a twin leaves that is suspended. */
class Frame {
  /**
   * @param {any} entry the twin
   * @param {any} values its place and its variables by their names, what is pending as 0 @param {any} self
   * @param {boolean} isAway whether blocks around the call stay open; see `away`
   */
  constructor(entry, values, self, isAway) {
    this.entry = entry
    this.values = values
    this.self = self
    /** The claim that the twin waits for; null: it is at a point. */
    this.wait = takeExpected()
    this.isAway = isAway
  }
}

/**
 * Takes a twin that waits for a claim at its entry from the suspended calls. No part of its body has run.
 *
 * @param {any} entry what has begun the call of the twin @param {(value: any) => boolean} isClaim
 * @returns {any} the claim; null if the call is suspended elsewhere, and stays among the suspended calls
 */
export function takeClaimAtEntry(entry, isClaim) {
  const last = pending[pending.length - 1]
  // In frame form, a call in tail position leaves the frame of the callee. In generator form, a claim of a
  // callee is inside of its own suspended call.
  const claim = last instanceof Frame ? last.entry === entry ? last.wait : null : last.step?.value
  if (!isClaim(claim)) return null
  pending.pop()
  return claim
}

/**
 * Suspends a twin that leaves frames.
 *
 * @param {any} entry @param {any} values @param {any} self as of Frame
 */
export function suspend(entry, values, self) {
  const isAway = counts.away
  counts.away = false
  append(pending, new Frame(entry, values, self, isAway))
  return budget
}

/**
 * What the twin returns may be the result of another: then that is gone on from.
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

/** What a twin waited for has thrown. */
export class Failure {
  /** @param {any} error */
  constructor(error) {
    this.error = error
  }
}

/** Has what is around a place not end. @param {number} place */
export function away(place) {
  counts.away = true
  return place
}

/** @param {any} result of what a twin waited for */
export function rethrow(result) {
  if (result instanceof Failure) throw result.error
}

/** One that waits for a call from its beginning: what cancels it is told to that. @param {any} generator */
export const begun = generator => new Suspended(generator, apply(next, generator, NO_ARGUMENTS))

/** How many generators are driven to their end on the engine's stack. */
let driving = 0

/** Whether plain calls run twins to their end on the stack, which therefore cannot wait. */
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

/** Whether a chunk of a loop has to be followed by a yield. */
export const over = () => driving > 0 || checkpoint()

/** After a chunk: the round whose point was the yield is not counted again, and there is one in any case. */
export const again = () => { budget.left = budget.left > 0 ? budget.left + 1 : 2 }

/** How a call of a generator function begins. @param {any} generatorFunction @returns {Function} */
export const wayInto = generatorFunction => /** @this {any} @param {any[]} args */ function (...args) {
  return run(apply(generatorFunction, this, args))
}

/** A variable as a property. @param {() => any} get @param {(value: any) => void} set */
export const access = (get, set) => ({
  get value() {
    return get()
  },
  set value(value) {
    set(value)
  },
  get typed() {
    try {
      return get()
    } catch {}
  }
})

/** What `await` waits for. @param {any} value */
export const wait = value => awaiting(adopt(value))

/** The own ones of a generator, whoever replaces those that it inherits. @param {any} generatorFunction */
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

// A function of rewritten code is what it was. Beside it stands its twin over the same variables, which jobs
// run: a generator function, or one that leaves frames. A call in a twin begins the callee's twin, if it has
// one:
//
//   (result = enter(f)(a, b)) === budget ? yield suspended() : result
//
// enter(f) is f itself, or begins the twin on the engine's stack; what has not returned then is yielded, and
// resumed by the scheduler. Scripts find all of it by a global symbol (`shared`).

/**
 * What is known of a function that has a twin.
 *
 * @typedef {object} Twin
 * @property {any} generator the generator function; null for what only begins those of others, as
 *   Function.prototype.call
 * @property {Function | boolean | number | null} entry what begins a call; the function itself where that is
 *   not to be preempted. Until the first call: true for a generator function, false for an async function,
 *   ASYNC_GENERATOR for an async generator function, null for any other function
 * @property {Function | boolean | null} awaited the entry of an async function for calls that are awaited;
 *   false before the first such call; null for any other function
 * @property {any[] | true | null} self the `this` of the generator function, if it is the one of an arrow
 *   function; true if the generator function, or the body, has `new.target` as its first parameter
 * @property {{ fn: any, args: any[] } | null} target what a bound function calls, and `args` of bind
 * @property {any} [body] of a class: the body of its constructor, called with the new object as `this`; a
 *   generator function is in an array. Of a derived class: a Derived
 * @property {any} Blank makes objects of its prototype
 * @property {number} changes the arguments that it may change: bit 0 is `this`, bit 1 the first parameter
 * @property {any} outer the twin for code that is not rewritten: it claims its arguments
 */

/**
 * The twin is a private field on the function itself: no reflection shows it, a proxy has none, and functions
 * may be frozen. To find it takes 2 ns, where there is none 10, where many kinds of functions meet 20
 * (Firefox: 2 and 48); by a symbol 1 to 27, by a WeakMap 4 to 11. To make a closure and stamp it takes 30 to
 * 100 ns, with a WeakMap 170 to 650 (Node 20, Chromium 156, Firefox 153).
 *
 * @returns {{ get(fn: any): any, set(fn: any, what: any): void }}
 */
export function stamping() {
  class Stamp extends /** @type {any} */ (function (/** @type {any} */ fn) { return fn }) {
    /** @type {Twin} */
    #twin
    /** @param {Function} fn @param {Twin} twin */
    constructor(fn, twin) {
      super(fn)
      this.#twin = twin
    }
    /** @param {any} fn @returns {Twin | undefined} */
    static get(fn) {
      return (typeof fn === 'function' || (typeof fn === 'object' && fn !== null)) && #twin in fn ? fn.#twin : undefined
    }
  }
  return { get: Stamp.get, set: (fn, twin) => { new Stamp(fn, twin) } }
}

/**
 * @type {{ get(fn: any): Twin | undefined, set(fn: Function, twin: Twin): void }} Where twins are kept; that
 *   of a script which came first is taken over.
 */
let stamps = /* @__PURE__ */ stamping()

/**
 * The function without a twin that was called last. A call site without an inline cache looks here first,
 * because most loops call the same function again.
 *
 * @type {any}
 */
let latestPlain = NO_ARGUMENTS

/** Returns the twin record of a function, or undefined. @param {any} fn @returns {Twin | undefined} */
export const recordOf = fn => stamps.get(fn)

/** Whether a function is the one without a twin that was looked up last. @param {any} fn */
export const isLatestPlain = fn => fn === latestPlain

/**
 * Functions of rewritten code that have no twin, with what claims for them.
 *
 * @type {WeakMap<Function, any>}
 */
const wholes = /* @__PURE__ */ emptyWeakMap()
const noClaim = () => false

/**
 * Registers a function that has no twin.
 *
 * @param {any} fn @param {(() => boolean) | 0} [claim] claims what the function uses: whether the job must
 *   wait; 0: the function uses nothing that is contested
 * @param {number} [changes] the arguments that it may change: bit 0 is `this`
 */
export function whole(fn, claim, changes = 0) {
  wholes.set(fn, { claim: claim || noClaim, changes })
  return fn
}

/** @param {any} fn @returns {{ claim: () => boolean, changes: number } | undefined} as of whole */
export const claimerOf = fn => wholes.get(fn)

/** Whether a function has been registered without a twin. @param {any} fn */
export const isWhole = fn => wholes.has(fn)

/** Takes over the twins of scripts that were evaluated before this module. @param {typeof stamps} store */
export function adoptStamps(store) {
  stamps = store
  latestPlain = NO_ARGUMENTS
}

/** `entry` of an async generator function that has not been called. */
export const ASYNC_GENERATOR = 2
/** `entry` of a function that uses `new.target`, and that has not been called. */
export const TAKES_TARGET = 3

/**
 * @param {any} fn @param {any} generator @param {any} entry @param {Twin['self']} self
 * @param {Twin['target']} target @param {any} [body] @param {number} [changes]
 */
export function stamp(fn, generator, entry, self = null, target = null, body, changes = 0) {
  latestPlain = NO_ARGUMENTS
  if (entry === TAKES_TARGET) self = true
  const awaited = entry === false ? false : null
  stamps.set(fn, { generator, entry, awaited, self, target, Blank: null, body, changes, outer: null })
}

/** The lowest bit of `changes` that tells how a listener uses its event. */
export const EVENT_USE = 9
/** The bits of `changes` for `this` and the parameters. */
export const CHANGES = 2 ** EVENT_USE - 1

/** Whether a twin is the one of an async function. @param {Twin} twin */
export const isAsyncTwin = ({ awaited }) => awaited !== null

/**
 * @param {Twin} twin @param {any} fn that it is of
 * @returns {any} its generator function, as anybody may call it
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
 * The twin of a function that needs no generator, since what it calls is what it returns.
 *
 * @param {any} entry
 */
const forwarding = entry => /** @this {any} @param {any[]} args @returns {any} */ function* (...args) {
  return yield* forwarded(entry, this, args)
}

/**
 * One call of it, which makes no generator function: the first call of each that is made takes V8 4 us.
 *
 * @param {any} entry @param {any} self @param {any[]} args @returns {Generator<any, any, any>}
 */
export function* forwarded(entry, self, args) {
  const result = apply(entry, self, args)
  return result === budget ? yield suspended() : result
}

/** Calls a twin that has `new.target` as its first parameter, without `new`. @param {any} generator */
const calledPlainly = generator => /** @this {any} @param {any[]} args */ function (...args) {
  return apply(generator, this, joined([undefined], args))
}

/** @param {Twin} twin @param {any} fn that it is of */
const begin = (twin, fn) => twin.entry === true ? beginners.generator(twin, fn)
  : twin.entry === ASYNC_GENERATOR ? beginners.asyncGenerator(twin, fn)
  : isAsyncTwin(twin) ? beginners.async(twin, fn) : wayInto(generatorOf(twin, fn))

/**
 * The ways to begin that other files provide, which import this file. `generator`, `async` and
 * `asyncGenerator` return the entry of such a function.
 *
 * @type {Record<'generator' | 'async' | 'asyncGenerator', (twin: Twin, fn: any) => any>}
 */
export const beginners = /** @type {any} */ ({})

/** The job that runs twins on the stack, or null: plain calls run them to completion. */
export const callerJob = () => driving > 0 ? null : code.current()

/**
 * An error of this file that begins its stack trace with the program.
 *
 * @param {any} thrower the function of ours that throws it @param {string} message @returns {TypeError}
 */
export function typeErrorBelow(thrower, message) {
  const error = new TypeError(message)
  if (engine.captureStackTrace) apply(engine.captureStackTrace, engine.Error, [error, thrower])
  return error
}

/**
 * A function that throws what a call of another value throws, after the arguments have been evaluated.
 *
 * @param {string} text the callee as the source has it
 */
const failing = text => function call() {
  throw typeErrorBelow(call, `${text} is not a function`)
}

/**
 * @param {string} text the constructor as the source has it @param {any} thrower as of typeErrorBelow
 * @returns {never}
 */
export function notConstructor(text, thrower) {
  throw typeErrorBelow(thrower, `${text} is not a constructor`)
}

/**
 * Returns the function that a job calls in place of a value: the entry of its twin, or the value itself.
 *
 * @param {any} fn @param {string} [text] of the callee, for the error if it is not a function
 * @returns {any}
 */
export function entryOf(fn, text) {
  if (fn === latestPlain) return fn
  const twin = stamps.get(fn)
  if (twin === undefined) {
    return typeof fn !== 'function' && text !== undefined ? failing(text) : latestPlain = fn
  }
  return typeof twin.entry === 'function' ? twin.entry : twin.entry = begin(twin, fn)
}

/**
 * The same for a call that is awaited: an async function is part of its caller then.
 *
 * @param {any} fn @param {string} [text] as of entryOf @returns {any}
 */
export function awaitedEntryOf(fn, text) {
  const twin = stamps.get(fn)
  if (twin === undefined || !isAsyncTwin(twin)) return entryOf(fn, text)
  return twin.awaited ||= wayInto(generatorOf(twin, fn))
}

/**
 * Returns an object whose method `call` makes a member call. For most functions this is the entry. An entry
 * with another `call`, or a value that is not a function, gets a wrapper; so the error of the latter comes
 * after the arguments have been evaluated.
 *
 * Limits: a proxy sees that its `call` is read. Another `call` that a page gives to the engine later, or to a
 * function without a twin, is used.
 *
 * @param {any} entry
 * @param {string} [text] of the callee, for the error if it is not a function; or of its object, if there
 *   is a name
 * @param {string} [name] of the member
 * @returns {{ call(self: any, ...args: any[]): any }}
 */
export const asMethod = (entry, text, name) => typeof entry !== 'function'
  ? { call: failing(name === undefined ? text ?? '(intermediate value)' : `${text ?? 'this'}.${name}`) }
  : entry.call === engine.call ? entry
  : { call: (/** @type {any} */ self, /** @type {any[]} */ ...args) => apply(entry, self, args) }

/**
 * How many plain calls may nest, ten times as many as engines allow other code: recursion without end must
 * end.
 */
const DEEPEST = 2 ** 17

/** More points than code passes in a second; as many as V8 counts without allocating. */
export const MANY_POINTS = 2 ** 30 - 1

/**
 * Runs a twin to its end: what a function does that has no other body, when it is called plainly. Its points
 * are counted and hardly ever yield.
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
 * The rest of it, once it has yielded: calls are kept on a stack of our own, so that recursion is bounded by
 * memory.
 *
 * @param {any} leaf @param {any} value that it yielded @param {number} free room @returns {any}
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
        isOut = true // somebody has asked for the processor, or it was long
        budget.left = MANY_POINTS
      }
      while (value instanceof Suspended) {
        append(callers, leaf)
        leaf = value.generator
        value = value.take()
      }
      counts.isPoint = false
      if (value !== undefined) append(callers, leaf)
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
