/** Mutex and Semaphore: who runs while somebody waits, who gets what next, and what misuse is told. */
import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, edf, rt } from '../rt.mjs'
import { after, sleep, timeout } from '../alarms.mjs'
import {
  Mutex as AnyMutex, OwnershipError, Ring, Semaphore as AnySemaphore, choice, nonPreemptive, par, race
} from '../sync.mjs'
import { forSeeds } from './support/seeded.mjs'
import { assertTrace } from './support/trace.mjs'
import { exactWorld as world } from './support/world.mjs'

/** Steps of work with a point before each: what happens in a step is seen before the next one. */
function* work(host, ms) {
  for (; ms > 0; ms--) {
    yield
    host.advance(1)
  }
}

/** What is true of locks within a thread is true, within one, of those between threads. */
let shared = false
class Mutex extends AnyMutex {
  constructor(options) { super({ shared, ...options }) }
}
class Semaphore extends AnySemaphore {
  constructor(permits, options) { super(permits, { shared, ...options }) }
}
/** @param {string} title */
function bothKinds(title) {
  const tests = suite(title)
  const register = (name, test) => [false, true].forEach(kind => tests(`${kind ? 'shared: ' : ''}${name}`, () => {
    shared = kind
    return test()
  }))
  return Object.assign(register, { run: tests.run })
}

const rejection = promise => promise.then(() => assert.unreachable('it was fulfilled'), error => error)

// ---------------------------------------------------------------------------------------------- inheritance

const inheritance = bothKinds('mutexes: priority inheritance')

inheritance('Mars Pathfinder: the high job waits for one critical section, not for the middle one', () => {
  const { host, scheduler, trace } = world()
  const bus = new Mutex({ name: 'bus' })
  scheduler.spawn(function* () {
    yield bus.use(() => work(host, 3))
    yield* work(host, 1)
  }, { name: 'weather', priority: 1 })
  const manager = scheduler.spawn(function* () {
    yield* work(host, 1)
    yield bus.use(() => work(host, 1))
  }, { name: 'manager', priority: 3, release: 1, deadline: 5 })
  scheduler.spawn(() => work(host, 5), { name: 'radio', priority: 2, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release weather
    0 start weather
    1 release manager
    1 preempt weather by=manager
    1 start manager
    2 release radio
    2 block manager on=bus
    2 resume weather
    4 wake manager
    4 preempt weather by=manager
    4 resume manager
    5 finish manager
    5 start radio
    10 finish radio
    10 resume weather
    11 finish weather`)
  assert.is(manager.missed, false)
})

inheritance('is transitive, and undone at each release', () => {
  const { host, scheduler, trace } = world()
  const [inner, outer] = [new Mutex({ name: 'inner' }), new Mutex({ name: 'outer' })]
  scheduler.spawn(function* () {
    yield inner.use(() => work(host, 6))
    yield* work(host, 1)
  }, { name: 'c', priority: 1 })
  scheduler.spawn(function* () {
    yield outer.use(function* () {
      yield* work(host, 1)
      yield inner.use(() => work(host, 1))
    })
    yield* work(host, 1)
  }, { name: 'b', priority: 2, release: 1 })
  scheduler.spawn(() => outer.use(() => work(host, 1)), { name: 'a', priority: 4, release: 3 })
  scheduler.spawn(() => work(host, 2), { name: 'between', priority: 3, release: 4 })
  host.run()
  assertTrace(trace, `
    0 release c
    0 start c
    1 release b
    1 preempt c by=b
    1 start b
    2 block b on=inner
    2 resume c
    3 release a
    3 preempt c by=a
    3 start a
    3 block a on=outer
    3 resume c
    4 release between
    7 wake b
    7 preempt c by=b
    7 resume b
    8 wake a
    8 preempt b by=a
    8 resume a
    9 finish a
    9 start between
    11 finish between
    11 resume b
    12 finish b
    12 resume c
    13 finish c`)
})

inheritance('under edf the owner runs by the deadline of its waiter; its own misses stay its own', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  const mutex = new Mutex({ name: 'm' })
  const owner = scheduler.spawn(() => mutex.use(() => work(host, 4)), { name: 'owner', deadline: 50 })
  scheduler.spawn(() => mutex.use(() => work(host, 1)), { name: 'urgent', deadline: 5, release: 1 })
  scheduler.spawn(() => work(host, 3), { name: 'between', deadline: 20, release: 2 })
  host.run()
  assert.equal([owner.deadline, owner.missed], [50, false])
  assertTrace(trace, `
    0 release owner
    0 start owner
    1 release urgent
    1 preempt owner by=urgent
    1 start urgent
    1 block urgent on=m
    1 resume owner
    2 release between
    4 wake urgent
    4 finish owner
    4 resume urgent
    5 finish urgent
    5 start between
    8 finish between`)
})

inheritance('ends with the waiter: one that is cancelled takes back what it lent', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  scheduler.spawn(function* () {
    yield mutex.use(() => work(host, 6))
    log.push(['low', host.time])
  }, { priority: 1 })
  const high = scheduler.spawn(() => mutex.lock(), { priority: 3, release: 1 })
  high.catch(() => {})
  scheduler.spawn(function* () {
    yield* work(host, 2)
    log.push(['middle', host.time])
  }, { priority: 2, release: 2 })
  after(3, () => high.cancel(), { scheduler })
  host.run()
  assert.equal(log, [['middle', 5], ['low', 8]])
})

inheritance('a lock taken outside jobs inherits nothing; those who wait outside lend nothing', async () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  const key = await mutex.lock()
  scheduler.spawn(() => mutex.use(() => log.push('job')), { priority: 9 })
  const outsider = mutex.lock().then(key => {
    log.push('outsider')
    mutex.unlock(key)
  })
  await host.drain()
  assert.equal([log, mutex.locked, mutex.owner], [[], true, null])
  mutex.unlock(key)
  await host.drain()
  await outsider
  assert.equal([log, mutex.locked], [['job', 'outsider'], false])
})

inheritance.run()

// ------------------------------------------------------------------------------------------------ ownership

const ownership = bothKinds('mutexes: ownership')

ownership('one job at a time holds it; waiters get it by eligibility, equals in order of arrival', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  scheduler.spawn(() => mutex.use(() => work(host, 9)), { priority: 9 })
  for (const [i, priority] of [1, 3, 2, 3].entries()) {
    scheduler.spawn(() => mutex.use(() => log.push(i)), { priority, release: i + 1 })
  }
  host.run()
  assert.equal(log, [1, 3, 2, 0])
})

ownership('unlocking by a stranger is an OwnershipError, and changes nothing', async () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex({ name: 'm' })
  const refused = (who, key) => {
    try {
      mutex.unlock(key)
      log.push(`${who} unlocked it`)
    } catch (error) {
      log.push(error instanceof OwnershipError ? error.message : error)
    }
  }
  refused('nobody')
  scheduler.spawn(function* () {
    yield mutex.lock()
    refused('with a false key', {})
    refused('with no key', null)
    yield sleep(2)
    mutex.unlock()
  }, { name: 'owner' })
  scheduler.spawn(() => refused('other'), { name: 'other', release: 1 })
  after(1, () => refused('a callback'), { scheduler })
  host.run()
  assert.equal(log, [
    'm is not locked', 'm is held by owner, not by owner', 'm is held by owner, not by owner',
    'm is held by owner, not by code outside jobs', 'm is held by owner, not by other'
  ])
  const key = await mutex.lock()
  log.length = 0
  refused('without the key')
  refused('with a false key', { ...key })
  assert.is(mutex.locked, true)
  mutex.unlock(key)
  refused('again', key)
  const refusal = 'm is held by whoever has its key, not by code outside jobs'
  assert.equal(log, [refusal, refusal, 'm is not locked'])
})

ownership('use unlocks however the section ends, and gives its result', async () => {
  const { host, scheduler } = world()
  const mutex = new Mutex()
  const seen = []
  const job = scheduler.spawn(function* () {
    seen.push(yield mutex.use(() => 1), yield* mutex.use(function* () { yield; return 2 }))
    seen.push(yield mutex.use(async () => 3), mutex.locked)
    for (const section of [() => { throw new Error('a') }, function* () { yield; throw new Error('b') }]) {
      try {
        yield mutex.use(section)
      } catch (error) {
        seen.push(error.message, mutex.locked)
      }
    }
    yield mutex.use(() => sleep(50))
  })
  job.catch(() => {})
  after(9, () => job.cancel(), { scheduler })
  await host.drain()
  assert.equal(seen, [1, 2, 3, false, 'a', false, 'b', false])
  assert.equal([job.state, mutex.locked], ['cancelled', false])
})

ownership('use that is cancelled while it waits for the lock does not unlock it', () => {
  const { host, scheduler } = world()
  const mutex = new Mutex()
  scheduler.spawn(() => mutex.use(() => sleep(9)), { name: 'owner' })
  const waiter = scheduler.spawn(() => mutex.use(() => {}))
  waiter.catch(() => {})
  host.run({ until: 1 })
  waiter.cancel()
  host.run({ until: 2 })
  assert.equal([mutex.owner.name, waiter.state], ['owner', 'cancelled'])
  host.run()
  assert.is(mutex.locked, false)
})

ownership('use that is cancelled after it was given the lock, waiting or not, lets go of it', () => {
  for (const waits of [true, false]) {
    const { host, scheduler, log } = world()
    const mutex = new Mutex()
    if (waits) scheduler.spawn(() => mutex.use(() => sleep(2)), { priority: 1 })
    const job = scheduler.spawn(function* () {
      if (!waits) host.advance(2)
      yield mutex.use(function* () {
        log.push('section began')
        yield
        log.push('not reached')
      })
    })
    job.catch(() => {})
    after(2, () => job.cancel(), { scheduler })
    host.run()
    assert.equal([job.state, mutex.locked], ['cancelled', false], `${waits}`)
    assert.is(log.includes('not reached'), false)
  }
})

ownership('an owner that ends without unlocking releases it, and the next one can tell', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  const take = function* () {
    yield mutex.lock()
    log.push(mutex.abandoned)
    mutex.unlock()
    log.push(mutex.abandoned)
  }
  scheduler.spawn(() => mutex.lock())
  host.run()
  assert.equal([mutex.locked, mutex.owner, mutex.abandoned], [false, null, true])
  scheduler.spawn(take)
  host.run()
  scheduler.spawn(function* () {
    yield mutex.lock()
    yield sleep(5)
    throw new Error('dies')
  }).catch(() => {})
  scheduler.spawn(take, { release: 1 })
  scheduler.spawn(take, { release: 2 })
  host.run()
  assert.equal(log, [true, false, true, false, false, false])
})

ownership('a waiter that times out, or chooses otherwise, leaves the queue', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  scheduler.spawn(() => mutex.use(() => sleep(9)))
  scheduler.spawn(function* () {
    log.push((yield choice([{ wait: mutex.lock() }, { timeout: 2 }])).index)
    try {
      yield timeout(2, mutex.use(() => log.push('not reached')))
    } catch (error) {
      log.push(error.name)
    }
  })
  host.run()
  assert.equal([log, mutex.locked], [[1, 'TimeoutError'], false])
})

ownership('a job that is cancelled between the grant and its section leaves the lock as it found it', async () => {
  for (const section of [() => { throw new Error('begun') }, function* () { throw new Error('begun') }]) {
    const { host, scheduler, log } = world()
    const [mutex, semaphore] = [new Mutex(), new Semaphore(1)]
    const dies = scheduler.spawn(function* () {
      yield mutex.lock()
      yield semaphore.acquire()
      yield sleep(5)
      semaphore.release()
    })
    const cancelled = [mutex, semaphore].map(lock => scheduler.spawn(() => lock.use(section)))
    scheduler.observe(({ type, job }) => { if (type === 'wake' && cancelled.includes(job)) job.cancel('enough') })
    scheduler.spawn(function* () {
      yield sleep(1)
      yield mutex.use(() => log.push(mutex.abandoned, host.time))
    })
    const outcomes = Promise.allSettled(cancelled)
    await host.drain()
    assert.equal((await outcomes).map(({ reason }) => reason), ['enough', 'enough'])
    assert.equal([dies.state, log, mutex.locked, semaphore.available], ['done', [true, 5], false, 1])
  }
})

ownership('cycles are found when they close, and named', async () => {
  const { host, scheduler } = world()
  const [a, b] = [new Mutex(), new Mutex()]
  const take = (first, second) => function* () {
    yield first.use(function* () {
      yield sleep(1)
      yield second.use(() => {})
    })
  }
  const left = scheduler.spawn(take(a, b), { name: 'left' })
  const right = rejection(scheduler.spawn(take(b, a), { name: 'right' }))
  const again = rejection(scheduler.spawn(() => a.use(() => a.lock()), { name: 'again', release: 9 }))
  await host.drain()
  assert.instance(await right, DeadlockError)
  assert.is((await right).message, 'deadlock: right waits for left waits for right')
  assert.equal([left.state, a.locked, b.locked], ['done', false, false])
  assert.is((await again).message, 'deadlock: again waits for again')
})

// A wait that has an alternative may end although the lock never comes.
const WAITS = {
  lock: mutex => mutex.lock(),
  use: mutex => mutex.use(() => {}),
  'a lock with a timeout': mutex => timeout(50, mutex.lock()),
  'use with a timeout': mutex => timeout(50, mutex.use(() => {})),
  'par of a lock': mutex => par(mutex.lock(), sleep(1)),
  'par of a job': mutex => par(() => mutex.use(() => {}), () => {})
}
const ALTERNATIVES = {
  choice: mutex => choice([{ wait: mutex.lock() }, { timeout: 20 }]),
  race: mutex => race(mutex.lock(), sleep(20))
}

for (const [first, waits] of Object.entries({ ...WAITS, ...ALTERNATIVES })) {
  ownership(`a cycle is told or not whoever closes it: ${first}, and any other wait`, async () => {
    for (const [second, others] of Object.entries({ ...WAITS, ...ALTERNATIVES })) {
      const { host, scheduler } = world()
      const [a, b] = [new Mutex(), new Mutex()]
      const holds = (mutex, ms, waitsFor, other) => scheduler.spawn(() => mutex.use(function* () {
        yield sleep(ms)
        yield waitsFor(other)
      }))
      const jobs = [holds(a, 1, waits, b), holds(b, 2, others, a)]
      const outcomes = Promise.allSettled(jobs)
      await host.drain()
      const told = (await outcomes).map(({ reason }) => reason?.constructor)
      const isTold = first in WAITS && second in WAITS
      assert.equal(told, [undefined, isTold ? DeadlockError : undefined], `${first}, ${second}`)
      if (isTold) assert.is(jobs[1].finished, 2)
      assert.equal([a.locked, b.locked, host.errors], [false, false, []])
    }
  })
}

ownership('locking waits, so that it is forbidden in critical sections', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  scheduler.spawn(() => nonPreemptive(function* () {
    try {
      yield mutex.lock()
    } catch (error) {
      log.push(error.constructor.name)
    }
  }))
  host.run()
  assert.equal([log, mutex.locked], [['TypeError'], false])
})

ownership('in 300 random sets one job at a time is inside, and all leave', () => forSeeds(300, random => {
  const { host, scheduler } = world({ budget: random.pick([1, 4, 'auto']), slice: 1 })
  const locks = [new Mutex(), new Mutex(), new Mutex()]
  const inside = [0, 0, 0]
  let entered = 0
  let left = 0
  const plan = Array.from({ length: 6 }, () => ({
    priority: random.integer(0, 3), release: random.integer(0, 6),
    cancelled: random.chance(0.3) ? random.real(0, 20) : -1,
    visits: Array.from({ length: 4 }, () => [random.integer(0, 2), random.integer(1, 3), random.chance(0.3)])
  }))
  for (const { priority, release, cancelled, visits } of plan) {
    const job = scheduler.spawn(function* () {
      for (const [first, ms, nests] of visits) {
        // Nested ones are taken in order, so that there is no deadlock.
        const path = nests && first < 2 ? [first, first + 1] : [first]
        yield visit(path, ms)
      }
    }, { priority, release })
    job.catch(() => {})
    if (cancelled >= 0) after(cancelled, () => job.cancel(), { scheduler })
  }
  function visit([lock, ...others], ms) {
    return locks[lock].use(function* () {
      entered++
      assert.is(++inside[lock], 1)
      try {
        yield* work(host, ms / 2)
        if (others.length > 0) yield visit(others, ms)
      } finally {
        inside[lock]--
        left++
      }
    })
  }
  host.run()
  assert.equal([inside, locks.map(({ locked }) => locked)], [[0, 0, 0], [false, false, false]])
  assert.is(entered, left)
  assert.is(host.errors.length, 0)
}))

ownership('wrong arguments are refused at the call', () => {
  const refuses = (make, name) =>
    assert.throws(make, error => error instanceof TypeError && error.message.includes(name))
  refuses(() => new AnyMutex({ name: 5, shared }), 'name')
  refuses(() => new AnyMutex(5), 'options')
  for (const lock of [new Mutex(), new Semaphore(1)]) refuses(() => lock.use(5), 'section')
})

ownership.run()

// ----------------------------------------------------------------------------------------------- semaphores

const semaphores = bothKinds('semaphores')

semaphores('let in as many as there are permits, the others by eligibility', () => {
  const { host, scheduler, log } = world()
  const semaphore = new Semaphore(2)
  let inside = 0
  let most = 0
  for (const [i, priority] of [5, 4, 1, 3, 2].entries()) {
    scheduler.spawn(() => semaphore.use(function* () {
      log.push(i)
      most = Math.max(most, ++inside)
      yield sleep(3)
      inside--
    }), { priority })
  }
  host.run()
  assert.equal([log, most, semaphore.available, host.time], [[0, 1, 3, 4, 2], 2, 2, 9])
})

semaphores('a permit may be released by anybody, and goes to who waits before who comes later', () => {
  const { host, scheduler, log } = world()
  const semaphore = new Semaphore(0)
  scheduler.spawn(function* () {
    yield semaphore.acquire()
    log.push('waited')
  })
  after(1, () => {
    semaphore.release()
    log.push(semaphore.available)
    const later = scheduler.spawn(() => timeout(1, semaphore.acquire()), { priority: 9 })
    later.catch(() => {})
  }, { scheduler })
  host.run()
  assert.equal(log, [0, 'waited'])
  semaphore.release()
  assert.is(semaphore.available, 1)
})

semaphores('use gives the permit back however the section ends', async () => {
  const { host, scheduler, log } = world()
  const semaphore = new Semaphore(1)
  const job = scheduler.spawn(function* () {
    log.push(yield semaphore.use(() => 'result'))
    try {
      yield semaphore.use(() => { throw new Error('inside') })
    } catch (error) {
      log.push(error.message, semaphore.available)
    }
    yield semaphore.use(() => sleep(50))
  })
  job.catch(() => {})
  after(5, () => job.cancel(), { scheduler })
  host.run()
  assert.equal([log, semaphore.available], [['result', 'inside', 1], 1])
})

semaphores('who is cancelled or times out leaves the queue; a permit just given is not lost', () => {
  const { host, scheduler } = world()
  const semaphore = new Semaphore(0)
  const [a, b, c] = [1, 2, 3].map(() => scheduler.spawn(() => semaphore.use(() => {})))
  for (const job of [a, b, c]) job.catch(() => {})
  host.run()
  a.cancel()
  semaphore.release() // to b
  b.cancel()
  host.run()
  assert.equal([a.state, c.state, semaphore.available], ['cancelled', 'done', 1])
})

semaphores('can be acquired outside jobs', async () => {
  const semaphore = new Semaphore(1)
  await semaphore.acquire()
  const second = semaphore.acquire().then(() => 'second')
  semaphore.release()
  assert.equal([await second, semaphore.available], ['second', 0])
})

semaphores('wrong numbers are refused at the call', () => {
  const refuses = (permits, kind) => assert.throws(() => new Semaphore(permits),
    error => error instanceof kind && error.message.includes('permits'))
  for (const permits of [-1, 1.5, NaN, Infinity]) refuses(permits, RangeError)
  for (const permits of [undefined, '1', null]) refuses(permits, TypeError)
})

semaphores.run()

// ------------------------------------------------------------------------------------------- between threads

const threads = suite('locks between threads')

/** A thread that goes through the locks; `said` is its next word. */
function thread(given) {
  const worker = new Worker(new URL('./fixtures/channels/lock-worker.mjs', import.meta.url), { workerData: given })
  const ended = new Promise(resolve => worker.once('exit', resolve))
  const said = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return { worker, said, ended }
}

const notesOf = () => new Int32Array(new SharedArrayBuffer(16))

threads('a mutex lets one job in at a time, and a semaphore as many as it has permits; all have their turn', async () => {
  const [mutex, semaphore] = [new AnyMutex({ shared: true }), new AnySemaphore(1, { shared: true })]
  const given = { mutex: mutex.buffer, semaphore: semaphore.buffer, notes: notesOf(), rounds: 200 }
  const all = [1, 2, 3].map(() => thread(given))
  assert.equal(await Promise.all(all.map(({ said }) => said)), ['done', 'done', 'done'])
  assert.equal([...given.notes], [0, 0, 600, 0])
  assert.equal([mutex.locked, semaphore.available], [false, 1])
  await Promise.all(all.map(({ ended }) => ended))
})

threads('a thread that is ended inside is noticed: the next finds the lock abandoned, and nobody else does', async () => {
  const mutex = new AnyMutex({ shared: true })
  const given = { mutex: mutex.buffer, notes: notesOf(), stays: true }
  const { worker, said } = thread(given)
  assert.is(await said, 'inside')
  assert.equal([mutex.locked, mutex.owner], [true, null])
  assert.throws(() => mutex.unlock(), /^mutex is held by another thread, not by code outside jobs$/)
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

threads('threads ended at any moment hold up nobody', async () => {
  const mutex = new AnyMutex({ shared: true })
  await forSeeds(10, async random => {
    const given = { mutex: mutex.buffer, notes: notesOf(), rounds: 1e9 }
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
  })
})

threads('a job that ends without unlocking is noticed by whoever has the buffer', async () => {
  const [here, there] = [1, 2].map(() => new AnyMutex({ shared: true }))
  const other = AnyMutex.from(here.buffer)
  await rt.spawn(function* () { yield here.lock() })
  assert.is(other.abandoned, true)
  await other.lock()
  assert.equal([other.abandoned, here.locked, there.locked], [true, true, false])
})

threads('buffers of something else are refused', () => {
  const { buffer } = new Ring(1, { shared: true })
  assert.throws(() => AnyMutex.from(buffer), /^buffer must be that of a shared Mutex, got one of \d+ bytes$/)
  assert.throws(() => new AnySemaphore(1, { buffer }), /^buffer must be that of a shared Semaphore/)
  assert.throws(() => new AnyMutex({ shared: 1 }), /^shared must be a boolean, got 1$/)
})

threads.run()
