/** Tests of choice: the committed guard, its uniqueness, and the state of the other guards. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { after, sleep, timeout } from '../../alarms.mjs'
import { Channel, ChannelError, Mutex, Semaphore, choice, nonPreemptive, par, race } from '../../sync.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { exactWorld as world, rejection } from '../support/world.mjs'

// ---------------------------------------------------------------------------------------------------- guards

const kinds = suite('guards of a choice')

/** The result of one choice, made in the only running job. */
function chosen(guards, options, during = _world => {}) {
  const run = world()
  const { host, scheduler, log } = run
  scheduler.spawn(function* () {
    try {
      log.push(yield choice(guards, options), host.time)
    } catch (error) {
      log.push(error)
    }
  })
  during(run)
  host.run()
  return log
}

kinds('a receive guard is ready when there is a message', () => {
  const kept = new Channel(1)
  kept.offer('kept')
  assert.equal(chosen([{ receive: new Channel() }, { receive: kept }]), [{ index: 1, value: 'kept' }, 0])
  const late = new Channel()
  const offerLate = ({ scheduler }) => after(3, () => late.offer('late'), { scheduler })
  assert.equal(chosen([{ receive: late }], {}, offerLate), [{ index: 0, value: 'late' }, 3])
})

kinds('a send guard is ready when its value can be sent', () => {
  const full = new Channel(1)
  full.offer('first')
  const empty = new Channel(1)
  const guards = [{ send: full, value: 1 }, { send: empty, value: 2 }]
  assert.equal(chosen(guards), [{ index: 1, value: undefined }, 0])
  assert.is(empty.poll(), 2)
  const seen = []
  assert.equal(chosen([{ send: full, value: 'second' }], {}, ({ scheduler }) => {
    after(3, () => seen.push(full.poll(), full.poll()), { scheduler })
  }), [{ index: 0, value: undefined }, 3])
  assert.equal(seen, ['first', 'second'])
})

kinds('timeout and until guards are ready when their time has come', () => {
  const never = { receive: new Channel() }
  assert.equal(chosen([never, { timeout: 5 }, { timeout: 9 }]), [{ index: 1, value: undefined }, 5])
  assert.equal(chosen([never, { until: 7 }, { timeout: 9 }]), [{ index: 1, value: undefined }, 7])
  assert.equal(chosen([never, { until: -7 }]), [{ index: 1, value: undefined }, 0])
  const guards = [{ timeout: Infinity }, { until: Infinity }, { timeout: 0 }]
  assert.equal(chosen(guards), [{ index: 2, value: undefined }, 0])
})

kinds('a wait guard is ready when its waitable, job or promise settles', async () => {
  const mutex = new Mutex()
  const guards = [{ receive: new Channel() }, { wait: mutex.lock() }]
  const [{ index, value: held }, time] = chosen(guards)
  assert.equal([index, typeof held.unlock, time, mutex.locked], [1, 'function', 0, false])
  assert.equal(chosen([{ timeout: 9 }, { wait: sleep(2) }]), [{ index: 1, value: undefined }, 2])
  const { host, scheduler, log } = world()
  const child = scheduler.spawn(function* () {
    yield sleep(1)
    return 'child'
  })
  scheduler.spawn(function* () {
    log.push(yield choice([{ timeout: 5 }, { wait: child }]))
    log.push(yield choice([{ wait: Promise.resolve('kept') }, { timeout: 5 }]))
    log.push(yield choice([{ timeout: 5 }, { wait: choice([{ timeout: 2 }, { skip: true }]) }]))
    try {
      yield choice([{ timeout: 5 }, { wait: Promise.reject(new Error('broken')) }])
    } catch (error) {
      log.push(error.message)
    }
  })
  await host.drain()
  assert.equal(log, [{ index: 1, value: 'child' }, { index: 0, value: 'kept' },
    { index: 1, value: { index: 1, value: undefined } }, 'broken'])
})

kinds('a choice with a skip guard never waits, not even in a critical section', () => {
  const channel = new Channel(1)
  const poll = () => choice([{ receive: channel }, { skip: true }])
  const { host, scheduler, log } = world()
  scheduler.spawn(() => nonPreemptive(function* () {
    log.push((yield poll()).index)
    channel.offer('there')
    log.push((yield poll()).value)
    try {
      yield choice([{ receive: channel }])
    } catch (error) {
      log.push(error.constructor.name)
    }
  }))
  host.run()
  assert.equal(log, [1, 'there', 'TypeError'])
})

kinds('a guard whose condition is false is ignored and does not shift the indices', () => {
  const kept = new Channel(1)
  kept.offer('kept')
  const guards = [{ skip: true, when: false }, { receive: kept, when: true }]
  assert.equal(chosen(guards), [{ index: 1, value: 'kept' }, 0])
  assert.equal(chosen([{ wait: 5, when: false }, { skip: true }]), [{ index: 1, value: undefined }, 0])
})

kinds('a closed channel makes its guard ready, and the choice fails', () => {
  for (const side of ['receive', 'send']) {
    const closed = new Channel(0, { name: 'orders' })
    closed.close('enough')
    const [error] = chosen([{ [side]: closed }, { skip: true }])
    assert.instance(error, ChannelError)
    const late = new Channel()
    const [again] = chosen([{ timeout: 9 }, { [side]: late }], {}, ({ scheduler }) => {
      after(1, () => late.close(), { scheduler })
    })
    assert.instance(again, ChannelError)
  }
})

kinds('choice throws a TypeError without an enabled guard or with an invalid guard', () => {
  const channel = new Channel()
  const refuses = (guards, kind, text, options) =>
    assert.throws(() => choice(guards, options),
      error => error instanceof kind && error.message.includes(text))
  refuses([], TypeError, 'enabled')
  refuses([{ receive: channel, when: false }, { skip: true, when: false }], TypeError, 'enabled')
  refuses(undefined, TypeError, 'guards')
  refuses([null], TypeError, 'guards[0]')
  refuses([{ skip: true }, {}], TypeError, 'guards[1]')
  refuses([{ receive: channel, timeout: 5 }], TypeError, 'receive and timeout')
  refuses([{ receive: {} }], TypeError, 'guards[0].receive')
  refuses([{ send: 5, value: 5 }], TypeError, 'guards[0].send')
  refuses([{ timeout: '5' }], TypeError, 'guards[0].timeout')
  refuses([{ timeout: NaN }], RangeError, 'guards[0].timeout')
  refuses([{ timeout: -1 }], RangeError, 'guards[0].timeout')
  refuses([{ until: NaN }], RangeError, 'guards[0].until')
  refuses([{ wait: 5 }], TypeError, 'guards[0].wait')
  refuses([{ skip: false }], TypeError, 'guards[0].skip')
  refuses([{ skip: true, when: 1 }], TypeError, 'guards[0].when')
  refuses([{ skip: true, action: 1 }], TypeError, 'guards[0].action')
  refuses([{ skip: true }], TypeError, 'fair', { fair: 1 })
  refuses([{ skip: true }], TypeError, 'options', 5)
})

kinds.run()

// --------------------------------------------------------------------------------------------------- actions

const actions = suite('actions of a choice')

actions('an action runs in the job with the value, and its result is the result', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(2)
  channel.offer(20)
  channel.offer(30)
  const job = scheduler.spawn(function* () {
    const action = value => {
      log.push(scheduler.current === job)
      return value + 1
    }
    log.push(yield choice([{ receive: channel, action }]))
    log.push(yield choice([{ receive: channel, action: function* (value) {
      yield sleep(3)
      return [value, host.time]
    } }]))
    log.push(yield* choice([{ timeout: 1, action: () => undefined }]))
  })
  host.run()
  assert.equal(log,
    [true, { index: 0, value: 21 }, { index: 0, value: [30, 3] }, { index: 0, value: undefined }])
})

actions('only the action of the chosen guard runs', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () {
    const result = yield choice([
      { timeout: 5, action: () => log.push('wrong') }, { timeout: 1 },
      { timeout: 2, action: () => log.push('wrong') }
    ])
    log.push(result)
  })
  host.run()
  assert.equal(log, [{ index: 1, value: undefined }])
})

actions('an action that fails makes the choice fail', async () => {
  const { host, scheduler } = world()
  const failed = rejection(scheduler.spawn(() => choice([{ skip: true, action: function* () {
    yield
    throw new Error('inside')
  } }])))
  await host.drain()
  assert.is((await failed).message, 'inside')
})

actions('a job cancelled after the commit still starts its action with the message', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const job = scheduler.spawn(() => choice([{ receive: channel, action: function* (message) {
    log.push(message)
    yield
    log.push('not reached')
  } }]))
  job.catch(() => {})
  host.run()
  channel.offer('message')
  job.cancel()
  host.run()
  assert.equal([log, job.state], [['message'], 'cancelled'])
})

actions('actions of a choice outside jobs run in a new job', async () => {
  const { host, scheduler } = world()
  const promise = choice([{ timeout: 2, action: function* () {
    yield sleep(2)
    return scheduler.current.name
  } }], { scheduler }).then(result => result)
  await host.drain()
  assert.equal(await promise, { index: 0, value: 'choice(timeout(2))' })
})

actions.run()

// --------------------------------------------------------------------------------------- the committed guard

const commits = suite('the committed guard')

/** How often a choice commits to each of two channels whose senders never stop. */
function both(options, policy) {
  const { host, scheduler } = world({ budget: 'auto', ...policy })
  const channels = [new Channel(), new Channel()]
  const counts = [0, 0]
  for (const channel of channels) scheduler.spawn(function* () { for (;;) yield channel.send(1) })
  scheduler.spawn(function* () {
    const guards = channels.map(receive => ({ receive }))
    for (let i = 0; i < 1000; i++) counts[(yield choice(guards, options)).index]++
  })
  host.run()
  return counts
}

commits('choice takes the first of two ready guards', () => {
  for (const budget of [1, 2, 7, 'auto']) assert.equal(both({}, { budget, slice: 1, round: 5 }), [1000, 0])
})

commits('a fair choice alternates between two ready guards', () => {
  for (const budget of [1, 2, 7, 'auto']) {
    assert.equal(both({ fair: true }, { budget, slice: 1, round: 5 }), [500, 500])
  }
})

commits('fair choices alternate separately for each job and each set of channels', () => {
  const { host, scheduler } = world({ budget: 'auto' })
  const [a, b, c, d] = [1, 2, 3, 4].map(() => new Channel(Infinity))
  for (const channel of [a, b, c, d]) for (let i = 0; i < 1000; i++) channel.offer(1)
  const counts = new Map()
  const take = function* (who, ...channels) {
    const { index } = yield choice(channels.map(receive => ({ receive })), { fair: true })
    const key = who + [a, b, c, d].indexOf(channels[index])
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  for (const who of ['x', 'y']) {
    scheduler.spawn(function* () {
      for (let i = 0; i < 100; i++) {
        yield take(who, a, b)
        yield take(who, c, d)
      }
    })
  }
  host.run()
  assert.equal([...counts.values()], Array(8).fill(50))
})

commits('fair guards without a channel take turns by index, unused guards first', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(Infinity)
  for (let i = 0; i < 9; i++) channel.offer(i)
  scheduler.spawn(function* () {
    for (let i = 0; i < 6; i++) {
      log.push((yield choice([{ receive: channel }, { skip: true }, { timeout: 0 }], { fair: true })).index)
    }
  })
  host.run()
  assert.equal(log, [0, 1, 2, 0, 1, 2])
})

commits('two choices commit to exactly one common channel', () => {
  const { host, scheduler, log } = world({ budget: 'auto' })
  const [a, b] = [new Channel(), new Channel()]
  scheduler.spawn(function* () {
    for (let i = 0; i < 50; i++) {
      const { index } = yield choice([{ send: a, value: `a${i}` }, { send: b, value: `b${i}` }])
      log.push(`sent ${'ab'[index]}${i}`)
    }
  })
  scheduler.spawn(function* () {
    for (let i = 0; i < 50; i++) log.push((yield choice([{ receive: b }, { receive: a }])).value)
  })
  host.run()
  const received = log.filter(entry => !entry.startsWith('sent'))
  assert.is(received.length, 50)
  const sent = log.filter(entry => entry.startsWith('sent'))
  assert.equal(received.map(message => `sent ${message}`).sort(), sent.sort())
  assert.equal([a.poll(), b.poll(), a.offer(1), b.offer(1)], [undefined, undefined, false, false])
})

commits('a choice never commits with itself, directly or through an inner waitable', () => {
  const channel = new Channel()
  const ways = [
    [{ send: channel, value: 1 }, { receive: channel }],
    [{ receive: channel }, { send: channel, value: 1 }],
    [{ wait: channel.receive() }, { send: channel, value: 1 }],
    [{ wait: timeout(50, channel.receive()) }, { send: channel, value: 1 }],
    [{ send: channel, value: 1 }, { wait: choice([{ receive: channel }]) }],
    [{ wait: timeout(50, channel.receive()) }, { wait: timeout(50, channel.send(1)) }]
  ]
  for (const guards of ways) {
    assert.equal(chosen([...guards, { timeout: 5 }]), [{ index: 2, value: undefined }, 5])
    assert.equal([channel.poll(), channel.offer(1)], [undefined, false])
  }
})

commits('two choices that could commit with themselves commit with each other', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  for (const me of ['one', 'other', 'third', 'fourth']) {
    scheduler.spawn(function* () {
      log.push([me, (yield choice([{ send: channel, value: me }, { receive: channel }])).value])
    })
  }
  host.run()
  assert.is(log.length, 4)
  for (const [me, value] of log) assert.is.not(me, value)
  assert.is(log.filter(([, value]) => value !== undefined).length, 2)
})

commits('after a commit, the other guards release their channels, locks and timers', () => {
  const { host, scheduler, log } = world()
  const [a, b] = [new Channel(), new Channel()]
  const mutex = new Mutex()
  scheduler.spawn(function* () {
    yield mutex.lock()
    yield sleep(20)
    mutex.unlock()
  })
  scheduler.spawn(function* () {
    log.push(yield choice([
      { receive: a }, { send: b, value: 1 }, { wait: mutex.lock() }, { timeout: 50 }, { until: 60 },
      { wait: par(() => sleep(100)) }, { wait: sleep(3) }
    ]))
  })
  host.run()
  assert.equal(log, [{ index: 6, value: undefined }])
  assert.equal([a.offer(1), b.poll(), mutex.locked, host.time], [false, undefined, false, 20])
})

commits('a job that is cancelled or times out leaves all guards', () => {
  const { host, scheduler, log } = world()
  const [a, b] = [new Channel(), new Channel()]
  const wait = () => choice([{ receive: a }, { send: b, value: 1 }, { timeout: 100 }])
  const job = scheduler.spawn(function* () { yield wait() })
  job.catch(() => {})
  scheduler.spawn(function* () { yield timeout(2, wait()) }).catch(error => log.push(error.name))
  after(1, () => job.cancel(), { scheduler })
  host.run()
  assert.equal([a.offer(1), b.poll(), host.time], [false, undefined, 2])
})

commits('a job cancelled after the commit receives the result, then the reason', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const job = scheduler.spawn(function* () {
    log.push(yield choice([{ receive: channel }, { timeout: 9 }]))
    try {
      yield
    } finally {
      log.push('finally')
    }
  })
  job.catch(() => {})
  host.run({ until: 1 })
  channel.offer('message')
  job.cancel()
  host.run()
  assert.equal([...log, job.state], [{ index: 0, value: 'message' }, 'finally', 'cancelled'])
})

commits('a choice can be awaited outside jobs', async () => {
  const { host, scheduler } = world()
  const channel = new Channel()
  const one = choice([{ receive: channel }, { timeout: 5 }], { scheduler }).then(result => result)
  const other = choice([{ receive: channel }, { timeout: 5 }], { scheduler }).then(result => result)
  after(1, () => channel.offer('message'), { scheduler })
  await host.drain()
  assert.equal([await one, await other], [{ index: 0, value: 'message' }, { index: 1, value: undefined }])
})

commits('a choice repeats its outcome', () => {
  const { host, scheduler, log } = world()
  const channel = new Channel(Infinity)
  channel.offer(1)
  channel.offer(2)
  for (const action of [undefined, value => value]) {
    const once = choice([{ receive: channel, action }])
    scheduler.spawn(function* () { log.push(yield once, yield once, yield* once) })
  }
  host.run()
  const values = log.map(({ value }) => value)
  assert.equal(values, [1, 1, 1, 2, 2, 2])
})

commits('a change of priority moves the job in the queues of all its guards', () => {
  const { host, scheduler, log } = world()
  const [a, b] = [new Channel(), new Channel()]
  const jobs = [1, 2].map(priority => scheduler.spawn(function* () {
    log.push([priority, (yield choice([{ receive: a }, { receive: b }])).value])
  }, { priority }))
  host.run()
  jobs[0].priority = 3
  b.offer('first')
  host.run()
  a.offer('second')
  host.run()
  assert.equal(log, [[1, 'first'], [2, 'second']])
})

/** Jobs that send, receive and choose at random, over channels of every kind. All jobs end. */
function network(random) {
  const options = { budget: random.pick([1, 2, 9, 'auto']), slice: random.pick([1, Infinity]) }
  const { host, scheduler } = world(options)
  const channels = Array.from({ length: random.integer(1, 4) }, () => new Channel(random.integer(0, 2)))
  const sent = []
  const received = []
  for (let j = random.integer(2, 7); j > 0; j--) {
    const way = () => [random.chance(0.5), random.pick(channels)]
    const plan = Array.from({ length: 12 }, () => ({
      isChoice: random.chance(0.7), fair: random.chance(0.5),
      ways: Array.from({ length: random.integer(1, 4) }, way)
    }))
    scheduler.spawn(function* () {
      for (const [i, { isChoice, fair, ways }] of plan.entries()) {
        host.advance(0.01)
        const message = `${j}.${i}`
        if (isChoice) {
          const guards = ways.map(([sends, channel]) =>
            sends ? { send: channel, value: message } : { receive: channel })
          const { index, value } = yield choice([...guards, { timeout: 3 }], { fair })
          if (index < ways.length && ways[index][0]) sent.push(message)
          else if (index < ways.length) received.push(value)
        } else {
          const [[sends, channel]] = ways
          try {
            const value = yield timeout(3, sends ? channel.send(message) : channel.receive())
            if (sends) sent.push(message)
            else received.push(value)
          } catch {} // timed out
        }
      }
    }, { priority: random.integer(0, 1) })
  }
  host.run()
  const kept = channels.flatMap(channel => Array.from({ length: channel.length }, () => channel.poll()))
  return { sent, received, kept, channels, time: host.time }
}

commits('choices in 500 random networks neither lose nor duplicate messages', () => forSeeds(500, random => {
  const { sent, received, kept, channels } = network(random)
  assert.equal([...received, ...kept].sort(), [...sent].sort())
  // No job is left in a queue.
  for (const channel of channels) {
    const isKept = channel.size > 0
    assert.equal([channel.poll(), channel.offer(1)], [undefined, isKept])
    if (isKept) assert.is(channel.length, 1)
  }
}))

/**
 * Runs choices of a job that is cancelled at event number `moment` of the schedule.
 *
 * @returns {number} the number of events
 */
function cancelledAt(moment, plan, options) {
  const { host, scheduler } = world(options)
  const [inbox, kept, outbox] = [new Channel(), new Channel(1), new Channel()]
  const [mutex, semaphore] = [new Mutex(), new Semaphore(0)]
  const count = { sent: 0, received: 0, permits: 0 }
  const guards = {
    inbox: () => ({ receive: inbox }),
    kept: () => ({ receive: kept }),
    outbox: () => ({ send: outbox, value: 1 }),
    lock: () => ({ wait: mutex.lock() }),
    acquire: () => ({ wait: semaphore.acquire() }),
    use: () => ({ wait: mutex.use(function* () { yield sleep(1) }) }),
    par: () => ({ wait: par(() => sleep(1), function* () { yield sleep(2) }) }),
    race: () => ({ wait: race(sleep(2), () => sleep(1)) }),
    timeout: () => ({ timeout: 2 })
  }
  /** Counts each committed operation of the job. */
  const takes = {
    inbox: () => { count.received++ },
    kept: () => { count.received++ },
    outbox: () => { count.sent++ },
    lock: () => mutex.unlock(),
    acquire: () => { count.permits-- }
  }
  const chooser = scheduler.spawn(function* () {
    for (const { ways, fair, acts } of plan) {
      const { index } = yield choice(ways.map(way => {
        const take = takes[way]
        return acts && take !== undefined ? { ...guards[way](), action: function* () { take(); yield } } : guards[way]()
      }), { fair })
      if (!acts) takes[ways[index]]?.()
    }
  }, { priority: 1 })
  chooser.catch(() => {})
  const tries = function* (waitable, what) {
    try {
      yield timeout(1, waitable)
      count[what]++
    } catch {} // timed out
  }
  const peers = [
    () => tries(inbox.send(1), 'sent'),
    function* () { if (kept.offer(1)) count.sent++ },
    () => tries(outbox.receive(), 'received'),
    function* () { yield mutex.use(function* () { yield sleep(1) }) },
    function* () {
      count.permits++
      semaphore.release()
    }
  ]
  for (const [priority, peer] of peers.entries()) {
    scheduler.spawn(function* () {
      for (let n = 0; n < 6; n++) {
        yield sleep(1)
        yield* peer()
      }
    }, { priority: priority % 3 })
  }
  let events = 0
  scheduler.observe(() => { if (events++ === moment) chooser.cancel() })
  host.run()
  assert.ok(['done', 'cancelled'].includes(chooser.state), chooser.state)
  assert.is(count.sent, count.received + kept.length)
  assert.equal([semaphore.available, mutex.locked, mutex.abandoned], [count.permits, false, false])
  assert.equal([inbox.poll(), inbox.offer(1), outbox.poll(), outbox.offer(1), host.errors], [undefined, false, undefined, false, []])
  return events
}

commits('a cancellation at any event loses no message and leaves no job in a queue', () => forSeeds(15, random => {
  const kinds = ['inbox', 'kept', 'outbox', 'lock', 'acquire', 'use', 'par', 'race', 'timeout']
  const plan = Array.from({ length: 5 }, () => ({
    ways: Array.from({ length: random.integer(1, 4) }, () => random.pick(kinds)).concat('timeout'),
    fair: random.chance(0.5),
    acts: random.chance(0.5)
  }))
  const options = { budget: random.pick([1, 2, 'auto']), slice: random.pick([1, Infinity]) }
  for (let moment = 0, most = Infinity; moment < most; moment++) {
    try {
      most = Math.min(150, cancelledAt(moment, plan, options))
    } catch (error) {
      error.message = `cancelled at event ${moment}: ${error.message}`
      throw error
    }
  }
}))

commits('an aborted signal prevents a commit, in a job, with actions, and outside', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const controller = new AbortController()
  const { signal } = controller
  const ways = [
    () => choice([{ receive: channel }, { timeout: 90 }], { signal }),
    () => choice([{ receive: channel, action: () => log.push('not reached') }, { timeout: 90 }], { signal }),
    () => choice([{ wait: choice([{ receive: channel }], { signal }) }])
  ]
  for (const way of ways) {
    scheduler.spawn(function* () {
      try {
        yield way()
      } catch (error) {
        log.push(error)
      }
    })
    choice([{ receive: channel }], { scheduler, signal }).catch(error => log.push(error))
  }
  host.run({ until: 5 })
  controller.abort('enough')
  await host.drain({ until: 6 })
  assert.equal(log, Array(6).fill('enough'))
  assert.is(channel.offer('nobody is there'), false)
})

commits('a choice shared by jobs has their highest rank and survives a cancellation', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex()
  const shared = choice([{ wait: mutex.lock() }, { timeout: 50 }])
  scheduler.spawn(() => mutex.use(() => sleep(4)))
  const [first, second] = [1, 2].map(priority => scheduler.spawn(function* () {
    log.push(priority, (yield shared).index, mutex.owner.priority)
  }, { priority, release: priority }))
  second.catch(() => {})
  host.run({ until: 3 })
  second.cancel()
  host.run()
  assert.equal([log, first.state, second.state], [[1, 0, 1], 'done', 'cancelled'])
})

commits.run()
