/**
 * Tests of channels: pairs of senders and receivers, buffers, and the state after a close, a cancellation or
 * a timeout.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../rt.mjs'
import { after, sleep, timeout } from '../../alarms.mjs'
import { Channel, ChannelError, choice, nonPreemptive } from '../../sync.mjs'
import { forSeeds, seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { microtasks, virtualHost } from '../support/virtual-host.mjs'
import { abortListeners, exactWorld, rejection } from '../support/world.mjs'

/** A scheduler that reads its clock at every point, without rotation or rounds unless the options say so. */
const world = (/** @type {any} */ options = {}) => exactWorld({ except: ['round', 'release'], ...options })

// ------------------------------------------------------------------------------------------------ rendezvous

const rendezvous = suite('channels without a buffer')

rendezvous('a sender waits for a receiver, and a receiver for a sender', () => {
  const { host, scheduler, log, trace } = world()
  const channel = new Channel(0, { name: 'c' })
  scheduler.spawn(function* () {
    yield channel.send('first')
    host.advance(1)
    yield sleep(2)
    yield channel.send('second')
  }, { name: 'sender', priority: 1 })
  scheduler.spawn(function* () {
    host.advance(1)
    log.push(yield channel.receive(), host.time)
    log.push(yield channel.receive(), host.time)
  }, { name: 'receiver' })
  host.run()
  assert.equal(log, ['first', 2, 'second', 4])
  assertTrace(trace, `
    0 start sender, block sender on=c.send(), start receiver
    1 wake sender, preempt receiver by=sender, resume sender
    2 block sender on=sleep, resume receiver, block receiver on=c.receive()
    4 alarm due=4, wake sender, resume sender, wake receiver, finish sender, resume receiver
    4 finish receiver`.replace('on=sleep', `on=${sleep(0).name ?? sleep(0).constructor.name}`))
})

rendezvous('every message reaches one receiver, with several jobs at each end', () => {
  const { host, scheduler } = world({ budget: 'auto' })
  const channel = new Channel()
  const got = []
  for (let s = 0; s < 3; s++) {
    scheduler.spawn(function* () { for (let i = 0; i < 20; i++) yield channel.send(`${s}.${i}`) })
  }
  for (let r = 0; r < 4; r++) {
    scheduler.spawn(function* () { for (let i = 0; i < 15; i++) got.push(yield channel.receive()) })
  }
  host.run()
  assert.is(new Set(got).size, 60)
  for (let s = 0; s < 3; s++) {
    const own = got.filter(message => message.startsWith(`${s}.`))
      .map(message => Number(message.split('.')[1]))
    assert.equal(own, [...own].sort((a, b) => a - b))
  }
})

rendezvous('waiting jobs are served by rank, equals in order of arrival', () => {
  for (const [waits, serves] of [['send', 'receive'], ['receive', 'send']]) {
    const { host, scheduler, log } = world()
    const channel = new Channel()
    const jobs = [1, 3, 2, 3].map((priority, i) => scheduler.spawn(function* () {
      yield waits === 'send' ? channel.send(i) : channel.receive()
      log.push(i)
    }, { priority, release: i }))
    scheduler.spawn(function* () {
      jobs[2].priority = 4
      for (let i = 0; i < 4; i++) yield serves === 'send' ? channel.send(i) : channel.receive()
    }, { release: 10 })
    host.run()
    assert.equal(log, [2, 1, 3, 0], waits)
  }
})

rendezvous('undefined, null and errors are valid messages', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const error = new Error('a message')
  const messages = [undefined, null, error, NaN]
  scheduler.spawn(function* () { for (const message of messages) yield channel.send(message) })
  scheduler.spawn(function* () { for (let i = 0; i < 4; i++) log.push(yield channel.receive()) })
  host.run()
  assert.equal(log, [undefined, null, error, NaN])
})

rendezvous('send and receive act once, at their first wait, and repeat their outcome', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const send = channel.send('once')
  const receive = channel.receive()
  assert.is(channel.poll(), undefined)
  scheduler.spawn(function* () {
    yield send
    yield send
    log.push('sent')
  })
  scheduler.spawn(function* () { log.push(yield receive, yield receive, yield* receive) })
  host.run()
  assert.equal(log.sort(), ['once', 'once', 'once', 'sent'])
})

rendezvous('a job keeps running after it woke a job of equal rank, but not of higher rank', () => {
  for (const [priority, order] of [[0, ['sent', 'got']], [1, ['got', 'sent']]]) {
    const { host, scheduler, log } = world({ budget: 100 })
    const channel = new Channel()
    scheduler.spawn(function* () { log.push((yield channel.receive()) && 'got') }, { priority })
    scheduler.spawn(function* () {
      yield channel.send(true)
      log.push('sent')
      yield
      log.push('went on')
    })
    host.run()
    assert.equal(log, [...order, 'went on'])
  }
})

rendezvous('a job that woke one of equal rank and spawns lower-ranked jobs keeps running', () => {
  const order = spawns => {
    const { host, scheduler, log } = world({ budget: 100 })
    const channel = new Channel(1)
    scheduler.spawn(function* () {
      for (let i = 0; i < 6; i++) log.push(`got ${yield channel.receive()}`)
    })
    scheduler.spawn(function* () {
      for (let i = 0; i < 6; i++) {
        yield channel.send(i)
        log.push(`sent ${i}`)
        if (spawns) scheduler.spawn(function* () {}, { priority: -1 })
      }
    })
    host.run()
    return log
  }
  assert.equal(order(true), order(false))
})

rendezvous('a job that woke jobs of equal rank keeps running for at most its budget', () => {
  const { host, scheduler, log } = world({ budget: 3 })
  const channels = Array.from({ length: 6 }, () => new Channel())
  for (const [i, channel] of channels.entries()) {
    scheduler.spawn(function* () { log.push((yield channel.receive()) && `got ${i}`) })
  }
  scheduler.spawn(function* () {
    for (const [i, channel] of channels.entries()) {
      yield channel.send(true)
      log.push(`sent ${i}`)
    }
  })
  host.run()
  assert.equal(log.slice(0, 3), ['sent 0', 'sent 1', 'got 0'])
  assert.is(log.length, 12)
})

/**
 * Jobs that send and receive at random over the same channels. Returns their log and the counters of the
 * scheduler.
 */
async function pipeline(random, isObserved) {
  const host = virtualHost({ resolution: random.pick([0, 0.5]) })
  const scheduler = new Scheduler({ host, budget: random.pick([1, 2, 5, 'auto']), slice: 3, round: 7 })
  const log = []
  const channels = Array.from({ length: 4 }, () => new Channel(random.integer(0, 2)))
  const jobs = []
  for (let j = 0; j < 6; j++) {
    const steps = Array.from({ length: 30 }, () => [
      random.weighted({ send: 10, receive: 10, yield: 10, sleep: 5, cancel: 1 }), random.pick(channels),
      random.pick([0, 0, 0.1, 2])])
    const victim = random.integer(0, 5)
    const options = { wcet: random.pick([3, 20]), deadline: random.pick([50, 500, Infinity]) }
    jobs.push(scheduler.spawn(function* () {
      for (const [what, channel, ms] of steps) {
        host.advance(ms)
        if (what === 'send') yield timeout(5, channel.send(j))
        else if (what === 'receive') log.push(j, yield choice([{ receive: channel }, { timeout: 4 }]))
        else if (what === 'sleep') yield sleep(1)
        else if (what === 'cancel') jobs[victim].cancel()
        else yield
        log.push(j, host.time)
      }
    }, random.chance(0.5) ? options : undefined))
  }
  for (const [j, job] of jobs.entries()) job.catch(() => log.push('failed', j))
  if (isObserved) scheduler.observe(() => {})
  await host.drain()
  const { overhead, longestRound, ...stats } = scheduler.stats()
  return { log, stats, time: host.time }
}

rendezvous('an observer does not change the schedule of channel operations', () => forSeeds(150, async random => {
  const { seed } = random
  assert.equal(await pipeline(seeded(seed), false), await pipeline(seeded(seed), true))
}))

rendezvous.run()

// --------------------------------------------------------------------------------------------------- buffers

const buffers = suite('channels with a buffer')

buffers('a buffer keeps size messages in order, and further senders wait', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(2)
  scheduler.spawn(function* () {
    for (let i = 0; i < 4; i++) {
      yield channel.send(i)
      log.push(`sent ${i}`)
    }
  }, { priority: 1 })
  scheduler.spawn(function* () {
    log.push(channel.length)
    for (let i = 0; i < 4; i++) log.push(yield channel.receive())
  })
  host.run()
  assert.equal(log, ['sent 0', 'sent 1', 2, 'sent 2', 0, 'sent 3', 1, 2, 3])
  assert.equal([channel.length, channel.size], [0, 2])
})

buffers('senders never wait on a channel of infinite size', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(Infinity)
  scheduler.spawn(function* () {
    for (let i = 0; i < 1000; i++) yield channel.send(i)
    log.push(channel.length)
    for (let i = 0; i < 1000; i++) if ((yield channel.receive()) !== i) log.push(`not ${i}`)
    for (let i = 0; i < 5; i++) yield channel.send(i)
    log.push(channel.length)
  })
  host.run()
  assert.equal(log, [1000, 5])
})

buffers('a full channel with drop loses the newest message, with slide the oldest', () => {
  const cases = [[2, 'drop', [0, 1]], [2, 'slide', [3, 4]], [0, 'drop', []], [0, 'slide', []]]
  for (const [size, overflow, kept] of cases) {
    const { host, scheduler, log } = world()
    const channel = new Channel(size, { overflow })
    scheduler.spawn(function* () {
      for (let i = 0; i < 5; i++) yield channel.send(i)
      channel.close()
      yield channel.forEach(message => log.push(message))
    })
    host.run()
    assert.equal(log, kept, `${size} ${overflow}`)
  }
})

buffers('a message goes directly to a waiting receiver, with any overflow option', () => {
  for (const overflow of ['block', 'drop', 'slide']) {
    const { host, scheduler, log } = world()
    const channel = new Channel(0, { overflow })
    scheduler.spawn(function* () { log.push(yield channel.receive()) })
    scheduler.spawn(function* () { yield channel.send('there') })
    host.run()
    assert.equal(log, ['there'], overflow)
  }
})

buffers('only channels without waiting senders accept send in a critical section', () => {
  const { host, scheduler, log } = world()
  const channels = [
    new Channel(1, { overflow: 'drop' }), new Channel(1, { overflow: 'slide' }), new Channel(Infinity),
    new Channel(1)
  ]
  scheduler.spawn(() => nonPreemptive(function* () {
    for (const channel of channels) {
      try {
        yield channel.send(1)
        log.push('sent')
      } catch (error) {
        log.push(error.constructor.name)
      }
    }
  }))
  host.run()
  assert.equal(log, ['sent', 'sent', 'sent', 'TypeError'])
})

buffers.run()

// --------------------------------------------------------------------------------------------- outside jobs

const outside = suite('channels outside jobs')

outside('offer returns whether the message was sent, poll receives or returns undefined', () => {
  const { host, scheduler, log } = world()
  const meeting = new Channel()
  const kept = new Channel(1)
  assert.equal([meeting.offer(1), kept.offer(1), kept.offer(2)], [false, true, false])
  assert.equal([kept.poll(), kept.poll()], [1, undefined])
  scheduler.spawn(function* () {
    log.push(yield meeting.receive())
    yield meeting.send('answer')
    log.push('answered')
  })
  after(1, () => log.push(meeting.offer('question')), { scheduler })
  after(2, () => log.push(meeting.poll(), meeting.poll()), { scheduler })
  host.run()
  assert.equal(log, [true, 'question', 'answer', undefined, 'answered'])
})

outside('offer returns false for a dropped message and true if the oldest slides out', () => {
  const dropping = new Channel(1, { overflow: 'drop' })
  const sliding = new Channel(1, { overflow: 'slide' })
  assert.equal([dropping.offer(1), dropping.offer(2), dropping.poll()], [true, false, 1])
  assert.equal([sliding.offer(1), sliding.offer(2), sliding.poll()], [true, true, 2])
})

outside('poll from a full buffer lets in the waiting sender of the highest rank', () => {
  const { host, scheduler } = world()
  const channel = new Channel(1)
  channel.offer('first')
  for (const priority of [1, 2]) scheduler.spawn(function* () { yield channel.send(priority) }, { priority })
  host.run()
  assert.equal([channel.poll(), channel.poll(), channel.poll(), channel.poll()], ['first', 2, 1, undefined])
})

outside('send and receive can be awaited outside jobs', async () => {
  const { host, scheduler, log } = world()
  const [there, back] = [new Channel(), new Channel()]
  scheduler.spawn(function* () {
    log.push(yield there.receive())
    yield back.send('from a job')
  })
  const sent = there.send('to a job').then(() => log.push('sent'))
  const received = back.receive().then(message => log.push(message))
  await host.drain()
  await Promise.all([sent, received])
  assert.equal(log.sort(), ['from a job', 'sent', 'to a job'])
})

outside('an awaited send and an awaited receive meet without any job', async () => {
  const channel = new Channel()
  const received = Promise.all([channel.receive(), channel.receive()])
  await Promise.all([channel.send(1), channel.send(2)])
  assert.equal(await received, [1, 2])
})

outside('for await receives until the channel ends', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  scheduler.spawn(function* () {
    for (let i = 0; i < 3; i++) yield channel.send(i)
    channel.close()
  })
  const loop = (async () => { for await (const message of channel) log.push(message) })()
  await host.drain()
  await loop
  assert.equal(log, [0, 1, 2])
})

outside('leaving for await neither closes the channel nor loses a message', async () => {
  const channel = new Channel(3)
  for (let i = 0; i < 3; i++) channel.offer(i)
  for await (const message of channel) if (message === 1) break
  assert.equal([channel.poll(), channel.closed], [2, false])
})

outside('return() of the async iterator ends its pending receives', async () => {
  const channel = new Channel()
  const messages = channel[Symbol.asyncIterator]()
  const pending = [messages.next(), messages.next()]
  assert.equal(await messages.return(), { done: true, value: undefined })
  const over = { done: true, value: undefined }
  assert.equal(await Promise.all(pending), [over, over])
  assert.is(channel.offer('nobody waits'), false)
  assert.equal(await messages.next(), { done: true, value: undefined })
})

outside.run()

// --------------------------------------------------------------------------------------------------- closing

const closing = suite('closing channels')

closing('after close(), buffered messages are received, then receive fails', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(2, { name: 'orders' })
  channel.offer(1)
  channel.offer(2)
  assert.equal([channel.close('shop closed'), channel.close('again'), channel.closed], [true, false, true])
  scheduler.spawn(function* () {
    log.push(yield channel.receive())
    yield channel.forEach(message => log.push(message))
    try {
      yield channel.receive()
    } catch (error) {
      log.push(error)
    }
  })
  host.run()
  const [first, second, error] = log
  assert.equal([first, second], [1, 2])
  assert.instance(error, ChannelError)
  const { name, message, reason } = error
  assert.equal([name, message, reason], ['ChannelError', 'orders is closed: shop closed', 'shop closed'])
  for await (const another of channel) assert.unreachable(another)
})

closing('close() fails waiting senders and receivers, and delivers nothing further', async () => {
  const { host, scheduler } = world()
  const reason = new Error('power cut')
  const full = new Channel(1)
  full.offer('kept')
  const empty = new Channel()
  const jobs = [full.send('a'), full.send('b'), empty.receive(), empty.receive()]
    .map(waitable => scheduler.spawn(function* () { return yield waitable }))
  const outsider = rejection(empty.receive())
  const errors = jobs.map(rejection)
  host.run()
  full.close(reason)
  empty.close(reason)
  await host.drain()
  for (const error of [...await Promise.all(errors), await outsider]) {
    assert.instance(error, ChannelError)
    assert.equal([error.reason, error.cause], [reason, reason])
  }
  assert.equal([full.poll(), full.poll(), full.offer('late')], ['kept', undefined, false])
  assert.is((await rejection(full.send('late'))).reason, reason)
})

closing('after close(error), iteration fails with the error after the buffered messages', async () => {
  const { host, scheduler, log } = world()
  const cause = new Error('broken')
  const channel = new Channel(1)
  channel.offer('kept')
  channel.close(cause)
  const job = scheduler.spawn(() => new Channel().close() && channel.forEach(message => log.push(message)))
  const failed = rejection(job)
  await host.drain()
  assert.equal([log, (await failed).reason], [['kept'], cause])
  const iterate = async () => { for await (const message of channel) assert.unreachable(message) }
  const error = await rejection(iterate())
  assert.is(error.reason, cause)
})

closing('close() with a ChannelError as the reason throws that error to all waiters', async () => {
  const channel = new Channel()
  const gone = new ChannelError('the other side has gone')
  const receive = rejection(channel.receive())
  channel.close(gone)
  assert.is(await receive, gone)
  assert.is(await rejection(channel[Symbol.asyncIterator]().next()), gone)
})

closing('close() with a reason that has no text describes its type', async () => {
  for (const [reason, text] of [[{ toString: 0, valueOf: 0 }, 'an object (Object)'], [Object.create(null), 'an object'], [[{}], 'an array'], [4, '4']]) {
    const channel = new Channel()
    assert.is(channel.close(reason), true)
    const error = await rejection(channel.receive())
    assert.is(error.reason, reason)
    assert.is(error.message.startsWith(`channel is closed: ${text}`), true)
  }
})

closing('forEach runs generator functions and fails with their errors', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(Infinity)
  for (let i = 0; i < 4; i++) channel.offer(i)
  const job = scheduler.spawn(() => channel.forEach(function* (message) {
    yield sleep(1)
    if (message === 2) throw new Error('enough')
    log.push(message)
  }))
  const failed = rejection(job)
  await host.drain()
  assert.equal([log, (await failed).message, channel.poll()], [[0, 1], 'enough', 3])
})

closing.run()

// -------------------------------------------------------------------------------- cancellations and timeouts

const leaving = suite('leaving channels')

leaving('a job that is cancelled or times out leaves the queue of the channel', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  for (const [what, wait] of Object.entries({ send: () => channel.send('too late'), receive: () => channel.receive() })) {
    const cancelled = [1, 2, 3].map(() => scheduler.spawn(function* () { yield wait() }))
    for (const job of cancelled) job.catch(() => log.push(what))
    scheduler.spawn(function* () {
      try {
        yield timeout(1, wait())
      } catch (error) {
        log.push(error.name)
      }
    })
    host.run()
    cancelled[1].cancel()
    cancelled[0].cancel()
    cancelled[2].cancel()
    host.run()
    assert.equal([channel.poll(), channel.offer('nobody is there')], [undefined, false])
  }
  assert.equal(log, ['TimeoutError', 'TimeoutError'])
})

leaving('a receiver cancelled after its message arrived receives it, then the reason', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const job = scheduler.spawn(function* () {
    log.push(yield channel.receive())
    try {
      yield
      log.push('not reached')
    } finally {
      log.push('finally')
    }
  })
  job.catch(() => {})
  host.run()
  channel.offer('message')
  job.cancel()
  host.run()
  assert.equal([...log, job.state], ['message', 'finally', 'cancelled'])
})

leaving('a cancelled receiver that did not wait receives its message, then the reason', () => {
  for (const budget of [1, 2]) {
    const { host, scheduler, log } = world({ budget })
    const channel = new Channel(1)
    channel.offer('message')
    const job = scheduler.spawn(function* () {
      host.advance(1)
      log.push(yield channel.receive())
      try {
        yield
        yield
        log.push('not reached')
      } finally {
        log.push('finally')
      }
    })
    job.catch(() => {})
    after(1, () => job.cancel(), { scheduler })
    host.run()
    assert.equal([...log, job.state], ['message', 'finally', 'cancelled'], `budget ${budget}`)
  }
})

leaving('random cancellations neither lose nor duplicate messages', () => forSeeds(300, random => {
  const { host, scheduler } = world({ budget: random.pick([1, 3, 'auto']), slice: 2 })
  const channel = new Channel(random.integer(0, 2))
  const sent = []
  const received = []
  const jobs = []
  for (let i = 0; i < 8; i++) {
    const isSender = random.chance(0.5)
    jobs.push(scheduler.spawn(function* () {
      for (let n = 0; n < 5; n++) {
        host.advance(0.1)
        if (isSender) {
          yield channel.send(`${i}.${n}`)
          sent.push(`${i}.${n}`)
        } else {
          received.push(yield channel.receive())
        }
      }
    }, { priority: random.integer(0, 2), release: random.integer(0, 5) }))
  }
  for (const job of jobs) {
    job.catch(() => {})
    if (random.chance(0.5)) after(random.real(0, 6), () => job.cancel(), { scheduler })
  }
  host.run()
  const kept = Array.from({ length: channel.length }, () => channel.poll())
  assert.is(new Set(received).size, received.length)
  // A sender can be cancelled at the end of its last send, before it records the message.
  assert.equal([...received, ...kept].filter(message => !sent.includes(message)), [])
  assert.equal(sent.filter(message => !received.includes(message) && !kept.includes(message)), [])
}))

leaving('a signal ends the wait to send or receive with its reason, without loss', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const controller = new AbortController()
  const { signal } = controller
  const waits = [() => channel.send('lost', { signal }), () => channel.forEach(() => {}, { signal })]
  for (const wait of waits) {
    scheduler.spawn(function* () {
      try {
        yield wait()
      } catch (error) {
        log.push(error)
      }
    })
    host.run()
    if (wait === waits[0]) assert.is(channel.poll(), 'lost') // sent before the abort
    else assert.is(channel.offer('taken'), true)
    host.run()
    assert.is(log.length, 0)
  }
  scheduler.spawn(function* () {
    try {
      yield channel.receive({ signal })
    } catch (error) {
      log.push(error)
    }
  })
  host.run()
  const outside = channel.receive({ signal }).catch(error => log.push(error)).finally(() => log.push('ended'))
  controller.abort('enough')
  host.run()
  await outside
  assert.equal(log, ['enough', 'enough', 'enough', 'ended'])
  assert.equal([channel.offer('nobody is there'), abortListeners(signal)], [false, 0])
  const error = await rejection(channel.send('late', { signal }))
  assert.equal([error, channel.poll()], ['enough', undefined])
})

leaving.run()

// --------------------------------------------------------------------------- arguments, order and schedulers

const rest = suite('channels: arguments, order and schedulers')

rest('Channel throws for invalid arguments', () => {
  const refuses = (make, kind, name) =>
    assert.throws(make, error => error instanceof kind && error.message.includes(name))
  for (const size of [-1, 1.5, NaN, 2 ** 53]) refuses(() => new Channel(size), RangeError, 'size')
  for (const size of ['1', null, {}, Symbol('x')]) refuses(() => new Channel(size), TypeError, 'size')
  for (const overflow of ['lose', null, 1]) refuses(() => new Channel(1, { overflow }), TypeError, 'overflow')
  refuses(() => new Channel(1, { name: 5 }), TypeError, 'name')
  refuses(() => new Channel(1, 5), TypeError, 'options')
  refuses(() => new Channel().forEach(5), TypeError, 'work')
})

rest('after some of 1000 receivers leave in any order, the rest is served in order', () => {
  const { host, scheduler, log } = world({ budget: 'auto' })
  const channel = new Channel()
  const jobs = Array.from({ length: 1000 }, (_, i) => scheduler.spawn(function* () {
    yield channel.receive()
    log.push(i)
  }))
  for (const job of jobs) job.catch(() => {})
  host.run()
  for (let i = 0; i < 1000; i++) if (i % 7 !== 0) jobs[(i * 389) % 1000].cancel()
  host.run()
  const left = jobs.flatMap((job, i) => job.state === 'waiting' ? [i] : [])
  for (const _ of left) assert.is(channel.offer(1), true)
  host.run()
  assert.equal([log, channel.offer(1)], [left, false])
})

rest('messages reach jobs of another scheduler', async () => {
  const one = world()
  const other = world()
  const channel = new Channel()
  one.scheduler.spawn(function* () { for (let i = 0; i < 3; i++) yield channel.send(i) })
  other.scheduler.spawn(function* () { for (let i = 0; i < 3; i++) other.log.push(yield channel.receive()) })
  for (let i = 0; i < 6; i++) {
    one.host.run()
    other.host.run()
  }
  await microtasks()
  assert.equal(other.log, [0, 1, 2])
})

rest.run()
