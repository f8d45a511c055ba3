/**
 * addons/preemptify/runtime.mjs: the run-time support, which is all that rewritten text imports.
 *
 * A page whose code was rewritten elsewhere loads this module without the compiler. Rewritten modules import
 * `support`; rewritten scripts find the same object by the symbol `Symbol.for('rt.mjs')`, or put a stand-in
 * there (helpers.mjs) that runs all functions plainly until this module is loaded. When it is loaded, rt.mjs
 * learns to find twins.
 */

import { budget, extend } from '../../rt.mjs'
import { iterate, produced, stampAsyncIteration } from './async-generators.mjs'
import { binding, isShort, stampEngine } from './builtins.mjs'
import { adviceFor, noteNames } from './advice.mjs'
import {
  addSites, adoptSites, adoptLock, argumentsOf, claimArguments, claimingTwin, lockOf, ownLock, startingAfter,
  startingWith
} from './claims.mjs'
import { stampEvents } from './events.mjs'
import { finish, isBusy, startAtEntry } from './finish.mjs'
import { making, stampMaking } from './made.mjs'
import { stampReactions } from './reactions.mjs'
import { apply, define, pick, realm, reflectDefine } from './primordials.mjs'
import { construct, make, nothing, superCall } from './construct.mjs'
import {
  CHANGES, EVENT_USE, adoptStamps, again, asMethod, awaitedEntryOf, away, claimerOf, driveToEnd, entryOf,
  forwarded, frameOf, generatorOf, later, over, recordOf, rethrow, run, stamp, suspend, suspended,
  takeExpected, wait, whole
} from './run.mjs'
import { collect, each, walk } from './steps.mjs'
/** @import { Twin } from './run.mjs' */

/**
 * @param {any} F a class @param {any} body as of Twin
 * @param {boolean} [takesTarget] whether `new.target` is the first parameter of the body
 */
function body(F, body, takesTarget) {
  if (!isLinked) link()
  stamp(F, null, F, takesTarget || null, null, body)
}

/**
 * Registers a derived class.
 *
 * @param {any} F @param {any} code the twin of its constructor; 0: the class has none
 * @param {number} flags as of Derived
 */
const derived = (F, code, flags) => body(F, { isDerived: true, body: code || null, flags })

/**
 * Registers the twin of a function.
 *
 * @template {Function} F
 * @param {F} fn @param {any} generator the generator function, which for an async function yields promises
 * @param {Function | boolean | null} [entry] what jobs call instead of the function: it returns what `run`
 *   does. None: it runs the generator. False for async functions, whose calls become child jobs; true for
 *   generator functions, whose twins are given their Steps first
 * @param {any[]} [self] the `this` of an arrow function
 * @param {number} [changes] the arguments that it may change: bit 0 is `this`
 * @returns {F}
 */
function twin(fn, generator, entry, self, changes) {
  if (!isLinked) link()
  stamp(fn, generator || undefined, entry ?? null, self, null, undefined, changes)
  return fn
}

/**
 * Registers a twin that is a declaration, and gives it the name of the function: V8 shows this property in
 * stack traces. Other twins get their names where they stand, because to define a name takes 700 ns.
 *
 * @type {typeof twin}
 */
function titledTwin(fn, generator, entry, self, changes) {
  define(generator || entry, 'name', fn.name)
  return twin(fn, generator, entry, self, changes)
}

/**
 * By this symbol scripts find what they need, in an object `{ budget, runtime }`; the first that needs it
 * makes it.
 */
const shared = /* @__PURE__ */ Symbol.for('rt.mjs')

let isLinked = false

/** Of another copy of this module. @type {any} */
let otherRuntime

/** When rewritten code is used first. */
function link() {
  isLinked = true
  const found = realm[shared]
  if (found === undefined) {
    // Where the global object has been sealed, only scripts miss it.
    reflectDefine(realm, shared, /** @type {any} */ ({
      __proto__: null, value: support, writable: true, enumerable: true, configurable: true
    }))
  } else if (found.runtime.isStandIn) {
    adoptStamps(found.runtime)
    pick(found.runtime.wholes, ({ 0: fn, 1: claim, 2: changes }) => whole(fn, claim, changes))
    pick(found.runtime.locks, adoptLock)
    adoptSites(found.runtime.said)
    found.budget = budget
    found.runtime = runtime
  } else {
    otherRuntime = found.runtime
  }
  stampEngine()
  stampReactions()
  stampAsyncIteration()
  stampEvents()
  stampMaking()
}

/** @param {any} fn @returns {Twin | undefined} of a function that is not the engine's */
export function twinOf(fn) {
  // Nothing has one until then. To ask nevertheless, by `in`, costs a job that does nothing 5 %.
  if (!isLinked && realm[shared] === undefined) return undefined
  if (!isLinked) link()
  const twin = recordOf(fn) ?? otherRuntime?.get(fn)
  return twin === undefined || twin.generator === null ? undefined : twin
}

/** What rewritten text refers to. @type {Record<string, any>} */
export const runtime = {
  budget,
  twin,
  titledTwin,
  enter: entryOf,
  awaited: awaitedEntryOf,
  asMethod,
  /** @param {any} fn @param {string} text @param {string} name as of asMethod */
  enterMethod: (fn, text, name) => asMethod(entryOf(fn), text, name),
  apply,
  construct,
  make,
  body,
  derived,
  superCall,
  nothing,
  run,
  suspended,
  over,
  again,
  wait,
  iterate,
  produced,
  each: (/** @type {any} */ iterable, /** @type {string} */ text) => each(iterable, text),
  collect,
  binding,
  making,
  names: noteNames,
  lockOf,
  ownLock,
  sites: addSites,
  claimed: takeExpected,
  claimArguments,
  argumentsOf,
  later,
  /** @param {any} value */
  first: value => value,
  short: isShort,
  whole,
  drive: driveToEnd,
  frame: frameOf,
  suspend,
  walk,
  rethrow,
  away,
  plain: (/** @type {any} */ entry, /** @type {any} */ self, /** @type {any} */ args) => driveToEnd(forwarded(entry, self, args)),
  /** @param {any} fn @param {string} name */
  named: (fn, name) => define(fn, 'name', name),
  get: recordOf
}

/** What rewritten modules import, and what scripts find by the global symbol. */
export const support = { budget, runtime }
export { budget }

/** Returns the function that a job starts with. @param {any} fn @returns {any} */
function startOf(fn) {
  const twin = twinOf(fn)
  if (twin !== undefined) return startingWith(generatorOf(twin, fn), twin.changes & CHANGES)
  const claimer = isLinked ? claimerOf(fn) : undefined
  return claimer === undefined ? fn : startingAfter(fn, claimer.claim, claimer.changes)
}

/**
 * Returns the twin of a function for code that is not rewritten.
 *
 * @param {Twin} twin @param {any} fn the function of the twin
 */
export const outerTwinOf = (twin, fn) =>
  twin.outer ??= claimingTwin(generatorOf(twin, fn), twin.changes & CHANGES)

/**
 * How a listener uses its event: see `extend.code.eventUseOf`. Functions without a twin run in one piece, and
 * those that a built-in function calls get the event as another argument, or not at all.
 *
 * @param {any} fn @returns {number}
 */
function eventUseOf(fn) {
  const twin = twinOf(fn)
  if (twin === undefined) return 0
  const code = twin.changes >> EVENT_USE
  if (twin.target === null) return code > 0 ? code - 1 : fn.length > 0 ? 2 : 0
  const { fn: bound, args } = twin.target
  return args.length > 1 ? 2 : eventUseOf(bound)
}

/**
 * Lets rt.mjs find twins. Scripts that were evaluated before this module have left theirs in the stand-in.
 */
function linkScheduler() {
  extend.code.link({ twinOf: fn => {
    const twin = twinOf(fn)
    return twin === undefined ? fn : outerTwinOf(twin, fn)
  }, startOf, adviceFor, eventUseOf, finish, isBusy, startAtEntry })
  if (shared in realm) link()
}
linkScheduler()
