import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Region } from '../../examples/region.mjs'
import { world } from '../support/world.mjs'

const region = suite('examples: region')

/** Runs `work` in the scope of `region` to completion, without a scheduler. */
function within(region, work) {
  const scope = region.enter(function* () { return work() })
  return scope.next().value
}

region('arrays of one scope are separate, aligned and zeroed', () => {
  const memory = new Region(64)
  for (let round = 0; round < 3; round++) {
    within(memory, () => {
      const bytes = memory.array(Uint8Array, 3)
      const doubles = memory.array(Float64Array, 2)
      const big = memory.array(BigInt64Array, 1)
      assert.equal([...bytes, ...doubles, ...big], [0, 0, 0, 0, 0, 0n])
      assert.equal([bytes, doubles, big].map(({ byteOffset }) => byteOffset), [0, 8, 24])
      assert.is(memory.used, 32)
      bytes.fill(255)
      doubles.fill(-1)
      big.fill(-1n)
    })
    assert.is(memory.used, 0)
  }
})

region('a scope that asks for the same arrays as the last one gets the same objects', () => {
  const memory = new Region(1024)
  const ask = (...lengths) => within(memory, () => lengths.map(length => memory.array(Int32Array, length)))
  const first = ask(4, 4, 8)
  assert.equal(ask(4, 4, 8).map((array, at) => array === first[at]), [true, true, true])
  const other = ask(4, 6, 8)
  assert.equal(other.map((array, at) => array === first[at]), [true, false, false])
  assert.equal(other.map(({ byteOffset, length }) => [byteOffset, length]), [[0, 4], [16, 6], [40, 8]])
  assert.ok(within(memory, () => memory.array(Float32Array, 4)) instanceof Float32Array)
})

region('the memory is freed when the last of several jobs has left', async () => {
  const { host, scheduler, log } = world()
  const memory = new Region(64)
  const job = (name, points) => scheduler.spawn(memory.enter(function* () {
    memory.array(Uint8Array, 8)
    for (let i = 0; i < points; i++) {
      host.advance(1)
      yield
    }
    log.push(`${name} ends with ${memory.used}`)
  }), { name })
  job('short', 1)
  job('long', 3)
  await host.drain()
  assert.equal(log, ['short ends with 16', 'long ends with 16'])
  assert.is(memory.used, 0)
})

region('a scope ends with an error and with a cancellation like with a return', async () => {
  const { host, scheduler } = world()
  const memory = new Region(64)
  const failing = scheduler.spawn(memory.enter(function* () {
    memory.array(Uint8Array, 8)
    throw new Error('lost')
  }))
  const endless = scheduler.spawn(memory.enter(function* () {
    memory.array(Uint8Array, 8)
    for (;;) {
      host.advance(1)
      yield
    }
  }))
  scheduler.spawn(function* () { endless.cancel() })
  const ends = Promise.all([failing.catch(({ message }) => message), endless.catch(({ name }) => name)])
  await host.drain()
  assert.equal(await ends, ['lost', 'AbortError'])
  assert.is(memory.used, 0)
})

region('an inner region is freed per scope and ends with the outer scope', () => {
  const outer = new Region(128)
  let inner
  within(outer, () => {
    const kept = outer.array(Float64Array, 2).fill(7)
    inner = new Region(32, { within: outer })
    for (let round = 0; round < 10; round++) within(inner, () => inner.array(Float64Array, 4).fill(round))
    assert.equal([...kept], [7, 7])
    assert.is(outer.used, 48)
    const after = outer.array(Uint8Array, 1)
    assert.is(after.byteOffset, 48)
  })
  assert.throws(() => within(inner, () => {}), error => error instanceof ReferenceError)
})

region('a request that does not fit or has no scope throws and takes no memory', () => {
  const memory = new Region(10)
  assert.is(memory.size, 16)
  assert.throws(() => memory.array(Uint8Array, 1), error => error instanceof ReferenceError)
  within(memory, () => {
    assert.throws(() => memory.array(Uint8Array, 17), /the region has 16 of 16 bytes left, 24 were asked for/)
    assert.throws(() => new Region(17, { within: memory }), /16 of 16 bytes left/)
    assert.throws(() => memory.array(Uint8Array, -1), /length must be an integer >= 0, got -1/)
    assert.throws(() => memory.array(/** @type {any} */ (Array), 1), /type must be the constructor of a typed array/)
    assert.is(memory.used, 0)
    memory.array(Uint8Array, 16)
  })
  for (const bytes of [0, -1, NaN, 1.5, '8', undefined]) {
    assert.throws(() => new Region(/** @type {any} */ (bytes)), error => error instanceof RangeError)
  }
  assert.throws(() => new Region(8, { within: /** @type {any} */ ({}) }), /within must be a Region/)
  assert.throws(() => memory.enter(/** @type {any} */ (1)), /work must be a generator function/)
})

region.run()
