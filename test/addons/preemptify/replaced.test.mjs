import { createContext, runInContext, Script } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundled } from '../../support/bundle.mjs'

// A page may replace each member of built-in objects after rt.mjs was loaded; each member has a separate realm.
// Awaits get undefined immediately, because a test cannot predict a replaced promise.

const text = bundled(['addons/preemptify.mjs', 'rt.mjs'], ['preemptify', 'budget', 'runtime'])
const load = new Script(text, { filename: 'rt.mjs' })

/** Functions that use no replaced member. Each script is a function that gets `preemptify` and returns a callee. */
const programs = {
  loops: [`preemptify => preemptify(function (n) {
    let sum = 0
    for (let i = 0; i < n; i++) { outer: while (sum < 99) { sum += i; if (i % 2) continue outer; break } }
    do sum++; while (sum < 120)
    return sum
  })`, 5],
  recursion: ['preemptify => preemptify(function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) })', 8],
  expressions: [`preemptify => preemptify(function f(n, { a = 1 } = {}) {
    if (n === 0) return a
    const text = \`<\${n}\${'}'}>\` + (/[/]}/ ? 1 : 2)
    return text + f?.(n - 1, { a: n }) + (n > 1 ? f(0) : typeof f)
  })`, 3],
  'names that are escaped': ['preemptify => preemptify(function (\\u0061b, $, $_) { for (;;) return ab })', 7],
  scope: [`preemptify => {
    const tools = { step: preemptify(function (n) { return this.by + n }), by: 3 }
    const half = preemptify(function (n) { return n / 2 })
    let limit = 5
    const add = preemptify(function (n) { return n + limit }, { scope: [() => limit] })
    return preemptify(n => tools.step(half(n)) + add(n) + tools?.step?.(1), { scope: { tools }, calls: { half, add } })
  }`, 4],
  calls: [`preemptify => {
    const even = preemptify(n => n === 0 || odd(n - 1), { calls: [() => odd] })
    const odd = preemptify(n => n !== 0 && even(n - 1), { calls: [() => even] })
    return even
  }`, 6],
  evaluate: [`preemptify => {
    let count = 1
    return preemptify(function work(n) { while (count < n) count *= 2; return count }, { evaluate: $s => eval($s) })
  }`, 9],
  methods: [`preemptify => {
    const Machine = preemptify(class {
      #by = 2
      run(n) { let x = 0; for (let i = 0; i < n; i++) x += this.step(i); return x }
      step(i) { return i * this.#by }
    }, { methods: ['run', 'step'] })
    const machine = new Machine()
    return n => machine.run(n)
  }`, 4],
  objects: [`preemptify => {
    const object = preemptify({ run(n) { return n ? this.step(n) : 0 }, step(n) { return n + this.run(n - 1) } },
      { methods: ['run', 'step'] })
    return n => object.run(n)
  }`, 4],
  'lost variables': ['preemptify => preemptify(function (n) { if (n < 0) return lost; for (let i = 0; i < 9; i++) n++; return n })', 3],
  'async functions': [`preemptify => preemptify(async function f(n) {
    let sum = 0
    for (let i = 0; i < n; i++) { await i; sum += i }
    if (n > 0) await f(n - 1)
    return sum
  })`, 3],
  twins: [`((map, filter, reduce, sort, from, replace, call, bind) => (preemptify, runtime) => {
    const { apply, budget, construct, drive, enter, suspended, twin } = runtime
    const both = (fn, generator) => twin(fn, generator)
    const double = both(x => 2 * x, function* (x) { if (--budget.left <= 0) yield; return 2 * x })
    const order = both((a, b) => b - a, function* (a, b) { yield; return b - a })
    const add = both((a, b) => a + b, function* (a, b) { yield; return a + b })
    const count = both(n => drive(counting(n)), counting)
    function* counting(n) {
      let r
      if (--budget.left <= 0) yield
      return n === 0 ? 0 : 1 + ((r = enter(count)(n - 1)) === budget ? yield suspended() : r)
    }
    function Made(n) { this.n = n }
    both(Made, function* (n) { yield; this.n = n })
    return preemptify(both(n => 0, function* (n) {
      let r
      const list = (r = apply(enter(map), { length: 3, 0: 1, 1: n, 2: 3 }, [double])) === budget ? yield suspended() : r
      const kept = (r = apply(enter(filter), { length: 2, 0: list[0], 1: list[1] }, [double])) === budget ? yield suspended() : r
      const sorted = (r = apply(enter(sort), kept, [order])) === budget ? yield suspended() : r
      const sum = (r = apply(enter(reduce), sorted, [add, 0])) === budget ? yield suspended() : r
      const made = (r = construct(Made, [sum])) === budget ? yield suspended() : r
      const like = (r = enter(from)({ length: 2, 0: 1, 1: made.n }, double)) === budget ? yield suspended() : r
      const text = (r = apply(enter(replace), 'a-a', ['a', double])) === budget ? yield suspended() : r
      const called = (r = apply(enter(call), double, [0, n])) === budget ? yield suspended() : r
      const bound = apply(enter(bind), double, [0, 21])
      const answer = (r = enter(bound)()) === budget ? yield suspended() : r
      const deep = (r = enter(count)(200)) === budget ? yield suspended() : r
      return sorted[0] + sum + like[1] + text + called + answer + deep + count(200)
    }))
  })(Array.prototype.map, Array.prototype.filter, Array.prototype.reduce, Array.prototype.sort, Array.from,
    String.prototype.replace, Function.prototype.call, Function.prototype.bind)`, 5],
  'whole texts': [`preemptify => function* () {
    const text = 'function f(n) { for (;;) return(a) => n + f(a) } class A { run(n) { for (const x of n) this[x] = n.map(y => f(y)) } }'
    return preemptify.source(text, { type: 'script', url: 'a.js' }) + preemptify.report(text + ' class B { get a() { for (;;) f() } }').length
  }`, 1],
  'names of functions': ["preemptify => preemptify(function f(n) { f = n; return typeof f + typeof this })", 3]
}

/** Runs a generator to completion without members of its realm that a page may have replaced. */
function drive(generator, { next, budget, isPromise }) {
  const callers = []
  let answer
  for (;;) {
    budget.left = 2
    let { done, value } = Reflect.apply(next, generator, [answer])
    answer = undefined
    if (done && callers.length === 0) return value
    if (done) {
      generator = callers.pop()
      answer = value
      continue
    }
    // A call that has started, or a call to start.
    while (value !== undefined && !isPromise(value)) {
      callers.push(generator)
      generator = value.generator ?? value
      value = value.generator && value.step.value
    }
  }
}

/** Makes a realm with rt.mjs and compiled programs, and keeps the members that a test needs. */
function realm() {
  const context = createContext({
    performance, setTimeout, clearTimeout, setImmediate, MessageChannel, AbortController, console, btoa
  })
  const { preemptify, budget, runtime } = load.runInContext(context)
  const take = code => runInContext(code, context)
  const next = take('(function* () {})().next')
  const isPromise = take('(Promise => value => value instanceof Promise)(Promise)')
  const made = Object.fromEntries(Object.entries(programs).map(([name, [code]]) => [name, take(code)]))
  return { take, preemptify, runtime, budget, next, isPromise, made }
}

const prototypes = {
  'Array.prototype': 'Array.prototype',
  'String.prototype': 'String.prototype',
  'RegExp.prototype': 'RegExp.prototype',
  'Function.prototype': 'Function.prototype',
  'Map.prototype': 'Map.prototype',
  'Set.prototype': 'Set.prototype',
  'WeakMap.prototype': 'WeakMap.prototype',
  'the iterators of arrays': 'Object.getPrototypeOf([].values())',
  'the iterators of maps': 'Object.getPrototypeOf(new Map().keys())',
  'the iterators of strings': "Object.getPrototypeOf(''[Symbol.iterator]())",
  'all iterators': 'Object.getPrototypeOf(Object.getPrototypeOf([].values()))',
  'generators': 'Object.getPrototypeOf(function* () {}).prototype',
  'Object': 'Object',
  'Object.prototype': 'Object.prototype',
  'Reflect': 'Reflect',
  'JSON': 'JSON',
  'Math': 'Math',
  'Array': 'Array',
  'String': 'String'
}

const replaced = suite('replaced members of built-in objects')

for (const [name, code] of Object.entries(prototypes)) {
  replaced(`functions run after replacing each member of ${name}`, () => {
    const keys = realm().take(`Reflect.ownKeys(${code})`)
    const failures = []
    for (const key of new Set([...keys, 'get', 'set'])) { // descriptors inherit `get` and `set`
      const { take, preemptify, runtime, made, ...aside } = realm()
      const object = take(code)
      const { configurable = true, writable } = Object.getOwnPropertyDescriptor(object, key) ?? {}
      if (!configurable && !writable) continue
      const broken = take('(function () { throw "replaced" })')
      try {
        if (configurable) Object.defineProperty(object, key, { value: broken, configurable: true, writable: true })
        else object[key] = broken
      } catch {
        continue
      }
      for (const [program, make] of Object.entries(made)) {
        const [, argument] = programs[program]
        let actual
        try {
          actual = drive(make(preemptify, runtime)(argument), aside)
        } catch (error) {
          actual = error?.stack ?? error
        }
        const expected = answers[program]
        if (actual !== expected) failures.push(`${String(key)}, ${program}: ${actual}`)
      }
    }
    assert.equal(failures, [])
  })
}

for (const holder of ['Array.prototype', 'Object.prototype']) {
  replaced(`running code uses no indexes that are accessors of ${holder}`, () => {
    for (const [program, [, argument]] of Object.entries(programs)) {
      if (program === 'whole texts') continue // this program runs the compiler
      const { take, preemptify, runtime, made, ...aside } = realm()
      const fn = made[program](preemptify, runtime)
      drive(fn(argument), aside)
      take(`for (const index of [0, 1, 2]) {
        Object.defineProperty(${holder}, index, { get() { throw 'read' }, set() { throw 'written' } })
      }`)
      assert.equal(drive(fn(argument), aside), answers[program], program)
    }
  })
}

replaced('a script can declare the names of built-in objects by const, let and class', () => {
  const { take, preemptify, runtime, made, ...aside } = realm()
  take(`const Object = 1, Array = 2, Reflect = 3, Symbol = 4, RegExp = 5
    let Promise, Math, JSON, String, Number, Function, Error, WeakMap, WeakSet, Uint8Array
    class Map {}
    class Set {}`)
  for (const [program, make] of Object.entries(made)) {
    assert.equal(drive(make(preemptify, runtime)(programs[program][1]), aside), answers[program], program)
  }
})

/** The results of the programs without replaced members. */
const answers = {}
replaced.before(() => {
  const { preemptify, runtime, made, ...aside } = realm()
  for (const [name, make] of Object.entries(made)) {
    answers[name] = drive(make(preemptify, runtime)(programs[name][1]), aside)
  }
})

replaced.run()
