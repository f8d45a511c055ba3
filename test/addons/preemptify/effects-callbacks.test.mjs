/** The claims of functions that pass objects to callbacks. `s!` is an exclusive claim. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { claimsIn, claimsInGraph } from '../../support/effects-watch.mjs'

const callbacks = suite('preemptify.effects callbacks')

/** Functions `(f, o)` that call `f(o)`, by the way in which the function and the object get there. */
const WAYS = {
  'a parameter': '(f, o) => { f(o) }',
  'a parameter of a callback': '(f, o) => { once(() => { f(o) }) }',
  'a captured callback': '(f, o) => { const call = x => { f(x) }; call(o) }',
  'a captured object': '(f, o) => { const call = g => { g(o) }; call(f) }',
  'a callback that gets both': '(f, o) => { const call = (g, x) => { g(x) }; call(f, o) }',
  'a callback of a callback': '(f, o) => { apply(g => { apply(g, o) }, f) }',
  'a callback that gets a function': '(f, o) => { const pass = (g, x) => { g(y => { f(y) }, x) }; pass((h, y) => { h(y) }, o) }',
  'call and apply': '(f, o) => { const call = g => { g.call(null, o) }; call.apply(null, [f]) }',
  'a rest parameter': '(f, ...list) => { const call = (x, ...fs) => { fs.forEach(g => { g(x) }) }; call(list[0], f) }',
  'a list': '(f, o) => { const list = [f]; const g = list[0]; g(o) }',
  'a list in a returned closure': '(f, o) => { const make = list => x => { const g = list[0]; g(x) }; make([f])(o) }',
  'a property': '(f, o) => { const t = { f }; const { f: g } = t; g(o) }',
  'a property of the object': '(f, o) => { const t = { o }; f(t.o) }',
  'a returned closure': '(f, o) => { const make = g => x => { g(x) }; make(f)(o) }',
  'a captured function as a result': '(f, o) => { const get = () => f; once(() => { apply(get(), o) }) }',
  'a function that a closure calls for its caller': '(f, o) => { const run = (g, x) => { const get = () => g; apply(y => { get()(y) }, x) }; run(g => { once(() => { g(o) }) }, f) }',
  'a parameter as a result': '(f, o) => { const same = x => x; const g = same(y => { f(y) }); g(o) }',
  'a function that gets itself': '(f, o) => { const turn = (g, n) => { if (n > 0) g(g, n - 1); else f(o) }; turn(turn, 2) }'
}
const HELPERS = 'function once(f) { f() } function apply(f, o) { f(o) }'
/** The claim of `work`, which passes the object `t` and a callback to a function `way`. */
const claimOf = (way, callback) => claimsIn(`${HELPERS}
  const t = { n: 0 }; const way = ${way}
  export function work() { way(${callback}, t); for (;;); } export function set() { t.n = 1 }`).work

for (const [name, way] of Object.entries(WAYS)) {
  callbacks(`${name}: a callback that writes makes an exclusive claim`, () => {
    assert.match(claimOf(way, 'o => { o.n = 2 }'), /t!/)
  })
}

callbacks('call, apply and bind reach a callback if the program has methods with these names', () => {
  const methods = 'const other = { call: f => f, apply() { return 1 }, bind() { return 1 } }; export const call = () => other.call(other.apply)'
  for (const way of ['g => { g.call(null, t) }', 'g => { g.apply(null, [t]) }', 'g => { g.bind(null, t)() }']) {
    const claims = claimsIn(`${methods}\nconst t = { n: 0 }; const way = ${way}
      export function work() { way(o => { o.n = 2 }); for (;;); } export function set() { t.n = 1 }`)
    assert.match(`${claims.work} ${claims.way}`, /t!/, way)
  }
})

callbacks('a callback that only reads an object makes a shared claim', () => {
  const precise = Object.entries(WAYS).filter(([name]) => !/list|property$|returned|result|itself|gets a function|for its caller/.test(name))
  for (const [name, way] of precise) assert.is(claimOf(way, 'o => o.n'), 't', name)
})

callbacks('a callback that an object keeps, or that outlives the call, gets the captured object', () => {
  for (const keep of ['kept.push(g)', 'kept.f = g', 'queueMicrotask(g)', 'return g', 'return { g }', 'throw g']) {
    assert.match(claimOf(`(f, o) => { const g = () => f(o); ${keep} }; const kept = []`, 'o => o.n'), /t!/, keep)
  }
})

callbacks('a closure of another activation calls the function of that activation', () => {
  const way = `(f, o) => {
    const turn = (u, n, v) => {
      const run = x => { u(x) }
      if (n > 0) {
        const { run: other } = turn(y => { y.n = 2 }, n - 1, {})
        other(v)
      }
      return { run }
    }
    turn(f, 1, o)
  }`
  assert.match(claimOf(way, 'o => o.n'), /t!/)
})

callbacks('a new list keeps its elements free if a callback gets the list', () => {
  const text = (/** @type {string} */ change) => `
    const t = [{ n: 1 }]
    function sorted(list, ...fs) { list = Array.from(list); fs = fs.map(f => list.map(f)); return fs }
    export function work() { sorted(t, x => ${change}); for (;;); } export function set() { t[0].n = 1 }`
  assert.is(claimsIn(text('x.n')).work, 't')
  assert.match(claimsIn(text('(x.n = 2)')).work, /t!/)
})

callbacks('a list that holds an object with a private list stays free', () => {
  const text = `class Bag { constructor() { Object.defineProperties(this, { list: { value: [] } }) } }
    const t = [1, 2]
    function bags(list) { const bag = new Bag(); const all = [bag, list]; return all.length }
    export function work() { bags(t); for (;;); } export function add() { t.push(3) }`
  assert.is(claimsIn(text).work, 't')
})

callbacks('an unknown function in an inner object of an argument is called', () => {
  const claim = (/** @type {string} */ store, place = 'box.inner') => claimsIn(`const t = { n: 0 }
    function assign(o, v) { o.v = v }
    function put(box, v) { ${store} }
    export function work(v) {
      const box = { v: o => o.n, inner: { v: o => o.n } }
      put(box, v)
      const g = ${place}.v
      g(t)
      for (;;);
    }
    export function set() { t.n = 1 }`).work
  assert.is(claim('box.v = v', 'box'), 't!')
  assert.is(claim('box.inner.v = v'), 't!')
  assert.is(claim('assign(box.inner, v)'), 't!')
})

callbacks('objects of CommonJS are missing in a module', () => {
  const text = (/** @type {string} */ type) => `
    const free = typeof exports ${type} && exports
    const parts = free && free.parts
    const util = (function () { try { if (parts) return parts; return free && free.util } catch { } })()
    const check = util && util.check ? parts.check : o => o.n
    const t = { n: 0 }
    export function work() { check(t); for (;;); } export function set() { t.n = 1 }`
  assert.is(claimsIn(text("== 'object'")).work, 't')
  assert.match(claimsIn(text("!= 'undefined'")).work, /t!/)
})

callbacks('map makes a list of results, flatMap a list of their elements', () => {
  const claim = (/** @type {string} */ method) => claimsIn(`const t = { n: 0 }
    function change(o) { const all = [o].${method}(x => [x]); all[0].n = 2 }
    export function work() { change(t); for (;;); } export function set() { t.n = 1 }`).work
  assert.is(claim('map'), 't')
  assert.is(claim('flatMap'), 't!')
})

callbacks('a callback of another module is followed', () => {
  const graph = (/** @type {string} */ change) => claimsInGraph({
    './a.mjs': `import { each } from './b.mjs'; const t = [{ n: 1 }]
      export function work() { each(t, x => ${change}); for (;;); } export function set() { t[0].n = 1 }`,
    './b.mjs': 'export function each(list, f) { list.forEach(x => { const go = g => { g(x) }; go(f) }) }'
  }).work
  assert.is(graph('x.n'), 't')
  assert.match(graph('(x.n = 2)'), /t!/)
})

callbacks.run()
