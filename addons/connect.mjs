/**
 * addons/connect.mjs: channels to other threads, processes and machines.
 *
 *   connect(endpoint, name)         a channel over a Worker, a port, a socket, ...
 *   connect(() => endpoint, name)   a channel that outlives its endpoints: over a session
 *   accept(endpoint, work)          the passive side of sessions
 *
 * Words:
 * - frame: a message of the protocol, an array. The comment at VERSION explains the protocol
 * - wire: one end of an external channel, an ExternalChannel. It has a peer, the other end
 * - link: the wires of one endpoint
 * - session: a link over one endpoint after another. It numbers its frames, and keeps them until they are
 *   acknowledged
 * - treatment: how an endpoint changes messages: it clones them, takes bytes, or takes text
 * - flight, held: the message that is out, and the message that no receiver has come for yet
 *
 *   send -> wire -> link -> transport -> endpoint ~~~ endpoint -> transport -> link -> wire -> receive
 *
 * Invariants:
 * 1. Each wire has at most one message out. Its sender resumes when a receiver at the peer got the message.
 * 2. A choice sends a message only after it is decided, so none of its other guards can commit any more.
 * 3. A frame that does not fit changes nothing; `rejected` counts it.
 * 4. Over a session, each frame arrives exactly once and in order, however many endpoints are cut.
 * 5. When the peer ends, every waiting operation fails with a ChannelError.
 *
 * @module connect
 */

import { extend } from '../rt.mjs'
import { Channel, ChannelError, End, NOTHING, withSignal } from '../sync.mjs'
import {
  NONE, bytesOf, decoding, encoded, isBytes, isCount, joined, kindOf, unpacked
} from './internal/bytes.mjs'
import { Transport, anArray, transferring } from './internal/endpoints.mjs'
import { PROTOCOL, isLife, lifeOfThread, randomId, whenReleased } from './internal/threads.mjs'
/** @import { Awaitable, Scheduler } from '../rt.mjs' */
/** @import { WaitOptions } from '../sync.mjs' */

const { WaitQueue, check, here } = extend

/**
 * A channel to another thread, process or machine: both sides connect the same name over their ends of one
 * endpoint, in any order, as many names as they like. The rendezvous is kept: a send is over when the message
 * has been received at the other side. `choice` works on both ends.
 *
 * ```js
 * // page                                             // worker.mjs
 * const worker = new Worker('worker.mjs', ...)        const lines = connect(self, 'lines')
 * const lines = connect(worker, 'lines')              rt.spawn(() => lines.forEach(draw))
 * rt.spawn(function* () {
 *   for (const line of all) yield lines.send(line)
 *   lines.close()
 * })
 * ```
 *
 * The endpoint: a Worker, the global scope of one, a MessagePort, a BroadcastChannel (two ends per name), a
 * WebSocket, an RTCDataChannel, one of Node's workers, ports, child processes or cluster workers, `process`,
 * a socket of socket.io; anything with `postMessage`, `send` or `emit`, and with `addEventListener` or `on`.
 * It stays yours: other messages pass by, and it is not closed. The `binaryType` of a socket is set to
 * 'arraybuffer'. Between Node's processes `serialization: 'advanced'` spares binary messages the way through
 * text. An open channel listens to its endpoint, which keeps Node alive as listening does; closing the last
 * one ends that.
 *
 * When the other side closes, ends or crashes, whatever waits fails with a ChannelError, at both ends. That a
 * worker, a port's other side or a page has ended is known from a Web Lock that each thread holds, since
 * browsers send no event for it; so not in pages without a secure context, nor across origins. Node sends
 * events; but none for a BroadcastChannel. A peer that hangs is no dead one: use a timeout.
 *
 * A function as the endpoint makes a channel that outlives it: when one ends, or is silent, the function
 * opens the next, after a pause that grows. What was sent and not received is sent again, so every message
 * arrives once and in order, whatever is cut; `send` and `close` just take longer. Such endpoints are not
 * yours: they are closed when they are replaced, and after the last channel. The other side has such a
 * function too, or `accept`s what is opened. Channels fail when the other side is silent for `timeout` (the
 * `reason` is 'timeout') or does not know the session, since it was started anew ('restarted').
 *
 * ```js
 * const lines = connect(() => new WebSocket(url), 'lines')
 * ```
 *
 * @template [T=unknown]
 * @param {any} endpoint or a function that returns the next one, a promise of it, or null when there is none
 *   now
 * @param {string} name up to 1000 characters
 * @param {SessionOptions} [options] of the first channel over a function
 * @returns {ExternalChannel<T>} the same one while it is open
 * @throws {TypeError | RangeError} naming the parameter
 */
export function connect(endpoint, name, options = {}) {
  check.text('name', name)
  if (name.length > LONGEST_NAME) throw check.outOfRange('name', `at most ${LONGEST_NAME} characters long`, name)
  check.options(options, SESSION)
  const known = links.get(endpoint)
  const link = known === undefined || known.isFree ? linkOver(endpoint, options) : known
  return link.connect(name)
}

/**
 * The side that does not open endpoints: finds out which session an endpoint belongs to, by the first it
 * says. One that goes on gets it; with one that begins `work` is called.
 *
 * ```js
 * server.on('connection', socket => accept(socket, session => hub.join(connect(session, 'say'))))
 * ```
 *
 * Who knows the random number of a session, of 52 bits, can take it over: carry it over what others cannot
 * read.
 *
 * @param {any} endpoint as those of `connect`; it is closed when another one takes its place, or the session
 *   ends
 * @param {(session: any) => void} work gets an endpoint for `connect`, which lasts as long as the session; of
 *   a side that keeps none, `endpoint` itself
 * @param {SessionOptions} [options]
 * @throws {TypeError | RangeError} naming the parameter
 */
export function accept(endpoint, work, options = {}) {
  check.callable('work', work)
  check.options(options, SESSION)
  const transport = new FrameTransport(endpoint)
  new Session(null, options, work).use(transport)
}

const SESSION = { timeout: check.positive, heartbeat: check.interval, retry: check.interval, scheduler: check.scheduler }

/**
 * @param {any} endpoint or a function that opens it @param {SessionOptions} options
 * @throws {TypeError | RangeError}
 */
function linkOver(endpoint, options) {
  if (typeof endpoint !== 'function') return new Link(endpoint, new FrameTransport(endpoint))
  const session = new Session(endpoint, options)
  session.dial()
  if (session.refusal !== null) throw session.refusal
  return session
}

const SEND = { transfer: anArray, signal: check.signal }

// --------------------------------------------------------------------------------------------- the protocol

/**
 * The protocol between two ends of a channel. The directions are independent: receivers at one end get the
 * messages of the other end. A frame is an array. Its first three elements, and all elements of HELLO, are
 * the same in every version:
 *
 *   ['rt.mjs', version, HELLO, to, from, name, life, probe]  to 0: any end of that name; else an answer
 *   ['rt.mjs', version, DATA, to, number, kept, message]     kept: 1 if offered, so never withdrawn
 *   ['rt.mjs', version, DONE, to, number, wanted, problem]   it has been received, or withdrawn
 *   ['rt.mjs', version, WITHDRAW, to, number]                drop it, if it has not been received
 *   ['rt.mjs', version, ASK, to]                             from now on send WANT
 *   ['rt.mjs', version, WANT, to, wanted]                    whether a receiver waits
 *   ['rt.mjs', version, CLOSE, to, from, given, reason]      given: 1 if there is a reason
 *   ['rt.mjs', version, REFUSE, to]                          the name is taken
 *
 * `version` is a byte, `to` and `from` are random numbers that ends choose when they are made, `number`
 * counts the messages of one direction from 1. `life` names a Web Lock that the sender's thread holds as long
 * as it lives; `probe` shows by what becomes of it how the endpoint treats messages.
 *
 * Rendezvous: a message is sent immediately and held at the other end until a job receives it. Then DONE
 * resumes the sender. Each direction has at most one such message, which is the backpressure.
 *
 * A choice must not send before it is decided. So the guards of an end ASK, and a guard commits when the
 * other end has answered that a receiver waits. Then the message is sent, the choice drops its other guards,
 * and DONE settles it. If that receiver has left since, the next receiver gets the message.
 *
 * Who abandons a send whose message is out, by cancellation or timeout, cannot know whether it arrives: the
 * WITHDRAW may come too late. It is received once or not at all; and so it is for who closes a channel whose
 * message is out.
 *
 * Frames that do not fit, of another kind, number or addressee than could have come, change nothing;
 * `channel.rejected` counts them. Messages on the same endpoint that are no frames are left to others.
 *
 * An endpoint that clones what it carries gets frames as they are. Any other one gets their bytes
 * (internal/bytes.mjs) after 'rt.mjs', the version, and a byte that is 0: all in one message while they are
 * few, else each buffer in messages of its own; as a text in base64 where bytes do not survive. Which of
 * these it is shows at the HELLO, which goes out as it is but to sockets. The first message tells how long
 * those are that follow; one of another length ends the frame, and is looked at by itself.
 */
const VERSION = 1

const HELLO = 1
const DATA = 2
const DONE = 3
const WITHDRAW = 4
const ASK = 5
const WANT = 6
const CLOSE = 7
const REFUSE = 8
// Of sessions.
const JOIN = 9
const NEXT = 10
const HEARD = 11
const OVER = 12
/** What shows how an endpoint treats frames. */
const GREETINGS = [HELLO, JOIN]

/** Where a frame that has a message has it. */
const MESSAGE_AT = 6
/** Stands for a message that could not be read, or a kind. */
const UNREADABLE = /* @__PURE__ */ Symbol('unreadable')

// ------------------------------------------------------------------------------------------ channels: wires

/** Sends a message to the peer: it takes time, so it goes out when it is entered. */
class ExternalSend extends End {
  /** @param {ExternalChannel<any>} channel @param {any} message @param {any[] | undefined} transfer */
  constructor(channel, message, transfer) {
    super(channel, true, message)
    this.external = channel
    this.transfer = transfer
  }
  get commits() { return this.external.mayCommit }
  try() {
    const { closing } = this.external
    return closing !== null && this.reject(closing)
  }
  enter() {
    this.external.enterSend(this, this.waiter)
  }
  leave() {
    super.leave()
    this.external.withdraw(this)
  }
}

/** Receives a message of the peer. */
class ExternalReceive extends End {
  /** @param {ExternalChannel<any>} channel */
  constructor(channel) {
    super(channel, false, undefined)
    this.external = channel
  }
  enter() {
    super.enter(null)
    this.external.announce()
  }
  leave() {
    super.leave()
    if (!this.external.closed) this.external.announce()
  }
}

/**
 * One end of a channel between threads, processes or machines. It is used like any other channel, with these
 * differences: what one end sends, receivers at the other end get, so that both may send; `offer` succeeds
 * when all that was sent before has been received, and then its message waits at the other end.
 *
 * @template [T=unknown]
 * @extends {Channel<T>}
 */
class ExternalChannel extends Channel {
  /** @internal */
  id = randomId()
  /** @internal the other end; 0 as long as it has not been heard */
  peer = 0
  /** @internal the lock that the other end's thread holds */
  life = ''
  /** Whether the other end has been heard since. */
  #isAnswered = false

  // Out:
  /** Sends of choices, which must not go out before they are decided. */
  #guards = new WaitQueue()
  /** Whether a guard was the last to go. */
  #wasGuard = false
  #sent = 0
  /**
   * While the last of that is out; null in it when nobody waits for the answer.
   *
   * @type {{ send: ExternalSend | null } | null}
   */
  #flight = null
  #isAsking = false
  /** Whether somebody waits at the other end. */
  #isWanted = false

  // In:
  #received = 0
  /** The last of that, while nobody has come for it. @type {{ message: any, kept: boolean } | null} */
  #held = null
  /** Whether the other end asks what is wanted. */
  #isAsked = false
  /** What it has been told. */
  #saidWanted = false

  /** @internal @param {Link} link @param {string} name */
  constructor(link, name) {
    super(0, { name })
    /** @internal */
    this.link = link
  }

  get length() { return this.#held?.kept ? 1 : 0 }
  /** @internal */
  get isExternal() { return true }
  /** How many frames at this endpoint were malformed, or could not have come; they have changed nothing. */
  get rejected() { return this.link.rejected }

  /**
   * @param {T} message what structured clone can copy. Buffers of 64 KiB and more, and what can only be
   *   transferred, are transferred where the endpoint can: the message itself, or its elements or properties.
   *   The sender has them no more.
   * @param {{ transfer?: any[], signal?: AbortSignal }} [options] `transfer`: exactly what to transfer; `[]`
   *   copies. `signal`: ends the wait
   * @returns {Awaitable<void>} over when it has been received; fails with a ChannelError when the other side
   *   closes or dies before, with a DataCloneError when it cannot be cloned
   * @throws {TypeError} when `transfer` is no array
   */
  send(message, options = {}) {
    const { transfer, signal } = check.options(options, SEND)
    const send = new ExternalSend(this, message, transfer)
    if (signal !== undefined) send.signal = signal
    return /** @type {any} */ (send)
  }
  /** @param {WaitOptions} [options] @returns {Awaitable<T>} */
  receive(options) {
    return withSignal(new ExternalReceive(this), options)
  }

  /** @internal */
  get isConnected() { return this.peer !== 0 && this.link.isOpen }

  /** @internal @param {number} to who has said hello; 0 when nobody has */
  hello(to) {
    const { link } = this
    link.send([PROTOCOL, VERSION, HELLO, to, this.id, this.name, link.life, probe()])
  }

  /** @param {number} kind @param {...any} rest */
  #tell(kind, ...rest) {
    this.link.send([PROTOCOL, VERSION, kind, this.peer, ...rest])
  }

  /**
   * @internal an end of this name is there @param {number} from @param {string} life
   * @param {boolean} isAnswer to our own hello
   */
  meet(from, life, isAnswer) {
    const { link } = this
    if (this.peer === from) {
      this.#isAnswered = true
    } else if (this.peer === 0) {
      this.peer = from
      this.life = life
      this.#isAnswered = isAnswer
      if (!isAnswer) this.hello(from)
      link.watch(life)
      this.pump()
    } else if (link.isBroadcast) {
      link.send([PROTOCOL, VERSION, REFUSE, from])
    } else {
      this.lose('the other side has connected anew')
    }
  }

  /** @internal @param {any[]} frame addressed to it @returns {boolean} whether it was one that could come */
  handle([, , kind, , number, flag, content]) {
    if (this.peer === 0 && kind !== REFUSE) return false
    switch (kind) {
      case DATA:
        return number === this.#received + 1 && this.#held === null && (flag === 0 || flag === 1) &&
          this.#arrive(flag === 1, content)
      case DONE:
        return this.#flight !== null && number === this.#sent && typeof flag === 'boolean' &&
          this.#done(this.#flight, flag, content)
      case WITHDRAW:
        if (this.#held === null || number !== this.#received) return isCount(number) && number <= this.#received
        this.#held = null
        this.#finish()
        return true
      case ASK:
        this.#isAsked = true
        this.#saidWanted = false
        this.announce()
        return true
      case WANT:
        if (typeof number !== 'boolean') return false
        this.#isWanted = number
        this.pump()
        return true
      case CLOSE:
        if (number !== this.peer || flag !== 0 && flag !== 1) return false
        this.end('was closed by the other side', flag === 0 || content === UNREADABLE ? undefined : content)
        return true
      case REFUSE:
        if (!this.link.isBroadcast || this.#isAnswered) return false
        this.lose('the name is taken: over a BroadcastChannel a channel has two ends')
        return true
    }
    return false
  }

  // --- out

  /** @internal sends what may go out */
  pump() {
    while (this.isConnected && this.#flight === null) {
      const mayGuard = this.#isWanted && this.#guards.size > 0
      const isGuard = mayGuard && (this.senders.size === 0 || !this.#wasGuard)
      const queue = isGuard ? this.#guards : this.senders
      const send = /** @type {ExternalSend | null} */ (queue.shift())
      if (send === null) break
      if (isGuard) send.commit()
      this.#wasGuard = isGuard
      this.#launch(send)
    }
    if (this.#guards.size > 0) this.#ask()
  }

  #ask() {
    if (this.#isAsking || !this.isConnected) return
    this.#isAsking = true
    this.#tell(ASK)
  }

  /** @param {ExternalSend} send */
  #launch(send) {
    try {
      this.#post(send.message, send, send.transfer)
    } catch (error) {
      send.fail(error)
    }
  }

  /** @param {any} message @param {ExternalSend | null} send @param {any[]} [transfer] */
  #post(message, send, transfer) {
    const frame = [PROTOCOL, VERSION, DATA, this.peer, this.#sent + 1, send === null ? 1 : 0, message]
    this.#flight = { send }
    try {
      this.link.sendMessage(frame, transfer)
      this.#sent++
    } catch (error) {
      this.#flight = null
      throw error
    }
  }

  /**
   * @param {{ send: ExternalSend | null }} flight @param {boolean} wanted @param {unknown} problem
   * @returns {true}
   */
  #done({ send }, wanted, problem) {
    this.#flight = null
    this.#isWanted = wanted
    if (problem === undefined || problem === null) send?.wake()
    else send?.fail(new ChannelError(`${this.name}: the other side could not read the message`))
    this.pump()
    return true
  }

  /** @internal whether a branch of a choice commits if it is entered now @returns {boolean} */
  get mayCommit() {
    return this.closing === null && this.#flight === null && this.isConnected && this.#isWanted
  }

  /**
   * Sends, unless the message before has not been received yet.
   *
   * @param {any} message @returns {boolean}
   */
  offer(message) {
    if (this.closing !== null || this.#flight !== null || !this.isConnected) return false
    this.#post(message, null)
    return this.closing === null
  }

  // --- in

  /** @param {boolean} kept @param {any} message @returns {boolean} */
  #arrive(kept, message) {
    this.#received++
    if (message === UNREADABLE) {
      this.#finish('unreadable')
      return false
    }
    const receive = this.receivers.shift()
    if (receive === null) {
      this.#held = { message, kept }
      return true
    }
    // First of all the answer, which somebody waits for.
    this.#finish()
    receive.wake(message)
    return true
  }

  /** Says that the last message is over. @param {...string} problem */
  #finish(...problem) {
    this.#saidWanted = this.receivers.size > 0
    this.#tell(DONE, this.#received, this.#saidWanted, ...problem)
  }

  /**
   * @internal says whether somebody waits to receive, to an end that asks and does not know
   * @param {boolean} [isWanted]
   */
  announce(isWanted = this.#held === null && this.receivers.size > 0) {
    if (!this.#isAsked || isWanted === this.#saidWanted || this.link.isFull) return
    this.#saidWanted = isWanted
    this.#tell(WANT, isWanted)
  }

  /** @returns {any} what is held */
  next() {
    if (this.#held === null) return NOTHING
    const { message } = this.#held
    this.#held = null
    if (this.closing === null) this.#finish()
    return message
  }

  poll() {
    // Who polls will do so again: a choice at the other end may send to it.
    if (this.#held === null && this.closing === null) this.announce(true)
    return super.poll()
  }

  // --- both

  /**
   * @internal @param {ExternalSend} send @param {any} waiter a choice must not send before it has committed
   */
  enterSend(send, waiter) {
    const queue = waiter.isBranch === true ? this.#guards : this.senders
    queue.push(send)
    this.pump()
  }
  /** @internal @param {ExternalSend} send no longer waited for */
  withdraw(send) {
    if (this.#flight?.send !== send) return
    this.#flight.send = null
    this.#tell(WITHDRAW, this.#sent)
  }

  /** @param {unknown} reason @returns {boolean} */
  close(reason) {
    if (this.closing !== null) return false
    const { link } = this
    // To 0 before it is connected: its hello may have been heard.
    const frame = [PROTOCOL, VERSION, CLOSE, this.peer, this.id]
    try {
      if (reason === undefined || !this.isConnected) link.send([...frame, 0])
      else link.sendMessage([...frame, 1, reason])
    } catch {
      link.send([...frame, 0])
    }
    return super.close(reason)
  }

  /** @internal @param {string} why @param {unknown} [reason] */
  lose(why, reason) {
    this.endWith(new ChannelError(`${this.name}: ${why}`, reason), true)
  }

  /** @internal @param {ChannelError} error @param {boolean} hasFailed */
  endWith(error, hasFailed) {
    if (this.closing !== null) return
    this.closing = error
    const send = this.#flight?.send
    this.#flight = null
    // The sender learns that it failed, unless it was an offer.
    if (this.#held !== null && !this.#held.kept) this.#held = null
    this.link.forget(this)
    send?.fail(error)
    for (let guard = this.#guards.shift(); guard !== null; guard = this.#guards.shift()) guard.fail(error)
    super.endWith(error, hasFailed)
  }
}

// ---------------------------------------------------------------------------------------------------- links

/** Links by endpoint, by the function that opens theirs, or by themselves. @type {WeakMap<object, Link>} */
const links = /* @__PURE__ */ new WeakMap()

const LONGEST_NAME = 1000

/** Whether a frame is being posted: what endpoints without delay bring in the midst of that has to wait. */
let posting = false

/** A transport for frames, also over sockets. Workers, which post objects, use none. */
class FrameTransport extends Transport {
  /** @param {any} endpoint @throws {TypeError} when it is none */
  constructor(endpoint) {
    super(endpoint)
    // An RTCDataChannel has null or undefined where it has no limit.
    if (endpoint.ordered === false || typeof (endpoint.maxRetransmits ?? endpoint.maxPacketLifeTime) === 'number') {
      throw check.wrongType('endpoint', 'ordered and reliable', endpoint)
    }
    this.isSocket = this.way === 'send' && ('binaryType' in endpoint || 'readyState' in endpoint)
    /** The most bytes of a message. */
    this.most = 'maxPacketLifeTime' in endpoint ? SHORT : Infinity
  }

  /** 0 while it connects, 1 when it is open, more when it is not any more. */
  get state() {
    const { readyState = 1 } = this.endpoint
    return typeof readyState === 'number' ? readyState : ['connecting', 'open', 'closing', 'closed'].indexOf(readyState)
  }

  /** @param {Link} link */
  listen(link) {
    // A Blob could only be read later, after frames that come after it.
    if (this.isSocket && 'binaryType' in this.endpoint) this.endpoint.binaryType = 'arraybuffer'
    this.add('open', () => link.open())
    super.listen(link)
  }
}

/** Carries the channels of one endpoint. */
class Link {
  /** @type {Map<string, ExternalChannel<any>>} */
  #byName = new Map()
  /** @type {Map<number, ExternalChannel<any>>} */
  #byId = new Map()
  /** How many arrived while a frame was posted, and have not been looked at. */
  #late = 0
  /** Reads a frame of which messages are missing. @type {ReturnType<typeof decoding> | null} */
  #reading = null
  /** What ends the watch on a life. @type {Map<string, AbortController>} */
  #watches = new Map()
  isOpen = false
  isOver = false
  /** Whether another link may take its place. */
  isFree = false
  /** @type {FrameTransport | null} */
  transport = null
  /** The life of this thread; null until that is known. @type {string | null} */
  life = null
  /** How the endpoint treats frames; null until the other side has been heard. @type {string | null} */
  treatment = null
  rejected = 0

  /** @param {object | null} key what it is found by; null: itself @param {FrameTransport} [transport] */
  constructor(key, transport) {
    links.set(key ?? this, this)
    if (transport) this.use(transport)
  }

  /** @param {FrameTransport} transport */
  use(transport) {
    this.transport = transport
    this.treatment = transport.isSocket ? TAKES_BYTES : null
    this.#reading = null
    transport.listen(this)
    if (transport.state > 1) this.gone('closed')
    else if (transport.isSilent && this.life === null) lifeOfThread().then(life => this.open(life))
    else this.open('')
  }

  get wires() { return [...this.#byName.values()] }
  /** Whether more is out than is good. */
  get isFull() { return false }
  /** Whether a name may have more ends than two. */
  get isBroadcast() { return this.transport?.kind === 'BroadcastChannel' }

  open(life = this.life) {
    this.life = life
    if (this.isOpen || this.isOver || this.life === null || this.transport?.state !== 1) return
    this.isOpen = true
    for (const wire of this.wires) {
      wire.hello(wire.peer)
      wire.pump()
    }
  }

  /** @param {string} name @returns {ExternalChannel<any>} */
  connect(name) {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const wire = new ExternalChannel(this, name)
    this.#byName.set(name, wire)
    this.#byId.set(wire.id, wire)
    if (this.isOver) wire.lose('the other side has gone')
    else wire.hello(0)
    return wire
  }

  /** @param {ExternalChannel<any>} wire */
  forget(wire) {
    if (!this.#byId.delete(wire.id)) return
    this.#byName.delete(wire.name)
    if (this.#byId.size === 0 && !this.isOver) this.close()
  }

  /** All channels have been closed. */
  close() {
    this.isFree = true
    this.end()
  }
  end() {
    this.isOver = true
    this.transport?.unlisten()
    for (const watch of this.#watches.values()) watch.abort()
  }

  /** A message could not be read. Nobody knows whose it was, so nobody may wait for its answer. */
  closeUnreadable() {
    for (const wire of this.wires) wire.close(new ChannelError(`${wire.name}: a message could not be read`))
  }

  /** The other side has ended or is out of reach. @param {string} why @param {unknown} [reason] */
  gone(why, reason) {
    // It will not say so again; but sockets of socket.io connect again.
    this.isFree ||= this.transport?.way === 'emit' || this.transport?.endpoint.connected === true
    this.fail(why, reason)
  }

  /** @param {string} why @param {unknown} [reason] */
  fail(why, reason) {
    const { wires } = this
    this.end()
    for (const wire of wires) wire.lose(`the other side has gone (${why})`, reason)
  }

  /** Fails the channels whose other ends live as long as a lock is held. @param {string} life */
  watch(life) {
    if (life === '' || life === this.life || this.#watches.has(life)) return
    const watch = new AbortController()
    this.#watches.set(life, watch)
    const ended = () => {
      if (!this.isBroadcast) return this.gone('its thread has ended')
      const lost = this.wires.filter(wire => wire.life === life)
      for (const wire of lost) wire.lose('the other side has gone (its thread has ended)')
    }
    whenReleased(life, ended, { signal: watch.signal, mayBeForeign: this.transport?.kind === 'MessagePort' })
  }

  // --- out

  /** @param {any[]} frame without a message */
  send(frame) {
    // As soon as it is open, all of its ends say hello; before, nobody has heard of them.
    if (this.isOver || !this.isOpen) return
    try {
      this.post(frame)
    } catch (error) {
      this.gone('nothing can be sent', error)
    }
  }

  /**
   * @param {any[]} frame with a message
   * @param {any[]} [transfer] by default what is large
   * @throws {DOMException | Error} what the endpoint says to it, as that it cannot be cloned; nothing is sent
   *   then
   */
  sendMessage(frame, transfer) {
    const mayTransfer = this.treatment === CLONES && !this.isBroadcast && this.transport?.way === 'postMessage'
    transferring([frame[MESSAGE_AT]], mayTransfer ? transfer : NONE, chosen => this.post(frame, chosen))
  }

  /** @param {any[]} frame @param {any[]} [transfer] */
  post(frame, transfer) {
    const { treatment } = this
    const transport = /** @type {FrameTransport} */ (this.transport)
    // It may say so itself only later, and complain to the console of what is sent meanwhile.
    if (transport.state > 1) return this.gone('closed')
    const asItIs = treatment === null || treatment === CLONES || GREETINGS.includes(frame[2]) && !transport.isSocket
    const outer = posting
    posting = true
    try {
      if (asItIs) transport.post(frame, transfer)
      else if (treatment === TAKES_TEXT) transport.post(toBase64(joined([...messagesOf(frame, Infinity)])))
      else for (const message of messagesOf(frame, transport.most)) transport.post(message)
    } finally {
      posting = outer
    }
  }

  // --- in

  /** @param {any} message */
  receive(message) {
    if (!posting && this.#late === 0) return extend.event(() => this.#take(message))
    this.#late++
    queueMicrotask(() => {
      this.#late--
      this.#take(message)
    })
  }

  /** @param {any} message @returns {void} */
  #take(message) {
    if (this.isOver) return
    const isRest = this.#reading !== null
    let frame = null
    try {
      const bytes = bytesIn(message)
      if (Array.isArray(message)) frame = message[0] === PROTOCOL ? message : null
      else if (bytes !== null && (isRest || startsFrame(bytes))) frame = this.#decode(bytes)
    } catch {
      this.#reading = null
      this.rejected++
      if (isRest) return this.#take(message) // it may well be the next
    }
    if (frame !== null && !this.handle(frame)) this.rejected++
  }

  /**
   * @param {Uint8Array} bytes of a message @returns {any[] | null} null as long as some are missing
   * @throws {Error} when it is none
   */
  #decode(bytes) {
    const version = bytes[PREFIX.length - 2]
    if (this.#reading === null && version !== VERSION) return [PROTOCOL, version, UNREADABLE]
    const { most } = /** @type {FrameTransport} */ (this.transport)
    this.#reading ??= decoding(bytes.subarray(PREFIX.length), most)
    const { done, value } = this.#reading.next(bytes)
    if (!done) return null
    this.#reading = null
    return frameOf(value)
  }

  /** @param {any[]} frame @returns {boolean} whether it was one that could come */
  handle(frame) {
    const [, version, kind, to, from] = frame
    if (kind === UNREADABLE) return this.#differ(version, this.wires, 0)
    if (!isCount(to)) return false
    if (kind === HELLO) return this.#hello(frame)
    if (version !== VERSION) return false
    const wire = to === 0 && kind === CLOSE ? this.wires.find(({ peer }) => peer === from) : this.#byId.get(to)
    // It may have ended meanwhile.
    return wire === undefined ? to !== 0 || kind === CLOSE : wire.handle(frame)
  }

  /**
   * The other side speaks another version, and is told of it.
   *
   * @param {number} version @param {ExternalChannel<any>[]} wires those that have been met speak ours
   * @param {number | null} to whom
   * @returns {boolean} whether that ends any
   */
  #differ(version, wires, to) {
    const lost = wires.filter(({ peer }) => peer === 0)
    for (const wire of lost) {
      if (to !== null) wire.hello(to)
      wire.lose(`the other side speaks version ${version} of the protocol, this one version ${VERSION}`)
    }
    return lost.length > 0
  }

  /** @param {any[]} frame @returns {boolean} */
  #hello([, version, , to, from, name, life, probed]) {
    if (!isCount(from) || from === 0) return false
    const wire = to === 0 ? this.#byName.get(name) : this.#byId.get(to)
    if (wire !== undefined && wire.name !== name) return false
    if (version !== VERSION) {
      return isCount(version) && version <= 255 && wire !== undefined && this.#differ(version, [wire], to === 0 ? from : null)
    }
    if (life !== '' && !isLife(life)) return false
    // An emitter may say to us what we say to it.
    if (this.#byId.has(from)) return true
    this.treatment ??= treatmentBy(probed)
    // Who is not here yet says hello when it comes.
    wire?.meet(from, life, to !== 0)
    return true
  }
}

// ------------------------------------------------------------------------------------------------- sessions

/**
 * A session is a link over one endpoint after another, and never ends by itself. It numbers frames; its own
 * are:
 *
 *   ['rt.mjs', version, JOIN, received, from, to, isAnswer, probe]  first over each endpoint, from both
 *   sides; to 0: not known yet ['rt.mjs', version, NEXT, received, number, 0, frame]           in bytes;
 *   numbered from 1, and kept until it has been received ['rt.mjs', version, HEARD, received, asks]
 *   asks: whether an answer is due ['rt.mjs', version, OVER, received]                             all
 *   channels have been closed, and everything has been received
 *
 * `received` is how many frames have arrived; `from` and `to` are random numbers that sessions choose when
 * they are made. Who gets a JOIN sends what has not been received. One from another session than before: that
 * side has been started anew.
 */

/** After so many frames they are acknowledged, if nothing else says so. */
const ACKNOWLEDGED = 16
/** When so many are out, ends do not say any more what is wanted. */
const FULL = 64

/** Sessions that were accepted, by the numbers of the other sides. @type {Map<number, Session>} */
const accepted = /* @__PURE__ */ new Map()

/**
 * @typedef {object} SessionOptions times in ms
 * @property {number} [timeout] how long the other side may be silent before channels fail, > 0; default 60
 *   000
 * @property {number} [heartbeat] after so long without a word it is asked for one, and after one more the
 *   endpoint is given up; default 5000, at most a quarter of `timeout`
 * @property {number} [retry] the longest pause before the next endpoint; default 10 000. Pauses grow from 100
 *   by doubling, and half of each is random
 * @property {Scheduler} [scheduler] whose clock counts; default that of the running job, else `rt`
 */

class Session extends Link {
  id = randomId()
  /** The other side; 0 as long as it has not been heard. */
  peer = 0
  isOpen = true
  /** @type {string | null} */
  life = ''
  /** Why what it got is no endpoint. @type {unknown} */
  refusal = null
  #isJoined = false
  #isClosing = false
  #attempts = 0

  /** Frames that may have to be sent again, from number `#acknowledged` + 1. @type {Uint8Array[]} */
  #kept = []
  #acknowledged = 0
  #received = 0
  #unacknowledged = 0

  /** Heartbeats since the other side was heard, and since there is this endpoint or it was heard. */
  #silence = 0
  #quiet = 0
  /** @type {{ cancel(): boolean }} */
  #beats
  /** @type {{ cancel(): boolean } | null} */
  #pause = null

  /**
   * @param {(() => any) | null} source opens the next endpoint; null when the other side does
   * @param {any} options SessionOptions
   * @param {(session: any) => void} [joined] told when it is not one that there was
   */
  constructor(source, options, joined) {
    const { timeout = 60_000, retry = 10_000 } = options
    const heartbeat = Math.min(options.heartbeat ?? 5000, timeout / 4) // or it would be given up before it is asked
    const scheduler = here(options)
    super(source)
    this.scheduler = scheduler
    this.source = source
    this.joined = joined
    this.timeout = timeout
    this.heartbeat = heartbeat
    this.retry = retry
    // While there is an endpoint, that is what keeps Node alive.
    const next = () => extend.at(scheduler, scheduler.now() + heartbeat, () => {
      this.#beats = next()
      this.#beat()
    }, { ref: false })
    this.#beats = next()
  }

  // --- endpoints

  /** Opens the next one. */
  dial() {
    this.#pause = null
    const take = (/** @type {any} */ endpoint) => {
      try {
        if (endpoint === null) this.#again()
        else this.use(new FrameTransport(endpoint))
      } catch (error) {
        this.refusal = error
        this.fail('no endpoint', error)
      }
    }
    let endpoint = null
    try {
      endpoint = this.source?.()
    } catch {} // it is asked again
    if (typeof endpoint?.then === 'function') endpoint.then(take, () => take(null))
    else take(endpoint)
  }

  #again() {
    const { scheduler, retry } = this
    if (this.isOver || this.source === null || this.#pause !== null) return
    const pause = Math.min(retry, 100 * 2 ** this.#attempts++) * (1 + Math.random()) / 2
    this.#pause = extend.at(scheduler, scheduler.now() + pause, () => this.dial())
  }

  /** @param {FrameTransport} transport */
  use(transport) {
    this.#leave()
    if (this.isOver) return shut(transport)
    this.#quiet = 0
    // One of Node that nobody hears throws it.
    if (!transport.isEventTarget) transport.endpoint.on('error', () => {})
    super.use(transport)
  }
  open() {
    if (this.source !== null && this.transport?.state === 1) this.#greet(this.peer, false)
  }
  #leave() {
    const { transport } = this
    this.transport = null
    this.#isJoined = false
    if (transport !== null) shut(transport)
  }
  /** The endpoint has ended. */
  gone() {
    this.#leave()
    if (this.source === null && this.peer === 0) this.end()
    else this.#again()
  }

  #beat() {
    const { timeout, heartbeat } = this
    if (++this.#silence * heartbeat >= timeout) return this.fail(`silent for ${timeout} ms`, 'timeout')
    if (this.transport !== null && ++this.#quiet > 2) this.gone()
    else if (this.#quiet > 1 || this.#unacknowledged > 0) this.#say(HEARD, this.#quiet > 1)
  }

  close() {
    this.#isClosing = true
    this.isFree = this.source !== null
    this.#say(HEARD, true)
    this.#closeIfDone()
  }
  end() {
    super.end()
    this.isFree = this.source !== null
    this.#leave()
    this.#beats.cancel()
    this.#pause?.cancel()
    this.#kept = []
    if (accepted.get(this.peer) === this) accepted.delete(this.peer)
  }
  #closeIfDone() {
    if (!this.#isClosing || this.wires.length > 0 || this.#kept.length > 0 || this.isOver) return
    this.#say(OVER)
    this.end()
  }

  // --- frames

  get isFull() { return this.#kept.length >= FULL }

  /** @param {number} kind @param {...any} content */
  #say(kind, ...content) {
    if (this.transport === null || kind !== JOIN && !this.#isJoined) return
    this.#unacknowledged = 0
    try {
      super.post([PROTOCOL, VERSION, kind, this.#received, ...content])
    } catch {
      this.gone()
    }
  }
  /** @param {number} to @param {boolean} isAnswer */
  #greet(to, isAnswer) {
    this.#say(JOIN, this.id, to, isAnswer, probe())
  }

  /** @param {any[]} frame copied: its sender may change what it is made of */
  post(frame) {
    this.#kept.push(joined(encoded(frame)))
    this.#sendKept(this.#kept.length - 1)
  }
  /** @param {number} from the place of the first */
  #sendKept(from) {
    const first = this.#acknowledged + from + 1
    this.#kept.slice(from).forEach((frame, i) => this.#say(NEXT, first + i, 0, frame))
  }

  /** @returns {FrameTransport} what is no more its own */
  #part() {
    const transport = /** @type {FrameTransport} */ (this.transport)
    transport.unlisten()
    this.transport = null
    this.end()
    return transport
  }
  /** The other side keeps no session. */
  #release() {
    if (this.joined === undefined || this.peer !== 0) return this.fail('it keeps no session: its end is not one of `accept`')
    this.joined(this.#part().endpoint)
  }

  /** @param {any[]} frame @returns {boolean} */
  handle(frame) {
    const [, version, kind, received, ...rest] = frame
    if (version !== VERSION) this.fail(`of version ${check.describe(version)} of the protocol, this is version ${VERSION}`)
    else if (!isCount(kind) || kind < JOIN) this.#release()
    else if (!isCount(received)) this.gone()
    else if (kind === JOIN) this.#join(received, rest)
    else if (this.#isJoined && this.#acknowledge(received)) {
      this.#closeIfDone()
      if (kind === NEXT) return this.#next(rest)
      if (kind === HEARD && rest[0] === true) this.#say(HEARD, false)
      else if (kind === OVER) this.fail('closed')
    }
    return true
  }

  /** @param {number} received @param {any[]} rest @returns {void} */
  #join(received, [from, to, isAnswer, probed]) {
    if (!isCount(from) || from === 0 || !isCount(to)) return this.gone()
    const known = accepted.get(from) ?? this
    if (known !== this) {
      known.use(this.#part())
      return known.#join(received, [from, to, isAnswer, probed])
    }
    if (this.peer !== 0 && from !== this.peer) return this.fail('started anew', 'restarted')
    this.treatment ??= treatmentBy(probed)
    const isNew = this.peer === 0
    if (to !== 0 && to !== this.id) {
      // It takes this side for another, and learns by the answer that that is no more.
      this.#greet(from, true)
      return this.gone()
    }
    this.peer = from
    const wasJoined = this.#isJoined
    if (!this.#acknowledge(received)) return
    // First of all, since an endpoint without delay may bring frames at once.
    this.#isJoined = true
    this.#attempts = 0
    if (!isAnswer) this.#greet(from, true)
    if (!wasJoined) this.#sendKept(0)
    if (isNew && this.joined !== undefined) {
      accepted.set(from, this)
      this.joined(this)
    }
    if (this.#isClosing) this.#say(HEARD, true)
    this.#closeIfDone()
  }

  /** @param {number} received @returns {boolean} whether it can be */
  #acknowledge(received) {
    if (received > this.#acknowledged + this.#kept.length) {
      this.fail('started anew', 'restarted')
      return false
    }
    this.#silence = this.#quiet = 0
    const wasFull = this.isFull
    this.#kept.splice(0, received - this.#acknowledged)
    this.#acknowledged = Math.max(received, this.#acknowledged)
    if (wasFull && !this.isFull) for (const wire of this.wires) wire.announce()
    return true
  }

  /** @param {any[]} rest @returns {boolean} */
  #next([number, , bytes]) {
    if (isCount(number) && number <= this.#received) return true
    if (number !== this.#received + 1 || !isBytes(bytes)) {
      this.gone()
      return false
    }
    this.#received++
    if (++this.#unacknowledged >= ACKNOWLEDGED) this.#say(HEARD, false)
    let frame
    try {
      frame = frameOf(/** @type {any} */ (decoding(bytesOf(bytes)).next().value))
    } catch {
      return false
    }
    return super.handle(frame)
  }
}

/** Ends what was made for a session. @param {FrameTransport} transport */
function shut(transport) {
  const { endpoint } = transport
  transport.unlisten()
  if (endpoint === globalThis) return
  try {
    (endpoint.close ?? endpoint.terminate ?? endpoint.disconnect)?.call(endpoint)
  } catch {
    // It has ended.
  }
}

// ---------------------------------------------------------------------------------- frames as bytes or text

const PREFIX = /* @__PURE__ */ (() =>
  Uint8Array.from([...Array.from(PROTOCOL, sign => sign.charCodeAt(0)), VERSION, 0]))()
/** How its first bytes, and so the frame, begin in base64. */
const TEXT_PREFIX = /* @__PURE__ */ btoa(PROTOCOL)

// How an endpoint treats frames.
const CLONES = 'clones'
const TAKES_BYTES = 'takes bytes'
const TAKES_TEXT = 'takes text'

/** What shows, when it has arrived, how an endpoint treats messages. */
const probe = () => [new Uint8Array(1), new Map()]

/** @param {any} probed @returns {string} */
function treatmentBy(probed) {
  const [bytes, map] = Array.isArray(probed) ? probed : []
  return kindOf(map) === 'Map' ? CLONES : isBytes(bytes) ? TAKES_BYTES : TAKES_TEXT
}

/**
 * Up to this a frame is one message: RTCDataChannels of all browsers take it, and to copy it costs 8 us, as a
 * message does (Node 20).
 */
const SHORT = 2 ** 16

/**
 * @param {any[]} frame @param {number} most bytes of a message
 * @returns {Generator<Uint8Array, void>} the messages that carry it
 */
function* messagesOf(frame, most) {
  const parts = [PREFIX, ...encoded(frame)]
  const isShort = parts.reduce((sum, { length }) => sum + length, 0) <= SHORT
  const messages = isShort ? [joined(parts)] : [joined(parts.splice(0, 3)), ...parts]
  for (const message of messages) {
    for (let at = 0; at < message.length; at += most) yield message.subarray(at, at + most)
  }
}

/** @param {Uint8Array} bytes */
function toBase64(bytes) {
  let binary = ''
  for (let i = 0; i < bytes.length; i += 0x2000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x2000))
  return btoa(binary)
}

/** @param {{ values: any[], buffers: Uint8Array[] }} decoded @returns {any[]} */
function frameOf({ values: frame, buffers }) {
  try {
    frame[MESSAGE_AT] = unpacked(frame[MESSAGE_AT], buffers)
  } catch {
    frame[MESSAGE_AT] = UNREADABLE
  }
  return frame
}

/** @param {Uint8Array} bytes @returns {boolean} of whatever version */
const startsFrame = bytes => bytes.length >= PREFIX.length && [...PROTOCOL].every((_, i) => bytes[i] === PREFIX[i])

/**
 * @param {any} message @returns {Uint8Array | null} what it says in bytes, or in base64; null: neither
 * @throws {DOMException}
 */
const bytesIn = message => isBytes(message) ? bytesOf(message)
  : typeof message !== 'string' || !message.startsWith(TEXT_PREFIX) ? null
    : Uint8Array.from(atob(message), character => character.charCodeAt(0))
