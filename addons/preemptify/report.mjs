/**
 * addons/preemptify/report.mjs: `preemptify.report`: the parts of a program that cannot be preempted, and
 * why.
 */

import { extend } from '../../rt.mjs'
import { kindOf, targetOf } from './calls.mjs'
import { implicitCalls } from './implicit.mjs'
import { isHuge, isInnermost, planModule } from './plan.mjs'
import { NO_SOURCE, append, find, matches, pick, sort, sourceOf } from './primordials.mjs'
import { kind } from './print.mjs'
import { lineAt, linesOf, read } from './read.mjs'
import { names } from './scopes.mjs'
/** @import { Plan } from './calls.mjs' */

const { callable, options: optionsOf } = extend.check

const REPORT_OPTIONS = { type: kind }

/** @param {any} fn @returns {boolean} whether its text has it return a value, or nobody can read that */
export function returnsOf(fn) {
  const source = sourceOf(fn)
  if (matches(NO_SOURCE, source)) return true
  const tree = read(source, 'function')
  names(tree)
  const { facts, body } = tree.body[0].value ?? tree.body[0] // of a method, or a function
  return body.type !== 'BlockStatement' || find(facts.returns, ({ argument }) => argument) !== undefined
}

/**
 * A part of a program that runs in one piece.
 *
 * @typedef {object} Part
 * @property {string} name the name of the function, or an empty text
 * @property {number} line the line where the part starts, from 1
 * @property {number} column the column where the part starts, from 1
 * @property {string} reason
 * @property {boolean} certain whether the text shows a run in one piece; otherwise values and callers decide
 */

/**
 * Lists the parts of a function, module or script that cannot be preempted, with the reasons. A job runs such
 * a part in one piece. Only parts with loops, or with calls that may take long, are listed. Single long calls
 * of built-in functions, for example of JSON or of a regular expression, are not listed. Objects from
 * elsewhere may have accessors, or be proxies; the list names the properties of such objects. Whether they
 * do, the text does not show: such a reason starts with 'possibly', and its `certain` is false.
 *
 * @param {Function | string} source a function, or the text of a module or script
 * @param {{ type?: 'module' | 'script' }} [options] type: of the text; default: module
 * @returns {Part[]} the parts in the order of the source
 */
export function report(source, options = {}) {
  const { type = 'module' } = optionsOf(options, REPORT_OPTIONS)
  const text = typeof source === 'string' ? source : sourceOf(callable('source', source))
  if (typeof source !== 'string' && matches(NO_SOURCE, text)) {
    const reason = 'a native, bound or proxied function'
    return [{ name: source.name, line: 1, column: 1, reason, certain: true }]
  }
  const tree = read(text, typeof source === 'string' ? type : 'function')
  names(tree)
  const starts = linesOf(text)
  /** @type {Part[]} */
  const list = []
  const plans = planModule(tree)
  const others = implicitCalls(tree, plans)
  pick(plans, plan => {
    const { node } = plan
    const { start } = node.parent?.value === node ? node.parent : node
    const own = reasonOf(plan)
    const line = lineAt(starts, start)
    pick(own ? [{ reason: own, certain: true }] : others.get(plan) ?? [], ({ reason, certain }) => {
      append(list, { name: titleOf(node), line: line + 1, column: start - starts[line] + 1, reason, certain })
    })
  })
  return sort(list, (/** @type {any} */ a, /** @type {any} */ b) => a.line - b.line || a.column - b.column)
}
/**
 * @param {Plan} plan
 * @returns {string} why it runs in one piece, or part of it; empty: it does not, or it cannot run long
 */
function reasonOf({ node, facts, reason }) {
  const { type, params, body } = node
  const isPart = type === 'PropertyDefinition' || type === 'StaticBlock'
  if (reason === 'code that is run once' && !isPart) return ''
  const isLong = (/** @type {any} */ call) => {
    if (kindOf(call) === '') return false
    const target = targetOf(call)
    return target === null || target.isLong || target.reason !== ''
  }
  const calls = pick(facts.calls, isLong)
  if (reason === '') {
    return params && find(calls, ({ start }) => start < body.start) ? 'calls in its parameters'
      : facts.isConstructor && isHuge(node) && find(calls, call => isInnermost(call, facts.loops)) ? 'calls in the innermost loops of a huge constructor' : ''
  }
  return calls.length + facts.loops.length === 0 ? ''
    : type === 'PropertyDefinition' ? 'the value of a field'
    : type === 'StaticBlock' ? 'a static block'
    : reason
}

/** @param {any} node a function @returns {string} */
function titleOf({ type, id, key, parent }) {
  const own = id ?? key ?? parent?.key ?? parent?.id ?? parent?.left
  return type === 'StaticBlock' ? '' : own?.name ?? own?.value ?? ''
}
