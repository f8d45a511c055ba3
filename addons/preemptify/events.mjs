/**
 * addons/preemptify/events.mjs: twins of `emit` and `dispatchEvent` in Node.
 *
 * Both call listeners while their caller waits. A twin has to know all listeners, because they run in order.
 * Node keeps them in properties; browsers reveal none, so their `dispatchEvent` stays atomic.
 */

import { budget, extend } from '../../rt.mjs'
import { give } from './builtins.mjs'
import {
  apply, bare, emptyWeakMap, find, getOwnPropertyDescriptor, getPrototypeOf, isArray, isBefore, isObject,
  matches, ownKeys, push, realm, sourceOf
} from './primordials.mjs'
import { callerJob, entryPointOf, recordOf, run, suspended } from './run.mjs'

const { counts } = extend.code

/** @param {any} object @param {string} name @returns {any} the own symbol with this description */
const symbolOf = (object, name) =>
  find(ownKeys(object), key => typeof key === 'symbol' && key.description === name)

/**
 * Calls a listener preemptibly.
 *
 * @param {any} listener @param {any} self @param {any[]} args @returns {Generator<any, any, any>}
 */
function* callListener(listener, self, args) {
  const result = apply(entryPointOf(listener), self, args)
  return result === budget ? yield suspended() : result
}

// EventEmitter

/** The wrappers of `once` whose listener a twin has called. @type {WeakMap<Function, true>} */
const fired = /* @__PURE__ */ emptyWeakMap()

/** The wrapper of `once` since Node 24; before, it is a bound function. */
const WRAPPER = /^function wrapper\(\.{3}args\) \{\s*if \(fired\) return;\s*fired = true;\s*target\.remove/

/** Whether a listener is a wrapper of `once`. @param {any} listener */
const isWrapper = listener => listener.name === 'bound onceWrapper' ||
  listener.name === 'wrapper' && matches(WRAPPER, sourceOf(listener))

/** The listener behind a wrapper of `once`, or undefined. @param {any} listener */
const onceOf = listener => typeof listener.listener === 'function' && isWrapper(listener)
  ? listener.listener : undefined

/** @param {any} listener */
const hasTwin = listener => recordOf(onceOf(listener) ?? listener) !== undefined

/**
 * Calls the listeners of an event, as `emit` does.
 *
 * @param {any} emitter @param {any} type @param {any[]} listeners @param {any[]} args
 * @returns {Generator<any, boolean, any>}
 */
function* emitting(emitter, type, listeners, args) {
  for (let i = 0; i < listeners.length; i++) {
    if (--budget.left <= 0) yield counts.p
    const listener = listeners[i]
    const once = onceOf(listener)
    if (once === undefined) {
      yield* callListener(listener, emitter, args)
    } else if (fired.get(listener) === undefined) {
      yield* callListener(emitter.removeListener, emitter, [type, listener])
      fired.set(listener, true)
      yield* callListener(once, emitter, args)
    }
  }
  return true
}

/** Gives `emit` its twin. @param {any} EventEmitter the prototype of emitters */
function attachEmitTwin(EventEmitter) {
  const capture = symbolOf(EventEmitter, 'kCapture')
  if (capture === undefined) return
  give(EventEmitter, 'emit', own => /** @this {any} @param {any[]} args */ function (...args) {
    const { 0: type } = bare(args)
    const found = callerJob() === null || type === 'error' || !isObject(this) || this[capture] ? undefined
      : this._events?.[type]
    /** @type {any[]} */
    const listeners = []
    if (typeof found === 'function') push(listeners, found)
    else if (isArray(found)) for (let i = 0; i < found.length; i++) push(listeners, found[i])
    if (find(listeners, hasTwin) === undefined) return apply(own, this, args)
    /** @type {any[]} */
    const given = []
    for (let i = 1; i < args.length; i++) push(given, args[i])
    return run(emitting(this, type, listeners, given))
  }, /^function emit\(type, \.\.\.args\) \{[^]*kErrorMonitor/)
}

// EventTarget

/** @typedef {{ events: symbol, target: symbol, isDispatched: symbol, stop: symbol, removed: symbol }} Keys */

/** @returns {Keys | null} the properties by which Node keeps listeners; null where they are others */
function keysOfTargets() {
  const target = new EventTarget()
  target.addEventListener('x', () => {}, { once: true })
  const event = new Event('x')
  event.stopImmediatePropagation()
  const keys = {
    events: symbolOf(target, 'kEvents'),
    target: symbolOf(event, 'kTarget'),
    isDispatched: symbolOf(event, 'kIsBeingDispatched'),
    stop: symbolOf(event, 'kStop'),
    removed: symbolOf(EventTarget.prototype, 'kRemoveListener')
  }
  for (const key in keys) if (/** @type {any} */ (keys)[key] === undefined) return null
  const first = /** @type {any} */ (target)[keys.events].get('x')?.next
  return typeof first?.callback === 'function' && first.once === true && first.removed === false &&
    first.passive === false && typeof first.remove === 'function' ? keys : null
}

/** Reports an error as an uncaught one. @param {any} error */
function reportUncaught(error) {
  const { process } = realm
  apply(process.nextTick, process, [() => { throw error }])
}

/**
 * Calls the listeners of an event, as `dispatchEvent` does.
 *
 * @param {any} target @param {any} event @param {any} root the list of listeners @param {Keys} keys
 * @returns {Generator<any, boolean, any>}
 */
function* dispatching(target, event, root, keys) {
  event[keys.target] = target
  event[keys.isDispatched] = true
  for (let handler = root.next, next; handler !== undefined && event[keys.stop] !== true; handler = next) {
    next = handler.next
    if (handler.removed) continue
    if (--budget.left <= 0) yield counts.p
    if (handler.once) {
      handler.remove()
      root.size--
      target[keys.removed](root.size, event.type, handler.listener, handler.capture)
    }
    try {
      const { listener, callback } = handler // they differ where the listener is an object
      const called = typeof listener === 'function' ? listener : callback
      const result = yield* callListener(called, target, [event])
      event[keys.isDispatched] = false
      const then = result?.then
      if (typeof then === 'function') apply(then, result, [undefined, reportUncaught])
    } catch (error) {
      reportUncaught(error)
    }
  }
  event[keys.isDispatched] = false
  return event.defaultPrevented !== true
}

/** Gives `dispatchEvent` its twin. */
function attachDispatchTwin() {
  const keys = keysOfTargets()
  if (keys === null) return
  const { prototype } = EventTarget
  give(prototype, 'dispatchEvent', own => /** @this {any} @param {any[]} args */ function (...args) {
    /** @type {any} */
    const event = bare(args)[0]
    const isEvent = callerJob() !== null && isBefore(Event.prototype, event) &&
      event[keys.isDispatched] === false
    const root = isEvent ? this?.[keys.events]?.get(event.type) : undefined
    let hasTwins = false
    for (let handler = root?.next; handler !== undefined; handler = handler.next) {
      // A handler of another kind leaves the whole event to Node.
      if (handler.passive || handler.weak || handler.isNodeStyleListener || handler.resistStopPropagation) {
        return apply(own, this, args)
      }
      hasTwins ||= recordOf(handler.listener) !== undefined
    }
    return hasTwins ? run(dispatching(this, event, root, keys)) : apply(own, this, args)
  }, /kHybridDispatch/)
}

/** Gives the functions of Node that call listeners their twins. */
export function attachEventTwins() {
  const { process } = realm
  if (typeof process?.versions?.node !== 'string') return
  const EventEmitter = getPrototypeOf(/** @type {any} */ (getPrototypeOf(process)))
  if (EventEmitter !== null && getOwnPropertyDescriptor(EventEmitter, 'emit')) attachEmitTwin(EventEmitter)
  if (typeof EventTarget === 'function' && typeof Event === 'function') attachDispatchTwin()
}
