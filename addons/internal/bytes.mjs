/**
 * addons/internal/bytes.mjs: values as bytes, for shared memory and for endpoints that carry only bytes or
 * text.
 *
 * The result is that of structured clone for plain values: class instances become plain objects; functions,
 * symbols, cycles and other values without bytes are rejected with a DataCloneError.
 *
 * Words:
 * - packed: a value that JSON can express. `{ "$": [kind, ...content] }` is an escape: it stands for a value
 *   that JSON cannot express, for example a Map or undefined. The bytes of buffers are beside the JSON, and
 *   escapes hold their indices
 * - encoded: several values as bytes. First the length of the text in 4 bytes (little-endian); then the text,
 *   the JSON of an array of the packed values and, last, of the lengths of all buffers; then the buffers
 *
 * Invariants:
 * 1. `unpacked` is the inverse of `packed`, for each value that structured clone and this file both accept.
 * 2. `decoded` accepts bytes from a stranger: it throws an Error for all bytes that `encoded` cannot have
 *    made, runs no code of the sender, and changes no prototype.
 * 3. Decoding takes linear time and memory: an announced buffer costs one number until an escape takes the
 *    buffer, and each buffer is taken at most once.
 */

import { extend } from '../../rt.mjs'

/** @param {unknown} value @returns {value is number} whether it is a length or a number of things */
export const isCount = value => Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0

/**
 * @param {any[]} values
 * @returns {Uint8Array[]} parts of the bytes: the length, the text, and the buffers, which are not copied
 * @throws {DOMException} DataCloneError
 */
export function encoded(values) {
  /** @type {Uint8Array[]} */
  const buffers = []
  const list = values.map(value => {
    try {
      return packed(value, buffers)
    } catch (error) {
      throw error instanceof RangeError ? cannotClone(value) : error // a cycle, or too deep for the stack
    }
  })
  list.push(buffers.map(({ length }) => length))
  const text = (encoder ??= new TextEncoder()).encode(JSON.stringify(list))
  const { length } = text
  buffers.unshift(Uint8Array.of(length, length >>> 8, length >>> 16, length >>> 24), text)
  return buffers
}

/**
 * Reads the bytes that `encoded` makes.
 *
 * @param {Uint8Array} bytes
 * @returns {{ values: any[], take: TakeBuffer }} the values, still packed, and the buffers for `unpacked`
 * @throws {Error} if `encoded` cannot have made the bytes
 */
export function decoded(bytes) {
  const begin = 4 + new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true)
  if (begin > bytes.length) throw new SyntaxError('the text is shorter than announced')
  const values = list(JSON.parse((decoder ??= new TextDecoder()).decode(bytes.subarray(4, begin))))
  const lengths = list(values.pop())
  const ends = new Float64Array(lengths.length)
  let end = begin
  for (let i = 0; i < lengths.length; i++) {
    if (!isCount(lengths[i])) throw new SyntaxError('the length of a buffer is not a count')
    ends[i] = end += lengths[i]
  }
  if (end !== bytes.length) throw new SyntaxError(`${end} bytes are announced, ${bytes.length} have arrived`)
  return {
    values,
    take(index) {
      const isFree = isCount(index) && lengths[index] >= 0
      if (!isFree) throw new SyntaxError('an escape has no buffer of its own')
      const end = ends[index]
      const length = lengths[index]
      lengths[index] = TAKEN
      return bytes.subarray(end - length, end)
    }
  }
}
/** Returns the bytes of a buffer by its index, once. @typedef {(index: any) => Uint8Array} TakeBuffer */

/** The length of a buffer that an escape has taken. */
const TAKEN = -1

// -------------------------------------------------------------------------------------------- packed values

/** The only key of an escape. */
const ESCAPE = '$'

/** @param {any} value @param {Uint8Array[]} buffers @returns {any} a value that JSON can express */
function packed(value, buffers) {
  const kind = packedKindOf(value)
  if (kind === 'JSON') return value
  if (kind === 'Array') return allPacked(value, buffers)
  if (kind === 'Object') {
    const copy = { ...value } // assigning to an own __proto__ changes no prototype
    Object.keys(copy).forEach(key => { copy[key] = packed(copy[key], buffers) })
    return copy
  }
  if (['Number', 'String', 'Boolean'].includes(kind)) return packed(value.valueOf(), buffers)
  if (Object.hasOwn(PACKED, kind)) {
    const content = allPacked(PACKED[kind].pack(value), buffers)
    return { [ESCAPE]: [kind].concat(content) }
  }
  if (isBytes(value)) return { [ESCAPE]: [kind, buffers.push(bytesOf(value)) - 1] }
  throw cannotClone(value)
}

/** @param {any[]} values @param {Uint8Array[]} buffers @returns {any[]} */
function allPacked(values, buffers) {
  const all = []
  for (let i = 0; i < values.length; i++) all.push(packed(values[i], buffers))
  return all
}

/** @param {any} value @returns {string} the kind; 'JSON' if JSON can express the value itself */
function packedKindOf(value) {
  const type = typeof value
  if (type === 'string' || type === 'boolean' || value === null) return 'JSON'
  if (type === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? 'JSON' : type
  if (type !== 'object') return type
  if (Array.isArray(value)) {
    const hole = value.findIndex((part, place) => part === undefined && !Object.hasOwn(value, place))
    return hole < 0 ? 'Array' : 'array'
  }
  const kind = kindOf(value)
  return kind === 'Object' && Object.hasOwn(value, ESCAPE) ? 'object' : kind
}

/**
 * The inverse of `packed`. The packed value is reused, so it is lost.
 *
 * @param {any} value @param {TakeBuffer} take returns the buffers, which may become parts of the result
 * @returns {any}
 * @throws {Error} if `packed` cannot have made the value
 */
export function unpacked(value, take) {
  if (typeof value !== 'object' || value === null) return value
  if (!Object.hasOwn(value, ESCAPE)) {
    // JSON.parse makes `__proto__` an own property, so this assignment replaces its value like any other.
    const keys = Object.keys(value)
    for (let i = 0; i < keys.length; i++) value[keys[i]] = unpacked(value[keys[i]], take)
    return value
  }
  const { 0: kind, 1: first, 2: second } = list(value[ESCAPE])
  if (kind === 'ArrayBuffer') return bufferOf(take(first))
  if (VIEW.test(kind)) return new /** @type {any} */ (globalThis)[kind](bufferOf(take(first)))
  if (!Object.hasOwn(PACKED, kind)) throw new SyntaxError('an escape of an unknown kind')
  return PACKED[kind].make(unpacked(first, take), unpacked(second, take))
}

/** @param {unknown} value @returns {any[]} */
function list(value) {
  if (!Array.isArray(value)) throw new SyntaxError('not an array')
  return value
}

/** @param {unknown} entries @param {(key: any, value: any) => void} act @throws {SyntaxError} */
function forEachEntry(entries, act) {
  list(entries).forEach(entry => {
    const { 0: key, 1: value } = list(entry)
    act(key, value)
  })
}

/** Makes an array that has holes. @param {number} length @param {unknown} entries @returns {any[]} */
function arrayOf(length, entries) {
  /** @type {any[]} */
  const array = []
  array.length = length
  forEachEntry(entries, (key, value) => { if (isPlace(key, length)) define(array, key, value) })
  return array
}

/** @param {unknown} entries @returns {object} */
function objectOf(entries) {
  const object = {}
  forEachEntry(entries, (key, value) => { define(object, key, value) })
  return object
}

/** @param {unknown} entries @returns {Map<any, any>} */
function mapOf(entries) {
  const map = new Map()
  forEachEntry(entries, (key, value) => { map.set(key, value) })
  return map
}

/** @param {unknown} values @returns {Set<any>} */
function setOf(values) {
  const set = new Set()
  list(values).forEach(value => { set.add(value) })
  return set
}

/** @param {Map<any, any>} map @returns {[any, any][]} */
function entriesOf(map) {
  /** @type {[any, any][]} */
  const entries = []
  map.forEach((value, key) => { entries.push([key, value]) })
  return entries
}

/** @param {any[]} array an array that has holes @returns {[string, any][]} the keys and the elements */
const placesOf = array => Object.entries(array).filter(({ 0: key }) => isPlace(key, array.length))

/**
 * Adds an own property, even if the prototype has a setter of this name.
 *
 * @param {object} object @param {string} key @param {any} value
 */
function define(object, key, value) {
  const rights = { writable: true, enumerable: true, configurable: true }
  Object.defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value, ...rights }))
}

/** @param {boolean} isNegative @param {unknown} digits @returns {bigint} */
function bigintOf(isNegative, digits) {
  const isNumeral = typeof digits === 'string' && digits.startsWith('0x')
  if (!isNumeral) throw new SyntaxError('digits must be hexadecimal')
  return isNegative ? -BigInt(digits) : BigInt(digits)
}

/**
 * Kinds of values: how each is packed, and how it is made again.
 *
 * @type {Record<string, { pack(value: any): any[], make(first: any, second: any): any }>}
 */
const PACKED = {
  undefined: { pack: () => [], make: () => undefined },
  number: { pack: value => [Object.is(value, -0) ? '-0' : String(value)], make: Number },
  // Hexadecimal digits, because engines parse decimal digits in more than linear time.
  bigint: { pack: value => [value < 0n, `0x${(value < 0n ? -value : value).toString(16)}`], make: bigintOf },
  Date: { pack: date => [date.getTime()], make: time => new Date(time) },
  RegExp: {
    pack: ({ source, flags }) => [source, flags],
    make: (source, flags) => new RegExp(source, flags)
  },
  Error: {
    pack: ({ name, message }) => [name in ERRORS ? name : 'Error', String(message)],
    make: (name, message) => new (Object.hasOwn(ERRORS, name) ? ERRORS[name] : Error)(message)
  },
  Map: { pack: map => [entriesOf(map)], make: mapOf },
  Set: { pack: set => [extend.membersOf(set)], make: setOf },
  // An array with holes, and an object that looks like an escape.
  array: { pack: array => [array.length, placesOf(array)], make: arrayOf },
  object: { pack: object => [Object.entries(object)], make: objectOf }
}

export const ERRORS = /** @type {Record<string, ErrorConstructor>} */ (
  { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError })

/** Names of typed arrays and of DataView. */
const VIEW = /^(?:(?:Big)?(?:Ui|I)nt\d+(?:Clamped)?Array|Float\d+Array|DataView)$/

/** @param {string} key @param {number} length */
const isPlace = (key, length) => isCount(Number(key)) && Number(key) < length

// ------------------------------------------------------------------------------------------ bytes and kinds

/** @type {any[]} */
export const NONE = []
/** Created on first use, because some platforms lack the class. @type {TextEncoder} */
let encoder
/** @type {TextDecoder} */
let decoder

/** The name of the class of a value, also of another realm. @param {unknown} value */
export const kindOf = value => Object.prototype.toString.call(value).slice(8, -1)
/** @param {any} value */
export const isBytes = value => ArrayBuffer.isView(value) || kindOf(value) === 'ArrayBuffer'

/** @param {ArrayBufferView | ArrayBuffer} source @returns {Uint8Array} the same memory */
export const bytesOf = source => ArrayBuffer.isView(source)
  ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  : new Uint8Array(source)

/** Returns a buffer that has exactly these bytes. @param {Uint8Array} bytes */
const bufferOf = bytes => bytes.length === bytes.buffer.byteLength && kindOf(bytes.buffer) === 'ArrayBuffer'
  ? bytes.buffer : bytes.slice().buffer

/** @param {Uint8Array[]} chunks @returns {number} the sum of their lengths */
export const lengthOf = chunks => chunks.reduce((sum, { length }) => sum + length, 0)

/** @param {Uint8Array[]} chunks @returns {Uint8Array} not copied if it is one */
export function joined(chunks) {
  if (chunks.length === 1) return chunks[0]
  const whole = new Uint8Array(lengthOf(chunks))
  let offset = 0
  for (let i = 0; i < chunks.length; i++) {
    whole.set(chunks[i], offset)
    offset += chunks[i].length
  }
  return whole
}

/** @param {unknown} value */
export const cannotClone = value =>
  new DOMException(`${extend.check.describe(value)} could not be cloned`, 'DataCloneError')
