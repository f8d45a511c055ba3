/**
 * addons/preemptify/effects-interop.mjs: code that compilers emit to turn modules into CommonJS files.
 *
 * Babel, TypeScript, SWC, Rollup and esbuild define exports by getters, and convert required files by helpers
 * with conventional names. These helpers loop over property names, so their own code would make all exports
 * one set. A converted file is the exports object if the file has `__esModule`. Otherwise it is a new object
 * whose `default` is the exports object.
 */

import { isMember, keyOf } from './calls.mjs'
import { declareIn, isExports, newExports } from './effects-commonjs.mjs'
import { COPY, add, each, put, release, spreadInto, store, whenStable } from './effects-flow.mjs'
import { SHARED, SITE, newFlow } from './effects-roots.mjs'
import { find, forEach, matches, push } from './primordials.mjs'
import { isFunctionNode } from './scopes.mjs'
/** @import { Effects, Flow, Root } from './effects-roots.mjs' */
/** @import { Node } from './scopes.mjs' */

/**
 * An export that a call defines. `value` is the value, or the expression that the getter returns.
 *
 * @typedef {{ name: string, value: Node | null, getter: Node | null }} Defined
 */

/** Helpers that return a required file, whose `default` is the default export. */
const DEFAULT = /^(?:__importDefault|_interopRequireDefault|_interop_require_default|_interopDefault\w*)$/
/** The same, with copies of the other exports. */
const STAR = /^(?:__importStar|__toESM|_interop(?:RequireWildcard|_require_wildcard|Namespace\w*))$/
/** Helpers that copy exports: from the first to the second argument, or from the second to the first. */
const EXPORT_STAR = /^(?:__exportStar|_export_star)$/
const RE_EXPORT = /^__reExport$/
/** A helper that marks an object as a module, and returns a copy. */
const TO_COMMON = /^__toCommonJS$/

/** @param {Node} callee @returns {string} the name of a called function; empty: none */
function nameOfCallee(callee) {
  const { type, name, expression, expressions } = callee
  if (type === 'SequenceExpression') return nameOfCallee(expressions[expressions.length - 1])
  if (type === 'ParenthesizedExpression') return nameOfCallee(expression)
  return type === 'Identifier' ? name : isMember(callee) ? keyOf(callee) ?? '' : ''
}

/**
 * Returns the exports that a call defines in the form that compilers emit, for example
 * `Object.defineProperty(exports, 'sum', { enumerable: true, get: function () { return sum } })`. The helpers
 * `__export` (esbuild) and `_export` (SWC) define getters by an object with a function for each name.
 *
 * @param {Node} call @param {Node} tree the tree of the text
 * @returns {Defined[] | null} null: another call
 */
export function exportsDefinedBy({ callee, arguments: list }, tree) {
  if (!tree.commonJS || !callee || list.length < 2) return null
  const { 0: target, 1: second, 2: descriptor } = list
  if (isMember(callee) && keyOf(callee) === 'defineProperty') {
    if (descriptor?.type !== 'ObjectExpression' || typeof second.value !== 'string' ||
      !isExports(target, tree)) return null
    const defined = definedBy(second.value, descriptor)
    return defined && [defined]
  }
  const name = nameOfCallee(callee)
  if (name !== '__export' && (name !== '_export' || !isExports(target, tree))) return null
  if (second.type !== 'ObjectExpression') return null
  /** @type {Defined[]} */
  const all = []
  forEach(second.properties, ({ key, computed, value }) => {
    const returned = value && !computed && isFunctionNode(value) ? returnedBy(value) : null
    if (returned) push(all, { name: key.name ?? `${key.value}`, value: returned, getter: value })
  })
  return all.length === second.properties.length ? all : null
}

/** @param {string} name @param {Node} descriptor @returns {Defined | null} null: it is not plain */
function definedBy(name, { properties }) {
  if (find(properties, isOther)) return null
  const part = (/** @type {string} */ attribute) =>
    find(properties, ({ key }) => key.name === attribute)?.value ?? null
  const getter = part('get')
  if (getter === null) return { name, value: part('value'), getter }
  const value = isFunctionNode(getter) ? returnedBy(getter) : null
  return value && { name, value, getter }
}

/** Whether a property of a descriptor is not a plain attribute. @param {Node} property */
const isOther = ({ type, kind, computed, key }) => type !== 'Property' || kind !== 'init' || computed ||
  !matches(/^(?:configurable|enumerable|get|value|writable)$/, key.name ?? '')

/** @param {Node} getter @returns {Node | null} the returned expression, if the function has no other code */
function returnedBy({ body }) {
  if (body.type !== 'BlockStatement') return body
  const { length, 0: statement } = body.body
  return length === 1 && statement.type === 'ReturnStatement' ? statement.argument : null
}

/**
 * Stores exports in their object.
 *
 * @param {Flow | null} target @param {Defined[]} defined @param {Effects} f @returns {Flow | null} the object
 */
export function defineExports(target, defined, f) {
  forEach(defined, ({ name, value, getter }) => {
    if (getter) release(getter.plan.effects.site)
    if (value?.flow) store(target, value.flow, f, name)
    declareIn(target, name)
  })
  return target
}

/**
 * The effects of a call of a helper.
 *
 * @param {Node} call @param {(Flow | null)[]} args @param {Effects} f @param {Node} tree the tree of the text
 * @returns {Flow | null | undefined} the result; undefined: another call
 */
export function callHelper({ callee, arguments: list }, args, f, tree) {
  if (!tree.commonJS || args.length === 0 || !args[0]) return undefined
  const name = nameOfCallee(callee)
  const { 0: first, 1: second = null } = args
  if (matches(DEFAULT, name) && args.length === 1) return converted(callee, first, false, false, f)
  if (matches(STAR, name)) return converted(callee, first, true, list.length > 1 && name === '__toESM', f)
  if (matches(EXPORT_STAR, name) && second) {
    store(second, first, f, COPY)
    return null
  }
  if (matches(RE_EXPORT, name) && second) {
    for (let i = 0; i < args.length; i++) if (i !== 1) store(args[i], second, f, COPY)
    return null
  }
  if (!matches(TO_COMMON, name)) return undefined
  declareIn(first, '__esModule')
  return first
}

/**
 * Returns a required file as a module.
 *
 * @param {Node} node @param {Flow} flow the exports object
 * @param {boolean} hasAll whether a new object gets copies of the exports
 * @param {boolean} isNew whether the result is a new object also for a file with `__esModule`
 * @param {Effects} f
 * @returns {Flow}
 */
function converted(node, flow, hasAll, isNew, f) {
  const to = newFlow()
  const wrapper = newExports(node)
  const { of: site } = wrapper.roots[0]
  const wrap = (/** @type {Root} */ root) => {
    const one = newFlow()
    add(one, root)
    put(site, one, f, 'default')
    if (hasAll) spreadInto(site, one, f)
    add(to, site.root)
  }
  each(flow, root => {
    const { kind, of } = root
    if (kind !== SITE && kind !== SHARED) {
      wrap(root)
      add(to, root)
    } else whenStable(() => {
      if (!isNew && of.declared?.has('__esModule')) add(to, root)
      else wrap(root)
    })
  })
  return to
}
