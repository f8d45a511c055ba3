import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { budget } from '../../rt.mjs'
import { scheduleOf } from '../../examples/gantt.mjs'
import { chooseSets, parseDrawingOptions, parseOptions } from '../../examples/task-sets/command.mjs'
import { runPlain, runScheduled, runSet, runSets, spinning } from '../../examples/task-sets/experiment.mjs'
import { idealSchedule } from '../../examples/task-sets/ideal.mjs'
import { processClockHost } from '../../examples/task-sets/process-clock.mjs'
import {
  disturbances, drawSchedule, missTable, overheadTable, percent, summarize, undisturbed
} from '../../examples/task-sets/report.mjs'
import { panelsOf, recordsOf } from '../../examples/task-sets/schedule.mjs'
import {
  binLabel, binOf, loadTaskSets, policies, releasesOf, spread
} from '../../examples/task-sets/task-sets.mjs'
import { ideal } from '../support/oracle.mjs'
import { WORK_CONSERVING } from '../support/platform-host.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'

const all = await loadTaskSets()
const small = { id: 0, utilization: 0.95, tasks: [[10, 20], [0, 30], [18, 40]] }

// Work in whole ms on a clock that only the work advances, so schedules are exact.
const exactly = host => ({
  host,
  work: { blocking: ms => host.advance(ms), preemptible: ms => execute(host, ms) }
})
const exact = { slice: Infinity, budget: 1 }

async function drained(host, promise) {
  await host.drain()
  return promise
}

const finishTimes = ({ outcomes }) => outcomes
  .map(({ task, release, finished }) => `${task}@${release} ${finished}`).sort()
const idealFinishTimes = (releases, policy) => {
  const { finished } = idealSchedule(releases, policy)
  return releases.map(({ task, release }, i) => `${task}@${release} ${finished[i]}`).sort()
}

// ------------------------------------------------------------------------------------------------ task sets
const sets = suite('task sets')

sets('there are 250 sets of fifteen tasks, sorted by utilization', () => {
  assert.is(all.length, 250)
  assert.ok(all.every(({ tasks }) => tasks.length === 15))
  assert.ok(all.every(({ utilization }, i) => i === 0 || all[i - 1].utilization <= utilization))
})

sets('the releases of a set are sorted by time, then by task, with absolute deadlines', () => {
  const brief = releasesOf(small, 0.05).map(({ task, release, deadline }) => `${task}@${release}<${deadline}`)
  assert.equal(brief, ['0@0<20', '1@0<30', '2@0<40', '0@20<40', '1@30<60', '0@40<60', '2@40<80'])
})

sets('spread chooses sets evenly over a range of utilizations', () => {
  const chosen = spread(all, 10)
  assert.equal(chosen.map(({ utilization }) => binOf(utilization)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.ok(spread(all, 30, { from: 0.4, to: 0.5 }).every(({ utilization }) => binOf(utilization) === 4))
  assert.is(spread(all, Infinity).length, 250)
})

sets('a utilization of 1 belongs to the last bin, larger ones to their own bin', () => {
  assert.equal([0, 0.0999, 0.1, 0.95, 1, 1.01].map(binOf), [0, 0, 1, 9, 9, 10])
  assert.equal([0, 9, 10].map(binLabel), ['0.0-0.1', '0.9-1.0', '> 1'])
})

sets.run()

// ------------------------------------------------------------------------------------------ ideal schedules
const exactSchedules = suite('ideal schedules')

exactSchedules('misses, finish times and lateness match the published file', () => {
  for (const set of all) {
    const releases = releasesOf(set, 10)
    assert.is(releases.length, set.ideal.jobs)
    for (const policy of policies) {
      const { finished, misses } = idealSchedule(releases, policy)
      const finishSum = finished.reduce((sum, time) => sum + time, 0)
      const maxLateness = Math.max(0, ...releases.map(({ deadline }, i) => finished[i] - deadline))
      assert.equal({ misses, finishSum, maxLateness }, set.ideal[policy], `set ${set.id}, ${policy}`)
    }
  }
})

exactSchedules('an independent oracle computes the same finish times', () => {
  for (const set of spread(all, 12)) {
    const releases = releasesOf(set, 2)
    for (const policy of policies) {
      const priority = ({ period }) => policy === 'fp' ? -period : 0
      const { finish } = ideal(releases.map(job => ({ ...job, priority: priority(job) })), policy)
      assert.equal(idealSchedule(releases, policy).finished, finish, `set ${set.id}, ${policy}`)
    }
  }
})

exactSchedules('the segments of a job add up to its execution time and do not overlap', () => {
  const releases = releasesOf(small, 0.1)
  const { segments } = idealSchedule(releases, 'edf')
  assert.ok(segments.every(({ from }, i) => i === 0 || from >= segments[i - 1].to))
  releases.forEach(({ wcet }, i) => {
    assert.is(segments.filter(({ job }) => job === i).reduce((sum, { from, to }) => sum + to - from, 0), wcet)
  })
})

exactSchedules('an unknown policy throws a TypeError that names it', () => {
  const named = error => error instanceof TypeError && /lifo/.test(error.message)
  assert.throws(() => idealSchedule([], 'lifo'), named)
})

exactSchedules.run()

// ------------------------------------------------------------------------------------------------ the runs
const runs = suite('runs')

for (const policy of ['fp', 'edf']) for (const { where, hostOf, part } of WORK_CONSERVING) {
  runs(`${policy} without overhead runs the ideal schedule on ${where}`, async () => {
    for (const set of spread(all, Math.ceil(5 * part))) {
      const host = hostOf()
      const releases = releasesOf(set, 0.5)
      const run = await drained(host, runScheduled(releases, { policy, ...exactly(host), ...exact }))
      assert.equal(finishTimes(run), idealFinishTimes(releases, policy), `set ${set.id}`)
    }
  })
}

runs('plain JavaScript without overhead runs first come, first served', async () => {
  for (const set of spread(all, 5)) {
    const host = virtualHost({ start: 7.25 })
    const releases = releasesOf(set, 0.5)
    const run = await drained(host, runPlain(releases, exactly(host)))
    assert.equal(finishTimes(run), idealFinishTimes(releases, 'fcfs'), `set ${set.id}`)
  }
})

runs('plain JavaScript runs each job to completion', async () => {
  const host = virtualHost()
  const run = runPlain(releasesOf(small, 0.04), { ...exactly(host), watch: 40 })
  const { outcomes, segments } = await drained(host, run)
  assert.equal(outcomes.map(({ task, started, finished }) => [task, started, finished]),
    [[0, 0, 10], [1, 10, 10], [2, 10, 28], [0, 28, 38], [1, 38, 38]])
  assert.equal(segments,
    [{ job: 0, from: 0, to: 10 }, { job: 2, from: 10, to: 28 }, { job: 3, from: 28, to: 38 }])
})

runs('the recorded segments match the schedule', async () => {
  const host = virtualHost()
  const releases = releasesOf(small, 0.1)
  const options = { policy: 'edf', ...exactly(host), ...exact, round: Infinity, watch: Infinity }
  const { segments } = await drained(host, runScheduled(releases, options))
  assert.equal(segments, idealSchedule(releases, 'edf').segments)
})

runs('the recording ends after the watched time', async () => {
  const host = virtualHost()
  const options = { policy: 'edf', ...exactly(host), ...exact, watch: 30 }
  const { segments } = await drained(host, runScheduled(releasesOf(small, 1), options))
  assert.ok(segments.length > 0 && segments.every(({ from }) => from <= 30))
})

runs('a result contains the ideal figures of the same jobs', async () => {
  const host = virtualHost()
  const result = await drained(host, runSet(small, { policy: 'fcfs', seconds: 0.08, ...exactly(host) }))
  assert.is(result.jobs, result.releases.length)
  assert.is(result.misses, idealSchedule(result.releases, 'fcfs').misses)
  assert.is(result.misses, result.idealMisses)
  assert.is(result.beyond, 0)
  assert.is(result.overhead, null)
})

runs('misses beyond the ideal count jobs that are released after the warm-up', async () => {
  const host = virtualHost()
  // Everything takes twice the declared time, so the second half of the jobs is late.
  const work = { blocking: ms => host.advance(2 * ms), preemptible: ms => execute(host, 2 * ms) }
  const set = { id: 0, utilization: 0.6, tasks: [[6, 10]] }
  const result = await drained(host, runSet(set, { policy: 'edf', seconds: 1, host, work, ...exact }))
  assert.is(result.idealMisses, 0)
  assert.is(result.misses, 100)
  assert.is(result.beyond, 50)
})

for (const policy of policies) {
  runs(`${policy}: an aborted run returns the jobs that have finished`, async () => {
    const host = virtualHost()
    const controller = new AbortController()
    const { signal } = controller
    const result = runSet(small, { policy, seconds: 1, ...exactly(host), ...exact, signal })
    await host.drain({ until: 100 })
    controller.abort()
    await host.drain()
    const { outcomes } = await result
    assert.ok(outcomes.length >= 3 && outcomes.length < 20, `${outcomes.length} jobs`)
    assert.is(host.timers.length, 0)
  })

  runs(`${policy}: a run with an aborted signal does not start`, async () => {
    const host = virtualHost()
    const options = { policy, seconds: 1, ...exactly(host), signal: AbortSignal.abort() }
    assert.equal((await drained(host, runSet(small, options))).outcomes, [])
  })
}

runs('all sets run under all policies with an announcement each, until aborted', async () => {
  const host = virtualHost()
  const controller = new AbortController()
  const announced = []
  const before = (set, policy, done, total) => { announced.push(`${set.id} ${policy} ${done}/${total}`) }
  const options = { policies, seconds: 0.04, ...exactly(host), before, signal: controller.signal }
  const results = []
  const work = (async () => {
    for await (const { policy } of runSets([small, { ...small, id: 1 }], options)) {
      results.push(policy)
      if (results.length === 4) controller.abort()
    }
  })()
  while (results.length < 4) await host.drain()
  await drained(host, work)
  assert.equal(results, ['fcfs', 'fp', 'edf', 'fcfs'])
  assert.equal(announced.slice(0, 4), ['0 fcfs 0/6', '0 fp 1/6', '0 edf 2/6', '1 fcfs 3/6'])
})

runs.run()

// ------------------------------------------------------------------------------------------------ the chart
const charts = suite('charts')

const executionsOf = ({ rows }) => Object.fromEntries(rows.map(({ name, runs }) =>
  [name, runs.filter(({ from, to }) => to > from).map(({ from, to }) => [from, to])]))
const livesOf = schedule => schedule.rows.flatMap(row => schedule.activations(row))
  .map(({ name, release, deadline, ended, missed }) => [name, release, deadline, ended, missed])

charts('the records of a run show its segments, under each policy', async () => {
  for (const policy of policies) {
    const host = virtualHost({ turn: 1 })
    const options = { policy, seconds: 0.08, ...exactly(host), ...exact, watch: 500 }
    const result = await drained(host, runSet(small, options))
    const schedule = scheduleOf(recordsOf(result))
    const byTask = {}
    for (const { job, from, to } of result.segments) {
      if (to > from) (byTask[`task ${result.releases[job].task}`] ??= []).push([from, to])
    }
    // Adjacent segments are drawn as one.
    const joined = list => list.reduce((all, [from, to]) => {
      const last = all.at(-1)
      if (last?.[1] === from) last[1] = to
      else all.push([from, to])
      return all
    }, [])
    const drawn = executionsOf(schedule)
    for (const task in byTask) assert.equal(joined(drawn[task]), joined(byTask[task]), `${policy}, ${task}`)
    const lives = result.outcomes.map(({ task, release, deadline, finished, missed }) =>
      [`task ${task}`, release, deadline, finished, missed])
    assert.equal(livesOf(schedule).sort(), lives.sort())
    assert.equal(schedule.rounds, result.rounds)
  }
})

charts('the chart has a panel per policy and a row per executed task, sorted by period', async () => {
  const host = virtualHost()
  const set = { id: 7, utilization: 0.9, tasks: [[4, 40], [0, 30], [2, 20], [2, 20]] }
  const options = { policy: 'fcfs', seconds: 0.04, ...exactly(host), watch: 100 }
  const result = await drained(host, runSet(set, options))
  const [{ title, note, warns, paint, origin, schedule, order }] = panelsOf([result])
  assert.equal({ title, note, warns, paint, origin },
    { title: 'plain JavaScript', note: '0 of 7 jobs late', warns: false, paint: '--fcfs', origin: 0 })
  assert.equal(schedule.rows.toSorted(order).map(({ name, jobs }) => [name, jobs]),
    [['2 / 20 #2', 2], ['2 / 20 #3', 2], ['4 / 40', 1]])
})

charts.run()

// ------------------------------------------------------------------------------------------------ the work
const spins = suite('spinning work')

spins('a job works until it has received its time, without counting preemptions', () => {
  let time = 0
  const work = spinning(() => time += 0.25).preemptible(2)
  budget.left = 3
  assert.is(work.next().done, false)
  const before = time
  time += 1000
  budget.left = Infinity
  assert.is(work.next().done, true)
  assert.is(time - 1000 - before, 1.5)
})

// A clock that advances by the values of `steps`, then by 1, at each reading.
function stepping(...steps) {
  let time = 0
  return () => time += steps.shift() ?? 1
}

spins('the longest pause inside a job is measured', () => {
  const blocking = spinning(stepping(1, 1, 20))
  blocking.blocking(30)
  assert.is(blocking.longestPause, 20)
  budget.left = Infinity
  const preemptible = spinning(stepping(1, 1, 20))
  preemptible.preemptible(30).next()
  assert.is(preemptible.longestPause, 20)
})

spins('the time at a preemption point does not count as a pause', () => {
  const work = spinning(stepping(1, 2, 50))
  const job = work.preemptible(10)
  budget.left = 1
  job.next()
  budget.left = Infinity
  assert.is(job.next().done, true)
  assert.is(work.longestPause, 2)
})

spins('work of zero length ends without a preemption point', () => {
  budget.left = 0
  assert.is(spinning(() => 0).preemptible(0).next().done, true)
})

spins('blocking work ends when its time has passed', () => {
  let time = 0
  spinning(() => time += 0.5).blocking(10)
  assert.ok(time >= 10 && time <= 11, String(time))
})

spins.run()

// ------------------------------------------------------------------------------------------------ the clock
const clocks = suite('process clock')

// Binary fractions, so that sums are exact.
function clocked() {
  let wall = 0
  const known = [0, 0]
  const host = processClockHost({ wall: () => wall, losses: known.map((_, i) => () => known[i]) })
  const pass = (ms, ...losses) => {
    wall += ms
    losses.forEach((loss, i) => { known[i] += loss })
    return host.now()
  }
  return { host, pass }
}

clocks('worked time counts', () => {
  const { pass } = clocked()
  assert.is(pass(0.03125), 0.03125)
  assert.is(pass(25), 25.03125)
})

clocks('time of other processes does not count', () => {
  const { pass } = clocked()
  pass(1)
  assert.is(pass(10, 8), 3)
  assert.is(pass(0.5), 3.5)
})

clocks('the larger of two measured losses counts', () => {
  const { pass } = clocked()
  assert.is(pass(10, 2, 8), 2)
  assert.is(pass(10, 4, -50), 8)
})

clocks('the clock never runs backwards, even if a loss is reported late', () => {
  const { pass } = clocked()
  pass(0.03125, 5)
  assert.is(pass(1), 0.03125)
  assert.is(pass(1), 1.03125)
})

clocks('the system reports lost time', () => {
  const { now } = processClockHost()
  const [wall, time] = [performance.now(), now()]
  while (performance.now() - wall < 2);
  const passed = now() - time
  assert.ok(passed >= 0 && passed <= performance.now() - wall, `${passed} ms`)
})

clocks('idle waits are skipped, and timers keep their order', async () => {
  const { host } = clocked()
  const fired = []
  await new Promise(resolve => {
    host.after(2000, resolve)
    const cancel = host.after(500, () => fired.push('never'))
    host.after(1000, () => fired.push(['b', host.now()]))
    host.after(100, () => fired.push(['a', host.now()]))
    host.after(1000, () => fired.push(['c', host.now()]))
    cancel()
  })
  assert.equal(fired, [['a', 100], ['b', 1000], ['c', 1000]])
  assert.is(host.now(), 2000)
})

clocks('no wait is skipped while a post is outstanding', async () => {
  const { host, pass } = clocked()
  const seen = []
  await new Promise(resolve => {
    host.after(1, resolve)
    const work = rounds => host.post(() => {
      seen.push(host.now())
      pass(0.25)
      if (rounds > 1) work(rounds - 1)
    })
    work(3)
  })
  assert.equal(seen, [0, 0.25, 0.5])
})

clocks.run()

// ------------------------------------------------------------------------------------------------ the report
const reports = suite('reports')

const resultOf = ([utilization, policy, jobs, missRatio, idealMissRatio, beyond, overhead]) => ({
  set: { utilization }, policy, jobs, missRatio, idealMissRatio, beyond, overhead,
  inflation: overhead && 3 * overhead
})

const results = [
  [0.12, 'fcfs', 10, 0.5, 0.4, 1, null],
  [0.15, 'fcfs', 30, 0.1, 0, 0, null],
  [0.12, 'edf', 10, 0, 0, 0, 0.01],
  [0.15, 'edf', 30, 0, 0, 2, 0.03],
  [0.95, 'edf', 5, 1, 0.2, 1, 0.002]
].map(resultOf)

reports('each bin shows the means of its sets, and the last row those of all sets', () => {
  const rows = summarize(results)
  assert.equal(rows.map(({ label, sets, jobs }) => [label, sets, jobs]),
    [['0.1-0.2', 2, 40], ['0.9-1.0', 1, 5], ['all', 3, 45]])
  assert.is(rows[0].figures.fcfs.missRatio, 0.3)
  assert.is(rows[0].figures.edf.beyond, 2)
  assert.is(rows[0].figures.fcfs.deviation, 0.2)
  assert.equal(rows[0].figures.edf.overhead, { median: 0.02, worst: 0.03, mean: 0.02, deviation: 0.01 })
  assert.equal([rows[2].figures.edf.overhead.median, rows[2].figures.edf.overhead.worst], [0.01, 0.03])
  assert.is(rows[1].figures.fcfs, undefined)
})

reports('tables are Markdown with empty cells for missing runs', () => {
  const lines = missTable(summarize(results), ['fcfs', 'edf']).split('\n')
  const cells = lines.map(line => line.split('|').slice(1, -1).map(cell => cell.trim()))
  assert.equal(cells[2], ['0.1-0.2', '2', '40', '30.0 (20.0)', '0 (0)', '2'])
  assert.equal(cells[3], ['0.9-1.0', '1', '5', '', '100.0 (20.0)', '1'])
  assert.ok(lines.every(({ length }) => length === lines[0].length))
  const overheads = overheadTable(summarize(results), ['edf'])
  assert.match(overheads, /\| +0\.1-0\.2 \| +2 \| +2\.00 \| +3\.00 \| +6\.00 \|/)
})

reports('runs with long pauses are left out and counted', () => {
  const runs = [[0.1, 2], [30, 7], [5, 1]].map(([pause, beyond]) => ({ policy: 'edf', pause, beyond }))
  assert.equal(undisturbed(runs).map(({ beyond }) => beyond), [2, 1])
  assert.match(disturbances(runs), /1 of 3 runs [^]*30\.0 ms[^]*other runs: 3\./)
})

reports('small percentages differ from 0', () => {
  assert.equal([0, 0.00001, 0.0123, 0.5].map(percent), ['0', '0.001', '1.23', '50.0'])
})

reports('a schedule as text shows execution, waiting and lateness', () => {
  const set = { id: 0, utilization: 0.5, tasks: [[4, 20], [0, 5], [4, 10]] }
  const releases = releasesOf(set, 0.02)
  const at = (task, release) => releases.findIndex(job => job.task === task && job.release === release)
  const outcome = (task, release, finished) => ({ ...releases[at(task, release)], finished })
  const text = drawSchedule({
    set,
    releases,
    outcomes: [outcome(0, 0, 4), outcome(2, 0, 14), outcome(2, 10, 18)],
    segments: [
      { job: at(0, 0), from: 0, to: 4 },
      { job: at(2, 0), from: 8, to: 14 },
      { job: at(2, 10), from: 14, to: 18 }
    ]
  }, { span: 20, columns: 10 })
  assert.equal(text.split('\n').slice(1), ['     4/10 |....#%%## |', '     4/20 |##        |'])
})

reports.run()

// ------------------------------------------------------------------------------------------------ arguments
const options = suite('options')

options('every option has a default', () => {
  assert.equal(parseOptions([]), {
    sets: 10, seconds: 2, policies, clock: 'cpu', budget: 'auto', slice: 1, round: 5,
    minUtilization: 0, maxUtilization: Infinity, help: false
  })
})

options('options can be numbers, lists and names', () => {
  const line = '--sets 40,121 --seconds 0.5 --policy edf,fcfs --clock wall --budget 300 --slice Infinity ' +
    '--max-utilization 0.9 --schedule 40 --span 80 --json'
  assert.equal(parseDrawingOptions(line.split(' ')), {
    sets: [40, 121], seconds: 0.5, policies: ['fcfs', 'edf'], clock: 'wall',
    budget: 300, slice: Infinity, round: 5, minUtilization: 0, maxUtilization: 0.9,
    schedule: 40, span: 80, json: true, help: false
  })
  assert.equal(parseOptions(['--sets', '40,']).sets, [40])
  assert.is(parseOptions(['--sets', 'all']).sets, 'all')
})

options('an invalid option throws an error with its name and value', () => {
  const wrong = {
    sets: 'many', seconds: '0', policy: 'lifo', clock: 'sun',
    budget: '1.5', slice: '-1', round: '', 'max-utilization': 'x'
  }
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => parseOptions([`--${name}=${value}`]),
      error => error.message.includes(`--${name} `) && error.message.includes(`'${value}'`), name)
  }
  assert.throws(() => parseOptions(['--speed', '3']), /--speed/)
  assert.throws(() => parseOptions(['3']), /3/)
  assert.throws(() => parseDrawingOptions(['--span', 'wide']), /--span .*'wide'/)
})

options('sets are chosen by count, by id and by utilization', () => {
  const ids = (...args) => chooseSets(all, parseOptions(args)).map(({ id }) => id)
  const atMost = all.filter(({ utilization }) => utilization <= 0.9)
  const [low, high] = [all[3], all[200]]
  assert.equal(ids('--sets', `${high.id},${low.id}`), [low.id, high.id])
  assert.equal(ids('--sets', 'all', '--max-utilization', '0.9'), atMost.map(({ id }) => id))
  assert.throws(() => ids('--sets', '40,123456'), /123456/)
  assert.throws(() => ids('--min-utilization', '7'), /7/)
})

options.run()
