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
import { isTooLarge } from './effects-whole.mjs'
import { planModule } from './plan.mjs'
import { emptyMap, emptySet, filter, find, forEach, keysOf, listOf, matches, push } from './primordials.mjs'
import { read } from './read.mjs'
import { analyseScopes } from './scopes.mjs'
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
    const unit = { tree, plans: planModule(tree), name: base, text, importOf, exportOf, exportNames }
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

// Modules that are read ahead, for the hooks of Node

/**
 * Returns a module that another one imports; undefined: it stays unknown.
 *
 * @typedef {(specifier: string, base: string) => { url: string, text: string } | undefined} Getter
 */

/** The modules that have been read, by their URLs. @type {Map<string, Loaded>} */
export const readAhead = /* @__PURE__ */ emptyMap()

/**
 * Analyses a module together with the modules of its package that it imports.
 *
 * @param {string} text @param {string} url
 * @param {Getter} get returns another module
 * @returns {any} the tree of the module, analysed
 */
export function treeAt(text, url, get) {
  const known = readAhead.get(url)
  if (known === undefined || known.text !== text || known.tree === null) readGraph(text, url, get)
  const module = /** @type {Loaded} */ (readAhead.get(url))
  const { tree } = module
  module.tree = null // the printer changes it
  return tree
}

/** @param {string} text @param {string} url @param {Getter} get */
function readGraph(text, url, get) {
  /** @type {Loaded[]} */
  const added = []
  const add = (/** @type {string} */ url, /** @type {string} */ text) => {
    const tree = read(text, 'module')
    analyseScopes(tree)
    /** @type {Loaded} */
    const module = {
      url, attributes: '', base: url, text, tree, needs: [], imports: emptyMap(), exports: emptyMap(),
      stars: [], loaded: /** @type {any} */ (null), blob: ''
    }
    forEach(tree.body, (/** @type {any} */ node) => {
      const specifier = node.source?.value
      if (specifier === undefined) return
      const attributes = node.attributes?.length ? ' ' : ''
      push(module.needs, { node, url: specifier, attributes, table: readAhead })
    })
    readAhead.set(url, module)
    push(added, module)
  }
  add(url, text)
  for (let i = 0; i < added.length; i++) {
    forEach(added[i].needs, need => {
      if (need.attributes) return
      try {
        const found = get(need.url, added[i].url)
        if (found === undefined) return
        need.url = found.url
        if (!readAhead.has(found.url)) add(found.url, found.text)
      } catch {} // the import stays unknown
    })
  }
  const readable = filter(added, module => {
    try {
      readExports(module)
      return true
    } catch {
      return false
    }
  })
  analyse(readable)
}
