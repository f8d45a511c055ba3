/** Tests of barriers: no job passes before all parties have called `wait()`. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { after, sleep, timeout } from '../../alarms.mjs'
import { Barrier, Semaphore, nonPreemptive } from '../../sync.mjs'
import { assertTrace } from '../support/trace.mjs'
import { exactWorld } from '../support/world.mjs'

/** A scheduler that reads its clock at every point, without rotation or rounds unless the options say so. */
const world = (/** @type {any} */ options = {}) => exactWorld({ except: ['round', 'release', 'alarm'], ...options })

const barriers = suite('barriers')

barriers('all jobs continue when the last has arrived, highest rank first', () => {
  const { host, scheduler, trace } = world()
  const barrier = new Barrier(3, { name: 'b' })
  for (const [name, priority, ms] of [['low', 1, 3], ['high', 3, 1], ['middle', 2, 2]]) {
    scheduler.spawn(function* () {
      yield sleep(ms)
      yield barrier.wait()
    }, { name, priority })
  }
  host.run()
  assertTrace(trace.text().replace(/on=(sleep|Sleep)\S*/g, 'on=sleep'), `
    0 start high, block high on=sleep, start middle, block middle on=sleep, start low, block low on=sleep
    1 wake high, resume high, block high on=b.wait()
    2 wake middle, resume middle, block middle on=b.wait()
    3 wake low, resume low, wake high, wake middle, preempt low by=high, resume high, finish high
    3 resume middle, finish middle, resume low, finish low`)
})

barriers('a barrier can be used again, and no job is a phase ahead', () => {
  const { host, scheduler } = world({ budget: 'auto' })
  const barrier = new Barrier(4)
  const phases = [0, 0, 0, 0]
  for (let j = 0; j < 4; j++) {
    scheduler.spawn(function* () {
      for (let i = 0; i < 20; i++) {
        yield sleep((i * 7 + j * 3) % 5)
        yield barrier.wait()
        phases[j]++
        assert.is(Math.max(...phases) - Math.min(...phases) <= 1, true)
      }
    })
  }
  host.run()
  assert.equal([phases, barrier.waiting], [[20, 20, 20, 20], 0])
})

barriers('a job that arrives while others are being woken waits for the next phase', () => {
  const { host, scheduler } = world()
  const barrier = new Barrier(2)
  const unobserve = scheduler.observe(({ type }) => {
    if (type !== 'wake') return
    unobserve()
    barrier.wait().then(() => {})
  })
  const jobs = [1, 2].map(() => scheduler.spawn(() => barrier.wait()))
  host.run()
  assert.equal([jobs.map(({ state }) => state), barrier.waiting], [['done', 'done'], 1])
})

barriers('a job that is cancelled or times out does not count at the barrier', () => {
  const { host, scheduler, log } = world()
  const barrier = new Barrier(2)
  const cancelled = scheduler.spawn(() => barrier.wait())
  cancelled.catch(() => {})
  scheduler.spawn(function* () {
    yield sleep(2)
    try {
      yield timeout(2, barrier.wait())
    } catch (error) {
      log.push(error.name)
    }
  })
  after(1, () => cancelled.cancel(), { scheduler })
  after(3, () => log.push(barrier.waiting), { scheduler })
  host.run()
  assert.equal([log, barrier.waiting], [[1, 'TimeoutError'], 0])
})

barriers('a barrier for one party never waits', () => {
  const { host, scheduler, log } = world()
  const barrier = new Barrier(1)
  scheduler.spawn(function* () {
    yield barrier.wait()
    log.push('passed')
  })
  host.run()
  assert.equal(log, ['passed'])
})

barriers('a barrier can be awaited outside jobs, together with jobs', async () => {
  const { host, scheduler, log } = world()
  const barrier = new Barrier(3)
  const outside = [barrier.wait(), barrier.wait()].map(async waitable => {
    await waitable
    log.push('outside')
  })
  scheduler.spawn(function* () {
    yield sleep(1)
    yield barrier.wait()
    log.push('job')
  })
  await host.drain()
  await Promise.all(outside)
  assert.equal(log.sort(), ['job', 'outside', 'outside'])
})

barriers('a wait at a barrier inside a critical section throws', () => {
  const { host, scheduler, log } = world()
  const barrier = new Barrier(2)
  scheduler.spawn(() => nonPreemptive(function* () {
    try {
      yield barrier.wait()
    } catch (error) {
      log.push(error.constructor.name, barrier.waiting)
    }
  }))
  host.run()
  assert.equal(log, ['TypeError', 0])
})

barriers('Barrier throws if parties is invalid', () => {
  const refuses = (parties, kind) => assert.throws(() => new Barrier(parties),
    error => error instanceof kind && error.message.includes('parties'))
  for (const parties of [0, -1, 1.5, NaN, Infinity]) refuses(parties, RangeError)
  for (const parties of [undefined, '1', null]) refuses(parties, TypeError)
})

barriers.run()
