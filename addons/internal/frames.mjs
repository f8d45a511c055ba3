/**
 * addons/internal/frames.mjs: frames over endpoints of every kind. The protocol of channels and sessions is
 * version 2 of what this file puts on the wire.
 *
 * A frame is an array. Its first three elements are the same in every version:
 *
 *   ['rt.mjs', version, kind, ...content]
 *
 * An endpoint that clones messages carries frames unchanged. Any other endpoint carries bytes, or bytes in
 * base64. Each message is then one part of a frame:
 *
 *   'rt.mjs' | version, 1 byte | position of the part, 1 byte | bytes of the frame (bytes.mjs)
 *
 * Words:
 * - part: a slice of the bytes of a frame, so large that its message has at most 64 KiB. Most frames have one
 * - position: MORE if another part follows, CONTINUES if the part is not the first one
 * - treatment: how an endpoint changes messages: it clones them, takes bytes, or takes text
 * - greeting: the first frame from a peer. It shows the treatment, and names the largest frame that the peer
 *   accepts
 *
 * Invariants:
 * 1. No message over a socket has more than 64 KiB, whatever the size of the frame: every RTCDataChannel
 *    accepts it, it is a sign of life on a slow line, and the limits of servers are larger.
 * 2. A frame has at most 64 KiB before the greeting, and `limit` bytes after it. A small part counts as
 *    1 KiB, so that a stranger cannot fill the memory with many of them.
 * 3. A frame that cannot be read changes nothing besides the incomplete frame that it belonged to.
 * 4. Frames that arrive while another frame is being posted are handled afterwards.
 *
 * @module frames
 */

import { extend } from '../../rt.mjs'
import {
  NONE, bytesOf, decoded, encoded, isBytes, isCount, joined, kindOf, lengthOf, unpacked
} from './bytes.mjs'
import { Transport } from './endpoints.mjs'
import { PROTOCOL } from './threads.mjs'

export const VERSION = 2

// Kinds of frames. connect.mjs explains the frames of channels, sessions.mjs those of sessions.
export const HELLO = 1
export const DATA = 2
export const DONE = 3
export const WITHDRAW = 4
export const ASK = 5
export const WANT = 6
export const CLOSE = 7
export const REFUSE = 8
export const JOIN = 9
export const PART = 10
export const HEARD = 11
export const OVER = 12
/** Kinds of frames that greet the peer. */
const GREETINGS = [HELLO, JOIN]

/** The index of the message in a frame that has one. */
export const MESSAGE_AT = 6
/** Replaces a message, or a kind, that cannot be read. */
export const UNREADABLE = /* @__PURE__ */ Symbol('unreadable')

/** Maximum size of a message over a socket, bytes. */
export const MAX_MESSAGE = 2 ** 16
/** Default of the largest frame that is accepted, bytes. */
export const MAX_FRAME = 2 ** 25
/** Bytes that are counted at least for a part of an incomplete frame, because its object takes as much. */
const MIN_COST = 2 ** 10

// Positions of parts.
const MORE = 1
const CONTINUES = 2

// Treatments.
export const CLONES = 'clones'
const TAKES_BYTES = 'takes bytes'
const TAKES_TEXT = 'takes text'

/**
 * The receiver of frames: a link or a session.
 *
 * @typedef {object} Receiver
 * @property {() => void} open called when the endpoint has opened
 * @property {(frame: any[]) => void} receive
 * @property {(problem: unknown) => void} reject called when a frame cannot be read
 * @property {(why: string, error?: unknown) => void} gone called when the endpoint has ended
 * @property {() => void} closeUnreadable called when the platform cannot read a message
 * @property {(isLast: boolean) => void} [expectPart] called with each part of a frame that has several
 */

/** The states of an RTCDataChannel, by the numbers of a WebSocket. */
const STATES = ['connecting', 'open', 'closing', 'closed']

/** Whether a frame is being posted. Endpoints without delay deliver the answer within the call. */
let isPosting = false

/** Carries frames over one endpoint. */
export class FrameTransport extends Transport {
  /** The treatment of messages; null until the peer has greeted. @type {string | null} */
  treatment
  /** The largest frame that is accepted, bytes. */
  limit = MAX_MESSAGE
  /** The largest frame that the peer accepts, bytes. */
  peerLimit = MAX_MESSAGE
  #assembly = new Assembly()
  /** Messages that arrived while a frame was posted. */
  #late = 0
  /** The last 'error' event of the endpoint. @type {unknown} */
  #error = undefined
  /** @type {Receiver | null} */
  #receiver = null

  /** @param {any} endpoint @throws {TypeError} if it is not an endpoint, or loses or reorders messages */
  constructor(endpoint) {
    super(endpoint)
    const { ordered, maxRetransmits, maxPacketLifeTime } = endpoint
    // An RTCDataChannel has null or undefined where it has no limit.
    if (ordered === false || typeof (maxRetransmits ?? maxPacketLifeTime) === 'number') {
      throw extend.check.wrongType('endpoint', 'ordered and reliable', endpoint)
    }
    this.isSocket = this.way === 'send' && ('binaryType' in endpoint || 'readyState' in endpoint)
    this.treatment = this.isSocket ? TAKES_BYTES : null
  }

  /** 0 while the endpoint connects, 1 while it is open, larger afterwards. */
  get state() {
    const { readyState = 1 } = this.endpoint
    return typeof readyState === 'number' ? readyState : STATES.indexOf(readyState)
  }
  get isUp() { return true }
  get isFull() { return false }
  /** Whether a channel name can have more than two ends. */
  get isBroadcast() { return this.kind === 'BroadcastChannel' }
  /** Whether the endpoint can connect again: sockets of socket.io do. */
  get reconnects() { return this.way === 'emit' || 'disconnected' in this.endpoint }
  /** Whether the parts of a frame have arrived without its last part. */
  get isIncomplete() { return this.#assembly.size > 0 }
  dropIncomplete() {
    this.#assembly.clear()
  }

  /** @param {Receiver} receiver */
  listen(receiver) {
    this.#receiver = receiver
    this.#error = undefined
    const { endpoint } = this
    // A Blob could only be read later, after frames that arrive after it.
    if (this.isSocket && 'binaryType' in endpoint) endpoint.binaryType = 'arraybuffer'
    this.add('open', () => receiver.open())
    // An emitter of Node throws an 'error' event that has no listener. A socket reports its end by 'close'
    // as well.
    if (this.isSocket && !this.isEventTarget) this.add('error', error => { this.#error = error })
    super.listen({
      receive: message => this.#receive(message),
      gone: (why, error) => receiver.gone(why, error ?? this.#error),
      closeUnreadable: () => receiver.closeUnreadable()
    })
  }
  unlisten() {
    super.unlisten()
    this.#receiver = null
  }

  /**
   * Handles the greeting of the peer: from now on, frames are sent as the endpoint treats messages.
   *
   * @param {unknown} probe a value of the greeting; its form at this end shows the treatment
   * @param {unknown} peerLimit the largest frame that the peer accepts, bytes
   * @param {number} limit the largest frame that this end accepts, bytes
   */
  greeted(probe, peerLimit, limit) {
    this.treatment ??= treatmentBy(probe)
    if (isCount(peerLimit)) this.peerLimit = Math.max(peerLimit, MAX_MESSAGE)
    this.limit = limit
  }

  // --- out

  /**
   * @param {any[]} frame @param {any[]} [transfer] the objects to transfer, if the endpoint clones
   * @throws {DOMException | RangeError | Error} if the frame cannot be cloned, is too large for the peer,
   *   or the endpoint throws
   */
  post(frame, transfer) {
    const { treatment } = this
    const outer = isPosting
    isPosting = true
    try {
      const isUnknown = treatment === null || GREETINGS.includes(frame[2]) && !this.isSocket
      if (isUnknown || treatment === CLONES) return this.#send(frame, transfer)
      const chunks = checkedSize(encoded(frame), this.peerLimit)
      const parts = partsOf(chunks, MAX_MESSAGE - PREFIX.length, PREFIX.length)
      for (let i = 0; i < parts.length; i++) {
        const part = parts[i]
        part.set(PREFIX)
        part[PREFIX.length - 1] = (i > 0 ? CONTINUES : 0) + (i < parts.length - 1 ? MORE : 0)
        this.#send(treatment === TAKES_TEXT ? toBase64(part) : part)
      }
    } finally {
      isPosting = outer
    }
  }

  /**
   * A socket that is closing fires 'close' only later. Until then, browsers warn about each message.
   *
   * @param {any} message @param {any[]} [transfer]
   */
  #send(message, transfer) {
    if (this.state > 1) this.#receiver?.gone('closed')
    else super.post(message, transfer)
  }

  // --- in

  /** @param {any} message */
  #receive(message) {
    if (!isPosting && this.#late === 0) return extend.event(() => this.#take(message))
    this.#late++
    queueMicrotask(() => {
      this.#late--
      this.#take(message)
    })
  }

  /** @param {any} message a frame, a part of a frame, or a message of other code, which is ignored */
  #take(message) {
    const receiver = this.#receiver
    if (receiver === null) return
    let frame = null
    try {
      if (Array.isArray(message)) frame = message[0] === PROTOCOL ? message : null
      else {
        const bytes = bytesIn(message)
        if (bytes !== null && startsPart(bytes)) frame = this.#assemble(bytes)
      }
    } catch (error) {
      this.#assembly.clear()
      return receiver.reject(error)
    }
    if (frame !== null) receiver.receive(frame)
  }

  /** @param {Uint8Array} part @returns {any[] | null} the frame, if it is complete @throws {Error} */
  #assemble(part) {
    if (part.length > MAX_MESSAGE) throw tooLong(part)
    const { [PREFIX.length - 2]: version, [PREFIX.length - 1]: position } = part
    if (version !== VERSION) return [PROTOCOL, version, UNREADABLE]
    if (position > (MORE | CONTINUES)) throw new SyntaxError('a part must have a known position')
    const assembly = this.#assembly
    const isFirst = (position & CONTINUES) === 0
    if (isFirst === this.isIncomplete) {
      assembly.clear()
      // A first part starts a new frame, although the previous frame is lost.
      const problem = new SyntaxError('a part of a frame is missing')
      if (!isFirst) throw problem
      this.#receiver?.reject(problem)
    }
    assembly.add(part.subarray(PREFIX.length), this.limit)
    const isLast = (position & MORE) === 0
    if (!isFirst || !isLast) this.#receiver?.expectPart?.(isLast)
    return isLast ? frameIn(assembly.take()) : null
  }
}

// ---------------------------------------------------------------------------------------- frames and parts

/** Puts the parts of a frame together. */
export class Assembly {
  /** @type {Uint8Array[]} */
  #parts = []
  /** Bytes of all parts, at least MIN_COST for each part; 0 if no part has arrived. */
  size = 0

  /** @param {Uint8Array} part @param {number} limit the maximum size of all parts @throws {RangeError} */
  add(part, limit) {
    this.size += Math.max(part.length, MIN_COST)
    // The last part of the largest frame can be small.
    if (this.size > limit + MIN_COST) throw new RangeError(`a frame must have at most ${limit} bytes`)
    this.#parts.push(part)
  }
  /** Returns the bytes of all parts, and forgets the parts. */
  take() {
    const bytes = joined(this.#parts)
    this.clear()
    return bytes
  }
  clear() {
    this.size = 0
    this.#parts = []
  }
}

/** @param {Uint8Array} bytes all bytes of a frame @returns {any[]} @throws {Error} if there is no frame */
export function frameIn(bytes) {
  const { values: frame, take } = decoded(bytes)
  try {
    frame[MESSAGE_AT] = unpacked(frame[MESSAGE_AT], take)
  } catch {
    frame[MESSAGE_AT] = UNREADABLE
  }
  return frame
}

/**
 * Copies chunks of bytes into parts.
 *
 * @param {Uint8Array[]} chunks @param {number} size the maximum size of a part, bytes
 * @param {number} [reserved] free bytes at the start of each part, in addition to `size`
 * @returns {Uint8Array[]}
 */
export function partsOf(chunks, size, reserved = 0) {
  const total = lengthOf(chunks)
  const parts = Array.from({ length: Math.max(1, Math.ceil(total / size)) },
    (_, i) => new Uint8Array(reserved + Math.min(size, total - i * size)))
  let index = 0
  let end = reserved
  chunks.forEach(chunk => {
    for (let from = 0; from < chunk.length;) {
      if (end === parts[index].length) {
        index++
        end = reserved
      }
      const piece = chunk.subarray(from, from + parts[index].length - end)
      parts[index].set(piece, end)
      end += piece.length
      from += piece.length
    }
  })
  return parts
}

/**
 * @param {Uint8Array[]} chunks all bytes of a frame
 * @param {number} limit the largest frame that the peer accepts, bytes
 * @returns {Uint8Array[]} the chunks
 * @throws {RangeError} if they are larger
 */
export function checkedSize(chunks, limit) {
  const size = lengthOf(chunks)
  if (size <= limit) return chunks
  throw new RangeError(`the message has ${size} bytes, but the peer accepts ${limit}: set maxPayload there`)
}

/** The first bytes of a part; the last one is replaced by the position of the part. */
const PREFIX = /* @__PURE__ */ (() => {
  const prefix = new Uint8Array(PROTOCOL.length + 2)
  for (let i = 0; i < PROTOCOL.length; i++) prefix[i] = PROTOCOL.charCodeAt(i)
  prefix[PROTOCOL.length] = VERSION
  return prefix
})()

/** @param {Uint8Array} bytes @returns {boolean} whether they are a part, of any version */
function startsPart(bytes) {
  if (bytes.length < PREFIX.length) return false
  for (let i = 0; i < PROTOCOL.length; i++) if (bytes[i] !== PREFIX[i]) return false
  return true
}

// -------------------------------------------------------------------------------------- treatment and text

/** A value that shows, when it has arrived, how an endpoint treats messages. */
export const probe = () => [new Uint8Array(1), new Map()]

/** @param {any} probed a probe that has arrived @returns {string} */
function treatmentBy(probed) {
  const { 0: bytes, 1: map } = Array.isArray(probed) ? probed : NONE
  return kindOf(map) === 'Map' ? CLONES : isBytes(bytes) ? TAKES_BYTES : TAKES_TEXT
}

/** Maximum size of a message in base64, characters. */
const MAX_TEXT = /* @__PURE__ */ (() => Math.ceil(MAX_MESSAGE / 3) * 4)()
/** @param {string | Uint8Array} message */
const tooLong = ({ length }) =>
  new RangeError(`a message must have at most ${MAX_MESSAGE} bytes, got ${length}`)

/** The prefix of a part in base64. */
const TEXT_PREFIX = /* @__PURE__ */ btoa(PROTOCOL)

/**
 * @param {any} message @returns {Uint8Array | null} the bytes of the message; null if it cannot be a part
 * @throws {DOMException | RangeError} if it is not base64, or too long
 */
function bytesIn(message) {
  if (isBytes(message)) return bytesOf(message)
  if (typeof message !== 'string' || !message.startsWith(TEXT_PREFIX)) return null
  if (message.length > MAX_TEXT) throw tooLong(message)
  const binary = atob(message)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** Maximum number of arguments of one call; engines limit it. */
const MAX_ARGUMENTS = 2 ** 13
/** @param {Uint8Array} bytes */
function toBase64(bytes) {
  let binary = ''
  for (let i = 0; i < bytes.length; i += MAX_ARGUMENTS) {
    const codes = /** @type {any} */ (bytes.subarray(i, i + MAX_ARGUMENTS))
    binary += Reflect.apply(String.fromCharCode, String, codes)
  }
  return btoa(binary)
}
