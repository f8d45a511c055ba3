/**
 * Random programs of two modules, or of two CommonJS files, that share state, and their runs as jobs. The results must be those of one
 * order of calls.
 *
 * The state consists of variables, arrays, objects, maps, regular expressions, closures, classes and generators.
 * Objects travel as receivers, arguments, results, thrown values and stored values. Functions are added under
 * computed names, and an object of one module is stored in another. Each statement stands on a line of its own,
 * so that a failing program can be shortened line by line.
 */
import { inspect } from 'node:util'
import { Scheduler, defaultHost } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { limits } from '../../addons/preemptify/effects-whole.mjs'
import { asCommonJS } from './random-commonjs.mjs'
import { routes } from './random-routes.mjs'
import { withLimit } from './analysis-limit.mjs'
import { switchesOf } from './switches.mjs'
import { virtualHost } from './virtual-host.mjs'
/** @import { Random } from './seeded.mjs' */

const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
/** Without a long source, the limit of growth makes most twins generators. */
const PADDING = `\n/*${' padding'.repeat(800)} */`
/** ms of virtual time that one read of the clock takes. */
const READ = 0.01

/**
 * @typedef {object} Program
 * @property {string} a the text of a module
 * @property {string} b the text of a module that imports all exports of `a`
 * @property {boolean} [isCommonJS] whether the texts are CommonJS files
 * @property {{ module: 'a' | 'b', name: string, args: (number | 'own' | 'shared')[], isHeld?: boolean }[]} calls
 *   an argument is a number, an object of the call, or an object that all calls get. With `isHeld`, the function
 *   makes the called closure, and gets an object that all such closures keep
 * @property {{ module: 'a' | 'b', name: string }[]} probes functions that read the state
 */

/** Parts of each module: a loop for its points, and functions that other modules cannot see. */
const HEAD = `
function pause(n) { for (let i = 0; i < n; i++); }
function each(list, fn) { for (let i = 0; i < list.length && i < 4; i++) fn(list[i], i) }
`

const FIELDS = ['x', 'y']

/**
 * Ways in which code keeps an object `o`: the declaration, the statement that keeps the object, and the object.
 *
 * @type {((name: string) => [string, string, string])[]}
 */
const WAYS_TO_KEEP = [
  name => [`let ${name} = null`, `${name} = o`, name],
  name => [`const ${name} = []`, `${name}.push(o)`, `${name}[0]`],
  name => [`const ${name} = { inner: null }`, `${name}.inner = o`, `${name}.inner`],
  name => [`const ${name} = { inner: null, hold(o) { this.inner = o } }`, `${name}.hold(o)`, `${name}.inner`],
  name => [`const ${name} = new Map()`, `${name}.set(1, o)`, `${name}.get(1)`],
  name => [`let ${name} = null`, `${name} = () => o`, `${name}()`],
  name => [`let ${name} = null`, `${name} = { inner: { inner: o } }`, `${name}.inner.inner`]
]
const METHODS = ['run', 'step']

/**
 * Functions that make a closure which calls the function `f` with its argument. Some keep state in their
 * activation, and some call another maker.
 *
 * @type {((name: string, other: string) => string)[]}
 */
const MAKERS = [
  name => `function ${name}(f) {\nreturn o => f(o)\n}`,
  name => `const ${name} = f => {\nconst call = o => {\npause(1)\nreturn f(o)\n}\nreturn call\n}`,
  name => `function ${name}(f) {\nreturn function call(o, ...rest) {\nreturn rest.length ? f(o, ...rest) : (n => f.call(this, o, n))(1)\n}\n}`,
  name => `const ${name} = f => (...list) => f.apply(null, list)`,
  name => `function ${name}(f) {\nconst calls = new Map()\nreturn o => {\nif (!calls.has(o)) calls.set(o, f(o))\nreturn calls.get(o)\n}\n}`,
  name => `function ${name}(f) {\nlet turns = 0\nreturn o => {\nturns = 1 - turns\nreturn f(o)\n}\n}`,
  name => `const ${name} = f => ({ call: o => f(o) }).call`,
  (name, other) => `function ${name}(f) {\nreturn ${other}(${other}(f))\n}`,
  (name, other) => `const ${name} = f => ${other}(o => f(o))`
]

/** @param {Random} random @returns {Program} */
export function randomProgram(random) {
  // Small functions use few locations, so that fewer claims hide a missing one.
  const size = random.pick([1, 2, 3, 6])
  const a = randomModule(random, 'a', [], size)
  const b = randomModule(random, 'b', a.names, size)
  const modules = { a, b }
  const isTight = random.chance(0.5)
  const call = () => {
    const module = random.pick(['a', 'b'])
    const { name } = random.pick(modules[module].names.filter(({ kind, isUpdate, isHeld }) => kind === 'function' && !isHeld && (!isTight || isUpdate)))
    const arg = () => random.chance(0.2) ? 'own' : random.integer(0, 3)
    return { module, name, args: [arg(), arg()] }
  }
  const calls = Array.from({ length: random.chance(0.3) ? 3 : 2 }, call)
  // Two updates of one object, if the modules have them.
  const updates = ['a', 'b'].flatMap(module => modules[module].names.filter(({ isUpdate }) => isUpdate).map(({ name, source, isHeld }) => ({ module, name, source, isHeld })))
  const sources = updates.map(({ source }) => source).filter((source, i, all) => source && all.indexOf(source) < i)
  if (sources.length && random.chance(0.5)) {
    const source = random.pick(sources)
    const alike = random.shuffle(updates.filter(update => update.source === source))
    for (let i = 0; i < 2; i++) calls[i] = { ...calls[i], module: alike[i].module, name: alike[i].name, isHeld: alike[i].isHeld }
    // Objects inside of arguments are not claimed, so only updates share an object.
    if (source === 'q') for (let i = 0; i < 2; i++) calls[i].args = [random.integer(0, 3), 'shared']
  }
  // Two updates by callbacks.
  const combined = updates.filter(({ name }) => /^.uc\d$/.test(name))
  if (combined.length && random.chance(0.3)) for (let i = 0; i < 2; i++) {
    const { module, name } = i > 0 && random.chance(0.7) ? calls[0] : random.pick(combined)
    calls[i] = { module, name, args: [random.integer(0, 3), random.integer(0, 3)] }
  }
  if (random.chance(0.3)) calls[1] = { ...calls[0], args: [random.integer(0, 3), random.integer(0, 3)] }
  const probes = ['a', 'b'].flatMap(module => modules[module].names.filter(({ kind }) => kind === 'probe').map(({ name }) => ({ module, name })))
  const imports = `import { ${a.names.map(({ name }) => name).join(', ')} } from 'a'\n`
  const program = { a: a.text, b: imports + b.text, calls, probes }
  return random.chance(0.3) ? asCommonJS(program, random) : program
}

/**
 * @param {Random} random @param {string} prefix the first letter of names
 * @param {{ kind: string, name: string, isAsync?: boolean, source?: string }[]} imported
 * @param {number} size the most statements of a function
 */
function randomModule(random, prefix, imported, size) {
  /** @type {string[]} */
  const lines = []
  /** @type {{ kind: string, name: string, isAsync?: boolean, isUpdate?: boolean, isHeld?: boolean, source?: string }[]} */
  const names = []
  const of = kind => imported.filter(entry => entry.kind === kind && !entry.isAsync).map(({ name }) => name)
  const objects = of('object')
  const functions = of('function')
  const classes = of('class')
  const counters = of('counter')
  const generators = of('generator')
  const helpers = of('helper')
  const arrays = of('array')
  const maps = of('map')
  const patterns = of('pattern')
  const wrappers = of('wrapper')
  const variables = []
  let count = 0
  const fresh = () => `t${count++}`
  const share = (kind, name, text) => {
    const isExported = kind === 'probe' || kind === 'function' || random.chance(0.6)
    if (isExported) names.push({ kind, name })
    lines.push(isExported ? `export ${text}` : text)
  }
  const literal = () => `{ x: ${random.integer(0, 3)}, y: ${random.integer(0, 3)}, list: [${random.integer(0, 9)}], inner: null }`

  /** @typedef {{ numbers: string[], objects: string[], isLeaf: boolean }} Scope */

  /** @param {Scope} scope @returns {string} */
  function number(scope, depth = 0) {
    const kind = random.weighted({
      literal: 2, local: scope.numbers.length ? 4 : 0, variable: variables.length ? 4 : 0, field: 4, length: 2, item: 2,
      call: scope.isLeaf || depth > 1 || !functions.length ? 0 : 2, counter: counters.length ? 2 : 0, sum: depth < 2 ? 2 : 0,
      map: maps.length ? 1 : 0, pattern: patterns.length ? 1 : 0, method: scope.isLeaf ? 0 : 1, helper: helpers.length && !scope.isLeaf ? 1 : 0
    })
    switch (kind) {
      case 'literal': return `${random.integer(0, 3)}`
      case 'local': return random.pick(scope.numbers)
      case 'variable': return random.pick(variables)
      case 'field': return `(${object(scope, depth + 1)}.${random.pick(FIELDS)} | 0)`
      case 'length': return `${list(scope)}.length`
      case 'item': return `(${list(scope)}[${random.integer(0, 2)}] | 0)`
      case 'call': return `(${random.pick(functions)}(${number(scope, depth + 1)}, ${value(scope, depth + 1)}) | 0)`
      case 'counter': return `(${random.pick(counters)}.${random.pick(['next', 'peek'])}(${number(scope, depth + 2)}) | 0)`
      case 'sum': return `(${number(scope, depth + 1)} ${random.pick(['+', '-', '*'])} ${number(scope, depth + 1)}) % 97`
      case 'map': return `(${random.pick(maps)}.get(${random.integer(0, 2)}) | 0)`
      case 'pattern': return random.pick([`+${random.pick(patterns)}.test('aabxa')`, `${random.pick(patterns)}.lastIndex`])
      case 'method': return `(${object(scope, depth + 1)}.${random.pick(METHODS)}?.(${value(scope, depth + 2)}) | 0)`
      case 'helper': return `(${random.pick(helpers)}(${object(scope, depth + 1)}, ${number(scope, depth + 2)}) | 0)`
    }
    throw new Error(kind)
  }
  /** @param {Scope} scope @returns {string} */
  function object(scope, depth = 0) {
    const kind = random.weighted({
      global: objects.length ? 5 : 0, local: scope.objects.length ? 5 : 0, inner: depth < 2 ? 2 : 0, literal: 1,
      instance: classes.length && !scope.isLeaf ? 1 : 0, choice: depth < 2 ? 1 : 0, copy: depth < 2 ? 0.5 : 0, self: helpers.length && depth < 2 && !scope.isLeaf ? 1 : 0
    })
    switch (kind) {
      case 'global': return random.pick(objects)
      case 'local': return random.pick(scope.objects)
      case 'inner': return `(${object(scope, depth + 1)}.inner ?? ${object(scope, depth + 1)})`
      case 'literal': return `(${literal()})`
      case 'instance': return `new ${random.pick(classes)}(${number(scope, 2)})`
      case 'choice': return `(${number(scope, 2)} > 1 ? ${object(scope, depth + 1)} : ${object(scope, depth + 1)})`
      case 'copy': return `({ ...${object(scope, depth + 1)} })`
      case 'self': return `same(${object(scope, depth + 1)})`
    }
    throw new Error(kind)
  }
  /** @param {Scope} scope */
  const list = scope => arrays.length && random.chance(0.5) ? random.pick(arrays) : `${object(scope, 2)}.list`
  /** @param {Scope} scope */
  const value = (scope, depth = 0) => random.chance(0.5) ? number(scope, depth) : object(scope, depth)
  /** @param {Scope} scope */
  const pause = scope => random.chance(0.7) ? `pause(${random.integer(1, 3)})` : `for (let i = 0; i < ${random.integer(1, 3)}; i++);`

  /**
   * A closure of one parameter, which can be a number or an object.
   * @param {Scope} scope
   */
  function closure(scope) {
    const parameter = fresh()
    const inner = { numbers: scope.numbers, objects: [...scope.objects.filter(name => name !== 'this')], isLeaf: true }
    const self = random.chance(0.5)
    if (self) inner.objects.push('(this ?? {list: []})')
    const body = `if (typeof ${parameter} === 'number') ${parameter} = { x: ${parameter}, y: 0, list: [], inner: null }\n` +
      block({ ...inner, objects: [...inner.objects, parameter] }, 2)
    return self ? `function (${parameter}) {\n${body}\n}` : `${parameter} => {\n${body}\n}`
  }
  /** @param {Scope} scope @returns {string} */
  function statement(scope, depth) {
    const kind = random.weighted({
      pause: 4, local: 2, assign: variables.length ? 3 : 0, update: variables.length ? 4 : 0, field: 3, change: 4, push: 3, take: 1,
      inner: 2, define: 2, method: scope.isLeaf ? 0 : 2, callback: depth < 2 && !scope.isLeaf ? 2 : 0, object: 2, generator: generators.length && depth < 2 ? 1 : 0,
      helper: helpers.length && !scope.isLeaf ? 3 : 0, keep: variables.length ? 1 : 0, pattern: patterns.length ? 2 : 0, map: maps.length ? 2 : 0, counter: counters.length ? 2 : 0,
      branch: depth < 2 ? 2 : 0, loop: depth < 2 ? 2 : 0, attempt: depth < 1 ? 1 : 0, assignAll: 0.5, lazy: variables.length ? 0.5 : 0, remove: 0.5, sort: 0.5, bound: scope.isLeaf ? 0 : 0.5,
      evaluate: variables.length ? 0.2 : 0, proxy: 0.2
    })
    switch (kind) {
      case 'pause': return pause(scope)
      case 'local': {
        const name = fresh()
        const text = `let ${name} = ${number(scope)}`
        scope.numbers.push(name)
        return text
      }
      case 'object': {
        const name = fresh()
        const text = `let ${name} = ${object(scope)}`
        scope.objects.push(name)
        return text
      }
      case 'assign': return `${random.pick(variables)} = ${number(scope)}`
      case 'update': {
        const name = random.pick(variables)
        return random.chance(0.4) ? `${name} += ${number(scope)}`
          : `{ const before = ${name}; ${pause(scope)}; ${name} = before + ${number(scope)} }`
      }
      case 'field': return `${target(scope)}.${random.pick(FIELDS)} = ${number(scope)}`
      case 'change': {
        const field = random.pick(FIELDS)
        return `{ const o = ${object(scope)}, before = o.${field} | 0; ${pause(scope)}; o.${field} = before + ${number(scope)} }`
      }
      case 'push': return `${list(scope)}.push(${number(scope)})`
      case 'take': return `${list(scope)}.${random.pick(['shift()', 'pop()', 'splice(0, 1)', 'reverse()'])}`
      case 'inner': return `${target(scope)}.inner = ${object(scope)}`
      case 'define': {
        const name = random.pick(METHODS)
        return `${target(scope)}[${random.pick([`'${name.slice(0, 2)}' + '${name.slice(2)}'`, `'${name}'`, `String('${name}')`])}] = ${closure(scope)}`
      }
      case 'method': return `${object(scope)}.${random.pick(METHODS)}?.(${value(scope)})`
      case 'bound': {
        const name = fresh()
        return `{ const ${name} = ${object(scope)}.${random.pick(METHODS)}; ${name}?.call(${object(scope)}, ${value(scope)}) }`
      }
      case 'callback': {
        const inner = { ...scope, numbers: [...scope.numbers, 'item'], objects: [...scope.objects], isLeaf: true }
        const body = block(inner, depth + 1)
        return random.chance(0.5) ? `each(${list(scope)}, item => {\n${body}\n})` : `${list(scope)}.slice(0, 3).forEach(item => {\n${body}\n})`
      }
      case 'generator': return `for (const item of ${random.pick(generators)}(${number(scope)})) {\n${block({ ...scope, numbers: [...scope.numbers, 'item'], objects: [...scope.objects], isLeaf: true }, depth + 1)}\n}`
      case 'helper': return `${random.pick(helpers)}(${object(scope)}, ${number(scope)})`
      case 'keep': return `kept = ${object(scope)}`
      case 'pattern': return random.pick([
        `{ let n = 0; while (n++ < 4 && ${random.pick(patterns)}.exec('aabxa')) pause(1) }`, `'abca'.replace(${random.pick(patterns)}, '')`
      ])
      case 'map': return `${random.pick(maps)}.${random.pick([`set(${random.integer(0, 2)}, ${number(scope)})`, 'delete(1)', `set(${random.integer(0, 2)}, ${random.pick(maps)}.size)`])}`
      case 'counter': return `${random.pick(counters)}.next(${number(scope)})`
      case 'branch': return `if (${number(scope)} > 1) {\n${block({ ...scope, numbers: [...scope.numbers], objects: [...scope.objects] }, depth + 1)}\n}`
      case 'loop': return `for (let i = 0; i < ${random.integer(1, 3)}; i++) {\n${block({ ...scope, numbers: [...scope.numbers, 'i'], objects: [...scope.objects], isLeaf: true }, depth + 1)}\n}`
      case 'attempt': {
        const inner = { ...scope, numbers: [...scope.numbers], objects: [...scope.objects] }
        return `try {\n${block(inner, depth + 1)}\nif (${number(scope)} > 1) throw ${object(scope)}\n} catch (e) { if (e.list) e.x += 1 }`
      }
      case 'assignAll': return `Object.assign(${object(scope)}, { x: ${number(scope)} })`
      case 'lazy': return `lazy ??= ${object(scope)}`
      case 'remove': return `delete ${target(scope)}.${random.pick(['x', 'run'])}`
      case 'sort': return `${list(scope)}.sort()`
      case 'evaluate': {
        const name = random.pick(variables)
        return `{ const before = eval('${name}'); ${pause(scope)}; eval('${name} = ' + (before + 1)) }`
      }
      case 'proxy': return `kept = new Proxy(${object(scope)}, {})`
    }
    throw new Error(kind)
  }
  /** @param {Scope} scope the target of a store */
  const target = scope => object(scope, 1)
  /** @param {Scope} scope */
  function block(scope, depth) {
    const statements = []
    for (let i = random.integer(1, depth > 0 ? Math.min(2, size) : size); i-- > 0;) statements.push(statement(scope, depth))
    return statements.map(text => /^[(['`]/.test(text) ? `;${text}` : text).join('\n')
  }

  /** The body of a function that reads one location, waits, and writes it. @param {string} given an object or empty */
  function update(given) {
    const field = random.pick(FIELDS)
    const n = random.integer(1, 3)
    const wait = random.pick([`pause(${n})`, `for (let i = 0; i < ${n}; i++);`])
    const scope = { numbers: ['p'], objects: random.chance(0.2) ? ['q'] : [], isLeaf: true }
    const source = given || random.pick([
      () => `(${random.pick(objects)}.inner ?? kept)`, () => object(scope),
      () => `same(${random.pick(objects)})`, () => 'q'
    ])()
    const change = random.pick([
      () => `const before = o.${field} | 0\n${wait}\no.${field} = before + p + 1`,
      () => `const before = o.list.length\n${wait}\no.list[before] = p`,
      () => `const { ${field}: before } = o\n${wait}\nObject.assign(o, { ${field}: (before | 0) + 1 })`,
      () => `const before = o['${field}'] | 0\n${wait}\no[String('${field}')] = before + 1`,
      () => `each([1, 2], item => {\nconst before = o.${field} | 0\n${wait}\no.${field} = before + item\n})`,
      () => `const before = o.inner\n${wait}\nif (before === o.inner) o.x += 1\nelse o.x -= 1\no.inner = ${random.pick(objects)}`,
      () => `const add = n => {\nconst before = o.${field} | 0\n${wait}\no.${field} = before + n\n}\nadd(p)\nadd(1)`
    ])
    const direct = [() => `const o = ${source}\n${change()}`, () => `const o = ${source}\n${change()}\nreturn o`]
    return random.pick(given ? direct : [
      ...direct, () => `const before = ${random.pick(variables)}\n${wait}\n${random.pick(variables)} = before + p`,
      () => `const before = kept\n${wait}\nkept = before === kept ? ${random.pick(objects)} : null`,
      ...maps.map(map => () => `const before = ${map}.get(p) | 0\n${wait}\n${map}.set(p, before + 1)`),
      ...arrays.map(list => () => `const before = ${list}.length\n${wait}\n${list}.push(before)`),
      ...counters.map(counter => () => `const before = ${counter}.peek()\n${wait}\nreturn ${counter}.next(before)`),
      ...patterns.map(pattern => () => `${pattern}.lastIndex = 0\nlet found = 0\nwhile (${pattern}.test('aabaa')) {\nfound++\n${wait}\n}\nreturn found`)
    ])()
  }

  /** @param {string} name the name of an exported update @param {string} source the updated object @param {string} tag */
  function addUpdate(name, source, tag) {
    lines.push(`export function ${name}(p) {\nif (typeof p === 'object') p = p.x | 0\n${update(source)}\n}`)
    names.push({ kind: 'function', name, isUpdate: true, source: tag })
  }

  /** Functions `(f, o)` that call `f(o)`, some of them in a roundabout way. @type {string[]} */
  const combinators = []

  /**
   * A statement that calls a function with an object. Functions and objects pass through parameters, closures,
   * results, lists and objects.
   *
   * @param {string} f @param {string} o @returns {string}
   */
  function application(f, o, depth = 0) {
    const t = fresh()
    const [g, x] = [`g${t}`, `x${t}`]
    const inner = (f, o) => depth > 2 ? `;${f}(${o})` : application(f, o, depth + 1)
    const ways = [
      ...routes({ t, f, o, inner }),
      () => `const ${t} = ${g} => {\n${g}(${random.pick([f, `z => (${f})(z)`])}, ${o})\n}\n${t}(${random.pick([...combinators, `(h${t}, y${t}) => {\n${inner(`h${t}`, `y${t}`)}\n}`])})`,
      () => `const ${t} = { g: ${f} }\n${random.pick([`${t}.g(${o})`, inner(`${t}.g`, o)])}`,
      () => `const ${t} = same(${random.pick([f, `x => (${f})(x)`])})\n${inner(t, o)}`,
      ...wrappers.flatMap(name => [
        () => `;${name}(${f})(${o})`, () => `const ${t} = ${name}(${f})\n${inner(t, o)}`,
        () => `const [${t}] = [${name}].map(${g} => ${g}(${f}))\n${inner(t, o)}`
      ]),
      ...combinators.flatMap(name => [
        () => `${name}(${f}, ${o})`,
        () => `${name}(${x} => {\n${inner(f, x)}\n}, ${o})`,
        () => `${name}(${g} => {\n${inner(g, o)}\n}, ${f})`,
        () => `${name}(${g} => {\n${inner(g, f)}\n}, ${x} => {\n${inner(x, o)}\n})`
      ])
    ]
    return `{\n${random.pick(ways)().replace(/^[[(]/, ';$&')}\n}`
  }

  /** Adds functions that update an object of the module by a callback. */
  function addCombinators() {
    for (let i = random.integer(0, 2); i-- > 0;) {
      const name = `${prefix}wr${i}`
      share('wrapper', name, random.pick(MAKERS)(name, wrappers.length ? random.pick(wrappers) : '(f => o => f(o))'))
      wrappers.push(name)
    }
    for (let i = random.integer(0, 3); i-- > 0;) {
      const name = `${prefix}c${i}`
      lines.push(random.pick([
        () => `function ${name}(f, o) {\npause(1)\n${application('f', 'o')}\n}`,
        () => `const ${name} = (g => (f, o) => {\n${application('g', 'x => f(o)')}\n})(h => { h() })`
      ])())
      combinators.push(name)
    }
    for (let i = random.integer(1, 2); i-- > 0;) {
      const source = random.pick(objects)
      const field = random.pick(FIELDS)
      const callback = `o => {\nconst before = o.${field} | 0\n${random.pick(['pause(2)', 'for (let i = 0; i < 2; i++);'])}\no.${field} = before + p\n}`
      const f = random.chance(0.5) ? callback : `${prefix}w${i}`
      if (f !== callback) {
        const fixed = callback.replace('+ p', '+ 1')
        lines.push(`const ${f} = ${wrappers.length && random.chance(0.5) ? `${random.pick(wrappers)}(${fixed})` : fixed}`)
      }
      lines.push(`export function ${prefix}uc${i}(p) {\nif (typeof p === 'object') p = p.x | 0\n${application(f.startsWith('o') ? `(${f})` : f, source)}\n}`)
      names.push({ kind: 'function', name: `${prefix}uc${i}`, isUpdate: true, source })
    }
  }

  /** Adds an update by the closure of a maker that also makes closures which only read. */
  function addMade() {
    const maker = random.pick(wrappers)
    const source = random.pick(objects)
    const field = random.pick(FIELDS)
    const readers = random.integer(0, 6)
    const made = index => `${prefix}md${index}`
    const texts = Array.from({ length: readers }, () => `return o.${field}`)
    texts.splice(random.integer(0, readers), 0, `const before = o.${field} | 0\npause(2)\no.${field} = before + 1`)
    texts.forEach((text, i) => lines.push(`const ${made(i)} = ${maker}(o => {\n${text}\n})`))
    const writer = made(texts.findIndex(text => text.includes('before')))
    lines.push(`export function ${prefix}um(p) {\nif (typeof p === 'object') p = p.x | 0\n${writer}(${source})\nreturn ${made(0)}(${source})\n}`)
    names.push({ kind: 'function', name: `${prefix}um`, isUpdate: true, source })
  }

  /** Adds functions that keep objects of other modules, and activations that keep objects of the caller. */
  function addKeepers() {
    if (imported.length === 0) {
      const [declaration, statement, kept] = random.pick(WAYS_TO_KEEP)(`${prefix}held`)
      const name = `${prefix}hold`
      lines.push(declaration)
      const text = random.pick([
        `function ${name}(o) {\n${statement}\n}`, `function ${name}(given) {\nconst o = given.inner\n${statement}\n}`,
        `function ${name}(given) {\nconst o = given()\n${statement}\n}`
      ])
      names.push({ kind: 'hold', name, source: text })
      lines.push(`export ${text}`)
      addUpdate(`${prefix}uh`, `(${kept} ?? kept)`, 'held')
      const lent = random.pick(objects)
      names.push({ kind: 'lend', name: `${prefix}lend` })
      lines.push(random.pick([
        `export function ${prefix}lend(f) { f(${lent}) }`, `export const ${prefix}lend = f => { f(${lent}) }`
      ]))
      addUpdate(`${prefix}ul`, lent, 'lent')
    }
    for (const { name, source } of imported.filter(({ kind }) => kind === 'hold')) {
      const own = random.pick(objects.filter(name => name.startsWith(prefix)))
      const given = source.includes('given.inner') ? `{ inner: ${own} }` : source.includes('given()') ? `() => ${own}` : own
      lines.push(`${name}(${given})`)
      addUpdate(`${prefix}uh`, own, 'held')
    }
    for (const { name } of imported.filter(({ kind }) => kind === 'lend')) {
      const [declaration, statement, kept] = random.pick(WAYS_TO_KEEP)(`${prefix}lent`)
      lines.push(declaration, `${name}(o => {\n${statement}\n})`)
      addUpdate(`${prefix}ul`, kept, 'lent')
    }
    for (let i = random.integer(0, 2); i-- > 0;) {
      const [declaration, statement, kept] = random.pick(WAYS_TO_KEEP)('mine')
      const name = `${prefix}act${i}`
      const body = random.pick([
        () => update(kept), () => `const o = ${kept}\nconst before = o.fetchX()\npause(2)\no.storeX(before + 1)`,
        () => `const o = ${kept}\nconst before = o.x\npause(2)\nreturn o.x - before`
      ])()
      const first = random.chance(0.5) ? '' : 'o = get()\n'
      lines.push(`export function ${name}(o, get) {\n${first}${declaration}\n${statement}\nreturn function (p, q) {\nif (typeof p === 'object') p = p.x | 0\n${body}\n}\n}`)
      names.push({ kind: 'function', name, isUpdate: true, isHeld: true, source: 'outside' })
    }
  }

  for (let i = random.integer(1, 2); i-- > 0;) {
    const isFunction = random.chance(0.2)
    share('object', `${prefix}o${i}`, `const ${prefix}o${i} = ${isFunction ? `Object.assign(function () {}, ${literal()})` : literal()}`)
    objects.push(`${prefix}o${i}`)
  }
  for (let i = random.integer(1, 2); i-- > 0;) {
    lines.push(`let ${prefix}v${i} = ${random.integer(0, 3)}`)
    variables.push(`${prefix}v${i}`)
  }
  lines.push(`let kept = ${literal()}`, 'let lazy = null')
  objects.push('kept')
  if (random.chance(0.5)) {
    share('array', `${prefix}l`, `const ${prefix}l = [1, 2]`)
    arrays.push(`${prefix}l`)
  }
  if (random.chance(0.3)) {
    share('map', `${prefix}m`, `const ${prefix}m = new Map([[0, 1]])`)
    maps.push(`${prefix}m`)
  }
  if (random.chance(0.3)) {
    share('pattern', `${prefix}r`, `const ${prefix}r = /a/g`)
    patterns.push(`${prefix}r`)
  }
  lines.push('function same(o) { return o }')
  if (random.chance(0.5)) {
    const text = block({ numbers: ['n', 'count'], objects: [], isLeaf: true }, 2)
    share('maker', `make${prefix}`, `function make${prefix}(start) {\nlet count = start\nreturn {\nnext(n) {\nconst before = count\npause(2)\n${text}\ncount = before + n\nreturn count\n},\npeek() { return count }\n}\n}`)
    share('counter', `${prefix}k`, `const ${prefix}k = make${prefix}(${random.integer(0, 2)})`)
    counters.push(`${prefix}k`, `make${prefix}(1)`)
  }
  for (let i = random.integer(0, 2); i-- > 0;) {
    const name = `${prefix}h${i}`
    const body = random.pick([
      () => `o.x = n\npause(1)\nreturn o.y`, () => `const before = o.y\npause(2)\nreturn before + n`,
      () => `kept = o\nreturn n`, () => `o.inner = kept\nreturn n`,
      () => block({ numbers: ['n'], objects: ['o'], isLeaf: true }, 1)
    ])()
    const renewed = random.chance(0.2) ? `o = ${random.pick(['{ ...o }', 'same(o)', 'kept'])}\n` : ''
    share('helper', name, `function ${name}(o, n) {\n${renewed}${body}\n}`)
    helpers.push(name)
  }
  if (helpers.length && random.chance(0.3)) {
    const name = `${prefix}via`
    lines.push(`function ${name}(fn) {\nreturn (o, n) => {\npause(1)\nreturn fn(o, n)\n}\n}`)
    helpers.push(...random.shuffle(helpers).slice(0, 2).map((helper, i) => {
      share('helper', `${name}${i}`, `const ${name}${i} = ${name}(${helper})`)
      return `${name}${i}`
    }))
  }
  if (random.chance(0.4)) {
    const name = `${prefix}C`
    const method = () => [random.pick(METHODS), `(o) {\nif (typeof o === 'number') o = { x: o, list: [], inner: null }\n${block({ numbers: ['this.x'], objects: ['this', 'o'], isLeaf: true }, 1)}\nreturn ${random.pick(['this', 'o', 'this.x', 'o.x'])}\n}`]
    const methods = [method(), method()]
    const isShared = random.chance(0.4) // instances share an object of their prototype
    const making = `(n) {\nthis.x = n\nthis.y = 0\nthis.list = [n]\n${isShared ? '' : `this.inner = ${random.pick(['null', ...objects])}\n`}}`
    if (random.chance(0.6)) {
      share('class', name, `class ${name} {\nconstructor${making}\n${methods.map(parts => parts.join('')).join('\n')}\n}`)
    } else {
      share('class', name, `function ${name}${making}`)
      for (const [key, text] of methods) lines.push(`${name}.prototype.${key} = function ${text}`)
    }
    if (isShared) lines.push(`${name}.prototype.inner = ${random.pick([literal(), ...objects])}`)
    classes.push(name)
    share('object', `${prefix}i`, `const ${prefix}i = new ${name}(2)`)
    objects.push(`${prefix}i`)
  }
  if (random.chance(0.3)) {
    const name = `${prefix}g`
    share('generator', name, `function* ${name}(n) {\nfor (let i = 0; i < n && i < 3; i++) {\n${block({ numbers: ['i', 'n'], objects: [], isLeaf: true }, 1)}\nyield ${number({ numbers: ['i'], objects: [], isLeaf: true }, 2)}\n}\n}`)
    generators.push(name)
  }
  for (let i = 0; i < random.integer(2, 3); i++) {
    const name = `${prefix}f${i}`
    const scope = { numbers: ['p'], objects: ['q'], isLeaf: false }
    const isAsync = random.chance(0.1)
    const body = `${isAsync ? 'await null\n' : ''}if (typeof p === 'object') p = p.x | 0\nif (typeof q === 'number') q = { x: q, y: 1, list: [q], inner: null }\n` +
      (random.chance(0.2) ? `q = ${object(scope)}\n` : '') + block(scope, 0)
    const result = random.chance(0.7) ? `return ${value(scope)}` : ''
    share('function', name, `${isAsync ? 'async ' : ''}function ${name}(p, q) {\n${body}\n${result}\n}`)
    // Other functions do not call an async function, because its part after \`await\` is another stay.
    if (isAsync) names[names.length - 1].isAsync = true
    else functions.push(name)
  }
  for (let i = 0; i < 3; i++) {
    const source = random.chance(0.7) ? random.pick([...objects, 'q']) : ''
    const text = update(source)
    // The whole update belongs to the second stay of an async function or a generator.
    const [kind, first] = random.weighted({ plain: 6, async: 1, generator: 1 }) === 'plain' ? ['function', '']
      : random.pick([['async function', 'await null\n'], ['function*', 'yield\n']])
    share('function', `${prefix}u${i}`, `${kind} ${prefix}u${i}(p, q) {\nif (typeof p === 'object') p = p.x | 0\nif (typeof q === 'number') q = { x: q, y: 1, list: [q], inner: null }\n${first}${text}\n}`)
    Object.assign(names[names.length - 1], { isUpdate: true, source, isAsync: kind !== 'function' })
  }
  addKeepers()
  if (random.chance(0.6)) addCombinators()
  if (wrappers.length) addMade()
  variables.forEach((name, i) => share('probe', `${prefix}p${i}`, `function ${prefix}p${i}() { return ${name} }`))
  share('probe', `${prefix}pk`, `function ${prefix}pk() { return [kept.x, kept.y, kept.list.join(), lazy === null${maps.map(map => `, ${map}.size`).join('')}${patterns.map(name => `, ${name}.lastIndex`).join('')}${counters.filter(name => name.endsWith('k')).map(name => `, ${name}.peek()`).join('')}] }`)
  return { text: HEAD + lines.join('\n'), names }
}

/** @param {unknown} value @returns {string} the structure of a result */
function textOf(value) {
  return inspect(value, { depth: 8, compact: true, breakLength: Infinity })
}

/**
 * The final state: results, exported objects, and results of the probes.
 *
 * @param {Program} program @param {Record<'a' | 'b', any>} modules @param {any[]} outcomes
 */
function stateOf({ probes }, modules, outcomes) {
  const exported = ['a', 'b'].flatMap(module => Object.keys(modules[module]).sort().map(name => modules[module][name])
    .filter(value => typeof value === 'object' || Object.keys(value).length))
  const read = probes.map(({ module, name }) => { try { return modules[module][name]() } catch (error) { return error.message } })
  return outcomes.map(textOf).concat(exported.map(textOf), textOf(read)).join('\n').replace(/\[Function[^\]]*\]/g, '[Function]')
}

/**
 * The arguments of all calls of one run. A claim by identity does not exclude a claim of a variable that holds
 * the same object, so no argument is an object of the program.
 *
 * @param {Program} program @returns {any[][]}
 */
function argumentsOf({ calls }) {
  const object = () => ({ x: 1, y: 2, list: [3], inner: null })
  const shared = object()
  return calls.map(({ args }) => args.map(arg => arg === 'own' ? object() : arg === 'shared' ? shared : arg))
}

/**
 * The functions that the calls of one run call, and the object of hand-written code that activations keep.
 *
 * @param {Program} program @param {Record<'a' | 'b', any>} modules
 */
function functionsOf({ calls }, modules) {
  const outside = { x: 1, y: 2, list: [3], inner: null, fetchX() { return this.x | 0 }, storeX(n) { this.x = n } }
  const functions = calls.map(({ module, name, isHeld }) =>
    isHeld ? modules[module][name](outside, () => outside) : modules[module][name])
  return { outside, functions }
}

/**
 * Evaluates CommonJS files.
 *
 * @param {{ a: string, b: string }} texts @returns {Record<'a' | 'b', any>} their exports
 */
function required({ a, b }) {
  const evaluate = (text, require) => {
    const module = { exports: {} }
    new Function('exports', 'require', 'module', '__filename', '__dirname', text)
      .call(module.exports, module.exports, require, module, '', '')
    return module.exports
  }
  const first = evaluate(a, null)
  return { a: first, b: evaluate(b, () => first) }
}

/** @param {Program} program @returns {Record<'a' | 'b', any>} the modules, evaluated natively */
function native({ a, b, isCommonJS = false }) {
  if (isCommonJS) return required({ a, b })
  const evaluate = (text, values) => {
    const names = [...text.matchAll(/^export (?:const|let|class|(?:async )?function\*?) (\w+)/gm)].map(([, name]) => name)
    const imports = /^import (\{.*\}) from 'a'\n/.exec(text)
    return new Function('values', `'use strict'; ${imports ? `const ${imports[1]} = values;` : ''}
      ${text.replace(/^import.*\n/, '').replace(/^export /gm, '')}\nreturn { ${names.join(', ')} }`)(values)
  }
  const first = evaluate(a, {})
  return { a: first, b: evaluate(b, first) }
}

/** @param {any[]} list @returns {any[][]} all orders */
const orders = list => list.length < 2 ? [list]
  : list.flatMap((item, i) => orders(list.filter((_, k) => k !== i)).map(rest => [item, ...rest]))

/** The result of a call; a generator runs to its end. @param {any} value */
function resultOf(value) {
  if (typeof value?.next !== 'function' || typeof value[Symbol.iterator] !== 'function') return value
  for (;;) {
    const { done, value: result } = value.next()
    if (done) return result
  }
}

/** @param {unknown} error */
const failure = error => error instanceof Error ? `${error.name}` : { thrown: error }

/** @param {Program} program @returns {Promise<string[]>} the final states of all orders of the calls */
export async function serialStates(program) {
  const states = []
  for (const order of orders(program.calls.map((_, i) => i))) {
    const modules = native(program)
    const given = argumentsOf(program)
    const { outside, functions } = functionsOf(program, modules)
    const outcomes = []
    for (const i of order) {
      try {
        outcomes[i] = await resultOf(functions[i](...given[i]))
      } catch (error) {
        outcomes[i] = failure(error)
      }
    }
    states.push(stateOf(program, modules, [...outcomes, given, outside]))
  }
  return states
}

let programs = 0

/**
 * Rewrites a program.
 *
 * @param {Program} program
 * @param {{ packages: 'two' | 'one' | 'own', isKnown: boolean, padding: boolean, functions: number }} options
 *   `isKnown`: whether both modules are analysed together. `functions`: the maximum number of functions of a
 *   package that is analysed
 * @returns {{ a: string, b: string }}
 */
export function rewrite({ a, b, isCommonJS = false }, { packages, isKnown, padding, functions }) {
  programs++
  const urls = {
    two: { a: `file:///node_modules/pa${programs}/a.mjs`, b: `file:///node_modules/pb${programs}/b.mjs` },
    one: { a: `file:///node_modules/p${programs}/a.mjs`, b: `file:///node_modules/p${programs}/b.mjs` },
    own: { a: `file:///p${programs}/a.mjs`, b: `file:///p${programs}/b.mjs` }
  }[packages]
  const filled = { a: padding ? a + PADDING : a, b: padding ? b + PADDING : b }
  const specifier = packages === 'two' ? `pa${programs}` : './a.mjs'
  filled.b = isCommonJS ? filled.b.replaceAll("require('a')", `require('${specifier}')`)
    : filled.b.replace(" from 'a'", ` from '${specifier}'`)
  const type = isCommonJS ? 'commonjs' : 'module'
  const get = name => isKnown && name === specifier ? { url: urls.a, text: filled.a, type } : undefined
  const textAt = module => preemptify.source(filled[module], { type, runtime, url: urls[module], get })
    .replace(/\n\/\/# sourceMappingURL=.*\s*$/, '').replace(`'${specifier}'`, "'a'")
  return withLimit(functions, () => ({ b: textAt('b'), a: textAt('a') }))
}

/**
 * Ways in which a job calls a function: the job starts the function, or hand-written code of the job calls its
 * twin, or calls the function plainly.
 *
 * @type {Record<string, (fn: Function) => Function>}
 */
const CALLING = {
  start: fn => fn,
  twin: fn => function* (...args) { return yield* preemptify(fn)(...args) },
  plain: fn => function* (...args) { return resultOf(fn(...args)) }
}

let loads = 0

/**
 * @param {{ a: string, b: string }} texts @param {boolean} isCommonJS
 * @returns {Promise<Record<'a' | 'b', any>>} new instances
 */
async function load({ a, b }, isCommonJS) {
  if (isCommonJS) return required({ a, b })
  const urlOf = text => `data:text/javascript,${encodeURIComponent(text)}`
  const first = urlOf(`${a}\n//${loads++}`)
  const second = urlOf(`${b}\n//${loads}`.replace(/from\s*'a'/, `from ${JSON.stringify(first)}`))
  return { a: await import(first), b: await import(second) }
}

/**
 * Runs the calls of a program as jobs.
 *
 * @param {Program} program @param {{ a: string, b: string }} texts
 * @param {{ budget: number, slice: number, isVirtual: boolean, priorities: number[], releases: number[],
 *   plain: number, calling: string[] }} settings
 *   - `plain`: the number of a call that is no job, but made in a callback of the host; -1: none.
 *   - `calling`: how each job calls its function, see CALLING.
 * @returns {Promise<{ state: string, cycles: number, switches: number }>}
 */
export async function runAsJobs(program, texts, { budget, slice, isVirtual, priorities, releases, plain, calling }) {
  const modules = await load(texts, program.isCommonJS ?? false)
  let time = 0
  const host = isVirtual ? virtualHost({ read: READ }) : { ...defaultHost(), now: () => (time += READ) }
  const scheduler = new Scheduler({ host, slice, round: plain >= 0 ? 0.05 : 1e6, budget })
  const switches = switchesOf(scheduler)
  let cycles = 0
  const { warn } = console
  console.warn = text => { if (/each waits for the other/.test(text)) cycles++ }
  try {
    const outcomes = []
    const waits = []
    const all = argumentsOf(program)
    const { outside, functions } = functionsOf(program, modules)
    functions.forEach((fn, i) => {
      const given = all[i]
      const settle = promise => waits.push(promise.then(value => { outcomes[i] = value }, error => { outcomes[i] = failure(error) }))
      if (i !== plain) settle(scheduler.spawn(CALLING[calling[i]](fn), { budget, priority: priorities[i], release: releases[i] ? scheduler.now() + releases[i] : undefined }, ...given))
      else settle(new Promise((resolve, reject) => host.after(0.02, () => { try { resolve(resultOf(fn(...given))) } catch (error) { reject(error) } })))
    })
    const ended = Promise.all(waits)
    if (isVirtual) await host.drain()
    const isOver = await Promise.race([ended.then(() => true), new Promise(resolve => setTimeout(resolve, isVirtual ? 50 : 5000, false))])
    if (!isOver) return { state: `jobs do not end: ${scheduler.jobs?.().map?.(job => job.state) ?? ''}`, cycles, switches: switches.count }
    return { state: stateOf(program, modules, [...outcomes, all, outside]), cycles, switches: switches.count }
  } finally {
    console.warn = warn
  }
}

/** How a program is rewritten. @param {Random} random */
export const randomRewriting = random => ({
  packages: random.pick(['two', 'two', 'one', 'own']), isKnown: random.chance(0.6), padding: random.chance(0.6),
  functions: random.pick([limits.functions, limits.functions, limits.functions, 0, random.integer(5, 20)])
})

/** @param {Random} random @param {Program} program */
export function randomSettings(random, { calls }) {
  const count = calls.length
  const isVirtual = random.chance(0.8)
  const each = make => Array.from({ length: count }, make)
  return {
    budget: random.pick([1, 1, 1, 2, 5, 20]), slice: random.pick([0.001, 0.001, 0.001, 0.035, 0.2]), isVirtual,
    priorities: random.chance(0.3) ? each(() => random.integer(0, 2)) : each(() => 0),
    releases: random.chance(0.3) ? each(() => random.pick([0, 0.05, 0.2])) : each(() => 0),
    plain: isVirtual && random.chance(0.15) ? random.integer(0, count - 1) : -1,
    calling: each(() => random.pick(random.chance(0.6) ? ['start'] : ['start', 'twin', 'plain']))
  }
}
