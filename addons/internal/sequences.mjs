/**
 * addons/internal/sequences.mjs: lists for functions of the platform.
 *
 * Functions such as `postMessage` and `Blob` read the iterator of a list, and a page can have deleted or
 * replaced the iterator of all arrays. Chromium reads arrays without it; Firefox and WebKit throw.
 */

import { extend } from '../../rt.mjs'

/**
 * Copies a list, with its own iterator.
 *
 * @template T @param {readonly T[]} list @returns {T[]}
 */
export function sequence(list) {
  const copy = list.slice()
  Object.defineProperty(copy, Symbol.iterator, extend.hiddenProperty(iterate))
  return copy
}

/** @this {any[]} */
function* iterate() {
  for (let i = 0; i < this.length; i++) yield this[i]
}
