import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { nextPeriod, periodic, sleep } from '../../alarms.mjs'
import { scheduleOf } from '../../examples/gantt.mjs'
import { record, traceEvents } from '../../examples/trace-events.mjs'
import { Scheduler, Task } from '../../rt.mjs'
import { Channel, Mutex, nonPreemptive } from '../../sync.mjs'
import { busyRecords } from '../browser/gantt.records.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'

function recorded(setup, { turn = 0, start = 0, limit, ...options } = {}) {
  const host = virtualHost({ turn, start })
  const scheduler = new Scheduler({ host, budget: 1, slice: Infinity, round: Infinity, ...options })
  const recording = record(scheduler, { limit })
  setup({ host, scheduler })
  host.run()
  recording.stop()
  return recording
}

/** Prints an event as one line, without the process. */
function line({ ph, name, pid, tid, ts = '', dur, cat, s, ...rest }) {
  const time = dur === undefined ? String(ts) : `${ts}+${dur}`
  return [ph, name, `t${tid}`, ...time ? [time] : [], JSON.stringify(rest)].join(' ')
}

/**
 * Asserts the rules of the Trace Event Format (Google) and of its readers.
 * @param {ReturnType<typeof traceEvents>} trace
 */
function valid({ traceEvents: events, displayTimeUnit }) {
  assert.is(displayTimeUnit, 'ms')
  assert.equal(JSON.parse(JSON.stringify(events)).length, events.length)
  assert.not.match(JSON.stringify(events), /null/)
  const named = new Set()
  const ends = new Map()
  const flows = new Map()
  let last = -Infinity
  for (const event of events) {
    const { ph, name, pid, tid, ts, dur, id } = event
    const text = JSON.stringify(event)
    assert.ok(typeof name === 'string' && Number.isInteger(pid) && Number.isInteger(tid), text)
    for (const value of [...Object.values(event), ...Object.values(event.args ?? {})]) {
      assert.ok(typeof value !== 'number' || Number.isFinite(value), text)
    }
    if (ph === 'M') {
      assert.is(last, -Infinity, 'metadata comes first')
      if (name === 'thread_name') named.add(tid)
      continue
    }
    assert.ok('XiCsf'.includes(ph), text)
    assert.ok(ts >= last, `${text} comes after ${last}`)
    last = ts
    if (ph !== 'C') assert.ok(named.has(tid), `${text} is on a thread without a name`)
    if (ph === 'X') {
      assert.ok(dur >= 0, text)
      // Executions on one thread do not overlap.
      assert.ok(ts >= (ends.get(tid) ?? -Infinity) - 1e-3, `${text} begins before ${ends.get(tid)}`)
      ends.set(tid, ts + dur)
    }
    if (ph === 'i') assert.is(event.s, 't')
    if (ph === 's') flows.set(id, 's')
    if (ph === 'f') {
      assert.is(flows.get(id), 's', text)
      assert.is(event.bp, 'e')
      flows.delete(id)
    }
    if (ph === 's' || ph === 'f') {
      const isAround = other =>
        other.ph === 'X' && other.tid === tid && other.ts <= ts && ts <= other.ts + other.dur
      assert.ok(events.some(isAround), `${text} is in no execution`)
    }
  }
  assert.is(flows.size, 0, 'a flow does not end')
}

const exported = suite('trace events')

exported('a small schedule is exported with all its events', () => {
  const { records } = recorded(({ host, scheduler }) => {
    const channel = new Channel()
    scheduler.spawn(function* () {
      yield nonPreemptive(() => execute(host, 7))
      yield execute(host, 1)
      yield channel.send('done')
      yield execute(host, 2)
    }, { name: 'save' })
    scheduler.spawn(() => execute(host, 1), { name: 'key', release: 1003, deadline: 3 })
    scheduler.spawn(function* () {
      yield channel.receive()
      yield execute(host, 2)
    }, { name: 'listener', deadline: 50 })
  }, { round: 5, turn: 1, start: 1000.5 })
  const trace = traceEvents(records)
  valid(trace)
  assert.equal(trace.traceEvents.map(line), [
    'M process_name t0 {"args":{"name":"rt.mjs"}}',
    'M thread_name t1 {"args":{"name":"rounds"}}',
    'M thread_sort_index t1 {"args":{"sort_index":1}}',
    'M thread_name t2 {"args":{"name":"save"}}',
    'M thread_sort_index t2 {"args":{"sort_index":2}}',
    'M thread_name t3 {"args":{"name":"listener"}}',
    'M thread_sort_index t3 {"args":{"sort_index":3}}',
    'M thread_name t4 {"args":{"name":"key"}}',
    'M thread_sort_index t4 {"args":{"sort_index":4}}',
    'i release t2 1000500 {"args":{"id":1}}',
    'i release t3 1000500 {"args":{"id":3,"deadline":1050.5}}',
    'C ready t0 1000500 {"args":{"jobs":2}}',
    'X save t2 1001500+5000 {"args":{"id":1,"release":1000.5,"ended":"round"}}',
    'X round t1 1001500+5000 {}',
    'C ready t0 1001500 {"args":{"jobs":0}}',
    'i release t4 1003000 {"args":{"id":2,"deadline":1006}}',
    'C ready t0 1003500 {"args":{"jobs":1}}',
    'i miss t4 1006000 {"cname":"terrible","args":{"id":2,"lateness":4.5,"ran":{"save":3},' +
      '"why":"In the 3.0 ms before its deadline: save ran for 3.0 ms (due later)."}}',
    'X round t1 1007500+5000 {}',
    'X save t2 1007500+2000 {"args":{"id":1,"release":1000.5,"ended":"preempt"}}',
    'X key t4 1009500+1000 {"cname":"terrible",' +
      '"args":{"id":2,"release":1003,"deadline":1006,"ended":"finish"}}',
    'C ready t0 1009500 {"args":{"jobs":1}}',
    'X save t2 1010500+1000 {"args":{"id":1,"release":1000.5,"ended":"preempt"}}',
    'i finish t4 1010500 {"args":{"id":2,"cost":1,"lateness":4.5}}',
    'C ready t0 1010500 {"args":{"jobs":0}}',
    's wake t2 1011499 {"id":1}',
    'X listener t3 1011500+1000 {"args":{"id":3,"release":1000.5,"deadline":1050.5,"ended":"round"}}',
    'f wake t3 1011500 {"id":1,"bp":"e"}',
    'C ready t0 1011500 {"args":{"jobs":1}}',
    'X round t1 1013500+3000 {}',
    'X listener t3 1013500+1000 {"args":{"id":3,"release":1000.5,"deadline":1050.5,"ended":"finish"}}',
    'X save t2 1014500+2000 {"args":{"id":1,"release":1000.5,"ended":"finish"}}',
    'i finish t3 1014500 {"args":{"id":3,"cost":2,"lateness":-36}}',
    'C ready t0 1014500 {"args":{"jobs":0}}',
    'i finish t2 1016500 {"args":{"id":1,"cost":10}}',
    'i deadline t3 1050500 {"args":{"id":3}}'
  ])
})

exported('releases, deadlines and ends are instants, and infinite deadlines are omitted', () => {
  const { records } = recorded(({ host, scheduler }) => {
    scheduler.spawn(() => execute(host, 2), { name: 'a', deadline: 10 })
    scheduler.spawn(() => execute(host, 1), { name: 'b' })
  })
  const instants = traceEvents(records).traceEvents.filter(({ ph }) => ph === 'i')
  assert.equal(instants.map(line), [
    'i release t2 0 {"args":{"id":1,"deadline":10}}', 'i release t3 0 {"args":{"id":2}}',
    'i finish t2 2000 {"args":{"id":1,"cost":2,"lateness":-8}}',
    'i finish t3 3000 {"args":{"id":2,"cost":1}}',
    'i deadline t2 10000 {"args":{"id":1}}'
  ])
})

exported('a wake-up is a flow from the waking job to the woken job', () => {
  const { records } = recorded(({ host, scheduler }) => {
    const mutex = new Mutex()
    scheduler.spawn(function* () {
      yield mutex.lock()
      yield execute(host, 6)
      mutex.unlock()
      yield execute(host, 2)
    }, { name: 'holder' })
    scheduler.spawn(function* () {
      yield mutex.lock()
      yield execute(host, 1)
      mutex.unlock()
    }, { name: 'waiter', release: 2, deadline: 40 })
  })
  const trace = traceEvents(records)
  valid(trace)
  const flows = trace.traceEvents.filter(({ ph }) => 'sf'.includes(ph))
  assert.equal(flows.map(line), ['s wake t2 5999 {"id":1}', 'f wake t3 6000 {"id":1,"bp":"e"}'])
})

exported('a wake-up by an alarm flows from the round, a wake-up by a job from the job', () => {
  const { records } = recorded(({ host, scheduler }) => {
    const child = scheduler.spawn(() => execute(host, 3), { name: 'child', deadline: 90 })
    scheduler.spawn(function* () {
      yield sleep(2)
      yield execute(host, 1)
      yield child
      yield execute(host, 1)
    }, { name: 'parent', deadline: 30 })
    scheduler.spawn(() => execute(host, 20), { name: 'other' })
  })
  const trace = traceEvents(records)
  valid(trace)
  const flows = trace.traceEvents.filter(({ ph }) => 'sf'.includes(ph))
  assert.equal(flows.map(line), [
    's wake t1 2000 {"id":1}', 'f wake t3 2000 {"id":1,"bp":"e"}',
    's wake t2 3999 {"id":2}', 'f wake t3 4000 {"id":2,"bp":"e"}'
  ])
})

exported('a wake-up by an execution that is too short for the clock has no flow', () => {
  for (const name of ['waker', 'before']) {
    const { records } = recorded(({ host, scheduler }) => {
      const channel = new Channel()
      scheduler.spawn(() => execute(host, 4), { name: 'before', deadline: 10 })
      scheduler.spawn(() => channel.send(), { name, deadline: 20 })
      scheduler.spawn(() => channel.receive(), { name: 'woken', deadline: 5 })
    })
    const trace = traceEvents(records)
    valid(trace)
    assert.equal(trace.traceEvents.filter(({ ph }) => 'sf'.includes(ph)), [])
  }
})

exported('name and pid are options', () => {
  const { records } = recorded(({ scheduler }) => scheduler.spawn(function* () {}, { name: 'a' }))
  const { traceEvents: events } = traceEvents(records, { name: 'my page', pid: 7 })
  assert.ok(events.every(({ pid }) => pid === 7))
  assert.equal(events[0].args, { name: 'my page' })
  valid(traceEvents([]))
})

exported('random schedules export valid traces with the same executions', () => forSeeds(20, random => {
  const { records } = recorded(({ host, scheduler }) => {
    for (let i = 0; i < 15; i++) {
      scheduler.spawn(function* () {
        for (let part = random.integer(1, 3); part > 0; part--) {
          yield execute(host, random.integer(1, 6))
          if (random.chance(0.4)) yield sleep(random.integer(1, 9))
        }
        if (random.chance(0.1)) throw new Error('no')
      }, {
        name: `task ${i % 5}`,
        release: random.integer(0, 60),
        deadline: random.chance(0.3) ? Infinity : random.integer(2, 60)
      }).catch(() => {})
    }
  }, { round: random.integer(1, 8), turn: random.real(0, 2), start: random.real(0, 1e6) })
  const trace = traceEvents(records)
  valid(trace)
  const total = trace.traceEvents.filter(({ cat }) => cat === 'job').reduce((sum, { dur }) => sum + dur, 0)
  const busy = scheduleOf(records).runs.reduce((sum, { from, to }) => sum + to - from, 0)
  assert.ok(Math.abs(total / 1000 - busy) < 1e-2, `${total / 1000} ms, not ${busy}`)
}))

exported('executions on one thread do not overlap, also with many records', () => {
  const trace = traceEvents(busyRecords(20_000))
  const ends = new Map()
  for (const { ph, tid, ts, dur } of trace.traceEvents) {
    if (ph !== 'X') continue
    assert.ok(ts >= (ends.get(tid) ?? -Infinity) - 1e-3)
    ends.set(tid, ts + dur)
  }
  assert.ok(trace.traceEvents.length > 20_000)
  JSON.stringify(trace)
})

exported.run()

// ------------------------------------------------------------------------------------------------ recording
const recordings = suite('recording')

recordings('a recording keeps the values of the moment, not the jobs', () => {
  const { records } = recorded(({ host, scheduler }) => {
    const mutex = new Mutex({ name: 'file' })
    scheduler.spawn(function* () {
      yield mutex.lock()
      yield execute(host, 6)
      mutex.unlock()
    }, { name: 'holder' })
    scheduler.spawn(function* () { yield mutex.lock() }, { name: 'waiter', release: 2, deadline: 40 })
  })
  assert.equal(JSON.parse(JSON.stringify(records)).length, records.length)
  assert.ok(records.every(({ job }) => job === null || Object.getPrototypeOf(job) === Object.prototype))
  assert.equal(records.find(({ type }) => type === 'block').on, { name: 'file', holders: ['holder'] })
  assert.equal(records.find(({ type }) => type === 'preempt').by, 'waiter')
  const [, { waits }] = scheduleOf(records).rows
  assert.equal(waits.map(({ on, holders }) => [on, holders]), [['file', ['holder']]])
})

recordings('each period of a loop has its own activation, also if it is late', () => {
  const { records } = recorded(({ host, scheduler }) => {
    periodic(new Task(function* () {
      for (const ms of [2, 7, 1]) {
        yield execute(host, ms)
        yield nextPeriod()
      }
    }, { name: 'loop', scheduler }), { period: 5, count: 3 })
  })
  const schedule = scheduleOf(records)
  const brief = schedule.activations(schedule.rows[0])
    .map(({ release, ended, missed }) => ({ release, ended, missed }))
  assert.equal(brief.slice(0, 2), [
    { release: 0, ended: 2, missed: false }, { release: 5, ended: 12, missed: true }
  ])
  valid(traceEvents(records))
})

recordings('a changed deadline counts in a recording', () => {
  const { records } = recorded(({ host, scheduler }) => {
    scheduler.spawn(function* () {
      scheduler.current.deadline = 4
      yield execute(host, 6)
    }, { name: 'a', deadline: 50 })
  })
  assert.equal(scheduleOf(records).misses.map(({ deadline }) => deadline), [4])
})

recordings('a recording with a limit keeps the last records and counts the dropped ones', () => {
  const setup = ({ host, scheduler }) => {
    for (let i = 0; i < 20; i++) scheduler.spawn(() => execute(host, 1), { name: `job ${i}`, release: 2 * i })
  }
  const all = recorded(setup)
  const last = recorded(setup, { limit: 10 })
  assert.is(all.dropped, 0)
  assert.is(last.records.length, 10)
  assert.is(last.dropped, all.records.length - 10)
  const brief = ({ records }) => records.map(({ type, time, job }) => `${time} ${type} ${job?.name}`)
  assert.equal(brief(last), brief(all).slice(-10))
  last.clear()
  assert.equal([last.records, last.dropped], [[], 0])
})

recordings('a recording with dropped records is still a valid trace', () => {
  for (const limit of [7, 23, 50, 101]) {
    const { records } = recorded(({ host, scheduler }) => {
      for (let i = 0; i < 30; i++) {
        scheduler.spawn(function* () {
          yield execute(host, 2)
          yield sleep(3)
          yield execute(host, 1)
        }, { name: `task ${i % 3}`, release: 3 * i, deadline: 9 })
      }
    }, { limit, round: 5, turn: 1 })
    valid(traceEvents(records))
  }
})

recordings('stop() ends the recording', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const recording = record(scheduler)
  recording.stop()
  scheduler.spawn(function* () {})
  host.run()
  assert.is(recording.records.length, 0)
})

recordings('record throws a RangeError for an invalid limit', () => {
  const scheduler = new Scheduler({ host: virtualHost() })
  for (const limit of [0, -1, 1.5, NaN]) {
    assert.throws(() => record(scheduler, { limit }), error =>
      error instanceof RangeError && error.message === `limit must be an integer > 0, got ${limit}`)
  }
})

recordings.run()
