/**
 * Cases for Mutex and Semaphore, and for their subclasses: which job runs, which job is next, and errors of
 * misuse.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, edf } from '../../rt.mjs'
import { after, sleep, timeout } from '../../alarms.mjs'
import { OwnershipError, choice, nonPreemptive, par, race } from '../../sync.mjs'
import { forSeeds } from './seeded.mjs'
import { assertTrace, executions } from './trace.mjs'
import { abortListeners, exactWorld as world, rejection } from './world.mjs'
import { work } from './virtual-host.mjs'

/** The classes under test. @type {any} */
let Mutex
/** @type {any} */
let Semaphore
/** @type {{ title: string, cases: [name: string, test: () => any][] }[]} */
const suites = []

/**
 * Adds a suite.
 *
 * @param {string} title
 * @returns {(name: string, test: () => any) => void} adds a case to the suite
 */
function casesOf(title) {
  const cases = []
  suites.push({ title, cases })
  return (name, test) => { cases.push([name, test]) }
}

/**
 * Runs all cases.
 *
 * @param {{ Mutex: any, Semaphore: any }} classes the classes under test
 * @param {string} [prefix] a prefix for the name of each case
 */
export function runLockCases(classes, prefix = '') {
  ({ Mutex, Semaphore } = classes)
  for (const { title, cases } of suites) {
    const tests = suite(title)
    for (const [name, test] of cases) tests(prefix + name, test)
    tests.run()
  }
}

/** Waits for the first of several waitables. */
const either = (...ways) => choice(ways.map(wait => ({ wait })))

// ---------------------------------------------------------------------------------------------- inheritance

const inheritance = casesOf('mutexes: priority inheritance')

/**
 * The bus of the Mars Pathfinder: a short user of low priority, a user of high priority, and a long job
 * between.
 */
function pathfinder(bus) {
  const { host, scheduler, trace } = world()
  scheduler.spawn(function* () {
    yield bus.use(() => work(host, 3))
    yield* work(host, 1)
  }, { name: 'weather', priority: 1 })
  scheduler.spawn(function* () {
    yield* work(host, 1)
    yield bus.use(() => work(host, 1))
  }, { name: 'manager', priority: 3, release: 1, deadline: 5 })
  scheduler.spawn(() => work(host, 5), { name: 'radio', priority: 2, release: 2 })
  host.run()
  return trace
}

inheritance('without inheritance, a middle job delays the high one, which misses its deadline', () => {
  assertTrace(pathfinder(new Semaphore(1, { name: 'bus' })), `
    0 release weather, start weather
    1 release manager, preempt weather by=manager, start manager
    2 release radio, block manager on=bus.acquire(), start radio
    7 finish radio, miss manager, resume weather
    9 wake manager, preempt weather by=manager, resume manager
    10 finish manager, resume weather
    11 finish weather`)
})

inheritance('with inheritance, the holder runs by the rank of its waiter', () => {
  assertTrace(pathfinder(new Mutex({ name: 'bus' })), `
    0 release weather, start weather
    1 release manager, preempt weather by=manager, start manager
    2 release radio, block manager on=bus, resume weather
    4 wake manager, preempt weather by=manager, resume manager
    5 finish manager, start radio
    10 finish radio, resume weather
    11 finish weather`)
})

/** c holds inner and never waits; b holds outer and waits for inner; a waits for outer. */
function chain({ host, scheduler }, more = () => {}) {
  const inner = new Mutex({ name: 'inner' })
  const outer = new Mutex({ name: 'outer' })
  const jobs = {
    c: scheduler.spawn(function* () {
      yield inner.use(() => work(host, 6))
      yield* work(host, 1)
    }, { name: 'c', priority: 1 }),
    b: scheduler.spawn(function* () {
      yield outer.use(function* () {
        yield* work(host, 1)
        yield inner.use(() => work(host, 1))
      })
      yield* work(host, 1)
    }, { name: 'b', priority: 2, release: 1 }),
    a: scheduler.spawn(() => outer.use(() => work(host, 1)), { name: 'a', priority: 4, release: 3 })
  }
  scheduler.spawn(() => work(host, 2), { name: 'between', priority: 3, release: 4 })
  more(jobs)
  host.run()
}

inheritance('inheritance is transitive', () => {
  const run = world()
  chain(run)
  assertTrace(run.trace, `
    0 release c, start c
    1 release b, preempt c by=b, start b
    2 block b on=inner, resume c
    3 release a, preempt c by=a, start a, block a on=outer, resume c
    4 release between
    7 wake b, preempt c by=b, resume b
    8 wake a, preempt b by=a, resume a
    9 finish a, start between
    11 finish between, resume b
    12 finish b, resume c
    13 finish c`)
})

inheritance('inheritance ends along the chain when the waiter at its end is cancelled', () => {
  const run = world()
  chain(run, ({ a }) => {
    run.scheduler.spawn(() => { a.cancel('no more') }, { name: 'canceller', priority: 5, release: 5 })
  })
  assertTrace(run.trace, `
    0 release c, start c
    1 release b, preempt c by=b, start b
    2 block b on=inner, resume c
    3 release a, preempt c by=a, start a, block a on=outer, resume c
    4 release between
    5 release canceller, preempt c by=canceller, start canceller, wake a, finish canceller, resume a
    5 cancel a error=no more, start between
    7 finish between, resume c
    9 wake b, preempt c by=b, resume b
    11 finish b, resume c
    12 finish c`)
})

inheritance('inheritance follows a change of the waiter\'s priority along the chain', () => {
  const run = world()
  const { host, scheduler } = run
  chain(run, ({ a }) => {
    after(4.5, () => { a.priority = 2.5 }, { scheduler }) // below between
    after(5.5, () => { a.priority = 3.5 }, { scheduler }) // above it again
  })
  const ran = executions(run.trace.records)
  const intervals = Object.fromEntries([...ran].map(([job, list]) => [job.name, list]))
  assert.equal(intervals, {
    c: [[0, 1], [2, 5], [6, 8], [12, 13]],
    b: [[1, 2], [8, 9], [11, 12]],
    a: [[9, 10]],
    between: [[5, 6], [10, 11]]
  })
  assert.is(host.time, 13)
})

inheritance('under edf, inheritance follows a change of the waiter\'s deadline', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(() => work(host, 4)), { name: 'holder', deadline: 100 })
  const use = () => mutex.use(() => work(host, 1))
  const waiter = scheduler.spawn(use, { name: 'waiter', deadline: 60, release: 1 })
  scheduler.spawn(() => work(host, 3), { name: 'rival', deadline: 40, release: 2 })
  scheduler.spawn(() => { waiter.deadline = 20 }, { name: 'setter', deadline: 10, release: 3 })
  host.run()
  assertTrace(trace, `
    0 release holder, start holder
    1 release waiter, preempt holder by=waiter, start waiter, block waiter on=mutex, resume holder
    2 release rival, preempt holder by=rival, start rival
    3 release setter, preempt rival by=setter, start setter, finish setter, resume holder
    5 wake waiter, finish holder, resume waiter
    6 finish waiter, resume rival
    8 finish rival`)
})

inheritance('under edf, an owner inherits the deadline of its waiter, but not its misses', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  const mutex = new Mutex({ name: 'm' })
  const owner = scheduler.spawn(() => mutex.use(() => work(host, 4)), { name: 'owner', deadline: 50 })
  scheduler.spawn(() => mutex.use(() => work(host, 1)), { name: 'urgent', deadline: 5, release: 1 })
  scheduler.spawn(() => work(host, 3), { name: 'between', deadline: 20, release: 2 })
  host.run()
  assert.equal([owner.deadline, owner.missed], [50, false])
  assertTrace(trace, `
    0 release owner, start owner
    1 release urgent, preempt owner by=urgent, start urgent, block urgent on=m, resume owner
    2 release between
    4 wake urgent, finish owner, resume urgent
    5 finish urgent, start between
    8 finish between`)
})

inheritance('a lock held outside jobs inherits nothing, and a wait outside jobs lends nothing', async () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  const held = await mutex.lock()
  scheduler.spawn(() => mutex.use(() => log.push('job')), { priority: 9 })
  const outsider = mutex.lock().then(held => {
    log.push('outsider')
    held.unlock()
  })
  await host.drain()
  assert.equal([log, mutex.locked, mutex.owner], [[], true, null])
  held.unlock()
  await host.drain()
  await outsider
  assert.equal([log, mutex.locked], [['job', 'outsider'], false])
})

inheritance('inheritance ends when the waiter times out', () => {
  const { host, scheduler, log, trace } = world()
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(() => work(host, 6)), { name: 'owner', priority: 1 })
  scheduler.spawn(function* () {
    try {
      yield timeout(2, mutex.lock())
    } catch (error) {
      log.push(error.name)
    }
  }, { name: 'patient', priority: 3, release: 1 })
  scheduler.spawn(() => work(host, 1), { name: 'rival', priority: 2, release: 2 })
  host.run()
  assert.equal(log, ['TimeoutError'])
  assert.is(mutex.locked, false)
  assertTrace(trace, `
    0 release owner, start owner
    1 release patient, preempt owner by=patient, start patient, block patient on=Timeout, resume owner
    2 release rival
    3 alarm due=3, wake patient, preempt owner by=patient, resume patient, finish patient, start rival
    4 finish rival, resume owner
    7 finish owner`)
})

inheritance('a holder raised by the running job through its waiter runs at the next point', () => {
  const { host, scheduler, log } = world({ budget: 100 })
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(function* () {
    yield sleep(1)
    log.push('holder')
  }), { priority: 0 })
  const waiter = scheduler.spawn(() => mutex.use(() => {}), { priority: 0 })
  scheduler.spawn(function* () {
    yield sleep(0.5)
    host.advance(1)
    for (let i = 0; i < 100; i++) yield // during this loop the holder wakes and becomes ready
    waiter.priority = 5
    log.push('running')
    yield
    log.push('running')
  }, { priority: 1 })
  host.run()
  assert.equal(log, ['running', 'holder', 'running'])
})

inheritance('waiters get the lock by rank, then by arrival; changes of rank count', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const user = (name, priority, release) => scheduler.spawn(() => mutex.use(function* () {
    log.push(name)
    yield* work(host, 1)
  }), { name, priority, release })
  user('holder', 9)
  user('low', 1, 0.1)
  user('equal 1', 2, 0.2)
  const raised = user('raised', 0, 0.3)
  user('equal 2', 2, 0.4)
  user('high', 3, 0.5)
  // Each job is released, and blocks, while the holder's section lasts.
  scheduler.spawn(() => { raised.priority = 2.5 }, { priority: 10, release: 1 })
  host.run()
  assert.equal(log, ['holder', 'high', 'raised', 'equal 1', 'equal 2', 'low'])
})

inheritance('under edf, waiters with equal deadlines get the lock by priority', () => {
  const { host, scheduler, log } = world({ policy: edf })
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(() => sleep(1)), { deadline: 5 })
  for (const priority of [1, 3, 2]) {
    const job = scheduler.spawn(() => mutex.use(() => { log.push(priority) }), { deadline: 20 })
    after(0.5, () => { job.priority = priority }, { scheduler })
  }
  host.run()
  assert.equal(log, [3, 2, 1])
})

inheritance('every owner inherits from a job that waits for one of several locks', () => {
  const { host, scheduler, log } = world()
  const first = new Mutex({ name: 'first' })
  const second = new Mutex({ name: 'second' })
  const holder = (name, mutex) => scheduler.spawn(() => mutex.use(function* () {
    yield sleep(1)
    yield* work(host, 1)
    log.push(`${name} at ${host.time}`)
  }), { name, priority: 1 })
  holder('a', first)
  holder('b', second)
  const waiter = scheduler.spawn(function* () {
    const { index } = yield either(first.lock(), second.lock())
    log.push(`waiter has ${index} at ${host.time}`)
    ;[first, second][index].unlock()
  }, { name: 'waiter', priority: 3, release: 0.5 })
  scheduler.spawn(() => work(host, 4), { name: 'rival', priority: 2, release: 0.5 })
  host.run()
  // b loses the inherited rank when the choice has committed.
  assert.equal(log, ['a at 2.5', 'waiter has 0 at 2.5', 'b at 6.5'])
  assert.equal([first.locked, second.locked], [false, false])
  assert.is(waiter.state, 'done')
})

inheritance('a shared waitable inherits from the best of the jobs that wait for it', () => {
  for (const within of [waitable => waitable, waitable => timeout(100, waitable), waitable => choice([{ wait: waitable }, { timeout: 100 }])]) {
    const { host, scheduler, log } = world()
    const section = new Mutex().use(() => work(host, 6))
    const shared = within(section)
    scheduler.spawn(() => section, { priority: 1 })
    scheduler.spawn(() => shared, { priority: 2, release: 0.5 })
    const high = scheduler.spawn(function* () { yield shared }, { priority: 5, release: 1.5 })
    high.catch(() => {})
    scheduler.spawn(() => log.push(host.time), { priority: 3, release: 2.5 })
    after(4.5, () => high.cancel(), { scheduler })
    host.run()
    assert.equal(log, [5])
  }
})

inheritance('raising a job that waits for one of several locks raises all their owners', () => {
  const { host, scheduler, log } = world()
  const one = new Mutex({ name: 'one' })
  const other = new Mutex({ name: 'other' })
  scheduler.spawn(() => one.use(function* () {
    yield sleep(2)
    log.push('owner of one')
    yield sleep(20)
  }), { priority: 1 })
  scheduler.spawn(() => other.use(function* () {
    yield sleep(3)
    log.push('owner of the other')
  }), { priority: 1 })
  const waiter = scheduler.spawn(function* () { yield either(other.lock(), one.lock()) }, { priority: 0.5 })
  for (const priority of [5, 4, 3, 2]) {
    scheduler.spawn(function* () {
      yield sleep(2.5)
      log.push(priority)
    }, { priority })
  }
  scheduler.spawn(function* () {
    yield sleep(1)
    waiter.priority = 1.8
    yield* work(host, 4)
    waiter.priority = 10
  }, { priority: 20 })
  host.run({ until: 10 })
  assert.equal(log, ['owner of one', 'owner of the other', 5, 4, 3, 2])
})

inheritance('raising a waiter raises the owner of its lock past other jobs', () => {
  const { host, scheduler } = world()
  const lock = new Mutex()
  const permits = new Semaphore(0)
  const served = []
  scheduler.spawn(function* () {
    yield lock.lock()
    yield sleep(3)
    yield permits.acquire()
    served.push('owner')
    lock.unlock()
  }, { priority: 1 })
  scheduler.spawn(function* () {
    yield permits.acquire()
    served.push('other')
  }, { priority: 3, release: 1 })
  const raised = scheduler.spawn(function* () {
    yield par(lock.lock(), permits.acquire())
    served.push('raised')
    lock.unlock()
  }, { priority: 2, release: 2 })
  scheduler.spawn(function* () {
    raised.priority = 4
    for (let left = 3; left > 0; left--) {
      permits.release()
      yield sleep(1)
    }
  }, { priority: 9, release: 5 })
  host.run()
  assert.equal(served, ['owner', 'raised', 'other'])
})

inheritance('the next owner inherits from the remaining waiters', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  const user = (name, ms, options) => scheduler.spawn(() => mutex.use(function* () {
    yield* work(host, ms)
    log.push(name)
  }), options)
  user('first', 3, { priority: 0 })
  const last = user('last', 1, { priority: 1, release: 1 })
  user('next', 2, { priority: 2, release: 2 })
  scheduler.spawn(() => { last.priority = 5 }, { priority: 10, release: 4 })
  scheduler.spawn(() => log.push('rival'), { priority: 3, release: 4 })
  host.run()
  assert.equal(log, ['first', 'next', 'last', 'rival'])
})

inheritance('inheritance passes through jobs that wait for jobs', () => {
  const { host, scheduler, trace } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const use = ms => mutex.use(() => work(host, ms))
  scheduler.spawn(use, { name: 'holder', priority: 1 }, 2)
  const child = scheduler.spawn(use, { name: 'child', priority: 2, release: 0.5 }, 1)
  scheduler.spawn(function* () { yield child }, { name: 'parent', priority: 4, release: 0.5 })
  scheduler.spawn(() => work(host, 1), { name: 'rival', priority: 3, release: 0.5 })
  host.run()
  assertTrace(trace, `
    0 release holder, start holder
    1 release child, release parent, release rival, preempt holder by=parent, start parent
    1 block parent on=child, start child, block child on=mutex, resume holder
    2 wake child, finish holder, resume child
    3 finish child, wake parent, resume parent, finish parent, start rival
    4 finish rival`)
})

// ------------------------------------------------------------------------------------------------ ownership

const ownership = casesOf('mutexes: ownership')

ownership('unlock by another job throws an OwnershipError, and changes nothing', async () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex({ name: 'm' })
  const refused = (who, unlock = () => mutex.unlock()) => {
    try {
      unlock()
      log.push(`${who} unlocked it`)
    } catch (error) {
      log.push(error instanceof OwnershipError ? error.message : error)
    }
  }
  refused('nobody')
  scheduler.spawn(function* () {
    const held = yield mutex.lock()
    after(1, () => refused('a callback', () => held.unlock()), { scheduler })
    yield sleep(2)
    mutex.unlock()
  }, { name: 'owner' })
  scheduler.spawn(() => refused('other'), { name: 'other', release: 1 })
  after(1, () => refused('a callback'), { scheduler })
  host.run()
  const isFree = 'm is not locked: lock it first, and unlock it once'
  const byJob = 'm is held by owner, not by code outside jobs: only the owner can unlock it'
  assert.equal(log, [
    isFree, byJob, byJob, 'm is held by owner, not by other: only the owner can unlock it'
  ])
  const held = await mutex.lock()
  log.length = 0
  refused('without the held lock')
  scheduler.spawn(() => refused('a job'), { name: 'job' })
  host.run()
  assert.is(mutex.locked, true)
  held.unlock()
  refused('again', () => held.unlock())
  const remedy = 'call unlock() of the result of lock()'
  assert.equal(log, [
    `m is held by code outside jobs, not by code outside jobs: ${remedy}`,
    `m is held by code outside jobs, not by job: ${remedy}`, isFree
  ])
})

ownership('a held lock unlocks itself in and outside jobs, and its disposal once at most', async () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  scheduler.spawn(function* () {
    const held = yield mutex.lock()
    held.unlock()
    log.push(mutex.locked)
    yield mutex.lock()
    held[Symbol.dispose]?.()
    log.push(mutex.locked)
    held[Symbol.dispose]?.()
  })
  host.run()
  if (Symbol.dispose) assert.equal(log, [false, false])
  if (mutex.locked) return // an engine without disposal
  const held = await mutex.lock()
  held[Symbol.dispose]?.()
  held[Symbol.dispose]?.()
  assert.is(mutex.locked, !Symbol.dispose)
  const next = Symbol.dispose ? await mutex.lock() : held
  if (Symbol.dispose) held[Symbol.dispose]()
  assert.is(mutex.locked, true)
  next.unlock()
})

ownership('a signal ends only the wait for a lock or a permit', async () => {
  const { host, scheduler, log } = world()
  const [mutex, semaphore] = [new Mutex(), new Semaphore(0)]
  const controller = new AbortController()
  const { signal } = controller
  const reason = new Error('enough')
  await mutex.lock({ signal })
  const waits = [
    () => mutex.lock({ signal }), () => mutex.use(() => log.push('not reached'), { signal }),
    () => semaphore.acquire({ signal }), () => semaphore.use(() => log.push('not reached'), { signal })
  ]
  for (const wait of waits) {
    scheduler.spawn(function* () {
      try {
        yield wait()
      } catch (error) {
        log.push(error === reason)
      }
    })
    wait().catch(error => log.push(error === reason))
  }
  await host.drain()
  controller.abort(reason)
  await host.drain()
  for (const wait of waits) wait().catch(error => log.push(error === reason))
  await host.drain()
  assert.equal(log, Array(12).fill(true))
  assert.equal([mutex.locked, abortListeners(signal)], [true, 0])
})

ownership('`use` returns the result of the section, and always unlocks', async () => {
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

ownership('`use` does not unlock if it is cancelled while it waits for the lock', () => {
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

ownership('`use` unlocks if it is cancelled after it got the lock', () => {
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

ownership('a lock is released when its owner ends, and the next owner sees `abandoned`', () => {
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

ownership('a waiter that times out or chooses another branch leaves the queue', () => {
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

ownership('a job cancelled between the grant and its section leaves the lock unchanged', async () => {
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

ownership('cycles are detected when they close, and the error names them', async () => {
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
  assert.is((await right).jobs.map(({ name }) => name).join(), 'left,right')
  assert.equal([left.state, a.locked, b.locked], ['done', false, false])
  assert.is((await again).message, 'deadlock: again waits for again')
})

/** Jobs that lock `first`, wait, and lock `second`. */
function crossing({ host, scheduler }, pairs) {
  return pairs.map(([name, first, second], i) => scheduler.spawn(() => first.use(function* () {
    yield sleep(1)
    yield second.use(() => work(host, 1))
  }), { name, priority: i }))
}

ownership('a cycle of three locks is detected when it closes', async () => {
  const run = world()
  const [a, b, c] = ['a', 'b', 'c'].map(name => new Mutex({ name }))
  const [one, two, three] = crossing(run, [['one', a, b], ['two', b, c], ['three', c, a]])
  // When three waits for one, one inherits. It waits for two, which inherits as well and closes the cycle.
  const error = rejection(two)
  run.host.run()
  assert.is((await error).message, 'deadlock: two waits for three waits for one waits for two')
  assert.equal([one.state, three.state], ['done', 'done'])
})

ownership('a cycle of a lock and a job that waits for a job is detected', async () => {
  const { host, scheduler } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const owner = scheduler.spawn(() => mutex.use(function* () {
    yield scheduler.spawn(() => mutex.use(() => work(host, 1)), { name: 'child' })
  }), { name: 'owner' })
  const error = rejection(owner)
  host.run()
  assert.is((await error).message, 'deadlock: child waits for owner waits for child')
})

ownership('a cycle that closes when a job gets one of several locks is detected', async () => {
  const { host, scheduler } = world()
  const [a, b] = ['a', 'b'].map(name => new Mutex({ name }))
  scheduler.spawn(() => b.use(() => sleep(3)))
  const left = scheduler.spawn(() => a.use(function* () {
    yield sleep(2)
    yield b.use(() => {})
  }), { name: 'left' })
  const right = rejection(scheduler.spawn(function* () {
    yield sleep(1)
    yield par(b.lock(), a.lock())
  }, { name: 'right' }))
  await host.drain()
  assert.is((await right).message, 'deadlock: right waits for left waits for right')
  assert.equal([left.state, left.finished, a.locked, b.locked, b.abandoned], ['done', 3, false, false, false])
})

ownership('a cycle through a choice or a race without another end is detected', async () => {
  for (const only of [lock => choice([{ wait: lock }, { skip: true, when: false }]), lock => race(lock)]) {
    const { host, scheduler } = world()
    const lock = new Mutex()
    const owner = scheduler.spawn(() => lock.use(() => only(lock.lock())), { name: 'owner' })
    const error = rejection(owner)
    host.run()
    assert.is((await error).message, 'deadlock: owner waits for owner')
  }
})

ownership('a job that catches the DeadlockError continues', async () => {
  const { host, scheduler, log } = world()
  const a = new Mutex({ name: 'a' })
  const b = new Mutex({ name: 'b' })
  const careful = function* () {
    yield a.lock()
    yield sleep(1)
    try {
      yield b.lock()
    } catch (error) {
      log.push(error.name)
      a.unlock()
      yield b.lock()
    }
    b.unlock()
  }
  const job = scheduler.spawn(careful)
  const other = scheduler.spawn(() => b.use(function* () {
    yield sleep(1)
    yield a.use(() => work(host, 1))
  }), { priority: 1 })
  host.run()
  assert.equal([job.state, other.state, log], ['done', 'done', ['DeadlockError']])
  assert.equal([a.owner, b.owner], [null, null])
})

ownership('waiters cancelled twice, and their owner, leave no trace in the queue', () => {
  const { host, scheduler } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const use = () => mutex.use(() => work(host, 5))
  const owner = scheduler.spawn(use, { priority: 4 })
  const waiters = [1, 2, 3].map(priority => scheduler.spawn(use, { priority }))
  after(2, () => {
    for (const job of [...waiters, owner, ...waiters]) job.cancel('all')
  }, { scheduler })
  host.run()
  assert.equal([owner, ...waiters].map(({ state }) => state), Array(4).fill('cancelled'))
  assert.is(mutex.locked, false)
})

ownership('cycles of inheritance that a choice leaves open do not loop', () => {
  const { host, scheduler, log } = world()
  const a = new Mutex({ name: 'a' })
  const b = new Mutex({ name: 'b' })
  const crossed = (name, first, second, ms) => scheduler.spawn(() => first.use(function* () {
    yield sleep(1)
    const { index } = yield either(second.lock(), sleep(ms))
    if (index === 0) second.unlock()
    log.push(`${name} ${index === 0 ? 'has both' : 'gives up'} at ${host.time}`)
  }), { name })
  const left = crossed('left', a, b, 5)
  const right = crossed('right', b, a, 10)
  after(3, () => {
    left.priority = 5
    right.priority = 6
    left.priority = 7
  }, { scheduler })
  host.run()
  assert.equal([log, host.errors], [['left gives up at 6', 'right has both at 6'], []])
})

// A wait with an alternative can end even if the lock is never granted.
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

ownership('a lock inside a critical section throws, because it can wait', () => {
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

ownership('in 300 random sets one job at a time is inside, and all jobs leave', () => forSeeds(300, random => {
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
        // Nested locks are taken in order, which prevents deadlocks.
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

ownership('invalid arguments of locks throw at the call', () => {
  const refuses = (make, name) =>
    assert.throws(make, error => error instanceof TypeError && error.message.includes(name))
  refuses(() => new Mutex({ name: 5 }), 'name')
  refuses(() => new Mutex(5), 'options')
  for (const lock of [new Mutex(), new Semaphore(1)]) refuses(() => lock.use(5), 'section')
})

// ----------------------------------------------------------------------------------------------- semaphores

const semaphores = casesOf('semaphores')

semaphores('a semaphore admits as many jobs as it has permits, the others by rank', () => {
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

semaphores('any job can release a permit, and a waiter gets it before a later job', () => {
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

semaphores('`use` releases the permit however the section ends', async () => {
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

semaphores('a cancelled or timed-out job leaves the queue, and a granted permit is not lost', () => {
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

semaphores('a permit can be acquired outside jobs', async () => {
  const semaphore = new Semaphore(1)
  await semaphore.acquire()
  const second = semaphore.acquire().then(() => 'second')
  semaphore.release()
  assert.equal([await second, semaphore.available], ['second', 0])
})

semaphores('invalid numbers of permits throw at the call', () => {
  const refuses = (permits, kind) => assert.throws(() => new Semaphore(permits),
    error => error instanceof kind && error.message.includes('permits'))
  for (const permits of [-1, 1.5, NaN, Infinity]) refuses(permits, RangeError)
  for (const permits of [undefined, '1', null]) refuses(permits, TypeError)
})
