import { createHash, randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'

/**
 * The WebSocket protocol (RFC 6455) for Node, limited to the needs of the examples and the tests: no
 * extensions and no subprotocols.
 */

const SECRET = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const CONTINUATION = 0
const TEXT = 1
const BINARY = 2
const CLOSE = 8
const PING = 9
const PONG = 10

const NORMAL = 1000
const GONE = 1006
const PROTOCOL_ERROR = 1002
const NO_TEXT = 1007
const TOO_LONG = 1009

/** Maximum number of fragments of one message. Each fragment costs memory, even an empty one. */
const MAX_FRAGMENTS = 2 ** 14
/** Maximum number of pongs that wait to be sent. A peer that reads its pongs stays far below. */
const MAX_PONGS = 256

/** Whether a close frame may carry this code (RFC 6455, section 7.4). @param {number} code */
const isCloseCode = code =>
  code >= 1000 && code <= 1003 || code >= 1007 && code <= 1014 || code >= 3000 && code <= 4999

/** Returns the `sec-websocket-accept` header for a client's key. @param {string} key */
export const answerTo = key => createHash('sha1').update(key + SECRET).digest('base64')

/**
 * Takes over the connection of an upgrade: `server.on('upgrade', (request, socket, head) => ...)`. Rejects
 * requests that are not WebSocket upgrades, and pages of other origins.
 *
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:stream').Duplex} socket
 * @param {Buffer} head
 * @param {{ anyOrigin?: boolean }} [options]
 * @returns {WebSocketConnection | undefined}
 */
export function acceptWebSocket(request, socket, head, { anyOrigin = false } = {}) {
  const { upgrade = '', origin, host } = request.headers
  const { 'sec-websocket-key': key, 'sec-websocket-version': version } = request.headers
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  const isAllowed = anyOrigin || isOwn
  if (upgrade.toLowerCase() !== 'websocket' || typeof key !== 'string' || version !== '13' || !isAllowed) {
    socket.on('error', () => socket.destroy()) // without a listener, a reset ends the process
    socket.end(`HTTP/1.1 ${isAllowed ? '400 Bad Request' : '403 Forbidden'}\r\nconnection: close\r\n\r\n`)
    return undefined
  }
  socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n' +
    `sec-websocket-accept: ${answerTo(key)}\r\n\r\n`)
  return new WebSocketConnection(socket, head, { isClient: false })
}

/**
 * @typedef {{ opcode: number, isLast: boolean, mask: Buffer | null, payload: Uint8Array, filled: number }}
 *   Frame `filled`: number of bytes of the payload that have arrived
 */

/**
 * One end of a connection. Emits 'message' with a string or an ArrayBuffer, and 'close' once, with the code.
 */
export class WebSocketConnection extends EventEmitter {
  /** The state of the connection, as in browsers: 1 open, 2 closing, 3 closed. */
  readyState = 1
  #socket
  #isClient
  #mostBytes
  #code = GONE

  // The frame that is being read: first its header, then its payload, which has its own memory.
  #header = Buffer.alloc(0)
  /** @type {Frame | null} */
  #frame = null
  // The message that is being read, if it has several frames.
  /** @type {Uint8Array[]} */
  #pieces = []
  #opcode = 0
  #length = 0
  // Pongs that wait to be sent.
  #pongs = 0

  /**
   * @param {import('node:stream').Duplex & { setNoDelay?: (noDelay: boolean) => unknown }} socket
   * @param {Buffer} head the bytes that the HTTP server has already read
   * @param {{ isClient: boolean, mostBytes?: number }} options
   */
  constructor(socket, head, { isClient, mostBytes = 2 ** 26 }) {
    super()
    this.#socket = socket
    this.#isClient = isClient
    this.#mostBytes = mostBytes
    socket.setNoDelay?.(true)
    socket.on('data', chunk => this.#read(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      this.readyState = 3
      this.emit('close', this.#code)
    })
    // Read the head after the caller has added its listeners.
    if (head.length > 0) setImmediate(() => this.#read(head))
  }

  /** Bytes that wait to be sent. */
  get bufferedAmount() { return this.#socket.writableLength }

  /** @param {string | ArrayBuffer | ArrayBufferView} message */
  send(message) {
    if (this.readyState !== 1) return
    if (typeof message === 'string') this.#write(TEXT, Buffer.from(message))
    else if (ArrayBuffer.isView(message)) {
      this.#write(BINARY, Buffer.from(message.buffer, message.byteOffset, message.byteLength))
    } else this.#write(BINARY, Buffer.from(message))
  }

  /**
   * Sends a close frame and ends the connection. Messages that arrive later are ignored.
   *
   * @param {number} [code] the close code; default 1000
   * @throws {RangeError} if a close frame must not carry the code
   */
  close(code = NORMAL) {
    if (!Number.isInteger(code) || !isCloseCode(code)) {
      throw new RangeError(`code must be 1000-1003, 1007-1014 or 3000-4999, got ${code}`)
    }
    if (this.readyState !== 1) return
    this.readyState = 2
    this.#frame = null
    this.#pieces = []
    this.#code = code
    this.#write(CLOSE, Buffer.from([code >> 8, code & 0xFF]))
    this.#socket.end()
  }

  /** Ends the connection without a close frame, as a crash does. */
  terminate() {
    if (this.readyState === 1) this.readyState = 2
    this.#socket.destroy()
  }

  /** @param {number} opcode @param {Buffer} payload @param {() => void} [sent] */
  #write(opcode, payload, sent) {
    const { length } = payload
    const extended = length < 126 ? 0 : length < 0x10000 ? 2 : 8
    const header = Buffer.alloc(2 + extended + (this.#isClient ? 4 : 0))
    header[0] = 0x80 | opcode
    header[1] = (this.#isClient ? 0x80 : 0) | (extended === 0 ? length : extended === 2 ? 126 : 127)
    if (extended === 2) header.writeUInt16BE(length, 2)
    else if (extended === 8) header.writeBigUInt64BE(BigInt(length), 2)
    let body = payload
    if (this.#isClient) {
      const mask = randomBytes(4)
      mask.copy(header, header.length - 4)
      body = Buffer.from(payload)
      unmask(body, mask)
    }
    if (length < 1024) this.#socket.write(Buffer.concat([header, body]), sent)
    else {
      this.#socket.cork()
      this.#socket.write(header)
      this.#socket.write(body, sent)
      this.#socket.uncork()
    }
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    while (this.readyState === 1) {
      if (this.#frame === null) {
        this.#header = this.#header.length > 0 ? Buffer.concat([this.#header, chunk]) : chunk
        chunk = this.#readHeader()
        if (this.#frame === null) return
      }
      const { payload, filled } = this.#frame
      const count = Math.min(payload.length - filled, chunk.length)
      payload.set(chunk.subarray(0, count), filled)
      this.#frame.filled += count
      chunk = chunk.subarray(count)
      if (this.#frame.filled < payload.length) return
      const frame = this.#frame
      this.#frame = null
      if (frame.mask !== null) unmask(payload, frame.mask)
      this.#take(frame)
    }
  }

  /** @returns {Buffer} the bytes after the header */
  #readHeader() {
    const header = this.#header
    const missing = Buffer.alloc(0)
    if (header.length < 2) return missing
    const short = header[1] & 0x7F
    const isMasked = header[1] >= 0x80
    const offset = short < 126 ? 2 : short === 126 ? 4 : 10
    const end = offset + (isMasked ? 4 : 0)
    const opcode = header[0] & 0x0F
    if (header[0] & 0x70 || isMasked === this.#isClient || opcode > 7 && (short > 125 || header[0] < 0x80)) {
      return this.#fail(PROTOCOL_ERROR)
    }
    if (header.length < end) return missing
    const long = () => Number(header.readBigUInt64BE(2))
    const length = short < 126 ? short : short === 126 ? header.readUInt16BE(2) : long()
    if (length + this.#length > this.#mostBytes) return this.#fail(TOO_LONG)
    this.#frame = {
      opcode, isLast: header[0] >= 0x80, mask: isMasked ? header.subarray(offset, end) : null,
      payload: new Uint8Array(length), filled: 0
    }
    this.#header = missing
    return header.subarray(end)
  }

  /** @param {Frame} frame */
  #take({ opcode, isLast, payload }) {
    switch (opcode) {
      case PING:
        // While the peer reads, the system takes a pong immediately. Count only pongs that wait behind other
        // bytes.
        if (this.bufferedAmount === 0) return this.#write(PONG, Buffer.from(payload))
        if (this.#pongs === MAX_PONGS) return this.terminate()
        this.#pongs++
        return this.#write(PONG, Buffer.from(payload), () => { this.#pongs-- })
      case PONG:
        return
      case CLOSE: {
        if (payload.length === 0) return this.close()
        const code = payload.length > 1 ? payload[0] << 8 | payload[1] : 0
        if (isCloseCode(code)) this.close(code)
        else this.#fail(PROTOCOL_ERROR)
        return
      }
      case TEXT:
      case BINARY:
        if (this.#opcode !== 0) return void this.#fail(PROTOCOL_ERROR)
        this.#opcode = opcode
        break
      default:
        if (opcode !== CONTINUATION || this.#opcode === 0) return void this.#fail(PROTOCOL_ERROR)
    }
    if (this.#pieces.length === MAX_FRAGMENTS) return void this.#fail(TOO_LONG)
    this.#pieces.push(payload)
    this.#length += payload.length
    if (!isLast) return
    const pieces = this.#pieces
    const isText = this.#opcode === TEXT
    this.#pieces = []
    this.#opcode = this.#length = 0
    const whole = pieces.length === 1 ? pieces[0] : Uint8Array.from(Buffer.concat(pieces))
    if (!isText) return void this.emit('message', whole.buffer)
    let text
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole)
    } catch {
      return void this.#fail(NO_TEXT)
    }
    this.emit('message', text)
  }

  /** @param {number} code */
  #fail(code) {
    this.close(code)
    this.#socket.destroySoon?.()
    return Buffer.alloc(0)
  }
}

/** @param {Uint8Array} bytes changed in place @param {Uint8Array} mask 4 bytes */
function unmask(bytes, mask) {
  let i = 0
  if (bytes.byteOffset % 4 === 0) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2)
    const word = new Int32Array(Uint8Array.from(mask).buffer)[0]
    for (let at = 0; at < words.length; at++) words[at] ^= word
    i = words.length * 4
  }
  for (; i < bytes.length; i++) bytes[i] ^= mask[i & 3]
}
