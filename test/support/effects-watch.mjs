/**
 * An independent check of the claims of functions: it runs an instrumented program, and compares the accesses of
 * pairs of stays with the locks that the stays held.
 */
import { wrapped } from '../../addons/preemptify/commonjs.mjs'
import { findEffects } from '../../addons/preemptify/effects.mjs'
import { readAhead, treeAt } from '../../addons/preemptify/graph.mjs'
import { planModule } from '../../addons/preemptify/plan.mjs'
import { read } from '../../addons/preemptify/read.mjs'
import { analyseScopes } from '../../addons/preemptify/scopes.mjs'

/** A text that is read and planned. @param {string} name @param {string} text @param {string} type @returns {any} */
export function planned(name, text, type) {
  const tree = read(text, type)
  analyseScopes(tree)
  return { name, text, tree, plans: planModule(tree) }
}

/**
 * The effects of some modules, which may import each other.
 *
 * @param {Record<string, string>} texts by their names
 * @param {'module' | 'script'} [type]
 * @returns {{ units: any[], state: any }}
 */
export function analysed(texts, type = 'module') {
  const units = Object.entries(texts).map(([name, text]) => planned(name, text, type))
  for (const unit of units) {
    const { tree: { scope: { variables } } } = unit
    unit.importOf = variable => resolvedImport(units, variable)
    unit.exportOf = name => variables[name] ? { unit, variable: variables[name] } : null
    unit.exportNames = () => ({ names: Object.keys(variables), isComplete: true })
  }
  return { units, state: findEffects(units) }
}

function resolvedImport(units, { declarations: [{ parent }] }) {
  const unit = units.find(({ name }) => name === parent.parent.source.value)
  if (!unit) return null
  if (parent.type === 'ImportNamespaceSpecifier') return { unit, variable: null, isNamespace: true }
  return { unit, variable: unit.tree.scope.variables[parent.imported.name] }
}

/** The name of a function as claims show it. */
export function titleOf({ node: { id, parent, type } }) {
  const own = id ?? parent?.key ?? parent?.id ?? (parent?.left?.property ?? parent?.left)
  return own?.name ?? own?.value ?? type
}

/** Claims as text: `tokens!` is exclusive, `n@counter` belongs to the activation of `counter`. */
export function shown({ claims, claimsAll }) {
  const names = new Map()
  for (const { location: { name, owner }, isExclusive } of claims) {
    const title = owner ? `${name}@${titleOf(owner)}` : name
    names.set(title, names.get(title) || isExclusive)
  }
  // Unknown contents of an object that is claimed too.
  for (const title of [...names.keys()]) {
    const object = title.replace('.*', '')
    if (object !== title && names.get(object) === names.get(title)) names.delete(title)
  }
  return (claimsAll ? ['all!'] : []).concat([...names].map(([title, isExclusive]) => isExclusive ? `${title}!` : title)).sort().join(' ')
}

/** The claims of the functions of one text, by their names. */
export function claimsIn(text, type) {
  const { units: [{ plans }] } = analysed({ a: text }, type)
  return Object.fromEntries(plans.filter(({ isOnce }) => !isOnce).map(plan => [titleOf(plan), shown(plan)]))
}

let graphs = 0
/**
 * The claims of the functions of some modules, by their names. The first module imports the others; a module
 * that is missing stays unknown. If the name of the first one ends with `.cjs`, all texts are CommonJS files.
 *
 * @param {Record<string, string>} texts under their specifiers, or under their paths from the directory of the first
 */
export function claimsInGraph(texts) {
  const base = `test:/${graphs++}/`
  const get = (specifier, from) => {
    const url = new URL(specifier, from).href
    const text = texts[specifier] ?? texts[`./${url.slice(base.length)}`]
    return text === undefined ? undefined : { url, text, type }
  }
  const [first] = Object.keys(texts)
  const type = first.endsWith('.cjs') ? 'commonjs' : 'module'
  const url = new URL(first, base).href
  const trees = [treeAt(type === 'commonjs' ? wrapped(texts[first]) : texts[first], url, get, type)]
  for (const [key, { tree }] of readAhead) if (tree && key.startsWith(base)) trees.push(tree)
  return Object.fromEntries(trees.flatMap(({ plans }) => plans).filter(({ isOnce }) => !isOnce).map(plan => [titleOf(plan), shown(plan)]))
}

/**
 * The text of a function body that runs a module: its objects, variables and functions report to `$`.
 *
 * @param {any} unit @param {number} index of the unit
 */
function instrumented({ text, tree }, index) {
  const id = node => `${index}:${node.start}`
  const isTracked = variable => variable && variable.kind !== 'import' && variable.kind !== 'function' &&
    variable.kind !== 'class' && variable.kind !== 'name' && variable.kind !== 'arguments' &&
    (!variable.scope.facts.parent || variable.references.some(({ scope }) => scope.facts !== variable.scope.facts))
  /** The activation that a variable belongs to. */
  const place = ({ name, scope }) => {
    const { facts } = scope
    return `'${index}:${name}:${scope.node.start}', ${facts.parent ? `$${facts.node.start}` : 'null'}`
  }
  const chainOf = facts => {
    const chain = []
    for (let around = facts.parent; around?.parent; around = around.parent) {
      if (around.node.type !== 'PropertyDefinition') chain.push(`'${index}:${around.node.start}': $${around.node.start}`)
    }
    return `{ ${chain.join(', ')} }`
  }
  const parts = node => {
    const found = []
    for (const [key, value] of Object.entries(node)) {
      if (key === 'parent' || key === 'scope' || key === 'facts' || key === 'variable' || key === 'plan') continue
      for (const part of Array.isArray(value) ? value : [value]) {
        if (part && typeof part.type === 'string' && typeof part.start === 'number' && part.start >= node.start && part.end <= node.end) found.push(part)
      }
    }
    return found.sort((a, b) => a.start - b.start || b.end - a.end)
  }
  const plain = (node, from = node.start, to = node.end) => {
    let result = ''
    let at = from
    for (const part of parts(node)) {
      if (part.start < at || part.end > to) continue
      result += text.slice(at, part.start) + print(part)
      at = part.end
    }
    return result + text.slice(at, to)
  }
  const functionAround = node => {
    let around = node
    while (!around.facts) around = around.parent
    return around
  }
  /** A default value is evaluated before its function reports that it begins. */
  const isInHead = ({ start }, { scope: { facts: { node } } }) => node.body?.type !== undefined && start < node.body.start
  const isReference = node => node.type === 'Identifier' && node.isWritten === false
  const functionText = node => {
    const { body, facts } = node
    const isShort = body.type !== 'BlockStatement'
    const end = isShort ? text.lastIndexOf('=>', body.start) + 2 : body.start
    const head = plain({ ...node, body: null, end, type: 'Head' }, node.start, end)
    const captured = Object.values(facts.scope.variables).filter(variable => variable.kind === 'parameter' && isTracked(variable))
    const opening = `const $${node.start} = $.enter('${id(node)}', ${chainOf(facts)}); $.keep(${captured.map(({ name }) => name).join(', ')}); try {`
    if (isShort) return `${head}{ ${opening} return ${print(body)} } finally { $.exit() } }`
    const statements = plain(body, body.start + 1, body.end - 1)
    const isDerived = facts.isConstructor && !facts.isDerived
    return `${head}{ ${isDerived ? 'super();' : ''} ${opening} ${statements} } finally { $.exit() } }`
  }
  const print = node => {
    const { type } = node
    switch (type) {
      case 'ImportDeclaration': return ''
      case 'ExportNamedDeclaration': return node.declaration ? print(node.declaration) : ''
      case 'FunctionExpression': case 'ArrowFunctionExpression': case 'FunctionDeclaration': return functionText(node)
      case 'ClassDeclaration': case 'ClassExpression': {
        const text = plain(node)
        if (node.superClass) return text
        return text.replace(/^class(\s+\w+)?/, '$& extends $.Base')
      }
      case 'ObjectExpression': case 'ArrayExpression': return `$.make('${id(node)}', ${plain(node)})`
      case 'NewExpression': return node.callee.name === 'Map' ? `$.map('${id(node)}', ${plain(node)})` : plain(node)
      case 'Property':
        if (node.shorthand && node.parent.type === 'ObjectExpression') return `${node.key.name}: ${print(node.value)}`
        return plain(node)
      case 'Identifier': {
        if (!isReference(node)) return node.name
        const { variable, name } = node
        if (variable?.kind === 'import') {
          const { parent } = variable.declarations[0]
          if (parent.type === 'ImportNamespaceSpecifier') return `$.units['${parent.parent.source.value}']`
          return `$.units['${parent.parent.source.value}'].${parent.imported.name}`
        }
        return isTracked(variable) && !isInHead(node, variable) ? `$.read(${place(variable)}, ${name})` : name
      }
      case 'VariableDeclarator':
        if (node.id.type !== 'Identifier' || !node.init || !isTracked(node.id.variable)) return plain(node)
        return `${node.id.name} = $.init(${place(node.id.variable)}, ${print(node.init)})`
      case 'YieldExpression': {
        const { facts } = functionAround(node)
        return `$.resume('${index}:${facts.node.start}', ${chainOf(facts)}, $${facts.node.start}, ${plain(node)})`
      }
      case 'ExpressionStatement': return node.parent.type === 'IfStatement' ? plain(node) : `;${plain(node)}`
      case 'AssignmentExpression': {
        const { left, right, operator } = node
        if (left.type === 'Identifier' && isTracked(left.variable)) {
          const { variable, name } = left
          const value = operator === '=' ? print(right) : `${name} ${operator.slice(0, -1)} (${print(right)})`
          return `(${name} = $.write(${place(variable)}, ${value}))`
        }
        return plain(node)
      }
      case 'UpdateExpression': {
        const { argument, operator } = node
        if (argument.type !== 'Identifier' || !isTracked(argument.variable)) return plain(node)
        return `($.write(${place(argument.variable)}), ${argument.name}${operator})`
      }
      default: return plain(node)
    }
  }
  const exported = Object.values(tree.scope.variables).filter(({ kind, declarations: [id] }) => kind !== 'import' && id &&
    tree.body.some(({ type, start, end }) => type === 'ExportNamedDeclaration' && start <= id.start && id.end <= end))
  return `${plain(tree)}\nreturn { ${exported.map(({ name }) => `get ${name}() { return ${name} }`).join(', ')} }`
}

/**
 * Runs a program as stays, and looks for pairs of stays that use one object, of which one writes the object, and
 * that hold no conflicting claims.
 *
 * @param {Record<string, string>} texts by their names; later ones import earlier ones
 * @param {(units: Record<string, any>, stay: (fn: Function, self: any, args: any[]) => any) => void} drive calls
 *   functions of the program
 * @param {{ isBlind?: boolean }} [options] `isBlind`: the check ignores the claims
 * @returns {string[]} the conflicts that no claim prevents
 */
export function unguarded(texts, drive, { isBlind = false } = {}) {
  const { units, state } = analysed(texts)
  const exempt = state.locations.filter(({ isExempt, kind }) => isExempt && kind === 'variable').map(({ name }) => `:${name}:`)
  const plans = new Map(units.flatMap((unit, index) => unit.plans.map(plan => [`${index}:${plan.node.start}`, plan])))
  const classes = new Map()
  const lockOf = ({ aliases }, record) => {
    if (!classes.has(aliases)) classes.set(aliases, classes.size)
    return `${classes.get(aliases)}${record === null ? '' : `#${record}`}`
  }
  let stay = 0
  let fuel = 3000
  let time = 0
  let records = 0
  /** The locks of the running stay, with the modes. @type {Map<string, boolean>} */
  let locks = new Map()
  const stack = []
  const accesses = new Map()
  const targets = new WeakMap()
  const ids = new WeakMap()
  const published = new WeakMap()
  let objects = 0
  /** Objects that the arguments of the running stay hold: claims by identity exclude only each other. */
  let foreign = new Set()
  const note = (key, isWrite) => {
    if (stay === 0 || foreign.has(key) || exempt.some(name => key.includes(name))) return
    if (time > 30_000) throw new RangeError('too many accesses')
    time++
    if (!accesses.has(key)) accesses.set(key, new Map())
    // A stay keeps its locks, so its first read and its first write have the fewest.
    const first = `${stay} ${isWrite}`
    const list = accesses.get(key)
    if (!list.has(first)) list.set(first, { stay, isWrite, locks: new Map(locks), at: stack.at(-1) ?? 'outside' })
  }
  const noteObject = (target, isWrite) => {
    if (published.get(target) !== undefined || stay === 0) note(ids.get(target), isWrite)
  }
  /** An object becomes reachable for other stays, with all that it holds. */
  const publish = value => {
    if (value === null || typeof value !== 'object') return
    const target = targets.get(value)
    if (!target || published.has(target)) return
    published.set(target, stay)
    for (const key of Reflect.ownKeys(target)) publish(target[key])
    if (target instanceof Map) Map.prototype.forEach.call(target, item => publish(item))
  }
  const findForeign = (value, seen) => {
    const target = value !== null && typeof value === 'object' && targets.get(value)
    if (!target || seen.has(ids.get(target))) return
    seen.add(ids.get(target))
    for (const key of Reflect.ownKeys(target)) findForeign(target[key], seen)
    if (target instanceof Map) Map.prototype.forEach.call(target, item => findForeign(item, seen))
  }
  const handler = {
    get(target, key, receiver) {
      noteObject(target, false)
      return Reflect.get(target, key, receiver)
    },
    set(target, key, value) {
      noteObject(target, true)
      if (published.has(target)) publish(value)
      return Reflect.set(target, key, value)
    },
    has(target, key) {
      noteObject(target, false)
      return key in target
    },
    deleteProperty(target, key) {
      noteObject(target, true)
      return delete target[key]
    },
    ownKeys(target) {
      noteObject(target, false)
      return Reflect.ownKeys(target)
    }
  }
  const make = (site, target) => {
    const proxy = new Proxy(target, handler)
    targets.set(proxy, target)
    ids.set(target, `object ${objects++} of ${site}`)
    return proxy
  }
  class WatchedMap extends Map {
    [Symbol.iterator]() {
      noteObject(this, false)
      return super[Symbol.iterator]()
    }
    get(key) {
      noteObject(this, false)
      return super.get(key)
    }
    set(key, value) {
      noteObject(this, true)
      if (published.has(this)) publish(value)
      return super.set(key, value)
    }
  }
  /** The receiver and the arguments of the call that begins a stay. @type {any[] | null} */
  let pending = null
  const claimArguments = ({ changes }) => {
    const values = /** @type {any[]} */ (pending)
    pending = null
    values.forEach((value, i) => {
      const target = targets.get(value)
      if (!target) return
      const key = `identity ${ids.get(target)}`
      const isChanged = i === 0 ? changes.this : changes.parameters[i - 1] ?? changes.others
      locks.set(key, isChanged || locks.get(key) || false)
    })
  }
  const claim = ({ claims, claimsAll }, record, chain) => {
    for (const { location, isExclusive } of isBlind ? [] : claims) {
      const owner = location.owner && [...plans].find(([, other]) => other === location.owner)[0]
      const key = lockOf(location, owner === null ? null : chain[owner] ?? record)
      locks.set(key, locks.get(key) || isExclusive)
    }
    if (claimsAll) locks.set('all', true)
    locks.set(`record ${record}`, true)
  }
  const $ = {
    units: {},
    Base: class {
      constructor() {
        return make(new.target.name, this)
      }
    },
    make,
    map(site, map) {
      const own = new WatchedMap(map)
      targets.set(own, own)
      ids.set(own, `map ${objects++} of ${site}`)
      return own
    },
    read(name, record, value) {
      note(`variable ${name}${record === null ? '' : ` #${record}`}`, false)
      return value
    },
    init(name, record, value) {
      publish(value)
      return value
    },
    keep(...values) {
      values.forEach(publish)
    },
    write(name, record, value) {
      note(`variable ${name}${record === null ? '' : ` #${record}`}`, true)
      publish(value)
      return value
    },
    enter(id, chain) {
      const plan = plans.get(id)
      const record = records++
      if (stack.length > 20 || --fuel < 0) throw new RangeError('too many calls')
      stack.push(id)
      if (stay === 0) return record
      if (pending) claimArguments(plan)
      claim(plan, record, chain)
      return record
    },
    resume(id, chain, record, value) {
      if (stay !== 0) claim(plans.get(id), record, chain)
      return value
    },
    exit() {
      stack.pop()
    }
  }
  units.forEach((unit, index) => {
    $.units[unit.name] = new Function('$', `'use strict'; ${instrumented(unit, index)}`)($)
  })
  // All objects that are reachable now are shared.
  for (const unit of Object.values($.units)) for (const key of Object.keys(unit)) publish(unit[key])
  drive($.units, (fn, self, args) => {
    stay++
    fuel = 3000
    locks = new Map()
    pending = [self, ...args]
    pending.forEach(publish)
    foreign = new Set()
    pending.forEach(value => findForeign(value, foreign))
    try {
      const result = fn.apply(self, args)
      publish(result)
      return result
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)) throw error
    } finally {
      stack.length = 0
      pending = null
    }
  })
  const found = []
  for (const [key, firsts] of accesses) {
    const list = [...firsts.values()]
    search: for (const one of list) {
      if (!one.isWrite) continue
      for (const other of list) {
        if (other.stay === one.stay || excludes(one, other)) continue
        found.push(`${key}: written by ${one.at} in stay ${one.stay} [${[...one.locks].join(' ')}], used by ${other.at} in stay ${other.stay} [${[...other.locks].join(' ')}]`)
        break search
      }
    }
  }
  return found
}

/** Whether two accesses hold one lock in conflicting modes. */
function excludes({ locks: one }, { locks: other }) {
  for (const [key, isExclusive] of one) {
    if (key.startsWith('record ')) {
      const id = key.slice('record '.length)
      for (const name of other.keys()) if (name.endsWith(`#${id}`)) return true
    }
    if (other.has(key) && (isExclusive || other.get(key))) return true
  }
  for (const key of other.keys()) {
    if (!key.startsWith('record ')) continue
    const id = key.slice('record '.length)
    for (const name of one.keys()) if (name.endsWith(`#${id}`)) return true
  }
  return one.has('all') || other.has('all')
}
