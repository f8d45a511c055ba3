/**
 * addons/preemptify/effects-whole.mjs: packages whose functions claim the whole package, without an analysis.
 *
 * A function claims the package exclusively if the function may use more than its own variables, its
 * arguments, the objects that it makes, and the results of its calls. The caller guards the arguments, as in
 * effects.mjs. Each callee claims for itself, and keeps the claim until the stay ends. One pass over the
 * references finds these functions.
 */

import { targetOf } from './calls.mjs'
import { ENGINE, PRIMITIVE_NAME } from './effects-tables.mjs'
import { codeAt, emptyMap, emptySet, find, forEach, keysOf, listOf, matches, push } from './primordials.mjs'
import { isFixed, seemsFixed } from './scopes.mjs'
/** @import { Claim, Location } from './effects.mjs' */
/** @import { Plan } from './calls.mjs' */
/** @import { Facts, Node, Variable } from './scopes.mjs' */

/**
 * `functions`: the maximum number of functions of a package that is analysed. The analysis is 5 to 10 times
 * slower than acorn's parse, and the walk over the tree takes half of the time. So the decision comes before
 * the walk. elk-worker.min.js has 11,158 functions, babel.min.js 7,515, math.js 3,969, and three.core.js
 * 1,897 (bench/compile).
 */
export const limits = { functions: 6000 }

/**
 * Whether a package has too many functions for an analysis.
 *
 * @param {{ plans: Plan[] }[]} units the texts of the package
 */
export function isTooLarge(units) {
  let count = 0
  for (let i = 0; i < units.length; i++) count += units[i].plans.length
  return count > limits.functions
}

/** All state of a package. @type {Location} */
export const WHOLE = {
  kind: 'object', name: 'the package', variable: null, node: /** @type {any} */ (null), unit: '', owner: null,
  isContested: true, isOpen: false, isExported: false, isExempt: false, aliases: [], site: null, group: null,
  isOfParameter: false
}
push(WHOLE.aliases, WHOLE)

/** Returns an exclusive claim. @param {Location} location @returns {Claim} */
export const claimOf = location => ({ location, isExclusive: true, guard: '', isForFunctions: false })

/**
 * Lets the functions of a text claim the whole package.
 *
 * @param {Plan[]} plans @param {string} text the text of the module or script
 * @param {boolean} [isRule] whether the option `exclusive` lets each function claim; default: only functions
 *   that may use state
 */
export function claimWhole(plans, text, isRule = false) {
  const users = isRule ? emptySet() : usersOfState(plans, text)
  forEach(plans, plan => {
    const { node: { params = [] }, facts, isOnce } = plan
    const { isArrow, usesThis, usesSuper, usesArguments, usesEval } = facts
    plan.claims = isRule && !isOnce || users.has(plan) ? [claimOf(WHOLE)] : []
    plan.isExposed = !isOnce
    /** @type {boolean[]} */
    const parameters = []
    forEach(params, param => push(parameters, usesArguments || usesEval || mayUse(param)))
    const hasRest = params[params.length - 1]?.type === 'RestElement'
    plan.changes = { this: !isArrow && (usesThis || usesSuper), parameters, others: usesArguments || hasRest }
  })
}

/**
 * Finds the functions that may use variables of other functions, or arguments after the stay of the call.
 *
 * @param {Plan[]} plans @param {string} text @returns {Set<Plan>}
 */
function usersOfState(plans, text) {
  const { free, imports } = plans[0].node
  /** @type {Set<Plan>} */
  const users = emptySet()
  const add = (/** @type {Facts} */ { node: { plan } }) => { if (!plan.isOnce) users.add(plan) }
  forEach(plans, ({ facts }) => {
    const { isAsync, isGenerator, usesEval, usesSuper, hasWith, scopes } = facts
    // After a stay has ended, the arguments are no longer guarded.
    if (isAsync || isGenerator || usesEval || usesSuper || hasWith) add(facts)
    forEach(scopes, ({ declared }) => forEach(declared, variable => {
      if (!variable.isCaptured) return
      forEach(variable.references, id => {
        if (id.scope.facts === facts || isSafe(variable, id, text)) return
        add(id.scope.facts)
        add(facts) // shares its variable with the inner function
      })
    }))
  })
  forEach(imports, ({ facts }) => add(facts))
  forEach(keysOf(free), name => forEach(free[name], id => { if (!isSafeName(id)) add(id.scope.facts) }))
  addCallers(plans, users)
  return users
}

/**
 * Adds the functions that call a short function of the set by its name. A short function cannot wait, so the
 * caller claims before the call.
 *
 * @param {Plan[]} plans @param {Set<Plan>} users
 */
function addCallers(plans, users) {
  /** The callers of each short function. @type {Map<Plan, Plan[]>} */
  const callers = emptyMap()
  forEach(plans, plan => forEach(plan.facts.calls, call => {
    const target = targetOf(call)
    if (target === null || target.isLong || plan.isOnce) return
    const list = callers.get(target)
    if (list) push(list, plan)
    else callers.set(target, [plan])
  }))
  const list = listOf(users)
  for (let i = 0; i < list.length; i++) {
    forEach(callers.get(list[i]) ?? [], plan => {
      if (users.has(plan)) return
      users.add(plan)
      push(list, plan)
    })
  }
}

/** Whether a function may use the object in a parameter. @param {Node} param */
function mayUse(param) {
  const id = param.type === 'AssignmentPattern' ? param.left : param
  return id.type !== 'Identifier' || find(id.variable.references, isUsedAsObject) !== undefined
}

/**
 * Whether a reference can use the contents of an object. An operand of arithmetic, a key, a condition, a
 * callee and a result of the function cannot.
 *
 * @param {Node} reference
 */
export function isUsedAsObject(reference) {
  const { type, operator, property, callee, test, body } = reference.parent
  if (reference.isWritten === true) return false
  if (matches(/^(?:Update|Sequence|Template|Return|ExpressionSt)/, type)) return false
  if (type === 'UnaryExpression') return false
  if (type === 'BinaryExpression') return operator === 'in'
  return property !== reference && callee !== reference && test !== reference && body !== reference
}

/** Whether a value is only called. @param {Node} node */
const isCallee = node => node.parent.callee === node || node.parent.tag === node

const SLASH = 47

/**
 * Whether a reference from an inner function uses no state: a call of a constant function, or a constant with
 * a primitive value.
 *
 * @param {Variable} variable @param {Node} id @param {string} text the text of the module or script
 */
function isSafe(variable, id, text) {
  const { kind, declarations } = variable
  if (kind === 'function' || kind === 'class' || kind === 'name') return seemsFixed(variable) && isCallee(id)
  if (kind === 'import' || !isFixed(variable) || declarations.length !== 1) return false
  const { parent } = declarations[0]
  if (parent.id !== declarations[0]) return false
  if (isCallee(id)) return true
  const { init } = parent
  return init?.type === 'Literal' && codeAt(text, init.start) !== SLASH // a regular expression has a position
}

/** Built-in objects whose properties are primitive values and functions. */
const CONSTANTS = /^(?:Math|Number)$/

/**
 * Whether a reference to a name that the text does not declare reads a primitive value, or calls a built-in
 * function.
 *
 * @param {Node} id
 */
function isSafeName(id) {
  const { name, parent, isWritten } = id
  if (matches(PRIMITIVE_NAME, name)) return true
  if (isWritten || !matches(ENGINE, name)) return false
  if (isCallee(id)) return true
  if (parent.type === 'BinaryExpression') return parent.operator === 'instanceof'
  let part = id
  while (part.parent.type === 'MemberExpression' && part.parent.object === part) part = part.parent
  if (part !== id && isCallee(part)) return true
  const { type, right, argument, operator } = part.parent
  return part === parent && matches(CONSTANTS, name) && (type === 'BinaryExpression' || right === part ||
    argument === part && type === 'UnaryExpression' && operator !== 'delete')
}
