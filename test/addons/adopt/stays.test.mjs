// Each callback of an adopted page is a stay: no other callback sees its shared state in between.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { adopt } from '../../../addons/adopt.mjs'
import { rewrittenModule } from '../../support/modules.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'
import { virtualPage } from '../../support/virtual-page.mjs'

/**
 * Callbacks that add a number to a variable in two steps, with work in between. The analysis knows that functions of
 * `performance` have no effects, so the work shares no state.
 */
const { program } = await rewrittenModule(`
let sum = 0
function work(ms) { for (let i = 0; i < ms; i++) performance.advance() }
export const program = {
  add: (ms, by = 1) => () => {
    const before = sum
    work(ms)
    sum = before + by
  },
  timed: (ms, times) => time => {
    const before = sum
    work(ms)
    sum = before + 1
    times.push(time)
  },
  dispatching: (target, event) => () => {
    const before = sum
    work(5)
    sum = before + 1
    target.dispatchEvent(event)
    sum++
  },
  result: () => sum,
  resultOfOther: () => other,
  reset() { sum = 0 }
}
`)

function adopted({ rules, warn = false, ...options } = {}) {
  const host = virtualHost({ frame: 16 })
  const window = virtualPage(host)
  const said = []
  window.console = { warn: text => said.push(text) }
  const scheduler = new Scheduler({ host: window.host, slice: 1, round: 1, ...options })
  const adoption = adopt(window, { scheduler, rules, warn })
  Object.defineProperty(performance, 'advance', { value: () => host.advance(1), configurable: true })
  program.reset()
  return { host, window, scheduler, adoption, said, target: window.element('p', null) }
}

/** A callback that changes another variable, in a separate module. */
const { addOther } = await rewrittenModule(`
let other = 0
export function addOther() {
  const before = other
  for (let i = 0; i < 3; i++) performance.advance()
  other = before + 1
}
`)

/** Records the names of jobs in the order of their starts and ends. */
function traceOf(scheduler) {
  const trace = []
  scheduler.observe(({ type, job }) => {
    if (type === 'start' || type === 'finish') trace.push(`${type} ${job.name.split(' ')[0]}`)
  })
  return trace
}

const stays = suite('stays of callbacks')

stays('a timer waits for a suspended message that writes the same variable', () => {
  const { host, window, scheduler } = adopted()
  const trace = traceOf(scheduler)
  const { port1, port2 } = new window.MessageChannel()
  port1.onmessage = program.add(20)
  port2.postMessage(null)
  window.setTimeout(program.add(3), 5)
  host.run()
  assert.is(program.result(), 2)
  assert.equal(trace, ['start message', 'start timer', 'finish message', 'finish timer'])
})

stays('a timer does not wait for a suspended message that writes another variable', () => {
  const { host, window, scheduler } = adopted()
  const trace = traceOf(scheduler)
  const { port1, port2 } = new window.MessageChannel()
  port1.onmessage = program.add(20)
  port2.postMessage(null)
  window.setTimeout(addOther, 5)
  host.run()
  assert.equal(trace, ['start message', 'start timer', 'finish timer', 'finish message'])
})

stays('a listener inside its event finishes the holder, which is charged as the current job', () => {
  const { host, window, scheduler, target, adoption } = adopted()
  const trace = traceOf(scheduler)
  window.setTimeout(program.add(20), 0)
  target.addEventListener('click', program.add(3))
  host.after(5, () => {
    window.dispatchTrusted(target, Object.assign(new window.Event('click', { cancelable: true }), { view: window }))
    trace.push('returned')
  })
  host.run()
  assert.is(program.result(), 2)
  assert.equal(trace, ['start timer', 'start click', 'finish timer', 'returned', 'finish click'])
  assert.equal(adoption.report().map(({ kind, time }) => `${kind} ${time}`), ['timer 20', 'click 3'])
})

stays('a listener that is dispatched inside a job belongs to the stay of the job', () => {
  const { host, window, target } = adopted()
  target.addEventListener('click', program.add(5, 10))
  window.setTimeout(program.dispatching(target, new window.Event('click')), 0)
  window.setTimeout(program.add(5, 100), 3)
  host.run()
  assert.is(program.result(), 112)
})

stays('an interval that waits for a claim counts once', () => {
  const { host, window } = adopted()
  const { port1, port2 } = new window.MessageChannel()
  port1.onmessage = program.add(50)
  port2.postMessage(null)
  const id = window.setInterval(program.add(1), 10)
  host.after(45, () => window.clearInterval(id))
  host.run()
  assert.is(program.result(), 2)
})

stays('a frame callback that waits for a claim gets the time of the next frame', () => {
  const { host, window } = adopted()
  const { port1, port2 } = new window.MessageChannel()
  const times = []
  port1.onmessage = program.add(40)
  host.after(10, () => port2.postMessage(null))
  window.requestAnimationFrame(program.timed(1, times))
  host.run()
  assert.equal(times.length, 1)
  assert.ok(times[0] > 40, `${times}`)
  assert.is(program.result(), 2)
})

stays('the rule interleave lets callbacks of shared state interleave', () => {
  const { host, window } = adopted({ rules: { message: { interleave: true }, timer: { interleave: true } } })
  const { port1, port2 } = new window.MessageChannel()
  port1.onmessage = program.add(20)
  port2.postMessage(null)
  window.setTimeout(program.add(3), 5)
  host.run()
  assert.is(program.result(), 1)
})

stays('the report names the pair that waited long, the location and the rule', () => {
  const { host, window, adoption } = adopted()
  const { port1, port2 } = new window.MessageChannel()
  port1.onmessage = program.add(80)
  port2.postMessage(null)
  window.setTimeout(program.add(3), 5)
  host.run()
  const { waits: [{ for: other, location, ms, rule }] } = adoption.report().find(({ kind }) => kind === 'timer')
  assert.equal([other, location, rule], ['message anonymous', 'sum', '{ timer: { interleave: true } }'])
  assert.ok(ms >= 50, `${ms}`)
  assert.is(adoption.report().find(({ kind }) => kind === 'message').waits, undefined)
})

stays.run()
delete performance.advance
