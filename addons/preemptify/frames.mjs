/**
 * addons/preemptify/frames.mjs: the frame form of twins.
 */

import {
  aroundMethod, directOf, handed, isCallStatement, isCollected, isInList, isMember, isPreempted, isPrivate,
  isTwinMember, planCall, returnOf, saying, sayingIterable, textOfHanded
} from './calls.mjs'
import { saysLastUse } from './event-use.mjs'
import {
  EXPRESSION_EDGE, NAME_PART, STATEMENT_EDGE, insert, isConcise, optimisations, parameterOf, pastOperand,
  pastParentheses, range, replace, withTitle
} from './edits.mjs'
import { chunk, labelsOf } from './loops.mjs'
import {
  create, emptySet, filter, find, firstOf, flat, forEach, join, keysOf, listOf, matches, max, min, push,
  pushAll, slice, sort, trimmed
} from './primordials.mjs'
import {
  LISTS, isBefore, isConstant, isFunctionNode, isInitialized, isStrictBody, isWithin
} from './scopes.mjs'
/** @import { CallSite, Emitter, Plan } from './calls.mjs' */
/** @import { Facts, Node, Variable } from './scopes.mjs' */
/** @import { EventUse } from './event-use.mjs' */
/** @import { Fragments, Range } from './edits.mjs' */

// Most functions need no generator: the twin runs on the native call stack like the function itself. A call
// or a preemption point can suspend the twin. Then the twin saves the resume point, the result of the call
// and the variables in a frame. The twin is resumed by another call:
//
//   function f(a) {       function twin(a) { let point = 0, result, b; out: {
//                           if (--left <= 0)
//                             if (result = resumed()) ({ point, result, a, b } = result); else break out
//     const b = a + g()     if (point < 1 && (result = enter(g)()) === budget) { point = 1; break out }
//                           if (point < 2) b = a + result
//     return b * h()        if (point < 2 && (result = enter(h)()) === budget) { point = 2; break out }
//   }                       return b * result
//                         } return suspend(twin, { point, result, a, b }, this) }
//
// Resume points are numbered in the order of the text. Each round of a loop resets the number to 0. A value
// that is computed before a resume point and needed after it is stored in a variable.
//
// If closures use variables that change, or parameters contain expressions, the twin has two parts. The outer
// part runs once: it has the parameters, the variables that closures use, and the declared functions. The
// inner part is an arrow function, which can be suspended:
//
//   function twin(a = f()) {
//     var shared; function inner() { ... }
//     var rest = () => { ... suspend(rest, ...) }; return rest()
//   }
//
// While a twin is being suspended, `counts.away` keeps the blocks around the resume point open:
//   - An iterator is not closed. When the loop resumes, the iterator returns itself as the next value.
//   - A `finally` block without resume points is skipped. A `finally` block with resume points becomes code
//     after the `try`, and variables keep the outcome of the `try`.
//   - If a wait inside of a `try` fails, the resumed twin throws the error at the call.
//
// Names in the text: T is the twin in an expression, K the resume point, r the result, and D the remaining
// call depth. a1, a2 ... are destructured parameters, and T1, T2 ... intermediate values. o labels the whole
// body, and I is the inner part. A function with calls only in tail position needs no frame.

/**
 * The frame layout: a function whose twin has frame form.
 *
 * @typedef {object} FrameLayout
 * @property {Emitter} emitter
 * @property {Node} own
 * @property {Node[]} returns
 * @property {boolean} isTail whether the twin has no resume points and saves no frame
 * @property {boolean} isShared whether closures share variables with the twin, which then has two parts
 * @property {string[]} names the names of the variables that a frame saves, except parameters that are plain
 *   names
 * @property {string[]} shared the names of the variables that closures share
 * @property {Set<string>} numbers the elements of `names` that start as 0: see isNumber
 * @property {Node[]} functions the declared functions
 * @property {Node[]} declarations the declarations of variables
 * @property {number} resumePoint the number of the latest resume point
 * @property {number} temps the number of intermediate values that are stored at this point of the text
 * @property {number} mostTemps the maximum of `temps`
 * @property {boolean} nests whether the function has calls that may be preempted
 * @property {boolean} isLowered whether an earlier call may have lowered the remaining call depth
 * @property {boolean} hasRestored whether the twin restores the remaining call depth before a call
 * @property {number} depth the nesting depth of the part that is being planned
 * @property {number} around the number of `try` statements and `for`-`of` loops around this part
 * @property {{ how: string, what: string } | null} ending the variables for the outcome of the `try` around
 *   this part, if its `finally` block has resume points
 * @property {boolean} isRefused whether the function contains code that frame form does not support
 * @property {(condition: string) => string} pause returns the text of a preemption point under a condition
 */
/**
 * Statements of a twin: their text, the number of the first resume point in them (Infinity without one), and
 * whether the statements themselves check where the twin resumes.
 *
 * @typedef {{ fragments: Fragments, first: number, isGuarded: boolean }} Unit
 */

/**
 * Marks the nodes around each resume point of a function.
 *
 * @param {{ node: Node, facts: Facts, calls: CallSite[], collected: Node[] }} plan
 * @param {boolean} isOfModule see Emitter
 */
export function markResumePoints({ node, facts, calls, collected }, isOfModule) {
  /** @param {Node} part a node with a resume point */
  const hold = part => {
    for (; part !== node && !part.isHeld; part = part.parent) part.isHeld = true
  }
  forEach(calls, call => {
    const last = returnOf(call.node, node)
    if (last) last.hasCall = true
    else hold(call.node)
  })
  forEach(facts.loops, hold)
  if (isOfModule) {
    forEach(collected, part => (part.start > node.body.start || part.type !== 'SpreadElement') && hold(part))
  } else forEach(facts.statements, part => isCallStatement(part) && hold(part))
  let from = 0
  forEach(facts.tries, ({ start, finalizer }) => {
    if (!finalizer || !isHeld(finalizer)) return
    const first = firstOf(facts.returns, part => part.start > max(start, from))
    for (let i = first; facts.returns[i]?.end < finalizer.start; i++) hold(facts.returns[i])
    from = max(from, finalizer.start)
  })
}

/**
 * Whether a twin in frame form has no resume points. A function that creates closures with twins may need a
 * frame all the same, because its text is shorter then.
 *
 * @param {{ node: Node, children: Plan[] }} plan a plan after `markResumePoints`
 */
export const isTailOnly = ({ node, children }) =>
  !isHeld(node.body) && !find(children, ({ isLong }) => isLong)

/**
 * Whether a twin without resume points can wait for a claim: it is called again afterwards, with the same
 * arguments.
 *
 * @param {any} plan
 */
export const canClaimInTail = ({ node: { params }, facts, claimTexts }) => claimTexts.length === 0 ||
  !(facts.isArrow && facts.usesThis) && !find(params, (/** @type {Node} */ param) => givenAs(param) === '')

/**
 * Returns the text that passes on a parameter; empty if the twin cannot evaluate the parameter again.
 *
 * @param {Node} param
 */
const givenAs = ({ type, name, argument }) =>
  type === 'Identifier' ? name : type === 'RestElement' && argument.name ? `...${argument.name}` : ''

/** Returns the arguments that a twin passes on. @param {Node[]} params */
function textsOf(params) {
  /** @type {string[]} */
  const list = []
  forEach(params, param => push(list, givenAs(param)))
  return join(list, ',')
}

/**
 * Plans a twin in frame form.
 *
 * @param {Emitter} emitter
 * @param {{ node: Node, facts: Facts, children: Plan[], calls: CallSite[] }} plan a plan after
 *   `markResumePoints`
 * @returns {any[] | null} the text of the body; null if the twin must be a generator
 */
export function frame(emitter, plan) {
  const { node, facts, calls } = plan
  if (!canLeaveFrame(plan)) return null
  const isTail = emitter.isOfModule && isTailOnly(plan) && !emitter.lock && canClaimInTail(plan)
  const locals = isTail ? NO_LOCALS : localsOf(node, facts, emitter.free)
  if (locals === null) return null
  /** @type {FrameLayout} */
  const layout = { emitter, own: node, returns: facts.returns, ...locals, isTail, nests: calls.length > 0,
    isLowered: false, hasRestored: false, resumePoint: 0, temps: 0, mostTemps: 0, depth: 0, around: 0,
    ending: null, isRefused: false, pause: condition => pointWhere(layout, condition) }
  emitter.layout = layout
  const { body } = node
  if (isTail) return [body.type === 'BlockStatement' ? '' : 'return ', asItStands(layout, body)]
  /** @type {Unit[]} */
  const units = []
  if (emitter.lock && !layout.isShared) {
    push(layout.names, emitter.lock)
    emit(units, `${emitter.lock}=${emitter.helper('z')}();`)
  }
  forEach(emitter.claims, claim => {
    const first = layout.resumePoint + 1
    emit(units, layout.pause(claim.test), first, true)
  })
  if (!layout.isShared) {
    forEach(node.params, param => matches(/^(?:Array|Object)/, param.type) &&
      emit(units, asStatement(layout, param,
        [asItStands(layout, param), '=', parameterOf(emitter, param), ';'])))
  }
  if (body.type === 'BlockStatement') {
    unitsOf(layout, filter(body.body, ({ type, directive }) =>
      directive === undefined && type !== 'FunctionDeclaration'), units)
  }
  else returned(layout, body, units)
  if (!layout.isRefused) return fragmentsOfUnits(layout, units)
  unframe(emitter)
  return null
}

/** @type {any} */
const NO_LOCALS = { names: [], shared: [], numbers: [], isShared: true, functions: [], declarations: [] }

/** Resets the emitter of a function whose twin will be a generator. @param {Emitter} emitter */
export function unframe(emitter) {
  emitter.layout = null
  emitter.variables.clear()
  emitter.edits.length = 0
}

/** Whether the twin of a function may have frame form. @param {{ facts: Facts, eventUse?: EventUse }} plan */
export const canLeaveFrame = ({ facts, eventUse }) => {
  const { isAsync, isGenerator, isDerived, usesNewTarget, scope } = facts
  return !isAsync && !isGenerator && !isDerived && !usesNewTarget && !scope.hasEval && !saysLastUse(eventUse)
}

/**
 * The declared variables of a function that a resumed twin can restore. The twin declares them at its top.
 * Variables that closures use must never change, or are shared with the closures.
 *
 * @param {Node} own @param {Facts} facts @param {Record<string, Node[]>} free see Emitter
 * @returns {{ names: string[], shared: string[], numbers: Set<string>, isShared: boolean, functions: Node[],
 *   declarations: Node[] } | null} null if the twin cannot restore them
 */
function localsOf(own, facts, free) {
  /** @type {Record<string, Variable[]>} */
  const locals = create(null)
  /** @type {Node[]} */
  const functions = []
  const numbers = emptySet()
  forEach(facts.functions, ({ node }) => node.type === 'FunctionDeclaration' && push(functions, node))
  const scopes = filter(facts.scopes, ({ node }) =>
    node === own || node.start >= own.body.start && !isFunctionNode(node))
  if (find(functions, ({ parent }) => parent !== own.body) ||
    find(scopes, ({ node }) => matches(/^Class/, node.type))) return null
  let isShared = functions.length > 0 || facts.usesArguments || facts.usesSuper ||
    isPrivate({ node: own, facts }) || own.scope.isSplit ||
    find(own.params, ({ argument }) => argument && argument.type !== 'Identifier') !== undefined
  /** @type {Variable[]} */
  const destructured = []
  const calledAt = firstUse(functions)
  for (let i = 0; i < scopes.length; i++) {
    const { variables } = scopes[i]
    const names = keysOf(variables)
    for (let k = 0; k < names.length; k++) {
      const variable = variables[names[k]]
      if (!canBeKept(variable, own, functions, calledAt)) return null
      if (variable.isCaptured) isShared ||= isChanging(variable, own)
      else variable.isNumber = isNumber(variable)
      if (isDestructured(variable, own)) push(destructured, variable)
      if (!matches(/^(?:var|let|const)$/, variable.kind) && !isOfHeldCatch(variable)) continue
      push(locals[names[k]] ??= [], variable)
    }
  }
  if (!isShared) forEach(destructured, variable => push(locals[variable.name] ??= [], variable))
  const names = keysOf(locals)
  for (let i = 0; i < names.length; i++) {
    const variables = locals[names[i]]
    if (find(variables, variable => hidesInside(variable, variables, own))) return null
    if (hidesAround(variables[0], own, free) || areMixed(variables)) return null
  }
  // The later variables of one name are assigned at their declarations, so only the first variable matters.
  forEach(names, name => locals[name][0].isNumber && numbers.add(name))
  const isOfClosures = (/** @type {string} */ name) => isShared && locals[name][0].isCaptured
  return {
    names: filter(names, name => !isOfClosures(name)),
    shared: filter(names, isOfClosures),
    numbers,
    isShared,
    functions,
    declarations: facts.declarations
  }
}

/**
 * Whether a variable hides another variable of its function that is not hoisted with it: a parameter, a
 * declared function, `arguments`, or the parameter of a `catch`. At the top of the twin, the variable would
 * hide the other one everywhere.
 *
 * @param {Variable} variable @param {Variable[]} variables the hoisted variables with this name
 * @param {Node} own
 */
function hidesInside({ outer }, variables, own) {
  for (; outer && outer.kind !== 'name' && isWithin(outer.scope.node, own); outer = outer.outer) {
    const hidden = outer
    if (!find(variables, variable => variable === hidden)) return true
  }
  return false
}

/**
 * Whether a function uses an outer variable with the same name as this variable of the function. At the top
 * of the twin, the variable of the function would hide the outer variable everywhere.
 *
 * @param {Variable} variable @param {Node} own @param {Record<string, Node[]>} free see Emitter
 * @returns {boolean}
 */
function hidesAround({ name, outer }, own, free) {
  while (outer && outer.kind !== 'name' && isWithin(outer.scope.node, own)) outer = outer.outer
  const references = outer ? outer.references : free[name] ?? []
  const next = references[firstOf(references, ({ end }) => end > own.body.start)]
  return next !== undefined && next.start < own.body.end
}

/**
 * Returns the position of the first reference to any of the functions from outside of them.
 *
 * @param {Node[]} functions the functions that one function declares @returns {number}
 */
function firstUse(functions) {
  let first = Infinity
  forEach(functions, ({ id }) => forEach(id.variable.references, (/** @type {Node} */ reference) => {
    if (reference.start < first && !isInOne(reference, functions)) first = reference.start
  }))
  return first
}

/**
 * Whether a node is inside of one of the functions.
 *
 * @param {Node} node @param {Node[]} functions disjoint functions, in the order of the text
 * @returns {boolean}
 */
function isInOne(node, functions) {
  const next = functions[firstOf(functions, ({ end }) => end > node.start)]
  return next !== undefined && isWithin(node, next)
}

/**
 * Whether variables of one name cannot share one variable of the twin, because their scopes overlap or a
 * closure captures one of them.
 *
 * @param {Variable[]} variables
 */
function areMixed(variables) {
  let end = 0
  sort(variables, (/** @type {Variable} */ a, /** @type {Variable} */ b) =>
    a.scope.node.start - b.scope.node.start)
  return variables.length > 1 && find(variables, variable => {
    const { node } = variable.scope
    const isInside = node.start < end
    end = node.end
    return isInside || variable.isCaptured
  }) !== undefined
}

/** Whether a variable is part of a pattern in the parameters. @param {Variable} variable @param {Node} own */
const isDestructured = ({ kind, declarations }, own) => kind === 'parameter' &&
  !find(own.params, param => (param.argument ?? param) === declarations[0])

/**
 * Whether a variable is the parameter of a `catch` with resume points.
 *
 * @param {Variable} variable @returns {boolean}
 */
const isOfHeldCatch = ({ kind, scope: { node } }) => kind === 'catch' && isHeld(node)

/** Returns the declarator around a declared name. @param {Node} id */
function declaratorOf(id) {
  while (id.type !== 'VariableDeclarator') id = id.parent
  return id
}

/**
 * Whether a single variable at the top of the twin can replace a variable during the whole call.
 *
 * @param {Variable} variable @param {Node} own
 * @param {Node[]} functions the declared functions @param {number} calledAt the result of `firstUse`
 * @returns {boolean}
 */
function canBeKept(variable, own, functions, calledAt) {
  const { name, kind, declarations, references, isAssigned, isDynamic, scope } = variable
  if (isDynamic) return false
  if (kind === 'arguments') return true
  const isEarly = () => find(references, reference => isBefore(reference, declarations[0])) !== undefined
  if (kind === 'catch') return !isOfHeldCatch(variable) || !(variable.isCaptured || isEarly())
  if (matches(/^(?:parameter|function)$/, kind)) return declarations.length === 1
  if (kind === 'var') { // `var arguments` starts as the arguments object of the function
    return name !== 'arguments' && !find(declarations, ({ parent }) => parent.type === 'FunctionDeclaration')
  }
  if (!matches(/^(?:let|const)$/, kind) || (kind === 'const' && isAssigned)) return false
  const { 0: id } = declarations
  if (scope.node.type === 'SwitchStatement') {
    let around = id
    while (around.type !== 'SwitchCase') around = around.parent
    if (find(references, reference => !isWithin(reference, around))) return false
  }
  const { init, end } = declaratorOf(id)
  if (!variable.isCaptured) return !isEarly()
  return !loopAround(id, own) && !find(references, reference => isInOne(reference, functions) ? calledAt < end
    : reference.start < end && !(init && isFunctionNode(init) && isWithin(reference, init)))
}

/** Returns the innermost loop around a name. @param {Node} id @param {Node} own @returns {Node | null} */
function loopAround(id, own) {
  for (let part = id; part !== own; part = part.parent) if (LISTS[part.type] === 'loops') return part
  return null
}

const ARITHMETIC = /^(?:(?:[-+*/%&|^~]|\*\*|<<|>>>?)=?|\+\+|--)$/

/**
 * Whether a variable seems to hold only numbers, and all uses of the variable follow an assignment in the
 * same block. Then no code reads the initial value, and the twin initializes the variable with 0. Engines
 * have a faster representation for a variable that is never `undefined`: in JavaScriptCore, fft is then 2
 * times slower than the original instead of 13 times, and mandelbrot 1.2 times instead of 5.6 times.
 *
 * @param {Variable} variable a variable that no closure uses
 */
function isNumber({ kind, declarations, references }) {
  if (!matches(/^(?:var|let|const)$/, kind) ||
    !find(references, ({ parent }) => matches(ARITHMETIC, parent.operator ?? ''))) return false
  const uses = pushAll(filter(declarations, ({ parent }) => parent.init), references)
  let { 0: first } = uses
  forEach(uses, use => use.start < first.start && (first = use))
  const { parent: assignment } = first
  if (assignment.id !== first && (assignment.operator !== '=' || assignment.left !== first)) return false
  let block = assignment
  while (block.type !== 'BlockStatement' && (block.parent.init === block || matches(
    /^(?:SequenceExpression|VariableDeclaration|ExpressionStatement|LabeledStatement|BlockStatement)$/,
    block.parent.type))) block = block.parent
  return !find(uses, use => use !== first && (use.start < assignment.end || use.end > block.end))
}

/**
 * Whether a variable may change after a closure has captured the variable.
 *
 * @param {Variable} variable a variable that closures use @param {Node} own
 * @returns {boolean}
 */
function isChanging({ kind, declarations, references, isAssigned }, own) {
  if (isAssigned || declarations.length > 1) return true
  if (kind !== 'var') return false
  const { 0: id } = declarations
  return loopAround(id, own) !== null ||
    find(references, ({ start }) => start < declaratorOf(id).end) !== undefined
}

/** Returns a name with the prefix of the text. @param {FrameLayout} layout @param {string} key */
const word = ({ emitter: { our } }, key) => our + key

/**
 * Adds a unit to a list: see Unit for the parameters.
 *
 * @param {Unit[]} units @param {Fragments} fragments @param {number} [first] @param {boolean} [isGuarded]
 */
const emit = (units, fragments, first = Infinity, isGuarded = false) =>
  push(units, { fragments, first, isGuarded })

/**
 * Returns the text of consecutive units. Conditions skip the units before the point where the twin resumes.
 *
 * @param {FrameLayout} layout @param {Unit[]} units
 * @param {number} [beyond] the first resume point that may follow the units
 * @returns {Fragments}
 */
function fragmentsOfUnits(layout, units, beyond = Infinity) {
  /** @type {Fragments[]} */
  const fragments = []
  /** The first resume point that skips each unit. @type {number[]} */
  const limits = []
  for (let i = units.length; i-- > 0; beyond = min(beyond, units[i].first)) limits[i] =
    units[i].isGuarded ? Infinity : beyond
  for (let i = 0; i < units.length; i++) {
    const isLimited = limits[i] < Infinity
    if (isLimited && limits[i] !== limits[i - 1]) push(fragments, `if(${word(layout, 'K')}<${limits[i]}){`)
    push(fragments, units[i].fragments)
    if (isLimited && limits[i] !== limits[i + 1]) push(fragments, '}')
  }
  return trimmed(fragments)
}

/**
 * Returns the text that suspends the twin at the latest resume point.
 *
 * @param {FrameLayout} layout @param {string} [begin] a statement that runs first
 */
const leaving = (layout, begin = '') =>
  `{${begin}${word(layout, 'K')}=${
    layout.around > 0 ? `${layout.emitter.helper('A')}(${layout.resumePoint})` : layout.resumePoint
  };break ${word(layout, 'o')}}`

/**
 * Returns the text before and after the condition that suspends the twin at the next resume point. Inside of
 * `try` or `for`-`of`, this text throws the error of a failed wait.
 *
 * @param {FrameLayout} layout
 */
function arriving(layout) {
  const at = word(layout, 'K')
  const resumePoint = ++layout.resumePoint
  if (layout.around === 0) return [`if(${at}<${resumePoint}&&`, ')']
  const failing = `${layout.emitter.helper('X')}(${word(layout, 'r')})`
  return [`if(${at}<${resumePoint}?`, `:${at}===${resumePoint}&&${failing})`]
}

/** Returns a preemption point under a condition. @param {FrameLayout} layout @param {string} condition */
function pointWhere(layout, condition) {
  const { 0: begin, 1: end } = arriving(layout)
  return flat(begin + condition + end + leaving(layout))
}

/**
 * Returns the text that restores the remaining call depth before a call, if an earlier call may have lowered
 * the depth. Binary trees are 2.7 times slower than the original; without this text, 3.7 times.
 *
 * @param {FrameLayout} layout
 */
function restoring(layout) {
  if (!layout.isLowered) return ''
  layout.hasRestored = true
  return `${layout.emitter.budget}.room=${word(layout, 'D')};`
}

/**
 * Adds a call that may be suspended.
 *
 * @param {FrameLayout} layout @param {Fragments} call @param {Unit[]} units
 * @returns {string} the variable that holds the result until the next resume point
 */
function calling(layout, call, units) {
  const { budget } = layout.emitter
  const result = word(layout, 'r')
  const { 0: begin, 1: end } = arriving(layout)
  const room = restoring(layout)
  layout.isLowered ||= layout.nests
  const after = flat(`)===${budget}${end}${leaving(layout)}`)
  emit(units, [flat(`${room}${begin}(${result}=`), call, after], layout.resumePoint, true)
  return result
}

/** Returns a variable whose value survives resume points. @param {FrameLayout} layout @returns {string} */
function temporary(layout) {
  if (++layout.temps > layout.mostTemps) layout.mostTemps = layout.temps
  return `${word(layout, 'T')}${layout.temps}`
}

/**
 * Stores a value across resume points, and returns the variable with the value.
 *
 * @param {FrameLayout} layout @param {Fragments} value @param {Unit[]} units @returns {string}
 */
function keep(layout, value, units) {
  const name = temporary(layout)
  emit(units, [`${name}=`, value, ';'])
  return name
}

/** Returns the edited text of a node. @param {FrameLayout} layout @param {Node} node @returns {Range} */
const asItStands = ({ emitter }, { start, end }) => range(emitter, start, end)

// Values

/** Types of operands, other than names, whose value never changes and whose evaluation has no effects. */
const STEADY = /^(?:Literal|Super|ThisExpression|FunctionExpression|ArrowFunctionExpression)$/

/**
 * Whether an operand can be read after the operands that follow it: the operand has the same value then, and
 * reading the operand throws nothing.
 *
 * @param {Node} node
 */
const isSteady = node => matches(STEADY, node.type) ||
  (node.type === 'Identifier' && (isUndefined(node) || (isConstant(node) && isInitialized(node))))

/** @param {Node} id */
const isUndefined = ({ name, variable, isDynamic }) => name === 'undefined' && variable === null && !isDynamic

/** Whether a node contains a resume point. @param {Node} node */
const isHeld = node => node.isHeld

/** @param {Node} member */
const partsOfMember = ({ object, property, computed }) => computed ? [object, property] : [object]

/**
 * Returns the operands of a node in the order of their evaluation. Returns null if the evaluation has a
 * different order than the text, or if frame form does not support the node.
 *
 * @param {Node} node @returns {Node[] | null}
 */
function operandsOf(node) {
  const { type, operator, argument, callee, left, right } = node
  switch (type) {
    case 'BinaryExpression': return left.type === 'PrivateIdentifier' ? [right] : [left, right]
    case 'LogicalExpression': return [left]
    case 'ConditionalExpression': return [node.test]
    case 'MemberExpression': return partsOfMember(node)
    case 'UnaryExpression': case 'UpdateExpression':
      return matches(/^(?:delete|\+\+|--)$/, operator) && isMember(argument)
        ? partsOfMember(argument) : [argument]
    case 'SequenceExpression': case 'TemplateLiteral': return node.expressions
    case 'ArrayExpression': return filter(node.elements, element => element)
    case 'ObjectExpression': {
      const parts = filter(node.properties, ({ type, method, kind }) =>
        type === 'SpreadElement' || (!method && kind === 'init'))
      if (find(node.properties, ({ computed }) => computed)) return null
      for (let i = 0; i < parts.length; i++) parts[i] = parts[i].value ?? parts[i]
      return parts
    }
    case 'AssignmentExpression':
      return isMember(left) ? pushAll(partsOfMember(left), [right]) : isHeld(left) ? null : [right]
    case 'CallExpression': case 'NewExpression':
      return pushAll(isMember(callee) ? partsOfMember(callee) : [callee], node.arguments)
    default: return null
  }
}

/** Maximum nesting depth of nodes with resume points. The planner visits these nodes by recursion. */
const DEEPEST_PLACE = 100

/** Rejects frame form: the twin becomes a generator. @param {FrameLayout} layout */
function refuse(layout) {
  layout.isRefused = true
  return ''
}

/**
 * Returns a part of the source in which each operand is replaced by the text of its value.
 *
 * @param {FrameLayout} layout @param {number} from @param {number} to @param {Node[]} operands
 * @param {Unit[]} units
 * @param {boolean} [isKept] whether all operands must have the same values later @returns {Fragments}
 */
function substituted(layout, from, to, operands, units, isKept = false) {
  const { emitter } = layout
  /** @type {Fragments[]} */
  const fragments = []
  let count = operands.length
  if (!isKept) while (count > 0 && !isHeld(operands[count - 1])) count--
  for (let i = 0; i < count; i++) {
    const operand = operands[i]
    const text = isKept || i < count - 1 ? keptValue(layout, operand, units) : value(layout, operand, units)
    const { parent } = operand
    push(fragments, range(emitter, from, operand.start))
    const isShorthand = parent.type === 'Property' && parent.shorthand
    if (typeof text !== 'string') push(fragments, text)
    else if (isShorthand) push(fragments, `${keyOfShorthand(operand)}:${text}`)
    else push(fragments, apart(emitter.source, operand, text))
    from = operand.end
  }
  push(fragments, range(emitter, from, to))
  return trimmed(fragments)
}

/**
 * Returns the key of a shorthand property `{ name }`. The property `{ __proto__ }` is an own property, but
 * `{ __proto__: value }` sets the prototype.
 *
 * @param {Node} id
 */
const keyOfShorthand = ({ name }) => name === '__proto__' ? '["__proto__"]' : name

/**
 * Returns a name that replaces a node, with spaces to separate the name from the words around it. For
 * example, minified code has no space between `f()` and `in`.
 *
 * @param {string} source @param {Node} node @param {string} name
 */
const apart = (source, { start, end }, name) => (matches(NAME_PART, source[start - 1] ?? '') ? ' ' : '') +
  name + (matches(NAME_PART, source[end] ?? '') ? ' ' : '')

/**
 * Returns a text that still has the present value of a node after later statements.
 *
 * @param {FrameLayout} layout @param {Node} node @param {Unit[]} units @returns {Fragments}
 */
function keptValue(layout, node, units) {
  const { type } = node.parent
  // A template converts each value to a string before the next one is computed.
  if (type === 'TemplateLiteral' && !isPrimitive(layout, node)) {
    return keep(layout, ['`${', value(layout, node, units), '}`'], units)
  }
  if (isSteady(node)) return asItStands(layout, node)
  const text = value(layout, node, units)
  if (node.type !== 'SpreadElement') return keep(layout, text, units)
  return ['...', keep(layout, type === 'ObjectExpression' ? ['{', text, '}'] : ['[', text, ']'], units)]
}

/**
 * Whether a node is a literal, but not a regular expression.
 *
 * @param {FrameLayout} layout @param {Node} node
 */
const isPrimitive = ({ emitter: { source } }, { type, start }) => type === 'Literal' && source[start] !== '/'

/**
 * Adds units for the calls in a node that may be suspended, and returns the text for the value of the node.
 *
 * @param {FrameLayout} layout @param {Node} node @param {Unit[]} units @returns {Fragments}
 */
function value(layout, node, units) {
  if (!isHeld(node)) return grouped(node, asItStands(layout, node))
  const { type, start, end, call, operator, left, right } = node
  if (++layout.depth > DEEPEST_PLACE) return refuse(layout)
  /** @type {Fragments} */
  let result
  if (type === 'ChainExpression') {
    const { expression } = node
    result = !expression.call || !isPreempted(expression.call) || !isWhole(expression) ? refuse(layout)
      : calling(layout, asItStands(layout, node), units)
  } else if (call && isPreempted(call)) {
    result = calling(layout, called(layout, node, units), units)
  } else if (type === 'CallExpression' && isMember(node.callee) && find(node.arguments, isHeld)) {
    result = called(layout, node, units) // the method must be read before the arguments are evaluated
  } else if (isCollected(node)) {
    const { callee, argument = node.arguments[0] } = node
    const rest = callee?.name === 'Map' ? ',!0)' : ')'
    const collection = callee ? ['new ', keptValue(layout, callee, units), '('] : '...'
    const list = calling(layout,
      [`${layout.emitter.helper('k')}(`, value(layout, argument, units), rest], units)
    result = [collection, list, callee ? ')' : '']
  } else if (type === 'SpreadElement') {
    result = ['...', value(layout, node.argument, units)]
  } else if (type === 'LogicalExpression' && isHeld(right)) {
    const kept = temporary(layout)
    assigned(layout, kept, left, units)
    const test = operator === '&&' ? kept : operator === '||' ? `!${kept}`
      : `${kept}===null||${kept}===void 0`
    choose(layout, test, units, isYes => isYes ? assigned(layout, kept, right) : [])
    result = kept
  } else if (type === 'ConditionalExpression' && (isHeld(node.consequent) || isHeld(node.alternate))) {
    const test = value(layout, node.test, units)
    const kept = temporary(layout)
    choose(layout, test, units, isYes => assigned(layout, kept, isYes ? node.consequent : node.alternate))
    result = kept
  } else if (type === 'AssignmentExpression' && operator !== '=' && isHeld(right)) {
    const target = isMember(left)
      ? substituted(layout, left.start, left.end, partsOfMember(left), units, true) : asItStands(layout, left)
    const before = matches(/^(?:&&|\|\||\?\?)/, operator) ? refuse(layout) : keep(layout, target, units)
    result = [target, '=', before, slice(operator, 0, operator.length - 1),
      '(', value(layout, right, units), ')']
  } else {
    const operands = operandsOf(node)
    result = operands === null ? refuse(layout) : substituted(layout, start, end, operands, units)
  }
  layout.depth--
  return grouped(node, result)
}

/** Whether no part of a call has a resume point. @param {Node} node @returns {boolean} */
const isWhole = ({ callee, tag, quasi, arguments: given = [] }) =>
  !isHeld(callee ?? tag) && !(quasi && isHeld(quasi)) && !find(given, isHeld)

/**
 * Adds an assignment of a value to a variable. A function does not get the name of the variable.
 *
 * @param {FrameLayout} layout @param {string} name @param {Node} node @param {Unit[]} [units]
 */
function assigned(layout, name, node, units = []) {
  const text = value(layout, node, units)
  emit(units, [`${name}=`, isFunctionNode(node) ? ['(0,', text, ')'] : text, ';'])
  return units
}

/**
 * Adds units for the calls in the operands of a call, and returns the text of the call.
 *
 * @param {FrameLayout} layout @param {Node} node @param {Unit[]} units @returns {Fragments}
 */
function called(layout, node, units) {
  if (isWhole(node)) return asItStands(layout, node)
  const { emitter } = layout
  const { source, helper } = emitter
  const { call, callee, end, arguments: given } = node
  const kind = call?.kind || 'member'
  const isUnsupported = kind === 'tag' || node.optional || callee.object?.type === 'Super' ||
    callee.property?.type === 'PrivateIdentifier'
  if (isUnsupported) return refuse(layout)
  if (call) call.isComposed = true
  // If an argument has a resume point, the callee must survive it.
  const isLate = find(given, isHeld) !== undefined
  const calleeValue = isLate ? keptValue : value
  const open = pastOperand(source, callee.end)
  const hasParentheses = open < end && source[open] === '(' // `new A` has none
  /** @param {string} before @param {string} after @returns {Fragments} */
  const withArguments = (before, after) => hasParentheses
    ? [before, substituted(layout, open + 1, end - 1, given, units), after] : before + after
  if (call && directOf(emitter, call)) {
    call.before = []
    call.after = []
    return [call.before, withArguments('(', ')'), call.after] // see planFrame
  }
  const said = saying(emitter, callee)
  if (kind === 'new') {
    return [`${helper('n')}((`, calleeValue(layout, callee, units), ')', withArguments(',[', `]${said})`)]
  }
  if (kind === 'call') {
    return [`${helper('e')}((`, calleeValue(layout, callee, units), `)${said})`, withArguments('(', ')')]
  }
  const { object, property, computed } = callee
  const receiver = keptValue(layout, object, units)
  if (call && optimisations.handed && handed(emitter, call)) {
    const { 0: opened, 1: closed } = textOfHanded(emitter, call, receiver)
    return [`(${helper('h')}(`, receiver, opened, asItStands(layout, given[0]), closed]
  }
  /** @type {Fragments} */
  let method = [receiver, computed ? ['[', calleeValue(layout, property, units), ']'] : `.${property.name}`]
  if (isLate) method = keep(layout, method, units)
  const { 0: before, 1: after } = call && isPreempted(call) ? aroundMethod(emitter, call, false)
    : [`${emitter.helper('M')}(`, `${said}).call(`]
  return [before, method, after, receiver, withArguments(given.length ? ',' : '', ')')]
}

// Statements

/**
 * Adds an `if` statement whose branches may have resume points.
 *
 * @param {FrameLayout} layout @param {Fragments} test @param {Unit[]} units
 * @param {(isYes: boolean) => Unit[]} branch plans the branch for `true`, and then the branch for `false`
 */
function choose(layout, test, units, branch) {
  const resumePoint = word(layout, 'K')
  const { resumePoint: before } = layout
  const yes = branch(true)
  const { resumePoint: middle } = layout
  const no = branch(false)
  const { resumePoint: after } = layout
  const head = before === middle ? middle === after ? '' : `${resumePoint}<=${before}&&`
    : middle === after ? `${resumePoint}>${before}||` : `${resumePoint}>${before}?${resumePoint}<=${middle}:`
  emit(units, [`if(${head}(`, test, ')){', fragmentsOfUnits(layout, yes), '}',
    no.length ? ['else{', fragmentsOfUnits(layout, no), '}'] : ''], before === after ? Infinity : before + 1)
}

/**
 * Adds the units of statements.
 *
 * @param {FrameLayout} layout @param {Node[]} statements @param {Unit[]} units
 */
function unitsOf(layout, statements, units) {
  if (++layout.depth > DEEPEST_PLACE) refuse(layout)
  for (let i = 0; i < statements.length && !layout.isRefused; i++) {
    const { temps } = layout
    statement(layout, statements[i], units)
    layout.temps = temps
  }
  layout.depth--
  return units
}

/** @param {Node} node @returns {Node[]} */
const statementsIn = node => node.type === 'BlockStatement' ? node.body : [node]

/**
 * Puts a sequence in parentheses, so that its commas do not separate arguments or elements.
 *
 * @param {Node} node @param {Fragments} text @returns {Fragments}
 */
const grouped = ({ type }, text) => type === 'SequenceExpression' ? ['(', text, ')'] : text

/**
 * Returns the text of an expression as a statement. At the start of a statement, an object pattern would be a
 * block.
 *
 * @param {FrameLayout} layout @param {Node} node @param {Fragments} text
 */
const asStatement = ({ emitter: { source } }, { start }, text) => source[start] === '{' ? ['0,', text] : text

/** Adds the units of a statement. @param {FrameLayout} layout @param {Node} node @param {Unit[]} units */
function statement(layout, node, units) {
  const { type } = node
  node.isUnit = true
  if (!isHeld(node)) return emit(units,
    [asItStands(layout, node), layout.emitter.source[node.end - 1] === ';' ? '' : ';'])
  switch (type) {
    case 'ExpressionStatement': {
      if (!layout.emitter.isOfModule && isCallStatement(node)) emit(units,
        pointWhere(layout, `--${layout.emitter.budget}.left<=0`), layout.resumePoint, true)
      const rest = value(layout, node.expression, units)
      if (typeof rest !== 'string') emit(units, asStatement(layout, node.expression, [rest, ';']))
      return
    }
    case 'VariableDeclaration': return declared(layout, node, units)
    case 'ReturnStatement': return returned(layout, node.argument, units)
    case 'ThrowStatement': return emit(units, ['throw ', value(layout, node.argument, units), ';'])
    case 'BlockStatement': return unitsOf(layout, node.body, units)
    case 'IfStatement': {
      const { test, consequent, alternate } = node
      return choose(layout, value(layout, test, units), units, isYes =>
        isYes ? unitsOf(layout, statementsIn(consequent), [])
          : alternate ? unitsOf(layout, statementsIn(alternate), []) : [])
    }
    case 'SwitchStatement': return switched(layout, node, units)
    case 'LabeledStatement': {
      if (LISTS[node.body.type] === 'loops' ||
        node.body.type === 'LabeledStatement') return statement(layout, node.body, units)
      const first = layout.resumePoint + 1
      const inner = unitsOf(layout, statementsIn(node.body), [])
      return emit(units,
        [labelsOf(layout.emitter, node.body).text, '{', fragmentsOfUnits(layout, inner), '}'], first)
    }
    case 'ForStatement': case 'WhileStatement': case 'DoWhileStatement': return looped(layout, node, units)
    case 'ForOfStatement': return walked(layout, node, units)
    case 'TryStatement': return tried(layout, node, units)
    default: refuse(layout)
  }
}

/**
 * Adds assignments for a declaration.
 *
 * @param {FrameLayout} layout @param {Node} node @param {Unit[]} units
 */
function declared(layout, { declarations, kind }, units) {
  for (let i = 0; i < declarations.length; i++) {
    const { id, init } = declarations[i]
    if (isHeld(id)) refuse(layout)
    if (init) emit(units, asStatement(layout, id,
      [asItStands(layout, id), '=', value(layout, init, units), ';']))
    else if (kind !== 'var') emit(units, [asItStands(layout, id), '=void 0;'])
  }
}

/**
 * Adds the return of a value.
 *
 * @param {FrameLayout} layout @param {Node} node the expression, if there is one @param {Unit[]} units
 */
function returned(layout, node, units) {
  const { ending } = layout
  if (ending) { // the finalizer runs before the function returns
    const { how, what } = ending
    if (node) assigned(layout, what, node, units)
    return emit(units, `${node ? '' : `${what}=void 0;`}${how}=2;break ${how};`)
  }
  const { type, test, consequent, alternate, call } = node
  if (type === 'ConditionalExpression' && (isHeld(consequent) || isHeld(alternate))) {
    choose(layout, value(layout, test, units), units, isYes => {
      /** @type {Unit[]} */
      const branch = []
      returned(layout, isYes ? consequent : alternate, branch)
      return branch
    })
  } else {
    const text = call && isPreempted(call) && isHeld(node) && returnOf(node, layout.own)
      ? called(layout, node, units) : value(layout, node, units)
    emit(units, [node.hasCall ? restoring(layout) : '', 'return ', text, ';'])
  }
}

/** @param {FrameLayout} layout @param {Node} node @returns {Fragments} */
const caseOf = (layout, { test }) => test ? ['case ', asItStands(layout, test), ':'] : 'default:'

/**
 * Whether the expression of a case has the same value after statements of the switch. These may initialize a
 * `var`.
 *
 * @param {Node} test
 */
function isLasting(test) {
  const { type, variable, argument } = test
  if (type === 'Identifier') return isUndefined(test) || (isConstant(test) && variable.kind !== 'var')
  return isSteady(type === 'UnaryExpression' && argument.type === 'Literal' ? argument : test)
}

/** Adds a `switch` statement. @param {FrameLayout} layout @param {Node} node @param {Unit[]} units */
function switched(layout, { discriminant, cases }, units) {
  // If all cases have lasting values, a resumed twin compares the cases again. Otherwise the frame saves the
  // number of the case.
  if (find(cases, ({ test }) => test && isHeld(test))) return refuse(layout)
  const isNumbered = find(cases, ({ test }) => test && !isLasting(test)) !== undefined
  let selector = value(layout, discriminant, units)
  if (isNumbered) {
    const number = temporary(layout)
    /** @type {Fragments[]} */
    const numbering = [`${number}=-1;switch(`, selector, '){']
    for (let i = 0; i < cases.length; i++) push(numbering,
      [caseOf(layout, cases[i]), `${number}=${i};break;`])
    push(numbering, '}')
    emit(units, numbering)
    selector = number
  } else selector = keep(layout, selector, units)
  const first = layout.resumePoint + 1
  /** @type {{ list: Unit[], next: number }[]} */
  const branches = []
  for (let i = 0; i < cases.length; i++) {
    const list = unitsOf(layout, cases[i].consequent, [])
    push(branches, { list, next: layout.resumePoint + 1 })
  }
  /** @type {Fragments[]} */
  const fragments = [`switch(${selector}){`]
  for (let i = 0; i < cases.length; i++) {
    const { list, next } = branches[i]
    push(fragments, isNumbered ? `case ${i}:` : caseOf(layout, cases[i]))
    push(fragments, fragmentsOfUnits(layout, list, next > layout.resumePoint ? Infinity : next))
  }
  push(fragments, '}')
  emit(units, fragments, first)
}

/**
 * Adds a loop other than `for`-`of`. A resumed call jumps into the loop: the text skips `init`, `test` and
 * `update` until the resume point `K` is reached. An expression of the head that has resume points itself
 * becomes a statement of the body, because the head cannot be left in the middle.
 *
 * @param {FrameLayout} layout @param {Node} loop @param {Unit[]} units
 */
function looped(layout, loop, units) {
  const { emitter, own } = layout
  const { type, init, test, update, body, end } = loop
  layout.isLowered ||= layout.nests
  const labels = labelsOf(emitter, loop)
  const resumePoint = word(layout, 'K')
  const isDo = type === 'DoWhileStatement'
  const isTestHeld = test && isHeld(test)
  if (optimisations.chunk && chunk(emitter, loop, own)) return emit(units,
    range(emitter, labels.start, end), layout.resumePoint)
  // An update with resume points moves to the start of the next round. The test of a `do` loop does so, too.
  const isLate = isDo ? isTestHeld : update && isHeld(update)
  if (init && isHeld(init)) {
    if (init.type === 'VariableDeclaration') declared(layout, init, units)
    else emit(units, ['(', value(layout, init, units), ');'])
  }
  const later = isLate ? keep(layout, '0', units) : ''
  const first = layout.resumePoint + 1
  /** @type {Unit[]} */
  const inner = []
  const tested = (/** @type {Unit[]} */ list) => emit(list, ['if(!(', value(layout, test, list), '))break;'])
  if (isLate) {
    choose(layout, later, inner, isYes => {
      /** @type {Unit[]} */
      const list = []
      if (isYes && isDo) tested(list)
      else if (isYes) emit(list, [value(layout, update, list), ';'])
      return list
    })
  }
  if (test && !isDo && (isLate || isTestHeld)) tested(inner)
  const point = pointWhere(layout, `--${emitter.budget}.left<=0`)
  emit(inner, point, layout.resumePoint, true)
  const text = ['{', fragmentsOfUnits(layout, unitsOf(layout, statementsIn(body), inner)), '}']
  const begin = init && !isHeld(init) ? [`${resumePoint}<${first}&&(`, asItStands(layout, init), ')'] : ''
  const again = [`${resumePoint}=0`, isLate ? `,${later}=1` : update ? [',', asItStands(layout, update)] : '']
  emit(units, [labels.text, isDo && !isLate
    ? ['do', text, `while(${resumePoint}=0,`, asItStands(layout, test), ');']
    : ['for(', begin, ';', test && !isLate && !isTestHeld
      ? [`${resumePoint}>=${first}||(`, asItStands(layout, test), ')'] : '', ';', again, ')', text]], first)
}

/**
 * Adds a `for`-`of` loop. If the twin resumes inside of a round, the iterator first returns itself. The round
 * then continues with its present item.
 *
 * @param {FrameLayout} layout @param {Node} loop @param {Unit[]} units
 */
function walked(layout, loop, units) {
  const { emitter } = layout
  const { left, right, body } = loop
  if (isHeld(left)) return refuse(layout)
  layout.isLowered ||= layout.nests
  const iterated = [
    `${emitter.helper('W')}(`, value(layout, right, units), `${sayingIterable(emitter, right)})`
  ]
  const list = keep(layout, iterated, units)
  const item = word(layout, 'x')
  const first = ++layout.resumePoint
  const target = left.declarations?.[0].id ?? left
  layout.around++
  /** @type {Unit[]} */
  const inner = []
  emit(inner, [`if(${item}!==${list}){${word(layout, 'K')}=0;`,
    `if(${item}===${emitter.budget})${leaving(layout, `${word(layout, 'r')}=${item};`)}`,
    asStatement(layout, target, [asItStands(layout, target), `=${item}}`])], first, true)
  const point = pointWhere(layout, `--${emitter.budget}.left<=0`)
  emit(inner, point, layout.resumePoint, true)
  unitsOf(layout, statementsIn(body), inner)
  layout.around--
  emit(units, [labelsOf(emitter, loop).text,
    `for(const ${item} of ${list}){`, fragmentsOfUnits(layout, inner), '}'], first)
}

/** Adds a `try` statement. @param {FrameLayout} layout @param {Node} node @param {Unit[]} units */
function tried(layout, node, units) {
  const { finalizer } = node
  if (finalizer && isHeld(finalizer)) return finished(layout, node, units)
  const first = layout.resumePoint + 1
  layout.around++
  const inner = caught(layout, node)
  layout.around--
  if (!finalizer) pushAll(units, inner)
  else emit(units, ['try{', fragmentsOfUnits(layout, inner), `}finally{if(!${layout.emitter.budget}.away)`,
    asItStands(layout, finalizer), '}'], first)
}

/**
 * Adds a `try` statement whose `finally` block has resume points. Variables keep the outcome of the `try`
 * until the block ends. As an alternative, the twin could be a generator. But then each closure would get a
 * new generator function, and the first call of a generator function takes V8 4 us.
 *
 * @param {FrameLayout} layout @param {Node} node @param {Unit[]} units
 */
function finished(layout, node, units) {
  const { own, returns, ending } = layout
  const { finalizer } = node
  // The outcome can be a throw or a return, but not a `break` or `continue`.
  for (let around = node.parent; around !== own;
    around = around.parent) if (isLeft(around)) return refuse(layout)
  const how = keep(layout, '0', units)
  const what = temporary(layout)
  const first = layout.resumePoint + 1
  const isReturning = returns[firstOf(returns, ({ start }) => start > node.start)]?.end < finalizer.start
  layout.ending = { how, what }
  layout.around++
  const inner = fragmentsOfUnits(layout, caught(layout, node))
  layout.around--
  layout.ending = ending
  const error = word(layout, 'x')
  emit(units, [`if(${word(layout, 'K')}<=${layout.resumePoint})${how}:try{`, inner,
    `}catch(${error}){${what}=${error};${how}=1}`], first, true)
  unitsOf(layout, finalizer.body, units)
  const again = ending ? `{${ending.what}=${what};${ending.how}=2;break ${ending.how}}` : `return ${what};`
  emit(units, `if(${how}===1)throw ${what};${isReturning ? `if(${how}===2)${again}` : ''}`)
}

/** Whether `break` or `continue` may leave a statement. @param {Node} node */
const isLeft = ({ type }) =>
  LISTS[type] === 'loops' || type === 'SwitchStatement' || type === 'LabeledStatement'

/**
 * Returns the units of a `try` statement without its `finally` block.
 *
 * @param {FrameLayout} layout @param {Node} node @returns {Unit[]}
 */
function caught(layout, { block, handler }) {
  const first = layout.resumePoint + 1
  /** @type {Unit[]} */
  const units = []
  if (!handler) return unitsOf(layout, block.body, units)
  const isLater = isHeld(handler)
  const flag = isLater ? keep(layout, '0', units) : ''
  const inner = fragmentsOfUnits(layout, unitsOf(layout, block.body, []))
  if (!isLater) {
    emit(units, ['try{', inner, '}', asItStands(layout, handler)], first)
    return units
  }
  const { param, body } = handler
  const error = word(layout, 'x')
  if (param && isHeld(param)) refuse(layout)
  const bind = param ? asStatement(layout, param, [asItStands(layout, param), `=${error};`]) : ''
  emit(units, [`if(${word(layout, 'K')}<=${layout.resumePoint})try{`, inner, `}catch(${error}){`, bind,
    `${flag}=1}`], first, true)
  choose(layout, flag, units, isYes => isYes ? unitsOf(layout, body.body, []) : [])
  return units
}

// The text

/**
 * Plans the edits of a twin in frame form. The twin declares all variables at its top, so declarations become
 * assignments. Calls become calls of twins.
 *
 * @param {Emitter} emitter @param {CallSite[]} calls
 */
export function planFrame(emitter, calls) {
  const { declarations } = /** @type {FrameLayout} */ (emitter.layout)
  forEach(calls, call => {
    if (!call.isComposed) return planCall(emitter, call)
    const direct = directOf(emitter, call)
    if (!direct) return
    push(push(call.before, direct.opening), direct.name)
    push(call.after, direct.closing)
  })
  for (let i = 0; i < declarations.length; i++) {
    const { start, kind, parent, declarations: list } = declarations[i]
    if (isHeld(declarations[i])) continue
    if (parent.left === declarations[i]) continue
    const isHead = parent.init === declarations[i]
    const isUnit = declarations[i].isUnit && list[0].id.type === 'Identifier'
    replace(emitter, start, list[0].start, isHead || isUnit ? '' : isInList(declarations[i]) ? ';(' : '(')
    for (let k = 0; k < list.length; k++) if (!list[k].init && kind !== 'var') insert(emitter,
      list[k].end, -EXPRESSION_EDGE, list[k].start, list[k].id.variable.isNumber ? '=0' : '=void 0')
    if (!isHead && !isUnit) insert(emitter,
      pastParentheses(emitter.source, list[list.length - 1].end), -STATEMENT_EDGE, start, ')')
  }
}

/**
 * The parts of a plan that the text of a twin in frame form needs.
 *
 * @typedef {{ node: Node, facts: Facts, twin: string, entry: string, title: string, mark: Fragments,
 *   isHoisted: boolean, frame: Fragments }} FramedPlan
 */

/** @param {Emitter} emitter @returns {FrameLayout} */
const layoutOf = ({ layout }) => /** @type {FrameLayout} */ (layout)

/**
 * Returns the text of a twin in frame form: its outer part, with the inner part if the twin has two parts.
 *
 * @param {Emitter} emitter @param {FramedPlan} plan @returns {Fragments}
 */
export function textOfFrame(emitter, plan) {
  const { node: { params }, title } = plan
  const { shared, isShared, isTail, functions } = layoutOf(emitter)
  /** @type {string[]} */
  const given = []
  let list = /** @type {Fragments} */ ('')
  if (isShared) list = params.length ? range(emitter, params[0].start, params[params.length - 1].end) : ''
  else forEach(params, param => {
    const name = parameterOf(emitter, param)
    list += `${given.length ? ',' : ''}${param.argument ? '...' : ''}${name}`
    push(given, name)
  })
  const head = headOfFrame(emitter, plan, list)
  if (isTail) return [head, textOfTail(emitter, plan)]
  const self = isShared ? `${emitter.our}I` : plan.entry
  const text = textOfParts(emitter, plan, self, given)
  if (!isShared) return [head, text]
  /** @type {Fragments[]} */
  const declarations = []
  forEach(functions, ({ start, end, plan }) => {
    push(declarations, range(emitter, start, end), plan?.registered ?? '')
  })
  const own = emitter.lock ? [`${emitter.lock}=${emitter.helper('z')}()`] : []
  return [head, declarations, `var ${join(pushAll(pushAll(own, shared), [`${self}=`]), ',')}`,
    withTitle(title, ['()=>{', text]), `;return ${self}()}`]
}

/**
 * Returns the text of a twin up to its first statement.
 *
 * @param {Emitter} emitter @param {FramedPlan} plan @param {Fragments} list the parameters
 * @returns {Fragments}
 */
function headOfFrame({ callee }, plan, list) {
  const { node: { body }, facts, entry, title, mark, isHoisted } = plan
  const isArrow = facts.isArrow && facts.usesThis
  const begin = isArrow ? '' : isTwinMember(plan) ? entry
    : isConcise(plan) ? title : `function${isHoisted ? ` ${entry}` : ''}`
  const strict = isStrictBody(body.body) ? '"use strict";' : ''
  return [mark, `${begin}(`, list, isArrow ? ')=>{' : '){', strict,
    callee && `arguments.callee=${callee};`]
}

/**
 * Returns the text of a twin without resume points, after its head.
 *
 * @param {Emitter} emitter @param {FramedPlan} plan @returns {Fragments}
 */
function textOfTail({ variables, claims, helper }, { node: { params }, facts, entry, frame }) {
  // An arguments object costs an allocation in each call.
  const given = facts.usesArguments ? 'arguments' : `[${textsOf(params)}]`
  let waits = ''
  forEach(claims, ({ test }) => { waits += `if(${test})return ${helper('L')}(${entry},this,${given});` })
  return [variables.size ? `var ${join(listOf(variables), ',')};` : '', waits, frame, '}']
}

/**
 * Returns the text that restores the frame, the statements, and the text that saves the frame.
 *
 * @param {Emitter} emitter @param {FramedPlan} plan
 * @param {string} self the name of the function that is called again when the twin resumes
 * @param {string[]} given the parameters that the frame saves @returns {Fragments}
 */
function textOfParts(emitter, { node: { body }, facts, frame }, self, given) {
  const { our, variables, helper, budget } = emitter
  const { names, numbers, isShared, nests, hasRestored, mostTemps } = layoutOf(emitter)
  const locals = filter(names, name => find(given, other => other === name) === undefined)
  for (let i = 1; i <= mostTemps; i++) push(locals, `${our}T${i}`)
  let declared = `${our}K=0${hasRestored ? `,${our}D` : ''},${our}r`
  forEach(locals, name => { declared += `,${name}${numbers.has(name) ? '=0' : ''}` })
  declared = join(pushAll(emitter.begin ? [declared, emitter.begin] : [declared], listOf(variables)), ',')
  const saved = join(pushAll(pushAll([`{0:${our}r`, `${our}K`], given), locals), ',') + '}'
  // A twin without calls does not count the call depth.
  const isTooDeep = !nests ? '' : `${hasRestored ? `(${our}D=--${budget}.room)` : `--${budget}.room`}<0||`
  const restore = `if(${isTooDeep}--${budget}.left<=0)` +
    `if(${our}r=${helper('H')}())(${saved}=${our}r);else break ${our}o;`
  const returnsAlways = body.type !== 'BlockStatement' ||
    matches(/^(?:Return|Throw)/, body.body[body.body.length - 1]?.type ?? '')
  const receiver = !isShared && facts.usesThis ? ',this' : ''
  return [flat(`var ${declared};${our}o:{${restore}`), frame,
    flat(`${returnsAlways ? '' : 'return'}}return ${helper('S')}(${self},${saved}${receiver})}`)]
}
