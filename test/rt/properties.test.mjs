import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, fp } from '../../rt.mjs'
import { HOSTS, WORK_CONSERVING } from '../support/platform-host.mjs'
import { outcomes, program } from '../support/random-program.mjs'
import { waitingProgram } from '../support/random-waits.mjs'
import { forSeeds, seeded } from '../support/seeded.mjs'
import { assertTrace, record } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'

const properties = suite('random programs')

for (const { where, hostOf, part } of HOSTS) {
  properties(`random programs keep the invariants on ${where}`, () => forSeeds(1000 * part, async random => {
    const seen = await program(random, { hostOf }).run()
    seen.assert()
  }))

  properties(`random programs always run alike, observed or not, on ${where}`, () => forSeeds(300 * part, async ({ seed }) => {
    const watched = program(seeded(seed), { hostOf })
    const again = program(seeded(seed), { hostOf })
    const unwatched = program(seeded(seed), { hostOf, blind: true })
    for (const { run } of [watched, again, unwatched]) await run()
    assertTrace(again.seen.records, watched.seen.records)
    // Records contain the time, and on this host each reading of the clock takes time.
    if (watched.host.read > 0) return
    assertTrace(outcomes(unwatched), outcomes(watched), 'being watched changes the schedule')
  }))
}

for (const { where, hostOf, part } of WORK_CONSERVING) {
  properties(`random programs with waits, locks and servers keep the invariants on ${where}`, () => {
    return forSeeds(750 * part, random => waitingProgram(random, { hostOf }).run())
  })
}

properties.run()

const allocation = suite('memory allocated by a resume')

/**
 * Bytes per resume of a job that only yields: the median of many stretches, so that garbage collections do
 * not count.
 */
async function bytesPerResume(budget) {
  const [stretches, resumes] = [61, 4000]
  const bytes = []
  const scheduler = new Scheduler({ budget, slice: Infinity, round: Infinity })
  await scheduler.spawn(function* () {
    for (let n = 0; n < stretches; n++) {
      const before = process.memoryUsage().heapUsed
      for (let left = resumes; left > 0; left--) yield
      bytes.push((process.memoryUsage().heapUsed - before) / resumes)
    }
  })
  return bytes.sort((a, b) => a - b)[stretches >> 1]
}

// An iterator result in V8 has a map, two empty stores and two fields of 8 bytes each. A time can be a heap
// number.
const ITERATOR_RESULT = 40
const TIMES = 2 * 16

allocation('a resume allocates one iterator result, and times where the clock is read', async () => {
  const [often, seldom] = [await bytesPerResume(1), await bytesPerResume(1000)]
  assert.ok(often < ITERATOR_RESULT + TIMES + 1, `${often} bytes`)
  assert.ok(seldom < ITERATOR_RESULT + 1, `${seldom} bytes`)
})

allocation.run()

const found = suite('faults found by random programs')

found('a job that sets its own deadline while running ends as done', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const job = scheduler.spawn(function* () {
    job.deadline = 7
    yield
    return 'done'
  }, { deadline: 5 })
  const drained = host.drain()
  assert.is(await job, 'done')
  await drained
  assert.is(job.absoluteDeadline, 7)
})

for (const { name, policy, given, change } of [
  { name: 'priority', policy: fp, given: { priority: 3 }, change: job => { job.priority = 0 } },
  { name: 'deadline', policy: undefined, given: { deadline: 10 }, change: job => { job.deadline = 90 } }
]) {
  found(`a pending job given a worse ${name} keeps the inherited rank of its waiters`, () => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host, policy, budget: 1 })
    const trace = record(scheduler, { only: ['start'] })
    const low = scheduler.spawn(execute(host, 2), { name: 'low', release: 5, ...given })
    scheduler.spawn(function* () { yield low }, { name: 'waits', priority: 2, deadline: 20 })
    scheduler.spawn(execute(host, 2), { name: 'middle', release: 5, priority: 1, deadline: 40 })
    host.after(1, () => change(low))
    host.run()
    assertTrace(trace, `
      0 start waits
      5 start low
      7 start middle`)
  })
}

found('a job cancelled before its release has not missed its deadline', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const late = scheduler.spawn(function* () {}, { release: 1, deadline: 1 })
  scheduler.spawn(function* () {
    host.advance(5)
    late.cancel()
  })
  host.run()
  assert.is(late.missed, false)
  assert.is(scheduler.stats().misses, 0)
})

found('a job that tried to wait for itself and then fails is reported', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const failure = new Error('unhandled')
  const job = scheduler.spawn(function* () {
    try {
      yield job
    } catch {
      throw failure
    }
  })
  await host.drain()
  assert.equal(host.errors, [failure])
})

for (const [manner, broken] of [
  ['throws', failure => ({ then() { throw failure } })],
  ['cannot be read', failure => ({ get then() { throw failure } })]
]) {
  found(`a thenable that resolves later with a thenable whose then ${manner} rejects`, async () => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host })
    const failure = new Error('broken')
    const resolveLater = { then: resolve => { host.after(1, () => resolve(broken(failure))) } }
    const job = scheduler.spawn(function* () { yield resolveLater })
    const outcome = job.catch(error => error)
    await host.drain()
    assert.is(await Promise.race([outcome, Promise.resolve('nothing')]), failure)
  })
}

found.run()
