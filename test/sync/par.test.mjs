/** Tests of par and race: their children are jobs that end before their parent continues. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, Scheduler, Task, edf, fp } from '../../rt.mjs'
import { after, sleep, timeout } from '../../alarms.mjs'
import { Reservation } from '../../addons/reservations.mjs'
import { Channel, Mutex, choice, nonPreemptive, par, race } from '../../sync.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { assertTrace, record } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { exactWorld } from '../support/world.mjs'

/** A scheduler that reads its clock at every point, without rotation or rounds unless the options say so. */
const world = options => exactWorld({ policy: edf, except: ['round', 'alarm'], ...options })

/** Runs one job and returns its result or its error. */
async function outcome({ host, scheduler }, work, options) {
  const job = scheduler.spawn(work, options)
  const settled = job.then(value => ({ value }), error => ({ error }))
  await host.drain()
  return settled
}

// ------------------------------------------------------------------------------------------------------- par

const parallel = suite('par')

parallel('par waits for all works and returns their results in order', async () => {
  const run = world()
  const { value } = await outcome(run, function* () {
    return yield par(function* () {
      yield sleep(3)
      return 'generator'
    }, () => 'function', async () => 'async', (function* () { return 'iterator' })(), new Task(() => 'task'),
    sleep(1), Promise.resolve('promise'), run.scheduler.spawn(() => 'job'))
  })
  assert.equal(value, ['generator', 'function', 'async', 'iterator', 'task', undefined, 'promise', 'job'])
  assert.is(run.host.time, 3)
})

parallel('par without works returns immediately', async () => {
  assert.equal(await outcome(world(), () => par()), { value: [] })
})

parallel('children of par have the deadline and priority of the caller', () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(function* parent() {
    host.advance(1)
    yield par(function* a() { yield* execute(host, 1) }, function* b() { yield* execute(host, 1) })
  }, { deadline: 10, priority: 3 })
  scheduler.spawn(() => {}, { name: 'later', deadline: 11 })
  scheduler.spawn(() => {}, { name: 'sooner', deadline: 7, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release parent, release later, start parent
    1 release a, release b, block parent on=par(a, b), start a
    2 finish a, release sooner, start sooner, finish sooner, start b
    3 finish b, wake parent, resume parent, finish parent, start later, finish later`)
})

parallel('children of a Task keep the parameters of the task', async () => {
  const run = world()
  const note = () => {
    const { deadline, priority, absoluteDeadline } = run.scheduler.current
    return [deadline, priority, absoluteDeadline]
  }
  const { value } = await outcome(run, function* () {
    run.host.advance(1)
    return yield par(new Task(note, { deadline: 5 }), new Task(note, { priority: 7 }), note)
  }, { deadline: 10, priority: 3 })
  assert.equal(value, [[5, 3, 6], [10, 7, 10], [10, 3, 10]])
})

parallel('par runs in the job that yields it and repeats its outcome', async () => {
  const run = world()
  let began = 0
  const { value } = await outcome(run, function* () {
    const call = par(() => ++began, () => ++began)
    return [yield call, yield call, yield* call, yield call]
  })
  assert.equal([value, began, run.scheduler.stats().jobs], [[[1, 2], [1, 2], [1, 2], [1, 2]], 2, 3])
})

parallel('a par that several jobs yield runs once', async () => {
  const run = world()
  let began = 0
  const call = par(function* () {
    began++
    yield sleep(2)
    return 'done'
  })
  for (let i = 0; i < 3; i++) run.scheduler.spawn(function* () { run.log.push(yield call) })
  await run.host.drain()
  assert.equal([run.log, began], [[['done'], ['done'], ['done']], 1])
})

parallel('waitables in par need no child jobs and may communicate with each other', async () => {
  const run = world()
  const channel = new Channel()
  const { value } = await outcome(run, () => par(channel.send('hello'), channel.receive()))
  assert.equal([value, run.scheduler.stats().jobs], [[undefined, 'hello'], 1])
})

parallel('a failed child cancels the others, and its error is thrown after their finally', async () => {
  const run = world()
  const { log, host } = run
  const { error } = await outcome(run, function* () {
    try {
      return yield par(function* () {
        try {
          yield sleep(50)
        } catch (reason) {
          log.push(reason.name)
          throw reason
        } finally {
          yield sleep(2)
          log.push(`cleaned at ${host.time}`)
        }
      }, function* () {
        yield sleep(1)
        throw new Error('first')
      }, sleep(100))
    } finally {
      log.push(`went on at ${host.time}`)
    }
  })
  assert.is(error.message, 'first')
  assert.equal(log, ['AbortError', 'cleaned at 3', 'went on at 3'])
  assert.equal([host.time, host.errors], [3, []])
})

parallel('a signal cancels the jobs of par and race with its reason, and waits for them', () => {
  for (const kind of [par, race]) {
    const { host, scheduler, log } = world()
    const controller = new AbortController()
    const job = scheduler.spawn(function* () {
      yield kind(function* () {
        try {
          yield sleep(50)
        } catch (error) {
          log.push(error)
          yield sleep(2)
          log.push(host.time)
        }
      }, { signal: controller.signal })
    })
    job.catch(error => log.push(error))
    after(5, () => controller.abort('enough'), { scheduler })
    host.run()
    assert.equal([log, job.state, job.finished], [['enough', 7], 'failed', 7])
  }
})

parallel('children that are no longer needed are cancelled before they start', () => {
  const { host, scheduler, log } = world()
  const works = [() => { throw new Error('first') }, () => log.push('second'), () => log.push('third')]
  const job = scheduler.spawn(() => par(...works))
  job.catch(() => {})
  host.run()
  assert.equal([log, job.state], [[], 'failed'])
  const racer = scheduler.spawn(() => race(() => 1, () => log.push('second')))
  host.run()
  assert.equal([log, racer.state], [[], 'done'])
})

parallel('errors of finally blocks are thrown together with the first error', async () => {
  const run = world()
  const { error } = await outcome(run, () => par(
    () => { throw new Error('first') },
    function* () {
      try {
        yield sleep(50)
      } finally {
        throw new Error('second')
      }
    },
    function* () {
      try {
        yield
        yield sleep(50)
      } catch {
        yield sleep(1)
        throw new Error('third')
      }
    }, function* () { yield sleep(9) }))
  assert.is(error.message, 'first') // the other children had not started
  const { error: all } = await outcome(run, () => par(
    function* () {
      yield sleep(1)
      throw new Error('first')
    },
    function* () {
      try {
        yield sleep(50)
      } finally {
        throw new Error('second')
      }
    },
    function* () {
      try {
        yield sleep(50)
      } catch {
        yield sleep(1)
        throw new Error('third')
      }
    }, function* () { yield sleep(9) }))
  assert.instance(all, AggregateError)
  assert.equal(all.errors.map(({ message }) => message), ['first', 'second', 'third'])
  assert.equal(run.host.errors, [])
})

parallel('a cancelled child cancels the other children, and its reason is thrown', async () => {
  const run = world()
  const reason = new Error('not wanted')
  let child
  after(2, () => child.cancel(reason), { scheduler: run.scheduler })
  const { error } = await outcome(run, () => par(function* () {
    child = run.scheduler.current
    yield sleep(50)
  }, function* () { yield sleep(60) }))
  assert.equal([error, run.host.time], [reason, 2])
})

parallel('cancelling the caller cancels the children, and the caller ends after them', async () => {
  const run = world()
  const { host, scheduler, log } = run
  const reason = new Error('enough')
  const job = scheduler.spawn(() => par(function* child() {
    try {
      yield sleep(50)
    } catch (error) {
      log.push(error)
      yield sleep(2)
      throw error
    }
  }, function* () { for (;;) yield sleep(1) }))
  job.catch(error => log.push(error))
  after(5, () => job.cancel(reason), { scheduler })
  await host.drain()
  assert.equal([log, job.state, job.finished], [[reason, reason], 'cancelled', 7])
})

parallel('par in a critical section throws before a child starts', async () => {
  const run = world()
  const { error } = await outcome(run, () => nonPreemptive(() => par(() => run.log.push('started'))))
  assert.instance(error, TypeError)
  assert.match(error.message, 'critical section')
  await run.host.drain()
  assert.equal(run.log, [])
})

parallel('a cycle of lock owners through par throws a DeadlockError', async () => {
  const run = world()
  const mutex = new Mutex({ name: 'm' })
  const other = function* () { yield sleep(1) }
  const child = function* () { yield mutex.lock() }
  const { error } = await outcome(run, () => mutex.use(() => par(other, child)))
  assert.instance(error, DeadlockError)
})

parallel('a child that waits in finally for a lock of its caller throws a DeadlockError', async () => {
  const run = world()
  const { host, log } = run
  const mutex = new Mutex()
  const cleans = ms => function* () {
    try {
      yield sleep(50)
    } finally {
      if (ms === 0) yield mutex.lock()
      else yield sleep(ms)
      log.push(host.time)
    }
  }
  const fails = function* () {
    yield sleep(1)
    throw new Error('first')
  }
  // The child or the caller gets the error, whichever waits last.
  for (const [works, cycle, ends] of [
    [[cleans(0), cleans(5), fails], 'job 2 waits for job 1 waits for job 2', [6]],
    [[cleans(5), cleans(0), fails], 'job 5 waits for job 7 waits for job 5', [12, 12]]
  ]) {
    const { error } = await outcome(run, () => mutex.use(() => par(...works)))
    assert.equal(error.errors.map(({ message }) => message), ['first', `deadlock: ${cycle}`])
    assert.equal([log.splice(0), mutex.locked], [ends, false])
  }
})

parallel('children pass on the rank of jobs that wait for their caller', () => {
  const { host, scheduler, log } = world({ policy: fp })
  const mutex = new Mutex()
  scheduler.spawn(() => mutex.use(() => par(function* () {
    yield* execute(host, 4)
    log.push(['child', host.time])
  })), { priority: 1 })
  scheduler.spawn(function* () {
    yield mutex.lock()
    log.push(['high', host.time])
  }, { priority: 3, release: 1 })
  scheduler.spawn(function* () {
    yield* execute(host, 5)
    log.push(['middle', host.time])
  }, { priority: 2, release: 2 })
  host.run()
  assert.equal(log, [['child', 4], ['high', 4], ['middle', 9]])
})

parallel('raising a job that waits for several jobs raises all of them', () => {
  for (const count of [2, 3, 7]) {
    const { host, scheduler, log } = world()
    const parent = scheduler.spawn(function* () {
      const children = Array.from({ length: count }, (_, i) => scheduler.spawn(function* () {
        yield sleep(count - i)
        log.push('child')
        yield sleep(1)
      }, { priority: i % 2 }))
      yield par(...children)
      log.push('parent')
    }, { priority: 1.5 })
    for (const priority of [5, 4, 3, 2]) {
      scheduler.spawn(function* () {
        yield sleep(count / 2)
        log.push(priority)
      }, { priority })
    }
    scheduler.spawn(function* () {
      yield sleep(0.5)
      yield* execute(host, 10) // the other jobs become ready but cannot run
      parent.priority = 10
    }, { priority: 20 })
    host.run()
    assert.equal(log, [...Array(count).fill('child'), 5, 4, 3, 2, 'parent'])
  }
})

parallel('par awaited in an async job runs in a new job', async () => {
  const run = world()
  const job = run.scheduler.spawn(async () => await par(() => 1, () => 2))
  await run.host.drain()
  assert.equal(await job, [1, 2])
})

parallel('a timeout or a choice of another guard cancels the children', async () => {
  const run = world()
  const { host, log } = run
  const slow = () => par(function* () {
    try {
      yield sleep(50)
    } finally {
      log.push(host.time)
    }
  })
  const { value } = await outcome(run, function* () {
    const result = yield choice([{ wait: slow() }, { timeout: 3 }])
    try {
      yield timeout(4, slow())
    } catch (error) {
      return [result.index, error.name]
    }
  })
  assert.equal([value, log, host.time], [[1, 'TimeoutError'], [3, 7], 7])
})

parallel('par and race reject an invalid work before starting any', () => {
  for (const make of [par, race]) {
    for (const work of [undefined, null, 5, 'x', {}, [], Symbol('x')]) {
      assert.throws(() => make(() => {}, work),
        error => error instanceof TypeError && error.message.includes('works[1]'))
    }
  }
  assert.throws(() => race(), error => error instanceof TypeError && error.message.includes('works'))
})

parallel('a work that cannot be spawned cancels the works that were spawned', async () => {
  const run = world()
  const used = (function* () {})()
  run.scheduler.spawn(used)
  const { error } = await outcome(run, () => par(function* () { run.log.push('started') }, used))
  assert.instance(error, TypeError)
  assert.equal(run.log, [])
})

parallel.run()

// ------------------------------------------------------------------------------------------------------ race

const racing = suite('race')

racing('race returns the first result, cancels the others and waits for their finally', async () => {
  const run = world()
  const { host, log } = run
  const { value } = await outcome(run, function* () {
    return [yield race(function* () {
      try {
        yield sleep(50)
      } finally {
        yield sleep(3)
        log.push(host.time)
      }
    }, function* () {
      yield sleep(2)
      return 'fast'
    }, sleep(9)), host.time]
  })
  assert.equal([value, log, host.time], [[{ index: 1, value: 'fast' }, 5], [5], 5])
})

racing('race fails if the first work to settle fails', async () => {
  const run = world()
  const { error } = await outcome(run, () => race(sleep(5), function* () {
    yield sleep(1)
    throw new Error('first')
  }))
  assert.equal([error.message, run.host.time], ['first', 1])
})

racing('race fails if a finally block of another work fails', async () => {
  const { error } = await outcome(world(), () => race(sleep(1), function* () {
    try {
      yield sleep(5)
    } finally {
      throw new Error('cleaning up')
    }
  }))
  assert.is(error.message, 'cleaning up')
})

racing('race with a settled work returns its result, and later works do not start', async () => {
  const run = world()
  const [first, second] = [new Channel(1), new Channel(1)]
  const works = [Promise.resolve(1), first.send(2), second.send(3), () => run.log.push('started')]
  const { value } = await outcome(run, () => race(...works))
  assert.equal([value, run.log, second.length], [{ index: 1, value: undefined }, [], 0])
})

racing.run()

// ---------------------------------------------------------------------------- cancellations of the caller

const always = suite('cancellations of the caller of par and race')

/** The plan of a child: random steps, the same for the same seed. */
function planOf(random, depth) {
  const some = most => Array.from({ length: random.integer(0, most) }, () => random.pick(['sleep', 'work', 'point']))
  return {
    kind: random.pick(['par', 'race']),
    works: depth > 0 && random.chance(0.4)
      ? Array.from({ length: random.integer(1, 3) }, () => planOf(random, depth - 1)) : [],
    steps: some(3),
    fails: random.chance(0.3),
    catches: random.chance(0.3),
    cleaning: some(3),
    cleansBadly: random.chance(0.2)
  }
}

/**
 * Runs a tree of children whose caller is cancelled at step number `moment`.
 *
 * @returns {{ steps: number, left: string[], outcome: any }} the number of steps, the children that were
 *   still alive when the caller resumed, and the outcome of the caller
 */
async function cancelledAt(moment, plan, options) {
  const { host, scheduler } = world(options)
  const reason = new Error('enough')
  const jobs = []
  const left = []
  let steps = 0
  scheduler.observe(({ type, job }) => { if (type === 'release') jobs.push(job) })
  const step = () => { if (steps++ === moment) caller.cancel(reason) }
  const takes = function* (kinds) {
    for (const kind of kinds) {
      step()
      if (kind === 'sleep') yield sleep(2)
      else if (kind === 'work') yield* execute(host, 1)
      else yield
      step()
    }
  }
  const family = ({ kind, works }) => (kind === 'par' ? par : race)(...works.map(work => () => lives(work)))
  const lives = function* (one) {
    try {
      yield* takes(one.steps)
      if (one.works.length > 0) yield family(one)
      if (one.fails) throw new Error('failed')
    } catch (error) {
      if (!one.catches) throw error
    } finally {
      yield* takes(one.cleaning)
      if (one.cleansBadly) throw new Error('cleaned badly')
    }
  }
  const caller = scheduler.spawn(function* () {
    try {
      yield family(plan)
    } finally {
      left.push(...jobs.filter(job => job !== caller && job.finished === undefined).map(({ name }) => name))
    }
  })
  const settled = caller.then(value => ({ value }), error => ({ error }))
  // Steps by alarms, for the times without a running job.
  for (let time = 0.5; time < 40; time++) after(time, step, { scheduler })
  await host.drain()
  assert.equal(host.errors, [])
  return { steps, left, reason, outcome: await settled, caller }
}

always('a cancelled caller resumes after all children and receives the reason once', () => forSeeds(60, async random => {
  const options = { budget: random.pick([1, 3, 'auto']), round: random.pick([1, Infinity]), policy: random.pick([edf, fp]) }
  const plan = { ...planOf(random, 2), kind: random.pick(['par', 'race']) }
  plan.works = [...plan.works, planOf(random, 1), planOf(random, 1)]
  for (let moment = 0, most = Infinity; moment < most; moment++) {
    const { steps, left, reason, outcome, caller } = await cancelledAt(moment, plan, options)
    most = Math.min(steps, 60)
    assert.equal(left, [], `cancelled at step ${moment}`)
    assert.type(caller.finished, 'number')
    const told = [outcome.error, ...outcome.error?.errors ?? []].filter(error => error === reason)
    assert.ok(told.length <= 1)
  }
}))

always.run()

// --- reservations

const reserved = suite('par and reservations')

reserved('children run in the reservation of their caller, which is charged for them', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy: fp, budget: 1, slice: Infinity, round: Infinity })
  const trace = record(scheduler, { only: ['start', 'deplete', 'finish'] })
  const reservation = new Reservation({ scheduler, capacity: 3, period: 10, depleted: 'wait', name: 'reserved' })
  const own = new Reservation({ scheduler, capacity: 1, period: 5, name: 'own' })
  const task = new Task(() => execute(host, 1), { name: 'third', reservation: own })
  scheduler.spawn(function* () {
    yield par(execute(host, 2), execute(host, 2), task)
  }, { name: 'parent', reservation })
  scheduler.spawn(execute(host, 3), { name: 'other' })
  host.run()
  assertTrace(trace, `
    0 start parent, start third
    1 deplete third reservation=own depleted=background, finish third, start job 3
    3 finish job 3, start job 4
    4 deplete job 4 reservation=reserved, start other
    7 finish other
    11 finish job 4, finish parent`)
  assert.equal([reservation.used, own.used], [4, 1])
})

reserved.run()
