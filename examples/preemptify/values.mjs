/**
 * Compares two results: primitives by Object.is, objects by their prototypes, properties and entries. Each
 * cycle is followed once.
 *
 * @param {unknown} a @param {unknown} b
 * @returns {boolean}
 */
export function same(a, b) {
  /** Pairs of objects that are being compared or are equal. @type {Map<object, object>} */
  const met = new Map()
  const pending = [[a, b]]
  while (pending.length > 0) {
    const [one, other] = pending.pop()
    if (Object.is(one, other)) continue
    if (!isObject(one) || !isObject(other)) return false
    if (met.has(one)) {
      if (met.get(one) !== other) return false
      continue
    }
    met.set(one, other)
    if (!alike(one, other)) return false
    const parts = partsOf(one)
    const others = partsOf(other)
    if (parts.length !== others.length) return false
    for (let i = 0; i < parts.length; i++) pending.push([parts[i], others[i]])
  }
  return true
}

/** @param {unknown} value */
const isObject = value => typeof value === 'object' && value !== null
/** @param {unknown} value */
const isTypedArray = value => ArrayBuffer.isView(value) && !(value instanceof DataView)

/**
 * Compares prototypes and internal values, such as the time of a Date.
 *
 * @param {object} a @param {object} b
 */
function alike(a, b) {
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  if (a instanceof Date) return Object.is(a.getTime(), b.getTime())
  if (a instanceof Error) return a.name === b.name && a.message === b.message
  return !(a instanceof RegExp) || String(a) === String(b)
}

/** Returns names and values in an order that is equal for equal objects. @param {any} object */
function partsOf(object) {
  if (isTypedArray(object)) return [...object]
  if (object instanceof ArrayBuffer) return [...new Uint8Array(object)]
  const names = Object.keys(object).sort()
  const parts = names.flatMap(name => [name, object[name]])
  if (object instanceof Map) parts.push(...[...object].flat())
  if (object instanceof Set) parts.push(...object)
  return parts
}

/**
 * Formats a value as one line of text.
 *
 * @param {unknown} value
 * @param {number} [most] maximum length, characters
 */
export function show(value, most = 120) {
  const text = shown(value, 0)
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

const wide = 12 // maximum number of entries of a collection
const deep = 3

/** @param {any} value @param {number} depth */
function shown(value, depth) {
  if (typeof value === 'string') return JSON.stringify(value.length > 2000 ? value.slice(0, 2000) : value)
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, -0)) return '-0'
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`
  if (!isObject(value)) return String(value)
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (value instanceof Date || value instanceof RegExp) return String(value)
  if (depth === deep) return '…'
  const list = (items, size) => {
    const parts = []
    for (const item of items) {
      if (parts.length === wide) break
      parts.push(shown(item, depth + 1))
    }
    return parts.join(', ') + (size > wide ? `, … ${size} in all` : '')
  }
  if (Array.isArray(value)) return `[${list(value, value.length)}]`
  const name = value.constructor?.name ?? 'Object'
  if (isTypedArray(value)) return `${name} [${list(value, value.length)}]`
  if (value instanceof Set) return `Set {${list(value, value.size)}}`
  const pair = (key, content) => `${key}: ${shown(content, depth + 1)}`
  const pairs = value instanceof Map
    ? [...value].slice(0, wide).map(([key, content]) => pair(shown(key, depth + 1), content))
    : Object.keys(value).slice(0, wide).map(key => pair(key, value[key]))
  const size = value instanceof Map ? value.size : Object.keys(value).length
  const more = size > wide ? `, … ${size} in all` : ''
  const title = name === 'Object' ? '' : `${name} `
  return size === 0 ? `${title}{}` : `${title}{ ${pairs.join(', ')}${more} }`
}
