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
import { find, forEach, push, takeLast } from './primordials.mjs'
/** @import { Effects, Flow, Root, Slot } from './effects-roots.mjs' */
/** @import { Node } from './scopes.mjs' */

/** The effects on a parameter by which a function may keep the argument, or an object inside it. */
const MAY_KEEP = KEPT | LEAVE | PART_LEAVES | PUT | PART_PUT

/**
 * Finds the origins of unknown objects in variables of activations. Sets `isShared` and `mayBeWritten` of
 * each slot.
 *
 * @param {Slot[]} slots
 * @param {Slot[]} written the slots whose objects a closure writes
 */
export function findOrigins(slots, written) {
  forEach(reachable(heldIn(written), null), ({ kind, of }) => {
    if (kind === SITE || kind === SHARED) of.isChanged = true
  })
  /** @type {number[]} */
  const edges = []
  const nodes = reachable(heldIn(slots), edges)
  const before = count - nodes.length
  const isRoot = (/** @type {any} */ { roots }) => roots === undefined
  const shared = leadingTo(nodes, edges, node => isRoot(node) && isState(node))
  const changed = leadingTo(nodes, edges, node =>
    isRoot(node) && (node.kind === SITE || node.kind === SHARED) && node.of.isChanged)
  forEach(slots, slot => {
    if (slot.held === null) return
    const at = slot.held.mark - before - 1
    slot.isShared = shared[at]
    slot.mayBeWritten = changed[at]
  })
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

/** The number of nodes in all lists of `reachable`. Each of them has its number as its mark. */
let count = 0

/**
 * Lists the nodes that some roots lead to. Their marks follow each other.
 *
 * @param {Root[]} roots
 * @param {number[] | null} edges gets the indices of the source and the target of each edge
 * @returns {any[]}
 */
function reachable(roots, edges) {
  const before = count
  /** @type {any[]} */
  const list = []
  const mark = (/** @type {any} */ node) => {
    if (node.mark > before) return
    node.mark = ++count
    push(list, node)
  }
  forEach(roots, mark)
  for (let i = 0; i < list.length; i++) eachOrigin(list[i], to => {
    mark(to)
    if (edges !== null) push(edges, i, to.mark - before - 1)
  })
  return list
}

/**
 * @param {any[]} nodes @param {number[]} edges see `reachable` @param {(node: any) => boolean} isWanted
 * @returns {boolean[]} whether each node leads to a wanted node
 */
function leadingTo(nodes, edges, isWanted) {
  /** The first edge to each node, as an index. @type {number[]} */
  const first = []
  /** The next edge to the same node, for each edge. @type {number[]} */
  const next = []
  /** @type {boolean[]} */
  const found = []
  /** @type {number[]} */
  const rest = []
  forEach(nodes, node => {
    const isFound = isWanted(node)
    if (isFound) push(rest, found.length)
    push(found, isFound)
    push(first, -1)
  })
  for (let i = 0; i < edges.length; i += 2) {
    push(next, first[edges[i + 1]])
    first[edges[i + 1]] = i
  }
  while (rest.length) {
    for (let i = first[takeLast(rest)]; i >= 0; i = next[i / 2]) {
      if (found[edges[i]]) continue
      found[edges[i]] = true
      push(rest, edges[i])
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

/** @param {Root} root @returns {boolean} */
function isState(root) {
  const { kind, of } = root
  if (root === given || root === foreign) return true
  if (kind === PARAMETER) return of.effects?.site.hasLeft === true
  if (kind === HELD) return of.owner === null
  if ((kind !== SITE && kind !== SHARED) || isOther(of.kind)) return false
  return of.isReached || find(of.shared, ({ slot }) => slot?.owner === null) !== undefined
}
