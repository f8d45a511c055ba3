import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlineError, Scheduler, Task, budget, edf, fp, rm, extend } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { hookOf, world } from '../support/world.mjs'

/** A scheduler that reads the clock at every point, so that times in traces are exact. */
const setup = (options, clock) => world({ except: [], host: clock, ...options })

/** Writes a line into the trace, so that callbacks and the scheduler share one list. */
const note = (scheduler, of) => extend.emit(scheduler, 'note', null, { of })

const readings = suite('budgets and clock readings')

/** The number of clock readings while a job passes points that lead to no scheduling decision. */
function readingsOf(points, options) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, slice: Infinity, round: Infinity, ...options })
  let count
  scheduler.spawn(function* () {
    const before = host.reads
    yield* points()
    count = host.reads - before
  })
  host.run()
  return count
}

const POINTS = 840

function* bare() {
  for (let n = 0; n < POINTS; n++) yield
}

function* counted() {
  for (let n = 0; n < POINTS; n++) if (--budget.left <= 0) yield
}

function* mixed() {
  for (let n = 0; n < POINTS; n++) if (n % 3 !== 0 || --budget.left <= 0) yield
}

function* calls() {
  for (let n = 0; n < POINTS; n++) yield child()
}

function* child() {}

for (const points of [bare, counted, mixed, calls]) {
  readings(`a budget of N reads the clock at every Nth of ${points.name} points`, () => {
    for (const limit of [1, 2, 3, 7, 10, 300, POINTS]) {
      assert.is(readingsOf(points, { budget: limit }), Math.floor(POINTS / limit), `budget: ${limit}`)
    }
    assert.is(readingsOf(points, { budget: POINTS + 1 }), 0)
  })
}

readings('after a preemption, the clock is again read once per budget', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, slice: Infinity, round: Infinity, budget: 10 })
  let count
  scheduler.spawn(function* () {
    scheduler.spawn(function* () {}, { deadline: 1 })
    yield
    const before = host.reads
    yield* bare()
    count = host.reads - before
  })
  host.run()
  assert.is(count, POINTS / 10)
})

readings('the budget of a job overrides that of its task, which overrides the scheduler\'s', () => {
  const limits = []
  const see = function* () { limits.push(budget.left) }
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 2 })
  scheduler.spawn(see)
  scheduler.spawn(see, { budget: 3 })
  scheduler.spawn(new Task(see, { budget: 4 }))
  scheduler.spawn(new Task(see, { budget: 4 }), { budget: 5 })
  scheduler.spawn(new Task(see))
  host.run()
  assert.equal(limits, [2, 3, 4, 5, 2])
})

readings('budget.left is refilled before every resume', () => {
  const { host, scheduler } = setup({ slice: 1 })
  const seen = []
  const job = function* (name) {
    for (let n = 0; n < 6; n++) {
      seen.push(`${name} ${budget.left}`)
      host.advance(0.5)
      yield
    }
  }
  scheduler.spawn(job, { budget: 2 }, 'a')
  scheduler.spawn(job, { budget: 3 }, 'b')
  host.run()
  assert.equal(seen, [
    'a 2', 'a 1', 'b 3', 'b 2', 'b 1', 'a 2', 'a 1', 'b 3', 'b 2', 'b 1', 'a 2', 'a 1'
  ])
})

readings('a due release is detected when the budget is used up, not earlier', () => {
  const { host, scheduler, trace } = setup({ budget: 4, slice: Infinity })
  scheduler.spawn(execute(host, 8), { name: 'long', deadline: 50 })
  scheduler.spawn(execute(host, 1), { name: 'urgent', deadline: 10, release: 1 })
  extend.at(scheduler, 2, () => {})
  host.run()
  assertTrace(trace, `
    0 release long, start long
    4 release urgent, alarm due=2, preempt long by=urgent, start urgent
    5 finish urgent, round start=0, resume long
    9 finish long, round start=5`)
})

readings.run()

const reading = suite('order of events at one reading of the clock')

reading('at one reading a job ends first, then due entries fire by time, then jobs start', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity, round: Infinity })
  const replenish = time => {
    extend.at(scheduler, time, () => note(scheduler, `replenishment ${time}`), { replenishment: true })
  }
  scheduler.spawn(execute(host, 1), { name: 'least', deadline: 100 })
  scheduler.spawn(execute(host, 10, 10), { name: 'first', deadline: 8 })
  scheduler.spawn(execute(host, 1), { name: 'late', release: 3, deadline: 6 })
  scheduler.spawn(execute(host, 1), { name: 'early', release: 1, deadline: 7 })
  for (const [number, time] of [5, 3, 5, 10].entries()) {
    extend.at(scheduler, time, () => note(scheduler, `alarm ${number}`))
  }
  replenish(9)
  replenish(7)
  host.run()
  assertTrace(trace, `
    0 release least, release first, start first
    10 finish first, miss first, release early, release late, alarm due=3, note of=alarm 1
    10 alarm due=5, note of=alarm 0, alarm due=5, note of=alarm 2, replenish due=7, note of=replenishment 7
    10 miss early, replenish due=9, note of=replenishment 9, miss late, alarm due=10, note of=alarm 3, start early
    11 finish early, start late
    12 finish late, start least
    13 finish least, round start=0`)
})

reading('equal jobs woken and released at the same time run in the order of their entries', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity })
  const waitable = new extend.Waitable()
  scheduler.spawn(function* () { yield waitable }, { name: 'woken', deadline: 20 })
  scheduler.spawn(execute(host, 2), { name: 'released', release: 4, deadline: 16 })
  scheduler.spawn(execute(host, 6, 6), { name: 'long', deadline: 30 })
  extend.at(scheduler, 4, () => waitable.wake())
  host.run()
  assertTrace(trace, `
    0 release woken, release long, start woken, block woken on=Waitable, start long
    6 finish long, release released, alarm due=4, wake woken, round start=0, start released
    8 finish released, resume woken, finish woken, round start=6`)
})

reading('an alarm that sets itself again for the same time lets jobs run in between', () => {
  const { host, scheduler, trace } = setup()
  let count = 0
  const again = () => {
    if (++count < 3) extend.at(scheduler, 0, again)
  }
  extend.at(scheduler, 0, again)
  scheduler.spawn(execute(host, 3), { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, alarm due=0, start job
    1 alarm due=0
    2 alarm due=0
    3 finish job, round start=0`)
})

reading('an alarm set for a time that has already passed fires at the same reading', () => {
  const { host, scheduler, trace } = setup()
  extend.at(scheduler, 1, () => { extend.at(scheduler, 2, () => note(scheduler, 'second')) })
  scheduler.spawn(execute(host, 4, 4), { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    4 stall job ms=4, finish job, alarm due=1, alarm due=2, note of=second, round start=0`)
})

reading('an alarm that throws is reported, and the other alarms still fire', () => {
  const { host, scheduler, trace } = setup()
  extend.at(scheduler, 1, () => { throw new RangeError('broken') })
  extend.at(scheduler, 1, () => note(scheduler, 'second'))
  scheduler.spawn(execute(host, 1), { name: 'job' })
  host.run()
  assert.equal(host.errors.map(String), ['RangeError: broken'])
  assertTrace(trace, `
    0 release job, start job
    1 finish job, alarm due=1, alarm due=1, note of=second, round start=0`)
})

reading('an alarm that another alarm cancels does not fire', () => {
  const { host, scheduler, trace } = setup()
  const cancelled = []
  extend.at(scheduler, 1, () => { cancelled.push(second.cancel(), second.cancel()) })
  const second = extend.at(scheduler, 1, () => note(scheduler, 'second'))
  host.run()
  assert.equal(cancelled, [true, false])
  assertTrace(trace, '1 alarm due=1')
})

reading.run()

const preemption = suite('preemption')

/**
 * Runs one job with many points that calls `act` at 2 ms. Returns `budget.left` before and after that call.
 */
function leftAround(options, act, before = () => {}) {
  const { host, scheduler, trace } = setup({ budget: 100, slice: Infinity, round: Infinity, ...options })
  const seen = {}
  before(scheduler, host)
  const job = scheduler.spawn(function* () {
    for (let n = 0; n < 4; n++) {
      host.advance(1)
      if (n === 1) {
        seen.before = budget.left
        act(scheduler, host, job)
        seen.after = budget.left
      }
      yield
    }
  }, { name: 'running', deadline: 50, priority: 5 })
  host.run()
  return { ...seen, trace }
}

const more = { name: 'other', deadline: 10, priority: 6 }
const less = { name: 'other', deadline: 90, priority: 4 }
const equal = { name: 'other', deadline: 50, priority: 5 }

for (const policy of [edf, fp, rm]) {
  preemption(`${policy.name}: a spawned job of higher rank preempts at the next point`, () => {
    const { before, after, trace } = leftAround({ policy }, (scheduler, host) => {
      scheduler.spawn(execute(host, 1), more)
    })
    assert.equal([before, after], [99, 0])
    assertTrace(trace, `
      0 release running, start running
      2 release other, preempt running by=other, start other
      3 finish other, resume running
      5 finish running, round start=0`)
  })

  preemption(`${policy.name}: a spawned job of lower rank leaves the budget unchanged`, () => {
    const { before, after, trace } = leftAround({ policy }, (scheduler, host) => {
      scheduler.spawn(execute(host, 1), less)
    })
    assert.equal([before, after], [99, 99])
    assertTrace(trace, `
      0 release running, start running
      2 release other
      4 finish running, start other
      5 finish other, round start=0`)
  })

  preemption(`${policy.name}: a spawned job of equal rank waits for the end of the slice`, () => {
    const { before, after, trace } = leftAround({ policy }, (scheduler, host) => {
      scheduler.spawn(execute(host, 1), { ...equal, deadline: 48 })
    })
    assert.equal([before, after], [99, 99])
    assertTrace(trace, `
      0 release running, start running
      2 release other
      4 finish running, start other
      5 finish other, round start=0`)
  })

  /** Like `leftAround`, with another job that waits from the start and is woken at 2 ms. */
  const woken = options => {
    const waitable = new extend.Waitable()
    return leftAround({ policy }, () => waitable.wake(), (scheduler, host) => {
      scheduler.spawn(function* () {
        yield waitable
        yield* execute(host, 1)
      }, options)
    })
  }

  const beginning = options => options === less ? `
      0 release other
      0 release running
      0 start running` : `
      0 release other
      0 release running
      0 start other
      0 block other on=Waitable
      0 start running`

  preemption(`${policy.name}: a woken job of higher rank preempts at the next point`, () => {
    const { before, after, trace } = woken(more)
    assert.equal([before, after], [99, 0])
    assertTrace(trace, `${beginning(more)}
      2 wake other
      2 preempt running by=other
      2 resume other
      3 finish other
      3 resume running
      5 finish running
      5 round start=0`)
  })

  preemption(`${policy.name}: a woken job of equal rank preempts at the next point`, () => {
    const { before, after, trace } = woken(equal)
    assert.equal([before, after], [99, 0])
    assertTrace(trace, `${beginning(equal)}
      2 wake other
      2 preempt running by=other
      2 resume other
      3 finish other
      3 resume running
      5 finish running
      5 round start=0`)
  })
}

preemption('edf: among equal deadlines the larger priority ranks first', () => {
  const { before, after, trace } = leftAround({}, (scheduler, host) => {
    scheduler.spawn(execute(host, 1), { ...equal, deadline: 48, priority: 6 })
  })
  assert.equal([before, after], [99, 0])
  assertTrace(trace, `
    0 release running, start running
    2 release other, preempt running by=other, start other
    3 finish other, resume running
    5 finish running, round start=0`)
})

preemption('a woken job of lower rank waits until the running job ends', () => {
  const waitable = new extend.Waitable()
  let other
  const { before, after, trace } = leftAround({}, () => {
    other.deadline = 90
    waitable.wake()
  }, (scheduler, host) => {
    other = scheduler.spawn(function* () {
      yield waitable
      yield* execute(host, 1)
    }, more)
  })
  assert.equal([before, after], [99, 99])
  assertTrace(trace, `
    0 release other, release running, start other, block other on=Waitable, start running
    2 wake other
    4 finish running, resume other
    5 finish other, round start=0`)
})

preemption('two jobs that wake each other do not starve a third job of equal rank', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity, round: 6 })
  const waitables = Array.from({ length: 9 }, () => new extend.Waitable())
  const player = function* (own) {
    for (let turn = own; turn < 8; turn += 2) {
      yield waitables[turn]
      host.advance(1)
      waitables[turn + 1].wake()
    }
  }
  scheduler.spawn(player, { name: 'ping' }, 0)
  scheduler.spawn(player, { name: 'pong' }, 1)
  scheduler.spawn(execute(host, 1), { name: 'third', release: 0.5 })
  waitables[0].wake()
  host.run({ turns: 1 })
  assertTrace(trace, `
    0 release ping, release pong, start ping
    1 block ping on=Waitable, release third, start pong
    2 wake ping, block pong on=Waitable, start third
    3 finish third, resume ping
    4 wake pong, block ping on=Waitable, resume pong
    5 wake ping, block pong on=Waitable, resume ping
    6 wake pong, block ping on=Waitable, round start=0`)
})

preemption('a running job that lowers its own rank is preempted at its next point', () => {
  const { before, after, trace } = leftAround({}, (scheduler, host, job) => {
    job.deadline = 60
  }, (scheduler, host) => {
    scheduler.spawn(execute(host, 1), { name: 'other', deadline: 55 })
  })
  assert.equal([before, after], [99, 0])
  assertTrace(trace, `
    0 release other, release running, start running
    2 preempt running by=other, start other
    3 finish other, resume running
    5 finish running, round start=0`)
})

preemption('a ready job whose rank rises above the running job preempts at the next point', () => {
  let other
  const { before, after, trace } = leftAround({}, () => {
    other.deadline = 40
  }, (scheduler, host) => {
    other = scheduler.spawn(execute(host, 1), { name: 'other', deadline: 55 })
  })
  assert.equal([before, after], [99, 0])
  assertTrace(trace, `
    0 release other, release running, start running
    2 preempt running by=other, start other
    3 finish other, resume running
    5 finish running, round start=0`)
})

preemption('a ready job whose rank rises but stays below the running job waits', () => {
  let other
  const { before, after, trace } = leftAround({}, () => {
    other.deadline = 51
  }, (scheduler, host) => {
    other = scheduler.spawn(execute(host, 1), { name: 'other', deadline: 55 })
  })
  assert.equal([before, after], [99, 99])
  assertTrace(trace, `
    0 release other, release running, start running
    4 finish running, start other
    5 finish other, round start=0`)
})

preemption('a job released in the future preempts at the first reading after its release', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity })
  scheduler.spawn(execute(host, 4), { name: 'running', deadline: 50 })
  scheduler.spawn(execute(host, 1), { name: 'other', deadline: 5, release: 1.5 })
  host.run()
  assertTrace(trace, `
    0 release running, start running
    2 release other, preempt running by=other, start other
    3 finish other, resume running
    5 finish running, round start=0`)
})

preemption('a job spawned between two rounds runs first if it ranks highest', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity, round: 2 })
  scheduler.spawn(execute(host, 4), { name: 'running', deadline: 50 })
  host.run({ turns: 1 })
  scheduler.spawn(execute(host, 1), less)
  scheduler.spawn(execute(host, 1), { ...more, name: 'urgent' })
  host.run()
  assertTrace(trace, `
    0 release running, start running
    2 round start=0, release other, release urgent, preempt running by=urgent, start urgent
    3 finish urgent, resume running
    4 round start=2
    5 finish running, start other
    6 finish other, round start=4`)
})

preemption('job.preemptions counts preemptions and no waits', () => {
  const { host, scheduler } = setup({ slice: Infinity })
  const waitable = new extend.Waitable()
  const waits = scheduler.spawn(function* () { yield waitable }, { deadline: 5 })
  const running = scheduler.spawn(function* () {
    for (let n = 0; n < 3; n++) {
      scheduler.spawn(execute(host, 1), { deadline: 5 })
      yield
    }
    waitable.wake()
    yield
  }, { deadline: 50 })
  host.run()
  assert.equal([running.preemptions, waits.preemptions], [4, 0])
})

preemption.run()

const rotation = suite('rotation of jobs of equal rank')

rotation('a preempted job resumes with the rest of its slice, before jobs of equal rank', () => {
  const { host, scheduler, trace } = setup({ slice: 2, round: Infinity })
  scheduler.spawn(execute(host, 4, 0.5), { name: 'a', deadline: 50 })
  scheduler.spawn(execute(host, 2, 0.5), { name: 'b', deadline: 50 })
  scheduler.spawn(execute(host, 1, 0.5), { name: 'urgent', deadline: 5, release: 1 })
  host.run()
  assertTrace(trace, `
    0 release a, release b, start a
    1 release urgent, preempt a by=urgent, start urgent
    2 finish urgent, resume a
    3 preempt a by=b, start b
    5 finish b, resume a
    7 finish a, round start=0`)
})

rotation('a job that is preempted several times per slice still takes turns', () => {
  const { host, scheduler, trace } = setup({ slice: 1, round: Infinity })
  for (let n = 0; n < 12; n++) {
    scheduler.spawn(execute(host, 0.25, 0.25), { name: 'urgent', deadline: 1, release: 0.25 + 0.5 * n })
  }
  scheduler.spawn(execute(host, 2, 0.25), { name: 'a', deadline: 50 })
  scheduler.spawn(execute(host, 2, 0.25), { name: 'b', deadline: 50 })
  host.run()
  const turns = trace.records
    .filter(({ type, job }) => (type === 'start' || type === 'resume') && job.name !== 'urgent')
    .map(({ job }) => job.name)
  assert.is(turns.join(''), 'aaaabbbbaaaab')
})

rotation('a job that has waited gets a full slice', () => {
  const { host, scheduler, trace } = setup({ slice: 1, round: Infinity })
  scheduler.spawn(function* () {
    yield* execute(host, 0.75, 0.25)
    yield { then(resolve) { extend.at(scheduler, 1, resolve) } }
    yield* execute(host, 1.5, 0.25)
  }, { name: 'a' })
  scheduler.spawn(execute(host, 2.5, 0.25), { name: 'b' })
  host.run()
  assertTrace(trace, `
    0 release a, release b, start a
    0.75 block a on=Object, start b
    1 alarm due=1, wake a, preempt b by=a, resume a
    2 preempt a by=b, resume b
    3 preempt b by=a, resume a
    3.5 finish a, resume b
    4.75 finish b, round start=0`)
})

rotation('with slice: Infinity each job runs to completion', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity, round: Infinity })
  for (const name of ['a', 'b']) scheduler.spawn(execute(host, 20), { name })
  host.run()
  assertTrace(trace, `
    0 release a, release b, start a
    20 finish a, start b
    40 finish b, round start=0`)
})

rotation('slices continue across rounds', () => {
  const { host, scheduler, trace } = setup({ slice: 2, round: 1.5 })
  for (const name of ['a', 'b']) scheduler.spawn(execute(host, 3, 0.5), { name })
  host.run()
  assertTrace(trace, `
    0 release a, release b, start a
    1.5 round start=0
    2 preempt a by=b, start b
    3 round start=1.5
    4 preempt b by=a, resume a
    4.5 round start=3
    5 finish a, resume b
    6 finish b, round start=4.5`)
})

rotation.run()

const rounds = suite('rounds')

rounds('a round ends after its time limit, and the next round is posted once', () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(execute(host, 12), { name: 'job' })
  scheduler.spawn(execute(host, 1), { name: 'other', deadline: 99 })
  scheduler.spawn(execute(host, 1), { name: 'third', deadline: 99 })
  assert.is(host.posts, 1)
  host.run()
  assertTrace(trace, `
    0 release job, release other, release third, start other
    1 finish other, start third
    2 finish third, start job
    5 round start=0
    10 round start=5
    14 finish job, round start=10`)
  assert.is(host.maxPosts, 1)
  assert.equal([host.posts, host.turns], [0, 3])
})

rounds('tasks of the event loop run between two rounds', () => {
  const { host, scheduler, trace } = setup()
  for (const ms of [1, 6, 7]) host.after(ms, () => note(scheduler, `timer ${ms}`))
  scheduler.spawn(execute(host, 11), { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    5 round start=0, note of=timer 1
    10 round start=5, note of=timer 6, note of=timer 7
    11 finish job, round start=10`)
})

rounds('a round lasts as long as configured', () => {
  const { host, scheduler, trace } = setup({ round: 2.5 })
  scheduler.spawn(execute(host, 6, 0.5), { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    2.5 round start=0
    5 round start=2.5
    6 finish job, round start=5`)
})

rounds('with round: Infinity a round ends when no job is ready', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const waitable = new extend.Waitable()
  scheduler.spawn(function* () {
    yield* execute(host, 100)
    yield waitable
  }, { name: 'job' })
  host.run()
  waitable.wake()
  assert.is(host.posts, 1)
  host.run()
  assertTrace(trace, `
    0 release job, start job
    100 block job on=Waitable, round start=0, wake job, resume job, finish job, round start=100`)
})

for (const slice of [1, Infinity]) {
  rounds(`pending input ends each round after one millisecond: slice ${slice}`, () => {
    const { host, scheduler, trace } = setup({ slice })
    host.after(1.25, () => { host.hasInput = false })
    scheduler.spawn(function* () {
      yield* execute(host, 0.25)
      host.hasInput = true
      yield* execute(host, 7, 0.25)
    }, { name: 'job' })
    host.run({ turns: 3 })
    host.run()
    assertTrace(trace, `
      0 release job, start job
      1 round start=0
      2 round start=1
      7 round start=2
      7.25 finish job, round start=7`)
    assert.is(host.maxPosts, 1)
  })
}

rounds('pending input ends the round of a preemptible loop that does not suspend', () => {
  const { host, scheduler, trace } = setup({ host: { read: 0.25 }, budget: 9, slice: Infinity, round: 100 })
  host.hasInput = true
  scheduler.spawn(preemptify(function loop(n) { for (let i = 0; i < n; i++); }), undefined, 99)
  host.run()
  const { rounds, longestRound } = scheduler.stats()
  assert.ok(rounds > 2 && longestRound < 2, trace.text())
})

rounds('a host without inputPending works', () => {
  const { inputPending, ...host } = virtualHost()
  assert.type(inputPending, 'function')
  const scheduler = new Scheduler({ host })
  const job = scheduler.spawn(function* () { yield })
  host.run()
  assert.is(job.state, 'done')
})

rounds('between rounds the current job is null and the interrupted job is ready', () => {
  const { host, scheduler } = setup({ round: 1 })
  let inside
  const job = scheduler.spawn(function* () {
    inside = [job.state, scheduler.current === job]
    yield* execute(host, 3)
  })
  assert.equal([job.state, scheduler.current], ['ready', null])
  host.run({ turns: 1 })
  assert.equal(inside, ['running', true])
  assert.equal([job.state, scheduler.current], ['ready', null])
})

rounds('between two rounds at most one post is outstanding', () => {
  const { host, scheduler } = setup({ round: 1 })
  const waitables = [new extend.Waitable(), new extend.Waitable()]
  for (const waitable of waitables) scheduler.spawn(function* () { yield waitable })
  const job = scheduler.spawn(execute(host, 3), { deadline: 50 })
  host.run({ turns: 1 })
  job.deadline = 40
  job.priority = 2
  for (const waitable of waitables) waitable.wake()
  scheduler.spawn(execute(host, 1), { deadline: 5 })
  scheduler.spawn(execute(host, 1), { release: 1000 }).cancel()
  scheduler.pause()
  scheduler.resume()
  assert.is(host.posts, 1)
  host.run()
  assert.is(host.maxPosts, 1)
  assert.is(scheduler.stats().jobs, 5)
  assert.is(job.state, 'done')
})

rounds('without ready jobs there is no post, and one timer for the earliest entry', () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(function* () {}, { name: 'later', release: 30 })
  scheduler.spawn(function* () {}, { name: 'soon', release: 20 })
  extend.at(scheduler, 25, () => {})
  assert.equal(host.timers, [{ time: 20, ref: true }])
  assert.is(host.posts, 0)
  host.run()
  assertTrace(trace, `
    20 release soon, start soon, finish soon, round start=20
    25 alarm due=25
    30 release later, start later, finish later, round start=30`)
  assert.is(host.turns, 3)
})

rounds('two schedulers of one thread alternate round by round', () => {
  const host = virtualHost()
  const log = []
  for (const name of ['a', 'b']) {
    const scheduler = new Scheduler({ host, budget: 1, round: 2 })
    scheduler.observe(({ type, time }) => log.push(`${time} ${name} ${type}`))
    scheduler.spawn(execute(host, 3))
  }
  host.run()
  assert.equal(log, [
    '0 a release', '0 b release',
    '0 a start', '2 a round', '2 b start', '4 b round',
    '5 a finish', '5 a round', '6 b finish', '6 b round'
  ])
})

rounds.run()

const pausing = suite('pausing')

pausing('pause() and resume() inside a job only cut its budget', () => {
  const { host, scheduler, trace } = setup({ budget: 100 })
  scheduler.spawn(function* () {
    scheduler.pause()
    scheduler.resume()
    yield
    host.advance(1)
  }, { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    1 finish job, round start=0`)
})

pausing('a paused scheduler runs no job, fires no alarm and sets no timer', () => {
  const { host, scheduler, trace } = setup({ paused: true })
  scheduler.spawn(execute(host, 1), { name: 'job', deadline: 5 })
  scheduler.spawn(execute(host, 1), { name: 'released', release: 3 })
  extend.at(scheduler, 2, () => {})
  host.run({ until: 10 })
  assert.equal([host.posts, host.timers, host.turns], [0, [], 0])
  scheduler.resume()
  host.run()
  assertTrace(trace, `
    0 release job
    10 alarm due=2, release released, miss job, start job
    11 finish job, start released
    12 finish released, round start=10`)
})

pausing('resume() sets the timer again', () => {
  const { host, scheduler, trace } = setup()
  extend.at(scheduler, 20, () => {})
  scheduler.pause()
  assert.equal(host.timers, [])
  scheduler.resume()
  host.run()
  assertTrace(trace, '20 alarm due=20')
})

pausing.run()

const limits = suite('overruns and stalls')

limits('an overrun is reported once, at the first reading with a cost above wcet', () => {
  const overruns = []
  const { host, scheduler, trace } = setup({ onOverrun: job => overruns.push([job.name, job.cost]) })
  scheduler.spawn(execute(host, 6, 0.5), { name: 'long', wcet: 2 })
  scheduler.spawn(execute(host, 2, 0.5), { name: 'exact', wcet: 2, deadline: 20 })
  host.run()
  assertTrace(trace, `
    0 release long, release exact, start exact
    2 finish exact, start long
    4.5 overrun long
    5 round start=0
    8 finish long, round start=5`)
  assert.equal(overruns, [['long', 2.5]])
  assert.is(scheduler.stats().overruns, 1)
})

limits('an overrun at the end of a job is reported before its finish record', () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(execute(host, 1), { name: 'job', wcet: 0 })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    1 overrun job, finish job, round start=0`)
})

limits('every budget that outlasts the slice is reported as a stall', () => {
  const stalls = []
  const { host, scheduler, trace } = setup({ onStall: (job, ms) => stalls.push([job.name, ms]), round: 100 })
  scheduler.spawn(function* () {
    for (const ms of [1, 1.5, 0.5, 7, 1]) {
      host.advance(ms)
      yield
    }
  }, { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    2.5 stall job ms=1.5
    10 stall job ms=7
    11 finish job, round start=0`)
  assert.equal(stalls, [['job', 1.5], ['job', 7]])
  const { stalls: count, longestBudget } = scheduler.stats()
  assert.equal([count, longestBudget], [2, 7])
})

limits('with slice: Infinity no budget is a stall', () => {
  const { host, scheduler } = setup({ slice: Infinity })
  scheduler.spawn(execute(host, 50, 50))
  host.run()
  const { stalls, longestBudget } = scheduler.stats()
  assert.equal([stalls, longestBudget], [0, 50])
})

limits.run()

const misses = suite('misses')

misses('a running job misses its deadline once, at the first reading after it', () => {
  const seen = []
  const { host, scheduler, trace } = setup({ onMiss: job => seen.push([job.name, job.state, job.missed]) })
  scheduler.spawn(execute(host, 5), { name: 'job', deadline: 2.5 })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    3 miss job
    5 finish job, round start=0`)
  assert.equal(seen, [['job', 'running', true]])
  assert.is(scheduler.stats().misses, 1)
})

misses('a job that ends exactly at its deadline meets it', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(execute(host, 3), { name: 'job', deadline: 3 })
  host.run({ until: 10 })
  assertTrace(trace, `
    0 release job, start job
    3 finish job, round start=0`)
  assert.equal([job.missed, job.lateness], [false, 0])
})

misses('a job that ends late is missed, with the miss record after its finish', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(execute(host, 3), { name: 'job', deadline: 2.5 })
  const seen = []
  job.then(() => seen.push(job.missed))
  host.run({ until: 10 })
  assertTrace(trace, `
    0 release job, start job
    3 finish job, miss job, round start=0`)
  assert.equal([job.missed, job.lateness], [true, 0.5])
})

misses('a job that ends late by one unit of precision is missed at that reading', () => {
  const { host, scheduler } = setup()
  const late = 7 + 7 * 2 ** -53
  const job = scheduler.spawn(execute(host, late, late), { deadline: 7 })
  host.run({ turns: 1 })
  assert.equal([job.missed, scheduler.stats().misses], [true, 1])
})

misses('a ready job misses its deadline while another job runs', () => {
  const { host, scheduler, trace } = setup({ policy: fp })
  scheduler.spawn(execute(host, 1), { name: 'ready', deadline: 2 })
  scheduler.spawn(execute(host, 4), { name: 'running', priority: 1 })
  host.run()
  assertTrace(trace, `
    0 release ready, release running, start running
    3 miss ready
    4 finish running, start ready
    5 finish ready, round start=0`)
})

misses('a timer that keeps no process alive reports the miss of a waiting job', () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(function* () { yield new extend.Waitable() }, { name: 'job', deadline: 4 })
  host.run({ until: 2 })
  assert.equal(host.timers.map(({ ref }) => ref), [false])
  host.run({ until: 3.999 })
  assertTrace(trace, `
    0 release job, start job, block job on=Waitable, round start=0`)
  host.run({ until: 10 })
  const [last] = trace.records.slice(-1)
  assert.equal([last.type, last.time > 4, last.time < 5, trace.records.length], ['miss', true, true, 5])
  assert.equal(host.timers, [])
})

misses('a job released after its deadline is missed before it starts', () => {
  const { host, scheduler, trace } = setup()
  host.advance(10)
  scheduler.spawn(execute(host, 1), { name: 'job', release: 2, deadline: 3 })
  host.run()
  assertTrace(trace, `
    10 release job, miss job, start job
    11 finish job, round start=10`)
})

misses('a pending job cannot miss a deadline before its release', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(execute(host, 1), { name: 'job', release: 5, deadline: 3 })
  host.run({ until: 4 })
  assert.equal([job.state, job.absoluteDeadline], ['pending', 8])
  assertTrace(trace, '')
  host.run()
  assertTrace(trace, `
    5 release job, start job
    6 finish job, round start=5`)
})

misses('a depleted job misses its deadline', () => {
  const { host, scheduler, trace } = setup()
  const reservation = { [extend.protocol]: hookOf(scheduler, { keys: null }) }
  const job = scheduler.spawn(execute(host, 1), { name: 'job', deadline: 3, reservation })
  scheduler.spawn(execute(host, 4), { name: 'other', deadline: 20 })
  host.run()
  assert.is(job.state, 'depleted')
  assertTrace(trace, `
    0 release job, deplete job, release other, start other
    4 finish other, miss job, round start=0`)
})

misses('miss: \'abort\' cancels a running job with a DeadlineError at its next resume', () => {
  const { host, scheduler, trace } = setup()
  let caught
  const job = scheduler.spawn(function* () {
    try {
      yield* execute(host, 9)
    } catch (error) {
      caught = error
      host.advance(1)
      throw error
    }
  }, { name: 'job', deadline: 2.5, miss: 'abort' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    3 miss job
    4 cancel job error=DeadlineError, round start=0`)
  assert.instance(caught, DeadlineError)
  assert.is(caught.message, 'job missed its deadline, 2.5 ms after its release')
  assert.is(job.state, 'cancelled')
  assert.equal(host.errors, [])
})

misses('miss: \'abort\' cancels a job that never started and wakes a waiting job', () => {
  const { host, scheduler, trace } = setup({ policy: fp })
  scheduler.spawn(function* () {
    yield new extend.Waitable()
  }, { name: 'waits', deadline: 2, miss: 'abort', priority: 2 })
  scheduler.spawn(execute(host, 1), { name: 'ready', deadline: 2, miss: 'abort' })
  scheduler.spawn(execute(host, 4), { name: 'running', priority: 1 })
  host.run()
  assertTrace(trace, `
    0 release waits, release ready, release running, start waits, block waits on=Waitable, start running
    3 miss waits, wake waits, miss ready, cancel ready error=DeadlineError, preempt running by=waits
    3 resume waits, cancel waits error=DeadlineError, resume running
    4 finish running, round start=0`)
})

misses('miss: \'abort\' keeps the process alive until the deadline of a waiting job', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(function* () {
    yield new extend.Waitable()
  }, { name: 'job', deadline: 4, miss: 'abort' })
  host.run()
  assert.is(job.state, 'cancelled')
  assert.is(trace.records.at(-2).error instanceof DeadlineError, true)
})

misses('miss: \'abort\' does not cancel a job that has ended late', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(execute(host, 3, 3), { name: 'job', deadline: 2, miss: 'abort' })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    3 stall job ms=3, finish job, miss job, round start=0`)
  assert.equal([job.state, job.missed], ['done', true])
})

misses('a job whose deadline was moved later is not missed at the old deadline', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity })
  const job = scheduler.spawn(function* () {
    yield* execute(host, 2)
    job.deadline = 4
    yield* execute(host, 3)
  }, { name: 'job', deadline: 2.5 })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    5 finish job, miss job, round start=0`)
  assert.is(job.absoluteDeadline, 4)
})

misses('a job cancelled between rounds after its deadline is missed once', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(execute(host, 2), { name: 'job', deadline: 3 })
  host.advance(4)
  job.cancel()
  host.run({ until: 10 })
  assertTrace(trace, `
    0 release job
    4 cancel job error=AbortError, miss job`)
  assert.equal([job.missed, scheduler.stats().misses], [true, 1])
})

misses.run()

const accounts = suite('charged time and counters')

accounts('the time of an observer during a release is charged to no job', () => {
  const { host, scheduler } = setup({ slice: Infinity })
  const job = scheduler.spawn(execute(host, 4, 1))
  const later = scheduler.spawn(execute(host, 1), { release: 2 })
  scheduler.observe(({ type, job }) => { if (type === 'release' && job === later) host.advance(3) })
  host.run()
  assert.equal([job.cost, later.cost, scheduler.stats().busy], [4, 1, 5])
})

for (const who of ['handler', 'observer']) {
  accounts(`a job that counts its points without suspending is not charged for a ${who}`, () => {
    const { host, scheduler } = setup({ host: { read: 0.25 }, budget: 9, slice: 50, round: 100 })
    const onOverrun = who === 'handler' ? () => host.advance(20) : undefined
    if (who === 'observer') scheduler.observe(({ type }) => { if (type === 'overrun') host.advance(20) })
    const job = scheduler.spawn(preemptify(function loop(n) { for (let i = 0; i < n; i++); }), { wcet: 1, onOverrun }, 99)
    host.run()
    const { busy, overhead, longestRound } = scheduler.stats()
    assert.ok(job.cost < 9 && overhead >= 0, `cost ${job.cost}, overhead ${overhead}`)
    assert.is(busy + overhead, longestRound)
  })
}

accounts('a reading after a budget is charged to the job, one at a dispatch is overhead', () => {
  const { host, scheduler } = setup({ slice: Infinity }, { read: 0.25 })
  const job = scheduler.spawn(execute(host, 2))
  host.run()
  assert.is(job.cost, 2.5)
  // The dispatch and the end of the round each read the clock.
  assert.is(scheduler.stats().overhead, 0.5)
})

for (const [title, option] of Object.entries({
  'an alarm': host => scheduler => { extend.at(scheduler, 2, () => host.advance(3)) },
  'onMiss': host => ({ onMiss: () => host.advance(3) }),
  'onOverrun': host => ({ onOverrun: () => host.advance(3) }),
  'onStall': host => ({ onStall: () => host.advance(3) })
})) {
  accounts(`the time of a callback is not charged to the running job: ${title}`, () => {
    const host = virtualHost()
    const made = option(host)
    const scheduler = new Scheduler({ host, budget: 1, ...typeof made === 'object' && made })
    if (typeof made === 'function') made(scheduler)
    const job = scheduler.spawn(function* () {
      host.advance(2)
      yield
      yield* execute(host, 4)
    }, { deadline: 1.5, wcet: 2 })
    host.run()
    assert.equal([job.cost, scheduler.stats().busy, scheduler.stats().overhead], [6, 9, 0])
  })
}

accounts('time between rounds is neither busy time nor overhead', () => {
  const { host, scheduler } = setup({ round: 1 }, { turn: 10 })
  const job = scheduler.spawn(execute(host, 3))
  host.run()
  const { busy, overhead, rounds: count } = scheduler.stats()
  assert.equal([job.cost, busy, overhead, count, job.finished], [3, 3, 0, 3, 33])
})

accounts('stats() counts rounds, slices and yields', () => {
  const { host, scheduler } = setup({ budget: 4, slice: 1, round: 4 })
  scheduler.spawn(execute(host, 3, 0.125), { name: 'a' })
  scheduler.spawn(execute(host, 3, 0.125), { name: 'b' })
  host.run()
  const { jobs, rounds: count, slices, yields } = scheduler.stats()
  assert.equal([jobs, count, slices, yields], [2, 2, 6, 46])
})

accounts('stats() counts the end of a slice by preemption', () => {
  const { host, scheduler } = setup({ slice: Infinity })
  scheduler.spawn(execute(host, 4), { name: 'preempted' })
  scheduler.spawn(execute(host, 1), { name: 'urgent', release: 2, deadline: 5 })
  host.run()
  assert.is(scheduler.stats().slices, 3)
})

accounts('every yield is counted, with any budget and any end of its generator', () => {
  const yieldsOf = limit => {
    const { host, scheduler } = setup({ budget: limit })
    function* child(end) {
      for (let n = 0; n < 3; n++) yield
      end()
    }
    scheduler.spawn(function* () {
      yield child(() => {})
      yield
      yield child(() => { throw new RangeError('ends') })
    })
    host.run()
    return scheduler.stats().yields
  }
  assert.equal([1, 2, 100].map(yieldsOf), [9, 9, 9])
})

accounts('a clock that runs backwards charges no time until it has caught up', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity })
  const { now } = host
  let back = 0
  host.now = () => now() - back
  const costs = []
  const job = scheduler.spawn(function* () {
    for (const shift of [0, 3, 3, 0, 0]) {
      host.advance(2)
      back = shift
      yield
      costs.push(job.cost)
    }
  }, { name: 'job' })
  host.run()
  assert.equal(costs, [2, 2, 3, 8, 10])
  assertTrace(trace, `
    0 release job, start job
    8 round start=0
    10 finish job, round start=8`)
})

accounts.run()
