/**
 * addons/preemptify/lift.mjs: finds the closures that a rewritten text creates by factories (lambda lifting).
 *
 * A function and its twin both create the closures inside the function. So the text would contain each
 * closure twice, and both times with its twin. A closure whose captured variables have their final values
 * when the closure is created is printed only once, in a factory. The function and its twin call the factory:
 *
 *   function each(list, n) { return list.map(x => x * n) }          the source
 *
 *   function $5m(n) { return $t(x => x * n, twin) }                 the factory
 *   ... list.map($5m(n)) ...                                        in `each` and in its twin
 */

import { emptyMap, emptySet, find, forEach, holds, matches, push, slice } from './primordials.mjs'
import { LISTS, isFunctionNode } from './scopes.mjs'
/** @import { Facts, Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */

/**
 * The factory of a lifted function: its name, and its parameters, which are the captured variables.
 *
 * @typedef {{ name: string, parameters: string[] }} Factory
 */

/**
 * Sets `lifted` of each function that a factory can create.
 *
 * @param {Plan[]} plans outer functions first, with the texts of their claims
 * @param {Plan} home the plan of the function, module or script that declares the factories
 * @param {string} source @param {string} prefix the prefix of the names of factories
 */
export function findLifted(plans, home, source, prefix) {
  const captured = capturedIn(plans, home)
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    if (!plan.isLong || !canBeMoved(plan, home, source)) continue
    const variables = captured.get(plan) ?? NO_VARIABLES
    /** @type {string[]} */
    const parameters = []
    variables.forEach((/** @type {Variable} */ variable) => isFinalFor(variable, plan) &&
      push(parameters, variable.name))
    if (parameters.length === variables.size) plan.lifted = { name: `${prefix}${i}m`, parameters }
  }
}

/** @type {Set<Variable>} */
const NO_VARIABLES = emptySet()

/**
 * Finds the captured variables of all functions. A function captures a variable that its text or its claims
 * use, if `home` contains the declaration and the function does not.
 *
 * @param {Plan[]} plans @param {Plan} home @returns {Map<Plan, Set<Variable>>}
 */
function capturedIn(plans, home) {
  /** @type {Map<Plan, Set<Variable>>} */
  const captured = emptyMap()
  /** Adds a variable to all functions between a use of the variable and its declaration. */
  const capture = (/** @type {Variable} */ variable, /** @type {Facts | null} */ user) => {
    const { scope } = variable
    for (; user && user !== scope.facts && user.node !== scope.node; user = user.parent) {
      const { plan } = user.node
      if (!captured.has(plan)) captured.set(plan, emptySet())
      captured.get(plan)?.add(variable)
    }
  }
  forEach(plans, ({ facts, claims, openClaims }) => {
    if (facts !== home.facts && !isInside(facts, home.facts)) return
    forEach(facts.scopes, scope => {
      if (scope === home.facts.scope || scope === home.node.scope) return
      forEach(scope.declared, variable => forEach(variable.references, reference => {
        if (reference.scope.facts !== scope.facts) capture(variable, reference.scope.facts)
      }))
    })
    const captureGuard = (/** @type {any} */ { guard, location: { variable } }) => {
      if (guard && isInside(variable.scope.facts, home.facts)) capture(variable, facts)
    }
    forEach(claims, captureGuard)
    forEach(openClaims, captureGuard)
  })
  return captured
}

/** @param {Facts} facts @param {Facts} outer @returns {boolean} */
function isInside({ parent }, outer) {
  while (parent !== null && parent !== outer) parent = parent.parent
  return parent !== null
}

/**
 * Whether a function works the same if `home` declares a function that creates it.
 *
 * @param {Plan} plan @param {Plan} home @param {string} source
 */
function canBeMoved({ node, facts, parent: around }, home, source) {
  const { type, parent, start, end } = node
  if (type === 'FunctionDeclaration' || !isFunctionNode(node)) return false
  if (parent.type === 'MethodDefinition' || parent.computed && parent.value === node) return false
  if (facts.isStrict !== home.facts.isStrict || node.scope.hasEval || node.scope.barrier) return false
  if (facts.usesSuper || facts.isArrow && (facts.usesThis || facts.usesArguments || facts.usesNewTarget)) {
    return false
  }
  // V8 names an anonymous function after the member to which it is assigned.
  for (let value = node; !isFunctionNode(value.parent) && matches(EXPRESSION, value.parent.type);
    value = value.parent) if (value.parent.type === 'AssignmentExpression') return false
  if (around !== null && start < (around.node.body?.start ?? 0)) return false // a part of a parameter
  // A private name is only known in its class.
  if (isInClass(node, home.node) && holds(slice(source, start, end), '#')) return false
  // The claims of the function may name the locks of activations around it.
  for (let outer = around; outer !== null && outer !== home; outer = outer.parent) {
    if (outer.lock) return false
  }
  return isInside(facts, home.facts)
}

const EXPRESSION = /^(?:Assignment|Conditional|Logical|Sequence)Expression$/

/** @param {Node} node @param {Node} outer */
function isInClass(node, outer) {
  for (; node && node !== outer; node = node.parent) if (node.type === 'ClassBody') return true
  return false
}

/**
 * Whether a captured variable has its final value when a function is created.
 *
 * @param {Variable} variable @param {Plan} plan the function that captures the variable
 */
function isFinalFor({ kind, declarations, references, isAssigned, isDynamic, scope }, plan) {
  const { facts, node: home, isSplit } = scope
  if (isAssigned || isDynamic || declarations.length !== 1 || !matches(KINDS, kind)) return false
  let inner = /** @type {Facts} */ (plan.facts)
  while (inner.parent !== facts) inner = /** @type {Facts} */ (inner.parent)
  /** The capturing function, or the function around it, that is directly in the owner of the variable. */
  const { node } = inner
  if (kind === 'parameter') return !isSplit && !(facts.usesArguments && !facts.isStrict)
  if (kind === 'catch') return node.start > declarations[0].end
  // A declared function can be called before the variable is initialized.
  if (node.type === 'FunctionDeclaration' || home.type === 'SwitchStatement') return false
  const declared = declarationOf(declarations[0])
  if (node.start < declared.end) return false
  return kind !== 'var' || !isInLoop(declared, facts.node) &&
    find(references, ({ start }) => start < declared.end) === undefined
}

const KINDS = /^(?:parameter|catch|const|let|var)$/

/**
 * Returns the declarator of a name; for a loop, the head of the loop up to its body.
 *
 * @param {Node} id @returns {{ start: number, end: number, parent: Node }}
 */
function declarationOf(id) {
  let part = id
  while (part.type !== 'VariableDeclarator') part = part.parent
  const { parent: { parent: loop } } = part
  return loop.left === part.parent ? { start: part.start, end: loop.right.end, parent: loop } : part
}

/** @param {{ parent: Node }} declared @param {Node} own */
function isInLoop(declared, own) {
  for (let part = declared.parent; part !== own; part = part.parent) {
    if (LISTS[part.type] === 'loops') return true
  }
  return false
}
