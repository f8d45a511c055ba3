import { preemptify } from '../../addons/preemptify.mjs'

/**
 * A pasted text, evaluated.
 *
 * @typedef {object} Pasted
 * @property {string} name name of the function to run: the last one of the text
 * @property {Function} fn
 * @property {Map<string, Function>} functions declared functions by name
 * @property {(source: string) => any} evaluate evaluates in the scope of the functions
 */

const noFunction = 'There is no function in this text.'

// Uses `arguments`, because a named parameter would shadow a variable of the text.
const evaluator = 'function () { return eval(arguments[0]) }'

/**
 * Reads a text that contains function declarations, one function expression, or one method.
 *
 * @param {string} pastedText
 * @param {{ strict?: boolean }} [options] `strict`: whether to read the text as strict code
 * @returns {Pasted}
 * @throws {SyntaxError} if the text cannot be parsed as one of these
 * @throws {TypeError} if the text contains no function
 * @throws {EvalError} if the page's Content-Security-Policy forbids evaluation
 */
export function read(pastedText, { strict = false } = {}) {
  const mode = strict ? "'use strict'; " : ''
  // Texts copied from a module may start with `export`.
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
  // A function expression without a name is not a valid declaration.
  const isExpression = /^\s*(?:async\s+)?function\s*\*?\s*\(|^\s*\(/.test(text)
  throw complaint(isExpression ? `(${text}\n)` : text) ??
    (declared instanceof SyntaxError ? declared : new TypeError(noFunction))
}

/** Returns the error of evaluating the text alone, without the code that read() adds. @param {string} text */
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

/**
 * Returns the text's functions in their order.
 *
 * @param {string} text @param {(source: string) => any} evaluate
 */
function declaredFunctions(text, evaluate) {
  const functions = new Map()
  // Each name that may be declared is evaluated in the scope of the text, where nested names do not exist.
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
 * @param {string} list source of the arguments
 * @returns {any[]} new values
 */
export const argumentsOf = ({ evaluate }, list) => evaluate(`[${list}\n]`)

/**
 * Makes the functions of a text preemptible and links them with each other.
 *
 * @typedef {object} Rewritten
 * @property {(...args: any[]) => Generator} work the function to run
 * @property {{ name: string, before: string, after: string }[]} texts texts of the rewritten functions,
 *   starting with the function to run
 * @property {{ name: string, reason: string }[]} left functions that cannot be rewritten, with the reasons
 *
 * @param {Pasted} pasted
 * @param {{ budgeted?: boolean }} [options]
 * @returns {Rewritten}
 * @throws if preemptify rejects the function to run
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
      // Rewrite all functions again: callers must call this one plainly.
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

/** Explains an error to the author of a text. @param {any} error @returns {string} */
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
