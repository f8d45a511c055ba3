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
  properties(`keep the invariants on ${where}`, () => forSeeds(4000 * part, async random => {
    const seen = await program(random, { hostOf }).run()
    seen.assert()
  }))

  properties(`run alike always, watched or not, on ${where}`, () => forSeeds(500 * part, async ({ seed }) => {
    const watched = program(seeded(seed), { hostOf })
    const again = program(seeded(seed), { hostOf })
    const unwatched = program(seeded(seed), { hostOf, blind: true })
    for (const { run } of [watched, again, unwatched]) await run()
    assertTrace(again.seen.records, watched.seen.records)
    // Records carry the time, and here it takes time to look at the clock.
    if (watched.host.read > 0) return
    assertTrace(outcomes(unwatched), outcomes(watched), 'being watched changes the schedule')
  }))
}

for (const { where, hostOf, part } of WORK_CONSERVING) {
  properties(`that wait, in locks and servers, keep the invariants on ${where}`, () => {
    return forSeeds(3000 * part, random => waitingProgram(random, { hostOf }).run())
  })
}

properties.run()

const allocation = suite('what a resume allocates')

/** Bytes per resume of a job that does nothing else: the median of many stretches, of which collections disturb few. */
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

// V8's iterator result has a map, two empty stores and two fields of 8 bytes each; a time may be a number on the heap.
const ITERATOR_RESULT = 40
const TIMES = 2 * 16

allocation('the engine\'s own iterator result; times, where the clock is read', async () => {
  const [often, seldom] = [await bytesPerResume(1), await bytesPerResume(1000)]
  assert.ok(often < ITERATOR_RESULT + TIMES + 1, `${often} bytes`)
  assert.ok(seldom < ITERATOR_RESULT + 1, `${seldom} bytes`)
})

allocation.run()

const found = suite('what random programs have found')

found('a deadline set by the running job', async () => {
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
  found(`a pending job given a worse ${name} keeps what those who wait for it lend`, () => {
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

found('a failure is reported although the job has tried to wait for itself', async () => {
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
  found(`a thenable that resolves, later, with one whose then ${manner}`, async () => {
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
