/**
 * addons/adopt.mjs: makes jobs of the callbacks of a page (RT.js V-B).
 *
 * A page registers callbacks by functions and properties, for example by setTimeout. `adopt` replaces these
 * with proxies. A proxy hands the platform an entry in place of the callback. The platform still decides
 * whether a listener exists. The platform also keeps order, `this`, `once` and duplicates. `Calls.enter`
 * makes a job when the platform calls the entry.
 *
 *   the page registers a callback -> proxy -> entry -> the platform calls the entry -> Calls.enter
 *     -> the job starts inside the call, and continues after its first budget if its function has a twin.
 *     -> or the job waits for its turn, if calls of at least its rank have not ended.
 *
 * Files:
 * - calls.mjs: the calls as jobs.
 * - timers.mjs, observers.mjs, listeners.mjs and handlers.mjs: one kind of callbacks each.
 * - edits.mjs: listeners that finish before edits of the user.
 * - realms.mjs: replaced properties, and the listeners of the page.
 * - rules.mjs: the check and the choice of rules.
 * - books.mjs: collections and properties that a page cannot affect.
 *
 * Words of these files:
 * - realm: a global object whose functions are replaced, with the listeners of its page.
 * - entry: the function, or object with `handleEvent`, that the platform calls in place of a callback.
 * - call: one invocation of a callback, until its job has ended.
 * - owner and part: the key by which the page can take a call back, for example the id of a timer.
 * - row: the line of a callback in the report.
 * - twin: the preemptible version of a function that preemptify makes.
 *
 * Invariants:
 * 1. Calls of equal rank start in the platform's order, each when the call before it has ended.
 * 2. A call that the page takes back before it has started (clearTimeout, removeEventListener) never starts.
 * 3. After `release()` every property has its original value, unless the page has replaced it since.
 * 4. The books are `hardened` collections: methods that a page later puts on Map or Set do not affect them.
 *
 * @module adopt
 */

import { Handle } from '../alarms.mjs'
import { extend } from '../rt.mjs'
import { Calls } from './adopt/calls.mjs'
import { guardEdits } from './adopt/edits.mjs'
import { adoptHandlers } from './adopt/handlers.mjs'
import { adoptListeners } from './adopt/listeners.mjs'
import { adoptObservers } from './adopt/observers.mjs'
import { Realm, realms } from './adopt/realms.mjs'
import { ADOPTION, rulesOf } from './adopt/rules.mjs'
import { adoptTimers } from './adopt/timers.mjs'
/** @import { Scheduler } from '../rt.mjs' */

const { check, here } = extend
const { options: checked, wrongType } = check

/**
 * @typedef {object} AdoptionRule
 * @property {number} [deadline] ms, counted from the event's time stamp, or from the call
 * @property {number} [priority]
 * @property {object} [reservation]
 * @property {boolean} [latest] whether a new call of the callback replaces the call that waits for its turn.
 *   A listener then waits even if its event is cancelable, so it may be too late to cancel the event
 * @property {boolean} [interleave] waives the protection of shared state, for example for a listener that
 *   only reads: the callback claims nothing, need not finish before the user's next edit of a field, and may
 *   leave its event although it passes the event on. Default: false
 * @property {boolean} [atomic] whether the callback runs to completion in one piece. Default: false
 */
/**
 * @typedef {AdoptionRule & { type?: string | string[], target?: string | EventTarget | ((target: any) =>
 *   boolean) }} EventRule
 */
/**
 * The statistics of one callback, or of all callbacks with the same source text.
 *
 * @typedef {object} AdoptionRow
 * @property {string} kind 'timer', 'frame', 'idle', 'observer', 'message', the type of the event, or
 *   'script' for other code in a long animation frame
 * @property {string} name the name of the function
 * @property {string} where the line of the first registration, or the element that had the handler already
 * @property {number} calls the number of calls that have ended
 * @property {number} time the total processor time of the calls, ms
 * @property {number} longest the longest processor time of a call, ms
 * @property {number} stalls how often the callback blocked the thread for longer than a slice
 * @property {number} longestStall the longest stall, ms
 * @property {number} misses the number of missed deadlines
 * @property {AdoptionWait[]} [waits] the longest waits of at least 50 ms, one for each pair of callbacks
 */
/**
 * A wait for state that two callbacks share.
 *
 * @typedef {object} AdoptionWait
 * @property {string} for the name of the other callback, or the user's next edit
 * @property {string} location the state for which the callback waited
 * @property {number} ms the longest wait
 * @property {string} rule the rule that waives the protection
 */

/**
 * Makes jobs of the callbacks of a page, a worker or Node.
 *
 * `adopt` covers the callbacks that any code registers from now on: timers, frames, idle callbacks, event
 * listeners, `on...` properties, observers and messages. The rules give these jobs their deadlines. `adopt`
 * also covers existing `on...` properties of the global object, of the document and, for common events, of
 * elements. A property of an element is adopted when the first event passes the document on its way to the
 * element. Platforms do not list listeners, so earlier listeners stay native.
 *
 * Reactions of custom elements and of promises, `queueMicrotask`, and strings given to setTimeout stay
 * native. So do attributes of less common events, like `ontransitionend="..."`. The `on...` properties of
 * devices, payments, speech recognition and other rare objects stay native, but their listeners become jobs.
 * For the callbacks of another realm, call `adopt` for the window of its iframe. In Firefox the iframe then
 * has no `window.event`.
 *
 * A callback with a twin (see `preemptify.source`) starts inside its event. The callback continues as a job
 * after its first budget, or after a slice if the budget is automatic. A callback without a twin runs to
 * completion. Its time is charged, and a warning names the callback if it stalls.
 *
 * Calls of equal rank keep the platform's order: a call starts when the call before has ended and its
 * microtasks have run. If earlier calls have not ended, a new call waits and starts outside its event. If its
 * event is cancelable and its rule is not `latest`, the earlier calls run first, for at most one round,
 * and the new call starts inside its event. A listener of `input` or `change` of a field starts inside its
 * event, before all earlier calls of other callbacks. These values and options stay unchanged: `this`,
 * arguments, `target`, `currentTarget`, `eventPhase`, exceptions, `once`, `signal`, `passive` and
 * `capture`. clearTimeout, removeEventListener and disconnect prevent calls that have not started.
 *
 * Callbacks have the effects of the plain page:
 * - A suspended listener, and the microtasks that it has queued, finish before the browser applies the user's
 *   next edit to the same field. A listener of an event that precedes an edit directly runs to completion.
 *   Other suspended callbacks finish before an edit of a field if they have claimed shared state, because
 *   they may write the field. Listeners of `input` and `change` finish before an edit of any field.
 * - A listener stays in its event until its last call of preventDefault, stopPropagation or another member
 *   that works only inside the event. A listener that passes the event to other code, or stores it, stays in
 *   the event until the listener has ended.
 * - Each call is a stay (see `preemptify.source`). Outside its event a call waits at a conflicting claim.
 *   Inside its event the call finishes the holder of the claim.
 * - A callback that the page calls by dispatchEvent, click or focus is a part of the dispatching call.
 * - An interval does not fire again while its last call waits. A frame callback that waits until the next
 *   frame gets the time of that frame.
 *
 * When the processor time of a call reaches its deadline parameter, the deadline restarts at the current
 * time. Long input handlers therefore leave time for frames.
 *
 * A call that has left its event has these limits:
 * - The event does not reach listeners that the call adds.
 * - Other code may have changed the state of the target.
 * - Microtasks run while the call is suspended.
 * - `window.event` is undefined, except in functions that name it `event`.
 *
 * So some callbacks do not leave their event. Listeners of readystatechange start inside it. These callbacks
 * run to completion:
 * - Listeners whose script waits for the event (dispatchEvent, click, focus).
 * - Listeners of submit, beforeunload, beforeinput and other events that need an answer.
 * - Listeners of events after which the page may be frozen.
 * - Listeners with data that only the event has: dragged data, `waitUntil`, a database.
 * - Handlers in `on...` properties of cancelable events, if they may return a value.
 * - Async functions, until their first await.
 *
 * @param {any} [target] a global object, default globalThis
 * @param {{ rules?: { timer?: AdoptionRule, frame?: AdoptionRule, idle?: AdoptionRule, observer?:
 *   AdoptionRule, message?: AdoptionRule, event?: EventRule | EventRule[] }, scheduler?: Scheduler, warn?:
 *   boolean }} [options] `rules`: the parameters of the jobs, by the kind of callback. An event uses the
 *   first rule that matches its `type` and `target`: a selector, an EventTarget, or a function that receives
 *   the target. Default deadlines: 16 ms for input and frames; for a timer its delay, at least 16 ms; none
 *   for other callbacks. `warn`: `true` if the console should warn once about each callback that stalls for
 *   50 ms or longer, with the remedy; default true
 * @returns {{ release(): void, cancel(): boolean, report(): AdoptionRow[] }} `release` restores all functions
 *   and properties; waiting calls still run. If a listener calls `release`, its event does not reach the next
 *   listeners of the same target. `cancel` does the same as `release`, and returns `true` if the page was
 *   adopted. `report` lists all callbacks; the most expensive callback is first
 * @throws {TypeError | RangeError} if a parameter is wrong; TypeError if the target is adopted already
 *
 * @example
 * const page = adopt(globalThis, { rules: { timer: { deadline: 50 } } })
 * const deadline = await new Promise(resolve => setTimeout(() => resolve(rt.current?.deadline), 5))
 * page.release()
 * console.log(deadline) // → 50
 */
export function adopt(target = globalThis, options = {}) {
  if (typeof target?.setTimeout !== 'function') throw wrongType('target', 'a global object', target)
  const { rules: given, warn = true } = checked(options, ADOPTION)
  const scheduler = here(options)
  const rules = rulesOf(scheduler, given)
  if (realms.has(target)) throw new TypeError('target is adopted already; release() it first')
  realms.add(target)

  const calls = new Calls(scheduler, target, warn)
  const realm = new Realm(target, calls, rules)
  adoptTimers(realm)
  adoptObservers(realm)
  adoptHandlers(realm) // before the listeners: it registers native ones
  adoptListeners(realm)
  guardEdits(realm)
  const cancel = () => {
    if (calls.isReleased) return false
    calls.release()
    realm.release()
    return true
  }
  return Object.assign(new Handle(), { cancel, release: () => { cancel() }, report: () => calls.report() })
}
