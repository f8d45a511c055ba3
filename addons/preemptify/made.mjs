/**
 * addons/preemptify/made.mjs: functions that a program makes from text, by the constructors of functions and
 * by indirect `eval`.
 *
 * The built-in function makes the function first, so that errors, names and the Content-Security-Policy of
 * the page are the same. Then the text is rewritten, if the compiler is loaded, and evaluated in the global
 * scope.
 */

import { makers } from './construct.mjs'
import {
  apply, bare, emptyMap, engine, getPrototypeOf, matches, realm, reflectConstruct, sourceOf, split
} from './primordials.mjs'
import { attachTwin } from './run.mjs'

/** Maximum number of texts to keep. */
const MAX_TEXTS = 1000

/**
 * The compiler of scripts; null if it is not loaded. preemptify.mjs sets it.
 *
 * @type {{ rewrite: ((text: string) => string) | null }}
 */
export const compiler = { rewrite: null }

/** Returns the rewritten forms of texts, or null for a text that stays as it is. @type {Map<string, any>} */
const cache = /* @__PURE__ */ emptyMap()

/**
 * @param {string} key @param {() => any} make @returns {any} the value that was made first for the key
 */
function cached(key, make) {
  let value = cache.get(key)
  if (value === undefined) {
    if (cache.size >= MAX_TEXTS) cache.clear()
    try {
      value = make()
    } catch {
      value = null // a text that cannot be read, or a page that forbids `eval`
    }
    cache.set(key, value)
  }
  return value
}

/** @param {string} text the text of a script @returns {string | null} null if the text stays as it is */
function rewritten(text) {
  const result = /** @type {any} */ (compiler).rewrite(text)
  return result === text ? null : result
}

/**
 * Returns the preemptible form of a function that was made from text.
 *
 * @param {any} fn
 */
function preemptible(fn) {
  if (compiler.rewrite === null) return fn
  const source = sourceOf(fn)
  // The name would be a variable inside of the function.
  if (split(source, 'anonymous').length !== 2) return fn
  const make = cached(`(${source})`, () => {
    const text = rewritten(`arguments[0].made=(${source}\n)`)
    return text === null ? null : new engine.Function(text)
  })
  if (make === null) return fn
  const result = { made: fn }
  make(result)
  return result.made
}

/** @param {any} Class a constructor of functions @param {any[]} args @param {any} [target] new.target */
function made(Class, args, target = Class) {
  const fn = reflectConstruct(Class, args, target)
  return target === Class ? preemptible(fn) : fn
}

/** `Function`, for code that calls it outside of twins. @param {any} F @returns {any} */
export const making = F => F !== engine.Function || compiler.rewrite === null ? F : MadeFunction
/** @param {any[]} args */
const MadeFunction = function (...args) {
  return made(engine.Function, args)
}
MadeFunction.prototype = engine.Function.prototype

/** @param {any} own the built-in `eval` */
const evalEntry = own => (/** @type {any[]} */ ...args) => {
  const { 0: text } = bare(args)
  if (typeof text !== 'string' || compiler.rewrite === null) return apply(own, undefined, args)
  const result = cached(text, () => rewritten(text))
  return own(result ?? text)
}

/** Gives the functions of this realm that make functions their twins. */
export function attachMakingTwins() {
  const kinds = [function () {}, async () => {}, function* () {}, async function* () {}]
  for (let i = 0; i < kinds.length; i++) {
    const Class = /** @type {any} */ (getPrototypeOf(kinds[i])).constructor
    attachTwin(Class, null, (/** @type {any[]} */ ...args) => made(Class, args))
    makers.set(Class, (/** @type {any[]} */ args, /** @type {any} */ target) => made(Class, args, target))
  }
  const { eval: own } = realm
  if (matches(/\[native code\]/, sourceOf(own))) attachTwin(own, null, evalEntry(own))
}
