/**
 * addons/preemptify/event-use.mjs: analyses how a listener uses its event.
 *
 * Some members of an event work only during its dispatch: `preventDefault` and its siblings, the path, and
 * the data of a drag or of the clipboard. A listener that uses these members stays in its event until the
 * last use. If the listener passes the event to other code, the listener stays in the event to its end,
 * because that code may use the event at any time.
 *
 *   DATA       the listener reads only data that the event keeps: `event.target.value`
 *   UNTIL_USE  the last use of the event is a statement of the body: `event.preventDefault()`
 *   TO_END     the listener uses the event later, or passes it on: `this.event = event`, `notify(event)`
 *
 * The twin executes `budget.e=event` after the statement with the last use.
 */

import { STATEMENT_EDGE, insert } from './edits.mjs'
import { emptyMap, find, matches } from './primordials.mjs'
import { targetOf } from './calls.mjs'
import { isFunctionNode } from './scopes.mjs'
/** @import { Emitter, Plan } from './calls.mjs' */
/** @import { Node, Variable } from './scopes.mjs' */

const DATA = 0
const UNTIL_USE = 1
const TO_END = 2

/**
 * @typedef {{ kind: number, last: Node | null }} EventUse `last`: the statement with the last use, or the
 *   body if nothing follows that statement
 */

/** Members of an event that work only while the event is dispatched. */
const BOUND_TO_DISPATCH = /* @__PURE__ */ new RegExp('^(?:preventDefault|stopPropagation|' +
  'stopImmediatePropagation|composedPath|returnValue|cancelBubble|dataTransfer|clipboardData|' +
  'waitUntil|respondWith|intercept|path)$')

const ONLY_DATA = /** @type {EventUse} */ ({ kind: DATA, last: null })
const TO_THE_END = /** @type {EventUse} */ ({ kind: TO_END, last: null })

/**
 * Returns how a function uses its first parameter, assuming that the parameter is an event.
 *
 * @param {Plan} plan @returns {EventUse}
 */
export function eventUse(plan) {
  const use = useOf(plan, 0, emptyMap())
  return use.last === plan.node.body ? TO_THE_END : use
}

/**
 * @param {Plan} plan @param {number} index the index of the parameter
 * @param {Map<string, EventUse>} known the uses of visited parameters
 * @returns {EventUse}
 */
function useOf(plan, index, known) {
  const { node, facts } = plan
  const key = `${node.start} ${index}`
  const found = known.get(key)
  if (found !== undefined) return found
  known.set(key, ONLY_DATA) // a recursive call adds no use
  const { params } = node
  const usesArguments = facts.usesArguments && !facts.isArrow
  const param = params[index]
  const hasRest = params[params.length - 1]?.type === 'RestElement' && index >= params.length - 1
  const use = usesArguments || facts.usesEval || facts.hasWith || hasRest ? TO_THE_END
    : param === undefined ? ONLY_DATA
    : usesOfPattern(plan, param.type === 'AssignmentPattern' ? param.left : param, known)
  known.set(key, use)
  return use
}

/** @param {Plan} plan @param {Node} pattern @param {Map<string, EventUse>} known @returns {EventUse} */
function usesOfPattern(plan, pattern, known) {
  if (pattern.type === 'ObjectPattern') return readsOnlyData(pattern) ? ONLY_DATA : TO_THE_END
  if (pattern.type !== 'Identifier') return TO_THE_END
  const variable = /** @type {Variable} */ (pattern.variable)
  if (!variable || variable.isAssigned || variable.isDynamic || variable.declarations.length > 1) {
    return TO_THE_END
  }
  /** @type {Node | null} */
  let last = null
  const isTooWide = find(variable.references, id => {
    const kind = kindOfUse(id, known)
    if (kind === DATA) return false
    const statement = kind === TO_END ? null : statementOf(id, plan)
    if (statement === null) return true
    if (last === null || statement.end > last.end) last = statement
    return false
  })
  if (isTooWide !== undefined) return TO_THE_END
  return last === null ? ONLY_DATA : { kind: UNTIL_USE, last }
}

/** Whether a pattern reads only members that keep their values. @param {Node} pattern */
function readsOnlyData({ properties }) {
  const isBound = (/** @type {Node} */ { type, key, computed }) =>
    type === 'RestElement' || computed || matches(BOUND_TO_DISPATCH, `${key.name ?? key.value}`)
  return find(properties, isBound) === undefined
}

/**
 * Returns how a reference uses an event.
 *
 * @param {Node} id @param {Map<string, EventUse>} known @returns {number}
 */
function kindOfUse(id, known) {
  const { parent } = id
  const isData = (/** @type {boolean} */ isData) => isData ? DATA : TO_END
  switch (parent.type) {
    case 'AssignmentPattern': return isData(parent.left === id)
    case 'MemberExpression': return parent.object === id ? kindOfMember(parent) : TO_END
    case 'UnaryExpression': case 'IfStatement': return DATA
    case 'BinaryExpression': return isData(matches(/^[!=]==?$/, parent.operator)) // events are not numbers
    case 'LogicalExpression': return isData(parent.left === id && parent.operator === '&&')
    case 'ConditionalExpression': return isData(parent.test === id)
    case 'VariableDeclarator': return isData(parent.id.type === 'ObjectPattern' && readsOnlyData(parent.id))
    case 'CallExpression': return kindOfCall(id, parent, known)
    default: return TO_END
  }
}

/** @param {Node} member a member of an event @returns {number} */
function kindOfMember({ property, computed }) {
  if (computed && typeof property.value !== 'string') return TO_END
  return matches(BOUND_TO_DISPATCH, computed ? property.value : property.name) ? UNTIL_USE : DATA
}

/**
 * Returns how a call uses an event among its arguments.
 *
 * @param {Node} id the argument @param {Node} call @param {Map<string, EventUse>} known @returns {number}
 */
function kindOfCall(id, call, known) {
  const { callee, arguments: given } = call
  const target = callee === id ? null : targetOf(call)
  if (target === null || target.facts.isAsync || target.facts.isGenerator) return TO_END
  for (let i = 0; given[i].type !== 'SpreadElement'; i++) {
    if (given[i] !== id) continue
    return useOf(target, i, known).kind
  }
  return TO_END
}

/**
 * Returns the statement of the function body that contains a node.
 *
 * @param {Node} node @param {Plan} plan
 * @returns {Node | null} the body itself, if nothing follows the statement; null if a closure can run later
 */
function statementOf(node, { node: { body } }) {
  while (node.parent !== body && node !== body) {
    node = node.parent
    if (isFunctionNode(node)) return null
  }
  return body.type !== 'BlockStatement' || node === body.body[body.body.length - 1] ? body : node
}

/**
 * Returns the number with which a function is registered. The default 0 adds no text: by default a function
 * with parameters stays in its event to its end, and a function without parameters leaves its event.
 *
 * @param {Plan} plan
 */
export function codeOfUse({ eventUse: { kind }, node: { params } }) {
  const hasLength = params.length > 0 && params[0].type !== 'AssignmentPattern' &&
    params[0].type !== 'RestElement'
  return kind === (hasLength ? TO_END : DATA) ? 0 : kind + 1
}

/** Keeps the functions around a reference to `window.event` in their events. @param {Node} id */
export function noteWindowEvent(id) {
  for (let around = id.parent; around; around = around.parent) {
    if (isFunctionNode(around) && around.plan.isLong) around.plan.eventUse = TO_THE_END
  }
}

/**
 * Whether a twin reports its last use of the event. Frame form moves statements, so such a twin is a
 * generator.
 *
 * @param {EventUse | undefined} use undefined for a function that `preemptify(fn)` rewrites
 */
export const saysLastUse = use => use?.kind === UNTIL_USE

/**
 * Adds the report of the last use of the event to a twin.
 *
 * @param {Emitter} emitter @param {Plan} plan
 */
export function markLastUse(emitter, plan) {
  const { kind, last } = plan.eventUse
  if (kind !== UNTIL_USE || last === null) return
  const { 0: param } = plan.node.params
  const { name } = param.type === 'AssignmentPattern' ? param.left : param
  insert(emitter, last.end, -STATEMENT_EDGE, last.start, `;${emitter.budget}.e=${name};`)
}
