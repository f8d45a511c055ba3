/**
 * addons/adopt/listeners.mjs: event listeners become jobs.
 */

import { apply } from '../../alarms.mjs'
import { extend } from '../../rt.mjs'
import { holderOf } from './books.mjs'
import { isOthers } from './realms.mjs'
/** @import { Realm } from './realms.mjs' */

const asObject = (/** @type {any} */ options) => Object(options) === options ? options : { capture: options }
const isListener = (/** @type {any} */ listener) =>
  isOthers(listener) || typeof listener === 'object' && listener !== null

/** @param {Realm} realm */
export function adoptListeners(realm) {
  const { target } = realm
  const own = holderOf(target, 'addEventListener')
  const other = holderOf(target.EventTarget?.prototype ?? null, 'addEventListener')
  const holders = own === other ? [own] : [own, other]
  holders.forEach(holder => {
    const { addEventListener: add, removeEventListener: remove } = holder ?? {}
    realm.replace(holder, 'addEventListener', (native, self, args) => {
      const { 1: listener } = args
      if (!isListener(listener)) return apply(native, self, args)
      const at = self ?? target
      const type = `${args[0]}`
      // The options are read once, in the platform's order, because getters may return other values later.
      const { capture, once, passive, signal } = asObject(args[2])
      /** @type {any} */
      const options = { __proto__: args[2], capture: !!capture, once, passive, signal }
      const listeners = realm.listenersOf(at, type, !!capture)
      // Those that hear of an abort before us may add anew what the platform has removed.
      if (listeners.get(listener)?.signal?.aborted) realm.forget(listeners, listener)
      const known = listeners.get(listener)
      const entry = known ?? realm.entryFor(listeners, listener, listener, type)
      apply(native, self, [type, entry, options])
      if (known !== undefined || signal?.aborted) return
      // The listener may have been registered before the page was adopted; it must not be called twice.
      apply(remove, self, [type, listener, options])
      if (signal) extend.onAbort(signal, aborting(new WeakRef(entry)))
      // Another entry means that the listener was added again since.
      const abort = () => (listeners.get(listener) ?? entry) === entry && realm.forget(listeners, listener)
      const restore = () => {
        apply(remove, at, [type, entry, options])
        apply(add, at, [type, listener, options])
      }
      listeners.set(listener, Object.assign(entry, { once, signal, restore, abort }))
    })
    realm.replace(holder, 'removeEventListener', (native, self, args) => {
      const { 1: listener } = args
      if (!isListener(listener)) return apply(native, self, args)
      const type = args[0] = `${args[0]}`
      const capture = !!asObject(args[2]).capture
      if (args.length > 2) args[2] = capture
      const listeners = realm.listenersOf(self ?? target, type, capture)
      const entry = listeners.get(listener)
      if (entry !== undefined) apply(native, self, [type, entry, capture])
      apply(native, self, args)
      realm.forget(listeners, listener)
    })
  })
}

/**
 * Of a listener's target nothing else is in reach from here: its signal may outlive that.
 *
 * @param {WeakRef<any>} entry
 */
const aborting = entry => () => { entry.deref()?.abort() }
