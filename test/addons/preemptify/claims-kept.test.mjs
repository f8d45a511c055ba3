/** Claims of objects that several holders keep: activations of functions, and packages. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { rewrittenModule, written } from '../../support/modules.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href
const PAUSE = 'function pause() { for (let i = 0; i < 5; i++); }\n'

/**
 * Runs functions as jobs that take turns at each point.
 *
 * @param {(() => unknown)[]} functions @returns {Promise<unknown[]>} their results
 */
async function runTogether(...functions) {
  const host = virtualHost({ read: 0.01 })
  const scheduler = new Scheduler({ host, slice: 0.001, round: 1e6, budget: 1 })
  const results = Promise.all(functions.map(fn => scheduler.spawn(fn)))
  await host.drain()
  return results
}

/** An object of hand-written code. */
const outsideObject = () => ({
  n: 0, list: [], inner: { n: 0 }, fetch() { return this.n }, take(n) { this.n = n }
})

const activations = suite('objects of several activations')

/** Bodies of closures that change an object `o` once. */
const CHANGES = {
  'writes a property': 'const before = o.n; pause(); o.n = before + 1',
  'writes an inner object': 'const before = o.inner.n; pause(); o.n = o.inner.n = before + 1',
  'appends to a list': 'const before = o.list.length; pause(); o.list.push(before); o.n = before + 1',
  'calls unknown methods': 'const before = o.fetch(); pause(); o.take(before + 1)',
  'passes the object on': 'const before = o.n; pause(); change(o, before + 1)'
}
/** Functions that keep an object `given`, or the result of the function `get`, for their closures. */
const MAKERS = {
  'a parameter': body => `function make(o, get, change) { return () => { ${body} } }`,
  'the result of a call': body => `function make(given, get, change) { const o = get(); return () => { ${body} } }`,
  'a variable that is assigned later': body =>
    `function make(given, get, change) { let o; o = given; return () => { ${body} } }`,
  'a property of a new object': body =>
    `function make(given, get, change) { const kept = { given }; return () => { const o = kept.given; ${body} } }`,
  'an outer closure': body =>
    `function make(given, get, change) { const read = () => given; return () => { const o = read(); ${body} } }`,
  'an element of a list': body =>
    `function make(given, get, change) { const list = []; list.push(given); return () => { const [o] = list; ${body} } }`
}
for (const [title, maker] of Object.entries(MAKERS)) {
  for (const [action, body] of Object.entries(CHANGES)) {
    activations(`${title}: two activations exclude each other if one ${action}`, async () => {
      const { make } = await rewrittenModule(`${PAUSE}export ${maker(body)}`)
      const object = outsideObject()
      const change = (o, n) => { o.n = n }
      await runTogether(make(object, () => object, change), make(object, () => object, change))
      assert.is(object.n, 2)
    })
  }
  activations(`${title}: a closure that reads excludes a closure that writes`, async () => {
    const { make, other } = await rewrittenModule(`${PAUSE}
      export ${maker('o.n++; pause(); o.n++')}
      export ${maker('const before = o.n; pause(); return o.n - before').replace('make', 'other')}`)
    const object = outsideObject()
    const get = () => object
    assert.equal(await runTogether(make(object, get), other(object, get)), [undefined, 0])
  })
}

activations('an activation that lets its own object leave excludes readers of the object', async () => {
  const { make, other } = await rewrittenModule(`${PAUSE}
    export function make(C) { const o = new C(); return { o, change() { o.add(1); pause(); o.add(1) } } }
    export function other(o) { return () => { const before = o.n; pause(); return o.n - before } }`)
  const C = class { n = 0; add(n) { this.n += n } }
  const { o, change } = make(C)
  assert.equal(await runTogether(change, other(o)), [undefined, 0])
})

activations('a new object that leaves its activation excludes readers of the object', async () => {
  const { make, other } = await rewrittenModule(`${PAUSE}
    export function make(add) { const o = { n: 0 }; return { o, change() { add(o); pause(); add(o) } } }
    export function other(o) { return () => { const before = o.n; pause(); return o.n - before } }`)
  const { o, change } = make(o => { o.n++ })
  assert.equal(await runTogether(change, other(o)), [undefined, 0])
})

/** Objects of an activation, as a closure reaches them. */
const STATE_OF_ACTIVATION = {
  'a new object': 'const own = { n: 0 }; const read = () => own.n',
  'an outside object': 'const list = []; list.push(given); const own = list[0]; const read = () => own.n'
}
for (const [title, state] of Object.entries(STATE_OF_ACTIVATION)) {
  activations(`${title}: a closure that a closure calls in place writes for its caller`, async () => {
    const { make } = await rewrittenModule(`${PAUSE}export function make(given) { ${state}; return { read, change() {
      const o = own
      const add = n => { const before = o.n; pause(); o.n = before + n }
      add(1)
    } } }`)
    const { read, change } = make({ n: 0 })
    await runTogether(change, change)
    assert.is(read(), 2)
  })
}

activations('a function under a computed name does not make a call of an outside method known', async () => {
  const { make } = await rewrittenModule(`${PAUSE}
    export const table = {}; table[String('later')] = n => n
    export function make(o) { return () => { const before = o.fetch(); pause(); o.take(before + 1) } }`)
  const object = outsideObject()
  await runTogether(make(object), make(object))
  assert.is(object.n, 2)
})

activations('two activations interleave if they keep primitive values or functions', async () => {
  const { make } = await rewrittenModule(`${PAUSE}
    export let last; export function use(o) { last = o; o.n++ }
    export function make(o, add, log) { return () => { log(); pause(); log(); add(o) } }`)
  const areApart = async (...values) => {
    const order = []
    await runTogether(...values.map((value, i) => make(value, () => {}, () => { order.push(i) })))
    return order[0] === order[1]
  }
  assert.is(await areApart(1, 2), false)
  assert.is(await areApart(() => {}, () => {}), false)
  assert.is(await areApart({}, {}), true)
})

activations.run()

const packages = suite('objects of several packages')

/** Functions that change an object once. */
const changing = (name, object) =>
  `export function ${name}() { const o = ${object}; const before = o.n; pause(); o.n = before + 1 }\n`

/**
 * Ways in which an object of module `b` gets into module `a`, which keeps the object: the text of `a`, and the
 * text of `b`.
 *
 * @type {Record<string, [string, string, string]>} the object as `a` reaches it, and the texts of `a` and of `b`
 */
const WAYS = {
  'an argument at load': ['kept', 'let kept; export function keep(o) { kept = o }',
    'import { keep } from "a"; keep(own)'],
  'an argument of a later call': ['kept', 'let kept; export function keep(o) { kept = o }',
    'import { keep } from "a"; export function start() { keep(own) }'],
  'an object inside an argument': ['kept.inner', 'let kept; export function keep(o) { kept = o }',
    'import { keep } from "a"; keep({ inner: own })'],
  'an element of a list': ['list[0]', 'const list = []; export function keep(o) { list.push(o) }',
    'import { keep } from "a"; keep(own)'],
  'an entry of a map': ['map.get(1)', 'const map = new Map(); export function keep(o) { map.set(1, o) }',
    'import { keep } from "a"; keep(own)'],
  'a method of an object': ['store.kept', 'export const store = { kept: null, keep(o) { this.kept = o } }',
    'import { store } from "a"; store.keep(own)'],
  'a method of a class': ['store.kept', 'class Store { keep(o) { this.kept = o } } export const store = new Store()',
    'import { store } from "a"; store.keep(own)'],
  'a constructor': ['last.kept', 'let last; export class Store { constructor(o) { this.kept = o; last = this } }',
    'import { Store } from "a"; new Store(own)'],
  'a receiver': ['kept', 'let kept; export function keep() { kept = this }',
    'import { keep } from "a"; keep.call(own)'],
  'a result of a callback': ['kept', 'let kept; export function load(get) { kept = get() }',
    'import { load } from "a"; load(() => own)'],
  'a stored property': ['store.kept', 'export const store = { kept: null }',
    'import { store } from "a"; store.kept = own'],
  'an inner function': ['kept', 'let kept; function set(o) { kept = o } export function keep(o) { set(o) }',
    'import { keep } from "a"; keep(own)'],
  'a closure': ['read()', 'let read; export function keep(o) { read = () => o }',
    'import { keep } from "a"; keep(own)'],
  'a namespace': ['kept', 'let kept; export function keep(o) { kept = o }',
    'import * as a from "a"; a.keep(own)']
}
const STATE = 'const own = { n: 0 }; export const total = () => own.n\n'

/** Ways in which module `b` gets an object of module `a`, and keeps the object. */
const WAYS_BACK = {
  'a result': ['kept', 'export const get = () => own', 'import { get } from "a"; const kept = get()'],
  'a later result': ['kept', 'export const get = () => own',
    'import { get } from "a"; let kept; export function start() { kept = get() }'],
  'an object inside a result': ['kept.inner', 'export const get = () => ({ inner: own })',
    'import { get } from "a"; const kept = get()'],
  'an argument of a callback': ['kept', 'export const each = f => { f(own) }',
    'import { each } from "a"; let kept; each(o => { kept = o })'],
  'a property of an import': ['kept', 'export const store = { item: own }',
    'import { store } from "a"; const kept = store.item'],
  'a result of a method': ['kept', 'export const store = { get() { return own } }',
    'import { store } from "a"; const kept = store.get()'],
  'a thrown object': ['kept', 'export function fail() { throw own }',
    'import { fail } from "a"; let kept; try { fail() } catch (error) { kept = error }']
}

let programs = 0

/**
 * Loads modules that `preemptify.source` has rewritten.
 *
 * @param {Record<string, string>} texts the texts by their names; a module imports earlier modules
 * @param {() => Record<string, string>} place returns the paths by the names of the modules
 * @param {boolean} isKnown whether the text of an importer is analysed together with the imported texts
 */
async function loaded(texts, place, isKnown) {
  const at = `file:///kept-${programs++}/`
  const paths = place()
  const modules = {}
  const files = {}
  const outputs = {}
  const names = Object.keys(texts)
  const specifierOf = name => /^node_modules\/(.*)\//.exec(paths[name])?.[1] ?? `./${paths[name]}`
  const textOf = name => PAUSE + texts[name].replace(/(?<= from )"(\w)"/g, (_, other) => `"${specifierOf(other)}"`)
  const get = specifier => {
    const name = names.find(name => specifierOf(name) === specifier)
    return isKnown && name !== undefined ? { url: at + paths[name], text: textOf(name) } : undefined
  }
  for (const name of isKnown ? [...names].reverse() : names) {
    outputs[name] = preemptify.source(textOf(name), { runtime, url: at + paths[name], get })
  }
  for (const name of names) {
    let output = outputs[name]
    for (const other in files) output = output.replaceAll(`"${specifierOf(other)}"`, `"${files[other]}"`)
    files[name] = written(output)
    modules[name] = await import(files[name])
  }
  return modules
}

/** The paths of the modules. Packages have new names for each test, because a join of two locks remains. */
const PLACES = {
  'two packages': () => ({ a: `node_modules/a${programs}/a.mjs`, b: `node_modules/b${programs}/b.mjs`, c: 'c.mjs' }),
  'own code and a package': () => ({ a: `node_modules/a${programs}/a.mjs`, b: 'b.mjs', c: 'c.mjs' }),
  'own code': () => ({ a: 'a.mjs', b: 'b.mjs', c: 'c.mjs' })
}
for (const [where, place] of Object.entries(PLACES)) {
  for (const isKnown of [true, false]) {
    const title = `${where}${isKnown ? '' : ', apart'}`
    for (const [way, [object, a, b]] of Object.entries(WAYS)) {
      packages(`${title}: ${way} that the other keeps has one lock`, async () => {
        const texts = { a: `${a}\n${changing('alter', object)}`, b: `${STATE}${b}\n${changing('change', 'own')}` }
        const modules = await loaded(texts, place, isKnown)
        modules.b.start?.()
        await runTogether(modules.a.alter, modules.b.change)
        assert.is(modules.b.total(), 2)
      })
    }
    for (const [way, [object, a, b]] of Object.entries(WAYS_BACK)) {
      packages(`${title}: ${way} that the importer keeps has one lock`, async () => {
        const texts = { a: `${STATE}${a}\n${changing('change', 'own')}`, b: `${b}\n${changing('alter', object)}` }
        const modules = await loaded(texts, place, isKnown)
        modules.b.start?.()
        await runTogether(modules.b.alter, modules.a.change)
        assert.is(modules.a.total(), 2)
      })
    }
    packages(`${title}: an object that a third module passes on has one lock`, async () => {
      const { a, b } = await loaded({
        a: `let kept; export function keep(o) { kept = o }\n${changing('alter', 'kept')}`,
        b: `${STATE}export const get = () => own\n${changing('change', 'own')}`,
        c: 'import { keep } from "a"; import { get } from "b"; keep(get())'
      }, place, isKnown)
      await runTogether(a.alter, b.change)
      assert.is(b.total(), 2)
    })
  }
}

packages('two packages of CommonJS that change one object have one lock', async () => {
  const texts = {
    a: `let kept; exports.keep = o => { kept = o }; exports.alter = function () { ${CHANGES['writes a property'].replaceAll('o.', 'kept.')} }`,
    b: `const { keep } = require('commonjs-a'); const own = { n: 0 }; keep(own); exports.total = () => own.n
      exports.change = function () { ${CHANGES['writes a property'].replaceAll('o.', 'own.')} }`
  }
  const modules = {}
  for (const [name, text] of Object.entries(texts)) {
    const url = `file:///commonjs/node_modules/commonjs-${name}/index.js`
    const output = preemptify.source(`export const exports = {}; ${PAUSE}${text}`, { runtime, url })
    globalThis.require = () => modules.a
    modules[name] = (await import(written(output))).exports
    delete globalThis.require
  }
  await runTogether(modules.a.alter, modules.b.change)
  assert.is(modules.b.total(), 2)
})

packages.run()
