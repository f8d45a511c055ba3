import { execFileSync } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, edf, extend } from '../../rt.mjs'
import { after, at, every } from '../../alarms.mjs'
import { forSeeds, seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { abortListeners, exactWorld } from '../support/world.mjs'

const HOUR = 3_600_000

/** A virtual host whose timers fire `early` ms early. */
function hostOf({ early = 0, ...hostOptions } = /** @type {any} */ ({})) {
  const host = virtualHost(hostOptions)
  const timer = host.after
  // A timer is not early if its delay is about as short as `early`. Its least delay is an eighth of a clock
  // tick.
  const least = host.resolution / 8
  host.after = (ms, fn, options) => timer(ms > 2 * early ? ms - early : Math.max(ms, least), fn, options)
  return host
}

/** A scheduler that reads its clock at every point and does not rotate, unless the options say otherwise. */
function world(options = {}) {
  const made = exactWorld({ hostOf, ...options })
  return { ...made, note: what => () => { made.log.push([what, made.host.time]) } }
}

// ---------------------------------------------------------------------------------------------- after and at

const once = suite('after and at')

once('after() fires in the dispatcher when its delay has passed, and passes its time', () => {
  const { host, scheduler, log } = world({ host: { start: 100 } })
  for (const ms of [10, 0.5, 0, 1e7, 3]) after(ms, time => { log.push([ms, time, host.time]) }, { scheduler })
  assert.equal(log, [])
  host.run()
  assert.equal(log, [
    [0, 100, 100], [0.5, 100.5, 100.5], [3, 103, 103], [10, 110, 110], [1e7, 10000100, 10000100]
  ])
})

once('at() fires at its time, or right after the call if that time has passed', () => {
  const { host, scheduler, log, note } = world({ host: { start: 100 } })
  at(150.25, note('future'), { scheduler })
  at(100, note('now'), { scheduler })
  at(-5, note('past'), { scheduler })
  assert.equal(log, [])
  host.run()
  assert.equal(log, [['past', 100], ['now', 100], ['future', 150.25]])
})

once('alarms fire in the order of their times, then of their creation', () => {
  const { host, scheduler, log, note } = world()
  at(20, note('a'), { scheduler })
  at(10, note('b'), { scheduler })
  at(20, note('c'), { scheduler })
  after(10, note('d'), { scheduler })
  at(5, note('e'), { scheduler })
  at(20, note('f'), { scheduler })
  host.run()
  assert.equal(log, [['e', 5], ['b', 10], ['d', 10], ['a', 20], ['c', 20], ['f', 20]])
})

once('alarms that became due while the page slept fire in the same order', () => {
  const { host, scheduler, log, note } = world()
  at(20, note('a'), { scheduler })
  at(10, note('b'), { scheduler })
  at(20, note('c'), { scheduler })
  host.advance(1000)
  host.run()
  assert.equal(log, [['b', 1000], ['a', 1000], ['c', 1000]])
})

once('200,000 alarms set in random order fire in exact order', () => {
  const { host, scheduler, trace } = world()
  trace.stop()
  const random = seeded(1)
  const count = 200_000
  const times = new Uint32Array(count)
  let fired = 0
  let lastTime = -1
  let lastIndex = -1
  for (let index = 0; index < count; index++) {
    // Many alarms share a time.
    times[index] = random.integer(0, 60_000)
    at(times[index], time => {
      if (time !== times[index]) throw new Error(`the alarm for ${times[index]} fired for ${time}`)
      if (host.time < time) throw new Error(`the alarm for ${time} fired at ${host.time}`)
      if (time < lastTime || time === lastTime && index < lastIndex) {
        throw new Error(`${index}, due at ${time}, fired after ${lastIndex}, due at ${lastTime}`)
      }
      lastTime = time
      lastIndex = index
      fired++
    }, { scheduler })
  }
  host.run()
  assert.equal(host.errors, [])
  assert.is(fired, count)
})

once('after every third of 100,000 alarms is cancelled, the rest keep their order', () => {
  const { host, scheduler, trace } = world()
  trace.stop()
  const random = seeded(2)
  const alarms = []
  const fired = []
  for (let index = 0; index < 100_000; index++) {
    alarms.push(at(random.integer(0, 1000), time => { fired.push([time, index]) }, { scheduler }))
  }
  const left = []
  alarms.forEach((alarm, index) => {
    if (index % 3 === 0) assert.is(alarm.cancel(), true)
    else left.push([alarm.time, index])
  })
  left.sort((a, b) => a[0] - b[0] || a[1] - b[1])
  host.run()
  assert.ok(fired.every(([time, index], i) => time === left[i][0] && index === left[i][1]))
  assert.is(fired.length, left.length)
})

once('no alarm is early on any clock, with any timers, idle or alongside jobs', () => forSeeds(60, random => {
  const { host, scheduler, trace } = world({
    host: {
      start: random.pick([0, 0.3, 1e6 + 0.7]),
      resolution: random.pick([0, 0.02, 0.1, 1]),
      early: random.pick([0, 0.4, 1, 3]),
      turn: random.pick([0, 0.05]),
      read: random.pick([0, 0.0005])
    },
    round: random.pick([5, Infinity]), budget: random.pick([1, 7, 'auto'])
  })
  trace.stop()
  const fired = []
  for (let i = 0; i < 50; i++) {
    const from = scheduler.now()
    const ms = random.pick([random.real(0, 5), random.integer(0, 50), random.real(0, 400)])
    const alarm = after(ms, time => {
      const now = scheduler.now()
      assert.is(time, due)
      assert.ok(now >= time, `due at ${time}, fired at ${now}`)
      assert.ok(host.time >= time, `due at ${time}, fired at ${host.time}`)
      fired.push(alarm)
    }, { scheduler })
    const due = alarm.time
    assert.ok(due >= from + ms)
    if (random.chance(0.2)) host.advance(random.real(0, 3))
  }
  for (let i = random.integer(0, 3); i > 0; i--) {
    scheduler.spawn(execute(host, random.integer(1, 200), random.real(0.01, 2)))
  }
  host.run()
  assert.equal(host.errors, [])
  assert.is(fired.length, 50)
}))

once('on an idle page an alarm is late by at most the resolution of the clock', () => {
  for (const early of [0, 1, 3]) {
    const { host, scheduler, log } = world({ host: { resolution: 1, early, start: 0.4 } })
    for (const time of [10.5, 11, 11.2, 30.9]) at(time, () => { log.push(host.time - time) }, { scheduler })
    host.run()
    assert.is(log.length, 4)
    // A timer that fires before the clock has ticked is set again, for an eighth of a tick.
    assert.ok(log.every(late => late >= 0 && late <= 1.125), log.join())
  }
})

once('alarms fire between the budgets of a running job, at most one budget late', () => {
  const { host, scheduler, log, note } = world()
  for (const time of [0.5, 2, 2.5, 7.25]) at(time, note(time), { scheduler })
  scheduler.spawn(execute(host, 10))
  host.run()
  assert.equal(log, [[0.5, 1], [2, 2], [2.5, 3], [7.25, 8]])
})

once('a budget of several points delays alarms by no more than that budget', () => {
  const { host, scheduler, log, note } = world({ budget: 4 })
  for (const time of [1, 4, 4.5, 12]) at(time, note(time), { scheduler })
  scheduler.spawn(execute(host, 16))
  host.run()
  assert.equal(log, [[1, 4], [4, 4], [4.5, 8], [12, 12]])
})

once('alarms fire within the rounds of a page and between them', () => {
  const { host, scheduler, log, note } = world({ round: 5, host: { turn: 2 } })
  for (const time of [3, 6, 7.5, 20]) at(time, note(time), { scheduler })
  scheduler.spawn(execute(host, 15))
  host.run()
  // The rounds are 2..7, 9..14 and 16..21.
  assert.equal(log, [[3, 3], [6, 6], [7.5, 9], [20, 20]])
})

once('on an idle page one host timer is set, for the earliest alarm', () => {
  const { host, scheduler } = world()
  const alarms = [50, 20, 90, 20.5].map(time => at(time, () => {}, { scheduler }))
  const timers = () => host.timers.map(({ time }) => time)
  assert.equal(timers(), [20])
  alarms[1].cancel()
  assert.equal(timers(), [20.5])
  at(7, () => {}, { scheduler })
  assert.equal(timers(), [7])
  host.run({ until: 30 })
  assert.equal(timers(), [50])
  for (const alarm of alarms) alarm.cancel()
  assert.equal(timers(), [])
  assert.is(host.posts, 0)
})

once('waiting alarms take no turns of the event loop', () => {
  const { host, scheduler } = world()
  for (let i = 1; i <= 10; i++) at(i * 1000, () => {}, { scheduler })
  host.run()
  assert.is(host.turns, 10)
})

once('an alarm beyond the range of host timers is on time: its timer is set again', () => {
  const LONGEST = 2 ** 31 - 1
  const { host, scheduler, log, note } = world()
  const timer = host.after
  host.after = (ms, fn, options) => timer(ms > LONGEST ? 0 : ms, fn, options) // like setTimeout
  const kept = { ...host, after: (ms, fn, options) => timer(Math.min(ms, LONGEST), fn, options) }
  const late = new Scheduler({ host: kept })
  at(3 * LONGEST + 0.5, note('far'), { scheduler: late })
  host.run()
  assert.equal(log, [['far', 3 * LONGEST + 0.5]])
  assert.is(scheduler.stats().jobs, 0)
})

once('the default host limits delays to the range of setTimeout', async () => {
  const { setTimeout, clearTimeout } = globalThis
  const asked = []
  const pending = new Map()
  globalThis.setTimeout = /** @type {any} */ ((fn, ms) => {
    asked.push(ms)
    pending.set(asked.length, fn)
    return { id: asked.length, unref() {} }
  })
  globalThis.clearTimeout = /** @type {any} */ (({ id }) => { pending.delete(id) })
  try {
    const fired = []
    const { Scheduler, extend } = await import('../../rt.mjs?timers') // with the replaced timers
    const scheduler = new Scheduler()
    const alarm = extend.at(scheduler, scheduler.now() + 2 ** 31 + 60_000, time => { fired.push(time) }, { ref: false })
    assert.equal(asked, [2 ** 31 - 1])
    // Early, like every timer whose delay exceeds the range of setTimeout.
    const [[id, fn]] = pending
    pending.delete(id)
    fn()
    assert.equal(fired, [])
    assert.is(pending.size, 1)
    assert.ok(asked[1] > 2 ** 31 - 10_000)
    alarm.cancel()
    assert.is(pending.size, 0)
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout })
  }
})

once('alarm.time is the next activation, and undefined after the last', () => {
  const { host, scheduler } = world({ host: { start: 7 } })
  let within
  const alarm = after(10, () => { within = alarm.time }, { scheduler })
  assert.is(alarm.time, 17)
  host.run()
  assert.is(within, undefined)
  assert.is(alarm.time, undefined)
  const other = at(99, () => {}, { scheduler })
  other.cancel()
  assert.is(other.time, undefined)
})

once('a paused scheduler fires no alarm, and due alarms fire after resume()', () => {
  const { host, scheduler, log, note } = world()
  at(10, note('first'), { scheduler })
  at(30, note('second'), { scheduler })
  scheduler.pause()
  assert.equal(host.timers, [])
  host.run({ until: 20 })
  assert.equal(log, [])
  scheduler.resume()
  host.run()
  assert.equal(log, [['first', 20], ['second', 30]])
})

once('alarms with ref: false let the process exit', () => {
  const { host, scheduler } = world()
  const quiet = every(10, () => {}, { scheduler, ref: false })
  assert.equal(host.timers, [{ time: 10, ref: false }])
  const loud = after(30, () => {}, { scheduler })
  assert.equal(host.timers, [{ time: 10, ref: true }])
  assert.is(host.run(), 30)
  assert.equal(host.timers, [{ time: 40, ref: false }])
  assert.is(loud.cancel(), false)
  after(100, () => {}, { scheduler }).cancel()
  assert.equal(host.timers, [{ time: 40, ref: false }])
  quiet.cancel()
  assert.equal(host.timers, [])
})

once('alarms set in a job belong to the scheduler of the job', () => {
  const { host, scheduler, log, note } = world()
  scheduler.spawn(function* () {
    after(5, note('after'))
    at(7, note('at'))
    every(3, note('every'), { count: 1 })
  })
  host.run()
  assert.equal(log, [['every', 3], ['after', 5], ['at', 7]])
})

once.run()

// ----------------------------------------------------------------------------------- actions of callbacks

const acting = suite('actions of callbacks')

acting('a cancelled alarm does not fire, and cancel() returns whether it was pending', () => {
  const { host, scheduler, log, note } = world()
  const alarm = after(10, note('cancelled'), { scheduler })
  const fired = after(5, note('fired'), { scheduler })
  assert.is(alarm.cancel(), true)
  assert.is(alarm.cancel(), false)
  host.run()
  assert.equal(log, [['fired', 5]])
  assert.is(fired.cancel(), false)
})

acting('an alarm can cancel others, even with the same time, but not itself', () => {
  const { host, scheduler, log, note } = world()
  const results = []
  const alarms = {
    before: at(10, note('before'), { scheduler }),
    itself: at(10, () => {
      note('itself')()
      for (const name of ['before', 'itself', 'same', 'later', 'same']) results.push(alarms[name].cancel())
    }, { scheduler }),
    same: at(10, note('same'), { scheduler }),
    later: at(11, note('later'), { scheduler }),
    last: at(12, note('last'), { scheduler })
  }
  host.run()
  assert.equal(log, [['before', 10], ['itself', 10], ['last', 12]])
  assert.equal(results, [false, false, true, true, false])
})

acting('an alarm can create others, and those already due fire immediately, in order', () => {
  const { host, scheduler, log, note } = world()
  at(10, () => {
    note('first')()
    at(30, note('in time'), { scheduler })
    at(15, note('due'), { scheduler })
    after(0, note('now'), { scheduler })
    at(12, note('due too'), { scheduler })
  }, { scheduler })
  at(14, note('between'), { scheduler })
  host.advance(20)
  host.run()
  assert.equal(log, [
    ['first', 20], ['due too', 20], ['between', 20], ['due', 20], ['now', 20], ['in time', 30]
  ])
})

acting('an alarm that sets itself again without delay blocks neither jobs nor the page', () => {
  const { host, scheduler, log } = world({ round: 5, host: { turn: 1 } })
  const job = scheduler.spawn(execute(host, 20))
  let fired = 0
  const again = () => {
    fired++
    if (job.state !== 'done') after(0, again, { scheduler })
  }
  after(0, again, { scheduler })
  host.after(12, () => { log.push(['the page', host.time, job.cost]) }, {})
  host.run()
  assert.equal(log, [['the page', 12, 10]])
  assert.is(job.finished, 24)
  assert.ok(fired > 20)
})

acting('a callback that throws is reported and affects no other alarm or job', () => {
  const onError = (error, job) => { log.push([error.message, job]) }
  const { host, scheduler, log, note } = world({ onError })
  at(10, note('before'), { scheduler })
  at(10, () => { throw new Error('thrown') }, { scheduler })
  at(10, note('after'), { scheduler })
  const again = every(5, () => { throw new Error('again') }, { scheduler, count: 3 })
  scheduler.spawn(execute(host, 20), { name: 'job' }).then(() => {})
  host.run()
  assert.equal(log, [
    ['again', null], ['before', 10], ['thrown', null], ['after', 10], ['again', null], ['again', null]
  ])
  assert.is(again.time, undefined)
  assert.is(scheduler.stats().busy, 20)
})

acting('a slow callback is reported as a stall with its name', () => {
  const told = []
  const { host, scheduler } = world({ slice: 1, onStall: ({ name }, ms) => { told.push(`${name} ${ms}`) } })
  const slow = () => host.advance(2)
  after(1, slow, { scheduler })
  at(2, () => host.advance(3), { scheduler })
  every(10, slow, { scheduler, count: 1 })
  host.run()
  assert.equal(told, ['alarm slow 2', 'alarm 3', 'alarm slow 2'])
})

acting('without onError the host reports the error of a callback', () => {
  const { host, scheduler } = world()
  const error = new Error('thrown')
  after(1, () => { throw error }, { scheduler })
  host.run()
  assert.equal(host.errors, [error])
})

acting('an alarm can spawn and cancel jobs', () => {
  const { host, scheduler, trace } = world()
  const endless = scheduler.spawn(execute(host, 1000), { name: 'endless' })
  at(2, () => { scheduler.spawn(execute(host, 2), { name: 'urgent', priority: 1 }) }, { scheduler })
  at(6, () => { endless.cancel() }, { scheduler })
  host.run()
  assertTrace(trace, `
    0 release endless, start endless
    2 alarm due=2, release urgent, preempt endless by=urgent, start urgent
    4 finish urgent, resume endless
    6 alarm due=6, cancel endless error=AbortError
  `)
})

acting('alarm callbacks run outside jobs, between the budgets of the running job', () => {
  const { host, scheduler, log } = world({ budget: 2 })
  scheduler.spawn(execute(host, 6), { name: 'job' })
  every(3, () => log.push(`${host.time} ${scheduler.current}`), { scheduler, ref: false })
  host.run()
  assert.equal(log, ['4 null', '6 null'])
})

acting('an alarm can pause the scheduler, and no job runs before it is resumed', () => {
  const { host, scheduler, log } = world()
  after(5, () => scheduler.pause(), { scheduler })
  scheduler.spawn(function* () {
    log.push(host.time)
    yield
    log.push(host.time)
  }, { release: 5 })
  after(5, () => log.push('alarm'), { scheduler })
  host.run({ until: 10 })
  assert.equal(log, [])
  scheduler.resume()
  host.run()
  assert.equal(log, ['alarm', 10, 10])
})

acting('an alarm between two rounds can pause the scheduler, and the job stays preempted', () => {
  const { host, scheduler } = world({ host: { turn: 1 }, round: 2 })
  const job = scheduler.spawn(execute(host, 10))
  after(3.5, () => scheduler.pause(), { scheduler }) // fires during the turn of the event loop
  host.run({ until: 20 })
  assert.is(job.cost, 2)
})

acting.run()

// ---------------------------------------------------------------------------------------- jobs from alarms

const releasing = suite('jobs from alarms')

releasing('a Task, a generator function and an async function are released as jobs', async () => {
  const { host, scheduler, trace } = world()
  const task = new Task(function* () { yield* execute(host, 1) }, { name: 'task' })
  after(10, task, { scheduler })
  at(20, function* generator() { yield* execute(host, 1) }, { scheduler })
  every(30, async function along(...args) {
    host.advance(1)
    assert.is(args.length, 0)
    await scheduler.current?.yield()
  }, { scheduler, count: 1 })
  await host.drain()
  assertTrace(trace, `
    10 alarm due=10, release task, start task
    11 finish task
    20 alarm due=20, release generator, start generator
    21 finish generator
    30 alarm due=30, release along, start along
    31 finish along
  `)
})

releasing('any other function is a callback and releases no job', () => {
  const { host, scheduler } = world()
  after(1, () => {}, { scheduler })
  after(1, function () {}, { scheduler })
  after(1, (function () {}).bind(null), { scheduler })
  host.run()
  assert.is(scheduler.stats().jobs, 0)
})

releasing('a bound generator function is still a job', () => {
  const { host, scheduler, log } = world()
  const work = function* () { log.push(this.name) }
  after(1, work.bind({ name: 'bound' }), { scheduler })
  host.run()
  assert.equal(log, ['bound'])
})

releasing('the deadline counts from the time of the alarm, even if it fires late', () => {
  const { host, scheduler, log } = world({ policy: edf })
  const work = function* () {
    const { release, deadline, absoluteDeadline, started } = scheduler.current
    log.push({ release, deadline, absoluteDeadline, started })
  }
  scheduler.spawn(function* () { host.advance(7) }, { deadline: 1 })
  at(2, work, { scheduler, deadline: 30 })
  host.run()
  assert.equal(log, [{ release: 2, deadline: 30, absoluteDeadline: 32, started: 7 }])
})

releasing('jobs of alarms are scheduled by their deadlines and priorities', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  scheduler.spawn(execute(host, 6), { name: 'long', deadline: 20 })
  const work = function* () { yield* execute(host, 2) }
  at(1.5, work, { scheduler, name: 'short', deadline: 5 })
  at(1.5, work, { scheduler, name: 'lax', deadline: 50 })
  host.run()
  assertTrace(trace, `
    0 release long, start long
    2 alarm due=1.5, release short, alarm due=1.5, release lax, preempt long by=short, start short
    4 finish short, resume long
    8 finish long, start lax
    10 finish lax
  `)
})

releasing('options override the parameters of a task, which are read at each release', () => {
  const { host, scheduler, log } = world()
  const task = new Task(function* () {
    const { job = scheduler.current } = {}
    log.push([job.task === task, job.name, job.priority, job.deadline])
  }, { name: 'own', priority: 1, deadline: 100 })
  every(10, task, { scheduler, deadline: 30, count: 2 })
  at(15, () => { Object.assign(task, { priority: 2, deadline: 200 }) }, { scheduler })
  host.run()
  assert.equal(log, [[true, 'own', 1, 30], [true, 'own', 2, 30]])
})

releasing('a task is released on its own scheduler, unless the options specify another', () => {
  const own = world()
  const other = world()
  const task = new Task(function* () {}, { scheduler: own.scheduler })
  after(5, task)
  after(6, task, { scheduler: other.scheduler })
  own.host.run()
  other.host.run()
  assert.equal([own.scheduler.stats().jobs, other.scheduler.stats().jobs], [1, 1])
  assert.equal([own.host.time, other.host.time], [5, 6])
})

releasing('the run method of a derived task is called on the task', () => {
  const { host, scheduler, log } = world()
  class Counter extends Task {
    *run() {
      this.#count++
      log.push(this.#count)
    }
    #count = 0
  }
  every(1, new Counter({ deadline: 5 }), { scheduler, count: 3, priority: 2 })
  host.run()
  assert.equal(log, [1, 2, 3])
})

releasing('a task that has become invalid is reported at its release and affects no alarm', () => {
  const { host, scheduler, note, log } = world()
  const task = new Task(function* () {})
  after(5, task, { scheduler })
  after(5, note('next'), { scheduler })
  task.deadline = NaN
  host.run()
  assert.equal(host.errors.map(String), ['RangeError: deadline must be a number > 0, got NaN'])
  assert.equal(log, [['next', 5]])
})

releasing('a failure of a job from an alarm is reported with the job', () => {
  const onError = (error, job) => { log.push([error.message, job?.name]) }
  const { host, scheduler, log } = world({ onError })
  after(5, function* failing() { throw new Error('failed') }, { scheduler })
  host.run()
  assert.equal(log, [['failed', 'failing']])
})

releasing.run()

// --------------------------------------------------------------------------------------------------- every

const repeating = suite('every')

repeating('every() fires at multiples of its period from now, or from its phase', () => {
  const { host, scheduler, log } = world({ host: { start: 5 } })
  every(10, time => { log.push(['period', time, host.time]) }, { scheduler, count: 3 })
  every(10, time => { log.push(['phase', time, host.time]) }, { scheduler, phase: 2.5, count: 2 })
  every(10, time => { log.push(['at once', time, host.time]) }, { scheduler, phase: 0, count: 2 })
  host.run()
  assert.equal(log, [
    ['at once', 5, 5], ['phase', 7.5, 7.5], ['period', 15, 15], ['at once', 15, 15], ['phase', 17.5, 17.5],
    ['period', 25, 25], ['period', 35, 35]
  ])
})

repeating('every() ends after count activations and keeps no timer', () => {
  const { host, scheduler, log, note } = world()
  const alarm = every(10, note('fired'), { scheduler, count: 3 })
  host.run()
  assert.equal(log, [['fired', 10], ['fired', 20], ['fired', 30]])
  assert.is(alarm.time, undefined)
  assert.is(alarm.cancel(), false)
  assert.equal(host.timers, [])
})

repeating('every() repeats until it is cancelled, even by its own callback', () => {
  const { host, scheduler, log, note } = world()
  const alarm = every(10, () => {
    note(alarm.time)()
    if (host.time === 40) assert.is(alarm.cancel(), true)
  }, { scheduler })
  host.run()
  assert.equal(log, [[20, 10], [30, 20], [40, 30], [50, 40]])
})

repeating('24 hours of 100 ms next to a job: 864,000 exact activations without drift', () => {
  const { host, scheduler, trace } = world({ host: { start: 3.25 } })
  trace.stop()
  let fired = 0
  let first = -1
  const alarm = every(100, time => {
    fired++
    if (time !== 3.25 + fired * 100 && first < 0) first = fired
  }, { scheduler })
  const day = 24 * HOUR
  // Each activation is late, by 70 or 30 ms.
  scheduler.spawn(function* () {
    while (host.time < day - 100) {
      host.advance(fired % 2 ? 30 : 70)
      yield
    }
  })
  host.run({ until: day })
  assert.is(first, -1, 'the first time that was not exact')
  assert.is(fired, day / 100 - 1)
  assert.is(alarm.time, 3.25 + day)
})

repeating('a period that is not a binary fraction does not drift', () => {
  for (const period of [1000 / 60, 0.1, 1 / 3, 44.1]) {
    const start = 12.7
    const { host, scheduler, trace } = world({ host: { start, turn: 0.01, early: 0.2 } })
    trace.stop()
    const wrong = []
    let fired = 0
    every(period, time => {
      if (time !== start + period + fired * period || host.time < time) wrong.push([fired, time, host.time])
      fired++
    }, { scheduler, count: 20_000 })
    host.run()
    assert.equal(wrong.slice(0, 3), [])
    assert.is(fired, 20_000)
  }
})

repeating('every() is never early and does not drift with a coarse clock and early timers', () => {
  const { host, scheduler, trace } = world({ host: { start: 0.6, resolution: 1, early: 1 } })
  trace.stop()
  const passed = []
  const note = time => { passed.push([time, scheduler.now() >= time && host.time >= time]) }
  every(2.5, note, { scheduler, count: 1000 })
  host.run()
  assert.equal(passed, Array.from({ length: 1000 }, (_, index) => [(index + 1) * 2.5, true]))
})

repeating('after an hour of sleep, every() fires once for the latest time and continues', () => {
  const { host, scheduler, log } = world()
  every(10, time => { log.push([time, host.time]) }, { scheduler, phase: 4 })
  host.run({ until: 20 })
  host.advance(HOUR)
  host.run({ until: HOUR + 45 })
  assert.equal(log, [
    [4, 4], [14, 14],
    [HOUR + 14, HOUR + 20], [HOUR + 24, HOUR + 24], [HOUR + 34, HOUR + 34], [HOUR + 44, HOUR + 44]
  ])
})

repeating('after an hour of sleep, catchUp: \'all\' fires for each time, in order', () => {
  const { host, scheduler } = world()
  const times = []
  every(10, time => { times.push(time) }, { scheduler, catchUp: 'all' })
  every(15_000, time => { times.push(time) }, { scheduler, catchUp: 'all', phase: 7 })
  host.advance(HOUR)
  host.run({ until: HOUR })
  assert.is(times.length, 360_000 + 240)
  assert.ok(times.every((time, index) => index === 0 || time > times[index - 1]))
  assert.is(times.at(-1), HOUR)
})

for (const [what, work] of [['a callback', host => () => { host.advance(0.01) }], ['a job', host => function* () { host.advance(0.01) }]]) {
  repeating(`after 8 hours of sleep, catchUp: 'all' keeps rounds within their limit: ${what}`, () => {
    const { host, scheduler } = world({ slice: 1, round: 5, budget: 'auto' })
    let fired = 0
    every(1000, what === 'a job' ? function* () {
      fired++
      yield* work(host)()
    } : () => {
      fired++
      work(host)()
    }, { scheduler, catchUp: 'all' })
    host.run({ until: 20 })
    const other = scheduler.spawn(() => execute(host, 20, 0.01), { priority: 1 })
    host.advance(8 * HOUR)
    const rounds = []
    scheduler.observe(({ type, time, start }) => { if (type === 'round') rounds.push(time - start) })
    host.run({ until: 8 * HOUR + 5000 })
    assert.is(fired, 8 * 3600 + 5)
    assert.is(other.state, 'done')
    // A round, the slice of due entries that started in the round, and a budget.
    assert.ok(Math.max(...rounds) <= 5 + 1 + 0.1 + 0.01, `the longest took ${Math.max(...rounds)} ms`)
    assert.ok(other.finished < 8 * HOUR + 300, `it ended ${other.finished - 8 * HOUR} ms after the sleep`)
  })
}

repeating('the latest time after a sleep may be now, but is never in the future', () => {
  for (const [slept, latest] of [[39.999, 30], [40, 40], [40.001, 40]]) {
    const { host, scheduler, log } = world()
    every(10, time => { log.push(time) }, { scheduler, count: 2 })
    host.advance(slept)
    host.run()
    assert.equal(log, [latest, latest + 10])
  }
})

repeating('despite rounding, every() never fires early or twice for one time', () => {
  for (const period of [0.1, 0.7, 1 / 3, 1000 / 60]) {
    const { host, scheduler } = world()
    let clock = 0.3
    host.now = () => clock
    const fired = []
    const expected = []
    const alarm = every(period, time => { fired.push([time, clock]) }, { scheduler })
    const first = alarm.time
    scheduler.spawn(function* () {
      for (let index = 1; index < 1000; index += 3) {
        const exact = first + index * period
        const justBefore = exact - exact * Number.EPSILON / 2
        for (clock of index % 2 ? [justBefore, exact] : [exact]) yield
        if (index % 2) expected.push([first + (index - 1) * period, justBefore])
        expected.push([exact, exact])
      }
      alarm.cancel()
    })
    host.run()
    assert.equal(fired, expected)
  }
})

repeating('count limits the activations, however many times passed while the page slept', () => {
  const { host, scheduler, log } = world()
  every(10, time => { log.push(time) }, { scheduler, count: 3 })
  host.advance(1000)
  host.run()
  assert.equal(log, [1000, 1010, 1020])
})

repeating('jobs of every() are released at their activation times, also in catch-up', () => {
  const { host, scheduler, log } = world({ policy: edf })
  every(10, function* () {
    log.push([scheduler.current.release, scheduler.current.absoluteDeadline, host.time])
  }, { scheduler, deadline: 8, catchUp: 'all', count: 4 })
  host.advance(35)
  host.run()
  assert.equal(log, [[10, 18, 35], [20, 28, 35], [30, 38, 35], [40, 48, 40]])
})

repeating('every() releases a job even if the previous job has not ended', () => {
  const { host, scheduler, log } = world()
  every(10, function* () {
    yield* execute(host, 25)
    log.push([scheduler.current.release, host.time])
  }, { scheduler, count: 3 })
  host.run()
  assert.equal(log, [[10, 35], [20, 60], [30, 85]])
})

repeating.run()

// ------------------------------------------------------------------------------------------ signal and ref

const ending = suite('signal and ref')

const makers = {
  after: (work, options) => after(10, work, options),
  at: (work, options) => at(10, work, options),
  every: (work, options) => every(10, work, { ...options, count: 2 })
}

for (const [name, make] of Object.entries(makers)) {
  ending(`${name}: aborting the signal cancels the alarm`, () => {
    const { host, scheduler, log, note } = world()
    const controller = new AbortController()
    const alarm = make(note('fired'), { scheduler, signal: controller.signal })
    assert.is(abortListeners(controller.signal), 1)
    controller.abort()
    assert.is(abortListeners(controller.signal), 0)
    assert.is(alarm.time, undefined)
    assert.is(alarm.cancel(), false)
    host.run()
    assert.equal(log, [])
    assert.equal(host.timers, [])
  })

  ending(`${name}: with a signal that is already aborted, the alarm never fires`, () => {
    const { host, scheduler, log, note } = world()
    const signal = AbortSignal.abort()
    const alarm = make(note('fired'), { scheduler, signal })
    assert.is(alarm.time, undefined)
    assert.is(abortListeners(signal), 0)
    host.run()
    assert.equal(log, [])
  })

  ending(`${name}: the abort listener is removed after the last activation or cancel()`, () => {
    const { host, scheduler } = world()
    const { signal } = new AbortController()
    make(() => {}, { scheduler, signal })
    host.run()
    assert.is(abortListeners(signal), 0)
    make(() => {}, { scheduler, signal }).cancel()
    assert.is(abortListeners(signal), 0)
    make(() => { throw new Error('at the last') }, { scheduler, signal })
    host.run()
    assert.is(abortListeners(signal), 0)
  })

  ending(`${name}: the abort listener is internal, so adopted pages call it unmodified`, () => {
    const { scheduler } = world()
    const { signal } = new AbortController()
    const added = []
    signal.addEventListener = (type, listener) => added.push([type, extend.page.isInternal(listener)])
    make(() => {}, { scheduler, signal })
    assert.equal(added, [['abort', true]])
  })

  ending(`${name}: the callback, or another with the same time, may abort the signal`, () => {
    const { host, scheduler, log, note } = world()
    const controller = new AbortController()
    at(10, () => { controller.abort() }, { scheduler })
    make(note('fired'), { scheduler, signal: controller.signal })
    const own = new AbortController()
    make(() => { note('once')(); own.abort() }, { scheduler, signal: own.signal })
    host.run()
    assert.equal(log, [['once', 10]])
  })

  ending(`${name}: the signal does not affect jobs that the alarm has released`, () => {
    const { host, scheduler } = world()
    const controller = new AbortController()
    make(function* () { yield* execute(host, 5) }, { scheduler, signal: controller.signal })
    at(12, () => { controller.abort() }, { scheduler })
    host.run()
    assert.is(scheduler.stats().busy, 5)
  })

  ending(`${name}: only alarms with ref: false leave the host timer unreferenced`, () => {
    const { host, scheduler } = world()
    const refs = () => host.timers.map(({ ref }) => ref)
    const idle = make(() => {}, { scheduler, ref: false })
    assert.equal(refs(), [false])
    const other = after(500, () => {}, { scheduler })
    assert.equal(refs(), [true])
    other.cancel()
    assert.equal(refs(), [false])
    idle.cancel()
    make(() => {}, { scheduler, ref: true })
    assert.equal(refs(), [true])
  })
}

ending('a process exits while alarms with ref: false wait, but not before other alarms', () => {
  const module = new URL('../../alarms.mjs', import.meta.url).href
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', `
    import { after, at, every } from ${JSON.stringify(module)}
    const late = () => { console.log('without ref') }
    after(1e9, late, { ref: false })
    at(performance.now() + 1e9, late, { ref: false })
    every(1e9, late, { ref: false })
    after(1, () => { console.log('with ref') })
  `], { encoding: 'utf8', timeout: 60_000 })
  assert.is(output, 'with ref\n')
})

ending.run()
