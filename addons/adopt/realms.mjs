/**
 * addons/adopt/realms.mjs: a global object that is adopted: its replaced properties, and the listeners of its
 * page.
 */

import { apply } from '../../alarms.mjs'
import { extend } from '../../rt.mjs'
import { OwnMap, OwnSet, OwnWeakMap, descriptorOf, handlerOf } from './books.mjs'
import { SOON, fits } from './rules.mjs'
/** @import { AdoptionRule } from '../adopt.mjs' */
/** @import { Calls } from './calls.mjs' */

/** What is done instead of a function. @typedef {(native: any, self: any, args: any[]) => any} Replacement */

/** A global object that is adopted. */
export class Realm {
  /** What has been replaced. @type {(() => void)[]} */
  undo = []
  /**
   * What the platform has of ours, in its order: by target, by phase and type, and by listener, which is null
   * for a property.
   *
   * @type {WeakMap<any, Map<string, Map<any, any>>>}
   */
  #registered = new OwnWeakMap()
  /** Targets that still are. @type {Set<WeakRef<any>>} */
  #targets = new OwnSet()
  #gone = new FinalizationRegistry(ref => this.#targets.delete(ref))

  /** @param {any} target @param {Calls} calls @param {any} rules */
  constructor(target, calls, rules) {
    this.target = target
    this.calls = calls
    this.rules = rules
  }

  /**
   * Makes a callback a function of the target's realm. The platform takes `window.event` and the receiver of
   * errors from the realm of the callback.
   *
   * @template {object} T @param {T} callback @returns {T}
   */
  own(callback) {
    const { Proxy: Other = Proxy } = this.target
    return Other === Proxy ? callback : new Other(callback, handlerOf({}))
  }

  /**
   * @param {any} holder @param {PropertyKey} name
   * @param {Record<string, any>} replaced parts of the property; a page may have frozen it
   */
  put(holder, name, replaced) {
    const before = descriptorOf(holder, name)
    const keys = Object.keys(replaced)
    if (!before?.configurable || keys.some(key => !(key in before))) return
    Object.defineProperty(holder, name, Object.assign(Object.create(null), before, replaced))
    this.undo.push(() => {
      const now = descriptorOf(holder, name) // a page may have replaced it since
      const isOurs = now?.configurable && keys.every(key => now[key] === replaced[key])
      if (isOurs) Object.defineProperty(holder, name, before)
    })
  }

  /**
   * @param {any} holder @param {PropertyKey} name
   * @param {Record<string, Replacement>} own of its value, or its getter and setter
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

  /** @param {any} holder @param {PropertyKey} name @param {Replacement} value */
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

  /** The platform has it no more. @param {Map<any, any>} listeners @param {any} listener */
  forget(listeners, listener) {
    this.calls.drop(listeners, listener)
    listeners.delete(listener)
  }

  /**
   * @param {Map<any, any>} listeners @param {any} listener null in a property @param {any} given by the page
   * @param {string} type
   * @param {() => string} [where] the place of the registration; default: the calling line of the page
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
    /** Whether what it returns might prevent the default. @type {boolean | undefined} */
    let answers
    const begin = () => { if (entry.once && listeners.get(listener) === entry) listeners.delete(listener) }
    /** @param {any} fn @param {any} [object] whose method it is */
    const enteringOf = (fn, object) => {
      /** @type {any} */
      const entering = /** @this {any} @param {any[]} args */ function (...args) {
        const event = args[0]
        begin()
        // onerror of a window, and `on` of a port in Node, pass no event.
        if (event?.eventPhase === undefined) return apply(fn, this, args)
        const isWhole = mustEnd || event.waitUntil !== undefined ||
          listener === null && event.cancelable && (answers ??= extend.code.answers(given))
        const self = object ?? this
        const invocation =
          { row, fn, self, args, owner: listeners, part: listener, event, called: entering, isWhole }
        // Not a tail call: WebKit takes a function that ends in a call from the stack, and `nested` looks for
        // it there.
        const answer = calls.enter(invocation, ruleOf(event))
        return answer
      }
      return entering
    }
    /** @type {any} Where the method is none, the platform says so. */
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

/** @param {any} fn */
export const isOthers = fn => typeof fn === 'function' && !extend.page.isInternal(fn)

/** Events whose listeners run to their ends: what they may do, they may do there only, or the page ends. */
const WHOLE = [
  'beforeinput', 'compositionstart', 'compositionupdate',
  'beforeunload', 'unload', 'pagehide', 'visibilitychange', 'freeze', 'beforeprint', 'submit', 'reset',
  'formdata', 'copy', 'cut', 'paste', 'dragstart', 'drop', 'navigate', 'audioprocess', 'success',
  'upgradeneeded', 'error'
]
/** Input, beside UIEvents. */
const INPUT = ['input', 'change', 'submit', 'scroll', 'select', 'selectionchange', 'toggle']
