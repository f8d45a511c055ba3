/**
 * addons/preemptify/effects-flow.mjs: the objects that the values of a program may be.
 *
 * The walk over the tree connects flows by watchers, for example `y = x` by an edge from the flow of `x`.
 * `propagate` then moves each root through the watchers of its flows, until nothing changes. The sets only
 * grow, so the order of the walk does not matter, and recursion ends.
 */

import {
  ALL, BUILT_IN, CALLEE, CHANGE, DEEP, DETAIL, DOM, EDGE, FUNCTIONS, FUNCTIONS_ONLY, GIVEN, HANDLER, HELD,
  INNER, KEEP, KEPT, LEAVE, LEND, LENDER, LOAD, MAP, MATCH, MORE, NONE, OPEN, OUTER, PARAMETER,
  PART_LEAVES, PART_PUT, PUT, PUTS, READ, RESULT, RETURN, SELF, SHARED, SITE, SPREAD, STATE, STORE, TOUCH,
  WRITE, WRITES, foreign, given, newCallee, newFlow, newRoot, newSlot
} from './effects-roots.mjs'
import { emptyMap, emptySet, find, forEach, listOf, push, takeLast } from './primordials.mjs'
import { isFunctionNode } from './scopes.mjs'
/** @import { Call, Callee, Effects, Fact, Flow, Root, Site, Slot, Watcher } from './effects-roots.mjs' */

/** @param {Root} root @returns {Flow} a flow with one object */
function flowOf(root) {
  const flow = newFlow()
  add(flow, root)
  return flow
}

/**
 * @param {Flow} flow @returns {Flow} a flow with an unknown object, which may be any object of the given flow
 */
export function anyOf(flow) {
  const root = newRoot(GIVEN, null, 0)
  root.sources = []
  each(flow, source => push(root.sources, source))
  return flowOf(root)
}

// The worklist

/** Flows with roots that some of their watchers have not seen. @type {Flow[]} */
const queue = []
/** Triples of a flow, a function in it, and a callee that may call the function. @type {any[]} */
const lending = []
/** Flows that have joined their crowd. @type {Flow[]} */
const joining = []
/** Decisions that wait until nothing changes. @type {(() => void)[]} */
const waiting = []
/** Calls a function when nothing changes any more. @param {() => void} fn */
export const whenStable = fn => push(waiting, fn)
/** Functions that unknown code can call from now on. @type {Site[]} */
const leaving = []
/**
 * An argument of a call that reaches a captured parameter. The facts wait until it is known which closures
 * outlive their activation.
 *
 * @typedef {object} CapturedCall
 * @property {Flow} flow @property {Root} called @property {Root} parameter @property {Effects} f
 */
/** @type {CapturedCall[]} */
const capturing = []
/** Functions that may outlive the activation around them from now on. @type {Effects[]} */
const outliving = []
/** Parameters with new effects. @type {Root[]} */
const flagged = []
/** The callees of new calls. @type {Callee[]} */
let callees = []

/** Called for each built-in function that a call reaches. @type {(call: any, path: string) => void} */
let onBuiltIn = /** @type {any} */ (null)
/** @param {(call: any, path: string) => void} fn */
export function setBuiltInHandler(fn) {
  onBuiltIn = fn
}

/**
 * The functions in all large flows of passed functions. Two large flows often pass their functions to each
 * other, so separate sets would need quadratic time.
 *
 * @typedef {object} Crowd
 * @property {Flow} flow
 * @property {Callee} callee
 * @property {boolean} mayHaveState whether `mayHaveState` is set for all functions
 * @property {Root} lent all results of unknown functions that large flows have forgotten
 */

/** @returns {Crowd} */
export function newCrowd() {
  const flow = newFlow()
  flow.isNamed = true
  const callee = newCallee()
  watch(flow, LENDER, null, callee, 0)
  const crowd = { flow, callee, mayHaveState: false, lent: newRoot(GIVEN, null, 0) }
  crowd.lent.sources = []
  crowd.lent.passed = passedFlow()
  crowd.lent.passed.crowd = crowd
  return crowd
}

/** The functions in large flows of the analysed program. */
let crowd = /** @type {Crowd} */ (/** @type {any} */ (null))
/** The holder of all objects that flows of the analysed program have forgotten. */
let various = /** @type {Slot} */ (/** @type {any} */ (null))

/** The functions that the analysed program stores under computed names. */
let unnamed = /** @type {Callee} */ (/** @type {any} */ (null))

/** @returns {Slot} the holder of the objects that flows of a new program forget */
export const newVarious = () => newSlot(null, 'objects', null, /** @type {any} */ (null))

/**
 * Sets what all flows of a program share. Kept from one program to the next, it would keep all programs.
 *
 * @param {{ crowd: Crowd, various: Slot, unnamedFunctions: Callee }} program
 */
export function setShared(program) {
  crowd = program.crowd
  unnamed = program.unnamedFunctions
  various = program.various
}

/** Maximum number of functions in a flow of passed functions that is not large. */
const MAX_PASSED = 12

/** @returns {Flow} a flow of functions that callers pass */
function passedFlow() {
  const flow = newFlow()
  flow.isNamed = flow.isPassed = true
  return flow
}

/** Replaces the functions of a large flow by all functions in large flows. @param {Flow} flow */
function joinCrowd(flow) {
  flow.crowd = crowd
  push(joining, flow)
}

/** Moves the functions and the watchers of a flow to its crowd. @param {Flow} flow */
function moveToCrowd(flow) {
  const { roots, watchers } = flow
  flow.roots = NONE
  flow.known = flow.watchers = null
  flow.done = 0
  for (let i = 0; i < roots.length; i++) add(flow, roots[i])
  for (let one = watchers; one !== null; one = one.next) watch(flow, one.kind, one.f, one.to, one.more)
}

/** A flow with more roots has a map of its roots. */
const MANY = 9
/** Maximum number of known objects in a flow. It forgets further objects, so that the time stays linear. */
const MAX_ROOTS = 12

/** @param {Flow} flow @param {Root} root */
export function add(flow, root) {
  if (flow.crowd !== null) flow = flow.crowd.flow
  const { roots } = flow
  if (roots.length >= MAX_ROOTS && !flow.isNamed) root = forget(root)
  if (flow.known !== null) {
    if (flow.known.has(root)) return
    flow.known.set(root, true)
  } else {
    for (let i = 0; i < roots.length; i++) if (roots[i] === root) return
    if (roots.length === MANY) {
      flow.known = emptyMap()
      for (let i = 0; i < roots.length; i++) flow.known?.set(roots[i], true)
      flow.known?.set(root, true)
    }
  }
  // Most flows have one or two roots, and a list that grows by itself takes room for 17.
  if (roots.length < 2) flow.roots = roots.length === 0 ? [root] : [roots[0], root]
  else push(roots, root)
  if (flow.isContents && isFunction(root) && !root.of.isStored) {
    root.of.isStored = true
    outlive(root.of)
  }
  if (flow.isPassed && flow.roots.length > MAX_PASSED) return joinCrowd(flow)
  if (flow.watchers !== null) enqueue(flow)
}

/** @param {Flow} flow a flow with roots that a watcher has not seen */
function enqueue(flow) {
  if (flow.isQueued) return
  flow.isQueued = true
  push(queue, flow)
}

/**
 * Shows each root of a flow to the watchers that have not seen it. New watchers come first in the list.
 *
 * @param {Flow} flow
 */
function showRoots(flow) {
  const hasNewRoots = flow.done < flow.roots.length
  flow.done = flow.roots.length
  flow.isQueued = false
  for (let one = flow.watchers; one !== null && (hasNewRoots || one.done === 0); one = one.next) {
    while (one.done < flow.roots.length) {
      const root = flow.roots[one.done++]
      if (one.kind === LENDER) push(lending, flow, root, one.to)
      else if (concerns(one, root)) fire(one, root)
    }
  }
}

/** Whether a root is a function of the program. @param {Root} root */
const isFunction = ({ kind, of }) => (kind === SITE || kind === SHARED) && of.kind === 'function'

/**
 * Whether a watcher must process a root. Reads and effects of parameters concern the caller, and results of
 * unknown calls concern the functions that returned the objects.
 *
 * @param {Watcher} watcher @param {Root} root
 */
function concerns({ kind, more }, root) {
  if (kind !== TOUCH && kind !== WRITES) return true
  const { kind: of, base } = root
  if (of === GIVEN) return false
  if (of !== PARAMETER && of !== INNER) return true
  const bits = (base === null ? more : onBase(more)) & (ALL | OPEN)
  return ((base ?? root).bits & bits) !== bits
}

/** @param {Root} root @returns {Root} an unknown object in place of the root */
function forget(root) {
  const { kind, of } = root
  if (kind === HELD && of !== various) {
    const held = heldIn(various)
    if (root.forgotten !== held) linkTo(root.base ?? root, held)
    root.forgotten = held
    return held
  }
  if (kind === GIVEN && root.passed !== null) {
    if (root !== crowd.lent && root.forgotten === null) {
      root.forgotten = crowd.lent
      push(crowd.lent.sources, root)
      edge(root.passed, /** @type {Flow} */ (crowd.lent.passed))
    }
    return crowd.lent
  }
  if (kind !== SITE && kind !== SHARED) return root
  if (of.kind === 'function') {
    release(of)
    return given
  }
  escape(of)
  return kind === SITE ? given : heldIn(various)
}

/** Records that unknown flows hold an object. @param {Site} site */
function escape(site) {
  if (site.hasEscaped) return
  site.hasEscaped = site.hasLeft = true
  addInside(site, given)
  keepSite(site)
  const { stored } = site
  for (let i = 0; i < stored.length; i += 2) touch(stored[i], stored[i + 1], READ | LEAVE)
}

/**
 * Stores a value in a new object.
 *
 * @param {Site} site @param {Flow | null} value @param {Effects} f
 * @param {string} [name] the name of the property, or empty if the name is not known
 */
export function put(site, value, f, name = '') {
  if (name !== '' && site.isExports) declare(site, name)
  if (!value) return
  watch(value, EDGE, null, site.inside, 0)
  if (site.kind === 'function' && name !== 'prototype') edge(value, ownOf(site))
  if (site.properties !== null) edge(value, name === '' ? othersOf(site) : fieldOf(site, name))
  if (site.stored === NONE) site.stored = [value, f]
  else push(site.stored, value, f)
  if (site.hasEscaped) touch(value, f, READ | LEAVE)
}

/**
 * Copies the properties of objects to an object literal.
 *
 * @param {Site} site @param {Flow | null} flow the objects @param {Effects} f
 */
export function spreadInto(site, flow, f) {
  if (!flow) return
  const { properties } = site
  site.properties = null
  put(site, load(flow, f), f)
  site.properties = properties
  if (site.spreads === NONE) site.spreads = [flow, f]
  else push(site.spreads, flow, f)
  properties?.forEach((to, name) => edge(loadField(flow, f, name), to))
}

/** Stores an object under an unknown name. @param {Site} site @param {Root} root */
export function addInside(site, root) {
  if (site.isFrozen) return // no code can store an object in it
  add(site.inside, root)
  if (site.properties !== null) add(othersOf(site), root)
}

/** @param {Site} site a function @returns {Flow} */
export const ownOf = site => site.own ??= newFlow()

/** @param {Site} site @returns {Flow} */
const othersOf = site => site.others ??= newFlow()

/** @param {any} site @param {string} name @returns {Flow} the values of a property */
function fieldOf(site, name) {
  const { properties, spreads } = site
  let flow = properties.get(name)
  if (!flow) {
    properties.set(name, flow = newFlow())
    if (site.isExports) waitForExport(site, name, flow)
    for (let i = 0; i < spreads.length; i += 2) edge(loadField(spreads[i], spreads[i + 1], name), flow)
  }
  return flow
}

/**
 * Makes an object an exports object of a CommonJS file: see effects-commonjs.mjs.
 *
 * @param {Site} site
 */
export function setExports(site) {
  if (site.isExports) return
  site.isExports = true
  site.properties ??= emptyMap()
  site.properties?.forEach((flow, name) => waitForExport(site, name, flow))
}

/** Records that a known text assigns a property. @param {Site} site @param {string} name */
export function declare(site, name) {
  (site.declared ??= emptySet()).add(name)
}

/**
 * Adds an unknown object to a property of an exports object, if no known text assigns the property.
 *
 * @param {Site} site @param {string} name @param {Flow} flow the values of the property
 */
function waitForExport(site, name, flow) {
  whenStable(() => {
    const { declared, isReplaced, spreads, others } = site
    const isKnown = declared?.has(name) || isReplaced || spreads.length || others?.roots.length
    if (!isKnown && flow.roots.length === 0) add(flow, given)
  })
}

/** @param {Site} site @param {string} name empty: all properties @param {(flow: Flow) => void} to */
function eachField(site, name, to) {
  if (site.properties === null || name === '') return to(site.inside)
  to(fieldOf(site, name))
  to(othersOf(site))
}

/**
 * Adds the values that texts store in a property of a function, without an effect.
 *
 * @param {Root} root the function @param {string} name @param {Flow} to
 */
export function addStored({ kind, of, slot }, name, to) {
  if (of.properties !== null) eachField(of, name, flow => {
    if (kind === SITE) edge(flow, to)
    else watch(flow, OUTER, null, to, slot)
  })
}

/** @param {Flow} flow @param {Effects} f @returns {Flow} all that the objects hold */
export function deepOf(flow, f) {
  if (flow.deep === null) {
    const deep = flow.deep = newFlow()
    edge(load(flow, f), deep)
    watch(deep, LOAD, f, deep, '')
  }
  return flow.deep
}

/** @param {Root} root a parameter, or an unknown object of a variable @returns {Root} the objects inside */
function innerOf(root) {
  if (root.inner === null) {
    root.inner = newRoot(root.kind === HELD ? HELD : INNER, root.of, root.index)
    root.inner.base = root
  }
  return root.inner
}

/** @param {Flow} flow @param {number} kind @param {any} f @param {any} to @param {any} more */
function watch(flow, kind, f, to, more) {
  if (flow.crowd !== null) {
    if (kind === EDGE && (to === flow.crowd.flow || to.crowd !== null)) return
    if (kind === EDGE && to.isPassed) return joinCrowd(to)
    if (kind === LENDER) return lendFrom(flow.crowd.callee, to)
    if (kind === STATE && flow.crowd.mayHaveState) return
    if (kind === STATE) flow.crowd.mayHaveState = true
    flow = flow.crowd.flow
  }
  flow.watchers = { kind, f, to, more, done: 0, next: flow.watchers }
  if (flow.roots.length) enqueue(flow)
}

/** @param {Flow | null} from @param {Flow} to */
export function edge(from, to) {
  if (from && from !== to) watch(from, EDGE, null, to, 0)
}

/**
 * Returns the flow of a value from one of two expressions.
 *
 * @param {Flow | null} one @param {Flow | null} other @returns {Flow | null}
 */
export function either(one, other) {
  if (!one || one === other) return other ?? null
  if (!other) return one
  const to = newFlow()
  edge(one, to)
  edge(other, to)
  return to
}

/** @param {Flow} from @param {Slot} slot @returns {Flow} the same objects, as other functions reach them */
export function outerFlow(from, slot) {
  const to = newFlow()
  watch(from, OUTER, null, to, slot)
  return to
}

/** @param {Flow | null} flow @param {Effects} f @returns {Flow | null} the contents of the objects */
export function load(flow, f) {
  if (!flow) return null
  remember(flow, f)
  if (flow.loaded === null) watch(flow, LOAD, f, flow.loaded = newFlow(), '')
  return flow.loaded
}

/**
 * Forgets what another function did with a flow. So a flow has one watcher for repeated effects of one
 * function.
 *
 * @param {Flow} flow @param {Effects} f
 */
function remember(flow, f) {
  if (flow.by === f) return
  flow.by = f
  flow.loaded = null
  flow.touched = flow.used = 0
}

/**
 * @param {Flow} flow @param {Effects} f @param {string} name
 * @returns {Flow} the values of one property of the objects
 */
export function loadField(flow, f, name) {
  const to = newFlow()
  watch(flow, LOAD, f, to, name)
  return to
}

/** The bit in `used` of a function that has called the accessors of the objects. */
const ACCESS = 1 << 20

/**
 * Whether a function has not called the accessors of the objects yet, as far as a flow remembers.
 *
 * @param {Flow} flow @param {Effects} f
 */
export function isFirstAccess(flow, f) {
  remember(flow, f)
  if (flow.used & ACCESS) return false
  flow.used |= ACCESS
  return true
}

/**
 * Records effects on the objects of a flow, and on all objects inside them.
 *
 * @param {Flow | null} flow @param {Effects} f @param {number} bits
 */
export function touch(flow, f, bits) {
  if (!flow) return
  remember(flow, f)
  if ((flow.touched & bits) === bits) return
  flow.touched |= bits
  watch(flow, TOUCH, f, null, bits)
}

/**
 * Records effects on the objects of a flow, but not on the objects inside them.
 *
 * @param {Flow | null} flow @param {Effects} f @param {number} bits
 */
export function use(flow, f, bits) {
  if (!flow) return
  remember(flow, f)
  if ((flow.used & bits) === bits) return
  flow.used |= bits
  watch(flow, WRITES, f, null, bits)
}

/**
 * The position of a stored value: under a known name (or the name itself), under a computed name, or in
 * `this` of a method of a class. With COPY, the properties of the value are stored under their names.
 */
export const NAMED = 0
export const COMPUTED = 1
export const OWN = 2
export const COPY = 3

/** @param {Flow | null} object @param {Flow | null} value @param {Effects} f @param {number | string} how */
export function store(object, value, f, how) {
  if (!object) touch(value, f, READ | LEAVE)
  else if (value) watch(object, STORE, f, value, how)
}

/** Records that a variable or object keeps the objects of a flow after the call. @param {Flow | null} flow */
export function keep(flow) {
  if (flow) watch(flow, KEEP, null, null, 0)
}

/**
 * Adds the objects of a flow to the result of a function.
 *
 * @param {Flow | null} flow @param {Effects} f the function that returns the objects
 */
export function giveBack(flow, f) {
  edge(flow, f.returned)
}

/** Connects the returned values of a function with its result. @param {Effects} f */
export const connectResult = f => watch(f.returned, RETURN, f, null, f.isDeferred)

/** Calls `to(root)` for each root. @param {Flow} flow @param {(root: Root) => void} to */
export function each(flow, to) {
  watch(flow, HANDLER, null, to, 0)
}

/** Returns the functions in a flow. @param {Flow} flow @returns {Callee} */
export function calleeOf(flow) {
  if (flow.callee === null) {
    flow.callee = newCallee()
    watch(flow, CALLEE, null, flow.callee, 0)
  }
  return flow.callee
}

/** Returns the functions that a call of a member may reach. @param {Flow} flow @returns {Callee} */
export function membersIn(flow) {
  const callee = newCallee()
  callee.isNamed = true
  watch(flow, CALLEE, null, callee, 0)
  return callee
}

/** Returns the functions among the objects of a flow. @param {Flow} flow @returns {Callee} */
export function functionsIn(flow) {
  const callee = newCallee()
  callee.isNamed = true
  watch(flow, FUNCTIONS, null, callee, 0)
  return callee
}

/**
 * Connects the arguments and the result of a call with the parameters and results of the possible functions.
 *
 * @param {Callee} callee @param {Flow | null} self @param {(Flow | null)[]} args
 * @param {Flow | null} rest the elements of spread lists @param {Effects} f the caller
 * @param {Flow | null} to
 */
export function invoke(callee, self, args, rest, f, to) {
  if (self) pass(self, callee, SELF, f)
  for (let i = 0; i < args.length; i++) if (args[i]) pass(/** @type {Flow} */ (args[i]), callee, i, f)
  if (rest) pass(rest, callee, SPREAD, f)
  const call = { callee, self, args, rest, f, to, depth: 0, implied: null, given: null, inside: null }
  addCall(call)
  if (to !== null) watch(callee.result, RESULT, call, to, 0)
  if (callee.effects !== null) return
  push(callee.calls, call)
  for (let i = 0; i < callee.paths.length; i++) onBuiltIn(call, callee.paths[i])
}

/** @param {Call} call */
function addCall(call) {
  const { callee, f } = call
  push(callees, callee)
  push(f.callees, callee)
  const unseen = find(callee.open, root => !isSeenBy(root, f))
  if (unseen) callUnseen(callee, unseen)
  addUser(callee, call)
}

/** @param {Flow} flow @param {Callee} callee @param {number} index @param {Effects} f */
function pass(flow, callee, index, f) {
  touch(flow, f, READ)
  const parameter = parameterOf(callee, index)
  follow(parameter, flow, f)
  if (parameter.bits) affect(flow, f, parameter.bits)
}

/** @param {Callee} callee @param {any} user a call, or a set of functions that contains the callee */
function addUser(callee, user) {
  if (callee.users === NONE) callee.users = [user]
  else push(callee.users, user)
  callee.facts?.forEach(facts => forEach(facts, fact => useFact(user, fact)))
}

/** @param {Callee} callee @param {Fact} fact */
function addFact(callee, fact) {
  const facts = callee.facts ??= emptyMap()
  const { called, at, passed } = fact
  const known = facts.get(called)
  if (!known) facts.set(called, [fact])
  else if (find(known, one => one.at === at && one.passed === passed)) return
  else push(known, fact)
  const { users } = callee
  for (let i = 0; i < users.length; i++) useFact(users[i], fact)
}

/** Maximum depth of implied calls. Without it, a function that gets itself as an argument has no end. */
const MAX_DEPTH = 3

/**
 * Adds an argument to a call that a called function makes. For example, `each(list, fn)` implies the call
 * `fn(list[i])`, and the caller of `each` knows `fn` and `list`.
 *
 * @param {any} user see `addUser` @param {Fact} fact
 */
function useFact(user, fact) {
  if (user.callee === undefined) return addFact(user, fact)
  const { called, at, passed } = fact
  const functions = flowsOf(called, user)
  let objects = flowsOf(passed, user)
  let object = passed
  if (objects === null) {
    flagHeld(passed, LEAVE)
    objects = NONE
    object = foreign
  } else if (objects === NONE) object = originalOf(passed, user)
  if (functions === null) return void push(outliving, passed.of)
  if (user.depth === MAX_DEPTH) {
    const leave = (/** @type {Flow} */ flow) => touch(flow, user.f, LEAVE)
    forEach(objects, leave)
    if (objects === NONE) leave(flowOf(object))
    return forEach(functions, leave)
  }
  const implied = user.implied ??= emptyMap()
  for (let i = 0; i < functions.length; i++) {
    let call = implied.get(functions[i])
    if (!call) implied.set(functions[i], call = impliedCall(functions[i], user))
    if (objects === NONE) add(argumentAt(call, at), object)
    for (let k = 0; k < objects.length; k++) edge(objects[k], argumentAt(call, at))
  }
}

/** @param {Flow} functions @param {Call} user the call that implies the call @returns {Call} */
function impliedCall(functions, { f, depth }) {
  const callee = calleeOf(functions)
  /** @type {Call} */
  const call = {
    callee, self: null, args: [], rest: null, f, to: null, depth: depth + 1, implied: null, given: null,
    inside: null
  }
  addCall(call)
  each(functions, root => {
    const { kind } = root
    const isParameter = kind === PARAMETER || kind === HELD
    if (kind === BUILT_IN) makeUnknown(callee)
    else if (isParameter && !isSeenBy(root, f)) callUnseen(callee, root)
  })
  return call
}

/** @param {Call} call an implied call @param {number} at @returns {Flow} the argument */
function argumentAt(call, at) {
  const known = at === SELF ? call.self : at < 0 ? call.rest : call.args[at]
  if (known) return known
  const flow = newFlow()
  if (at === SELF) call.self = flow
  else if (at < 0) call.rest = flow
  else {
    while (call.args.length < at) push(call.args, null)
    call.args[at] = flow
  }
  const { callee, f } = call
  pass(flow, callee, at < SELF ? SPREAD : at, f)
  // Facts about the argument came before it.
  const concerns = (/** @type {Root} */ { index }) => at < SELF || index === at || index < SELF
  callee.facts?.forEach(facts => forEach(facts, fact => {
    if (concerns(fact.called) || concerns(fact.passed)) useFact(call, fact)
  }))
  return flow
}

/**
 * Returns the values of a parameter of the called function, or of a captured variable, as the caller sees
 * them.
 *
 * @param {Root} root @param {Call} call
 * @returns {Flow[] | null} the list NONE for any other object: see `originalOf`. The result is null if a
 *   function that is not around the caller declares the variable
 */
function flowsOf(root, call) {
  const { kind, of, index } = root
  if (kind === HELD) {
    if (of.owner === call.f) return [originOf(root)]
    return isAround(of.owner, call.f) ? root.alone ??= [flowOf(root)] : null
  }
  if (kind !== PARAMETER && kind !== INNER) return NONE
  const list = () => {
    const values = argumentsAt(call, root)
    return kind === INNER ? insideOf(values, call.f) : values
  }
  // The arguments of an implied call are not all known yet.
  if (call.depth > 0) return list()
  const known = kind === INNER ? call.inside ??= [] : call.given ??= []
  while (known.length <= index - SPREAD) push(known, null)
  return known[index - SPREAD] ??= list()
}

/** @param {Flow[]} list @param {Effects} f @returns {Flow[]} all that the objects hold */
function insideOf(list, f) {
  /** @type {Flow[]} */
  const inside = []
  for (let i = 0; i < list.length; i++) push(inside, deepOf(list[i], f))
  return inside
}

/**
 * Returns an object as the caller sees it. An object of an activation is a new object for the activation, and
 * for its callers.
 *
 * @param {Root} root neither a parameter nor an object inside it @param {Call} call
 */
function originalOf(root, { f }) {
  if (root.kind !== SHARED) return root
  const { owner } = /** @type {Slot} */ (root.slot)
  return owner !== null && (owner === f || !isAround(owner, f)) ? root.of.root : root
}

/** @param {Call} call @param {Root} parameter or an object inside it @returns {Flow[]} */
function argumentsAt(call, { index, of }) {
  const { self, args, rest, depth } = call
  /** @type {Flow[]} */
  const list = []
  if (index === SELF) {
    if (self) push(list, self)
    return list
  }
  // The elements of spread lists may be any of the arguments.
  if (depth > 0 && index >= 0) {
    if (args[index]) push(list, /** @type {Flow} */ (args[index]))
    if (rest) push(list, rest)
    return list
  }
  const first = index >= 0 ? index : index === MORE && of.effects !== null ? of.declared : 0
  for (let i = first; i < args.length; i++) {
    if (args[i]) push(list, /** @type {Flow} */ (args[i]))
    if (index >= 0) return list
  }
  if (rest) push(list, rest)
  return list
}

/**
 * Records that a call reaches a function that the caller got as a parameter, or that is a parameter of a
 * function around the caller.
 *
 * @param {Callee} callee @param {Root} root the parameter, or the captured parameter
 */
function addOpen(callee, root) {
  if (find(callee.calls, ({ f }) => !isSeenBy(root, f))) return callUnseen(callee, root)
  for (let i = 0; i < callee.open.length; i++) if (callee.open[i] === root) return
  if (callee.open === NONE) callee.open = [root]
  else push(callee.open, root)
  add(callee.result, foreign)
  const { parameters } = callee
  for (let i = 0; i < parameters.length; i++) {
    const parameter = parameters[i]
    if (!parameter) continue
    flag(parameter, OPEN)
    const { watchers } = parameter
    for (let k = 0; k < watchers.length; k += 2) {
      if (watchers[k + 1] !== null) findFacts(watchers[k], root, parameter, watchers[k + 1])
    }
  }
}

/**
 * Records a call whose functions come from a parameter, but whose callers do not know the arguments. So the
 * functions count as functions that unknown code calls.
 *
 * @param {Callee} callee @param {Root} root the parameter, or an object inside it
 */
function callUnseen(callee, root) {
  makeUnknown(callee)
  flag(root.base ?? root, KEPT)
}

/**
 * Whether a root is a parameter of a function, or of a function around it.
 *
 * @param {Root} root @param {Effects} f
 */
const isSeenBy = ({ kind, of }, f) => kind === HELD ? isAround(of.owner, f) : of === f

/**
 * Finds the facts of one argument of a call.
 *
 * @param {Flow} flow the flow of the argument @param {Root} called @param {Root} parameter
 * @param {Effects} f the caller
 */
function findFacts(flow, called, parameter, f) {
  if (called.kind === HELD) push(capturing, { flow, called, parameter, f })
  else each(flow, root => relate(called, parameter.index, root, f))
}

/** @param {CapturedCall} call */
function followCaptured({ flow, called, parameter, f }) {
  const callee = parameter.of
  if (callee.isUnknown) return
  const { owner } = called.of
  if (mayOutlive(f, owner)) return callUnknown(callee, called)
  whenOutlived(f, owner, () => callUnknown(callee, called))
  each(flow, root => relate(called, parameter.index, root, f))
}

/**
 * Records an argument of a call of a parameter.
 *
 * @param {Root} called the parameter, or the captured parameter @param {number} at the position
 * @param {Root} passed the argument @param {Effects} f a function that knows both of them
 */
function relate(called, at, passed, f) {
  const { kind, of } = passed
  const isParameter = kind === PARAMETER || kind === INNER
  if (kind === GIVEN || (isParameter && of !== f)) {
    if (isParameter) flagBase(passed, LEAVE)
    passed = foreign
  }
  if (called.kind === PARAMETER) {
    if (called.of === f) addFact(f, { called, at, passed })
    else if (isParameter) flagBase(passed, LEAVE)
  } else if (called.kind === HELD) {
    if (passed.of === f) return addFact(f, { called, at, passed })
    // The inner one of the owners makes the same call.
    const inner = kind === HELD && isAround(called.of.owner, of.owner) ? of.owner : called.of.owner
    eachSeen(called, inner, one => eachSeen(passed, inner, other => relate(one, at, other, inner)))
  }
}

/**
 * Calls `to` for each root that a root is in the view of a function around the closure.
 *
 * @param {Root} root @param {Effects} f @param {(root: Root) => void} to
 */
function eachSeen(root, f, to) {
  if (root.kind === HELD && root.of.owner === f) each(originOf(root), to)
  else to(root)
}

/**
 * Returns the values of a captured variable, or the objects inside them, as the owner of the variable sees
 * them.
 *
 * @param {Root} held @returns {Flow}
 */
function originOf(held) {
  if (held.origin !== null) return held.origin
  const origin = held.origin = newFlow()
  if (held.base !== null) each(originOf(held.base), root => {
    add(origin, root.kind === PARAMETER ? innerOf(root) : root)
  })
  return origin
}

/**
 * Whether a function may outlive the activation of a function around it, as far as it is known.
 *
 * @param {Effects} f @param {Effects} owner
 */
function mayOutlive(f, owner) {
  if (f === owner || owner.isDeferred) return true
  for (let one = f; one !== owner; one = /** @type {any} */ (one.plan.parent).effects) {
    const { site, isDeferred, plan } = one
    if (site.hasLeft || site.isStored || isDeferred || !isFunctionNode(plan.node)) return true
  }
  return false
}

/**
 * Calls `to` as soon as a function may outlive the activation of a function around it.
 *
 * @param {Effects} f @param {Effects} owner @param {() => void} to
 */
function whenOutlived(f, owner, to) {
  if (mayOutlive(f, owner)) return to()
  for (let one = f; one !== owner; one = /** @type {any} */ (one.plan.parent).effects) push(one.endings, to)
}

/** Records that a function may outlive the activation around it. @param {Site} site */
function outlive({ effects }) {
  const f = /** @type {Callee} */ (effects).effects
  if (f !== null) push(outliving, f)
}

/** @param {Callee} callee @param {number} index @returns {Root} */
export function parameterOf(callee, index) {
  const { parameters, effects, targets } = callee
  let key = index
  if (effects !== null && index >= effects.declared) key = MORE
  const known = parameters[key - SPREAD]
  if (known) return known
  const parameter = newRoot(PARAMETER, callee, key)
  const list = parameters === NONE ? callee.parameters = [] : parameters
  while (list.length < key - SPREAD) push(list, undefined)
  list[key - SPREAD] = parameter
  if (callee.isUnknown) parameter.bits = LEAVE
  if (callee.open.length || callee.captured.length) parameter.bits |= OPEN
  if (callee.lenders !== null) forEach(listOf(callee.lenders), one => one.result && addSource(parameter, one))
  if (effects === null) for (let i = 0; i < targets.length; i++) link(parameter, targets[i])
  else if (key === SPREAD) {
    for (let i = 0; i < effects.declared; i++) linkTo(parameter, parameterOf(callee, i))
    linkTo(parameter, parameterOf(callee, MORE))
  }
  return parameter
}

/** @param {Root} parameter a parameter of a set of functions @param {Callee} target */
const link = (parameter, target) => linkTo(parameter, parameterOf(target, parameter.index))

/** @param {Root} parameter @param {any} follower a flow or a root @param {Effects | null} f */
function follow(parameter, follower, f) {
  if (parameter.passed !== null) join(parameter.passed, follower, f)
  if (parameter.given !== null) edge(f === null ? givenTo(follower) : follower, parameter.given)
  const { open = NONE } = parameter.of
  if (f !== null) for (let i = 0; i < open.length; i++) findFacts(follower, open[i], parameter, f)
  if (parameter.watchers === NONE) parameter.watchers = [follower, f]
  else push(parameter.watchers, follower, f)
}

/**
 * Marks the functions among the objects of a flow as functions with state, because a text writes a property.
 *
 * @param {Flow | null} flow
 */
export function markState(flow) {
  if (flow) each(flow, root => {
    const { kind, of } = root
    if (kind === SITE || kind === SHARED) of.hasState = true
    else if (kind === PARAMETER) watch(passedTo(root), STATE, null, null, 0)
    else if (kind === HELD) watch(heldFunctions(root), STATE, null, null, 0)
  })
}

/** @param {Root} parameter @returns {Flow} the functions that known callers pass */
function passedTo(parameter) {
  if (parameter.passed === null) {
    const flow = parameter.passed = passedFlow()
    const { watchers } = parameter
    for (let i = 0; i < watchers.length; i += 2) join(flow, watchers[i], watchers[i + 1])
    const { sources } = parameter
    for (let i = 0; i < sources.length; i++) edge(passedTo(sources[i]), flow)
  }
  return parameter.passed
}

/** @param {Root} parameter @returns {Flow} all values that known callers pass */
function givenTo(parameter) {
  if (parameter.given === null) {
    const flow = parameter.given = newFlow()
    const { watchers } = parameter
    for (let i = 0; i < watchers.length; i += 2) {
      edge(watchers[i + 1] === null ? givenTo(watchers[i]) : watchers[i], flow)
    }
  }
  return parameter.given
}

/** @param {Flow} passed @param {any} follower see `follow` @param {Effects | null} f */
function join(passed, follower, f) {
  if (f !== null) watch(follower, FUNCTIONS_ONLY, null, passed, 0)
  else if (follower.kind === PARAMETER) watch(passedTo(follower), EDGE, null, passed, 0)
}

/** @param {Root} from a parameter that gets the effects of `to` @param {Root} to */
function linkTo(from, to) {
  follow(to, from, null)
  if (to.bits) flag(from, to.bits)
}

/** @param {Root} parameter @param {number} bits */
export function flag(parameter, bits) {
  bits &= ALL | OPEN
  if ((parameter.bits & bits) === bits) return
  parameter.bits |= bits
  push(flagged, parameter)
}

/** Records effects on a parameter, or on objects inside it. @param {Root} root @param {number} bits */
function flagBase(root, bits) {
  const { base } = root
  if (base === null) flag(root, bits)
  else flag(base, onBase(bits))
}

/**
 * Records effects on the unknown object of a variable, or on an object inside it.
 *
 * @param {Root} root @param {number} bits
 */
function flagHeld(root, bits) {
  if (!(bits & ALL)) return
  if (root.base === null && bits & WRITE) bits |= DEEP
  if (root.base === null && bits & PUT) bits |= PART_PUT
  flagBase(root, bits)
}

/** @param {number} bits effects on an object inside a parameter @returns {number} effects on the parameter */
function onBase(bits) {
  if (bits & WRITE) bits = bits & ~WRITE | DEEP
  if (bits & LEAVE) bits = bits & ~LEAVE | PART_LEAVES
  if (bits & PUT) bits = bits & ~PUT | PART_PUT
  return bits
}

/**
 * Records the effects of a parameter on the objects that are passed.
 *
 * @param {Flow} flow @param {Effects} f @param {number} bits
 */
function affect(flow, f, bits) {
  const own = bits & (WRITE | PUT)
  if (own) use(flow, f, own)
  if (bits & DEEP) touch(load(flow, f), f, WRITE)
  if (bits & PART_LEAVES) touch(load(flow, f), f, LEAVE)
  if (bits & PART_PUT) touch(load(flow, f), f, PUT)
  touch(flow, f, bits & ~(WRITE | PUT | DEEP | PART_LEAVES | PART_PUT))
}

/** @param {Callee} callee @param {Callee} target */
export function addTarget(callee, target) {
  const { targets, parameters } = callee
  for (let i = 0; i < targets.length; i++) if (targets[i] === target) return
  push(targets, target)
  for (let i = 0; i < parameters.length; i++) if (parameters[i]) link(/** @type {Root} */ (parameters[i]),
    target)
  addUser(target, callee)
  // The result is an object from an unknown call, so `target` claims the objects that it returns.
  if (callee.isNamed && target.effects !== null) release(target.effects.site)
  watch(target.result, MAP, target, callee, 0)
}

/** Gives a callee all effects, because unknown code can be called. @param {Callee} callee */
export function makeUnknown(callee) {
  if (callee.isUnknown) return
  callee.isUnknown = true
  const { parameters } = callee
  for (let i = 0; i < parameters.length; i++) if (parameters[i]) flag(/** @type {Root} */ (parameters[i]),
    LEAVE)
  add(callee.result, foreign)
}

/** Records that unknown code can call a function. @param {Site} site */
export function release(site) {
  if (site.hasLeft) return
  site.hasLeft = true
  push(leaving, site)
  outlive(site)
}

/** @param {Site} site @param {Slot} slot @returns {Root} */
function sharedOf(site, slot) {
  const { shared } = site
  for (let i = 0; i < shared.length; i++) if (shared[i].slot?.owner === slot.owner) return shared[i]
  const root = newRoot(SHARED, site, 0)
  root.slot = newSlot(slot.owner, slot.name, slot.variable, site.node)
  if (shared === NONE) site.shared = [root]
  else push(shared, root)
  keepSite(site)
  return root
}

/** @param {Site} site */
function keepSite(site) {
  if (site.isKept) return
  site.isKept = true
  keep(site.inside)
}

/** @param {Slot} slot @returns {Root} */
const heldIn = slot => slot.held ??= newRoot(HELD, slot, 0)

/** @param {Root} root the root of a shared object @returns {Flow} */
const contentsOf = root => root.outer ??= outerFlow(root.of.inside, /** @type {Slot} */ (root.slot))

/**
 * Returns the objects in the properties of a function, and of functions in these properties. Unknown objects
 * of variables are left out: a call may return any function, so that the properties are often unknown.
 *
 * @param {Root} root the function @returns {Flow}
 */
export function objectsOf(root) {
  if (root.objects !== null) return root.objects
  const objects = root.objects = newFlow()
  const own = ownOf(root.of)
  each(root.kind === SHARED ? outerFlow(own, /** @type {Slot} */ (root.slot)) : own, one => {
    const { kind, of } = one
    if (kind === PARAMETER || kind === INNER) return add(objects, one)
    if (kind !== SITE && kind !== SHARED) return
    if (of.kind === 'function') edge(objectsOf(one), objects)
    else add(objects, one)
  })
  return objects
}

/** Functions with new effects. @type {Effects[]} */
let changed = []
/** @returns {Effects[]} functions with new effects since the last call */
export function takeChanged() {
  const list = changed
  for (let i = 0; i < list.length; i++) list[i].isChanged = false
  changed = []
  return list
}

/** @param {Effects} f @param {any} key a holder, a slot or a root @param {number} bits */
export function note(f, key, bits) {
  const uses = f.uses ??= emptyMap()
  const before = uses.get(key) ?? 0
  if ((before & bits) === bits) return
  uses.set(key, before | bits)
  if (f.isChanged) return
  f.isChanged = true
  push(changed, f)
}

/** Propagates all roots until nothing changes. */
export function propagate() {
  for (;;) {
    if (flagged.length) {
      const parameter = takeLast(flagged)
      const { watchers, sources, bits } = parameter
      const puts = bits & (PUT | PART_PUT)
      if (puts) for (let i = 0; i < sources.length; i++) flag(sources[i], puts)
      for (let i = 0; i < watchers.length; i += 2) {
        if (watchers[i + 1] === null) flag(watchers[i], bits)
        else affect(watchers[i], watchers[i + 1], bits)
      }
    } else if (queue.length) {
      showRoots(takeLast(queue))
    } else if (outliving.length) {
      const { endings } = takeLast(outliving)
      while (endings.length) takeLast(endings)()
    } else if (joining.length) {
      moveToCrowd(takeLast(joining))
    } else if (lending.length) {
      const callee = takeLast(lending)
      const root = takeLast(lending)
      const flow = takeLast(lending)
      if (flow.crowd === null) addLender(root, callee)
    } else if (leaving.length) {
      const { effects } = takeLast(leaving).effects
      if (effects === null) continue // a class without a constructor
      const { returned, captures } = effects
      watch(returned, RETURN, effects, null, true)
      for (let i = 0; i < captures.length; i++) keep(captures[i].inner)
    } else if (waiting.length) {
      takeLast(waiting)()
    } else if (capturing.length) {
      followCaptured(takeLast(capturing))
    } else if (undecided.length) {
      const calls = undecided
      undecided = []
      for (let i = 0; i < calls.length; i++) followFunctions(calls[i])
    } else if (!findUnresolved()) break
  }
  callees = []
}

/** Makes calls of functions that are in no flow unknown. @returns {boolean} whether there was such a call */
function findUnresolved() {
  let isFound = false
  for (let i = 0; i < callees.length; i++) {
    const callee = callees[i]
    const { effects, isUnknown, open, captured, isMethod, paths } = callee
    if (effects !== null || isUnknown || isMethod || paths.length) continue
    if (open.length || captured.length) continue
    if (hasTargets(callee)) continue
    makeUnknown(callee)
    isFound = true
  }
  return isFound
}

/**
 * Whether the program has a function with the name of a call. Functions under computed names do not count,
 * because the receiver may be an object from outside of the program.
 *
 * @param {Callee} callee @returns {boolean}
 */
function hasTargets({ targets }) {
  for (let i = 0; i < targets.length; i++) {
    const { effects, isDefault, targets: { length } } = targets[i]
    if (targets[i] !== unnamed && (effects !== null || isDefault || length)) return true
  }
  return false
}

/** @param {Watcher} watcher @param {Root} root */
function fire({ kind, f, to, more }, root) {
  switch (kind) {
    case EDGE: return add(to, root)
    case OUTER: return moveOut(root, to, more)
    case LOAD: return loadFrom(root, f, to, more)
    case TOUCH: return touchRoot(root, f, more)
    case WRITES: return useRoot(root, f, more)
    case STORE: return storeIn(root, f, to, more)
    case KEEP: return keepRoot(root)
    case RETURN: return returnRoot(root, f, more)
    case CALLEE: return addCallee(root, to, true)
    case FUNCTIONS: return addCallee(root, to, false)
    case RESULT: return takeResult(root, f, to)
    case PUTS: return flag(to, more)
    case MAP: return mapResult(root, f, to)
    case FUNCTIONS_ONLY: return passFunction(root, to)
    case LEND: return lend(root, f, to)
    case HANDLER: return to(root)
    case STATE: root.of.mayHaveState = true
  }
}

/** @param {Root} root a root of the result @param {Callee} target @param {Callee} callee */
function mapResult(root, target, callee) {
  const { kind, of, index } = root
  const isOwn = of === target && (kind === PARAMETER || kind === INNER)
  if (!isOwn && callee.isNamed) return lendTo(callee, root)
  const parameter = isOwn ? parameterOf(callee, index) : root
  add(callee.result, kind === INNER && isOwn ? innerOf(parameter) : parameter)
}

/** @param {Root} root @param {Flow} to @param {Slot} slot */
function moveOut(root, to, slot) {
  const { kind, of } = root
  if (kind === SITE) return add(to, sharedOf(of, slot))
  // A variable of an inner function can hold an object of the module, or of an outer activation.
  if (kind === SHARED) {
    const { owner } = /** @type {Slot} */ (root.slot)
    return add(to, isAround(owner, slot.owner) ? root : sharedOf(of, slot))
  }
  if (kind === HELD && isAround(of.owner, slot.owner)) return add(to, root)
  if (kind !== GIVEN && kind !== HELD && kind !== PARAMETER && kind !== INNER) return add(to, root)
  const held = heldIn(slot)
  add(to, held)
  add(held.origin ??= newFlow(), root)
  if (kind !== GIVEN) linkTo(root.base ?? root, held)
}

/**
 * Whether an activation contains the activation of another function, or is the same one.
 *
 * @param {Effects | null} outer null: the module @param {Effects | null} inner
 */
function isAround(outer, inner) {
  if (outer === null) return true
  for (let plan = inner === null ? null : inner.plan; plan; plan = plan.parent) {
    if (plan === outer.plan) return true
  }
  return false
}

/**
 * Returns the holder of the objects in a property of a shared object. A property of an exports object counts
 * as a variable.
 *
 * @param {Root} root @param {string} name @returns {Slot}
 */
function slotOfField(root, name) {
  const slot = /** @type {Slot} */ (root.slot)
  return root.of.isExports ? newSlot(slot.owner, `${slot.name}.${name}`, null, slot.node) : slot
}

/** @param {Root} root @param {Effects} f @param {Flow} to @param {string} name */
function loadFrom(root, f, to, name) {
  const { kind, of } = root
  if ((kind === SITE || kind === SHARED) && name !== '') of.isRead = true
  if (kind === SITE) eachField(of, name, flow => edge(flow, to))
  else if (kind === SHARED) {
    if (of.kind !== 'namespace') note(f, root, READ)
    if (of.properties === null || name === '') edge(contentsOf(root), to)
    else {
      const outers = root.outers ??= emptyMap()
      let outer = outers.get(name)
      if (!outer) {
        outers.set(name, outer = newFlow())
        const slot = slotOfField(root, name)
        eachField(of, name, flow => watch(flow, OUTER, null, outer, slot))
      }
      edge(outer, to)
    }
  } else if (kind === BUILT_IN) add(to, given)
  else if (kind === PARAMETER) add(to, innerOf(root))
  else {
    if (kind === HELD) note(f, of, READ | DETAIL)
    else if (kind === DOM) note(f, root, READ)
    add(to, kind === HELD && root.base === null ? innerOf(root) : root)
  }
}

/** @param {Root} root @param {Effects} f @param {number} bits */
function touchRoot(root, f, bits) {
  const { kind, of } = root
  if (kind === GIVEN || kind === BUILT_IN) return
  if (kind === PARAMETER || kind === INNER) {
    // The facts of the function tell each caller which of its functions gets the object.
    if (bits & OPEN) (root.base ?? root).isPassed = true
    return bits & ALL ? flagBase(root, bits & ~OPEN) : undefined
  }
  const inside = bits
  // The callers know the objects inside an object that a function passes to its parameter.
  if (bits & OPEN && (kind !== HELD || of.owner === null)) bits |= LEAVE
  const touched = f.touched ??= emptyMap()
  const before = touched.get(root) ?? 0
  if ((before & bits) === bits) return
  touched.set(root, before | bits)
  if (bits & OPEN & ~before && kind === HELD && of.owner !== null) passHeld(root, f)
  if (kind === HELD) {
    note(f, of, bits)
    return flagHeld(root, bits)
  }
  if (kind === DOM) return note(f, root, bits)
  if (of.kind === 'function') {
    if (bits & (LEAVE | KEPT)) release(of)
    if (kind === SHARED && bits & (READ | WRITE | LEAVE)) note(f, root, bits)
    if (bits & PUT) notePut(of)
    return watch(objectsOf(root), TOUCH, f, null, inside)
  }
  if (of.kind === 'regexp') {
    if (bits & (LEAVE | KEPT)) of.hasLeft = true
    if (kind === SHARED) note(f, root, bits & CHANGE ? WRITE : READ)
    return
  }
  if (kind === SHARED && of.kind !== 'namespace') note(f, root, of.isFrozen ? READ : bits)
  else if (bits & (WRITE | LEAVE)) of.isWritten = true
  if (bits & (LEAVE | KEPT)) of.hasLeft = true
  if (bits & LEAVE) {
    if (of.leavers === NONE) of.leavers = [f]
    else push(of.leavers, f)
  }
  if (bits & PUT) notePut(of)
  if (bits & LEAVE) addInside(of, foreign)
  watch(kind === SHARED ? contentsOf(root) : of.inside, TOUCH, f, null, inside)
}

/**
 * Records that a closure passes a captured parameter to a parameter. The facts tell each caller which of its
 * functions gets the object, as long as the closure does not outlive the activation.
 *
 * @param {Root} root @param {Effects} f
 */
function passHeld(root, f) {
  const { owner } = root.of
  if (!isAround(owner, f)) return touchRoot(root, f, LEAVE)
  each(originOf(root), one => {
    if (one.kind === PARAMETER || one.kind === INNER) (one.base ?? one).isPassed = true
  })
  whenOutlived(f, owner, () => touchRoot(root, f, LEAVE))
}

/** Records that code that is not followed stores objects in an object. @param {Site} site */
function notePut(site) {
  if (site.kind !== 'function') return addInside(site, given)
  if (site.isPut) return
  site.isPut = true
  forEach(site.onPut, notify => notify())
}

/**
 * Calls `fn` as soon as code that is not followed stores objects in a function.
 *
 * @param {Site} site @param {() => void} fn
 */
export function whenPut(site, fn) {
  if (site.isPut) fn()
  else if (site.onPut === NONE) site.onPut = [fn]
  else push(site.onPut, fn)
}

/** @param {Root} root @param {Effects} f @param {number} bits */
function useRoot(root, f, bits) {
  const { kind, of } = root
  if (kind === PARAMETER || kind === INNER) {
    if (bits & ALL) flagBase(root, bits)
  } else if (kind === SITE) {
    if (bits & WRITE) of.isWritten = true
    if (bits & PUT) notePut(of)
  } else if (kind === SHARED) {
    if (of.kind === 'namespace') return
    if (bits & PUT) notePut(of)
    if (!(bits & MATCH)) note(f, root, bits)
    else if (of.kind === 'regexp') note(f, root, WRITE)
  } else if (kind === HELD) {
    note(f, of, bits)
    flagHeld(root, bits)
  } else if (kind === DOM || (kind === BUILT_IN && bits & WRITE)) note(f, root, bits)
}

/** @param {Root} root @param {Effects} f @param {Flow} value @param {number | string} how */
function storeIn(root, f, value, how) {
  const { kind, of } = root
  if (how === COPY) {
    const isNamed = (kind === SITE || kind === SHARED) && of.properties !== null
    if (!isNamed) return storeIn(root, f, /** @type {Flow} */ (load(value, f)), NAMED)
    if (kind === SHARED) keepSite(of)
    return spreadInto(of, value, f)
  }
  if (kind === SITE || kind === SHARED) {
    put(of, value, f, typeof how === 'string' ? how : '')
    if (kind === SHARED) keepSite(of)
    if (how === COMPUTED) edge(value, of.unknownMembers ??= newFlow())
    return
  }
  if (kind === PARAMETER || kind === INNER) flagBase(root, WRITE)
  const isOutside = kind === PARAMETER || kind === INNER || kind === HELD
  if (how !== OWN && isOutside) {
    const bits = kind === HELD ? PUT | PART_PUT : root.base === null ? PUT : PART_PUT
    watch(value, PUTS, null, root.base ?? root, bits)
  }
  touch(value, f, READ | LEAVE)
}

/** @param {Root} root */
function keepRoot(root) {
  const { kind, of } = root
  if (kind === PARAMETER || kind === INNER) flag(root.base ?? root, KEPT)
  else if (kind === SITE && of.kind === 'function') release(of)
  else if (kind === SITE) keepSite(of)
}

/**
 * @param {Root} root @param {Effects} f
 * @param {boolean} isUnknown whether unknown code gets the result
 */
function returnRoot(root, f, isUnknown) {
  const { kind, of } = root
  const owner = kind === HELD ? of.owner : kind === SHARED ? root.slot?.owner : undefined
  if (isUnknown) {
    if (kind === SITE || owner !== undefined) leaveByReturn(root, f)
  } else if (owner === null) {
    leaveByReturn(root, f)
    add(f.result, root)
  } else if (kind === HELD) edge(originOf(root), f.result)
  else if (kind === SHARED) add(f.result, of.root)
  else {
    if (kind === SITE && of.kind === 'function') release(of)
    add(f.result, root)
  }
}

/**
 * Lets a returned object leave. If a function returns itself, the caller has the function already.
 *
 * @param {Root} root @param {Effects} f
 */
function leaveByReturn(root, f) {
  if (root.of === f.site) watch(objectsOf(root), TOUCH, f, null, READ | LEAVE)
  else touchRoot(root, f, READ | LEAVE)
}

/** Adds the functions that an object can be. @param {Root} root @param {Flow} to */
function passFunction(root, to) {
  const { kind, of } = root
  if (kind === SITE || kind === SHARED) {
    if (of.kind === 'function') add(to, of.root)
  } else if (kind === PARAMETER) edge(passedTo(root), to)
  else if (kind === HELD) edge(heldFunctions(root), to)
  else if (kind === GIVEN && root.passed !== null) edge(root.passed, to)
}

/** @param {Root} root @param {Callee} callee @param {boolean} isCall */
export function addCallee(root, callee, isCall) {
  const { kind, of } = root
  if (kind === SITE || kind === SHARED) {
    if (of.kind === 'function') addTarget(callee, of.effects)
    else if (of.kind === 'instance' && isCall) makeUnknown(callee)
  } else if (kind === BUILT_IN) {
    push(callee.paths, of)
    for (let i = 0; i < callee.calls.length; i++) onBuiltIn(callee.calls[i], of)
  } else {
    if (!isCall) return
    if (kind === PARAMETER && of.effects !== null) addOpen(callee, root)
    else if (kind === HELD && root.base === null && of.owner !== null) addHeld(callee, root)
    else if (kind === GIVEN || kind === DOM) makeUnknown(callee)
    else callUnseen(callee, root)
    if (kind === PARAMETER) watch(passedTo(root), LENDER, null, callee, 0)
    else if (kind === HELD) watch(heldFunctions(root), LENDER, null, callee, 0)
    else if (kind === GIVEN && root.passed !== null) watch(root.passed, LENDER, null, callee, 0)
  }
}

/**
 * Records that a call reaches a function in a captured variable. As long as the closure does not outlive the
 * activation, the callers of the activation know the function.
 *
 * @param {Callee} callee @param {Root} held
 */
function addHeld(callee, held) {
  each(originOf(held), ({ kind, of }) => {
    if (kind !== PARAMETER || of !== held.of.owner) callUnseen(callee, held)
  })
  addOpen(callee, held)
}

/**
 * Records that a closure calls a captured variable, and may outlive the activation.
 *
 * @param {Callee} callee @param {Root} held
 */
function callUnknown(callee, held) {
  if (isOfMaker(held.of)) addCaptured(callee, held)
  else callUnseen(callee, held)
}

/**
 * Whether a slot is a parameter of a function that only returns its closures, for example `f` in
 * `f => x => f(x)`. The caller alone gets a closure of this activation, so a closure in a flow of the program
 * calls only functions that the program has passed.
 *
 * @param {Slot} slot
 */
function isOfMaker({ owner, variable }) {
  if (owner === null || variable?.kind !== 'parameter') return false
  if (variable.isAssigned || variable.isDynamic) return false
  const { facts: { functions, usesArguments, usesEval, hasWith } } = owner.plan
  return !usesArguments && !usesEval && !hasWith && !find(functions, ({ node }) =>
    node.parent.type !== 'ReturnStatement' && node.parent !== owner.plan.node)
}

/** Maximum number of functions that a captured parameter may be; with more functions, a call is unknown. */
const MAX_CAPTURED = 4

/**
 * A call that reaches a captured parameter.
 *
 * @typedef {object} UndecidedCall
 * @property {Callee} callee
 * @property {Root[]} functions the functions that the program passes, until the call follows them
 * @property {boolean} isFollowed whether the call follows the functions
 */
/** Calls that wait for all functions that the program passes. @type {UndecidedCall[]} */
let undecided = []

/**
 * Records that a call reaches a captured parameter of a function that only returns its closures. The values
 * that the program passes are known. Code outside of the program that calls the function with other values
 * also gets the closure, and claims the arguments of the closure.
 *
 * @param {Callee} callee @param {Root} held
 */
function addCaptured(callee, held) {
  if (find(callee.captured, other => other === held) !== undefined) return
  if (callee.captured === NONE) callee.captured = [held]
  else push(callee.captured, held)
  add(callee.result, foreign)
  const { parameters } = callee
  forEach(parameters, parameter => { if (parameter) flag(parameter, OPEN) })
  /** @type {UndecidedCall} */
  const call = { callee, functions: [], isFollowed: false }
  push(undecided, call)
  /** @type {Set<Root>} */
  const seen = emptySet()
  const check = (/** @type {Root} */ root) => {
    const { kind, of } = root
    if (callee.isUnknown || seen.has(root)) return
    seen.add(root) // a recursive call can pass its own parameter
    if (kind === SITE || kind === SHARED || kind === BUILT_IN) {
      push(call.functions, root)
      if (call.isFollowed) followFunctions(call)
    } else if (kind === PARAMETER && of === /** @type {Slot} */ (held.of).owner) each(givenTo(root), check)
    else if (kind === GIVEN || kind === DOM) makeUnknown(callee)
    else callUnseen(callee, root)
  }
  each(originOf(held), check)
}

/** Adds the functions that the program passes to a call, if there are few. @param {UndecidedCall} call */
function followFunctions(call) {
  const { callee, functions } = call
  if (callee.isUnknown) return
  if (functions.length === 0 || functions.length > MAX_CAPTURED) return makeUnknown(callee)
  call.isFollowed = true
  for (let i = 0; i < functions.length; i++) addCallee(functions[i], callee, true)
}

/** @param {Root} held @returns {Flow} the functions that an unknown object of a variable may be */
function heldFunctions(held) {
  const { base } = held
  if (base !== null) return heldFunctions(base)
  if (held.passed === null) {
    held.passed = passedFlow()
    watch(originOf(held), FUNCTIONS_ONLY, null, held.passed, 0)
  }
  return held.passed
}

/**
 * Follows a function of the program that a call of an unknown function may reach.
 *
 * @param {Root} root the root of the function @param {Callee} callee
 */
const addLender = ({ of: { effects: target } }, callee) => lendFrom(target, callee)

/** @param {Callee} target a function that may be called @param {Callee} callee see addLender */
function lendFrom(target, callee) {
  const lenders = callee.lenders ??= emptySet()
  if (target === callee || lenders.has(target)) return
  lenders.add(target)
  const { parameters } = callee
  forEach(parameters, parameter => { if (parameter) addSource(parameter, target) })
  watch(target.result, LEND, target, callee, 0)
}

/** @param {Root} parameter a parameter of an unknown function @param {Callee} target a possible function */
function addSource(parameter, target) {
  const to = parameterOf(target, parameter.index)
  if (to.sources === NONE) to.sources = [parameter]
  else push(to.sources, parameter)
  if (to.bits & (PUT | PART_PUT)) flag(parameter, to.bits & (PUT | PART_PUT))
  if (to.passed !== null) edge(passedTo(parameter), to.passed)
}

/**
 * Adds a result of a function to the results of a call of an unknown function.
 *
 * @param {Root} root @param {Callee} target @param {Callee} callee
 */
function lend(root, target, callee) {
  const { kind, of, index } = root
  if (of === target && (kind === PARAMETER || kind === INNER)) {
    const parameter = parameterOf(callee, index)
    return add(callee.result, kind === INNER ? innerOf(parameter) : parameter)
  }
  lendTo(callee, root)
}

/** @param {Callee} callee @param {Root} root a root that a function returns to calls of unknown functions */
function lendTo(callee, root) {
  if (root.kind === BUILT_IN || root === foreign) return add(callee.result, foreign)
  if (callee.lent === null) {
    callee.lent = newRoot(GIVEN, callee, 0)
    callee.lent.sources = []
    callee.lent.passed = passedFlow()
    callee.isLent = emptySet()
    add(callee.result, callee.lent)
  }
  const { lent, isLent } = callee
  if (root === lent || isLent.has(root)) return
  isLent.add(root)
  passFunction(root, /** @type {Flow} */ (lent.passed))
  if (root.kind === PARAMETER || root.kind === INNER) flag(root.base ?? root, KEPT)
  push(lent.sources, root)
}

/** @param {Root} root @param {Call} call @param {Flow} to */
function takeResult(root, { callee, self, args, rest, f }, to) {
  const { kind, of, index } = root
  if ((kind !== PARAMETER && kind !== INNER) || of !== callee) return add(to, root)
  const take = (/** @type {Flow | null} */ from) => from && edge(kind === INNER ? deepOf(from, f) : from, to)
  if (index === SELF) return take(self)
  if (index >= 0 && index < args.length) return take(args[index])
  take(rest)
  if (index < SELF) for (let i = 0; i < args.length; i++) take(args[i])
}
