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

// ---------------------------------------------------------------------------------------------------- super

const supers = suite('super')

supers('a method finds the members of the prototype that its class has now', () => module(`
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

supers('a constructor finds the members of the prototype that its class has now', () => module(`
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
