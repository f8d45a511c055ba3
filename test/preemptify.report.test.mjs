import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../rt.mjs'

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
  *items() { for (const x of this) yield x }
  async *later() { for await (const x of this) yield x }
}
function List(a = one()) { if (!new.target) return new List() }
export const sum = (list, from = first(list)) => { for (const x of list) from += x }
`), [
    '3:3 first: values of fields are computed in one piece',
    '4:3 -: static blocks run in one piece',
    '5:3 constructor: constructors of classes run in one piece',
    '6:3 size: accessors run in one piece',
    '7:3 size: accessors run in one piece',
    '8:3 items: each step of a generator runs in one piece, unless rewritten code iterates it',
    '9:3 later: async generators run in one piece from await to await',
    '11:1 List: functions that mention new.target run in one piece',
    '12:20 sum: calls in its parameters are of one piece'
  ])
})

reports('nothing of what is preemptible, or cannot run long', () => {
  assert.equal(told(`
class A { x = 1; #y; get x() { return this.#y } constructor() { this.x = 1 } run() { for (;;) this.run() } }
const f = async (a, b = 1) => { for (const x of a) await g(x) }
function g() { return () => { while (1) f() } }
for (;;) break
`), [])
})

reports('of a function, a class or a method, by its own lines', () => {
  const object = {
    make() {
      return { get all() { return Object.keys(this) } }
    }
  }
  assert.equal(told(object.make), ['2:16 all: accessors run in one piece'])
  assert.equal(told(class { constructor() { console.log() } }), ['1:9 constructor: constructors of classes run in one piece'])
  assert.equal(told(() => 1), [])
  assert.equal(told(Math.max), ['1:1 max: native, bound and proxied functions run in one piece'])
})

reports('a script is read as one', () => {
  assert.equal(told('var await = { get yield() { return await() } }', { type: 'script' }),
    ['1:15 yield: accessors run in one piece'])
})

reports('misuse', () => {
  assert.throws(() => preemptify.report(5), /^source must be a function, got 5/)
  assert.throws(() => preemptify.report('', { kind: '' }), /unknown option 'kind'/)
  assert.throws(() => preemptify.report('}'), error => error instanceof SyntaxError)
})

reports.run()
