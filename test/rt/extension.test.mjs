/** A reader-writer lock and a token-bucket server that use only the documented interface `extend`. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { edf, extend } from '../../rt.mjs'
import { RwLock, TokenBucket } from '../support/extensions.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute } from '../support/virtual-host.mjs'
import { exactWorld as world, rejection } from '../support/world.mjs'

const locks = suite('a reader-writer lock')

/** Holds the lock for `ms` ms. */
function* reading(lock, host, ms, enter = lock.read()) {
  yield enter
  try {
    yield* execute(host, ms)
  } finally {
    lock.leave()
  }
}
const writing = (lock, host, ms) => reading(lock, host, ms, lock.write())

locks('a reader-writer lock admits many readers or one writer, highest rank first', () => {
  const { host, scheduler, trace } = world({ except: ['round', 'block', 'wake'] })
  const lock = new RwLock()
  const spawn = (name, work, options) => scheduler.spawn(work(lock, host, 2), { name, ...options })
  spawn('reader 1', reading)
  spawn('reader 2', reading, { priority: 1, release: 1 })
  spawn('writer', writing, { priority: 2, release: 1.5 })
  spawn('reader 3', reading, { priority: 0.5, release: 2 })
  spawn('reader 4', reading, { priority: 3, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release reader 1, start reader 1
    1 release reader 2, preempt reader 1 by=reader 2, start reader 2
    2 release writer, release reader 3, release reader 4, preempt reader 2 by=reader 4, start reader 4
    4 finish reader 4, start writer, resume reader 1
    5 finish reader 1, resume reader 2
    6 finish reader 2, resume writer
    8 finish writer, start reader 3
    10 finish reader 3`)
})

locks('all readers inside a lock inherit the rank of the first waiter, until it leaves', () => {
  const { host, scheduler, log } = world()
  const lock = new RwLock()
  for (const [index, name] of ['a', 'b'].entries()) {
    scheduler.spawn(function* () {
      yield lock.read()
      yield* execute(host, 3)
      log.push(`${name} leaves at ${host.time}`)
      lock.leave()
      yield
      yield* execute(host, 3)
      log.push(`${name} ends at ${host.time}`)
    }, { priority: index, release: index })
  }
  scheduler.spawn(function* () {
    yield* writing(lock, host, 1)
    log.push(`writer ends at ${host.time}`)
  }, { priority: 9, release: 2 })
  scheduler.spawn(execute(host, 4), { priority: 5, release: 2 })
  host.run()
  assert.equal(log, ['a leaves at 4', 'b leaves at 6', 'writer ends at 7', 'b ends at 14', 'a ends at 17'])
})

locks('a job that ends inside a lock leaves it, and a cancelled waiter gets it first', async () => {
  const { host, scheduler, log } = world()
  const lock = new RwLock()
  scheduler.spawn(function* () {
    yield lock.write()
    yield* execute(host, 2)
    yield
  })
  const cancelled = scheduler.spawn(function* () {
    yield lock.write()
    try {
      log.push('inside')
      yield
      log.push('never')
    } finally {
      lock.leave()
    }
  }, { priority: 1, release: 1 })
  scheduler.spawn(reading(lock, host, 1)).then(() => log.push('read'))
  scheduler.observe(({ type, job }) => { if (type === 'wake' && job === cancelled) job.cancel() })
  await host.drain()
  assert.equal([log, cancelled.state, lock.inside.size], [['inside', 'read'], 'cancelled', 0])
})

locks('an aborted signal ends the wait for a reader-writer lock', async () => {
  const { host, scheduler } = world()
  const lock = new RwLock()
  const controller = new AbortController()
  scheduler.spawn(writing(lock, host, 5))
  const waits = scheduler.spawn(function* () { yield lock.write({ signal: controller.signal }) })
  const reader = scheduler.spawn(reading(lock, host, 1))
  extend.at(scheduler, 2, () => controller.abort('enough'))
  await host.drain()
  assert.equal([await rejection(waits), reader.state, lock.inside.size], ['enough', 'done', 0])
  assert.throws(() => lock.read({ signal: 5 }), /^signal must be an AbortSignal, got 5/)
  assert.throws(() => lock.read({ time: 5 }), /unknown option 'time'; known are signal/)
})

locks('a wait for a lock that would close a cycle throws', async () => {
  const { host, scheduler } = world()
  const [one, other] = [new RwLock(), new RwLock()]
  const jobs = [[one, other], [other, one]].map(([first, second], index) => scheduler.spawn(function* () {
    yield first.write()
    yield* execute(host, 1)
    yield
    yield second.read()
  }, { name: `job ${index}` }))
  extend.at(scheduler, 1, () => { jobs[1].priority = 1 })
  await host.drain()
  assert.equal(jobs.map(({ state }) => state), ['failed', 'done'])
  assert.equal(host.errors.map(({ message }) => message), ['deadlock: job 0 waits for job 1 waits for job 0'])
})

locks.run()

const servers = suite('a token-bucket server')

servers('a token-bucket server runs its jobs by its keys while it has tokens', () => {
  const { host, scheduler, spawn, trace } = world()
  const reservation = new TokenBucket({ scheduler, size: 2, rate: 0.5, priority: 5 })
  spawn('served', { reservation }, 5)
  spawn('other', { priority: 1 }, 9)
  host.run()
  // Half a token arrives while one is used, unless the bucket is full: 2, 1, 0.5, 0.
  assertTrace(trace, `
    0 release served, release other, start served
    3 deplete served reservation=bucket, start other
    7 replenish reservation=bucket due=7, wake served, preempt other by=served, resume served
    9 finish served, resume other
    14 finish other`)
})

servers('a token-bucket server never serves more than its size and rate allow', () => {
  const { host, scheduler } = world({ policy: edf, budget: 1 })
  const reservation = new TokenBucket({ scheduler, size: 3, rate: 0.25, deadline: 10 })
  const jobs = Array.from({ length: 10 }, (_, n) => {
    return scheduler.spawn(execute(host, 2), { reservation, release: 2 * n })
  })
  const other = scheduler.spawn(execute(host, 300))
  for (let time = 5; time < 200; time += 5) {
    extend.at(scheduler, time, () => {
      const served = jobs.reduce((sum, { cost }) => sum + cost, 0)
      assert.ok(served <= 3 + 0.25 * host.time + 1, `${served} ms at ${host.time}`)
    })
  }
  host.run()
  assert.equal([...jobs, other].filter(({ state }) => state !== 'done'), [])
})

servers('a depleted holder of a lock continues with the rank of its waiter', () => {
  const { host, scheduler, spawn, log } = world()
  const lock = new RwLock()
  const reservation = new TokenBucket({ scheduler, size: 1, rate: 0.1, priority: 2 })
  const holder = scheduler.spawn(writing(lock, host, 3), { name: 'holder', reservation })
  spawn('middle', { priority: 3, release: 1 }, 5)
  const urgent = scheduler.spawn(writing(lock, host, 1), { name: 'urgent', priority: 9, release: 1.5 })
  host.run({ until: 2 })
  log.push(holder.state)
  host.run()
  assert.equal([holder.finished, urgent.finished], [4, 5])
})

servers('a holder that becomes depleted continues with the rank of a current waiter', () => {
  const { host, scheduler, spawn, trace } = world()
  const lock = new RwLock()
  const reservation = new TokenBucket({ scheduler, size: 2, rate: 0.125, priority: 5 })
  scheduler.spawn(writing(lock, host, 4), { name: 'holder', reservation })
  const waits = scheduler.spawn(writing(lock, host, 1), { name: 'waits', priority: 6, release: 1 })
  extend.at(scheduler, 1.5, () => { waits.priority = 3 })
  spawn('middle', { priority: 4, release: 1.5 }, 1)
  host.run({ until: 20 })
  assertTrace(trace, `
    0 release holder, start holder
    1 release waits, preempt holder by=waits, start waits, block waits on=Entering, resume holder
    2 alarm due=1.5, release middle
    3 preempt holder by=middle, start middle
    4 finish middle, resume holder
    5 wake waits, finish holder, resume waits
    6 finish waits`)
})

servers('a server is charged for the jobs to which it lends its rank', () => {
  const { host, scheduler } = world()
  const lock = new RwLock()
  const reservation = new TokenBucket({ scheduler, size: 3, rate: 0.001, priority: 5 })
  const holder = scheduler.spawn(writing(lock, host, 6), { name: 'holder' })
  const waits = scheduler.spawn(writing(lock, host, 1), { name: 'waits', reservation, release: 1 })
  host.run({ until: 8 })
  assert.equal([holder.state, waits.state], ['done', 'depleted'])
  assert.ok(Math.abs(reservation.tokens + 1) < 0.1, `${reservation.tokens} are left`)
})

servers.run()

const children = suite('extend.code')

/** Starts the generator of a child call, which receives the outcome of the call inside it. */
function begun(generator) {
  generator.next()
  return generator
}

children('a child job has the rank of its parent and waits for the given waitable first', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  const gate = new extend.Sleep(2, true)
  const log = []
  function late() {}
  const parent = scheduler.spawn(function* () {
    const call = begun((function* () { log.push(yield) })())
    log.push(extend.code.current() === parent)
    const child = extend.code.child(parent, late, [call], gate)
    assert.equal([child.name, child.deadline, child.absoluteDeadline, child.state], ['late', 9, 9, 'waiting'])
    yield* execute(host, 1)
  }, { name: 'parent', deadline: 9 })
  host.run()
  assert.equal(log, [true, undefined])
  assertTrace(trace, `
    0 release parent, start parent, release late, block late on=Sleep
    1 finish parent
    2 alarm due=2, wake late, resume late, finish late`)
})

children('a child without a wait runs its calls, and idle() waits for it', async () => {
  const { host, scheduler } = world()
  let child
  scheduler.spawn(function* () {
    const outer = begun((function* () { return `outer ${yield}` })())
    child = extend.code.child(scheduler.current, () => {}, [outer, (function* () { yield; return 'inner' })()], null)
  })
  host.run()
  assert.is(await child, 'outer inner')
})

children('onRest is called when a job starts to wait and when it ends', () => {
  const { host, scheduler } = world()
  const log = []
  const job = scheduler.spawn(function* () {
    extend.code.onRest(job, () => log.push([host.time, job.state]))
    yield* execute(host, 1)
    yield new extend.Sleep(2, true)
    yield* execute(host, 1)
  })
  host.run()
  assert.equal(log, [[1, 'waiting'], [4, 'done']])
})

children('a job that runs inside of another one is charged for its own time only', () => {
  const { host, scheduler } = world()
  const inner = scheduler.spawn(execute(host, 4))
  const outer = scheduler.spawn(function* () {
    extend.code.runInside(inner, () => inner.cost >= 3)
    yield* execute(host, 1)
  }, { priority: 1, release: 1 })
  host.run()
  assert.equal([inner.cost, inner.state, outer.cost, host.time], [4, 'done', 1, 5])
})

children('extend.code.current() is null outside of jobs', () => {
  const { host, scheduler } = world()
  assert.is(extend.code.current(), null)
  const seen = []
  extend.at(scheduler, 1, () => seen.push(extend.code.current()))
  host.run()
  assert.equal(seen, [null])
})

children.run()
