/**
 * addons/preemptify/effects-origins.mjs: the objects that an unknown object may be.
 *
 * An unknown object of an activation needs only the lock of the activation if no other function reaches the
 * object. An object from outside of the program does not belong to one activation: the caller can pass it to
 * several activations. Two packages share a lock if one of them may keep an object of the other.
 *
 * A few walks over one graph answer the questions about all slots, so the time is linear. The nodes are
 * roots, and flows with several roots. An edge leads from an object to an object that it may be.
 */

import {
  HELD, KEPT, LEAVE, PARAMETER, PART_LEAVES, PART_PUT, PUT, SHARED, SITE, foreign, given
} from './effects-roots.mjs'
import { emptyMap, emptySet, filter, find, forEach, push } from './primordials.mjs'
/** @import { Effects, Flow, Root, Slot } from './effects-roots.mjs' */
/** @import { Node } from './scopes.mjs' */

/** The effects on a parameter by which a function may keep the argument, or an object inside it. */
const MAY_KEEP = KEPT | LEAVE | PART_LEAVES | PUT | PART_PUT

/** Roots whose objects may belong to other functions. @type {Set<any>} */
let shared = /* @__PURE__ */ emptySet()
/** Roots whose objects a closure may write as unknown objects. @type {Set<any>} */
let changed = /* @__PURE__ */ emptySet()

/** Frees the roots of the last text. */
export function forgetOrigins() {
  shared = emptySet()
  changed = emptySet()
}

/**
 * Finds the origins of unknown objects in variables of activations.
 *
 * @param {Slot[]} slots
 * @param {Slot[]} written the slots whose objects a closure writes
 */
export function findOrigins(slots, written) {
  forEach(reachable(heldIn(written), null), ({ kind, of }) => {
    if (kind === SITE || kind === SHARED) of.isChanged = true
  })
  /** The sources of the edges to each node. @type {Map<any, any[]>} */
  const sources = emptyMap()
  const nodes = reachable(heldIn(slots), (from, to) => {
    const list = sources.get(to)
    if (list) push(list, from)
    else sources.set(to, [from])
  })
  const isRoot = (/** @type {any} */ { roots }) => roots === undefined
  shared = leadingTo(filter(nodes, node => isRoot(node) && isState(node)), sources)
  changed = leadingTo(filter(nodes, node => isRoot(node) && (node.kind === SITE || node.kind === SHARED) &&
    node.of.isChanged), sources)
}

/**
 * Lists the objects of the program that some functions keep, or let leave: the objects in their slots, and
 * the arguments that they store or pass on.
 *
 * @param {Effects[]} functions @param {Slot[]} slots
 * @returns {Node[]} the expressions that make the objects, and the variables that hold unknown objects
 */
export function findKept(functions, slots) {
  const roots = heldIn(slots)
  forEach(functions, ({ parameters }) => {
    forEach(parameters, root => { if (root && root.bits & MAY_KEEP) push(roots, root) })
  })
  /** @type {Node[]} */
  const found = []
  forEach(reachable(roots, null), ({ kind, of }) => {
    if (kind === HELD && of.node) push(found, of.node)
    if ((kind !== SITE && kind !== SHARED) || isOther(of.kind) || of.isFrozen) return
    if (kind === SHARED || of.isKept) push(found, of.node)
  })
  return found
}

/** @param {Slot[]} slots @returns {Root[]} the roots of the unknown objects in the slots */
function heldIn(slots) {
  /** @type {Root[]} */
  const roots = []
  forEach(slots, ({ held }) => held && push(roots, held))
  return roots
}

/**
 * Lists the nodes that some roots lead to.
 *
 * @param {Root[]} roots @param {((from: any, to: any) => void) | null} onEdge
 * @returns {any[]}
 */
function reachable(roots, onEdge) {
  const seen = emptySet()
  /** @type {any[]} */
  const list = []
  const pushEdge = (/** @type {any} */ from, /** @type {any} */ to) => {
    if (from !== null) onEdge?.(from, to)
    if (seen.has(to)) return
    seen.add(to)
    push(list, to)
  }
  for (let i = 0; i < roots.length; i++) pushEdge(null, roots[i])
  for (let i = 0; i < list.length; i++) eachOrigin(list[i], to => pushEdge(list[i], to))
  return list
}

/** @param {any[]} list @param {Map<any, any[]>} sources @returns {Set<any>} the nodes that lead to a list */
function leadingTo(list, sources) {
  const found = emptySet()
  forEach(list, node => { found.add(node) })
  for (let i = 0; i < list.length; i++) {
    const from = sources.get(list[i])
    if (from) for (let k = 0; k < from.length; k++) {
      if (found.has(from[k])) continue
      found.add(from[k])
      push(list, from[k])
    }
  }
  return found
}

/**
 * Calls `to` for each origin of a node. A parameter of a function that unknown code calls may also be any
 * object of that code, which has no root: see isState.
 *
 * @param {any} node @param {(origin: any) => void} to
 */
function eachOrigin({ roots, kind, of, origin, base, sources, watchers }, to) {
  if (roots !== undefined) {
    for (let i = 0; i < roots.length; i++) to(roots[i])
    return
  }
  const addFlow = (/** @type {Flow | null} */ flow) => {
    if (flow === null || flow.roots.length === 0) return
    to(flow.roots.length === 1 ? flow.roots[0] : flow)
  }
  for (let k = 0; k < sources.length; k++) to(sources[k])
  if (base !== null) to(base)
  else if (kind === HELD) addFlow(origin)
  else if ((kind === SITE || kind === SHARED) && !isOther(of.kind)) addFlow(of.inside)
  else if (kind === PARAMETER) for (let k = 0; k < watchers.length; k += 2) {
    if (watchers[k + 1] !== null) addFlow(watchers[k])
    else if (watchers[k].kind === PARAMETER) to(watchers[k])
  }
}

/** @param {string} kind the kind of a site @returns {boolean} `true` if no function can write its contents */
const isOther = kind => kind === 'function' || kind === 'namespace'

/**
 * Whether an unknown object in a variable of an activation may be an object that other functions of the
 * program reach as their own: an object of the module, of another activation, or from outside of the program.
 *
 * @param {Slot} slot @returns {boolean}
 */
export const mayBeShared = slot => shared.has(slot.held)

/**
 * Whether another closure may write the object as an unknown object.
 *
 * @param {Slot} slot @returns {boolean}
 */
export const mayBeChanged = slot => changed.has(slot.held)

/** @param {Root} root @returns {boolean} */
function isState(root) {
  const { kind, of } = root
  if (root === given || root === foreign) return true
  if (kind === PARAMETER) return of.effects?.site.hasLeft === true
  if (kind === HELD) return of.owner === null
  if ((kind !== SITE && kind !== SHARED) || isOther(of.kind)) return false
  return of.isReached || find(of.shared, ({ slot }) => slot?.owner === null) !== undefined
}
