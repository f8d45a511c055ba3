/**
 * addons/preemptify/commonjs.mjs: CommonJS files.
 *
 * A CommonJS file is rewritten as a script that consists of one call, the wrapper, so that `return` and the
 * variables of the file stay inside of a function:
 *
 *   (function (exports, require, module, __filename, __dirname) {...}).call(this, exports, require, ...)
 */

import { forEach, push, slice, startsWith } from './primordials.mjs'
import { read } from './read.mjs'
import { analyseScopes, isFixed } from './scopes.mjs'
/** @import { Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */

const PARAMETERS = 'exports, require, module, __filename, __dirname'

/**
 * Returns a CommonJS file as a script with unchanged line numbers.
 *
 * @param {string} text
 */
export function wrapped(text) {
  const body = startsWith(text, '#!') ? `//${slice(text, 2)}` : text
  return `(function (${PARAMETERS}) {${body}\n}).call(this, ${PARAMETERS})`
}

/**
 * Reads a text, with resolved names. The tree of a CommonJS file has the wrapper as `commonJS`.
 *
 * @param {string} text the text; for a CommonJS file, the script
 * @param {'module' | 'script' | 'commonjs'} type
 * @returns {any}
 */
export function readTree(text, type) {
  const tree = read(text, type === 'commonjs' ? 'script' : type)
  analyseScopes(tree)
  if (type !== 'commonjs') return tree
  const { body: { length, 0: { expression } } } = tree
  if (length !== 1) throw new SyntaxError('a brace closes the file')
  const { object } = expression.callee
  // With `arguments`, the file can assign its parameters by other names.
  if (!object.facts.usesArguments) tree.commonJS = object
  return tree
}

/**
 * Returns the variable of a parameter of the wrapper.
 *
 * @param {Node} wrapper @param {'exports' | 'require' | 'module'} name
 * @returns {Variable}
 */
export const parameterOfFile = (wrapper, name) =>
  wrapper.params[name === 'exports' ? 0 : name === 'require' ? 1 : 2].variable

/**
 * Returns the constant specifier of a call of `require`; null: not known.
 *
 * @param {Node} tree the tree of the text @param {Node} call
 * @returns {string | null}
 */
export function requiredBy({ commonJS }, { type, callee, arguments: list }) {
  if (!commonJS || type !== 'CallExpression' || callee.type !== 'Identifier') return null
  const require = parameterOfFile(commonJS, 'require')
  if (callee.variable !== require || !isFixed(require) || require.declarations.length > 1) return null
  return typeof list[0]?.value === 'string' ? list[0].value : null
}

/**
 * Lists the calls of `require` in a CommonJS file.
 *
 * @param {Node} tree @param {Plan[]} plans
 * @returns {{ specifier: string, isOnce: boolean }[]} `isOnce`: whether the call runs while the file loads
 */
export function requiresIn(tree, plans) {
  /** @type {{ specifier: string, isOnce: boolean }[]} */
  const found = []
  forEach(plans, ({ facts, isOnce }) => forEach(facts.calls, call => {
    const specifier = requiredBy(tree, call)
    if (specifier !== null) push(found, { specifier, isOnce })
  }))
  return found
}
