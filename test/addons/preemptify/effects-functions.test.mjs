/** Claims of functions with properties. `f!` is an exclusive claim. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { analysed, claimsIn, titleOf } from '../../support/effects-watch.mjs'

const functions = suite('preemptify.effects of functions with properties')

const TEXT = 'const f = x => x; f.n = 0; export function set() { const n = f.n; for (;;); f.n = n + 1 }'
/** The claims of `use`. */
const claimOf = (/** @type {string} */ text) => claimsIn(`${TEXT}; ${text}`).use

functions('a function that leaves is claimed exclusively if a property is written after loading', () => {
  assert.is(claimOf('export function use(o) { for (;;) o.run(f) }'), 'f!')
  assert.is(claimOf('export function use() { for (;;) throw f }'), 'f!')
  assert.is(claimOf('export class A { use() { return f } }'), 'f!')
  assert.is(claimOf('export const use = g => { for (;;) g(f) }'), 'f!')
})

functions('a function whose properties are read is claimed shared', () => {
  assert.is(claimOf('export function use() { for (;;) if (f.n) return }'), 'f')
  assert.is(claimOf('function read(g) { return g.n } export function use() { for (;;) if (read(f)) return }'), 'f')
})

functions('a function that leaves needs no claim if its properties are written while loading', () => {
  const { use } = claimsIn('const f = x => x; f.n = 0; export function use(o) { for (;;) o.run(f) } export const get = () => f.n')
  assert.is(use, '')
})

functions('a call and a function that returns itself make no claim', () => {
  assert.is(claimOf('export function use(x) { for (;;) f(x) }'), '')
  assert.is(claimsIn('function use() { for (;;) return use } use.n = 1; export { use }; export function set() { use.n++ }').use, '')
})

functions('a function and an unknown object in a variable of a closure share a lock', () => {
  const aliases = (/** @type {string} */ change) => {
    const { units: [{ plans }] } = analysed({ a: `${TEXT}; const make = g => function use() { for (;;) ${change} }; export const c = make(f)` })
    const of = (/** @type {string} */ name) => plans.find(plan => titleOf(plan) === name).claims[0].location.aliases
    return [of('set'), of('use')]
  }
  for (const change of ['g.n++', 'if (g.n) return']) {
    const [set, use] = aliases(change)
    assert.is(set, use, change)
  }
})

functions('an object in a property of a function leaves with the function', () => {
  const leaving = {
    'a property': 'const T = () => {}; T.o = object; globalThis.use(T)',
    'a property of a function in a property': 'const T = () => {}; T.sub = () => {}; T.sub.o = object; globalThis.use(T)',
    'a static field': 'class T { static o = object } globalThis.use(T)',
    'an inherited static field': 'class B { static o = object } class T extends B {} globalThis.use(T)'
  }
  for (const [name, text] of Object.entries(leaving)) {
    assert.is(claimsIn(`const object = { n: 0 }; export function work() { ${text} }`).work, 'object!', name)
  }
})

functions('an argument in a property of a function leaves with the function', () => {
  const look = text => claimsIn(`const object = { n: 0 }; const hold = o => { const T = () => {}; T.o = o; ${text} }
    export const work = () => hold(object); export function look() { for (;;) if (object.n) return }`).look
  assert.is(look('globalThis.use(T)'), 'object')
  assert.is(look(''), '')
})

functions('a function leaves without the objects in its prototype', () => {
  const text = 'function T() {} T.prototype = { list: [] }; export function work() { globalThis.use(T) } export const add = () => T.prototype.list.push(1)'
  assert.is(claimsIn(text).work, '')
})

functions.run()
