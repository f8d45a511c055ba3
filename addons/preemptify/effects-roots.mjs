/**
 * addons/preemptify/effects-roots.mjs: the objects, flows and functions of an analysed program.
 *
 * A `Flow` is a set of roots: the objects that one variable or expression may hold.
 *
 * A root is known by how the function reached the object. An object that the function made is not shared; the
 * same object is shared when it comes from a variable of an outer function. What a caller passed is guarded
 * by the caller, who claims the object before the call.
 */

import { emptyMap } from './primordials.mjs'
/** @import { Crowd } from './effects-flow.mjs' */
/** @import { Node, Variable } from './scopes.mjs' */
/** @import { Plan } from './calls.mjs' */

// Kinds of roots.
/** An object from an unknown call. */
export const GIVEN = 0
/** An object that this function, or a called function, has made; `of` is a Site. */
export const SITE = 1
/** An object from a variable of an outer function; `of` is a Site. */
export const SHARED = 2
/** An unknown object in a variable of an outer function, or in a shared object; `of` is a Slot. */
export const HELD = 3
/** A parameter; `of` is a Callee, and `index` its position: SELF for `this`, MORE for all others. */
export const PARAMETER = 4
/** An object inside a parameter; `base` is the root of the parameter. */
export const INNER = 7
/** A built-in value; `of` is its path. */
export const BUILT_IN = 5
/** A node of the document; `of` is its constant selector, or empty. */
export const DOM = 6

export const SELF = -1
export const MORE = -2
/** All arguments from some position on, in a call with a spread list. */
export const SPREAD = -3

// Effects on an object, as bits.
export const READ = 1
export const WRITE = 2
/** Another object, or code that is not known, can reach the object from now on. */
export const LEAVE = 4
/** `exec` or `test` moves `lastIndex`, if the object is a regular expression. */
export const MATCH = 8
/** A regular expression is used by a method of a string, which leaves `lastIndex` as it was or at 0. */
export const RESET = 16
/** Code that is not followed stores an object in the object. */
export const PUT = 32
/** The function writes an object inside the parameter. */
export const DEEP = 128
/**
 * The function passes the object to a function that it got as a parameter. The caller knows that function, if
 * the object is a parameter too.
 */
export const OPEN = 256
/** The function reads a property of the object. */
export const DETAIL = 1024
/** A variable or an object keeps the object. Functions that reach it there have effects of their own. */
export const KEPT = 64
/** An object inside the parameter leaves, but not the parameter itself: an array of numbers stays. */
export const PART_LEAVES = 512
/** Code that is not followed stores an object in an object inside the parameter. */
export const PART_PUT = 2048
export const ALL = WRITE | DEEP | LEAVE | PART_LEAVES | MATCH | PUT | PART_PUT | KEPT
/** The effects on a parameter by which a call changes the argument. */
export const CHANGE = WRITE | DEEP | LEAVE | PART_LEAVES | MATCH | PUT | PART_PUT

// Kinds of watchers.
export const EDGE = 0
export const OUTER = 1
export const LOAD = 2
export const TOUCH = 3
export const WRITES = 4
export const STORE = 5
export const KEEP = 6
export const RETURN = 7
export const CALLEE = 8
export const RESULT = 9
export const MAP = 10
export const HANDLER = 11
export const FUNCTIONS = 12
export const PUTS = 13
export const FUNCTIONS_ONLY = 14
export const LENDER = 15
export const LEND = 16
export const STATE = 17

/**
 * @typedef {object} Root
 * @property {number} kind
 * @property {any} of
 * @property {number} index
 * @property {number} bits the effects on a parameter
 * @property {boolean} isPassed whether a function passes a parameter to a function that is a parameter too
 * @property {any[]} watchers the followers of a parameter: pairs of a passed flow and the Effects of the
 *   caller, or of a parameter and null
 * @property {Flow | null} passed the functions that a parameter or an unknown object may be
 * @property {Flow | null} given all values that known callers pass for a parameter; null: not needed
 * @property {Root[]} sources parameters of unknown functions that reach a parameter
 * @property {Flow | null} outer the contents of a shared object
 * @property {Map<string, Flow> | null} outers the contents of a shared object, by the names of properties
 * @property {Root | null} base the parameter, or the unknown object of a variable, that holds an inner object
 * @property {Root | null} inner the objects inside a parameter, or inside the unknown object of a variable
 * @property {Flow | null} origin the roots of an unknown object, as the owner of the variable sees them; the
 *   objects inside have none
 * @property {Root | null} forgotten the root in its place in large sets
 * @property {Flow[] | null} alone a list of one flow with the root alone
 * @property {Flow | null} objects the known objects in the properties of a function
 * @property {number} mark see effects-origins.mjs
 * @property {Slot | null} slot the holder of a shared object
 */
/**
 * @typedef {object} Flow
 * @property {Root[]} roots
 * @property {Map<Root, boolean> | null} known the same roots, if there are many
 * @property {Watcher | null} watchers a list, the last watcher first
 * @property {number} done the number of roots that all watchers have seen, or see at present
 * @property {boolean} isQueued
 * @property {Callee | null} callee
 * @property {Effects | null} by the last function that uses the objects
 * @property {Flow | null} loaded the contents that this function loads
 * @property {Flow | null} deep all that the objects hold
 * @property {number} used the effects of this function on the objects
 * @property {number} touched the effects of this function on the objects and on their contents
 * @property {Root | null} only the only root, if it is a built-in value or a node of the document
 * @property {boolean} isNamed whether the flow holds the values of all properties with one name
 * @property {boolean} isContents whether the flow holds the contents of an object
 * @property {boolean} isPassed whether the flow holds functions that callers pass
 * @property {Crowd | null} crowd the functions that replace the functions of a large flow
 * @property {number} mark see effects-origins.mjs
 */
/**
 * A rule for each root of a flow.
 *
 * @typedef {object} Watcher
 * @property {number} kind
 * @property {any} f
 * @property {any} to
 * @property {any} more
 * @property {number} done the number of roots that the watcher has seen
 * @property {Watcher | null} next
 */
/**
 * A variable, `this` of a function, or a shared object, as the holder of unknown objects.
 *
 * @typedef {object} Slot
 * @property {Effects | null} owner the function whose activation contains the slot; null: the module
 * @property {string} name
 * @property {Variable | null} variable
 * @property {Node} node
 * @property {Root | null} held
 * @property {any} location the location of all unknown objects
 * @property {any} own the location in the activation
 * @property {boolean} isShared whether an unknown object in a variable of an activation may belong to other
 *   functions too: an object of the module, of another activation, or from outside of the program
 * @property {boolean} mayBeWritten whether another closure may write the object as an unknown object
 */
/**
 * An expression that makes objects.
 *
 * @typedef {object} Site
 * @property {string} kind the kind of the objects: 'object' for a literal, 'array', 'collection', 'map',
 *   'regexp', 'function' or 'instance'. The kind 'namespace' has no state
 * @property {Node} node
 * @property {Flow} inside
 * @property {Root} root
 * @property {Root[]} shared
 * @property {Callee | null} effects the effects of a function
 * @property {boolean} hasLeft
 * @property {boolean} isStored whether an object holds a function
 * @property {Effects[]} leavers the functions that the object leaves
 * @property {any[]} stored pairs of a stored value, and the Effects of the function that stored the value
 * @property {Map<string, Flow> | null} properties the values of an object literal or a function, by their
 *   names; null: the names are not known
 * @property {any[]} spreads pairs of objects whose properties an object literal copies, and the Effects of
 *   the function
 * @property {Flow | null} others the values under unknown names
 * @property {Flow | null} own the values in the properties of a function, without its prototype
 * @property {boolean} hasAccessors whether an object literal has accessors, or inherits some
 * @property {boolean} hasState whether a text writes properties of a function
 * @property {boolean} mayHaveState whether a function that gets the function as an argument writes properties
 * @property {boolean} isRead whether a text reads a property of a function by its name
 * @property {boolean} hasEscaped whether flows have forgotten the object
 * @property {boolean} isChanged whether a closure writes the object as an unknown object
 * @property {boolean} isReached whether a closure that outlives the activation uses the object
 * @property {boolean} isKept
 * @property {boolean} isFrozen
 * @property {boolean} isOpen whether other texts can reach the object by an exported name
 * @property {boolean} isWritten whether a function writes the new object, before other functions reach it
 * @property {Flow | null} unknownMembers values under computed names
 * @property {boolean} isExports whether the object is an exports object of a CommonJS file
 * @property {Set<string> | null} declared properties that known texts assign to an exports object
 * @property {boolean} isPut whether code that is not followed stores objects in a function
 * @property {(() => void)[]} onPut callbacks for `isPut`
 * @property {Site | null} prototype the prototype of a function or class, with its properties
 * @property {Map<string, Callee> | null} statics the static methods of a class by their names
 * @property {boolean} isReplaced whether an exports object is the initial value of an assigned
 *   `module.exports`
 * @property {any} location
 */
/**
 * The possible functions of a call.
 *
 * @typedef {object} Callee
 * @property {(Root | undefined)[]} parameters the parameters, starting with the index SPREAD
 * @property {Flow} result
 * @property {boolean} isUnknown
 * @property {Callee[]} targets
 * @property {any[]} calls calls that wait for built-in functions
 * @property {string[]} paths built-in functions
 * @property {boolean} isMethod whether built-in methods have the name too
 * @property {boolean} isNamed whether the set holds all functions with one property name
 * @property {Root[]} open the parameters of the caller, and of functions around it, that may be called
 * @property {Root[]} captured the captured parameters that may be called: see addCaptured
 * @property {Map<Root, Fact[]> | null} facts calls of parameters, by the parameter
 * @property {any[]} users calls of the function, and sets that contain the function
 * @property {Root | null} lent the objects that these functions return
 * @property {any} isLent the set of these objects
 * @property {any} lenders functions of the program that a call of an unknown function may reach
 * @property {Effects | null} effects null: a set of functions
 * @property {boolean} isDefault whether it is the constructor of a class without a constructor
 */
/**
 * A function calls a parameter, or a parameter of a function around it. Each caller makes the same call with
 * the functions and objects that it knows: see useFact.
 *
 * @typedef {object} Fact
 * @property {Root} called the parameter, or the captured parameter
 * @property {number} at the position among the arguments of that call
 * @property {Root} passed the argument
 */
/**
 * @typedef {object} Call
 * @property {Callee} callee
 * @property {Flow | null} self
 * @property {(Flow | null)[]} args
 * @property {Flow | null} rest the elements of spread lists
 * @property {Effects} f the caller
 * @property {Flow | null} to the result
 * @property {number} depth 0: a call in the text. n: a call that a function makes whose call has depth n - 1
 * @property {Map<Flow, Call> | null} implied the calls that the called functions make, by their functions
 * @property {(Flow[] | null)[] | null} given the values of each parameter, starting with the index SPREAD, as
 *   far as they are needed; null at first
 * @property {(Flow[] | null)[] | null} inside all that these values hold
 */
/**
 * The effects of one function.
 *
 * @typedef {object} EffectsFields
 * @property {Plan} plan
 * @property {Site} site
 * @property {Map<any, number> | null} uses effects on locations
 * @property {Map<Root, number> | null} touched
 * @property {any[]} captures the used variables of outer functions
 * @property {Callee[]} callees
 * @property {number} declared the number of parameters
 * @property {boolean} isOpenEnded whether the function can read more arguments
 * @property {boolean} isDeferred whether the body continues after the call has returned
 * @property {number} resumesAt the position in the text from which the code may run in a later stay
 * @property {any} self the holder of `this`
 * @property {Flow} returned
 * @property {Flow | null} first the first argument, without its default value
 * @property {(() => void)[]} endings called as soon as the function may outlive the activation around it
 * @property {boolean} isChanged
 * @property {Effects[]} includes code that runs as a part of the function
 * @property {boolean} claimsAll
 */
/** @typedef {Callee & EffectsFields} Effects */

/** The list of a flow without roots. @type {any[]} */
export const NONE = []

/** @returns {Flow} */
export const newFlow = () => ({
  roots: NONE, known: null, watchers: null, done: 0, isQueued: false, callee: null, by: null,
  loaded: null, used: 0, touched: 0, deep: null, only: null, isNamed: false, isContents: false,
  isPassed: false, crowd: null, mark: 0
})

/** @param {number} kind @param {any} of @param {number} index @returns {Root} */
export const newRoot = (kind, of, index) => ({
  kind, of, index, bits: 0, isPassed: false, watchers: NONE, passed: null, given: null, sources: NONE,
  outer: null,
  outers: null, slot: null,
  base: null, inner: null, origin: null, forgotten: null, alone: null, objects: null,
  mark: 0
})

/** An object that may come from anywhere. */
export const given = /* @__PURE__ */ newRoot(GIVEN, null, 0)
/** An object that a function outside of the program returns. */
export const foreign = /* @__PURE__ */ newRoot(GIVEN, null, 0)

/**
 * @param {any} owner @param {string} name @param {Variable | null} variable @param {Node} node
 * @returns {Slot}
 */
export const newSlot = (owner, name, variable, node) =>
  ({
    owner, name, variable, node, held: null, location: null, own: null, isShared: false,
    mayBeWritten: false
  })

/** @param {string} kind @param {Node} node @param {Callee | null} effects @returns {Site} */
export function newSite(kind, node, effects = null) {
  /** @type {Site} */
  const site = {
    kind, node, inside: newFlow(), root: /** @type {any} */ (null), shared: NONE, effects, hasLeft: false,
    isStored: false, leavers: NONE, stored: NONE, properties: null, spreads: NONE, others: null, own: null,
    hasAccessors: false, hasState: false, mayHaveState: false, isRead: false, isChanged: false,
    hasEscaped: false,
    isReached: false, isKept: false,
    isFrozen: false, isOpen: false, isWritten: false, unknownMembers: null, declared: null, isExports: false,
    isReplaced: false, statics: null, prototype: null, isPut: false, onPut: NONE, location: null
  }
  site.inside.isContents = true
  site.root = newRoot(SITE, site, 0)
  return site
}

/** @returns {Callee} */
export const newCallee = () => ({
  parameters: NONE, result: newFlow(), isUnknown: false, targets: [],
  calls: [], paths: [],
  isMethod: false, isNamed: false, open: NONE, captured: NONE, facts: null, users: NONE, lenders: null,
  lent: null, isLent: null, effects: null, isDefault: false
})

/** @type {Map<string, Root>} */
const builtIns = /* @__PURE__ */ emptyMap()
/** @type {Map<string, Root>} */
const nodes = /* @__PURE__ */ emptyMap()

/** @param {any} map @param {number} kind @param {string} of @returns {Flow} */
function single(map, kind, of) {
  let root = map.get(of)
  if (!root) map.set(of, root = newRoot(kind, of, 0))
  const flow = newFlow()
  flow.roots = [root]
  flow.only = root
  return flow
}

/** Returns the flow of a built-in value. @param {string} path @returns {Flow} */
export const builtIn = path => single(builtIns, BUILT_IN, path)
/** Returns the flow of a node of the document. @param {string} selector @returns {Flow} */
export const domNode = selector => single(nodes, DOM, selector)

/** @param {Flow | null} flow @returns {string | null} the path of a built-in value */
export const pathOf = flow => flow && flow.only !== null && flow.only.kind === BUILT_IN ? flow.only.of : null

/** @param {Flow | null} flow @returns {string | null} the selector of a node of the document */
export const selectorOf = flow => flow && flow.only !== null && flow.only.kind === DOM ? flow.only.of : null
