import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Schedule } from '../../examples/gantt.mjs'
import { beLate, inputDeadline, saveLength, savePeriod } from '../../examples/schedule/late.mjs'
import { Scheduler } from '../../rt.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

/** Dispatches inputs at these times, while the save runs with the given fault. */
function inputsAt(times, culprit) {
  const host = virtualHost({ turn: 0.25 })
  const scheduler = new Scheduler({ host })
  const schedule = new Schedule()
  scheduler.observe(record => schedule.add(record))
  const target = new EventTarget()
  const handled = []
  const stop = beLate(scheduler, {
    culprit: () => culprit,
    inputs: [[target, 'key']],
    before: ({ detail }) => detail,
    onInput: detail => handled.push(detail),
    now: () => host.time,
    step: () => host.advance(0.25)
  })
  times.forEach((time, i) => {
    // A busy thread dispatches an event late, but with the time stamp of the key press.
    host.after(time, () => {
      const event = new CustomEvent('key', { detail: i })
      Object.defineProperty(event, 'timeStamp', { value: time })
      target.dispatchEvent(event)
    })
  })
  host.run({ until: 2 * savePeriod - 20 })
  return { host, schedule, handled, stop }
}

const late = suite('examples/schedule')
const during = 40
const beside = 200

late('with preemption points no input is late', () => {
  const { schedule, handled } = inputsAt([during, beside], 'nobody')
  assert.equal(handled, [0, 1])
  assert.equal(schedule.misses, [])
  assert.equal(schedule.rows.map(({ name }) => name).sort(), ['index', 'input', 'save'])
})

late('a critical section delays an input and is named as the cause', () => {
  const { schedule, handled } = inputsAt([during, beside], 'section')
  assert.equal(handled, [0, 1])
  assert.equal(schedule.misses.map(({ name, release }) => [name, release]), [['input', during]])
  const { others: [{ name, ms, isLater, unbroken }], own } = schedule.blame(schedule.misses[0])
  assert.equal([name, isLater, unbroken, own], ['save', true, 0, 0])
  assert.ok(ms > 0.9 * inputDeadline, `${ms} ms`)
})

late('a job without preemption points delays an input, and its stretch is reported', () => {
  const { schedule } = inputsAt([during, beside], 'stall')
  assert.equal(schedule.misses.map(({ name, release }) => [name, release]), [['input', during]])
  const { others: [{ name, ms, unbroken }] } = schedule.blame(schedule.misses[0])
  assert.is(name, 'save')
  assert.ok(ms > 0.9 * inputDeadline && unbroken >= saveLength, `${ms}, ${unbroken} ms`)
})

late('stop() ends the jobs and the timers', () => {
  const { host, schedule, stop } = inputsAt([], 'nobody')
  stop()
  host.run()
  assert.ok(schedule.rows.every(({ living }) => living.size === 0))
  assert.is(host.timers.length, 0)
})

late.run()
