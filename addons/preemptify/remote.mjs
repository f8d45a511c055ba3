/**
 * addons/preemptify/remote.mjs: calls between a page and the worker that compiles its imports.
 *
 * Each side calls functions of the other side by their names. A call is a message `{ id, name, args }`, and
 * its answer is `{ id, result }` or `{ id, error }`.
 */

import { apply, emptyMap } from './primordials.mjs'

/** Errors that keep their class when they are sent. @type {any} */
const ERRORS = { __proto__: null, TypeError, SyntaxError, EvalError, RangeError, ReferenceError }

/**
 * Returns an error as it can be sent. Browsers do not send the cause of an error.
 *
 * @param {any} error @returns {any}
 */
const packed = error => typeof error?.message !== 'string' ? { value: `${error}` }
  : { name: `${error.name}`, message: error.message, cause: error.cause && packed(error.cause) }

/** @param {any} error the result of `packed` @returns {any} the error */
function unpacked({ name, message, cause, value }) {
  if (message === undefined) return value
  const error = new (ERRORS[name] ?? Error)(message, cause && { cause: unpacked(cause) })
  if (error.name !== name) error.name = name
  return error
}

/**
 * Connects this side with the other.
 *
 * @param {any} port a worker or, in a worker, the global object
 * @param {Record<string, (...args: any[]) => any>} functions the functions that the other side can call
 * @returns {(name: string, ...args: any[]) => Promise<any>} calls a function of the other side
 */
export function connect(port, functions) {
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: any) => void }>} */
  const calls = emptyMap()
  let last = 0
  port.onmessage = async (/** @type {any} */ { data: { id, name, args, result, error } }) => {
    if (name === undefined) {
      const call = calls.get(id)
      calls.delete(id)
      if (error) call?.reject(unpacked(error))
      else call?.resolve(result)
      return
    }
    try {
      port.postMessage({ id, result: await apply(functions[name], undefined, args) })
    } catch (error) {
      port.postMessage({ id, error: packed(error) })
    }
  }
  return (name, ...args) => new Promise((resolve, reject) => {
    calls.set(++last, { resolve, reject })
    port.postMessage({ id: last, name, args })
  })
}
