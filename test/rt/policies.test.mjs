import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, edf, fp, rm, extend } from '../../rt.mjs'
import { seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { exactWorld, finishOrder, world as plainWorld } from '../support/world.mjs'

const world = (policy, options) => exactWorld({ policy, ...options })

/** Executes for `ms` ms, calls `something`, and executes for `rest` ms after a point. */
function* executeThen(host, ms, something, rest) {
  yield* execute(host, ms)
  something()
  yield
  yield* execute(host, rest)
}

/**
 * The order in which jobs that are all ready run.
 * @param {any} policy
 * @param {[name: string, given: object][]} jobs
 * @param {number} [ms] the execution time of each job
 */
function order(policy, jobs, ms = 1) {
  const { host, scheduler, spawn } = world(policy)
  host.advance(100)
  const started = []
  scheduler.observe(({ type, job }) => { if (type === 'start') started.push(job.name) })
  for (const [name, given] of jobs) spawn(name, given, ms)
  host.run()
  return started.join(' ')
}

/** The same policy with its own `compare`, which the scheduler cannot recognize as built-in. */
const foreign = policy => ({ ...policy, compare: (a, b) => policy.compare(a, b) })

/** @template T @param {T[]} list @returns {T[][]} */
function permutations(list) {
  if (list.length < 2) return [list]
  return list.flatMap((one, index) => permutations(list.toSpliced(index, 1)).map(rest => [one, ...rest]))
}

/**
 * Asserts the same order for every order of spawning.
 * @param {any} policy
 * @param {object} jobs the options of the jobs, by their names
 * @param {string} wanted
 */
function assertOrder(policy, jobs, wanted) {
  for (const spawned of permutations(Object.entries(jobs))) {
    assert.is(order(policy, spawned), wanted, `spawned as ${spawned.map(([name]) => name).join(' ')}`)
  }
}

// --- the three policies

const policies = suite('policies')

policies('edf: the earlier deadline runs first, for any order of spawning', () => {
  const jobs = { late: { deadline: 9 }, early: { deadline: 5 }, latest: { deadline: 9.5 } }
  assertOrder(edf, jobs, 'early late latest')
})

policies('edf: among equal relative deadlines the earlier release runs first', () => {
  const jobs = {
    now: { deadline: 20 },
    before: { deadline: 20, release: 94 },
    long: { deadline: 110, release: 5 },
    short: { deadline: 21, release: 98 }
  }
  assertOrder(edf, jobs, 'before long short now')
})

policies('edf: among equal deadlines the larger priority runs first', () => {
  const jobs = {
    low: { deadline: 9, priority: -1 },
    none: { deadline: 9 },
    some: { deadline: 9, priority: 1.5 },
    early: { deadline: 8, priority: -5 }
  }
  assertOrder(edf, jobs, 'early some none low')
})

policies('edf: jobs without a deadline rank below all others, for any priority', () => {
  const jobs = {
    far: { deadline: Number.MAX_VALUE, priority: -9 },
    important: { priority: 9 },
    explicit: { deadline: Infinity, priority: 8 },
    plain: {}
  }
  assertOrder(edf, jobs, 'far important explicit plain')
})

policies('edf: a deadline that has passed ranks highest', () => {
  const jobs = { passed: { deadline: 1, release: 10 }, next: { deadline: 0.1 }, none: {} }
  assertOrder(edf, jobs, 'passed next none')
})

policies('edf: an earlier deadline preempts at the next point, a later or equal one waits', () => {
  const { host, spawn, trace } = world(edf)
  spawn('long', { deadline: 20 }, 6)
  spawn('short', { release: 2, deadline: 6 }, 2)
  spawn('equal', { release: 3, deadline: 17 })
  spawn('lax', { release: 3, deadline: 30 })
  host.run()
  assertTrace(trace, `
    0 release long, start   long
    2 release short, preempt long by=short, start   short
    3 release equal, release lax
    4 finish  short, resume  long
    8 finish  long, start   equal
    9 finish  equal, start   lax
    10 finish lax`)
})

policies('fp: the larger priority runs first, also if negative or fractional', () => {
  const jobs = {
    'minus one': { priority: -1, deadline: 1 },
    'one and a half': { priority: 1.5 },
    zero: { deadline: 5 },
    two: { priority: 2, deadline: 50 },
    one: { priority: 1, deadline: 2 }
  }
  assertOrder(fp, jobs, 'two one and a half one zero minus one')
})

policies('fp: priorities that are very large or very close are distinguished', () => {
  const jobs = {
    most: { priority: Number.MAX_VALUE },
    tiny: { priority: Number.MIN_VALUE },
    zero: { priority: -0 },
    least: { priority: -Number.MAX_VALUE }
  }
  assertOrder(fp, jobs, 'most tiny zero least')
})

policies('fp: a larger priority preempts at the next point, a smaller or equal one waits', () => {
  const { host, spawn, trace } = world(fp)
  spawn('low', { priority: -1 }, 3)
  spawn('high', { priority: 1.5, release: 1 }, 2)
  spawn('equal', { priority: 1.5, release: 2 })
  spawn('middle', { priority: 1, release: 2, deadline: 1 })
  host.run()
  assertTrace(trace, `
    0 release low, start   low
    1 release high, preempt low by=high, start   high
    2 release equal, release middle
    3 finish  high, start   equal
    4 finish  equal, miss    middle, start   middle
    5 finish  middle, resume  low
    7 finish  low`)
})

policies('edf and fp: the smallest difference decides whether an arriving job preempts', () => {
  for (const [policy, long, short] of [
    [edf, { deadline: 9.000001 }, { deadline: 8, release: 1 }],
    [fp, { priority: 1.5 }, { priority: 1.500001, release: 1 }]
  ]) {
    const { host, spawn, trace } = world(policy)
    spawn('long', long, 3)
    spawn('short', short)
    host.run()
    assertTrace(trace, `
      0 release long, start   long
      1 release short, preempt long by=short, start   short
      2 finish  short, resume  long
      4 finish  long`)
  }
})

policies('rm: the shorter period runs first, for any priority and deadline', () => {
  const jobs = {
    slow: { period: 20, priority: 9, deadline: 1 },
    fast: { period: 5, priority: -9 },
    medium: { period: 10 }
  }
  assertOrder(rm, jobs, 'fast medium slow')
})

policies('rm: a job without a period ranks by its priority, by default below every rate', () => {
  const jobs = {
    plain: {},
    slow: { period: 1e9 },
    between: { priority: 0.05 },
    fast: { period: 10 },
    important: { priority: 2 },
    low: { priority: -1 }
  }
  const spawned = Object.entries(jobs)
  const wanted = 'important fast between slow plain low'
  assert.is(order(rm, spawned), wanted)
  assert.is(order(rm, spawned.toReversed()), wanted)
})

policies('rm: the priority of a job is its rate until it is set', () => {
  const { host, scheduler, trace } = world(rm)
  const work = () => execute(host, 1)
  const task = (name, period) => new Task(work, { name, period, scheduler })
  const fast = task('fast', 4).release()
  const slow = task('slow', 8).release()
  assert.equal([fast.priority, fast.level, fast.period], [0.25, 0.25, 4])
  assert.equal([slow.priority, slow.level, slow.period], [0.125, 0.125, 8])
  slow.priority = 1
  host.run()
  assertTrace(trace, `
    0 release fast, release slow, start   slow
    1 finish  slow, start   fast
    2 finish  fast`)
})

policies('fp: the distance of two priorities does not affect the number of comparisons', () => {
  const comparisons = distance => {
    let count = 0
    const compare = (a, b) => {
      count++
      return b.priority - a.priority
    }
    const { host, scheduler } = plainWorld({ except: [], policy: { name: 'counting', compare, level: () => 0 } })
    for (let n = 0; n < 10; n++) scheduler.spawn(execute(host, 3), { priority: n * distance })
    host.run()
    return count
  }
  assert.is(comparisons(1), comparisons(1e12))
})

policies('a deadline counts from the release, not from the creation of task or job', () => {
  const { host, scheduler, trace } = plainWorld({ except: [], round: Infinity })
  const task = new Task(function* () { yield* execute(host, 1) }, { name: 'task', deadline: 10, scheduler })
  const pending = scheduler.spawn(execute(host, 1), { name: 'pending', deadline: 10, release: 100 })
  host.run({ until: 95 })
  const job = task.release()
  assert.equal([job.release, job.absoluteDeadline], [95, 105])
  assert.equal([pending.release, pending.absoluteDeadline], [100, 110])
  const again = task.release()
  assert.is(again.absoluteDeadline, 105)
  host.run({ until: 200 })
  assert.is(finishOrder(trace), 'task task pending')
  assert.is(scheduler.stats().misses, 0)
})

policies('time of a round without a running job is busy time or overhead', () => {
  const { host, scheduler } = plainWorld({ except: [] })
  extend.at(scheduler, 3, () => host.advance(2))
  scheduler.spawn(() => {}, { release: 10 }).cancel()
  host.run()
  const { overhead, busy } = scheduler.stats()
  assert.equal([overhead, busy], [0, 2])

  const early = plainWorld({ except: [], host: { read: 0.5 } })
  early.scheduler.spawn(() => early.scheduler.pause())
  early.host.run()
  const { overhead: rest, busy: work, longestRound } = early.scheduler.stats()
  assert.is(rest + work, longestRound)
  assert.is(rest > 0, true)
})

policies.run()

// --- ties

const ties = suite('ties')

const TIED = {
  'edf without deadlines': [edf, {}],
  'edf with one deadline': [edf, { deadline: 1000 }],
  fp: [fp, { priority: 1.5 }],
  rm: [rm, { period: 10 }],
  'a policy to which all are equal': [{ compare: () => 0, level: () => 0 }, {}]
}

// With a later release, `more` keeps the absolute deadline unchanged.
function later(given, release, more) {
  return { ...given, release, deadline: given.deadline && given.deadline + more }
}

for (const [name, [policy, given]] of Object.entries(TIED)) {
  ties(`${name}: the job that was spawned first runs first, for any releases`, () => {
    const at = release => later(given, release, 100 - release)
    for (const releases of permutations([49, 50, 100])) {
      const jobs = releases.map(release => [`${release}`, at(release)])
      assert.is(order(policy, jobs), releases.join(' '))
    }
  })

  ties(`${name}: pending jobs run in the order of their releases`, () => {
    const jobs = [['second', later(given, 102, -2)], ['first', later(given, 101, -1)], ['ready', given]]
    assert.is(order(policy, jobs, 5), 'ready first second')
  })

  ties(`${name}: a woken job runs after the ready jobs of equal rank`, () => {
    const { host, scheduler, spawn, trace } = world(policy)
    const waitable = new extend.Waitable()
    scheduler.spawn(function* () {
      yield waitable
      host.advance(1)
    }, { ...given, name: 'waits' })
    spawn('one', given, 2)
    spawn('two', given, 1)
    extend.at(scheduler, 1, () => waitable.wake())
    host.run()
    assertTrace(trace, `
      0 release waits, release one, release two, start waits, block waits on=Waitable, start one
      1 alarm due=1, wake waits, preempt one by=two, start two
      2 finish two, resume waits
      3 finish waits, resume one
      4 finish one`)
  })

  ties(`${name}: jobs of equal rank rotate at the end of every slice`, () => {
    const { host, spawn, trace } = world(policy, { slice: 2 })
    spawn('A', given, 5)
    spawn('B', given, 3)
    spawn('C', later(given, 1, -1), 2)
    host.run()
    assertTrace(trace, `
      0 release A, release B, start   A
      1 release C
      2 preempt A by=B, start   B
      4 preempt B by=C, start   C
      6 finish  C, resume  A
      8 preempt A by=B, resume  B
      9 finish  B, resume  A
      10 finish A`)
  })
}

ties('a rotating job is queued after a job that was released while it ran', () => {
  const { host, spawn, trace } = world(fp, { slice: 1 })
  spawn('A', {}, 3)
  spawn('B', { release: 1 }, 2)
  host.run()
  assertTrace(trace, `
    0 release A, start   A
    1 release B, preempt A by=B, start   B
    2 preempt B by=A, resume  A
    3 preempt A by=B, resume  B
    4 finish  B, resume  A
    5 finish  A`)
})

ties('an arriving job is queued after ready jobs of equal rank that have rotated', () => {
  const { host, spawn, trace } = world(fp, { slice: 1 })
  spawn('A', {}, 3)
  spawn('B', {}, 2)
  spawn('C', { release: 2.5 })
  host.run()
  assertTrace(trace, `
    0 release A, release B, start   A
    1 preempt A by=B, start   B
    2 preempt B by=A, resume  A
    3 release C, preempt A by=B, resume  B
    4 finish  B, start   C
    5 finish  C, resume  A
    6 finish  A`)
})

ties('a job without others of equal rank is not preempted at the end of its slice', () => {
  const { host, spawn, trace } = world(fp, { slice: 1 })
  spawn('alone', { priority: 1 }, 4)
  spawn('lower', {}, 2)
  host.run()
  assertTrace(trace, `
    0 release alone, release lower, start   alone
    4 finish  alone, start   lower
    6 finish  lower`)
})

ties.run()

// --- custom policies

const custom = suite('custom policies')

custom('compare alone decides the order: last come, first served', () => {
  const lifo = { name: 'lifo', compare: (a, b) => b.id - a.id, level: () => 0 }
  assert.is(order(lifo, [['one', {}], ['two', { priority: 9 }], ['three', { deadline: 1 }]]), 'three two one')
})

custom('compare receives the keys of two different jobs', () => {
  const seen = []
  const policy = { compare: (a, b) => (seen.push([a, b]), a.priority - b.priority), level: () => 0 }
  assertOrder(policy, { two: { priority: 2 }, one: { priority: 1 }, three: { priority: 3 } }, 'one two three')
  assert.ok(seen.length > 0)
  for (const [a, b] of seen) {
    for (const { name, release, deadline, absoluteDeadline, priority, period, id, task } of [a, b]) {
      assert.equal({ release, deadline, absoluteDeadline, period, task }, {
        release: 100, deadline: Infinity, absoluteDeadline: Infinity, period: Infinity, task: null
      })
      assert.equal([['one', 'two', 'three'][priority - 1], id > 0], [name, true])
    }
    assert.is.not(a.id, b.id)
  }
})

custom('a copy of a policy orders by its own compare', () => {
  const jobs = [['one', { deadline: 1, priority: 3 }], ['two', { deadline: 2, priority: 2 }], ['three', { deadline: 3, priority: 1 }]]
  for (const policy of [edf, fp, rm]) {
    const reversed = { ...policy, compare: (a, b) => policy.compare(b, a) }
    assert.is(order(policy, jobs), 'one two three')
    assert.is(order(reversed, jobs), 'three two one')
    assert.is(order({ ...reversed, compare: policy.compare }, jobs), 'one two three')
  }
})

custom('a custom compare that calls a built-in compare gives the same order', () => {
  const random = seeded(7)
  const jobs = Array.from({ length: 200 }, (_, index) => [`${index}`, {
    deadline: random.pick([1, 2, 3, 50, Infinity]),
    priority: random.integer(-3, 3),
    release: random.integer(0, 100)
  }])
  for (const policy of [edf, fp, rm]) {
    assert.is(order(foreign(policy), jobs), order(policy, jobs), policy.name)
  }
})

custom('a copy of a policy and a custom compare read the clock equally often', () => {
  const reads = policy => {
    const host = virtualHost()
    const { now } = host
    let count = 0
    host.now = () => (count++, now())
    const scheduler = new Scheduler({ host, policy, budget: 1 })
    for (let n = 0; n < 5; n++) scheduler.spawn(execute(host, 3), { deadline: 9 - n, priority: n })
    host.run()
    return count
  }
  for (const policy of [edf, fp]) {
    assert.is(reads({ ...policy, name: 'mine', level: () => 0, priority: ({ priority }) => priority }), reads(policy))
    assert.is(reads(foreign(policy)), reads(policy))
  }
})

custom('policy.priority is called at the release and gives the job its priority', () => {
  const policy = { ...fp, priority: ({ priority, period }) => period < Infinity ? period : 10 * priority }
  const { host, scheduler, spawn } = world(policy)
  const jobs = [spawn('A', { priority: 1 }), spawn('B', { priority: 3, period: 7 })]
  const task = new Task(function* () {}, { priority: 2, scheduler })
  jobs.push(task.release(), spawn('pending', { priority: 4, release: 5 }))
  host.run()
  assert.equal(jobs.map(({ priority, level }) => [priority, level]), [[10, 10], [7, 7], [20, 20], [40, 40]])
  assert.is(order(policy, [['low', { priority: 1 }], ['high', { priority: 2 }]]), 'high low')
})

custom('policy.level depends on the deadline, the priority and the period of the job', () => {
  const level = ({ deadline, priority, period }) => 1000 / deadline + 10 / period + priority
  const policy = { ...rm, level }
  const { host, scheduler, spawn } = world(policy)
  const task = new Task(function* () {}, { period: 5, deadline: 2, scheduler })
  const jobs = [
    spawn('A', { deadline: 5, priority: 3 }),
    task.release(),
    spawn('C', { release: 2, priority: 4 }),
    spawn('D')
  ]
  const levels = [203, 502.2, 4, 0]
  assert.equal(jobs.map(job => job.level), levels)
  host.run()
  assert.equal(jobs.map(job => job.level), levels)
})

custom('a job without options has the same priority and level as with empty options', () => {
  const policy = { ...fp, priority: ({ priority }) => priority + 7, level: ({ priority }) => priority - 1 }
  for (const [given, priority, level] of [[policy, 7, 6], [fp, 0, 0], [rm, 0, 0], [edf, 0, -Infinity]]) {
    const { scheduler } = world(given)
    for (const options of [undefined, {}]) {
      const job = scheduler.spawn(function* () {}, options)
      assert.equal([job.priority, job.level], [priority, level])
    }
  }
})

custom('the built-in policies have names, and a custom policy needs none', () => {
  assert.equal([edf, fp, rm].map(({ name }) => name), ['edf', 'fp', 'rm'])
  const own = { compare: () => 0, level: () => 0 }
  assert.is(world(own).scheduler.policy, own)
})

custom.run()

// --- levels

const levels = suite('preemption levels')

levels('edf: the shorter relative deadline has the higher level, for any release', () => {
  const { spawn } = world(edf)
  const level = given => spawn('', given).level
  assert.ok(level({ deadline: 3 }) > level({ deadline: 4, release: -50 }))
  assert.is(level({ deadline: 3 }), level({ deadline: 3, release: 50 }))
  assert.equal([level({ deadline: 3 }), level({})], [-3, -Infinity])
})

levels('fp and rm: the priority is the level', () => {
  for (const policy of [fp, rm]) assert.is(world(policy).spawn('', { priority: 1.5, deadline: 2 }).level, 1.5)
  assert.is(world(rm).spawn('', { period: 4, priority: 3 }).level, 0.25)
})

levels('a level is fixed at release and ignores later changes', () => {
  for (const [policy, level] of [[edf, -8], [fp, 2]]) {
    const { host, scheduler } = world(policy)
    const seen = []
    const job = scheduler.spawn(function* () {
      seen.push(job.level)
      job.deadline = 99
      job.priority = 99
      seen.push(job.level)
      yield new Promise(() => {})
    }, { deadline: 8, priority: 2 })
    job.deadline = 5
    job.priority = 5
    seen.push(job.level)
    host.run()
    assert.is(job.state, 'waiting')
    job.deadline = 7
    job.priority = 7
    seen.push(job.level)
    assert.equal(seen, [level, level, level, level])
  }
})

levels('the level of a pending job follows changes of its keys', () => {
  for (const [policy, level] of [[edf, -5], [fp, 6]]) {
    const { host, spawn } = world(policy)
    const job = spawn('pending', { release: 10, deadline: 8, priority: 2 })
    job.deadline = 5
    job.priority = 6
    assert.is(job.level, level)
    host.run({ until: 10 })
    assert.is(job.level, level)
  }
})

levels('a period passed to spawn is the period of the job and affects its level', () => {
  const byPeriod = { ...rm, level: ({ period }) => -period }
  const { scheduler } = world(byPeriod)
  const task = new Task(function* () {}, { period: 8 })
  const told = ({ period, priority, level }) => ({ period, priority, level })
  const quarter = { period: 4, priority: 0.25, level: -4 }
  assert.equal(told(scheduler.spawn(function* () {}, { period: 4 })), quarter)
  assert.equal(told(scheduler.spawn(task, { period: 4 })), quarter)
  assert.equal(told(scheduler.spawn(task)), { period: 8, priority: 0.125, level: -8 })
})

levels('a job keeps its level and period when its task changes', () => {
  const { scheduler } = world({ ...rm, level: ({ period }) => -period })
  const task = new Task(function* () {}, { period: 8, scheduler })
  const job = task.release()
  task.period = 2
  assert.equal([job.period, job.level], [8, -8])
  assert.equal([task.release().level], [-2])
})

levels.run()

// --- changes of keys

const rekeying = suite('changes of deadline or priority')

rekeying('a ready job moves in its queue', () => {
  const { host, spawn, trace } = world(fp)
  const jobs = ['A', 'B', 'C', 'D'].map((name, index) => spawn(name, { priority: 10 - index }))
  jobs[3].priority = 9.5
  jobs[0].priority = 0
  host.run()
  assertTrace(trace, `
    0 release A, release B, release C, release D, start   D
    1 finish  D, start   B
    2 finish  B, start   C
    3 finish  C, start   A
    4 finish  A`)
})

rekeying('the running job continues if it still ranks highest', () => {
  const { host, scheduler, spawn, trace } = world(fp)
  const lowers = executeThen(host, 2, () => { runs.priority = 1.5 }, 2)
  const runs = scheduler.spawn(lowers, { name: 'runs', priority: 2 })
  spawn('next', { priority: 1 })
  host.run()
  assertTrace(trace, `
    0 release runs, release next, start   runs
    4 finish  runs, start   next
    5 finish  next`)
})

rekeying('a pending job is released with its changed keys', () => {
  const { host, spawn, trace } = world(fp)
  const pending = spawn('pending', { release: 2, priority: 0, deadline: 3 })
  spawn('runs', { priority: 1 }, 4)
  pending.priority = 2
  pending.deadline = 10
  assert.equal([pending.absoluteDeadline, pending.state], [12, 'pending'])
  host.run()
  assertTrace(trace, `
    0 release runs, start   runs
    2 release pending, preempt runs by=pending, start   pending
    3 finish  pending, resume  runs
    5 finish  runs`)
})

rekeying('a job keeps its position among equals if its keys are set to the same values', () => {
  const { host, scheduler, spawn } = world(fp)
  const started = []
  scheduler.observe(({ type, job }) => { if (type === 'start') started.push(job.name) })
  const jobs = ['A', 'B', 'C'].map(name => spawn(name, { priority: 1 }))
  jobs[0].priority = 1
  jobs[1].priority = 2
  jobs[1].priority = 1
  host.run()
  assert.equal(started, ['A', 'B', 'C'])
})

rekeying('a deadline counts from the release, not from its assignment', () => {
  const { host, scheduler } = world(edf)
  const job = scheduler.spawn(function* () {
    host.advance(30)
    job.deadline = 40
    yield
    host.advance(5)
  }, { release: 10, deadline: 1000 })
  host.run()
  const { release, deadline, absoluteDeadline, finished, lateness } = job
  assert.equal([release, deadline, absoluteDeadline, finished, lateness], [10, 40, 50, 45, -5])
})

rekeying('a deadline set to a past time is missed once, at the next reading of the clock', () => {
  const { host, scheduler, trace } = world(edf)
  const job = scheduler.spawn(function* () {
    yield* execute(host, 4)
    yield
    job.deadline = 3
    yield
    job.deadline = 2
    yield* execute(host, 1)
  }, { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start   job
    4 miss    job
    5 finish  job`)
  assert.is(scheduler.stats().misses, 1)
})

rekeying('deadline = Infinity removes the deadline', () => {
  const { host, spawn, trace } = world(edf)
  const job = spawn('job', { deadline: 2 }, 3)
  job.deadline = Infinity
  spawn('urgent', { deadline: 50 }, 1)
  host.run()
  assertTrace(trace, `
    0 release job, release urgent, start   urgent
    1 finish  urgent, start   job
    4 finish  job`)
  assert.equal([job.absoluteDeadline, job.missed, job.lateness], [Infinity, false, -Infinity])
})

rekeying('under fp a deadline does not change the order, under edf a priority does not', () => {
  const { host, spawn } = world(fp)
  const jobs = ['A', 'B'].map(name => spawn(name, { priority: 1 }))
  jobs[1].deadline = 1
  host.run()
  assert.equal(jobs.map(job => job.started), [0, 1])
  const other = world(edf)
  const more = ['A', 'B'].map((name, index) => other.spawn(name, { deadline: 5 + index }))
  more[1].priority = 99
  other.host.run()
  assert.equal(more.map(job => job.started), [0, 1])
})

rekeying('a deadline that a resource of a pending job rejects keeps its old value', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy: fp })
  const users = new Set()
  const attach = job => {
    if (job.level > 3) throw new RangeError(`the level of ${job.name} exceeds the ceiling`)
    users.add(job)
  }
  const resource = { [extend.protocol]: { attach, detach: job => users.delete(job) } }
  const job = scheduler.spawn(function* () {}, { priority: 2, release: 10, uses: [resource] })
  assert.throws(() => { job.priority = 4 }, RangeError)
  assert.equal([job.priority, users.size], [2, 1])
  job.priority = 3
  assert.is(users.size, 1)
  host.run()
  assert.equal([job.state, job.priority, users.size], ['done', 3, 0])
})

rekeying.run()

// --- many jobs

const MANY = 100_000

const ascending = (a, b) => a < b ? -1 : a > b ? 1 : 0
const byPriority = (a, b) => ascending(b.priority, a.priority)
const byDeadline = (a, b) => ascending(a.release + a.deadline, b.release + b.deadline) || byPriority(a, b)
const orders = {
  edf: [edf, byDeadline],
  fp: [fp, byPriority],
  'edf, compared by code of the user': [foreign(edf), byDeadline]
}

/**
 * Returns a function that creates the keys of a job from its index.
 * @type {Record<string, (random: any, count: number) => any>}
 */
const distributions = {
  'random keys': random => () => ({ deadline: random.real(1, 1e6), priority: random.integer(-9, 9) }),
  'few keys': random => () => ({ deadline: random.pick([10, 20, Infinity]), priority: random.integer(0, 1) }),
  'equal keys': () => () => ({ deadline: 50, priority: 0 }),
  'rising keys': () => index => ({ deadline: 1 + index, priority: index }),
  'falling keys': (_, count) => index => ({ deadline: 1 + count - index, priority: -index }),
  'a saw of keys': () => index => ({ deadline: 1 + index % 97, priority: index % 89 }),

  'keys of every kind, in turns' (random, count) {
    const others = Object.values(distributions).slice(0, 6).map(keys => keys(random, count))
    return index => others[Math.floor(index / 50) % others.length](index)
  }
}

const many = suite('many ready jobs')

/** @param {number[]} actual @param {number[]} expected */
function assertSequence(actual, expected) {
  assert.is(actual.length, expected.length)
  const at = actual.findIndex((value, index) => value !== expected[index])
  const from = Math.max(0, at - 2)
  assert.equal(actual.slice(from, at + 3), expected.slice(from, at + 3), `the orders part at ${at}`)
  assert.is(at, -1)
}

/** Releases jobs, cancels some of them or changes their keys, and then runs the rest. */
function assertSorted([policy, compare], keysOf, random, count) {
  const { host, scheduler } = world(policy, { paused: true })
  host.advance(1000)
  const ran = []
  const model = []
  for (let id = 0; id < count; id++) {
    const release = random.chance(0.1) ? random.integer(0, 999) : 1000
    const entry = { id, alive: true, release, ...keysOf(id) }
    const { deadline, priority } = entry
    entry.job = scheduler.spawn(() => { ran.push(id) }, { release, deadline, priority })
    model.push(entry)
    if (!random.chance(0.3)) continue
    const other = random.pick(model)
    if (!other.alive) continue
    if (random.chance(0.5)) {
      other.alive = false
      other.job.cancel()
    } else {
      const { deadline, priority } = keysOf(random.integer(0, count))
      other.job.deadline = other.deadline = deadline
      other.job.priority = other.priority = priority
    }
  }
  scheduler.resume()
  host.run()
  const left = model.filter(({ alive }) => alive)
  assert.ok(left.length > 0.8 * count && left.length < 0.9 * count)
  left.sort((a, b) => compare(a, b) || ascending(a.id, b.id))
  assertSequence(ran, left.map(({ id }) => id))
}

for (const [name, policy] of Object.entries(orders)) {
  for (const [distribution, keys] of Object.entries(distributions)) {
    many(`${name}, ${distribution}: they run in the order of a sorted array`, () => {
      const random = seeded(5)
      assertSorted(policy, keys(random, 5000), random, 5000)
    })
  }
}

for (const name of ['edf', 'fp']) {
  many(`${name}: a hundred thousand jobs run in the order of a sorted array`, () => {
    const random = seeded(17)
    assertSorted(orders[name], distributions['keys of every kind, in turns'](random, MANY), random, MANY)
  })
}

many('equal jobs run in the order of their arrival after random cancellations', () => {
  const { host, scheduler } = world(fp, { paused: true })
  const random = seeded(11)
  const ran = []
  const jobs = Array.from({ length: MANY }, (_, index) => scheduler.spawn(() => { ran.push(index) }))
  const kept = jobs.map(() => random.chance(0.5))
  for (const index of random.shuffle(jobs.map((_, index) => index))) if (!kept[index]) jobs[index].cancel()
  scheduler.resume()
  host.run()
  assertSequence(ran, jobs.map((_, index) => index).filter(index => kept[index]))
})

many('jobs that arrive, leave or move while others run are sorted immediately', () => {
  const random = seeded(13)
  const { host, scheduler } = world(fp, { paused: true })
  const ran = []
  const expected = []
  // The ready jobs in order, kept by binary search.
  const model = []
  const before = (a, b) => a.priority > b.priority || (a.priority === b.priority && a.id < b.id)
  const insert = entry => {
    let low = 0
    let high = model.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (before(model[middle], entry)) low = middle + 1
      else high = middle
    }
    model.splice(low, 0, entry)
  }
  let created = 0
  const create = () => {
    const entry = { id: created++, priority: random.integer(0, 1000), job: null }
    entry.job = scheduler.spawn(() => {
      ran.push(entry.id)
      expected.push(model.shift().id)
      for (let n = created < 2000 ? 3 : random.integer(0, created < 40_000 ? 2 : 0); n > 0; n--) create()
      if (!model.length) return
      const other = random.pick(model)
      if (random.chance(0.1)) {
        model.splice(model.indexOf(other), 1)
        other.job.cancel()
      } else if (random.chance(0.2)) {
        model.splice(model.indexOf(other), 1)
        other.job.priority = other.priority = random.integer(0, 1000)
        insert(other)
      }
    }, { priority: entry.priority })
    insert(entry)
  }
  for (let n = 0; n < 1000; n++) create()
  scheduler.resume()
  host.run()
  assert.ok(created > 5000, `only ${created} jobs`)
  assert.is(model.length, 0)
  assertSequence(ran, expected)
})

many.run()
