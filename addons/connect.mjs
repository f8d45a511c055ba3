/**
 * addons/connect.mjs: channels to other threads, processes and machines.
 *
 *   connect(endpoint, name)         a channel over a Worker, a port, a socket, ...
 *   connect(() => endpoint, name)   a channel that outlives its endpoints: over a session
 *   accept(endpoint, work)          the passive side of sessions
 *
 *   send -> channel -> connection -> [session ->] transport -> endpoint ~~~ transport -> ... -> receive
 *
 * Words:
 * - channel: an ExternalChannel, which is one end; its peer is the other end.
 * - connection: the channels of one endpoint. The connection finds the channel of a frame, and announces the
 *   names of channels.
 * - session: an endpoint that lasts longer than the endpoints below it (internal/sessions.mjs).
 * - transport: turns frames into messages of an endpoint, and back (internal/frames.mjs).
 * - flight, held: the message that is out, and the message that waits for a receiver.
 *
 * Invariants:
 * 1. Each channel has at most one message out. Its sender resumes when a receiver at the peer got it.
 * 2. A choice sends a message only after it is decided, so none of its other guards can commit afterwards.
 * 3. A choice commits to a send only while the line is up, so its timeout ends it while the line is down.
 * 4. A frame that does not fit changes nothing; `rejected` counts it.
 * 5. Over a session, each frame arrives exactly once and in order, however many endpoints are cut.
 * 6. When the peer ends, every waiting operation fails with a ChannelError.
 *
 * @module connect
 */

import { extend } from '../rt.mjs'
import { Channel, ChannelError, End, NOTHING, withSignal } from '../sync.mjs'
import { NONE, isCount } from './internal/bytes.mjs'
import { anArray, transferring } from './internal/endpoints.mjs'
import {
  ASK, CLOSE, CLONES, DATA, DONE, FrameTransport, HELLO, MAX_FRAME, MESSAGE_AT, REFUSE, UNREADABLE, VERSION,
  WANT, WITHDRAW, probe
} from './internal/frames.mjs'
import { SESSION, Session } from './internal/sessions.mjs'
import {
  PROTOCOL, isLivenessLock, livenessLockOfThread, randomId, whenReleased
} from './internal/threads.mjs'
/** @import { Awaitable } from '../rt.mjs' */
/** @import { WaitOptions } from '../sync.mjs' */
/** @typedef {import('./internal/sessions.mjs').SessionOptions} SessionOptions */

const { WaitQueue, check, here } = extend

/**
 * Returns a channel to another thread, process or machine. Both sides connect the same name over their
 * ends of one endpoint, in any order. They can connect any number of names. A send ends when the peer has
 * received the message. `choice` works at both ends.
 *
 * These objects can be endpoints. In browsers: a Worker or its global scope, a MessagePort, a
 * BroadcastChannel (two ends per name), a WebSocket, an RTCDataChannel. In Node: a worker, a port, a child
 * process, a cluster worker, `process`, a WebSocket of `ws`. Anywhere: a socket of socket.io, and any object
 * with `postMessage`, `send` or `emit`, and with `addEventListener` or `on`.
 *
 * The endpoint stays yours: you can use it for other messages, and the channel does not close it. The
 * `binaryType` of a socket is set to 'arraybuffer'. Between processes of Node, `serialization: 'advanced'`
 * avoids base64. An open channel listens to its endpoint, which keeps Node alive as every listener does.
 *
 * If the peer never connects a name, operations on that name wait. Use `timeout` to give up.
 *
 * When the peer closes, ends or crashes, all waiting operations fail with a ChannelError, at both ends.
 * Browsers fire no event when the thread of a worker, a port or a page ends, so each thread holds a Web Lock.
 * Pages without a secure context and other origins have no such locks. Node fires events, except for a
 * BroadcastChannel. A peer that hangs has not ended: use `timeout`.
 *
 * If the endpoint is a function, for example `() => new WebSocket(url)`, the channel outlives its endpoints.
 * When one ends or is silent, the function opens the next one, after a pause that grows. Each message arrives
 * once and in order, even if connections are cut; `send` and `close` then take longer. The session closes
 * these endpoints when it replaces them, and after the last channel. The peer passes such a function as well,
 * or calls `accept`.
 *
 * Channels of a session fail if there is no progress for `timeout` (the `reason` is 'timeout', the `cause`
 * the last error of an endpoint or of the function), or if the peer has restarted ('restarted'). A
 * message that no endpoint can carry fails in the same way. `connect` throws an error that shows a mistake
 * in the function, for example a misspelt name. The line can fail just after a choice has chosen a send:
 * use `timeout(ms, choice(...))` for a strict limit.
 *
 * @template [T=unknown]
 * @param {any} endpoint an endpoint, or a function that returns the next endpoint or a promise of it. The
 *   function can return null if no endpoint is available now
 * @param {string} name the name of the channel, at most 1000 characters
 * @param {SessionOptions} [options] options of the endpoint or function; its first channel sets them
 * @returns {ExternalChannel<T>} the same channel as before, if one of this name is open
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const { port1, port2 } = new MessageChannel()
 * const here = connect(port1, 'numbers')
 * const there = connect(port2, 'numbers') // for example in a worker
 * const [, value] = await par(here.send(42), there.receive())
 * console.log(value) // → 42
 * for (const end of [here, there, port1]) end.close()
 */
export function connect(endpoint, name, options = {}) {
  check.text('name', name)
  if (name.length > MAX_NAME) throw check.outOfRange('name', `at most ${MAX_NAME} characters long`, name)
  check.options(options, SESSION)
  const known = connections.get(endpoint)
  const connection = known === undefined || known.isFree ? connectionOver(endpoint, options) : known
  return connection.connect(name)
}

/**
 * Finds the session that an endpoint belongs to, by its first message, for the side that does not open
 * endpoints. A known session gets the endpoint as its next line. For a new session, `work` is called.
 *
 * Before that, the peer can send 64 KiB, and must send its first message within three heartbeats. A peer that
 * knows the random 52-bit number of a session can take the session over, so use connections that others
 * cannot read.
 *
 * @param {any} endpoint an endpoint as for `connect`; closed when another endpoint takes its place, or the
 *   session ends
 * @param {(session: any) => void} work called with an endpoint for `connect` that lasts as long as the
 *   session. Its `close()` and `[Symbol.dispose]()` close all channels. If the peer has no session, `work`
 *   gets `endpoint` itself
 * @param {SessionOptions} [options]
 * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
 *
 * @example
 * const { port1, port2 } = new MessageChannel() // for example the two ends of a socket
 * accept(port2, session => rt.spawn(() => connect(session, 'greetings').send('hello')))
 * const greetings = connect(() => port1, 'greetings')
 * console.log(await greetings.receive()) // → hello
 * greetings.close()
 */
export function accept(endpoint, work, options = {}) {
  check.callable('work', work)
  check.options(options, SESSION)
  const line = new FrameTransport(endpoint)
  new Session(null, options, work).use(line)
}

/**
 * @param {any} endpoint an endpoint, or a function that opens one
 * @param {SessionOptions} options @returns {Connection}
 */
function connectionOver(endpoint, options) {
  if (endpoint instanceof Session) return new Connection(endpoint, endpoint, options)
  if (typeof endpoint !== 'function') return new Connection(endpoint, new FrameTransport(endpoint), options)
  const session = new Session(endpoint, options)
  session.start()
  return new Connection(endpoint, session, options)
}

/** Maximum length of a name, characters. */
const MAX_NAME = 1000
const SEND = { transfer: anArray, signal: check.signal }

// --------------------------------------------------------------------------------------------- the protocol

/**
 * The frames between two ends of a channel. A conversation:
 *
 *   A: HELLO -> B: HELLO -> A: DATA 1 -> (a receiver arrives at B) -> B: DONE 1        a send
 *   A: ASK -> (a receiver arrives at B) -> B: WANT true -> A: DATA 2 -> B: DONE 2      a choice
 *   A: DATA 3 -> (the sender is cancelled) -> A: WITHDRAW 3 -> B: DONE 3               a withdrawal
 *
 * The directions are independent: receivers at one end get the messages of the other end. All elements of
 * HELLO but the last one are the same in every version:
 *
 *   ['rt.mjs', version, HELLO, to, from, name, livenessLock, probe, maxPayload]
 *                                                            to 0: any end of that name; else an answer
 *   ['rt.mjs', version, DATA, to, number, kept, message]     kept: 1 if offered, so never withdrawn
 *   ['rt.mjs', version, DONE, to, number, wanted, problem]   the message was received, or withdrawn
 *   ['rt.mjs', version, WITHDRAW, to, number]                drop the message, if it has not been received
 *   ['rt.mjs', version, ASK, to]                             from now on send WANT
 *   ['rt.mjs', version, WANT, to, wanted]                    whether a receiver waits
 *   ['rt.mjs', version, CLOSE, to, from, given, reason]      given: 1 if there is a reason
 *   ['rt.mjs', version, REFUSE, to]                          the name is taken
 *
 * `to` and `from` are random numbers that ends choose when they are made, `number` counts the messages of one
 * direction from 1. `livenessLock` names a Web Lock that the sender's thread holds as long as it lives.
 *
 * Rendezvous: a message is sent immediately and held at the other end until a job receives it. Then DONE
 * resumes the sender. Each direction has at most one such message, which is the backpressure.
 *
 * A choice must not send before it is decided. So the guards of an end ASK, and a guard commits when the
 * other end has answered that a receiver waits. Then the message is sent, the choice drops its other
 * guards, and DONE settles it. If that receiver has left since, the next receiver gets the message.
 *
 * A sender that is cancelled while its message is out cannot know whether the message arrives: the
 * WITHDRAW may come too late. The message is received once or not at all. The same holds if a channel is
 * closed while its message is out.
 */

// -------------------------------------------------------------------------------------------------- channels

/** Sends a message to the peer. The answer takes time, so the message leaves when the wait starts. */
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
 * One end of a channel between threads, processes or machines, for jobs of this thread. Two things differ
 * from a local channel. Receivers get the messages of the other end, so that both ends can send. `offer`
 * succeeds if all earlier messages have been received and the line is up; its message then waits at the
 * other end.
 *
 * @template [T=unknown]
 * @extends {Channel<T>}
 */
class ExternalChannel extends Channel {
  /** @internal */
  id = randomId()
  /** @internal the number of the other end; 0 until its HELLO arrives */
  peer = 0
  /** @internal the lock that the other end's thread holds */
  livenessLock = ''
  /** Whether the other end has answered the HELLO of this end. */
  #isAnswered = false

  // Out:
  /** Sends of choices. They must not leave before their choice is decided. */
  #guards = new WaitQueue()
  /** Whether the last message came from a guard. */
  #wasGuard = false
  /** Number of messages sent. */
  #sent = 0
  /**
   * The message that is out. `send` is null if no job waits for the answer.
   *
   * @type {{ send: ExternalSend | null } | null}
   */
  #flight = null
  #isAsking = false
  /** Whether a receiver waits at the other end, as far as this end knows. */
  #isWanted = false

  // In:
  /** Number of messages that have arrived. */
  #received = 0
  /** The message that waits for a receiver. @type {{ message: any, kept: boolean } | null} */
  #held = null
  /** Whether the other end wants WANT frames. */
  #isAsked = false
  /** The value of `wanted` in the last WANT or DONE. */
  #saidWanted = false

  /** @internal @param {Connection} connection @param {string} name */
  constructor(connection, name) {
    super(0, { name })
    /** @internal */
    this.connection = connection
  }

  get length() { return this.#held?.kept ? 1 : 0 }
  /** @internal */
  get isExternal() { return true }
  /** Number of frames at this endpoint that were malformed or did not fit. They have changed nothing. */
  get rejected() { return this.connection.rejected }

  /**
   * @param {T} message a value that structured clone accepts. If the endpoint can transfer objects,
   *   buffers of 64 KiB and more and objects that cannot be copied are transferred, also elements and
   *   properties of the message. The sender loses them.
   * @param {{ transfer?: any[], signal?: AbortSignal }} [options] `transfer`: the objects to transfer
   *   instead; `[]` copies all. `signal`: ends the wait
   * @returns {Awaitable<void>} fulfilled when the peer has received the message. Fails with a ChannelError
   *   if the peer closes or ends before, with a DataCloneError if the message cannot be cloned, with a
   *   RangeError if the message is larger than the peer accepts
   * @throws {TypeError} if `transfer` is not an array
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

  /** @internal whether the peer is known */
  get isMet() { return this.peer !== 0 && this.connection.isOpen }
  /** @internal whether a message would leave now */
  get isConnected() { return this.peer !== 0 && this.connection.isUp }

  /** @internal @param {number} to the end that has said hello; 0: any end of this name */
  hello(to) {
    const { connection } = this
    const { livenessLock, maxPayload } = connection
    connection.send([PROTOCOL, VERSION, HELLO, to, this.id, this.name, livenessLock, probe(), maxPayload])
  }

  /** Sends a frame to the other end. @param {number} kind @param {any[]} [content] */
  #tell(kind, content = NONE) {
    this.connection.send([PROTOCOL, VERSION, kind, this.peer].concat(content))
  }

  /**
   * @internal handles the HELLO of an end with this name @param {number} from @param {string} livenessLock
   * @param {boolean} isAnswer whether it answers the HELLO of this end
   */
  meet(from, livenessLock, isAnswer) {
    const { connection } = this
    if (this.peer === from) {
      this.#isAnswered = true
    } else if (this.peer === 0) {
      this.peer = from
      this.livenessLock = livenessLock
      this.#isAnswered = isAnswer
      if (!isAnswer) this.hello(from)
      connection.watch(livenessLock)
      this.pump()
    } else if (connection.isBroadcast) {
      connection.send([PROTOCOL, VERSION, REFUSE, from])
    } else {
      this.lose('the other side has connected anew')
    }
  }

  /** @internal @param {any[]} frame addressed to it @returns {boolean} whether the frame fits */
  handle({ 2: kind, 4: number, 5: flag, 6: content }) {
    if (this.peer === 0 && kind !== REFUSE) return false
    switch (kind) {
      case DATA:
        return number === this.#received + 1 && this.#held === null && (flag === 0 || flag === 1) &&
          this.#arrive(flag === 1, content)
      case DONE:
        return this.#flight !== null && number === this.#sent && typeof flag === 'boolean' &&
          this.#done(this.#flight, flag, content)
      case WITHDRAW:
        if (this.#held === null || number !== this.#received) {
          return isCount(number) && number <= this.#received
        }
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
        if (!this.connection.isBroadcast || this.#isAnswered) return false
        this.lose('the name is taken: over a BroadcastChannel a channel has two ends')
        return true
    }
    return false
  }

  // --- out

  /** @internal sends waiting messages, as far as possible */
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
      this.connection.sendMessage(frame, transfer)
      this.#sent++
    } catch (error) {
      this.#flight = null
      throw error
    }
  }

  /**
   * Ends the flight of a message after the answer of the peer, and sends the next message.
   *
   * @param {{ send: ExternalSend | null }} flight
   * @param {boolean} wanted whether a receiver waits at the peer
   * @param {unknown} problem the reason why the peer could not read the message, if there is one
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

  /** @internal whether a branch of a choice commits if it starts to wait now @returns {boolean} */
  get mayCommit() {
    return this.closing === null && this.#flight === null && this.isConnected && this.#isWanted
  }

  /**
   * Sends a message immediately, unless the previous message has not been received yet.
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
    // The answer comes first, because a sender waits for it.
    this.#finish()
    receive.wake(message)
    return true
  }

  /** Reports that the last message was received or withdrawn. @param {string} [problem] */
  #finish(problem) {
    const isWanted = this.#saidWanted = this.receivers.size > 0
    this.#tell(DONE, problem === undefined ? [this.#received, isWanted] : [this.#received, isWanted, problem])
  }

  /**
   * @internal reports whether a receiver waits, if the peer has asked and the answer has changed
   * @param {boolean} [isWanted]
   */
  announce(isWanted = this.#held === null && this.receivers.size > 0) {
    if (!this.#isAsked || isWanted === this.#saidWanted || this.connection.isFull) return
    this.#saidWanted = isWanted
    this.#tell(WANT, [isWanted])
  }

  /** @returns {any} the held message, or NOTHING */
  next() {
    if (this.#held === null) return NOTHING
    const { message } = this.#held
    this.#held = null
    if (this.closing === null) this.#finish()
    return message
  }

  poll() {
    // A job that polls will poll again, so a choice at the other end may send to it.
    if (this.#held === null && this.closing === null) this.announce(true)
    return super.poll()
  }

  // --- both

  /**
   * @internal queues a send; a choice must not send before it has committed
   * @param {ExternalSend} send @param {any} waiter the waiting job, or a branch of a choice
   */
  enterSend(send, waiter) {
    const queue = waiter.isBranch === true ? this.#guards : this.senders
    queue.push(send)
    this.pump()
  }
  /** @internal @param {ExternalSend} send a send whose job has stopped waiting */
  withdraw(send) {
    if (this.#flight?.send !== send) return
    this.#flight.send = null
    this.#tell(WITHDRAW, [this.#sent])
  }

  /** @param {unknown} [reason] @returns {boolean} */
  close(reason) {
    if (this.closing !== null) return false
    const { connection } = this
    // Before the peer is known, CLOSE goes to 0, because the peer may know this end from its HELLO.
    /** @type {any[]} */
    const frame = [PROTOCOL, VERSION, CLOSE, this.peer, this.id]
    try {
      if (reason === undefined || !this.isMet) connection.send(frame.concat(0))
      else connection.sendMessage(frame.concat([1, reason]))
    } catch {
      connection.send(frame.concat(0))
    }
    return super.close(reason)
  }

  /** @internal @param {string} why @param {unknown} [reason] @param {unknown} [cause] default: the reason */
  lose(why, reason, cause) {
    const error = new ChannelError(`${this.name}: ${why}`, reason)
    if (cause !== undefined) error.cause = cause
    this.endWith(error, true)
  }

  /** @internal @param {ChannelError} error @param {boolean} hasFailed */
  endWith(error, hasFailed) {
    if (this.closing !== null) return
    this.closing = error
    const send = this.#flight?.send
    this.#flight = null
    // The sender learns that it failed, unless it was an offer.
    if (this.#held !== null && !this.#held.kept) this.#held = null
    this.connection.forget(this)
    send?.fail(error)
    for (let guard = this.#guards.shift(); guard !== null; guard = this.#guards.shift()) guard.fail(error)
    super.endWith(error, hasFailed)
  }

  static {
    // Engines without explicit resource management lack this symbol.
    const { dispose } = /** @type {any} */ (Symbol)
    if (dispose) {
      const value = /** @this {ExternalChannel<any>} */ function () { this.close() }
      Object.defineProperty(this.prototype, dispose, extend.hiddenProperty(value))
    }
  }
}

// ----------------------------------------------------------------------------------------------- connections

/**
 * Connections by endpoint, by the function that opens the endpoints, or by session.
 *
 * @type {WeakMap<object, Connection>}
 */
const connections = /* @__PURE__ */ new WeakMap()

/** Carries the channels of one endpoint, which is a transport or a session. */
class Connection {
  /** @type {Map<string, ExternalChannel<any>>} */
  #byName = new Map()
  /** @type {Map<number, ExternalChannel<any>>} */
  #byId = new Map()
  /**
   * The watches on threads, by the liveness lock of the thread; `abort` ends a watch.
   *
   * @type {Map<string, AbortController> | null}
   */
  #watches = null
  /** Fires when the next part of a frame is late. @type {{ cancel(): boolean } | null} */
  #deadline = null
  /** Whether frames can be posted. */
  isOpen = false
  isOver = false
  /** Whether another connection can take the place of this one. */
  isFree = false
  /** The liveness lock of this thread; null until it is known. @type {string | null} */
  livenessLock = null
  rejected = 0

  /** @param {object} key the key of the connection @param {any} carrier @param {SessionOptions} options */
  constructor(key, carrier, options) {
    const { maxPayload = MAX_FRAME, timeout = 60_000 } = options
    connections.set(key, this)
    /** @type {FrameTransport | Session} */
    this.carrier = carrier
    this.maxPayload = maxPayload
    this.timeout = timeout
    this.scheduler = here(options)
    carrier.listen(this)
    if (carrier.state > 1) this.gone('closed')
    else if (carrier.isSilent) livenessLockOfThread().then(livenessLock => this.open(livenessLock))
    else this.open('')
  }

  get channels() {
    /** @type {ExternalChannel<any>[]} */
    const channels = []
    this.#byName.forEach(channel => { channels.push(channel) })
    return channels
  }
  get hasChannels() { return this.#byName.size > 0 }
  /** Whether messages leave now: the line of a session can be down. */
  get isUp() { return this.isOpen && this.carrier.isUp }
  /** Whether frames that can wait should wait. */
  get isFull() { return this.carrier.isFull }
  get isBroadcast() { return this.carrier.isBroadcast }

  open(livenessLock = this.livenessLock) {
    this.livenessLock = livenessLock
    if (this.isOpen || this.isOver || livenessLock === null || this.carrier.state !== 1) return
    this.isOpen = true
    this.channels.forEach(channel => { channel.hello(channel.peer) })
    this.resume()
  }
  /** Sends waiting frames after the line of a session is up, or has room again. */
  resume() {
    this.channels.forEach(channel => {
      channel.pump()
      channel.announce()
    })
  }

  /** @param {string} name @returns {ExternalChannel<any>} */
  connect(name) {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const channel = new ExternalChannel(this, name)
    this.#byName.set(name, channel)
    this.#byId.set(channel.id, channel)
    if (this.isOver) channel.lose('the other side has gone')
    else {
      if (this.carrier instanceof Session) this.carrier.keepOpen()
      channel.hello(0)
    }
    return channel
  }

  /** @param {ExternalChannel<any>} channel */
  forget(channel) {
    if (!this.#byId.delete(channel.id)) return
    this.#byName.delete(channel.name)
    if (this.hasChannels || this.isOver) return
    const { carrier } = this
    if (!(carrier instanceof Session)) {
      this.isFree = true
      return this.#end()
    }
    this.isFree = carrier.source !== null
    carrier.close()
  }
  #end() {
    this.isOver = true
    this.#deadline?.cancel()
    if (this.carrier instanceof FrameTransport) this.carrier.unlisten()
    this.#watches?.forEach(watch => { watch.abort() })
  }
  closeChannels() {
    this.channels.forEach(channel => { channel.close() })
  }

  /**
   * Closes all channels after a message could not be read. The message does not reveal its channel, so each
   * sender could otherwise wait forever for an answer.
   */
  closeUnreadable() {
    this.channels.forEach(channel => {
      channel.close(new ChannelError(`${channel.name}: a message could not be read`))
    })
  }

  /** Fails all channels after the endpoint has ended. @param {string} why @param {unknown} [reason] */
  gone(why, reason) {
    // An endpoint that has ended fires no event for a later connection, unless it connects again.
    this.isFree ||= this.carrier.reconnects
    this.fail(why, reason)
  }
  /** @param {string} why @param {unknown} [reason] @param {unknown} [cause] default: the reason */
  fail(why, reason, cause) {
    const { channels, carrier } = this
    this.isFree ||= carrier instanceof Session && carrier.source !== null
    this.#end()
    channels.forEach(channel => { channel.lose(`the other side has gone (${why})`, reason, cause) })
  }

  /** Fails the channels of a thread when it has ended. @param {string} livenessLock the lock that it holds */
  watch(livenessLock) {
    const watches = this.#watches ??= new Map()
    if (livenessLock === '' || livenessLock === this.livenessLock || watches.has(livenessLock)) return
    const watch = new AbortController()
    watches.set(livenessLock, watch)
    const ended = () => {
      if (!this.isBroadcast) return this.gone('its thread has ended')
      const lost = this.channels.filter(channel => channel.livenessLock === livenessLock)
      lost.forEach(channel => { channel.lose('the other side has gone (its thread has ended)') })
    }
    const mayBeForeign = this.carrier instanceof FrameTransport && this.carrier.kind === 'MessagePort'
    whenReleased(livenessLock, ended, { signal: watch.signal, mayBeForeign })
  }

  // --- out

  /** @param {any[]} frame a frame without a message */
  send(frame) {
    // When the connection opens, all its ends send HELLO. Before, no peer knows of them.
    if (this.isOver || !this.isOpen) return
    try {
      this.carrier.post(frame)
    } catch (error) {
      this.gone('nothing can be sent', error)
    }
  }
  /**
   * @param {any[]} frame a frame with a message
   * @param {any[]} [transfer] default: large buffers, and objects that cannot be copied
   * @throws {DOMException | RangeError | Error} if the message cannot be cloned or is too large; nothing
   *   is sent
   */
  sendMessage(frame, transfer) {
    const { carrier } = this
    const mayTransfer = carrier instanceof FrameTransport && carrier.treatment === CLONES &&
      carrier.way === 'postMessage' && !carrier.isBroadcast
    const post = (/** @type {any[]} */ chosen) => carrier.post(frame, chosen)
    transferring([frame[MESSAGE_AT]], mayTransfer ? transfer : NONE, post)
  }

  // --- in

  /** @param {any[]} frame */
  receive(frame) {
    if (!this.isOver && !this.#handle(frame)) this.reject()
  }
  /** Counts a frame that does not fit or cannot be read. */
  reject() {
    this.rejected++
  }
  /**
   * Sets the time limit for the next part of a frame.
   *
   * @param {boolean} isLast whether the frame is complete
   */
  expectPart(isLast) {
    const { scheduler, timeout } = this
    this.#deadline?.cancel()
    this.#deadline = null
    if (isLast || timeout === Infinity) return
    this.#deadline = extend.at(scheduler, scheduler.now() + timeout, () => {
      const { carrier } = this
      if (!(carrier instanceof FrameTransport) || !carrier.isIncomplete) return
      carrier.dropIncomplete()
      this.reject()
    }, { ref: false })
  }

  /** @param {any[]} frame @returns {boolean} whether the frame fits */
  #handle(frame) {
    const { 1: version, 2: kind, 3: to, 4: from } = frame
    if (kind === UNREADABLE) return this.#differ(version, this.channels, 0)
    if (!isCount(to)) return false
    if (kind === HELLO) return this.#hello(frame)
    if (version !== VERSION) return false
    const isByPeer = to === 0 && kind === CLOSE
    const channel = isByPeer ? this.channels.find(({ peer }) => peer === from) : this.#byId.get(to)
    // The end can have been closed while the frame was on its way.
    return channel === undefined ? to !== 0 || isByPeer : channel.handle(frame)
  }

  /**
   * Fails channels whose peer uses another version of the protocol. A HELLO informs the peer.
   *
   * @param {number} version
   * @param {ExternalChannel<any>[]} channels the candidates; a channel that knows its peer continues
   * @param {number | null} to the end that gets the HELLO
   * @returns {boolean} whether a channel ends
   */
  #differ(version, channels, to) {
    const lost = channels.filter(({ peer }) => peer === 0)
    lost.forEach(channel => {
      if (to !== null) channel.hello(to)
      channel.lose(`the other side speaks version ${version} of the protocol, this one version ${VERSION}`)
    })
    return lost.length > 0
  }

  /** @param {any[]} frame @returns {boolean} */
  #hello({ 1: version, 3: to, 4: from, 5: name, 6: livenessLock, 7: probed, 8: peerLimit }) {
    if (!isCount(from) || from === 0) return false
    const channel = to === 0 ? this.#byName.get(name) : this.#byId.get(to)
    if (channel !== undefined && channel.name !== name) return false
    if (version !== VERSION) {
      if (!isCount(version) || version > 255 || channel === undefined) return false
      return this.#differ(version, [channel], to === 0 ? from : null)
    }
    if (livenessLock !== '' && !isLivenessLock(livenessLock)) return false
    // An emitter may deliver our own frames to us.
    if (this.#byId.has(from)) return true
    if (this.carrier instanceof FrameTransport) this.carrier.greeted(probed, peerLimit, this.maxPayload)
    // A name that is not connected here sends HELLO when it is connected.
    channel?.meet(from, livenessLock, to !== 0)
    return true
  }
}
