import { inspect, isDeepStrictEqual } from 'node:util'
import { createContext, runInContext, runInNewContext, runInThisContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { budget } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { support } from '../../../addons/preemptify/runtime.mjs'
import { budgets } from '../../fixtures/preemptify/both-ways.mjs'
import { evaluateLogged, functionsOf, outcomeOf, randomProgram } from '../../fixtures/preemptify/random-source.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'
import { internals } from '../../support/phases.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href

const load = (text, program) => evaluateLogged(text, functionsOf(program))

/** Calls the first function of a program by `run`, and returns its result or error and its effects. */
const outcome = ({ effects, result }, { names: [first] }, run) => outcomeOf(effects, () => run(result[first], result))

const plainly = (fn, self) => fn.call(self, 3, 0)
const asJob = limit => (fn, self) => driveAsync(preemptify(fn).call(self, 3, 0), { limit })

/** A compiler that makes all twins generators. */
const { preemptify: generators, optimisations } = internals('preemptify', 'optimisations')
optimisations.frame = false

const programs = suite('random programs')

async function checkProgram(program, source = preemptify.source) {
  const expected = await outcome(load(program.source, program), program, plainly)
  const text = source(program.source, { type: 'script' })
  const rewritten = load(text, program)
  for (const limit of [0, ...budgets]) {
    const actual = await outcome(rewritten, program, limit === 0 ? plainly : asJob(limit))
    if (isDeepStrictEqual(actual, expected)) continue
    throw new Error(`${limit ? `as a job, budget ${limit}` : 'plainly'}\nrewritten ${inspect(actual)}\noriginal ${inspect(expected)}\n` +
      `${program.source}\n${text}`)
  }
}

programs('rewritten programs have the native results, errors and effects', () => {
  return forSeeds(150, random => checkProgram(randomProgram(random)))
})

programs('programs whose twins have frame form have the native effects', () => {
  return forSeeds(300, random => checkProgram(randomProgram(random, true)))
})

programs('programs whose twins are all generators have the native effects', () => {
  return forSeeds(150, random => checkProgram(randomProgram(random), generators.source))
})

programs.run()

const forms = suite('forms')

/** Loads a module natively and rewritten. */
async function modules(text) {
  const load = source => import(`data:text/javascript,${encodeURIComponent(source)}`)
  return { original: await load(text), rewritten: await load(preemptify.source(text, { runtime })) }
}

const describe = fn => Reflect.ownKeys(fn).map(key => {
  const { value, ...flags } = Object.getOwnPropertyDescriptor(fn, key)
  return [key, typeof value === 'object' || typeof value === 'function' ? typeof value : value, flags]
})

forms('a rewritten script has the completion value of its original', () => {
  for (const text of ['function f() { for (;;) f() }', '3; function f() { for (;;) f() }', '{ function f() { for (;;) f() } }',
    '"use strict"\nfunction f() { for (;;) return this } f()']) {
    assert.is(String(runInThisContext(preemptify.source(text, { type: 'script' }))), String(runInThisContext(text)), text)
  }
})

forms('generated names of two scripts of a page do not conflict', async () => {
  const first = 'function outer(n) { let sum = 0; for (let i = 0; i < n; i++) sum += inner(i); return sum }\n' +
    'function inner(n) { let sum = 0; for (let i = 0; i < 3; i++) sum += list.map(x => x * n)[0]; return sum }\nvar list = [1]'
  const second = first.replaceAll('outer', 'others').replaceAll('inner', 'within').replace('sum += i', 'sum -= i').replace('list.map(x => x * n)', 'list.filter(x => x)')
  for (const text of [first, second]) runInThisContext(preemptify.source(text, { type: 'script' }))
  for (const name of ['outer', 'others']) {
    const expected = globalThis[name](5)
    assert.is(await driveAsync(preemptify(globalThis[name])(5), { limit: 3 }), expected, name)
  }
})

forms('no generated name is in the source, even with escapes', async () => {
  for (const name of ['$p', '\\u0024p', '\\u{24}e', '\\u{0024}_b', '$_b', '$__t', '$', '$$b', '$é']) {
    const text = `let ${name} = 0; export const main = n => { for (let i = 0; i < n; i++) ${name} += [1, 2].map(x => main(i - 1) + x)[1]; return ${name} }`
    const { original, rewritten } = await modules(text)
    const expected = [original.main(4), original.main(4)]
    assert.is(rewritten.main(4), expected[0], name)
    assert.is(await driveAsync(preemptify(rewritten.main)(4), { limit: 3 }), expected[1], name)
  }
})

forms('destructured parameters are variables and are destructured once', async () => {
  const text = `
    const log = [], add = (...all) => { let sum = 0; for (const x of all) sum += x; log.push(sum); return sum }
    const counted = n => ({ get a() { log.push('a'); return n }, b: [n + 1, n + 2], c: n + 3, [Symbol.iterator]: function* () { yield n; yield n + 4; log.push('end') } })
    function Made({ c }, ...rest) { this.c = add(c); for (let i = 0; i < rest.length; i++) rest[i] += add(i, c); this.get = () => c; this.rest = add(...rest) }
    class Own { #n = 1; #sum({ c }) { return add(this.#n, c) } static of([n]) { return add(n) + new Own().#sum({ c: n }) } }
    const apart = ({ a, b: [, last], ...others }, [first, second], ...more) => {
      const x = add(a, last) + add(first, second)
      { let e = add(5); more.push(e) }
      for (const [e, b] of [[1, 2], [3, 4]]) more.push(add(e, b, first))
      return [x, more, add(a, last, others.c), Object.keys(others)]
    }
    function changing({ c }, [n]) { c = add(c, n); const next = () => c++; next(); return [add(c), next()] }
    function missing({ a: { b } }) { return add(b) }
    export function main() {
      const made = new Made(counted(1), 2, 3), errors = []
      try { missing(counted(9)) } catch (error) { errors.push(error.name) }
      try { missing() } catch (error) { errors.push(error.name) }
      return [apart(counted(1), counted(2), 3, 4), made.c, made.get(), made.rest, changing(counted(1), [7]), Own.of([3]), errors, log.splice(0)]
    }/*${'.'.repeat(9000)}*/`
  assert.match(preemptify.source(text), /\(\$a\d+,\$a\d+,\.\.\.more\)/)
  const { original, rewritten } = await modules(text)
  const expected = original.main()
  assert.equal(rewritten.main(), expected)
  for (const limit of budgets) assert.equal(await driveAsync(preemptify(rewritten.main)(), { limit }), expected, `budget ${limit}`)
})

forms('twins call short constructors natively', () => {
  const text = `function Point(x) { this.x = x } function Walk(n) { for (let i = 0; i < n; i++) this.x = i }
    export function main(f) { f(); return [new Point(1), new Walk(2)] }/*${'.'.repeat(3000)}*/`
  assert.match(preemptify.source(text), /=\s*new Point\(1\)/)
  assert.not.match(preemptify.source(text), /\$n\(\s*\(?Point/)
})

forms('repeated suspensions of a twin do not make the stack of calls deeper', async () => {
  const text = `function loop(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
    function onward(n) { for (let i = 0; i < n; i++) if (i === n - 1) return loop(n) }
    export const main = n => loop(n) + onward(n)/*${'.'.repeat(3000)}*/`
  const { original, rewritten } = await modules(text)
  const stack = [preemptify(rewritten.main)(500)]
  let [deepest, points, result] = [0, 0]
  while (stack.length > 0) {
    budget.left = 1
    const { done, value } = stack.at(-1).next(result)
    result = done ? value : undefined
    if (done) stack.pop()
    else if (value !== undefined) stack.push(value)
    else points++
    deepest = Math.max(deepest, stack.length)
  }
  assert.is(result, original.main(500))
  assert.ok(points > 1000 && deepest < 9, `${points} points, ${deepest} calls`)
})

forms('values before a call keep their order when the job is suspended in the call', async () => {
  const other = 'export let x = 1; export const bump = () => [x++, 4][1]'
  const text = `
    import { x, bump } from 'data:text/javascript,${encodeURIComponent(other)}'
    export const bumped = (f, before) => { before = x; return f(x, bump()) - before * 100 }
    const log = value => { log.list.push(value); return value }
    log.list = []
    const unknown = [log, (a, b) => log(a) * 100 + log(b)]
    class Own { #own = 4; has(object) { const f = unknown[0]; return #own in (f(1), object) } get(object) { return (unknown[0](2), object).#own } }
    export function missing() { const other = unknown[9]; return [other.trim(unknown[0](10))] }
    export const logged = () => log.list.length
    export function main() {
      const [f, g] = unknown, made = []
      let n = 1, { a, c = 5 } = { a: g(n, n = 3) }
      made.push(g(n, (n++, f(n))), 'abc'.charCodeAt(g(0, 1)), \`\${n}\${f(n += 2)}\${n}\`, [...[n, 7], ...[f(n)], n++].length)
      ;({ a } = { a: g(a, c), n, ...{ z: f(n) } })
      n += f(2) + n
      const own = new Own(), object = { n, a, k: f(a), c }
      made.push(a, n, object, own.has(own), own.has(object), own.get(own), (f(8), 9), f(0) || f(n) && f(0) ? f(1) : f(2), f(0) ?? 3)
      for (let i = f(0), end = f(3); f(i) < end; i++) { if (f(i) === 1) continue; switch (f(i)) { case 0: f('zero'); case 2: f('two'); break; default: f('none') } }
      let left = 3
      outer: while (f(left--)) { do { if (left === f(1)) break outer; f('again') } while (left > 2) }
      return [made, log.list.splice(0)]
    }${' '.repeat(3000)}` // in a short text, twins are generators
  assert.not.match(preemptify.source(text), /function\s*\*/)
  const { original, rewritten } = await modules(text)
  const expected = original.main()
  for (const limit of [1, 2, 3, 5, 300]) assert.equal(await asJob(limit)(rewritten.main), expected, `budget ${limit}`)
  assert.equal(rewritten.main(), expected)
  await driveAsync(preemptify(rewritten.missing)(), { limit: 1 }).then(assert.unreachable, error => assert.instance(error, TypeError))
  assert.is(rewritten.logged(), 0)
  assert.is(await driveAsync(preemptify(rewritten.bumped)((a, b) => a * 100 + b), { limit: 1 }), 4)
})

forms('short callbacks are passed to array methods without visible differences', async () => {
  const text = `
    const log = []
    const owner = { list: [3, 1, 2], map(f) { log.push(f.name, f.length, arguments.length, this === owner); return [f(7)] },
      all() { return this.map(x => x + 1).concat(this.list.filter((x) => x > 1)) } }
    class Slow extends Array { map(f) { let sum = 0; for (let i = 0; i < 9; i++) sum += f(i); return [sum] } get twice() { return super.map(x => 2 * x) } }
    const unknown = x => { for (let i = 0; i < 2; i++) log.push(x); return x }
    export const short = list => list.map(x => x + 1)
    export function main() {
      log.length = 0
      const a = [1, 2, , 4], made = [], { list } = owner
      made.push(a.map(x => -x), (a).map((x => 2 * x)).filter((x) => x > 2,), false || a.some(x => x > 3), a.every(x => x) && a.find(x => x === 4))
      made.push(unknown(a) . map /* of */ ( function () { return this === undefined } ), list.map(function own(x) { return own.name + x }))
      made.push(owner.all(), Slow.of(1, 2).map(x => x), [...Slow.of(1, 2).twice], a?.map(x => x), a.findIndex(x => x === 2), [...list.filter(x => x > 1)])
      list.forEach(x => log.push(x))
      made.push(list.reduce((a, b) => a + b, 0), list.map(x => x).reduceRight((a, b) => a + b, ('')), [].reduce((a, b) => a, null))
      made.push(list.reduce((a, b) => a + b), [2].reduce((a, b) => b, made.length), Slow.of(1, 2).reduce((a, b) => a + b, 1))
      try { unknown([]).reduce((a, b) => a) } catch (error) { made.push(error.name) }
      unknown(list.map(x => x).filter(x => x !== unknown.none).length)
      try { unknown(undefined).map(x => x) } catch (error) { made.push(error.name) }
      try { a.map(x => x.y.z) } catch (error) { made.push(error.name) }
      return [made, log.splice(0)]
    }${' '.repeat(3000)}`
  assert.match(preemptify.source(text), /list\.map\(\$f\)/)
  assert.match(preemptify.source(text), /list\.reduce\(\$f,0\)/)
  const { original, rewritten } = await modules(text)
  const expected = original.main()
  for (const limit of [1, 2, 3, 300]) assert.equal(await asJob(limit)(rewritten.main), expected, `budget ${limit}`)
  assert.equal(rewritten.main(), expected)
  const { short } = support.runtime
  for (const list of [new (class extends Array {})(), new Array(5001), new Uint8Array(2), { length: 1 }]) assert.is(short(list), false)
})

forms('an array in a native method counts as one point for each element', async () => {
  const { rewritten } = await modules(`export const main = n => { for (const list = new Array(100).fill(1); n > 0; n--) list.map(x => x) }${' '.repeat(3000)}`)
  let points = 0
  drive(preemptify(rewritten.main)(50), { limit: 1000, onPoint: () => points++ })
  assert.ok(points >= 5, `${points} points`)
})

forms('variables of the same name stay separate in suspended jobs and closures', async () => {
  const { rewritten } = await modules(`
    export const slow = value => { for (let i = 0; i < 3; i++); return value }
    export function shadow(f) { let n = f(1); { let n = f(2); f(n) } return f(0) + n }
    export function loops(f) { const all = []; for (let i = 0; i < 3; i++) { const kept = f(i); all.push(() => kept) } return f(0) + all.map(g => g()).join() }
    export function changed(f) { let n = f(1); const add = () => n++; f(add()); add(); return f(0) + n }
    export function keys(f) { let sum = 0; { let a = 1; { let a = 5; a++; sum += Object.values({ a, k: f(a++) }).join('') } } return sum }
    export function siblings(f) { let sum = 0; for (let i = 0; i < 2; i++) sum += f(i); for (let i = 5; i < 7; i++) sum += f(i); return sum }
    ${' '.repeat(3000)}`)
  for (const [name, expected] of Object.entries({ shadow: 1, loops: '00,1,2', changed: 3, keys: '066', siblings: 12 })) {
    for (const limit of [1, 2, 3, 300]) assert.is(await driveAsync(preemptify(rewritten[name])(rewritten.slow), { limit }), expected, name)
  }
})

forms('functions of all kinds have twins and keep their names, lengths and keys', async () => {
  const { original, rewritten } = await modules(`
    const loop = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
    const unknown = [], known = Symbol()
    unknown[0] = loop
    export function declared(a, b) { return unknown[0](a) }
    export default function (a) { return unknown[0](a) }
    export const arrow = (a, b = 2) => unknown[0](a)
    export const short = a => loop(a)
    export let expression = function (a) { return unknown[0](a) }
    export const named = function own(a) { return a < 3 ? own(3) : unknown[0](a) }
    export const rest = (...all) => unknown[0](all[0])
    const object = { method(a) { return unknown[0](a) }, value: a => unknown[0](a), 'a b': function (a) { return unknown[0](a) },
      'c-d'(a) { return unknown[0](a) }, '1a': a => unknown[0](a), '[b]': a => unknown[0](a), __proto__(a) { return unknown[0](a) } }
    export const { method, value, 'a b': spaced, 'c-d': dashed, '1a': digits, '[b]': brackets, __proto__: proto } = object
    class Base { up(a) { return unknown[0](a) } static up(a) { return unknown[0](a) } }
    class Made extends Base {
      method(a) { return super.up(a) }
      static method(a) { return super.up(a) }
      'a b'(a, ...b) { return this.method(a) }
      constructor() { super(); this.own = this.own.bind(this) }
      own(a) { return this.#secret(a) }
      #secret(a) { return Made.#hidden(this === made && a) }
      static #hidden(a) { return unknown[0](a) }
      async later(a) { return await this.#soon(a) }
      async #soon(a) { return await unknown[0](a) }
      [known](a) { return unknown[0](a) }
      [Symbol.search](a) { return unknown[0](a) }
      field = a => this.method(a)
      static field = function (a) { return unknown[0](a) }
    }
    const made = new Made()
    export const inClass = a => made.method(a), bound = made.field, field = Made.field
    export const proper = Made.prototype.method.bind(made), statics = Made.method.bind(Made)
    export const { own, [known]: symbol, [Symbol.search]: search } = made
    export const keyed = { [known](a) { return unknown[0](a) } }[known], valued = { [Symbol.search]: function (a) { return unknown[0](a) } }[Symbol.search]
    export const hidden = async a => await made.later(a)
    export const twice = class { a() { return 0 } ['a'](a) { return unknown[0](a) } }.prototype.a
    export const nested = (a => { const inner = b => unknown[0](b); return inner })()
    export const { made: fromNew } = new function () { this.made = a => unknown[0](a); unknown[0](0) }
    export var logical; logical ??= a => unknown[0](a)
    export const inBrackets = new Proxy({}, { get: () => logical })[a => unknown[0](a)]
    export const { pattern = a => unknown[0](a) } = {}
    export const [first = function (a) { return unknown[0](a) }] = []
  `)
  assert.equal(Object.keys(rewritten), Object.keys(original))
  for (const key of Object.keys(original)) {
    const fn = rewritten[key]
    assert.equal(describe(fn), describe(original[key]), key)
    assert.is(await fn(9), 36, key)
    let points = 0
    assert.is(await driveAsync(preemptify(fn)(9), { limit: 1, onPoint: () => points++ }), 36, key)
    assert.ok(points > 9, `${key}: ${points} points`)
  }
})

forms('calls in try, guards with this and arguments, and new of a parameter have points', async () => {
  const { original, rewritten } = await modules(`
    const unknown = [n => { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }, n => { throw new Error(unknown[0](n)) }]
    export function caught(n) { try { return unknown[1](n) } catch (error) { return error.message } }
    export function counted(n) { if (n < 0) return n; const sum = unknown[0](n); return sum + arguments.length }
    export const counts = n => counted(n, 2, 3)
    const object = { k: 5, make() { return n => { if (n < this.k) return this.k; const sum = unknown[0](n); return sum + this.k } } }
    export const low = n => object.make()(n - 9)
    export const high = object.make()
    function Made(n) { for (this.sum = 0; this.sum < n; this.sum++); }
    export const made = (n, Class = Made) => new Class(n).sum
    const double0 = n => n + 1
    ${Array.from({ length: 12 }, (_, i) => `const double${i + 1} = n => double${i}(n) + double${i}(n)`).join('\n')}
    export { double12 }
  `)
  for (const key of Object.keys(original)) {
    let points = 0
    const work = preemptify(rewritten[key])(9, undefined, 3)
    assert.is(await driveAsync(work, { limit: 1, onPoint: () => points++ }), original[key](9, undefined, 3), key)
    assert.ok(points > 1, `${key}: ${points} points`)
  }
})

forms('a job is preempted in the constructors of base and derived classes', async () => {
  const { rewritten: { main, huge, wide, heir, text } } = await modules(`
    class Sum { #all = 0; constructor(n, step = 1) { for (let i = 0; i < n; i += step) this.#all += i } get all() { return this.#all } }
    class Heir extends Sum {}
    class Huge { constructor(n) {${' '.repeat(5000)} this.all = 0; for (let i = 0; i < n; i++) for (let k = 0; k < 2; k++) this.add(k) } add(x) { this.all += x } }
    class Short { constructor(a) { this.a = a } }
    export const main = (n, Class = Sum) => new Sum(n).all + new Class(n, 2).all
    export const huge = n => new Huge(n).all
    let sum = 0
    export function wide(n) {${' '.repeat(5000)} for (let i = 0; i < n; i++) for (let k = 0; k < 2; k++) step(9) }
    function step(n) { for (let i = 0; i < n; i++) sum += i }
    export const heir = (n, f = Number) => f(new Heir(n).all)
    export const text = String(Short)
  `)
  const points = async work => {
    let count = 0
    await driveAsync(work, { limit: 1, onPoint: () => count++ })
    return count
  }
  assert.is(main(9), 36 + 20)
  assert.is(await driveAsync(preemptify(main)(9), { limit: 1 }), 36 + 20)
  assert.ok(await points(preemptify(main)(9)) > 9 + 4)
  assert.is(await driveAsync(preemptify(huge)(9), { limit: 1 }), 9)
  assert.ok(await points(preemptify(huge)(9)) > 9 * 2)
  assert.ok(await points(preemptify(wide)(9)) > 9 * 2 * 9, 'a huge function calls preemptibly')
  assert.ok(await points(preemptify(heir)(9)) > 9)
  assert.is(text, 'class Short { constructor(a) { this.a = a } }')
})

forms('import.source() is unchanged in a twin', () => {
  const phase = "import.source('./adder.wasm')"
  const text = preemptify.source(`export async function load(list) { for (const x of list) x(await ${phase}) }`, { runtime })
  assert.is(text.split(phase).length, 3)
})

forms('a job can recurse 50,000 levels deep', async () => {
  const { rewritten: { down } } = await modules('export function down(n) { return n === 0 ? 0 : 1 + down(n - 1) }')
  for (const limit of [7, 2 ** 30]) assert.is(await driveAsync(preemptify(down)(50_000), { limit }), 50_000)
})

forms.run()

const pieces = suite('parts of programs')

/** Each source declares `main(log)`; `run` is a call that can be preempted. */
const sources = {
  'optional chains': `function main() {
    const o = { a: { b(x) { return this === o.a ? { c: x, d() { return this.c } } : 0 } }, n: null, f: run }
    const k = () => 'b'
    return [o?.a?.b(run(1)).d(), o.n?.x(run(2)).y(), o.a.zz?.(run(3)), o.a?.[k()](4)?.d?.(), o.f?.(5), (o?.f)(6), o?.['a'].b?.(7)['c'], run(8)?.toString(), (run)(9)?.n?.()]
  }`,
  'this and the order of members': `function main() {
    const o = { get m() { log('get'); return function (x) { return [this === o, x] } }, n: { m() { return this } } }
    let p = o
    return [o.m(run(1)), p.m((p = null, run(2))), o.n.m() === o.n, (0, o.m)(3)[0], (o.m)(4), o[run('m')](o['m'](5))]
  }`,
  'one name, many functions': `const a = { f: x => run(x) }, b = { f: run }, c = { f: x => -x }, list = [a, b, a, a, c, b, { f() { return this.g }, g: 7 }]
    function main() { const all = []; let { f } = a; for (const o of list) { all.push(o.f(1), (0, o.f)(2), list[4].f(3), f(4)); f = o.f }; return all }`,
  'spread, new, new.target': `function F(a, b) { if (new.target) this.x = [a, b]; run(1) }
    function G(a) { this.y = run(a); return run(0) ? null : { z: this.y } }
    class K { constructor(x) { this.k = x } }
    function main() {
      return [run(...[1, 2], ...[3]), new F(...[run(1), 2]).x, new G(5), new (run(1) && K)(6).k, new K().k, F.call({}, 1), new Map([[1, run(2)]]).get(1)]
    }`,
  'values kept while something is called': `function main() {
    const o = { n: 1 }, holder = { tag: (strings, ...values) => values }
    let sum = run(0)
    for (let i = 0; i < 3; i++) {
      const x = run(i), y = { x, z: run(x) }
      sum += x + y.x + y.z
      o.n += run(1)
      o[run('m')] ??= run(2)
    }
    for (var i = 5; i < 8; i++) sum += i
    do { sum++; if (sum > 99) continue } while (run(sum) < 40)
    try { run(1); throw run(2) } catch (error) { sum += run(error) } finally { sum++ }
    switch (run(3)) { case run(1): sum = 0; default: sum += run(4); case 5: sum += run(5) }
    return [sum, o, (0, holder.tag)\`\${o}\${run(1)}\`[0] === o, [...[1, 2], run(3)], { ...o, sum, [run('k')]: sum, t: run(4) }]
  }`,
  'assignments to members of super, and to calls': `function main() {
    class A { set own(x) { this.was = x } get own() { return run('own') } }
    class B extends A { m() { super.x = run(1); super.own += run(2); super[run('y')] = run(3); if (run(4)) return [this.x, this.was, this.y] } }
    try { for (let i = 0; i < 2; i++) ++run(run(i)) } catch (e) { return [new B().m(), e.name] }
  }`,
  'commas in brackets, where something is called after or within them': `function main() {
    const o = { n: 5, m(x) { return [this === o, x] } }, give = x => { for (let i = 0; i < 2; i++) run(i); return x }
    function* made() { yield run(1); yield* (run(2), [3]) }
    let [a, b] = [0, 7]
    const out = [(a, b) || run(1), (1, a) || run(2), (1, a) && run(3), (b, null) ?? run(4), ((a, b), run(5)), [...(a, give([6]))], [...(a, made())], run(...(a, [8, 9]))]
    out.push({ ...(a, give({ x: 1 })), y: run(10) }, new Map((a, give([[1, 2]])),), new Set((a, made())), (a, run).bind((a, 1), (b, 2))(), (a, o).m((b, run(11))), \`\${(a, b)}\${run(12)}\`)
    switch (run(13), b) { case o.n: run('never'); case (a, 7): out.push(run('seven')) }
    switch (a, b) { case 7: out.push(run('again')); break; default: run('never') }
    for (const x of (a, give([14]))) out.push(run(x))
    return out
  }`,
  'a proxy that is spread': `function main() {
    const traps = new Proxy({}, { get: (_, name) => (...args) => (run(name), Reflect[name](...args)) })
    return [...new Proxy([run(1), 2], traps), ...new Proxy(new Set(), traps).constructor.name]
  }`,
  'what an async function returns from a loop over an iterator, which is closed first': `async function main() {
    const endless = { [Symbol.iterator]: () => ({ next: () => ({ value: run('next') }), return() { run('closed'); return {} } }) }
    async function later() { for (let i = 0; i < 2; i++) run(i); await null; return run('later') }
    for (const x of endless) return later()
  }`,
  'methods that are called as those of the engine, with what is called before': `function main() {
    const o = { padStart(x, n) { for (let i = 0; i < n; i++) x += run(i); return x } }
    return [1, o.padStart(run(1), 2), run(2), 'a'.padStart(run(3), 'b')]
  }`,
  'patterns that are declared where no braces are': `function main() {
    for (let i = 0; run(i) < 2; i++) var { n, list: [first = i] = [] } = { n: i }
    do var [last] = [run(n)]; while (last < 1)
    if (run(0)) { } else var { length } = 'abc'
    return [n, first, last, length]
  }`,
  'tagged templates': "function tag(s, ...v) { return s.raw.join('|') + v } function main() { return tag`a${run(1)}b\\n${run(2)}` }",
  'errors': `function main() {
    const out = []
    for (const f of [() => undefined(), () => null.x(run(1)), () => run.y.z(), () => new run.q(run(2)), () => later(), () => (void 0)?.x.y(), () => ({}).a(run(3)), () => { let x = run(x) }, () => { for (const x of [x]) run(x) }]) {
      try { out.push(f()) } catch (e) { out.push(e.constructor.name) }
    }
    const later = 1
    return out
  }`,
  'arguments, mapped and not': `function main() {
    function a(x) { arguments[0] = run(2); x++; return [x, arguments[0], arguments.length] }
    function b(x) { 'use strict'; arguments[0] = run(2); x++; return [x, arguments[0]] }
    function c(x = run(1), ...r) { run(x); return [arguments.length, x, r] }
    return [a(1, 2, 3), b(1), c(), c(2, 3), [1, 2].map(function () { run(0); return arguments.length })]
  }`,
  'what comes before the next round, and finally': `function main() {
    const out = [], cases = { get two() { return log(2) } }
    function end(x) { for (let i = 0; i < 2; i++) log(x); if (x === 'bad') throw new Error(x); return x }
    function late(n) { for (var i = run(0); i < run(n); i = run(i + 1)) { if (i === 1) continue; if (i === 3) break; out.push(i) } do { if (i-- === 2) continue; out.push(run(i)) } while (run(i) > 0); return i }
    function nested(n) { a: for (let i = 0; ; i = run(i) + 1) for (let k = 0; k < 3; k = run(k) + 1) { if (k === 1) continue a; if (i > n) break a; out.push((() => n)(), i + run(k)) } return out.length }
    function looked(x) { switch (x) { case cases.two: out.push(run('two')); case -3: return run('both'); default: out.push(run('else')); case null: out.push(run(x)) } }
    function left(x) {
      try { if (x === 1) return run('one'); if (x === 2) return; for (const y of [3, 4]) if (x === y) { const z = run(x); throw z } out.push(run(x)) }
      catch (e) { if (e === 3) return run(e); throw e } finally { end(x); out.push('finally') }
      return 'end'
    }
    function inner(x) { try { try { if (x === 1) return run(1); if (x === 2) throw run(2) } finally { end(x); if (x === 3) return end('over') } } finally { out.push(end(x + 5)) } }
    function jumps(x) { a: for (const y of [1, 2, 3]) { try { if (y === x) continue; if (x === 7) break a; out.push(run(y)) } finally { end(y) } out.push('behind') } return x }
    function none(x) { switch (x) { case cases.two: out.push(run('two')); case -3: out.push(run('three')) } return run('none') }
    const made = f => function (x) { try { f(x) } finally { this.done = end(x) } }, o = {}
    made(run).call(o, 7)
    for (const [f, x] of [[late, 5], [late, 2], [nested, 1], [looked, 2], [looked, -3], [looked, null], [looked, 9], [none, 2], [none, 9], [jumps, 2], [jumps, 7], ...[1, 2, 3, 4, 5].flatMap(x => [[left, x], [inner, x]]), [left, 'bad']]) {
      try { out.push(f(x)) } catch (e) { out.push(String(e)) }
    }
    return [out, o]
  }`,
  'hoisting, blocks and Annex B': `function main() {
    const out = [typeof late, early(1)]
    function early(x) { return run(x) }
    { function inBlock(x) { return run(x) + 1 } out.push(inBlock(1)) }
    out.push(inBlock(2), again(3))
    function again(x) { return 0 }
    function again(x) { return run(x) }
    if (out) function branch(x) { return run(x) }
    switch (1) { case 1: function cased(x) { return run(x) } out.push(cased(4)) }
    var late = () => run(5)
    return [out, late(), branch(6)]
  }`,
  'names of function expressions': `function main() {
    const kept = x => { try { if (x) return () => {}; return x => x } finally { run(1) } }
    const chosen = x => [x ? () => {} : run(0), (() => {}) ?? run(3), x || run(0) || (() => {})]
    const f = function own(n) { try { own = 1 } catch {} return n ? run(own === f) && own(n - 1) : run(n) }
    const g = function rec(n) { return n ? rec(n - 1) + run(1) : rec.name.length }
    return [f(2), g(3), kept(0).name, kept(1).name, ...chosen(1), ...chosen(0)].map(x => x.name ?? x)
  }`,
  'closures of loops': `function main() {
    const fs = []
    for (let i = 0; i < 3; i++) fs.push(() => run(i++) + i)
    for (const x of [1, 2]) { let y = x; fs.push(z => { y += run(z); return y }) }
    return fs.map(f => f(1)).concat(fs.map(f => f(2)))
  }`,
  'classes': `class A { #p = 1; static #s = 2; get p() { return run(this.#p) } #m(x) { return run(x) + this.#p }
      m(x) { return this.#m(x) + super.toString().length } static m(x) { return run(x) + A.#s }
      m2() { return 1 } m2() { return run(2) } 'x y'(x) { for (let i = 0; i < x; i++) run(i); return x } field = () => run(this.#p)
      static { this.q = run(9) } [run('comp')](x) { return run(x) } async am(x) { return run(x) } *g() { yield run(1) } static async *ag() { yield run(2) } }
    class B extends A { m(x) { return [super.m(x), super['m2'](), super.p] } constructor() { const f = () => super(); f(); this.h = () => this.m(run(1)) } }
    function main() { const b = new B(); return [b.m(3), A.m(1), b['x y'](2), b.field(), b.h(), A.q, b.comp(4), [...b.g()], b.m2()] }`,
  'bodies of constructors': `const order = [], note = x => (order.push(x), run(x))
    class Point { static made = 0; #x = note('field'); self = this; [note('k')] = Point.made++
      constructor(x, y = note('default'), ...rest) { note('body'); for (const z of rest) this.#add(note(z)); this.y = y; this.far = () => this.#x + x; this.up = super.toString === Object.prototype.toString; this.count = arguments.length }
      #add(z) { for (let i = 0; i < z; i++) this.#x += run('.') } get x() { return this.#x } }
    class Other { constructor() { run(0); return note(Other.gives) } static ['constructor']() {} }
    class Nested { inner = Nested.next-- > 0 ? new Nested(1) : null; static next = 2; constructor(a) { 'use strict'; this.a = a + run(1) } }
    class Keyed { constructor() { this.k = run(2) } ['constructor'](x) { return run(x) } }
    class Taken { constructor({ a }, [b]) { this.sum = run(a) + b } }
    class Failing { x = run(Failing.bad()); static bad() { throw new Error(run('bad')) } constructor() { note('never') } }
    class Far extends Point { z = note('far'); constructor(a) { super(a, 1, 2); note('after') } }
    const Anonymous = class { constructor(f) { function f() {} this.f = run(typeof f) } }
    class Huge { all = 0; constructor(n) {${' '.repeat(5000)} for (let i = 0; i < n; i++) for (let k = run(0); k < 2; k++) this.all += note(k) } }
    function main() {
      order.length = 0, Nested.next = 2, Point.made = 1
      const p = new Point(1, undefined, 2, 3), far = new Far(4), out = [p.x, p.y, p.far(), p.self === p, p.up, p.count, Object.keys(p), far.x, far.count, far instanceof Far]
      for (const gives of [undefined, 5, null, { other: 1 }]) { Other.gives = gives; out.push(new Other() instanceof Other) }
      const Bound = Point.bind(null, 9), made = new Bound(2), again = Reflect.construct(Point, [7, 8], Array)
      for (const bad of [() => new Failing(), () => Point(), () => Point.call({}), () => Bound(), () => new (run(1), Point)(Symbol()).y, () => new Taken()]) try { out.push(bad()) } catch (e) { out.push(e.constructor.name) }
      return [out, made.y, made.far(), Array.isArray(again), Object.getPrototypeOf(again) === Array.prototype, new Nested(3).inner.inner.a, new Keyed().k, new Keyed().constructor(4),
        new Taken({ a: 1 }, [2]).sum, new Anonymous(1).f, new Huge(3).all, Point.length, Point.name, Object.getOwnPropertyNames(Point), Object.getOwnPropertyNames(Point.prototype), Other.gives.other, order]
    }`,
  'labels, and semicolons left out': `function main() {
    let out = []
    a: for (let i = 0; i < 3; i++) { b: for (const j of [1, 2]) { if (j === 2) continue a; if (i === 2) break a; out.push(run(i)) } }
    let x = 1
    run(x)
    ;[1].forEach(y => run(y))
    let z = x
    run(z).toString()
    do run(x); while (x++ < 2)
    if (x) run(1); else run(2)
    for (;;) if (run(x++) > 5) break; else continue
    return out
  }`,
  'minified': `function main(){const f=a=>{if(a)return(b,c)=>run(b)+c;return[run(1)]};for(const x of(run)([1]))out(x);function out(x){if(x)run(x);else(0,run)(x);switch(x){case(run)(1):return;default:throw(run)(2)}}return[typeof(run)(1),void(run)(2),f(0),f(1)(2,3),framed(1)]}function framed(a){run(a);function inner(b){run(b);return run(b)instanceof Object}return[inner(a),run(a)in[run(3),2],typeof[run(a)][0]]}`,
  'what loops carry': `function main() {
    let zero = -0, big = 2n, fraction = 1, asked = 0, box = { valueOf() { return ++asked } }, late
    for (let i = 0; i < 9; i++) { zero = zero * 1; big = big * 3n; fraction *= 1.5; if (i > 7) box = box * 2; late = i * fraction }
    return [Object.is(zero, -0), String(big), fraction, asked, box, late]
  }`,
  'numbers that are not there yet': `const seen = []
  function late() { for (var round = 0; round < 3; round++) { if (round > 0) { var half = run(round) / 2; seen.push(half * 2) } seen.push(half) } }
  function chosen() { for (let round = 0; round < 3; round++) { switch (run(round)) { case 1: var a = 3 * round; seen.push(-a); break; default: seen.push(a) } seen.push(a) } }
  function own() { for (let round = 0; round < 2; round++) { var a = a + 1; seen.push(a, run(a)) } }
  function fresh() { for (let round = 0; round < 2; round++) { let a; seen.push(a); a = run(round) - 1; seen.push(-a) } }
  function set() { let a, b; for (let round = 0; round < 2; round++) { a = run(round) * 2; seen.push(-a); if (round) b = a - 1 } seen.push(b - 1, b) }
  function again() { for (let round = 0; round < 3; round++) { let a; out: { if (run(round) === 1) break out; a = -round; seen.push(-a) } seen.push(a) } }
  function tried() { try { run(0); var a = missing; seen.push(-a) } catch { seen.push(a) } seen.push(a) }
  function caught() { try { throw run(5) } catch (a) { var a = a * 2; seen.push(a) } seen.push(a) }
  function reused() { seen.push(a); for (var a = 1; a < 3; a += 1) seen.push(run(a) % 2); seen.push(a) }
  function around(is) { if (is) for (var i = 0; i < 2; i++) seen.push(run(i)); seen.push(i) }
  function joined() { for (let round = 0; round < 2; round++) { let a = 'a', b; a += run(round); b ??= 7; b += a; seen.push(a, b) } }
  function twice() { { let a = run(1) * 2; seen.push(-a) } { let a; seen.push(a); a = run(2) * 3; seen.push(-a) } { let a = 4, b = run(a); seen.push(-a, b) } }
  function main() {
    late(), chosen(), own(), fresh(), set(), again(), tried(), caught(), reused(), around(true), around(false), joined(), twice()
    return seen.splice(0).map(String)
  }`,
  'engine functions': `function main() {
    return [[3, 1, 2].sort((a, b) => pass[1](a) - b), [1, , 2].map(x => run(x) * 2), [1, 2].reduce((a, b) => run(a) + b), 'aXbX'.replace(/X/g, m => run(m) + 1),
      Array.from({ length: 2 }, (_, i) => run(i)), [[1], [2]].flatMap(x => run(x)), new Set([1, 2]).forEach(x => run(x)), run.call(null, 1), run.apply(null, [2]), run.bind(null, 3)()]
  }`,
  'what arguments change, and what is used before it is there': `function main() { let name; try { early() } catch (error) { name = error.name } return [changed(1), name] }
    function changed(a) { return a + run(arguments[0] = 5) }
    function early() { inner(); let x = run(1); return x; function inner() { return run(x) } }`,
  'generators and destructuring': `function* g(n) { for (let i = 0; i < n; i++) yield run(i) }
    function main() {
      const { a = run(1), b: { c = run(2) } = {} } = { a: undefined }, [d = run(3), ...e] = g(4)
      let f, h; [f = run(5), { h = run(6) }] = [, {}]
      return [a, c, d, e, f, h, ...g(2), { ...{ i: run(7) }, [run('j')]: 8 }]
    }`,
  'direct eval and with': `function main() {
    var v = 1
    function e(x) { eval('v = run(x)'); for (let i = 0; i < 2; i++) run(i); return v }
    function w(o) { with (o) { return m(1) + (() => m(2))() } }
    return [e(5), v, w({ m(x) { return run(x) + this.y }, y: 1 })]
  }`,
  'methods that have another call, or cannot be called': `const never = () => 'never'
    const methods = [undefined, function () { 'use strict'; return [typeof this.m, run(arguments.length)] }, x => x, class { static call() { return never() } },
      Object.assign(x => run(x), { call: never }), Object.assign(x => x, { call: never }), Object.setPrototypeOf(x => x, null),
      new Proxy(x => x, {}), Math.abs, undefined, null, 5]
    function* each(o) { yield o.m(run(6)) }
    function main() {
      const found = []
      for (const m of methods) for (let i = 0; i < 2; i++) {
        const o = { m }
        try { found.push(o.m(run(i)), o?.m(1, 2), o.m?.(...[3, run(4)]), o.m(), [...each(o)]) } catch (error) { found.push(error.name) }
        try { [5].map(x => o.m(run(7)) || o.m(x), run(8)) } catch (error) { found.push(error.name) }
      }
      return found
    }`,
  'sloppy words': `function main() { return words(run(1)) } function words() { var yield = 1, await = 2, let = 3, async = 4; const of = x => run(x) + yield; async: for (let; of(1) < 0;); return [of(1), yield + await + let + async] }`
}

for (const [name, source] of Object.entries(sources)) {
  pieces(name, async () => {
    const text = `const pass = [x => log(x), x => x]; function run(x) { for (let i = 0; i < 2; i++) pass[1](i); return pass[0](x) }\n${source}\n` +
      `/*${'.'.repeat(9000)}*/` // in a short text, some twins are generators
    await checkProgram({ source: text, names: ['main'], isClass: false })
  })
}

pieces('a script without rt.mjs has its native results', () => {
  // The innermost function is printed as a twin only, and calls methods like a job.
  const nested = depth => depth ? `(function () { for (;;) return ${nested(depth - 1)} })()` : '[o.m(1), o.m(2), o.n(3)]'
  const deep = `function main() { const o = { m: Object.assign(x => x, { call: () => 'never' }), n: run }; return ${nested(8)} } /*${'.'.repeat(9000)}*/`
  for (const [name, source] of Object.entries({ ...sources, deep })) {
    const text = `const log = x => (logged.push(x), x), logged = [], pass = [log, x => x]
      function run(x) { for (let i = 0; i < 2; i++) pass[1](i); return pass[0](x) }\n${source}\n[main(), logged]`
    assert.equal(inspect(runInNewContext(preemptify.source(text, { type: 'script' })), { depth: 9 }), inspect(runInNewContext(text), { depth: 9 }), name)
  }
})

pieces('a loop without rt.mjs can be longer than any budget', () => {
  // The innermost function is printed as a twin only.
  const nested = depth => depth ? `(function () { for (;;) return ${nested(depth - 1)} })()`
    : '(function () { let odd = 0; for (let i = 0; i < 2 ** 30 + 9; i++) odd += i & 1; return odd })()'
  const text = `function main() { return ${nested(8)} } /*${'.'.repeat(9000)}*/\nmain()`
  assert.is(runInNewContext(preemptify.source(text, { type: 'script' })), 2 ** 29 + 4)
})

pieces.run()

const growth = suite('growth')

/** Nested programs: each function returns the text around a body at a depth. */
const nests = {
  functions: (body, i) => `function f${i}(list, go) { for (const x of list) { go(x, ${i}) } ${body}; return f${i - 1}(list, go) }`,
  arrows: (body, i) => `const f${i} = (list, go) => { for (const x of list) go(x, ${i}); ${body} return f${i - 1}(list, go) };`,
  methods: (body, i) => `const o${i} = { method(list, go) { ${body} for (const x of list) this.method(x, go); return go(${i}) } };`,
  'async functions': (body, i) => `async function f${i}(list, go) { await go(${i}); ${body} for (const x of list) await f${i - 1}(x, go) }`,
  'names of what is called': (body, i) => `${body} function f${i}(o) { this.a${i}(o, '${'.'.repeat(9)}') || this.b${i}(o) }`,
  classes: (body, i) => `class C${i} { method(list, go) { for (const x of list) this.method(x, go); ${body} return new C${i - 1}().method(list) } }`
}

for (const [name, around] of Object.entries(nests)) {
  // Each plain call of an async function claims its arguments.
  const limit = name === 'async functions' ? 4.2 : 4
  growth(`nested ${name} grow less than ${limit} times`, () => {
    for (const depth of [1, 2, 3, 4, 5, 10, 50, 200]) {
      let text = ''
      for (let i = 1; i <= depth; i++) text = around(text, i)
      text += `\n/*${'.'.repeat(1000)}*/` // a part that is printed once
      const result = preemptify.source(text)
      assert.ok(result.length < limit * text.length, `${depth}: ${result.length} of ${text.length} characters`)
      new Function(result.replace(/^import.*?;/, ''))
    }
  })
}

growth('a flat script of many short functions grows less than 4 times', () => {
  let text = 'var $a,$_a;'
  for (let i = 0; i < 2000; i++) {
    text += `function a${i}(a,b){var c=a.e+b.f*2;if(c!=null&&c.g===b)return b.h=a${i + 1}(c,b),a.d(b.i);a.k=c?a.l+1:b.m;return new a${i + 2}(c)}`
  }
  const result = preemptify.source(text, { type: 'script' })
  assert.ok(result.length < 4 * text.length, `${result.length} of ${text.length} characters`)
})

growth('a minified text keeps frames and helpers as far as the bound allows', () => {
  let text = ''
  for (let i = 0; i < 500; i++) text += `export function a${i}(a,b){return b.c(a${i % 7}(a,b.d(a)),"${'.'.repeat(70)}")}`
  const { length } = preemptify.source(text)
  assert.ok(length < 4 * text.length && length > 3.9 * text.length, `${length} of ${text.length} characters`)
})

growth('a text that is shortened and lengthened again declares each helper once', () => {
  const calls = `function g(p, q) {
    return this.g(() => { try { return p.call(this) } finally { this.s(); if (this.l(0)) this.e() } }, q || (() => this.r(null)))
  }
  export default { m() {
    this.s(); const c = this.c(), v = g.call(this, this.L, () => g.call(this, () => this.C('s')))
    if (v.t !== 'R') c.push(v)
    return c
  } }`
  for (let padding = 300; padding < 1500; padding += 6) {
    const names = Array.from(preemptify.source(`${calls}/*${'.'.repeat(padding)}*/`).matchAll(/function (\$\w+)\(/g), ([, name]) => name)
    assert.equal(names, [...new Set(names)], `${padding} characters of comment`)
  }
})

growth('a short twin keeps frame form where a long one becomes a generator', () => {
  const short = 'export function short(f) { const one = f(); return () => f(one) + f(2) + 1 }'
  const long = `export function long(f) { let n = 0; ${'n += f(n) - f(n + 1); '.repeat(40)} return n }`
  const isShortAlone = padding => {
    const result = preemptify.source(`${short}\n${long}/*${'.'.repeat(padding)}*/`)
    return result.includes('*long(') && !result.includes('*short(')
  }
  assert.ok(Array.from({ length: 60 }, (_, i) => 20 * i).some(isShortAlone))
})

const variables = suite('global variables of scripts')

/** Returns the names of the global variables that a script adds without rt.mjs. */
function globalsOf(text) {
  const context = createContext({})
  runInContext(preemptify.source(text, { type: 'script' }), context)
  return Object.keys(context).sort()
}

const looping = 'function f(g) { for (;;) if (g()) return g.bind(0) }'
for (const [name, text] of Object.entries({
  'an immediately called function': `(function (root) { "use strict"\n${looping}; root.f = f })(this)`,
  'a factory': `!function (root, make) { root.f = make(root) }(this, function (root) { ${looping}; return f })`,
  'nested functions': `(function (root) { (function () { ${looping}; root.f = f })() })(this)`
})) variables(`a script that is ${name} adds one global variable for the run-time support`, () => assert.equal(globalsOf(text), ['$rt_p', 'f']))

for (const [name, text] of Object.entries({
  'a function at the top level': looping,
  'calls of bind outside': `(function () { ${looping} })(); var bound = (function () {}).bind(0)`,
  'closures in parameters': `(function (g = () => { ${looping} }) { g() })()`,
  'two functions': `(function () { ${looping} })(); (function () { ${looping} })()`
})) variables(`a script with ${name} declares the helpers globally`, () => {
  assert.ok(globalsOf(text).some(name => name.startsWith('$rt_') && name !== '$rt_p'))
})

variables('a script that names a variable $rt_p keeps it', () => {
  const context = createContext({})
  const text = `var $rt_p = 1; ${looping}\n$rt_p + f(() => 1)()`
  assert.is(runInContext(preemptify.source(text, { type: 'script' }), context), 2)
})

const overrides = suite('exclusive')

overrides('a list of packages means true for these and no rule for others', () => {
  const text = 'let last = 0; export function f(n) { for (let i = 0; i < n; i++) last = n; return last }'
  const rewritten = (url, exclusive) => preemptify.source(text, exclusive === undefined ? { url } : { url, exclusive })
  const url = 'https://page/packages/@scope/name@1.0.0/a.mjs'
  assert.not.equal(rewritten(url, true), rewritten(url))
  assert.is(rewritten(url, ['other', '@scope/name']), rewritten(url, true))
  assert.is(rewritten(url, ['name', '@scope', 'other']), rewritten(url))
  assert.is(rewritten('https://page/app.mjs', ['app', '']), rewritten('https://page/app.mjs'))
})

overrides('exclusive must be a boolean or a list of package names', () => {
  for (const exclusive of ['name', 1, [1], null]) {
    assert.throws(() => preemptify.source('', { exclusive }), error => error instanceof TypeError && /^exclusive/.test(error.message))
  }
})

overrides.run()
variables.run()
growth.run()
