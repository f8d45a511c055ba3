/** Tests of resources: schedules under the stack resource policy (Baker 1991), and errors. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Task, edf, fp } from '../../rt.mjs'
import { after, sleep, timeout } from '../../alarms.mjs'
import { Mutex, OwnershipError, Resource, nonPreemptive } from '../../sync.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { exactWorld as world, rejection } from '../support/world.mjs'

/** Works for some ms, in sections of resources or outside, with a point before each ms. */
function* visits(host, ...parts) {
  for (const part of parts) {
    if (typeof part !== 'number') yield part[0].use(() => visits(host, ...part.slice(1)))
    else for (let ms = 0; ms < part; ms++) {
      yield
      host.advance(1)
    }
  }
}

const named = name => new Resource({ name })

// ------------------------------------------------------------------------------------------------ schedules

const schedules = suite('resources: schedules')

schedules('a job starts only above the ceiling, and a job above it preempts the holder', () => {
  const { host, scheduler, trace } = world()
  const r = named('r')
  scheduler.spawn(() => visits(host, 1, [r, 3], 1), { name: 'low', priority: 1, uses: [r] })
  scheduler.spawn(() => visits(host, [r, 1]), { name: 'middle', priority: 2, release: 2, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { name: 'high', priority: 3, release: 3 })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    2 release middle
    3 release high, preempt low by=high, start high
    4 finish high, resume low
    5 preempt low by=middle, start middle
    6 finish middle, resume low
    7 finish low`)
})

// Baker 1991: under inheritance alone the high job would block twice, once for each resource.
schedules('a job is blocked at most once, before it starts', () => {
  const { host, scheduler, trace } = world()
  const [s1, s2] = [named('s1'), named('s2')]
  scheduler.spawn(() => visits(host, [s2, 2], 1), { name: 'low', priority: 1, uses: [s2] })
  scheduler.spawn(() => visits(host, [s1, 2], 1), { name: 'middle', priority: 2, release: 1, uses: [s1] })
  const both = () => visits(host, [s1, 1], [s2, 1])
  scheduler.spawn(both, { name: 'high', priority: 3, release: 1, uses: [s1, s2] })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    1 release middle, release high
    2 preempt low by=high, start high
    4 finish high, start middle
    7 finish middle, resume low
    8 finish low`)
})

schedules('nested sections in opposite order do not deadlock', () => {
  const { host, scheduler, trace } = world()
  const [a, b] = [named('a'), named('b')]
  scheduler.spawn(() => visits(host, [a, 1, [b, 2], 1]), { name: 'low', priority: 1, uses: [a, b] })
  scheduler.spawn(() => visits(host, [b, 1, [a, 1]]), { name: 'high', priority: 2, release: 1, uses: [a, b] })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    1 release high
    4 preempt low by=high, start high
    6 finish high, resume low, finish low`)
})

schedules('Mars Pathfinder: the high job waits for one section, not for the middle job', () => {
  const { host, scheduler, trace } = world()
  const bus = named('bus')
  scheduler.spawn(() => visits(host, [bus, 3], 1), { name: 'weather', priority: 1, uses: [bus] })
  const manager = scheduler.spawn(() => visits(host, 1, [bus, 1]),
    { name: 'manager', priority: 3, release: 1, deadline: 5, uses: [bus] })
  scheduler.spawn(() => visits(host, 5), { name: 'radio', priority: 2, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release weather, start weather
    1 release manager
    2 release radio
    3 preempt weather by=manager, start manager
    5 finish manager, start radio
    10 finish radio, resume weather
    11 finish weather`)
  assert.is(manager.missed, false)
})

schedules('under edf levels are relative deadlines, so an urgent job may have to wait', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  const r = named('r')
  scheduler.spawn(() => visits(host, [r, 4]), { name: 'long', deadline: 12, uses: [r] })
  scheduler.spawn(() => visits(host, [r, 1]), { name: 'user', deadline: 8, release: 2, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { name: 'equal level', deadline: 8, release: 3 })
  scheduler.spawn(() => visits(host, 1), { name: 'above', deadline: 5, release: 1 })
  host.run()
  assertTrace(trace, `
    0 release long, start long
    1 release above, preempt long by=above, start above
    2 finish above, release user, resume long
    3 release equal level
    5 preempt long by=user, start user
    6 finish user, start equal level
    7 finish equal level, resume long, finish long`)
})

schedules('a job spawned while the resource is held raises the ceiling immediately', () => {
  const { host, scheduler, trace } = world()
  const r = new Resource({ name: 'r' })
  scheduler.spawn(() => visits(host, [r, 4]), { name: 'low', priority: 1, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { name: 'middle', priority: 2, release: 3 })
  after(2, () => {
    scheduler.spawn(() => visits(host, [r, 1]), { name: 'late', priority: 3, uses: [r] })
  }, { scheduler })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    2 alarm due=2, release late
    3 release middle
    4 preempt low by=late, start late
    5 finish late, start middle
    6 finish middle, resume low, finish low`)
})

schedules('the ceiling also applies to a job that wakes', () => {
  const { host, scheduler, trace } = world()
  const r = new Resource({ name: 'r' })
  scheduler.spawn(function* () {
    yield sleep(2)
    yield r.use(() => visits(host, 1))
  }, { name: 'high', priority: 2, uses: [r] })
  scheduler.spawn(() => visits(host, 1, [r, 3], 1), { name: 'low', priority: 1, uses: [r] })
  host.run()
  assertTrace(trace, `
    0 release high, release low, start high, block high on=Sleep, start low
    2 alarm due=2, wake high
    4 preempt low by=high, resume high
    5 finish high, resume low
    6 finish low`)
})

schedules('while the highest-ranked job is blocked, only the ceiling holder runs', () => {
  const { host, scheduler, trace } = world()
  const r = new Resource({ name: 'r' })
  scheduler.spawn(() => visits(host, [r, 3]), { name: 'low', priority: 1, uses: [r] })
  scheduler.spawn(() => visits(host, [r, 1]), { name: 'high', priority: 5, release: 1, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { name: 'third', priority: 3, release: 1 })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    1 release high, release third
    3 preempt low by=high, start high
    4 finish high, start third
    5 finish third, resume low, finish low`)
})

schedules('a job that becomes urgent after its release stays below the ceiling', () => {
  for (const policy of [edf, fp]) {
    const { host, scheduler, trace } = world({ policy })
    const r = new Resource({ name: 'r' })
    scheduler.spawn(() => visits(host, [r, 4]), { name: 'low', deadline: 50, uses: [r] })
    scheduler.spawn(() => {}, { name: 'user', deadline: 40, priority: 1, release: 100, uses: [r] })
    const options = { name: 'late', deadline: 60, priority: -1, release: 1 }
    const late = scheduler.spawn(() => visits(host, 1), options)
    after(2, () => {
      late.deadline = 5
      late.priority = 9
    }, { scheduler })
    host.run({ until: 50 })
    assertTrace(trace, `
      0 release low, start low
      1 release late
      2 alarm due=2
      4 preempt low by=late, start late
      5 finish late, resume low, finish low`)
  }
})

schedules('in 300 random sets: exclusion, no deadlock, one blocking section per job', () => forSeeds(300, random => {
  const { host, scheduler } = world({ policy: random.pick([edf, fp]) })
  const resources = Array.from({ length: 3 }, (_, i) => named(`r${i}`))
  const inside = new Map()
  const jobs = []
  /** @type {any} */
  let running = null
  const blockers = new Map()
  for (let j = 0; j < 5; j++) {
    const uses = resources.filter(() => random.chance(0.6))
    const plan = Array.from({ length: 3 }, () => random.shuffle(uses).slice(0, random.integer(0, 2)))
    const lengths = plan.map(() => random.integer(1, 3))
    const enter = ([first, ...others], ms) => {
      if (first === undefined) return visits(host, ms)
      return first.use(function* () {
        assert.is(inside.get(first), undefined)
        inside.set(first, j)
        yield* visits(host, ms)
        if (others.length > 0) yield enter(others, ms)
        inside.delete(first)
      })
    }
    jobs.push(scheduler.spawn(function* () {
      for (const [i, path] of plan.entries()) yield enter(path, lengths[i])
    }, { name: `j${j}`, deadline: random.integer(5, 60), priority: j, release: random.integer(0, 12), uses }))
  }
  scheduler.observe(({ type, job, on }) => {
    if (type === 'block') assert.unreachable(`${job.name} waits for ${on}`)
    if (type === 'start' || type === 'resume') running = job
    // A blocked job is released and ranks above the running job.
    for (const other of jobs) {
      if (running === null || other === running || other.state !== 'ready') continue
      if (scheduler.policy.compare(other, running) >= 0) continue
      if (!blockers.has(other)) blockers.set(other, new Set())
      if (type === 'round' || type === 'finish') continue
      blockers.get(other).add(running)
    }
  })
  host.run()
  for (const job of jobs) assert.is(job.state, 'done')
  for (const [job, by] of blockers) {
    assert.is(by.size <= 1, true, `${job.name} was blocked by ${[...by].map(({ name }) => name)}`)
  }
  for (const { holder, ceiling } of resources) assert.equal([holder, ceiling], [null, -Infinity])
}))

schedules.run()

// -------------------------------------------------------------------------------------------------- ceilings

const ceilings = suite('resources: ceilings')

ceilings('ceilings follow the jobs that declare a resource, from spawn to end', () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  const ceiling = () => log.push(r.ceiling)
  ceiling()
  scheduler.spawn(() => visits(host, 1), { priority: 2, uses: [r] })
  ceiling()
  scheduler.spawn(() => visits(host, 1), { priority: 5, release: 4, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { priority: 5, release: 9, uses: [r, r] })
  const cancelled = scheduler.spawn(() => {}, { priority: 8, release: 99, uses: [r] })
  ceiling()
  cancelled.cancel()
  ceiling()
  host.run({ until: 8 })
  ceiling()
  host.run()
  ceiling()
  assert.equal(log, [-Infinity, 2, 8, 5, 5, -Infinity])
})

ceilings('ceilings rise immediately when a job declares a held resource, also nested', () => {
  const { host, scheduler, log } = world()
  const [outer, inner] = [named('outer'), named('inner')]
  scheduler.spawn(() => visits(host, [outer, 1, [inner, 2], 1]), { priority: 1, uses: [outer, inner] })
  const starts = name => () => { log.push(`${name} at ${host.time}`) }
  after(2, () => {
    scheduler.spawn(starts('user'), { priority: 3, uses: [outer] })
    scheduler.spawn(starts('other'), { priority: 2 })
    scheduler.spawn(starts('above'), { priority: 4 })
  }, { scheduler })
  host.run()
  assert.equal(log, ['above at 2', 'user at 4', 'other at 4'])
})

ceilings('each job of a task declares its resources with the level of the job', () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  const task = new Task(() => visits(host, [r, 1]), { priority: 4, uses: [r], scheduler })
  const jobs = [task.release(), scheduler.spawn(task, { release: 3 })]
  jobs[1].priority = 7
  log.push(r.ceiling)
  host.run()
  assert.equal([...log, ...jobs.map(({ state }) => state)], [7, 'done', 'done'])
})

ceilings('a level changed before the release raises the ceilings of declared resources', () => {
  for (const policy of [edf, fp]) {
    const { host, scheduler, log } = world({ policy, onError: error => log.push(error.message) })
    const r = new Resource({ name: 'r' })
    scheduler.spawn(() => visits(host, [r, 3]), { name: 'low', deadline: 100, uses: [r] })
    const options = { name: 'user', deadline: 200, release: 1, uses: [r] }
    const user = scheduler.spawn(() => visits(host, [r, 1]), options)
    user.deadline = 10
    user.priority = 1
    host.run()
    assert.equal([log, user.state, user.started], [[], 'done', 3])
  }
})

ceilings('a job above a given ceiling cannot declare the resource', async () => {
  const { host, scheduler, log } = world()
  const r = new Resource({ ceiling: 5, name: 'r' })
  assert.is(r.ceiling, 5)
  assert.throws(() => scheduler.spawn(() => {}, { name: 'above', priority: 6, uses: [r] }),
    error => error instanceof RangeError && error.message.includes('ceiling 5 of r, got above of level 6'))
  assert.is(scheduler.stats().jobs, 0)
  const above = rejection(scheduler.spawn(() => r.use(() => {}), { priority: 6 }))
  scheduler.spawn(() => visits(host, [r, 3]), { priority: 1 })
  scheduler.spawn(() => log.push(host.time), { priority: 5, release: 1 })
  scheduler.spawn(() => log.push(host.time), { priority: 5.5, release: 2 })
  await host.drain()
  assert.instance(await above, TypeError)
  assert.equal([log, r.ceiling], [[2, 3], 5])
})

ceilings('a ceiling is the highest level of the declaring jobs, in random sets', () => forSeeds(300, random => {
  const { host, scheduler } = world({ policy: random.pick([edf, fp]) })
  const r = named('r')
  let jobs = []
  for (let n = 0; n < 40; n++) {
    if (jobs.length > 0 && random.chance(0.4)) random.pick(jobs).cancel()
    else if (jobs.length > 0 && random.chance(0.2)) random.pick(jobs)[random.pick(['priority', 'deadline'])] = random.integer(1, 9)
    else {
      const [priority, deadline] = [random.integer(-3, 3), random.pick([1, 5, 9, Infinity])]
      jobs.push(scheduler.spawn(() => {}, { priority, deadline, release: random.pick([0, 99]), uses: [r] }))
      jobs.at(-1).catch(() => {})
    }
    jobs = jobs.filter(({ finished }) => finished === undefined)
    assert.is(r.ceiling, Math.max(-Infinity, ...jobs.map(({ level }) => level)))
  }
  host.run()
  assert.is(r.ceiling, -Infinity)
}))

ceilings('a ceiling follows 130 000 jobs with different levels', () => {
  const { host, scheduler } = world()
  const r = named('r')
  const levels = []
  const note = () => { levels.push(r.ceiling) }
  for (let n = 0; n < 130_000; n++) scheduler.spawn(note, { priority: n, uses: [r] })
  host.run()
  assert.is(levels.length, 130_000)
  levels.forEach((level, n) => assert.is(level, 129_999 - n))
})

ceilings.run()

// ------------------------------------------------------------------------------------------------------ use

const use = suite('resources: use')

use('use() returns the result of its section, which ends on return and on error', () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  const job = scheduler.spawn(function* () {
    log.push(yield r.use(() => 1), yield* r.use(function* () { yield; return r.holder === job }))
    for (const section of [() => { throw new Error('a') }, function* () { yield; throw new Error('b') }]) {
      try {
        yield r.use(section)
      } catch (error) {
        log.push(error.message, r.holder)
      }
    }
    const once = r.use(() => log.push('once'))
    yield once
    yield once
  }, { uses: [r] })
  host.run()
  assert.equal(log, [1, true, 'a', null, 'b', null, 'once'])
})

use('an undeclared use throws a TypeError at the yield', async () => {
  const { host, scheduler } = world()
  const r = named('r')
  const error = rejection(scheduler.spawn(() => r.use(() => {}), { name: 'job' }))
  await host.drain()
  assert.instance(await error, TypeError)
  assert.match((await error).message, 'job does not declare r')
})

use('a wait inside a section throws a TypeError, and the section continues', () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  scheduler.spawn(() => r.use(function* () {
    for (const what of [sleep(1), Promise.resolve(), new Mutex().lock()]) {
      try {
        yield what
      } catch (error) {
        log.push(error.constructor.name)
      }
    }
    log.push(r.holder.name)
  }), { name: 'job', uses: [r] })
  host.run()
  assert.equal(log, ['TypeError', 'TypeError', 'TypeError', 'job'])
})

use('a section starts after higher-ranked jobs that its job has spawned', () => {
  const r = named('r')
  for (const enter of [section => r.use(section), nonPreemptive]) {
    const { host, scheduler, log } = world({ budget: 100 })
    scheduler.spawn(function* () {
      scheduler.spawn(() => log.push('high'), { priority: 2 })
      yield* enter(() => log.push('section'))
    }, { priority: 1, uses: [r] })
    host.run()
    assert.equal(log, ['high', 'section'])
  }
})

use('nested use of one resource throws an OwnershipError', async () => {
  const { host, scheduler } = world()
  const r = named('r')
  const error = rejection(scheduler.spawn(() => r.use(() => r.use(() => {})), { name: 'job', uses: [r] }))
  await host.drain()
  assert.instance(await error, OwnershipError)
  assert.is((await error).message, 'job cannot use r, which job uses: end that section first')
  assert.is(r.holder, null)
})

use('a cancellation is thrown after the section', () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  const job = scheduler.spawn(function* () {
    yield r.use(() => visits(host, 3))
    log.push('not reached')
  }, { uses: [r] })
  job.catch(() => {})
  after(1, () => job.cancel(), { scheduler })
  host.run()
  assert.equal([log, job.state, job.finished, r.holder], [[], 'cancelled', 3, null])
})

use('sections of resources nest with non-preemptive sections', () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  scheduler.spawn(() => nonPreemptive(() => r.use(() => visits(host, 2))), { priority: 1, uses: [r] })
  scheduler.spawn(() => r.use(() => nonPreemptive(() => visits(host, 2))), { priority: 1, uses: [r] })
  scheduler.spawn(() => log.push(host.time), { priority: 9, release: 1 })
  scheduler.spawn(() => log.push(host.time), { priority: 9, release: 3 })
  host.run()
  assert.equal(log, [2, 4])
})

use('an awaited use() runs in the async job or in a new job', async () => {
  const { host, scheduler, log } = world()
  const r = named('r')
  const job = scheduler.spawn(async () => await r.use(() => visits(host, 1)), { uses: [r] })
  scheduler.spawn(function* () { log.push(yield timeout(9, r.use(() => r.holder.name))) })
  await host.drain()
  assert.equal([log, job.state, r.holder], [['r.use()'], 'done', null])
})

use('jobs of another scheduler cannot declare a resource that is in use', () => {
  const r = named('r')
  const [one, other] = [world(), world()]
  one.scheduler.spawn(() => {}, { uses: [r] })
  assert.throws(() => other.scheduler.spawn(() => {}, { uses: [r] }), /r of another one/)
  one.host.run()
  other.scheduler.spawn(() => {}, { uses: [r] })
  other.host.run()
})

use('spawn throws if uses contains something other than a Resource', () => {
  const { scheduler } = world()
  const refused = (options, pattern) => assert.throws(() => scheduler.spawn(() => {}, options), pattern)
  refused({ uses: [{}] }, /uses must be an array of Resources, got an object/)
  refused({ uses: new Resource() }, /uses must be an array of Resources/)
  refused({ reservation: {} }, /reservation must be a Reservation/)
  assert.is(scheduler.stats().jobs, 0)
})

use('Resource throws for invalid arguments', () => {
  const refuses = (make, kind, name) =>
    assert.throws(make, error => error instanceof kind && error.message.includes(name))
  refuses(() => new Resource({ ceiling: NaN }), RangeError, 'ceiling')
  refuses(() => new Resource({ ceiling: '5' }), TypeError, 'ceiling')
  refuses(() => new Resource({ name: 5 }), TypeError, 'name')
  refuses(() => new Resource(5), TypeError, 'options')
  refuses(() => new Resource().use(5), TypeError, 'section')
})

use.run()
