/**
 * addons/preemptify/calls.mjs: the calls of a function: which ones can be suspended, what they call, and
 * their edits.
 *
 * A call in a twin looks like `(result = enter(f)(a)) === budget ? yield suspended() : result`. The callee
 * starts on the call stack. If it suspends, it returns the object `budget`, and `suspended()` returns the
 * rest of the call.
 */

import {
  BEYOND, EXPRESSION_EDGE, STATEMENT_EDGE, concat, insert, optimisations, pastOperand, replace, variable
} from './edits.mjs'
import {
  NO_ARGUMENTS, create, emptySet, find, flat, forEach, matches, push, slice, stringify, takeLast
} from './primordials.mjs'
import { LISTS, isConstant, isFixed, isFunctionNode, isGlobal, seemsFixed, valueOfName } from './scopes.mjs'
/** @import { Claim } from './effects.mjs' */
/** @import { EventUse } from './event-use.mjs' */
/** @import { Facts, Node, Variable } from './scopes.mjs' */
/** @import { Edit, Fragments } from './edits.mjs' */
/** @import { FrameLayout } from './frames.mjs' */
/** @import { Factory } from './lift.mjs' */

/**
 * The emitter of a twin: the edits that turn the text of a function into its twin, and the names that the
 * twin uses.
 *
 * @typedef {object} Emitter
 * @property {string} source
 * @property {string} our the prefix of the names that the compiler adds; no name in the source starts with
 *   this prefix
 * @property {string} unit the prefix of the global names that only this text declares
 * @property {Record<string, Node[]>} free the names that the source does not declare, with their references
 * @property {Edit[]} edits
 * @property {Set<string>} variables the variables that the compiler adds to the twin
 * @property {{ has(node: Node): any }} written calls that may yield, and statements that start with a
 *   preemption point
 * @property {(key: string) => string} helper returns the name of a helper; the key is a key of HELPERS
 * @property {InlineCaches | null} inlineCaches
 * @property {boolean} says whether calls pass on the text of the callee for error messages
 * @property {(text: string) => string} spell returns the form in which a text is printed
 * @property {[string, string] | null} around the text before and after a call that may yield; null before the
 *   first such call
 * @property {string} budget the name of the budget
 * @property {string} begin a variable that the twin declares, with its initial value
 * @property {string} steps the name of the Steps of a source generator, by which a caller continues a
 *   suspended step; empty for any other function
 * @property {string} self the text for the value of `this`
 * @property {boolean} isOfModule whether the function is part of a rewritten module or script; false for
 *   `preemptify(fn)`
 * @property {boolean} isCounted whether preemption points count the budget
 * @property {FrameLayout | null} layout the frame layout; null if the twin is a generator
 * @property {string} callee the name of the function of the twin, if `arguments.callee` must be that function
 * @property {ClaimText[]} claims the claims of the function
 * @property {boolean} canWait whether the twin can wait for a claim: not in the steps of a generator
 * @property {string} lock the name of the lock of an activation; empty if closures do not write its variables
 * @property {string} identity the same as in Plan
 */
/**
 * The text of a claim.
 *
 * @typedef {object} ClaimText
 * @property {string} test an expression that is true if the function must wait by a yield of `claimed()`
 * @property {string} atOnce an expression that claims without waiting
 * @property {string} before the test outside of the function, before its call; empty if no claim is needed
 */
/**
 * A helper of a rewritten text that finds the entries of all callees with one name.
 *
 * @typedef {object} InlineCache
 * @property {string} key the name of the callees; the name of a method has a dot before it
 * @property {string} name the name of the helper
 * @property {[string]} opening the text of a call up to its argument: a call of the helper, or of the
 *   run-time support if the text has no such helper
 * @property {[string]} member the text that follows the text of the object in an error message; empty if the
 *   helper knows the member
 * @property {[string]} whole the text of the callee for an error message; empty if the helper knows this text
 * @property {number} uses the number of calls
 * @property {boolean} isRemoved whether the text has no such helper, because it would be too long
 */
/**
 * The inline caches of a text: in the order of their first use, and by the names of methods and of other
 * functions.
 *
 * @typedef {{ all: InlineCache[], methods: Map<string, InlineCache>, functions: Map<string, InlineCache> }}
 *   InlineCaches
 */
/**
 * A call that may be preempted.
 *
 * @typedef {object} CallSite
 * @property {Node} node
 * @property {string} kind 'call', 'member', 'new', 'tag', 'super'
 * @property {Plan | null} target the function that the call runs; null if the function is unknown
 * @property {boolean} isAwaited
 * @property {string} cachedName the name by which an inline cache finds the callee; empty if no inline cache
 *   can find the callee
 * @property {string | null} name the name of the function to call in place of the callee
 * @property {boolean} isComposed whether the text of the call is composed of the texts of its parts
 * @property {Fragments[]} before the text before the arguments of a composed call with a known callee
 * @property {Fragments[]} after the text after the arguments of such a call
 */

/**
 * Creates the call site of a call in the function `own`.
 *
 * @param {Node} node @param {string} kind @param {Plan | null} target @param {Node} own
 * @param {string} cachedName see CallSite @returns {CallSite}
 */
export const callSite = (node, kind, target, own, cachedName) =>
  ({ node, kind, target, isAwaited: isAwaited(node, own), cachedName, name: null,
    isComposed: false, before: NO_ARGUMENTS, after: NO_ARGUMENTS })

/**
 * Whether a node is a statement that consists of a call, for example `a.b(c)` or `a?.b()`.
 *
 * @param {Node} node a node of any kind @returns {boolean}
 */
export function isCallStatement({ type, start, expression }) {
  if (type !== 'ExpressionStatement' || expression.start !== start) return false
  const { type: kind } = expression.type === 'ChainExpression' ? expression.expression : expression
  return LISTS[kind] === 'calls' && kind !== 'NewExpression'
}

/** Whether a statement is at a position that allows declarations. @param {Node} statement */
export const isInList = ({ parent: { type } }) => type === 'BlockStatement' || type === 'SwitchCase'

/**
 * Puts a semicolon before a statement whose text starts with a parenthesis in the twin. The statement would
 * otherwise continue the line before it.
 *
 * @param {Emitter} emitter @param {Node} node the expression whose text starts with the parenthesis
 */
export function separateStatement(emitter, node) {
  let top = node
  while (top.parent.start === node.start && top.parent.type !== 'ExpressionStatement') top = top.parent
  const statement = top.parent
  if (statement.type !== 'ExpressionStatement' || statement.start !== node.start ||
    statement.separatedIn === emitter) return
  statement.separatedIn = emitter
  if (isInList(statement)) insert(emitter, statement.start, STATEMENT_EDGE, BEYOND, ';')
}

// Calls

/**
 * Whether the result of a call is awaited, by `await f()` or because an async function returns the result.
 *
 * @param {Node} call the last link of its chain @param {Node} own the function around the call
 * @returns {boolean}
 */
function isAwaited({ parent }, own) {
  if (parent.type === 'ChainExpression') parent = parent.parent
  if (parent.type === 'AwaitExpression') return true
  return own.async && parent.type === 'ReturnStatement' && isLastIn(parent, own)
}

/**
 * Whether the function closes no iterator, runs no handler and disposes of no resource after a node.
 *
 * @param {Node} node @param {Node} own the function around the node
 * @returns {boolean}
 */
function isLastIn(node, own) {
  for (; node !== own; node = node.parent) if (node.disposes ||
    matches(/^(?:Try|ForOf)/, node.type)) return false
  return true
}

/** Returns the callee of a call, or the tag of a template. @param {Node} call @returns {Node} */
export const calledIn = ({ callee, tag }) => callee ?? tag

/** Whether a node is the callee of a call without `new`. @param {Node} node @returns {boolean} */
export const isCalled = node => node.parent.type !== 'NewExpression' && calledIn(node.parent) === node

/** Returns the last link of the chain that starts with a node. @param {Node} node @returns {Node} */
function lastAfter(node) {
  for (;;) {
    const { type, object, callee, tag } = node.parent
    if (object !== node && tag !== node && (callee !== node || type !== 'CallExpression')) return node
    node = node.parent
  }
}

/**
 * Returns the text of a helper for a call: the helper itself, or a method of the Steps of a source generator.
 *
 * @param {Emitter} emitter @param {string} key
 */
export const way = ({ steps, helper }, key) => steps ? `${steps}.${key}` : helper(key)

/** Maximum length of an expression in an error message. A longer one becomes `(intermediate value)`. */
const MAX_SPOKEN = 60

/**
 * Returns an expression in the form that V8 uses in error messages, for example `a.b.c is not a function`.
 *
 * @param {string} source @param {Node} node @returns {string}
 */
function spoken(source, node) {
  const text = spokenPart(source, node)
  return text.length > MAX_SPOKEN ? INTERMEDIATE : text
}

const INTERMEDIATE = '(intermediate value)'

/** @param {string} source @param {Node} node @returns {string} */
function spokenPart(source, node) {
  const { type, name, value, object, property, computed, optional, callee, expression, expressions } = node
  switch (type) {
    case 'Identifier': return name
    case 'ThisExpression': return 'this'
    case 'Literal': return typeof value === 'string' ? `"${value}"` : slice(source, node.start, node.end)
    case 'ChainExpression': return spokenPart(source, expression)
    case 'CallExpression': return `${spoken(source, callee)}(...)`
    case 'SequenceExpression': {
      let text = ''
      for (let i = 0; i < expressions.length; i++) {
        text += `${i ? ' , ' : '('}${spoken(source, expressions[i])}`
      }
      return `${text})`
    }
    case 'MemberExpression': {
      const isKey = computed && typeof property.value !== 'string'
      const around = `${spoken(source, object)}${optional ? '?.' : isKey ? '' : '.'}`
      return isKey ? `${around}[${spoken(source, property)}]` : computed ? `${around}${property.value}`
        : `${around}${property.type === 'PrivateIdentifier' ? '#' : ''}${property.name}`
    }
    default: return INTERMEDIATE
  }
}

/**
 * Returns the text of an expression as an argument for the run-time support, which uses this text in error
 * messages. If the rewritten text becomes too long, it contains no such arguments. The helpers of
 * `preemptify(fn)` have no such parameter.
 *
 * @param {Emitter} emitter @param {Node} node
 */
export const saying = ({ says, source }, node) => says ? `,${stringify(spoken(source, node))}` : ''

/**
 * Returns the text of an iterated expression as an argument for error messages: see `saying`.
 *
 * @param {Emitter} emitter @param {Node} node
 */
export const sayingIterable = (emitter, node) => emitter.says && node.type === 'CallExpression'
  ? `,${stringify(`${spoken(emitter.source, node.callee)} is not a function or its return value`)}`
  : saying(emitter, node)

// A call that may yield returns `budget` if it is suspended. The twin then yields the rest of the call.

/** Returns the text before a call that may yield. @param {Emitter} emitter @returns {string} */
export const opening = emitter => emitter.layout ? '' : (emitter.around ??= aroundCall(emitter))[0]

/** Returns the text after a call that may yield. @param {Emitter} emitter @returns {string} */
export const closing = emitter => emitter.layout ? '' : (emitter.around ??= aroundCall(emitter))[1]

/** @param {Emitter} emitter @returns {[string, string]} */
function aroundCall(emitter) {
  const result = variable(emitter, 'r')
  return [`((${result}=`, flat(`)===${emitter.budget}?yield ${way(emitter, 'q')}():${result})`)]
}

/**
 * Returns the text around a call whose result is not used.
 *
 * @param {Emitter} emitter @param {boolean} isStatement whether the call is a statement @returns {string[]}
 */
function aroundDiscarded(emitter, isStatement) {
  const after = `===${emitter.budget}&&(yield ${way(emitter, 'q')}())`
  return isStatement ? ['', flat(after)] : ['(', flat(`${after})`)]
}

/** Whether a call is a statement. @param {Node} call */
const isWholeStatement = ({ parent: { type, start: from }, start }) =>
  type === 'ExpressionStatement' && from === start

/** Whether the value of an expression is not used. @param {Node} node */
function isDiscarded(node) {
  for (let part = node; ; part = part.parent) {
    const { type, test, left, update, expressions } = part.parent
    if (type === 'ExpressionStatement' || type === 'ForStatement' && update === part) return true
    if (type === 'SequenceExpression') {
      if (expressions[expressions.length - 1] !== part) return true
    } else if (type === 'LogicalExpression') {
      if (left === part) return false
    } else if (type !== 'ConditionalExpression' || test === part) return false
  }
}

/**
 * Plans the edits that let a call yield:
 *
 *   f(a)        ->  ((r = enter(f)(a)) === budget ? yield suspended() : r)
 *   a.b(c)      ->  ((r = enterMethod((o = a).b).call(o, c)) === ...)
 *   a?.b(c).d   ->  ((o = a) == null ? void 0 : ((r = enterMethod(o.b).call(o, c)) === ...).d)
 *
 * @param {Emitter} emitter @param {CallSite} call
 */
export function planCall(emitter, call) {
  const { node, kind } = call
  if (kind === 'super') return // planSuper
  const chain = lastAfter(node).parent
  const isChain = chain.type === 'ChainExpression' && kind !== 'new' && kind !== 'tag'
  if (!isChain && isAsItIs(emitter, call)) return
  const isStatement = isWholeStatement(node) && !isChain && !handed(emitter, call)
  if (!emitter.layout && !isStatement) separateStatement(emitter, node)
  if (!isChain) planLink(emitter, call, -1)
  else if (chain.plannedIn !== emitter) planChain(emitter, chain)
}

/**
 * Whether a call of a private method stays unchanged. This is so for each such call in a generator of the
 * source, and for an async method whose result is not awaited.
 *
 * @param {Emitter} emitter @param {CallSite} call
 */
const isAsItIs = ({ steps }, { kind, target, isAwaited }) =>
  kind === 'member' && target !== null && isPrivate(target) &&
  (steps !== '' || (target.facts.isAsync && !isAwaited))

/**
 * Returns the twin that a call can name in place of a known callee; null if the call must look up the twin.
 *
 * @param {Emitter} emitter @param {CallSite} call
 * @returns {{ callee: Node, name: string, opening: Fragments[], closing: Fragments[] } | null} `opening` and
 *   `closing` are the text around the call, which runs the generator if the twin is a generator function
 */
export function directOf({ steps }, { node, kind, target, name }) {
  const callee = calledIn(node)
  if (name !== null) return { callee, name, opening: NO_ARGUMENTS, closing: NO_ARGUMENTS }
  if (!target || !target.isLong) return null
  const { twin, entry, opening, closing } = target
  if (kind === 'call' && steps === '' && target.isDirect && !node.optional) {
    target.isCalledDirectly = true
    return { callee, name: entry || twin, opening, closing }
  }
  if (kind !== 'member' || !isPrivate(target) ||
    lastAfter(node).parent.type === 'ChainExpression') return null
  target.isCalledDirectly = true
  return { callee: callee.property, name: `#${twin}`, opening, closing }
}

/**
 * Returns the helper that finds the entries of all callees with one name. Methods have such a helper, and so
 * have the names that are declared in code that runs once.
 *
 * The helper remembers the latest callee and its entry, because most calls of a name call the same function,
 * and a lookup of the twin takes 10 to 20 ns. Without these helpers, jobs that run acorn, sucrase or planck
 * are 1.1 to 1.2 times slower, and a SHA-256 of small functions of other modules is 2.7 times slower. On the
 * other hand, the latest function that was called by a name is never garbage-collected.
 *
 * @param {Emitter} emitter @param {string} name the `cachedName` of the call
 * @param {boolean} isMethod whether the call runs the entry by its method `call`
 * @returns {InlineCache | null} the helper; null if the callee has none
 */
function inlineCache({ helper, unit, steps, inlineCaches }, name, isMethod) {
  if (steps || inlineCaches === null || name === '') return null
  helper(isMethod ? 'E' : 'e')
  const { all } = inlineCaches
  const known = isMethod ? inlineCaches.methods : inlineCaches.functions
  let found = known.get(name)
  if (!found) {
    const helperName = `${unit}${all.length}k`
    found = {
      key: isMethod ? `.${name}` : name, name: helperName, opening: [`${helperName}(`], member: [''],
      whole: [''], uses: 0, isRemoved: false
    }
    known.set(name, found)
    push(all, found)
  }
  found.uses++
  return found
}

/** Returns the `cachedName` of a call. @param {Node} callee @returns {string} */
export function cachedNameOf(callee) {
  const { type, expressions } = callee
  const called = type === 'SequenceExpression' ? expressions[expressions.length - 1] : callee // `(0, a.b)(c)`
  const isLasting = seemsFixed(called.variable) && called.variable.scope.facts.node.plan.isOnce
  return isMember(called) ? keyOf(called) : isLasting ? called.name : ''
}

/**
 * Returns the text before and after the method of a member call, which runs the method by `call`. With
 * Reflect.apply, a Markdown editor is 3.9 times slower than plain code instead of 2.1 times (Firefox 153),
 * and a SHA-256 of classes takes 413 ms instead of 320 ms (Node 20).
 *
 * @param {Emitter} emitter @param {CallSite} call @param {boolean} isAwaited
 * @returns {[Fragments, Fragments]}
 */
export function aroundMethod(emitter, { node, cachedName }, isAwaited) {
  const callee = calledIn(node)
  const found = isAwaited || !optimisations.inlineCache ? null : inlineCache(emitter, cachedName, true)
  if (found) {
    // The inline cache knows the name of the member, so the call passes on only the text of the object.
    const { object, optional } = callee
    const said = optional && emitter.says ? `,${stringify(`${spoken(emitter.source, object)}?`)}`
      : saying(emitter, object)
    if (object.type === 'ThisExpression') return [found.opening, [found.whole, ').call(']]
    return [found.opening, said === '' ? ').call(' : [said, found.member, ').call(']]
  }
  const said = saying(emitter, callee)
  if (!emitter.steps && !isAwaited) return [`${emitter.helper('E')}(`, `${said}).call(`]
  return [`${emitter.helper('M')}(${way(emitter, isAwaited ? 'w' : 'e')}(`, `)${said}).call(`]
}

/** Array methods that call a callback, and that engines inline. */
const INLINED = /^(?:forEach|map|filter|some|every|find|findIndex|reduce|reduceRight)$/

/**
 * Whether a call passes a short function to an array method. If the array is short, too, the twin calls the
 * built-in method in the text itself, so that engines can inline the method and the callback:
 *
 *   a.map(f)  ->  (short(a, g = (0, f)) ? a.map(g) : enterMethod(a.map).call(a, g))
 *
 * A job that mostly maps arrays of 2000 elements is 1.4 to 1.75 times slower than plain code. Without this
 * rule, the job is 2.0 to 2.6 times slower (Chromium 156).
 *
 * @param {Emitter} emitter @param {CallSite} call @returns {boolean}
 */
export function handed({ steps, isOfModule }, { node, kind }) {
  if (steps || !isOfModule || kind !== 'member') return false
  const { callee, arguments: given, optional } = node
  if (optional || callee.optional || callee.computed || callee.object.type === 'Super' ||
    !matches(INLINED, keyOf(callee))) return false
  if (given.length !== 1 && !(given.length === 2 && isPrimitive(given[1]))) return false
  return isFunctionNode(given[0]) && !given[0].plan.isLong &&
    lastAfter(node).parent.type !== 'ChainExpression'
}

/** Whether a node is a literal of a primitive value. @param {Node} node */
const isPrimitive = ({ type, regex }) => type === 'Literal' && !regex

/**
 * Returns the text before and after the callback of a call for which `handed` is `true`.
 *
 * @param {Emitter} emitter @param {CallSite} call @param {Fragments} receiver @returns {[Fragments,
 *   Fragments]}
 */
export function textOfHanded(emitter, call, receiver) {
  const { callee, arguments: { 1: second } } = call.node
  const held = variable(emitter, 'f')
  const method = `.${callee.property.name}`
  const { 0: before, 1: after } = aroundMethod(emitter, call, call.isAwaited)
  const given = second ? `${held},${slice(emitter.source, second.start, second.end)}` : held
  return [`,${held}=(0,`,
    [`))?`, receiver, `${method}(${given}):`, before, receiver, method, after, receiver, `,${given}))`]]
}

/**
 * Plans the edits of one call.
 *
 * @param {Emitter} emitter @param {CallSite} call
 * @param {number} begin the start of the text after the optional link before the call; -1 without such a link
 */
function planLink(emitter, call, begin) {
  const { source } = emitter
  const { node, kind, isAwaited } = call
  const { start, end, optional } = node
  const callee = calledIn(node)
  const from = begin < 0 ? start : begin
  const direct = directOf(emitter, call)
  const mayKeep = (kind === 'call' || kind === 'tag') && !isAwaited && !direct && optimisations.inlineCache
  const kept = mayKeep ? inlineCache(emitter, call.cachedName, false) : null
  const entering = kept?.opening ?? `${way(emitter, isAwaited ? 'w' : 'e')}(`
  const said = kept && callee.type === 'Identifier' ? kept.whole : saying(emitter, callee)
  const open = pastOperand(source, callee.end)
  let before = /** @type {Fragments} */ ('')
  let after = /** @type {Fragments} */ ('')
  let to = from
  if (direct) {
    replace(emitter, direct.callee.start, direct.callee.end, direct.name)
    if (optional) replace(emitter, open, open + 2, '')
    before = direct.opening
    after = direct.closing
  } else if (kind === 'new') {
    const isList = open < end && source[open] === '('
    to = start + 3
    while (source[to] === ' ') to++
    before = `${way(emitter, 'n')}(`
    const said = saying(emitter, callee)
    after = isList ? '' : `,[]${said})`
    if (isList) {
      replace(emitter, open, open + 1, ',[')
      replace(emitter, end - 1, end, `]${said})`)
    }
  } else if (kind === 'tag') {
    before = entering
    insert(emitter, node.quasi.start, -EXPRESSION_EDGE, start, concat(said, ')'))
  } else if (kind === 'call') {
    before = entering
    replace(emitter, open, open + 1, concat(said, ')('))
  } else if (optimisations.handed && handed(emitter, call)) {
    const { object } = callee
    const { 0: given } = node.arguments
    const { 0: opened, 1: closed } = textOfHanded(emitter, call, planReceiver(emitter, callee, begin))
    before = `(${emitter.helper('h')}(`
    replace(emitter, pastOperand(source, object.end), given.start, opened)
    replace(emitter, given.end, end, closed)
  } else {
    const { 0: opened, 1: closed } = aroundMethod(emitter, call, isAwaited)
    before = opened
    replace(emitter, open, open + 1,
      [closed, planReceiver(emitter, callee, begin) + (node.arguments.length ? ',' : '')])
  }
  const isUsed = emitter.layout || begin >= 0 || !isDiscarded(node)
  const around = isUsed ? [opening(emitter), closing(emitter)]
    : aroundDiscarded(emitter, isWholeStatement(node) && !handed(emitter, call))
  insert(emitter, from, EXPRESSION_EDGE, end, concat(around[0], before), to)
  insert(emitter, end, -EXPRESSION_EDGE, from, concat(after, around[1]))
}

/**
 * Returns the text of `this` for the call of a member, and plans an assignment of the object if needed.
 *
 * @param {Emitter} emitter @param {Node} member @param {number} begin see planLink
 * @returns {string}
 */
function planReceiver(emitter, member, begin) {
  const { object, start } = member
  if (object.type === 'Super' || object.type === 'ThisExpression') return emitter.self
  const isSpecial = object.type !== 'Identifier' || matches(/^(?:arguments|yield)$/, object.name)
  if (begin < 0 && !isSpecial && isConstant(object)) return object.name
  const receiver = objectOf(emitter, member)
  const dot = pastOperand(emitter.source, object.end)
  if (begin === dot) return receiver // planChain has assigned the object before an optional link
  insert(emitter, begin < 0 ? start : begin, STATEMENT_EDGE, dot, `(${receiver}=`)
  insert(emitter, dot, -STATEMENT_EDGE, start, ')')
  return receiver
}

/**
 * Returns the variable that holds the object of a member until the call. A member with an expression in
 * brackets has its own variable, because a call in the brackets may need a variable, too.
 *
 * @param {Emitter} emitter @param {Node} member
 */
function objectOf(emitter, { property, computed, start }) {
  return variable(emitter,
    !computed || property.type === 'Literal' || property.type === 'Identifier' ? 'o' : `o${start}`)
}

/**
 * Plans an optional chain with calls that may yield. A nullish link skips all links after it.
 *
 * @param {Emitter} emitter @param {Node} chain
 */
function planChain(emitter, chain) {
  const { source, helper } = emitter
  const { start, end } = chain
  chain.plannedIn = emitter
  /** @type {Node[]} */
  const links = []
  for (let link = chain.expression; isMember(link) || link.type === 'CallExpression';
    link = link.object ?? link.callee) push(links, link)
  let begin = -1
  while (links.length) {
    const link = takeLast(links)
    const { call, optional } = link
    const inner = link.object ?? link.callee
    if (!optional || call?.name) {
      if (call) planLink(emitter, call, begin)
      continue
    }
    const at = pastOperand(source, inner.end)
    const from = begin < 0 ? start : begin
    if (isMember(link)) {
      const object = objectOf(emitter, link)
      insert(emitter, from, EXPRESSION_EDGE, end, `((${object}=`)
      replace(emitter, at, at + 2,
        source[pastOperand(source, at + 2)] === '[' ? object : `${object}.`)
    } else {
      const isMethod = isMember(inner)
      const held = variable(emitter, 'f')
      const said = saying(emitter, inner)
      const callee = call
        ? `${way(emitter, call.isAwaited ? 'w' : 'e')}(${held}${isMethod ? '' : said})` : held
      insert(emitter, from, EXPRESSION_EDGE, end, `((${held}=`)
      const calling = !isMethod ? `${callee}(` : `${helper('M')}(${callee}${said}).call(` +
        `${planReceiver(emitter, inner, begin)}${link.arguments.length ? ',' : ''}`
      insert(emitter, at, EXPRESSION_EDGE, link.end, (call ? opening(emitter) : '') + calling)
      replace(emitter, at, pastOperand(source, at + 2) + 1, '')
      if (call) insert(emitter, link.end, -EXPRESSION_EDGE, at, closing(emitter))
    }
    insert(emitter, at, STATEMENT_EDGE, end, ')==null?void 0:')
    insert(emitter, end, -STATEMENT_EDGE, from, ')')
    begin = at
  }
}

// A function that can run long is printed twice: unmodified, and as its twin, which uses the same variables.
// If functions nest too deeply, the text has only the twin, and plain calls run the twin to completion. A
// twin looks up the twins of its callees. Most twins have frame form and are not generators. Two kinds of
// functions have no twin: short functions, which have no loop and call only short functions, and functions
// that cannot be rewritten.

/**
 * The compilation plan of one function: whether it gets a twin, and the edits that produce the twin.
 *
 * @typedef {object} Plan
 * @property {Facts} facts
 * @property {Node} node
 * @property {Plan | null} parent
 * @property {Plan[]} children
 * @property {string} reason the reason why the function can have no twin
 * @property {Fragments} [registered] the text that attaches the twin of a declared function
 * @property {boolean} isListed whether one declaration of the script attaches the twin, with other twins
 * @property {boolean} isOnce whether the function runs exactly once, while the module is evaluated
 * @property {CallSite[]} calls the calls that may be preempted
 * @property {boolean} isLong whether the function has a twin
 * @property {number} price the cost of a call of a short function
 * @property {Plan[]} callers the callers that may be short
 * @property {number} shortCalls the number of calls of functions that are known to be short
 * @property {number} duals how many levels of nested functions may be printed twice, from this function on
 *   inwards
 * @property {boolean} holdsDual whether this function, or a function in it, must always be printed twice
 * @property {number[]} sizes the length of the text, by the number of levels that may be printed twice
 * @property {string} twin the name of the twin
 * @property {string} title the name of the function in stack traces, as a key
 * @property {{ name: string, at: number } | ''} mark the start of the twin and the name of the function, for
 *   the source map
 * @property {boolean} isHoisted whether the twin is a declaration, which is callable before the module runs
 * @property {boolean} isDirect whether the function is a declaration whose twin can be called by its name
 * @property {boolean} isCalledDirectly whether a twin calls this twin by its name
 * @property {Fragments[]} opening the text before a direct call of the twin
 * @property {Fragments[]} closing the text after a direct call of the twin
 * @property {boolean} isFramed whether the twin should have frame form
 * @property {Fragments | null} frame the body of the twin in frame form; null if the twin is a generator
 * @property {string} entry the name of the function that starts a call of the twin; empty if the run-time
 *   support starts the call
 * @property {Edit[]} plain the edits of the function outside of twins
 * @property {Edit[]} inner the edits of the unmodified function inside of a twin
 * @property {Node[]} bound the calls that use a helper in the function itself, outside of its twin
 * @property {Node[]} collected the nodes that iterate a value to its end: see `isCollected`
 * @property {Edit[] | null} own the edits of the twin without the edits of the functions in it; null if
 *   `edits` has no others
 * @property {Edit[]} edits the edits of the twin
 * @property {string} helpers the keys of the helpers that the twin calls
 * @property {number[]} copies how often the text of the function occurs outside and inside of twins
 * @property {Factory | null} lifted the factory that creates the function: see lift.mjs
 * @property {Fragments} text the text of the twin
 * @property {Emitter} emitter the emitter of the twin
 * @property {Claim[]} claims the contested locations that the body uses: see effects.mjs
 * @property {{ this: boolean, parameters: boolean[], others: boolean }} changes the arguments that the
 *   function may change
 * @property {EventUse} eventUse the use of the first parameter, if this is an event
 * @property {Claim[]} openClaims locations that a later text can make contested
 * @property {boolean} claimsAll whether the function claims the whole package
 * @property {boolean} isExposed whether unknown code can call the function
 * @property {string} identity the arguments of the helpers that claim arguments by identity; empty if the
 *   function does not claim its arguments
 * @property {ClaimText[]} claimTexts
 * @property {Set<string> | null} joins the directories of the packages whose objects this package keeps; only
 *   on the plan of a module
 * @property {Variable[]} unknownImports the imported names, and the specifiers, of unknown texts; only on the
 *   plan of a module
 * @property {string} lock the name of the lock of an activation; empty if activations have no lock
 */

/**
 * Built-in functions that twins call directly. These functions run no user code, or only inside of a built-in
 * call, which cannot be interrupted anyway.
 */
const QUICK = /* @__PURE__ */ new RegExp(
  '^(?:Array(?:Buffer)?|BigInt|Boolean|DataView|Date|Number|Object|RegExp|String|Symbol|URL|' +
  'Map|Set|Weak(?:Map|Ref|Set)|\\w*Error|(?:Uint|Int|Float|Big(?:Ui|I)nt)\\w*Array|Text(?:En|De)coder|' +
  'parse(?:Int|Float)|is(?:NaN|Finite)|(?:en|de)codeURI(?:Component)?|(?:un)?escape|' +
  '(?:set|clear)(?:Timeout|Interval))$')
/** Collections whose constructors iterate the argument. */
const COLLECTION = /^(?:Map|Set)$/
/** Built-in objects whose methods twins call directly: see QUICK. */
const QUICK_OBJECT =
  /^(?:Math|JSON|Object|Number|String|Symbol|BigInt|Date|console|performance|Atomics|Intl)$/
/**
 * Names of built-in methods that twins call directly: see QUICK. Other objects rarely have methods with these
 * names.
 */
const QUICK_METHOD = /* @__PURE__ */ new RegExp(
  '^(?:charAt|charCodeAt|codePointAt|substr(?:ing)?|to(?:Lower|Upper)Case|toFixed|' +
  'toPrecision|hasOwnProperty|isPrototypeOf|localeCompare|trim(?:Start|End)?|pad(?:Start|End)|' +
  '(?:starts|ends)With|' +
  '[gs]et(?:Ui|I)nt(?:8|16|32)|[gs]etFloat(?:32|64)|isArray|subarray)$')
/** Names of built-in methods that call a callback. */
const CALLS_BACK =
  /^(?:forEach|map|filter|some|every|find\w*|reduce\w*|flatMap|sort|toSorted|from|replace\w*)$/

/** @param {Node} node */
export const isMember = node => node.type === 'MemberExpression'

/**
 * Returns the name of a member, or an empty string if the member is private or in brackets.
 *
 * @param {Node} member @returns {string}
 */
export const keyOf = ({ computed, property }) =>
  computed || property.type !== 'Identifier' ? '' : property.name

/** Whether a call is the target of an assignment, which sloppy code may contain. @param {Node} node */
function isAssignedTo(node) {
  const { type, left } = node.parent
  return type === 'UpdateExpression' || (left === node && matches(/^(?:Assignment|For)/, type))
}

/** The constructor of functions. */
const FUNCTION = /^Function$/

/** Whether a node is the constructor of functions. @param {Node} node */
export const isFunctionClass = node => isGlobal(node, FUNCTION)

/** Whether plain text makes a call through a helper. @param {Node} call */
export const usesHelper = call => isBinding(call) ||
  (call.callee && isFunctionClass(call.callee.object ?? call.callee))

/** Whether a call of `bind` must give the bound function a twin. @param {Node} call */
export const isBinding = ({ type, callee, optional }) => type === 'CallExpression' &&
  isMember(callee) && keyOf(callee) === 'bind' && callee.object.type !== 'Super' &&
  !optional && !callee.optional

/** Whether a call may be preempted, because the callee is unknown or has a twin. @param {CallSite} call */
export const isPreempted = ({ target }) => target === null || target.isLong

/** Whether a function is a method with a private name. @param {{ node: Node, facts: Facts }} plan */
export const isPrivate = ({ facts, node: { parent } }) =>
  facts.isMethod && parent.key.type === 'PrivateIdentifier'

/**
 * Whether a twin must be a member of its class: the method has a private name, or uses `super`.
 *
 * @param {{ node: Node, facts: Facts }} plan @returns {boolean}
 */
export const isTwinMember = plan => isPrivate(plan) ||
  (plan.facts.usesSuper && plan.facts.isMethod && !plan.facts.isDerived)

/**
 * Returns the name of a twin that is a member of its class. When a class is evaluated, it can read its own
 * private members, but not the private members of its instances. So the twin of a public method first has a
 * public name, and the class removes this member.
 *
 * @param {{ node: Node, facts: Facts, twin: string }} plan @returns {string}
 */
export const nameAsMember = plan => isPrivate(plan) || plan.node.parent.static ? `#${plan.twin}` : plan.twin

/** Returns the kind of a call in a twin; empty if the call stays unchanged. @param {Node} call */
export function kindOf(call) {
  const { type, callee, tag } = call
  const called = callee ?? tag
  const isName = called.type === 'Identifier'
  if (isName && isGlobal(called, QUICK)) return ''
  if (tag) return isName ? 'tag' : ''
  if (matches(/^(?:Super|ChainExpression|MetaProperty)$/, callee.type) || isAssignedTo(call)) return ''
  if (type === 'NewExpression') {
    const isBuiltIn = isClass(callee.variable) && constructorFor(callee) === null
    return isBuiltIn ? '' : 'new'
  }
  const { parent } = lastAfter(call)
  const isDeleted = parent.type === 'ChainExpression' && parent.parent.operator === 'delete'
  if (isDeleted) return ''
  if (!isMember(callee)) return 'call'
  return isQuickMember(callee) ? '' : 'member'
}

/** Whether a member is a built-in method that a twin calls directly: see QUICK. @param {Node} member */
function isQuickMember(member) {
  const { object } = member
  const key = keyOf(member)
  if (matches(QUICK_METHOD, key)) return true
  if (key && object.type === 'Identifier' && isGlobal(object, QUICK_OBJECT)) return true
  return isOfEngine(object) && !!key && !matches(CALLS_BACK, key)
}

/**
 * Whether the value of a node is an array, a string or another built-in object with built-in methods.
 *
 * @param {Node} node @returns {boolean}
 */
export function isOfEngine(node) {
  const { type, value, callee } = (node.type === 'Identifier' && valueOfName(node)) || node
  if (isRest(node.variable)) return true
  return type === 'ArrayExpression' || type === 'TemplateLiteral' ||
    type === 'Literal' && typeof value === 'string' ||
    type === 'NewExpression' && callee.type === 'Identifier' && isGlobal(callee, QUICK)
}

/**
 * Whether a variable holds the array of a rest element.
 *
 * @param {Variable | null | undefined} variable @returns {boolean}
 */
function isRest(variable) {
  const { parent } =
    (isFixed(variable) && variable?.declarations.length === 1 && variable.declarations[0]) || {}
  return parent?.type === 'RestElement' && parent.parent.type !== 'ObjectPattern'
}

/**
 * Whether a node iterates a value to its end that may be a generator: a spread element, or the constructor of
 * a collection.
 *
 * @param {Node} node @returns {boolean}
 */
export function isCollected(node) {
  const { type } = node
  if (type === 'SpreadElement') return node.parent.type !== 'ObjectExpression' && !isOfEngine(node.argument)
  if (type !== 'NewExpression') return false
  const { callee, arguments: given } = node
  return given.length === 1 && given[0].type !== 'SpreadElement' &&
    isGlobal(callee, COLLECTION) && !isOfEngine(given[0])
}

/**
 * Whether a variable always holds the same class of the module.
 *
 * @param {Variable | null | undefined} variable
 * @returns {boolean}
 */
const isClass = variable => !!variable && isFixed(variable) &&
  (variable.kind === 'class' || matches(/^Class/, variable.scope.node.type))

/** Returns the constructor that a class declares. @param {Node} node a class @returns {Node | undefined} */
export const constructorOf = ({ body }) =>
  find(body.body, (/** @type {Node} */ { kind }) => kind === 'constructor')?.value

/** The result of `constructorFor` for an unknown constructor. */
const UNKNOWN = /* @__PURE__ */ Object.freeze({ plan: null })

/**
 * Finds the first constructor with a body that `new` runs for a class, or that `super()` runs in a class.
 *
 * @param {Node} callee the class, or the expression after `extends`
 * @returns {{ plan: Plan | null } | null} the constructor; UNKNOWN; null if only built-in constructors run
 */
export function constructorFor(callee) {
  const seen = emptySet()
  while (callee) {
    const { type, variable } = callee
    if (type === 'Identifier' && isGlobal(callee, QUICK)) return null
    // `class A extends A` throws when it is evaluated.
    if (!isClass(variable) || seen.has(variable)) return UNKNOWN
    seen.add(variable)
    const node = variable.declarations[0].parent
    const own = constructorOf(node)
    if (own) return own
    callee = node.superClass
  }
  return null
}

/**
 * Returns the plan of the function or constructor that a call runs; null if this function is unknown.
 *
 * @param {Node} call @returns {Plan | null}
 */
export function targetOf(call) {
  const { type, callee = call.tag } = call
  if (type === 'NewExpression' && isClass(callee.variable)) return constructorFor(callee)?.plan ?? null
  const value = callee.type === 'Identifier' ? valueOfName(callee)
    : callee.property?.type === 'PrivateIdentifier' ? privateMethod(callee) : callee
  return value && isFunctionNode(value) ? value.plan : null
}

/**
 * Returns the method with a private name; null if a field or an accessor has this name.
 *
 * @param {Node} member a member with a private name @returns {Node | null}
 */
function privateMethod({ property: { name }, parent }) {
  while (parent) {
    if (parent.type === 'ClassBody') {
      if (!parent.privates) {
        parent.privates = create(null)
        forEach(parent.body, ({ key, kind, value }) => {
          if (key?.type === 'PrivateIdentifier') parent.privates[key.name] = kind === 'method' ? value : null
        })
      }
      if (name in parent.privates) return parent.privates[name]
    }
    parent = parent.parent
  }
  return null
}

/**
 * Returns the expression whose value a function returns, if a call is in tail position in this expression.
 *
 * @param {Node} call @param {Node} own the function around the call
 * @returns {Node | null} null if the call is not in tail position
 */
export function returnOf(call, own) {
  let top = call
  for (; top.parent !== own; top = top.parent) {
    const { type, argument, consequent, alternate, right } = top.parent
    if (type === 'ReturnStatement' && argument === top) break
    const isLast = type === 'ConditionalExpression' ? top === consequent || top === alternate
      : type === 'LogicalExpression' && top === right
    if (!isLast) return null
  }
  return isLastIn(top, own) ? top : null
}
