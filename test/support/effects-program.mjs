/** Random programs of two modules that share variables, objects, closures, classes and callbacks. */

const PROPERTIES = ['x', 'y', 'list', 'inner', 'next']
const METHODS = ['run', 'step', 'put', 'get', 'at']

/** @param {import('./seeded.mjs').Random} random @returns {Record<string, string>} texts by their names */
export function randomProgram(random) {
  const first = randomModule(random, 'a', [])
  const names = first.exported.filter(() => random.chance(0.7))
  const second = randomModule(random, 'b', names)
  const list = names.map(({ name }) => name)
  const text = list.length ? `import { ${list.join(', ')} } from 'a'\n${second.text}` : second.text
  return { a: first.text, b: text }
}

function randomModule(random, prefix, imported) {
  const exported = []
  const objects = imported.filter(({ kind }) => kind === 'object').map(({ name }) => name)
  const functions = imported.filter(({ kind }) => kind === 'function').map(({ name }) => name)
  const generators = []
  const classes = imported.filter(({ kind }) => kind === 'class').map(({ name }) => name)
  const variables = []
  let counter = 0
  const fresh = () => `t${counter++}`
  const lines = []
  const declare = (kind, name, text) => {
    const isExported = random.chance(0.6)
    if (isExported) exported.push({ kind, name })
    lines.push(`${isExported ? 'export ' : ''}${text}`)
  }
  for (let i = 0; i < random.integer(1, 3); i++) functions.push(`${prefix}f${i}`)
  for (let i = 0; i < random.integer(0, 2); i++) classes.push(`${prefix}C${i}`)

  /** A value; `locals` are the names of variables that may hold objects. */
  function value(locals, depth = 0) {
    if (depth > 2) return simple(locals)
    return pickValue(locals, depth)
  }
  function pickValue(locals, depth) {
    const kind = random.weighted({ simple: 6, member: 5, literal: 2, array: 1, call: 3, method: 3, instance: classes.length ? 1 : 0, closure: 2, number: 3, choice: 1, callback: 2, copy: 1, map: 1, spread: 1, apply: 1, generator: generators.length ? 1 : 0, reduce: 1, sorted: 0.5, getter: 1 })
    const next = () => value(locals, depth + 1)
    switch (kind) {
      case 'simple': return simple(locals)
      case 'number': return `${random.integer(0, 3)}`
      case 'member': return member(locals, depth)
      case 'literal': return `{ ${property()}: ${next()}, ${property()}: ${next()} }`.replace(/^/, '(').replace(/$/, ')')
      case 'array': return `[${next()}, ${next()}]`
      case 'call': return call(locals, depth)
      case 'method': return `${simple(locals)}?.${random.pick(METHODS)}?.(${next()})`
      case 'instance': return `new ${random.pick(classes)}(${next()})`
      case 'closure': return closure(locals, depth)
      case 'choice': return `(${simple(locals)} ? ${next()} : ${next()})`
      case 'callback': return `${list(locals)}.${random.pick(['map', 'filter', 'forEach', 'find'])}(${closure(locals, depth)})`
      case 'map': return `${simple(locals)}?.map?.get?.(${random.integer(0, 2)})`
      case 'spread': return functions.length ? `${random.pick(functions)}(...${list(locals)})` : '1'
      case 'apply': return `${simple(locals)}?.${random.pick(METHODS)}?.apply?.(${next()}, [${next()}])`
      case 'generator': return random.chance(0.7) ? `[...${random.pick(generators)}(${next()})]` : `${random.pick(generators)}(${next()})`
      case 'reduce': return `${list(locals)}.reduce(${random.chance(0.5) ? `(one, other) => one ?? other` : `(one, other) => { ${block([...locals, 'one', 'other'], depth + 1, 1)} }`}, ${next()})`
      case 'sorted': return `${simple(locals)}?.list?.sort?.((one, other) => { ${block([...locals, 'one', 'other'], depth + 1, 1)} })`
      case 'getter': return `({ get ${property()}() { ${block([...locals, 'this'], depth + 1, 1)} } })`
      case 'copy': return `({ ...${simple(locals)} })`
    }
  }
  const property = () => random.pick(PROPERTIES)
  const simple = locals => {
    const names = [...objects, ...variables, ...locals, ...locals]
    return names.length ? random.pick(names) : '1'
  }
  const list = locals => `[].concat(${simple(locals)}?.list ?? ${simple(locals)} ?? [])`
  const member = (locals, depth) => random.chance(0.8) ? `${simple(locals)}?.${property()}`
    : `${simple(locals)}?.[${value(locals, depth + 2)}]`
  const call = (locals, depth) => {
    const callee = locals.length && random.chance(0.2) ? `${random.pick(locals)}?.call?.` : functions.length ? random.pick(functions) : 'Array.of'
    return `${callee}(${value(locals, depth + 1)}, ${value(locals, depth + 1)})`
  }
  function closure(locals, depth) {
    const parameter = fresh()
    const inner = [...locals, parameter]
    if (random.chance(0.4)) return `(${parameter} => ${value(inner, depth + 1)})`
    return random.chance(0.7) ? `(${parameter} => { ${block(inner, depth + 1, 2)} })`
      : `(function (${parameter}) { ${block([...inner, 'this'], depth + 1, 2)} })`
  }
  function statement(locals, depth) {
    const kind = random.weighted({ local: 3, assign: 3, write: 5, push: 2, computed: 1, define: 1, count: 2, effect: 3, branch: 1, loop: 1, remove: 0.5, relet: 1, pattern: 1, entry: 1, caught: 0.7, lazy: 0.7, step: 0.5, assignAll: 0.5, entries: 0.5 })
    switch (kind) {
      case 'local': {
        const name = fresh()
        const text = `let ${name} = ${value(locals, depth)}`
        locals.push(name)
        return text
      }
      case 'relet': {
        const own = locals.filter(name => name !== 'this' && name !== 'arguments' && /^(?:t\d+|[pq])$/.test(name))
        return own.length ? `${random.pick(own)} = ${value(locals, depth)}` : ''
      }
      case 'pattern': {
        const names = [fresh(), fresh()]
        const text = `const { ${property()}: ${names[0]}, list: [${names[1]}] = [] } = Object(${value(locals, depth)})`
        locals.push(...names)
        return text.replace('list: [', 'rest: [')
      }
      case 'entry': return `${simple(locals)}?.map?.set?.(${random.integer(0, 2)}, ${value(locals, depth)})`
      case 'entries': return `for (const [k, e] of ${simple(locals)}?.map ?? []) { ${block([...locals, 'e'], depth + 1, 1)} }`
      case 'caught': return `try { throw ${value(locals, depth)} } catch (e) { ${block([...locals, 'e'], depth + 1, 1)} }`
      case 'lazy': return `{ const o = ${simple(locals)}; if (o instanceof Object) o.${property()} ??= ${value(locals, depth)} }`
      case 'step': return `${simple(locals)}?.next?.next?.()`
      case 'assignAll': return `{ const o = ${simple(locals)}; if (o instanceof Object) Object.assign(o, ${value(locals, depth)}) }`
      case 'assign': return variables.length ? `${random.pick(variables)} = ${value(locals, depth)}` : ''
      case 'count': return variables.length ? `${random.pick(variables)}${random.pick(['++', ' += 1', ' ||= 1'])}` : ''
      case 'write': return `{ const o = ${random.chance(0.6) ? simple(locals) : member(locals, depth)}; if (o instanceof Object) o.${property()} = ${value(locals, depth)} }`
      case 'push': return `${simple(locals)}?.list?.push?.(${value(locals, depth)})`
      case 'remove': return `{ const o = ${simple(locals)}; if (o instanceof Object) delete o.${property()} }`
      case 'computed': return `{ const o = ${simple(locals)}; if (o instanceof Object) o['${random.pick(METHODS).slice(0, 2)}' + '${''}'] = ${value(locals, depth)} }`
      case 'define': return `{ const o = ${simple(locals)}; if (o instanceof Object) o[String('${random.pick(METHODS)}')] = ${closure(locals, depth)} }`
      case 'effect': return random.chance(0.5) ? call(locals, depth) : `${simple(locals)}?.${random.pick(METHODS)}?.(${value(locals, depth)})`
      case 'branch': return `if (${simple(locals)}) { ${block([...locals], depth + 1, 1)} }`
      case 'loop': return `for (const ${fresh()}x of ${list(locals)}) { ${block([...locals, `t${counter - 1}x`], depth + 1, 1)} }`
    }
  }
  function block(locals, depth, count) {
    const own = [...locals]
    const statements = []
    for (let i = random.integer(0, depth > 2 ? 1 : count); i-- > 0;) statements.push(statement(own, depth))
    if (random.chance(0.6)) statements.push(`return ${value(own, depth)}`)
    return statements.map(text => text.startsWith('(') || text.startsWith('[') ? `;${text}` : text).join('\n')
  }

  const initial = () => random.pick([
    '1', '[1, 2]', '{ x: 1, list: [] }', '{ x: { y: 1 }, list: [{ x: 1 }] }', '{ run(p) { return p }, x: 2 }',
    '{ run(p) { this.x = p; return this }, put(p) { this.list.push(p) }, list: [] }', '{ get(p) { return this.inner }, inner: { x: 1 } }',
    '{ map: new Map([[0, { x: 1 }], [1, 2]]), list: [[1]] }', '{ map: new Map(), set y(v) { this.x = v }, get x() { return this.inner } }'
  ])
  for (let i = 0; i < random.integer(1, 3); i++) {
    const name = `${prefix}o${i}`
    declare('object', name, `const ${name} = ${initial()}`)
    objects.push(name)
  }
  for (let i = 0; i < random.integer(0, 2); i++) {
    const name = `${prefix}v${i}`
    declare('variable', name, `let ${name} = ${initial()}`)
    variables.push(name)
  }
  const classNames = classes.filter(name => name.startsWith(prefix))
  const functionNames = functions.filter(name => name.startsWith(prefix))
  for (const name of classNames) {
    const method = () => `${random.pick(METHODS)}(p) { ${block(['p', 'this'], 0, 3)} }`
    declare('class', name, `class ${name} { constructor(p) { this.x = 1; this.list = []; ${random.chance(0.5) ? `this.inner = p` : ''} }\n ${method()}\n ${method()} }`)
  }
  if (random.chance(0.5)) {
    const name = `${prefix}D`
    const text = `class ${name} extends ${random.pick([...classNames, 'Object'])} { constructor(p) { super(p); this.inner = p }
 ${random.pick(METHODS)}(p) { super.run?.(p); ${block(['p', 'this'], 0, 2)} }
 set x(p) { ${block(['p', 'this'], 1, 1)} }
 static own = ${random.pick(['[]', '{ x: 1, list: [] }', '1'])}
 static make(p) { this.own = p; return new this(p) } }`
    if (!text.includes('extends Object')) {
      declare('class', name, text)
      classes.push(name)
      objects.push(name)
    }
  }
  if (random.chance(0.5)) {
    const name = `${prefix}g`
    declare('generator', name, `function* ${name}(p, ...q) { ${statement(['p', 'q'], 1)}\nyield ${value(['p', 'q'])}\n${block(['p', 'q'], 0, 2)} }`)
    generators.push(name)
  }
  for (const name of functionNames) if (random.chance(0.2)) {
    declare('function', name, `function ${name}(p, q = ${member(['p'], 3)}) { const r = arguments[${random.integer(0, 2)}]\n${block(['p', 'q', 'r', 'arguments'], 0, 4)} }`)
  } else declare('function', name, `function ${name}(p, q) { ${block(['p', 'q'], 0, 5)} }`)
  if (classes.length) {
    const name = `${prefix}i`
    declare('object', name, `const ${name} = new ${random.pick(classes)}(${random.pick(objects)})`)
  }
  if (random.chance(0.5)) lines.push(block([], 1, 2).replace(/return /g, '0, ').replace(/^let /gm, 'var '))
  return { text: lines.join('\n'), exported }
}

/**
 * Calls random functions of a program, as stays.
 *
 * @param {import('./seeded.mjs').Random} random @param {Record<string, any>} units
 * @param {(fn: Function, self: any, args: any[]) => any} stay
 */
export function driveRandomly(random, units, stay) {
  const functions = []
  const pool = [1]
  for (const unit of Object.values(units)) {
    for (const key of Object.keys(unit)) {
      const value = unit[key]
      if (typeof value === 'function' && !/^class/.test(Function.prototype.toString.call(value))) functions.push(value)
    }
  }
  if (!functions.length) return
  for (let i = 0; i < 12; i++) {
    const args = [random.pick(pool), random.pick(pool)]
    const fn = random.pick(functions)
    const result = stay(fn, undefined, args)
    if (typeof result === 'function') functions.push(result)
    else if (result !== undefined && random.chance(0.5)) pool.push(result)
  }
}

/** Expressions that give their operand back, and the statements that they need first. */
const CARRIERS = [
  value => ({ value: `id(${value})` }),
  value => ({ value: `far(${value})` }),
  value => ({ value: `({ v: ${value} }).v` }),
  value => ({ value: `[${value}][0]` }),
  value => ({ value: `[...[${value}]][0]` }),
  (value, name) => ({ before: `const ${name} = ${value}`, value: name }),
  (value, name) => ({ before: `const ${name} = {}; put(${name}, ${value})`, value: `${name}.v` }),
  (value, name) => ({ before: `const ${name} = []; ${name}.push(${value})`, value: `${name}[0]` }),
  (value, name) => ({ before: `const { v: [${name}] } = { v: [${value}] }`, value: name }),
  (value, name) => ({ before: `const ${name} = new Box(${value})`, value: `${name}.v` }),
  (value, name) => ({ before: `const ${name} = new Box(1); ${name}.set(${value})`, value: `${name}.take()` }),
  (value, name) => ({ before: `const ${name} = () => ${value}`, value: `${name}()` }),
  (value, name) => ({ before: `let ${name}; [${value}].forEach(e => { ${name} = e })`, value: name }),
  (value, name) => ({ before: `let ${name}; try { throw ${value} } catch (e) { ${name} = e }`, value: name }),
  value => ({ value: `box.give(${value})` }),
  value => ({ value: `[${value}].map(e => e)[0]` }),
  value => ({ value: `[${value}].concat([]).find(e => e)` }),
  value => ({ value: `new Map([[1, ${value}]]).get(1)` }),
  value => ({ value: `({ get v() { return ${value} } }).v` }),
  value => ({ before: `keep(${value})`, value: 'kept' }),
  value => ({ before: `table.v = ${value}`, value: 'table.v' }),
  value => ({ value: `maker(${value})()` }),
  value => ({ value: `pass(e => e, ${value})` }),
  value => ({ value: `Object.assign({}, { v: ${value} }).v` })
]

/** Statements that write an object. */
const SINKS = [
  value => `${value}.x = 2`, value => `write(${value})`, value => `writer.put(${value})`, value => `write.call(null, ${value})`,
  value => `setThis.call(${value})`, value => `[${value}].forEach(o => { o.x = 2 })`, value => `delete ${value}.x`,
  value => `Object.assign(${value}, { x: 2 })`, value => `writer['m' + 1](${value})`, value => `pass(o => { o.x = 2 }, ${value})`,
  value => `for (const o of [${value}]) o.x++`, value => `({ x: ${value}.x } = { x: 3 })`, value => `farWrite(${value})`
]

/** Statements that keep an object for a later stay, and expressions that find the object there. */
const KEEPERS = [
  value => [`kept = ${value}`, 'kept'], value => [`table.v = ${value}`, 'table.v'], value => [`keep(${value})`, 'kept'],
  value => [`cell.set(${value})`, 'cell.take()'], value => [`put(table, ${value})`, 'table.v'],
  value => [`{ const c = ${value}; saved = () => c }`, 'saved()'], value => [`saved = maker(${value})`, 'saved()'],
  value => [`saved = late(${value})`, 'saved()'], value => [`queue.push({ v: ${value} })`, 'queue[0].v'],
  value => [`far(${value}); cell.v = { w: ${value} }`, 'cell.v.w']
]

/**
 * A small program in which an object takes a random way from its variable to a write. Its function `f` writes the
 * object, or keeps it for `h`, which writes it; `g` reads the object by its variable.
 *
 * @param {import('./seeded.mjs').Random} random @returns {Record<string, string>} texts by their names
 */
export function programOfOneWay(random) {
  const statements = []
  const source = random.pick(['t', 't', 'read()', 'holder.t', 'holder.read()', 'list[0]', 'map.get(1)'])
  let value = source
  for (let i = random.integer(0, 3); i-- > 0;) {
    const carried = random.pick(CARRIERS)(value, `l${i}`)
    if (carried.before) statements.push(carried.before)
    value = carried.value
  }
  const later = []
  if (random.chance(0.5)) {
    const [keeping, found] = random.pick(KEEPERS)(value)
    statements.push(keeping)
    later.push(random.pick(SINKS)(found))
  } else statements.push(random.pick(SINKS)(value))
  return {
    lib: `export function far(p) { return p }
export function farWrite(p) { p.x = 2 }`,
    a: `import { far, farWrite } from 'lib'
const t = { x: 1 }
const holder = { t, read() { return t } }
const list = [t]
const map = new Map([[1, t]])
const table = {}
let kept, saved
const queue = []
const id = p => p
const box = { give(p) { return p } }
const writer = { put(p) { p.x = 2 } }
class Box { constructor(v) { this.v = v } set(v) { this.v = v } take() { return this.v } }
const cell = new Box(1)
function late(p) { const c = { p }; return () => c.p }
function read() { return t }
function put(p, v) { p.v = v }
function keep(p) { kept = p }
function write(p) { p.x = 2 }
function setThis() { this.x = 2 }
function maker(p) { return () => p }
function pass(c, p) { return c(p) }
writer['m' + 1] = p => { p.x = 2 }
export function f() {
${statements.map(text => `  ${text.startsWith('[') || text.startsWith('(') ? ';' : ''}${text}`).join('\n')}
}
export function h() {
${later.map(text => `  ;${text}`).join('\n')}
}
export function g() { return ${random.pick(['t.x + 1', 'Object.keys(t).length', 'holder.t.x + 1', 'list[0].x + 1'])} }`
  }
}
