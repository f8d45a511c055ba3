/**
 * sync.mjs: channels, choices, locks, critical sections and groups of jobs.
 *
 * Jobs meet here: they exchange messages, exclude each other, and wait for each other. All operations are
 * waitables: lazy, acting once, awaited by `yield` in jobs and by `await` in other code. Each takes `{ signal
 * }`, which ends its wait.
 *
 * Words:
 *   end      a waitable that sends a message to a channel, or receives one
 *   branch   the waitable of one guard of a choice
 *   call     a waitable whose code runs in the job that yields it; for other waiters, a child job runs it
 *   turn     a waitable that takes one of several equal things: a lock, a permit, a value of a Ring
 *   supply   the things that turns take, and the queue of the turns that found none
 *
 * Life of an end; each arrow names the function that moves it.
 *
 *           try: a partner waits, or the buffer has a place
 *   (idle) -----------------------------------------------> settled
 *      |                                                      ^
 *      | enter: none does                                     | wake: a partner arrives
 *      v                                                      |
 *   in the queue `senders` or `receivers` of its channel -----+
 *      |
 *      | leave: cancelled, aborted, or another branch was chosen
 *      v
 *   (idle)
 *
 * Invariants:
 *   1 An end meets its partner only inside `try`. So a sender and a receiver never both wait at a channel,
 *     unless both belong to one choice.
 *   2 A choice tries all branches before it enters any, so it never commits with itself. When one branch
 *     settles, the choice leaves all others in the same synchronous step.
 *   3 A message is received once, or its sender fails. A cancelled job still gets the message or lock that it
 *     was handed.
 *   4 Waiters are served by rank, equals in the order of arrival. The owner of a Mutex inherits the rank of
 *     its first waiter.
 *   5 A job inside a critical section never waits.
 *
 * Exports marked `@internal` are for the addons: one object of all of them would keep channels in the bundle
 * of a SharedMutex.
 *
 * addons/shared.mjs has locks between threads, addons/connect.mjs channels between threads, processes and
 * machines, addons/workers.mjs jobs in workers.
 *
 * @module sync
 */

import { DeadlockError, Job, Task, budget, extend } from './rt.mjs'

export { DeadlockError }

/**
 * Returns a member of the extension interface. Bundlers drop the call of an unused member, but keep a
 * destructuring.
 *
 * @template {keyof typeof extend} K
 * @param {K} name @returns {(typeof extend)[K]}
 */
const member = name => extend[name]
const Heap = /* @__PURE__ */ member('Heap')
const Sleep = /* @__PURE__ */ member('Sleep')
const WaitQueue = /* @__PURE__ */ member('WaitQueue')
const Waitable = /* @__PURE__ */ member('Waitable')
const Waiter = /* @__PURE__ */ member('Waiter')
const check = /* @__PURE__ */ member('check')
const here = /* @__PURE__ */ member('here')
const preemptible = /* @__PURE__ */ member('preemptible')
/** Reflect.apply, taken now: a page may replace it later. */
const apply = /* @__PURE__ */ (() => Reflect.apply)()

/** @import { Awaitable, Checked, Outcome, ResultOf, Scheduler, Taking, Work } from './rt.mjs' */
/** @typedef {InstanceType<typeof extend.Waitable>} Waitable */
/** @typedef {InstanceType<typeof extend.Waiter>} Waiter */
/** @typedef {InstanceType<typeof extend.WaitQueue>} WaitQueue */
/**
 * Options of a wait.
 *
 * @typedef {object} WaitOptions
 * @property {AbortSignal} [signal] ends the wait, which then fails with the reason of the signal
 */
/**
 * Options of a call.
 *
 * @typedef {object} CallOptions
 * @property {Scheduler} [scheduler] runs a job for the call if code outside of jobs awaits it; default `rt`
 * @property {AbortSignal} [signal] ends the waits of the call, which then fails with the reason of the signal
 */

/**
 * The error of an operation on a closed channel, or on a channel whose other end has disappeared.
 *
 * @example
 * const lines = new Channel()
 * lines.close('no more')
 * await lines.receive().then(null, error => console.log(error instanceof ChannelError)) // → true
 */
export class ChannelError extends Error {
  name = 'ChannelError'

  /** @param {string} message @param {unknown} [reason] the argument of `close` */
  constructor(message, reason) {
    super(message, reason === undefined ? undefined : { cause: reason })
    this.reason = reason
  }
}

/**
 * The error of releasing a lock that the caller does not hold, and of using a resource that is in use.
 *
 * @example
 * try {
 *   new Mutex().unlock()
 * } catch (error) {
 *   console.log(error instanceof OwnershipError) // → true
 * }
 */
export class OwnershipError extends Error {
  name = 'OwnershipError'

  // Not the default constructor: see DeadlineError in rt.mjs.
  /** @param {string} [message] @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options)
  }
}

/**
 * V8 discards compiled code when a full collection finds no object of a hidden class that the code knows. So
 * one blank object of each kind is kept, and made again at idle times. Between bursts of 1000, a job of `par`
 * takes 11 to 13 us without these objects and 3.5 to 5.7 us with them, a choice 15 to 26 us and 5.3 to 5.7 us
 * (Node 20).
 *
 * @param {() => object} make returns a blank object
 * @returns {() => void} keeps the shape; every use of the class calls it
 */
function shapeKeeper(make) {
  let isKept = false
  return () => {
    if (isKept) return
    isKept = true
    extend.keepShape(make)
  }
}

// ------------------------------------------------------------------------------------------------ 1 channels

/**
 * Sends or receives one message, when the waitable is yielded or awaited.
 *
 * The class has no base class, because V8 does not inline base constructors in large programs: with two base
 * constructors, CommsTime is 1.2 times slower. It inherits from Waitable by its prototype.
 *
 * @internal
 */
export const End = /* @__PURE__ */ (() => {
  class End {
    /** @param {Channel<any>} channel @param {boolean} isSender @param {any} message */
    constructor(channel, isSender, message) {
      this.phase = 0
      /** @type {any} */
      this.outcome = undefined
      /** @type {any} */
      this.waiter = null
      this.channel = channel
      this.isSender = isSender
      this.message = message
    }
    /** @this {any} @returns {boolean} */
    try() {
      const { channel, isSender, message } = this
      if (isSender) {
        if (channel.closing !== null) return this.reject(channel.closing)
        return (channel.deliver(message) || channel.overflow !== 'block') && this.fulfill()
      }
      const received = channel.next()
      if (received !== NOTHING) return this.fulfill(received)
      return channel.closing !== null && this.reject(channel.closing)
    }
    /** @this {any} */
    enter() {
      this.side.push(this)
    }
    /** The queue of the ends that wait for the same kind of partner. */
    get side() { return this.isSender ? this.channel.senders : this.channel.receivers }
    get name() { return `${this.channel.name}.${this.isSender ? 'send' : 'receive'}()` }
    get mayBlock() {
      const { isSender, channel: { overflow, size } } = this
      return !isSender || overflow === 'block' && size < Infinity
    }
    get handsOver() { return true }
    get goesOn() { return true }
    get isExternal() { return this.channel.isExternal }
  }
  Object.setPrototypeOf(End.prototype, Waitable.prototype)
  return /** @type {EndClass} */ (/** @type {any} */ (End))
})()
/**
 * @typedef {Waitable & {
 *   channel: Channel<any>, isSender: boolean, message: any, side: WaitQueue
 * }} ChannelEnd
 * @typedef {new (channel: Channel<any>, isSender: boolean, message: any) => ChannelEnd} EndClass
 */

/** The buffer of a channel: messages in the order of their arrival. */
class Fifo {
  /** @type {any[]} */
  #messages = []
  #first = 0

  get size() { return this.#messages.length - this.#first }

  /** @param {any} message */
  push(message) {
    this.#messages.push(message)
  }
  /** Removes and returns the oldest message. */
  shift() {
    const message = this.#messages[this.#first]
    this.#messages[this.#first++] = undefined
    // Half of the places are free: each message moves once on average.
    if (this.#first * 2 > this.#messages.length) {
      this.#messages = this.#messages.slice(this.#first)
      this.#first = 0
    }
    return message
  }
}

/** Stands for a missing message if a channel is empty. @internal */
export const NOTHING = /* @__PURE__ */ Symbol('nothing')

/**
 * Carries messages between jobs, with any number of jobs at each end. Without a buffer, a sender and a
 * receiver meet: the first one waits for the second one (Hoare 1978; Communicating Generators 2.3).
 *
 * A closed channel accepts no messages: waiting and later sends fail with a ChannelError. Receivers get the
 * buffered messages; then `receive` fails with the ChannelError, and iterations end.
 *
 * @template [T=unknown]
 *
 * @example
 * const lines = new Channel()
 * rt.spawn(function* () {
 *   for (const line of ['one', 'two']) yield lines.send(line)
 *   lines.close()
 * })
 * await lines.forEach(line => console.log(line)) // → one, two
 */
export class Channel {
  /**
   * @param {number} [size] the capacity of the buffer: an integer >= 0, or Infinity; default 0
   * @param {{ overflow?: 'block' | 'drop' | 'slide', name?: string }} [options] `overflow`: the treatment
   *   of a message for which no receiver waits and no place is free. The sender waits ('block', the
   *   default), the message is dropped ('drop'), or the oldest message is dropped ('slide'). `name`: for
   *   traces and errors
   * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
   */
  constructor(size = 0, options = {}) {
    bufferSize('size', size)
    const { name = 'channel', overflow = 'block' } = check.options(options, CHANNEL)
    /** @type {string} */
    this.name = name
    /** The capacity of the buffer. */
    this.size = size
    /** @internal @type {'block' | 'drop' | 'slide'} */
    this.overflow = overflow
    /** @internal */
    this.buffer = new Fifo()
    /** @internal */
    this.senders = new WaitQueue()
    /** @internal */
    this.receivers = new WaitQueue()
    /** @internal the error of all later ends, once the channel is closed @type {ChannelError | null} */
    this.closing = null
    /** @internal whether the channel was closed by an Error, so that iterations fail */
    this.hasFailed = false
    keepEnds()
  }

  /** The number of buffered messages. @returns {number} */
  get length() { return this.buffer.size }
  /** Whether the channel has been closed. */
  get closed() { return this.closing !== null }
  /** @internal Whether the peer is in another thread or on another machine. @returns {boolean} */
  get isExternal() { return false }

  /**
   * Sends a message, once the result is yielded or awaited. Callbacks use `offer`.
   *
   * @param {T} message
   * @param {WaitOptions} [options]
   * @returns {Awaitable<void>} fulfilled when the message has been received or buffered; fails with a
   *   ChannelError if the channel is closed
   */
  send(message, options) {
    return withSignal(new End(this, true, message), options)
  }

  /**
   * Receives the next message, once the result is yielded or awaited.
   *
   * @param {WaitOptions} [options]
   * @returns {Awaitable<T>} fails with a ChannelError if the channel is closed and empty
   */
  receive(options) {
    return withSignal(new End(this, false, undefined), options)
  }

  /**
   * Sends a message if it can be received or buffered immediately. For callbacks.
   *
   * @param {T} message
   * @returns {boolean} whether the message was sent
   */
  offer(message) {
    return this.closing === null && this.deliver(message)
  }

  /**
   * Receives a message if there is one. For callbacks.
   *
   * @returns {T | undefined} `undefined` if the channel is empty
   */
  poll() {
    const message = this.next()
    return message === NOTHING ? undefined : message
  }

  /**
   * Closes the channel.
   *
   * @param {unknown} [reason] the `reason` of the ChannelError; a ChannelError replaces it. With an Error,
   *   iterations fail instead of ending
   * @returns {boolean} `true` if this call closed the channel
   */
  close(reason) {
    if (this.closing !== null) return false
    this.end('is closed', reason)
    return true
  }

  /**
   * Calls a function with each message, one after the other, until the channel ends.
   *
   * @param {(message: T) => unknown} work a function or generator function
   * @param {CallOptions} [options]
   * @returns {Awaitable<void>} fails if `work` fails, or with the ChannelError if the channel was closed by
   *   an Error
   * @throws {TypeError} if `work` is not a function or an option has the wrong type
   */
  forEach(work, options = {}) {
    return callOf(`${this.name}.forEach()`, 'work', work, options, () => receiveAll(this, work, options))
  }

  /**
   * For `for await (const message of channel)`. Leaving the loop does not close the channel.
   *
   * @returns {AsyncIterableIterator<T, void, void>}
   */
  [Symbol.asyncIterator]() {
    return new Messages(this)
  }
  get [Symbol.toStringTag]() { return 'Channel' }

  // For ends

  /**
   * @internal @param {any} message @returns {boolean} whether a receiver or the buffer has taken the message
   */
  deliver(message) {
    const receiver = this.receivers.shift()
    if (receiver !== null) {
      receiver.wake(message)
      return true
    }
    const { buffer, size } = this
    if (buffer.size === size) {
      if (this.overflow !== 'slide' || size === 0) return false
      buffer.shift()
    }
    buffer.push(message)
    return true
  }
  /**
   * @internal takes the oldest message; the first waiting sender fills its place
   * @returns {any} a message, or NOTHING
   */
  next() {
    const { buffer } = this
    const isBuffered = buffer.size > 0
    const message = isBuffered ? buffer.shift() : NOTHING
    const sender = /** @type {ChannelEnd | null} */ (this.senders.shift())
    if (sender === null) return message
    if (isBuffered) buffer.push(sender.message)
    sender.wake()
    return isBuffered ? message : sender.message
  }

  /** @internal closes the channel @param {string} event @param {unknown} reason */
  end(event, reason) {
    // Other objects have no useful text, and some objects cannot be converted to text.
    const isText = reason instanceof Error || typeof reason === 'string'
    const cause = reason === undefined ? '' : `: ${isText ? String(reason) : check.describe(reason)}`
    const error = reason instanceof ChannelError ? reason
      : new ChannelError(`${this.name} ${event}${cause}`, reason)
    this.endWith(error, reason instanceof Error)
  }
  /** @internal @param {ChannelError} error @param {boolean} hasFailed */
  endWith(error, hasFailed) {
    this.closing = error
    this.hasFailed = hasFailed
    failAll(this.senders, error)
    failAll(this.receivers, error)
  }
  /**
   * @internal @param {Waitable} receive settled
   * @returns {boolean} whether it failed because the channel ended regularly
   */
  isEnd(receive) {
    return this.closing !== null && receive.outcome === this.closing && !this.hasFailed
  }
}

/** @type {Channel | undefined} */
let blankChannel
const keepEnds = /* @__PURE__ */ shapeKeeper(() => new End(blankChannel ??= new Channel(), false, undefined))

/** @param {WaitQueue} queue @param {Error} error */
function failAll(queue, error) {
  for (let end = queue.shift(); end !== null; end = queue.shift()) end.fail(error)
}

/**
 * Gives a new waitable the signal of its options.
 *
 * @internal
 * @template {Waitable} W
 * @param {W} waitable new @param {WaitOptions | undefined} options @returns {any} the waitable
 */
export function withSignal(waitable, options) {
  if (options === undefined) return waitable
  const { signal } = check.options(options, SIGNAL)
  if (signal !== undefined) waitable.signal = signal
  return waitable
}

/**
 * @param {Channel<any>} channel @param {(message: any) => any} work @param {CallOptions} options
 * @returns {Generator<any, any, any>}
 */
function* receiveAll(channel, work, { signal }) {
  for (;;) {
    const receive = /** @type {any} */ (channel.receive({ signal }))
    try {
      yield receive
    } catch (error) {
      if (channel.isEnd(receive)) return
      throw error
    }
    yield* resultOf(work, receive.outcome)
  }
}

/**
 * Iterates over the messages of a channel, for async code.
 *
 * @implements {AsyncIterableIterator<any, void, void>}
 */
class Messages {
  /** Settles when the iteration has ended. */
  #end = new Waitable()

  /** @param {Channel<any>} channel */
  constructor(channel) {
    this.channel = channel
  }

  /** @returns {Promise<IteratorResult<any, void>>} */
  async next() {
    const receive = /** @type {any} */ (this.channel.receive())
    try {
      const { index, value } = await /** @type {any} */ (new Choice('next', [this.#end, receive], false))
      if (index === 1) return { done: false, value }
    } catch (error) {
      this.#end.wake()
      if (!this.channel.isEnd(receive)) throw error
    }
    return this.return()
  }

  /** @returns {Promise<IteratorResult<any, void>>} */
  async return() {
    this.#end.wake()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator]() {
    return this
  }
}

// -------------------------------------------------------------------------------------------------- 2 choice

/** @type {CallOptions & { fair?: boolean }} */
const NO_OPTIONS = {}
const ignore = () => {}

/** How many groups are settling. */
let settling = 0
/** Cancels jobs whose groups or calls have settled or lost their waiters. @type {(() => void)[]} */
const cancellations = []

/**
 * Settles a group, or leaves a call. Jobs that are no longer needed are cancelled after that: a cancellation
 * notifies observers, which may call any function, for example send a message to a branch that the group is
 * about to leave.
 *
 * @param {() => void} act
 */
function undisturbed(act) {
  settling++
  try {
    act()
  } finally {
    settling--
    while (settling === 0 && cancellations.length > 0) cancellations.shift()?.()
  }
}

/** Waits for several waitables, its members. */
class Group extends Waitable {
  /** @param {string} kind @param {Waitable[]} members */
  constructor(kind, members) {
    super()
    this.kind = kind
    this.members = members
    /** A waiter for each member that has been entered; null before. @type {Waiter[] | null} */
    this.waiters = null
    /** Called when a member has settled the group, for `par` and `race`. */
    this.decided = ignore
  }
  get name() {
    const names = this.members.map(member => /** @type {any} */ (member).name ?? 'wait')
    return `${this.kind}(${names.join(', ')})`
  }
  get handsOver() { return true }
  get isExternal() { return this.members.some(({ isExternal }) => isExternal) }

  leave() {
    const { waiters } = this
    if (waiters === null) return
    this.waiters = null
    undisturbed(() => waiters.forEach(waiter => waiter.wait?.dismiss(waiter)))
  }
  refresh() {
    this.waiters?.forEach(waiter => waiter.refresh())
  }
  /** @param {Job | null} job @returns {Waiter} a waiter for a member that is entered next */
  newWaiter(job) {
    const waiter = new Waiter(job, notifyGroup, this)
    this.waiters ??= []
    this.waiters.push(waiter)
    return waiter
  }
  /** Called when a member has settled. @param {Waitable} _member */
  conclude(_member) {}
  /**
   * Settles the group with the outcome of a member.
   *
   * @param {Waitable} member @param {any} value the outcome, unless the member has failed
   */
  decide(member, value) {
    undisturbed(() => {
      this.leave()
      cancellations.push(this.decided)
      if (member.isFulfilled) this.wake(value)
      else this.fail(member.outcome)
    })
  }
}
/** @this {any} a Waiter @param {Waitable} member settled */
function notifyGroup(member) {
  this.combinator.conclude(member)
}

/**
 * The last choices of each job, and of code outside of jobs, for fair choices.
 *
 * @type {WeakMap<object, WeakMap<object, number>>}
 */
const memories = /* @__PURE__ */ new WeakMap()
const OUTSIDE = {}
let choices = 0
/** The keys of guards without a channel, by the index of the guard. @type {object[]} */
const GUARD_KEYS = []

/** @param {Job | null} job @returns {WeakMap<object, number>} */
function memoryOf(job) {
  const memory = memories.get(job ?? OUTSIDE) ?? new WeakMap()
  memories.set(job ?? OUTSIDE, memory)
  return memory
}

/** Waits until one of several waitables settles. */
class Choice extends Group {
  /**
   * @param {string} kind @param {(Waitable | null)[]} listed the branches by the index of their guard; null
   *   for disabled guards
   * @param {boolean} isFair
   */
  constructor(kind, listed, isFair) {
    super(kind, enabledOf(listed))
    this.listed = listed
    this.isFair = isFair
    /** Whether a member has settled, or will settle because it has committed. */
    this.isDecided = false
    /** The member that will commit when it is entered. @type {Waitable | null} */
    this.candidate = null
  }
  get isChoice() { return this.kind === 'choice' }
  get commits() { return this.candidate !== null }
  get mayBlock() { return this.members.every(member => member.mayBlock) }

  owners() {
    // A choice between several branches can end although one branch is deadlocked.
    return this.members.length > 1 ? [] : this.members.flatMap(member => member.owners())
  }

  /** @param {Job | null} job @returns {boolean} */
  try(job) {
    if (this.isFair) this.#sort(memoryOf(job))
    this.candidate = null
    const { members } = this
    for (let i = 0; i < members.length; i++) {
      const member = members[i]
      if (member.attempt(job)) {
        if (this.isFair) this.#remember(member, job)
        return member.isFulfilled ? this.fulfill(this.#resultOf(member)) : this.reject(member.outcome)
      }
      if (member.commits) {
        this.candidate = member
        return false
      }
    }
    return false
  }

  /** @param {Job | null} job */
  enter(job) {
    const { candidate, members } = this
    this.isDecided = false
    const others = candidate === null ? members : members.filter(member => member !== candidate)
    if (candidate !== null) this.#wait(candidate, job)
    // Entering other waitables can call user code, which must find all ends in their queues.
    others.forEach(member => { if (member instanceof End) this.#wait(member, job) })
    others.forEach(member => { if (!(member instanceof End)) this.#wait(member, job) })
  }
  /** @param {Waitable} member @param {Job | null} job */
  #wait(member, job) {
    if (!this.isDecided && member.waitBy(this.newWaiter(job))) this.conclude(member)
  }
  /** @param {Waitable} member */
  committed(member) {
    this.isDecided = true
    undisturbed(() => {
      this.waiters?.forEach(waiter => { if (waiter.wait !== member) waiter.wait?.dismiss(waiter) })
    })
    this.commit()
  }
  /** @param {Waitable} member */
  conclude(member) {
    this.isDecided = true
    if (this.isFair) this.#remember(member, this.job)
    this.decide(member, this.#resultOf(member))
  }
  /** @param {Waitable} member */
  #resultOf(member) {
    return { index: this.listed.indexOf(member), value: member.outcome }
  }

  // Fairness

  /** Sorts the branches by the time of their last choice. @param {WeakMap<object, number>} memory */
  #sort(memory) {
    const turnOf = (/** @type {Waitable} */ member) => memory.get(this.#keyOf(member)) ?? 0
    this.members.sort((a, b) => turnOf(a) - turnOf(b))
  }
  /** @param {Waitable} member @param {Job | null} job */
  #remember(member, job) {
    memoryOf(job).set(this.#keyOf(member), ++choices)
  }
  /** The side of a channel, or the index of the guard. @param {Waitable} member @returns {object} */
  #keyOf(member) {
    return member instanceof End ? member.side : GUARD_KEYS[this.listed.indexOf(member)] ??= {}
  }
}

/**
 * @param {(Waitable | null)[]} listed @returns {Waitable[]} the enabled branches, each once
 */
function enabledOf(listed) {
  /** @type {Waitable[]} */
  const members = []
  for (let i = 0; i < listed.length; i++) {
    const branch = listed[i]
    if (branch !== null && !members.includes(branch)) members.push(branch)
  }
  return members
}

/** Waits for a time; settled immediately if the time has passed. */
class Time extends Sleep {
  /** @param {number} time @param {boolean} isRelative @param {CallOptions | undefined} options */
  constructor(time, isRelative, options) {
    super(time, isRelative, options)
  }
  get name() { return `${this.isRelative ? 'timeout' : 'until'}(${this.time})` }
  get mayBlock() { return this.time > -Infinity }
  /** @param {Job | null} job */
  try(job) {
    // A relative time needs no reading of the clock, which costs 10 to 50 ns.
    const isPast = this.isRelative || this.time === -Infinity ? this.time <= 0
      : this.time <= here(job === null ? this.options : undefined).now()
    return isPast && this.fulfill()
  }
}

/**
 * A guard of a choice. It has exactly one of the properties `receive`, `send`, `timeout`, `until`, `wait` and
 * `skip`. `send` needs `value`. `when` and `action` are optional.
 *
 * @typedef {object} Guard
 * @property {Channel<any>} [receive] ready if the channel has a message, which is the value of the guard
 * @property {Channel<any>} [send] ready if the channel takes `value`
 * @property {unknown} [value]
 * @property {number} [timeout] ready after a time, ms, >= 0; Infinity: never
 * @property {number} [until] ready at a time, host timestamp, ms; Infinity: never
 * @property {PromiseLike<unknown>} [wait] ready when the waitable, job or promise settles; its outcome is the
 *   value
 * @property {true} [skip] always ready
 * @property {boolean} [when] whether the guard is enabled; default true
 * @property {Function} [action] a function or generator function. The job calls it with the value of the
 *   chosen guard; the result replaces the value
 */
/**
 * The value of a guard.
 *
 * @template G
 * @typedef {G extends { receive: Channel<infer T> } ? T
 *   : G extends { wait: PromiseLike<infer T> } ? T : undefined} Received
 */
/**
 * The types that a guard must have because of its channel.
 *
 * @template G
 * @typedef {(G extends { send: Channel<infer T> } ? { value: T } : unknown) & (
 *   G extends { action: (value: infer V) => any } ? Received<G> extends V ? unknown
 *     : { action: (value: Received<G>) => unknown } : unknown)} Fitting
 */
/**
 * The outcome of a choice.
 *
 * @template {readonly Guard[]} G
 * @typedef {{ [I in keyof G]: {
 *   index: I extends `${infer N extends number}` ? N : number,
 *   value: G[I] extends { action: (...args: any[]) => infer R } ? Outcome<R> : Received<G[I]>
 * } }[number]} Chosen
 */

const KINDS = ['receive', 'send', 'timeout', 'until', 'wait', 'skip']
/** The names of guards in errors. Without this cache a choice takes 1.1 times as long. @type {string[]} */
const GUARD_NAMES = []

/**
 * Checks a guard.
 *
 * @param {any} guard @param {number} index @param {CallOptions} options the options of the choice
 * @returns {Waitable | null} its branch; null if the guard has `wait`. Such a branch is created last, because
 *   it marks the failure of a job as handled
 */
function branchOf(guard, index, options) {
  const name = GUARD_NAMES[index] ??= `guards[${index}]`
  const { receive, send, timeout, until, wait, skip, when, action } = check.knownOptions(guard, GUARD, name)
  const parts = [receive, send, timeout, until, wait, skip]
  let kinds = 0
  for (let i = 0; i < parts.length; i++) if (parts[i] !== undefined) kinds++
  if (kinds !== 1) {
    const given = KINDS.filter(kind => guard[kind] !== undefined).join(' and ')
    throw new TypeError(`${name} must have one of ${KINDS.join(', ')}, got ${given || 'none'}`)
  }
  if (when !== undefined) check.flag(`${name}.when`, when)
  if (action !== undefined) checkWork(`${name}.action`, action)
  if (receive !== undefined) return channelOf(`${name}.receive`, receive).receive()
  if (send !== undefined) return channelOf(`${name}.send`, send).send(guard.value)
  if (timeout !== undefined) return timeOf(check.notNegative(`${name}.timeout`, timeout), true, options)
  if (until !== undefined) return timeOf(anyNumber(`${name}.until`, until), false, options)
  if (skip === true) return timeOf(-Infinity, false, options)
  if (skip !== undefined) throw check.wrongType(`${name}.skip`, 'true', skip)
  if (when !== false && typeof wait?.then !== 'function') {
    throw check.wrongType(`${name}.wait`, 'a promise, a job or a waitable', wait)
  }
  return null
}

/** @param {string} name @param {unknown} value @returns {any} a channel */
function channelOf(name, value) {
  if (value instanceof Channel) return value
  throw check.wrongType(name, 'a Channel', value)
}

/** @param {number} time @param {boolean} isRelative @param {CallOptions} options */
const timeOf = (time, isRelative, { scheduler }) => new Time(time, isRelative, scheduler && { scheduler })

/**
 * Waits until one of several guards is ready, and commits to it: to a message, a send, a wait or a timeout.
 * Exactly one guard takes effect, also if the partner is another choice (Hoare 1985, 3.3; Communicating
 * Generators 2.5). A choice never commits with itself. If the channel of a guard is closed, or its `wait`
 * fails, the guard is ready and the choice fails.
 *
 * @template {readonly Guard[]} const G
 * @param {{ readonly [I in keyof G]: G[I] & Fitting<G[I]> }} guards guards in the order of preference
 * @param {{ fair?: boolean, scheduler?: Scheduler, signal?: AbortSignal }} [options] `fair`: of the ready
 *   guards, the choice takes the guard that this job has not chosen for longest. `scheduler`: if code outside
 *   of jobs awaits the choice, its clock and its jobs count; default `rt`. `signal`: ends the wait, which
 *   then fails with the signal's reason
 * @returns {Awaitable<Chosen<G>>} the index of the chosen guard, and its value or the result of its action
 * @throws {TypeError | RangeError} if a guard is invalid, or none is enabled
 *
 * @example
 * const orders = new Channel(1)
 * const offers = new Channel()
 * orders.offer('tea')
 * const guards = [{ receive: orders }, { send: offers, value: 5 }, { timeout: 100 }]
 * const { index, value } = await choice(guards)
 * console.log(index, value) // → 0, tea
 */
export function choice(guards, options = NO_OPTIONS) {
  check.array('guards', guards)
  const { fair = false, signal } = options === NO_OPTIONS ? NO_OPTIONS : check.options(options, CHOICE)
  const branches = []
  for (let i = 0; i < guards.length; i++) branches.push(branchOf(guards[i], i, options))
  let hasActions = false
  for (let i = 0; i < guards.length; i++) {
    const { when, wait, action } = guards[i]
    if (when === false) branches[i] = null
    else if (action !== undefined) hasActions = true
    if (when !== false) branches[i] ??= Waitable.of(wait)
  }
  keepChoices()
  const chosen = new Choice('choice', branches, fair)
  if (signal !== undefined) chosen.signal = signal
  if (chosen.members.length === 0) throw new TypeError('guards must have an enabled guard, got none')
  if (!hasActions) return /** @type {any} */ (chosen)
  const actions = guards.map(({ action }) => action)
  return /** @type {any} */ (new Call(chosen.name, () => acted(chosen, actions), options))
}

const keepChoices = /* @__PURE__ */ shapeKeeper(() => new Choice('choice', [], false))

/** @param {Choice} chosen @param {any[]} actions @returns {Generator<any, any, any>} */
function* acted(chosen, actions) {
  const result = yield chosen
  const action = actions[result.index]
  if (action === undefined) return result
  return { index: result.index, value: yield* resultOf(action, result.value) }
}

// --------------------------------------------------------------------------------------------------- 3 calls

/**
 * A call acts once, and then repeats its outcome. The job that yields the call runs its code. If a combinator
 * or code outside of jobs waits for the call first, a child job runs the code; the child is cancelled when no
 * waiter is left. The job that runs the code inherits the rank of the waiters.
 */
class Call extends Waitable {
  /** The job that runs the code. @type {Job | null} */
  #runner = null
  /** The runner, if it is a child job. @type {Job | null} */
  #child = null
  #hasStarted = false
  /** @type {WaitQueue | null} */
  #queue = null

  /**
   * @param {string} name
   * @param {(job: Job) => Generator<any, any, any>} body
   * @param {{ scheduler?: Scheduler, uses?: any[] }} [options] options of a child job
   */
  constructor(name, body, options = {}) {
    super()
    this.name = name
    this.body = body
    this.options = options
    keepCalls()
  }
  get handsOver() { return true }
  /** Supports `yield* call`. @returns {Generator<this, any, any>} */
  *[Symbol.iterator]() {
    if (here().current === null) throw new TypeError(`yield* ${this.name} must be in a job: await it instead`)
    return yield this
  }

  /** @param {Job} job @returns {Generator<any, any, any>} the code, for the job to run */
  call(job) {
    this.#runner = job
    this.#hasStarted = true
    const steps = this.#steps(job)
    steps.next()
    return steps
  }
  /** @param {Job} job @returns {Generator<any, any, any>} */
  *#steps(job) {
    try {
      yield // reached before the job runs, so that even a cancellation at the first step settles the call
      const outcome = yield* this.body(job)
      this.#disown()
      this.wake(outcome)
      return outcome
    } catch (error) {
      this.#disown()
      this.fail(error)
      throw error
    }
  }
  #disown() {
    if (this.#queue !== null) this.#queue.owner = null
  }

  /** @param {Job | null} job */
  enter(job) {
    const { name, options } = this
    const scheduler = here(job === null ? options : undefined)
    /** @type {Job} */
    const child = scheduler.spawn(() => this.call(child), { ...parametersFor(job), name, uses: options.uses })
    this.#runner = this.#child = child
    this.refresh()
    const end = /** @type {Waitable} */ (Waitable.of(child))
    end.enlist(new Waiter(null, () => {
      if (child === this.#child && !this.#hasStarted) this.fail(end.outcome)
    }))
  }
  /** Lets the runner inherit the rank of the waiter: the runner owns a queue in which the call waits. */
  refresh() {
    if (this.waiter === null || this.waiter.queue !== null) return
    this.#queue ??= new WaitQueue()
    this.#queue.owner = this.#runner
    this.#queue.push(this)
  }
  leave() {
    super.leave()
    const child = this.#child
    this.#child = null
    if (this.#hasStarted) this.phase = WAITED // the code runs to its end, which settles the call
    if (child !== null) undisturbed(() => cancellations.push(() => child.cancel()))
  }
}
const keepCalls = /* @__PURE__ */ shapeKeeper(() => new Call('call', () => resultOf(Object)))
/** The phase of a waitable that has been entered, as in rt.mjs. */
const WAITED = 2

/**
 * The parameters of a job that works for another one.
 *
 * @param {Job | null} job @returns {any}
 */
function parametersFor(job) {
  if (job === null) return {}
  const { release, deadline, priority } = job
  const reservation = extend.reservationOf(job)
  return deadline === Infinity ? { priority, reservation } : { release, deadline, priority, reservation }
}

/**
 * @param {string} name @param {string} parameter the name of `fn` in errors @param {any} fn the function that
 *   the call calls
 * @param {any} options @param {(job: Job) => Generator<any, any, any>} body @returns {any}
 */
function callOf(name, parameter, fn, options, body) {
  checkWork(parameter, fn)
  check.options(options, CALL)
  return new Call(name, body, options)
}

/** @param {any} value @returns {boolean} whether a job must run or await the value */
function isUnfinished(value) {
  return typeof value?.next === 'function' || typeof value?.then === 'function'
}

/**
 * Calls a function, and runs or awaits its result. There is no yield in between, because a cancellation there
 * would lose the argument, which can be a message.
 *
 * @param {any} fn @param {any[]} args @returns {Generator<any, any, any>}
 */
function* resultOf(fn, ...args) {
  const result = apply(preemptible(fn), undefined, args)
  if (!isUnfinished(result)) return result
  return typeof result[Symbol.iterator] === 'function' ? yield* result : yield result
}

// --------------------------------------------------------------------------------------- 4 critical sections

/**
 * Runs a critical section that no other job can preempt (NPCS; RT.js III-D). Rounds still end inside the
 * section, alarms and event handlers still run, and jobs that are released in the meantime keep their release
 * times. Sections nest. The end of a section is a preemption point. Waiting inside throws a TypeError; a
 * cancellation is delayed to the end.
 *
 * @template T
 * @param {(() => T) & Checked<T>} section
 * @param {CallOptions} [options]
 * @returns {Awaitable<Outcome<T>>} the result of the section
 * @throws {TypeError} if `section` is not a function or an option has the wrong type
 *
 * @example
 * rt.spawn(() => nonPreemptive(function* () {
 *   rt.spawn(() => console.log('urgent'), { deadline: 1 })
 *   yield // time for the page, not for other jobs
 *   console.log('in one piece')
 * }))
 * await rt.idle() // → in one piece, urgent
 */
export function nonPreemptive(section, options = {}) {
  return callOf('nonPreemptive()', 'section', section, options,
    job => inSection(section, () => extend.section(job, Infinity)))
}

/**
 * Runs a function inside a critical section.
 *
 * @param {() => any} section @param {() => { close(): void }} open
 * @returns {Generator<any, any, any>}
 */
function* inSection(section, open) {
  const opened = open()
  try {
    return yield* resultOf(section)
  } finally {
    opened.close()
    if (budget.left <= 0) yield // a job waited for the end of the section
  }
}

/**
 * A resource for one job at a time, without deadlocks. By the stack resource policy (Baker 1991), a job
 * starts, or continues after a wait, only if all resources that it could need are free. So it is blocked at
 * most once, before it runs, for at most one outermost section of a less eligible job.
 *
 * Jobs declare the resources that they may use: `spawn(work, { uses: [resource] })`, or `uses` of a task. The
 * levels of these jobs set the ceiling of the resource. A declaration counts immediately, even while the
 * resource is held.
 *
 * @example
 * const table = new Resource({ name: 'table' })
 * await rt.spawn(() => table.use(function* () {
 *   yield
 *   console.log(table.holder?.name) // → writer
 * }), { name: 'writer', deadline: 50, uses: [table] })
 */
export class Resource {
  /** @type {string} */
  #name
  /** @type {number | undefined} */
  #given
  /** @type {Job | null} */
  #holder = null
  /** @type {{ raise(level: number): void, close(): void } | null} */
  #section = null
  /** The declarations of jobs, as nodes of `highest`. @type {Map<Job, any>} */
  #declarations = new Map()
  /** Declarations, the highest level first. @type {InstanceType<typeof extend.Heap<any>>} */
  #highest = new Heap()
  /** @type {Scheduler | undefined} */
  #scheduler

  /**
   * @param {{ ceiling?: number, name?: string }} [options] `ceiling`: the highest level of the jobs that use
   *   the resource; such jobs need not declare it. Levels are priorities under fp, and negative deadlines
   *   under edf. Default: the highest level of the jobs that declare the resource
   * @throws {TypeError | RangeError} if an option has the wrong type or is out of range
   */
  constructor(options = {}) {
    const { name = 'resource', ceiling } = check.options(options, RESOURCE)
    this.#name = name
    this.#given = ceiling
    const hooks = { attach: this.#attach, detach: this.#detach }
    Object.defineProperty(this, extend.protocol, /** @type {any} */ ({ __proto__: null, value: hooks }))
  }

  get name() { return this.#name }
  /**
   * The level that a job must exceed to run while the resource is in use; -Infinity if no job declares the
   * resource.
   *
   * @returns {number}
   */
  get ceiling() { return this.#given ?? this.#highest.first?.level ?? -Infinity }
  /** The job that uses the resource. @returns {Job | null} */
  get holder() { return this.#holder }

  /**
   * Uses the resource during a section. Waiting inside throws a TypeError; a cancellation is delayed to the
   * end of the section; the end is a preemption point. If code outside of jobs awaits it, the section runs in
   * a job that declares the resource.
   *
   * @template R
   * @param {(() => R) & Checked<R>} section
   * @param {CallOptions} [options] `scheduler`: by default the scheduler of the jobs that declare the
   *   resource, or `rt`
   * @returns {Awaitable<Outcome<R>>} the result of the section; fails with a TypeError if the job has not
   *   declared the resource
   * @throws {TypeError} if `section` is not a function or an option has the wrong type
   */
  use(section, options = {}) {
    const call = callOf(`${this.#name}.use()`, 'section', section, options,
      job => inSection(section, () => this.#open(job)))
    call.options = { scheduler: options.scheduler ?? this.#scheduler, uses: [this] }
    return call
  }

  get [Symbol.toStringTag]() { return 'Resource' }

  /** @param {Job} job @param {Scheduler} scheduler */
  #attach = (job, scheduler) => {
    const { level, id } = job
    if (this.#given !== undefined && level > this.#given) {
      throw new RangeError(
        `uses must not exceed the ceiling ${this.#given} of ${this.#name}, got ${job.name} of level ${level}`)
    }
    if (this.#declarations.size > 0 && this.#scheduler !== scheduler) {
      throw new TypeError(`uses must be of one scheduler, got ${this.#name} of another one`)
    }
    if (this.#declarations.has(job)) return
    this.#scheduler = scheduler
    const rank = { band: 0, key: -level, tie: 0, comparison: null }
    const declaration = { rank, seq: id, queue: null, slot: 0, before: null, after: null, level }
    this.#declarations.set(job, declaration)
    this.#highest.insert(declaration)
    this.#section?.raise(this.ceiling)
  }

  /** @param {Job} job */
  #detach = job => {
    const declaration = this.#declarations.get(job)
    if (declaration === undefined) return
    this.#declarations.delete(job)
    this.#highest.delete(declaration)
  }

  /** @param {Job} job @throws {TypeError | OwnershipError} */
  #open(job) {
    if (!this.#declarations.has(job) && !(this.#given !== undefined && job.level <= this.#given)) {
      throw new TypeError(`${job.name} does not declare ${this.#name}: spawn it with { uses: [resource] }`)
    }
    if (this.#holder !== null && this.#holder.finished === undefined) {
      const used = `${this.#name}, which ${this.#holder.name} uses`
      throw new OwnershipError(`${job.name} cannot use ${used}: end that section first`)
    }
    const section = this.#section = extend.section(job, this.ceiling)
    this.#holder = job
    return {
      close: () => {
        // A job that runs when the ceiling falls must find the resource free.
        this.#section = this.#holder = null
        section.close()
      }
    }
  }
}

// ----------------------------------------------------------------------------- 5 locks, semaphores, barriers

/** Waits until it can take one thing of a supply. @internal */
export class Turn extends Waitable {
  /**
   * @param {Supply} supply @param {string} name
   * @param {boolean} [isForSection] whether a section follows, which gives the thing back if its job is
   *   cancelled
   */
  constructor(supply, name, isForSection = false) {
    super()
    this.supply = supply
    this.name = name
    this.isForSection = isForSection
  }
  get handsOver() { return !this.isForSection }

  /** @param {Job | null} job @returns {boolean} */
  try(job) {
    const { supply } = this
    supply.hooks.prepare?.()
    return supply.queue.size === 0 && supply.take() && this.fulfill(supply.hooks.give(job))
  }
  enter() {
    const { supply } = this
    supply.hooks.contend?.()
    supply.queue.push(this)
    supply.listen()
  }
}

/**
 * Hooks of a supply.
 *
 * @typedef {object} SupplyHooks
 * @property {(job: Job | null) => any} give called when a job has taken a thing; returns the turn's value
 * @property {() => void} [prepare] called before a turn is tried
 * @property {() => void} [contend] called before a turn waits
 */

/** A number of equal things. Turns that find none wait. @internal */
export class Supply {
  /** @param {SupplyHooks} hooks @param {WaitQueue} [queue] */
  constructor(hooks, queue = new WaitQueue()) {
    const own = (/** @type {'prepare' | 'contend'} */ name) =>
      Object.hasOwn(hooks, name) ? hooks[name] : undefined
    /** @type {SupplyHooks} */
    this.hooks = { give: hooks.give, prepare: own('prepare'), contend: own('contend') }
    this.queue = queue
  }
  /** Takes a thing, if there is one. */
  take() { return false }
  /** @param {string} name @param {boolean} [isForSection] @returns {any} */
  turn(name, isForSection) {
    return new Turn(this, name, isForSection)
  }

  /** Serves the waiting turns as long as there are things. */
  listen() {
    while (this.serve());
  }
  /** @returns {boolean} whether a waiting turn got a thing */
  serve() {
    if (this.queue.size === 0 || !this.take()) return false
    const turn = /** @type {Waitable} */ (this.queue.shift())
    turn.wake(this.hooks.give(turn.job))
    return true
  }
  /** Called when the supply has grown. */
  changed() {
    this.listen()
  }
}

/** Permits of one thread. */
class LocalPermits extends Supply {
  /** Whether other threads share the permits. */
  isShared = false
  /** Whether a permit was returned because its owner had ended. */
  isAbandoned = false

  /** @param {number} available @param {SupplyHooks} hooks @param {WaitQueue} [queue] */
  constructor(available, hooks, queue) {
    super(hooks, queue)
    this.available = available
  }
  take() {
    if (this.available === 0) return false
    this.available--
    return true
  }
  /** Returns a permit. @param {boolean} isAbandoned */
  release(isAbandoned) {
    this.isAbandoned = isAbandoned
    this.available++
    this.listen()
  }
}

/**
 * Makes the permits of a lock: permits of one thread, or of several threads (addons/shared.mjs).
 *
 * @typedef {(count: number, hooks: SupplyHooks, queue?: WaitQueue) => any} PermitsMaker
 */
/** @type {PermitsMaker} */
const localPermits = (count, hooks, queue) => new LocalPermits(count, hooks, queue)

/**
 * Takes a turn, and runs a function that ends with it.
 *
 * @param {Turn} turn @param {() => any} section
 * @param {(isUnused: boolean) => void} end gives back; `isUnused`: the function was not called
 * @returns {Generator<any, any, any>}
 */
function* inTurn(turn, section, end) {
  try {
    yield turn
  } catch (error) {
    if (turn.isFulfilled) end(true)
    throw error
  }
  try {
    return yield* resultOf(section)
  } finally {
    end(false)
  }
}

/**
 * A held lock. Its disposal does nothing if it has been unlocked: `using held = await mutex.lock()` ends with
 * its block.
 *
 * @typedef {{ unlock(): void } & (
 *   SymbolConstructor extends { dispose: infer S extends symbol } ? { [K in S]: () => void } : unknown)} Held
 */
/** @param {(held: any, mayBeFree: boolean) => void} unlock @returns {any} a new Held */
function heldBy(unlock) {
  const held = { unlock: () => unlock(held, false), [DISPOSE]: () => unlock(held, true) }
  return held
}
/** Engines without explicit resource management lack this symbol. @type {symbol} */
const DISPOSE = /* @__PURE__ */ (() => /** @type {any} */ (Symbol).dispose ?? Symbol('dispose'))()

const ONLY_OWNER = 'only the owner can unlock it'

/**
 * A lock with priority inheritance, for one job at a time. The job that holds the mutex runs by the rank of
 * its most eligible waiter, through chains of locks and jobs, until it unlocks the mutex (Sha, Rajkumar,
 * Lehoczky 1990). Deadlines and misses stay its own.
 *
 * If the owner ends without unlocking the mutex, the next waiter gets it, and `abandoned` is true.
 *
 * SharedMutex (addons/shared.mjs) excludes jobs of several threads.
 *
 * @example
 * const mutex = new Mutex()
 * const write = function* (name = '') {
 *   yield mutex.use(function* () { console.log(name); yield sleep(2); console.log(name) })
 * }
 * rt.spawn(write, { deadline: 50 }, 'one')
 * await rt.spawn(write, { deadline: 100 }, 'two') // → one, one, two, two
 */
export class Mutex {
  /** @type {string} */
  #name
  /**
   * The owner; a Held if code outside of jobs holds the mutex; null if it is free, or another thread holds
   * it.
   *
   * @type {any}
   */
  #holder = null
  /** The Held of all jobs: whichever job holds the mutex can unlock it. */
  #heldByJob = heldBy((_, mayBeFree) => this.#unlock(here().current, mayBeFree))
  #queue = new WaitQueue(null, () => this.#pass(true))
  #permits

  /**
   * @param {{ name?: string }} [options] `name`: for traces and errors
   * @param {any} [permitsOf] makes the permits of a SharedMutex
   * @throws {TypeError} if an option has the wrong type
   */
  constructor(options = {}, permitsOf = localPermits) {
    this.#name = check.options(options, NAMED).name ?? 'mutex'
    const hooks = { give: this.#give, prepare: this.#noticeEnd, contend: this.#lendOwner }
    this.#permits = permitsOf(1, hooks, this.#queue)
  }

  get name() { return this.#name }
  /** Whether the mutex is held. */
  get locked() {
    this.#noticeEnd()
    return this.#permits.available === 0
  }
  /**
   * The job that holds the mutex; null if it is free, or held by code outside of jobs.
   *
   * @returns {Job | null}
   */
  get owner() {
    this.#noticeEnd()
    return this.#holder instanceof Job ? this.#holder : null
  }
  /**
   * Whether a former owner ended without unlocking: the protected state may be half changed. False after the
   * next `unlock`.
   */
  get abandoned() {
    this.#noticeEnd()
    return this.#permits.isAbandoned
  }

  /**
   * Locks the mutex. `use` also unlocks it.
   *
   * @param {WaitOptions} [options]
   * @returns {Awaitable<Held>} the held lock. A job can also call `mutex.unlock()`. Code outside of jobs, and
   *   after the first `await` of async jobs, calls `held.unlock()`; such a lock inherits no rank, and
   *   deadlocks through it are not found. Fails with a DeadlockError if the owner waits for this job; but in
   *   a choice or race of several, the job waits
   */
  lock(options) {
    return withSignal(this.#permits.turn(this.#name), options)
  }

  /**
   * Unlocks the mutex.
   *
   * @throws {OwnershipError} if the running job does not hold the mutex
   */
  unlock() {
    this.#unlock(here().current, false)
  }

  /**
   * Holds the mutex during a section.
   *
   * @template R
   * @param {(() => R) & Checked<R>} section a function that may wait
   * @param {CallOptions} [options]
   * @returns {Awaitable<Outcome<R>>} the result of the section
   * @throws {TypeError} if `section` is not a function or an option has the wrong type
   */
  use(section, options = {}) {
    return callOf(`${this.#name}.use()`, 'section', section, options, job =>
      inTurn(withSignal(this.#permits.turn(this.#name, true), signalOf(options)), section, isUnused => {
        // If the section was not called, `abandoned` keeps its value.
        if (this.#holder === job) this.#pass(isUnused && this.abandoned)
      }))
  }
  get [Symbol.toStringTag]() { return 'Mutex' }

  /**
   * @param {any} key a job or a Held; null for code outside of jobs
   * @param {boolean} mayBeFree whether another holder is no error
   */
  #unlock = (key, mayBeFree) => {
    const { locked } = this
    const holder = this.#holder
    if (locked && holder !== null && holder === key) return this.#pass(false)
    if (mayBeFree) return
    if (!locked) throw new OwnershipError(`${this.#name} is not locked: lock it first, and unlock it once`)
    const caller = key instanceof Job ? key.name : 'code outside jobs'
    const owner = holder === null ? 'another thread'
      : holder instanceof Job ? holder.name : 'code outside jobs'
    const isOutside = holder !== null && !(holder instanceof Job)
    const remedy = isOutside ? 'call unlock() of the result of lock()' : ONLY_OWNER
    throw new OwnershipError(`${this.#name} is held by ${owner}, not by ${caller}: ${remedy}`)
  }

  /** @param {Job | null} job */
  #give = job => {
    const held = job === null ? heldBy(this.#unlock) : this.#heldByJob
    this.#holder = job ?? held
    // All threads must notice the end of an owner of a SharedMutex.
    if (this.#queue.size > 0 || this.#permits.isShared) this.#queue.owner = job
    return held
  }
  /** The queue gets its owner with its first waiter, so that an uncontended lock costs no inheritance. */
  #lendOwner = () => {
    this.#queue.owner = this.owner
  }
  /** Gives the mutex to the next waiter, in any thread. @param {boolean} isAbandoned */
  #pass(isAbandoned) {
    this.#holder = this.#queue.owner = null
    this.#permits.release(isAbandoned)
  }
  /** Unlocks an uncontended mutex whose owner has ended, because no call reports that end. */
  #noticeEnd = () => {
    const holder = this.#holder
    if (holder instanceof Job && holder.finished !== undefined) this.#pass(true)
  }
}

/**
 * A number of permits, for example of slots for parallel downloads. Permits have no owner: any code can
 * release one, also a callback. A released permit goes to the first waiter before later callers (Dijkstra
 * 1965).
 *
 * SharedSemaphore (addons/shared.mjs) counts permits of several threads.
 *
 * @example
 * const slots = new Semaphore(4)
 * await slots.use(async () => console.log(slots.available)) // → 3
 * console.log(slots.available) // → 4
 */
export class Semaphore {
  /** @type {string} */
  #name
  #permits

  /**
   * @param {number} permits the initial number, an integer >= 0
   * @param {{ name?: string }} [options] `name`: for traces and errors
   * @param {any} [permitsOf] makes the permits of a SharedSemaphore
   * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
   */
  constructor(permits, options = {}, permitsOf = localPermits) {
    permitCount('permits', permits)
    this.#name = check.options(options, NAMED).name ?? 'semaphore'
    this.#permits = permitsOf(permits, { give: () => {} })
  }

  get name() { return this.#name }
  /** The number of permits that can be acquired without waiting. */
  get available() { return this.#permits.available }

  /** Takes a permit. @param {WaitOptions} [options] @returns {Awaitable<void>} */
  acquire(options) {
    return withSignal(this.#turn(false), options)
  }

  /**
   * Returns a permit, or adds one.
   *
   * @throws {RangeError} if a SharedSemaphore would have too many permits
   */
  release() {
    this.#permits.release(false)
  }

  /**
   * Holds a permit during a section.
   *
   * @template R
   * @param {(() => R) & Checked<R>} section a function that may wait
   * @param {CallOptions} [options]
   * @returns {Awaitable<Outcome<R>>} the result of the section
   * @throws {TypeError} if `section` is not a function or an option has the wrong type
   */
  use(section, options = {}) {
    return callOf(`${this.#name}.use()`, 'section', section, options, () =>
      inTurn(withSignal(this.#turn(true), signalOf(options)), section, () => this.release()))
  }
  get [Symbol.toStringTag]() { return 'Semaphore' }

  /** @param {boolean} isForSection */
  #turn(isForSection) {
    return this.#permits.turn(`${this.#name}.acquire()`, isForSection)
  }
}

/**
 * A reusable barrier: `wait()` blocks until `parties` jobs have called `wait()`. A job that is cancelled
 * while it waits does not count.
 *
 * @example
 * const start = new Barrier(2)
 * rt.spawn(function* () { yield start.wait(); console.log('one') })
 * await sleep(5)
 * console.log('go')
 * await rt.spawn(function* () { yield start.wait(); console.log('two') })
 * await rt.idle() // → go, one, two
 */
export class Barrier {
  /** @type {string} */
  #name
  #parties
  #queue = new WaitQueue()

  /**
   * @param {number} parties the number of jobs that meet, an integer >= 1
   * @param {{ name?: string }} [options] `name`: for traces and errors
   * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
   */
  constructor(parties, options = {}) {
    this.#parties = partyCount('parties', parties)
    this.#name = check.options(options, NAMED).name ?? 'barrier'
  }

  get name() { return this.#name }
  get parties() { return this.#parties }
  /** The number of waiting jobs. */
  get waiting() { return this.#queue.size }

  /**
   * Waits for the other jobs.
   *
   * @param {WaitOptions} [options] @returns {Awaitable<void>} fulfilled when all have arrived
   */
  wait(options) {
    return withSignal(new Arrival(`${this.#name}.wait()`, this.#parties, this.#queue), options)
  }
  get [Symbol.toStringTag]() { return 'Barrier' }
}

/** Waits at a barrier, unless it is the last to arrive. */
class Arrival extends Waitable {
  /** @param {string} name @param {number} parties @param {WaitQueue} queue */
  constructor(name, parties, queue) {
    super()
    this.name = name
    this.parties = parties
    this.queue = queue
  }
  get handsOver() { return true }

  try() {
    const { parties, queue } = this
    if (queue.size < parties - 1) return false
    for (let left = parties - 1; left > 0; left--) queue.shift()?.wake()
    return this.fulfill()
  }
  enter() {
    this.queue.push(this)
  }
}

// -------------------------------------------------------------------------------------------- 6 par and race

/** Waits until all members have settled, or one has failed. */
class All extends Group {
  unsettled = 0

  /** @param {string} kind @param {Waitable[]} members */
  constructor(kind, members) {
    super(kind, members)
  }
  get mayBlock() { return this.members.length > 0 }
  owners() {
    return this.members.flatMap(member => member.owners())
  }
  try() {
    return this.members.length === 0 && this.fulfill([])
  }
  /** @param {Job | null} job */
  enter(job) {
    this.unsettled = this.members.length
    this.members.forEach(member => {
      if (!this.isSettled && member.enlist(this.newWaiter(job))) this.conclude(member)
    })
  }
  /** @param {Waitable} member */
  conclude(member) {
    this.unsettled--
    if (member.isFulfilled && this.unsettled > 0) return
    this.decide(member, this.members.map(({ outcome }) => outcome))
  }
}

/**
 * Releases a job for one of several works. The job inherits the rank and the reservation of its parent,
 * unless the work is a Task with its own.
 *
 * @param {any} work @param {Job} parent @returns {Job}
 */
function spawnFor(work, parent) {
  const options = parametersFor(parent)
  if (work instanceof Task) {
    if (work.deadline < Infinity) options.release = options.deadline = undefined
    if (work.priority !== 0) options.priority = undefined
    if (work.reservation !== undefined) options.reservation = undefined
  }
  const inherits = options.deadline !== undefined || options.priority || options.reservation !== undefined
  return here().spawn(work, inherits ? options : undefined)
}

/**
 * The code of `par` and `race`.
 *
 * @param {string} kind @param {any[]} works @param {AbortSignal | undefined} signal @param {Job} parent
 * @returns {Generator<any, any, any>}
 */
function* together(kind, works, signal, parent) {
  /** @type {Job[]} */
  const children = []
  /** @type {Set<Job>} */
  const cancelled = new Set()
  const cancelRest = (/** @type {unknown} */ reason) => {
    children.filter(({ finished }) => finished === undefined).forEach(child => {
      cancelled.add(child)
      child.cancel(reason)
    })
  }
  /** @type {any[]} */
  const errors = []
  let result
  try {
    const members = works.map(work => {
      const awaited = Waitable.of(work)
      if (awaited !== null) return awaited
      const child = spawnFor(work, parent)
      children.push(child)
      return /** @type {Waitable} */ (Waitable.of(child))
    })
    const group = kind === 'race' ? new Choice(kind, members, false) : new All(kind, members)
    if (signal !== undefined) group.signal = signal
    // The caller may run only later; the other jobs must not run until then.
    group.decided = () => {
      if (children.some(({ finished }) => finished === undefined)) {
        cancelRest(new DOMException(`${kind}() is decided`, 'AbortError'))
      }
    }
    result = yield group
  } catch (error) {
    errors.push(error)
  }
  cancelRest(errors[0])
  const ending = extend.membersOf(cancelled)
  for (let i = 0; i < ending.length; i++) yield* joinCancelled(ending[i], errors)
  if (errors.length === 0) return result
  if (errors.length === 1) throw errors[0]
  throw new AggregateError(errors, `${kind}(): ${errors.length} works failed`)
}

/**
 * Waits until a cancelled job has ended, its `finally` blocks included.
 *
 * @param {Job} child @param {any[]} errors collects the failure of the child, and errors of this wait
 * @returns {Generator<any, void, any>}
 */
function* joinCancelled(child, errors) {
  const end = /** @type {Waitable} */ (Waitable.of(child))
  // A job is cancelled once, so the second wait lasts to the end, unless the child waits for this job.
  for (let waits = 2; waits > 0 && !end.attempt(null); waits--) {
    try {
      yield end
    } catch (error) {
      if (!end.isSettled || error !== end.outcome) errors.push(error)
      if (error instanceof DeadlockError) break
    }
  }
  if (child.state === 'failed') errors.push(end.outcome)
}

const keepGroups = /* @__PURE__ */ shapeKeeper(() => new All('par', []))
/** @param {any} value */
const isWork = value => typeof value === 'function' || value instanceof Task || isUnfinished(value)

const WORK = 'a function, a Task, a generator, or something to wait for'

/** @param {string} kind @param {any} given works, and options as the last argument @returns {any} */
function callOfAll(kind, given) {
  const last = given.at(-1)
  const hasOptions = typeof last === 'object' && last !== null && !isWork(last) &&
    (Object.hasOwn(last, 'scheduler') || Object.hasOwn(last, 'signal'))
  const works = hasOptions ? given.slice(0, -1) : given
  works.forEach((/** @type {any} */ work, /** @type {number} */ index) => {
    if (isWork(work)) return
    const error = check.wrongType(`works[${index}]`, WORK, work)
    if (works.length === 1 && Array.isArray(work)) error.message += `: write ${kind}(...works)`
    throw error
  })
  if (kind === 'race' && works.length === 0) {
    throw new TypeError('works must not be empty, or the race would never end')
  }
  const options = hasOptions ? check.options(last, CALL) : {}
  keepGroups()
  return new Call(`${kind}()`, parent => together(kind, works, options.signal, parent), options)
}

/** An argument of `par` and `race`. @typedef {Work | PromiseLike<unknown> | CallOptions} Member */
/**
 * @template {readonly Member[]} W
 * @typedef {{ [I in keyof W]:
 *   (W[I] | (() => unknown))
 *   & (W[I] extends PromiseLike<any> | CallOptions ? unknown : Taking<W[I], []>) }} Members
 */
/**
 * @template {readonly unknown[]} W
 * @typedef {W extends readonly [...infer Works, infer Last]
 *   ? Last extends Work | PromiseLike<unknown> ? W : Last extends CallOptions ? Works : W : W} WorksIn
 */
/** @template {readonly unknown[]} W @typedef {{ -readonly [I in keyof W]: ResultOf<W[I]> }} Results */
/**
 * @template {readonly unknown[]} W
 * @typedef {{ [I in keyof W]: {
 *   index: I extends `${infer N extends number}` ? N : number, value: ResultOf<W[I]>
 * } }[number]} Winner
 */

/**
 * Runs several works as jobs, and waits for all of them. If a work fails or is cancelled, or the caller is
 * cancelled, the other jobs are cancelled. When they have ended, `finally` blocks included, the call fails:
 * with this error, or with an AggregateError if other works failed too (occam's PAR; Communicating Generators
 * 2.2).
 *
 * @template {readonly Member[]} const W
 * @param {Members<W>} works functions, Tasks and generators become jobs with the caller's deadline, priority
 *   and reservation, where a Task has none of its own; waitables, jobs and promises are waited for. The last
 *   argument can be `{ scheduler, signal }`, the options of other calls
 * @returns {Awaitable<Results<WorksIn<W>>>} the results, in order
 * @throws {TypeError} if a work has the wrong type
 *
 * @example
 * const left = function* () { return 'left' }
 * const right = function* () { yield sleep(5); return 'right' }
 * console.log(await par(left, right)) // → ["left","right"]
 */
export function par(...works) {
  return callOfAll('par', works)
}

/**
 * Runs several works as jobs, and waits for the first that ends: its result or error is the outcome. The
 * other jobs are cancelled, and the call waits until they have ended, `finally` blocks included.
 *
 * @template {readonly Member[]} const W
 * @param {W extends readonly [] ? ['at least one'] : Members<W>} works the works, as for `par`; at least one
 * @returns {Awaitable<Winner<WorksIn<W>>>}
 * @throws {TypeError} if a work has the wrong type, or there is none
 *
 * @example
 * const { index, value } = await race(sleep(500), function* () { return 'fast' })
 * console.log(index, value) // → 1, fast
 */
export function race(...works) {
  return callOfAll('race', works)
}

// -------------------------------------------------------------------------------------------------- 7 checks

/** @param {unknown} value @returns {value is number} */
const isCount = value => Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0
const permitCount = /* @__PURE__ */ check.number('an integer >= 0', isCount)
const partyCount = /* @__PURE__ */ check.number('an integer >= 1', value => isCount(value) && value > 0)
const bufferSize = /* @__PURE__ */ check.number('an integer >= 0 or Infinity',
  value => value === Infinity || isCount(value))
const anyNumber = /* @__PURE__ */ check.number('a number', value => !Number.isNaN(value))

/** @param {string} name @param {unknown} fn the code of a job */
const checkWork = (name, fn) => check.refuseAsyncGenerator(name, check.callable(name, fn), fn)
/** @param {CallOptions} options @returns {WaitOptions | undefined} */
const signalOf = ({ signal }) => signal === undefined ? undefined : { signal }

const SIGNAL = /* @__PURE__ */ (() => ({ signal: check.signal }))()
const NAMED = /* @__PURE__ */ (() => ({ name: check.text }))()
const CALL = /* @__PURE__ */ (() => ({ scheduler: check.scheduler, signal: check.signal }))()
const RESOURCE = /* @__PURE__ */ (() => ({ ...NAMED, ceiling: anyNumber }))()
const CHANNEL = /* @__PURE__ */ (() => ({ ...NAMED, overflow: check.among('block', 'drop', 'slide') }))()
const CHOICE = /* @__PURE__ */ (() => ({ ...CALL, fair: check.flag }))()
const GUARD = /* @__PURE__ */ (() =>
  check.tableOf(KINDS.concat('value', 'when', 'action'), () => check.elsewhere))()
