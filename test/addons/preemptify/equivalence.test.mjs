// Programs give the same results, effects and errors natively, rewritten and called plainly, and as jobs.
import { suite } from 'uvu'
import { assertSameAsNative } from '../../support/same-as-native.mjs'

/** A function in which a job can be suspended, and that returns its argument. */
const STEP = 'function step(x) { for (let i = 0; i < 2; i++) log(i); return x }\n'

const script = (...texts) => assertSameAsNative('script', STEP, ...texts)
const module = text => assertSameAsNative('module', STEP + text)
const body = text => module(`export function main() { ${text} }`)
const sloppy = text => script(`function main() { ${text} }`)

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
