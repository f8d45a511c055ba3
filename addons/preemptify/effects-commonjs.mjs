/**
 * addons/preemptify/effects-commonjs.mjs: the objects `module` and `exports` of CommonJS files.
 *
 * `require` of a known file returns the objects that the file assigns to `module.exports`. An exports object
 * is an object whose properties other texts read by their names, like the exports of a module. The analysis
 * knows the properties that known texts assign. It ignores that an unknown text may replace such a property;
 * any other property of an exports object may hold an unknown object.
 */

import { parameterOfFile } from './commonjs.mjs'
import { add, declare, each, loadField, outerFlow, put, setExports } from './effects-flow.mjs'
import { SHARED, SITE, newFlow, newSite, newSlot } from './effects-roots.mjs'
import { forEach } from './primordials.mjs'
/** @import { Effects, Flow } from './effects-roots.mjs' */
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
export function newExports(node) {
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
