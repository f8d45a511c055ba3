/**
 * addons/preemptify/generators.mjs: the generator form of twins.
 *
 * A twin in this form is a generator function. A preemption point is a `yield`. If a call is suspended, the
 * twin yields the rest of the call.
 */

import {
  closing, isOfEngine, isTwinMember, nameAsMember, opening, planCall, sayingIterable,
  separateStatement, way
} from './calls.mjs'
import { planSuper, planTarget, takesTarget } from './constructors.mjs'
import {
  BEYOND, BODY_EDGE, EXPRESSION_EDGE, STATEMENT_EDGE, enclose, insert, isConcise, optimisations,
  pastDirectives, pastParentheses, range, replace, seek
} from './edits.mjs'
import { listed } from './helpers.mjs'
import { chunk, labelsOf, pointIn } from './loops.mjs'
import {
  emptySet, find, forEach, join, keysOf, listOf, matches, push, pushAll, slice
} from './primordials.mjs'
import { pastSpace } from './read.mjs'
import { isWithin } from './scopes.mjs'
/** @import { CallSite, Emitter } from './calls.mjs' */
/** @import { Fragments } from './edits.mjs' */
/** @import { Facts, Node } from './scopes.mjs' */

/**
 * Plans the edits of a twin in generator form. The twin has a preemption point at its start and at the start
 * of each loop body. Calls may yield, and an `await` becomes a `yield` of the awaited value.
 *
 * @param {Emitter} emitter @param {{ node: Node, facts: Facts, calls: CallSite[], collected: Node[] }} plan
 */
export function planTwin(emitter, { node, facts, calls, collected }) {
  const { source, helper, steps } = emitter
  const { body } = node
  if (facts.isDerived && emitter.isOfModule) planSuper(emitter, node)
  for (let i = 0; i < calls.length; i++) planCall(emitter, calls[i])
  for (let i = 0; i < facts.awaits.length; i++) {
    const { start, end } = facts.awaits[i]
    if (start < body.start) continue
    const { 0: begin, 1: stop } = claimingAfter(emitter, facts)
    insert(emitter, start, EXPRESSION_EDGE, end, `${begin}(yield ${helper('y')}(`, start + 5)
    insert(emitter, end, -EXPRESSION_EDGE, start, `))${stop}`)
    separateStatement(emitter, facts.awaits[i])
  }
  if (facts.isAsync && facts.isGenerator) planProduced(emitter, facts, body)
  for (let i = 0; i < facts.loops.length; i++) {
    if (facts.loops[i].start > body.start) planLoop(emitter, facts.loops[i], node, facts)
  }
  const resumed = statementOf(claimingAfter(emitter, facts)[1])
  if (resumed) {
    forEach(handlersAround(facts, body), ({ start }) =>
      insert(emitter, start + 1, -BODY_EDGE, start, resumed))
  }
  if (facts.isGenerator && (emitter.claims.length || emitter.identity)) {
    forEach(facts.yields, ({ start, end }) => {
      const { 0: begin, 1: stop } = claimingAfter(emitter, facts)
      if (start > body.start) enclose(emitter, start, end, EXPRESSION_EDGE, `${begin}(`, `)${stop}`)
    })
  }
  if (emitter.isOfModule) {
    planTarget(emitter, facts)
    for (let i = 0; i < facts.yields.length; i++) {
      const { start, end, delegate } = facts.yields[i]
      if (delegate) enclose(emitter, pastSpace(source, seek(source, '*', start + 5) + 1), end,
        STATEMENT_EDGE, `${steps}.d(`, ')')
    }
    planCollected(emitter, collected, body)
  }
  planArguments(emitter, facts)
  planBeginning(emitter, node, facts)
}

/**
 * Declares another variable in place of `var arguments`, which normally declares no new variable. In
 * generator functions, WebKit declares a new variable that does not have the arguments object.
 *
 * @param {Emitter} emitter @param {Facts} facts
 */
function planArguments(emitter, { scopes }) {
  forEach(scopes, ({ variables: { arguments: variable } }) => {
    if (variable?.kind !== 'var') return
    forEach(variable.declarations, ({ start, end, parent }) => {
      if (parent.type !== 'VariableDeclarator' || matches(/^For(?:In|Of)/, parent.parent.parent.type)) return
      if (parent.init) insert(emitter, start, EXPRESSION_EDGE, end, `${emitter.our}V=`)
      else replace(emitter, start, end, `${emitter.our}V`)
    })
  })
}

/**
 * Plans the `yield` and `return` statements of an async generator. The generator awaits the value that it
 * returns.
 *
 * @param {Emitter} emitter @param {Facts} facts @param {Node} body
 */
function planProduced(emitter, { yields, returns }, body) {
  const { source, helper } = emitter
  forEach(yields, ({ start, end, argument }) => {
    if (start < body.start) return
    if (argument) enclose(emitter, pastSpace(source, start + 5), end, STATEMENT_EDGE, `${helper('Y')}(`, ')')
    else insert(emitter, end, -STATEMENT_EDGE, start, ` ${helper('Y')}()`)
  })
  forEach(returns, ({ start, argument }) => {
    if (!argument) return
    const end = pastParentheses(source, argument.end)
    enclose(emitter, pastSpace(source, start + 6), end, STATEMENT_EDGE, `(yield ${helper('y')}((`, ')))')
  })
}

/**
 * Plans the start of a body, after its directives: the variables of the compiler, a preemption point and the
 * claims.
 *
 * @param {Emitter} emitter @param {Node} own @param {Facts} facts
 */
function planBeginning(emitter, own, facts) {
  const { variables, begin, callee, spell } = emitter
  const { body } = own
  const isBlock = body.type === 'BlockStatement'
  const at = isBlock ? pastDirectives(body.body, body.start + 1) : body.start
  const called = callee ? `arguments.callee = ${callee}; ` : ''
  const names = listOf(variables)
  if (begin) push(names, begin)
  if (emitter.lock) push(names, `${emitter.lock}=${emitter.helper('z')}()`)
  if (hasStays(emitter, facts)) {
    push(names, `${emitter.our}id=${emitter.helper('F')}(${listed(emitter.identity)})`)
  }
  const declared = names.length ? ` let ${join(names, ', ')};` : ''
  const hasDirectives = isBlock && at > body.start + 1
  const start = spell((hasDirectives ? ';' : '') + declared + ` ${called}` + pointIn(emitter, body, own) +
    claiming(emitter, facts))
  insert(emitter, at, isBlock ? -BODY_EDGE : BODY_EDGE, BEYOND,
    isBlock ? start : `${start}${spell(' ')}return `)
}

/**
 * Returns the text for the claims of a function. The text waits for the claims, except in a generator of the
 * source, because the steps of such a generator cannot wait.
 *
 * @param {Emitter} emitter @param {Facts} facts
 */
function claiming(emitter, facts) {
  const { claims, canWait, helper } = emitter
  let text = hasStays(emitter, facts) && !canWait ? `${claimOfArguments(emitter)};` : ''
  forEach(claims, ({ test, atOnce }) => {
    text += canWait ? `if(${test})yield ${helper('Q')}();` : `${atOnce};`
  })
  return text
}

/**
 * Returns the text before and after an `await` or a `yield`, after which the function claims again.
 *
 * @param {Emitter} emitter @param {Facts} facts
 */
function claimingAfter(emitter, facts) {
  const { claims, canWait, helper } = emitter
  const isLater = hasStays(emitter, facts)
  if (!claims.length && !isLater) return ['', '']
  let text = isLater ? `,${claimOfArguments(emitter)}` : ''
  forEach(claims, ({ test, atOnce }) => {
    text += canWait ? `,${test}?yield ${helper('Q')}():0` : `,${atOnce}`
  })
  return [`${helper('Z')}(`, `${text})`]
}

/** Returns the claims as a statement. @param {string} after the second text that `claimingAfter` returns */
const statementOf = after => after && `${slice(after, 1, after.length - 1)};`

/**
 * Returns the `catch` and `finally` blocks around each `await` and `yield`, which run in a new stay after an
 * error.
 *
 * @param {Facts} facts @param {Node} body the body of the function @returns {Node[]}
 */
export function handlersAround({ awaits, yields, loops }, body) {
  const blocks = emptySet()
  const around = (/** @type {Node} */ node) => {
    for (let inner = node, at = node.parent; inner !== body; inner = at, at = at.parent) {
      if (at.type !== 'TryStatement') continue
      if (inner === at.block && at.handler) blocks.add(at.handler.body)
      if (inner !== at.finalizer && at.finalizer) blocks.add(at.finalizer)
    }
  }
  forEach(pushAll(pushAll([], awaits), yields), node => { if (node.start > body.start) around(node) })
  forEach(loops, node => { if (node.await) around(node) })
  return listOf(blocks)
}

/**
 * Whether the body of a twin runs in several stays, which claim its arguments by their identities.
 *
 * @param {Emitter} emitter @param {Facts} facts
 */
const hasStays = ({ identity }, { isAsync, isGenerator }) => identity !== '' && (isAsync || isGenerator)

/** Returns the expression that claims the arguments. @param {Emitter} emitter */
const claimOfArguments = ({ our, canWait }) => canWait ? `yield ${our}id.X()` : `${our}id.P()`

/**
 * Plans the nodes that iterate a value to its end: see `isCollected`. The value may be a generator, whose
 * steps can be suspended.
 *
 * @param {Emitter} emitter @param {Node[]} nodes @param {Node} body
 */
function planCollected(emitter, nodes, body) {
  forEach(nodes, node => {
    if (node.start < body.start) return
    const { start, end } = node.argument ?? node.arguments[0]
    enclose(emitter, start, end, STATEMENT_EDGE, `${opening(emitter)}${way(emitter, 'k')}((`,
      `)${node.callee?.name === 'Map' ? ',!0' : ''})${closing(emitter)}`)
  })
}

/**
 * Plans a loop: a preemption point in each round, or rounds in chunks of one budget.
 *
 * @param {Emitter} emitter @param {Node} loop @param {Node} own @param {Facts} facts
 */
function planLoop(emitter, loop, own, facts) {
  if (optimisations.chunk && chunk(emitter, loop, own)) return
  const { start, end } = loop.body
  if (loop.await) planForAwait(emitter, loop, facts)
  else if (loop.type === 'ForOfStatement' && emitter.isOfModule &&
    !isOfEngine(loop.right)) planForOf(emitter, loop)
  const point = pointIn(emitter, loop.body, own)
  const { spell } = emitter
  if (loop.body.type === 'BlockStatement') insert(emitter, start + 1, BODY_EDGE, end, spell(` ${point}`))
  else enclose(emitter, start, end, BODY_EDGE, spell(`{ ${point} `), spell(' }'))
}

/**
 * Plans a `for await` loop. The twin yields the promise of each step. The variable with the step is null
 * while no round runs, so the iterator is closed only if the body throws or leaves the loop. The labels stay
 * in front of the loop.
 *
 * @param {Emitter} emitter @param {Node} loop @param {Facts} facts
 */
function planForAwait(emitter, loop, facts) {
  const { 0: begin, 1: stop } = claimingAfter(emitter, facts)
  const { source, our, helper, spell } = emitter
  const { start, end, left, right, body } = loop
  const open = seek(source, '(', start)
  const of = seek(source, 'of', left.end)
  const close = pastParentheses(source, right.end) - 1
  const iterator = `${our}iterator`
  const step = `${our}step`
  const error = `${our}error`
  const iterated = [spell(`${helper('i')}(`), range(emitter, pastSpace(source, of + 2), close), ')']
  enclose(emitter, labelsOf(emitter, loop).start, end, STATEMENT_EDGE,
    [spell('{ '), initialized(emitter, loop, iterator, iterated), spell(` let ${step}; try { `)],
    spell(` } catch (${error}) { if (${step}) yield ${iterator}.throw(${error}); throw ${error} } ` +
      `finally { if (${step}) yield ${iterator}.return() } }`))
  const next = `${begin}(yield ${iterator}.next())${stop}`
  replace(emitter, start, close + 1, spell(`for (; ${step} = ${next}.value; ${step} = null)`))
  // An object pattern at the beginning of a statement would be a block.
  enclose(emitter, body.start, body.end, BODY_EDGE,
    [spell(`{ ${left.type === 'VariableDeclaration' ? '' : '0, '}`),
    range(emitter, pastSpace(source, open + 1), of), spell(` = ${step}.value; `)], spell(' }'))
}

/**
 * Returns the names that a loop declares with `let` or `const`, if the iterated expression can use one of
 * them. These names are in their dead zone there.
 *
 * @param {Node} loop @returns {string[]}
 */
function namesInHead({ scope: { variables, hasEval }, right }) {
  const names = keysOf(variables)
  const isUsed = (/** @type {string} */ name) =>
    find(variables[name].references, reference => isWithin(reference, right)) !== undefined
  return hasEval || find(names, isUsed) ? names : []
}

/**
 * Declares a variable that holds the iterated value of a loop. Around the iterated expression, the names that
 * the loop declares are never initialized.
 *
 * @param {Emitter} emitter @param {Node} loop @param {string} name @param {Fragments} iterated the expression
 * @returns {Fragments}
 */
function initialized({ our, spell }, loop, name, iterated) {
  const names = namesInHead(loop)
  if (!names.length) return [spell(`const ${name} = `), iterated, ';']
  const label = `${our}head`
  const end = `; break ${label}; let ${join(names, ', ')}; }`
  return [spell(`let ${name}; ${label}: { ${name} = `), iterated, spell(end)]
}

/**
 * Plans a `for`-`of` loop. If a step of the iterated generator is suspended, the value of the loop is
 * `budget`, and the twin yields the rest of the step.
 *
 * @param {Emitter} emitter @param {Node} loop
 */
function planForOf(emitter, loop) {
  const { source, our, budget } = emitter
  const { start, end, left, right, body } = loop
  const open = seek(source, '(', start)
  const of = seek(source, 'of', left.end)
  const from = pastSpace(source, of + 2)
  const said = sayingIterable(emitter, right)
  const close = pastParentheses(source, right.end) - 1
  if (namesInHead(loop).length) {
    const list = `${our}list`
    const declared = initialized(emitter, loop, list,
      [`${way(emitter, 'c')}(`, range(emitter, from, close), `${said})`])
    enclose(emitter, labelsOf(emitter, loop).start, end, STATEMENT_EDGE, ['{', declared], '}')
    replace(emitter, open, close + 1, `(const ${our}x of ${list})`)
  } else {
    enclose(emitter, from, close, BODY_EDGE, `${way(emitter, 'c')}(`, `${said})`)
    replace(emitter, open, of, `(const ${our}x `)
  }
  enclose(emitter, body.start, body.end, BODY_EDGE / 2, [`{if(${our}x===${budget}){yield ${
    way(emitter, 'q')}();continue}${left.type === 'VariableDeclaration' ? '' : '0,'}`,
    range(emitter, pastSpace(source, open + 1), of), `=${our}x;`], '}')
}

/**
 * Returns the text of a twin in generator form.
 *
 * @param {Emitter} emitter
 * @param {{ node: Node, facts: Facts, twin: string, title: string, mark: Fragments, isHoisted: boolean,
 *   frame: Fragments | null }} plan
 * @returns {any[]}
 */
export function textOfTwin({ edits, our, steps, spell, isOfModule }, plan) {
  const { node: { params, body }, facts, twin, title, mark, isHoisted } = plan
  const { start: from, end: to, type } = body
  const list = params.length ? { edits, from: params[0].start, to: params[params.length - 1].end } : ''
  const head = !isOfModule ? '' : isTwinMember(plan) ? `*${nameAsMember(plan)}`
    : isConcise(plan) ? `*${title}` : `function*${isHoisted ? twin : ''}`
  const hidden = isOfModule && takesTarget(facts) ? `${our}G` : steps
  const begin = hidden ? `${head}(${hidden}${params.length ? ',' : ''}` : `${head}(`
  const fragments = [mark, begin, list, spell(') ')]
  const isBlock = type === 'BlockStatement'
  if (!isBlock) push(fragments, '{')
  push(fragments, { edits, from, to })
  if (!isBlock) push(fragments, spell(' }'))
  return fragments
}
