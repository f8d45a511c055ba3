/**
 * addons/adopt/timers.mjs: timers, animation frames and idle callbacks become jobs.
 */

import { apply } from '../../alarms.mjs'
import { holderOf } from './books.mjs'
import { isOthers } from './realms.mjs'
import { SOON } from './rules.mjs'
/** @import { Realm } from './realms.mjs' */

/** Timers, frames, idle callbacks. @param {Realm} realm */
export function adoptTimers(realm) {
  const { target, calls, rules } = realm
  TIMERS.forEach(({ 0: set, 1: clear, 2: kind }) => {
    const isDelayed = set === 'setTimeout' || set === 'setInterval'
    realm.replace(holderOf(target, set), set, (native, self, args) => {
      const fn = args[0]
      if (!isOthers(fn)) return apply(native, self, args)
      const row = calls.row(kind, fn)
      if (isDelayed) args[1] = +args[1] || 0
      // Browsers cut a delay to 32 bits.
      const deadline = kind === 'idle' ? Infinity : isDelayed ? Math.max(SOON, args[1] | 0) : SOON
      args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
        const owner = numberOf(id)
        if (calls.pending(owner, kind).length > 0) return // an interval is late
        const invocation = { row, fn, self: this, args: given, owner, part: kind, nextFrame }
        calls.enter(invocation, { deadline, ...rules[kind] })
      })
      const nextFrame = kind !== 'frame' ? undefined : (/** @type {any} */ onFrame) =>
        apply(native, self, [realm.own(onFrame)])
      const id = apply(native, self, args)
      return id
    })
    realm.replace(holderOf(target, clear), clear, (native, self, args) => {
      args[0] = numberOf(args[0]) // an object is asked once
      calls.drop(args[0], kind)
      return apply(native, self, args)
    })
  })
}

/** What stands for a timer: a number, of anything that is one; Node's immediates are none. @param {any} id */
function numberOf(id) {
  const number = typeof id === 'symbol' || typeof id === 'bigint' ? NaN : Number(id)
  return number === number ? number | 0 : id
}

/** How a function that sets a timer is called, what takes that back, and what rule its callbacks go by. */
const TIMERS = /** @type {const} */ ([
  ['setTimeout', 'clearTimeout', 'timer'], ['setInterval', 'clearInterval', 'timer'],
  ['setImmediate', 'clearImmediate', 'timer'], ['requestAnimationFrame', 'cancelAnimationFrame', 'frame'],
  ['requestIdleCallback', 'cancelIdleCallback', 'idle']
])
