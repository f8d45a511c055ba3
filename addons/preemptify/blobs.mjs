/**
 * addons/preemptify/blobs.mjs: the platform's modules, and the blobs that rewritten modules become in pages.
 */

import { sequence } from '../internal/sequences.mjs'
import { prefixFor, replace } from './edits.mjs'
import { append, emptyMap, pick, shielded, stringify } from './primordials.mjs'
import { rewrittenText } from './print.mjs'
import { read } from './read.mjs'
import { names } from './scopes.mjs'

// A module is rewritten once, by its address, with all that it imports. Pages fetch them, and give them to
// the engine as blobs that import each other: linking, live bindings and the order of evaluation are the
// engine's own. In Node hooks rewrite modules whose addresses have a mark, and mark what these import.

/**
 * The host of modules, where this section touches globals: a page fetches them, and names what they are made
 * into by blobs. Node has hooks for that.
 */
export function moduleHost() {
  const { fetch, Blob, URL, document, location, process } = /** @type {any} */ (globalThis)
  /** Node's module for its hooks, where this is Node. @type {any} */
  const node = process?.getBuiltinModule?.('node:module')
  return {
    node,
    /** What addresses are relative to; tests in Node may have put a page's in its place. @type {string} */
    base: !node && (document?.baseURI ?? location?.href) || `file://${process?.cwd()}/`,
    /** @param {string} address @param {string} [base] @returns {string} */
    absolute: (address, base) => new URL(address, base).href,
    /** @param {string} url */
    async get(url) {
      const response = await fetch(url, { credentials: 'same-origin' })
      const { ok, status, headers } = response
      return { ok, status, type: headers.get('content-type') ?? '', url: response.url || url, text: await response.text() }
    },
    /** @param {string} address @returns {Promise<any>} the module that is there */
    bring: address => import(/* webpackIgnore: true */ address),
    /** @param {string} text of a module @returns {string} its address */
    name: text => URL.createObjectURL(new Blob(sequence([text]), { type: 'text/javascript' })),
    /** @param {string} address that is not asked for again */
    forget: address => URL.revokeObjectURL(address)
  }
}

/** @param {string} message @param {unknown} [cause] */
export const importError = (message, cause) => new TypeError(`preemptify.import: ${message}`, { cause })

/**
 * The text of a module for another address: its `import.meta` stays what it was, and so does `import()`,
 * where the engine could not follow it.
 *
 * @param {string} text @param {any} tree @param {string} url @param {boolean} isBlob
 * @param {string} [prologue] @param {string} [epilogue]
 */
export function rewriteModule(text, tree, url, isBlob, prologue = '', epilogue = '') {
  const runtime = `${prefixFor(text)}import`
  let meta = ''
  pick(tree.imports, ({ node: { type, start }, facts }) => {
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
  names(tree)
  return tree
}

// pages

/**
 * @typedef {object} Loaded
 * @property {string} url
 * @property {string} attributes as they are written after the address; empty: it is JavaScript
 * @property {string} base its address after redirections
 * @property {string} text
 * @property {any} tree
 * @property {Need[]} needs what it imports, in the order of the source
 * @property {Map<any, Export>} imports by their variables
 * @property {Map<string, Export>} exports but for those by stars
 * @property {Need[]} stars
 * @property {Promise<void>} loaded
 * @property {string} blob the address of what was made of it
 */

/**
 * The declaration, and what that imports. `table`: where the module is known; default: `modules`.
 *
 * @typedef {{ node: any, url: string, attributes: string, table?: Map<string, Loaded> }} Need
 */
/**
 * A name of what is needed, none for its namespace; or a variable of the module itself.
 *
 * @typedef {{ need?: Need, name: string, local?: string }} Export
 */
/**
 * Where an exported name leads to: a name that a module has itself, or none for its namespace.
 *
 * @typedef {{ module: Loaded, name: string }} Target
 */

/** By their addresses and attributes. @type {Map<string, Loaded>} */
export const modules = /* @__PURE__ */ emptyMap()
/** Modules by the blobs that were made of them. @type {Map<string, string>} */
export const blobs = /* @__PURE__ */ emptyMap()

/**
 * The address of a blob by which other blobs import what they need of this module, since bundles do not
 * export it, nor under these names.
 */
export const door = () => doorway ||= moduleHost().name('export let budget, support; export const give = (b, s) => { budget = b; support = s }')
let doorway = ''

/** @param {Need} need @returns {Loaded} what is imported */
export const neededBy = ({ url, attributes, table = modules }) =>
  /** @type {Loaded} */ (table.get(url + attributes))

/** @param {Loaded} module @param {string[]} made @param {string} [prologue] @param {string} [epilogue] */
export function blobOf(module, made, prologue, epilogue) {
  const { text, tree, base, url, needs } = module
  pick(needs, need => {
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

/** @param {string} text @param {string} url of the module that it is part of @param {string[]} made */
export function nameBlob(text, url, made) {
  const blob = moduleHost().name(text)
  blobs.set(blob, url)
  append(made, blob)
  return blob
}

/** An exported or imported name. @param {any} id an identifier or a string @returns {string} */
export const nameIn = id => id.name ?? id.value

/** The URL of the run-time support, for the rewritten modules of Node. */
const runtimeURL = () => new URL('./runtime.mjs', import.meta.url).href
