import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, Scheduler, extend, fp } from '../../../rt.mjs'
import { after, sleep } from '../../../alarms.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { Barrier, Channel, Semaphore } from '../../../sync.mjs'
import { virtualHost, execute } from '../../support/virtual-host.mjs'
import { assertTrace } from '../../support/trace.mjs'
import { exactWorld, rejection, world } from '../../support/world.mjs'

const setup = options => world({ except: [], slice: Infinity, ...options })

/** What waiting for something gives a job: ['value', value] or ['error', error]. */
function* outcomeOf(waitable) {
  try {
    return ['value', yield waitable]
  } catch (error) {
    return ['error', error]
  }
}

const deadlock = suite('a closed world')

const closedWorld = options => setup({ closed: true, ...options })

deadlock('a closed scheduler tells idle() when nothing is left that could wake its jobs', async () => {
  const { host, scheduler } = closedWorld()
  const forever = name => scheduler.spawn(function* () { yield new extend.Waitable() }, { name })
  forever('a')
  forever('b')
  const caught = scheduler.idle().catch(error => error)
  await host.drain()
  const error = await caught
  assert.instance(error, DeadlockError)
  assert.is(error.message, 'deadlock: nothing can wake a, b')
  assert.equal(host.errors, [])
})

deadlock('jobs that have been woken are none of those that nothing can wake', async () => {
  const { host, scheduler } = closedWorld()
  const waitable = new extend.Waitable()
  for (const name of ['ends', 'waits on']) {
    scheduler.spawn(function* () {
      yield waitable
      if (name === 'waits on') yield new extend.Waitable()
    }, { name })
  }
  scheduler.spawn(() => waitable.wake())
  const caught = scheduler.idle().catch(error => error)
  await host.drain()
  const error = await caught
  assert.is(error.message, 'deadlock: nothing can wake waits on')
  assert.equal(error.jobs.map(({ name }) => name), ['waits on'])
})

const wakers = {
  'a ready job': ({ scheduler, host }) => { scheduler.spawn(execute(host, 20)) },
  'a pending job': ({ scheduler }) => { scheduler.spawn(() => {}, { release: 5 }) },
  'an alarm': ({ scheduler }) => { extend.at(scheduler, 5, () => {}) },
  'a promise': ({ scheduler }) => { scheduler.spawn(function* () { yield new Promise(() => {}) }) },
  'an async job': ({ scheduler }) => { scheduler.spawn(async () => { await new Promise(() => {}) }) },
  'somebody outside': ({ scheduler }) => { extend.hold(scheduler) }
}

for (const [title, add] of Object.entries(wakers)) {
  deadlock(`a closed scheduler is not deadlocked while there is ${title}`, async () => {
    const made = closedWorld()
    made.scheduler.spawn(function* () { yield new extend.Waitable() })
    add(made)
    let answer
    made.scheduler.idle().then(() => { answer = 'idle' }, error => { answer = error.name })
    await made.host.drain({ turns: 1 })
    assert.is(answer, undefined)
  })
}

const past = {
  'a promise that has settled': Promise.resolve(),
  'a promise that was rejected': () => Promise.reject(new RangeError('rejected')),
  'a thenable that threw': { then() { throw new RangeError('thrown') } },
  'a thenable that answered twice': {
    then(resolve) {
      resolve()
      resolve()
    }
  }
}

for (const [title, made] of Object.entries(past)) {
  deadlock(`${title} wakes nobody any more: a closed scheduler is deadlocked`, async () => {
    const { host, scheduler } = closedWorld()
    scheduler.spawn(function* () {
      yield* outcomeOf(typeof made === 'function' ? made() : made)
      yield new extend.Waitable()
    }, { name: 'job' })
    let answer
    scheduler.idle().then(() => { answer = 'idle' }, error => { answer = error.message })
    await host.drain()
    assert.is(answer, 'deadlock: nothing can wake job')
  })
}

deadlock('a promise whose waiter was cancelled, job or async job, wakes nobody any more', async () => {
  const { host, scheduler } = closedWorld()
  const job = scheduler.spawn(function* () {
    yield* outcomeOf(new Promise(() => {}))
    yield new extend.Waitable()
  }, { name: 'job' })
  let comeBack
  const away = scheduler.spawn(async () => { await new Promise(resolve => { comeBack = resolve }) })
  await host.drain()
  job.cancel()
  away.cancel()
  let answer
  scheduler.idle().catch(error => { answer = error.message })
  await host.drain()
  assert.is(answer, undefined) // what async code awaits cannot be left
  comeBack()
  await host.drain()
  assert.is(answer, 'deadlock: nothing can wake job')
})

deadlock('a closed scheduler reports one beside a server that polls', async () => {
  const { host, scheduler } = closedWorld({ policy: fp })
  const reservation = new Reservation({ scheduler, capacity: 1, period: 10, kind: 'polling' })
  scheduler.spawn(function* () { yield sleep(3) }, { reservation })
  scheduler.spawn(function* () { yield new Channel().receive() }, { name: 'stuck', reservation })
  const error = await Promise.all([scheduler.idle(), host.drain()]).catch(error => error)
  assert.instance(error, DeadlockError)
  assert.equal(error.jobs.map(job => job.name), ['stuck'])
})

deadlock('closed may be set', async () => {
  const { host, scheduler } = world()
  scheduler.configure({ closed: true })
  const job = scheduler.spawn(function* () { yield new extend.Waitable() }, { name: 'waits' })
  const idle = scheduler.idle().catch(error => error)
  await host.drain()
  const reason = await idle
  assert.instance(reason, DeadlockError)
  assert.equal(reason.jobs, [job])
  job.cancel()
})

deadlock('a thenable that throws is no waker that a closed scheduler waits for', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, closed: true })
  scheduler.spawn(function* () {
    try {
      yield { then() { throw new Error('thrown by then') } }
    } catch {
      yield new extend.Waitable()
    }
  })
  const outcome = scheduler.idle().then(() => 'idle', error => error.name)
  await host.drain()
  assert.is(await Promise.race([outcome, Promise.resolve('nothing')]), 'DeadlockError')
})

deadlock.run()

const closed = suite('closed schedulers')

/** Two jobs that wait for messages of each other. */
function stuck(scheduler) {
  const [there, back] = [new Channel(0, { name: 'there' }), new Channel(0, { name: 'back' })]
  const pass = (name, from, to) => scheduler.spawn(function* () {
    yield from.receive()
    yield to.send(1)
  }, { name })
  return [pass('ping', back, there), pass('pong', there, back)]
}

closed('idle() rejects with a DeadlockError that names the jobs, when nothing can wake them', async () => {
  const { host, scheduler } = exactWorld({ closed: true })
  const jobs = stuck(scheduler)
  const error = rejection(scheduler.idle())
  host.run()
  assert.instance(await error, DeadlockError)
  assert.is((await error).message, 'deadlock: nothing can wake ping, pong')
  assert.equal((await error).jobs, jobs)
})

closed('onError is told, once, whoever asks for idleness', async () => {
  const onError = (error, job) => log.push(`${error.name} ${job}`)
  const { host, scheduler, log } = exactWorld({ closed: true, onError })
  stuck(scheduler)
  const idle = rejection(scheduler.idle())
  host.run()
  await idle
  assert.instance(await rejection(scheduler.idle()), DeadlockError)
  assert.equal(log, ['DeadlockError null'])
})

closed('an alarm, a release, a promise and a hold may still wake them', async () => {
  const wakers = [
    ({ scheduler }, wake) => after(5, wake, { scheduler }),
    ({ host, scheduler }, wake) => {
      after(5, wake, { scheduler, ref: false })
      host.after(6, () => {}) // keeps the process alive for as long
    },
    ({ scheduler }, wake) => scheduler.spawn(() => wake(), { release: 5 }),
    ({ host, scheduler }, wake) => scheduler.spawn(function* () {
      yield new Promise(resolve => host.after(5, resolve))
      wake()
    }),
    ({ host, scheduler }, wake) => scheduler.spawn(async () => {
      await new Promise(resolve => host.after(5, resolve))
      wake()
    }),
    ({ host, scheduler }, wake) => {
      const release = extend.hold(scheduler)
      host.after(5, () => {
        wake()
        release()
      })
    }
  ]
  for (const prepare of wakers) {
    const run = exactWorld({ closed: true, onError(error) { run.log.push(error.message) } })
    const { host, scheduler, log } = run
    const waitable = new extend.Waitable()
    scheduler.spawn(function* () { yield waitable }, { name: 'waiter' })
    prepare(run, () => waitable.wake())
    scheduler.idle().then(() => log.push(`idle at ${host.time}`), error => log.push(error.message))
    await host.drain()
    assert.equal(log, ['idle at 5'])
  }
})

closed('the end of the last hold is when the deadlock is noticed', async () => {
  const { host, scheduler, log } = exactWorld({ closed: true })
  stuck(scheduler)
  const [first, last] = [extend.hold(scheduler), extend.hold(scheduler)]
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  for (const time of [1, 2, 3]) host.after(time, first) // which counts once
  host.after(5, last)
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake ping, pong at 5'])
})

closed('async jobs hold it only while they are away', async () => {
  const away = (host, ms) => new Promise(resolve => host.after(ms, resolve))
  const ends = [
    async ({ host }) => { await away(host, 5) },
    async ({ host }, job) => {
      await away(host, 5)
      await job.yield()
    },
    async ({ host }, job) => {
      host.after(3, () => job.cancel()) // which cannot leave what it awaits
      await away(host, 5)
    }
  ]
  for (const end of ends) {
    const run = exactWorld({ closed: true })
    const { host, scheduler, log } = run
    stuck(scheduler)
    scheduler.spawn(async job => end(run, job), { name: 'away' })
    scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
    await host.drain({ until: 20 })
    assert.equal(log, ['deadlock: nothing can wake ping, pong at 5'])
  }
})

closed('deadlines wake nobody: the deadlock is noticed before they are missed', async () => {
  const { host, scheduler, log } = exactWorld({ closed: true })
  for (const job of stuck(scheduler)) job.deadline = 1000
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake ping, pong at 0'])
})

closed('deadlines at which jobs abort do wake them', async () => {
  const { host, scheduler, log } = exactWorld({ closed: true })
  scheduler.spawn(function* () { yield new Channel().receive() }, { deadline: 5, miss: 'abort' })
  scheduler.idle().then(() => log.push('idle'), error => log.push(error.message))
  await host.drain()
  assert.equal(log, ['idle'])
})

closed('after the jobs have been cancelled, it is idle', async () => {
  const { host, scheduler } = exactWorld({ closed: true })
  const jobs = stuck(scheduler)
  const first = rejection(scheduler.idle())
  host.run()
  await first
  for (const job of jobs) job.cancel()
  host.run()
  await scheduler.idle()
})

closed('an open scheduler waits in silence', async () => {
  const { host, scheduler, log } = exactWorld({ onError: error => log.push(error) })
  const jobs = stuck(scheduler)
  scheduler.idle().then(() => log.push('idle'), error => log.push(error))
  await host.drain()
  assert.equal([log, jobs.map(({ state }) => state)], [[], ['waiting', 'waiting']])
})

closed('jobs that wait on channels of a closed scheduler are a deadlock that names them', async () => {
  const { host, scheduler, trace } = closedWorld()
  const left = new Channel(0, { name: 'left' })
  const right = new Channel(0, { name: 'right' })
  scheduler.spawn(function* () { yield left.send(yield right.receive()) }, { name: 'ping' }).catch(() => {})
  scheduler.spawn(function* () { yield right.send(yield left.receive()) }, { name: 'pong' }).catch(() => {})
  const error = rejection(scheduler.idle())
  await host.drain()
  assert.instance(await error, DeadlockError)
  assert.match((await error).message, /ping.*pong/)
  assertTrace(trace, `
    0 release ping, release pong, start ping, block ping on=right.receive(), start pong, block pong on=left.receive()`)
})

closed('jobs at a barrier where too few meet, and without permits, are a deadlock', async () => {
  const { host, scheduler } = closedWorld()
  const barrier = new Barrier(3)
  scheduler.spawn(() => barrier.wait(), { name: 'one' }).catch(() => {})
  scheduler.spawn(() => new Semaphore(0).acquire(), { name: 'other' }).catch(() => {})
  const error = scheduler.idle().then(() => assert.unreachable('idle'), error => error)
  await host.drain()
  assert.instance(await error, DeadlockError)
  assert.equal((await error).jobs.map(({ name }) => name), ['one', 'other'])
})

closed.run()
