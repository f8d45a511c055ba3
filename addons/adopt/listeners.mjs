/**
 * addons/adopt/listeners.mjs: makes jobs of the calls of event listeners.
 */

import { apply } from '../../alarms.mjs'
import { extend } from '../../rt.mjs'
import { holderOf } from './books.mjs'
import { isPageFunction } from './realms.mjs'
/** @import { Realm } from './realms.mjs' */

const asObject = (/** @type {any} */ options) => Object(options) === options ? options : { capture: options }
const isListener = (/** @type {any} */ listener) =>
  isPageFunction(listener) || typeof listener === 'object' && listener !== null

/** Replaces `addEventListener` and `removeEventListener`. @param {Realm} realm */
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
      // An earlier `abort` listener may add the listener again before `onAbort` runs here. The platform has
      // already removed the old entry.
      if (listeners.get(listener)?.signal?.aborted) realm.forget(listeners, listener)
      const known = listeners.get(listener)
      const entry = known ?? realm.entryFor(listeners, listener, listener, type)
      apply(native, self, [type, entry, options])
      if (known !== undefined || signal?.aborted) return
      // A listener that was registered before the adoption must not be called twice.
      apply(remove, self, [type, listener, options])
      if (signal) extend.onAbort(signal, aborting(new WeakRef(entry)))
      // With another entry, the page has added the listener again.
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
 * Returns an `abort` listener that refers to the entry weakly, because the signal may outlive the target.
 *
 * @param {WeakRef<any>} entry
 */
const aborting = entry => () => { entry.deref()?.abort() }
