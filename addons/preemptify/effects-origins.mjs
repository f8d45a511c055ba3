/**
 * addons/preemptify/effects-origins.mjs: the objects that an unknown object of an activation may be.
 *
 * A closure that lets an unknown object leave excludes other closures of its activation. This is enough if no
 * other function of the program reaches the object, because code outside of the program claims its own
 * objects.
 */

import { HELD, INNER, PARAMETER, SHARED, SITE, given } from './effects-flow.mjs'
import { append, emptyMap, emptySet, find, pick } from './primordials.mjs'
/** @import { Flow, Place, Root } from './effects-flow.mjs' */

/** The lists of originsOf. @type {Map<Place, Root[]>} */
let known = /* @__PURE__ */ emptyMap()
/** Forgets the origins of all objects, because a new text adds calls. */
export function resetOrigins() {
  known = emptyMap()
}

/**
 * Lists the roots of all objects that an unknown object in a variable of an activation may be. A parameter
 * of a function that unknown code calls may also be any object of that code, which has no root.
 *
 * @param {Place} place @returns {Root[]}
 */
function originsOf(place) {
  const found = known.get(place)
  if (found) return found
  const seen = emptySet()
  /** @type {Root[]} */
  const list = []
  known.set(place, list)
  const push = (/** @type {Root} */ root) => {
    if (seen.has(root)) return
    seen.add(root)
    append(list, root)
  }
  const pushAll = (/** @type {Flow | null} */ flow) => {
    if (flow) for (let i = 0; i < flow.roots.length; i++) push(flow.roots[i])
  }
  push(/** @type {Root} */ (place.held))
  for (let i = 0; i < list.length; i++) {
    const { kind, of, origin, base, sources } = list[i]
    for (let k = 0; k < sources.length; k++) push(sources[k])
    if (kind === HELD) pushAll(origin)
    else if (kind === INNER) push(/** @type {Root} */ (base))
    else if ((kind === SITE || kind === SHARED) && !isOther(of.kind)) pushAll(of.inside)
    else if (kind === PARAMETER) {
      const { watchers } = list[i]
      for (let k = 0; k < watchers.length; k += 2) {
        if (watchers[k + 1] !== null) pushAll(watchers[k])
        else if (watchers[k].kind === PARAMETER) push(watchers[k])
      }
    }
  }
  return list
}

/** @param {string} kind the kind of a site @returns {boolean} `true` if no function can write its contents */
const isOther = kind => kind === 'function' || kind === 'namespace'

/**
 * Whether an unknown object in a variable of an activation may be an object that other functions of the
 * program reach as their own: an object of the module or of another activation.
 *
 * @param {Place} place @returns {boolean}
 */
export const mayBeShared = place => find(originsOf(place), isState) !== undefined

/** @param {Root} root @returns {boolean} */
function isState(root) {
  const { kind, of } = root
  if (root === given) return true
  if (kind === HELD) return of.owner === null
  if ((kind !== SITE && kind !== SHARED) || isOther(of.kind)) return false
  return of.isReached || find(of.shared, ({ place }) => place?.owner === null) !== undefined
}

/** Notes that a closure writes an unknown object. @param {Place} place */
export function markWritten(place) {
  pick(originsOf(place), ({ kind, of }) => { if (kind === SITE || kind === SHARED) of.isChanged = true })
}

/**
 * Whether another closure may write the object as an unknown object.
 *
 * @param {Place} place @returns {boolean}
 */
export const mayBeChanged = place => find(originsOf(place), ({ kind, of }) =>
  (kind === SITE || kind === SHARED) && of.isChanged) !== undefined
