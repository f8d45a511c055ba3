import { same, show } from '../../examples/preemptify/values.mjs'
import { budget, rt } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { runtime } from '../../addons/preemptify/runtime.mjs'
import { corpus } from '../corpus/index.mjs'
import { drive, driveAsync, preemptible } from '../support/drive.mjs'
import { differentSorts } from '../support/sorting.mjs'
import { elapse, equal, inWebKit, inWorker, ok, rejection, test } from './page.mjs'

/** The error that `run` throws. */
function thrown(run) {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** Creates a sloppy function, because a module contains only strict functions. */
const sloppy = text => (0, eval)(`(${text})`)

// ------------------------------------------------------------------------------- sources of functions

class Shapes {
  #hidden = 1
  #secret(a) { return a + this.#hidden }
  plain /* comment */ (a,  b = `${a}`) { return [a, b] }
  ['comp' + 'uted'](a) { return a }
  async waiting(a) { return await a }
  * sequence(n) { for (;;) yield n }
  'a string'(a) { return a }
  12(a) { return a }
  static still(a) { return a }
  static get secret() { return this.prototype.reveal.call(new this()) }
  reveal() { return this.#secret }
}
const { prototype } = Shapes

// The pinned texts include spaces, comments and line ends.
const texts = [
  [function  named ( a, b ) { return a /* a */ + b }, 'function  named ( a, b ) { return a /* a */ + b }'],
  [function(){}, 'function(){}'],
  [async  function  waits(a){ await a }, 'async  function  waits(a){ await a }'],
  [function * steps () { yield 1 }, 'function * steps () { yield 1 }'],
  [a  =>  a, 'a  =>  a'],
  [( a, { b }, ...[c] ) => { return [a, b, c] }, '( a, { b }, ...[c] ) => { return [a, b, c] }'],
  [async  a => a, 'async  a => a'],
  [(a => /[/]/g.test(a) /* `${ */), 'a => /[/]/g.test(a)'],
  [prototype.plain, 'plain /* comment */ (a,  b = `${a}`) { return [a, b] }'],
  [prototype.computed, "['comp' + 'uted'](a) { return a }"],
  [prototype.waiting, 'async waiting(a) { return await a }'],
  [prototype.sequence, '* sequence(n) { for (;;) yield n }'],
  [prototype['a string'], "'a string'(a) { return a }"],
  [prototype[12], '12(a) { return a }'],
  [Shapes.still, 'still(a) { return a }'],
  [Shapes.secret, '#secret(a) { return a + this.#hidden }'],
  [{ short ( ) { } }.short, 'short ( ) { }'],
  [{ async * both ( ) { } }.both, 'async * both ( ) { }'],
  [Object.getOwnPropertyDescriptor({ get  size ( ) { return 1 } }, 'size').get, 'get  size ( ) { return 1 }'],
  [(0, eval)('(function lines(a) {\r\n  return a // ü \ud83d\ude00\u2028\r\n})'),
    'function lines(a) {\r\n  return a // ü \ud83d\ude00\u2028\r\n}'],
  [new Function('a', 'b', 'return a + b // last'), 'function anonymous(a,b\n) {\nreturn a + b // last\n}']
]

test('Function.prototype.toString returns the exact source of every function', () => {
  for (const [fn, text] of texts) equal(Function.prototype.toString.call(fn), text)
})

test('preemptible functions of every kind return the same results', async () => {
  const [named, anonymous, waits, steps, arrow, pattern, asyncArrow, expression, plain, computed, waiting,
    sequence, string, number, still] = texts.slice(0, 15).map(([fn]) => preemptify(fn))
  equal(drive(named(1, 2)), 3)
  equal(drive(anonymous()), undefined)
  equal(await driveAsync(waits(1)), undefined)
  equal(typeof steps().next, 'function')
  equal(drive(arrow(1)), 1)
  equal(drive(pattern(1, { b: 2 }, 3)), [1, 2, 3])
  equal(await driveAsync(asyncArrow(Promise.resolve(1))), 1)
  equal(drive(expression('/')), true)
  equal(drive(plain(1)), [1, '1'])
  equal(drive(computed(1)), 1)
  equal(await driveAsync(waiting(Promise.resolve(1))), 1)
  equal(typeof sequence(1).next, 'function')
  equal([string, number, still].map(method => drive(method(1))), [1, 1, 1])
  const [lines, made] = texts.slice(-2).map(([fn]) => preemptify(fn))
  equal(drive(lines(1)), 1)
  equal(drive(made(1, 2)), 3)
})

test('preemptible functions keep names and lengths', () => {
  for (const [fn] of texts) {
    const isRefused = /^(?:get|#|async \*)/.test(Function.prototype.toString.call(fn))
    if (isRefused) continue
    const work = preemptify(fn)
    equal([work.name, work.length], [fn.name, fn.length], Function.prototype.toString.call(fn))
  }
  const key = Symbol('key')
  const { [key]: method } = { [key](a, b, ...rest) { return [a, b, rest] } }
  equal([preemptify(method).name, preemptify(method).length], ['[key]', 2])
  const value = 'it\'s "not" a name'
  const renamed = Object.defineProperty(function (a, b) { return a + b }, 'name', { value })
  equal(preemptify(renamed).name, value)
  equal(drive(preemptify(renamed)(1, 2)), 3)
})

test('preemptible functions stay strict or sloppy', () => {
  const reveals = 'function () { return this === undefined }'
  equal(drive(preemptify(sloppy(reveals))()), false)
  equal(drive(preemptify(sloppy("function () { 'use strict'; return this === undefined }"))()), true)
  equal(drive(preemptify(sloppy(`(() => { 'use strict'; return ${reveals} })()`))()), true)
  equal(drive(preemptify(function () { return this === undefined })()), true)
  equal(drive(preemptify(new Function('return this === undefined'))()), false)

  const boxes = sloppy('function () { return typeof this }')
  equal(drive(preemptify(boxes).call(1)), 'object')
  const maps = sloppy('function (a) { arguments[0] = 2; for (var i = 0; i < 1; i++); return a }')
  equal(drive(preemptify(maps)(1)), 2)
  const keeps = function (a) { arguments[0] = 2; for (let i = 0; i < 1; i++); return a }
  equal(drive(preemptify(keeps)(1)), 1)
  const leaks = sloppy('function () { leaked = 1; return delete globalThis.leaked }')
  equal(drive(preemptify(leaks)()), true)
})

test('sloppy functions can use with, octal literals and reserved names', () => {
  const within = sloppy(`function (object) {
    with (object) { for (var i = 0; i < 2; i++) total += step }
    return object
  }`)
  equal(drive(preemptify(within)({ total: 1, step: 2 })), { total: 5, step: 2 })
  const octal = sloppy('function (yield) { for (var let = 0; let < 010; let++) yield++; return yield }')
  equal(drive(preemptify(octal)(1)), 9)
  const twice = sloppy('function (a, a) { return a }')
  equal(drive(preemptify(twice)(1, 2)), 2)
})

test('the strict option decides if the source does not', () => {
  const arrow = sloppy('() => { undeclaredByAnyone = 1; return delete globalThis.undeclaredByAnyone }')
  equal(drive(preemptify(arrow, { strict: false })()), true)
  equal(thrown(() => drive(preemptify(arrow, { strict: true })())).name, 'ReferenceError')
})

test('preemptify rejects native, bound and proxied functions', () => {
  const inner = n => n
  const functions = {
    push: Array.prototype.push,
    bound: inner.bind(null),
    proxied: new Proxy(inner, {}),
    Promise,
    [inWorker ? 'postMessage' : 'alert']: inWorker ? globalThis.postMessage : globalThis.alert
  }
  for (const name in functions) {
    const error = thrown(() => preemptify(functions[name]))
    ok(error instanceof TypeError, `${name}: ${error}`)
    ok(/native, bound or proxied/.test(error.message), `${name}: ${error}`)
  }
  function seeming() { return '{ [native code] }' /* { [native code] } */ }
  equal(drive(preemptify(seeming)()), '{ [native code] }')
})

test('preemptify rejects accessors, constructors and async generators', () => {
  const { get } = Object.getOwnPropertyDescriptor({ get size() { return 1 } }, 'size')
  for (const fn of [get, Shapes, async function* () { yield 1 }]) {
    ok(thrown(() => preemptify(fn)) instanceof TypeError, String(fn))
  }
})

// ---------------------------------------------------------------------------------------------- stack traces

test('a stack trace shows the function, and its text under a separate name', () => {
  function distinctlyNamed(n) {
    for (let i = 0; i < n; i++) {
      if (i === 2) throw new Error('stopped')
    }
  }
  const { stack, line } = thrown(() => drive(preemptify(distinctlyNamed)(5)))
  // WebKit names neither generators nor evaluated texts, but it reports the line.
  if (inWebKit) return equal(line, 3)
  const frame = stack.split('\n').find(line => line.includes('preemptify/'))
  ok(/distinctlyNamed.*preemptify\/\d+\/distinctlyNamed\.js/.test(frame ?? ''), stack)
})

test('line numbers of a stack trace are those of the function', () => {
  const lineOf = ({ stack }, pattern) => Number(pattern.exec(stack)?.[1])
  function throws(n) {
    for (
      let i = 0; i < n; i++
    ) if (i === 2)

      throw new Error('stopped')
  }
  const { source } = preemptify(throws)
  const text = Function.prototype.toString.call(throws)
  equal(source.split('\n').length, text.split('\n').length)
  const error = thrown(() => drive(preemptify(throws)(5)))
  equal(inWebKit ? error.line : lineOf(error, /preemptify\/\d+\/throws\.js:(\d+)/), 6)
})

// ------------------------------------------------------------------------------------------- recursion depth

/** The recursion limit of `fn`, within a tenth. In WebKit strict tail calls have no limit. */
function deepest(fn) {
  let low = 1
  let high = 2
  const fits = n => {
    try {
      fn(n)
      return true
    } catch (error) {
      // Firefox: InternalError, too much recursion
      if (!/stack|recursion/i.test(error.message)) throw error
      return false
    }
  }
  while (high < 2 ** 18 && fits(high)) [low, high] = [high, high * 2]
  while (high - low > low / 10) {
    const middle = (low + high) >>> 1
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

const recursions = {
  'one that returns first': function depth(n) {
    return n === 0 ? 0 : 1 + depth(n - 1)
  },
  'one with a loop': function depth(n) {
    let sum = 0
    for (let i = 0; i < 1; i++) sum += n === 0 ? 0 : 1 + depth(n - 1)
    return sum
  },
  'one within an array literal': function depth(n) {
    if (n <= 0) return 0
    const [below] = [depth(n - 1)]
    return below + 1
  }
}

for (const [title, fn] of Object.entries(recursions)) {
  test(`recursion is at least as deep as in the function itself: ${title}`, async () => {
    const depth = deepest(fn)
    ok(depth > 1000, `the function itself came to ${depth} only`)
    for (const options of [{}, { budgeted: false }]) {
      const work = preemptify(fn, options)
      equal(drive(work(depth)), depth)
      equal(await rt.spawn(work, undefined, depth), depth)
    }
    // Twice the depth that fits on the stack of a resumed job.
    equal(await rt.spawn(preemptify(fn), { budget: 1 }, 2 * depth), 2 * depth)
  })
}

test('mutual recursion is at least as deep as in the functions themselves', async () => {
  function isEven(n) { return n === 0 || isOdd(n - 1) }
  function isOdd(n) { return n !== 0 && isEven(n - 1) }
  const depth = deepest(isEven) & ~1
  const calls = {}
  calls.isEven = preemptify(isEven, { calls })
  calls.isOdd = preemptify(isOdd, { calls })
  equal(await rt.spawn(calls.isEven, undefined, depth), true)
})

// ----------------------------------------------------------------------------------- corpus, async functions

const outcome = async (run, args) => {
  try {
    return { result: await run(...args), args }
  } catch (error) {
    return { error: `${error}`, args }
  }
}

// The engine of a worker is that of its page.
if (!inWorker) for (const entry of corpus) {
  const { name, fn, inputs, sizes } = entry
  test(`${name} has the results of the original`, async () => {
    for (const options of [{}, { budgeted: false }]) {
      const work = preemptible(entry, options)
      for (const size of sizes) {
        const expected = await outcome(fn, inputs(size))
        const compare = async (run, conditions) => {
          const actual = await outcome(run, inputs(size))
          const both = `${show(actual)}, expected ${show(expected)}`
          ok(same(actual, expected), `size ${size}, ${conditions}: ${both}`)
        }
        for (const limit of [1, 7, 4096]) {
          await compare((...args) => driveAsync(work(...args), { limit }), `budget ${limit}`)
        }
        await compare((...args) => rt.spawn(work, undefined, ...args), 'as a job')
      }
    }
  })
}

test('async functions await promises of the platform', async () => {
  async function read(url) {
    const response = await fetch(url)
    let length = 0
    for await (const bytes of response.body) length += bytes.length
    return length
  }
  async function readPlainly(url) {
    return (await (await fetch(url)).arrayBuffer()).byteLength
  }
  const url = new URL('../../rt.mjs', import.meta.url).href
  if (!(Symbol.asyncIterator in ReadableStream.prototype)) {
    equal(inWebKit, true)
    equal((await rejection(rt.spawn(preemptify(read), undefined, url))).name, 'TypeError')
    return
  }
  equal(await rt.spawn(preemptify(read), undefined, url), await readPlainly(url))
})

test('a rejection is thrown at its await, and an error rejects the job', async () => {
  async function attempt(log) {
    try {
      await Promise.reject(new RangeError('first'))
    } catch (error) {
      log.push(error.message)
    } finally {
      log.push(await 'finally')
    }
    throw new TypeError('last')
  }
  const log = []
  const error = await rejection(rt.spawn(preemptify(attempt), undefined, log))
  equal([...log, error.name, error.message], ['first', 'finally', 'TypeError', 'last'])
})

test('for await takes values in order and closes the iterator on exit', async () => {
  async function take(source, n, log) {
    for await (const value of source) {
      log.push(value)
      if (value === n) break
    }
    return log.length
  }
  async function* numbers(log) {
    try {
      for (let n = 0; ; n++) yield n
    } finally {
      log.push('closed')
    }
  }
  const expected = []
  const log = []
  await take(numbers(expected), 3, expected)
  for (const budgeted of [true, false]) {
    log.length = 0
    equal(await rt.spawn(preemptify(take, { budgeted }), undefined, numbers(log), 3, log), 5)
    equal(log, expected)
  }
  equal(log, [0, 1, 2, 3, 'closed'])
})

test('using disposes resources at the end of a block, after calls in its return', async () => {
  const text = `export const log = []
    const made = name => ({ [Symbol.dispose]() { log.push(name) }, async [Symbol.asyncDispose]() { await null; log.push(name) } })
    function sum(n) { let s = 0; for (let i = 0; i < n; i++) s += i; log.push('sum'); return s }
    async function later(n) { await null; return sum(n) }
    const tail = n => { using a = made('tail'); return sum(n) }
    async function settled(n) { for (using a of [made('settled')]) return later(n) }
    async function both(n) { { using a = made('both'); await null } using b = made('last'); return later(n) }
    export async function waits(n) { await using a = made('waits'); return tail(n) }
    export async function main(n) {
      const out = [[n].map(tail), await settled(n), await both(n), await waits(n)]
      for (using a = made('head'), b = null; n-- > 0;) { using c = made('round'); if (n === 3) continue; if (n === 1) break; out.push(sum(n)) }
      return out
    }`
  const load = source => import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })))
  const native = await load(text).catch(() => null)
  if (native === null) return
  const { main, waits, log } = await load(preemptify.source(text, { runtime: new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href }))
  const expected = [await native.main(9), native.log]
  equal([await main(9), log], expected)
  for (const limit of [1, 2, 7]) {
    log.length = 0
    equal([await driveAsync(preemptify(main)(9), { limit }), log], expected)
  }
  equal(String(thrown(() => preemptify(waits))),
    'TypeError: preemptify(waits): await using cannot be driven; write a generator that yields what disposing gives')
})

test('a sort in a job makes the same comparisons as the built-in sort', () => {
  equal(differentSorts((sort, list, compare) => {
    const { enter, suspended, twin } = runtime
    const withTwin = twin((a, b) => compare(a, b), function* (a, b) { return compare(a, b) })
    return drive(function* () {
      const result = Reflect.apply(enter(sort), list, [withTwin])
      return result === budget ? yield suspended() : result
    }(), { limit: 7 })
  }), [])
})

test('an endless function lets other jobs run and can be cancelled', async () => {
  let rounds = 0
  const spin = preemptify(function spin() { for (;;) rounds++ }, { evaluate: source => eval(source) })
  for (const work of [spin, preemptify(function spin() { for (;;); })]) {
    const job = rt.spawn(work)
    do await elapse(20)
    while (rounds === 0)
    equal(job.state, 'ready')
    job.cancel()
    equal((await rejection(job)).name, 'AbortError')
  }
  ok(rounds > 0)
  ok(budget.left <= 4096)
})
