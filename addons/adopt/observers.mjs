/**
 * addons/adopt/observers.mjs: makes jobs of the calls of observers.
 */

import { apply } from '../../alarms.mjs'
import { handlerOf, holderOf } from './books.mjs'
import { isPageFunction } from './realms.mjs'
/** @import { Realm } from './realms.mjs' */

/** Replaces the constructors of observers and their `disconnect`. @param {Realm} realm */
export function adoptObservers(realm) {
  const { target, calls, rules } = realm
  const { PerformanceObserver } = target
  if (PerformanceObserver?.supportedEntryTypes?.includes('long-animation-frame')) {
    const observer = new PerformanceObserver((/** @type {any} */ list) => {
      list.getEntries().forEach((/** @type {any} */ { scripts }) => {
        scripts.forEach((/** @type {any} */ script) => calls.tell(script))
      })
    })
    observer.observe({ type: 'long-animation-frame' })
    realm.undo.push(() => observer.disconnect())
  }
  OBSERVERS.forEach(name => {
    const native = target[name]
    if (typeof native !== 'function') return
    const value = new Proxy(native, handlerOf({
      construct(_, args, made) {
        const fn = args[0]
        if (isPageFunction(fn)) {
          const row = calls.row('observer', fn)
          args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
            return calls.enter({ row, fn, self: this, args: given, owner: given[1] }, rules.observer)
          })
        }
        return Reflect.construct(native, args, made)
      }
    }))
    realm.put(holderOf(target, name), name, { value })
    realm.put(native.prototype, 'constructor', { value })
    realm.replace(native.prototype, 'disconnect', (native, self, args) => {
      calls.drop(self)
      return apply(native, self, args)
    })
  })
}

const OBSERVERS =
  ['MutationObserver', 'ResizeObserver', 'IntersectionObserver', 'PerformanceObserver', 'ReportingObserver']
