import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, Scheduler, extend, fp } from '../../../rt.mjs'
import { sleep } from '../../../alarms.mjs'
import { Reservation } from '../../../addons/reservations.mjs'
import { Channel } from '../../../sync.mjs'
import { virtualHost, execute } from '../../support/virtual-host.mjs'
import { world } from '../../support/world.mjs'

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

const closed = options => setup({ closed: true, ...options })

deadlock('a closed scheduler tells idle() when nothing is left that could wake its jobs', async () => {
  const { host, scheduler } = closed()
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
  const { host, scheduler } = closed()
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
    const made = closed()
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
    const { host, scheduler } = closed()
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
  const { host, scheduler } = closed()
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
  const { host, scheduler } = closed({ policy: fp })
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
