import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlineError, Task, edf, fp, rm } from '../../rt.mjs'
import { at, frames, nextPeriod, periodic, sleep, sporadic } from '../../alarms.mjs'
import { Channel, nonPreemptive } from '../../sync.mjs'
import { ideal, jobsOf } from '../support/oracle.mjs'
import { WORK_CONSERVING } from '../support/platform-host.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { assertTrace, executions } from '../support/trace.mjs'
import { execute } from '../support/virtual-host.mjs'
import { abortListeners, exactWorld } from '../support/world.mjs'

const HOUR = 3_600_000

/** A scheduler that reads its clock at every point and does not rotate, unless the options say otherwise. */
function world(options = /** @type {any} */ ({})) {
  const made = exactWorld({ policy: edf, except: ['round', 'alarm'], ...options })
  return { ...made, work: ms => function* work() { yield* execute(made.host, ms) } }
}

/** The release, start and finish of each job, in the order of release. */
function spans(trace) {
  const jobs = [...new Set(trace.records.map(({ job }) => job))]
  return jobs.map(({ release, started, finished }) => [release, started, finished])
}

// ------------------------------------------------------------------------------------ periodic releases

const releases = suite('periodic')

releases('periodic() releases a job every period, now first, with the period as deadline', () => {
  const { host, scheduler, trace, log } = world()
  const task = periodic(function* tick() {
    log.push(scheduler.current.deadline)
    yield* execute(host, 2)
  }, { period: 10, count: 3, scheduler })
  assert.is(task.jobs, 0)
  host.run()
  assertTrace(trace, `
    0 release tick, start tick
    2 finish tick
    10 release tick, start tick
    12 finish tick
    20 release tick, start tick
    22 finish tick
  `)
  assert.equal(log, [10, 10, 10])
  assert.equal([task.jobs, task.skipped], [3, 0])
  assert.equal(host.timers, [])
})

releases('phase is the time until the first release', () => {
  const { host, scheduler, trace, work } = world({ host: { start: 100 } })
  periodic(work(1), { period: 10, phase: 2.5, count: 3, scheduler })
  host.run()
  assert.equal(spans(trace).map(([release]) => release), [102.5, 112.5, 122.5])
})

releases('options override the period and deadline of the task', () => {
  const ofJobs = (make, options) => {
    const { host, scheduler, log } = world()
    const task = make(function* () {
      const { current } = scheduler
      log.push([host.time, current.period, current.deadline, current.task === task])
    })
    periodic(task, { scheduler, count: 2, ...options })
    host.run()
    return log
  }
  const own = { period: 5, deadline: 3 }
  assert.equal(ofJobs(run => new Task(run, { period: 5 })), [[0, 5, 5, true], [5, 5, 5, true]])
  assert.equal(ofJobs(run => new Task(run, own)), [[0, 5, 3, true], [5, 5, 3, true]])
  assert.equal(ofJobs(run => new Task(run, own), { period: 7 }), [[0, 7, 3, true], [7, 7, 3, true]])
  assert.equal(ofJobs(run => new Task(run, own), { deadline: 4 }), [[0, 5, 4, true], [5, 5, 4, true]])
  assert.equal(ofJobs(run => run, { period: 5 }), [[0, 5, 5, false], [5, 5, 5, false]])
  assert.equal(ofJobs(run => run, { period: 5, deadline: Infinity })[0], [0, 5, Infinity, false])
})

releases('the parameters of a task are read at each release', () => {
  const { host, scheduler, log } = world()
  const task = new Task(function* () { log.push([scheduler.current.deadline, scheduler.current.priority]) })
  periodic(task, { period: 10, count: 3, scheduler })
  at(5, () => { Object.assign(task, { deadline: 7, priority: 2 }) }, { scheduler })
  at(15, () => { task.deadline = Infinity }, { scheduler })
  host.run()
  assert.equal(log, [[10, 0], [7, 2], [10, 2]])
})

// Buttazzo, Hard Real-Time Computing Systems: U = 2/5 + 4/7 = 0.97 is above the bound of rate monotonic.
const buttazzo = { A: [2, 5], B: [4, 7] }
const charts = {
  edf: { A: '##....##....##.##...##....##....##.', B: '..####..####..#..###..####..####...' },
  rm: { A: '##...##...##...##...##...##...##...', B: '..###..###..###..###..###..###..##.' }
}

for (const policy of [edf, rm]) {
  releases(`periodic tasks under ${policy.name} run as in the textbook (Buttazzo)`, () => {
    const { host, scheduler, trace, work } = world({ policy })
    for (const [name, [wcet, period]] of Object.entries(buttazzo)) {
      periodic(work(wcet), { name, period, excess: 'queue', scheduler })
    }
    host.run({ until: 35 })
    const rows = { A: Array(35).fill('.'), B: Array(35).fill('.') }
    for (const [job, intervals] of executions(trace.records)) {
      for (const [start, end] of intervals) rows[job.name].fill('#', start, Math.min(end, 35))
    }
    assert.equal({ A: rows.A.join(''), B: rows.B.join('') }, charts[policy.name])
  })
}

releases('random periodic tasks run as the oracle computes, under edf and fp', () => {
  return forSeeds(60, random => {
    const tasks = Array.from({ length: random.integer(2, 6) }, (_, index) => {
      const period = random.pick([4, 5, 8, 10, 16, 25])
      const phase = random.integer(0, 6)
      return { period, phase, wcet: random.integer(1, Math.ceil(period / 3)), priority: index + random.real(0, 0.5) }
    })
    const jobs = jobsOf(tasks, 200).map(job => ({ ...job, priority: tasks[job.task].priority }))
    for (const policy of [edf, fp]) {
      const { finish } = ideal(jobs, /** @type {any} */ (policy.name))
      const { host, scheduler, trace, work } = world({ policy, hostOf: random.pick(WORK_CONSERVING).hostOf })
      const wanted = tasks.map((_, task) => jobs.flatMap((job, index) => {
        return job.task === task ? [[job.release, finish[index]]] : []
      }))
      for (const [index, { wcet, ...options }] of tasks.entries()) {
        periodic(work(wcet), {
          ...options, name: String(index), count: wanted[index].length, excess: 'queue', scheduler
        })
      }
      host.run()
      const found = tasks.map(() => [])
      for (const job of executions(trace.records).keys()) found[job.name].push([job.release, job.finished])
      for (const spans of found) spans.sort(([a], [b]) => a - b)
      assert.equal(found, wanted, policy.name)
    }
  })
})

releases('an hour of a period that is not a binary fraction has no drift', () => {
  const period = 1000 / 60
  const { host, scheduler, trace } = world({ host: { start: 0.7, turn: 0.01 } })
  trace.stop()
  let wrong = 0
  let index = 0
  const task = periodic(function* () {
    if (scheduler.current.release !== 0.7 + index++ * period) wrong++
  }, { period, scheduler })
  host.run({ until: HOUR })
  assert.is(wrong, 0)
  assert.is(task.jobs, Math.ceil((HOUR - 0.7) / period))
})

releases('skip, the default: a period is skipped while the previous job runs', () => {
  for (const options of [{}, { excess: 'skip' }]) {
    const { host, scheduler, trace, work } = world()
    const task = periodic(work(15), { period: 10, scheduler, ...options })
    host.run({ until: 70 })
    assert.equal(spans(trace), [[0, 0, 15], [20, 20, 35], [40, 40, 55], [60, 60, 75]])
    assert.equal([task.jobs, task.skipped], [4, 4])
  }
})

releases('queue: the job of a period waits until the previous job has ended', () => {
  const { host, scheduler, trace } = world()
  let needed = 25
  const task = periodic(function* tick() {
    const ms = needed
    needed = 2
    yield* execute(host, ms)
  }, { period: 10, excess: 'queue', deadline: 50, count: 4, scheduler })
  host.run()
  assertTrace(trace, `
    0 release tick, start tick
    10 release tick, block tick on=Turn
    25 finish tick, wake tick, release tick, block tick on=Turn, start tick
    27 finish tick, wake tick, start tick
    29 finish tick
    30 release tick, start tick
    32 finish tick
  `)
  assert.equal(spans(trace), [[0, 0, 25], [10, 25, 27], [20, 27, 29], [30, 30, 32]])
  assert.equal([task.jobs, task.skipped], [4, 0])
})

releases('queue: a waiting job misses the deadline of its own period', () => {
  const onMiss = ({ release, absoluteDeadline }) => { log.push([release, absoluteDeadline, host.time]) }
  const { host, scheduler, log } = world({ onMiss })
  let needed = 25
  periodic(function* () {
    const ms = needed
    needed = 2
    yield* execute(host, ms)
  }, { period: 10, excess: 'queue', count: 3, scheduler })
  host.run()
  assert.equal(log, [[0, 10, 11], [10, 20, 21]])
})

releases('restart: the previous job is cancelled and the next one released immediately', () => {
  const { host, scheduler, trace, log } = world()
  const task = periodic(function* tick() {
    try {
      yield* execute(host, 15)
    } catch (error) {
      log.push([error.name, error.message, host.time])
      throw error
    } finally {
      yield* execute(host, 2)
    }
  }, { period: 10, excess: 'restart', count: 2, scheduler })
  host.run()
  assertTrace(trace, `
    0 release tick, start tick
    10 release tick
    11 miss tick
    12 cancel tick error=AbortError, start tick
    21 miss tick
    29 finish tick
  `)
  assert.equal(log, [['AbortError', 'A newer job of the task replaces this job', 10]])
  assert.equal([task.jobs, task.skipped], [2, 0])
  assert.equal(host.errors, [])
})

releases('restart: a job that has not started is also cancelled', () => {
  const { host, scheduler, trace, work } = world({ policy: fp })
  scheduler.spawn(execute(host, 25), { name: 'other', priority: 1 })
  periodic(work(1), { name: 'tick', period: 10, excess: 'restart', scheduler, count: 3 })
  host.run()
  assertTrace(trace, `
    0 release other, release tick, start other
    10 cancel tick error=AbortError, release tick
    20 cancel tick error=AbortError, release tick
    25 finish other, start tick
    26 finish tick
  `)
})

releases('latest: the job of the latest period replaces the waiting job', () => {
  const { host, scheduler, trace, work } = world()
  const task = periodic(work(25), { period: 10, excess: 'latest', count: 3, scheduler })
  host.run()
  const started = spans(trace).filter(([, started]) => started !== undefined)
  assert.equal(started, [[0, 0, 25], [20, 25, 50], [40, 50, 75]])
  assert.equal([task.jobs, task.skipped], [3, 2])
})

const ends = { skip: [15, 35, 55], queue: [15, 30, 45], latest: [15, 30, 45], restart: [10, 20, 35] }

for (const excess of /** @type {const} */ (['skip', 'queue', 'latest', 'restart'])) {
  releases(`${excess}: count is the number of jobs`, () => {
    const { host, scheduler, trace, work } = world()
    const task = periodic(work(15), { period: 10, excess, count: 3, scheduler })
    host.run()
    assert.equal(spans(trace).map(([, , finished]) => finished), ends[excess])
    assert.is(task.jobs, 3)
    assert.is(task.cancel(), false)
    assert.equal(host.timers, [])
  })
}

releases('after an hour of sleep: one job for the latest period, or with queue, for each', () => {
  const count = excess => {
    const { host, scheduler, trace } = world()
    trace.stop()
    const task = periodic(function* () {}, { period: 1000, phase: 500, excess, scheduler })
    host.run({ until: 600 })
    host.advance(HOUR)
    host.run({ until: HOUR + 700 })
    return [task.jobs, task.skipped]
  }
  assert.equal(count('skip'), [2, 3599])
  assert.equal(count('restart'), [2, 3599])
  assert.equal(count('queue'), [3601, 0])
})

releases('a queue of 100,000 overdue periods is processed in order', () => {
  const { host, scheduler, trace } = world({ budget: 'auto' })
  trace.stop()
  let wrong = 0
  let index = 0
  const task = periodic(function* () {
    if (scheduler.current.release !== index++) wrong++
  }, { period: 1, excess: 'queue', count: 100_000, scheduler })
  host.advance(1e6)
  host.run()
  assert.equal([task.jobs, wrong], [100_000, 0])
})

releases('onMiss and onOverrun are called for each job', () => {
  const { host, scheduler, log } = world({
    onMiss: job => { log.push(['scheduler: miss', job.release]) },
    onOverrun: job => { log.push(['scheduler: overrun', job.release]) }
  })
  const needed = [2, 4, 9, 3]
  periodic(function* () { yield* execute(host, needed.shift()) }, {
    period: 10, deadline: 8, wcet: 3, count: 4, scheduler,
    onMiss: job => { log.push(['miss', job.release, host.time, job.missed]) },
    onOverrun: job => { log.push(['overrun', job.release, host.time]) }
  })
  host.run()
  assert.equal(log, [
    ['overrun', 10, 14], ['scheduler: overrun', 10],
    ['overrun', 20, 24], ['scheduler: overrun', 20],
    ['miss', 20, 29, true], ['scheduler: miss', 20]
  ])
})

releases('miss: \'abort\' cancels a job at its deadline, and the next job is on time', () => {
  const { host, scheduler, trace, log } = world()
  periodic(function* tick() {
    try {
      yield* execute(host, 9)
    } catch (error) {
      log.push(error instanceof DeadlineError)
      throw error
    }
  }, { period: 10, deadline: 5, miss: 'abort', count: 2, scheduler })
  host.run()
  assertTrace(trace, `
    0 release tick, start tick
    6 miss tick, cancel tick error=DeadlineError
    10 release tick, start tick
    16 miss tick, cancel tick error=DeadlineError
  `)
  assert.equal(log, [true, true])
})

releases('a job that fails is reported, and the next job is on time', () => {
  const onError = (error, job) => { log.push([error.message, job.release]) }
  const { host, scheduler, log } = world({ onError })
  periodic(function* () { throw new Error('failed') }, { period: 10, count: 2, scheduler })
  host.run()
  assert.equal(log, [['failed', 0], ['failed', 10]])
})

releases('an invalid task is reported at each release and affects no later release', () => {
  for (const excess of /** @type {const} */ (['skip', 'queue', 'restart'])) {
    const { host, scheduler } = world()
    let latest
    const task = new Task(function* () {
      latest = scheduler.current.release
      yield* execute(host, latest === 0 ? 12 : 2)
    })
    const running = periodic(task, { period: 10, excess, scheduler, name: 'tick' })
    at(5, () => { task.priority = NaN }, { scheduler })
    at(25, () => { task.priority = 0 }, { scheduler })
    host.run({ until: 42 })
    assert.ok(host.errors.length > 0 && host.errors.every(error => error instanceof RangeError), excess)
    assert.ok(latest >= 30, `${excess}: no job after that for ${latest}`)
    running.cancel()
    host.run()
  }
})

releases('waiters of a job are notified even if the release of its successor fails', () => {
  const { host, scheduler, log } = world()
  const task = new Task(function* () {
    const { current } = scheduler
    scheduler.spawn(function* () {
      yield current
      log.push(host.time)
    })
    yield* execute(host, 12)
  })
  const running = periodic(task, { period: 10, excess: 'queue', scheduler })
  at(5, () => { task.priority = NaN }, { scheduler })
  at(15, () => { running.cancel() }, { scheduler })
  host.run()
  assert.equal(log, [12])
  assert.is(host.errors.length, 1)
})

releases('cancel() ends the releases, and the running job continues', () => {
  const { host, scheduler, trace, work } = world()
  const task = periodic(work(4), { period: 10, scheduler })
  at(12, () => { assert.is(task.cancel(), true) }, { scheduler })
  host.run()
  assert.equal(spans(trace), [[0, 0, 4], [10, 10, 14]])
  assert.is(task.cancel(), false)
  assert.equal(host.errors, [])
})

releases('cancel() drops the jobs that wait for their predecessor', () => {
  const { host, scheduler, trace, work } = world()
  const task = periodic(work(25), { period: 10, excess: 'queue', scheduler, count: 3 })
  at(22, () => { assert.is(task.cancel(), true) }, { scheduler })
  host.run()
  assert.equal(spans(trace), [[0, 0, 25], [10, undefined, 22]])
  assert.is(task.jobs, 1)
  assert.is(task.cancel(), false)
})

releases('aborting the signal has the effect of cancel()', () => {
  const { host, scheduler, trace, work } = world()
  const controller = new AbortController()
  const task = periodic(work(25), { period: 10, excess: 'queue', scheduler, signal: controller.signal })
  assert.is(abortListeners(controller.signal), 1)
  at(22, () => { controller.abort() }, { scheduler })
  host.run()
  assert.equal(spans(trace), [[0, 0, 25], [10, undefined, 22]])
  assert.is(abortListeners(controller.signal), 0)
  assert.is(task.cancel(), false)
})

releases('with a signal that is already aborted, no job is released', () => {
  const { host, scheduler, work } = world()
  const signal = AbortSignal.abort()
  const task = periodic(work(1), { period: 10, scheduler, signal })
  assert.is(abortListeners(signal), 0)
  host.run()
  assert.equal([task.jobs, task.cancel(), host.turns], [0, false, 0])
})

releases('the abort listener is removed when the last job has ended', () => {
  const { host, scheduler, work } = world()
  const { signal } = new AbortController()
  periodic(work(5), { period: 10, count: 2, scheduler, signal })
  host.run({ until: 9 })
  assert.is(abortListeners(signal), 1)
  host.run()
  assert.is(abortListeners(signal), 0)
})

releases('with ref: false the process can exit', () => {
  const { host, scheduler, work } = world()
  periodic(work(1), { period: 10, phase: 5, scheduler, ref: false })
  assert.equal(host.timers, [{ time: 5, ref: false }])
})

releases('jitter() measures the delays of release, start and finish', () => {
  const { host, scheduler, work } = world({ policy: fp })
  const task = periodic(work(1), { period: 10, count: 3, scheduler })
  scheduler.spawn(execute(host, 3), { priority: 1 })
  scheduler.spawn(execute(host, 4, 4), { priority: 1, release: 8 })
  host.run()
  const nothing = { count: 3, min: 0 }
  assert.equal(task.jitter(), {
    release: { ...nothing, mean: 2 / 3, p99: 2, max: 2 },
    start: { ...nothing, mean: 5 / 3, p99: 3, max: 3 },
    finish: { count: 3, min: 1, mean: 8 / 3, p99: 4, max: 4 }
  })
})

releases('jitter() without jobs is NaN, and a job that never started is not counted', () => {
  const { host, scheduler, work } = world({ policy: fp })
  const task = periodic(work(1), { period: 10, excess: 'restart', count: 2, scheduler })
  const none = { count: 0, min: NaN, mean: NaN, p99: NaN, max: NaN }
  assert.equal(task.jitter(), { release: none, start: none, finish: none })
  scheduler.spawn(execute(host, 15), { priority: 1 })
  host.run()
  assert.is(task.jitter().start.count, 1)
})

releases('jitter() covers the last 1000 jobs, and p99 is the 10th largest value', () => {
  const { host, scheduler, trace, log } = world({ policy: fp })
  trace.stop()
  let index = 0
  // The first 500 jobs are no longer covered.
  const task = periodic(function* () { host.advance(index++ / 1000) }, { period: 10, count: 1500, scheduler })
  host.run()
  const { count, min, p99, max } = task.jitter().finish
  log.push(count, ...[min, p99, max].map(ms => Math.round(ms * 1000)))
  assert.equal(log, [1500, 500, 1489, 1499])
})

releases.run()

// ------------------------------------------------------------------------------------------- nextPeriod

const looping = suite('nextPeriod')

looping('with nextPeriod() a job runs in every period, with a deadline in each', () => {
  const { host, scheduler, trace, log } = world()
  const task = periodic(function* loop() {
    for (let round = 0; round < 3; round++) {
      yield* execute(host, 2)
      const missed = yield nextPeriod()
      const { release, deadline, absoluteDeadline } = scheduler.current
      log.push([host.time, missed, release, deadline, absoluteDeadline])
    }
  }, { period: 10, phase: 5, scheduler })
  host.run()
  assertTrace(trace, `
    5 release loop, start loop
    7 block loop on=PeriodStart
    15 wake loop, resume loop
    17 block loop on=PeriodStart
    25 wake loop, resume loop
    27 block loop on=PeriodStart
    35 wake loop, resume loop, finish loop
  `)
  assert.equal(log, [[15, 0, 15, 10, 25], [25, 0, 25, 10, 35], [35, 0, 35, 10, 45]])
  assert.is(task.jobs, 1)
})

looping('yielding nextPeriod() returns the number of missed periods', () => {
  const { host, scheduler, log } = world()
  periodic(function* () {
    for (const ms of [5, 10, 10.5, 20, 35]) {
      yield* execute(host, ms, 0.5)
      log.push([yield nextPeriod(), host.time])
    }
  }, { period: 10, scheduler })
  host.run({ until: 200 })
  assert.equal(log, [[0, 10], [0, 20], [1, 40], [1, 60], [3, 100]])
})

looping('a period that starts when the last one ends takes no turn of the event loop', () => {
  const { host, scheduler, log } = world()
  periodic(function* () {
    for (let round = 0; round < 5; round++) {
      yield* execute(host, 10)
      yield nextPeriod()
      log.push(host.time)
    }
  }, { period: 10, scheduler })
  host.run()
  assert.equal(log, [10, 20, 30, 40, 50])
  assert.is(host.turns, 1)
})

looping('after an hour of sleep, nextPeriod counts the missed periods and does not drift', () => {
  const { host, scheduler, log } = world()
  const task = periodic(function* () {
    for (let round = 0; round < 3; round++) {
      if (round === 1) host.advance(HOUR + 1)
      log.push([yield nextPeriod(), host.time])
    }
  }, { period: 9, phase: 4, scheduler })
  host.run()
  assert.equal(log, [[0, 13], [400_000, HOUR + 22], [0, HOUR + 31]])
  assert.is(task.skipped, 400_000)
})

looping('nextPeriod with a period that is not a binary fraction does not drift', () => {
  const period = 1000 / 60
  const { host, scheduler, trace } = world({ host: { start: 0.7, turn: 0.01 } })
  trace.stop()
  let wrong = 0
  periodic(function* () {
    for (let index = 1; index < 20_000; index++) {
      const missed = yield nextPeriod()
      if (missed !== 0 || scheduler.current.release !== 0.7 + index * period) wrong++
    }
  }, { period, scheduler })
  host.run()
  assert.is(wrong, 0)
})

looping('yield* nextPeriod() returns the number of missed periods', () => {
  const { host, scheduler, log } = world()
  periodic(function* () {
    host.advance(25)
    log.push(yield* nextPeriod(), host.time)
  }, { period: 10, scheduler })
  host.run()
  assert.equal(log, [2, 30])
})

looping('a wait for the next period misses no deadline', () => {
  const { host, scheduler } = world()
  periodic(function* () {
    for (let round = 0; round < 5; round++) {
      yield* execute(host, 2)
      yield nextPeriod()
    }
  }, { period: 10, deadline: 3, scheduler })
  host.run()
  assert.is(scheduler.stats().misses, 0)
})

looping('each period that ends late is one miss and calls onMiss', () => {
  const { host, scheduler, log } = world()
  const misses = []
  periodic(function* () {
    for (const ms of [4, 5, 9, 2, 12, 3, 31]) {
      yield* execute(host, ms)
      log.push([yield nextPeriod(), host.time])
    }
  }, { period: 10, deadline: 4, scheduler, onMiss: () => { misses.push(host.time) } })
  host.run()
  assert.equal(log, [[0, 10], [0, 20], [0, 30], [0, 40], [1, 60], [0, 70], [3, 110]])
  assert.equal(misses, [15, 25, 45, 75])
  assert.is(scheduler.stats().misses, 4)
})

looping('a miss is detected even if the next period has already started', () => {
  const { host, scheduler } = world()
  const misses = []
  periodic(function* () {
    for (let round = 0; round < 3; round++) {
      host.advance(10)
      yield nextPeriod()
    }
  }, { period: 10, deadline: 9, scheduler, onMiss: () => { misses.push(host.time) } })
  host.run()
  assert.equal(misses, [10, 20, 30])
})

looping('miss: \'abort\' cancels a loop with nextPeriod', () => {
  const { host, scheduler, log } = world()
  periodic(function* () {
    try {
      for (const ms of [2, 7, 2]) {
        yield* execute(host, ms)
        yield nextPeriod()
      }
    } catch (error) {
      log.push(error.name, host.time)
      throw error
    }
  }, { period: 10, deadline: 4, miss: 'abort', scheduler })
  host.run()
  assert.equal(log, ['DeadlineError', 15])
})

looping('each period that costs more than wcet is an overrun', () => {
  const { host, scheduler } = world()
  const overruns = []
  periodic(function* () {
    for (const ms of [2, 3, 4, 3, 7, 3]) {
      yield* execute(host, ms)
      yield nextPeriod()
    }
  }, { period: 10, wcet: 3, scheduler, onOverrun: () => { overruns.push(host.time) } })
  host.run()
  assert.equal(overruns, [24, 44])
  assert.is(scheduler.stats().overruns, 2)
})

looping('the last budget of a period is charged to that period', () => {
  const { host, scheduler } = world({ budget: 4 })
  periodic(function* () {
    for (let round = 0; round < 6; round++) {
      host.advance(2)
      // Every other period ends within a budget, the rest right after one.
      if (round % 2) for (let point = 0; point < 4; point++) yield
      yield nextPeriod()
    }
  }, { period: 10, wcet: 3, scheduler })
  host.run()
  assert.is(scheduler.stats().overruns, 0)
})

looping('after count periods the loop is cancelled without a report', () => {
  const { host, scheduler, trace, log } = world()
  const task = periodic(function* loop() {
    try {
      for (;;) {
        yield* execute(host, 1)
        yield nextPeriod()
      }
    } finally {
      log.push(host.time)
    }
  }, { period: 10, count: 3, scheduler })
  host.run()
  assertTrace(trace, `
    0 release loop, start loop
    1 block loop on=PeriodStart
    10 wake loop, resume loop
    11 block loop on=PeriodStart
    20 wake loop, resume loop
    21 cancel loop error=AbortError
  `)
  assert.equal(log, [21])
  assert.is(task.jitter().finish.count, 3)
  assert.equal(host.errors, [])
})

looping('cancel() cancels the loop, also before its first nextPeriod', () => {
  for (const [time, ended] of [[2, 6], [8, 8], [12, 12], [18, 18]]) {
    const { host, scheduler, log } = world()
    const task = periodic(function* () {
      try {
        for (;;) {
          yield* execute(host, 6)
          yield nextPeriod()
        }
      } finally {
        log.push(host.time)
      }
    }, { period: 10, scheduler })
    at(time, () => { assert.is(task.cancel(), true) }, { scheduler })
    host.run()
    assert.equal(log, [ended])
    assert.is(task.cancel(), false)
    assert.equal(host.timers, [])
    assert.equal(host.errors, [])
  }
})

looping('aborting the signal cancels the loop with its reason', () => {
  const { host, scheduler, log } = world()
  const controller = new AbortController()
  periodic(function* () {
    try {
      for (;;) yield nextPeriod()
    } catch (error) {
      log.push([error, host.time])
      throw error
    }
  }, { period: 10, scheduler, signal: controller.signal })
  at(25, () => { controller.abort('enough') }, { scheduler })
  host.run()
  assert.equal(log, [['enough', 25]])
  assert.is(abortListeners(controller.signal), 0)
})

looping('the abort listener is removed when the loop ends by itself', () => {
  const { host, scheduler } = world()
  const { signal } = new AbortController()
  periodic(function* () { yield nextPeriod() }, { period: 10, scheduler, signal })
  host.run({ until: 5 })
  assert.is(abortListeners(signal), 1)
  host.run()
  assert.is(abortListeners(signal), 0)
})

for (const excess of /** @type {const} */ (['skip', 'queue'])) {
  looping(`${excess}: while a loop uses nextPeriod, no second job is released`, () => {
    const { host, scheduler, trace, log } = world()
    const task = periodic(function* loop() {
      yield* execute(host, 25)
      log.push(yield nextPeriod())
      yield* execute(host, 25)
      log.push(yield nextPeriod())
    }, { period: 10, excess, scheduler })
    host.run()
    assert.equal(log, [2, 2])
    const started = spans(trace).filter(([, started]) => started !== undefined)
    assert.equal([task.jobs, task.skipped, started.length], [1, 4, 1])
    assert.is(host.time, 60)
  })
}

looping('a loop without nextPeriod is released again after it has ended', () => {
  const { host, scheduler, trace } = world()
  let rounds = 0
  periodic(function* () {
    yield* execute(host, 3)
    if (++rounds === 2) yield nextPeriod()
  }, { period: 10, scheduler })
  host.run()
  assert.equal(spans(trace), [[0, 0, 3], [20, 10, 20]])
})

looping('jitter() of a loop measures its periods: start, resume and next request', () => {
  const { host, scheduler } = world({ policy: fp })
  const task = periodic(function* () {
    for (;;) {
      yield* execute(host, 1)
      yield nextPeriod()
    }
  }, { period: 10, count: 3, scheduler })
  scheduler.spawn(execute(host, 3), { priority: 1 })
  scheduler.spawn(execute(host, 4, 4), { priority: 1, release: 8 })
  host.run()
  const nothing = { count: 3, min: 0 }
  assert.equal(task.jitter(), {
    release: { ...nothing, mean: 2 / 3, p99: 2, max: 2 },
    start: { ...nothing, mean: 5 / 3, p99: 3, max: 3 },
    finish: { count: 3, min: 1, mean: 8 / 3, p99: 4, max: 4 }
  })
})

looping('any job of a task with a period can use nextPeriod', () => {
  const { host, scheduler, log } = world({ host: { start: 3 } })
  new Task(function* () {
    for (let round = 0; round < 3; round++) log.push([yield nextPeriod(), host.time])
  }, { period: 10, scheduler }).release()
  host.run()
  assert.equal(log, [[0, 13], [0, 23], [0, 33]])
})

looping('under rm several loops keep their own periods', () => {
  const { host, scheduler, log } = world({ policy: rm })
  for (const period of [30, 10, 15]) {
    periodic(function* () {
      for (;;) {
        log.push([host.time, period])
        yield* execute(host, 1)
        yield nextPeriod()
      }
    }, { period, scheduler })
  }
  host.run({ until: 31 })
  assert.equal(log, [
    [0, 10], [1, 15], [2, 30], [10, 10], [15, 15], [20, 10], [30, 10]
  ].concat([[31, 15], [32, 30]].slice(0, log.length - 7)))
})

looping('nextPeriod throws in a job without a period', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () {
    try {
      yield nextPeriod()
    } catch (error) {
      log.push(error.constructor, error.message)
    }
  }, { name: 'job' })
  host.run()
  assert.equal(log, [TypeError, 'nextPeriod() needs a job with a period; job has none'])
})

looping('an awaited nextPeriod() rejects instead of looping forever', async () => {
  const { host, scheduler, log } = world()
  periodic(async () => {
    try {
      for (;;) await nextPeriod()
    } catch (error) {
      log.push(error.constructor, error.message)
    }
  }, { period: 10, count: 1, scheduler })
  await host.drain()
  assert.equal(log, [TypeError, 'nextPeriod() is for generators, which yield it'])
  assert.throws(() => nextPeriod().next(), error => error.message === 'nextPeriod() must be called inside a job')
})

looping('nextPeriod is a wait, so it throws inside a critical section', () => {
  const { host, scheduler, log } = world()
  periodic(function* loop() {
    try {
      yield nonPreemptive(function* () { yield nextPeriod() })
    } catch (error) {
      log.push(error.message, host.time)
    }
  }, { period: 10, count: 2, scheduler })
  host.run({ until: 5 })
  assert.equal(log, ['loop waits inside a critical section', 0])
})

looping.run()

// ------------------------------------------------------------------------------------------------- sporadic

const bursts = suite('sporadic')

bursts('sporadic() defers releases that are closer than the interarrival time', () => {
  const { host, scheduler, trace, work } = world()
  const release = sporadic(work(1), { interarrival: 10, deadline: 4, scheduler })
  for (const time of [0, 1, 2, 35, 44, 60]) at(time, () => { release() }, { scheduler })
  host.run()
  assert.equal(spans(trace), [
    [0, 0, 1], [10, 10, 11], [20, 20, 21], [35, 35, 36], [45, 45, 46], [60, 60, 61]
  ])
  assert.is(scheduler.stats().misses, 0, 'the deadline counts from the release')
})

bursts('a burst of releases is spread out in order', () => {
  const { host, scheduler, log } = world({ host: { start: 7 } })
  const release = sporadic(function* (name) { log.push([name, host.time]) }, { interarrival: 2.5, scheduler })
  const jobs = ['a', 'b', 'c', 'd'].map(name => release(name))
  assert.equal(jobs.map(job => [job.state, job.release]), [
    ['ready', 7], ['pending', 9.5], ['pending', 12], ['pending', 14.5]
  ])
  host.run()
  assert.equal(log, [['a', 7], ['b', 9.5], ['c', 12], ['d', 14.5]])
})

bursts('late: \'drop\' loses early releases, which do not defer later ones', () => {
  const { host, scheduler, log } = world()
  const work = function* (name) { log.push([name, host.time]) }
  const release = sporadic(work, { interarrival: 10, late: 'drop', scheduler })
  const results = []
  for (const time of [0, 5, 9.9, 10, 12, 25]) {
    at(time, () => { results.push(release(time) !== null) }, { scheduler })
  }
  host.run()
  assert.equal(log, [[0, 0], [10, 10], [25, 25]])
  assert.equal(results, [true, false, false, true, false, true])
})

for (const [excess, expected] of Object.entries({
  queue: [['a', 0, 12], ['b', 12, 24], ['c', 24, 36], ['d', 36, 48]],
  skip: [['a', 0, 12], ['d', 25, 37]],
  latest: [['a', 0, 12], ['c', 12, 24], ['d', 25, 37]],
  restart: [['a', 0, 10], ['c', 10, 22], ['d', 25, 37]]
})) {
  bursts(`${excess} decides about early releases and overlapping jobs`, () => {
    const { host, scheduler, log } = world()
    const release = sporadic(function* (name) {
      const began = host.time
      try { yield* execute(host, 12) } finally { log.push([name, began, host.time]) }
    }, { interarrival: 10, excess: /** @type {any} */ (excess), scheduler })
    for (const [name, time] of Object.entries({ a: 0, b: 3, c: 7, d: 25 })) at(time, () => { release(name) }, { scheduler })
    host.run()
    assert.equal(log, expected)
  })
}

bursts('the job receives all arguments of the release', async () => {
  const { host, scheduler } = world()
  const work = async (...args) => [scheduler.current.name, ...args]
  const release = sporadic(work, { interarrival: 1, name: 'sum', scheduler })
  const jobs = [release(1, 2), release(3)]
  await host.drain()
  assert.equal(await Promise.all(jobs), [['sum', 1, 2], ['sum', 3]])
})

bursts('a deferred job can be cancelled before its release', () => {
  const { host, scheduler, log } = world()
  const release = sporadic(function* (name) { log.push([name, host.time]) }, { interarrival: 10, scheduler })
  const [, second] = ['a', 'b', 'c'].map(name => release(name))
  assert.is(second.cancel(), true)
  host.run()
  assert.equal(log, [['a', 0], ['c', 20]])
})

bursts('a release that throws uses no interarrival time', () => {
  const { host, scheduler, log } = world()
  const task = new Task(function* () { log.push(host.time) })
  const release = sporadic(task, { interarrival: 10, scheduler })
  task.deadline = -1
  assert.throws(() => release(), error => error instanceof RangeError)
  task.deadline = 1
  release()
  host.run()
  assert.equal(log, [0])
})

bursts('a release that throws leaves the waiting job in place', () => {
  for (const excess of /** @type {const} */ (['latest', 'restart'])) {
    const { host, scheduler, log } = world()
    const task = new Task(function* (value) { log.push([host.time, value]) })
    const release = sporadic(task, { interarrival: 10, excess, scheduler })
    release('first')
    release('waits')
    task.deadline = -1
    assert.throws(() => release('never'), RangeError)
    task.deadline = 1
    host.run()
    assert.equal(log, [[0, 'first'], [10, 'waits']])
  }
})

bursts.run()

// --------------------------------------------------------------------------------------------------- frames

/** A host with manual frames: `show(time)` draws the frame of that time. */
function withFrames(options = {}) {
  const made = world(options)
  const { host } = made
  /** @type {((time: number) => void) | null} */
  let requested = null
  host.frame = fn => {
    assert.is(requested, null, 'one request at a time')
    requested = fn
    return () => { requested = null }
  }
  host.hidden = () => host.isHidden
  const show = (time, late = 0) => {
    host.run({ until: time })
    host.advance(late)
    const fn = requested
    requested = null
    fn?.(time)
    host.run({ until: host.time })
  }
  return { ...made, show, isRequested: () => requested !== null }
}

const drawing = suite('frames')

drawing('frames() releases a job per frame with the time of the frame', () => {
  const { scheduler, log, show, host } = withFrames()
  frames(function* (time) { log.push([time, host.time, scheduler.current.release]) }, { scheduler })
  for (const time of [16, 32, 48]) show(time)
  assert.equal(log, [[16, 16, 16], [32, 32, 32], [48, 48, 48]])
})

drawing('the default deadline is the next frame, counted from the time of the frame', () => {
  const { scheduler, log, show } = withFrames()
  frames(function* () {
    log.push([scheduler.current.release, scheduler.current.absoluteDeadline])
  }, { scheduler })
  show(100, 0.5)
  show(108, 3) // 125 frames per second
  show(116, 7)
  show(124)
  assert.equal(log, [[100, 100 + 1000 / 60], [108, 116], [116, 124], [124, 132]])
})

drawing('a late frame does not change the expected gap, but a slower display does', () => {
  const { scheduler, log, show } = withFrames()
  const gap = time => Math.round((scheduler.current.absoluteDeadline - time) * 1000) / 1000
  frames(function* (time) { log.push(gap(time)) }, { scheduler })
  let time = 0
  for (const gap of [16, 16, 32, 16, 1, 5000, 16]) show(time += gap)
  assert.equal(log, [16.667, 16, 16, 16, 16, 16, 16])
  for (let frame = 0; frame < 60; frame++) show(time += 32)
  assert.ok(Math.abs(log.at(-1) - 32) < 0.1)
})

drawing('a frame with a future time is released now, due at the next frame', () => {
  const { scheduler, log, host } = withFrames()
  let fn
  host.frame = callback => {
    fn = callback
    return () => {}
  }
  frames(function* () {
    log.push([scheduler.current.release, scheduler.current.absoluteDeadline])
  }, { scheduler })
  host.advance(10)
  fn(12)
  host.run()
  assert.equal(log, [[10, 12 + 1000 / 60]])
})

drawing('a deadline in the options or the task replaces the default', () => {
  for (const [make, options] of [
    [run => run, { deadline: 5 }],
    [run => new Task(run, { deadline: 5 }), {}],
    [run => new Task(run, { deadline: 7 }), { deadline: 5 }]
  ]) {
    const { scheduler, log, show } = withFrames()
    frames(make(function* () { log.push(scheduler.current.deadline) }), { scheduler, ...options })
    show(16)
    show(24)
    assert.equal(log, [5, 5])
  }
})

drawing('a frame is skipped while the previous job runs', () => {
  const { scheduler, log, show } = withFrames()
  frames(function* (time) {
    log.push(time)
    yield sleep(20)
  }, { scheduler })
  for (const time of [16, 24, 32, 40, 48, 56, 64]) show(time)
  assert.equal(log, [16, 40, 64])
})

drawing('a job that takes several frames skips those frames', () => {
  const { host, scheduler } = world({ host: { frame: 16 }, round: 5 })
  const log = []
  const drawn = frames(function* (time) {
    log.push(time)
    yield* execute(host, 40)
  }, { scheduler })
  host.run({ until: 120 })
  drawn.cancel()
  host.run()
  assert.equal(log.length, 3)
  assert.ok(log[1] - log[0] >= 40 && log[2] - log[1] >= 40)
})

drawing('frames of a hidden page are skipped', () => {
  const { host, scheduler, log, show, isRequested } = withFrames()
  frames(function* (time) { log.push(time) }, { scheduler })
  show(16)
  host.isHidden = true
  show(1000)
  show(2000)
  assert.ok(isRequested())
  host.isHidden = false
  show(2016)
  assert.equal(log, [16, 2016])
})

drawing('a job that fails is reported, and the next frame releases a job', () => {
  const { host, scheduler, log, show } = withFrames()
  frames(function* (time) {
    log.push(time)
    throw new Error('failed')
  }, { scheduler })
  show(16)
  show(32)
  assert.equal(log, [16, 32])
  assert.is(host.errors.length, 2)
})

drawing('cancel() stops the requests of frames, and the running job continues', () => {
  const { scheduler, log, show, host, isRequested } = withFrames()
  const drawn = frames(function* (time) {
    yield* execute(host, 3)
    log.push(time)
  }, { scheduler })
  assert.ok(isRequested())
  at(17, () => { log.push(drawn.cancel()) }, { scheduler })
  show(16)
  assert.ok(!isRequested())
  show(32)
  assert.equal(log, [true, 16])
  assert.is(drawn.cancel(), false)
})

drawing('a job can cancel its frames', () => {
  const { scheduler, log, show, isRequested } = withFrames()
  const drawn = frames(function* (time) {
    log.push(time)
    if (time > 20) drawn.cancel()
  }, { scheduler })
  for (const time of [16, 32, 48]) show(time)
  assert.equal(log, [16, 32])
  assert.ok(!isRequested())
})

drawing('aborting the signal cancels the frames and removes the abort listener', () => {
  const { scheduler, log, show, isRequested } = withFrames()
  const controller = new AbortController()
  const { signal } = controller
  frames(function* (time) { log.push(time) }, { scheduler, signal })
  show(16)
  assert.is(abortListeners(signal), 1)
  controller.abort()
  assert.ok(!isRequested())
  assert.is(abortListeners(signal), 0)
  assert.is(frames(function* () {}, { scheduler, signal }).cancel(), false)
  assert.ok(!isRequested())
  frames(function* () {}, { scheduler, signal: new AbortController().signal }).cancel()
  assert.equal(log, [16])
})

drawing.run()
