import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, fp } from '../rt.mjs'
import { nonPreemptive } from '../sync.mjs'
import { after } from '../alarms.mjs'
import { virtualHost } from './support/virtual-host.mjs'
import { assertTrace, format, record } from './support/trace.mjs'

const nonPreemptiveSections = suite('nonPreemptive')

/** A job that works in whole ms, with a point after each. */
function* work(host, ms) {
  for (let done = 0; done < ms; done++) {
    host.advance(1)
    yield
  }
}

function setUp(options) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy: fp, budget: 1, slice: Infinity, round: Infinity, ...options })
  return { host, scheduler, trace: record(scheduler, { except: ['round', 'release', 'alarm'] }) }
}

nonPreemptiveSections('a more urgent arrival waits for the end of the section, and no longer', () => {
  const { host, scheduler, trace } = setUp()
  scheduler.spawn(function* () {
    yield work(host, 1)
    yield nonPreemptive(() => work(host, 3))
    yield work(host, 2)
  }, { name: 'low', priority: 1 })
  scheduler.spawn(() => work(host, 1), { name: 'high', priority: 2, release: 2 })
  host.run()
  assertTrace(format(trace.records), `
0 start low
4 preempt low by=high
4 start high
5 finish high
5 resume low
7 finish low
`.trim())
})

nonPreemptiveSections('an arrival during the section does not block its holder for ever', () => {
  const { host, scheduler } = setUp()
  const order = []
  scheduler.spawn(function* () {
    const result = yield nonPreemptive(function* () {
      yield work(host, 2)
      order.push('section')
      return 7
    })
    order.push(result)
  }, { priority: 1 })
  scheduler.spawn(() => { order.push('high') }, { priority: 2, release: 1 })
  host.run()
  assert.equal(order, ['section', 'high', 7])
})

nonPreemptiveSections('sections nest: the outermost one ends the protection', () => {
  const { host, scheduler } = setUp()
  const order = []
  scheduler.spawn(function* () {
    yield* nonPreemptive(function* () {
      yield nonPreemptive(() => work(host, 2))
      order.push('inner ended')
      yield work(host, 1)
      order.push('outer ended')
    })
    yield
    order.push('low')
  }, { priority: 1 })
  scheduler.spawn(() => { order.push('high') }, { priority: 2, release: 1 })
  host.run()
  assert.equal(order, ['inner ended', 'outer ended', 'high', 'low'])
})

nonPreemptiveSections('rounds end and alarms fire inside the section', () => {
  const { host, scheduler } = setUp({ round: 2 })
  const seen = []
  after(3, time => seen.push(time), { scheduler })
  scheduler.spawn(() => nonPreemptive(() => work(host, 6)))
  host.run()
  assert.equal(seen, [3])
  assert.is(scheduler.stats().rounds, 4)
})

nonPreemptiveSections('an error ends the section and is thrown at its yield', () => {
  const { host, scheduler } = setUp()
  const order = []
  scheduler.spawn(function* () {
    try {
      yield nonPreemptive(function* () {
        yield work(host, 2)
        throw new Error('inside')
      })
    } catch (error) {
      order.push(error.message)
    }
    yield
    order.push('low')
  }, { priority: 1 })
  scheduler.spawn(() => { order.push('high') }, { priority: 2, release: 1 })
  host.run()
  assert.equal(order, ['high', 'inside', 'low'])
})

nonPreemptiveSections('waiting inside is a TypeError at that yield, and the section goes on', () => {
  const { host, scheduler } = setUp()
  let error
  const job = scheduler.spawn(() => nonPreemptive(function* () {
    try {
      yield Promise.resolve()
    } catch (caught) {
      error = caught
    }
    return 'went on'
  }))
  host.run()
  assert.instance(error, TypeError)
  assert.match(error.message, 'critical section')
  assert.is(job.state, 'done')
})

nonPreemptiveSections('a cancellation is thrown after the section', () => {
  const { host, scheduler } = setUp()
  const order = []
  const job = scheduler.spawn(function* () {
    try {
      yield nonPreemptive(function* () {
        yield work(host, 3)
        order.push('section ended')
      })
      yield
      order.push('not reached')
    } finally {
      order.push('finally')
    }
  })
  after(1, () => job.cancel(), { scheduler })
  host.run()
  assert.equal(order, ['section ended', 'finally'])
  assert.is(job.state, 'cancelled')
})

nonPreemptiveSections('a plain function is a section too', () => {
  const { host, scheduler } = setUp()
  let result
  scheduler.spawn(function* () { result = yield nonPreemptive(() => 5) })
  host.run()
  assert.is(result, 5)
})

nonPreemptiveSections('what is no function is refused at the call; outside a job at the yield', () => {
  for (const section of [undefined, null, 5, 'x', {}, Symbol('x')]) {
    assert.throws(() => nonPreemptive(section), error => error instanceof TypeError && /section/.test(error.message))
  }
  assert.throws(() => nonPreemptive(function* () {})[Symbol.iterator]().next(), /for jobs/)
})

nonPreemptiveSections.run()
