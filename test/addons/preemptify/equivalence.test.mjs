// Programs give the same results, effects and errors natively, rewritten and called plainly, and as jobs.
import { suite } from 'uvu'
import { assertSameAsNative } from '../../support/same-as-native.mjs'

/** A function in which a job can be suspended, and that returns its argument. */
const STEP = 'function step(x) { for (let i = 0; i < 2; i++) log(i); return x }\n'

const script = (...texts) => assertSameAsNative('script', STEP, ...texts)
const module = text => assertSameAsNative('module', STEP + text)
const body = text => module(`export function main() { ${text} }`)
const sloppy = text => script(`function main() { ${text} }`)

// ------------------------------------------------------------------------------ top-level names of scripts

const names = suite('top-level names of scripts')

const assignments = {
  'a property of the global object': 'globalThis.work = () => step("new")',
  'an indirect eval': '(0, eval)("work = () => step(\'new\')")',
  'the Function constructor': 'Function("work = () => step(\'new\')")()',
  'a later declaration': 'runLater("function work() { return step(\'new\') }")',
  'a second script': 'change()'
}

for (const [name, assignment] of Object.entries(assignments)) {
  names(`a script calls the function that ${name} gives to a name`, () => script(
    `var runLater = eval
    function work() { for (;;) return step('old') }
    function main() { const before = work(); ${assignment}; return [before, work()] }`,
    'function change() { work = () => step("new") }'))
}

names('a second script can declare a function of the first one again', () => script(
  'function work() { for (;;) return step("first") } function main() { return work() }',
  'function work() { for (;;) return step("second") }'))

names('a script makes objects of the class that a second script assigns', () => script(
  `class ClassUNIQUE { constructor() { this.name = 'old' } }
  function main() {
    const old = new ClassUNIQUE()
    change()
    return [old.name, new ClassUNIQUE(step(1)).name]
  }`,
  'function change() { ClassUNIQUE = class { constructor(x) { this.name = step(x) } } }'))

names('a script reads a let variable before a call of a second script changes it', () => script(
  `let valueUNIQUE = 1
  function main() { return [valueUNIQUE, change(), \`\${valueUNIQUE}\`, valueUNIQUE + change()] }`,
  'function change() { return step(++valueUNIQUE) }'))

names('operands of a script are read before the calls after them', () => script(
  `var n, o, f
  function reset() { n = 0; o = { get: x => ['old', x] }; f = x => ['old', x] }
  function bump(x) {
    globalThis.n++
    globalThis.o = { get: y => ['new', y] }
    globalThis.f = y => ['new', y]
    return step(x)
  }
  function main() {
    const all = []
    reset()
    all.push(n + bump(1), [n, bump(2), n], { n, x: bump(3) }, \`\${n}\${bump(4)}\`)
    reset()
    all.push(f(bump(5)), o.get(bump(6)))
    reset()
    switch (bump(0)) { case n: all.push('same'); break; default: all.push(step('other')) }
    return all
  }`))

names('a constant of a script keeps its value', () => script(
  `const constantUNIQUE = [1]
  function main() {
    try { constantUNIQUE = 2 } catch (error) { log(error.name) }
    return [constantUNIQUE[step(0)], constantUNIQUE.concat(step(2))]
  }`))

names.run()

// --------------------------------------------------------------------------------------- order of operands

const operands = suite('order of operands')

operands('a template converts a value before it computes the next one', () => body(`
  const list = [1], object = { text: 'a', toString() { return log(this.text) } }
  const own = () => 1
  own.toString = () => 'a'
  return [
    \`\${list}|\${list.push(step(2))}|\${list}\`,
    \`\${object}-\${(object.text = 'b', step(3))}-\${object}\`,
    \`\${own}\${(own.toString = () => 'b', step(4))}\${own}\`,
    \`\${(1, list)}\${\`\${list}\`}\${list.push(step(\`\${list}\${step(5)}\`))}\`
  ]`))

operands('a template converts this and a regular expression in their order', () => body(`
  const { toString } = RegExp.prototype
  const o = { text: 'a', toString() { return this.text },
    m() { return \`\${this}\${(this.text = 'b', step(1))}\${this}\` } }
  try {
    return [o.m(), \`\${/a/}\${(RegExp.prototype.toString = () => 'new', step(2))}\`]
  } finally { RegExp.prototype.toString = toString }`))

operands('a template throws for a symbol before it computes the next value', () => body(`
  const symbol = Symbol()
  try { return \`\${symbol}\${step(1)}\` } catch (error) { return error.name }`))

operands('a method of an array or a string is looked up before its arguments', () => body(`
  const { concat } = String.prototype, list = [1]
  const all = [list.concat((list.concat = () => 'new', step([2])))]
  try {
    all.push('a'.concat((String.prototype.concat = () => 'new', step('b'))))
  } finally { String.prototype.concat = concat }
  try { late.concat(step(3)) } catch (error) { all.push(error.name) }
  var late = [1]
  return all`))

operands('a collection is looked up before its values are computed', () => body(`
  const { Map: Original } = globalThis
  function* entries() { globalThis.Map = class {}; yield [1, step(2)] }
  try {
    return [new Map(entries()), new Original(step([[3, 4]])), new Set([...step([5])], ...[])]
  } finally { globalThis.Map = Original }`))

operands('a variable in its dead zone throws before the call after it', () => body(`
  const read = [() => [x, step(1)], () => x[step(2)], () => new C(step(3)), () => \`\${x}\${step(4)}\`,
    () => x.at(step(5)), early]
  const all = read.map(f => { try { return f() } catch (error) { return error.name } })
  function early() { return x + step(6) }
  const x = [7], C = class { constructor(y) { this.y = y } }
  return [all, read.map(f => f())]`))

operands('the name of a class throws in its dead zone before the call after it', () => body(`
  const all = [], attempt = f => { try { return f() } catch (error) { all.push(error.name) } }
  class C extends (attempt(() => [C, step(1)]), Object) {
    [attempt(() => [C, step(2)]) ?? 'key']() {}
    static { attempt(() => all.push([C, step(3)].length)) }
  }
  return all`))

operands('a skipped case of a switch leaves its variables in the dead zone', () => body(`
  const all = []
  for (const n of [0, 1]) try {
    switch (n) {
      case 0: const x = 5; all.push((() => [x, step(1)])()); break
      case 1: all.push((() => [x, step(2)])())
    }
  } catch (error) { all.push(error.name) }
  return all`))

operands('a default in a pattern cannot use the variable that the default is for', () => body(`
  const all = []
  const patterns = [
    () => { let { a = a } = step({}); step(1); return a },
    () => { let [{ b } = { b }] = step([]); step(1); return b },
    () => { let { c, d = c } = step({ c: 1 }); step(1); return [c, d] },
    () => { try { throw {} } catch ({ e = g, g }) { step(1); return e } }
  ]
  for (const f of patterns) try { all.push(f()) } catch (error) { all.push(error.name) }
  return all`))

operands('a var of a generator is read before a call that resumes the generator', () => body(`
  function* given() { for (let i = 0; i < 3; i++) { var x = i; yield () => [x, next(), x] } }
  function* later() { yield () => [y, next(), y]; var y = 5; yield 1 }
  let steps
  function next() { return typeof step(steps.next().value) }
  return [given, later].map(make => (steps = make(), steps.next().value()))`))

operands('a switch keeps its case while the case initializes a var', () => body(`
  switch (step(1)) { default: var n = 1; step(2); return n; case n: return 'again' }`))

operands.run()

// ------------------------------------------------------------------------------------ names that twins hoist

const hoisted = suite('names that twins hoist')

hoisted('a block variable does not hide a function of the same name', () => body(`
  function a() { return 'function' }
  { let a = step(1); log(a) }
  for (let a = 0; a < 1; a++) step(a)
  for (const a of [2]) step(a)
  try { throw 3 } catch (a) { step(a) }
  return a()`))

hoisted('a block variable does not hide a function in a stub', () => {
  const nested = depth => depth ? `return (function () { for (;;) { ${nested(depth - 1)} } })()`
    : 'function a() { return step("function") } for (let a = 0; a < 2; a++) step(a); return a()'
  return body(nested(7))
})

hoisted('a variable in a catch clause does not hide the error', () => body(`
  const all = []
  try { throw 1 } catch (e) { { let e = 2; all.push(e) } all.push(e) }
  try { throw 3 } catch (e) { { let e = step(4); all.push(e) } all.push(e) }
  return all`))

hoisted('a block variable does not hide arguments or a parameter', () => sloppy(`
  function f(p) {
    { let arguments = step(5), p = step(6); log([arguments, p]) }
    return [arguments.length, p, step(1)]
  }
  return f(1, 2)`))

hoisted('var arguments begins as the arguments of the function', () => sloppy(`
  function plain() { var arguments; step(1); return arguments.length }
  function inBlock() { { var arguments } for (var arguments in step({ key: 1 })) step(2); return arguments }
  function split(a = arguments) { var arguments; step(1); return [arguments.length, a.length] }
  function closed() { var arguments; step(1); return (() => step(arguments.length))() }
  function pattern() { var { length: arguments } = step(arguments); return arguments }
  return [plain, inBlock, split, closed, pattern].map(f => f(undefined, 2))`))

hoisted.run()

// ---------------------------------------------------------------------------------------- patterns and keys

const patterns = suite('patterns and keys')

patterns('a declaration without a name destructures its value', () => body(`
  for (var {} = step({}), i = 0; i < 2; i++) log(i)
  for (let [] = step(''); ;) { step(1); break }
  for (const {} of [1, 2]) step(3)
  for (var [] of ['']) step(4)
  for (var {} in { a: 1 }) step(5)
  try { throw 1 } catch ({}) { step(6) }
  var {} = step({})
  if (i) var [] = []
  const failing = [() => { for (var {} = step(null); ;) return 1 }, () => { for (let [] = step({}); ;) ; }]
  for (const f of failing) try { f() } catch (error) { log(error.name) }
  return i`))

patterns('a shorthand property __proto__ is an own property', () => body(`
  const __proto__ = { inherited: 1 }
  const all = [{ __proto__, x: step(1) }, { x: step(2), __proto__, y: step(3) }]
  return all.map(o => [Object.keys(o), o.inherited])`))

patterns('a function that is called __proto__ keeps its name', () => module(`
  const __proto__ = function () { for (;;) return step(1) }
  class C { __proto__ = function () { for (;;) return step(2) } }
  const o = { __proto__: function () { for (;;) return step(3) } }
  export function main() {
    return [__proto__, new C().__proto__, Object.getPrototypeOf(o)].map(f => [f.name, f()])
  }`))

patterns('the head of a for-of loop has the names of the loop in their dead zone', () => body(`
  const all = [], x = [1], list = f => (all.push(f), [1, 2])
  const loops = [
    () => { for (let x of step(x)) step(x) },
    () => { a: b: for (const [x] of step([x])) { step(x); continue a } },
    () => { if (step(1)) for (const { y = 1, x } of list(() => y)) { step(x); all[0]() } else step(2) },
    () => { function* g() { for (let x of step(x)) yield x } return [...g()] }
  ]
  for (const f of loops) try { f() } catch (error) { log(error.name) }
  return all.length`))

patterns('the head of for await has the names of the loop in their dead zone', () => module(`
  export async function main() {
    const all = [], x = [1], list = f => (all.push(f), [1, 2])
    try { for await (let x of step(x)) step(x) } catch (error) { log(error.name) }
    for await (const x of list(() => x)) try { step(x); all[0]() } catch (error) { log(error.name) }
    return all.length
  }`))

patterns.run()

// ---------------------------------------------------------------------------------------------------- super

const supers = suite('super')

supers('super in a method finds the members of the current prototype', () => module(`
  class A { m() { return 'A' } static s() { return 'static A' } }
  class B { m() { return 'B' } static s() { return 'static B' } }
  class C extends B {
    constructor() { super(); step(0) }
    m() { step(1); return super.m() }
    static s() { step(2); return super.s() }
    *all() { yield step(3); yield super.m() }
    async later() { await step(4); return super.m() }
    static async later() { await step(5); return super.s() }
    #own() { step(6); return super.m() }
    own() { return this.#own() }
    static #own() { step(7); return super.s() }
    static own() { return this.#own() }
    'in quotes'() { step(8); return (() => super['m']())() }
    9() { step(9); return super.m() }
    [Symbol.iterator]() { step(10); return super.m() }
  }
  const all = async c => [c.m(), C.s(), ...c.all(), await c.later(), await C.later(), c.own(), C.own(),
    c['in quotes'](), c[9](), c[Symbol.iterator]()]
  export async function main() {
    const c = new C(), before = await all(c)
    Object.setPrototypeOf(C.prototype, A.prototype)
    Object.setPrototypeOf(C, A)
    return [before, await all(c)]
  }`))

supers('super in a constructor finds the members of the current prototype', () => module(`
  class A { constructor(n) { this.all = []; for (let i = 0; i < n; i++) this.all.push(step(super.m?.())) } }
  export function main() {
    const before = new A(2)
    Object.setPrototypeOf(A.prototype, { m: () => 'new' })
    return [before, new A(2)].map(({ all }) => all)
  }`))

supers('code in a class sees no twin of its methods', () => module(`
  class A {
    static before = Object.getOwnPropertyNames(this)
    static names = Object.getOwnPropertyNames(this.prototype)
    m() { step(1); return super.toString }
    static s() { step(2); return super.toString }
    static after = [...Object.getOwnPropertyNames(this.prototype), ...Object.getOwnPropertyNames(this)]
  }
  export function main() {
    return [A.before, A.names, A.after, Reflect.ownKeys(A.prototype), Reflect.ownKeys(A), A.s().length]
  }`))

supers.run()
