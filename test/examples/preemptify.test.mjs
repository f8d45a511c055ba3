import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Frames, runPlain, runPreempted } from '../../examples/preemptify/experiment.mjs'
import { ready } from '../../examples/preemptify/functions.mjs'
import { marks } from '../../examples/preemptify/marks.mjs'
import { argumentsOf, explain, read, rewrite } from '../../examples/preemptify/pasted.mjs'
import { same, show } from '../../examples/preemptify/values.mjs'
import { Scheduler } from '../../rt.mjs'
import { drive, driveAsync } from '../support/drive.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

function thrown(run) {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const pasted = suite('a pasted text')

pasted('the text can be one function in any form', () => {
  for (const [text, name] of [
    ['function add(a, b) { return a + b }', 'add'],
    ['  // adds\nfunction add(a, b) { return a + b } // done', 'add'],
    ['const add = (a, b) => a + b', 'add'],
    ['(a, b) => a + b', ''],
    ['(a, b) => { return a + b } // last', ''],
    ['function (a, b) { return a + b }', ''],
    ['(function inner(a, b) { return a + b })', 'inner'],
    ['add(a, b) { return a + b }', 'add'],
    ['export function add(a, b) { return a + b }', 'add'],
    ['export default (a, b) => a + b', ''],
    ['let große = function (a, b) { return a + b };', 'große']
  ]) {
    const { fn, name: found, ...rest } = read(text)
    assert.is(found, name, text)
    assert.is(fn(1, 2), 3, text)
    assert.is(drive(rewrite({ fn, name: found, ...rest }).work(1, 2)), 3, text)
  }
})

pasted('the text can contain async functions, generators and async methods', async () => {
  for (const text of [
    'async function f(a) { return await a + 1 }', 'async function (a) { return await a + 1 }',
    'async a => await a + 1', 'async f(a) { return await a + 1 }'
  ]) {
    assert.is(await driveAsync(rewrite(read(text)).work(Promise.resolve(1))), 2, text)
  }
  assert.is(drive(rewrite(read('function* f(a) { yield; return a + 1 }')).work(1)), 2)
  assert.is(drive(rewrite(read('* f(a) { yield; return a + 1 }')).work(1)), 2)
})

pasted('the last of several functions is run and linked with the others', () => {
  const text = `
    const step = 2
    function isEven(n) { return n === 0 || isOdd(n - 1) }
    function isOdd(n) { return n !== 0 && isEven(n - 1) }
    function count(n) {
      function inner() { return step }
      let found = 0
      for (let i = 0; i < n; i += inner()) found += isEven(i)
      return found
    }`
  const { name, fn, functions, evaluate } = read(text)
  assert.is(name, 'count')
  assert.equal([...functions.keys()], ['isEven', 'isOdd', 'count'])
  assert.is(evaluate('step'), 2)
  const { work, texts, left } = rewrite({ name, fn, functions, evaluate })
  assert.equal(texts.map(({ name }) => name), ['count', 'isEven', 'isOdd'])
  assert.equal(left, [])
  assert.is(drive(work(10)), 5)
  let yields = 0
  drive(work(10), { limit: 1, onPoint: () => { yields++ } })
  assert.ok(yields > 5 + 0 + 2 + 4 + 6 + 8, `points in the callees too: ${yields}`)
})

pasted('variables of the text can have any name', () => {
  const text = 'const source = 1, text = 2, name = 3\nfunction f() { return source + text + name }'
  assert.is(drive(rewrite(read(text)).work()), 6)
})

pasted('names of globals, strings and comments do not count as functions', () => {
  const text = 'function f() {\n  // function parseInt\n  const fetch = "function eval"\n  return fetch }'
  assert.equal([...read(text).functions.keys()], ['f'])
})

pasted('functions that cannot be rewritten stay unchanged', () => {
  const text = `
    class Point { constructor(x) { this.x = x } }
    async function* numbers() { yield 1 }
    function make(x) { for (const y of [1]) x += y; return [new Point(x), numbers()] }
    function f(x) { return make(x) }`
  const { work, texts, left } = rewrite(read(text))
  assert.equal(texts.map(({ name }) => name), ['f', 'make'])
  assert.equal(left.map(({ name }) => name), ['numbers'])
  assert.match(left[0].reason, 'async generator')
  const [point, numbers] = drive(work(1))
  assert.is(point.x, 2)
  assert.type(numbers.next, 'function')
})

pasted('strict and sloppy text have the same this in both versions', () => {
  const text = 'function f() { return this === undefined }'
  for (const strict of [false, true]) {
    const { fn, ...rest } = read(text, { strict })
    const { work } = rewrite({ fn, ...rest })
    assert.is(fn(), strict)
    assert.is(drive(work()), strict)
  }
})

pasted('points count down a budget or yield', () => {
  const it = read('function f(n) { for (let i = 0; i < n; i++); }')
  const yields = options => {
    let count = -1
    drive(rewrite(it, options).work(100), { onPoint: () => { count++ } })
    return count
  }
  assert.is(yields(), 0)
  assert.is(yields({ budgeted: false }), 101)
})

pasted('arguments are created anew at each call, in the scope of the text', () => {
  const it = read('const length = 3\nfunction list() { return Array(length).fill(0) }\nfunction f(a, b) {}')
  const [a, b] = argumentsOf(it, 'list(), length // two')
  assert.equal([a, b], [[0, 0, 0], 3])
  assert.is.not(argumentsOf(it, 'list()')[0], a)
  assert.equal(argumentsOf(it, ''), [])
  assert.instance(thrown(() => argumentsOf(it, '1 +')), SyntaxError)
})

pasted('errors are explained in plain words', () => {
  const said = (text, options) => explain(thrown(() => rewrite(read(text, options))))
  assert.is(said('function f( {'), 'This is not JavaScript yet: Unexpected end of input')
  assert.match(said('function (a { }'), 'This is not JavaScript yet: ')
  assert.not.match(said('function (a) { + }'), 'name')
  assert.is(said('1 + 1'), 'TypeError: There is no function in this text.')
  assert.is(said('let x = 1'), 'TypeError: There is no function in this text.')
  assert.match(said('Math.max'), /^TypeError: preemptify\(max\): a native, bound or proxied function/)
  assert.match(said('(() => 1).bind(null)'), /native, bound or proxied/)
  assert.match(said('get size() { return 1 }'), /^TypeError: .*accessor/)
  assert.match(said('class A { run() {} }'), /^TypeError: preemptify\(A\): a constructor/)
  assert.match(said('async function* f() {}'), /^TypeError: .*async generator/)
  assert.match(said('function g() {}\nfunction f(a = g()) { return a }'), /^SyntaxError: preemptify\(f\)/)
  assert.match(explain(new EvalError('refused')), "no 'unsafe-eval' in script-src")
  assert.is(explain(new EvalError('preemptify(f): so it is')), 'preemptify(f): so it is')
  assert.is(explain('thrown'), 'thrown')
})

pasted.run()

const insertions = suite('marks')

const marked = (before, after) => marks(before, after)
  .map(({ text, kind }) => kind === '' ? text : `«${kind}:${text}»`).join('')

insertions('marks returns the inserted text with its kind', () => {
  assert.is(marked('f(n) { g(n) }', 'f(n) { if (--$budget.left <= 0) yield; g(n) }'),
    'f(n) { «point:if (--$budget.left <= 0) yield; »g(n) }')
  assert.is(marked('return f(n)', 'return (yield $call(f(n)))'), 'return «call:(yield $call(»f(n)«call:))»')
  assert.is(marked('for (;;) g()', 'for (;;) { yield; g() }'), 'for (;;) «point:{ yield; »g()«point: }»')
})

insertions('a closing insertion has the kind of its opening', () => {
  assert.is(marked('return a(b) + c', 'return ($r = $call_a(b)) + c'),
    'return «call:($r = $call_a»(b)«call:)» + c')
  assert.is(marked('do c()', 'do { c() }'), 'do «point:{ »c()«point: }»')
})

insertions('insertions are marked line by line if the lines are kept', () => {
  assert.is(marked('a\nb\na', 'a\nyield; b\na'), 'a\n«point:yield; »b\na')
  assert.is(marked('a\nb', 'a\nyield;\nb'), 'a\n«point:yield;\n»b')
})

insertions('the marked pieces form the text, and the rest is part of the original', () => {
  for (const { text } of ready) {
    for (const budgeted of [true, false]) {
      for (const { before, after } of rewrite(read(text), { budgeted }).texts) {
        const pieces = marks(before, after)
        assert.is(pieces.map(({ text }) => text).join(''), after)
        const kept = pieces.filter(({ kind }) => kind === '').map(({ text }) => text)
        let at = 0
        for (const piece of kept.flatMap(text => text.match(/\S+/g) ?? [])) {
          const found = before.indexOf(piece, at)
          assert.ok(found >= 0, `${piece} of\n${after}`)
          at = found + piece.length
        }
        // All is found again except names of callees and of the function itself. `return a ? b : c` becomes
        // an `if`.
        const names = before.match(/(?<=function )\w+|\w+(?=\()|async|await|return(?=.*\?)|[?:]/g) ?? []
        const length = text => text.replace(/\s/g, '').length
        assert.ok(length(kept.join('')) >= length(before) - names.join('').length - 2, marked(before, after))
        assert.ok(pieces.some(({ kind }) => kind === 'point'))
      }
    }
  }
})

insertions('calls and awaits are marked differently from points', () => {
  const kinds = (text, pattern) => rewrite(read(text)).texts.flatMap(({ before, after }) => marks(before, after))
    .filter(({ text }) => pattern.test(text)).map(({ kind }) => kind)
  const own = kinds('function f(n) { for (;;) { if (n > 9) return n\n n = f(n + 1) } }', /yield/)
  assert.equal(own.sort(), ['call', 'point', 'point'])
  assert.equal(kinds('async function f(n) { return 1 + await n }', /yield/), ['point', 'call'])
  assert.equal(kinds('function g() {}\nfunction f() { return 1 + g() }', /yield/), ['point', 'call', 'point'])
})

insertions('a very long line stays unmarked', () => {
  const before = 'a+'.repeat(3000)
  assert.equal(marks(before, `yield;${before}`), [{ text: `yield;${before}`, kind: '' }])
})

insertions.run()

const values = suite('values')

const cycle = entries => {
  const object = { ...entries }
  object.self = object
  return object
}

values('same accepts equal values', () => {
  for (const make of [
    () => NaN, () => -0, () => 1n, () => 'a', () => undefined, () => [1, [2]], () => ({ a: 1, b: { c: [] } }),
    () => new Map([[{ a: 1 }, 1]]), () => new Set([1, [2]]), () => new Date(5), () => /a/g,
    () => new Float64Array([1, NaN]), () => new Uint8Array([1, 2]).buffer, () => new RangeError('far'),
    () => cycle({ a: 1 }), () => [, 1]
  ]) {
    assert.ok(same(make(), make()), show(make()))
  }
  assert.ok(same({ a: 1, b: 2 }, { b: 2, a: 1 }))
  const shared = [1]
  assert.ok(same([shared, shared], [shared, shared]))
})

values('same rejects different values', () => {
  for (const [a, b] of [
    [0, -0], [1, '1'], [null, undefined], [null, {}], [[1], [2]], [[1], [1, 2]], [[undefined], [,]],
    [{ a: 1 }, { b: 1 }], [{}, []], [new Map([[1, 2]]), new Map([[1, 3]])], [new Set([1]), new Set([2])],
    [new Date(1), new Date(2)], [/a/, /a/g], [new Uint8Array(2), new Uint8Array(3)],
    [new Uint8Array(2), new Int8Array(2)],
    [new RangeError('a'), new RangeError('b')], [new RangeError('a'), new TypeError('a')],
    [cycle({ a: 1 }), cycle({ a: 2 })], [() => 1, () => 1], [{ a: undefined }, {}]
  ]) {
    assert.not(same(a, b), `${show(a)} and ${show(b)}`)
    assert.not(same(b, a), `${show(b)} and ${show(a)}`)
  }
})

values('same and show handle a chain of any length', () => {
  const chain = length => {
    let object = null
    for (let i = 0; i < length; i++) object = { i, object }
    return object
  }
  assert.ok(same(chain(1e5), chain(1e5)))
  assert.match(show(chain(1e5)), '…')
})

values('show prints a value on one line', () => {
  assert.is(show({ a: [1, -0, 2n], b: 'x\ny', c: undefined, f() {} }),
    '{ a: [1, -0, 2n], b: "x\\ny", c: undefined, f: function f }')
  assert.is(show(new Float64Array([1, 2])), 'Float64Array [1, 2]')
  assert.is(show(new Map([['a', new Set([1])]])), 'Map { "a": Set {1} }')
  assert.is(show(Array(100).fill(0)), '[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, … 100 in all]')
  assert.is(show(new RangeError('far')), 'RangeError: far')
  assert.is(show(Object.create(null)), '{}')
  assert.is(show('long'.repeat(100), 10), '"longlong…')
  assert.is(show(Symbol('s')), 'Symbol(s)')
})

values.run()

const experiment = suite('plain and preemptible runs')

const small = {
  queens: '6', product: '5', mandelbrot: '9, 5, 50', collatz: '30', fib: '9', async: '9, 50',
  json: 'JSON.stringify([{ a: "b", c: [1, -2.5e3] }, [[7]]])'
}

for (const { id, title, text, args, isEndless } of ready.filter(({ isEndless }) => !isEndless)) {
  experiment(`${title} returns the same result in both versions`, async () => {
    assert.type(args, 'string')
    assert.not(isEndless)
    // Timers fire immediately.
    const { setTimeout } = globalThis
    globalThis.setTimeout = fn => queueMicrotask(fn)
    try {
      const it = read(text)
      const plain = await runPlain(it.fn, argumentsOf(it, small[id]))
      assert.is(plain.state, 'done', explain(plain.error))
      for (const budgeted of [true, false]) {
        const { work, left } = rewrite(it, { budgeted })
        assert.equal(left, [])
        const host = virtualHost({ read: 0.01 })
        const run = runPreempted(work, argumentsOf(it, small[id]), { scheduler: new Scheduler({ host }) })
        await host.drain()
        const { state, result, cost, elapsed } = await run
        assert.is(state, 'done')
        assert.ok(same(result, plain.result), show(result))
        assert.ok(cost > 0 && cost <= elapsed, `${cost} of ${elapsed}`)
      }
    } finally {
      globalThis.setTimeout = setTimeout
    }
  })
}

experiment('an endless run ends when its signal aborts', async () => {
  const { text } = ready.find(({ isEndless }) => isEndless)
  const host = virtualHost({ read: 0.01 })
  const controller = new AbortController()
  const { work } = rewrite(read(text))
  const run = runPreempted(work, [], { scheduler: new Scheduler({ host }), signal: controller.signal })
  host.run({ until: 50 })
  controller.abort()
  await host.drain()
  const { state, error } = await run
  assert.is(state, 'cancelled')
  assert.is(error.name, 'AbortError')
})

experiment('errors and misses are part of the outcome', async () => {
  const fail = () => { throw new RangeError('far') }
  const plain = await runPlain(fail, [])
  assert.equal([plain.state, plain.error.message], ['failed', 'far'])
  const late = await runPlain(async () => fail(), [])
  assert.equal([late.state, late.error.message, late.cost], ['failed', 'far', undefined])

  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const outcome = async (work, options) => {
    const run = runPreempted(work, [], { scheduler, ...options })
    await host.drain()
    return run
  }
  const failed = await outcome(function* () { fail() })
  assert.equal([failed.state, failed.error.message], ['failed', 'far'])
  const ten = function* () {
    host.advance(10)
    yield
  }
  assert.is((await outcome(ten, { deadline: 15 })).lateness, -5)
  assert.is((await outcome(ten, { deadline: 8 })).lateness, 2)
  assert.is((await outcome(ten)).lateness, undefined)
  assert.is((await outcome(ten)).cost, 10)
})

experiment('the time of a plain run lasts until it returns or its promise settles', async () => {
  let time = 0
  const now = () => time
  const returned = await runPlain(n => { time += n }, [7], { now })
  assert.equal(returned, { state: 'done', result: undefined, elapsed: 7, cost: 7 })
  const waiting = runPlain(async () => 'kept', [], { now })
  time += 3
  assert.equal(await waiting, { state: 'done', result: 'kept', elapsed: 3 })
})

experiment('a plain run with a pending promise ends when its signal aborts', async () => {
  const controller = new AbortController()
  const run = runPlain(() => new Promise(() => {}), [], { signal: controller.signal })
  controller.abort()
  assert.is((await run).state, 'cancelled')
})

experiment('Frames measures the frame rate and the longest gap of a watched interval', () => {
  const frames = new Frames()
  for (let time = 0; time <= 1000; time += 20) frames.add(time)
  assert.is(frames.rate(1000), 50)
  frames.watch(1005)
  for (const time of [1020, 1120, 1140]) frames.add(time)
  assert.equal(frames.unwatch(), { longest: 100, rate: 3 / 135 * 1000 })
  frames.add(3000)
  frames.watch(3001)
  frames.add(3017)
  assert.is(frames.unwatch().longest, 17)
  for (let time = 4000; time < 9000; time++) frames.add(time)
  assert.ok(frames.times.length < 2000)
})

experiment.run()
