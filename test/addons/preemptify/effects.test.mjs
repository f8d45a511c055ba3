/** The claims of small programs. `s!` is an exclusive claim, `n@f` belongs to the activation of `f`. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { findEffects, groupOf, newPackage } from '../../../addons/preemptify/effects.mjs'
import { analysed, claimsIn, claimsInGraph, planned, shown, titleOf } from '../../support/effects-watch.mjs'

const effects = suite('preemptify.effects')

/** Compares the claims of some functions of a text. */
function claims(text, expected, type) {
  const found = claimsIn(text, type)
  for (const [name, claimed] of Object.entries(expected)) assert.is(found[name], claimed, `${name} in ${text}`)
}

effects('a function that writes a variable claims it exclusively, a reader shared', () => {
  claims('let n = 0; export function f() { n = 1 } export function g() { return n + 1 } export function h(x) { return x }',
    { f: 'n!', g: 'n', h: '' })
  claims('let n = 0; export function f() { n += 1; n *= 2 } export function g(x) { return n < x }', { f: 'n!', g: 'n' })
  claims('let a, b, c; export function f(p) { [a, { b }] = p } export function g() { for (c of [1]) g() } export const h = () => a * b * c',
    { f: 'a! b!', g: 'c!', h: 'a b c' })
})

effects('constants, and state that only loading code writes, are not contested', () => {
  claims('const n = 1; const t = { a: 1 }; export const f = k => t[k] + n', { f: '' })
  claims('const t = {}; for (const k of ["a"]) add(k); function add(k) { t[k] = 1 } export const f = k => t[k]', { f: '', add: '' })
  claims('let n = 0; (function () { n = 1 })(); [1].forEach(x => { n += x }); export const f = () => n', { f: '' })
  claims('class C { static all = [1]; static { this.n = 1 } } export const f = () => C.all.length + C.n', { f: '' })
})

effects('a helper of loading code that other code calls too writes contested state', () => {
  claims('const t = {}; add(1); function add(k) { t[k] = 1 } export function f() { add(2) } export const g = k => t[k]',
    { add: 't!', f: 't!', g: 't' })
  claims('const t = {}; add(1); function add(k) { t[k] = 1 } export { add }; export const g = k => t[k]', { add: 't!', g: 't' })
})

effects('a parameter holds only the new object after a statement that assigns it', () => {
  /** The claim of a caller that passes `t` to a function with this body. */
  const claimOf = body => claimsIn(`const t = [3, 1]; export function w() { t.push(1) }
    function use(list) { ${body} } export function caller() { use(t) }`).caller
  for (const body of ['list = Array.from(list); list.sort()', 'list = []; const g = () => list.sort(); g()',
    'let copy = list; copy = copy.slice(), copy.sort()', 'var list; list = []; list.sort()']) {
    assert.is(claimOf(body), 't', body)
  }
  for (const body of ['if (list.length) list = []; list.sort()', 'list.sort(); list = []', 'list = [list]; list[0].push(1)',
    'for (const x of [1]) list.sort(); list = []', 'const g = () => list.sort(); g(); list = []',
    'g(); list = []; function g() { list.sort() }', 'const old = list; list = []; old.sort()',
    'list = []; (() => { list = t })(); list.sort()', 'list = []; for (let i = 0; i < 2; i++) { list.sort(); list = t }']) {
    assert.is(claimOf(body), 't!', body)
  }
  const { caller } = claimsIn(`var t = [3, 1]; function w() { t.push(1) }
    function use(list) { list = []; arguments[0] = t; list.sort() } function caller() { use(t) }`, 'script')
  assert.is(caller, 't!')
})

effects('an array of numbers does not leave with its elements, an array of objects does', () => {
  /** The claim of a caller that passes the array to a function with this body. */
  const claimOf = (array, body) => claimsIn(`const t = ${array}; export function w() { t.push(1) }
    function use(list) { ${body} } export function caller() { use(t) }`).caller
  for (const body of ['for (const x of list) outside(x)', 'outside(list[0])', 'const [x] = list; outside([x])', 'new Outside(list[0])',
    'within(list)\n function within(l) { outside(l[0]) }']) {
    assert.is(claimOf('[3, 1]', body), 't', body)
    for (const array of ['[{ a: 1 }]', '[[1]]', '[new Map()]']) assert.is(claimOf(array, body), 't!', `${array} ${body}`)
  }
  for (const body of ['outside(list)', 'outside([list])', 'list.map(outside)', 'list.push(list); outside(list[0])']) {
    assert.is(claimOf('[3, 1]', body), 't!', body)
  }
})

effects('assignments, delete and writing methods claim the object exclusively', () => {
  for (const write of ['s.a = 2', 's.a++', 'delete s.a', 's["a"] = 2', '({ a: s.a } = { a: 1 })', 'Object.assign(s, { b: 1 })',
    'Object.defineProperty(s, "a", { value: 1 })', 'const l = s; l.a = 1', 'Reflect.set(s, "a", 1)', 'for (s.a of [1]) f()']) {
    claims(`const s = { a: 1 }; export function f() { ${write} } export function g() { return s.a }`, { f: 's!', g: 's' })
  }
  for (const write of ['l.push(1)', 'l.sort()', 'l.length = 0', 'l.splice(0)', 'l.pop()', 'Array.prototype.push.call(l, 1)', 'l.reverse()[0]']) {
    claims(`const l = [1]; export function f() { ${write} } export function g() { return l.length }`, { f: 'l!', g: 'l' })
  }
  claims('const m = new Map(); export function f(k) { m.delete(k) } export function g(k) { return m.has(k) }', { f: 'm!', g: 'm' })
})

effects('all kinds of reads claim a contested object shared', () => {
  for (const read of ['s.a', '"a" in s', 'Object.keys(s).length', '[...s].length', 's?.a', '`${s}`', 's + 1', 's == null || s.length',
    's.map(x => x.y).length', 'JSON.stringify(s)', '{ ...s }.a', 'eachOf(s)']) {
    claims(`const s = []; export function f() { s.push(1) } function eachOf(p) { for (const x of p) if (x) return 1 }
      export function g() { const { ...o } = { v: ${read.startsWith('{') ? `(${read})` : read} }; return 1 }`, { f: 's!', g: 's' })
  }
})

effects('a fresh object is not claimed, and keeps the objects that it holds', () => {
  claims('export function f(x) { const l = []; l.push(x); const o = { a: l }; o.b = 1; return o }', { f: '' })
  claims('const t = { a: 1 }; export function f() { const l = []; l.push(t); l[0].a = 2 } export function g() { return t.a }',
    { f: 't!', g: 't' })
  claims('const t = { a: 1 }; export function f() { const o = { x: { y: [t] } }; o.x.y[0].a = 2 } export function g() { return t.a }',
    { f: 't!', g: 't' })
  claims('const t = { a: 1 }; export function f() { const o = { ...t }; o.a = 1 } export function g() { return t.a }', { f: '', g: '' })
  claims('const t = []; export function f(x) { const o = t.concat(x); o.push(1) } export function g() { return t.length }', { f: '', g: '' })
})

effects('the functions and the regular expressions of class fields are known', () => {
  claims('const t = { a: 1 }; class A { m = p => { p.a = 1 } } export function f(o) { return o.m(t) + 1 } export function g() { return t.a }',
    { f: 't!', g: 't' })
  claims('class P { rule = /a/ } const all = [new P()]; export function f(s) { return all[0].rule.exec(s) } export function g() { all.push(1) }',
    { f: 'all', g: 'all!' })
})

effects('a global regular expression is written by exec and test, and reset by replace', () => {
  claims('const r = /a/g; export function f(s) { return r.exec(s).index } export function g(s) { return s.replace(r, "") }', { f: 'r!', g: 'r' })
  claims('const r = /a/y; export function f(s) { while (r.test(s)); } export function g(s) { return s.split(r).length }', { f: 'r!', g: 'r' })
  claims('const r = /a/; export function f(s) { return r.exec(s).index }', { f: '' })
  claims('const r = new RegExp("a", "g"), q = RegExp("a"); export function f(s) { return r.test(s) } export function g(s) { return q.test(s) }',
    { f: 'r!', g: '' })
  claims('const q = /a/g, r = new RegExp(q), p = new RegExp("a", "i"); export function f(s) { return r.test(s) } export function g(s) { return p.test(s) }',
    { f: 'r!', g: '' })
  claims('const r = /a/g; function all(p, s) { while (p.exec(s)); } export function f(s) { all(r, s) }', { f: 'r!', all: '' })
  claims('const rules = { a: /a/g, b: /b/ }; export function f(s) { return rules.a.exec(s).index }', { f: 'rules!' })
})

effects('a method that writes this makes its callers claim the receiver exclusively', () => {
  const text = 'class C { constructor() { this.x = 1 } inc() { this.x++ } get() { return this.x + 1 } }'
  claims(`${text} export function f() { const c = new C(); c.inc(); return c.x }`, { f: '', inc: '', get: '' })
  claims(`${text} const d = new C(); export function g() { d.inc() } export function h() { return d.get() }`, { g: 'd!', h: 'd' })
})

effects('closures that are called in place belong to the function around them', () => {
  claims('export function f(l) { let s = 0; l.forEach(x => { s += x }); return s }', { f: '', ArrowFunctionExpression: '' })
  claims('let n = 0; export function f(l) { l.forEach(x => { n += x }) } export const g = () => n', { f: 'n!', g: 'n' })
  claims('export function f(o) { [1].map(() => { o.x = 1 }) } const t = {}; export function g() { f(t) } export const h = () => t.x',
    { g: 't!', h: 't' })
})

effects('closures that outlive a call claim the variables of its activation', () => {
  claims('export function f() { let n = 0; return { inc() { n++ }, get() { return n } } }', { f: '', inc: 'n@f!', get: 'n@f' })
  claims('export function f() { const l = []; return { add() { l.push(1) }, size() { return l.length } } }', { add: 'l@f!', size: 'l@f' })
  claims('export function f(x) { const y = x + 1; return () => y }', { ArrowFunctionExpression: '' })
  claims('export function f(c) { let n = 0; c(() => { n++ }); return n }', { f: '', ArrowFunctionExpression: 'n@f!' })
  claims('export function f() { let n = 0; const inc = () => n++; return () => inc() }', { inc: 'n@f!' })
})

effects('state of a function that runs once belongs to the module', () => {
  claims('const api = (function () { let n = 0; function set() { n = 1 } return { set, get: () => n } })(); export default api',
    { set: 'n!', get: 'n' })
})

effects('getters, setters and iterators of the program act as calls', () => {
  claims('const o = { n: 0, get x() { this.n++; return 1 } }; export function f() { return o.x }', { f: 'o!' })
  claims('class C { set x(v) { this.y = v } } const c = new C(); export function f() { c.x = 1 } export const g = () => c.y + 1',
    { f: 'c!', g: 'c' })
  claims('class C { *[Symbol.iterator]() { this.n++ } } const c = new C(); export function f() { for (const x of c) f() }', { f: 'c!' })
})

effects('accessors that a descriptor defines act as accessors of a literal', () => {
  const get = '{ get() { this.n++; return 1 } }'
  claims(`const o = { n: 0 }; Object.defineProperty(o, 'x', ${get}); export function f() { return o.x }`, { f: 'o!' })
  claims(`const o = { n: 0 }; Object.defineProperties(o, { x: ${get} }); export function f() { return o.x }`, { f: 'o!' })
})

effects('an element of arguments is the parameter in sloppy code', () => {
  claims('const t = { a: 1 }; function f(p) { arguments[0] = t; p.a = 2 } function g() { return t.a }', { f: 't!', g: 't' }, 'script')
})

effects('an async function claims the objects that it uses after an await', () => {
  claims('export async function f(p) { const a = p.x; await a; return 1 } let s; export function g(v) { s = v; s.x = 2 }', { f: '' })
  const found = claimsIn('export async function f(p) { await 1; p.x++ } let s; export function g(v) { s = v; s.x = 2 }')
  assert.is(found.f, 'p.*!')
  assert.is(found.g, 's!')
})

effects('eval, with and Proxy claim everything; eval makes variables in reach contested', () => {
  claims('let n = 0; export function f(t) { eval(t) } export function g() { return n + 1 }', { f: 'all!' })
  assert.match(claimsIn('let n = 0; export function f(t) { eval(t) } export function g() { return n + 1 }').g, /^n/)
  claims('export function h(x) { return new Proxy(x, {}) }', { h: 'all!' })
  assert.match(claimsIn('function f(o) { with (o) return x }', 'script').f, /^all!/)
})

effects('an object that unknown code can reach counts as written', () => {
  const leaving = { argument: 'c(t)', result: 'return t', thrown: 'throw t', stored: 'c.x = t', receiver: 't.m()', element: 'c([t])', yielded: 'c({ x: { t } })' }
  for (const statement of Object.values(leaving)) {
    const found = claimsIn(`const t = { a: 1 }; export function f(c) { ${statement} } export function g() { return t.a }`)
    assert.match(found.f, /^t!/, statement)
    assert.match(found.g, /^t/, statement)
  }
})

effects('an object that unknown code reaches during loading is contested', () => {
  assert.match(claimsIn('const t = { a: 1 }; register(t); export function g() { return t.a + 1 }').g, /^t/)
  claims('const t = { a: 1 }; read(t); function read(p) { return p.a } export function g() { return t.a + 1 }', { g: '' })
})

effects('case 1: an object does not leave if the known callee only reads it', () => {
  const text = 'const t = { a: { b: 1 } }; function r(p) { return p.a.b + 1 } function w(p) { p.a.b = 1 }'
  claims(`${text} export function f() { return r(t) }`, { f: '', r: '', w: '' })
  claims(`${text} export function f() { return r(t) } export function g() { w(t) }`, { f: 't', g: 't!' })
  claims('const t = { a: 1 }; function id(p) { return p } export function f() { id(t).a = 2 } export const g = () => t.a', { f: 't!', g: 't' })
  claims('const t = { a: 1 }; let kept; function keep(p) { kept = p } export function f() { keep(t) }', { keep: 'kept!' })
  assert.match(claimsIn('const t = { a: 1 }; let kept; function keep(p) { kept = p } export function f() { keep(t) }').f, /t!/)
})

effects('case 2: an object does not leave if all functions of the name only read it', () => {
  const text = 'const t = { a: 1 }; class A { m(p) { return p.a + 1 } w(p) { p.a = 1 } } export function f(o) { return o.m(t) + 1 }'
  claims(text, { f: '' })
  assert.match(claimsIn(`${text} export function g(o) { o.w(t) }`).g, /^t!/)
  const computed = claimsIn(`${text} export function g(o, k) { o[k] = p => { p.a = 1 } }`)
  assert.match(computed.f, /^t!/, 'a function under a computed name')
  assert.match(claimsIn(`${text} export function g(o, c) { o.m = c }`).f, /^t!/, 'a parameter under the name')
  assert.match(claimsIn('const t = { a: 1 }; export function f(o) { o.unknown(t) }').f, /^t!/, 'a name without a function')
})

effects('case 3: an object does not leave if a built-in function only reads it', () => {
  claims('const t = { a: 1 }; export function f() { return JSON.stringify(t) + Math.max(t.a) + [1].includes(t) }', { f: '' })
  assert.match(claimsIn('const t = { a: 1 }; export function f() { setTimeout(g, 0, t) } function g() {}').f, /^t!/)
})

effects('case 4: functions, primitive values and patterns without state do not leave', () => {
  claims('const r = () => 1, q = /a/, n = 1; export function f(c) { c(r, q, n) }', { f: '' })
})

effects('counters, lazy variables and keyed caches need no claim', () => {
  claims('let n = 0; export const f = p => p + ++n', { f: '' })
  claims('let n = 0; export const f = p => p + ++n; export const g = () => n', { f: 'n!', g: 'n' })
  claims('let x; export function f() { if (!x) x = new Map(); return x.size } export function g() { x ??= new Map(); return 1 }', { f: '', g: '' })
  claims('let x; export function f(p) { if (!x) x = p(); return 1 }', { f: 'x!' })
  claims('let x = 0; export function f() { if (x) x = 0; x ||= 1 }', { f: 'x!' })
  const cache = 'const cache = {}; function make(k) { return k.toUpperCase() } export function f(k) { return cache[k] ??= make(k) }'
  claims('const cache = {}; function make(k) { return k.toUpperCase() } export function f(k) { let v = cache[k]; if (!v) cache[k] = v = make(k); return v }', { f: '' })
  claims('const cache = {}; function make(k) { return k.toUpperCase() } export function f(k) { let v = cache[k]; if (!v) { v = make(k); cache[k] = v } return v }', { f: '' })
  claims('const cache = new Map(); export function f(k) { if (!cache.has(k)) cache.set(k, k.trim()); return cache.get(k) + 1 }', { f: '' })
  claims('const cache = new Map(); export function f(k) { cache.set(k, k.trim()); return cache.size }', { f: 'cache!' })
  claims(cache, { make: '' })
})

effects('a constant that each constructor gives its prototype is not contested', () => {
  const text = (/** @type {string} */ mark, other = '') => `class Box { constructor(n) { ${mark}; this.n = n } }
    export function make(n) { for (;;) new Box(n) } export function is(o) { return o instanceof Box } ${other}`
  claims(text('Box.prototype.isBox = true'), { constructor: '', make: '' })
  claims(text('Box.prototype.isBox = true', 'export function f() { Box.prototype.isBox = false }'), { constructor: 'Box.prototype!', f: 'Box.prototype!' })
  for (const mark of ['if (n) Box.prototype.isBox = true', 'Box.prototype.isBox = n', 'Box.prototype.n ||= 1']) {
    claims(text(mark), { constructor: 'Box.prototype!' })
  }
  claims(text('Box.isBox = true'), { constructor: 'Box!' })
})

effects('writes of the document claim the constant selector of the node', () => {
  claims(`const el = document.querySelector("#a"); export function f() { el.textContent = "x" }
    export function g() { return document.getElementById("a").value } export function h() { document.querySelector(".b").remove() }
    export function i() { document.title = 1 }`, { f: 'document #a!', g: 'document #a', h: 'document .b!', i: 'document!' })
})

effects('top-level and undeclared names of a script are open to other scripts', () => {
  const { units: [{ plans }] } = analysed({ a: 'var n = 0; function f() { return n + other }' }, 'script')
  const plan = plans.find(plan => titleOf(plan) === 'f')
  assert.equal(plan.openClaims.map(({ location }) => location.name).sort(), ['n', 'n.*', 'other', 'other.*'])
  assert.is(shown(plan), '')
})

/** Analyses scripts one after the other. @returns {(name: string) => any} the plan of a function */
function oneByOne(...texts) {
  const state = newPackage(true)
  const plans = []
  for (const text of texts) {
    const unit = planned('script', text, 'script')
    plans.push(...unit.plans)
    findEffects([unit], { package: state })
  }
  return name => plans.find(plan => titleOf(plan) === name)
}

effects('a later script makes a variable contested; earlier readers have the claim ready', () => {
  const plan = oneByOne('var n = 0; function f() { return n + 1 }', 'function g() { n = 1 }')
  assert.is(shown(plan('g')), 'n!')
  const [{ location, isExclusive }] = plan('f').openClaims.filter(({ location }) => location.kind === 'variable')
  assert.is(location, plan('g').claims[0].location)
  assert.ok(location.isContested)
  assert.not.ok(isExclusive)
})

effects('a later method writes its parameter; earlier callers claim exclusively', () => {
  const first = 'const t = { a: 1 }; class A { m(p) { return p.a + 1 } } function f(o) { return o.m(t) + 1 }'
  const plan = oneByOne(first, 'class B { m(p) { p.a = 2 } } function g(o) { return o.m({}) + 1 }')
  assert.match(shown(oneByOne(first)('f')), /^(?!t!)/)
  assert.match(shown(plan('f')), /^t!/)
})

effects('own code has a group for each set of locations that functions use together', () => {
  const text = 'let a = 0, b = 0, c = 0; function f() { a = b = 1 } function g() { c = 1 } function h() { return a }'
  const plan = oneByOne(text)
  const groups = name => new Set(plan(name).claims.map(({ location }) => groupOf(location)))
  assert.is(groups('f').size, 1)
  assert.equal([...groups('f')], [...groups('h')])
  assert.is(groups('g').has([...groups('f')][0]), false)
})

effects('a caller includes the claims of a short function that it calls by name', () => {
  claims('let n = 0; function set(x) { n = x } export function f(l) { for (const x of l) set(x) }', { set: 'n!', f: 'n!' })
})

effects('a reader whose callee writes later claims exclusively from the start', () => {
  claims('let n = 0; function set(l) { for (const x of l) n = 1 } export function f(l) { if (n) set(l) } export const g = () => n',
    { set: 'n!', f: 'n!', g: 'n' })
})

effects('an imported variable is the variable of its module', () => {
  const { units: [a, b] } = analysed({
    a: 'export const state = { n: 0 }; export function set(v) { state.n = v }',
    b: 'import { state, set } from "a"; import * as a from "a"; export function get() { return state.n + 1 } export function inc() { a.state.n++ } export function put() { set(1) }'
  })
  const all = Object.fromEntries([...a.plans, ...b.plans].map(plan => [titleOf(plan), shown(plan)]))
  assert.equal(all, { Program: '', set: 'state!', get: 'state', inc: 'state!', put: 'state!' })
})

effects('a namespace needs no claim, and its members claim their variables', () => {
  const index = "export { default as sum } from './sum.js'; export * from './table.js'; export * as inner from './table.js'"
  const graph = use => claimsInGraph({
    './use.js': `import * as all from './index.js'; ${use}`,
    './index.js': index,
    './sum.js': 'export default function sum(list) { let s = 0; for (const x of list) s += x.y; return s }',
    './table.js': 'export const table = { a: 1 }; export let n = 0; export function set(v) { table.a = v; n = v }'
  })
  assert.is(graph('const rows = [{}]; export function f() { return all.sum(rows) }').f, '')
  assert.is(graph('export function f() { return all.table.a + 1 }').f, 'table')
  assert.match(graph('export function f() { return all.inner.table.a + 1 }').f, /table/)
  assert.is(graph('export function f(v) { all.table.a = v }').f, 'table!')
  assert.match(graph('export function f(k) { return all[k] + 1 }').f, /\bn\b/)
  assert.match(graph('export function f(c) { c(all) }').f, /table!/)
  assert.match(graph('export function f() { return all }').f, /table!/)
})

effects('an import is the object of its module, through each kind of export', () => {
  for (const [exports, name] of [
    ['export default make()', 'default'], ['const d = make(); export default d', 'default'],
    ['let d = make(); export default d; d = null', 'default'], ['export const d = make()', 'd'], ['const d = make(); export { d as e }', 'e']
  ]) {
    const found = claimsInGraph({
      './write.js': "import './read.js'; import { d } from './again.js'; export function write(v) { d.x = v }",
      './read.js': "import { d } from './again.js'; import * as all from './again.js'; export function read() { return d.x + 1 } export function use() { return all.d.x + 1 }",
      './again.js': `export { ${name} as d } from './make.js'`,
      './make.js': `${exports}; function make() { return { x: 1 } }`
    })
    assert.match(found.write, /!$/, exports)
    assert.is(`${found.read}!`, found.write, exports)
    assert.is(`${found.use}!`, found.write, exports)
  }
})

effects('a default export of an imported name is the import', () => {
  const found = claimsInGraph({
    './use.js': "import t from './middle.js'; import { set } from './end.js'; export function get() { return t.a + 1 } export { set }",
    './middle.js': "import { t } from './end.js'; export default t",
    './end.js': 'export const t = { a: 1 }; export function set(v) { t.a = v }'
  })
  assert.is(found.get, 't')
})

effects('an exported default cache is claimed, because other modules can use it', () => {
  const found = claimsInGraph({
    './use.js': "import cache from './cache.js'; export function clear(k) { delete cache[k] } export { of } from './cache.js'",
    './cache.js': 'const cache = {}; export default cache; function make(k) { return k.trim() } export function of(k) { return cache[k] ??= make(k) }'
  })
  assert.match(found.clear, /!$/)
  assert.match(found.of, /!$/)
})

effects('an export of an unknown module leaves the other modules known', () => {
  const found = claimsInGraph({
    './use.js': "import { far, near } from './index.js'; export function f(x) { return far(x) } export function g() { return near + 1 }",
    './index.js': "export { far } from 'far'; export * from 'other'; export let near = 0; export function set(v) { near = v }"
  })
  assert.is(found.g, 'near')
})

effects('a package is analysed before and after packages that import it', () => {
  const one = './npm/one@1.0.0/index.js'
  const two = './npm/two@1.0.0/index.js'
  const found = claimsInGraph({
    './use.js': `import { set } from '${one}'; import { get } from '${two}'; export function f(v) { set(v); return get() }`,
    [one]: 'export let n = 0; export function set(v) { n = v }',
    [two]: "import { n } from '../one@1.0.0/index.js'; export function get() { return n + 1 }"
  })
  assert.equal([found.set, found.get], ['n!', 'n'])
})

effects('a call of a member of a class reaches its static method', () => {
  const text = `class Matrix { static zeros() { return new this() } plus(x) { this.sum = x.length }
      static plus(a) { return new Matrix().plus(a) } static keep(list) { list.push(1) } }
    class Square extends Matrix {} Matrix.last = 1; const rows = [{}], lines = []
    export function f() { return Matrix.plus(rows) } export function g() { return Square.plus(rows) }
    export function h() { Matrix.keep(lines) } export function get() { return Matrix.last + 1 }`
  claims(text, { f: '', g: '', h: 'lines!', get: '' })
})

effects('a function that a text stores in a class replaces a static method', () => {
  const text = call => `class A { static sum(list) { return list.length } } class B extends A {} const rows = [{}]
    function mixin(target) { target.sum = list => { list.push(1) } } export function f() { return B.sum(rows) + A.sum(rows) } ${call}`
  claims(text(''), { f: '' })
  for (const call of ['A.sum = list => { list.push(1) }', 'B.sum = list => { list.push(1) }', 'mixin(A)', 'mixin(B)',
    'Object.assign(A, { sum(list) { list.push(1) } })', 'A["su" + "m"] = list => { list.push(1) }',
    'Object.defineProperty(B, "sum", { value: list => { list.push(1) } })']) {
    assert.match(claimsIn(text(call)).f, /rows!/, call)
  }
})

effects('a class without a constructor lets no object leave', () => {
  claims('const rows = []; class A { n = rows.length } class B extends A {} export function f() { return new B().n } export function g(x) { rows.push(x) }',
    { f: 'rows' })
})

effects('an object in a prototype is shared by all instances', () => {
  const inc = 'inc() { const n = this.cache.n; g(); this.cache.n = n + 1 }'
  const text = made => `${made} function g() { for (;;); } export function f() { new F().inc() } export function h() { new F().read() }`
  for (const made of [
    `function F() {} F.prototype.cache = { n: 0 }; F.prototype.inc = function ${inc}; F.prototype.read = function () { return this.cache.n }`,
    `function F() {} F.prototype = { cache: { n: 0 }, ${inc}, read() { return this.cache.n } }`,
    `class F { ${inc} read() { return this.cache.n } } F.prototype.cache = { n: 0 }`,
    `class A {} A.prototype.cache = { n: 0 }; class F extends A { ${inc} read() { return this.cache.n } }`,
    `function A() {} A.prototype.cache = { n: 0 }; function F() {} F.prototype = Object.create(A.prototype); F.prototype.inc = function ${inc}; F.prototype.read = function () { return this.cache.n }`
  ]) {
    const found = claimsIn(text(made))
    assert.match(found.f, /!$/, made)
    assert.is(`${found.h}!`, found.f, made)
  }
  claims('const t = { o: { n: 1 } }; export function f() { const x = { __proto__: t }; x.o.n++ } export function g() { return t.o.n + 1 }', { f: 't!', g: 't' })
})

effects('the prototype of a function is an object of its own', () => {
  const text = `function F(n) { this.n = n } F.prototype.parse = function () { this.n = 1; return this }; F.parse = n => new F(n).parse()
    F.last = 1; export function f(n) { return F.parse(n) } export function g() { return F.last + 1 } export { F }`
  claims(text, { f: '', g: '' })
  claims('function F() {} export function f(n) { F.prototype.level = n } export function g() { return F.prototype.level + 1 } export function h() { return F.limit + 1 }',
    { f: 'F.prototype!', g: 'F.prototype', h: '' })
})

effects('a literal that is frozen in place needs no claim', () => {
  claims('const t = Object.freeze({ a: 1 }); export function f(o) { return o ?? t } export function g(o) { return f(o).a + 1 } export function h(o) { o.t = t }',
    { f: '', g: '', h: '' })
  assert.is(claimsIn('const t = Object.freeze({ list: [] }); export function f(o) { t.list.push(1) }').f, 't!')
  assert.is(claimsIn('const t = {}; export function f(o) { o.t = t } export function g() { Object.freeze(t) } export function h() { return t.a + 1 }').h, 't')
})

effects('Object.assign stores each value under its name', () => {
  const text = target => `const read = list => list.length; const write = list => { list.push(1) }; const rows = []
    const api = ${target}; Object.assign(api, { read, write }); const { read: r, write: w } = api
    export const f = () => r(rows); export const g = () => w(rows)`
  claims(text('{}'), { f: 'rows', g: 'rows!' })
  const state = 'function api() {} export function set(o) { Object.assign(api, o) } export function get() { return api.level + 1 }'
  claims(state, { set: 'api!', get: 'api' })
})

effects('the analysis needs no call stack for deep expressions', () => {
  const deep = `${'['.repeat(20000)}${']'.repeat(20000)}`
  claims(`const t = ${deep}; export function f(c) { return ${'('.repeat(5000)}t.length${')'.repeat(5000)} }`, { f: '' })
  claims(`const t = {}; export function f() { return 1${' + t.x'.repeat(20000)} }`, { f: '' })
})

effects('the analysis of a program keeps no earlier program', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  // Flows forget objects of a variable that holds many.
  const text = `let o; ${'o = { n: 1 }; '.repeat(40)}; export function f(g) { let p = o; p.n++; g(() => { p.n++; return p }) }`
  const treeOf = name => new WeakRef(analysed({ [name]: text }).units[0].tree)
  const trees = ['a', 'b', 'c'].map(treeOf)
  // The engine itself may hold an object until a later task.
  for (let i = 0; i < 20 && trees.slice(0, 2).some(tree => tree.deref()); i++) {
    await new Promise(resolve => { setImmediate(resolve) })
    collect()
  }
  assert.equal(trees.slice(0, 2).map(tree => tree.deref() === undefined), [true, true])
})

effects.run()
