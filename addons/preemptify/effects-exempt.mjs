/**
 * addons/preemptify/effects-exempt.mjs: contested locations that no function needs to claim.
 *
 * Two stays that interleave in a keyed cache or in a lazy variable compute the same value twice, and one
 * value replaces the other. Two stays that share a counter get different numbers in another order.
 */

import { isMember, keyOf, targetOf } from './calls.mjs'
import { CONTAINER, FUNCTIONS, METHODS, QUIET } from './effects-tables.mjs'
import { isNameOfProgram, pathOfNode } from './effects-names.mjs'
import { find, matches, push, takeLast } from './primordials.mjs'
import { fieldsOf, isFunctionNode } from './scopes.mjs'
/** @import { Location } from './effects.mjs' */
/** @import { Node, Variable } from './scopes.mjs' */

/**
 * Whether a location is a counter, a lazy variable or a keyed cache.
 *
 * @param {Location | any} location
 * @param {(node: Node) => boolean} mayWrite whether a call of a known function
 *   may write contested locations
 * @returns {boolean}
 */
export function isExempt({ kind, variable, site }, mayWrite) {
  if (!variable || variable.isDynamic || variable.isOpen || variable.holder.isExported) return false
  if (kind === 'variable') return isCounter(variable) || isLazy(variable, mayWrite)
  if (kind !== 'object' || !site || site.hasLeft || variable.isAssigned ||
    variable.declarations.length !== 1) return false
  const { 0: { parent } } = variable.declarations
  const { roots } = variable.holder.inner
  return parent.id === variable.declarations[0] && roots.length === 1 && roots[0] === site.root &&
    isKeyedCache(variable, mayWrite)
}

/** Whether `x++` is the only use of a variable. @param {Variable} variable */
const isCounter = ({ references }) => references.length > 0 &&
  !find(references, ({ parent }) => parent.type !== 'UpdateExpression')

/**
 * Whether each write stands under a test that the variable is not set.
 *
 * @param {Variable} variable @param {(node: Node) => boolean} mayWrite
 */
function isLazy({ references, kind, declarations }, mayWrite) {
  if (kind === 'parameter' || declarations.length !== 1 ||
    declarations[0].parent.init?.type === 'Literal') return false
  let hasWrite = false
  for (let i = 0; i < references.length; i++) {
    const id = references[i]
    if (!id.isWritten) continue
    const { parent } = id
    if (parent.type !== 'AssignmentExpression' || parent.left !== id ||
      mayHaveEffects(parent.right, mayWrite)) return false
    const isUnderCondition = parent.operator === '=' && isUnderTest(parent, id.variable)
    if (!matches(/^(?:\?\?|\|\|)=$/, parent.operator) && !isUnderCondition) return false
    hasWrite = true
  }
  return hasWrite
}

/** @param {Node} assignment @param {Variable} variable @returns {boolean} */
function isUnderTest(assignment, variable) {
  for (let part = assignment; part.parent && !isFunctionNode(part); part = part.parent) {
    const { type, test, consequent, alternate, left, right, operator } = part.parent
    if (type === 'IfStatement' || type === 'ConditionalExpression') {
      if (part === consequent && isTestOf(test, variable, true)) return true
      if (part === alternate && isTestOf(test, variable, false)) return true
    }
    const isOperand = type === 'LogicalExpression' && part === right
    if (isOperand && isTestOf(left, variable, operator === '&&')) return true
  }
  return false
}

/**
 * @param {Node} test @param {Variable} variable
 * @param {boolean} isUnset whether the test holds if the variable
 *   is not set
 * @returns {boolean}
 */
function isTestOf(test, variable, isUnset) {
  const { type, operator, argument, left, right } = test
  if (type === 'Identifier') return !isUnset && test.variable === variable
  if (type === 'UnaryExpression' && operator === '!') return isTestOf(argument, variable, !isUnset)
  if (type !== 'BinaryExpression' || !matches(isUnset ? /^===?$/ : /^!==?$/, operator)) return false
  const tested = left.type === 'UnaryExpression' && left.operator === 'typeof' ? left.argument : left
  const isNothing = right.name === 'undefined' || right.operator === 'void' || (right.type === 'Literal' &&
    !(right.value && right.value !== 'undefined'))
  return tested.variable === variable && isNothing
}

/**
 * Whether all uses of a variable read an entry by its key, or are the one place that writes an entry.
 *
 * @param {Variable} variable @param {(node: Node) => boolean} mayWrite
 */
function isKeyedCache({ references }, mayWrite) {
  let writes = 0
  for (let i = 0; i < references.length; i++) {
    const id = references[i]
    const { parent } = id
    if (parent.type === 'BinaryExpression' && parent.operator === 'in' && parent.right === id) continue
    if (!isMember(parent) || parent.object !== id) return false
    const around = parent.parent
    if (parent.computed) {
      if (parent.property.type === 'Literal') return false
      if (around.type === 'AssignmentExpression' && around.left === parent) {
        if (around.operator !== '=' || ++writes > 1 || isConstant(around.right) ||
          mayHaveEffects(around.right, mayWrite)) return false
      } else if (matches(/^(?:Update|For)/, around.type) || around.operator === 'delete' ||
        around.callee === parent) return false
      continue
    }
    if (around.callee !== parent) return false
    const name = keyOf(parent)
    if (name === 'get' || name === 'has') continue
    const { 1: value } = around.arguments
    if (name !== 'set' || !value || ++writes > 1 || isConstant(value) ||
      mayHaveEffects(value, mayWrite)) return false
  }
  return writes === 1
}

/** @param {Node} node */
const isConstant = ({ type }) => type === 'Literal'

/**
 * Whether an expression calls a function that may write contested locations, or a function that is not known.
 * A local variable counts as its values.
 *
 * @param {Node} expression @param {(node: Node) => boolean} mayWrite @returns {boolean}
 */
function mayHaveEffects(expression, mayWrite) {
  const rest = [expression]
  /** @type {Variable[]} */
  const seen = []
  while (rest.length) {
    const node = takeLast(rest)
    const { type, variable } = node
    if (isFunctionNode(node)) continue
    if (matches(/^(?:Assignment|Update|Await|Yield|Import|Tagged)\w+$/, type) &&
      node !== expression) return true
    if (matches(/^(?:Call|New)Expression$/, type) && isUnknownCall(node, mayWrite)) return true
    if (type === 'Identifier' && variable && matches(/^(?:const|let|var)$/, variable.kind) &&
      !find(seen, other => other === variable)) {
      push(seen, variable)
      const { declarations, references, scope } = variable
      if (scope.facts.parent) {
        for (let i = 0; i < declarations.length; i++) {
          const { init } = declarations[i].parent
          if (init) push(rest, init)
        }
        for (let i = 0; i < references.length; i++) {
          const { parent, isWritten } = references[i]
          if (isWritten && parent.right) push(rest, parent.right)
        }
      }
    }
    const fields = fieldsOf(node)
    for (let i = 0; i < fields.length; i++) {
      const { key, isLabel } = fields[i]
      const part = node[key]
      if (!part || (isLabel && !node.computed)) continue
      if (part.length === undefined) {
        if (part.type) push(rest, part)
      } else for (let k = 0; k < part.length; k++) if (part[k]) push(rest, part[k])
    }
  }
  return false
}

/** @param {Node} call @param {(node: Node) => boolean} mayWrite @returns {boolean} */
function isUnknownCall(call, mayWrite) {
  const { type, callee } = call
  const path = pathOfNode(callee)
  if (path !== null) {
    if (type === 'NewExpression') return !matches(CONTAINER, path)
    return !matches(/^[nzfjq]$/, FUNCTIONS[path] ?? '') && !matches(QUIET, path)
  }
  const target = targetOf(call)
  if (target) return mayWrite(target.node)
  const name = isMember(callee) ? keyOf(callee) : ''
  return !(name !== '' && matches(/^[nzfjqe]$/, METHODS[name] ?? '') && !isNameOfProgram(name))
}
