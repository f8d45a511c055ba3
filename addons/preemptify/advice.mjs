/**
 * addons/preemptify/advice.mjs: advice for jobs that call preemptible functions plainly.
 *
 * `rt.spawn(() => index.search(text))` runs in one piece if the arrow function was not rewritten, although
 * `search` has a twin. When such a job stalls, the source of its function tells which twins it missed.
 */

import {
  emptySet, emptyWeakMap, exec, join, matches, push, slice, sourceOf, split, startsWith
} from './primordials.mjs'
import { isWhole, recordOf } from './run.mjs'

/** Maximum number of functions that a message names. */
const MAX_NAMED = 3

/** The names of functions that have twins. @type {Set<string>} */
const twinNames = /* @__PURE__ */ emptySet()
/** Functions whose advice is known. @type {WeakMap<Function, { advice: string | undefined }>} */
const adviceOf = /* @__PURE__ */ emptyWeakMap()
/** Names that the console has been warned about. @type {Set<string>} */
const warned = /* @__PURE__ */ emptySet()

/** Remembers the names of functions that have twins. @param {string} list separated by spaces */
export function noteNames(list) {
  const given = split(list, ' ')
  for (let i = 0; i < given.length; i++) twinNames.add(given[i])
}

/**
 * Returns advice for a job that has stalled, and warns once about each function.
 *
 * @param {any} fn the function of the job
 * @returns {string | undefined} undefined if the job calls no function that has a twin
 */
export function adviceFor(fn) {
  if (typeof fn !== 'function' || recordOf(fn) !== undefined || isWhole(fn)) return undefined
  const found = adviceOf.get(fn)
  if (found !== undefined) return found.advice
  const called = twinsIn(fn)
  const advice = called.length === 0 ? undefined : remedyFor(called)
  adviceOf.set(fn, { advice })
  for (let i = 0; i < called.length; i++) {
    if (warned.has(called[i].name)) continue
    for (let k = 0; k < called.length; k++) warned.add(called[k].name)
    console.warn(`rt.mjs: a job has stalled: ${advice}`)
    break
  }
  return advice
}

/**
 * Finds the calls of functions that have a twin.
 *
 * @param {Function} fn @returns {{ name: string, isMethod: boolean }[]}
 */
function twinsIn(fn) {
  /** @type {{ name: string, isMethod: boolean }[]} */
  const called = []
  const found = emptySet()
  const isBound = startsWith(fn.name, 'bound ')
  const source = isBound ? `.${slice(fn.name, 'bound '.length)}(` : codeOf(sourceOf(fn))
  const declared = declaredIn(source)
  const call = /(\.\s*)?([\w$]+)\s*(?:\?\.\s*)?\(/g
  for (let match; called.length < MAX_NAMED && (match = exec(call, source));) {
    const { 0: text, 1: dot, 2: name, index } = match
    if (!twinNames.has(name) || found.has(name)) continue
    if (dot === undefined && (declared.has(name) || isMethodAt(source, index + text.length))) continue
    found.add(name)
    push(called, { name, isMethod: dot !== undefined })
  }
  return called
}

/** Replaces comments and strings of a source by spaces. @param {string} source @returns {string} */
function codeOf(source) {
  let code = ''
  let from = 0
  const text = /\/\/.*|\/\*[^]*?\*\/|'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"/g
  for (let match; (match = exec(text, source));) {
    const { 0: { length }, index } = match
    code += `${slice(source, from, index)} `
    from = index + length
  }
  return code + slice(source, from)
}

/**
 * The names of the functions and classes that a source declares.
 *
 * @param {string} source @returns {Set<string>}
 */
function declaredIn(source) {
  const names = emptySet()
  const declaration = /\b(?:function\s*\*?|class)\s*([\w$]+)/g
  for (let match; (match = exec(declaration, source));) names.add(match[1])
  return names
}

/**
 * Whether a body follows the parameters that start at an index: a method is declared there, and not called.
 *
 * @param {string} source @param {number} start the index after the opening parenthesis @returns {boolean}
 */
function isMethodAt(source, start) {
  let depth = 1
  for (let i = start; i < source.length; i++) {
    const character = source[i]
    if (character === '(') depth++
    else if (character === ')' && --depth === 0) return matches(/^\s*\{/, slice(source, i + 1))
  }
  return false
}

/** @param {{ name: string, isMethod: boolean }[]} called */
function remedyFor(called) {
  /** @type {string[]} */
  const list = []
  for (let i = 0; i < called.length; i++) push(list, `${called[i].name}()`)
  const { name, isMethod } = called[0]
  const work = isMethod ? `[object, '${name}']` : name
  return `${join(list, ', ')} can be preempted, but plain code called it. ` +
    `Write rt.spawn(${work}, options, ...args), ` +
    'or preemptify(fn, { evaluate: s => eval(s) }) for the function that calls it'
}
