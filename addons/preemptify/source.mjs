/**
 * addons/preemptify/source.mjs: `preemptify.source`.
 */

import { extend } from '../../rt.mjs'
import { exclusiveOption } from './claimed.mjs'
import { readTree, wrapped } from './commonjs.mjs'
import { treeAt } from './graph.mjs'
import { rewrittenText } from './print.mjs'
import { shielded } from './primordials.mjs'
/** @import { Getter } from './graph.mjs' */

const { among, callable, options: optionsOf, text, wrongType } = extend.check

export const kind = /* @__PURE__ */ among('module', 'script')
const SOURCE_OPTIONS = {
  type: among('module', 'script', 'commonjs'), runtime: text, url: text, package: text,
  exclusive: exclusiveOption, get: callable
}

/**
 * Rewrites a module or a script, so that its functions have preemptible twins.
 *
 * @param {string} text
 * @param {{ type?: 'module' | 'script' | 'commonjs', runtime?: string, url?: string, package?: string,
 *   exclusive?: boolean | string[], get?: Getter }} [options]
 *   - `type`: default 'module'. With 'commonjs', the text is a CommonJS file, and so is the result.
 *   - `runtime`: the URL by which a module imports the run-time support. Default:
 *     './addons/preemptify/runtime.mjs'.
 *   - `url`: the URL of the text. With it the result has a source map.
 *   - `package`: the directory of the package, or an empty text for the code of an application. Default:
 *     derived from `url`.
 *   - `exclusive`: with true, each stay claims the whole package. With false, nothing is claimed. A list of
 *     packages is true for these. Default: functions claim the state that they use.
 *   - `get`: returns an imported module or a required CommonJS file, so that all texts are analysed
 *     together.
 * @returns {string} the same module or script. A page that is served the result needs no eval
 * @throws {TypeError} if a parameter has the wrong type; the error names the parameter
 * @throws {SyntaxError} if the text cannot be parsed, or has a construct that rewriting would change
 *
 * @example
 * const runtime = '/addons/preemptify/runtime.mjs'
 * const text = preemptify.source('export function count(n) { while (n > 0) n-- }', { runtime })
 * console.log(text.includes('budget'), text.includes(runtime)) // → true, true
 */
export function sourceOfModule(text, options = {}) {
  return shielded(rewriteSource, [text, options])
}

/** @param {string} text @param {any} options the options of `sourceOfModule` */
function rewriteSource(text, options) {
  const { type = 'module', runtime = './addons/preemptify/runtime.mjs', url, ...claims } =
    optionsOf(options, SOURCE_OPTIONS)
  if (typeof text !== 'string') throw wrongType('text', 'a string', text)
  const { get, ...rest } = claims
  const code = type === 'commonjs' ? wrapped(text) : text
  const tree = get !== undefined && url !== undefined && type !== 'script' ? treeAt(code, url, get, type)
    : readTree(code, type)
  return rewrittenText(code, tree, runtime, url, '', '', rest)
}
