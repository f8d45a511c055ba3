/**
 * addons/internal/endpoints.mjs: one interface for all endpoints, and the objects that messages transfer.
 *
 * An endpoint is an object of the platform or of a library that carries messages to a peer, for example a
 * Worker, a MessagePort, a WebSocket or a child process. It has `postMessage`, `send` or `emit`, and
 * `addEventListener` or `on`. A Transport wraps an endpoint: it listens, posts, and knows how the endpoint
 * reports its end. A silent endpoint does not report the end of the peer's thread, so a lock must report it
 * (threads.mjs).
 *
 * Invariants:
 * 1. A transport closes no endpoint, and `unlisten` removes every listener that `listen` has added.
 * 2. A value is transferred only if the caller lists it, or if copying it is expensive or impossible.
 */

import { extend } from '../../rt.mjs'
import { NONE, kindOf } from './bytes.mjs'
import { sequence } from './sequences.mjs'

/**
 * Wraps an endpoint of any shape: with `postMessage`, `send` or `emit`, and with `addEventListener` or `on`.
 */
export class Transport {
  /** @type {(() => void)[]} */
  #endings = []
  /** @type {(error: Error | null) => void} */
  #sent = () => {}

  /** @param {any} endpoint @throws {TypeError} if the object is not an endpoint */
  constructor(endpoint) {
    const has = (/** @type {string} */ method) => typeof endpoint?.[method] === 'function'
    const way = ['postMessage', 'send', 'emit'].find(has)
    const refuse = (/** @type {string} */ wanted) => {
      throw extend.check.wrongType('endpoint', wanted, endpoint)
    }
    if (way === undefined || !has('addEventListener') && !has('on')) {
      refuse('an object with postMessage, send or emit, and with addEventListener or on')
    }
    if (endpoint.window === endpoint) refuse('no window (send it a MessagePort, and take the other one)')
    this.endpoint = endpoint
    this.way = way
    this.kind = platformKindOf(endpoint)
    /**
     * Whether listeners get events. `on` is preferred, because its listeners get the message itself. No
     * object of the DOM has `on`, `ws` has both, and for socket.io `addEventListener` is another name of
     * `on`.
     */
    this.isEventTarget = !has('on')
    /** Whether the endpoint is a process of Node, whose `send` throws errors later without a callback. */
    this.isProcess = way === 'send' && typeof (endpoint.process ?? endpoint).pid === 'number'
    /**
     * Whether the platform does not report the end of the peer, so that a lock must report it. Locks of
     * another process are invisible.
     */
    this.isSilent = SILENT.includes(this.kind) && !has('unref') && !this.isProcess &&
      globalThis.navigator?.locks !== undefined
  }

  /**
   * @param {{ receive(message: any): unknown, gone(why: string, reason?: unknown): unknown,
   *   closeUnreadable(): unknown }} link
   */
  listen(link) {
    const { endpoint, isEventTarget } = this
    const gone = (/** @type {string} */ why) => link.gone(why)
    this.#sent = error => { if (error) link.gone('nothing can be sent', error) }
    this.add('message', event => link.receive(isEventTarget ? event?.data : event))
    this.add('messageerror', () => link.closeUnreadable())
    this.add('close', event => gone(closedWith(isEventTarget ? event?.code : event)))
    if (isEventTarget) {
      // An error without a message: its script could not be loaded. Other errors do not end a worker.
      if (this.kind === 'Worker') {
        this.add('error', event => event.message === undefined && gone('did not load'))
      }
      endpoint.start?.()
      return
    }
    this.add('disconnect', () => gone('disconnected'))
    this.add('exit', code => gone(typeof code === 'number' ? `ended with exit code ${code}` : 'ended'))
  }

  /** @param {string} type @param {(event: any) => unknown} listener */
  add(type, listener) {
    const { endpoint } = this
    const { add, removals } = this.isEventTarget ? EVENT_TARGET : EMITTER
    const remove = removals.find(name => endpoint[name])
    extend.markInternal(listener)
    endpoint[add](type, listener)
    this.#endings.push(() => { if (remove !== undefined) endpoint[remove](type, listener) })
  }

  unlisten() {
    this.#endings.splice(0).forEach(end => { end() })
    if (this.kind === 'MessagePort') drain(this.endpoint)
  }

  /** @param {any} message @param {any[]} transfer */
  post(message, transfer = NONE) {
    const { endpoint } = this
    if (transfer.length > 0) endpoint.postMessage(message, sequence(transfer))
    else if (this.way === 'emit') endpoint.emit('message', message)
    else if (this.isProcess) endpoint.send(message, this.#sent)
    else endpoint[/** @type {string} */ (this.way)](message)
  }
}

// The method that adds a listener, and the methods that can remove the listener.
const EVENT_TARGET = { add: 'addEventListener', removals: ['removeEventListener'] }
const EMITTER = { add: 'on', removals: ['off', 'removeListener'] }

/**
 * Drops the frames that are on their way when a link ends. A port of Node without a listener keeps such
 * frames in its queue, and while the queue is not empty, the port does not notice that its peer closes. Ports
 * of browsers drop the frames as well.
 *
 * @param {any} port
 */
function drain(port) {
  if (typeof port.listenerCount !== 'function' || port.listenerCount('message') > 0) return
  const drop = () => {}
  port.on('message', drop)
  const stop = () => { port.off('message', drop) }
  extend.markInternal(stop)
  setTimeout(stop, DRAIN)
}
/** Time for which a port without a link drops messages, ms. A frame arrives in less than 1 ms. */
const DRAIN = 50

/** @param {unknown} code the code of a 'close' event, if the endpoint is a WebSocket */
function closedWith(code) {
  if (typeof code !== 'number' || code < 1000) return 'closed'
  return `closed with code ${code}${code === 1009 ? ', message too big' : ''}`
}

/** Kinds of endpoints that fire no event in browsers when the peer's thread ends. */
const SILENT = ['Worker', 'MessagePort', 'BroadcastChannel', 'DedicatedWorkerGlobalScope']

/**
 * The name of an object's kind; for objects of Node, the name of the constructor.
 *
 * @param {any} object @returns {string}
 */
export function platformKindOf(object) {
  const kind = kindOf(object)
  return kind === 'EventTarget' || kind === 'Object' ? String(object.constructor?.name) : kind
}

// ------------------------------------------------------------------------------------------------- transfer

/**
 * Calls `act` with the objects to transfer: the given objects, or all objects that are expensive or
 * impossible to copy. Some buffers cannot be transferred, for example the buffer of a WebAssembly.Memory; if
 * a transfer fails for this reason, `act` is called again without objects.
 *
 * @param {any[]} values @param {any[] | undefined} given @param {(transfer: any[]) => any} act
 * @returns {any} the result of `act`
 */
export function transferring(values, given, act) {
  const chosen = given ?? transferablesIn(values)
  try {
    return act(chosen)
  } catch (error) {
    if (given !== undefined || chosen.length === 0) throw error
    return act(NONE)
  }
}

/**
 * @param {any[]} values @param {any[]} [found]
 * @returns {any[]} the transferable values among `values`, their elements and their properties
 */
export function transferablesIn(values, found) {
  const all = found ?? []
  values.forEach(value => {
    const own = transferableIn(value)
    if (own !== null && !all.includes(own)) all.push(own)
    if (own !== null || found !== undefined || !HAVE_PARTS.includes(kindOf(value))) return
    transferablesIn(Object.values(value), all)
  })
  return all
}

/** @param {any} value @returns {any} */
function transferableIn(value) {
  if (typeof value !== 'object' || value === null) return null
  // A view of only a part of a buffer is copied, because the sender keeps the rest.
  const isWhole = ArrayBuffer.isView(value) && value.byteLength === value.buffer.byteLength
  const whole = isWhole ? value.buffer : value
  const kind = platformKindOf(whole)
  if (kind === 'ArrayBuffer') return whole.byteLength >= LARGE ? whole : null
  return ALWAYS_TRANSFERRED.includes(kind) ? whole : null
}

/** Buffers of this size and more are transferred rather than copied, bytes. */
const LARGE = 2 ** 16

/** Kinds of objects that are useless in the thread of their sender. */
const ALWAYS_TRANSFERRED = [
  'MessagePort', 'OffscreenCanvas', 'ImageBitmap', 'ReadableStream', 'WritableStream', 'TransformStream',
  'RTCDataChannel', 'MediaStreamTrack'
]

/** Kinds of values whose elements or properties can be transferred. */
const HAVE_PARTS = ['Array', 'Object']

/** Kinds of objects that can be transferred or cloned. */
export const CLONED = ['ArrayBuffer', 'ImageBitmap', 'VideoFrame', 'AudioData']

/** @param {string} name @param {unknown} value @throws {TypeError} if `value` is not an array */
export function anArray(name, value) {
  if (!Array.isArray(value)) throw extend.check.wrongType(name, 'an array', value)
}
