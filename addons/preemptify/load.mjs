/**
 * addons/preemptify/load.mjs: `preemptify.import`.
 *
 * A module is rewritten once for each URL, together with all modules that it imports. A page fetches them and
 * turns them into blobs that import each other, so that linking, live bindings and the order of evaluation
 * stay those of the engine. In Node, module hooks rewrite the modules whose URL ends with a mark, and mark
 * the modules that these import.
 */

import { budget, extend } from '../../rt.mjs'
import {
  blobOf, blobs, door, importError, moduleHost, modules, nameIn, neededBy, readModule, rewriteModule
} from './blobs.mjs'
import { exclusiveOption, override } from './claimed.mjs'
import { cycle, explained, linkCycle } from './cycles.mjs'
import { analyse, readExports } from './graph.mjs'
import { some } from './edits.mjs'
import {
  allOf, assign, emptyMap, emptySet, exec, filter, find, forEach, holds, indexOf, keysOf, listOf, matches,
  min, promiseResolve, push, shielded, slice, splice, startsWith, stringify
} from './primordials.mjs'
import { read } from './read.mjs'
import { isOwnModule } from './own.mjs'
import { connect } from './remote.mjs'
import { runtime, support } from './runtime.mjs'
/** @import { Loaded } from './blobs.mjs' */

const { options: optionsOf, wrongType } = extend.check

/**
 * Imports a module with preemptible functions. The module and all modules that it imports, also by
 * `import()`, are rewritten as by `preemptify.source`.
 *
 * Other imports of the same URL get the unmodified module, which is a separate instance. If modules of a page
 * import each other, all other modules that they import are evaluated before the first of them. A worker
 * compiles the modules for a page if the Content-Security-Policy allows it (`worker-src blob:`), so that the
 * page does not freeze.
 *
 * @template [M=any] the type of the namespace: `preemptify.import<typeof import('marked')>('marked')`
 * @param {string | URL} url a URL, relative to `base`, or a bare specifier, which the import map of the page
 *   or Node resolves
 * @param {{ base?: string | URL, exclusive?: boolean | string[] }} [options]
 *   - `base`: the URL of the importing module: pass `import.meta.url`. Default: the URL of the page, or the
 *     current directory.
 *   - `exclusive`: replaces the inferred claims in modules that are loaded later. With true, each stay claims
 *     the whole package of the module. With false, nothing is claimed. A list of packages: true for these
 *     packages.
 * @returns {Promise<M>} the namespace of the module, the same object for each call
 * @throws {EvalError} (rejects) if the Content-Security-Policy of the page has no `blob:` in its script-src
 *
 * @example
 * const url = 'data:text/javascript,export const double = n => n * 2' // or './search.js'
 * const { double } = await preemptify.import(url)
 * console.log(await rt.spawn(double, { deadline: 1000 }, 21)) // → 42
 */
export async function importModule(url, options = {}) {
  const host = moduleHost()
  const { base = host.base, exclusive } = optionsOf(options, { base: address, exclusive: exclusiveOption })
  address('url', url)
  const from = resolved(`${base}`, host.base)
  if (!host.node) return importAt(resolved(`${url}`, from), '', exclusive)
  hook(host)
  const rule = exclusive === undefined ? '' : `!${encodeURIComponent(stringify(exclusive))}!`
  return host.bring(`${url}${MARK}${rule}${from}`)
}

/** @param {string} name @param {any} value */
function address(name, value) {
  if (typeof value !== 'string' && typeof value?.href !== 'string') {
    throw wrongType(name, 'a string or a URL', value)
  }
}

/**
 * Resolves a specifier, by the import map in a page.
 *
 * @param {string} specifier @param {string} base
 * @returns {string} a URL; in Node, a bare specifier is returned unchanged
 */
export function resolved(specifier, base) {
  const { absolute, node } = moduleHost()
  try {
    const isBare = !matches(/^(?:\.{0,2}\/|[a-z][a-z\d+.-]*:)/i, specifier)
    const address = isBare ? specifier : absolute(specifier, base)
    return node ? address : import.meta.resolve?.(address) ?? absolute(address)
  } catch (error) {
    const { message } = /** @type {any} */ (error)
    throw importError(`'${specifier}' in ${base} leads to no module: ${message}`, error)
  }
}

/**
 * Whether a text can only be a module.
 *
 * @param {string} text
 * @returns {boolean}
 *
 * @example
 * console.log(isModule('export const a = 1'), isModule('var a = 1')) // → true, false
 */
export function isModule(text) {
  return some(read(text, 'module'), ({ type, meta }) =>
    meta?.name === 'import' || matches(/^(?:Ex|Im)port\w+Declaration$/, type))
}

/** Gives an `import.meta` the values for the original URL. @param {any} meta @param {string} url */
function keepMeta(meta, url) {
  const { resolve } = meta
  meta.url = url
  meta.resolve = moduleHost().node ? (/** @type {string} */ specifier) => unmarked(resolve(specifier))
    : (/** @type {unknown} */ specifier) => resolved(`${specifier}`, url)
}

/** Makes the function that replaces `import()` in a blob. @param {string} base */
function importer(base) {
  return async (/** @type {any} */ specifier, /** @type {any} */ options) => {
    const type = options?.with?.type
    const url = resolved(`${specifier}`, base)
    return importAt(url, type === undefined ? '' : ` with { type: ${stringify(`${type}`)} }`)
  }
}

// Node

/**
 * The mark at the end of the URLs of rewritten modules in Node. In a specifier, the option `exclusive` and
 * the base URL follow the mark.
 */
const MARK = '#preemptify:'

/** @param {string} url */
const unmarked = url => holds(url, MARK) ? slice(url, 0, indexOf(url, MARK)) : url

let isHooked = false

/** @param {any} host */
function hook({ node }) {
  if (isHooked) return
  if (!matches(/\/addons\/preemptify\/load\.mjs(?:\?|$)/, `${import.meta.url}`)) {
    throw importError('in Node, bundles have to leave rt.mjs outside (external)')
  }
  const text = `export { resolveMarked as resolve, loadMarked as load } from ${stringify(import.meta.url)}`
  node.register(`data:text/javascript,${encodeURIComponent(text)}`)
  isHooked = true
}

/**
 * The hook `resolve`, which runs on Node's thread for hooks: marks the modules that a marked module imports.
 *
 * @param {string} specifier @param {any} context @param {(...args: any[]) => any} next
 */
export async function resolveMarked(specifier, context, next) {
  const { parentURL = '' } = context
  if (!holds(specifier, MARK) && !holds(parentURL, MARK)) return next(specifier, context)
  const mark = holds(specifier, MARK) ? slice(specifier, indexOf(specifier, MARK) + MARK.length)
    : unmarked(parentURL)
  const { 1: rule, 2: base } = exec(/^(?:!(.*?)!)?(.*)$/, mark)
  const found = await next(unmarked(specifier), { ...context, parentURL: base })
  if (rule) override(JSON.parse(decodeURIComponent(rule)), found.url)
  return startsWith(found.url, 'node:') || isOwnModule(found.url) ? found
    : { ...found, url: found.url + MARK }
}

/**
 * The hook `load`: rewrites marked modules. Files in other formats, for example CommonJS, stay unmodified.
 *
 * @param {string} url @param {any} context @param {(...args: any[]) => any} next
 */
export async function loadMarked(url, context, next) {
  const plain = unmarked(url)
  const loaded = await next(plain, context)
  if (plain === url || loaded.format !== 'module') return loaded
  const text = new TextDecoder().decode(loaded.source)
  return { ...loaded, responseURL: url, source: rewriteModule(text, readModule(text, plain), plain, false) }
}

// Pages

/**
 * The blobs of a module and of all modules that it imports.
 *
 * @typedef {object} Compiled
 * @property {string} blob the address of the module's blob
 * @property {string[]} made all blobs that were made now
 * @property {string[]} origins the URL of the module of each of these blobs
 * @property {string[][]} order the blobs to evaluate before `blob`; the blobs of a cycle at the same time
 * @property {string} door the address by which the blobs import the run-time support
 */
/**
 * A thread that compiles modules: this thread, or a worker.
 *
 * @typedef {object} Compiler
 * @property {(url: string, attributes?: string, exclusive?: boolean | string[]) => Promise<Compiled>} compile
 * @property {(blobs: string[]) => void} forget
 */
/**
 * The services of the page for the compiler.
 *
 * @typedef {object} Services
 * @property {(url: string) => Promise<any>} get fetches the text of a module
 * @property {(specifiers: string[], base: string) => Promise<string[]>} resolve returns the URLs by the
 *   import map of the page
 * @property {(url: string) => Promise<string[]>} namesOf returns the exports of an unmodified module
 */

/** @type {Services} */
const pageServices = {
  get: url => moduleHost().get(url).catch((/** @type {unknown} */ error) => {
    const remedy = 'if it is of another origin, that has to allow it (CORS)'
    throw importError(`${url} could not be fetched; ${remedy}`, error)
  }),
  async resolve(specifiers, base) {
    /** @type {string[]} */
    const addresses = []
    forEach(specifiers, specifier => push(addresses, resolved(specifier, base)))
    return addresses
  },
  namesOf: async url => keysOf(await moduleHost().bring(url))
}
let services = pageServices

/** Replaces the services of this thread with those of the page. @param {Services} others */
export function serveBy(others) {
  services = others
}

/**
 * Loads a module and all that it imports, and makes blobs of them.
 *
 * @param {string} url @param {string} [attributes] @param {boolean | string[]} [exclusive]
 * @returns {Promise<Compiled>}
 */
export async function compileModule(url, attributes, exclusive) {
  if (exclusive !== undefined) override(exclusive, url)
  const module = moduleAt(url, attributes)
  const graph = await loadGraph(module)
  shielded(analyse, [filter(graph, ({ blob, tree }) => !blob && tree !== null && tree.plans === undefined)])
  const { made, order } = linkGraph(module)
  /** @type {string[]} */
  const origins = []
  forEach(made, blob => push(origins, blobs.get(blob) ?? ''))
  return { blob: module.blob, made, origins, order, door: door() }
}

/** @type {Compiler} */
const thisThread = { compile: compileModule, forget: blobs => { forEach(blobs, moduleHost().forget) } }

/** @type {Promise<Compiler> | undefined} */
let compiler

/**
 * Starts a worker that compiles, so that the page can draw and answer in the meantime. Where there is no
 * worker, or the Content-Security-Policy does not allow one, this thread compiles.
 *
 * @returns {Promise<Compiler>}
 */
const startCompiler = () => new Promise(resolve => {
  const { Worker, URL } = /** @type {any} */ (globalThis)
  const { name, forget } = moduleHost()
  const here = `${import.meta.url}` // undefined in a bundle that is a script
  if (!Worker || !matches(/\/addons\/preemptify\/load\.mjs(?:\?|$)/, here)) return resolve(thisThread)
  // A worker from a blob has the policies of the page, and can import this file from another origin.
  const blob = name(`import ${stringify(new URL('worker.mjs', here).href)}`)
  const end = (/** @type {Compiler} */ compiler) => {
    forget(blob)
    resolve(compiler)
  }
  try {
    const worker = new Worker(blob, { type: 'module' })
    const call = connect(worker, {
      ...pageServices,
      start: () => end({
        compile: (url, attributes, exclusive) => call('compile', url, attributes, exclusive),
        forget: blobs => { call('forget', blobs) }
      })
    })
    worker.onerror = (/** @type {any} */ event) => {
      event.preventDefault()
      end(thisThread)
    }
  } catch {
    end(thisThread)
  }
})

/** The promises of opened doors, by the URL of the door. @type {Map<string, Promise<void>>} */
const doors = emptyMap()

/** Opens a door: gives blobs the run-time support. @param {string} door */
function opened(door) {
  const known = doors.get(door)
  if (known) return known
  const opening = (async () => (await moduleHost().bring(door)).give(budget, support))()
  doors.set(door, opening)
  return opening
}

/**
 * Imports a module in a page.
 *
 * @param {string} url @param {string} [attributes] @param {boolean | string[]} [exclusive]
 * @returns {Promise<any>}
 */
async function importAt(url, attributes, exclusive) {
  const { bring } = moduleHost()
  const { compile, forget } = await (compiler ??= startCompiler())
  const { blob, made, origins, order, door } = await compile(url, attributes, exclusive)
  for (let i = 0; i < made.length; i++) blobs.set(made[i], origins[i])
  try {
    await opened(door)
    // The modules of a cycle await their turns, and in the meantime the engine would evaluate later modules.
    // Therefore the blobs are imported in order. Each blob of a cycle has its own `import()`: if one module
    // imports all of them, JavaScriptCore starts none after the first one that waits.
    for (let i = 0; i < order.length; i++) {
      /** @type {Promise<unknown>[]} */
      const begun = []
      forEach(order[i], blob => push(begun, bring(blob)))
      await allOf(begun)
    }
    const namespace = await bring(blob)
    // The engine keeps evaluated modules by URL. After an error the URLs stay valid, because the engine
    // fetches a module again that could not be linked.
    forget(made)
    return namespace
  } catch (error) {
    throw await explained(error)
  }
}

/**
 * Returns a module, and starts to load it. A later call tries again if the module could not be loaded, as
 * most engines do.
 *
 * @param {string} url @param {string} [attributes] @returns {Loaded}
 */
function moduleAt(url, attributes = '') {
  const key = url + attributes
  const known = modules.get(key)
  if (known) return known
  /** @type {Loaded} */
  const module = {
    url, attributes, base: url, text: '', tree: null, needs: [], imports: emptyMap(), exports: emptyMap(),
    stars: [], loaded: promiseResolve(), blob: ''
  }
  modules.set(key, module)
  module.loaded = attributes ? loadOther(module) : isOwnModule(url) ? loadOwn(module) : load(module)
  module.loaded.catch(() => modules.delete(key))
  return module
}

/** Loads a module of rt.mjs, which stays unmodified. @param {Loaded} module */
async function loadOwn(module) {
  forEach(await services.namesOf(module.url), name => module.exports.set(name, { name, local: name }))
  module.blob = module.url
}

/**
 * Makes a module that exports the value of another type of module, for example of JSON.
 *
 * @param {Loaded} module
 */
async function loadOther(module) {
  module.text = `export { default } from ${stringify(module.url)}${module.attributes}`
  module.tree = readModule(module.text, module.url)
  module.exports.set('default', { name: 'default', local: 'default' })
}

/** @param {Loaded} module */
async function load(module) {
  const { url } = module
  const { ok, status, type, url: base, text } = await services.get(url)
  if (!ok) throw importError(`${url} could not be fetched: status ${status}`)
  if (!matches(/^\s*\w+\/(?:x-)?(?:java|ecma)script\b/i, type)) {
    throw importError(`${url} is no JavaScript but ${type || 'of no type'}`)
  }
  module.base = base
  module.text = text
  module.tree = readModule(text, url)
  const imports = filter(module.tree.body, ({ source }) => source)
  /** @type {string[]} */
  const specifiers = []
  forEach(imports, ({ source }) => push(specifiers, source.value))
  const addresses = await services.resolve(specifiers, base)
  for (let i = 0; i < imports.length; i++) {
    const node = imports[i]
    const isTyped = find(node.attributes ?? [], ({ key }) => nameIn(key) === 'type')
    const attributes = isTyped ? slice(text, node.source.end, node.end) : ''
    moduleAt(addresses[i], attributes)
    push(module.needs, { node, url: addresses[i], attributes })
  }
  readExports(module)
}

/** Loads a module and all that it imports. @param {Loaded} entry @returns {Promise<Loaded[]>} */
async function loadGraph(entry) {
  const list = [entry]
  const seen = emptySet()
  for (let i = 0; i < list.length; i++) {
    if (seen.has(list[i])) continue
    seen.add(list[i])
    await list[i].loaded
    forEach(list[i].needs, ({ url, attributes }) => push(list, moduleAt(url, attributes)))
  }
  return listOf(seen)
}

/**
 * Makes blobs of a module and of all modules that it imports, in the order of evaluation. The modules of a
 * cycle are a strongly connected component of the graph (Tarjan 1972).
 *
 * @param {Loaded} entry
 * @returns {{ made: string[], order: string[][] }} the new blobs, and groups of blobs to import one after
 *   the other. The blobs of a cycle are one group. `order` is empty if no modules import each other
 */
function linkGraph(entry) {
  /** @type {string[]} */
  const made = []
  /** @type {string[][]} */
  const order = []
  /** @type {Loaded[]} */
  const ended = []
  /** The index of each module in the order of the first visits. @type {Map<Loaded, number>} */
  const indexes = emptyMap()
  let hasCycle = false
  const leave = (/** @type {Loaded[]} */ component) => {
    if (component.length > 1 || find(component[0].needs, need => neededBy(need) === component[0])) {
      hasCycle = true
      push(order, linkCycle(component, made))
    } else component[0].blob = blobOf(component[0], made)
    forEach(component, ({ blob }) => push(order, [blob]))
  }
  /** @param {Loaded} module @returns {number} the smallest index of an unfinished module that it reaches */
  const visit = module => {
    const { needs } = module
    const index = indexes.size
    const first = ended.length
    let earliest = index
    indexes.set(module, index)
    for (let i = 0; i < needs.length; i++) {
      const needed = neededBy(needs[i])
      if (!needed.blob) earliest = min(earliest, indexes.get(needed) ?? visit(needed))
    }
    push(ended, module)
    if (earliest === index) leave(splice(ended, first))
    return earliest
  }
  if (!entry.blob) visit(entry)
  return { made, order: hasCycle ? order : [] }
}

// Rewritten modules call these functions.
assign(runtime, { meta: keepMeta, importer, cycle })
