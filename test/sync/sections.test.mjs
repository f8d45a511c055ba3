import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlineError } from '../../rt.mjs'
import { after, sleep } from '../../alarms.mjs'
import { Mutex, nonPreemptive } from '../../sync.mjs'
import { assertTrace } from '../support/trace.mjs'
import { exactWorld as world } from '../support/world.mjs'
import { work } from '../support/virtual-host.mjs'

const nonPreemptiveSections = suite('nonPreemptive')

nonPreemptiveSections('no job preempts a section, and waiting jobs run at the first point after it', () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(function* () {
    yield* work(host, 1)
    yield nonPreemptive(() => work(host, 3))
    yield* work(host, 2)
  }, { name: 'holder' })
  scheduler.spawn(() => work(host, 1), { name: 'before', priority: 1, release: 1 })
  scheduler.spawn(() => work(host, 1), { name: 'inside', priority: 2, release: 3 })
  host.run()
  assertTrace(trace, `
    0 release holder, start holder
    1 release before, preempt holder by=before, start before
    2 finish before, resume holder
    3 release inside
    5 preempt holder by=inside, start inside
    6 finish inside, resume holder
    8 finish holder`)
})

nonPreemptiveSections('jobs of equal rank do not rotate inside a section', () => {
  const { host, scheduler, trace } = world({ slice: 1 })
  scheduler.spawn(function* () {
    yield nonPreemptive(() => work(host, 3))
    yield* work(host, 1)
  }, { name: 'holder' })
  scheduler.spawn(() => work(host, 2), { name: 'equal' })
  host.run()
  assertTrace(trace, `
    0 release holder, release equal, start holder
    3 preempt holder by=equal, start equal
    4 preempt equal by=holder, resume holder
    5 finish holder, resume equal
    6 finish equal`)
})

nonPreemptiveSections('a job released during a section runs after it, and the holder then continues', () => {
  const { host, scheduler } = world()
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

nonPreemptiveSections('nested sections protect until the outermost one ends', () => {
  const { host, scheduler } = world()
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

nonPreemptiveSections('an error ends the section and is thrown at its yield', () => {
  const { host, scheduler } = world()
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

nonPreemptiveSections('rounds end, and timers and alarms fire, inside a section', () => {
  const { host, scheduler, log, trace } = world({ round: 2 })
  scheduler.spawn(() => nonPreemptive(() => work(host, 5)), { name: 'holder' })
  scheduler.spawn(() => { log.push('released') }, { name: 'urgent', priority: 9, release: 2.5 })
  host.after(3, () => log.push(`timer at ${host.time}`))
  after(1, () => log.push(`alarm at ${host.time}`), { scheduler })
  host.run()
  assert.equal(log, ['alarm at 1', 'timer at 4', 'released'])
  assert.is(scheduler.stats().rounds, 3)
  assertTrace(trace, `
    0 release holder, start holder
    1 alarm due=1
    3 release urgent
    5 preempt holder by=urgent, start urgent, finish urgent, resume holder, finish holder`)
  assert.is(trace.records.find(({ type }) => type === 'release').job.release, 0)
  assert.is(trace.records.find(({ job }) => job?.name === 'urgent').job.release, 2.5)
})

nonPreemptiveSections('any wait inside a section throws a TypeError at its yield', async () => {
  const { host, scheduler, log } = world()
  const other = scheduler.spawn(function* () { yield sleep(5) }, { name: 'other' })
  const waits = [() => sleep(1), () => new Mutex().lock(), () => Promise.resolve(), () => other]
  const job = scheduler.spawn(() => nonPreemptive(function* () {
    for (const wait of waits) {
      try {
        yield wait()
        log.push('waited')
      } catch (error) {
        log.push(`${error.name}: ${error.message}`)
      }
    }
    return 'result'
  }), { name: 'job' })
  host.run()
  assert.is(job.state, 'done')
  assert.equal(log, Array(4).fill('TypeError: job waits inside a critical section'))
})

nonPreemptiveSections('a cancellation is thrown at the first yield after the section', () => {
  const { host, scheduler, trace, log } = world()
  const job = scheduler.spawn(function* () {
    try {
      yield nonPreemptive(function* () {
        yield* work(host, 3)
        log.push(`end at ${host.time}`)
      })
      yield
      log.push('never')
    } finally {
      yield sleep(2)
      log.push(`clean at ${host.time}`)
    }
  }, { name: 'job' })
  after(1, () => job.cancel('stop'), { scheduler })
  host.run()
  assert.equal(log, ['end at 3', 'clean at 5'])
  assertTrace(trace, `
    0 release job, start job
    1 alarm due=1
    3 block job on=Sleep
    5 alarm due=5, wake job, resume job, cancel job error=stop`)
})

nonPreemptiveSections('the end of a section cuts the budget for an urgent job or a cancellation', () => {
  for (const isCancelled of [false, true]) {
    const { host, scheduler, log } = world({ budget: 100 })
    const job = scheduler.spawn(function* () {
      yield nonPreemptive(function* () {
        if (isCancelled) job.cancel()
        else scheduler.spawn(() => { log.push('urgent') }, { priority: 1 })
        for (let i = 0; i < 5; i++) yield
        log.push('end')
      })
      yield
      log.push('after')
    })
    host.run()
    assert.equal(log, isCancelled ? ['end'] : ['end', 'urgent', 'after'])
  }
})

nonPreemptiveSections('a miss with abort inside a section throws the DeadlineError after it', () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(function* () {
    try {
      yield nonPreemptive(() => work(host, 4))
    } catch (error) {
      log.push(host.time, error instanceof DeadlineError)
      throw error
    }
  }, { deadline: 2, miss: 'abort' })
  host.run()
  assert.equal([log, job.state, job.missed], [[4, true], 'cancelled', true])
})

nonPreemptiveSections('a section can be a plain function', () => {
  const { host, scheduler } = world()
  let result
  scheduler.spawn(function* () { result = yield nonPreemptive(() => 5) })
  host.run()
  assert.is(result, 5)
})

nonPreemptiveSections('nonPreemptive rejects a non-function at the call and throws outside a job', () => {
  for (const section of [undefined, null, 5, 'x', {}, Symbol('x')]) {
    assert.throws(() => nonPreemptive(section), error => error instanceof TypeError && /section/.test(error.message))
  }
  assert.throws(() => nonPreemptive(function* () {})[Symbol.iterator]().next(), /must be in a job/)
})

nonPreemptiveSections.run()
