/**
 * addons/adopt/handlers.mjs: makes jobs of the calls of handlers in `on...` properties.
 */

import { apply } from '../../alarms.mjs'
import { OwnWeakMap, holderOf } from './books.mjs'
import { isPageFunction } from './realms.mjs'
/** @import { Realm } from './realms.mjs' */

const isOn = (/** @type {string} */ name) => name.startsWith('on')

/**
 * Puts a handler of the page back into its property. The handler moves after the earlier listeners that have
 * been added again.
 *
 * @param {any} object @param {any} set the native setter
 * @param {Map<any, any>} listeners the listeners of the type, in order; null is the key of the handler
 * @param {any} handler
 */
function restoreHandler(object, set, listeners, handler) {
  /** @type {any[]} */
  const keys = []
  listeners.forEach((_, key) => keys.push(key))
  if (keys[0] !== null) apply(set, object, [null])
  apply(set, object, [handler])
}

/**
 * Replaces the `on...` properties, and adopts the handlers that these properties contain already.
 *
 * @param {Realm} realm
 */
export function adoptHandlers(realm) {
  const { target, calls } = realm
  const { document } = target
  /**
   * The handlers of the page, by the entries that the platform has in their place. Entries are the keys,
   * because some properties of the body are properties of the window.
   *
   * @type {WeakMap<Function, any>}
   */
  const handlers = new OwnWeakMap()
  /** Returns the name of the element whose handler is being adopted. @type {(() => string) | undefined} */
  let where
  const holders = [target].concat(HANDLED.map(name => target[name]?.prototype)).filter(Boolean)
  holders.forEach(holder => {
    Object.getOwnPropertyNames(holder).filter(isOn).forEach(name => {
      const { get, set } = /** @type {any} */ (Object.getOwnPropertyDescriptor(holder, name))
      realm.redefine(holder, name, {
        get(native, self, args) {
          const value = apply(native, self, args)
          return handlers.get(value) ?? value
        },
        set(native, self, args) {
          const handler = args[0]
          const object = self ?? target
          const type = name.slice(2)
          const listeners = realm.listenersOf(object, type)
          if (!isPageFunction(handler)) {
            realm.forget(listeners, null)
            return apply(native, self, args)
          }
          const entry = realm.entryFor(listeners, null, handler, type, where)
          handlers.set(entry, handler)
          entry.restore = () => {
            if (apply(get, object, []) === entry) restoreHandler(object, set, listeners, handler)
          }
          apply(native, self, [entry])
          // Waiting calls of the old handler call the new handler.
          calls.pending(listeners, null).forEach(call => { call.invocation.fn = handler })
          listeners.set(null, entry) // at the position of the old entry
        }
      })
    })
  })
  /** @param {any} object @param {string} name */
  const adoptPresent = (object, name) => {
    try {
      const handler = object[name]
      if (!isPageFunction(handler)) return
      const listeners = realm.listenersOf(object, name.slice(2))
      if (handlers.get(listeners.get(null)) === handler) return
      /** @type {[any, any][]} */
      const others = []
      // The handler is older than the listeners, unless an attribute has replaced a handler that was adopted.
      if (!listeners.has(null)) listeners.forEach((entry, listener) => others.push([listener, entry]))
      others.forEach(({ 0: listener }) => listeners.delete(listener))
      where = object.localName && (() => nameOfElement(object))
      object[name] = handler // calls the replaced setter
      others.forEach(({ 0: listener, 1: entry }) => listeners.set(listener, entry))
    } catch {} // the page has redefined the property
    where = undefined
  }
  namesOn(target).forEach(name => adoptPresent(target, name))
  if (!document) return
  namesOn(document).forEach(name => adoptPresent(document, name))
  adoptPassing(realm, adoptPresent)
}

/**
 * Adopts the handlers of elements when an event passes the document on its way to these elements. A search
 * for handlers would read each property of each element: over 1 s in a page with 50,000 elements.
 *
 * @param {Realm} realm @param {(object: any, name: string) => void} adoptPresent
 */
function adoptPassing({ target, undo }, adoptPresent) {
  const { document } = target
  const { composedPath } = target.Event.prototype
  const { addEventListener, removeEventListener } = document
  const options = { capture: true, passive: true }
  const adoptOnPath = (/** @type {any} */ event) => {
    const { isTrusted, type } = event
    if (!isTrusted) return // the script that dispatches the event waits for its handlers
    const path = apply(composedPath, event, [])
    for (let i = 0; i < path.length; i++) adoptPresent(path[i], `on${type}`)
  }
  PASSING.forEach(type => {
    apply(addEventListener, document, [type, adoptOnPath, options])
    undo.push(() => apply(removeEventListener, document, [type, adoptOnPath, options]))
  })
}

/** Returns a selector for an element. @param {any} element @returns {string} */
const nameOfElement = ({ localName, id }) => id ? `${localName}#${id}` : localName

/** Lists the `on...` properties of a window or document. @param {any} object @returns {string[]} */
const namesOn = object => Object.getOwnPropertyNames(holderOf(object, 'onclick') ?? object).filter(isOn)

/**
 * The classes with `on...` properties. A search through all classes takes 17 to 40 ms, because browsers
 * create each class at its first read.
 */
const HANDLED = [
  'HTMLElement', 'HTMLBodyElement', 'HTMLFrameSetElement', 'HTMLMediaElement', 'HTMLVideoElement',
  'SVGElement', 'MathMLElement', 'Document', 'ShadowRoot', 'MessagePort', 'Worker', 'SharedWorker',
  'ServiceWorker', 'ServiceWorkerContainer', 'ServiceWorkerRegistration', 'BroadcastChannel', 'WebSocket',
  'EventSource', 'RTCDataChannel', 'RTCPeerConnection', 'XMLHttpRequest', 'XMLHttpRequestEventTarget',
  'FileReader', 'IDBRequest', 'IDBOpenDBRequest', 'IDBTransaction', 'IDBDatabase', 'MediaQueryList',
  'VisualViewport', 'Screen', 'ScreenOrientation', 'Animation', 'FontFaceSet', 'Notification',
  'PermissionStatus', 'AbortSignal', 'MediaRecorder', 'MediaSource', 'SourceBuffer', 'MediaStream',
  'MediaStreamTrack', 'TextTrack', 'AudioScheduledSourceNode', 'SpeechSynthesisUtterance'
]

/**
 * The events whose handlers are adopted on elements. Other events are omitted, because a listener at the
 * document can change the page: browsers dispatch pointerrawupdate and transition events only if there is a
 * listener, and a listener of animationend at an object hides its listeners of webkitAnimationEnd.
 */
const PASSING = [
  'click', 'dblclick', 'auxclick', 'contextmenu', 'beforeinput', 'input', 'change', 'submit', 'reset',
  'keydown', 'keypress', 'keyup', 'mousedown', 'mouseup', 'mousemove', 'mouseover', 'mouseout', 'mouseenter',
  'mouseleave', 'pointerdown', 'pointermove', 'pointerup', 'pointercancel', 'pointerover', 'pointerout',
  'touchstart', 'touchmove', 'touchend', 'touchcancel', 'wheel', 'scroll', 'focus', 'blur', 'select',
  'toggle', 'drag', 'dragstart', 'dragenter', 'dragover', 'dragleave', 'dragend', 'drop', 'copy',
  'cut', 'paste', 'load'
]
