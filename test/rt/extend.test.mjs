/**
 * Tests of `extend`, the extension interface of rt.mjs: sections, wait queues, the timeline, waitables and
 * events.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { extend } from '../../rt.mjs'
import { Mailbox, either, sleep } from '../support/mailbox.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, microtasks, virtualHost, work } from '../support/virtual-host.mjs'
import { abortListeners, world as plainWorld, exactWorld as world, rejection } from '../support/world.mjs'

// --------------------------------------------------------------------------------------- sections and queues

const sections = suite('critical sections')

sections('close() of an outer section throws while an inner section is open', () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(function* () {
    const outer = extend.section(job, 1)
    const inner = extend.section(job, 2)
    assert.throws(() => outer.close(), 'critical sections must nest')
    inner.close()
    inner.close()
    outer.close()
    yield
    return 'result'
  })
  host.run()
  assert.is(job.state, 'done')
})

sections('jobs released or woken between the rounds of a section do not block its holder', () => {
  const { host, scheduler, trace } = plainWorld({ except: [], round: 1, slice: Infinity })
  const waitable = new extend.Waitable()
  scheduler.spawn(function* () {
    yield waitable
    host.advance(1)
  }, { name: 'woken', deadline: 20 })
  const holder = scheduler.spawn(function* () {
    const gate = extend.section(holder, Infinity)
    yield* execute(host, 4)
    yield
    gate.close()
    yield
    host.advance(1)
  }, { name: 'holder', deadline: 50 })
  host.after(2, () => {
    waitable.wake()
    scheduler.spawn(execute(host, 1), { name: 'urgent', deadline: 5 })
  })
  host.run()
  assertTrace(trace.records.filter(({ type }) => type !== 'round'), `
    0 release woken, release holder, start woken, block woken on=Waitable, start holder
    2 wake woken, release urgent
    4 preempt holder by=urgent, start urgent
    5 finish urgent, resume woken
    6 finish woken, resume holder
    7 finish holder`)
})

sections('a section that its job leaves open ends with the job', () => {
  const { host, scheduler, log } = world({ onError: error => log.push(error.message) })
  const holder = scheduler.spawn(function* () {
    extend.section(holder, Infinity)
    yield* work(host, 1)
    throw new Error('leaked')
  })
  scheduler.spawn(() => { log.push('other') })
  host.run()
  assert.equal(log, ['other', 'leaked'])
})

sections('an async job that suspends inside a section fails, and other jobs run', async () => {
  const { host, scheduler } = world()
  const holder = scheduler.spawn(async () => {
    const gate = extend.section(holder, Infinity)
    await new Promise(resolve => host.after(5, resolve))
    gate.close()
  }, { name: 'holder' })
  const others = [1, -1].map(priority => scheduler.spawn(() => work(host, 2), { priority }))
  assert.instance(await Promise.race([rejection(holder), host.drain()]), TypeError)
  await host.drain()
  assert.equal([holder, ...others].map(({ state }) => state), ['failed', 'done', 'done'])
})

sections.run()

const queues = suite('queues')

queues('a queue lends the rank of its waiters to its current owner only', () => {
  const { host, scheduler, log } = world()
  const queue = new extend.WaitQueue()
  class Turn extends extend.Waitable {
    enter() { queue.push(this) }
  }
  scheduler.spawn(function* () { yield new Turn() }, { priority: 5 })
  const [one, other] = ['one', 'other'].map(name => scheduler.spawn(function* () {
    for (let i = 0; i < 3; i++) {
      yield* work(host, 1)
      log.push(name)
    }
  }, { name, priority: 0 }))
  scheduler.spawn(function* () {
    yield* work(host, 2)
    log.push('rival')
  }, { priority: 1, release: 1 })
  queue.owner = other
  assert.is(queue.owner, other)
  extend.at(scheduler, 1, () => { queue.owner = one })
  extend.at(scheduler, 2, () => { queue.owner = null })
  host.run()
  assert.equal(log, ['other', 'one', 'rival', 'one', 'one', 'other', 'other'])
})

queues('all owners of a queue inherit the rank of a waiter', () => {
  const { host, scheduler, log } = world()
  const ended = []
  const queue = new extend.WaitQueue(null, job => { ended.push(job.name) })
  class Turn extends extend.Waitable {
    enter() { queue.push(this) }
  }
  const owners = ['a', 'b', 'c'].map((name, index) => scheduler.spawn(function* () {
    yield* work(host, 2)
    log.push(name)
  }, { name, priority: -index }))
  const [a, b, c] = owners
  queue.owner = a
  for (const owner of [b, c, c]) queue.addOwner(owner)
  assert.equal(queue.owners.map(({ name }) => name), ['a', 'b', 'c'])
  const waits = scheduler.spawn(function* () { yield new Turn() }, { name: 'waits', priority: 5 })
  scheduler.spawn(function* () {
    yield* work(host, 1)
    log.push('rival')
  }, { priority: 1 })
  host.run({ until: 0, turns: 0 })
  extend.at(scheduler, 1, () => queue.deleteOwner(b))
  host.run()
  // `a` and `c` inherit priority 5; `b` has lost it.
  assert.equal(log, ['a', 'c', 'rival', 'b'])
  assert.equal([ended, queue.owners, waits.state], [['a', 'c'], [null], 'waiting'])
})

class Turn extends extend.Waitable {
  constructor(queue) {
    super()
    this.queue = queue
  }
  enter() { this.queue.push(this) }
}

queues('a waitable shared by several jobs is queued by the highest of their ranks', () => {
  const { host, scheduler } = world()
  const queue = new extend.WaitQueue()
  const [shared, other] = [new Turn(queue), new Turn(queue)]
  const jobs = [[shared, 0], [shared, 1], [other, 2]].map(([turn, priority]) =>
    scheduler.spawn(function* () { yield turn }, { priority }))
  host.run()
  assert.equal([queue.size, queue.next === other, shared.job === jobs[1]], [2, true, true])
  jobs[0].priority = 3
  assert.equal([queue.next === shared, shared.job === jobs[0]], [true, true])
  jobs[0].cancel()
  assert.equal([queue.next === other, shared.job === jobs[1], queue.size], [true, true, 2])
  jobs[1].cancel()
  assert.equal([queue.size, shared.job], [1, null])
})

queues('a waitable leaves its queue when it settles', () => {
  const { host, scheduler } = world()
  const queue = new extend.WaitQueue()
  const [one, other] = [new Turn(queue), new Turn(queue)]
  const jobs = [one, other].map(turn => scheduler.spawn(function* () { return yield turn }))
  host.run()
  one.wake('woken')
  other.fail(new Error('failed'))
  assert.equal([queue.size, queue.next], [0, null])
  host.run()
  assert.equal(jobs.map(({ state }) => state), ['done', 'failed'])
})

queues('a change of owner that closes a cycle fails the wait of the new owner', async () => {
  const { host, scheduler, log } = world()
  const [one, other] = [new extend.WaitQueue(), new extend.WaitQueue()]
  const [a, b] = [one, other].map((queue, index) => scheduler.spawn(function* () {
    try {
      yield new Turn(queue)
    } catch (error) {
      log.push(`${index}: ${error.message}`)
    }
  }, { name: `job ${index}` }))
  host.run()
  other.owner = a // `a` waits in `one`.
  assert.is(b.state, 'waiting')
  one.owner = b
  host.run()
  assert.equal([log, a.state, b.state], [['1: deadlock: job 1 waits for job 0 waits for job 1'], 'waiting', 'done'])
})

queues('equal waiters are woken first come, first served, and follow changes of rank', () => {
  const { host, scheduler, log } = world()
  const queue = new extend.WaitQueue()
  const jobs = ['a', 'b', 'c', 'd'].map(name => scheduler.spawn(function* () {
    yield new Turn(queue)
    log.push(name)
  }, { name, priority: 1 }))
  host.run()
  jobs[2].priority = 2
  jobs[0].priority = 0
  jobs[0].priority = 1
  assert.equal([queue.size, queue.next.job], [4, jobs[2]])
  while (queue.next !== null) {
    queue.shift().wake()
    host.run()
  }
  assert.equal(log, ['c', 'a', 'b', 'd'])
})

queues.run()

// -------------------------------------------------------------------------------------------------- timeline

const timeline = suite('the timeline')

timeline('due entries fire by time, then by creation, for all kinds of entries', () => {
  const { host, scheduler, log, trace } = world()
  scheduler.spawn(() => { host.advance(10) }, { name: 'long', deadline: 3 })
  scheduler.spawn(() => {}, { name: 'late', release: 2, priority: 1 })
  scheduler.spawn(() => {}, { name: 'early', release: 1 })
  extend.at(scheduler, 5, () => log.push('third'))
  extend.at(scheduler, 4, () => log.push('first'))
  extend.at(scheduler, 4, () => log.push('second'))
  extend.at(scheduler, 6, time => log.push(`replenished at ${time}`), { replenishment: true })
  host.run()
  assert.equal(log, ['first', 'second', 'third', 'replenished at 10'])
  assertTrace(trace, `
    0 release long, start long
    10 finish long, miss long, release early, release late, alarm due=4, alarm due=4, alarm due=5, replenish due=6
    10 start late, finish late, start early, finish early`)
})

timeline('an alarm that is left for a later round and then cancelled takes no turn', () => {
  const { host, scheduler } = world({ slice: 1 })
  extend.at(scheduler, 4, () => host.advance(2))
  const left = extend.at(scheduler, 4, () => assert.unreachable())
  scheduler.spawn(() => { host.advance(6) })
  scheduler.spawn(() => { left.cancel() }, { release: 3 })
  host.run({ turns: 100 })
  assert.is(host.turns, 1)
})

timeline('an alarm that sets itself again in the past does not delay other alarms', () => {
  const { host, scheduler, log } = world()
  let count = 0
  const again = () => { if (++count < 50) extend.at(scheduler, 0, again) }
  extend.at(scheduler, 1, again)
  extend.at(scheduler, 2, () => log.push(count))
  host.after(0, () => host.advance(3))
  host.run()
  assert.ok(log[0] <= 2, `${log[0]} others came first`)
})

timeline.run()

// ------------------------------------------------------------------------------------------------- waitables

const waitables = suite('waitables')

/** Logs each call of its methods. */
class Noted extends extend.Waitable {
  constructor(log, options) {
    super(options)
    this.log = log
  }
  try() {
    this.log.push('try')
    return false
  }
  enter() { this.log.push('enter') }
  leave() { this.log.push('leave') }
}

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: reason => controller.abort(reason) }
}

waitables('a waitable acts once, at its first wait, and repeats its outcome later', async () => {
  const { host, scheduler, log } = world()
  const nap = sleep(5)
  let begun = 0
  class Counted extends extend.Waitable {
    enter() {
      begun++
      this.wake(begun)
    }
  }
  const counted = new Counted()
  const failing = either(new extend.Sleep(1, true, {}, function () { failing.fail(new RangeError('over')) }), sleep(9))
  scheduler.spawn(function* () {
    yield nap
    log.push(host.time)
    yield nap
    log.push(host.time)
    log.push(yield counted, yield counted, begun)
    for (let i = 0; i < 2; i++) {
      try {
        yield failing
      } catch (error) {
        log.push(`${error.name} at ${host.time}`)
      }
    }
  }, { release: 3 })
  host.run()
  assert.equal(log, [8, 8, 1, 1, 1, 'RangeError at 9', 'RangeError at 9'])
})

waitables('yield* of a waitable returns its outcome with its type', () => {
  const { host, scheduler } = world()
  const channel = new Mailbox()
  const job = scheduler.spawn(function* () {
    return (yield* channel.receive()) + (yield* either(sleep(5), channel.receive())).value
  })
  scheduler.spawn(function* () {
    yield* channel.send(1)
    yield* channel.send(2)
  })
  job.then(value => assert.is(value, 3))
  host.run()
  assert.is(job.state, 'done')
})

waitables('a waitable can be awaited outside jobs and in async jobs', async () => {
  const { host, scheduler, log } = world()
  const channel = new Mailbox()
  const outside = async () => {
    await sleep(2, { scheduler })
    log.push(`outside at ${host.time}`)
    log.push(await channel.receive())
  }
  outside()
  scheduler.spawn(async () => {
    const job = scheduler.current
    await sleep(5)
    await job.yield()
    log.push(`job at ${host.time}`)
    await channel.send('message')
  })
  await host.drain()
  assert.equal(log, ['outside at 2', 'job at 5', 'message'])
})

waitables('a waitable starts again after its last waiter has left', () => {
  const { host, scheduler, log } = world()
  const nap = sleep(10)
  const first = scheduler.spawn(function* () { yield nap }, { name: 'first' })
  extend.at(scheduler, 4, () => first.cancel())
  scheduler.spawn(function* () {
    yield nap
    log.push(host.time)
  }, { release: 6 })
  host.run({ until: 5 })
  assert.equal(host.timers, [{ time: 6, ref: true }])
  host.run()
  assert.equal(log, [16])
})

waitables('a waitable notifies all its waiters, and one waiter can leave', () => {
  const { host, scheduler, log } = world()
  const nap = sleep(10)
  const { enter } = nap
  nap.enter = job => {
    log.push('entered')
    enter.call(nap, job)
  }
  const jobs = ['a', 'b', 'c'].map(name => scheduler.spawn(function* () {
    yield nap
    log.push(name)
  }, { name }))
  extend.at(scheduler, 5, () => jobs[0].cancel())
  host.run()
  assert.equal(log, ['entered', 'b', 'c'])
})

waitables('Waitable.of accepts jobs and promises and returns null for other values', async () => {
  const { host, scheduler, log } = world()
  const { of } = extend.Waitable
  const nap = sleep(1)
  assert.is(of(nap), nap)
  assert.equal([of(1), of({}), of(null), of(function* () {}())], [null, null, null, null])
  const child = scheduler.spawn(function* () {
    yield sleep(3)
    return 'child'
  })
  scheduler.spawn(function* () {
    log.push(yield either(child, sleep(5)))
    log.push(yield either(sleep(5), child))
    log.push(yield either(sleep(5), Promise.resolve('promise')))
    log.push(yield either(sleep(5), new Promise(() => {})), host.time)
  })
  await host.drain()
  assert.equal(log, [
    { index: 0, value: 'child' }, { index: 1, value: 'child' }, { index: 1, value: 'promise' },
    { index: 0, value: undefined }, 8
  ])
})

waitables('the failure of an awaited job reaches its waiters and is not reported', () => {
  const { host, scheduler, log } = world({ onError: error => log.push(`reported ${error.message}`) })
  const failing = message => scheduler.spawn(function* () {
    yield sleep(1)
    throw new Error(message)
  })
  scheduler.spawn(function* () {
    for (const waitable of [either(failing('first'), sleep(9)), either(sleep(9), failing('second'))]) {
      try {
        yield waitable
      } catch (error) {
        log.push(error.message)
      }
    }
  })
  failing('nobody')
  host.run()
  assert.equal(log, ['first', 'second', 'reported nobody'])
})

waitables('a waitable that hands over a value delivers it before a cancellation', () => {
  for (const [handsOver, expected] of [[true, ['message', 'AbortError']], [false, ['AbortError']]]) {
    const { host, scheduler, log } = world()
    class Message extends extend.Waitable {
      get handsOver() { return handsOver }
    }
    const message = new Message()
    const receiver = scheduler.spawn(function* () {
      try {
        log.push(yield message)
        yield
        log.push('not reached')
      } catch (error) {
        log.push(error.name)
      }
    }, { priority: 1 })
    scheduler.spawn(function* () {
      message.wake('message')
      receiver.cancel()
    })
    host.run()
    assert.equal(log, expected)
  }
})

for (const method of ['try', 'enter']) waitables(`a waitable that fails in ${method} throws at the yield`, () => {
  const { host, scheduler, log } = world()
  class Broken extends extend.Waitable {
    [method]() { throw new Error('broken') }
  }
  scheduler.spawn(function* () {
    try {
      yield new Broken()
    } catch (error) {
      log.push(error.message)
    }
  })
  host.run()
  assert.equal(log, ['broken'])
})

waitables('the waitables of a choice that lose leave their queues', () => {
  const { host, scheduler, log } = world()
  const [a, b] = [new Mailbox(), new Mailbox()]
  scheduler.spawn(function* () {
    log.push(yield either(sleep(5), either(a.receive(), either(sleep(9), b.send(1)))), host.time)
  })
  host.run({ until: 1 })
  assert.equal([a.receivers.size, b.senders.size], [1, 1])
  host.run()
  assert.equal(log, [{ index: 0, value: undefined }, 5])
  assert.equal([a.receivers.size, b.senders.size, host.timers], [0, 0, []])
})

waitables('an await outside jobs ranks after all jobs', async () => {
  const { host, scheduler, log } = world()
  const channel = new Mailbox()
  channel.receive().then(value => log.push(`outside ${value}`))
  await microtasks()
  const receiver = (name, options) => scheduler.spawn(function* () {
    log.push(`${name} ${yield channel.receive()}`)
  }, options)
  // Under fp the deadlines do not affect the rank.
  receiver('low', { priority: -1, deadline: 5 })
  receiver('high', { priority: 1, deadline: 100 })
  receiver('middle', { priority: 0.5, deadline: 10 })
  scheduler.spawn(function* () {
    for (let i = 1; i <= 4; i++) yield channel.send(i)
  }, { priority: -2 })
  await host.drain()
  assert.equal(log.sort(), ['high 1', 'low 3', 'middle 2', 'outside 4'])
})

waitables('a waitable acts on the scheduler of the running job, or outside on the given one', () => {
  const first = world()
  const second = world()
  assert.is(extend.here({ scheduler: second.scheduler }), second.scheduler)
  assert.throws(() => extend.here({ scheduler: {} }), /scheduler must be a Scheduler, got an object/)
  first.scheduler.spawn(function* () {
    first.log.push(extend.here() === first.scheduler)
    yield sleep(1)
    first.log.push(first.host.time, second.host.timers.length)
  })
  first.host.run()
  assert.equal(first.log, [true, 1, 0])
})

waitables('waitables have catch() and finally()', async () => {
  const { host, scheduler, log } = world()
  const failing = () => either(new extend.Sleep(1, true, { scheduler }), Promise.reject(new Error('no')))
  log.push(await failing().catch(({ message }) => message))
  log.push(await failing().finally(() => log.push('finally')).catch(({ message }) => message))
  const nap = sleep(2, { scheduler })
  const ends = nap.catch(() => 'never').finally(() => log.push('over'))
  await host.drain()
  log.push(await ends, await nap.finally(() => 'ignored'))
  assert.equal(log, ['no', 'finally', 'no', 'over', undefined, undefined])
})

waitables('an aborted signal ends a waitable with its reason for all waiters', async () => {
  const { host, scheduler, log } = world()
  const { signal, abort } = abortable()
  const waitable = new Noted(log, { signal })
  const jobs = ['a', 'b'].map(name => scheduler.spawn(function* () {
    try {
      yield waitable
    } catch (error) {
      log.push(`${name} ${error} at ${host.time}`)
    }
    try {
      yield waitable
    } catch (error) {
      log.push(`${name} ${error} again`)
    }
  }, { name }))
  const outside = rejection(waitable)
  extend.at(scheduler, 3, () => abort('stop'))
  await host.drain()
  assert.equal(jobs.map(({ state }) => state), ['done', 'done'])
  assert.is(await outside, 'stop')
  assert.equal(log, ['try', 'enter', 'leave', 'a stop at 3', 'a stop again', 'b stop at 3', 'b stop again'])
  assert.is(abortListeners(signal), 0)
})

waitables('a waitable whose signal is already aborted fails without acting', async () => {
  const { host, scheduler, log } = world()
  const waitable = new Noted(log, { signal: AbortSignal.abort('before') })
  const job = scheduler.spawn(function* () { yield waitable })
  assert.is(await Promise.race([rejection(job), host.drain()]), 'before')
  assert.equal(log, [])
  assert.throws(() => new Noted(log, { signal: 5 }), 'signal must be an AbortSignal, got 5')
})

waitables('a waitable that has settled or been left removes its abort listener', async () => {
  const { host, scheduler, log } = world()
  const { signal, abort } = abortable()
  const [settled, left] = [new Noted(log, { signal }), new Noted(log, { signal })]
  const jobs = [settled, left].map(waitable => scheduler.spawn(function* () { return yield waitable }))
  host.run()
  assert.is(abortListeners(signal), 1) // a single listener serves both
  settled.wake('value')
  jobs[1].cancel('cancelled')
  await host.drain()
  assert.equal([await jobs[0], await rejection(jobs[1]), abortListeners(signal)], ['value', 'cancelled', 0])
  const again = scheduler.spawn(function* () { return yield left })
  host.run()
  assert.equal([again.state, abortListeners(signal)], ['waiting', 1])
  abort('late')
  host.run()
  assert.equal([again.state, await rejection(again), await settled], ['failed', 'late', 'value'])
})

waitables('extend.emit writes records of extensions into the trace', () => {
  const { host, scheduler, trace } = world()
  const lend = () => extend.emit(scheduler, 'lend', job, { to: 'somebody' })
  const job = scheduler.spawn(lend, { name: 'job' })
  host.run()
  trace.stop()
  extend.emit(scheduler, 'lend', null)
  assertTrace(trace, `
    0 release job, start job, lend job to=somebody, finish job`)
})

waitables.run()

// ---------------------------------------------------------------------------------------------------- events

const events = suite('events')

class Message extends extend.Waitable {
  name = 'message'
}

/**
 * Starts a job that takes `ms` for each message. Returns a function that delivers one message, as an event
 * listener does.
 */
function listening({ host, scheduler }, name, ms = 1, options = {}) {
  let arrived = 0
  let message = new Message()
  scheduler.spawn(function* () {
    for (;; arrived--) {
      if (arrived === 0) yield message = new Message()
      host.advance(ms)
    }
  }, { name, ...options })
  host.run()
  return () => {
    arrived++
    message.wake()
  }
}

events('a job woken by an event runs right after the handler, without a post', () => {
  const { host, scheduler, trace } = world()
  const wake = listening({ host, scheduler }, 'job')
  const { rounds } = scheduler.stats()
  const { turns } = host
  trace.take()
  host.after(5, () => {
    extend.event(() => {
      wake()
      assert.is(scheduler.current, null)
      assert.is(host.time, 5)
    })
    assert.is(host.time, 6)
    assert.is(host.posts, 0)
  })
  host.run()
  assertTrace(trace, `
    5 wake job, resume job
    6 block job on=message`)
  assert.is(host.turns, turns + 1)
  assert.is(scheduler.stats().rounds, rounds + 1)
})

events('jobs woken by an event start after all its handlers, highest rank first', () => {
  const { host, scheduler, trace } = world()
  const wakers = [1, 3, 2].map(priority => listening({ host, scheduler }, `p${priority}`, 1, { priority }))
  trace.take()
  const [one, three, two] = wakers
  host.after(5, () => extend.event(() => {
    extend.event(two)
    one()
    three()
  }))
  host.run()
  assert.equal(trace.records.filter(({ type }) => type === 'resume').map(({ job }) => job.name), ['p3', 'p2', 'p1'])
  assert.equal(trace.records.slice(0, 3).map(({ type }) => type), ['wake', 'wake', 'wake'])
})

events('a job woken by an event during a round runs in that round, at the next point', () => {
  const { host, scheduler, trace } = world()
  const wake = listening({ host, scheduler }, 'woken', 1, { priority: 1 })
  trace.take()
  scheduler.spawn(function* () {
    extend.event(wake)
    host.advance(1)
    yield
  }, { name: 'running' })
  host.run()
  assertTrace(trace, `
    0 release running, start running, wake woken
    1 preempt running by=woken, resume woken
    2 block woken on=message, resume running, finish running`)
})

events('an event does not interrupt the round of another scheduler', () => {
  const { host, scheduler } = world()
  const other = world({ hostOf: () => host })
  const wake = listening(other, 'other')
  other.trace.take()
  scheduler.spawn(function* () {
    extend.event(wake)
    host.advance(3)
  })
  host.run()
  assertTrace(other.trace, `
    0 wake other
    3 resume other
    4 block other on=message`)
})

events('each scheduler woken by an event runs its round', () => {
  const { host, scheduler } = world()
  const other = world({ hostOf: () => host })
  const wakers = [listening({ host, scheduler }, 'one'), listening(other, 'other')]
  const { turns } = host
  host.after(5, () => extend.event(() => { for (const wake of wakers) wake() }))
  assert.is(host.run(), 7)
  assert.is(host.turns, turns + 1)
})

events('a scheduler paused before or during an event stays paused', () => {
  for (const before of [true, false]) {
    const { host, scheduler, trace } = world()
    const wake = listening({ host, scheduler }, 'job')
    trace.take()
    if (before) scheduler.pause()
    host.after(5, () => extend.event(() => {
      wake()
      scheduler.pause()
    }))
    host.after(9, () => scheduler.resume())
    host.run()
    assertTrace(trace, `
      5 wake job
      9 resume job
      10 block job on=message`)
  }
})

events('an event does not run a round while a turn is already posted', () => {
  const { host, scheduler } = world({ host: { turn: 2 } })
  const wake = listening({ host, scheduler }, 'job')
  const { rounds } = scheduler.stats()
  const { turns } = host
  host.after(5, () => {
    wake()
    extend.event(wake)
    assert.is(host.posts, 1)
  })
  host.run()
  assert.is(host.turns, turns + 2)
  assert.is(scheduler.stats().rounds, rounds + 1)
})

events('rounds after events share the time of one round until the host gives a turn', () => {
  const { host, scheduler, trace } = world({ round: 5 })
  const wake = listening({ host, scheduler }, 'job', 2)
  trace.take()
  const posts = []
  // All messages arrive at the same time, like messages that have queued up.
  for (let n = 0; n < 8; n++) {
    host.after(10, () => {
      extend.event(wake)
      posts.push(host.posts)
    })
  }
  host.run()
  assert.equal(posts, [0, 0, 0, 1, 1, 1, 1, 1])
  assert.is(trace.records.filter(({ type }) => type === 'resume').length, 4)
})

events('a round after an event ends when earlier rounds have used up the time limit', () => {
  const { host, scheduler } = world({ round: 5 })
  const wake = listening({ host, scheduler }, 'job', 4)
  host.after(10, () => extend.event(wake))
  host.after(20, () => extend.event(() => {
    wake()
    scheduler.spawn(execute(host, 3), { priority: -1 })
  }))
  host.run({ until: 19 })
  const { rounds } = scheduler.stats()
  host.run({ until: 20, turns: 1 })
  assert.is(host.time, 24)
  assert.is(host.posts, 1)
  assert.is(scheduler.stats().rounds, rounds + 1)
  assert.is(host.run(), 27)
})

events('a turn started by a timer resets the time limit like a posted turn', () => {
  const { host, scheduler } = world({ round: 5 })
  const wake = listening({ host, scheduler }, 'job', 4)
  host.after(10, () => extend.event(wake))
  extend.at(scheduler, 20, () => {})
  host.after(30, () => extend.event(() => {
    wake()
    scheduler.spawn(execute(host, 3), { priority: -1 })
  }))
  host.run({ until: 29 })
  host.run({ turns: 1 })
  assert.is(host.time, 35)
})

events('an error of an event handler reaches its caller, and woken jobs still run', () => {
  const { host, scheduler } = world()
  const wake = listening({ host, scheduler }, 'job')
  assert.throws(() => extend.event(() => {
    wake()
    throw new Error('wrong')
  }), 'wrong')
  assert.is(host.time, 1)
  assert.is(host.posts, 0)
})

events('a scheduler that gets another host during an event runs its jobs there', async () => {
  const { host, scheduler } = world()
  const next = virtualHost()
  extend.event(() => {
    scheduler.spawn(() => {}).cancel()
    scheduler.configure({ host: next })
    scheduler.spawn(function* () { next.advance(1) })
  })
  host.run()
  next.run()
  assert.is(host.time, 0)
  assert.is(next.time, 1)
})

events('jobs ready before an event run right after it, highest rank first', () => {
  const { host, scheduler, trace } = world({ slice: 5, round: 5 })
  scheduler.spawn(execute(host, 1), { name: 'first' })
  scheduler.spawn(execute(host, 1), { name: 'urgent', priority: 1 })
  assert.is(host.posts, 1)
  extend.event(() => {}, [scheduler])
  assertTrace(trace, `
    0 release first, release urgent, start urgent
    1 finish urgent, start first
    2 finish first`)
  host.run() // the turn that was posted before finds no ready job
  assert.is(scheduler.stats().rounds, 1)
})

events('a round right after an event lasts one slice, and the rest is posted', () => {
  const { host, scheduler } = world({ slice: 2, round: 5 })
  extend.event(() => scheduler.spawn(execute(host, 4)), [scheduler])
  assert.equal([host.time, host.posts], [2, 1])
  host.run()
  assert.equal([host.time, scheduler.stats().rounds], [4, 2])
})

events('an event takes no turn for an idle scheduler and runs no job of a paused one', () => {
  const { host, scheduler } = world()
  extend.event(() => {}, [scheduler])
  assert.equal([host.posts, host.timers.length], [0, 0])
  const job = scheduler.spawn(execute(host, 1))
  scheduler.pause()
  extend.event(() => {}, [scheduler])
  assert.is(job.state, 'ready')
  scheduler.resume()
  host.run()
  assert.is(job.state, 'done')
})

events('an event does not overtake an async job whose round runs in microtasks', async () => {
  const { host, scheduler } = world({ slice: 1, round: 5 })
  const log = []
  scheduler.spawn(async () => {
    const job = scheduler.current
    for (let n = 0; n < 3; n++) {
      log.push(n)
      queueMicrotask(() => extend.event(() => {}, [scheduler]))
      host.advance(1)
      await job.yield()
    }
  })
  await host.drain()
  assert.equal(log, [0, 1, 2])
})

events.run()
