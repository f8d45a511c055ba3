// `preemptify(f)` of a function of rewritten code that has no twin.
import { createRequire } from 'node:module'
import { runInThisContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { drive } from '../../support/drive.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href
const load = text => import(`data:text/javascript,${encodeURIComponent(preemptify.source(text, { runtime }))}`)

/** A CommonJS file. */
function loadScript(text) {
  const module = { exports: {} }
  const wrapper = runInThisContext(`(function (exports, require, module) {${preemptify.source(text, { type: 'script' })}\n})`)
  wrapper.call(module.exports, module.exports, createRequire(import.meta.url), module)
  return module.exports
}

const wholes = suite('functions without a twin')

const declarations = `
  const table = ['zero', 'one']
  const long = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
  class Shape {
    constructor(n) { this.n = n }
    name() { return table[this.n] }
    static of(n) { return table[n] }
    ['computed']() { return table[this.n] }
  }
  function declared(n) { return table[n] }
  function bound(n) { return long.bind(null, n).name }
  const arrow = n => table[n]
  const object = { method(n) { return table[n] }, property: n => table[n], 'a name': n => table[n], [Symbol.iterator]: n => table[n] }
  async function later(n) { return table[n] }
  function* items(n) { yield table[n]; return table[0] }
  function evaluated(n) { for (;;) return eval('table[n]') }
`
const exported = '{ Shape, declared, bound, arrow, object, later, items, evaluated }'
const files = {
  'an ES module': () => load(`${declarations} export ${exported}; export default function (n) { return table[n] }`),
  'a CommonJS file': () => loadScript(`${declarations} module.exports = ${exported}
    module.exports.default = function (n) { return table[n] }`),
  'a wrapped script': () => loadScript(`(function (factory) { factory(module) })(function (module) { ${declarations}
    module.exports = ${exported}; module.exports.default = function (n) { return table[n] } })`)
}

for (const [file, load] of Object.entries(files)) {
  wholes(`preemptify calls the short functions of ${file}`, async () => {
    const { Shape, declared, bound, arrow, object, later, items, evaluated, default: unnamed } = await load()
    const run = (fn, ...args) => drive(preemptify(fn)(...args))
    for (const fn of [declared, arrow, object.method, object.property, object['a name'], object[Symbol.iterator], Shape.of,
      evaluated, unnamed]) assert.is(run(fn, 1), 'one', fn.name)
    assert.is(drive(preemptify(Shape.prototype.name).call(new Shape(1))), 'one')
    assert.is(run(bound, 1), 'bound long')
    assert.is(await new Scheduler().spawn(preemptify(later), {}, 1), 'one')
    assert.equal([...preemptify(items)(1)], ['one'])
  })

  wholes(`the preemptible form of a short function of ${file} looks like the function`, async () => {
    const { declared, object, Shape } = await load()
    for (const fn of [declared, object.method, object['a name'], object[Symbol.iterator], Shape.prototype.name]) {
      const made = preemptify(fn)
      assert.is(made.name, fn.name)
      assert.is(made.length, fn.length)
      assert.is(made.source, String(fn))
      assert.is(preemptify(fn), made)
    }
  })
}

wholes('preemptify with an option evaluates a short function again', async () => {
  const { declared } = await load(`${declarations} export { declared }`)
  assert.is(drive(preemptify(declared, { scope: { table: { 1: 'given' } } })(1)), 'given')
})

wholes('the text of a short function is unchanged', async () => {
  const { f, g } = await load('export function f(a) { return a /* here */ } export const g = a => a')
  assert.is(String(f), 'function f(a) { return a /* here */ }')
  assert.is(String(g), 'a => a')
})

wholes('a job starts a function whose claims depend on its own variables', async () => {
  const source = { on: call => { call(2) }, x: 1 }
  const { counted, changed } = await load(`
    export function* counted(q) { let p = 1; yield; arguments[3]; q.on(item => { p += item; while (p++ < 4); }); return p }
    export function* changed(q, p) { yield; arguments[3]; q.on(item => { q.x += item; p++ }); return q.x }`)
  assert.is(await new Scheduler().spawn(counted, {}, source), 5)
  assert.is(await new Scheduler().spawn(changed, {}, source, 0), 3)
})

wholes.run()
