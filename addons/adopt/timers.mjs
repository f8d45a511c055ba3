/**
 * addons/adopt/timers.mjs: makes jobs of the calls of timers, animation frames and idle callbacks.
 */

import { apply } from '../../alarms.mjs'
import { holderOf } from './books.mjs'
import { isPageFunction } from './realms.mjs'
import { SOON } from './rules.mjs'
/** @import { Realm } from './realms.mjs' */

/** Replaces the functions that set and clear timers, frames and idle callbacks. @param {Realm} realm */
export function adoptTimers(realm) {
  const { target, calls, rules } = realm
  TIMERS.forEach(({ 0: set, 1: clear, 2: kind }) => {
    const isDelayed = set === 'setTimeout' || set === 'setInterval'
    realm.replace(holderOf(target, set), set, (native, self, args) => {
      const fn = args[0]
      if (!isPageFunction(fn)) return apply(native, self, args)
      const row = calls.row(kind, fn)
      if (isDelayed) args[1] = +args[1] || 0
      // Browsers truncate a delay to 32 bits.
      const deadline = kind === 'idle' ? Infinity : isDelayed ? Math.max(SOON, args[1] | 0) : SOON
      args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
        const owner = numberOf(id)
        if (calls.pending(owner, kind).length > 0) return // the last call of the interval has not ended
        const invocation = { row, fn, self: this, args: given, owner, part: kind, nextFrame }
        calls.enter(invocation, { deadline, ...rules[kind] })
      })
      const nextFrame = kind !== 'frame' ? undefined : (/** @type {any} */ onFrame) =>
        apply(native, self, [realm.own(onFrame)])
      const id = apply(native, self, args)
      return id
    })
    realm.replace(holderOf(target, clear), clear, (native, self, args) => {
      args[0] = numberOf(args[0]) // calls `valueOf` of an object only once
      calls.drop(args[0], kind)
      return apply(native, self, args)
    })
  })
}

/** Converts the id of a timer to an integer, except for ids that are not numeric. @param {any} id */
function numberOf(id) {
  const number = typeof id === 'symbol' || typeof id === 'bigint' ? NaN : Number(id)
  return number === number ? number | 0 : id
}

/** The functions that set a timer, the functions that clear it, and the kinds of their rules. */
const TIMERS = /** @type {const} */ ([
  ['setTimeout', 'clearTimeout', 'timer'], ['setInterval', 'clearInterval', 'timer'],
  ['setImmediate', 'clearImmediate', 'timer'], ['requestAnimationFrame', 'cancelAnimationFrame', 'frame'],
  ['requestIdleCallback', 'cancelIdleCallback', 'idle']
])
