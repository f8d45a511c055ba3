/**
 * Lines between two ends that lose, double, delay and cut messages, on a virtual clock, and sessions whose
 * ends restart.
 */
import * as assert from 'uvu/assert'
import { accept, connect } from '../../addons/connect.mjs'
import { sleep } from '../../alarms.mjs'
import { Scheduler } from '../../rt.mjs'
import { ChannelError } from '../../sync.mjs'
import { endpoints } from '../fixtures/channels/fakes.mjs'
import { virtualHost } from './virtual-host.mjs'

/** Cuts a line: messages on it are lost, and some of its ends get a 'close' event. */
export function cut({ a, b }, ends = [a, b], ...reason) {
  a.isDead = b.isDead = true
  for (const end of ends) {
    end.readyState = 3
    end.happen('close', ...reason)
  }
}

/** Ends a line without an event. */
export function hang(line) {
  cut(line, [])
}

/** Replaces the method by which an end sends with `send(post, message)`. */
export function onSend(end, send) {
  const way = ['send', 'postMessage', 'emit'].find(way => end[way])
  const post = end[way]
  end[way] = (...values) => send(() => post(...values), values.at(-1))
}

/**
 * Limits the rate of an end. Messages wait in a queue of the sender, as in the buffer of a socket.
 *
 * @param {any} end @param {number} rate bytes per ms @param {any} host
 */
export function slow(end, rate, host) {
  let free = 0
  onSend(end, (post, message) => {
    free = Math.max(free, host.time) + message.byteLength / rate
    host.after(free - host.time, post)
  })
}

/** The number of listeners at both ends of all lines. */
export const listenersOf = lines => lines.reduce((sum, { a, b }) => sum + a.listeners.of('message').length + b.listeners.of('message').length, 0)

const SHAPES = ['WebSocket', 'ws', 'RTCDataChannel', 'postMessage, on', 'send, on, JSON', 'emit, on, socket.io']
/** The time until which faults and restarts occur, ms. */
const FAULTY_UNTIL = 20_000

/**
 * Exchanges numbered messages between an end that dials and an end that accepts. Lines are cut, hang, double
 * and lose messages, and both ends restart without notice. An end whose channel fails connects again.
 *
 * Each session must receive the messages of one session of the peer without a gap, a duplicate or a change of
 * order. A message that was confirmed must have been received. After the last fault, all messages must be
 * exchanged, and no listener or timer may remain.
 *
 * @param {import('./seeded.mjs').Random} random
 * @returns {{ lines: number, cuts: number, lost: number, doubled: number, restarts: number, sessions: number,
 *   received: number }}
 */
export function runWithRestarts(random) {
  const { random: realRandom } = Math
  Math.random = () => random.real()
  try {
    return new Restarts(random).run()
  } finally {
    Math.random = realRandom
  }
}

class Restarts {
  total = { lines: 0, cuts: 0, lost: 0, doubled: 0, restarts: 0, sessions: 0, received: 0 }
  lines = []
  /** Messages that each session sent, by its key, and whether they were received and confirmed. */
  sent = new Map()
  /** The sessions of the present process of each side. */
  living = { a: new Set(), b: new Set() }
  isDone = false

  constructor(random) {
    this.random = random
    this.host = virtualHost()
    this.scheduler = new Scheduler({ host: this.host })
    this.options = { scheduler: this.scheduler, timeout: 8000, heartbeat: random.pick([200, 1000, 2000]), retry: random.pick([100, 1000]) }
    this.shape = random.pick(SHAPES)
    this.count = random.integer(1, 12)
    this.rates = {
      cut: random.pick([0, 0.02, 0.1]), hang: random.pick([0, 0.01]), lost: random.pick([0, 0, 0.03]), doubled: random.pick([0, 0.05]),
      restart: random.pick([0, 1, 3])
    }
  }
  get isFaulty() { return this.host.time < FAULTY_UNTIL }

  run() {
    const { random, host, rates } = this
    this.dial()
    for (let n = rates.restart; n > 0; n--) host.after(random.integer(1, FAULTY_UNTIL), () => this.restart(random.pick(['a', 'b'])))
    host.run({ until: 200_000 })
    const context = `${JSON.stringify({ shape: this.shape, rates, heartbeat: this.options.heartbeat, total: this.total })}`
    assert.ok(this.isDone, `not all messages were exchanged: ${context}`)
    assert.equal(this.living.b.size, 0, `sessions are left: ${context}`)
    assert.equal([host.timers, host.errors, listenersOf(this.lines)], [[], [], 0], context)
    for (const messages of this.sent.values()) {
      messages.forEach(({ isConfirmed, receivers }, number) => {
        assert.ok(receivers <= 1 && (receivers === 1 || !isConfirmed), `message ${number}: ${receivers} receivers, ${context}`)
      })
    }
    return this.total
  }

  open() {
    const { random, host, rates, total } = this
    if (this.isFaulty && random.chance(0.1)) throw new Error('out of reach')
    const line = endpoints(this.shape, { clock: host })
    this.lines.push(line)
    total.lines++
    for (const end of [line.a, line.b]) {
      onSend(end, post => {
        const isLost = this.isFaulty && random.chance(rates.lost)
        if (isLost) total.lost++
        else post()
        if (!this.isFaulty) return
        if (random.chance(rates.doubled)) {
          total.doubled++
          post()
        }
        if (random.chance(rates.cut)) {
          total.cuts++
          const ends = random.pick([[line.a, line.b], [line.a], [line.b]])
          host.after(random.integer(0, 3), () => cut(line, ends))
        } else if (random.chance(rates.hang)) hang(line)
      })
      end.close = () => host.after(1, () => cut(line))
    }
    accept(line.b, session => this.start('b', connect(session, 'x')), this.options)
    return line.a
  }

  /** The side that dials begins a session. */
  dial() {
    const process = { open: () => this.open() }
    this.start('a', connect(process.open, 'x', this.options))
  }

  /** A side exchanges messages over a new session. */
  start(side, channel) {
    const { random, scheduler, sent, total, count, living } = this
    const key = total.sessions++
    const messages = []
    sent.set(key, messages)
    const expected = { key: null, number: 0 }
    const run = work => {
      const job = scheduler.spawn(work)
      job.catch(() => {})
      return job
    }
    const sends = run(function* () {
      for (let number = 0; number < count; number++) {
        if (random.chance(0.3)) yield sleep(random.integer(0, 3000))
        const message = { isConfirmed: false, receivers: 0 }
        messages.push(message)
        yield channel.send({ key, number, body: random.chance(0.1) ? new Uint8Array(150_000).fill(number) : null })
        message.isConfirmed = true
      }
      yield channel.send('end')
    })
    const receives = run(function* () {
      for (;;) {
        const message = yield channel.receive()
        if (message === 'end') return
        expected.key ??= message.key
        assert.equal([message.key, message.number], [expected.key, expected.number++])
        if (message.body !== null) assert.ok(message.body.length === 150_000 && message.body.every(byte => byte === message.number))
        sent.get(message.key)[message.number].receivers++
        total.received++
      }
    })
    const session = { channel, jobs: [sends, receives] }
    living[side].add(session)
    this.watch(side, session)
  }

  /**
   * Ends a session of a side when both of its jobs have ended; the side that dials then begins the next one.
   */
  watch(side, session) {
    const { scheduler, living } = this
    const again = () => this.dial()
    const finish = () => { this.isDone = true }
    const job = scheduler.spawn(function* () {
      const states = []
      for (const job of session.jobs) {
        try {
          yield job
          states.push('done')
        } catch (error) {
          if (error instanceof ChannelError) states.push('failed')
          else if (error.name === 'AbortError') return
          else throw error
        }
      }
      living[side].delete(session)
      session.channel.close()
      if (side === 'b') return
      if (states.includes('failed')) again()
      else finish()
    })
    job.catch(error => this.host.errors.push(error))
  }

  /** The process of a side ends without a word and starts again: its sessions, jobs and lines are gone. */
  restart(side) {
    const { living, lines, total } = this
    if (this.isDone || living[side].size === 0) return
    total.restarts++
    for (const { channel, jobs } of living[side]) {
      channel.connection.carrier.end()
      for (const job of jobs) job.cancel()
    }
    living[side].clear()
    for (const line of lines) if (!line.a.isDead) cut(line)
    if (side === 'a') this.dial()
  }
}
