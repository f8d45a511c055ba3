import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { sleep, timeout } from '../../../alarms.mjs'
import { Channel, ChannelError, choice } from '../../../sync.mjs'
import { connect } from '../../../addons/connect.mjs'
import { bytesOfFrame, endpoints, frameOf, kindsOf, shapeNames } from '../../fixtures/channels/fakes.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const shape = 'postMessage, addEventListener'

/** Two ends of a channel, with a delay of 1 ms between them, and a scheduler on the same clock. */
function setUp({ name = shape, names = ['x'], delay = 1, ...options } = {}) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, ...options })
  const pair = endpoints(name, { clock: host, delay })
  const log = []
  return {
    ...pair,
    host,
    scheduler,
    log,
    posted: pair.log,
    left: names.map(name => connect(pair.a, name)),
    right: names.map(name => connect(pair.b, name)),
    /** Logs a text with its time. */
    note: text => { log.push(`${host.time} ${text}`) },
    spawn: (work, options) => {
      const job = scheduler.spawn(work, options)
      job.catch(() => {})
      return job
    }
  }
}

/** @param {PromiseLike<any>} waitable @returns {Promise<any>} */
const failure = waitable => Promise.resolve(waitable).then(value => {
  throw new Error(`expected a failure, got ${String(value)}`)
}, error => error)

// ---------------------------------------------------------------------------------------------------------

const rendezvous = suite('connect: rendezvous')

for (const name of shapeNames) {
  rendezvous(`over ${name} a send ends when the peer has received the message`, () => {
    const { host, scheduler, log, note, left: [a], right: [b] } = setUp({ name })
    scheduler.spawn(function* () {
      for (const message of ['one', 'two']) {
        yield a.send(message)
        note(`${message} is sent`)
      }
    })
    scheduler.spawn(function* () {
      for (const time of [10, 20]) {
        yield sleep(time - host.time)
        note(`got ${yield b.receive()}`)
      }
    })
    host.run()
    assert.equal(log, ['10 got one', '11 one is sent', '20 got two', '21 two is sent'])
  })
}

rendezvous('a waiting receiver gets the message after one delay', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  scheduler.spawn(function* () { note(`got ${yield b.receive()}`) })
  scheduler.spawn(function* () {
    yield sleep(10)
    yield a.send('it')
    note('sent')
  })
  host.run()
  assert.equal(log, ['11 got it', '12 sent'])
})

rendezvous('a message and its answer start their jobs in the task that delivers them', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  scheduler.spawn(function* () { for (;;) note(`got ${yield b.receive()}`) })
  host.run()
  log.length = 0
  host.after(10, () => scheduler.spawn(function* () {
    for (const message of [1, 2]) {
      yield a.send(message)
      note(`${message} is sent, in turn ${host.turns - turns}`)
    }
  }))
  const { turns } = host
  host.run()
  // Turn 1 is the timer, turn 2 is the round of the sender, and each frame is one more turn.
  assert.equal(log.map(line => line.replace(/^\d+ /, '')), [
    'got 1', '1 is sent, in turn 4', 'got 2', '2 is sent, in turn 6'])
  assert.is(host.turns - turns, 6)
})

rendezvous('a message takes two frames, and only one message at a time is out', () => {
  const { host, scheduler, posted, left: [a], right: [b] } = setUp()
  host.run()
  const hello = posted.length
  for (const message of [1, 2, 3]) scheduler.spawn(function* () { yield a.send(message) })
  host.run({ until: 100 })
  assert.is(kindsOf(posted.slice(hello)), 'a DATA')
  const got = []
  scheduler.spawn(function* () { for (let i = 0; i < 3; i++) got.push(yield b.receive()) })
  host.run()
  assert.equal(got, [1, 2, 3])
  assert.is(kindsOf(posted.slice(hello)), 'a DATA, b DONE, a DATA, b DONE, a DATA, b DONE')
})

rendezvous('both ends can send to each other', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  for (const [name, end] of [['a', a], ['b', b]]) {
    scheduler.spawn(function* () { yield end.send(`from ${name}`) })
    scheduler.spawn(function* () { note(`${name} got ${yield end.receive()}`) })
  }
  host.run()
  assert.equal(log.map(line => line.slice(2)).sort(), ['a got from b', 'b got from a'])
})

rendezvous('a waiting channel does not delay other channels of the same endpoint', () => {
  const names = Array.from({ length: 20 }, (_, i) => `name ${i}`)
  const { host, scheduler, left, right } = setUp({ names })
  const got = []
  for (const channel of left) scheduler.spawn(function* () { yield channel.send(channel.name) })
  for (const channel of right.slice(1).reverse()) {
    scheduler.spawn(function* () { got.push(`${channel.name}: ${yield channel.receive()}`) })
  }
  host.run()
  assert.equal(got.sort(), names.slice(1).map(name => `${name}: ${name}`).sort())
})

rendezvous('the most eligible sender sends first, to the most eligible receiver', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  host.run()
  const send = (message, deadline) => scheduler.spawn(function* () { yield a.send(message) }, { deadline })
  send('first', 900)
  host.run()
  send('late', 800)
  send('soon', 100)
  for (const deadline of [700, 500]) {
    scheduler.spawn(function* () {
      yield sleep(10)
      note(`${deadline} got ${yield b.receive()}`)
    }, { deadline })
  }
  host.run()
  assert.equal(log, ['13 500 got first', '15 700 got soon'])
})

rendezvous('connect returns the open channel of a name, in any order of connecting', () => {
  const host = virtualHost()
  const { a, b } = endpoints(shape, { clock: host })
  const scheduler = new Scheduler({ host })
  const early = connect(a, 'early')
  assert.is(connect(a, 'early'), early)
  assert.instance(early, Channel)
  assert.is(early.name, 'early')
  assert.is(early.closed, false)
  scheduler.spawn(function* () { yield early.send('a') })
  // The other end has no listener yet, so the HELLO is lost.
  host.run()
  const got = []
  for (const name of ['other', 'early']) {
    connect(b, name)
    host.run()
  }
  scheduler.spawn(function* () { got.push(yield connect(b, 'early').receive()) })
  // The other end has a listener, but the name is not connected there yet.
  scheduler.spawn(function* () { yield connect(b, 'late').send('b') })
  host.run()
  scheduler.spawn(function* () { got.push(yield connect(a, 'late').receive()) })
  host.run()
  assert.equal(got, ['a', 'b'])
})

rendezvous('endpoints without delay deliver all messages', async () => {
  for (const name of shapeNames) {
    const { a, b } = endpoints(name)
    const [left, right] = [connect(a, 'x'), connect(b, 'x')]
    const got = []
    const reading = (async () => { for await (const message of right) got.push(message) })()
    for (let i = 0; i < 5; i++) await left.send(i)
    const { index } = await choice([{ send: left, value: 'chosen' }, { timeout: 60_000 }])
    assert.is(index, 0)
    left.close()
    await reading
    assert.equal(got, [0, 1, 2, 3, 4, 'chosen'], name)
  }
})

rendezvous('a channel over a socket that is still connecting starts when it opens', () => {
  for (const [connecting, open] of [[0, 1], ['connecting', 'open']]) {
    const host = virtualHost()
    const { a, b, log } = endpoints('WebSocket', { clock: host })
    const scheduler = new Scheduler({ host })
    a.readyState = connecting
    const left = connect(a, 'x')
    const right = connect(b, 'x')
    const job = scheduler.spawn(function* () { yield left.send('it') })
    const other = scheduler.spawn(function* () { return yield right.receive() })
    host.run({ until: 10 })
    assert.is(kindsOf(log), 'b HELLO')
    a.readyState = open
    a.happen('open')
    host.run()
    assert.is(job.state, 'done')
    assert.is(other.state, 'done')
  }
})

rendezvous('jobs wait without a limit for a peer that is not ready', async () => {
  const { host, scheduler, left: [a], right: [b] } = setUp()
  const other = new Scheduler({ host })
  const job = scheduler.spawn(function* () {
    yield a.send('it')
    return yield choice([{ receive: a }, { send: a, value: 'never' }])
  })
  await host.drain({ until: 50 })
  assert.is(job.state, 'waiting')
  assert.equal(host.errors, [])
  other.spawn(function* () {
    yield b.receive()
    yield b.send('answer')
  })
  await host.drain()
  assert.equal(await job, { index: 0, value: 'answer' })
  assert.equal(host.errors, [])
})

rendezvous('offer needs all earlier messages to be received, and poll gets a held message', () => {
  const { host, left: [a], right: [b] } = setUp()
  assert.is(a.offer('too early'), false)
  host.run()
  assert.is(b.poll(), undefined)
  assert.is(a.offer(1), true)
  assert.is(a.offer(2), false)
  host.run()
  assert.is(a.offer(2), false)
  assert.is(b.length, 1)
  assert.is(b.poll(), 1)
  assert.is(b.length, 0)
  host.run()
  assert.is(a.offer(3), true)
  host.run()
  assert.is(b.poll(), 3)
  assert.is(b.poll(), undefined)
})

rendezvous('invalid arguments throw at the call, and leave no listener', () => {
  const { a } = endpoints(shape)
  for (const name of [undefined, 5, null]) assert.throws(() => connect(a, name), /name must be a string, got/)
  assert.throws(() => connect(a, 'x'.repeat(1001)), /name must be at most 1000 characters long/)
  assert.throws(() => connect(a, 'x', { timeOut: 5 }), /unknown option 'timeOut'; known are timeout, heartbeat, retry, maxPayload, scheduler/)
  for (const endpoint of [undefined, null, 'x', {}, { postMessage() {} }, { on() {} }, () => {}]) {
    assert.throws(() => connect(endpoint, 'x'), error => error instanceof TypeError &&
      /^endpoint must be an object with postMessage, send or emit, and with/.test(error.message))
  }
  const page = { ...a, window: null }
  page.window = page
  assert.throws(() => connect(page, 'x'), /endpoint must be no window/)
  for (const lossy of [{ ordered: false }, { maxRetransmits: 0 }, { maxPacketLifeTime: 5 }]) {
    const { a: loose } = endpoints('RTCDataChannel')
    assert.throws(() => connect(Object.assign(loose, lossy), 'x'), /endpoint must be ordered and reliable/)
  }
  assert.is(a.listeners.count, 0)
  assert.throws(() => connect(a, 'x').send(1, { transfer: 'all' }), /transfer must be an array, got "all"/)
})

rendezvous.run()

// ---------------------------------------------------------------------------------------------------------

const messages = suite('connect: messages')

const cycle = []
cycle.push(cycle)

/** All kinds of values that structured clone keeps, except objects without bytes. */
const values = [
  0, -0, NaN, -Infinity, 1.5, true, null, undefined, '', '\u6587\u{1F600}', 2n ** 70n,
  [], {}, [1, [undefined]],
  { a: { b: [NaN] } }, new Date(5), /x/g, new Map([['k', new Set([1n])]]), new Uint8Array([1, 2]),
  new Float64Array([1.5]).buffer, { pixels: new Uint8ClampedArray([9]), other: [new Int16Array([-5])] },
  { $: ['undefined'] }, { deep: { $: 1, empty: new Uint8Array(0) } },
  [new Uint8Array(0), new Uint8Array(70_000).fill(1), new Uint8Array(0)], '\u6587'.repeat(30_000),
  JSON.parse('{"__proto__": {"x": 1}, "y": null}'),
  'x'.repeat(300_000), new Uint8Array(300_000).fill(7), ['x'.repeat(70_000), new Uint8Array(70_000).fill(1)]
]

for (const name of shapeNames) {
  messages(`over ${name} messages arrive as copies by structured clone`, () => {
    const { host, scheduler, left: [a], right: [b] } = setUp({ name })
    const copies = values.map(value => structuredClone(value))
    const got = []
    scheduler.spawn(function* () { for (const value of values) yield a.send(value, { transfer: [] }) })
    scheduler.spawn(function* () { for (const _ of values) got.push(yield b.receive()) })
    host.run()
    assert.is(got.length, copies.length)
    for (const [i, copy] of copies.entries()) {
      assert.equal(got[i], copy)
      assert.is(Object.is(got[i], -0), Object.is(copy, -0))
    }
    assert.is(b.rejected, 0)
  })

  messages(`over ${name} a message that cannot be cloned fails only its own send`, () => {
    const { host, scheduler, left: [a], right: [b] } = setUp({ name })
    const errors = []
    const refused = name.startsWith('postMessage') || name.includes('advanced')
      ? [() => {}, { f() {} }, Symbol('s')] : [() => {}, { f() {} }, Symbol('s'), cycle, new WeakMap()]
    const got = []
    scheduler.spawn(function* () {
      for (const value of refused) {
        try {
          yield a.send(value)
        } catch (error) {
          errors.push(error.name)
        }
        yield a.send('between')
      }
      for (const value of refused) {
        try {
          yield choice([{ send: a, value }])
        } catch (error) {
          errors.push(error.name)
        }
      }
    })
    scheduler.spawn(function* () { for (;;) got.push(yield b.receive()) })
    host.run()
    assert.equal(errors, Array(2 * refused.length).fill('DataCloneError'))
    assert.equal(got, refused.map(() => 'between'))
    assert.throws(() => a.offer(() => {}), error => error.name === 'DataCloneError')
    assert.is(a.offer('fine'), true)
    assert.is(b.rejected, 0)
  })
}

messages('holes in arrays are preserved', () => forSeeds(20, random => {
  const anyArray = depth => {
    const list = Array(random.pick([0, 1, 5, 5, 2 ** 32 - 1]))
    for (let n = random.integer(0, 4); n > 0 && list.length > 0; n--) {
      const place = random.chance(0.8) ? random.integer(0, Math.min(list.length, 5) - 1) : list.length - 1
      list[place] = random.pick([1, undefined, null, -0, [,], new Uint8Array([n]), depth > 0 ? anyArray(depth - 1) : 'x'])
    }
    return list
  }
  const sent = Array.from({ length: 3 }, () => anyArray(2))
  for (const name of shapeNames) {
    const { host, scheduler, left: [a], right: [b] } = setUp({ name })
    const got = []
    scheduler.spawn(function* () { for (const value of sent) yield a.send(value) })
    scheduler.spawn(function* () { for (const _ of sent) got.push(yield b.receive()) })
    host.run()
    // inspect shows holes as holes. An element-wise comparison of arrays of this length would never end.
    assert.is(inspect(got, { depth: 9 }), inspect(sent, { depth: 9 }), name)
  }
}))

messages('errors keep their class and message', () => {
  for (const name of shapeNames) {
    const { host, scheduler, left: [a], right: [b] } = setUp({ name })
    let got
    scheduler.spawn(function* () { yield a.send(new RangeError('too far')) })
    scheduler.spawn(function* () { got = yield b.receive() })
    host.run()
    assert.instance(got, RangeError)
    assert.is(got.message, 'too far')
  }
})

messages('large buffers that are sent as a whole are transferred, all others are copied', () => {
  const { host, scheduler, left: [a], right: [b] } = setUp()
  const large = () => new Uint8Array(2 ** 16).fill(3)
  const moved = [large(), large().buffer, { pixels: large() }, [1, large()]]
  const small = [
    new Uint8Array(100), { pixels: new Uint8Array(100) }, new Uint8Array(2 ** 17).subarray(1),
    { deep: { er: large() } }
  ]
  const bytes = value => value.byteLength ?? (value.pixels ?? value[1] ?? value.deep.er).byteLength
  const before = [...moved, ...small].map(bytes)
  const got = []
  scheduler.spawn(function* () { for (const value of [...moved, ...small]) yield a.send(value) })
  scheduler.spawn(function* () { for (const _ of before) got.push(bytes(yield b.receive())) })
  host.run()
  assert.equal(got, before)
  assert.equal(moved.map(bytes), moved.map(() => 0))
  assert.equal(small.map(bytes), before.slice(moved.length))
})

messages('`transfer` is the exact list of transferred objects', () => {
  const { host, scheduler, left: [a], right: [b] } = setUp()
  const [kept, moved] = [new Uint8Array(2 ** 17), new Uint8Array(8)]
  scheduler.spawn(function* () {
    yield a.send(kept, { transfer: [] })
    yield a.send(moved, { transfer: [moved.buffer] })
  })
  scheduler.spawn(function* () { for (;;) yield b.receive() })
  host.run()
  assert.is(kept.length, 2 ** 17)
  assert.is(moved.length, 0)
})

messages('buffers that cannot be transferred are copied', () => {
  const { a, host, spawn, left: [x], right: [u] } = setUp()
  host.run()
  const { postMessage } = a
  a.postMessage = (message, transfer) => {
    // Browsers behave like this for the buffer of a WebAssembly.Memory.
    if (transfer?.length > 0) throw new TypeError('it cannot be transferred')
    postMessage(message)
  }
  const buffer = new ArrayBuffer(2 ** 17)
  let got
  const job = spawn(function* () { yield x.send(buffer) })
  spawn(function* () { got = yield u.receive() })
  host.run()
  assert.equal([job.state, got?.byteLength, buffer.byteLength], ['done', 2 ** 17, 2 ** 17])
  // With an explicit `transfer`, the sender gets the error.
  const other = spawn(function* () { yield x.send(buffer, { transfer: [buffer] }) })
  host.run()
  assert.is(other.state, 'failed')
})

messages('small buffers travel in the message of their frame', () => {
  const { host, spawn, posted, left: [x], right: [u] } = setUp({ name: 'WebSocket' })
  host.run()
  const hello = posted.length
  spawn(function* () { yield x.send([new Uint8Array([1, 2]), new Float64Array([1.5]), '\u6587']) })
  let got
  spawn(function* () { got = yield u.receive() })
  host.run()
  assert.equal(got, [new Uint8Array([1, 2]), new Float64Array([1.5]), '\u6587'])
  const [{ message }, ...rest] = posted.slice(hello)
  assert.is(kindsOf(rest), 'b DONE')
  const bytes = new Uint8Array(message)
  assert.is(String.fromCharCode(...bytes.subarray(0, 6)), 'rt.mjs')
  // The version, and the position of the only part.
  assert.equal([...bytes.subarray(6, 8)], [2, 0])
  const [length] = new Uint32Array(message.slice(8, 12))
  assert.equal(JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + length))).at(-1), [2, 8])
  assert.is(bytes.length, 12 + length + 10)
})

messages('a large message over a socket is sent in messages of at most 64 KiB', () => {
  for (const name of ['WebSocket', 'ws']) {
    const { host, scheduler, posted, left: [a], right: [b] } = setUp({ name })
    host.run()
    const hello = posted.length
    let got
    scheduler.spawn(function* () { yield a.send({ pixels: new Uint8Array(200_000).fill(7) }) })
    scheduler.spawn(function* () { got = yield b.receive() })
    host.run()
    assert.equal(got, { pixels: new Uint8Array(200_000).fill(7) })
    const sizes = posted.slice(hello).map(({ message }) => message.byteLength < 200 ? 'few' : message.byteLength)
    assert.equal([sizes.slice(0, 3), sizes.length, sizes.at(-1)], [[65_536, 65_536, 65_536], 5, 'few'])
  }
})

messages('an RTCDataChannel gets no message above the limit of all browsers', () => {
  const { host, scheduler, posted, left: [a], right: [b] } = setUp({ name: 'RTCDataChannel' })
  const got = []
  scheduler.spawn(function* () {
    yield a.send('\u6587'.repeat(200_000))
    // This text has fewer characters than bytes.
    yield a.send('\u6587'.repeat(30_000))
    yield a.send(new Uint8Array(200_000).fill(5))
  })
  scheduler.spawn(function* () { for (;;) got.push(yield b.receive()) })
  host.run()
  assert.equal(got, ['\u6587'.repeat(200_000), '\u6587'.repeat(30_000), new Uint8Array(200_000).fill(5)])
  assert.ok(posted.every(({ message }) => message.byteLength <= 2 ** 16))
})

messages.run()

// ---------------------------------------------------------------------------------------------------------

const choices = suite('connect: choice')

choices('a choice over several ends sends its message to exactly one receiver', () => {
  const { host, scheduler, left, right, log, note } = setUp({ names: ['x', 'y', 'z'] })
  for (const channel of right) {
    scheduler.spawn(function* () {
      for (;;) note(`${channel.name} got ${yield channel.receive()}`)
    })
  }
  scheduler.spawn(function* () {
    for (let i = 0; i < 6; i++) yield choice(left.map(send => ({ send, value: i })), { fair: true })
  })
  host.run()
  assert.equal(log.map(line => line.split(' got ')[1]), ['0', '1', '2', '3', '4', '5'])
  assert.is(new Set(log.map(line => line.split(' ')[1])).size, 3)
})

choices('a choice sends no message before a receiver waits', () => {
  const { host, scheduler, posted, log, note, left: [a], right: [b] } = setUp()
  host.run()
  const hello = posted.length
  scheduler.spawn(function* () {
    const { index } = yield choice([{ send: a, value: 'it' }, { timeout: 1000 }])
    note(`chose ${index}`)
  })
  host.run({ until: 100 })
  assert.is(kindsOf(posted.slice(hello)), 'a ASK')
  scheduler.spawn(function* () { note(`got ${yield b.receive()}`) })
  host.run()
  assert.is(kindsOf(posted.slice(hello)), 'a ASK, b WANT, a DATA, b DONE')
  assert.equal(log, ['102 got it', '103 chose 0'])
})

choices('without a receiver, a choice takes another guard and sends no message', () => {
  const { host, scheduler, posted, log, note, left: [a], right: [b] } = setUp()
  scheduler.spawn(function* () {
    const { index } = yield choice([{ send: a, value: 'it' }, { timeout: 10 }])
    note(`chose ${index}`)
  })
  host.run()
  scheduler.spawn(function* () { note(`got ${yield b.receive()}`) })
  host.run({ until: 50 })
  assert.equal(log, ['10 chose 1'])
  assert.not.match(kindsOf(posted), 'DATA')
})

choices('if a receiver is known to wait, a send guard precedes a skip guard', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  scheduler.spawn(function* () { for (;;) note(`got ${yield b.receive()}`) })
  scheduler.spawn(function* () {
    yield choice([{ send: a, value: 1 }])
    yield sleep(10 - host.time)
    const { index } = yield choice([{ send: a, value: 2 }, { skip: true }])
    note(`chose ${index}`)
  })
  host.run()
  assert.equal(log, ['4 got 1', '11 got 2', '12 chose 0'])
})

choices('a nested send that has left is the chosen branch, inside a timeout or choice', () => {
  const within = [send => timeout(50, send), send => choice([{ wait: send }]), send => choice([{ wait: timeout(50, send) }])]
  for (const wrapped of within) {
    for (const isKnown of [false, true]) {
      const { host, scheduler, log, left: [a], right: [b] } = setUp()
      const other = new Channel(1)
      const got = []
      scheduler.spawn(() => b.forEach(message => { got.push(message) }))
      scheduler.spawn(function* () {
        if (isKnown) yield choice([{ send: a, value: 'before' }])
        yield sleep(10 - host.time)
        const { index } = yield choice([{ wait: wrapped(a.send('it')) }, { receive: other }])
        log.push(index)
      })
      host.after(isKnown ? 10.5 : 12.5, () => { other.offer('other') })
      host.run()
      assert.equal([log, got.at(-1), other.length], [[0], 'it', 1])
    }
  }
})

choices('a choice over several ends receives from the end that has a message', () => {
  const { host, scheduler, log, note, left, right } = setUp({ names: ['x', 'y'] })
  scheduler.spawn(function* () {
    for (let i = 0; i < 3; i++) {
      const { index, value } = yield choice([
        { receive: right[0] }, { receive: right[1], action: text => text.toUpperCase() }, { timeout: 50 }
      ])
      note(`${index} ${value}`)
    }
  })
  scheduler.spawn(function* () {
    yield sleep(10)
    yield left[1].send('second')
    yield left[0].send('first')
  })
  host.run()
  assert.equal(log, ['11 1 SECOND', '13 0 first', '63 2 undefined'])
})

choices('choices at both ends find each other', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  const elsewhere = new Channel()
  scheduler.spawn(function* () {
    const { index } = yield choice([{ receive: elsewhere }, { send: a, value: 'it' }])
    note(`sender chose ${index}`)
  })
  scheduler.spawn(function* () {
    yield sleep(5)
    const { index, value } = yield choice([{ receive: elsewhere }, { receive: b }])
    note(`receiver chose ${index}: ${value}`)
  })
  host.run()
  assert.equal(log, ['7 receiver chose 1: it', '8 sender chose 1'])
})

choices('a choice can send to a receiver that only polls', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  scheduler.spawn(function* () {
    yield choice([{ send: a, value: 'it' }])
    note('sent')
  })
  scheduler.spawn(function* () {
    let got
    while ((got = b.poll()) === undefined) yield sleep(10)
    note(`got ${got}`)
  })
  host.run()
  assert.equal(log, ['20 got it', '21 sent'])
})

choices('a message whose receiver has stopped waiting is held, and its choice waits', () => {
  const { host, scheduler, log, note, left: [a], right: [b] } = setUp()
  host.run()
  const receiver = scheduler.spawn(function* () { yield b.receive() })
  scheduler.spawn(function* () {
    const { index } = yield choice([{ send: a, value: 'it' }, { timeout: 20 }])
    note(`chose ${index}`)
  })
  // The WANT frame is under way.
  host.after(1.5, () => { receiver.cancel() })
  receiver.catch(() => {})
  host.run({ until: 50 })
  assert.equal(log, [])
  scheduler.spawn(function* () { note(`got ${yield b.receive()}`) })
  host.run()
  assert.equal(log, ['50 got it', '51 chose 0'])
})

choices('a choice does not send to a receiver that has stopped waiting', () => {
  const { host, spawn, log, note, left: [a], right: [b] } = setUp()
  spawn(function* () { yield choice([{ send: a, value: 'first' }]) })
  spawn(function* () { yield b.receive() })
  host.run()
  const leaver = spawn(function* () { yield b.receive() })
  host.run()
  leaver.cancel()
  host.run()
  const start = host.time
  spawn(function* () {
    const { index } = yield choice([{ send: a, value: 'second' }, { timeout: 10 }])
    note(`chose ${index}`)
  })
  host.run()
  assert.equal(log, [`${start + 10} chose 1`])
})

for (const few of ['plain', 'guard']) {
  choices(`plain senders and guards alternate, even if the ${few} ones are few`, () => {
    const { host, scheduler, left: [a], right: [b] } = setUp()
    const got = []
    const ways = { plain: () => a.send('plain'), guard: () => choice([{ send: a, value: 'guard' }]) }
    const many = few === 'plain' ? 'guard' : 'plain'
    const send = (way, count) => scheduler.spawn(function* () {
      for (let i = 0; i < count; i++) yield ways[way]()
    })
    for (let i = 0; i < 3; i++) send(many, 20)
    send(few, 8)
    for (let i = 0; i < 4; i++) scheduler.spawn(function* () { for (;;) got.push(yield b.receive()) })
    host.run()
    assert.is(got.length, 68)
    assert.ok(got.slice(0, 30).filter(way => way === few).length >= 7, got.join())
  })
}

choices.run()

// ---------------------------------------------------------------------------------------------------------

const endings = suite('connect: the end of channels')

/** Jobs that wait at both ends of the first channel, by every way to send or to receive. */
function waiting({ spawn, left, right }, kind) {
  const ways = {
    senders: end => [
      function* () { yield end.send('out') }, function* () { yield end.send('in line') },
      function* () { yield choice([{ send: end, value: 'guard' }]) },
      function* () { yield choice([{ send: end, value: 'guard' }, { receive: new Channel() }]) },
      async () => { await end.send('outside') }
    ],
    receivers: end => [
      function* () { yield end.receive() },
      function* () { yield choice([{ receive: end }, { timeout: 1e6 }]) },
      async () => { await end.receive() }
    ]
  }
  const jobsAt = end => ways[kind](end).map(work => spawn(work))
  return { left: jobsAt(left[0]), right: jobsAt(right[0]) }
}

for (const kind of ['senders', 'receivers']) {
  endings(`closing one end fails all waiting ${kind} at both ends with the reason`, async () => {
    for (const name of shapeNames) {
      const world = setUp({ name, names: ['x', 'y'] })
      const { host, spawn, left: [x, y], right: [u, v] } = world
      const jobs = waiting(world, kind)
      await host.drain({ until: 20 })
      const reason = new RangeError('enough')
      assert.is(x.close(reason), true)
      assert.is(x.close(), false)
      await host.drain({ until: 20 })
      for (const job of jobs.left) {
        assert.is(job.state, 'failed')
        const error = await failure(job)
        assert.instance(error, ChannelError)
        assert.is(error.reason, reason)
        assert.is(error.message, 'x is closed: RangeError: enough')
      }
      await host.drain({ until: 40 })
      for (const job of jobs.right) {
        assert.is(job.state, 'failed')
        const error = await failure(job)
        assert.instance(error, ChannelError)
        assert.is(error.message, 'x was closed by the other side: RangeError: enough')
        assert.instance(error.reason, RangeError)
      }
      for (const end of [x, u]) {
        assert.is(end.closed, true)
        assert.instance(await failure(end.send(1)), ChannelError)
        assert.instance(await failure(end.receive()), ChannelError)
        assert.instance(await failure(choice([{ send: end, value: 1 }, { timeout: 5 }])), ChannelError)
        assert.is(end.offer(1), false)
        assert.is(end.poll(), undefined)
      }
      // Other channels continue.
      const other = spawn(function* () { yield y.send('other') })
      spawn(function* () { yield v.receive() })
      await host.drain({ until: 60 })
      assert.is(other.state, 'done')
    }
  })
}

endings('iteration ends when the peer closes, and fails after an error or death', async () => {
  for (const [finish, fails] of [
    [({ left: [x] }) => x.close(), false], [({ left: [x] }) => x.close('done'), false],
    [({ left: [x] }) => x.close(new Error('why')), true], [({ b }) => b.happen('close'), true]
  ]) {
    const world = setUp()
    const { host, left: [x], right: [u] } = world
    const got = []
    const reading = (async () => { for await (const message of u) got.push(message) })()
    reading.catch(() => {})
    const sending = (async () => { for (let i = 0; i < 3; i++) await x.send(i) })()
    await host.drain({ until: 20 })
    await sending
    finish(world)
    await host.drain()
    assert.is(await reading.then(() => false, error => error instanceof ChannelError), fails)
    assert.equal(got, [0, 1, 2])
  }
})

endings('a reason that cannot be cloned is left out', () => {
  const { host, left: [x], right: [u] } = setUp()
  host.run()
  x.close(() => {})
  host.run()
  assert.is(u.closed, true)
})

endings('close discards an unreceived message of send, and keeps one of offer', () => {
  const { host, scheduler, spawn, log, note, left: [x, y], right: [u, v] } = setUp({ names: ['x', 'y'] })
  const sender = spawn(function* () { yield x.send('not received') })
  host.run()
  assert.is(y.offer('offered'), true)
  host.run()
  x.close()
  y.close()
  host.run()
  assert.is(sender.state, 'failed')
  const receiver = spawn(function* () { yield u.receive() })
  scheduler.spawn(function* () { note(`got ${yield v.receive()}`) })
  host.run()
  assert.is(receiver.state, 'failed')
  assert.equal(log, [`${host.time} got offered`])
  assert.is(v.length, 0)
})

for (const [name, event, value] of [
  [shape, 'close'], ['WebSocket', 'close'], ['RTCDataChannel', 'close'], ['postMessage, on', 'exit', 3],
  ['send, on, JSON', 'exit', null], ['send, on, advanced', 'disconnect'],
  ['emit, on, socket.io', 'disconnect', 'x'], ['ws', 'close', 1006], ['postMessage, on', 'close']
]) {
  endings(`over ${name} the event '${event}' fails all operations`, async () => {
    for (const kind of ['senders', 'receivers']) {
      const world = setUp({ name, names: ['x', 'y'] })
      const { a, host, left } = world
      const jobs = waiting(world, kind)
      await host.drain({ until: 20 })
      a.happen(event, value)
      await host.drain({ until: 20 })
      for (const job of jobs.left) {
        assert.is(job.state, 'failed')
        const error = await failure(job)
        assert.instance(error, ChannelError)
        assert.match(error.message, 'x: the other side has gone')
      }
      assert.equal(left.map(({ closed }) => closed), [true, true])
      assert.is(a.listeners.count, 0)
      await host.drain({ until: 40 })
      assert.ok(jobs.right.every(({ state }) => state === 'waiting'))
    }
  })
}

for (const name of [shape, 'postMessage, on']) {
  endings(`over ${name} an unreadable message closes all channels at both ends`, async () => {
    const world = setUp({ name })
    const { a, host, left: [x] } = world
    const jobs = waiting(world, 'senders')
    await host.drain({ until: 20 })
    a.happen('messageerror')
    await host.drain({ until: 40 })
    for (const job of [...jobs.left, ...jobs.right]) {
      assert.is(job.state, 'failed')
      assert.match((await failure(job)).message, 'x: a message could not be read')
    }
    assert.is(x.closed, true)
  })
}

endings('connect over a closed socket returns a closed channel', async () => {
  for (const readyState of [2, 3, 'closing', 'closed']) {
    const { a } = endpoints('WebSocket')
    a.readyState = readyState
    const channel = connect(a, 'x')
    assert.is(channel.closed, true)
    assert.instance(await failure(channel.receive()), ChannelError)
    assert.is(a.listeners.count, 0)
  }
})

endings('a channel sends nothing over a closing socket', async () => {
  for (const act of [x => failure(x.send(1)), async x => x.close(), async x => x.offer(1)]) {
    const { a, host, posted, left: [x] } = setUp({ name: 'WebSocket' })
    host.run()
    const before = posted.length
    a.readyState = 2
    const outcome = await act(x)
    assert.ok(outcome instanceof ChannelError || typeof outcome === 'boolean')
    assert.is(posted.length, before)
    assert.is(x.closed, true)
  }
})

endings('connect over an ended endpoint returns a closed channel', async () => {
  for (const [name, event] of [[shape, 'close'], ['postMessage, on', 'exit'], ['send, on, JSON', 'exit']]) {
    const { a, host, left: [x] } = setUp({ name })
    host.run()
    a.happen(event)
    assert.is.not(connect(a, 'x'), x)
    assert.instance(await failure(connect(a, 'x').send(1)), ChannelError)
    assert.instance(await failure(connect(a, 'y').receive()), ChannelError)
  }
})

endings('a channel can be connected again over a socket of socket.io that has reconnected', () => {
  const { a, b, host, scheduler, log, note, left: [x], right: [u] } = setUp({ name: 'emit, on, socket.io' })
  host.run()
  a.happen('disconnect')
  b.happen('disconnect')
  assert.equal([x.closed, u.closed], [true, true])
  scheduler.spawn(function* () { yield connect(a, 'x').send('it') })
  scheduler.spawn(function* () { note(yield connect(b, 'x').receive()) })
  host.run()
  assert.equal(log.map(line => line.split(' ')[1]), ['it'])
})

endings('an endpoint whose send throws fails all its channels', async () => {
  const { a, host, spawn, left: [x, y] } = setUp({ names: ['x', 'y'] })
  host.run()
  const job = spawn(function* () { yield y.receive() })
  host.run()
  a.postMessage = () => { throw new Error('broken') }
  x.close()
  host.run()
  assert.instance(await failure(job), ChannelError)
  assert.is((await failure(job)).reason.message, 'broken')
})

endings('the last close removes all listeners, and the endpoint can be connected again', () => {
  const { a, b, host, scheduler, log, note, left: [x, y], right: [u, v] } = setUp({ names: ['x', 'y'] })
  host.run()
  x.close()
  host.run()
  assert.ok(a.listeners.count > 0)
  v.close()
  host.run()
  assert.equal([a.listeners.count, b.listeners.count], [0, 0])
  assert.is.not(connect(a, 'x'), x)
  scheduler.spawn(function* () { yield connect(a, 'x').send('again') })
  host.run()
  scheduler.spawn(function* () { note(`got ${yield connect(b, 'x').receive()}`) })
  host.run()
  assert.equal(log.map(line => line.split(' got ')[1]), ['again'])
})

endings('an end can close and connect again before the peer has processed the close', () => {
  const { a, b, host, scheduler, log, note, left: [x], right: [u] } = setUp()
  host.run()
  x.close()
  const next = connect(a, 'x')
  scheduler.spawn(function* () { yield next.send('it') })
  host.run()
  assert.is(u.closed, true)
  scheduler.spawn(function* () { note(yield connect(b, 'x').receive()) })
  host.run()
  assert.equal(log.map(line => line.split(' ')[1]), ['it'])
})

endings('a channel that closes before its peer connects is unknown to that peer', () => {
  const { a, b, host, posted } = setUp({ names: ['x'] })
  const early = connect(a, 'early')
  host.run()
  early.close()
  host.run()
  const from = posted.length
  connect(b, 'early')
  host.run()
  assert.is(kindsOf(posted.slice(from)), 'b HELLO')
  // To any end with this name.
  assert.is(posted[from].message[3], 0)
})

endings('a channel that closes before the answer to its HELLO fails waiting senders', () => {
  const { a, b, host, spawn } = setUp()
  const right = connect(b, 'quick')
  host.run()
  const left = connect(a, 'quick')
  const job = spawn(function* () { yield right.send('it') })
  const line = []
  host.after(0.5, () => {
    line.push(left.closed)
    left.close('never mind')
  })
  host.run()
  assert.equal([line, job.state], [[false], 'failed'])
})

endings('a restarted peer fails the channel, and can be connected again', () => {
  const host = virtualHost()
  const { a, b } = endpoints(shape, { clock: host })
  const scheduler = new Scheduler({ host })
  const x = connect(a, 'x')
  connect(b, 'x')
  host.run()
  // This simulates a restarted process at the same endpoint: the new realm does not know the first channel.
  const again = { ...b, listeners: b.listeners }
  const second = connect(again, 'x')
  const waiting = scheduler.spawn(function* () { yield x.receive() })
  waiting.catch(() => {})
  host.run()
  assert.is(waiting.state, 'failed')
  const job = scheduler.spawn(function* () { yield connect(a, 'x').send('it') })
  let got
  scheduler.spawn(function* () { got = yield second.receive() })
  host.run()
  assert.is(got, 'it')
  assert.is(job.state, 'done')
})

// --- operations that stop waiting

endings('a cancelled sender withdraws its message, even one that has left', () => {
  const { host, spawn, log, note, left: [x], right: [u] } = setUp()
  host.run()
  const out = spawn(function* () { yield x.send('out') })
  host.run()
  const inLine = spawn(function* () { yield x.send('in line') })
  spawn(function* () {
    yield x.send('stays')
    note('sent')
  })
  host.run()
  out.cancel()
  inLine.cancel()
  host.run()
  spawn(function* () { note(`got ${yield u.receive()}`) })
  host.run()
  assert.equal(log.map(line => line.replace(/^\d+ /, '')), ['got stays', 'sent'])
})

endings('a timeout ends a send in time, even without an answer of the peer', () => {
  const { a, host, spawn, log, note, left: [x] } = setUp()
  host.run()
  a.isDead = true
  spawn(function* () {
    try {
      yield timeout(50, x.send('it'))
    } catch (error) {
      note(error.name)
    }
  })
  const start = host.time
  host.run()
  assert.equal(log, [`${start + 50} TimeoutError`])
})

endings('a receiver that stops waiting loses no message', () => {
  const { host, spawn, log, note, left: [x], right: [u] } = setUp()
  const leaver = spawn(function* () { yield u.receive() })
  host.run()
  spawn(function* () {
    yield x.send('it')
    note('sent')
  })
  host.after(0.5, () => { leaver.cancel() })
  host.run()
  assert.equal(log, [])
  spawn(function* () { note(`got ${yield u.receive()}`) })
  host.run()
  assert.equal(log.map(line => line.split(' ')[1]), ['got', 'sent'])
})

endings('random senders and receivers lose and double no message', () =>
  forSeeds(300, async random => {
    const name = random.pick(shapeNames)
    const delay = random.pick([0, 1, 3])
    const { host, spawn, left, right } = setUp({ name, names: ['x', 'y', 'z'], delay })
    const sent = new Map()
    const got = new Map()
    const note = (map, message) => map.set(message, (map.get(message) ?? 0) + 1)
    let messages = 0
    const jobs = []
    /**
     * Sends `count` messages, each in a random way. A message that a choice did not choose must not be
     * received.
     */
    function* sender(ends, count) {
      for (let i = 0; i < count; i++) {
        if (random.chance(0.5)) yield sleep(random.integer(0, 8))
        const message = messages++
        if (random.chance(0.4)) {
          const guards = ends.map((send, end) => ({ send, value: [message, end] }))
          guards.push({ timeout: random.integer(0, 12) })
          const { index } = yield choice(guards, { fair: random.chance(0.5) })
          if (index < ends.length) note(sent, `${message},${index}`)
        } else if (random.chance(0.2)) {
          const end = random.pick(ends)
          if (end.offer([message, 9])) note(sent, `${message},9`)
        } else {
          yield random.pick(ends).send([message, 9])
          note(sent, `${message},9`)
        }
      }
    }
    function* receiver(ends, count) {
      for (let i = 0; i < count; i++) {
        if (random.chance(0.4)) yield sleep(random.integer(0, 8))
        if (random.chance(0.5)) {
          const guards = ends.map(receive => ({ receive }))
          const { index, value } = yield choice([...guards, { timeout: random.integer(0, 12) }])
          if (index < ends.length) note(got, `${value}`)
        } else if (random.chance(0.2)) {
          const message = random.pick(ends).poll()
          if (message !== undefined) note(got, `${message}`)
        } else note(got, `${yield random.pick(ends).receive()}`)
      }
    }
    const both = [[left, right], [right, left]]
    for (let i = 0; i < 6; i++) {
      const [from, to] = random.pick(both)
      jobs.push(spawn(sender(random.shuffle(from).slice(0, random.integer(1, 3)), 6)))
      const reading = spawn(receiver(random.shuffle(to).slice(0, random.integer(1, 3)), 5))
      if (random.chance(0.3)) host.after(random.integer(1, 40), () => { reading.cancel() })
    }
    await host.drain({ until: 200 })
    // All messages that are still under way or held are received.
    for (const end of [...left, ...right]) {
      spawn(function* () { for (;;) note(got, `${yield end.receive()}`) })
    }
    await host.drain({ until: 400 })
    assert.ok(jobs.every(({ state }) => state === 'done'), jobs.map(job => job.state).join())
    assert.equal([...got].sort(), [...sent].sort())
    assert.ok([...got.values()].every(times => times === 1))
    assert.equal(left.map(({ rejected }) => rejected), [0, 0, 0])
    for (const end of left) end.close()
    await host.drain()
  }))

endings('each message of random senders, some cancelled, is received at most once', () =>
  forSeeds(200, async random => {
    const { host, spawn, left, right } = setUp({ names: ['x', 'y'], delay: random.pick([0, 1, 3]) })
    const sent = []
    const got = []
    for (let i = 0; i < 30; i++) {
      const job = spawn(function* () {
        yield sleep(random.integer(0, 30))
        const guards = left.map(send => ({ send, value: i }))
        if (random.chance(0.5)) yield left[i % 2].send(i)
        else yield choice(guards)
        sent.push(i)
      })
      if (random.chance(0.6)) host.after(random.integer(0, 50), () => { job.cancel() })
    }
    for (const end of right) {
      spawn(function* () {
        for (;;) {
          yield sleep(random.integer(0, 3))
          got.push(yield end.receive())
        }
      })
    }
    await host.drain({ until: 500 })
    assert.is(new Set(got).size, got.length)
    assert.equal(sent.filter(message => !got.includes(message)), [])
  }))

endings.run()

// ---------------------------------------------------------------------------------------------------------

const hostile = suite('connect: foreign and invalid messages')

hostile('foreign messages on the same endpoint are ignored', () => {
  for (const name of shapeNames) {
    const { a, host, scheduler, left: [x], right: [u] } = setUp({ name })
    const got = []
    scheduler.spawn(function* () { for (let i = 0; i < 4; i++) yield x.send([i, new Uint8Array([i])]) })
    scheduler.spawn(function* () { for (;;) got.push(yield u.receive()) })
    const post = a.postMessage ?? a.send ?? (message => a.emit('message', message))
    const others = name.includes('Web') || name === 'ws' || name.includes('RTC')
      ? ['hello', '{"kind":1}', '[]', '["rt"]', new ArrayBuffer(3), '']
      : ['hello', 5, null, { rt: 1 }, [], [1, 2], ['rt'], new ArrayBuffer(3), '["rt"]']
    for (const [i, message] of others.entries()) host.after(i + 0.5, () => { post(message) })
    host.run()
    assert.equal(got, [0, 1, 2, 3].map(i => [i, new Uint8Array([i])]), name)
    assert.is(u.rejected, 0)
  }
})

const junk = [
  undefined, null, -1, 1.5, NaN, Infinity, 2 ** 60, 1e6, '', 'x', '1', {}, [], [[]], { $: ['Map'] }, true, 2n,
  Symbol.iterator
]

hostile('random frames do not change a conversation', () => forSeeds(400, random => {
  const name = random.pick(shapeNames)
  const { a, b, host, scheduler, posted, left: [x], right: [u] } = setUp({ name, names: ['x', 'y'] })
  host.run()
  const ids = posted.map(({ message }) => frameOf(message)).filter(frame => frame[2] === 1).map(frame => frame[4])
  const areBytes = !Array.isArray(posted[0].message)
  const got = []
  const back = []
  scheduler.spawn(function* () { for (let i = 0; i < 10; i++) yield x.send({ i, bytes: new Uint8Array(3) }) })
  scheduler.spawn(function* () {
    for (let i = 0; i < 10; i++) yield choice([{ send: x, value: { i: 10 + i } }, { receive: new Channel() }])
  })
  scheduler.spawn(function* () { for (let i = 0; i < 5; i++) yield u.send(i) })
  scheduler.spawn(function* () { for (;;) got.push((yield u.receive()).i) })
  scheduler.spawn(function* () { for (;;) back.push(yield x.receive()) })
  let injected = 0
  for (let i = 0; i < 40; i++) {
    const to = random.pick([...ids, ...ids, 0, 12345])
    const any = () => random.pick(junk)
    // Only frames that the peer cannot have sent: a channel must believe all others.
    const frame = random.pick([
      ['rt.mjs', 2, 2, to, any(), random.pick([0, 1, 2, 'x']), any(), any()], ['rt.mjs', 2, 2, to],
      ['rt.mjs', 2, 3, to, any(), any()], ['rt.mjs', 2, 4, to, any()], ['rt.mjs', 2, 6, to, 'yes'],
      ['rt.mjs', 2, 7, to, any(), any(), any(), any()], ['rt.mjs', 2, 8, to],
      ['rt.mjs', 2, random.integer(9, 300), to],
      ['rt.mjs', random.pick([0, 1, 255, 256, ...junk]), random.integer(0, 9), to, any(), 'x', any(), any()],
      ['rt.mjs', 2, any(), any(), any()], ['rt.mjs'], ['rt.mjs', any()],
      ['rt.mjs', 2, 1, to, any(), any(), any(), any()],
      ['rt.mjs', 2, 1, 0, 777, random.pick(['p', 'q']), '', any()],
      ['rt.mjs', 2, 1, 12345, 778, 'x', '', null]
    ])
    const target = random.pick([a, b])
    const raw = areBytes
      ? random.pick([() => bytesOfFrame(frame), () => bytesOfFrame(frame, { length: 5 }),
        () => JSON.stringify(['rt.mjs']), () => new ArrayBuffer(3)])()
      : frame
    host.after(random.real(0, 60), () => {
      injected++
      const events = 'addEventListener' in target
      target.listeners.call('message', events ? { type: 'message', data: raw } : raw)
    })
  }
  host.run()
  assert.is(injected, 40)
  assert.equal(got.filter(i => i < 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.equal(got.filter(i => i >= 10), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
  assert.equal(back, [0, 1, 2, 3, 4])
  assert.equal(host.errors, [])
}))

hostile('`rejected` counts the frames that do not fit', () => {
  const { b, host, posted, left: [x], right: [u] } = setUp()
  host.run()
  const [{ message: [, , , , from] }] = posted
  const to = posted.find(({ from }) => from === 'b').message[4]
  const inject = (...frame) => b.listeners.call('message', { data: ['rt.mjs', ...frame] })
  for (const frame of [
    [2, 2, to, 7, 0, 'out of order'], [2, 2, to, 1, 5, 'no such flag'], [2, 3, to, 1, true], [2, 4, to, 99],
    [2, 6, to, 1], [2, 7, to, from + 1, 0], [2, 8, to], [2, 99, to], [7, 2, to, 1, 0, 'another version'],
    [2], [], [2, 1, 0, 4712, 'x', 'a lock of others', []], [2, 1, 0, 4713, 'x', { toString: null }, []],
    [2, 1, to, 4714, 'y', '', []]
  ]) inject(...frame)
  assert.is(u.rejected, 14)
  // Late frames to an end that no longer exists are not counted.
  inject(2, 3, 4711, 1, true)
  assert.is(u.rejected, 14)
  assert.is(x.rejected, 0)
})

hostile('a reason that cannot be converted to text closes its channel', () => {
  const { host, right: [u], left: [x] } = setUp()
  host.run()
  x.close({ toString: 0, valueOf: 0 })
  host.run()
  assert.is(u.closed, true)
})

hostile('only the answer to the present message counts', () => {
  const { a, host, spawn, posted, left: [x], right: [u] } = setUp()
  host.run()
  const to = posted.find(({ from }) => from === 'a').message[4]
  const job = spawn(function* () { yield x.send('it') })
  host.run()
  for (const number of [0, 2, 99]) a.listeners.call('message', { data: ['rt.mjs', 2, 3, to, number, true] })
  host.run()
  assert.is(job.state, 'waiting')
  assert.is(x.rejected, 3)
  spawn(function* () { yield u.receive() })
  host.run()
  assert.is(job.state, 'done')
  // The same answer does not count again.
  a.listeners.call('message', { data: ['rt.mjs', 2, 3, to, 1, true] })
  assert.is(x.rejected, 4)
})

hostile('a second message is rejected while one is held: a peer cannot flood the end', () => {
  const { b, host, scheduler, posted, right: [u] } = setUp()
  host.run()
  const to = posted.find(({ from }) => from === 'b').message[4]
  for (let number = 1; number <= 1000; number++) {
    b.listeners.call('message', { data: ['rt.mjs', 2, 2, to, number, 0, `message ${number}`] })
  }
  const got = []
  scheduler.spawn(function* () { for (;;) got.push(yield u.receive()) })
  host.run()
  assert.equal(got, ['message 1'])
  assert.is(u.rejected, 999)
})

hostile('HELLO frames for unknown names store nothing', () => {
  const { b, host, posted, right: [u] } = setUp()
  host.run()
  const before = posted.length
  for (let i = 1; i <= 1000; i++) {
    b.listeners.call('message', { data: ['rt.mjs', 2, 1, 0, i, `name ${i}`, '', []] })
  }
  host.run()
  assert.is(posted.length, before)
  assert.is(u.closed, false)
})

hostile('an undecodable message fails its send, and the channel continues', () => {
  const { a, host, spawn, left: [x], right: [u] } = setUp({ name: 'WebSocket' })
  host.run()
  const send = a.send
  a.send = message => send(Buffer.from(Buffer.from(message).toString('latin1').replace('"Date"', '"Dote"'), 'latin1'))
  const job = spawn(function* () { yield x.send(new Date(5)) })
  const got = []
  spawn(function* () { for (;;) got.push(yield u.receive()) })
  host.run()
  assert.is(job.state, 'failed')
  spawn(function* () { yield x.send('fine') })
  host.run()
  assert.equal(got, ['fine'])
  assert.is(u.rejected, 1)
})

hostile('parts out of sequence are rejected, and the next frame is received', () => {
  const { b, host, scheduler, posted, left: [x], right: [u] } = setUp({ name: 'WebSocket' })
  host.run()
  const to = frameOf(posted.find(({ from }) => from === 'b').message)[4]
  const inject = data => b.listeners.call('message', { data })
  const [MORE, CONTINUES] = [1, 2]
  const frame = position => bytesOfFrame(['rt.mjs', 2, 2, to, 1, 0, 'x'], { position })
  const steps = [
    [frame(CONTINUES), 1], [frame(CONTINUES | MORE), 2], [frame(4), 3], [frame(255), 4],
    [frame(MORE), 4], [frame(MORE), 5], [frame(CONTINUES), 6], [frame(CONTINUES), 7],
    // Bytes without the prefix are not parts, even within a frame.
    [frame(MORE), 7], [new ArrayBuffer(6), 7]
  ]
  for (const [bytes, rejected] of steps) {
    inject(bytes)
    assert.is(u.rejected, rejected)
  }
  const got = []
  scheduler.spawn(function* () { yield x.send(new Uint8Array([1])) })
  scheduler.spawn(function* () { for (;;) got.push(yield u.receive()) })
  host.run()
  assert.equal([got, u.rejected], [[new Uint8Array([1])], 8])
})

for (const name of ['WebSocket', 'RTCDataChannel', 'send, on, JSON']) {
  hostile(`over ${name} a frame that lost a part does not affect the next frame`, () => {
    for (let lost = 0; lost < 4; lost++) {
      const { a, host, spawn, left: [x, y], right: [u, v] } = setUp({ name, names: ['x', 'y'] })
      host.run()
      const { send } = a
      let sent = 0
      a.send = message => { if (sent++ !== lost) send(message) }
      spawn(function* () { yield x.send([new Uint8Array(200_000), new Uint8Array(100)]) })
      host.run()
      assert.is(sent, 4)
      const got = []
      spawn(function* () { yield y.send('fine') })
      spawn(function* () { got.push(yield v.receive()) })
      host.run()
      assert.equal(got, ['fine'])
      // Without the first part, each of the others is rejected.
      assert.is(u.rejected, lost === 0 ? 3 : 1)
    }
  })
}

hostile('an incomplete frame is dropped when its next part is late', () => {
  const host = virtualHost()
  const { a, b, log } = endpoints('WebSocket', { clock: host })
  const [, u] = [a, b].map(end => connect(end, 'x', { scheduler: new Scheduler({ host }) }))
  host.run()
  const to = frameOf(log.find(({ from }) => from === 'b').message)[4]
  b.happen('message', { data: bytesOfFrame(['rt.mjs', 2, 2, to, 1, 0, 'x'], { position: 1 }) })
  host.run({ until: host.time + 59_000 })
  assert.is(u.rejected, 0)
  host.run({ until: host.time + 2000 })
  assert.is(u.rejected, 1)
})

hostile('frames whose number of bytes differs from their header are rejected', () => {
  const { b, host, spawn, posted, right: [u] } = setUp({ name: 'WebSocket' })
  host.run()
  const to = frameOf(posted.find(({ from }) => from === 'b').message)[4]
  const inject = data => b.listeners.call('message', { data })
  const frame = (...bytes) => bytesOfFrame(['rt.mjs', 2, 2, to, 1, 0, { $: ['Uint8Array', 0] }],
    { lengths: [3], buffers: [Buffer.from(bytes)] })
  const withLength = length => bytesOfFrame(['rt.mjs', 2, 2, to, 1, 0, 'x'], { length })
  const withLengths = lengths => bytesOfFrame(['rt.mjs', 2, 2, to, 1, 0, 'x'], { lengths })
  const wrong = [
    frame(1, 2, 3, 4), frame(1, 2), frame(), frame().slice(0, 12), frame().slice(0, 8),
    withLength(5), withLength(1000), withLength(2 ** 32 - 1),
    ...[[-1], ['5'], [1.5], [2 ** 40], 'x', [NaN], [2 ** 53 - 1, 2 ** 53 - 1]].map(withLengths)
  ]
  for (const [i, bytes] of wrong.entries()) {
    inject(bytes)
    assert.is(u.rejected, i + 1)
  }
  inject(frame(1, 2, 3))
  const got = []
  spawn(function* () { for (;;) got.push(yield u.receive()) })
  host.run()
  assert.equal(got, [new Uint8Array([1, 2, 3])])
})

hostile('a message in which two values refer to one buffer is unreadable', () => {
  for (const index of [0, -1, 2, 0.5, '0', 'length', '__proto__', null, {}]) {
    const { b, host, posted, right: [u] } = setUp({ name: 'WebSocket' })
    host.run()
    const to = frameOf(posted.find(({ from }) => from === 'b').message)[4]
    const message = [{ $: ['Uint8Array', 0] }, { $: ['Uint8Array', index] }]
    const frame = bytesOfFrame(['rt.mjs', 2, 2, to, 1, 0, message], { lengths: [3], buffers: [Buffer.alloc(3)] })
    b.listeners.call('message', { data: frame })
    assert.equal([u.rejected, u.length], [1, 0])
  }
})

hostile('messages above 64 KiB are rejected before they are decoded', () => {
  for (const [name, huge] of [
    ['WebSocket', bytesOfFrame(['rt.mjs', 2, 2, 7, 1, 0, 'x'.repeat(2 ** 16)])],
    ['send, on, JSON', Buffer.from(bytesOfFrame(['rt.mjs', 2, 2, 7, 1, 0, 'x'.repeat(2 ** 16)])).toString('base64')]
  ]) {
    const { b, host, right: [u] } = setUp({ name })
    host.run()
    b.happen('message', name === 'WebSocket' ? { data: huge } : huge)
    assert.is(u.rejected, 1, name)
  }
})

hostile('a frame above the limit of the peer fails its send with a RangeError', () => {
  for (const name of ['WebSocket', 'send, on, JSON']) {
    const host = virtualHost()
    const scheduler = new Scheduler({ host })
    const { a, b, log } = endpoints(name, { clock: host })
    const [x] = [connect(a, 'x', { scheduler }), connect(b, 'x', { scheduler, maxPayload: 100_000 })]
    host.run()
    const before = log.length
    const errors = []
    scheduler.spawn(function* () {
      try {
        yield x.send(new Uint8Array(100_000))
      } catch (error) {
        errors.push(error)
      }
    })
    host.run()
    assert.instance(errors[0], RangeError)
    assert.match(errors[0].message, /the message has 100\d{3} bytes, but the peer accepts 100000: set maxPayload there/)
    assert.is(log.length, before)
    assert.is(x.closed, false)
  }
})

hostile('parts above the limit of a frame are dropped, and small parts count as 1 KiB', () => {
  for (const size of [2 ** 16, 9]) {
    const host = virtualHost()
    const scheduler = new Scheduler({ host })
    const { a, b, log } = endpoints('WebSocket', { clock: host })
    const [, u] = [connect(a, 'x', { scheduler }), connect(b, 'x', { scheduler, maxPayload: 200_000 })]
    host.run()
    const part = new Uint8Array(log[0].message.slice(0, 8 + size - 8))
    const full = new Uint8Array(size)
    full.set(part)
    let count = 0
    for (; u.rejected === 0 && count < 1000; count++) {
      full[7] = count === 0 ? 1 : 3
      b.happen('message', { data: full.slice().buffer })
    }
    assert.is(count, size === 9 ? 197 : 4)
  }
})

hostile('an emitter that delivers our own frames to us is not a peer', () => {
  const heard = []
  const emitter = {
    on: (type, listener) => { if (type === 'message') heard.push(listener) },
    off() {},
    emit(type, message) {
      emitted.push(message)
      for (const listener of heard) queueMicrotask(() => listener(message))
    }
  }
  const emitted = []
  const x = connect(emitter, 'x')
  return new Promise(resolve => setImmediate(resolve)).then(() => {
    assert.is(emitted.length, 1)
    assert.is(x.offer('to nobody'), false)
    assert.is(x.closed, false)
    x.close()
  })
})

hostile('another version of the protocol fails the channel with both versions', async () => {
  const host = virtualHost()
  const pair = endpoints(shape, { clock: host })
  const x = connect(pair.a, 'x')
  host.run()
  pair.a.listeners.call('message', { data: ['rt.mjs', 3, 1, 0, 99, 'x', 'more', 'fields'] })
  const error = await failure(x.receive())
  assert.instance(error, ChannelError)
  assert.is(error.message, 'x: the other side speaks version 3 of the protocol, this one version 2')
  host.run()
  // The HELLO is answered, so that the peer can report the same error.
  assert.is(kindsOf(pair.log), 'a HELLO, a HELLO')
  assert.is(pair.log[1].message[3], 99)
})

for (const [name, carried] of [
  ['WebSocket', bytes => ({ data: bytes })], ['ws', bytes => bytes], ['send, on, JSON', bytes => bytes.toString('base64')]
]) {
  hostile(`over ${name} bytes of another version fail all channels that have no peer yet`, async () => {
    const { a, host, left: [x, y], right: [u], posted } = setUp({ name, names: ['x', 'y'] })
    const bytes = Buffer.from(bytesOfFrame(['rt.mjs', 3, 1, 0, 99, 'x', '', []]))
    bytes[6] = 3
    bytes.fill(255, 8) // the content does not matter
    a.happen('message', carried(bytes))
    for (const channel of [x, y]) {
      const error = await failure(channel.receive())
      assert.instance(error, ChannelError)
      assert.is(error.message, `${channel.name}: the other side speaks version 3 of the protocol, this one version 2`)
    }
    // The HELLO is answered, so that the peer can report the same error.
    assert.is(kindsOf(posted.filter(({ from }) => from === 'a')), 'a HELLO, a HELLO, a HELLO, a HELLO')
    host.run()
    assert.is(u.closed, false)
  })

  hostile(`over ${name} bytes of another version do not affect ends that know each other`, () => {
    const { b, host, spawn, left: [x], right: [u] } = setUp({ name })
    host.run()
    b.happen('message', carried(Buffer.from('rt.mjs\x03\0\x01\x02\x03\x04')))
    assert.is(u.rejected, 1)
    const got = []
    spawn(function* () { yield x.send('fine') })
    spawn(function* () { got.push(yield u.receive()) })
    host.run()
    assert.equal(got, ['fine'])
  })
}

hostile('received objects cannot change prototypes', () => {
  for (const name of ['WebSocket', 'send, on, JSON']) {
    const { host, scheduler, left: [x], right: [u] } = setUp({ name })
    let got
    scheduler.spawn(function* () {
      yield x.send(JSON.parse('{"__proto__": {"polluted": [{"$": 1}]}, "constructor": {"x": null}, "y": {}}'))
    })
    scheduler.spawn(function* () { got = yield u.receive() })
    host.run()
    assert.is({}.polluted, undefined)
    assert.is(got.polluted, undefined)
    assert.equal(Object.keys(got), ['__proto__', 'constructor', 'y'])
  }
})

hostile.run()
