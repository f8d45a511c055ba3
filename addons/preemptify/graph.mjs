/**
 * addons/preemptify/graph.mjs: modules that are analysed together.
 *
 * A function claims less if the analysis knows the functions that it calls. So the analysis reads a module
 * and all modules that it imports, before the first of them is printed.
 */

import { neededBy, nameIn } from './blobs.mjs'
import { packageOf } from './claimed.mjs'
import { addTexts, findClaims, newPackage } from './effects.mjs'
import { newProgram } from './effects-names.mjs'
import { claimWhole, isTooLarge, limits } from './effects-whole.mjs'
import { planModule } from './plan.mjs'
import { readTree, requiresIn, wrapped } from './commonjs.mjs'
import { emptyMap, emptySet, filter, find, forEach, keysOf, listOf, matches, push } from './primordials.mjs'
/** @import { PackageState } from './effects.mjs' */
/** @import { Loaded, Target } from './blobs.mjs' */

/**
 * Finds the effects of modules that are known together.
 *
 * @param {Loaded[]} modules modules with trees, which have not been analysed
 */
export function analyse(modules) {
  const { units, unitOf } = unitsOf(modules)
  forEach(modules, module => { module.tree.plans = /** @type {any} */ (unitOf.get(module)).plans })
  /** The units of each package. @type {Map<string, any[]>} */
  const groups = emptyMap()
  forEach(units, unit => {
    const directory = packageOf(unit.name)
    if (!groups.has(directory)) groups.set(directory, [])
    push(groups.get(directory), unit)
  })
  // Other packages cannot see into a package that is not analysed.
  const others = filter(modules, module => isTooLarge(groups.get(packageOf(module.base)) ?? []))
  forEach(others, module => unitOf.delete(module))
  const program = newProgram(others.length > 0)
  /** @type {{ units: any[], state: PackageState }[]} */
  const packages = []
  groups.forEach((units, directory) => {
    push(packages, { units, state: newPackage(directory === '', program, directory) })
  })
  addTexts(packages)
  /** @type {PackageState[]} */
  const states = []
  forEach(packages, ({ state }) => push(states, state))
  findClaims(states)
}

/**
 * The texts of a package as the analysis sees them.
 *
 * @param {Loaded[]} modules
 */
function unitsOf(modules) {
  /** @type {Map<Loaded, any>} */
  const unitOf = emptyMap()
  /** @type {any[]} */
  const units = []
  forEach(modules, module => {
    const { tree, text, base, imports } = module
    const importOf = (/** @type {any} */ variable) => {
      const entry = imports.get(variable)
      const from = entry?.need && neededBy(entry.need)
      return from ? exportIn(from, entry.name, unitOf) : null
    }
    const exportOf = (/** @type {string} */ name) => exportIn(module, name, unitOf)
    const exportNames = () => namesOf(module)
    const required = (/** @type {string} */ specifier) => {
      const need = imports.get(specifier)?.need
      return need && unitOf.get(neededBy(need)) || null
    }
    const plans = tree.plans ?? planModule(tree)
    const unit = { tree, plans, name: base, text, importOf, exportOf, exportNames, required }
    unitOf.set(module, unit)
    push(units, unit)
  })
  return { units, unitOf }
}

/**
 * Finds the text and the variable that an export leads to. The default export can be an imported name.
 *
 * @param {Loaded} from @param {string} name empty: the namespace of the module
 * @param {Map<Loaded, any>} unitOf
 * @returns {import('./effects-names.mjs').ModuleExport | null} null: the text is not known
 */
function exportIn(from, name, unitOf) {
  const seen = emptySet()
  for (let at = from, key = name; ;) {
    const target = resolveExport(at, key)
    const unit = target && unitOf.get(target.module)
    if (!unit || seen.has(unit)) return null
    if (target.name === '') return { unit, variable: null, isNamespace: true }
    const local = target.module.exports.get(target.name)?.local ?? ''
    const { body, scope: { variables } } = target.module.tree
    const variable = local === 'default' ? defaultOf(body) : variables[local] ?? null
    if (variable?.kind !== 'import') return { unit, variable, isNamespace: false }
    const entry = target.module.imports.get(variable)
    if (!entry?.need) return null
    seen.add(unit)
    at = neededBy(entry.need)
    key = entry.name
  }
}

/**
 * Lists the names of the exports of a module. A star of an unknown module ends the list.
 *
 * @param {Loaded} module @returns {{ names: string[], isComplete: boolean }}
 */
function namesOf(module) {
  const list = [module]
  const names = emptySet()
  for (let i = 0; i < list.length; i++) {
    const { exports, stars } = list[i]
    forEach(listOf(exports), name => { if (i === 0 || name !== 'default') names.add(name) })
    for (let k = 0; k < stars.length; k++) {
      const from = neededBy(stars[k])
      if (!from) return { names: listOf(names), isComplete: false }
      if (!find(list, other => other === from)) push(list, from)
    }
  }
  return { names: listOf(names), isComplete: true }
}

/**
 * Lists the imports and exports of a module as ECMA-262 does: the export of an imported name is an indirect
 * export.
 *
 * @param {Loaded} module
 */
export function readExports({ url, tree: { body, scope: { variables } }, needs, imports, exports, stars }) {
  forEach(needs, need => {
    const { type, specifiers, exported } = need.node
    if (type === 'ExportAllDeclaration' && exported) exports.set(nameIn(exported), { need, name: '' })
    else if (type === 'ExportAllDeclaration') push(stars, need)
    else forEach(specifiers, ({ type, local, imported, exported }) => {
      const isTwice = local.variable?.declarations.length > 1
      if (isTwice) throw new SyntaxError(`${url}: '${local.name}' is declared twice`)
      if (exported) exports.set(nameIn(exported), { need, name: nameIn(local) })
      else {
        const name = imported ? nameIn(imported) : type === 'ImportDefaultSpecifier' ? 'default' : ''
        imports.set(local.variable, { need, name })
      }
    })
  })
  /** The first name of each variable. */
  const named = emptyMap()
  const give = (/** @type {string} */ name, /** @type {string} */ local) => {
    if (!named.has(local)) named.set(local, name)
    exports.set(name, { name: named.get(local), local })
  }
  forEach(body, ({ type, source, specifiers, declaration, start, end }) => {
    if (type === 'ExportDefaultDeclaration') {
      give('default', matches(/Declaration$/, declaration.type) && declaration.id?.name || 'default')
    } else if (type === 'ExportNamedDeclaration' && declaration) {
      forEach(keysOf(variables), name => {
        if (find(variables[name].declarations, id => id.start > start && id.end <= end)) give(name, name)
      })
    } else if (type === 'ExportNamedDeclaration' && !source) {
      forEach(specifiers, ({ local, exported }) => {
        const imported = imports.get(local.variable)
        if (imported) exports.set(nameIn(exported), imported)
        else give(nameIn(exported), local.name)
      })
    }
  })
}

/**
 * ECMA-262's ResolveExport: all places where a name leads to by indirect exports and stars, each visited
 * once, which have to be one. A module that has not been read has no places.
 *
 * @param {Loaded} module @param {string} name @returns {Target | undefined}
 */
export function resolveExport(module, name) {
  const list = [{ module, name }]
  const seen = emptySet()
  /** @type {Target[]} */
  const targets = []
  for (let i = 0; i < list.length; i++) {
    const { module, name } = list[i]
    if (module === undefined) continue
    const key = `${module.url}${module.attributes} ${name}`
    if (seen.has(key)) continue
    seen.add(key)
    const found = module.exports.get(name)
    if (name === '' || (found?.local && found.name === name)) push(targets, list[i])
    else if (found) push(list, { module: found.need ? neededBy(found.need) : module, name: found.name })
    else if (name !== 'default') forEach(module.stars, need => push(list, { module: neededBy(need), name }))
  }
  return targets.length === 1 ? targets[0] : undefined
}

/**
 * The variable that a module exports as its default; null: the value of an expression.
 *
 * @param {any[]} body
 */
function defaultOf(body) {
  const { declaration } = find(body, ({ type }) => type === 'ExportDefaultDeclaration') ?? {}
  const variable = declaration?.type === 'Identifier' ? declaration.variable : declaration?.id?.variable
  return variable && !(declaration.type === 'Identifier' && variable.isAssigned) ? variable : null
}

// Texts that are read ahead, for the hooks of Node

/** @typedef {'module' | 'commonjs'} Kind */
/**
 * Returns a module that another one imports, or a file that a CommonJS file requires; undefined: it stays
 * unknown. Modules import only modules, and CommonJS files require only CommonJS files.
 *
 * @typedef {(specifier: string, base: string) =>
 *   { url: string, text: string, type?: Kind } | undefined} Getter
 */

/** The texts that have been read, by their URLs. @type {Map<string, Loaded>} */
export const readAhead = /* @__PURE__ */ emptyMap()
/** The directories of the packages that are too large for an analysis. */
const large = /* @__PURE__ */ emptySet()

/**
 * Analyses a text together with the texts that it imports or requires.
 *
 * @param {string} text the text; for a CommonJS file, the script, see `wrapped` @param {string} url
 * @param {Getter} get returns another text
 * @param {Kind} [type]
 * @returns {any} the tree of the text, analysed
 */
export function treeAt(text, url, get, type = 'module') {
  const known = readAhead.get(url)
  const tree = known === undefined ? null : known.tree ?? known.pending?.deref() ?? null
  if (known !== undefined && tree !== null && known.text === text) {
    known.tree = known.pending = null // the printer changes it
    return tree
  }
  // Other texts were analysed with this text, or with an earlier version.
  const isLate = known !== undefined && (tree !== null || type === 'commonjs')
  const isLarge = large.has(packageOf(url))
  if (isLate || isLarge) return wholeTree(text, type, isLate && known.text !== text)
  readGraph(text, url, get, type)
  const module = /** @type {Loaded} */ (readAhead.get(url))
  const read = module.tree ?? module.pending?.deref()
  module.tree = module.pending = null
  return read
}

/**
 * Reads a text whose functions claim the whole package.
 *
 * @param {string} text @param {Kind} type
 * @param {boolean} isRule whether all functions claim; otherwise, functions that may use state
 */
function wholeTree(text, type, isRule) {
  const tree = readTree(text, type)
  tree.plans = planModule(tree)
  tree.isTooLarge = true
  claimWhole(tree.plans, text, isRule)
  return tree
}

/**
 * Reads a text and the texts that it needs, and analyses them together. A package with too many functions is
 * not read to its end. If all packages together have too many functions, CommonJS files of further packages
 * stay unknown until Node requires them.
 *
 * @param {string} text @param {string} url @param {Getter} get @param {Kind} type
 */
function readGraph(text, url, get, type) {
  /** @type {Loaded[]} */
  const added = []
  /** The number of functions of each package. @type {Map<string, number>} */
  const sizes = emptyMap()
  let total = 0
  const isFull = (/** @type {string} */ from, /** @type {string} */ to) => {
    const directory = packageOf(to)
    return (sizes.get(directory) ?? 0) > limits.functions ||
      type === 'commonjs' && total > limits.functions && packageOf(from) !== directory
  }
  const add = (/** @type {string} */ url, /** @type {string} */ text, /** @type {Kind} */ type) => {
    const tree = readTree(text, type)
    /** @type {Loaded} */
    const module = {
      url, attributes: '', base: url, text, tree, needs: [], imports: emptyMap(), exports: emptyMap(),
      stars: [], loaded: /** @type {any} */ (null), blob: ''
    }
    tree.plans = planModule(tree)
    const directory = packageOf(url)
    const size = (sizes.get(directory) ?? 0) + tree.plans.length
    sizes.set(directory, size)
    if (size > limits.functions) large.add(directory)
    total += tree.plans.length
    if (type === 'commonjs') addRequires(module)
    else forEach(tree.body, (/** @type {any} */ node) => {
      const specifier = node.source?.value
      if (specifier === undefined) return
      const attributes = node.attributes?.length ? ' ' : ''
      push(module.needs, { node, url: specifier, attributes, table: readAhead })
    })
    readAhead.set(url, module)
    push(added, module)
  }
  add(url, text, type)
  for (let i = 0; i < added.length; i++) {
    forEach(added[i].needs, need => {
      if (need.attributes) return
      try {
        const found = get(need.url, added[i].url)
        if (found === undefined || (found.type ?? 'module') !== type) return
        need.url = found.url
        if (readAhead.has(found.url) || need.isLate || isFull(added[i].url, found.url)) return
        add(found.url, type === 'commonjs' ? wrapped(found.text) : found.text, type)
      } catch {} // the text stays unknown
    })
  }
  // A file that replaces loaded files can give another file any object.
  const isReplacing = type === 'commonjs' && find(added, ({ text }) => matches(REPLACES_FILES, text))
  if (isReplacing) forEach(added, ({ imports }) => imports.clear())
  try {
    analyse(type === 'commonjs' ? added : filter(added, isReadable))
  } catch (error) {
    forEach(added, module => { readAhead.delete(module.url) }) // the trees have no claims
    throw error
  }
  if (type === 'commonjs') forEach(added, module => {
    // Node requires these files in the present task, or perhaps never. Until the task ends, the engine keeps
    // the targets of new weak references.
    module.pending = new WeakRef(module.tree)
    module.tree = null
  })
}

/** Names by which code reaches the loaded CommonJS files. */
const REPLACES_FILES = /\brequire\s*\.\s*cache\b|\._(?:cache|load)\b/

/** Whether the analysis can list the imports and exports. @param {Loaded} module */
function isReadable(module) {
  try {
    readExports(module)
    return true
  } catch {
    return false
  }
}

/**
 * Lists the files that a CommonJS file requires. A file that is required later than the file loads is only
 * known if another file requires it while loading: many packages have parts that a program never loads.
 *
 * @param {Loaded} module
 */
function addRequires({ tree, needs, imports }) {
  forEach(requiresIn(tree, tree.plans), ({ specifier, isOnce }) => {
    const known = imports.get(specifier)?.need
    if (known === undefined) {
      /** @type {import('./blobs.mjs').Need} */
      const need = { node: null, url: specifier, attributes: '', table: readAhead, isLate: !isOnce }
      push(needs, need)
      imports.set(specifier, { need, name: '' })
    } else if (isOnce) known.isLate = false
  })
}
