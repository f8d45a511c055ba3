/** Tests the progress, the time limits and the errors of sessions over slow, limited, lossy or dead lines. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { accept, connect } from '../../../addons/connect.mjs'
import { sleep, timeout } from '../../../alarms.mjs'
import { Scheduler } from '../../../rt.mjs'
import { ChannelError, choice } from '../../../sync.mjs'
import { bytesOfFrame, endpoints, frameOf } from '../../fixtures/channels/fakes.mjs'
import { cut, hang, listenersOf, onSend, runWithRestarts, slow } from '../../support/faulty-lines.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

// Kinds of frames.
const [JOIN, PART, HEARD] = [9, 10, 11]

/**
 * An end that dials, and an end that accepts. `line` is called with each new line, `onSession` with each new
 * session.
 *
 * @param {any} [options] the options of the sessions, and: `shape`; `onSession(connected)`; `line(line,
 *   index)`; `mayDial()`
 */
function world({ shape = 'WebSocket', onSession = () => {}, line: use = () => {}, mayDial = () => true, accepting, ...given } = {}) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const options = { scheduler, ...given }
  const lines = []
  const open = () => {
    if (!mayDial()) throw new Error('out of reach')
    const line = endpoints(shape, { clock: host })
    lines.push(line)
    use(line, lines.length - 1)
    accept(line.b, session => onSession(name => connect(session, name), session), { ...options, ...accepting })
    return line.a
  }
  const run = work => {
    const job = scheduler.spawn(work)
    job.catch(() => {})
    return job
  }
  return { host, scheduler, options, lines, open, run, dial: name => connect(open, name, options), pass: ms => host.run({ until: host.time + ms }) }
}

/** Receives all messages of a channel into a list. */
const into = (list, run) => connected => run(function* () {
  const channel = connected('x')
  for (;;) list.push(yield channel.receive())
})

/** Closes a line with a code if a message exceeds the limit of its socket, as `ws` does with `maxPayload`. */
function limit(line, bytes) {
  for (const end of [line.a, line.b]) {
    onSend(end, (post, message) => message.byteLength > bytes ? cut(line, [line.a, line.b], { code: 1009 }) : post())
  }
}

/** The kinds of the messages on a line: `a 9` is a JOIN of the end that dials. */
const kindsOf = ({ log }) => log.map(({ from, message }) => `${from} ${frameOf(message)[2]}`)

/** @param {any} waitable @returns {Promise<any>} */
const failure = waitable => Promise.resolve(waitable).then(() => null, error => error)

// ---------------------------------------------------------------------------------------------------------

const parts = suite('connect: parts of messages over a session')

parts('a session over a line of 100 kB/s carries 2 MB with one dial', () => {
  for (const direction of ['a', 'b']) {
    const got = []
    let send = null
    const { host, lines, dial, run } = world({
      line: line => { slow(line[direction], 100, host) },
      onSession: connected => direction === 'a' ? into(got, run)(connected) : send(connected('x'))
    })
    send = channel => run(function* () { yield channel.send(new Uint8Array(2e6).fill(7)) })
    const x = dial('x')
    if (direction === 'a') send(x)
    else into(got, run)(() => x)
    host.run({ until: 30_000 })
    assert.equal([got.length, got[0]?.length, got[0]?.every(byte => byte === 7)], [1, 2e6, true])
    assert.is(lines.length, 1)
  }
})

parts('messages of a session have at most 64 KiB, and about 1 MiB is in flight', () => {
  const got = []
  const { host, lines, dial, run } = world({ onSession: connected => into(got, run)(connected) })
  const x = dial('x')
  run(function* () { yield x.send(new Uint8Array(3e6).fill(1)) })
  host.run({ until: 2.5 })
  const [{ log }] = lines
  const sizes = () => log.map(({ message }) => message.byteLength)
  assert.ok(Math.max(...sizes()) <= 2 ** 16)
  host.run({ until: 1000 })
  assert.is(got[0].length, 3e6)
  assert.ok(Math.max(...sizes()) <= 2 ** 16)
  let inFlight = 0
  let most = 0
  for (const { from, message } of log) {
    if (from === 'a') inFlight += message.byteLength
    else inFlight = Math.max(0, inFlight - (frameOf(message)[2] === HEARD ? 64_000 : 0))
    most = Math.max(most, inFlight)
  }
  assert.ok(most > 2 ** 19 && most < 1.1 * 2 ** 20, `${most}`)
})

parts('a message above the limit of the socket arrives, because its parts are smaller', () => {
  const got = []
  const { host, lines, dial, run } = world({ line: line => limit(line, 100_000), onSession: connected => into(got, run)(connected) })
  const x = dial('x')
  const job = run(function* () { yield x.send(new Uint8Array(300_000)) })
  host.run({ until: 1000 })
  assert.equal([job.state, got[0]?.length, lines.length], ['done', 300_000, 1])
})

parts('a message fails within timeout if its parts exceed the limit of the socket', async () => {
  for (const shape of ['WebSocket', 'ws']) {
    const { host, lines, dial, run } = world({
      shape, timeout: 5000,
      line(line) {
        for (const end of [line.a, line.b]) {
          onSend(end, (post, message) => {
            if (message.byteLength <= 20_000) post()
            else cut(line, [line.a, line.b], ...(shape === 'ws' ? [1009, Buffer.from('')] : [{ code: 1009 }]))
          })
        }
      },
      onSession: connected => { for (const name of ['x', 'y']) into([], run)(() => connected(name)) }
    })
    const [x, y] = [dial('x'), dial('y')]
    await host.drain({ until: 2000 })
    const jobs = [run(function* () { yield x.send(new Uint8Array(300_000)) }), run(function* () { yield y.send(1) })]
    await host.drain({ until: 7000 })
    for (const job of jobs) {
      const error = await failure(job)
      assert.instance(error, ChannelError)
      assert.is(error.reason, 'timeout')
      assert.match(error.message, /no progress for 5000 ms: the line closed with code 1009, message too big/)
      assert.instance(error.cause, Error)
    }
    assert.ok(lines.length < 12, `${lines.length} dials`)
  }
})

parts('a message arrives even if it needs several lines one after the other', () => {
  const got = []
  const { host, lines, dial, run } = world({
    retry: 100,
    line(line) {
      let messages = 0
      onSend(line.a, post => {
        if (messages < 6) post()
        if (++messages === 6) host.after(3, () => cut(line))
      })
    },
    onSession: connected => into(got, run)(connected)
  })
  const x = dial('x')
  const job = run(function* () { yield x.send(new Uint8Array(2e6).fill(3)) })
  host.run({ until: 20_000 })
  assert.equal([job.state, got.length, got[0]?.length, got[0]?.every(byte => byte === 3)], ['done', 1, 2e6, true])
  assert.ok(lines.length > 5, `${lines.length} lines`)
})

parts('a message above maxPayload of the peer fails alone, with a RangeError', async () => {
  const got = []
  const { host, lines, dial, run } = world({ accepting: { maxPayload: 100_000 }, onSession: connected => into(got, run)(connected) })
  const x = dial('x')
  const job = run(function* () { yield x.send(new Uint8Array(100_000)) })
  const next = run(function* () { yield x.send(new Uint8Array(99_000)) })
  await host.drain({ until: 1000 })
  assert.instance(await failure(job), RangeError)
  assert.equal([next.state, got.map(({ length }) => length), lines.length], ['done', [99_000], 1])
})

parts('a session ends if its peer never finishes a message, but sends heartbeats', async () => {
  const { host, scheduler } = world()
  const { a, b } = endpoints('WebSocket', { clock: host })
  const sessions = []
  accept(b, session => sessions.push(connect(session, 'x')), { scheduler, timeout: 2000, heartbeat: 500 })
  a.addEventListener('message', () => {})
  const post = frame => a.send(bytesOfFrame(frame, frame[2] === PART ? { lengths: [4], buffers: [Buffer.alloc(4)] } : {}))
  post(['rt.mjs', 2, JOIN, 0, 77, 0, false, [], 2 ** 25])
  post(['rt.mjs', 2, PART, 0, 1, false, { $: ['Uint8Array', 0] }])
  const beat = () => {
    if (sessions[0]?.closed) return
    // This acknowledges all parts of the session.
    post(['rt.mjs', 2, HEARD, 1, 1, false])
    host.after(300, beat)
  }
  host.after(10, beat)
  await host.drain({ until: 1500 })
  assert.is(sessions[0].closed, false)
  await host.drain({ until: 4000 })
  assert.is(sessions[0].closed, true)
  assert.match((await failure(sessions[0].receive())).message, /sent half a message in 2000 ms/)
})

parts.run()

// ---------------------------------------------------------------------------------------------------------

const losses = suite('connect: sessions over lossy lines')

losses('a single message that is lost silently is sent again over the next line', () => {
  for (let lost = 0; lost < 24; lost++) {
    const got = []
    let count = 0
    const { host, lines, dial, run } = world({
      heartbeat: 100, retry: 200,
      line: line => { for (const end of [line.a, line.b]) onSend(end, post => { if (count++ !== lost) post() }) },
      onSession: connected => into(got, run)(connected)
    })
    const x = dial('x')
    const job = run(function* () {
      yield x.send('one')
      yield x.send(new Uint8Array(130_000))
    })
    host.run({ until: 5000 })
    assert.is(job.state, 'done', `message ${lost} of ${count} was lost`)
    assert.equal(got.map(message => message.length), [3, 130_000])
    x.close()
    host.run({ until: 70_000 })
    assert.equal([host.timers, listenersOf(lines)], [[], 0], `message ${lost} of ${count} was lost`)
  }
})

losses('a session dials a new line after a message that the platform cannot read', () => {
  for (const shape of ['postMessage, addEventListener', 'postMessage, on']) {
    const got = []
    const { host, lines, dial, run, pass } = world({ shape, retry: 100, onSession: connected => into(got, run)(connected) })
    const x = dial('x')
    run(function* () { yield x.send(1) })
    pass(50)
    lines[0].a.happen('messageerror')
    run(function* () { yield x.send(2) })
    host.run({ until: 500 })
    assert.equal([got, lines.length], [[1, 2], 2], shape)
  }
})

losses('a damaged frame ends the line, and arrives over the next one', () => {
  for (const broken of [0, 1, 2, 3, 4, 5]) {
    const got = []
    const { host, lines, dial, run } = world({
      line(line, index) {
        const { send } = line.a
        let count = 0
        line.a.send = message => send(index === 0 && count++ === broken ? message.slice(0, -1) : message)
      },
      onSession: connected => into(got, run)(connected)
    })
    const x = dial('x')
    const job = run(function* () { for (const i of [1, 2, 3]) yield x.send(i) })
    host.run({ until: 40_000 })
    assert.equal([job.state, got, lines.length], ['done', [1, 2, 3], 2], `message ${broken}`)
  }
})

losses('a session sends nothing to a socket that starts to close within a message', () => {
  for (let last = 0; last < 12; last++) {
    const got = []
    let late = 0
    const { host, lines, dial, run } = world({
      line(line, index) {
        if (index > 0) return
        let count = 0
        for (const end of [line.a, line.b]) {
          onSend(end, post => {
            if (end.readyState > 1) late++
            else post()
            if (count++ === last) end.readyState = 2
          })
        }
      },
      onSession: connected => into(got, run)(connected)
    })
    const x = dial('x')
    const job = run(function* () { for (const size of [1, 300_000, 2]) yield x.send('x'.repeat(size)) })
    host.run({ until: 100_000 })
    assert.equal([job.state, got.map(({ length }) => length), late], ['done', [1, 300_000, 2], 0], `closing after message ${last}`)
    assert.ok(lines.length > 1)
  }
})

losses('sessions keep all messages in order while lines fail and ends restart', () =>
  forSeeds(60, random => { runWithRestarts(random) }))

losses.run()

// ---------------------------------------------------------------------------------------------------------

const time = suite('connect: progress and time of sessions')

time('a peer that joins without progress is dialled after growing pauses', () => {
  const { host, lines, dial } = world({
    retry: 10_000, timeout: 30_000,
    line(line) { onSend(line.b, post => { post(); host.after(2, () => cut(line)) }) }
  })
  const x = dial('x')
  host.run({ until: 25_000 })
  assert.is(x.closed, false)
  assert.ok(lines.length < 12, `${lines.length} dials`)
  host.run({ until: 100_000 })
})

time('acknowledged parts reset the pauses between lines', () => {
  const times = []
  const got = []
  const { host, dial, run } = world({
    retry: 10_000,
    line(line) {
      times.push(host.time)
      host.after(30, () => cut(line))
    },
    onSession: connected => into(got, run)(connected)
  })
  const x = dial('x')
  run(function* () { for (let i = 0; ; i++) yield x.send(i) })
  host.run({ until: 5000 })
  const pauses = times.slice(1).map((time, i) => time - times[i])
  assert.ok(Math.max(...pauses) <= 131, `${pauses}`)
  assert.equal(got, got.map((_, i) => i))
})

time('a line that lasts for a heartbeat resets the pauses between lines', () => {
  const times = []
  const { host, dial } = world({
    heartbeat: 100, retry: 10_000,
    line(line) {
      times.push(host.time)
      host.after(150, () => cut(line))
    }
  })
  dial('x')
  host.run({ until: 5000 })
  const pauses = times.slice(1).map((time, i) => time - times[i] - 150)
  assert.ok(pauses.length > 15 && pauses.every(pause => pause >= 50 && pause <= 101), `${pauses}`)
})

time('a choice between a send and a timeout keeps its timeout while the line is down', () => {
  const got = []
  let isUp = true
  const { host, lines, dial, run } = world({ mayDial: () => isUp, onSession: connected => into(got, run)(connected) })
  const x = dial('x')
  const outcomes = []
  run(function* () {
    yield choice([{ send: x, value: 'before' }])
    yield sleep(10) // the peer reports that a receiver waits
    isUp = false
    cut(lines[0])
    for (let i = 0; i < 3; i++) {
      const start = host.time
      const { index } = yield choice([{ send: x, value: 'lost' }, { timeout: 100 }])
      outcomes.push([index, host.time - start])
    }
    isUp = true
    outcomes.push([(yield choice([{ send: x, value: 'after' }, { timeout: 30_000 }])).index])
  })
  host.run({ until: 60_000 })
  assert.equal(outcomes, [[1, 100], [1, 100], [1, 100], [0]])
  assert.equal(got, ['before', 'after'])
})

time('a send that waits while the line is down leaves when the peer has joined', () => {
  const got = []
  let isUp = true
  const { host, lines, dial, run } = world({ mayDial: () => isUp, onSession: connected => into(got, run)(connected) })
  const x = dial('x')
  host.run({ until: 50 })
  isUp = false
  cut(lines[0])
  assert.is(x.offer(0), false)
  const jobs = [1, 2].map(value => run(function* () { yield x.send(value) }))
  host.run({ until: 1000 })
  assert.equal(got, [])
  isUp = true
  host.run({ until: 5000 })
  assert.equal([jobs.map(({ state }) => state), got], [['done', 'done'], [1, 2]])
})

time('close() ends immediately if no endpoint was ever reached', () => {
  for (const endpoint of [() => { throw new Error('down') }, () => null, () => new Promise(() => {}), () => {
    const { a } = endpoints('WebSocket')
    return Object.assign(a, { readyState: 0 })
  }]) {
    const { host, options } = world()
    const x = connect(endpoint, 'x', options)
    host.run({ until: 250 })
    x.close()
    assert.equal([x.closed, host.timers], [true, []])
  }
})

time('close() ends within a heartbeat if the endpoint does not answer', () => {
  const { host, options } = world({ heartbeat: 300 })
  const { a } = endpoints('WebSocket', { clock: host })
  const x = connect(() => a, 'x', options)
  host.run({ until: 50 })
  x.close()
  host.run({ until: 301 })
  assert.equal([host.timers, a.listeners.of('message').length], [[], 0])
})

time('two ends that both dial meet, even if three heartbeats are shorter than retry', () => forSeeds(40, random => {
  const { random: realRandom } = Math
  Math.random = () => random.real()
  try {
    const { host, scheduler, run } = world()
    const options = { scheduler, heartbeat: 200, retry: 10_000, timeout: 100_000 }
    const lines = []
    const left = () => {
      if (host.time < 30_000 && random.chance(0.5)) throw new Error('out of reach')
      lines.push(endpoints('WebSocket', { clock: host }))
      const line = lines.at(-1)
      line.a.close = line.b.close = () => { if (!line.a.isDead) cut(line) }
      return line.a
    }
    const right = () => {
      const end = lines.at(-1)?.b
      return end === undefined || end.isDead ? null : end
    }
    const [x, y] = [connect(left, 'x', options), connect(right, 'x', options)]
    const jobs = [run(function* () { yield x.send('it') }), run(function* () { return yield y.receive() })]
    host.run({ until: 90_000 })
    assert.equal(jobs.map(({ state }) => state), ['done', 'done'])
  } finally {
    Math.random = realRandom
  }
}))

time('an endpoint that sends nothing is closed after three heartbeats', () => {
  const { host, scheduler } = world()
  const { b } = endpoints('WebSocket', { clock: host })
  let closes = 0
  b.close = () => { closes++ }
  accept(b, () => {}, { scheduler, heartbeat: 100, retry: 10_000 })
  host.run({ until: 299 })
  assert.is(closes, 0)
  host.run({ until: 301 })
  assert.equal([closes, b.listeners.of('message').length, host.timers], [1, 0, []])
})

time('an endpoint that starts with a large or invalid frame is closed', () => {
  for (const bytes of [
    bytesOfFrame(['rt.mjs', 2, JOIN, 0, 7, 0, false, [], 0, 'x'.repeat(2 ** 16)]),
    bytesOfFrame(['rt.mjs', 2, JOIN, 0, 7, 0], { length: 5 }),
    bytesOfFrame(['rt.mjs', 2, JOIN, -1, 7, 0]), bytesOfFrame(['rt.mjs', 2, JOIN, 0, 0, 0])
  ]) {
    const { host, scheduler } = world()
    const { b } = endpoints('WebSocket', { clock: host })
    let closes = 0
    b.close = () => { closes++ }
    accept(b, () => { throw new Error('a session began') }, { scheduler })
    b.happen('message', { data: bytes })
    assert.equal([closes, host.timers], [1, []])
  }
})

time('a JOIN that acknowledges parts that were never sent begins no session', () => {
  const { host, scheduler } = world()
  const started = []
  /** Sends a JOIN of the peer 7. @param {number} received @returns {string[]} kinds of all messages */
  const join = received => {
    const { b, log } = endpoints('WebSocket', { clock: host })
    b.close = () => {}
    accept(b, session => { started.push(connect(session, 'x', { scheduler })) }, { scheduler })
    b.happen('message', { data: bytesOfFrame(['rt.mjs', 2, JOIN, received, 7, 0, false, []]) })
    return kindsOf({ log })
  }
  assert.equal([join(5), started.length], [[], 0])
  // The failed session has not taken the place of the next one.
  assert.equal([join(0)[0], started.length], [`b ${JOIN}`, 1])
})

time('a peer of another version is answered, and the error names both versions', () => {
  const { host, scheduler } = world()
  const { b, log } = endpoints('WebSocket', { clock: host })
  accept(b, () => { throw new Error('a session began') }, { scheduler })
  b.happen('message', { data: bytesOfFrame(['rt.mjs', 1, JOIN, 0, 7, 0, false, []], { version: 1 }) })
  assert.equal(kindsOf({ log }), [`b ${JOIN}`])
  assert.is(frameOf(log[0].message)[1], 2)
})

time.run()

// ---------------------------------------------------------------------------------------------------------

const dialling = suite('connect: errors of the dial function')

for (const [name, mistake] of [
  ['a ReferenceError', () => new WebSoket('ws://localhost')], // eslint-disable-line no-undef
  ['a TypeError', () => null.open()],
  ['a SyntaxError of the platform', () => { throw new DOMException('a wrong address', 'SyntaxError') }],
  ['the TypeError of a value that is no endpoint', () => ({})]
]) {
  dialling(`connect throws ${name} of the first call, and leaves nothing behind`, () => {
    const { host, options } = world()
    let mustFail = true
    const open = () => mustFail ? mistake() : null
    let error
    try {
      connect(open, 'x', options)
    } catch (thrown) {
      error = thrown
    }
    assert.ok(error instanceof Error && error.name !== 'ChannelError', String(error))
    assert.equal(host.timers, [])
    mustFail = false
    const x = connect(open, 'x', options)
    assert.is(x.closed, false)
    x.close()
  })
}

dialling('a ReferenceError of an async dial function fails the channel with its cause', async () => {
  const { host, options } = world()
  const x = connect(async () => new WebSoket('ws://localhost'), 'x', options) // eslint-disable-line no-undef
  const error = failure(x.receive())
  await host.drain({ until: 10 })
  assert.instance((await error).cause, ReferenceError)
  assert.equal(host.timers, [])
})

for (const [name, dial] of [
  ['throws', () => { throw new RangeError('the server is down') }],
  ['rejects', () => Promise.reject(new RangeError('the server is down'))]
]) {
  dialling(`the error of a function that ${name} is the cause of the timeout`, async () => {
    const { host, options } = world({ timeout: 1000 })
    const x = connect(dial, 'x', options)
    const error = failure(x.receive())
    await host.drain({ until: 2000 })
    const { message, reason, cause } = await error
    assert.is(message, 'x: the other side has gone (silent for 1000 ms: the server is down)')
    assert.equal([reason, cause.name], ['timeout', 'RangeError'])
  })
}

dialling('an error event of a socket is the cause when its channel ends', async () => {
  const { host, options } = world({ timeout: 1000 })
  const refused = new Error('connect ECONNREFUSED')
  const x = connect(() => {
    const { a } = endpoints('ws', { clock: host })
    a.readyState = 0
    host.after(1, () => {
      a.happen('error', refused)
      a.readyState = 3
      a.happen('close', 1006)
    })
    return a
  }, 'x', options)
  const error = failure(x.receive())
  await host.drain({ until: 2000 })
  assert.is((await error).cause, refused)

  const { a } = endpoints('ws', { clock: host })
  a.readyState = 0
  const plain = failure(connect(a, 'x').receive())
  a.happen('error', refused)
  a.happen('close', 1006)
  assert.is((await plain).reason, refused)
})

dialling.run()

// ---------------------------------------------------------------------------------------------------------

const handles = suite('connect: signals and handles')

handles('send, receive and forEach of an external channel end with their signal', async () => {
  for (const isSession of [false, true]) {
    const { host, scheduler, options, dial, run } = world({ onSession: connected => { connected('x') } })
    const { a, b } = endpoints('WebSocket', { clock: host })
    const x = isSession ? dial('x') : [connect(a, 'x', options), connect(b, 'x', options)][0]
    host.run({ until: 20 })
    for (const wait of [signal => x.send(1, { signal }), signal => x.receive({ signal }), signal => x.forEach(() => {}, { signal })]) {
      const controller = new AbortController()
      const caught = []
      const outside = wait(controller.signal).catch(error => { caught.push(error) }).finally(() => { caught.push('finally') })
      const inside = run(function* () { yield wait(controller.signal) })
      await host.drain({ until: host.time + 20 })
      const reason = new Error('enough')
      controller.abort(reason)
      await host.drain({ until: host.time + 20 })
      await outside
      assert.equal(caught, [reason, 'finally'])
      assert.is(await failure(inside), reason)
    }
    assert.equal([x.closed, scheduler.stats().jobs > 0], [false, true])
    // The channel still works.
    assert.is(x.offer('later'), true)
  }
})

const { dispose } = Symbol

if (dispose) {
  handles('disposing a channel closes it at both ends', () => {
    const { host } = world()
    const { a, b } = endpoints('WebSocket', { clock: host })
    const [x, u] = [connect(a, 'x'), connect(b, 'x')]
    host.run()
    x[dispose]()
    x[dispose]()
    host.run()
    assert.equal([x.closed, u.closed, a.listeners.of('message').length], [true, true, 0])
  })

  handles('disposing a session closes all its channels, and the peer ends as well', () => {
    const there = []
    const { host, lines, dial } = world({
      onSession(connected, session) { there.push(session, connected('x'), connected('y')) }
    })
    const here = ['x', 'y'].map(dial)
    host.run({ until: 50 })
    const [session, ...channels] = there
    session[dispose]()
    session[dispose]()
    host.run({ until: 100 })
    assert.equal([...here, ...channels].map(({ closed }) => closed), [true, true, true, true])
    assert.equal([host.timers, listenersOf(lines)], [[], 0])
  })
}

handles('a timeout around a choice ends it, even if its line fails after the decision', () => {
  const { host, lines, dial, run } = world({ onSession: connected => into([], run)(connected) })
  const x = dial('x')
  const log = []
  run(function* () {
    yield choice([{ send: x, value: 1 }])
    yield sleep(10)
    hang(lines[0])
    const start = host.time
    try {
      yield timeout(100, choice([{ send: x, value: 2 }, { timeout: 50 }]))
    } catch (error) {
      log.push(error.name, host.time - start)
    }
  })
  host.run({ until: 5000 })
  assert.equal(log, ['TimeoutError', 100])
})

handles.run()
