// Scoped memory for hot loops. Typed arrays are allocated from one buffer, and all are freed when the last
// scope ends. A loop that needs the same arrays in each round therefore creates no garbage. The idea comes
// from the real-time Java specification (LTMemory) and its implementations jRate and RTJPerf (Corsaro and
// Schmidt 2003, 3.1 and 4.3.1).
//
//   const region = new Region(1 << 20)
//   rt.spawn(region.enter(function* () {
//     const samples = region.array(Float64Array, 1024)   // zeros
//     ...
//   }))

/** @typedef {Float64ArrayConstructor | Float32ArrayConstructor | Int32ArrayConstructor | Uint32ArrayConstructor |
 *   Int16ArrayConstructor | Uint16ArrayConstructor | Int8ArrayConstructor | Uint8ArrayConstructor |
 *   Uint8ClampedArrayConstructor | BigInt64ArrayConstructor | BigUint64ArrayConstructor} ArrayType */

const kinds = new Set([
  Float64Array, Float32Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array, Uint8ClampedArray,
  BigInt64Array, BigUint64Array
])

// Alignment of all arrays, bytes: the size of the widest element.
const alignment = 8

/**
 * A memory region that is freed when the last of its scopes ends. Several jobs may share a region (RTSJ
 * counts the threads in a scope in the same way). Put memory that a loop frees in each round into a region of
 * its own inside.
 *
 * **Do not use an array after its scope.** The next scope gets the same memory. JavaScript cannot check
 * references as RTSJ does. Memory is zeroed when it is allocated, not when it is freed.
 */
export class Region {
  #buffer
  #begin
  #end
  #top
  #scopes = 0
  /**
   * Views of earlier scopes, in order of allocation. A scope that makes the same calls gets the same views
   * and allocates nothing.
   *
   * @type {any[]}
   */
  #views = []
  #next = 0
  #outer

  /**
   * @param {number} bytes size, rounded up to a multiple of eight; allocated immediately
   * @param {{ within?: Region }} [options] `within`: a region with an open scope; the new region uses its
   *   memory and ends with that scope
   * @throws {TypeError} if `within` is not a Region
   * @throws {RangeError} if `bytes` is not a valid size or exceeds the free memory of `within`
   */
  constructor(bytes, { within } = {}) {
    if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new RangeError(`bytes must be an integer > 0, got ${String(bytes)}`)
    if (within !== undefined && !(within instanceof Region)) throw new TypeError('within must be a Region')
    const size = aligned(bytes)
    this.#begin = within ? within.#cut(size) : 0
    this.#buffer = within ? within.#buffer : new ArrayBuffer(size)
    this.#end = this.#begin + size
    this.#top = this.#begin
    this.#outer = within && { region: within, scope: within.#generation }
  }

  /** Number of times that this region was freed. Memory from earlier generations is invalid. */
  #generation = 0

  /** Size in bytes. */
  get size() {
    return this.#end - this.#begin
  }

  /** Bytes that open scopes have allocated, including padding. */
  get used() {
    return this.#top - this.#begin
  }

  /**
   * Runs `work` in a scope of this region. The scope ends when `work` returns, throws or is cancelled. Nested
   * scopes of one region are one scope.
   *
   * @template {readonly unknown[]} A, R
   * @param {(...args: A) => Generator<any, R, any>} work
   * @param {A} args
   * @returns {Generator<any, R, any>} pass it to `spawn`, or use `yield*` in a job
   * @throws {TypeError} if `work` is not a function
   * @throws {ReferenceError} at the start of the generator, if the enclosing region was freed
   */
  enter(work, ...args) {
    if (typeof work !== 'function') throw new TypeError('work must be a generator function')
    return this.#scope(work, args)
  }

  * #scope(work, args) {
    this.#mustLive()
    this.#scopes++
    try {
      return yield* work(...args)
    } finally {
      if (--this.#scopes === 0) this.#free()
    }
  }

  /**
   * Allocates an array of zeros. Takes time linear in its size.
   *
   * @template {ArrayType} T
   * @param {T} type constructor of the array, such as Float64Array
   * @param {number} length number of elements
   * @returns {InstanceType<T>}
   * @throws {TypeError} if `type` is not the constructor of a typed array
   * @throws {RangeError} if `length` is not a valid length or exceeds the free memory
   * @throws {ReferenceError} if no scope is open
   */
  array(type, length) {
    if (!kinds.has(type)) throw new TypeError('type must be the constructor of a typed array, such as Float64Array')
    if (!Number.isSafeInteger(length) || length < 0) throw new RangeError(`length must be an integer >= 0, got ${String(length)}`)
    const begin = this.#cut(aligned(length * type.BYTES_PER_ELEMENT))
    const known = this.#views[this.#next]
    const suits = known !== undefined && known.byteOffset === begin && known.length === length && known.constructor === type
    const array = suits ? known.fill(type === BigInt64Array || type === BigUint64Array ? 0n : 0) : this.#view(type, begin, length)
    this.#next++
    return array
  }

  #view(type, begin, length) {
    const array = new type(this.#buffer, begin, length)
    // This call differs from the earlier scope's, so all later views are invalid.
    this.#views.length = this.#next
    this.#views.push(array)
    return array.fill(type === BigInt64Array || type === BigUint64Array ? 0n : 0)
  }

  #cut(size) {
    this.#mustLive()
    if (this.#scopes === 0) throw new ReferenceError('the region is not entered: memory is cut within region.enter(...) only')
    const left = this.#end - this.#top
    if (size > left) throw new RangeError(`the region has ${left} of ${this.size} bytes left, ${size} were asked for`)
    this.#top += size
    return this.#top - size
  }

  #free() {
    this.#top = this.#begin
    this.#next = 0
    this.#generation++
  }

  #mustLive() {
    const outer = this.#outer
    if (outer && outer.region.#generation !== outer.scope) {
      throw new ReferenceError('the region that this one lies in was freed')
    }
  }
}

const aligned = size => Math.ceil(size / alignment) * alignment
