/** Tests of the handlers of `on`: the number of waiting events, and interrupts off and on. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { at, on } from '../../alarms.mjs'
import { Reservation } from '../../addons/reservations.mjs'
import { executions } from '../support/trace.mjs'
import { execute } from '../support/virtual-host.mjs'
import { exactWorld } from '../support/world.mjs'

/** A scheduler that reads its clock at every point and does not rotate, and an event target. */
function world(options = {}) {
  const { host, scheduler, trace } = exactWorld({ round: 1, except: ['round', 'alarm'], ...options })
  const target = new EventTarget()
  const ping = (detail = undefined) => {
    const event = Object.assign(new Event('ping'), { detail })
    Object.defineProperty(event, 'timeStamp', { value: host.time })
    target.dispatchEvent(event)
  }
  return {
    host,
    scheduler,
    trace,
    ping,
    /** Dispatches numbered events at these times. */
    pings: (...times) => times.forEach((time, n) => host.after(time, () => { ping(n) })),
    handle: (task, more = {}) => on(target, 'ping', task, { scheduler, ...more }),
    when: (time, act) => at(time, act, { scheduler })
  }
}

const handlers = suite('handlers')

handlers('a handler with a reservation runs in it, and its events do not wait in line', () => {
  const { host, scheduler, handle, ping, trace } = world({ slice: 1 })
  assert.is(handle(() => {}).reservation, undefined)
  const reservation = new Reservation({ capacity: 4, period: 10, depleted: 'wait', scheduler })
  const handling = handle(() => execute(host, 2), { reservation, name: 'both' })
  ping('a')
  ping('b')
  assert.is(handling.waiting, 0)
  host.run()
  assert.is(handling.reservation, reservation)
  assert.equal([reservation.used, host.time], [4, 4])
  const spans = [...executions(trace.records)].flatMap(([{ name }, spans]) => name === 'both' ? spans : [])
  assert.equal(spans, [[0, 1], [2, 3], [1, 2], [3, 4]])
})

handlers('size limits the waiting events, and further events are dropped and counted', () => {
  const { host, handle, ping } = world()
  const seen = []
  const handling = handle(function* ({ detail }) {
    seen.push(detail)
    yield* execute(host, 1)
  }, { size: 2 })
  for (let n = 0; n < 6; n++) ping(n)
  // The first event is being handled.
  assert.equal([handling.waiting, handling.dropped], [2, 3])
  host.run()
  ping(6)
  host.run()
  assert.equal(seen, [0, 1, 2, 6])
  assert.equal([handling.waiting, handling.dropped], [0, 3])
})

handlers('cancel() drops the waiting events', () => {
  const { host, handle, ping, when } = world()
  const seen = []
  const handling = handle(function* ({ detail }) {
    yield* execute(host, 3)
    seen.push([detail, host.time])
  }, { size: 5 })
  for (let n = 0; n < 4; n++) ping(n)
  when(1, () => {
    assert.equal([handling.cancel(), handling.cancel()], [true, false])
    assert.equal([handling.waiting, handling.dropped], [0, 3])
  })
  host.run()
  assert.equal(seen, [[0, 3]])
})

handlers('noInterrupts() holds events back until interrupts(), with their times and order', () => {
  const { host, scheduler, handle, pings, when } = world()
  const seen = []
  const handling = handle(function* ({ detail }) {
    seen.push([detail, scheduler.current.release, host.time])
    yield* execute(host, 1)
  })
  pings(0, 2, 3, 6)
  when(1, () => { handling.noInterrupts() })
  when(4, () => { assert.equal([handling.waiting, handling.dropped], [2, 0]) })
  when(5, () => { handling.interrupts() })
  host.run()
  assert.equal(seen, [[0, 0, 0], [1, 2, 5], [2, 3, 6], [3, 6, 7]])
})

handlers('noInterrupts({ drop: true }) drops events and counts them', () => {
  const { host, handle, ping } = world()
  const seen = []
  const handling = handle(({ detail }) => { seen.push(detail) })
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

handlers.run()
