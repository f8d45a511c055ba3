/**
 * addons/preemptify/effects-origins.mjs: the objects that an unknown object of an activation may be.
 *
 * A closure that lets an unknown object leave excludes other closures of its activation. This is enough if no
 * other function of the program reaches the object, because code outside of the program claims its own
 * objects.
 *
 * The roots and flows form a graph: each leads to the roots and flows that the same object may come from. Both
 * questions about an unknown object are whether its root leads to certain objects. `findOrigins` answers them
 * for all places by one search from the places, and one search back from these objects, so that the time is
 * linear. The graph must not change between `findOrigins` and the questions.
 */

import { HELD, INNER, PARAMETER, SHARED, SITE, given } from './effects-flow.mjs'
import { append, emptyMap, emptySet, find } from './primordials.mjs'
/** @import { Flow, Place, Root } from './effects-flow.mjs' */

/** The roots and flows that lead to an object of the module or of another activation. */
let shared = /* @__PURE__ */ emptySet()
/** The roots and flows that lead to an object that a closure writes as an unknown object. */
let changed = /* @__PURE__ */ emptySet()

/**
 * Prepares the answers for these places.
 *
 * @param {Place[]} places the holders of unknown objects @param {Place[]} written those that closures write
 */
export function findOrigins(places, written) {
  search(written, node => { if (isSite(node)) node.of.isChanged = true }, () => {})
  /** The roots and flows that lead to a root or flow. @type {Map<any, any[]>} */
  const sources = emptyMap()
  /** @type {any[]} */
  const states = []
  /** @type {any[]} */
  const changes = []
  search(places, node => {
    if (isState(node)) append(states, node)
    if (isSite(node) && node.of.isChanged) append(changes, node)
  }, (from, to) => {
    const known = sources.get(to)
    if (known) append(known, from)
    else sources.set(to, [from])
  })
  shared = searchBack(states, sources)
  changed = searchBack(changes, sources)
}

/**
 * Whether an unknown object in a variable of an activation may be an object that other functions of the
 * program reach as their own: an object of the module or of another activation. A parameter of a function
 * that unknown code calls may also be any object of that code, which has no root.
 *
 * @param {Place} place @returns {boolean}
 */
export const mayBeShared = ({ held }) => shared.has(held)

/**
 * Whether another closure may write the object as an unknown object.
 *
 * @param {Place} place @returns {boolean}
 */
export const mayBeChanged = ({ held }) => changed.has(held)

/**
 * Visits all roots and flows to which the places lead, each one once.
 *
 * @param {Place[]} places @param {(node: any) => void} visit
 * @param {(from: any, to: any) => void} follow called for each step
 */
function search(places, visit, follow) {
  const seen = emptySet()
  /** @type {any[]} */
  const list = []
  const push = (/** @type {any} */ node) => {
    if (seen.has(node)) return
    seen.add(node)
    append(list, node)
  }
  for (let i = 0; i < places.length; i++) push(places[i].held)
  for (let i = 0; i < list.length; i++) {
    const node = list[i]
    visit(node)
    eachOrigin(node, next => {
      follow(node, next)
      push(next)
    })
  }
}

/**
 * @param {any[]} nodes @param {Map<any, any[]>} sources @returns {Set<any>} the nodes and all that lead to them
 */
function searchBack(nodes, sources) {
  const seen = emptySet()
  for (let i = 0; i < nodes.length; i++) seen.add(nodes[i])
  for (let i = 0; i < nodes.length; i++) {
    const before = sources.get(nodes[i])
    if (before) for (let k = 0; k < before.length; k++) {
      if (seen.has(before[k])) continue
      seen.add(before[k])
      append(nodes, before[k])
    }
  }
  return seen
}

/**
 * Calls a function with each root and flow that the objects of a root or flow may come from.
 *
 * @param {any} node @param {(next: Root | Flow) => void} visit
 */
function eachOrigin(node, visit) {
  const { roots } = node
  if (roots) {
    for (let i = 0; i < roots.length; i++) visit(roots[i])
    return
  }
  const { kind, of, origin, base, sources, watchers } = node
  for (let i = 0; i < sources.length; i++) visit(sources[i])
  if (kind === HELD) {
    if (origin) visit(origin)
  } else if (kind === INNER) visit(base)
  else if (isSite(node) && !isOther(of.kind)) visit(of.inside)
  else if (kind === PARAMETER) {
    for (let i = 0; i < watchers.length; i += 2) {
      // A pair of a passed flow and the caller, or of a parameter and null.
      if (watchers[i + 1] !== null) {
        if (watchers[i]) visit(watchers[i])
      } else if (watchers[i].kind === PARAMETER) visit(watchers[i])
    }
  }
}

/** @param {any} node @returns {boolean} whether it is the root of a known object */
const isSite = ({ kind }) => kind === SITE || kind === SHARED

/** @param {string} kind the kind of a site @returns {boolean} `true` if no function can write its contents */
const isOther = kind => kind === 'function' || kind === 'namespace'

/** @param {any} node @returns {boolean} */
function isState(node) {
  const { kind, of } = node
  if (node === given) return true
  if (kind === HELD) return of.owner === null
  if (!isSite(node) || isOther(of.kind)) return false
  return of.isReached || find(of.shared, ({ place }) => place?.owner === null) !== undefined
}
