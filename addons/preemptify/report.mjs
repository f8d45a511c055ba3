/**
 * addons/preemptify/report.mjs: `preemptify.report`: the parts of a program that cannot be preempted, and
 * why, and the locations that functions claim.
 */

import { extend } from '../../rt.mjs'
import { kindOf, targetOf } from './calls.mjs'
import { packageOf } from './claimed.mjs'
import { findEffects, newPackage } from './effects.mjs'
import { limits } from './effects-whole.mjs'
import { treeAt } from './graph.mjs'
import { implicitCalls } from './implicit.mjs'
import { isHuge, isInnermost, planModule } from './plan.mjs'
import { NO_SOURCE, filter, find, forEach, join, matches, push, sort, sourceOf } from './primordials.mjs'
import { kind } from './source.mjs'
import { lineAt, linesOf, read } from './read.mjs'
import { analyseScopes } from './scopes.mjs'
/** @import { Plan } from './calls.mjs' */
/** @import { Getter } from './graph.mjs' */

const { callable, options: optionsOf, text: string } = extend.check

const REPORT_OPTIONS = { type: kind, url: string, get: callable }

/**
 * Whether a function can return a value; `true` if it has no readable source.
 *
 * @param {any} fn
 * @returns {boolean}
 */
export function returnsOf(fn) {
  const source = sourceOf(fn)
  if (matches(NO_SOURCE, source)) return true
  const tree = read(source, 'function')
  analyseScopes(tree)
  const { facts, body } = tree.body[0].value ?? tree.body[0] // a method, or a function
  return body.type !== 'BlockStatement' || find(facts.returns, ({ argument }) => argument) !== undefined
}

/**
 * A location that a function claims when it starts. Another job that claims the location waits until the stay
 * of the first job ends.
 *
 * @typedef {object} ReportedClaim
 * @property {string} location the variable or object
 * @property {string} file the URL of the text that declares it
 * @property {number} line the line where it is declared, from 1; 0: in another text
 * @property {boolean} exclusive whether the function may change it; otherwise functions that only read it do
 *   not wait
 */
/**
 * A part of a program that runs in one piece, or a function with claims.
 *
 * @typedef {object} Part
 * @property {string} name the name of the function, or an empty text
 * @property {number} line the line where the part starts, from 1
 * @property {number} column the column where the part starts, from 1
 * @property {string} reason
 * @property {boolean} certain whether the text shows a run in one piece; otherwise values and callers decide
 * @property {ReportedClaim[]} [claims] the claims of the function; the `reason` names their locations
 */

/**
 * Lists the parts of a function, module or script that cannot be preempted, with the reasons. A job runs such
 * a part in one piece. Only parts with loops, or with calls that may take long, are listed. Single long calls
 * of built-in functions, for example of JSON or of a regular expression, are not listed. Objects from other
 * code may have accessors or be proxies, which the text does not show. The list names the uses of such
 * objects: the reason starts with 'possibly', and `certain` is false.
 *
 * The list also has the functions that claim contested state. Two jobs with conflicting claims do not
 * interleave. A text is analysed alone; with the modules that it imports, functions often claim less.
 *
 * @param {Function | string} source a function, or the text of a module or script
 * @param {{ type?: 'module' | 'script', url?: string, get?: Getter }} [options] `type`: the kind of the text,
 *   default 'module'. `url`: see `preemptify.source`. `get`: see `preemptify.source`
 * @returns {Part[]} the parts in the order of the source
 *
 * @example
 * const text = 'class List { get length() { let n = 0; for (const _ of this) n++; return n } }'
 * for (const { line, reason } of preemptify.report(text)) console.log(line, reason) // → 1, an accessor
 */
export function report(source, options = {}) {
  const { type = 'module', url = '', get } = optionsOf(options, REPORT_OPTIONS)
  const text = typeof source === 'string' ? source : sourceOf(callable('source', source))
  if (typeof source !== 'string' && matches(NO_SOURCE, text)) {
    const reason = 'a native, bound or proxied function'
    return [{ name: source.name, line: 1, column: 1, reason, certain: true }]
  }
  const isText = typeof source === 'string'
  const tree = isText && get && url ? treeAt(text, url, get) : read(text, isText ? type : 'function')
  if (tree.plans === undefined) {
    analyseScopes(tree)
    tree.plans = planModule(tree)
    const state = newPackage(packageOf(url) === '')
    findEffects([{ tree, plans: tree.plans, text, name: url }], { package: state })
  }
  const { plans } = tree
  const starts = linesOf(text)
  /** @type {Part[]} */
  const list = []
  const others = implicitCalls(tree, plans)
  if (tree.isTooLarge) {
    const reason = `possibly waits for other jobs: the package has more than ${limits.functions} functions,` +
      ' so its functions claim the whole package. Remedy: split the package, or set the option exclusive'
    push(list, { name: '', line: 1, column: 1, reason, certain: false })
  }
  forEach(plans, plan => {
    const { node } = plan
    const { start } = node.parent?.value === node ? node.parent : node
    const own = reasonOf(plan)
    const line = lineAt(starts, start)
    forEach(own ? [{ reason: own, certain: true }] : others.get(plan) ?? [], ({ reason, certain }) => {
      push(list, { name: titleOf(node), line: line + 1, column: start - starts[line] + 1, reason, certain })
    })
    const claims = claimsIn(plan, starts, url)
    if (claims.length === 0) return
    /** @type {string[]} */
    const named = []
    forEach(claims, ({ location, line, exclusive }) => {
      push(named, `${location}${line ? ` (line ${line})` : ''}${exclusive ? '' : ', shared'}`)
    })
    const reason = `claims ${join(named, '; ')}`
    push(list, {
      name: titleOf(node), line: line + 1, column: start - starts[line] + 1, reason, certain: true, claims
    })
  })
  return sort(list, (/** @type {any} */ a, /** @type {any} */ b) => a.line - b.line || a.column - b.column)
}
/**
 * The claims of a function, one for each location.
 *
 * @param {Plan} plan @param {number[]} starts the places where lines start @param {string} url the URL of the
 *   text
 * @returns {ReportedClaim[]}
 */
function claimsIn({ claims, parent }, starts, url) {
  /** @type {ReportedClaim[]} */
  const list = []
  if (parent !== null) forEach(claims, ({ location: { name, node, unit }, isExclusive }) => {
    const isHere = node && (unit === url || unit === '')
    const line = isHere ? lineAt(starts, node.start) + 1 : 0
    push(list, { location: name, file: unit || url, line, exclusive: isExclusive })
  })
  return list
}

/**
 * @param {Plan} plan
 * @returns {string} the reason why the function, or a part of the function, runs in one piece; or an empty
 *   text
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
  const calls = filter(facts.calls, isLong)
  if (reason === '') {
    return params && find(calls, ({ start }) => start < body.start) ? 'calls in its parameters'
      : facts.isConstructor && isHuge(node) && find(calls, call => isInnermost(call, facts.loops))
        ? 'calls in the innermost loops of a huge constructor' : ''
  }
  return calls.length + facts.loops.length === 0 ? ''
    : type === 'PropertyDefinition' ? 'the value of a field'
    : type === 'StaticBlock' ? 'a static block'
    : reason
}

/** Returns the name of a function, or an empty text. @param {any} node @returns {string} */
function titleOf({ type, id, key, parent }) {
  const { left } = parent ?? {}
  const assigned = left?.type !== 'MemberExpression' ? left
    : !left.computed || left.property.type === 'Literal' ? left.property : null
  const own = id ?? key ?? parent?.key ?? parent?.id ?? assigned
  return type === 'StaticBlock' ? '' : own?.name ?? own?.value ?? ''
}
