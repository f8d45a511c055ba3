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
  adopt, allOf, append, assign, cut, emptyMap, emptySet, exec, find, holds, listOf, indexOf, keysOf, matches, min, pick,
  shielded, splice, startsWith, stringify
} from './primordials.mjs'
import { read } from './read.mjs'
import { isOwnModule } from './own.mjs'
import { connect } from './remote.mjs'
import { runtime, support } from './runtime.mjs'
/** @import { Loaded } from './blobs.mjs' */

const { options: optionsOf, wrongType } = extend.check

/**
 * A module of others and all that it imports, statically or not, rewritten as `preemptify.source` does it.
 * Other imports of the same address get the module as it is: that is another one. In pages, what modules that
 * import each other import beside is evaluated before all of them. A worker compiles for the page where the
 * Content-Security-Policy allows it (worker-src blob:), so that the page does not freeze.
 *
 * @template [M=any] the type of the namespace: `preemptify.import<typeof import('marked')>('marked')`
 * @param {string | URL} url relative to `base`, or a bare specifier: by the page's import map, or one of
 *   Node's packages
 * @param {{ base?: string | URL, exclusive?: boolean | string[] }} [options] `base`: default: the address of the
 *   page, or the current directory; give `import.meta.url`. `exclusive` replaces the inference of what functions
 *   claim, in modules that are loaded later: true: each stay claims the whole package of the module; false:
 *   nothing is claimed; a list of packages: true for these
 * @returns {Promise<M>} the namespace, the same one at each call
 * @throws {EvalError} (rejects) when the Content-Security-Policy of the page has no `blob:` in its script-src
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
  if (typeof value !== 'string' && typeof value?.href !== 'string') throw wrongType(name, 'a string or a URL', value)
}

/** @param {string} specifier @param {string} base @returns {string} an address, by the page's import map */
export function resolved(specifier, base) {
  const { absolute, node } = moduleHost()
  try {
    const isBare = !matches(/^(?:\.{0,2}\/|[a-z][a-z\d+.-]*:)/i, specifier)
    const address = isBare ? specifier : absolute(specifier, base)
    return node ? address : import.meta.resolve?.(address) ?? absolute(address)
  } catch (error) {
    throw importError(`'${specifier}' in ${base} leads to no module: ${/** @type {any} */ (error).message}`, error)
  }
}

/** Whether a text can only be a module. @param {string} text */
export function isModule(text) {
  return some(read(text, 'module'), ({ type, meta }) => meta?.name === 'import' || matches(/^(?:Ex|Im)port\w+Declaration$/, type))
}

/** What `import.meta` says in a module that has another address now. @param {any} meta @param {string} url */
function keepMeta(meta, url) {
  const { resolve } = meta
  meta.url = url
  meta.resolve = moduleHost().node ? (/** @type {string} */ specifier) => unmarked(resolve(specifier))
    : (/** @type {unknown} */ specifier) => resolved(`${specifier}`, url)
}

/** What `import()` is in a blob. @param {string} base */
function importer(base) {
  return async (/** @type {any} */ specifier, /** @type {any} */ options) => {
    const type = options?.with?.type
    return importAt(resolved(`${specifier}`, base), type === undefined ? '' : ` with { type: ${stringify(`${type}`)} }`)
  }
}

// Node

/**
 * What the addresses of rewritten modules end with in Node; in specifiers, what they are relative to follows.
 */
const MARK = '#preemptify:'

/** @param {string} url */
const unmarked = url => holds(url, MARK) ? cut(url, 0, indexOf(url, MARK)) : url

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
 * Hooks of Node, which has a thread for them. Packages that are no modules stay as they are.
 *
 * @param {string} specifier @param {any} context @param {(...args: any[]) => any} next
 */
export async function resolveMarked(specifier, context, next) {
  const { parentURL = '' } = context
  if (!holds(specifier, MARK) && !holds(parentURL, MARK)) return next(specifier, context)
  const mark = holds(specifier, MARK) ? cut(specifier, indexOf(specifier, MARK) + MARK.length) : unmarked(parentURL)
  const { 1: rule, 2: base } = exec(/^(?:!(.*?)!)?(.*)$/, mark)
  const found = await next(unmarked(specifier), { ...context, parentURL: base })
  if (rule) override(JSON.parse(decodeURIComponent(rule)), found.url)
  return startsWith(found.url, 'node:') || isOwnModule(found.url) ? found : { ...found, url: found.url + MARK }
}

/** @param {string} url @param {any} context @param {(...args: any[]) => any} next */
export async function loadMarked(url, context, next) {
  const plain = unmarked(url)
  const loaded = await next(plain, context)
  if (plain === url || loaded.format !== 'module') return loaded
  const text = new TextDecoder().decode(loaded.source)
  return { ...loaded, responseURL: url, source: rewriteModule(text, readModule(text, plain), plain, false) }
}

// Pages

/**
 * A module and all that it imports, as blobs.
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
    pick(specifiers, specifier => append(addresses, resolved(specifier, base)))
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
  shielded(analyse, [pick(graph, ({ blob, tree }) => !blob && tree !== null && tree.plans === undefined)])
  const { made, order } = linkGraph(module)
  /** @type {string[]} */
  const origins = []
  pick(made, blob => append(origins, blobs.get(blob) ?? ''))
  return { blob: module.blob, made, origins, order, door: door() }
}

/** @type {Compiler} */
const thisThread = { compile: compileModule, forget: blobs => { pick(blobs, moduleHost().forget) } }

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
  const here = `${import.meta.url}` // undefined in bundles that are no modules
  if (!Worker || !matches(/\/addons\/preemptify\/load\.mjs(?:\?|$)/, here)) return resolve(thisThread)
  // A worker of a blob has the policies of the page, and can import this file also from another origin.
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
        compile: (...args) => call('compile', ...args),
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

/** The doors that blobs have, and the promises of their opening. @type {Map<string, Promise<void>>} */
const doors = emptyMap()

/** Gives blobs the run-time support. @param {string} door */
function opened(door) {
  const known = doors.get(door)
  if (known) return known
  const opening = (async () => (await moduleHost().bring(door)).give(budget, support))()
  doors.set(door, opening)
  return opening
}

/**
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
    // Waiting for their turns, those of a cycle would let others pass. By an import of all of them
    // JavaScriptCore begins none before the one that waits, so each is brought by itself.
    for (let i = 0; i < order.length; i++) {
      /** @type {Promise<unknown>[]} */
      const begun = []
      pick(order[i], blob => append(begun, bring(blob)))
      await allOf(begun)
    }
    const namespace = await bring(blob)
    // The engine knows them by their addresses. What failed to link would be asked for again.
    forget(made)
    return namespace
  } catch (error) {
    throw await explained(error)
  }
}

/**
 * @param {string} url @param {string} [attributes]
 * @returns {Loaded} loaded once; what failed is tried again, as most engines do
 */
function moduleAt(url, attributes = '') {
  const key = url + attributes
  const known = modules.get(key)
  if (known) return known
  /** @type {Loaded} */
  const module = {
    url, attributes, base: url, text: '', tree: null, needs: [], imports: emptyMap(), exports: emptyMap(), stars: [], loaded: adopt(), blob: ''
  }
  modules.set(key, module)
  module.loaded = attributes ? loadOther(module) : isOwnModule(url) ? loadOwn(module) : load(module)
  module.loaded.catch(() => modules.delete(key))
  return module
}

/** @param {Loaded} module */
async function loadOwn(module) {
  pick(await services.namesOf(module.url), name => module.exports.set(name, { name, local: name }))
  module.blob = module.url
}

/** What is no JavaScript stays as it is, in a module that exports it. @param {Loaded} module */
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
  if (!matches(/^\s*\w+\/(?:x-)?(?:java|ecma)script\b/i, type)) throw importError(`${url} is no JavaScript but ${type || 'of no type'}`)
  module.base = base
  module.text = text
  module.tree = readModule(text, url)
  const imports = pick(module.tree.body, ({ source }) => source)
  /** @type {string[]} */
  const specifiers = []
  pick(imports, ({ source }) => append(specifiers, source.value))
  const addresses = await services.resolve(specifiers, base)
  for (let i = 0; i < imports.length; i++) {
    const node = imports[i]
    const isTyped = find(node.attributes ?? [], ({ key }) => nameIn(key) === 'type')
    const attributes = isTyped ? cut(text, node.source.end, node.end) : ''
    moduleAt(addresses[i], attributes)
    append(module.needs, { node, url: addresses[i], attributes })
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
    pick(list[i].needs, ({ url, attributes }) => append(list, moduleAt(url, attributes)))
  }
  return listOf(seen)
}

/**
 * Makes a blob of a module and of each that it imports, in the order in which they are evaluated. Those that
 * import each other are a component of the graph (Tarjan 1972).
 *
 * @param {Loaded} entry
 * @returns {{ made: string[], order: string[][] }} all blobs; and those to evaluate before, each when the one
 *   before it has been, those of a cycle at once
 */
function linkGraph(entry) {
  /** @type {string[]} */
  const made = []
  /** @type {string[][]} */
  const order = []
  /** @type {Loaded[]} */
  const ended = []
  /** When each was come to. @type {Map<Loaded, number>} */
  const places = emptyMap()
  let hasCycle = false
  const leave = (/** @type {Loaded[]} */ component) => {
    if (component.length > 1 || find(component[0].needs, need => neededBy(need) === component[0])) {
      hasCycle = true
      append(order, linkCycle(component, made))
    } else component[0].blob = blobOf(component[0], made)
    pick(component, ({ blob }) => append(order, [blob]))
  }
  /** @param {Loaded} module @returns {number} the earliest place that it leads to */
  const visit = module => {
    const { needs } = module
    const place = places.size
    const first = ended.length
    let earliest = place
    places.set(module, place)
    for (let i = 0; i < needs.length; i++) {
      const needed = neededBy(needs[i])
      if (!needed.blob) earliest = min(earliest, places.get(needed) ?? visit(needed))
    }
    append(ended, module)
    if (earliest === place) leave(splice(ended, first))
    return earliest
  }
  if (!entry.blob) visit(entry)
  return { made, order: hasCycle ? order : [] }
}

// Rewritten modules call these by their run-time support.
assign(runtime, { meta: keepMeta, importer, cycle })
