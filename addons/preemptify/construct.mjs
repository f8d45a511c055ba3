/**
 * addons/preemptify/construct.mjs: `new` at run time.
 */

import { budget } from '../../rt.mjs'
import {
  NO_ARGUMENTS, apply, emptyWeakMap, getPrototypeOf, isArray, isConstructor, isExtensible, isObject, push,
  pushAll, reflectConstruct, setPrototypeOf, splice
} from './primordials.mjs'
import {
  begun, entryPointOf, isAsyncTwin, isLatestPlain, notConstructor, pending, recordOf, run, suspended, wayInto
} from './run.mjs'
/** @import { Twin } from './run.mjs' */

/**
 * Makes objects by built-in constructors that run code of the program.
 *
 * @type {WeakMap<Function, (args: any[], target: any) => any>}
 */
export const makers = /* @__PURE__ */ emptyWeakMap()

/** Makes a constructor that does nothing. */
const Blank = () => function () {}

/**
 * Makes the object of a constructor function. `Reflect.construct` with another `new.target` takes 5 us (Node
 * 20), so each target keeps a constructor without a body that has its prototype.
 *
 * @param {Twin} twin @param {any} F @param {any} target @returns {any}
 * @throws {TypeError} if the target is not a constructor
 */
function blank(twin, F, target) {
  const { prototype } = target
  const holder = target === F ? twin : recordOf(target)
  if (holder === undefined || !isObject(prototype) || (twin.Blank === null && !isConstructor(F))) {
    return reflectConstruct(Blank(), NO_ARGUMENTS, target)
  }
  const Own = holder.Blank ??= Blank()
  if (Own.prototype !== prototype) Own.prototype = prototype
  return new Own()
}

/** The value of the parameters of a constructor whose body is skipped. No other code has it. */
export const nothing = /* @__PURE__ */ Object.freeze({ __proto__: null })
/** Values for MAX_SKIPPED_PARAMETERS parameters. */
const NOTHINGS = [nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing]

/**
 * Runs `new F(...args)` in a twin. The engine makes the object of a base class, with all its fields, and the
 * twin is the body of the constructor.
 *
 * @param {any} F @param {any[]} args @param {any} [target] new.target
 * @returns {any} the object, or `budget` if the constructor is suspended
 */
export function construct(F, args, target = F) {
  const begin = entryPointOf(F)
  const twin = isLatestPlain(F) ? undefined : recordOf(F)
  if (twin?.body?.isDerived && twin.target === null) return constructDerived(twin.body, F, args, target)
  const isPlain = begin === F || twin?.generator === null
  if (twin === undefined || isAsyncTwin(twin) || (isPlain && !twin.body)) {
    const make = twin === undefined ? undefined : makers.get(F)
    return make === undefined ? reflectConstruct(F, args, target) : make(args, target)
  }
  if (twin.target !== null) {
    const { fn, args: given } = twin.target
    const all = pushAll(pushAll([], given), args)
    splice(all, 0, 1)
    return construct(fn, all, target === F ? fn : target)
  }
  if (isArray(twin.body)) twin.body = wayInto(twin.body[0])
  // No spread, because a page may have replaced the iterator of arrays.
  const object = !twin.body ? blank(twin, F, target) : target !== F ? reflectConstruct(F, NOTHINGS, target)
    : new F(nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing)
  const takesTarget = twin.self === true
  const given = takesTarget ? pushAll([target], args) : args
  const result = takesTarget && !twin.body ? run(apply(twin.generator, object, given))
    : apply(twin.body ?? begin, object, given)
  if (result !== budget) return isObject(result) ? result : object
  push(pending, begun(constructed(object, suspended())))
  return budget
}

/**
 * Runs `new F(...args)`. If `F` is not a constructor, the error has the same message as the native one.
 *
 * @param {any} F @param {any[]} args @param {string} [text] the source of F
 * @param {(F: any, args: any[]) => any} [begin] makes the object
 * @returns {any} the object, or `budget` if the constructor is suspended
 */
export function make(F, args, text = '(intermediate value)', begin = construct) {
  if (typeof F !== 'function') notConstructor(text, make)
  try {
    return begin(F, args)
  } catch (error) {
    if (!isConstructor(F)) notConstructor(text, make)
    throw error
  }
}

/**
 * @typedef {object} Derived a derived class with a twin
 * @property {true} isDerived
 * @property {any} body the twin of the constructor, whose `this` is the Construction; null if the class has
 *   no constructor
 * @property {number} flags 1: each object gets fields or private methods of the class; 2: only the parent can
 *   run long
 */
/**
 * @typedef {object} Construction a call of a derived constructor
 * @property {any} F the constructor
 * @property {any} target new.target
 * @property {boolean} hasFields
 * @property {any} object undefined before `super()` has returned
 */

/**
 * Makes an object of a derived class.
 *
 * @param {Derived} derived @param {any} F @param {any[]} args @param {any} target new.target
 * @returns {any} the object, or `budget` if the constructor is suspended
 */
function constructDerived({ body, flags }, F, args, target) {
  const hasFields = (flags & 1) > 0
  if ((flags & 2) > 0 && recordOf(getPrototypeOf(F)) === undefined) return reflectConstruct(F, args, target)
  // The parent of a class that is not extensible cannot change, so `withFields` does not work: the engine
  // runs the constructor.
  if (hasFields && !isExtensible(F)) return reflectConstruct(F, args, target)
  const construction = { F, target, hasFields, object: undefined }
  return run(body === null ? superCall(construction, args)
    : constructing(construction, apply(body, construction, args)))
}

/**
 * @param {Construction} construction @param {any} call the started constructor
 * @returns {Generator<any, any, any>}
 */
function* constructing(construction, call) {
  const result = yield* call
  if (isObject(result)) return result
  if (result !== undefined) throw new TypeError('Derived constructors may only return object or undefined')
  if (construction.object !== undefined) return construction.object
  throw new ReferenceError('Must call super constructor in derived class before accessing ' +
    "'this' or returning from derived constructor")
}

/**
 * Runs `super(...args)`. The parent makes the object, which then gets the fields of the class.
 *
 * @param {Construction} construction @param {any[]} args
 * @returns {Generator<any, any, any>} returns the object
 */
export function* superCall(construction, args) {
  const { F, target, hasFields } = construction
  const Parent = getPrototypeOf(F)
  let object = construct(Parent, args, target)
  if (object === budget) object = yield suspended()
  return construction.object = hasFields ? withFields(F, Parent, object, target) : object
}

/**
 * Adds the fields of a derived class to an object. The engine adds fields when `super()` returns. So the
 * class gets a temporary parent that returns the object.
 *
 * @param {any} F @param {any} Parent @param {any} object @param {any} target new.target
 */
function withFields(F, Parent, object, target) {
  const Returning = function () {
    setPrototypeOf(F, Parent)
    return object
  }
  setPrototypeOf(Returning, Parent)
  setPrototypeOf(F, Returning)
  return reflectConstruct(F, NOTHINGS, target)
}

/** @param {any} object @param {any} call @returns {Generator<any, any, any>} */
function* constructed(object, call) {
  const result = yield call
  return isObject(result) ? result : object
}

