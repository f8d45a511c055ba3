/** Tests of the common parts of alarms.mjs: disposal of handles, waits with a signal, `excess` and `late`. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  AsyncEvent, after, at, events, every, frames, on, periodic, sleep, sporadic, timeout, until
} from '../../alarms.mjs'
import { adopt } from '../../addons/adopt.mjs'
import { IoReservation, Reservation, admit, interrupt, loop } from '../../addons/reservations.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute } from '../support/virtual-host.mjs'
import { abortListeners, exactWorld, rejection } from '../support/world.mjs'

const world = (/** @type {any} */ options = {}) => exactWorld({ except: ['round', 'alarm'], ...options })
const { dispose } = /** @type {any} */ (Symbol)

// -------------------------------------------------------------------------------------------------- disposal

const disposal = suite('Symbol.dispose')

const makers = {
  after: ({ scheduler }) => after(5, () => {}, { scheduler }),
  at: ({ scheduler }) => at(5, () => {}, { scheduler }),
  every: ({ scheduler }) => every(5, () => {}, { scheduler }),
  periodic: ({ scheduler }) => periodic(function* () {}, { period: 5, phase: 5, scheduler }),
  frames: ({ scheduler }) => frames(function* () {}, { scheduler }),
  on: ({ scheduler }) => on(new EventTarget(), 'ping', function* () {}, { scheduler }),
  events: () => events(new EventTarget(), 'ping'),
  handle: ({ scheduler }) => new AsyncEvent({ scheduler }).handle(function* () {}),
  loop: ({ scheduler }) => loop(function* () { yield sleep(1) }, { capacity: 1, period: 5, scheduler }),
  interrupt: ({ scheduler }) =>
    interrupt(new EventTarget(), 'ping', function* () {}, { capacity: 1, period: 5, scheduler }),
  Reservation: ({ scheduler }) => new Reservation({ capacity: 1, period: 5, scheduler }),
  IoReservation: ({ scheduler }) => new IoReservation({ utilization: 0.1, scheduler }),
  adopt: ({ scheduler }) => adopt(page(), { scheduler }),
  admit: ({ scheduler }) => admit({ name: 't', wcet: 1, period: 5, priority: 1 }, { scheduler })
}

/** The global object of a page without a document. */
function page() {
  const { setTimeout, clearTimeout } = globalThis
  return { setTimeout, clearTimeout }
}

for (const [name, make] of Object.entries(makers)) {
  disposal(`${name}: Symbol.dispose cancels the handle`, () => {
    const made = world({ host: { frame: 16 } })
    const handle = /** @type {any} */ (make(made))
    assert.type(handle[dispose], 'function')
    assert.is(handle[dispose](), undefined)
    assert.is(handle.cancel(), false)
  })
}

disposal('cancel() of a reservation returns its share of the processor', () => {
  const { scheduler } = world()
  admit([], { scheduler })
  const reservation = new Reservation({ capacity: 4, period: 5, scheduler })
  assert.throws(() => new Reservation({ capacity: 4, period: 5, scheduler }))
  assert.is(reservation.cancel(), true)
  assert.is(new Reservation({ capacity: 4, period: 5, scheduler }).cancel(), true)
})

disposal.run()

// --------------------------------------------------------------------------------------------------- signals

const signals = suite('waits with a signal')

const waits = {
  sleep: (scheduler, signal) => sleep(10, { scheduler, signal }),
  until: (scheduler, signal) => until(10, { scheduler, signal }),
  timeout: (scheduler, signal) => timeout(10, new Promise(() => {}), { scheduler, signal })
}

for (const [name, make] of Object.entries(waits)) {
  signals(`${name}: aborting the signal throws its reason and removes the timer`, async () => {
    const { host, scheduler, log } = world()
    const controller = new AbortController()
    scheduler.spawn(function* () {
      try {
        yield make(undefined, controller.signal)
      } catch (error) {
        log.push([error, host.time])
      }
    })
    const outside = rejection(make(scheduler, controller.signal))
    at(4, () => { controller.abort('enough') }, { scheduler })
    host.run()
    assert.equal([log, await outside], [[['enough', 4]], 'enough'])
    assert.equal([host.timers, abortListeners(controller.signal)], [[], 0])
  })

  signals(`${name}: a signal that is already aborted ends the wait immediately`, () => {
    const { host, scheduler, log } = world()
    scheduler.spawn(function* () {
      try {
        yield make(undefined, AbortSignal.abort('before'))
      } catch (error) {
        log.push([error, host.time])
      }
    })
    host.run()
    assert.equal([log, host.timers], [[['before', 0]], []])
  })
}

signals('the abort listener is removed when the wait ends', () => {
  const { host, scheduler } = world()
  const { signal } = new AbortController()
  scheduler.spawn(function* () { yield sleep(5, { signal }) })
  host.run({ until: 2 })
  assert.is(abortListeners(signal), 1)
  host.run()
  assert.is(abortListeners(signal), 0)
})

signals('timeout() with cancel: true cancels the job that it waits for', async () => {
  const { host, scheduler, log } = world()
  const slow = scheduler.spawn(execute(host, 20), { name: 'slow' })
  scheduler.spawn(function* () {
    try {
      yield timeout(5, slow, { cancel: true })
    } catch (error) {
      log.push(error)
    }
  }, { priority: 1 })
  host.run()
  assert.equal([slow.state, slow.finished, log[0].name], ['cancelled', 5, 'TimeoutError'])
  assert.is(await rejection(slow), log[0])
})

signals.run()

// ---------------------------------------------------------------------------------------------------- excess

const line = suite('excess and late')

line('queue: the running job inherits the rank of the waiting job', () => {
  const { host, scheduler, trace } = world()
  const release = sporadic(() => execute(host, 4), { excess: 'queue', name: 'task', scheduler })
  at(0, () => { release() }, { scheduler })
  scheduler.spawn(execute(host, 3), { name: 'middle', priority: 1, release: 2 })
  at(3, () => { /** @type {any} */ (release()).priority = 2 }, { scheduler })
  host.run()
  assertTrace(trace, `
    0 release task, start task
    2 release middle, preempt task by=middle, start middle
    3 release task, block task on=Turn, preempt middle by=task, resume task
    5 finish task, wake task, start task
    9 finish task, resume middle
    11 finish middle
  `)
})

line('queue: a waiting job that is cancelled leaves its place to the next job', () => {
  const { host, scheduler, log } = world()
  const release = sporadic(function* (name) {
    yield* execute(host, 2)
    log.push([name, host.time])
  }, { excess: 'queue', scheduler })
  const [, second] = ['a', 'b', 'c'].map(name => release(name))
  assert.equal(second?.state, 'waiting')
  second?.cancel()
  host.run()
  assert.equal(log, [['a', 2], ['c', 4]])
  assert.is(second?.started, undefined)
})

line('queue: a job that waits for its own successor is a deadlock', () => {
  const { host, scheduler, log } = world()
  const release = sporadic(function* (isFirst) {
    try {
      if (isFirst) yield release(false)
    } catch (error) {
      log.push(error.name)
    }
  }, { excess: 'queue', scheduler })
  scheduler.spawn(function* () { release(true) })
  host.run()
  assert.equal(log, ['DeadlockError'])
})

for (const late of /** @type {const} */ (['defer', 'drop'])) {
  line(`late: ${late} applies to early releases, excess to overlapping jobs`, () => {
    const { host, scheduler, log } = world()
    const release = sporadic(function* (name) {
      log.push([name, host.time])
      yield* execute(host, 12)
    }, { interarrival: 10, late, excess: 'queue', scheduler })
    const released = []
    for (const [name, time] of Object.entries({ a: 0, b: 3, c: 11 })) {
      at(time, () => { if (release(name) !== null) released.push(name) }, { scheduler })
    }
    host.run()
    assert.equal(released, late === 'defer' ? ['a', 'b', 'c'] : ['a', 'c'])
    assert.equal(log, late === 'defer' ? [['a', 0], ['b', 12], ['c', 24]] : [['a', 0], ['c', 12]])
  })
}

line('frames() with excess: \'latest\' draws the newest frame after a long job', () => {
  const { host, scheduler, log } = world({ host: { frame: 10 }, round: 1 })
  const drawing = frames(function* (time) {
    log.push(time)
    yield* execute(host, log.length === 1 ? 35 : 1)
  }, { excess: 'latest', scheduler })
  host.run({ until: 55 })
  drawing.cancel()
  assert.ok(log[1] > log[0] + 10 && log[1] <= log[0] + 40, String(log))
})

line('AsyncEvent with excess: \'skip\' ignores events while the job runs', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  event.handle(function* (name) {
    log.push([name, host.time])
    yield* execute(host, 5)
  }, { excess: 'skip' })
  for (const [name, time] of Object.entries({ a: 0, b: 3, c: 6 })) {
    at(time, () => { event.fire(name) }, { scheduler })
  }
  host.run()
  assert.equal(log, [['a', 0], ['c', 6]])
})

line('on() with size: 1 and excess: \'latest\' keeps the newest waiting event', () => {
  const { host, scheduler, log } = world()
  const target = new EventTarget()
  const handling = on(target, 'ping', function* ({ detail }) {
    yield* execute(host, 5)
    log.push([detail, host.time])
  }, { excess: 'latest', size: 1, scheduler })
  for (const n of [0, 1, 2, 3]) {
    at(n, () => { target.dispatchEvent(Object.assign(new Event('ping'), { detail: n })) }, { scheduler })
  }
  host.run()
  assert.equal([log, handling.dropped, handling.waiting], [[[0, 5], [3, 10]], 2, 0])
})

line('a queue of 10,000 waiting events holds one job at a time', () => {
  const { host, scheduler, trace } = world({ budget: 'auto' })
  trace.stop()
  const target = new EventTarget()
  let handled = 0
  const handling = on(target, 'ping', () => { handled++ }, { excess: 'queue', scheduler })
  for (let n = 0; n < 10_000; n++) target.dispatchEvent(new Event('ping'))
  assert.equal([handling.waiting, scheduler.stats().jobs], [9999, 2])
  host.run()
  assert.equal([handled, handling.waiting, handling.dropped], [10_000, 0, 0])
})

line.run()
