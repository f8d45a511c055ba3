/**
 * addons/shared.mjs: values and locks between threads, in SharedArrayBuffers.
 *
 *   SharedMutex, SharedSemaphore   locks of sync.mjs whose permits lie in shared memory
 *   Latest                         the freshest value, one writer and one reader
 *   Ring                           the last values in order, one writer and one reader
 *
 * One thread makes such an object and posts its `buffer`. Another thread joins it, for example by
 * `SharedMutex.from(buffer)`.
 *
 * Words:
 * - words: the buffer as an Int32Array. The first ten words are the header: layout, bytes per value, number
 *   of values, and seven control words whose meaning depends on the layout. After the header, each value has
 *   two words, its kind and a number, and then its bytes
 * - layout: the first word of a buffer. It names the class that made the buffer, and the version of its
 *   format
 * - permit: the right to pass a lock. Its word holds twice the number of the owning thread (1: free, 0: not
 *   yet added), plus 1 if the permit is abandoned
 * - abandoned: a thread or job ended with the permit, so the protected state may be half changed
 *
 * Invariants:
 * 1. Each change of a permit is one compareExchange, so a thread can end at any step without leaving an
 *    invalid state.
 * 2. A permit belongs to at most one thread, and returns when that thread has ended.
 * 3. A writer and a reader of a Latest never use the same slot at the same time (Simpson 1990).
 * 4. `Atomics.notify` runs only after a thread has set WAITING: without waiters it costs 20 to 100 ns.
 *
 * @module shared
 */

import { extend } from '../rt.mjs'
import { Mutex, Semaphore, Supply, Turn, withSignal } from '../sync.mjs'
import { decoded, encoded, isCount, joined, kindOf, unpacked } from './internal/bytes.mjs'
import { sequence } from './internal/sequences.mjs'
import { identified, thisThread, whenEnded } from './internal/threads.mjs'
/** @import { Awaitable } from '../rt.mjs' */
/** @import { PermitsMaker, SupplyHooks, WaitOptions } from '../sync.mjs' */
/** @typedef {InstanceType<typeof extend.WaitQueue>} WaitQueue */

const { check } = extend

// ---------------------------------------------------------------------------------------------------- locks

/**
 * A Mutex that excludes jobs of all threads that share its buffer. It is used like a Mutex, with these
 * differences.
 *
 * Waiters in other threads are woken by `Atomics.waitAsync`; if the engine lacks it, a worker waits in its
 * place. After an unlock, all waiting threads compete for the mutex, and the unlocking thread has no
 * advantage. Ranks are inherited, and cycles detected, within each thread. If the thread of the owner ends,
 * the mutex becomes free, and `abandoned` is set. This requires Web Locks, or Node 20.19 or later.
 *
 * @example
 * const mutex = new SharedMutex()
 * const same = SharedMutex.from(mutex.buffer) // in a worker that received the buffer
 * await rt.spawn(() => mutex.use(() => console.log(same.locked))) // → true
 * console.log(same.locked) // → false
 */
export class SharedMutex extends Mutex {
  #permits

  /**
   * @param {SharedLockOptions} [options]
   * @throws {TypeError} if an option has the wrong type, or if there is no SharedArrayBuffer: in a page that
   *   is not cross-origin isolated, and in some builds of WebKit
   */
  constructor(options = {}) {
    const { name, buffer } = check.options(options, SHARED_LOCK)
    /** @type {any} */
    let permits
    /** @type {PermitsMaker} */
    const permitsOf = (count, hooks, queue) => permits = new Permits(MUTEX, count, buffer, hooks, queue)
    super({ name }, permitsOf)
    this.#permits = permits
  }

  /**
   * Joins the mutex of another thread.
   *
   * @param {SharedArrayBuffer} buffer
   * @param {{ name?: string }} [options]
   */
  static from(buffer, options) {
    return new SharedMutex({ ...options, buffer })
  }

  /** The shared memory: post it to other threads, so that they can join. @returns {SharedArrayBuffer} */
  get buffer() { return this.#permits.buffer }
  get [Symbol.toStringTag]() { return 'SharedMutex' }
}

/**
 * A Semaphore whose permits are shared by all threads that have its buffer. The maximum number of permits is
 * 1024, or the initial number if that is larger. `release` returns a permit that its own thread has acquired;
 * if there is none, a permit of another thread; if there is none either, it adds a new permit. When a thread
 * ends, its permits are released, and `abandoned` is set. Waiting and the end of a thread are handled as for
 * SharedMutex.
 *
 * @example
 * const seats = new SharedSemaphore(2)
 * const same = SharedSemaphore.from(seats.buffer) // in a worker that received the buffer
 * await seats.acquire()
 * console.log(same.available) // → 1
 * seats.release()
 */
export class SharedSemaphore extends Semaphore {
  #permits

  /**
   * @param {number} permits the initial number of permits, an integer >= 0; it is ignored with a `buffer`
   * @param {SharedLockOptions} [options]
   * @throws {TypeError | RangeError} if a parameter is invalid, or if there is no SharedArrayBuffer
   */
  constructor(permits, options = {}) {
    const { name, buffer } = check.options(options, SHARED_LOCK)
    /** @type {any} */
    let own
    /** @type {PermitsMaker} */
    const permitsOf = (count, hooks) => own = new Permits(SEMAPHORE, count, buffer, hooks)
    super(permits, { name }, permitsOf)
    this.#permits = own
  }

  /**
   * Joins the semaphore of another thread.
   *
   * @param {SharedArrayBuffer} buffer
   * @param {{ name?: string }} [options]
   */
  static from(buffer, options) {
    return new SharedSemaphore(0, { ...options, buffer })
  }

  /** The shared memory: post it to other threads, so that they can join. @returns {SharedArrayBuffer} */
  get buffer() { return this.#permits.buffer }
  /**
   * Whether a thread ended with a permit that no job has acquired and released since. The protected state may
   * then be half changed.
   *
   * @returns {boolean}
   */
  get abandoned() { return this.#permits.isAbandoned }
  get [Symbol.toStringTag]() { return 'SharedSemaphore' }
}

// -------------------------------------------------------------------------- supplies: what threads wait for

/**
 * A place in the queue that another thread can serve. Node does not know of that thread, so a timer keeps
 * Node alive while the place waits.
 */
class OutsideTurn extends Turn {
  /** @type {any} */
  #timer

  /** @param {Supply} supply @param {string} name @param {boolean} [isForSection] */
  constructor(supply, name, isForSection) {
    super(supply, name, isForSection)
  }
  get isExternal() { return true }
  enter() {
    super.enter()
    if (!this.isSettled) this.#timer = setInterval(() => {}, 2 ** 30)
  }
  leave() {
    super.leave()
    clearInterval(this.#timer)
  }
  /** @param {any} [value] */
  wake(value) {
    super.wake(value)
    clearInterval(this.#timer)
  }
  /** @param {unknown} error */
  fail(error) {
    super.fail(error)
    clearInterval(this.#timer)
  }
}

/** The supplies whose word this thread watches for a change. @type {Set<Watch>} */
const listening = /* @__PURE__ */ new Set()

/** A supply in shared memory. One of its words changes whenever the supply grows. */
class Watch extends Supply {
  /** @param {Memory} memory @param {number} word @param {SupplyHooks} hooks @param {WaitQueue} [queue] */
  constructor(memory, word, hooks, queue) {
    super(hooks, queue)
    this.words = memory.words
    this.word = word
    this.buffer = memory.buffer
  }

  /** @param {string} name @param {boolean} [isForSection] @returns {any} */
  turn(name, isForSection) {
    return new OutsideTurn(this, name, isForSection)
  }

  listen() {
    while (!listening.has(this) && this.queue.size > 0) {
      const seen = Atomics.load(this.words, this.word)
      if (this.serve()) continue
      const { async, value } = changeOf(this.words, this.word, seen)
      if (!async) continue
      listening.add(this)
      Atomics.store(this.words, WAITING, 1)
      // A thread that changed the word before WAITING was set has notified no thread.
      if (Atomics.load(this.words, this.word) !== seen) Atomics.notify(this.words, this.word)
      value.then(() => {
        listening.delete(this)
        extend.event(() => this.listen())
      })
    }
  }
  /** Releases the permits of a thread that has ended. @param {number} _owner */
  takeBack(_owner) {}

  /**
   * Notifies all threads if any thread has waited since the last call. A notification without waiters takes a
   * lock of the engine, and 20 to 100 ns.
   */
  changed() {
    if (Atomics.load(this.words, WAITING) === 0) return
    Atomics.store(this.words, WAITING, 0)
    this.tell()
  }

  /** Notifies all threads. @returns {boolean} `true` if another thread waited */
  tell() {
    return Atomics.notify(this.words, this.word) > Number(listening.has(this))
  }
}

/**
 * @param {...any} wait the arguments of `Atomics.waitAsync`: the words, an index, and the expected value
 * @returns {{ async: boolean, value: any }} `value`: a promise that fulfills after the word has changed
 */
function changeOf(...wait) {
  const { waitAsync } = /** @type {any} */ (Atomics)
  if (waitAsync !== undefined) return waitAsync.apply(Atomics, wait)
  const source = 'onmessage = ({ data }) => postMessage(Atomics.wait(...data))'
  const url = URL.createObjectURL(new Blob(sequence([source])))
  const worker = new Worker(url)
  const value = new Promise(resolve => { worker.onmessage = resolve }).then(() => {
    worker.terminate()
    URL.revokeObjectURL(url)
  })
  worker.postMessage(wait)
  return { async: true, value }
}

// -------------------------------------------------------------------------------------------------- permits

// The word of a permit is twice its owner, plus 1 if the permit is abandoned. The owner is the number of a
// thread, FREE, or 0 if the permit has not been added yet.
const FREE = 1
/** Index of the word that changes when a permit becomes free. */
const RELEASES = 3
const MAX_PERMITS = 1024

/**
 * Permits that threads take from each other, one word each. Each step changes one word only, so a thread may
 * end after any step.
 */
class Permits extends Watch {
  isShared = true

  /**
   * @param {number} layout @param {number} count the initial number of permits
   * @param {SharedArrayBuffer | undefined} buffer
   * @param {SupplyHooks} hooks @param {WaitQueue} [queue]
   */
  constructor(layout, count, buffer, hooks, queue) {
    const memory = new Memory(layout, layout === MUTEX ? 1 : Math.max(count, MAX_PERMITS), 0, buffer)
    super(memory, RELEASES, hooks, queue)
    this.most = memory.count
    for (let i = 0; buffer === undefined && i < count; i++) this.words[HEADER + i * KIND] = FREE << 1
    identified().then(() => { if (listening.has(this)) this.tell() })
  }

  /** The words of all existing permits. @returns {number[]} */
  get #all() {
    const all = []
    for (let at = HEADER; at < this.words.length; at += KIND) {
      const permit = Atomics.load(this.words, at)
      if (permit === 0) break
      all.push(permit)
    }
    return all
  }
  get available() { return this.#all.filter(permit => permit >> 1 === FREE).length }
  get isAbandoned() { return this.#all.some(permit => (permit & 1) === 1) }

  /**
   * Changes the owner of the first permit that qualifies.
   *
   * @param {(owner: number) => boolean} mayChange @param {number} owner
   * @param {number} [isAbandoned] default: unchanged
   */
  #change(mayChange, owner, isAbandoned) {
    for (let at = HEADER; at < this.words.length; at += KIND) {
      const permit = Atomics.load(this.words, at)
      const next = owner << 1 | (isAbandoned ?? permit & 1)
      const isChanged = mayChange(permit >> 1) &&
        Atomics.compareExchange(this.words, at, permit, next) === permit
      if (isChanged) return true
      // With isNone, another thread has just added this permit: try the next one.
      if (permit === 0 && mayChange !== isNone) return false
    }
    return false
  }

  /** @returns {boolean} `true` if this thread has acquired a permit */
  take() {
    return thisThread() !== 0 && this.#change(owner => owner === FREE, thisThread())
  }

  /** @param {boolean} isAbandoned @throws {RangeError} if there are too many permits */
  release(isAbandoned) {
    const isFree = [isOurs, isTaken, isNone]
      .some(mayChange => this.#change(mayChange, FREE, Number(isAbandoned)))
    if (!isFree) throw new RangeError(`permits must be at most ${this.most}`)
    // If no other thread waits, waiting jobs of this thread acquire the permit immediately.
    if (!this.tell()) while (this.serve());
  }

  /**
   * Releases the permits of a thread that has ended. It always notifies, because the thread may have ended
   * between a release and its notification.
   *
   * @param {number} ended
   */
  takeBack(ended) {
    while (this.#change(owner => owner === ended, FREE, 1));
    this.tell()
  }

  tell() {
    Atomics.add(this.words, RELEASES, 1)
    return super.tell()
  }
  listen() {
    super.listen()
    if (listening.has(this)) this.#all.forEach(permit => watchFor(permit >> 1))
  }
}

const isOurs = (/** @type {number} */ owner) => owner === thisThread()
const isTaken = (/** @type {number} */ owner) => owner > FREE
const isNone = (/** @type {number} */ owner) => owner === 0

/** Threads whose end is watched for. @type {Set<number>} */
const watched = /* @__PURE__ */ new Set()

/** @param {number} owner a thread; when it ends, its permits are released */
function watchFor(owner) {
  if (owner <= FREE || owner === thisThread() || watched.has(owner)) return
  watched.add(owner)
  whenEnded(owner, () => {
    watched.delete(owner)
    extend.membersOf(listening).forEach(watch => watch.takeBack(owner))
  })
}

// --------------------------------------------------------------------------------------------------- Latest

// The control words of the four slots.
const NEWEST = 3
const READING = 4
const SLOT = 5
const WRITES = 7

/**
 * The freshest value, for one writer and one reader, neither of which ever waits for the other. A value that
 * is overwritten before it is read is lost. Each read returns a complete value, and never an older value than
 * the read before (Simpson's four-slot mechanism, IEE Proceedings E 137, 1990; Qduino II-C).
 *
 * With `shared`, values are copied, as by structured clone: post `buffer` to the other thread, which calls
 * `Latest.from(buffer)`. Without it, the reader and the writer are in one thread, where writes cannot be
 * interrupted and values are not copied.
 *
 * @template [T=unknown]
 *
 * @example
 * const distance = new Latest(0)
 * distance.write(17)
 * distance.write(18)
 * console.log(distance.read()) // → 18
 */
export class Latest {
  #store
  /** The number of the write whose value was read last. */
  #seen = 0
  #supply

  /**
   * @param {T} [initial] the value before the first write; with a `buffer`, it is ignored
   * @param {SharedOptions} [options]
   * @throws {TypeError} with `shared`, if there is no SharedArrayBuffer: in a page that is not cross-origin
   *   isolated, and in some builds of WebKit
   * @throws {RangeError} if `initial` takes more than `bytes`
   */
  constructor(initial, options = {}) {
    const store = this.#store = storeOf(LATEST, 4, options, initial)
    const isNew = () => (Atomics.load(store.words, WRITES) - this.#seen | 0) > 0
    this.#supply = supplyOf(store, WRITES, isNew, () => this.read())
    if (store.isMade) this.#put(/** @type {T} */ (initial), 0)
  }

  /** Joins the peer. @template [T=unknown] @param {SharedArrayBuffer} buffer @returns {Latest<T>} */
  static from(buffer) {
    return new Latest(/** @type {any} */ (undefined), { shared: true, buffer })
  }

  /**
   * The memory by which another thread joins; undefined without `shared`.
   *
   * @returns {SharedArrayBuffer | undefined}
   */
  get buffer() { return this.#store.buffer }

  /**
   * Replaces the value.
   *
   * @param {T} value
   * @throws {RangeError | DOMException} with `shared`, if the value takes more than `bytes` or cannot be
   *   cloned; the previous value stays
   */
  write(value) {
    this.#put(value, this.#store.words[WRITES] + 1 | 0)
    this.#supply.changed()
  }
  /** @param {T} value @param {number} number */
  #put(value, number) {
    const { words } = this.#store
    // The writer avoids the pair that is being read, and the slot of the other pair that was read last.
    const pair = 1 - Atomics.load(words, READING)
    const slot = 1 - Atomics.load(words, SLOT + pair)
    this.#store.put(pair * 2 + slot, value, number)
    Atomics.store(words, SLOT + pair, slot)
    Atomics.store(words, NEWEST, pair)
    Atomics.store(words, WRITES, number)
  }

  /** @returns {T} */
  read() {
    const { words } = this.#store
    const pair = Atomics.load(words, NEWEST)
    Atomics.store(words, READING, pair)
    const place = pair * 2 + Atomics.load(words, SLOT + pair)
    this.#seen = this.#store.numberOf(place)
    return this.#store.get(place)
  }

  /**
   * Returns the latest value if this reader has not read it yet, or waits for the next write.
   *
   * @param {WaitOptions} [options]
   * @returns {Awaitable<T>}
   */
  receive(options) {
    return withSignal(this.#supply.turn('latest.receive()'), options)
  }
}

// ----------------------------------------------------------------------------------------------------- Ring

// The control words of a ring: the numbers of writes and reads, modulo twice its size.
const WRITTEN = 3
const READ = 4

/**
 * A ring buffer: the last values in order, for one writer and one reader that never wait (Lamport 1977;
 * Qduino II-C). With `shared`, post `buffer` to the other thread, which calls `Ring.from(buffer)`.
 *
 * @template [T=unknown]
 *
 * @example
 * const samples = new Ring(2)
 * console.log(samples.write(1), samples.write(2), samples.write(3)) // → true, true, false
 * console.log(samples.read()) // → 1
 */
export class Ring {
  #store
  #words
  #supply

  /**
   * @param {number | SharedArrayBuffer} n the capacity in values, an integer >= 1
   * @param {SharedOptions} [options]
   * @throws {TypeError} with `shared`, if there is no SharedArrayBuffer: in a page that is not cross-origin
   *   isolated, and in some builds of WebKit
   * @throws {RangeError} if `n` is out of range
   */
  constructor(n, options = {}) {
    const store = this.#store = storeOf(RING, n, options, n)
    this.#words = store.words
    this.#supply = supplyOf(store, WRITTEN, () => this.length > 0, () => this.read())
  }

  /** Joins the peer. @template [T=unknown] @param {SharedArrayBuffer} buffer @returns {Ring<T>} */
  static from(buffer) {
    return new Ring(buffer, { shared: true })
  }

  /**
   * The memory by which another thread joins; undefined without `shared`.
   *
   * @returns {SharedArrayBuffer | undefined}
   */
  get buffer() { return this.#store.buffer }
  /** The capacity in values. */
  get size() { return this.#store.count }
  /** Number of values that were written and not read yet. */
  get length() {
    const ahead = Atomics.load(this.#words, WRITTEN) - Atomics.load(this.#words, READ)
    return ahead < 0 ? ahead + 2 * this.size : ahead
  }

  /** @param {number} word */
  #advance(word) {
    Atomics.store(this.#words, word, (this.#words[word] + 1) % (2 * this.size))
  }

  /**
   * @param {T} value any value except undefined
   * @returns {boolean} `true` if the value was written, `false` if the ring is full
   * @throws {TypeError} if `value` is undefined
   * @throws {RangeError | DOMException} with `shared`, if the value takes more than `bytes` or cannot be
   *   cloned
   */
  write(value) {
    if (value === undefined) throw new TypeError('value must not be undefined, which says that it is empty')
    if (this.length === this.size) return false
    this.#store.put(this.#words[WRITTEN] % this.size, value)
    this.#advance(WRITTEN)
    this.#supply.changed()
    return true
  }

  /** @returns {T | undefined} the oldest value, or `undefined` if the ring is empty */
  read() {
    if (this.length === 0) return undefined
    const place = this.#words[READ] % this.size
    const value = this.#store.get(place)
    this.#store.put(place, undefined)
    this.#advance(READ)
    return value
  }

  /** Returns the oldest value, or waits for one. @param {WaitOptions} [options] @returns {Awaitable<T>} */
  receive(options) {
    return withSignal(this.#supply.turn('ring.receive()'), options)
  }
}

// --------------------------------------------------------------------------------------------------- memory

const LATEST = 0x34534c32 // includes the version of the layout
const RING = 0x52494e32
const MUTEX = 0x4d545832
const SEMAPHORE = 0x53454d32
const NAMES = /** @type {Record<number, string>} */ ({
  [LATEST]: 'shared Latest', [RING]: 'shared Ring', [MUTEX]: 'SharedMutex', [SEMAPHORE]: 'SharedSemaphore'
})

/**
 * Values in shared memory, with one slot each. The layout in words of 4 bytes starts with a header: the
 * layout's number, bytes per value, number of values, and control words. Then each value has its kind, a
 * number, and its bytes, which start at an even word.
 */
const HEADER = 10
const KIND = 2
/** Offset of the word after the kind, which holds a number. */
const NUMBERED = 1
/** Index of the control word that is 1 while a thread may wait. */
const WAITING = 8

// Kinds of values. A larger kind is the number of bytes of an encoded value.
const UNDEFINED = 0
const NUMBER = 1

class Memory {
  /**
   * @param {number} layout @param {number} count the number of values @param {number} bytes bytes per value
   * @param {SharedArrayBuffer | undefined} buffer the buffer of a peer; it already contains these sizes
   */
  constructor(layout, count, bytes, buffer) {
    /** Words that a value takes. @param {number} size */
    const strideOf = size => Math.ceil(size / 8) * 2 + KIND
    this.buffer = buffer ?? sharedMemory(layout, (HEADER + count * strideOf(bytes)) * 4)
    this.words = new Int32Array(this.buffer, 0, this.buffer.byteLength >>> 2)
    /** Whether this object made the buffer, rather than joined it. */
    this.isMade = buffer === undefined
    if (this.isMade) this.words.set([layout, bytes, count])
    const { 0: kind, 1: size, 2: number } = this.words
    this.bytes = size
    this.count = number
    this.stride = strideOf(size)
    if (kind !== layout || (HEADER + number * this.stride) * 4 !== this.buffer.byteLength) {
      const { byteLength } = this.buffer
      throw new TypeError(
        `buffer must be the buffer of a ${NAMES[layout]}, got a buffer of ${byteLength} bytes`)
    }
  }
}

/** A memory that also encodes and decodes values. */
class Store extends Memory {
  octets = new Uint8Array(this.buffer)
  doubles = new Float64Array(this.buffer)

  /**
   * @param {number} layout @param {number} count @param {number} bytes
   * @param {SharedArrayBuffer | undefined} buffer
   */
  constructor(layout, count, bytes, buffer) {
    super(layout, count, bytes, buffer)
  }

  /**
   * @param {number} index the slot, which no other thread uses during the call @param {any} value
   * @param {number} [number] stored next to the value
   * @throws {RangeError | DOMException} if the value takes too many bytes or cannot be encoded
   */
  put(index, value, number = 0) {
    const at = HEADER + index * this.stride
    this.words[at + NUMBERED] = number
    if (typeof value === 'number') {
      this.doubles[(at + KIND) / 2] = value
      this.words[at] = NUMBER
    } else if (value === undefined) {
      this.words[at] = UNDEFINED
    } else {
      const bytes = joined(encoded([value]))
      if (bytes.length > this.bytes) {
        const limit = `at most ${this.bytes} bytes (see options.bytes)`
        throw new RangeError(`value must take ${limit}, got ${bytes.length}`)
      }
      this.octets.set(bytes, (at + KIND) * 4)
      this.words[at] = bytes.length
    }
  }

  /** @param {number} index */
  numberOf(index) {
    return this.words[HEADER + index * this.stride + NUMBERED]
  }

  /** @param {number} index @returns {any} */
  get(index) {
    const at = HEADER + index * this.stride
    const kind = this.words[at]
    if (kind === NUMBER) return this.doubles[(at + KIND) / 2]
    if (kind === UNDEFINED) return undefined
    const begin = (at + KIND) * 4
    const { values, take } = decoded(this.octets.slice(begin, begin + kind))
    return unpacked(values[0], take)
  }
}

/** The store within one thread, which does not copy values. */
class Local {
  buffer = undefined
  isMade = true
  words = new Int32Array(HEADER)
  /** @type {any[]} */
  #values = []

  /** @param {number} count the number of values that are kept */
  constructor(count) {
    this.count = count
  }
  /** @param {number} index @param {any} value */
  put(index, value) {
    this.#values[index % this.count] = value
  }
  numberOf() { return this.words[WRITES] }
  /** @param {number} index */
  get(index) { return this.#values[index % this.count] }
}

/** @param {number} layout @param {number} bytes @returns {SharedArrayBuffer} */
function sharedMemory(layout, bytes) {
  const isLock = layout === MUTEX || layout === SEMAPHORE
  const remedy = isLock ? `no ${NAMES[layout]} here` : 'shared must be false here'
  if (globalThis.crossOriginIsolated === false) {
    throw new TypeError(`${remedy}: SharedArrayBuffer needs a cross-origin isolated page; ` +
      'serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp')
  }
  if (typeof SharedArrayBuffer === 'undefined') {
    throw new TypeError(`${remedy}: this engine has no SharedArrayBuffer`)
  }
  return new SharedArrayBuffer(bytes)
}

/**
 * @typedef {object} SharedLockOptions
 * @property {string} [name] the name in traces and errors
 * @property {SharedArrayBuffer} [buffer] `.buffer` of the same lock in another thread: joins that lock
 */

/**
 * @param {number} layout @param {any} count the number of values @param {any} options
 * @param {any} first the first argument, which may be the buffer
 * @returns {Store | Local}
 */
function storeOf(layout, count, options, first) {
  const { shared = false, bytes = 1024, buffer: given } = check.options(options, SHARED)
  const buffer = given ?? (shared && kindOf(first) === 'SharedArrayBuffer' ? first : undefined)
  if (buffer === undefined) valueCount('n', count)
  if (shared || buffer !== undefined) return new Store(layout, count, bytes, buffer)
  return new Local(layout === LATEST ? 1 : count)
}

/**
 * @param {Store | Local} store @param {number} word index of the word that changes with each value
 * @param {() => boolean} hasNext
 * @param {() => any} read
 */
function supplyOf(store, word, hasNext, read) {
  const hooks = { give: read }
  const supply = store instanceof Store ? new Watch(store, word, hooks) : new Supply(hooks)
  supply.take = hasNext
  return supply
}

/**
 * @typedef {object} SharedOptions
 * @property {boolean} [shared] whether to use a SharedArrayBuffer, so that the reader and the writer can be
 *   in different threads; default false
 * @property {SharedArrayBuffer} [buffer] `.buffer` of the peer: joins the peer
 * @property {number} [bytes] the maximum size of a value in bytes, an integer >= 8; default 1024. A number
 *   takes 8 bytes. Any other value takes its JSON in UTF-8, the bytes of its buffers, the digits of their
 *   lengths, and 10 more bytes
 */

/** @param {number} least */
const sizeFrom = least => check.number(`an integer from ${least} to ${2 ** 28}`,
  value => isCount(value) && value >= least && value <= 2 ** 28)
const valueCount = /* @__PURE__ */ sizeFrom(1)
/** @param {string} name @param {unknown} value */
function sharedBuffer(name, value) {
  if (kindOf(value) !== 'SharedArrayBuffer') throw check.wrongType(name, 'a SharedArrayBuffer', value)
}
const SHARED = { shared: check.flag, bytes: /* @__PURE__ */ sizeFrom(8), buffer: sharedBuffer }
const SHARED_LOCK = { name: check.text, buffer: sharedBuffer }
