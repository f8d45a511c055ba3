/**
 * addons/preemptify/steps.mjs: generators and iteration at run time.
 *
 * A generator that a twin makes cannot be distinguished from another one. While a twin asks it for a step,
 * the generator yields its `Steps` where that step is suspended, and the twin yields the rest of the step as
 * a call. For any other caller the step runs to its end.
 */

import { budget, extend } from '../../rt.mjs'
import { construct, make } from './construct.mjs'
import { turn } from './family.mjs'
import {
  NO_ARGUMENTS, append, apply, engine, getOwnPropertyDescriptor, isArray, isGeneratorFunction, isObject,
  joined, next, reflectConstruct, reflectDefine, returnFromNext, symbolIterator, throwInNext
} from './primordials.mjs'
import {
  Failure, beginners, begun, entryOf, pending, rethrow, run, stamping, suspended,
  typeErrorBelow
} from './run.mjs'
/** @import { Twin } from './run.mjs' */

const { counts } = extend.code

// A generator that a twin has made looks like any other generator of its function, and has the same
// prototype. If a twin calls `next`, the generator yields its Steps at a preemption point, and the caller
// yields the rest of the step as a call. If plain code calls `next`, the step runs to its end.

/**
 * Where they are kept.
 *
 * @type {{ get(generator: any): Steps | undefined, set(generator: any, steps: Steps): void }}
 */
export const stepsOfGenerators = /* @__PURE__ */ stamping()

/** Of a generator; the short methods are what its text calls. */
class Steps {
  /** Who has been asked for the step: itself, or what delegates to it. @type {Steps} */
  root = this
  /** Whether it runs, and a twin has asked for the step. */
  isOn = false
  /** Whether a step has begun that has not ended, and is not running. */
  isPending = false
  /** What that waits for. @type {any} */
  call = undefined
  /**
   * Of the root: the Steps whose generator has suspended the step. The result of the step does not tell,
   * because a delegate's result may have an accessor in the place of its value. @type {Steps | null}
   */
  leaf = null
  /** @type {any} */
  generator = undefined

  get on() {
    return this.root.isOn
  }

  /** enter @param {any} fn @param {string} text as of entryOf @returns {any} */
  e(fn, text) {
    return this.on || typeof fn !== 'function' ? entryOf(fn, text) : fn
  }

  /** new @param {any} F @param {any[]} args @param {string} text of F @returns {any} */
  n(F, args, text) {
    return make(F, args, text, this.on ? construct : reflectConstruct)
  }

  /** Suspends the step at a call that has not returned; the generator yields the result. */
  q() {
    this.call = suspended()
    return this.root.leaf = this
  }

  /** Suspends the step at a point, if a twin has asked for it. @returns {boolean} whether to yield */
  p() {
    if (!this.on) return false
    this.root.leaf = this
    return true
  }

  /** for-of @param {any} iterable @param {string} text of it @returns {any} */
  c(iterable, text) {
    return this.on ? each(iterable, text, this) : iterable
  }

  /** yield* @param {any} iterable @returns {any} */
  d(iterable) {
    return this.on ? each(iterable, '', this, this) : iterable
  }

  /** spread @param {any} iterable @param {boolean} [isMap] @returns {any} */
  k(iterable, isMap) {
    return this.on ? collect(iterable, isMap) : iterable
  }
}

/**
 * What makes a generator whose steps may yield.
 *
 * @param {Twin} twin of a generator function @param {any} fn
 */
function stepping(twin, fn) {
  const { generator } = twin
  /** @this {any} @param {any[]} args */
  const enter = function (...args) {
    const steps = new Steps()
    const { prototype } = fn
    if (generator.prototype !== prototype) generator.prototype = prototype
    steps.generator = apply(generator, this, joined([steps], args))
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
 * Has a generator go on.
 *
 * @param {Steps} steps @param {any} method @param {any} value
 * @returns {any} a step; `budget` where it has not ended
 */
function stepOf(steps, method, value) {
  if (steps.root.isPending) runsAlready()
  steps.root = steps
  // To be told to return is atomic: resumed by `next`, what delegates would go on. If it throws, it has
  // ended, or runs already.
  steps.isOn = method !== returnFromNext
  const step = apply(method, steps.generator, [value])
  steps.isOn = false
  const { leaf } = steps
  if (leaf === null) return step
  steps.leaf = null
  append(pending, begun(rest(steps, leaf)))
  return budget
}

/**
 * The rest of a step.
 *
 * @param {Steps} steps @param {Steps} leaf what it delegates to, or itself
 * @returns {Generator<any, any, any>}
 */
function* rest(steps, leaf) {
  const { call } = leaf
  let method = next
  let value
  leaf.call = undefined
  hold(steps)
  hold(leaf)
  try {
    value = yield call ?? counts.p // a point, which does not end the stay
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

/** Until then nobody else may have it go on. @param {Steps} steps */
function hold(steps) {
  steps.isPending = true
  const descriptor = /** @type {any} */ ({ __proto__: null, value: runsAlready, configurable: true })
  for (let i = 0; i < 3; i++) reflectDefine(steps.generator, METHODS[i], descriptor)
}

/** The last that was added first: engines keep such objects quick. @param {Steps} steps */
function release(steps) {
  steps.isPending = false
  const { generator } = steps
  for (let i = 3; i-- > 0;) if (getOwnPropertyDescriptor(generator, METHODS[i])?.value === runsAlready) delete generator[METHODS[i]]
}

/**
 * A call of a method of generators.
 *
 * @param {any} method the engine's own @param {any} generator @param {any} value
 */
export function ask(method, generator, value) {
  const steps = stepsOfGenerators.get(generator)
  return steps === undefined ? apply(method, generator, [value]) : stepOf(steps, method, value)
}

/**
 * What a `for` of a twin that leaves frames goes on with: it is iterated once more by each call, and not
 * closed in between.
 */
class Walk {
  index = 0
  /** What comes next, if that is known. @type {any} */
  rest = null

  /**
   * @param {any[] | null} list an array, whose elements are what it gives @param {any} iterator for all else
   * @param {any} step its `next`
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

/** A generator as it is iterated by a loop, whose body begins by looking for `budget`. */
class StepsWalk extends Walk {
  /** @param {Steps} steps @param {{ on: boolean }} asker */
  constructor(steps, asker) {
    super(null, steps.generator, next)
    this.steps = steps
    this.asker = asker
  }

  next() {
    if (this.rest !== null || !this.asker.on) return super.next()
    const step = stepOf(this.steps, next, undefined)
    if (step !== budget) return step
    this.rest = this // until it is settled
    append(pending, begun(this.settle(suspended())))
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

/** Who asks for steps, if that is no generator itself. */
const twinItself = { on: true }

/**
 * What a `for`-`of` of a twin iterates, or a `yield*` of a generator.
 *
 * @param {any} iterable @param {string} [text] of it, for the error if it is not iterable
 * @param {any} [asker] @param {Steps | null} [outer] what delegates to it
 * @returns {any}
 */
export function each(iterable, text = '', asker = twinItself, outer = null) {
  if (isArray(iterable) || typeof iterable === 'string') return iterable
  const method = iterable?.[symbolIterator]
  if (typeof method !== 'function' && text) notIterable(text)
  if (typeof method !== 'function' || !isObject(iterable)) return iterable
  return iterated(iterable, method, asker, outer)
}

/**
 * @param {any} iterable @param {any} method that makes an iterator @param {any} [asker]
 * @param {Steps | null} [outer] @returns {any}
 */
export function iterated(iterable, method, asker = twinItself, outer = null) {
  const iterator = apply(isGeneratorFunction(method) ? entryOf(method) : method, iterable, NO_ARGUMENTS)
  const steps = stepsOfGenerators.get(iterator)
  const isOwn = steps !== undefined && iterator.next === next && iterator.return === returnFromNext && iterator.throw === throwInNext
  if (isOwn && outer === null) return new StepsWalk(steps, asker)
  if (isOwn && outer) steps.root = outer.root
  return { [symbolIterator]: () => iterator }
}

/** @param {string} text @returns {never} */
function notIterable(text) {
  throw typeErrorBelow(notIterable, `${text} is not iterable`)
}

/**
 * What a `for`-`of` iterates where the twin leaves frames.
 *
 * @param {any} given @param {string} [text] of it, for the error if it is not iterable @returns {any}
 */
export function walk(given, text) {
  const method = given?.[symbolIterator]
  if (method === engine.values && isArray(given) && engine.elements.next === engine.nextElement && !('return' in engine.elements)) {
    return new Walk(given, null, null)
  }
  if (typeof method !== 'function') return text ? notIterable(text) : given
  const iterable = iterated(given, method)
  if (iterable instanceof Walk) return iterable
  const iterator = iterable[symbolIterator]()
  return isObject(iterator) ? new Walk(null, iterator, iterator.next) : iterable
}

/**
 * What is spread, or what a collection is made of.
 *
 * @param {any} iterable
 * @param {boolean | undefined} isMap whether it is to be of objects: then all else is left to the engine to
 *   refuse
 * @returns {any} `budget` where a step has not ended
 */
export function collect(iterable, isMap) {
  const steps = each(iterable)
  return steps !== iterable && steps instanceof StepsWalk ? run(collecting(steps, isMap)) : steps
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
    append(list, value)
    if (isMap && !isObject(value)) {
      steps.return()
      break
    }
  }
  return new Walk(list, null, null)
}

beginners.generator = stepping
