import { edf, fp, Scheduler } from '../../rt.mjs'
import { sleep } from '../../alarms.mjs'
import {
  AdmissionError, IoReservation, Reservation, admit, interrupt, loop
} from '../../addons/reservations.mjs'
import { elapse, equal, ok, test } from './page.mjs'
import { load } from './page-load.mjs'

for (const [policy, kinds] of [[fp, ['sporadic', 'deferrable', 'polling']], [edf, ['constant-bandwidth']]]) {
  for (const kind of kinds) {
    const title = `a ${kind} reservation gives its job its share and no more, beside jobs that never end`
    test(title, async () => {
      const scheduler = new Scheduler({ policy })
      const unload = load(scheduler)
      const reservation = new Reservation({ scheduler, capacity: 4, period: 20, kind, depleted: 'wait' })
      // If the machine is busy, the first budget can take more than the whole capacity.
      const work = function* () { while (reservation.used < 20 || reservation.replenishments === 0) yield }
      const job = scheduler.spawn(work, { reservation })
      await job
      const elapsed = job.finished - job.release
      const { longestBudget } = scheduler.stats()
      // An interval contains at most one more capacity at each end, and the excess of the last budget.
      const most = (elapsed / 20 + 2) * 4 + longestBudget
      ok(reservation.used <= most, `${reservation.used} of at most ${most} ms in ${elapsed} ms`)
      ok(reservation.depletions > 0 && reservation.replenishments > 0)
      await unload()
    })
  }
}

test('loops run in their reservations concurrently until they are cancelled', async () => {
  const scheduler = new Scheduler()
  admit([], { scheduler, share: 0.85 })
  const turns = [0, 0]
  const loops = [0, 1].map(index => loop(function* () {
    turns[index]++
    yield sleep(5)
  }, { scheduler, capacity: 4, period: 10 + 10 * index }))
  let error
  try {
    loop(function* () {}, { scheduler, capacity: 5, period: 10 })
  } catch (thrown) {
    error = thrown
  }
  ok(error instanceof AdmissionError)
  while (turns[0] < 4 || turns[1] < 4) await elapse(5)
  for (const { cancel } of loops) cancel()
  await Promise.allSettled(loops.map(({ job }) => job))
  await scheduler.idle()
  // The capacity of the cancelled loops is free again.
  loop(function* () { yield sleep(1) }, { scheduler, capacity: 8, period: 10 }).cancel()
})

test('interrupt handles a burst of events in order, holds events back or drops them', async () => {
  const scheduler = new Scheduler()
  const unload = load(scheduler)
  const target = new EventTarget()
  const io = new IoReservation({ scheduler, utilization: 0.2 })
  const handled = []
  const handling = interrupt(target, 'storm', function* ({ detail }) {
    handled.push(detail)
    yield
  }, { scheduler, capacity: 5, period: 10, io, bottomHalf: function* () { yield } })
  const raise = (from, to) => {
    for (let detail = from; detail < to; detail++) target.dispatchEvent(new CustomEvent('storm', { detail }))
  }
  raise(0, 300)
  while (handled.length < 300) await elapse(5)
  io.noInterrupts()
  raise(300, 310)
  await elapse(30)
  equal(handled.length, 300)
  io.interrupts()
  while (handled.length < 310) await elapse(5)
  io.noInterrupts({ drop: true })
  raise(-5, 0)
  io.interrupts()
  raise(310, 311)
  while (handled.length < 311) await elapse(5)
  equal(handled, Array.from({ length: 311 }, (_, index) => index))
  equal(handling.dropped, 5)
  handling.cancel()
  await unload()
})
