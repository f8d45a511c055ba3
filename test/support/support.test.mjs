import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { forSeeds, seeded, utilizations } from './seeded.mjs'
import { assertTrace, executions, firstDifference, format, gantt, record } from './trace.mjs'
import { execute, virtualHost } from './virtual-host.mjs'

const hosts = suite('the virtual host')

/** Runs `fn` on a host, with a log of events and their times. */
function logging(options, fn) {
  const host = virtualHost(options)
  const log = []
  const note = text => () => { log.push(`${host.time} ${text}`) }
  fn(host, note)
  return { host, log }
}

hosts('the virtual host runs the earliest task first, ties in order of creation', () => {
  const { host, log } = logging({}, (host, note) => {
    host.after(10, note('timer of 10'))
    host.after(2, note('timer of 2'))
    host.post(note('first post'))
    host.post(note('second post'))
    host.after(2, note('another of 2'))
  })
  assert.is(host.run(), 10)
  assert.equal(log, ['0 first post', '0 second post', '2 timer of 2', '2 another of 2', '10 timer of 10'])
  assert.is(host.turns, 5)
  assert.is(host.maxPosts, 2)
})

hosts('the virtual host fires timers late that become due during a task', () => {
  const { host, log } = logging({ turn: 0.5 }, (host, note) => {
    host.post(() => {
      note('works')()
      host.advance(5)
      host.post(note('posted'))
    })
    host.after(2, note('timer'))
  })
  host.run()
  assert.equal(log, ['0.5 works', '5.5 timer', '6 posted'])
})

hosts('the virtual host cancels timers, and lists the pending ones', () => {
  const { host, log } = logging({}, (host, note) => {
    host.after(3, note('kept'), { ref: false })
    host.after(1, note('cancelled'))()
    host.after(2, note('first'))
  })
  assert.equal(host.timers, [{ time: 2, ref: true }, { time: 3, ref: false }])
  host.run()
  assert.equal(log, ['2 first'], 'a timer without a reference does not keep it going')
  host.run({ until: 4 })
  assert.equal(log, ['2 first', '3 kept'])
  assert.is(host.time, 4)
})

hosts('the clock of the virtual host can be coarse, costly, and ahead of its timers', () => {
  const coarse = virtualHost({ resolution: 1 })
  coarse.advance(2.9)
  assert.is(coarse.now(), 2)
  assert.is(coarse.reads, 1)
  const costly = virtualHost({ read: 0.25 })
  costly.now()
  assert.is(costly.now(), 0.5)
  const { host, log } = logging({ early: 0.5 }, (host, note) => {
    host.after(3, note('early'))
    host.after(0.25, note('too short to be early'))
  })
  host.run()
  assert.equal(log, ['0.25 too short to be early', '2.5 early'])
})

hosts('the virtual host draws frames at multiples of their interval, unless hidden', () => {
  const { host, log } = logging({ frame: 16 }, (host, note) => {
    host.advance(20)
    host.frame(note('frame'))
  })
  host.isHidden = true
  assert.is(host.run({ until: 40 }), 40)
  assert.equal(log, [])
  host.isHidden = false
  host.run()
  assert.equal(log, ['40 frame'])
})

hosts('the virtual host drains promises between macrotasks', async () => {
  const { host, log } = logging({}, (host, note) => {
    host.post(() => { Promise.resolve().then(() => Promise.resolve()).then(note('microtask')) })
    host.post(note('next macrotask'))
  })
  await host.drain()
  assert.equal(log, ['0 microtask', '0 next macrotask'])
})

hosts('the virtual host stops a scheduler that spins', () => {
  const host = virtualHost()
  const spin = () => host.post(spin)
  spin()
  assert.throws(() => host.run(), /the clock stood at 0/)
  assert.throws(() => host.after(NaN, spin), /ms must be a finite number, got NaN/)
})

hosts('execute runs work of any length, with points between the steps', () => {
  for (const [ms, step, points] of [[0, 1, 0], [1, 1, 0], [3, 1, 2], [2.5, 1, 2], [1, 0.25, 3]]) {
    const host = virtualHost()
    assert.is([...execute(host, ms, step)].length, points)
    assert.is(host.time, ms)
  }
})

hosts.run()

const traces = suite('traces')

const A = { name: 'A', id: 1 }
const B = { name: '', id: 2 }
const records = [
  { type: 'release', time: 0, job: A },
  { type: 'release', time: 0, job: B },
  { type: 'start', time: 0, job: A },
  { type: 'preempt', time: 3, job: A, by: B },
  { type: 'start', time: 3, job: B },
  { type: 'block', time: 4, job: B, on: A },
  { type: 'resume', time: 4, job: A },
  { type: 'round', time: 5, job: null, start: 0 },
  { type: 'finish', time: 6.5, job: A },
  { type: 'wake', time: 6.5, job: B },
  { type: 'resume', time: 6.5, job: B },
  { type: 'miss', time: 8, job: B },
  { type: 'fail', time: 12, job: B, error: new TypeError('wrong') }
]

const text = `
  0    release  A, release #2, start A
  3    preempt  A  by=#2
  3    start    #2
  4    block    #2 on=A
  4    resume   A
  5    round    start=0
  6.5  finish   A
  6.5  wake     #2
  6.5  resume   #2
  8    miss     #2
  12   fail     #2 error=TypeError`

traces('traces are printed and compared record by record, on any number of lines', () => {
  assertTrace(records, text)
  assert.is(format(records.slice(3, 4)), '3 preempt A by=#2')
  assert.is(firstDifference(records, text), -1)
  assert.is(firstDifference(records, text.replace('4    resume   A', '4    resume   #2')), 6)
  assert.is(firstDifference(records.slice(0, -1), text), 12)
})

traces('traces that differ are shown side by side', () => {
  try {
    assertTrace(records.slice(0, 3), '0 release A\n0 start A')
    assert.unreachable()
  } catch (error) {
    assert.is(error.message, [
      'the schedules differ, first in record 2',
      '  actual       | expected',
      '  0 release A  | 0 release A',
      '> 0 release #2 | 0 start A',
      '> 0 start A    | '
    ].join('\n'))
  }
})

traces('traces are drawn as a Gantt chart', () => {
  assert.is(gantt(records), [
    '  ms +0        +10',
    '   A |###.###     |',
    '  #2 |...#~~##!###|',
    '     # runs   . ready   ~ waits   : depleted   ! misses its deadline   one column = 1 ms'
  ].join('\n'))
  assert.equal([...executions(records)], [[A, [[0, 3], [4, 6.5]]], [B, [[3, 4], [6.5, 12]]]])
})

traces('record collects records of chosen types until it is stopped', () => {
  let tell
  const scheduler = { observe: fn => {
    tell = fn
    return () => { tell = () => {} }
  } }
  const trace = record(scheduler, { except: ['round'] })
  for (const one of records.slice(0, 9)) tell(one)
  assert.is(trace.records.length, 8)
  assert.is(trace.text(), format([...records.slice(0, 7), records[8]]))
  assert.is(trace.take(), format([...records.slice(0, 7), records[8]]))
  assert.is(trace.text(), '')
  trace.stop()
  tell(records[0])
  assert.is(trace.text(), '')
})

traces.run()

const randoms = suite('seeded random numbers')

randoms('seeded numbers repeat, differ between seeds, and fill their range evenly', () => {
  const draw = seed => Array.from({ length: 4 }, seeded(seed).bits)
  assert.equal(draw(1), draw(1))
  assert.not.equal(draw(1), draw(2))
  const random = seeded(7)
  const seen = new Set(Array.from({ length: 200 }, () => random.integer(-2, 3)))
  assert.equal([...seen].sort((a, b) => a - b), [-2, -1, 0, 1, 2, 3])
  assert.equal(random.shuffle([1, 2, 3]).sort(), [1, 2, 3])
  assert.is(random.weighted({ always: 1, never: 0 }), 'always')
  const parts = utilizations(random, 5, 0.8)
  assert.ok(Math.abs(parts.reduce((sum, part) => sum + part) - 0.8) < 1e-12)
})

randoms('forSeeds names the seed that fails', async () => {
  const { SEED, SEEDS } = process.env
  delete process.env.SEED
  delete process.env.SEEDS
  try {
    await forSeeds(9, ({ seed }) => { assert.is.not(seed, 3) })
    assert.unreachable()
  } catch (error) {
    assert.match(error.message, 'seed 3 (SEED=3 repeats it)')
  } finally {
    if (SEED !== undefined) process.env.SEED = SEED
    if (SEEDS !== undefined) process.env.SEEDS = SEEDS
  }
})

randoms.run()
