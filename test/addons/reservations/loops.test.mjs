/** Compares loops with capacity and period (Qduino II-C) with schedules computed by hand. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Job, Task, edf, fp } from '../../../rt.mjs'
import { at, nextPeriod, sleep } from '../../../alarms.mjs'
import { AdmissionError, Reservation, loop } from '../../../addons/reservations.mjs'
import { Channel } from '../../../sync.mjs'
import { Latest } from '../../../addons/shared.mjs'
import { assertTrace, executions } from '../../support/trace.mjs'
import { execute } from '../../support/virtual-host.mjs'
import { abortListeners, exactWorld } from '../../support/world.mjs'

/** A scheduler that reads its clock at every point, and does not rotate unless an option enables it. */
function world(options = {}) {
  const { host, scheduler, trace } = exactWorld({ round: 1, except: ['round', 'alarm'], ...options })
  return {
    host,
    scheduler,
    trace,
    /** Starts a loop that waits when it is depleted. */
    start: (body, capacity, period, more = {}) =>
      loop(body, { capacity, period, depleted: 'wait', scheduler, ...more }),
    when: (time, act) => at(time, act, { scheduler }),
    /** The intervals in which each job ran, by name. */
    ran: () => Object.fromEntries([...executions(trace.records)].map(([job, spans]) => [job.name, spans]))
  }
}

const settled = () => new Promise(resolve => { setImmediate(resolve) })

// ------------------------------------------------------------------------------------------------- isolation

const isolation = suite('loops')

/** The number of rounds that each loop of Table VI has finished at the end of each of ten periods. */
function progress(names, more = {}) {
  const { host, start, when } = world(more)
  const capacities = { a: 40, b: 20, c: 10 }
  const counts = { a: 0, b: 0, c: 0 }
  const seen = Object.fromEntries(names.map(name => [name, []]))
  for (const name of names) {
    start(function* () {
      yield* execute(host, 1)
      counts[name]++
    }, capacities[name], 100, { name })
  }
  for (let period = 1; period <= 10; period++) {
    when(100 * period, () => { for (const name of names) seen[name].push(counts[name]) })
  }
  host.run({ until: 1001 })
  return seen
}

isolation('Qduino, Table VI: three loops make the same progress together as each alone', () => {
  for (const policy of [fp, edf]) {
    const together = progress(['a', 'b', 'c'], { policy })
    const times = factor => Array.from({ length: 10 }, (_, n) => factor * (n + 1))
    assert.equal(together, { a: times(40), b: times(20), c: times(10) })
    for (const name of ['a', 'b', 'c']) assert.equal(progress([name], { policy })[name], together[name], name)
  }
})

isolation('a loop that never waits leaves other loops their capacity, and jobs the rest', () => {
  const { host, scheduler, start, ran } = world()
  start(function* greedy() { yield* execute(host, 1000) }, 6, 10)
  start(function* modest() {
    yield* execute(host, 2)
    yield sleep(10)
  }, 2, 10)
  scheduler.spawn(() => execute(host, 100), { name: 'other' })
  host.run({ until: 40 })
  // The periods are equal, so the loop that was ready first runs first.
  assert.equal(ran(), {
    greedy: [[0, 6], [10, 16], [20, 26], [30, 36]],
    modest: [[6, 8], [18, 20], [36, 38]],
    other: [[8, 10], [16, 18], [26, 30], [38, 40]]
  })
})

isolation('a depleted loop in the background uses the time that no other job needs', () => {
  const { host, scheduler, start } = world()
  const { job, reservation } = start(() => execute(host, 1), 2, 10, { depleted: 'background' })
  scheduler.spawn(() => execute(host, 3), { release: 5 })
  host.run({ until: 29 })
  assert.equal([job.cost, reservation.used], [27, 6])
  assert.equal(new Reservation({ capacity: 1, period: 10, scheduler }).depleted, reservation.depleted)
})

isolation('a loop repeats its body, across replenishments', () => {
  const { host, trace, start } = world()
  let rounds = 0
  start(function* lap() {
    rounds++
    yield* execute(host, 3)
  }, 4, 10)
  host.run({ until: 19 })
  assertTrace(trace, `
    0 release lap, start lap
    4 deplete lap reservation=lap
    10 replenish reservation=lap due=10, wake lap, resume lap
    14 deplete lap reservation=lap`)
  assert.is(rounds, 3) // three rounds of 3 ms started within 8 ms
})

isolation('waiting in a loop uses no capacity', () => {
  const { host, start, ran } = world()
  start(function* () {
    yield* execute(host, 1)
    yield sleep(4)
  }, 2, 10, { name: 'paced' })
  host.run({ until: 23 })
  assert.equal(ran(), { paced: [[0, 1], [5, 6], [10, 11], [15, 16], [20, 21]] })
})

isolation('a sensing and an acting loop communicate by Latest (Qduino, listing 1)', () => {
  const { host, start } = world()
  const distance = new Latest(200)
  const seen = []
  let sensed = 200
  start(function* sense() {
    yield* execute(host, 5)
    distance.write(sensed -= 50)
    yield sleep(20)
  }, 7, 10)
  start(function* act() {
    yield* execute(host, 1)
    seen.push([host.time, distance.read()])
    yield sleep(10)
  }, 2, 10)
  host.run({ until: 50 })
  assert.equal(seen, [[6, 150], [17, 150], [28, 150], [39, 100], [50, 100]])
})

isolation('loops communicate by a channel', () => {
  const { host, start } = world()
  const channel = new Channel()
  const got = []
  let sent = 0
  start(function* () {
    yield* execute(host, 1)
    yield channel.send(++sent)
  }, 3, 10, { name: 'producer' })
  start(function* () {
    got.push([yield channel.receive(), host.time])
  }, 3, 10, { name: 'consumer' })
  host.run({ until: 19 })
  // The consumer takes the first value at 1, and wakes the producer, which has equal rank and runs first. At
  // 3 the producer has no capacity left. From then on the producer wakes the consumer.
  assert.equal(got, [[1, 2], [2, 3], [3, 3], [4, 11], [5, 12], [6, 13]])
})

isolation.run()

// ---------------------------------------------------------------------------------------------------- bodies

const bodies = suite('bodies')

bodies('a plain function as body has a preemption point after each call', () => {
  const { host, scheduler, start, ran } = world()
  start(function plain() { host.advance(1) }, 2, 10)
  scheduler.spawn(() => execute(host, 20), { name: 'other' })
  host.run({ until: 23 })
  assert.equal(ran(), { plain: [[0, 2], [10, 12], [20, 22]], other: [[2, 10], [12, 20]] })
})

bodies('a loop waits for a promise or waitable that its body returns', async () => {
  const { host, start } = world()
  const log = []
  let n = 0
  start(() => {
    log.push(host.time)
    n++
    return n === 1 ? sleep(5) : n === 2 ? Promise.resolve() : n === 3 ? execute(host, 4) : sleep(100)
  }, 3, 10)
  await host.drain({ until: 50 })
  assert.equal(log, [0, 5, 5, 16])
})

bodies('a loop with an async function starts the next round after the promise settles', async () => {
  const { host, start } = world()
  const log = []
  start(async () => {
    log.push(host.time)
    host.advance(1)
    await new Promise(resolve => { host.after(4, () => { resolve(undefined) }) })
  }, 3, 10)
  await host.drain({ until: 14 })
  assert.equal(log, [0, 5, 10])
})

bodies('a loop ignores primitive results of its body', () => {
  const { host, start } = world()
  const values = [5, 'text', null, undefined, Symbol('s'), 0n, true]
  const { job } = start(function odd() {
    host.advance(1)
    return values.shift()
  }, 10, 10)
  host.run({ until: 9 })
  assert.is(values.length, 0)
  assert.is(job.state, 'ready')
})

bodies('a body that returns a plain object fails its loop', () => {
  const { host, start } = world()
  const { job } = start(() => ({ neither: 'nor' }), 3, 10)
  let error
  job.catch(reason => { error = reason })
  host.run()
  return settled().then(() => assert.instance(error, TypeError))
})

bodies('an error in the body fails the job of the loop, and other loops continue', () => {
  const { host, start } = world()
  let rounds = 0
  const { job } = start(function* () {
    yield* execute(host, 1)
    if (++rounds === 3) throw new Error('broken')
  }, 5, 10)
  const other = start(function* () { yield* execute(host, 1) }, 2, 10, { name: 'other' })
  host.run({ until: 29 })
  assert.is(job.state, 'failed')
  assert.is(rounds, 3)
  assert.is(other.job.cost, 6)
  // No code handles the rejection, so it is reported to the platform.
  assert.equal(host.errors.map(({ message }) => message), ['broken'])
})

bodies('a loop continues after an error that its body handles', async () => {
  const { host, start } = world()
  let rounds = 0
  const { job } = start(function* () {
    rounds++
    try {
      yield Promise.reject(new Error('broken'))
    } catch {
      yield sleep(1)
    }
  }, 5, 10)
  await host.drain({ until: 3.5 })
  assert.is(rounds, 4)
  assert.is(job.state, 'waiting')
})

bodies.run()

// ------------------------------------------------------------------------------------------ the end of loops

const ends = suite('the end of loops')

ends('cancel runs the finally blocks of the body, and cancels the job with the reason', async () => {
  const { host, trace, start, when } = world()
  const { job, cancel } = start(function* lap() {
    try {
      yield* execute(host, 5)
    } finally {
      yield* execute(host, 1)
    }
  }, 10, 10)
  let reason
  job.catch(error => { reason = error })
  when(3, () => {
    assert.is(cancel('enough'), true)
    assert.is(cancel('again'), false)
  })
  await host.drain()
  assertTrace(trace, `
    0 release lap, start lap
    4 cancel lap error=enough`)
  assert.is(reason, 'enough')
})

ends('a loop can be cancelled while it waits, is depleted, or has a capacity of 0', async () => {
  for (const body of [() => sleep(100), 'busy']) {
    for (const capacity of [0, 2]) {
      const { host, start, when } = world()
      const { job, cancel } = start(body === 'busy' ? () => execute(host, 50) : body, capacity, 10)
      when(5, () => { cancel() })
      const error = await Promise.all([job.then(() => 'done', ({ name }) => name), host.drain()])
      assert.equal(error, ['AbortError', 5])
    }
  }
})

ends('a signal ends a loop, and has no listener afterwards', async () => {
  const { host, start, when } = world()
  const controller = new AbortController()
  const { signal } = controller
  const { job } = start(() => execute(host, 5), 10, 10, { signal })
  let reason
  job.catch(error => { reason = error })
  assert.is(abortListeners(signal), 1)
  when(3, () => { controller.abort('stop') })
  await host.drain()
  assert.equal([host.time, reason, job.state], [3, 'stop', 'cancelled'])
  assert.is(abortListeners(signal), 0)
})

ends('a loop with an aborted signal never starts', async () => {
  const { host, scheduler, start } = world()
  let rounds = 0
  const { job } = start(() => { rounds++ }, 10, 10, { signal: AbortSignal.abort('before') })
  let reason
  job.catch(error => { reason = error })
  await host.drain()
  assert.equal([rounds, reason, job.state], [0, 'before', 'cancelled'])
  new Reservation({ capacity: 10, period: 10, scheduler })
})

ends('a loop can cancel itself', async () => {
  const { host, start } = world()
  let rounds = 0
  const lap = start(function* () {
    yield* execute(host, 1)
    if (++rounds === 3) lap.cancel()
  }, 10, 10)
  lap.job.catch(() => {})
  await host.drain()
  assert.equal([rounds, host.time], [3, 3])
})

ends('a cancelled loop leaves no timer and no task of the event loop', async () => {
  const { host, scheduler, start, when } = world()
  const { job, cancel } = start(() => execute(host, 1), 2, 10)
  job.catch(() => {})
  when(15, () => { cancel() })
  let idle = false
  scheduler.idle().then(() => { idle = true })
  await host.drain()
  assert.equal([host.time, host.posts, host.timers.filter(({ ref }) => ref).length], [15, 0, 0])
  assert.ok(idle)
})

ends.run()

// ------------------------------------------------------------------------------------------------ parameters

const parameters = suite('parameters of loops')

parameters('loop returns its job and its reservation', () => {
  const { scheduler } = world()
  const { job, reservation } = loop(function* lap() {}, { capacity: 3, period: 12, scheduler })
  assert.instance(job, Job)
  assert.instance(reservation, Reservation)
  const { name, kind, depleted, capacity, period, priority } = reservation
  assert.equal({ name, kind, depleted, capacity, period, priority }, {
    name: 'lap', kind: 'sporadic', depleted: 'background', capacity: 3, period: 12, priority: 1 / 12
  })
  assert.equal([job.name, job.deadline, job.priority], ['lap', Infinity, 0])
  assert.is(reservation.scheduler, scheduler)
})

parameters('loop passes its options to the job or to the reservation', () => {
  const { start } = world()
  const { job, reservation } = start(() => {}, 3, 12, {
    name: 'x', kind: 'polling', priority: 7, deadline: 40, wcet: 2
  })
  assert.equal([reservation.name, reservation.kind, reservation.priority], ['x', 'polling', 7])
  assert.equal([job.name, job.deadline, job.priority], ['x', 40, 7])
  assert.is(start(() => {}, 1, 12).job.name, 'loop')
})

parameters('a loop started in a job uses the scheduler of that job', () => {
  const { host, scheduler } = world()
  let made
  scheduler.spawn(function* () { made = loop(() => sleep(5), { capacity: 1, period: 10 }) })
  host.run({ until: 1 })
  assert.is(made.reservation.scheduler, scheduler)
})

parameters('a resized loop continues with its new capacity', () => {
  const { host, scheduler, start, ran, when } = world()
  const { reservation } = start(() => execute(host, 1), 2, 10, { name: 'lap' })
  scheduler.spawn(() => execute(host, 100), { name: 'other' })
  when(12, () => { reservation.resize({ capacity: 4 }) })
  when(16, () => { reservation.resize({ capacity: 0 }) })
  when(40, () => { reservation.resize({ capacity: 3 }) })
  host.run({ until: 49 })
  assert.equal(ran().lap, [[0, 2], [10, 14], [40, 43]])
})

parameters('a loop that is not admitted leaves no job', () => {
  const { host, scheduler, start } = world()
  start(() => sleep(5), 7, 10)
  assert.throws(() => start(() => sleep(5), 4, 10), error => error instanceof AdmissionError)
  assert.is(scheduler.stats().jobs, 1)
  start(() => sleep(5), 3, 10)
  host.run({ until: 1 })
  assert.is(scheduler.stats().jobs, 2)
})

parameters('a deadline applies to the whole loop', () => {
  const { host, start } = world()
  let misses = 0
  const { job } = start(() => execute(host, 1), 2, 10, { deadline: 15, onMiss: () => { misses++ } })
  host.run({ until: 50 })
  assert.equal([misses, job.missed], [1, true])
})

parameters('loop rejects a Task as body', () => {
  const { scheduler } = world()
  assert.throws(() => loop(/** @type {any} */ (new Task(() => {})), { capacity: 1, period: 10, scheduler }),
    error => error instanceof TypeError && error.message === 'body must be a function, got an object (Task)')
})

parameters('nextPeriod() in a loop fails with a TypeError', async () => {
  const { host, start } = world()
  const { job } = start(function* () { yield nextPeriod() }, 1, 10)
  let error
  job.catch(reason => { error = reason })
  await host.drain({ until: 5 })
  assert.instance(error, TypeError)
})

parameters.run()
