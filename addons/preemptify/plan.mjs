/**
 * addons/preemptify/plan.mjs: decides for each function of a module or script whether it gets a twin.
 *
 * A function without a loop that calls only such functions is short and gets no twin. Functions that cannot
 * have a twin keep the reason, which `preemptify.report` lists.
 */

import {
  cachedNameOf, callSite, calledIn, constructorFor, isCollected, isMember, isPreempted, isPrivate, keyOf,
  kindOf, targetOf, usesHelper
} from './calls.mjs'
import { canBeSkipped, canBeSplit, canTakeTarget, classOf } from './constructors.mjs'
import { eventUse, noteWindowEvent } from './event-use.mjs'
import {
  emptySet, filter, find, firstOf, forEach, matches, max, push, takeLast, trimmed
} from './primordials.mjs'
import { isFunctionNode, isGlobal, valueOfName } from './scopes.mjs'
/** @import { Facts, Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */
/** @import { EventUse } from './event-use.mjs' */

/** The maximum number of calls that a short function makes, with the calls of its callees. */
const DEAREST = 300
/** The maximum length of the text of all functions, as a multiple of the original. */
const GROWTH = 3.6
/** Estimates of the characters that a twin adds for a call, a loop and a function. */
const CALL = 36
const LOOP = 40
const TWIN = 60
/** The maximum depth of nested functions that are printed twice: as they are and as a twin. */
const MAX_DUALS = 4

/** Plans all functions of a text. @param {Node} tree @returns {Plan[]} the plans, outer functions first */
export function planModule(tree) {
  /** @type {Plan[]} */
  const plans = [planOf(tree.facts, null)]
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    const { functions } = plan.facts
    for (let k = 0; k < functions.length; k++) {
      const child = planOf(functions[k], plan)
      push(plan.children, child)
      push(plans, child)
    }
  }
  forEach(tree.special, refuseNames)
  // V8 keeps `caller` and `arguments` on the running function: in a job that is the twin, and after a
  // suspension the twin has other ones.
  if (find(tree.reads, readsRunning)) {
    forEach(plans, plan => {
      if (!plan.facts.isStrict) plan.reason ||= 'the caller or the arguments of a function'
    })
  }
  forEach(plans, plan => {
    plan.isOnce = isOnce(plan)
    if (plan.isOnce) plan.reason ||= 'code that is run once'
  })
  forEach(plans, findCalls)
  findShort(plans)
  forEach(plans, plan => {
    const { node, facts, isLong } = plan
    plan.calls = trimmed(filter(plan.calls, isPreempted))
    plan.isDirect = isLong && node.type === 'FunctionDeclaration' && node.id && !facts.isAsync &&
      !facts.isGenerator && !facts.usesNewTarget
  })
  forEach(plans, plan => { if (plan.isLong) plan.eventUse = eventUse(plan) })
  forEach(tree.free.event ?? [], noteWindowEvent)
  chooseForms(plans)
  return plans
}

/** @type {EventUse} */
const NO_EVENT_USE = { kind: 0, last: null }

/** @param {Facts} facts @param {Plan | null} parent @returns {Plan} */
function planOf(facts, parent) {
  const plan = facts.node.plan = {
    facts, node: facts.node, parent, children: [], reason: '', isOnce: false, calls: [], isLong: false,
    price: 1, callers: [], shortCalls: 0, duals: 0,
    holdsDual: false, sizes: [], twin: '', title: '', mark: /** @type {Plan['mark']} */ (''),
    isHoisted: false, isDirect: false, isCalledDirectly: false, opening: [], closing: [],
    isFramed: false, frame: null, entry: '', bound: [], collected: [], plain: [], inner: [], own: null,
    edits: [], text: '', helpers: '', copies: [0, 0], lifted: null, isListed: false,
    emitter: /** @type {any} */ (null), claims: [], openClaims: [], claimsAll: false, isExposed: false,
    identity: '',
    claimTexts: [], lock: '', joins: null, unknownImports: [],
    changes: { this: false, parameters: [], others: false }, eventUse: NO_EVENT_USE
  }
  plan.reason = refusalOf(plan)
  return plan
}

/** @param {Plan} plan @returns {string} why it can have no twin */
function refusalOf(plan) {
  const { facts, node, parent: around } = plan
  const { parent } = node
  if (!isFunctionNode(node)) return 'code that is run once'
  if (facts.isGenerator && facts.usesArguments) return 'the arguments of a generator'
  if (facts.isAsync && find(facts.yields, ({ delegate }) => delegate)) return 'yield* in an async generator'
  const isRefused = facts.isDerived ? !canBeSplit(plan) : facts.isConstructor && !canBeSkipped(node)
  if (isRefused) return 'a constructor'
  if (facts.isAccessor) return 'an accessor'
  if (facts.usesEval) return 'a direct eval'
  for (let outer = /** @type {Facts | null} */ (facts); outer; outer = outer.parent) {
    if (outer.hasWith) return 'a with statement'
  }
  if (facts.usesNewTarget && !canTakeTarget(plan)) return 'new.target'
  if (facts.awaitsDisposal) return 'an await using declaration'
  const isInClass = parent.type === 'MethodDefinition'
  if (facts.usesSuper && !facts.isDerived && !(isInClass && facts.isMethod)) return 'super'
  if (facts.isArrow) {
    if (facts.usesArguments) return 'the arguments of the function around it'
    let owner = around
    while (owner && owner.facts.isArrow) owner = owner.parent
    if (facts.usesThis && owner?.facts.isDerived && owner.reason) return 'the this of a constructor'
  }
  if (parent.computed && parent.value === node && !steadyKey(parent)) return 'a computed name'
  if (isPrivate(plan) && facts.isGenerator) return 'a private name'
  const { id } = node
  if (node.type === 'FunctionDeclaration') {
    const isFunction = (/** @type {Node} */ { parent }) => parent.type === 'FunctionDeclaration'
    const isTwice = id && filter(id.variable.declarations, isFunction).length > 1
    if (isTwice) return 'a name that is declared twice'
    if (!isList(parent)) return 'a declaration that is part of a statement'
  } else if (id) {
    if (id.variable.isAssigned) return 'its own name is assigned to'
  } else if (!parent.computed && inferredName(node) === null) {
    return 'a computed name'
  }
  return ''
}

/**
 * Whether a constructor is so long that the calls in its innermost loops are made plainly. The lookups of
 * twins would use up the size that V8 inlines into one function: the singular value decomposition of
 * ml-matrix took 21 times as long as a job.
 *
 * @param {Node} node
 */
export const isHuge = ({ body }) => body.end - body.start > 5000

/**
 * @param {Node} call @param {Node[]} loops the loops of the function of the call, in source order
 * @returns {boolean} whether the innermost loop around the call contains no loop
 */
export function isInnermost(call, loops) {
  const next = firstOf(loops, ({ start }) => start > call.start)
  const loop = loops[next - 1]
  return loop !== undefined && loop.end >= call.end && !(loops[next]?.start < loop.end)
}

/**
 * Returns a canonical text for the key of a member, such as `.name`, `#name` or `@iterator`.
 *
 * @param {Node} member a member of a class or an object @returns {string} empty if the key is computed
 */
export function steadyKey({ computed, key }) {
  const { type, name, value, object, variable } = key
  if (type === 'Literal') return `.${value}`
  if (!computed) return type === 'PrivateIdentifier' ? `#${name}` : `.${name}`
  if (isMember(key)) return isGlobal(object, /^Symbol$/) && keyOf(key) ? `@${keyOf(key)}` : ''
  const init = variable?.kind === 'const' && type === 'Identifier' && valueOfName(key)
  return init && init.type === 'CallExpression' && isGlobal(init.callee, /^Symbol$/) ? `[${name}]` : ''
}

/** Whether statements stand in it as a list. @param {Node} node */
export const isList = ({ type }) => type === 'Program' || type === 'BlockStatement' ||
  type === 'StaticBlock' || type === 'ExportNamedDeclaration' || type === 'ExportDefaultDeclaration'

/**
 * A generator function has no variable `yield`.
 *
 * @param {Node} id called `yield` or `arguments`
 */
function refuseNames({ name, parent }) {
  if (name !== 'yield') return
  for (let around = parent; around; around = around.parent) {
    if (!around.facts) continue
    around.plan.reason ||= 'the name yield'
    if (!around.facts.isArrow) return
  }
}

/**
 * Whether a read of `caller` or `arguments` may be that of a function. Many objects have `arguments`, so
 * these count only of a function that the text shows; `caller` counts of any variable of sloppy code.
 *
 * @param {Node} read a member, or a part of a pattern
 */
function readsRunning(read) {
  const { type, object, property, key, parent } = read
  if (type === 'MemberExpression') {
    const name = property.name ?? property.value
    return mayBeFunction(object, name === 'caller' && isSloppy(object))
  }
  const { right = parent.parent.init } = parent.parent
  return !!right && mayBeFunction(right, (key.name ?? key.value) === 'caller' && isSloppy(right))
}

/** @param {Node} node @returns {boolean} whether it is an identifier in sloppy code */
const isSloppy = ({ type, scope }) => type === 'Identifier' && !scope.isStrict

/**
 * Whether a value may be a function with `caller` and `arguments`.
 *
 * @param {Node} node @param {boolean} isOpen the answer for a value that the text does not show
 * @param {Set<Variable>} [seen] variables that are being looked at
 * @returns {boolean}
 */
function mayBeFunction(node, isOpen, seen = emptySet()) {
  const { type, object, property, variable, left, right, consequent, alternate, expressions } = node
  const isFunction = (/** @type {Node} */ value) => mayBeFunction(value, isOpen, seen)
  switch (type) {
    case 'FunctionExpression': return true
    case 'MemberExpression': {
      const name = property.name ?? property.value
      return isOpen || (name === 'callee' ? isArguments(object) : name === 'caller' && isFunction(object))
    }
    case 'CallExpression': return isOpen
    case 'AssignmentExpression': return isFunction(right)
    case 'LogicalExpression': return isFunction(left) || isFunction(right)
    case 'ConditionalExpression': return isFunction(consequent) || isFunction(alternate)
    case 'SequenceExpression': return isFunction(expressions[expressions.length - 1])
    case 'Identifier': break
    default: return false
  }
  if (!variable) return isOpen
  if (seen.has(variable)) return false
  seen.add(variable)
  const isDeclared = (/** @type {Node} */ id) => {
    const { type, init } = id.parent
    if (id.parent.id !== id) return false
    return matches(/^Function/, type) || (type === 'VariableDeclarator' && init && isFunction(init))
  }
  const isAssigned = (/** @type {Node} */ { parent }) =>
    parent.type === 'AssignmentExpression' && parent.left.variable === variable && isFunction(parent.right)
  return (isOpen && matches(/^(?:parameter|catch|import)$/, variable.kind)) ||
    !!(find(variable.declarations, isDeclared) ?? find(variable.references, isAssigned))
}

/** Whether a name stands for the arguments of a function. @param {Node} node @returns {boolean} */
function isArguments(node) {
  if (node.type !== 'Identifier') return false
  return node.name === 'arguments' ||
    !!find(node.variable?.declarations ?? [], ({ parent }) => parent.init?.name === 'arguments')
}

/**
 * Returns the name that an anonymous function gets from the code around it, for example from its assignment.
 *
 * @param {Node} node
 * @returns {string | null} the name; empty if the function gets no name; null if the name is computed
 */
export function inferredName(node) {
  const { parent } = node
  const isNamed = (/** @type {Node} */ id, /** @type {Node} */ value) =>
    value === node && id.type === 'Identifier' && id.start === parent.start
  switch (parent.type) {
    case 'VariableDeclarator': return isNamed(parent.id, parent.init) ? parent.id.name : ''
    case 'AssignmentPattern': return isNamed(parent.left, parent.right) ? parent.left.name : ''
    case 'AssignmentExpression':
      return matches(/^(?:\|\||&&|\?\?)?=$/, parent.operator) && isNamed(parent.left, parent.right)
        ? parent.left.name : ''
    case 'Property': case 'PropertyDefinition': {
      if (parent.value !== node || parent.method) return ''
      const { key, computed } = parent
      if (computed) return null
      if (key.type === 'PrivateIdentifier') return `#${key.name}`
      const name = key.type === 'Identifier' ? key.name : key.value
      if (typeof name !== 'string') return null
      return name === '__proto__' && parent.type === 'Property' ? '' : name
    }
    case 'ExportDefaultDeclaration': return 'default'
    default: return ''
  }
}

/**
 * Whether a function runs at most once per run of its text: it is called in place, outside of loops, by code
 * that runs once. For example, `(function () { ... })()`, or the argument of such a call (a factory of UMD).
 *
 * @param {Plan} plan @returns {boolean}
 */
function isOnce({ node, facts, parent }) {
  if (parent === null) return true
  if (!parent.isOnce || !isFunctionNode(node)) return false
  if (facts.isGenerator || facts.isAsync || facts.usesArguments) return false
  let called = node
  const isReceiver = isMember(node.parent) && node.parent.object === node
  if (isReceiver && matches(/^(?:call|apply)$/, keyOf(node.parent))) called = node.parent
  const call = called.parent
  if (call.type !== 'CallExpression') return false
  const isArgument = called === node && call.callee !== node
  const isFactory = isArgument && isFunctionNode(call.callee) && call.callee.plan.isOnce
  if (call.callee !== called && !isFactory) return false
  for (let around = call; around !== parent.node; around = around.parent) {
    if (matches(/^(?:For|While|Do)/, around.type)) return false
  }
  return true
}

/** Finds the calls that may be preempted, and the calls that need a helper. @param {Plan} plan */
function findCalls(plan) {
  const { facts, node, reason } = plan
  const { calls } = facts
  if (!reason) forEach(facts.spreads, spread => isCollected(spread) && push(plan.collected, spread))
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i]
    if (usesHelper(call)) push(plan.bound, call)
    if (reason) continue
    if (isCollected(call)) push(plan.collected, call)
    if (call.start < node.body.start) continue // parameters are no place for a yield
    if (call.callee?.type === 'Super') findSuperCall(plan, call)
    const kind = kindOf(call)
    const isCostly = facts.isConstructor && isHuge(node) && isInnermost(call, facts.loops)
    if (kind === '' || isCostly || isThrown(call)) continue
    push(plan.calls, call.call = callSite(call, kind, targetOf(call), node, cachedNameOf(calledIn(call))))
  }
}

/**
 * Whether a call constructs the exception of a `throw` statement, or an argument of that constructor. Such a
 * call is made plainly: it runs at most once per activation, and constructors of exceptions are short. So a
 * function that only checks its arguments and throws stays short. A program of hash maps that Scala.js
 * compiled takes 3.5 times as long as a job with this rule, and 4.6 times without (bench/languages).
 *
 * @param {Node} call
 */
function isThrown(call) {
  let node = call
  const isConstruction = (/** @type {Node} */ { type }) => type === 'NewExpression'
  while (isConstruction(node) && isConstruction(node.parent) && node.parent.callee !== node) {
    node = node.parent
  }
  return isConstruction(node) && node.parent.type === 'ThrowStatement'
}

/** @param {Plan} plan the plan of a derived constructor @param {Node} call `super(...)` */
function findSuperCall(plan, call) {
  const { node } = plan
  const found = constructorFor(classOf(node).superClass)
  if (found !== null) push(plan.calls, call.call = callSite(call, 'super', found.plan, node, ''))
}

/** Finds short functions: they have no loop and call only short functions. @param {Plan[]} plans */
function findShort(plans) {
  /** @type {Plan[]} */
  const short = []
  forEach(plans, plan => {
    const { facts, calls } = plan
    plan.isLong = plan.reason === ''
    // Most constructors are short and called often. So their calls of unknown functions do not make them
    // long, unless they pass `this`. If such calls count, the Lisp program is 1.6 times slower as a job.
    const isThis = (/** @type {Node | undefined} */ node) => node?.type === 'ThisExpression'
    const unknown = filter(calls, ({ target, kind, node: { callee, arguments: given } }) =>
      target === null && (!facts.isConstructor || kind === 'super' || isThis(callee?.object) ||
        (given && find(given, isThis))))
    const isOpen = plan.isLong && !facts.loops.length && !facts.awaits.length && !unknown.length &&
      !find(facts.yields, ({ delegate }) => delegate)
    const targets = filter(calls, ({ target }) => target !== null)
    if (isOpen) forEach(targets, ({ target }) => push(/** @type {Plan} */ (target).callers, plan))
    plan.shortCalls = calls.length - targets.length
    if (!plan.isLong || (isOpen && !targets.length)) push(short, plan)
  })
  while (short.length) {
    const plan = takeLast(short)
    plan.isLong = false
    if (plan.facts.isConstructor && plan.calls.length) plan.reason ||= 'a constructor'
    forEach(plan.callers, caller => {
      caller.price += plan.price
      if (++caller.shortCalls === caller.calls.length && caller.price <= DEAREST) push(short, caller)
    })
  }
}

/** Whether a function that can have a twin is around a function. @param {Plan} plan @returns {boolean} */
export function isInside({ parent }) {
  while (parent && parent.reason) parent = parent.parent
  return parent !== null
}

/**
 * Chooses the depth of nested functions that are printed twice, so that the text does not grow beyond
 * `GROWTH`.
 *
 * @param {Plan[]} plans
 */
function chooseForms(plans) {
  for (let i = plans.length; i-- > 0;) {
    const plan = plans[i]
    const { node, facts, children, calls, sizes } = plan
    const { start, end } = node
    let own = end - start
    /** The length of the nested functions, by the depth of functions that are printed twice. */
    const inner = [0, 0, 0, 0, 0]
    for (let k = 0; k < children.length; k++) {
      const child = children[k]
      own -= child.node.end - child.node.start
      for (let d = 0; d <= MAX_DUALS; d++) inner[d] += child.sizes[d]
    }
    const twin = own + CALL * calls.length + LOOP * facts.loops.length + TWIN + inner[0]
    const isAlwaysDual = facts.isAsync || facts.isGenerator ||
      facts.isMethod && node.parent.type === 'MethodDefinition'
    // Each such around another would double it.
    if (isAlwaysDual && isInside(plan) && find(children, ({ holdsDual }) => holdsDual)) {
      plan.isLong = false
      plan.reason ||= 'nested too deep'
    }
    plan.holdsDual = isAlwaysDual && plan.isLong || !!find(children, ({ holdsDual }) => holdsDual)
    for (let d = 0; d <= MAX_DUALS; d++) {
      if (!plan.isLong) sizes[d] = own + inner[d]
      else sizes[d] = d > 0 || isAlwaysDual ? own + inner[max(d - 1, 0)] + twin : twin + TWIN
    }
  }
  const { node, sizes } = plans[0]
  let most = MAX_DUALS
  while (most > 0 && sizes[most] > GROWTH * (node.end - node.start)) most--
  for (let i = 0; i < plans.length; i++) {
    const { parent } = plans[i]
    plans[i].duals = parent ? max(parent.duals - (parent.isLong ? 1 : 0), 0) : most
  }
}
