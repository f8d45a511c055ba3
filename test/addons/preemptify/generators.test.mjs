// Steps of generators in rewritten modules yield to the job that requests the step. For other code they are unchanged.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'
import { assertSame } from '../../support/modes.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href
const load = source => import(`data:text/javascript,${encodeURIComponent(source)}`)
const rewritten = source => load(preemptify.source(source, { runtime }))

/** Returns the number of points of a job, and its result. */
function pointsOf(fn, ...args) {
  let points = -1
  const result = drive(preemptify(fn)(...args), { limit: 1, onPoint: () => points++ })
  return { points, result }
}

const steps = suite('steps')

const consumers = {
  'for-of': 'let sum = 0; for (const x of work(3)) sum += x; return sum',
  'for-of with a pattern': 'let sum = 0; for (const [x] of pairs()) sum += x; return sum',
  'for-of with a member': 'let sum = 0, o = {}; for (o.x of work(3)) sum += o.x; return sum',
  'for-of with a variable that its body hides': 'let sum = 0; for (const x of work(3)) { let x = 1; sum += x } return sum',
  'for-of with an outer variable': 'let x, sum = 0; for (x of work(3)) sum += x; return sum',
  spread: 'return [0, ...work(3)].length + Math.max(...work(3))',
  next: 'const w = work(3); return w.next().value + w.next().value',
  'yield*': 'let sum = 0; for (const x of around(around(work(3)))) sum += x; return sum',
  'Array.from': 'return Array.from(work(3)).length + Array.from(work(3), x => x + 1)[0]',
  collections: 'return new Set(work(3)).size + new Map(pairs()).size',
  'a method': 'let sum = 0; for (const x of new Tree().items()) sum += x; return sum'
}
for (const [name, body] of Object.entries(consumers)) {
  steps(`steps have points: ${name}`, async () => {
    const source = `
      function* work(n) { for (let i = 0; i < n; i++) { let sum = 0; for (let k = 0; k < 50; k++) sum += k * i; yield sum } }
      function* pairs() { for (const x of work(3)) yield [x, x] }
      function* around(inner) { for (;;) return yield* inner }
      class Tree { *items() { for (let i = 0; i < 100; i++) this.last = i; yield this.last } }
      export function main() { ${body} }`
    const { main } = await rewritten(source)
    const expected = (await load(source)).main()
    assert.equal(main(), expected)
    const { points, result } = pointsOf(main)
    assert.equal(result, expected)
    assert.ok(points > 100, `${points} points`)
  })
}

/** An iterator whose results count how often their `value` is read. */
const counting = `
  let reads = 0
  function long(x) { for (let i = 0; i < 3; i++) Math.sqrt(i); return x }
  const counted = () => {
    let rounds = 0
    return {
      [Symbol.iterator]() { return this },
      next() { const done = ++rounds > 2; return { done, get value() { reads++; return [long(rounds), 0] } } }
    }
  }
  function* outer() { long(1); return yield* counted() }
  function* outermost() { long(1); return yield* outer() }
`
for (const [name, body] of Object.entries({
  'next reads no value of a delegate': 'const w = outer(); w.next(); w.next(); const { done } = w.next(); return [done, reads]',
  'nested yield* reads no value of a delegate': 'const w = outermost(); w.next(); w.next(); return reads',
  'for-of reads each value of a delegate once': 'for (const x of outermost()) long(x); return reads',
  'a spread reads each value of a delegate once': 'return [[...outermost()].length, reads]',
  'Array.from reads each value of a delegate once': 'return [Array.from(outermost(), long).length, reads]',
  'a Map reads each value of a delegate once': 'return [new Map(outermost()).size, reads]'
})) steps(name, () => assertSame(`${counting} export function main() { reads = 0; ${body} }`))

steps.run()

const semantics = suite('semantics')

// Each scenario logs its effects; `spin` makes each step long.
const scenarios = `
const log = []
function spin(n = 3) { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
function* numbers(to, name = 'numbers') {
  try {
    for (let i = 0; i < to; i++) {
      spin()
      log.push(name + ' gives ' + i)
      log.push(name + ' gets ' + (yield i))
    }
    return 'end of ' + name
  } catch (error) {
    log.push(name + ' catches ' + error)
    yield 'caught'
    throw error
  } finally {
    spin()
    log.push(name + ' ends')
  }
}
function* delegating(...inner) {
  for (const one of inner) log.push('inner: ' + (yield* one))
  return 'all'
}
function tried(f) {
  try { spin(); return f() } catch (error) { log.push(error.name); return error.name }
}
const steps = (iterator, ...calls) => calls.map(([name, value]) => tried(() => JSON.stringify(iterator[name](value))))
class Own { constructor() { this.n = 2 } *[Symbol.iterator]() { while (this.n-- > 0) { spin(); yield this.n } } }

export const scenarios = {
  breaking() { for (const x of numbers(9)) { spin(); if (x > 1) break } },
  leaving() { a: for (const x of numbers(3, 'a')) for (const y of numbers(3, 'b')) { if (y) continue a; if (x) return x + y } },
  throwing() { return tried(() => { for (const x of numbers(9)) if (x) throw new RangeError('x') }) },
  passing: () => steps(numbers(3), ['next', 1], ['next', 2], ['throw', 3], ['next', 4], ['next', 5]),
  returning: () => steps(numbers(3), ['next'], ['return', 7], ['next']),
  early: () => [steps(numbers(3), ['return', 7], ['next']), steps(numbers(3), ['throw', 8], ['next'])],
  delegated: () => steps(delegating(numbers(2, 'a'), [5, 6], numbers(1, 'b')),
    ...'1234567'.split('').map(value => ['next', value])),
  thrownInside: () => steps(delegating(delegating(numbers(2, 'a')), numbers(1, 'b')), ['next'], ['throw', 'x'], ['next'], ['next']),
  returnedInside: () => steps(delegating(delegating(numbers(2, 'a')), numbers(1, 'b')), ['next'], ['next'], ['return', 'x'], ['next']),
  shared() { const inner = numbers(4), a = delegating(inner), b = delegating(inner); return [steps(a, ['next']), steps(b, ['next'], ['next']), steps(a, ['next'], ['next']), steps(b, ['next'])] },
  reentered() { const it = (function* () { spin(); yield tried(() => it.next()); spin(); yield 2 })(); return [it.next(), it.next(), it.next()] },
  reenteredPlainly() { const o = { get next() { return it.next() } }, it = (function* () { spin(); yield tried(() => o.next); yield 2 })(); return [it.next(), it.next()] },
  identity() {
    const it = numbers(1)
    return [it instanceof numbers, Object.getPrototypeOf(it) === numbers.prototype, String(it), it[Symbol.iterator]() === it, Reflect.ownKeys(it).length,
      numbers.name, numbers.length, Object.getPrototypeOf(numbers.prototype) === Object.getPrototypeOf((function* () {}).prototype)]
  },
  prototypes() {
    function* own() { for (;;) { spin(); yield this } }
    const before = own()
    own.prototype = { __proto__: own.prototype, size: 5 }
    const after = own.call(7)
    own.prototype = 3
    return [before.size, after.size, typeof after.next().value, own() instanceof Object, Object.getPrototypeOf(own()) === Object.getPrototypeOf((function* () {}).prototype)]
  },
  shadowed() { const it = numbers(2); let count = 0; it.next = function () { count++; return { done: count > 2, value: count } }; for (const x of it) log.push(x); return count },
  own() { const list = []; for (const x of new Own()) list.push(x); return [list, [...new Own()], Array.from(new Own()), new Set(new Own()).size] },
  badEntries: () => tried(() => new Map(numbers(3))),
  defaults() { function* f(a, b = log.push('default')) { while (a-- > 0) { spin(); yield b } } const it = f(2); log.push('made'); return [...it] },
  failing: () => tried(() => { function* f({ a }) { while (a) yield 1 } return f() }),
  arguments() { function* f() { for (let i = 0; i < arguments.length; i++) yield arguments[i] } return [...f(1, 2, 3)] },
  super() { class A { *m() { while (true) { spin(); yield 1 } } } class B extends A { *m() { for (const x of super.m()) { spin(); yield x + 1; return } } } return [...new B().m()] },
  finished() { const it = numbers(1); return [[...it], [...it], it.next()] },
  notIterable: () => [tried(() => { for (const x of 5) spin(x) }), tried(() => { for (const x of { [Symbol.iterator]() { return 1 } }) spin(x) }), tried(() => [...undefined])],
  closures() { const all = []; for (let x of numbers(3)) { spin(); all.push(() => x++) } return all.map(f => f() + f()) },
  protocol() {
    const all = []
    const closing = (n, result) => ({ [Symbol.iterator]() { return {
      get next() { log.push('next'); return () => { spin(); return { get done() { log.push('done'); return n < 1 }, get value() { log.push('value'); return n-- } } } },
      get return() { log.push('return'); return result && function () { log.push(arguments.length, typeof this.next); if (result === 1) throw new RangeError('1'); return result } }
    } } })
    for (const result of [undefined, 1, 2, {}]) {
      for (const leave of [x => spin() && x, x => { spin(); throw new TypeError(x) }, () => 0]) {
        all.push(tried(() => { for (const x of closing(3, result)) if (leave(x)) return spin(x) }))
        all.push(tried(() => { outer: for (const y of [7, 8]) for (const [x] of [[y]]) for (const z of closing(2, result)) { if (leave(z)) continue outer; all.push(x + spin(z)) } }))
      }
    }
    return all
  },
  arrays() { const list = [1, , 3], all = []; for (const x of list) { spin(); all.push(x); if (list.length < 6) list.push(x) } for (const x of list) { spin(); list.pop(); all.push(x) } return all },
  keys() { const o = { a: 1, b: 2, c: 3 }, all = []; for (all[spin(0)] in o) { delete o.b; o.d = spin(); all.push(all[0]) } for (const k in null) spin(k); return all },
  finalizers() {
    const f = n => { a: for (let i = 0; i < 3; i++) { try { spin(); if (n === 1) break; if (n === 2) continue a; if (n === 3) throw new RangeError(i); if (n === 4) return spin(i) } catch (e) { if (i) throw e; log.push(e.name + spin()) } finally { log.push(spin(i)); if (n === 5) continue; if (n === 6) return 'over' } log.push('behind') } return 'end' }
    const g = n => { for (const x of [1, 2]) try { try { if (n) return (spin(), x) } finally { log.push(spin(x)) } } finally { if (n > 1) break; log.push('outer') } }
    return [0, 1, 2, 3, 4, 5, 6].map(n => tried(() => f(n))).concat([0, 1, 2].map(g))
  },
  hidden() { let e = spin(), all = []; for (const e of [4, 5]) try { throw { e } } catch ({ e }) { { let e = spin(7); all.push(e) } all.push(spin(e)) } try { throw 1 } catch (f) { var f = spin(8); all.push(f) } return [all, e, f] },
  around() {
    const plain = () => { const all = [numbers.length]; { let numbers = spin(2); all.push(numbers) } return all }
    const key = () => { const all = [numbers.length]; { let numbers = spin(3); all.push({ numbers }) } return all }
    const free = () => { const all = [JSON.stringify(1)]; { let JSON = spin(4); all.push({ JSON }) } return all }
    const kept = () => { const all = [numbers.length]; { let numbers = spin(5); all.push((() => numbers)()) } return all }
    return [plain(), key(), free(), kept()]
  },
  replaced() {
    const elements = Object.getPrototypeOf([][Symbol.iterator]()), { next } = elements
    const each = () => { for (const x of [1, 2]) if (spin(x) > 0) return x }
    elements.next = function () { log.push('next'); return next.call(this) }
    const all = each()
    elements.next = next
    elements.return = () => { log.push('return'); return {} }
    const other = each()
    delete elements.return
    return [all, other]
  },
  early() {
    const all = [tried(() => { const was = later(); const c = spin(5); function later() { return spin(c) } return [was, later()] })]
    const d = spin(6)
    function afterwards() { return spin(d) }
    return all.concat(afterwards())
  },
  sums() { const all = []; for (var [x, ...[y = spin()]] of [[1], [2, 3]]) { spin(); all.push(x, y) } return [all, x, y] }
}
export function run(name) { log.length = 0; const result = scenarios[name](); return JSON.stringify([log, result]) }
`
const names = [...scenarios.matchAll(/^ {2}(\w+)(?=\(\) \{|: \()/gm)].map(match => match[1])

for (const name of names) {
  semantics(`plain calls and jobs have the native effects: ${name}`, async () => {
    const original = (await load(scenarios)).run(name)
    const { run } = await rewritten(scenarios)
    assert.is(run(name), original, 'plainly')
    for (const limit of [1, 2, 3, 5, 7, 2 ** 20]) assert.is(drive(preemptify(run)(name), { limit }), original, `as a job, budget ${limit}`)
    assert.is(run(name), original, 'plainly, after jobs')
  })
}

semantics('a generator can be resumed by plain code and by jobs in turn', async () => {
  const { make, take } = await rewritten(`
    export function* numbers(n) { for (let i = 0; i < n; i++) { for (let k = 0; k < 9; k++); yield* [i] } }
    export function make() { for (;;) return numbers(9) }
    export function take(it, n) { const list = []; for (; n > 0; n--) list.push(it.next().value); return list }`)
  for (const it of [make(), drive(preemptify(make)(), { limit: 1 })]) {
    assert.equal(take(it, 2), [0, 1])
    assert.equal(drive(preemptify(take)(it, 2), { limit: 1 }), [2, 3])
    assert.equal(take(it, 1), [4])
  }
})

semantics('other code cannot resume a generator while its step is suspended', async () => {
  const { make, take } = await rewritten(`
    export function* numbers() { for (;;) { for (let k = 0; k < 9; k++); yield 1 } }
    export function make() { for (;;) return numbers() }
    export function take(it) { for (const x of it) return x }`)
  const it = drive(preemptify(make)(), { limit: 1 })
  const generator = preemptify(take)(it)
  let other
  const driven = drive((function* () {
    return yield generator
  })(), {
    limit: 1,
    onPoint() {
      if (other === undefined && Reflect.ownKeys(it).length) other = [() => it.next(), () => [...it], () => drive(preemptify(take)(it), { limit: 2 ** 20 })]
        .map(use => {
          try {
            return use()
          } catch (error) {
            return error.message
          }
        })
    }
  })
  assert.is(driven, 1)
  assert.equal(other, ['Generator is already running', 'Generator is already running', 'Generator is already running'])
  assert.equal(Reflect.ownKeys(it), [])
})

semantics('a rewritten generator function is a job, whose steps yield', async () => {
  const { count } = await rewritten(`
    export function* count(n) {
      let sum = 0
      for (let i = 0; i < n; i++) {
        for (let k = 0; k < 9; k++) sum++
        try { sum += yield Promise[i ? 'reject' : 'resolve'](100) } catch (error) { sum -= error }
      }
      return sum
    }`)
  assert.is(preemptify(count), preemptify(count))
  assert.is(preemptify(count).name, 'count')
  let points = 0
  assert.is(await driveAsync(preemptify(count)(2), { limit: 1, onPoint: () => points++ }), 18)
  assert.ok(points > 18)
})

semantics('cancelling a job in a step or a constructor runs their finally blocks', async () => {
  const { main, make } = await rewritten(`
    function* inner(tick, log) { try { for (;;) tick() } catch (error) { log.push(error.name); throw error } finally { for (let i = 0; i < 9; i++); log.push('inner') } }
    function* outer(tick, log) { try { yield 1; yield* inner(tick, log) } finally { log.push('outer') } }
    function Made(tick, log) { try { for (;;) tick() } finally { log.push('made') } }
    export function main(tick, log) { for (const x of outer(tick, log)) log.push(x) }
    export function make(tick, log) { new Made(tick, log) }`)
  for (const [work, expected] of [[main, [1, 'AbortError', 'inner', 'outer']], [make, ['made']]]) for (const budget of [1, 7]) {
    const host = virtualHost({ read: 0.1 })
    const log = []
    let ticks = 0
    const job = new Scheduler({ host, budget }).spawn(work, {}, () => { if (++ticks === 20) job.cancel() }, log)
    const error = job.then(() => {}, error => error)
    host.run()
    assert.is((await error).name, 'AbortError')
    assert.equal(log, expected)
  }
})

semantics('a replaced next method of generators is called for each step', async () => {
  const source = `
    export function* numbers() { for (let i = 0; i < 2; i++) { for (let k = 0; k < 9; k++); yield i } }
    export function main() { const all = []; for (const x of numbers()) all.push(x); return [...all, ...numbers()] }`
  const { main } = await rewritten(source)
  const prototype = Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()))
  const { next } = prototype
  let asked = 0
  prototype.next = function (value) {
    asked++
    return next.call(this, value)
  }
  let result
  try {
    result = drive(preemptify(main)(), { limit: 1e9 })
  } finally {
    prototype.next = next
  }
  assert.equal(result, [0, 1, 0, 1])
  assert.ok(asked >= 6, `${asked} steps`)
})

semantics('yield* can nest 3,000 levels deep', async () => {
  const { main } = await rewritten(`
    function* down(n) { for (; n > 0;) return yield* down(n - 1); yield 'here' }
    export function main(n) { let last; for (const x of down(n)) last = x; return last }`)
  assert.is(drive(preemptify(main)(3000), { limit: 1000 }), 'here')
})

semantics.run()
