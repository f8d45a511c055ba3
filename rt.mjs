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
 *                                       ^   ^               |     |
 *                                 woken |   | refresh       |     | block
 *                                       |   v               |     |
 *                                       | depleted <-deplete+     |
 *                                    waiting <--------------------+
 *
 * While its reservation has nothing left for it, a job is depleted where it would be ready.
 *
 * Invariants. Tests check 1 to 6 whenever a job goes on, and 7 to 9 over whole runs.
 *   1 At most one job is dispatched.
 *   2 A job is in exactly one of: the timeline; the ready queue; the pool of its reservation, which stands in that queue for
 *     the first of them unless they are depleted; a wait; ended. The running job stays where it was ready.
 *   3 Ready order is total: band (of a reservation, none, or a depleted one), policy, rotation, release, id.
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
 * @property {(event: { timeStamp: number }) => number} [eventTime] when an event happened, on this clock; NaN where that is unknown
 * @property {(listener: Function) => boolean} [nested] whether script is on the stack that has called a listener, and waits for
 *   it to return
 * @property {(error: unknown) => void} [report] where errors go that nobody handles; without it they go where the
 *   platform's own go
 */

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1

/** Callbacks of these modules, which a page that has its callbacks adopted calls as they are. @type {WeakSet<Function>} */
const ours = /* @__PURE__ */ new WeakSet()

/** @template {Function} F @param {F} fn @returns {F} */
function own(fn) {
  ours.add(fn)
  return fn
}

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

/** @template {(...args: any[]) => any} F @param {() => F} make @returns {F} that calls what `make` returns, made at the first call */
function lazily(make) {
  /** @type {F | undefined} */
  let made
  return /** @type {F} */ ((...args) => (made ??= make())(...args))
}

/** @param {any} platform the global object @returns {Host} */
function makeHost(platform) {
  const { performance, document, navigator, scheduler, setImmediate, setTimeout, clearTimeout } = platform
  const now = performance.now.bind(performance)
  const hidden = () => document?.visibilityState === 'hidden'
  return {
    now,
    hidden,
    // `scheduler` is what it was above: by now it may be one of ours, which would post its rounds to itself. So are Node's timers:
    // tests put some in their place for a while, which go by another clock, and take with them what waits.
    post: lazily(() => setImmediate ? immediatePost(setImmediate)
      : document && platform.requestAnimationFrame ? pacedPost(platform, scheduler, now, hidden) : channelPost(platform)),
    after: lazily(() => setImmediate ? timerAfter(setTimeout, clearTimeout) : preciseAfter(platform, now, hidden)),
    // Browsers differ in whether an event's time counts from the epoch or from the time origin of its page, or frame.
    eventTime(event) {
      const { timeStamp, target } = /** @type {any} */ (event)
      const { timeOrigin } = performance
      const { performance: clock } = (target?.ownerDocument ?? target)?.defaultView ?? target ?? {}
      const { timeOrigin: its = event instanceof Object ? timeOrigin : NaN } = clock ?? {} // ports and requests do not say whose they are
      return timeStamp - (timeStamp > 1e12 ? timeOrigin : timeOrigin - its)
    },
    nested(listener) {
      const place = { stack: '' }
      const { captureStackTrace } = /** @type {any} */ (Error)
      captureStackTrace?.(place, listener)
      return /\n\s+at (?!async )|^[^*\n]*@/.test(place.stack) // frames of V8, or else of the others
    },
    inputPending: navigator?.scheduling?.isInputPending ? () => navigator.scheduling.isInputPending() : undefined,
    frame: platform.requestAnimationFrame ? fn => {
      const request = platform.requestAnimationFrame(own(fn))
      return () => platform.cancelAnimationFrame(request)
    } : undefined
  }
}

/**
 * Node drains about a thousand MessageChannel messages per turn, which starves its timers, and an open channel keeps the
 * process alive; its setImmediate does neither.
 *
 * @param {any} setImmediate @returns {(fn: () => void) => void} whatever else it is given does not reach `fn`
 */
const immediatePost = setImmediate => fn => setImmediate(own(fn))

/** @param {any} setTimeout @param {any} clearTimeout @returns {Host['after']} */
const timerAfter = (setTimeout, clearTimeout) => (ms, fn, { ref }) => {
  const timer = setTimeout(own(fn), Math.min(Math.max(0, Math.ceil(ms)), LONGEST_DELAY))
  if (!ref) timer.unref()
  return () => clearTimeout(timer)
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
    const wait = (left = due - now()) => {
      if (isOver) return
      if (left <= 0) fn()
      else if (left <= inTurns && !hidden() && turns++ < MOST_TURNS) post(wait)
      else timer = platform.setTimeout(onTimer, Math.min(Math.max(1, Math.floor(left - LEAD)), LONGEST_DELAY))
    }
    const start = (/** @type {number} */ left) => left >= CLAMP + LEAD || hidden() ? wait(left) : post(wait)
    const onTimer = own(() => {
      turns = 0
      start(due - now())
    })
    if (ms > 0) start(ms)
    else post(wait) // who sets it expects to return first
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
  port1.onmessage = own(() => /** @type {() => void} */ (posted.shift())())
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
  const late = platform.setTimeout(own(() => {
    overtaken.abort()
    fn()
  }), LONGEST_BACKGROUND)
  const turn = () => {
    platform.clearTimeout(late)
    fn()
  }
  scheduler.postTask(turn, { priority: 'background', signal: overtaken.signal })
    .catch((/** @type {any} */ error) => { if (error?.name !== 'AbortError') throw error })
}

/** ms between frames, until they tell. Rounds that are longer are meant to outlast frames. */
const FRAME = 1000 / 60
/** Of how many frames the shortest gap is believed, although those before may have been shorter. */
const FRAMES_SEEN = 30

/**
 * ms between frames, as the gaps between them tell. After one that came late the next may come early: of two gaps the longer counts.
 *
 * @param {number} [tried] of so many of those frames the next is expected as early as ever: where none comes before it is expected,
 *   all would be late after a few that were
 * @returns {(gap: number) => number}
 */
function frameInterval(tried = 0) {
  const latest = Array(FRAMES_SEEN).fill(FRAME)
  let shortest = FRAME
  let before = 0
  let count = 0
  return gap => {
    const longer = Math.max(gap, before)
    if (gap < 100) before = gap
    if (gap < 100 && longer > 4) latest[count++ % FRAMES_SEEN] = longer
    const interval = Math.min(...latest)
    shortest = Math.min(shortest, interval)
    return count % FRAMES_SEEN < tried ? shortest : interval
  }
}

/** ms that frames come after their own time. A round that ends then finds its frame pending. */
const FRAME_DELAY = 2
/** ms before a frame, in which a turn may last until it comes. */
const FRAME_NEAR = 7
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
  const intervalAfter = frameInterval(2) // since rounds last until the next is expected
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
      if (!hidden()) request() // after a pause not before: in Firefox, the call and what it wakes up take as long as the turn waits
      ended = now()
      worked += ended - began
      began = Infinity
    })
  }
  const letGo = own(() => {
    platform.clearTimeout(fallback)
    for (const turn of held.splice(0)) post(turn)
  })
  const onFrame = own((/** @type {number} */ frame) => {
    interval = intervalAfter(frame - shown)
    shown = frame
    due = frame + interval + FRAME_DELAY
    requested = stopped = false
    if (held.length > 0) request() // the round may last until the next frame
    letGo()
  })
  const request = () => {
    if (!requested) platform.requestAnimationFrame(onFrame)
    requested = true
  }
  platform.document.addEventListener('visibilitychange', letGo)
  return (fn, goesOn = false) => {
    const time = now()
    const turn = () => fn(stopped || late > 1 || hidden() || takesTurns && now() >= due ? Infinity : due)
    if (hidden()) return post(turn)
    // Code that waited for a job of the latest turn posts right after it.
    const isNext = goesOn || time - ended <= 1
    if (!isNext) {
      const passed = shown === -Infinity ? 0 : Math.ceil((time - shown) / interval)
      due = (passed > 0 ? shown + passed * interval : time + interval) + FRAME_DELAY // the next that could come
    }
    if (isNext || due - time < FRAME_NEAR) request()
    if (takesTurns || stopped || late > 1 || !isNext || time < due) return post(turn)
    if (held.push(turn) > 1) return
    fallback = platform.setTimeout(own(() => {
      stopped = true
      letGo()
    }), 50)
  }
}

/** @param {string} bytes a character each */
const toBase64 = bytes => /** @type {any} */ (globalThis).btoa(bytes)

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

/** A node of a heap: where it is inside, or null; the slot of its run, if it is the first of it; its neighbours there. */
class HeapNode {
  constructor() {
    /** @type {any} */
    this.queue = null
    this.slot = 0
    /** @type {any} */
    this.before = null
    /** @type {any} */
    this.after = null
  }
}

/**
 * A stable priority queue in O(log n): a 4-ary heap of sorted runs. A node that follows the node pushed last extends its run,
 * and costs one comparison; so nodes that come in order, as equals do, cost the same whether ten are inside or a hundred
 * thousand: without runs, functions spawned 1000 at once take 1.9 to 2.5 times as long. The first run is kept apart: CommsTime
 * takes 1.2 times as long where it goes through the arrays. (A job among 100,000 of random deadlines takes 6 us. With a leftist heap
 * of nodes it took 12, and 11 without the keys: more to collect, and each comparison looks at two nodes. Node 20.)
 *
 * `order(a, b)` is negative if `a` goes first, and never 0; `key` follows it, as far as a number can: a node of a smaller key
 * goes first. Neither changes while a node is inside.
 *
 * @template {HeapNode} N
 */
class Heap {
  size = 0
  /** @type {N | null} */
  first = null
  /** The first nodes of all runs but the one that begins with `first`: most queues have no other. @type {N[]} */
  heads = []
  /** Keys of these, side by side: comparing them looks at no node. @type {number[]} */
  #keys = []
  /** The node pushed last, or what was before it in its run. @type {N | null} */
  #last = null

  /** @param {(a: N, b: N) => number} [order] by default that of a derived class @param {(node: N) => number} [key] */
  constructor(order, key) {
    if (order !== undefined) this.order = order
    if (key !== undefined) this.key = key
  }

  /** @param {N} a @param {N} b @returns {number} */
  order(a, b) { return 0 }
  /** @param {N} node @returns {number} */
  key(node) { return 0 }

  /** @param {N} node */
  push(node) {
    const { first } = this
    const last = this.#last
    if (last !== null && this.order(last, node) < 0) {
      last.after = node
      node.before = last
    } else {
      if (first === null || this.order(node, first) < 0) this.first = node
      if (first !== null) this.#fill(this.heads.length, this.first === node ? first : node)
    }
    node.queue = this
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
    const { queue, before, after, slot } = node
    if (queue !== this) throw new Error('removed from a queue that it is not in')
    node.queue = node.before = node.after = null
    this.size--
    if (this.#last === node) this.#last = before
    if (after !== null) after.before = before
    if (before !== null) before.after = after
    else if (node !== this.first) this.#fill(slot, after)
    else this.#follow(after)
  }

  /** Finds the first after that. @param {N | null} next what followed it in its run */
  #follow(next) {
    const other = this.heads.length === 0 ? null : this.heads[0]
    const isNext = other === null || next !== null && this.order(next, other) < 0
    this.first = isNext ? next : other
    if (!isNext) this.#fill(0, next)
  }

  /** @param {number} slot @param {N | null} next the first of what is left of its run; null if that has ended: the last run fills it */
  #fill(slot, next) {
    if (next !== null) return this.#place(slot, next, this.key(next))
    const node = /** @type {N} */ (this.heads.pop())
    const key = /** @type {number} */ (this.#keys.pop())
    if (slot < this.heads.length) this.#place(slot, node, key)
  }

  /** Puts a run where it belongs, from a free slot on. @param {number} slot @param {N} node its first @param {number} key */
  #place(slot, node, key) {
    const heads = this.heads
    while (slot > 0) {
      const parent = (slot - 1) >> 2
      if (!this.#precedes(node, key, parent)) break
      this.#set(slot, heads[parent], this.#keys[parent])
      slot = parent
    }
    for (;;) {
      let child = 4 * slot + 1
      const end = Math.min(child + 4, heads.length)
      for (let other = child + 1; other < end; other++) {
        if (this.#precedes(heads[other], this.#keys[other], child)) child = other
      }
      if (child >= end || this.#precedes(node, key, child)) break
      this.#set(slot, heads[child], this.#keys[child])
      slot = child
    }
    this.#set(slot, node, key)
  }

  /** @param {N} node @param {number} key @param {number} slot of another */
  #precedes(node, key, slot) {
    const other = this.#keys[slot]
    return key < other || (key === other && this.order(node, this.heads[slot]) < 0)
  }

  /** @param {number} slot @param {N} node @param {number} key */
  #set(slot, node, key) {
    this.heads[slot] = node
    this.#keys[slot] = key
    node.slot = slot
  }
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
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}...` : value)
  const isFunction = typeof value === 'function'
  if (value === null || !isFunction && typeof value !== 'object') return String(value)
  try {
    if (isFunction) return `function ${value.name || '(anonymous)'}`
    return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'no constructor'})`
  } catch {
    return isFunction ? 'a function' : 'an object'
  }
}

/** @param {string} name @param {string} wanted @param {unknown} value */
const wrongType = (name, wanted, value) => new TypeError(`${name} must be ${wanted}, got ${describe(value)}`)
/** @param {string} name @param {string} wanted @param {unknown} value */
const outOfRange = (name, wanted, value) => new RangeError(`${name} must be ${wanted}, got ${describe(value)}`)

/**
 * @param {string} type @param {string} wanted @param {(value: any) => boolean} [isValid] what throws a RangeError; another type, a TypeError
 * @returns {(name: string, value: any) => any} a check
 */
const typed = (type, wanted, isValid) => (name, value) => {
  if (typeof value !== type) throw wrongType(name, wanted, value)
  if (isValid !== undefined && !isValid(value)) throw outOfRange(name, wanted, value)
  return value
}

/** @param {string} wanted @param {(value: number) => boolean} isValid @returns {(name: string, value: unknown) => number} */
const number = (wanted, isValid) => typed('number', wanted, isValid)

const positive = number('a number > 0', value => value > 0)
const notNegative = number('a number >= 0', value => value >= 0)
const finite = number('a finite number', Number.isFinite)
const duration = number('a finite number >= 0', value => value >= 0 && value < Infinity)
const interval = number('a finite number > 0', value => value > 0 && value < Infinity)
const counted = number("an integer >= 1 or 'auto'", value => Number.isSafeInteger(value) && value >= 1)

/** @param {string} name @param {unknown} value @returns {number} points, or AUTO */
const points = (name, value) => value === 'auto' ? AUTO : counted(name, value)

/** @param {string} word that will do, too @param {Checks[string]} check @returns {Checks[string]} */
const or = (word, check) => (name, value) => value === word || check(name, value)

const callable = typed('function', 'a function')
const flag = typed('boolean', 'a boolean')
const text = typed('string', 'a string')

/** @param {string[]} choices @returns {(name: string, value: any) => any} */
const among = (...choices) => (name, value) => {
  if (find(choices, choice => choice === value) === undefined) throw wrongType(name, choices.map(choice => `'${choice}'`).join(' or '), value)
  return value
}

/** @param {string} name @param {any} fn @param {unknown} given */
function refuseAsyncGenerator(name, fn, given) {
  if (fn[Symbol.toStringTag] === 'AsyncGeneratorFunction') throw wrongType(name, 'a generator function, not an async one', given)
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

/**
 * @param {string} wanted @param {(value: any) => any} find what is wanted of a value; it may throw
 * @returns {(name: string, value: any) => any} a check: it gives what was found
 */
const having = (wanted, find) => (name, value) => {
  try {
    const found = find(value)
    if (found) return found
  } catch {} // what cannot be looked at is none
  throw wrongType(name, wanted, value)
}

const abortSignal = having('an AbortSignal', signal => typeof signal.aborted === 'boolean' &&
  typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function' && signal)
/** What the seam acts on. */
const jobHookOf = having('an array of Resources', one => one[protocol])
/** A ReservationHook, or what stands for it. */
const reservationHookOf = having('a Reservation', value => {
  const hook = value[protocol]
  return (hook.payer ?? hook).pool && hook
})

/** For the other modules: each returns what it has checked, or throws what names the parameter and the value. */
const check = /* @__PURE__ */ Object.freeze({
  number, positive, notNegative, finite, duration, interval, points, callable, flag, text, among, elsewhere, unchecked, signal: abortSignal,
  scheduler: (/** @type {string} */ _, /** @type {Scheduler} */ scheduler) => here({ scheduler }), record,
  policy: policyOf,
  options: optionsOf, knownOptions, wrongType, outOfRange, describe, refuseAsyncGenerator
})

const abortError = () => new DOMException('The job was cancelled', 'AbortError')

// ------------------------------------------------------------------------------------------ 4 Task and Job

const AUTO = 0

/** How many calls of rewritten code may nest on the engine's stack. */
const ROOM = 150

/** What the code of the running job counts: `budget`, with what is for rewritten code only. */
const counts = {
  left: 0,
  /** How many more calls of rewritten code may nest on the engine's stack. */
  room: ROOM,
  /** Whether a frame is being left: what is around does not end. */
  away: false
}

/**
 * The preemption points that the running job may still pass before the clock is read: `left`. Refilled before a job is
 * resumed. In a hot loop `if (--budget.left <= 0) yield` passes a point without leaving the function.
 *
 * @type {{ left: number }}
 */
export const budget = counts

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
 *   : W extends Iterator<infer Y, any, any> ? Y : W extends AsyncIterator<any, any, any> ? 'not a generator' : never} YieldOf
 */
/**
 * Refuses work that yields what a job may not.
 *
 * @template W
 * @typedef {[YieldOf<W>] extends [Yieldable] ? unknown : unknown extends YieldOf<W> ? unknown
 *   : 'a job may yield nothing, a generator, a promise, a job or a waitable'} Checked
 */
/**
 * Refuses work that cannot be called with `A`, of which it may leave some out.
 *
 * @template W @template {any[]} A
 * @typedef {A extends [...ArgumentsOf<W>, ...any[]] ? Checked<W> : ArgumentsOf<W>} Taking
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
 * @property {'queue' | 'skip' | 'replace' | 'abort'} [excess] what happens to a job that is released before the last one of
 *   the same task, or function, has ended: it waits for its turn ('queue'), in order of eligibility; is cancelled ('skip');
 *   waits instead of those that wait, which are cancelled ('replace': the newest wins); or begins, and all others are
 *   cancelled ('abort'). By default it begins beside them
 * @property {(job: Job) => void} [onMiss] called once per job, when its miss is noticed; before the scheduler's
 * @property {(job: Job) => void} [onOverrun] called once per job, when its cost exceeds its wcet; before the scheduler's
 * @property {Scheduler} [scheduler] where jobs are released; default: that of the running job, else `rt`
 * @property {object} [reservation] a Reservation of alarms.mjs that pays for the jobs
 * @property {object[]} [uses] the Resources of sync.mjs that the jobs may use
 * @property {readonly { resource?: any, wcet: number }[]} [sections] the critical sections, for `schedulable`: the resource and the wcet in ms
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
  /** @type {TaskOptions['excess']} */
  excess
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
   * @param {((...args: A) => R) & Checked<R>} work
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
    if (typeof work === 'function') {
      this.run = work
      this.name = work.name
    } else {
      const isOptions = options === undefined && typeof work === 'object' && work !== null
      if (options !== undefined || new.target === Task) {
        throw wrongType('work', isOptions ? 'a function, and the options come after it' : 'a function', work)
      }
      callable(`${new.target.name}.run`, this.run === Task.prototype.run ? undefined : this.run)
      this.name = this.constructor.name
      options = work
    }
    // Fields would hide the accessors of a derived class.
    for (const name in TASK_OPTIONS) if (name in new.target.prototype) delete (/** @type {any} */ (this)[name])
    if (options !== undefined) {
      knownOptions(options, TASK_OPTIONS)
      for (const name in TASK_OPTIONS) if (options[name] !== undefined) /** @type {any} */ (this)[name] = options[name]
    }
    if (this.scheduler !== undefined) here(this)
    parametersOf(this, this)
    if (this.sections !== undefined && !Array.isArray(this.sections)) throw wrongType('sections', 'an array of sections', this.sections)
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
  if (scheduler === undefined) return dispatching === null ? rt : dispatching.scheduler
  if (!(scheduler instanceof Scheduler)) throw wrongType('scheduler', 'a Scheduler', scheduler)
  return scheduler
}

const TASK_OPTIONS = /* @__PURE__ */ unchecked('deadline', 'priority', 'name', 'period', 'wcet', 'budget', 'miss', 'excess', 'onMiss',
  'onOverrun', 'reservation', 'uses', 'sections', 'scheduler')
const missOption = /* @__PURE__ */ among('continue', 'abort')
const excessOption = /* @__PURE__ */ among('queue', 'skip', 'replace', 'abort')
const SPAWN_OPTIONS = /* @__PURE__ */ unchecked(...Object.keys(TASK_OPTIONS), 'release', 'signal')
/** @type {any} */
const NO_OPTIONS = Object.freeze({})

/** Classes may declare a field without a value, and users take one away. @param {any} given @param {any} own @param {any} otherwise */
const chosen = (given, own, otherwise) => given !== undefined ? given : own !== undefined ? own : otherwise

/** @type {JobHook[]} */
const NO_HOOKS = []

/** What counts where nothing is said. */
const PLAIN_TASK = /* @__PURE__ */ new Task(/** @type {any} */ (() => {}))
const PLAIN = /* @__PURE__ */ parametersOf(PLAIN_TASK, PLAIN_TASK)
/**
 * Whether there is nothing that the job itself does not keep. Spawned with a priority, 100 000 jobs that keep it all take
 * 1.1 to 1.25 times as long (Node 20).
 *
 * @param {ReturnType<parametersOf>} parameters
 */
const isPlain = ({ name, period, wcet, limit, abort, excess, onMiss, onOverrun }) =>
  name === '' && period === Infinity && wcet === Infinity && limit === undefined && !abort && excess === undefined &&
  onMiss === undefined && onOverrun === undefined

/** Of tasks of the platform's kind. */
const POSTED = /* @__PURE__ */ Object.freeze({ ...PLAIN })
/** Of the rest of code that is no job's. */
const CONTINUATION = /* @__PURE__ */ Object.freeze({ ...PLAIN, name: 'continuation' })
/** @param {Activation} a */
const wasPosted = a => a.parameters === POSTED
/** Whether it goes on with code that is no job's: it ends when nothing more is heard of that. @param {Activation} a */
const isOfNoJob = a => a.parameters === CONTINUATION

/**
 * The checked parameters of a job.
 *
 * @param {any} given the options of its spawn, or a task @param {any} task whose parameters count where none are given
 */
function parametersOf(given, task) {
  const {
    name, budget = task.budget, excess = task.excess, onMiss = task.onMiss, onOverrun = task.onOverrun, reservation = task.reservation,
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
    excess: excess === undefined ? undefined : excessOption('excess', excess),
    onMiss: onMiss === undefined ? undefined : callable('onMiss', onMiss),
    onOverrun: onOverrun === undefined ? undefined : callable('onOverrun', onOverrun),
    reservation: reservation === undefined ? null : reservationHookOf('reservation', reservation),
    uses: uses === undefined ? NO_HOOKS : Array.from(uses, one => jobHookOf('uses', one))
  }
}

const PENDING = 0
const READY = 1
const WAITING = 2
const DONE = 3
const FAILED = 4
const CANCELLED = 5
const STATES = /** @type {const} */ (['pending', 'ready', 'waiting', 'done', 'failed', 'cancelled'])

/** Kept instead of an array of its own: 100 000 jobs at once take 0.85 of what they took (Node 20). @type {any[]} */
const NO_ARGUMENTS = []

/** What the dispatcher knows of a job. `Job` is the handle that users hold. */
class Activation extends HeapNode {
  /**
   * @param {Dispatcher} dispatcher @param {ReturnType<parametersOf>} parameters @param {any} work @param {any} leaf
   * @param {any[]} args @param {number} release
   */
  constructor(dispatcher, parameters, work, leaf, args, release) {
    super()
    this.dispatcher = dispatcher
    this.id = dispatcher.stats.jobs + 1
    this.parameters = parameters
    /** A Task, a function, or the iterator itself. */
    this.work = work
    this.args = args.length === 0 ? NO_ARGUMENTS : args
    this.state = PENDING

    this.release = release
    this.deadline = Infinity
    this.priority = 0
    /** Raised when the job is put after its equals. */
    this.stamp = 0
    /** Whose keys count: its own, its reservation's, or those of a job that waits for it. @type {Standing} */
    this.standing = this

    /** The innermost generator, which is resumed directly; UNSTARTED until a function has returned; null if nothing is to be resumed. */
    this.leaf = leaf
    /** Its callers, outermost first. @type {any[] | null} */
    this.callers = null
    /** What the next resume hands in, and whether it is thrown. @type {any} */
    this.input = undefined
    this.throwing = false
    /** Whether that is something that a cancellation must not take away. */
    this.kept = false
    /** @type {Waitable | null} */
    this.waiting = null

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
    /** On the timeline: at the release while the job is pending, then at the deadline. @type {Entry | null} */
    this.entry = null
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

/** ms that a short automatic budget is worth; reading the clock takes 1 to 2 % of it (60 to 140 ns in browsers). */
const SHORT_BUDGET = 0.006
/** Points that a short budget has at least, where they cost more than that. */
const FEWEST_POINTS = 8
/** ms that a long automatic budget is worth, and none is worth more, since alarms may be late by it. */
const LONG_BUDGET = 0.1
/** More make no point cheaper: 2.7 ns in budgets of 1000 as in these (bench/budget). */
const MOST_POINTS = 4096
/** A length is left for the other where its points cost so many times as much: more than measurements differ by chance. */
const TOO_DEAR = 1.1
/** Measurements between two trials, which take 6 % of the time then. */
const SOON = 32
/** The same when many trials have come to the same: 0.4 %. */
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
  /** Points and ms of budgets that ended before they were used up. */
  early = 0
  took = 0
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
   * Takes in what the points of a budget cost. Those that waits cut short count together, once they come to a whole one: CommsTime
   * takes 5 % longer where each counts.
   *
   * @param {number} points > 0
   * @param {number} ms
   * @param {number} resolution of the clock, ms; Infinity while it is not known
   * @param {number} ceiling ms that a budget may cost at most
   */
  learn(points, ms, resolution, ceiling) {
    const passed = this.early += points
    const elapsed = this.took += ms
    if (passed < this.points && elapsed < ceiling) return
    this.early = this.took = 0
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
 * @typedef {{ promise: Promise<any>, resolve: (value: any) => void, reject: (error: unknown) => void }} Deferred
 */

/** What only few jobs have; the others share NO_EXTRAS. */
class Extras {
  /** The job's cost when its present period began; Infinity once that has overrun. */
  costBefore = 0
  /** Kept when deadline or priority change after the release. @type {number | undefined} */
  level = undefined
  /** Of a function that goes on in microtasks. @type {AsyncDriver | null} */
  driver = null
  /** What it listens to. @type {AbortSignal | null} */
  signal = null
  /** NOT_CANCELLED, or the reason. @type {unknown} */
  reason = NOT_CANCELLED
  delivered = false
  /** @type {ReservationHook | null} */
  server = null
  /** That of its reservation, while the job is ready by nothing else. @type {Pool | null} */
  pool = null
  uses = NO_HOOKS
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

  /** Unique in its scheduler, in the order of creation. */
  get id() { return this.#activation.id }
  /** @returns {string} the name given, else the task's, else the function's, else 'job' and its id */
  get name() {
    const { parameters, work, id } = this.#activation
    return parameters.name || (typeof work === 'function' || work instanceof Task ? work.name : '') ||
      (parameters === POSTED ? 'task' : `job ${id}`)
  }
  /** @returns {Task | null} whose job it is; null of work that is no Task */
  get task() {
    const { work } = this.#activation
    return work instanceof Task ? work : null
  }
  /** 'pending' until its release; 'ready', 'running', 'waiting', 'depleted'; 'done', 'failed' or 'cancelled' in the end. */
  get state() {
    const { state, dispatcher, work } = this.#activation
    if (work instanceof Elsewhere && state < DONE) return work.state
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
    return this.#activation.dispatcher.cancel(this.#activation, reason)
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
   * another such; else it hands over at once. Jobs that talk to each other change places half as often if it is; CommsTime takes
   * 1.6 to 1.75 times as long if it never is.
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
    /** On whose behalf it waits; null outside jobs. @type {Job | null} */
    this.job = null
    this.order = 0
    /** @type {Standing | null} */
    this.rank = null
  }

  static {
    Object.assign(this.prototype, { [asCall]: null })
  }
  get isFulfilled() { return this.phase === FULFILLED }
  /** Whether, once it has begun, nothing but its outcome is missing: a choice goes no other way then. */
  get isDecided() { return false }
  get activation() { return this.job && activationOf(this.job) }
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
  /** The standing of a job that waits has changed, or who waits: where there are several, it is for the most eligible. */
  refresh() {
    const { queue, waiter, others } = this
    if (others !== null) this.job = others.reduce((best, { job }) => moreEligible(best, job), waiter && waiter.job)
    else if (waiter !== null) this.job = waiter.job
    if (queue !== null) queue.update(this)
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
    if (this.waiter === null) {
      this.waiter = waiter
    } else {
      (this.others ??= []).push(waiter)
      if (moreEligible(this.job, waiter.job) !== this.job) this.refresh()
    }
    return false
  }

  /** @param {Waiter} waiter */
  leave(waiter) {
    if (this.waiter === waiter) this.waiter = this.others?.shift() ?? null
    else if (this.others?.includes(waiter)) this.others.splice(this.others.indexOf(waiter), 1)
    else return
    if (this.phase !== BEGUN) return
    if (this.waiter === null) {
      this.phase = IDLE
      this.undo()
    } else if (this.job === waiter.job) {
      this.refresh()
    }
  }

  /** For `await` in async code. @param {any} [onDone] @param {any} [onFailed] @returns {Promise<any>} */
  then(onDone, onFailed) {
    return new Promise((resolve, reject) => {
      const woken = () => this.phase === FULFILLED ? resolve(this.outcome) : reject(this.outcome)
      if (this.enlist({ job: null, woken })) woken()
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

/** @param {Job | null} one @param {Job | null} other @returns {Job | null} */
function moreEligible(one, other) {
  if (one === null || other === null) return one ?? other
  const a = activationOf(one)
  return a.dispatcher.compareStandings(standingToLend(activationOf(other)), standingToLend(a)) < 0 ? other : one
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
  }
  /** @param {Job | null} job */
  begin(job) {
    const dispatcher = job && activationOf(job).dispatcher
    let isAwaited = true
    if (dispatcher !== null) dispatcher.holds++
    this.undo = () => {
      isAwaited = false // what the thenable still says is not for the next waiter
      if (dispatcher !== null) dispatcher.holds--
    }
    follow(this.thenable, () => isAwaited, (phase, outcome) => {
      this.undo()
      settle(this, phase, outcome)
    })
  }
}

/**
 * As a promise adopts it, but at once where a thenable calls back at once.
 *
 * @param {any} value
 * @param {() => boolean} isAwaited whether anybody still listens
 * @param {(phase: number, outcome: any) => void} settled called with FULFILLED or REJECTED
 */
function follow(value, isAwaited, settled) {
  let hasAnswered = false
  const once = (/** @type {(outcome: any) => void} */ act) => (/** @type {any} */ outcome) => {
    if (hasAnswered || !isAwaited()) return
    hasAnswered = true
    act(outcome)
  }
  const fail = once(error => settled(REJECTED, error))
  try {
    if (isThenable(value)) value.then(once(result => follow(result, isAwaited, settled)), fail)
    else settled(FULFILLED, value)
  } catch (error) {
    fail(error)
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
  /** By whose policy it is ordered: that of the first job that waits. @type {Dispatcher | null} */
  #dispatcher = null
  #arrivals = 0

  /** @param {Job | null} [owner] @param {() => void} [orphan] called when its owner has ended; by default it has none then */
  constructor(owner = null, orphan = () => { this.owner = null }) {
    super()
    this.orphan = orphan
    this.owner = owner
  }

  /** @param {Waitable} a @param {Waitable} b */
  order(a, b) {
    this.#dispatcher ??= (a.activation ?? b.activation)?.dispatcher ?? null
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
      refresh(last)
    }
    if (next !== null) {
      extrasOf(next).owned.push(this)
      refresh(next)
      if (this.size > 0) next.dispatcher.breakCycle(next)
    }
  }

  /** @param {Waitable} waitable @param {Job | null} [job] on whose behalf */
  push(waitable, job = null) {
    if (this.size === 0) this.#dispatcher = null
    waitable.job = job
    waitable.rank = null
    waitable.order = this.#arrivals++
    super.push(waitable)
    if (this.#owner !== null) refresh(this.#owner)
  }
  /** @param {Waitable} waitable nothing happens when it is not inside */
  remove(waitable) {
    if (waitable.queue !== this) return
    super.remove(waitable)
    if (this.#owner !== null) refresh(this.#owner)
  }
  /** The job on whose behalf it waits stands otherwise. @param {Waitable} waitable */
  update(waitable) {
    super.remove(waitable)
    waitable.rank = null
    super.push(waitable)
    if (this.#owner !== null) refresh(this.#owner)
  }
}

/** The jobs of a task that wait for their turn, owned by the one that has it. @type {WeakMap<object, Queue>} */
const lines = new WeakMap()

/** Waits for its turn among the jobs of a task. */
class Turn extends Waitable {
  name = 'its turn'

  /** @param {object} work @returns {Queue} */
  static line(work) {
    const known = lines.get(work)
    if (known !== undefined) return known
    const line = new Queue(null, () => {
      const next = line.shift()
      line.owner = next && next.job
      next?.wake()
    })
    lines.set(work, line)
    return line
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

/** Made once: CommsTime takes 6 % longer where each wait makes one. @param {Queue} queue */
const hasWaiters = ({ size }) => size > 0

/**
 * @param {Activation} waiting @param {Waitable} waitable for which it is about to wait
 * @throws {DeadlockError} when somebody who must act before that is over waits, through others, for this job
 */
function refuseCycle(waiting, waitable) {
  // Only a job that somebody waits for can close a circle: most waits need not walk the chain.
  if (!waiting.extras.owned.some(hasWaiters)) return
  /** Who waits for whom, on the way from the job. @type {Map<Activation, Activation>} */
  const waiters = new Map([[waiting, waiting]])
  for (const a of waiters.keys()) {
    const awaited = a === waiting ? waitable : a.waiting
    for (const job of awaited?.owners() ?? []) {
      const owner = job && activationOf(job)
      if (owner === waiting) {
        waitable.leave(waiting)
        throw deadlock(waiters, waiting, a)
      }
      if (owner && !waiters.has(owner)) waiters.set(owner, a)
    }
  }
}

/** @param {Map<Activation, Activation>} waiters @param {Activation} waiting @param {Activation} last who waits for that */
function deadlock(waiters, waiting, last) {
  const jobs = [waiting.job]
  for (let a = last; a !== waiting; a = /** @type {Activation} */ (waiters.get(a))) jobs.unshift(a.job)
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

/** @param {Activation} a @param {any} value @returns {any} the generator that the job calls by yielding it; null where it calls nothing */
function calleeOf(a, value) {
  const call = value?.[asCall]
  if (call === undefined) return isIterator(value) ? resumable(value) : null
  if (call === null || value.phase !== IDLE) return null
  value.phase = BEGUN
  return resumable(call.call(value, a.job))
}

/**
 * What is resumed is always a generator: the objects of each generator function have a shape of their own, and CommsTime takes 1.1 times
 * as long where each is asked at each resume what it is.
 *
 * @param {any} iterator
 */
const resumable = iterator => iterator.next === next ? iterator : resumedBy(iterator)

/** @param {any} iterator of another kind @returns {Generator<any, any, any>} */
function* resumedBy(iterator) {
  return yield* /** @type {any} */ (new Suspended(iterator, null)) // which inherits how it is iterated
}

/** A call that has begun, outside of the scheduler, and has yielded: the rest of it, from that yield on. */
class Suspended {
  /** @param {any} generator @param {IteratorResult<any, any> | null} step null where it has been taken */
  constructor(generator, step) {
    this.generator = generator
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
    const { generator } = this
    if (typeof generator.throw === 'function') return generator.throw(error)
    // As `yield*` does: an iterator that cannot be thrown into is closed; but its caller gets the error.
    generator.return?.()
    throw error
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
  let step = next.call(generator, input)
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
/** How many calls may end, one after the other, until that is taken for a preemption point: an error may end millions. */
const MOST_ENDS = 64

/** @param {Activation} a @param {any} callee of its innermost generator */
function call(a, callee) {
  const callers = a.callers ??= []
  callers.push(a.leaf)
  a.leaf = callee
}

/** @param {Activation} a @returns {boolean} whether the innermost generator, which has ended, has a caller to go on */
function leaveCall(a) {
  const { leaf } = a
  const caller = a.callers?.pop()
  if (caller === undefined) return false
  if (leaf[driven] === true) leaf[driven] = false
  a.leaf = caller
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
  if (callee[driven] === true) throw new TypeError(`${a.job.name} yielded the generator that is running already`)
  drives(callee)
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
    const outcome = throwing ? conclude(a, input, true) : start(a)
    if (outcome !== POINT) return outcome
  } else if (a.leaf === null) {
    return a.extras.driver?.isAsync ? a.extras.driver.resume(throwing, input) : conclude(a, input, throwing)
  }
  for (;;) {
    const { leaf } = a
    let value
    let done
    counts.room = ROOM
    try {
      const step = throwing ? leaf.throw(input) : advance(leaf, input)
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
    } else if (acted !== null && acted.goesOn && typeof before === 'number' && before > 1 && a.dispatcher.granted > 0) {
      spared = before - 1
      a.dispatcher.granted++
      budget.left = 1
    } else {
      budget.left = 0
      return stopAt(a, input, throwing, acted !== null && acted.handsOver && !throwing)
    }
  }
}

/** @param {any} fn */
const isAsync = fn => fn?.[Symbol.toStringTag] === 'AsyncFunction'

/** What a job runs of a function: its preemptible twin, once there are any (8e). @type {(fn: any) => any} */
let preemptible = fn => fn

/** Whether a function may return a value, as texts tell where there are twins. @type {(fn: any) => boolean} */
let answers = () => true

/** Calls a job's function. What it returns decides. @param {Activation} a @returns {number} */
function start(a) {
  const { work, args } = a
  try {
    const isFunction = typeof work === 'function'
    const run = isFunction ? work : work.run
    const self = isFunction ? undefined : work
    const given = isAsync(run) && !wasPosted(a) ? [a.job, ...args] : args
    const body = preemptible(run)
    const context = contextual === undefined ? contextual = engineContext() : contextual
    const result = context !== null ? context.run(a, () => Reflect.apply(body, self, given)) : Reflect.apply(body, self, given)
    // A generator is work; other iterators that a task returns are results, as the platform has it.
    const isResult = wasPosted(a) && isIterator(result) && !generatorPrototype.isPrototypeOf(result)
    const callee = isResult || isJob(result) ? null : calleeOf(a, result)
    if (callee !== null) {
      a.leaf = callee
      return POINT
    }
    if (result?.[Symbol.asyncIterator] !== undefined && typeof result.next === 'function') {
      throw new TypeError(`${a.job.name} is an async generator, which cannot be driven; write a generator`)
    }
    if (!isThenable(result) || isJob(result) || result instanceof Waitable) return finishWith(a, result)
    driverOf(a).follow(result)
    if (signalOf(a)?.aborted) return conclude(a, a.extras.reason, true) // at once, as on the platform; what it awaits may never come
    a.leaf = null
    return ASYNC
  } catch (error) {
    return conclude(a, error, true)
  } finally {
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
  if (a.deferred !== null) return a.deferred.promise
  const deferred = a.deferred = defer(/** @type {Deferred} */ ({}))
  if (a.state >= DONE) settlePromise(a, deferred)
  return deferred.promise
}

/** @template {Deferred | AsyncDriver} D @param {D} target @returns {D & Deferred} with a new promise */
function defer(target) {
  target.promise = new Promise((resolve, reject) => {
    target.resolve = resolve
    target.reject = reject
  })
  return /** @type {D & Deferred} */ (target)
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
 * @property {(by: Job | { name: string }, ms: number) => void} [onStall] called when one budget of a job outlasted the slice;
 *   or something else kept the thread for as long, named as 'alarm tick', 'before click' or 'observer'
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
  /** @param {Dispatcher} dispatcher @param {number} time @param {number} kind @param {any} subject @param {boolean} ref */
  constructor(dispatcher, time, kind, subject, ref) {
    super()
    this.dispatcher = dispatcher
    this.time = time
    /** When it happens. */
    this.key = time
    this.order = 0
    this.kind = kind
    this.subject = subject
    this.ref = ref
  }

  /** Whether it is still to happen. */
  get isSet() { return this.queue !== null }

  /** It is to happen (again). @param {number} time */
  set(time) {
    const { timeline, loop } = this.dispatcher
    timeline.set(this, time)
    loop.rest()
  }

  /** @returns {boolean} whether it was still to happen */
  cancel() {
    const { timeline, loop } = this.dispatcher
    this.subject = undefined // it may be about to be called
    if (!timeline.remove(this)) return false
    loop.rest()
    return true
  }
}

/** What is to happen, by time, then creation: of each kind apart. */
class Timeline {
  lines = [REPLENISHMENT, ALARM, RELEASE, MISS].map(() =>
    /** @type {Heap<Entry>} */ (new Heap((a, b) => a.key - b.key || a.order - b.order, ({ key }) => key)))
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
    const entry = new Entry(this.#dispatcher, time, kind, subject, ref)
    this.set(entry, time)
    return entry
  }

  /** @param {Entry} entry that is not there @param {number} time */
  set(entry, time) {
    entry.time = time
    // What sets itself anew for a time that has been settled waits for the next reading.
    const key = entry.key = time > this.#settled ? time : this.#dispatcher.time
    entry.order = this.#created++
    this.lines[entry.kind].push(entry)
    if (entry.ref) this.refs++
    if (key < this.due) this.due = key
  }

  /** @param {Entry} entry @returns {boolean} whether it was still there */
  remove(entry) {
    if (!entry.isSet) return false
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
      // What has been set meanwhile for a time that is over: see `set`.
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

  /** @param {Dispatcher} dispatcher */
  constructor(dispatcher) {
    this.#dispatcher = dispatcher
  }

  /** Has the host call again when there is something to do. @param {boolean} [goesOn] after a round */
  rest(goesOn = false) {
    const dispatcher = this.#dispatcher
    if (dispatcher.inRound || this.isPosted && following === null) return
    if (dispatcher.paused) this.arm(Infinity)
    else if (!dispatcher.hasWork) this.arm(dispatcher.timeline.next)
    else if (following !== null && this.taken < dispatcher.round) following.add(this)
    else if (!this.isPosted) this.#post(goesOn)
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
    this.arm(Infinity)
    this.isPosted = true
    try {
      this.#dispatcher.host.post(this.#onTurn, goesOn)
    } catch (error) {
      this.isPosted = false
      this.#dispatcher.report(error, null)
      this.arm(this.#dispatcher.time, true, false) // a host that refuses a turn may have a timer
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
  arm(time, ref = this.#dispatcher.timeline.refs > 0, postsInstead = time < Infinity) {
    if (time === this.#armedFor && ref === this.#armedRef) return
    const disarm = this.#disarm
    const dispatcher = this.#dispatcher
    this.#disarm = null
    this.#armedFor = time
    this.#armedRef = ref
    try {
      disarm?.()
      if (time < Infinity) this.#disarm = dispatcher.host.after(Math.max(0, time - dispatcher.read()), this.#onTimer, { ref })
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
  /** The job that holds the processor, across budgets and rounds. @type {Activation | null} */
  running = null
  /** @type {((record: TraceRecord) => void)[] | null} */
  observers = null
  /** Whether they have been told anything since the clock was read. */
  hasTold = false
  /** Who is told of jobs that stall. @type {((job: Job, ms: number) => void)[]} */
  stalling = []
  stats = {
    jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0,
    misses: 0, overruns: 0, stalls: 0, longestBudget: 0, longestRound: 0
  }

  /** @param {any} settings */
  constructor(settings) {
    super()
    Object.assign(this, settings)
  }

  /** The job whose code runs right now. @returns {Activation | null} */
  get current() {
    const { running } = this
    return /** @type {any} */ (dispatching) === this ? running : null
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
    if (elapsed > this.slice) this.stall(a.job, elapsed, a)
    if (a.cost - a.extras.costBefore > a.parameters.wcet) {
      extrasOf(a).costBefore = Infinity
      this.stats.overruns++
      if (this.observers !== null) this.emit('overrun', a)
      this.tell('onOverrun', a)
    }
  }

  /** Calls the handler of the job, then that of the scheduler. @param {'onMiss' | 'onOverrun'} event @param {Activation} a */
  tell(event, a) {
    this.call(event, a.parameters[event], a.job)
    this.call(event, this[event], a.job)
  }

  /**
   * What observers and a policy of users took is charged to no job. Without them, to read the clock for every switch would
   * cost more than the switch does.
   */
  watch() {
    const { time } = this
    const ms = this.read() - time
    if (ms <= this.slice) return
    this.stall({ name: this.isKnown ? 'observer' : this.observers === null ? 'policy' : 'observer or policy' }, ms)
  }

  /**
   * Calls code of users that is no job's. What it takes in a round is charged, to the job that is running if there is
   * one; what keeps the thread for longer than a slice is named.
   *
   * @param {string} kind @param {((...args: any[]) => void) & { of?: string } | undefined} callback `of`: by whom it was
   *   given, or its own name @param {any[]} args
   */
  call(kind, callback, ...args) {
    if (callback === undefined) return
    if (!this.inRound) this.read()
    else if (this.observers !== null) this.watch()
    const { time: began, stats } = this
    const { busy } = stats
    try {
      callback(...args)
    } catch (error) {
      this.report(error, null)
    }
    if (this.current !== null) return
    const ms = this.read() - began
    if (this.inRound) stats.busy = busy + ms // what it called in turn is part of it
    if (ms <= this.slice) return
    const { of: name = callback.name } = callback
    this.stall({ name: name && name !== kind ? `${kind} ${name}` : kind }, ms, null, kind !== 'onStall')
  }

  /**
   * Something kept the thread for longer than a slice.
   *
   * @param {Job | { name: string }} by @param {number} ms @param {Activation | null} [a] that of a job
   * @param {boolean} [tells] not of itself
   */
  stall(by, ms, a = null, tells = true) {
    this.stats.stalls++
    if (this.observers !== null) this.emit('stall', a, a === null ? { ms, by } : { ms })
    if (a !== null) for (const tell of this.stalling) tell(a.job, ms)
    if (tells) this.call('onStall', this.onStall, by, ms)
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

  /** @param {string} type @param {Activation | null} a @param {object} [more] */
  emit(type, a, more) {
    this.hasTold = true
    const record = { type, time: this.time, job: a && a.job, ...more }
    for (const observer of this.observers ?? []) { // one that is told may have been the last
      try {
        observer(record)
      } catch (error) {
        this.report(error, null)
      }
    }
  }
}

// --------------------------------------------------------------------------------------------- 5d dispatching

/** Of a budget that teaches nothing about the price of points. */
const CUT_SHORT = -1
/** So many jobs, each alone, are worth keeping their shapes once more. */
const BURST = 100
const SPENT = /** @type {Standing} */ ({ band: -2, job: { absoluteDeadline: Infinity, priority: -Infinity } })

/**
 * Whose job this thread runs; not which: to write each job here, too, and its standing, costs 4 % of one that does nothing (Node 20).
 *
 * @type {Dispatcher | null}
 */
let dispatching = null
/** Jobs whose standing may have changed. @type {Activation[]} */
const outdated = []
let isRefreshing = false
/** After so many the page matters more than an order. */
const MOST_REFRESHES = 1e6

/**
 * Finds a job's standing anew. A change goes on to the owners of what it waits for: by a list, since chains of waits
 * may be longer than the engine's stack.
 *
 * @param {Activation} a
 */
function refresh(a) {
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
    this.#jobs = /** @type {Heap<Activation>} */ (new Heap((a, b) => dispatcher.compareAs(a, a, b, b), a => dispatcher.keyOf(a)))
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
    const isTold = dispatcher.observers !== null && isOut !== wasOut
    // What goes on by something else has not been depleted.
    const told = isTold ? [...jobs].map(activationOf).filter(a => isOut || a.extras.pool === this) : []
    // Those that something else lets go on leave before all are out, and come back after that.
    this.#turn(wasOut && isOut)
    for (const a of [...this.dependents]) {
      if (isDependent(a)) refresh(a)
      else this.dependents.delete(a)
    }
    this.#turn(isOut)
    const { running } = dispatcher
    if (running !== null && running.extras.pool === this) running.standing = dispatcher.ownStanding(running)
    if (wasOut && this.first !== null) dispatcher.giveWay(this.first)
    else dispatcher.reconsider()
    if (isTold) this.#tell(told)
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

/** @param {any} work @returns {any} what a job of it resumes first: see Activation */
function beginningOf(work) {
  if (typeof work === 'function' || work instanceof Task) {
    refuseAsyncGenerator('work', typeof work === 'function' ? work : callable('work.run', work.run), work)
    return UNSTARTED
  }
  if (work instanceof Elsewhere) return null
  if (!isIterator(work) || isJob(work)) throw wrongType('work', 'a Task, a generator or a function', work)
  if (work[driven] === true) throw new TypeError('work is driven by another job already')
  return resumable(work)
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
  /** @type {Activation[]} that failed in this round */
  #failures = []
  /** Who waits until no job is left. @type {{ resolve: () => void, reject: (error: unknown) => void }[]} */
  idlers = []
  /** Jobs not yet ended, of a closed scheduler. @type {Set<Activation>} */
  #lives = new Set()
  /** Whether the present deadlock has been reported. */
  #deadlocked = false
  /** @type {object[]} */
  #shapes = []
  /** How many jobs there had been when they were made. */
  #shaped = 0

  /** @param {Scheduler} scheduler @param {any} settings */
  constructor(scheduler, settings) {
    super(settings)
    this.scheduler = scheduler

    /** @type {Heap<Activation | Pool>} */
    this.ready = new Heap((a, b) =>
      this.compareAs(a.standing, /** @type {Activation} */ (a.first), b.standing, /** @type {Activation} */ (b.first)),
    ({ standing }) => this.keyOf(standing))
    this.timeline = new Timeline(this)
    /** Wakers outside: while there are any, a closed scheduler is not deadlocked. */
    this.holds = 0

    /** By which it was resumed, if not by its own keys: those change with a section, or a lock, that it leaves. @type {Standing | null} */
    this.lent = null
    /** Whether the next budget is one longer. */
    this.begins = false
    /** Points of the present budget; CUT_SHORT if it was. */
    this.granted = 0
    /** @type {Gate[]} the ceiling stack */
    this.gates = []

    this.loop = new EventLoop(this)

    /** Jobs not yet ended. */
    this.live = 0
  }

  // Order

  /** What standings are compared by first, as a number. @param {Standing} standing */
  keyOf({ band, job, ranked = job }) {
    if (band !== 0) return -band * Infinity
    if (!this.isKnown) return 0
    return this.policy.compare === edf.compare ? ranked.absoluteDeadline : -ranked.priority
  }

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
    if (work?.[asCall]) {
      const call = work
      work = () => call
    }
    const leaf = beginningOf(work)
    if (options === undefined) options = NO_OPTIONS
    else knownOptions(options, SPAWN_OPTIONS)
    const { release, signal, scheduler } = options
    if (scheduler !== undefined && scheduler !== this.scheduler) throw new TypeError('scheduler must be the one that spawns')
    if (release !== undefined) finite('release', release)
    if (signal !== undefined) abortSignal('signal', signal)
    const isTask = work instanceof Task
    const parameters = isTask || options !== NO_OPTIONS ? parametersOf(options, isTask ? work : PLAIN_TASK) : PLAIN
    const priority = this.policy.priority?.(parameters) ?? parameters.priority

    const now = this.read()
    const a = new Activation(this, isPlain(parameters) ? PLAIN : parameters, work, leaf, args, release ?? now)
    a.deadline = parameters.deadline
    a.priority = priority
    if (signal !== undefined) listen(a, signal, false)
    if (!signal?.aborted) this.attach(a, parameters.uses, parameters.reservation)
    return this.launch(a, now)
  }

  /** @param {Activation} a @param {number} now @returns {Job} */
  launch(a, now) {
    const { signal } = a.extras
    if (a.leaf !== UNSTARTED && a.leaf !== null) drives(a.work)
    this.stats.jobs++
    this.live++
    if (this.closed) this.#lives.add(a)
    if (signal?.aborted) {
      this.cancel(a, signal.reason)
    } else if (a.work instanceof Elsewhere) {
      a.work.begin(a)
    } else if (a.release <= now) {
      this.#arrive(a)
    } else {
      a.entry = this.timeline.at(RELEASE, a.release, a, true)
      this.loop.rest()
    }
    return a.job
  }

  /** @param {Activation} a @param {JobHook[]} uses @param {any} reservation a ReservationHook, or what stands for it */
  attach(a, uses, reservation) {
    const hooks = reservation === null ? uses : [...uses, reservation]
    if (hooks.length === 0) return
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
    this.#expectMiss(a)
    const { excess } = a.parameters
    if (excess === undefined || this.#takeTurn(a, excess)) {
      this.#enqueue(a, 'release')
      if (a === this.best) this.reconsider()
    }
    this.loop.rest()
  }

  /** @param {Activation} a @param {NonNullable<TaskOptions['excess']>} excess @returns {boolean} whether it is its turn */
  #takeTurn(a, excess) {
    const line = Turn.line(a.work)
    const abort = (/** @type {Job} */ job) => job.cancel(new DOMException('A later job of its task takes its place', 'AbortError'))
    if (excess === 'replace' || excess === 'abort') while (line.first?.job && abort(line.first.job));
    if (a.state >= DONE) return false // observers may do anything
    const { owner } = line
    if (excess === 'abort' || owner === null) {
      line.owner = a.job
      if (owner !== null) abort(owner)
      return a.state < DONE
    }
    if (excess !== 'skip') {
      a.state = WAITING
      a.waiting = new Turn()
      a.waiting.enlist(a)
      a.extras.server?.pool.dependents.add(a)
      a.standing = this.standingOf(a) // it was that of its spawn
      line.push(a.waiting, a.job)
    }
    if (this.observers !== null) this.emit('release', a)
    if (excess === 'skip') this.cancel(a, new DOMException('An earlier job of its task has not ended', 'AbortError'))
    else if (a.waiting !== null) this.#await(a)
    this.breakCycle(a)
    return false
  }

  /** @param {Activation} a */
  #expectMiss(a) {
    a.entry = a.deadline < Infinity ? this.timeline.at(MISS, justAfter(a.absoluteDeadline), a, a.parameters.abort) : null
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
    this.granted = CUT_SHORT
    budget.left = 0
  }

  /** Has the running job come back at its next point if it is no longer the most eligible. */
  reconsider() {
    if (this.running !== null && this.running !== this.best) this.interrupt()
  }

  /** @param {Activation} a */
  unblock(a) {
    a.turn = a.cost
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
    if (order > 0) return
    if (order !== 0) return this.interrupt()
    // A woken equal is handed over to; rotation at the end of slices alone would make choices unfair.
    this.#stamp = ++this.#rotation
    running.turn = running.cost
    this.#changed = true
    if (this.current === null) return
    const { left } = budget // which is the job's to write
    // As if no more had been granted: what the budget costs still tells the price of a point.
    if (typeof left === 'number' && left > 1) this.granted -= left - 1
    budget.left = 0
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
    if (a.state === PENDING || a.state >= DONE || a.work instanceof Elsewhere) return
    if (a.entry !== null) this.timeline.remove(a.entry)
    if (!a.missed) this.#expectMiss(a)
    this.loop.rest()
  }

  /** @param {Activation} a @param {number} release */
  renew(a, release) {
    // The period that ends here may have been missed; it is noticed with the other misses of the next reading.
    if (a.entry !== null && this.read() > a.absoluteDeadline) a.entry = null
    this.rekey(a, 'release', release)
    a.missed = false
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
    const extras = extrasOf(a)
    const isPending = a.state === PENDING
    if (!isPending) extras.level ??= a.level // fixed at release
    if (a.state === READY) this.#extract(a)
    a[key] = value
    extras.rank = extras.background = null
    if (a.work instanceof Elsewhere) a.work.far.change(a.work, key, value)
    if (!isPending) return this.#place(a, this.standingOf(a))
    // The level has changed, by which resources compute their ceilings.
    const declareAnew = () => {
      for (const resource of extras.uses) resource.detach(a.job)
      for (const resource of extras.uses) resource.attach(a.job, this.scheduler)
    }
    try {
      declareAnew()
    } catch (error) {
      a[key] = before
      declareAnew()
      throw error
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
    if (a.state >= DONE) return false
    const extras = extrasOf(a)
    if (extras.reason !== NOT_CANCELLED) return false
    extras.reason = reason === undefined ? abortError() : reason
    this.read()
    if (this.current !== a) this.#leaveReservation(a)
    if (a.work instanceof Elsewhere && a.state !== PENDING) {
      a.work.far.cancel(a.work, extras.reason)
    } else if (a.started === undefined) {
      a.waiting?.leave(a)
      this.finish(a, CANCELLED, extras.reason)
    } else if (this.current === a) {
      this.interrupt()
    } else if (a.state === READY) {
      this.strike(a)
    } else if (a.waiting !== null) { // what async code awaits cannot be left: it is told at its next yield
      this.#letGo(a)
    }
    return true
  }

  /** Has a job fail at its wait if that, begun before, has come to be part of a circle. @param {Activation} a */
  breakCycle(a) {
    try {
      if (a.waiting !== null) refuseCycle(a, a.waiting)
    } catch (error) {
      if (a.started === undefined) return this.finish(a, FAILED, error)
      a.waiting = null
      a.input = error
      a.throwing = true
      this.unblock(a)
    }
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
    const wasOut = isOut(a) && a !== this.running
    const isReady = a.state === READY
    if (isReady) {
      this.#extract(a)
      a.state = WAITING // for nothing, as in `#enqueue`
    }
    server.pool.dependents.delete(a)
    extras.server = null
    server.detach(a.job)
    if (isReady) a.state = READY
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
      if ((state === DONE || wasPosted(a)) && !extras.delivered) outcome = extras.reason
      if (Object.is(outcome, extras.reason) && !(state === DONE && extras.delivered)) state = CANCELLED
    }
    if (a.state === READY) this.#extract(a)
    a.finished = this.time
    const isLate = a.entry !== null && a.state !== PENDING && a.finished > a.absoluteDeadline
    if (isLate) a.missed = true
    a.state = state
    a.outcome = outcome
    a.leaf = a.callers = a.waiting = null
    a.args = NO_ARGUMENTS
    a.input = undefined
    this.live--
    if (this.closed) this.#lives.delete(a)
    if (this.running === a) this.running = null
    // In a round, a late end is noticed with the other misses of this reading.
    if (a.entry !== null && !(isLate && this.inRound)) this.timeline.remove(a.entry)
    a.entry = null
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
    if (extras.signal !== null) this.call('signal', unlisten, a)
    if (extras.gates > 0) {
      this.gates = this.gates.filter(gate => gate.activation !== a)
      this.raiseCeilings()
    }
    if (extras.server !== null) {
      extras.server.detach(a.job)
      extras.server.pool.dependents.delete(a)
    }
    for (const resource of extras.uses) resource.detach(a.job)
    extras.server = null
    extras.uses = NO_HOOKS
    for (const queue of extras.owned.slice()) if (queue !== extras.joiners) queue.orphan()
    const { joiners } = extras
    if (joiners !== null) {
      for (let join = joiners.shift(); join !== null; join = joiners.shift()) /** @type {Join} */ (join).end()
      joiners.owner = null
    }
  }

  /** Reports, as the platform does rejections, the failures that nobody has asked about. */
  #reportFailures() {
    for (const a of this.#failures.splice(0)) {
      if (a.handled) continue
      if (this.onError !== undefined || this.host.report !== undefined) this.call('onError', () => this.report(a.outcome, a.job))
      else promiseOf(a)
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
    // Unless an observer has cancelled it.
    if (kind === ALARM) this.call('alarm', entry.subject, time)
    else this.call('replenishment', entry.subject, this.time)
  }

  /** @param {Activation} a @param {Entry | null} entry null for that of a job that has ended */
  miss(a, entry) {
    if (a.entry === entry) {
      a.entry = null
      a.missed = true
    }
    this.stats.misses++
    if (this.observers !== null) this.emit('miss', a)
    this.tell('onMiss', a)
    if (!a.parameters.abort || a.state >= DONE) return
    this.cancel(a, new DeadlineError(`${a.job.name} missed its deadline, ${a.deadline} ms after its release`))
  }

  // Rounds

  /**
   * @param {number} [length] ms @param {number} [due] when the round has to be over
   * @param {(() => Activation) | null} [only] gives the job that alone runs
   */
  takeTurn(length = this.round, due = Infinity, only = null) {
    if (this.inRound || this.paused) return
    // What asked for this turn may have been a job, whose context is not that of the others.
    if (contextual?.get()) return void contextual.run(null, () => this.takeTurn(length, due, only))
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
      isAsync = this.work(only === null ? null : only())
    } catch (error) {
      this.#survive(error)
    }
    if (isAsync) this.#accompany()
    else this.#endRound()
  }

  /** What must not happen has: one round is lost, not the scheduler. @param {unknown} error */
  #survive(error) {
    dispatching = null
    this.report(error, null)
  }

  /**
   * Runs jobs until the round ends.
   *
   * @param {Activation | null} [only] the one that alone runs @returns {boolean} whether it goes on in microtasks: see `#accompany`
   */
  work(only = null) {
    do {
      const a = this.#pick(only)
      if (a === null) return false
      if (this.#runBudget(a) === ASYNC || hasAudience(a)) return true
    } while (!this.#isRoundOver(only !== null))
    return false
  }

  /** @param {boolean} [isPart] whether it is part of an event, which is not over before */
  #isRoundOver(isPart = false) {
    if (this.time >= this.roundEnds || this.paused) return true
    if (isPart) return false
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
   * microtasks too, right after it, until it is a generator's turn. And as on the platform, what awaits a task that
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
          const outcome = driver.promise !== null ? POINT : driver.ended !== 0 ? driver.ended : isOfNoJob(a) ? DONE : AWAY
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
      if (this.stats.jobs - this.#shaped >= BURST) this.#keepShapes()
      for (const { resolve } of this.idlers.splice(0)) resolve()
      return
    }
    const wasDeadlocked = this.#deadlocked
    this.#deadlocked = this.closed && this.#isDeadlocked()
    if (!this.#deadlocked) return
    const jobs = this.#waiters.map(({ job }) => job)
    const error = new DeadlockError(`deadlock: nothing can wake ${jobs.map(job => job.name).join(', ')}`, jobs)
    const idlers = this.idlers.splice(0)
    if (!wasDeadlocked && (this.onError !== undefined || idlers.length === 0)) this.report(error, null)
    for (const { reject } of idlers) reject(error)
  }

  /**
   * V8 throws away the code compiled for a shape when a collection finds no object of it, as it does between bursts of
   * jobs; so one of each is kept. Made anew each time, since shapes change with what their fields have held. Bursts of 1000
   * jobs with a deadline, a collection in between: 1.9 us a job, 3.8 to 5.4 without; `par` of 10 to 1000 jobs: 0.75 to 1.1
   * us a job, 2.5 to 8 without (Node 20, bench/channels).
   */
  #keepShapes() {
    this.#shaped = this.stats.jobs
    const a = new Activation(this, PLAIN, undefined, null, NO_ARGUMENTS, 0)
    this.#shapes = [
      a, new BudgetTuner(), new Entry(this, 0, MISS, null, false), new Extras(), new Queue(), new Join(a)
    ]
  }

  #isDeadlocked() {
    return !this.hasWork && this.holds === 0 && this.timeline.refs === 0 &&
      (this.timeline.lines[ALARM].first?.time ?? Infinity) === Infinity &&
      (this.timeline.lines[REPLENISHMENT].size === 0 || this.#waiters.length === this.live)
  }

  /** Those that wait, of a closed scheduler. */
  get #waiters() { return [...this.#lives].filter(a => a.waiting !== null) }

  // Dispatching

  /**
   * Dispatches the job that is to run.
   *
   * @param {Activation | null} only what may run, whoever else is ready @returns {Activation | null}
   */
  #pick(only) {
    // Observers may change who is to run, but not for ever.
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      this.#changed = false
      if (this.paused) return null
      const next = only === null ? this.#choose() : only.state === READY && !isOut(only) ? only : null
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
    const next = this.best
    if (next !== null && this.gates.length > 0) {
      const top = this.gates[this.gates.length - 1]
      if (next !== top.activation && !this.#passes(next, top.ceiling)) return top.activation
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
    dispatching = this
    this.lent = a.standing === a ? null : a.standing
    const outcome = drive(a)
    if (outcome !== ASYNC) this.#account(a, outcome)
    return outcome
  }

  /** Points per budget, or AUTO. @param {Activation} a */
  #limitOf({ parameters: { limit = this.budget } }) { return limit }

  /** Grants the next budget. @param {Activation} a */
  #grant(a) {
    // A job that is cancelled but must be given what woke it gets as far as its next point.
    const limit = this.#limitOf(a)
    this.granted = budget.left = isDoomed(a) ? 1 : limit !== AUTO ? limit : a.tuner === null ? 1 : a.tuner.points
    if (this.begins) this.granted = ++budget.left
    this.begins = false
  }

  /**
   * Ends a budget while the code of the job is on the stack, and grants the next where there is nothing to decide. A
   * generator that is left comes back to slow code in Firefox: there a Mandelbrot set takes 300 ms instead of 650, a matrix
   * product 470 instead of 970 (bench/cold).
   *
   * @returns {boolean} whether the job has to yield
   */
  endBudgetInPlace() {
    const a = /** @type {Activation} */ (this.running)
    if (this.lent !== null || isDoomed(a)) return true // who else pays for it is charged when nothing runs
    this.#endBudget(a, POINT)
    a.kept = true // with its code on the stack: what a handler cancels it with is thrown at the yield
    this.inspect(a)
    a.kept = false
    if (this.hasTold) this.watch()
    this.mark = this.time // what handlers and observers took is not the job's
    const isOver = this.#changed || isDoomed(a) || this.time >= this.timeline.due || this.#isRoundOver() ||
      a.cost - a.turn >= this.slice
    dispatching = this
    if (isOver) this.granted = CUT_SHORT // what is left until the yield teaches nothing
    else this.#grant(a)
    return isOver
  }

  /** Charges a job its budget. @param {Activation} a @param {number} outcome */
  #endBudget(a, outcome) {
    dispatching = null
    this.charge(a)
    if (outcome < DONE) {
      a.tuner ??= new BudgetTuner()
      const passed = this.#limitOf(a) === AUTO ? this.#pointsPassed() : 0
      if (passed > 0) a.tuner.learn(passed, this.elapsed, this.resolution, this.#budgetCeiling)
      if (outcome === BLOCKED || outcome === AWAY) this.#block(a)
    }
    if (this.lent === null) return
    this.#bill(a, this.lent, this.elapsed, this.time)
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

  /** @param {Activation} a has begun to wait */
  #await(a) {
    if (this.observers !== null) this.emit('block', a, { on: subjectOf(/** @type {Waitable} */ (a.waiting)) })
  }

  /** ms that a budget may cost at most. */
  get #budgetCeiling() { return Math.min(this.slice / 10, this.round / 10, LONG_BUDGET) }

  /** How many points of the budget have been passed; 0 where it was cut short, or the job has written nonsense. */
  #pointsPassed() {
    const { left } = budget // which is the job's to write
    return typeof left === 'number' && left <= this.granted ? this.granted - Math.max(0, left) || 1 : 0
  }

  /**
   * Charges the reservation of a job, and that by whose standing it ran: a reservation lends no more than it has
   * (bandwidth inheritance: Lamastra, Lipari, Abeni 2001).
   *
   * @param {Activation} a @param {Standing} standing @param {number} ms @param {number} time
   */
  #bill(a, standing, ms, time) {
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
    if (outcome >= DONE) a.kept = true // nothing is thrown any more: who is cancelled by a handler or an observer ends so
    this.#endBudget(a, outcome)
    const { time } = this
    if (outcome === BLOCKED || outcome === AWAY) a.extras.server?.rest(a.job, time)
    if (outcome === BLOCKED) {
      this.#await(a)
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
    return best !== null && best.stamp >= 0 && !(best.started === undefined && wasPosted(best)) &&
      this.compareStandings(best.standing, a.standing) === 0
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
    withMethods(name, value, ['now', 'post', 'after'], ['inputPending', 'frame', 'hidden', 'eventTime', 'nested', 'report']),
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
    const dispatcher = this.#dispatcher
    const settings = settingsOf(options, dispatcher)
    if (dispatcher.live > 0 || dispatcher.inRound) {
      throw new TypeError('configure() needs a scheduler without jobs, between rounds; wait for idle()')
    }
    dispatcher.loop.arm(Infinity) // a turn that has been posted counts no more once there is another loop
    if (settings.host !== dispatcher.host) {
      dispatcher.time = -Infinity
      dispatcher.resolution = Infinity
      dispatcher.loop = new EventLoop(dispatcher)
    }
    Object.assign(dispatcher, settings)
    dispatcher.loop.rest()
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
    const dispatcher = this.#dispatcher
    dispatcher.paused = true
    dispatcher.interrupt()
    dispatcher.loop.rest()
  }

  /** Goes on after `pause`, or after `paused: true`. */
  resume() {
    this.#dispatcher.paused = false
    this.#dispatcher.loop.rest()
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
    const dispatcher = this.#dispatcher
    return new Promise((resolve, reject) => {
      dispatcher.idlers.push({ resolve, reject })
      if (!dispatcher.inRound) dispatcher.answerIdlers()
    })
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
    callable('fn', fn)
    const dispatcher = this.#dispatcher
    const observer = (/** @type {TraceRecord} */ record) => fn(record) // one of its own, however often it is given
    dispatcher.observers = [...dispatcher.observers ?? [], observer]
    return () => {
      const rest = dispatcher.observers?.filter(other => other !== observer) ?? []
      dispatcher.observers = rest.length === 0 ? null : rest
    }
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
   * Unlike there: in `requestIdleCallback` write `{ priority: 'background' }`; the first yield outside of a job comes after the
   * timers that are due, since a round begins with a message; one that a plain function neither awaits nor returns goes on as
   * soon as the function has returned; that of a task whose signal is aborted meanwhile rejects when it is its turn;
   * and a more important task that a microtask posts after the call begins after the continuation has gone on.
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
   * the order in which the delays end. Unlike there, wrong arguments throw at the call, a generator is driven, and an
   * aborted task that nobody has asked about is not reported.
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
 * @property {Pool} pool of `seam.pool`: those of its jobs that are ready by it alone, in the order of their own keys
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
    refresh(this.activation)
    if (isDoomed(this.activation)) dispatcher.interrupt()
    else dispatcher.reconsider()
  }
}

/** Waits for a time. */
class Sleep extends Waitable {
  /** @type {{ cancel(): boolean } | null} */
  #entry = null

  /**
   * @param {number} time host timestamp; ms from when it is waited for, if `isRelative` @param {boolean} isRelative
   * @param {{ scheduler?: Scheduler }} options the one outside jobs
   * @param {() => void} [ring] what is done at the time; by default it is over
   */
  constructor(time, isRelative, options, ring) {
    super()
    this.time = time
    this.isRelative = isRelative
    this.options = options
    this.ring = ring
  }

  get isRanked() { return false }
  /** @param {Job | null} job */
  begin(job) {
    const scheduler = here(job === null ? this.options : undefined)
    this.sleepUntil(scheduler, this.isRelative ? scheduler.now() + this.time : this.time)
  }
  /** @param {Scheduler} scheduler @param {number} time */
  sleepUntil(scheduler, time) {
    if (time < Infinity) this.#entry = seam.at(scheduler, time, this.ring ?? (() => this.wake()))
  }
  undo() {
    this.#entry?.cancel()
  }
}

/** What runs elsewhere, of which there is a job here: it waits, for nothing here, until it is told that it has ended. */
class Elsewhere extends HeapNode {
  /** @type {Activation | null} */
  #activation = null
  /** Of the job, until it has ended. @type {typeof STATES[number] | 'running' | 'depleted'} */
  state = 'ready'

  /**
   * @param {{ cancel(work: any, reason: unknown): void, change(work: any, key: string, value: number): void }} far called
   *   when the job has been cancelled, and when its deadline or priority has been set
   */
  constructor(far) {
    super()
    this.far = far
  }
  /** @returns {Activation} */
  get activation() { return /** @type {Activation} */ (this.#activation) }
  get job() { return this.activation.job }

  /** @param {Activation} a */
  begin(a) {
    this.#activation = a
    a.state = WAITING
    a.dispatcher.holds++
    if (a.dispatcher.observers === null) return
    a.dispatcher.emit('release', a)
    a.dispatcher.emit('block', a, { on: null })
  }
  /** @param {'onMiss' | 'onOverrun'} event */
  tell(event) {
    const { dispatcher, parameters, job, missed } = this.activation
    if (event === 'onOverrun') dispatcher.call(event, parameters.onOverrun, job)
    else if (!missed) dispatcher.miss(this.activation, null)
  }
  /** @param {Elsewhere['state']} state @param {unknown} outcome @param {boolean} [isTold] whether it knew of its cancellation */
  end(state, outcome, isTold = false) {
    const a = this.#activation
    if (a === null || a.state >= DONE) return
    this.#activation = null // a Map that it was in may keep it for long, and so the outcome
    const isCancelled = a.extras.reason !== NOT_CANCELLED
    if (isCancelled) a.extras.delivered = isTold
    a.dispatcher.holds--
    a.dispatcher.read()
    a.dispatcher.finish(a, STATES.indexOf(/** @type {any} */ (state)), isCancelled && state === 'cancelled' ? a.extras.reason : outcome)
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
 * What exists once, and is theirs, too: `check`, the checks of parameters, and their errors; `parameters`, the names of
 * TaskOptions; `Waitable`, the base class of what jobs may wait for, and its protocol; `asCall`, the property of those that are
 * calls; `Sleep`, which waits for a time; `Queue`, those who wait, in order of standing: its owner inherits; `Heap`, a stable
 * priority queue, and `Fifo`, a plain one; `Elsewhere`, work that runs elsewhere; `frameInterval()`, which tells by the gaps between frames how long to the next; `preemptible(fn)`, what a job runs of
 * a function: its twin, if it has one; `answers(fn)`, whether it may return a value, or it is not known; `bring(address)`, the
 * module that is there; `ours`, callbacks of these modules, which a page calls as they are; `url`, by which browsers name rounds.
 *
 * Of reservations and resources:
 * - `protocol` the property by which `reservation` and `uses` reach their objects (see JobHook, ReservationHook)
 * - `pool(scheduler)` the ready jobs of a reservation, as its `pool`: told when its standings change
 *
 * Of a scheduler:
 * - `here(options)` the one that acts
 * - `at(scheduler, time, fn, options)` the timeline
 * - `hold(scheduler)` somebody outside may still wake jobs; returns what ends it
 * - `call(scheduler, kind, fn, ...args)` calls code of users that is no job's, and names it if it stalls
 * - `event(fn, schedulers)` has `fn` hand on an event of the event loop: jobs that it makes ready, and those of `schedulers`
 *   that are ready, run right after it, without a further task, which a browser may put off until the next frame. Nothing
 *   else may be on the stack
 * - `run(scheduler, job, ms)` has the job that `job` gives run right here, whoever else is ready; by default for its first budget,
 *   or a slice if that is automatic. Not while `isBusy()`: a round is on the stack, of whichever scheduler
 * - `stalling(scheduler, fn)` has `fn(job, ms)` told of jobs that stall; returns what ends it
 * - `stall(job)` has kept the thread since it began
 * - `emit(scheduler, type, job, more)` writes into the trace
 *
 * Of a job:
 * - `gate(job, level)` opens a critical section
 * - `ended(job, fn)` tells when it has ended
 * - `renew(job, release)` it has ended a period of its loop and waits for the next: its deadline counts from there
 * - `payer(job)` what makes others run by its reservation, as their `reservation`; undefined where it has none
 * - `background(job)` its standing when it runs after all others, by its own keys
 */
export const seam = /* @__PURE__ */ Object.freeze({
  protocol,
  asCall,
  Waitable,
  Sleep,
  Elsewhere,
  Queue,
  Heap,
  Fifo,
  check,
  parameters: TASK_OPTIONS,
  here,
  frameInterval,
  /** @param {any} fn @returns {any} */
  preemptible: fn => preemptible(fn),
  /** @param {any} fn @returns {boolean} */
  answers: fn => answers(fn),
  /** @param {string} address @returns {Promise<any>} */
  bring: address => moduleHost().bring(address),

  /**
   * @param {Scheduler} scheduler @param {number} time Infinity: never
   * @param {((time: number) => void) & { of?: string }} fn `of`: whose replenishment it is, for the trace
   * @param {{ ref?: boolean, replenishment?: boolean }} [options]
   * @returns {Entry}
   */
  at(scheduler, time, fn, { ref = true, replenishment = false } = {}) {
    const dispatcher = dispatcherOf(scheduler)
    const entry = dispatcher.timeline.at(replenishment ? REPLENISHMENT : ALARM, time, fn, ref && time < Infinity)
    dispatcher.loop.rest()
    return entry
  },

  /** @param {Job} job @param {number} level @returns {{ raise(level: number): void, close(): void }} */
  gate(job, level) {
    const a = activationOf(job)
    const gate = new Gate(a, level)
    extrasOf(a).gates++
    if (a.extras.server !== null) refresh(a)
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

  /** @param {Scheduler} scheduler @param {string} kind @param {((...args: any[]) => void) & { of?: string }} fn @param {any[]} args */
  call: (scheduler, kind, fn, ...args) => dispatcherOf(scheduler).call(kind, fn, ...args),

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

  ours,
  get url() { return import.meta.url }, // read at once, it would have bundlers keep the seam for pages without use for it
  isBusy: () => rounds > 0,

  /** @param {Scheduler} scheduler @param {() => Job} job @param {number} [ms] */
  run(scheduler, job, ms) {
    const dispatcher = dispatcherOf(scheduler)
    const { budget } = dispatcher
    dispatcher.takeTurn(ms, Infinity, () => {
      if (ms === undefined) dispatcher.roundEnds = dispatcher.time + (budget === AUTO ? dispatcher.slice : 0)
      const a = activationOf(job())
      // That a function is entered is a point, too, at which it has not begun.
      if (a.started === undefined) dispatcher.begins = true
      return a
    })
  },

  /** @param {Scheduler} scheduler @param {(job: Job, ms: number) => void} fn @returns {() => void} */
  stalling(scheduler, fn) {
    const dispatcher = dispatcherOf(scheduler)
    dispatcher.stalling.push(fn)
    return () => { dispatcher.stalling = dispatcher.stalling.filter(other => other !== fn) }
  },

  /** @param {Job} job */
  stall(job) {
    const a = activationOf(job)
    a.dispatcher.stall(job, a.cost, a)
  },

  /** @param {Scheduler} scheduler @param {string} type @param {Job | null} job @param {object} [more] */
  emit(scheduler, type, job, more) {
    const dispatcher = dispatcherOf(scheduler)
    if (dispatcher.observers !== null) dispatcher.emit(type, job && activationOf(job), more)
  }
})

// ------------------------------------------------------------------------------------------ 7 async shim

const PASSED = Promise.resolve()
const YIELD_OPTIONS = { priority: or('inherit', priorityOf), signal: or('inherit', abortSignal), deadline: positive }
const POST_OPTIONS = { priority: priorityOf, signal: abortSignal, deadline: positive, delay: duration }
const PRIORITIES = { 'user-blocking': 1, 'user-visible': 0, background: -1 }
const taskPriority = /* @__PURE__ */ among(...Object.keys(PRIORITIES))
const CONTROLLER_OPTIONS = { priority: taskPriority }

/**
 * The async job whose code runs for certain in a microtask: what directly awaits one of its yields. After other awaits only the
 * engine knows.
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
    /** Whether it goes on with code that is no job's, and has nothing of whoever asked. */
    this.inheritsNothing = false
    /** Whose code goes on after a yield; null if nobody's, or if the engine tells. @type {Activation | null} */
    this.owner = contextual ? null : activation
  }

  /** @param {PromiseLike<any>} thenable */
  follow(thenable) {
    this.isAsync = true
    follow(thenable, () => this.ended === 0, (phase, outcome) => this.end(phase === FULFILLED ? DONE : FAILED, outcome))
  }

  /** @param {number} state @param {any} outcome */
  end(state, outcome) {
    const a = this.activation
    if (a.state >= DONE || this.ended !== 0) return
    const extras = extrasOf(a)
    const signal = signalOf(a)
    // It passes on what its signal told it.
    if (state === FAILED && signal?.aborted && outcome === signal.reason && extras.reason === NOT_CANCELLED) extras.reason = outcome
    this.ended = state
    a.outcome = outcome
    if (a.state !== WAITING) return
    a.dispatcher.holds--
    a.dispatcher.read()
    a.dispatcher.finish(a, state, outcome)
  }

  /** @param {boolean} throwing @param {any} input @returns {number} */
  resume(throwing, input) {
    const { resolve, reject } = this
    this.promise = this.resolve = this.reject = null
    const settle = throwing ? reject : resolve
    if (settle !== null) this.settle(settle, input)
    return ASYNC
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
const hasAudience = a => a.state >= DONE && a.deferred !== null && wasPosted(a)

/** Whether it goes on before tasks of equal standing. @param {Activation} a */
const isContinuation = a => isOfNoJob(a) || wasPosted(a) && a.extras.driver !== null

/** Whether its code is a generator's, which yields; not a function's. @param {Activation} a */
const hasGenerator = ({ leaf }) => leaf !== null && leaf !== UNSTARTED

/** @param {Activation} a @returns {Promise<void>} */
function yieldIn(a) {
  const { dispatcher } = a
  const isRunning = dispatcher.current === a && !hasGenerator(a)
  if (!isRunning && !a.extras.driver) {
    const { work } = a
    if (isAsync(typeof work === 'function' ? work : work.run)) return Promise.resolve() // which its twin yields
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
      return driver.owner === null ? PASSED : driver.answer(false, undefined)
    }
  }
  const { promise } = defer(driver)
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
  if (current !== null && current.leaf !== null) return current // a function or a generator, which no microtask interrupts
  const a = certain ?? contextual?.get() ?? null
  return a !== null && a.dispatcher === dispatcher ? a : null
}

/** @param {Dispatcher} dispatcher @param {any} options @returns {Promise<void>} */
function yieldAsync(dispatcher, options) {
  const asker = caller(dispatcher)
  const isBare = options === undefined || options === null
  if (isBare && asker !== null && !hasGenerator(asker) && asker.state < DONE) return yieldIn(asker)
  // A continuation that inherits nothing may be the rest of any code that inherits nothing.
  if (isBare && asker === null && dispatcher.current?.extras.driver?.inheritsNothing) return yieldIn(dispatcher.current)
  const { deadline, priority = 'inherit', signal: given = isBare ? 'inherit' : null } =
    optionsOf(options ?? NO_OPTIONS, YIELD_OPTIONS)
  const signal = given === 'inherit' ? asker && signalOf(asker) : given
  const now = dispatcher.read()
  const a = new Activation(dispatcher, CONTINUATION, undefined, null, NO_ARGUMENTS, now)
  a.deadline = deadline ?? (asker === null ? Infinity : asker.absoluteDeadline - now)
  a.priority = priority === 'inherit' ? asker?.priority ?? 0 : priorityOf('priority', priority)
  if (signal?.aborted) return Promise.reject(signal.reason)
  const driver = driverOf(a)
  driver.isAsync = true
  driver.inheritsNothing = isBare && asker === null
  driver.owner = driver.inheritsNothing ? null : asker?.extras.driver ? asker.extras.driver.owner : a
  const { promise } = defer(driver)
  if (signal) listen(a, signal, false)
  dispatcher.launch(a, now)
  dispatcher.goFirst(a)
  return promise
}

/** @param {Dispatcher} dispatcher @param {any} fn @param {any} options @returns {Job} */
function postTask(dispatcher, fn, options) {
  refuseAsyncGenerator('fn', callable('fn', fn), fn)
  const { priority, signal, delay = 0, deadline = Infinity } = optionsOf(options ?? NO_OPTIONS, POST_OPTIONS)
  const follows = priority === undefined && signal?.priority !== undefined
  const own = priorityOf('priority', follows ? signal.priority : priority ?? 'user-visible')

  const now = dispatcher.read()
  const a = new Activation(dispatcher, POSTED, fn, UNSTARTED, NO_ARGUMENTS, now + delay)
  a.deadline = deadline
  a.priority = dispatcher.policy.priority?.({ ...PLAIN, deadline, priority: own }) ?? own
  if (signal !== undefined) listen(a, signal, follows)
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
  if (!wasPosted(a) || !hasReturned) {
    dispatcher.cancel(a, reason)
  } else if (driver !== null && driver.promise !== null) {
    a.input = reason
    a.throwing = true
  }
}

/** The signal that the yields of a task heed, each time; that of any other job cancels it, once. @param {Activation} a */
const signalOf = a => wasPosted(a) || isOfNoJob(a) ? a.extras.signal : null

/**
 * The jobs that listen to a signal, and whether they take their priority from it. One listener of ours for each kind of event
 * serves them all: a signal's listeners are searched one by one, and 10,000 take 160 ms (Node 20).
 *
 * @type {WeakMap<AbortSignal, { jobs: Map<Activation, boolean>, listeners: [type: string, listener: () => void][] }>}
 */
const listening = new WeakMap()

/** @param {Activation} a @param {any} signal @param {boolean} follows */
function listen(a, signal, follows) {
  let group = listening.get(signal)
  if (group === undefined) {
    const jobs = new Map()
    const heedAbort = own(() => { for (const a of jobs.keys()) abort(a, signal.reason) })
    const heedPriority = own(() => {
      for (const [a, follows] of jobs) if (follows) a.dispatcher.rekey(a, 'priority', priorityOf('priority', signal.priority))
    })
    listening.set(signal, group = { jobs, listeners: [['abort', heedAbort]] })
    if (signal.priority !== undefined) group.listeners.push(['prioritychange', heedPriority])
  }
  if (group.jobs.size === 0) for (const [type, listener] of group.listeners) signal.addEventListener(type, listener)
  group.jobs.set(a, follows)
  extrasOf(a).signal = signal
}

/** @param {Activation} a */
function unlisten(a) {
  const { signal } = a.extras
  const group = signal && listening.get(signal)
  if (!signal || !group?.jobs.delete(a) || group.jobs.size > 0) return
  for (const [type, listener] of group.listeners) signal.removeEventListener(type, listener)
}

/** @param {string} name @param {unknown} value @returns {number} */
function priorityOf(name, value) {
  if (typeof value === 'number') return finite(name, value)
  if (typeof value === 'string' && hasOwn(PRIORITIES, value)) return PRIORITIES[/** @type {TaskPriority} */ (value)]
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
   * Moves the tasks that follow the signal in their queue.
   *
   * @param {TaskPriority} priority of all of them
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

// Each phase is a function of what the one before it has made: `read` the tree of a source (8a), `names` what its names
// mean and what its functions hold (8b), `planTwin` or `frame` what makes a preemptible one of a function (8c), whether that
// is all that is wanted or one of those of a module or a script (8d), and `print` the text, which is then linked with what it
// refers to. Trees are walked with stacks of their own, so nesting is bounded by memory.

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
const sourceOf = /* @__PURE__ */ kept(Function, 'toString')
const isBefore = /* @__PURE__ */ kept(Object, 'isPrototypeOf')
const resume = /* @__PURE__ */ Function.prototype.call.bind(next)
const throwInNext = /* @__PURE__ */ its(generatorPrototype, 'throw')
const returnFromNext = /* @__PURE__ */ its(generatorPrototype, 'return')
const exec = /* @__PURE__ */ kept(RegExp, 'exec')
const testOf = /* @__PURE__ */ kept(RegExp, 'test')
const codeAt = /* @__PURE__ */ kept(String, 'charCodeAt')
const cut = /* @__PURE__ */ kept(String, 'slice')
const digitsOf = /* @__PURE__ */ kept(Number, 'toString')
const holds = /* @__PURE__ */ kept(String, 'includes')
const startsWith = /* @__PURE__ */ kept(String, 'startsWith')
const endsWith = /* @__PURE__ */ kept(String, 'endsWith')
const append = /* @__PURE__ */ kept(Array, 'push')
const takeLast = /* @__PURE__ */ kept(Array, 'pop')
const join = /* @__PURE__ */ kept(Array, 'join')
const sort = /* @__PURE__ */ kept(Array, 'sort')
const split = /* @__PURE__ */ kept(String, 'split')
const lastIndexOf = /* @__PURE__ */ kept(String, 'lastIndexOf')
const indexOf = /* @__PURE__ */ kept(String, 'indexOf')
const splice = /* @__PURE__ */ kept(Array, 'splice')
const apply = Reflect.apply
const reflectConstruct = Reflect.construct
const reflectDefine = Reflect.defineProperty
const ownKeys = Reflect.ownKeys
const getPrototypeOf = Reflect.getPrototypeOf
const getOwnPropertyDescriptor = Reflect.getOwnPropertyDescriptor
const create = Object.create
const assign = Object.assign
const keysOf = Object.keys
const defineProperty = Object.defineProperty
const defineProperties = Object.defineProperties
const freeze = Object.freeze
const getOwnPropertyDescriptors = Object.getOwnPropertyDescriptors
const setPrototypeOf = Object.setPrototypeOf
const isArray = /* @__PURE__ */ its(Array, 'isArray')
const sign = Math.sign
const floor = Math.floor
const min = Math.min
const max = Math.max
const fromCodePoint = /* @__PURE__ */ its(String, 'fromCodePoint')
const stringify = JSON.stringify
const List = Array
const adopt = /* @__PURE__ */ Promise.resolve.bind(Promise)
const allOf = /* @__PURE__ */ Promise.all.bind(Promise)

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

/** @template T @param {T[]} list in order @param {(item: T) => boolean} isBeyond as all behind it are @returns {number} the index of the first that is */
function firstOf(list, isBeyond) {
  let first = 0
  for (let end = list.length; first < end;) {
    const middle = (first + end) >> 1
    if (isBeyond(list[middle])) end = middle
    else first = middle + 1
  }
  return first
}

/** An operator, where `a?.5:b` is a conditional, or one of what else there is. */
const SIGN = /\?\.(?!\d)|=>|\+\+|--|\.{3}|[=!]==?|(?:\*\*|<<|>>>?|&&|\|\||\?\?|[-+*/%&|^<>])=?|[^]?/
/** @param {RegExp[]} patterns */
const anyOf = (...patterns) => new RegExp(patterns.map(({ source }) => source).join('|'), 'y')
const IDENTIFIER = /^(?!\d)[^\s!-#%-/:-@[\]^`{-~]+$/
const REGULAR_EXPRESSION = /\/(?:\[(?:\\?.)*?\]|\\?.)*?\/\w*/y
const TEMPLATE = /(?:\\?[^])*?(?:`|\$\{)/y // from a backtick or a hole to the next
const SPACE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/|<!--.*)*/y // HTML's comments, too, are those of a script (Annex B.1.1)
const LINE_END = /\r\n?|[\n\u2028\u2029]/

// ---------------------------------------------------------------------------------------------- 8a reading

// The tree is ESTree's, of source that is valid: whether a slash divides, a brace opens a block, or a line ends a
// statement follows from where it stands, and nothing is guessed. The grammar is read by generators that yield those of
// its parts, and what an expression has begun and not ended stands on a stack, so that nesting is bounded by memory.
// Each begins at the first token of its part and ends at the first after it. A node is written in the order of the
// source: a field is read where it stands.
//
// What ESTree has and this tree has not: `raw`, `regex`, `prefix`, the text of templates, whether a body is an expression, and
// values other than those of strings. Patterns with defaults keep the operator of an assignment, import attributes are
// those of an object, and `using of = a` is no declaration.

const NUMERAL = /0(?:[xXoObB]\w+|[0-7]+(?!\d))|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?[\d_]+|n)?/
const NAME_OR_KEY = /#?(?:\\u\{\w+\}|[^\s!-#%-/:-@[\]^`{-~])+/
const STRING = /"(?:\\?[^])*?"|'(?:\\?[^])*?'/
const ATOM = /* @__PURE__ */ anyOf(NUMERAL, NAME_OR_KEY, STRING, SIGN)
const SPACE_OF_MODULE = /(?:\s+|\/\/.*|\/\*[^]*?\*\/)*/y
const ESCAPES = /\\(?:u\{0*([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|([0-3]?[0-7]{1,2})|(\r\n|[^]))/g
/** @type {any} */
const CONTROLS = { __proto__: null, b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
/** What follows a modifier of a member; otherwise that is its name. */
const MODIFIED = /^(?:\*|(?:static|async) [^(,}=:;]|[gs]et [^(,}=:;*])/

// How tight an operator binds. It completes what is on the stack and binds as tight; a bracket completes all in it.
const WHOLE = -1 // the stack's: all of an expression, with the statement that it ends
const BRACKET = 0
const ASSIGNMENT = 2 // the stack's; commas and ends complete it, other assignments do not
const CONDITIONAL = 4
const CONJUNCTION = 6
const POWER = 15 // the stack's: it associates to the right, too
const UNARY = 17
const NEW = 18
const SUFFIX = 19
const TAG = 20

/**
 * @typedef {object} Token
 * @property {string} text
 * @property {number} [level] how tight it binds; 0 for what does not go on with an expression; none for operands
 * @property {boolean} isName whether it may be that of a variable
 * @property {string} name without escapes
 */

/** All tokens, the end among them, but literals and names. @type {Map<string, Token>} */
const SIGNS = /* @__PURE__ */ tokensOf([
  ' ) ] } ; : => { ! ~ ... break case catch class const continue debugger default delete do else enum export extends ' +
    'false finally for function if import new null return super switch this throw true try typeof var void while with', '',
  ',',
  '= += -= *= /= %= **= <<= >>= >>>= &= ^= |= &&= ||= ??=',
  '?', '?? ||', '&&', '|', '^', '&',
  '== != === !==',
  '< > <= >= in instanceof',
  '<< >> >>>',
  '+ -',
  '* / %', '', '**', '', '',
  '( [ ` . ?. ++ --'
])

/** Those that no other begins with, by their characters. @type {(Token | undefined)[]} */
const SINGLES = /* @__PURE__ */ singlesOf('()[]{},;:~`')

/** @param {string} characters */
function singlesOf(characters) {
  /** @type {(Token | undefined)[]} */
  const singles = []
  for (let code = 0; code < 127; code++) append(singles, undefined)
  for (const character of characters) singles[character.charCodeAt(0)] = SIGNS.get(character)
  return singles
}

/** @param {string[]} rows by level */
function tokensOf(rows) {
  const tokens = emptyMap()
  for (let level = rows.length; level--;) {
    for (const text of rows[level].split(' ')) tokens.set(text, { text, level, isName: false, name: text })
  }
  return tokens
}

// What an expression ends at, besides what cannot go on with it.
const COMMA = 1
const IN = 2
const OPERAND = 4 // its first operand, without what follows

// What operators there are.
const AWAITS = 1
const YIELDS = 2

/** @param {string} text @returns {string} what it stands for, in a string or a name */
function withoutEscapes(text) {
  if (!holds(text, '\\')) return text
  let result = ''
  let from = 0
  ESCAPES.lastIndex = 0
  for (let match; (match = exec(ESCAPES, text)); from = ESCAPES.lastIndex) {
    const { 1: point, 2: unit, 3: byte, 4: octal, 5: other } = match
    const hex = point ?? unit ?? byte
    result += cut(text, from, match.index) + (hex ? fromCodePoint(+`0x${hex}`) : octal ? fromCodePoint(+`0o${octal}`)
      : matches(LINE_END, other) ? '' : CONTROLS[other] ?? other)
  }
  return result + cut(text, from)
}

/** After what matches a sticky pattern. @param {RegExp} pattern @param {string} source @param {number} at */
function past(pattern, source, at) {
  pattern.lastIndex = at
  matches(pattern, source)
  return pattern.lastIndex
}

/** After white space and comments. @param {string} source @param {number} from @param {string} [type] */
function pastSpace(source, from, type) {
  const space = type === 'module' ? SPACE_OF_MODULE : SPACE
  let at = past(space, source, from)
  while (space === SPACE && startsWith(source, '-->', at) && (from === 0 || matches(LINE_END, cut(source, from, at)))) {
    at = past(SPACE, source, past(/.*/y, source, at))
  }
  return at
}

/** @param {string} source @param {number} at @returns {string} counted from 1, as editors do */
function placeOf(source, at) {
  const starts = linesOf(source)
  const line = lineAt(starts, at)
  return `line ${line + 1}, column ${at - starts[line] + 1}`
}

/** What a target is called. @type {any} */
const PATTERNS = {
  __proto__: null,
  ArrayExpression: 'ArrayPattern',
  ObjectExpression: 'ObjectPattern',
  AssignmentExpression: 'AssignmentPattern', // what it assigns to is a pattern already
  SpreadElement: 'RestElement'
}

/** Makes a pattern of what has been read as an expression. @param {any} target */
function patternOf(target) {
  const left = [target]
  while (left.length) {
    const node = takeLast(left)
    if (!node || node.type === 'Identifier') continue
    node.type = PATTERNS[node.type] ?? node.type
    const inner = node.elements ?? node.properties ?? [node.value ?? node.argument]
    for (let i = 0; i < inner.length; i++) append(left, inner[i])
  }
  return target
}

/** A reader, whose functions are made once: engines compile what calls functions that stay the same once. */
function reader() {
  const parent = null // until names are resolved
  let source = ''
  let type = ''
  /** By their texts, so that those of names are the same strings. @type {Map<string, Token>} */
  let tokens

  // The token that the reading has come to.
  let value = /** @type {any} */ ('')
  let start = 0
  let end = 0
  /** @type {number | undefined} */
  let level = 0
  let isName = false
  let name = ''
  /** Where the token before it ended. */
  let before = 0

  /** Whether `await` and `yield` are operators. */
  let mode = 0

  /** What expressions have begun and not ended, the innermost on top. @type {any} */
  let top = null
  /** What ends an expression, besides what cannot go on with it. */
  let extent = 0
  /** The operand that the reading has come to. @type {any} */
  let operand
  /** Where it starts, with its parentheses. */
  let from = 0
  let isChain = false // has `?.`
  let isClosed = false // takes no operators

  /** Parts of lists that have begun and not ended, the innermost last. @type {any[]} */
  let parts = []
  let size = 0

  /** In one piece: engines do not put what is as long as this into all that calls it, where to compile it took as long as all else. */
  function next() {
    before = end
    start = codeAt(source, end) === 32 ? end + 1 : end
    let code = codeAt(source, start)
    if (!(code > 32 && code < 127) || code === 47/*/*/ || code === 60/*<*/ || code === 45/*-*/) {
      start = pastSpace(source, end, type)
      code = codeAt(source, start)
    }
    let token = code < 127 ? SINGLES[code] : undefined
    if (token !== undefined) {
      end = start + 1
    } else {
      end = past(ATOM, source, start)
      value = cut(source, start, end)
      token = tokens.get(value)
    }
    if (token !== undefined) {
      ;({ text: value, level, isName, name } = token)
      return
    }
    // A literal, or a name, which is kept for the next time.
    isName = code > 64/*@*/ || code === 36/*$*/
    const isLiteral = value.length > 1 || (code > 47 && code < 58)
    level = isName || isLiteral ? undefined : 0
    name = isName ? withoutEscapes(value) : ''
    if (isName) tokens.set(value, { text: value, level, isName, name })
  }

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

  const unexpected = () => new SyntaxError(`unexpected ${value || 'end'} (${placeOf(source, start)})`)

  /** @param {string} token */
  function expect(token) {
    if (!skips(token)) throw unexpected()
  }

  /** @param {string} token @returns {boolean} whether it was there */
  function skips(token) {
    if (value !== token) return false
    next()
    return true
  }

  /** With what it will mean. @param {number} first @param {string} name */
  const identifier = (first, name) => ({
    type: 'Identifier', start: first, end: before, parent, name, scope: undefined, variable: undefined, isWritten: undefined, isDynamic: false
  })

  /** A name, a literal, or a key. */
  function leaf() {
    const first = start
    const text = value
    const key = name
    const code = codeAt(text, 0)
    if (text === '') throw unexpected()
    next()
    if (key !== '') return identifier(first, key)
    if (code === 35/*#*/) {
      return { type: 'PrivateIdentifier', start: first, end: before, parent, name: withoutEscapes(cut(text, 1)) }
    }
    const isString = code === 34/*"*/ || code === 39/*'*/
    return { type: 'Literal', start: first, end: before, parent, value: isString ? withoutEscapes(cut(text, 1, -1)) : undefined }
  }

  // -------------------------------------------------------------------------------------------- expressions

  /** @param {any} part of the innermost list */
  function put(part) {
    parts[size++] = part
  }

  /** Ends the innermost list. @param {number} first where it begins @returns {any[]} exactly as long as it has to be */
  function listFrom(first) {
    const list = new List(size - first)
    for (let i = first; i < size; i++) list[i - first] = parts[i]
    size = first
    return list
  }

  /** @param {number} level @param {any} node @param {string} field what its last part is, or what closes its bracket */
  function open(level, node, field) {
    top = { level, node, field, mode, extent, isChain, outer: top, first: size, from }
    if (level <= BRACKET) {
      extent = 0
      isChain = false
    }
  }

  /** Ends what is on top of the stack. */
  function close() {
    ;({ mode, extent, isChain, outer: top } = top)
  }

  /** The operand is the last part of what is on top of the stack. */
  function complete() {
    const { node, field } = top
    close()
    node[field] = operand
    node.end = before
    operand = node
    from = node.start
  }

  /** @returns {any[]} what commas part in a bracket */
  function items() {
    if (operand) put(operand)
    return listFrom(top.first)
  }

  /** What is in a bracket. */
  function whole() {
    return size === top.first ? operand
      : { type: 'SequenceExpression', start: top.from, end: before, parent, expressions: items() }
  }

  /** The text of a template up to its next hole, which is opened, or to its end. @param {any} node */
  function quasi(node) {
    end = past(TEMPLATE, source, end)
    if (end === 0) throw unexpected()
    const tail = source[end - 1] === '`'
    next()
    node.end = before
    if (!tail) open(BRACKET, node, '}')
    return tail
  }

  /** Parameters, read as an expression. @param {any} list */
  function parametersOf(list) {
    const params = !list ? [] : list.expressions ?? list.arguments ?? [list]
    for (let i = 0; i < params.length; i++) patternOf(params[i])
    return params
  }

  /**
   * Reads an operand, or the beginning of what an operand is to end: an operator before it, or a bracket.
   *
   * @returns {Generator<any, any, any> | null | undefined | void} what is to read the operand; null if it has been read;
   *   undefined if it is yet to come
   */
  function begin() {
    from = start
    isClosed = false
    const word = value
    if (level === undefined) {
      if (word === 'await' && mode & AWAITS) {
        open(UNARY, { type: 'AwaitExpression', start, end, parent, argument: null }, 'argument')
        return next()
      }
      if (word === 'yield' && mode & YIELDS) {
        operand = { type: 'YieldExpression', start, end, parent, delegate: false, argument: null }
        next()
        isClosed = isOnNewLine() || matches(/^(?:[)\]},;:]|in)?$/, value)
        if (isClosed) return null
        operand.delegate = skips('*')
        return open(ASSIGNMENT, operand, 'argument')
      }
      operand = leaf()
      if (word !== 'async' || isOnNewLine()) return null
      if (value === 'function') return routine('FunctionExpression', from, true)
      // `async x =>` is read as `async(x) =>`.
      if (isName && startsWith(source, '=>', pastSpace(source, end, type))) operand = { type: 'CallExpression', arguments: [leaf()] }
      return null
    }
    switch (word) {
      case '(':
        open(BRACKET, { type: '', start }, ')')
        return next()
      case '[':
        open(BRACKET, { type: 'ArrayExpression', start, end, parent, elements: null }, ']')
        return next()
      case '...':
        open(ASSIGNMENT, { type: 'SpreadElement', start, end, parent, argument: null }, 'argument')
        return next()
      case '+': case '-': case '!': case '~': case '++': case '--': case 'typeof': case 'void': case 'delete': {
        const type = level === SUFFIX ? 'UpdateExpression' : 'UnaryExpression'
        open(UNARY, { type, start, end, parent, operator: word, argument: null }, 'argument')
        return next()
      }
      case 'new': case 'import': {
        const meta = leaf()
        if (skips('.')) {
          operand = { type: 'MetaProperty', start: from, meta, property: leaf(), end: before, parent }
          return null
        }
        if (word === 'new') {
          return open(NEW, { type: 'NewExpression', start: from, end, parent, callee: null, arguments: [] }, 'callee')
        }
        open(BRACKET, { type: 'ImportExpression', start: from, end, parent, source: null, options: null }, ')')
        return expect('(')
      }
      case '`':
        operand = { type: 'TemplateLiteral', start, end, parent, expressions: [] }
        return quasi(operand) ? null : undefined
      case '{':
        return top.node?.type === 'ArrowFunctionExpression' ? block(true) : members(false)
      case 'function':
        return routine('FunctionExpression', start, false)
      case 'class':
        return classOf('ClassExpression', start)
      case '/': case '/=':
        end = past(REGULAR_EXPRESSION, source, start)
        if (end === 0) throw unexpected()
      // falls through
      case 'this': case 'super': case 'null': case 'true': case 'false': {
        const type = word === 'this' ? 'ThisExpression' : word === 'super' ? 'Super' : 'Literal'
        operand = { type, start, end, parent, value: undefined }
        next()
        return null
      }
    }
    if (!matches(/^[,)\]]$/, word) || top.level !== BRACKET) throw unexpected()
    operand = null
    return null
  }

  /** Reads a member, a call or the like of the operand. @returns {boolean} whether an operand is to come in it */
  function suffix() {
    const optional = value === '?.'
    if (optional) {
      isChain = true
      next()
    }
    switch (value) {
      case '(':
        if (top.level === NEW) complete()
        else operand = { type: 'CallExpression', start: from, end, parent, callee: operand, arguments: null, optional }
        open(BRACKET, operand, ')')
        next()
        return true
      case '[':
        open(BRACKET, {
          type: 'MemberExpression', start: from, end, parent, object: operand, property: null, computed: true, optional
        }, ']')
        next()
        return true
      case '`':
        open(TAG, { type: 'TaggedTemplateExpression', start: from, end, parent, tag: operand, quasi: null }, 'quasi')
        return true
      case '++': case '--':
        operand = { type: 'UpdateExpression', start: from, end, parent, operator: value, argument: operand }
        next()
        return false
    }
    if (!optional) next()
    operand = {
      type: 'MemberExpression', start: from, object: operand, property: leaf(), end: before, parent, computed: false, optional
    }
    return false
  }

  /** Completes what binds as tight as what comes, and begins that, if it is an operator. @returns {boolean} whether it is */
  function operate() {
    const operator = value
    const rank = isClosed || level === undefined || level === SUFFIX || (extent & IN && operator === 'in') ? 0 : level
    while (top.level >= (rank || ASSIGNMENT)) complete()
    if (rank <= ASSIGNMENT) return false
    if (rank < CONDITIONAL) {
      const left = operator === '=' ? patternOf(operand) : operand
      open(ASSIGNMENT, { type: 'AssignmentExpression', start: from, end, parent, operator, left, right: null }, 'right')
    } else if (rank === CONDITIONAL) {
      open(BRACKET, {
        type: 'ConditionalExpression', start: from, end, parent, test: operand, consequent: null, alternate: null
      }, ':')
    } else {
      const type = rank > CONJUNCTION ? 'BinaryExpression' : 'LogicalExpression'
      open(rank > POWER ? POWER : rank, { type, start: from, end, parent, left: operand, operator, right: null }, 'right')
    }
    next()
    return true
  }

  /** Closes a bracket. @returns {boolean} whether an operand is to come in what it was opened for */
  function closes() {
    const { node, field } = top
    if (value !== field) throw unexpected()
    switch (node.type) {
      case 'ArrayExpression':
        node.elements = items()
        break
      case 'ImportExpression':
        ;({ 0: node.source, 1: node.options = null } = items())
        break
      case 'MemberExpression':
        node.property = whole()
        break
      case 'TemplateLiteral':
        append(node.expressions, whole())
        break
      case 'ConditionalExpression':
        node.consequent = operand
        break
      case '':
        operand = whole()
        break
      default:
        node.arguments = items()
    }
    close()
    if (node.type !== '') operand = node
    from = node.start
    isClosed = false
    if (node.type === 'TemplateLiteral') return !quasi(node)
    next()
    node.end = before
    if (node.type !== 'ConditionalExpression') return false
    open(ASSIGNMENT, node, 'alternate')
    return true
  }

  /** Goes on after an operand. @returns {boolean} whether another is to come */
  function goesOn() {
    for (;;) {
      while (top.level === TAG) complete()
      if (top.level === WHOLE && extent === OPERAND) return false
      if (value === '=>') {
        const async = operand?.type === 'CallExpression'
        open(ASSIGNMENT, {
          type: 'ArrowFunctionExpression', start: from, end, parent, id: null, generator: false, async, params: parametersOf(operand), body: null
        }, 'body')
        mode = async ? AWAITS : 0
        next()
        return true
      }
      if (level === SUFFIX && !isClosed && !((value === '++' || value === '--') && isOnNewLine())) {
        if (suffix()) return true
        continue
      }
      if (isChain) {
        operand = { type: 'ChainExpression', start: from, end: before, parent, expression: operand }
        isChain = false
      }
      if (operate()) return true
      if (value === ',' && !(extent & COMMA)) {
        if (size === top.first) top.from = from
        put(operand)
        next()
        return true
      }
      if (top.level === WHOLE) return false
      if (closes()) return true
    }
  }

  /**
   * An expression, as far as it can be read at once.
   *
   * @returns {Generator<any, any, any> | undefined} what has to be read first, if it has not ended
   */
  function advance() {
    for (;;) {
      const part = begin()
      if (part) return part
      if (part === null && !goesOn()) return
    }
  }

  /**
   * @param {number} [until] what ends it @param {any} [node] a statement that it ends @param {string} [field] what it is there
   * @returns {Generator<any, any, any> | undefined} what reads it; if it has been read, it is the operand, or the statement is
   */
  function expression(until = 0, node = null, field = '') {
    open(WHOLE, node, field)
    extent = until
    const part = advance()
    return part ? rest(part) : ended()
  }

  /** @returns {undefined} */
  function ended() {
    operand = whole()
    if (top.node === null) close()
    else {
      skips(';')
      complete()
    }
  }

  /** @param {any} part @returns {Generator<any, any, any>} */
  function* rest(part) {
    do {
      operand = yield part
      from = operand.start
      isClosed = operand.type === 'BlockStatement'
      if (isClosed) complete()
    } while (goesOn() && (part = advance()))
    ended()
    return operand
  }

  // ------------------------------------------------------------------------------------ functions and classes

  /** A function, from that word on. @param {string} type @param {number} first @param {boolean} async */
  function routine(type, first, async) {
    next()
    const generator = skips('*')
    return method(type, first, isName ? leaf() : null, async, generator)
  }

  /**
   * A function, from its parameters on.
   *
   * @param {string} type @param {number} first where it starts @param {any} id @param {boolean} async
   * @param {boolean} generator @returns {Generator<any, any, any>}
   */
  function* method(type, first, id, async, generator) {
    const outer = mode
    mode = (async ? AWAITS : 0) | (generator ? YIELDS : 0)
    const params = parametersOf(yield expression(OPERAND))
    const body = yield block(true)
    mode = outer
    return { type, start: first, end: before, parent, id, generator, async, params, body }
  }

  /** A class, from that word on. @param {string} type @param {number} first @returns {Generator<any, any, any>} */
  function* classOf(type, first) {
    next()
    const id = isName ? leaf() : null
    const superClass = skips('extends') ? yield expression(COMMA) : null
    const body = yield members(true)
    return { type, start: first, end: before, parent, id, superClass, body }
  }

  /** An object or the body of a class, from its brace on. @param {boolean} isInClass @returns {Generator<any, any, any>} */
  function* members(isInClass) {
    const opening = start
    const base = size
    next()
    while (value !== '}' && !(value === '' && type === 'function')) {
      if (skips(',') || skips(';')) continue
      const first = start
      let isStatic = false
      let async = false
      let generator = false
      let kind = isInClass ? 'method' : 'init'
      if (value === '...') {
        put(yield expression(COMMA))
        continue
      }
      // V8 left out the name of a static method that is called static.
      /** @type {any} */
      let key = null
      let computed = false
      while (value !== '(' && !(value === '{' && isStatic)) {
        const word = value
        computed = skips('[')
        key = computed ? yield expression(COMMA) : leaf()
        if (computed) expect(']')
        if (!matches(MODIFIED, `${word} ${value}`) || (word === 'async' && isOnNewLine())) break
        isStatic ||= word === 'static'
        async ||= word === 'async'
        generator ||= word === '*'
        if (word === 'get' || word === 'set') kind = word
      }
      if (value === '{') {
        put({ type: 'StaticBlock', start: first, body: (yield block(false)).body, end: before, parent })
        continue
      }
      const isMethod = value === '('
      let part = isMethod ? yield method('FunctionExpression', start, null, async, generator)
        : skips(isInClass ? '=' : ':') ? yield expression(COMMA) : null
      const isConstructor = isMethod && isInClass && !isStatic && !computed && key.type !== 'PrivateIdentifier' &&
        (key.name ?? key.value) === 'constructor'
      if (isConstructor) kind = 'constructor'
      if (isInClass) {
        if (!isMethod) skips(';')
        put(isMethod
          ? { type: 'MethodDefinition', start: first, end: before, parent, static: isStatic, computed, key, kind, value: part }
          : { type: 'PropertyDefinition', start: first, end: before, parent, static: isStatic, computed, key, value: part })
        continue
      }
      const shorthand = part === null
      if (shorthand) {
        part = identifier(first, key.name)
        if (skips('=')) {
          part = { type: 'AssignmentPattern', start: first, left: part, right: yield expression(COMMA), end: before, parent }
        }
      }
      put({
        type: 'Property', start: first, end: before, parent, method: isMethod && kind === 'init', shorthand, computed, key,
        kind, value: part
      })
    }
    next()
    const list = listFrom(base)
    return isInClass ? { type: 'ClassBody', start: opening, body: list, end: before, parent }
      : { type: 'ObjectExpression', start: opening, properties: list, end: before, parent }
  }

  // --------------------------------------------------------------------------------------------- statements

  /** @returns {number} where the statement ends */
  function endOf() {
    skips(';')
    return before
  }

  /** @param {boolean} isList whether any declaration may stand there */
  const isDeclaring = isList => value === 'var' || value === 'const' || isUsing() ||
    (value === 'let' && peek(() => value === '[' || (isList && (isName || value === '{'))))

  /** @returns {boolean} */
  const isUsing = () => value === 'using' ? peek(() => isName && value !== 'of' && !isOnNewLine())
    : value === 'await' && (mode & AWAITS) > 0 && peek(() => value === 'using' && !isOnNewLine() && isUsing())

  /**
   * Statements in braces, or all of them.
   *
   * @param {boolean} isBody whether they may begin with directives
   * @returns {Generator<any, any, any>}
   */
  function* block(isBody) {
    const first = start
    const base = size
    expect('{')
    while (value !== '}') {
      const part = statement(true)
      put(part ? yield part : operand)
    }
    next()
    const body = listFrom(base)
    if (isBody) markDirectives(body)
    return { type: 'BlockStatement', start: first, end: before, parent, body }
  }

  /** @param {any[]} body */
  function markDirectives(body) {
    for (let i = 0; i < body.length && matches(/["']/, source[body[i].start]); i++) {
      const { expression } = body[i]
      if (expression.type !== 'Literal') return
      body[i].directive = cut(source, expression.start + 1, expression.end - 1)
    }
  }

  /** Variables. @param {number} first @param {number} [until] what ends it in the head of a loop @returns {Generator<any, any, any>} */
  function* declaration(first, until = 0) {
    const kind = skips('await') ? 'await using' : value
    const base = size
    do {
      next()
      const at = start
      const id = isName ? leaf() : patternOf(yield expression(OPERAND))
      const isGiven = skips('=')
      const part = isGiven ? expression(COMMA | until) : null
      const init = part ? yield part : isGiven ? operand : null
      put({ type: 'VariableDeclarator', start: at, end: before, parent, id, init })
    } while (value === ',')
    return { type: 'VariableDeclaration', start: first, end: until ? before : endOf(), parent, kind, declarations: listFrom(base) }
  }

  /** Statements by their first words, from there on. @type {Record<string, (first: number) => Generator<any, any, any> | undefined>} */
  const statements = {
    // @ts-ignore
    __proto__: null,
    '{': () => block(false),
    /** @returns {undefined} */
    ';'(first) {
      next()
      operand = { type: 'EmptyStatement', start: first, end: before, parent }
    },
    * if(first) {
      next()
      return {
        type: 'IfStatement', start: first, test: yield expression(OPERAND), consequent: yield statement(false),
        alternate: skips('else') ? yield statement(false) : null, end: before, parent
      }
    },
    for: forStatement,
    while: first => headed('WhileStatement', first, 'test'),
    * do(first) {
      next()
      return {
        type: 'DoWhileStatement', start: first, body: yield statement(false),
        test: (expect('while'), yield expression(OPERAND)), end: endOf(), parent
      }
    },
    switch: switchStatement,
    with: first => headed('WithStatement', first, 'object'),
    * try(first) {
      next()
      return {
        type: 'TryStatement', start: first, block: yield block(false),
        handler: value !== 'catch' ? null : {
          type: 'CatchClause', start, param: (next(), value === '(') ? patternOf(yield expression(OPERAND)) : null,
          body: yield block(false), end: before, parent
        },
        finalizer: skips('finally') ? yield block(false) : null, end: before, parent
      }
    },
    return(first) {
      next()
      const node = { type: 'ReturnStatement', start: first, end: 0, parent, argument: null }
      if (!matches(/^[;}]?$/, value) && !isOnNewLine()) return expression(0, node, 'argument')
      node.end = endOf()
      operand = node
    },
    throw(first) {
      next()
      return expression(0, { type: 'ThrowStatement', start: first, end: 0, parent, argument: null }, 'argument')
    },
    break: first => jump('BreakStatement', first),
    continue: first => jump('ContinueStatement', first),
    debugger: first => jump('DebuggerStatement', first),
    function: first => routine('FunctionDeclaration', first, false),
    class: first => classOf('ClassDeclaration', first),
    import: first => peek(() => value === '(' || value === '.') ? expressionStatement(first) : importDeclaration(first),
    export: exportDeclaration
  }

  /** @param {string} type @param {number} first @param {string} field what is in its parentheses @returns {Generator<any, any, any>} */
  function* headed(type, first, field) {
    next()
    return { type, start: first, [field]: yield expression(OPERAND), body: yield statement(false), end: before, parent }
  }

  /** @param {string} type @param {number} first @returns {undefined} */
  function jump(type, first) {
    next()
    operand = { type, start: first, label: isName && !isOnNewLine() ? leaf() : null, end: endOf(), parent }
  }

  /** @param {number} first */
  const expressionStatement = first =>
    expression(0, { type: 'ExpressionStatement', start: first, end: 0, parent, expression: null, directive: undefined }, 'expression')

  /** @param {boolean} isList whether declarations may stand there @returns {Generator<any, any, any> | undefined} as of expression */
  function statement(isList) {
    const first = start
    const begun = level === 0 && statements[value]
    if (begun) return begun(first)
    if (isDeclaring(isList)) return declaration(first)
    if (isAsyncFunction()) {
      next()
      return routine('FunctionDeclaration', first, true)
    }
    return isName && source[pastSpace(source, end, type)] === ':' ? labeled(first) : expressionStatement(first)
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* labeled(first) {
    const label = leaf()
    next()
    return { type: 'LabeledStatement', start: first, label, body: yield statement(false), end: before, parent }
  }

  const isAsyncFunction = () => value === 'async' && peek(() => value === 'function' && !isOnNewLine())

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* forStatement(first) {
    next()
    const isAwait = skips('await')
    expect('(')
    const left = value === ';' ? null : yield isDeclaring(true) ? declaration(start, IN) : expression(IN)
    if (value !== ';') {
      const type = value === 'of' ? 'ForOfStatement' : 'ForInStatement'
      next()
      return {
        type, start: first, await: isAwait, left: patternOf(left), right: yield expression(),
        body: (expect(')'), yield statement(false)), end: before, parent
      }
    }
    next()
    const test = value === ';' ? null : yield expression()
    expect(';')
    const update = value === ')' ? null : yield expression()
    expect(')')
    return { type: 'ForStatement', start: first, init: left, test, update, body: yield statement(false), end: before, parent }
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* switchStatement(first) {
    next()
    const discriminant = yield expression(OPERAND)
    const base = size
    expect('{')
    while (value !== '}') {
      const at = start
      const test = skips('default') ? null : (expect('case'), yield expression())
      const consequent = size
      expect(':')
      while (!matches(/^(?:case|default|\})$/, value)) put(yield statement(true))
      put({ type: 'SwitchCase', start: at, end: before, parent, test, consequent: listFrom(consequent) })
    }
    next()
    return { type: 'SwitchStatement', start: first, end: before, parent, discriminant, cases: listFrom(base) }
  }

  // ------------------------------------------------------------------------------------------------ modules

  /** What is in braces. @param {(start: number, name: any, other: any) => any} node */
  function specifiers(node) {
    expect('{')
    while (!skips('}')) {
      const first = start
      const name = leaf()
      put(node(first, name, skips('as') ? leaf() : name))
      skips(',')
    }
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* importDeclaration(first) {
    const base = size
    next()
    const isBare = matches(/^["']/, value)
    if (isName) {
      put({ type: 'ImportDefaultSpecifier', start, end, parent, local: leaf() })
      skips(',')
    }
    const at = start
    if (skips('*')) {
      expect('as')
      put({ type: 'ImportNamespaceSpecifier', start: at, local: leaf(), end: before, parent })
    } else if (value === '{') {
      specifiers((start, imported, local) =>
        ({ type: 'ImportSpecifier', start, end: before, parent, imported, local }))
    }
    if (!isBare) expect('from')
    return {
      type: 'ImportDeclaration', start: first, specifiers: listFrom(base), source: leaf(),
      attributes: skips('with') ? (yield members(false)).properties : [], end: endOf(), parent
    }
  }

  /** @param {number} first @returns {Generator<any, any, any>} */
  function* exportDeclaration(first) {
    next()
    if (skips('default')) {
      const isDeclared = value === 'function' || value === 'class' || isAsyncFunction()
      const declaration = yield isDeclared ? statement(true) : expression(COMMA)
      return { type: 'ExportDefaultDeclaration', start: first, end: isDeclared ? before : endOf(), parent, declaration }
    }
    const base = size
    const isAll = skips('*')
    const isList = !isAll && value === '{'
    const exported = isAll && skips('as') ? leaf() : null
    const declaration = isAll || isList ? null : yield statement(true)
    if (isList) {
      specifiers((start, local, exported) => ({ type: 'ExportSpecifier', start, end: before, parent, local, exported }))
    }
    const isFrom = isAll || (isList && value === 'from')
    if (isFrom) expect('from')
    return {
      type: isAll ? 'ExportAllDeclaration' : 'ExportNamedDeclaration', start: first, exported, declaration, specifiers: listFrom(base),
      source: isFrom ? leaf() : null, attributes: isFrom && skips('with') ? (yield members(false)).properties : [],
      end: declaration ? before : endOf(), parent
    }
  }

  /** @returns {Generator<any, any, any>} */
  function* program() {
    /** @type {any[]} */
    let body = []
    if (type === 'function') {
      const isExpression = matches(/^(?:function|\()$/, value) || peek(() => value === '=>') ||
        (value === 'class' && peek(() => value !== '(')) || (value === 'async' && peek(() => value !== '*'))
      if (isExpression) body = [yield expression(COMMA)]
      if (value !== '') { // it was the name of a method, or nothing
        end = 0
        body = (yield members(false)).properties
      }
      if (value !== '' || body.length !== 1) throw unexpected()
    } else {
      while (value !== '') put(yield statement(true))
      body = listFrom(0)
      markDirectives(body)
    }
    return { type: 'Program', start: 0, end: source.length, parent, body, sourceType: type }
  }

  /**
   * @param {string} text
   * @param {'module' | 'script' | 'function'} kind `function`: what Function.prototype.toString returns
   * @returns {any} a Program as of ESTree; that of a function has one part, a function, a class, or a Property
   * @throws {SyntaxError} at what cannot be read; but that source is valid is taken for granted
   */
  function read(text, kind) {
    quick = isQuick()
    source = text
    type = kind
    tokens = emptyMap()
    SIGNS.forEach((/** @type {Token} */ token) => tokens.set(token.text, token))
    end = startsWith(source, '#!') ? past(/.*/y, source, 0) : 0
    mode = type === 'module' ? AWAITS : 0
    top = null
    extent = 0
    isChain = false
    size = 0
    next()
    // The generators on the way to where the reading stands.
    const stack = [program()]
    /** @type {any} */
    let result
    for (let depth = 0; depth >= 0;) {
      const step = resume(stack[depth], result) // one that begins takes no notice of the result
      if (step.done) depth--
      else if (step.value) stack[++depth] = step.value
      result = step.done ? step.value : operand
    }
    // Nothing of it is kept.
    tokens.clear()
    parts = []
    source = ''
    operand = null
    return result
  }

  return read
}

const read = /* @__PURE__ */ reader()

// --------------------------------------------------------------------------------------------- 8b names

/** @typedef {any} Node as ESTree has it, with `parent`; an identifier also has `scope`, `variable` and `isDynamic` */
/**
 * A function, or other code that is run as one: Program, StaticBlock, and PropertyDefinition for its value.
 *
 * The lists are in the order of the source. What the head of a function holds, its parameters, is among them.
 * Arrow functions use the `this`, `arguments`, `super`, `new.target` and direct eval of the function around them: then
 * that uses them, too.
 *
 * @typedef {object} Facts
 * @property {Node} node
 * @property {Facts | null} parent
 * @property {boolean} isArrow
 * @property {boolean} isAsync
 * @property {boolean} isGenerator
 * @property {boolean} isStrict by what the source says
 * @property {boolean} isMethod of an object or a class, constructors and accessors too
 * @property {boolean} isConstructor
 * @property {boolean} isAccessor
 * @property {boolean} isDerived a constructor of a class that extends
 * @property {boolean} usesThis
 * @property {boolean} usesArguments
 * @property {boolean} usesSuper
 * @property {boolean} usesNewTarget
 * @property {boolean} usesEval direct
 * @property {boolean} hasWith
 * @property {boolean} awaitsDisposal by an `await using`
 * @property {Facts[]} functions those directly in it
 * @property {Node[]} loops
 * @property {Node[]} calls, `new` and tagged templates too
 * @property {Node[]} awaits
 * @property {Node[]} yields
 * @property {Node[]} spreads in lists
 * @property {Node[]} returns
 * @property {Node[]} tries
 * @property {Node[]} statements that are expressions
 * @property {Node[]} words `this`, `super`, `new.target`, `import.meta`
 * @property {Edit[]} edits of its text, whatever is made of it
 * @property {Scope[]} scopes in it, but in functions in it; that of the name of a function expression too
 * @property {Scope} scope where its `var`s are
 */
/**
 * What is declared between two braces, or between a parenthesis and a brace. Parameters and body share one, unless
 * parameters hold expressions.
 *
 * @typedef {object} Scope
 * @property {Node} node
 * @property {Scope | null} parent
 * @property {number} depth
 * @property {Facts} facts of the function that it is in
 * @property {boolean} isStrict
 * @property {boolean} isDynamic it may get variables while it runs: that of a `with`, or where a sloppy eval is
 * @property {boolean} hasEval whether a direct eval is in it, or in what it holds
 * @property {boolean} isSplit whether there are expressions among its parameters
 * @property {Record<string, Variable>} variables
 * @property {Scope | null} barrier the innermost that is dynamic, from this one outwards
 */
/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} kind 'var', 'let', 'const', 'using', 'await using', 'function', 'class', 'parameter', 'catch',
 *   'import', 'name' of a function expression or, in the class, of a class, 'arguments' of a function
 * @property {Scope} scope
 * @property {Node[]} declarations identifiers
 * @property {Node[]} references identifiers
 * @property {boolean} isAssigned elsewhere than where it is declared
 * @property {boolean} isDynamic whether an eval may use it, or a reference may mean another one
 * @property {boolean} isNumber whether it may begin as 0 in a twin that leaves frames: see isNumber
 * @property {Variable | undefined} outer the one that it hides
 */

/** Fields that are read, although what has them is assigned to or declares. */
const READ = /^(?:key|property|object|right|init|body|superClass)$/
/** Fields whose identifiers are no references, unless they are computed. */
const LABELS = /^(?:\w+\.(?:key|property|meta|label|imported|exported)|(?:Function|Arrow)\w+\.id)$/
/** Parts that have a scope of their own, which other parts of the same node are outside of. */
const INNER = /^(?:SwitchStatement\.cases|WithStatement\.body|PropertyDefinition\.value)$/
/** What the identifiers of a field are: see names. @typedef {{ key: string, role: string | undefined, isLabel: boolean }} Field */
/** By types. @type {Record<string, Field[]>} */
// @ts-ignore
const FIELDS = { __proto__: null, Identifier: [] }

/** The fields that hold its parts, as those of all nodes of its type do. @param {Node} node */
const fieldsOf = node => FIELDS[node.type] ??= fieldsIn(node)

/** @param {Node} node */
function fieldsIn(node) {
  /** @type {Field[]} */
  const fields = []
  pick(keysOf(node), key => {
    if (typeof node[key] !== 'object' || key === 'parent') return
    const place = `${node.type}.${key}`
    append(fields, { key, role: matches(INNER, place) ? 'inner' : matches(READ, key) ? '' : undefined, isLabel: matches(LABELS, place) })
  })
  return fields
}

/** The lists of Facts by what they hold. @type {any} */
const LISTS = {
  __proto__: null,
  ForStatement: 'loops',
  ForInStatement: 'loops',
  ForOfStatement: 'loops',
  WhileStatement: 'loops',
  DoWhileStatement: 'loops',
  CallExpression: 'calls',
  NewExpression: 'calls',
  TaggedTemplateExpression: 'calls',
  AwaitExpression: 'awaits',
  YieldExpression: 'yields',
  SpreadElement: 'spreads',
  ReturnStatement: 'returns',
  TryStatement: 'tries',
  ExpressionStatement: 'statements',
  ThisExpression: 'words',
  Super: 'words',
  MetaProperty: 'words'
}

/** @param {Node} node */
const isDirectEval = ({ type, callee, optional }) => type === 'CallExpression' && callee.name === 'eval' && !optional

/** Whether one of the directives that it begins with says so. @param {any} body */
function isStrictBody(body) {
  for (let i = 0; body?.[i]?.directive !== undefined; i++) if (body[i].directive === 'use strict') return true
  return false
}

/** @param {string} name @param {string} kind @param {Scope} scope @returns {Variable} */
function variableOf(name, kind, scope) {
  return { name, kind, scope, declarations: [], references: [], isAssigned: false, isDynamic: false, isNumber: false, outer: undefined }
}

/** @param {Node} id @param {string} kind @param {Scope} scope where it is @param {Scope} target whose variable it is */
function declare(id, kind, scope, target = kind === 'var' ? scope.facts.scope : scope) {
  const { name } = id
  const variable = target.variables[name] ??= variableOf(name, kind, target)
  append(variable.declarations, id)
  id.scope ??= scope
  id.variable ??= variable // that of a class is declared outside and inside of it
  return variable
}

/** Finds names, by functions that are made once: see reader. */
function namer() {
  /** Scopes and identifiers, as they begin. @type {any[]} */
  let order = []
  let tree = /** @type {Node} */ (null)
  let hoists = false
  let scope = /** @type {Scope} */ (/** @type {any} */ (null))
  /**
   * What comes next is last, each with what its identifiers are: references '', targets 'write', names in other modules 'foreign',
   * or a kind of variables; or 'inner' with what has a scope of its own.
   *
   * @type {any[]}
   */
  let stack = []
  let size = 0

  /** @param {Node} part @param {Node} parent @param {string} role */
  function push(part, parent, role) {
    part.parent = parent
    if (part.type === 'Literal') return
    stack[size++] = role
    stack[size++] = part
  }

  /** @param {Node} id */
  function note(id) {
    if (id.name === 'arguments' || id.name === 'yield') append(tree.special, id)
  }

  /** @param {Node} node @param {string} role of those of its parts whose field has none */
  function pushParts(node, role) {
    const fields = fieldsOf(node)
    for (let k = fields.length; k-- > 0;) {
      const { key, role: own = role, isLabel } = fields[k]
      const part = node[key]
      if (!part) continue
      if (isLabel && !node.computed) {
        part.parent = node
        if (key === 'label') note(part)
      } else if (isArray(part)) {
        for (let i = part.length; i-- > 0;) if (part[i]) push(part[i], node, own)
      } else if (part.type) {
        push(part, node, own)
      }
    }
  }

  /** Begins a scope. @param {Node} node @param {Facts} [facts] of the function that it is in */
  function open(node, facts = scope.facts, isStrict = scope.isStrict) {
    scope = node.scope = {
      node,
      parent: scope,
      depth: scope ? scope.depth + 1 : 0,
      facts,
      isStrict,
      isDynamic: false,
      hasEval: false,
      isSplit: false,
      variables: create(null),
      barrier: null
    }
    append(facts.scopes, scope)
    append(order, scope)
  }

  /** Begins a function. @param {Node} node */
  function openFunction(node, isStrict = scope.isStrict) {
    const { parent, type } = node
    const kind = parent?.value === node ? parent.kind : undefined
    const isConstructor = kind === 'constructor'
    /** @type {Facts} */
    const facts = node.facts = {
      node,
      parent: scope && scope.facts,
      isArrow: type === 'ArrowFunctionExpression',
      isAsync: node.async === true,
      isGenerator: node.generator === true,
      isStrict,
      isMethod: kind !== undefined && (kind !== 'init' || parent.method),
      isConstructor,
      isAccessor: kind === 'get' || kind === 'set',
      isDerived: isConstructor && !!parent.parent.parent.superClass,
      usesThis: false,
      usesArguments: false,
      usesSuper: false,
      usesNewTarget: false,
      usesEval: false,
      hasWith: false,
      awaitsDisposal: false,
      functions: [],
      loops: [],
      calls: [],
      awaits: [],
      yields: [],
      spreads: [],
      returns: [],
      tries: [],
      statements: [],
      words: [],
      edits: [],
      scopes: [],
      scope: /** @type {any} */ (null)
    }
    if (scope) append(scope.facts.functions, facts)
    open(node, facts, isStrict)
    facts.scope = scope
  }

  /** Begins the scope of what is not inside of it as a whole. @param {Node} node */
  function openInner(node) {
    if (node.type === 'PropertyDefinition') return openFunction(node)
    open(node)
    if (node.type === 'WithStatement') scope.isDynamic = scope.facts.hasWith = true
  }

  /** Ends a scope that is in another. */
  function close() {
    const { facts, variables } = scope
    scope = /** @type {Scope} */ (scope.parent)
    if (scope.facts === facts || facts.isArrow || !facts.usesArguments) return
    const { kind } = variables.arguments ??= variableOf('arguments', 'arguments', facts.node.scope)
    facts.usesArguments = kind === 'arguments' || kind === 'var'
  }

  /**
   * Arrow functions use what is of the function around them.
   *
   * @param {'usesThis' | 'usesArguments' | 'usesSuper' | 'usesNewTarget' | 'usesEval'} key
   */
  function use(key) {
    for (let user = /** @type {Facts | null} */ (scope.facts); user && !user[key]; user = user.isArrow ? user.parent : null) user[key] = true
  }

  /** @param {string} role of the parts of what has a scope @returns {(node: Node) => string} */
  const opening = (role, isStrict = false) => node => {
    open(node, scope.facts, isStrict || scope.isStrict)
    return role
  }

  /**
   * What is done where nodes of a type begin, before their parts.
   *
   * @type {Record<string, (node: any, role: string) => string | void>} gives the role of its parts, if that is another
   */
  const visits = {
    // @ts-ignore
    __proto__: null,
    Identifier(node, role) {
      if (role === 'foreign') return
      note(node)
      if (role !== '' && role !== 'write') declare(node, role, scope)
      else if (node.name === 'arguments') use('usesArguments')
      if (role === '' || role === 'write' || role === 'var') {
        node.scope = scope
        node.isWritten = role !== ''
        append(order, node)
      }
    },
    ThisExpression: () => use('usesThis'),
    Super: () => use('usesSuper'),
    MetaProperty(node) {
      if (node.meta.name === 'new') use('usesNewTarget')
      else append(tree.imports, { node, facts: scope.facts })
    },
    ImportExpression(node) {
      append(tree.imports, { node, facts: scope.facts })
    },
    ImportDeclaration: () => 'import',
    ExportNamedDeclaration: ({ source }) => source ? 'foreign' : '',
    VariableDeclaration({ kind, parent }) {
      if (endsWith(kind, 'using')) parent.disposes = true
      if (kind === 'await using') scope.facts.awaitsDisposal = true
      return kind
    },
    AssignmentPattern(_, role) {
      if (role === 'parameter') scope.isSplit = true
    },
    Property({ computed }, role) {
      if (role === 'parameter' && computed) scope.isSplit = true
    },
    AssignmentExpression: () => 'write',
    UpdateExpression: () => 'write',
    CallExpression(node) {
      if (!isDirectEval(node)) return
      use('usesEval')
      for (let around = /** @type {Scope | null} */ (scope); around && !around.hasEval; around = around.parent) around.hasEval = true
      if (!scope.isStrict) scope.facts.scope.isDynamic = true
    },
    ForInStatement: opening('write'),
    ForOfStatement: opening('write'),
    ForStatement: opening(''),
    CatchClause: opening('catch'),
    BlockStatement(node) {
      const { facts } = scope
      const isBody = facts.node.body === node
      if (!isBody || scope.isSplit) open(node)
      if (isBody) facts.scope = scope
    },
    ClassDeclaration(node) {
      if (node.id) declare(node.id, 'class', scope)
      return visits.ClassExpression(node, '')
    },
    ClassExpression: opening('name', true),
    StaticBlock: node => openFunction(node),
    FunctionDeclaration: routine,
    FunctionExpression: routine,
    ArrowFunctionExpression: routine
  }

  /** @param {Node} node */
  function routine(node) {
    const { type, id, body, parent } = node
    const isDeclaration = type === 'FunctionDeclaration'
    if (id) {
      note(id)
      if (!isDeclaration || parent.type === 'IfStatement') open(node)
      declare(id, isDeclaration ? 'function' : 'name', scope)
      if (isDeclaration && scope !== scope.facts.scope && !scope.isStrict && !node.async && !node.generator) {
        hoists = true // Annex B.3.3
        append(order, id)
      }
    }
    openFunction(node, scope.isStrict || isStrictBody(body.body))
    return 'parameter'
  }

  /** @param {Node} node @param {string} role */
  function visit(node, role) {
    const { type, parent } = node
    while (node.start >= scope.node.end) close()
    if (role === 'inner') {
      role = ''
      if (scope.node !== parent) openInner(parent)
    }
    const list = LISTS[type]
    if (list) append(/** @type {any} */ (scope.facts)[list], node)
    pushParts(node, /** @type {string} */ (visits[type]?.(node, role) ?? role))
  }

  return names

  /**
   * Finds what each name means and what each function holds. The tree is walked once, with a stack of its own. On the way
   * the scopes and the identifiers are put into one list; names are looked up along that list, when all that is declared
   * is known.
   *
   * @param {Node} program gets `facts`, `scope` and `variable`; `special`: what is called `arguments` or `yield`, labels too; and
   *   `imports`: each `import()` and `import.meta`, with the facts of the function that it is in
   * @returns {Record<string, Node[]>} the references to what it does not declare, by name, in the order of the source; as `tree.free`, too
   */
  function names(program) {
    tree = program
    tree.special = []
    tree.imports = []
    order = []
    hoists = false
    scope = /** @type {any} */ (null)
    size = 0
    openFunction(tree, tree.sourceType === 'module' || isStrictBody(tree.body))
    pushParts(tree, '')
    while (size) visit(stack[--size], stack[--size])
    while (scope.parent) close()
    if (hoists) resolve(order, true)
    program.free = resolve(order, false)
    // Nothing of it is kept.
    order = stack = []
    scope = tree = /** @type {any} */ (null)
    return program.free
  }
}

const names = /* @__PURE__ */ namer()

/**
 * Looks up the names along the list. Functions in blocks of sloppy code go first, since they may be variables of the
 * function around them, too: where a `var` in their place would be no error, and no parameter has the name.
 *
 * @param {any[]} order @param {boolean} isHoisting
 * @returns {Record<string, Node[]>}
 */
function resolve(order, isHoisting) {
  /** @type {Record<string, Node[]>} */
  const free = create(null)
  /** What each name means here. @type {Record<string, Variable | undefined>} */
  const current = create(null)
  let scope = /** @type {Scope} */ (/** @type {any} */ (null))
  for (let i = 0; i < order.length; i++) {
    const item = order[i]
    const isScope = item.variables !== undefined
    for (const around = isScope ? item.parent : item.scope; scope !== around; scope = /** @type {any} */ (scope.parent)) {
      for (const name in scope.variables) current[name] = scope.variables[name].outer
    }
    if (isScope) {
      scope = item
      scope.barrier = scope.isDynamic ? scope : scope.parent && scope.parent.barrier
      for (const name in scope.variables) {
        const variable = scope.variables[name]
        variable.outer = current[name]
        variable.isDynamic ||= scope.hasEval
        current[name] = variable
      }
      continue
    }
    const { name } = item
    const isFunction = item.isWritten === undefined // no reference
    if (isFunction && isHoisting) hoist(item)
    if (isFunction || isHoisting) continue
    const variable = current[name]
    item.isDynamic = scope.barrier !== null && (!variable || variable.scope.depth < scope.barrier.depth)
    if (variable) {
      variable.isDynamic ||= item.isDynamic
      variable.isAssigned ||= item.isWritten && item.variable !== variable
    }
    if (item.variable) { // a `var`, which may mean the parameter of a `catch`
      item.variable.isDynamic ||= item.isDynamic
      item.variable = variable
    } else {
      item.variable = variable ?? null
      append(variable ? variable.references : free[name] ??= [], item)
    }
  }
  return free
}

/** @param {Node} id of a function in a block */
function hoist(id) {
  const { variable, scope: block } = id
  const { scope } = block.facts
  let other = variable.outer
  while (other?.kind === 'catch' && other.scope.node.param.type === 'Identifier') other = other.outer
  const isFree = other?.scope.facts !== scope.facts
  if (isFree || (other.scope === scope && (other.kind === 'var' || other.kind === 'function'))) {
    declare(id, 'var', block, scope).isAssigned = true
  }
}

// ------------------------------------------------------------------------------------------- 8c generators

/** The text between two places, edited. @typedef {{ edits: Edit[], from: number, to: number }} Range */
/** Texts and ranges, and lists of such. @typedef {any} Pieces */
/** @typedef {string | Pieces[]} Text */
/**
 * A change of the source: where it is, its rank, the other end of what it opens or closes, the text, and where ends
 * what it replaces. Where several meet, what ends comes before what begins, and what encloses is outside: the rank is
 * negative for what ends, and among those that enclose the same text that of the outer is nearer to 0.
 *
 * @typedef {{ at: number, rank: number, other: number, text: Text, to: number }} Edit
 */

const NAME_PART = /[^\s!-#%-/:-@[\]^`{-~]/

const BODY_EDGE = 1
const STATEMENT_EDGE = 2
const EXPRESSION_EDGE = 3
const REPLACES = 4

/** Sorts edits, as `print` needs them. @param {Edit[]} edits */
const inOrder = edits => sort(edits, (/** @type {Edit} */ a, /** @type {Edit} */ b) =>
  a.at - b.at || sign(a.rank) - sign(b.rank) || b.other - a.other || a.rank - b.rank)

/**
 * @param {string} source @param {(string | Range)[]} pieces @param {number[]} [kept] gets what of the source stays, as mapOf takes it
 * @returns {string} the edited text, however deep ranges stand in edits
 */
function print(source, pieces, kept) {
  let result = ''
  /** What is being printed, of what, and so on: ranges, and lists of pieces. @type {any[]} */
  const stack = [pieces]
  /** Of each, which edit or piece comes next; and of a range, the place in the source. */
  const nexts = [0]
  const places = [0]
  for (let depth = 0; depth >= 0;) {
    const around = stack[depth]
    const next = nexts[depth]++
    /** @type {any} */
    let piece
    if (isArray(around)) {
      piece = around[next]
    } else {
      const { edits, from, to } = around
      const place = places[depth]
      /** @type {Edit | undefined} */
      const edit = edits[next]
      const isLast = edit === undefined || edit.at > to || (edit.at === to && edit.rank > 0)
      if (!isLast && (edit.at < place || (edit.at === from && edit.rank < 0))) continue // not in it, or inside of what has been moved
      const end = isLast ? to : edit.at
      if (end > place) {
        if (kept) append(kept, result.length, place, end - place)
        result += cut(source, place, end)
      }
      if (!isLast) {
        if (end > place && edit.rank > 0 && isGlued(source, end, edit.text)) result += ' '
        places[depth] = edit.to
        piece = edit.text
      }
    }
    if (piece === undefined) {
      depth--
    } else if (typeof piece === 'string') {
      result += piece
    } else {
      const from = isArray(piece) ? 0 : piece.from
      stack[++depth] = piece
      places[depth] = from
      nexts[depth] = isArray(piece) ? 0 : firstOf(piece.edits, (/** @type {Edit} */ { at }) => at >= from)
    }
  }
  return result
}

/** Whether a text would be one word with what is before it: minified code has no space before a parenthesis, as `return(a)=>b`. @param {string} source @param {number} at @param {Text} text */
function isGlued(source, at, text) {
  while (isArray(text)) text = text[0]
  return typeof text === 'string' && matches(/^[\w$]/, text) && matches(NAME_PART, source[at - 1])
}

/** What rewritten text refers to. @type {Record<string, string>} */
const HELPERS = {
  t: 'twin',
  Q: 'withStub',
  e: 'enter',
  w: 'awaited',
  a: 'apply',
  n: 'construct',
  g: 'run',
  q: 'suspended',
  v: 'over',
  u: 'again',
  y: 'wait',
  c: 'each',
  k: 'collect',
  j: 'binding',
  i: 'iterate',
  d: 'drive',
  z: 'prototypeOf',
  m: 'named',
  M: 'asMethod',
  E: 'enterMethod',
  H: 'frame',
  S: 'suspend',
  P: 'plain',
  W: 'walk',
  X: 'rethrow',
  A: 'away',
  C: 'body',
  h: 'short'
}

/** Without spaces, but between words. @param {string} text */
function terse(text) {
  const words = split(text, ' ')
  let result = words[0]
  for (let i = 1; i < words.length; i++) {
    const isBetween = matches(/[\w$]$/, words[i - 1]) && matches(/^[\w$]/, words[i])
    result += isBetween ? ` ${words[i]}` : words[i]
  }
  return result
}

/**
 * The text of a generator function, as it is planned.
 *
 * @typedef {object} Draft
 * @property {string} source
 * @property {string} our what our names begin with, and none in the source
 * @property {string} unit what those begin with that are global, and of this text alone
 * @property {Record<string, Node[]>} free the names that the source does not declare, and where they are used
 * @property {Edit[]} edits
 * @property {Set<string>} variables those of ours that it declares
 * @property {{ has(node: Node): any }} written calls that may yield, and statements that begin with a point
 * @property {(key: string) => string} helper what of HELPERS is called
 * @property {Map<string, string> | null} keepers what finds entries, by the names of callees
 * @property {Set<Node> | null} inlined gets the calls that are made where they stand; null: there are to be none
 * @property {(text: string) => string} spell
 * @property {string} budget the name of the budget
 * @property {string} begin what it begins with
 * @property {string} steps the name of its Steps, where those who ask a generator for a step go on with it later
 * @property {string} self what `this` is
 * @property {boolean} isOfModule
 * @property {boolean} isCounted whether points count the budget
 * @property {Framed | null} framed where it leaves frames, and is no generator
 */
/**
 * A call that may be preempted.
 *
 * @typedef {object} CallSite
 * @property {Node} node
 * @property {string} kind 'call', 'member', 'new', 'tag'
 * @property {Plan | null} target the function that it calls, where that is known
 * @property {boolean} isAwaited
 * @property {string | null} name what is called instead, by its name
 * @property {boolean} isComposed whether its text has been composed of that of its parts; where the callee is known
 * @property {Pieces[]} before the arguments, there
 * @property {Pieces[]} after them
 */

/** @param {Node} node @param {string} kind @param {Plan | null} target @param {Node} own @returns {CallSite} */
const callSite = (node, kind, target, own) =>
  ({ node, kind, target, isAwaited: isAwaited(node, own), name: null, isComposed: false, before: [], after: [] })

// Edits

/** What an edit is added to: a draft, or a list of them. @typedef {{ edits: Edit[] }} Draftlike */
/** @param {Draftlike} draft @param {number} at @param {number} rank @param {number} other @param {Text} text */
const insert = ({ edits }, at, rank, other, text, to = at) => append(edits, { at, rank, other, text, to })
/** @param {Draftlike} draft @param {number} from @param {number} to @param {number} rank @param {Text} before @param {string} after */
const enclose = (draft, from, to, rank, before, after) => {
  insert(draft, from, rank, to, before)
  insert(draft, to, -rank, from, after)
}
/** @param {Draftlike} draft @param {number} from @param {number} to @param {Text} text */
const replace = (draft, from, to, text) => insert(draft, from, REPLACES, to, text, to)
/** @param {Draftlike} draft @param {number} from @param {number} to @returns {Range} */
const range = ({ edits }, from, to) => ({ edits, from, to })

/** Names a variable. @param {Draft} draft @param {string} key */
function variable({ our, variables }, key) {
  variables.add(our + key)
  return our + key
}

/** Tells one text from others. @param {string} text @returns {string} */
function hashOf(text) {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + codeAt(text, i)) | 0
  return digitsOf(hash >>> 0, 36)
}

/** What no name of a text begins with, if a letter or a digit follows. @param {string} text */
function prefixFor(text) {
  const names = /\$(_*)[^\W_]/g
  const taken = emptySet()
  if (matches(/\\u(?:0024|\{0*24\})/, text)) text = withoutEscapes(text)
  for (let match; (match = exec(names, text));) taken.add(`$${match[1]}`)
  let our = '$'
  while (taken.has(our)) our += '_'
  return our
}

// Places

/** The next place of a token that is not in a comment. @param {string} source @param {string} token @param {number} at */
function seek(source, token, at) {
  while (!startsWith(source, token, at = pastSpace(source, at))) at++
  return at
}

/** After the parentheses that close at a place. @param {string} source @param {number} at */
function pastParentheses(source, at) {
  for (let next; source[next = pastSpace(source, at)] === ')';) at = next + 1
  return at
}

/** Where the arguments of a callee begin, or the member of an object. @param {string} source @param {number} at */
const pastOperand = (source, at) => pastSpace(source, pastParentheses(source, at))

/** After the directives of a list of statements. @param {Node[]} body @param {number} at */
function pastDirectives(body, at) {
  for (let i = 0; i < body.length && body[i].directive !== undefined; i++) at = body[i].end
  return at
}

/** What holds a parameter of a twin that leaves frames. @param {Draft} draft @param {Node} param @returns {string} */
const parameterOf = ({ our, source }, { type, argument, start, end }) =>
  type === 'Identifier' ? cut(source, start, end) : argument ? cut(source, argument.start, argument.end) : `${our}a${start}`

/** @param {Node} node @param {(node: Node) => any} isWanted @returns {boolean} whether it, or one of those it is made of, is wanted */
function some(node, isWanted) {
  const stack = [node]
  while (stack.length) {
    const next = takeLast(stack)
    if (isWanted(next)) return true
    const fields = fieldsOf(next)
    for (let k = 0; k < fields.length; k++) {
      const part = next[fields[k].key]
      if (isArray(part)) for (let i = 0; i < part.length; i++) part[i] && append(stack, part[i])
      else if (part?.type) append(stack, part)
    }
  }
  return false
}

// Points

/**
 * Parts of the text that make it quicker, and not different: without any of them it is right. Without chunks a sieve takes 2.2
 * times as long as the original instead of 1.6, a matrix product 3.7 instead of 2; without frames fib(25) 12 instead of 2, a queue of tasks 10 to 13 instead of 6.
 */
const optimisations = { chunk, frame, keeper, handed }

/** @param {Node} node @param {Node} own the function that it is in @returns {boolean} whether it is in the body of a `with` */
function isInWith(node, own) {
  if (own.facts.hasWith) for (; node !== own; node = node.parent) if (node.parent.type === 'WithStatement') return true
  return false
}

/** A statement that yields on a condition. @param {Draft} draft @param {string} condition */
const pause = ({ steps, framed }, condition) => framed ? pointWhere(framed, condition)
  : steps ? `if (${condition} && ${steps}.on) yield ${steps};` : `if (${condition}) yield;`

/**
 * A point. In the body of a `with` no name is sure to be ours; `super` is.
 *
 * @param {Draft} draft @param {Node} node @param {Node} own
 */
const pointIn = (draft, node, own) => draft.isCounted
  ? draft.spell(pause(draft, `--${isInWith(node, own) ? 'super.' : ''}${draft.budget}.left <= 0`)) : 'yield;'

/** @param {Node} node of any kind @returns {boolean} whether it is a statement, and but a chain that ends with a call */
function isCallStatement({ type, start, expression }) {
  if (type !== 'ExpressionStatement' || expression.start !== start) return false
  const { type: kind } = expression.type === 'ChainExpression' ? expression.expression : expression
  return LISTS[kind] === 'calls' && kind !== 'NewExpression'
}

/** Whether a statement stands where declarations may. @param {Node} statement */
const isInList = ({ parent: { type } }) => type === 'BlockStatement' || type === 'SwitchCase'

/** Whether a node keeps the code around it from being moved, as it may yield or keep variables. @param {Draft} draft @param {Node} node */
const staysInPlace = ({ written }, node) => written.has(node) || node.facts || node.type === 'ClassBody' ||
  matches(/^(?:loop|await|yield)s$/, LISTS[node.type] ?? '') || isDirectEval(node)

/**
 * Plans a generator function: points where it and the bodies of its loops begin, calls that may yield, and what is awaited.
 *
 * @param {Draft} draft @param {{ node: Node, facts: Facts, calls: CallSite[] }} plan
 */
function planTwin(draft, { node, facts, calls }) {
  const { source, helper, steps } = draft
  const { body } = node
  for (let i = 0; i < calls.length; i++) planCall(draft, calls[i])
  for (let i = 0; i < facts.awaits.length; i++) {
    const { start, end } = facts.awaits[i]
    if (start < body.start) continue
    insert(draft, start, EXPRESSION_EDGE, end, `(yield ${helper('y')}(`, start + 5)
    insert(draft, end, -EXPRESSION_EDGE, start, '))')
    part(draft, facts.awaits[i])
  }
  for (let i = 0; i < facts.loops.length; i++) {
    if (facts.loops[i].start > body.start) planLoop(draft, facts.loops[i], node)
  }
  if (draft.isOfModule) {
    for (let i = 0; i < facts.yields.length; i++) {
      const { start, end, delegate } = facts.yields[i]
      if (delegate) enclose(draft, pastSpace(source, seek(source, '*', start + 5) + 1), end, STATEMENT_EDGE, `${steps}.d(`, ')')
    }
    planCollected(draft, facts.spreads, body)
    planCollected(draft, facts.calls, body)
  }
  planBeginning(draft, node)
}

/** Begins a body: after its directives, with variables of ours and a point. @param {Draft} draft @param {Node} own */
function planBeginning(draft, own) {
  const { variables, begin, spell } = draft
  const { body } = own
  const isBlock = body.type === 'BlockStatement'
  const at = isBlock ? pastDirectives(body.body, body.start + 1) : body.start
  const declared = variables.size ? ` let ${join(listOf(variables), ', ')};` : ''
  insert(draft, at, isBlock ? -BODY_EDGE : BODY_EDGE, Infinity,
    spell(`${isBlock && at > body.start + 1 ? ';' : ''}${declared}${begin} ${pointIn(draft, body, own)}`) + (isBlock ? '' : `${spell(' ')}return `))
}

/** What is spread, or what a collection is made of. @param {Draft} draft @param {Node[]} nodes @param {Node} body */
function planCollected(draft, nodes, body) {
  pick(nodes, node => {
    if (node.start < body.start || !isCollected(node)) return
    const { start, end } = node.argument ?? node.arguments[0]
    enclose(draft, start, end, STATEMENT_EDGE, `${opening(draft)}${way(draft, 'k')}((`,
      `)${node.callee?.name === 'Map' ? ',!0' : ''})${closing(draft)}`)
  })
}

/** A statement that begins with a parenthesis now would go on with the line before it. @param {Draft} draft @param {Node} node what begins so */
function part(draft, node) {
  let top = node
  while (top.parent.start === node.start && top.parent.type !== 'ExpressionStatement') top = top.parent
  const statement = top.parent
  if (statement.type !== 'ExpressionStatement' || statement.start !== node.start || statement.partedIn === draft) return
  statement.partedIn = draft
  if (isInList(statement)) insert(draft, statement.start, STATEMENT_EDGE, Infinity, ';')
}

/** @param {Draft} draft @param {Node} loop @param {Node} own */
function planLoop(draft, loop, own) {
  if (optimisations.chunk(draft, loop, own)) return
  const { start, end } = loop.body
  if (loop.await) planForAwait(draft, loop)
  else if (loop.type === 'ForOfStatement' && draft.isOfModule && !isOfEngine(loop.right)) planForOf(draft, loop)
  const point = pointIn(draft, loop.body, own)
  const { spell } = draft
  if (loop.body.type === 'BlockStatement') insert(draft, start + 1, BODY_EDGE, end, spell(` ${point}`))
  else enclose(draft, start, end, BODY_EDGE, spell(`{ ${point} `), spell(' }'))
}

/** Each step is a yielded promise, and there is one as long as the body runs; the labels stay with the loop. @param {Draft} draft @param {Node} loop */
function planForAwait(draft, loop) {
  const { source, our, helper, spell } = draft
  const { start, end, left, right, body } = loop
  const open = seek(source, '(', start)
  const of = seek(source, 'of', left.end)
  const close = pastParentheses(source, right.end) - 1
  const iterator = `${our}iterator`
  const step = `${our}step`
  const error = `${our}error`
  enclose(draft, labelsOf(draft, loop).start, end, STATEMENT_EDGE,
    [spell(`{ const ${iterator} = ${helper('i')}(`), range(draft, pastSpace(source, of + 2), close), spell(`); let ${step}; try { `)],
    spell(` } catch (${error}) { if (${step}) yield ${iterator}.throw(${error}); throw ${error} } ` +
      `finally { if (${step}) yield ${iterator}.return() } }`))
  replace(draft, start, close + 1, spell(`for (; ${step} = (yield ${iterator}.next()).value; ${step} = null)`))
  // An object pattern at the beginning of a statement would be a block.
  enclose(draft, body.start, body.end, BODY_EDGE, [spell(`{ ${left.type === 'VariableDeclaration' ? '' : '0, '}`),
    range(draft, pastSpace(source, open + 1), of), spell(` = ${step}.value; `)], spell(' }'))
}

/**
 * What is iterated may give `budget` where a step has not ended, and what is pending then is the rest of it.
 *
 * @param {Draft} draft @param {Node} loop
 */
function planForOf(draft, { start, left, right, body }) {
  const { source, our, budget } = draft
  const open = seek(source, '(', start)
  const of = seek(source, 'of', left.end)
  const from = pastSpace(source, of + 2)
  enclose(draft, from, pastParentheses(source, right.end) - 1, BODY_EDGE, `${way(draft, 'c')}(`, ')')
  replace(draft, open, of, `(const ${our}x `)
  enclose(draft, body.start, body.end, BODY_EDGE / 2, [`{if(${our}x===${budget}){yield ${way(draft, 'q')}();continue}${left.type === 'VariableDeclaration' ? '' : '0,'}`,
    range(draft, pastSpace(source, open + 1), of), `=${our}x;`], '}')
}

/** The labels of a statement, and where they start. @param {Draft} draft @param {Node} statement */
function labelsOf(draft, statement) {
  let text = ''
  for (; statement.parent.type === 'LabeledStatement'; statement = statement.parent) {
    text = `${labelOf(draft, statement.parent.label)}: ${text}`
  }
  return { start: statement.start, text }
}

/** A label may be called `yield`, where no generator was. @param {Draft} draft @param {Node} label */
const labelOf = ({ our, source }, { name, start, end }) => name === 'yield' ? `${our}yield` : cut(source, start, end)

/**
 * Has a loop run in chunks of a budget. A counted point in a loop costs more by the yield that the compiler finds there
 * than by the counting. So where nothing in it may yield, or keep one of its variables:
 *
 *   for (init; test; update) body  ->  for (init;;) {
 *                                        for (; (test) && there are points left; update) body
 *                                        if (it has ended) break
 *                                        if (the job is to hand over) yield
 *                                      }
 *
 * Where something is called that may cut the budget, the budget itself is counted down. After a yield its test is
 * not asked again. Otherwise a copy is counted, before the test, and the budget is -1 meanwhile; if a member may
 * cut it, it is looked at.
 *
 * @param {Draft} draft @param {Node} loop @param {Node} own @returns {boolean} whether it does
 */
function chunk(draft, loop, own) {
  const { source, helper, spell } = draft
  const { type, start, end, init, test, body } = loop
  if (!draft.isCounted || loop.left || isInWith(loop, own)) return false
  let hasCalls = false
  /** Whether it has members or iterates, which may run code that nobody sees. */
  let hasMembers = false
  /** Whether a statement in it may leave it. */
  let hasExits = false
  const stays = some(loop, node => {
    if (node !== loop && staysInPlace(draft, node)) return true
    const { type, object, computed } = node
    hasCalls ||= type === 'ImportExpression' || (LISTS[type] === 'calls' && (type === 'TaggedTemplateExpression' || kindOf(node) !== ''))
    hasMembers ||= type === 'MemberExpression' ? !computed && !(object.name === 'Math' && object.variable === null)
      : matches(/^(?:Spread|ArrayP|ObjectP|TemplateL)/, type)
    hasExits ||= matches(/^(?:Return|Throw)/, type) || (matches(/^(?:Break|Continue)/, type) && node.label)
  })
  if (stays) return false
  const isFor = type === 'ForStatement'
  const isDo = type === 'DoWhileStatement'
  const open = seek(source, '(', isDo ? seek(source, 'while', body.end) : start)
  const testFrom = pastSpace(source, (isFor ? seek(source, ';', init ? init.end : open + 1) : open) + 1)
  const testTo = !test ? testFrom : isFor ? seek(source, ';', test.end) : pastParentheses(source, test.end) - 1
  const left = `${draft.budget}.left`
  const count = variable(draft, 'l')
  const settle = ` if (${left} < 0) ${left} = ${count};`
  const check = hasCalls ? `(${count} = --${left}) > 0`
    : hasMembers ? `(${count} = ${left} ? ${count} - 1 : 0) > 0` : `--${count} > 0`
  const { 0: begin, 1: stop, 2: handOver } = hasCalls ? ['', '', `${count} = 1; ${pause(draft, `${helper('v')}()`)} ${count} = 0;`]
    : [`${count} = ${left}; ${left} = -1; ${hasExits ? 'try { ' : ''}`, hasExits ? ` } finally {${settle} }` : settle,
        pause(draft, `${helper('v')}()`)]
  const { 0: opening, 1: closing } = isDo ? ['(', `) && ${check}`] : !test ? [check, '']
    : hasCalls ? [`(${count} < 1 || (`, `) || !(${count} = 1)) && ${check}`] : [`${check} && (`, ')']
  const labels = labelsOf(draft, loop)
  // Where a frame has been left, it goes on behind the chunk.
  const place = draft.framed ? word(draft.framed, 'K') : ''
  const isAhead = draft.framed && `${place} < ${draft.framed.place}`
  const { 0: unless, 1: then, 2: anew } = isAhead ? [`if (${isAhead}) { `, ' }', ` ${place} = 0;`] : ['', '', '']
  if (isAhead && init) enclose(draft, init.start, pastParentheses(source, init.end), EXPRESSION_EDGE, `${isAhead}&&(`, ')')
  insert(draft, isFor ? testFrom : start, STATEMENT_EDGE, end, spell(`${isFor ? '' : 'for (;'};) { ${unless}${begin}` +
    `${isDo ? `if (${check}) ` : ''}${labels.text}${isFor ? 'for (; ' : ''}`))
  enclose(draft, testFrom, testTo, BODY_EDGE, spell(opening), spell(closing))
  replace(draft, labels.start, start, '')
  insert(draft, end, -STATEMENT_EDGE, start, spell(`;${stop} if (${count} > 0) break;${then} ${handOver}${anew} ${helper('u')}() }`))
  return true
}

// Calls

/** @param {Node} call at the end of its chain @param {Node} own @returns {boolean} whether it is waited for: as `await f()` is, and what an async function returns */
function isAwaited({ parent }, own) {
  if (parent.type === 'ChainExpression') parent = parent.parent
  if (parent.type === 'AwaitExpression') return true
  return own.async && parent.type === 'ReturnStatement' && isLastIn(parent, own)
}

/** @param {Node} node @param {Node} own the function that it is in @returns {boolean} whether nothing is closed or disposed of after it */
function isLastIn(node, own) {
  for (; node !== own; node = node.parent) if (node.disposes || matches(/^(?:Try|ForOf)/, node.type)) return false
  return true
}

/** What is called. @param {Node} call @returns {Node} */
const calledIn = ({ callee, tag }) => callee ?? tag

/** @param {Node} node @returns {boolean} whether it is what is called, by no `new` */
const isCalled = node => node.parent.type !== 'NewExpression' && calledIn(node.parent) === node

/** @param {Node} node @returns {Node} the last of its chain */
function lastAfter(node) {
  for (;;) {
    const { type, object, callee, tag } = node.parent
    if (object !== node && tag !== node && (callee !== node || type !== 'CallExpression')) return node
    node = node.parent
  }
}

/** What of HELPERS is called, or a method of its Steps. @param {Draft} draft @param {string} key */
const way = ({ steps, helper }, key) => steps ? `${steps}.${key}` : helper(key)

// A call that may yield gives `budget` where it has not returned, and what is yielded then is the rest of it.

/** @param {Draft} draft @returns {string} what begins a call that may yield */
const opening = draft => draft.framed ? '' : `((${variable(draft, 'r')}=`

/** @param {Draft} draft */
const closing = draft => draft.framed ? '' : `)===${draft.budget}?yield ${way(draft, 'q')}():${variable(draft, 'r')})`

/**
 * Makes a call one that may yield:
 *
 *   f(a)        ->  ((r = enter(f)(a)) === budget ? yield suspended() : r)
 *   a.b(c)      ->  ((r = enterMethod((o = a).b).call(o, c)) === ...)
 *   a?.b(c).d   ->  ((o = a) == null ? void 0 : ((r = enterMethod(o.b).call(o, c)) === ...).d)
 *
 * @param {Draft} draft @param {CallSite} call
 */
function planCall(draft, call) {
  const { node, kind } = call
  const chain = lastAfter(node).parent
  const isChain = chain.type === 'ChainExpression' && kind !== 'new' && kind !== 'tag'
  if (!isChain && isAsItIs(draft, call)) return
  if (!draft.framed) part(draft, node)
  if (!isChain) planLink(draft, call, -1)
  else if (chain.plannedIn !== draft) planChain(draft, chain)
}

/** Whether a private method is not part of its caller: a generator cannot look it up. @param {Draft} draft @param {CallSite} call */
const isAsItIs = ({ steps }, { kind, target, isAwaited }) => kind === 'member' && target !== null && isPrivate(target) &&
  (steps !== '' || (target.facts.isAsync && !isAwaited))

/**
 * What is called in the place of a callee that is known.
 *
 * @param {Draft} draft @param {CallSite} call
 * @returns {{ callee: Node, name: string, isGenerator: boolean } | null} what makes a generator has to be run
 */
function directOf({ our, steps }, { node, kind, target, name }) {
  const callee = calledIn(node)
  if (name !== null) return { callee, name, isGenerator: false }
  if (!target || !target.isLong) return null
  if (kind === 'call' && steps === '' && target.isDirect && !node.optional) {
    const { twin, entry } = target
    return { callee, name: entry || twin, isGenerator: entry === '' }
  }
  if (kind !== 'member' || !isPrivate(target) || lastAfter(node).parent.type === 'ChainExpression') return null
  return { callee: callee.property, name: `#${target.twin}`, isGenerator: !target.frame }
}

/**
 * What finds the entry of a method, or of what is declared where code runs once, is a helper for all of its name. It keeps what it
 * has found last: mostly that is the same function, and to ask a function for its twin takes 10 to 20 ns. Without this acorn, sucrase
 * and planck take 1.1 to 1.2 times as long as jobs, a SHA-256 of small functions of other modules 2.7 times. The last function that
 * was called by a name is not collected.
 *
 * @param {Draft} draft @param {Node} callee @param {boolean} isMethod whether what is found is asked to `call`
 * @returns {string | null} what that helper is called; null: there is none
 */
function keeper({ helper, unit, steps, keepers }, callee, isMethod) {
  if (steps || keepers === null) return null
  const called = callee.type === 'SequenceExpression' ? callee.expressions[callee.expressions.length - 1] : callee // `(0, a.b)(c)`
  const isLasting = isFixed(called.variable) && called.variable.scope.facts.node.plan.isOnce
  const name = isMember(called) ? keyOf(called) : isLasting ? called.name : ''
  if (name === '') return null
  helper(isMethod ? 'E' : 'e')
  const key = isMethod ? `.${name}` : name
  if (!keepers.has(key)) keepers.set(key, `${unit}${keepers.size}k`)
  return keepers.get(key) ?? null
}

/**
 * What stands before and after the method of a member call. With Reflect.apply instead of its `call`, a Markdown editor takes 3.9 instead of
 * 2.1 times as long as plain code (Firefox 153), a SHA-256 of classes 413 instead of 320 ms (Node 20).
 *
 * @param {Draft} draft @param {Node} callee @param {boolean} isAwaited @returns {[string, string]}
 */
function aroundMethod(draft, callee, isAwaited) {
  const found = isAwaited ? null : optimisations.keeper(draft, callee, true)
  if (found || (!draft.steps && !isAwaited)) return [`${found ?? draft.helper('E')}(`, ').call(']
  return [`${draft.helper('M')}(${way(draft, isAwaited ? 'w' : 'e')}(`, ')).call(']
}

/** Methods of arrays that call back, and that engines inline. */
const INLINED = /^(?:forEach|map|filter|some|every|find|findIndex)$/

/**
 * What cannot run long, and is given to a method of an array, is called by the engine's own where the array is short: where that
 * stands in the text, engines inline both. Where most is maps of 2000, a job takes 1.4 to 1.75 times as long as plain code,
 * without this 2.0 to 2.6 times (Chromium 156).
 *
 *   a.map(f)  ->  (short(a, g = (0, f)) ? a.map(g) : enterMethod(a.map).call(a, g))
 *
 * @param {Draft} draft @param {CallSite} call @returns {boolean} whether it is one of those
 */
function handed({ steps, inlined }, { node, kind }) {
  if (steps || inlined === null || kind !== 'member') return false
  const { callee, arguments: given, optional } = node
  if (optional || callee.optional || callee.computed || callee.object.type === 'Super' || !matches(INLINED, keyOf(callee))) return false
  if (given.length !== 1 || !isFunctionNode(given[0]) || given[0].plan.isLong || lastAfter(node).parent.type === 'ChainExpression') return false
  inlined.add(node)
  return true
}

/** What stands before and after the function that is given. @param {Draft} draft @param {CallSite} call @param {Pieces} receiver @returns {[Pieces, Pieces]} */
function textOfHanded(draft, { node: { callee }, isAwaited }, receiver) {
  const held = variable(draft, 'f')
  const method = `.${callee.property.name}`
  const { 0: before, 1: after } = aroundMethod(draft, callee, isAwaited)
  return [`,${held}=(0,`, [`))?`, receiver, `${method}(${held}):${before}`, receiver, `${method}${after}`, receiver, `,${held}))`]]
}

/** @param {Draft} draft @param {CallSite} call @param {number} begin where its text begins, if that is behind an optional link */
function planLink(draft, call, begin) {
  const { source, helper } = draft
  const { node, kind, isAwaited } = call
  const { start, end, optional } = node
  const callee = calledIn(node)
  const from = begin < 0 ? start : begin
  const enter = () => !isAwaited && optimisations.keeper(draft, callee, false) || way(draft, isAwaited ? 'w' : 'e')
  const open = pastOperand(source, callee.end)
  let before = ''
  let after = ''
  let to = from
  const direct = directOf(draft, call)
  if (direct) {
    replace(draft, direct.callee.start, direct.callee.end, direct.name)
    if (optional) replace(draft, open, open + 2, '')
    if (direct.isGenerator) {
      before = `${helper('g')}(`
      after = ')'
    }
  } else if (kind === 'new') {
    const isList = open < end && source[open] === '('
    to = start + 3
    before = `${way(draft, 'n')}(`
    after = isList ? '' : ',[])'
    if (isList) {
      replace(draft, open, open + 1, ',[')
      replace(draft, end - 1, end, '])')
    }
  } else if (kind === 'tag') {
    before = `${enter()}(`
    insert(draft, node.quasi.start, -EXPRESSION_EDGE, start, ')')
  } else if (kind === 'call') {
    before = `${enter()}(`
    replace(draft, open, open + 1, ')(')
  } else if (optimisations.handed(draft, call)) {
    const { object } = callee
    const { 0: given } = node.arguments
    const { 0: opened, 1: closed } = textOfHanded(draft, call, planReceiver(draft, callee, begin))
    before = `(${helper('h')}(`
    replace(draft, pastOperand(source, object.end), given.start, opened)
    replace(draft, given.end, end, closed)
  } else {
    const { 0: opened, 1: closed } = aroundMethod(draft, callee, isAwaited)
    before = opened
    replace(draft, open, open + 1, `${closed}${planReceiver(draft, callee, begin)}${node.arguments.length ? ',' : ''}`)
  }
  insert(draft, from, EXPRESSION_EDGE, end, opening(draft) + before, to)
  insert(draft, end, -EXPRESSION_EDGE, from, after + closing(draft))
}

/** @param {Draft} draft @param {Node} member @param {number} begin as of planLink @returns {string} what is `this` */
function planReceiver(draft, member, begin) {
  const { object, start } = member
  if (object.type === 'Super' || object.type === 'ThisExpression') return draft.self
  const isSteady = object.type === 'Identifier' && isFixed(object.variable) && !matches(/^(?:arguments|yield)$/, object.name) &&
    !isAliased(object.variable)
  if (isSteady && begin < 0) return object.name
  const receiver = objectOf(draft, member)
  const dot = pastOperand(draft.source, object.end)
  if (begin === dot) return receiver // an optional link has put it there
  insert(draft, begin < 0 ? start : begin, STATEMENT_EDGE, dot, `(${receiver}=`)
  insert(draft, dot, -STATEMENT_EDGE, start, ')')
  return receiver
}

/** What holds the object of a member, until that is called: another call in its brackets may need one, too. @param {Draft} draft @param {Node} member */
function objectOf(draft, { property, computed, start }) {
  return variable(draft, !computed || property.type === 'Literal' || property.type === 'Identifier' ? 'o' : `o${start}`)
}

/** What cuts a chain short cuts all of it short. @param {Draft} draft @param {Node} chain */
function planChain(draft, chain) {
  const { source, helper } = draft
  const { start, end } = chain
  chain.plannedIn = draft
  /** @type {Node[]} */
  const links = []
  for (let link = chain.expression; isMember(link) || link.type === 'CallExpression'; link = link.object ?? link.callee) append(links, link)
  let begin = -1
  while (links.length) {
    const link = takeLast(links)
    const { call, optional } = link
    const inner = link.object ?? link.callee
    if (!optional || call?.name) {
      if (call) planLink(draft, call, begin)
      continue
    }
    const at = pastOperand(source, inner.end)
    const from = begin < 0 ? start : begin
    if (isMember(link)) {
      const object = objectOf(draft, link)
      insert(draft, from, EXPRESSION_EDGE, end, `((${object}=`)
      replace(draft, at, at + 2, source[pastOperand(source, at + 2)] === '[' ? object : `${object}.`)
    } else {
      const isMethod = isMember(inner)
      const held = variable(draft, 'f')
      const callee = call ? `${way(draft, call.isAwaited ? 'w' : 'e')}(${held})` : held
      insert(draft, from, EXPRESSION_EDGE, end, `((${held}=`)
      const calling = isMethod ? `${helper('M')}(${callee}).call(${planReceiver(draft, inner, begin)}${link.arguments.length ? ',' : ''}` : `${callee}(`
      insert(draft, at, EXPRESSION_EDGE, link.end, (call ? opening(draft) : '') + calling)
      replace(draft, at, pastOperand(source, at + 2) + 1, '')
      if (call) insert(draft, link.end, -EXPRESSION_EDGE, at, closing(draft))
    }
    insert(draft, at, STATEMENT_EDGE, end, ')==null?void 0:')
    insert(draft, end, -STATEMENT_EDGE, from, ')')
    begin = at
  }
}

/** A generator function. @param {Draft} draft @param {{ node: Node, facts: Facts, twin: string }} plan @returns {any[]} */
function textOfTwin({ edits, steps, spell, isOfModule }, { node, facts, twin }) {
  const { params, body } = node
  const { start: from, end: to, type } = body
  const list = params.length ? { edits, from: params[0].start, to: params[params.length - 1].end } : ''
  const head = !isOfModule ? '' : isPrivate({ node, facts }) ? `*#${twin}` : facts.usesSuper ? '*m' : `function*${twin}`
  const pieces = [steps ? `${head}(${steps}${params.length ? ',' : ''}` : `${head}(`, list, spell(') ')]
  const isBlock = type === 'BlockStatement'
  if (!isBlock) append(pieces, '{')
  append(pieces, { edits, from, to })
  if (!isBlock) append(pieces, spell(' }'))
  return pieces
}

// ---------------------------------------------------------------------------------------------- 8c frames

// Most functions need no generator: their twin stands on the engine's stack, as they do. Where it is suspended, by a call or at a
// point, it leaves its place, the result that it waits for and its variables in a frame, and to resume it is to call it again:
//
//   function f(a) {            function twin(a) { let place = 0, result, b; out: {
//                                if (--left <= 0) if (result = resumed()) ({ place, result, a, b } = result); else break out
//     const b = a + g()          if (place < 1 && (result = enter(g)()) === budget) { place = 1; break out }
//                                if (place < 2) b = a + result
//     return b * h()             if (place < 2 && (result = enter(h)()) === budget) { place = 2; break out }
//   }                            return b * result
//                              } return suspend(twin, { place, result, a, b }, this) }
//
// Places are numbered as they stand in the text; a loop begins each round with none. What is computed before a place and needed
// after it is a variable. Where closures use what changes, or parameters hold expressions, only the first part is called
// once: it has the parameters, what closures use and the functions that are declared; what leaves frames is an arrow function in it.
//
//   function twin(a = f()) { var shared; function inner() { ... } var rest = () => { ... suspend(rest, ...) }; return rest() }
//
// While a frame is left (`counts.away`), nothing around ends: an iterator is not closed, and gives itself where its round goes on; a finalizer
// is passed over, if it has no places; one that has comes after its `try`, which keeps how it ended. What is waited for there and fails is
// thrown where it was called.
//
// In the text T is the twin where it stands in an expression, K the place, r the result, D the room that is left, a1 and so on a parameter that
// is destructured, T1 and so on what is kept, o encloses all of it, and I is the rest. What calls only
// what it returns needs no frame.

/**
 * @typedef {object} Framed a function whose twin leaves frames
 * @property {Draft} draft
 * @property {Node} own
 * @property {Node[]} returns
 * @property {boolean} isTail whether it has nothing to go on from, and leaves none
 * @property {boolean} isShared whether closures share what it declares with it
 * @property {string[]} names of what it declares, but for parameters that are names
 * @property {string[]} shared those that closures use, where they share it
 * @property {Set<string>} numbers of names, those that begin as 0: see isNumber
 * @property {Node[]} functions declared in it, which do
 * @property {Node[]} declarations of variables
 * @property {number} place the last one so far
 * @property {number} temps how many intermediate results are kept, and the most at a time
 * @property {number} mostTemps
 * @property {boolean} nests whether it has calls that may be preempted
 * @property {boolean} isLowered whether a call may have been made, and left less room
 * @property {boolean} hasRestored whether that is given back before another
 * @property {number} depth of the part that is being planned
 * @property {number} around how many statements around have to know when a frame is left: they try, or iterate
 * @property {{ how: string, what: string } | null} ending what keeps how the part ends that is being planned, where a finalizer with places comes next
 * @property {boolean} isRefused whether it holds what nothing can go on from
 */
/**
 * Statements of a twin, the first place in them, if there is one, and whether they look for themselves where it goes on.
 *
 * @typedef {{ pieces: Pieces, first: number, isGuarded: boolean }} Unit
 */

/**
 * Plans a twin that leaves frames.
 *
 * @param {Draft} draft @param {{ node: Node, facts: Facts, children: Plan[], calls: CallSite[] }} plan
 * @returns {any[] | null} the text of its body; null: it is to be a generator
 */
function frame(draft, plan) {
  const { node, facts, calls } = plan
  if (!canLeaveFrame(plan)) return null
  /** @param {Node} part that has a place */
  const hold = part => {
    for (; part !== node && !part.isHeld; part = part.parent) part.isHeld = true
  }
  pick(calls, call => {
    const last = returnOf(call.node, node)
    if (last) last.hasCall = true
    else hold(call.node)
  })
  pick(facts.loops, hold)
  if (draft.isOfModule) {
    pick(facts.spreads, part => part.start > node.body.start && isCollected(part) && hold(part))
    pick(facts.calls, part => isCollected(part) && hold(part))
  } else pick(facts.statements, part => isCallStatement(part) && hold(part))
  let from = 0
  pick(facts.tries, ({ start, finalizer }) => {
    if (!finalizer || !isHeld(finalizer)) return
    for (let i = firstOf(facts.returns, part => part.start > max(start, from)); facts.returns[i]?.end < finalizer.start; i++) hold(facts.returns[i])
    from = max(from, finalizer.start)
  })
  // What it calls is what it returns; but what makes closures may have to be shorter.
  const isTail = draft.isOfModule && !isHeld(node.body) && !find(plan.children, ({ isLong }) => isLong)
  const locals = isTail ? NO_LOCALS : localsOf(node, facts, draft.free)
  if (locals === null) return null
  /** @type {Framed} */
  const framed = { draft, own: node, returns: facts.returns, ...locals, isTail, nests: calls.length > 0, isLowered: false, hasRestored: false, place: 0, temps: 0, mostTemps: 0, depth: 0, around: 0, ending: null, isRefused: false }
  draft.framed = framed
  const { body } = node
  if (isTail) return [body.type === 'BlockStatement' ? '' : 'return ', asItStands(framed, body)]
  /** @type {Unit[]} */
  const units = []
  if (!framed.isShared) {
    pick(node.params, param => matches(/^(?:Array|Object)/, param.type) &&
      emit(units, asStatement(framed, param, [asItStands(framed, param), '=', parameterOf(draft, param), ';'])))
  }
  if (body.type === 'BlockStatement') {
    unitsOf(framed, pick(body.body, ({ type, directive }) => directive === undefined && type !== 'FunctionDeclaration'), units)
  }
  else returned(framed, body, units)
  if (!framed.isRefused) return piecesOfUnits(framed, units)
  unframe(draft)
  return null
}

/** @type {any} */
const NO_LOCALS = { names: [], shared: [], numbers: [], isShared: true, functions: [], declarations: [] }

/** @param {Draft} draft whose twin is to be a generator */
function unframe(draft) {
  draft.framed = null
  draft.variables.clear()
  draft.edits.length = 0
}

/** @param {{ node: Node, facts: Facts }} plan */
const canLeaveFrame = ({ facts: { isAsync, isGenerator, scope } }) => !isAsync && !isGenerator && !scope.hasEval

/**
 * The variables that a function declares, as far as they can be those of one twin after the other: what it declares stands at the top of
 * the twin, and what closures in it use never changes, or is shared with them.
 *
 * @param {Node} own @param {Facts} facts @param {Record<string, Node[]>} free as of names
 * @returns {{ names: string[], shared: string[], numbers: Set<string>, isShared: boolean, functions: Node[],
 *   declarations: Node[] } | null} null where they cannot
 */
function localsOf(own, facts, free) {
  /** @type {Record<string, Variable[]>} */
  const locals = create(null)
  const declarations = emptySet()
  /** @type {Node[]} */
  const functions = []
  const numbers = emptySet()
  pick(facts.functions, ({ node }) => node.type === 'FunctionDeclaration' && append(functions, node))
  const scopes = pick(facts.scopes, ({ node }) => node === own || node.start >= own.body.start && !isFunctionNode(node))
  if (find(functions, ({ parent }) => parent !== own.body) || find(scopes, ({ node }) => matches(/^Class/, node.type))) return null
  let isShared = functions.length > 0 || facts.usesArguments || facts.usesSuper || isPrivate({ node: own, facts }) || own.scope.isSplit ||
    find(own.params, ({ argument }) => argument && argument.type !== 'Identifier') !== undefined
  /** @type {Variable[]} */
  const destructured = []
  const calledAt = firstUse(functions)
  for (let i = 0; i < scopes.length; i++) {
    const { variables } = scopes[i]
    const names = keysOf(variables)
    for (let k = 0; k < names.length; k++) {
      const variable = variables[names[k]]
      if (!canBeKept(variable, own, facts, functions, calledAt)) return null
      if (isCaptured(variable, facts)) isShared ||= isChanging(variable, own)
      else variable.isNumber = isNumber(variable)
      if (isDestructured(variable, own)) append(destructured, variable)
      if (!matches(/^(?:var|let|const)$/, variable.kind) && !isOfHeldCatch(variable)) continue
      append(locals[names[k]] ??= [], variable)
      if (variable.kind !== 'catch') for (let i = 0; i < variable.declarations.length; i++) declarations.add(declaratorOf(variable.declarations[i]).parent)
    }
  }
  if (!isShared) pick(destructured, variable => append(locals[variable.name] ??= [], variable))
  const names = keysOf(locals)
  for (let i = 0; i < names.length; i++) {
    const variables = locals[names[i]]
    const parameter = own.scope.variables[names[i]]
    const hidesParameter = parameter?.kind === 'parameter' && !find(variables, variable => variable === parameter)
    if (hidesParameter || hidesAround(variables[0], own, free) || areMixed(variables, facts)) return null
  }
  pick(names, name => locals[name][0].isNumber && numbers.add(name)) // what has the same name is set where it is declared
  const isOfClosures = (/** @type {string} */ name) => isShared && isCaptured(locals[name][0], facts)
  return {
    names: pick(names, name => !isOfClosures(name)),
    shared: pick(names, isOfClosures),
    numbers,
    isShared,
    functions,
    declarations: listOf(declarations)
  }
}

/**
 * Whether what a function declares has the name of something that it uses, and that is declared around it.
 *
 * @param {Variable} variable @param {Node} own @param {Record<string, Node[]>} free as of names @returns {boolean}
 */
function hidesAround({ name, outer }, own, free) {
  while (outer && outer.kind !== 'name' && isWithin(outer.scope.node, own)) outer = outer.outer
  const references = outer ? outer.references : free[name] ?? []
  const next = references[firstOf(references, ({ end }) => end > own.body.start)]
  return next !== undefined && next.start < own.body.end
}

/** @param {Node[]} functions declared in one @returns {number} where one of them is used first, but by them */
function firstUse(functions) {
  let first = Infinity
  pick(functions, ({ id }) => pick(id.variable.references, (/** @type {Node} */ reference) => {
    if (reference.start < first && !isInOne(reference, functions)) first = reference.start
  }))
  return first
}

/** @param {Node} node @param {Node[]} functions side by side, as they stand @returns {boolean} */
function isInOne(node, functions) {
  const next = functions[firstOf(functions, ({ end }) => end > node.start)]
  return next !== undefined && isWithin(node, next)
}

/** Whether variables of one name cannot be one variable: they are there at the same time, or a closure keeps one. @param {Variable[]} variables @param {Facts} facts */
function areMixed(variables, facts) {
  let end = 0
  sort(variables, (/** @type {Variable} */ a, /** @type {Variable} */ b) => a.scope.node.start - b.scope.node.start)
  return variables.length > 1 && find(variables, variable => {
    const { node } = variable.scope
    const isInside = node.start < end
    end = node.end
    return isInside || isCaptured(variable, facts)
  }) !== undefined
}

/** @param {Node} inner @param {Node} outer */
const isWithin = (inner, outer) => inner.start >= outer.start && inner.end <= outer.end

/** @param {Variable} variable @param {Facts} facts of the function that declares it @returns {boolean} whether closures use it */
const isCaptured = ({ references }, facts) => find(references, ({ scope }) => scope.facts !== facts) !== undefined

/** Whether it is declared in a pattern among the parameters. @param {Variable} variable @param {Node} own */
const isDestructured = ({ kind, declarations }, own) => kind === 'parameter' && !find(own.params, param => (param.argument ?? param) === declarations[0])

/** @param {Variable} variable @returns {boolean} whether it is there as long as a `catch` that has places */
const isOfHeldCatch = ({ kind, scope: { node } }) => kind === 'catch' && isHeld(node)

/** @param {Node} id that is declared */
function declaratorOf(id) {
  while (id.type !== 'VariableDeclarator') id = id.parent
  return id
}

/**
 * @param {Variable} variable @param {Node} own @param {Facts} facts @param {Node[]} functions declared in it
 * @param {number} calledAt where they may be called first @returns {boolean} whether there can be one of it as long as the function runs
 */
function canBeKept(variable, own, facts, functions, calledAt) {
  const { kind, declarations, references, isAssigned, isDynamic, scope } = variable
  if (isDynamic) return false
  if (kind === 'arguments' || kind === 'catch') return !(isOfHeldCatch(variable) && isCaptured(variable, facts))
  if (matches(/^(?:parameter|function)$/, kind)) return declarations.length === 1
  if (kind === 'var') return !find(declarations, ({ parent }) => parent.type === 'FunctionDeclaration')
  if (!matches(/^(?:let|const)$/, kind) || (kind === 'const' && isAssigned)) return false
  const { 0: id } = declarations
  if (scope.node.type === 'SwitchStatement') {
    let around = id
    while (around.type !== 'SwitchCase') around = around.parent
    if (find(references, reference => !isWithin(reference, around))) return false
  }
  const { init, end, parent: { parent: { right = init } } } = declaratorOf(id)
  if (!isCaptured(variable, facts)) return !find(references, reference => reference.start < id.start || (right && isWithin(reference, right)))
  return !loopAround(id, own) && !find(references, reference => isInOne(reference, functions) ? calledAt < end
    : reference.start < end && !(init && isFunctionNode(init) && isWithin(reference, init)))
}

/** @param {Node} id @param {Node} own @returns {Node | null} the innermost loop that it is in */
function loopAround(id, own) {
  for (let part = id; part !== own; part = part.parent) if (LISTS[part.type] === 'loops') return part
  return null
}

const ARITHMETIC = /^(?:(?:[-+*/%&|^~]|\*\*|<<|>>>?)=?|\+\+|--)$/

/**
 * Whether a variable seems to hold numbers, and nothing sees what it holds before the first: all that uses it comes after a statement that
 * assigns to it, in the same block. Then it may begin as 0. What may be `undefined`, too, engines keep as they keep anything: in JavaScriptCore
 * fft takes 2 instead of 13 times as long as the original, mandelbrot 1.2 instead of 5.6.
 *
 * @param {Variable} variable that no closure uses
 */
function isNumber({ kind, declarations, references }) {
  if (!matches(/^(?:var|let|const)$/, kind) || !find(references, ({ parent }) => matches(ARITHMETIC, parent.operator ?? ''))) return false
  const uses = joined(pick(declarations, ({ parent }) => parent.init), references)
  let { 0: first } = uses
  pick(uses, use => use.start < first.start && (first = use))
  const { parent: assignment } = first
  if (assignment.id !== first && (assignment.operator !== '=' || assignment.left !== first)) return false
  let block = assignment
  while (block.type !== 'BlockStatement' && (block.parent.init === block ||
    matches(/^(?:SequenceExpression|VariableDeclaration|ExpressionStatement|LabeledStatement|BlockStatement)$/, block.parent.type))) block = block.parent
  return !find(uses, use => use !== first && (use.start < assignment.end || use.end > block.end))
}

/** @param {Variable} variable that closures use @param {Node} own @returns {boolean} whether it may change once they do */
function isChanging({ kind, declarations, references, isAssigned }, own) {
  if (isAssigned || declarations.length > 1) return true
  if (kind !== 'var') return false
  const { 0: id } = declarations
  return loopAround(id, own) !== null || find(references, ({ start }) => start < declaratorOf(id).end) !== undefined
}

/** @param {Framed} framed @param {string} key */
const word = ({ draft: { our } }, key) => our + key

/** @param {Unit[]} units @param {Pieces} pieces @param {number} [first] place in them @param {boolean} [isGuarded] */
const emit = (units, pieces, first = Infinity, isGuarded = false) => append(units, { pieces, first, isGuarded })

/**
 * Units one after the other; those that come before the place from which the twin goes on are left out.
 *
 * @param {Framed} framed @param {Unit[]} units @param {number} [beyond] the first place that may come behind them
 * @returns {Pieces}
 */
function piecesOfUnits(framed, units, beyond = Infinity) {
  /** @type {Pieces[]} */
  const pieces = []
  /** The place before which each is done. @type {number[]} */
  const limits = []
  for (let i = units.length; i-- > 0; beyond = min(beyond, units[i].first)) limits[i] = units[i].isGuarded ? Infinity : beyond
  for (let i = 0; i < units.length; i++) {
    const isLimited = limits[i] < Infinity
    if (isLimited && limits[i] !== limits[i - 1]) append(pieces, `if(${word(framed, 'K')}<${limits[i]}){`)
    append(pieces, units[i].pieces)
    if (isLimited && limits[i] !== limits[i + 1]) append(pieces, '}')
  }
  return pieces
}

/** What leaves the frame at the last place. @param {Framed} framed @param {string} [begin] what is done before */
const leaving = (framed, begin = '') =>
  `{${begin}${word(framed, 'K')}=${framed.around > 0 ? `${framed.draft.helper('A')}(${framed.place})` : framed.place};break ${word(framed, 'o')}}`

/** What stands around the condition for leaving at the next place: what is around that sees what it has waited for fail. @param {Framed} framed */
function arriving(framed) {
  const at = word(framed, 'K')
  const place = ++framed.place
  return framed.around > 0 ? [`if(${at}<${place}?`, `:${at}===${place}&&${framed.draft.helper('X')}(${word(framed, 'r')}))`]
    : [`if(${at}<${place}&&`, ')']
}

/** A point. @param {Framed} framed @param {string} condition */
function pointWhere(framed, condition) {
  const { 0: begin, 1: end } = arriving(framed)
  return begin + condition + end + leaving(framed)
}

/** Before a call: what another one has left of the room. Binary trees take 2.7 times as long as the original, where nothing gives it back 3.7. @param {Framed} framed */
function restoring(framed) {
  if (!framed.isLowered) return ''
  framed.hasRestored = true
  return `${framed.draft.budget}.room=${word(framed, 'D')};`
}

/** A call that may be suspended. @param {Framed} framed @param {Pieces} call @param {Unit[]} units @returns {string} its result, until the next place */
function calling(framed, call, units) {
  const { budget } = framed.draft
  const result = word(framed, 'r')
  const { 0: begin, 1: end } = arriving(framed)
  const room = restoring(framed)
  framed.isLowered ||= framed.nests
  emit(units, [`${room}${begin}(${result}=`, call, `)===${budget}${end}${leaving(framed)}`], framed.place, true)
  return result
}

/** @param {Framed} framed @returns {string} a name for what is kept beyond the next place */
function temporary(framed) {
  if (++framed.temps > framed.mostTemps) framed.mostTemps = framed.temps
  return `${word(framed, 'T')}${framed.temps}`
}

/** @param {Framed} framed @param {Pieces} value @param {Unit[]} units @returns {string} what holds it */
function keep(framed, value, units) {
  const name = temporary(framed)
  emit(units, [`${name}=`, value, ';'])
  return name
}

/** @param {Framed} framed @param {Node} node @returns {Range} */
const asItStands = ({ draft }, { start, end }) => range(draft, start, end)

// Values

/** Whether it has the same value after what comes behind it. @param {Node} node */
const isSteady = ({ type, variable, name }) => type === 'Literal' || type === 'ThisExpression' || type === 'Super' ||
  type === 'FunctionExpression' || type === 'ArrowFunctionExpression' || (type === 'Identifier' && (isFixed(variable) ? variable.kind !== 'import' && !isAliased(variable)
    : variable === null && name === 'undefined'))

/** Whether `arguments` may change a parameter. @param {Variable} variable */
const isAliased = ({ kind, scope }) => kind === 'parameter' && scope.facts.usesArguments

/** @param {Node} node */
const isHeld = node => node.isHeld

/** @param {Node} member */
const partsOfMember = ({ object, property, computed }) => computed ? [object, property] : [object]

/** @param {any[]} list @param {any[]} more */
function joined(list, more) {
  for (let i = 0; i < more.length; i++) append(list, more[i])
  return list
}

/** @param {Node} node @returns {Node[] | null} what it is computed from, in this order; null: in another order */
function operandsOf(node) {
  const { type, operator, argument, callee, left, right } = node
  switch (type) {
    case 'BinaryExpression': return left.type === 'PrivateIdentifier' ? [right] : [left, right]
    case 'LogicalExpression': return [left]
    case 'ConditionalExpression': return [node.test]
    case 'MemberExpression': return partsOfMember(node)
    case 'UnaryExpression': case 'UpdateExpression':
      return matches(/^(?:delete|\+\+|--)$/, operator) && isMember(argument) ? partsOfMember(argument) : [argument]
    case 'SequenceExpression': case 'TemplateLiteral': return node.expressions
    case 'ArrayExpression': return pick(node.elements, element => element)
    case 'ObjectExpression': {
      const parts = pick(node.properties, ({ type, method, kind }) => type === 'SpreadElement' || (!method && kind === 'init'))
      if (find(node.properties, ({ computed }) => computed)) return null
      for (let i = 0; i < parts.length; i++) parts[i] = parts[i].value ?? parts[i]
      return parts
    }
    case 'AssignmentExpression': return isMember(left) ? joined(partsOfMember(left), [right]) : isHeld(left) ? null : [right]
    case 'CallExpression': case 'NewExpression': return joined(isMember(callee) ? partsOfMember(callee) : [callee], node.arguments)
    default: return null
  }
}

/** How deep what has places may nest: it is planned by recursion. */
const DEEPEST_PLACE = 100

/** @param {Framed} framed */
function refuse(framed) {
  framed.isRefused = true
  return ''
}

/**
 * The text between two places, with what is computed from others where those stood.
 *
 * @param {Framed} framed @param {number} from @param {number} to @param {Node[]} operands @param {Unit[]} units
 * @param {boolean} [isKept] whether all operands are to have the same values later @returns {Pieces}
 */
function substituted(framed, from, to, operands, units, isKept = false) {
  const { draft } = framed
  /** @type {Pieces[]} */
  const pieces = []
  let count = operands.length
  if (!isKept) while (count > 0 && !isHeld(operands[count - 1])) count--
  for (let i = 0; i < count; i++) {
    const operand = operands[i]
    const text = isKept || i < count - 1 ? keptValue(framed, operand, units) : value(framed, operand, units)
    const { parent } = operand
    append(pieces, range(draft, from, operand.start))
    if (typeof text !== 'string') append(pieces, text)
    else append(pieces, parent.type === 'Property' && parent.shorthand ? `${operand.name}:${text}` : apart(draft.source, operand, text))
    from = operand.end
  }
  append(pieces, range(draft, from, to))
  return pieces
}

/** A name where something else stood: minified code has no space between `f()` and `in`. @param {string} source @param {Node} node @param {string} name */
const apart = (source, { start, end }, name) =>
  (matches(NAME_PART, source[start - 1] ?? '') ? ' ' : '') + name + (matches(NAME_PART, source[end] ?? '') ? ' ' : '')

/** A value as it is now, whatever is done later. @param {Framed} framed @param {Node} node @param {Unit[]} units @returns {Pieces} */
function keptValue(framed, node, units) {
  if (isSteady(node)) return asItStands(framed, node)
  const text = value(framed, node, units)
  const { type } = node.parent
  if (type === 'TemplateLiteral') return keep(framed, ['`${', text, '}`'], units)
  if (node.type !== 'SpreadElement') return keep(framed, text, units)
  return ['...', keep(framed, type === 'ObjectExpression' ? ['{', text, '}'] : ['[', text, ']'], units)]
}

/** What has a value, once that is done which may be suspended. @param {Framed} framed @param {Node} node @param {Unit[]} units @returns {Pieces} */
function value(framed, node, units) {
  if (!isHeld(node)) return grouped(node, asItStands(framed, node))
  const { type, start, end, call, operator, left, right } = node
  if (++framed.depth > DEEPEST_PLACE) return refuse(framed)
  /** @type {Pieces} */
  let result
  if (type === 'ChainExpression') {
    const { expression } = node
    result = !expression.call || !isPreempted(expression.call) || !isWhole(expression) ? refuse(framed)
      : calling(framed, asItStands(framed, node), units)
  } else if (call && isPreempted(call)) {
    result = calling(framed, called(framed, node, units), units)
  } else if (type === 'CallExpression' && isMember(node.callee) && find(node.arguments, isHeld) && !isOfEngine(node.callee.object)) {
    result = called(framed, node, units) // the method is looked up before its arguments
  } else if (isCollected(node)) {
    const argument = node.argument ?? node.arguments[0]
    const rest = node.callee?.name === 'Map' ? ',!0)' : ')'
    const list = calling(framed, [`${framed.draft.helper('k')}(`, value(framed, argument, units), rest], units)
    result = [range(framed.draft, start, argument.start), list, range(framed.draft, argument.end, end)]
  } else if (type === 'SpreadElement') {
    result = ['...', value(framed, node.argument, units)]
  } else if (type === 'LogicalExpression' && isHeld(right)) {
    const kept = temporary(framed)
    assigned(framed, kept, left, units)
    const test = operator === '&&' ? kept : operator === '||' ? `!${kept}` : `${kept}===null||${kept}===void 0`
    choose(framed, test, units, isYes => isYes ? assigned(framed, kept, right) : [])
    result = kept
  } else if (type === 'ConditionalExpression' && (isHeld(node.consequent) || isHeld(node.alternate))) {
    const test = value(framed, node.test, units)
    const kept = temporary(framed)
    choose(framed, test, units, isYes => assigned(framed, kept, isYes ? node.consequent : node.alternate))
    result = kept
  } else if (type === 'AssignmentExpression' && operator !== '=' && isHeld(right)) {
    const target = isMember(left) ? substituted(framed, left.start, left.end, partsOfMember(left), units, true) : asItStands(framed, left)
    const before = matches(/^(?:&&|\|\||\?\?)/, operator) ? refuse(framed) : keep(framed, target, units)
    result = [target, '=', before, cut(operator, 0, operator.length - 1), '(', value(framed, right, units), ')']
  } else {
    const operands = operandsOf(node)
    result = operands === null ? refuse(framed) : substituted(framed, start, end, operands, units)
  }
  framed.depth--
  return grouped(node, result)
}

/** @param {Node} node of a call @returns {boolean} whether nothing in it has a place */
const isWhole = ({ callee, tag, quasi, arguments: given = [] }) => !isHeld(callee ?? tag) && !(quasi && isHeld(quasi)) && !find(given, isHeld)

/** A function gets no name by that. @param {Framed} framed @param {string} name @param {Node} node @param {Unit[]} [units] */
function assigned(framed, name, node, units = []) {
  const text = value(framed, node, units)
  emit(units, [`${name}=`, isFunctionNode(node) ? ['(0,', text, ')'] : text, ';'])
  return units
}

/** The call of a twin. @param {Framed} framed @param {Node} node @param {Unit[]} units @returns {Pieces} */
function called(framed, node, units) {
  if (isWhole(node)) return asItStands(framed, node)
  const { draft } = framed
  const { source, helper } = draft
  const { call, callee, end, arguments: given } = node
  const kind = call?.kind || 'member'
  if (kind === 'tag' || node.optional || callee.object?.type === 'Super' || callee.property?.type === 'PrivateIdentifier') return refuse(framed)
  if (call) call.isComposed = true
  const open = pastOperand(source, callee.end)
  const isLate = find(given, isHeld) !== undefined
  const of = isLate ? keptValue : value
  /** @param {string} before @param {string} after @returns {Pieces} */
  const withArguments = (before, after) =>
    open < end && source[open] === '(' ? [before, substituted(framed, open + 1, end - 1, given, units), after] : before + after
  if (call && directOf(draft, call)) return [call.before, withArguments('(', ')'), call.after]
  if (kind === 'new') return [`${helper('n')}((`, of(framed, callee, units), ')', withArguments(',[', '])')]
  if (kind === 'call') return [`${helper('e')}((`, of(framed, callee, units), '))', withArguments('(', ')')]
  const { object, property, computed } = callee
  const receiver = keptValue(framed, object, units)
  if (call && optimisations.handed(draft, call)) {
    const { 0: opened, 1: closed } = textOfHanded(draft, call, receiver)
    return [`(${helper('h')}(`, receiver, opened, asItStands(framed, given[0]), closed]
  }
  /** @type {Pieces} */
  let method = [receiver, computed ? ['[', of(framed, property, units), ']'] : `.${property.name}`]
  if (isLate) method = keep(framed, method, units)
  const { 0: before, 1: after } = call && isPreempted(call) ? aroundMethod(draft, callee, false) : [`${draft.helper('M')}(`, ').call(']
  return [before, method, after, receiver, withArguments(given.length ? ',' : '', ')')]
}

// Statements

/**
 * @param {Framed} framed @param {Pieces} test @param {Unit[]} units
 * @param {(isYes: boolean) => Unit[]} branch what is done if it is met, then what else
 */
function choose(framed, test, units, branch) {
  const place = word(framed, 'K')
  const { place: before } = framed
  const yes = branch(true)
  const { place: middle } = framed
  const no = branch(false)
  const { place: after } = framed
  const head = before === middle ? middle === after ? '' : `${place}<=${before}&&`
    : middle === after ? `${place}>${before}||` : `${place}>${before}?${place}<=${middle}:`
  emit(units, [`if(${head}(`, test, ')){', piecesOfUnits(framed, yes), '}', no.length ? ['else{', piecesOfUnits(framed, no), '}'] : ''],
    before === after ? Infinity : before + 1)
}

/** @param {Framed} framed @param {Node[]} statements @param {Unit[]} units */
function unitsOf(framed, statements, units) {
  if (++framed.depth > DEEPEST_PLACE) refuse(framed)
  for (let i = 0; i < statements.length && !framed.isRefused; i++) {
    const { temps } = framed
    statement(framed, statements[i], units)
    framed.temps = temps
  }
  framed.depth--
  return units
}

/** @param {Node} node @returns {Node[]} */
const statementsIn = node => node.type === 'BlockStatement' ? node.body : [node]

/** @param {Node} node @param {Pieces} text @returns {Pieces} the text where commas part */
const grouped = ({ type }, text) => type === 'SequenceExpression' ? ['(', text, ')'] : text

/** What would be a block is a pattern. @param {Framed} framed @param {Node} node @param {Pieces} text */
const asStatement = ({ draft: { source } }, { start }, text) => source[start] === '{' ? ['0,', text] : text

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function statement(framed, node, units) {
  const { type } = node
  node.isUnit = true
  if (!isHeld(node)) return emit(units, [asItStands(framed, node), framed.draft.source[node.end - 1] === ';' ? '' : ';'])
  switch (type) {
    case 'ExpressionStatement': {
      if (!framed.draft.isOfModule && isCallStatement(node)) emit(units, pointWhere(framed, `--${framed.draft.budget}.left<=0`), framed.place, true)
      const rest = value(framed, node.expression, units)
      if (typeof rest !== 'string') emit(units, asStatement(framed, node.expression, [rest, ';']))
      return
    }
    case 'VariableDeclaration': return declared(framed, node, units)
    case 'ReturnStatement': return returned(framed, node.argument, units)
    case 'ThrowStatement': return emit(units, ['throw ', value(framed, node.argument, units), ';'])
    case 'BlockStatement': return unitsOf(framed, node.body, units)
    case 'IfStatement': {
      const { test, consequent, alternate } = node
      return choose(framed, value(framed, test, units), units, isYes =>
        isYes ? unitsOf(framed, statementsIn(consequent), []) : alternate ? unitsOf(framed, statementsIn(alternate), []) : [])
    }
    case 'SwitchStatement': return switched(framed, node, units)
    case 'LabeledStatement': {
      if (LISTS[node.body.type] === 'loops' || node.body.type === 'LabeledStatement') return statement(framed, node.body, units)
      const first = framed.place + 1
      const inner = unitsOf(framed, statementsIn(node.body), [])
      return emit(units, [labelsOf(framed.draft, node.body).text, '{', piecesOfUnits(framed, inner), '}'], first)
    }
    case 'ForStatement': case 'WhileStatement': case 'DoWhileStatement': return looped(framed, node, units)
    case 'ForOfStatement': return walked(framed, node, units)
    case 'TryStatement': return tried(framed, node, units)
    default: refuse(framed)
  }
}

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function declared(framed, { declarations, kind }, units) {
  for (let i = 0; i < declarations.length; i++) {
    const { id, init } = declarations[i]
    if (isHeld(id)) refuse(framed)
    if (init) emit(units, asStatement(framed, id, [asItStands(framed, id), '=', value(framed, init, units), ';']))
    else if (kind !== 'var') emit(units, [asItStands(framed, id), '=void 0;'])
  }
}

/** @param {Framed} framed @param {Node} node what is returned @param {Unit[]} units */
function returned(framed, node, units) {
  const { ending } = framed
  if (ending) { // the finalizer comes first
    const { how, what } = ending
    if (node) assigned(framed, what, node, units)
    return emit(units, `${node ? '' : `${what}=void 0;`}${how}=2;break ${how};`)
  }
  const { type, test, consequent, alternate, call } = node
  if (type === 'ConditionalExpression' && (isHeld(consequent) || isHeld(alternate))) {
    choose(framed, value(framed, test, units), units, isYes => {
      /** @type {Unit[]} */
      const branch = []
      returned(framed, isYes ? consequent : alternate, branch)
      return branch
    })
  } else {
    const text = call && isPreempted(call) && isHeld(node) && returnOf(node, framed.own) ? called(framed, node, units) : value(framed, node, units)
    emit(units, [node.hasCall ? restoring(framed) : '', 'return ', text, ';'])
  }
}

/** @param {Framed} framed @param {Node} node @returns {Pieces} */
const caseOf = (framed, { test }) => test ? ['case ', asItStands(framed, test), ':'] : 'default:'

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function switched(framed, { discriminant, cases }, units) {
  // To go on from a place in it, the case is looked for once more; else its number is kept.
  const isSure = (/** @type {Node} */ test) => isSteady(test) || (test.type === 'UnaryExpression' && test.argument.type === 'Literal')
  if (find(cases, ({ test }) => test && isHeld(test))) return refuse(framed)
  const isNumbered = find(cases, ({ test }) => test && !isSure(test)) !== undefined
  let selector = value(framed, discriminant, units)
  if (isNumbered) {
    const number = temporary(framed)
    /** @type {Pieces[]} */
    const numbering = [`${number}=-1;switch(`, selector, '){']
    for (let i = 0; i < cases.length; i++) append(numbering, caseOf(framed, cases[i]), `${number}=${i};break;`)
    append(numbering, '}')
    emit(units, numbering)
    selector = number
  } else selector = keep(framed, selector, units)
  const first = framed.place + 1
  /** @type {{ list: Unit[], next: number }[]} */
  const branches = []
  for (let i = 0; i < cases.length; i++) {
    const list = unitsOf(framed, cases[i].consequent, [])
    append(branches, { list, next: framed.place + 1 })
  }
  /** @type {Pieces[]} */
  const pieces = [`switch(${selector}){`]
  for (let i = 0; i < cases.length; i++) {
    const { list, next } = branches[i]
    append(pieces, isNumbered ? `case ${i}:` : caseOf(framed, cases[i]))
    append(pieces, piecesOfUnits(framed, list, next > framed.place ? Infinity : next))
  }
  append(pieces, '}')
  emit(units, pieces, first)
}

/** @param {Framed} framed @param {Node} loop @param {Unit[]} units */
function looped(framed, loop, units) {
  const { draft, own } = framed
  const { type, init, test, update, body, end } = loop
  framed.isLowered ||= framed.nests
  const labels = labelsOf(draft, loop)
  const place = word(framed, 'K')
  const isDo = type === 'DoWhileStatement'
  const isTestHeld = test && isHeld(test)
  if (optimisations.chunk(draft, loop, own)) return emit(units, range(draft, labels.start, end), framed.place)
  // What has places before the next round stands at its begin.
  const isLate = isDo ? isTestHeld : update && isHeld(update)
  if (init && isHeld(init)) {
    if (init.type === 'VariableDeclaration') declared(framed, init, units)
    else emit(units, ['(', value(framed, init, units), ');'])
  }
  const later = isLate ? keep(framed, '0', units) : ''
  const first = framed.place + 1
  /** @type {Unit[]} */
  const inner = []
  const tested = (/** @type {Unit[]} */ list) => emit(list, ['if(!(', value(framed, test, list), '))break;'])
  if (isLate) {
    choose(framed, later, inner, isYes => {
      /** @type {Unit[]} */
      const list = []
      if (isYes && isDo) tested(list)
      else if (isYes) emit(list, [value(framed, update, list), ';'])
      return list
    })
  }
  if (test && !isDo && (isLate || isTestHeld)) tested(inner)
  const point = pointWhere(framed, `--${draft.budget}.left<=0`)
  emit(inner, point, framed.place, true)
  const text = ['{', piecesOfUnits(framed, unitsOf(framed, statementsIn(body), inner)), '}']
  const begin = init && !isHeld(init) ? [`${place}<${first}&&(`, asItStands(framed, init), ')'] : ''
  const again = [`${place}=0`, isLate ? `,${later}=1` : update ? [',', asItStands(framed, update)] : '']
  emit(units, [labels.text, isDo && !isLate ? ['do', text, `while(${place}=0,`, asItStands(framed, test), ');']
    : ['for(', begin, ';', test && !isLate && !isTestHeld ? [`${place}>=${first}||(`, asItStands(framed, test), ')'] : '', ';', again, ')', text]], first)
}

/** A `for`-`of`: what it iterates gives itself where a round goes on. @param {Framed} framed @param {Node} loop @param {Unit[]} units */
function walked(framed, loop, units) {
  const { draft } = framed
  const { left, right, body } = loop
  if (isHeld(left)) return refuse(framed)
  framed.isLowered ||= framed.nests
  const list = keep(framed, [`${draft.helper('W')}(`, value(framed, right, units), ')'], units)
  const item = word(framed, 'x')
  const first = ++framed.place
  const target = left.declarations?.[0].id ?? left
  framed.around++
  /** @type {Unit[]} */
  const inner = []
  emit(inner, [`if(${item}!==${list}){${word(framed, 'K')}=0;`,
    `if(${item}===${draft.budget})${leaving(framed, `${word(framed, 'r')}=${item};`)}`,
    asStatement(framed, target, [asItStands(framed, target), `=${item}}`])], first, true)
  const point = pointWhere(framed, `--${draft.budget}.left<=0`)
  emit(inner, point, framed.place, true)
  unitsOf(framed, statementsIn(body), inner)
  framed.around--
  emit(units, [labelsOf(draft, loop).text, `for(const ${item} of ${list}){`, piecesOfUnits(framed, inner), '}'], first)
}

/** @param {Framed} framed @param {Node} node @param {Unit[]} units */
function tried(framed, node, units) {
  const { finalizer } = node
  if (finalizer && isHeld(finalizer)) return finished(framed, node, units)
  const first = framed.place + 1
  framed.around++
  const inner = caught(framed, node)
  framed.around--
  if (!finalizer) joined(units, inner)
  else emit(units, ['try{', piecesOfUnits(framed, inner), `}finally{if(!${framed.draft.budget}.away)`, asItStands(framed, finalizer), '}'], first)
}

/**
 * A `try` whose finalizer has places: how what comes before ended is kept until that is over. A generator instead would be made anew
 * with each closure, and its first call takes V8 4 us.
 *
 * @param {Framed} framed @param {Node} node @param {Unit[]} units
 */
function finished(framed, node, units) {
  const { own, returns, ending } = framed
  const { finalizer } = node
  // `break` and `continue` would have to be kept, too.
  for (let around = node.parent; around !== own; around = around.parent) if (isLeft(around)) return refuse(framed)
  const how = keep(framed, '0', units)
  const what = temporary(framed)
  const first = framed.place + 1
  const isReturning = returns[firstOf(returns, ({ start }) => start > node.start)]?.end < finalizer.start
  framed.ending = { how, what }
  framed.around++
  const inner = piecesOfUnits(framed, caught(framed, node))
  framed.around--
  framed.ending = ending
  const error = word(framed, 'x')
  emit(units, [`if(${word(framed, 'K')}<=${framed.place})${how}:try{`, inner, `}catch(${error}){${what}=${error};${how}=1}`], first, true)
  unitsOf(framed, finalizer.body, units)
  const again = ending ? `{${ending.what}=${what};${ending.how}=2;break ${ending.how}}` : `return ${what};`
  emit(units, `if(${how}===1)throw ${what};${isReturning ? `if(${how}===2)${again}` : ''}`)
}

/** Whether `break` or `continue` may leave it. @param {Node} node */
const isLeft = ({ type }) => LISTS[type] === 'loops' || type === 'SwitchStatement' || type === 'LabeledStatement'

/** What of a `try` comes before what it does finally. @param {Framed} framed @param {Node} node @returns {Unit[]} */
function caught(framed, { block, handler }) {
  const first = framed.place + 1
  /** @type {Unit[]} */
  const units = []
  if (!handler) return unitsOf(framed, block.body, units)
  const isLater = isHeld(handler)
  const flag = isLater ? keep(framed, '0', units) : ''
  const inner = piecesOfUnits(framed, unitsOf(framed, block.body, []))
  if (!isLater) {
    emit(units, ['try{', inner, '}', asItStands(framed, handler)], first)
    return units
  }
  const { param, body } = handler
  const error = word(framed, 'x')
  if (param && isHeld(param)) refuse(framed)
  const bind = param ? asStatement(framed, param, [asItStands(framed, param), `=${error};`]) : ''
  emit(units, [`if(${word(framed, 'K')}<=${framed.place})try{`, inner, `}catch(${error}){`, bind, `${flag}=1}`], first, true)
  choose(framed, flag, units, isYes => isYes ? unitsOf(framed, body.body, []) : [])
  return units
}

// The text

/** Has what a function declares stand at the top of its twin, and its calls be those of twins. @param {Draft} draft @param {CallSite[]} calls */
function planFrame(draft, calls) {
  const { declarations } = /** @type {Framed} */ (draft.framed)
  pick(calls, call => {
    if (!call.isComposed) return planCall(draft, call)
    const direct = directOf(draft, call)
    if (!direct) return
    append(call.before, direct.isGenerator ? `${draft.helper('g')}(${direct.name}` : direct.name)
    if (direct.isGenerator) append(call.after, ')')
  })
  for (let i = 0; i < declarations.length; i++) {
    const { start, kind, parent, declarations: list } = declarations[i]
    if (isHeld(declarations[i])) continue
    if (parent.left === declarations[i]) continue
    const isHead = parent.init === declarations[i]
    const isUnit = declarations[i].isUnit && list[0].id.type === 'Identifier'
    replace(draft, start, list[0].start, isHead || isUnit ? '' : isInList(declarations[i]) ? ';(' : '(')
    for (let k = 0; k < list.length; k++) if (!list[k].init && kind !== 'var') insert(draft, list[k].end, -EXPRESSION_EDGE, list[k].start, list[k].id.variable.isNumber ? '=0' : '=void 0')
    if (!isHead && !isUnit) insert(draft, pastParentheses(draft.source, list[list.length - 1].end), -STATEMENT_EDGE, start, ')')
  }
}

/** A twin that leaves frames. @param {Draft} draft @param {{ node: Node, facts: Facts, entry: string, frame: Pieces }} plan @returns {Pieces} */
function textOfFrame(draft, { node, facts, entry, frame }) {
  const { our, variables, helper, source, edits } = draft
  const { names, shared, numbers, isShared, isTail, nests, hasRestored, functions, mostTemps } = /** @type {Framed} */ (draft.framed)
  const { params, body } = node
  /** @type {string[]} */
  const given = []
  let list = /** @type {Pieces} */ ('')
  if (isShared) list = params.length ? range({ edits }, params[0].start, params[params.length - 1].end) : ''
  else pick(params, param => {
    const name = parameterOf(draft, param)
    list += `${given.length ? ',' : ''}${param.argument ? '...' : ''}${name}`
    append(given, name)
  })
  const isArrow = facts.isArrow && facts.usesThis
  const strict = isStrictBody(body.body) ? '"use strict";' : ''
  const head = [isArrow ? '(' : isPrivate({ node, facts }) ? `${entry}(` : facts.usesSuper ? 'm(' : `function ${entry}(`, list, isArrow ? ')=>{' : '){', strict]
  if (isTail) return [head, variables.size ? `var ${join(listOf(variables), ',')};` : '', frame, '}']
  const locals = pick(names, name => find(given, other => other === name) === undefined)
  for (let i = 1; i <= mostTemps; i++) append(locals, `${our}T${i}`)
  const all = joined(joined([], given), locals)
  const kept = join(joined([`{0:${our}r`, `${our}K`], all), ',') + '}'
  // What calls nothing needs no room.
  const room = !nests ? '' : hasRestored ? `(${our}D=--${draft.budget}.room)<0||` : `--${draft.budget}.room<0||`
  let declared = `${our}K=0${hasRestored ? `,${our}D` : ''},${our}r`
  for (let i = 0; i < locals.length; i++) declared += `,${locals[i]}${numbers.has(locals[i]) ? '=0' : ''}`
  declared = join(joined([declared], listOf(variables)), ',')
  const endsAlways = body.type !== 'BlockStatement' || matches(/^(?:Return|Throw)/, body.body[body.body.length - 1]?.type ?? '')
  const self = isShared ? `${our}I` : entry
  const text = [terse(draft.begin), `var ${declared};` +
    `${our}o:{if(${room}--${draft.budget}.left<=0)if(${our}r=${helper('H')}())(${kept}=${our}r);else break ${our}o;`,
  frame, `${endsAlways ? '' : 'return'}}return ${helper('S')}(${self},${kept}${!isShared && facts.usesThis ? ',this' : ''})}`]
  if (!isShared) {
    return isArrow ? [`(${entry}=>${entry}=(${list})=>{`, strict, text, ')()'] : [head, text]
  }
  /** @type {Pieces[]} */
  const declarations = []
  for (let i = 0; i < functions.length; i++) {
    append(declarations, range(draft, functions[i].start, functions[i].end), functions[i].plan?.registered ?? '')
  }
  return [head, declarations, `var ${join(joined(joined([], shared), [`${self}=()=>{`]), ',')}`, text, `;return ${self}()}`]
}

// ------------------------------------------------------------------------------------- 8c a function

/** A delegated call that has not returned, until its caller yields it. @type {any[]} */
const pending = /* @__PURE__ */ defineProperty([], 'pop', { value: pop })

/**
 * A delegated call. Most return before the budget is used up, and then they have cost no more than the generator.
 * Otherwise the caller yields what is pending, and from there on the scheduler resumes the callee itself: calls stand
 * on the engine's stack only while they run, and a yield costs the same at any depth.
 *
 * An error leaves less room, until somebody resumes the job: a `finally` would take half of the time in Firefox.
 *
 * @param {any} generator
 * @returns {any} the result; `budget` where something is pending
 */
function run(generator) {
  if (counts.room > 0 && budget.left > 1) {
    const free = counts.room--
    const step = apply(next, generator, NO_ARGUMENTS)
    counts.room = free
    if (step.done) return step.value
    generator = new Suspended(generator, step)
  }
  append(pending, generator)
  return budget
}

/** What gives the result of a call that has given `budget`; of one that has returned just that, too. */
function suspended() {
  const last = pending.pop()
  return last instanceof Frame ? begun(goOnFrom(last)) : last ?? returning(budget)
}

/** @template T @param {T} value @returns {Generator<never, T>} */
function* returning(value) {
  return value
}

/** The frame of the twin that is called next to go on. @type {any} */
let resumed = null
/** What is left of the budget meanwhile. */
let pointsLeft = 0

/** @returns {any} the frame from which a twin is to go on; null: its budget is used up */
function frameOf() {
  const found = resumed
  if (found !== null) {
    resumed = null
    budget.left = pointsLeft
  } else {
    counts.room = ROOM // all of it is left, and who asked a generator by hand counted calls that have returned
  }
  return found
}

/** What a twin leaves that is suspended. */
class Frame {
  /** @param {any} entry the twin @param {any} values its place and its variables by their names, what is pending as 0 @param {any} self */
  constructor(entry, values, self) {
    this.entry = entry
    this.values = values
    this.self = self
  }
}

/** Suspends a twin that leaves frames. @param {any} entry @param {any} values @param {any} self as of Frame */
function suspend(entry, values, self) {
  values[1] = counts.away
  counts.away = false
  append(pending, new Frame(entry, values, self))
  return budget
}

/** What the twin returns may be the result of another: then that is gone on from. @param {Frame} frame @returns {Generator<any, any, any>} */
function* goOnFrom(frame) {
  for (let result; ; frame = pending.pop()) {
    const { entry, values, self } = frame
    try {
      values[0] = values[0] === budget ? yield suspended() : yield
    } catch (error) {
      if (!values[1]) throw error
      values[0] = new Failure(error)
    }
    resumed = values
    pointsLeft = budget.left
    budget.left = 0
    result = apply(entry, self, NO_ARGUMENTS)
    if (result !== budget) return result
    if (!(pending[pending.length - 1] instanceof Frame)) return yield suspended()
  }
}

/** What a twin waited for has thrown. */
class Failure {
  /** @param {any} error */
  constructor(error) {
    this.error = error
  }
}

/** Has what is around a place not end. @param {number} place */
function away(place) {
  counts.away = true
  return place
}

/** @param {any} result of what a twin waited for */
function rethrow(result) {
  if (result instanceof Failure) throw result.error
}

/** One that waits for a call from its beginning: what cancels it is told to that. @param {any} generator */
const begun = generator => new Suspended(generator, apply(next, generator, NO_ARGUMENTS))

/** How many generators are driven to their end on the engine's stack. */
let driving = 0

/** Whether a chunk of a loop has to be followed by a yield. */
const over = () => driving > 0 || dispatching === null || dispatching.endBudgetInPlace()

/** After a chunk: the round whose point was the yield is not counted again, and there is one in any case. */
const again = () => { budget.left = budget.left > 0 ? budget.left + 1 : 2 }

/** Valid source ends like that in no other way: a comment has its own end after it. */
const NO_SOURCE = /\{\s*\[native code\]\s*\}\s*$/

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

/** What `await` waits for. @param {any} value */
const wait = value => adopt(value)

/** A `for await` loop: it would await what it yields, so each value is in a box. @param {any} iterable */
const iterate = iterable => defineProperties(boxed(iterable), asyncSteps)

/** @param {any} iterable */
async function* boxed(iterable) {
  for await (const value of iterable) yield { value }
}

/** The own ones of a generator, whoever replaces those that it inherits. @param {any} generatorFunction */
function stepsOf(generatorFunction) {
  const prototype = /** @type {any} */ (getPrototypeOf(generatorFunction.prototype))
  return {
    next: { __proto__: null, value: prototype.next },
    throw: { __proto__: null, value: prototype.throw },
    return: { __proto__: null, value: prototype.return },
    [Symbol.iterator]: { __proto__: null, /** @this {any} */ value() { return this } }
  }
}
const steps = /* @__PURE__ */ stepsOf(function* () {})
const asyncSteps = /* @__PURE__ */ stepsOf(boxed)

/** @param {any} value */
const isObject = value => typeof value === 'function' || (typeof value === 'object' && value !== null)

const GeneratorFunctions = /* @__PURE__ */ Object.getPrototypeOf(function* () {})
/** @param {any} value */
const isGeneratorFunction = value => isBefore(GeneratorFunctions, value)
/** Whether a call of it may yield. @param {any} value */
const isDelegable = value => isGeneratorFunction(value) || twinOf(value) !== undefined

/** What is known of a rewritten function: a property, which is quicker found than an entry of a map. */
const known = /* @__PURE__ */ Symbol('preemptify')

/** What a preemptible function was made of. @param {any} value */
const originalOf = value => (typeof value === 'function' && value[known]?.original) || value

/** @type {WeakMap<Function, Function>} */
const rewritten = /* @__PURE__ */ emptyWeakMap()

/** How many have been compiled: every text has a name of its own in the debugger. */
let compilations = 0

/**
 * The variables that `scope` or `calls` names, by their keys or by arrow functions: what a minifier makes of those in the
 * function, it makes of them there.
 *
 * @param {string} option @param {any} given
 * @returns {[key: string, get: () => any][]}
 */
function variablesOf(option, given) {
  /** @type {[string, () => any][]} */
  const variables = []
  if (!isArray(given)) {
    pick(keysOf(given), key => {
      if (!matches(IDENTIFIER, key)) throw wrongType(`a key of ${option}`, 'a name', key)
      append(variables, [key, () => given[key]])
    })
    return variables
  }
  for (let i = 0; i < given.length; i++) {
    const get = given[i]
    const source = typeof get === 'function' ? sourceOf(get) : ''
    const text = exec(/^\(\)\s*=>\s*([^]+)$/, source)?.[1] ?? ''
    if (matches(/^(?:void |[-!]*[\d.'"`])/, text)) continue // a minifier wrote a constant for it, here and there
    if (!matches(IDENTIFIER, text)) {
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
  if (value?.[known] || isDelegable(value)) return value
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
 * A call inside of an expression is no point of its own: `x = f(y)` runs `f` to its end unless `f` is preemptible; so does what
 * runs within the engine, `sort` with a comparator or a long regular expression. Methods are delegated by their names:
 * `this.step()`, not `o['step']()`. A loop of names, operators and elements alone counts its budget in a copy: if a Proxy or
 * a `valueOf` in it makes a more urgent job ready, that waits until the budget ends. Recursion without end fails with a
 * RangeError at two million calls, which the scheduler keeps, not the engine. Where a page has
 * `require-trusted-types-for 'script'`: `evaluate: s => eval(policy.createScript(s))`.
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
 * @template {object} O @template {string} M
 * @overload
 * @param {O} fn a class or an object
 * @param {PreemptifyOptions & { methods: readonly (M & (O extends abstract new (...args: any) => infer I ? keyof I : keyof O))[] }} options
 *   `methods`: those to rewrite
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
function preemptify(fn, options = {}) {
  const { methods, ...others } = knownOptions(options, KNOWN_OPTIONS)
  if (methods === undefined) {
    callable('fn', fn)
    if (fn[known]) return fn
    const twin = twinOf(fn)
    if (twin !== undefined) return published(twin, fn)
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
  const home = withPropertiesOf(fn, create(getPrototypeOf(fn)))
  const members = pick(methods, key => !isGeneratorFunction(fn[key])) // those stay what is iterated
  for (let i = 0; i < methods.length; i++) {
    const key = methods[i]
    const method = callable(`method ${key}`, getOwnPropertyDescriptor(fn, key)?.value)
    defineProperty(home, key, /** @type {any} */ ({ __proto__: null, value: rewriting(method, { ...others, home }, members) }))
  }
  return home
}

/**
 * What becomes of one function, or of the methods of a class.
 *
 * @typedef {Draft & {
 *   fn: any, options: any, label: string, tree: Node, bindings: Map<string, any>, helpers: string[],
 *   links: Links, isVisible: boolean
 * }} FunctionDraft
 *
 * `options`: as of preemptify; `label`: what its errors begin with; `bindings`: parameters of the function that it is compiled in; `helpers`: declarations around it; `isVisible`:
 * whether `evaluate` sees the function by its name
 */

/**
 * What the names of preemptible functions stand for. Rewritten code keeps it, and nothing else: not the tree.
 *
 * @typedef {object} Links
 * @property {any} fn the function itself
 * @property {any} self the generator function, once it is made
 * @property {() => any} own what gives that
 * @property {Map<string, { callee: any, get: () => any }>} table the callee, if it stays
 * @property {Map<string, () => any>} live variables that are read when the function reads them
 * @property {string[]} values names that are in scope by value
 * @property {Set<string>} preemptible members that may be preemptible
 * @property {(key: string) => boolean} mayCome whether a call of it may find a preemptible function later
 */

/** @param {string} key */
const isUnknown = key => !(key in globalThis) && !isOwnWord(key)

/** @param {any} fn @param {any} options as of preemptify @param {string[]} methods @returns {Links} */
function linksOf(fn, options, methods) {
  const { scope = {}, evaluate, calls } = options
  /** @type {Links['table']} */
  const table = emptyMap()
  /** @type {Links['live']} */
  const live = emptyMap()
  /** @type {Links['preemptible']} */
  const preemptible = emptySet()
  pick(methods, key => preemptible.add(key))
  /** @param {any} value in scope */
  const enlistMembers = value => {
    for (let holder = value; typeof holder === 'object' && holder; holder = getPrototypeOf(holder)) {
      pick(keysOf(getOwnPropertyDescriptors(holder)), key => {
        if (isDelegable(getOwnPropertyDescriptor(holder, key)?.value)) preemptible.add(key)
      })
    }
  }
  /** @type {string[]} */
  const values = []
  pick(variablesOf('scope', scope), ({ 0: key, 1: get }) => {
    const value = valueOf(get)
    if (isArray(scope)) live.set(key, get)
    else append(values, key)
    if (isDelegable(value)) table.set(key, isArray(scope) ? { callee: undefined, get } : { callee: value, get: () => value })
    enlistMembers(value)
  })
  const isByName = calls !== undefined && !isArray(calls)
  pick(variablesOf('calls', calls ?? []), ({ 0: key, 1: get }) => {
    const value = isByName ? getOwnPropertyDescriptor(calls, key)?.value : valueOf(get)
    if (value !== undefined) delegable(key, value)
    if (!isByName) live.set(key, get)
    table.set(key, { callee: isByName ? value : undefined, get: () => delegable(key, get()) })
    preemptible.add(key)
  })
  /** @type {Links} */
  const links = {
    fn,
    self: null,
    own: () => links.self,
    table,
    live,
    values,
    preemptible,
    mayCome: key => !evaluate && isByName && isUnknown(key)
  }
  return links
}

/**
 * Rewrites one function into a generator function, or the methods of a class.
 *
 * @param {any} fn @param {any} options as of preemptify
 * @param {string[]} [methods] those that are rewritten together @param {boolean} [isClass] whether fn is their class
 * @returns {any} the generator function, or the class
 */
function rewriting(fn, options, methods = [], isClass = false) {
  quick = isQuick()
  const source = sourceOf(fn)
  const label = `preemptify(${fn.name || 'anonymous'})`
  if (matches(NO_SOURCE, source)) {
    throw refusal(label, 'a native, bound or proxied function; give the one behind it')
  }
  for (let i = 0; i < OPTION_NAMES.length; i++) {
    const key = OPTION_NAMES[i]
    const type = OPTIONS[key]
    const value = options[key]
    if (value !== undefined && (value === null || !holds(type, typeof value))) throw wrongType(key, type, value)
  }
  const links = linksOf(fn, options, methods)
  const tree = read(source, 'function')
  const target = tree.body[0]
  if (isClass && target.type !== 'ClassExpression') throw wrongType('fn', 'a class or an object with methods', fn)
  const own = isClass ? null : functionIn(target, label)
  // What it is called inside is looked up as if it were around it.
  const ownName = own?.id ? own.id.name : ''
  if (own) own.id = null
  const free = names(tree)
  const our = prefixFor(`${source} ${join(links.values, ' ')}`)
  /** @type {FunctionDraft} */
  const draft = {
    fn, options, label, source, tree, free, our, unit: our, links, edits: [], variables: emptySet(), bindings: emptyMap(), helpers: [],
    written: { has: node => node.call || isCallStatement(node) }, spell: text => text, isVisible: false,
    helper: key => bind(draft, HELPERS[key], key === 'e' || key === 'E' ? wayTo(links, 'call', key === 'E') : key === 'w' ? wayTo(links, 'awaited') : runtime[HELPERS[key]]),
    budget: `${our}budget`, keepers: null, inlined: null, begin: '', steps: '', self: 'this', isOfModule: false,
    isCounted: options.budgeted !== false, framed: null
  }
  bind(draft, 'budget', budget)
  return own ? rewriteFunction(draft, own, ownName) : rewriteClass(draft, target, methods)
}

/** @param {string} label @param {string} reason */
const refusal = (label, reason) => new TypeError(`${label}: ${reason}`)

/** @param {string} label */
const constructing = label =>
  refusal(label, 'a constructor or an accessor cannot be a generator; give a method, or { methods: [...] }')

/** @param {Node} node a function @param {string} label @returns {Node} the same, if it can be a generator */
function drivable(node, label) {
  if (!node.async || !node.generator) return node
  throw refusal(label, 'an async generator cannot be driven; write one that yields promises')
}

/** @param {Node} target what the source is @param {string} label @returns {Node} the function that it is */
function functionIn(target, label) {
  const { type, kind, value } = target
  const isMethod = type === 'Property'
  if (type === 'ClassExpression' || (isMethod && kind !== 'init')) throw constructing(label)
  return drivable(isMethod ? value : target, label)
}

/** Names a value. @param {FunctionDraft} draft @param {string} key @param {any} value */
function bind({ our, bindings }, key, value) {
  bindings.set(our + key, value)
  return our + key
}

/** Puts another text in the place of a name. @param {Draft} draft @param {Node} name @param {string} text */
function write(draft, { start, end, parent }, text) {
  const property = parent.type === 'AssignmentPattern' ? parent.parent : parent
  const isKey = property.shorthand && property.key.start === start
  replace(draft, start, end, isKey ? `${cut(draft.source, start, end)}: ${text}` : text)
}

// Names

/** Whether a `with` may answer for a reference. @param {Scope} scope that it is in */
function isHidden({ barrier }) {
  while (barrier && barrier.node.type !== 'WithStatement') barrier = barrier.parent && barrier.parent.barrier
  return !!barrier
}

/**
 * Finds what the names that the source does not declare shall mean.
 *
 * @param {FunctionDraft} draft @param {string} ownName
 * @param {boolean} isNamed whether the source has that name
 * @returns {string[]} those that mean nothing
 */
function resolveNames(draft, ownName, isNamed) {
  const { fn, options, label, free, bindings, links } = draft
  const { scope = {}, evaluate, calls } = options
  const { table, live, values, mayCome } = links
  pick(values, key => (free[key] || draft.tree.scope.hasEval) && bindings.set(key, scope[key]))
  if (evaluate) {
    // `s => eval(s)` hides a variable called s.
    const list = exec(/([^()]*)\)?\s*(?:=>|\{)/, sourceOf(evaluate))?.[1] ?? ''
    const name = /[^\s,]+/g
    for (let match; (match = exec(name, list));) {
      const key = match[0]
      if (free[key] && !(key in scope) && !table.has(key) && !live.has(key)) {
        throw refusal(label, `a variable ${key} is hidden by the parameter of evaluate; rename that`)
      }
    }
    try {
      draft.isVisible = !!free[ownName] && fn === evaluate(ownName)
    } catch {} // not there, or not initialized yet
  }
  if (free[ownName] && !table.has(ownName) && !bindings.has(ownName) && (draft.isVisible || isNamed)) {
    table.set(ownName, { callee: undefined, get: links.own })
    if (!draft.isVisible) bindings.set(ownName, fn)
  }
  /** @type {string[]} */
  const lost = []
  if (evaluate) return lost
  const keys = keysOf(free)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    if (mayCome(key) && !table.has(key) && !bindings.has(key) && find(free[key], isCalled)) {
      table.set(key, { callee: undefined, get: laterIn(calls, key) })
    }
    if (bindings.has(key) || live.has(key)) continue
    const callee = table.get(key)?.callee
    if (callee) bindings.set(key, originalOf(callee))
    else if (isUnknown(key)) append(lost, key)
  }
  return lost
}

// Calls of preemptible functions

/** Calls of names have to be where they can yield. @param {FunctionDraft} draft @param {Node} call @param {string} zone */
function refuseToYield(draft, call, zone) {
  const found = linkOf(draft, call)
  if (!found || found.get === draft.links.own) return
  const { label, source } = draft
  const { name, start } = calledIn(call)
  throw new SyntaxError(`${label}: ${name}() in ${zone} (${placeOf(source, start)}) cannot yield; ` +
    'move it into the function itself')
}

/** What the name of what is called stands for, if that may be preemptible. @param {FunctionDraft} draft @param {Node} call */
function linkOf({ links }, call) {
  const { type, name, variable, scope } = calledIn(call)
  const isFree = type === 'Identifier' && variable === null && call.type !== 'NewExpression' && !isHidden(scope)
  return isFree ? links.table.get(name) : undefined
}

/**
 * Finds the calls of a function that may be preempted.
 *
 * @param {FunctionDraft} draft @param {any} plan @returns {CallSite[]}
 */
function linkedCalls(draft, plan) {
  const { facts, node: own } = plan
  const { body } = own
  /** @type {CallSite[]} */
  const calls = []
  const inner = [facts]
  while (inner.length) {
    const { calls, functions, isGenerator } = takeLast(inner)
    pick(functions, nested => append(inner, nested))
    if (isGenerator) continue
    if (calls !== facts.calls) pick(calls, call => refuseToYield(draft, call, 'nested code'))
    else pick(calls, call => call.start < body.start && refuseToYield(draft, call, 'its parameters'))
  }
  pick(facts.calls, node => {
    const { type, tag } = node
    const callee = calledIn(node)
    if (node.start < body.start) return
    const found = linkOf(draft, node)
    const isLinked = found || (type === 'CallExpression' && isMember(callee) && !callee.computed &&
      draft.links.preemptible.has(nameOf(callee.property)))
    if (!isLinked) return
    const kind = tag ? 'tag' : found ? 'call' : 'member'
    const call = callSite(node, kind, null, own)
    if (!found || nameCallee(draft, call, plan, found)) append(calls, node.call = call)
  })
  return calls
}

/**
 * What a name that is called is replaced by.
 *
 * @param {FunctionDraft} draft @param {CallSite} call @param {any} plan of the function that it is in @param {any} found what the name stands for
 * @returns {boolean} whether the call is part of its caller
 */
function nameCallee(draft, call, plan, { callee: value, get }) {
  const { links, isVisible } = draft
  const { node: own } = plan
  const { node, isAwaited } = call
  const callee = calledIn(node)
  const { name } = callee
  const isOwn = get === links.own
  if (own.generator && node.parent.type === 'YieldExpression') { // the scheduler calls it
    node.call = call
    replace(draft, callee.start, callee.end, `${bind(draft, `generator_${name}`, get)}()`)
    return false
  }
  // An async function that is not awaited runs beside its caller, and a generator makes an iterator: the original does.
  if (isOwn && (own.generator || (own.async && !isVisible && !isAwaited))) return false
  const way = isAwaited ? 'awaited' : 'call'
  if (!isOwn) {
    call.name = value ? bind(draft, `${way}_${name}`, wayOf(links, value, way))
      : `${bind(draft, `${way}_${name}`, wayLater(links, get, way))}()`
  } else if (!isVisible) call.target = plan
  return true
}

// Here, for a closure holds all that a closure beside it holds.
/** @param {Links} links @param {string} way @param {boolean} [isMethod] */
const wayTo = (links, way, isMethod = false) => (/** @type {any} */ callee) => {
  const found = wayOf(links, callee, way)
  return isMethod ? asMethod(found) : found
}
/** @param {Links} links @param {() => any} get @param {string} way */
const wayLater = (links, get, way) => () => wayOf(links, get(), way)
/** @param {() => any} get */
const originalLater = get => () => originalOf(get())
/** @param {any} calls @param {string} key */
const laterIn = (calls, key) => () => delegable(key, calls[key])

/** @param {Node} key of a member @returns {string} with the # of a private one */
const nameOf = ({ type, name }) => type === 'PrivateIdentifier' ? `#${name}` : name

/**
 * What is preemptible is a generator function, or the original of one that is to be called instead.
 *
 * @param {Links} links @param {any} callee @param {string} way 'call' or 'awaited'
 */
function wayOf({ fn, self, table }, callee, way) {
  const found = (callee === fn ? self : callee)?.[known]?.[way]
  if (found) return found
  if (twinOf(callee)) return way === 'awaited' ? awaitedEntryOf(callee) : entryOf(callee)
  if (typeof callee !== 'function' || isGeneratorFunction(callee)) return wayInto(callee)
  let target = callee
  table.forEach(({ get }) => {
    const others = valueOf(get)?.[known]
    if (others?.original === callee) target = others[way]
  })
  return target
}

/**
 * Has names be reached through an object that would mean something else in a generator, or must not be assigned to.
 *
 * @param {FunctionDraft} draft @param {Node} own @param {string} ownName
 */
function replaceWords(draft, own, ownName) {
  const { fn, options, label, source, our, free, helpers, links, bindings, tree } = draft
  const { isArrow, isGenerator } = own.facts
  /** @param {Node[]} nodes @param {string} key of the object @param {string} get @param {string} set */
  const reach = (nodes, key, get, set) => {
    for (let i = 0; i < nodes.length; i++) {
      const place = `${our}${key}.${nodes[i].parent.operator === 'typeof' ? 'typed' : 'value'}`
      write(draft, nodes[i], isCalled(nodes[i]) ? `(0, ${place})` : place)
    }
    if (nodes.length) append(helpers, `const ${our}${key} = ${bind(draft, 'access', access)}(() => ${get}, value => { ${set} });`)
  }
  /** @param {string} key @returns {Node[]} */
  const mentionsOf = key =>
    pick(free[key] ?? [], node => !isHidden(node.scope) && !(isCalled(node) && node.parent.call))
  /** @param {string} key */
  const reachName = key => {
    const nodes = mentionsOf(key)
    reach(nodes, key, key, find(nodes, isTarget) ? `${key} = value` : '')
  }
  if (isArrow) {
    /** Those of the arrow function, and of arrow functions in it. @type {Node[]} */
    const words = []
    const ours = [own.facts]
    while (ours.length) {
      const facts = takeLast(ours)
      pick(facts.words, word => append(words, word))
      pick(facts.functions, inner => inner.isArrow && append(ours, inner))
    }
    if (options.evaluate && !options.home && own.facts.usesSuper) {
      pick(words, ({ type, start, end, parent }) => {
        if (type !== 'Super') return
        replace(draft, start, end, `${our}super`)
        if (!isCalled(parent) || parent.parent.optional) return
        const open = seek(source, '(', parent.end)
        replace(draft, open, open + 1, `.call(${our}super(), `)
      })
      append(helpers, `const ${our}super = new Proxy(() => this, { get: (_, key) => super[key], ` +
        'set: (_, key, value) => (super[key] = value, true) });')
    }
    const given = 'this' in options ? bind(draft, 'given', options.this) : 'this'
    reach(pick(words, ({ type }) => type === 'ThisExpression'), 'this', given, '')
    reach(pick(words, ({ meta }) => meta?.name === 'new'), 'target', 'new.target', '')
    reachName('arguments')
  }
  if (!isGenerator) reachName('yield')
  pick(tree.special, node => {
    const { name, variable, parent, start, end } = node
    if (name === 'yield' ? isGenerator : !isArrow) return
    if (parent.label === node) replace(draft, start, end, labelOf(draft, node))
    else if (variable && isOurs(variable.scope.facts, own)) write(draft, node, our + name)
  })
  links.live.forEach((/** @type {() => any} */ get, /** @type {string} */ key) => {
    const nodes = mentionsOf(key)
    if (find(nodes, isTarget)) {
      throw refusal(label, `${key} cannot be assigned to through () => ${key}; give { evaluate: s => eval(s) }`)
    }
    reach(nodes, `variable_${key}`, `${bind(draft, `get_${key}`, originalLater(get))}()`, '')
  })
  // Assignments to the name of a function expression have no effect, or throw in strict code.
  const nodes = mentionsOf(ownName)
  if (bindings.get(ownName) !== fn || !find(nodes, isTarget)) return
  const original = bind(draft, 'original', fn)
  const assignment = `${ownName} = value })()`
  reach(pick(nodes, ({ scope }) => !scope.isStrict), 'name', original, `(function ${ownName}() { ${assignment}`)
  reach(pick(nodes, ({ scope }) => scope.isStrict), 'strictName', original,
    `(function ${ownName}() { 'use strict'; ${assignment}`)
}

/** @param {Node} reference @returns {boolean} */
const isTarget = reference => reference.isWritten

/** @param {Facts} facts @param {Node} own @returns {boolean} whether it is that of the function, or of an arrow function in it */
function isOurs(facts, own) {
  while (facts.isArrow && facts.node !== own && facts.parent) facts = facts.parent
  return facts.node === own
}

// Linking

/** A function that is wanted as a generator function, and its calls. @param {FunctionDraft} draft @param {Node} own @returns {any} as of planTwin */
function planOfFunction(draft, own) {
  const { facts } = own
  if (facts.awaitsDisposal) throw refusal(draft.label, 'await using cannot be driven; write a generator that yields what disposing gives')
  const plan = {
    node: own, facts, children: [], calls: /** @type {CallSite[]} */ ([]), frame: /** @type {Pieces} */ (null), entry: '', twin: `${draft.our}self`,
    isLong: true, isDirect: true
  }
  plan.calls = linkedCalls(draft, plan)
  return plan
}

/** Plans its text. @param {FunctionDraft} draft @param {{ node: Node, facts: Facts, calls: CallSite[] }} plan */
function planFunction(draft, plan) {
  const { node, facts } = plan
  draft.variables = emptySet()
  pick(facts.statements, statement => {
    if (!isCallStatement(statement)) return
    const { start, end } = statement
    const point = pointIn(draft, statement, node)
    statement.partedIn = draft
    if (isInList(statement)) insert(draft, start, STATEMENT_EDGE, end, `${point} `)
    else enclose(draft, start, end, STATEMENT_EDGE, `{ ${point} `, ' }')
  })
  planTwin(draft, plan)
}

/**
 * What begins a call of the function: a twin that leaves frames.
 *
 * @param {FunctionDraft} draft what has been edited so far @param {any} plan @returns {string} its text
 */
function entryText(draft, plan) {
  const other = { ...draft, edits: joined([], draft.edits), variables: emptySet() }
  plan.frame = optimisations.frame(other, plan)
  if (!plan.frame) return 'null'
  plan.entry = `${draft.our}begin`
  planFrame(other, plan.calls)
  inOrder(other.edits)
  return print(draft.source, [textOfFrame(other, plan)])
}

/** @param {FunctionDraft} draft @param {Node} own @param {string} ownName @returns {any} the generator function */
function rewriteFunction(draft, own, ownName) {
  const { fn, options, label, source, our, free, links, edits, tree } = draft
  const { evaluate, home } = options
  const { isArrow, usesThis, usesSuper, usesNewTarget, hasWith } = own.facts
  if (!evaluate) {
    if (usesSuper && !home) throw refusal(label, 'super needs its object, { home }, or the whole, { methods: [...] }')
    if (isArrow && (usesNewTarget || (usesThis && !('this' in options)) || free.arguments)) {
      throw refusal(label, 'this and arguments of an arrow function are of the code around it; give { this: value }, or ' +
        '{ evaluate: s => eval(s) }')
    }
  }
  if (isArrow) draft.self = `${our}this.value`
  const lost = resolveNames(draft, ownName || fn.name, ownName !== '')
  const plan = planOfFunction(draft, own)
  replaceWords(draft, own, ownName || fn.name)
  const canBegin = draft.isCounted && !tree.scope.hasEval && !tree.special.length && !hasWith && !usesNewTarget && !usesSuper
  const entry = canBegin ? entryText(draft, plan) : 'null'
  planFunction(draft, plan)
  inOrder(edits)

  // In the body of a `with`, and in a method, it needs an object to be a method of.
  const around = bind(draft, 'around', { __proto__: home && getPrototypeOf(home), [draft.budget]: budget })
  const quoted = stringify(fn.name)
  const member = hasWith || (usesSuper && home) ? `__proto__: ${around}, *${quoted}` : `${quoted}: function* `
  const rest = print(source, textOfTwin(draft, plan))
  const { 0: inner, 1: begin } = compiled(draft, member + rest, entry)
  const self = links.self = own.async || lost.length ? wrapping(inner, own.async, label, lost) : inner
  return publish(self, fn, `function* ${rest}`, own.async, self === inner && begin || wayInto(self))
}

/**
 * @param {FunctionDraft} draft @param {Node} target @param {string[]} methods
 * @returns {any} the class, whose private names and `super` are its own
 */
function rewriteClass(draft, target, methods) {
  const { fn, label, source, links, edits } = draft
  /** The methods by name; static ones may have the names of others. @type {Map<string, any[]>} */
  const made = emptyMap()
  pick(methods, key => made.set(key, []))
  /** @type {Node[]} */
  const functions = []
  pick(target.body.body, ({ type, start, end, key, value, kind, computed, static: isStatic }) => {
    if (type !== 'MethodDefinition' || computed) return
    const name = nameOf(key) ?? key.value ?? cut(source, key.start, key.end)
    if (!made.has(name)) return
    if (kind !== 'method') throw constructing(label)
    const from = isStatic ? pastSpace(source, start + 6) : start
    insert(draft, start, -BODY_EDGE, 0, ';') // after a field without a semicolon
    replace(draft, from, key.start, '*')
    append(functions, drivable(value, label))
    append(made.get(name), { isStatic, async: value.async, from, to: end })
    if (value.generator) links.preemptible.delete(name) // stays what is iterated
  })
  made.forEach((parts, key) => {
    if (!parts.length) throw refusal(label, `${key} is no method`)
  })
  resolveNames(draft, '', false)
  pick(functions, own => planFunction(draft, planOfFunction(draft, own)))
  inOrder(edits)
  const edited = (/** @type {number} */ from, /** @type {number} */ to) => print(source, [range(draft, from, to)])
  const text = edited(0, source.length)
  const result = compiled(draft, `${stringify(fn.name)}: ${text}`)[0]
  made.forEach((parts, key) => pick(parts, ({ isStatic, async, from, to }) => {
    const holder = isStatic ? result : result.prototype
    if (!hasOwn(holder, key)) return // private
    publish(holder[key], (isStatic ? fn : fn.prototype)[key], edited(from, to), async, wayInto(holder[key]))
  }))
  if (!hasOwn(result, 'source')) define(result, 'source', text)
  return result
}

/**
 * Evaluates a member of an object, with what it refers to around it: where the caller says, or in the global scope.
 *
 * @param {FunctionDraft} draft @param {string} member @param {string} [begin] what begins a call of it; none of a class
 * @returns {any[]} the member and what begins a call of it
 */
function compiled({ fn, options, label, our, bindings, helpers }, member, begin) {
  const { strict, evaluate } = options
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
  const head = !begin || helpers.length ? `${list} =>` : `function ${list}`
  const body = `${join(helpers, ' ')} const ${our}holder = { ${member} }, ${our}self = ${our}holder[${stringify(fn.name)}], ` +
    `${our}begin = ${begin}; return [${our}self, ${our}begin]`
  const url = `preemptify/${++compilations}/${encodeURIComponent(fn.name || 'anonymous')}.js`
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

/** Descriptors here inherit nothing: a page may give Object.prototype a `get`. @param {any} from @param {any} to @returns {any} */
function withPropertiesOf(from, to) {
  pick(ownKeys(from), key => {
    defineProperty(to, key, /** @type {any} */ (assign(create(null), getOwnPropertyDescriptor(from, key))))
  })
  return to
}

/** @param {any} object @param {PropertyKey} key @param {any} value */
const define = (object, key, value) => defineProperty(object, key, /** @type {any} */ ({ __proto__: null, value, configurable: true }))

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

// ------------------------------------------------------------------------------------------- 8d modules

// A function that can run long is printed twice: as it is, and as its twin, a generator function over the same variables.
// Where functions nest deeply there is only the twin, and plain calls drive it to its end. In a twin whatever is called
// is asked for its twin (8e). Most twins leave frames (8c) and are no generators. What cannot run long, as it has no loop and
// calls only the like, stays as it is, and so does what can have no twin.

/**
 * What a module, or a script, makes of a function.
 *
 * @typedef {object} Plan
 * @property {Facts} facts
 * @property {Node} node
 * @property {Plan | null} parent
 * @property {Plan[]} children
 * @property {string} reason why it can have no twin
 * @property {Pieces} [registered] what gives a declared function its twin
 * @property {boolean} isOnce whether it is called once, where it stands, while the module is evaluated
 * @property {CallSite[]} calls that may be preempted
 * @property {boolean} isLong whether it has a twin
 * @property {number} price of a call, where it is not long
 * @property {Plan[]} callers where they may be short
 * @property {number} shortCalls how many of its calls are known to be
 * @property {number} duals how many functions may be dual from here on inwards
 * @property {boolean} holdsDual whether it is, or holds, one that is always printed twice, as it can have no single text
 * @property {number[]} sizes of its text, by how many may be dual
 * @property {string} twin the name of its twin
 * @property {boolean} isDirect whether its twin has a name wherever it has one
 * @property {Pieces | null} frame the body of its twin, if that leaves frames: then it is no generator
 * @property {string} entry the name of what begins a call of its twin, if that is no common function
 * @property {Edit[]} plain edits of its text in plain text
 * @property {Edit[]} inner edits of its plain text in a twin
 * @property {Edit[]} edits of its twin
 * @property {Pieces} text of its twin
 * @property {Draft} draft of its twin, if it has one
 */

/** Functions of the engine that neither call back nor take long, or only as one call of the engine. */
const QUICK = /* @__PURE__ */ new RegExp('^(?:Array(?:Buffer)?|BigInt|Boolean|DataView|Date|Number|Object|RegExp|String|Symbol|URL|' +
  'Map|Set|Weak(?:Map|Ref|Set)|\\w*Error|(?:Uint|Int|Float|Big(?:Ui|I)nt)\\w*Array|Text(?:En|De)coder|' +
  'parse(?:Int|Float)|is(?:NaN|Finite)|(?:en|de)codeURI(?:Component)?|(?:un)?escape|' +
  '(?:set|clear)(?:Timeout|Interval)|queueMicrotask)$')
/** Those that iterate what they are given. */
const COLLECTION = /^(?:Map|Set)$/
/** Objects whose methods are such. */
const QUICK_OBJECT = /^(?:Math|JSON|Object|Number|String|Symbol|BigInt|Date|console|performance|Atomics|Intl)$/
/** Methods of the engine that are such, and hardly anybody else's. */
const QUICK_METHOD = /* @__PURE__ */ new RegExp('^(?:charAt|charCodeAt|codePointAt|substr(?:ing)?|to(?:Lower|Upper)Case|toFixed|' +
  'toPrecision|hasOwnProperty|isPrototypeOf|localeCompare|trim(?:Start|End)?|pad(?:Start|End)|(?:starts|ends)With|' +
  '[gs]et(?:Ui|I)nt(?:8|16|32)|[gs]etFloat(?:32|64)|isArray|subarray)$')
/** Methods of the engine that call back. */
const CALLS_BACK = /^(?:forEach|map|filter|some|every|find\w*|reduce\w*|flatMap|sort|toSorted|from|replace\w*)$/
/** Of calls, what a function may do that is not long: as many as one that calls, and so on, have in all. */
const DEAREST = 300
/** How much longer than its source a text may become, and as far as it is counted. */
const MOST_GROWTH = 3.99
const GROWTH = 3.6
/** Characters that are not counted of a short text: those it begins with. */
const HEAD = 400
const SHORT = 1000
/** How often a text that is too long is printed until it is known which twins are to be generators. */
const PRINTS = 5
/** By how many characters a call, a loop and a function grow in a twin. */
const CALL = 36
const LOOP = 40
const TWIN = 60
/** How many functions, each in another, may be dual. */
const MOST_DUALS = 4

/** @param {Node} node */
const isFunctionNode = ({ type }) =>
  type === 'FunctionExpression' || type === 'ArrowFunctionExpression' || type === 'FunctionDeclaration'

/** @param {Node} node */
const isMember = node => node.type === 'MemberExpression'

/** @param {Node} member @returns {string} its name, if it is written */
const keyOf = ({ computed, property }) => computed || property.type !== 'Identifier' ? '' : property.name

/** Whether a call is what is assigned to, as sloppy code may try. @param {Node} node */
function isAssignedTo(node) {
  const { type, left } = node.parent
  return type === 'UpdateExpression' || (left === node && matches(/^(?:Assignment|For)/, type))
}

const kind = /* @__PURE__ */ among('module', 'script')
const SOURCE_OPTIONS = { type: kind, runtime: text, url: text }
const REPORT_OPTIONS = { type: kind }

/**
 * Rewrites a module or a script, so that its functions have preemptible twins.
 *
 * @param {string} text
 * @param {{ type?: 'module' | 'script', runtime?: string, url?: string }} [options] `type`: default 'module'; `runtime`: where the
 *   text imports rt.mjs from, default './rt.mjs'; `url`: its address, for a source map
 * @returns {string} the same module or script; what is served needs no eval
 * @throws {TypeError} naming the parameter
 * @throws {SyntaxError} when it cannot be parsed, or holds what would have another meaning
 */
function sourceOfModule(text, options = {}) {
  const { type = 'module', runtime = './rt.mjs', url } = optionsOf(options, SOURCE_OPTIONS)
  if (typeof text !== 'string') throw wrongType('text', 'a string', text)
  const tree = read(text, type)
  names(tree)
  return rewrittenText(text, tree, runtime, url)
}

/**
 * @param {string} text @param {Node} tree whose names are resolved @param {string} runtime @param {string} [url]
 * @param {string} [prologue] when its functions are there @param {string} [epilogue]
 */
function rewrittenText(text, tree, runtime, url, prologue = '', epilogue = '') {
  quick = isQuick()
  /** @type {number[]} */
  const kept = []
  /** @type {Plan[]} */
  let plans = []
  const room = MOST_GROWTH * text.length + (text.length < SHORT ? HEAD : 0)
  /** @type {Set<Node> | null} */
  let inlined = emptySet()
  /** @type {Map<string, string> | null} */
  let keepers = emptyMap()
  let fits = true
  /** @param {number} generators how many twins are to be such instead of leaving frames @returns {string} */
  const print = generators => {
    kept.length = 0
    keepers?.clear()
    plans = planModule(tree, text)
    const printed = printModule(text, tree, plans, runtime, kept, prologue, generators, keepers, inlined) + epilogue
    fits = printed.length <= room
    return printed
  }
  let result = print(0)
  // What is inlined goes first, what keeps entries last.
  if (!fits) {
    inlined = null
    let least = 0
    let most = pick(plans, isSpare).length
    for (let i = 0; i < PRINTS && least < most; i++) {
      const middle = (least + most) >> 1
      print(middle)
      if (fits) most = middle
      else least = middle + 1
    }
    result = print(most)
    if (!fits) keepers = null
    if (!fits) result = print(most)
  }
  return url === undefined ? result : result + mapLine(text, result, kept, url)
}

/** Decides what is made of each function. @param {Node} tree @param {string} text @returns {Plan[]} outer ones first */
function planModule(tree, text) {
  /** @type {Plan[]} */
  const plans = [planOf(tree.facts, null)]
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    const { functions } = plan.facts
    for (let k = 0; k < functions.length; k++) {
      const child = planOf(functions[k], plan)
      append(plan.children, child)
      append(plans, child)
    }
  }
  pick(tree.special, refuseNames)
  pick(plans, plan => {
    plan.isOnce = isOnce(plan)
    if (plan.isOnce) plan.reason ||= 'code that is run once'
  })
  pick(plans, findCalls)
  findShort(plans)
  pick(plans, plan => {
    const { node, facts, isLong } = plan
    plan.calls = pick(plan.calls, isPreempted)
    plan.isDirect = isLong && node.type === 'FunctionDeclaration' && node.id && !facts.isAsync && !facts.isGenerator
  })
  chooseForms(plans)
  return plans
}

/** @param {CallSite} call */
const isPreempted = ({ target }) => target === null || target.isLong

/** @param {Facts} facts @param {Plan | null} parent @returns {Plan} */
function planOf(facts, parent) {
  const plan = facts.node.plan = {
    facts, node: facts.node, parent, children: [], reason: '', isOnce: false, calls: [], isLong: false, price: 1, callers: [], shortCalls: 0, duals: 0,
    holdsDual: false, sizes: [], twin: '',
    isDirect: false, frame: null, entry: '',
    plain: [], inner: [], edits: [], text: '', draft: /** @type {any} */ (null)
  }
  plan.reason = refusalOf(plan)
  return plan
}

/** @param {Plan} plan @returns {string} why it can have no twin */
function refusalOf(plan) {
  const { facts, node, parent: around } = plan
  const { parent } = node
  if (!isFunctionNode(node)) return 'code that is run once'
  if (facts.isGenerator && (facts.isAsync || facts.usesArguments)) return `${facts.isAsync ? 'an async generator' : 'the arguments of a generator'}`
  if (facts.isConstructor && !canBeSkipped(node)) return 'a constructor'
  if (facts.isAccessor) return 'an accessor'
  if (facts.usesEval) return 'a direct eval'
  for (let outer = /** @type {Facts | null} */ (facts); outer; outer = outer.parent) if (outer.hasWith) return 'a with statement'
  if (facts.usesNewTarget) return 'new.target'
  if (facts.awaitsDisposal) return 'an await using declaration'
  const isInClass = parent.type === 'MethodDefinition'
  if (facts.usesSuper && !(isInClass && facts.isMethod)) return 'super'
  if (facts.isArrow) {
    if (facts.usesArguments) return 'the arguments of the function around it'
    let owner = around
    while (owner && owner.facts.isArrow) owner = owner.parent
    if (facts.usesThis && owner?.facts.isDerived) return 'the this of a constructor'
  }
  if (parent.computed && parent.value === node && !steadyKey(parent)) return 'a computed name'
  if (isPrivate(plan) && facts.isGenerator) return 'a private name'
  const { id } = node
  if (node.type === 'FunctionDeclaration') {
    if (id && pick(id.variable.declarations, (/** @type {Node} */ { parent }) => parent.type === 'FunctionDeclaration').length > 1) {
      return 'a name that is declared twice'
    }
    if (!isList(parent)) return 'a declaration that is part of a statement'
  } else if (id) {
    if (id.variable.isAssigned) return 'its own name is assigned to'
  } else if (!parent.computed && inferredName(node) === null) {
    return 'a computed name'
  }
  return ''
}

/**
 * Whether a constructor is so long that the calls in its innermost loops are made plainly: what finds twins takes all that V8 inlines
 * into a function, and the singular value decomposition of ml-matrix took 21 times as long in a job.
 *
 * @param {Node} node
 */
const isHuge = ({ body }) => body.end - body.start > 5000

/** @param {Node} call @param {Node[]} loops those of its function, in order @returns {boolean} whether it is in one that holds no other */
function isInnermost(call, loops) {
  const next = firstOf(loops, ({ start }) => start > call.start)
  const loop = loops[next - 1]
  return loop !== undefined && loop.end >= call.end && !(loops[next]?.start < loop.end)
}

/**
 * Whether the engine can make an object by a constructor whose body is skipped, and whose parameters do nothing then: for each of
 * them it is given what is no `undefined`.
 *
 * @param {Node} node a constructor
 */
const canBeSkipped = ({ params, parent }) => !parent.parent.parent.superClass && params.length <= NOTHINGS.length &&
  !find(params, (/** @type {Node} */ { type, left, argument = left }) => matches(/Pattern$/, argument?.type ?? type))

/** @param {{ node: Node, facts: Facts }} plan */
const isPrivate = ({ facts, node: { parent } }) => facts.isMethod && parent.key.type === 'PrivateIdentifier'

/**
 * What a member is called, so that no two that are known are the same by different names.
 *
 * @param {Node} member of a class or an object @returns {string} empty: not known
 */
function steadyKey({ computed, key }) {
  const { type, name, value, object, variable } = key
  if (type === 'Literal') return `.${value}`
  if (!computed) return type === 'PrivateIdentifier' ? `#${name}` : `.${name}`
  if (isMember(key)) return isGlobal(object, /^Symbol$/) && keyOf(key) ? `@${keyOf(key)}` : ''
  const init = variable?.kind === 'const' && type === 'Identifier' && valueOfName(key)
  return init && init.type === 'CallExpression' && isGlobal(init.callee, /^Symbol$/) ? `[${name}]` : ''
}

/** Whether statements stand in it as a list. @param {Node} node */
const isList = ({ type }) => type === 'Program' || type === 'BlockStatement' || type === 'StaticBlock' ||
  type === 'ExportNamedDeclaration' || type === 'ExportDefaultDeclaration'

/** A generator function has no variable `yield`, and is not what `arguments.callee` is to be. @param {Node} id one of those */
function refuseNames({ name, parent }) {
  const isYield = name === 'yield'
  if (!isYield && !(isMember(parent) && keyOf(parent) === 'callee')) return
  for (let around = parent; around; around = around.parent) {
    if (!around.facts) continue
    around.plan.reason ||= `the name ${isYield ? 'yield' : 'arguments.callee'}`
    if (!around.facts.isArrow) return
  }
}

/**
 * The name that a function without one gets from where it stands.
 *
 * @param {Node} node @returns {string | null} null if it is computed
 */
function inferredName(node) {
  const { parent } = node
  const isNamed = (/** @type {Node} */ id, /** @type {Node} */ value) =>
    value === node && id.type === 'Identifier' && id.start === parent.start
  switch (parent.type) {
    case 'VariableDeclarator': return isNamed(parent.id, parent.init) ? parent.id.name : ''
    case 'AssignmentPattern': return isNamed(parent.left, parent.right) ? parent.left.name : ''
    case 'AssignmentExpression':
      return matches(/^(?:\|\||&&|\?\?)?=$/, parent.operator) && isNamed(parent.left, parent.right) ? parent.left.name : ''
    case 'Property': case 'PropertyDefinition': {
      if (parent.value !== node || parent.method) return ''
      const { key, computed } = parent
      if (computed) return null
      if (key.type === 'PrivateIdentifier') return `#${key.name}`
      if (key.type === 'Identifier') return key.name === '__proto__' && parent.type === 'Property' ? '' : key.name
      if (typeof key.value === 'string') return key.value === '__proto__' && parent.type === 'Property' ? '' : key.value
      return null
    }
    case 'ExportDefaultDeclaration': return 'default'
    default: return ''
  }
}

/** @param {Plan} plan @returns {boolean} */
function isOnce({ node, facts, parent }) {
  if (parent === null) return true
  if (!parent.isOnce || !isFunctionNode(node) || facts.isGenerator || facts.isAsync || facts.usesArguments) return false
  let called = node
  if (isMember(node.parent) && node.parent.object === node && matches(/^(?:call|apply)$/, keyOf(node.parent))) called = node.parent
  const call = called.parent
  if (call.type !== 'CallExpression') return false
  const isFactory = called === node && call.callee !== node && isFunctionNode(call.callee) && call.callee.plan.isOnce
  if (call.callee !== called && !isFactory) return false
  for (let around = call; around !== parent.node; around = around.parent) if (matches(/^(?:For|While|Do)/, around.type)) return false
  return true
}

/** @param {Plan} plan */
function findCalls(plan) {
  const { facts, node } = plan
  if (plan.reason) return
  const { calls } = facts
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i]
    if (call.start < node.body.start) continue // parameters are no place for a yield
    const kind = kindOf(call)
    if (kind === '' || (facts.isConstructor && isHuge(node) && isInnermost(call, facts.loops))) continue
    append(plan.calls, call.call = callSite(call, kind, targetOf(call), node))
  }
}

/** How a call is made in a twin; empty: as it is. @param {Node} call */
function kindOf(call) {
  const { type, callee, tag } = call
  if (type === 'TaggedTemplateExpression') return tag.type === 'Identifier' && !isGlobal(tag, QUICK) ? 'tag' : ''
  if (callee.type === 'Super' || callee.type === 'ChainExpression' || callee.type === 'MetaProperty' || isAssignedTo(call)) return ''
  if (callee.type === 'Identifier' && isGlobal(callee, QUICK)) return ''
  if (type === 'NewExpression') return isClass(callee.variable) && !constructorOf(callee) ? '' : 'new'
  const { parent } = lastAfter(call)
  if (parent.type === 'ChainExpression' && parent.parent.operator === 'delete') return ''
  if (!isMember(callee)) return 'call'
  const { object } = callee
  if (matches(QUICK_METHOD, keyOf(callee)) || (object.type === 'Identifier' && keyOf(callee) && isGlobal(object, QUICK_OBJECT))) return ''
  if (isOfEngine(object) && keyOf(callee) && !matches(CALLS_BACK, keyOf(callee))) return ''
  return 'member'
}

/** @param {Variable | null | undefined} variable @returns {boolean} whether it stays what it is declared as */
const isFixed = variable => !!variable && !variable.isAssigned && !variable.isDynamic

/** @param {Node} id @returns {Node | null} what it stands for, if that is written once and stays */
function valueOfName({ variable }) {
  if (!isFixed(variable) || variable.declarations.length !== 1) return null
  const { 0: id } = variable.declarations
  const { parent } = id
  if (parent?.id !== id) return null
  return parent.type === 'VariableDeclarator' ? parent.init : parent
}

/** @param {Node} node @returns {boolean} whether its value is an array, a string or a collection, whose methods are the engine's */
function isOfEngine(node) {
  const { type, value, callee } = (node.type === 'Identifier' && valueOfName(node)) || node
  if (isRest(node.variable)) return true
  return type === 'ArrayExpression' || type === 'TemplateLiteral' || type === 'Literal' && typeof value === 'string' ||
    type === 'NewExpression' && callee.type === 'Identifier' && isGlobal(callee, QUICK)
}

/** @param {Variable | null | undefined} variable @returns {boolean} whether it is an array of what was left */
function isRest(variable) {
  const { parent } = (isFixed(variable) && variable?.declarations.length === 1 && variable.declarations[0]) || {}
  return parent?.type === 'RestElement' && parent.parent.type !== 'ObjectPattern'
}

/** @param {Node} node @returns {boolean} whether it iterates what may be a generator, to its end */
function isCollected({ type, parent, argument, callee, arguments: given }) {
  if (type === 'SpreadElement') return parent.type !== 'ObjectExpression' && !isOfEngine(argument)
  return type === 'NewExpression' && given.length === 1 && given[0].type !== 'SpreadElement' && isGlobal(callee, COLLECTION) &&
    !isOfEngine(given[0])
}

/** @param {Variable | null | undefined} variable @returns {boolean} whether it is a class of the module, and stays it */
const isClass = variable => !!variable && isFixed(variable) &&
  (variable.kind === 'class' || matches(/^Class/, variable.scope.node.type))

/** @param {Node} id @param {RegExp} names @returns {boolean} whether it is one of the engine's */
const isGlobal = (id, names) => id.variable === null && matches(names, id.name)

/** @param {Node} id of a class @returns {Node | null} its constructor, if it extends none */
function constructorOf({ variable }) {
  const { superClass, body } = variable.declarations[0].parent
  return !superClass && find(body.body, (/** @type {Node} */ { kind }) => kind === 'constructor')?.value || null
}

/** The function of the module that is called, or whose body makes an object. @param {Node} call @returns {Plan | null} */
function targetOf(call) {
  const { type, callee = call.tag } = call
  if (type === 'NewExpression' && isClass(callee.variable)) return /** @type {Node} */ (constructorOf(callee)).plan
  const value = callee.type === 'Identifier' ? valueOfName(callee) : callee.property?.type === 'PrivateIdentifier' ? privateMethod(callee) : callee
  return value && isFunctionNode(value) ? value.plan : null
}

/** @param {Node} member by a private name @returns {Node | null} the method that it is */
function privateMethod({ property: { name }, parent }) {
  while (parent) {
    if (parent.type === 'ClassBody') {
      if (!parent.privates) {
        parent.privates = create(null)
        pick(parent.body, ({ key, kind, value }) => {
          if (key?.type === 'PrivateIdentifier') parent.privates[key.name] = kind === 'method' ? value : null
        })
      }
      if (name in parent.privates) return parent.privates[name]
    }
    parent = parent.parent
  }
  return null
}

/** Finds the functions that cannot run long: whose calls are all of such. @param {Plan[]} plans */
function findShort(plans) {
  /** @type {Plan[]} */
  const short = []
  pick(plans, plan => {
    const { facts, calls } = plan
    plan.isLong = plan.reason === ''
    // Most constructors are short and called often, so what they call of others does not count, but for what they give themselves to: a
    // Lisp took 1.6 times as long as a job.
    const isThis = (/** @type {Node | undefined} */ node) => node?.type === 'ThisExpression'
    const unknown = pick(calls, ({ target, node: { callee, arguments: given } }) =>
      target === null && (!facts.isConstructor || isThis(callee?.object) || (given && find(given, isThis))))
    const isOpen = plan.isLong && !facts.loops.length && !facts.awaits.length && !unknown.length && !find(facts.yields, ({ delegate }) => delegate)
    const targets = pick(calls, ({ target }) => target !== null)
    if (isOpen) pick(targets, ({ target }) => append(/** @type {Plan} */ (target).callers, plan))
    plan.shortCalls = calls.length - targets.length
    if (!plan.isLong || (isOpen && !targets.length)) append(short, plan)
  })
  while (short.length) {
    const plan = takeLast(short)
    plan.isLong = false
    if (plan.facts.isConstructor && plan.calls.length) plan.reason ||= 'a constructor'
    pick(plan.callers, caller => {
      caller.price += plan.price
      if (++caller.shortCalls === caller.calls.length && caller.price <= DEAREST) append(short, caller)
    })
  }
}

/**
 * Prints a module whose functions are planned.
 *
 * @param {string} source @param {Node} tree @param {Plan[]} plans @param {string} specifier of rt.mjs
 * @param {number[]} kept gets what of the source stays, as mapOf takes it @param {string} begin when its functions are there
 * @param {number} generators how many twins are to be such that could leave frames
 * @param {Map<string, string> | null} keepers gets those that there are; null: there are to be none
 * @param {Set<Node> | null} inlined likewise
 * @returns {string}
 */
function printModule(source, tree, plans, specifier, kept, begin, generators, keepers, inlined) {
  const isScript = tree.sourceType === 'script'
  /** What our names begin with, and none in the source. */
  const our = prefixFor(source)
  /** Those of a script that are global, and the same in all scripts; and those of this one. */
  const global = our + (isScript ? 'rt_' : '')
  const unit = isScript ? `${global}${hashOf(source)}_` : our
  /** Which helpers it refers to. */
  const used = emptySet()
  /** @param {string} key */
  const helper = key => {
    used.add(key)
    return global + key
  }
  const budget = `${our}b`
  /** What a constructor is given whose body is skipped. */
  const nothing = isScript ? `${global}p.runtime.nothing` : `${global}N`
  const written = { has: (/** @type {Node} */ node) => (node.call && isPreempted(node.call)) || isCollected(node) }
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    const isNamed = plan.node.type === 'FunctionDeclaration' || isPrivate(plan) // others are known where they stand
    plan.twin = isNamed ? `${plan.parent?.parent ? our : unit}${i}` : `${our}T`
    if (!plan.isLong) continue
    plan.draft = {
      source, our, unit, free: tree.free, edits: plan.edits, variables: emptySet(), written, helper, keepers, inlined, spell: terse,
      budget, begin: isScript ? ` const ${budget} = ${global}p.budget;` : '',
      steps: plan.facts.isGenerator ? `${our}s` : '', self: 'this', isOfModule: true, isCounted: true, framed: null
    }
    plan.frame = optimisations.frame(plan.draft, plan)
  }
  chooseGenerators(plans, generators)
  for (let i = 0; i < plans.length; i++) {
    const plan = plans[i]
    if (plan.frame) plan.entry = isPrivate(plan) ? `#${plan.twin}` : plan.twin
  }
  for (let i = plans.length; i-- > 0;) {
    const plan = plans[i]
    plan.plain = inOrder(bound(plan, childEdits(plan, false)))
    if (!plan.isLong && !isInside(plan)) continue // it is in no twin
    const inner = childEdits(plan, true)
    if (plan.isLong) joined(plan.edits, inner)
    plan.inner = inOrder(bound(plan, inner))
    if (!plan.isLong) continue
    if (plan.frame) planFrame(plan.draft, plan.calls)
    else planTwin(plan.draft, plan)
    inOrder(plan.edits)
    plan.text = plan.frame ? textOfFrame(plan.draft, plan) : textOfTwin(plan.draft, plan)
  }
  const head = prologue()
  const { plain } = plans[0]
  const at = placeOfHead()
  insert({ edits: plain }, at, BODY_EDGE / 2, Infinity, head)
  insert({ edits: plain }, at, STATEMENT_EDGE, Infinity, begin)
  return print(source, [{ edits: inOrder(plain), from: 0, to: source.length }], kept)

  function placeOfHead() {
    const hashbang = startsWith(source, '#!') ? exec(/.*[^]?/, source)[0].length : 0
    return isScript ? pastDirectives(tree.body, hashbang) : hashbang
  }

  function prologue() {
    let result = isScript ? `;var ${global}p=${STAND_IN};`
      : `import{preemptify as ${global}p,budget as ${budget}}from${stringify(specifier)};`
    if (!isScript && used.has('C')) result += `const ${nothing}=${global}p.runtime.nothing;`
    for (const key in HELPERS) {
      if (!used.has(key)) continue
      const list = cut('f,g,e,s', 0, max(0, 2 * runtime[HELPERS[key]].length - 1))
      result += `function ${global}${key}(${list}){return ${global}p.runtime.${HELPERS[key]}(${list})}`
    }
    // A stand-in, by which nothing has a twin, keeps nothing.
    keepers?.forEach((name, key) => {
      const isMethod = startsWith(key, '.')
      const way = `${global}${isMethod ? 'E' : 'e'}`
      const first = isScript ? `${global}p.runtime.isStandIn?${way}(f):` : ''
      result += `var ${name}p${isMethod ? '={}' : ''},${name}q;function ${name}(f){return f===${name}p?${name}q:${first}${name}q=${way}(${name}p=f)}`
    })
    return used.size ? result : ''
  }

  /** Edits of the functions in one. @param {Plan} plan @param {boolean} isInner whether it is the text of a twin, or in one */
  function childEdits(plan, isInner) {
    const draft = { edits: joined([], plan.facts.edits) }
    pick(plan.children, child => printChild(draft, child, isInner))
    return draft.edits
  }

  /** What is bound in plain text. @param {Plan} plan @param {Edit[]} edits */
  function bound(plan, edits) {
    pick(plan.facts.calls, ({ callee, optional }) => {
      if (!callee || !isMember(callee) || keyOf(callee) !== 'bind' || callee.object.type === 'Super' || optional || callee.optional) return
      const { start, end } = callee.object
      enclose({ edits }, start, end, EXPRESSION_EDGE, `${helper('j')}((`, '))')
    })
    return edits
  }

  /** @param {Draftlike} around @param {Plan} plan @param {boolean} isInner */
  function printChild(around, plan, isInner) {
    const { node, facts, isLong, frame, text } = plan
    const { parent } = node
    const edits = isInner ? plan.inner : plan.plain
    const isInClass = parent.type === 'MethodDefinition' && facts.isMethod
    const isObjectMethod = facts.isMethod && !isInClass
    if (!isLong) {
      const { start, end } = node.type === 'PropertyDefinition' ? node.value : node // the rest of it is of what is around
      if (edits.length) replace(around, start, end, [{ edits, from: start, to: end }])
      return
    }
    const { start, end } = isObjectMethod ? parent : node
    const asItIs = { edits, from: start, to: end }
    const isDual = facts.isAsync || facts.isGenerator || isInClass || (!isInner && (plan.duals > 0 || plan.children.length === 0))
    const register = helper('t')
    const twin = frame ? plan.entry : plan.twin
    const how = facts.isGenerator ? ',!0' : facts.isAsync ? ',!1' : ''
    const self = facts.isArrow && facts.usesThis && !frame ? `${how || ',null'},[this]` : how
    /** @param {Pieces} fn @param {Pieces} twin */
    const registered = (fn, twin) => [`${register}(`, fn, frame ? ',0,' : ',', twin, `${self})`]

    if (node.type === 'FunctionDeclaration') printDeclaration()
    else if (isInClass) printMember()
    else if (isObjectMethod) replace(around, start, end, [key() === '__proto__' ? '["__proto__"]:' : `${key()}:`, expression()])
    else replace(around, start, end, parent.callee === node ? ['(', expression(), ')'] : expression()) // `new function () {}`

    function printDeclaration() {
      const name = node.id ? node.id.name : `${plan.twin}f`
      if (!node.id) { // export default function () {}
        insert({ edits }, seek(source, '(', start), REPLACES, start, ` ${name}`)
        inOrder(edits)
        replace(around, parent.start, start, `export{${name} as default};`)
      }
      replace(around, start, end, [isDual ? asItIs : stub(plan, `function ${name}`), text])
      const block = parent.type === 'BlockStatement' || parent.type === 'StaticBlock' ? parent : null
      const at = block ? pastDirectives(block.body, seek(source, '{', block.start) + 1) : placeOfHead()
      // A declaration is no result of a script.
      const begin = `${node.id ? '' : `;${helper('m')}(${name},"default")`};${isScript && plan.parent?.parent === null ? `var ${global}0=` : ''}`
      plan.registered = [begin, registered(name, twin), ';']
      insert(around, at, block ? -BODY_EDGE / 2 : BODY_EDGE, Infinity, plan.registered) // in a block, of no range that begins there
    }

    function printMember() {
      if (facts.isConstructor) {
        const { body: { start, body } } = node
        const at = pastDirectives(body, start + 1)
        const { 0: first } = node.params
        const id = first?.left ?? first
        const isPlain = id?.type === 'Identifier' && id.variable.declarations.length === 1 // else it may be a function in the body
        insert({ edits }, at, -BODY_EDGE, Infinity, `${at > start + 1 ? ';' : ''}if(${isPlain ? id.name : 'arguments[0]'}===${nothing})return;`)
        inOrder(edits)
      }
      if (edits.length) replace(around, start, end, [asItIs])
      if (isPrivate(plan)) return insert(around, parent.end, -BODY_EDGE, parent.start, [parent.static ? 'static ' : '', text])
      const elements = parent.parent.body
      for (let i = elements.length; elements[--i] !== parent;) if (!facts.isConstructor && isSameMember(elements[i], parent)) return
      const holder = `this${parent.static ? '' : '.prototype'}`
      const made = facts.usesSuper ? [`{__proto__:${helper('z')}(${holder}),`, text, '}.m'] : text
      const member = facts.isConstructor ? [`${helper('C')}(this,`, frame ? made : ['[', made, ']'], ')'] : registered(holder + access(key()), made)
      insert(around, parent.parent.start + 1, BODY_EDGE, Infinity, ['static{', member, '}'])
    }

    function expression() {
      const { id } = node
      if (!id && isDual) return registered(named(asItIs), text)
      if (!id) {
        const fn = named(stub(plan, isObjectMethod ? key() : facts.isArrow ? '' : 'function'))
        return frame ? [`${helper('Q')}(`, text, `,${twin}=>(`, fn, '))'] : [`(${twin}=>`, registered(fn, twin), ')(', text, ')']
      }
      return isDual ? [`(${id.name}=>`, registered(id.name, text), ')(', asItIs, ')']
        : ['(()=>{', stub(plan, `function ${id.name}`), text, 'return ', registered(id.name, twin), '})()']
    }

    /** What the member is called in the text. */
    function key() {
      const { key: { start, end }, computed } = parent
      return computed ? `[${cut(source, start, end)}]` : cut(source, start, end)
    }

    /** @param {string} key */
    function access(key) {
      return key[0] === '[' ? key : matches(/^["'\d.]/, key) ? `[${key}]` : `.${key}`
    }

    /** The function, with the name that it would have where it stands. @param {Pieces} fn */
    function named(fn) {
      if (isObjectMethod) return ['{', fn, '}', access(key())]
      const isKey = parent.value === node && parent.computed
      const name = isKey ? key() : /** @type {string} */ (inferredName(node))
      if (name === '') return fn
      const label = isKey || matches(/^[a-z_$][\w$]*$/i, name) ? name : `[${stringify(name)}]`
      return [`{${label}:`, fn, '}', access(label)]
    }
  }

  /** A function that drives its twin. @param {Plan} plan @param {string} head */
  function stub(plan, head) {
    const { node, facts, twin } = plan
    const { params, body } = node
    const { isArrow, usesThis, usesArguments } = facts
    /** @type {string[]} */
    const names = []
    const isSimple = !usesArguments && !find(params, ({ type }) => type !== 'Identifier')
    for (let i = 0; i < params.length && !matches(/^(?:Assignment|Rest)/, params[i].type); i++) {
      append(names, isSimple ? params[i].name : `${our}a${i}`)
    }
    const given = join(names, ',')
    const rest = `${given && `${given},`}...${our}r`
    const directive = body.type === 'BlockStatement' && isStrictBody(body.body) ? '"use strict";' : ''
    const self = usesThis ? 'this' : 0
    const all = isSimple ? `[${given}]` : isArrow ? `[${rest}]` : 'arguments'
    const result = plan.frame ? `${helper('P')}(${plan.entry},${self},${all})`
      : `${helper('d')}(${isSimple && !usesThis ? `${twin}(${given})` : `${helper('a')}(${twin},${self},${all})`})`
    return isArrow && !directive ? `${head}(${isSimple ? given : rest})=>${result}`
      : `${head}(${isArrow && !isSimple ? rest : given})${isArrow ? '=>' : ''}{${directive}return ${result}}`
  }
}

/** @param {Node} call @param {Node} own the function that it is in @returns {Node | null} what returns its result, if it is the last that is done there */
function returnOf(call, own) {
  let top = call
  for (; top.parent !== own; top = top.parent) {
    const { type, argument, consequent, alternate, right } = top.parent
    if (type === 'ReturnStatement' && argument === top) break
    const isLast = type === 'ConditionalExpression' ? top === consequent || top === alternate : type === 'LogicalExpression' && top === right
    if (!isLast) return null
  }
  return isLastIn(top, own) ? top : null
}

/** Whether two elements of a class have one name, which is known. @param {Node} one @param {Node} other */
const isSameMember = (one, other) => one.type === 'MethodDefinition' && one.static === other.static &&
  (steadyKey(one) || steadyKey(other)) === steadyKey(other)

/** Whether its twin may be a generator as well. @param {Plan} plan */
const isSpare = ({ draft }) => draft?.framed && !draft.framed.isTail

/**
 * Has twins be generators: first those that make closures, as these are called more often, and those around them; then the longest.
 *
 * @param {Plan[]} plans @param {number} count
 */
function chooseGenerators(plans, count) {
  if (count === 0) return
  const spare = pick(plans, isSpare)
  /** How many functions, each in another, each holds. @type {Map<Plan, number>} */
  const heights = emptyMap()
  const heightOf = (/** @type {Plan} */ plan) => heights.get(plan) ?? 0
  for (let i = plans.length; i-- > 0;) {
    const { parent } = plans[i]
    if (parent) heights.set(parent, max(heightOf(parent), heightOf(plans[i]) + 1))
  }
  const lengthOf = (/** @type {Plan} */ { node: { start, end } }) => end - start
  sort(spare, (/** @type {Plan} */ a, /** @type {Plan} */ b) =>
    heightOf(b) - heightOf(a) || a.node.scope.depth - b.node.scope.depth || lengthOf(b) - lengthOf(a))
  for (let i = 0; i < count; i++) {
    spare[i].frame = null
    unframe(spare[i].draft)
  }
}

/** @param {Plan} plan @returns {boolean} whether a function around it may be long */
function isInside({ parent }) {
  while (parent && parent.reason) parent = parent.parent
  return parent !== null
}

/**
 * Decides how many functions, each in another, are printed twice, by what that makes of the length of the text.
 *
 * @param {Plan[]} plans
 */
function chooseForms(plans) {
  for (let i = plans.length; i-- > 0;) {
    const plan = plans[i]
    const { node, facts, children, calls, sizes } = plan
    const { start, end } = node
    let own = end - start
    /** Of the children, by how many may be dual. */
    const inner = [0, 0, 0, 0, 0]
    for (let k = 0; k < children.length; k++) {
      const child = children[k]
      own -= child.node.end - child.node.start
      for (let d = 0; d <= MOST_DUALS; d++) inner[d] += child.sizes[d]
    }
    const twin = own + CALL * calls.length + LOOP * facts.loops.length + TWIN + inner[0]
    const isAlwaysDual = facts.isAsync || facts.isGenerator || facts.isMethod && node.parent.type === 'MethodDefinition'
    // Each such around another would double it.
    if (isAlwaysDual && isInside(plan) && find(children, ({ holdsDual }) => holdsDual)) {
      plan.isLong = false
      plan.reason ||= 'nested too deep'
    }
    plan.holdsDual = isAlwaysDual && plan.isLong || !!find(children, ({ holdsDual }) => holdsDual)
    for (let d = 0; d <= MOST_DUALS; d++) {
      sizes[d] = !plan.isLong ? own + inner[d] : d > 0 || isAlwaysDual ? own + inner[max(d - 1, 0)] + twin : twin + TWIN
    }
  }
  const { node, sizes } = plans[0]
  let most = MOST_DUALS
  while (most > 0 && sizes[most] > GROWTH * (node.end - node.start)) most--
  for (let i = 0; i < plans.length; i++) {
    const { parent } = plans[i]
    plans[i].duals = parent ? max(parent.duals - (parent.isLong ? 1 : 0), 0) : most
  }
}

// --------------------------------------------------------------------------------------------- 8e running

// A function of rewritten code is what it was. Beside it stands its twin over the same variables, which jobs run: a generator
// function, or one that leaves frames. A call in a twin begins the callee's twin, if it has one:
//
//   (result = enter(f)(a, b)) === budget ? yield suspended() : result
//
// enter(f) is f itself, or begins the twin on the engine's stack; what has not returned then is yielded, and resumed by
// the scheduler. Scripts find all of it by a global symbol (`shared`).

/**
 * What is known of a function that has a twin.
 *
 * @typedef {object} Twin
 * @property {any} generator the generator function; null for what only begins those of others, as Function.prototype.call
 * @property {Function | true | null} entry what begins a call; the function itself where that is not to be preempted; true:
 *   of a generator function, until it is called first
 * @property {Function | null} awaited what begins a call that is awaited
 * @property {any[] | null} self the `this` of the generator function, where it is that of an arrow function
 * @property {{ fn: any, args: any[] } | null} target what a bound function calls, and `args` of bind
 * @property {any} [body] of a class: what the body of its constructor does to an object; a generator function stands in an array
 * @property {any} Blank makes objects of its prototype
 */

/**
 * The twin is a private field on the function itself: no reflection shows it, a proxy has none, and functions may be frozen. To
 * find it takes 2 ns, where there is none 10, where many kinds of functions meet 20 (Firefox: 2 and 48); by a symbol 1 to
 * 27, by a WeakMap 4 to 11. To make a closure and stamp it takes 30 to 100 ns, with a WeakMap 170 to 650 (Node 20, Chromium 156,
 * Firefox 153).
 *
 * @returns {{ get(fn: any): any, set(fn: any, what: any): void }}
 */
function stamping() {
  class Stamp extends /** @type {any} */ (function (/** @type {any} */ fn) { return fn }) {
    /** @type {Twin} */
    #twin
    /** @param {Function} fn @param {Twin} twin */
    constructor(fn, twin) {
      super(fn)
      this.#twin = twin
    }
    /** @param {any} fn @returns {Twin | undefined} */
    static get(fn) {
      return (typeof fn === 'function' || (typeof fn === 'object' && fn !== null)) && #twin in fn ? fn.#twin : undefined
    }
  }
  return { get: Stamp.get, set: (fn, twin) => { new Stamp(fn, twin) } }
}

/** @type {{ get(fn: any): Twin | undefined, set(fn: Function, twin: Twin): void }} Where twins are kept; that of a script which came first is taken over. */
let stamps = /* @__PURE__ */ stamping()

/** What was called last of what has no twin, for callees that no keeper finds (8c): a loop mostly calls the same. @type {any} */
let latestPlain

/** @param {any} fn @param {any} generator @param {any} entry @param {any[] | null} self @param {Twin['target']} target @param {any} [body] */
const stamp = (fn, generator, entry, self = null, target = null, body) => {
  latestPlain = undefined
  stamps.set(fn, { generator, entry, awaited: body ? fn : null, self, target, Blank: null, body })
}

/** @param {any} F a class @param {any} body as of Twin */
function body(F, body) {
  if (!isLinked) link()
  stamp(F, null, F, null, null, body)
}

/**
 * Registers the twin of a function.
 *
 * @template {Function} F
 * @param {F} fn @param {any} generator the generator function, which for an async function yields promises
 * @param {Function | boolean | null} [entry] what jobs call instead of the function: it returns what `run` does. None: it runs
 *   the generator. False for async functions, which run beside their caller; true for generator functions, whose twins are
 *   given their Steps first
 * @param {any[]} [self] the `this` of an arrow function
 * @returns {F}
 */
function twin(fn, generator, entry, self) {
  if (!isLinked) link()
  stamp(fn, generator || undefined, entry === false ? fn : entry ?? null, self)
  return fn
}

/** The function that drives a twin which leaves frames. @param {any} entry @param {(entry: any) => any} make */
const withStub = (entry, make) => twin(make(entry), 0, entry)

/** @param {Twin} twin @param {any} fn that it is of @returns {any} its generator function, as anybody may call it */
function generatorOf(twin, fn) {
  if (twin.generator === undefined) twin.generator = forwarding(twin.entry)
  if (twin.entry === true) begin(twin, fn)
  if (twin.self !== null) {
    twin.generator = apply(engine.bind, twin.generator, twin.self)
    twin.self = null
  }
  return twin.generator
}

/** The twin of a function that needs no generator, since what it calls is what it returns. @param {any} entry */
const forwarding = entry => /** @this {any} @param {any[]} args @returns {any} */ function* (...args) {
  return yield* forwarded(entry, this, args)
}

/**
 * One call of it, which makes no generator function: the first call of each that is made takes V8 4 us.
 *
 * @param {any} entry @param {any} self @param {any[]} args @returns {Generator<any, any, any>}
 */
function* forwarded(entry, self, args) {
  const result = apply(entry, self, args)
  return result === budget ? yield suspended() : result
}

/** @param {Twin} twin @param {any} fn that it is of */
const begin = (twin, fn) => twin.entry === true ? stepping(twin, fn) : wayInto(generatorOf(twin, fn))

/** What jobs call for a function, or for whatever else is called. @param {any} fn @returns {any} */
function entryOf(fn) {
  if (fn === latestPlain) return fn
  const twin = stamps.get(fn)
  if (twin === undefined) return latestPlain = fn
  return typeof twin.entry === 'function' ? twin.entry : twin.entry = begin(twin, fn)
}

/** The same for a call that is awaited: an async function is part of its caller then. @param {any} fn @returns {any} */
function awaitedEntryOf(fn) {
  const twin = stamps.get(fn)
  return twin === undefined || twin.entry !== fn ? entryOf(fn) : twin.awaited ??= begin(twin, fn)
}

/**
 * What a member call asks to `call` what it has found: that, or what calls it, where it has another `call`, or cannot be called, which
 * is to fail when the arguments are there. Not kept: a proxy can see that its `call` is read, and a page that gives the engine another
 * `call` after the first calls, or a function without a twin one of its own, is asked for it.
 *
 * @param {any} entry @returns {{ call(self: any, ...args: any[]): any }}
 */
const asMethod = entry => typeof entry === 'function' && entry.call === engine.call ? entry
  : { call: (/** @type {any} */ self, /** @type {any[]} */ ...args) => apply(entry, self, args) }

/** Makes a new object, and does nothing to it. */
const Blank = () => function () {}

/**
 * What `new` makes first, of the prototype that the function has now. To say by new.target whose that is takes 5 us (Node 20),
 * so each function has another that makes such objects.
 *
 * @param {Twin} twin @param {any} F @param {any} target @returns {any}
 * @throws {TypeError} when the target is no constructor
 */
function blank(twin, F, target) {
  const { prototype } = F
  if (target !== F || !isObject(prototype) || (twin.Blank === null && !isConstructor(F))) {
    return reflectConstruct(Blank(), NO_ARGUMENTS, target)
  }
  const Own = twin.Blank ??= Blank()
  if (Own.prototype !== prototype) Own.prototype = prototype
  return new Own()
}

/** What nobody else has, and a constructor for each parameter where its body is to be skipped. */
const nothing = /* @__PURE__ */ Object.freeze({ __proto__: null })
/** As many as parameters that it may have. */
const NOTHINGS = /* @__PURE__ */ Array.from('12345678', () => nothing)

/**
 * `new F(...args)` in a twin. Of classes that extend none, the engine makes the object, with all its fields, and the twin is the body
 * of the constructor.
 *
 * @param {any} F @param {any[]} args @param {any} [target] new.target
 * @returns {any} the object; `budget` where something is pending
 */
function construct(F, args, target = F) {
  const begin = entryOf(F)
  const twin = F === latestPlain ? undefined : stamps.get(F)
  if (twin === undefined || ((begin === F || twin.generator === null) && !twin.body)) return reflectConstruct(F, args, target)
  if (twin.target !== null) {
    const { fn, args: given } = twin.target
    const all = joined(joined([], given), args)
    splice(all, 0, 1)
    return construct(fn, all, target === F ? fn : target)
  }
  if (isArray(twin.body)) twin.body = wayInto(twin.body[0])
  // Not spread: a page may have replaced what iterates.
  const object = !twin.body ? blank(twin, F, target) : target !== F ? reflectConstruct(F, NOTHINGS, target)
    : new F(nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing)
  const result = apply(twin.body ?? begin, object, args)
  if (result !== budget) return isObject(result) ? result : object
  append(pending, begun(constructed(object, suspended())))
  return budget
}

/** @param {any} object @param {any} call @returns {Generator<any, any, any>} */
function* constructed(object, call) {
  const result = yield call
  return isObject(result) ? result : object
}

/** How many plain calls may nest, ten times as many as engines allow other code: recursion without end must end. */
const DEEPEST = 2 ** 17

/** More points than code passes in a second; as many as V8 counts without allocating. */
const MANY_POINTS = 2 ** 30 - 1

/**
 * Runs a twin to its end: what a function does that has no other body, when it is called plainly. Its points are counted and
 * hardly ever yield.
 *
 * @param {any} generator @returns {any}
 */
function driveToEnd(generator) {
  const free = counts.room
  const { left } = budget
  budget.left = MANY_POINTS
  driving++
  try {
    const step = apply(next, generator, NO_ARGUMENTS)
    return step.done ? step.value : driveOn(generator, step.value, free)
  } finally {
    driving--
    counts.room = free
    const rest = left - MANY_POINTS + budget.left
    budget.left = rest > 0 ? rest : 0
  }
}

/**
 * The rest of it, once it has yielded: calls are kept on a stack of our own, so that recursion is bounded by memory.
 *
 * @param {any} leaf @param {any} value that it yielded @param {number} free room @returns {any}
 */
function driveOn(leaf, value, free) {
  /** @type {any[]} */
  const callers = []
  let isThrowing = false
  let isOut = false
  for (let done = false; !done || callers.length > 0;) {
    if (done) {
      leaf = takeLast(callers)
    } else {
      if (budget.left <= 1) {
        isOut = true // somebody has asked for the processor, or it was long
        budget.left = MANY_POINTS
      }
      while (value instanceof Suspended) {
        append(callers, leaf)
        leaf = value.generator
        value = value.take()
      }
      if (value !== undefined) append(callers, leaf)
      leaf = value ?? leaf
      value = undefined
      if (callers.length > DEEPEST) {
        value = new RangeError('Maximum call stack size exceeded')
        isThrowing = true
      }
    }
    counts.room = free
    try {
      const step = apply(isThrowing ? throwInNext : next, leaf, [value])
      value = step.value
      done = step.done
      isThrowing = false
    } catch (error) {
      value = error
      done = isThrowing = true
    }
  }
  if (isOut) budget.left = 0
  if (isThrowing) throw value
  return value
}

// --------------------------------------------------------------------------------------- 8e steps of generators

// What a twin of a generator function makes is told apart from no other generator, and belongs to it by its prototype. While
// a twin asks it for a step, it yields its Steps where that is to be preempted: whoever asked yields the rest of the step
// as a call. Asked by anybody else, it runs to the end of the step.

/** Where they are kept. @type {{ get(generator: any): Steps | undefined, set(generator: any, steps: Steps): void }} */
const stepsOfGenerators = /* @__PURE__ */ stamping()

/** Of a generator; the short methods are what its text calls. */
class Steps {
  /** Who has been asked for the step: itself, or what delegates to it. @type {Steps} */
  root = this
  /** Whether it runs, and a twin has asked for the step. */
  isOn = false
  /** Whether a step has begun that has not ended, and is not running. */
  isPending = false
  /** What that waits for. @type {any} */
  call = undefined
  #isOurs = true
  /** @type {any} */
  generator = undefined

  /** @param {any} value that a generator has yielded */
  static is(value) {
    return typeof value === 'object' && value !== null && #isOurs in value
  }

  get on() {
    return this.root.isOn
  }

  /** enter @param {any} fn @returns {any} */
  e(fn) {
    return this.on ? entryOf(fn) : fn
  }

  /** new @param {any} F @param {any[]} args @returns {any} */
  n(F, args) {
    return this.on ? construct(F, args) : reflectConstruct(F, args)
  }

  /** What a generator yields for a call that has not returned. */
  q() {
    this.call = suspended()
    return this
  }

  /** for-of @param {any} iterable @returns {any} */
  c(iterable) {
    return this.on ? each(iterable, this) : iterable
  }

  /** yield* @param {any} iterable @returns {any} */
  d(iterable) {
    return this.on ? each(iterable, this, this) : iterable
  }

  /** spread @param {any} iterable @param {boolean} [isMap] @returns {any} */
  k(iterable, isMap) {
    return this.on ? collect(iterable, isMap) : iterable
  }
}

/**
 * What makes a generator whose steps may yield.
 *
 * @param {Twin} twin of a generator function @param {any} fn
 */
function stepping(twin, fn) {
  const { generator } = twin
  /** @this {any} @param {any[]} args */
  const enter = function (...args) {
    const steps = new Steps()
    const { prototype } = fn
    if (generator.prototype !== prototype) generator.prototype = prototype
    steps.generator = apply(generator, this, [steps, ...args])
    stepsOfGenerators.set(steps.generator, steps)
    return steps.generator
  }
  twin.generator = /** @this {any} @param {any[]} args @returns {any} */ function* (...args) {
    const generator = apply(enter, this, args)
    let method = next
    for (let value; ;) {
      let step = ask(method, generator, value)
      if (step === budget) step = yield suspended()
      if (step.done) return step.value
      method = next
      try {
        value = yield step.value
      } catch (error) {
        value = error
        method = throwInNext
      }
    }
  }
  return twin.entry = enter
}

/**
 * Has a generator go on.
 *
 * @param {Steps} steps @param {any} method @param {any} value @returns {any} a step; `budget` where it has not ended
 */
function stepOf(steps, method, value) {
  if (steps.root.isPending) runsAlready()
  steps.root = steps
  // To be told to return is atomic: resumed by `next`, what delegates would go on. If it throws, it has ended, or runs already.
  steps.isOn = method !== returnFromNext
  const step = apply(method, steps.generator, [value])
  steps.isOn = false
  if (!Steps.is(step.value)) return step
  append(pending, begun(rest(steps, step.value)))
  return budget
}

/** The rest of a step. @param {Steps} steps @param {Steps} leaf what it delegates to, or itself @returns {Generator<any, any, any>} */
function* rest(steps, leaf) {
  const { call } = leaf
  let method = next
  let value
  leaf.call = undefined
  hold(steps)
  hold(leaf)
  try {
    value = yield call
  } catch (error) {
    value = error
    method = throwInNext
  }
  release(steps)
  release(leaf)
  const step = stepOf(steps, method, value)
  return step === budget ? yield suspended() : step
}

const METHODS = ['next', 'throw', 'return']
const runsAlready = () => {
  throw new TypeError('Generator is already running')
}

/** Until then nobody else may have it go on. @param {Steps} steps */
function hold(steps) {
  steps.isPending = true
  const descriptor = /** @type {any} */ ({ __proto__: null, value: runsAlready, configurable: true })
  for (let i = 0; i < 3; i++) reflectDefine(steps.generator, METHODS[i], descriptor)
}

/** The last that was added first: engines keep such objects quick. @param {Steps} steps */
function release(steps) {
  steps.isPending = false
  const { generator } = steps
  for (let i = 3; i-- > 0;) if (getOwnPropertyDescriptor(generator, METHODS[i])?.value === runsAlready) delete generator[METHODS[i]]
}

/** A call of a method of generators. @param {any} method the engine's own @param {any} generator @param {any} value */
function ask(method, generator, value) {
  const steps = stepsOfGenerators.get(generator)
  return steps === undefined ? apply(method, generator, [value]) : stepOf(steps, method, value)
}

/** What a `for` of a twin that leaves frames goes on with: it is iterated once more by each call, and not closed in between. */
class Walk {
  index = 0
  /** What comes next, if that is known. @type {any} */
  rest = null

  /** @param {any[] | null} list an array, whose elements are what it gives @param {any} iterator for all else @param {any} step its `next` */
  constructor(list, iterator, step) {
    this.list = list
    this.iterator = iterator
    this.step = step
  }

  [Symbol.iterator]() {
    return this
  }

  /** @returns {any} */
  next() {
    const { list, index, rest } = this
    if (rest !== null) {
      this.rest = null
      rethrow(rest)
      return rest
    }
    if (list === null) return apply(this.step, this.iterator, NO_ARGUMENTS)
    if (index >= list.length) return { value: undefined, done: true }
    this.index = index + 1
    return { value: list[index], done: false }
  }

  return() {
    const { list, iterator } = this
    if (counts.away) {
      this.rest ??= { value: this, done: false }
    } else if (list === null) {
      const method = iterator.return ?? undefined
      if (method !== undefined) return apply(method, iterator, NO_ARGUMENTS)
    }
    return this
  }
}

/** A generator as it is iterated by a loop, whose body begins by looking for `budget`. */
class StepsWalk extends Walk {
  /** @param {Steps} steps @param {{ on: boolean }} asker */
  constructor(steps, asker) {
    super(null, steps.generator, next)
    this.steps = steps
    this.asker = asker
  }

  next() {
    if (this.rest !== null || !this.asker.on) return super.next()
    const step = stepOf(this.steps, next, undefined)
    if (step !== budget) return step
    this.rest = this // until it is settled
    append(pending, begun(this.settle(suspended())))
    return { value: budget, done: false }
  }

  /** @param {any} call @returns {Generator<any, any, any>} */
  *settle(call) {
    try {
      this.rest = yield call
    } catch (error) {
      this.rest = new Failure(error)
    }
  }
}

/** Who asks for steps, if that is no generator itself. */
const twinItself = { on: true }

/**
 * What a `for`-`of` of a twin iterates, or a `yield*` of a generator.
 *
 * @param {any} iterable @param {any} [asker] @param {Steps | null} [outer] what delegates to it @returns {any}
 */
function each(iterable, asker = twinItself, outer = null) {
  if (isArray(iterable) || !isObject(iterable)) return iterable
  const method = iterable[Symbol.iterator]
  return typeof method === 'function' ? iterated(iterable, method, asker, outer) : iterable
}

/** @param {any} iterable @param {any} method that makes an iterator @param {any} [asker] @param {Steps | null} [outer] @returns {any} */
function iterated(iterable, method, asker = twinItself, outer = null) {
  const iterator = apply(isGeneratorFunction(method) ? entryOf(method) : method, iterable, NO_ARGUMENTS)
  const steps = stepsOfGenerators.get(iterator)
  const isOwn = steps !== undefined && iterator.next === next && iterator.return === returnFromNext && iterator.throw === throwInNext
  if (isOwn && outer === null) return new StepsWalk(steps, asker)
  if (isOwn && outer) steps.root = outer.root
  return { [Symbol.iterator]: () => iterator }
}

/** What a `for`-`of` iterates where the twin leaves frames. @param {any} given @returns {any} */
function walk(given) {
  const method = given?.[Symbol.iterator]
  if (method === engine.values && isArray(given) && engine.elements.next === engine.nextElement && !('return' in engine.elements)) {
    return new Walk(given, null, null)
  }
  if (typeof method !== 'function') return given // for the engine to refuse
  const iterable = iterated(given, method)
  if (iterable instanceof Walk) return iterable
  const iterator = iterable[Symbol.iterator]()
  return isObject(iterator) ? new Walk(null, iterator, iterator.next) : iterable
}

/**
 * What is spread, or what a collection is made of.
 *
 * @param {any} iterable @param {boolean | undefined} isMap whether it is to be of objects: then all else is left to the engine to refuse
 * @returns {any} `budget` where a step has not ended
 */
function collect(iterable, isMap) {
  const steps = each(iterable)
  return steps !== iterable && steps instanceof StepsWalk ? run(collecting(steps, isMap)) : steps
}

/** @param {Walk} steps @param {boolean | undefined} isMap @returns {Generator<any, any, any>} */
function* collecting(steps, isMap) {
  /** @type {any[]} */
  const list = []
  for (let step; !(step = steps.next()).done;) {
    if (step.value === budget) {
      yield suspended()
      continue
    }
    if (--budget.left <= 0) yield
    append(list, step.value)
    if (isMap && !isObject(step.value)) {
      steps.return()
      break
    }
  }
  return new Walk(list, null, null)
}

// -------------------------------------------------------------------------------- 8e functions of the engine

// A function of the engine that calls back has a twin here, which does what the specification says in the same order
// (ECMA-262, 22.1.3.19, 23.1.2.1, 23.1.3, 23.2.3, 24.1.3.5, 24.2.4.8). It is used where the callback has a twin, or the
// list is long; else the engine's own is called. How often a sort compares what is left to implementations: this is a merge sort. Not kept: a
// constructor that is the Array of another realm is taken for any other class.

const NATIVE = /^function \w+\(\) \{\s*\[native code\]\s*\}$/

/** The engine's, whoever replaces them later. */
function engineParts() {
  const { prototype } = /** @type {any} */ (getPrototypeOf(Uint8Array))
  const elements = /** @type {any} */ (getPrototypeOf([][Symbol.iterator]()))
  /** @param {any} Collection */
  const iterating = ({ prototype }) => ({
    prototype,
    entries: prototype.entries,
    next: new prototype.constructor().entries().next,
    size: /** @type {any} */ (getOwnPropertyDescriptor(prototype, 'size')).get
  })
  return {
    Array,
    Function,
    Proxy,
    String,
    bind: Function.prototype.bind,
    call: exec(NATIVE, sourceOf(Function.prototype.call)) ? Function.prototype.call : null,
    values: Array.prototype[Symbol.iterator],
    elements,
    nextElement: elements.next,
    typed: prototype,
    keys: prototype.keys,
    length: /** @type {any} */ (getOwnPropertyDescriptor(prototype, 'length')).get,
    slice: prototype.slice,
    filter: prototype.filter,
    fill: prototype.set,
    toReversed: prototype.toReversed,
    collections: [iterating(Map), iterating(Set)],
    pattern: RegExp.prototype,
    replace: RegExp.prototype[Symbol.replace],
    source: /** @type {any} */ (getOwnPropertyDescriptor(RegExp.prototype, 'source')).get
  }
}
const engine = /* @__PURE__ */ engineParts()

const MOST_ELEMENTS = 2 ** 53 - 1

/** LengthOfArrayLike. @param {any} object @returns {number} */
function lengthOf(object) {
  const length = floor(object.length)
  return length > 0 ? min(length, MOST_ELEMENTS) : 0
}

/** What a method iterates, and its length. @param {any} receiver @param {boolean} isTyped @returns {[any, number]} */
function elementsOf(receiver, isTyped) {
  if (isTyped) {
    apply(engine.keys, receiver, NO_ARGUMENTS) // refuses what is no typed array, or detached
    return [receiver, apply(engine.length, receiver, NO_ARGUMENTS)]
  }
  if (receiver === undefined || receiver === null) throw new TypeError(`${receiver} is no object`)
  const object = Object(receiver)
  return [object, lengthOf(object)]
}

/**
 * Visits of more elements may yield whatever is called back. Fewer are left to the engine, which takes a third of the time, where
 * what is called back has no twin, and count as so many points.
 */
const LONG_LIST = 5000
/** After a text that is longer the clock is read: one call of the engine takes so long that the next has to wait for its round. */
const LONG_TEXT = 100_000

/**
 * Whether the engine's own method is to be called with what cannot run long: then it counts as so many points.
 *
 * @param {any} list @returns {boolean} false of what may have methods of its own
 */
function isShort(list) {
  if (!isArray(list) || list.length > LONG_LIST || getPrototypeOf(list) !== engine.Array.prototype) return false
  if (list.length > 0) budget.left -= list.length
  return true
}

/** Found out without running code, but for that of a proxy. @param {any} list @returns {number | undefined} */
const sizeOf = list => isArray(list) ? list.length : isObject(list) && getOwnPropertyDescriptor(list, 'length')?.value

/** What an object has by a key, if no accessor makes it; likewise found out. @param {any} object @param {PropertyKey} key @returns {any} */
function valueIn(object, key) {
  for (let holder = object; holder; holder = getPrototypeOf(holder)) {
    const found = getOwnPropertyDescriptor(holder, key)
    if (found) return found.value
  }
}

/** Set. @param {any} object @param {PropertyKey} key @param {any} value */
function set(object, key, value) {
  object[key] = value
}

/** CreateDataPropertyOrThrow. @param {any} object @param {PropertyKey} key @param {any} value */
function put(object, key, value) {
  const descriptor = { __proto__: null, value, writable: true, enumerable: true, configurable: true }
  defineProperty(object, key, /** @type {any} */ (descriptor))
}

/**
 * The same in an array that nobody has seen: an assignment takes 2 ns instead of 150, and is the same unless a prototype has the
 * index.
 *
 * @param {any} array @param {any} index @param {any} value
 */
function add(array, index, value) {
  if (index in array) put(array, index, value)
  else array[index] = value
}

/** ArraySpeciesCreate, and what writes to it. @param {any} object @param {number} length @returns {[any, typeof put]} */
function arrayFor(object, length) {
  let Class = /** @type {any} */ (isArray(object) ? object.constructor : undefined)
  if (isObject(Class)) Class = Class[Symbol.species] ?? undefined
  return Class === undefined || Class === engine.Array ? [new engine.Array(length), add] : [new Class(length), put]
}

/** What comes of it when nothing is found. @type {Record<string, any>} */
const UNFOUND = { some: false, every: true, findIndex: -1, findLastIndex: -1 }

/**
 * Told once: at each call, it makes map and reduce of three elements take 1.2 to 2.2 times as long as jobs (Node 20).
 *
 * @param {string} name of a method that calls back with each element @param {boolean} isTyped
 */
const visiting = (name, isTyped) => ({
  name,
  isTyped,
  skipsHoles: !isTyped && !startsWith(name, 'find'),
  isBackward: holds(name, 'Last') || holds(name, 'Right'),
  isFolding: startsWith(name, 'reduce')
})

// What visits or merges many is a plain function, which is called again to go on: engines compile generators less well. 100 000 objects
// filtered and sorted take 2.1 to 2.5 times as long as plainly in Firefox 153, in generators 2.7 to 3.9; in Chromium 156 1.4 to 1.5,
// and 1.6 to 1.8.

/** How a part of a visit ends. */
const ENDED = 0
const AT_POINT = 1
const AT_CALL = 2

/** @param {any} visit @param {number} how its last part has ended; ENDED: there was none @returns {Generator<any, any, any>} */
function* goOn(visit, how) {
  do {
    if (how === AT_CALL) visit.answer = yield suspended()
    else if (how === AT_POINT) yield
    how = visitOn(visit)
  } while (how !== ENDED)
  return visit.result
}

/**
 * A method that calls back with each element. It begins on the engine's stack, as `run` has it.
 *
 * @param {any} receiver @param {any[]} args @param {ReturnType<typeof visiting>} kind
 * @returns {any} its result; `budget` where something is pending
 */
function visitEach(receiver, args, { name, isTyped, skipsHoles, isBackward, isFolding }) {
  const { 0: object, 1: length } = elementsOf(receiver, isTyped)
  const { 0: callback, 1: given } = args
  let result = isFolding ? given : UNFOUND[name]
  let write = set
  let like
  if (!isTyped) {
    if (name === 'map') ({ 0: result, 1: write } = arrayFor(object, length))
    else if (name === 'filter') ({ 0: result, 1: write } = arrayFor(object, 0))
  } else if (name === 'map') {
    result = apply(engine.slice, object, NO_ARGUMENTS) // TypedArraySpeciesCreate; what is copied is written over
  } else if (name === 'filter') {
    result = []
    write = add
    like = apply(engine.toReversed, object, NO_ARGUMENTS)
  }
  const visit = {
    name, skipsHoles, isBackward, isFolding, object, length, call: entryOf(callback), given, write, like, result,
    isEmpty: isFolding && args.length < 2, passed: 0, count: 0, isCalled: false, value: undefined, answer: undefined
  }
  if (counts.room <= 0 || budget.left <= 1) {
    append(pending, goOn(visit, ENDED))
    return budget
  }
  const free = counts.room--
  const how = visitOn(visit)
  counts.room = free
  if (how === ENDED) return visit.result
  append(pending, begun(goOn(visit, how)))
  return budget
}

/** Goes on with a visit, given the `answer` of what it has called. @param {any} visit @returns {number} how that part ends */
function visitOn(visit) {
  const { name, skipsHoles, isBackward, isFolding, object, length, call, given, write } = visit
  while (visit.passed < length) {
    const index = isBackward ? length - 1 - visit.passed : visit.passed
    if (visit.isCalled || !skipsHoles || index in object) {
      let { value, answer } = visit
      if (visit.isCalled) {
        visit.isCalled = false
      } else {
        value = object[index]
        answer = visit.isEmpty ? value : isFolding ? call(visit.result, value, index, object)
          : given === undefined ? call(value, index, object) : apply(call, given, [value, index, object])
        if (answer === budget && !visit.isEmpty) {
          visit.value = value
          visit.isCalled = true
          return AT_CALL
        }
      }
      if (isFolding) {
        visit.isEmpty = false
        visit.result = answer
      } else if (name === 'map') {
        write(visit.result, index, answer)
      } else if (name === 'filter') {
        if (answer) write(visit.result, visit.count++, value)
      } else if (name !== 'forEach' && !answer === (name === 'every')) {
        visit.result = name === 'some' || (name !== 'every' && (endsWith(name, 'Index') ? index : value))
        return ENDED
      }
    }
    visit.passed++
    if (--budget.left <= 0) return AT_POINT
  }
  if (visit.isEmpty) throw new TypeError('Reduce of empty array with no initial value')
  const { like, count, result } = visit
  if (like === undefined) return ENDED
  // TypedArraySpeciesCreate for so many, by the engine's own: it is given something else of the same class.
  defineProperty(like, 'constructor', { get: () => object.constructor })
  visit.result = apply(engine.filter, like, [(/** @type {any} */ _, /** @type {number} */ index) => index < count])
  apply(engine.fill, visit.result, [result])
  return ENDED
}

/** The `flatMap` of arrays. @param {any} receiver @param {any[]} args @returns {Generator<any, any, any>} */
function* visitFlat(receiver, { 0: callback, 1: self }) {
  const { 0: object, 1: length } = elementsOf(receiver, false)
  const call = entryOf(callback)
  const { 0: result, 1: write } = arrayFor(object, 0)
  let count = 0
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield
    if (!(i in object)) continue
    let answer = apply(call, self, [object[i], i, object])
    if (answer === budget) answer = yield suspended()
    const isNested = isArray(answer)
    const inside = isNested ? lengthOf(answer) : 1
    for (let j = 0; j < inside; j++) {
      if (--budget.left <= 0) yield
      if (!isNested || j in answer) write(result, count++, isNested ? answer[j] : answer)
    }
  }
  return result
}

/** @param {any} receiver @param {any[]} args @param {boolean} isCopy @param {boolean} isTyped @returns {Generator<any, any, any>} */
function* sortBy(receiver, { 0: compare }, isCopy, isTyped) {
  const { 0: object, 1: length } = elementsOf(receiver, isTyped)
  if (!isCopy && length < 2) return object // as engines do; the specification has one element written
  const result = !isCopy ? object
    : isTyped ? apply(engine.toReversed, object, NO_ARGUMENTS) : new engine.Array(length)
  const write = isCopy && !isTyped ? add : set
  /** @type {any[]} */
  const from = []
  let kept = 0
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield
    if (!isTyped && !isCopy && !(i in object)) continue
    const value = object[i]
    kept++
    if (value !== undefined) append(from, value)
  }
  const size = from.length
  /** @type {any[]} */
  const half = []
  const merge = { call: entryOf(compare), from, half, copied: 0, inHalf: 0, left: 0, right: 0, end: 0, to: 0 }
  // What has been merged is merged again while it is near: 100 000 objects take 70 ms, in passes over all of them 185 (Node 20).
  for (let end = 2; end <= size; end++) {
    for (let width = 1; width < end && (end === size || end % (2 * width) === 0); width *= 2) {
      merge.to = end - 1 - (end - 1) % (2 * width)
      merge.right = merge.to + width
      if (merge.right >= end) continue
      merge.copied = merge.left = 0
      merge.inHalf = width
      merge.end = end
      for (let how; (how = mergeOn(merge)) !== ENDED;) {
        if (how === AT_POINT) yield
        else from[merge.to++] = +(yield suspended()) > 0 ? from[merge.right++] : half[merge.left++]
      }
    }
  }
  for (let i = 0; i < length; i++) {
    if (--budget.left <= 0) yield
    if (i < kept) write(result, i, from[i]) // undefined comes last
    else delete result[i]
  }
  return result
}

/** Merges a part, whose left half is copied first. @param {any} merge @returns {number} how that ends */
function mergeOn(merge) {
  const { call, from, half, inHalf, end } = merge
  let { left, right, to } = merge
  let how = ENDED
  while (merge.copied < inHalf) {
    half[merge.copied] = from[to + merge.copied]
    merge.copied++
    if (--budget.left <= 0) return AT_POINT
  }
  while (left < inHalf && how === ENDED) {
    const answer = right < end ? call(half[left], from[right]) : 0
    if (answer === budget) how = AT_CALL
    else from[to++] = +answer > 0 ? from[right++] : half[left++]
    if (--budget.left <= 0) how ||= AT_POINT
  }
  merge.left = left
  merge.right = right
  merge.to = to
  return how
}

/** Array.from. @param {any} Class @param {any[]} args @returns {Generator<any, any, any>} */
function* arrayFrom(Class, { 0: items, 1: callback, 2: self }) {
  const call = callback === undefined ? null : entryOf(callback)
  const isOurs = Class === engine.Array || !isConstructor(Class)
  const write = isOurs ? add : put
  const iterate = items[Symbol.iterator] ?? undefined
  let count = 0
  let result
  if (iterate === undefined) {
    const list = Object(items)
    const length = lengthOf(list)
    result = isOurs ? new engine.Array(length) : new Class(length)
    for (; count < length; count++) {
      if (--budget.left <= 0) yield
      let answer = call ? apply(call, self, [list[count], count]) : list[count]
      if (answer === budget) answer = yield suspended()
      write(result, count, answer)
    }
  } else {
    if (typeof iterate !== 'function') throw new TypeError('Symbol.iterator of what is converted is no function')
    result = isOurs ? [] : new Class()
    for (const value of iterated(items, iterate)) {
      if (value === budget) {
        yield suspended()
        continue
      }
      if (--budget.left <= 0) yield
      let answer = call ? apply(call, self, [value, count]) : value
      if (answer === budget) answer = yield suspended()
      write(result, count++, answer)
    }
  }
  result.length = count
  return result
}

/** @param {any} value @returns {boolean} found out without asking it for anything */
function isConstructor(value) {
  try {
    return isObject(reflectConstruct(new engine.Proxy(value, { construct: () => engine }), NO_ARGUMENTS))
  } catch {
    return false
  }
}

/** The `forEach` of maps and sets. @param {any} receiver @param {any[]} args @param {any} iterating @returns {Generator<any, any, any>} */
function* visitEntries(receiver, { 0: callback, 1: self }, { entries, next }) {
  const iterator = apply(entries, receiver, NO_ARGUMENTS)
  const call = entryOf(callback)
  for (let step; !(step = apply(next, iterator, NO_ARGUMENTS)).done;) {
    if (--budget.left <= 0) yield
    if (apply(call, self, [step.value[1], step.value[0], receiver]) === budget) yield suspended()
  }
}

/**
 * A string's `replace` or `replaceAll`, which find all before they call back.
 *
 * @param {any} receiver @param {any[]} args @param {any} replace the engine's own @returns {Generator<any, any, any>}
 */
function* replaceEach(receiver, { 0: pattern, 1: callback }, replace) {
  if (!isUntouched(pattern)) return apply(replace, receiver, [pattern, callback])
  /** @type {any[][]} */
  const found = []
  const whole = apply(replace, receiver, [pattern, (/** @type {any[]} */ ...match) => {
    append(found, match)
    return ''
  }])
  const call = entryOf(callback)
  let result = ''
  let from = 0
  let text = whole
  for (let i = 0; i < found.length; i++) {
    if (--budget.left <= 0) yield
    const match = found[i]
    const last = match.length - 1
    const at = typeof match[last] === 'string' ? last : last - 1 // named groups come last
    let answer = apply(call, undefined, match)
    if (answer === budget) answer = yield suspended()
    text = match[at]
    result += `${cut(text, from, match[at - 1])}${answer}`
    from = match[at - 1] + match[0].length
  }
  return result + cut(text, from)
}

/** @param {any} pattern @returns {boolean} whether nothing but the engine itself finds it */
function isUntouched(pattern) {
  if (typeof pattern === 'string') return !(Symbol.replace in engine.String.prototype)
  const own = (/** @type {any} */ object, /** @type {PropertyKey} */ key) => getOwnPropertyDescriptor(object, key)?.value
  try {
    apply(engine.source, pattern, NO_ARGUMENTS) // which no proxy has
    return getPrototypeOf(pattern) === engine.pattern && own(engine.pattern, 'exec') === patternExec &&
      own(engine.pattern, Symbol.replace) === engine.replace && !hasOwn(pattern, 'exec') && !hasOwn(pattern, Symbol.replace)
  } catch {
    return false
  }
}

/** Function.prototype.bind: what is bound to a twin is one. @param {any} fn @param {any[]} args `this`, and the first arguments */
function bindTwin(fn, args) {
  const bound = apply(engine.bind, fn, args)
  const twin = stamps.get(fn)
  if (twin === undefined) return bound
  const generator = generatorOf(twin, fn)
  stamp(bound, generator && apply(engine.bind, generator, args), twin.entry === fn ? bound : apply(engine.bind, entryOf(fn), args),
    null, { fn, args }, twin.body)
  return bound
}

/** What is asked to `bind` where nothing is preempted. @param {any} fn @returns {any} */
const binding = fn => stamps.get(fn) === undefined || fn.bind !== engine.bind ? fn
  : { bind: (/** @type {any[]} */ ...args) => bindTwin(fn, args) }

/** Gives the engine functions of this realm that call back their twins. */
function stampEngine() {
  /** @param {any} holder @param {string} name @param {(own: any) => Function} entry that of the engine's own function */
  const give = (holder, name, entry) => {
    const own = getOwnPropertyDescriptor(holder, name)?.value
    // What a page has put in its place is called as it is; there are engines that lack one.
    if (typeof own === 'function' && exec(NATIVE, sourceOf(own))) stamp(own, null, entry(own))
  }
  /**
   * @param {any} holder @param {string} name @param {number} at the callback's place
   * @param {(receiver: any, args: any[]) => any} size how many points a call of the engine's own counts as
   * @param {(receiver: any, args: any[], own: any) => any} begin
   * @param {(args: any[]) => any} [isTwin] whether there is a twin that is no callback
   */
  const giveCalling = (holder, name, at, size, begin, isTwin = () => false) => {
    give(holder, name, own => /** @this {any} @param {any[]} args */ function (...args) {
      const callback = args[at]
      const count = stamps.get(callback) || isTwin(args) ? Infinity : typeof callback === 'function' ? size(this, args) : 0
      if (count > LONG_LIST) return begin(this, args, own)
      if (count > 0) budget.left -= count
      return apply(own, this, args)
    })
  }
  const { Array, String, typed, collections } = engine
  for (let i = 0; i < 2; i++) {
    const isTyped = i > 0
    const holder = isTyped ? typed : Array.prototype
    const { prototype, size } = collections[i]
    const length = isTyped ? (/** @type {any} */ list) => apply(engine.length, list, NO_ARGUMENTS) : sizeOf
    pick(VISITING, name => {
      const kind = visiting(name, isTyped)
      giveCalling(holder, name, 0, length, (list, args) => visitEach(list, args, kind))
    })
    pick(['sort', 'toSorted'], name => {
      const isCopy = name === 'toSorted'
      giveCalling(holder, name, 0, list => 8 * length(list), (list, args) => run(sortBy(list, args, isCopy, isTyped)))
    })
    giveCalling(prototype, 'forEach', 0, list => apply(size, list, NO_ARGUMENTS), (list, args) => run(visitEntries(list, args, collections[i])))
  }
  giveCalling(Array.prototype, 'flatMap', 0, sizeOf, (list, args) => run(visitFlat(list, args)))
  giveCalling(Array, 'from', 1, (_, { 0: items }) => sizeOf(items), (Class, args) => run(arrayFrom(Class, args)), ({ 0: items, 1: callback }) =>
    callback === undefined && isObject(items) && !isArray(items) && (stepsOfGenerators.get(items) || stamps.get(valueIn(items, Symbol.iterator))))
  pick(['replace', 'replaceAll'], name =>
    giveCalling(String.prototype, name, 1, () => 0, (text, args, replace) => run(replaceEach(text, args, replace))))
  /** @param {any} holder @param {string} name */
  const giveLong = (holder, name) => give(holder, name, own => /** @this {any} @param {any[]} args */ function (...args) {
    const result = apply(own, this, args)
    const text = typeof args[0] === 'string' ? args[0] : result
    if (typeof text === 'string' && text.length > LONG_TEXT) dispatching?.interrupt()
    return result
  })
  giveLong(JSON, 'stringify')
  giveLong(JSON, 'parse')
  giveLong(globalThis.TextEncoder?.prototype ?? JSON, 'encode')
  give(engine.Function.prototype, 'call', () => /** @this {any} @param {any} self @param {any[]} args */ function (self, ...args) {
    return apply(entryOf(this), self, args)
  })
  give(engine.Function.prototype, 'apply', () => /** @this {any} @param {any} self @param {any} args */ function (self, args) {
    return apply(entryOf(this), self, args ?? NO_ARGUMENTS)
  })
  give(engine.Function.prototype, 'bind', () => /** @this {any} @param {any[]} args */ function (...args) {
    return bindTwin(this, args)
  })
  for (let i = 0; i < 3; i++) {
    give(generatorPrototype, METHODS[i], own => /** @this {any} @param {any} value */ function (value) {
      return ask(own, this, value)
    })
  }
  give(Reflect, 'apply', () => (/** @type {any} */ fn, /** @type {any} */ self, /** @type {any} */ args) =>
    apply(entryOf(fn), self, args))
  give(Reflect, 'construct', own => (/** @type {any[]} */ ...args) => {
    const { 0: F, 1: given, 2: target } = args
    return stamps.get(F) && isConstructor(F) && isConstructor(args.length > 2 ? target : F)
      ? construct(F, apply((/** @type {any[]} */ ...list) => list, undefined, given), target) : apply(own, Reflect, args)
  })
}
const VISITING = ['forEach', 'map', 'filter', 'some', 'every', 'find', 'findIndex', 'findLast', 'findLastIndex', 'reduce',
  'reduceRight']

// ------------------------------------------------------------------------------------------ 8e what scripts find

/** By this symbol scripts find what they need, in an object `{ budget, runtime }`; the first that needs it makes it. */
const shared = /* @__PURE__ */ Symbol.for('rt.mjs')

/**
 * What a script begins with. Where nothing is there, it makes a stand-in, which has everything run as it is, and keeps the
 * twins; rt.mjs takes that over when it is imported, or when it is used next. Nothing resumes twins before, so there is always
 * budget left, also where a loop that runs in chunks has thrown.
 */
const STAND_IN = `globalThis[Symbol.for('rt.mjs')]??=(()=>{` +
  `class S extends function(f){return f}{#t;constructor(f,t){super(f);this.#t=t}` +
  `static get(f){return typeof f==='function'&&#t in f?f.#t:void 0}}` +
  `const{apply,construct}=Reflect,{call}=Function.prototype,{next}=(function*(){})(),budget={get left(){return 1/0},set left(_){},room:1/0},own=f=>f,set=(f,t)=>{new S(f,t)},` +
  `asMethod=f=>typeof f==='function'&&f.call===call?f:{call(self,...args){return apply(f,self,args)}};` +
  `return{budget,runtime:{isStandIn:true,get:S.get,set,apply,construct,enter:own,awaited:own,` +
  `asMethod,enterMethod:asMethod,` +
  `withStub(f,make){return this.twin(make(f),0,f)},twin(f,generator,entry=null,self=null){set(f,{generator:generator||void 0,entry:entry===!1?f:entry,awaited:null,self,target:null,Blank:null});return f},` +
  `run(g){return this.drive(g)},*walk(l){for(const v of l)yield v},each:own,collect:own,binding:own,short(){return true},` +
  `plain:apply,` +
  `drive(g){return apply(next,g,[]).value},` +
  `prototypeOf:Object.getPrototypeOf,` +
  `named(f,value){return Object.defineProperty(f,'name',{value,configurable:true})},nothing:{},` +
  `body(f,body){set(f,{generator:null,entry:f,awaited:f,self:null,target:null,Blank:null,body})}}}})()`

let isLinked = false

/** Of another copy of this module. @type {any} */
let otherRuntime

/** When rewritten code is used first. */
function link() {
  isLinked = true
  const found = /** @type {any} */ (globalThis)[shared]
  if (found === undefined) {
    // Where the global object has been sealed, only scripts miss it.
    reflectDefine(globalThis, shared, /** @type {any} */ ({
      __proto__: null, value: { budget, runtime }, writable: true, enumerable: true, configurable: true
    }))
  } else if (found.runtime.isStandIn) {
    stamps = found.runtime
    latestPlain = undefined
    found.budget = budget
    found.runtime = runtime
  } else {
    otherRuntime = found.runtime
  }
  stampEngine()
}

/** @param {any} fn @returns {Twin | undefined} of a function that is not the engine's */
function twinOf(fn) {
  // Nothing has one until then. To ask nevertheless, by `in`, costs a job that does nothing 5 %.
  if (!isLinked && /** @type {any} */ (globalThis)[shared] === undefined) return undefined
  if (!isLinked) link()
  const twin = stamps.get(fn) ?? otherRuntime?.get(fn)
  return twin === undefined || twin.generator === null ? undefined : twin
}

/** @param {Twin} twin @param {any} fn @returns {any} what `preemptify` returns for a function that has a twin */
function published(twin, fn) {
  const generator = generatorOf(twin, fn)
  if (generator[known]) return generator
  const isBeside = isAsync(fn)
  const whole = isBeside ? wrapping(generator, true, '', []) : generator
  return twin.generator = publish(whole, fn, sourceOf(generator), isBeside, awaitedEntryOf(fn))
}

/** What rewritten text refers to. @type {Record<string, any>} */
const runtime = {
  budget,
  twin,
  withStub,
  enter: entryOf,
  awaited: awaitedEntryOf,
  asMethod,
  enterMethod: (/** @type {any} */ fn) => asMethod(entryOf(fn)),
  apply,
  construct,
  body,
  nothing,
  run,
  suspended,
  over,
  again,
  wait,
  iterate,
  each,
  collect,
  binding,
  short: isShort,
  drive: driveToEnd,
  frame: frameOf,
  suspend,
  walk,
  rethrow,
  away,
  plain: (/** @type {any} */ entry, /** @type {any} */ self, /** @type {any} */ args) => driveToEnd(forwarded(entry, self, args)),
  /** @param {any} fn @param {string} name */
  named: (fn, name) => define(fn, 'name', name),
  /** @param {any} fn */
  get: fn => stamps.get(fn),
  /** @param {any} value */
  prototypeOf: value => getPrototypeOf(value),
  standIn: STAND_IN,
  meta: keepMeta,
  isModule,
  importer,
  cycle,
  hooks: { resolve: resolveMarked, load: loadMarked }
}

/** @param {any} fn @returns {boolean} whether its text has it return a value, or nobody can read that */
function returnsOf(fn) {
  const source = sourceOf(fn)
  if (matches(NO_SOURCE, source)) return true
  const tree = read(source, 'function')
  names(tree)
  const { facts, body } = tree.body[0].value ?? tree.body[0] // of a method, or a function
  return body.type !== 'BlockStatement' || find(facts.returns, ({ argument }) => argument) !== undefined
}

/** @type {() => typeof preemptify & { readonly source: typeof sourceOfModule, readonly import: typeof importModule, readonly report: typeof report }} */
function linking() {
  preemptible = fn => {
    const twin = twinOf(fn)
    return twin === undefined ? fn : generatorOf(twin, fn)
  }
  answers = fn => returnsOf(fn) && returnsOf(twinOf(fn)?.generator ?? fn)
  if (shared in globalThis) link()
  return /** @type {any} */ (assign(preemptify, { source: sourceOfModule, import: importModule, report, runtime }))
}
const preemptifyWhole = /* @__PURE__ */ linking()
export { preemptifyWhole as preemptify }

// ------------------------------------------------------------------------------------------- 8f modules

// A module is rewritten once, by its address, with all that it imports. Pages fetch them, and give them to the engine as
// blobs that import each other: linking, live bindings and the order of evaluation are the engine's own. In Node hooks
// rewrite modules whose addresses have a mark, and mark what these import.

/**
 * The host of modules, where this section touches globals: a page fetches them, and names what they are made into by blobs. Node
 * has hooks for that.
 */
function moduleHost() {
  const { fetch, Blob, URL, document, location, process } = /** @type {any} */ (globalThis)
  /** Node's module for its hooks, where this is Node. @type {any} */
  const node = process?.getBuiltinModule?.('node:module')
  return {
    node,
    /** What addresses are relative to; tests in Node may have put a page's in its place. @type {string} */
    base: !node && (document?.baseURI ?? location?.href) || `file://${process?.cwd()}/`,
    /** @param {string} address @param {string} [base] @returns {string} */
    absolute: (address, base) => new URL(address, base).href,
    /** @param {string} url */
    async get(url) {
      const response = await fetch(url, { credentials: 'same-origin' })
      const { ok, status, headers } = response
      return { ok, status, type: headers.get('content-type') ?? '', url: response.url || url, text: await response.text() }
    },
    /** @param {string} address @returns {Promise<any>} the module that is there */
    bring: address => import(/* webpackIgnore: true */ address),
    /** @param {string} text of a module @returns {string} its address */
    name: text => URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
    /** @param {string} address that is not asked for again */
    forget: address => URL.revokeObjectURL(address)
  }
}

/** @param {string} message @param {unknown} [cause] */
const importError = (message, cause) => new TypeError(`preemptify.import: ${message}`, { cause })

/** Whether it is one of ours, of which there must be no second. @param {string} url */
function isOwnModule(url) {
  const own = `${import.meta.url}` // bundles that are no modules have none
  const home = cut(own, 0, lastIndexOf(own, '/') + 1)
  return url === own || url === `${home}alarms.mjs` || url === `${home}sync.mjs`
}

/**
 * A module of others and all that it imports, statically or not, rewritten as `preemptify.source` does it. Other imports of
 * the same address get the module as it is: that is another one. In pages, what modules that import each other import beside is
 * evaluated before all of them.
 *
 * @param {string | URL} url relative to `base`, or a bare specifier: by the page's import map, or one of Node's packages
 * @param {{ base?: string | URL }} [options] default: the address of the page, or the current directory; give `import.meta.url`
 * @returns {Promise<any>} its namespace, the same one whenever it is asked for
 * @throws {EvalError} (rejects) when the Content-Security-Policy of the page has no `blob:` in its script-src
 */
async function importModule(url, options = {}) {
  const host = moduleHost()
  const { base = host.base } = optionsOf(options, { base: address })
  address('url', url)
  const from = resolved(`${base}`, host.base)
  if (!host.node) return importAt(resolved(`${url}`, from))
  hook(host)
  return host.bring(`${url}${MARK}${from}`)
}

/** @param {string} name @param {any} value */
function address(name, value) {
  if (typeof value !== 'string' && typeof value?.href !== 'string') throw wrongType(name, 'a string or a URL', value)
}

/** @param {string} specifier @param {string} base @returns {string} an address, by the page's import map */
function resolved(specifier, base) {
  const { absolute, node } = moduleHost()
  try {
    const isBare = !matches(/^(?:\.{0,2}\/|[a-z][a-z\d+.-]*:)/i, specifier)
    const address = isBare ? specifier : absolute(specifier, base)
    return node ? address : import.meta.resolve?.(address) ?? absolute(address)
  } catch (error) {
    throw importError(`'${specifier}' in ${base} leads to no module: ${/** @type {any} */ (error).message}`, error)
  }
}

/**
 * The text of a module for another address: its `import.meta` stays what it was, and so does `import()`, where the engine
 * could not follow it.
 *
 * @param {string} text @param {any} tree @param {string} url @param {boolean} isBlob
 * @param {string} [prologue] @param {string} [epilogue]
 */
function rewriteModule(text, tree, url, isBlob, prologue = '', epilogue = '') {
  const runtime = `${prefixFor(text)}import`
  let meta = ''
  pick(tree.imports, ({ node: { type, start }, facts }) => {
    if (type === 'MetaProperty') meta = `${runtime}.runtime.meta(import.meta, ${stringify(url)}); `
    else if (isBlob) replace(facts, start, start + 6, `${runtime}.runtime.importer(${stringify(url)})`)
  })
  const home = isBlob ? door() : import.meta.url
  const begin = `import { preemptify as ${runtime} } from ${stringify(home)}; ${meta}`
  return rewrittenText(text, tree, home, url, begin + prologue, epilogue)
}

/** @param {string} text @param {string} url */
function readModule(text, url) {
  try {
    const tree = read(text, 'module')
    names(tree)
    return tree
  } catch (error) {
    throw new SyntaxError(`${url}: ${/** @type {any} */ (error).message}`, { cause: error })
  }
}

/** Whether a text can only be a module. @param {string} text */
function isModule(text) {
  return some(read(text, 'module'), ({ type, meta }) => meta?.name === 'import' || matches(/^(?:Ex|Im)port\w+Declaration$/, type))
}

/** What `import.meta` says in a module that has another address now. @param {any} meta @param {string} url */
function keepMeta(meta, url) {
  const { resolve } = meta
  meta.url = url
  meta.resolve = moduleHost().node ? (/** @type {string} */ specifier) => unmarked(resolve(specifier))
    : (/** @type {unknown} */ specifier) => resolved(`${specifier}`, url)
}

/** What `import()` is in a blob. @param {string} base */
function importer(base) {
  return async (/** @type {any} */ specifier, /** @type {any} */ options) => {
    const type = options?.with?.type
    return importAt(resolved(`${specifier}`, base), type === undefined ? '' : ` with { type: ${stringify(`${type}`)} }`)
  }
}

// Node

/** What the addresses of rewritten modules end with in Node; in specifiers, what they are relative to follows. */
const MARK = '#preemptify:'

/** @param {string} url */
const unmarked = url => holds(url, MARK) ? cut(url, 0, indexOf(url, MARK)) : url

let isHooked = false

/** @param {any} host */
function hook({ node }) {
  if (isHooked) return
  if (!matches(/\/rt\.mjs(?:\?|$)/, `${import.meta.url}`)) throw importError('in Node, bundles have to leave rt.mjs outside (external)')
  const text = `import { preemptify } from ${stringify(import.meta.url)}; export const { resolve, load } = preemptify.runtime.hooks`
  node.register(`data:text/javascript,${encodeURIComponent(text)}`)
  isHooked = true
}

/**
 * Hooks of Node, which has a thread for them. Packages that are no modules stay as they are.
 *
 * @param {string} specifier @param {any} context @param {(...args: any[]) => any} next
 */
async function resolveMarked(specifier, context, next) {
  const { parentURL = '' } = context
  if (!holds(specifier, MARK) && !holds(parentURL, MARK)) return next(specifier, context)
  const base = holds(specifier, MARK) ? cut(specifier, indexOf(specifier, MARK) + MARK.length) : unmarked(parentURL)
  const found = await next(unmarked(specifier), { ...context, parentURL: base })
  return startsWith(found.url, 'node:') || isOwnModule(found.url) ? found : { ...found, url: found.url + MARK }
}

/** @param {string} url @param {any} context @param {(...args: any[]) => any} next */
async function loadMarked(url, context, next) {
  const plain = unmarked(url)
  const loaded = await next(plain, context)
  if (plain === url || loaded.format !== 'module') return loaded
  const text = new TextDecoder().decode(loaded.source)
  return { ...loaded, responseURL: url, source: rewriteModule(text, readModule(text, plain), plain, false) }
}

// pages

/**
 * @typedef {object} Loaded
 * @property {string} url
 * @property {string} attributes as they are written after the address; empty: it is JavaScript
 * @property {string} base its address after redirections
 * @property {string} text
 * @property {any} tree
 * @property {Need[]} needs what it imports, in the order of the source
 * @property {Map<any, Export>} imports by their variables
 * @property {Map<string, Export>} exports but for those by stars
 * @property {Need[]} stars
 * @property {Promise<void>} loaded
 * @property {string} blob the address of what was made of it
 */

/** The declaration, and what that imports. @typedef {{ node: any, url: string, attributes: string }} Need */
/** A name of what is needed, none for its namespace; or a variable of the module itself. @typedef {{ need?: Need, name: string, local?: string }} Export */
/** Where an exported name leads to: a name that a module has itself, or none for its namespace. @typedef {{ module: Loaded, name: string }} Target */

/** By their addresses and attributes. @type {Map<string, Loaded>} */
const modules = /* @__PURE__ */ emptyMap()
/** Modules by the blobs that were made of them. @type {Map<string, string>} */
const blobs = /* @__PURE__ */ emptyMap()

/**
 * The address of a blob by which other blobs import what they need of this module, since bundles do not export it, nor under
 * these names.
 */
const door = () => doorway ||= moduleHost().name('export let budget, preemptify; export const give = (b, p) => { budget = b; preemptify = p }')
let doorway = ''
const open = async () => (await moduleHost().bring(door())).give(budget, preemptifyWhole)
/** @type {Promise<void> | undefined} */
let opened

/** @param {string} url @param {string} [attributes] @returns {Promise<any>} */
async function importAt(url, attributes) {
  const { bring, forget } = moduleHost()
  const module = moduleAt(url, attributes)
  await loadGraph(module)
  const { made, order } = linkGraph(module)
  try {
    await (opened ??= open())
    // Waiting for their turns, those of a cycle would let others pass. By an import of all of them JavaScriptCore begins none
    // before the one that waits, so each is brought by itself.
    for (let i = 0; i < order.length; i++) {
      /** @type {Promise<unknown>[]} */
      const begun = []
      pick(order[i], blob => append(begun, bring(blob)))
      await allOf(begun)
    }
    const namespace = await bring(module.blob)
    // The engine knows them by their addresses. What failed to link would be asked for again.
    pick(made, forget)
    return namespace
  } catch (error) {
    throw await explained(error)
  }
}

/** @param {string} url @param {string} [attributes] @returns {Loaded} loaded once; what failed is tried again, as most engines do */
function moduleAt(url, attributes = '') {
  const key = url + attributes
  const known = modules.get(key)
  if (known) return known
  /** @type {Loaded} */
  const module = {
    url, attributes, base: url, text: '', tree: null, needs: [], imports: emptyMap(), exports: emptyMap(), stars: [], loaded: adopt(), blob: ''
  }
  modules.set(key, module)
  module.loaded = attributes ? loadOther(module) : isOwnModule(url) ? loadOwn(module) : load(module)
  module.loaded.catch(() => modules.delete(key))
  return module
}

/** @param {Loaded} module */
async function loadOwn(module) {
  const names = ownKeys(await moduleHost().bring(module.url))
  pick(names, name => typeof name === 'string' && module.exports.set(name, { name, local: name }))
  module.blob = module.url
}

/** What is no JavaScript stays as it is, in a module that exports it. @param {Loaded} module */
async function loadOther(module) {
  module.text = `export { default } from ${stringify(module.url)}${module.attributes}`
  module.tree = readModule(module.text, module.url)
  module.exports.set('default', { name: 'default', local: 'default' })
}

/** @param {Loaded} module */
async function load(module) {
  const { url } = module
  const response = await moduleHost().get(url).catch((/** @type {unknown} */ error) => {
    throw importError(`${url} could not be fetched; if it is of another origin, that has to allow it (CORS)`, error)
  })
  const { ok, status, type, url: base, text } = response
  if (!ok) throw importError(`${url} could not be fetched: status ${status}`)
  if (!matches(/^\s*\w+\/(?:x-)?(?:java|ecma)script\b/i, type)) throw importError(`${url} is no JavaScript but ${type || 'of no type'}`)
  module.base = base
  module.text = text
  module.tree = readModule(text, url)
  pick(module.tree.body, node => {
    if (!node.source) return
    const url = resolved(node.source.value, base)
    const isTyped = find(node.attributes ?? [], ({ key }) => nameIn(key) === 'type')
    const attributes = isTyped ? cut(text, node.source.end, node.end) : ''
    moduleAt(url, attributes)
    append(module.needs, { node, url, attributes })
  })
  readExports(module)
}

/** What a module imports and exports, as ECMA-262 lists it: what is exported of what is imported is not its own. @param {Loaded} module */
function readExports({ url, tree: { body, scope: { variables } }, needs, imports, exports, stars }) {
  pick(needs, need => {
    const { type, specifiers, exported } = need.node
    if (type === 'ExportAllDeclaration' && exported) exports.set(nameIn(exported), { need, name: '' })
    else if (type === 'ExportAllDeclaration') append(stars, need)
    else pick(specifiers, ({ type, local, imported, exported }) => {
      if (local.variable?.declarations.length > 1) throw new SyntaxError(`${url}: '${local.name}' is declared twice`)
      if (exported) exports.set(nameIn(exported), { need, name: nameIn(local) })
      else imports.set(local.variable, { need, name: imported ? nameIn(imported) : type === 'ImportDefaultSpecifier' ? 'default' : '' })
    })
  })
  /** The first name of each variable. */
  const named = emptyMap()
  const give = (/** @type {string} */ name, /** @type {string} */ local) => {
    if (!named.has(local)) named.set(local, name)
    exports.set(name, { name: named.get(local), local })
  }
  pick(body, ({ type, source, specifiers, declaration, start, end }) => {
    if (type === 'ExportDefaultDeclaration') give('default', matches(/Declaration$/, declaration.type) && declaration.id?.name || 'default')
    else if (type === 'ExportNamedDeclaration' && declaration) {
      pick(keysOf(variables), name => {
        if (find(variables[name].declarations, id => id.start > start && id.end <= end)) give(name, name)
      })
    } else if (type === 'ExportNamedDeclaration' && !source) {
      pick(specifiers, ({ local, exported }) => {
        const imported = imports.get(local.variable)
        if (imported) exports.set(nameIn(exported), imported)
        else give(nameIn(exported), local.name)
      })
    }
  })
}

/** A module and all that it imports. @param {Loaded} entry */
async function loadGraph(entry) {
  const list = [entry]
  const seen = emptySet()
  for (let i = 0; i < list.length; i++) {
    if (seen.has(list[i])) continue
    seen.add(list[i])
    await list[i].loaded
    pick(list[i].needs, ({ url, attributes }) => append(list, moduleAt(url, attributes)))
  }
}

/** @param {Need} need @returns {Loaded} what is imported */
const neededBy = ({ url, attributes }) => /** @type {Loaded} */ (modules.get(url + attributes))

/**
 * Makes a blob of a module and of each that it imports, in the order in which they are evaluated. Those that import each
 * other are a component of the graph (Tarjan 1972).
 *
 * @param {Loaded} entry
 * @returns {{ made: string[], order: string[][] }} all blobs; and those to evaluate before, each when the one before it has been,
 *   those of a cycle at once
 */
function linkGraph(entry) {
  /** @type {string[]} */
  const made = []
  /** @type {string[][]} */
  const order = []
  /** @type {Loaded[]} */
  const ended = []
  /** When each was come to. @type {Map<Loaded, number>} */
  const places = emptyMap()
  let hasCycle = false
  const leave = (/** @type {Loaded[]} */ component) => {
    if (component.length > 1 || find(component[0].needs, need => neededBy(need) === component[0])) {
      hasCycle = true
      append(order, linkCycle(component, made))
    } else component[0].blob = blobOf(component[0], made)
    pick(component, ({ blob }) => append(order, [blob]))
  }
  /** @param {Loaded} module @returns {number} the earliest place that it leads to */
  const visit = module => {
    const { needs } = module
    const place = places.size
    const first = ended.length
    let earliest = place
    places.set(module, place)
    for (let i = 0; i < needs.length; i++) {
      const needed = neededBy(needs[i])
      if (!needed.blob) earliest = min(earliest, places.get(needed) ?? visit(needed))
    }
    append(ended, module)
    if (earliest === place) leave(splice(ended, first))
    return earliest
  }
  if (!entry.blob) visit(entry)
  return { made, order: hasCycle ? order : [] }
}

/** @param {Loaded} module @param {string[]} made @param {[prologue?: string, epilogue?: string]} more */
function blobOf(module, made, ...more) {
  const { text, tree, base, url, needs } = module
  pick(needs, need => {
    const { source: { start, end }, end: stop } = need.node
    const blob = stringify(neededBy(need).blob)
    if (need.attributes) replace(tree.facts, start, stop, `${blob};`)
    else replace(tree.facts, start, end, blob)
  })
  const blob = nameBlob(rewriteModule(text, tree, base, true, ...more), url, made)
  module.tree = null
  module.text = ''
  module.imports.clear()
  return blob
}

/** @param {string} text @param {string} url of the module that it is part of @param {string[]} made */
function nameBlob(text, url, made) {
  const blob = moduleHost().name(text)
  blobs.set(blob, url)
  append(made, blob)
  return blob
}

// A blob cannot import one that is made later, so those of a cycle import nothing of each other. What one exports the others
// read from an object, its cell. Each begins when its functions are there: it fills its cell with getters of what it exports,
// and waits for its turn. Other modules import it through a facade, a blob that imports all of the cycle, and exports each name
// from where it leads to.

/**
 * ECMA-262's ResolveExport: all places where a name leads to by indirect exports and stars, each visited once, which have to be one.
 *
 * @param {Loaded} module @param {string} name @returns {Target | undefined}
 */
function resolveExport(module, name) {
  const list = [{ module, name }]
  const seen = emptySet()
  /** @type {Target[]} */
  const targets = []
  for (let i = 0; i < list.length; i++) {
    const { module, name } = list[i]
    const key = `${module.url}${module.attributes} ${name}`
    if (seen.has(key)) continue
    seen.add(key)
    const found = module.exports.get(name)
    if (name === '' || (found?.local && found.name === name)) append(targets, list[i])
    else if (found) append(list, { module: found.need ? neededBy(found.need) : module, name: found.name })
    else if (name !== 'default') pick(module.stars, need => append(list, { module: neededBy(need), name }))
  }
  return targets.length === 1 ? targets[0] : undefined
}

/** The names of a module's namespace, in order, and where they lead to. @param {Loaded} module @returns {[string, Target][]} */
function exportsOf(module) {
  const names = emptySet()
  const sources = emptySet()
  sources.add(module)
  // It visits those that are added, too.
  sources.forEach((/** @type {Loaded} */ source) => {
    pick(listOf(source.exports), name => (source === module || name !== 'default') && names.add(name))
    pick(source.stars, need => sources.add(neededBy(need)))
  })
  /** @type {[string, Target][]} */
  const all = []
  pick(sort(listOf(names)), name => {
    const target = resolveExport(module, name)
    if (target) append(all, [name, target])
  })
  return all
}

/** @param {Export} entry @param {Loaded} user @returns {Target} @throws {SyntaxError} if there is none, or more than one */
function demanded({ need, name }, user) {
  const module = neededBy(/** @type {Need} */ (need))
  const target = resolveExport(module, name)
  if (!target) throw new SyntaxError(`${module.url} does not export '${name}', which ${user.url} imports`)
  return target
}

/** @param {Loaded[]} component in the order of evaluation @param {string[]} made @returns {string[]} its members' blobs */
function linkCycle(component, made) {
  const places = emptyMap()
  let texts = ''
  pick(component, module => {
    places.set(module, places.size)
    texts += module.text
  })
  // Before anything is made of them.
  pick(component, module => {
    const demand = (/** @type {Export} */ entry) => entry.need && demanded(entry, module)
    module.exports.forEach(demand)
    module.imports.forEach(demand)
  })
  const our = `${prefixFor(texts)}cycle`
  const hub = nameBlob(`import { preemptify } from ${stringify(door())}; ` +
    `export const ${our} = preemptify.runtime.cycle(${component.length})`, component[0].url, made)
  const begin = `import { ${our} } from ${stringify(hub)}; `
  /** @type {string[]} */
  const members = []
  let all = begin
  pick(component, module => {
    const blob = blobOf(module, made, `${begin}${cyclic(module, places, our)}`, `\n;${our}.done(${places.get(module)})`)
    append(members, blob)
    all += `import ${stringify(blob)}; `
  })
  pick(component, user => {
    let text = all
    pick(exportsOf(user), ({ 0: exportedName, 1: { module, name } }) => {
      const as = quotedName(exportedName)
      const from = `from ${stringify(name === '' ? module.blob : members[places.get(module)] ?? module.blob)}; `
      if (name !== '') text += `export { ${quotedName(name)} as ${as} } ${from}`
      else if (module.blob) text += `export * as ${as} ${from}`
      else {
        const cell = `${our}${text.length}`
        text += `const ${cell} = ${our}.cells[${places.get(module)}]; export { ${cell} as ${as} }; `
      }
    })
    user.blob = nameBlob(text, user.url, made)
  })
  return members
}

/** An exported or imported name. @param {any} id an identifier or a string @returns {string} */
const nameIn = id => id.name ?? id.value
/** @param {string} name @returns {string} as it stands in braces */
const quotedName = name => matches(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u, name) ? name : stringify(name)

/**
 * Takes out of a module what it imports of its cycle, and exports of others.
 *
 * @param {Loaded} module gets edits @param {Map<Loaded, number>} places of the cycle's modules @param {string} our
 * @returns {string} its prologue
 */
function cyclic(module, places, our) {
  const { tree: { facts, body }, text, needs, imports, exports } = module
  let getters = ''
  let prologue = ''
  /** Namespaces of modules that are not of the cycle. */
  const holders = emptyMap()

  const access = (/** @type {Target} */ { module, name }) => {
    const place = places.get(module)
    if (place === undefined && !holders.has(module)) {
      holders.set(module, `${our}${holders.size + 1}`)
      prologue += `import * as ${holders.get(module)} from ${stringify(module.blob)}; `
    }
    const holder = place === undefined ? holders.get(module) : `${our}.cells[${place}]`
    return name === '' ? holder : `${holder}[${stringify(name)}]`
  }

  pick(exportsOf(module), ({ 0: name, 1: target }) => {
    const local = target.module === module && exports.get(target.name)?.local
    getters += `get ${quotedName(name)}() { return ${local ? local === 'default' ? `${our}0` : local : access(target)} }, `
  })
  pick(needs, need => {
    const { type, start, end } = need.node
    const needed = neededBy(need)
    if (places.has(needed)) replace(facts, start, end, ';')
    else if (type !== 'ImportDeclaration') replace(facts, start, end, `import ${stringify(needed.blob)};`)
  })
  imports.forEach((entry, variable) => {
    if (!places.has(neededBy(/** @type {Need} */ (entry.need)))) return
    const value = access(demanded(entry, module))
    variable.isDynamic = true
    pick(variable.references, ({ start, end, parent, scope: { facts }, name }) => {
      if (parent.type === 'ExportSpecifier') return
      const isFunction = parent.type !== 'NewExpression' && calledIn(parent)?.start === start // called without `this`
      replace(facts, start, end, parent.shorthand ? `${name}: ${value}` : isFunction ? `${our}.bare(${value})` : value)
    })
  })
  pick(body, ({ type, source, specifiers, declaration, start, end }) => {
    if (type === 'ExportNamedDeclaration' && !declaration && !source) {
      const stay = pick(specifiers, ({ local }) => !imports.has(local.variable))
      let list = ''
      pick(stay, ({ local, exported }) => { list += `${local.name} as ${quotedName(nameIn(exported))}, ` })
      replace(facts, start, end, `export { ${list}};`)
    } else if (type === 'ExportDefaultDeclaration') {
      if (matches(/Declaration$/, declaration.type) && declaration.id) return
      if (declaration.type === 'FunctionDeclaration') { // which is there before its line
        declaration.id = { name: `${our}0`, variable: variableOf(`${our}0`, 'function', module.tree.scope) }
        insert(declaration.facts, seek(text, '(', declaration.start), REPLACES, start, ` ${our}0`)
        prologue += `${our}.named(${our}0); `
        return
      }
      if (declaration.type === 'ClassDeclaration') declaration.type = 'ClassExpression'
      const stop = text[end - 1] === ';' ? end - 1 : end
      replace(facts, start, seek(text, 'default', start + 'export'.length) + 'default'.length, `const ${our}0 = { default:`)
      insert(facts, stop, -BODY_EDGE, start, ` }.default; export { ${our}0 as default };`, end)
    }
  })
  return `${prologue}await ${our}.turn(${places.get(module)}, { ${getters}}); `
}

/** What modules that import each other share: their cells, and whose turn it is. @param {number} size */
function cycle(size) {
  /** @type {any[]} */
  const cells = []
  /** @type {((value?: any) => void)[]} */
  const turns = []
  let ready = 0
  for (let i = 0; i < size; i++) append(cells, create(null, { [Symbol.toStringTag]: { value: 'Module' } }))
  return {
    cells: freeze(cells),
    bare: (/** @type {any} */ fn) => fn,
    named: (/** @type {any} */ fn) => define(fn, 'name', 'default'),
    turn: (/** @type {number} */ i, /** @type {any} */ getters) => new Promise(resolve => {
      freeze(withPropertiesOf(getters, cells[i]))
      turns[i] = resolve
      if (++ready === size) turns[0]()
    }),
    done: (/** @type {number} */ i) => turns[i + 1]?.()
  }
}

/**
 * An error of the engine names addresses that nobody knows, or does not say that no blob may be imported.
 *
 * @param {any} error
 */
async function explained(error) {
  const { name, bring, forget } = moduleHost()
  const probe = name('')
  try {
    await bring(probe)
  } catch (cause) {
    return new EvalError('preemptify.import: the Content-Security-Policy of this page has no blob: in its script-src; ' +
      'the service worker of examples/service-worker does without, it rewrites scripts as they are fetched', { cause })
  } finally {
    forget(probe)
  }
  if (typeof error?.message !== 'string' || !holds(error.message, 'blob:')) return error
  blobs.forEach((url, blob) => { error.message = join(split(error.message, blob), url) })
  return error
}

// ----------------------------------------------------------------------------------------- 8f source maps

/** Where lines begin. @param {string} text */
function linesOf(text) {
  const starts = [0]
  const end = /\r\n?|[\n\u2028\u2029]/g
  while (matches(end, text)) append(starts, end.lastIndex)
  return starts
}

/** @param {number[]} starts of lines @param {number} place @returns {number} */
const lineAt = (starts, place) => firstOf(starts, start => start > place) - 1

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Five bits a digit, the sign last, the sixth bit where more follow. @param {number} value */
function vlq(value) {
  let rest = value < 0 ? -value * 2 + 1 : value * 2
  let digits = ''
  for (; rest > 31; rest >>>= 5) digits += DIGITS[rest & 31 | 32]
  return digits + DIGITS[rest]
}

/**
 * The mappings of a source map (ECMA-426), with a segment where each line begins and where each piece of the source
 * begins that was kept. What was inserted belongs to the piece before it.
 *
 * @param {string} source
 * @param {string} text
 * @param {number[]} kept the pieces in the order of the text: of each its place in the text, its place in the source, and its length
 */
function mapOf(source, text, kept) {
  const lines = linesOf(source)
  const starts = linesOf(text)
  let mappings = ''
  let row = 0
  let written = -1 // in this row, up to here
  let line = 0
  let column = 0
  for (let i = 0; i < kept.length; i += 3) {
    const at = kept[i]
    const original = kept[i + 1]
    const length = kept[i + 2]
    const next = i + 3 < kept.length ? kept[i + 3] : text.length + 1
    for (let here = at; here < next; here = row + 1 < starts.length ? starts[row + 1] : next) {
      for (; starts[row + 1] <= here; row++) {
        mappings += ';'
        written = -1
      }
      const place = original + min(here - at, length)
      const next = place < lines[line] || place >= lines[line + 1] ? lineAt(lines, place) : line
      const begun = written < 0 ? vlq(here - starts[row]) : `,${vlq(here - written)}`
      mappings += `${begun}A${vlq(next - line)}${vlq(place - lines[next] - column)}`
      written = here
      line = next
      column = place - lines[next]
    }
  }
  return mappings
}

/**
 * The line that leads from a rewritten text to its source. In base64, since Node takes no other.
 *
 * @param {string} source @param {string} text @param {number[]} kept as of mapOf @param {string} url of the source
 */
function mapLine(source, text, kept, url) {
  const map = stringify({ version: 3, sources: [url], names: [], mappings: mapOf(source, text, kept) })
  const bytes = unescape(encodeURIComponent(map)) // of UTF-8
  return `\n//# sourceMappingURL=data:application/json;base64,${toBase64(bytes)}`
}

// ---------------------------------------------------------------------------------------------- 8f report

/**
 * What cannot be preempted in a function, a module or a script, and why: what a job, too, runs in one piece, if it has loops or calls of
 * what is not known to be short. What else takes long are single calls of the engine, such as those of JSON or of a regular
 * expression.
 *
 * @param {Function | string} source a function, or the text of a module or script
 * @param {{ type?: 'module' | 'script' }} [options] type: of the text; default: module
 * @returns {{ name: string, line: number, column: number, reason: string }[]} in the order of the source; name: empty where there is none
 */
function report(source, options = {}) {
  const { type = 'module' } = optionsOf(options, REPORT_OPTIONS)
  const text = typeof source === 'string' ? source : sourceOf(callable('source', source))
  if (typeof source !== 'string' && matches(NO_SOURCE, text)) {
    return [{ name: source.name, line: 1, column: 1, reason: 'a native, bound or proxied function' }]
  }
  const tree = read(text, typeof source === 'string' ? type : 'function')
  names(tree)
  const starts = linesOf(text)
  /** @type {{ name: string, line: number, column: number, reason: string }[]} */
  const list = []
  pick(planModule(tree, text), plan => {
    const { node } = plan
    const { start } = node.parent?.value === node ? node.parent : node
    const reason = reasonOf(plan)
    const line = lineAt(starts, start)
    if (reason) append(list, { name: titleOf(node), line: line + 1, column: start - starts[line] + 1, reason })
  })
  return sort(list, (/** @type {any} */ a, /** @type {any} */ b) => a.line - b.line || a.column - b.column)
}
/** @param {Plan} plan @returns {string} why it runs in one piece, or part of it; empty: it does not, or it cannot run long */
function reasonOf({ node, facts, reason }) {
  const { type, params, body } = node
  const isPart = type === 'PropertyDefinition' || type === 'StaticBlock'
  if (reason === 'code that is run once' && !isPart) return ''
  const isLong = (/** @type {any} */ call) => {
    if (kindOf(call) === '') return false
    const target = targetOf(call)
    return target === null || target.isLong || target.reason !== ''
  }
  const calls = pick(facts.calls, isLong)
  if (reason === '') {
    return params && find(calls, ({ start }) => start < body.start) ? 'calls in its parameters'
      : facts.isConstructor && isHuge(node) && find(calls, call => isInnermost(call, facts.loops)) ? 'calls in the innermost loops of a huge constructor' : ''
  }
  return calls.length + facts.loops.length === 0 ? ''
    : type === 'PropertyDefinition' ? 'the value of a field'
    : type === 'StaticBlock' ? 'a static block'
    : facts.isAsync && facts.isGenerator ? 'an async generator'
    : reason
}

/** @param {any} node a function @returns {string} */
function titleOf({ type, id, key, parent }) {
  const own = id ?? key ?? parent?.key ?? parent?.id ?? parent?.left
  return type === 'StaticBlock' ? '' : own?.name ?? own?.value ?? ''
}
