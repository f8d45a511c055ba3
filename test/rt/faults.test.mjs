// Misbehaving user code: observers that cancel and spawn, policies and hosts that throw, and clocks that
// stop.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { after, every } from '../../alarms.mjs'
import { Scheduler, Task, edf, extend } from '../../rt.mjs'
import { Lock } from '../support/mailbox.mjs'
import { HOSTS } from '../support/platform-host.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'

const JOBS = 12

/**
 * Spawns jobs that run, sleep, share a lock and wait for each other.
 *
 * @returns {import('../../rt.mjs').Job[]}
 */
function spawnSome(scheduler, host, random) {
  const lock = new Lock()
  function* locked() {
    yield lock.lock()
    try {
      yield* execute(host, 1)
    } finally {
      lock.unlock()
    }
  }
  /** @type {any[]} */
  const jobs = []
  for (let n = 0; n < JOBS; n++) {
    const ms = random.integer(1, 4)
    const earlier = n > 0 && random.chance(0.4) ? random.pick(jobs) : null
    jobs.push(scheduler.spawn(function* () {
      yield* execute(host, ms)
      if (random.chance(0.5)) yield new extend.Sleep(random.integer(1, 5), true)
      if (random.chance(0.5)) yield locked()
      if (earlier !== null) yield earlier.catch(() => {})
      yield* execute(host, 1)
    }, { name: `job ${n}`, deadline: random.integer(5, 60), release: host.time + random.integer(0, 8) }))
  }
  return jobs
}

/** Asserts that every job has ended and that `idle()` has resolved. */
async function allEnded(host, jobs, scheduler) {
  const idle = scheduler.idle()
  await host.drain()
  assert.equal(jobs.filter(job => !['done', 'failed', 'cancelled'].includes(job.state)).map(job => job.state), [])
  await Promise.all(jobs.map(job => job.catch(() => {})))
  await idle
}

const observers = suite('observers')

for (const type of ['release', 'start', 'preempt', 'resume', 'block', 'wake', 'finish', 'cancel', 'miss', 'alarm', 'round']) {
  observers(`an observer that cancels, re-keys and spawns at '${type}' loses no job`, () => forSeeds(40, async random => {
    const host = random.pick(HOSTS).hostOf()
    const scheduler = new Scheduler({ host, budget: random.pick([1, 3]), slice: random.pick([1, Infinity]), onError() {} })
    const jobs = spawnSome(scheduler, host, random)
    let more = 10
    scheduler.observe(record => {
      if (record.type !== type || !random.chance(0.5) || more-- <= 0) return
      const other = random.pick(jobs)
      random.pick([
        () => other.cancel(),
        () => { other.deadline = random.integer(1, 100) },
        () => { other.priority = random.integer(-3, 3) },
        () => { jobs.push(scheduler.spawn(execute(host, 1), { deadline: random.integer(1, 50) })) },
        () => record.job?.cancel(),
        () => { if (record.job) record.job.deadline = random.integer(1, 100) },
        () => { throw new Error('an observer') }
      ])()
    })
    await allEnded(host, jobs, scheduler)
    assert.is(scheduler.stats().jobs, jobs.length)
  }))
}

observers('a job that an observer gives the highest rank at a dispatch runs first', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, slice: Infinity })
  const order = []
  const note = name => function* () {
    order.push(name)
    host.advance(1)
  }
  scheduler.spawn(note('first'), { name: 'first', deadline: 10 })
  const second = scheduler.spawn(note('second'), { name: 'second', deadline: 20 })
  scheduler.observe(({ type, job }) => {
    if (type === 'start' && job.name === 'first') second.deadline = 5
  })
  host.run()
  assert.equal(order, ['second', 'first'])
})

observers.run()

/** Wraps `fn` so that its calls throw, `times` times from call number `at` on. */
function failing(fn, { at, times }) {
  let calls = 0
  return function (...args) {
    calls++
    if (calls >= at && calls < at + times) throw new Error('fault')
    return fn.apply(this, args)
  }
}

const faults = suite('hosts and policies that throw')

faults('a host.inputPending that throws only ends the round', async () => {
  await forSeeds(20, async random => {
    const host = virtualHost()
    host.inputPending = failing(() => false, { at: random.integer(1, 20), times: 2 })
    const scheduler = new Scheduler({ host, budget: 2, onError() {} })
    await allEnded(host, spawnSome(scheduler, host, random), scheduler)
  })
})

faults('every job ends if policy.compare throws once or three times', async () => {
  for (let at = 1; at <= 60; at++) {
    for (const times of [1, 3]) {
      await forSeeds(1, async random => {
        const host = virtualHost()
        const compare = failing(edf.compare, { at, times })
        const scheduler = new Scheduler({ host, budget: 2, policy: { ...edf, compare }, onError() {} })
        await allEnded(host, spawnSome(scheduler, host, random), scheduler)
      })
    }
  }
})

faults('a policy that always throws is reported once a round, and jobs run by release', () => {
  const host = virtualHost()
  const told = []
  const policy = { ...edf, compare() { throw new Error('fault') } }
  const scheduler = new Scheduler({ host, policy, slice: Infinity, onError: error => told.push(error.message) })
  const order = []
  for (const name of ['a', 'b', 'c']) scheduler.spawn(function* () { order.push(name) })
  host.run()
  assert.equal(order, ['a', 'b', 'c'])
  assert.ok(told.length >= 1 && told.length <= 1 + scheduler.stats().rounds, `told ${told.length} times`)
})

faults.run()

// ---------------------------------------------------------------------------------------------------- clocks

const clocks = suite('clocks')
const MANY = 1e7

/**
 * Whether the event loop gets a turn before an endless job stops by itself.
 * @returns {Promise<boolean>}
 */
async function leavesEventLoopATurn({ host, scheduler }) {
  let hasTurned = false
  const job = scheduler.spawn(function* () {
    for (let n = 0; n < MANY && !hasTurned; n++) yield
    return hasTurned
  })
  host.post(() => { hasTurned = true })
  host.run()
  return job
}

for (const budget of [1, 10, 'auto']) {
  clocks(`a clock that stands still does not block the event loop (budget ${budget})`, async () => {
    const host = virtualHost({ start: 5 })
    assert.ok(await leavesEventLoopATurn({ host, scheduler: new Scheduler({ host, budget }) }))
  })
}

clocks('a clock that is set back does not block the event loop', async () => {
  const host = virtualHost({ start: 1e6 })
  let skew = 0
  const { now } = host
  const scheduler = new Scheduler({ host: { ...host, now: () => now() + skew }, budget: 1 })
  scheduler.spawn(function* () { yield })
  host.run()
  skew = -1000
  assert.ok(await leavesEventLoopATurn({ host, scheduler }))
})

clocks('a round of async jobs ends while the clock stands still', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  let hasTurned = false
  const job = scheduler.spawn(async () => {
    const { current } = scheduler
    for (let n = 0; n < 3000 && !hasTurned; n++) await current.yield()
    return hasTurned
  })
  const done = job.then(result => result)
  host.post(() => { hasTurned = true })
  await host.drain()
  assert.is(await done, true)
})

clocks('equal readings are counted from the last movement of the clock', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, round: Infinity, slice: Infinity })
  scheduler.spawn(function* () {
    for (let n = 0; n < 10_000; n++) {
      if (n % 900 === 0) host.advance(1)
      yield
    }
  })
  host.run()
  assert.is(scheduler.stats().rounds, 1)
})

for (const reading of [Infinity, NaN, -Infinity]) {
  clocks(`a reading of ${reading} is ignored`, () => {
    const host = virtualHost({ start: 10 })
    const { now } = host
    let isWrong = false
    const scheduler = new Scheduler({ host: { ...host, now: () => isWrong ? reading : now() }, budget: 1 })
    scheduler.now()
    isWrong = true
    assert.is(scheduler.now(), 10)
    isWrong = false
    const job = scheduler.spawn(function* () { yield new extend.Sleep(5, true) })
    host.run()
    assert.equal([job.state, job.finished], ['done', 15])
  })
}

clocks.run()

// ---------------------------------------------------------------------------------------- names of functions

const names = suite('names of functions')

const unusual = {
  'a symbol': { value: Symbol('name') },
  'a number': { value: 5 },
  'a getter that throws': { get() { throw new Error('the getter of the page') } }
}
const named = (/** @type {PropertyDescriptor} */ descriptor, /** @type {any} */ fn) =>
  Object.defineProperty(fn, 'name', descriptor)

for (const [title, descriptor] of Object.entries(unusual)) {
  const quiet = () => {
    const host = virtualHost()
    return { host, scheduler: new Scheduler({ host, budget: 1, onError() {} }) }
  }

  names(`miss: 'abort' cancels a job whose function has ${title} as its name`, async () => {
    const { host, scheduler } = quiet()
    const work = named(descriptor, function* () { yield new extend.Sleep(100, true) })
    const task = new Task(work, { deadline: 5, miss: 'abort' })
    const jobs = [scheduler.spawn(work, { deadline: 5, miss: 'abort' }), scheduler.spawn(task)]
    host.run()
    for (const job of jobs) {
      assert.is(job.state, 'cancelled')
      assert.match(String(await job.catch(error => error)), /^DeadlineError: job \d missed its deadline, 5 ms/)
    }
  })

  names(`a job whose function has ${title} as its name waits under a custom policy`, () => {
    const host = virtualHost()
    const policy = { name: 'own', compare: () => 0, level: () => 0 }
    const scheduler = new Scheduler({ host, policy, onError() {} })
    const lock = new Lock()
    scheduler.spawn(function* () {
      yield lock.lock()
      yield new extend.Sleep(3, true)
      lock.unlock()
    })
    const job = scheduler.spawn(named(descriptor, function* () {
      yield lock.lock()
      lock.unlock()
      return 'locked'
    }))
    host.run()
    return job.then(result => assert.is(result, 'locked'))
  })

  names(`an alarm whose callback has ${title} as its name fires, and its stall is reported`, () => {
    const { host, scheduler } = quiet()
    const stalls = []
    scheduler.configure({ onStall: by => stalls.push(by.name) })
    const work = named(descriptor, () => host.advance(10))
    extend.at(scheduler, 3, work)
    const alarms = [after(4, work, { scheduler }), every(5, work, { scheduler, count: 1 })]
    host.run()
    assert.equal(stalls, ['alarm', 'alarm', 'alarm'])
    assert.equal(alarms.map(({ time }) => time), [undefined, undefined])
  })
}

names.run()
