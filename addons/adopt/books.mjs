/**
 * addons/adopt/books.mjs: collections and properties that a page cannot affect.
 */

/**
 * Returns a subclass of a collection with copies of all current methods, so that later changes of the
 * prototype by the page do not affect it.
 *
 * @template {new (...args: any[]) => any} C @param {C} Class @returns {C}
 */
function hardened(Class) {
  class Hardened extends Class {
    /** @param {any[]} args empty; the default constructor would read the iterator of Array.prototype */
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
 * @returns {any} the object on the prototype chain with this own property, or null
 */
export function holderOf(object, name) {
  while (object !== null && !Object.hasOwn(object, name)) object = Object.getPrototypeOf(object)
  return object
}

/**
 * Returns the descriptor of an own property, or `undefined`. The descriptor has no prototype, because a `get`
 * on Object.prototype would make a descriptor invalid.
 *
 * @param {any} object @param {PropertyKey} name @returns {any}
 */
export function descriptorOf(object, name) {
  const descriptor = object ? Object.getOwnPropertyDescriptor(object, name) : undefined
  return descriptor && Object.assign(Object.create(null), descriptor)
}

/**
 * Returns a handler for a proxy that inherits no traps from Object.prototype.
 *
 * @param {ProxyHandler<any>} traps @returns {ProxyHandler<any>}
 */
export const handlerOf = traps => Object.assign(Object.create(null), traps)

/** Returns the name of a function without calling a getter of the page. @param {any} fn @returns {string} */
export function nameOf(fn) {
  const name = descriptorOf(fn, 'name')?.value
  return typeof name === 'string' ? name : ''
}
