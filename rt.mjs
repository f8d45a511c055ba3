/**
 * rt.mjs: real-time scheduling for web pages, as one ES module.
 *
 * Work is written as generators. Every `yield` is a preemption point, at which the scheduler may hand the
 * processor to a job with an earlier deadline or a higher priority (Dietrich et al., RT.js, RTSS 2019).
 *
 *   event loop | round ........................ | browser | round ....
 *              | slice ....... | slice ........ |
 *              | budget budget | budget budget  |
 *                ^ points          ^ the clock is read, what is due happens, the most eligible job goes on
 *
 *   budget  preemption points passed before the clock is read
 *   slice   ms before jobs of equal standing rotate
 *   round   ms before the scheduler returns to the event loop
 *
 * The life of a job, and the function that performs each step:
 *
 *              spawn            arrive          dispatch
 *   (release)  ----->  pending  ----->  ready  <--------->  running  --finish-->  done, failed, cancelled
 *                                        ^  ^    dispatch    |  |
 *                                  woken |  | refresh  block |  | deplete
 *                                     waiting  depleted <----+--+
 *
 * Invariants. Tests check 1 to 6 whenever a job goes on, and 7 to 9 over whole runs.
 *   1 At most one job is dispatched.
 *   2 A job is in exactly one of: the timeline, the ready queue, where the running job stays, or its reservation's node of
 *     it; a wait; ended.
 *   3 Ready order is total: band, policy, rotation, release, id.
 *   4 The ceiling stack is last in, first out, and its ceilings never fall towards the top.
 *   5 A job that passed the ceiling test never blocks on a resource.
 *   6 A depleted reservation has a replenishment on the timeline or a postponed deadline, unless it is off.
 *   7 Charged time sums to slice time.
 *   8 No alarm fires early.
 *   9 A resume allocates nothing beyond the engine's own iterator result.
 *
 * Times are milliseconds on the host's clock. A larger priority is more important.
 *
 * @module rt
 */

// ------------------------------------------------------------------------------------------------- 1 hosts

/**
 * What the scheduler needs of the world: the only place that touches globals.
 *
 * @typedef {object} Host
 * @property {() => number} now monotonic clock, ms
 * @property {(fn: (due?: number) => void, goesOn?: boolean) => void} post run `fn` once in a later turn of the event
 *   loop. It may be told when the next frame is due, which ends the round. `goesOn`: a round has just ended, and the
 *   next is posted; else there is work after a pause
 * @property {(ms: number, fn: () => void, options: { ref: boolean }) => (() => void)} after run `fn` once after
 *   `ms`; it may come early. `ref: false` does not keep the process alive. Returns a function that cancels.
 * @property {() => boolean} [inputPending] whether the user waits for the event loop
 * @property {(fn: (time: number) => void) => (() => void)} [frame] run `fn` before the next frame is drawn;
 *   returns a function that cancels
 * @property {() => boolean} [hidden] whether nobody sees the page
 * @property {(event: { timeStamp: number }) => number} [eventTime] when an event happened, on this clock
 * @property {(error: unknown) => void} [report] where errors go that nobody handles; without it they go where the
 *   platform's own go
 */

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1

/** @type {Host | undefined} */
let sharedHost

/**
 * The host of the present platform: a page, a worker, or Node. One per thread; it is made lazily and touches
 * nothing but the clock until it is used.
 *
 * @returns {Host}
 */
export function defaultHost() {
  return sharedHost ??= makeHost(/** @type {any} */ (globalThis))
}

/** @param {any} platform the global object @returns {Host} */
function makeHost(platform) {
  const { performance, document, navigator, scheduler } = platform
  const now = performance.now.bind(performance)
  const hidden = () => document?.visibilityState === 'hidden'
  /** @type {Host['post'] | undefined} */
  let send
  // Read here, and not at the first post: by then it may be a scheduler of ours, which would post its rounds to itself.
  const sender = () => platform.setImmediate ? immediatePost(platform)
    : isPage() ? pacedPost(platform, scheduler, now, hidden) : channelPost(platform)
  /** @type {Host['after'] | undefined} */
  let wait
  const waiter = () => platform.setImmediate ? timerAfter(platform) : preciseAfter(platform, now, hidden)
  const isPage = () => document && platform.requestAnimationFrame
  /** @type {Host['post']} */
  const post = (fn, goesOn) => (send ??= sender())(fn, goesOn)
  /** @type {Host} */
  const host = {
    now,
    hidden,
    post,
    after: (ms, fn, options) => (wait ??= waiter())(ms, fn, options),
    // Browsers differ in whether an event's time counts from the epoch or from the page's time origin.
    eventTime: ({ timeStamp }) => timeStamp > 1e12 ? timeStamp - performance.timeOrigin : timeStamp
  }
  if (navigator?.scheduling?.isInputPending) host.inputPending = () => navigator.scheduling.isInputPending()
  if (platform.requestAnimationFrame) {
    host.frame = fn => {
      const request = platform.requestAnimationFrame(fn)
      return () => platform.cancelAnimationFrame(request)
    }
  }
  return host
}

/**
 * Node drains about a thousand MessageChannel messages per turn, which starves its timers, and an open channel keeps the
 * process alive; its setImmediate does neither.
 *
 * @param {any} platform @returns {(fn: () => void) => void} whatever else it is given does not reach `fn`
 */
const immediatePost = ({ setImmediate }) => fn => setImmediate(fn)

/** @param {any} platform @returns {Host['after']} */
const timerAfter = platform => (ms, fn, { ref }) => {
  const timer = platform.setTimeout(fn, Math.min(Math.max(0, Math.ceil(ms)), LONGEST_DELAY))
  if (!ref) timer.unref()
  return () => platform.clearTimeout(timer)
}

/** Delays below this, in ms, are lengthened to it by browsers when timers set each other. */
const CLAMP = 4
/** How late a timer may come, ms: it is set as much earlier than wanted. */
const LEAD = 0.5
/** Turns from one timer to the next. Firefox draws no frames while they follow each other, and a clock may stand. */
const MOST_TURNS = 1000

/**
 * Timers of browsers take whole ms, come up to half of one late, and last at least 4 ms if timers set them. So short ones are
 * set by messages, and the end of a wait passes in turns of the event loop: a fifth of the wait, but at least what no timer
 * can halve, and at most a ms. Alarms of every ms are up to half a ms late by that, and take a quarter of the processor; in turns
 * alone they would take all of it. Timers of hidden pages come once in a second, after five minutes in Chromium once in a
 * minute; no turns are spent on them.
 *
 * @param {any} platform @param {() => number} now @param {() => boolean} hidden
 * @returns {Host['after']}
 */
function preciseAfter(platform, now, hidden) {
  const post = channelPost(platform)
  let turns = 0
  return (ms, fn) => {
    const due = now() + ms
    const inTurns = Math.min(Math.max(LEAD, ms / 5), 1)
    let isOver = false
    /** @type {any} */
    let timer
    const wait = () => {
      if (isOver) return
      const left = due - now()
      if (left <= 0) fn()
      else if (left <= inTurns && !hidden() && turns++ < MOST_TURNS) post(wait)
      else timer = platform.setTimeout(onTimer, Math.min(Math.max(1, Math.floor(left - LEAD)), LONGEST_DELAY))
    }
    const onTimer = () => {
      turns = 0
      start()
    }
    const start = () => due - now() >= CLAMP + LEAD || hidden() ? wait() : post(wait)
    start()
    return () => {
      isOver = true
      platform.clearTimeout(timer)
    }
  }
}

/** @param {any} platform @returns {(fn: () => void) => void} */
function channelPost(platform) {
  const { port1, port2 } = new platform.MessageChannel()
  /** @type {(() => void)[]} */
  const posted = []
  port1.onmessage = () => /** @type {() => void} */ (posted.shift())()
  return fn => {
    posted.push(fn)
    port2.postMessage(null)
  }
}

/** After how long, in ms, a round is no longer held up by other tasks of the page: theirs and ours take turns then. */
const LONGEST_BACKGROUND = 4

/**
 * Firefox lets input wait behind ordinary tasks until shortly before the next frame, and cannot tell that it is pending.
 * Background tasks stand below input.
 *
 * @param {any} platform @param {any} scheduler its own @returns {(fn: () => void) => void}
 */
const backgroundPost = (platform, scheduler) => fn => {
  // Each has a signal of its own: a task that is overtaken does not stay, and no signal gathers them.
  const overtaken = new platform.AbortController()
  const late = platform.setTimeout(() => {
    overtaken.abort()
    fn()
  }, LONGEST_BACKGROUND)
  const turn = () => {
    platform.clearTimeout(late)
    fn()
  }
  scheduler.postTask(turn, { priority: 'background', signal: overtaken.signal })
    .catch((/** @type {any} */ error) => { if (error?.name !== 'AbortError') throw error })
}

/** ms between frames, until they tell. Rounds that are longer are meant to outlast frames. */
const FRAME = 1000 / 60
/**
 * ms between frames, as the latest gap tells: one that came late says little about the next.
 *
 * @param {number} gap @param {number} interval so far
 */
const intervalAfter = (gap, interval) => gap > 4 && gap < 100 ? Math.min(gap, interval + (gap - interval) / 8) : interval
/** ms that frames come after their own time. A round that ends then finds its frame pending. */
const FRAME_DELAY = 2
/** ms that a turn waits only where others keep the thread. */
const CROWD = 3

/**
 * Firefox gives pending ordinary tasks precedence over a frame as long as its queue never runs empty (a page whose
 * rounds follow each other directly falls to 15 frames per second). So a round ends when the frame is due, and the next
 * one waits for it, unless the tasks of others keep the queue from running empty: it would wait in vain. Timers would do as
 * well, but they come late and jitter.
 *
 * @param {any} platform @param {any} scheduler its own @param {() => number} now @param {() => boolean} hidden
 * @returns {Host['post']}
 */
function pacedPost(platform, scheduler, now, hidden) {
  // Chromium, which tells of input, has frames and messages take turns: there is nothing to wait for. Told by the gaps
  // between frames alone, a busy machine looks like Firefox.
  const takesTurns = platform.navigator?.scheduling?.isInputPending !== undefined
  const send = takesTurns || scheduler?.postTask === undefined ? channelPost(platform) : backgroundPost(platform, scheduler)
  /** @type {(() => void)[]} */
  const held = []
  let interval = FRAME
  let shown = -Infinity // the latest frame's own time; the times of callbacks jitter by half an interval
  let due = -Infinity // the next frame
  let requested = false
  let stopped = false // frames do not come although the page counts as visible
  let late = 0 // how many turns in succession had to wait for tasks of others
  let worked = 0 // ms, in turns that are over
  let began = Infinity // the present turn
  let ended = -Infinity // the latest turn
  /** @type {any} */
  let fallback

  const post = (/** @type {() => void} */ turn) => {
    const others = Math.min(now(), began) - worked
    send(() => {
      began = now()
      late = began - worked - others > CROWD ? late + 1 : 0
      turn()
      worked += now() - began
      began = Infinity
    })
  }
  const letGo = () => {
    platform.clearTimeout(fallback)
    for (const turn of held.splice(0)) post(turn)
  }
  const onFrame = (/** @type {number} */ frame) => {
    interval = intervalAfter(frame - shown, interval)
    shown = frame
    due = frame + interval + FRAME_DELAY
    requested = stopped = false
    if (held.length > 0) request() // the round may last until the next frame
    letGo()
  }
  const request = () => {
    if (!requested) platform.requestAnimationFrame(onFrame)
    requested = true
  }
  platform.document.addEventListener('visibilitychange', letGo)
  return (fn, goesOn = false) => {
    const time = now()
    const turn = () => {
      const isOverdue = takesTurns && now() >= due
      fn(stopped || late > 1 || isOverdue || hidden() ? Infinity : due)
      ended = now()
    }
    if (hidden()) return post(turn)
    request()
    // Whoever waited for a job of the latest turn posts right behind it.
    const isNext = goesOn || time - ended <= 1
    if (!isNext) {
      const passed = shown === -Infinity ? 0 : Math.ceil((time - shown) / interval)
      due = (passed > 0 ? shown + passed * interval : time + interval) + FRAME_DELAY // the next that could come
    }
    if (takesTurns || stopped || late > 1 || !isNext || time < due) return post(turn)
    if (held.push(turn) > 1) return
    fallback = platform.setTimeout(() => {
      stopped = true
      letGo()
    }, 50)
  }
}

/** @param {unknown} error */
function reportToPlatform(error) {
  const { reportError } = /** @type {any} */ (globalThis)
  if (reportError) reportError(error)
  else queueMicrotask(() => { throw error })
}

// ---------------------------------------------------------------------------------------------- 2 policies

/**
 * Who goes first. Plain objects; keys are static between releases, except by setting a job's deadline or priority,
 * by inheritance and by reservations.
 *
 * @typedef {object} Policy
 * @property {string} name
 * @property {(a: Ranked, b: Ranked) => number} compare negative when `a` is more eligible, 0 when they rank equal, as
 *   those do that it throws for
 * @property {(task: { deadline: number, priority: number, period: number }) => number} level the preemption level,
 *   fixed at release: larger preempts smaller (Baker 1991)
 * @property {(task: { deadline: number, priority: number, period: number }) => number} [priority] the priority at release, where the
 *   policy assigns it
 */
/**
 * A job, or a copy of what it is ranked by.
 *
 * @typedef {{ readonly absoluteDeadline: number, readonly priority: number, readonly deadline?: number,
 *   readonly release?: number, readonly period?: number, readonly id?: number, readonly name?: string,
 *   readonly task?: Task | null }} Ranked
 */

/** Earliest deadline first, then the larger priority (Liu, Layland 1973). @type {Policy} */
export const edf = Object.freeze({
  name: 'edf',
  compare: (a, b) => a.absoluteDeadline === b.absoluteDeadline ? b.priority - a.priority
    : a.absoluteDeadline - b.absoluteDeadline,
  level: task => -task.deadline
})

/** Fixed priority: the larger priority first. @type {Policy} */
export const fp = Object.freeze({
  name: 'fp',
  compare: (a, b) => b.priority - a.priority,
  level: task => task.priority
})

/**
 * Rate monotonic: fixed priority, where the priority of a task with a period is its rate, 1 / period (Liu, Layland
 * 1973). A task without a period keeps its own priority; the default, 0, is below every rate.
 *
 * @type {Policy}
 */
export const rm = Object.freeze({
  ...fp,
  name: 'rm',
  priority: task => task.period < Infinity ? 1 / task.period : task.priority
})

/** By `compare`, which is what a policy is known by. */
const KNOWN = new Set([edf.compare, fp.compare])

// ------------------------------------------------------------------------------------------------- 3 heap

/** A node of a heap: where it is inside, or null; the first of its children, its parent or elder sibling, its younger sibling. */
class HeapNode {
  constructor() {
    /** @type {any} */
    this.queue = null
    /** @type {any} */
    this.child = null
    /** @type {any} */
    this.before = null
    /** @type {any} */
    this.after = null
  }
}

/**
 * A stable priority queue in O(log n): a pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986). A node that follows the node
 * pushed last becomes its child; so nodes that come in order, as equals do, are a list, and cost the same whether ten are
 * inside or a hundred thousand. The first is compared with nothing until a second comes.
 *
 * `order(a, b)` is negative if `a` goes first, and never 0; it does not change while both are inside.
 *
 * @template {HeapNode} N
 */
class Heap {
  size = 0
  /** @type {N | null} */
  first = null
  /** The node pushed last, while it is inside. @type {N | null} */
  #last = null

  /** @param {(a: N, b: N) => number} [order] by default that of a derived class */
  constructor(order) {
    if (order !== undefined) this.order = order
  }

  /** @param {N} a @param {N} b @returns {number} */
  order(a, b) { return 0 }

  /** @param {N} node */
  push(node) {
    const { first } = this
    const last = this.#last
    node.queue = this
    if (first === null) this.first = node
    else if (last !== null && this.order(last, node) < 0) under(last, node)
    else this.first = meld(this, first, node)
    this.#last = node
    this.size++
  }

  /** @returns {N | null} the first node, removed */
  shift() {
    const { first } = this
    if (first !== null) this.remove(first)
    return first
  }

  /** @param {N} node @throws {Error} when it is not inside: somebody's state and queue have come apart */
  remove(node) {
    if (node.queue !== this) throw new Error('removed from a queue that it is not in')
    const { child, before, after } = node
    node.queue = null
    if (this.#last === node) this.#last = null
    this.size--
    if (before !== null) {
      if (before.child === node) before.child = after
      else before.after = after
      if (after !== null) after.before = before
      node.before = node.after = null
    }
    if (child === null && before !== null) return
    const orphans = child === null ? null : gather(this, child)
    node.child = null
    this.first = before === null ? orphans : meld(this, this.first, orphans)
  }
}

/** Makes one tree of siblings: of pairs from left to right, then of those from right to left. @param {Heap<any>} heap @param {any} child */
function gather(heap, child) {
  /** @type {any} the pairs, by `after` */
  let pairs = null
  while (child !== null) {
    const sibling = child.after
    const next = sibling && sibling.after
    child.before = child.after = null
    if (sibling !== null) sibling.before = sibling.after = null
    const pair = meld(heap, child, sibling)
    pair.after = pairs
    pairs = pair
    child = next
  }
  let tree = null
  while (pairs !== null) {
    const { after } = pairs
    pairs.after = null
    tree = meld(heap, pairs, tree)
    pairs = after
  }
  return tree
}

/** @param {Heap<any>} heap @param {any} a a tree or nothing @param {any} b a tree or nothing @returns {any} one */
function meld(heap, a, b) {
  if (a === null || b === null) return a ?? b
  return heap.order(a, b) < 0 ? under(a, b) : under(b, a)
}

/** @param {any} parent @param {any} child */
function under(parent, child) {
  const { child: sibling } = parent
  child.before = parent
  child.after = sibling
  if (sibling !== null) sibling.before = child
  parent.child = child
  return parent
}

// --------------------------------------------------------------------------------- errors and input checks

/** The reason with which a job that asked for `miss: 'abort'` is cancelled at its deadline. */
export class DeadlineError extends Error {
  name = 'DeadlineError'
}

/** Jobs wait for each other in a circle, or nothing is left that could wake the jobs of a closed scheduler. */
export class DeadlockError extends Error {
  name = 'DeadlockError'

  /** @param {string} message @param {Job[]} jobs */
  constructor(message, jobs) {
    super(message)
    /** @type {Job[]} */
    this.jobs = jobs
  }
}

/** @param {any} value */
function describe(value) {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value === null || (typeof value !== 'function' && typeof value !== 'object')) return String(value)
  try {
    if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`
    return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'no constructor'})`
  } catch {
    return typeof value === 'function' ? 'a function' : 'an object'
  }
}

/** @param {string} name @param {string} wanted @param {unknown} value */
const wrongType = (name, wanted, value) => new TypeError(`${name} must be ${wanted}, got ${describe(value)}`)
/** @param {string} name @param {string} wanted @param {unknown} value */
const outOfRange = (name, wanted, value) => new RangeError(`${name} must be ${wanted}, got ${describe(value)}`)

/**
 * @param {string} wanted @param {(value: number) => boolean} isValid
 * @returns {(name: string, value: unknown) => number} a check: of what is no number by a TypeError, else by a RangeError
 */
const number = (wanted, isValid) => (name, value) => {
  if (typeof value !== 'number') throw wrongType(name, wanted, value)
  if (!isValid(value)) throw outOfRange(name, wanted, value)
  return value
}

const positive = number('a number > 0', value => value > 0)
const notNegative = number('a number >= 0', value => value >= 0)
const finite = number('a finite number', Number.isFinite)
const duration = number('a finite number >= 0', value => value >= 0 && value < Infinity)
const interval = number('a finite number > 0', value => value > 0 && value < Infinity)
const counted = number("an integer >= 1 or 'auto'", value => Number.isSafeInteger(value) && value >= 1)

/** @param {string} name @param {unknown} value @returns {number} points, or AUTO */
const points = (name, value) => value === 'auto' ? AUTO : counted(name, value)

/** @param {string} name @param {unknown} value @returns {any} */
function callable(name, value) {
  if (typeof value !== 'function') throw wrongType(name, 'a function', value)
  return value
}

/** @param {string} name @param {unknown} value @returns {boolean} */
function flag(name, value) {
  if (typeof value !== 'boolean') throw wrongType(name, 'a boolean', value)
  return value
}

/** @param {string} name @param {unknown} value @returns {string} */
function text(name, value) {
  if (typeof value !== 'string') throw wrongType(name, 'a string', value)
  return value
}

/** @param {string[]} choices @returns {(name: string, value: any) => any} */
const among = (...choices) => (name, value) => {
  if (!choices.includes(value)) throw wrongType(name, choices.map(choice => `'${choice}'`).join(' or '), value)
  return value
}

/** @param {string} name @param {any} fn @param {unknown} given */
function refuseAsyncGenerator(name, fn, given) {
  if (fn[Symbol.toStringTag] === 'AsyncGeneratorFunction') {
    throw wrongType(name, 'a generator function, not an async one', given)
  }
}

/** @param {string} name @param {unknown} value @returns {any} */
function record(name, value) {
  if (typeof value !== 'object' || value === null) throw wrongType(name, 'an object', value)
  return value
}

const hasOwn = Object.hasOwn

/** @template T @param {readonly T[]} list @param {(item: T) => any} isWanted @returns {T | undefined} */
function find(list, isWanted) {
  for (let i = 0; i < list.length; i++) if (isWanted(list[i])) return list[i]
}

/** How an option is checked, by its name. @typedef {Record<string, (name: string, value: any) => unknown>} Checks */

/** Is checked by the code that reads it. */
const elsewhere = () => {}
/** @param {string[]} names @returns {Checks} of options that are checked elsewhere */
const unchecked = (...names) => Object.fromEntries(names.map(name => [name, elsewhere]))

/**
 * Options: an object of whose own names each is known, since others would be passed over in silence.
 *
 * @param {unknown} value @param {Checks} checks @param {string} [of] the parameter
 * @returns {any}
 * @throws {TypeError} naming the option
 */
function knownOptions(value, checks, of = 'options') {
  const options = record(of, value)
  for (const name in options) {
    if (hasOwn(checks, name) || !hasOwn(options, name)) continue
    const names = Object.keys(checks)
    const meant = names.find(other => lettersBut(name, other) + lettersBut(other, name) <= 2)
    const hint = meant === undefined ? `known are ${names.join(', ')}` : `did you mean '${meant}'?`
    throw new TypeError(`unknown option '${of === 'options' ? '' : `${of}.`}${name}'; ${hint}`)
  }
  return options
}

/**
 * The same, where those that are given are as they must be, too.
 *
 * @param {unknown} value @param {Checks} checks
 * @returns {any}
 * @throws {TypeError | RangeError} naming the option
 */
function optionsOf(value, checks) {
  const options = knownOptions(value, checks)
  for (const name in checks) if (options[name] !== undefined) checks[name](name, options[name])
  return options
}

/** How many letters one word has that another has not. @param {string} word @param {string} other */
const lettersBut = (word, other) => [...other].reduce((left, letter) => left.replace(letter, ''), word).length

/** @param {any} value @returns {any} */
function policyOf(value) {
  if (value === 'edf' || value === 'fp' || value === 'rm') {
    throw wrongType('policy', `the object that rt.mjs exports as ${value}`, value)
  }
  return record('policy', value)
}

/** @param {string} name @param {unknown} value @returns {any} */
function abortSignal(name, value) {
  const signal = /** @type {any} */ (value)
  try {
    if (typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function' &&
      typeof signal.removeEventListener === 'function') return signal
  } catch {} // what cannot be looked at is none
  throw wrongType(name, 'an AbortSignal', value)
}

/** @param {string} name @param {unknown} value @param {string} kind @returns {any} what the seam acts on */
function hookOf(name, value, kind) {
  try {
    const found = /** @type {any} */ (value)[protocol]
    if (found) return found
  } catch {} // what cannot be looked at is none
  throw wrongType(name, kind, value)
}

/** @param {unknown} value @returns {any} a ReservationHook, or what stands for it */
function reservationHookOf(value) {
  const hook = hookOf('reservation', value, 'a Reservation')
  if ((hook.payer ?? hook).pool === undefined) throw wrongType('reservation', 'a Reservation', value)
  return hook
}

/** For the other modules: each returns what it has checked, or throws what names the parameter and the value. */
const check = /* @__PURE__ */ Object.freeze({
  number, notNegative, finite, duration, interval, callable, flag, text, among, elsewhere, unchecked, signal: abortSignal,
  scheduler: (/** @type {string} */ _, /** @type {Scheduler} */ scheduler) => here({ scheduler }), sections: sectionsOf,
  options: optionsOf, knownOptions, wrongType, outOfRange, describe, refuseAsyncGenerator
})

const abortError = () => new DOMException('The job was cancelled', 'AbortError')

// ------------------------------------------------------------------------------------------ 4 Task and Job

const AUTO = 0

/**
 * The preemption points that the running job may still pass before the clock is read. Refilled before a job is
 * resumed. In a hot loop `if (--budget.left <= 0) yield` passes a point without leaving the function.
 */
export const budget = { left: 0 }

/** What a job may yield. @typedef {void | Iterator<any, any, any> | PromiseLike<any>} Yieldable */
/** What becomes a job. @typedef {Function | Task<any, any> | Iterator<any, any, any>} Work */
/**
 * What becomes of what a job's code returns.
 *
 * @template T
 * @typedef {T extends Iterator<any, infer R, any> ? R : Awaited<T>} Outcome
 */
/**
 * The result of work.
 *
 * @template W
 * @typedef {W extends { run(...args: any[]): infer R } ? Outcome<R>
 *   : W extends (...args: any[]) => infer R ? Outcome<R> : Outcome<W>} ResultOf
 */
/**
 * What work is called with; async functions get their job first.
 *
 * @template W
 * @typedef {W extends { run: infer F } ? ArgumentsOf<F>
 *   : W extends (job: Job<any>, ...args: infer A) => PromiseLike<any> ? A
 *   : W extends (...args: infer A) => infer R
 *     ? R extends PromiseLike<any> ? [never, 'an async function gets its job before its arguments'] : A
 *   : []} ArgumentsOf
 */
/**
 * @template W
 * @typedef {W extends { run: infer F } ? YieldOf<F> : W extends (...args: any[]) => infer R ? YieldOf<R>
 *   : W extends Iterator<infer Y, any, any> ? Y : never} YieldOf
 */
/**
 * Refuses work that yields what a job may not.
 *
 * @template W
 * @typedef {[YieldOf<W>] extends [Yieldable] ? unknown : unknown extends YieldOf<W> ? unknown
 *   : 'a job may yield nothing, a generator, a promise, a job or a waitable'} Checked
 */
/**
 * Refuses work that cannot be called with `A`.
 *
 * @template W @template {any[]} A
 * @typedef {A extends ArgumentsOf<W> ? Checked<W> : ArgumentsOf<W>} Taking
 */

/**
 * @typedef {object} TaskOptions
 * @property {string} [name] default: the name of the function or of the class
 * @property {number} [deadline] ms after release, > 0; default Infinity
 * @property {number} [priority] any finite number, larger is more important; default 0
 * @property {number} [period] ms, > 0; default Infinity
 * @property {number} [wcet] declared worst-case execution time, ms, >= 0; default Infinity
 * @property {number | 'auto'} [budget] preemption points between two readings of the clock; default: the scheduler's
 * @property {'continue' | 'abort'} [miss] what happens to a job at its deadline; default 'continue'
 * @property {(job: Job) => void} [onMiss] called once per job, when its miss is noticed; before the scheduler's
 * @property {(job: Job) => void} [onOverrun] called once per job, when its cost exceeds its wcet; before the scheduler's
 * @property {Scheduler} [scheduler] where jobs are released; default: that of the running job, else `rt`
 * @property {object} [reservation] a Reservation of alarms.mjs that pays for the jobs
 * @property {object[]} [uses] the Resources of sync.mjs that the jobs may use
 * @property {CriticalSection[]} [sections] how long, for `schedulable`
 */
/**
 * @typedef {object} JobOptions what belongs to one activation only
 * @property {number} [release] host timestamp, ms, past or future; default now. The deadline counts from it.
 * @property {AbortSignal} [signal] cancels the job with its reason
 */

/**
 * The static parameters of recurring work (Liu, Layland 1973). Give it a function, or derive a class with a `run`
 * method; a generator in both cases where the work is to be preemptible.
 *
 * The parameters are the task's own properties; they are checked, and read, at each release.
 *
 * @template {any[]} [A=any[]] what it is released with
 * @template [R=unknown] the result
 */
export class Task {
  /** @type {string} */
  name
  deadline = Infinity
  priority = 0
  period = Infinity
  wcet = Infinity
  /** @type {TaskOptions['budget']} */
  budget
  /** @type {'continue' | 'abort'} */
  miss = 'continue'
  /** @type {TaskOptions['onMiss']} */
  onMiss
  /** @type {TaskOptions['onOverrun']} */
  onOverrun
  /** @type {TaskOptions['reservation']} */
  reservation
  /** @type {TaskOptions['uses']} */
  uses
  /** @type {TaskOptions['sections']} */
  sections
  /** @type {TaskOptions['scheduler']} */
  scheduler

  /**
   * @overload
   * @param {(job: Job, ...args: A) => PromiseLike<R>} work what a job does
   * @param {TaskOptions} [options]
   */
  /**
   * @overload
   * @param {(...args: A) => Iterator<Yieldable, R, any>} work
   * @param {TaskOptions} [options]
   */
  /**
   * @overload
   * @param {(...args: A) => R} work
   * @param {TaskOptions} [options]
   */
  /**
   * @overload
   * @param {TaskOptions} [options] of a derived class, whose method `run` says what a job does
   */
  /**
   * @param {any} [work] @param {any} [options]
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(work, options) {
    if (typeof work !== 'function') {
      if (options !== undefined) throw wrongType('work', 'a function', work)
      if (this.run === Task.prototype.run) {
        if (new.target !== Task) throw wrongType(`${new.target.name}.run`, 'a function', undefined)
        const isOptions = typeof work === 'object' && work !== null
        throw wrongType('work', isOptions ? 'a function, and the options come after it' : 'a function', work)
      }
      options = work
      callable(`${this.constructor.name}.run`, this.run)
    } else {
      this.run = work
    }
    this.name = typeof work === 'function' ? work.name : this.constructor.name
    // Fields would hide the accessors of a derived class.
    for (const name in TASK_OPTIONS) if (name in new.target.prototype) delete (/** @type {any} */ (this)[name])
    if (options !== undefined) {
      knownOptions(options, TASK_OPTIONS)
      for (const name in TASK_OPTIONS) if (options[name] !== undefined) /** @type {any} */ (this)[name] = options[name]
    }
    if (this.scheduler !== undefined) here(this)
    parametersOf(this, this)
    if (this.sections !== undefined) sectionsOf('', this)
  }

  /**
   * What a job of this task does; derived classes override it, as a generator where it is to be preemptible.
   *
   * @param {A} args those of `release`; an async method is given the job before them
   * @returns {Iterator<Yieldable, R, any> | PromiseLike<R> | R}
   */
  run(...args) {
    throw new TypeError(`${this.name} has nothing to run`)
  }

  /**
   * Releases a job now.
   *
   * @param {ArgumentsOf<this['run']>} args handed to `run`
   * @returns {Job<ResultOf<this>>}
   * @throws {TypeError | RangeError} naming a parameter that has become invalid
   */
  release(...args) {
    return /** @type {any} */ (here(this)).spawn(this, undefined, ...args)
  }
}

/** The scheduler that acts. @param {{ scheduler?: Scheduler }} [options] @returns {Scheduler} */
function here(options) {
  const scheduler = options?.scheduler
  if (scheduler === undefined) return dispatched === null ? rt : dispatched.dispatcher.scheduler
  if (!(scheduler instanceof Scheduler)) throw wrongType('scheduler', 'a Scheduler', scheduler)
  return scheduler
}

const TASK_OPTIONS = /* @__PURE__ */ unchecked('deadline', 'priority', 'name', 'period', 'wcet', 'budget', 'miss', 'onMiss',
  'onOverrun', 'reservation', 'uses', 'sections', 'scheduler')
const missOption = /* @__PURE__ */ among('continue', 'abort')
const SPAWN_OPTIONS = /* @__PURE__ */ unchecked(...Object.keys(TASK_OPTIONS), 'release', 'signal')
/** @type {any} */
const NO_OPTIONS = Object.freeze({})

/** Classes may declare a field without a value, and users take one away. @param {any} given @param {any} own @param {any} otherwise */
const chosen = (given, own, otherwise) => given !== undefined ? given : own !== undefined ? own : otherwise

/** What counts where nothing is said. */
const PLAIN_TASK = /* @__PURE__ */ new Task(/** @type {any} */ (() => {}))
const PLAIN = /* @__PURE__ */ parametersOf(PLAIN_TASK, PLAIN_TASK)
/**
 * Whether there is nothing that the job itself does not keep. To keep it all for each of 100 000 jobs makes it take twice as
 * long to spawn them, 2.2 us each.
 *
 * @param {ReturnType<parametersOf>} parameters
 */
const isPlain = ({ name, period, wcet, abort, onMiss, onOverrun }) =>
  name === '' && period === Infinity && wcet === Infinity && !abort && onMiss === undefined && onOverrun === undefined

/** Of the rest of code that is no job's. */
const CONTINUATION = /* @__PURE__ */ Object.freeze({ ...PLAIN, name: 'continuation' })

/**
 * The checked parameters of a job.
 *
 * @param {any} given the options of its spawn, or a task @param {any} task whose parameters count where none are given
 */
function parametersOf(given, task) {
  const {
    name, budget = task.budget, onMiss = task.onMiss, onOverrun = task.onOverrun, reservation = task.reservation,
    uses = task.uses
  } = given
  if (uses !== undefined && !Array.isArray(uses)) throw wrongType('uses', 'an array of Resources', uses)
  return {
    name: name === undefined ? '' : text('name', name),
    deadline: positive('deadline', chosen(given.deadline, task.deadline, Infinity)),
    priority: finite('priority', chosen(given.priority, task.priority, 0)),
    period: positive('period', chosen(given.period, task.period, Infinity)),
    wcet: notNegative('wcet', chosen(given.wcet, task.wcet, Infinity)),
    limit: budget === undefined ? undefined : points('budget', budget),
    abort: missOption('miss', chosen(given.miss, task.miss, 'continue')) === 'abort',
    onMiss: onMiss === undefined ? undefined : callable('onMiss', onMiss),
    onOverrun: onOverrun === undefined ? undefined : callable('onOverrun', onOverrun),
    reservation: reservation === undefined ? null : reservationHookOf(reservation),
    uses: uses === undefined ? null : Array.from(uses, one => hookOf('uses', one, 'an array of Resources'))
  }
}

const SECTION = /* @__PURE__ */ unchecked('resource', 'wcet')

/** @param {string} name of the task, with a dot @param {any} task @returns {Required<CriticalSection>[]} */
function sectionsOf(name, { sections = [], uses = [], wcet }) {
  if (!Array.isArray(sections)) throw wrongType(`${name}sections`, 'an array of sections', sections)
  if (!Array.isArray(uses)) throw wrongType(`${name}uses`, 'an array of Resources', uses)
  const declared = sections.map((section, index) => {
    const where = `${name}sections[${index}]`
    const { resource, wcet: length } = knownOptions(section, SECTION, where)
    if (notNegative(`${where}.wcet`, length) <= wcet) return { resource, wcet: length }
    throw outOfRange(`${where}.wcet`, `at most that of its task, ${wcet}`, length)
  })
  const known = new Set(declared.map(({ resource }) => resource))
  const unknown = uses.filter(resource => !known.has(resource))
  return [...declared, ...unknown.map(resource => ({ resource, wcet }))]
}

const PENDING = 0
const READY = 1
const WAITING = 2
const DONE = 3
const FAILED = 4
const CANCELLED = 5
const STATES = /** @type {const} */ (['pending', 'ready', 'waiting', 'done', 'failed', 'cancelled'])

/** @type {any[]} */
const NO_ARGUMENTS = []

/** What the dispatcher knows of a job. `Job` is the handle that users hold. */
class Activation extends HeapNode {
  /**
   * @param {Dispatcher} dispatcher @param {number} id @param {ReturnType<parametersOf>} parameters @param {any} work
   * @param {any} leaf @param {any[]} args
   */
  constructor(dispatcher, id, parameters, work, leaf, args) {
    super()
    this.dispatcher = dispatcher
    this.id = id
    this.parameters = parameters
    /** A Task, a function, or the iterator itself. */
    this.work = work
    this.args = args
    /** Whether it was posted as a task of the platform's kind. */
    this.posted = false
    this.state = PENDING

    this.release = 0
    this.deadline = Infinity
    this.priority = 0
    /** Raised when the job is rotated behind its equals. */
    this.stamp = 0
    /** Whose keys count: its own, its reservation's, or those of a job that waits for it. @type {Standing} */
    this.standing = this

    /** The innermost generator, which is resumed directly; UNSTARTED, or null when nothing is to be resumed. */
    this.leaf = leaf
    /** Whether it is a generator of this realm: looked up at each resume instead, a communication costs a tenth more. */
    this.isNative = leaf !== null && leaf.next === next
    /** Its callers, outermost first. @type {any[] | null} */
    this.callers = null
    /** What the next resume hands in, and whether it is thrown. @type {any} */
    this.input = undefined
    this.throwing = false
    /** Whether that is something that a cancellation must not take away. */
    this.kept = false
    /** @type {Waitable | null} */
    this.waiting = null

    /** Points per budget, or AUTO. */
    this.limit = dispatcher.budget
    /** Of a job that has come back once. @type {BudgetTuner | null} */
    this.tuner = null
    /** Its cost at its last rotation: the slice counts from it, across preemptions. */
    this.turn = 0
    /** @type {number | undefined} */
    this.started = undefined
    /** @type {number | undefined} */
    this.finished = undefined
    this.cost = 0
    this.preemptions = 0
    /** The entry at the deadline. @type {Entry | null} */
    this.miss = null
    this.missed = false
    this.handled = false
    /** @type {any} the result or the error */
    this.outcome = undefined
    /** @type {Deferred | null} */
    this.deferred = null
    this.extras = NO_EXTRAS
    this.job = new Job(this)
  }

  /** As a standing: reserved jobs have band 1, ordinary ones 0, those of a depleted reservation -1. */
  get band() { return 0 }

  get absoluteDeadline() { return this.release + this.deadline }
  /** What the policies of this module compare, which can do without the handle: a communication costs a tenth less. */
  get ranked() { return this }
  /** The job that a node of the ready queue stands for. */
  get first() { return this }

  /** The preemption level, fixed at release. */
  get level() { return this.extras.level ?? this.dispatcher.policy.level(this.job) }

  /** @param {Waitable} waitable */
  woken(waitable) {
    this.waiting = null
    this.input = waitable.outcome
    this.throwing = waitable.phase === REJECTED
    this.kept = waitable.handsOver && !this.throwing
    this.dispatcher.unblock(this)
  }
}

/** ms that an automatic budget is worth; reading the clock takes 1 to 2 % of it (60 to 140 ns in browsers). */
const SHORT_BUDGET = 0.006
/** Where so many points are worth more, the budget is. */
const FEWEST_POINTS = 8
/** ms that no budget is worth more than, since alarms are late by that; long ones are worth it. */
const LONG_BUDGET = 0.1
/** More make no point cheaper: 2.7 ns in budgets of 1000 as in these (bench/budget). */
const MOST_POINTS = 4096
/** Times as dear as in long budgets, at which points make short ones too dear: above what is measured by chance. */
const TOO_DEAR = 1.1
/** Measurements between two trials: of the time, trials take 6 % at first, 0.4 % when many have come to the same. */
const SOON = 32
const LATE = 512

/**
 * Finds the points of a job's automatic budgets, from what the points before have cost.
 *
 * Budgets grow at most by doubling and fall at once. None has more than MOST_POINTS, nor more than cost `ceiling` (see
 * `learn`), rounded up. So when points that cost p ms suddenly cost P ms, the longest budget takes at most
 *
 *   P * min(MOST_POINTS, ceil(ceiling / p)) ms
 *
 * whatever the clock and wherever in a budget that happens. A budget may be far shorter than a tick of the clock, so the
 * price of a point is an average over several; one that contradicts it by more than the clock's resolution begins it anew.
 *
 * Budgets are short, so that alarms are on time, unless points are cheaper in long ones. They are where resuming a
 * generator is dear: Firefox goes on in slow code for up to a thousand rounds of a loop, 2 to 60 us, before it is back in
 * optimized code. So a job begins with long budgets, and now and then the other length is tried.
 */
class BudgetTuner {
  /** Of the next budget. */
  points = 1
  /** What the price of a point is measured by; older points count less. */
  passed = 0
  time = 0
  isLong = true
  /** What the present length is judged by: points and ms of budgets that cost what was expected. */
  count = 0
  spent = 0
  /** During a trial, the price of a point in budgets of the other length, ms; else 0. */
  rival = 0
  /** Measurements until one counts, and between trials. Of a new length the second counts: budgets grow in the first. */
  left = 1
  patience = SOON

  /**
   * Takes in what the points of a budget cost.
   *
   * @param {number} passed points, > 0
   * @param {number} elapsed ms
   * @param {number} resolution of the clock, ms; Infinity while it is not known
   * @param {number} ceiling ms that a budget may cost at most
   */
  learn(passed, elapsed, resolution, ceiling) {
    const tick = Math.min(1, resolution)
    const expected = this.time / this.passed * passed
    if (elapsed - resolution > 2 * expected || elapsed + resolution < expected / 4) {
      this.time = this.passed = 0
    } else {
      this.spent += elapsed
      this.count += passed
      if (this.spent >= Math.max(2 * ceiling, 8 * tick)) this.compare(tick)
    }
    this.time += elapsed
    this.passed += passed
    // The points so far may have cost up to a tick more than the clock shows; or, where a tick is short, a point.
    const price = (this.time + tick) / (this.passed + 1)
    const worth = this.isLong ? ceiling : Math.min(ceiling, Math.max(SHORT_BUDGET, FEWEST_POINTS * price))
    this.points = Math.max(1, Math.min(Math.floor(worth / price), 2 * this.points, MOST_POINTS))
    if (this.time > 8 * Math.max(worth, tick)) {
      this.time /= 2
      this.passed /= 2
    }
  }

  /**
   * Begins or ends a trial of the other length, when it is time.
   *
   * @param {number} tick ms by which a measurement may be wrong; that long budgets pay must be beyond doubt
   */
  compare(tick) {
    const price = (this.spent + (this.isLong ? tick : -tick)) / this.count
    this.spent = this.count = 0
    if (this.left-- > 0) return
    if (this.rival === 0) {
      this.rival = price
      this.isLong = !this.isLong
      this.left = 1
      return
    }
    const pays = this.isLong ? price * TOO_DEAR < this.rival : this.rival * TOO_DEAR < price
    this.patience = pays === this.isLong ? SOON : Math.min(2 * this.patience, LATE)
    this.isLong = pays
    this.left = this.patience
    this.rival = 0
  }
}

/**
 * A promise and what settles it.
 *
 * @typedef {object} Deferred
 * @property {Promise<any>} promise
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** What only few jobs have; the others share NO_EXTRAS. */
class Extras {
  /** The job's cost when its present period began, and whether that has overrun. */
  costBefore = 0
  overran = false
  /** Kept when deadline or priority change after the release. @type {number | undefined} */
  level = undefined
  /** Of a function that goes on in microtasks. @type {AsyncDriver | null} */
  driver = null
  /** What it listens to. @type {AbortSignal | null} */
  signal = null
  /** The entry at a release in the future. @type {Entry | null} */
  pending = null
  /** NOT_CANCELLED, or the reason. @type {unknown} */
  reason = NOT_CANCELLED
  delivered = false
  /** @type {ReservationHook | null} */
  server = null
  /** That of its reservation, while the job is ready by nothing else. @type {Pool | null} */
  pool = null
  /** @type {JobHook[] | null} */
  uses = null
  /** The number of gates held. */
  gates = 0
  /** A copy of its own keys, for those it lends them to. @type {Standing | null} */
  rank = null
  /** By which it runs after all others, when its reservation is depleted. @type {Standing | null} */
  background = null
  /** The queues it owns, whose best waiter lends it its standing. @type {Queue[]} */
  owned = []
  /** @type {Queue | null} */
  joiners = null
}

/** @type {unknown} */
const NOT_CANCELLED = Symbol('not cancelled')

/** Whether a job's standing may matter, or be another's, while it is not ready by its reservation. @param {Activation} a */
const isDependent = ({ extras, waiting }) => extras.gates > 0 || waiting !== null && waiting.isRanked ||
  extras.owned.some(({ first }) => first !== null && first.activation !== null)

/** Whether its reservation has nothing left for a job that is ready by nothing else. @param {Activation} a */
const isOut = ({ extras }) => extras.pool !== null && extras.pool.isOut

/** What is only read. @type {Extras} */
const NO_EXTRAS = /* @__PURE__ */ Object.freeze(new Extras())

/** To be written. @param {Activation} a */
const extrasOf = a => a.extras === NO_EXTRAS ? a.extras = new Extras() : a.extras

/** @type {(job: Job) => Activation} */
let activationOf
/** @type {(value: unknown) => value is Job} */
let isJob

/**
 * One activation of a task, from its release to its finish. Made by `spawn` and `release` only.
 *
 * A job is a thenable: `await job` gives its result or throws its error. So does `yield job` in another job, which
 * lends its own deadline and priority to the job it waits for.
 *
 * @template [T=unknown] the result
 */
export class Job {
  /** @type {Activation} */
  #activation

  static {
    activationOf = job => job.#activation
    isJob = value => typeof value === 'object' && value !== null && #activation in value
  }

  /** @internal @param {Activation} activation */
  constructor(activation) {
    if (!(activation instanceof Activation)) throw new TypeError('jobs are made by spawn() and release()')
    this.#activation = activation
  }

  get id() { return this.#activation.id }
  /** @returns {string} the name given, else the task's, else the function's */
  get name() {
    const { parameters, work, id, posted } = this.#activation
    return parameters.name || (typeof work === 'function' || work instanceof Task ? work.name : '') ||
      (posted ? 'task' : `job ${id}`)
  }
  /** @returns {Task | null} */
  get task() {
    const { work } = this.#activation
    return work instanceof Task ? work : null
  }
  get state() {
    const { state, dispatcher } = this.#activation
    if (dispatcher.running === this.#activation) return dispatcher.inRound ? 'running' : 'ready'
    return isOut(this.#activation) ? 'depleted' : STATES[state]
  }
  /** Host timestamp, ms. */
  get release() { return this.#activation.release }
  /** Host timestamp, ms; Infinity without a deadline. */
  get absoluteDeadline() { return this.#activation.absoluteDeadline }
  /** Host timestamp of the first dispatch, ms. @returns {number | undefined} */
  get started() { return this.#activation.started }
  /** Host timestamp, ms. @returns {number | undefined} */
  get finished() { return this.#activation.finished }
  /** Execution time received, ms. */
  get cost() { return this.#activation.cost }
  /** Whether it was noticed unfinished, or finished, after its deadline. */
  get missed() { return this.#activation.missed }
  /** `finished - absoluteDeadline`, signed, ms; undefined until it has finished. @returns {number | undefined} */
  get lateness() {
    const { finished, absoluteDeadline } = this.#activation
    return finished === undefined ? undefined : finished - absoluteDeadline
  }
  /** How often it had to hand over the processor while it could go on. */
  get preemptions() { return this.#activation.preemptions }

  /** Relative deadline, ms after release. Setting it moves the job in its queue at once. */
  get deadline() { return this.#activation.deadline }
  set deadline(value) {
    positive('deadline', value)
    this.#activation.dispatcher.setDeadline(this.#activation, value)
  }
  /** Larger is more important. Setting it moves the job in its queue at once. */
  get priority() { return this.#activation.priority }
  set priority(value) {
    finite('priority', value)
    this.#activation.dispatcher.rekey(this.#activation, 'priority', value)
  }
  /** ms; Infinity without one. */
  get period() { return this.#activation.parameters.period }
  /** The preemption level, fixed at release (Baker 1991). */
  get level() { return this.#activation.level }

  /**
   * @template [R=T], [E=never]
   * @param {((value: T) => R | PromiseLike<R>) | null} [onDone]
   * @param {((error: any) => E | PromiseLike<E>) | null} [onFailed]
   * @returns {Promise<R | E>}
   */
  then(onDone, onFailed) {
    return promiseOf(this.#activation).then(onDone, onFailed)
  }
  /** @template [E=never] @param {((error: any) => E | PromiseLike<E>) | null} [onFailed] @returns {Promise<T | E>} */
  catch(onFailed) {
    return this.then(/** @type {any} */ (undefined), onFailed)
  }
  /** @param {(() => void) | null} [onEnded] @returns {Promise<T>} */
  finally(onEnded) {
    return promiseOf(this.#activation).finally(onEnded)
  }

  /**
   * Cancels the job: `reason` is thrown once at its current `yield`, innermost call first; inside a critical section
   * at the first yield after it. What the job waited for is let go of; its `finally` blocks may yield and wait. A job
   * that has not started ends at once; one that catches the reason goes on. An async job that awaits something else is
   * told at its next yield, and has not ended until its code has.
   *
   * @param {unknown} [reason] default: an AbortError
   * @returns {boolean} whether this call cancelled it: false when it had ended or had been cancelled already
   */
  cancel(reason) {
    return this.#activation.dispatcher.cancel(this.#activation, reason === undefined ? abortError() : reason)
  }

  /**
   * In an async job: passes a preemption point, wherever its code has been meanwhile.
   *
   * @returns {Promise<void>} resolved when the policy picks the job again; rejected when it has been cancelled, and in a
   *   task whenever its signal has been aborted
   * @throws {TypeError} in a generator job, which writes `yield`
   */
  yield() {
    return yieldIn(this.#activation)
  }

  /** For `yield* job`, which types the result. @returns {Generator<Job<T>, T, unknown>} */
  *[Symbol.iterator]() {
    return /** @type {T} */ (yield this)
  }
  get [Symbol.toStringTag]() { return 'Job' }
}

// --------------------------------------------------------------------------- 4a what a job may wait for

const IDLE = 0
const BEGUN = 1
const FULFILLED = 2
const REJECTED = 3

/**
 * The property that tells waitables from other values, at less than the price of `instanceof`: null where a job that yields
 * it waits for it; of calls, what begins it for the job that yields it first, and gives what that job drives.
 */
const asCall = Symbol('as call')

/**
 * Something to wait for: lazy, acts once, then repeats its outcome. Derived classes override `begin`, which is
 * called when somebody waits for it first and settles it by `wake` or `fail`, at once or later; and `undo`, called
 * when the last waiter leaves before that, after which it can begin anew.
 */
class Waitable extends HeapNode {
  static BEGUN = BEGUN

  /** Whether waiting for it may take time, so that it is forbidden in critical sections. */
  get mayBlock() { return true }
  /**
   * Whether its outcome would be lost if the job did not get it, as a message or a lock would: a job that is cancelled
   * after it has been woken gets it all the same, and the reason at its next yield.
   */
  get handsOver() { return false }
  /**
   * Whether a job that wakes its equals by it, and need not wait, goes on to its next yield, and further if that is
   * another such; else it hands over at once. Jobs that talk to each other change places half as often if it is.
   */
  get goesOn() { return false }

  /**
   * @param {any} value
   * @returns {Waitable | null} the value itself, or what waits for it: a job or a thenable; null if it is none
   */
  static of(value) {
    if (value instanceof Waitable) return value
    if (isJob(value)) {
      activationOf(value).handled = true
      return new Join(activationOf(value))
    }
    return isThenable(value) ? new Settlement(value) : null
  }

  constructor() {
    super()
    this.phase = IDLE
    /** @type {any} */
    this.outcome = undefined
    /** @type {Waiter | null} */
    this.waiter = null
    /** All but the first. @type {Waiter[] | null} */
    this.others = null
    /** On whose behalf; null outside jobs. @type {Activation | null} */
    this.activation = null
    this.order = 0
    /** @type {Standing | null} */
    this.rank = null
  }

  static {
    Object.assign(this.prototype, { [asCall]: null })
  }
  get isFulfilled() { return this.phase === FULFILLED }
  /** By which it waits, asked for when the order matters. @returns {Standing} */
  get standing() { return this.rank ??= standingToLend(this.activation) }

  /** Jobs each of which must act before this can be over, as the owner of a lock. @returns {(Job | null)[]} */
  owners() {
    return this.queue === null ? [] : [this.queue.owner]
  }

  /** @param {Job | null} job on whose behalf; null outside jobs */
  begin(job) {}
  undo() {
    if (this.queue !== null) this.queue.remove(this)
  }
  /** Whether it may matter how the job stands that waits. */
  get isRanked() { return true }
  /** The standing of the job that waits has changed. */
  refresh() {
    if (this.queue !== null) this.queue.update(this)
  }

  /** @param {any} [value] */
  wake(value) {
    settle(this, FULFILLED, value)
  }
  /** @param {unknown} error */
  fail(error) {
    settle(this, REJECTED, error)
  }

  /**
   * @param {Waiter} waiter told by `woken(this)`, once, unless this returns true or it leaves
   * @returns {boolean} whether the outcome is there already
   */
  enlist(waiter) {
    if (this.phase === IDLE) {
      this.phase = BEGUN
      try {
        this.begin(waiter.job)
      } catch (error) {
        this.fail(error)
      }
    }
    if (this.phase >= FULFILLED) return true
    if (this.waiter === null) this.waiter = waiter
    else (this.others ??= []).push(waiter)
    return false
  }

  /** @param {Waiter} waiter */
  leave(waiter) {
    if (this.waiter !== waiter) {
      this.others?.splice(this.others.indexOf(waiter) >>> 0, 1)
      return
    }
    this.waiter = this.others?.shift() ?? null
    if (this.phase !== BEGUN) return
    if (this.waiter === null) {
      this.phase = IDLE
      this.undo()
    } else if (this.queue !== null) {
      // Its place in a queue was that of the job that leaves.
      const { queue } = this
      queue.remove(this)
      queue.push(this, this.waiter.job)
    }
  }

  /** For `await` in async code. @param {any} [onDone] @param {any} [onFailed] @returns {Promise<any>} */
  then(onDone, onFailed) {
    return new Promise((resolve, reject) => {
      const waiter = {
        job: null,
        woken: () => this.phase === FULFILLED ? resolve(this.outcome) : reject(this.outcome)
      }
      if (this.enlist(waiter)) waiter.woken()
    }).then(onDone, onFailed)
  }

  /** For `yield* waitable`, which types the outcome. @returns {Generator<this, any, any>} */
  *[Symbol.iterator]() {
    return yield this
  }
}

/**
 * No private method: its calls check what it is called on, which makes a communication cost a fifth more (CommsTime).
 *
 * @param {Waitable} waitable @param {number} phase @param {any} outcome
 */
function settle(waitable, phase, outcome) {
  if (waitable.phase >= FULFILLED) return
  const { waiter, others } = waitable
  waitable.phase = phase
  waitable.outcome = outcome
  if (waiter === null) return
  waitable.waiter = waitable.others = null
  waiter.woken(waitable)
  if (others !== null) others.forEach(other => other.woken(waitable))
}

/** @typedef {{ job: Job | null, woken: (waitable: Waitable) => void }} Waiter */
/**
 * What one may wait for: by `yield` or `yield*` in jobs, by `await` anywhere.
 *
 * @template [T=unknown]
 * @typedef {PromiseLike<T> & { [Symbol.iterator](): Generator<Awaitable<T>, T, unknown> }} Awaitable
 */

/** Waits for a promise or thenable. */
class Settlement extends Waitable {
  get isRanked() { return false }
  /** @param {PromiseLike<any>} thenable */
  constructor(thenable) {
    super()
    this.thenable = thenable
    /** @type {Dispatcher | null} */
    this.dispatcher = null
    this.round = 0
  }
  /** @param {Job | null} job */
  begin(job) {
    this.dispatcher = job && activationOf(job).dispatcher
    if (this.dispatcher !== null) this.dispatcher.holds++
    this.#follow(this.thenable)
  }
  undo() {
    this.round++ // what the thenable still says is not for the next waiter
    this.#letGo()
  }
  /** @param {PromiseLike<any>} thenable */
  #follow(thenable) {
    const round = ++this.round
    const reject = (/** @type {unknown} */ error) => {
      if (round !== this.round) return
      this.round++
      this.#letGo()
      this.fail(error)
    }
    try {
      thenable.then(value => {
        if (round !== this.round) return
        try {
          if (isThenable(value)) return this.#follow(value)
        } catch (error) {
          return reject(error)
        }
        this.round++
        this.#letGo()
        this.wake(value)
      }, reject)
    } catch (error) {
      reject(error)
    }
  }
  #letGo() {
    if (this.dispatcher !== null) this.dispatcher.holds--
    this.dispatcher = null
  }
}

/** Waits for another job to end. */
class Join extends Waitable {
  /** @param {Activation} target */
  constructor(target) {
    super()
    this.target = target
  }
  get name() { return this.target.job.name }
  /** @param {Job | null} job */
  begin(job) {
    const { target } = this
    if (target.state >= DONE) return this.end()
    const queue = extrasOf(target).joiners ??= new Queue(target.job)
    queue.push(this, job)
  }
  end() {
    const { state, outcome } = this.target
    if (state === DONE) this.wake(outcome)
    else this.fail(outcome)
  }
}

/** @param {unknown} value @returns {value is PromiseLike<any>} */
const isThenable = value => (typeof value === 'object' || typeof value === 'function') && value !== null &&
  typeof (/** @type {any} */ (value).then) === 'function'

/**
 * Those who wait, the most eligible first, equals in order of arrival. The owner of the queue has a standing at least as good
 * as its first (priority inheritance; Sha, Rajkumar, Lehoczky 1990).
 *
 * @extends {Heap<Waitable>}
 */
class Queue extends Heap {
  /** @type {Activation | null} */
  #owner = null
  /** @type {(() => void) | null} */
  #orphaned
  /** By whose policy it is ordered: that of the first job that waits. @type {Dispatcher | null} */
  #dispatcher = null
  #arrivals = 0

  /** @param {Job | null} [owner] @param {() => void} [orphaned] called when its owner has ended; by default it has none then */
  constructor(owner = null, orphaned) {
    super()
    this.#orphaned = orphaned ?? null
    this.owner = owner
  }

  /** @param {Waitable} a @param {Waitable} b */
  order(a, b) {
    return this.#dispatcher?.compareStandings(a.standing, b.standing) || a.order - b.order
  }

  get owner() { return this.#owner && this.#owner.job }
  set owner(job) {
    const next = job && activationOf(job)
    const last = this.#owner
    if (next === last) return
    this.#owner = next
    if (last !== null) {
      const { owned } = extrasOf(last)
      owned.splice(owned.indexOf(this), 1)
      last.dispatcher.refresh(last)
    }
    if (next !== null) {
      extrasOf(next).owned.push(this)
      next.dispatcher.refresh(next)
    }
  }
  /** Its owner has ended. */
  orphan() {
    if (this.#orphaned === null) this.owner = null
    else this.#orphaned()
  }

  /** @param {Waitable} waitable @param {Job | null} [job] on whose behalf */
  push(waitable, job = null) {
    const activation = job && activationOf(job)
    if (this.size === 0) this.#dispatcher = null
    this.#dispatcher ??= activation && activation.dispatcher
    waitable.activation = activation
    waitable.rank = null
    waitable.order = this.#arrivals++
    super.push(waitable)
    if (this.#owner !== null) this.#lend()
  }
  /** @param {Waitable} waitable nothing happens when it is not inside */
  remove(waitable) {
    if (waitable.queue !== this) return
    super.remove(waitable)
    if (this.#owner !== null) this.#lend()
  }
  /** The job on whose behalf it waits stands otherwise. @param {Waitable} waitable */
  update(waitable) {
    super.remove(waitable)
    waitable.rank = null
    super.push(waitable)
    if (this.#owner !== null) this.#lend()
  }

  #lend() {
    const owner = /** @type {Activation} */ (this.#owner)
    owner.dispatcher.refresh(owner)
  }
}

/**
 * Whose keys decide. It never changes while anybody is queued by it: a job is taken out of its queue before its own keys
 * change, and what it lends to others is a copy.
 *
 * @typedef {{ readonly band: number, readonly job: Ranked, readonly ranked?: Ranked, readonly payer?: ReservationHook }} Standing
 *   `payer`: who is charged for what runs by it
 */

/** Those who await outside jobs. @type {Standing} */
const NOBODY = { band: 0, job: { absoluteDeadline: Infinity, priority: 0 } }

/** @param {Activation | null} a @returns {Standing} */
function standingToLend(a) {
  if (a === null) return NOBODY
  if (a.standing !== a) return a.standing
  return extrasOf(a).rank ??= { band: 0, job: rankOf(a.job) }
}

/** @param {Job} job @returns {Ranked} what a policy may compare jobs by */
const rankOf = ({ id, name, task, release, deadline, absoluteDeadline, priority, period }) =>
  ({ id, name, task, release, deadline, absoluteDeadline, priority, period })

/**
 * @param {Activation} waiting @param {Waitable} waitable for which it is about to wait
 * @throws {DeadlockError} when somebody who must act before that is over waits, through others, for this job
 */
function refuseCycle(waiting, waitable) {
  // Only a job that somebody waits for can close a circle: most waits need not walk the chain.
  if (!waiting.extras.owned.some(queue => queue.size > 0)) return
  /** Who waits for whom, on the way from the job. @type {Map<Activation, Activation | null>} */
  const waiters = new Map()
  const follow = (/** @type {Waitable | null} */ awaited, /** @type {Activation | null} */ waiter) => {
    for (const job of awaited?.owners() ?? []) {
      const next = job && activationOf(job)
      if (next && !waiters.has(next)) waiters.set(next, waiter)
    }
  }
  follow(waitable, null)
  for (const a of waiters.keys()) {
    if (a === waiting) {
      waitable.leave(waiting)
      throw deadlock(waiters, waiting)
    }
    follow(a.waiting, a)
  }
}

/** @param {Map<Activation, Activation | null>} waiters @param {Activation} waiting */
function deadlock(waiters, waiting) {
  const jobs = []
  for (let a = /** @type {Activation | null | undefined} */ (waiting); a; a = waiters.get(a)) jobs.unshift(a.job)
  const names = [waiting.job, ...jobs].map(job => job.name)
  const shown = names.length <= 12 ? names : [...names.slice(0, 6), `${names.length - 12} more`, ...names.slice(-6)]
  return new DeadlockError(`deadlock: ${shown.join(' waits for ')}`, jobs)
}

// -------------------------------------------------------------------------------------- 4b resuming a job

/** Of every generator object of this realm, whoever made it. */
const generatorPrototype = Object.getPrototypeOf(function* () {}).prototype
/** What resumes each of them. Called by this name, it need not be looked up in a hot loop in which many kinds of them meet. */
const { next } = generatorPrototype

const UNSTARTED = Symbol('unstarted')

// How a resume ends. DONE and FAILED are the states.
const POINT = -1 // at a preemption point, and able to go on
const BLOCKED = -2
const ASYNC = -3 // in async code, which runs when the stack is empty
const AWAY = -4 // async code that waits for something foreign

/**
 * Marks what a job has been made of, or is calling: driven by two, it would end with nothing for one of them. A property
 * costs a tenth of what a WeakSet would (4 ns a call, Node 20).
 */
const driven = Symbol('driven by a job')

/** @param {any} iterator */
function drives(iterator) {
  try {
    iterator[driven] = true
  } catch {} // frozen: then it goes unnoticed
}

/** Yields since the dispatcher last asked. */
let received = 0

/** @param {any} value @returns {boolean} whether it is a call, to be driven */
const isIterator = value => typeof value === 'object' && value !== null &&
  (value.next === next || (typeof value.next === 'function' && value[Symbol.asyncIterator] === undefined))

/** @param {Activation} a @param {any} value @returns {any} what the job calls by yielding it; null where it calls nothing */
function calleeOf(a, value) {
  const call = value?.[asCall]
  if (call === undefined) return isIterator(value) ? value : null
  if (call === null || value.phase !== IDLE) return null
  value.phase = BEGUN
  return call.call(value, a.job)
}

/** @param {any} leaf @param {any} error */
function throwInto(leaf, error) {
  if (typeof leaf.throw === 'function') return leaf.throw(error)
  // As `yield*` does: an iterator that cannot be thrown into is closed, and its caller gets the error.
  leaf.return?.()
  throw error
}

/** A call that has begun, outside of the scheduler, and has yielded: the rest of it, from that yield on. */
class Suspended {
  /** @param {any} generator @param {IteratorResult<any, any>} step */
  constructor(generator, step) {
    this.generator = generator
    /** @type {IteratorResult<any, any> | null} */
    this.step = step
  }

  /** What it yielded. */
  take() {
    const { step } = this
    this.step = null
    return step?.value
  }

  /** @param {any} input */
  next(input) {
    const { step, generator } = this
    if (step === null) return generator.next(input)
    this.step = null
    return step
  }

  /** @param {any} error */
  throw(error) {
    this.step = null
    return throwInto(this.generator, error)
  }

  /** @param {any} value */
  return(value) {
    this.step = null
    return this.generator.return?.(value) ?? { done: true, value }
  }
}

Object.setPrototypeOf(Suspended.prototype, generatorPrototype)

/** What a job waits for, as users know it. @param {Waitable} waitable */
const subjectOf = waitable => waitable instanceof Join ? waitable.target.job
  : waitable instanceof Settlement ? waitable.thenable : waitable

/** @param {Activation} a @param {any} value @returns {Waitable} */
function waitableOf(a, value) {
  if (value === a.job) throw new TypeError(`${a.job.name} waits for itself`)
  const waitable = Waitable.of(value)
  if (waitable === null) {
    throw new TypeError(
      `a job may yield nothing, a generator, a promise, a job or a waitable; ${a.job.name} yielded ${describe(value)}` +
      (Array.isArray(value) ? ': for several at once, yield par(...) of sync.mjs, or Promise.all(...)' : ''))
  }
  return waitable
}

/** Whether a cancellation is still to be thrown into the job, and may be. @param {Activation} a */
const isDoomed = a => a.extras.reason !== NOT_CANCELLED && !a.extras.delivered && a.extras.gates === 0

/** @param {Activation} a */
function takeReason(a) {
  a.extras.delivered = true
  return a.extras.reason
}

/**
 * Resumes a generator until it yields something, ends, or has used up the budget.
 *
 * @param {any} generator @param {any} input
 * @returns {IteratorResult<any, any>} the last step
 */
function advance(generator, input) {
  const step = next.call(generator, input)
  return step.value === undefined && !step.done ? passPoints(generator, step) : step
}

/**
 * A function of its own, so that the compiler sees one short loop (in one with `advance`, CommsTime costs 7 % more).
 *
 * @param {any} generator @param {IteratorResult<any, any>} step at a preemption point
 * @returns {IteratorResult<any, any>} the last step
 */
function passPoints(generator, step) {
  while (step.value === undefined && !step.done) {
    const { left } = budget // which is the job's to write
    if (!(left > 1)) break
    budget.left = left - 1
    received++
    step = next.call(generator)
  }
  return step
}

/** How many calls a job may nest: recursion without end is to end by an error, not by the memory. */
const MOST_CALLS = 2 ** 21
/** How many calls may end, one behind the other, until that is taken for a preemption point: an error may end millions. */
const MOST_ENDS = 64

/** Has a job go on in a generator, or another iterator. @param {Activation} a @param {any} leaf */
function enter(a, leaf) {
  a.leaf = leaf
  a.isNative = leaf.next === next
}

/** @param {Activation} a @param {any} callee of its innermost generator */
function call(a, callee) {
  const callers = a.callers ??= []
  callers.push(a.leaf)
  enter(a, callee)
}

/** @param {Activation} a @returns {boolean} whether the innermost generator, which has ended, has a caller to go on */
function leaveCall(a) {
  const { leaf } = a
  const caller = a.callers?.pop()
  if (caller === undefined) return false
  if (leaf[driven] === true) leaf[driven] = false
  enter(a, caller)
  return true
}

/** @param {Activation} a @throws {RangeError} into the innermost call: recursion without end is to end by an error */
function refuseDepth(a) {
  if (/** @type {any[]} */ (a.callers).length <= MOST_CALLS) return
  throw new RangeError(`${a.job.name} has more than ${MOST_CALLS} calls that have not ended`)
}

/**
 * Leaves a job at a point.
 *
 * @param {Activation} a @param {any} input for the next resume @param {boolean} throwing @param {boolean} kept
 * @returns {number} POINT
 */
function stopAt(a, input, throwing, kept) {
  a.input = input
  a.throwing = throwing
  a.kept = kept
  return POINT
}

/** @param {Activation} a @param {any} outcome @param {boolean} isError @returns {number} DONE or FAILED */
function conclude(a, outcome, isError) {
  a.leaf = null
  a.outcome = outcome
  return isError ? FAILED : DONE
}

/**
 * Does what a job asks for by what it yields, other than a point: a call, or to wait.
 *
 * @param {Activation} a @param {any} value
 * @returns {Waitable | null} what is waited for; if it is over, so is the waiting: else it is `a.waiting`
 */
function accept(a, value) {
  // Asked first: to learn what they are not, `instanceof` climbs their whole chain of prototypes.
  const isWaitable = value?.[asCall] === null
  if (!isWaitable && value instanceof Suspended) {
    while (value instanceof Suspended) {
      call(a, value.generator)
      value = value.take()
    }
    refuseDepth(a)
    if (value === undefined) return null
  }
  if (isDoomed(a)) throw takeReason(a)
  const callee = isWaitable ? null : calleeOf(a, value)
  if (callee === null) return waitFor(a, isWaitable ? value : waitableOf(a, value))
  if (callee.next === next) {
    if (callee[driven] === true) throw new TypeError(`${a.job.name} yielded the generator that is running already`)
    drives(callee)
  }
  call(a, callee)
  refuseDepth(a)
  return null
}

/** @param {Activation} a @param {Waitable} waitable @returns {Waitable} the same; unless it is over, it is `a.waiting` */
function waitFor(a, waitable) {
  if (a.extras.gates > 0 && waitable.mayBlock) throw new TypeError(`${a.job.name} waits inside a critical section`)
  if (!waitable.enlist(a)) {
    refuseCycle(a, waitable)
    a.waiting = waitable
  }
  return waitable
}

/**
 * Resumes a job until its budget is used up, it waits, or it ends. The scheduler keeps the stack of calls itself,
 * so that a yield costs the same at any depth, and depth is bounded by MOST_CALLS only.
 *
 * @param {Activation} a
 * @returns {number} POINT, BLOCKED, ASYNC, DONE or FAILED; the last two with `a.outcome`
 */
function drive(a) {
  let { input, throwing } = a
  /** Points that were left when the job woke an equal and went on. */
  let spared = 0
  /** Calls that have ended one after the other. */
  let ended = 0
  a.input = undefined
  a.throwing = a.kept = false
  if (a.leaf === UNSTARTED) {
    const outcome = start(a)
    if (outcome !== POINT) return outcome
  } else if (a.leaf === null) {
    return a.extras.driver?.isAsync ? a.extras.driver.resume(throwing, input) : conclude(a, input, throwing)
  }
  for (;;) {
    const { leaf } = a
    let value
    let done
    try {
      const step = throwing ? throwInto(leaf, input) : a.isNative ? advance(leaf, input) : leaf.next(input)
      value = step.value
      done = step.done
      throwing = false
    } catch (error) {
      value = error
      done = throwing = true
    }
    if (done) {
      if (!leaveCall(a)) return throwing ? conclude(a, value, true) : finishWith(a, value)
      input = value
      if (++ended < MOST_ENDS) continue
      return stopAt(a, input, throwing, true) // no job is at a yield here, to which a cancellation could be thrown
    }
    received++
    ended = 0
    input = undefined
    const before = spared > 0 ? spared : budget.left
    spared = 0
    /** @type {Waitable | null} */
    let acted = null
    if (value !== undefined) {
      try {
        acted = accept(a, value)
        if (acted !== null) {
          if (acted.phase < FULFILLED) return BLOCKED
          input = acted.outcome
          throwing = acted.phase === REJECTED
        }
      } catch (error) {
        input = error
        throwing = true
      }
    }
    const { left } = budget
    if (typeof left === 'number' && left > 1) {
      budget.left = left - 1
    } else if (acted !== null && acted.goesOn && typeof before === 'number' && before > 1 && !a.dispatcher.cut) {
      spared = before - 1
      a.dispatcher.granted++
      budget.left = 1
    } else {
      budget.left = 0
      return stopAt(a, input, throwing, acted !== null && acted.handsOver && !throwing)
    }
  }
}

/** Calls a job's function. What it returns decides. @param {Activation} a @returns {number} */
function start(a) {
  const { work, args } = a
  const before = certain
  a.leaf = null
  certain = a
  try {
    const isFunction = typeof work === 'function'
    const run = isFunction ? work : work.run
    const self = isFunction ? undefined : work
    const isAsync = run[Symbol.toStringTag] === 'AsyncFunction'
    const given = isAsync && !a.posted ? [a.job, ...args] : args
    const context = contextual === undefined ? contextual = engineContext() : contextual
    const result = context !== null ? context.run(a, () => Reflect.apply(run, self, given)) : Reflect.apply(run, self, given)
    // A generator is work; other iterators that a task returns are results, as the platform has it.
    const isResult = a.posted && isIterator(result) && !generatorPrototype.isPrototypeOf(result)
    const callee = isResult || isJob(result) ? null : calleeOf(a, result)
    if (callee !== null) {
      enter(a, callee)
      return POINT
    }
    if (result?.[Symbol.asyncIterator] !== undefined && typeof result.next === 'function') {
      throw new TypeError(`${a.job.name} is an async generator, which cannot be driven; write a generator`)
    }
    if (!isThenable(result) || isJob(result) || result instanceof Waitable) return finishWith(a, result)
    driverOf(a).follow(result)
    return ASYNC
  } catch (error) {
    return conclude(a, error, true)
  } finally {
    certain = before
    // It has yielded, although it is no async function.
    if (a.extras.driver !== null && !a.extras.driver.isAsync) a.extras.driver.resume(false, undefined)
  }
}

/** A result that is itself to be waited for is, as `await` does it. @param {Activation} a @param {any} result */
function finishWith(a, result) {
  a.leaf = null
  try {
    if (!isThenable(result)) return conclude(a, result, false)
    const { outcome, phase } = waitFor(a, waitableOf(a, result))
    return a.waiting !== null ? BLOCKED : conclude(a, outcome, phase === REJECTED)
  } catch (error) {
    return conclude(a, error, true)
  }
}

/** The promise of a job's outcome, made when somebody asks. @param {Activation} a @returns {Promise<any>} */
function promiseOf(a) {
  a.handled = true
  return basePromise(a)
}

/** @param {Activation} a @returns {Promise<any>} */
function basePromise(a) {
  if (a.deferred !== null) return a.deferred.promise
  const deferred = a.deferred = /** @type {Deferred} */ ({})
  deferred.promise = new Promise((resolve, reject) => {
    deferred.resolve = resolve
    deferred.reject = reject
  })
  if (a.state >= DONE) settlePromise(a, deferred)
  return deferred.promise
}

/** @param {Activation} a ended @param {Deferred} deferred */
function settlePromise(a, { promise, resolve, reject }) {
  if (a.state === DONE) return resolve(a.outcome)
  reject(a.outcome)
  if (a.state === CANCELLED) promise.catch(() => {}) // a cancellation is never reported as unhandled
}

// ------------------------------------------------------------------------------------------- 5 Scheduler

/** @typedef {{ type: string, time: number, job: Job | null, [more: string]: unknown }} TraceRecord one event of a schedule */

/**
 * @typedef {object} SchedulerOptions
 * @property {Policy} [policy] `edf` (default), `fp`, `rm`, or one of your own
 * @property {number} [slice] ms before jobs of equal standing rotate; default 1; may be Infinity
 * @property {number} [round] ms before the scheduler returns to the event loop; default 5; may be Infinity
 * @property {number | 'auto'} [budget] preemption points between two readings of the clock; default 'auto'
 * @property {Host} [host] default: the platform's
 * @property {boolean} [paused] default false
 * @property {boolean} [closed] report when nothing is left that could wake the waiting jobs; default false
 * @property {(job: Job) => void} [onMiss] called once per job, when its miss is noticed
 * @property {(job: Job) => void} [onOverrun] called once per job, when its cost exceeds its wcet
 * @property {(job: Job | null, ms: number, by?: string) => void} [onStall] called when one budget outlasted the slice; or
 *   something else kept the thread for as long: then `job` is null, and `by` names it, as 'alarm tick' or 'onMiss'
 * @property {(error: unknown, job: Job | null) => void} [onError] called with the error of a job that nobody has
 *   asked for by the end of the round, and with errors of callbacks; default: as the platform reports
 */

/**
 * The options in force.
 *
 * @typedef {Required<Pick<SchedulerOptions, 'policy' | 'slice' | 'round' | 'host' | 'paused' | 'closed'>>
 *   & Pick<SchedulerOptions, 'onMiss' | 'onOverrun' | 'onStall' | 'onError'>
 *   & { budget: number, isKnown: boolean }} Settings isKnown: whether to compare jobs runs no code of users
 */

const SLICE = 1
const ROUND = 5
/**
 * Turns of the microtask queue after which an async job that shows no sign is taken to wait for something else. Each async
 * function that returns takes one: with 4, a yield in helpers four deep leaves the scheduler, with 16 in helpers 25 deep.
 */
const PATIENCE = 32
/**
 * Those left to what awaits a task, before the next task. With 2, tasks that are posted in a loop, each awaited before the next,
 * wait for lesser ones; 3 are enough for that, 4 where the loop awaits them through an async function.
 */
const CHECKPOINT = 4

/** How often observers may change who is dispatched. */
const MOST_TRIES = 8
/** How much of what is due is settled without a look at the clock. */
const UNREAD = 64

// ------------------------------------------------------------------------------------------- 5a the timeline

// The order in which things that are due at one reading of the clock happen.
const REPLENISHMENT = 0
const ALARM = 1
const RELEASE = 2
const MISS = 3

/** The next time after one >= 0: what happens then happens no earlier, and not with what is due at `time`. @param {number} time */
const justAfter = time => time + Math.max(Math.abs(time) * Number.EPSILON * 0.75, Number.MIN_VALUE)

/** Something that happens at a time; `subject` is a job, or the function to call. */
class Entry extends HeapNode {
  /**
   * @param {Dispatcher} dispatcher @param {number} time @param {number} key when it happens @param {number} order
   * @param {number} kind @param {any} subject @param {boolean} ref
   */
  constructor(dispatcher, time, key, order, kind, subject, ref) {
    super()
    this.dispatcher = dispatcher
    this.time = time
    this.key = key
    this.order = order
    this.kind = kind
    this.subject = subject
    this.ref = ref
  }

  /** @returns {boolean} whether it was still to happen */
  cancel() {
    const { dispatcher } = this
    this.subject = undefined // it may be about to be called
    const there = dispatcher.timeline.remove(this)
    if (there) dispatcher.loop.rest()
    return there
  }
}

/** What is to happen, by time, then creation: of each kind apart. */
class Timeline {
  lines = [REPLENISHMENT, ALARM, RELEASE, MISS].map(() =>
    /** @type {Heap<Entry>} */ (new Heap((a, b) => a.key - b.key || a.order - b.order)))
  /** No entry is due earlier. */
  due = Infinity
  /** Entries that keep the process alive. */
  refs = 0
  /** Whether some of what is due has been left for later. */
  isLate = false
  #created = 0
  /** The key of the entry that is happening. */
  #settled = -Infinity
  #dispatcher

  /** @param {Dispatcher} dispatcher */
  constructor(dispatcher) {
    this.#dispatcher = dispatcher
  }

  /** When the next entry is due. */
  get next() {
    let next = Infinity
    for (const { first } of this.lines) if (first !== null && first.key < next) next = first.key
    return next
  }

  /** @param {number} kind @param {number} time @param {any} subject @param {boolean} ref @returns {Entry} */
  at(kind, time, subject, ref) {
    // What sets itself anew for a time that has been settled waits for the next reading.
    const key = time > this.#settled ? time : this.#dispatcher.time
    const entry = new Entry(this.#dispatcher, time, key, this.#created++, kind, subject, ref)
    this.lines[kind].push(entry)
    if (ref) this.refs++
    if (key < this.due) this.due = key
    return entry
  }

  /** @param {Entry} entry @returns {boolean} whether it was still there */
  remove(entry) {
    if (entry.queue === null) return false
    this.lines[entry.kind].remove(entry)
    if (entry.ref) this.refs--
    return true
  }

  /**
   * Has happen what is due.
   *
   * @param {number} time @param {number} until when the rest is left for later
   */
  settle(time, until) {
    this.isLate = false
    for (const line of this.lines) this.#settleLine(line, time, until)
    this.#settled = -Infinity
    this.due = this.next
    this.isLate &&= this.due <= time // what was left may have been cancelled
  }

  /** @param {Heap<Entry>} line @param {number} time @param {number} until */
  #settleLine(line, time, until) {
    const dispatcher = this.#dispatcher
    const created = this.#created
    let settled = 0
    for (let entry = line.first; entry !== null && entry.key <= time && !dispatcher.paused; entry = line.first) {
      if (entry.order >= created && (entry.key <= this.#settled || entry.time < entry.key)) break
      // Of replenishments there is one for each reservation, and who is next depends on all of them. What does not read
      // the clock is counted.
      if (settled > 0 && entry.kind !== REPLENISHMENT && dispatcher.time >= until) {
        this.isLate = true
        break
      }
      if (++settled % UNREAD === 0) dispatcher.read()
      this.#settled = entry.key
      line.shift()
      if (entry.ref) this.refs--
      dispatcher.happen(entry)
    }
  }
}

// ------------------------------------------------------------------------------------------ 5b the event loop

/** How many rounds this thread is in: those of several schedulers never nest. */
let rounds = 0
/** While an event is handed on: who takes a turn right after it. @type {Set<EventLoop> | null} */
let following = null

/** The turns that a scheduler gets from its host: a post while there is work, one timer when there will be. */
class EventLoop {
  isPosted = false
  /** ms that rounds have taken since the host was last asked for a turn. */
  taken = 0
  /** @type {(() => void) | null} */
  #disarm = null
  #armedFor = Infinity
  #armedRef = false
  #dispatcher
  #host

  /** @param {Dispatcher} dispatcher */
  constructor(dispatcher) {
    this.#dispatcher = dispatcher
    this.#host = dispatcher.host
  }

  /** Has the host call again when there is something to do. @param {boolean} [goesOn] after a round */
  rest(goesOn = false) {
    const dispatcher = this.#dispatcher
    if (dispatcher.inRound || this.isPosted && following === null) return
    if (dispatcher.paused) this.#arm(Infinity)
    else if (!dispatcher.hasWork) this.#arm(dispatcher.timeline.next)
    else if (following !== null && this.taken < dispatcher.round) following.add(this)
    else if (!this.isPosted) this.#post(goesOn)
  }

  /** Takes back the timer; a turn that has been posted counts no more once the dispatcher has another loop. */
  stop() {
    this.#arm(Infinity)
  }

  /**
   * Takes a turn right after an event: a slice at most, and no more than a round until the host has been asked for a turn,
   * or a flood of events would keep the event loop from all its other work.
   */
  follow() {
    const dispatcher = this.#dispatcher
    if (dispatcher.paused || rounds > 0) this.rest()
    else dispatcher.takeTurn(Math.min(dispatcher.slice, dispatcher.round - this.taken))
  }

  /** @param {boolean} goesOn */
  #post(goesOn) {
    this.taken = 0
    this.#arm(Infinity)
    this.isPosted = true
    try {
      this.#host.post(this.#onTurn, goesOn)
    } catch (error) {
      this.isPosted = false
      this.#dispatcher.report(error, null)
      this.#arm(this.#dispatcher.time, true, false) // a host that refuses a turn may have a timer
    }
  }

  #onTurn = (due = Infinity) => {
    const dispatcher = this.#dispatcher
    if (dispatcher.loop !== this) return
    this.isPosted = false
    dispatcher.takeTurn(dispatcher.round - this.taken, dispatcher.round > FRAME ? Infinity : due)
  }

  /**
   * Has the host call at `time`, by one timer.
   *
   * @param {number} time @param {boolean} [ref] @param {boolean} [postsInstead] where the host refuses a timer
   */
  #arm(time, ref = this.#dispatcher.timeline.refs > 0, postsInstead = time < Infinity) {
    if (time === this.#armedFor && ref === this.#armedRef) return
    const disarm = this.#disarm
    const dispatcher = this.#dispatcher
    this.#disarm = null
    this.#armedFor = time
    this.#armedRef = ref
    try {
      disarm?.()
      if (time < Infinity) this.#disarm = this.#host.after(Math.max(0, time - dispatcher.read()), this.#onTimer, { ref })
    } catch (error) {
      this.#armedFor = Infinity
      dispatcher.report(error, null)
      if (postsInstead && !this.isPosted) this.#post(false)
    }
  }

  #onTimer = () => {
    this.#disarm = null
    this.#armedFor = Infinity
    this.taken = 0
    this.#dispatcher.takeTurn()
  }
}

// ------------------------------------------------------------------------------------------------- 5c accounts

/** @type {new () => Settings} */
const Configured = /** @type {any} */ (class {})

/** What the clock says, to whom it is charged, and who is told what. */
class Accounts extends Configured {
  /** The latest reading of the clock. */
  time = -Infinity
  /** From when time is charged to the running job. */
  mark = 0
  /** ms that the last budget took. */
  elapsed = 0
  /** The smallest step of the clock seen. */
  resolution = Infinity
  inRound = false
  /** When the round has to be over. */
  roundEnds = 0
  /** The job whose code runs right now. @type {Activation | null} */
  current = null
  /** @type {((record: TraceRecord) => void)[] | null} */
  observers = null
  /** Whether they have been told anything since the clock was read. */
  hasTold = false
  stats = {
    jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0,
    misses: 0, overruns: 0, stalls: 0, longestBudget: 0, longestRound: 0
  }

  /** @param {any} settings */
  constructor(settings) {
    super()
    Object.assign(this, settings)
  }

  /** @returns {number} the clock, which never runs backwards here */
  read() {
    let { time } = this
    try {
      time = this.host.now()
    } catch (error) {
      if (time === -Infinity) throw error // there is nothing yet to be lost
      this.suffer(error)
    }
    this.hasTold = false
    return this.time = time > this.time ? time : this.time
  }

  /** Reads the clock after a budget, and charges the job what it took. @param {Activation} a */
  charge(a) {
    const time = this.read()
    const elapsed = Math.max(0, time - this.mark)
    const { stats } = this
    this.mark = time
    this.elapsed = elapsed
    a.cost += elapsed
    stats.busy += elapsed
    stats.yields += received
    received = 0
    if (elapsed > stats.longestBudget) stats.longestBudget = elapsed
    if (elapsed > 0 && elapsed < this.resolution) this.resolution = elapsed
  }

  /** Notices stalls and overruns. @param {Activation} a */
  inspect(a) {
    const { elapsed } = this
    if (elapsed > this.slice) this.stall(a, elapsed)
    if (!a.extras.overran && a.cost - a.extras.costBefore > a.parameters.wcet) {
      extrasOf(a).overran = true
      this.stats.overruns++
      if (this.observers !== null) this.emit('overrun', a)
      this.call('onOverrun', a.parameters.onOverrun, a.job)
      this.call('onOverrun', this.onOverrun, a.job)
    }
  }

  /**
   * What observers and a policy of users took is charged to no job. Without them, to read the clock for every switch would
   * cost more than the switch does.
   */
  watch() {
    const { time } = this
    const ms = this.read() - time
    if (ms <= this.slice) return
    this.stall(null, ms, this.isKnown ? 'observer' : this.observers === null ? 'policy' : 'observer or policy')
  }

  /**
   * Calls code of users that is no job's. What it takes in a round is charged, to the job that is running if there is
   * one; what keeps the thread for longer than a slice is named.
   *
   * @param {string} kind @param {((...args: any[]) => void) | undefined} callback @param {any[]} args
   */
  call(kind, callback, ...args) {
    if (callback === undefined) return
    if (!this.inRound) this.read()
    else if (this.observers !== null) this.watch()
    const began = this.time
    try {
      callback(...args)
    } catch (error) {
      this.report(error, null)
    }
    if (this.current !== null) return
    const ms = this.read() - began
    if (this.inRound) this.stats.busy += ms
    if (ms > this.slice) this.stall(null, ms, kind, callback)
  }

  /**
   * Something kept the thread for longer than a slice.
   *
   * @param {Activation | null} a @param {number} ms @param {string} [kind] of the callback, where it was no job
   * @param {Function} [callback]
   */
  stall(a, ms, kind, callback) {
    this.stats.stalls++
    const by = kind === undefined ? [] : [callback?.name && callback.name !== kind ? `${kind} ${callback.name}` : kind]
    if (this.observers !== null) this.emit('stall', a, by.length === 0 ? { ms } : { ms, by: by[0] })
    if (kind !== 'onStall') this.call('onStall', this.onStall, a && a.job, ms, ...by)
  }

  /** The host or the policy threw. It is told once a round, which ends; nothing else does. @param {unknown} error */
  suffer(error) {
    if (this.roundEnds === -Infinity) return
    this.roundEnds = -Infinity
    this.report(error, null)
  }

  /** @param {unknown} error @param {Job | null} job */
  report(error, job) {
    for (const tell of [this.onError, this.host.report, reportToPlatform]) {
      try {
        if (tell !== undefined) return void tell(error, job)
      } catch (another) {
        error = another
      }
    }
  }

  // The trace

  /** @param {(record: TraceRecord) => void} fn */
  observe(fn) {
    const observer = (/** @type {TraceRecord} */ record) => fn(record) // one of its own, however often it is given
    this.observers = [...this.observers ?? [], observer]
    return () => {
      const rest = this.observers?.filter(other => other !== observer) ?? []
      this.observers = rest.length === 0 ? null : rest
    }
  }

  /** @param {string} type @param {Activation | null} a @param {object} [more] */
  emit(type, a, more) {
    this.hasTold = true
    const record = { type, time: this.time, job: a && a.job, ...more }
    for (const observer of /** @type {any[]} */ (this.observers)) {
      try {
        observer(record)
      } catch (error) {
        this.report(error, null)
      }
    }
  }
}

// --------------------------------------------------------------------------------------------- 5d dispatching

const SPENT = /** @type {Standing} */ ({ band: -2, job: { absoluteDeadline: Infinity, priority: -Infinity } })

/** @type {Activation | null} the job that this thread runs */
let dispatched = null
/** Jobs whose standing may have changed. @type {Activation[]} */
const outdated = []
let isRefreshing = false
/** After so many the page matters more than an order. */
const MOST_REFRESHES = 1e6

/**
 * The jobs that are ready by a reservation alone, in the order of their own keys. Together they are one node of the ready
 * queue, which stands there by the reservation for the first of them; so one node moves when the reservation's standing
 * changes, however many jobs there are. While the reservation gives them none, it is in no queue, and all of them are out.
 */
class Pool extends HeapNode {
  isOut = false
  /** For whom it stands in the ready queue. @type {Activation | null} */
  first = null
  /** @type {Standing} */
  standing = SPENT
  /** Jobs whose standing may depend on the reservation's: those that wait, are lent others' or are in a section. @type {Set<Activation>} */
  dependents = new Set()
  #jobs
  #dispatcher

  /** @param {Dispatcher} dispatcher */
  constructor(dispatcher) {
    super()
    this.#dispatcher = dispatcher
    this.#jobs = /** @type {Heap<Activation>} */ (new Heap((a, b) => dispatcher.compareAs(a, a, b, b)))
  }

  /** @param {Activation} a */
  push(a) {
    extrasOf(a).pool = this
    this.#jobs.push(a)
    this.#place()
  }

  /** @param {Activation} a */
  remove(a) {
    a.extras.pool = null
    this.#jobs.remove(a)
    this.#place()
  }

  /** Has it stand for the first of its jobs. */
  #place() {
    const first = this.isOut ? null : this.#jobs.first
    if (first === this.first) return
    const dispatcher = this.#dispatcher
    if (this.first !== null) dispatcher.ready.remove(this)
    this.first = first
    if (first === null) return
    this.standing = first.standing = dispatcher.ownStanding(first)
    dispatcher.ready.push(this)
  }

  /** @param {boolean} isOut */
  #turn(isOut) {
    this.isOut = true
    this.#place()
    this.isOut = isOut
    this.#place()
  }

  /**
   * The standing of the reservation has changed.
   *
   * @param {boolean} isOut @param {Iterable<Job>} jobs of the reservation
   */
  refresh(isOut, jobs) {
    const dispatcher = this.#dispatcher
    const wasOut = this.isOut
    // Those that something else lets go on leave before all are out, and come back after that.
    this.#turn(wasOut && isOut)
    for (const a of [...this.dependents]) {
      if (isDependent(a)) dispatcher.refresh(a)
      else this.dependents.delete(a)
    }
    this.#turn(isOut)
    const { running } = dispatcher
    if (running !== null && running.extras.pool === this) running.standing = dispatcher.ownStanding(running)
    if (wasOut && this.first !== null) dispatcher.giveWay(this.first)
    else dispatcher.reconsider()
    if (dispatcher.observers !== null && isOut !== wasOut) this.#tell([...jobs].map(activationOf))
    dispatcher.loop.rest()
  }

  /** @param {Activation[]} jobs */
  #tell(jobs) {
    this.#dispatcher.read()
    for (const a of jobs) {
      if (a.extras.pool !== this || a === this.#dispatcher.running) continue
      if (this.isOut) this.#dispatcher.emitDepletion(a)
      else this.#dispatcher.emit('wake', a)
    }
  }
}

/** What schedules. `Scheduler` is the handle that users hold. */
class Dispatcher extends Accounts {
  /** Whether anything happened that may change who runs. */
  #changed = false
  #rotation = 0
  /** That of the running job when it comes back, if it has woken its equal; else 0. */
  #stamp = 0
  /** Stamps of continuations, in order, and ahead of all equals that are none. */
  #continuation = Number.MIN_SAFE_INTEGER
  /** From when on what is due happens. */
  #settleFrom = -Infinity
  #roundBegan = 0
  #busyBefore = 0
  /** Whether a job ran in this round. */
  #ran = false
  /** ms that a budget may cost at most */
  #budgetCeiling
  /** @type {Activation[]} that failed in this round */
  #failures = []
  /** @type {{ resolve: () => void, reject: (error: unknown) => void }[]} */
  #idlers = []
  /** Only a closed scheduler keeps account of who waits. @type {Set<Job> | null} */
  #waiters
  /** Whether the present deadlock has been reported. */
  #deadlocked = false
  /** @type {object[]} */
  #shapes = []

  /** @param {Scheduler} scheduler @param {any} settings */
  constructor(scheduler, settings) {
    super(settings)
    this.scheduler = scheduler

    /** @type {Heap<Activation | Pool>} */
    this.ready = new Heap((a, b) =>
      this.compareAs(a.standing, /** @type {Activation} */ (a.first), b.standing, /** @type {Activation} */ (b.first)))
    this.timeline = new Timeline(this)
    /** Wakers outside: while there are any, a closed scheduler is not deadlocked. */
    this.holds = 0

    /** The job that holds the processor, across budgets and rounds. @type {Activation | null} */
    this.running = null
    /** By which it was resumed. A section that it ends, or a lock that it gives back, changes its own. */
    this.standing = SPENT
    /** Whether the present budget was cut short; it teaches nothing about the price of points. */
    this.cut = false
    /** Points of the present budget. */
    this.granted = 0
    /** @type {Gate[]} the ceiling stack */
    this.gates = []

    this.loop = new EventLoop(this)
    this.#budgetCeiling = Math.min(this.slice / 10, this.round / 10, LONG_BUDGET)
    this.#waiters = settings.closed ? new Set() : null

    /** Jobs not yet ended. */
    this.live = 0
  }

  // Order

  /** @param {Standing} a @param {Standing} b */
  compareStandings(a, b) {
    if (a.band !== b.band) return b.band - a.band
    const { policy } = this
    if (this.isKnown) return policy.compare(a.ranked ?? a.job, b.ranked ?? b.job)
    try {
      return policy.compare(a.job, b.job)
    } catch (error) {
      this.suffer(error)
      return 0
    }
  }

  /**
   * The total order: by standing, then rotation, release and id.
   *
   * @param {Standing} standing of `a` @param {Activation} a @param {Standing} other of `b` @param {Activation} b
   * @returns {number} negative when `a` is more eligible; never 0
   */
  compareAs(standing, a, other, b) {
    return this.compareStandings(standing, other) || a.stamp - b.stamp || a.release - b.release || a.id - b.id
  }

  /** The most eligible of the jobs that are ready, the running one included. */
  get best() {
    const { first } = this.ready
    return first === null ? null : first.first
  }

  // Releases

  /** @param {any} work @param {any} options @param {any[]} args @returns {Job} */
  spawn(work, options, args) {
    let leaf
    if (work?.[asCall]) {
      const call = work
      work = () => call
    }
    if (typeof work === 'function' || work instanceof Task) {
      const run = typeof work === 'function' ? work : callable('work.run', work.run)
      refuseAsyncGenerator('work', run, work)
      leaf = UNSTARTED
    } else if (isIterator(work) && !isJob(work)) {
      if (work[driven] === true) throw new TypeError('work is driven by another job already')
      leaf = work
    } else {
      throw wrongType('work', 'a Task, a generator or a function', work)
    }
    return this.#spawnWith(work, leaf, options === undefined ? NO_OPTIONS : knownOptions(options, SPAWN_OPTIONS), args)
  }

  /** @param {any} work @param {any} leaf @param {any} options @param {any[]} args @returns {Job} */
  #spawnWith(work, leaf, options, args) {
    const { release, signal, scheduler } = options
    if (scheduler !== undefined && scheduler !== this.scheduler) throw new TypeError('scheduler must be the one that spawns')
    if (release !== undefined) finite('release', release)
    if (signal !== undefined) abortSignal('signal', signal)
    const isTask = work instanceof Task
    const parameters = isTask || options !== NO_OPTIONS ? parametersOf(options, isTask ? work : PLAIN_TASK) : PLAIN
    const priority = this.policy.priority === undefined ? parameters.priority : this.policy.priority(parameters)

    const a = new Activation(this, this.stats.jobs + 1, isPlain(parameters) ? PLAIN : parameters, work, leaf, args)
    const now = this.read()
    a.release = release ?? now
    a.deadline = parameters.deadline
    a.priority = priority
    a.limit = parameters.limit ?? this.budget
    if (signal !== undefined) listen(a, signal, 'abort')
    if (!signal?.aborted) this.attach(a, parameters.uses, parameters.reservation)
    return this.launch(a, now)
  }

  /** @param {Activation} a @param {number} now @returns {Job} */
  launch(a, now) {
    const { signal } = a.extras
    if (a.leaf !== UNSTARTED && a.leaf !== null) drives(a.leaf)
    this.stats.jobs++
    this.live++
    if (signal?.aborted) {
      extrasOf(a).reason = signal.reason
      this.finish(a, CANCELLED, signal.reason)
      return a.job
    }
    if (a.release <= now) {
      this.#arrive(a)
    } else {
      extrasOf(a).pending = this.timeline.at(RELEASE, a.release, a, true)
      this.loop.rest()
    }
    return a.job
  }

  /** @param {Activation} a @param {JobHook[] | null} uses @param {any} reservation a ReservationHook, or what stands for it */
  attach(a, uses, reservation) {
    if (uses === null && reservation === null) return
    const hooks = reservation === null ? uses ?? [] : [...uses ?? [], reservation]
    let attached = 0
    if (reservation?.level !== undefined) extrasOf(a).level = reservation.level // by which resources compute ceilings
    try {
      for (; attached < hooks.length; attached++) hooks[attached].attach(a.job, this.scheduler)
    } catch (error) {
      for (const hook of hooks.slice(0, attached)) hook.detach(a.job)
      unlisten(a)
      throw error
    }
    extrasOf(a).uses = uses
    extrasOf(a).server = reservation?.payer ?? reservation
    a.standing = this.standingOf(a)
  }

  /** A release is due. @param {Activation} a */
  #arrive(a) {
    if (a.deadline < Infinity) this.#expectMiss(a)
    this.#enqueue(a, 'release')
    if (a === this.best) this.reconsider()
    this.loop.rest()
  }

  /** @param {Activation} a */
  #expectMiss(a) {
    a.miss = this.timeline.at(MISS, justAfter(a.absoluteDeadline), a, a.parameters.abort)
  }

  /**
   * Makes a job ready, after the equals that have waited since the last rotation; or depleted. Its state and its queue
   * change together, before anybody is told: observers may do anything.
   *
   * @param {Activation} a in no queue @param {'release' | 'wake'} type of the record
   */
  #enqueue(a, type) {
    a.state = WAITING // for nothing: what its reservation does now must not find it in a queue
    const server = a.extras.server
    // A job that wakes another does so in the middle of its budget.
    if (server !== null) server.ready(a.job, this.current === null ? this.time : this.read())
    a.standing = this.standingOf(a)
    a.stamp = this.#rotation
    a.state = READY
    this.#insert(a)
    if (this.observers === null) return
    this.emit(type, a)
    if (isOut(a)) this.emitDepletion(a)
  }

  /** Puts a ready job where its standing belongs. @param {Activation} a in no queue */
  #insert(a) {
    if (this.#isPooled(a, a.standing)) a.extras.server?.pool.push(a)
    else this.ready.push(a)
  }

  /** Whether its reservation alone gives a job its standing. @param {Activation} a @param {Standing} standing */
  #isPooled(a, standing) {
    const { server, gates } = a.extras
    return server !== null && gates === 0 && standing === this.ownStanding(a)
  }

  /** @param {Activation} a ready */
  #extract(a) {
    const { pool } = a.extras
    if (pool !== null) pool.remove(a)
    else this.ready.remove(a)
  }

  /** Its reservation has nothing left for it. @param {Activation} a */
  #deplete(a) {
    a.turn = a.cost
    if (this.observers !== null) this.emitDepletion(a)
  }

  /** @param {Activation} a */
  emitDepletion(a) {
    const reservation = a.extras.server?.name
    this.emit('deplete', a, reservation === undefined ? undefined : { reservation })
  }

  /** Has the running job come back at its next point, because somebody else may be more eligible. */
  interrupt() {
    this.#changed = true
    if (this.current === null) return
    this.cut = true
    budget.left = 0
  }

  /** Has the running job come back at its next point if it is no longer the most eligible. */
  reconsider() {
    if (this.running !== null && this.running !== this.best) this.interrupt()
  }

  /** Has the running job come back at its next point, because it has woken its equal. */
  #shorten() {
    this.#changed = true
    if (this.current === null) return
    const { left } = budget // which is the job's to write
    // As if no more had been granted: what the budget costs still tells the price of a point.
    if (typeof left === 'number' && left > 1) this.granted -= left - 1
    budget.left = 0
  }

  /** @param {Activation} a */
  unblock(a) {
    a.turn = a.cost
    this.#waiters?.delete(a.job)
    if (!this.inRound || this.observers !== null) this.read()
    this.#enqueue(a, 'wake')
    if (!isOut(a)) this.giveWay(a)
    if (!this.inRound) this.loop.rest()
  }

  /** The running job has to go after one that has woken. @param {Activation} a */
  giveWay(a) {
    const { running } = this
    if (running === null) return
    const isPooled = a.extras.pool !== null && a.extras.pool === running.extras.pool
    const order = isPooled ? this.compareStandings(a, running) : this.compareStandings(a.standing, running.standing)
    // A woken equal is handed over to; rotation at the end of slices alone would make choices unfair.
    if (order === 0) {
      this.#stamp = ++this.#rotation
      running.turn = running.cost
      this.#shorten()
    } else if (!(order > 0)) {
      this.interrupt()
    }
  }

  /** Puts the running job after its equals. @param {Activation} a @param {number} stamp */
  #rotate(a, stamp) {
    a.turn = a.cost
    this.#extract(a)
    a.stamp = isContinuation(a) && !this.#hasPeer(a) ? this.#continuation++ : stamp
    this.#insert(a)
  }

  // Re-keying

  /** @param {Activation} a @param {number} deadline */
  setDeadline(a, deadline) {
    this.rekey(a, 'deadline', deadline)
    if (a.state === PENDING || a.state >= DONE) return
    if (a.miss !== null) this.timeline.remove(a.miss)
    a.miss = null
    if (!a.missed && deadline < Infinity) this.#expectMiss(a)
    this.loop.rest()
  }

  /** @param {Activation} a @param {number} release */
  renew(a, release) {
    // The period that ends here may have been missed; it is noticed with the other misses of the next reading.
    if (a.miss !== null && this.read() > a.absoluteDeadline) a.miss = null
    this.rekey(a, 'release', release)
    a.missed = false
    extrasOf(a).overran = false
    extrasOf(a).costBefore = a.cost
    this.setDeadline(a, a.deadline)
  }

  /**
   * Changes what a job is ranked by; or nothing, where a resource refuses the level that a pending job would have.
   *
   * @param {Activation} a @param {'release' | 'deadline' | 'priority'} key @param {number} value
   */
  rekey(a, key, value) {
    if (a.state >= DONE) return
    const before = a[key]
    const isPending = a.state === PENDING
    if (!isPending) extrasOf(a).level ??= a.level // fixed at release
    if (a.state === READY) this.#extract(a)
    a[key] = value
    if (a.extras.rank !== null) a.extras.rank = null
    if (a.extras.background !== null) a.extras.background = null
    if (!isPending) return this.#place(a, this.standingOf(a))
    // The level has changed, by which resources compute their ceilings.
    const uses = a.extras.uses ?? []
    const declareAnew = () => {
      for (const resource of uses) resource.detach(a.job)
      for (const resource of uses) resource.attach(a.job, this.scheduler)
    }
    try {
      declareAnew()
    } catch (error) {
      a[key] = before
      declareAnew()
      throw error
    }
  }

  /**
   * Finds a job's standing anew. A change goes on to the owners of what it waits for: by a list, since chains of waits
   * may be longer than the engine's stack.
   *
   * @param {Activation} a
   */
  refresh(a) {
    outdated.push(a)
    if (isRefreshing) return
    isRefreshing = true
    try {
      // Choices that wait for each other's owners are a circle, but no deadlock: their standings may chase each other.
      for (let steps = 0; outdated.length > 0 && steps < MOST_REFRESHES; steps++) {
        const next = /** @type {Activation} */ (outdated.pop())
        next.dispatcher.restand(next)
      }
    } finally {
      outdated.length = 0
      isRefreshing = false
    }
  }

  /** @param {Activation} a */
  restand(a) {
    if (a.state >= DONE) return
    const { server, pool } = a.extras
    if (server !== null && isDependent(a)) server.pool.dependents.add(a)
    const standing = this.standingOf(a)
    if (standing === a.standing && (a.state !== READY || this.#isPooled(a, standing) === (pool !== null))) return
    const wasOut = isOut(a) && a !== this.running
    if (a.state === READY) this.#extract(a)
    if (wasOut && standing !== SPENT) return this.unblock(a)
    this.#place(a, standing)
    if (!wasOut && isOut(a) && a !== this.running) this.#deplete(a)
  }

  /** Puts a job where a standing belongs; a ready one is in no queue. @param {Activation} a @param {Standing} standing */
  #place(a, standing) {
    a.standing = standing
    if (a.state === WAITING) return a.waiting?.refresh()
    if (a.state !== READY) return
    this.#insert(a)
    this.reconsider()
  }

  /** By its own keys, or its reservation. @param {Activation} a @returns {Standing} */
  ownStanding(a) {
    const server = a.extras.server
    return server === null ? a : server.standing(a.job) ?? SPENT
  }

  /** The better of its own, or its reservation's, and that of the best job in any queue it owns. @param {Activation} a */
  standingOf(a) {
    const { extras } = a
    if (extras === NO_EXTRAS) return a
    /** @type {Standing} */
    let best = this.ownStanding(a)
    for (const { first } of extras.owned) {
      if (first === null || first.activation === null) continue
      if (this.compareStandings(first.standing, best) < 0) best = first.standing
    }
    // Depletion inside a critical section lets the section finish.
    return extras.gates > 0 && extras.server !== null && best.band < a.standing.band ? a.standing : best
  }

  // Cancelling

  /** @param {Activation} a @param {unknown} reason @returns {boolean} */
  cancel(a, reason) {
    const extras = extrasOf(a)
    if (a.state >= DONE || extras.reason !== NOT_CANCELLED) return false
    extras.reason = reason
    this.read()
    if (a.state === PENDING) {
      if (extras.pending !== null) this.timeline.remove(extras.pending)
      this.finish(a, CANCELLED, reason)
      return true
    }
    if (this.current !== a) this.#leaveReservation(a)
    if (a.state === WAITING) {
      // What async code awaits cannot be left: it is told at its next yield.
      if (a.waiting === null) return true
      this.#letGo(a)
    } else if (a.started === undefined) {
      this.finish(a, CANCELLED, reason)
    } else if (this.current === a) {
      this.interrupt()
    } else {
      this.strike(a)
    }
    return true
  }

  /** Ends the waiting of a job that has been cancelled. @param {Activation} a */
  #letGo(a) {
    const waitable = /** @type {Waitable} */ (a.waiting)
    a.waiting = null
    waitable.leave(a)
    this.strike(a)
    this.unblock(a)
  }

  /** A job that is cancelled leaves its reservation, or its `finally` might never run. @param {Activation} a */
  #leaveReservation(a) {
    const extras = extrasOf(a)
    const { server } = extras
    if (server === null) return
    const wasOut = isOut(a)
    if (a.state === READY) this.#extract(a)
    server.pool.dependents.delete(a)
    extras.server = null
    server.detach(a.job)
    if (wasOut) this.unblock(a)
    else this.#place(a, this.standingOf(a))
  }

  /** Has the reason of a cancellation thrown at the next resume. @param {Activation} a */
  strike(a) {
    if (!isDoomed(a) || a.kept) return
    a.input = takeReason(a)
    a.throwing = true
  }

  // Ends

  /** @param {Activation} a @param {number} state @param {any} outcome */
  finish(a, state, outcome) {
    const { extras } = a
    if (extras.reason !== NOT_CANCELLED) {
      // Asked to stop and ended without having been told, or by passing on what it was told.
      if ((state === DONE || a.posted) && !extras.delivered) outcome = extras.reason
      if (Object.is(outcome, extras.reason) && !(state === DONE && extras.delivered)) state = CANCELLED
    }
    if (a.state === READY) this.#extract(a)
    a.state = state
    a.outcome = outcome
    a.finished = this.time
    a.leaf = a.callers = a.waiting = null
    a.args = NO_ARGUMENTS
    a.input = undefined
    this.live--
    if (this.running === a) this.running = null
    const isLate = a.miss !== null && a.finished > a.absoluteDeadline
    if (isLate) a.missed = true
    // In a round, a late end is noticed with the other misses of this reading.
    if (a.miss !== null && !(isLate && this.inRound)) this.timeline.remove(a.miss)
    a.miss = null
    if (this.observers !== null) {
      this.emit(state === DONE ? 'finish' : state === FAILED ? 'fail' : 'cancel', a,
        state === DONE ? undefined : { error: outcome })
    }
    if (extras !== NO_EXTRAS) this.#tidy(a, extras)
    if (a.deferred !== null) settlePromise(a, a.deferred)
    if (state === FAILED && !a.handled) this.#failures.push(a)
    if (this.inRound) return
    if (isLate) this.miss(a, null)
    this.#reportFailures()
    this.answerIdlers()
    this.loop.rest()
  }

  /** @param {Activation} a @param {Extras} extras */
  #tidy(a, extras) {
    if (extras.driver !== null && extras.driver.promise !== null) extras.driver.resume(a.state !== DONE, a.outcome)
    extras.pending = null
    if (extras.signal !== null) this.call('signal', unlisten, a)
    if (extras.gates > 0) {
      this.gates = this.gates.filter(gate => gate.activation !== a)
      this.raiseCeilings()
    }
    if (extras.server !== null) {
      extras.server.detach(a.job)
      extras.server.pool.dependents.delete(a)
    }
    if (extras.uses !== null) for (const resource of extras.uses) resource.detach(a.job)
    extras.server = extras.uses = null
    for (const queue of extras.owned.slice()) if (queue !== extras.joiners) queue.orphan()
    const { joiners } = extras
    if (joiners !== null) {
      for (let join = joiners.shift(); join !== null; join = joiners.shift()) /** @type {Join} */ (join).end()
      joiners.owner = null
    }
  }

  /** Reports, as the platform does rejections, the failures that nobody has asked about. */
  #reportFailures() {
    if (this.#failures.length === 0) return
    for (const a of this.#failures.splice(0)) {
      if (a.handled) continue
      if (this.onError !== undefined || this.host.report !== undefined) this.report(a.outcome, a.job)
      else basePromise(a)
    }
  }

  // What is due

  /** Whether a turn is needed now. */
  get hasWork() {
    return this.running !== null || this.ready.size > 0 || this.timeline.isLate
  }

  /**
   * Has happen what is due, and no more than a slice of it at a time: after a long sleep jobs and the page take turns with
   * what has come due meanwhile.
   */
  settle() {
    const { time } = this
    if (time < this.timeline.due || time < this.#settleFrom || this.paused) return
    this.timeline.settle(time, Math.min(time + this.slice, this.roundEnds))
    // Jobs have a slice in between.
    this.#settleFrom = this.timeline.isLate && (this.running !== null || this.ready.size > 0) ? this.time + this.slice : -Infinity
  }

  /** @param {Entry} entry that is due */
  happen(entry) {
    const { kind, time, subject } = entry
    if (kind === RELEASE) return this.#arrive(subject)
    if (kind === MISS) return this.miss(subject, entry)
    if (this.observers !== null) {
      if (kind === ALARM) this.emit('alarm', null, { due: time })
      else this.emit('replenish', null, subject.of === undefined ? { due: time } : { reservation: subject.of, due: time })
    }
    this.call(kind === ALARM ? 'alarm' : 'replenishment', entry.subject, this.time) // unless an observer has cancelled it
  }

  /** @param {Activation} a @param {Entry | null} entry null for that of a job that has ended */
  miss(a, entry) {
    if (a.miss === entry) {
      a.miss = null
      a.missed = true
    }
    this.stats.misses++
    if (this.observers !== null) this.emit('miss', a)
    this.call('onMiss', a.parameters.onMiss, a.job)
    this.call('onMiss', this.onMiss, a.job)
    if (!a.parameters.abort || a.state >= DONE) return
    this.cancel(a, new DeadlineError(`${a.job.name} missed its deadline, ${a.deadline} ms after its release`))
  }

  // Rounds

  /** @param {number} [length] ms @param {number} [due] when the round has to be over */
  takeTurn(length = this.round, due = Infinity) {
    if (this.inRound || this.paused) return
    // What asked for this turn may have been a job, whose context is not that of the others.
    if (contextual?.get()) return void contextual.run(null, () => this.takeTurn(length, due))
    this.inRound = true
    rounds++
    const time = this.mark = this.#roundBegan = this.read()
    this.roundEnds = Math.min(time + length, due)
    this.#settleFrom = -Infinity
    this.#busyBefore = this.stats.busy
    this.#ran = false
    let isAsync = false
    try {
      this.settle()
      isAsync = this.work()
    } catch (error) {
      this.#survive(error)
    }
    if (isAsync) this.#accompany()
    else this.#endRound()
  }

  /** What must not happen has: one round is lost, not the scheduler. @param {unknown} error */
  #survive(error) {
    this.current = dispatched = null
    this.report(error, null)
  }

  /** Runs jobs until the round ends. @returns {boolean} whether it goes on in microtasks: see `accompany` */
  work() {
    do {
      const a = this.#pick()
      if (a === null) return false
      if (this.#runBudget(a) === ASYNC || hasAudience(a)) return true
    } while (!this.#isRoundOver())
    return false
  }

  #isRoundOver() {
    if (this.time >= this.roundEnds || this.paused) return true
    // Within a millisecond of a slice or of the round the host is not asked: every round gets something done.
    const used = this.running === null ? 0 : this.running.cost - this.running.turn
    if (used > 0 && (used < SLICE || this.time - this.#roundBegan < SLICE)) return false
    try {
      return this.host.inputPending?.() ?? false
    } catch (error) {
      this.suffer(error)
      return true
    }
  }

  /**
   * The continuation of an async job runs in a microtask, when this stack is empty; so the round goes on in
   * microtasks too, right behind it, until it is a generator's turn. And as on the platform, what awaits a task that
   * has ended runs before the next task: it may have a more important one to post.
   */
  async #accompany() {
    try {
      do {
        const a = this.running
        if (a !== null) {
          const driver = driverOf(a)
          for (let quiet = 0; driver.ended === 0 && driver.promise === null && quiet < PATIENCE; quiet++) {
            await undefined
            if (!driver.passed) continue
            driver.passed = false
            quiet = 0
          }
          const outcome = driver.promise !== null ? POINT : driver.ended !== 0 ? driver.ended : driver.isFree ? DONE : AWAY
          this.#endBudget(a, outcome)
          this.#account(a, outcome)
          if (!hasAudience(a)) continue
        }
        for (let turn = 0; turn < CHECKPOINT; turn++) await undefined
        this.read()
      } while (!this.#isRoundOver() && this.work())
    } catch (error) {
      this.#survive(error)
    }
    this.#endRound()
  }

  #endRound() {
    rounds--
    const { stats } = this
    const time = this.read()
    const length = time - this.#roundBegan
    this.loop.taken += length
    stats.overhead += length - (stats.busy - this.#busyBefore)
    if (length > stats.longestRound) stats.longestRound = length
    if (this.#ran) {
      stats.rounds++
      if (this.observers !== null) this.emit('round', null, { start: this.#roundBegan })
    }
    this.inRound = false
    this.#reportFailures()
    this.answerIdlers()
    this.loop.rest(true)
  }

  /** Tells those who wait for idleness, or for what looks like it. */
  answerIdlers() {
    if (this.live === 0) {
      this.#keepShapes()
      for (const { resolve } of this.#idlers.splice(0)) resolve()
      return
    }
    if (!this.closed) return
    if (!this.#isDeadlocked()) {
      this.#deadlocked = false
      return
    }
    const jobs = [.../** @type {Set<Job>} */ (this.#waiters)]
    const error = new DeadlockError(`deadlock: nothing can wake ${jobs.map(job => job.name).join(', ')}`, jobs)
    const idlers = this.#idlers.splice(0)
    if (!this.#deadlocked && (this.onError !== undefined || idlers.length === 0)) this.report(error, null)
    this.#deadlocked = true
    for (const { reject } of idlers) reject(error)
  }

  /**
   * V8 throws away the code compiled for a shape when a collection finds no object of it, as it does between bursts of
   * jobs; so one of each is kept. Made anew each time, since shapes change with what their fields have held. Bursts of 1000
   * jobs with a deadline, a collection in between: 1.9 us a job, 3.8 to 5.4 without; `par` of 10 to 1000 jobs: 0.75 to 1.1
   * us a job, 2.5 to 8 without (Node 20, bench/channels).
   */
  #keepShapes() {
    const a = new Activation(this, 0, PLAIN, undefined, null, NO_ARGUMENTS)
    this.#shapes = [
      a, new BudgetTuner(), new Entry(this, 0, 0, 0, MISS, null, false), new Extras(), new Queue(), new Join(a)
    ]
  }

  #isDeadlocked() {
    return this.running === null && this.ready.size === 0 && this.holds === 0 && this.timeline.refs === 0 &&
      this.timeline.lines[ALARM].size === 0 &&
      (this.timeline.lines[REPLENISHMENT].size === 0 || /** @type {Set<Job>} */ (this.#waiters).size === this.live)
  }

  // Dispatching

  /** Dispatches the job that is to run. @returns {Activation | null} */
  #pick() {
    // Observers may change who is to run, but not for ever.
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      this.#changed = false
      const next = this.paused ? null : this.#choose()
      if (next === null) return null
      if (next !== this.running) this.#dispatch(next)
      if (!this.isKnown || this.hasTold) this.watch()
      if (!this.#changed) break
    }
    return this.running
  }

  /**
   * The one rule for who runs: the most eligible job, if its level passes the system ceiling or it holds the top of
   * it; otherwise the holder of the top, never a third (Baker 1991).
   *
   * @returns {Activation | null}
   */
  #choose() {
    const { running } = this
    if (running !== null && isOut(running)) {
      this.#deplete(running)
      this.running = null
    } else if (running !== null && this.#stamp > 0) {
      this.#rotate(running, this.#stamp)
    }
    this.#stamp = 0
    let next = this.best
    if (next !== null && this.gates.length > 0) {
      const top = this.gates[this.gates.length - 1]
      if (next !== top.activation && !this.#passes(next, top.ceiling)) next = top.activation
    }
    return next
  }

  /** @param {Activation} a @param {number} ceiling */
  #passes(a, ceiling) {
    try {
      return a.level > ceiling
    } catch (error) {
      this.suffer(error)
      return false
    }
  }

  /** @param {Activation} next */
  #dispatch(next) {
    const last = this.running
    const isFirst = next.started === undefined
    if (last !== null) {
      last.preemptions++
      if (last.tuner === null || last.turn !== last.cost) this.stats.slices++
    }
    this.running = next
    if (isFirst) next.started = this.time
    if (this.observers === null) return
    if (last !== null) this.emit('preempt', last, { by: next.job })
    this.emit(isFirst ? 'start' : 'resume', next)
  }

  /** Resumes the running job for one budget. @param {Activation} a @returns {number} */
  #runBudget(a) {
    this.#ran = true
    this.mark = this.time
    this.#grant(a)
    this.current = dispatched = a
    this.standing = a.standing
    const outcome = drive(a)
    if (outcome === ASYNC) return outcome
    this.#endBudget(a, outcome)
    this.#account(a, outcome)
    return outcome
  }

  /** Grants the next budget. @param {Activation} a */
  #grant(a) {
    // A job that is cancelled but must be given what woke it gets as far as its next point.
    this.granted = budget.left = isDoomed(a) ? 1 : a.limit !== AUTO ? a.limit : a.tuner === null ? 1 : a.tuner.points
    this.cut = false
  }

  /**
   * Ends a budget while the code of the job is on the stack, and grants the next where there is nothing to decide. A
   * generator that is left comes back to slow code in Firefox: there a Mandelbrot set takes 300 ms instead of 650, a matrix
   * product 470 instead of 970 (bench/cold).
   *
   * @param {Activation} a
   * @returns {boolean} whether the job has to yield
   */
  isOver(a) {
    if (this.standing !== a || isDoomed(a)) return true // who else pays for it is charged when nothing runs
    this.#endBudget(a, POINT)
    this.inspect(a)
    this.current = dispatched = a
    const isOver = this.#changed || this.time >= this.timeline.due || this.time >= this.roundEnds ||
      a.cost - a.turn >= this.slice
    if (isOver) this.cut = true // what is left until the yield teaches nothing
    else this.#grant(a)
    return isOver
  }

  /** Charges a job its budget. @param {Activation} a @param {number} outcome */
  #endBudget(a, outcome) {
    this.current = dispatched = null
    this.charge(a)
    if (outcome < DONE) {
      a.tuner ??= new BudgetTuner()
      if (a.limit === AUTO && !this.cut) {
        const passed = this.#pointsPassed()
        if (passed > 0) a.tuner.learn(passed, this.elapsed, this.resolution, this.#budgetCeiling)
      }
      if (outcome === BLOCKED || outcome === AWAY) this.#block(a)
    }
    if (this.standing === a) return
    this.#bill(a, this.elapsed, this.time)
    if (this.observers === null) return
    this.watch()
    this.mark = this.time
  }

  /** The job waits before its reservation is charged: what it waits for follows its standing. @param {Activation} a */
  #block(a) {
    this.running = null
    this.#extract(a)
    a.state = WAITING
    if (a.waiting?.isRanked) a.extras.server?.pool.dependents.add(a)
  }

  /** How many points of the budget have been passed; 0 where the job has written nonsense. */
  #pointsPassed() {
    const { left } = budget // which is the job's to write
    return typeof left === 'number' && left <= this.granted ? this.granted - Math.max(0, left) || 1 : 0
  }

  /**
   * Charges the reservation of a job, and that by whose standing it ran: whoever lends it lends no more than he has
   * (bandwidth inheritance: Lamastra, Lipari, Abeni 2001).
   *
   * @param {Activation} a @param {number} ms @param {number} time
   */
  #bill(a, ms, time) {
    const { standing } = this
    const server = a.extras.server
    if (server !== null) server.charge(a.job, ms, time, standing)
    const { payer } = standing
    if (payer !== undefined && payer !== server) payer.charge(a.job, ms, time, standing)
    if (server !== null && a.extras.reason !== NOT_CANCELLED) this.#leaveReservation(a)
  }

  /**
   * What a budget led to: first the job's own end or wait, then all that is due.
   *
   * @param {Activation} a @param {number} outcome
   */
  #account(a, outcome) {
    const { time } = this
    if (outcome === BLOCKED || outcome === AWAY) a.extras.server?.rest(a.job, time)
    if (outcome === BLOCKED) {
      this.#waiters?.add(a.job)
      if (this.observers !== null) this.emit('block', a, { on: subjectOf(/** @type {Waitable} */ (a.waiting)) })
      // Cancelled by the very act of waiting.
      if (a.state === WAITING && isDoomed(a)) this.#letGo(a)
    } else if (outcome === AWAY && a.extras.gates > 0) {
      outcome = FAILED
      a.outcome = new TypeError(`${a.job.name} waits inside a critical section`)
    } else if (outcome === AWAY) {
      this.holds++
      if (this.observers !== null) this.emit('block', a, { on: null })
    } else if (outcome === POINT) {
      this.strike(a)
    }
    if (outcome !== POINT) this.stats.slices++
    this.inspect(a)
    if (outcome >= DONE) this.finish(a, outcome, a.outcome)
    this.settle()
    if (this.running !== a || a.cost - a.turn < this.slice) return
    this.#rotate(a, ++this.#rotation)
    this.stats.slices++
  }

  // The order of continuations

  /**
   * Puts a continuation ahead of its equals, after the continuations that wait.
   *
   * @param {Activation} a @returns {boolean} whether it is the most eligible
   */
  goFirst(a) {
    const isReady = a.state === READY
    if (isReady) this.#extract(a)
    a.stamp = this.#continuation++
    if (isReady) this.#insert(a)
    return a === this.best
  }

  /**
   * Whether the first of a continuation's equals takes turns with it at the end of a slice. A task that has not begun
   * does not: on the platform, continuations go before tasks.
   *
   * @param {Activation} a in no queue
   */
  #hasPeer(a) {
    const { best } = this
    return best !== null && best.stamp >= 0 && !(best.started === undefined && best.posted) &&
      this.compareStandings(best.standing, a.standing) === 0
  }

  // What the handle asks for

  /** @param {any} settings */
  configure(settings) {
    if (this.live > 0 || this.inRound) {
      throw new TypeError('configure() needs a scheduler without jobs, between rounds; wait for idle()')
    }
    this.loop.stop()
    const { host } = this
    Object.assign(this, settings)
    this.#budgetCeiling = Math.min(this.slice / 10, this.round / 10, LONG_BUDGET)
    this.#waiters = this.closed ? new Set() : null
    if (this.host !== host) {
      this.time = -Infinity
      this.resolution = Infinity
      this.loop = new EventLoop(this)
    }
    this.loop.rest()
  }

  pause() {
    this.paused = true
    if (this.running !== null) this.interrupt()
    this.loop.rest()
  }

  resume() {
    this.paused = false
    this.loop.rest()
  }

  /** @returns {Promise<void>} */
  idle() {
    if (this.live === 0) return Promise.resolve()
    const promise = new Promise((/** @type {(value?: any) => void} */ resolve, reject) => {
      this.#idlers.push({ resolve, reject })
    })
    if (!this.inRound) this.answerIdlers()
    return promise
  }

  /** The ceiling of a gate is the highest from the bottom of the stack up to it. */
  raiseCeilings() {
    let ceiling = -Infinity
    for (const gate of this.gates) gate.ceiling = ceiling = Math.max(ceiling, gate.level)
  }
}

/** @type {(scheduler: Scheduler) => Dispatcher} */
let dispatcherOf

/** @param {string} name @param {any} value @param {string[]} required @param {string[]} optional */
function withMethods(name, value, required, optional) {
  record(name, value)
  for (const method of required) callable(`${name}.${method}`, value[method])
  for (const method of optional) if (value[method] !== undefined) callable(`${name}.${method}`, value[method])
  return value
}

/** The options of a scheduler. @type {Checks} */
const SETTINGS = {
  policy: (name, value) => withMethods(name, policyOf(value), ['compare', 'level'], ['priority']),
  slice: positive,
  round: positive,
  budget: points,
  host: (name, value) =>
    withMethods(name, value, ['now', 'post', 'after'], ['inputPending', 'frame', 'hidden', 'eventTime', 'report']),
  paused: flag,
  closed: flag,
  onMiss: callable,
  onOverrun: callable,
  onStall: callable,
  onError: callable
}

/** @param {any} options @param {any} inForce what counts where nothing is given @returns {any} settings */
function settingsOf(options, inForce) {
  knownOptions(options, SETTINGS)
  /** @type {any} */
  const settings = {}
  for (const name in SETTINGS) {
    settings[name] = options[name] === undefined ? inForce[name] : SETTINGS[name](name, options[name])
  }
  settings.host ??= defaultHost()
  settings.isKnown = KNOWN.has(settings.policy.compare)
  return settings
}

/**
 * Runs jobs by a policy, in rounds, within the event loop. One per thread is the intended use; several share the
 * thread round by round.
 */
export class Scheduler {
  /** @type {Dispatcher} */
  #dispatcher

  static {
    dispatcherOf = scheduler => scheduler.#dispatcher
  }

  /**
   * @param {SchedulerOptions} [options]
   * @throws {TypeError | RangeError} naming the option
   */
  constructor(options = {}) {
    this.#dispatcher = new Dispatcher(this, settingsOf(options, {
      policy: edf, slice: SLICE, round: ROUND, budget: AUTO, paused: false, closed: false
    }))
  }

  /**
   * Changes options while no job lives.
   *
   * @param {SchedulerOptions} options
   * @throws {TypeError | RangeError} naming the option; TypeError while a job lives
   */
  configure(options) {
    this.#dispatcher.configure(settingsOf(options, this.#dispatcher))
  }

  /**
   * Releases a job.
   *
   * @template {Work} W
   * @param {(W | ((job: Job, ...args: any[]) => unknown)) & Checked<W>} work a task; a generator object; or a function,
   *   which is called with `args` when the job starts (an async function with the job before them). What it returns
   *   decides: an iterator is driven, a thenable awaited, anything else is the result.
   * @param {TaskOptions & JobOptions} [options] they come before those of the task
   * @param {ArgumentsOf<W>} args
   * @returns {Job<ResultOf<W>>}
   * @throws {TypeError | RangeError} naming the parameter
   */
  spawn(work, options, ...args) {
    return this.#dispatcher.spawn(work, options, args)
  }

  /** Runs no job, and fires nothing, until `resume`. The running job stops at its next point. */
  pause() {
    this.#dispatcher.pause()
  }

  /** Goes on after `pause`, or after `paused: true`. */
  resume() {
    this.#dispatcher.resume()
  }

  /** @returns {boolean} */
  get paused() { return this.#dispatcher.paused }
  /** @returns {Host} */
  get host() { return this.#dispatcher.host }
  /** @returns {Policy} */
  get policy() { return this.#dispatcher.policy }
  /** ms @returns {number} */
  get slice() { return this.#dispatcher.slice }
  /** ms @returns {number} */
  get round() { return this.#dispatcher.round }

  /**
   * @returns {Promise<void>} resolved when no job is pending, ready, running or waiting; on a closed scheduler
   *   rejected with a DeadlockError when nothing is left that could wake those that wait
   */
  idle() {
    return this.#dispatcher.idle()
  }

  /** The job whose code runs right now. @returns {Job | null} */
  get current() { return this.#dispatcher.current && this.#dispatcher.current.job }

  /** The host's clock, ms. */
  now() {
    return this.#dispatcher.read()
  }

  /**
   * What has happened so far; times in ms. `busy` is what jobs were charged, and what alarm callbacks and handlers took;
   * `overhead` is what rounds took beyond that, observers and policies of users included; `yields` how often a job came
   * back, `slices` how often the processor changed hands or a slice began.
   *
   * @returns {{ jobs: number, rounds: number, slices: number, yields: number, busy: number, overhead: number,
   *   misses: number, overruns: number, stalls: number, longestBudget: number, longestRound: number }}
   */
  stats() {
    return { ...this.#dispatcher.stats }
  }

  /**
   * Tells of every event of the schedule: release, start, preempt (by), resume, block (on), wake, finish, cancel,
   * fail, miss, overrun, stall, deplete, replenish, alarm and round (start). Costs nothing while nobody observes.
   *
   * @param {(record: TraceRecord) => void} fn called synchronously
   * @returns {() => void} ends it
   */
  observe(fn) {
    return this.#dispatcher.observe(callable('fn', fn))
  }

  /**
   * In any async function: the continuation runs when the policy picks it, without a trip through the event loop
   * until the round ends. It goes before tasks of equal standing that have not begun, and takes turns with other
   * continuations. Shape and order of `scheduler.yield` (Prioritized Task Scheduling).
   *
   * In an async job or task it is the job's own point, with its deadline, priority, cancellation and signal. Whose code
   * calls is known within the call of the job's function, and in code that directly awaits a yield of the job (this one
   * or `job.yield()`); after any other await only where the engine has AsyncContext. Elsewhere `job.yield()` brings it
   * back; without it, the continuation is that of nobody: priority 0, no deadline, no signal.
   *
   * @param {{ deadline?: number, priority?: number | TaskPriority | 'inherit', signal?: AbortSignal | 'inherit' }} [options]
   *   `deadline` in ms from now; what is given makes it a continuation of its own
   * @returns {Promise<void>} rejected when the job has been cancelled, or its signal or `signal` aborted
   * @throws {TypeError | RangeError} naming the option
   */
  yield(options) {
    return yieldAsync(this.#dispatcher, options)
  }

  /**
   * Runs `fn` as a job. Shape and order of `scheduler.postTask` (Prioritized Task Scheduling): by priority, then in
   * the order in which the delays end. Unlike there, wrong arguments throw at the call, and a generator is driven.
   *
   * @template T
   * @param {() => T} fn
   * @param {{ priority?: number | TaskPriority, signal?: AbortSignal, delay?: number, deadline?: number }} [options]
   *   `priority` comes before that of a TaskSignal, whose changes are followed; `delay` in ms; `deadline` in ms after it
   * @returns {Job<Awaited<T>>} thenable; rejected with the signal's reason when it is aborted before `fn` has returned.
   *   After that the yields of its async code reject
   * @throws {TypeError | RangeError} naming the option
   */
  postTask(fn, options) {
    return postTask(this.#dispatcher, fn, options)
  }
}

/** @typedef {'user-blocking' | 'user-visible' | 'background'} TaskPriority */
/**
 * What a resource answers to.
 *
 * @typedef {object} JobHook
 * @property {(job: Job, scheduler: Scheduler) => void} attach at the spawn; what it throws refuses the job
 * @property {(job: Job) => void} detach at the end, or when a reservation is left by a job that is cancelled
 */
/**
 * What a reservation answers to.
 *
 * @typedef {object} ReservationHook
 * @property {(job: Job, scheduler: Scheduler) => void} attach at the spawn; what it throws refuses the job
 * @property {(job: Job) => void} detach at the end, or when it is left by a job that is cancelled
 * @property {(job: Job) => Standing | null} standing a new object whenever its keys have changed; null while it is depleted
 * @property {(job: Job, ms: number, time: number, standing: Standing) => void} charge after every budget, with the standing
 *   by which the job ran
 * @property {Pool} pool of `seam.pool`, where its standings put all its jobs in the order of their own keys: one for all, or
 *   one each that has them
 * @property {(job: Job, time: number) => void} ready the job has become ready: before its standing is asked for
 * @property {(job: Job, time: number) => void} rest the job waits
 * @property {number} [level] the preemption level of its jobs, instead of their own
 * @property {string} [name] for the trace
 *
 * Where the job that spawns decides what a reservation does for its jobs, `{ attach, level, payer }` stands for it until they
 * are attached; `payer` is the ReservationHook.
 */

// -------------------------------------------------------------------------------------------- 6 the seam

/** Which property of a reservation or a resource the scheduler acts on. */
const protocol = Symbol('rt.mjs')

/** A critical section: while it is held, jobs of a level up to the ceiling do not preempt its holder. */
class Gate {
  /** @param {Activation} activation @param {number} level */
  constructor(activation, level) {
    this.activation = activation
    this.level = level
    this.ceiling = level
    this.closed = false
  }

  /** Raises the ceiling, at once, although it is held. @param {number} level */
  raise(level) {
    if (this.closed || !(level > this.level)) return
    this.level = level
    this.activation.dispatcher.raiseCeilings()
  }

  /** @throws {Error} when a section inside it is still open */
  close() {
    if (this.closed) return
    const { dispatcher, extras } = this.activation
    if (dispatcher.gates[dispatcher.gates.length - 1] !== this) throw new Error('critical sections must nest')
    this.closed = true
    dispatcher.gates.pop()
    extras.gates--
    if (extras.gates > 0) return dispatcher.reconsider() // Baker 1991: as soon as the ceiling has fallen
    dispatcher.refresh(this.activation)
    if (isDoomed(this.activation)) dispatcher.interrupt()
    else dispatcher.reconsider()
  }
}

/** Waits for a time. */
class Sleep extends Waitable {
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /**
   * @param {(scheduler: Scheduler) => number} timeOf @param {{ scheduler?: Scheduler }} options the one outside jobs
   * @param {() => void} [ring] what is done at the time
   */
  constructor(timeOf, options, ring = () => this.wake()) {
    super()
    this.timeOf = timeOf
    this.options = options
    this.ring = ring
  }

  get isRanked() { return false }
  /** @param {Job | null} job */
  begin(job) {
    const scheduler = here(job === null ? this.options : undefined)
    this.sleepUntil(scheduler, this.timeOf(scheduler))
  }
  /** @param {Scheduler} scheduler @param {number} time */
  sleepUntil(scheduler, time) {
    if (time < Infinity) this.#entry = seam.at(scheduler, time, this.ring)
  }
  undo() {
    this.#entry?.cancel()
  }
}

/** First in, first out, at a cost independent of how many there are. @template T */
class Fifo {
  /** @type {any[]} */
  #values = []
  #first = 0

  get size() { return this.#values.length - this.#first }

  /** @param {T} value */
  push(value) {
    this.#values.push(value)
  }

  /** @returns {T} the first, removed */
  shift() {
    const value = this.#values[this.#first]
    this.#values[this.#first++] = undefined
    // Moved when half of them have gone, so that each is moved once on average.
    if (this.#first * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#first)
      this.#first = 0
    }
    return value
  }
}

/**
 * What alarms.mjs and sync.mjs build on; not for users.
 *
 * @internal
 *
 * - `protocol` the property by which `reservation` and `uses` reach their objects (see JobHook, ReservationHook)
 * - `Waitable` the base class of what jobs may wait for, and its protocol; `asCall` the property of those that are calls;
 *   `Sleep` waits for a time
 * - `Queue` those who wait, in order of standing; its owner inherits
 * - `Heap` a stable priority queue; `Fifo` a plain one
 * - `check` the checks of parameters, and their errors; `parameters` are the names of TaskOptions
 * - `here(options)` the scheduler that acts
 * - `at(scheduler, time, fn, options)` the timeline
 * - `gate(job, level)` opens a critical section
 * - `pool(scheduler)` the ready jobs of a reservation, as its `pool` (see ReservationHook): told when its standings change
 * - `ended(job, fn)` tells when a job has ended
 * - `renew(job, release)` the job of a loop has ended a period and waits for the next: its deadline counts from there
 * - `hold(scheduler)` somebody outside may still wake jobs; returns what ends it
 * - `payer(job)` what makes others run by the reservation of a job, as their `reservation`; undefined where it has none
 * - `event(fn, schedulers)` has `fn` hand on an event of the event loop: jobs that it makes ready, and those of `schedulers`
 *   that are ready, run right after it, without a further task, which a browser may put off until the next frame. Nothing
 *   else may be on the stack
 * - `background(job)` the standing of a job that runs after all others, by its own keys
 * - `emit(scheduler, type, job, more)` writes into the trace
 * - `frame` is the interval of frames that have told nothing; `intervalAfter(gap, interval)` the next one
 */
export const seam = /* @__PURE__ */ Object.freeze({
  protocol,
  asCall,
  Waitable,
  Sleep,
  Queue,
  Heap,
  Fifo,
  check,
  parameters: TASK_OPTIONS,
  here,
  frame: FRAME,
  intervalAfter,

  /**
   * @param {Scheduler} scheduler @param {number} time
   * @param {((time: number) => void) & { of?: string }} fn `of`: whose replenishment it is, for the trace
   * @param {{ ref?: boolean, replenishment?: boolean }} [options]
   * @returns {{ readonly time: number, cancel(): boolean }}
   */
  at(scheduler, time, fn, { ref = true, replenishment = false } = {}) {
    const dispatcher = dispatcherOf(scheduler)
    const entry = dispatcher.timeline.at(replenishment ? REPLENISHMENT : ALARM, time, fn, ref)
    dispatcher.loop.rest()
    return entry
  },

  /** @param {Job} job @param {number} level @returns {{ raise(level: number): void, close(): void }} */
  gate(job, level) {
    const a = activationOf(job)
    const gate = new Gate(a, level)
    extrasOf(a).gates++
    if (a.extras.server !== null) a.dispatcher.refresh(a)
    a.dispatcher.gates.push(gate)
    a.dispatcher.raiseCeilings()
    return gate
  },

  /** @param {Scheduler} scheduler */
  pool: scheduler => new Pool(dispatcherOf(scheduler)),

  /** @param {Job} job @param {() => void} fn called when the job has ended; it counts as nobody who has asked */
  ended(job, fn) {
    const a = activationOf(job)
    const woken = () => {
      try {
        fn()
      } catch (error) {
        a.dispatcher.report(error, null)
      }
    }
    if (new Join(a).enlist({ job: null, woken })) woken()
  },

  /** @param {Job} job @returns {Standing} */
  background: job => extrasOf(activationOf(job)).background ??= { band: -1, job: rankOf(job) },

  /** @param {Job} job @returns {object | undefined} */
  payer(job) {
    const server = activationOf(job).extras.server
    return server ? { [protocol]: server } : undefined
  },

  /** @param {Job} job @param {number} release */
  renew: (job, release) => activationOf(job).dispatcher.renew(activationOf(job), release),

  /** @param {Scheduler} scheduler @returns {() => void} */
  hold(scheduler) {
    const dispatcher = dispatcherOf(scheduler)
    let held = true
    dispatcher.holds++
    return () => {
      if (!held) return
      held = false
      dispatcher.holds--
      if (!dispatcher.inRound) dispatcher.answerIdlers()
    }
  },

  /** @param {() => void} fn @param {Iterable<Scheduler>} [schedulers] */
  event(fn, schedulers = []) {
    if (following !== null || rounds > 0) return fn()
    /** @type {Set<EventLoop>} */
    const loops = following = new Set()
    try {
      fn()
      for (const scheduler of schedulers) dispatcherOf(scheduler).loop.rest()
    } finally {
      following = null
      for (const loop of loops) loop.follow()
    }
  },

  /** @param {Scheduler} scheduler @param {string} type @param {Job | null} job @param {object} [more] */
  emit(scheduler, type, job, more) {
    const dispatcher = dispatcherOf(scheduler)
    if (dispatcher.observers !== null) dispatcher.emit(type, job && activationOf(job), more)
  }
})

// ------------------------------------------------------------------------------- 6a what can be scheduled

/**
 * What `schedulable` has to know of a task: a Task has it, and so may any object. Times in ms.
 *
 * @typedef {object} TaskParameters
 * @property {number} wcet worst-case execution time, >= 0
 * @property {number} period the least time from one release to the next, > 0
 * @property {number} [deadline] after the release, > 0; default, as for `periodic`, and for Infinity: the
 *   period
 * @property {number} [priority] default 0; under rm the rate
 * @property {number} [phase] when it is released first; default 0
 * @property {readonly unknown[]} [uses] the resources it declares: Resources of sync.mjs, or what stands for
 *   them. One without a section counts as held from the beginning of a job to its end.
 * @property {readonly CriticalSection[]} [sections] how long it holds them
 */
/**
 * @typedef {object} CriticalSection
 * @property {any} [resource] without one, the section is non-preemptive
 * @property {number} wcet its worst-case execution time, ms; at most that of the task
 */
/**
 * @typedef {object} Schedulability
 * @property {boolean} schedulable whether every job is certain to meet its deadline
 * @property {boolean} exact whether the test is necessary, too; if not, it may refuse what would do
 * @property {number} utilization the sum of wcet / period
 * @property {number[]} [response] by fixed priority: the longest time from a release to its finish, of each
 *   task; Infinity where there is none
 * @property {TaskParameters | null} failed the most important task that may miss its deadline; under edf the one at whose
 *   deadline more is asked of the processor than there is time; null when there is none, or no single one
 */

/** Times of which one is longer by no more than this part count as equal: sums of 0.1 are not exact. */
const TOLERANCE = 2 ** -36
const LESS = 1 - TOLERANCE
const MORE = 1 + TOLERANCE
/** Terms of sums after which `schedulable` gives up: few sets need as many. @param {number} count of tasks */
const mostTerms = count => 2e7 + 8 * count ** 2
/** What a sum costs beside its terms. */
const SUM = 10

/**
 * Whether all jobs of a set of tasks will meet their deadlines, before any of them has run.
 *
 * edf: the processor demand of no interval exceeds its length (Baruah, Rosier, Howell 1990), for deadlines of
 * any length, by QPA (Zhang, Burns 2009); more than a utilization of 1 is refused. Fixed priorities: no
 * response time exceeds its deadline (Joseph, Pandya 1986; Audsley et al. 1993); where a deadline exceeds the
 * period, none of a busy period (Lehoczky 1990), if jobs of a task run one after the other. With sections, a
 * job is blocked once at most, by the longest of a less urgent task whose ceiling reaches it (Baker 1991).
 *
 * Yes is certain. No is certain (`exact`) for independent tasks that are all released at one time, or at any
 * times no less than a period apart. It is not where sections block or phases differ, nor, by fixed priority,
 * where equal priorities have different deadlines: they take turns, so each counts as held up by the others.
 * Beyond a utilization of 1 it is, always.
 *
 * What the page takes for itself is not known here. Neither is the time between two preemption points; where
 * it matters, it is a section without a resource. A reservation counts as a task: capacity, period.
 *
 * @param {readonly TaskParameters[]} tasks
 * @param {{ policy?: Policy }} [options] `edf` (default), `fp`, `rm`, or one that compares as these do, like
 *   deadline monotonic: `{ ...fp, priority: task => -task.deadline }`
 * @returns {Schedulability}
 * @throws {TypeError | RangeError} naming the parameter
 */
export function schedulable(tasks, options = {}) {
  const { policy = edf } = knownOptions(options, unchecked('policy'))
  const isByDeadline = policyOf(policy).compare === edf.compare
  if (!isByDeadline && policy.compare !== fp.compare) {
    throw wrongType('policy', 'edf, fp, rm, or one that compares as these do', policy)
  }
  if (!Array.isArray(tasks)) throw wrongType('tasks', 'an array of Tasks', tasks)
  const demands = Array.from(tasks, (task, index) => demandOf(task, index, policy))
  const blockers = blockersAmong(demands)
  const utilization = demands.reduce((sum, { wcet, period }) => sum + wcet / period, 0)
  const result = isByDeadline ? byDemand(demands, blockers, utilization) : byResponse(demands, blockers)
  const isSynchronous = demands.every(({ phase }) => phase === demands[0].phase)
  return {
    schedulable: result.failed === null && !result.isRefused,
    exact: utilization > MORE || result.isExact && isSynchronous && blockers.length === 0,
    utilization,
    ...result.response && { response: result.response },
    failed: result.failed && tasks[result.failed.index]
  }
}

/**
 * A checked task.
 *
 * @typedef {object} Demand
 * @property {number} index
 * @property {number} wcet
 * @property {number} period
 * @property {number} deadline
 * @property {number} priority
 * @property {number} phase
 * @property {number} level
 * @property {Required<CriticalSection>[]} sections
 */

/** @param {any} task @param {number} index @param {Policy} policy @returns {Demand} */
function demandOf(task, index, policy) {
  const given = record(`tasks[${index}]`, task)
  const name = `tasks[${index}].`
  const wcet = duration(`${name}wcet`, given.wcet)
  const period = interval(`${name}period`, given.period)
  const isImplicit = given.deadline === undefined || given.deadline === Infinity
  const deadline = isImplicit ? period : positive(`${name}deadline`, given.deadline)
  const { priority: own = 0, phase = 0 } = given
  finite(`${name}priority`, own)
  finite(`${name}phase`, phase)
  const ranked = { deadline, priority: own, period }
  const priority = policy.priority === undefined ? own : finite('policy.priority()', policy.priority(ranked))
  const level = policy.level({ ...ranked, priority })
  return { index, wcet, period, deadline, priority, phase, level, sections: sectionsOf(name, given) }
}

/** @typedef {{ owner: Demand, wcet: number, ceiling: number }} Blocker */

/** The sections that can hold up anybody. @param {Demand[]} demands @returns {Blocker[]} */
function blockersAmong(demands) {
  /** @type {Map<any, number>} */
  const ceilings = new Map([[undefined, Infinity]])
  for (const { level, sections } of demands) {
    for (const { resource } of sections) {
      const given = resource?.ceiling > -Infinity ? resource.ceiling : -Infinity
      ceilings.set(resource, Math.max(ceilings.get(resource) ?? -Infinity, given, level))
    }
  }
  const top = demands.reduce((most, { level }) => Math.max(most, level), -Infinity)
  return demands.flatMap(owner => owner.sections.map(({ resource, wcet }) => {
    return { owner, wcet, ceiling: /** @type {number} */ (ceilings.get(resource)) }
  })).filter(({ owner, wcet, ceiling }) => wcet > 0 && ceiling > owner.level && top > owner.level)
}

/**
 * By fixed priority. The longest response is that of a job released together with one of everybody above,
 * when a less urgent section has just begun (Liu, Layland 1973).
 *
 * @param {Demand[]} demands @param {Blocker[]} blockers
 */
function byResponse(demands, blockers) {
  const order = [...demands].sort((a, b) => b.priority - a.priority)
  const wcets = Float64Array.from(order, ({ wcet }) => wcet)
  const rates = Float64Array.from(order, ({ period }) => 1 / period)
  const response = Array(demands.length).fill(Infinity)
  let terms = mostTerms(demands.length)
  let isExact = true
  /** @type {Demand | null} */
  let failed = null
  /** Nobody who comes later in the order ends earlier: what blocks those before, it must wait for, too. */
  let earliest = 0

  /**
   * What those before `last` ask for until `time`.
   *
   * @param {number} time @param {number} last @param {boolean} atOnce on behalf of somebody who needs no time
   */
  function interferenceBy(time, last, atOnce) {
    terms -= last + SUM
    const [early, late] = [time * LESS, time * MORE]
    let sum = 0
    for (let place = 0; place < last; place++) {
      if (wcets[place] === 0) continue
      // Who needs no time at all waits until nobody above has anything to do, not even from that moment on.
      const jobs = atOnce ? Math.floor(late * rates[place]) + 1 : Math.ceil(early * rates[place])
      sum += jobs * wcets[place]
    }
    return sum
  }

  /**
   * @param {Demand} demand @param {number} last of those that interfere, itself left out
   * @param {number} share that these ask for @param {number} blocking
   */
  function responseOf({ wcet, period, deadline }, last, share, blocking) {
    if (share > LESS || share + wcet / period > MORE) return Infinity
    let longest = 0
    for (let jobs = 1, end = earliest; ; jobs++) {
      const own = blocking + jobs * wcet
      // From below: what is asked for meanwhile is at least the share of the time.
      end = Math.max(end, own / (1 - share + 1e-12))
      for (let before = -1; end > before * MORE; end = own + interferenceBy(end, last, wcet === 0)) {
        if (terms < 0) {
          isExact &&= Math.max(longest, end - (jobs - 1) * period) > deadline * MORE
          return Infinity
        }
        before = end
      }
      if (!(end < Infinity)) return Infinity
      longest = Math.max(longest, end - (jobs - 1) * period)
      if (jobs === 1) earliest = end
      if (end <= jobs * period * MORE) return longest
    }
  }

  let load = 0
  for (let first = 0, last = 0; first < order.length; first = last) {
    const { priority, deadline } = order[first]
    let shortest = Infinity
    let isAlike = true
    for (; last < order.length && order[last].priority === priority; last++) {
      load += wcets[last] * rates[last]
      shortest = Math.min(shortest, order[last].period)
      isAlike &&= order[last].deadline === deadline
    }
    // One of several that have to be done by the same time is the last.
    if (last - first > 1 && !(isAlike && deadline <= shortest)) isExact = false
    for (let place = first; place < last; place++) {
      const demand = order[place]
      const blocking = blockers.reduce((most, { owner, wcet, ceiling }) => {
        return owner.priority < priority && ceiling >= demand.level ? Math.max(most, wcet) : most
      }, 0)
      wcets[place] = 0 // it does not interfere with itself
      const share = load - demand.wcet * rates[place]
      const longest = response[demand.index] = responseOf(demand, last, share, blocking)
      wcets[place] = demand.wcet
      if (longest > demand.deadline * MORE) failed ??= demand
    }
  }
  return { failed, isRefused: false, isExact, response }
}

/**
 * By deadline. If jobs miss theirs, they do in a busy period that begins with a release of everybody, and
 * what has to be done by some deadline in it is more than the time until there (Baruah, Rosier, Howell 1990).
 *
 * @param {Demand[]} demands @param {Blocker[]} blockers @param {number} utilization
 */
function byDemand(demands, blockers, utilization) {
  /** @type {{ failed: Demand | null, isRefused: boolean, isExact: boolean, response?: undefined }} */
  const result = { failed: null, isRefused: utilization > MORE, isExact: true }
  if (result.isRefused || demands.length === 0) return result
  const order = [...demands].sort((a, b) => a.deadline - b.deadline)
  const blocking = order.map(({ deadline, level }) => blockers.reduce((most, { owner, wcet, ceiling }) => {
    return owner.deadline > deadline && ceiling >= level ? Math.max(most, wcet) : most
  }, 0))
  if (isSparse(order, blocking)) return result

  let terms = mostTerms(order.length)

  /** What has to be done from 0 to `time`. @param {number} time */
  function demandBy(time) {
    terms -= order.length + SUM
    const late = time * MORE
    let sum = 0
    for (const { wcet, period, deadline } of order) {
      if (deadline > late) break
      if (wcet > 0) sum += (Math.floor((late - deadline) / period) + 1) * wcet
    }
    return sum
  }

  /** The latest deadline before `time`. @param {number} time */
  function deadlineBefore(time) {
    terms -= order.length + SUM
    const early = time * LESS
    let latest = -Infinity
    for (const { period, deadline } of order) {
      if (deadline >= early) break
      latest = Math.max(latest, deadline + (Math.ceil((early - deadline) / period) - 1) * period)
    }
    return latest
  }

  /**
   * QPA: when no more than some earlier time is asked for by now, as little is by any moment between the two.
   *
   * @param {number} from @param {number} to deadlines before it @param {number} blocked
   * @returns {number | null} by when too much is asked for
   */
  function overloadWithin(from, to, blocked) {
    for (let time = deadlineBefore(to); time >= from && terms >= 0;) {
      const asked = demandBy(time) + blocked
      if (!(asked <= time * MORE)) return time
      time = asked < time * LESS ? asked : deadlineBefore(time)
    }
    return null
  }

  let overload = null
  // What blocks depends on who has to be done, so it changes with the deadlines of the tasks only.
  for (let index = 0; index < order.length - 1 && overload === null; index++) {
    const [from, to] = [order[index].deadline, order[index + 1].deadline]
    if (blocking[index] > 0 && to > from) overload = overloadWithin(from, to, blocking[index])
  }
  let horizon = horizonOf(order, utilization)
  // Most overloads are early. The busy period ends early, too, but may be long in coming.
  let to = 4 * order.reduce((longest, { period, deadline }) => Math.max(longest, period, deadline), 0)
  for (let from = order[0].deadline; overload === null && from < horizon && terms >= 0; from = to, to *= 8) {
    overload = overloadWithin(from, Math.min(to, horizon), 0)
    if (to < horizon) horizon = Math.min(horizon, busyPeriodOf(order, terms / 8))
  }
  if (overload !== null) {
    const late = overload * MORE
    const since = (/** @type {Demand} */ { deadline, period }) =>
      deadline > late ? Infinity : (late - deadline) % period
    result.failed = order.reduce((latest, demand) => since(demand) < since(latest) ? demand : latest)
  } else if (terms < 0) {
    result.isRefused = true
    result.isExact = false
  }
  return result
}

/**
 * A quick yes (Devi 2003): demands grow no steeper than utilizations, so each task's first deadline will do.
 *
 * @param {Demand[]} order by deadline @param {number[]} blocking
 */
function isSparse(order, blocking) {
  let asked = 0
  let slope = 0
  let last = 0
  return order.every(({ wcet, period, deadline }, index) => {
    asked += slope * (deadline - last) + wcet
    slope += wcet / period
    last = deadline
    return asked + blocking[index] <= deadline * MORE
  })
}

/**
 * From then on, demand stays below the time (Zhang, Burns 2009).
 *
 * @param {Demand[]} order by deadline @param {number} utilization
 */
function horizonOf(order, utilization) {
  if (utilization > LESS) return Infinity
  const late = order.reduce((most, { deadline, period }) => Math.max(most, deadline - period), 0)
  const sum = order.reduce((sum, { wcet, period, deadline }) => sum + (period - deadline) * wcet / period, 0)
  return Math.max(late, sum / (1 - utilization), order[0].deadline) * MORE
}

/** When the processor has nothing left to do. @param {Demand[]} order @param {number} terms at most */
function busyPeriodOf(order, terms) {
  let end = order.reduce((sum, { wcet }) => sum + wcet, 0)
  for (; terms > 0; terms -= order.length + SUM) {
    const early = end * LESS
    let asked = 0
    for (const { wcet, period } of order) asked += Math.ceil(early / period) * wcet
    if (asked <= end * MORE) return end * MORE
    end = asked
  }
  return Infinity
}

// ------------------------------------------------------------------------------------------ 7 async shim

const PASSED = Promise.resolve()
/** @param {(name: string, value: any) => unknown} check @returns {(name: string, value: any) => unknown} */
const orInherit = check => (name, value) => value === 'inherit' || check(name, value)
const YIELD_OPTIONS = { priority: orInherit(priorityOf), signal: orInherit(abortSignal), deadline: positive }
const POST_OPTIONS = { priority: priorityOf, signal: abortSignal, deadline: positive, delay: duration }
const PRIORITIES = { 'user-blocking': 1, 'user-visible': 0, background: -1 }
const taskPriority = /* @__PURE__ */ among(...Object.keys(PRIORITIES))
const CONTROLLER_OPTIONS = { priority: taskPriority }

/**
 * The async job whose code runs for certain: within the call of its function, and in what directly awaits one of its
 * yields. After other awaits only the engine knows.
 *
 * @type {Activation | null}
 */
let certain = null

/**
 * The same from the engine, which knows it after any await: AsyncContext, where there is one.
 *
 * @type {{ run(a: Activation | null, fn: () => any): any, get(): Activation | null | undefined } | null | undefined}
 *   undefined until a job is begun
 */
let contextual

/** @returns {Exclude<typeof contextual, undefined>} */
function engineContext() {
  const { AsyncContext } = /** @type {any} */ (globalThis)
  return AsyncContext?.Variable === undefined ? null : new AsyncContext.Variable()
}

const leave = () => { certain = null }

/** Drives async code: it comes back by its yields, and is away while it awaits anything else. */
class AsyncDriver {
  /** @param {Activation} activation */
  constructor(activation) {
    this.activation = activation
    /** Pending while the job is at a point. @type {Promise<void> | null} */
    this.promise = null
    /** @type {((value: any) => void) | null} */
    this.resolve = null
    /** @type {((error: unknown) => void) | null} */
    this.reject = null
    /** Whether it passed a point within its budget. */
    this.passed = false
    /** Whether its code goes on in microtasks: a function that is no job's, or that has returned a promise. */
    this.isAsync = false
    /** DONE or FAILED, once that has settled. */
    this.ended = 0
    /** A continuation of code that is no job: it ends when nothing more is heard of it. */
    this.isFree = false
    /** Whether it is one that inherits nothing. */
    this.isPlain = false
    /** Whose code goes on after a yield; null if nobody's, or if the engine tells. @type {Activation | null} */
    this.owner = contextual ? null : activation
  }

  /** @param {PromiseLike<any>} thenable */
  follow(thenable) {
    this.isAsync = true
    try {
      thenable.then(value => {
        try {
          if (isThenable(value)) return this.follow(value)
        } catch (error) {
          return this.end(FAILED, error)
        }
        this.end(DONE, value)
      }, error => this.end(FAILED, error))
    } catch (error) {
      this.end(FAILED, error)
    }
  }

  /** @param {number} state @param {any} outcome */
  end(state, outcome) {
    const a = this.activation
    if (a.state >= DONE || this.ended !== 0) return
    const extras = extrasOf(a)
    const signal = signalOf(a)
    // It passes on what its signal told it.
    if (state === FAILED && signal?.aborted && extras.reason === NOT_CANCELLED) extras.reason = signal.reason
    this.ended = state
    a.outcome = outcome
    if (a.state !== WAITING) return
    a.dispatcher.holds--
    a.dispatcher.read()
    a.dispatcher.finish(a, state, outcome)
  }

  /** @returns {Promise<void>} */
  stop() {
    return this.promise = new Promise((/** @type {(value: any) => void} */ resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** @param {boolean} throwing @param {any} input @returns {number} */
  resume(throwing, input) {
    const { resolve, reject } = this
    this.promise = this.resolve = this.reject = null
    const settle = throwing ? reject : resolve
    if (settle !== null) this.settle(settle, input)
    return ASYNC
  }

  /** @returns {Promise<void>} */
  pass() {
    return this.owner === null ? PASSED : this.answer(false, undefined)
  }

  /** @param {boolean} throwing @param {any} input @returns {Promise<any>} settled in a microtask, without handing over */
  answer(throwing, input) {
    return new Promise((resolve, reject) => { PASSED.then(() => this.settle(throwing ? reject : resolve, input)) })
  }

  /** @param {(input: any) => void} settle a promise of this job's @param {any} input */
  settle(settle, input) {
    const { owner } = this
    if (owner === null) return settle(input)
    // Between these two run those who await the promise, and nobody else.
    PASSED.then(() => { certain = owner })
    settle(input)
    PASSED.then(leave)
  }
}

/** @param {Activation} a */
const driverOf = a => extrasOf(a).driver ??= new AsyncDriver(a)

/** Whether it was a task, and somebody has asked for its outcome. @param {Activation} a */
const hasAudience = a => a.state >= DONE && a.deferred !== null && a.posted

/** Whether it goes on before tasks of equal standing. @param {Activation} a */
const isContinuation = a => a.extras.driver !== null && (a.posted || a.extras.driver.isFree)

/** @param {Activation} a @returns {Promise<void>} */
function yieldIn(a) {
  const { dispatcher } = a
  const isRunning = dispatcher.current === a && a.leaf === null
  if (!isRunning && !a.extras.driver) {
    throw new TypeError('job.yield() is for async jobs; in a generator write `yield`')
  }
  const driver = driverOf(a)
  const signal = signalOf(a)
  if (a.state >= DONE) {
    return Promise.reject(a.state === CANCELLED ? a.outcome : new TypeError(`${a.job.name} has ended`))
  }
  if (signal?.aborted) return driver.answer(true, signal.reason)
  if (driver.promise !== null) return driver.promise
  const isFirst = isContinuation(a)
  if (isRunning) {
    received++
    if (budget.left > 1 && (!isFirst || dispatcher.goFirst(a))) {
      budget.left--
      driver.passed = true
      return driver.pass()
    }
  }
  const promise = driver.stop()
  if (a.state === WAITING && a.waiting === null) {
    dispatcher.holds--
    dispatcher.strike(a)
    dispatcher.unblock(a)
  }
  if (isFirst) dispatcher.goFirst(a)
  return promise
}

/** The job whose code calls, where that is certain. @param {Dispatcher} dispatcher @returns {Activation | null} */
function caller(dispatcher) {
  const { current } = dispatcher
  if (current !== null && current.leaf !== null) return current // a generator, which no microtask interrupts
  const a = certain ?? contextual?.get() ?? null
  return a !== null && a.dispatcher === dispatcher ? a : null
}

/** @param {Dispatcher} dispatcher @param {any} options @returns {Promise<void>} */
function yieldAsync(dispatcher, options) {
  const asker = caller(dispatcher)
  const isBare = options === undefined || options === null
  if (isBare && asker !== null && asker.leaf === null && asker.state < DONE) return yieldIn(asker)
  // A continuation that inherits nothing may be the rest of any code that inherits nothing.
  if (isBare && asker === null && dispatcher.current?.extras.driver?.isPlain) return yieldIn(dispatcher.current)
  const { deadline, priority = 'inherit', signal: given = isBare ? 'inherit' : null } =
    optionsOf(options ?? NO_OPTIONS, YIELD_OPTIONS)
  const signal = given === 'inherit' ? asker && signalOf(asker) : given
  const now = dispatcher.read()
  const a = activate(dispatcher, CONTINUATION, undefined, null, now)
  if (asker !== null) {
    a.deadline = asker.absoluteDeadline - now
    a.priority = asker.priority
  }
  if (deadline !== undefined) a.deadline = deadline
  if (priority !== 'inherit') a.priority = priorityOf('priority', priority)
  if (signal?.aborted) return Promise.reject(signal.reason)
  const driver = driverOf(a)
  driver.isFree = driver.isAsync = true
  driver.isPlain = isBare && asker === null
  driver.owner = driver.isPlain ? null : asker?.extras.driver ? asker.extras.driver.owner : a
  const promise = driver.stop()
  if (signal) listen(a, signal, 'abort')
  dispatcher.launch(a, now)
  dispatcher.goFirst(a)
  return promise
}

/** @param {Dispatcher} dispatcher @param {any} parameters @param {any} work @param {any} leaf @param {number} release */
function activate(dispatcher, parameters, work, leaf, release) {
  const a = new Activation(dispatcher, dispatcher.stats.jobs + 1, parameters, work, leaf, NO_ARGUMENTS)
  a.release = release
  return a
}

/** @param {Dispatcher} dispatcher @param {any} fn @param {any} options @returns {Job} */
function postTask(dispatcher, fn, options) {
  refuseAsyncGenerator('fn', callable('fn', fn), fn)
  const { priority, signal, delay = 0, deadline = Infinity } = optionsOf(options ?? NO_OPTIONS, POST_OPTIONS)
  const follows = priority === undefined && signal?.priority !== undefined
  const own = priorityOf('priority', follows ? signal.priority : priority ?? 'user-visible')

  const now = dispatcher.read()
  const a = activate(dispatcher, PLAIN, fn, UNSTARTED, now + delay)
  a.posted = true
  a.deadline = deadline
  const { policy } = dispatcher
  a.priority = policy.priority === undefined ? own : policy.priority({ ...PLAIN, deadline, priority: own })
  if (signal !== undefined) listen(a, signal, 'abort')
  if (follows) listen(a, signal, 'prioritychange')
  return dispatcher.launch(a, now)
}

/**
 * The signal of a task aborts it until its function has returned; after that only the yields of its async code. That of
 * any other job cancels it.
 *
 * @param {Activation} a @param {unknown} reason
 */
function abort(a, reason) {
  const { dispatcher } = a
  const { driver } = a.extras
  const hasReturned = driver !== null && driver.isAsync || a.leaf === null && dispatcher.current !== a
  if (!a.posted || !hasReturned) {
    dispatcher.cancel(a, reason)
  } else if (driver !== null && driver.promise !== null) {
    a.input = reason
    a.throwing = true
  }
}

/** The signal that the yields of a task heed, each time; that of any other job cancels it, once. @param {Activation} a */
const signalOf = a => a.posted || a.extras.driver?.isFree ? a.extras.signal : null

/** @typedef {'abort' | 'prioritychange'} SignalEvent */

/** @type {Record<SignalEvent, (a: Activation, signal: any) => void>} */
const HEED = {
  abort: (a, signal) => abort(a, signal.reason),
  prioritychange: (a, signal) => a.dispatcher.rekey(a, 'priority', priorityOf('priority', signal.priority))
}

/**
 * One listener of ours serves all jobs that follow a signal: a signal's listeners are searched one by one.
 *
 * @type {Record<SignalEvent, WeakMap<AbortSignal, { jobs: Set<Activation>, tell: () => void }>>}
 */
const listening = { abort: new WeakMap(), prioritychange: new WeakMap() }

/** @param {Activation} a @param {AbortSignal} signal @param {SignalEvent} type */
function listen(a, signal, type) {
  let group = listening[type].get(signal)
  if (group === undefined) {
    const jobs = new Set()
    listening[type].set(signal, group = { jobs, tell: () => { for (const a of jobs) HEED[type](a, signal) } })
  }
  if (group.jobs.size === 0) signal.addEventListener(type, group.tell)
  group.jobs.add(a)
  extrasOf(a).signal = signal
}

/** @param {Activation} a */
function unlisten(a) {
  const { signal } = a.extras
  if (signal === null) return
  for (const type of /** @type {const} */ (['abort', 'prioritychange'])) {
    const group = listening[type].get(signal)
    if (group?.jobs.delete(a) && group.jobs.size === 0) signal.removeEventListener(type, group.tell)
  }
}

/** @param {string} name @param {unknown} value @returns {number} */
function priorityOf(name, value) {
  if (typeof value === 'number') return finite(name, value)
  if (typeof value === 'string' && Object.hasOwn(PRIORITIES, value)) {
    return PRIORITIES[/** @type {TaskPriority} */ (value)]
  }
  throw wrongType(name, "a finite number, 'user-blocking', 'user-visible' or 'background'", value)
}

/**
 * The platform's TaskController, for engines that have none. Its signal is an AbortSignal with a `priority` and
 * `prioritychange` events; `postTask` follows any such signal.
 */
export class TaskController extends AbortController {
  #isChanging = false

  /**
   * @param {{ priority?: TaskPriority }} [options] default 'user-visible'
   * @throws {TypeError} naming the option
   */
  constructor(options) {
    super()
    const signal = /** @type {any} */ (this.signal)
    const { priority = 'user-visible' } = optionsOf(options ?? NO_OPTIONS, CONTROLLER_OPTIONS)
    signal.priority = priority
    signal.addEventListener('prioritychange', (/** @type {Event} */ event) => signal.onprioritychange?.(event))
  }

  /**
   * @param {TaskPriority} priority of all tasks that follow the signal
   * @throws {TypeError} where it is none
   * @throws {DOMException} NotAllowedError, within a `prioritychange` event
   */
  setPriority(priority) {
    const signal = /** @type {any} */ (this.signal)
    const { priority: previousPriority } = signal
    taskPriority('priority', priority)
    if (this.#isChanging) throw new DOMException('the priority is being changed already', 'NotAllowedError')
    if (priority === previousPriority) return
    this.#isChanging = true
    signal.priority = priority
    try {
      signal.dispatchEvent(Object.assign(new Event('prioritychange'), { previousPriority }))
    } finally {
      this.#isChanging = false
    }
  }
}

/** The scheduler of this thread. */
export const rt = /* @__PURE__ */ new Scheduler()

// ------------------------------------------------------------------------------------------- 8 preemptify

// The source of a function is read once, and edited where it has been read; what depends on all of it, as on what a
// name means, comes after. The source comes from a function, so it is valid: whether a slash divides, a brace opens a
// block, or a line ends a statement follows from where it stands, and nothing is guessed. The grammar is read by
// generators that yield those of its parts, so that nesting is bounded by memory. Each begins at the first token of
// its part and, unless said otherwise, ends at the first behind it.

// Nothing that a page replaces later is called here: methods are kept as functions, what is iterated is indexed, and maps
// and sets have methods of their own. Bundlers leave all of it out for pages that do not use it: no line that runs when
// the module is loaded looks up what might not be there (so no destructuring), or calls what is not marked as pure.

/** @template T @template {keyof T} K @param {T} object @param {K} name */
const its = (object, name) => object[name]
/** @param {any} Class @param {string} name */
const methodOf = (Class, name) => Class.prototype[name]
/** @param {any} Class @param {string} name @returns {any} the method as a function whose first argument is `this` */
const kept = (Class, name) => Function.prototype.call.bind(methodOf(Class, name))
const patternExec = /* @__PURE__ */ methodOf(RegExp, 'exec')
const pop = /* @__PURE__ */ methodOf(Array, 'pop')
const invoke = /* @__PURE__ */ kept(Function, 'call')
const sourceOf = /* @__PURE__ */ kept(Function, 'toString')
const isBefore = /* @__PURE__ */ kept(Object, 'isPrototypeOf')
const resume = /* @__PURE__ */ Function.prototype.call.bind(next)
const exec = /* @__PURE__ */ kept(RegExp, 'exec')
const testOf = /* @__PURE__ */ kept(RegExp, 'test')
const cut = /* @__PURE__ */ kept(String, 'slice')
const holds = /* @__PURE__ */ kept(String, 'includes')
const startsWith = /* @__PURE__ */ kept(String, 'startsWith')
const append = /* @__PURE__ */ kept(Array, 'push')
const takeLast = /* @__PURE__ */ kept(Array, 'pop')
const join = /* @__PURE__ */ kept(Array, 'join')
const sort = /* @__PURE__ */ kept(Array, 'sort')
const apply = Reflect.apply
const ownKeys = Reflect.ownKeys
const getPrototypeOf = Reflect.getPrototypeOf
const getOwnPropertyDescriptor = Reflect.getOwnPropertyDescriptor
const create = Object.create
const keysOf = Object.keys
const defineProperty = Object.defineProperty
const defineProperties = Object.defineProperties
const getOwnPropertyDescriptors = Object.getOwnPropertyDescriptors
const setPrototypeOf = Object.setPrototypeOf
const isArray = /* @__PURE__ */ its(Array, 'isArray')
const sign = Math.sign
const fromCodePoint = /* @__PURE__ */ its(String, 'fromCodePoint')
const stringify = JSON.stringify
const adopt = /* @__PURE__ */ Promise.resolve.bind(Promise)

/** @param {any} Base @returns {() => any} makes a map or a set */
function maker(Base) {
  const methods = create(null, getOwnPropertyDescriptors(Base.prototype))
  return () => setPrototypeOf(new Base(), methods)
}
const emptyMap = /* @__PURE__ */ maker(Map)
const emptySet = /* @__PURE__ */ maker(Set)
const emptyWeakMap = /* @__PURE__ */ maker(WeakMap)

/** Keys of a map or a set. @param {any} marks @returns {any[]} */
function listOf(marks) {
  /** @type {any[]} */
  const list = []
  marks.forEach((/** @type {any} */ _, /** @type {any} */ key) => append(list, key))
  return list
}

/** `test` is the quicker, and calls whatever is `exec` then. */
const isQuick = () => getOwnPropertyDescriptor(RegExp.prototype, 'exec')?.value === patternExec
let quick = true

/** @param {RegExp} pattern @param {string} text @returns {boolean} */
const matches = (pattern, text) => quick ? testOf(pattern, text) : exec(pattern, text) !== null

/** @template T @param {T[]} list @param {(item: T) => any} isWanted */
function pick(list, isWanted) {
  /** @type {T[]} */
  const picked = []
  for (let i = 0; i < list.length; i++) if (isWanted(list[i])) append(picked, list[i])
  return picked
}

/** As much of it as is no member or operator: 1.5 of 1.5e-3, 017 of 017.x. */
const NUMBER = /\.?\d\w*(?:\.(?:\d\w*|(?![^\s!-#%-/:-@[\]^`{-~])))?/
/** A name or a string. */
const WORD = /#?(?:\\u\{\w+\}|[^\s!-#%-/:-@[\]^`{-~])+|(["'])(?:\\?[^])*?\1/
/** An operator, where `a?.5:b` is a conditional, or one of what else there is. */
const SIGN = /\?\.(?!\d)|=>|\+\+|--|\.{3}|[=!]==?|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^<>])=?|[^]?/
/** @param {RegExp[]} patterns */
const anyOf = (...patterns) => new RegExp(patterns.map(({ source }) => source).join('|'), 'y')
const TOKEN = /* @__PURE__ */ anyOf(NUMBER, WORD, SIGN)
const NAME = /^(?!(?:null|true|false|import|extends)$)[^\s!-#%-@[\]^`{-~]/
const REGULAR_EXPRESSION = /\/(?:\[(?:\\?.)*?\]|\\?.)*?\/\w*/y
const TEMPLATE = /(?:\\?[^])*?(?:`|\$\{)/y // from a backtick or a hole to the next
const SPACE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/|<!--.*)*/y // HTML's comments, too, are those of a script (Annex B.1.1)
const LINE_END = /\r\n|(?!.)[^]/ // what a dot is not

/** What goes on with an expression, behind an operand. */
const CONTINUES = /^(?:[*/%&|^<>=?,]|[-+]=?$|!=|in(?:stanceof)?$)/
const ASSIGNS = /^(?:.*[^=!<>]|<<|>>+)?=$|^([-+])\1/
/** What stands before an operand. */
const PREFIX = /^(?:[-+]{1,2}|[!~,*]|\.{3}|new|typeof|void|delete)$/
/** A modifier and what follows: else it is the name of a member. */
const MODIFIES = /^(?:\*|(?:static|async) [^(,}=:;]|[gs]et [^(,}=:;*])/

// What an expression ends at, besides what cannot go on with it.
const LIST = ''
const ELEMENT = ','
const PIECE = ',?' // of a conditional
const HEAD = 'in' // of a for loop
const TOP = '=>' // the function itself

/** @param {string} text of a name @returns {string} without escapes */
function unescaped(text) {
  if (!holds(text, '\\')) return text
  let result = ''
  let from = 0
  const escape = /\\u(?:\{0*([\da-f]{1,5})\}|([\da-f]{4}))/gi
  for (let match; (match = exec(escape, text)); from = escape.lastIndex) {
    result += cut(text, from, match.index) + fromCodePoint(+`0x${match[1] ?? match[2]}`)
  }
  return result + cut(text, from)
}

/** Runs a generator that yields the generators of its parts, and is sent what they return. @param {any} whole */
function readNested(whole) {
  const stack = [whole]
  for (let value, done; stack.length;) {
    ;({ done, value } = resume(stack[stack.length - 1], value)) // one that begins takes no notice of it
    if (done) stack.length--
    else stack[stack.length] = value
  }
}

/** @typedef {string | (() => string)} Text */
/**
 * A change of the source: where it is, its rank, the other end of what it opens or closes, the text, and where ends
 * what it replaces. Where several meet, what ends comes before what begins, and what encloses is outside: the rank is
 * negative for what ends, and among those that enclose the same text that of the outer is nearer to 0.
 *
 * @typedef {[number, number, number, Text, number]} Edit
 */

const BODY_EDGE = 1
const STATEMENT_EDGE = 2
const EXPRESSION_EDGE = 3
const REPLACES = 4

/** How many more delegated calls may nest on the engine's own stack. */
let room = 150

/** A delegated call that has not returned, until its caller yields it. @type {any[]} */
const pending = /* @__PURE__ */ defineProperty([], 'pop', { value: pop })

/**
 * A delegated call. Most return before the budget is used up, and then they have cost no more than the generator.
 * Otherwise the caller yields what is pending, and from there on the scheduler resumes the callee itself: calls stand
 * on the engine's stack only while they run, and a yield costs the same at any depth.
 *
 * @param {any} generator
 */
function run(generator) {
  if (room && budget.left > 1) {
    let step
    room--
    try {
      step = resume(generator)
    } finally {
      room++
    }
    if (step.done) return step.value
    generator = new Suspended(generator, step)
  }
  append(pending, generator)
}

/** Whether a chunk of a loop has to be followed by a yield. */
const over = () => dispatched === null || dispatched.dispatcher.isOver(dispatched)

const PARAMETERS = 'its parameters'

/** What the options are. @type {Record<string, string>} */
const OPTIONS = {
  scope: 'an object or an array',
  calls: 'an object or an array',
  evaluate: 'a function',
  strict: 'a boolean',
  budgeted: 'a boolean',
  home: 'an object or a function'
}

const OPTION_NAMES = /* @__PURE__ */ Object.keys(OPTIONS)
const KNOWN_OPTIONS = /* @__PURE__ */ unchecked('methods', 'this', ...OPTION_NAMES)

/** Names that come with a function. */
const OWN_WORDS = ['this', 'super', 'new.target', 'arguments', 'yield']
/** @param {string} key */
const isOwnWord = key => find(OWN_WORDS, word => word === key) !== undefined

/** How a call of a generator function begins. @param {any} generatorFunction @returns {Function} */
const wayInto = generatorFunction => /** @this {any} @param {any[]} args */ function (...args) {
  return run(apply(generatorFunction, this, args))
}

/** A variable as a property. @param {() => any} get @param {(value: any) => void} set */
const access = (get, set) => ({
  get value() {
    return get()
  },
  set value(value) {
    set(value)
  },
  get typed() {
    try {
      return get()
    } catch {}
  }
})

/**
 * What rewritten code refers to by these names.
 *
 * @type {Record<string, any>}
 */
const provided = {
  __proto__: null,
  budget,
  pending,
  run,
  over,
  access,
  apply,
  invoke,
  /** What `await` waits for. @param {any} value */
  wait: value => adopt(value),
  /** A `for await` loop: it would await what it yields, so each value is in a box. @param {any} iterable */
  iterate: iterable => defineProperties(boxed(iterable), asyncSteps)
}

/** @param {any} iterable */
async function* boxed(iterable) {
  for await (const value of iterable) yield { value }
}

/** The own ones of a generator, whoever replaces those that it inherits. @param {any} generatorFunction */
function stepsOf(generatorFunction) {
  const prototype = /** @type {any} */ (getPrototypeOf(generatorFunction.prototype))
  return {
    next: { value: prototype.next },
    throw: { value: prototype.throw },
    return: { value: prototype.return },
    [Symbol.iterator]: { /** @this {any} */ value() { return this } }
  }
}
const steps = /* @__PURE__ */ stepsOf(function* () {})
const asyncSteps = /* @__PURE__ */ stepsOf(boxed)

/** @param {any} value */
const isObject = value => typeof value === 'function' || (typeof value === 'object' && value !== null)

const GeneratorFunctions = /* @__PURE__ */ Object.getPrototypeOf(function* () {})
/** @param {any} value */
const isGeneratorFunction = value => isBefore(GeneratorFunctions, value)

/** What is known of a rewritten function: a property, which is quicker found than an entry of a map. */
const known = /* @__PURE__ */ Symbol('preemptify')

/** What a preemptible function was made of. @param {any} value */
const originalOf = value => (typeof value === 'function' && value[known]?.original) || value

/** @type {WeakMap<Function, Function>} */
const rewritten = /* @__PURE__ */ emptyWeakMap()

/** How many have been compiled: every text has a name of its own in the debugger. */
let compilations = 0

/**
 * The variables that `scope` or `calls` names by arrow functions: what a minifier makes of them in the function, it
 * makes of them there.
 *
 * @param {string} option @param {any[]} given
 * @returns {[key: string, get: () => any][]}
 */
function variablesOf(option, given) {
  /** @type {[string, () => any][]} */
  const variables = []
  for (let i = 0; i < given.length; i++) {
    const get = given[i]
    const source = typeof get === 'function' ? sourceOf(get) : ''
    const text = exec(/^\(\)\s*=>\s*([^]+)$/, source)?.[1] ?? ''
    if (matches(/^(?:void |[-!]*[\d.'"`])/, text)) continue // a minifier wrote a constant for it, here and there
    if (!matches(/^[^\s!-#%-/:-@[\]^`{-~]+$/, text)) {
      const wanted = 'an arrow function that returns a variable, such as () => name'
      throw source ? new TypeError(`${option}[${i}] must be ${wanted}, got ${source}`)
        : wrongType(`${option}[${i}]`, wanted, get)
    }
    append(variables, [text, get])
  }
  return variables
}

/** What a variable holds; in its dead zone, nothing. @param {() => any} get */
function valueOf(get) {
  try {
    return get()
  } catch {}
}

/** @param {string} key @param {any} value @returns {any} the value, if it can be called as a preemptible function */
function delegable(key, value) {
  if (value === undefined) throw new ReferenceError(`${key} is not defined in calls`)
  if (value?.[known] || isGeneratorFunction(value)) return value
  throw wrongType(`calls.${key}`, 'a generator function, as preemptify returns', value)
}

/**
 * @typedef {object} PreemptifyOptions
 * @property {Record<string, any> | (() => any)[]} [scope] values for variables that the function closes over, by
 *   name; or `[() => limit]`, which reads the variable whenever the function does, and survives minifiers. A generator
 *   function among them is called as a preemptible one
 * @property {(source: string) => any} [evaluate] `s => eval(s)`, written where the function was: its variables,
 *   its `this` and its strictness are those of the function then
 * @property {Record<string, any> | (() => any)[]} [calls] preemptible functions by the names they are called by; one
 *   that is added later is found when it is called. Or `[() => helper]`, as in `scope`
 * @property {boolean} [strict] whether the function is strict, where its source and the engine do not tell;
 *   default: strict, if its source allows it
 * @property {boolean} [budgeted] default true: points are counted, `if (--budget.left <= 0) yield`; false: they
 *   yield
 * @property {any} [this] the `this` of an arrow function
 * @property {object} [home] the object or prototype that a method with `super` belongs to
 */
/**
 * What `preemptify` makes of a function.
 *
 * @template This @template {any[]} A @template R
 * @typedef {((this: This, ...args: A) => Generator<Yieldable, Outcome<R>, unknown>) & { readonly source: string }} Preemptible
 */
/**
 * What `preemptify` makes of a class or an object.
 *
 * @template O @template M
 * @typedef {O extends abstract new (...args: infer A) => infer I
 *   ? { new (...args: A): WithMethods<I, M> } & { [K in Exclude<keyof O, 'prototype'>]: O[K] }
 *   : { [K in keyof O]: K extends M ? O[K] extends (this: infer This, ...args: infer A) => infer R
 *     ? Preemptible<This, A, R> : O[K] : O[K] }} WithMethods
 */

/**
 * Preemption points for a function that was not written for the scheduler: its source (Function.prototype.toString)
 * is rewritten at run time into a generator function, by the rules of RT.js (III-B, Table I).
 *
 * ```js
 * const encrypt = preemptify(function encrypt(text) { ... }) // loops, calls, recursion as they are
 * const cipher = await rt.spawn(encrypt, { deadline: 500 }, text)
 * ```
 *
 * Points stand where the function begins, where the body of a loop begins, and before statements that are calls; calls
 * of itself, of those in `calls` and of generator functions in `scope` are delegated; `await` yields a promise. Nested
 * functions stay as they are.
 *
 * @template This @template {any[]} A @template R
 * @overload
 * @param {(this: This, ...args: A) => R} fn a function, arrow function, method, async function or generator
 * @param {PreemptifyOptions} [options]
 * @returns {Preemptible<This, A, R>} a generator function of the same name and length, with its text as `source`
 */
/**
 * The same for methods.
 *
 * @template {object} O
 * @template {string & (O extends abstract new (...args: any) => infer I ? keyof I : keyof O)} M
 * @overload
 * @param {O} fn a class or an object
 * @param {PreemptifyOptions & { methods: readonly M[] }} options `methods`: those to rewrite
 * @returns {WithMethods<O, M>} a new class or object
 */
/**
 * @param {any} fn @param {any} [options]
 * @returns {any}
 * @throws {TypeError} when `fn` cannot be rewritten: native, bound or proxied functions, accessors, constructors, async
 *   generators
 * @throws {SyntaxError} when a preemptible function is called where no yield can stand
 * @throws {EvalError} when the Content-Security-Policy of the page forbids evaluation
 */
export function preemptify(fn, options = {}) {
  const { methods, ...others } = knownOptions(options, KNOWN_OPTIONS)
  if (methods === undefined) {
    callable('fn', fn)
    if (fn[known]) return fn
    const isDefault = keysOf(others).length === 0
    const result = (isDefault && rewritten.get(fn)) || rewriting(fn, others)
    if (isDefault) rewritten.set(fn, result)
    return result
  }
  if (!isArray(methods) || pick(methods, name => typeof name !== 'string').length) {
    throw wrongType('methods', 'an array of names', methods)
  }
  if (typeof fn === 'function') return rewriting(fn, others, methods, true)
  if (!isObject(fn)) throw wrongType('fn', 'a class or an object with methods', fn)
  const home = create(getPrototypeOf(fn), getOwnPropertyDescriptors(fn))
  const members = pick(methods, key => !isGeneratorFunction(fn[key])) // those stay what is iterated
  for (let i = 0; i < methods.length; i++) {
    const key = methods[i]
    const method = callable(`method ${key}`, getOwnPropertyDescriptor(fn, key)?.value)
    defineProperty(home, key, { value: rewriting(method, { ...others, home }, members) })
  }
  return home
}

/**
 * A use of a name.
 *
 * @typedef {object} Mention
 * @property {number} start
 * @property {number} end
 * @property {string} lead the token before it, or a brace if it is a key too: `{ name }`
 * @property {string} after the token behind it
 * @property {boolean} isHidden whether something inside of the source, or of a `with`, may answer for it
 * @property {boolean} isStrict whether it stands in code that calls itself strict
 * @property {boolean} [isWritten] whether another text stands for it
 * @property {boolean} [isCall]
 */

/**
 * A call of a name that may be preemptible, or of such a member.
 *
 * @typedef {object} Call
 * @property {string} key the name
 * @property {Mention} [mention] none for a member
 * @property {number} start of the chain that the call is part of
 * @property {{ end: number }} chain
 * @property {Link[]} links where the chain has `?.`, as far as the call, and what follows
 * @property {number} dot before the member
 * @property {number} open
 * @property {number} end
 * @property {string} zone
 * @property {string} lead what stands before the chain: yield, await, the star of yield*
 * @property {boolean} inGenerator
 * @property {boolean} isSuper
 */

/** @typedef {[at: number, next: string]} Link */

/**
 * One function on its way from its source to a generator function; or the methods of a class.
 *
 * @param {any} fn @param {any} options as of preemptify
 * @param {string[]} [methods] those that are rewritten together @param {boolean} [isClass] whether fn is their class
 * @returns {any} the generator function, or the class
 */
function rewriting(fn, options, methods = [], isClass = false) {
  quick = isQuick()
  const { scope = {}, evaluate, calls: callees, strict, budgeted = true, home } = options
  const title = fn.name || 'anonymous'
  const label = `preemptify(${title})`
  const refusal = (/** @type {string} */ reason) => new TypeError(`${label}: ${reason}`)
  const source = sourceOf(fn)
  // Valid source ends like that in no other way: a comment has its own end behind it.
  if (matches(/\{\s*\[native code\]\s*\}\s*$/, source)) {
    throw refusal('a native, bound or proxied function; give the one behind it')
  }
  for (let i = 0; i < OPTION_NAMES.length; i++) {
    const key = OPTION_NAMES[i]
    const type = OPTIONS[key]
    const value = options[key]
    if (value !== undefined && (value === null || !holds(type, typeof value))) throw wrongType(key, type, value)
  }

  /**
   * What the names of preemptible functions stand for.
   *
   * @type {Map<string, { callee: any, get: () => any }>}
   */
  const table = emptyMap()
  /** Variables that are read when the function reads them. @type {Map<string, () => any>} */
  const live = emptyMap()
  /** @param {string} option @param {string} key */
  const refuseKey = (option, key) => {
    if (matches(NAME, key) && skip(TOKEN, 0, key) === key.length) return
    throw wrongType(`a key of ${option}`, 'a name', key)
  }
  /** @param {string} key @param {() => any} get @param {any} [callee] if that stays */
  const enlist = (key, get, callee) => table.set(key, { callee, get })
  /** Members that may be preemptible. */
  const preemptible = emptySet()
  pick(methods, key => preemptible.add(key))
  /** @param {any} value in scope */
  const enlistMembers = value => {
    for (let holder = value; typeof holder === 'object' && holder; holder = getPrototypeOf(holder)) {
      pick(keysOf(getOwnPropertyDescriptors(holder)), key => {
        if (isGeneratorFunction(getOwnPropertyDescriptor(holder, key)?.value)) preemptible.add(key)
      })
    }
  }
  /** Names that are in scope by value. */
  const values = isArray(scope) ? [] : keysOf(scope)
  for (let i = 0; i < values.length; i++) {
    const key = values[i]
    const value = scope[key]
    refuseKey('scope', key)
    if (isGeneratorFunction(value)) enlist(key, () => value, value)
    enlistMembers(value)
  }
  const variablesInScope = isArray(scope) ? variablesOf('scope', scope) : []
  for (let i = 0; i < variablesInScope.length; i++) {
    const { 0: key, 1: get } = variablesInScope[i]
    const value = valueOf(get)
    live.set(key, get)
    if (isGeneratorFunction(value)) enlist(key, get)
    enlistMembers(value)
  }
  const isByName = callees !== undefined && !isArray(callees)
  const named = /** @type {any[]} */ (isByName ? keysOf(callees) : variablesOf('calls', callees ?? []))
  for (let i = 0; i < named.length; i++) {
    const key = isByName ? named[i] : named[i][0]
    const get = isByName ? () => callees[key] : named[i][1]
    refuseKey('calls', key)
    const value = isByName ? getOwnPropertyDescriptor(callees, key)?.value : valueOf(get)
    if (value !== undefined) delegable(key, value)
    if (!isByName) live.set(key, get)
    enlist(key, () => delegable(key, get()), isByName ? value : undefined)
    preemptible.add(key)
  }
  const isUnknown = (/** @type {string} */ key) => !(key in globalThis) && !isOwnWord(key)
  const mayCome = (/** @type {string} */ key) => !evaluate && isByName && isUnknown(key)
  const watches = (/** @type {string} */ key) => key === fn.name || table.has(key) || mayCome(key)

  // what the text refers to
  /** Parameters of the function that it is compiled in. @type {Map<string, any>} */
  const bindings = emptyMap()
  /** Declarations around it. @type {string[]} */
  const helpers = []
  /** What our names begin with, and none in the source. */
  let our = '$'
  const text = unescaped(`${source} ${join(values, ' ')}`)
  const runs = /\$_*/g
  for (let match; (match = exec(runs, text));) if (match[0].length >= our.length) our = `${match[0]}_`
  /** Names a value. @param {string} key @param {any} value */
  const bind = (key, value) => {
    bindings.set(our + key, value)
    return our + key
  }
  for (const key in provided) bind(key, provided[key])
  const left = `${our}budget.left`
  // In the body of a `with` no name is sure to be ours; `super` is.
  const point = () => budgeted ? `if (--${within ? 'super.' : ''}${left} <= 0) yield;` : 'yield;'
  /** Those that what is rewritten declares. @type {Set<string>} */
  const variables = emptySet()
  const variable = (/** @type {string} */ key) => {
    variables.add(our + key)
    return our + key
  }

  /** @type {Edit[]} */
  const edits = []
  /** @param {number} at @param {number} rank @param {number} other @param {Text} text */
  const insert = (at, rank, other, text, to = at) => append(edits, [at, rank, other, text, to])
  /** @param {number} from @param {number} to @param {number} rank @param {Text} before @param {string} after */
  const enclose = (from, to, rank, before, after) => {
    insert(from, rank, to, before)
    insert(to, -rank, from, after)
  }
  /** @param {number} at @param {number} to @param {string} text */
  const replace = (at, to, text) => insert(at, REPLACES, to, text, to)
  /** @param {Mention} mention @param {string} text */
  const write = (mention, text) => {
    const { start, end, lead } = mention
    replace(start, end, lead === '{' ? `${cut(source, start, end)}: ${text}` : text)
    mention.isWritten = true
  }

  // the function itself
  let isArrow = true
  let isAsync = false
  let isGenerator = false
  let ownName = ''
  let parameters = 0
  let parametersEnd = 0
  /** Of what begins a call. */
  let parameterNames = /** @type {string[]} */ ([])
  let bodyStart = 0
  let bodyEnd = 0
  let entryPoint = ''
  /** What may stand in the way of a shorter entry: eval, with, and what comes with a function. @type {Set<string>} */
  const words = emptySet()
  /** Where calls of members of super have their arguments. @type {number[]} */
  const superCalls = []
  /** @type {Call[]} */
  const calls = []
  /** Where what is returned starts and ends. @type {Map<number, number>} */
  const returned = emptyMap()
  /** Where expression statements begin that stand in a list. @type {Set<number>} */
  const listed = emptySet()
  let points = 1
  /** Whether its points come before all that it does, so that they can be passed as one. */
  let isLeaf = true
  /** The methods of a class; static ones may have the names of others. @type {Map<string, any[]>} */
  const made = emptyMap()
  pick(methods, key => made.set(key, []))
  /** The names that are not declared inside. @type {Map<string, Mention[]>} */
  const free = emptyMap()
  const mentionsOf = (/** @type {string} */ key) => /** @type {any[]} */ (free.get(key) ?? [])

  const constructing = () =>
    refusal('a constructor or an accessor cannot be a generator; give a method, or { methods: [...] }')

  // guards
  let hazards = 0
  /** Where a name is first used that only the body declares. */
  let firstUse = Infinity
  let guardsStart = 0
  let guardsEnd = 0
  /** @type {number[]} */
  const guardEnds = []
  /** Of the last return: what its question marks, colons and commas part. @type {any[]} */
  let pieces = []

  // where the reading stands
  /** Empty where a yield of the function itself may stand, otherwise the name of what this is inside of. */
  let zone = 'its head'
  // the innermost loop, as long as it is one that may be cut into chunks
  /** Whether its point must stand in its body: something inside may yield, or keep a variable. */
  let isPlain = true
  let hasCalls = false
  /** Whether it has members or iterates, which may run code that nobody sees. */
  let hasMembers = false
  /** Whether a statement in it may leave it. */
  let hasExits = false
  let within = false // the body of a `with`, where any name may be a property
  let guarded = false // by a `try`
  let inAsync = false
  let inGenerator = false
  let isInside = !isClass // of the function itself, or of a method
  let isStrict = false // by what the source says
  /** Whether `this` is the function's. */
  let isOurs = false
  /** What is declared in the innermost block. @type {Set<string>} */
  let declared = emptySet()
  let blockStart = 0
  /** What is declared in the innermost function. */
  let top = declared
  /** What held before each block that has not ended. @type {any[]} */
  const outer = []

  // -------------------------------------------------------------------------------------------------- tokens

  // The token that the reading has come to.
  let value = /** @type {any} */ ('')
  let start = 0
  let end = 0
  let isName = false
  /** Where the token before it ended. */
  let before = 0

  /** @param {RegExp} pattern @param {number} at @returns {number} */
  function skip(pattern, at, text = source) {
    pattern.lastIndex = at
    matches(pattern, text)
    return pattern.lastIndex
  }

  function afterSpace() {
    const at = source[end] === ' ' ? end + 1 : end
    const first = source[at]
    return first > '/' && first < '\x7f' && first !== '<' ? at : afterComments()
  }

  function afterComments() {
    let at = skip(SPACE, end)
    while (startsWith(source, '-->', at) && matches(LINE_END, cut(source, end, at))) {
      at = skip(SPACE, skip(/.*/y, at))
    }
    return at
  }

  function next() {
    before = end
    start = afterSpace()
    const last = value
    TOKEN.lastIndex = start
    value = exec(TOKEN, source)[0]
    end = TOKEN.lastIndex
    if (last === '' && value === '') throw refusal('cannot read the source')
    isName = matches(NAME, value)
  }

  /** Whether a line ended before the token. */
  const isOnNewLine = () => matches(LINE_END, cut(source, before, start))

  /** Looks at the token ahead. @template T @param {() => T} look @returns {T} */
  function peek(look) {
    const here = before
    next()
    const seen = look()
    end = here
    next()
    return seen
  }

  // -------------------------------------------------------------------------------------------------- names

  /** @param {number} [from] */
  function openBlock(from = start) {
    append(outer, { declared, blockStart, top, zone, within, guarded, inAsync, inGenerator, isOurs, isInside, isStrict })
    declared = emptySet()
    blockStart = from
  }

  /** What was declared in it is not what is meant by that name outside. */
  function closeBlock() {
    declared.forEach((/** @type {string} */ key) => {
      const mentions = mentionsOf(key)
      while (mentions[mentions.length - 1]?.start >= blockStart) {
        const mention = takeLast(mentions)
        mention.isHidden = true
        if (zone === '' && top === declared && mention.start < firstUse) firstUse = mention.start
        if (isOurs && (key === 'yield' || (isArrow && key === 'arguments'))) {
          write(mention, our + key)
        }
      }
      if (!mentions.length) free.delete(key)
    })
    ;({ declared, blockStart, top, zone, within, guarded, inAsync, inGenerator, isOurs, isInside, isStrict } = takeLast(outer))
  }

  /** @param {string} key */
  const declare = (key, where = declared) => where.add(key)

  /**
   * Notes the use of a name.
   *
   * @param {string} key of the last token @param {number} at where it starts
   * @param {string} [lead] @returns {Mention | undefined}
   */
  function use(key, at, lead = '') {
    if (isOwnWord(key)) {
      if (!isOurs && key !== 'yield') return
      words.add(key)
      if (key !== 'this') hazards++
    }
    const mention = { start: at, end: before, lead, after: value, isHidden: within, isStrict }
    const others = free.get(key)
    if (others) append(others, mention)
    else free.set(key, [mention])
    return mention
  }

  /** Neither a chunk nor a guard may hold what stands here. */
  function spoil() {
    hazards++
    isPlain = true
  }

  // -------------------------------------------------------------------------------------------- expressions

  /** The expression behind a token. @param {string} [extent] @param {string[] | null} [names] */
  function behind(extent, names) {
    next()
    return expression(extent, names)
  }

  /** From its backtick to the last of its parts. @returns {Generator<any, any, any>} */
  function* template() {
    for (;;) {
      end = skip(TEMPLATE, end)
      if (source[end - 1] === '`') return
      yield behind()
    }
  }

  /** From a bracket, or a backtick, to what closes it. @param {string[] | null} names */
  const inBrackets = names => value === '`' ? template() : behind(LIST, names)

  /** Whether `async` is that of a function, or of an arrow function with a single name. */
  const isAsyncWord = () => value === 'async' &&
    peek(() => !isOnNewLine() && (value === 'function' || (isName && peek(() => value === '=>'))))

  /**
   * @param {string} [extent] @param {string[] | null} [names] takes what is declared, if this is a pattern or a list of
   *   them
   * @returns {Generator<any, any, any>} whether it is but a chain of members and calls that ends with a call
   */
  function* expression(extent = LIST, names = null) {
    const first = start
    const isTop = extent === TOP
    /** Takes what is declared at the beginning of an element. */
    let target = names
    for (;;) {
      let lead = '' // what stands before the operand
      let awaits = '' // what closes those before it
      let news = 0
      let isClosed = false // takes no operators
      let from = start
      while (!isClosed) {
        const isYield = value === 'yield' && inGenerator
        if (isYield || (value === 'await' && inAsync)) spoil()
        else if (!matches(PREFIX, value) && !isAsyncWord()) break
        if (value === 'await' && zone === '') {
          replace(start, end, `(yield ${our}wait(`)
          awaits += '))'
        }
        if (value === 'new') {
          if (!news++) from = start
          hasCalls = true
        }
        if (matches(ASSIGNS, value)) hazards++
        if (value === ',') target = names
        else if (value !== '...') target = null
        lead = value
        next()
        isClosed = isYield && (isOnNewLine() || matches(/^(?:,|in)$/, value))
      }

      if (!news) from = start
      let open = start
      let list = target // what is declared, if it is one of parameters
      let isCall = false
      /** @type {Mention | undefined} */
      let callee
      let key = '' // the name, or the last member
      let dot = 0
      let isSuper = false // a member of it
      /** Where it has `?.`, and what follows. @type {Link[]} */
      let links = []
      const chain = { end: 0 }
      const isMath = () => startsWith(source, 'Math.', from) // which leaves the budget alone
      if (isClosed) {
        // there is no operand
      } else if (matches(/^[)\]};:]?$/, value)) {
        return false
      } else if (value === 'function') {
        yield routine(false, lead === 'async', isTop)
      } else if (value === 'class') {
        yield classRest(false)
      } else {
        switch (value) {
          case '(':
            list = []
          // falls through
          case '[': case '`':
            hasMembers ||= value !== '('
            yield inBrackets(list)
            break
          case '{':
            hasMembers = true
            next()
            yield members(false, target)
            break
          case '.': // of new.target
            news--
            open = before - 3
            key = 'new.target'
            next()
            break
          default:
            if (isName) {
              key = unescaped(value)
              list = [key]
              if (target) append(target, key)
            } else if (matches(/^\//, value)) { // nothing can be divided here
              end = skip(REGULAR_EXPRESSION, start)
            }
        }
        next()
        if (key) callee = use(key, open, lead)
      }

      while (!isClosed) {
        if (value === '=>' || (value === '{' && isTop)) {
          if (isCall) { // `async` was no name
            openBlock(from)
            declare('async')
            closeBlock()
          }
          yield arrow(isTop, open, list, isCall || lead === 'async')
          isClosed = true
          break
        }
        const at = start
        const isOptional = value === '?.'
        if (isOptional) {
          next()
          const before = links
          links = []
          for (let i = 0; i < before.length; i++) append(links, before[i])
          append(links, [at, value])
        }
        if (value === '(' || value === '`') {
          open = start
          list = []
          hasCalls ||= !isMath()
          isCall = !news
          const call = /** @type {Call} */ ({
            key, mention: callee, start: from, dot, open, links, lead, zone, isSuper, inGenerator, end, chain
          })
          if (!isCall) {
            if (value === '(') news--
          } else {
            if (isSuper && isOurs && !isOptional) append(superCalls, open)
            if (callee) callee.isCall = true
            if (callee && key === 'eval') {
              words.add(key)
              spoil()
            }
            if (isInside && (callee ? watches(key) : value === '(' && preemptible.has(key))) {
              spoil()
              append(calls, call)
            }
          }
          callee = undefined
          key = ''
          isSuper = false
          yield inBrackets(list)
          call.end = end
        } else if (isOptional || value === '.' || value === '[') {
          isSuper = key === 'super' && dot === 0
          callee = undefined
          isCall = false
          dot = at
          hasMembers ||= value !== '[' && !isMath()
          if (value === '[') yield behind()
          else if (!isOptional) next()
          key = unescaped(value) // a bracket is no name
        } else {
          break
        }
        next()
      }
      if (matches(/^([-+])\1/, value) && !isOnNewLine()) {
        hazards++
        isCall = false
        next()
      }

      chain.end = before
      if (awaits) insert(before, -EXPRESSION_EDGE, from - 1, awaits)
      if ((isClosed ? value !== ',' : !matches(CONTINUES, value)) || holds(extent, value)) {
        return isCall && from === first
      }
      if (matches(ASSIGNS, value)) hazards++
      if (value === '?') yield behind()
      target = null
      if (value !== ',') next()
    }
  }

  /**
   * The members of an object literal, a pattern or a class.
   *
   * @param {boolean} isInClass @param {string[] | null} names takes what is declared, if this is a pattern
   * @param {boolean} [isTop] whether one is, or may be, a function to rewrite
   * @returns {Generator<any, any, any>}
   */
  function* members(isInClass, names, isTop = false) {
    while (!matches(/^}?$/, value)) {
      if (matches(/^[,;]$/, value)) {
        next()
        continue
      }
      const first = start
      let codeStart = start
      let from = start
      let key = ''
      let modifiers = ''
      for (;;) {
        const word = value
        from = start
        key = unescaped(matches(/^['"]/, word) ? cut(word, 1, -1) : word)
        if (word === '[') yield behind()
        // V8 leaves out the name of a static method that is called static.
        if (!matches(/^(?:[({]|\.{3})$/, word)) next()
        if (!matches(MODIFIES, `${word} ${value}`) || (word === 'async' && isOnNewLine())) break
        modifiers += word
        if (word === 'static') codeStart = start
      }
      const async = matches(/async/, modifiers)
      const generator = matches(/\*/, modifiers)
      if (value === '{') {
        enter(false)
        yield body()
      } else if (value === '(') {
        const isOwn = isTop && (!isClass || made.has(key))
        const isPart = isOwn && isClass
        if (isOwn && (matches(/et/, modifiers) || (isClass && key === 'constructor'))) throw constructing()
        if (isPart) {
          insert(first, -BODY_EDGE, 0, ';') // after a field without a semicolon
          replace(codeStart, from, '*')
        }
        enter(isOwn, async, generator)
        yield patterns()
        next()
        yield body()
        if (isPart) {
          if (made.has(key)) append(made.get(key), { isStatic: codeStart > first, async, from: codeStart, to: before })
          if (generator) preemptible.delete(key) // stays what is iterated
        }
      } else {
        if (isInClass) {
          enter(false)
        } else if (!matches(/^[:.]/, value)) { // the key is the name of a variable too
          use(key, from, '{')
          if (names) append(names, key)
        }
        if (matches(/^(?:[:=]|\.{3})$/, value)) yield behind(ELEMENT, value === '=' ? null : names)
        if (isInClass) closeBlock()
      }
    }
  }

  // -------------------------------------------------------------------------------------- functions, classes

  /**
   * Enters code that is not run where it stands, or the function itself.
   *
   * @param {boolean} isOwn @param {any} [async] @param {any} [generator] @param {any} [arrow] @param {number} [from]
   */
  function enter(isOwn, async, generator, arrow, from) {
    spoil()
    openBlock(from)
    zone = isOwn ? PARAMETERS : 'nested code'
    within = guarded = false
    inAsync = async
    inGenerator = generator
    isOurs &&= arrow
    if (isOwn) {
      if (async && generator) throw refusal('an async generator cannot be driven; write one that yields promises')
      parameters = blockStart
      isOurs = true
      isArrow = arrow
      isAsync = async
      isGenerator = generator
      isInside = true
    }
  }

  /**
   * A function, from that word on.
   *
   * @param {boolean} isDeclaration @param {boolean} async @param {boolean} [isTop]
   * @returns {Generator<any, any, any>}
   */
  function* routine(isDeclaration, async, isTop = false) {
    next()
    const generator = value === '*'
    if (generator) next()
    const at = start
    const key = isName ? unescaped(value) : ''
    if (isName) next()
    if (isDeclaration) {
      use(key, at)
      declare(key)
      declare(key, top) // of sloppy code (Annex B.3.3)
    }
    enter(isTop, async, generator)
    if (isTop) ownName = key
    else if (!isDeclaration) declare(key)
    yield patterns()
    next()
    yield body()
  }

  /**
   * What is declared behind a word or a parenthesis.
   *
   * @param {string} [extent] @returns {Generator<any, any, any>}
   */
  function* patterns(extent) {
    const where = value === 'var' ? top : declared
    /** @type {string[]} */
    const names = []
    hazards++
    yield behind(extent, names)
    for (let i = 0; i < names.length; i++) where.add(names[i])
  }

  /**
   * From its arrow on, or from the brace of a method that looked like one.
   *
   * @param {boolean} isTop @param {number} open where its parameters start @param {any} names @param {boolean} async
   */
  function arrow(isTop, open, names, async) {
    const hasArrow = value === '=>' // or it is a method
    enter(isTop, hasArrow && async, false, hasArrow, open)
    for (let i = 0; i < names.length; i++) declare(names[i])
    for (let i = calls.length; calls[--i]?.start >= open;) calls[i].zone = zone
    return body()
  }

  /** From its arrow or brace on, to the end of what was entered. @returns {Generator<any, any, any>} */
  function* body() {
    const isOwn = zone === PARAMETERS
    if (isOwn) {
      parametersEnd = before
    }
    openBlock()
    top = declared
    if (value === '=>') next()
    const isBlock = value === '{'
    const from = start
    let prologueEnd = isBlock ? end : start
    if (isBlock) next()
    while (isBlock && matches(/^['"]/, value)) {
      if (peek(() => matches(CONTINUES, value) || matches(/^[.([`]/, value))) break
      isStrict ||= matches(/^.use strict.$/, value)
      next()
      prologueEnd = endStatement()
    }
    if (isOwn) {
      zone = ''
      bodyStart = from
      const gap = source[prologueEnd - 1] === '{' ? ' ' : '; '
      // What is guarded begins behind it.
      insert(prologueEnd, isBlock ? -BODY_EDGE : BODY_EDGE, Infinity,
        () => (isBlock ? gap : '{ ') + (variables.size ? `let ${join(listOf(variables), ', ')}; ` : '') + entryPoint +
          (isBlock ? '' : ' return ('))
      if (isBlock) yield guardStatements()
    }
    if (isBlock) {
      while (value !== '}') yield statement(true)
      next()
    } else {
      yield expression(ELEMENT)
      if (isOwn) insert(before, -BODY_EDGE, -1, ') }')
    }
    if (isOwn) bodyEnd = before
    closeBlock()
    closeBlock()
  }

  /** A class, from that word on. @param {boolean} isDeclaration @returns {Generator<any, any, any>} */
  function* classRest(isDeclaration, isTop = false) {
    spoil()
    next()
    const key = isName ? unescaped(value) : ''
    if (isName) next()
    if (isDeclaration) declare(key)
    openBlock()
    isStrict = true
    declare(key)
    if (value === 'extends') yield behind(ELEMENT)
    next()
    yield members(true, null, isTop)
    closeBlock()
    next()
  }

  // --------------------------------------------------------------------------------------------- statements

  /** @returns {number} where the statement ends */
  function endStatement() {
    if (value === ';' || value === ':') next()
    return before
  }

  /** @param {boolean} isList */
  const isDeclaring = isList => {
    if (value !== 'let' || !isList) return value === 'var' || value === 'const'
    return peek(() => isName ? !matches(CONTINUES, value) : matches(/^[[{]$/, value))
  }

  /** A label, which may be called `yield`. */
  function renameLabel() {
    const text = unescaped(value) === 'yield' && isOurs && !isGenerator ? `${our}yield` : value
    replace(start, end, text)
    return text
  }

  /**
   * @param {boolean} isList whether it stands where declarations may
   * @param {string} [label] @param {number} [first] where that starts
   * @returns {Generator<any, any, any>}
   */
  function* statement(isList, label = '', first = start) {
    const from = start
    let isCall = false
    const isAsync = value === 'async' && peek(() => value === 'function' && !isOnNewLine())
    if (isAsync) next()
    const word = value
    switch (word) {
      case '{':
        openBlock()
        next()
        while (value !== '}') yield statement(true)
        closeBlock()
        next()
        return
      case 'if': case 'switch': case 'with': case 'try': {
        if (word === 'with' && zone === '') words.add(word)
        let part
        do {
          part = value
          openBlock()
          next()
          guarded ||= word === 'try'
          if (value === '(' && part !== 'else') {
            yield part === 'catch' ? patterns() : behind()
            next()
          }
          within ||= word === 'with'
          yield statement(false) // the body of a switch reads as a block with labels
          closeBlock()
        } while (matches(/^if else$| (?:catch|finally)$/, `${part} ${value}`))
        return
      }
      case 'for': case 'while': case 'do':
        yield loopStatement(label, first)
        return
      case 'function':
        yield routine(true, isAsync)
        return
      case 'class':
        yield classRest(true)
        return
      case 'return': {
        /** @type {typeof pieces} */
        const read = []
        let first = 0
        hasExits = true
        do {
          const at = end
          next()
          first ||= start
          if (read.length === 0 && isOnNewLine()) break
          yield expression(PIECE)
          append(read, { at, to: before, hazards })
        } while (matches(/^[?:,]$/, value))
        if (!guarded) returned.set(first, before)
        pieces = read
        break
      }
      case 'throw':
        hasExits = true
      // falls through
      case 'case': case 'default':
        yield behind()
        break
      case 'break': case 'continue': case 'debugger':
        next()
        if (isName && !isOnNewLine()) {
          hasExits = true
          renameLabel()
          next()
        }
        break
      default:
        if (isDeclaring(isList)) {
          yield patterns()
        } else if (isName && source[afterSpace()] === ':') {
          label += `${renameLabel()}: `
          next()
          next()
          yield statement(false, label, first)
          return
        } else {
          isCall = yield expression()
        }
    }
    const to = endStatement()
    if (to <= from) next() // at last there is nothing to read
    if (zone !== '') return
    if (!isCall) {
      // A line that is to begin with a parenthesis would go on with the line before it.
      if (isList && word === 'await') insert(from, STATEMENT_EDGE, Infinity, ';')
      else if (isList) listed.add(from)
      return
    }
    spoil()
    points++
    isLeaf &&= from === guardsStart
    if (isList) insert(from, STATEMENT_EDGE, to, `${point()} `)
    else enclose(from, to, STATEMENT_EDGE, `{ ${point()} `, ' }')
  }

  /**
   * The statements that the function begins with may end it before it needs to be a generator: `if (...) return ...`,
   * and one that is `return ... ? ... : ...`, which becomes two.
   *
   * @returns {Generator<any, any, any>}
   */
  function* guardStatements() {
    const count = hazards
    guardsStart = start
    while (value === 'if') {
      yield statement(true)
      if (hazards > count) return
      append(guardEnds, before)
    }
    if (value !== 'return') return
    yield statement(true)
    if (pieces.length !== 3 || pieces[1].hazards > count || source[pieces[2].at - 1] !== ':') return
    append(guardEnds, pieces[1].to)
    for (let i = 0; i < 3; i++) {
      const { at, to } = pieces[i]
      replace(at - (i ? 1 : 6), at, ['if', 'return', '; return'][i])
      enclose(at, to, BODY_EDGE, ' (', ')')
    }
  }

  /** @returns {Generator<any, any, any>} */
  function* branch() {
    const from = start
    yield statement(false)
    return [from, before]
  }

  /** @param {string} label @param {number} first where that starts @returns {Generator<any, any, any>} */
  function* loopStatement(label, first) {
    const word = value
    const from = start
    const isDo = word === 'do'
    const isFor = word === 'for'
    spoil()
    openBlock()
    isPlain = hasCalls = hasMembers = hasExits = false
    next()
    let inner
    if (isDo) {
      inner = yield branch()
      next()
    }
    const isAwait = value === 'await'
    if (isAwait) next()
    let isDeclared = false
    /** Where those of its head start and end that semicolons, `of` or `in` part. @type {[number, number][]} */
    const parts = []
    do {
      const isFirst = isFor && !parts.length
      next()
      const from = start
      const declares = isDeclaring(isFirst)
      isDeclared ||= declares
      yield (declares ? patterns : expression)(isFirst ? HEAD : LIST)
      append(parts, [from, start])
    } while (value !== ')')
    const close = end
    next()
    const { 0: bodyFrom, 1: bodyTo } = inner ?? (yield branch())
    const to = endStatement()
    const isChunked = budgeted && !within && !isPlain && parts.length !== 2
    isPlain = true // what is around it
    closeBlock()
    if (zone !== '') return
    isLeaf = false
    if (isChunked) {
      // A counted point in a loop costs more by the yield that the compiler finds there than by the counting. So where
      // nothing in it may yield, or keep one of its variables, the loop is cut into chunks of a budget:
      //
      //   for (init; test; update) body  ->  for (init;;) {
      //                                        for (; (test) && there are points left; update) body
      //                                        if (it has ended) break
      //                                        if (the job is to hand over) yield
      //                                      }
      //
      // Where something is called that may cut the budget, the budget itself is counted down. After a yield its test is
      // not asked again. Otherwise a copy is counted, before the test, and the budget is -1 meanwhile; if a member may
      // cut it, it is looked at. A round whose point was the yield is not counted again.
      const count = variable('left')
      const settle = ` if (${left} < 0) ${left} = ${count};`
      const { 0: testFrom, 1: testTo } = parts[parts.length >> 1]
      const isTested = testFrom < testTo
      const check = hasCalls ? `(${count} = --${left}) > 0`
        : hasMembers ? `(${count} = ${left} < 0 ? ${count} - 1 : 0) > 0` : `--${count} > 0`
      const { 0: begin, 1: stop, 2: pause } = hasCalls ? ['', '', `${count} = 1; if (${our}over()) yield; ${count} = 0;`]
        : [`${count} = ${left}; ${left} = -1; ${hasExits ? 'try { ' : ''}`, hasExits ? ` } finally {${settle} }` : settle,
            `if (${our}over()) yield;`]
      const { 0: opening, 1: closing } = isDo ? ['(', `) && ${check}`] : !isTested ? [check, '']
        : hasCalls ? [`(${count} < 1 || (`, `) || !(${count} = 1)) && ${check}`] : [`${check} && (`, ')']
      insert(isFor ? testFrom : from, STATEMENT_EDGE, to, `${isFor ? '' : 'for (;'};) { ${begin}` +
        `${isDo ? `if (${check}) ` : ''}${label}${isFor ? 'for (; ' : ''}`)
      enclose(testFrom, testTo, BODY_EDGE, opening, closing)
      replace(first, from, '')
      insert(to, -STATEMENT_EDGE, from, `;${stop} if (${count} > 0) break; ${pause} ` +
        `if (${left} < 1) ${left} = 1; ${left}++ }`)
      return
    }
    if (isAwait) {
      // Each step is a yielded promise, and there is one as long as the body runs; the labels stay with the loop.
      const iterator = `${our}iterator`
      const step = `${our}step`
      const error = `${our}error`
      enclose(first, to, STATEMENT_EDGE,
        () => `{ const ${iterator} = ${our}iterate(${edited(parts[1][0], parts[1][1])}); let ${step}; try { `,
        ` } catch (${error}) { if (${step}) yield ${iterator}.throw(${error}); throw ${error} } ` +
        `finally { if (${step}) yield ${iterator}.return() } }`)
      replace(from, close, `for (; ${step} = (yield ${iterator}.next()).value; ${step} = null)`)
      // An object pattern at the beginning of a statement would be a block.
      enclose(bodyFrom, bodyTo, BODY_EDGE,
        () => `{ ${isDeclared ? '' : '0, '}${edited(parts[0][0], parts[0][1])} = ${step}.value; `, ' }')
    }
    if (source[bodyFrom] === '{') insert(bodyFrom + 1, BODY_EDGE, bodyTo, ` ${point()}`)
    else enclose(bodyFrom, bodyTo, BODY_EDGE, `{ ${point()} `, ' }')
  }

  // -------------------------------------------------------------------------------------------------- whole

  /** @returns {Generator<any, any, any>} */
  function* whole() {
    next()
    const first = value
    const second = peek(() => value)
    if (first === 'class' && second !== '(') {
      if (!isClass) throw constructing()
      yield classRest(false, true)
    } else if (isClass) {
      throw wrongType('fn', 'a class or an object with methods', fn)
    } else if (first === 'function' || first === '(' || second === '=>' ||
      (first === 'async' && (second === '(' || isAsyncWord()))) {
      isOurs = true
      yield expression(TOP)
    } else {
      yield members(false, null, true)
    }
  }

  readNested(whole())
  entryPoint = point()
  const ownArguments = pick(mentionsOf('arguments'), ({ isHidden }) => !isHidden)
  if (!evaluate) {
    if (free.has('super') && !home && !isClass) {
      throw refusal('super needs its object, { home }, or the whole, { methods: [...] }')
    }
    if (isArrow && (ownArguments.length || free.has('new.target') || (free.has('this') && !('this' in options)))) {
      throw refusal('this and arguments of an arrow function are of the code around it; give { this: value }, or ' +
        '{ evaluate: s => eval(s) }')
    }
  }

  // What the names that it uses, and does not declare, shall mean.
  pick(values, key => (free.has(key) || words.has('eval')) && bindings.set(key, scope[key]))
  /** @type {any} */
  let self = null
  const own = () => self
  const isNamed = ownName !== ''
  ownName ||= fn.name
  const quoted = stringify(fn.name)
  /** Whether its name is one that cannot be assigned to, as that of a function expression. */
  let isConstant = false
  let isVisible = false
  if (evaluate) {
    // `s => eval(s)` hides a variable called s.
    const list = exec(/([^()]*)\)?\s*(?:=>|\{)/, sourceOf(evaluate))?.[1] ?? ''
    const name = /[^\s,]+/g
    for (let match; (match = exec(name, list));) {
      const key = match[0]
      if (free.has(key) && !(key in scope) && !table.has(key) && !live.has(key)) {
        throw refusal(`a variable ${key} is hidden by the parameter of evaluate; rename that`)
      }
    }
    try {
      isVisible = free.has(ownName) && fn === evaluate(ownName)
    } catch {} // not there, or not initialized yet
  }
  if (free.has(ownName) && !table.has(ownName) && !bindings.has(ownName) && (isVisible || isNamed) && !isClass) {
    enlist(ownName, own)
    isConstant = !isVisible
    if (isConstant) bindings.set(ownName, fn)
  }
  /** @type {string[]} */
  const lost = []
  if (!evaluate) {
    free.forEach((/** @type {Mention[]} */ mentions, /** @type {string} */ key) => {
      if (mayCome(key) && !table.has(key) && !bindings.has(key) && find(mentions, ({ isCall }) => isCall)) {
        enlist(key, () => delegable(key, callees[key]))
      }
      if (bindings.has(key) || live.has(key)) return
      const callee = table.get(key)?.callee
      if (callee) bindings.set(key, originalOf(callee))
      else if (isUnknown(key)) append(lost, key)
    })
  }

  /** Optional links that are written already. @type {Set<number>} */
  const linked = emptySet()
  pick(calls, delegate)
  replaceWords()
  sort(edits, (/** @type {Edit} */ a, /** @type {Edit} */ b) =>
    a[0] - b[0] || sign(a[1]) - sign(b[1]) || b[2] - a[2] || a[1] - b[1])
  return isClass ? linkClass() : link()

  /**
   * Makes a call of a preemptible function one that may yield. A call of a member keeps its `this`; what cuts the
   * chain short before it cuts it short with it:
   *
   *   a.b(c)      ->  ($result = $call(($object = a).b).call($object, c), ...)
   *   a?.b(c).d   ->  (($object = a) == null ? undefined : ($result = $call($object.b).call($object, c), ...).d)
   *
   * @param {Call} call
   */
  function delegate({ key, mention, start, end, open, dot, lead, links, chain, zone, inGenerator, isSuper }) {
    const isAlone = chain.end === end
    const way = isAlone && (lead === 'await' || (isAsync && returned.get(start) === end)) ? 'awaited' : 'call'
    const enter = bind(way, (/** @type {any} */ callee) => wayOf(callee, way))
    const assigning = `(${our}result = `
    let begin = start
    if (mention) {
      const found = !mention.isHidden && table.get(key)
      if (!found) return
      const { callee, get } = found
      const isOwn = get === own
      if (zone !== '') {
        if (isOwn || inGenerator) return
        let line = 1
        let lineStart = 0
        const ends = new RegExp(LINE_END, 'g')
        for (let match; (match = exec(ends, source)) && ends.lastIndex <= start; line++) lineStart = ends.lastIndex
        throw new SyntaxError(`${label}: ${key}() in ${zone} (line ${line}, column ${start - lineStart + 1}) ` +
          'cannot yield; move it into the function itself')
      }
      const isRaw = isGenerator && isAlone && matches(/^(?:yield|\*)$/, lead)
      if (isOwn && !isRaw && !isVisible && isAsync && way === 'call') return // the original runs beside its caller
      if (isGenerator && isOwn && !isRaw) return // it makes an iterator
      write(mention, isRaw ? `${bind(`generator_${key}`, get)}()`
        : callee ? bind(`${way}_${key}`, wayOf(callee, way))
          : !isOwn ? `${bind(`${way}_${key}`, () => wayOf(get(), way))}()`
            : isVisible ? `${enter}(${key})` : `${our}enter`)
      pick(links, link => replace(link[0], link[0] + 2, ''))
      if (isRaw) return
      insert(start, EXPRESSION_EDGE, end, assigning)
    } else {
      if (zone !== '' || !preemptible.has(key) || find(links, link => link[0] < dot && link[1] === '(')) return
      const object = variable('object')
      let callAt = -1
      for (let i = 0; i < links.length; i++) {
        const { 0: at, 1: next } = links[i]
        if (at > dot) {
          callAt = at
          continue
        }
        if (!linked.has(at)) {
          enclose(begin, chain.end, EXPRESSION_EDGE, `((${object} = `, ')')
          insert(at, STATEMENT_EDGE, chain.end, ') == null ? undefined : ')
          replace(at, at + 2, next === '[' ? object : `${object}.`)
        }
        linked.add(at)
        begin = at
      }
      const opening = begin === dot || isSuper ? '' : `(${object} = `
      const calling = `), ${isSuper ? 'this' : object}, `
      if (opening !== '') insert(dot, -EXPRESSION_EDGE, begin, ')')
      if (callAt < 0) {
        insert(begin, EXPRESSION_EDGE, end, `${assigning}${our}invoke(${enter}(${opening}`)
        replace(open, open + 1, calling)
      } else {
        enclose(begin, chain.end, EXPRESSION_EDGE, `(${assigning}${opening}`, ')')
        replace(callAt, open + 1, `) == null ? undefined : ${assigning}${our}invoke(${enter}(${our}result${calling}`)
        begin = callAt
      }
    }
    insert(end, -EXPRESSION_EDGE, begin, `, ${our}pending.length ? yield ${our}pending.pop() : ` +
      `${variable('result')})`)
    if (listed.delete(start)) insert(start, STATEMENT_EDGE, Infinity, ';')
  }

  /**
   * What is preemptible is a generator function, or the original of one that is to be called instead.
   *
   * @param {any} callee @param {'call' | 'awaited'} way
   */
  function wayOf(callee, way) {
    const found = (callee === fn ? self : callee)?.[known]?.[way]
    if (found) return found
    if (typeof callee !== 'function' || isGeneratorFunction(callee)) return wayInto(callee)
    let target = callee
    table.forEach(({ get }) => {
      const others = valueOf(get)?.[known]
      if (others?.original === callee) target = others[way]
    })
    return target
  }

  /** What would mean something else in a generator, or must not be assigned to, is reached through an object. */
  function replaceWords() {
    if (isArrow && evaluate && !home && free.has('super')) {
      pick(mentionsOf('super'), mention => write(mention, `${our}super`))
      pick(superCalls, open => replace(open, open + 1, `.call(${our}super(), `))
      append(helpers, `const ${our}super = new Proxy(() => this, { get: (_, key) => super[key], ` +
        'set: (_, key, value) => (super[key] = value, true) });')
    }
    const isTarget = (/** @type {Mention} */ { lead, after }) => matches(ASSIGNS, after) || matches(ASSIGNS, lead) ||
      matches(/^(?:of|in)$/, after)
    /** @param {string} key @returns {Mention[]} */
    const unwritten = key => pick(mentionsOf(key), ({ isHidden, isWritten }) => !isHidden && !isWritten)
    /** @param {Mention[]} mentions @param {string} key of the object @param {string} get @param {string} set */
    const reach = (mentions, key, get, set) => {
      for (let i = 0; i < mentions.length; i++) {
        const mention = mentions[i]
        const text = `${our}${key}.${mention.lead === 'typeof' ? 'typed' : 'value'}`
        write(mention, mention.isCall ? `(0, ${text})` : text)
      }
      if (mentions.length) append(helpers, `const ${our}${key} = ${our}access(() => ${get}, value => { ${set} });`)
    }
    for (let i = 0; i < OWN_WORDS.length; i++) {
      const word = OWN_WORDS[i]
      if (word === 'super' || (word === 'yield' ? isGenerator : !isArrow)) continue
      const mentions = word === 'arguments' ? ownArguments : mentionsOf(word)
      const isGiven = word === 'this' && 'this' in options
      // Behind `this` and `new.target`, what looks like an assignment begins the next line: `--a`.
      reach(mentions, word === 'new.target' ? 'target' : word, isGiven ? bind('given', options.this) : word,
        matches(/^[ay]/, word) && find(mentions, isTarget) ? `${word} = value` : '')
    }
    live.forEach((/** @type {() => any} */ get, /** @type {string} */ key) => {
      const mentions = unwritten(key)
      const refuse = () => {
        throw refusal(`${key} cannot be assigned to through () => ${key}; give { evaluate: s => eval(s) }`)
      }
      if (find(mentions, isTarget)) refuse()
      reach(mentions, `variable_${key}`, `${bind(`get_${key}`, () => originalOf(get()))}()`,
        `${bind(`set_${key}`, refuse)}()`)
    })
    // Assignments to the name of a function expression have no effect, or throw in strict code.
    const mentions = unwritten(ownName)
    if (isConstant && find(mentions, (/** @type {Mention} */ mention) => isTarget(mention) || matches(/^[,\]}]$/, mention.after))) {
      const original = bind('original', fn)
      const assignment = `${ownName} = value })()`
      reach(pick(mentions, ({ isStrict }) => !isStrict), 'name', original, `(function ${ownName}() { ${assignment}`)
      reach(pick(mentions, ({ isStrict }) => isStrict), 'strictName', original,
        `(function ${ownName}() { 'use strict'; ${assignment}`)
    }
  }

  /**
   * A function that begins a call, and does without a generator where it can. Statements that may end the function
   * before it needs to be one are done there, and one more argument tells the generator so.
   */
  function entry() {
    const given = cut(source, parameters, parametersEnd)
    const isPlain = matches(/^[\w\s$(),]*$/, given) && budgeted && !isGenerator &&
      !isAsync && !find(listOf(words), word => isArrow || word !== 'this')
    const hasThis = words.has('this')
    const name = /[\w$]+/g
    // In sloppy code, some may have the same name.
    for (let match; isPlain && (match = exec(name, given));) append(parameterNames, match[0])
    const list = join(parameterNames, ', ')
    /** @param {string} callee */
    const call = (callee, more = '') => !isPlain ? `${our}apply(${our}${callee}, this, arguments)`
      : `${our}${hasThis ? `invoke(${our}${callee}, this, ` : `${callee}(`}${list}${list && more && ', '}${more})`
    const begin = `function (${list}) { `
    const going = `return ${our}run(${call('self')}) }`
    if (isPlain && isLeaf && !variables.has(`${our}result`)) {
      return `(${our}plain => ${begin}if (${left} > ${points}) { ${left} -= ${points}; return ${call('plain')} } ` +
        `${going})(${isArrow ? source : `function ${cut(source, parameters)}`})`
    }
    while (guardEnds.length && guardEnds[guardEnds.length - 1] > firstUse) takeLast(guardEnds)
    const end = isPlain && takeLast(guardEnds)
    if (!end) return begin + going
    guardsEnd = end
    entryPoint = `if (${our}skips !== ${our}pending) { ${entryPoint}`
    return `${begin}if (${left} > 1) { ${left}--; ${edited(guardsStart, end)}; ` +
      `return ${our}run(${call('self', `${our}pending`)}) } ${going}`
  }

  /** The edited text. @param {number} from @param {number} to @returns {string} */
  function edited(from, to) {
    const begin = from
    let result = ''
    let first = 0
    for (let beyond = edits.length; first < beyond;) {
      const middle = (first + beyond) >> 1
      if (edits[middle][0] < from) first = middle + 1
      else beyond = middle
    }
    for (; first < edits.length; first++) {
      const { 0: at, 1: rank, 3: text, 4: next } = edits[first]
      if (at > to || (at === to && rank > 0)) break
      if (at < from || (at === begin && rank < 0)) continue // not in it, or inside of what has been moved
      result += cut(source, from, at) + (typeof text === 'string' ? text : text())
      from = next
    }
    return result + cut(source, from, to)
  }

  /**
   * Evaluates a member of an object, with what it refers to around it: where the caller says, or in the global scope.
   *
   * @param {string} member @param {string} [begin] what begins a call of it
   * @returns {any[]} the member and what begins a call of it
   */
  function compiled(member, begin) {
    let mode = strict
    let isOpen = false // another mode is left
    if (strict === undefined && !evaluate) {
      // Engines tell strictness of plain functions only: the `caller` of a sloppy one can be read.
      try {
        void fn.caller
      } catch {
        isOpen = mode = true
      }
    }
    // V8 reads a function in parentheses once, an arrow function twice; but only the latter has the `this` around it.
    const list = `(${join(listOf(bindings), ', ')})`
    const head = isClass || helpers.length ? `${list} =>` : `function ${list}`
    const body = `${join(helpers, ' ')} const ${our}holder = { ${member} }, ${our}self = ${our}holder[${quoted}], ` +
      `${our}enter = ${begin}; return [${our}self, ${our}enter]`
    const url = `preemptify/${++compilations}/${encodeURIComponent(title)}.js`
    /** @returns {any} */
    const attempt = () => {
      const directive = mode ? "'use strict'; " : ''
      try {
        return (evaluate ?? eval)(`(${head} { ${directive}${body} })\n//# sourceURL=${url}`)
      } catch (error) {
        const isInvalid = error instanceof SyntaxError
        if (isInvalid && isOpen) {
          isOpen = mode = false
          return attempt()
        }
        if (!isInvalid && !(error instanceof EvalError)) throw error
        throw new /** @type {any} */ (error).constructor(`${label}: ${isInvalid
          ? `${error.message}; super and private names need { methods: [...] }, or { evaluate } from inside`
          : "the Content-Security-Policy forbids eval (script-src lacks 'unsafe-eval', or " +
            "require-trusted-types-for 'script'); write a generator with a yield"}`, { cause: error })
      }
    }
    const make = attempt()
    if (typeof make !== 'function') throw wrongType('evaluate', 's => eval(s)', evaluate)
    /** @type {any[]} */
    const values = []
    bindings.forEach(value => append(values, value))
    return apply(make, undefined, values)
  }

  /** @returns {any} the generator function */
  function link() {
    // In the body of a `with`, and in a method, it needs an object to be a method of.
    const isMethod = words.has('with') || (free.has('super') && home)
    const around = bind('around', { __proto__: home && getPrototypeOf(home), [`${our}budget`]: budget })
    const begin = entry()
    if (guardsEnd) append(parameterNames, `${our}skips`)
    const head = guardsEnd ? join(parameterNames, ', ') : edited(parameters, parametersEnd)
    const rest = `${head[0] === '(' ? head : `(${head})`} ` +
      (guardsEnd ? `${edited(bodyStart, guardsEnd)} }${edited(guardsEnd, bodyEnd)}` : edited(bodyStart, bodyEnd))
    const member = isMethod ? `__proto__: ${around}, *${quoted}` : `${quoted}: function* `
    const { 0: inner, 1: enter } = compiled(member + rest, begin)
    self = isAsync || lost.length ? wrapping(inner, isAsync, label, lost) : inner
    return publish(self, fn, `function* ${rest}`, isAsync, self === inner ? enter : wayInto(self))
  }

  /** @returns {any} the class, whose private names and `super` are its own */
  function linkClass() {
    made.forEach((parts, key) => {
      if (!parts.length) throw refusal(`${key} is no method`)
    })
    const text = edited(0, source.length)
    const result = compiled(`${quoted}: ${text}`)[0]
    made.forEach((parts, key) => pick(parts, ({ isStatic, async, from, to }) => {
      const holder = isStatic ? result : result.prototype
      if (!hasOwn(holder, key)) return // private
      publish(holder[key], (isStatic ? fn : fn.prototype)[key], edited(from, to), async, wayInto(holder[key]))
    }))
    if (!hasOwn(result, 'source')) define(result, 'source', text)
    return result
  }
}

/** @param {any} object @param {PropertyKey} key @param {any} value */
const define = (object, key, value) => defineProperty(object, key, { value, configurable: true })

/**
 * An async function that is not awaited runs beside its caller, so its original is called.
 *
 * @param {any} generatorFunction @param {any} original @param {string} source @param {boolean} isAsync
 * @param {Function} awaited
 */
function publish(generatorFunction, original, source, isAsync, awaited) {
  const { name, length } = original
  /** @type {any} */
  const properties = { name, length, source, [known]: { original, awaited, call: isAsync ? original : awaited } }
  pick(ownKeys(properties), key => define(generatorFunction, key, properties[key]))
  return generatorFunction
}

/**
 * The errors of an async function reject, its parameters' too, and its result is awaited; why a variable is missed is
 * said.
 *
 * @param {any} inner @param {boolean} isAsync @param {string} label @param {string[]} lost
 */
const wrapping = (inner, isAsync, label, lost) => /** @this {any} @param {any[]} args @returns {any} */ function* (
  ...args
) {
  try {
    const result = yield* defineProperties(apply(inner, this, args), steps)
    return isAsync && isObject(result) ? yield adopt(result) : result
  } catch (error) {
    // In the words of the engines; one of the dead zone is the program's own.
    const name = error instanceof ReferenceError && find(lost, name =>
      startsWith(error.message, `${name} is not defined`) || error.message === `Can't find variable: ${name}`)
    if (!name) throw error
    throw new ReferenceError(`${name} is not defined: ${label} evaluates the source anew; give ` +
      `{ evaluate: s => eval(s) }, { scope: { ${name} } } or, if it is preemptible, { calls: { ${name} } }`,
    { cause: error })
  }
}
