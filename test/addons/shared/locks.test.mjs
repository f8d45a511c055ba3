/** Tests SharedMutex and SharedSemaphore within one thread, like Mutex and Semaphore, and between threads. */
import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { rt } from '../../../rt.mjs'
import { choice } from '../../../sync.mjs'
import { Ring, SharedMutex, SharedSemaphore } from '../../../addons/shared.mjs'
import { runLockCases } from '../../support/lock-cases.mjs'
import { forSeeds } from '../../support/seeded.mjs'

runLockCases({ Mutex: SharedMutex, Semaphore: SharedSemaphore }, 'shared: ')

// ------------------------------------------------------------------------------------------- between threads

const threads = suite('locks between threads')

/** A thread that uses the locks. `said` is a promise of its next message. */
function thread(given) {
  const worker = new Worker(new URL('../../fixtures/channels/lock-worker.mjs', import.meta.url), { workerData: given })
  const ended = new Promise(resolve => worker.once('exit', resolve))
  const said = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return { worker, said, ended }
}

const notesOf = () => new Int32Array(new SharedArrayBuffer(16))

threads('a shared mutex admits one job at a time, a semaphore as many as it has permits', async () => {
  const [mutex, semaphore] = [new SharedMutex(), new SharedSemaphore(1)]
  const given = { mutex: mutex.buffer, semaphore: semaphore.buffer, notes: notesOf(), rounds: 200 }
  const all = [1, 2, 3].map(() => thread(given))
  assert.equal(await Promise.all(all.map(({ said }) => said)), ['done', 'done', 'done'])
  assert.equal([...given.notes], [0, 0, 600, 0])
  assert.equal([mutex.locked, semaphore.available], [false, 1])
  await Promise.all(all.map(({ ended }) => ended))
})

threads('a mutex whose owner\'s thread ends is abandoned for the next owner only', async () => {
  const mutex = new SharedMutex()
  const given = { mutex: mutex.buffer, notes: notesOf(), stays: true }
  const { worker, said } = thread(given)
  assert.is(await said, 'inside')
  assert.equal([mutex.locked, mutex.owner], [true, null])
  assert.throws(() => mutex.unlock(), /^mutex is held by another thread, not by code outside jobs: only the owner can unlock it$/)
  const inTime = await rt.spawn(() => choice([{ wait: mutex.lock() }, { timeout: 1 }]))
  assert.is(inTime.index, 1)
  const found = rt.spawn(function* () {
    yield mutex.lock()
    const { abandoned } = mutex
    mutex.unlock()
    yield mutex.lock()
    return [abandoned, mutex.abandoned]
  })
  await worker.terminate()
  assert.equal(await found, [true, false])
})

threads('permits of an ended thread come back, and are abandoned until they are released', async () => {
  const semaphore = new SharedSemaphore(2)
  await semaphore.acquire()
  const { worker, said } = thread({ semaphore: semaphore.buffer, notes: notesOf(), stays: true })
  assert.is(await said, 'inside')
  assert.equal([semaphore.available, semaphore.abandoned], [0, false])
  const next = semaphore.acquire().then(() => semaphore.abandoned)
  await worker.terminate()
  assert.is(await next, true)
  semaphore.release()
  semaphore.release()
  assert.equal([semaphore.available, semaphore.abandoned], [2, false])
})

threads('another thread can release a SharedSemaphore, up to 1024 permits', async () => {
  const here = new SharedSemaphore(1)
  const there = SharedSemaphore.from(here.buffer)
  await here.acquire()
  there.release()
  assert.is(here.available, 1)
  for (let i = 1; i < 1024; i++) here.release()
  assert.is(there.available, 1024)
  assert.throws(() => here.release(), /^permits must be at most 1024$/)
  assert.is(new SharedSemaphore(2000).available, 2000)
})

threads('a waiting thread precedes a later one, even if another thread releases', async () => {
  const here = new SharedSemaphore(1)
  const there = SharedSemaphore.from(here.buffer)
  await here.acquire()
  const order = []
  const first = here.acquire().then(() => order.push('first'))
  there.release()
  const second = here.acquire().then(() => order.push('second'))
  there.release()
  await Promise.all([first, second])
  assert.equal(order, ['first', 'second'])
})

threads('two threads can add a permit at the same time', async () => {
  const here = new SharedSemaphore(0)
  const there = SharedSemaphore.from(here.buffer)
  const { compareExchange } = Atomics
  Atomics.compareExchange = (...given) => {
    Atomics.compareExchange = compareExchange
    there.release()
    return compareExchange(...given)
  }
  here.release()
  assert.is(here.available, 2)
})

threads('threads that end at any time delay no other thread', async () => {
  const [mutex, semaphore] = [new SharedMutex(), new SharedSemaphore(1)]
  await forSeeds(20, async random => {
    const given = { mutex: mutex.buffer, semaphore: semaphore.buffer, notes: notesOf(), rounds: 1e9 }
    const victims = [1, 2].map(() => thread(given))
    const survivor = thread({ ...given, rounds: 300 })
    for (const { worker } of victims) {
      const enough = given.notes[2] + random.integer(1, 300)
      while (given.notes[2] < enough) await new Promise(setImmediate)
      await worker.terminate()
    }
    assert.is(await survivor.said, 'done')
    assert.is(given.notes[1], 0)
    await mutex.use(() => {})
    await semaphore.use(() => {})
    assert.is(semaphore.available, 1)
  })
})

threads('a mutex that a job leaves locked is abandoned in all threads', async () => {
  const [here, there] = [1, 2].map(() => new SharedMutex())
  const other = SharedMutex.from(here.buffer)
  await rt.spawn(function* () { yield here.lock() })
  assert.is(other.abandoned, true)
  await other.lock()
  assert.equal([other.abandoned, here.locked, there.locked], [true, true, false])
})

threads('the buffers of other classes are rejected', () => {
  const { buffer } = new Ring(1, { shared: true })
  assert.throws(() => SharedMutex.from(buffer), /^buffer must be the buffer of a SharedMutex, got a buffer of \d+ bytes$/)
  assert.throws(() => new SharedSemaphore(1, { buffer }), /^buffer must be the buffer of a SharedSemaphore, got/)
  assert.throws(() => new SharedMutex({ buffer: 1 }), /^buffer must be a SharedArrayBuffer, got 1$/)
})

threads.run()
