import { preemptify } from '../../addons/preemptify.mjs'

/**
 * What a text means that someone pasted.
 *
 * @typedef {object} Pasted
 * @property {string} name of the function that is run: the last one
 * @property {Function} fn
 * @property {Map<string, Function>} functions that the text declares, by name
 * @property {(source: string) => any} evaluate evaluates where the functions see each other
 */

const noFunction = 'There is no function in this text.'

// Parameters would hide variables of the text; `arguments` hides none that a function could see.
const evaluator = 'function () { return eval(arguments[0]) }'

/**
 * Reads a text that holds function declarations, one function expression, or one method.
 *
 * @param {string} pastedText
 * @param {{ strict?: boolean }} [options] strict: whether the text is strict without saying so
 * @returns {Pasted}
 * @throws {SyntaxError} when the text is none of these
 * @throws {TypeError} when it holds no function
 * @throws {EvalError} when the page's Content-Security-Policy forbids evaluation
 */
export function read(pastedText, { strict = false } = {}) {
  const mode = strict ? "'use strict'; " : ''
  // Much of what is pasted was a module's.
  const text = pastedText.replace(/^export\s+(?:default\s+)?/gm, '')
  const declared = compiled(`${mode}${text}\nreturn ${evaluator}`)
  if (!(declared instanceof SyntaxError)) {
    const evaluate = declared()
    const functions = declaredFunctions(text, evaluate)
    const [name, fn] = [...functions].pop() ?? []
    if (fn) return { name, fn, functions, evaluate }
  }
  const expression = compiled(`${mode}return [(${text}\n), ${evaluator}]`)
  if (!(expression instanceof SyntaxError)) {
    const [fn, evaluate] = expression()
    if (typeof fn !== 'function') throw new TypeError(noFunction)
    return { name: fn.name, fn, functions: new Map(), evaluate }
  }
  const method = compiled(`${mode}return [{ ${text}\n}, ${evaluator}]`)
  if (!(method instanceof SyntaxError)) {
    const [object, evaluate] = method()
    const [{ value, get, set } = {}] = Object.values(Object.getOwnPropertyDescriptors(object)).reverse()
    const fn = value ?? get ?? set
    if (typeof fn === 'function') return { name: fn.name, fn, functions: new Map(), evaluate }
  }
  // A function expression without a name is none that could be declared.
  const isExpression = /^\s*(?:async\s+)?function\s*\*?\s*\(|^\s*\(/.test(text)
  throw complaint(isExpression ? `(${text}\n)` : text) ??
    (declared instanceof SyntaxError ? declared : new TypeError(noFunction))
}

/** What is wrong with the text alone, whatever stood around it when it was compiled. @param {string} text */
function complaint(text) {
  try {
    (0, eval)(`throw null; ${text}`)
  } catch (error) {
    return error ?? undefined
  }
}

/** @param {string} body */
function compiled(body) {
  try {
    return new Function(body)
  } catch (error) {
    if (error instanceof SyntaxError) return error
    throw error
  }
}

/** The text's own functions, in its order. @param {string} text @param {(source: string) => any} evaluate */
function declaredFunctions(text, evaluate) {
  const functions = new Map()
  // What looks like a declaration is asked for where the text is: nested names are not there.
  const declaration = /(?:\b(?:class|const|let|var)\s+|\bfunction\s*\*?\s*)([\p{L}_$][\p{L}\p{N}_$]*)/gu
  for (const [, name] of text.matchAll(declaration)) {
    let value
    try {
      value = evaluate(name)
    } catch {
      continue
    }
    if (typeof value !== 'function' || value === globalThis[name]) continue
    functions.delete(name)
    functions.set(name, value)
  }
  return functions
}

/**
 * @param {Pasted} pasted
 * @param {string} list arguments, as one writes them in a call
 * @returns {any[]} fresh ones
 */
export const argumentsOf = ({ evaluate }, list) => evaluate(`[${list}\n]`)

/**
 * The functions of a text, made preemptible and linked with each other.
 *
 * @typedef {object} Rewritten
 * @property {(...args: any[]) => Generator} work what is run
 * @property {{ name: string, before: string, after: string }[]} texts of each rewritten function, first the
 *   one that is run
 * @property {{ name: string, reason: string }[]} left functions that stay as they are, and why
 *
 * @param {Pasted} pasted
 * @param {{ budgeted?: boolean }} [options]
 * @returns {Rewritten}
 * @throws what preemptify throws of the function that is run
 */
export function rewrite({ fn, functions, evaluate }, { budgeted = true } = {}) {
  const left = []
  const names = new Set([...functions].filter(([, value]) => !isClass(value)).map(([name]) => name))
  for (;;) {
    /** @type {Record<string, any>} */
    const calls = Object.fromEntries([...names].map(name => [name, undefined]))
    const failed = [...names].find(name => {
      try {
        calls[name] = preemptify(functions.get(name), { evaluate, calls, budgeted })
        return false
      } catch (error) {
        if (functions.get(name) === fn) throw error
        left.push({ name, reason: error.message })
        return true
      }
    })
    if (failed !== undefined) {
      // Who calls it has to be told that it is not preemptible.
      names.delete(failed)
      continue
    }
    const work = Object.values(calls).pop() ?? preemptify(fn, { evaluate, budgeted })
    const others = Object.entries(calls).filter(([, other]) => other !== work)
    const before = name => String(functions.get(name))
    const texts = [
      { name: fn.name, before: String(fn), after: work.source },
      ...others.map(([name, { source }]) => ({ name, before: before(name), after: source }))
    ]
    return { work, texts, left }
  }
}

const isClass = fn => /^class\b/.test(String(fn)) && fn.prototype !== undefined

/** What went wrong with a text, in words for whoever pasted it. @param {any} error @returns {string} */
export function explain(error) {
  if (error instanceof EvalError) {
    return error.message.startsWith('preemptify') ? error.message
      : "This page may not evaluate text: its Content-Security-Policy has no 'unsafe-eval' in script-src. " +
        'preemptify needs it too; without it, write generators by hand: function*, with a yield in loops.'
  }
  if (error instanceof SyntaxError && !error.message.startsWith('preemptify')) {
    return `This is not JavaScript yet: ${error.message}`
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
