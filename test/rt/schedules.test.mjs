import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, edf, fp, rm } from '../../rt.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { executions, record } from '../support/trace.mjs'
import { ideal, jobsOf } from '../support/oracle.mjs'
import { WORK_CONSERVING } from '../support/platform-host.mjs'
import { forSeeds, utilizations } from '../support/seeded.mjs'

const read = path => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const taskSets = read('../../examples/task-sets/tasksets.json')
const finishTimes = read('../data/finish-times.json')

const HORIZON = 10000

// An earlier release always ranks higher, so no job preempts: first come, first served.
const fcfs = { name: 'fcfs', compare: (a, b) => a.release - b.release, level: () => 0 }

// Exact finish times need a scheduler without rotation that reads the clock at every point, and jobs that
// work in whole ms.
function exact(policy, { hostOf = virtualHost, ...options } = {}) {
  const host = hostOf()
  const scheduler = new Scheduler({ host, policy, slice: Infinity, budget: 1, ...options })
  return { host, scheduler }
}

const tasksOf = set => set.tasks.map(([wcet, period]) => ({ wcet, period }))

/** Spawns all jobs in advance, each with its release. */
function spawnAll({ host, scheduler }, jobs, step = 1) {
  const spawned = jobs.map(({ release, deadline, priority, wcet }) => {
    return scheduler.spawn(execute(host, wcet, step), { release, deadline: deadline - release, priority })
  })
  host.run()
  return spawned
}

/** Spawns the jobs of periodic tasks in advance. rm finds the period in the task. */
function spawnTasks({ host, scheduler }, tasks, jobs) {
  const created = tasks.map(({ wcet, period }) => {
    return new Task(function* () { yield* execute(host, wcet) }, { period, deadline: period, scheduler })
  })
  const spawned = jobs.map(({ task, release }) => scheduler.spawn(created[task], { release }))
  host.run()
  return spawned
}

/** Releases the tasks from timers of the event loop, like a page. */
function releaseTasks({ host, scheduler }, tasks, jobs) {
  const created = tasks.map(({ wcet, period }) => {
    return new Task(function* () { yield* execute(host, wcet) }, { period, deadline: period, scheduler })
  })
  const released = []
  for (const { task, release } of jobs) host.after(release, () => { released.push(created[task].release()) })
  host.run()
  return released
}

function summary(jobs) {
  let misses = 0
  let finishSum = 0
  let maxLateness = 0
  for (const job of jobs) {
    if (job.missed) misses++
    finishSum += job.finished
    maxLateness = Math.max(maxLateness, job.lateness)
  }
  return { misses, finishSum, maxLateness }
}

const finishesOf = jobs => jobs.map(job => job.finished)
const withPriorities = jobs => jobs.map(job => ({ ...job, priority: -job.period }))

const oracle = suite('the oracle')

oracle('the oracle matches the published schedules of all 250 task sets', () => {
  for (const set of taskSets) {
    const jobs = jobsOf(tasksOf(set), HORIZON)
    assert.is(jobs.length, set.ideal.jobs)
    for (const policy of ['fcfs', 'fp', 'edf']) {
      const { misses, finishSum, maxLateness } = ideal(policy === 'fp' ? withPriorities(jobs) : jobs, policy)
      assert.equal({ misses, finishSum, maxLateness }, set.ideal[policy], `set ${set.id} under ${policy}`)
    }
  }
})

oracle('the oracle matches every published finish time', () => {
  for (const { id, jobs: published, finish } of finishTimes) {
    const jobs = jobsOf(tasksOf(taskSets.find(set => set.id === id)), HORIZON)
    assert.equal(jobs.map(({ task, release }) => [task, release]), published)
    assert.equal(ideal(jobs, 'fcfs').finish, finish.fcfs)
    assert.equal(ideal(withPriorities(jobs), 'fp').finish, finish.fp)
    assert.equal(ideal(jobs, 'edf').finish, finish.edf)
  }
})

oracle('the oracle lets a job of zero length wait until it ranks first', () => {
  const jobs = [
    { release: 0, wcet: 2, priority: 3 },
    { release: 2, wcet: 1, priority: 2 },
    { release: 1, wcet: 0, priority: 1 },
    { release: 1, wcet: 0, priority: 4 }
  ]
  const { finish, intervals } = ideal(jobs, 'fp')
  assert.equal(finish, [2, 3, 3, 1])
  assert.equal(intervals, [[[0, 2]], [[2, 3]], [[3, 3]], [[1, 1]]])
})

oracle.run()

const textbook = suite('textbook schedules')

/** The rows of a Gantt chart, one per task, with one column per ms. */
function chart(scheduler, host, tasks, until) {
  const trace = record(scheduler)
  for (const { task, release, wcet, deadline, priority } of tasks) {
    scheduler.spawn(execute(host, wcet), { name: task, release, deadline: deadline - release, priority })
  }
  host.run()
  const rows = {}
  for (const [job, intervals] of executions(trace.records)) {
    const row = rows[job.name] ??= Array(until).fill('.')
    for (const [start, end] of intervals) row.fill('#', start, end)
  }
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.join('')]))
}

const periodicJobs = (tasks, until, priority) => jobsOf(Object.values(tasks), until).map(job => {
  return { ...job, task: Object.keys(tasks)[job.task], priority: priority ? -job.period : 0 }
})

// Buttazzo, Hard Real-Time Computing Systems: U = 2/5 + 4/7 = 0.97 is above the bound of rate monotonic.
const buttazzo = { A: { wcet: 2, period: 5 }, B: { wcet: 4, period: 7 } }

textbook('rate monotonic misses deadlines that earliest deadline first meets (Buttazzo)', () => {
  const monotonic = exact(fp)
  assert.equal(chart(monotonic.scheduler, monotonic.host, periodicJobs(buttazzo, 35, true), 35), {
    A: '##...##...##...##...##...##...##...',
    B: '..###..###..###..###..###..###..##.'
  })
  assert.is(monotonic.scheduler.stats().misses > 0, true)

  const earliest = exact(edf)
  assert.equal(chart(earliest.scheduler, earliest.host, periodicJobs(buttazzo, 35, false), 35), {
    A: '##....##....##.##...##....##....##.',
    B: '..####..####..#..###..####..####...'
  })
  assert.is(earliest.scheduler.stats().misses, 0)
})

textbook('the example of Liu and Layland: the shorter period runs first', () => {
  const { host, scheduler } = exact(fp)
  const tasks = { A: { wcet: 1, period: 2 }, B: { wcet: 1, period: 5 } }
  assert.equal(chart(scheduler, host, periodicJobs(tasks, 10, true), 10), {
    A: '#.#.#.#.#.',
    B: '.#...#....'
  })
})

textbook('an earlier deadline preempts, a later one waits', () => {
  const { host, scheduler } = exact(edf)
  const jobs = [
    { task: 'long', release: 0, wcet: 6, deadline: 20 },
    { task: 'short', release: 2, wcet: 2, deadline: 8 },
    { task: 'lax', release: 3, wcet: 2, deadline: 30 }
  ]
  assert.equal(chart(scheduler, host, jobs, 10), {
    long: '##..####..',
    short: '..##......',
    lax: '........##'
  })
})

textbook.run()

const published = suite('all 250 task sets of the RT.js evaluation')

function assertIdeal(spawned, set, policy) {
  assert.equal(summary(spawned), set.ideal[policy], `set ${set.id} under ${policy}`)
}

/**
 * The task sets to run under one of the four policies. The default hosts run a quarter of their part of the sets
 * under each policy, and other sets under the next one.
 *
 * @param {number} part the part of the sets @param {number} policy the number of the policy
 */
const setsFor = (part, policy) => part === 1 ? taskSets
  : taskSets.filter((_, index) => (index - policy / part) % (4 / part) === 0)

for (const { where, hostOf, part } of WORK_CONSERVING) {
  published(`task sets under edf finish as published, on ${where}`, () => {
    for (const set of setsFor(part, 0)) {
      const run = exact(edf, { hostOf })
      const jobs = jobsOf(tasksOf(set), HORIZON)
      assertIdeal(spawnAll(run, jobs), set, 'edf')
      const { jobs: count, misses, busy } = run.scheduler.stats()
      assert.equal({ jobs: count, misses, busy }, {
        jobs: jobs.length,
        misses: set.ideal.edf.misses,
        busy: jobs.reduce((sum, { wcet }) => sum + wcet, 0)
      })
    }
  })

  published(`task sets under fp by rate finish as published, on ${where}`, () => {
    for (const set of setsFor(part, 1)) {
      assertIdeal(spawnAll(exact(fp, { hostOf }), withPriorities(jobsOf(tasksOf(set), HORIZON))), set, 'fp')
    }
  })

  published(`task sets under rm finish as published, on ${where}`, () => {
    for (const set of setsFor(part, 2)) {
      assertIdeal(spawnTasks(exact(rm, { hostOf }), tasksOf(set), jobsOf(tasksOf(set), HORIZON)), set, 'fp')
    }
  })

  published(`task sets under a custom FCFS policy finish as published, on ${where}`, () => {
    for (const set of setsFor(part, 3)) {
      assertIdeal(spawnAll(exact(fcfs, { hostOf }), jobsOf(tasksOf(set), HORIZON)), set, 'fcfs')
    }
  })
}

for (const { where, hostOf, part } of WORK_CONSERVING) {
  published(`task sets released by the event loop finish as published, on ${where}`, () => {
    // A round is as short as a step of the work, so the event loop runs before every decision.
    for (const set of taskSets.filter((_, index) => index * part % 10 === 0)) {
      const jobs = jobsOf(tasksOf(set), HORIZON)
      assertIdeal(releaseTasks(exact(rm, { hostOf, round: 1 }), tasksOf(set), jobs), set, 'fp')
      assertIdeal(releaseTasks(exact(edf, { hostOf, round: 1 }), tasksOf(set), jobs), set, 'edf')
    }
  })

  const complete = finishTimes.filter((_, index) => index * part % 1 === 0)
  published(`every finish time of ${complete.length} task sets is as published, on ${where}`, () => {
    for (const { id, finish } of complete) {
      const tasks = tasksOf(taskSets.find(set => set.id === id))
      const jobs = jobsOf(tasks, HORIZON)
      const priorities = withPriorities(jobs)
      for (const round of [1, Infinity]) {
        const message = `set ${id}, rounds of ${round} ms, under`
        assert.equal(finishesOf(spawnAll(exact(fcfs, { hostOf, round }), jobs)), finish.fcfs, `${message} fcfs`)
        assert.equal(finishesOf(spawnAll(exact(edf, { hostOf, round }), jobs)), finish.edf, `${message} edf`)
        assert.equal(finishesOf(spawnAll(exact(fp, { hostOf, round }), priorities)), finish.fp, `${message} fp`)
        assert.equal(finishesOf(spawnTasks(exact(rm, { hostOf, round }), tasks, jobs)), finish.fp, `${message} rm`)
      }
      assert.equal(finishesOf(releaseTasks(exact(rm, { hostOf, round: 1 }), tasks, jobs)), finish.fp)
      assert.equal(finishesOf(releaseTasks(exact(edf, { hostOf, round: 1 }), tasks, jobs)), finish.edf)
    }
  })
}

published.run()

const seeds = suite('seeded random task sets equal the oracle')

/** Few different periods and deadlines, so that ties are common. */
function randomTasks(random) {
  const count = random.integer(1, 8)
  return utilizations(random, count, random.real(0.2, 1.3)).map(utilization => {
    const period = random.pick([4, 5, 10, 12, 20, 40, 100])
    const wcet = Math.round(utilization * period)
    return {
      wcet,
      period,
      deadline: random.chance(0.5) ? period : random.integer(Math.max(1, wcet), Math.max(period, wcet)),
      phase: random.chance(0.5) ? 0 : random.integer(0, 30),
      priority: random.integer(-2, 2)
    }
  })
}

/** Jobs with any release and any length, some without a deadline, none periodic. */
function randomJobs(random) {
  const span = random.integer(5, 100)
  return Array.from({ length: random.integer(1, 40) }, () => {
    const release = random.integer(0, span)
    return {
      release,
      wcet: random.chance(0.2) ? 0 : random.integer(1, 8),
      deadline: random.chance(0.2) ? Infinity : release + random.integer(1, 40),
      priority: random.pick([-1.5, -1, 0, 0, 0.5, 2])
    }
  }).sort((a, b) => a.release - b.release)
}

/** Compares the times at which each job ran with the oracle, not only its finish time. */
function assertOracle(random, jobs) {
  const policy = random.pick([edf, fp, fcfs])
  const pointsPerMs = random.pick([1, 1, 2, 4])
  const { where, hostOf } = random.pick(WORK_CONSERVING)
  const run = exact(policy, { hostOf, round: random.pick([1, 2.5, 5, Infinity]), budget: pointsPerMs })
  const trace = record(run.scheduler)
  const spawned = spawnAll(run, jobs, 1 / pointsPerMs)
  const expected = ideal(jobs, policy.name)
  const note = `${policy.name}, ${jobs.length} jobs, on ${where}`
  const { misses, finishSum, maxLateness } = expected
  assert.equal(finishesOf(spawned), expected.finish, note)
  assert.equal(summary(spawned), { misses, finishSum, maxLateness }, note)
  const ran = executions(trace.records)
  const lengthy = expected.intervals.map(list => list.filter(([start, end]) => start < end))
  assert.equal(spawned.map(job => ran.get(job)), lengthy, note)
  assert.is(run.host.maxPosts <= 1, true, 'two posts outstanding')
}

seeds('periodic tasks with phases, constrained deadlines and ties', () => forSeeds(300, random => {
  const tasks = randomTasks(random)
  const jobs = jobsOf(tasks, 200).map(job => ({ ...job, priority: tasks[job.task].priority }))
  assertOracle(random, jobs)
}))

seeds('jobs released at any time', () => forSeeds(300, random => assertOracle(random, randomJobs(random))))

seeds.run()
