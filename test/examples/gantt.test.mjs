import { Window } from 'happy-dom'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { after, nextPeriod, on, periodic, sleep } from '../../alarms.mjs'
import { Reservation } from '../../addons/reservations.mjs'
import { Gantt, Schedule, accusation, scheduleOf, story, summary, toSVG } from '../../examples/gantt.mjs'
import {
  activationAt, draw, endOfPanels, labelWidth, originOf, placeAt, sceneHeight, tickStep
} from '../../examples/gantt/drawing.mjs'
import { firstFrom, nameOf } from '../../examples/gantt/intervals.mjs'
import { escapeXml, svgPen } from '../../examples/gantt/pens.mjs'
import { Scheduler, Task, fp } from '../../rt.mjs'
import { Mutex, nonPreemptive } from '../../sync.mjs'
import { busyRecords } from '../browser/gantt.records.mjs'
import { crewOf } from '../support/crew.mjs'
import { executions, record } from '../support/trace.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { world } from '../support/world.mjs'

/** A scheduler on exact time, and the schedule that is built from its records. */
function watched({ turn = 0, ...options } = {}) {
  const host = virtualHost({ turn })
  const scheduler = new Scheduler({ host, budget: 1, slice: Infinity, round: Infinity, ...options })
  const schedule = new Schedule()
  scheduler.observe(record => schedule.add(record))
  return { host, scheduler, schedule }
}

/** A text line per row: the interval of each execution, and the reason for its end. */
const runsOf = ({ rows }) => rows.map(({ name, runs }) =>
  `${name}: ${runs.map(({ from, to, how }) => `${from}-${to} ${how}`).join(', ')}`)
const waitsOf = ({ rows }) => rows.flatMap(({ name, waits }) =>
  waits.map(({ from, to, state, on, holders }) => [name, state, from, to, on, holders.join()].join(' ')))
const culpritsOf = ({ others }) => others.map(({ row, ...culprit }) => culprit)

// ------------------------------------------------------------------------------------------------ intervals
const intervals = suite('intervals')

intervals('a preempted job has two executions', () => {
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(() => execute(host, 10), { name: 'long' })
  scheduler.spawn(() => execute(host, 3), { name: 'urgent', release: 4, deadline: 5 })
  host.run()
  assert.equal(runsOf(schedule), ['long: 0-4 preempt, 7-13 finish', 'urgent: 4-7 finish'])
  const [long] = schedule.rows[0].ended
  const { cost, preemptions, outcome, started, ended } = long
  assert.equal([cost, preemptions, outcome, started, ended], [10, 1, 'finish', 0, 13])
})

intervals('between rounds no job executes, although a job is unfinished', () => {
  const { host, scheduler, schedule } = watched({ round: 5, turn: 2 })
  scheduler.spawn(() => execute(host, 12), { name: 'long' })
  host.run()
  assert.equal(runsOf(schedule), ['long: 2-7 round, 9-14 round, 16-18 finish'])
  assert.equal(schedule.rounds, [{ from: 2, to: 7 }, { from: 9, to: 14 }, { from: 16, to: 18 }])
  assert.is(schedule.rows[0].busy, 12)
  assert.is(schedule.rows[0].ended[0].cost, 12)
})

intervals('a job preempted at the start of a round has no execution in that round', () => {
  const { host, scheduler, schedule } = watched({ round: 5, turn: 2 })
  scheduler.spawn(() => execute(host, 8), { name: 'long' })
  scheduler.spawn(() => execute(host, 2), { name: 'urgent', release: 8, deadline: 9 })
  host.run()
  assert.equal(runsOf(schedule), ['long: 2-7 round, 11-14 finish', 'urgent: 9-11 finish'])
})

intervals('each name has a row in order of appearance, shared by all jobs of a task', () => {
  const { host, scheduler, schedule } = watched()
  const task = new Task(() => execute(host, 1), { name: 'tick', scheduler })
  periodic(task, { period: 5, count: 3 })
  scheduler.spawn(() => execute(host, 1), { name: 'other', release: 1 })
  host.run()
  assert.equal(runsOf(schedule), ['tick: 0-1 finish, 5-6 finish, 10-11 finish', 'other: 1-2 finish'])
  assert.is(schedule.rows[0].jobs, 3)
})

intervals('each period of a loop has its own release, deadline and lateness', () => {
  const { host, scheduler, schedule } = watched()
  const loop = new Task(function* () {
    for (const ms of [2, 7, 1]) {
      yield execute(host, ms)
      yield nextPeriod()
    }
  }, { name: 'loop', scheduler })
  periodic(loop, { period: 5, count: 3 })
  host.run()
  const brief = schedule.activations(schedule.rows[0])
    .map(({ release, deadline, ended, missed }) => ({ release, deadline, ended, missed }))
  assert.equal(brief.slice(0, 2), [
    { release: 0, deadline: 5, ended: 2, missed: false },
    { release: 5, deadline: 10, ended: 12, missed: true }
  ])
  assert.is(schedule.misses.length, 1)
})

intervals('a miss that is detected in the next period belongs to the last period', () => {
  for (const order of [['wake', 'miss'], ['miss', 'wake']]) {
    const job = { id: 1, name: 'loop', release: 0, absoluteDeadline: 5 }
    const schedule = new Schedule()
    const add = (type, time) => schedule.add({ type, time, job })
    add('release', 0)
    add('start', 0)
    add('block', 7)
    Object.assign(job, { release: 7, absoluteDeadline: 12 })
    for (const type of order) add(type, 8)
    add('resume', 8)
    add('finish', 9)
    const [first, second] = schedule.activations(schedule.rows[0])
    assert.equal([first.ended, first.missed, second.release, second.missed], [7, true, 7, false])
    assert.equal(schedule.misses, [first])
    assert.equal(waitsOf(schedule), [], 'to wait for the next period is no wait')
  }
})

intervals('a period whose end is reported late is inserted at its time', () => {
  const loop = { id: 1, name: 'same', release: 0, absoluteDeadline: 10 }
  const other = { id: 2, name: 'same', release: 3, absoluteDeadline: 10 }
  const schedule = new Schedule()
  const add = (type, time, job) => schedule.add({ type, time, job })
  add('release', 0, loop)
  add('start', 0, loop)
  add('block', 2, loop)
  add('release', 3, other)
  add('start', 3, other)
  add('finish', 6, other)
  Object.assign(loop, { release: 10, absoluteDeadline: 20 })
  add('wake', 10, loop)
  assert.equal(schedule.rows[0].ended.map(({ id, ended }) => [id, ended]), [[1, 2], [2, 6]])
})

intervals('a changed deadline counts', () => {
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(function* () {
    scheduler.current.deadline = 4
    yield execute(host, 6)
  }, { name: 'a', deadline: 50 })
  host.run()
  assert.equal(schedule.misses.map(({ deadline }) => deadline), [4])
})

intervals('a depleted job waits for its replenishment, or continues and is marked', () => {
  for (const depleted of ['wait', 'background']) {
    const { host, scheduler, schedule } = watched({ policy: fp })
    const reservation = new Reservation({ capacity: 4, period: 10, depleted, name: 'server', scheduler })
    scheduler.spawn(() => execute(host, 7), { name: 'served', reservation, deadline: 8 })
    host.run({ until: 40 })
    const waits = depleted === 'wait'
    assert.equal(runsOf(schedule), [waits ? 'served: 0-4 deplete, 10-13 finish' : 'served: 0-7 finish'])
    assert.equal(waitsOf(schedule), waits ? ['served depleted 4 10 server '] : [])
    assert.equal(schedule.marks.map(({ type, time, reservation }) => [type, time, reservation]),
      waits ? [] : [['deplete', 4, 'server']])
    assert.equal(schedule.alarms.slice(0, 1).map(({ type, time, reservation }) => [type, time, reservation]),
      [['replenish', 10, 'server']])
    if (waits) {
      assert.match(accusation(schedule.blame(schedule.misses[0])),
        /the job itself ran for 4\.0 ms; .*; the job had nothing left of its server for 4\.0 ms\.$/)
    } else {
      assert.match(accusation(schedule.blame(schedule.rows[0].ended[0])), /; its server ran out\.$/)
    }
  }
})

intervals('alarms, stalls and overruns are marked', () => {
  const { host, scheduler, schedule } = watched({ slice: 1 })
  scheduler.spawn(function* () {
    host.advance(8)
    yield sleep(4)
  }, { name: 'rude', wcet: 5 })
  host.run()
  assert.equal(schedule.stalls.map(({ activation, from, to }) => [activation.name, from, to]),
    [['rude', 0, 8]])
  assert.equal(schedule.marks.map(({ activation, type, time }) => [activation.name, type, time]),
    [['rude', 'overrun', 8]])
  assert.equal(schedule.alarms, [{ type: 'alarm', time: 12, due: 12, reservation: '' }])
})

intervals('a slow callback has its own row, and no job executes during it', () => {
  const { host, scheduler, schedule } = watched({ slice: 1, round: 4, turn: 1 })
  after(3, function tick() { host.advance(2) }, { scheduler })
  scheduler.spawn(() => execute(host, 6), { name: 'job', deadline: 8 })
  host.run()
  const target = new EventTarget()
  on(target, 'click', function* clicked() { host.advance(1) }, { scheduler, before: function pick() { host.advance(2) } })
  target.dispatchEvent(new Event('click'))
  host.run()
  assert.equal(runsOf(schedule), [
    'job: 1-3 preempt, 6-10 finish', 'alarm tick: 3-5 finish', 'clicked: 13-14 finish', 'before click pick: 10-12 finish'
  ])
  assert.match(accusation(schedule.blame(schedule.misses[0])), /alarm tick ran for 2\.0 ms/)
})

intervals('a job that ends late is one miss, in any order of the records', () => {
  const { host, scheduler, schedule } = watched()
  const { records } = record(scheduler)
  scheduler.spawn(function* () { host.advance(9) }, { name: 'late', deadline: 5 })
  scheduler.spawn(() => execute(host, 3), { name: 'later', deadline: 6 })
  host.run()
  assert.equal(records.filter(({ type }) => type === 'finish' || type === 'miss').map(({ type, job }) =>
    `${type} ${job.name}`), ['finish late', 'miss late', 'miss later', 'finish later'])
  assert.equal(schedule.misses.map(({ name }) => name), ['late', 'later'])
  assert.equal(schedule.rows.map(({ jobs, missed, latest }) => [jobs, missed, latest]),
    [[1, 1, 4], [1, 1, 6]])
})

intervals('an activation has the outcome of its job', () => {
  const { host, scheduler, schedule } = watched({ onError() {} })
  scheduler.spawn(function* () { throw new Error('no') }, { name: 'fails' }).catch(() => {})
  scheduler.spawn(() => execute(host, 5), { name: 'is cancelled', release: 2 }).cancel()
  host.run()
  assert.equal(schedule.rows.map(({ name, ended: [{ outcome }] }) => [name, outcome]),
    [['fails', 'fail'], ['is cancelled', 'cancel']])
})

intervals('a job that is too short for the clock still has an interval', () => {
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(function* () {}, { name: 'short' })
  host.run()
  assert.equal(runsOf(schedule), ['short: 0-0 finish'])
})

intervals('an observer added during an execution sees the running job', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, slice: Infinity, round: Infinity })
  const schedule = new Schedule()
  scheduler.spawn(function* () {
    yield execute(host, 4)
    scheduler.observe(record => schedule.add(record))
    yield execute(host, 4)
  }, { name: 'long' })
  scheduler.spawn(() => execute(host, 1), { name: 'urgent', release: 6, deadline: 2 })
  host.run()
  assert.equal(runsOf(schedule), ['urgent: 6-7 finish', 'long: 6-6 preempt, 7-9 finish']
    .map(line => line.replace('6-6 preempt, ', '')))
})

intervals('records that stop during an execution show the execution up to there', () => {
  const job = { id: 1, name: 'a', release: 1, absoluteDeadline: 5 }
  const other = { id: 2, name: 'b', release: 3, absoluteDeadline: 9 }
  assert.equal(runsOf(scheduleOf([
    { type: 'release', time: 2, job }, { type: 'start', time: 2, job },
    { type: 'release', time: 4, job: other }
  ])), ['a: 2-4 ', 'b: '])
})

intervals('an early release is the begin of the schedule', () => {
  const job = { id: 1, name: 'key', release: 1.5, absoluteDeadline: 5 }
  const { begin, end } = scheduleOf([{ type: 'release', time: 4, job }])
  assert.equal([begin, end], [1.5, 4])
})

intervals('jobs with more than sixty names share the last row', () => {
  const records = Array.from({ length: 100 }, (_, id) =>
    ({ type: 'release', time: id, job: { id, name: `job ${id}`, release: id, absoluteDeadline: Infinity } }))
  const { rows } = scheduleOf(records)
  assert.is(rows.length, 60)
  assert.equal([rows[58].name, rows[59].name, rows[59].jobs], ['job 58', 'others', 41])
})

intervals('rowOf assigns jobs to rows', () => {
  const job = (id, name) => ({ id, name, release: 0, absoluteDeadline: Infinity })
  const records = [job(1, 'a'), job(2, 'b')].map(job => ({ type: 'release', time: 0, job }))
  const { rows } = scheduleOf(records, { rowOf: () => 'all' })
  assert.equal(rows.map(({ name, jobs }) => [name, jobs]), [['all', 2]])
})

intervals('limit bounds the number of executions that are kept', () => {
  const records = busyRecords(5000)
  const all = scheduleOf(records)
  const some = scheduleOf(records, { limit: 1000 })
  assert.is(some.length, 5000)
  assert.ok(some.runs.length < 1200 && some.runs.length > 200, `${some.runs.length} runs`)
  const plain = runs => runs.map(({ activation, from, to, how }) => [activation.name, from, to, how])
  assert.equal(plain(some.runs), plain(all.runs.slice(-some.runs.length)))
  assert.equal(some.rounds, all.rounds.slice(-some.rounds.length))
  some.rows.forEach(({ name, ended }) => {
    const other = all.rows.find(row => row.name === name)
    assert.equal(ended.map(({ id }) => id), other.ended.slice(-ended.length).map(({ id }) => id), name)
  })
  assert.is(some.origin, all.begin)
  assert.ok(some.begin > all.begin)
})

intervals('executions of random schedules match the charged costs', () => forSeeds(30, random => {
  const { host, scheduler, schedule } = watched({ round: random.integer(1, 8), turn: random.integer(0, 3) })
  const trace = record(scheduler)
  const jobs = Array.from({ length: 12 }, (_, i) => scheduler.spawn(function* () {
    for (let part = random.integer(1, 3); part > 0; part--) {
      yield execute(host, random.integer(1, 6))
      if (random.chance(0.3)) yield sleep(random.integer(1, 9))
    }
  }, { name: `job ${i}`, release: random.integer(0, 40), deadline: random.integer(3, 60) }))
  host.run()
  for (const row of schedule.rows) {
    const job = jobs.find(({ name }) => name === row.name)
    const [activation] = row.ended
    assert.ok(Math.abs(activation.cost - job.cost) < 1e-9, `${row.name}: ${activation.cost}, not ${job.cost}`)
    assert.is(activation.missed, job.missed)
    assert.is(row.runs.reduce((sum, { from, to }) => sum + to - from, 0), job.cost)
    assert.is(activation.ended, job.finished)
  }
  schedule.runs.forEach(({ from, to }, i) => {
    assert.ok(from <= to && (i === 0 || schedule.runs[i - 1].to <= from), 'two at once')
    assert.ok(schedule.rounds.some(round => round.from <= from && to <= round.to),
      `${from}-${to} is not in a round`)
  })
  // Executions are parts of the executions in the trace, which ignores rounds.
  const shown = executions(trace.records)
  for (const { activation, from, to } of schedule.runs) {
    const job = jobs.find(({ name }) => name === activation.name)
    assert.ok(from === to || shown.get(job).some(([begin, end]) => begin <= from && to <= end),
      activation.name)
  }
}))

intervals('firstFrom returns the first index of a value in a sorted list', () => {
  const list = [1, 3, 3, 5]
  assert.equal([0, 1, 2, 3, 4, 5, 6].map(least => firstFrom(list, least, value => value)),
    [0, 0, 1, 1, 3, 3, 4])
})

intervals('nameOf returns a name for anything that a job can wait for', () => {
  const subjects = [null, undefined, 'text', { name: 'file' }, { id: 3 }, new Map(), Object.create(null)]
  assert.equal(subjects.map(nameOf), ['', '', 'text', 'file', 'job 3', 'map', 'object'])
})

intervals.run()

// -------------------------------------------------------------------------- causes of a missed deadline
const blames = suite('causes of a missed deadline')

blames('blame returns the jobs that executed between release and deadline', () => {
  const { host, scheduler, schedule } = watched({ round: 5, turn: 1 })
  scheduler.spawn(() => nonPreemptive(() => execute(host, 30)), { name: 'save' })
  scheduler.spawn(() => execute(host, 2), { name: 'key', release: 3, deadline: 12 })
  host.run()
  const [key] = schedule.misses
  const blame = schedule.blame(key)
  assert.equal(culpritsOf(blame), [{ name: 'save', ms: 10, isLater: true, unbroken: 0 }])
  assert.equal([blame.from, blame.to, blame.own, blame.away], [3, 15, 0, 2])
  assert.is(story(schedule, key), 'key: released at 3.0 ms, due 12.0 ms later; started 34.0 ms after its ' +
    'release, finished at 39.0 ms, 24.0 ms late; executed for 2.0 ms. In the 12.0 ms before its deadline: ' +
    'save ran for 10.0 ms (due later); the page had the thread for 2.0 ms, or nobody.')
})

blames('a stretch without a preemption point is named with its full length', () => {
  const { host, scheduler, schedule } = watched({ slice: 1 })
  scheduler.spawn(function* () { host.advance(40) }, { name: 'rude' })
  scheduler.spawn(() => execute(host, 2), { name: 'key', release: 10, deadline: 12 })
  host.run()
  const blame = schedule.blame(schedule.misses[0])
  assert.equal(culpritsOf(blame), [{ name: 'rude', ms: 12, isLater: true, unbroken: 40 }])
  assert.is(accusation(blame),
    'In the 12.0 ms before its deadline: rude ran for 12.0 ms ' +
    '(due later, 40.0 ms without a preemption point).')
})

blames('blame lists more urgent jobs, the job itself and its waits', () => {
  const { host, scheduler, schedule } = watched()
  const mutex = new Mutex({ name: 'file' })
  scheduler.spawn(function* () {
    yield mutex.lock()
    yield execute(host, 9)
    mutex.unlock()
  }, { name: 'writer', deadline: 100 })
  scheduler.spawn(() => execute(host, 3), { name: 'urgent', release: 4, deadline: 4 })
  scheduler.spawn(function* () {
    yield execute(host, 1)
    yield mutex.lock()
    yield execute(host, 5)
    mutex.unlock()
  }, { name: 'reader', release: 2, deadline: 10 })
  host.run()
  const blame = schedule.blame(schedule.misses.find(({ name }) => name === 'reader'))
  assert.equal(culpritsOf(blame), [
    { name: 'writer', ms: 6, isLater: true, unbroken: 0 },
    { name: 'urgent', ms: 3, isLater: false, unbroken: 0 }
  ])
  assert.is(blame.own, 1)
  assert.match(accusation(blame),
    /the job itself ran for 1\.0 ms; the job waited for file for 9\.0 ms, held by writer\.$/)
})

blames('the text names the object that an unfinished job still waits for', () => {
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(function* () { yield new Promise(() => {}) }, { name: 'patient', release: 2, deadline: 6 })
  host.run({ until: 12 })
  assert.is(accusation(schedule.blame(schedule.misses[0])), 'In the 6.0 ms before its deadline: ' +
    'the page had the thread for 6.0 ms, or nobody; the job waited for promise for 6.0 ms.')
})

blames('only the three worst jobs are named', () => {
  const others = [5, 4, 3, 2, 1].map(ms => ({ name: `job ${ms}`, ms, isLater: false, unbroken: 0 }))
  assert.is(accusation({ from: 0, to: 15, own: 0, others, away: 0, waits: [] }),
    'In the 15.0 ms before its deadline: job 5 ran for 5.0 ms; job 4 ran for 4.0 ms; ' +
    'job 3 ran for 3.0 ms; 2 more ran for 3.0 ms.')
})

blames('a job in time has a story without blame, an unfinished job one without an end', () => {
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(() => execute(host, 2), { name: 'quick', deadline: 9 })
  scheduler.spawn(() => execute(host, 20), { name: 'long', release: 2 })
  host.run({ until: 5 })
  const [quick, long] = schedule.rows
  assert.is(story(schedule, quick.ended[0]), 'quick: released at 0.0 ms, due 9.0 ms later; started 0.0 ms ' +
    'after its release, finished at 2.0 ms, 7.0 ms before its deadline; executed for 2.0 ms.')
  assert.is(long.ended.length, 1)
  const pending = { id: 9, name: 'pending', release: 4, absoluteDeadline: Infinity }
  const open = scheduleOf([{ type: 'release', time: 5, job: pending }])
  assert.is(story(open, open.find(pending), 0),
    'pending: released at 4.0 ms, no deadline; has not started, goes on; executed for 0.0 ms.')
})

blames('the summary counts tasks, jobs and missed deadlines', () => {
  assert.is(summary(new Schedule()), 'No schedule yet')
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(() => execute(host, 12), { name: 'a', deadline: 5 })
  scheduler.spawn(() => execute(host, 1), { name: 'b' })
  host.run()
  assert.is(summary(schedule), '2 tasks, 2 jobs, 1 missed deadline in 13.0 ms')
})

blames.run()

// ------------------------------------------------------------------------------------------------ drawing
const drawings = suite('drawing')

/** A pen that records its calls. */
function noting() {
  const drawn = { box: [], lines: [], arrowHead: [], text: [] }
  const pen = Object.fromEntries(Object.keys(drawn).map(name =>
    [name, (...args) => { drawn[name].push(args) }]))
  return { drawn, pen: { ...pen, within: (x, y, width, height, inside) => inside() } }
}

const sceneOf = (schedule, view = {}) => {
  const panels = [{ schedule }]
  return { panels, width: 1000, rowHeight: 24, from: 0, span: endOfPanels(panels), ...view }
}

drawings('the number of drawn shapes is bounded by the pixels, not by the records', () => {
  for (const count of [10_000, 100_000]) {
    const { pen, drawn } = noting()
    const scene = sceneOf(scheduleOf(busyRecords(count)))
    draw(pen, scene)
    assert.ok(drawn.box.length < 12 * 1500, `${drawn.box.length} boxes of ${count} records`)
    assert.ok(drawn.lines.flatMap(([lines]) => lines).length < 12 * 300)
    const numbers = drawn.box.flat().filter(value => typeof value === 'number')
    assert.ok(numbers.every(Number.isFinite))
  }
})

drawings('zoomed in, every execution is drawn at its time, and nothing outside the view', () => {
  const schedule = scheduleOf(busyRecords(20_000))
  const { pen, drawn } = noting()
  const scene = sceneOf(schedule, { from: 1000, span: 40 })
  draw(pen, scene)
  const left = labelWidth(scene)
  const scale = (1000 - left) / 40
  const begin = schedule.origin + 1000
  const seen = schedule.runs.filter(({ from, to }) => to > begin && from < begin + 40)
  assert.ok(seen.length > 10)
  for (const { from, to, activation: { deadline } } of seen) {
    // The part after the deadline is drawn separately.
    const x = left + (Math.max(from, begin) - begin) * scale
    const end = left + (Math.min(to, begin + 40, from < deadline ? deadline : Infinity) - begin) * scale
    assert.ok(drawn.box.some(([at, , width, height]) => height === 15 && Math.abs(at - x) < 4 &&
      at + width > end - 4), `${from}-${to}`)
  }
  // An arrow extends a few pixels beyond its time.
  assert.ok(drawn.box.every(([x, , width]) => x + width <= 1006 && x >= 0))
})

drawings('zoomed out, the opacity is the share of executed time', () => {
  const job = { id: 1, name: 'a', release: 0, absoluteDeadline: Infinity }
  const records = []
  for (let time = 0; time < 5000; time++) {
    records.push({ type: 'resume', time, job }, { type: 'preempt', time: time + 0.5, job })
  }
  const { pen, drawn } = noting()
  draw(pen, sceneOf(scheduleOf(records)))
  const runs = drawn.box.filter(([, , , height]) => height === 15)
  assert.is(runs.length, 1, 'all alike')
  assert.is(runs[0][5], 0.6, 'a half, rounded up to a fifth')
})

drawings('releases point up, deadlines point down, and a miss is crossed', () => {
  const job = { id: 1, name: 'a', release: 10, absoluteDeadline: 50 }
  const schedule = scheduleOf([
    { type: 'release', time: 10, job }, { type: 'start', time: 40, job }, { type: 'miss', time: 51, job },
    { type: 'finish', time: 60, job }
  ])
  const { pen, drawn } = noting()
  draw(pen, sceneOf(schedule))
  const arrows = drawn.arrowHead.map(([x, , height, paint]) =>
    [height > 0 ? 'up' : 'down', paint, Math.round(x)])
  const left = arrows[0][2]
  assert.equal(arrows.map(([way, paint]) => [way, paint]), [['up', 'text'], ['down', 'muted']])
  assert.is(arrows[1][2], Math.round(left + 40 / 50 * (1000 - left)))
  assert.equal(drawn.lines.map(([lines, paint]) => [lines.length, paint]), [[2, 'late']])
  const late = drawn.box.filter(([, , , height, paint]) => paint === 'late' && height === 15)
  assert.is(late.length, 1)
  assert.is(Math.round(late[0][0]), arrows[1][2])
})

drawings('activationAt returns the job at a position', () => {
  const { host, scheduler, schedule } = watched()
  scheduler.spawn(() => execute(host, 10), { name: 'long' })
  scheduler.spawn(() => execute(host, 10), { name: 'other', release: 5 })
  host.run()
  const scene = sceneOf(schedule)
  const left = labelWidth(scene)
  const at = (time, row) =>
    activationAt(placeAt(scene, left + time / 20 * (1000 - left), 22 + 4 + (row + 0.5) * 24))
  assert.is(at(3, 0)?.name, 'long')
  assert.is(at(15, 1)?.name, 'other')
  assert.is(at(7, 1)?.name, 'other', 'it is ready')
  assert.is(at(2, 1), null, 'before its release')
  assert.is(at(15, 0), null, 'after its end')
  assert.is(placeAt(scene, 500, 10), null)
  assert.is(placeAt(scene, 500, sceneHeight(scene)), null)
})

drawings('ticks are 1, 2 or 5 times a power of ten, and far enough apart', () => {
  for (const span of [0.05, 1, 3, 7, 150, 1234, 1e6]) {
    const step = tickStep(span, 900)
    assert.ok(step / span * 900 >= 76 && step / span * 900 <= 76 * 2.5 + 1, `${span} ms`)
    assert.ok([1, 2, 5].includes(Math.round(step / 10 ** Math.floor(Math.log10(step) + 1e-9))), String(step))
  }
})

drawings.run()

// ------------------------------------------------------------------------------------------------ SVG
const pictures = suite('SVG')

const lateRecords = () => {
  const host = virtualHost({ turn: 1 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const trace = record(scheduler)
  scheduler.spawn(() => nonPreemptive(() => execute(host, 30)), { name: 'save & <close>' })
  scheduler.spawn(() => execute(host, 2), { name: 'key', release: 3, deadline: 12 })
  host.run()
  return trace.records
}

/** @param {string} text */
function parsed(text) {
  const window = new Window()
  const document = new window.DOMParser().parseFromString(text, 'image/svg+xml')
  const errors = document.getElementsByTagName('parsererror')
  assert.is(errors.length, 0, errors[0]?.textContent)
  return document.documentElement
}

pictures('an SVG is well formed, has a text alternative and loads nothing', () => {
  const text = toSVG(lateRecords(), { title: 'A & B' })
  const svg = parsed(text)
  assert.is(svg.getAttribute('viewBox'), `0 0 960 ${svg.getAttribute('height')}`)
  assert.is(svg.querySelector('title').textContent, 'A & B')
  assert.match(svg.querySelector('desc').textContent,
    /^2 tasks, 2 jobs, 1 missed deadline in 39\.0 ms\.\nkey: .* save & <close> ran for 10\.0 ms/)
  assert.not.match(text, /href|NaN|Infinity|undefined/)
  const texts = [...svg.querySelectorAll('text')].map(({ textContent }) => textContent)
  for (const name of ['key', 'save & <close>', '0 ms']) assert.ok(texts.includes(name), name)
})

pictures('an SVG with a selected miss shows its causes', () => {
  const svg = parsed(toSVG(lateRecords(), { miss: 0 }))
  const texts = [...svg.querySelectorAll('text')].map(({ textContent }) => textContent)
  assert.ok(texts.includes('10 ms here'), texts.join('|'))
  assert.match(texts.join(' '),
    /key: released .* In the 12\.0 ms before its deadline: save & <close> ran for 10\.0 ms/)
})

pictures('an SVG follows the color scheme of the reader, or has the given one', () => {
  const styleOf = scheme => toSVG(lateRecords(), { scheme }).match(/<style>(.*)<\/style>/)[1]
  assert.match(styleOf('auto'),
    /\.rt-late\{color:#c2185b\}.*@media\(prefers-color-scheme:dark\)\{.*\.rt-late\{color:#ff6b9d\}/)
  assert.not.match(styleOf('dark'), /@media|#c2185b/)
})

pictures('invalid options throw errors that name them', () => {
  const named = (kind, text) => error => error instanceof kind && error.message.includes(text)
  assert.throws(() => toSVG([], { width: 0 }), named(RangeError, 'width must be a number > 0, got 0'))
  assert.throws(() => toSVG([], { span: NaN }), named(RangeError, 'span must be a number > 0, got NaN'))
  assert.throws(() => toSVG(lateRecords(), { miss: 1 }), named(RangeError, 'miss must be one of 1, got 1'))
  parsed(toSVG([]))
})

pictures('text is escaped for XML', () => {
  assert.is(escapeXml('a<b>&"\u0000\ud800\u{1f600}'), 'a&#60;b&#62;&#38;&#34;\ufffd\ufffd\u{1f600}')
  const { pen, text } = svgPen()
  pen.text('<script>', 1, 2, 'not a name')
  assert.is(text(), '<text x="1" y="6" fill="not a name" font-size="11">&#60;script&#62;</text>')
})

pictures.run()

// ------------------------------------------------------------------------------------------------ the chart
const charts = suite('chart')

/** Runs a test with a chart on a canvas of 500 pixels in a new document. */
const charted = (title, options, use, name = 'div') => charts(title, async () => {
  const window = new Window({ width: 800, height: 600 })
  const element = window.document.createElement(name)
  window.document.body.append(element)
  const texts = []
  const context = new Proxy({}, {
    get: (target, key) => target[key] ?? ((...args) => { if (key === 'fillText') texts.push(args[0]) })
  })
  const { prototype } = window.HTMLCanvasElement
  prototype.getContext = () => context
  Object.defineProperty(prototype, 'clientWidth', { value: 500 })
  prototype.setPointerCapture = () => {}
  const gantt = new Gantt(element, options)
  const readout = () => element.querySelector('p').textContent
  const press = (key, more) => {
    const event = new window.KeyboardEvent('keydown', { key, cancelable: true, bubbles: true, ...more })
    gantt.canvas.dispatchEvent(event)
    return event.defaultPrevented
  }
  const shown = () => {
    texts.length = 0
    gantt.draw()
    return texts.slice()
  }
  const point = (type, x, y, more) => gantt.canvas.dispatchEvent(new window.PointerEvent(type, {
    clientX: x, clientY: y, pointerId: 1, pointerType: 'mouse', bubbles: true, ...more
  }))
  await use({ window, element, gantt, readout, press, shown, point })
  gantt.destroy()
  await window.happyDOM.close()
})

/** Like `charted`, with the records of `twoTasks`. */
const twoCharted = (title, options, use, name) => charted(title, options, of => {
  for (const record of twoTasks()) of.gantt.add(record)
  return use(of)
}, name)

/** Five jobs of each of two tasks, 100 ms apart. The third job of `b` is late because of `a`. */
function twoTasks() {
  const records = []
  for (let i = 0; i < 5; i++) {
    const time = 100 * i
    const a = { id: 2 * i, name: 'a', release: time, absoluteDeadline: time + 90 }
    const b = { id: 2 * i + 1, name: 'b', release: time, absoluteDeadline: time + 40 }
    const length = i === 2 ? 50 : 10
    records.push(
      { type: 'release', time, job: a }, { type: 'start', time, job: a }, { type: 'release', time, job: b },
      ...i === 2 ? [{ type: 'miss', time: time + length, job: b }] : [],
      { type: 'finish', time: time + length, job: a }, { type: 'start', time: time + length, job: b },
      { type: 'finish', time: time + length + 10, job: b },
      { type: 'round', time: time + length + 10, job: null, start: time })
  }
  return records
}

twoCharted('the chart follows new records until it is moved', { span: 200 }, ({ gantt, press, shown }) => {
  shown()
  assert.equal(gantt.view, { from: 220, span: 200 })
  assert.is(gantt.follows, true)
  press('ArrowLeft')
  assert.is(gantt.follows, false)
  assert.equal(gantt.view, { from: 170, span: 200 })
  press('f')
  shown()
  assert.equal([gantt.follows, gantt.view.from], [true, 220])
})

twoCharted('the chart moves and zooms by keys, and leaves other keys to the page', { span: 200 }, ({ gantt, press }) => {
  gantt.view = { from: 100, span: 200 }
  assert.is(press('ArrowRight'), true)
  assert.equal(gantt.view, { from: 150, span: 200 })
  press('+')
  assert.equal(gantt.view, { from: 200, span: 100 })
  press('-')
  assert.equal(gantt.view, { from: 150, span: 200 })
  press('0')
  assert.equal(gantt.view, { from: 0, span: 420 })
  press('+')
  press('Home')
  assert.is(gantt.view.from, 0)
  press('End')
  assert.is(gantt.view.from, 210)
  assert.equal([press('x'), press('Tab'), press('+', { ctrlKey: true })], [false, false, false])
})

twoCharted('keys select jobs, and the text shows the causes of a miss', { span: 500 }, ({ gantt, press, readout, shown }) => {
  press('m')
  assert.is(gantt.chosen?.id, 5)
  assert.match(readout(),
    /^b: released at 200\.0 ms, .*, 20\.0 ms late; .* deadline: a ran for 40\.0 ms \(due later\)\.$/)
  assert.ok(shown().includes('40 ms here'))
  press('.')
  assert.is(gantt.chosen?.id, 7)
  press(',')
  press(',')
  assert.is(gantt.chosen?.id, 3)
  press('ArrowUp')
  assert.is(gantt.chosen?.id, 2)
  press('ArrowDown')
  assert.is(gantt.chosen?.id, 3)
  press('f')
  assert.equal([gantt.chosen, gantt.follows], [null, true])
  press('ArrowDown')
  press('Escape')
  assert.is(gantt.chosen, null)
  assert.match(readout(), /^Point at a job/)
})

charted('rows without remembered jobs are skipped by the keys', { limit: 50 }, ({ gantt, press }) => {
  const old = { id: -1, name: 'old', release: 0, absoluteDeadline: 9 }
  for (const type of ['release', 'start', 'finish']) gantt.add({ type, time: 0, job: old })
  for (const record of busyRecords(500, { tasks: 2 })) gantt.add({ ...record, time: record.time + 2 })
  const { rows } = gantt.panels[0].schedule
  assert.equal([rows[0].name, rows[0].ended.length], ['old', 0])
  for (const key of ['ArrowDown', 'ArrowUp', 'ArrowUp', 'ArrowDown', 'ArrowDown']) press(key)
  assert.match(gantt.chosen?.name, /^task/)
})

twoCharted('the text shows the job under the pointer, and a click keeps it selected', { span: 100 }, ({ gantt, point, readout }) => {
  gantt.view = { from: 0, span: 100 }
  gantt.draw()
  const left = labelWidth({ panels: gantt.panels, width: 500 })
  const x = time => left + time / 100 * (500 - left)
  point('pointermove', x(5), 22 + 4 + 12)
  assert.match(readout(), /^a: released at 0\.0 ms/)
  point('pointermove', x(15), 22 + 4 + 36)
  assert.match(readout(), /^b: released at 0\.0 ms/)
  assert.is(gantt.chosen, null)
  point('pointerdown', x(15), 22 + 4 + 36)
  point('pointerup', x(15), 22 + 4 + 36)
  assert.is(gantt.chosen?.name, 'b')
  point('pointermove', x(5), 22 + 4 + 12)
  point('pointerleave', 0, 0)
  assert.match(readout(), /^b: /)
  // The finger moves slightly.
  point('pointerdown', x(5), 22 + 4 + 12)
  point('pointermove', x(5) + 2, 22 + 4 + 12)
  point('pointerup', x(5) + 2, 22 + 4 + 12)
  assert.is(gantt.chosen?.name, 'a')
  assert.is(gantt.view.from, 0)
})

twoCharted('one pointer drags the chart, two pointers zoom it', { span: 100 }, ({ gantt, point }) => {
  gantt.view = { from: 100, span: 100 }
  point('pointerdown', 300, 40)
  const tenth = (500 - labelWidth({ panels: gantt.panels, width: 500 })) / 10
  point('pointermove', 300 - tenth, 40)
  assert.ok(Math.abs(gantt.view.from - 110) < 1e-9, String(gantt.view.from))
  point('pointerdown', 400 - tenth, 40, { pointerId: 2 })
  point('pointermove', 500 - tenth, 40, { pointerId: 2 })
  assert.ok(Math.abs(gantt.view.span - 50) < 1e-9, String(gantt.view.span))
  assert.is(gantt.chosen, null)
})

twoCharted('a wheel scrolls the page, zooms with ctrl or focus, and moves sideways', { span: 100 }, ({ window, gantt }) => {
  gantt.view = { from: 100, span: 100 }
  const middle = (500 + labelWidth({ panels: gantt.panels, width: 500 })) / 2
  const wheel = (deltaX, deltaY, more) => {
    const event = Object.assign(new window.Event('wheel', { cancelable: true }),
      { deltaX, deltaY, shiftKey: false, ctrlKey: false, clientX: middle, ...more })
    gantt.canvas.dispatchEvent(event)
    return event.defaultPrevented
  }
  assert.is(wheel(0, 100), false)
  assert.is(gantt.view.span, 100)
  assert.is(wheel(0, -200 * Math.LN2, { ctrlKey: true }), true)
  assert.ok(Math.abs(gantt.view.span - 50) < 1e-9)
  assert.ok(Math.abs(gantt.view.from - 125) < 1e-9, 'what is under the pointer stays there')
  assert.is(wheel(100, 0), true)
  assert.is(gantt.view.from, 135)
  gantt.canvas.focus()
  const { span } = gantt.view
  assert.is(wheel(0, -500 * Math.LN2), true)
  assert.ok(Math.abs(gantt.view.span - span / 2) < 1e-9)
})

twoCharted('the chart has buttons, a label and a table for screen readers', { span: 200 }, ({ window, element, gantt, readout }) => {
  const later = []
  window.setTimeout = fn => later.push(fn)
  gantt.draw()
  const details = element.querySelector('details')
  details.open = true
  details.dispatchEvent(new window.Event('toggle'))
  const rows = [...details.querySelectorAll('tr')].map(row =>
    [...row.children].map(({ textContent }) => textContent))
  assert.equal(rows.slice(1), [['a', '5', '0', '90.0', '-40.0'], ['b', '5', '1', '50.0', '20.0']])
  assert.match(details.querySelector('li').textContent, /^b: .* a ran for 40\.0 ms/)
  details.querySelector('li button').click()
  assert.is(gantt.chosen?.id, 5)
  assert.match(readout(), /^b: released at 200/)
  element.querySelector('[data-move=all]').click()
  assert.is(gantt.view.from, 0)
  for (const fn of later) fn()
  assert.match(gantt.canvas.getAttribute('aria-label'),
    /^Schedule\. 2 tasks, 10 jobs, 1 missed deadline in 420\.0 ms\./)
  assert.is(gantt.canvas.tabIndex, 0)
  assert.is(element.querySelector('[data-move=follow]').getAttribute('aria-pressed'), 'false')
})

const told = []
const describe = (...said) => told.push(said)
twoCharted('on a canvas of the page, the chart draws and calls describe', { describe }, ({ element, gantt, press }) => {
  press('m')
  assert.is(gantt.canvas, element)
  assert.is(element.ownerDocument.body.children.length, 1)
  assert.match(told[0][0], /^b: released/)
  assert.is(told[0][1], gantt.chosen)
}, 'canvas')

charted('several schedules are drawn below each other on one axis', {}, ({ gantt, shown, press }) => {
  const schedule = () => scheduleOf(twoTasks())
  gantt.show([
    { schedule: schedule(), title: 'first', note: '1 late', warns: true, paint: 'red' },
    { schedule: schedule(), title: 'second', order: (a, b) => a.name < b.name ? 1 : -1 }
  ], { from: 0, span: 500 })
  const texts = shown().filter(text => /^(first|second|a|b|1 late)$/.test(text))
  assert.equal(texts, ['first', '1 late', 'a', 'b', 'second', 'b', 'a'])
  press('m')
  press('m')
  assert.is(gantt.chosen, gantt.panels[1].schedule.misses[0])
  press('m')
  assert.is(gantt.chosen, gantt.panels[0].schedule.misses[0])
})

twoCharted('toSVG contains the current view with the selected job', { span: 500 }, ({ gantt, press }) => {
  press('m')
  const svg = parsed(gantt.toSVG({ title: 'Late' }))
  assert.is(svg.querySelector('title').textContent, 'Late')
  assert.match(svg.textContent, /40 ms here/)
})

charted('observe() shows the jobs of a scheduler until destroy()', {}, ({ element, gantt, shown }) => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const stop = gantt.observe(scheduler)
  scheduler.spawn(() => execute(host, 3), { name: 'seen' })
  host.run()
  stop()
  scheduler.spawn(() => execute(host, 3), { name: 'unseen' })
  host.run()
  assert.equal(gantt.panels[0].schedule.rows.map(({ name }) => name), ['seen'])
  assert.ok(shown().includes('seen'))
  gantt.clear()
  assert.equal(shown(), ['No schedule yet'])
  gantt.destroy()
  assert.is(element.children.length, 0)
})

charted('observe() shows each worker in its own lane on one axis', {}, async ({ gantt, shown }) => {
  const here = world()
  const { host, scheduler } = here
  const { workers } = crewOf(here, { execute: ms => execute(host, ms) })
  gantt.observe(workers)
  assert.equal(shown(), ['No schedule yet'])
  await host.drain({ until: 5 })
  for (const name of ['a', 'b', 'c']) workers.spawn('execute', { scheduler, name, wcet: 1 }, 1)
  await host.drain()
  host.run({ until: host.time + 50 })
  assert.equal(gantt.panels.map(({ schedule }) => runsOf(schedule)), [['a: 6-7 finish', 'c: 8-9 finish'], ['b: 7-8 finish']])
  assert.equal(gantt.panels.map(originOf), [5, 5])
  assert.equal(shown().filter(text => /^(worker \d|[abc])$/.test(text)), ['worker 1', 'a', 'c', 'worker 2', 'b'])
  gantt.clear()
  assert.is(gantt.panels.length, 1)
})

charts.run()
