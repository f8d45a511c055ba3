/** Tests of `interrupt`: handlers with a capacity, bottom halves in I/O reservations, delays. */
import { getEventListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Task, edf, fp, rm } from '../../../rt.mjs'
import { at, sleep } from '../../../alarms.mjs'
import { reportDeadlocks } from '../../../addons/deadlock.mjs'
import { Channel, Resource } from '../../../sync.mjs'
import {
  AdmissionError, IoReservation, Reservation, admit, interrupt, loop, worstCaseDelay
} from '../../../addons/reservations.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { assertTrace, executions } from '../../support/trace.mjs'
import { execute } from '../../support/virtual-host.mjs'
import { abortListeners, exactWorld } from '../../support/world.mjs'

/** A scheduler that reads its clock at every point and does not rotate, and a target for events. */
function world(options = {}) {
  const { host, scheduler, trace } = exactWorld({ round: 1, except: ['round', 'alarm'], ...options })
  const target = new EventTarget()
  /** Dispatches an event with the time stamp `time`. */
  const ping = (detail = undefined, time = host.time) => {
    const event = Object.assign(new Event('ping'), { detail })
    Object.defineProperty(event, 'timeStamp', { value: time })
    target.dispatchEvent(event)
  }
  return {
    host,
    scheduler,
    trace,
    target,
    ping,
    /** Dispatches numbered events at these times. */
    pings: (...times) => times.forEach((time, n) => host.after(time, () => { ping(n) })),
    /** Makes a handler that waits when its reservation is depleted. */
    handle: (task, more = {}) => {
      const depleted = more.capacity === undefined ? undefined : 'wait'
      return interrupt(target, 'ping', task, { scheduler, depleted, ...more })
    },
    io: (utilization, more = {}) => new IoReservation({ utilization, name: 'io', scheduler, ...more }),
    reserve: (capacity, period, more = {}) =>
      new Reservation({ capacity, period, name: 'main', depleted: 'wait', scheduler, ...more }),
    run: (name, ms, { step = 1, ...given } = /** @type {any} */ ({})) =>
      scheduler.spawn(() => execute(host, ms, step), { name, ...given }),
    when: (time, act) => at(time, act, { scheduler }),
    /** The intervals in which jobs ran, by name, in the order of the jobs. */
    ran: () => {
      /** @type {Record<string, any>} */
      const found = {}
      const inOrder = [...executions(trace.records)].sort(([a], [b]) => a.id - b.id)
      for (const [{ name }, spans] of inOrder) (found[name] ??= []).push(...spans)
      return found
    }
  }
}

// ------------------------------------------------------------------------------- handlers with a reservation

const handlers = suite('handlers with a reservation')

handlers('events are handled one after the other, within the capacity', () => {
  const { host, trace, handle, ping } = world()
  const seen = []
  const { reservation } = handle(function* ping({ detail }) {
    seen.push(detail)
    yield* execute(host, 1)
  }, { capacity: 2, period: 10 })
  for (let n = 0; n < 3; n++) ping(n)
  host.run()
  assertTrace(trace, `
    0 release ping, release ping, block ping on=Turn, start ping
    1 finish ping, wake ping, release ping, block ping on=Turn, start ping
    2 finish ping, wake ping, deplete ping reservation=ping
    10 replenish reservation=ping due=10, wake ping, start ping
    11 finish ping`)
  assert.equal(seen, [0, 1, 2])
  const { used, capacity, period, name } = reservation
  assert.equal([used, capacity, period, name], [3, 2, 10, 'ping'])
})

handlers('a storm of events takes the capacity at any rate, and no more', () => {
  for (const policy of [fp, edf]) {
    for (const every of [0.25, 1, 4]) {
      const { host, handle, ping, run } = world({ policy })
      const handling = handle(() => execute(host, 1), { capacity: 3, period: 10, size: 4 })
      const other = run('other', 1000, { priority: 5 })
      let raised = 0
      for (let time = 0; time < 100; time += every) host.after(time, () => { raised++; ping() })
      host.run({ until: 99 })
      const { reservation, waiting, dropped } = handling
      const took = [other.cost, reservation.used]
      assert.equal(took, every === 4 ? [75, 25] : [70, 30], `${policy.name} ${every}`)
      assert.ok(waiting <= 4)
      // An event that was neither handled nor dropped waits, or its job runs.
      assert.ok([0, 1].includes(raised - reservation.used - dropped - waiting), `${policy.name} ${every}`)
    }
  }
})

handlers('a depleted handler in the background handles events while no other job is ready', () => {
  const { host, handle, ping, run } = world()
  const { reservation } = handle(() => execute(host, 1), { capacity: 2, period: 10, depleted: 'background' })
  for (let n = 0; n < 6; n++) ping(n)
  const other = run('other', 3)
  host.run()
  assert.equal([host.time, other.finished, reservation.used], [9, 5, 2])
})

handlers('the release and the deadline of a handler\'s job count from the time of the event', () => {
  const { host, scheduler, handle, ping } = world()
  const seen = []
  const misses = []
  host.advance(20)
  handle(function* ({ detail }) {
    const { release, started, absoluteDeadline, missed } = scheduler.current
    seen.push([detail, release, started, absoluteDeadline, missed])
    yield* execute(host, 1)
  }, { capacity: 2, period: 10, deadline: 6, onMiss: ({ release }) => { misses.push(release) } })
  ping('a', 18)
  ping('b', 17)
  ping('c', 19)
  host.run()
  // The third event waits from 22 to 30, and its deadline at 25 passes.
  assert.equal(seen, [['a', 18, 20, 24, false], ['b', 17, 21, 23, false], ['c', 19, 30, 25, true]])
  assert.equal(misses, [19])
})

handlers('the period of interrupt belongs to the reservation, not to the jobs', () => {
  const { host, scheduler, handle, ping, reserve, ran } = world({ policy: rm })
  const reservation = /** @type {any} */ (reserve(1, 100, { depleted: 'background' }))
  handle(() => execute(host, 2), { name: 'handler', capacity: 1, period: 10, depleted: 'background' })
  new Task(() => execute(host, 2), { name: 'periodic', period: 20, scheduler, reservation }).release()
  ping()
  host.run()
  // In the background, jobs rank by their own rates.
  assert.equal(ran(), { handler: [[0, 1], [3, 4]], periodic: [[1, 3]] })
})

handlers('kind, depleted and priority of interrupt belong to the reservation', () => {
  const { handle } = world()
  const { reservation } = handle(function* tick() {}, {
    capacity: 2, period: 10, kind: 'deferrable', priority: 4, depleted: 'background', name: 'tack'
  })
  const { kind, priority, depleted, name } = reservation
  assert.equal({ kind, priority, depleted, name }, {
    kind: 'deferrable', priority: 4, depleted: 'background', name: 'tack'
  })
  const byDeadline = world({ policy: edf }).handle(() => {}, { capacity: 2, period: 10 })
  assert.is(byDeadline.reservation.kind, 'constant-bandwidth')
  assert.is(world().handle(() => {}).reservation, undefined)
})

handlers('the handler gets the result of `before`; if `before` throws, no job is released', () => {
  const { host, handle, ping } = world()
  const seen = []
  const handling = handle(value => { seen.push(value) }, {
    capacity: 2,
    period: 10,
    before: ({ detail }) => {
      if (detail === 1) throw new Error('no')
      return detail * 10
    }
  })
  for (const n of [1, 2, 3]) ping(n)
  assert.is(handling.waiting, 1) // the first event has a job already
  host.run()
  assert.equal(seen, [20, 30])
  assert.equal(host.errors.map(({ message }) => message), ['no'])
})

handlers('an event is handled after a failure, a cancellation or a miss of the job before', () => {
  const { host, scheduler, handle, ping } = world()
  const seen = []
  handle(function* ({ detail }) {
    seen.push([detail, host.time])
    if (detail === 'fails') throw new Error('failed')
    if (detail === 'cancelled') scheduler.current.cancel()
    yield* execute(host, detail === 'late' ? 8 : 1)
  }, { capacity: 10, period: 10, deadline: 6, miss: 'abort' })
  ping('fails')
  ping('cancelled')
  host.after(1, () => {
    ping('late')
    ping('too late')
  })
  host.after(3, () => { ping('in time') })
  host.run()
  // At 8, the clock shows that 7 has passed. This also ends the job of the next event, which has not started.
  assert.equal(seen, [['fails', 0], ['cancelled', 0], ['late', 1], ['in time', 8]])
  assert.equal(host.errors.map(({ message }) => message), ['failed'])
})

handlers('a handler can wait, and the next event waits for it', async () => {
  const { host, handle, ping } = world()
  const seen = []
  handle(function* ({ detail }) {
    seen.push([detail, host.time])
    yield sleep(4)
  }, { capacity: 2, period: 10 })
  handle(async ({ detail }) => {
    seen.push([`async ${detail}`, host.time])
    await new Promise(resolve => { host.after(3, () => { resolve(undefined) }) })
  }, { capacity: 2, period: 10 })
  ping(0)
  ping(1)
  await host.drain()
  assert.equal(seen, [[0, 0], ['async 0', 0], ['async 1', 3], [1, 4]])
})

handlers('with a given reservation, the jobs of a handler are not serialised', () => {
  const { host, handle, ping, reserve, ran } = world({ slice: 1 })
  const reservation = reserve(4, 10)
  const handling = handle(() => execute(host, 2), { reservation, name: 'both' })
  ping('a')
  ping('b')
  assert.is(handling.waiting, 0)
  host.run()
  assert.is(handling.reservation, reservation)
  assert.equal([reservation.used, host.time], [4, 4])
  assert.equal(ran(), { both: [[0, 1], [2, 3], [1, 2], [3, 4]] })
})

handlers('an event whose job is rejected is reported and dropped, and the next is handled', () => {
  const { host, scheduler, handle, ping } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push(detail) }, { capacity: 2, period: 10 })
  ping(0)
  host.run()
  scheduler.configure({ policy: edf })
  ping(1)
  host.run()
  assert.equal(host.errors.map(({ message }) => message), [
    `reservation must be made for the policy edf, but ${handling.reservation.name} was made under fp`
  ])
  scheduler.configure({ policy: fp })
  ping(2)
  host.run()
  assert.equal([seen, handling.waiting], [[0, 2], 0])
})

handlers('two handlers of one target have separate reservations', () => {
  const { host, handle, ping, ran } = world()
  handle(function* slow() { yield* execute(host, 3) }, { capacity: 3, period: 30 })
  handle(function* quick() { yield* execute(host, 1) }, { capacity: 1, period: 10 })
  ping()
  ping()
  host.run()
  // Each handler processes one event after the other, and the handlers run concurrently.
  assert.equal(ran(), { quick: [[0, 1], [10, 11]], slow: [[1, 4], [30, 33]] })
})

handlers('with excess, the reservation is cancelled after the last job', () => {
  const { host, scheduler, handle, pings } = world()
  const handling = handle(() => execute(host, 4), {
    excess: 'restart', capacity: 1, period: 10, depleted: 'background', once: true
  })
  pings(0, 1, 2, 3)
  host.run()
  assert.equal([handling.cancel(), scheduler.stats().jobs], [false, 1])
  assert.is(admit([], { scheduler }).utilization, 0)
})

handlers.run()

// ------------------------------------------------------------------------------- the number of waiting
// events

const waiting = suite('number of waiting events')

waiting('size limits the number of waiting events; further events are dropped and counted', () => {
  for (const more of [{}, { capacity: 2, period: 10 }]) {
    const { host, handle, ping } = world()
    const seen = []
    const handling = handle(function* ({ detail }) {
      seen.push(detail)
      yield* execute(host, 1)
    }, { size: 2, ...more })
    for (let n = 0; n < 6; n++) ping(n)
    // The first event has a job.
    assert.equal([handling.waiting, handling.dropped], [2, 3])
    host.run()
    ping(6)
    host.run()
    assert.equal(seen, [0, 1, 2, 6])
    assert.equal([handling.waiting, handling.dropped], [0, 3])
  }
})

waiting('without size, no event is dropped', () => {
  const { host, handle, ping } = world()
  let count = 0
  const handling = handle(function* () { count++ }, { capacity: 2, period: 10 })
  for (let n = 0; n < 1000; n++) ping()
  assert.equal([handling.waiting, handling.dropped], [999, 0])
  host.run()
  assert.equal([count, handling.waiting, handling.dropped], [1000, 0, 0])
})

waiting('cancel drops the waiting events, and the running job continues', () => {
  const { host, handle, ping, when, target } = world()
  const seen = []
  const handling = handle(function* ({ detail }) {
    yield* execute(host, 3)
    seen.push([detail, host.time])
  }, { capacity: 10, period: 10 })
  for (let n = 0; n < 4; n++) ping(n)
  when(1, () => {
    assert.is(handling.cancel(), true)
    assert.is(handling.cancel(), false)
    assert.equal([handling.waiting, handling.dropped], [0, 3])
    assert.is(getEventListeners(target, 'ping').length, 0)
  })
  host.run()
  assert.equal(seen, [[0, 3]])
})

waiting('an aborted signal cancels a handler', () => {
  const { host, handle, ping, when, target } = world()
  const controller = new AbortController()
  let count = 0
  const handling = handle(function* () {
    count++
    yield* execute(host, 3)
  }, { capacity: 10, period: 10, signal: controller.signal })
  ping()
  ping()
  when(1, () => { controller.abort() })
  host.run()
  assert.equal([count, handling.dropped, getEventListeners(target, 'ping').length], [1, 1, 0])
  assert.is(abortListeners(controller.signal), 0)
})

waiting('a signal that was already aborted prevents the handler', () => {
  const { host, handle, ping, target } = world()
  let count = 0
  handle(() => { count++ }, { capacity: 10, period: 10, signal: AbortSignal.abort() })
  assert.is(getEventListeners(target, 'ping').length, 0)
  ping()
  host.run()
  assert.is(count, 0)
})

waiting('`once` handles the first event completely, and no other event', () => {
  for (const more of [{}, { io: true }]) {
    const { host, handle, ping, io, target } = world()
    const seen = []
    const given = more.io ? { io: io(0.2), bottomHalf: () => execute(host, 3) } : {}
    handle(({ detail }) => { seen.push([detail, host.time]) }, {
      capacity: 2, period: 10, once: true, ...given
    })
    ping(0)
    ping(1)
    assert.is(getEventListeners(target, 'ping').length, 0)
    host.run()
    assert.equal(seen, [[0, more.io ? 11 : 0]])
  }
})

waiting('a scheduler is not deadlocked while a handler of interrupt() can release jobs', () => {
  const { host, scheduler, handle } = world()
  reportDeadlocks(scheduler)
  const handling = handle(() => {}, { capacity: 1, period: 10 })
  const job = scheduler.spawn(function* () { yield new Channel().receive() })
  job.catch(() => {})
  host.run()
  assert.equal(host.errors, [])
  handling.cancel()
  job.cancel()
})

waiting.run()

// ------------------------------------------------------------------------ noInterrupts and interrupts of
// handlers

const switching = suite('noInterrupts and interrupts of handlers')

switching('events between noInterrupts and interrupts are handled in order afterwards', () => {
  for (const more of [{}, { capacity: 5, period: 10 }]) {
    const { host, scheduler, handle, pings, when } = world()
    const seen = []
    const handling = handle(function* ({ detail }) {
      seen.push([detail, scheduler.current.release, host.time])
      yield* execute(host, 1)
    }, more)
    pings(0, 2, 3, 6)
    when(1, () => { handling.noInterrupts() })
    when(4, () => { assert.equal([handling.waiting, handling.dropped], [2, 0]) })
    when(5, () => { handling.interrupts() })
    host.run()
    // The release is the time of the event, so the time until the event is handled counts.
    assert.equal(seen, [[0, 0, 0], [1, 2, 5], [2, 3, 6], [3, 6, 7]])
  }
})

switching('noInterrupts({ drop: true }) drops events and counts them', () => {
  const { host, handle, pings, when } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push(detail) }, { capacity: 5, period: 10 })
  pings(0, 2, 3, 6, 8, 11)
  when(1, () => { handling.noInterrupts({ drop: true }) })
  when(5, () => { handling.interrupts() })
  when(7, () => { handling.noInterrupts() })
  when(9, () => { assert.equal([handling.waiting, handling.dropped], [1, 2]) })
  when(10, () => { handling.noInterrupts({ drop: true }) })
  when(12, () => { handling.interrupts() })
  host.run()
  // Events that were held back before are kept.
  assert.equal(seen, [0, 3, 4])
  assert.equal([handling.waiting, handling.dropped], [0, 3])
})

switching('after noInterrupts, earlier events are handled and later events are held back', () => {
  const { host, handle, ping, when } = world()
  const seen = []
  const handling = handle(function* ({ detail }) {
    seen.push([detail, host.time])
    yield* execute(host, 2)
  }, { capacity: 10, period: 10 })
  ping(0)
  ping(1)
  when(1, () => {
    handling.noInterrupts()
    ping(2)
  })
  when(8, () => { handling.interrupts() })
  host.run()
  assert.equal(seen, [[0, 0], [1, 2], [2, 8]])
})

switching('held events count against the size, and cancel drops them', () => {
  const { host, handle, ping } = world()
  let count = 0
  const handling = handle(() => { count++ }, { capacity: 5, period: 10, size: 2 })
  handling.noInterrupts()
  for (let n = 0; n < 5; n++) ping(n)
  assert.equal([handling.waiting, handling.dropped], [2, 3])
  handling.cancel()
  handling.interrupts()
  host.run()
  assert.equal([count, handling.waiting, handling.dropped], [0, 0, 5])
})

switching('interrupts() has no effect on a handler that is on', () => {
  const { host, handle, ping } = world()
  let count = 0
  const handling = handle(() => { count++ }, { capacity: 5, period: 10 })
  handling.interrupts()
  ping()
  handling.interrupts()
  host.run()
  assert.is(count, 1)
})

switching('noInterrupts and interrupts work without a reservation', () => {
  const { host, handle, ping } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push(detail) }, { depleted: undefined })
  handling.noInterrupts()
  ping(0)
  ping(1)
  assert.is(handling.waiting, 2)
  handling.interrupts()
  assert.is(handling.waiting, 0)
  handling.noInterrupts({ drop: true })
  ping(2)
  handling.interrupts()
  host.run()
  assert.equal(seen, [0, 1])
  assert.is(handling.dropped, 1)
})

switching.run()

// ------------------------------------------------------------------------------------------ I/O reservations

const pibs = suite('I/O reservations')

pibs('after a use of u ms, an I/O reservation waits u / utilization (Danish, Li, West)', () => {
  const { host, trace, reserve, io, run } = world()
  const shared = io(0.2)
  const reservation = shared.for(reserve(5, 10))
  run('a', 1, { reservation })
  run('b', 1, { release: 2, reservation })
  run('c', 0.5, { step: 0.5, release: 20, reservation })
  run('d', 0.5, { step: 0.5, release: 21, reservation })
  run('e', 1, { release: 40, reservation })
  host.run()
  // 1 ms from 0: eligible at 5. 1 ms from 5: eligible at 10. 0.5 ms from 20: eligible at 22.5.
  assertTrace(trace, `
    0 release a, start a
    1 finish a
    2 release b, deplete b reservation=io
    5 replenish reservation=io due=5, wake b, start b
    6 finish b
    20 release c, start c
    20.5 finish c
    21 release d, deplete d reservation=io
    22.5 replenish reservation=io due=22.5, wake d, start d
    23 finish d
    40 release e, start e
    41 finish e`)
  assert.equal([shared.used, shared.replenishments, shared.depletions], [4, 2, 0])
})

pibs('the capacity of an I/O reservation is its utilization times the inherited period', () => {
  const { host, trace, reserve, io, run } = world()
  const shared = io(0.2)
  run('short', 3, { reservation: shared.for(reserve(5, 10)) })
  run('long', 5, { release: 30, reservation: shared.for(reserve(5, 20)) })
  host.run()
  assertTrace(trace, `
    0 release short, start short
    2 deplete short reservation=io
    10 replenish reservation=io due=10, wake short, resume short
    11 finish short
    30 release long, start long
    34 deplete long reservation=io
    50 replenish reservation=io due=50, wake long, resume long
    51 finish long`)
  assert.is(shared.depletions, 2)
})

pibs('an I/O reservation inherits priority and period from its most urgent main', () => {
  for (const policy of [fp, edf]) {
    const { host, reserve, io, run, ran } = world({ policy })
    const shared = io(0.4)
    run('between', 12, { reservation: reserve(8, 20) })
    run('slow', 1, { reservation: shared.for(reserve(1, 40)) })
    run('quick', 1, { release: 2, reservation: shared.for(reserve(1, 8)) })
    host.run()
    // From 2 on, both jobs run by the priority and the period of 8 ms.
    assert.equal(ran(), {
      between: [[0, 2], [4, 10], [20, 24]], slow: [[2, 3]], quick: [[3, 4]]
    }, policy.name)
  }
})

pibs('a use of a long period does not keep its capacity at the rank of a short period', () => {
  for (const policy of [fp, edf]) {
    const { host, reserve, io, run, when } = world({ policy })
    const shared = io(0.1)
    const between = reserve(8, 20, { name: 'between' })
    const mains = [reserve(1, 400), reserve(1, 8)]
    admit([shared, between, ...mains])
    run('between', 1000, { reservation: between })
    run('slow', 100, { reservation: shared.for(mains[0]) })
    run('quick', 0.5, { step: 0.5, release: 2, reservation: shared.for(mains[1]) })
    const used = []
    for (const time of [20, 40, 60]) when(time, () => { used.push(between.used) })
    host.run({ until: 61 })
    assert.equal(used, [8, 16, 24], policy.name)
  }
})

pibs('a use beyond the capacity of a more urgent main ends, and is paid for first', () => {
  const { host, reserve, io, run, ran } = world()
  const shared = io(0.1)
  run('slow', 5, { reservation: shared.for(reserve(1, 400)) })
  run('quick', 0.5, { step: 0.5, release: 4, reservation: shared.for(reserve(1, 8)) })
  host.run()
  // 4 ms from 0 exceed 0.8 ms: eligible at 40. 1 ms from 40: eligible at 50.
  assert.equal(ran(), { slow: [[0, 4], [40, 41]], quick: [[50, 50.5]] })
})

pibs('after the most urgent work, an I/O reservation ranks by its other main again', () => {
  const { host, reserve, io, run, ran } = world({ slice: 1 })
  const shared = io(0.4)
  run('between', 9, { reservation: reserve(8, 20) })
  run('slow', 3, { reservation: shared.for(reserve(1, 40)) })
  run('quick', 1, { release: 2, reservation: shared.for(reserve(1, 8)) })
  host.run({ until: 12 })
  const { between, quick, slow } = ran()
  assert.equal([between, quick, slow[0]], [[[0, 2], [4, 10]], [[3, 4]], [2, 3]])
})

pibs('an I/O reservation follows when its main is resized', () => {
  for (const policy of [fp, edf]) {
    const { host, reserve, io, run, ran, when } = world({ policy })
    const main = reserve(1, 100)
    run('I/O', 50, { reservation: io(0.2).for(main) })
    run('main', 99, { reservation: reserve(10, 50) })
    when(35, () => { main.resize({ period: 20 }) })
    host.run({ until: 116 })
    // 20 of 100 ms. From 100 on 4 of 20 ms, before the reservation with a period of 50 ms.
    assert.equal(ran(), { main: [[0, 10], [50, 60], [104, 114]], 'I/O': [[10, 30], [100, 104]] })
  }
})

pibs('in a critical section, an I/O job has the level of its main reservation', () => {
  for (const [policy, expected] of /** @type {[any, any][]} */ ([
    // Under fp all reservations have the same level. Under edf a shorter period has a higher level.
    [fp, { 'I/O': [[0, 4]], quick: [[4, 5]] }],
    [edf, { 'I/O': [[0, 1], [2, 5]], quick: [[1, 2]] }]
  ])) {
    for (const way of ['for', 'directly']) {
      const { host, scheduler, reserve, io, run, ran } = world({ policy })
      const shared = io(0.5)
      const main = reserve(2, 20)
      const resource = new Resource()
      const spawn = reservation => scheduler.spawn(() => resource.use(() => execute(host, 4)), {
        name: 'I/O', uses: /** @type {any} */ ([resource]), reservation
      })
      if (way === 'for') spawn(shared.for(main))
      else scheduler.spawn(() => { spawn(shared) }, { name: 'main', reservation: main })
      run('quick', 1, { release: 1, reservation: reserve(1, 5) })
      host.run()
      const { 'I/O': halves, quick } = ran()
      assert.equal({ 'I/O': halves, quick }, expected, `${policy.name}, ${way}`)
    }
  }
})

pibs('an I/O reservation ranks with its main reservation', () => {
  const { host, reserve, io, run, ran } = world()
  const shared = io(0.5)
  run('plain', 1, { priority: 99 })
  run('slow', 1, { reservation: reserve(5, 50) })
  run('quick', 1, { reservation: reserve(1, 5) })
  run('I/O', 1, { reservation: shared.for(reserve(2, 20)) })
  host.run()
  assert.equal(ran(), { quick: [[0, 1]], 'I/O': [[1, 2]], slow: [[2, 3]], plain: [[3, 4]] })
})

pibs('under edf, an I/O reservation ranks by the deadline of its inherited period', () => {
  const { host, reserve, io, run, ran } = world({ policy: edf })
  const shared = io(0.25)
  run('before', 1, { deadline: 19 })
  run('after', 1, { deadline: 21 })
  run('I/O', 6, { reservation: shared.for(reserve(2, 20)) })
  run('before 40', 25, { deadline: 39 })
  host.run()
  // 5 of 20 ms, then eligible at 20 with the deadline 40.
  assert.equal(ran(), {
    before: [[0, 1]], 'I/O': [[1, 6], [32, 33]], after: [[6, 7]], 'before 40': [[7, 32]]
  })
})

pibs('I/O jobs work for the reservation of the job that spawned them, at any depth', () => {
  const { host, scheduler, reserve, io, ran } = world()
  const shared = io(0.5)
  const main = reserve(4, 20)
  scheduler.spawn(function* () {
    scheduler.spawn(function* () {
      yield* execute(host, 1)
      scheduler.spawn(() => execute(host, 1), { name: 'grandchild', reservation: shared })
    }, { name: 'child', reservation: shared })
    yield* execute(host, 1)
  }, { name: 'main', reservation: main })
  scheduler.spawn(() => execute(host, 1), { name: 'plain', priority: 9 })
  host.run()
  assert.equal(ran(), { main: [[0, 1]], child: [[1, 2]], plain: [[3, 4]], grandchild: [[2, 3]] })
  assert.equal([main.used, shared.used], [1, 2])
})

pibs('an I/O job spawned in a loop works for the reservation of the loop', () => {
  const { host, scheduler, io } = world()
  const shared = io(0.1)
  let done = 0
  loop(function* () {
    scheduler.spawn(function* () {
      yield* execute(host, 1)
      done++
    }, { reservation: shared })
    yield sleep(5)
  }, { capacity: 2, period: 10, depleted: 'wait', scheduler })
  host.run({ until: 99 })
  assert.equal([done, shared.used], [10, 10])
})

pibs('an I/O reservation without a main is rejected, and nothing changes', () => {
  const { host, scheduler, io, run } = world()
  const shared = io(0.5)
  const isRefusal = error => error instanceof TypeError && error.message ===
    'reservation must be given as io.for(main) where the running job has none: io takes priority and ' +
    'period from the reservation that it works for'
  assert.throws(() => run('a', 1, { reservation: shared }), isRefusal)
  let error
  scheduler.spawn(function* () {
    try {
      run('b', 1, { reservation: shared })
    } catch (thrown) {
      error = thrown
    }
  })
  host.run()
  assert.ok(isRefusal(error))
  assert.is(scheduler.stats().jobs, 1)
})

pibs('I/O exceeds its utilization by at most one capacity in any interval', () => forSeeds(60, random => {
  const { host, reserve, io, run, trace } = world()
  const utilization = random.pick([0.1, 0.25, 0.5])
  const period = random.pick([8, 20])
  const shared = io(utilization)
  const reservation = shared.for(reserve(1, period))
  for (let n = random.integer(1, 30); n > 0; n--) {
    const ms = random.integer(1, 12) / 4
    run('I/O', ms, { step: 0.25, reservation, release: random.integer(0, 200) / 2 })
  }
  run('other', 1000, { step: 0.25 })
  host.run({ until: 150 })
  const spans = [...executions(trace.records)].flatMap(([{ name }, spans]) => name === 'I/O' ? spans : [])
  for (const [start] of spans) {
    for (const [, end] of spans) {
      const within = ([from, to]) => Math.max(0, Math.min(to, end) - Math.max(from, start))
      const used = spans.reduce((sum, span) => sum + within(span), 0)
      // The limit adds a capacity at the end of a period, another at the next start, and the last budget of
      // other jobs.
      const most = utilization * (end - start) + utilization * period * (1 - utilization) + 0.25
      assert.ok(used <= Math.max(0, most) + 1e-9, `${used} in ${start} to ${end}, not ${most}`)
    }
  }
}))

const pauses = {
  'the page was stopped': ({ host }) => host.advance(480),
  'it was switched off': ({ when }, shared) => {
    shared.noInterrupts()
    when(505, () => { shared.interrupts() })
  }
}

for (const [why, pause] of Object.entries(pauses)) {
  pibs(`after ${why}, an I/O reservation does not make up for unused time`, () => {
    for (const policy of [fp, edf]) {
      const made = world({ policy })
      const { host, reserve, io, run, ran, when } = made
      const shared = io(0.1)
      run('I/O', 100, { reservation: shared.for(reserve(5, 20)) })
      when(25, () => { pause(made, shared) })
      host.run({ until: 550 })
      assert.equal(ran()['I/O'], [[0, 2], [20, 22], [505, 507], [525, 527], [545, 547]])
    }
  })
}

pibs('with `depleted: \'background\'`, a depleted I/O reservation runs after all jobs', () => {
  const { host, reserve, io, run, ran } = world()
  const shared = io(0.2, { depleted: 'background' })
  run('I/O', 4, { reservation: shared.for(reserve(2, 10)) })
  run('other', 3)
  host.run()
  assert.equal(ran(), { 'I/O': [[0, 2], [5, 7]], other: [[2, 5]] })
  assert.is(shared.used, 2)
})

pibs('after a resize, an I/O reservation earns used time back at the new rate', () => {
  const { host, reserve, io, run, ran, when } = world()
  const shared = io(0.5)
  const reservation = shared.for(reserve(2, 10))
  run('I/O', 20, { reservation })
  when(7, () => { assert.is(shared.resize({ utilization: 0.2 }), shared) })
  host.run({ until: 37 })
  // 5 ms from 0: at 7, 1.5 ms are not earned back, and they are earned at 14.5. After that 2 of 10 ms.
  assert.equal(ran(), { 'I/O': [[0, 5], [14.5, 16.5], [24.5, 26.5], [34.5, 36.5]] })
  assert.is(shared.utilization, 0.2)
})

pibs('an I/O reservation with a utilization of 0 stops until the utilization grows', () => {
  const { host, reserve, io, run, ran, when } = world()
  const shared = io(0.5)
  const job = run('I/O', 9, { reservation: shared.for(reserve(2, 10)) })
  run('other', 60)
  when(2, () => { shared.resize({ utilization: 0 }) })
  when(30, () => {
    assert.is(job.state, 'depleted')
    shared.resize({ utilization: 0.4 })
  })
  host.run({ until: 44 })
  assert.equal(ran()['I/O'], [[0, 2], [30, 34], [40, 43]])
})

pibs('an I/O reservation can start with a utilization of 0', () => {
  const { host, reserve, io, run, ran, when } = world()
  const shared = io(0)
  run('I/O', 3, { reservation: shared.for(reserve(2, 10)) })
  assert.is(host.run(), 0)
  when(5, () => { shared.resize({ utilization: 0.2 }) })
  host.run()
  assert.equal(ran(), { 'I/O': [[5, 7], [15, 16]] })
})

pibs('an I/O reservation that is off does not run in the background', () => {
  const { host, reserve, io, run } = world()
  for (const shared of [io(0, { depleted: 'background' }), io(0.2, { depleted: 'background' })]) {
    shared.noInterrupts()
    if (shared.utilization === 0) shared.interrupts()
    const job = run('I/O', 3, { reservation: shared.for(reserve(2, 10)) })
    host.run()
    assert.equal([job.state, host.time], ['depleted', 0])
  }
})

pibs('the parameters of an I/O reservation can be read', () => {
  const { scheduler } = world()
  const plain = new IoReservation({ utilization: 0.3, scheduler })
  const { name, utilization, capacity, period, used, isOn, drops } = plain
  assert.equal([name, utilization, capacity, period, used, isOn, drops], ['I/O reservation', 0.3, NaN, Infinity, 0, true, false])
  assert.is(plain.scheduler, scheduler)
})

pibs('an I/O reservation with its own capacity and period ranks by its own rate', () => {
  for (const policy of [fp, edf]) {
    const { host, reserve, run, scheduler, when, ran } = world({ policy })
    const shared = new IoReservation({ capacity: 2, period: 10, name: 'io', scheduler })
    run('main', 6, { reservation: reserve(4, 20) })
    run('I/O', 5, { reservation: shared.for(reserve(3, 40)) })
    when(21, () => shared.resize({ utilization: 0.1 }))
    host.run()
    // At first 2 of 10 ms, before the main with 20 ms. From 21 on 1 of 10 ms, of which 1 ms was used at 20.
    assert.equal(ran(), { 'I/O': [[0, 2], [10, 12], [20, 21]], main: [[2, 6], [21, 23]] }, policy.name)
    assert.equal([shared.capacity, shared.period, shared.utilization], [1, 10, 0.1])
  }
})

pibs('an I/O reservation can get its own period by resize', () => {
  const { host, reserve, io, run, when, ran } = world()
  const shared = io(0.2)
  run('I/O', 10, { reservation: shared.for(reserve(5, 40)) })
  when(20, () => shared.resize({ capacity: 1, period: 10 }))
  host.run()
  // At first 8 of 40 ms. At 20, half of this time is not earned back.
  assert.equal(ran(), { 'I/O': [[0, 8], [60, 61], [70, 71]] })
})

pibs.run()

// --------------------------------------------------------------------------------------------- bottom halves

const bottom = suite('bottom halves')

bottom('bottom halves are charged to the I/O reservation, at the rank of the handler', () => {
  const { host, trace, handle, io, ping, run } = world()
  const shared = io(0.2)
  const handling = handle(function* ping() { yield* execute(host, 1) }, {
    capacity: 3, period: 10, io: shared, bottomHalf: () => execute(host, 3)
  })
  run('plain', 20, { priority: 5 })
  ping()
  assert.is(handling.waiting, 1)
  host.run({ until: 13 })
  // 2 of 10 ms: 2 ms at 0, and 1 ms at 10.
  assertTrace(trace, `
    0 release plain, release ping, bottom half, start ping, bottom half
    2 deplete ping, bottom half reservation=io, start plain
    10 replenish reservation=io due=10, wake ping, bottom half, preempt plain by=ping, bottom half
    10 resume ping, bottom half
    11 release ping, finish ping, bottom half, start ping
    12 finish ping, resume plain`)
  assert.equal([shared.used, handling.reservation.used, handling.waiting], [3, 1, 0])
})

bottom('a handler gets the result of its bottom half, or the event if it is undefined', async () => {
  const { host, handle, io, pings } = world()
  const seen = []
  handle(value => { seen.push(value) }, {
    capacity: 3,
    period: 10,
    io: io(0.5),
    before: ({ detail }) => detail,
    bottomHalf: n => n === 0 ? undefined : n === 1 ? 'plain' : n === 2 ? Promise.resolve('promised')
      : n === 3 ? (function* () { return yield sleep(1), 'computed' })() : n === 4 ? null : n === 5 ? { x: 1 } : [2]
  })
  pings(0, 1, 2, 3, 4, 5, 6)
  await host.drain()
  assert.equal(seen, [0, 'plain', 'promised', 'computed', null, { x: 1 }, [2]])
})

bottom('without a bottom half, an I/O reservation delivers the event', () => {
  const { host, handle, io, pings, scheduler } = world()
  const seen = []
  handle(({ detail }) => { seen.push([detail, host.time, scheduler.current.release]) }, {
    capacity: 3, period: 10, io: io(0.5)
  })
  pings(0, 2, 5)
  host.run()
  assert.equal(seen, [[0, 0, 0], [1, 2, 2], [2, 5, 5]])
})

bottom('bottom halves run one after the other, even if they wait', () => {
  const { host, handle, io, ping } = world()
  const seen = []
  handle(({ detail }) => { seen.push([detail, host.time]) }, {
    capacity: 3,
    period: 10,
    io: io(0.5),
    bottomHalf: ({ detail }) => detail === 0 ? sleep(4) : undefined
  })
  ping(0)
  ping(1)
  host.run()
  assert.equal(seen, [[0, 4], [1, 4]])
})

bottom('a bottom half that throws loses its event, and the next event is delivered', () => {
  const { host, handle, io, pings } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push([detail, host.time]) }, {
    capacity: 3,
    period: 10,
    io: io(0.5),
    *bottomHalf({ detail }) {
      yield* execute(host, 1)
      if (detail === 1) throw new Error('broken')
    }
  })
  pings(0, 0, 0, 20)
  host.run()
  // The job of the second bottom half ends at 2. Its use of 2 ms ends too, and the reservation is eligible at
  // 4.
  assert.equal(seen, [[0, 2], [2, 5], [3, 21]])
  assert.equal(host.errors.map(({ message }) => message), ['broken'])
  assert.is(handling.waiting, 0)
})

bottom('a storm takes the shares of the I/O reservation and the handler, and no more', () => {
  const { host, handle, io, ping, run, reserve } = world()
  const shared = io(0.1)
  const handling = handle(() => execute(host, 1), {
    capacity: 1, period: 10, io: shared, bottomHalf: () => execute(host, 0.5)
  })
  const guarded = run('guarded', 1000, { reservation: reserve(70, 100) })
  const plain = run('plain', 1000)
  for (let time = 0; time < 200; time += 0.5) host.after(time, () => { ping() })
  host.run({ until: 199 })
  // 10 % of 200 ms, 10 % of 200 ms, 70 of every 100 ms, and the rest.
  assert.equal([shared.used, handling.reservation.used, guarded.cost, plain.cost], [20, 20, 140, 20])
})

bottom('several handlers can share an I/O reservation', () => {
  const { host, handle, io, ping } = world()
  const shared = io(0.2)
  const seen = []
  for (const name of ['a', 'b']) {
    handle(() => { seen.push([name, host.time]) }, {
      capacity: 1, period: 10, io: shared, bottomHalf: () => execute(host, 1)
    })
  }
  ping()
  ping()
  host.run()
  // Both share 2 of 10 ms. Jobs of equal rank do not preempt each other, so the bottom halves precede the
  // handlers.
  assert.equal(seen, [['a', 2], ['a', 2], ['b', 12], ['b', 12]])
})

bottom('a handler with an I/O reservation can use a given, shared reservation', () => {
  const { host, handle, io, ping, reserve, run } = world()
  const reservation = reserve(2, 10)
  const shared = io(0.5)
  const seen = []
  const handling = handle(function* () {
    seen.push(host.time)
    yield* execute(host, 1)
  }, { reservation, io: shared, bottomHalf: () => execute(host, 1) })
  run('before', 2, { reservation })
  ping()
  host.run()
  assert.is(handling.reservation, reservation)
  assert.equal([reservation.used, shared.used], [3, 1])
  assert.equal(seen, [10])
})

bottom('with an I/O reservation and a given reservation, a handler serialises its events', () => {
  const { host, handle, io, ping, reserve, ran } = world({ slice: 1 })
  handle(() => execute(host, 2), { name: 'top', reservation: reserve(5, 10), io: io(0.5) })
  ping()
  ping()
  host.run()
  assert.equal(ran().top, [[0, 2], [2, 4]])
})

bottom('noInterrupts lets a running bottom half finish, and holds the next events back', () => {
  const { host, handle, io, ping, when } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push([detail, host.time]) }, {
    capacity: 5, period: 10, io: io(0.5), bottomHalf: () => execute(host, 2)
  })
  for (let n = 0; n < 3; n++) ping(n)
  when(1, () => { handling.noInterrupts() })
  when(5, () => { assert.is(handling.waiting, 2) })
  when(12, () => { handling.interrupts() })
  host.run()
  assert.equal(seen[0], [0, 2])
  assert.ok(seen[1][1] >= 14 && seen[2][1] === 16, JSON.stringify(seen))
})

bottom('size counts events that wait for the bottom half or for the handler', () => {
  const { host, handle, io, ping } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push(detail) }, {
    capacity: 2, period: 10, io: io(0.2), bottomHalf: () => execute(host, 1), size: 3
  })
  for (let n = 0; n < 6; n++) ping(n)
  assert.equal([handling.waiting, handling.dropped], [3, 3])
  host.run()
  assert.equal(seen, [0, 1, 2])
})

bottom('a bottom half finishes after cancel, and its event is not delivered', () => {
  const { host, handle, io, ping, when } = world()
  let count = 0
  let halves = 0
  const shared = io(0.5)
  const handling = handle(() => { count++ }, {
    capacity: 2,
    period: 10,
    io: shared,
    *bottomHalf() {
      yield* execute(host, 3)
      halves++
    }
  })
  ping()
  ping()
  when(1, () => { handling.cancel() })
  host.run()
  assert.equal([halves, count, handling.waiting, handling.dropped], [1, 0, 0, 2])
})

bottom.run()

// -------------------------------------------------------------- interrupts and noInterrupts of I/O
// reservations

const interrupts = suite('interrupts and noInterrupts of I/O reservations')

interrupts('an I/O reservation delivers held events in order, with their own times', () => {
  const { host, scheduler, handle, io, pings, when } = world()
  const shared = io(0.5)
  const seen = []
  const handling = handle(({ detail }) => { seen.push([detail, scheduler.current.release, host.time]) }, {
    capacity: 5, period: 10, io: shared, bottomHalf: () => execute(host, 1)
  })
  pings(0, 4, 5, 9)
  when(2, () => {
    shared.noInterrupts()
    assert.equal([shared.isOn, shared.drops, shared.utilization], [false, false, 0.5])
  })
  when(6, () => { assert.equal([handling.waiting, handling.dropped], [2, 0]) })
  when(7, () => {
    shared.interrupts()
    assert.equal([shared.isOn, shared.drops], [true, false])
  })
  host.run()
  assert.equal(seen.map(([n, release]) => [n, release]), [[0, 0], [1, 4], [2, 5], [3, 9]])
  assert.ok(seen[1][2] >= 8 && seen[3][2] === 10)
})

interrupts('an I/O reservation with `drop: true` drops events, and each handler counts them', () => {
  const { host, handle, io, pings, when } = world()
  const shared = io(0.5)
  const seen = []
  const handlings = ['a', 'b'].map(name => handle(({ detail }) => { seen.push(name + detail) }, {
    capacity: 2, period: 10, io: shared
  }))
  pings(0, 4, 5, 9)
  when(2, () => {
    shared.noInterrupts({ drop: true })
    assert.equal([shared.isOn, shared.drops], [false, true])
  })
  when(7, () => { shared.interrupts() })
  host.run()
  assert.equal(seen, ['a0', 'b0', 'a3', 'b3'])
  assert.equal(handlings.map(({ dropped, waiting }) => [dropped, waiting]), [[2, 0], [2, 0]])
})

interrupts('noInterrupts suspends a running bottom half until interrupts', () => {
  const { host, handle, io, ping, when, run } = world()
  const shared = io(0.5)
  const seen = []
  handle(() => { seen.push(host.time) }, {
    capacity: 5, period: 10, io: shared, bottomHalf: () => execute(host, 3)
  })
  run('other', 20)
  ping()
  when(1, () => { shared.noInterrupts() })
  when(6, () => { shared.interrupts() })
  host.run()
  assert.equal(seen, [8])
})

interrupts('repeated noInterrupts and interrupts do not exceed the utilization', () => {
  const { host, handle, io, ping, when, run } = world()
  const shared = io(0.2)
  handle(() => {}, { capacity: 5, period: 10, io: shared, bottomHalf: () => execute(host, 20) })
  run('other', 100)
  ping()
  for (let time = 1; time < 40; time += 2) {
    when(time, () => { shared.noInterrupts() })
    when(time + 1, () => { shared.interrupts() })
  }
  host.run({ until: 39 })
  assert.ok(shared.used <= 8 + 1, `${shared.used} of 8 in 40 ms`)
})

interrupts('an I/O reservation keeps its share after noInterrupts', () => {
  const { reserve, io, scheduler } = world({ policy: edf })
  const shared = io(0.5)
  admit([shared], { scheduler })
  shared.noInterrupts()
  assert.throws(() => reserve(60, 100), error => error instanceof AdmissionError)
  shared.interrupts()
  assert.ok(shared.isOn)
})

interrupts('an I/O reservation resized after noInterrupts has the new share after interrupts', () => {
  const { host, handle, io, ping, when } = world()
  const shared = io(0.5)
  const seen = []
  handle(() => { seen.push(host.time) }, {
    capacity: 5, period: 10, io: shared, bottomHalf: () => execute(host, 3)
  })
  shared.noInterrupts()
  when(2, () => { shared.resize({ utilization: 0.1 }) })
  when(5, () => { shared.interrupts() })
  host.after(6, () => { ping() })
  host.run()
  assert.is(shared.utilization, 0.1)
  assert.equal(seen, [27]) // 1 ms from 6, from 16 and from 26
})

interrupts('repeated noInterrupts or interrupts act like a single call', () => {
  const { host, handle, io, ping } = world()
  const shared = io(0.5)
  let count = 0
  const handling = handle(() => { count++ }, { capacity: 5, period: 10, io: shared })
  shared.noInterrupts()
  ping()
  shared.noInterrupts({ drop: true })
  ping()
  shared.noInterrupts()
  ping()
  shared.interrupts()
  shared.interrupts()
  host.run()
  assert.equal([count, handling.dropped], [2, 1])
})

interrupts.run()

// ----------------------------------------------------------------------------------- the worst-case delay

const delay = suite('worstCaseDelay')

function near(actual, expected) {
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`)
}

/**
 * Qduino, Table V: the I/O reservation, the handler, and the delay of equation 3 for 2.33 ms of bottom half.
 */
const TABLE_V = /** @type {const} */ ([
  [{ capacity: 2, period: 10 }, { capacity: 3, period: 10 }, 25.33],
  [{ capacity: 1, period: 10 }, { capacity: 3, period: 10 }, 36.33],
  [{ capacity: 3, period: 10 }, { capacity: 3, period: 10 }, 16.33],
  [{ capacity: 2, period: 10 }, { capacity: 2, period: 10 }, 26.33],
  [{ capacity: 2, period: 10 }, { capacity: 3, period: 20 }, 35.33]
])

delay('worstCaseDelay returns the values of Qduino, Table V', () => {
  for (const [io, handler, expected] of TABLE_V) {
    near(worstCaseDelay({ handler, io, bottomHalf: 2.33 }), expected)
  }
})

delay('worstCaseDelay: work of a whole capacity takes a whole capacity', () => {
  const handler = { capacity: 3, period: 10 }
  const io = { capacity: 2, period: 10 }
  near(worstCaseDelay({ handler, io, bottomHalf: 2 }), 7 + 8 + 2)
  near(worstCaseDelay({ handler, io, bottomHalf: 4 }), 7 + 8 + 10 + 2)
  near(worstCaseDelay({ handler, io, bottomHalf: 4.5 }), 7 + 8 + 20 + 0.5)
  near(worstCaseDelay({ handler, io, bottomHalf: 0.5 }), 7 + 8 + 0.5)
  // Quotients with rounding errors: 7.000000000000001 and 2.9999999999999996.
  near(worstCaseDelay({ handler, io: { capacity: 0.3, period: 10 }, bottomHalf: 2.1 }), 7 + 9.7 + 60 + 0.3)
  near(worstCaseDelay({ handler, io: { capacity: 0.1, period: 10 }, bottomHalf: 0.3 }), 7 + 9.9 + 20 + 0.1)
})

delay('worstCaseDelay without a bottom half, without I/O, and without capacity', () => {
  const handler = { capacity: 3, period: 10 }
  near(worstCaseDelay({ handler, io: { capacity: 2, period: 10 } }), 7 + 8)
  near(worstCaseDelay({ handler }), 7)
  near(worstCaseDelay({ handler, bottomHalf: 2 }), 9)
  const all = { capacity: 10, period: 10 }
  near(worstCaseDelay({ handler: all, io: all, bottomHalf: 5 }), 5)
  assert.is(worstCaseDelay({ handler: { capacity: 0, period: 10 } }), Infinity)
  assert.is(worstCaseDelay({ handler, io: { capacity: 0, period: 10 } }), Infinity)
  assert.is(worstCaseDelay({ handler, io: { utilization: 0 }, bottomHalf: 1 }), Infinity)
})

delay('worstCaseDelay of an I/O reservation with its own period', () => {
  const { scheduler } = world()
  const io = new IoReservation({ capacity: 2, period: 10, scheduler })
  near(worstCaseDelay({ handler: { capacity: 3, period: 20 }, io, bottomHalf: 2.33 }), 35.33)
})

delay('worstCaseDelay accepts existing reservations', () => {
  const { handle, io } = world()
  const shared = io(0.2)
  const { reservation } = handle(() => {}, { capacity: 3, period: 10, io: shared })
  near(worstCaseDelay({ handler: reservation, io: shared, bottomHalf: 2.33 }), 25.33)
  const slow = { capacity: 3, period: 20 }
  near(worstCaseDelay({ handler: slow, io: { utilization: 0.1 }, bottomHalf: 2.5 }), 17 + 18 + 20 + 0.5)
})

/**
 * The longest time from a listener to its handler, for events that arrive after the previous were handled.
 */
function longestDelay({ host, handle, io, run, ping }, circumstances) {
  const { handler, utilization, bottomHalf, work, step, gap, until } = circumstances
  const shared = io(utilization)
  let raised = 0
  let handled = 0
  let longest = 0
  handle(function* ({ time, isAlone }) {
    if (isAlone) longest = Math.max(longest, host.time - time)
    yield* execute(host, work(), step)
    handled++
  }, {
    ...handler,
    io: shared,
    before: () => ({ time: host.time, isAlone: handled === raised++ }),
    *bottomHalf(event) {
      yield* execute(host, bottomHalf, step)
      return event
    }
  })
  run('hog', until, { step, priority: 1000 })
  const next = () => {
    ping()
    host.after(gap(handled === raised), next)
  }
  host.after(gap(true), next)
  host.run({ until })
  assert.ok(handled > 5, `${handled}`)
  return longest
}

delay('random storms exceed worstCaseDelay by at most one budget', () => forSeeds(150, random => {
  const policy = random.pick([fp, edf])
  const step = 0.25
  const period = random.pick([4, 8, 10, 20])
  const capacity = random.integer(1, period * 2) * 0.5
  const tenths = random.integer(1, 5)
  const utilization = tenths * step / period * Math.max(1, Math.floor(period / 10))
  if (capacity / period + utilization > 1) return
  const here = world({ policy })
  const bottomHalf = random.integer(1, 16) * step
  const kind = policy === fp ? random.pick(['sporadic', 'deferrable']) : undefined
  const handler = { capacity, period, kind }
  // The work can outlast the capacity, so that the next event finds the handler depleted.
  const work = () => random.integer(1, 3 * capacity / step) * step
  const gap = idle => step * random.integer(0, idle && random.chance(0.5) ? 4 : 16 * period)
  const given = { handler, utilization, bottomHalf, work, step, gap, until: 150 * period }
  const longest = longestDelay(here, given)
  const predicted = worstCaseDelay({ handler, io: { utilization }, bottomHalf })
  assert.ok(longest <= predicted + step + 1e-9, `${longest} > ${predicted}: ${JSON.stringify(given)}`)
}))

delay('observed delays never exceed worstCaseDelay (Qduino, Table V)', () => {
  for (const [io, handler, predicted] of TABLE_V) {
    const here = world()
    const utilization = io.capacity / handler.period * handler.period / io.period
    // The I/O reservation has the period of the handler, as in Quest.
    const bound = worstCaseDelay({ handler, io: { utilization }, bottomHalf: 2.33 })
    let n = 0
    const longest = longestDelay(here, {
      handler,
      utilization,
      bottomHalf: 2.33,
      work: () => 0.25,
      step: 0.01,
      gap: () => 2.3 * (n++ % 7) / 7,
      until: 400
    })
    assert.ok(longest <= bound + 0.01 + 1e-9, `${longest} > ${bound}`)
    assert.ok(handler.period !== io.period || bound === predicted || Math.abs(bound - predicted) < 1e-9)
  }
})

delay.run()
