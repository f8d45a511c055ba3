import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { withLimit } from '../../support/analysis-limit.mjs'
import { assertSameAsNative } from '../../support/same-as-native.mjs'

// Lifted closures: a factory creates them, in place of a function and its twin.

/** A comment that leaves room for frames and for long names. */
const ROOM = `/*${'.'.repeat(9000)}*/`

/** How often a rewritten text contains the number 77777, which is a part of each closure. */
const markers = (text, type = 'module') => preemptify.source(text + ROOM, { type }).split('77777').length - 1

/** A closure and its twin, in the factory. */
const LIFTED = 2

const lifted = suite('lifted closures')

const constant = {
  'a parameter': 'function f(n) { return g(x => h(77777, x, n)) }',
  'a destructured parameter': 'function f({ n }, [m]) { return g(x => h(77777, x, n, m)) }',
  'a const': 'function f(a) { const n = a + 1; return g(x => h(77777, x, n)) }',
  'a let that is never assigned': 'function f(a) { let n; return g(x => h(77777, x, n)) }',
  'a var that is never assigned': 'function f(a) { var n = a + 1; return g(x => h(77777, x, n)) }',
  'the const of a loop': 'function f(a) { for (const n of a) g(x => h(77777, x, n)) }',
  'the error of a catch': 'function f(a) { try { h(a) } catch (n) { return g(x => h(77777, x, n)) } }',
  'a variable of the module': 'let n = 0; export function f() { n++; return g(x => h(77777, x, n)) }',
  'no variable': 'function f() { return g(x => h(77777, x)) }'
}
for (const [name, text] of Object.entries(constant)) {
  lifted(`a closure that captures ${name} is printed once`, () => assert.is(markers(text), LIFTED))
}

lifted('a text with too many functions for an analysis has no factories', () => {
  assert.ok(withLimit(0, () => markers(constant['a parameter'])) > LIFTED)
})

const changing = {
  'a parameter that is assigned': 'function f(n) { n++; return g(x => h(77777, x, n)) }',
  'a let that is assigned later': 'function f() { let n = 1; const r = g(x => h(77777, x, n)); n = 2; return r }',
  'a const that is initialized later': 'function f(a) { g(x => h(77777, x, n)); const n = a }',
  'a const that is being initialized': 'function f(a) { const n = g(x => h(77777, x, n)); return n }',
  'a var of a loop': 'function f(a) { while (a--) { var n = a; g(x => h(77777, x, n)) } }',
  'a var that is read before its declaration': 'function f(a) { h(n); var n = a; g(x => h(77777, x, n)) }',
  'a const of a switch': 'function f(a) { switch (a) { case 0: const n = 1; case 1: g(x => h(77777, x, n)) } }',
  'a const that a declared function captures as well':
    'function f(a) { k(); const n = a; function k() { g(x => h(77777, x, n)) } return k }',
  'a declared function': 'function f(a) { function n() { h(a) } return g(x => h(77777, x, n)) }',
  'the value of this': 'function f(n) { return g(x => h(77777, x, this)) }'
}
for (const [name, text] of Object.entries(changing)) {
  lifted(`a closure that captures ${name} is not lifted`, () => assert.ok(markers(text) > LIFTED))
}

lifted('a closure that is assigned to a member is not lifted', () =>
  assert.ok(markers('function f(a, n) { g(a); a.b = () => h(77777, n); return a }') > LIFTED))
lifted('a closure with a private name is not lifted', () => {
  const text = 'class A { #p = 1; m(n) { return g(x => h(77777, x, n.#p)) } }; new A()'
  assert.ok(markers(text) > LIFTED)
})
lifted('a closure in sloppy code whose parameters change through arguments is not lifted', () => {
  const text = 'function f(n) { arguments[0] = 2; return g(x => h(77777, x, n)) }'
  assert.ok(markers(text, 'script') > LIFTED)
})
lifted('a strict closure in a sloppy script is not lifted', () => {
  const text = 'function f(n) { "use strict"; return g(x => h(77777, x, n)) }'
  assert.ok(markers(text, 'script') > LIFTED)
})
lifted('a closure in a closure is printed once in each form of the outer closure', () => {
  const text = 'function f(a) { return g(n => h(x => h(77777, x, n, a), n)) }'
  assert.is(markers(text), LIFTED)
})
lifted('the methods of an object literal are lifted', () => {
  assert.is(markers('function f(n) { return { m(x) { return h(77777, x, n) } } }'), LIFTED)
})
lifted.run()

const equal = suite('lifted closures, natively and as jobs')

/** Programs that log values of captured variables. `run` calls closures in jobs and in plain code. */
const programs = {
  'parameters, constants and variables': `
    function make(a, { b }, ...c) {
      const d = a + b
      let e
      var f = d * 2
      return [1, 2].map(x => run(() => log([x, a, b, c, d, e, f])))
    }
    export const main = () => make(1, { b: 2 }, 3, 4)`,
  'variables of rounds of loops': `
    export function main() {
      const all = []
      for (const n of [1, 2, 3]) {
        const m = run(() => n * 2)
        all.push(() => run(() => log([n, m])))
      }
      for (const key in { a: 1, b: 2 }) all.push(() => run(() => log(key)))
      return all.map(one => one())
    }`,
  'the value that a variable has later': `
    export function main() {
      let n = 1
      const read = () => run(() => log(n))
      n = 2
      read()
      const early = () => run(() => log(late))
      const late = 3
      early()
      while (n-- > 0) { var last = n; setTimeout(() => run(() => last)) }
      return read()
    }`,
  'dead zones': `
    export function main() {
      const read = () => run(() => log(late))
      try { read() } catch (error) { log(error.name) }
      const late = 1
      switch (late) {
        case 0: const skipped = 1
        case 1: try { run(() => log(skipped)) } catch (error) { log(error.name) }
      }
      return read()
    }`,
  'this, arguments and new.target': `
    function Made(n) {
      this.all = [1].map(x => run(() => log([x, n, this.n, arguments.length, new.target === Made])))
    }
    export const main = () => [new Made(1).all, Made.call({ n: 5 }, 2, 3) === undefined]`,
  'names of closures': `
    export function main(a = 1) {
      const named = x => run(() => x + a)
      const object = { key: x => run(() => x + a), method(x) { return run(() => x + a) } }
      const own = function own(x) { return x > 0 ? own(x - 1) : run(() => a) }
      log([named.name, named.length, object.key.name, object.method.name, own.name, (() => run(a)).name])
      return [named(1), object.key(2), object.method(3), own(2)]
    }`,
  'generators and async functions': `
    export async function main(a = 2) {
      const steps = function* (n) { for (let i = 0; i < n; i++) yield run(() => log(i * a)) }
      const wait = async n => run(() => log(await0(n) + a))
      const await0 = n => n
      return [...steps(3), await wait(1), await Promise.all([1, 2].map(async n => run(() => n * a)))]
    }`,
  'classes with private names': `
    class Counter {
      #n = 0
      static all = [1, 2].map(x => run(() => x))
      add(by) { return [1, 2].map(x => run(() => this.#n += x * by)) }
      get(other) { return [1].map(x => run(() => other.#n + x)) }
    }
    export function main() {
      const counter = new Counter()
      return [counter.add(2), counter.get(counter), Counter.all]
    }`,
  'captured names in several levels': `
    export function main() {
      const outer = a => b => { const c = a + b; return d => run(() => log([a, b, c, d])) }
      return [1, 2].map(outer(1)).map(inner => inner(3))
    }`
}
const run = `
  function run(work) { for (let i = 0; i < 3; i++) if (i === 2) return work() }
`
for (const [name, text] of Object.entries(programs)) {
  equal(`a program that uses ${name} in closures does the same`, () => assertSameAsNative('module', text + run))
}
equal('a sloppy script with aliased parameters in closures does the same', () => assertSameAsNative('script', `
  function first(n) { arguments[0] = 2; return [1].map(x => run(() => log([x, n]))) }
  function strict(n) { 'use strict'; return [1].map(function () { return run(() => log([n, this === undefined])) }) }
  var main = function () { return [first(1), strict(1), (function (n) { return [1].map(x => run(() => n)) })(4)] }
${run}`))
equal.run()
