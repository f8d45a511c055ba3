/** Random jobs that communicate by channels in all ways, and an account of every message. */
import { Scheduler, edf, fp } from '../../rt.mjs'
import { TimeoutError, after, sleep, timeout } from '../../alarms.mjs'
import { Channel, ChannelError, choice, par } from '../../sync.mjs'
import { record } from './trace.mjs'
import { virtualHost } from './virtual-host.mjs'

const GRAIN = 0.25
const ENDED = ['done', 'failed', 'cancelled']

/**
 * @typedef {object} Link a channel and its options
 * @property {Channel} channel
 * @property {number} size
 * @property {string} overflow
 */

/**
 * @typedef {object} Message
 * @property {string} sender
 * @property {number} number the number of the message among those of its sender
 * @property {Link} link
 * @property {boolean} isSent whether the sender's operation has succeeded
 * @property {boolean} wasFull whether the channel was full at the send
 * @property {boolean} wasAwaited whether a receiver waited at the send
 * @property {string[]} receivers
 */

/**
 * @typedef {object} Actor
 * @property {string} name
 * @property {any} job
 * @property {number} made number of messages of the job
 * @property {Link[]} sends the channels to which the job waits to send
 * @property {Link[]} receives the channels from which the job waits to receive
 */

/**
 * @param {import('./seeded.mjs').Random} random
 * @param {{ hostOf?: typeof virtualHost }} [options]
 * @returns {{ run(): void, text(): string, seen: Record<string, number> }} `run` throws the violations with
 *   the trace and the account; `text` returns the account; `seen` counts the events
 */
export function network(random, { hostOf = virtualHost } = {}) {
  const host = hostOf({ turn: random.pick([0, 0, GRAIN]) })
  const schedulers = Array.from({ length: random.chance(0.15) ? 2 : 1 }, () => new Scheduler({
    host,
    policy: random.pick([edf, fp]),
    budget: random.pick([1, 1, 2, 5, 'auto']),
    slice: random.pick([GRAIN, 1, 3, Infinity]),
    round: random.pick([GRAIN, 1, 5, Infinity])
  }))
  const traces = schedulers.map(scheduler => record(scheduler))
  /** @type {Link[]} */
  const links = Array.from({ length: random.integer(1, 4) }, (_, index) => {
    const size = random.pick([0, 0, 0, 1, 2, 3, Infinity])
    const overflow = random.pick(['block', 'block', 'block', 'drop', 'slide'])
    return { channel: new Channel(size, { name: `c${index}`, overflow }), size, overflow }
  })
  const blocking = links.filter(({ overflow }) => overflow === 'block')
  const closes = random.chance(0.3) ? 0.1 : 0
  const cancels = random.chance(0.5) ? 0.4 : 0
  /** @type {Actor[]} */
  const actors = []
  /** @type {Message[]} */
  const messages = []
  /** The number of the last message, by sender, channel and receiver. @type {Map<string, number>} */
  const lastOf = new Map()
  /** @type {string[]} */
  const account = []
  /** @type {string[]} */
  const violations = []
  const seen = {
    sent: 0, received: 0, lost: 0, kept: 0, refused: 0, timeouts: 0, cancelled: 0, choices: 0, waiting: 0
  }

  const note = (/** @type {string} */ text) => { violations.push(`at ${host.time}: ${text}`) }
  const enter = (/** @type {string} */ text) => { account.push(`${host.time} ${text}`) }
  const show = (/** @type {Message} */ { sender, number, link }) =>
    `${sender}.${number} over ${link.channel.name}`
  const newActor = (/** @type {string} */ name) => ({
    name, job: null, made: 0, sends: /** @type {Link[]} */ ([]), receives: /** @type {Link[]} */ ([])
  })
  const outside = newActor('outside')

  /** @param {Actor} actor @param {Link} link @returns {Message} a message before its send */
  function newMessage(actor, link) {
    const { channel, size } = link
    const message = {
      sender: actor.name,
      number: actor.made++,
      link,
      isSent: false,
      wasFull: channel.length === size,
      wasAwaited: actors.some(other => other.job?.state === 'waiting' && other.receives.includes(link)),
      receivers: []
    }
    messages.push(message)
    return message
  }

  /** @param {Message} message */
  function sent(message) {
    message.isSent = true
    seen.sent++
    enter(`sent ${show(message)}`)
  }

  /** @param {string} receiver @param {Link} link @param {Message} message */
  function received(receiver, link, message) {
    seen.received++
    enter(`${receiver} received ${show(message)}`)
    if (message.link !== link) note(`${receiver} got ${show(message)} over ${link.channel.name}`)
    message.receivers.push(receiver)
    if (message.receivers.length > 1) note(`${show(message)} was received by ${message.receivers}`)
    const way = `${message.sender} ${link.channel.name} ${receiver}`
    if (message.number <= (lastOf.get(way) ?? -1)) note(`${receiver} got ${show(message)} after a later one`)
    lastOf.set(way, message.number)
  }

  /** @param {Actor} actor @param {any} waitable @param {{ sends?: Link[], receives?: Link[] }} where */
  function* waits(actor, waitable, { sends = [], receives = [] }) {
    actor.sends = sends
    actor.receives = receives
    try {
      return yield random.chance(0.3) ? timeout(GRAIN * random.integer(0, 12), waitable) : waitable
    } finally {
      actor.sends = actor.receives = []
    }
  }

  const acts = {
    *computes() {
      host.advance(GRAIN * random.integer(0, 4))
      yield
    },

    *sleeps() {
      yield sleep(GRAIN * random.integer(0, 8))
    },

    /** @param {Actor} actor */
    *sends(actor) {
      const link = random.pick(links)
      const message = newMessage(actor, link)
      yield* waits(actor, link.channel.send(message), { sends: [link] })
      sent(message)
    },

    /** @param {Actor} actor */
    *receives(actor) {
      const link = random.pick(links)
      received(actor.name, link, yield* waits(actor, link.channel.receive(), { receives: [link] }))
    },

    /** @param {Actor} actor */
    *offers(actor) {
      const link = random.pick(links)
      const message = newMessage(actor, link)
      if (!link.channel.offer(message)) return
      sent(message)
      const hadNoRoom = message.wasFull && link.size > 0 && link.overflow !== 'slide'
      if (hadNoRoom) note(`${show(message)} was taken without room`)
    },

    /** @param {Actor} actor */
    *polls(actor) {
      const link = random.pick(links)
      const message = link.channel.poll()
      if (message !== undefined) received(actor.name, link, message)
    },

    /** @param {Actor} actor */
    *chooses(actor) {
      seen.choices++
      /** @type {Link[]} */
      const sends = []
      /** @type {Link[]} */
      const receives = []
      /** The notes to take, by the index of the chosen guard. @type {((value: any) => void)[]} */
      const happened = []
      /** A send or a receive as a guard. @param {boolean} isOpen @returns {[any, (value: any) => void]} */
      const end = isOpen => {
        const link = random.pick(links)
        const isSend = random.chance(0.5)
        if (isOpen) (isSend ? sends : receives).push(link)
        if (!isSend) return [link.channel.receive(), value => received(actor.name, link, value)]
        const message = newMessage(actor, link)
        return [link.channel.send(message), () => sent(message)]
      }
      const guards = Array.from({ length: random.integer(1, 4) }, (_, place) => {
        const link = random.pick(links)
        const when = place === 0 || random.chance(0.9)
        const kind = random.weighted({
          send: 4, receive: 4, end: 1, timed: 0.5, nested: 1, timeout: 0.5, skip: 0.3
        })
        happened.push(() => {})
        switch (kind) {
          case 'send': {
            if (when) sends.push(link)
            const message = newMessage(actor, link)
            happened[place] = () => sent(message)
            return { send: link.channel, value: message, when }
          }
          case 'receive':
            if (when) receives.push(link)
            happened[place] = message => received(actor.name, link, message)
            return { receive: link.channel, when }
          case 'end':
          case 'timed': {
            const [wait, happens] = end(when)
            happened[place] = happens
            return { wait: kind === 'end' ? wait : timeout(GRAIN * random.integer(0, 8), wait), when }
          }
          case 'nested': {
            const ends = Array.from({ length: random.integer(1, 3) }, () => end(when))
            happened[place] = ({ index, value }) => ends[index][1](value)
            return { wait: choice(ends.map(([wait]) => ({ wait })), { fair: random.chance(0.5) }), when }
          }
          case 'timeout':
            return { timeout: GRAIN * random.integer(0, 8), when }
        }
        return { skip: true, when }
      })
      const chosen = choice(/** @type {any} */ (guards), { fair: random.chance(0.5) })
      const { index, value } = yield* waits(actor, chosen, { sends, receives })
      happened[index](value)
    },

    /** @param {Actor} actor */
    *choosesToAct(actor) {
      if (blocking.length === 0) return
      // With a timeout, the action runs in a separate job, which can receive after this job continues.
      const receiver = `${actor.name}'${actor.made}`
      const guards = Array.from({ length: random.integer(1, 3) }, () => {
        const link = random.pick(blocking)
        if (random.chance(0.5)) {
          const action = function* (/** @type {Message} */ message) {
            received(receiver, link, message)
            yield
          }
          return { receive: link.channel, action }
        }
        const message = newMessage(actor, link)
        return { send: link.channel, value: message, action: () => sent(message) }
      })
      yield* waits(actor, choice(guards), {})
    },

    /** @param {Actor} actor */
    *iterates(actor) {
      const link = random.pick(links)
      const each = random.chance(0.5)
        ? (/** @type {Message} */ message) => { received(actor.name, link, message) }
        : function* (/** @type {Message} */ message) {
            received(actor.name, link, message)
            actor.receives = []
            yield* acts.computes()
            actor.receives = [link]
          }
      actor.receives = [link]
      try {
        yield link.channel.forEach(each)
        if (!link.channel.closed) note(`${actor.name} has come to the end of an open channel`)
      } finally {
        actor.receives = []
      }
    },

    /** @param {Actor} actor */
    *multiplies(actor) {
      const children = ['a', 'b'].map(letter => newActor(`${actor.name}${letter}${actor.made++}`))
      actors.push(...children)
      yield par(...children.map(child => () => live(child, 2)))
    },

    *closes() {
      if (!random.chance(closes)) return
      random.pick(links).channel.close(random.pick([undefined, 'reason', new Error('broken')]))
    }
  }

  /** @param {Actor} actor @param {number} most */
  function* live(actor, most) {
    actor.job ??= /** @type {any} */ (schedulers.find(({ current }) => current !== null)).current
    const lasts = random.chance(0.2)
    try {
      for (let n = random.integer(1, most); n > 0; n--) {
        const kind = random.weighted({
          computes: 2, sleeps: 1, sends: 6, receives: 6, offers: 1, polls: 1, chooses: 6, choosesToAct: 2,
          iterates: 0.3, multiplies: most > 2 ? 0.4 : 0, closes: 1
        })
        try {
          yield* acts[kind](actor)
        } catch (error) {
          if (error instanceof TimeoutError) seen.timeouts++
          else if (error instanceof ChannelError) seen.refused++
          else throw error
        }
      }
    } finally {
      // Even a cancelled job can still send or receive.
      if (lasts) {
        try {
          yield* random.chance(0.5) ? acts.sends(actor) : acts.receives(actor)
        } catch (error) {
          if (!(error instanceof TimeoutError || error instanceof ChannelError)) throw error
        }
      }
    }
  }

  for (let count = random.integer(2, 8), index = 0; index < count; index++) {
    const actor = newActor(`j${index}`)
    actors.push(actor)
    const scheduler = random.pick(schedulers)
    const job = actor.job = scheduler.spawn(() => live(actor, 8), {
      name: actor.name,
      priority: random.integer(0, 3),
      deadline: random.pick([5, 10, 20, 20, Infinity]),
      release: random.chance(0.4) ? 0 : GRAIN * random.integer(0, 30)
    })
    job.catch(() => {})
    for (let n = random.chance(cancels) ? random.integer(1, 2) : 0; n > 0; n--) {
      after(GRAIN * random.integer(0, 60), () => { job.cancel(new Error('cancelled')) }, { scheduler })
    }
  }
  for (let n = random.integer(0, 4); n > 0; n--) {
    host.after(GRAIN * random.integer(0, 60), () => {
      const act = acts[random.pick(['offers', 'polls', 'closes'])]
      for (const _ of act(outside)) note('offer and poll do not wait')
    })
  }

  /** Checks that no job waits although its message or its partner is available. */
  function checkWaiters() {
    const waiting = actors.filter(({ job }) => job?.state === 'waiting')
    seen.waiting += waiting.length
    for (const link of links) {
      const { channel, size, overflow } = link
      const senders = waiting.filter(({ sends }) => sends.includes(link))
      const receivers = waiting.filter(({ receives }) => receives.includes(link))
      const left = (/** @type {Actor[]} */ list) => `${list.map(({ name }) => name)} left at ${channel.name}`
      if (senders.some(sender => receivers.some(receiver => receiver !== sender))) {
        note(`${left(senders)} do not meet ${left(receivers)}`)
      }
      if (receivers.length > 0 && channel.length > 0) note(`${left(receivers)}, which is not empty`)
      if (senders.length > 0 && channel.length < size) note(`${left(senders)}, which has room`)
      if (senders.length > 0 && overflow !== 'block') note(`${left(senders)}, which blocks nobody`)
      const both = [...senders, ...receivers]
      if (channel.closed && both.length > 0) note(`${left(both)}, which is closed`)
    }
  }

  /** Checks that each accepted message was received once, is kept, or was dropped by the overflow rule. */
  function checkMessages() {
    for (const link of links) {
      const { channel, size, overflow } = link
      /** @type {Set<Message>} */
      const kept = new Set()
      for (let message = channel.poll(); message !== undefined; message = channel.poll()) kept.add(message)
      const own = messages.filter(message => message.link === link)
      for (const message of own) {
        const isThere = message.receivers.length > 0 || kept.has(message)
        if (!message.isSent && isThere) note(`${show(message)} has arrived, its sender does not know`)
        if (message.receivers.length > 0 && kept.has(message)) note(`${show(message)} was received and kept`)
      }
      const accepted = own.filter(({ isSent }) => isSent)
      const lost = accepted.filter(message => message.receivers.length === 0 && !kept.has(message))
      const surplus = accepted.filter(({ wasFull }) => wasFull)
      seen.kept += kept.size
      seen.lost += lost.length
      if (overflow === 'block') {
        for (const message of lost) note(`${show(message)} is lost`)
      } else if (size === 0) {
        for (const message of lost) {
          if (message.wasAwaited) note(`${show(message)} is lost, a receiver waited`)
        }
      } else if (overflow === 'drop') {
        for (const message of accepted) {
          const { wasFull } = message
          if (lost.includes(message) !== wasFull) note(`${show(message)}: lost is not ${wasFull}`)
        }
      } else {
        if (lost.length !== surplus.length) {
          note(`${channel.name} has lost ${lost.length} messages, ${surplus.length} did not fit`)
        }
        // No sender waits on this channel, so messages were accepted in the order of their creation.
        const newest = accepted.slice(accepted.length - kept.size)
        if (!newest.every(message => kept.has(message))) note(`${channel.name} keeps others than the newest`)
      }
    }
  }

  const text = () => [...traces.map(trace => trace.text()), ...account].join('\n')

  return {
    seen,
    text,
    run() {
      host.run()
      checkWaiters()
      for (const { channel } of links) channel.close()
      host.run()
      for (const { name, job } of actors) {
        if (job === null) continue // the job was cancelled before its start
        if (!ENDED.includes(job.state)) note(`${name} never ended: ${job.state}`)
        else if (job.state === 'failed') note(`${name} failed`)
        else if (job.state === 'cancelled') seen.cancelled++
      }
      checkMessages()
      if (host.errors.length > 0) note(`reported: ${host.errors.join(', ')}`)
      if (violations.length > 0) throw new Error(`${violations.slice(0, 5).join('\n')}\n\n${text()}`)
    }
  }
}
