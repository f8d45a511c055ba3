/**
 * addons/preemptify/effects-commonjs.mjs: the objects `module` and `exports` of CommonJS files.
 *
 * `require` of a known file returns the objects that the file assigns to `module.exports`. An exports object
 * is an object whose properties other texts read by their names, like the exports of a module. The analysis
 * knows the properties that known texts assign. It ignores that an unknown text may replace such a property;
 * any other property of an exports object may hold an unknown object.
 */

import { isMember, keyOf } from './calls.mjs'
import { parameterOfFile } from './commonjs.mjs'
import {
  SHARED, SITE, add, declare, each, loadField, newFlow, newSite, newSlot, outerFlow, put, setExports
} from './effects-flow.mjs'
import { find, forEach, matches } from './primordials.mjs'
import { isFunctionNode } from './scopes.mjs'
/** @import { Effects, Flow } from './effects-flow.mjs' */
/** @import { Unit } from './effects-names.mjs' */
/** @import { Node } from './scopes.mjs' */

/**
 * The objects of a CommonJS file.
 *
 * @typedef {object} CommonJS
 * @property {Flow} exports the initial value of `module.exports`
 * @property {Flow} module
 * @property {Flow} outer `module`, as other files reach it
 */

/** @param {Node} node @returns {Flow} a new exports object */
function newExports(node) {
  const flow = newFlow()
  const site = newSite('object', node)
  setExports(site)
  add(flow, site.root)
  return flow
}

/** @param {Unit | any} unit a CommonJS file @returns {CommonJS} */
export function commonOf(unit) {
  if (unit.common) return unit.common
  const wrapper = unit.tree.commonJS
  const { effects } = wrapper.plan
  const exports = newExports(wrapper.params[0])
  const module = newExports(wrapper.params[2])
  put(module.roots[0].of, exports, effects, 'exports')
  const slot = newSlot(null, 'module', null, wrapper.params[2])
  return unit.common = { exports, module, outer: outerFlow(module, slot) }
}

/** @param {Unit} unit a CommonJS file @param {Effects} f @returns {Flow} the result of `require` */
export const requiredFlow = (unit, f) => loadField(commonOf(unit).outer, f, 'exports')

/**
 * Whether an expression is `exports` or `module.exports`.
 *
 * @param {Node} node @param {Node} tree the tree of the text
 */
export function isExports({ type, variable, object, computed, property }, { commonJS }) {
  if (!commonJS) return false
  if (type === 'Identifier') return variable === parameterOfFile(commonJS, 'exports')
  return type === 'MemberExpression' && !computed && property.name === 'exports' &&
    object.type === 'Identifier' && object.variable === parameterOfFile(commonJS, 'module')
}

/**
 * Records an assignment to `exports` or `module.exports`.
 *
 * @param {Unit | any} unit @param {Node} value the assigned expression
 */
export function replaceExports(unit, value) {
  if (!isExports(value, unit.tree)) commonOf(unit).exports.roots[0].of.isReplaced = true
  if (value.flow) each(value.flow, ({ kind, of }) => {
    if (kind !== SITE || of.kind !== 'object' || of.properties === null) return
    setExports(of)
    if (of.node.type === 'ObjectExpression') forEach(of.node.properties, ({ key, computed }) => {
      if (key && !computed) declare(of, key.name ?? `${key.value}`)
    })
  })
}

/**
 * Records that a known text assigns a primitive value to a property.
 *
 * @param {Flow | null} object @param {string} name
 */
export function declareIn(object, name) {
  if (object && name !== '') each(object, ({ kind, of }) => {
    if (kind === SITE || kind === SHARED) declare(of, name)
  })
}

/**
 * Returns the export that a call defines, in the form that compilers emit. For example,
 * `Object.defineProperty(exports, 'sum', { enumerable: true, get: function () { return sum } })`. The result
 * is null for another call.
 *
 * @param {Node} call @param {Node} tree the tree of the text
 * @returns {{ name: string, value: Node | null, getter: Node | null } | null} `value` is the value, or the
 *   expression that the getter returns
 */
export function exportDefinedBy({ callee, arguments: list }, tree) {
  if (!tree.commonJS || !callee || !isMember(callee) || keyOf(callee) !== 'defineProperty') return null
  const { 0: target, 1: key, 2: descriptor } = list
  if (descriptor?.type !== 'ObjectExpression' || typeof key.value !== 'string' || !isExports(target, tree) ||
    find(descriptor.properties, isOther)) return null
  const part = (/** @type {string} */ name) =>
    find(descriptor.properties, property => property.key.name === name)?.value ?? null
  const getter = part('get')
  if (getter === null) return { name: key.value, value: part('value'), getter }
  const value = isFunctionNode(getter) ? returnedBy(getter) : null
  return value && { name: key.value, value, getter }
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
