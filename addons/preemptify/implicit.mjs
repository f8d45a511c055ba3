/**
 * addons/preemptify/implicit.mjs: calls that no call expression shows.
 *
 * Built-in operations call functions. For example, a conversion calls `toString`, `JSON.parse` calls its
 * reviver, and a property of a proxy calls a trap. Such a call has no preemption point, although the function
 * may have a twin. `preemptify.report` names these functions, and operations that may call code of another
 * text.
 */

import { isMember, isOfEngine, keyOf, kindOf, targetOf } from './calls.mjs'
import { some } from './edits.mjs'
import { steadyKey } from './plan.mjs'
import {
  NATIVE, emptyMap, find, forEach, getOwnPropertyDescriptor, join, matches, push, slice, sort, sourceOf,
  split, startsWith
} from './primordials.mjs'
import { isFunctionNode, isGlobal, valueOfName } from './scopes.mjs'
/** @import { Plan } from './calls.mjs' */
/** @import { Facts, Node } from './scopes.mjs' */

/**
 * A reason why a part of a function runs in one piece. It is certain if the text shows such a run. Otherwise
 * the values and the callers decide, which the text does not show.
 *
 * @typedef {object} Reason
 * @property {string} reason
 * @property {boolean} certain
 */
/**
 * The reasons why parts of functions run in one piece.
 *
 * @typedef {object} Findings
 * @property {Map<Plan, Reason[]>} reasons
 * @property {Map<Plan, string[]>} names the operations on objects from elsewhere, by the function around them
 * @property {boolean} hasIterators whether the text has iterators that are no generators
 * @property {boolean} hasLongSteps whether a step of an iterator of this text can run long
 */

/** Keys of methods that conversions, promises, `instanceof` and strings call: see keyOfFunction. */
const PROTOCOL = /* @__PURE__ */ new RegExp('^(?:\\.(?:to(?:Locale)?String|valueOf|toJSON|then)|' +
  '@(?:toPrimitive|hasInstance|match(?:All)?|replace|search|split))$')
/** Keys of methods that make iterators. Methods that are generator functions are preemptible. */
const ITERABLE = /^@(?:iterator|asyncIterator)$/
/** Keys of methods of iterators. */
const ITERATOR = /^\.(?:next|return|throw)$/
/** Built-in functions without a twin that call their second argument. */
const CALLS_BACK = /^(?:JSON\.(?:parse|stringify)|(?:Object|Map)\.groupBy)$/
/** Built-in functions and constructors without a twin that iterate their first argument. */
const ITERATES = /* @__PURE__ */ new RegExp('^(?:Object\\.fromEntries|Array\\.fromAsync|' +
  'Promise\\.(?:all(?:Settled)?|any|race)|Weak(?:Map|Set)|(?:Uint|Int|Float|Big(?:Ui|I)nt)\\w*Array)$')
/** Built-in functions that make accessors of the methods `get` and `set` in their arguments. */
const DEFINES = /^(?:(?:Object|Reflect)\.defineProperty|Object\.(?:defineProperties|create))$/
/** Methods of pages that call listeners before they return. In Node, the listeners are preemptible. */
const DISPATCHES = /^(?:dispatchEvent|click)$/
/** Names of global objects that belong to the language or to the platform. */
const PLATFORM = /* @__PURE__ */ new RegExp('^(?:undefined|NaN|Infinity|Math|JSON|Reflect|Intl|Atomics|' +
  'console|performance|crypto|window|self|globalThis|document|navigator|location|history|screen|process|' +
  'Buffer|require|module|exports|\\w+Storage)$')
/** Names of the global object itself. */
const GLOBAL_OBJECT = /^(?:globalThis|window|self)$/
/** Number of operations that one reason names. */
const MAX_NAMES = 5
/** Number of steps from a value to its origin. */
const MAX_STEPS = 20

/**
 * Finds the functions that built-in operations call, and the operations that may call code of another text.
 *
 * @param {Node} tree @param {Plan[]} plans the result of planModule
 * @returns {Map<Plan, Reason[]>} the reasons why parts of each function run in one piece
 */
export function implicitCalls(tree, plans) {
  const hasIterators = find(plans, makesIterator) !== undefined
  const isLongStep = (/** @type {Plan} */ { facts, isLong }) => facts.isGenerator && isLong
  const hasLongSteps = hasIterators || find(plans, isLongStep) !== undefined
  /** @type {Findings} */
  const findings = { reasons: emptyMap(), names: emptyMap(), hasIterators, hasLongSteps }
  forEach(plans, plan => addMethod(findings, plan))
  /** @type {Node[]} */
  const nodes = []
  some(tree, node => {
    push(nodes, node)
    return false
  })
  /** @param {Node} a @param {Node} b */
  const byPosition = (a, b) => a.start - b.start || a.end - b.end
  forEach(sort(nodes, byPosition), node => {
    const { type } = node
    if (type === 'CallExpression' || type === 'NewExpression') addBuiltIn(findings, node)
    else if (type === 'ArrayPattern') addArrayPattern(findings, node)
    else addNames(findings, node)
  })
  const { reasons, names } = findings
  names.forEach((list, plan) => {
    /** @type {string[]} */
    const shown = []
    for (let i = 0; i < list.length && i < MAX_NAMES; i++) push(shown, list[i])
    if (list.length > MAX_NAMES) push(shown, `${list.length - MAX_NAMES} more`)
    addReason(reasons, plan, `accessors or proxies from elsewhere: ${join(shown, ', ')}`, false)
  })
  return reasons
}

/** @param {Map<Plan, Reason[]>} reasons @param {Plan} plan @param {string} text @param {boolean} certain */
function addReason(reasons, plan, text, certain) {
  const reason = certain ? text : `possibly ${text}`
  const list = reasons.get(plan) ?? []
  if (!find(list, other => other.reason === reason)) push(list, { reason, certain })
  reasons.set(plan, list)
}

/**
 * Adds a function that a built-in operation calls.
 *
 * @param {Findings} findings @param {Node} fn @param {string} reason @param {boolean} certain
 */
function addFunction({ reasons }, { plan }, reason, certain) {
  if (plan.isLong) addReason(reasons, plan, reason, certain)
}

/**
 * Adds an operation. Code that runs once is in no job.
 *
 * @param {Findings} findings @param {Node} node @param {string} reason @param {boolean} certain
 */
function addOperation({ reasons }, node, reason, certain) {
  const plan = planAround(node)
  if (!plan.isOnce) addReason(reasons, plan, reason, certain)
}

/**
 * Adds the name of an operation on an object from elsewhere.
 *
 * @param {Findings} findings @param {Node} node @param {string} name
 */
function addName({ names }, node, name) {
  const plan = planAround(node)
  if (plan.isOnce) return
  const list = names.get(plan) ?? []
  if (!find(list, other => other === name)) push(list, name)
  names.set(plan, list)
}

/** Adds a method that built-in operations call by its key. @param {Findings} findings @param {Plan} plan */
function addMethod(findings, plan) {
  const key = keyOfFunction(plan.node)
  const isStep = findings.hasIterators && matches(ITERATOR, key)
  if (!isStep && !matches(PROTOCOL, key) && !makesIterator(plan)) return
  const name = startsWith(key, '@') ? `Symbol.${slice(key, 1)}` : slice(key, 1)
  addFunction(findings, plan.node, `a call of the method ${name} by a built-in operation`, false)
}

/**
 * Adds the functions that a call of a built-in function can call.
 *
 * @param {Findings} findings @param {Node} call
 */
function addBuiltIn(findings, call) {
  const { reasons, hasLongSteps } = findings
  const name = builtInName(call.callee)
  const { arguments: given } = call
  const { 0: first, 1: second } = given
  const method = isMember(call.callee) ? keyOf(call.callee) : name
  if (matches(DISPATCHES, method)) {
    addOperation(findings, call, `listeners that ${method} calls in a page`, false)
  }
  if (name === '') return
  if (matches(/^Proxy(?:\.revocable)?$/, name)) {
    const isKnown = second && addMembers(findings, second, key => `the trap ${key} of a proxy`)
    if (!isKnown) addReason(reasons, planAround(call), 'a proxy with traps from elsewhere', false)
  } else if (matches(DEFINES, name)) {
    const reasonFor = (/** @type {string} */ key) => matches(/^[gs]et$/, key) ? 'an accessor' : ''
    forEach(given, argument => addMembers(findings, argument, reasonFor))
  }
  if (matches(CALLS_BACK, name) && second) {
    const callback = originOf(second)
    const reason = `a callback of ${name}`
    if (isFunctionNode(callback)) addFunction(findings, callback, reason, true)
    else if (!matches(/^(?:Literal|ArrayExpression)$/, callback.type)) {
      addOperation(findings, call, reason, false)
    }
  }
  if (matches(ITERATES, name) && first && mayStep(first, hasLongSteps)) {
    addOperation(findings, call, `an iterator in ${name}`, isLongGenerator(first))
  } else if (kindOf(call) === '' && find(given, isNameFromElsewhere)) addName(findings, call, `${name}()`)
}

/**
 * Adds functions in an object, and in objects that it holds.
 *
 * @param {Findings} findings @param {Node} node
 * @param {(key: string) => string} reasonFor returns an empty string for functions that are not called
 * @returns {boolean} `true` if the text shows the object
 */
function addMembers(findings, node, reasonFor) {
  const object = originOf(node)
  if (object.type !== 'ObjectExpression') return false
  forEach(object.properties, property => {
    if (property.type !== 'Property') return
    const reason = reasonFor(slice(steadyKey(property), 1))
    const value = originOf(property.value)
    if (!isFunctionNode(value)) addMembers(findings, value, reasonFor)
    else if (reason) addFunction(findings, value, reason, true)
  })
  return true
}

/** @param {Findings} findings @param {Node} pattern */
function addArrayPattern(findings, pattern) {
  const value = destructuredBy(pattern)
  const isStepping = value ? mayStep(value, findings.hasLongSteps) : isPatternFromElsewhere(pattern)
  if (!isStepping) return
  addOperation(findings, pattern, 'an iterator in an array pattern', value !== null && isLongGenerator(value))
}

/**
 * Adds the names of operations on objects from elsewhere, which may have accessors or be proxies.
 *
 * @param {Findings} findings @param {Node} node
 */
function addNames(findings, node) {
  const { type, parent, object, operator, properties } = node
  /** @param {any} name */
  const note = name => name && name !== 'length' && addName(findings, node, `${name}`)
  if (isMember(node)) {
    const isCallee = parent.callee === node || parent.tag === node
    if (isCallee || !isFromElsewhere(object)) return
    note(node.computed && isNameFromElsewhere(object) ? 'computed keys' : keyOf(node))
  } else if (type === 'ObjectPattern') {
    if (isPatternFromElsewhere(node)) forEach(properties, ({ key }) => key && note(key.name ?? key.value))
  } else if (isIteration(node)) {
    if (isFromElsewhere(node.right ?? node.argument)) note('Symbol.iterator')
  } else if (type === 'BinaryExpression' && matches(/^in(?:stanceof)?$/, operator)) {
    if (isNameFromElsewhere(node.right)) note(operator === 'in' ? 'in' : 'Symbol.hasInstance')
  } else if (isConversion(node)) {
    const operands = node.expressions ?? [node.left ?? node.argument, node.right ?? node.argument]
    if (find(operands, isNameFromElsewhere)) note('Symbol.toPrimitive')
  }
}

/** @param {Node} node @returns {boolean} whether an operation iterates */
const isIteration = ({ type, delegate, parent }) => type === 'ForOfStatement' ||
  (type === 'SpreadElement' ? parent.type !== 'ObjectExpression' : type === 'YieldExpression' && delegate)

/** @param {Node} node @returns {boolean} whether an operation converts objects to strings or numbers */
function isConversion({ type, operator, parent }) {
  if (type === 'TemplateLiteral') return parent.type !== 'TaggedTemplateExpression'
  return type === 'BinaryExpression' ? !matches(/^[!=]==$/, operator)
    : type === 'UnaryExpression' && matches(/^[-+~]$/, operator)
}

/** @param {Plan} plan @returns {boolean} whether a function makes iterators, and is no generator function */
const makesIterator = ({ node, facts }) => !facts.isGenerator && matches(ITERABLE, keyOfFunction(node))

/** @param {Node} node @returns {Plan} the plan of the function around a node */
function planAround(node) {
  while (!node.facts) node = node.parent
  return node.plan
}

/**
 * The key of the property that a function becomes: `.name` or `@iterator`, see steadyKey. Empty if there is
 * none.
 *
 * @param {Node} node @returns {string}
 */
function keyOfFunction(node) {
  const { parent } = node
  if (parent?.key) return parent.value === node ? steadyKey(parent) : ''
  if (parent?.type !== 'AssignmentExpression' || parent.right !== node || !isMember(parent.left)) return ''
  const { computed, property } = parent.left
  return steadyKey({ computed, key: property })
}

/** @param {Node} callee @returns {string} the name of a global function, such as `Map` or `JSON.parse` */
function builtInName(callee) {
  const { object } = callee
  const isGlobalName = (/** @type {Node} */ { type, variable }) => type === 'Identifier' && variable === null
  if (isMember(callee)) return isGlobalName(object) && keyOf(callee) ? `${object.name}.${keyOf(callee)}` : ''
  return isGlobalName(callee) ? callee.name : ''
}

/** @param {Node} node @returns {Node} the value of a constant, otherwise the node itself */
function originOf(node) {
  for (let i = 0; i < MAX_STEPS && node.type === 'Identifier'; i++) {
    const value = valueOfName(node)
    if (!value) return node
    node = value
  }
  return node
}

/** @param {Node} pattern @returns {Node | null} the destructured value, if the text shows the value */
function destructuredBy(pattern) {
  const { id, init, left, right, type } = pattern.parent
  if (id === pattern) return init
  return type === 'AssignmentExpression' && left === pattern ? right : null
}

/** @param {Node} pattern @returns {boolean} */
function isPatternFromElsewhere(pattern) {
  const value = destructuredBy(pattern)
  return value ? isFromElsewhere(value) : isFunctionNode(pattern.parent) && isOpen(pattern.parent.facts)
}

/**
 * Whether the steps of an iterated value may run code that can run long.
 *
 * @param {Node} value @param {boolean} hasLongSteps see Findings
 * @returns {boolean}
 */
function mayStep(value, hasLongSteps) {
  const { type, callee, argument } = value
  if (type === 'AwaitExpression') return mayStep(argument, hasLongSteps)
  const isBuiltIn = type === 'CallExpression' && (kindOf(value) === '' || isOfPlatform(builtInName(callee)))
  return !isBuiltIn && !isOfEngine(value) && (hasLongSteps || isFromElsewhere(value))
}

/**
 * Whether a value is a call of a generator function that can run long.
 *
 * @param {Node} value @returns {boolean}
 */
function isLongGenerator(value) {
  const call = originOf(value)
  const target = call.type === 'CallExpression' ? targetOf(call) : null
  return target !== null && target.facts.isGenerator && target.isLong
}

/**
 * Whether a value comes from another text: by an import, by a global variable, by a parameter of a function
 * that other texts can call, or as a part or a result of such a value.
 *
 * @param {Node} node @returns {boolean}
 */
function isFromElsewhere(node) {
  for (let i = 0; i < MAX_STEPS; i++) {
    const { type, object, callee, expression, argument, variable } = node
    if (type === 'Identifier') {
      if (!variable) return variable === null && !isOfPlatform(node.name)
      const { kind, declarations, scope } = variable
      if (kind === 'import') return declarations[0].parent.type !== 'ImportNamespaceSpecifier'
      if (kind === 'parameter') return isOpen(scope.facts)
      const origin = originOf(node)
      if (origin === node) return false
      node = origin
    } else {
      if (!matches(/^(?:Member|Call|Chain|Await)Expression$/, type)) return false
      const isOfGlobal = isMember(node) && object.type === 'Identifier' && isGlobal(object, GLOBAL_OBJECT)
      if (isOfGlobal) return !isOfPlatform(keyOf(node))
      node = object ?? callee ?? expression ?? argument
    }
  }
  return false
}

/**
 * Whether a node is an imported or a global name of another text. Most parameters are numbers, strings and
 * arrays, so the report lists no conversions and no computed keys of parameters.
 *
 * @param {Node} node @returns {boolean}
 */
const isNameFromElsewhere = node =>
  node.type === 'Identifier' && node.variable?.kind !== 'parameter' && isFromElsewhere(node)

/**
 * Whether a global name belongs to the language or to the platform.
 *
 * @param {string} name the variable, or a member of a variable such as `Promise.all`
 * @returns {boolean}
 */
function isOfPlatform(name) {
  const { 0: root } = split(name, '.')
  const found = getOwnPropertyDescriptor(globalThis, root)
  const value = found?.get ?? found?.value
  return matches(PLATFORM, root) || (typeof value === 'function' && matches(NATIVE, sourceOf(value)))
}

/** @param {Facts} facts @returns {boolean} whether other texts can call a function by its name */
function isOpen({ node, parent }) {
  if (!parent || parent.parent) return false
  if (parent.node.sourceType !== 'module') return true
  const isExported = (/** @type {Node} */ { parent }) => startsWith(parent.type, 'Export')
  if (isExported(node)) return true
  const { id, parent: statement } = node.type === 'FunctionDeclaration' ? node : node.parent
  const isConstant = statement?.type === 'VariableDeclaration' && isExported(statement)
  return isConstant || (!!id?.variable && find(id.variable.references, isExported) !== undefined)
}
