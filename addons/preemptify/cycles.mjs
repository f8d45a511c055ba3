/**
 * addons/preemptify/cycles.mjs: modules that import each other, in pages.
 *
 * A blob has no URL before its text is complete, so two blobs cannot import each other. Each module of a
 * cycle becomes two blobs: the module, and a facade that other modules import.
 */

import { blobOf, blobs, door, moduleHost, nameBlob, nameIn, neededBy } from './blobs.mjs'
import { calledIn } from './calls.mjs'
import { BODY_EDGE, REPLACES, insert, prefixFor, replace, seek } from './edits.mjs'
import {
  create, define, emptyMap, emptySet, filter, forEach, freeze, holds, join, listOf, matches, push, sort,
  split, stringify, withPropertiesOf
} from './primordials.mjs'
import { resolveExport } from './graph.mjs'
import { variableOf } from './scopes.mjs'
/** @import { Export, Loaded, Need, Target } from './blobs.mjs' */

// A blob can only import blobs that exist already, so the blobs of a cycle do not import each other. Each
// module has a cell instead, an object with a getter for each export, from which the others read. When a blob
// starts, its function declarations are already initialized. It fills its cell, and then awaits its turn. The
// facade of a module imports all blobs of the cycle, and exports each name from the module that declares it.

/**
 * Returns the names in the namespace of a module, in order, and their targets.
 *
 * @param {Loaded} module @returns {[string, Target][]}
 */
function exportsOf(module) {
  const names = emptySet()
  const sources = emptySet()
  sources.add(module)
  // `forEach` also visits the sources that the callback adds.
  sources.forEach((/** @type {Loaded} */ source) => {
    forEach(listOf(source.exports), name => (source === module || name !== 'default') && names.add(name))
    forEach(source.stars, need => sources.add(neededBy(need)))
  })
  /** @type {[string, Target][]} */
  const all = []
  forEach(sort(listOf(names)), name => {
    const target = resolveExport(module, name)
    if (target) push(all, [name, target])
  })
  return all
}

/**
 * Returns the target of an imported name.
 *
 * @param {Export} entry @param {Loaded} user the importing module @returns {Target}
 * @throws {SyntaxError} if the name is not exported or is ambiguous
 */
function demanded({ need, name }, user) {
  const module = neededBy(/** @type {Need} */ (need))
  const target = resolveExport(module, name)
  if (!target) throw new SyntaxError(`${module.url} does not export '${name}', which ${user.url} imports`)
  return target
}

/**
 * Makes the blobs of a cycle.
 *
 * @param {Loaded[]} component the modules of the cycle, in the order of evaluation
 * @param {string[]} made receives the URLs of all new blobs
 * @returns {string[]} the blobs of the modules, without the facades
 */
export function linkCycle(component, made) {
  const places = emptyMap()
  let texts = ''
  forEach(component, module => {
    places.set(module, places.size)
    texts += module.text
  })
  // Missing names throw here, before the first blob is made.
  forEach(component, module => {
    const demand = (/** @type {Export} */ entry) => entry.need && demanded(entry, module)
    module.exports.forEach(demand)
    module.imports.forEach(demand)
  })
  const our = `${prefixFor(texts)}cycle`
  const hub = nameBlob(`import { support } from ${stringify(door())}; ` +
    `export const ${our} = support.runtime.cycle(${component.length})`, component[0].url, made)
  const begin = `import { ${our} } from ${stringify(hub)}; `
  /** @type {string[]} */
  const members = []
  let all = begin
  forEach(component, module => {
    const blob = blobOf(module, made, `${begin}${cyclic(module, places, our)}`,
      `\n;${our}.done(${places.get(module)})`)
    push(members, blob)
    all += `import ${stringify(blob)}; `
  })
  forEach(component, user => {
    let text = all
    forEach(exportsOf(user), ({ 0: exportedName, 1: { module, name } }) => {
      const as = quotedName(exportedName)
      const origin = name === '' ? module.blob : members[places.get(module)] ?? module.blob
      const from = `from ${stringify(origin)}; `
      if (name !== '') text += `export { ${quotedName(name)} as ${as} } ${from}`
      else if (module.blob) text += `export * as ${as} ${from}`
      else {
        const cell = `${our}${text.length}`
        text += `const ${cell} = ${our}.cells[${places.get(module)}]; export { ${cell} as ${as} }; `
      }
    })
    user.blob = nameBlob(text, user.url, made)
  })
  return members
}
/** @param {string} name @returns {string} the name as the text of an import, an export, or a property key */
const quotedName = name => matches(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u, name) ? name : stringify(name)

/**
 * Removes the imports from the cycle, and the exports of other modules' names, from the text of a module.
 *
 * @param {Loaded} module the module, which gets edits
 * @param {Map<Loaded, number>} places the index of each module of the cycle
 * @param {string} our the variable with the shared state of the cycle
 * @returns {string} the prologue of the module
 */
function cyclic(module, places, our) {
  const { tree: { facts, body }, text, needs, imports, exports } = module
  let getters = ''
  let prologue = ''
  /** The variables with the namespaces of modules outside the cycle. */
  const holders = emptyMap()

  const access = (/** @type {Target} */ { module, name }) => {
    const place = places.get(module)
    if (place === undefined && !holders.has(module)) {
      holders.set(module, `${our}${holders.size + 1}`)
      prologue += `import * as ${holders.get(module)} from ${stringify(module.blob)}; `
    }
    const holder = place === undefined ? holders.get(module) : `${our}.cells[${place}]`
    return name === '' ? holder : `${holder}[${stringify(name)}]`
  }

  forEach(exportsOf(module), ({ 0: name, 1: target }) => {
    const local = target.module === module && exports.get(target.name)?.local
    const value = !local ? access(target) : local === 'default' ? `${our}0` : local
    getters += `get ${quotedName(name)}() { return ${value} }, `
  })
  forEach(needs, need => {
    const { type, start, end } = need.node
    const needed = neededBy(need)
    if (places.has(needed)) replace(facts, start, end, ';')
    else if (type !== 'ImportDeclaration') replace(facts, start, end, `import ${stringify(needed.blob)};`)
  })
  imports.forEach((entry, variable) => {
    if (!places.has(neededBy(/** @type {Need} */ (entry.need)))) return
    const value = access(demanded(entry, module))
    variable.isDynamic = true
    forEach(variable.references, ({ start, end, parent, scope: { facts }, name }) => {
      if (parent.type === 'ExportSpecifier') return
      // A called name must not become a call of a method of the cell.
      const isFunction = parent.type !== 'NewExpression' && calledIn(parent)?.start === start
      replace(facts, start, end, parent.shorthand ? `${name}: ${value}`
        : isFunction ? `${our}.bare(${value})` : value)
    })
  })
  forEach(body, ({ type, source, specifiers, declaration, start, end }) => {
    if (type === 'ExportNamedDeclaration' && !declaration && !source) {
      const stay = filter(specifiers, ({ local }) => !imports.has(local.variable))
      let list = ''
      forEach(stay, ({ local, exported }) => { list += `${local.name} as ${quotedName(nameIn(exported))}, ` })
      replace(facts, start, end, `export { ${list}};`)
    } else if (type === 'ExportDefaultDeclaration') {
      if (matches(/Declaration$/, declaration.type) && declaration.id) return
      if (declaration.type === 'FunctionDeclaration') { // initialized before its line runs
        declaration.id = { name: `${our}0`, variable: variableOf(`${our}0`, 'function', module.tree.scope) }
        insert(declaration.facts, seek(text, '(', declaration.start), REPLACES, start, ` ${our}0`)
        prologue += `${our}.named(${our}0); `
        return
      }
      if (declaration.type === 'ClassDeclaration') declaration.type = 'ClassExpression'
      const stop = text[end - 1] === ';' ? end - 1 : end
      replace(facts, start, seek(text, 'default', start + 'export'.length) + 'default'.length,
        `const ${our}0 = { default:`)
      insert(facts, stop, -BODY_EDGE, start, ` }.default; export { ${our}0 as default };`, end)
    }
  })
  return `${prologue}await ${our}.turn(${places.get(module)}, { ${getters}}); `
}

/** Makes the shared state of a cycle at run time: the cells and the turns. @param {number} size */
export function cycle(size) {
  /** @type {any[]} */
  const cells = []
  /** @type {((value?: any) => void)[]} */
  const turns = []
  let ready = 0
  for (let i = 0; i < size; i++) push(cells, create(null, { [Symbol.toStringTag]: { value: 'Module' } }))
  return {
    cells: freeze(cells),
    bare: (/** @type {any} */ fn) => fn,
    named: (/** @type {any} */ fn) => define(fn, 'name', 'default'),
    turn: (/** @type {number} */ i, /** @type {any} */ getters) => new Promise(resolve => {
      freeze(withPropertiesOf(getters, cells[i]))
      turns[i] = resolve
      if (++ready === size) turns[0]()
    }),
    done: (/** @type {number} */ i) => turns[i + 1]?.()
  }
}

/**
 * Returns a clearer error for a failed import. The messages of engines have the URLs of blobs, and do not say
 * that the Content-Security-Policy forbids blobs.
 *
 * @param {any} error
 */
export async function explained(error) {
  const { name, bring, forget } = moduleHost()
  const probe = name('')
  try {
    await bring(probe)
  } catch (cause) {
    return new EvalError(
      'preemptify.import: the Content-Security-Policy of this page has no blob: in its script-src; ' +
      'the service worker of examples/service-worker does without, it rewrites scripts as they are fetched',
      { cause })
  } finally {
    forget(probe)
  }
  if (typeof error?.message !== 'string' || !holds(error.message, 'blob:')) return error
  blobs.forEach((url, blob) => { error.message = join(split(error.message, blob), url) })
  return error
}
