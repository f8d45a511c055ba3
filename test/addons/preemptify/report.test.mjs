import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'

const reports = suite('preemptify.report')

const told = (...args) => preemptify.report(...args).map(({ name, line, column, reason }) =>
  `${line}:${column} ${name || '-'}: ${reason}`)

reports('what of a module runs in one piece, in the order of the source', () => {
  assert.equal(told(`
class Queue extends List {
  first = find(this)
  static { for (const Class of all) Class.begin() }
  constructor() { super(); for (const x of []) this.add(x) }
  get size() { return count(this) }
  set size(n) { while (this.size > n) this.pop() }
  *items() { for (const x of arguments) yield x }
  async *later() { for await (const x of this) yield x }
  async close() { await using one = this.one; for (const x of this) x() }
}
function List(a = one()) { if (!new.target) return new List() }
export const sum = (list, from = first(list)) => { for (const x of list) from += x }
`), [
    '3:3 first: the value of a field',
    '4:3 -: a static block',
    '5:3 constructor: a constructor',
    '6:3 size: an accessor',
    '7:3 size: an accessor',
    '8:3 items: the arguments of a generator',
    '9:3 later: an async generator',
    '10:3 close: an await using declaration',
    '12:1 List: new.target',
    '13:20 sum: calls in its parameters'
  ])
})

reports('what is nested, in its place; and what would be printed too often, for its depth', () => {
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

reports('constructors that only call others, but for what they give themselves to, and the loops of huge ones: preempted, programs would take many times as long', () => {
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

reports('nothing of what is preemptible, or cannot run long', () => {
  assert.equal(told(`
class A { x = 1; #y; all = new Map(); get x() { return this.#y } constructor() { this.x = 1 } run() { for (;;) this.run() } }
class B { constructor(a = 1) { for (;;) this.run(a) } }
const f = async (a, b = 1) => { for (const x of a) await g(x) }
function g() { return () => { while (1) f() } }
for (;;) break
`), [])
})

reports('of a function, a class or a method, by its own lines', () => {
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

reports('a script is read as one', () => {
  assert.equal(told('var await = { get yield() { return await() } }', { type: 'script' }),
    ['1:15 yield: an accessor'])
})

reports('misuse', () => {
  assert.throws(() => preemptify.report(5), /^source must be a function, got 5/)
  assert.throws(() => preemptify.report('', { kind: '' }), /unknown option 'kind'/)
  assert.throws(() => preemptify.report('', { type: 'function' }), /^type must be 'module' or 'script', got "function"/)
  assert.throws(() => preemptify.report('}'), error => error instanceof SyntaxError)
})

reports.run()
