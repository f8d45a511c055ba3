/** Claims of unknown objects: captured parameters, callbacks, and properties of literals. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { claimsIn, claimsInGraph } from '../../support/effects-watch.mjs'

const unknown = suite('preemptify.effects of unknown objects')

/** Compares the claims of some functions of a text. */
function claims(text, expected) {
  const found = claimsIn(text)
  for (const [name, claimed] of Object.entries(expected)) {
    assert.is(found[name], claimed, `${name} in ${text}`)
  }
}

unknown('a closure that its maker only returns calls the functions that the program passes', () => {
  const claimOf = (make, rest) => claimsIn(`const t = { n: 1 }; export function w() { t.n = 2 }
    ${make} ${rest} export function caller() { return each(t) }`).caller
  const make = 'export function make(g) { return o => g(o) }'
  assert.is(claimOf(make, 'const each = make(o => o.n)'), 't')
  assert.is(claimOf('export const make = g => o => g(o)', 'const each = make(o => o.n)'), 't')
  assert.is(claimOf(make, 'const each = make(o => { o.n = 2 })'), 't!')
  assert.is(claimOf(make, 'const each = make(unknown)'), 't!')
  assert.is(claimOf(make, 'const each = make(o => o.n); export const other = make(o => { o.n = 3 })'), 't!')
  assert.is(claimOf(make, 'let each; export function set(g) { each = make(g) } set(o => o.n)'), 'each! t!')
  assert.is(claimOf('let last; export function make(g) { const c = o => g(o); last = c; return c }', 'const each = make(o => o.n)'), 't!')
  assert.is(claimOf('export function make(g) { g = unknown; return o => g(o) }', 'const each = make(o => o.n)'), 't!')
})

unknown('a maker of closures that passes its parameter to itself calls the same functions', () => {
  const claimOf = (/** @type {string} */ change) => claimsIn(`const t = { n: 1 }; export function w() { t.n = 2 }
    function make(g, n) { if (n) make(g, n - 1); return o => g(o) }
    const each = make(o => ${change}, 2); export function caller() { return each(t) }`).caller
  assert.is(claimOf('o.n'), 't')
  assert.is(claimOf('(o.n = 2)'), 't!')
})

unknown('a closure that passes state of the module to a captured parameter lets it leave', () => {
  claims('const t = { n: 1 }; export function make(g) { return function c() { return g(t) } } export function r() { return t.n + 1 }',
    { c: 't!', r: 't' })
})

unknown('a variable that holds the global object in every environment is the global object', () => {
  const root = `const freeGlobal = typeof global == 'object' && global && global.Object === Object && global
    const freeSelf = typeof self == 'object' && self`
  const use = 'const Symbol = root.Symbol, tag = Symbol ? Symbol.toStringTag : 0; export function f(v) { return tag in v ? 1 : 2 }'
  claims(`${root}; const root = freeGlobal || freeSelf || Function('return this')(); ${use}`, { f: '' })
  claims(`${root}; const root = freeGlobal || unknown(); ${use} export function w() { root.Symbol.x = 1 }`, { f: 'tag.*', w: 'root.*!' })
})

unknown('a built-in value of the global object is known in modules that import it', () => {
  assert.is(claimsInGraph({
    'a.js': "import Symbol from 's.js'; const tag = Symbol ? Symbol.toStringTag : 0; export function f(v) { return tag in v ? 1 : 2 }",
    's.js': "import root from 'root.js'; var Symbol = root.Symbol; export default Symbol",
    'root.js': "var free = typeof self == 'object' && self; var root = free || Function('return this')(); export default root"
  }).f, '')
})

unknown('names of CommonJS are undefined in modules, whichever module reads them first', () => {
  const claimOf = (/** @type {string} */ first) => claimsInGraph({
    'a.js': `import 'b.js'; import { call } from 'c.js'; ${first}
      const t = [{ n: 1 }]; export function set() { t[0].n++; t.push(2) } export function f() { return call(t) }`,
    'b.js': "export const free = typeof exports == 'object' && exports",
    'c.js': "import { free } from 'd.js'; const own = x => x.length; export const call = free ? free.call : own",
    'd.js': "const free = typeof exports == 'object' && exports; export { free }"
  }).f
  assert.is(claimOf(''), 't')
  assert.is(claimOf("export const free = typeof exports == 'object' && exports"), 't')
  assert.is(claimOf('exports = { call: o => { o[0].n = 2 } }'), 't!')
})

unknown('a test by typeof shows that a constant variable holds a primitive value', () => {
  const claimOf = body => claimsIn(`export function make(x) { ${body} }`).g
  const g = '() => { return x }'
  for (const body of [`if (typeof x === 'number') return { g: ${g} }`, `return typeof x == 'string' ? { g: ${g} } : 0`,
    `return typeof x === 'string' && { g: ${g} }`, `if (typeof x !== 'string') throw x; return { g: ${g} }`,
    `if (typeof x !== 'string') { return } return { g: ${g} }`]) assert.is(claimOf(body), '', body)
  for (const body of [`if (typeof x !== 'string') y(); return { g: ${g} }`, `if (typeof x === 'string') y(); return { g: ${g} }`,
    `if (typeof x === 'object') return { g: ${g} }`, `if (typeof x === 'number') return 1; else return { g: ${g} }`,
    `if (typeof x === 'number' || y) return { g: ${g} }`, `if (typeof x !== 'number') return { g: ${g} }`,
    `if (typeof x !== 'number') return; else y(); return { g: ${g} }`,
    `if (y) { if (typeof x !== 'number') return } return { g: ${g} }`,
    'y(g); if (typeof x !== "number") return; function g() { return x }']) assert.is(claimOf(body), 'x.*!', body)
  assert.is.not(claimOf(`if (typeof x === 'number') { x = {}; return { g: ${g} } }`), '')
  const { g: sloppy } = claimsIn(`function make(x) { if (typeof x !== 'number') return
    arguments[0] = {}; return { g: () => { return x } } }`, 'script')
  assert.is(sloppy, 'x!')
})

unknown('require() and an awaited import() within expressions claim the objects of the module', () => {
  claims(`export function f() { require('s').n++ } export function g() { return require('s').n + 1 }
    export function h() { return require('s').list.push(1) }`, { f: 's.*!', g: 's.*', h: 's.*!' })
  claims(`export async function f() { (await import('s')).o.n++ }
    export async function g() { return (await import('s')).o.n + 1 }`, { f: 's.*!', g: 's.*' })
})

unknown('a reaction of import() claims the objects of the module', () => {
  for (const reaction of ['m => { m.o.n++ }', '({ o }) => { o.n++ }']) {
    assert.match(claimsIn(`export function f() { import('s').then(${reaction}) }`).ArrowFunctionExpression, /s\.\*!/)
  }
  assert.match(claimsIn("export function f() { import('s').then(use) } function use(m) { m.n++ }").use, /s\.\*!/)
})

unknown('a reaction claims the value of its promise', () => {
  claims(`const own = { n: 1 }; async function load() { return own } function use(o) { o.n++ }
    export function f() { load().then(use) } export function g() { return own.n + 1 }`, { use: 'o.*!', g: 'own' })
})

unknown('the result of an async function or a generator leaves', () => {
  const text = 'const own = { n: 1 }; export function g() { return own.n + 1 } export'
  claims(`${text} async function f() { return own }`, { f: 'own!', g: 'own' })
  claims(`${text} function* f() { return own }`, { f: 'own!', g: 'own' })
})

unknown('a closure that only calls its captured parameter claims nothing', () => {
  claims('export function make(f) { return function g(x) { return f(x) } }', { make: '', g: '' })
})

unknown('a closure that passes its captured parameter on claims all unknown objects', () => {
  claims('export function make(o) { return function g(f) { return f(o) } }', { make: '', g: 'o.*!' })
})

unknown('a closure that passes on an object of the module claims the module', () => {
  claims(`const t = { x: 1 }; function make(o) { return function g(f) { return f(o) } }
    export const leak = make(t); export function read() { return t.x + 1 }`, { g: 'o.*!', read: 't' })
})

unknown('a closure that writes its captured parameter excludes other readers', () => {
  const found = claimsIn(`function writer(o) { return function w() { o.x = 1 } }
    function reader(o) { return function r() { return o.x + 1 } }
    export function both() { const o = { x: 0 }; return [writer(o), reader(o)] }`)
  assert.match(found.w, /o\.\*!/)
  assert.match(found.r, /o\.\*(?: |$)/)
})

unknown('a closure that only reads state that no closure writes claims nothing', () => {
  claims('export function make(o) { return function g() { return o.x + 1 } }', { g: '' })
})

unknown('a caller claims an object by the effects of its callback', () => {
  const text = 'const t = { x: 1 }; export function set() { t.x = 2 } function each(p, f) { f(p) }'
  claims(`${text} export function g() { each(t, o => o.x + 1) }`, { g: 't' })
  claims(`${text} export function g() { each(t, o => { o.x = 1 }) }`, { g: 't!' })
  claims(`${text} export function g(f) { each(t, f) }`, { g: 't!' })
  claims(`${text} function again(p, f) { each(p, f) } export function g() { again(t, o => o.x + 1) }`, { g: 't' })
  claims(`${text} function bound(p, f) { f.call(null, p) } export function g() { bound(t, o => o.x + 1) }`, { g: 't' })
})

unknown('a caller claims exclusively if a built-in function is the callback', () => {
  claims(`const t = { x: 1 }; export function set() { t.x = 2 } function each(p, f) { f(p) }
    export function g() { each(t, Object.freeze) }`, { g: 't!' })
})

unknown('a write of an object inside a parameter does not write the parameter', () => {
  claims(`const inner = { x: 1 }, t = { inner }; function put(p) { p.inner.x = 2 }
    export function f() { put(t) } export function g() { return inner.x + 1 }`, { f: 'inner!', g: 'inner' })
})

unknown('passing a function without written properties claims nothing', () => {
  claims(`function state() { return 1 } function plain() { return 2 }
    function put(p) { p.n = 1 } export function f() { put(state) } export function g() { return state.n + 1 }
    export function h(c) { c(plain) }`, { f: 'state!', g: 'state', h: '' })
})

unknown('a property of a literal is the value under its name alone', () => {
  const text = 'const list = [1], t = { list, get: x => x };'
  claims(`${text} export function f(o) { o.get = t.get } export function g() { return list.length }`, { f: '', g: '' })
  claims(`${text} export function f(o) { o.list = t.list } export function g() { return list.length }`,
    { f: 'list!', g: 'list' })
  claims(`${text} export function f(o, k) { o.list = t[k] } export function g() { return list.length }`,
    { f: 'list!', g: 'list' })
  claims(`${text} const u = { ...t }; export function f(o) { o.get = u.get } export function g() { return list.length }`,
    { f: '', g: '' })
  claims(`${text} const u = { ...t }; export function f(o) { o.l = u.list } export function g() { return list.length }`,
    { f: 'list!', g: 'list' })
})

unknown('a TextEncoder in a variable only reads', () => {
  claims('const e = new TextEncoder(); export const f = s => e.encode(s).length', { f: '' })
})

unknown('a function without a twin does not claim its new activation', () => {
  const { f } = claimsIn(`const l = [1]; function each(list, f) { for (const x of list) f(x) }
    export function f(q) { q = q || { x: 1 }; each(l, () => { eval('1'); q.x = 1 }); l.push(1) }`)
  assert.match(f, /all!/)
  assert.not.match(f, /@f/)
})

unknown.run()
