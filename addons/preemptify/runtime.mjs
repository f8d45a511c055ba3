/**
 * addons/preemptify/runtime.mjs: the run-time support, the only module that rewritten text imports.
 *
 * If the code of a page was rewritten elsewhere, the page loads this module without the compiler. Rewritten
 * modules import `support`. Rewritten scripts find the same object by the symbol `Symbol.for('rt.mjs')`. If
 * this module is not loaded yet, the first script defines a stand-in there (see helpers.mjs), which runs all
 * functions natively. This module registers its functions with rt.mjs, so that jobs find twins.
 */

import { budget, extend } from '../../rt.mjs'
import { attachAsyncTwins, iterate, produced } from './async-generators.mjs'
import { attachBuiltinTwins, binding, isShort } from './builtins.mjs'
import { adviceFor, noteNames } from './advice.mjs'
import {
  addSites, adoptSites, adoptLock, argumentsOf, claimArguments, claimingTwin, lockOf, ownLock, startingAfter,
  startingWith
} from './claims.mjs'
import { attachEventTwins } from './events.mjs'
import { finish, isBusy, isInStay, startAtEntry } from './finish.mjs'
import { attachMakingTwins, making } from './made.mjs'
import { attachReactionTwins } from './reactions.mjs'
import { apply, define, forEach, realm, reflectDefine } from './primordials.mjs'
import { construct, make, nothing, superCall } from './construct.mjs'
import {
  CHANGES, EVENT_USE, adoptTwins, again, asMethod, attachTwin, awaitedEntryPointOf, away, claimerOf,
  driveToEnd, entryPointOf, forwarded, frameOf, generatorOf, later, over, recordOf, rethrow, run, suspend,
  suspended, takeExpected, wait, whole
} from './run.mjs'
import { collect, each, walk } from './steps.mjs'
/** @import { Twin } from './run.mjs' */

/**
 * Registers the body of the constructor of a class.
 *
 * @param {any} F a class @param {any} body the same as in Twin
 * @param {boolean} [takesTarget] whether `new.target` is the first parameter of the body
 */
function body(F, body, takesTarget) {
  if (!isLinked) link()
  attachTwin(F, null, F, takesTarget || null, null, body)
}

/**
 * Registers a derived class.
 *
 * @param {any} F the class @param {any} code the twin of the constructor; 0 if the class has no constructor
 * @param {number} flags the same as in Derived
 */
const derived = (F, code, flags) => body(F, { isDerived: true, body: code || null, flags })

/**
 * Registers the twin of a function.
 *
 * @template {Function} F
 * @param {F} fn
 * @param {any} generator the generator function; for an async function, this function yields promises
 * @param {Function | boolean | null} [entry] the function that jobs call in place of `fn`; like `run`, this
 *   function returns `budget` if the call is suspended. Default: a function that runs the generator. `false`
 *   for an async function, whose calls become child jobs; `true` for a generator function, whose twin has its
 *   Steps as the first parameter
 * @param {any[]} [self] the `this` of an arrow function, as a list
 * @param {number} [changes] the arguments that the function may change: bit 0 is `this`
 * @returns {F}
 */
function twin(fn, generator, entry, self, changes) {
  if (!isLinked) link()
  attachTwin(fn, generator || undefined, entry ?? null, self, null, undefined, changes)
  return fn
}

/**
 * Registers a twin that is a declaration, and sets the name of the twin to the name of the function, which V8
 * shows in stack traces. Other twins are expressions and get their names from the text, because defining a
 * name takes 700 ns.
 *
 * @type {typeof twin}
 */
function titledTwin(fn, generator, entry, self, changes) {
  define(generator || entry, 'name', fn.name)
  return twin(fn, generator, entry, self, changes)
}

/**
 * The key of the global object at which scripts find the run-time support, an object `{ budget, runtime }`.
 * The first script, or this module, creates the object.
 */
const shared = /* @__PURE__ */ Symbol.for('rt.mjs')

let isLinked = false

/** The run-time support of another copy of this module. @type {any} */
let otherRuntime

/**
 * Connects this module to rewritten scripts, and attaches twins to built-in functions. Runs when rewritten
 * code is used for the first time.
 */
function link() {
  isLinked = true
  const found = realm[shared]
  if (found === undefined) {
    // In a sealed global object this fails. Then modules still work, but scripts find no run-time support.
    reflectDefine(realm, shared, /** @type {any} */ ({
      __proto__: null, value: support, writable: true, enumerable: true, configurable: true
    }))
  } else if (found.runtime.isStandIn) {
    adoptTwins(found.runtime)
    forEach(found.runtime.wholes, ({ 0: fn, 1: claim, 2: changes }) => whole(fn, claim, changes))
    forEach(found.runtime.locks, adoptLock)
    adoptSites(found.runtime.said)
    found.budget = budget
    found.runtime = runtime
  } else {
    otherRuntime = found.runtime
  }
  attachBuiltinTwins()
  attachReactionTwins()
  attachAsyncTwins()
  attachEventTwins()
  attachMakingTwins()
}

/**
 * Returns the twin of a function; undefined if the function has no twin, or if its twin has no generator
 * function. This is so for classes, and for built-in functions that only start other functions.
 *
 * @param {any} fn @returns {Twin | undefined}
 */
export function twinOf(fn) {
  // Before `link`, no function has a twin. A lookup would make an empty job 5 % slower.
  if (!isLinked && realm[shared] === undefined) return undefined
  if (!isLinked) link()
  const twin = recordOf(fn) ?? otherRuntime?.get(fn)
  return twin === undefined || twin.generator === null ? undefined : twin
}

/** The functions and values that rewritten text uses. @type {Record<string, any>} */
export const runtime = {
  budget,
  twin,
  titledTwin,
  enter: entryPointOf,
  awaited: awaitedEntryPointOf,
  asMethod,
  /** @param {any} fn @param {string} text @param {string} name see asMethod */
  enterMethod: (fn, text, name) => asMethod(entryPointOf(fn), text, name),
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
  plain: (/** @type {any} */ entry, /** @type {any} */ self, /** @type {any} */ args) =>
    driveToEnd(forwarded(entry, self, args)),
  /** @param {any} fn @param {string} name */
  named: (fn, name) => define(fn, 'name', name),
  get: recordOf
}

/**
 * The object that rewritten modules import, and that scripts find by the global symbol. Scripts read its
 * property `runtime`, because the first script may have put a stand-in there.
 */
export const support = runtime
support.runtime = runtime
export { budget }

/** Returns the function that a job calls first in place of its function. @param {any} fn @returns {any} */
function startOf(fn) {
  const twin = twinOf(fn)
  const claimer = isLinked ? claimerOf(fn) : undefined
  if (twin === undefined && claimer === undefined) return fn
  extend.code.enter(extend.code.counts.job, 1)
  if (twin !== undefined) return startingWith(generatorOf(twin, fn), twin.changes & CHANGES)
  return startingAfter(fn, /** @type {any} */ (claimer).claim, /** @type {any} */ (claimer).changes)
}

/**
 * Returns the twin of a function for code that is not rewritten.
 *
 * @param {Twin} twin @param {any} fn the function of the twin
 */
export const outerTwinOf = (twin, fn) =>
  twin.outer ??= claimingTwin(generatorOf(twin, fn), twin.changes & CHANGES)

/**
 * Returns how a listener uses its event, as a number: see `extend.code.eventUseOf`. A function without a twin
 * runs in one piece, so the result is 0. If a bound function has bound arguments, the event is a later
 * parameter, and the result is 2.
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
 * Registers this module with rt.mjs, so that jobs find twins. If scripts were evaluated before this module,
 * the twins in their stand-in become known, too.
 */
function linkScheduler() {
  extend.code.link({ twinOf: fn => {
    const twin = twinOf(fn)
    return twin === undefined ? fn : outerTwinOf(twin, fn)
  }, startOf, adviceFor, eventUseOf, finish, isBusy, isInStay, startAtEntry })
  if (shared in realm) link()
}
linkScheduler()
