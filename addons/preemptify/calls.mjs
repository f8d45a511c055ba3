/**
 * addons/preemptify/calls.mjs: the calls of a function: which ones can be suspended, what they call, and
 * their edits.
 *
 * A call in a twin looks like `(result = enter(f)(a)) === budget ? yield suspended() : result`. The callee
 * starts on the call stack. If it suspends, it returns the object `budget`, and `suspended()` returns the
 * rest of the call.
 */

import {
  EXPRESSION_EDGE, STATEMENT_EDGE, concat, insert, optimisations, pastOperand, replace, variable
} from './edits.mjs'
import {
  NO_ARGUMENTS, append, create, cut, emptySet, find, flat, matches, pick, stringify, takeLast
} from './primordials.mjs'
import { LISTS, isConstant, isFixed, isFunctionNode, isGlobal, seemsFixed, valueOfName } from './scopes.mjs'
/** @import { Claim } from './effects.mjs' */
/** @import { EventUse } from './event-use.mjs' */
/** @import { Facts, Node, Variable } from './scopes.mjs' */
/** @import { Edit, Pieces } from './edits.mjs' */
/** @import { Framed } from './frames.mjs' */

/**
 * The text of a generator function, as it is planned.
 *
 * @typedef {object} Draft
 * @property {string} source
 * @property {string} our what our names begin with, and none in the source
 * @property {string} unit what those begin with that are global, and of this text alone
 * @property {Record<string, Node[]>} free the names that the source does not declare, and where they are used
 * @property {Edit[]} edits
 * @property {Set<string>} variables those of ours that it declares
 * @property {{ has(node: Node): any }} written calls that may yield, and statements that begin with a point
 * @property {(key: string) => string} helper what of HELPERS is called
 * @property {Map<string, Keeper> | null} keepers by the names of callees; methods have a dot before the name
 * @property {boolean} says whether calls hand in their text for messages
 * @property {(text: string) => string} spell
 * @property {[string, string] | null} around the text around a call that may yield, once there is one
 * @property {string} budget the name of the budget
 * @property {string} begin a variable that it declares, with its initial value
 * @property {string} steps the name of its Steps, where those who ask a generator for a step go on with it
 *   later
 * @property {string} self what `this` is
 * @property {boolean} isOfModule
 * @property {boolean} isCounted whether points count the budget
 * @property {Framed | null} framed where it leaves frames, and is no generator
 * @property {string} callee the name of the function of the twin, if `arguments.callee` must be that function
 * @property {ClaimText[]} claims what the function claims
 * @property {boolean} canWait whether its twin can wait for a claim: not the steps of a generator
 * @property {string} lock the name of the lock of its activation; empty: closures do not write its variables
 * @property {string} identity as of Plan
 */
/**
 * The text of a claim.
 *
 * @typedef {object} ClaimText
 * @property {string} test an expression: whether the function must wait, by a yield of `claimed()`
 * @property {string} atOnce an expression that claims without waiting
 */
/**
 * A helper of a rewritten text that finds the entries of all callees with one name.
 *
 * @typedef {object} Keeper
 * @property {string} name of the helper
 * @property {[string]} opening the text of a call of the helper, up to its argument; without the helper, of
 *   the function of the run-time support
 * @property {[string]} member the text of the member after that of its object, in a message without the
 *   helper
 * @property {[string]} whole the text of the callee in a message without the helper
 * @property {number} uses the number of calls
 */
/**
 * A call that may be preempted.
 *
 * @typedef {object} CallSite
 * @property {Node} node
 * @property {string} kind 'call', 'member', 'new', 'tag', 'super'
 * @property {Plan | null} target the function that it calls, where that is known
 * @property {boolean} isAwaited
 * @property {string | null} name what is called instead, by its name
 * @property {boolean} isComposed whether its text has been composed of that of its parts; where the callee is
 *   known
 * @property {Pieces[]} before the arguments, there
 * @property {Pieces[]} after them
 */

/**
 * @param {Node} node @param {string} kind @param {Plan | null} target @param {Node} own @returns {CallSite}
 */
export const callSite = (node, kind, target, own) =>
  ({ node, kind, target, isAwaited: isAwaited(node, own), name: null, isComposed: false, before: [], after: [] })

/**
 * @param {Node} node of any kind
 * @returns {boolean} whether it is a statement, and but a chain that ends with a call
 */
export function isCallStatement({ type, start, expression }) {
  if (type !== 'ExpressionStatement' || expression.start !== start) return false
  const { type: kind } = expression.type === 'ChainExpression' ? expression.expression : expression
  return LISTS[kind] === 'calls' && kind !== 'NewExpression'
}

/** Whether a statement stands where declarations may. @param {Node} statement */
export const isInList = ({ parent: { type } }) => type === 'BlockStatement' || type === 'SwitchCase'

/**
 * A statement that begins with a parenthesis now would go on with the line before it.
 *
 * @param {Draft} draft @param {Node} node what begins so
 */
export function part(draft, node) {
  let top = node
  while (top.parent.start === node.start && top.parent.type !== 'ExpressionStatement') top = top.parent
  const statement = top.parent
  if (statement.type !== 'ExpressionStatement' || statement.start !== node.start || statement.partedIn === draft) return
  statement.partedIn = draft
  if (isInList(statement)) insert(draft, statement.start, STATEMENT_EDGE, Infinity, ';')
}

// Calls

/**
 * @param {Node} call at the end of its chain @param {Node} own
 * @returns {boolean} whether it is waited for: as `await f()` is, and what an async function returns
 */
function isAwaited({ parent }, own) {
  if (parent.type === 'ChainExpression') parent = parent.parent
  if (parent.type === 'AwaitExpression') return true
  return own.async && parent.type === 'ReturnStatement' && isLastIn(parent, own)
}

/**
 * @param {Node} node @param {Node} own the function that it is in
 * @returns {boolean} whether nothing is closed or disposed of after it
 */
function isLastIn(node, own) {
  for (; node !== own; node = node.parent) if (node.disposes || matches(/^(?:Try|ForOf)/, node.type)) return false
  return true
}

/** What is called. @param {Node} call @returns {Node} */
export const calledIn = ({ callee, tag }) => callee ?? tag

/** @param {Node} node @returns {boolean} whether it is what is called, by no `new` */
export const isCalled = node => node.parent.type !== 'NewExpression' && calledIn(node.parent) === node

/** @param {Node} node @returns {Node} the last of its chain */
function lastAfter(node) {
  for (;;) {
    const { type, object, callee, tag } = node.parent
    if (object !== node && tag !== node && (callee !== node || type !== 'CallExpression')) return node
    node = node.parent
  }
}

/** What of HELPERS is called, or a method of its Steps. @param {Draft} draft @param {string} key */
export const way = ({ steps, helper }, key) => steps ? `${steps}.${key}` : helper(key)

/** Longer texts in messages are left out. */
const MAX_SPOKEN = 60

/**
 * An expression as V8 names it in messages, such as `a.b.c is not a function`.
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
    case 'Literal': return typeof value === 'string' ? `"${value}"` : cut(source, node.start, node.end)
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
 * The text of an expression as an argument for the run-time support, which names it in errors. A text that
 * becomes too long has no such arguments. `preemptify(fn)` has other helpers, which take none.
 *
 * @param {Draft} draft @param {Node} node
 */
export const saying = ({ says, source }, node) => says ? `,${stringify(spoken(source, node))}` : ''

/** The same for a value that is iterated. @param {Draft} draft @param {Node} node */
export const sayingIterable = (draft, node) => draft.says && node.type === 'CallExpression'
  ? `,${stringify(`${spoken(draft.source, node.callee)} is not a function or its return value`)}`
  : saying(draft, node)

// A call that may yield gives `budget` where it has not returned, and what is yielded then is the rest of it.

/** @param {Draft} draft @returns {string} the beginning of a call that may yield */
export const opening = draft => draft.framed ? '' : (draft.around ??= aroundCall(draft))[0]

/** @param {Draft} draft @returns {string} the end of a call that may yield */
export const closing = draft => draft.framed ? '' : (draft.around ??= aroundCall(draft))[1]

/** @param {Draft} draft @returns {[string, string]} */
function aroundCall(draft) {
  const result = variable(draft, 'r')
  return [`((${result}=`, flat(`)===${draft.budget}?yield ${way(draft, 'q')}():${result})`)]
}

/**
 * Makes a call one that may yield:
 *
 *   f(a)        ->  ((r = enter(f)(a)) === budget ? yield suspended() : r)
 *   a.b(c)      ->  ((r = enterMethod((o = a).b).call(o, c)) === ...)
 *   a?.b(c).d   ->  ((o = a) == null ? void 0 : ((r = enterMethod(o.b).call(o, c)) === ...).d)
 *
 * @param {Draft} draft @param {CallSite} call
 */
export function planCall(draft, call) {
  const { node, kind } = call
  if (kind === 'super') return // planSuper
  const chain = lastAfter(node).parent
  const isChain = chain.type === 'ChainExpression' && kind !== 'new' && kind !== 'tag'
  if (!isChain && isAsItIs(draft, call)) return
  if (!draft.framed) part(draft, node)
  if (!isChain) planLink(draft, call, -1)
  else if (chain.plannedIn !== draft) planChain(draft, chain)
}

/**
 * Whether a private method is not part of its caller: a generator cannot look it up.
 *
 * @param {Draft} draft @param {CallSite} call
 */
const isAsItIs = ({ steps }, { kind, target, isAwaited }) => kind === 'member' && target !== null && isPrivate(target) &&
  (steps !== '' || (target.facts.isAsync && !isAwaited))

/**
 * What is called in the place of a callee that is known.
 *
 * @param {Draft} draft @param {CallSite} call
 * @returns {{ callee: Node, name: string, opening: Pieces[], closing: Pieces[] } | null} `opening` and
 *   `closing` stand around the call: a call that makes a generator has to run it
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
  if (kind !== 'member' || !isPrivate(target) || lastAfter(node).parent.type === 'ChainExpression') return null
  target.isCalledDirectly = true
  return { callee: callee.property, name: `#${twin}`, opening, closing }
}

/**
 * What finds the entry of a method, or of what is declared where code runs once, is a helper for all of its
 * name. It keeps what it has found last: mostly that is the same function, and to ask a function for its twin
 * takes 10 to 20 ns. Without this acorn, sucrase and planck take 1.1 to 1.2 times as long as jobs, a SHA-256
 * of small functions of other modules 2.7 times. The last function that was called by a name is not
 * collected.
 *
 * @param {Draft} draft @param {Node} callee
 * @param {boolean} isMethod whether what is found is asked to `call`
 * @returns {Keeper | null} the helper; null: there is none
 */
function keeper({ helper, unit, steps, keepers }, callee, isMethod) {
  if (steps || keepers === null) return null
  const name = keptName(callee)
  if (name === '') return null
  helper(isMethod ? 'E' : 'e')
  const key = isMethod ? `.${name}` : name
  let found = keepers.get(key)
  if (!found) {
    const name = `${unit}${keepers.size}k`
    keepers.set(key, found = { name, opening: [`${name}(`], member: [''], whole: [''], uses: 0 })
  }
  found.uses++
  return found
}

/** The name by which a keeper finds a callee, or an empty text. @param {Node} callee @returns {string} */
export function keptName(callee) {
  const { type, expressions } = callee
  const called = type === 'SequenceExpression' ? expressions[expressions.length - 1] : callee // `(0, a.b)(c)`
  const isLasting = seemsFixed(called.variable) && called.variable.scope.facts.node.plan.isOnce
  return isMember(called) ? keyOf(called) : isLasting ? called.name : ''
}

/**
 * What stands before and after the method of a member call. With Reflect.apply instead of its `call`, a
 * Markdown editor takes 3.9 instead of 2.1 times as long as plain code (Firefox 153), a SHA-256 of classes
 * 413 instead of 320 ms (Node 20).
 *
 * @param {Draft} draft @param {Node} callee @param {boolean} isAwaited @returns {[Pieces, Pieces]}
 */
export function aroundMethod(draft, callee, isAwaited) {
  const found = isAwaited || !optimisations.keeper ? null : keeper(draft, callee, true)
  if (found) {
    // A keeper knows the name of the member.
    const { object, optional } = callee
    const said = optional && draft.says ? `,${stringify(`${spoken(draft.source, object)}?`)}`
      : saying(draft, object)
    if (object.type === 'ThisExpression') return [found.opening, [found.whole, ').call(']]
    return [found.opening, said === '' ? ').call(' : [said, found.member, ').call(']]
  }
  const said = saying(draft, callee)
  if (!draft.steps && !isAwaited) return [`${draft.helper('E')}(`, `${said}).call(`]
  return [`${draft.helper('M')}(${way(draft, isAwaited ? 'w' : 'e')}(`, `)${said}).call(`]
}

/** Methods of arrays that call back, and that engines inline. */
const INLINED = /^(?:forEach|map|filter|some|every|find|findIndex)$/

/**
 * What cannot run long, and is given to a method of an array, is called by the engine's own where the array
 * is short: where that stands in the text, engines inline both. Where most is maps of 2000, a job takes 1.4
 * to 1.75 times as long as plain code, without this 2.0 to 2.6 times (Chromium 156).
 *
 *   a.map(f)  ->  (short(a, g = (0, f)) ? a.map(g) : enterMethod(a.map).call(a, g))
 *
 * @param {Draft} draft @param {CallSite} call @returns {boolean} whether it is one of those
 */
export function handed({ steps, isOfModule }, { node, kind }) {
  if (steps || !isOfModule || kind !== 'member') return false
  const { callee, arguments: given, optional } = node
  if (optional || callee.optional || callee.computed || callee.object.type === 'Super' || !matches(INLINED, keyOf(callee))) return false
  return given.length === 1 && isFunctionNode(given[0]) && !given[0].plan.isLong &&
    lastAfter(node).parent.type !== 'ChainExpression'
}

/**
 * What stands before and after the function that is given.
 *
 * @param {Draft} draft @param {CallSite} call @param {Pieces} receiver @returns {[Pieces, Pieces]}
 */
export function textOfHanded(draft, { node: { callee }, isAwaited }, receiver) {
  const held = variable(draft, 'f')
  const method = `.${callee.property.name}`
  const { 0: before, 1: after } = aroundMethod(draft, callee, isAwaited)
  return [`,${held}=(0,`, [`))?`, receiver, `${method}(${held}):`, before, receiver, method, after, receiver, `,${held}))`]]
}

/**
 * @param {Draft} draft @param {CallSite} call
 * @param {number} begin where its text begins, if that is behind an optional link
 */
function planLink(draft, call, begin) {
  const { source } = draft
  const { node, kind, isAwaited } = call
  const { start, end, optional } = node
  const callee = calledIn(node)
  const from = begin < 0 ? start : begin
  const direct = directOf(draft, call)
  const mayKeep = (kind === 'call' || kind === 'tag') && !isAwaited && !direct && optimisations.keeper
  const kept = mayKeep ? keeper(draft, callee, false) : null
  const entering = kept?.opening ?? `${way(draft, isAwaited ? 'w' : 'e')}(`
  const said = kept && callee.type === 'Identifier' ? kept.whole : saying(draft, callee)
  const open = pastOperand(source, callee.end)
  let before = /** @type {Pieces} */ ('')
  let after = /** @type {Pieces} */ ('')
  let to = from
  if (direct) {
    replace(draft, direct.callee.start, direct.callee.end, direct.name)
    if (optional) replace(draft, open, open + 2, '')
    before = direct.opening
    after = direct.closing
  } else if (kind === 'new') {
    const isList = open < end && source[open] === '('
    to = start + 3
    before = `${way(draft, 'n')}(`
    const said = saying(draft, callee)
    after = isList ? '' : `,[]${said})`
    if (isList) {
      replace(draft, open, open + 1, ',[')
      replace(draft, end - 1, end, `]${said})`)
    }
  } else if (kind === 'tag') {
    before = entering
    insert(draft, node.quasi.start, -EXPRESSION_EDGE, start, concat(said, ')'))
  } else if (kind === 'call') {
    before = entering
    replace(draft, open, open + 1, concat(said, ')('))
  } else if (optimisations.handed && handed(draft, call)) {
    const { object } = callee
    const { 0: given } = node.arguments
    const { 0: opened, 1: closed } = textOfHanded(draft, call, planReceiver(draft, callee, begin))
    before = `(${draft.helper('h')}(`
    replace(draft, pastOperand(source, object.end), given.start, opened)
    replace(draft, given.end, end, closed)
  } else {
    const { 0: opened, 1: closed } = aroundMethod(draft, callee, isAwaited)
    before = opened
    replace(draft, open, open + 1, [closed, planReceiver(draft, callee, begin) + (node.arguments.length ? ',' : '')])
  }
  insert(draft, from, EXPRESSION_EDGE, end, concat(opening(draft), before), to)
  insert(draft, end, -EXPRESSION_EDGE, from, concat(after, closing(draft)))
}

/**
 * @param {Draft} draft @param {Node} member @param {number} begin as of planLink
 * @returns {string} what is `this`
 */
function planReceiver(draft, member, begin) {
  const { object, start } = member
  if (object.type === 'Super' || object.type === 'ThisExpression') return draft.self
  const isSpecial = object.type !== 'Identifier' || matches(/^(?:arguments|yield)$/, object.name)
  if (begin < 0 && !isSpecial && isConstant(object)) return object.name
  const receiver = objectOf(draft, member)
  const dot = pastOperand(draft.source, object.end)
  if (begin === dot) return receiver // an optional link has put it there
  insert(draft, begin < 0 ? start : begin, STATEMENT_EDGE, dot, `(${receiver}=`)
  insert(draft, dot, -STATEMENT_EDGE, start, ')')
  return receiver
}

/**
 * What holds the object of a member, until that is called: another call in its brackets may need one, too.
 *
 * @param {Draft} draft @param {Node} member
 */
function objectOf(draft, { property, computed, start }) {
  return variable(draft, !computed || property.type === 'Literal' || property.type === 'Identifier' ? 'o' : `o${start}`)
}

/** What cuts a chain short cuts all of it short. @param {Draft} draft @param {Node} chain */
function planChain(draft, chain) {
  const { source, helper } = draft
  const { start, end } = chain
  chain.plannedIn = draft
  /** @type {Node[]} */
  const links = []
  for (let link = chain.expression; isMember(link) || link.type === 'CallExpression'; link = link.object ?? link.callee) append(links, link)
  let begin = -1
  while (links.length) {
    const link = takeLast(links)
    const { call, optional } = link
    const inner = link.object ?? link.callee
    if (!optional || call?.name) {
      if (call) planLink(draft, call, begin)
      continue
    }
    const at = pastOperand(source, inner.end)
    const from = begin < 0 ? start : begin
    if (isMember(link)) {
      const object = objectOf(draft, link)
      insert(draft, from, EXPRESSION_EDGE, end, `((${object}=`)
      replace(draft, at, at + 2, source[pastOperand(source, at + 2)] === '[' ? object : `${object}.`)
    } else {
      const isMethod = isMember(inner)
      const held = variable(draft, 'f')
      const said = saying(draft, inner)
      const callee = call ? `${way(draft, call.isAwaited ? 'w' : 'e')}(${held}${isMethod ? '' : said})` : held
      insert(draft, from, EXPRESSION_EDGE, end, `((${held}=`)
      const calling = !isMethod ? `${callee}(` : `${helper('M')}(${callee}${said}).call(` +
        `${planReceiver(draft, inner, begin)}${link.arguments.length ? ',' : ''}`
      insert(draft, at, EXPRESSION_EDGE, link.end, (call ? opening(draft) : '') + calling)
      replace(draft, at, pastOperand(source, at + 2) + 1, '')
      if (call) insert(draft, link.end, -EXPRESSION_EDGE, at, closing(draft))
    }
    insert(draft, at, STATEMENT_EDGE, end, ')==null?void 0:')
    insert(draft, end, -STATEMENT_EDGE, from, ')')
    begin = at
  }
}

// A function that can run long is printed twice: as it is, and as its twin, a generator function over the
// same variables. Where functions nest deeply there is only the twin, and plain calls drive it to its end. In
// a twin whatever is called is asked for its twin (8e). Most twins leave frames (8c) and are no generators.
// What cannot run long, as it has no loop and calls only the like, stays as it is, and so does what can have
// no twin.

/**
 * What a module, or a script, makes of a function.
 *
 * @typedef {object} Plan
 * @property {Facts} facts
 * @property {Node} node
 * @property {Plan | null} parent
 * @property {Plan[]} children
 * @property {string} reason why it can have no twin
 * @property {Pieces} [registered] what gives a declared function its twin
 * @property {boolean} isOnce whether it is called once, where it stands, while the module is evaluated
 * @property {CallSite[]} calls that may be preempted
 * @property {boolean} isLong whether it has a twin
 * @property {number} price of a call, where it is not long
 * @property {Plan[]} callers where they may be short
 * @property {number} shortCalls how many of its calls are known to be
 * @property {number} duals how many functions may be dual from here on inwards
 * @property {boolean} holdsDual whether it is, or holds, one that is always printed twice, as it can have no
 *   single text
 * @property {number[]} sizes of its text, by how many may be dual
 * @property {string} twin the name of its twin
 * @property {string} title the name of the function in stack traces, as a key
 * @property {{ name: string, at: number } | ''} mark where the twin begins, and its function, for the
 *   source map
 * @property {boolean} isHoisted whether its twin is a declaration, and called before the module runs
 * @property {boolean} isDirect whether its twin has a name wherever it has one
 * @property {boolean} isCalledDirectly whether a twin calls this twin by its name
 * @property {Pieces[]} opening the text before a direct call of its twin
 * @property {Pieces[]} closing the text after it
 * @property {boolean} isFramed whether its twin is to have frame form
 * @property {Pieces | null} frame the body of its twin, if that leaves frames: then it is no generator
 * @property {string} entry the name of what begins a call of its twin, if that is no common function
 * @property {Edit[]} plain edits of its text in plain text
 * @property {Edit[]} inner edits of its plain text in a twin
 * @property {Node[]} bound calls that use a helper in plain text
 * @property {Edit[] | null} own edits of its twin without the edits of the functions in it; null if `edits`
 *   has no others
 * @property {Edit[]} edits of its twin
 * @property {string} helpers the keys of the helpers that its twin calls
 * @property {number[]} copies how often the text of the function occurs outside and inside of twins
 * @property {Pieces} text of its twin
 * @property {Draft} draft of its twin, if it has one
 * @property {Claim[]} claims the contested locations that its body uses: see effects.mjs
 * @property {{ this: boolean, parameters: boolean[], others: boolean }} changes the arguments that it may change
 * @property {EventUse} eventUse how it uses its first parameter, if that is an event
 * @property {Claim[]} openClaims locations that a later text can make contested
 * @property {boolean} claimsAll whether it claims the whole package
 * @property {boolean} isExposed whether code that is not known can call it
 * @property {string} identity the arguments of the helpers that claim its arguments by identity; empty: none
 * @property {ClaimText[]} claimTexts
 * @property {string} lock the name of the lock of its activations; empty: they have none
 */

/** Functions of the engine that neither call back nor take long, or only as one call of the engine. */
const QUICK = /* @__PURE__ */ new RegExp('^(?:Array(?:Buffer)?|BigInt|Boolean|DataView|Date|Number|Object|RegExp|String|Symbol|URL|' +
  'Map|Set|Weak(?:Map|Ref|Set)|\\w*Error|(?:Uint|Int|Float|Big(?:Ui|I)nt)\\w*Array|Text(?:En|De)coder|' +
  'parse(?:Int|Float)|is(?:NaN|Finite)|(?:en|de)codeURI(?:Component)?|(?:un)?escape|' +
  '(?:set|clear)(?:Timeout|Interval))$')
/** Those that iterate what they are given. */
const COLLECTION = /^(?:Map|Set)$/
/** Objects whose methods are such. */
const QUICK_OBJECT = /^(?:Math|JSON|Object|Number|String|Symbol|BigInt|Date|console|performance|Atomics|Intl)$/
/** Methods of the engine that are such, and hardly anybody else's. */
const QUICK_METHOD = /* @__PURE__ */ new RegExp('^(?:charAt|charCodeAt|codePointAt|substr(?:ing)?|to(?:Lower|Upper)Case|toFixed|' +
  'toPrecision|hasOwnProperty|isPrototypeOf|localeCompare|trim(?:Start|End)?|pad(?:Start|End)|(?:starts|ends)With|' +
  '[gs]et(?:Ui|I)nt(?:8|16|32)|[gs]etFloat(?:32|64)|isArray|subarray)$')
/** Methods of the engine that call back. */
const CALLS_BACK = /^(?:forEach|map|filter|some|every|find\w*|reduce\w*|flatMap|sort|toSorted|from|replace\w*)$/

/** @param {Node} node */
export const isMember = node => node.type === 'MemberExpression'

/** @param {Node} member @returns {string} its name, if it is written */
export const keyOf = ({ computed, property }) => computed || property.type !== 'Identifier' ? '' : property.name

/** Whether a call is what is assigned to, as sloppy code may try. @param {Node} node */
function isAssignedTo(node) {
  const { type, left } = node.parent
  return type === 'UpdateExpression' || (left === node && matches(/^(?:Assignment|For)/, type))
}

/** @param {CallSite} call */
export const isPreempted = ({ target }) => target === null || target.isLong

/** @param {{ node: Node, facts: Facts }} plan */
export const isPrivate = ({ facts, node: { parent } }) => facts.isMethod && parent.key.type === 'PrivateIdentifier'

/**
 * Whether a twin has to be a member of its class: the method has a private name, or uses `super`.
 *
 * @param {{ node: Node, facts: Facts }} plan @returns {boolean}
 */
export const isTwinMember = plan => isPrivate(plan) ||
  (plan.facts.usesSuper && plan.facts.isMethod && !plan.facts.isDerived)

/**
 * The name of a twin that is a member of its class. A class can read the private members of itself, and not
 * those of its instances. So the twin of a public method has a public name until its class takes it away.
 *
 * @param {{ node: Node, facts: Facts, twin: string }} plan @returns {string}
 */
export const nameAsMember = plan => isPrivate(plan) || plan.node.parent.static ? `#${plan.twin}` : plan.twin

/** How a call is made in a twin; empty: as it is. @param {Node} call */
export function kindOf(call) {
  const { type, callee, tag } = call
  if (type === 'TaggedTemplateExpression') return tag.type === 'Identifier' && !isGlobal(tag, QUICK) ? 'tag' : ''
  if (callee.type === 'Super' || callee.type === 'ChainExpression' || callee.type === 'MetaProperty' || isAssignedTo(call)) return ''
  if (callee.type === 'Identifier' && isGlobal(callee, QUICK)) return ''
  if (type === 'NewExpression') {
    return isClass(callee.variable) && constructorFor(callee) === null ? '' : 'new'
  }
  const { parent } = lastAfter(call)
  if (parent.type === 'ChainExpression' && parent.parent.operator === 'delete') return ''
  if (!isMember(callee)) return 'call'
  const { object } = callee
  if (matches(QUICK_METHOD, keyOf(callee)) || (object.type === 'Identifier' && keyOf(callee) && isGlobal(object, QUICK_OBJECT))) return ''
  if (isOfEngine(object) && keyOf(callee) && !matches(CALLS_BACK, keyOf(callee))) return ''
  return 'member'
}

/**
 * @param {Node} node
 * @returns {boolean} whether its value is an array, a string or a collection, whose methods are the engine's
 */
export function isOfEngine(node) {
  const { type, value, callee } = (node.type === 'Identifier' && valueOfName(node)) || node
  if (isRest(node.variable)) return true
  return type === 'ArrayExpression' || type === 'TemplateLiteral' || type === 'Literal' && typeof value === 'string' ||
    type === 'NewExpression' && callee.type === 'Identifier' && isGlobal(callee, QUICK)
}

/**
 * @param {Variable | null | undefined} variable @returns {boolean} whether it is an array of what was left
 */
function isRest(variable) {
  const { parent } = (isFixed(variable) && variable?.declarations.length === 1 && variable.declarations[0]) || {}
  return parent?.type === 'RestElement' && parent.parent.type !== 'ObjectPattern'
}

/** @param {Node} node @returns {boolean} whether it iterates what may be a generator, to its end */
export function isCollected({ type, parent, argument, callee, arguments: given }) {
  if (type === 'SpreadElement') return parent.type !== 'ObjectExpression' && !isOfEngine(argument)
  return type === 'NewExpression' && given.length === 1 && given[0].type !== 'SpreadElement' && isGlobal(callee, COLLECTION) &&
    !isOfEngine(given[0])
}

/**
 * @param {Variable | null | undefined} variable
 * @returns {boolean} whether it is a class of the module, and stays it
 */
const isClass = variable => !!variable && isFixed(variable) &&
  (variable.kind === 'class' || matches(/^Class/, variable.scope.node.type))

/** @param {Node} node a class @returns {Node | undefined} the constructor that it declares */
export const constructorOf = ({ body }) =>
  find(body.body, (/** @type {Node} */ { kind }) => kind === 'constructor')?.value

/** The result of `constructorFor` for a constructor that is not known. */
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
 * The function of the module that is called, or whose body makes an object.
 *
 * @param {Node} call @returns {Plan | null}
 */
export function targetOf(call) {
  const { type, callee = call.tag } = call
  if (type === 'NewExpression' && isClass(callee.variable)) return constructorFor(callee)?.plan ?? null
  const value = callee.type === 'Identifier' ? valueOfName(callee) : callee.property?.type === 'PrivateIdentifier' ? privateMethod(callee) : callee
  return value && isFunctionNode(value) ? value.plan : null
}

/** @param {Node} member by a private name @returns {Node | null} the method that it is */
function privateMethod({ property: { name }, parent }) {
  while (parent) {
    if (parent.type === 'ClassBody') {
      if (!parent.privates) {
        parent.privates = create(null)
        pick(parent.body, ({ key, kind, value }) => {
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
 * @param {Node} call @param {Node} own the function that it is in
 * @returns {Node | null} what returns its result, if it is the last that is done there
 */
export function returnOf(call, own) {
  let top = call
  for (; top.parent !== own; top = top.parent) {
    const { type, argument, consequent, alternate, right } = top.parent
    if (type === 'ReturnStatement' && argument === top) break
    const isLast = type === 'ConditionalExpression' ? top === consequent || top === alternate : type === 'LogicalExpression' && top === right
    if (!isLast) return null
  }
  return isLastIn(top, own) ? top : null
}
