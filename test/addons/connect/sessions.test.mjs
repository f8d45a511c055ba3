import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { sleep } from '../../../alarms.mjs'
import { Scheduler } from '../../../rt.mjs'
import { ChannelError, choice } from '../../../sync.mjs'
import { accept, connect } from '../../../addons/connect.mjs'
import { endpoints } from '../../fixtures/channels/fakes.mjs'
import { forSeeds, seeded } from '../../support/seeded.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const { random } = Math

/** Closes both ends of a line. Messages on the line are lost. */
function cut({ a, b }) {
  for (const end of [a, b]) {
    end.isDead = true
    end.readyState = 3
    end.happen('close')
  }
}

/** Ends a line without any event. */
function hang({ a, b }) {
  a.isDead = b.isDead = true
}

/**
 * An end that opens lines with a delay of 1 ms, and an end that accepts them. With `isMutual`, the second end
 * connects to the latest line.
 *
 * @param {any} [options] `meet` is called with the connect function of the second end, once per session;
 *   `posted` is called with each line that carries a message; `times` returns how often a message is
 *   delivered
 */
function setUp({
  shape = 'WebSocket', isMutual = false, meet = () => {}, posted = () => {}, times = () => 1, isReachable = () => true, ...given
} = {}) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const options = { scheduler, ...given }
  const lines = []
  const run = work => {
    const job = scheduler.spawn(work)
    job.catch(() => {})
    return job
  }
  const open = () => {
    if (!isReachable()) throw new Error('out of reach')
    const line = endpoints(shape, { clock: host })
    lines.push(line)
    for (const end of [line.a, line.b]) {
      const way = ['send', 'postMessage', 'emit'].find(way => end[way])
      const post = end[way]
      end[way] = (...values) => {
        for (let left = times(); left > 0; left--) post(...values)
        posted(line)
      }
    }
    if (!isMutual) accept(line.b, session => meet(name => connect(session, name), run), options)
    return line.a
  }
  const dial = name => connect(open, name, options)
  if (isMutual) {
    const latest = () => lines.at(-1)?.b ?? null
    meet(name => connect(latest, name, options), run)
  }
  return { host, scheduler, lines, dial, run, options, wait: ms => host.drain({ until: host.time + ms }) }
}

// ---------------------------------------------------------------------------------------------------------

const sessions = suite('connect: channels that outlive their endpoints')

/**
 * Sends values in both directions over a line, with echoes of some values, until all are received. Each value
 * must arrive once and in order, and no timer or listener may remain.
 *
 * @param {any} random @param {number} most the maximum number of values
 * @param {(line: any, host: any) => void} posted
 */
function converse(random, most, posted) {
  Math.random = () => random.real()
  const got = { there: [], here: [], echo: [] }
  const jobs = []
  const count = random.integer(1, most)
  const { host, dial, run, lines } = setUp({
    shape: random.pick(['WebSocket', 'ws', 'RTCDataChannel', 'postMessage, on', 'send, on, JSON', 'emit, on, socket.io']),
    isMutual: random.chance(0.2), timeout: 3e5, heartbeat: 1000, retry: 1000,
    posted: line => posted(line, host),
    meet(connected, run) {
      const [lines, echo] = [connected('lines'), connected('echo')]
      jobs.push(
        run(function* () {
          yield lines.forEach(function* (message) {
            got.there.push(message)
            if (random.chance(0.2)) yield sleep(random.integer(0, 300))
          })
        }),
        run(function* () {
          for (let i = 0; i < count; i++) yield choice([{ send: lines, value: i - 100 }])
        }),
        run(() => echo.forEach(function* (message) { yield echo.send(message) })))
    }
  })
  const [out, echo] = [dial('lines'), dial('echo')]
  const all = Array.from({ length: count }, (_, i) => i)
  jobs.push(run(function* () {
    const back = run(function* () { for (const _ of all) got.here.push(yield out.receive()) })
    for (const i of all) yield out.send(i)
    yield back
    out.close()
  }), run(function* () {
    for (const i of all) {
      const large = i % 5 === 4 ? new Uint8Array(70_000).fill(i) : i
      yield echo.send(large)
      const same = yield echo.receive()
      got.echo.push(same.length === 70_000 && same.every(byte => byte === i) ? i : same)
    }
    echo.close()
  }))
  host.run({ until: 1e6 })
  assert.equal(jobs.map(({ state }) => state), jobs.map(() => 'done'))
  assert.equal(got, { there: all, here: all.map(i => i - 100), echo: all })
  host.run({ until: 2e6 })
  assert.equal(host.timers, [])
  assert.is(lines.reduce((sum, { a, b }) => sum + a.listeners.of('message').length + b.listeners.of('message').length, 0), 0)
}

sessions('with cuts at random messages, each value arrives once and in order', () =>
  forSeeds(100, random => {
    const risk = random.real(0, 0.4)
    let cuts = random.integer(0, 30)
    converse(random, 12, (line, host) => {
      if (cuts === 0 || !random.chance(risk)) return
      cuts--
      // In this task, or after some of the message has arrived.
      if (random.chance(0.5)) cut(line)
      else host.after(random.integer(0, 2), () => (random.chance(0.8) ? cut : hang)(line))
    })
  }))

// SEEDS=1000 takes two minutes. kill-sessions.mjs has more kinds of faults.
sessions('with a cut at each single message, each value arrives once and in order', () =>
  forSeeds(8, ({ seed }) => {
    const converseCutAt = (message, delay) => {
      let count = 0
      converse(seeded(seed), 3, (line, host) => {
        if (++count !== message) return
        if (delay === 0) cut(line)
        else host.after(delay, () => cut(line))
      })
      return count
    }
    const messages = converseCutAt(0, 0)
    for (let message = 1; message <= messages; message++) {
      for (const delay of [0, 1]) {
        try {
          converseCutAt(message, delay)
        } catch (error) {
          error.message = `cut ${delay} ms after message ${message} of ${messages}: ${error.message}`
          throw error
        }
      }
    }
  }))

sessions.after(() => { Math.random = random })

sessions('a hanging line is replaced by another one', () => {
  const got = []
  const { host, dial, run, lines } = setUp({
    heartbeat: 100, meet: (connected, run) => run(() => connected('x').forEach(message => { got.push(`${host.time} ${message}`) }))
  })
  const x = dial('x')
  run(function* () {
    yield x.send('one')
    hang(lines[0])
    yield x.send('two')
  })
  host.run({ until: 2000 })
  assert.is(lines.length, 2)
  assert.is(got[0], '3 one')
  const [time] = got[1].split(' ')
  assert.ok(time > 200 && time < 500, got[1])
})

/** @param {PromiseLike<any>} waitable */
const failure = waitable => waitable.then(() => null, error => error)

sessions('a line that doubles or loses messages silently does not affect a session', () => forSeeds(40, async random => {
  const heard = []
  const isLossy = random.chance(0.5)
  const { dial, run, wait, lines } = setUp({
    times: () => random.pick(isLossy ? [0, 1, 1, 1, 1, 1, 2, 2] : [1, 2]),
    heartbeat: 20, retry: 100, timeout: 1e6,
    meet: (connect, run) => run(function* () {
      const values = connect('values')
      for (;;) heard.push(yield values.receive())
    })
  })
  const values = dial('values')
  const job = run(function* () {
    for (let i = 0; i < 10; i++) yield values.send(i)
  })
  await wait(2e4)
  assert.is(job.state, 'done')
  assert.equal(heard, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  if (!isLossy) assert.is(lines.length, 1)
}))

sessions('after a long silence the peer has gone, and waiting operations fail at both ends', async () => {
  const there = []
  const { host, dial, wait, lines } = setUp({
    timeout: 1000, isReachable: () => host.time === 0, meet: connected => there.push(failure(connected('x').send(1)))
  })
  const x = dial('x')
  const here = failure(x.send(1))
  await wait(50)
  hang(lines[0])
  await wait(3000)
  for (const error of [await here, await there[0]]) {
    assert.instance(error, ChannelError)
    assert.is(error.reason, 'timeout')
    assert.match(error.message, /^x: the other side has gone \(\S.* for 1000 ms: .*\)$/)
    assert.instance(error.cause, Error)
  }
})

sessions('an idle end is probed before the timeout, even with a long heartbeat', async () => {
  const { dial, wait } = setUp({ timeout: 1000, heartbeat: 5000 })
  const x = dial('x')
  await wait(20_000)
  assert.is(x.closed, false)
})

for (const isAccepted of [false, true]) {
  sessions(`a restarted end that ${isAccepted ? 'accepts' : 'dials'} is no cut line`, async () => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host })
    const lines = []
    const wait = ms => host.drain({ until: host.time + ms })
    const left = () => connect(open, 'x', { scheduler })
    let end = line => line.b
    const right = connect(() => lines.length > 0 ? end(lines.at(-1)) : null, 'x', { scheduler })
    function open() {
      lines.push(endpoints('ws', { clock: host }))
      if (end === null && isAccepted) accept(lines.at(-1).b, session => { anew = connect(session, 'x') }, { scheduler })
      return lines.at(-1).a
    }
    let x = left()
    await wait(200)
    cut(lines[0])
    await wait(1000)
    const got = right.receive().then(message => message)
    x.send('still the same').then(() => {})
    await wait(1000)
    assert.is(await got, 'still the same')
    const lost = failure(x.receive())
    let anew = null
    end = null
    if (!isAccepted) anew = connect(() => lines.at(-1).b, 'x', { scheduler })
    cut(lines.at(-1))
    await wait(1000)
    assert.is((await lost).reason, 'restarted')
    x = left()
    await wait(20_000)
    const again = anew.receive().then(message => message)
    x.send('to the new one').then(() => {})
    await wait(1000)
    assert.is(await again, 'to the new one')
  })
}

sessions('the queue of an end without a line stays small', async () => {
  let isUp = true
  let messages = 0
  const { host, dial, run, wait, lines } = setUp({
    timeout: Infinity, retry: 100, isReachable: () => isUp, posted: () => { messages++ },
    meet: (connected, run) => run(function* () { yield choice([{ send: connected('x'), value: 'at last' }]) })
  })
  const x = dial('x')
  await wait(50)
  isUp = false
  cut(lines[0])
  const job = run(function* () {
    for (let i = 0; i < 1000; i++) yield choice([{ receive: x }, { timeout: 1 }])
    messages = 0
    isUp = true
    return yield x.receive()
  })
  await wait(3000)
  assert.is(await job, 'at last')
  assert.ok(messages < 100, `${messages} messages`)
})

for (const [what, first] of Object.entries({
  'throws': () => { throw new Error('no network') },
  'rejects': () => Promise.reject(new TypeError('Failed to fetch')),
  'has none': () => null
})) {
  sessions(`an endpoint is requested again, after growing pauses, if the function ${what}`, async () => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host })
    const times = []
    const x = connect(() => {
      times.push(host.time)
      return first()
    }, 'x', { scheduler, retry: 1000, timeout: Infinity })
    await host.drain({ until: 20_000 })
    const pauses = times.slice(1).map((time, i) => time - times[i])
    pauses.forEach((pause, i) => {
      const longest = Math.min(1000, 100 * 2 ** i)
      assert.ok(pause >= longest / 2 && pause <= longest, `${i}: ${pause}`)
    })
    assert.ok(pauses.length > 20 && new Set(pauses).size > 10)
    x.close()
  })
}

sessions('connect waits for a promise of an endpoint', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const { a, b } = endpoints('ws', { clock: host })
  const [left, right] = [a, b].map(end => connect(async () => end, 'x', { scheduler }))
  const got = right.receive().then(value => value)
  left.send('it').then(() => {})
  await host.drain({ until: 100 })
  assert.is(await got, 'it')
})

sessions('connect and accept reject invalid endpoints, options and works at the call', () => {
  assert.throws(() => connect(() => ({}), 'x'), /endpoint must be an object with postMessage, send or emit/)
  assert.throws(() => connect(() => null, 'x', { timeout: 0 }), /timeout must be a number > 0, got 0/)
  assert.throws(() => connect(() => null, 'x', { heartbeat: NaN }), /heartbeat must be a finite number > 0, got NaN/)
  assert.throws(() => accept({}, () => {}), /endpoint must be an object with postMessage/)
  assert.throws(() => accept(endpoints('ws').a, 5), /work must be a function, got 5/)
})

sessions('accept passes an endpoint whose peer has no session to `work`', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  for (const shape of ['WebSocket', 'postMessage, on']) {
    const { a, b } = endpoints(shape, { clock: host })
    const got = new Promise(resolve => accept(b, end => { connect(end, 'x').receive().then(resolve) }, { scheduler }))
    connect(a, 'x').send('it').then(() => {})
    await host.drain({ until: host.time + 20 })
    assert.is(await got, 'it')
  }
})

sessions('connect fails immediately if the peer has no session', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host })
  const { a, b } = endpoints('WebSocket', { clock: host })
  const x = connect(() => a, 'x', { scheduler })
  const error = x.receive().then(null, error => error)
  connect(b, 'x')
  await host.drain({ until: 10 })
  assert.match((await error).message, /its end is not one of `accept`/)
})

sessions('frames whose kind or version cannot be converted to text end a session', async () => {
  for (const content of [[{ toString: 0, valueOf: 0 }], [1, { toString: 0, valueOf: 0 }], [1, [{ toString: 0, valueOf: 0 }], 1]]) {
    const { dial, wait, lines } = setUp({ shape: 'postMessage, on' })
    const x = dial('x')
    await wait(20)
    lines[0].a.happen('message', ['rt.mjs', ...content])
    assert.is(x.closed, true)
  }
})

sessions('a channel that opens when the last one closes starts a session for later ones', async () => {
  const got = []
  const { dial, wait, lines, run } = setUp({
    meet: (connected, run) => { for (const name of ['x', 'y']) run(() => connected(name).forEach(message => { got.push(message) })) }
  })
  run(function* () {
    const first = dial('x')
    yield first.send(1)
    first.close()
    yield dial('x').send(2)
    yield dial('y').send(3)
  })
  await wait(100)
  assert.equal(got, [1, 2, 3])
  assert.is(lines.length, 2)
})

sessions.run()
