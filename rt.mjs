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

  /** @param {N} _a @param {N} _b @returns {number} */
  order(_a, _b) { return 0 }
  /** @param {N} _node @returns {number} */
  key(_node) { return 0 }

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
 * @property {object} [reservation] a Reservation (addons/reservations.mjs) that pays for the jobs
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
    if (this.sections !== undefined) checkSections(this)
  }

  /**
   * What a job of this task does; derived classes override it, as a generator where it is to be preemptible.
   *
   * @param {A} args those of `release`; an async method is given the job before them
   * @returns {Iterator<Yieldable, R, any> | PromiseLike<R> | R}
   */
  run(...args) {
    void args
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

/** Checks the critical sections of a task; `schedulable` reads them. @param {Task<any, any>} task */
function checkSections({ sections, wcet }) {
  if (!Array.isArray(sections)) throw wrongType('sections', 'an array of sections', sections)
  sections.forEach(({ wcet: length }, index) => {
    const name = `sections[${index}].wcet`
    if (notNegative(name, length) > wcet) throw outOfRange(name, `at most that of its task, ${wcet}`, length)
  })
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

  /** @param {Job | null} _job on whose behalf; null outside jobs */
  begin(_job) {}
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
  /** Objects that keep the hidden classes of jobs alive; they are never read. @type {object[]} */
  shapes = []
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
    this.shapes = [
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
 * a function: its twin, if it has one; `answers(fn)`, whether it may return a value, or it is not known;
 * `ours`, callbacks of these modules, which a page calls as they are; `url`, by which browsers name rounds.
 *
 * Of code that preemptify has rewritten:
 * - `link({ twinOf, answers })` registers how the twin of a function is found, and whether a function returns a value
 * - `counts`, `ROOM` the budget, with the depth of calls on the call stack that is left, and its initial value
 * - `Suspended` a call that has started outside the scheduler and has yielded
 * - `checkpoint()` ends the budget without a yield; true if the job must yield
 * - `interrupt()` ends the budget of the running job at its next point
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
  counts,
  ROOM,
  Suspended,

  /** @param {{ twinOf?: typeof preemptible, answers?: typeof answers }} hooks */
  link(hooks) {
    preemptible = hooks.twinOf ?? preemptible
    answers = hooks.answers ?? answers
  },
  checkpoint: () => dispatching === null || dispatching.endBudgetInPlace(),
  interrupt: () => { dispatching?.interrupt() },

  /** @param {any} fn @returns {any} */
  preemptible: fn => preemptible(fn),
  /** @param {any} fn @returns {boolean} */
  answers: fn => answers(fn),

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
