import { AsyncLocalStorage } from 'node:async_hooks'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as rt from '../../rt.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { deferred, exactWorld as world, rejection } from '../support/world.mjs'

const { DeadlineError, Task, edf, fp } = rt

/** The `execute` of async jobs. */
async function toil(host, job, ms, step = 1) {
  for (; ms > step; ms -= step) {
    host.advance(step)
    await job.yield()
  }
  host.advance(ms)
}

/** A separate copy of the module that finds an AsyncContext at its first async job. */
async function contextual() {
  const { Scheduler } = await import('../../rt.mjs?contextual')
  const host = virtualHost()
  const Variable = class extends AsyncLocalStorage { get() { return this.getStore() } }
  Object.assign(globalThis, { AsyncContext: { Variable } })
  new Scheduler({ host }).spawn(async () => {})
  await host.drain()
  delete globalThis.AsyncContext
  return Scheduler
}

const ContextualScheduler = await contextual()

// ------------------------------------------------------------------------------------------------ async jobs

const jobs = suite('async jobs')

jobs('an async job gets its arguments, is current, and its return value is its result', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(async (a, b) => {
    const { name, state } = scheduler.current
    return [name, state, a + b]
  }, { name: 'sum' }, 2, 3)
  await host.drain()
  assert.equal(await job, ['sum', 'running', 5])
  assert.is(job.state, 'done')
})

jobs('an async job starts when it is dispatched, not when it is spawned', async () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(async () => { log.push('job') })
  log.push('spawned')
  await host.drain()
  assert.equal(log, ['spawned', 'job'])
})

jobs('an async job resolves to the promise, thenable or job that it returns', async () => {
  const { host, scheduler, log } = world()
  const jobs = [
    scheduler.spawn(async () => Promise.resolve(1)),
    scheduler.spawn(async () => ({ then: done => done(2) })),
    scheduler.spawn(async () => scheduler.spawn(function* () { yield; return 3 })),
    scheduler.spawn(() => ({ then: done => done({ then: again => again(4) }) }))
  ]
  scheduler.spawn(function* () { for (const job of jobs) log.push(yield job) })
  await host.drain()
  assert.equal([log, await Promise.all(jobs)], [[1, 2, 3, 4], [1, 2, 3, 4]])
})

jobs('an async job fails with its thrown error, before and after a point', async () => {
  const { host, scheduler, trace } = world()
  const early = rejection(scheduler.spawn(async () => { throw new Error('early') }, { name: 'early' }))
  const late = rejection(scheduler.spawn(async () => {
    const job = scheduler.current
    await job.yield()
    throw new Error('late')
  }, { name: 'late' }))
  await host.drain()
  assert.equal([(await early).message, (await late).message], ['early', 'late'])
  assertTrace(trace, `
    0 release early, release late, start early, fail early error=Error, start late, fail late error=Error`)
})

jobs('an unhandled failure of an async job is reported with the job', async () => {
  const onError = (error, job) => log.push(`${job.name} ${error.message}`)
  const { host, scheduler, log } = world({ onError })
  scheduler.spawn(async () => { throw new Error('no') }, { name: 'broken' })
  scheduler.spawn(async () => {
    await scheduler.current.yield()
    log.push('whole')
  })
  await host.drain()
  assert.equal(log, ['whole', 'broken no'])
})

jobs('tasks can have async functions and methods, with the task as this', async () => {
  const { host, scheduler } = world()
  class Add extends Task {
    offset = 100
    async run(a, b) {
      await scheduler.current.yield()
      return this.offset + a + b
    }
  }
  const sum = new Add({ name: 'sum', scheduler }).release(1, 2)
  const product = new Task(async (a, b) => a * b, { scheduler }).release(3, 4)
  await host.drain()
  assert.equal([await sum, await product, sum.name], [103, 12, 'sum'])
})

jobs('an async job is charged for the time between its points, with any budget', async () => {
  for (const budget of [1, 2, 7, 'auto']) {
    const { host, scheduler, trace } = world({ budget })
    const job = scheduler.spawn(async () => toil(host, scheduler.current, 5), { name: 'job' })
    await host.drain()
    assert.equal([job.cost, scheduler.stats().busy], [5, 5])
    assertTrace(trace, `
      0 release job, start job
      5 finish job`, `a budget of ${budget}`)
  }
})

jobs('a plain function that returns a promise is an async job', async () => {
  const { host, scheduler, trace } = world()
  const job = scheduler.spawn((...args) => {
    host.advance(1)
    return Promise.resolve(args)
  }, { name: 'plain' }, 1, 2)
  await host.drain()
  assert.equal(await job, [1, 2])
  assertTrace(trace, `
    0 release plain, start plain
    1 finish plain`)
})

jobs('an async job is charged for nested helpers, several levels deep', async () => {
  const { host, scheduler, trace } = world()
  const deep = async (job, levels) => {
    if (levels > 0) return 1 + await deep(job, levels - 1)
    host.advance(1)
    await job.yield()
    host.advance(1)
    return 0
  }
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    return await deep(self, 4) + await deep(self, 4)
  }, { name: 'job' })
  await host.drain()
  assert.is(await job, 8)
  assert.is(job.cost, 4)
  assertTrace(trace, `
    0 release job, start job
    4 finish job`)
})

jobs('an async job stays dispatched while nested calls return', async () => {
  const { host, scheduler, trace } = world()
  const deep = async (job, levels) => {
    if (levels === 0) return job.yield()
    await deep(job, levels - 1)
  }
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    for (let i = 0; i < 3; i++) {
      await deep(self, 25)
      host.advance(1)
    }
  }, { name: 'job' })
  await host.drain()
  assert.is(job.cost, 3)
  assertTrace(trace, `
    0 release job, start job
    3 finish job`)
})

jobs('an async job stays dispatched for any number of points within a budget', async () => {
  const { host, scheduler, trace } = world({ budget: 1000 })
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    for (let i = 0; i < 300; i++) await self.yield()
    host.advance(1)
  }, { name: 'job' })
  await host.drain()
  assert.is(job.cost, 1)
  assertTrace(trace, `
    0 release job, start job
    1 finish job`)
})

jobs('an async job is preempted by a generator job, and preempts one, at a point', async () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(async () => toil(host, scheduler.current, 4), { name: 'low', priority: 1 })
  scheduler.spawn(execute(host, 4), { name: 'middle', priority: 2, release: 1 })
  scheduler.spawn(async () => toil(host, scheduler.current, 2), { name: 'high', priority: 3, release: 3 })
  await host.drain()
  assertTrace(trace, `
    0 release low, start low
    1 release middle, preempt low by=middle, start middle
    3 release high, preempt middle by=high, start high
    5 finish high, resume middle
    7 finish middle, resume low
    10 finish low`)
})

jobs('an async job is preempted within its budget by a higher-ranked child', async () => {
  const { host, scheduler, trace } = world({ budget: 100 })
  scheduler.spawn(async () => {
    const job = scheduler.current
    host.advance(1)
    await job.yield()
    scheduler.spawn(execute(host, 1), { name: 'child', priority: 1 })
    host.advance(1)
    await job.yield()
    host.advance(1)
  }, { name: 'parent' })
  await host.drain()
  assertTrace(trace, `
    0 release parent, start parent
    1 release child
    2 preempt parent by=child, start child
    3 finish child, resume parent
    4 finish parent`)
})

jobs('async and generator jobs are ordered by their deadlines', async () => {
  const { host, scheduler, trace } = world({ policy: edf })
  scheduler.spawn(async () => toil(host, scheduler.current, 2), { name: 'second', deadline: 20 })
  scheduler.spawn(execute(host, 2), { name: 'third', deadline: 30 })
  scheduler.spawn(execute(host, 2), { name: 'first', deadline: 10 })
  scheduler.spawn(async () => toil(host, scheduler.current, 2), { name: 'fourth', deadline: 40 })
  scheduler.spawn(async () => toil(host, scheduler.current, 1), { name: 'urgent', deadline: 5, release: 3 })
  await host.drain()
  assertTrace(trace, `
    0 release second, release third, release first, release fourth, start first
    2 finish first, start second
    3 release urgent, preempt second by=urgent, start urgent
    4 finish urgent, resume second
    5 finish second, start third
    7 finish third, start fourth
    9 finish fourth`)
})

jobs('async jobs rotate with jobs of equal rank at the end of a slice', async () => {
  const { host, scheduler, trace } = world({ slice: 2 })
  scheduler.spawn(async () => toil(host, scheduler.current, 4), { name: 'a' })
  scheduler.spawn(execute(host, 4), { name: 'g' })
  scheduler.spawn(async () => toil(host, scheduler.current, 3), { name: 'b' })
  await host.drain()
  assertTrace(trace, `
    0 release a, release g, release b, start a
    2 preempt a by=g, start g
    4 preempt g by=b, start b
    6 preempt b by=a, resume a
    8 finish a, resume g
    10 finish g, resume b
    11 finish b`)
})

jobs('stats() count all points of an async job as yields, taken or not', async () => {
  const { host, scheduler } = world({ budget: 3 })
  scheduler.spawn(async () => {
    const job = scheduler.current
    for (let i = 0; i < 10; i++) await job.yield()
  })
  await host.drain()
  assert.is(scheduler.stats().yields, 10)
})

jobs('between the points of an async job, rounds end and timers fire', async () => {
  const { host, scheduler, log } = world({ round: 3 })
  scheduler.spawn(async () => {
    const job = scheduler.current
    for (let i = 1; i <= 7; i++) {
      host.advance(1)
      log.push(i)
      await job.yield()
    }
  })
  host.after(2, () => log.push('timer of 2'))
  host.after(5, () => log.push('timer of 5'))
  await host.drain()
  assert.is(log.join(), '1,2,3,timer of 2,4,5,6,timer of 5,7')
  assert.is(scheduler.stats().rounds, 3)
  assert.is(host.maxPosts, 1)
})

jobs('pending input ends the round at the next point of an async job', async () => {
  const { host, scheduler, log } = world({ budget: 1 })
  scheduler.spawn(async () => {
    const job = scheduler.current
    for (let i = 1; i <= 3; i++) {
      log.push(i)
      if (i === 1) host.hasInput = true
      await job.yield()
    }
  })
  host.after(0, () => {
    log.push('input')
    host.hasInput = false
  })
  await host.drain()
  assert.equal(log, [1, 'input', 2, 3])
})

jobs('an async job stops at its next point while the scheduler is paused', async () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(async () => {
    const job = scheduler.current
    log.push(1)
    scheduler.pause()
    await job.yield()
    log.push(2)
  })
  await host.drain()
  assert.equal(log, [1])
  scheduler.resume()
  await host.drain()
  assert.equal(log, [1, 2])
})

jobs('overruns, stalls and misses of async jobs are reported', async () => {
  const { host, scheduler, trace } = world({ slice: 3 })
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    await toil(host, self, 2)
    await self.yield()
    host.advance(4)
  }, { name: 'job', wcet: 1, deadline: 5 })
  await host.drain()
  assert.is(job.missed, true)
  assert.is(job.lateness, 1)
  assertTrace(trace, `
    0 release job, start job
    2 overrun job
    6 stall job ms=4, finish job, miss job`)
})

jobs('miss: \'abort\' throws a DeadlineError into an async job at its next point', async () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    try {
      await toil(host, self, 10)
    } finally {
      log.push(`out at ${host.time}`)
    }
  }, { deadline: 3, miss: 'abort' })
  const error = rejection(job)
  await host.drain()
  assert.instance(await error, DeadlineError)
  assert.is(job.state, 'cancelled')
  assert.equal(log, ['out at 4'])
})

jobs('job.yield() throws in a generator, outside the job and after its end', async () => {
  const { host, scheduler } = world()
  const generator = scheduler.spawn(function* () {
    yield
    generator.yield()
  })
  const failed = rejection(generator)
  assert.throws(() => generator.yield(), /in a generator write `yield`/)
  const ended = scheduler.spawn(async () => { await scheduler.current.yield() }, { name: 'ended' })
  await host.drain()
  assert.match((await failed).message, 'in a generator write `yield`')
  assert.match((await rejection(ended.yield())).message, 'ended has ended')
})

jobs('spawn rejects async generator functions', () => {
  const { scheduler } = world()
  assert.throws(() => scheduler.spawn(async function* () {}), /a generator function, not an async one/)
  assert.is(scheduler.stats().jobs, 0)
})

jobs.run()

// -------------------------------------------------------------------------------------------- foreign awaits

const foreign = suite('foreign awaits')

foreign('a foreign await suspends the job without charging it until its next job.yield()', async () => {
  const { host, scheduler, trace, log } = world()
  const { promise, resolve } = deferred()
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    host.advance(1)
    log.push(await promise)
    log.push(self.state, scheduler.current)
    host.advance(10)
    await self.yield()
    log.push(self.state, scheduler.current.name)
    host.advance(2)
  }, { name: 'job' })
  host.after(5, () => resolve('value'))
  await host.drain()
  assert.equal(log, ['value', 'waiting', null, 'running', 'job'])
  assert.is(job.cost, 3)
  assertTrace(trace, `
    0 release job, start job
    1 block job on=null
    15 wake job, resume job
    17 finish job`)
})

foreign('other jobs run during a foreign await, and the job returns by its rank', async () => {
  const { host, scheduler, trace } = world({ round: 3 })
  const { promise, resolve } = deferred()
  scheduler.spawn(async () => {
    const job = scheduler.current
    await promise
    await job.yield()
    await toil(host, job, 2)
  }, { name: 'away', priority: 2 })
  scheduler.spawn(execute(host, 2), { name: 'low' })
  scheduler.spawn(function* () {
    host.advance(1)
    resolve() // promises settle when the stack is empty, here at the end of the round
    yield* execute(host, 4)
  }, { name: 'middle', priority: 1 })
  await host.drain()
  assertTrace(trace, `
    0 release away, release low, release middle, start away, block away on=null, start middle
    3 wake away, preempt middle by=away, resume away
    5 finish away, resume middle
    7 finish middle, start low
    9 finish low`)
})

foreign('a job that ends right after a foreign await is not dispatched again', async () => {
  const { host, scheduler, trace } = world()
  const value = deferred()
  const error = deferred()
  const job = scheduler.spawn(async () => value.promise, { name: 'job' })
  const failing = rejection(scheduler.spawn(async () => { await error.promise }, { name: 'failing' }))
  host.after(3, () => value.resolve('done'))
  host.after(4, () => error.reject(new Error('broken')))
  await host.drain()
  assert.is(await job, 'done')
  assert.is((await failing).message, 'broken')
  assertTrace(trace, `
    0 release job, release failing, start job, block job on=null, start failing, block failing on=null
    3 finish job
    4 fail failing error=Error`)
})

foreign('a foreign await of an async job delays idle()', async () => {
  const { host, scheduler, log } = world()
  const { promise, resolve } = deferred()
  scheduler.spawn(async () => { await promise })
  scheduler.idle().then(() => log.push(`idle at ${host.time}`))
  host.after(7, resolve)
  await host.drain()
  assert.equal(log, ['idle at 7'])
})

foreign('jobs that await the same promise return in the order of the policy', async () => {
  const { host, scheduler, log } = world()
  const { promise, resolve } = deferred()
  for (const priority of [1, 3, 2]) {
    scheduler.spawn(async () => {
      const job = scheduler.current
      await promise
      await job.yield()
      log.push(priority)
    }, { priority })
  }
  host.after(1, resolve)
  await host.drain()
  assert.equal(log, [3, 2, 1])
})

foreign('a job in a foreign await misses its deadline; abort throws at its next yield', async () => {
  const { host, scheduler, trace } = world()
  const { promise, resolve } = deferred()
  const error = rejection(scheduler.spawn(async () => {
    const job = scheduler.current
    await promise
    await job.yield()
  }, { name: 'job', deadline: 4, miss: 'abort' }))
  host.after(6, resolve)
  await host.drain()
  assert.instance(await error, DeadlineError)
  assertTrace(trace, `
    0 release job, start job, block job on=null
    4 miss job
    6 wake job, resume job, cancel job error=DeadlineError`)
})

foreign.run()

// ------------------------------------------------------------------------------ concurrent yields of one job

const concurrent = suite('several concurrent job.yield() calls')

concurrent('concurrent job.yield() calls share one point and resume together', async () => {
  const { host, scheduler, log, trace } = world()
  const thread = async (job, name) => {
    for (let i = 1; i <= 3; i++) {
      log.push(name + i)
      host.advance(1)
      await job.yield()
    }
  }
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    await Promise.all([thread(self, 'a'), thread(self, 'b')])
    return 'both'
  }, { name: 'job' })
  await host.drain()
  assert.is(await job, 'both')
  assert.is(job.cost, 6)
  assert.equal(log, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
  assertTrace(trace, `
    0 release job, start job
    6 finish job`)
})

concurrent('a cancellation rejects all concurrent job.yield() calls with its reason', async () => {
  const { host, scheduler, log } = world()
  const thread = async (job, name) => {
    try {
      await toil(host, job, 10)
    } catch (error) {
      log.push(`${name} ${error}`)
      throw error
    }
  }
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    return Promise.all([thread(self, 'a'), thread(self, 'b')])
  })
  const error = rejection(job)
  scheduler.spawn(function* () { job.cancel('stop') }, { priority: 1, release: 3 })
  await host.drain()
  assert.is(await error, 'stop')
  assert.equal(log, ['a stop', 'b stop'])
})

concurrent('while one part of a job is in a foreign await, the other part runs', async () => {
  const { host, scheduler, log } = world()
  const { promise, resolve } = deferred()
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    const away = promise.then(() => log.push(`back at ${host.time}`))
    await toil(host, self, 4)
    log.push(`worked until ${host.time}`)
    await away
  })
  host.after(9, resolve)
  await host.drain()
  assert.equal(log, ['worked until 4', 'back at 9'])
  assert.is(job.cost, 4)
  assert.is(job.finished, 9)
})

concurrent.run()

// ------------------------------------------------------------------------------------------------ cancelling

const cancelling = suite('cancelling async jobs')

cancelling('an async job cancelled before its start never calls its function', async () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(async () => { log.push('called') })
  const later = scheduler.spawn(async () => { log.push('called') }, { release: 5 })
  assert.is(job.cancel('no'), true)
  assert.is(later.cancel('later'), true)
  assert.equal([await rejection(job), await rejection(later)], ['no', 'later'])
  await host.drain()
  assert.equal(log, [])
  assert.equal(host.timers, [])
})

cancelling('an async job cancelled at a point receives the reason once; finally may await', async () => {
  const { host, scheduler, trace, log } = world()
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    try {
      await toil(host, self, 10)
    } catch (error) {
      log.push(error.message)
      await toil(host, self, 2)
      throw error
    }
  }, { name: 'job' })
  const error = rejection(job)
  const cancel = () => { job.cancel(new Error('enough')) }
  scheduler.spawn(cancel, { name: 'canceller', priority: 1, release: 3 })
  await host.drain()
  assert.is((await error).message, 'enough')
  assert.equal(log, ['enough'])
  assertTrace(trace, `
    0 release job, start job
    3 release canceller, preempt job by=canceller, start canceller, finish canceller, resume job
    5 cancel job error=Error`)
})

cancelling('an async job that cancels itself receives the reason at its next point', async () => {
  const { host, scheduler, log } = world({ budget: 100 })
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    self.cancel('mine')
    log.push('on')
    await self.yield()
    log.push('never')
  })
  assert.is(await Promise.race([rejection(job), host.drain().then(() => 'hangs')]), 'mine')
  assert.equal(log, ['on'])
})

cancelling('an async job that catches the reason continues to its result', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    try {
      await toil(host, self, 10)
    } catch {
      await toil(host, self, 2)
      return 'result'
    }
  })
  scheduler.spawn(function* () { job.cancel() }, { priority: 1, release: 3 })
  await host.drain()
  assert.is(await job, 'result')
  assert.equal([job.state, job.cost], ['done', 5])
})

cancelling('a job cancelled in a foreign await receives the reason once, at its next yield', async () => {
  const own = [rt.Scheduler, (_, job) => job.yield()]
  for (const [Scheduler, pause] of [own, [ContextualScheduler, scheduler => scheduler.yield()]]) {
    const { host, scheduler, trace, log } = world({ Scheduler })
    const [before, within] = [deferred(), deferred()]
    const job = scheduler.spawn(async () => {
      const self = scheduler.current
      try {
        await before.promise
        log.push(`on at ${host.time}`)
        await pause(scheduler, self)
        log.push('never')
      } finally {
        await toil(host, self, 2)
        await within.promise
        await pause(scheduler, self)
        log.push(`out at ${host.time}`)
      }
    }, { name: 'job' })
    job.catch(error => log.push(`rejected ${error} at ${host.time}`))
    host.after(2, () => log.push(job.cancel('gone'), job.cancel('again'), job.state))
    host.after(8, before.resolve)
    host.after(20, within.resolve)
    scheduler.idle().then(() => log.push(`idle at ${host.time}`))
    await host.drain()
    assert.equal(log, [true, false, 'waiting', 'on at 8', 'out at 20', 'rejected gone at 20', 'idle at 20'])
    assertTrace(trace, `
      0 release job, start job, block job on=null
      8 wake job, resume job
      10 block job on=null
      20 wake job, resume job, cancel job error=gone`)
  }
})

cancelling('a job cancelled in a foreign await may catch the reason and continue', async () => {
  const { host, scheduler } = world()
  const { promise, resolve } = deferred()
  const catches = scheduler.spawn(async () => {
    const job = scheduler.current
    await promise
    await job.yield().catch(() => {})
    await job.yield()
    return 'result'
  })
  const ends = scheduler.spawn(async () => { await promise })
  const reason = rejection(ends)
  host.after(2, () => [catches.cancel('no'), ends.cancel('unheard')])
  host.after(8, resolve)
  await host.drain()
  assert.equal([await catches, catches.state, await reason, ends.state], ['result', 'done', 'unheard', 'cancelled'])
})

cancelling('a signal cancels an async job, and its listener is removed', async () => {
  const { host, scheduler } = world()
  const controller = new AbortController()
  const listeners = countListeners(controller.signal)
  const stopped = rejection(scheduler.spawn(async () => toil(host, scheduler.current, 10), { signal: controller.signal }))
  const done = scheduler.spawn(async () => toil(host, scheduler.current, 1), { signal: controller.signal, priority: 1 })
  assert.is(listeners.count, 1)
  scheduler.spawn(function* () { controller.abort('signalled') }, { priority: 2, release: 4 })
  await host.drain()
  assert.is(await stopped, 'signalled')
  assert.is(done.state, 'done')
  assert.is(listeners.count, 0)
})

cancelling('a cancelled async job is never reported as unhandled', async () => {
  const { host, scheduler, log } = world({ onError: error => log.push(error) })
  const job = scheduler.spawn(async () => toil(host, scheduler.current, 10))
  scheduler.spawn(function* () { job.cancel() }, { priority: 1, release: 3 })
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.equal(log, [])
})

/** @param {EventTarget} target counts its listeners from this call on */
function countListeners(target) {
  const listeners = new Set()
  const { addEventListener, removeEventListener } = target
  target.addEventListener = function (type, listener, ...rest) {
    listeners.add(listener)
    addEventListener.call(this, type, listener, ...rest)
  }
  target.removeEventListener = function (type, listener, ...rest) {
    listeners.delete(listener)
    removeEventListener.call(this, type, listener, ...rest)
  }
  return { get count() { return listeners.size } }
}

cancelling.run()

// -------------------------------------------------------------------------------------------------- rt.yield

const yielding = suite('rt.yield() in any async function')

yielding('rt.yield() outside a job continues in the next round, later in the same round', async () => {
  const { host, scheduler, log } = world()
  const helper = async () => {
    log.push(`0 ${scheduler.current}`)
    await scheduler.yield()
    log.push(`1 ${scheduler.current.name}`)
    host.advance(1)
    await scheduler.yield()
    log.push(`2 ${scheduler.current.name}`)
    host.advance(1)
    return 'result'
  }
  const result = helper()
  assert.equal(log, ['0 null'])
  await host.drain()
  assert.is(await result, 'result')
  assert.equal(log, ['0 null', '1 continuation', '2 continuation'])
  assert.is(scheduler.stats().rounds, 1)
  assert.is(scheduler.stats().busy, 2)
})

yielding('rt.yield() ends the round in time and lets timers fire', async () => {
  const { host, scheduler, log } = world({ round: 2 })
  const helper = async () => {
    for (let i = 1; i <= 4; i++) {
      await scheduler.yield()
      host.advance(1)
      log.push(i)
    }
  }
  host.after(1, () => log.push('timer'))
  helper()
  await host.drain()
  assert.equal(log, [1, 2, 'timer', 3, 4])
})

yielding('rt.yield() alternates with other continuations, first in, first out', async () => {
  for (const budget of [1, 5, 'auto']) {
    const { host, scheduler, log } = world({ budget })
    const helper = async name => {
      for (let i = 1; i <= 3; i++) {
        await scheduler.yield()
        log.push(name + i)
      }
    }
    helper('a')
    helper('b')
    helper('c')
    await host.drain()
    assert.equal(log, ['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3'], `a budget of ${budget}`)
  }
})

yielding('rt.yield() continues before jobs of equal rank, after jobs of higher rank', async () => {
  const { host, scheduler, log } = world()
  for (const priority of [0, -1, 1]) scheduler.spawn(() => log.push(`job ${priority}`), { priority })
  const helper = async () => {
    for (let i = 1; i <= 2; i++) {
      await scheduler.yield()
      log.push(i)
    }
  }
  helper()
  await host.drain()
  assert.equal(log, ['job 1', 1, 2, 'job 0', 'job -1'])
})

yielding('rt.yield() accepts a priority and a deadline', async () => {
  const urgent = world({ policy: edf })
  const byDeadline = async deadline => {
    await urgent.scheduler.yield({ deadline })
    urgent.log.push(deadline)
  }
  for (const deadline of [30, 10, 20]) byDeadline(deadline)
  await urgent.host.drain()
  assert.equal(urgent.log, [10, 20, 30])

  const important = world({ policy: fp })
  const byPriority = async priority => {
    await important.scheduler.yield({ priority })
    important.log.push(priority)
  }
  for (const priority of [0.5, -1, 1, 7, 0]) byPriority(priority)
  await important.host.drain()
  assert.equal(important.log, [7, 1, 0.5, 0, -1])
})

yielding('rt.yield() in a helper of an async job is a point of that job', async () => {
  const { host, scheduler, trace } = world()
  const helper = async () => {
    host.advance(1)
    await scheduler.yield()
    host.advance(1)
    await scheduler.yield()
  }
  const job = scheduler.spawn(async () => {
    const self = scheduler.current
    await helper()
    await self.yield() // identifies the job of the code that follows
    await helper()
  }, { name: 'job' })
  await host.drain()
  assert.is(job.cost, 4)
  assert.is(scheduler.stats().jobs, 1)
  assertTrace(trace, `
    0 release job, start job
    4 finish job`)
})

yielding('rt.yield() inherits the deadline and priority of the running generator job', async () => {
  for (const policy of [edf, fp]) {
    const { host, scheduler, log } = world({ policy })
    const helper = async name => {
      await scheduler.yield()
      log.push(name)
    }
    const calls = (name, options) => scheduler.spawn(function* () { helper(name) }, options)
    calls('middle', { deadline: 20, priority: 2 })
    calls('last', { deadline: 30, priority: 1 })
    calls('first', { deadline: 10, priority: 3 })
    const rival = scheduler.spawn(function* () { log.push('rival') }, { deadline: 25, priority: 1.5 })
    await host.drain()
    assert.is(rival.state, 'done')
    assert.equal(log, ['first', 'middle', 'rival', 'last'], policy.name)
  }
})

yielding('rt.yield() with options in an async job suspends the job', async () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(async () => {
    const job = scheduler.current
    host.advance(1)
    await scheduler.yield({ priority: -1 })
    host.advance(1)
    await job.yield()
    host.advance(1)
  }, { name: 'job', priority: 1 })
  scheduler.spawn(execute(host, 2), { name: 'other' })
  await host.drain()
  assertTrace(trace, `
    0 release job, release other, start job
    1 release continuation, block job on=null, start other
    3 finish other, start continuation
    4 wake job, finish continuation, resume job
    5 finish job`)
})

yielding('rt.yield() rejects with the reason of its signal, before or during the wait', async () => {
  const { host, scheduler } = world()
  assert.is(await rejection(scheduler.yield({ signal: AbortSignal.abort('before') })), 'before')
  const controller = new AbortController()
  const listeners = countListeners(controller.signal)
  const waiting = rejection(scheduler.yield({ signal: controller.signal }))
  assert.is(listeners.count, 1)
  controller.abort('meanwhile')
  assert.is(await waiting, 'meanwhile')
  assert.is(listeners.count, 0)
  await host.drain()
  await scheduler.idle()
})

yielding('rt.yield() rejects when its job is cancelled', async () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(async () => {
    try {
      await toil(host, scheduler, 10)
    } finally {
      log.push('out')
    }
  })
  const error = rejection(job)
  scheduler.spawn(function* () { job.cancel('stop') }, { priority: 1, release: 3 })
  await host.drain()
  assert.is(await error, 'stop')
  assert.equal(log, ['out'])
})

yielding('rt.yield() throws for invalid options', () => {
  const { scheduler } = world()
  const refused = (options, pattern) => assert.throws(() => scheduler.yield(options), pattern)
  refused('inherit', /options must be an object, got "inherit"/)
  refused({ deadline: 0 }, /deadline must be a number > 0, got 0/)
  refused({ deadline: NaN }, /deadline must be a number > 0, got NaN/)
  refused({ priority: 'urgent' }, /priority must be .*, got "urgent"/)
  refused({ priority: Infinity }, /priority must be a finite number, got Infinity/)
  refused({ signal: {} }, /signal must be an AbortSignal/)
  assert.is(scheduler.stats().jobs, 0)
})

yielding.run()

// ------------------------------------------------------------------------------------- the job of an
// rt.yield()

for (const [engine, Scheduler] of [['no engine', rt.Scheduler], ['AsyncContext', ContextualScheduler]]) {
  const whose = suite(`the job of an rt.yield(), with ${engine}`)
  const settings = [1, 3, 100, 'auto'].map(budget => ({ Scheduler, budget }))
  const sleep = (host, ms) => new Promise(resolve => host.after(ms, resolve))

  whose('rt.yield() in an async job has its deadline, priority and cancellation', async () => {
    for (const options of settings) {
      const { host, scheduler, log } = world({ ...options, policy: edf })
      const job = scheduler.spawn(async () => {
        for (let i = 0; ; i++) {
          await scheduler.yield()
          host.advance(1)
          log.push(i)
        }
      }, { deadline: 20 })
      scheduler.spawn(function* () { log.push('later') }, { deadline: 25, release: 1 })
      scheduler.spawn(() => { job.cancel('enough') }, { deadline: 5, release: 4 })
      assert.is(await Promise.race([rejection(job), host.drain()]), 'enough')
      assert.equal(log, options.budget === 1 ? [0, 1, 2, 3, 'later'] : log)
      assert.is(log.at(-1), 'later')
    }
  })

  whose('rt.yield() after job.yield() belongs to the job, even after foreign awaits', async () => {
    for (const options of settings) {
      const { host, scheduler, log } = world({ ...options, policy: edf })
      scheduler.spawn(async () => {
        const job = scheduler.current
        await sleep(host, 5)
        await job.yield()
        for (const i of [1, 2]) {
          scheduler.spawn(function* () { log.push(`after ${i}`) }, { deadline: 100 })
          scheduler.spawn(function* () { log.push(`before ${i}`) }, { deadline: 1 })
          await scheduler.yield()
          log.push(`job ${i}`)
        }
      }, { deadline: 20 })
      await host.drain()
      assert.equal(log, ['before 1', 'job 1', 'before 2', 'job 2', 'after 1', 'after 2'])
    }
  })

  whose('rt.yield() in a helper of a generator job keeps the rank of that job in a loop', async () => {
    for (const options of settings) {
      const { host, scheduler, log } = world(options)
      const helper = async name => {
        for (let i = 1; i <= 2; i++) {
          await scheduler.yield()
          log.push(name + i)
        }
      }
      scheduler.spawn(function* () { helper('low') }, { priority: -1 })
      scheduler.spawn(function* () { helper('high') }, { priority: 1 })
      scheduler.spawn(function* () { log.push('middle') })
      await host.drain()
      assert.equal(log, ['high1', 'high2', 'middle', 'low1', 'low2'])
    }
  })

  whose.run()
}
