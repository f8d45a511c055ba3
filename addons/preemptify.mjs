/**
 * addons/preemptify.mjs: preemption points in functions and programs that were not written for rt.mjs.
 *
 *   preemptify(fn)          one function as a generator function
 *   preemptify.source(text) a module or a script, rewritten as text
 *   preemptify.import(url)  a module and all that it imports, rewritten
 *   preemptify.report(text) the parts that cannot be preempted, and why; what functions claim
 *
 * The compiler consists of phases, with one file each in preemptify/:
 *
 *   source --read--> tree --scopes--> names and facts --plan--> twins --print--> edits --edits--> text
 *                                                              (generators, frames, loops, calls)
 *
 * Plain code relies on run-to-completion. So each function claims the contested state that it uses:
 * effects.mjs finds this state, claimed.mjs writes the claims into the text, and claims.mjs grants them.
 *
 * Rewritten text imports runtime.mjs, the run-time support, and no other file of the compiler. load.mjs
 * imports rewritten modules; in a page, it compiles in a worker. function.mjs rewrites one function, and
 * report.mjs describes a rewritten text. The head of each other file states its part.
 *
 * @module preemptify
 */

import { extend } from '../rt.mjs'
import { exclusiveRule } from './preemptify/claimed.mjs'
import { preemptify as preemptifyFunction } from './preemptify/function.mjs'
import { compiler } from './preemptify/made.mjs'
import { forgetAhead } from './preemptify/graph.mjs'
import { importModule, isModule } from './preemptify/load.mjs'
import { isOwnModule, version } from './preemptify/own.mjs'
import { assign, shielded } from './preemptify/primordials.mjs'
import { sourceOfModule } from './preemptify/source.mjs'
import { report, returnsOf } from './preemptify/report.mjs'
import { budget, support, twinOf } from './preemptify/runtime.mjs'

/**
 * Adds the other functions to `preemptify`, and tells rt.mjs how to find out whether a function returns a
 * value.
 *
 * @returns {typeof preemptifyFunction & { readonly source: typeof sourceOfModule, readonly import: typeof
 *   importModule, readonly report: typeof report
 * }}
 */
function linked() {
  compiler.rewrite = text => sourceOfModule(text, { type: 'script' })
  const answers = (/** @type {any} */ fn) => returnsOf(fn) && returnsOf(twinOf(fn)?.generator ?? fn)
  extend.code.link({ answers: fn => shielded(answers, [fn]) })
  const reporting = (/** @type {any} */ source, /** @type {any} */ options) =>
    shielded(report, [source, options])
  const others = { source: sourceOfModule, import: importModule, report: reporting }
  return /** @type {any} */ (assign(preemptifyFunction, others))
}
const preemptify = /* @__PURE__ */ linked()

export { isModule, isOwnModule, preemptify }
/**
 * The run-time support, for rewritten text whose option `runtime` names this module.
 *
 * @internal
 */
export { budget, support }
/**
 * The version and the rule of an address, for the service worker and the hook of Node. The hook calls
 * `forgetAhead` when a CommonJS file has run.
 *
 * @internal
 */
export { exclusiveRule, forgetAhead, version }
