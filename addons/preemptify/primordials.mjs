/**
 * addons/preemptify/primordials.mjs: built-in functions and small list helpers of the compiler and its
 * run-time support.
 *
 * A page may replace methods of built-in prototypes later. So this module keeps the methods that it found
 * when it was loaded, as functions whose first argument is `this`. The compiler reads lists by index, and its
 * maps and sets have own methods. Rewriting then works in pages that patch Array, Map, Promise or RegExp.
 *
 * A bundler can remove unused parts of this module. No line looks up a value that may be missing (so there is
 * no destructuring), and each call that runs at load time is marked as pure.
 */

import { extend } from '../../rt.mjs'

/** The prototype of all generator objects of this realm. */
export const generatorPrototype = Object.getPrototypeOf(function* () {}).prototype
/** The built-in `next` of generators. */
export const next = generatorPrototype.next
/** @type {any[]} */
export const NO_ARGUMENTS = []

/** @template T @template {keyof T} K @param {T} object @param {K} name */
const its = (object, name) => object[name]
/** @param {any} Class @param {string} name */
const methodOf = (Class, name) => Class.prototype[name]
/**
 * @param {any} Class @param {string} name
 * @returns {any} the method as a function whose first argument is `this`
 */
const uncurryThis = (Class, name) => Function.prototype.call.bind(methodOf(Class, name))
export const patternExec = /* @__PURE__ */ methodOf(RegExp, 'exec')
/** Adds an own element to a list. @type {(list: any, index: any, value: any) => void} */
export const add = /* @__PURE__ */ its(extend.code, 'addElement')
export const pop = /* @__PURE__ */ methodOf(Array, 'pop')
export const sourceOf = /* @__PURE__ */ uncurryThis(Function, 'toString')
export const isBefore = /* @__PURE__ */ uncurryThis(Object, 'isPrototypeOf')
export const resume = /* @__PURE__ */ Function.prototype.call.bind(next)
export const throwInNext = /* @__PURE__ */ its(generatorPrototype, 'throw')
export const returnFromNext = /* @__PURE__ */ its(generatorPrototype, 'return')
export const exec = /* @__PURE__ */ uncurryThis(RegExp, 'exec')
const testOf = /* @__PURE__ */ uncurryThis(RegExp, 'test')
export const codeAt = /* @__PURE__ */ uncurryThis(String, 'charCodeAt')
export const slice = /* @__PURE__ */ uncurryThis(String, 'slice')
export const digitsOf = /* @__PURE__ */ uncurryThis(Number, 'toString')
export const holds = /* @__PURE__ */ uncurryThis(String, 'includes')
export const startsWith = /* @__PURE__ */ uncurryThis(String, 'startsWith')
export const endsWith = /* @__PURE__ */ uncurryThis(String, 'endsWith')
export const takeLast = /* @__PURE__ */ uncurryThis(Array, 'pop')
export const join = /* @__PURE__ */ uncurryThis(Array, 'join')
export const sort = /* @__PURE__ */ uncurryThis(Array, 'sort')
export const split = /* @__PURE__ */ uncurryThis(String, 'split')
export const lastIndexOf = /* @__PURE__ */ uncurryThis(String, 'lastIndexOf')
export const indexOf = /* @__PURE__ */ uncurryThis(String, 'indexOf')
export const splice = /* @__PURE__ */ uncurryThis(Array, 'splice')
export const apply = Reflect.apply
export const reflectConstruct = Reflect.construct
export const reflectDefine = Reflect.defineProperty
export const reflectGet = Reflect.get
export const reflectSet = Reflect.set
export const ownKeys = Reflect.ownKeys
const deleteProperty = Reflect.deleteProperty
export const getPrototypeOf = Reflect.getPrototypeOf
export const getOwnPropertyDescriptor = Reflect.getOwnPropertyDescriptor
export const create = Object.create
export const assign = Object.assign
export const keysOf = Object.keys
export const defineProperty = Object.defineProperty
export const defineProperties = Object.defineProperties
export const freeze = Object.freeze
export const isExtensible = Object.isExtensible
export const getOwnPropertyDescriptors = Object.getOwnPropertyDescriptors
export const setPrototypeOf = Object.setPrototypeOf
export const isArray = /* @__PURE__ */ its(Array, 'isArray')
export const sign = Math.sign
export const floor = Math.floor
export const min = Math.min
export const max = Math.max
export const fromCodePoint = /* @__PURE__ */ its(String, 'fromCodePoint')
export const stringify = JSON.stringify
export const List = Array
// Read once, because modules also see the variables of scripts, for example of `let Symbol` or `class
// Object`.
export const toObject = Object
export const symbolIterator = Symbol.iterator
export const symbolSpecies = Symbol.species
export const symbolAsyncIterator = Symbol.asyncIterator
export const symbolReplace = Symbol.replace
export const symbolToStringTag = Symbol.toStringTag
/** The global object, even if a script declares a variable `globalThis`. @type {any} */
export const realm = globalThis
export const promiseResolve = /* @__PURE__ */ Promise.resolve.bind(Promise)
/** Calls the built-in `then` of a promise. */
export const thenOf = /* @__PURE__ */ uncurryThis(Promise, 'then')
/**
 * Like `Promise.all`, but without results, and without an iterator of the list.
 *
 * @param {Promise<unknown>[]} promises
 */
export const allOf = promises => new Promise((resolve, reject) => {
  let left = promises.length
  if (left === 0) resolve(undefined)
  const settled = () => { if (--left === 0) resolve(undefined) }
  for (let i = 0; i < promises.length; i++) thenOf(promises[i], settled, reject)
})

/**
 * @param {any} Base the built-in class
 * @returns {() => any} a function that makes a collection with own methods
 */
function maker(Base) {
  const methods = withPropertiesOf(Base.prototype, create(null))
  return () => setPrototypeOf(new Base(), methods)
}
export const emptyMap = /* @__PURE__ */ maker(Map)
export const emptySet = /* @__PURE__ */ maker(Set)
export const emptyWeakMap = /* @__PURE__ */ maker(WeakMap)

/** Returns the keys of a map or the elements of a set. @param {any} marks @returns {any[]} */
export function listOf(marks) {
  /** @type {any[]} */
  const list = []
  marks.forEach((/** @type {any} */ _, /** @type {any} */ key) => push(list, key))
  return list
}

/** The properties of Object.prototype in ECMA-262. */
const STANDARD = [
  'constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'toString', 'valueOf',
  'toLocaleString', '__proto__', '__defineGetter__', '__defineSetter__', '__lookupGetter__',
  '__lookupSetter__'
]

/**
 * Calls a function of the compiler while Object.prototype has only its standard properties. Nodes of the
 * syntax tree, match arrays and option objects inherit from it: a property `type` that a page has added would
 * be the type of every node. The additions are back when the function returns. They stay if they cannot be
 * removed or restored.
 *
 * @template {(...args: any[]) => any} F @param {F} fn @param {Parameters<F>} args @returns {ReturnType<F>}
 */
export function shielded(fn, args) {
  const { prototype } = toObject
  const isAdded = (/** @type {PropertyKey} */ key) => find(STANDARD, name => name === key) === undefined
  const added = filter(ownKeys(prototype), isAdded)
  if (added.length === 0 || !isExtensible(prototype)) return apply(fn, undefined, args)
  /** @type {any} */
  const descriptors = create(null)
  forEach(added, key => { descriptors[key] = assign(create(null), getOwnPropertyDescriptor(prototype, key)) })
  const hidden = filter(added, key => descriptors[key].configurable && deleteProperty(prototype, key))
  try {
    return apply(fn, undefined, args)
  } finally {
    forEach(hidden, key => { defineProperty(prototype, key, descriptors[key]) })
  }
}

const patterns = /* @__PURE__ */ its(RegExp, 'prototype')
/**
 * Whether `test` can be used, which is faster than `exec`: `test` calls the `exec` that a page may replace.
 */
const isQuick = () => getOwnPropertyDescriptor(patterns, 'exec')?.value === patternExec
let quick = true

/** Looks again whether `test` calls the built-in `exec`. Each phase does so before it uses patterns. */
export function checkPatterns() {
  quick = isQuick()
}

/** @param {RegExp} pattern @param {string} text @returns {boolean} */
export const matches = (pattern, text) => quick ? testOf(pattern, text) : exec(pattern, text) !== null

/** @template T @param {readonly T[]} list @param {(item: T) => any} visit */
export function forEach(list, visit) {
  for (let i = 0; i < list.length; i++) visit(list[i])
}

/** @template T @param {T[]} list @param {(item: T) => any} isWanted */
export function filter(list, isWanted) {
  /** @type {T[]} */
  const wanted = []
  for (let i = 0; i < list.length; i++) if (isWanted(list[i])) push(wanted, list[i])
  return wanted
}

/**
 * Finds the first item beyond a limit, by binary search.
 *
 * @template T @param {T[]} list a sorted list @param {(item: T) => boolean} isBeyond
 * @returns {number} the index of the item, or the length of the list
 */
export function firstOf(list, isBeyond) {
  let first = 0
  for (let end = list.length; first < end;) {
    const middle = (first + end) >> 1
    if (isBeyond(list[middle])) end = middle
    else first = middle + 1
  }
  return first
}

/**
 * Returns a copy of a list that takes no more memory than needed. Engines keep room for more elements in a
 * list that has grown.
 *
 * @template T @param {T[]} list @returns {T[]}
 */
export function trimmed(list) {
  if (list.length === 0) return list
  const copy = new List(list.length)
  for (let i = 0; i < list.length; i++) add(copy, i, list[i])
  return copy
}

/**
 * Returns a text that V8 keeps in one piece. A concatenated text otherwise keeps each of its parts, and takes
 * several times the memory.
 *
 * @param {string} text
 */
export function flat(text) {
  codeAt(text, 0)
  return text
}

/**
 * Returns a property descriptor that inherits nothing, because a page may add a `get` to Object.prototype.
 *
 * @param {any} value @returns {any}
 */
export const descriptorOf = value =>
  ({ __proto__: null, value, writable: true, enumerable: true, configurable: true })

/** Maximum number of arguments that a twin of a built-in function reads by index. */
const MAX_READ = 3

/**
 * Makes missing arguments undefined. Otherwise elements of Array.prototype could stand in for them.
 *
 * @param {any[]} args @returns {any[]} `args`
 */
export function bare(args) {
  for (let i = args.length; i < MAX_READ; i++) if (i in args) return setPrototypeOf(args, null)
  return args
}

/** @param {any} list @param {any} value @param {any[]} _more further values @returns {any} the list */
export function push(list, value, ..._more) {
  add(list, list.length, value)
  for (let i = 2; i < arguments.length; i++) add(list, list.length, arguments[i])
  return list
}

/** @param {any[]} list @param {any[]} more */
export function pushAll(list, more) {
  for (let i = 0; i < more.length; i++) push(list, more[i])
  return list
}

/**
 * The end of the source of a native function. Valid source text cannot end like this, not even in a comment.
 */
export const NO_SOURCE = /\{\s*\[native code\]\s*\}\s*$/

/** @param {any} value */
export const isObject = value => typeof value === 'function' || (typeof value === 'object' && value !== null)

const GeneratorFunctions = /* @__PURE__ */ Object.getPrototypeOf(function* () {})
/** @param {any} value */
export const isGeneratorFunction = value => isBefore(GeneratorFunctions, value)

/**
 * Copies the own properties of an object. The descriptors inherit nothing, because a page may add a `get` to
 * Object.prototype.
 *
 * @param {any} from @param {any} to @returns {any}
 */
export function withPropertiesOf(from, to) {
  forEach(ownKeys(from), key => {
    defineProperty(to, key, /** @type {any} */ (assign(create(null), getOwnPropertyDescriptor(from, key))))
  })
  return to
}

/** @param {any} object @param {PropertyKey} key @param {any} value */
export const define = (object, key, value) =>
  defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value, configurable: true }))

/** The source of a native function that has a name. */
export const NATIVE = /^function \w+\(\) \{\s*\[native code\]\s*\}$/

/** Returns the built-in functions and classes that a page can replace later. */
function engineParts() {
  const { prototype } = /** @type {any} */ (getPrototypeOf(Uint8Array))
  const elements = /** @type {any} */ (getPrototypeOf([].keys()))
  /** @param {any} Collection */
  const iterating = ({ prototype }) => ({
    prototype,
    entries: prototype.entries,
    next: new prototype.constructor().entries().next,
    size: /** @type {any} */ (getOwnPropertyDescriptor(prototype, 'size')).get
  })
  return {
    Array,
    Error: /** @type {any} */ (Error),
    Function,
    Promise,
    JSON,
    Proxy,
    Reflect,
    String,
    TextEncoder: realm.TextEncoder,
    bind: Function.prototype.bind,
    captureStackTrace: /** @type {any} */ (Error).captureStackTrace,
    call: exec(NATIVE, sourceOf(Function.prototype.call)) ? Function.prototype.call : null,
    values: Array.prototype[Symbol.iterator],
    // The function by which an iterator returns itself.
    itself: exec(NO_SOURCE, sourceOf(elements[Symbol.iterator])) ? elements[Symbol.iterator] : null,
    elements,
    nextElement: elements.next,
    typed: prototype,
    Typed: /** @type {any} */ (getPrototypeOf(Uint8Array)),
    keys: prototype.keys,
    length: /** @type {any} */ (getOwnPropertyDescriptor(prototype, 'length')).get,
    typedValues: prototype[Symbol.iterator],
    Floats: Float64Array,
    sort: Array.prototype.sort,
    sortTyped: prototype.sort,
    sliceTyped: prototype.slice,
    fill: prototype.set,
    isView: ArrayBuffer.isView,
    toReversed: prototype.toReversed,
    collections: [iterating(Map), iterating(Set)],
    pattern: RegExp.prototype,
    replace: RegExp.prototype[Symbol.replace],
    source: /** @type {any} */ (getOwnPropertyDescriptor(RegExp.prototype, 'source')).get,
    promiseSpecies: getOwnPropertyDescriptor(Promise, Symbol.species)?.get
  }
}
export const engine = /* @__PURE__ */ engineParts()

/** Whether a value is a constructor. Runs no code of the page. @param {any} value @returns {boolean} */
export function isConstructor(value) {
  try {
    return isObject(reflectConstruct(new engine.Proxy(value, { construct: () => engine }), NO_ARGUMENTS))
  } catch {
    return false
  }
}

/** @param {any} object @param {PropertyKey} key @returns {boolean} */
export const hasOwn = Object.hasOwn

/** @template T @param {readonly T[]} list @param {(item: T) => any} isWanted @returns {T | undefined} */
export function find(list, isWanted) {
  for (let i = 0; i < list.length; i++) if (isWanted(list[i])) return list[i]
}

/** @param {any} fn */
export const isAsync = fn => fn?.[symbolToStringTag] === 'AsyncFunction'
