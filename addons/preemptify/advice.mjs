/**
 * addons/preemptify/advice.mjs: advice for jobs that call preemptible functions plainly.
 *
 * `rt.spawn(() => index.search(text))` runs in one piece if the arrow function was not rewritten, although
 * `search` has a twin. When such a job stalls, the source of its function tells which twins it missed.
 */

import {
  append, cut, emptySet, emptyWeakMap, exec, join, sourceOf, split, startsWith
} from './primordials.mjs'
import { recordOf } from './run.mjs'

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
  if (typeof fn !== 'function' || recordOf(fn) !== undefined) return undefined
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
  const source = isBound ? `.${cut(fn.name, 'bound '.length)}(` : sourceOf(fn)
  const call = /(\.\s*)?([\w$]+)\s*(?:\?\.\s*)?\(/g
  for (let match; called.length < MAX_NAMED && (match = exec(call, source));) {
    const { 1: dot, 2: name } = match
    if (!twinNames.has(name) || found.has(name) || name === fn.name && !dot) continue
    found.add(name)
    append(called, { name, isMethod: dot !== undefined })
  }
  return called
}

/** @param {{ name: string, isMethod: boolean }[]} called */
function remedyFor(called) {
  /** @type {string[]} */
  const list = []
  for (let i = 0; i < called.length; i++) append(list, `${called[i].name}()`)
  const { name, isMethod } = called[0]
  const work = isMethod ? `[object, '${name}']` : name
  return `${join(list, ', ')} can be preempted, but plain code called it. ` +
    `Write rt.spawn(${work}, options, ...args), ` +
    'or preemptify(fn, { evaluate: s => eval(s) }) for the function that calls it'
}
