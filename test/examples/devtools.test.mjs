import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { after } from '../../alarms.mjs'
import { devtools } from '../../examples/devtools.mjs'
import { Scheduler } from '../../rt.mjs'
import { nonPreemptive } from '../../sync.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'

/**
 * A stand-in for the timeline of the platform that records its entries.
 * @param {() => number} now
 */
function timelineOf(now) {
  const entries = []
  const kept = { measures: new Set(), marks: new Set() }
  return {
    entries,
    kept,
    now,
    measure(name, { start, end, detail }) {
      entries.push({ kind: 'measure', name, start, end, ...structuredClone(detail).devtools })
      kept.measures.add(name)
    },
    mark(name, { startTime, detail }) {
      entries.push({ kind: 'mark', name, start: startTime, ...structuredClone(detail).devtools })
      kept.marks.add(name)
    },
    clearMeasures(name) { kept.measures.delete(name) },
    clearMarks(name) { kept.marks.delete(name) }
  }
}

function watched({ ahead = 0, turn = 0, group, ...options } = {}) {
  const host = virtualHost({ turn })
  const scheduler = new Scheduler({ host, budget: 1, slice: Infinity, round: Infinity, ...options })
  const timeline = timelineOf(() => host.time + ahead)
  const stop = devtools(scheduler, { group, timeline })
  const tracks = () => timeline.entries.filter(({ kind, track }) => kind === 'measure' && track !== 'rounds')
  return { host, scheduler, timeline, stop, tracks }
}

const marks = suite('devtools')

marks('each execution is an entry in the track of its task, each round in its own track', () => {
  const { host, scheduler, timeline, tracks } = watched({ round: 5, turn: 1 })
  scheduler.spawn(() => execute(host, 7), { name: 'long' })
  scheduler.spawn(() => execute(host, 1), { name: 'urgent', release: 3, deadline: 10 })
  host.run()
  assert.equal(tracks().map(({ name, start, end, track, trackGroup, dataType }) =>
    [name, start, end, track, trackGroup, dataType].join(' ')), [
    'long #1 1 3 long rt.mjs track-entry', 'urgent #2 3 4 urgent rt.mjs track-entry',
    'long #1 4 6 long rt.mjs track-entry', 'long #1 7 10 long rt.mjs track-entry'
  ])
  const rounds = timeline.entries.filter(({ track }) => track === 'rounds')
  assert.equal(rounds.map(({ start, end }) => [start, end]), [[1, 6], [7, 10]])
})

marks('a missed deadline becomes a marker that names the cause, once the job has ended', () => {
  const { host, scheduler, timeline } = watched({ round: 5, turn: 1 })
  scheduler.spawn(() => nonPreemptive(() => execute(host, 30)), { name: 'save' })
  scheduler.spawn(() => execute(host, 2), { name: 'key', release: 3, deadline: 12 })
  host.run()
  const misses = timeline.entries.filter(({ kind }) => kind === 'mark')
  assert.equal(misses, [{
    kind: 'mark',
    name: 'key #2 late',
    start: 15,
    dataType: 'marker',
    color: 'error',
    tooltipText: 'key #2 missed its deadline, finished 24.0 ms late. In the 12.0 ms before its deadline: ' +
      'save ran for 10.0 ms (due later); the page had the thread for 2.0 ms, or nobody.',
    properties: [
      ['save ran for', '10.0 ms'], ['The job itself ran for', '0.00 ms'],
      ['The page had the thread for', '2.00 ms']
    ]
  }])
  const beside = timeline.entries.find(({ track }) => track === 'key: missed')
  assert.equal([beside.start, beside.end, beside.tooltipText], [3, 15, misses[0].tooltipText])
})

marks('stalls of jobs and callbacks are shown by name, also outside rounds', () => {
  const { host, scheduler, timeline, tracks } = watched({ slice: 3 })
  after(5, function save() { host.advance(7) }, { scheduler })
  host.run()
  const told = () => tracks().map(({ name, start, end, tooltipText, properties }) => [name, start, end, tooltipText, properties.at(-1).join(' ')])
  assert.equal(told(), [['alarm save', 5, 12, 'alarm save kept the thread for 7.00 ms', 'Kept the thread for 7.00 ms']])
  timeline.entries.length = 0
  scheduler.spawn(function* () {
    host.advance(2)
    yield
    host.advance(4)
  }, { name: 'a' })
  scheduler.spawn(() => execute(host, 1), { name: 'b' })
  host.run()
  assert.equal(told(), [
    ['a #1', 12, 18, 'a #1 kept the thread for 4.00 ms', 'Kept the thread for 4.00 ms'], ['b #2', 18, 19, 'b #2', 'Ended by finish']
  ])
})

marks('an execution past its deadline has the color of an error', () => {
  const { host, scheduler, tracks } = watched()
  scheduler.spawn(() => execute(host, 7), { name: 'late', deadline: 3 })
  scheduler.spawn(() => execute(host, 1), { name: 'timely' })
  host.run()
  assert.equal(tracks().filter(({ track }) => !track.includes(':')).map(({ name, color }) => [name, color]),
    [['late #1', 'error'], ['timely #2', 'primary']])
})

marks('a missed deadline of a job that never ends is shown after a while', () => {
  const { host, scheduler, timeline } = watched({ round: 5 })
  scheduler.spawn(() => execute(host, 5000), { name: 'endless', deadline: 100 })
  host.run({ until: 900 })
  assert.is(timeline.entries.filter(({ kind }) => kind === 'mark').length, 0)
  host.run({ until: 1200 })
  const [miss, ...others] = timeline.entries.filter(({ kind }) => kind === 'mark')
  assert.match(miss.tooltipText,
    /^endless #1 missed its deadline, not finished yet\. .* the job itself ran for 100\.0 ms/)
  assert.is(others.length, 0)
})

marks('devtools clears its own entries from the timeline and no others', () => {
  const { host, scheduler, timeline } = watched({ round: 5 })
  for (const name of ['key', 'round', 'rounds']) {
    timeline.measure(name, { start: 0, end: 1, detail: {} })
    timeline.mark(name, { startTime: 0, detail: {} })
  }
  scheduler.spawn(() => execute(host, 17), { name: 'key', deadline: 3 })
  host.run()
  assert.equal([...timeline.kept.measures], ['key', 'round', 'rounds'])
  assert.equal([...timeline.kept.marks], ['key', 'round', 'rounds'])
})

marks('entries use the clock of the timeline, not that of the host', () => {
  const { host, scheduler, tracks } = watched({ ahead: 5000 })
  scheduler.spawn(() => execute(host, 2), { name: 'a' })
  host.run()
  assert.equal(tracks().map(({ start, end }) => [start, end]), [[5000, 5002]])
})

marks('no entry starts before the timeline', () => {
  const { host, scheduler, timeline } = watched({ ahead: -4 })
  scheduler.spawn(function* () { host.advance(10) }, { name: 'a', deadline: 2 })
  host.run()
  assert.equal(timeline.entries.map(({ kind, start, end }) => [kind, start, end]),
    [['measure', 0, 6], ['measure', 0, 6], ['mark', 0, undefined], ['measure', 0, 0]])
})

marks('a round shows its 50 longest executions in order and counts the rest', () => {
  const { host, scheduler, timeline, tracks } = watched()
  for (let i = 0; i < 80; i++) scheduler.spawn(() => execute(host, i % 2 ? 2 : 1), { name: `job ${i}` })
  host.run()
  assert.is(tracks().length, 50)
  assert.is(tracks().filter(({ start, end }) => end - start === 2).length, 40)
  assert.ok(tracks().every(({ start }, i) => i === 0 || start >= tracks()[i - 1].end))
  const round = timeline.entries.find(({ track }) => track === 'rounds')
  assert.match(round.tooltipText, /30 short executions not shown/)
})

marks('stop() ends the recording and shows pending entries', () => {
  const { host, scheduler, timeline, stop } = watched({ round: 5, group: 'mine' })
  scheduler.spawn(() => execute(host, 100), { name: 'a', deadline: 10 })
  host.run({ until: 20 })
  assert.ok(timeline.entries.every(({ kind, trackGroup }) => kind === 'measure' && trackGroup === 'mine'))
  stop()
  assert.is(timeline.entries.filter(({ kind }) => kind === 'mark').length, 1)
  const { length } = timeline.entries
  host.run()
  assert.is(timeline.entries.length, length)
})

marks('the timeline of the platform accepts the entries', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const stop = devtools(scheduler)
  scheduler.spawn(() => execute(host, 9), { name: 'a', deadline: 3 })
  host.run()
  stop()
  assert.equal(performance.getEntriesByType('measure').concat(performance.getEntriesByType('mark')), [])
})

marks.run()
