/** Loops with capacity and period (Qduino II-C), against schedules worked by hand. */
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

/** A scheduler that reads its clock at every point and does not rotate, unless the options say otherwise. */
function world(options = {}) {
  const { host, scheduler, trace } = exactWorld({ round: 1, except: ['round', 'alarm'], ...options })
  return {
    host,
    scheduler,
    trace,
    /** Depleted, it waits, unless told otherwise. */
    start: (body, capacity, period, more = {}) =>
      loop(body, { capacity, period, depleted: 'wait', scheduler, ...more }),
    when: (time, act) => at(time, act, { scheduler }),
    /** Who ran when. */
    ran: () => Object.fromEntries([...executions(trace.records)].map(([job, spans]) => [job.name, spans]))
  }
}

const settled = () => new Promise(resolve => { setImmediate(resolve) })

// ------------------------------------------------------------------------------------------------- isolation

const isolation = suite('loops')

/** How often each loop of Table VI came round by the end of every one of ten periods. */
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

isolation('Qduino, Table VI: three together get in every period what each gets alone', () => {
  for (const policy of [fp, edf]) {
    const together = progress(['a', 'b', 'c'], { policy })
    const times = factor => Array.from({ length: 10 }, (_, n) => factor * (n + 1))
    assert.equal(together, { a: times(40), b: times(20), c: times(10) })
    for (const name of ['a', 'b', 'c']) assert.equal(progress([name], { policy })[name], together[name], name)
  }
})

isolation('a body that never waits leaves the others theirs, and jobs without a reservation the rest', () => {
  const { host, scheduler, start, ran } = world()
  start(function* greedy() { yield* execute(host, 1000) }, 6, 10)
  start(function* modest() {
    yield* execute(host, 2)
    yield sleep(10)
  }, 2, 10)
  scheduler.spawn(() => execute(host, 100), { name: 'other' })
  host.run({ until: 40 })
  // Equal periods: who was ready first goes first.
  assert.equal(ran(), {
    greedy: [[0, 6], [10, 16], [20, 26], [30, 36]],
    modest: [[6, 8], [18, 20], [36, 38]],
    other: [[8, 10], [16, 18], [26, 30], [38, 40]]
  })
})

isolation('in the background a loop uses what nobody else wants', () => {
  const { host, scheduler, start } = world()
  const { job, reservation } = start(() => execute(host, 1), 2, 10, { depleted: 'background' })
  scheduler.spawn(() => execute(host, 3), { release: 5 })
  host.run({ until: 29 })
  assert.equal([job.cost, reservation.used], [27, 6])
  assert.equal(new Reservation({ capacity: 1, period: 10, scheduler }).depleted, reservation.depleted)
})

isolation('the body again and again, from where it ended, and the capacity as it comes', () => {
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
  assert.is(rounds, 3) // of 3 ms, in 8
})

isolation('what it waits for costs nothing', () => {
  const { host, start, ran } = world()
  start(function* () {
    yield* execute(host, 1)
    yield sleep(4)
  }, 2, 10, { name: 'paced' })
  host.run({ until: 23 })
  assert.equal(ran(), { paced: [[0, 1], [5, 6], [10, 11], [15, 16], [20, 21]] })
})

isolation('sensing and acting meet in a channel of four slots, as in Qduino\'s first listing', () => {
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

isolation('loops meet in channels', () => {
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
  // The consumer, which takes the first at 1, wakes its equal, which goes first; at 3 that has nothing left.
  // From then on it is the producer that wakes the consumer.
  assert.equal(got, [[1, 2], [2, 3], [3, 3], [4, 11], [5, 12], [6, 13]])
})

isolation.run()

// ---------------------------------------------------------------------------------------------------- bodies

const bodies = suite('bodies')

bodies('a plain function: every call ends with a preemption point', () => {
  const { host, scheduler, start, ran } = world()
  start(function plain() { host.advance(1) }, 2, 10)
  scheduler.spawn(() => execute(host, 20), { name: 'other' })
  host.run({ until: 23 })
  assert.equal(ran(), { plain: [[0, 2], [10, 12], [20, 22]], other: [[2, 10], [12, 20]] })
})

bodies('a function that returns what is to be waited for', async () => {
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

bodies('an async function: the next round when its promise is settled', async () => {
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

bodies('what a function returns besides is nothing to wait for', () => {
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

bodies('what is neither a point, a call nor something to wait for is an error of the loop', () => {
  const { host, start } = world()
  const { job } = start(() => ({ neither: 'nor' }), 3, 10)
  let error
  job.catch(reason => { error = reason })
  host.run()
  return settled().then(() => assert.instance(error, TypeError))
})

bodies('an error ends the loop, its job fails with it, and others go on', () => {
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
  // Nobody has asked about it, so the platform is told.
  assert.equal(host.errors.map(({ message }) => message), ['broken'])
})

bodies('an error that a body handles ends nothing', async () => {
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

ends('cancel: the body\'s finally runs, the job is cancelled with the reason', async () => {
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

ends('cancelled while it waits, depleted, or off', async () => {
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

ends('a signal ends it; once it has ended nobody listens to that', async () => {
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

ends('with a signal that was aborted before, it never begins', async () => {
  const { host, scheduler, start } = world()
  let rounds = 0
  const { job } = start(() => { rounds++ }, 10, 10, { signal: AbortSignal.abort('before') })
  let reason
  job.catch(error => { reason = error })
  await host.drain()
  assert.equal([rounds, reason, job.state], [0, 'before', 'cancelled'])
  new Reservation({ capacity: 10, period: 10, scheduler })
})

ends('its own job may end it', async () => {
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

ends('nothing is left of it: no timer, no posts', async () => {
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

parameters('what it returns: the job and its reservation', () => {
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

parameters('the options go to the one or the other', () => {
  const { start } = world()
  const { job, reservation } = start(() => {}, 3, 12, {
    name: 'x', kind: 'polling', priority: 7, deadline: 40, wcet: 2
  })
  assert.equal([reservation.name, reservation.kind, reservation.priority], ['x', 'polling', 7])
  assert.equal([job.name, job.deadline, job.priority], ['x', 40, 7])
  assert.is(start(() => {}, 1, 12).job.name, 'loop')
})

parameters('in a job, on its scheduler', () => {
  const { host, scheduler } = world()
  let made
  scheduler.spawn(function* () { made = loop(() => sleep(5), { capacity: 1, period: 10 }) })
  host.run({ until: 1 })
  assert.is(made.reservation.scheduler, scheduler)
})

parameters('a loop that is resized goes on with what it has then', () => {
  const { host, scheduler, start, ran, when } = world()
  const { reservation } = start(() => execute(host, 1), 2, 10, { name: 'lap' })
  scheduler.spawn(() => execute(host, 100), { name: 'other' })
  when(12, () => { reservation.resize({ capacity: 4 }) })
  when(16, () => { reservation.resize({ capacity: 0 }) })
  when(40, () => { reservation.resize({ capacity: 3 }) })
  host.run({ until: 49 })
  assert.equal(ran().lap, [[0, 2], [10, 14], [40, 43]])
})

parameters('one too many is refused, and leaves nothing', () => {
  const { host, scheduler, start } = world()
  start(() => sleep(5), 7, 10)
  assert.throws(() => start(() => sleep(5), 4, 10), error => error instanceof AdmissionError)
  assert.is(scheduler.stats().jobs, 1)
  start(() => sleep(5), 3, 10)
  host.run({ until: 1 })
  assert.is(scheduler.stats().jobs, 2)
})

parameters('deadlines are of its job: the whole loop is one', () => {
  const { host, start } = world()
  let misses = 0
  const { job } = start(() => execute(host, 1), 2, 10, { deadline: 15, onMiss: () => { misses++ } })
  host.run({ until: 50 })
  assert.equal([misses, job.missed], [1, true])
})

parameters('a Task is no body', () => {
  const { scheduler } = world()
  assert.throws(() => loop(/** @type {any} */ (new Task(() => {})), { capacity: 1, period: 10, scheduler }),
    error => error instanceof TypeError && error.message === 'body must be a function, got an object (Task)')
})

parameters('it has no periods to wait for', async () => {
  const { host, start } = world()
  const { job } = start(function* () { yield nextPeriod() }, 1, 10)
  let error
  job.catch(reason => { error = reason })
  await host.drain({ until: 5 })
  assert.instance(error, TypeError)
})

parameters.run()
