import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, extend } from '../../rt.mjs'
import { TimeoutError, after, at, sleep, timeout, until } from '../../alarms.mjs'
import { Channel, Mutex, nonPreemptive } from '../../sync.mjs'
import { seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute } from '../support/virtual-host.mjs'
import { deferred, exactWorld } from '../support/world.mjs'

/** A scheduler that reads its clock at every point and does not rotate, unless the options say otherwise. */
const world = (/** @type {any} */ options = {}) => exactWorld({ except: ['round', 'alarm'], ...options })

/** The error with which a wait fails. */
function* failureOf(wait) {
  let value
  try {
    value = yield wait
  } catch (error) {
    return error
  }
  throw new Error(`it came to ${value}`)
}

// ------------------------------------------------------------------------------------------ sleep and until

const moments = suite('sleep and until')

moments('sleep() resumes the job after exactly its time, while other jobs run', () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(function* () {
    yield* execute(host, 1)
    yield sleep(2.5)
    yield* execute(host, 1)
  }, { name: 'sleeper', priority: 1 })
  scheduler.spawn(execute(host, 6), { name: 'other' })
  host.run()
  assertTrace(trace, `
    0 release sleeper, release other, start sleeper
    1 block sleeper on=Sleep, start other
    4 wake sleeper, preempt other by=sleeper, resume sleeper
    5 finish sleeper, resume other
    8 finish other
  `)
})

moments('until() resumes the job at its time', () => {
  const { host, scheduler, log } = world({ host: { start: 100 } })
  scheduler.spawn(function* () {
    for (const time of [130, 130, 110, 150.5]) {
      yield until(time)
      log.push(host.time)
    }
  })
  host.run()
  assert.equal(log, [130, 130, 130, 150.5])
})

moments('an idle page uses one timer for all waits and takes no turns', () => {
  const { host, scheduler } = world()
  for (const ms of [30, 20, 40]) scheduler.spawn(function* () { yield sleep(ms) })
  host.run({ until: 10 })
  assert.equal(host.timers, [{ time: 20, ref: true }])
  assert.is(host.posts, 0)
  host.run()
  assert.is(host.turns, 1 + 3)
})

moments('a wait for a time that has passed ends without a turn of the event loop', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () {
    yield sleep(0)
    yield until(-1)
    log.push(host.time)
  })
  host.run()
  assert.equal(log, [0])
  assert.is(host.turns, 1)
})

moments('a thousand sleeping jobs wake in the order of their times, then of their waits', () => {
  const { host, scheduler, log } = world()
  const random = seeded(1)
  const expected = []
  for (let index = 0; index < 1000; index++) {
    const ms = random.integer(0, 200)
    expected.push([ms, index])
    scheduler.spawn(function* () {
      yield sleep(ms)
      log.push([host.time, index])
    })
  }
  host.run()
  assert.equal(log, expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]))
})

moments('a job never sleeps too briefly by its own clock, even a coarse one', () => {
  for (const resolution of [0.1, 1]) {
    const { host, scheduler, log } = world({ host: { resolution, start: 0.7 } })
    scheduler.spawn(function* () {
      for (const ms of [1, 2.5, 10]) {
        const before = scheduler.now()
        yield sleep(ms)
        log.push(scheduler.now() - before >= ms)
        host.advance(0.35)
      }
    })
    host.run()
    assert.equal(log, [true, true, true])
  }
})

const waits = { sleep: () => sleep(10), until: () => until(10), timeout: () => timeout(20, sleep(10)) }

for (const [name, make] of Object.entries(waits)) {
  moments(`${name} is lazy and sets no timer before it is yielded`, () => {
    const { host, scheduler, log } = world()
    const wait = make()
    assert.is(host.timers.length, 0)
    scheduler.spawn(function* () {
      host.advance(5)
      yield
      assert.is(host.timers.length, 0)
      yield wait
      log.push(host.time)
    })
    host.run()
    assert.equal(log, [name === 'until' ? 10 : 15])
  })

  moments(`${name} waits once, and later waits end immediately`, () => {
    const { host, scheduler, log } = world()
    const wait = make()
    const work = function* () {
      log.push([yield wait, host.time])
      log.push([yield wait, host.time])
      host.advance(5)
      log.push([yield wait, host.time])
    }
    scheduler.spawn(work)
    host.run()
    assert.equal(log, [[undefined, 10], [undefined, 10], [undefined, 15]])
  })

  moments(`${name}: two jobs can wait for the same waitable`, () => {
    const { host, scheduler, log } = world()
    const wait = make()
    for (const late of [0, 4]) {
      scheduler.spawn(function* () {
        if (late > 0) yield sleep(late)
        yield wait
        log.push([late, host.time])
      })
    }
    host.run()
    assert.equal(log, [[0, 10], [4, 10]])
  })

  moments(`${name}: yield, yield* and await all wait`, async () => {
    const { host, scheduler, log } = world()
    scheduler.spawn(function* () {
      yield make()
      log.push(['yield', host.time])
    })
    scheduler.spawn(function* () {
      yield* make()
      log.push(['yield*', host.time])
    })
    scheduler.spawn(async () => {
      await make()
      log.push(['await', host.time])
    })
    await host.drain()
    assert.equal(log, [['yield', 10], ['yield*', 10], ['await', 10]])
  })

  moments(`${name}: a cancelled job ends its wait and removes the timer`, () => {
    const { host, scheduler, log } = world()
    const wait = make()
    const job = scheduler.spawn(function* () {
      try {
        yield wait
      } finally {
        log.push(host.time)
      }
    })
    host.run({ until: 4 })
    job.cancel()
    assert.is(host.timers.length, 0)
    host.run()
    assert.equal(log, [4])
    assert.is(job.state, 'cancelled')
    // The cancelled wait does not affect the next waiter.
    scheduler.spawn(function* () {
      yield wait
      log.push(host.time)
    })
    host.run()
    assert.equal(log, [4, name === 'until' ? 10 : 14])
  })

  moments(`${name}: one of two waiting jobs can be cancelled`, () => {
    const { host, scheduler, log } = world()
    const wait = make()
    const [first] = [1, 2].map(name => scheduler.spawn(function* () {
      yield wait
      log.push([name, host.time])
    }))
    host.run({ until: 4 })
    first.cancel()
    host.run()
    assert.equal(log, [[2, 10]])
  })
}

moments('outside jobs, waits use the scheduler of their options', async () => {
  const { host, scheduler, log } = world()
  const waiting = [
    sleep(10, { scheduler }).then(() => log.push(['sleep', host.time])),
    until(20, { scheduler }).then(() => log.push(['until', host.time])),
    timeout(30, new Promise(() => {}), { scheduler }).then(null, error => log.push([error.name, host.time]))
  ]
  await host.drain()
  await Promise.all(waiting)
  assert.equal(log, [['sleep', 10], ['until', 20], ['TimeoutError', 30]])
})

moments('a cancelled job can sleep in its finally block', () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(function* () {
    try {
      yield sleep(100)
    } finally {
      yield sleep(7)
      log.push(host.time)
    }
  })
  host.run({ until: 5 })
  job.cancel()
  host.run()
  assert.equal(log, [12])
  assert.is(job.state, 'cancelled')
})

moments('a wait inside a critical section throws', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () {
    for (const make of Object.values(waits)) {
      log.push(yield nonPreemptive(function* () { return (yield* failureOf(make())).message }))
    }
  }, { name: 'job' })
  host.run()
  assert.equal(log, Array(3).fill('job waits inside a critical section'))
  assert.is(host.time, 0)
})

moments.run()

// --------------------------------------------------------------------------------------------------- timeout

const limits = suite('timeout')

limits('an alarm after or at Infinity never fires, and an infinite wait needs no timer', async () => {
  const { host, scheduler, log } = world()
  const alarms = [after(Infinity, () => log.push('after'), { scheduler }), at(Infinity, () => log.push('at'), { scheduler })]
  assert.equal(alarms.map(({ time }) => time), [Infinity, Infinity])
  for (const wait of [sleep(Infinity), until(Infinity), timeout(Infinity, until(Infinity))]) {
    scheduler.spawn(function* () { yield wait })
  }
  scheduler.spawn(function* () { log.push(yield timeout(Infinity, Promise.resolve('in time'))) })
  await host.drain()
  assert.equal([log, host.timers], [['in time'], []])
  assert.equal(alarms.map(alarm => [alarm.cancel(), alarm.cancel(), alarm.time]), [[true, false, undefined], [true, false, undefined]])
})

limits('an outcome in time is returned, of a promise, a job or a waitable', async () => {
  const { host, scheduler } = world()
  const promise = deferred()
  host.after(5, () => promise.resolve('promise'), {})
  const other = scheduler.spawn(function* () {
    yield sleep(3)
    return 'job'
  })
  const channel = new Channel()
  const job = scheduler.spawn(function* () {
    const results = [yield timeout(10, other)]
    results.push(yield timeout(10, promise.promise))
    results.push(yield timeout(10, channel.receive()))
    results.push(host.time)
    return results
  })
  scheduler.spawn(function* () {
    yield sleep(7)
    yield channel.send('waitable')
  })
  await host.drain()
  assert.equal(await job, ['job', 'promise', 'waitable', 7])
  assert.equal(host.timers, [])
})

limits('a failure in time is thrown, of a promise or a job', async () => {
  const { host, scheduler } = world()
  const errors = ['promise', 'job'].map(text => new Error(text))
  const failing = scheduler.spawn(function* () {
    yield sleep(3)
    throw errors[1]
  })
  const job = scheduler.spawn(function* () {
    return [yield* failureOf(timeout(10, Promise.reject(errors[0]))), yield* failureOf(timeout(10, failing))]
  })
  await host.drain()
  assert.equal(await job, errors)
  assert.is(host.time, 3)
  assert.equal(host.errors, [], 'a failure that was waited for is not unhandled')
})

limits('a wait that exceeds its timeout fails with a TimeoutError', async () => {
  const { host, scheduler, log } = world()
  const endless = scheduler.spawn(function* () { yield new Promise(() => {}) })
  const channel = new Channel()
  scheduler.spawn(function* () {
    for (const awaited of [new Promise(() => {}), endless, channel.receive(), sleep(11), until(1e9)]) {
      const before = host.time
      log.push([yield* failureOf(timeout(10, awaited)), host.time - before])
    }
  })
  await host.drain()
  assert.is(log.length, 5)
  for (const [error, passed] of log) {
    assert.instance(error, TimeoutError)
    assert.instance(error, Error)
    assert.is(error.name, 'TimeoutError')
    assert.is(error.message, 'timed out after 10 ms')
    assert.is(passed, 10)
  }
  assert.equal(host.timers, [])
})

limits('timeout() counts from its yield and repeats its outcome', () => {
  const { host, scheduler } = world()
  const limit = timeout(10, sleep(50))
  let errors
  scheduler.spawn(function* () {
    yield sleep(30)
    errors = [yield* failureOf(limit), host.time, yield* failureOf(limit), host.time]
  })
  host.run()
  assert.instance(errors[0], TimeoutError)
  assert.is(errors[2], errors[0])
  assert.equal([errors[1], errors[3]], [40, 40])
})

limits('an available value is returned immediately, even with a timeout of 0', () => {
  const { host, scheduler, log } = world()
  const over = sleep(0)
  const channel = new Channel()
  const ended = scheduler.spawn(function* () { return 'job' }, { priority: 2 })
  scheduler.spawn(function* () { yield channel.send('sent') }, { priority: 1 })
  scheduler.spawn(function* () {
    yield over
    log.push(yield timeout(0, over), yield timeout(0, channel.receive()), yield timeout(5, ended))
    assert.is(host.timers.length, 0)
  })
  host.run()
  assert.equal(log, [undefined, 'sent', 'job'])
  assert.is(host.time, 0)
})

limits('a timeout of 0 fails immediately if the value is not available', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () { log.push(yield* failureOf(timeout(0, sleep(5))), host.time) })
  host.run()
  assert.instance(log[0], TimeoutError)
  assert.is(log[1], 0)
})

limits('at equal times the awaited value wins over the timeout', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () { log.push(yield timeout(10, sleep(10)), host.time) })
  host.run()
  assert.equal(log, [undefined, 10])
})

limits('the shortest of nested timeouts counts', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () {
    log.push((yield* failureOf(timeout(5, timeout(10, sleep(20))))).message, host.time)
    log.push((yield* failureOf(timeout(10, timeout(5, sleep(20))))).message, host.time)
    log.push(yield timeout(10, timeout(8, sleep(6))), host.time)
  })
  host.run()
  assert.equal(log, ['timed out after 5 ms', 5, 'timed out after 5 ms', 10, undefined, 16])
  assert.equal(host.timers, [])
})

limits('a lock whose wait has timed out goes to the next waiter', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  scheduler.spawn(mutex.use(function* () { yield* execute(host, 20) }), { name: 'holder' })
  scheduler.spawn(function* () {
    log.push((yield* failureOf(timeout(5, mutex.lock()))).name, host.time)
  }, { name: 'hasty', priority: 2, release: 1 })
  scheduler.spawn(mutex.use(function* () { log.push('patient', host.time) }), { priority: 1, release: 2 })
  host.run()
  assert.equal(log, ['TimeoutError', 6, 'patient', 20])
  assert.is(mutex.locked, false)
})

limits('a receiver that has timed out loses no message', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  scheduler.spawn(function* () {
    log.push((yield* failureOf(timeout(5, channel.receive()))).name)
    yield sleep(5)
    log.push(yield channel.receive())
  })
  scheduler.spawn(function* () {
    yield sleep(7)
    yield channel.send('kept')
    log.push(host.time)
  })
  host.run()
  assert.equal(log, ['TimeoutError', 10, 'kept'].toSorted((a, b) => log.indexOf(a) - log.indexOf(b)))
  assert.is(log.length, 3)
})

limits('a job cancelled after a hand-over receives the value, then the reason', () => {
  for (const isHandedOver of [true, false]) {
    const { host, scheduler, log } = world()
    class Message extends extend.Waitable {
      get handsOver() { return isHandedOver }
    }
    const message = new Message()
    const job = scheduler.spawn(function* () {
      try {
        log.push(yield timeout(10, message))
        yield
      } catch (error) {
        log.push(error.name)
      }
    })
    at(5, () => {
      message.wake('message')
      job.cancel()
    }, { scheduler })
    host.run()
    assert.equal(log, isHandedOver ? ['message', 'AbortError'] : ['AbortError'])
    assert.equal(host.timers, [])
  }
})

limits('a job whose waiter has timed out continues', () => {
  const { host, scheduler, log } = world()
  const slow = scheduler.spawn(execute(host, 20), { name: 'slow' })
  scheduler.spawn(function* () { log.push((yield* failureOf(timeout(5, slow))).name) }, { priority: 1 })
  host.run()
  assert.equal(log, ['TimeoutError'])
  assert.equal([slow.state, slow.finished], ['done', 20])
})

limits('a waiting job lends its rank through a timeout until the timeout expires', () => {
  const { host, scheduler, trace } = world()
  const mutex = new Mutex()
  scheduler.spawn(mutex.use(() => execute(host, 8)), { name: 'low', priority: 1 })
  scheduler.spawn(execute(host, 3), { name: 'middle', priority: 2, release: 3 })
  scheduler.spawn(function* () {
    yield* failureOf(timeout(3, mutex.lock()))
  }, { name: 'high', priority: 3, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    2 release high, preempt low by=high, start high, block high on=Timeout, resume low
    3 release middle
    5 wake high, preempt low by=high, resume high, finish high, start middle
    8 finish middle, resume low
    11 finish low
  `)
})

limits('a timeout passes the rank of its waiter to the awaited job', () => {
  const { host, scheduler, trace } = world()
  const low = scheduler.spawn(execute(host, 8), { name: 'low', priority: 1 })
  scheduler.spawn(execute(host, 3), { name: 'middle', priority: 2, release: 3 })
  scheduler.spawn(function* () { yield timeout(100, low) }, { name: 'high', priority: 3, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    2 release high, preempt low by=high, start high, block high on=Timeout, resume low
    3 release middle
    8 finish low, wake high, resume high, finish high, start middle
    11 finish middle
  `)
})

limits('a change of priority passes through a timeout', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  const work = name => function* () {
    yield* execute(host, 5)
    log.push([name, host.time])
  }
  scheduler.spawn(mutex.use(work('low')), { priority: 1 })
  scheduler.spawn(work('middle'), { priority: 2, release: 2 })
  const high = scheduler.spawn(function* () { yield timeout(100, mutex.lock()) }, { priority: 3, release: 1 })
  at(4, () => { high.priority = 1 }, { scheduler })
  host.run()
  assert.equal(log, [['middle', 9], ['low', 10]])
})

limits('a job that waits for itself through a timeout throws a TypeError', () => {
  const { host, scheduler, log } = world()
  const self = scheduler.spawn(function* () {
    log.push(yield* failureOf(timeout(5, self)))
  }, { name: 'self' })
  host.run()
  assert.instance(log[0], TypeError)
  assert.is(log[0].message, 'self waits for itself')
  assert.is(host.time, 0)
})

limits('a cycle of waits through a timeout throws a DeadlockError', () => {
  const { host, scheduler, log } = world()
  const first = scheduler.spawn(function* () {
    log.push(yield* failureOf(timeout(5, second)))
  }, { name: 'first' })
  const second = scheduler.spawn(function* () { yield first }, { name: 'second', priority: 1 })
  host.run()
  assert.instance(log[0], DeadlockError)
  assert.is(log[0].message, 'deadlock: first waits for second waits for first')
  assert.is(host.time, 0)
})

limits.run()
