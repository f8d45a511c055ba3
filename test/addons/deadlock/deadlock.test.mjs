import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, Scheduler, extend, fp } from '../../../rt.mjs'
import { after, events, sleep } from '../../../alarms.mjs'
import { connect } from '../../../addons/connect.mjs'
import { reportDeadlocks } from '../../../addons/deadlock.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { SharedSemaphore } from '../../../addons/shared.mjs'
import { Barrier, Channel, Semaphore, choice } from '../../../sync.mjs'
import { virtualHost, execute } from '../../support/virtual-host.mjs'
import { assertTrace } from '../../support/trace.mjs'
import { exactWorld, rejection, world } from '../../support/world.mjs'

const setup = options => world({ except: [], slice: Infinity, ...options })

/** The outcome of a wait in a job: ['value', value] or ['error', error]. */
function* outcomeOf(waitable) {
  try {
    return ['value', yield waitable]
  } catch (error) {
    return ['error', error]
  }
}

const deadlock = suite('a closed world')

/**
 * Makes the scheduler of a world report deadlocks.
 *
 * @template {{ scheduler: Scheduler }} W @param {W} made @returns {W}
 */
function closed(made) {
  reportDeadlocks(made.scheduler)
  return made
}
const closedWorld = options => closed(setup(options))
const closedExactWorld = options => closed(exactWorld(options))

deadlock('idle() of a closed scheduler rejects when nothing can wake its jobs', async () => {
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

deadlock('a DeadlockError does not name jobs that have been woken', async () => {
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
  deadlock(`${title} can wake no job, so a closed scheduler is deadlocked`, async () => {
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

deadlock('a promise whose waiter was cancelled can wake no job', async () => {
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
  assert.is(answer, undefined) // a cancelled async job cannot leave its await
  comeBack()
  await host.drain()
  assert.is(answer, 'deadlock: nothing can wake job')
})

deadlock('a deadlock is reported even with a polling reservation', async () => {
  const { host, scheduler } = closedWorld({ policy: fp })
  const reservation = new Reservation({ scheduler, capacity: 1, period: 10, kind: 'polling' })
  scheduler.spawn(function* () { yield sleep(3) }, { reservation })
  scheduler.spawn(function* () { yield new Channel().receive() }, { name: 'stuck', reservation })
  const error = await Promise.all([scheduler.idle(), host.drain()]).catch(error => error)
  assert.instance(error, DeadlockError)
  assert.equal(error.jobs.map(job => job.name), ['stuck'])
})

deadlock('jobs of a depleted reservation are not deadlocked', async () => {
  const { host, scheduler } = closedWorld({ policy: fp })
  const reservation = new Reservation({ scheduler, capacity: 2, period: 10 })
  const job = scheduler.spawn(execute(host, 4), { reservation })
  const idle = scheduler.idle()
  await host.drain()
  await idle
  assert.is(job.state, 'done')
  assert.equal(host.errors, [])
})

deadlock('reportDeadlocks() accepts an existing scheduler', async () => {
  const { host, scheduler } = world()
  reportDeadlocks(scheduler)
  const job = scheduler.spawn(function* () { yield new extend.Waitable() }, { name: 'waits' })
  const idle = scheduler.idle().catch(error => error)
  await host.drain()
  const reason = await idle
  assert.instance(reason, DeadlockError)
  assert.equal(reason.jobs, [job])
  job.cancel()
})

deadlock('a thenable that throws does not prevent a deadlock report', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  reportDeadlocks(scheduler)
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

const schedulers = suite('closed schedulers')

/** Two jobs, each of which waits for a message of the other. */
function stuck(scheduler) {
  const [there, back] = [new Channel(0, { name: 'there' }), new Channel(0, { name: 'back' })]
  const pass = (name, from, to) => scheduler.spawn(function* () {
    yield from.receive()
    yield to.send(1)
  }, { name })
  return [pass('ping', back, there), pass('pong', there, back)]
}

schedulers('idle() rejects with a DeadlockError that names the jobs', async () => {
  const { host, scheduler } = closedExactWorld()
  const jobs = stuck(scheduler)
  const error = rejection(scheduler.idle())
  host.run()
  assert.instance(await error, DeadlockError)
  assert.is((await error).message, 'deadlock: nothing can wake ping, pong')
  assert.equal((await error).jobs, jobs)
})

schedulers('onError is called once per deadlock, without regard to the calls of idle()', async () => {
  const onError = (error, job) => log.push(`${error.name} ${job}`)
  const { host, scheduler, log } = closedExactWorld({ onError })
  stuck(scheduler)
  const idle = rejection(scheduler.idle())
  host.run()
  await idle
  assert.instance(await rejection(scheduler.idle()), DeadlockError)
  assert.equal(log, ['DeadlockError null'])
})

schedulers('an alarm, a release, a promise and a hold can still wake jobs', async () => {
  const wakers = [
    ({ scheduler }, wake) => after(5, wake, { scheduler }),
    ({ host, scheduler }, wake) => {
      after(5, wake, { scheduler, ref: false })
      host.after(6, () => {}) // keeps Node alive until the alarm
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
    const run = closedExactWorld({ onError(error) { run.log.push(error.message) } })
    const { host, scheduler, log } = run
    const waitable = new extend.Waitable()
    scheduler.spawn(function* () { yield waitable }, { name: 'waiter' })
    prepare(run, () => waitable.wake())
    scheduler.idle().then(() => log.push(`idle at ${host.time}`), error => log.push(error.message))
    await host.drain()
    assert.equal(log, ['idle at 5'])
  }
})

schedulers('a deadlock is detected at the end of the last hold', async () => {
  const { host, scheduler, log } = closedExactWorld()
  stuck(scheduler)
  const [first, last] = [extend.hold(scheduler), extend.hold(scheduler)]
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  for (const time of [1, 2, 3]) host.after(time, first) // repeated calls have no effect
  host.after(5, last)
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake ping, pong at 5'])
})

schedulers('an async job prevents a report only while it awaits a foreign promise', async () => {
  const away = (host, ms) => new Promise(resolve => host.after(ms, resolve))
  const ends = [
    async ({ host }) => { await away(host, 5) },
    async ({ host }, job) => {
      await away(host, 5)
      await job.yield()
    },
    async ({ host }, job) => {
      host.after(3, () => job.cancel()) // the job cannot leave its await
      await away(host, 5)
    }
  ]
  for (const end of ends) {
    const run = closedExactWorld()
    const { host, scheduler, log } = run
    stuck(scheduler)
    scheduler.spawn(async () => end(run, scheduler.current), { name: 'away' })
    scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
    await host.drain({ until: 20 })
    assert.equal(log, ['deadlock: nothing can wake ping, pong at 5'])
  }
})

schedulers('deadlines cannot wake jobs, so a deadlock is detected before they are missed', async () => {
  const { host, scheduler, log } = closedExactWorld()
  for (const job of stuck(scheduler)) job.deadline = 1000
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake ping, pong at 0'])
})

schedulers('deadlines with `miss: \'abort\'` can wake jobs', async () => {
  const { host, scheduler, log } = closedExactWorld()
  scheduler.spawn(function* () { yield new Channel().receive() }, { deadline: 5, miss: 'abort' })
  scheduler.idle().then(() => log.push('idle'), error => log.push(error.message))
  await host.drain()
  assert.equal(log, ['idle'])
})

schedulers('the scheduler is idle after deadlocked jobs have been cancelled', async () => {
  const { host, scheduler } = closedExactWorld()
  const jobs = stuck(scheduler)
  const first = rejection(scheduler.idle())
  host.run()
  await first
  for (const job of jobs) job.cancel()
  host.run()
  await scheduler.idle()
})

schedulers('an open scheduler reports no deadlock', async () => {
  const { host, scheduler, log } = exactWorld({ onError: error => log.push(error) })
  const jobs = stuck(scheduler)
  scheduler.idle().then(() => log.push('idle'), error => log.push(error))
  await host.drain()
  assert.equal([log, jobs.map(({ state }) => state)], [[], ['waiting', 'waiting']])
})

schedulers('jobs that wait on channels of a closed scheduler are deadlocked', async () => {
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
    0 release ping, release pong, start ping, block ping on=right.receive(), start pong, block pong on=left.receive()
    0 round start=0`)
})

schedulers('jobs at an incomplete barrier, or without a permit, are deadlocked', async () => {
  const { host, scheduler } = closedWorld()
  const barrier = new Barrier(3)
  scheduler.spawn(() => barrier.wait(), { name: 'one' }).catch(() => {})
  scheduler.spawn(() => new Semaphore(0).acquire(), { name: 'other' }).catch(() => {})
  const error = scheduler.idle().then(() => assert.unreachable('idle'), error => error)
  await host.drain()
  assert.instance(await error, DeadlockError)
  assert.equal((await error).jobs.map(({ name }) => name), ['one', 'other'])
})

schedulers('a choice with a promise among its guards can still be woken', async () => {
  const { host, scheduler, log } = closedExactWorld()
  const promise = new Promise(resolve => host.after(5, resolve))
  scheduler.spawn(function* () {
    yield choice([{ receive: new Channel() }, { wait: promise }])
    yield new Channel().receive()
  }, { name: 'chooser' })
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake chooser at 5'])
})

const outside = {
  'an event': () => events(new EventTarget(), 'ping').receive(),
  'a message of a peer': () => connect(port1, 'orders').receive(),
  'the answer of a peer': () => connect(port1, 'bills').send(1),
  'a lock that another thread can release': () => new SharedSemaphore(0).acquire(),
  'one of several waits': () => choice([{ receive: new Channel() }, { wait: new SharedSemaphore(0).acquire() }])
}
const { port1, port2 } = new MessageChannel()

for (const [title, waitable] of Object.entries(outside)) {
  schedulers(`a job that waits for ${title} is not deadlocked`, async () => {
    const messages = []
    const { host, scheduler } = closedExactWorld({ onError: error => messages.push(error.message) })
    const job = scheduler.spawn(function* () { yield waitable() })
    await host.drain()
    assert.equal([messages, job.state], [[], 'waiting'])
    job.cancel()
    await host.drain()
    assert.equal(messages, [])
  })
}

schedulers('a job that waits for a deadlocked job is deadlocked as well', async () => {
  const { host, scheduler } = closedExactWorld()
  const inner = scheduler.spawn(function* () { yield new Channel().receive() }, { name: 'inner' })
  scheduler.spawn(function* () { yield inner }, { name: 'outer' })
  const error = rejection(scheduler.idle())
  host.run()
  assert.is((await error).message, 'deadlock: nothing can wake inner, outer')
})

schedulers('a new deadlock after a job was woken is reported again', async () => {
  const messages = []
  const { host, scheduler } = closedExactWorld({ onError: error => messages.push(error.message) })
  const channel = new Channel()
  scheduler.spawn(function* () {
    yield channel.receive()
    scheduler.spawn(function* () { yield channel.receive() }, { name: 'second' })
  }, { name: 'first' })
  host.run()
  channel.offer(1)
  host.run()
  assert.equal(messages, ['deadlock: nothing can wake first', 'deadlock: nothing can wake second'])
})

schedulers('no deadlock is reported while a job from before reportDeadlocks() lives', async () => {
  const messages = []
  const { host, scheduler } = exactWorld({ onError: error => messages.push(error.message) })
  const early = scheduler.spawn(function* () { yield new Channel().receive() })
  host.run()
  reportDeadlocks(scheduler)
  scheduler.spawn(function* () { yield new Channel().receive() }, { name: 'late' })
  host.run()
  assert.equal(messages, [])
  early.cancel()
  host.run()
  assert.equal(messages, ['deadlock: nothing can wake late'])
})

schedulers('a report can be stopped, and a later report replaces an earlier one', async () => {
  const { host, scheduler, log } = exactWorld({ onError: error => log.push(error.message) })
  const stops = [reportDeadlocks(scheduler), reportDeadlocks(scheduler)]
  stuck(scheduler)
  stops[0]()
  host.run()
  assert.equal(log, ['deadlock: nothing can wake ping, pong'])
  stops[1]()
  let isIdle = false
  scheduler.idle().then(() => { isIdle = true })
  await host.drain()
  assert.equal([log.length, isIdle], [1, false])
})

schedulers('a message names at most twelve jobs', async () => {
  const { host, scheduler } = closedExactWorld()
  for (let i = 0; i < 20; i++) scheduler.spawn(function* () { yield new Channel().receive() }, { name: `${i}` })
  const error = rejection(scheduler.idle())
  host.run()
  assert.is((await error).message, 'deadlock: nothing can wake 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more')
  assert.is((await error).jobs.length, 20)
})

schedulers('an invalid scheduler is rejected', () => {
  assert.throws(() => reportDeadlocks(/** @type {any} */ ({})), /scheduler must be a Scheduler, got an object/)
})

schedulers.after(() => {
  for (const port of [port1, port2]) port.close()
})

schedulers.run()
