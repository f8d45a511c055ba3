/**
 * addons/preemptify/steps.mjs: generators and iteration at run time.
 *
 * A generator that a twin makes looks like any other generator of its function, and has the same prototype.
 * If a twin calls `next`, the generator yields its `Steps` where the step is suspended, and the twin yields
 * the rest of the step as a call. If other code calls `next`, the step is not suspended. Here a step is the
 * part of a generator from a call of `next`, `throw` or `return` to the next result.
 */

import { budget, extend } from '../../rt.mjs'
import { construct, make } from './construct.mjs'
import { turn } from './family.mjs'
import {
  NO_ARGUMENTS, apply, engine, getOwnPropertyDescriptor, isArray, isGeneratorFunction, isObject, next, push,
  pushAll, reflectConstruct, reflectDefine, returnFromNext, symbolIterator, throwInNext
} from './primordials.mjs'
import {
  Failure, beginners, begun, entryPointOf, newTwinStore, pending, rethrow, run, suspended, typeErrorBelow
} from './run.mjs'
/** @import { Twin } from './run.mjs' */

const { counts } = extend.code

/**
 * The Steps of each generator that a twin has made.
 *
 * @type {{ get(generator: any): Steps | undefined, set(generator: any, steps: Steps): void }}
 */
export const stepsOfGenerators = /* @__PURE__ */ newTwinStore()

/** The steps of one generator. The text of the generator calls the methods with short names. */
class Steps {
  /**
   * The Steps of the generator whose step a caller has requested: this generator, or a generator that
   * delegates to it by `yield*`.
   *
   * @type {Steps}
   */
  root = this
  /** Whether a step runs that a twin has requested. */
  isOn = false
  /** Whether a step is suspended. */
  isPending = false
  /** The call that the suspended step waits for; undefined at a preemption point. @type {any} */
  call = undefined
  /**
   * In the root: the Steps whose generator has suspended the step. The result of the step cannot show it,
   * because the `value` of a delegate's result can be an accessor.
   *
   * @type {Steps | null}
   */
  leaf = null
  /** @type {any} */
  generator = undefined

  get on() {
    return this.root.isOn
  }

  /**
   * Enter: returns the function to call.
   *
   * @param {any} fn @param {string} text see entryPointOf @returns {any}
   */
  e(fn, text) {
    return this.on || typeof fn !== 'function' ? entryPointOf(fn, text) : fn
  }

  /**
   * New: constructs an object.
   *
   * @param {any} F
   * @param {any[]} args
   * @param {string} text F's source
   * @returns {any}
   */
  n(F, args, text) {
    return make(F, args, text, this.on ? construct : reflectConstruct)
  }

  /** Suspends the step at a call that has not returned. The generator yields the Steps that `q` returns. */
  q() {
    this.call = suspended()
    return this.root.leaf = this
  }

  /**
   * Suspends the step at a preemption point if a twin has requested it.
   *
   * @returns {boolean} whether to yield
   */
  p() {
    if (!this.on) return false
    this.root.leaf = this
    return true
  }

  /**
   * Returns the iterable for a `for`-`of`.
   *
   * @param {any} iterable
   * @param {string} text the source of it
   * @returns {any}
   */
  c(iterable, text) {
    return this.on ? each(iterable, text, this) : iterable
  }

  /** Returns the iterable for a `yield*`. @param {any} iterable @returns {any} */
  d(iterable) {
    return this.on ? each(iterable, '', this, this) : iterable
  }

  /** Returns the iterable for a spread. @param {any} iterable @param {boolean} [isMap] @returns {any} */
  k(iterable, isMap) {
    return this.on ? collect(iterable, isMap) : iterable
  }
}

/**
 * Makes the entry of a generator function. A step of its generators can be suspended.
 *
 * @param {Twin} twin the twin of the generator function @param {any} fn the generator function
 */
function stepping(twin, fn) {
  const { generator } = twin
  /** @this {any} @param {any[]} args */
  const enter = function (...args) {
    const steps = new Steps()
    const { prototype } = fn
    if (generator.prototype !== prototype) generator.prototype = prototype
    const { 0: first, length } = args
    steps.generator = apply(generator, this,
      length === 0 ? [steps] : length === 1 ? [steps, first] : pushAll([steps], args))
    stepsOfGenerators.set(steps.generator, steps)
    return steps.generator
  }
  twin.generator = /** @this {any} @param {any[]} args @returns {any} */ function* (...args) {
    const generator = apply(enter, this, args)
    let method = next
    for (let value; ;) {
      let step = ask(method, generator, value)
      if (step === budget) step = yield suspended()
      if (step.done) return step.value
      method = next
      try {
        value = yield step.value
        const waitable = step.value === undefined ? undefined : turn()
        if (waitable !== undefined) yield waitable
      } catch (error) {
        value = error
        method = throwInNext
      }
    }
  }
  return twin.entry = enter
}

/**
 * Calls `next`, `throw` or `return` of a generator for a twin.
 *
 * @param {Steps} steps @param {any} method @param {any} value
 * @returns {any} the result of the step, or `budget` if the step is suspended
 */
function stepOf(steps, method, value) {
  if (steps.root.isPending) runsAlready()
  steps.root = steps
  // A `return` is never suspended: the suspended step would be resumed by `next`, and a `yield*` would then
  // continue instead of returning. If the method throws, `isOn` keeps its value: the generator has ended or
  // runs already.
  steps.isOn = method !== returnFromNext
  const step = apply(method, steps.generator, [value])
  steps.isOn = false
  const { leaf } = steps
  if (leaf === null) return step
  steps.leaf = null
  push(pending, begun(rest(steps, leaf)))
  return budget
}

/**
 * Runs the rest of a suspended step.
 *
 * @param {Steps} steps @param {Steps} leaf the Steps whose generator has suspended the step
 * @returns {Generator<any, any, any>} returns the result of the step
 */
function* rest(steps, leaf) {
  const { call } = leaf
  let method = next
  let value
  leaf.call = undefined
  hold(steps)
  hold(leaf)
  try {
    value = yield call ?? counts.p // a preemption point, which does not end the stay
  } catch (error) {
    value = error
    method = throwInNext
  }
  release(steps)
  release(leaf)
  const step = stepOf(steps, method, value)
  return step === budget ? yield suspended() : step
}

export const METHODS = ['next', 'throw', 'return']
const runsAlready = () => {
  throw new TypeError('Generator is already running')
}

/**
 * Makes the methods of a generator throw while its step is suspended. The methods of a running generator
 * throw the same error.
 *
 * @param {Steps} steps
 */
function hold(steps) {
  steps.isPending = true
  const descriptor = /** @type {any} */ ({ __proto__: null, value: runsAlready, configurable: true })
  for (let i = 0; i < 3; i++) reflectDefine(steps.generator, METHODS[i], descriptor)
}

/**
 * Removes the methods that `hold` added, the last one first, because engines then keep the object fast.
 *
 * @param {Steps} steps
 */
function release(steps) {
  steps.isPending = false
  const { generator } = steps
  for (let i = 3; i-- > 0;) {
    const isHeld = getOwnPropertyDescriptor(generator, METHODS[i])?.value === runsAlready
    if (isHeld) delete generator[METHODS[i]]
  }
}

/**
 * Calls a method of a generator, and can suspend the step if a twin has made the generator.
 *
 * @param {any} method the built-in method @param {any} generator @param {any} value
 */
export function ask(method, generator, value) {
  const steps = stepsOfGenerators.get(generator)
  return steps === undefined ? apply(method, generator, [value]) : stepOf(steps, method, value)
}

/**
 * The iterator of a `for` loop in a twin with frames. Each call that resumes the twin runs the loop again,
 * over the same Walk, which continues where it was. A suspension does not close the iterator.
 */
class Walk {
  index = 0
  /** The next result, if it is known already. @type {any} */
  rest = null

  /**
   * @param {any[] | null} list the array that the loop iterates, or null
   * @param {any} iterator the iterator, if the loop does not iterate an array
   * @param {any} step the `next` of the iterator
   */
  constructor(list, iterator, step) {
    this.list = list
    this.iterator = iterator
    this.step = step
  }

  [symbolIterator]() {
    return this
  }

  /** @returns {any} */
  next() {
    const { list, index, rest } = this
    if (rest !== null) {
      this.rest = null
      rethrow(rest)
      return rest
    }
    if (list === null) return apply(this.step, this.iterator, NO_ARGUMENTS)
    if (index >= list.length) return { value: undefined, done: true }
    this.index = index + 1
    return { value: list[index], done: false }
  }

  return() {
    const { list, iterator } = this
    if (counts.away) {
      this.rest ??= { value: this, done: false }
    } else if (list === null) {
      const method = iterator.return ?? undefined
      if (method !== undefined) return apply(method, iterator, NO_ARGUMENTS)
    }
    return this
  }
}

/**
 * The iterator of a loop over a generator that a twin has made. Its value is `budget` while a step is
 * suspended, and the body of the loop checks for this value first.
 */
class StepsWalk extends Walk {
  /**
   * @param {Steps} steps
   * @param {{ on: boolean }} loopOwner the twin, or the Steps of the generator, with the loop
   */
  constructor(steps, loopOwner) {
    super(null, steps.generator, next)
    this.steps = steps
    this.loopOwner = loopOwner
  }

  next() {
    if (this.rest !== null || !this.loopOwner.on) return super.next()
    const step = stepOf(this.steps, next, undefined)
    if (step !== budget) return step
    this.rest = this // until the step is settled
    push(pending, begun(this.settle(suspended())))
    return { value: budget, done: false }
  }

  /** @param {any} call @returns {Generator<any, any, any>} */
  *settle(call) {
    try {
      this.rest = yield call
    } catch (error) {
      this.rest = new Failure(error)
    }
  }
}

/** The `loopOwner` of loops in a twin that is not a generator: such a twin always requests steps. */
const twinItself = { on: true }

/**
 * Returns the iterable for a `for`-`of` of a twin, or for a `yield*` of a generator.
 *
 * @param {any} iterable @param {string} [text] the source of the iterable, for the message of the error
 * @param {any} [loopOwner] the twin, or the Steps of the generator, that requests the steps
 * @param {Steps | null} [outer] the Steps of the generator that delegates to the iterable
 * @returns {any}
 */
export function each(iterable, text = '', loopOwner = twinItself, outer = null) {
  if (isArray(iterable) || typeof iterable === 'string') return iterable
  const method = iterable?.[symbolIterator]
  if (typeof method !== 'function' && text) notIterable(text)
  if (typeof method !== 'function' || !isObject(iterable)) return iterable
  return iterated(iterable, method, loopOwner, outer)
}

/**
 * Returns an iterable over a new iterator. The parameters are those of `each`.
 *
 * @param {any} iterable @param {any} method the method that makes the iterator @param {any} [loopOwner]
 * @param {Steps | null} [outer] @returns {any}
 */
export function iterated(iterable, method, loopOwner = twinItself, outer = null) {
  const iterator = method === engine.itself ? iterable
    : apply(isGeneratorFunction(method) ? entryPointOf(method) : method, iterable, NO_ARGUMENTS)
  const steps = stepsOfGenerators.get(iterator)
  const isOwn = steps !== undefined && iterator.next === next && iterator.return === returnFromNext &&
    iterator.throw === throwInNext
  if (isOwn && outer === null) return new StepsWalk(steps, loopOwner)
  if (isOwn && outer) steps.root = outer.root
  return { [symbolIterator]: () => iterator }
}

/** @param {string} text @returns {never} */
function notIterable(text) {
  throw typeErrorBelow(notIterable, `${text} is not iterable`)
}

/** Whether the page has left the methods of the iterators of arrays unchanged. */
export const areIteratorsBuiltIn = () =>
  engine.elements.next === engine.nextElement && !('return' in engine.elements)

/**
 * Returns the iterable for a `for`-`of` in a twin with frames.
 *
 * @param {any} given @param {string} [text] the source of `given`, for the message of the error
 * @returns {any}
 */
export function walk(given, text) {
  const method = given?.[symbolIterator]
  if (method === engine.values && isArray(given) && areIteratorsBuiltIn()) return new Walk(given, null, null)
  if (typeof method !== 'function') return text ? notIterable(text) : given
  const iterable = iterated(given, method)
  if (iterable instanceof Walk) return iterable
  const iterator = iterable[symbolIterator]()
  return isObject(iterator) ? new Walk(null, iterator, iterator.next) : iterable
}

/**
 * Returns the elements for a spread or for a new collection.
 *
 * @param {any} iterable
 * @param {boolean | undefined} isMap whether the elements are entries of a map; then an element that is not
 *   an object is the last one, and the built-in constructor throws
 * @returns {any} an iterable, or `budget` if a step is suspended
 */
export function collect(iterable, isMap) {
  const steps = each(iterable)
  return steps !== iterable && steps instanceof StepsWalk ? run(collecting(steps, isMap)) : steps
}

/**
 * Adds an element to a list, like `push`. The inline caches of `push` are megamorphic, because it serves all
 * kinds of lists.
 *
 * @param {any[]} list @param {any} value
 */
function addElement(list, value) {
  const { length } = list
  if (length in list) push(list, value)
  else list[length] = value
}

/** @param {Walk} steps @param {boolean | undefined} isMap @returns {Generator<any, any, any>} */
function* collecting(steps, isMap) {
  /** @type {any[]} */
  const list = []
  for (let step; !(step = steps.next()).done;) {
    const { value } = step
    if (value === budget) {
      yield suspended()
      continue
    }
    if (--budget.left <= 0) yield counts.p
    addElement(list, value)
    if (isMap && !isObject(value)) {
      steps.return()
      break
    }
  }
  return new Walk(list, null, null)
}

beginners.generator = stepping
