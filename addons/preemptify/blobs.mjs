/**
 * addons/preemptify/blobs.mjs: loads modules by the platform, and makes blobs of rewritten modules in pages.
 */

import { sequence } from '../internal/sequences.mjs'
import { prefixFor, replace } from './edits.mjs'
import { emptyMap, forEach, push, shielded, stringify } from './primordials.mjs'
import { rewrittenText } from './print.mjs'
import { read } from './read.mjs'
import { analyseScopes } from './scopes.mjs'

/**
 * Returns the functions of the platform that load modules. A page fetches modules, and gives rewritten
 * modules the URLs of blobs. Node has hooks for modules.
 */
export function moduleHost() {
  const { fetch, Blob, URL, document, location, process } = /** @type {any} */ (globalThis)
  /** The built-in module with the hooks of Node; undefined in pages. @type {any} */
  const node = process?.getBuiltinModule?.('node:module')
  return {
    node,
    /**
     * The default base of relative URLs. In Node, tests can define `document`, which does not count.
     *
     * @type {string}
     */
    base: !node && (document?.baseURI ?? location?.href) || `file://${process?.cwd()}/`,
    /** @param {string} address @param {string} [base] @returns {string} */
    absolute: (address, base) => new URL(address, base).href,
    /** @param {string} url */
    async get(url) {
      const response = await fetch(url, { credentials: 'same-origin' })
      const { ok, status, headers } = response
      return {
        ok, status, type: headers.get('content-type') ?? '', url: response.url || url,
        text: await response.text()
      }
    },
    /** Imports a module. @param {string} address @returns {Promise<any>} the namespace of the module */
    bring: address => import(/* webpackIgnore: true */ address),
    /** Makes a blob of a module. @param {string} text @returns {string} the URL of the blob */
    name: text => URL.createObjectURL(new Blob(sequence([text]), { type: 'text/javascript' })),
    /** Revokes the URL of a blob. @param {string} address */
    forget: address => URL.revokeObjectURL(address)
  }
}

/** @param {string} message @param {unknown} [cause] */
export const importError = (message, cause) => new TypeError(`preemptify.import: ${message}`, { cause })

/**
 * Rewrites a module for another URL. Its `import.meta` keeps the values for the original URL. In a blob, a
 * function replaces `import()`, because the engine cannot resolve specifiers relative to a blob.
 *
 * @param {string} text @param {any} tree @param {string} url @param {boolean} isBlob
 * @param {string} [prologue] @param {string} [epilogue]
 */
export function rewriteModule(text, tree, url, isBlob, prologue = '', epilogue = '') {
  const runtime = `${prefixFor(text)}import`
  let meta = ''
  forEach(tree.imports, ({ node: { type, start }, facts }) => {
    if (type === 'MetaProperty') meta = `${runtime}.runtime.meta(import.meta, ${stringify(url)}); `
    else if (isBlob) replace(facts, start, start + 6, `${runtime}.runtime.importer(${stringify(url)})`)
  })
  const home = isBlob ? door() : runtimeURL()
  const begin = `import { support as ${runtime} } from ${stringify(home)}; ${meta}`
  return rewrittenText(text, tree, home, url, begin + prologue, epilogue)
}

/** @param {string} text @param {string} url */
export function readModule(text, url) {
  try {
    return shielded(parsed, [text])
  } catch (error) {
    throw new SyntaxError(`${url}: ${/** @type {any} */ (error).message}`, { cause: error })
  }
}

/** @param {string} text @returns {any} the tree of the text, with resolved names */
function parsed(text) {
  const tree = read(text, 'module')
  analyseScopes(tree)
  return tree
}

// pages

/**
 * @typedef {object} Loaded
 * @property {string} url
 * @property {string} attributes the text of the import attributes; empty for JavaScript
 * @property {string} base the URL after redirections
 * @property {string} text
 * @property {any} tree
 * @property {WeakRef<any> | null} [pending] the tree of a CommonJS file that Node has not required
 * @property {Need[]} needs the imported modules, in the order of the source
 * @property {Map<any, Export>} imports the imported names, by variable; of a CommonJS file, the required
 *   texts by specifier
 * @property {Map<string, Export>} exports the exported names, except the names of `export *`
 * @property {Need[]} stars the modules of `export *`
 * @property {Promise<void>} loaded
 * @property {string} blob the URL by which other blobs import the module; empty before linking
 */

/**
 * A declaration that imports a module, with the URL and the attributes of this module. `table` has the
 * module; default: `modules`. A CommonJS file requires a text without a declaration, and may require it only
 * after the file has been loaded (`isLate`).
 *
 * @typedef {{ node: any, url: string, attributes: string, table?: Map<string, Loaded>, isLate?: boolean }}
 *   Need
 */
/**
 * An exported or imported name. `name` is a name of the module `need`; empty for its namespace. Without
 * `need`, `local` is a variable of the module itself.
 *
 * @typedef {{ need?: Need, name: string, local?: string }} Export
 */
/**
 * The result of resolving an exported name: the module that declares it, and the name in this module; empty
 * for the namespace of the module.
 *
 * @typedef {{ module: Loaded, name: string }} Target
 */

/** The modules by URL and attributes. @type {Map<string, Loaded>} */
export const modules = /* @__PURE__ */ emptyMap()
/** The URL of the module of each blob. @type {Map<string, string>} */
export const blobs = /* @__PURE__ */ emptyMap()

/**
 * Returns the URL of a blob from which other blobs import `budget` and the run-time support. They cannot
 * import rt.mjs and runtime.mjs instead, because these modules have no URL in a bundle.
 */
export const door = () => doorway ||= moduleHost().name(
  'export let budget, support; export const give = (b, s) => { budget = b; support = s }')
let doorway = ''

/** @param {Need} need @returns {Loaded} the imported module */
export const neededBy = ({ url, attributes, table = modules }) =>
  /** @type {Loaded} */ (table.get(url + attributes))

/**
 * Makes the blob of a module. The imported modules must have blobs.
 *
 * @param {Loaded} module @param {string[]} made receives the URL of the blob
 * @param {string} [prologue] the text before the module @param {string} [epilogue] the text after the module
 */
export function blobOf(module, made, prologue, epilogue) {
  const { text, tree, base, url, needs } = module
  forEach(needs, need => {
    const { source: { start, end }, end: stop } = need.node
    const blob = stringify(neededBy(need).blob)
    if (need.attributes) replace(tree.facts, start, stop, `${blob};`)
    else replace(tree.facts, start, end, blob)
  })
  const blob = nameBlob(rewriteModule(text, tree, base, true, prologue, epilogue), url, made)
  module.tree = null
  module.text = ''
  module.imports.clear()
  return blob
}

/**
 * Makes a blob, and remembers the URL of its module.
 *
 * @param {string} text @param {string} url the URL of the module @param {string[]} made receives the blob's
 *   URL
 */
export function nameBlob(text, url, made) {
  const blob = moduleHost().name(text)
  blobs.set(blob, url)
  push(made, blob)
  return blob
}

/** Returns an exported or imported name. @param {any} id an identifier or a string @returns {string} */
export const nameIn = id => id.name ?? id.value

/** The URL of the run-time support, for the rewritten modules of Node. */
const runtimeURL = () => new URL('./runtime.mjs', import.meta.url).href
