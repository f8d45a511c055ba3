/**
 * addons/preemptify/builtins.mjs: twins of built-in functions that call back.
 *
 * Each twin follows the specification step by step, in the same order (ECMA-262, 22.1.3.19, 23.1.2.1, 23.1.3,
 * 23.2.3, 24.1.3.5, 24.2.4.8). It runs if the callback has a twin or the list is long; otherwise the built-in
 * function runs. sorts.mjs has the algorithms of sorts, which ECMA-262 leaves to engines.
 */

import { budget, extend } from '../../rt.mjs'
import {
  NATIVE, NO_ARGUMENTS, add, apply, assign, bare, create, defineProperty, descriptorOf, endsWith, engine,
  exec, find, floor, forEach, generatorPrototype, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, holds,
  isArray, isConstructor, isObject, min, next, patternExec, push, reflectDefine, slice, sourceOf, split,
  startsWith, symbolIterator, symbolReplace, symbolSpecies, toObject
} from './primordials.mjs'
import { construct } from './construct.mjs'
import {
  attachTwin, begun, entryPointOf, generatorOf, goOnFrom, isAsyncTwin, pending, recordOf, run, suspended
} from './run.mjs'
import { algorithmOf, sortsUndefined } from './sorts.mjs'
import { METHODS, areIteratorsBuiltIn, ask, iterated, stepsOfGenerators } from './steps.mjs'

const { counts, interrupt } = extend.code

const MAX_ELEMENTS = 2 ** 53 - 1

/** LengthOfArrayLike. @param {any} object @returns {number} */
export function lengthOf(object) {
  const length = floor(object.length)
  return length > 0 ? min(length, MAX_ELEMENTS) : 0
}

/**
 * Returns the object that a method iterates, and its length.
 *
 * @param {any} receiver @param {boolean} isTyped @returns {[any, number]}
 */
function elementsOf(receiver, isTyped) {
  if (isTyped) {
    apply(engine.keys, receiver, NO_ARGUMENTS) // throws if it is not a typed array, or is detached
    return [receiver, apply(engine.length, receiver, NO_ARGUMENTS)]
  }
  if (receiver === undefined || receiver === null) throw new TypeError(`${receiver} is no object`)
  const object = toObject(receiver)
  return [object, lengthOf(object)]
}

/**
 * Length up to which a list is left to the built-in method if the callback has no twin. The built-in method
 * takes a third of the time of its twin. Each element then counts as one preemption point.
 */
const LONG_LIST = 5000
/**
 * Length from which a text or an array takes so long that the budget ends after the built-in call: the clock
 * is read before another such call.
 */
const LONG_TEXT = 100_000

/** Whether a built-in call with a text or an array takes long. @param {any} value */
const isLong = value => (typeof value === 'string' || isArray(value)) && value.length > LONG_TEXT

/**
 * Whether a built-in method with this list is short. If it is, takes one preemption point for each element
 * from the budget.
 *
 * @param {any} list @returns {boolean} `false` if the list is not an array with the built-in prototype
 */
export function isShort(list) {
  if (!isArray(list) || list.length > LONG_LIST ||
    getPrototypeOf(list) !== engine.Array.prototype) return false
  if (list.length > 0) budget.left -= list.length
  return true
}

/**
 * Returns the length of a list. Only a proxy can run code of the page here.
 *
 * @param {any} list @returns {number | undefined}
 */
const sizeOf = list => isArray(list) ? list.length
  : isObject(list) && getOwnPropertyDescriptor(list, 'length')?.value

/**
 * Returns the number of elements that `from` reads; Infinity for an iterable that does not show its length.
 * Only a proxy can run code of the page here.
 *
 * @param {any} items @returns {number | undefined}
 */
function sizeOfItems(items) {
  if (typeof items === 'string') return items.length
  if (!isObject(items)) return 0
  if (isTypedArray(items)) return apply(engine.length, items, NO_ARGUMENTS)
  return sizeOf(items) ?? (valueIn(items, symbolIterator) ? Infinity : 0)
}

/** Whether a value is a typed array whose buffer is not detached. @param {any} value @returns {boolean} */
function isTypedArray(value) {
  if (!engine.isView(value)) return false
  try {
    apply(engine.keys, value, NO_ARGUMENTS)
    return true
  } catch {
    return false
  }
}

/**
 * Returns the value of a property; undefined for an accessor. Only a proxy can run code of the page here.
 *
 * @param {any} object @param {PropertyKey} key @returns {any}
 */
function valueIn(object, key) {
  for (let holder = object; holder; holder = getPrototypeOf(holder)) {
    const found = getOwnPropertyDescriptor(holder, key)
    if (found) return found.value
  }
}

/** Set. @param {any} object @param {PropertyKey} key @param {any} value */
function set(object, key, value) {
  object[key] = value
}

/** CreateDataPropertyOrThrow. @param {any} object @param {PropertyKey} key @param {any} value */
export const put = (/** @type {any} */ object, /** @type {PropertyKey} */ key, /** @type {any} */ value) => {
  defineProperty(object, key, descriptorOf(value))
}

/**
 * ArraySpeciesCreate. Also returns the function that writes an element to the new array. Unlike in ECMA-262,
 * the `Array` of another realm counts as any other class.
 *
 * @param {any} object @param {number} length @returns {[any, typeof put]}
 */
function arrayFor(object, length) {
  let Class = /** @type {any} */ (isArray(object) ? object.constructor : undefined)
  if (isObject(Class)) Class = Class[symbolSpecies] ?? undefined
  return Class === undefined || Class === engine.Array ? [new engine.Array(length), addResult]
    : [new Class(length), put]
}

/**
 * Adds an element to a new array, like `addElement` of rt.mjs. A separate function has separate inline
 * caches: `addElement` is megamorphic, because it serves all kinds of lists.
 *
 * @param {any} list @param {any} index @param {any} value
 */
function addResult(list, index, value) {
  if (index in list) put(list, index, value)
  else list[index] = value
}

/** The result of a method if no element decides it. @type {Record<string, any>} */
const UNFOUND = { some: false, every: true, findIndex: -1, findLastIndex: -1 }

/**
 * Returns the properties of a visiting method. They are computed once for each method. Computing them at each
 * call makes `map` and `reduce` of three elements 1.2 to 2.2 times slower in jobs (Node 20).
 *
 * @param {string} name the name of a method that calls back with each element @param {boolean} isTyped
 */
const visiting = (name, isTyped) => ({
  name,
  isTyped,
  skipsHoles: !isTyped && !startsWith(name, 'find'),
  isBackward: holds(name, 'Last') || holds(name, 'Right'),
  isFolding: startsWith(name, 'reduce')
})

// Visits and merges are plain functions, which are called again to continue, because engines compile
// generators less well. Filtering and sorting 100 000 objects is 2.1 to 2.5 times slower than without the
// scheduler in Firefox 153, and 2.7 to 3.9 times slower with generators. In Chromium 156 it is 1.4 to 1.5
// times slower, and 1.6 to 1.8 times slower with generators.

/** The reasons why a part of a visit returns: the visit has ended, a preemption point, a suspended call. */
const ENDED = 0
const AT_POINT = 1
const AT_CALL = 2

/**
 * Runs the rest of a visit.
 *
 * @param {any} visit @param {number} how the reason why its last part returned; ENDED if no part has run
 * @returns {Generator<any, any, any>}
 */
function* goOn(visit, how) {
  do {
    if (how === AT_CALL) visit.answer = yield suspended()
    else if (how === AT_POINT) yield counts.p
    how = visitOn(visit)
  } while (how !== ENDED)
  return visit.result
}

/**
 * Runs a method that calls back with each element. The visit starts on the call stack, as a call by `run`
 * does. If the visit is suspended, its rest is in `pending`.
 *
 * @param {any} receiver @param {any} callback
 * @param {any} given the second argument: the initial result of a fold, or the `this` of the callback
 * @param {boolean} isGiven whether there is a second argument
 * @param {ReturnType<typeof visiting>} kind
 * @returns {any} the result of the method, or `budget` if the visit is suspended
 */
function visitEach(receiver, callback, given, isGiven, { name, isTyped, skipsHoles, isBackward, isFolding }) {
  const { 0: object, 1: length } = elementsOf(receiver, isTyped)
  let result = isFolding ? given : UNFOUND[name]
  let write = set
  let like
  if (!isTyped) {
    if (name === 'map') ({ 0: result, 1: write } = arrayFor(object, length))
    else if (name === 'filter') ({ 0: result, 1: write } = arrayFor(object, 0))
  } else if (name === 'map') {
    // TypedArraySpeciesCreate. The copied elements are overwritten.
    result = apply(engine.sliceTyped, alike(object), NO_ARGUMENTS)
  } else if (name === 'filter') {
    result = []
    write = add
    like = alike(object)
  }
  const visit = {
    name, skipsHoles, isBackward, isFolding, object, length, call: entryPointOf(callback), given, write, like,
    result, isEmpty: isFolding && !isGiven, passed: 0, count: 0, isCalled: false, value: undefined,
    answer: undefined
  }
  if (counts.room <= 0 || budget.left <= 1) {
    push(pending, goOn(visit, ENDED))
    return budget
  }
  const free = counts.room--
  const how = visitOn(visit)
  counts.room = free
  if (how === ENDED) return visit.result
  push(pending, begun(goOn(visit, how)))
  return budget
}

/**
 * Returns a typed array of the same type and length, whose built-in methods make arrays of the class of
 * `object`.
 *
 * @param {any} object a typed array @returns {any}
 */
function alike(object) {
  const like = apply(engine.toReversed, object, NO_ARGUMENTS)
  const constructor = { __proto__: null, get: () => object.constructor }
  return defineProperty(like, 'constructor', /** @type {any} */ (constructor))
}

/**
 * Runs the next part of a visit. After a suspended call, `visit.answer` is the result of the call.
 *
 * @param {any} visit @returns {number} the reason why the part returns
 */
function visitOn(visit) {
  const { name, skipsHoles, isBackward, isFolding, object, length, call, given, write } = visit
  let { passed, result, isEmpty, isCalled } = visit
  while (passed < length) {
    const index = isBackward ? length - 1 - passed : passed
    if (isCalled || !skipsHoles || index in object) {
      let { value, answer } = visit
      if (!isCalled) {
        value = object[index]
        answer = isEmpty ? value : isFolding ? call(result, value, index, object)
          : given === undefined ? call(value, index, object) : apply(call, given, [value, index, object])
        if (answer === budget && !isEmpty) {
          visit.isEmpty = isEmpty
          visit.value = value
          return leave(visit, passed, result, AT_CALL)
        }
      }
      isCalled = false
      if (isFolding) {
        isEmpty = false
        result = answer
      } else if (name === 'map') {
        write(result, index, answer)
      } else if (name === 'filter') {
        if (answer) write(result, visit.count++, value)
      } else if (name !== 'forEach' && !answer === (name === 'every')) {
        visit.result = name === 'some' || (name !== 'every' && (endsWith(name, 'Index') ? index : value))
        return ENDED
      }
    }
    passed++
    if (--budget.left <= 0) {
      visit.isEmpty = isEmpty
      return leave(visit, passed, result, AT_POINT)
    }
  }
  visit.result = result
  if (isEmpty) throw new TypeError('Reduce of empty array with no initial value')
  const { like, count } = visit
  if (like === undefined) return ENDED
  // TypedArraySpeciesCreate for the elements that were kept.
  visit.result = apply(engine.sliceTyped, like, [0, count])
  apply(engine.fill, visit.result, [result])
  return ENDED
}

/**
 * Saves the state of a visit that is being suspended.
 *
 * @param {any} visit @param {number} passed how many elements the visit has passed @param {any} result
 * @param {number} how the reason
 */
function leave(visit, passed, result, how) {
  visit.passed = passed
  visit.result = result
  visit.isCalled = how === AT_CALL
  return how
}

/** Runs `flatMap`. @param {any} receiver @param {any[]} args @returns {Generator<any, any, any>} */
function* visitFlat(receiver, { 0: callback, 1: self }) {
  const { 0: object, 1: length } = elementsOf(receiver, false)
  const call = entryPointOf(callback)
  const { 0: result, 1: write } = arrayFor(object, 0)
  let count = 0
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield counts.p
    if (!(i in object)) continue
    let answer = apply(call, self, [object[i], i, object])
    if (answer === budget) answer = yield suspended()
    const isNested = isArray(answer)
    const inside = isNested ? lengthOf(answer) : 1
    for (let j = 0; j < inside; j++) {
      if (--budget.left <= 0) yield counts.p
      if (!isNested || j in answer) write(result, count++, isNested ? answer[j] : answer)
    }
  }
  return result
}

/**
 * Runs `sort`, or `toSorted` if `isCopy`.
 *
 * @param {any} receiver @param {any[]} args @param {boolean} isCopy @param {boolean} isTyped
 * @returns {Generator<any, any, any>}
 */
function* sortBy(receiver, { 0: compare }, isCopy, isTyped) {
  const { 0: object, 1: length } = elementsOf(receiver, isTyped)
  if (!isCopy && length < 2) return object // engines do not write the only element again
  const result = !isCopy ? object
    : isTyped ? apply(engine.toReversed, object, NO_ARGUMENTS) : new engine.Array(length)
  const write = isCopy && !isTyped ? add : set
  const algorithm = algorithms[isTyped ? 1 : 0] ??= isTyped
    ? algorithmOf(engine.sortTyped, size => new engine.Floats(size))
    : algorithmOf(engine.sort, size => new engine.Array(size))
  const keepsUndefined = sortsUndefined(algorithm)
  /** @type {any[]} */
  const list = []
  let kept = 0
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield counts.p
    if (!isTyped && !isCopy && !(i in object)) continue
    const value = object[i]
    kept++
    if (value !== undefined || keepsUndefined) push(list, value)
  }
  yield* algorithm(list, entryPointOf(compare))
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield counts.p
    if (i < kept) write(result, i, list[i]) // undefined comes last
    else delete result[i]
  }
  return result
}

/**
 * The algorithms of the built-in sorts of arrays and of typed arrays.
 *
 * @type {ReturnType<typeof algorithmOf>[]}
 */
const algorithms = []

/** Runs Array.from. @param {any} Class @param {any[]} args @returns {Generator<any, any, any>} */
function* arrayFrom(Class, { 0: items, 1: callback, 2: self }) {
  const call = callback === undefined ? null : entryPointOf(callback)
  const isOurs = Class === engine.Array || !isConstructor(Class)
  const write = isOurs ? add : put
  const iterate = items[symbolIterator] ?? undefined
  let count = 0
  let result
  // The iteration of a typed array takes 75 ns per element, and a loop over the indices 30 ns (Node 20).
  const isIndexed = iterate === engine.typedValues && call === null && isOurs && isTypedArray(items) &&
    areIteratorsBuiltIn()
  if (iterate === undefined || isIndexed) {
    const list = toObject(items)
    const length = isIndexed ? apply(engine.length, list, NO_ARGUMENTS) : lengthOf(list)
    result = isOurs ? new engine.Array(length) : new Class(length)
    for (; count < length; count++) {
      if (--budget.left <= 0) yield counts.p
      let answer = call ? apply(call, self, [list[count], count]) : list[count]
      if (answer === budget) answer = yield suspended()
      write(result, count, answer)
    }
  } else {
    if (typeof iterate !== 'function') {
      throw new TypeError('Array.from: Symbol.iterator of items is not a function')
    }
    result = isOurs ? [] : new Class()
    for (const value of iterated(items, iterate)) {
      if (value === budget) {
        yield suspended()
        continue
      }
      if (--budget.left <= 0) yield counts.p
      let answer = call ? apply(call, self, [value, count]) : value
      if (answer === budget) answer = yield suspended()
      write(result, count++, answer)
    }
  }
  result.length = count
  return result
}

/**
 * Runs `from` of a class of typed arrays, which reads all items of an iterable before the first call of the
 * callback.
 *
 * @param {any} Class @param {any[]} args @returns {Generator<any, any, any>}
 */
function* typedFrom(Class, { 0: items, 1: callback, 2: self }) {
  const call = callback === undefined ? null : entryPointOf(callback)
  const iterate = items[symbolIterator] ?? undefined
  let list = toObject(items)
  if (iterate !== undefined) {
    if (typeof iterate !== 'function') {
      throw new TypeError('TypedArray.from: Symbol.iterator of items is not a function')
    }
    list = []
    for (const value of iterated(items, iterate)) {
      if (value === budget) {
        yield suspended()
        continue
      }
      if (--budget.left <= 0) yield counts.p
      push(list, value)
    }
  }
  const length = lengthOf(list)
  const result = new Class(length)
  if (apply(engine.length, result, NO_ARGUMENTS) < length) throw new TypeError('The typed array is too short')
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield counts.p
    let answer = call ? apply(call, self, [list[i], i]) : list[i]
    if (answer === budget) answer = yield suspended()
    result[i] = answer
  }
  return result
}

/**
 * Calls a built-in function that takes long. The budget ends after the call.
 *
 * @param {any} own @param {any} self @param {any[]} args @returns {Generator<any, any, any>}
 */
function* callLong(own, self, args) {
  const result = apply(own, self, args)
  interrupt()
  return result
}

/**
 * Runs `forEach` of a map or a set.
 *
 * @param {any} receiver @param {any[]} args @param {any} iterating the built-in iteration of the collection
 * @returns {Generator<any, any, any>}
 */
function* visitEntries(receiver, { 0: callback, 1: self }, { entries, next }) {
  const iterator = apply(entries, receiver, NO_ARGUMENTS)
  const call = entryPointOf(callback)
  for (let step; !(step = apply(next, iterator, NO_ARGUMENTS)).done;) {
    if (--budget.left <= 0) yield counts.p
    if (apply(call, self, [step.value[1], step.value[0], receiver]) === budget) yield suspended()
  }
}

/**
 * Runs `replace` or `replaceAll` of a string. Both find all matches before the first call of the callback.
 *
 * @param {any} receiver @param {any[]} args @param {any} replace the built-in method
 * @returns {Generator<any, any, any>}
 */
function* replaceEach(receiver, { 0: pattern, 1: callback }, replace) {
  if (!isUntouched(pattern)) return apply(replace, receiver, [pattern, callback])
  /** @type {any[][]} */
  const found = []
  const whole = apply(replace, receiver, [pattern, (/** @type {any[]} */ ...match) => {
    push(found, match)
    return ''
  }])
  const call = entryPointOf(callback)
  let result = ''
  let from = 0
  let text = whole
  for (let i = 0; i < found.length; i++) {
    if (--budget.left <= 0) yield counts.p
    const match = found[i]
    const last = match.length - 1
    const at = typeof match[last] === 'string' ? last : last - 1 // named groups are the last argument
    let answer = apply(call, undefined, match)
    if (answer === budget) answer = yield suspended()
    text = match[at]
    result += `${slice(text, from, match[at - 1])}${answer}`
    from = match[at - 1] + match[0].length
  }
  return result + slice(text, from)
}

/** Whether only built-in code matches a pattern. @param {any} pattern @returns {boolean} */
function isUntouched(pattern) {
  if (typeof pattern === 'string') return !(symbolReplace in engine.String.prototype)
  const own = (/** @type {any} */ object, /** @type {PropertyKey} */ key) =>
    getOwnPropertyDescriptor(object, key)?.value
  try {
    apply(engine.source, pattern, NO_ARGUMENTS) // throws for a proxy
    return getPrototypeOf(pattern) === engine.pattern && own(engine.pattern, 'exec') === patternExec &&
      own(engine.pattern, symbolReplace) === engine.replace && !hasOwn(pattern, 'exec') &&
      !hasOwn(pattern, symbolReplace)
  } catch {
    return false
  }
}

/**
 * Runs Function.prototype.bind. If the function has a twin, the bound function gets a bound twin.
 *
 * @param {any} fn @param {any[]} args the bound `this` and the bound arguments
 */
function bindTwin(fn, args) {
  const bound = apply(engine.bind, fn, args)
  const twin = recordOf(fn)
  if (twin === undefined) return bound
  const generator = generatorOf(twin, fn)
  const entry = isAsyncTwin(twin) ? false
    : twin.entry === fn ? bound : apply(engine.bind, entryPointOf(fn), args)
  attachTwin(bound, generator && apply(engine.bind, generator, args), entry, null, { fn, args }, twin.body)
  return bound
}

/**
 * Returns the object whose `bind` is called in place of `fn.bind` by code that is not preempted. This `bind`
 * also binds the twin of `fn`.
 *
 * @param {any} fn @returns {any}
 */
export const binding = fn => recordOf(fn) === undefined || fn.bind !== engine.bind ? fn
  : { bind: (/** @type {any[]} */ ...args) => bindTwin(fn, args) }

/**
 * Runs Error.captureStackTrace, which leaves out the frame of a function and the frames above it. In a job,
 * the twin is on the stack in place of the function. After a suspension, the function that resumes the twin
 * or one of its callers is on the stack.
 *
 * @param {any} capture the built-in function @param {any} self @param {any[]} args
 * @param {any} caller the entry that calls this function; the trace leaves out this module's frames down to
 *   it
 */
function captureStackTrace(capture, self, args, caller) {
  const { 0: target, 1: fn } = bare(args)
  const twin = recordOf(fn)
  if (twin === undefined) return apply(capture, self, typeof fn === 'function' ? args : [target, caller])
  const { entry, generator, body } = twin
  const isThere = (/** @type {any} */ found) => typeof found === 'function' && framesBelow(capture, found) > 0
  let top = find([isArray(body) ? body[0] : body, entry, generator, fn, goOnFrom], isThere)
  // The `next` that runs a generator has a frame, too.
  const isGenerator = top !== undefined && top === generator
  if (isGenerator && framesBelow(capture, next) < framesBelow(capture, top)) top = next
  return apply(capture, self, [target, top ?? caller])
}

/**
 * Returns the number of frames below the frame of a function; 0 if the function is not on the stack. V8 calls
 * `Error.prepareStackTrace` of the page to format a trace, so that function is replaced during the count.
 *
 * @param {any} capture @param {any} fn @returns {number}
 */
function framesBelow(capture, fn) {
  const { Error } = engine
  const trace = { stack: /** @type {any} */ ('') }
  const restore = [replaced(Error, 'stackTraceLimit', 200)]
  const counting = (/** @type {any} */ _, /** @type {any[]} */ frames) => frames.length
  push(restore, replaced(Error, 'prepareStackTrace', counting))
  try {
    capture(trace, fn)
    const { stack } = trace
    return typeof stack === 'number' ? stack : split(stack, '\n').length - (stack === '' ? 1 : 0)
  } finally {
    for (let i = 0; i < restore.length; i++) restore[i]()
  }
}

/**
 * Replaces a property.
 *
 * @param {any} object @param {string} key @param {any} value @returns {() => void} restores the property
 */
function replaced(object, key, value) {
  const before = getOwnPropertyDescriptor(object, key)
  if (!reflectDefine(object, key, descriptorOf(value))) return () => {}
  return () => {
    if (before) defineProperty(object, key, /** @type {any} */ (assign(create(null), before)))
    else delete object[key]
  }
}

/**
 * Attaches a twin to a built-in function. Does nothing if the engine lacks the function, or if the page has
 * replaced it: jobs then call the function of the page.
 *
 * @param {any} holder @param {string} name
 * @param {(own: any) => Function} entry returns the entry for the built-in function
 * @param {RegExp} [text] matches the source of the built-in function
 */
export function give(holder, name, entry, text = NATIVE) {
  const own = getOwnPropertyDescriptor(holder, name)?.value
  if (typeof own === 'function' && exec(text, sourceOf(own))) attachTwin(own, null, entry(own))
}

/** Attaches twins to the built-in functions of this realm that call back. */
export function attachBuiltinTwins() {
  /**
   * Attaches a twin to a function with a callback.
   *
   * @param {any} holder @param {string} name @param {number} at the index of the callback in the arguments
   * @param {(receiver: any, args: any[]) => any} size returns the number of preemption points that a built-in
   *   call counts as
   * @param {(receiver: any, args: any[], own: any) => any} begin starts the twin
   * @param {(args: any[]) => any} [isTwin] whether another argument than the callback has a twin
   */
  const giveCalling = (holder, name, at, size, begin, isTwin = () => false) => {
    give(holder, name, own => /** @this {any} @param {any[]} args */ function (...args) {
      const callback = bare(args)[at]
      const count = recordOf(callback) || isTwin(args) ? Infinity
        : typeof callback === 'function' ? size(this, args) : 0
      if (count > LONG_LIST) return begin(this, args, own)
      if (count > 0) budget.left -= count
      return apply(own, this, args)
    })
  }
  const { Array, JSON, Reflect, String, TextEncoder, typed, collections } = engine
  for (let i = 0; i < 2; i++) {
    const isTyped = i > 0
    const holder = isTyped ? typed : Array.prototype
    const { prototype, size } = collections[i]
    const length = isTyped ? (/** @type {any} */ list) => apply(engine.length, list, NO_ARGUMENTS) : sizeOf
    forEach(VISITING, name => {
      const kind = visiting(name, isTyped)
      // These methods are called most often. With `giveCalling`, and with `addElement` for results, the Lisp
      // program is 1.15 times slower as a job, and the ray tracer 1.4 times.
      give(holder, name, own => /** @this {any} @param {any} callback @param {any} given */ function (
        callback, given
      ) {
        const count = recordOf(callback) ? Infinity : typeof callback === 'function' ? length(this) : 0
        if (!(count > LONG_LIST)) {
          if (count > 0) budget.left -= count
          return apply(own, this, arguments)
        }
        return visitEach(this, callback, given, arguments.length > 1, kind)
      })
    })
    forEach(['sort', 'toSorted'], name => {
      const isCopy = name === 'toSorted'
      giveCalling(holder, name, 0, list => 8 * length(list),
        (list, args) => run(sortBy(list, args, isCopy, isTyped)))
    })
    giveCalling(prototype, 'forEach', 0, list => apply(size, list, NO_ARGUMENTS),
      (list, args) => run(visitEntries(list, args, collections[i])))
  }
  giveCalling(Array.prototype, 'flatMap', 0, sizeOf, (list, args) => run(visitFlat(list, args)))
  const hasTwin = (/** @type {any} */ items) => isObject(items) && !isArray(items) &&
    (stepsOfGenerators.get(items) || recordOf(valueIn(items, symbolIterator)))
  // The built-in function copies an array with 6 ns per element, and a typed array with 75 ns (Node 20).
  const isLongTyped = (/** @type {any} */ items) => isTypedArray(items) &&
    apply(engine.length, items, NO_ARGUMENTS) > LONG_LIST
  giveCalling(Array, 'from', 1, (_, { 0: items }) => sizeOfItems(items),
    (Class, args) => run(arrayFrom(Class, args)),
    ({ 0: items, 1: callback }) => callback === undefined && (hasTwin(items) || isLongTyped(items)))
  giveCalling(engine.Typed, 'from', 1, (_, { 0: items }) => sizeOfItems(items),
    (Class, args, from) => isConstructor(Class) ? run(typedFrom(Class, args)) : apply(from, Class, args),
    ({ 0: items }) => hasTwin(items))
  // The twin keeps all matches. If it ran for each long text, a program with 120,000 short matches would be
  // 1.4 times slower as a job (k-nucleotide), and its longest stretch would be 9 ms instead of 5 ms.
  forEach(['replace', 'replaceAll'], name => giveCalling(String.prototype, name, 1, () => 0,
    (text, args, replace) => run(replaceEach(text, args, replace))))
  /**
   * Attaches a twin to a function whose time depends on the length of a text or an array.
   *
   * @param {any} holder @param {string} name
   */
  const giveLong = (holder, name) => give(holder, name, own =>
    /** @this {any} @param {any[]} args */ function (...args) {
      const { 0: given } = bare(args)
      if (isLong(given) || isLong(this)) return run(callLong(own, this, args))
      const result = apply(own, this, args)
      if (isLong(result)) interrupt()
      return result
    })
  giveLong(JSON, 'stringify')
  giveLong(JSON, 'parse')
  giveLong(TextEncoder?.prototype ?? JSON, 'encode')
  giveLong(Array.prototype, 'join')
  forEach(['split', 'toLowerCase', 'toUpperCase'], name => giveLong(String.prototype, name))
  give(engine.Function.prototype, 'call', () =>
    /** @this {any} @param {any} self @param {any[]} args */ function (self, ...args) {
      return apply(entryPointOf(this), self, args)
    })
  give(engine.Function.prototype, 'apply', () =>
    /** @this {any} @param {any} self @param {any} args */ function (self, args) {
      return apply(entryPointOf(this), self, args ?? NO_ARGUMENTS)
    })
  give(engine.Function.prototype, 'bind', () => /** @this {any} @param {any[]} args */ function (...args) {
    return bindTwin(this, args)
  })
  for (let i = 0; i < 3; i++) {
    give(generatorPrototype, METHODS[i], own => /** @this {any} @param {any} value */ function (value) {
      return ask(own, this, value)
    })
  }
  give(engine.Error, 'captureStackTrace', own => {
    return /** @this {any} @param {any[]} args */ function entry(...args) {
      return captureStackTrace(own, this, args, entry)
    }
  })
  give(Reflect, 'apply', () => (/** @type {any} */ fn, /** @type {any} */ self, /** @type {any} */ args) =>
    apply(entryPointOf(fn), self, args))
  give(Reflect, 'construct', own => (/** @type {any[]} */ ...args) => {
    const { 0: F, 1: given, 2: target } = bare(args)
    return recordOf(F) && isConstructor(F) && isConstructor(args.length > 2 ? target : F)
      ? construct(F, apply((/** @type {any[]} */ ...list) => list, undefined, given), target)
      : apply(own, Reflect, args)
  })
}
const VISITING = [
  'forEach', 'map', 'filter', 'some', 'every', 'find', 'findIndex', 'findLast', 'findLastIndex', 'reduce',
  'reduceRight'
]
