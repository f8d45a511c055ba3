// Scoped memory for hot loops: typed arrays are cut from one buffer and all freed at once when the last scope ends, so that
// a loop that needs the same arrays in each round leaves the garbage collector nothing to do. From the real-time Java
// specification (LTMemory), as jRate and RTJPerf have it (Corsaro and Schmidt 2003, 3.1 and 4.3.1).
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

// Every array begins where any type may: eight bytes are the widest element.
const alignment = 8

/**
 * Memory that lives as long as somebody is in its scope. Jobs may share a region: it is freed when the last of them has
 * left it (RTSJ counts the threads within in the same way). What a loop frees by the round belongs in a region inside.
 *
 * **An array must not be used after its scope**: the next scope gets the same memory. JavaScript has no reference check
 * as RTSJ demands it; instead, memory is zeroed when it is handed out, never when it is freed.
 */
export class Region {
  #buffer
  #begin
  #end
  #top
  #scopes = 0
  /** @type {any[]} What earlier scopes cut, in order: a scope that asks for the same gets the same views, and allocates nothing. */
  #views = []
  #next = 0
  #outer

  /**
   * @param {number} bytes its size, rounded up to eight; allocated at once, so that no later allocation asks the system
   * @param {{ within?: Region }} [options] `within`: a region whose scope is open; this one is cut from it, and ends with it
   * @throws {TypeError} `within` is no region
   * @throws {RangeError} `bytes` is no size, or more than is left in `within`
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

  /** Counts the times that this region was freed: what was cut from it before is no longer there. */
  #generation = 0

  /** Bytes. */
  get size() {
    return this.#end - this.#begin
  }

  /** Bytes that open scopes have taken, those lost to alignment included. */
  get used() {
    return this.#top - this.#begin
  }

  /**
   * Runs `work` in this region's scope, which ends when `work` has returned, thrown or been cancelled. Nested scopes of one
   * region are one scope.
   *
   * @template {readonly unknown[]} A, R
   * @param {(...args: A) => Generator<any, R, any>} work
   * @param {A} args
   * @returns {Generator<any, R, any>} for `spawn`, or `yield*` in a job
   * @throws {TypeError} `work` is no function
   * @throws {ReferenceError} when it starts: the region that this one lies in was freed
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
   * An array of zeros, in time linear in its size.
   *
   * @template {ArrayType} T
   * @param {T} type such as Float64Array
   * @param {number} length elements
   * @returns {InstanceType<T>}
   * @throws {TypeError} `type` is no typed array
   * @throws {RangeError} `length` is none, or more than is left
   * @throws {ReferenceError} no scope is open
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
    // Calls with other arguments follow from here on: views that lie behind do not suit any more.
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
