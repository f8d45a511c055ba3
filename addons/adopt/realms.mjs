/**
 * addons/adopt/realms.mjs: replaces the properties of an adopted global object, and keeps the listeners of
 * its page.
 */

import { apply } from '../../alarms.mjs'
import { extend } from '../../rt.mjs'
import { OwnMap, OwnSet, OwnWeakMap, descriptorOf, handlerOf } from './books.mjs'
import { SOON, fits } from './rules.mjs'
/** @import { AdoptionRule } from '../adopt.mjs' */
/** @import { Calls } from './calls.mjs' */

/** Replaces a native function. @typedef {(native: any, self: any, args: any[]) => any} Replacement */

/** An adopted global object. */
export class Realm {
  /** Functions that restore the replaced properties. @type {(() => void)[]} */
  undo = []
  /**
   * The entries that are registered with the platform, in its order: by target, by phase and type, and by
   * listener. The listener is null for a handler in a property.
   *
   * @type {WeakMap<any, Map<string, Map<any, any>>>}
   */
  #registered = new OwnWeakMap()
  /** The targets that have not been garbage-collected. @type {Set<WeakRef<any>>} */
  #targets = new OwnSet()
  #gone = new FinalizationRegistry(ref => this.#targets.delete(ref))

  /** @param {any} target @param {Calls} calls @param {any} rules */
  constructor(target, calls, rules) {
    this.target = target
    this.calls = calls
    this.rules = rules
  }

  /**
   * Makes a callback a function of the target's realm, because the platform sets `window.event` and reports
   * errors in the realm of the callback.
   *
   * @template {object} T @param {T} callback @returns {T}
   */
  own(callback) {
    const { Proxy: Other = Proxy } = this.target
    return Other === Proxy ? callback : new Other(callback, handlerOf({}))
  }

  /**
   * Replaces attributes of a property, unless the page has frozen the property.
   *
   * @param {any} holder @param {PropertyKey} name
   * @param {Record<string, any>} replaced the new `value`, or the new `get` and `set`
   */
  put(holder, name, replaced) {
    const before = descriptorOf(holder, name)
    const keys = Object.keys(replaced)
    if (!before?.configurable || keys.some(key => !(key in before))) return
    Object.defineProperty(holder, name, Object.assign(Object.create(null), before, replaced))
    this.undo.push(() => {
      const now = descriptorOf(holder, name) // the page may have replaced the property
      const isOurs = now?.configurable && keys.every(key => now[key] === replaced[key])
      if (isOurs) Object.defineProperty(holder, name, before)
    })
  }

  /**
   * Replaces functions of a property by proxies that call the replacements until the release.
   *
   * @param {any} holder @param {PropertyKey} name
   * @param {Record<string, Replacement>} own the replacements of `value`, or of `get` and `set`
   */
  redefine(holder, name, own) {
    const before = descriptorOf(holder, name)
    const keys = Object.keys(own)
    if (keys.some(key => typeof before?.[key] !== 'function')) return
    /** @type {Record<string, any>} */
    const replaced = {}
    keys.forEach(key => {
      const native = before[key]
      const replacement = (/** @type {any} */ _, /** @type {any} */ self, /** @type {any[]} */ args) =>
        this.calls.isReleased ? apply(native, self, args) : own[key](native, self, args)
      replaced[key] = new Proxy(native, handlerOf({ apply: replacement }))
    })
    this.put(holder, name, replaced)
  }

  /** Replaces a method. @param {any} holder @param {PropertyKey} name @param {Replacement} value */
  replace(holder, name, value) {
    this.redefine(holder, name, { value })
  }

  /** @param {any} at @param {string} type @param {boolean} [capture] @returns {Map<any, any>} */
  listenersOf(at, type, capture = false) {
    let keys = this.#registered.get(at)
    if (keys === undefined) {
      const ref = new WeakRef(at)
      this.#targets.add(ref)
      this.#gone.register(at, ref)
      this.#registered.set(at, keys = new OwnMap())
    }
    const key = `${capture} ${type}`
    if (!keys.has(key)) keys.set(key, new OwnMap())
    return /** @type {any} */ (keys.get(key))
  }

  /**
   * Removes a listener that the platform has removed, and cancels its calls that have not started.
   *
   * @param {Map<any, any>} listeners @param {any} listener
   */
  forget(listeners, listener) {
    this.calls.drop(listeners, listener)
    listeners.delete(listener)
  }

  /**
   * Returns the entry that the platform calls in place of a listener.
   *
   * @param {Map<any, any>} listeners @param {any} listener null for a handler in a property
   * @param {any} given the listener or handler of the page @param {string} type
   * @param {() => string} [where] returns where the page registers the listener; default: its calling line
   * @returns {any}
   */
  entryFor(listeners, listener, given, type, where) {
    const { calls, rules } = this
    const isMessage = type === 'message' || type === 'messageerror'
    const row = calls.row(isMessage ? 'message' : type, given, where)
    const isInput = INPUT.includes(type)
    const mustEnd = WHOLE.includes(type)
    /** @param {any} event @returns {AdoptionRule} */
    const ruleOf = event => {
      const deadline = isMessage || !isInput && event.view === undefined ? Infinity : SOON
      return { deadline, ...isMessage ? rules.message : rules.event.find(fits(type, event.currentTarget)) }
    }
    /** Whether the handler may return a value that prevents the default. @type {boolean | undefined} */
    let answers
    const begin = () => { if (entry.once && listeners.get(listener) === entry) listeners.delete(listener) }
    /** @param {any} fn @param {any} [object] the object with the method `handleEvent` */
    const enteringOf = (fn, object) => {
      /** @type {any} */
      const entering = /** @this {any} @param {any[]} args */ function (...args) {
        const event = args[0]
        begin()
        // `onerror` of a window and `on` of a port in Node do not pass an event.
        if (event?.eventPhase === undefined) return apply(fn, this, args)
        const isWhole = mustEnd || event.waitUntil !== undefined ||
          listener === null && event.cancelable && (answers ??= extend.code.answers(given))
        const self = object ?? this
        const invocation =
          { row, fn, self, args, owner: listeners, part: listener, event, called: entering, isWhole }
        // `nested` searches the stack for this function. WebKit removes a function from the stack at a tail
        // call, so this call must not be a tail call.
        const answer = calls.enter(invocation, ruleOf(event))
        return answer
      }
      return entering
    }
    /** @type {any} If `handleEvent` is not a function, the platform reports the error. */
    const entry = this.own(typeof given === 'function' ? enteringOf(given) : {
      get handleEvent() {
        begin()
        const { handleEvent } = given
        return typeof handleEvent === 'function' ? enteringOf(handleEvent, given) : handleEvent
      }
    })
    return entry
  }

  release() {
    extend.membersOf(this.#targets).forEach(ref => {
      this.#registered.get(ref.deref())?.forEach(all => all.forEach(entry => entry.restore()))
    })
    this.undo.reverse().forEach(undone => undone())
    realms.delete(this.target)
  }
}

/** @type {WeakSet<object>} */
export const realms = new WeakSet()

/** Whether a value is a function of the page, and not of the scheduler. @param {any} fn */
export const isPageFunction = fn => typeof fn === 'function' && !extend.page.isInternal(fn)

/** Events whose listeners run to completion: they must act inside the event, or the page may end after it. */
const WHOLE = [
  'beforeinput', 'compositionstart', 'compositionupdate',
  'beforeunload', 'unload', 'pagehide', 'visibilitychange', 'freeze', 'beforeprint', 'submit', 'reset',
  'formdata', 'copy', 'cut', 'paste', 'dragstart', 'drop', 'navigate', 'audioprocess', 'success',
  'upgradeneeded', 'error'
]
/** Input events that are not UIEvents. */
const INPUT = ['input', 'change', 'submit', 'scroll', 'select', 'selectionchange', 'toggle']
