import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Latest } from '../../../addons/shared.mjs'

const latest = suite('Latest')

/** Values that structured clone keeps, and that JSON would lose or change. */
const values = [
  0, -0, 1.5, NaN, Infinity, -Infinity, undefined, null, true, '', 'text', '\u6587\u{1F600}', 2n ** 70n,
  [], {}, [1, undefined, [2]], { a: { b: [null] }, c: undefined }, new Date(5), /a+/gi,
  new Map([[{ k: 1 }, NaN]]), new Set(['x', -0]),
  new Uint8Array([1, 2, 3]), new Float64Array([1.5, -0]), new Uint8Array([1, 2, 3, 4]).buffer,
  { mixed: [new Uint8Array(0), new Int32Array([-1]), 'x'] },
  { $: 1 }, { $: ['undefined'] }, { deep: { $: 'x', other: new Uint16Array([7]) } },
  JSON.parse('{"__proto__": {"x": 1}, "y": 2}')
]

latest('within a thread, read returns the value that was written last, uncopied', () => {
  const first = {}
  const slot = new Latest(first)
  assert.is(slot.read(), first)
  assert.is(slot.buffer, undefined)
  for (const value of values) {
    slot.write(value)
    assert.ok(Object.is(slot.read(), value))
    assert.ok(Object.is(slot.read(), value))
  }
  assert.is(new Latest().read(), undefined)
})

latest('shared, the peer reads a copy by structured clone', () => {
  const here = new Latest('first', { shared: true })
  assert.instance(here.buffer, SharedArrayBuffer)
  const there = Latest.from(here.buffer)
  assert.is(there.buffer, here.buffer)
  assert.is(there.read(), 'first')
  for (const value of values) {
    here.write(value)
    const read = there.read()
    assert.equal(read, structuredClone(value))
    assert.is(Object.is(read, -0), Object.is(value, -0))
    if (typeof value === 'object' && value !== null) assert.is.not(read, there.read())
  }
})

latest('a peer joins by `from`, the option `buffer`, or the buffer as first argument', () => {
  const { buffer } = new Latest(7, { shared: true })
  assert.is(new Latest(undefined, { buffer }).read(), 7)
  assert.is(new Latest(undefined, { shared: true, buffer }).read(), 7)
  assert.is(new Latest(buffer, { shared: true }).read(), 7)
  // Without `shared`, a buffer is a value like any other.
  assert.is(new Latest(buffer).read(), buffer)
})

latest('a short value keeps no bytes of a longer value', () => {
  const slot = new Latest('x'.repeat(500), { shared: true })
  for (let i = 0; i < 9; i++) slot.write('short')
  assert.is(slot.read(), 'short')
  const bytes = new Uint8Array([1, 2, 3, 4, 5, 6]).subarray(2, 4)
  slot.write(bytes)
  assert.equal(slot.read(), new Uint8Array([3, 4]))
})

latest('a read in the middle of a write returns the complete previous value', () => {
  const here = new Latest({ text: 'before' }, { shared: true })
  const there = Latest.from(here.buffer)
  const seen = []
  const value = { get text() { return seen.push(there.read().text) && 'after' } }
  here.write(value)
  assert.ok(seen.length > 0)
  assert.equal([...new Set(seen)], ['before'])
  assert.is(there.read().text, 'after')
})

for (const shared of [false, true]) {
  latest(`${shared ? 'shared' : 'within a thread'}: receive returns an unread value or the next`, async () => {
    const writer = new Latest(0, { shared })
    const reader = shared ? Latest.from(writer.buffer) : writer
    writer.write(1)
    writer.write(2)
    assert.is(await reader.receive(), 2)
    const next = reader.receive().then(value => value)
    writer.write(3)
    assert.is(await next, 3)
    writer.write(4)
    assert.is(reader.read(), 4)
    const last = reader.receive().then(value => value)
    writer.write(undefined)
    assert.is(await last, undefined)
  })
}

// Simpson's order of steps, on the control words.
latest('in all interleavings, a read and a write never touch the same slot', () => {
  const [NEWEST, READING, SLOT] = [3, 4, 5]
  function* write(words, log) {
    const pair = 1 - words[READING]
    yield
    const slot = 1 - words[SLOT + pair]
    yield
    log.writes = pair * 2 + slot
    yield
    log.writes = null
    words[SLOT + pair] = slot
    yield
    words[NEWEST] = pair
  }
  function* read(words, log) {
    const pair = words[NEWEST]
    yield
    words[READING] = pair
    yield
    const slot = words[SLOT + pair]
    yield
    log.reads = pair * 2 + slot
    yield
    log.reads = null
  }
  // The model takes the steps of the real class if the control words are equal after each operation.
  const slot = new Latest(0, { shared: true })
  const other = Latest.from(slot.buffer)
  const real = new Int32Array(slot.buffer)
  const model = Int32Array.from(real)
  for (const step of 'wwrwrrwwwrrwr') {
    if (step === 'w') slot.write(1)
    else other.read()
    for (const end of (step === 'w' ? write : read)(model, {}));
    assert.equal(model.slice(NEWEST, SLOT + 2), real.slice(NEWEST, SLOT + 2))
  }
  const steps = 10
  for (let order = 0; order < 4 ** steps; order += 1) {
    const words = new Int32Array(8)
    const log = { writes: null, reads: null }
    const sides = [write(words, log), read(words, log)]
    for (let i = 0; i < 2 * steps; i++) {
      const side = (order >> i) & 1
      if (sides[side].next().done) sides[side] = (side === 0 ? write : read)(words, log)
      if (log.writes !== null && log.writes === log.reads) {
        assert.unreachable(`order ${order} meets in slot ${log.reads}`)
      }
    }
  }
})

/** Calls `something` within `act`, before a step of that number. @returns whether `act` has that step */
function within(act, step, something) {
  const { load, store } = Atomics
  let steps = 0
  let isInside = false
  const stepping = original => (...values) => {
    if (!isInside && steps++ === step) {
      isInside = true
      something()
      isInside = false
    }
    return original.apply(Atomics, values)
  }
  Object.assign(Atomics, { load: stepping(load), store: stepping(store) })
  try {
    act()
  } finally {
    Object.assign(Atomics, { load, store })
  }
  return steps > step
}

latest('with any operation between the steps of a write or a read, values never go back', () => {
  for (let before = 0; before < 6; before++) {
    for (let step = 0; step < 6; step++) {
      for (let times = 1; times < 4; times++) {
        for (const side of ['write', 'read']) {
          const slot = new Latest(0, { shared: true })
          const other = Latest.from(slot.buffer)
          const seen = []
          let written = 0
          const write = () => slot.write(++written)
          const read = () => seen.push(other.read())
          for (let i = 0; i < before; i++) {
            write()
            if (i % 2 === 0) read()
          }
          const [act, something] = side === 'write' ? [write, read] : [read, write]
          within(act, step, () => { for (let i = 0; i < times; i++) something() })
          read()
          read()
          const sorted = [...seen].sort((a, b) => a - b)
          // An interrupted read returns a value that was the newest at some time during the read.
          assert.equal(seen, sorted, `${side}, ${before} before, at step ${step}, ${times} times`)
          assert.is(seen.at(-1), written)
        }
      }
    }
  }
})

latest('a value that is too large or cannot be cloned throws, and the previous one stays', () => {
  const slot = new Latest('kept', { shared: true, bytes: 64 })
  const cycle = []
  cycle.push(cycle)
  for (const [value, error, text] of [
    ['x'.repeat(100), RangeError, 'value must take at most 64 bytes (see options.bytes), got 111'],
    [new Uint8Array(60), RangeError, 'at most 64 bytes'],
    [() => {}, DOMException, 'could not be cloned'],
    [{ inside: Symbol('s') }, DOMException, 'Symbol(s) could not be cloned'],
    [new WeakMap(), DOMException, 'could not be cloned'],
    [cycle, DOMException, 'could not be cloned']
  ]) {
    assert.throws(() => slot.write(value), caught => caught instanceof error && caught.message.includes(text))
    assert.is(slot.read(), 'kept')
  }
  slot.write(new Uint8Array(30))
  assert.is(slot.read().length, 30)
})

latest('invalid arguments of Latest throw at the call', () => {
  assert.throws(() => new Latest(0, null), /options must be an object, got null/)
  assert.throws(() => new Latest(0, { shared: 1 }), /shared must be a boolean, got 1/)
  assert.throws(() => new Latest(0, { shared: true, bytes: 7 }), /bytes must be an integer from 8 .* got 7/)
  assert.throws(() => new Latest(0, { shared: true, bytes: '9' }), /bytes must be an integer from 8 to 268435456, got "9"/)
  assert.throws(() => new Latest(0, { buffer: new ArrayBuffer(64) }), /buffer must be a SharedArrayBuffer/)
  assert.throws(() => Latest.from(new SharedArrayBuffer(64)), /buffer must be the buffer of a shared Latest/)
  assert.throws(() => Latest.from(new SharedArrayBuffer(4)), /buffer must be the buffer of a shared Latest/)
  assert.throws(() => Latest.from({}), /buffer must be a SharedArrayBuffer, got an object/)
})

latest('`shared` without shared memory names the headers that a page needs', () => {
  const original = globalThis.SharedArrayBuffer
  const isolation = /^shared must be false here: .* cross-origin isolated .*Opener-Policy: same-origin.*Embedder-Policy/
  for (const [name, value, told] of /** @type {const} */ ([
    ['SharedArrayBuffer', undefined, /^shared must be false here: this engine has no SharedArrayBuffer$/],
    ['crossOriginIsolated', false, isolation]
  ])) {
    globalThis[name] = value
    try {
      assert.throws(() => new Latest(0, { shared: true }), error => error instanceof TypeError &&
        told.test(error.message))
      assert.is(new Latest(3).read(), 3)
    } finally {
      globalThis.SharedArrayBuffer = original
      delete globalThis.crossOriginIsolated
    }
  }
})

latest('between threads, values are complete and never go back in time', async () => {
  const slot = new Latest({ number: 0, text: 'a'.repeat(100) }, { shared: true })
  const stop = new SharedArrayBuffer(4)
  const worker = new Worker(new URL('../../fixtures/channels/latest-writer.mjs', import.meta.url), {
    workerData: { buffer: slot.buffer, stop }
  })
  const written = new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject))
  let last = 0
  let seen = 0
  for (let reads = 0; reads < 200_000 || seen < 10; reads++) {
    const { number, text } = slot.read()
    if (number < last) assert.unreachable(`${number} came after ${last}`)
    if (number > last) seen++
    last = number
    if (text.length !== 100 + number % 700 || text !== 'abcdefghij'[number % 10].repeat(text.length)) {
      assert.unreachable(`value ${number} is torn: ${text}`)
    }
  }
  Atomics.store(new Int32Array(stop), 0, 1)
  const total = await written
  assert.is(slot.read().number, total)
})

latest.run()
