// Asynchronous code that a job starts: child jobs, callbacks of promises, async generators, listeners.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, rt } from '../../../rt.mjs'
import { sleep } from '../../../alarms.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { assertLikeNative, pointsOf, rewrittenModule } from '../../support/modules.mjs'
import { randomAsyncProgram } from '../../support/random-async.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const LOAD = `
async function load(n) {
  log('load starts', n)
  await null
  log('load continues', n)
  for (let i = 0; i < 3; i++) work(i)
  return n
}
const fail = async n => { await null; work(n); throw new RangeError(n) }
`

// --------------------------------------------------------------------------------------- effects keep their order

/** Bodies of an async function `main`. */
const PROGRAMS = {
  'a call that is awaited later': 'const p = load(1); log("called"); return await p',
  'an async arrow function that calls': 'return (async x => load(x))(1)',
  'a conditional call': 'return await (log ? load(1) : 0)',
  'a call in a try block': 'try { return load(1) } catch { return 0 } finally { log("finally") }',
  'a call in a logical expression': 'return load(1) || 0',
  'a call through a plain function': 'const call = n => { work(n); return load(n) }; return call(1)',
  'a call that is never awaited': 'load(1); log("called"); await null; await null; return 5',
  'calls of a list': 'return Promise.all([1, 2, 3].map(load))',
  'a call that fails': 'const p = fail(1); log("called"); try { await p } catch (error) { return error.message }',
  'a call that fails before its first await':
    'const f = async () => { work(1); throw new RangeError("x") }; const p = f(); log("called"); return p.catch(String)',
  'a call whose parameters fail':
    'const f = async (a = work.x.y) => { work(1); await a }; const p = f(); log("called"); return p.catch(e => e.name)',
  'a call without an await': 'const f = async n => work(n); const p = f(1); log("called"); return await p',
  'calls that call each other':
    'const down = async n => { log(n); if (n) { const p = down(n - 1); work(n); await p } log("up", n) }; return down(5)',
  'a method': 'const o = { x: 2, async get(n) { await null; work(1); return this.x + n } }; const p = o.get(1); return await p',
  'a bound function': 'const p = load.bind(null, 7)(); log("called"); return await p',
  'call and apply': 'const p = load.call(null, 1), q = load.apply(null, [2]); log("called"); return [await p, await q]',
  'awaits of several calls interleave':
    'const f = async n => { for (let i = 0; i < 3; i++) { log(n, i); await null; work(i) } }; await Promise.all([f(1), f(2)])',
  'state between two awaits is consistent':
    'let sum = 0; const add = async n => { await null; const before = sum; for (let i = 0; i < 9; i++) work(i); ' +
      'sum = before + n }; await Promise.all([add(1), add(2), add(3)]); return sum',
  'a caller that goes on is not interrupted':
    'let sum = 0; const p = load(1).then(() => { sum += 1 }); const before = sum; await 0; ' +
      'for (let i = 0; i < 9; i++) work(i); log(sum - before); await p; return sum',
  'then': 'return load(1).then(v => { log(v); work(1); return v + 1 }).then(v => v * 2)',
  'then with a callback that fails':
    'return load(1).then(v => { work(v); throw new RangeError("x") }).then(log, e => { work(1); return e.message })',
  'then without callbacks': 'return Promise.resolve(1).then().then(null, undefined)',
  'then with a short callback': 'Promise.resolve().then(() => log(1)); log(0); await null; log(2)',
  'then with a built-in callback': 'return Promise.resolve(-1).then(Math.abs)',
  'then with an async callback': 'return Promise.resolve(1).then(async v => { work(v); await null; return load(v) })',
  'catch': 'return fail(1).catch(e => { work(1); return e.message })',
  'finally': 'return load(1).finally(() => { log("end"); work(1) })',
  'finally that fails': 'return load(1).finally(() => { work(1); throw new RangeError("x") }).catch(String)',
  'finally that waits': 'return load(1).finally(() => load(2))',
  'finally after a failure': 'return fail(1).finally(() => { log("end"); work(1) }).catch(String)',
  'finally without a callback': 'return load(1).finally()',
  'a promise of a derived class':
    'class Own extends Promise {} const p = Own.resolve(1).then(v => { work(v); return v + 1 }); ' +
      'return [p instanceof Own, p.constructor.name, await p]',
  'executors': 'return new Promise(resolve => { log("in"); work(1); resolve(2); log("out") })',
  'executors that fail': 'return new Promise(() => { work(1); throw new RangeError("x") }).catch(String)',
  'executors that reject': 'return new Promise((_, reject) => { work(1); reject(new RangeError("x")) }).catch(String)',
  'executors of a derived class':
    'class Own extends Promise {} const p = new Own(resolve => { work(1); resolve(2) }); return [p instanceof Own, await p]',
  'no executor': 'return (() => { try { new Promise() } catch (e) { return e.name } })()',
  'queueMicrotask': 'await new Promise(done => { queueMicrotask(() => { log(1); work(1); done() }); log(0) })',
  'process.nextTick':
    'await new Promise(done => { process.nextTick((...list) => { log(list); work(1); done() }, 1, 2); log(0) })',
  'callbacks overtake no suspended ones':
    'const all = []; for (let i = 0; i < 4; i++) { all.push(Promise.resolve(i).then(v => { log("long", v); work(v); log("end", v) })); ' +
      'all.push(Promise.resolve(i).then(v => log("short", v))) } await Promise.all(all)',
  'for await': 'for await (const x of [load(1), 2]) { log(x); work(x) }',
  'for await of an async generator':
    'async function* list(n) { log("first"); for (let i = 0; i < n; i++) { work(i); yield i; await null } return 9 } ' +
      'const all = []; for await (const x of list(3)) { log(x); all.push(x) } return all',
  'break out of for await':
    'async function* list() { try { yield work(1); yield 2 } finally { log("closing"); await null; work(1); log("closed") } } ' +
      'for await (const x of list()) { log(x); break } log("end")',
  'an error in for await':
    'async function* list() { try { yield work(1) } finally { await null; log("closed") } } ' +
      'try { for await (const x of list()) throw new RangeError(x) } catch (e) { return e.message }',
  'an error of an async generator':
    'async function* list() { yield work(1); throw new RangeError("x") } try { for await (const x of list()) log(x) } ' +
      'catch (e) { return e.message }',
  'for await of an own iterator':
    'const own = { [Symbol.asyncIterator]() { let n = 0; log("begin"); return { async next() { work(n); return { done: n > 2, value: n++ } }, ' +
      'async return() { log("return"); work(1); return {} } } } }; for await (const x of own) { log(x); if (x === 1) break }',
  'for await of what is no iterator':
    'try { for await (const x of { [Symbol.asyncIterator]: () => 1 }) log(x) } catch (e) { return e.name }',
  'methods of async generators':
    'async function* echo(x) { for (;;) try { x = yield work(x) } catch (e) { log(e); x = 0 } } const g = echo(1); ' +
      'return [await g.next(7), await g.next(5), await g.throw("x"), await g.return(Promise.resolve(8)), await g.next()].map(s => [s.value, s.done])',
  'requests of async generators queue':
    'async function* count() { for (let i = 0; i < 5; i++) { work(i); log("at", i); yield i } } const g = count(); ' +
      'const all = [g.next(), g.next(), g.return(9), g.next()]; log("asked"); return (await Promise.all(all)).map(s => [s.value, s.done])',
  'an async generator that makes requests of itself':
    'async function* list() { it.throw(new RangeError("x")).catch(e => log(e.message)); work(1); it.next().then(s => log(s.done)); yield 1; yield 2 } ' +
      'const it = list(); log((await it.next()).value); log((await it.next()).done)',
  'for await takes the microtasks of native code':
    'const tick = n => { log("tick", n); return n > 0 && Promise.resolve(n - 1).then(tick) }; ' +
      'async function* down(n) { for (; n > 0; n--) yield Promise.resolve(n) } ' +
      'const all = (async () => { for await (const x of down(3)) log(x) })(); await tick(8); await all',
  'finally calls then of the promise of its callback':
    'const p = Promise.resolve(1); p.then = function (f, ...more) { log("then", f.length, f.name, more.length); return Promise.prototype.then.call(this, f, ...more) }; ' +
      'return Promise.resolve(7).finally(() => { work(1); return p })',
  'return in an async generator is awaited':
    'async function* list() { try { work(1); return Promise.reject(new RangeError("x")) } catch (e) { yield e.message; return load(2) } } ' +
      'const g = list(); return [await g.next(), await g.next(), await g.next()].map(s => [s.value, s.done])',
  'finally of an async generator that yields':
    'async function* list() { try { yield work(1) } finally { yield 2; log("in between"); yield 3 } } const g = list(); ' +
      'return [await g.next(), await g.return(7), await g.next(), await g.next(), await g.next()].map(s => [s.value, s.done])',
  'finally of an async generator that returns':
    'async function* list() { try { yield work(1) } finally { return 5 } } const g = list(); ' +
      'return [await g.next(), await g.return(7), await g.next()].map(s => [s.value, s.done])',
  'the kind of an async generator':
    'async function* list() { yield work(1) } list.prototype.own = 3; const g = list(); await g.next(); ' +
      'return [g instanceof list, g.own, String(g), typeof g[Symbol.asyncIterator], Reflect.ownKeys(g).length]',
  'yield* of async generators':
    'async function* inner() { yield work(1); return 2 } async function* outer() { log(yield* inner()); yield* [3, 4] } ' +
      'const all = []; for await (const x of outer()) all.push(x); return all',
  'methods that are async generators':
    'class A { async *list(n) { yield work(n); yield* [] } static async *[Symbol.asyncIterator]() { yield work(2) } async *#own() { yield work(3) } own() { return this.#own() } } ' +
      'const all = []; for await (const x of new A().list(1)) all.push(x); for await (const x of A) all.push(x); for await (const x of new A().own()) all.push(x); return all'
}

const order = suite('order of effects')

for (const [name, body] of Object.entries(PROGRAMS)) {
  order(`a job has the effects of native code: ${name}`, () =>
    assertLikeNative(`${LOAD} export async function main() { ${body} }`))
}

const EMITTER = `import { EventEmitter } from 'node:events'
const emitter = new EventEmitter()
`
const LISTENERS = {
  'listeners in order': 'emitter.on("x", a => { log(1, a); work(1) }); emitter.on("x", a => { log(2, a) }); return emitter.emit("x", 5)',
  'no listeners': 'return emitter.emit("x")',
  'once': 'emitter.once("x", () => { log("once"); work(1); emitter.emit("x") }); emitter.emit("x"); return emitter.emit("x")',
  'a listener that fails':
    'emitter.on("x", () => { work(1); throw new RangeError("x") }); emitter.on("x", () => log("never")); try { emitter.emit("x") } catch (e) { return e.message }',
  'listeners that are removed meanwhile':
    'const b = () => log("b"); emitter.on("x", () => { work(1); emitter.off("x", b) }); emitter.on("x", b); emitter.emit("x"); return emitter.emit("x")',
  'this': 'emitter.on("x", function () { work(1); log(this === emitter) }); emitter.emit("x")',
  'error without a listener': 'emitter.on("x", () => work(1)); try { emitter.emit("error", new RangeError("x")) } catch (e) { return e.message }',
  'a derived class': 'class Own extends EventEmitter { fire() { return this.emit("x", 1) } } const own = new Own(); own.on("x", v => { work(v); log(v) }); return own.fire()'
}
for (const [name, body] of Object.entries(LISTENERS)) {
  order(`a job emits events like native code: ${name}`, () => assertLikeNative(`${EMITTER} export function main() { emitter.removeAllListeners(); ${body} }`))
}

const EVENTS = {
  'listeners in order': 'target.addEventListener("x", e => { log(1, e.type, e.target === target, e.currentTarget === target); work(1) }); ' +
    'target.addEventListener("x", () => log(2)); return target.dispatchEvent(new Event("x"))',
  'preventDefault': 'target.addEventListener("x", e => { work(1); e.preventDefault() }); return target.dispatchEvent(new Event("x", { cancelable: true }))',
  'stopImmediatePropagation':
    'target.addEventListener("x", e => { work(1); e.stopImmediatePropagation() }); target.addEventListener("x", () => log("never")); return target.dispatchEvent(new Event("x"))',
  'once': 'target.addEventListener("x", () => { log("once"); work(1) }, { once: true }); target.dispatchEvent(new Event("x")); return target.dispatchEvent(new Event("x"))',
  'removal while an event is handled':
    'const b = () => log("b"); target.addEventListener("x", () => { work(1); target.removeEventListener("x", b) }); target.addEventListener("x", b); target.dispatchEvent(new Event("x"))',
  'objects': 'target.addEventListener("x", { handleEvent(e) { work(1); log(this !== target, e.type) } }); target.addEventListener("x", () => work(1)); target.dispatchEvent(new Event("x"))',
  'an event that is being handled':
    'target.addEventListener("x", e => { try { target.dispatchEvent(e) } catch (error) { log(error.name) } work(1) }); target.dispatchEvent(new Event("x"))',
  'what is no event': 'target.addEventListener("x", () => work(1)); try { target.dispatchEvent({ type: "x" }) } catch (e) { return e.name }'
}
for (const [name, body] of Object.entries(EVENTS)) {
  order(`a job dispatches events like native code: ${name}`, () => assertLikeNative(`export function main() { const target = new EventTarget(); ${body} }`))
}

order('random programs have the effects of native code', () =>
  forSeeds(60, random => assertLikeNative(randomAsyncProgram(random))))

order.run()

// -------------------------------------------------------------------------------------------- no part in one piece

const N = 500
const LONG = `function long(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }
const N = ${N}
async function load(n) { await null; return long(n) }
`
const PIECES = {
  'an async call that is not awaited': 'const p = load(N); await p',
  'the first part of an async call': 'const f = async () => { long(N); await null }; const p = f(); await p',
  'an async arrow function that calls': 'return (async () => load(N))()',
  'a callback of then': 'await Promise.resolve(N).then(long)',
  'a callback of catch': 'await Promise.reject(N).catch(long)',
  'a callback of finally': 'await Promise.resolve(1).finally(() => long(N))',
  'an executor': 'await new Promise(resolve => resolve(long(N)))',
  'a microtask': 'await new Promise(resolve => queueMicrotask(() => resolve(long(N))))',
  'a tick': 'await new Promise(resolve => process.nextTick(() => resolve(long(N))))',
  'an async generator': 'async function* list() { yield long(N) } for await (const x of list());',
  'an own async iterator':
    'let n = 0; for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => ({ done: n++ > 0, value: long(N) }) }) });',
  'a listener of an EventEmitter':
    'const { EventEmitter } = await import("node:events"); const e = new EventEmitter(); e.on("x", () => { long(N) }); e.emit("x")',
  'a listener of once':
    'const { EventEmitter } = await import("node:events"); const e = new EventEmitter(); e.once("x", () => { long(N) }); e.emit("x")',
  'a listener of an EventTarget':
    'const t = new EventTarget(); t.addEventListener("x", () => { long(N) }); t.dispatchEvent(new Event("x"))',
  ...Array.fromAsync ? { 'a callback of Array.fromAsync': 'await Array.fromAsync([N], long)' } : {}
}

const pieces = suite('preemption points')

for (const [name, body] of Object.entries(PIECES)) {
  pieces(`a job is preempted in ${name}`, async () => {
    assert.ok(await pointsOf(`${LONG} export async function main() { ${body} }`) > N)
  })
}

pieces.run()

// ------------------------------------------------------------------------------------------------------ child jobs

const children = suite('child jobs')

const CHILD = `import { rt } from '${new URL('../../../rt.mjs', import.meta.url).href}'
let scheduler = rt
export const use = other => { scheduler = other }
let list = []
export const logTo = to => { list = to }
export const seen = []
const note = () => { const { name, deadline, priority, absoluteDeadline } = scheduler.current; seen.push({ name, deadline, priority, absoluteDeadline }) }
function work(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }
async function child() { note(); await null; work(5); note() }
export async function main() { const p = child(); await p }
export async function fire() { child(); work(3) }
export async function waits(promise) { const p = (async () => { await promise; work(5); list.push('child') })(); try { await p } catch (error) { list.push(error.message); throw error } }
`

children('a child job has the name of its function and the rank of its caller', async () => {
  const { main, seen, use } = await rewrittenModule(CHILD)
  const scheduler = new Scheduler()
  use(scheduler)
  const job = scheduler.spawn(main, { deadline: 1e6, priority: 3 })
  await job
  const { absoluteDeadline } = job
  assert.equal(seen, [
    { name: 'main', deadline: 1e6, priority: 3, absoluteDeadline }, { name: 'child', deadline: 1e6, priority: 3, absoluteDeadline }
  ])
})

children('idle waits for child jobs that outlive their caller', async () => {
  const { fire, seen, use } = await rewrittenModule(CHILD)
  const scheduler = new Scheduler()
  use(scheduler)
  await scheduler.spawn(fire)
  await scheduler.idle()
  assert.equal(seen.map(({ name }) => name), ['fire', 'child'])
})

children('a child job never misses the deadline of its caller', async () => {
  const { waits } = await rewrittenModule(CHILD)
  const missed = []
  const scheduler = new Scheduler({ onMiss: job => missed.push(job.name) })
  await scheduler.spawn(waits, { deadline: 1 }, new Promise(resolve => setTimeout(resolve, 20)))
  assert.equal(missed, ['waits'])
})

children('the reservation of a job pays for its child jobs', async () => {
  const { main, use } = await rewrittenModule(CHILD)
  const scheduler = new Scheduler()
  use(scheduler)
  const reservation = new Reservation({ capacity: 5, period: 10, scheduler })
  await scheduler.spawn(main, { reservation })
  await scheduler.idle()
  assert.is(scheduler.stats().jobs, 2)
  reservation.cancel()
})

children('a job that is cancelled leaves its child jobs running', async () => {
  const { waits, logTo } = await rewrittenModule(CHILD)
  const log = []
  logTo(log)
  const scheduler = new Scheduler()
  let open
  const job = scheduler.spawn(waits, {}, new Promise(resolve => { open = resolve }))
  while (job.state !== 'waiting') await new Promise(resolve => setImmediate(resolve))
  job.cancel(new Error('cancelled'))
  assert.is(await job.catch(error => error.message), 'cancelled')
  open()
  await scheduler.idle()
  assert.equal(log, ['cancelled', 'child'])
})

children('a failed child job is an unhandled rejection of its promise only', async () => {
  const { main } = await rewrittenModule(
    'function work() { for (let i = 0; i < 3; i++); } export async function main() { const p = (async () => { await null; work(); throw new Error("x") })(); try { await p } catch (e) { return e.message } }')
  const errors = []
  const scheduler = new Scheduler({ onError: error => errors.push(error) })
  assert.is(await scheduler.spawn(main), 'x')
  await scheduler.idle()
  assert.equal(errors, [])
})

children('a generator that waits by hand lets its child jobs run', async () => {
  const { main } = await rewrittenModule(
    'function work() { for (let i = 0; i < 3; i++); return 4 } async function load() { await null; return work() } export function* main() { const p = load(); work(); return yield p }')
  assert.is(await new Scheduler().spawn(main), 4)
})

children('another job of equal rank runs while a child job is suspended', async () => {
  const { main } = await rewrittenModule(
    'function work() { for (let i = 0; i < 300; i++); } export async function main(log) { await Promise.all([1, 2].map(async n => { await null; log("start"); work(); log("end") })) }')
  const scheduler = new Scheduler({ slice: 0.001 })
  const log = []
  const job = scheduler.spawn(main, { budget: 1 }, what => log.push(what))
  let isOver = false
  scheduler.spawn(function* () { while (!isOver) { yield sleep(0); log.push('other') } })
  await job
  isOver = true
  await scheduler.idle()
  const own = log.filter(what => what !== 'other')
  assert.equal(own, ['start', 'end', 'start', 'end'])
  assert.ok(log.indexOf('other') < log.lastIndexOf('end'))
})

children('async functions that are called outside of jobs stay native', async () => {
  const { main } = await rewrittenModule('export async function main(f) { for (let i = 0; i < 2; i++) await f(); return 3 }')
  const { jobs } = rt.stats()
  assert.is(await main(async () => {}), 3)
  assert.is(rt.stats().jobs, jobs)
})

children.run()
