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
  append, create, cut, emptySet, find, firstOf, flat, join, joined, keysOf, listOf, matches, max, min, pick,
  sort, trimmed
} from './primordials.mjs'
import {
  LISTS, isBefore, isConstant, isFunctionNode, isInitialized, isStrictBody, isWithin
} from './scopes.mjs'
/** @import { CallSite, Draft, Plan } from './calls.mjs' */
/** @import { Facts, Node, Variable } from './scopes.mjs' */
/** @import { EventUse } from './event-use.mjs' */
/** @import { Pieces, Range } from './edits.mjs' */

// Most functions need no generator: the twin runs on the engine's stack like the function itself. A call or a
// point can suspend the twin. Then the twin saves the resume point, the result of the call and the variables
// in a frame. The twin is resumed by another call:
//
//   function f(a) {            function twin(a) { let place = 0, result, b; out: {
//                                if (--left <= 0) if (result = resumed()) ({ place, result, a, b } = result); else break out
//     const b = a + g()          if (place < 1 && (result = enter(g)()) === budget) { place = 1; break out }
//                                if (place < 2) b = a + result
//     return b * h()             if (place < 2 && (result = enter(h)()) === budget) { place = 2; break out }
//   }                            return b * result
//                              } return suspend(twin, { place, result, a, b }, this) }
//
// Places are numbered as they stand in the text; a loop begins each round with none. What is computed before
// a place and needed after it is a variable. Where closures use what changes, or parameters hold expressions,
// only the first part is called once: it has the parameters, what closures use and the functions that are
// declared; what leaves frames is an arrow function in it.
//
//   function twin(a = f()) { var shared; function inner() { ... } var rest = () => { ... suspend(rest, ...) }; return rest() }
//
// While a frame is left (`counts.away`), nothing around ends: an iterator is not closed, and gives itself
// where its round goes on; a finalizer is passed over, if it has no places; one that has comes after its
// `try`, which keeps how it ended. What is waited for there and fails is thrown where it was called.
//
// In the text T is the twin where it stands in an expression, K the place, r the result, D the room that is
// left, a1 and so on a parameter that is destructured, T1 and so on what is kept, o encloses all of it, and I
// is the rest. What calls only what it returns needs no frame.

/**
 * @typedef {object} Framed a function whose twin leaves frames
 * @property {Draft} draft
 * @property {Node} own
 * @property {Node[]} returns
 * @property {boolean} isTail whether it has nothing to go on from, and leaves none
 * @property {boolean} isShared whether closures share what it declares with it
 * @property {string[]} names of what it declares, but for parameters that are names
 * @property {string[]} shared those that closures use, where they share it
 * @property {Set<string>} numbers of names, those that begin as 0: see isNumber
 * @property {Node[]} functions declared in it, which do
 * @property {Node[]} declarations of variables
 * @property {number} place the last one so far
 * @property {number} temps how many intermediate results are kept, and the most at a time
 * @property {number} mostTemps
 * @property {boolean} nests whether it has calls that may be preempted
 * @property {boolean} isLowered whether a call may have been made, and left less room
 * @property {boolean} hasRestored whether that is given back before another
 * @property {number} depth of the part that is being planned
 * @property {number} around how many statements around have to know when a frame is left: they try, or
 *   iterate
 * @property {{ how: string, what: string } | null} ending what keeps how the part ends that is being planned,
 *   where a finalizer with places comes next
 * @property {boolean} isRefused whether it holds what nothing can go on from
 * @property {(condition: string) => string} pause returns the text of a preemption point under a condition
 */
/**
 * Statements of a twin, the first place in them, if there is one, and whether they look for themselves where
 * it goes on.
 *
 * @typedef {{ pieces: Pieces, first: number, isGuarded: boolean }} Unit
 */

/**
 * Marks the nodes around each resume point of a function.
 *
 * @param {{ node: Node, facts: Facts, calls: CallSite[] }} plan
 * @param {boolean} isOfModule as of Draft
 */
export function markPlaces({ node, facts, calls }, isOfModule) {
  /** @param {Node} part that has a place */
  const hold = part => {
    for (; part !== node && !part.isHeld; part = part.parent) part.isHeld = true
  }
  pick(calls, call => {
    const last = returnOf(call.node, node)
    if (last) last.hasCall = true
    else hold(call.node)
  })
  pick(facts.loops, hold)
  if (isOfModule) {
    pick(facts.spreads, part => part.start > node.body.start && isCollected(part) && hold(part))
    pick(facts.calls, part => isCollected(part) && hold(part))
  } else pick(facts.statements, part => isCallStatement(part) && hold(part))
  let from = 0
  pick(facts.tries, ({ start, finalizer }) => {
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
 * @param {{ node: Node, children: Plan[] }} plan whose places are marked
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
 * The text that passes on a parameter; empty: the twin cannot evaluate the parameter again.
 *
 * @param {Node} param
 */
const givenAs = ({ type, name, argument }) =>
  type === 'Identifier' ? name : type === 'RestElement' && argument.name ? `...${argument.name}` : ''

/** The arguments that a twin passes on. @param {Node[]} params as of canClaimInTail */
function textsOf(params) {
  /** @type {string[]} */
  const list = []
  pick(params, param => append(list, givenAs(param)))
  return join(list, ',')
}

/**
 * Plans a twin that leaves frames.
 *
 * @param {Draft} draft
 * @param {{ node: Node, facts: Facts, children: Plan[], calls: CallSite[] }} plan whose places are marked
 * @returns {any[] | null} the text of its body; null: it is to be a generator
 */
export function frame(draft, plan) {
  const { node, facts, calls } = plan
  if (!canLeaveFrame(plan)) return null
  const isTail = draft.isOfModule && isTailOnly(plan) && !draft.lock && canClaimInTail(plan)
  const locals = isTail ? NO_LOCALS : localsOf(node, facts, draft.free)
  if (locals === null) return null
  /** @type {Framed} */
  const framed = { draft, own: node, returns: facts.returns, ...locals, isTail, nests: calls.length > 0, isLowered: false, hasRestored: false, place: 0, temps: 0, mostTemps: 0, depth: 0, around: 0, ending: null, isRefused: false,
    pause: condition => pointWhere(framed, condition) }
  draft.framed = framed
  const { body } = node
  if (isTail) return [body.type === 'BlockStatement' ? '' : 'return ', asItStands(framed, body)]
  /** @type {Unit[]} */
  const units = []
  if (draft.lock && !framed.isShared) {
    append(framed.names, draft.lock)
    emit(units, `${draft.lock}=${draft.helper('z')}();`)
  }
  pick(draft.claims, claim => {
    const first = framed.place + 1
    emit(units, framed.pause(claim.test), first, true)
  })
  if (!framed.isShared) {
    pick(node.params, param => matches(/^(?:Array|Object)/, param.type) &&
      emit(units, asStatement(framed, param, [asItStands(framed, param), '=', parameterOf(draft, param), ';'])))
  }
  if (body.type === 'BlockStatement') {
    unitsOf(framed, pick(body.body, ({ type, directive }) => directive === undefined && type !== 'FunctionDeclaration'), units)
  }
  else returned(framed, body, units)
  if (!framed.isRefused) return piecesOfUnits(framed, units)
  unframe(draft)
  return null
}

/** @type {any} */
const NO_LOCALS = { names: [], shared: [], numbers: [], isShared: true, functions: [], declarations: [] }

/** @param {Draft} draft whose twin is to be a generator */
export function unframe(draft) {
  draft.framed = null
  draft.variables.clear()
  draft.edits.length = 0
}

/** @param {{ facts: Facts, eventUse?: EventUse }} plan */
export const canLeaveFrame = ({ facts, eventUse }) => {
  const { isAsync, isGenerator, isDerived, usesNewTarget, scope } = facts
  return !isAsync && !isGenerator && !isDerived && !usesNewTarget && !scope.hasEval && !saysLastUse(eventUse)
}

/**
 * The declared variables of a function that a resumed twin can restore. The twin declares them at its top.
 * Variables that closures use must never change, or are shared with the closures.
 *
 * @param {Node} own @param {Facts} facts @param {Record<string, Node[]>} free as of names
 * @returns {{ names: string[], shared: string[], numbers: Set<string>, isShared: boolean, functions: Node[],
 *   declarations: Node[] } | null} null where they cannot
 */
function localsOf(own, facts, free) {
  /** @type {Record<string, Variable[]>} */
  const locals = create(null)
  /** @type {Node[]} */
  const functions = []
  const numbers = emptySet()
  pick(facts.functions, ({ node }) => node.type === 'FunctionDeclaration' && append(functions, node))
  const scopes = pick(facts.scopes, ({ node }) => node === own || node.start >= own.body.start && !isFunctionNode(node))
  if (find(functions, ({ parent }) => parent !== own.body) || find(scopes, ({ node }) => matches(/^Class/, node.type))) return null
  let isShared = functions.length > 0 || facts.usesArguments || facts.usesSuper || isPrivate({ node: own, facts }) || own.scope.isSplit ||
    find(own.params, ({ argument }) => argument && argument.type !== 'Identifier') !== undefined
  /** @type {Variable[]} */
  const destructured = []
  const calledAt = firstUse(functions)
  for (let i = 0; i < scopes.length; i++) {
    const { variables } = scopes[i]
    const names = keysOf(variables)
    for (let k = 0; k < names.length; k++) {
      const variable = variables[names[k]]
      if (!canBeKept(variable, own, facts, functions, calledAt)) return null
      if (isCaptured(variable, facts)) isShared ||= isChanging(variable, own)
      else variable.isNumber = isNumber(variable)
      if (isDestructured(variable, own)) append(destructured, variable)
      if (!matches(/^(?:var|let|const)$/, variable.kind) && !isOfHeldCatch(variable)) continue
      append(locals[names[k]] ??= [], variable)
    }
  }
  if (!isShared) pick(destructured, variable => append(locals[variable.name] ??= [], variable))
  const names = keysOf(locals)
  for (let i = 0; i < names.length; i++) {
    const variables = locals[names[i]]
    if (find(variables, variable => hidesInside(variable, variables, own))) return null
    if (hidesAround(variables[0], own, free) || areMixed(variables, facts)) return null
  }
  pick(names, name => locals[name][0].isNumber && numbers.add(name)) // what has the same name is set where it is declared
  const isOfClosures = (/** @type {string} */ name) => isShared && isCaptured(locals[name][0], facts)
  return {
    names: pick(names, name => !isOfClosures(name)),
    shared: pick(names, isOfClosures),
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
 * @param {Variable} variable @param {Variable[]} variables hoisted ones of this name @param {Node} own
 */
function hidesInside({ outer }, variables, own) {
  for (; outer && outer.kind !== 'name' && isWithin(outer.scope.node, own); outer = outer.outer) {
    const hidden = outer
    if (!find(variables, variable => variable === hidden)) return true
  }
  return false
}

/**
 * Whether what a function declares has the name of something that it uses, and that is declared around it.
 *
 * @param {Variable} variable @param {Node} own @param {Record<string, Node[]>} free as of names
 * @returns {boolean}
 */
function hidesAround({ name, outer }, own, free) {
  while (outer && outer.kind !== 'name' && isWithin(outer.scope.node, own)) outer = outer.outer
  const references = outer ? outer.references : free[name] ?? []
  const next = references[firstOf(references, ({ end }) => end > own.body.start)]
  return next !== undefined && next.start < own.body.end
}

/**
 * @param {Node[]} functions declared in one @returns {number} where one of them is used first, but by them
 */
function firstUse(functions) {
  let first = Infinity
  pick(functions, ({ id }) => pick(id.variable.references, (/** @type {Node} */ reference) => {
    if (reference.start < first && !isInOne(reference, functions)) first = reference.start
  }))
  return first
}

/** @param {Node} node @param {Node[]} functions side by side, as they stand @returns {boolean} */
function isInOne(node, functions) {
  const next = functions[firstOf(functions, ({ end }) => end > node.start)]
  return next !== undefined && isWithin(node, next)
}

/**
 * Whether variables of one name cannot be one variable: they are there at the same time, or a closure keeps
 * one.
 *
 * @param {Variable[]} variables @param {Facts} facts
 */
function areMixed(variables, facts) {
  let end = 0
  sort(variables, (/** @type {Variable} */ a, /** @type {Variable} */ b) => a.scope.node.start - b.scope.node.start)
  return variables.length > 1 && find(variables, variable => {
    const { node } = variable.scope
    const isInside = node.start < end
    end = node.end
    return isInside || isCaptured(variable, facts)
  }) !== undefined
}

/**
 * @param {Variable} variable @param {Facts} facts of the function that declares it
 * @returns {boolean} whether closures use it
 */
const isCaptured = ({ references }, facts) => find(references, ({ scope }) => scope.facts !== facts) !== undefined

/** Whether it is declared in a pattern among the parameters. @param {Variable} variable @param {Node} own */
const isDestructured = ({ kind, declarations }, own) => kind === 'parameter' && !find(own.params, param => (param.argument ?? param) === declarations[0])

/** @param {Variable} variable @returns {boolean} whether it is there as long as a `catch` that has places */
const isOfHeldCatch = ({ kind, scope: { node } }) => kind === 'catch' && isHeld(node)

/** @param {Node} id that is declared */
function declaratorOf(id) {
  while (id.type !== 'VariableDeclarator') id = id.parent
  return id
}

/**
 * @param {Variable} variable @param {Node} own @param {Facts} facts @param {Node[]} functions declared in it
 * @param {number} calledAt where they may be called first
 * @returns {boolean} whether there can be one of it as long as the function runs
 */
function canBeKept(variable, own, facts, functions, calledAt) {
  const { name, kind, declarations, references, isAssigned, isDynamic, scope } = variable
  if (isDynamic) return false
  if (kind === 'arguments') return true
  const isEarly = () => find(references, reference => isBefore(reference, declarations[0])) !== undefined
  if (kind === 'catch') return !isOfHeldCatch(variable) || !(isCaptured(variable, facts) || isEarly())
  if (matches(/^(?:parameter|function)$/, kind)) return declarations.length === 1
  if (kind === 'var') { // `var arguments` begins as the arguments of the function
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
  if (!isCaptured(variable, facts)) return !isEarly()
  return !loopAround(id, own) && !find(references, reference => isInOne(reference, functions) ? calledAt < end
    : reference.start < end && !(init && isFunctionNode(init) && isWithin(reference, init)))
}

/** @param {Node} id @param {Node} own @returns {Node | null} the innermost loop that it is in */
function loopAround(id, own) {
  for (let part = id; part !== own; part = part.parent) if (LISTS[part.type] === 'loops') return part
  return null
}

const ARITHMETIC = /^(?:(?:[-+*/%&|^~]|\*\*|<<|>>>?)=?|\+\+|--)$/

/**
 * Whether a variable seems to hold numbers, and nothing sees what it holds before the first: all that uses it
 * comes after a statement that assigns to it, in the same block. Then it may begin as 0. What may be
 * `undefined`, too, engines keep as they keep anything: in JavaScriptCore fft takes 2 instead of 13 times as
 * long as the original, mandelbrot 1.2 instead of 5.6.
 *
 * @param {Variable} variable that no closure uses
 */
function isNumber({ kind, declarations, references }) {
  if (!matches(/^(?:var|let|const)$/, kind) || !find(references, ({ parent }) => matches(ARITHMETIC, parent.operator ?? ''))) return false
  const uses = joined(pick(declarations, ({ parent }) => parent.init), references)
  let { 0: first } = uses
  pick(uses, use => use.start < first.start && (first = use))
  const { parent: assignment } = first
  if (assignment.id !== first && (assignment.operator !== '=' || assignment.left !== first)) return false
  let block = assignment
  while (block.type !== 'BlockStatement' && (block.parent.init === block ||
    matches(/^(?:SequenceExpression|VariableDeclaration|ExpressionStatement|LabeledStatement|BlockStatement)$/, block.parent.type))) block = block.parent
  return !find(uses, use => use !== first && (use.start < assignment.end || use.end > block.end))
}

/**
 * @param {Variable} variable that closures use @param {Node} own
 * @returns {boolean} whether it may change once they do
 */
function isChanging({ kind, declarations, references, isAssigned }, own) {
  if (isAssigned || declarations.length > 1) return true
  if (kind !== 'var') return false
  const { 0: id } = declarations
  return loopAround(id, own) !== null || find(references, ({ start }) => start < declaratorOf(id).end) !== undefined
}

/** @param {Framed} framed @param {string} key */
const word = ({ draft: { our } }, key) => our + key

/**
 * @param {Unit[]} units @param {Pieces} pieces @param {number} [first] place in them
 * @param {boolean} [isGuarded]
 */
const emit = (units, pieces, first = Infinity, isGuarded = false) => append(units, { pieces, first, isGuarded })

/**
 * Units one after the other; those that come before the place from which the twin goes on are left out.
 *
 * @param {Framed} framed @param {Unit[]} units
 * @param {number} [beyond] the first place that may come behind them
 * @returns {Pieces}
 */
function piecesOfUnits(framed, units, beyond = Infinity) {
  /** @type {Pieces[]} */
  const pieces = []
  /** The place before which each is done. @type {number[]} */
  const limits = []
  for (let i = units.length; i-- > 0; beyond = min(beyond, units[i].first)) limits[i] = units[i].isGuarded ? Infinity : beyond
  for (let i = 0; i < units.length; i++) {
    const isLimited = limits[i] < Infinity
    if (isLimited && limits[i] !== limits[i - 1]) append(pieces, `if(${word(framed, 'K')}<${limits[i]}){`)
    append(pieces, units[i].pieces)
    if (isLimited && limits[i] !== limits[i + 1]) append(pieces, '}')
  }
  return trimmed(pieces)
}

/**
 * The text that leaves the frame at the last place.
 *
 * @param {Framed} framed @param {string} [begin] text before it
 */
const leaving = (framed, begin = '') =>
  `{${begin}${word(framed, 'K')}=${framed.around > 0 ? `${framed.draft.helper('A')}(${framed.place})` : framed.place};break ${word(framed, 'o')}}`

/**
 * The text before and after the condition for leaving at the next place. Inside of `try`, a failed wait
 * throws here.
 *
 * @param {Framed} framed
 */
function arriving(framed) {
  const at = word(framed, 'K')
  const place = ++framed.place
  return framed.around > 0 ? [`if(${at}<${place}?`, `:${at}===${place}&&${framed.draft.helper('X')}(${word(framed, 'r')}))`]
    : [`if(${at}<${place}&&`, ')']
}

/** A point. @param {Framed} framed @param {string} condition */
function pointWhere(framed, condition) {
  const { 0: begin, 1: end } = arriving(framed)
  return flat(begin + condition + end + leaving(framed))
}

/**
 * Before a call: what another one has left of the room. Binary trees take 2.7 times as long as the original,
 * where nothing gives it back 3.7.
 *
 * @param {Framed} framed
 */
function restoring(framed) {
  if (!framed.isLowered) return ''
  framed.hasRestored = true
  return `${framed.draft.budget}.room=${word(framed, 'D')};`
}

/**
 * A call that may be suspended.
 *
 * @param {Framed} framed @param {Pieces} call @param {Unit[]} units
 * @returns {string} its result, until the next place
 */
function calling(framed, call, units) {
  const { budget } = framed.draft
  const result = word(framed, 'r')
  const { 0: begin, 1: end } = arriving(framed)
  const room = restoring(framed)
  framed.isLowered ||= framed.nests
  const after = flat(`)===${budget}${end}${leaving(framed)}`)
  emit(units, [flat(`${room}${begin}(${result}=`), call, after], framed.place, true)
  return result
}

/** @param {Framed} framed @returns {string} a name for what is kept beyond the next place */
function temporary(framed) {
  if (++framed.temps > framed.mostTemps) framed.mostTemps = framed.temps
  return `${word(framed, 'T')}${framed.temps}`
}

/** @param {Framed} framed @param {Pieces} value @param {Unit[]} units @returns {string} what holds it */
function keep(framed, value, units) {
  const name = temporary(framed)
  emit(units, [`${name}=`, value, ';'])
  return name
}

/** @param {Framed} framed @param {Node} node @returns {Range} */
const asItStands = ({ draft }, { start, end }) => range(draft, start, end)

// Values

/** Types of operands without a name that have one value, and whose evaluation has no effects. */
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

/** @param {Node} node */
const isHeld = node => node.isHeld

/** @param {Node} member */
const partsOfMember = ({ object, property, computed }) => computed ? [object, property] : [object]

/**
 * @param {Node} node @returns {Node[] | null} what it is computed from, in this order; null: in another order
 */
function operandsOf(node) {
  const { type, operator, argument, callee, left, right } = node
  switch (type) {
    case 'BinaryExpression': return left.type === 'PrivateIdentifier' ? [right] : [left, right]
    case 'LogicalExpression': return [left]
    case 'ConditionalExpression': return [node.test]
    case 'MemberExpression': return partsOfMember(node)
    case 'UnaryExpression': case 'UpdateExpression':
      return matches(/^(?:delete|\+\+|--)$/, operator) && isMember(argument) ? partsOfMember(argument) : [argument]
    case 'SequenceExpression': case 'TemplateLiteral': return node.expressions
    case 'ArrayExpression': return pick(node.elements, element => element)
    case 'ObjectExpression': {
      const parts = pick(node.properties, ({ type, method, kind }) => type === 'SpreadElement' || (!method && kind === 'init'))
      if (find(node.properties, ({ computed }) => computed)) return null
      for (let i = 0; i < parts.length; i++) parts[i] = parts[i].value ?? parts[i]
      return parts
    }
    case 'AssignmentExpression': return isMember(left) ? joined(partsOfMember(left), [right]) : isHeld(left) ? null : [right]
    case 'CallExpression': case 'NewExpression': return joined(isMember(callee) ? partsOfMember(callee) : [callee], node.arguments)
    default: return null
  }
}

/** How deep what has places may nest: it is planned by recursion. */
const DEEPEST_PLACE = 100

/** @param {Framed} framed */
function refuse(framed) {
  framed.isRefused = true
  return ''
}

/**
 * The text between two places, with what is computed from others where those stood.
 *
 * @param {Framed} framed @param {number} from @param {number} to @param {Node[]} operands
 * @param {Unit[]} units
 * @param {boolean} [isKept] whether all operands are to have the same values later @returns {Pieces}
 */
function substituted(framed, from, to, operands, units, isKept = false) {
  const { draft } = framed
  /** @type {Pieces[]} */
  const pieces = []
  let count = operands.length
  if (!isKept) while (count > 0 && !isHeld(operands[count - 1])) count--
  for (let i = 0; i < count; i++) {
    const operand = operands[i]
    const text = isKept || i < count - 1 ? keptValue(framed, operand, units) : value(framed, operand, units)
    const { parent } = operand
    append(pieces, range(draft, from, operand.start))
    const isShorthand = parent.type === 'Property' && parent.shorthand
    if (typeof text !== 'string') append(pieces, text)
    else if (isShorthand) append(pieces, `${keyOfShorthand(operand)}:${text}`)
    else append(pieces, apart(draft.source, operand, text))
    from = operand.end
  }
  append(pieces, range(draft, from, to))
  return trimmed(pieces)
}

/**
 * The key of a property that was `{ name }`. The property `{ __proto__ }` is an own property, but
 * `{ __proto__: value }` sets the prototype.
 *
 * @param {Node} id
 */
const keyOfShorthand = ({ name }) => name === '__proto__' ? '["__proto__"]' : name

/**
 * A name where something else stood: minified code has no space between `f()` and `in`.
 *
 * @param {string} source @param {Node} node @param {string} name
 */
const apart = (source, { start, end }, name) =>
  (matches(NAME_PART, source[start - 1] ?? '') ? ' ' : '') + name + (matches(NAME_PART, source[end] ?? '') ? ' ' : '')

/**
 * A value as it is now, whatever is done later.
 *
 * @param {Framed} framed @param {Node} node @param {Unit[]} units @returns {Pieces}
 */
function keptValue(framed, node, units) {
  const { type } = node.parent
  // A template converts each value to a string before the next one is computed.
  if (type === 'TemplateLiteral' && !isPrimitive(framed, node)) {
    return keep(framed, ['`${', value(framed, node, units), '}`'], units)
  }
  if (isSteady(node)) return asItStands(framed, node)
  const text = value(framed, node, units)
  if (node.type !== 'SpreadElement') return keep(framed, text, units)
  return ['...', keep(framed, type === 'ObjectExpression' ? ['{', text, '}'] : ['[', text, ']'], units)]
}

/** Whether a node is a literal, but no regular expression. @param {Framed} framed @param {Node} node */
const isPrimitive = ({ draft: { source } }, { type, start }) => type === 'Literal' && source[start] !== '/'

/**
 * What has a value, once that is done which may be suspended.
 *
 * @param {Framed} framed @param {Node} node @param {Unit[]} units @returns {Pieces}
 */
function value(framed, node, units) {
  if (!isHeld(node)) return grouped(node, asItStands(framed, node))
  const { type, start, end, call, operator, left, right } = node
  if (++framed.depth > DEEPEST_PLACE) return refuse(framed)
  /** @type {Pieces} */
  let result
  if (type === 'ChainExpression') {
    const { expression } = node
    result = !expression.call || !isPreempted(expression.call) || !isWhole(expression) ? refuse(framed)
      : calling(framed, asItStands(framed, node), units)
  } else if (call && isPreempted(call)) {
    result = calling(framed, called(framed, node, units), units)
  } else if (type === 'CallExpression' && isMember(node.callee) && find(node.arguments, isHeld)) {
    result = called(framed, node, units) // the method is looked up before its arguments
  } else if (isCollected(node)) {
    const { callee, argument = node.arguments[0] } = node
    const rest = callee?.name === 'Map' ? ',!0)' : ')'
    const collection = callee ? ['new ', keptValue(framed, callee, units), '('] : '...'
    const list = calling(framed, [`${framed.draft.helper('k')}(`, value(framed, argument, units), rest], units)
    result = [collection, list, callee ? ')' : '']
  } else if (type === 'SpreadElement') {
    result = ['...', value(framed, node.argument, units)]
  } else if (type === 'LogicalExpression' && isHeld(right)) {
    const kept = temporary(framed)
    assigned(framed, kept, left, units)
    const test = operator === '&&' ? kept : operator === '||' ? `!${kept}` : `${kept}===null||${kept}===void 0`
    choose(framed, test, units, isYes => isYes ? assigned(framed, kept, right) : [])
    result = kept
  } else if (type === 'ConditionalExpression' && (isHeld(node.consequent) || isHeld(node.alternate))) {
    const test = value(framed, node.test, units)
    const kept = temporary(framed)
    choose(framed, test, units, isYes => assigned(framed, kept, isYes ? node.consequent : node.alternate))
    result = kept
  } else if (type === 'AssignmentExpression' && operator !== '=' && isHeld(right)) {
    const target = isMember(left) ? substituted(framed, left.start, left.end, partsOfMember(left), units, true) : asItStands(framed, left)
    const before = matches(/^(?:&&|\|\||\?\?)/, operator) ? refuse(framed) : keep(framed, target, units)
    result = [target, '=', before, cut(operator, 0, operator.length - 1), '(', value(framed, right, units), ')']
  } else {
    const operands = operandsOf(node)
    result = operands === null ? refuse(framed) : substituted(framed, start, end, operands, units)
  }
  framed.depth--
  return grouped(node, result)
}

/** @param {Node} node of a call @returns {boolean} whether nothing in it has a place */
const isWhole = ({ callee, tag, quasi, arguments: given = [] }) => !isHeld(callee ?? tag) && !(quasi && isHeld(quasi)) && !find(given, isHeld)

/**
 * A function gets no name by that.
 *
 * @param {Framed} framed @param {string} name @param {Node} node @param {Unit[]} [units]
 */
function assigned(framed, name, node, units = []) {
  const text = value(framed, node, units)
  emit(units, [`${name}=`, isFunctionNode(node) ? ['(0,', text, ')'] : text, ';'])
  return units
}

/** The call of a twin. @param {Framed} framed @param {Node} node @param {Unit[]} units @returns {Pieces} */
function called(framed, node, units) {
  if (isWhole(node)) return asItStands(framed, node)
  const { draft } = framed
  const { source, helper } = draft
  const { call, callee, end, arguments: given } = node
  const kind = call?.kind || 'member'
  if (kind === 'tag' || node.optional || callee.object?.type === 'Super' || callee.property?.type === 'PrivateIdentifier') return refuse(framed)
  if (call) call.isComposed = true
  const open = pastOperand(source, callee.end)
  const isLate = find(given, isHeld) !== undefined
  const of = isLate ? keptValue : value
  /** @param {string} before @param {string} after @returns {Pieces} */
  const withArguments = (before, after) =>
    open < end && source[open] === '(' ? [before, substituted(framed, open + 1, end - 1, given, units), after] : before + after
  if (call && directOf(draft, call)) return [call.before, withArguments('(', ')'), call.after]
  const said = saying(draft, callee)
  if (kind === 'new') {
    return [`${helper('n')}((`, of(framed, callee, units), ')', withArguments(',[', `]${said})`)]
  }
  if (kind === 'call') {
    return [`${helper('e')}((`, of(framed, callee, units), `)${said})`, withArguments('(', ')')]
  }
  const { object, property, computed } = callee
  const receiver = keptValue(framed, object, units)
  if (call && optimisations.handed && handed(draft, call)) {
    const { 0: opened, 1: closed } = textOfHanded(draft, call, receiver)
    return [`(${helper('h')}(`, receiver, opened, asItStands(framed, given[0]), closed]
  }
  /** @type {Pieces} */
  let method = [receiver, computed ? ['[', of(framed, property, units), ']'] : `.${property.name}`]
  if (isLate) method = keep(framed, method, units)
  const { 0: before, 1: after } = call && isPreempted(call) ? aroundMethod(draft, callee, false)
    : [`${draft.helper('M')}(`, `${said}).call(`]
  return [before, method, after, receiver, withArguments(given.length ? ',' : '', ')')]
}

// Statements

/**
 * @param {Framed} framed @param {Pieces} test @param {Unit[]} units
 * @param {(isYes: boolean) => Unit[]} branch what is done if it is met, then what else
 */
function choose(framed, test, units, branch) {
  const place = word(framed, 'K')
  const { place: before } = framed
  const yes = branch(true)
  const { place: middle } = framed
  const no = branch(false)
  const { place: after } = framed
  const head = before === middle ? middle === after ? '' : `${place}<=${before}&&`
    : middle === after ? `${place}>${before}||` : `${place}>${before}?${place}<=${middle}:`
  emit(units, [`if(${head}(`, test, ')){', piecesOfUnits(framed, yes), '}', no.length ? ['else{', piecesOfUnits(framed, no), '}'] : ''],
    before === after ? Infinity : before + 1)
}

/** @param {Framed} framed @param {Node[]} statements @param {Unit[]} units */
function unitsOf(framed, statements, units) {
  if (++framed.depth > DEEPEST_PLACE) refuse(framed)
  for (let i = 0; i < statements.length && !framed.isRefused; i++) {
    const { temps } = framed
    statement(framed, statements[i], units)
    framed.temps = temps
  }
  framed.depth--
  return units
}

/** @param {Node} node @returns {Node[]} */
const statementsIn = node => node.type === 'BlockStatement' ? node.body : [node]

/** @param {Node} node @param {Pieces} text @returns {Pieces} the text where commas part */
const grouped = ({ type }, text) => type === 'SequenceExpression' ? ['(', text, ')'] : text

/** What would be a block is a pattern. @param {Framed} framed @param {Node} node @param {Pieces} text */
const asStatement = ({ draft: { source } }, { start }, text) => source[start] === '{' ? ['0,', text] : text

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function statement(framed, node, units) {
  const { type } = node
  node.isUnit = true
  if (!isHeld(node)) return emit(units, [asItStands(framed, node), framed.draft.source[node.end - 1] === ';' ? '' : ';'])
  switch (type) {
    case 'ExpressionStatement': {
      if (!framed.draft.isOfModule && isCallStatement(node)) emit(units, pointWhere(framed, `--${framed.draft.budget}.left<=0`), framed.place, true)
      const rest = value(framed, node.expression, units)
      if (typeof rest !== 'string') emit(units, asStatement(framed, node.expression, [rest, ';']))
      return
    }
    case 'VariableDeclaration': return declared(framed, node, units)
    case 'ReturnStatement': return returned(framed, node.argument, units)
    case 'ThrowStatement': return emit(units, ['throw ', value(framed, node.argument, units), ';'])
    case 'BlockStatement': return unitsOf(framed, node.body, units)
    case 'IfStatement': {
      const { test, consequent, alternate } = node
      return choose(framed, value(framed, test, units), units, isYes =>
        isYes ? unitsOf(framed, statementsIn(consequent), []) : alternate ? unitsOf(framed, statementsIn(alternate), []) : [])
    }
    case 'SwitchStatement': return switched(framed, node, units)
    case 'LabeledStatement': {
      if (LISTS[node.body.type] === 'loops' || node.body.type === 'LabeledStatement') return statement(framed, node.body, units)
      const first = framed.place + 1
      const inner = unitsOf(framed, statementsIn(node.body), [])
      return emit(units, [labelsOf(framed.draft, node.body).text, '{', piecesOfUnits(framed, inner), '}'], first)
    }
    case 'ForStatement': case 'WhileStatement': case 'DoWhileStatement': return looped(framed, node, units)
    case 'ForOfStatement': return walked(framed, node, units)
    case 'TryStatement': return tried(framed, node, units)
    default: refuse(framed)
  }
}

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function declared(framed, { declarations, kind }, units) {
  for (let i = 0; i < declarations.length; i++) {
    const { id, init } = declarations[i]
    if (isHeld(id)) refuse(framed)
    if (init) emit(units, asStatement(framed, id, [asItStands(framed, id), '=', value(framed, init, units), ';']))
    else if (kind !== 'var') emit(units, [asItStands(framed, id), '=void 0;'])
  }
}

/** @param {Framed} framed @param {Node} node what is returned @param {Unit[]} units */
function returned(framed, node, units) {
  const { ending } = framed
  if (ending) { // the finalizer comes first
    const { how, what } = ending
    if (node) assigned(framed, what, node, units)
    return emit(units, `${node ? '' : `${what}=void 0;`}${how}=2;break ${how};`)
  }
  const { type, test, consequent, alternate, call } = node
  if (type === 'ConditionalExpression' && (isHeld(consequent) || isHeld(alternate))) {
    choose(framed, value(framed, test, units), units, isYes => {
      /** @type {Unit[]} */
      const branch = []
      returned(framed, isYes ? consequent : alternate, branch)
      return branch
    })
  } else {
    const text = call && isPreempted(call) && isHeld(node) && returnOf(node, framed.own) ? called(framed, node, units) : value(framed, node, units)
    emit(units, [node.hasCall ? restoring(framed) : '', 'return ', text, ';'])
  }
}

/** @param {Framed} framed @param {Node} node @returns {Pieces} */
const caseOf = (framed, { test }) => test ? ['case ', asItStands(framed, test), ':'] : 'default:'

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

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function switched(framed, { discriminant, cases }, units) {
  // A resumed twin compares the cases again if all have lasting values. Otherwise it keeps the number of the
  // case.
  if (find(cases, ({ test }) => test && isHeld(test))) return refuse(framed)
  const isNumbered = find(cases, ({ test }) => test && !isLasting(test)) !== undefined
  let selector = value(framed, discriminant, units)
  if (isNumbered) {
    const number = temporary(framed)
    /** @type {Pieces[]} */
    const numbering = [`${number}=-1;switch(`, selector, '){']
    for (let i = 0; i < cases.length; i++) append(numbering, [caseOf(framed, cases[i]), `${number}=${i};break;`])
    append(numbering, '}')
    emit(units, numbering)
    selector = number
  } else selector = keep(framed, selector, units)
  const first = framed.place + 1
  /** @type {{ list: Unit[], next: number }[]} */
  const branches = []
  for (let i = 0; i < cases.length; i++) {
    const list = unitsOf(framed, cases[i].consequent, [])
    append(branches, { list, next: framed.place + 1 })
  }
  /** @type {Pieces[]} */
  const pieces = [`switch(${selector}){`]
  for (let i = 0; i < cases.length; i++) {
    const { list, next } = branches[i]
    append(pieces, isNumbered ? `case ${i}:` : caseOf(framed, cases[i]))
    append(pieces, piecesOfUnits(framed, list, next > framed.place ? Infinity : next))
  }
  append(pieces, '}')
  emit(units, pieces, first)
}

/** @param {Framed} framed @param {Node} loop @param {Unit[]} units */
function looped(framed, loop, units) {
  const { draft, own } = framed
  const { type, init, test, update, body, end } = loop
  framed.isLowered ||= framed.nests
  const labels = labelsOf(draft, loop)
  const place = word(framed, 'K')
  const isDo = type === 'DoWhileStatement'
  const isTestHeld = test && isHeld(test)
  if (optimisations.chunk && chunk(draft, loop, own)) return emit(units, range(draft, labels.start, end), framed.place)
  // What has places before the next round stands at its begin.
  const isLate = isDo ? isTestHeld : update && isHeld(update)
  if (init && isHeld(init)) {
    if (init.type === 'VariableDeclaration') declared(framed, init, units)
    else emit(units, ['(', value(framed, init, units), ');'])
  }
  const later = isLate ? keep(framed, '0', units) : ''
  const first = framed.place + 1
  /** @type {Unit[]} */
  const inner = []
  const tested = (/** @type {Unit[]} */ list) => emit(list, ['if(!(', value(framed, test, list), '))break;'])
  if (isLate) {
    choose(framed, later, inner, isYes => {
      /** @type {Unit[]} */
      const list = []
      if (isYes && isDo) tested(list)
      else if (isYes) emit(list, [value(framed, update, list), ';'])
      return list
    })
  }
  if (test && !isDo && (isLate || isTestHeld)) tested(inner)
  const point = pointWhere(framed, `--${draft.budget}.left<=0`)
  emit(inner, point, framed.place, true)
  const text = ['{', piecesOfUnits(framed, unitsOf(framed, statementsIn(body), inner)), '}']
  const begin = init && !isHeld(init) ? [`${place}<${first}&&(`, asItStands(framed, init), ')'] : ''
  const again = [`${place}=0`, isLate ? `,${later}=1` : update ? [',', asItStands(framed, update)] : '']
  emit(units, [labels.text, isDo && !isLate ? ['do', text, `while(${place}=0,`, asItStands(framed, test), ');']
    : ['for(', begin, ';', test && !isLate && !isTestHeld ? [`${place}>=${first}||(`, asItStands(framed, test), ')'] : '', ';', again, ')', text]], first)
}

/**
 * A `for`-`of`: what it iterates gives itself where a round goes on.
 *
 * @param {Framed} framed @param {Node} loop @param {Unit[]} units
 */
function walked(framed, loop, units) {
  const { draft } = framed
  const { left, right, body } = loop
  if (isHeld(left)) return refuse(framed)
  framed.isLowered ||= framed.nests
  const iterated = [`${draft.helper('W')}(`, value(framed, right, units), `${sayingIterable(draft, right)})`]
  const list = keep(framed, iterated, units)
  const item = word(framed, 'x')
  const first = ++framed.place
  const target = left.declarations?.[0].id ?? left
  framed.around++
  /** @type {Unit[]} */
  const inner = []
  emit(inner, [`if(${item}!==${list}){${word(framed, 'K')}=0;`,
    `if(${item}===${draft.budget})${leaving(framed, `${word(framed, 'r')}=${item};`)}`,
    asStatement(framed, target, [asItStands(framed, target), `=${item}}`])], first, true)
  const point = pointWhere(framed, `--${draft.budget}.left<=0`)
  emit(inner, point, framed.place, true)
  unitsOf(framed, statementsIn(body), inner)
  framed.around--
  emit(units, [labelsOf(draft, loop).text, `for(const ${item} of ${list}){`, piecesOfUnits(framed, inner), '}'], first)
}

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function tried(framed, node, units) {
  const { finalizer } = node
  if (finalizer && isHeld(finalizer)) return finished(framed, node, units)
  const first = framed.place + 1
  framed.around++
  const inner = caught(framed, node)
  framed.around--
  if (!finalizer) joined(units, inner)
  else emit(units, ['try{', piecesOfUnits(framed, inner), `}finally{if(!${framed.draft.budget}.away)`, asItStands(framed, finalizer), '}'], first)
}

/**
 * A `try` whose finalizer has places: how what comes before ended is kept until that is over. A generator
 * instead would be made anew with each closure, and its first call takes V8 4 us.
 *
 * @param {Framed} framed @param {Node} node @param {Unit[]} units
 */
function finished(framed, node, units) {
  const { own, returns, ending } = framed
  const { finalizer } = node
  // `break` and `continue` would have to be kept, too.
  for (let around = node.parent; around !== own; around = around.parent) if (isLeft(around)) return refuse(framed)
  const how = keep(framed, '0', units)
  const what = temporary(framed)
  const first = framed.place + 1
  const isReturning = returns[firstOf(returns, ({ start }) => start > node.start)]?.end < finalizer.start
  framed.ending = { how, what }
  framed.around++
  const inner = piecesOfUnits(framed, caught(framed, node))
  framed.around--
  framed.ending = ending
  const error = word(framed, 'x')
  emit(units, [`if(${word(framed, 'K')}<=${framed.place})${how}:try{`, inner, `}catch(${error}){${what}=${error};${how}=1}`], first, true)
  unitsOf(framed, finalizer.body, units)
  const again = ending ? `{${ending.what}=${what};${ending.how}=2;break ${ending.how}}` : `return ${what};`
  emit(units, `if(${how}===1)throw ${what};${isReturning ? `if(${how}===2)${again}` : ''}`)
}

/** Whether `break` or `continue` may leave it. @param {Node} node */
const isLeft = ({ type }) => LISTS[type] === 'loops' || type === 'SwitchStatement' || type === 'LabeledStatement'

/**
 * The units of a `try` statement before its `finally` block.
 *
 * @param {Framed} framed @param {Node} node @returns {Unit[]}
 */
function caught(framed, { block, handler }) {
  const first = framed.place + 1
  /** @type {Unit[]} */
  const units = []
  if (!handler) return unitsOf(framed, block.body, units)
  const isLater = isHeld(handler)
  const flag = isLater ? keep(framed, '0', units) : ''
  const inner = piecesOfUnits(framed, unitsOf(framed, block.body, []))
  if (!isLater) {
    emit(units, ['try{', inner, '}', asItStands(framed, handler)], first)
    return units
  }
  const { param, body } = handler
  const error = word(framed, 'x')
  if (param && isHeld(param)) refuse(framed)
  const bind = param ? asStatement(framed, param, [asItStands(framed, param), `=${error};`]) : ''
  emit(units, [`if(${word(framed, 'K')}<=${framed.place})try{`, inner, `}catch(${error}){`, bind, `${flag}=1}`], first, true)
  choose(framed, flag, units, isYes => isYes ? unitsOf(framed, body.body, []) : [])
  return units
}

// The text

/**
 * Has what a function declares stand at the top of its twin, and its calls be those of twins.
 *
 * @param {Draft} draft @param {CallSite[]} calls
 */
export function planFrame(draft, calls) {
  const { declarations } = /** @type {Framed} */ (draft.framed)
  pick(calls, call => {
    if (!call.isComposed) return planCall(draft, call)
    const direct = directOf(draft, call)
    if (!direct) return
    append(append(call.before, direct.opening), direct.name)
    append(call.after, direct.closing)
  })
  for (let i = 0; i < declarations.length; i++) {
    const { start, kind, parent, declarations: list } = declarations[i]
    if (isHeld(declarations[i])) continue
    if (parent.left === declarations[i]) continue
    const isHead = parent.init === declarations[i]
    const isUnit = declarations[i].isUnit && list[0].id.type === 'Identifier'
    replace(draft, start, list[0].start, isHead || isUnit ? '' : isInList(declarations[i]) ? ';(' : '(')
    for (let k = 0; k < list.length; k++) if (!list[k].init && kind !== 'var') insert(draft, list[k].end, -EXPRESSION_EDGE, list[k].start, list[k].id.variable.isNumber ? '=0' : '=void 0')
    if (!isHead && !isUnit) insert(draft, pastParentheses(draft.source, list[list.length - 1].end), -STATEMENT_EDGE, start, ')')
  }
}

/**
 * A twin that leaves frames.
 *
 * @param {Draft} draft @param {{ node: Node, facts: Facts, twin: string, entry: string, title: string,
 *   mark: Pieces, isHoisted: boolean, frame: Pieces }} plan
 * @returns {Pieces}
 */
export function textOfFrame(draft, plan) {
  const { node, facts, entry, title, mark, isHoisted, frame } = plan
  const { our, variables, helper, edits, callee } = draft
  const { names, shared, numbers, isShared, isTail, nests, hasRestored, functions, mostTemps } = /** @type {Framed} */ (draft.framed)
  const { params, body } = node
  /** @type {string[]} */
  const given = []
  let list = /** @type {Pieces} */ ('')
  if (isShared) list = params.length ? range({ edits }, params[0].start, params[params.length - 1].end) : ''
  else pick(params, param => {
    const name = parameterOf(draft, param)
    list += `${given.length ? ',' : ''}${param.argument ? '...' : ''}${name}`
    append(given, name)
  })
  const isArrow = facts.isArrow && facts.usesThis
  const strict = isStrictBody(body.body) ? '"use strict";' : ''
  const begin = isArrow ? '' : isTwinMember(plan) ? entry
    : isConcise(plan) ? title : `function${isHoisted ? ` ${entry}` : ''}`
  const head = [mark, `${begin}(`, list, isArrow ? ')=>{' : '){', strict, callee && `arguments.callee=${callee};`]
  if (isTail) {
    // An arguments object costs an allocation in each call.
    const given = facts.usesArguments ? 'arguments' : `[${textsOf(params)}]`
    let claims = ''
    pick(draft.claims, ({ test }) => {
      claims += `if(${test})return ${helper('L')}(${entry},this,${given});`
    })
    return [head, variables.size ? `var ${join(listOf(variables), ',')};` : '', claims, frame, '}']
  }
  const locals = pick(names, name => find(given, other => other === name) === undefined)
  for (let i = 1; i <= mostTemps; i++) append(locals, `${our}T${i}`)
  const all = joined(joined([], given), locals)
  const kept = join(joined([`{0:${our}r`, `${our}K`], all), ',') + '}'
  // What calls nothing needs no room.
  const room = !nests ? '' : hasRestored ? `(${our}D=--${draft.budget}.room)<0||` : `--${draft.budget}.room<0||`
  let declared = `${our}K=0${hasRestored ? `,${our}D` : ''},${our}r`
  for (let i = 0; i < locals.length; i++) declared += `,${locals[i]}${numbers.has(locals[i]) ? '=0' : ''}`
  declared = join(joined(draft.begin ? [declared, draft.begin] : [declared], listOf(variables)), ',')
  const endsAlways = body.type !== 'BlockStatement' || matches(/^(?:Return|Throw)/, body.body[body.body.length - 1]?.type ?? '')
  const self = isShared ? `${our}I` : entry
  const text = [flat(`var ${declared};` +
    `${our}o:{if(${room}--${draft.budget}.left<=0)if(${our}r=${helper('H')}())(${kept}=${our}r);else break ${our}o;`),
  frame, flat(`${endsAlways ? '' : 'return'}}return ${helper('S')}(${self},${kept}${!isShared && facts.usesThis ? ',this' : ''})}`)]
  if (!isShared) return [head, text]
  /** @type {Pieces[]} */
  const declarations = []
  for (let i = 0; i < functions.length; i++) {
    append(append(declarations, range(draft, functions[i].start, functions[i].end)), functions[i].plan?.registered ?? '')
  }
  const own = draft.lock ? [`${draft.lock}=${helper('z')}()`] : []
  return [head, declarations, `var ${join(joined(joined(own, shared), [`${self}=`]), ',')}`,
    withTitle(title, ['()=>{', text]), `;return ${self}()}`]
}
