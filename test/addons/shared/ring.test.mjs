import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { rt } from '../../../rt.mjs'
import { choice } from '../../../sync.mjs'
import { Ring } from '../../../addons/shared.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const ring = suite('Ring')

for (const shared of [false, true]) {
  const kind = shared ? 'shared' : 'within a thread'

  ring(`${kind}: values are read once, in order`, () => {
    const writer = new Ring(3, { shared })
    const reader = shared ? Ring.from(writer.buffer) : writer
    assert.is(reader.read(), undefined)
    for (let i = 0; i < 20; i++) {
      assert.is(writer.write(i), true)
      assert.is(writer.write(`${i}`), true)
      assert.is(reader.length, 2)
      assert.is(reader.read(), i)
      assert.is(reader.read(), `${i}`)
      assert.is(reader.read(), undefined)
    }
  })

  ring(`${kind}: a full ring rejects a value, and keeps its values`, () => {
    for (const size of [1, 2, 5]) {
      const writer = new Ring(size, { shared })
      const reader = shared ? Ring.from(writer.buffer) : writer
      for (let turn = 0; turn < 7; turn++) {
        for (let i = 0; i < size; i++) assert.is(writer.write([turn, i]), true)
        assert.is(writer.write('too much'), false)
        assert.is(writer.length, size)
        assert.is(reader.size, size)
        for (let i = 0; i < size; i++) assert.equal(reader.read(), [turn, i])
        assert.is(reader.length, 0)
      }
    }
  })

  ring(`${kind}: random writes and reads behave like a queue`, () => forSeeds(200, random => {
    const size = random.integer(1, 9)
    const writer = new Ring(size, { shared, bytes: 64 })
    const reader = shared ? Ring.from(writer.buffer) : writer
    const queue = []
    for (let step = 0; step < 100; step++) {
      if (random.chance(0.5)) {
        const value = random.pick([step, `${step}`, [step], { step }, null, false, 0.1 * step])
        const fits = queue.length < size
        assert.is(writer.write(value), fits)
        if (fits) queue.push(value)
      } else assert.equal(reader.read(), queue.shift())
      assert.is(writer.length, queue.length)
    }
  }))

  ring(`${kind}: each value goes to one waiting receiver`, async () => {
    const writer = new Ring(3, { shared })
    const reader = shared ? Ring.from(writer.buffer) : writer
    writer.write('first')
    const got = [1, 2, 3].map(() => reader.receive().then(value => value))
    const { index } = await rt.spawn(() => choice([{ wait: reader.receive() }, { timeout: 1 }]))
    assert.is(index, 1)
    writer.write('second')
    writer.write('third')
    assert.equal(await Promise.all(got), ['first', 'second', 'third'])
    assert.is(reader.length, 0)
  })

  ring(`${kind}: undefined is rejected as a value`, () => {
    const one = new Ring(1, { shared })
    assert.throws(() => one.write(undefined), /^value must not be undefined/)
    assert.is(one.length, 0)
  })
}

ring('within a thread, values are not copied, and released after the read', () => {
  const value = {}
  const one = new Ring(1)
  one.write(value)
  assert.is(one.read(), value)
  assert.is(one.buffer, undefined)
})

ring('shared, a value that is too large or cannot be cloned throws, and takes no place', () => {
  const one = new Ring(1, { shared: true, bytes: 16 })
  assert.throws(() => one.write('x'.repeat(20)), error => error instanceof RangeError)
  assert.throws(() => one.write(() => {}), error => error.name === 'DataCloneError')
  assert.is(one.length, 0)
  assert.is(one.write(1.25), true)
  assert.is(one.read(), 1.25)
})

ring('invalid arguments of Ring throw at the call', () => {
  for (const n of ['3', undefined, null, [3]]) assert.throws(() => new Ring(n), /n must be an integer from 1 to 268435456, got /)
  for (const n of [0, -1, 1.5, NaN, Infinity]) {
    assert.throws(() => new Ring(n), error => error instanceof RangeError && /^n must be/.test(error.message))
  }
  assert.throws(() => new Ring(2, { shared: 'yes' }), /shared must be a boolean, got "yes"/)
  assert.throws(() => Ring.from(new SharedArrayBuffer(64)), /buffer must be the buffer of a shared Ring/)
  assert.throws(() => Ring.from(new ArrayBuffer(64)), /buffer must be|n must be/)
})

ring('between threads, no value is lost, doubled or out of order', async () => {
  const count = 30_000
  const reader = new Ring(37, { shared: true, bytes: 64 })
  const worker = new Worker(new URL('../../fixtures/channels/ring-writer.mjs', import.meta.url), {
    workerData: { buffer: reader.buffer, count }
  })
  const ended = new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
  for (let i = 0; i < count; i++) {
    let value = reader.read()
    for (let tries = 0; value === undefined; tries++) {
      // The other thread may need the core of this thread.
      if (tries % 1000 === 999) await new Promise(resolve => setTimeout(resolve))
      value = reader.read()
    }
    if (i % 3 === 2 && value instanceof Uint16Array) value = value[0]
    const expected = i % 3 === 1 ? `text ${i}` : i
    if (value !== expected) assert.unreachable(`${value} came in the place of ${expected}`)
  }
  assert.is(reader.read(), undefined)
  assert.is(await ended, 0)
})

ring.run()
