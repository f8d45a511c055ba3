import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as rt from '../../rt.mjs'
import { platformHost, PLATFORMS } from '../support/platform-host.mjs'
import { CASES, isPossible, ourLog } from '../support/scheduler-cases.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, virtualHost } from '../support/virtual-host.mjs'
import { abortListeners, deferred, world as plainWorld, exactWorld as world, rejection } from '../support/world.mjs'

const { DeadlineError, Task, TaskController, edf, fp } = rt

/** An async job's `execute`. */
async function toil(host, job, ms, step = 1) {
  for (; ms > step; ms -= step) {
    host.advance(step)
    await job.yield()
  }
  host.advance(ms)
}

/** A module of its own, which finds an AsyncContext when it begins its first async job. */
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

jobs('get the job, then the arguments; what they return is the result', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(async (self, a, b) => [self.name, self.state, a + b], { name: 'sum' }, 2, 3)
  await host.drain()
  assert.equal(await job, ['sum', 'running', 5])
  assert.is(job.state, 'done')
})

jobs('start when they are dispatched, not when they are spawned', async () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(async () => { log.push('job') })
  log.push('spawned')
  await host.drain()
  assert.equal(log, ['spawned', 'job'])
})

jobs('adopt a promise, a thenable and a job that they return', async () => {
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

jobs('fail with what they throw, before and after a point', async () => {
  const { host, scheduler, trace } = world()
  const early = rejection(scheduler.spawn(async () => { throw new Error('early') }, { name: 'early' }))
  const late = rejection(scheduler.spawn(async job => {
    await job.yield()
    throw new Error('late')
  }, { name: 'late' }))
  await host.drain()
  assert.equal([(await early).message, (await late).message], ['early', 'late'])
  assertTrace(trace, `
    0 release early, release late, start early, fail early error=Error, start late, fail late error=Error`)
})

jobs('whose failure nobody has asked for are reported with the job; the others go on', async () => {
  const onError = (error, job) => log.push(`${job.name} ${error.message}`)
  const { host, scheduler, log } = world({ onError })
  scheduler.spawn(async () => { throw new Error('no') }, { name: 'broken' })
  scheduler.spawn(async job => { await job.yield(); log.push('whole') })
  await host.drain()
  assert.equal(log, ['whole', 'broken no'])
})

jobs('may be the work of tasks: functions and classes, with the task as `this`', async () => {
  const { host, scheduler } = world()
  class Add extends Task {
    offset = 100
    async run(job, a, b) { await job.yield(); return this.offset + a + b }
  }
  const sum = new Add({ name: 'sum', scheduler }).release(1, 2)
  const product = new Task(async (job, a, b) => a * b, { scheduler }).release(3, 4)
  await host.drain()
  assert.equal([await sum, await product, sum.name], [103, 12, 'sum'])
})

jobs('are charged for all that runs between their points, whatever the budget', async () => {
  for (const budget of [1, 2, 7, 'auto']) {
    const { host, scheduler, trace } = world({ budget })
    const job = scheduler.spawn(async self => toil(host, self, 5), { name: 'job' })
    await host.drain()
    assert.equal([job.cost, scheduler.stats().busy], [5, 5])
    assertTrace(trace, `
      0 release job, start job
      5 finish job`, `a budget of ${budget}`)
  }
})

jobs('may be plain functions that return a promise, which get no job', async () => {
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

jobs('are charged for what nested helpers do, several deep', async () => {
  const { host, scheduler, trace } = world()
  const deep = async (job, levels) => {
    if (levels > 0) return 1 + await deep(job, levels - 1)
    host.advance(1)
    await job.yield()
    host.advance(1)
    return 0
  }
  const job = scheduler.spawn(async self => await deep(self, 4) + await deep(self, 4), { name: 'job' })
  await host.drain()
  assert.is(await job, 8)
  assert.is(job.cost, 4)
  assertTrace(trace, `
    0 release job, start job
    4 finish job`)
})

jobs('stay inside the scheduler while their calls return, however deep', async () => {
  const { host, scheduler, trace } = world()
  const deep = async (job, levels) => {
    if (levels === 0) return job.yield()
    await deep(job, levels - 1)
  }
  const job = scheduler.spawn(async self => {
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

jobs('stay inside the scheduler however many points they pass within a budget', async () => {
  const { host, scheduler, trace } = world({ budget: 1000 })
  const job = scheduler.spawn(async self => {
    for (let i = 0; i < 300; i++) await self.yield()
    host.advance(1)
  }, { name: 'job' })
  await host.drain()
  assert.is(job.cost, 1)
  assertTrace(trace, `
    0 release job, start job
    1 finish job`)
})

jobs('are preempted by a generator job, and preempt one, at the next point', async () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(async job => toil(host, job, 4), { name: 'low', priority: 1 })
  scheduler.spawn(execute(host, 4), { name: 'middle', priority: 2, release: 1 })
  scheduler.spawn(async job => toil(host, job, 2), { name: 'high', priority: 3, release: 3 })
  await host.drain()
  assertTrace(trace, `
    0 release low, start low
    1 release middle, preempt low by=middle, start middle
    3 release high, preempt middle by=high, start high
    5 finish high, resume middle
    7 finish middle, resume low
    10 finish low`)
})

jobs('hand over at the next point to a more eligible job that they spawn, within their budget', async () => {
  const { host, scheduler, trace } = world({ budget: 100 })
  scheduler.spawn(async job => {
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

jobs('are ordered with generator jobs by their deadlines', async () => {
  const { host, scheduler, trace } = world({ policy: edf })
  scheduler.spawn(async job => toil(host, job, 2), { name: 'second', deadline: 20 })
  scheduler.spawn(execute(host, 2), { name: 'third', deadline: 30 })
  scheduler.spawn(execute(host, 2), { name: 'first', deadline: 10 })
  scheduler.spawn(async job => toil(host, job, 2), { name: 'fourth', deadline: 40 })
  scheduler.spawn(async job => toil(host, job, 1), { name: 'urgent', deadline: 5, release: 3 })
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

jobs('rotate with their equals at the end of a slice', async () => {
  const { host, scheduler, trace } = world({ slice: 2 })
  scheduler.spawn(async job => toil(host, job, 4), { name: 'a' })
  scheduler.spawn(execute(host, 4), { name: 'g' })
  scheduler.spawn(async job => toil(host, job, 3), { name: 'b' })
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

jobs('count their points as yields, passed or not', async () => {
  const { host, scheduler } = world({ budget: 3 })
  scheduler.spawn(async job => { for (let i = 0; i < 10; i++) await job.yield() })
  await host.drain()
  assert.is(scheduler.stats().yields, 10)
})

jobs('let rounds end and timers fire between their points', async () => {
  const { host, scheduler, log } = world({ round: 3 })
  scheduler.spawn(async job => {
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

jobs('end the round at the next point when input is pending', async () => {
  const { host, scheduler, log } = world({ budget: 1 })
  scheduler.spawn(async job => {
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

jobs('stop at the next point while the scheduler is paused', async () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(async job => {
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

jobs('overrun, stall and miss like any other', async () => {
  const { host, scheduler, trace } = world({ slice: 3 })
  const job = scheduler.spawn(async self => {
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

jobs('asked to abort at their deadline are thrown a DeadlineError at the next point', async () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(async self => {
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

jobs('refuse job.yield() in a generator, from outside and after the end', async () => {
  const { host, scheduler } = world()
  const generator = scheduler.spawn(function* () {
    yield
    generator.yield()
  })
  const failed = rejection(generator)
  assert.throws(() => generator.yield(), /in a generator write `yield`/)
  const ended = scheduler.spawn(async job => { await job.yield() }, { name: 'ended' })
  await host.drain()
  assert.match((await failed).message, 'in a generator write `yield`')
  assert.match((await rejection(ended.yield())).message, 'ended has ended')
})

jobs('are no async generators', () => {
  const { scheduler } = world()
  assert.throws(() => scheduler.spawn(async function* () {}), /a generator function, not an async one/)
  assert.is(scheduler.stats().jobs, 0)
})

jobs.run()

// -------------------------------------------------------------------------------------------- foreign awaits

const foreign = suite('foreign awaits')

foreign('take the job out of the scheduler, uncharged, until its next job.yield()', async () => {
  const { host, scheduler, trace, log } = world()
  const { promise, resolve } = deferred()
  const job = scheduler.spawn(async self => {
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

foreign('let other jobs run meanwhile; the job comes back by its standing', async () => {
  const { host, scheduler, trace } = world({ round: 3 })
  const { promise, resolve } = deferred()
  scheduler.spawn(async job => {
    await promise
    await job.yield()
    await toil(host, job, 2)
  }, { name: 'away', priority: 2 })
  scheduler.spawn(execute(host, 2), { name: 'low' })
  scheduler.spawn(function* () {
    host.advance(1)
    resolve() // promises are heard when the stack is empty: here, when the round ends
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

foreign('may be followed by the end at once, which is not dispatched', async () => {
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

foreign('of an async job keep idle() waiting', async () => {
  const { host, scheduler, log } = world()
  const { promise, resolve } = deferred()
  scheduler.spawn(async () => { await promise })
  scheduler.idle().then(() => log.push(`idle at ${host.time}`))
  host.after(7, resolve)
  await host.drain()
  assert.equal(log, ['idle at 7'])
})

foreign('may end in the same promise for many jobs: the policy orders their return', async () => {
  const { host, scheduler, log } = world()
  const { promise, resolve } = deferred()
  for (const priority of [1, 3, 2]) {
    scheduler.spawn(async job => {
      await promise
      await job.yield()
      log.push(priority)
    }, { priority })
  }
  host.after(1, resolve)
  await host.drain()
  assert.equal(log, [3, 2, 1])
})

foreign('miss deadlines like other waits; a job that asked to abort is told at its next yield', async () => {
  const { host, scheduler, trace } = world()
  const { promise, resolve } = deferred()
  const error = rejection(scheduler.spawn(async job => {
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

// -------------------------------------------------------------------------------- several threads of one job

const concurrent = suite('several job.yield() at once')

concurrent('share one point; all go on when the job is resumed', async () => {
  const { host, scheduler, log, trace } = world()
  const thread = async (job, name) => {
    for (let i = 1; i <= 3; i++) {
      log.push(name + i)
      host.advance(1)
      await job.yield()
    }
  }
  const job = scheduler.spawn(async self => {
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

concurrent('give both sides the reason of a cancellation', async () => {
  const { host, scheduler, log } = world()
  const thread = async (job, name) => {
    try {
      await toil(host, job, 10)
    } catch (error) {
      log.push(`${name} ${error}`)
      throw error
    }
  }
  const job = scheduler.spawn(async self => Promise.all([thread(self, 'a'), thread(self, 'b')]))
  const error = rejection(job)
  scheduler.spawn(function* () { job.cancel('stop') }, { priority: 1, release: 3 })
  await host.drain()
  assert.is(await error, 'stop')
  assert.equal(log, ['a stop', 'b stop'])
})

concurrent('while one side is away in a foreign await, the other runs on', async () => {
  const { host, scheduler, log } = world()
  const { promise, resolve } = deferred()
  const job = scheduler.spawn(async self => {
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

cancelling('before the start: the function is never called', async () => {
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

cancelling('at a point: the reason is thrown there, once; finally may await', async () => {
  const { host, scheduler, trace, log } = world()
  const job = scheduler.spawn(async self => {
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

cancelling('by itself: at its next point, not before', async () => {
  const { host, scheduler, log } = world({ budget: 100 })
  const job = scheduler.spawn(async self => {
    self.cancel('mine')
    log.push('on')
    await self.yield()
    log.push('never')
  })
  assert.is(await Promise.race([rejection(job), host.drain().then(() => 'hangs')]), 'mine')
  assert.equal(log, ['on'])
})

cancelling('one that catches the reason goes on to its result', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(async self => {
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

cancelling('in a foreign await: the reason is thrown at its next yield, once; finally may yield and wait', async () => {
  const own = [rt.Scheduler, (_, job) => job.yield()]
  for (const [Scheduler, pause] of [own, [ContextualScheduler, scheduler => scheduler.yield()]]) {
    const { host, scheduler, trace, log } = world({ Scheduler })
    const [before, within] = [deferred(), deferred()]
    const job = scheduler.spawn(async self => {
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

cancelling('in a foreign await: a job that catches the reason goes on, one that ends without a yield is cancelled', async () => {
  const { host, scheduler } = world()
  const { promise, resolve } = deferred()
  const catches = scheduler.spawn(async job => {
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

cancelling('by a signal: with its reason; nobody is left listening after the end', async () => {
  const { host, scheduler } = world()
  const controller = new AbortController()
  const listeners = countListeners(controller.signal)
  const stopped = rejection(scheduler.spawn(async job => toil(host, job, 10), { signal: controller.signal }))
  const done = scheduler.spawn(async job => toil(host, job, 1), { signal: controller.signal, priority: 1 })
  assert.is(listeners.count, 1)
  scheduler.spawn(function* () { controller.abort('signalled') }, { priority: 2, release: 4 })
  await host.drain()
  assert.is(await stopped, 'signalled')
  assert.is(done.state, 'done')
  assert.is(listeners.count, 0)
})

cancelling('is never reported as unhandled', async () => {
  const { host, scheduler, log } = world({ onError: error => log.push(error) })
  const job = scheduler.spawn(async self => toil(host, self, 10))
  scheduler.spawn(function* () { job.cancel() }, { priority: 1, release: 3 })
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.equal(log, [])
})

/** @param {EventTarget} target counts the listeners on it from now on */
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

yielding('goes on in the next round, then in the same one, without a job', async () => {
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

yielding('ends the round in time and lets timers fire', async () => {
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

yielding('takes turns with other continuations, first in, first out', async () => {
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

yielding('goes before tasks of equal standing, behind those of better', async () => {
  const { host, scheduler, log } = world()
  scheduler.postTask(() => log.push('equal'))
  scheduler.postTask(() => log.push('background'), { priority: 'background' })
  scheduler.postTask(() => log.push('blocking'), { priority: 'user-blocking' })
  const helper = async () => {
    for (let i = 1; i <= 2; i++) {
      await scheduler.yield()
      log.push(i)
    }
  }
  helper()
  await host.drain()
  assert.equal(log, ['blocking', 1, 2, 'equal', 'background'])
})

yielding('takes a priority and a deadline', async () => {
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
  for (const priority of [0.5, 'background', 'user-blocking', 7, 'user-visible']) byPriority(priority)
  await important.host.drain()
  assert.equal(important.log, [7, 'user-blocking', 0.5, 'user-visible', 'background'])
})

yielding('in a helper of an async job is that job\'s own point', async () => {
  const { host, scheduler, trace } = world()
  const helper = async () => {
    host.advance(1)
    await scheduler.yield()
    host.advance(1)
    await scheduler.yield()
  }
  const job = scheduler.spawn(async self => {
    await helper()
    await self.yield() // which tells whose code goes on
    await helper()
  }, { name: 'job' })
  await host.drain()
  assert.is(job.cost, 4)
  assert.is(scheduler.stats().jobs, 1)
  assertTrace(trace, `
    0 release job, start job
    4 finish job`)
})

yielding('inherits deadline and priority of the running generator job', async () => {
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

yielding('with other options in an async job leaves it waiting until its next job.yield()', async () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(async job => {
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

yielding('rejects with the reason of its signal, before or while it waits', async () => {
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

yielding('rejects when the job that it belongs to is cancelled', async () => {
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

yielding('refuses wrong options at the call', () => {
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

// ------------------------------------------------------------------------------- Prioritized Task Scheduling

const PRIORITIES = ['user-blocking', 'user-visible', 'background']

const tasks = suite('postTask')

tasks('resolves with what the callback returns; promises, thenables and jobs are adopted', async () => {
  const { host, scheduler } = world()
  const results = Promise.all([
    scheduler.postTask(() => 1),
    scheduler.postTask(async () => 2),
    scheduler.postTask(() => Promise.resolve(3)),
    scheduler.postTask(() => ({ then: done => done(4) })),
    scheduler.postTask(() => scheduler.postTask(() => 5)),
    scheduler.postTask(() => {})
  ])
  await host.drain()
  assert.equal(await results, [1, 2, 3, 4, 5, undefined])
})

tasks('rejects with what the callback throws or its promise rejects with', async () => {
  const { host, scheduler } = world()
  const errors = Promise.all([
    rejection(scheduler.postTask(() => { throw new Error('thrown') })),
    rejection(scheduler.postTask(async () => { throw new Error('async') })),
    rejection(scheduler.postTask(() => Promise.reject(new Error('returned'))))
  ])
  await host.drain()
  assert.equal((await errors).map(({ message }) => message), ['thrown', 'async', 'returned'])
})

tasks('calls its callback later, without arguments', async () => {
  const { host, scheduler, log } = world()
  scheduler.postTask((...args) => log.push(args))
  scheduler.postTask(async (...args) => log.push(args))
  assert.equal(log, [])
  await host.drain()
  assert.equal(log, [[], []])
})

tasks('drives a generator function, point by point', async () => {
  const { host, scheduler, log } = world()
  const result = scheduler.postTask(function* () {
    log.push('one')
    scheduler.postTask(() => log.push('blocking'), { priority: 'user-blocking' })
    yield
    log.push('two')
    return yield Promise.resolve('result')
  })
  await host.drain()
  assert.is(await result, 'result')
  assert.equal(log, ['one', 'blocking', 'two'])
})

tasks('returns a job, with the name of its callback', async () => {
  const { host, scheduler } = world()
  const job = scheduler.postTask(function encode() {}, { priority: 'background' })
  assert.equal([job.name, job.priority, job.state], ['encode', -1, 'ready'])
  assert.is(scheduler.postTask(() => {}).name, 'task')
  await host.drain()
  assert.is(job.state, 'done')
})

tasks('take any finite priority; the names are 1, 0 and -1', async () => {
  const { host, scheduler, log } = world()
  const order = [0, 'background', 1, 'user-visible', -1, 2, 'user-blocking', -2]
  for (const priority of order) scheduler.postTask(() => log.push(priority), { priority })
  await host.drain()
  assert.equal(log, [2, 1, 'user-blocking', 0, 'user-visible', 'background', -1, -2])
})

tasks('keep their order under edf; a deadline outranks every priority', async () => {
  const { host, scheduler, log } = world({ policy: edf })
  for (const priority of [...PRIORITIES].reverse()) scheduler.postTask(() => log.push(priority), { priority })
  scheduler.postTask(() => log.push('deadline'), { priority: 'background', deadline: 50 })
  await host.drain()
  assert.equal(log, ['deadline', ...PRIORITIES])
})

tasks('with a delay start when it ends, not before; a delay of 0 is none', async () => {
  const { host, scheduler, log } = world()
  const post = delay => scheduler.postTask(() => log.push(`${delay} at ${host.time}`), { delay })
  const job = post(20)
  post(5)
  post(0)
  post(2.5)
  assert.is(job.state, 'pending')
  await host.drain()
  assert.equal(log, ['0 at 0', '2.5 at 2.5', '5 at 5', '20 at 20'])
})

tasks('whose delays have ended run by priority, then in the order in which the delays ended', async () => {
  const { host, scheduler, log } = world()
  const post = (name, delay, priority) => scheduler.postTask(() => log.push(name), { delay, priority })
  post('bg 5', 5, 'background')
  post('uv 9', 9)
  post('uv 8', 8)
  post('uv 8 again', 8)
  post('ub 10', 10, 'user-blocking')
  post('ub 11', 11, 'user-blocking')
  scheduler.postTask(() => host.advance(10.5)) // all but the last delay end during this one
  scheduler.postTask(() => log.push('uv 0'))
  await host.drain()
  assert.equal(log, ['ub 10', 'uv 0', 'uv 8', 'uv 8 again', 'uv 9', 'bg 5', 'ub 11'])
})

tasks('that return iterators hand them through; generators are driven', async () => {
  const { host, scheduler } = world()
  const iterator = new Map([['a', 1]]).values()
  const own = { next: () => ({ done: true, value: 'own' }) }
  const results = Promise.all([
    scheduler.postTask(() => iterator),
    scheduler.postTask(() => own),
    scheduler.postTask(async () => iterator),
    scheduler.postTask(() => (function* () { yield; return 'driven' })())
  ])
  await host.drain()
  const [first, second, third, fourth] = await results
  assert.is(first, iterator)
  assert.is(second, own)
  assert.is(third, iterator)
  assert.equal([[...first], fourth], [[1], 'driven'])
})

tasks('that have ended are followed by what awaits them, then by the next task', async () => {
  for (const round of [1, 5, Infinity]) {
    const { host, scheduler, log } = world({ round })
    const post = (name, priority) => scheduler.postTask(() => {
      host.advance(0.4)
      log.push(name)
    }, { priority })
    const deep = async (n, name) => n > 0 ? deep(n - 1, name) : await post(name)
    post('t1').then(() => log.push('m1'))
    deep(0, 't2').then(() => log.push('m2'))
    const third = (async () => {
      await scheduler.postTask(async () => { log.push('t3') })
      log.push('m3')
    })()
    post('t4')
    await host.drain()
    await third
    assert.is(log.join(' '), 't1 m1 t2 m2 t3 m3 t4', `rounds of ${round} ms`)
  }
})

tasks('awaited one after the other do not wait for less important ones', async () => {
  for (const kind of [() => {}, async () => {}]) {
    const { host, scheduler } = world({ round: 5 })
    let background = 0
    for (let i = 0; i < 100; i++) {
      scheduler.postTask(() => {
        host.advance(1)
        background++
      }, { priority: 'background' })
    }
    const urgent = (async () => {
      for (let i = 0; i < 20; i++) await scheduler.postTask(kind, { priority: 'user-blocking' })
      return background
    })()
    await host.drain()
    assert.is(await urgent, 0)
    assert.is(background, 100)
  }
})

tasks('that have ended let the process end', async () => {
  const { host, scheduler } = world()
  scheduler.postTask(() => {}, { delay: 10, deadline: 1000 })
  assert.equal(host.timers, [{ time: 10, ref: true }])
  assert.is(await host.drain(), 10)
  assert.equal(host.timers, [])
})

tasks('with wrong arguments are refused at the call; nothing is registered', () => {
  const { host, scheduler } = world()
  for (const fn of [undefined, null, {}, 'x', 1]) {
    assert.throws(() => scheduler.postTask(fn), /fn must be a function, got/)
  }
  const refused = (options, pattern, kind) => {
    assert.throws(() => scheduler.postTask(() => {}, options), error => {
      return error instanceof kind && pattern.test(error.message)
    }, `${JSON.stringify(options)}`)
  }
  refused(5, /options must be an object, got 5/, TypeError)
  refused({ priority: 'urgent' }, /priority must be .*got "urgent"/, TypeError)
  refused({ priority: '' }, /priority must be .*got ""/, TypeError)
  refused({ priority: 'toString' }, /priority must be .*got "toString"/, TypeError)
  refused({ priority: NaN }, /priority must be a finite number, got NaN/, RangeError)
  refused({ delay: -1 }, /delay must be a finite number >= 0, got -1/, RangeError)
  refused({ delay: NaN }, /delay must be a finite number >= 0, got NaN/, RangeError)
  refused({ delay: Infinity }, /delay must be a finite number >= 0, got Infinity/, RangeError)
  refused({ delay: '5' }, /delay must be a finite number >= 0, got "5"/, TypeError)
  refused({ deadline: 0 }, /deadline must be a number > 0, got 0/, RangeError)
  refused({ signal: {} }, /signal must be an AbortSignal, got an object/, TypeError)
  refused({ signal: 'inherit' }, /signal must be an AbortSignal, got "inherit"/, TypeError)
  assert.throws(() => scheduler.postTask(async function* () {}), /async/)
  assert.is(scheduler.stats().jobs, 0)
  assert.equal([host.posts, host.timers], [0, []])
})

tasks.run()

// --------------------------------------------------------------------------------------------------- signals

const signals = suite('postTask with a signal')

signals('aborted before: rejects with its reason and never calls the callback', async () => {
  const { host, scheduler, log } = world()
  const post = options => scheduler.postTask(() => log.push('called'), options)
  const standard = await rejection(post({ signal: AbortSignal.abort() }))
  assert.equal([standard instanceof DOMException, standard.name], [true, 'AbortError'])
  const reason = new Error('why')
  assert.is(await rejection(post({ signal: AbortSignal.abort(reason), delay: 10 })), reason)
  assert.equal([host.posts, host.timers, log], [0, [], []])
  await host.drain()
  assert.equal(log, [])
})

signals('aborted while the task is queued: it leaves the queue at once', async () => {
  const { host, scheduler, log, trace } = world()
  const controller = new TaskController()
  const { signal } = controller
  const first = rejection(scheduler.postTask(() => log.push('first'), { signal }))
  const second = rejection(scheduler.postTask(() => log.push('second'), { signal }))
  scheduler.postTask(() => log.push('third'))
  controller.abort()
  assert.equal([(await first).name, (await second).name], ['AbortError', 'AbortError'])
  await host.drain()
  assert.equal(log, ['third'])
  assertTrace(trace, `
    0 release task, release task, release task, cancel task error=AbortError, cancel task error=AbortError
    0 start task, finish task`)
})

signals('aborted by another task, or during the delay: the callback is never called', async () => {
  const { host, scheduler, log } = world()
  const controller = new TaskController()
  const { signal } = controller
  const queued = rejection(scheduler.postTask(() => log.push('queued'), { signal }))
  const delayed = rejection(scheduler.postTask(() => log.push('delayed'), { signal, delay: 50 }))
  scheduler.postTask(() => controller.abort('by a task'), { priority: 'user-blocking' })
  assert.is(await host.drain(), 0)
  assert.equal([await queued, await delayed, log], ['by a task', 'by a task', []])
})

signals('aborted while its own callback runs: rejects, although the callback ends', async () => {
  const { host, scheduler, log } = world()
  const sync = new TaskController()
  const callback = rejection(scheduler.postTask(() => {
    sync.abort()
    log.push('on')
    return 'result'
  }, { signal: sync.signal }))
  const begun = new TaskController()
  const caught = rejection(scheduler.postTask(async () => {
    begun.abort('at first')
    for (let i = 0; i < 2; i++) {
      try {
        await scheduler.yield()
      } catch (error) {
        log.push(error)
      }
    }
    return 'result'
  }, { signal: begun.signal }))
  await host.drain()
  assert.equal([(await callback).name, await caught, log], ['AbortError', 'at first', ['on', 'at first', 'at first']])
})

signals('aborted after the callback has returned a promise: its result arrives, and its yields reject', async () => {
  const { host, scheduler, log } = world()
  const controllers = Array.from({ length: 4 }, () => new TaskController())
  const post = (i, fn) => scheduler.postTask(fn, { signal: controllers[i].signal })
  const sleep = ms => new Promise(resolve => host.after(ms, resolve))
  const results = [
    post(0, async () => {
      await sleep(5)
      controllers[0].abort('from within')
      return 'result'
    }),
    post(1, async () => {
      const job = scheduler.current
      await sleep(9)
      for (let i = 0; i < 2; i++) await job.yield().catch(error => log.push(error))
      return 'caught'
    }),
    post(3, () => scheduler.postTask(() => 'adopted', { delay: 9 })),
    rejection(post(2, async () => { for (;; host.advance(1)) await scheduler.yield() }))
  ]
  const abort = () => controllers.forEach(controller => controller.abort('stop'))
  scheduler.postTask(abort, { delay: 6, priority: 'user-blocking' })
  await host.drain()
  assert.equal(await Promise.all(results), ['result', 'caught', 'adopted', 'stop'])
  assert.equal(log, ['stop', 'stop'])
  assert.equal(host.errors, [])
})

signals('aborted after the end: nothing happens, nobody listens any more', async () => {
  const { host, scheduler } = world()
  const controller = new TaskController()
  const listeners = countListeners(controller.signal)
  const done = scheduler.postTask(() => 'result', { signal: controller.signal })
  const delayed = scheduler.postTask(() => 'later', { signal: controller.signal, delay: 5 })
  assert.is(listeners.count, 2) // for aborts and for changes of priority, whatever the number of tasks
  await host.drain()
  assert.is(listeners.count, 0)
  controller.abort()
  controller.setPriority('background')
  assert.equal([await done, await delayed, done.state], ['result', 'later', 'done'])
})

signals('shared by many tasks has one listener of each kind: Node does not warn, and all are aborted', async () => {
  const { host, scheduler } = world()
  const controller = new TaskController()
  const listeners = countListeners(controller.signal)
  const warnings = []
  const warn = warning => warnings.push(warning.name)
  process.on('warning', warn)
  const ended = Array.from({ length: 50 }, () => rejection(scheduler.postTask(() => {}, { signal: controller.signal })))
  assert.is(listeners.count, 2)
  await host.drain({ turns: 0 })
  controller.abort('all')
  assert.equal(new Set(await Promise.all(ended)), new Set(['all']))
  process.off('warning', warn)
  assert.equal([warnings, listeners.count], [[], 0])
})

const controllerPriority = /^priority must be 'user-blocking' or 'user-visible' or 'background', got /

signals('of a TaskController: its priority is one of the platform\'s three, or none is made', () => {
  for (const options of [undefined, null, {}, { priority: undefined }]) {
    assert.is(new TaskController(options).signal.priority, 'user-visible')
  }
  const controller = new TaskController()
  for (const [priority, got] of [[0, '0'], [1, '1'], [null, 'null'], ['urgent', '"urgent"'], ['toString', '"toString"']]) {
    const refused = error => error instanceof TypeError && controllerPriority.test(error.message) && error.message.endsWith(`, got ${got}`)
    assert.throws(() => new TaskController({ priority }), refused)
    assert.throws(() => controller.setPriority(priority), refused)
  }
  assert.is(controller.signal.priority, 'user-visible')
  assert.throws(() => new TaskController(7), /^options must be an object, got 7$/)
  assert.throws(() => new TaskController({ prority: 'background' }), /^unknown option 'prority'; did you mean 'priority'\?$/)
})

signals('shared by two tasks: a change of priority during the first reaches the second', async () => {
  const { host, scheduler, trace } = world()
  const controller = new TaskController({ priority: 'user-blocking' })
  scheduler.postTask(async function first() {
    host.advance(1)
    controller.setPriority('background')
    host.advance(1)
    await scheduler.yield()
    host.advance(1)
  }, { signal: controller.signal })
  scheduler.postTask(function second() { host.advance(1) }, { signal: controller.signal })
  scheduler.postTask(function visible() { host.advance(1) })
  await host.drain()
  assertTrace(trace, `
    0 release first, release second, release visible, start first
    2 preempt first by=visible, start visible
    3 finish visible, resume first
    4 finish first, start second
    5 finish second`)
})

signals('yielding with a signal leaves no listener behind', async () => {
  const { host, scheduler } = plainWorld({ except: [] })
  const { signal } = new AbortController()
  setMaxListeners(0, signal)
  let most = 0
  const loop = (async () => {
    for (let n = 0; n < 200; n++) {
      await scheduler.yield({ signal })
      most = Math.max(most, abortListeners(signal))
    }
  })()
  await host.drain()
  await loop
  assert.equal([abortListeners(signal), most <= 1], [0, true])
})

signals('a task that is aborted while it is queued leaves the queue', async () => {
  const { host, scheduler } = plainWorld({ except: [] })
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  let ran = 0
  const { signal } = controller
  const tasks = Array.from({ length: 50 }, () => scheduler.postTask(() => { ran++ }, { signal }))
  const last = scheduler.postTask(() => 'last')
  controller.abort('reason')
  assert.is(tasks.every(({ state }) => state === 'cancelled'), true)
  let idle = false
  scheduler.idle().then(() => { idle = true })
  await host.drain()
  assert.equal([ran, await last, idle, host.turns], [0, 'last', true, 1])
})

signals.run()

// -------------------------------------------------------------------------------------------- yield in tasks

const continuations = suite('yield in tasks')

/** A task that yields three times, then two tasks of each priority, posted in this order. */
function postAround({ scheduler, log }, options, pause = () => scheduler.yield()) {
  scheduler.postTask(async () => {
    log.push('y0')
    for (let i = 1; i <= 3; i++) {
      await pause()
      log.push(`y${i}`)
    }
  }, options)
  for (const [name, priority] of [['ub', 'user-blocking'], ['uv', 'user-visible'], ['bg', 'background']]) {
    for (const i of [1, 2]) scheduler.postTask(() => log.push(`${name}${i}`), { priority })
  }
}

const ORDERS = {
  'user-blocking': 'y0 y1 y2 y3 ub1 ub2 uv1 uv2 bg1 bg2',
  'user-visible': 'ub1 ub2 y0 y1 y2 y3 uv1 uv2 bg1 bg2',
  background: 'ub1 ub2 uv1 uv2 y0 y1 y2 y3 bg1 bg2'
}

continuations('inherits the priority of the task: before equals, behind what is more important', async () => {
  for (const budget of [1, 2, 'auto']) {
    for (const priority of PRIORITIES) {
      for (const options of [{ priority }, { signal: new TaskController({ priority }).signal }]) {
        const run = world({ budget })
        postAround(run, options)
        await run.host.drain()
        assert.is(run.log.join(' '), ORDERS[priority])
      }
    }
    const run = world({ budget })
    postAround(run)
    await run.host.drain()
    assert.is(run.log.join(' '), ORDERS['user-visible'])
  }
})

continuations('go before tasks that have not begun, whether or not slices and rounds end in between', async () => {
  for (const [slice, round, budget] of [[1, 5, 1], [1, 5, 'auto'], [0.1, 1, 3], [3, 2, 1], [Infinity, Infinity, 8]]) {
    for (const step of [0, 0.4, 1, 3, 7]) {
      const { host, scheduler, log } = world({ slice, round, budget })
      for (const name of ['a', 'b']) {
        scheduler.postTask(async () => {
          for (let i = 1; i <= 3; i++) {
            host.advance(step)
            log.push(name + i)
            await scheduler.yield()
          }
        })
      }
      scheduler.postTask(() => log.push('c'))
      await host.drain()
      assert.is(log.join(' '), 'a1 a2 a3 b1 b2 b3 c', `${step} ms at a time, slice ${slice}, round ${round}`)
    }
  }
})

continuations('take turns with each other, and with jobs of equal standing at the end of a slice', async () => {
  const { host, scheduler, log } = world({ slice: 2 })
  const step = name => {
    host.advance(1)
    log.push(name)
  }
  const loop = name => async () => { for (let i = 1; i <= 3; i++, await scheduler.yield()) step(name + i) }
  scheduler.postTask(async () => {
    scheduler.postTask(loop('a'))
    await scheduler.yield()
    loop('b')()
    await scheduler.yield()
  })
  await host.drain()
  assert.is(log.splice(0).join(' '), 'b1 b2 b3 a1 a2 a3')

  scheduler.postTask(loop('a'))
  scheduler.spawn(function* () { for (let i = 1; i <= 3; i++, yield) step(`g${i}`) })
  await host.drain()
  assert.is(log.join(' '), 'a1 a2 g1 g2 a3 g3')
})

continuations('left behind by a generator that the task returns do not stand in its way', async () => {
  const { host, scheduler, log } = world()
  const task = scheduler.postTask(() => {
    scheduler.yield().catch(() => {})
    return (function* () {
      try {
        yield new Promise(() => {})
      } finally {
        log.push('finally')
      }
    })()
  })
  const reason = rejection(task)
  scheduler.postTask(() => task.cancel('stop'), { delay: 5 })
  await host.drain()
  assert.equal([await reason, log], ['stop', ['finally']])
})

continuations('after a function that is no job any more still settles', async () => {
  const { host, scheduler, log } = world()
  const value = scheduler.postTask(() => {
    scheduler.yield().then(() => log.push('after a value'))
    return 'value'
  })
  const job = scheduler.postTask(() => {
    scheduler.yield().then(() => log.push('after a job'))
    return scheduler.postTask(() => 'adopted')
  })
  await host.drain()
  assert.equal([value.state, job.state], ['done', 'done'])
  assert.equal([await value, await job], ['value', 'adopted'])
  assert.equal(log.sort(), ['after a job', 'after a value'])
})

continuations.run()

// ------------------------------------------------------------------------------------- whose yield it is

for (const [engine, Scheduler] of [['no engine', rt.Scheduler], ['AsyncContext', ContextualScheduler]]) {
  const whose = suite(`whose rt.yield() it is, by ${engine}`)
  const isKnown = engine !== 'no engine'
  const settings = [1, 3, 100, 'auto'].map(budget => ({ Scheduler, budget }))
  const sleep = (host, ms) => new Promise(resolve => host.after(ms, resolve))

  /** Logs `name` in between a task of greater, equal and lesser priority than its continuation. */
  async function place(scheduler, log, name) {
    for (const priority of PRIORITIES) scheduler.postTask(() => log.push(priority), { priority })
    await scheduler.yield()
    log.push(name)
  }
  const placed = priority => ['user-blocking', 'user-visible', 'background'].flatMap(each => {
    return each === priority ? ['here', each] : [each]
  })

  for (const priority of PRIORITIES) {
    whose(`in a ${priority} task: within the call, in helpers, and again and again in a loop`, async () => {
      for (const options of settings) {
        const { host, scheduler, log } = world(options)
        const task = scheduler.postTask(async () => {
          for (let i = 0; i < 5; i++) await scheduler.yield()
          await place(scheduler, log, 'here')
        }, { priority })
        await host.drain()
        assert.is(task.state, 'done')
        assert.equal(log.splice(0), placed(priority))

        scheduler.postTask(() => place(scheduler, log, 'here'), { priority })
        await host.drain()
        assert.equal(log, placed(priority))
      }
    })

    const ways = {
      'a foreign await': host => sleep(host, 3),
      'a foreign await, and a yield of the job': (host, scheduler, job) => sleep(host, 3).then(() => job.yield()),
      'an async helper that yields': async (host, scheduler) => { await scheduler.yield() },
      'an async helper three deep': async (host, scheduler) => {
        const deep = async n => { if (n > 0) await deep(n - 1); await scheduler.yield() }
        await deep(3)
      },
      'what a promise leads to': host => Promise.resolve().then(() => {}).then(() => sleep(host, 1)),
      'another job': (host, scheduler) => scheduler.spawn(function* () { yield })
    }
    for (const [name, way] of Object.entries(ways)) {
      whose(`in a ${priority} task after ${name}: ${isKnown ? 'its own' : 'that of nobody'}`, async () => {
        for (const options of settings) {
          const { host, scheduler, log } = world(options)
          scheduler.postTask(async () => {
            await way(host, scheduler, scheduler.current)
            await place(scheduler, log, 'here')
          }, { priority })
          await host.drain()
          assert.equal(log, placed(isKnown ? priority : 'user-visible'))
        }
      })
    }
  }

  whose('in an async job: deadline, priority and cancellation, as long as only yields are awaited', async () => {
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

  whose('after job.yield() in an async job: that of the job, wherever it was before', async () => {
    for (const options of settings) {
      const { host, scheduler, log } = world({ ...options, policy: edf })
      scheduler.spawn(async job => {
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

  whose('after a foreign await: ' + (isKnown ? 'the task ends when it is aborted' : 'nobody is told of an abort'), async () => {
    const { host, scheduler } = world({ Scheduler })
    const controller = new AbortController()
    let rounds = 0
    const task = scheduler.postTask(async () => {
      for (; rounds < 10; rounds++) {
        await sleep(host, 1)
        await scheduler.yield()
      }
      return 'to its end'
    }, { signal: controller.signal }).catch(error => error)
    host.after(4.5, () => controller.abort('stop'))
    await host.drain()
    assert.equal([await task, rounds], isKnown ? ['stop', 4] : ['to its end', 10])
  })

  const producers = {
    'and yields': scheduler => scheduler.yield(),
    'and awaits something else': (scheduler, host) => sleep(host, 50),
    'and a settled promise': () => Promise.resolve(),
    'and calls a helper that yields': async scheduler => { await scheduler.yield() }
  }
  for (const [name, goOn] of Object.entries(producers)) {
    whose(`is never that of a task that resolves what its code awaits ${name}`, async () => {
      for (const options of settings) {
        for (const isEarly of [true, false]) {
          const { host, scheduler, log } = world(options)
          const controller = new AbortController()
          const { promise, resolve } = deferred()
          const producer = scheduler.postTask(async () => {
            if (!isEarly) await scheduler.yield()
            resolve()
            for (let i = 0; i < 50; i++) await goOn(scheduler, host)
          }, { signal: controller.signal, priority: 'user-blocking' })
          producer.catch(() => {})
          const bystander = (async () => {
            await promise
            for (let i = 0; i < 20; i++) await scheduler.yield()
            controller.abort()
            for (let i = 0; i < 20; i++) await scheduler.yield()
            await place(scheduler, log, 'here')
          })()
          await host.drain()
          await bystander
          assert.equal(log, placed('user-visible'))
        }
      }
    })
  }

  whose('is that of its own task where two tasks meet', async () => {
    for (const options of settings) {
      const { host, scheduler, log } = world(options)
      const { promise, resolve } = deferred()
      const controller = new AbortController()
      const waiting = scheduler.postTask(async () => {
        await promise
        await scheduler.yield()
        return 'whole'
      }, { priority: 'background' })
      const aborted = rejection(scheduler.postTask(async () => {
        await scheduler.yield()
        resolve()
        controller.abort('stop')
        await scheduler.yield()
      }, { signal: controller.signal }))
      await host.drain()
      assert.equal([await waiting, await aborted], ['whole', 'stop'])
    }
  })

  whose('in a helper that a generator job calls: its deadline and priority, in the whole loop', async () => {
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

// --------------------------------------------------------------------------------------------------- interop

const interop = suite('code written for `scheduler`')

/** Knows the Prioritized Task Scheduling API, and nothing of this project. */
async function renderThumbnails(scheduler, images, { signal, visit }) {
  const done = await Promise.allSettled(images.map(image => scheduler.postTask(async () => {
    const tiles = []
    for (let tile = 0; tile < image.tiles; tile++) {
      tiles.push(visit(`${image.name}${tile}`))
      await scheduler.yield()
    }
    return tiles.length
  }, { signal, priority: image.isVisible ? 'user-visible' : 'background', delay: image.delay })))
  return done.map(({ status, value, reason }) => status === 'fulfilled' ? value : reason.name)
}

const IMAGES = [
  { name: 'a', tiles: 3, isVisible: false },
  { name: 'b', tiles: 2, isVisible: true },
  { name: 'c', tiles: 2, isVisible: true },
  { name: 'd', tiles: 2, isVisible: true, delay: 50 },
  { name: 'e', tiles: 1, isVisible: false, delay: 20 }
]

interop('runs on a Scheduler as it is', async () => {
  const { host, scheduler, log } = world()
  const controller = new AbortController()
  const visit = tile => {
    log.push(`${tile}@${host.time}`)
    host.advance(10)
    if (tile === 'd0') controller.abort()
    return tile
  }
  const result = renderThumbnails(scheduler, IMAGES, { signal: controller.signal, visit })
  await host.drain()
  assert.equal(log, ['b0@0', 'b1@10', 'c0@20', 'c1@30', 'a0@40', 'd0@50'])
  assert.equal(await result, ['AbortError', 2, 2, 'AbortError', 'AbortError'])
})

interop('feature-detects it as the global object', () => {
  const { scheduler } = world()
  assert.equal(['postTask', 'yield'].map(name => typeof scheduler[name]), ['function', 'function'])
  assert.is(scheduler.postTask(() => {}) instanceof Promise, false) // a job: thenable, and more
  for (const name of ['then', 'catch', 'finally']) assert.type(scheduler.postTask(() => {})[name], 'function')
})

interop.run()

// ------------------------------------------------------------------------- the same cases as the platform's scheduler

const HOSTS = [['a virtual host', virtualHost], ...PLATFORMS.map(platform => [`the default host in ${platform}`, () => platformHost({ platform })])]
const WAYS = [
  { budget: 'auto' }, { budget: 1 }, { budget: 3 }, { slice: 5, step: 0.3 },
  ...[0.15, 1, 6].map(step => ({ budget: 'auto', slice: 0.1, round: 0.2, step }))
]

/** Runs one of CASES; each word of its log takes `step` ms. */
async function logOf({ run }, host, { Scheduler, step = 0, ...options }) {
  const scheduler = new Scheduler({ host, ...options })
  const words = []
  const log = word => {
    words.push(String(word))
    host.advance(step)
  }
  const timer = (fn, ms = 0) => { host.after(ms, fn) }
  const done = run({ scheduler, TaskController, log, timer, spin: host.advance })
  let hasEnded = false
  const ended = done.then(() => { hasEnded = true })
  for (let turns = 0; !hasEnded && turns < 20; turns++) await host.drain()
  if (!hasEnded) words.push('unfinished')
  else await ended
  return words.join(' ')
}

for (const [where, hostOf] of HOSTS) {
  for (const [engine, Scheduler] of [['no engine', rt.Scheduler], ['AsyncContext', ContextualScheduler]]) {
    const cases = suite(`the platform's cases on ${where}, by ${engine}`)
    for (const one of CASES) {
      if (!isPossible(one, {})) continue
      cases(one.name, async () => {
        for (const way of WAYS) {
          if (way.round && one.inRound) continue
          assert.is(await logOf(one, hostOf(), { Scheduler, ...way }), ourLog(one, engine === 'AsyncContext'), JSON.stringify(way))
        }
      })
    }
    cases.run()
  }
}
