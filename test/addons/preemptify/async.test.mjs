import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, budget } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { assertAlikeAsync, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { assertTrace, record } from '../../support/trace.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

/** Tests bodies of async functions with the arguments of `given`. */
function bodies(tests, table) {
  for (const [name, body] of Object.entries(table)) {
    const fn = sloppy(`async function (log, later, fail, iterable, thenable) { ${body}\n }`)
    tests(`${name}: ${body}`, () => assertAlikeAsync(fn, { args: given, options: { strict: false } }))
  }
}

const given = log => [
  log, later, fail, (steps, options) => iterable(log, steps, options),
  x => ({ then: resolve => { log('then'); resolve(x) } })
]

const later = x => new Promise(resolve => { setImmediate(resolve, x) })
const fail = x => new Promise((_, reject) => { setImmediate(reject, new RangeError(x)) })

/**
 * An async iterable that logs the calls of its methods. A step that is an error rejects.
 *
 * @param {(value: any) => any} log @param {any[]} steps
 * @param {{ onReturn?: () => any, withoutReturn?: boolean }} [options]
 */
function iterable(log, steps, { onReturn = () => ({}), withoutReturn } = {}) {
  const iterator = {
    [Symbol.asyncIterator]() {
      log('begin')
      return iterator
    },
    next(...args) {
      log(['next', ...args])
      if (steps.length === 0) return { done: true, value: 'end' }
      const value = steps.shift()
      if (value instanceof Error) return Promise.reject(value)
      return later({ done: false, value })
    },
    return(...args) {
      log(['return', ...args])
      return onReturn()
    }
  }
  if (withoutReturn) delete iterator.return
  return iterator
}

const awaits = suite('await')

bodies(awaits, {
  'a value': 'return await 1',
  'a promise': 'return await later(1)',
  'a rejection': 'await fail("x")',
  'undefined is no point': 'return [await undefined, await later(undefined), await later()]',
  'a thenable is asked once': 'return await thenable(3)',
  'order of effects': 'log(1); await log(2); log(await later(3)); return log(4)',
  'operands are read before it':
    'let x = 1; const f = async () => { x = 5; return 2 }; return x + await f() + x',
  'assignment targets are read before it':
    'const a = [1, 2]; let i = 0; a[i] = await (i = 1, later(7)); return [a, i]',
  'compound assignments':
    'let x = 1; x += await (x = 5, later(2)); x ||= await later(9); x &&= await later(0); x ??= await ' +
      '8; return x',
  'unary operators': 'return [-await 1, !await 0, typeof await "s", void await 1, ~await 1, +await "3"]',
  'await of await': 'return await await later(later(1))',
  'await of an await in brackets': 'return await (await later(1) + await 2)',
  'exponentiation of brackets': 'return (await 2) ** await 3',
  'members of it': 'return (await later({ x: { y: 3 } })).x.y',
  'members are part of what is awaited': 'return await { x: { y: later(3) } }.x.y',
  'calls are part of it': 'return await (() => later)()(4)',
  'new is part of it': 'return await new Promise(resolve => resolve(4))',
  'optional chains': 'return [await null?.x.y, (await later(null))?.x, await log?.call?.(null, 1)]',
  'arguments': 'return Math.max(await later(1), await 2, ...await later([3, 4]))',
  'template holes': 'return `a${await later(1)}${`b${await 2}`}`',
  'tags': 'return String.raw`${await later(1)}`',
  'literals': 'return [await 1, , ...await [2], { [await "a"]: await 1, ...await { b: 2 } }]',
  'conditions': 'if (await later(0)) log(1); else if (await 1) log(2); return await 0 ? 1 : await 2',
  'logical operators cut it short':
    'return [0 && await log(1), await 1 || log(2), await null ?? await log(3)]',
  'conditional operands': 'return [true ? await 1 : await log(2), await 0 ? 1 : 2]',
  'comma': 'return await 1, await 2',
  'loop heads': 'for (let i = await 0; i < await later(3); i += await 1) log(i)',
  'for of': 'for (const x of await later([1, 2])) log(await x)',
  'for in': 'for (const x in await later({ a: 1 })) log(await x)',
  'while': 'let i = 0; while (await later(i) < 3) i++; return i',
  'do while': 'let i = 0; do i++; while (await later(i) < 3) return i',
  'switch': 'switch (await later(2)) { case await 1: log(1); case await 2: log(2); default: log(3) }',
  'switch, matched by type':
    'switch (await "1") { case 1: return "number"; case await "1": return "string" }',
  'throw': 'throw await later(new RangeError("x"))',
  'destructuring':
    'const { a = await 1, [await "b"]: [c = await later(2)] = await [] } = await later({}); return [a, c]',
  'destructuring assignments':
    'let a, b; [a, b = await 2] = await [1]; ({ x: log[await "y"] = await 3 } = {}); return [a, b, log.y]',
  'classes':
    'return new class extends (await later(Object)) { [await "x"]() { return 1 } static [await "y"] = ' +
      '2 }().x()',
  'in and instanceof': 'return ["a" in await { a: 1 }, await [] instanceof await Array]',
  'regular expressions': 'return (await "aXb").split(await /x/i)',
  'division after it': 'const g = 2; return await 8 /2/g',
  'a regular expression is awaited': 'return (await /2/g).flags',
  'a comment behind it': 'return await // c\n later(1) // c\n',
  'brackets on the next line': 'const f = later\nawait f(1)\nconst g = await f\n;(await f(2))',
  'lines that begin with it': 'let x = 1\nawait x\nx++\nawait x\nlet y = x\nawait y\nreturn x',
  'after else and do': 'if (0) ; else await log(1)\ndo await log(2); while (0) await log(3)',
  'statements of one word': 'for (;;) { await 1; break }',
  'in nested blocks': '{ { await log(1) } } a: { await log(2); break a }',
  'arrow functions within have their own':
    'return [await (async () => await later(1))(), await Promise.all([1, 2].map(async x => await x))]',
  'names within other functions': 'return (function () { var await = 3; return await })()',
  'yield is a name': 'var yield = await 3; return yield',
  'a closure per round':
    'const list = []; for (let i = 0; i < 3; i++) { await i; list.push(() => i) } return list.map(f => f())',
  'this and arguments after it': 'await 1; return [this === globalThis, arguments.length]',
  'eval after it': 'let x = await 1; eval("x = 2"); return x'
})

awaits.run()

const rejections = suite('rejections')

bodies(rejections, {
  'are thrown where they are awaited':
    'try { await fail("x"); log("never") } catch (error) { return log(error.message) }',
  'from every position':
    'for (const f of [() => fail(1)]) try { log(`${await f()}`) } catch (e) { log(e.message) } try { ' +
      'log(...await fail(2)) } catch (e) { log(e.message) }',
  'caught, and gone on':
    'for (let i = 0; i < 3; i++) try { await (i % 2 ? fail(i) : later(i)); log(i) } catch (error) { ' +
      'log(error.message) }',
  'finally runs before it leaves': 'try { await fail("x") } finally { log(1); await later(1); log(2) }',
  'finally overrides': 'try { await fail("x") } finally { return await later(3) }',
  'an error in finally overrides': 'try { await fail("x") } finally { await fail("y") }',
  'catch rethrows':
    'try { await fail("x") } catch (error) { await 1; throw new TypeError(error.message) } finally { ' +
      'log("f") }',
  'nested':
    'try { try { await fail("x") } finally { log(await 1) } } catch ({ message = await log(9) }) { ' +
      'return message }',
  'of a value that is no error': 'try { await Promise.reject(3) } catch (x) { return x }',
  'undefined': 'try { await Promise.reject() } catch (x) { return [x] }',
  'return in try is not awaited there':
    'try { return fail("x") } catch { return "caught" } finally { log("finally") }',
  'return await in try is':
    'try { return await fail("x") } catch { return "caught" } finally { log("finally") }',
  'break out of finally': 'for (;;) { try { await fail("x") } finally { break } } return 3',
  'in a condition': 'try { if (await fail("x")) log(1); else log(2) } catch { return 3 }',
  'thrown by a thenable':
    'try { await { get then() { throw new RangeError("then") } } } catch (error) { return error.message }'
})

rejections('errors of the parameters reject the promise', async () => {
  for (const source of [
    'async function (a = null.x) {}', 'async ({ x }) => {}', 'async function ({ x } = null) {}',
    'async (a = b, b) => {}',
    'async function (...[a = (() => { throw new RangeError("x") })()]) {}'
  ]) await assertAlikeAsync(sloppy(source), { args: () => [] })
})

rejections.run()

const results = suite('results')

bodies(results, {
  'a promise that is returned is adopted': 'return later(1)',
  'a rejected one too': 'return fail("x")',
  'a thenable': 'return thenable(3)',
  'a promise of a promise': 'return later(later(2))',
  'nothing': 'await 1',
  'an object that is none': 'return { then: 3 }',
  'a thenable that throws': 'return { then() { throw new RangeError("x") } }',
  'a getter that throws': 'return { get then() { throw new RangeError("x") } }',
  'a thenable that resolves to another': 'return { then(f) { f(thenable(4)) } }',
  'a function with then': 'return Object.assign(() => {}, { then: f => f(5) })'
})

results('an async function awaits the promise that it returns', () => {
  const steps = preemptify(async () => Promise.resolve(1))()
  budget.left = 100
  const { done, value } = steps.next()
  assert.is(done, false)
  assert.instance(value, Promise)
})

results('errors of the parameters are thrown when the function runs, not at the call', () => {
  const steps = preemptify(async (a = null.x) => a)()
  assert.throws(() => steps.next(), error => error instanceof TypeError)
})

results('async arrow functions return the value of their expression', async () => {
  await assertAlikeAsync(sloppy('async x => await x'), { args: () => [later(1)] })
  await assertAlikeAsync(sloppy('async x => ({ x: await x })'), { args: () => [later(1)] })
  await assertAlikeAsync(sloppy('async x => (await x, await 2)'), { args: () => [later(1)] })
  await assertAlikeAsync(sloppy('async (x, y = 2) => await x + await y'), { args: () => [later(1)] })
  await assertAlikeAsync(sloppy('async x => x'), { args: () => [later(1)] })
})

results.run()

const loops = suite('for await')

bodies(loops, {
  'order of effects': 'for await (const x of iterable([1, 2])) log(x); return log("end")',
  'no steps': 'for await (const x of iterable([])) log(x)',
  'no braces, no body': 'for await (const x of iterable([1, 2]));',
  'a sync iterable, whose values are awaited': 'for await (const x of [1, later(2), 3]) log(x)',
  'a sync iterable with a rejection':
    'try { for await (const x of [1, fail("x"), log(3)]) log(x) } catch (error) { log(error.message) }',
  'strings': 'for await (const c of "ab") log(c)',
  'an async generator':
    'for await (const x of (async function* () { try { yield 1; yield later(2) } finally { ' +
      'log("closed") } })()) log(x)',
  'values that are promises stay as they are':
    'for await (const x of iterable([later(1)])) log(x instanceof Promise)',
  'thenables stay as they are':
    'for await (const x of iterable([{ then: 3 }, thenable(1)])) log(typeof x.then)',
  'undefined and null': 'for await (const x of iterable([undefined, null])) log(x)',
  'what is iterated is awaited first': 'for await (const x of await later([1])) log(await x)',
  'what is no iterable':
    'try { for await (const x of 3) log(x) } catch (error) { log(error.constructor.name) }',
  'undefined is no iterable': 'for await (const x of undefined) log(x)',
  'its next rejects':
    'try { for await (const x of iterable([1, new RangeError("x"), 2])) log(x) } catch (error) { ' +
      'log(error.message) }',
  'its next throws':
    'try { for await (const x of { [Symbol.asyncIterator]: () => ({ next() { throw new RangeError("x") ' +
      '}, return() { log("never") } }) }); } catch (error) { log(error.message) }',
  'a result that is no object':
    'try { for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => 3, return() { ' +
      'log("never") } }) }); } catch (error) { log(error.constructor.name) }',
  'a getter of the result throws':
    'try { for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => ({ get done() { throw ' +
      'new RangeError("x") } }), return() { log("never") } }) }); } catch (error) { log(error.message) }',
  'next is looked up once':
    'const o = { n: 0, get next() { log("get next"); return async () => ({ done: this.n++ > 2 }) }, ' +
      '[Symbol.asyncIterator]() { return this } }; for await (const x of o) log(x)',
  'break closes': 'for await (const x of iterable([1, 2])) { log(x); break } return log("end")',
  'return closes': 'for await (const x of iterable([1, 2])) return log(x)',
  'throw closes': 'for await (const x of iterable([1, 2])) throw new RangeError(x)',
  'an error of the engine closes': 'for await (const x of iterable([1, 2])) x.none.none',
  'a rejection in the body closes': 'for await (const x of iterable([1, 2])) await fail(x)',
  'continue does not close': 'for await (const x of iterable([1, 2])) { if (x) continue; log("never") }',
  'the end does not close': 'for await (const x of iterable([1])); log("end")',
  'return() is waited for':
    'for await (const x of iterable([1], { onReturn: () => later({}) })) break; log("end")',
  'return() that rejects, after break':
    'try { for await (const x of iterable([1], { onReturn: () => fail("r") })) break } catch (error) { ' +
      'log(error.message) }',
  'return() that rejects, after return':
    'try { for await (const x of iterable([1], { onReturn: () => fail("r") })) return 1 } catch ' +
      '(error) { log(error.message) }',
  'return() that rejects, after an error':
    'try { for await (const x of iterable([1], { onReturn: () => fail("r") })) throw new ' +
      'RangeError("body") } catch (error) { log(error.message) }',
  'return() that throws, after break':
    'try { for await (const x of iterable([1], { onReturn() { throw new RangeError("r") } })) break } ' +
      'catch (error) { log(error.message) }',
  'return() that throws, after an error':
    'try { for await (const x of iterable([1], { onReturn() { throw new RangeError("r") } })) throw ' +
      'new RangeError("body") } catch (error) { log(error.message) }',
  'return() that gives no object':
    'try { for await (const x of iterable([1], { onReturn: () => 3 })) break } catch (error) { ' +
      'log(error.constructor.name) }',
  'return() that gives no object, after an error':
    'try { for await (const x of iterable([1], { onReturn: () => 3 })) throw new RangeError("body") } ' +
      'catch (error) { log(error.message) }',
  'no return()': 'for await (const x of iterable([1], { withoutReturn: true })) break; log("end")',
  'an error of the head closes':
    'try { for await (const { x } of iterable([null])); } catch (error) { log(error.constructor.name) }',
  'an error of a default closes': 'for await (const { x = log.none.none } of iterable([{}]));',
  'a rejection in the head closes': 'for await (const { x = await fail("x") } of iterable([{}]));',
  'destructuring with awaits':
    'for await (const { a = await later(1), [await "b"]: b, ...rest } of iterable([{ b: 2, c: 3 }])) ' +
      'log([a, b, rest])',
  'assignment heads':
    'let x; for await (x of iterable([1, 2])); for await (log.x of iterable([3])); for await ([x, ' +
      'log.y = 5] of iterable([[4]])); return [x, log.x, log.y]',
  'var, let, const':
    'for await (var a of iterable([1])); for await (let b of iterable([2])) { b++; log(b) } return a',
  'a name called async, of, let':
    'for await (async of iterable([1])); for await (var of of iterable([2])); var async; for await ' +
      '(var let of [of]); return [async, of, let]',
  'a binding per round':
    'const list = []; for await (const x of iterable([1, 2])) list.push(() => x); return list.map(f => f())',
  'its binding is not the one outside':
    'let x = [1, 2]; for await (const y of x) { let x = y; log(x) } return x',
  'the temporal dead zone of its head':
    'try { for await (const x of [x]); } catch (error) { log(error.constructor.name) }',
  'labels: continue an outer loop':
    'outer: for await (const x of iterable([1, 2])) { for await (const y of iterable([3, 4])) { ' +
      'log([x, y]); continue outer } }',
  'labels: break an outer loop':
    'outer: for await (const x of iterable([1, 2])) { for (const y of [3, 4]) { log([x, y]); break outer } }',
  'labels: its own':
    'a: b: for await (const x of iterable([1, 2, 3])) { if (x === 1) continue a; if (x === 2) continue ' +
      'b; break a }',
  'labels: a block around':
    'a: { for await (const x of iterable([1, 2])) { break a } log("never") } return 1',
  'in and around try':
    'for await (const x of iterable([1, 2])) { try { if (x === 1) continue; break } finally { ' +
      'log(`f${x}`) } }',
  'finally takes a break back':
    'for await (const x of iterable([1, 2])) { try { break } finally { continue } } log("end")',
  'nested': 'for await (const x of iterable([[1, 2], [3]])) for await (const y of x) log(y)',
  'braceless in if': 'if (1) for await (const x of [1]) log(x); else log(0)',
  'within a loop and a switch':
    'for (const x of [1, 2]) switch (x) { case 1: for await (const y of [x]) { log(y); continue } ' +
      'default: log("d") }',
  'eval in its body': 'for await (const x of [1, 2]) eval("log(x)")',
  'arrows in its head': 'for await (const x of [() => { for (const y of [1]) return y }]) log(x())',
  'in in brackets': 'for await (const x of [("a" in { a: 1 })]) log(x)',
  'a comment everywhere':
    'for /* a */ await /* b */ (/* c */ const /* d */ x /* e */ of /* f */ [1] /* g */) /* h */ log(x) ' +
      '/* i */'
})

loops('cancelling a job in the body of for await closes the iterator', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const log = []
  const note = value => { log.push(String(value)) }
  const work = preemptify(async function (source) {
    for await (const x of source) await new Promise(() => {})
  })
  const job = scheduler.spawn(work, undefined, iterable(note, [1, 2]))
  job.catch(() => {})
  await later()
  await host.drain()
  await later()
  await host.drain()
  job.cancel()
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.equal(log, ['begin', 'next', 'return'])
})

loops('cancelling a job in for await does not wait for a pending step', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  let steps = 0
  const next = () => steps++ ? new Promise(() => {}) : Promise.resolve({ value: 1, done: false })
  const work = preemptify(async function (source) {
    for await (const x of source);
  })
  const job = scheduler.spawn(work, undefined, { [Symbol.asyncIterator]: () => ({ next }) })
  job.catch(() => {})
  for (let turn = 0; turn < 3; turn++) {
    await later()
    await host.drain()
  }
  assert.is(steps, 2)
  job.cancel()
  await host.drain()
  assert.is(job.state, 'cancelled')
})

loops.run()

const scheduled = suite('async functions as jobs')

scheduled('an await blocks the job while other jobs run', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, round: 2 })
  const trace = record(scheduler, { except: ['round'] })
  const after = ms => new Promise(resolve => { host.after(ms, resolve) })
  const work = preemptify(async function (advance, after) {
    advance(1)
    await after(5)
    advance(1)
    return 7
  })
  const job = scheduler.spawn(work, { name: 'waits', priority: 1 }, ms => host.advance(ms), after)
  scheduler.spawn(preemptify(function (advance) {
    for (let i = 0; i < 8; i++) advance(1)
  }), { name: 'computes' }, ms => host.advance(ms))
  await host.drain()
  assert.is(await job, 7)
  assertTrace(trace, `
    0 release waits, release computes, start waits
    1 block waits on=Promise, start computes
    6 wake waits, preempt computes by=waits, resume waits
    7 finish waits, resume computes
    10 finish computes`)
})

scheduled('a rejection fails the job, and a returned promise gives its value', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const failing = scheduler.spawn(preemptify(async () => { throw new RangeError('x') }))
  const adopting = scheduler.spawn(preemptify(async x => x), undefined, Promise.resolve(3))
  const caught = failing.catch(error => error.message)
  await host.drain()
  assert.is(await caught, 'x')
  assert.is(await adopting, 3)
})

scheduled.run()
