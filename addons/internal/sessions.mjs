/**
 * addons/internal/sessions.mjs: a session is an endpoint that lasts longer than the endpoints below it. It
 * carries the frames of channels (connect.mjs) over one line after another.
 *
 *   A: JOIN -> B: JOIN -> A: PART 1 -> B: PART 1, received 1 -> (cut) -> A: JOIN, received 1 -> ...
 *
 * Frames of sessions:
 *
 *   ['rt.mjs', version, JOIN, received, from, to, isAnswer, probe, maxPayload]   the first one over each line
 *   ['rt.mjs', version, PART, received, number, isLast, bytes]                   a part of a channel's frame
 *   ['rt.mjs', version, HEARD, received, sent, asks]                             at a heartbeat
 *   ['rt.mjs', version, OVER, received]                                          the session ends
 *
 * `received` acknowledges all parts up to this number. `sent` is the number of the last part that was sent.
 * `from` and `to` are the random numbers of the sessions; `to` is 0 if it is not known yet. Both ends send a
 * JOIN, also if both dial. `asks` is true if the peer must answer.
 *
 * Words:
 * - line: one endpoint of a session
 * - part: at most 64,000 bytes of a frame. All parts of a session are numbered from 1
 * - progress: the peer acknowledges a part that it had not acknowledged; if there is none, the peer is heard
 * - heartbeat: the period of the session's only periodic timer
 *
 * States, and the methods between them:
 *
 *   dialling --use--> joining --join--> joined --endLine--> waiting --dial--> dialling
 *      \--------------------endLine---------/     any --end--> over
 *
 * A session that was accepted has no dial function: it waits for the next line of its peer.
 *
 * Invariants:
 * 1. Each part arrives exactly once and in order: it is kept until it is acknowledged, and sent again over
 *    the next line from the first number that the peer has not received. An incomplete frame survives its
 *    line.
 * 2. A gap ends the line: a part with a number too high, or a HEARD with more parts sent than have
 *    arrived. So every lost message is sent again, although the line carries heartbeats.
 * 3. Only progress resets `timeout` and back-off. Without progress for `timeout`, the session fails with the
 *    last problem. A part that no line can carry therefore ends the session; it is not sent forever.
 * 4. Every message of the peer is a sign of life, also the first part of a large frame. A line without a sign
 *    of life for three heartbeats ends. A line that was never answered ends after `retry` at the earliest,
 *    because the peer may not dial before.
 * 5. At most 1 MiB is sent and not acknowledged, so that heartbeats do not wait behind a large message.
 * 6. A frame of the peer has at most `maxPayload` bytes, and gets its next part within `timeout`.
 */

import { extend } from '../../rt.mjs'
import { bytesOf, encoded, isBytes, isCount } from './bytes.mjs'
import {
  Assembly, FrameTransport, HEARD, JOIN, MAX_FRAME, MAX_MESSAGE, OVER, PART, VERSION, checkedSize, frameIn,
  partsOf, probe
} from './frames.mjs'
import { PROTOCOL, randomId } from './threads.mjs'
/** @import { Scheduler } from '../../rt.mjs' */

const { check, here } = extend

/** Bytes of a part: its message has at most 64 KiB. */
const PART_SIZE = 64_000
/** Bytes that are sent before the first of them are acknowledged. */
const WINDOW = 2 ** 20
/** Number of received parts after which an acknowledgement is sent, if no other frame carried it. */
const ACKNOWLEDGED = 16
/** Number of kept parts from which channels announce no receivers, because the line is down or slow. */
const FULL = 64
/** Heartbeats without a sign of life after which a line ends. */
const MAX_QUIET = 2
/** The index of the first element of a frame that depends on the kind of the frame. */
const CONTENT_AT = 4
/** The first pause before the next line, ms. */
const MIN_RETRY = 100

/** Sessions that were accepted, by the numbers of their peers. @type {Map<number, Session>} */
const accepted = /* @__PURE__ */ new Map()

/**
 * @typedef {object} SessionOptions times in ms
 * @property {number} [timeout] how long a session may be without progress before its channels fail, > 0;
 *   default 60,000. Progress is an acknowledgement, or a sign of life if no frame is out
 * @property {number} [heartbeat] the period of signs of life, > 0; default 5000, at most a quarter of
 *   `timeout`. A line without a sign of life for three heartbeats is closed
 * @property {number} [retry] the longest pause before the next endpoint, > 0; default 10,000. Pauses start at
 *   100 ms and double without progress; half of each pause is random
 * @property {number} [maxPayload] the largest message to accept over endpoints that carry bytes, bytes, >=
 *   65,536; default 33,554,432. A sender at the peer gets a RangeError for a larger one
 * @property {Scheduler} [scheduler] the scheduler whose clock counts; default: the scheduler of the running
 *   job, else `rt`
 */
export const SESSION = /* @__PURE__ */ Object.freeze({
  timeout: check.positive, heartbeat: check.interval, retry: check.interval,
  maxPayload: check.number(`a number >= ${MAX_MESSAGE}`, size => size >= MAX_MESSAGE),
  scheduler: check.scheduler
})

/**
 * The receiver of the frames of a session: a link.
 *
 * @typedef {object} SessionReceiver
 * @property {boolean} hasChannels
 * @property {(frame: any[]) => void} receive
 * @property {(problem: unknown) => void} reject called when a frame cannot be read
 * @property {() => void} resume called when a line is up, or has room again
 * @property {() => void} closeChannels
 * @property {(why: string, reason: unknown, cause: unknown) => void} fail called when the session ends
 */

export class Session {
  id = randomId()
  /** The number of the peer; 0 until it has joined. */
  peer = 0
  isOver = false
  /** @type {SessionReceiver | null} */
  receiver = null
  /** @type {FrameTransport | null} */
  #line = null
  #isJoined = false
  #isClosing = false

  // Outgoing parts. The number of the first kept part is #acknowledged + 1.
  /** @type {{ bytes: Uint8Array, isLast: boolean }[]} */
  #kept = []
  #acknowledged = 0
  /** The number of the last part that was sent over this line. */
  #sent = 0
  /** Bytes that were sent over this line and are not acknowledged. */
  #inFlight = 0
  /** The largest frame that the peer accepts, bytes. */
  #peerLimit = MAX_MESSAGE

  // Incoming parts.
  #received = 0
  /** Parts that have arrived since this end has last acknowledged parts. */
  #unacknowledged = 0
  #assembly = new Assembly()

  // Numbers of heartbeats. A page that sleeps for an hour misses only one heartbeat.
  /** Heartbeats without progress. */
  #stalled = 0
  /** Heartbeats without a sign of life over this line. */
  #quiet = 0
  /** Heartbeats since the last part of an incomplete frame. */
  #incomplete = 0
  /** Whether the peer was heard since the last progress. */
  #isHeard = false
  /** Dials without progress. */
  #attempts = 0
  /**
   * Why the last line ended or the last dial failed, as text or as an error, since the last progress.
   *
   * @type {unknown}
   */
  #problem = undefined
  /** @type {{ cancel(): boolean }} */
  #beats
  /** @type {{ cancel(): boolean } | null} */
  #pause = null

  /**
   * @param {(() => any) | null} source opens the next endpoint; null if the peer dials
   * @param {SessionOptions} options
   * @param {((session: any) => void) | null} [onNew] called when a peer that is not known has joined
   */
  constructor(source, options, onNew = null) {
    const { timeout = 60_000, retry = 10_000, maxPayload = MAX_FRAME } = options
    this.scheduler = here(options)
    this.source = source
    this.onNew = onNew
    this.timeout = timeout
    // The peer must be asked several times before the session fails.
    this.heartbeat = Math.min(options.heartbeat ?? 5000, timeout / 4)
    this.retry = retry
    this.maxPayload = maxPayload
    this.#beats = this.#nextBeat()
  }

  // --- the interface for a link

  get state() { return this.isOver ? 3 : 1 }
  get isUp() { return this.#isJoined }
  get isFull() { return this.#kept.length >= FULL }
  get isSilent() { return false }
  get isBroadcast() { return false }
  get reconnects() { return false }

  /** @param {SessionReceiver} receiver */
  listen(receiver) {
    this.receiver = receiver
  }

  /**
   * Sends a frame, over this line or a later one. It is copied: its sender may change the message.
   *
   * @param {any[]} frame
   * @throws {DOMException | RangeError} if the frame cannot be cloned, or is too large for the peer
   */
  post(frame) {
    if (this.isOver) return
    const parts = partsOf(checkedSize(encoded(frame), this.#peerLimit), PART_SIZE)
    parts.forEach((bytes, i) => this.#kept.push({ bytes, isLast: i === parts.length - 1 }))
    this.#fill()
  }

  /** Closes the channels, and ends the session when the peer has acknowledged that. */
  close() {
    if (this.isOver || this.#isClosing) return
    this.#isClosing = true
    this.receiver?.closeChannels()
    // Without a peer no message was sent, and a peer may never come.
    if (this.peer === 0 && this.#line?.state !== 1) return this.end()
    this.#ask()
    this.#endIfClosed()
  }
  /** Stops closing, because the link has channels again. */
  keepOpen() {
    this.#isClosing = false
  }
  #endIfClosed() {
    if (!this.#isClosing || this.receiver?.hasChannels || this.#kept.length > 0 || this.isOver) return
    this.#say(OVER)
    this.end()
  }

  end() {
    if (this.isOver) return
    this.isOver = true
    this.#leave()
    this.#beats.cancel()
    this.#pause?.cancel()
    this.#kept = []
    this.#assembly.clear()
    if (accepted.get(this.peer) === this) accepted.delete(this.peer)
  }
  /** Ends, and fails the channels. @param {string} why @param {unknown} [reason] @param {unknown} [cause] */
  fail(why, reason, cause) {
    if (this.isOver) return
    this.end()
    this.receiver?.fail(why, reason, cause)
  }

  // --- lines

  /**
   * Dials for the first time.
   *
   * @throws {any} the error of the dial function, if the error shows a mistake in its code; a TypeError if
   *   the function returns a value that is not an endpoint
   */
  start() {
    const mistake = this.#dial(true)
    if (mistake === undefined) return
    this.end()
    throw mistake
  }

  /** Opens the next line. @returns {unknown} a mistake in the dial function, if it must be thrown */
  #dial(isFirst = false) {
    this.#pause = null
    let endpoint = null
    try {
      endpoint = this.source?.()
    } catch (error) {
      if (isFirst && MISTAKES.includes(nameOf(error))) return error
      return void this.#retry(error)
    }
    if (typeof endpoint?.then === 'function') {
      const take = (/** @type {any} */ opened) => { this.#take(opened) }
      endpoint.then(take, (/** @type {unknown} */ error) => this.#notOpened(error))
      return
    }
    return this.#take(endpoint, isFirst)
  }
  /** A promise of an endpoint was rejected. @param {unknown} error */
  #notOpened(error) {
    // A network failure never causes a ReferenceError.
    if (nameOf(error) === 'ReferenceError') this.fail('no endpoint', undefined, error)
    else this.#retry(error)
  }
  /** @param {any} endpoint @param {boolean} [isFirst] @returns {unknown} */
  #take(endpoint, isFirst = false) {
    if (endpoint === null) return void this.#retry()
    let line
    try {
      line = new FrameTransport(endpoint)
    } catch (error) {
      if (isFirst) return error
      return void this.fail('no endpoint', error, error)
    }
    this.use(line)
  }
  /** @param {unknown} [problem] */
  #retry(problem) {
    const { scheduler, retry } = this
    this.#problem = problem ?? this.#problem
    if (this.isOver || this.source === null || this.#pause !== null) return
    const pause = Math.min(retry, MIN_RETRY * 2 ** this.#attempts++) * (1 + Math.random()) / 2
    this.#pause = extend.at(scheduler, scheduler.now() + pause, () => { this.#dial() })
  }

  /** @param {FrameTransport} line */
  use(line) {
    this.#leave()
    if (this.isOver) return shut(line)
    this.#quiet = 0
    this.#line = line
    // This listener stays, because a socket that is closed while it connects emits an error later.
    if (!line.isEventTarget) line.endpoint.on('error', ignore)
    line.listen(this)
    if (line.state > 1) this.gone('closed')
    else this.open()
  }
  open() {
    if (this.source !== null && this.#line?.state === 1) this.#greet(this.peer, false)
  }
  #leave() {
    const line = this.#line
    this.#line = null
    this.#isJoined = false
    if (line !== null) shut(line)
  }
  /** Leaves the line, which has ended or must end. @param {string} why @param {unknown} [error] */
  gone(why, error) {
    this.#leave()
    if (this.source === null && this.peer === 0) this.end()
    else this.#retry(error ?? `the line ${why}`)
  }
  closeUnreadable() {
    this.gone('carried a message that could not be read')
  }
  /** @param {unknown} problem */
  reject(problem) {
    this.gone('carried a broken frame', problem)
  }

  // --- time

  #nextBeat() {
    // This timer does not keep Node alive: the line does, or the pause before the next line.
    const { scheduler, heartbeat } = this
    return extend.at(scheduler, scheduler.now() + heartbeat, () => {
      this.#beats = this.#nextBeat()
      this.#beat()
    }, { ref: false })
  }

  #beat() {
    const { timeout, heartbeat } = this
    const isLate = (/** @type {number} */ beats) => beats * heartbeat >= timeout
    if (this.#isClosing && this.peer === 0) return this.end()
    if (isLate(++this.#stalled)) return this.#timeOut()
    if (this.#assembly.size > 0 && isLate(++this.#incomplete)) {
      return this.fail(`sent half a message in ${timeout} ms`, 'timeout')
    }
    if (this.#line !== null && ++this.#quiet > this.#maxQuiet) return this.gone('is silent')
    if (this.#isJoined && this.#kept.length === 0) this.#attempts = 0
    if (this.#quiet > 1 || this.#kept.length > 0) this.#ask()
    else if (this.#unacknowledged > 0) this.#tell()
  }
  /** How many heartbeats a line may be without a sign of life. */
  get #maxQuiet() {
    if (this.#isJoined || this.source === null) return MAX_QUIET
    return Math.max(MAX_QUIET, Math.ceil(this.retry / this.heartbeat))
  }
  #timeOut() {
    const what = this.#isHeard ? 'no progress' : 'silent'
    const problem = this.#problem
    if (problem === undefined) return this.fail(`${what} for ${this.timeout} ms`, 'timeout')
    // An error with its stack for each line would double the memory of a session that waits.
    const cause = typeof problem === 'string' ? new Error(problem) : problem
    const why = cause instanceof Error ? cause.message : check.describe(cause)
    this.fail(`${what} for ${this.timeout} ms: ${why}`, 'timeout', cause)
  }
  #progress() {
    this.#stalled = 0
    this.#isHeard = false
    this.#problem = undefined
  }

  // --- out

  /** @param {number} kind @param {...any} content */
  #say(kind, ...content) {
    if (this.#line === null || kind !== JOIN && !this.#isJoined) return
    this.#unacknowledged = 0
    try {
      this.#line.post([PROTOCOL, VERSION, kind, this.#received].concat(content))
    } catch (error) {
      this.gone('cannot send', error)
    }
  }
  /** @param {number} to @param {boolean} isAnswer */
  #greet(to, isAnswer) {
    this.#say(JOIN, this.id, to, isAnswer, probe(), this.maxPayload)
  }
  /** Acknowledges all parts that have arrived. */
  #tell() {
    this.#say(HEARD, this.#sent, false)
  }
  /** Acknowledges all parts that have arrived, and asks the peer for an acknowledgement. */
  #ask() {
    this.#say(HEARD, this.#sent, true)
  }
  /** Sends kept parts as long as the window is open. */
  #fill() {
    while (this.#isJoined && this.#sent < this.#acknowledged + this.#kept.length && this.#inFlight < WINDOW) {
      const { bytes, isLast } = this.#kept[this.#sent++ - this.#acknowledged]
      this.#inFlight += bytes.length
      this.#say(PART, this.#sent, isLast, bytes)
    }
  }

  // --- in

  /** @param {any[]} frame @returns {void} */
  receive(frame) {
    const { 1: version, 2: kind, 3: received } = frame
    const content = frame.slice(CONTENT_AT)
    if (version !== VERSION) {
      // The greeting lets the peer name both versions in its error.
      if (!this.#isJoined) this.#greet(0, true)
      return this.fail(`of version ${check.describe(version)} of the protocol, this is version ${VERSION}`)
    }
    if (!isCount(kind) || kind < JOIN) return this.#release()
    if (!isCount(received)) return this.gone('carried a broken frame')
    if (kind === JOIN) return this.#join(received, content)
    if (!this.#isJoined || !this.#acknowledge(received)) return
    if (kind === PART) this.#part(content)
    else if (kind === HEARD) this.#heard(content)
    else if (kind === OVER) this.fail('closed')
    this.#endIfClosed()
  }

  /** Called when the peer uses channels without a session: gives its endpoint to `onNew`, or fails. */
  #release() {
    if (this.onNew === null || this.peer !== 0) {
      return this.fail('it keeps no session: its end is not one of `accept`')
    }
    this.onNew(this.#detach().endpoint)
  }
  /** Ends without closing the line. @returns {FrameTransport} the line */
  #detach() {
    const line = /** @type {FrameTransport} */ (this.#line)
    line.unlisten()
    this.#line = null
    this.end()
    return line
  }

  /** @param {number} received @param {any[]} content @returns {void} */
  #join(received, content) {
    const { 0: from, 1: to, 2: isAnswer, 3: probed, 4: peerLimit } = content
    if (!isCount(from) || from === 0 || !isCount(to)) return this.gone('carried a broken frame')
    const known = this.source === null ? accepted.get(from) ?? this : this
    if (known !== this) {
      known.use(this.#detach())
      return known.#join(received, content)
    }
    if (this.peer !== 0 && from !== this.peer) return this.fail('started anew', 'restarted')
    this.#line?.greeted(probed, peerLimit, MAX_MESSAGE)
    if (to !== 0 && to !== this.id) {
      // The peer means an earlier session of this end. The answer shows the peer that the session has ended.
      this.#greet(from, true)
      return this.gone('belongs to another session')
    }
    const isNew = this.peer === 0
    const wasJoined = this.#isJoined
    this.peer = from
    if (isCount(peerLimit)) this.#peerLimit = Math.max(peerLimit, MAX_MESSAGE)
    if (!this.#acknowledge(received)) return
    this.#isJoined = true
    if (isAnswer !== true) this.#greet(from, true)
    if (!wasJoined) {
      this.#sent = this.#acknowledged
      this.#inFlight = 0
      this.#fill()
    }
    if (isNew && this.onNew !== null) {
      accepted.set(from, this)
      this.onNew(this)
    }
    if (!wasJoined) this.receiver?.resume()
    if (this.#isClosing) this.#ask()
    this.#endIfClosed()
  }

  /** @param {number} received @returns {boolean} whether the peer can have received so many parts */
  #acknowledge(received) {
    if (received > this.#acknowledged + this.#kept.length) {
      this.fail('started anew', 'restarted')
      return false
    }
    this.#quiet = 0
    this.#isHeard = true
    if (this.#kept.length === 0) this.#progress()
    const count = received - this.#acknowledged
    if (count <= 0) return true
    const wasFull = this.isFull
    const onThisLine = this.#sent - this.#acknowledged
    const parts = this.#kept.splice(0, count)
    for (let i = 0; i < Math.min(count, onThisLine); i++) this.#inFlight -= parts[i].bytes.length
    this.#acknowledged = received
    this.#sent = Math.max(this.#sent, received)
    this.#attempts = 0
    this.#progress()
    this.#fill()
    if (wasFull && !this.isFull) this.receiver?.resume()
    return true
  }

  /** @param {any[]} content @returns {void} */
  #heard({ 0: sent, 1: asks }) {
    if (!isCount(sent) || sent > this.#received) return this.gone('has lost a message')
    if (asks === true) this.#tell()
  }

  /** @param {any[]} content @returns {void} */
  #part({ 0: number, 1: isLast, 2: bytes }) {
    if (isCount(number) && number <= this.#received) return // a duplicate, or received over an earlier line
    if (number !== this.#received + 1) return this.gone('has lost a message')
    if (typeof isLast !== 'boolean' || !isBytes(bytes)) return this.gone('carried a broken frame')
    this.#received++
    this.#unacknowledged++
    this.#incomplete = 0
    try {
      this.#assembly.add(bytesOf(bytes), this.maxPayload)
    } catch (error) {
      return this.fail('sent too large a message', error, error)
    }
    if (isLast) this.#receiveFrame(this.#assembly.take())
    // The sender of a large frame waits for acknowledgements. The answer to a small frame acknowledges it.
    if (!isLast || this.#unacknowledged >= ACKNOWLEDGED) this.#tell()
  }
  /** @param {Uint8Array} bytes */
  #receiveFrame(bytes) {
    let frame
    try {
      frame = frameIn(bytes)
    } catch (error) {
      return this.receiver?.reject(error)
    }
    this.receiver?.receive(frame)
  }

  static {
    // Engines without explicit resource management lack this symbol.
    const { dispose } = /** @type {any} */ (Symbol)
    if (dispose) {
      const value = /** @this {Session} */ function () { this.close() }
      Object.defineProperty(this.prototype, dispose, extend.hiddenProperty(value))
    }
  }
}

/** Names of the errors that show a mistake in the code of a dial function, and not a network failure. */
const MISTAKES = ['ReferenceError', 'SyntaxError', 'TypeError']

/** @param {any} error may be a DOMException, for example for a wrong address */
const nameOf = error => error instanceof Error ? error.name : ''

const ignore = () => {}

/** Closes a line, which belongs to its session. @param {FrameTransport} line */
function shut(line) {
  const { endpoint } = line
  line.unlisten()
  if (endpoint === globalThis) return
  try {
    (endpoint.close ?? endpoint.terminate ?? endpoint.disconnect)?.call(endpoint)
  } catch {
    // The endpoint has ended.
  }
}
