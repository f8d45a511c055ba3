import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { withLimit } from '../../support/analysis-limit.mjs'

const reports = suite('preemptify.report')

/** The parts that run in one piece, without functions that make claims. */
const partsOf = (...args) => preemptify.report(...args).filter(({ claims }) => claims === undefined)
const told = (...args) => partsOf(...args).map(({ name, line, column, reason }) =>
  `${line}:${column} ${name || '-'}: ${reason}`)

reports('report lists parts that run in one piece in the order of the source', () => {
  assert.equal(told(`
class Queue extends List {
  first = find(this)
  static { for (const Class of all) Class.begin() }
  constructor() { if (all) super(); for (const x of []) this.add(x) }
  get size() { return count(this) }
  set size(n) { while (this.size > n) this.pop() }
  *items() { for (const x of arguments) yield x }
  async *later() { for (const x of this) yield* x }
  async close() { await using one = this.one; for (const x of this) x() }
}
function List() { for (;;) (() => new.target)() }
export const sum = (list, from = first(list)) => { for (const x of list) from += x }
`), [
    '3:3 first: the value of a field',
    '4:3 -: a static block',
    '5:3 constructor: a constructor',
    '6:3 size: an accessor',
    '7:3 size: an accessor',
    '8:3 items: the arguments of a generator',
    '9:3 later: yield* in an async generator',
    '10:3 close: an await using declaration',
    '12:1 List: new.target',
    '13:20 sum: calls in its parameters'
  ])
})

reports('report lists nested parts in order, and functions that nest too deep', () => {
  assert.equal(told('const o = { get x() { f({ get y() { return g() } }) }, get z() { return h() } }'),
    ['1:13 x: an accessor', '1:27 y: an accessor', '1:56 z: an accessor'])
  assert.equal(told(`
async function outer(list) {
  async function inner(list) {
    async function innermost(list) { for (const x of list) await list.step(x) }
    for (const x of list) await innermost(x)
  }
  for (const x of list) await inner(x)
}`), ['3:3 inner: nested too deep'])
})

reports('report lists constructors with callbacks, and loops of huge constructors', () => {
  const made = body => `class A { constructor(list) { ${body} } add(x) { for (;;) this.list.push(x) } }`
  const loop = steps => made(`for (const x of list) { ${'this.add(x); '.repeat(steps)} }`)
  const own = 'function add(x) { for (;;) x.add() }'
  for (const preempted of [loop(9), made('this.add(list)'), made('list.walk(this)'), made('add(list)') + own]) assert.equal(told(preempted), [])
  assert.equal(told(made('this.list = list.map(x => [x])')), ['1:11 constructor: a constructor'])
  const innermost = ['1:11 constructor: calls in the innermost loops of a huge constructor']
  assert.equal(told(loop(500)), innermost)
  const add = 'this.add(x);'
  const around = inner => made(`${add}${' '.repeat(5000)} for (const x of list) { ${add} for (const y of x) y.n++; ${add} for (const y of x) { ${inner} } ${add} } ${add}`)
  assert.equal(told(around('')), [])
  assert.equal(told(around(add)), innermost)
})

reports('report omits preemptible functions and functions that cannot run long', () => {
  assert.equal(told(`
class A { x = 1; #y; all = new Map(); get x() { return this.#y } constructor() { this.x = 1 } run() { for (;;) this.run() } }
class B { constructor(a = 1) { for (;;) this.run(a) } }
const f = async (a, b = 1) => { for (const x of a) await g(x) }
function g() { return () => { while (1) f() } }
for (;;) break
`), [])
})

const WORK = 'function work(n) { for (;;) n++ }\n'

reports('report lists methods that conversions, instanceof and promises call', () => {
  assert.equal(told(`${WORK}
class Shape { toString() { return work() } toJSON() { return this.x } then(f) { f(work()) }
  static [Symbol.hasInstance](x) { return work() } }
Shape.prototype.valueOf = function () { return work() }
const o = { [Symbol.toPrimitive]: () => work(), work }
`), [
    '3:15 toString: possibly a call of the method toString by a built-in operation',
    '3:71 then: possibly a call of the method then by a built-in operation',
    '4:3 -: possibly a call of the method Symbol.hasInstance by a built-in operation',
    '5:27 valueOf: possibly a call of the method valueOf by a built-in operation',
    '6:13 -: possibly a call of the method Symbol.toPrimitive by a built-in operation'
  ])
})

reports('report lists iterators written by hand, and no methods of other objects', () => {
  assert.equal(told(`${WORK}const made = { [Symbol.iterator]() { return this }, next() { return work() } }`),
    ['2:53 next: possibly a call of the method next by a built-in operation'])
  assert.equal(told(`${WORK}const parser = { next() { return work() } }
class List { *[Symbol.iterator]() { yield work() } }`), [])
})

reports('report lists operations that iterate a generator in one piece', () => {
  assert.equal(told(`${WORK}function* pages() { yield work() }
function first() { const [page] = pages(); return page }
function known() { let [a, b] = [1, 2]; [a, b] = [b, a]; const [c] = Object.keys(a); return [c, ...pages()] }
function made() { return [Object.fromEntries(pages()), new Set(pages()), Array.from(pages())] }`), [
    '3:1 first: an iterator in an array pattern',
    '5:1 made: an iterator in Object.fromEntries'
  ])
  assert.equal(told('function first(list) { const [item] = list; return item }'), [])
})

reports('report lists traps of proxies, and proxies with traps from elsewhere', () => {
  assert.equal(told(`${WORK}const traps = { get: read, has() { return false } }
function read() { return work() }
const proxy = new Proxy({}, traps)
const pair = Proxy.revocable({}, { set() { work() } })
function make(handler) { return new Proxy({}, handler) }`), [
    '3:1 read: the trap get of a proxy',
    '5:36 set: the trap set of a proxy',
    '6:1 make: possibly a proxy with traps from elsewhere'
  ])
})

reports('report lists accessors that Object.defineProperty makes of methods', () => {
  assert.equal(told(`${WORK}Object.defineProperty({}, 'x', { get() { return work() } })
Object.defineProperties({}, { x: { set(x) { work(x) }, value() { work() } } })
const map = { get() { return work() } }`), ['2:34 get: an accessor', '3:36 set: an accessor'])
})

reports('report names the built-in function of a callback that has no twin there', () => {
  assert.equal(told(`${WORK}function revive(key, value) { return work(value) }
function parse(text, f) { return [JSON.parse(text, revive), JSON.stringify(text, null, 2), [1].map(revive)] }
function other(text, f) { return JSON.parse(text, f) }`), [
    '2:1 revive: a callback of JSON.parse',
    '4:1 other: possibly a callback of JSON.parse'
  ])
})

reports('report names methods that call listeners in a page', () => {
  const reason = 'possibly listeners that dispatchEvent calls in a page'
  assert.equal(told(`export function fire(target, event) { return target.dispatchEvent(event) || dispatchEvent(event) }
export function press() { document.body.click() }`), [
    `1:8 fire: ${reason}`,
    '2:8 press: possibly listeners that click calls in a page'
  ])
})

reports('report names the properties and operations of objects from elsewhere', () => {
  const elsewhere = 'possibly accessors or proxies from elsewhere'
  assert.equal(told(`import { shape } from './shape.mjs'
import * as namespace from './shape.mjs'
export function area({ width }, other) { const { height: { value } } = other; return other.list[0].z * value }
export const read = () => [shape[0], \`\${shape}\`, shape instanceof Object, 'x' in shape, ...shape]
function own(shape) { return shape.area + namespace.area + Math.PI + document.title }
function many() { return [later.a, later.b, later.c, later.d, later.e, later.f, later.g, later.a] }
export { own as last }
export function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
export function sum(list) { let n = 0; for (let i = 0; i < list.length; i++) n += list[i]; return n }`), [
    `3:8 area: ${elsewhere}: width, height, list, z`,
    `4:21 read: ${elsewhere}: computed keys, Symbol.toPrimitive, in, Symbol.iterator`,
    `5:1 own: ${elsewhere}: area`,
    `6:1 many: ${elsewhere}: a, b, c, d, e, 2 more`
  ])
  assert.equal(told(shape => shape.area), [`1:1 -: ${elsewhere}: area`])
  const text = 'function f() { return JSON.stringify(shape) }'
  assert.equal(told(text, { type: 'script' }), [`1:1 f: ${elsewhere}: JSON.stringify()`])
})

reports('report marks reasons as uncertain that values or callers decide', () => {
  const certainty = text => partsOf(text).map(({ name, reason, certain }) => {
    assert.is(reason.startsWith('possibly '), !certain, reason)
    return `${name}: ${certain}`
  })
  assert.equal(certainty(`${WORK}function* pages() { yield work() }
class Shape { get area() { return work() } toString() { return work() } }
const revive = (key, value) => work(value)
function known() { const [page] = pages(); return [page, JSON.parse('1', revive)] }
function unknown(list, fn) { const [page] = list; return [page, JSON.parse('1', fn)] }`), [
    'area: true', 'toString: false', 'revive: true', 'known: true', 'unknown: false', 'unknown: false'
  ])
  assert.equal(certainty('export const read = shape => shape.area'), ['read: false'])
  assert.equal(preemptify.report(Math.max).map(({ certain }) => certain), [true])
})

reports('report of a function or a class counts lines from its first line', () => {
  const object = {
    make() {
      return { get all() { return list(this) } }
    }
  }
  assert.equal(told(object.make), ['2:16 all: an accessor'])
  assert.equal(told(class extends Object { constructor() { super(make(this)) } }), ['1:24 constructor: a constructor'])
  assert.equal(told(() => 1), [])
  assert.equal(told(Math.max), ['1:1 max: a native, bound or proxied function'])
})

reports('report reads a script as a script', () => {
  assert.equal(told('var await = { get yield() { return await() } }', { type: 'script' }),
    ['1:15 yield: an accessor'])
})

reports('report throws for invalid arguments', () => {
  assert.throws(() => preemptify.report(5), /^source must be a function, got 5/)
  assert.throws(() => preemptify.report('', { kind: '' }), /unknown option 'kind'/)
  assert.throws(() => preemptify.report('', { type: 'function' }), /^type must be 'module' or 'script', got "function"/)
  assert.throws(() => preemptify.report('}'), error => error instanceof SyntaxError)
})

reports('functions with claims name the locations, with the lines where these are declared', () => {
  const found = preemptify.report(`let at = 0
let size = 0
export function next(list) { for (const x of list) at = x; return at }
export function count(list) { for (const x of list) size = size + x; return next(list) }
export function look() { return at === 1 }
export function pure(list) { let sum = 0; for (const x of list) sum += x; return sum }
`, { url: 'https://page/parser.mjs' }).filter(({ claims }) => claims)
  const claimed = found.map(({ name, line, claims }) => [name, line, claims.filter(({ location }) => /^\w+$/.test(location))])
  const at = { location: 'at', file: 'https://page/parser.mjs', line: 1, exclusive: true }
  assert.equal(claimed.find(([name]) => name === 'next'), ['next', 3, [at]])
  assert.equal(claimed.find(([name]) => name === 'look'), ['look', 5, [{ ...at, exclusive: false }]])
  assert.equal(claimed.find(([name]) => name === 'count')[2].map(({ location, line }) => [location, line]), [['size', 2]])
  assert.is(claimed.find(([name]) => name === 'pure'), undefined)
  assert.match(found[0].reason, /^claims at \(line 1\)/)
})

reports('report names the remedy for a package with too many functions', () => {
  const text = `let at = 0
export function next(list) { for (const x of list) at = x; return at }
export function pure(list) { let sum = 0; for (const x of list) sum += x; return sum }
`
  const found = withLimit(2, () => preemptify.report(text))
  assert.match(found[0].reason, /more than 2 functions.*Remedy: split the package, or set the option exclusive/)
  const [{ claims: [{ location, exclusive }], ...part }] = found.filter(({ claims }) => claims)
  assert.equal([part.name, location, exclusive], ['next', 'the package', true])
  assert.not.match(preemptify.report(text)[0].reason, /functions/)
})

reports('report names functions by the members to which they are assigned', () => {
  const functions = ['a.named = ', "a['quoted'] = ", 'a[computed] = ', 'plain = '].map(target => `${target}function () { state++; for (;;) ; }`)
  const found = withLimit(2, () => preemptify.report(`let state = 0, plain; export const a = {}; ${functions.join('; ')}`))
  assert.equal(found.filter(({ claims }) => claims).map(({ name }) => name), ['named', 'quoted', '', 'plain'])
})

reports.run()
