/**
 * addons/adopt/handlers.mjs: functions in properties `on...` become jobs.
 */

import { apply } from '../../alarms.mjs'
import { OwnWeakMap, holderOf } from './books.mjs'
import { isOthers } from './realms.mjs'
/** @import { Realm } from './realms.mjs' */

const isOn = (/** @type {string} */ name) => name.startsWith('on')

/** Properties `on...`. @param {Realm} realm */
export function adoptHandlers(realm) {
  const { target, calls } = realm
  /**
   * What the page has put there, by what the platform has: the body has properties of the window.
   *
   * @type {WeakMap<Function, any>}
   */
  const handlers = new OwnWeakMap()
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
          const at = self ?? target
          const type = name.slice(2)
          const listeners = realm.listenersOf(at, type)
          if (!isOthers(handler)) {
            realm.forget(listeners, null)
            return apply(native, self, args)
          }
          const entry = realm.entryFor(listeners, null, handler, type)
          handlers.set(entry, handler)
          entry.restore = () => {
            if (apply(get, at, []) !== entry) return
            /** @type {any[]} */
            const keys = []
            listeners.forEach((_, key) => keys.push(key))
            // The handler moves after the earlier listeners that have been added again.
            if (keys[0] !== null) apply(set, at, [null])
            apply(set, at, [handler])
          }
          apply(native, self, [entry])
          // The new handler is called in the place of the old one.
          calls.pending(listeners, null).forEach(call => { call.invocation.fn = handler })
          listeners.set(null, entry) // in its place, too
        }
      })
    })
  })
  const { document } = target
  const elements = document?.querySelectorAll('*') ?? []
  adoptPresent(target, namesOn(target))
  if (document) adoptPresent(document, namesOn(document))
  for (let i = 0; i < elements.length; i++) adoptPresent(elements[i], COMMON)
}

/** The properties `on...` of a global object or document. @param {any} object @returns {string[]} */
const namesOn = object => Object.getOwnPropertyNames(holderOf(object, 'onclick') ?? object).filter(isOn)

/** Adopts the handlers that an object has already. @param {any} object @param {string[]} names */
function adoptPresent(object, names) {
  for (let i = 0; i < names.length; i++) {
    try {
      if (isOthers(object[names[i]])) object[names[i]] = object[names[i]] // set again, through ours
    } catch {} // something else that the page has put there
  }
}

/**
 * What has `on...` properties beside the global object; to look at all that there is would have a browser
 * make all of it, in 17 to 40 ms.
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

/** Of which the elements of a page are asked for handlers that they have. */
const COMMON = [
  'onclick', 'ondblclick', 'oninput', 'onchange', 'onsubmit', 'onkeydown', 'onkeypress', 'onkeyup',
  'onmousedown', 'onmouseup', 'onmousemove', 'onmouseover', 'onmouseout', 'onmouseenter', 'onmouseleave',
  'onpointerdown', 'onpointermove', 'onpointerup', 'ontouchstart', 'ontouchmove', 'ontouchend', 'onwheel',
  'onscroll', 'onfocus', 'onblur', 'onload'
]
