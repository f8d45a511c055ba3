/**
 * addons/adopt/books.mjs: collections and properties that a page cannot affect.
 */

/**
 * A collection whose methods remain as they are now, whatever a page makes of the prototype later.
 *
 * @template {new (...args: any[]) => any} C @param {C} Class @returns {C}
 */
function hardened(Class) {
  class Hardened extends Class {
    /** @param {any[]} args none: the default constructor would take the iterator of Array.prototype */
    constructor(...args) {
      super(args[0])
    }
  }
  const { prototype } = Class
  Reflect.ownKeys(prototype).forEach(key => {
    Object.defineProperty(Hardened.prototype, key, descriptorOf(prototype, key))
  })
  return /** @type {any} */ (Hardened)
}

export const OwnMap = /* @__PURE__ */ hardened(Map)
export const OwnSet = /* @__PURE__ */ hardened(Set)
export const OwnWeakMap = /* @__PURE__ */ hardened(WeakMap)

/**
 * @param {any} object @param {PropertyKey} name
 * @returns {any} whose own property that is; null where there is none
 */
export function holderOf(object, name) {
  while (object !== null && !Object.hasOwn(object, name)) object = Object.getPrototypeOf(object)
  return object
}

/**
 * The descriptor of an own property. It inherits nothing: `get` on Object.prototype would make it invalid.
 *
 * @param {any} object @param {PropertyKey} name @returns {any} undefined if there is none
 */
export function descriptorOf(object, name) {
  const descriptor = object ? Object.getOwnPropertyDescriptor(object, name) : undefined
  return descriptor && Object.assign(Object.create(null), descriptor)
}

/**
 * The handler of a proxy. It inherits no traps from Object.prototype.
 *
 * @param {ProxyHandler<any>} traps @returns {ProxyHandler<any>}
 */
export const handlerOf = traps => Object.assign(Object.create(null), traps)

/** Without calling what a page may have put there. @param {any} fn @returns {string} */
export function nameOf(fn) {
  const name = descriptorOf(fn, 'name')?.value
  return typeof name === 'string' ? name : ''
}
