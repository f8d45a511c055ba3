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
 *                                        ^  ^    preempt     |  |
 *                                   wake |  | refresh  block |  | deplete
 *                                     waiting  depleted <----+--+
 *
 * Invariants. The tests check them after every slice.
 *   1 At most one job is dispatched.
 *   2 A job is in exactly one of: the timeline, the ready queue, running, a wait, a reservation's depleted list,
 *     ended.
 *   3 Ready order is total: band, policy, rotation, release, id.
 *   4 The ceiling stack is last in, first out, and its ceilings never fall towards the top.
 *   5 A job that passed the ceiling test never blocks on a resource.
 *   6 A depleted reservation has a replenishment on the timeline or a postponed deadline.
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
 * @property {(fn: () => void) => void} post run `fn` once in a later turn of the event loop
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
  const { performance, document, navigator } = platform
  const now = performance.now.bind(performance)
  const hidden = () => document?.visibilityState === 'hidden'
  /** @type {((fn: () => void) => void) | undefined} */
  let send
  /** @type {Host} */
  const host = {
    now,
    hidden,
    // Node drains about a thousand MessageChannel messages per turn, which starves its timers, and an open channel
    // keeps the process alive; its setImmediate does neither.
    post: fn => (send ??= platform.setImmediate ??
      (document && platform.requestAnimationFrame ? pacedPost(platform, now, hidden) : channelPost(platform)))(fn),
    after(ms, fn, { ref }) {
      const timer = platform.setTimeout(fn, Math.min(Math.max(0, Math.ceil(ms)), LONGEST_DELAY))
      if (!ref) timer.unref?.()
      return () => platform.clearTimeout(timer)
    },
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

/**
 * Firefox gives pending ordinary tasks precedence over a frame as long as its queue never runs empty (a page whose
 * rounds follow each other directly falls to 15 frames per second). So a round that would run into the next frame waits
 * for it. Timers would do as well, but they come late and jitter.
 *
 * @param {any} platform @param {() => number} now @param {() => boolean} hidden @returns {(fn: () => void) => void}
 */
function pacedPost(platform, now, hidden) {
  const post = channelPost(platform)
  /** @type {(() => void)[]} */
  const held = []
  let heldAt = 0
  let interval = 1000 / 60
  let shown = -Infinity // the latest frame's own time; the times of callbacks jitter by half an interval
  let due = -Infinity // the next frame
  let requested = false
  let stopped = false // frames do not come although the page counts as visible
  let began = -Infinity // the latest turn
  let inTurn = false
  /** @type {any} */
  let fallback

  const letGo = () => {
    platform.clearTimeout(fallback)
    for (const turn of held.splice(0)) post(turn)
  }
  const onFrame = (/** @type {number} */ frame) => {
    const gap = frame - shown
    if (gap > 4 && gap < 100) {
      interval = gap < interval ? gap
        // Displays differ, but a longer gap tells of a slower one only if nothing here kept the frame from coming earlier.
        : held.length > 0 && heldAt < shown + interval ? interval + (gap - interval) / 8
        : interval
    }
    shown = frame
    due = frame + interval
    requested = stopped = false
    letGo()
  }
  platform.document.addEventListener('visibilitychange', letGo)
  return fn => {
    const time = now()
    const turn = () => {
      began = now()
      inTurn = true
      try {
        fn()
      } finally {
        inTurn = false
      }
    }
    if (hidden()) return post(turn)
    if (!requested) platform.requestAnimationFrame(onFrame)
    requested = true
    // (A turn of async jobs goes on in microtasks.)
    const goesOn = inTurn || time - began < interval
    if (!goesOn) {
      const passed = shown === -Infinity ? 0 : Math.ceil((time - shown) / interval)
      due = passed > 0 ? shown + passed * interval : time + interval // the next that could come
    }
    // The next turn may take as long as the one that posts it; a frame that comes half of that late is not lost.
    if (stopped || !goesOn || time + (time - began) / 2 <= due) return post(turn)
    if (held.push(turn) > 1) return
    heldAt = time
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
 * @property {(a: Ranked, b: Ranked) => number} compare negative when `a` is more eligible, 0 when they rank equal
 * @property {(task: { deadline: number, priority: number, period: number }) => number} level the preemption level,
 *   fixed at release: larger preempts smaller (Baker 1991)
 * @property {(job: Ranked) => number} [key] a number that is smaller for whoever `compare` puts first; equal numbers
 *   are left to `compare`. It spares the ready queue most calls of `compare`.
 * @property {(task: { priority: number, period: number }) => number} [priority] the priority at release, where the
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
  level: task => -task.deadline,
  key: job => job.absoluteDeadline
})

/** Fixed priority: the larger priority first. @type {Policy} */
export const fp = Object.freeze({
  name: 'fp',
  compare: (a, b) => b.priority - a.priority,
  level: task => task.priority,
  key: job => -job.priority
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

/** Whose costs are known. @type {Set<Policy>} */
const POLICIES = new Set([edf, fp, rm])

// ------------------------------------------------------------------------------------- 3 heap and timeline

const OUTSIDE = -1
const CHAINED = -2

/**
 * A node of a heap: `index` is its slot, OUTSIDE, or CHAINED behind `before` in its run.
 *
 * @typedef {{ index: number, before: any, after: any }} HeapNode
 */

/**
 * A stable priority queue in O(log n): a 4-ary heap of sorted runs. A node that follows the node pushed last
 * extends its run in O(1); so jobs that come in order, as equals do, cost the same whether ten are ready or a
 * hundred thousand.
 *
 * `key` orders nodes, `tie` orders nodes of equal key; together they must be a total order that does not change
 * while a node is inside (after a change: `update`).
 *
 * @template {HeapNode} N
 */
class Heap {
  /** @param {(node: N) => number} key @param {(a: N, b: N) => number} tie */
  constructor(key, tie) {
    this.key = key
    this.tie = tie
    /** @type {N[]} the first node of each run */
    this.heads = []
    /** Keys of `heads`, side by side: comparing them touches no node. @type {number[]} */
    this.keys = []
    /** The node pushed last, if it is still inside, and its key. @type {N | null} */
    this.last = null
    this.lastKey = 0
    this.size = 0
  }

  /** @returns {N | null} */
  get first() {
    return this.size === 0 ? null : this.heads[0]
  }

  /** @param {N} node */
  push(node) {
    const key = this.key(node)
    const { last, lastKey } = this
    this.last = node
    this.lastKey = key
    this.size++
    if (last !== null && (lastKey < key || (lastKey === key && this.tie(last, node) < 0))) {
      last.after = node
      node.before = last
      node.index = CHAINED
    } else {
      this.#rise(this.heads.length, node, key)
    }
  }

  /** @returns {N} the first node, removed; the heap must not be empty */
  shift() {
    const node = this.heads[0]
    this.#removeHead(node, 0)
    return node
  }

  /** @param {N} node */
  remove(node) {
    if (node.index !== CHAINED) return this.#removeHead(node, node.index)
    const { before, after } = node
    before.after = after
    if (after !== null) after.before = before
    else if (this.last === node) {
      this.last = before
      this.lastKey = this.key(before)
    }
    node.index = OUTSIDE
    node.before = node.after = null
    this.size--
  }

  /** Moves a node whose key changed. @param {N} node */
  update(node) {
    this.remove(node)
    this.push(node)
  }

  /** @param {N} node @param {number} index */
  #removeHead(node, index) {
    const next = node.after
    node.index = OUTSIDE
    node.after = null
    this.size--
    if (next !== null) {
      next.before = null
      this.#place(index, next, this.key(next))
      return
    }
    if (this.last === node) this.last = null
    const moved = /** @type {N} */ (this.heads.pop())
    const key = /** @type {number} */ (this.keys.pop())
    if (moved !== node) this.#place(index, moved, key)
  }

  /** @param {number} index @param {N} node @param {number} key */
  #place(index, node, key) {
    if (index > 0 && this.#precedes(node, key, (index - 1) >> 2)) this.#rise(index, node, key)
    else this.#sink(index, node, key)
  }

  /** @param {N} node @param {number} key @param {number} index */
  #precedes(node, key, index) {
    const other = this.keys[index]
    return key < other || (key === other && this.tie(node, this.heads[index]) < 0)
  }

  /** @param {number} index @param {N} node @param {number} key */
  #rise(index, node, key) {
    const { heads, keys } = this
    while (index > 0) {
      const parent = (index - 1) >> 2
      if (!this.#precedes(node, key, parent)) break
      heads[index] = heads[parent]
      keys[index] = keys[parent]
      heads[index].index = index
      index = parent
    }
    heads[index] = node
    keys[index] = key
    node.index = index
  }

  /** @param {number} index @param {N} node @param {number} key */
  #sink(index, node, key) {
    const { heads, keys } = this
    const { length } = heads
    for (;;) {
      let child = 4 * index + 1
      if (child >= length) break
      let childKey = keys[child]
      const end = Math.min(child + 4, length)
      for (let other = child + 1; other < end; other++) {
        const otherKey = keys[other]
        if (otherKey < childKey || (otherKey === childKey && this.tie(heads[other], heads[child]) < 0)) {
          child = other
          childKey = otherKey
        }
      }
      if (key < childKey || (key === childKey && this.tie(node, heads[child]) < 0)) break
      const risen = heads[child]
      heads[index] = risen
      keys[index] = childKey
      risen.index = index
      index = child
    }
    heads[index] = node
    keys[index] = key
    node.index = index
  }
}

/** Something that happens at a time; `subject` is a job, or the function to call. */
class Entry {
  /**
   * @param {Dispatcher} dispatcher @param {number} time @param {number} order @param {number} kind
   * @param {any} subject @param {boolean} ref
   */
  constructor(dispatcher, time, order, kind, subject, ref) {
    this.dispatcher = dispatcher
    this.time = time
    this.key = time
    this.order = order
    this.kind = kind
    this.subject = subject
    this.ref = ref
    this.index = OUTSIDE
    /** @type {Entry | null} */
    this.before = null
    /** @type {Entry | null} */
    this.after = null
  }

  /** @returns {boolean} whether it was still to happen */
  cancel() {
    const { dispatcher } = this
    const there = dispatcher.removeEntry(this)
    if (there) dispatcher.rest()
    return there
  }
}

// The order in which things due at one reading of the clock happen.
const REPLENISHMENT = 0
const ALARM = 1
const RELEASE = 2
const MISS = 3

/** @returns {Heap<Entry>} entries by time, then creation */
const timeline = () => new Heap(entry => entry.key, (a, b) => a.order - b.order)

// --------------------------------------------------------------------------------- errors and input checks

/** The reason with which a job that asked for `miss: 'abort'` is cancelled at its deadline. */
export class DeadlineError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message)
    this.name = 'DeadlineError'
  }
}

/** Jobs wait for each other in a circle, or nothing is left that could wake the jobs of a closed scheduler. */
export class DeadlockError extends Error {
  /** @param {string} message @param {Job[]} jobs */
  constructor(message, jobs) {
    super(message)
    this.name = 'DeadlockError'
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

/** @param {string} name @param {unknown} value @returns {number} */
function positive(name, value) {
  if (typeof value !== 'number') throw wrongType(name, 'a number > 0', value)
  if (!(value > 0)) throw outOfRange(name, 'a number > 0', value)
  return value
}

/** @param {string} name @param {unknown} value @returns {number} */
function notNegative(name, value) {
  if (typeof value !== 'number') throw wrongType(name, 'a number >= 0', value)
  if (!(value >= 0)) throw outOfRange(name, 'a number >= 0', value)
  return value
}

/** @param {string} name @param {unknown} value @returns {number} */
function finite(name, value) {
  if (typeof value !== 'number') throw wrongType(name, 'a finite number', value)
  if (!Number.isFinite(value)) throw outOfRange(name, 'a finite number', value)
  return value
}

/** @param {string} name @param {unknown} value @returns {number} points, or AUTO */
function points(name, value) {
  if (value === 'auto') return AUTO
  if (typeof value !== 'number') throw wrongType(name, "an integer >= 1 or 'auto'", value)
  if (!Number.isSafeInteger(value) || value < 1) throw outOfRange(name, "an integer >= 1 or 'auto'", value)
  return value
}

/** @param {string} name @param {unknown} value @returns {any} */
function callable(name, value) {
  if (typeof value !== 'function') throw wrongType(name, 'a function', value)
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

/** @param {unknown} value @returns {any} */
function abortSignal(value) {
  const signal = /** @type {any} */ (value)
  try {
    if (typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function' &&
      typeof signal.removeEventListener === 'function') return signal
  } catch {} // what cannot be looked at is none
  throw wrongType('signal', 'an AbortSignal', value)
}



/** @param {string} name @param {unknown} value @param {string} kind @returns {any} what the seam acts on */
function partner(name, value, kind) {
  try {
    const found = /** @type {any} */ (value)[protocol]
    if (found) return found
  } catch {} // what cannot be looked at is none
  throw wrongType(name, kind, value)
}

const abortError = () => new DOMException('The job was cancelled', 'AbortError')

// ------------------------------------------------------------------------------------------ 4 Task and Job

const AUTO = 0

/**
 * The preemption points that the running job may still pass before the clock is read. Refilled before a job is
 * resumed. In a hot loop `if (--budget.left <= 0) yield` passes a point without leaving the function.
 */
export const budget = { left: 0 }

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
 */
export class Task {
  /**
   * @param {((...args: any[]) => any) | TaskOptions} [work] what a job does; default: the method `run`
   * @param {TaskOptions} [options]
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(work, options) {
    if (typeof work !== 'function') {
      if (options !== undefined) throw wrongType('work', 'a function', work)
      if (this.run === Task.prototype.run) {
        if (new.target !== Task) throw wrongType(`${new.target.name}.run`, 'a function', undefined)
        throw wrongType('work', 'a function', work)
      }
      options = work
      callable(`${this.constructor.name}.run`, this.run)
    } else {
      this.run = work
    }
    const given = options === undefined ? {} : record('options', options)
    this.name = chosen(given.name, undefined, typeof work === 'function' ? work.name : this.constructor.name)
    this.deadline = chosen(given.deadline, undefined, Infinity)
    this.priority = chosen(given.priority, undefined, 0)
    this.period = chosen(given.period, undefined, Infinity)
    this.wcet = chosen(given.wcet, undefined, Infinity)
    this.budget = given.budget
    this.miss = chosen(given.miss, undefined, 'continue')
    this.onMiss = given.onMiss
    this.onOverrun = given.onOverrun
    this.reservation = given.reservation
    this.uses = given.uses
    this.scheduler = given.scheduler
    if (typeof this.name !== 'string') throw wrongType('name', 'a string', this.name)
    if (this.scheduler !== undefined) seam.here(this)
    parametersOf(this)
  }

  /**
   * What a job of this task does; derived classes override it, as a generator where it is to be preemptible.
   *
   * @param {...any} args those of `release`
   * @returns {any}
   */
  run(...args) {
    throw new TypeError(`${this.name} has nothing to run`)
  }

  /**
   * Releases a job now.
   *
   * @param {...any} args handed to `run`
   * @returns {Job}
   * @throws {TypeError | RangeError} naming a parameter that has become invalid
   */
  release(...args) {
    return seam.here(this).spawn(this, undefined, ...args)
  }
}

/** @param {any} given @param {any} base @param {any} otherwise */
const chosen = (given, base, otherwise) => given !== undefined ? given : base !== undefined ? base : otherwise

/** A task that says nothing. @type {any} */
const NOTHING = Object.freeze({
  deadline: undefined, priority: undefined, period: undefined, wcet: undefined, budget: undefined, miss: undefined,
  onMiss: undefined, onOverrun: undefined, reservation: undefined, uses: undefined
})

/** Checked parameters of a task or of spawn's options. @param {any} given @param {any} [base] */
function parametersOf(given, base = NOTHING) {
  const miss = chosen(given.miss, base.miss, 'continue')
  if (miss !== 'continue' && miss !== 'abort') throw wrongType('miss', "'continue' or 'abort'", miss)
  const limit = chosen(given.budget, base.budget, undefined)
  const onMiss = chosen(given.onMiss, base.onMiss, undefined)
  const onOverrun = chosen(given.onOverrun, base.onOverrun, undefined)
  const reservation = chosen(given.reservation, base.reservation, undefined)
  const uses = chosen(given.uses, base.uses, undefined)
  if (uses !== undefined && !Array.isArray(uses)) throw wrongType('uses', 'an array of Resources', uses)
  return {
    deadline: positive('deadline', chosen(given.deadline, base.deadline, Infinity)),
    priority: finite('priority', chosen(given.priority, base.priority, 0)),
    period: positive('period', chosen(given.period, base.period, Infinity)),
    wcet: notNegative('wcet', chosen(given.wcet, base.wcet, Infinity)),
    limit: limit === undefined ? undefined : points('budget', limit),
    abort: miss === 'abort',
    onMiss: onMiss === undefined ? undefined : callable('onMiss', onMiss),
    onOverrun: onOverrun === undefined ? undefined : callable('onOverrun', onOverrun),
    reservation: reservation === undefined ? null : partner('reservation', reservation, 'a Reservation'),
    uses: uses === undefined ? null : Array.from(uses, one => partner('uses', one, 'an array of Resources'))
  }
}

const PENDING = 0
const READY = 1
const RUNNING = 2
const WAITING = 3
const DEPLETED = 4
const DONE = 5
const FAILED = 6
const CANCELLED = 7
const STATES = /** @type {const} */ (
  ['pending', 'ready', 'running', 'waiting', 'depleted', 'done', 'failed', 'cancelled'])

/** @type {any[]} */
const NO_ARGUMENTS = []

/** What the dispatcher knows of a job. `Job` is the handle that users hold. */
class Activation {
  /** @param {Dispatcher} dispatcher @param {number} id @param {any} work @param {any} leaf @param {any[]} args */
  constructor(dispatcher, id, work, leaf, args) {
    this.dispatcher = dispatcher
    this.id = id
    /** A Task, a function, or the iterator itself. */
    this.work = work
    this.args = args
    this.state = PENDING

    this.release = 0
    this.deadline = Infinity
    this.priority = 0
    /** Raised when the job is rotated behind its equals. */
    this.stamp = 0
    /** Whose keys count: its own, its reservation's, or those of a job that waits for it. @type {Standing} */
    this.standing = this

    this.index = OUTSIDE
    /** @type {Activation | null} */
    this.before = null
    /** @type {Activation | null} */
    this.after = null

    /** The innermost generator, which is resumed directly; UNSTARTED, or null when nothing is to be resumed. */
    this.leaf = leaf
    /** Whether it is known to be a generator of this realm. */
    this.isNative = false
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
    this.limit = AUTO
    /** @type {Pace | null} */
    this.pace = null
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
    /** @type {Circumstances | null} */
    this.rare = null
    this.job = new Job(this)
  }

  /** As a standing: reserved jobs have band 1, ordinary ones 0, those of a depleted reservation -1. */
  get band() { return 0 }

  get absoluteDeadline() { return this.release + this.deadline }
  /** What the policies of this module compare, which can do without the handle. */
  get ranked() { return this }

  /** The preemption level, fixed at release. */
  get level() { return this.rare?.level ?? this.dispatcher.policy.level(this.job) }

  /** @param {Waitable} waitable */
  woken(waitable) {
    this.dispatcher.wake(this, waitable)
  }
}

/** How a job goes on that has come back once. */
class Pace {
  /** Points per automatic budget. */
  points = 1
  /** What `tune` measures the price of a point by. */
  passed = 0
  time = 0
  /** The job's cost at its last rotation: the slice counts from it, across preemptions. */
  turn = 0
}

/**
 * A promise and what settles it.
 *
 * @typedef {object} Deferred
 * @property {Promise<any>} promise
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** What only few jobs have. */
class Circumstances {
  /** @type {string | undefined} */
  name
  wcet = Infinity
  /** The job's cost when its present period began, and whether that has overrun. */
  costBefore = 0
  overran = false
  period = Infinity
  /** @type {((job: Job) => void) | undefined} */
  onMiss
  /** @type {((job: Job) => void) | undefined} */
  onOverrun
  /** Kept when deadline or priority change after the release. @type {number | undefined} */
  level = undefined
  /** A function job's place in the async shim. @type {Along | null} */
  along = null
  /** The entry at a release in the future. @type {Entry | null} */
  pending = null
  abort = false
  /** Ends the listening to a signal. @type {(() => void) | null} */
  unlisten = null
  /** NOT_CANCELLED, or the reason. @type {unknown} */
  reason = NOT_CANCELLED
  delivered = false
  /** @type {Partner | null} */
  server = null
  /** @type {Partner[] | null} */
  uses = null
  /** The number of gates held. */
  gates = 0
  /** A copy of its own keys, for those it lends them to. @type {Standing | null} */
  rank = null
  /** The queues it owns, whose best waiter lends it its standing. @type {Queue[]} */
  owned = []
  refreshing = false
  /** @type {Queue | null} */
  joiners = null
}

/** @type {unknown} */
const NOT_CANCELLED = Symbol('not cancelled')

/** @param {Activation} a */
const rare = a => a.rare ??= new Circumstances()

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
 * @template [T=any]
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
    const { rare, work, id } = this.#activation
    return rare?.name || (typeof work === 'function' || work instanceof Task ? work.name : '') || `job ${id}`
  }
  /** @returns {Task | null} */
  get task() {
    const { work } = this.#activation
    return work instanceof Task ? work : null
  }
  get state() {
    const { state, dispatcher } = this.#activation
    return STATES[state === RUNNING && !dispatcher.inRound ? READY : state]
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
    this.#activation.dispatcher.setPriority(this.#activation, value)
  }
  /** ms; Infinity without one. */
  get period() { return this.#activation.rare?.period ?? Infinity }
  /** The preemption level, fixed at release (Baker 1991). */
  get level() { return this.#activation.level }

  /**
   * @template R, E
   * @param {((value: T) => R | PromiseLike<R>) | null} [onDone]
   * @param {((error: any) => E | PromiseLike<E>) | null} [onFailed]
   * @returns {Promise<R | E>}
   */
  then(onDone, onFailed) {
    return promiseOf(this.#activation).then(onDone, onFailed)
  }
  /** @template E @param {((error: any) => E | PromiseLike<E>) | null} [onFailed] @returns {Promise<T | E>} */
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
   * that has not started ends at once; one that catches the reason goes on.
   *
   * @param {unknown} [reason] default: an AbortError
   * @returns {boolean} whether this call cancelled it: false when it had ended or had been cancelled already
   */
  cancel(reason) {
    return this.#activation.dispatcher.cancel(this.#activation, reason === undefined ? abortError() : reason)
  }

  /**
   * In an async job: passes a preemption point.
   *
   * @returns {Promise<void>} resolved when the policy picks the job again; rejected when it has been cancelled
   * @throws {TypeError} in a generator job, which writes `yield`
   */
  yield() {
    return yieldAlong(this.#activation)
  }

  /** For `yield* job`, which types the result. @returns {Generator<Job<T>, T, T>} */
  *[Symbol.iterator]() {
    return yield this
  }
  get [Symbol.toStringTag]() { return 'Job' }
}

// --------------------------------------------------------------------------- 4a what a job may wait for

const IDLE = 0
const BEGUN = 1
const FULFILLED = 2
const REJECTED = 3

const isWaitable = Symbol('waitable')

/**
 * Something to wait for: lazy, acts once, then repeats its outcome. Derived classes override `begin`, which is
 * called when somebody waits for it first and settles it by `wake` or `fail`, at once or later; and `undo`, called
 * when the last waiter leaves before that, after which it can begin anew.
 */
class Waitable {
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
    // A call to be driven by whoever yields it offers something else to those who wait for it as a whole.
    if (typeof value?.[protocol] === 'function') return value[protocol]()
    return isThenable(value) ? new Settlement(value) : null
  }

  constructor() {
    this.phase = IDLE
    /** @type {any} */
    this.outcome = undefined
    /** @type {Waiter | null} */
    this.waiter = null
    /** All but the first. @type {Waiter[] | null} */
    this.others = null
    /** Its place in a queue. @type {WaitNode | null} */
    this.node = null
  }

  /** Tells it from other values at less than the price of `instanceof`. */
  get [isWaitable]() { return true }
  get isFulfilled() { return this.phase === FULFILLED }

  /** Jobs each of which must act before this can be over, as the owner of a lock. @returns {(Job | null)[]} */
  owners() {
    return this.node === null ? [] : [this.node.queue.owner]
  }

  /** @param {Job | null} job on whose behalf; null outside jobs */
  begin(job) {}
  undo() {}
  /** The standing of the job that waits has changed. */
  refresh() {
    if (this.node !== null) this.node.queue.update(this.node)
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
    } else if (this.node !== null) {
      // Its place in a queue was that of the job that leaves.
      const { queue } = this.node
      queue.remove(this.node)
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

/** @param {Waitable} waitable @param {number} phase @param {any} outcome */
function settle(waitable, phase, outcome) {
  if (waitable.phase >= FULFILLED) return
  const { waiter, others } = waitable
  waitable.phase = phase
  waitable.outcome = outcome
  waitable.waiter = waitable.others = null
  if (waiter !== null) waiter.woken(waitable)
  if (others !== null) for (const other of others) other.woken(waitable)
}

/** @typedef {{ job: Job | null, woken: (waitable: Waitable) => void }} Waiter */
/**
 * What one may wait for: by `yield` or `yield*` in jobs, by `await` anywhere.
 *
 * @template [T=any]
 * @typedef {PromiseLike<T> & { [Symbol.iterator](): Generator<any, T, any> }} Awaitable
 */

/** Waits for a promise or thenable. */
class Settlement extends Waitable {
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
    if (target.state === DONE) return this.wake(target.outcome)
    if (target.state > DONE) return this.fail(target.outcome)
    const queue = rare(target).joiners ??= new Queue(target.job)
    queue.push(this, job)
  }
  undo() {
    const node = /** @type {WaitNode} */ (this.node)
    node.queue.remove(node)
  }
}

/** @param {unknown} value @returns {value is PromiseLike<any>} */
const isThenable = value => (typeof value === 'object' || typeof value === 'function') && value !== null &&
  typeof (/** @type {any} */ (value).then) === 'function'

/** A waitable's place in a queue. */
class WaitNode {
  /** @param {Queue} queue @param {Waitable} waitable @param {Activation | null} activation @param {number} order */
  constructor(queue, waitable, activation, order) {
    this.queue = queue
    this.waitable = waitable
    this.activation = activation
    this.standing = standingToLend(activation)
    this.order = order
    this.index = OUTSIDE
    this.before = null
    this.after = null
  }
  get job() { return this.activation && this.activation.job }
}

/**
 * Those who wait, the most eligible first, equals in order of arrival. Whoever owns the queue has a standing at
 * least as good as its first (priority inheritance; Sha, Rajkumar, Lehoczky 1990).
 */
class Queue {
  /** @type {Activation | null} */
  #owner = null
  /** @type {Dispatcher | null} */
  #dispatcher = null
  #isDecided = false
  #arrivals = 0
  /** @type {Heap<WaitNode>} */
  #heap = new Heap(
    node => /** @type {Dispatcher} */ (this.#dispatcher).keyOf(node.standing),
    (a, b) => /** @type {Dispatcher} */ (this.#dispatcher).compareStandings(a.standing, b.standing) ||
      a.order - b.order)

  /** @param {Job | null} [owner] */
  constructor(owner = null) {
    this.owner = owner
  }

  get size() { return this.#heap.size }
  /** @returns {WaitNode | null} */
  get first() { return this.#heap.first }

  get owner() { return this.#owner && this.#owner.job }
  set owner(job) {
    const next = job && activationOf(job)
    const last = this.#owner
    if (next === last) return
    this.#owner = next
    if (last !== null) {
      const { owned } = rare(last)
      owned.splice(owned.indexOf(this), 1)
      last.dispatcher.refresh(last)
    }
    if (next !== null) {
      rare(next).owned.push(this)
      next.dispatcher.refresh(next)
    }
  }

  /**
   * @param {Waitable} waitable @param {Job | null} job on whose behalf
   * @returns {WaitNode}
   * @throws {DeadlockError} when the owner waits, through others, for `job`
   */
  push(waitable, job) {
    const activation = job && activationOf(job)
    if (activation !== null && this.#owner !== null) refuseCycle(activation, this.#owner)
    this.#follow((activation ?? this.#owner)?.dispatcher)
    const node = new WaitNode(this, waitable, activation, this.#arrivals++)
    waitable.node = node
    this.#heap.push(node)
    this.#lend()
    return node
  }
  /**
   * The first job decides by whose policy the queue is ordered.
   *
   * @param {Dispatcher | undefined} dispatcher
   */
  #follow(dispatcher) {
    if (this.#isDecided && this.#heap.size > 0) return
    this.#isDecided = dispatcher !== undefined
    const next = dispatcher ?? dispatcherOf(rt)
    if (next === this.#dispatcher) return
    const nodes = []
    while (this.#heap.size > 0) nodes.push(this.#heap.shift())
    this.#dispatcher = next
    for (const node of nodes) this.#heap.push(node)
  }

  /** @returns {WaitNode | null} */
  shift() {
    const node = this.#heap.first
    if (node !== null) this.remove(node)
    return node
  }
  /** @param {WaitNode} node */
  remove(node) {
    if (node.index === OUTSIDE) return
    this.#heap.remove(node)
    node.waitable.node = null
    this.#lend()
  }
  /** Its owner has ended; derived queues see to those who wait. */
  orphan() {
    this.owner = null
  }

  /** @param {WaitNode} node */
  update(node) {
    this.#heap.remove(node)
    node.standing = standingToLend(node.activation)
    this.#heap.push(node)
    this.#lend()
  }

  #lend() {
    if (this.#owner !== null) this.#owner.dispatcher.refresh(this.#owner)
  }
}

/**
 * Whose keys decide. It never changes while anybody is queued by it: a job is taken out of its queue before its own keys
 * change, and what it lends to others is a copy.
 *
 * @typedef {{ readonly band: number, readonly job: Ranked, readonly ranked?: Ranked }} Standing
 */

/** Those who await outside jobs. @type {Standing} */
const NOBODY = { band: 0, job: { absoluteDeadline: Infinity, priority: 0 } }

/** @param {Activation | null} a @returns {Standing} */
function standingToLend(a) {
  if (a === null) return NOBODY
  if (a.standing !== a) return a.standing
  return rare(a).rank ??= { band: 0, job: rankOf(a.job) }
}

/** @param {Job} job @returns {Ranked} what a policy may compare jobs by */
const rankOf = ({ id, name, task, release, deadline, absoluteDeadline, priority, period }) =>
  ({ id, name, task, release, deadline, absoluteDeadline, priority, period })

/**
 * @param {Activation} waiting @param {Activation} owner
 * @throws {DeadlockError} when the owner waits, through others, for the one that is about to wait for it
 */
function refuseCycle(waiting, owner) {
  /** @type {Set<Activation>} */
  const seen = new Set()
  /** @param {Activation} a @returns {Job[] | null} from `a` to `waiting` */
  const pathFrom = a => {
    if (a === waiting) return [a.job]
    if (seen.has(a)) return null
    seen.add(a)
    for (const next of a.waiting?.owners() ?? []) {
      const path = next && pathFrom(activationOf(next))
      if (path) return [a.job, ...path]
    }
    return null
  }
  const path = pathFrom(owner)
  if (path === null) return
  const names = [waiting.job, ...path].map(job => job.name)
  throw new DeadlockError(`deadlock: ${names.join(' waits for ')}`, path)
}

// -------------------------------------------------------------------------------------- 4b resuming a job

/**
 * Every generator of this realm is resumed by one function. Called by that name, it need not be looked up in a hot loop
 * in which many kinds of generators meet.
 */
const { next } = Object.getPrototypeOf(function* () {}).prototype

const UNSTARTED = Symbol('unstarted')

// How a resume ends. DONE and FAILED are the states.
const POINT = -1 // at a preemption point, and able to go on
const BLOCKED = -2
const ALONG = -3 // in async code, which runs when the stack is empty
const AWAY = -4 // async code that waits for something foreign

/** Yields since the dispatcher last asked. */
let received = 0

/** @param {any} value @returns {boolean} whether it is a call, to be driven */
const isIterator = value => typeof value === 'object' && value !== null &&
  (value.next === next || (typeof value.next === 'function' && value[Symbol.asyncIterator] === undefined))

/** @param {any} leaf @param {any} error */
function throwInto(leaf, error) {
  if (typeof leaf.throw === 'function') return leaf.throw(error)
  // As `yield*` does: an iterator that cannot be thrown into is closed, and its caller gets the error.
  leaf.return?.()
  throw error
}

/** Every generator object, whoever made it. */
const generatorPrototype = Object.getPrototypeOf(function* () {}).prototype

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
      `a job may yield nothing, a generator, a promise, a job or a waitable; ${a.job.name} yielded ${describe(value)}`)
  }
  return waitable
}

/** @param {Activation} a @param {Waitable} waitable */
function refuseInSection(a, waitable) {
  if (a.rare !== null && a.rare.gates > 0 && waitable.mayBlock) {
    throw new TypeError(`${a.job.name} waits inside a critical section`)
  }
}

/** Whether a cancellation is still to be thrown into the job, and may be. @param {Activation} a */
const isDoomed = a => a.rare !== null && a.rare.reason !== NOT_CANCELLED && !a.rare.delivered && a.rare.gates === 0

/** @param {Activation} a */
function takeReason(a) {
  const circumstances = /** @type {Circumstances} */ (a.rare)
  circumstances.delivered = true
  return circumstances.reason
}

/**
 * Resumes a generator until it yields something, ends, or has used up the budget. A function of its own, so that the
 * compiler sees one short loop.
 *
 * @param {any} generator @param {any} input
 * @returns {IteratorResult<any, any>} the last step
 */
function advance(generator, input) {
  let yields = 0
  try {
    let step = next.call(generator, input)
    while (step.value === undefined && !step.done) {
      const { left } = budget // which is the job's to write
      if (!(left > 1)) break
      budget.left = left - 1
      yields++
      step = next.call(generator)
    }
    return step
  } finally {
    received += yields
  }
}

/**
 * Resumes a job until its budget is used up, it waits, or it ends. The scheduler keeps the stack of calls itself,
 * so that a yield costs the same at any depth and depth is bounded by memory only.
 *
 * @param {Activation} a
 * @returns {number} POINT, BLOCKED, ALONG, DONE or FAILED; the last two with `a.outcome`
 */
function drive(a) {
  let { leaf, input, throwing, isNative } = a
  /** @type {Waitable | null} */
  let acted = null
  /** Points that were left when the job woke an equal and went on. */
  let rest = 0
  a.input = undefined
  a.throwing = a.kept = false
  if (leaf === UNSTARTED) {
    const outcome = begin(a)
    if (outcome !== POINT) return outcome
    leaf = a.leaf
    isNative = leaf.next === next
  } else if (leaf === null) {
    if (a.rare !== null && a.rare.along !== null) return a.rare.along.resume(throwing, input)
    a.outcome = input
    return throwing ? FAILED : DONE
  }
  for (;;) {
    let value
    let done
    try {
      const step = throwing ? throwInto(leaf, input) : isNative ? advance(leaf, input) : leaf.next(input)
      value = step.value
      done = step.done
    } catch (error) {
      const caller = a.callers?.pop()
      if (caller === undefined) {
        a.leaf = null
        a.outcome = error
        return FAILED
      }
      leaf = caller
      isNative = leaf.next === next
      input = error
      throwing = true
      continue
    }
    throwing = false
    if (!done) {
      received++
    } else {
      const caller = a.callers?.pop()
      if (caller === undefined) return end(a, value)
      leaf = caller
      isNative = leaf.next === next
      input = value
      continue
    }
    input = undefined
    acted = null
    const before = rest > 0 ? rest : budget.left
    rest = 0
    try {
      while (value instanceof Suspended) {
        ;(a.callers ??= []).push(leaf)
        leaf = value.generator
        value = value.take()
      }
      if (value === undefined) {
        // A preemption point, at which the budget has been used up, or of an iterator that is no generator.
      } else if (isDoomed(a)) {
        throw takeReason(a)
      } else if ((value === null || value[isWaitable] !== true) && isIterator(value)) {
        if (value === leaf) throw new TypeError(`${a.job.name} yielded the generator that is running`)
        ;(a.callers ??= []).push(leaf)
        leaf = value
        isNative = leaf.next === next
      } else {
        /** @type {Waitable} */
        const waitable = value !== null && value[isWaitable] === true ? value : waitableOf(a, value)
        refuseInSection(a, waitable)
        if (!waitable.enlist(a)) {
          a.leaf = leaf
          a.isNative = isNative
          a.waiting = waitable
          return BLOCKED
        }
        input = waitable.outcome
        throwing = waitable.phase === REJECTED
        acted = waitable
      }
    } catch (error) {
      input = error
      throwing = true
    }
    const { left } = budget
    if (typeof left === 'number' && left > 1) {
      budget.left = left - 1
    } else if (acted !== null && acted.goesOn && typeof before === 'number' && before > 1 && !a.dispatcher.cut) {
      rest = before - 1
      a.dispatcher.granted++
      budget.left = 1
    } else {
      budget.left = 0
      a.leaf = leaf
      a.isNative = isNative
      a.input = input
      a.throwing = throwing
      a.kept = acted !== null && acted.handsOver && !throwing
      return POINT
    }
  }
}

/** Calls a job's function. What it returns decides. @param {Activation} a @returns {number} */
function begin(a) {
  const { work, args } = a
  a.leaf = null
  try {
    const isFunction = typeof work === 'function'
    const run = isFunction ? work : work.run
    const self = isFunction ? undefined : work
    const isAsync = run[Symbol.toStringTag] === 'AsyncFunction'
    const result = isAsync ? Reflect.apply(run, self, [a.job, ...args])
      : args.length === 0 ? run.call(self) : Reflect.apply(run, self, args)
    if (typeof result !== 'object' && typeof result !== 'function' || result === null) return end(a, result)
    if (!(result instanceof Waitable) && !isJob(result)) {
      if (isIterator(result)) {
        a.leaf = result
        if (a.rare !== null && a.rare.along !== null) {
          // It has yielded before it turned out to be no async function.
          a.rare.along.resume(false, undefined)
          a.rare.along = null
        }
        return POINT
      }
      if (result[Symbol.asyncIterator] !== undefined && typeof result.next === 'function') {
        throw new TypeError(`${a.job.name} is an async generator, which cannot be driven; write a generator`)
      }
      if (isThenable(result)) {
        const along = rare(a).along ??= new Along(a)
        along.follow(result)
        return ALONG
      }
    }
    // It has yielded, although it is no async function: it goes on in microtasks.
    if (a.rare !== null && a.rare.along !== null && isThenable(result)) {
      a.rare.along.follow(result)
      return ALONG
    }
    return end(a, result)
  } catch (error) {
    a.outcome = error
    return FAILED
  }
}

/** A result that is itself to be waited for is, as `await` does it. @param {Activation} a @param {any} result */
function end(a, result) {
  a.leaf = null
  try {
    if (isThenable(result)) {
      const waitable = waitableOf(a, result)
      refuseInSection(a, waitable)
      if (!waitable.enlist(a)) {
        a.waiting = waitable
        return BLOCKED
      }
      a.outcome = waitable.outcome
      return waitable.phase === REJECTED ? FAILED : DONE
    }
  } catch (error) {
    a.outcome = error
    return FAILED
  }
  a.outcome = result
  return DONE
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

/** @typedef {{ type: string, time: number, job: Job | null, [more: string]: any }} TraceRecord one event of a schedule */

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
 * @property {(job: Job, ms: number) => void} [onStall] called when one budget outlasted the slice
 * @property {(error: unknown, job: Job | null) => void} [onError] called with the error of a job that nobody has
 *   asked for by the end of the round, and with errors of callbacks; default: as the platform reports
 */

const SLICE = 1
const ROUND = 5
/** What a budget costs, ms: see `tune`. */
const BUDGET_FLOOR = 0.006
const BUDGET_CEILING = 0.1
const FEWEST_POINTS = 8
const MOST_POINTS = 4096
/** Waits in the middle of time: a miss is only a miss after the deadline. */
const AFTERWARDS = 0.001
/** Turns of the microtask queue after which an async job that shows no sign is taken to wait for something else. */
const PATIENCE = 32

const DEFAULTS = Object.freeze({ deadline: Infinity, priority: 0, period: Infinity })

const SPENT = /** @type {Standing} */ ({ band: -2, job: { absoluteDeadline: Infinity, priority: -Infinity } })

/** @type {Activation | null} the job that this thread runs */
let dispatched = null
/** The iterators that jobs were made of. @type {WeakSet<object>} */
const spawned = new WeakSet()

/** What schedules. `Scheduler` is the handle that users hold. */
class Dispatcher {
  /** @param {Scheduler} scheduler @param {any} settings */
  constructor(scheduler, settings) {
    this.scheduler = scheduler
    /** @type {Host} */
    this.host = settings.host
    /** @type {Policy} */
    this.policy = settings.policy
    this.slice = settings.slice
    this.round = settings.round
    this.limit = settings.limit
    this.closed = settings.closed
    this.paused = settings.paused
    this.onMiss = settings.onMiss
    this.onOverrun = settings.onOverrun
    this.onStall = settings.onStall
    this.onError = settings.onError

    /** @type {Heap<Activation>} */
    this.ready = new Heap(a => this.keyOf(a.standing), (a, b) => this.compare(a, b))
    /** One for each kind of entry, in the order in which they are settled. */
    this.timelines = [timeline(), timeline(), timeline(), timeline()]
    /** No entry is due earlier. */
    this.due = Infinity
    /** While entries are settled: the key of the latest. */
    this.settled = -Infinity
    this.entries = 0
    /** Entries that keep the process alive. */
    this.refs = 0
    /** Wakers outside: while there are any, a closed scheduler is not deadlocked. */
    this.holds = 0

    /** The job that holds the processor, across budgets and rounds. @type {Activation | null} */
    this.running = null
    /** The job whose code runs right now. @type {Activation | null} */
    this.current = null
    /** Whether anything happened that may change who runs. */
    this.changed = false
    /** Whether the present budget was cut short; it teaches nothing about the price of points. */
    this.cut = false
    /** Points of the present budget, and ms that the last one took. */
    this.granted = 0
    this.elapsed = 0
    /** @type {Gate[]} the ceiling stack */
    this.gates = []
    this.rotation = 0
    /** Stamps of continuations, in order, and ahead of all equals that are none. */
    this.continuation = Number.MIN_SAFE_INTEGER

    this.inRound = false
    this.posted = false
    this.turn = this.turnOn(this.host)
    /** @type {(() => void) | null} */
    this.disarm = null
    this.armedFor = Infinity
    this.armedRef = false

    /** The latest reading of the clock. */
    this.time = -Infinity
    /** From when time is charged to the running job. */
    this.mark = 0
    this.roundBegan = 0
    this.roundEnds = 0
    this.busyBefore = 0
    /** Whether a job ran in this round. */
    this.ran = false
    /** Whether the present deadlock has been reported. */
    this.deadlocked = false
    /** The smallest step of the clock seen. */
    this.resolution = Infinity
    /** ms that a budget may cost at most */
    this.price = Math.min(this.slice / 10, this.round / 10, BUDGET_CEILING)

    /** Only a closed scheduler keeps account of who waits. @type {Set<Job> | null} */
    this.waiters = settings.closed ? new Set() : null

    /** Jobs not yet ended. */
    this.live = 0
    /** Whether code of users has run since the latest reading of the clock. */
    this.stale = false
    /** Whether the policy is code of users, too. */
    this.isForeign = !POLICIES.has(this.policy)
    /** @type {object[]} */
    this.shapes = []
    /** @type {Activation[]} that failed in this round */
    this.failures = []
    /** @type {{ resolve: () => void, reject: (error: unknown) => void }[]} */
    this.idlers = []
    /** @type {((record: TraceRecord) => void)[] | null} */
    this.observers = null
    this.stats = {
      jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0,
      misses: 0, overruns: 0, stalls: 0, longestBudget: 0, longestRound: 0
    }
  }

  /** @returns {number} the clock, which never runs backwards here */
  read() {
    const time = this.host.now()
    this.stale = false
    return this.time = time > this.time ? time : this.time
  }

  // Order

  /** @param {Standing} standing */
  keyOf(standing) {
    if (standing.band !== 0) return standing.band > 0 ? -Infinity : Infinity
    return this.policy.key === undefined ? 0 : this.policy.key(standing.job)
  }

  /** @param {Standing} a @param {Standing} b */
  compareStandings(a, b) {
    if (this.isForeign) return b.band - a.band || this.policy.compare(a.job, b.job)
    return b.band - a.band || this.policy.compare(a.ranked ?? a.job, b.ranked ?? b.job)
  }

  /** @param {Activation} a @param {Activation} b @returns {number} negative when `a` is more eligible; never 0 */
  compare(a, b) {
    return this.compareStandings(a.standing, b.standing) || a.stamp - b.stamp || a.release - b.release || a.id - b.id
  }

  // Releases

  /** @param {any} work @param {any} options @param {any[]} args @returns {Job} */
  spawn(work, options, args) {
    let leaf
    if (typeof work === 'function' || work instanceof Task) {
      const run = typeof work === 'function' ? work : callable('work.run', work.run)
      refuseAsyncGenerator('work', run, work)
      leaf = UNSTARTED
    } else if (isIterator(work) && !isJob(work)) {
      if (spawned.has(work)) throw new TypeError('work is driven by another job already')
      leaf = work
    } else {
      throw wrongType('work', 'a Task, a generator or a function', work)
    }
    if (leaf === work) spawned.add(work)
    if (options === undefined && !(work instanceof Task)) {
      const a = new Activation(this, this.stats.jobs + 1, work, leaf, args.length === 0 ? NO_ARGUMENTS : args)
      a.limit = this.limit
      a.release = this.read()
      if (this.policy.priority !== undefined) a.priority = this.policy.priority(DEFAULTS)
      this.admit(a)
      this.arrive(a)
      return a.job
    }
    return this.spawnWith(work, leaf, options === undefined ? {} : options, args).job
  }

  /** @param {any} work @param {any} leaf @param {any} options @param {any[]} args @returns {Activation} */
  spawnWith(work, leaf, options, args) {
    const { name, release, signal } = record('options', options)
    if (name !== undefined && typeof name !== 'string') throw wrongType('name', 'a string', name)
    if (release !== undefined) finite('release', release)
    if (signal !== undefined) abortSignal(signal)
    const parameters = parametersOf(options, work instanceof Task ? work : undefined)
    const priority = this.policy.priority === undefined ? parameters.priority : this.policy.priority(parameters)

    const a = new Activation(this, this.stats.jobs + 1, work, leaf, args)
    const now = this.read()
    a.release = release ?? now
    a.deadline = parameters.deadline
    a.priority = priority
    a.limit = parameters.limit ?? this.limit
    if (parameters.wcet < Infinity) rare(a).wcet = parameters.wcet
    if (parameters.period < Infinity) rare(a).period = parameters.period
    if (parameters.onMiss !== undefined) rare(a).onMiss = parameters.onMiss
    if (parameters.onOverrun !== undefined) rare(a).onOverrun = parameters.onOverrun
    if (name !== undefined) rare(a).name = name
    if (parameters.abort) rare(a).abort = true
    if (signal?.aborted) {
      rare(a).reason = signal.reason
      this.admit(a)
      this.finish(a, CANCELLED, signal.reason)
      return a
    }
    if (signal !== undefined) this.listen(a, signal)
    this.attach(a, parameters.uses, parameters.reservation)
    this.admit(a)
    if (a.release > now) {
      rare(a).pending = this.at(RELEASE, a.release, a, true)
      this.rest()
    } else {
      this.arrive(a)
    }
    return a
  }

  /** @param {Activation} a @param {Partner[] | null} uses @param {Partner | null} reservation */
  attach(a, uses, reservation) {
    if (uses === null && reservation === null) return
    const partners = reservation === null ? uses ?? [] : [...uses ?? [], reservation]
    let attached = 0
    try {
      for (; attached < partners.length; attached++) partners[attached].attach(a.job, this.scheduler)
    } catch (error) {
      for (const partner of partners.slice(0, attached)) partner.detach(a.job)
      a.rare?.unlisten?.()
      throw error
    }
    rare(a).uses = uses
    rare(a).server = reservation
    a.standing = this.standingOf(a)
  }

  /** @param {Activation} a @param {AbortSignal} signal */
  listen(a, signal) {
    const onAbort = () => { this.cancel(a, signal.reason) }
    signal.addEventListener('abort', onAbort)
    rare(a).unlisten = () => signal.removeEventListener('abort', onAbort)
  }

  /** @param {Activation} a */
  admit(a) {
    this.stats.jobs++
    this.live++
  }

  /** A release is due. @param {Activation} a */
  arrive(a) {
    if (a.deadline < Infinity) this.expectMiss(a)
    a.state = READY
    if (this.observers !== null) this.emit('release', a)
    this.enqueue(a)
    if (this.running !== null && this.compare(a, this.running) < 0) this.interrupt()
    else if (!this.inRound) this.rest()
  }

  /** @param {Activation} a */
  expectMiss(a) {
    a.miss = this.at(MISS, a.absoluteDeadline, a, a.rare !== null && a.rare.abort)
  }

  /** Makes a job ready, behind the equals that have waited since the last rotation. @param {Activation} a */
  enqueue(a) {
    if (a.rare !== null && a.rare.server?.ready !== undefined) {
      a.rare.server.ready(a.job, this.time)
      a.standing = this.standingOf(a)
    }
    if (a.standing === SPENT) {
      a.state = DEPLETED
      if (this.observers !== null) this.emit('deplete', a)
      return
    }
    a.stamp = this.rotation
    this.ready.push(a)
  }

  /** Has the running job come back at its next point, because somebody else may be more eligible. */
  interrupt() {
    this.changed = true
    if (this.current === null) return
    this.cut = true
    budget.left = 0
  }

  /** Has the running job come back at its next point, because it has woken its equal. */
  shorten() {
    this.changed = true
    if (this.current === null) return
    const { left } = budget // which is the job's to write
    // As if no more had been granted: what the budget costs still tells the price of a point.
    if (typeof left === 'number' && left > 1) this.granted -= left - 1
    budget.left = 0
  }

  /** @param {Activation} a @param {Waitable} waitable */
  wake(a, waitable) {
    a.waiting = null
    a.input = waitable.outcome
    a.throwing = waitable.phase === REJECTED
    a.kept = waitable.handsOver && !a.throwing
    this.unblock(a)
  }

  /** @param {Activation} a */
  unblock(a) {
    if (a.pace !== null) a.pace.turn = a.cost
    this.waiters?.delete(a.job)
    if (!this.inRound || this.observers !== null) this.read()
    a.state = READY
    if (this.observers !== null) this.emit('wake', a)
    this.enqueue(a)
    const { running } = this
    if (running !== null && a.state === READY) {
      const order = this.compareStandings(a.standing, running.standing)
      // A woken equal is handed over to; rotation at the end of slices alone would make choices unfair.
      if (order === 0) {
        this.rotate(running)
        this.shorten()
      } else if (!(order > 0)) {
        this.interrupt()
      }
    }
    if (!this.inRound) this.rest()
  }

  /** @param {Activation} a the running job */
  rotate(a) {
    a.stamp = ++this.rotation
    if (a.pace !== null) a.pace.turn = a.cost
  }

  // Re-keying

  /** @param {Activation} a @param {number} deadline */
  setDeadline(a, deadline) {
    if (a.state >= DONE) return
    this.rekey(a, () => { a.deadline = deadline })
    if (a.state === PENDING) return
    if (a.miss !== null) this.removeEntry(a.miss)
    a.miss = null
    if (!a.missed && deadline < Infinity) this.expectMiss(a)
    this.rest()
  }

  /** @param {Activation} a @param {number} release */
  renew(a, release) {
    // The period that ends here may have been missed; it is noticed with the other misses of the next reading.
    if (a.miss !== null && this.read() > a.absoluteDeadline) a.miss = null
    this.rekey(a, () => { a.release = release })
    a.missed = false
    rare(a).overran = false
    rare(a).costBefore = a.cost
    this.setDeadline(a, a.deadline)
  }

  /** @param {Activation} a @param {number} priority */
  setPriority(a, priority) {
    if (a.state < DONE) this.rekey(a, () => { a.priority = priority })
  }

  /** Changes what a job is ranked by. @param {Activation} a @param {() => void} change */
  rekey(a, change) {
    if (a.state === PENDING) {
      change()
      if (a.rare !== null) a.rare.rank = null
      a.standing = this.standingOf(a)
      // The level has changed, by which resources compute their ceilings.
      for (const resource of a.rare?.uses ?? []) {
        resource.detach(a.job)
        resource.attach(a.job, this.scheduler)
      }
      return
    }
    const circumstances = rare(a)
    circumstances.level ??= a.level // fixed at release
    if (a.state === READY) this.ready.remove(a)
    change()
    circumstances.rank = null
    a.standing = this.standingOf(a)
    this.place(a)
  }

  /**
   * Finds a job's standing anew. A change goes on to whoever it waits for.
   *
   * @param {Activation} a
   */
  refresh(a) {
    if (a.state >= DONE) return
    const standing = this.standingOf(a)
    if (a.standing === standing) return
    if (a.state === READY) this.ready.remove(a)
    a.standing = standing
    this.place(a)
  }

  /** Puts a job where its standing belongs; a ready one is in no queue. @param {Activation} a */
  place(a) {
    if (a.state === READY) {
      if (a.standing === SPENT) {
        a.state = DEPLETED
        if (this.observers !== null) this.emit('deplete', a)
        return
      }
      this.ready.push(a)
      if (this.running !== null && this.compare(a, this.running) < 0) this.interrupt()
    } else if (a.state === DEPLETED && a.standing !== SPENT) {
      this.unblock(a)
    } else if (a.state === RUNNING) {
      if (a.standing === SPENT) this.interrupt()
      else this.reconsider()
    } else if (a.waiting !== null && !rare(a).refreshing) {
      // Several choices may wait for each other's owners: a circle, but no deadlock.
      rare(a).refreshing = true
      a.waiting.refresh()
      rare(a).refreshing = false
    }
  }

  /** The better of its own, or its reservation's, and that of the best job in any queue it owns. @param {Activation} a */
  standingOf(a) {
    const { rare } = a
    if (rare === null) return a
    /** @type {Standing} */
    let best = rare.server === null ? a : rare.server.standing?.(a.job) ?? SPENT
    for (const { first } of rare.owned) {
      if (first === null || first.activation === null) continue
      if (this.compareStandings(first.standing, best) < 0) best = first.standing
    }
    // Depletion inside a critical section lets the section finish.
    return best === SPENT && rare.gates > 0 ? a.standing : best
  }

  // Cancelling

  /** @param {Activation} a @param {unknown} reason @returns {boolean} */
  cancel(a, reason) {
    const circumstances = rare(a)
    if (a.state >= DONE || circumstances.reason !== NOT_CANCELLED) return false
    circumstances.reason = reason
    this.read()
    if (a.state === PENDING) {
      if (circumstances.pending !== null) this.removeEntry(circumstances.pending)
      this.finish(a, CANCELLED, reason)
      return true
    }
    // It leaves its reservation, or its `finally` may never run.
    if (circumstances.server !== null) {
      circumstances.server.detach(a.job)
      circumstances.server = null
      this.refresh(a)
    }
    if (a.state === WAITING) {
      if (circumstances.along !== null) {
        this.holds--
        this.finish(a, CANCELLED, reason)
        return true
      }
      const waitable = /** @type {Waitable} */ (a.waiting)
      a.waiting = null
      waitable.leave(a)
      this.strike(a)
      this.unblock(a)
    } else if (a.state === READY && a.started === undefined) {
      this.ready.remove(a)
      this.finish(a, CANCELLED, reason)
    } else if (this.current === a) {
      this.interrupt()
    } else {
      this.strike(a)
    }
    return true
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
    const { rare } = a
    if (rare !== null && rare.reason !== NOT_CANCELLED) {
      // Asked to stop and ended without having been told, or by passing on what it was told.
      if (state === DONE && !rare.delivered) outcome = rare.reason
      if (Object.is(outcome, rare.reason) && !(state === DONE && rare.delivered)) state = CANCELLED
    }
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
    if (a.miss !== null && !(isLate && this.inRound)) this.removeEntry(a.miss)
    a.miss = null
    if (this.observers !== null) {
      this.emit(state === DONE ? 'finish' : state === FAILED ? 'fail' : 'cancel', a,
        state === DONE ? undefined : { error: outcome })
    }
    if (rare !== null) this.tidy(a, rare)
    if (a.deferred !== null) settlePromise(a, a.deferred)
    if (state === FAILED && !a.handled) this.failures.push(a)
    if (this.inRound) return
    if (isLate) this.miss(a, null)
    this.reportFailures()
    this.answerIdlers()
    this.rest()
  }

  /** @param {Activation} a @param {Circumstances} rare */
  tidy(a, rare) {
    if (rare.along !== null && rare.along.promise !== null) rare.along.resume(a.state !== DONE, a.outcome)
    rare.pending = null
    if (rare.unlisten !== null) this.call(rare.unlisten)
    rare.unlisten = null
    if (rare.gates > 0) {
      this.gates = this.gates.filter(gate => gate.activation !== a)
      this.raiseCeilings()
    }
    if (rare.server !== null) rare.server.detach(a.job)
    if (rare.uses !== null) for (const resource of rare.uses) resource.detach(a.job)
    rare.server = rare.uses = null
    for (const queue of rare.owned.slice()) if (queue !== rare.joiners) queue.orphan()
    const { joiners } = rare
    if (joiners !== null) {
      for (let node = joiners.shift(); node !== null; node = joiners.shift()) {
        if (a.state === DONE) node.waitable.wake(a.outcome)
        else node.waitable.fail(a.outcome)
      }
      joiners.owner = null
    }
  }

  /** Reports, as the platform does rejections, the failures that nobody has asked about. */
  reportFailures() {
    if (this.failures.length === 0) return
    for (const a of this.failures.splice(0)) {
      if (a.handled) continue
      if (this.onError !== undefined || this.host.report !== undefined) this.report(a.outcome, a.job)
      else basePromise(a)
    }
  }

  /** @param {unknown} error @param {Job | null} job */
  report(error, job) {
    try {
      if (this.onError !== undefined) return void this.onError(error, job)
    } catch (another) {
      error = another
    }
    try {
      (this.host.report ?? reportToPlatform)(error)
    } catch (another) {
      reportToPlatform(another)
    }
  }

  /** @param {((...args: any[]) => void) | undefined} handler @param {any[]} args */
  call(handler, ...args) {
    if (handler === undefined) return
    this.stale = true
    try {
      handler(...args)
    } catch (error) {
      this.report(error, null)
    }
  }

  // The timeline

  /** @param {number} kind @param {number} time @param {any} subject @param {boolean} ref @returns {Entry} */
  at(kind, time, subject, ref) {
    const entry = new Entry(this, time, this.entries++, kind, subject, ref)
    // What sets itself anew for a time that has been settled goes behind all that is due, to the next reading.
    if (time <= this.settled) entry.key = this.time
    this.timelines[kind].push(entry)
    if (ref) this.refs++
    if (entry.key < this.due) this.due = entry.key
    return entry
  }

  /** @param {Entry} entry @returns {boolean} whether it was still there */
  removeEntry(entry) {
    if (entry.index === OUTSIDE) return false
    this.timelines[entry.kind].remove(entry)
    if (entry.ref) this.refs--
    return true
  }

  /** What is due happens: replenishments, alarms and wakes, releases, misses. @param {number} time */
  settle(time) {
    if (time < this.due || this.paused) return
    for (let kind = REPLENISHMENT; kind <= MISS; kind++) this.settleKind(kind, time)
    this.due = Infinity
    for (const { first } of this.timelines) if (first !== null && first.key < this.due) this.due = first.key
  }

  /** @param {number} kind @param {number} time */
  settleKind(kind, time) {
    const line = this.timelines[kind]
    const limit = this.entries
    for (let entry = line.first; entry !== null && !this.paused; entry = line.first) {
      if (kind === MISS ? entry.key >= time : entry.key > time) break
      // What a callback adds is settled here too, but only while it advances.
      if (entry.order >= limit && (entry.key <= this.settled || entry.time < entry.key)) break
      this.settled = entry.key
      line.shift()
      if (entry.ref) this.refs--
      if (kind === RELEASE) this.arrive(entry.subject)
      else if (kind === MISS) this.miss(entry.subject, entry)
      else this.fire(kind, entry)
    }
    this.settled = -Infinity
  }

  /** @param {number} kind @param {Entry} entry */
  fire(kind, entry) {
    if (this.observers !== null) this.emit(kind === ALARM ? 'alarm' : 'replenish', null, { due: entry.time })
    this.call(entry.subject, this.time)
  }

  /** @param {Activation} a @param {Entry | null} entry null for that of a job that has ended */
  miss(a, entry) {
    if (a.miss === entry) {
      a.miss = null
      a.missed = true
    }
    this.stats.misses++
    if (this.observers !== null) this.emit('miss', a)
    this.call(a.rare?.onMiss, a.job)
    this.call(this.onMiss, a.job)
    if (a.rare === null || !a.rare.abort || a.state >= DONE) return
    this.cancel(a, new DeadlineError(`${a.job.name} missed its deadline, ${a.deadline} ms after its release`))
  }

  // Rounds

  /** Makes sure that the host calls again when there is something to do. */
  rest() {
    if (this.inRound || this.posted) return
    if (this.paused) return this.arm(Infinity)
    if (this.running !== null || this.ready.size > 0) {
      this.arm(Infinity)
      this.posted = true
      this.host.post(this.turn)
      return
    }
    const misses = this.timelines[MISS].first
    let next = misses === null ? Infinity : misses.key + AFTERWARDS
    for (let kind = REPLENISHMENT; kind < MISS; kind++) {
      const { first } = this.timelines[kind]
      if (first !== null && first.key < next) next = first.key
    }
    this.arm(next)
  }

  /** Has the host call at `time`, by one timer. @param {number} time */
  arm(time) {
    const ref = this.refs > 0
    if (time === this.armedFor && ref === this.armedRef) return
    this.disarm?.()
    this.disarm = null
    this.armedFor = time
    this.armedRef = ref
    if (time < Infinity) this.disarm = this.host.after(Math.max(0, time - this.read()), this.onTimer, { ref })
  }

  onTimer = () => {
    this.disarm = null
    this.armedFor = Infinity
    this.takeTurn()
  }

  /** What is posted to a host; void when the scheduler has moved to another. @param {Host} host */
  turnOn(host) {
    return () => {
      if (host !== this.host) return
      this.posted = false
      this.takeTurn()
    }
  }

  takeTurn() {
    if (this.inRound || this.paused) return
    this.inRound = true
    const time = this.mark = this.roundBegan = this.read()
    this.roundEnds = time + this.round
    this.busyBefore = this.stats.busy
    this.ran = false
    let isAsync = false
    try {
      this.settle(time)
      isAsync = this.work()
    } catch (error) {
      this.survive(error)
    }
    if (isAsync) this.accompany()
    else this.endRound()
  }

  /** The host or the policy threw: one round is lost, not the scheduler. @param {unknown} error */
  survive(error) {
    this.current = dispatched = null
    this.report(error, null)
  }

  /** Runs jobs until the round ends. @returns {boolean} whether an async job has been resumed, to be accompanied */
  work() {
    do {
      const a = this.paused ? null : this.pick()
      if (a === null) return false
      if (this.spend(a) === ALONG) return true
    } while (!this.isRoundOver())
    return false
  }

  isRoundOver() {
    return this.time >= this.roundEnds || this.paused || (this.host.inputPending?.() ?? false)
  }

  /**
   * The continuation of an async job runs in a microtask, when this stack is empty; so the round goes on in
   * microtasks too, right behind it, until it is a generator's turn.
   */
  async accompany() {
    try {
      do {
        const a = /** @type {Activation} */ (this.running)
        const along = /** @type {Along} */ (rare(a).along)
        for (let quiet = 0; along.ended === 0 && along.promise === null && quiet < PATIENCE; quiet++) {
          await undefined
          if (!along.passed) continue
          along.passed = false
          quiet = 0
        }
        this.current = dispatched = null
        const outcome = along.promise !== null ? POINT : along.ended !== 0 ? along.ended : along.free ? DONE : AWAY
        this.charge(a, outcome)
        this.account(a, outcome)
      } while (!this.isRoundOver() && this.work())
    } catch (error) {
      this.survive(error)
    }
    this.endRound()
  }

  endRound() {
    const { stats } = this
    const time = this.read()
    const length = time - this.roundBegan
    stats.overhead += length - (stats.busy - this.busyBefore)
    if (length > stats.longestRound) stats.longestRound = length
    if (this.ran) {
      stats.rounds++
      if (this.observers !== null) this.emit('round', null, { start: this.roundBegan })
    }
    this.inRound = false
    this.reportFailures()
    this.answerIdlers()
    this.rest()
  }

  /** Tells those who wait for idleness, or for what looks like it. */
  answerIdlers() {
    if (this.live === 0) {
      this.keepShapes()
      for (const { resolve } of this.idlers.splice(0)) resolve()
      return
    }
    if (!this.closed) return
    if (!this.isDeadlocked()) {
      this.deadlocked = false
      return
    }
    const jobs = [.../** @type {Set<Job>} */ (this.waiters)]
    const error = new DeadlockError(`deadlock: nothing can wake ${jobs.map(job => job.name).join(', ')}`, jobs)
    const idlers = this.idlers.splice(0)
    if (!this.deadlocked && (this.onError !== undefined || idlers.length === 0)) this.report(error, null)
    this.deadlocked = true
    for (const { reject } of idlers) reject(error)
  }

  /**
   * V8 throws away the code compiled for a shape when a collection finds no object of it, as it does between bursts of
   * jobs; so one of each is kept. Made anew each time, since shapes change with what their fields have held.
   */
  keepShapes() {
    this.shapes = [
      new Activation(this, 0, undefined, null, NO_ARGUMENTS), new Pace(), new Circumstances(),
      new Entry(this, 0, 0, MISS, null, false)
    ]
  }

  isDeadlocked() {
    return this.running === null && this.ready.size === 0 && this.holds === 0 && this.refs === 0 &&
      this.timelines[REPLENISHMENT].size + this.timelines[ALARM].size === 0
  }

  // Dispatching

  /**
   * The one rule for who runs: the most eligible job, if its level passes the system ceiling or it holds the top of
   * it; otherwise the holder of the top, never a third (Baker 1991).
   *
   * @returns {Activation | null}
   */
  pick() {
    this.changed = false
    let { running } = this
    if (running !== null && running.standing === SPENT) {
      running.state = DEPLETED
      if (this.observers !== null) this.emit('deplete', running)
      running = this.running = null
    }
    const best = this.ready.first
    let next = best === null || (running !== null && this.compare(running, best) < 0) ? running : best
    if (next !== null && this.gates.length > 0) {
      const top = this.gates[this.gates.length - 1]
      if (next !== top.activation && !(next.level > top.ceiling)) next = top.activation
    }
    if (next === null) return null
    // What callbacks took is charged to nobody. To read the clock for every switch would cost more than the switch does.
    this.mark = this.stale || this.isForeign || this.observers !== null ? this.read() : this.time
    if (next !== running) this.dispatch(next, running)
    return next
  }

  /** @param {Activation} next @param {Activation | null} last */
  dispatch(next, last) {
    this.ready.remove(next)
    if (last !== null) {
      last.preemptions++
      if (last.pace === null || last.pace.turn !== last.cost) this.stats.slices++
      last.state = READY
      this.ready.push(last)
      if (this.observers !== null) this.emit('preempt', last, { by: next.job })
    }
    next.state = RUNNING
    this.running = next
    const type = next.started === undefined ? 'start' : 'resume'
    if (next.started === undefined) next.started = this.mark
    if (this.observers !== null) this.emit(type, next)
  }

  /** Resumes a job, budget after budget, until there is something to decide. @param {Activation} a @returns {number} */
  spend(a) {
    this.ran = true
    for (;;) {
      this.granted = budget.left = a.limit !== AUTO ? a.limit : a.pace === null ? 1 : a.pace.points
      this.cut = false
      this.current = dispatched = a
      const outcome = drive(a)
      if (outcome === ALONG) return outcome
      this.current = dispatched = null
      if (this.charge(a, outcome)) continue
      const next = this.relay(a, outcome)
      if (next === null) {
        this.account(a, outcome)
        return outcome
      }
      a = next
    }
  }

  /**
   * The short way through `account`, `pick` and `dispatch`, for a job that waits or has come to a point when nothing is
   * due, nobody observes and no section is open. It does what they would do.
   *
   * @param {Activation} a @param {number} outcome
   * @returns {Activation | null} who is to be resumed; null when the long way is to be taken
   */
  relay(a, outcome) {
    const { rare } = a
    const best = this.ready.first
    if (outcome !== POINT && outcome !== BLOCKED || best === null || this.time >= this.due || this.observers !== null ||
      this.gates.length > 0 || this.waiters !== null || this.stale || this.isForeign || this.elapsed > this.slice ||
      a.cost - /** @type {Pace} */ (a.pace).turn >= this.slice || rare !== null && (rare.server !== null ||
      rare.reason !== NOT_CANCELLED || !rare.overran && a.cost - rare.costBefore > rare.wcet) ||
      this.isRoundOver()) return null
    this.changed = false
    if (outcome === BLOCKED) {
      this.running = null
      a.state = WAITING
      this.stats.slices++
    } else if (this.compare(a, best) < 0) {
      return a
    }
    this.dispatch(best, outcome === BLOCKED ? null : a)
    return best
  }

  /**
   * Reads the clock after a budget and charges the job.
   *
   * @param {Activation} a @param {number} outcome
   * @returns {boolean} whether the job just goes on: nothing has happened that there is to decide
   */
  charge(a, outcome) {
    const time = this.read()
    const elapsed = time - this.mark
    const { stats } = this
    this.mark = time
    this.elapsed = elapsed
    a.cost += elapsed
    stats.busy += elapsed
    stats.yields += received
    received = 0
    if (elapsed > stats.longestBudget) stats.longestBudget = elapsed
    if (elapsed > 0 && elapsed < this.resolution) this.resolution = elapsed
    if (a.rare !== null && a.rare.server !== null) a.rare.server.charge?.(a.job, elapsed, time, a.standing)
    if (outcome >= DONE) return false
    const pace = a.pace ??= new Pace()
    const { left } = budget // which is the job's to write
    const passed = typeof left === 'number' ? this.granted - Math.max(0, left) : NaN
    if (a.limit === AUTO && !this.cut && passed >= 0) this.tune(pace, passed || 1, elapsed)
    return outcome === POINT && !this.changed && time < this.due && a.cost - pace.turn < this.slice &&
      time < this.roundEnds && elapsed <= this.slice && !this.paused &&
      (a.rare === null || (!isDoomed(a) && (a.rare.overran || a.cost - a.rare.costBefore <= a.rare.wcet)))
  }

  /**
   * Finds the points of an automatic budget: as many as cost BUDGET_FLOOR, so that points which suddenly become a
   * thousand times dearer stall the page for less than 10 ms; but at least FEWEST_POINTS, as far as those cost no more
   * than BUDGET_CEILING (or a tenth of the slice or round), so that reading the clock stays cheap beside dear points.
   *
   * The price of a point is measured over several budgets, since one may be far shorter than a tick of the clock. A
   * budget that proves the old price wrong by more than the clock's resolution starts the measurement anew: budgets
   * fall at once. They grow at most by doubling.
   *
   * @param {Pace} pace @param {number} passed points @param {number} elapsed ms
   */
  tune(pace, passed, elapsed) {
    const expected = pace.time / pace.passed * passed
    if (elapsed - this.resolution > 2 * expected || elapsed + this.resolution < expected / 4) {
      pace.time = elapsed
      pace.passed = passed
    } else {
      pace.time += elapsed
      pace.passed += passed
    }
    // While the clock has not ticked, all the points so far may have cost a whole tick.
    const price = (pace.time > 0 ? pace.time : Math.min(1, this.resolution)) / pace.passed
    const worth = Math.min(this.price, Math.max(BUDGET_FLOOR, FEWEST_POINTS * price))
    const ideal = Math.floor(worth / price)
    pace.points = Math.max(1, Math.min(ideal, 2 * pace.points, MOST_POINTS))
    if (pace.time > 8 * worth && pace.time > 8 * this.resolution) {
      pace.time /= 2
      pace.passed /= 2
    }
  }

  /**
   * What a budget led to: first the job's own end or wait, then all that is due.
   *
   * @param {Activation} a @param {number} outcome
   */
  account(a, outcome) {
    const { time } = this
    if (outcome === BLOCKED || outcome === AWAY) a.rare?.server?.rest?.(a.job, time)
    if (outcome === BLOCKED) {
      this.running = null
      a.state = WAITING
      this.waiters?.add(a.job)
      if (this.observers !== null) this.emit('block', a, { on: subjectOf(/** @type {Waitable} */ (a.waiting)) })
      // Cancelled by the very act of waiting.
      if (isDoomed(a)) {
        const waitable = /** @type {Waitable} */ (a.waiting)
        a.waiting = null
        waitable.leave(a)
        this.strike(a)
        this.unblock(a)
      }
    } else if (outcome === AWAY && a.rare !== null && a.rare.gates > 0) {
      outcome = FAILED
      a.outcome = new TypeError(`${a.job.name} waits inside a critical section`)
    } else if (outcome === AWAY) {
      this.running = null
      a.state = WAITING
      this.holds++
      if (this.observers !== null) this.emit('block', a, { on: null })
    } else if (outcome === POINT) {
      this.strike(a)
    }
    if (outcome !== POINT) this.stats.slices++
    this.inspect(a)
    if (outcome >= DONE) this.finish(a, outcome, a.outcome)
    this.settle(time)
    if (this.running !== a || a.cost - (a.pace?.turn ?? 0) < this.slice) return
    this.rotate(a)
    this.stats.slices++
  }

  /** Notices stalls and overruns. @param {Activation} a */
  inspect(a) {
    const { elapsed } = this
    if (elapsed > this.slice) {
      this.stats.stalls++
      if (this.observers !== null) this.emit('stall', a, { ms: elapsed })
      this.call(this.onStall, a.job, elapsed)
    }
    if (a.rare !== null && !a.rare.overran && a.cost - a.rare.costBefore > a.rare.wcet) {
      a.rare.overran = true
      this.stats.overruns++
      if (this.observers !== null) this.emit('overrun', a)
      this.call(a.rare.onOverrun, a.job)
      this.call(this.onOverrun, a.job)
    }
  }

  // The async shim

  /** @param {any} options @returns {Promise<void>} */
  yieldAsync(options) {
    const { current } = this
    const isAsync = current !== null && current.leaf === null
    if (options === undefined && isAsync) return yieldAlong(/** @type {Activation} */ (current))
    const { deadline, priority, signal } = options === undefined ? {} : record('options', options)
    const now = this.read()
    const a = new Activation(this, this.stats.jobs + 1, 'continuation', null, NO_ARGUMENTS)
    a.limit = this.limit
    a.release = now
    if (current !== null) {
      a.deadline = current.absoluteDeadline - now
      a.priority = current.priority
    }
    if (deadline !== undefined) {
      a.deadline = positive('deadline', deadline)
    }
    if (priority !== undefined) a.priority = priorityOf(priority)
    if (signal !== undefined && abortSignal(signal).aborted) return Promise.reject(signal.reason)
    rare(a).name = 'continuation'
    const along = rare(a).along = new Along(a)
    along.free = true
    const promise = along.stop()
    if (signal !== undefined) this.listen(a, signal)
    this.admit(a)
    this.arrive(a)
    this.ready.remove(a)
    a.stamp = this.continuation++
    this.ready.push(a)
    return promise
  }

  /** Whether a continuation equal to `a` is ready, which takes turns with it. @param {Activation} a */
  hasRival(a) {
    const { first } = this.ready
    return first !== null && first.stamp < 0 && this.compareStandings(first.standing, a.standing) === 0
  }

  /** @param {any} fn @param {any} options @returns {Job} */
  postTask(fn, options) {
    refuseAsyncGenerator('fn', callable('fn', fn), fn)
    const { priority, signal, delay = 0, deadline } = record('options', options)
    if (signal !== undefined) abortSignal(signal)
    finite('delay', notNegative('delay', delay))
    const follows = priority === undefined && signal?.priority !== undefined
    const a = this.spawnWith(() => fn(), UNSTARTED, {
      name: fn.name || 'task',
      deadline,
      signal,
      priority: priorityOf(follows ? signal.priority : chosen(priority, undefined, 'user-visible')),
      release: delay > 0 ? this.read() + delay : undefined
    }, NO_ARGUMENTS)
    if (follows && a.state < DONE) {
      const onChange = () => this.setPriority(a, priorityOf(signal.priority))
      const { unlisten } = rare(a)
      signal.addEventListener('prioritychange', onChange)
      rare(a).unlisten = () => {
        unlisten?.()
        signal.removeEventListener('prioritychange', onChange)
      }
    }
    return a.job
  }

  // What the handle asks for

  /** @param {any} settings */
  configure(settings) {
    if (this.live > 0 || this.inRound) {
      throw new TypeError('configure() needs a scheduler without jobs, between rounds; wait for idle()')
    }
    this.arm(Infinity)
    const { host } = this
    Object.assign(this, settings)
    this.price = Math.min(this.slice / 10, this.round / 10, BUDGET_CEILING)
    this.isForeign = !POLICIES.has(this.policy)
    this.waiters = this.closed ? new Set() : null
    if (this.host !== host) {
      this.time = -Infinity
      this.resolution = Infinity
      this.posted = false
      this.turn = this.turnOn(this.host)
    }
    this.rest()
  }

  pause() {
    this.paused = true
    if (this.running !== null) this.interrupt()
    this.rest()
  }

  resume() {
    this.paused = false
    this.rest()
  }

  /** @returns {Promise<void>} */
  idle() {
    if (this.live === 0) return Promise.resolve()
    const promise = new Promise((/** @type {(value?: any) => void} */ resolve, reject) => {
      this.idlers.push({ resolve, reject })
    })
    if (!this.inRound) this.answerIdlers()
    return promise
  }

  /** @param {(record: TraceRecord) => void} fn */
  observe(fn) {
    this.observers = [...this.observers ?? [], fn]
    let observing = true
    return () => {
      if (!observing) return
      observing = false
      const { observers } = this
      const rest = /** @type {any[]} */ (observers).slice()
      rest.splice(rest.indexOf(fn), 1)
      this.observers = rest.length === 0 ? null : rest
    }
  }

  /** The ceiling of a gate is the highest from the bottom of the stack up to it. */
  raiseCeilings() {
    let ceiling = -Infinity
    for (const gate of this.gates) gate.ceiling = ceiling = Math.max(ceiling, gate.level)
  }

  /** Has the running job come back at its next point if it is no longer the most eligible. */
  reconsider() {
    const { first } = this.ready
    if (this.running !== null && first !== null && this.compare(first, this.running) < 0) this.interrupt()
  }

  /** @param {string} type @param {Activation | null} a @param {object} [more] */
  emit(type, a, more) {
    for (const observer of /** @type {any[]} */ (this.observers)) {
      try {
        observer({ type, time: this.time, job: a && a.job, ...more })
      } catch (error) {
        this.report(error, null)
      }
    }
  }
}

/** @type {(scheduler: Scheduler) => Dispatcher} */
let dispatcherOf

/** @param {any} options @param {any} base settings in force @returns {any} settings */
function settingsOf(options, base) {
  record('options', options)
  const or = (/** @type {string} */ name) => options[name] === undefined ? base[name] : options[name]
  for (const name of ['onMiss', 'onOverrun', 'onStall', 'onError']) {
    if (options[name] !== undefined) callable(name, options[name])
  }
  for (const name of ['paused', 'closed']) {
    if (typeof or(name) !== 'boolean') throw wrongType(name, 'a boolean', options[name])
  }
  const policy = record('policy', or('policy'))
  callable('policy.compare', policy.compare)
  callable('policy.level', policy.level)
  if (policy.key !== undefined) callable('policy.key', policy.key)
  if (policy.priority !== undefined) callable('policy.priority', policy.priority)
  const host = record('host', or('host'))
  for (const name of ['now', 'post', 'after']) callable(`host.${name}`, host[name])
  for (const name of ['inputPending', 'frame', 'hidden', 'eventTime', 'report']) {
    if (host[name] !== undefined) callable(`host.${name}`, host[name])
  }
  return {
    policy,
    host,
    slice: positive('slice', or('slice')),
    round: positive('round', or('round')),
    limit: options.budget === undefined ? base.limit : points('budget', options.budget),
    paused: or('paused'),
    closed: or('closed'),
    onMiss: or('onMiss'),
    onOverrun: or('onOverrun'),
    onStall: or('onStall'),
    onError: or('onError')
  }
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
      policy: edf, slice: SLICE, round: ROUND, limit: AUTO, paused: false, closed: false,
      get host() { return defaultHost() }
    }))
  }

  /**
   * Changes options while no job lives.
   *
   * @param {SchedulerOptions} options
   * @throws {TypeError | RangeError} naming the option; TypeError while a job lives
   */
  configure(options) {
    const settings = settingsOf(options, this.#dispatcher)
    this.#dispatcher.configure(settings)
  }

  /**
   * Releases a job.
   *
   * @param {Task | Iterator<any, any, any> | ((...args: any[]) => any)} work a task; a generator object; or a
   *   function, which is called with `args` when the job starts (an async function with the job before them). What it
   *   returns decides: an iterator is driven, a thenable awaited, anything else is the result.
   * @param {TaskOptions & JobOptions} [options] they come before those of the task
   * @param {...any} args
   * @returns {Job}
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

  get paused() { return this.#dispatcher.paused }
  /** @returns {Host} */
  get host() { return this.#dispatcher.host }
  /** @returns {Policy} */
  get policy() { return this.#dispatcher.policy }
  /** ms */
  get slice() { return this.#dispatcher.slice }
  /** ms */
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
    return this.#dispatcher.host.now()
  }

  /**
   * What has happened so far; times in ms. `busy` is what jobs were charged, `overhead` what rounds took beyond that,
   * `yields` how often a job came back, `slices` how often the processor changed hands or a slice began.
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
   * until the round ends. It goes before tasks of equal standing, until a slice is over, and inherits deadline and
   * priority of the running job where none are given. Shape and order of `scheduler.yield` (Prioritized Task Scheduling).
   *
   * @param {{ deadline?: number, priority?: number | TaskPriority, signal?: AbortSignal }} [options]
   * @returns {Promise<void>} rejected when the running job, or `signal`, is aborted
   * @throws {TypeError | RangeError} naming the option
   */
  yield(options) {
    return this.#dispatcher.yieldAsync(options)
  }

  /**
   * Runs `fn` as a job. Shape and order of `scheduler.postTask` (Prioritized Task Scheduling): by priority, then in
   * the order in which the delays end. Unlike there, wrong arguments throw at the call.
   *
   * @param {(() => any)} fn
   * @param {{ priority?: number | TaskPriority, signal?: AbortSignal, delay?: number, deadline?: number }} [options]
   *   `priority` comes before that of a TaskSignal, whose changes are followed; `delay` in ms
   * @returns {Job} thenable; rejected with the signal's reason when it is aborted before the task has run
   * @throws {TypeError | RangeError} naming the option
   */
  postTask(fn, options = {}) {
    return this.#dispatcher.postTask(fn, options)
  }
}

/** @typedef {'user-blocking' | 'user-visible' | 'background'} TaskPriority */
/**
 * What a reservation or a resource answers to.
 *
 * @typedef {object} Partner
 * @property {(job: Job, scheduler: Scheduler) => void} attach at the spawn; what it throws refuses the job
 * @property {(job: Job) => void} detach at the end, or when a reservation is left by a job that is cancelled
 * @property {(job: Job) => Standing | null} [standing] of a reservation: a new object whenever its keys have changed;
 *   null while it is depleted
 * @property {(job: Job, ms: number, time: number, standing: Standing) => void} [charge] of a reservation: after every
 *   budget, with the standing by which the job ran
 * @property {(job: Job, time: number) => void} [ready] the job has become ready: before its standing is asked for
 * @property {(job: Job, time: number) => void} [rest] the job waits
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
    const { dispatcher, rare } = this.activation
    if (dispatcher.gates[dispatcher.gates.length - 1] !== this) throw new Error('critical sections must nest')
    this.closed = true
    dispatcher.gates.pop()
    const circumstances = /** @type {Circumstances} */ (rare)
    circumstances.gates--
    if (circumstances.gates > 0) return
    dispatcher.refresh(this.activation)
    if (isDoomed(this.activation)) dispatcher.interrupt()
    else dispatcher.reconsider()
  }
}

/**
 * What alarms.mjs and sync.mjs build on; not for users.
 *
 * - `protocol` the property by which `reservation` and `uses` reach their objects (see Partner), and combinators the
 *   waitable of what is no waitable itself: there it is a function that makes one
 * - `Waitable` the base class of what jobs may wait for, and its protocol
 * - `Queue` those who wait, in order of standing; its owner inherits
 * - `here(options)` the scheduler that acts
 * - `at(scheduler, time, fn, options)` the timeline
 * - `gate(job, level)` opens a critical section
 * - `refresh(job)` after anything that `standing` answers has changed
 * - `ended(job, fn)` tells when a job has ended
 * - `renew(job, release)` the job of a loop has ended a period and waits for the next: its deadline counts from there
 * - `hold(scheduler)` somebody outside may still wake jobs; returns what ends it
 * - `rank(job)` a copy of what a job is ranked by, for standings
 * - `emit(scheduler, type, job, more)` writes into the trace
 */
export const seam = Object.freeze({
  protocol,
  Waitable,
  Queue,
  rank: rankOf,

  /** @param {{ scheduler?: Scheduler }} [options] @returns {Scheduler} */
  here(options) {
    const scheduler = options?.scheduler
    if (scheduler === undefined) return dispatched === null ? rt : dispatched.dispatcher.scheduler
    if (!(scheduler instanceof Scheduler)) throw wrongType('scheduler', 'a Scheduler', scheduler)
    return scheduler
  },

  /**
   * @param {Scheduler} scheduler @param {number} time @param {(time: number) => void} fn
   * @param {{ ref?: boolean, replenishment?: boolean }} [options]
   * @returns {{ readonly time: number, cancel(): boolean }}
   */
  at(scheduler, time, fn, { ref = true, replenishment = false } = {}) {
    const dispatcher = dispatcherOf(scheduler)
    const entry = dispatcher.at(replenishment ? REPLENISHMENT : ALARM, time, fn, ref)
    dispatcher.rest()
    return entry
  },

  /** @param {Job} job @param {number} level @returns {{ raise(level: number): void, close(): void }} */
  gate(job, level) {
    const a = activationOf(job)
    const gate = new Gate(a, level)
    rare(a).gates++
    a.dispatcher.gates.push(gate)
    a.dispatcher.raiseCeilings()
    return gate
  },

  /** @param {Job} job */
  refresh(job) {
    const a = activationOf(job)
    a.dispatcher.refresh(a)
    a.dispatcher.rest()
  },

  /** @param {Job} job @param {() => void} fn called when the job has ended; it counts as nobody who has asked */
  ended(job, fn) {
    if (new Join(activationOf(job)).enlist({ job: null, woken: fn })) fn()
  },

  /** @param {Job} job @param {number} release */
  renew(job, release) {
    const a = activationOf(job)
    a.dispatcher.renew(a, release)
  },

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

  /** @param {Scheduler} scheduler @param {string} type @param {Job | null} job @param {object} [more] */
  emit(scheduler, type, job, more) {
    const dispatcher = dispatcherOf(scheduler)
    if (dispatcher.observers !== null) dispatcher.emit(type, job && activationOf(job), more)
  }
})

// ------------------------------------------------------------------------------------------ 7 async shim

const PASSED = Promise.resolve()
const PRIORITIES = { 'user-blocking': 1, 'user-visible': 0, background: -1 }

/** A job whose code is async: it comes back by `job.yield()`, and is away while it awaits anything else. */
class Along {
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
    /** DONE or FAILED, once its promise has settled. */
    this.ended = 0
    /** A continuation of code that is no job: it ends when nothing more is heard of it. */
    this.free = false
  }

  /** @param {PromiseLike<any>} thenable */
  follow(thenable) {
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
    if (throwing) reject?.(input)
    else resolve?.(undefined)
    return ALONG
  }
}

/** @param {Activation} a @returns {Promise<void>} */
function yieldAlong(a) {
  const { dispatcher } = a
  const isRunning = dispatcher.current === a && a.leaf === null
  if (!isRunning && !a.rare?.along) {
    throw new TypeError('job.yield() is for async jobs; in a generator write `yield`')
  }
  const along = rare(a).along ??= new Along(a)
  if (a.state >= DONE) {
    return Promise.reject(a.state === CANCELLED ? a.outcome : new TypeError(`${a.job.name} has ended`))
  }
  if (isDoomed(a)) return Promise.reject(takeReason(a))
  if (along.promise !== null) return along.promise
  if (isRunning && budget.left > 1 && !(along.free && dispatcher.hasRival(a))) {
    budget.left--
    received++
    along.passed = true
    return PASSED
  }
  if (isRunning) received++
  if (along.free) a.stamp = dispatcher.continuation++
  const promise = along.stop()
  if (a.state === WAITING) {
    dispatcher.holds--
    dispatcher.unblock(a)
  }
  return promise
}

/** @param {unknown} value @returns {number} */
function priorityOf(value) {
  if (typeof value === 'number') return finite('priority', value)
  if (typeof value === 'string' && Object.hasOwn(PRIORITIES, value)) {
    return PRIORITIES[/** @type {TaskPriority} */ (value)]
  }
  throw wrongType('priority', "a finite number, 'user-blocking', 'user-visible' or 'background'", value)
}

/** The scheduler of this thread. */
export const rt = new Scheduler()

// ------------------------------------------------------------------------------------------- 8 preemptify

// Source text is read token by token, in one pass and without recursion: what encloses a token stands on a stack of
// frames, so that nesting is bounded by memory, and what may come next is one of the expectations below. Whether a
// slash divides, a brace opens a block, or a line ends a statement follows from them; nothing is guessed. The source
// comes from a function, so it is valid.

// What a token is.
const NAME = 1 // keywords too: many of them are names, depending on where they stand
const PRIVATE = 2
const LITERAL = 3 // a number or a regular expression
const STRING = 4
const TEMPLATE = 5 // up to a hole or to the end
const PUNCTUATOR = 6
const END = 7

const PUNCTUATORS = new Set(('{ } ( ) [ ] . ; , < > <= >= == != === !== + - * / % ** ++ -- << >> >>> & | ^ ! ~ && || ?? ' +
  '? ?. : = += -= *= /= %= **= <<= >>= >>>= &= |= ^= &&= ||= ??= => @').split(' '))

const isDigit = (/** @type {number} */ code) => code >= 48/*0*/ && code <= 57/*9*/
const isLineEnd = (/** @type {number} */ code) => code === 10 || code === 13 || code === 0x2028 || code === 0x2029
const isSpace = (/** @type {number} */ code) => code === 32 || (code >= 9 && code <= 13) || code === 160 ||
  (code >= 0x1680 && (code === 0x1680 || (code >= 0x2000 && code <= 0x200a) || code === 0x2028 || code === 0x2029 ||
    code === 0x202f || code === 0x205f || code === 0x3000 || code === 0xfeff))
const isNamePart = (/** @type {number} */ code) => (code >= 97/*a*/ && code <= 122/*z*/) || (code >= 65/*A*/ && code <= 90/*Z*/) ||
  isDigit(code) || code === 95/*_*/ || code === 36/*$*/ || code === 92/*\*/ || (code >= 128 && !isSpace(code))

class Tokens {
  /** @param {string} source @param {number} [at] */
  constructor(source, at = 0) {
    this.source = source
    this.type = 0
    this.value = ''
    this.start = at
    this.end = at
    /** Whether a line ended before it. */
    this.newline = true
    /** Where the token before it ended. */
    this.before = at
    this.escaped = false
  }

  /** @param {boolean} operand whether a slash begins a regular expression */
  next(operand) {
    const { source } = this
    this.before = this.end
    this.newline = this.end === 0
    this.escaped = false
    const at = this.start = this.skip()
    if (at >= source.length) {
      this.type = END
      this.value = ''
      this.end = at
      return
    }
    const code = source.charCodeAt(at)
    if (isDigit(code) || (code === 46/*.*/ && isDigit(source.charCodeAt(at + 1)))) return this.number(at)
    if (isNamePart(code)) return this.name(at, NAME)
    switch (code) {
      case 35/*#*/: return this.name(at + 1, PRIVATE)
      case 34/*"*/: case 39/*'*/: return this.string(at, code)
      case 96/*`*/: return this.template()
      case 47/*/*/: if (operand) return this.regularExpression(at)
    }
    let end = at + 1
    if (code === 46/*.*/) {
      if (source.startsWith('...', at)) end += 2
    } else {
      while (end < source.length && PUNCTUATORS.has(source.slice(at, end + 1))) end++
      // `a?.5:b` is a conditional
      if (end - at === 2 && code === 63/*?*/ && source.charCodeAt(at + 1) === 46 && isDigit(source.charCodeAt(end))) end--
    }
    this.finish(PUNCTUATOR, end)
  }

  /** @param {number} type @param {number} end */
  finish(type, end) {
    this.type = type
    this.end = end
    this.value = this.source.slice(this.start, end)
  }

  /** @returns {number} where the next token starts, past white space and comments */
  skip() {
    const { source } = this
    let at = this.end
    for (;;) {
      const code = source.charCodeAt(at)
      if (code === 32) {
        at++
      } else if (code === 47/*/*/ && source.charCodeAt(at + 1) === 47) {
        at = this.lineEnd(at)
      } else if (code === 47 && source.charCodeAt(at + 1) === 42/***/) {
        const end = source.indexOf('*/', at + 2) + 2
        for (; !this.newline && at < end; at++) this.newline = isLineEnd(source.charCodeAt(at))
        at = end
      } else if (isLineEnd(code)) {
        this.newline = true
        at++
      } else if (isSpace(code)) {
        at++
      } else if ((code === 60/*<*/ && source.startsWith('<!--', at)) ||
        (code === 45/*-*/ && this.newline && source.startsWith('-->', at))) {
        at = this.lineEnd(at) // of a script: HTML's comments (Annex B.1.1)
      } else {
        return at
      }
    }
  }

  /** @param {number} at @returns {number} */
  lineEnd(at) {
    while (at < this.source.length && !isLineEnd(this.source.charCodeAt(at))) at++
    return at
  }

  /** @param {number} at @param {number} type */
  name(at, type) {
    const { source } = this
    let code
    while (isNamePart(code = source.charCodeAt(at))) {
      at++
      if (code !== 92/*\*/) continue
      this.escaped = true
      if (source.charCodeAt(at + 1) === 123/*{*/) at = source.indexOf('}', at) + 1
    }
    this.finish(type, at)
    if (!this.escaped) return
    this.value = this.value.replace(/\\u(?:\{(\w+)\}|(\w{4}))/g, (_, braced, four) =>
      String.fromCodePoint(parseInt(braced ?? four, 16)))
  }

  /** @param {number} at */
  number(at) {
    const { source } = this
    const radix = source.charCodeAt(at + 1) | 32
    const isPrefixed = source.charCodeAt(at) === 48 && (radix === 120/*x*/ || radix === 111/*o*/ || radix === 98/*b*/)
    const start = at
    const digits = () => { while (isNamePart(source.charCodeAt(at))) at++ }
    const isExponent = () => at > start && (source.charCodeAt(at - 1) | 32) === 101/*e*/ &&
      (source.charCodeAt(at) === 43/*+*/ || source.charCodeAt(at) === 45/*-*/)
    digits()
    if (!isPrefixed) {
      // 017 is an octal integer, and 017.x its property; 09.5 is a decimal number.
      const isOctal = source.charCodeAt(start) === 48 && at - start > 1 &&
        [...source.slice(start + 1, at)].every(digit => digit >= '0' && digit <= '7')
      if (isExponent()) {
        at++
        digits()
      } else if (source.charCodeAt(at) === 46/*.*/ && !isOctal && !/[en]/i.test(source.slice(start, at))) {
        at++
        digits()
        if (isExponent()) {
          at++
          digits()
        }
      }
    }
    this.finish(LITERAL, at)
  }

  /** @param {number} at @param {number} quote */
  string(at, quote) {
    const { source } = this
    let code
    for (at++; (code = source.charCodeAt(at)) !== quote; at++) if (code === 92/*\*/) at++
    this.finish(STRING, at + 1)
  }

  /** From a backtick, or from the brace that closes a hole, to the next hole or to the end. */
  template() {
    const { source } = this
    let at = this.start + 1
    let code
    while ((code = source.charCodeAt(at)) !== 96/*`*/ && !(code === 36/*$*/ && source.charCodeAt(at + 1) === 123/*{*/)) {
      at += code === 92/*\*/ ? 2 : 1
    }
    this.type = TEMPLATE
    this.value = code === 96 ? '`' : '${'
    this.end = at + this.value.length
  }

  /** @param {number} at */
  regularExpression(at) {
    const { source } = this
    let inClass = false
    for (at++; ; at++) {
      const code = source.charCodeAt(at)
      if (code === 92/*\*/) at++
      else if (code === 91/*[*/) inClass = true
      else if (code === 93/*]*/) inClass = false
      else if (code === 47/*/*/ && !inClass) break
    }
    for (at++; isNamePart(source.charCodeAt(at));) at++
    this.finish(LITERAL, at)
  }
}

// What may come next.
const STATEMENT = 1
const OPERAND = 2
const OPERATOR = 3 // an operand has been read
const ENDED = 4 // a statement has ended, unless the next token is its else, while, catch or finally
const RESTRICTED = 5 // what follows return and yield on the same line, if anything
const JUMP = 6 // the label of break and continue
const HEAD = 7 // a parenthesis, after the keyword of a statement
const DO_END = 8 // the semicolon that do-while may have
const BINDING = 9 // a name to declare, or a pattern
const PROPERTY = 10 // a key, or the end of an object literal or a class body
const AFTER_KEY = 11
const MEMBER = 12 // a name after a dot
const AFTER_FUNCTION = 13 // name and parameters
const BODY = 14 // the brace of a function
const ARROW_BODY = 15
const AFTER_CLASS = 16 // name, heritage, body

// What encloses a token. Statements:
const TOP = 0
const BLOCK = 1
const SWITCH = 2
const CASE = 3
const IF = 4
const LOOP = 5
const DO = 6
const WITH = 7
const LABEL = 8
const TRY = 9
const EXPRESSION = 10 // and return, throw
const DECLARATION = 11
// Parts of expressions:
const GROUP = 12 // parentheses around an expression, or around an arrow function's parameters
const ARGUMENTS = 13
const PARAMETERS = 14
const CONDITION = 15 // of if, while, switch, with
const FOR_HEAD = 16
const CATCH_HEAD = 17
const BRACKETS = 18 // an array literal, a pattern, or a computed member
const COMPUTED_KEY = 19
const OBJECT = 20
const CLASS = 21
const FIELD = 22
const HOLE = 23 // of a template
const TERNARY = 24 // between ? and :
const FUNCTION = 25
const ARROW = 26
const AWAIT = 27
const HERITAGE = 28

// What declares a name.
const UNDECLARED = 0
const VAR = 1
const LEXICAL = 2
const PARAMETER = 3

const OPERATOR_WORDS = new Set(['in', 'instanceof'])
const COMPARISONS = new Set(['==', '!=', '===', '!==', '<=', '>='])
const MODIFIERS = new Set(['static', 'async', 'get', 'set'])

/** Names that are declared here, and those that are used here and declared elsewhere. */
class Scope {
  /** @param {Scope | null} parent @param {Routine} routine @param {boolean} isFunction */
  constructor(parent, routine, isFunction) {
    this.parent = parent
    this.routine = routine
    /** Where `var` declares. @type {Scope} */
    this.top = isFunction || parent === null ? this : parent.top
    /** @type {Set<string> | null} */
    this.names = null
    /** @type {Map<string, Mention[] | null> | null} */
    this.uses = null
    /** Parentheses: the names that are parameters if an arrow follows. @type {(string | Mention)[] | null} */
    this.candidates = null
  }

  /** @param {string} name */
  declare(name) {
    (this.names ??= new Set()).add(name)
  }

  /** @param {string} name @param {Mention | null} mention */
  use(name, mention) {
    const uses = this.uses ??= new Map()
    const mentions = uses.get(name)
    if (mentions) mention && mentions.push(mention)
    else if (mention !== null || mentions === undefined) uses.set(name, mention && [mention])
  }

  /** Hands what is not declared here to the scope around it. The smaller collection is moved: n log n in all. */
  close() {
    const { parent, names, uses } = this
    if (uses === null || parent === null) return
    if (names !== null) {
      for (const name of names) {
        for (const mention of uses.get(name) ?? []) mention.scope = this
        uses.delete(name)
      }
    }
    this.uses = null
    const [to, from] = parent.uses === null || parent.uses.size < uses.size ? [uses, parent.uses] : [parent.uses, uses]
    parent.uses = to
    if (from === null) return
    for (const [name, mentions] of from) {
      const present = to.get(name)
      if (!present) {
        if (present === undefined || mentions !== null) to.set(name, mentions)
      } else if (mentions !== null) {
        if (mentions.length > present.length) {
          mentions.push(...present)
          to.set(name, mentions)
        } else {
          present.push(...mentions)
        }
      }
    }
  }
}

/**
 * A use of a name that the rewriting cares for.
 *
 * @typedef {object} Mention
 * @property {string} name
 * @property {number} start
 * @property {number} end
 * @property {string} zone
 * @property {Routine} routine
 * @property {Scope | null} scope which declares it, if one inside the source does
 * @property {Call | null} call
 * @property {boolean} shorthand
 * @property {boolean} within whether a `with` may answer for it
 */

/**
 * A call of a name or of a member.
 *
 * @typedef {object} Call
 * @property {number} start of the chain
 * @property {number} end
 */

/** A function, or what has its own `this`: a field, a static block. */
class Routine {
  /** @param {Routine | null} outer @param {boolean} isArrow */
  constructor(outer, isArrow) {
    this.outer = outer
    this.isArrow = isArrow
    this.isAsync = false
    this.isGenerator = false
    /** Whose `this` it has. @type {Routine} */
    this.home = isArrow && outer !== null ? outer.home : this
  }
}

/** What encloses a token, and how far the present operand has come. */
class Frame {
  /** @param {number} kind @param {Frame | null} parent @param {Scope} scope @param {Routine} routine @param {string} zone */
  constructor(kind, parent, scope, routine, zone) {
    this.kind = kind
    this.parent = parent
    this.scope = scope
    this.routine = routine
    /** Empty where a yield of the function itself may stand, otherwise the name of what this is inside of. */
    this.zone = zone
    /** @type {Loop | null} */
    this.loop = parent === null ? null : parent.loop
    /** Inside the body of a `with`, where any name may be a property. */
    this.within = parent !== null && parent.within
    /** Inside a `try`. */
    this.guarded = parent !== null && parent.guarded
    /** What its names are: UNDECLARED, or declared by VAR, LEXICAL, PARAMETER. */
    this.declares = UNDECLARED
    /** The parentheses of which this is a pattern, if an arrow follows them. @type {Scope | null} */
    this.cover = null
    /** Where the next token begins an element, which may be a pattern. */
    this.fresh = true
    /** Where it began. */
    this.start = 0
    /** Which statement: `if`, `return`, ...; whether a function is a declaration. */
    this.word = ''
    /** A statement of a single token. */
    this.tokens = 0
    /** Whether all of the statement, so far, is one chain of members and calls. */
    this.isChain = true
    // the present operand
    this.chain = 0
    this.news = 0
    /** Whether it ends with a call. */
    this.called = false
    /** The name that it is, as long as it is no more. @type {Mention | string | null} */
    this.callee = null
    /** The member that it ends with. */
    this.member = ''
    this.dot = 0
    /** Whether that is a member of super. */
    this.isSuper = false
    this.superStart = -1
    /** What stands before it: return, yield, yield*, await. */
    this.lead = ''
    /** Where it has `?.`. @type {number[] | null} */
    this.optionals = null
    /** Its calls of watched names. @type {Call[] | null} */
    this.chainCalls = null
    /** @type {any} what the frame is about: a loop, a key, a call, an await */
    this.about = null
  }
}

/**
 * A loop of the function itself.
 *
 * @typedef {object} Loop
 * @property {'for' | 'in' | 'while' | 'do'} kind
 * @property {number} start
 * @property {number} end
 * @property {string[]} labels
 * @property {number} first where its first label, or else the loop, starts
 * @property {boolean} isPlain whether its point must stand in its body: something inside may yield, or keep a variable
 * @property {boolean} hasCalls
 * @property {boolean} within
 * @property {number} open
 * @property {number} close of its head
 * @property {number} init
 * @property {number} test end of the head's parts: their semicolons
 * @property {number} body
 * @property {number} bodyEnd
 * @property {boolean} isBlock
 * @property {boolean} isAwait
 * @property {number} of the position of `of`
 * @property {string} word
 * @property {{ start: number, end: number }[]} exits statements that leave it
 * @property {{ start: number, end: number }[]} again labels of `continue` that mean it
 */

/**
 * @typedef {object} Guard a statement that may be the last one
 * @property {number} start
 * @property {number} end
 * @property {boolean} isReturn
 * @property {number} open of the condition
 * @property {number} close
 * @property {number} branch
 * @property {number} returned where the return ends that is the last statement of the branch
 */

/** Reads the source of one function, and notes where it may yield and where it must. */
class Reading {
  /**
   * @param {string} source
   * @param {number} start what to expect: OPERAND for an expression, PROPERTY for a method
   * @param {(name: string) => boolean} watches whether every mention of a name is wanted
   * @param {(name: string) => boolean} watchesMember whether calls of members of that name are wanted
   */
  constructor(source, start, watches, watchesMember) {
    this.source = source
    this.tokens = new Tokens(source)
    this.watches = watches
    this.watchesMember = watchesMember

    // the function itself
    /** @type {Routine | null} */
    this.own = null
    this.isClass = false
    /** @type {any} the key and modifiers of a method */
    this.element = null
    this.parameters = 0
    this.parametersEnd = 0
    this.body = 0
    this.bodyEnd = 0
    this.hasBlock = true
    this.prologueEnd = 0
    this.inPrologue = false
    this.isStrict = false
    /** Whether the parameters are plain names. */
    this.isSimple = true
    /** @type {string[]} */
    this.parameterNames = []
    this.name = ''

    // what it does; for the function's own code only, unless said otherwise
    /** @type {Loop[]} */
    this.loops = []
    /** @type {Statement[]} */
    this.callStatements = []
    /** Where expression statements begin that stand in a list. @type {number[]} */
    this.listed = []
    /** @type {{ start: number, operand: number, end: number }[]} */
    this.awaits = []
    /** @type {Statement[]} */
    this.returns = []
    /** Calls of watched names, nested functions' too. @type {Call[]} */
    this.calls = []
    /** Words of an arrow function that mean what is around it. @type {{ start: number, end: number, word: string }[]} */
    this.lexical = []
    this.usesThis = false
    this.usesSuper = false
    /** Where calls of its members have their arguments. @type {number[]} */
    this.superCalls = []
    this.usesEval = false
    this.usesWith = false
    /**
     * The statements it begins with, as long as they are `if (...) return ...`, and one that is `return ... ? ... : ...`.
     *
     * @type {Guard[]}
     */
    this.guards = []
    this.mayGuard = true
    /** Where something stands that such a statement must not hold, or its condition. @type {number[]} */
    this.hazards = []
    /** @type {number[]} */
    this.assignments = []
    /** Elements of a class. @type {any[]} */
    this.elements = []
    /** Names written with escapes. @type {Set<string>} */
    this.escaped = new Set()

    // where the reading stands
    const outside = new Routine(null, false)
    this.top = new Scope(null, outside, true)
    this.frame = new Frame(start === PROPERTY ? OBJECT : TOP, null, this.top, outside, 'its head')
    this.bottom = this.frame
    this.expect = start
    this.hasEnded = false
    /** Whether the operand read last takes no operators: a bare yield, an arrow function with a block. */
    this.isClosed = false
    /** The name read last, as long as it may turn out to be a parameter. @type {Mention | string | null} */
    this.pendingName = null
    /** Parentheses read last, as long as an arrow may follow. @type {Frame | null} */
    this.pendingGroup = null
    /** Where a bare name starts that is the whole operand so far. */
    this.bare = -1
    this.star = -1
    /** Where an `async` stands whose parameter has just been read. */
    this.asyncParameter = -1
    /** Labels called `yield`. @type {{ start: number, end: number, routine: Routine }[]} */
    this.yieldLabels = []
    /** Variables called `yield`. @type {Mention[]} */
    this.yields = []
    // the token before
    this.last = ''
    this.lastType = 0
    this.lastStart = 0

    if (start === PROPERTY) this.frame.about = newElement(0)
    const { tokens } = this
    while (!this.hasEnded) {
      const { expect } = this
      tokens.next(this.isClosed || (expect !== OPERATOR && expect !== AFTER_KEY && expect !== MEMBER))
      if (tokens.escaped) this.escaped.add(tokens.value)
      while (!this.hasEnded && !this.step()) {
        if (tokens.type === END && this.frame.kind === TOP && this.expect === OPERATOR) this.hasEnded = true
      }
      this.last = tokens.value
      this.lastType = tokens.type
      this.lastStart = tokens.start
    }
  }

  /** @returns {boolean} whether the token is used up; otherwise it means something under the new expectation */
  step() {
    switch (this.expect) {
      case STATEMENT: return this.statement()
      case OPERAND: return this.operand()
      case OPERATOR: return this.operator()
      case ENDED: return this.afterStatement()
      case RESTRICTED: return this.restricted()
      case JUMP: return this.jump()
      case HEAD: return this.head()
      case DO_END: return this.doEnd()
      case BINDING: return this.binding()
      case PROPERTY: return this.property()
      case AFTER_KEY: return this.afterKey()
      case MEMBER: return this.member()
      case AFTER_FUNCTION: return this.afterFunction()
      case BODY: return this.functionBody()
      case ARROW_BODY: return this.arrowBody()
      default: return this.afterClass()
    }
  }

  /** @param {number} kind @returns {Frame} */
  push(kind) {
    const { frame } = this
    const inner = new Frame(kind, frame, frame.scope, frame.routine, frame.zone)
    inner.start = this.tokens.start
    return this.frame = inner
  }

  pop() {
    const { frame } = this
    const parent = /** @type {Frame} */ (frame.parent)
    if (frame.scope !== parent.scope) frame.scope.close()
    this.frame = parent
    return frame
  }

  /** @param {Frame} frame @param {boolean} isFunction */
  openScope(frame, isFunction) {
    frame.scope = new Scope(frame.scope, frame.routine, isFunction)
  }

  /** Whether a keyword stands here. @param {string} word */
  is(word) {
    return this.tokens.value === word && this.tokens.type !== STRING && !this.tokens.escaped
  }

  // -------------------------------------------------------------------------------------------- statements

  statement() {
    const { tokens, frame } = this
    const { type, value } = tokens
    if (frame.kind === LOOP || frame.kind === DO) {
      frame.about.body = tokens.start
      frame.about.isBlock = value === '{' && type === PUNCTUATOR
    }
    if (type !== STRING) this.inPrologue = false
    if (this.mayGuard && frame.zone === '' && this.own !== null) this.beginGuard()
    if (type === PUNCTUATOR) {
      if (value === '{') {
        if (frame.kind === SWITCH && frame.word === '') {
          frame.word = 'open'
          return true
        }
        this.openScope(this.push(BLOCK), false)
        return true
      }
      if (value === '}') return this.closeBlock()
      if (value === ';') {
        this.expect = ENDED
        return true
      }
    } else if (type === NAME && !tokens.escaped) {
      switch (value) {
        case 'if': return this.begin(IF, HEAD)
        case 'with':
          this.usesWith = true
          return this.begin(WITH, HEAD)
        case 'switch':
          this.begin(SWITCH, HEAD)
          this.openScope(this.frame, false)
          return true
        case 'try':
          this.begin(TRY, STATEMENT)
          this.frame.guarded = true
          return true
        case 'for': return this.beginLoop('for')
        case 'while': return this.beginLoop('while')
        case 'do': return this.beginLoop('do')
        case 'case':
        case 'default':
          this.push(CASE)
          this.isClosed = value === 'default'
          this.expect = this.isClosed ? OPERATOR : OPERAND
          return true
        case 'var':
        case 'const':
          this.hazard(tokens.start)
          this.begin(DECLARATION, BINDING)
          this.frame.declares = value === 'var' ? VAR : LEXICAL
          return true
        case 'function': return this.beginFunction('declaration', tokens.start)
        case 'class': return this.beginClass('declaration')
        case 'return': return this.begin(EXPRESSION, RESTRICTED)
        case 'throw': return this.begin(EXPRESSION, OPERAND)
        case 'break':
        case 'continue': return this.begin(EXPRESSION, JUMP)
        case 'debugger':
          this.isClosed = true
          return this.begin(EXPRESSION, OPERATOR)
      }
    }
    this.push(EXPRESSION)
    this.expect = OPERAND
    return false
  }

  /** The statements that the body begins with. */
  beginGuard() {
    const { tokens, frame, guards } = this
    const { value, start } = tokens
    if (frame.about === this.own && frame.kind === BLOCK) {
      if (this.inPrologue) return
      this.mayGuard = value === 'if' || value === 'return'
      if (this.mayGuard) guards.push({ start, end: 0, isReturn: value === 'return', open: 0, close: 0, branch: 0, returned: 0 })
      return
    }
    const guard = guards[guards.length - 1]
    if (guard === undefined || guard.isReturn) return
    if (frame.kind === IF && frame.word === '') guard.branch = start
    guard.returned = 0
  }

  /** @param {number} kind @param {number} expect */
  begin(kind, expect) {
    this.push(kind).word = kind === SWITCH || kind === IF || kind === TRY ? '' : this.tokens.value
    this.expect = expect
    return true
  }

  /** @param {string} word */
  beginLoop(word) {
    const { tokens } = this
    /** @type {string[]} */
    const labels = []
    let first = tokens.start
    for (let { frame } = this; frame.kind === LABEL; frame = /** @type {Frame} */ (frame.parent)) {
      labels.push(frame.word)
      first = frame.start
    }
    if (this.frame.loop !== null) this.frame.loop.isPlain = true
    this.hazard(tokens.start)
    const frame = this.push(word === 'do' ? DO : LOOP)
    frame.about = {
      word, labels, first, start: tokens.start, end: 0, isPlain: false, hasCalls: false, within: frame.within,
      isAwait: false, open: 0, semicolons: [], of: 0, close: 0, body: 0, bodyEnd: 0, isBlock: false, exits: [], again: [],
      isList: this.isList(frame), ofStart: 0, declares: false
    }
    frame.loop = frame.zone === '' ? frame.about : null
    if (word === 'for') this.openScope(frame, false)
    this.expect = word === 'do' ? STATEMENT : HEAD
    return true
  }

  /** @param {number} start */
  hazard(start) {
    if (this.mayGuard && this.frame.zone === '') this.hazards.push(start)
  }

  /** Whether a statement stands where declarations may. @param {Frame} frame */
  isList(frame) {
    let parent = /** @type {Frame} */ (frame.parent)
    return parent.kind === BLOCK || parent.kind === SWITCH
  }

  head() {
    const { tokens, frame } = this
    if (tokens.value === 'await') {
      frame.about.isAwait = true
      return true
    }
    if (tokens.value === '{') { // of a catch without a parameter
      this.expect = STATEMENT
      return false
    }
    if (frame.about !== null) frame.about.open = tokens.end
    const { kind } = frame
    const inner = this.push(kind === TRY ? CATCH_HEAD : kind === LOOP && frame.about.word === 'for' ? FOR_HEAD : CONDITION)
    if (kind === TRY) inner.declares = LEXICAL
    this.expect = kind === TRY ? BINDING : OPERAND
    return true
  }

  /** The statement before this token has ended, and perhaps those around it. */
  afterStatement() {
    const { tokens } = this
    for (;;) {
      const { frame } = this
      switch (frame.kind) {
        case BLOCK: case SWITCH: case TOP:
          if (this.mayGuard && frame.about === this.own && this.guards.length > 0) {
            this.guards[this.guards.length - 1].end = tokens.before
          }
          this.expect = STATEMENT
          return false
        case IF:
          if (frame.word === '' && this.is('else')) {
            if (frame.zone === '') this.hazards.push(tokens.start)
            frame.word = 'else'
            this.expect = STATEMENT
            return true
          }
          break
        case TRY: {
          const { scope } = /** @type {Frame} */ (frame.parent)
          if (frame.scope !== scope) {
            frame.scope.close()
            frame.scope = scope
          }
          if (this.is('catch')) {
            this.openScope(frame, false)
            this.expect = HEAD
            return true
          }
          if (this.is('finally')) {
            this.expect = STATEMENT
            return true
          }
          break
        }
        case DO:
          frame.about.bodyEnd = tokens.before
          this.expect = HEAD
          frame.word = 'while'
          return true
        case LOOP:
          frame.about.bodyEnd = tokens.before
          this.endLoop(tokens.before)
          break
      }
      this.pop()
    }
  }

  doEnd() {
    const { tokens } = this
    const hasSemicolon = tokens.value === ';'
    this.endLoop(hasSemicolon ? tokens.end : tokens.before)
    this.pop()
    this.expect = ENDED
    return hasSemicolon
  }

  /** @param {number} end */
  endLoop(end) {
    const { frame } = this
    frame.about.end = end
    if (frame.zone === '') this.loops.push(frame.about)
  }

  jump() {
    const { tokens, frame } = this
    this.expect = OPERATOR
    this.isClosed = true
    if (tokens.type !== NAME || tokens.newline) return false
    if (tokens.value === 'yield') this.yieldLabels.push({ start: tokens.start, end: tokens.end, routine: frame.routine })
    const { loop } = frame
    if (loop === null) return true
    for (let outer = frame; ; outer = /** @type {Frame} */ (outer.parent)) {
      if (outer.kind === LABEL && outer.word === tokens.value) {
        if (outer.loop !== loop) frame.about = loop // it leaves the innermost loop, or goes on with it
        break
      }
    }
    if (frame.word === 'continue' && loop.labels.includes(tokens.value)) {
      loop.again.push({ start: tokens.start, end: tokens.end })
      frame.about = null
    }
    return true
  }

  /** A statement that is an expression, or begins as one, has ended. @param {number} end */
  endStatement(end) {
    const { frame } = this
    if (frame.kind === FIELD) {
      this.pop()
      this.expect = PROPERTY
      this.frame.about = newElement(0)
      return
    }
    if (frame.kind !== EXPRESSION && frame.kind !== DECLARATION) {
      throw new SyntaxError(`cannot read the source at ${this.tokens.start}: ${this.tokens.value}`)
    }
    if (frame.kind === EXPRESSION) {
      if (this.inPrologue && frame.word === '' && frame.tokens === 2 && this.lastType === STRING) {
        if (frame.zone === '' && /** @type {Frame} */ (frame.parent).about === this.own) {
          this.prologueEnd = end
          const text = this.source.slice(frame.start + 1, frame.start + 11)
          if (text === 'use strict' && this.last.length === 12) this.isStrict = true
        }
      } else {
        this.inPrologue = false
      }
      if (frame.zone === '') this.noteStatement(frame, end)
    }
    this.pop()
    this.expect = ENDED
  }

  /** @param {Frame} frame @param {number} end */
  noteStatement(frame, end) {
    const { start, word, loop, guarded } = frame
    const isList = this.isList(frame)
    if (word === '') {
      if (isList) this.listed.push(start)
      if (!frame.isChain || !frame.called) return
      this.hazard(start)
      this.callStatements.push({ start, end, isList, within: frame.within, guarded })
      if (loop !== null) loop.isPlain = true
      return
    }
    if (this.mayGuard && word === 'return') {
      const { parent } = frame
      const outer = parent?.kind === BLOCK ? parent.parent : parent
      const guard = this.guards[this.guards.length - 1]
      if (outer?.kind === IF && outer.parent?.about === this.own && guard !== undefined) guard.returned = end
    }
    if (word === 'return') this.returns.push({ start, end: this.tokens.before, isList, within: frame.within, guarded })
    if (loop === null) return
    if (word === 'return' || word === 'throw' || frame.about !== null) loop.exits.push({ start, end })
  }

  // -------------------------------------------------------------------------------------------- expressions

  operand() {
    const { tokens, frame } = this
    const { type, value, start } = tokens
    frame.tokens++
    if (type === NAME) return this.wordOperand()
    if (type === PUNCTUATOR) {
      switch (value) {
        case '(': {
          this.beginOperand(start)
          frame.fresh = false
          const inner = this.push(GROUP)
          this.openScope(inner, false)
          inner.cover = inner.scope
          inner.scope.candidates = []
          inner.about = { calls: this.calls.length }
          return true
        }
        case '[':
        case '{': {
          this.beginOperand(start)
          const cover = frame.fresh ? frame.cover : null
          frame.fresh = false
          const inner = this.push(value === '[' ? BRACKETS : OBJECT)
          inner.cover = cover
          if (value === '{') {
            inner.about = newElement(0)
            this.expect = PROPERTY
          }
          return true
        }
        case ')': case ']': case '}': case ';':
          this.expect = OPERATOR
          frame.callee = null
          return false
        case ',':
          frame.fresh = true
          return true
        case '.': // new.target
          frame.news--
          this.lexicalWord(this.lastStart, 'new.target')
          this.expect = MEMBER
          return true
        case '...': return true
        default:
          if (this.mayGuard && (value === '++' || value === '--')) this.assignments.push(start)
          frame.fresh = false
          frame.isChain = false
          return true
      }
    }
    this.beginOperand(start)
    frame.fresh = false
    this.expect = OPERATOR
    if (type === TEMPLATE && value === '${') {
      this.push(HOLE)
      this.expect = OPERAND
    }
    return true
  }

  /** @param {number} start */
  beginOperand(start) {
    const { frame } = this
    if (frame.news === 0) frame.chain = start
    frame.called = false
    frame.callee = null
    frame.member = ''
    frame.optionals = null
    frame.chainCalls = null
    const { last, lastType, lastStart } = this
    frame.lead = lastType === NAME && (last === 'return' || last === 'yield' || last === 'await') ? last
      : lastStart === this.star ? 'yield*' : ''
    this.bare = -1
  }

  wordOperand() {
    const { tokens, frame } = this
    const { value, start, end } = tokens
    if (!tokens.escaped) {
      switch (value) {
        case 'function': return this.beginFunction('expression', start)
        case 'class': return this.beginClass('expression')
        case 'new':
          if (frame.news === 0) this.beginOperand(start)
          frame.news++
          frame.fresh = false
          if (frame.loop !== null) frame.loop.hasCalls = true
          return true
        case 'typeof': case 'void': case 'delete':
          frame.isChain = false
          frame.fresh = false
          return true
        case 'await':
          if (!frame.routine.isAsync) break
          this.hazard(start)
          frame.isChain = false
          frame.fresh = false
          if (frame.loop !== null) frame.loop.isPlain = true
          this.push(AWAIT).about = { start, operand: end, end: 0 }
          return true
        case 'yield':
          if (!frame.routine.isGenerator) break
          this.hazard(start)
          frame.isChain = false
          frame.fresh = false
          if (frame.loop !== null) frame.loop.isPlain = true
          this.expect = RESTRICTED
          return true
        case 'var':
        case 'const':
          if (frame.kind !== FOR_HEAD) break
          frame.declares = value === 'var' ? VAR : LEXICAL
          frame.about = true
          this.expect = BINDING
          return true
        case 'this': case 'super': case 'null': case 'true': case 'false': case 'import':
          this.beginOperand(start)
          frame.fresh = false
          if (value === 'this' || value === 'super') this.lexicalWord(start, value)
          frame.superStart = value === 'super' ? start : -1
          this.expect = OPERATOR
          return true
      }
    }
    this.beginOperand(start)
    this.bare = start
    this.expect = OPERATOR
    const mention = this.watches(value) ? this.mention() : null
    frame.callee = mention ?? value
    this.pendingName = mention ?? value
    return true
  }

  /** @param {string} [name] @param {number} [start] @param {number} [end] @returns {Mention} */
  mention(name = this.tokens.value, start = this.tokens.start, end = this.tokens.end) {
    const { frame } = this
    const mention = {
      name, start, end, zone: frame.zone, routine: frame.routine,
      scope: /** @type {Scope | null} */ (null), isCall: false, isShorthand: false, within: frame.within
    }
    if (name === 'yield') this.yields.push(mention)
    else if (name === 'arguments') this.hazard(start)
    return mention
  }

  /** @param {number} start @param {string} word */
  lexicalWord(start, word) {
    const { home } = this.frame.routine
    if (word !== 'this') this.hazard(start)
    if (home === this.top.routine) this.lexical.push({ start, end: this.tokens.end, word })
    if (home !== this.top.routine && home !== this.own) return
    if (word === 'this') this.usesThis = true
    if (word === 'super') this.usesSuper = true
  }

  /** The name read last is a use, unless it is a parameter of an arrow function. */
  useName() {
    const { pendingName, frame } = this
    if (pendingName === null) return
    this.pendingName = null
    if (frame.fresh && frame.cover !== null) {
      /** @type {any} */ (frame.cover.candidates).push(pendingName)
      frame.fresh = false
      return
    }
    frame.fresh = false
    use(frame.scope, pendingName)
  }

  /** The parentheses read last are no parameters. */
  useGroup() {
    const group = this.pendingGroup
    if (group === null) return
    this.pendingGroup = null
    for (const name of /** @type {any[]} */ (group.scope.candidates)) use(group.scope, name)
    group.scope.close()
  }

  operator() {
    const { tokens } = this
    const { type, value, start } = tokens
    let { frame } = this
    const { isClosed } = this
    this.isClosed = false
    const isBare = this.bare === this.lastStart && this.lastType === NAME
    if (isBare && !isClosed) {
      if (this.last === 'async' && type === NAME && !tokens.newline && !tokens.escaped &&
        !OPERATOR_WORDS.has(value) && !(value === 'of' && frame.kind === FOR_HEAD &&
          /** @type {Frame} */ (frame.parent).about.isAwait)) {
        return this.afterAsync()
      }
      if (this.last === 'let' && frame.tokens === 1 && (frame.kind === FOR_HEAD || (frame.kind === EXPRESSION &&
        this.isList(frame))) && this.tokenBindsAfterLet()) {
        this.pendingName = null
        this.hazard(start)
        if (frame.kind === EXPRESSION) frame.kind = DECLARATION
        else frame.about = true
        frame.declares = LEXICAL
        this.expect = BINDING
        return false
      }
    }
    frame.tokens++
    if (value === '=>' && type === PUNCTUATOR) return this.beginArrow()
    this.useName()
    this.useGroup()
    const isLabel = isBare && frame.tokens === 2
    if (!isClosed) {
      if (type === PUNCTUATOR) {
        switch (value) {
          case '?.':
            frame.optionals = [...frame.optionals ?? [], start]
          // falls through
          case '.':
            frame.dot = start
            frame.isSuper = this.last === 'super' && this.lastType === NAME && frame.superStart === this.lastStart
            this.expect = MEMBER
            return true
          case '(': return this.beginArguments()
          case '[':
            this.push(BRACKETS)
            frame.callee = null
            frame.member = ''
            frame.called = false
            this.expect = OPERAND
            return true
          case '++': case '--':
            if (tokens.newline) break
            if (this.mayGuard) this.assignments.push(start)
            frame.isChain = false
            return true
        }
      } else if (type === TEMPLATE && !(frame.kind === HOLE && value === '}')) {
        return this.beginTagged()
      }
    }
    while (frame.kind === AWAIT) frame = this.endAwait()
    this.endChain()
    if (type === PUNCTUATOR) {
      switch (value) {
        case ')': return this.closeParenthesis()
        case ']': return this.closeBracket()
        case '}':
          if (frame.kind === ARROW) this.endArrows()
          frame = this.frame
          if (frame.kind === HOLE) return this.closeHole()
          if (frame.kind === OBJECT) return this.closeObject()
          this.endStatement(tokens.before)
          return false
        case ';':
          this.endArrows()
          if (this.frame.kind === FOR_HEAD) {
            const { parent } = this.frame
            this.frame.declares = UNDECLARED
            parent?.about.semicolons.push(start)
            this.expect = OPERAND
            return true
          }
          this.endStatement(tokens.end)
          return true
        case ',':
          this.endArrows()
          frame = this.frame
          if (this.mayGuard && frame.kind === EXPRESSION) {
            const guard = this.guards[this.guards.length - 1]
            if (guard?.start === frame.start) guard.isReturn = false
          }
          frame.fresh = true
          frame.isChain = false
          this.expect = frame.kind === OBJECT ? PROPERTY : frame.declares !== UNDECLARED ? BINDING : OPERAND
          if (frame.kind === OBJECT) frame.about = newElement(0)
          return true
        case ':':
          if (isLabel && frame.kind === EXPRESSION && frame.word === '') return this.beginLabel()
          if (frame.kind === ARROW) this.endArrows()
          frame = this.pop()
          if (frame.kind === TERNARY && frame.about !== null) frame.about.close = start
          this.expect = frame.kind === CASE ? STATEMENT : OPERAND
          return true
        case '{':
          if (frame.kind === HERITAGE) {
            this.pop()
            this.expect = AFTER_CLASS
            return false
          }
          break
        case '?':
          if (isClosed) break
          frame.isChain = false
          this.noteTernary(frame, start)
          this.push(TERNARY).about = this.mayGuard && frame.kind === EXPRESSION ? this.guards[this.guards.length - 1] ?? null : null
          this.expect = OPERAND
          return true
        case '!': case '~': case '@': case '++': case '--': case '...':
          break
        default:
          if (isClosed) break
          if (this.mayGuard && value.endsWith('=') && !COMPARISONS.has(value)) this.assignments.push(start)
          frame.isChain = false
          frame.fresh = false
          this.expect = OPERAND
          return true
      }
    } else if (type === NAME && !tokens.escaped) {
      if (frame.kind === FOR_HEAD && (value === 'of' || value === 'in') && !isClosed) {
        frame.declares = UNDECLARED
        const { about } = /** @type {Frame} */ (frame.parent)
        about.ofStart = start
        about.of = tokens.end
        about.declares = frame.about === true
        this.expect = OPERAND
        return true
      }
      if (OPERATOR_WORDS.has(value) && !isClosed) {
        frame.isChain = false
        this.expect = OPERAND
        return true
      }
    }
    // Nothing that could go on: the statement ends with the token before.
    this.endArrows()
    if (this.frame.kind === TOP) {
      this.hasEnded = true
      return true
    }
    this.endStatement(tokens.before)
    return false
  }

  /** @param {Frame} frame @param {number} start */
  noteTernary(frame, start) {
    const guard = this.guards[this.guards.length - 1]
    if (!this.mayGuard || frame.kind !== EXPRESSION || guard?.start !== frame.start) return
    if (guard.open !== 0) guard.isReturn = false // chained: left as it is
    guard.open = start
  }

  tokenBindsAfterLet() {
    const { type, value, escaped } = this.tokens
    return type === NAME ? escaped || !OPERATOR_WORDS.has(value) : type === PUNCTUATOR && (value === '[' || value === '{')
  }

  /** `async` on the same line before a function or the parameter of an arrow function. */
  afterAsync() {
    const { tokens, frame } = this
    const asyncStart = this.lastStart
    this.pendingName = null
    if (!this.is('function')) {
      this.asyncParameter = asyncStart
      this.pendingName = this.watches(tokens.value) ? this.mention() : tokens.value
      return true
    }
    let word = 'expression'
    if (frame.kind === EXPRESSION && frame.tokens === 1 && frame.word === '') {
      this.pop()
      word = 'declaration'
    }
    this.beginFunction(word, asyncStart)
    this.frame.routine.isAsync = true
    return true
  }

  beginArguments() {
    const { tokens, frame } = this
    if (frame.loop !== null) frame.loop.hasCalls = true
    const isAsync = this.bare === this.lastStart && this.last === 'async' && !tokens.newline && frame.news === 0
    const call = this.noteCall()
    const inner = this.push(ARGUMENTS)
    inner.about = { call, calls: this.calls.length, frame, isAsync, asyncStart: this.lastStart }
    if (isAsync) {
      this.openScope(inner, false)
      inner.cover = inner.scope
      inner.scope.candidates = []
    }
    this.expect = OPERAND
    return true
  }

  beginTagged() {
    const { tokens, frame } = this
    if (frame.loop !== null) frame.loop.hasCalls = true
    const call = frame.news === 0 ? this.noteCall() : null
    if (call !== null) call.end = tokens.end
    if (tokens.value === '${') {
      this.push(HOLE).about = call
      this.expect = OPERAND
    }
    return true
  }

  /** @returns {any} the call that begins here, if it is one of those watched */
  noteCall() {
    const { tokens, frame } = this
    const { callee, member, news, dot, isSuper, optionals } = frame
    frame.callee = null
    frame.member = ''
    frame.isSuper = false
    if (isSuper && frame.routine.home === (this.own ?? this.top.routine).home) this.superCalls.push(tokens.start)
    if (news > 0) {
      frame.news--
      frame.called = false
      return null
    }
    frame.called = true
    if (callee === 'eval' && frame.zone === '') {
      this.hazard(tokens.start)
      this.usesEval = true
      if (frame.loop !== null) frame.loop.isPlain = true
    }
    const mention = typeof callee === 'object' ? callee : null
    if (mention !== null) mention.isCall = true
    else if (member === '' || !this.watchesMember(member)) return null
    const call = {
      mention, member, dot, isSuper, start: frame.chain, open: tokens.start, end: 0, zone: frame.zone, lead: frame.lead,
      guarded: frame.guarded, routine: frame.routine, optionals: optionals ?? [], chainEnd: 0, isRaw: false,
      isTagged: tokens.type === TEMPLATE
    }
    ;(frame.chainCalls ??= []).push(call)
    this.calls.push(call)
    this.hazard(call.start)
    if (frame.loop !== null) frame.loop.isPlain = true
    return call
  }

  /** What follows is no member, call or index: the operand is complete. */
  endChain() {
    const { frame } = this
    frame.news = 0
    if (frame.chainCalls === null) return
    for (const call of frame.chainCalls) call.chainEnd = this.tokens.before
    frame.chainCalls = null
  }

  /** @returns {Frame} */
  endAwait() {
    this.endChain()
    const frame = this.pop()
    const { about } = frame
    about.end = this.tokens.before
    if (frame.zone === '') this.awaits.push(about)
    this.afterOperand(about.start)
    return this.frame
  }

  /** What was read last is an operand, which is no name. @param {number} start */
  afterOperand(start) {
    const { frame } = this
    if (frame.news === 0) frame.chain = start
    frame.callee = null
    frame.member = ''
    frame.called = false
    this.expect = OPERATOR
  }

  member() {
    const { tokens, frame } = this
    const { type, value } = tokens
    this.expect = OPERATOR
    if (type === PUNCTUATOR || type === TEMPLATE) { // after ?.
      this.bare = -1
      return this.operator()
    }
    frame.callee = null
    frame.called = false
    frame.member = value
    if (frame.superStart !== -1 && !frame.isSuper) frame.superStart = -1
    this.bare = -1
    const word = this.lexical[this.lexical.length - 1]
    if (word !== undefined && word.word === 'new.target' && word.end === tokens.before) word.end = tokens.end
    return true
  }

  closeParenthesis() {
    this.endArrows()
    const { tokens, frame } = this
    const { kind, about } = frame
    switch (kind) {
      case GROUP:
        this.pendingGroup = frame
        this.frame = /** @type {Frame} */ (frame.parent)
        this.afterOperand(frame.start)
        break
      case ARGUMENTS:
        if (about.call !== null) about.call.end = tokens.end
        if (about.isAsync) this.pendingGroup = frame
        this.frame = /** @type {Frame} */ (frame.parent)
        this.expect = OPERATOR
        break
      case PARAMETERS:
        this.pop()
        if (this.frame.routine === this.own) this.parametersEnd = tokens.end
        this.expect = BODY
        break
      default: { // a head
        this.pop()
        const outer = this.frame
        if (outer.about !== null && outer.kind !== TRY) outer.about.close = tokens.start
        if (this.mayGuard && outer.kind === IF && /** @type {Frame} */ (outer.parent).about === this.own) {
          const guard = this.guards[this.guards.length - 1]
          guard.open = frame.start + 1
          guard.close = tokens.start
        }
        this.expect = outer.kind === DO ? DO_END : STATEMENT
        if (outer.kind === WITH) outer.within = true
      }
    }
    return true
  }

  closeBracket() {
    this.endArrows()
    const frame = this.pop()
    if (frame.kind === COMPUTED_KEY) {
      this.frame.about.keyEnd = this.tokens.end
      this.expect = AFTER_KEY
      return true
    }
    this.frame.callee = null
    this.frame.member = ''
    this.expect = OPERATOR
    return true
  }

  closeObject() {
    this.pop()
    this.frame.callee = null
    this.expect = OPERATOR
    return true
  }

  closeHole() {
    const { tokens } = this
    tokens.template()
    if (tokens.value === '${') {
      this.expect = OPERAND
      this.frame.callee = null
      return true
    }
    const { about } = this.pop()
    if (about !== null) about.end = tokens.end
    this.expect = OPERATOR
    return true
  }

  beginLabel() {
    const { frame } = this
    const { last } = this
    const { start } = frame
    this.pendingName = null
    if (last === 'yield') this.yields.pop() // no variable
    if (last === 'yield') this.yieldLabels.push({ start, end: this.tokens.before, routine: frame.routine })
    this.pop()
    this.push(LABEL)
    this.frame.word = last
    this.frame.start = start
    this.expect = STATEMENT
    return true
  }

  restricted() {
    const { tokens, frame } = this
    const { type, value } = tokens
    const isYield = this.last === 'yield'
    if (isYield && value === '*' && !tokens.newline) {
      this.star = tokens.start
      this.expect = OPERAND
      return true
    }
    const isEnd = tokens.newline || type === END || (type === PUNCTUATOR && (value === ')' || value === ']' || value === '}' ||
      value === ',' || value === ';' || value === ':')) || (type === NAME && (value === 'in' || value === 'of'))
    this.isClosed = isEnd
    this.expect = isEnd ? OPERATOR : OPERAND
    if (isEnd) {
      frame.callee = null
      frame.called = false
    }
    return false
  }

  // --------------------------------------------------------------------------------- bindings and properties

  binding() {
    const { tokens, frame } = this
    const { type, value } = tokens
    const { declares } = frame
    if (type === NAME) {
      this.declare(frame, declares)
      this.expect = OPERATOR
      this.afterOperand(tokens.start)
      this.bare = -1
      return true
    }
    switch (value) {
      case '{':
      case '[': {
        const inner = this.push(value === '{' ? OBJECT : BRACKETS)
        inner.declares = declares
        inner.about = newElement(0)
        this.expect = value === '{' ? PROPERTY : BINDING
        break
      }
      case ',':
      case '...':
        break
      default: // the end of a list
        this.expect = OPERATOR
        return false
    }
    if (declares === PARAMETER && frame.routine === this.own && value !== ',') this.isSimple = false
    return true
  }

  /** @param {Frame} frame @param {number} declares */
  declare(frame, declares) {
    const { tokens } = this
    const { value } = tokens
    const scope = declares === VAR ? frame.scope.top : frame.scope
    scope.declare(value)
    if (this.watches(value)) scope.use(value, this.mention())
    if (declares === PARAMETER && frame.routine === this.own) this.parameterNames.push(value)
  }

  property() {
    const { tokens, frame } = this
    const { type, value } = tokens
    const { about } = frame
    if (type === PUNCTUATOR) {
      switch (value) {
        case '}':
          if (frame.kind === CLASS) return this.closeClass()
          return this.closeObject()
        case ',':
        case ';':
          frame.about = newElement(0)
          return true
        case '...':
          frame.fresh = true
          this.expect = frame.declares === UNDECLARED ? OPERAND : BINDING
          return true
        case '*':
          about.isGenerator = true
          about.start ||= tokens.start
          about.codeStart ||= tokens.start
          return true
        case '[':
          about.start ||= tokens.start
          about.codeStart ||= tokens.start
          about.keyStart = tokens.start
          about.isComputed = true
          this.push(COMPUTED_KEY)
          this.expect = OPERAND
          return true
      }
    }
    about.start ||= tokens.start
    about.codeStart ||= tokens.start
    about.key = value
    about.keyType = type
    about.keyStart = tokens.start
    about.keyEnd = tokens.end
    about.isEscaped = tokens.escaped
    this.expect = AFTER_KEY
    return true
  }

  afterKey() {
    const { tokens, frame } = this
    const { type, value, newline } = tokens
    const { about } = frame
    const isModifier = about.keyType === NAME && !about.isComputed && !about.isEscaped && MODIFIERS.has(about.key)
    if (type === PUNCTUATOR) {
      switch (value) {
        case '(': return this.beginMethod()
        case ':':
          frame.fresh = true
          this.expect = frame.declares === UNDECLARED ? OPERAND : BINDING
          return true
        case '=':
          if (frame.kind === CLASS) return this.beginField()
          this.shorthand()
          this.expect = OPERAND
          return true
        case ',':
        case '}':
          if (frame.kind === OBJECT) this.shorthand()
          this.expect = OPERATOR
          if (frame.kind === CLASS) {
            frame.about = newElement(0)
            this.expect = PROPERTY
          }
          return false
        case ';':
          frame.about = newElement(0)
          this.expect = PROPERTY
          return true
        case '{':
          if (isModifier && about.key === 'static') return this.beginStaticBlock()
          break
        case '*':
          if (isModifier && (about.key === 'static' || (about.key === 'async' && !newline))) {
            this.modify()
            about.isGenerator = true
            this.expect = PROPERTY
            return true
          }
          break
        case '[':
          if (isModifier && !(about.key === 'async' && newline)) {
            this.modify()
            this.expect = PROPERTY
            return false
          }
      }
    } else if (isModifier && !(about.key === 'async' && newline)) {
      this.modify()
      this.expect = PROPERTY
      return false
    }
    frame.about = newElement(0) // a field without a value, and a new line
    this.expect = PROPERTY
    return false
  }

  modify() {
    const { about } = this.frame
    if (about.key === 'static') {
      about.isStatic = true
      about.codeStart = 0
    } else if (about.key === 'async') {
      about.isAsync = true
    } else {
      about.accessor = about.key
    }
    about.key = ''
  }

  /** `{ name }` or `{ name = 1 }`: the key is the name of a variable too. */
  shorthand() {
    const { frame } = this
    const { key, keyStart, keyEnd } = frame.about
    const mention = this.watches(key) ? this.mention(key, keyStart, keyEnd) : null
    if (mention !== null) mention.isShorthand = true
    frame.fresh = false
    if (frame.declares !== UNDECLARED) {
      const scope = frame.declares === VAR ? frame.scope.top : frame.scope
      scope.declare(key)
      if (mention !== null) scope.use(key, mention)
      if (frame.declares === PARAMETER && frame.routine === this.own) this.parameterNames.push(key)
    } else if (frame.cover !== null) {
      /** @type {any} */ (frame.cover.candidates).push(mention ?? key)
    } else {
      use(frame.scope, mention ?? key)
    }
  }

  // -------------------------------------------------------------------------------------- functions, classes

  /**
   * Code that is not the function's own, or is the function itself.
   *
   * @param {Frame} frame @param {Routine} routine @param {string} zone
   */
  enter(frame, routine, zone) {
    this.hazard(frame.start)
    if (frame.loop !== null) frame.loop.isPlain = true
    frame.loop = null
    frame.within = frame.guarded = false
    frame.routine = routine
    frame.cover = null
    frame.zone = zone
    if (this.own === null && /** @type {Frame} */ (frame.parent) === this.bottom && !this.isClass) {
      this.own = routine
      frame.zone = 'its parameters'
    }
  }

  /** @param {string} word @param {number} start */
  beginFunction(word, start) {
    if (word === 'expression') this.beginOperand(start)
    const { frame: outer } = this
    outer.fresh = false
    const frame = this.push(FUNCTION)
    frame.word = word
    frame.start = start
    this.enter(frame, new Routine(outer.routine, false), 'a nested function')
    this.openScope(frame, true)
    this.expect = AFTER_FUNCTION
    return true
  }

  afterFunction() {
    const { tokens, frame } = this
    if (tokens.value === '*' && tokens.type === PUNCTUATOR) {
      frame.routine.isGenerator = true
      return true
    }
    if (tokens.type === NAME) {
      if (frame.routine === this.own) {
        this.name = tokens.value
      } else if (frame.word === 'declaration') {
        const { scope } = /** @type {Frame} */ (frame.parent)
        scope.declare(tokens.value)
        scope.top.declare(tokens.value) // of sloppy code (Annex B.3.3)
        if (this.watches(tokens.value)) scope.use(tokens.value, this.mention())
      } else {
        frame.scope.declare(tokens.value)
      }
      return true
    }
    return this.beginParameters()
  }

  beginParameters() {
    const { tokens } = this
    const inner = this.push(PARAMETERS)
    inner.declares = PARAMETER
    if (inner.routine === this.own) this.parameters = tokens.start
    this.expect = BINDING
    return true
  }

  beginMethod() {
    const { frame: outer } = this
    const { about } = outer
    const frame = this.push(FUNCTION)
    frame.word = 'method'
    frame.about = about
    const routine = new Routine(outer.routine, false)
    routine.isAsync = about.isAsync
    routine.isGenerator = about.isGenerator
    this.enter(frame, routine, 'a nested method')
    if (routine === this.own) this.element = about
    this.openScope(frame, true)
    return this.beginParameters()
  }

  functionBody() {
    const { tokens, frame } = this
    const isOwn = frame.routine === this.own
    const inner = this.push(BLOCK)
    inner.about = frame.routine
    if (isOwn) {
      inner.zone = ''
      this.body = this.prologueEnd = tokens.end
    }
    this.inPrologue = true
    this.expect = STATEMENT
    return true
  }

  /** The brace that ends a block. */
  closeBlock() {
    const { tokens } = this
    const block = this.pop()
    const outer = this.frame
    this.inPrologue = false
    this.expect = ENDED
    if (block.kind === SWITCH || block.about === null) return true
    // the body of a function
    const { zone } = block
    if (block.about === this.own && zone === '') {
      this.bodyEnd = tokens.start
      this.end()
      return true
    }
    this.pop()
    switch (outer.word) {
      case 'declaration': return true
      case 'method':
      case 'static':
        if (outer.about !== null) {
          outer.about.end = tokens.end
          if (this.frame.kind === CLASS && /** @type {Frame} */ (this.frame.parent) === this.bottom) this.elements.push(outer.about)
        }
        if (this.frame.kind === CLASS) {
          this.frame.about = newElement(0)
          this.expect = PROPERTY
        } else {
          this.expect = OPERATOR
        }
        return true
      case 'arrow': this.isClosed = true
      // falls through
      default:
        this.afterOperand(outer.start)
        this.bare = -1
        return true
    }
  }

  beginArrow() {
    const { tokens } = this
    const { frame: outer, pendingGroup, pendingName } = this
    const frame = this.push(ARROW)
    frame.word = 'arrow'
    const routine = new Routine(outer.routine, true)
    this.pendingGroup = this.pendingName = null
    outer.fresh = false
    outer.isChain = false
    outer.called = false
    this.bare = -1
    if (pendingGroup !== null) {
      const { scope, about, start, kind } = pendingGroup
      frame.scope = scope
      frame.start = start
      scope.top = scope
      if (kind === ARGUMENTS) {
        routine.isAsync = true
        frame.start = about.asyncStart
        // `async` was no name that is called.
        if (about.call !== null) this.calls.splice(this.calls.indexOf(about.call), 1)
      }
      this.enter(frame, routine, 'a nested arrow function')
      for (let i = about.calls; i < this.calls.length; i++) this.calls[i].zone = frame.zone
      scope.routine = routine
      for (const candidate of /** @type {any[]} */ (scope.candidates)) {
        const name = typeof candidate === 'string' ? candidate : candidate.name
        scope.declare(name)
        if (typeof candidate !== 'string') scope.use(name, candidate)
        if (routine === this.own) this.parameterNames.push(name)
      }
      if (routine === this.own) {
        this.parameters = start
        this.parametersEnd = tokens.before
        this.isSimple = this.isSimpleGroup(start + 1, tokens.before)
      }
    } else {
      const name = typeof pendingName === 'string' ? pendingName : /** @type {Mention} */ (pendingName).name
      frame.start = this.lastStart
      if (this.asyncParameter >= 0) {
        routine.isAsync = true
        frame.start = this.asyncParameter
        this.asyncParameter = -1
      }
      this.enter(frame, routine, 'a nested arrow function')
      this.openScope(frame, true)
      frame.scope.declare(name)
      if (typeof pendingName !== 'string') frame.scope.use(name, pendingName)
      if (routine === this.own) {
        this.parameters = this.lastStart
        this.parametersEnd = tokens.before
        this.parameterNames.push(name)
      }
    }
    this.expect = ARROW_BODY
    return true
  }

  /** Whether parentheses hold names and commas only. @param {number} start @param {number} end */
  isSimpleGroup(start, end) {
    const tokens = new Tokens(this.source, start)
    for (tokens.next(true); tokens.end < end; tokens.next(true)) {
      if (tokens.type !== NAME && tokens.value !== ',') return false
    }
    return true
  }

  arrowBody() {
    const { tokens, frame } = this
    const isOwn = frame.routine === this.own
    if (tokens.type === PUNCTUATOR && tokens.value === '{') return this.functionBody()
    if (isOwn) {
      frame.zone = ''
      this.body = this.prologueEnd = tokens.start
      this.hasBlock = false
    }
    this.expect = OPERAND
    return false
  }

  /** Arrow functions without a block end where their expression does. */
  endArrows() {
    while (this.frame.kind === ARROW || this.frame.kind === AWAIT) {
      if (this.frame.kind === AWAIT) {
        this.endAwait()
        continue
      }
      this.endChain()
      const frame = this.pop()
      if (frame.routine === this.own) {
        this.bodyEnd = this.tokens.before
        this.end()
      }
      this.afterOperand(frame.start)
      this.endChain()
    }
  }

  /** The function itself has been read. */
  end() {
    while (this.frame !== this.bottom) this.pop()
    this.hasEnded = true
  }

  /** @param {string} word */
  beginClass(word) {
    const { tokens } = this
    if (word === 'expression') this.beginOperand(tokens.start)
    const { frame: outer } = this
    outer.fresh = false
    this.hazard(tokens.start)
    if (outer.loop !== null) outer.loop.isPlain = true
    if (outer === this.bottom && this.own === null) this.isClass = true
    const frame = this.push(CLASS)
    frame.word = word
    frame.cover = null
    this.openScope(frame, false)
    this.expect = AFTER_CLASS
    return true
  }

  afterClass() {
    const { tokens, frame } = this
    if (tokens.type === NAME) {
      if (this.is('extends')) {
        this.push(HERITAGE)
        this.expect = OPERAND
        return true
      }
      if (frame.word === 'declaration') {
        const { scope } = /** @type {Frame} */ (frame.parent)
        scope.declare(tokens.value)
        if (this.watches(tokens.value)) scope.use(tokens.value, this.mention())
      }
      frame.scope.declare(tokens.value)
      if (this.isClass && frame.parent === this.bottom) this.name = tokens.value
      return true
    }
    frame.about = newElement(0)
    if (this.isClass && frame.parent === this.bottom) this.body = tokens.end
    this.expect = PROPERTY
    return true
  }

  closeClass() {
    const frame = this.pop()
    if (this.isClass && this.frame === this.bottom) {
      this.bodyEnd = this.tokens.start
      this.hasEnded = true
      return true
    }
    if (frame.word === 'declaration') {
      this.expect = ENDED
    } else {
      this.afterOperand(frame.start)
    }
    return true
  }

  beginField() {
    const { frame: outer } = this
    const frame = this.push(FIELD)
    this.enter(frame, new Routine(outer.routine, false), 'a class field')
    this.openScope(frame, true)
    this.expect = OPERAND
    return true
  }

  beginStaticBlock() {
    const { frame: outer } = this
    const frame = this.push(FUNCTION)
    frame.word = 'static'
    this.enter(frame, new Routine(outer.routine, false), 'a static block')
    this.openScope(frame, true)
    return this.functionBody()
  }
}

/** An element of an object literal or a class. @param {number} start */
const newElement = start => ({
  start, codeStart: 0, end: 0, key: '', keyType: 0, keyStart: 0, keyEnd: 0, isComputed: false, isEscaped: false, isStatic: false,
  isAsync: false, isGenerator: false, accessor: ''
})

/** @param {Scope} scope @param {Mention | string} name */
function use(scope, name) {
  if (typeof name === 'string') {
    if (name !== 'let' && name !== 'async') scope.use(name, null)
  } else {
    scope.use(name.name, name)
  }
}

/**
 * A change of the source. Where several meet, what ends comes before what begins, and what encloses is outside.
 *
 * @typedef {object} Edit
 * @property {number} at
 * @property {number} to what it replaces ends here
 * @property {number} rank the place among those at the same position
 * @property {number} other where the other end is of what it opens or closes
 * @property {string | (() => string)} text
 */

const ENDS_EXPRESSION = -3
const ENDS_STATEMENT = -2
const ENDS_BODY = -1
const BEGINS_BODY = 1
const BEGINS_STATEMENT = 2
const BEGINS_EXPRESSION = 3
const REPLACES = 4

/** The source of a function with changes. */
class Draft {
  /** @param {string} source */
  constructor(source) {
    this.source = source
    /** @type {Edit[]} */
    this.edits = []
  }

  /** @param {number} at @param {number} rank @param {number} other @param {string | (() => string)} text */
  insert(at, rank, other, text) {
    this.edits.push({ at, to: at, rank, other, text })
  }

  /** @param {number} start @param {number} end @param {number} rank how it begins @param {string} before @param {string} after */
  enclose(start, end, rank, before, after) {
    this.insert(start, rank, end, before)
    this.insert(end, -rank, start, after)
  }

  /** @param {number} at @param {number} to @param {string} text */
  replace(at, to, text) {
    this.edits.push({ at, to, rank: REPLACES, other: to, text })
  }

  sort() {
    this.edits.sort((a, b) => a.at - b.at || Math.sign(a.rank) - Math.sign(b.rank) || b.other - a.other || a.rank - b.rank)
  }

  /** @param {number} from @param {number} to @returns {string} */
  text(from, to) {
    const { source, edits } = this
    let low = 0
    let high = edits.length
    while (low < high) {
      const middle = (low + high) >> 1
      const { at, rank } = edits[middle]
      if (at < from || (at === from && rank < 0)) low = middle + 1
      else high = middle
    }
    const parts = []
    let position = from
    for (; low < edits.length; low++) {
      const edit = edits[low]
      if (edit.at > to || (edit.at === to && edit.rank > 0)) break
      if (edit.at < position) continue // inside of what has been moved
      parts.push(source.slice(position, edit.at), typeof edit.text === 'string' ? edit.text : edit.text())
      position = edit.to
    }
    parts.push(source.slice(position, to))
    return parts.join('')
  }
}

/**
 * Names for what the rewritten function refers to, none of which the source uses.
 *
 * @param {string} source @param {Iterable<string>} taken
 */
function freshNames(source, taken) {
  const others = [...taken].join(' ')
  let suffix = ''
  const isTaken = () => NAMES.some(name => source.includes(name + suffix) || others.includes(name + suffix))
  while (isTaken()) suffix += '_'
  return (/** @type {string} */ name) => name + suffix
}

const NAMES = ['$budget', '$calls', '$result', '$left', '$goes', '$wait', '$iterate', '$iterator', '$error', '$call', '$async',
  '$generator', '$member', '$awaited', '$object', '$this', '$arguments', '$target', '$super', '$own', '$yield', '$self', '$enter', '$plain', '$run', '$start', '$skips', '$holder', '$name', '$original', '$access']

/**
 * The rules of RT.js, Table I: a point where the function begins, where the body of a loop begins, and before a
 * statement that is a call; calls of preemptible functions are delegated; `await` yields a promise.
 *
 * A counted point in the innermost loop costs more by the yield that the compiler finds there than by the counting.
 * Where nothing in a loop may yield or keep one of its variables, the loop is cut into chunks of a budget instead:
 *
 *   for (init; test; update) body  ->  for (init;;) {
 *                                        for (; there are points left && (test); update) body
 *                                        if (it has ended) break
 *                                        yield
 *                                      }
 *
 * @param {Reading} reading
 * @param {{ budgeted: boolean, name: (name: string) => string, delegate(call: Call): string | null }} options
 */
function rewrite(reading, { budgeted, name, delegate }) {
  const { source, own } = reading
  const draft = new Draft(source)
  const left = `${name('$budget')}.left`
  const pointAt = (/** @type {boolean} */ within) =>
    !budgeted ? 'yield;' : within ? 'if (super.point) yield;' : `if (--${left} <= 0) yield;`
  const variables = new Set()
  /** Where a parenthesis has been opened. @type {number[]} */
  const opened = []

  for (const loop of reading.loops) {
    const { first, start, end, body, bodyEnd, open, close, semicolons, word, within } = loop
    if (loop.isAwait) {
      rewriteForAwait(draft, loop, name, pointAt(within))
      continue
    }
    if (!budgeted || within || loop.isPlain || loop.of > 0) {
      const point = pointAt(within)
      if (loop.isBlock) draft.insert(body + 1, BEGINS_BODY, bodyEnd, ` ${point}`)
      else draft.enclose(body, bodyEnd, BEGINS_BODY, `{ ${point} `, ' }')
      continue
    }
    rewriteChunks(draft, loop, left, name)
    if (!loop.hasCalls) variables.add(name('$left'))
    else variables.add(name('$goes'))
  }

  const points = new Set()
  for (const { start, end, isList, within } of reading.callStatements) {
    const point = pointAt(within)
    if (isList) draft.insert(start, BEGINS_STATEMENT, end, `${point} `)
    else draft.enclose(start, end, BEGINS_STATEMENT, `{ ${point} `, ' }')
    points.add(start)
  }

  for (const { start, operand, end } of reading.awaits) {
    draft.replace(start, operand, '')
    draft.enclose(start, end, BEGINS_EXPRESSION, `(yield ${name('$wait')}(`, '))')
    opened.push(start)
  }

  const optionalsDone = new Set()
  for (const call of reading.calls) {
    const text = delegate(call)
    if (text === null) continue
    const { mention, start, end, optionals } = call
    let begin = start
    if (mention !== null) {
      draft.replace(mention.start, mention.end, text)
      for (const at of optionals) draft.replace(at, at + 2, '')
      if (call.isRaw) continue
      draft.insert(start, BEGINS_EXPRESSION, end, `(${name('$result')} = `)
    } else {
      begin = delegateMember(draft, call, text, name, optionalsDone)
      variables.add(name('$object'))
      if (optionals.length > 0) variables.add(name('$call'))
    }
    variables.add(name('$result'))
    draft.insert(end, ENDS_EXPRESSION, begin,
      `, ${name('$calls')}.pending === null ? ${name('$result')} : yield ${name('$calls')}.take())`)
    opened.push(start)
  }

  if (opened.length > 0) {
    const listed = new Set(reading.listed)
    for (const start of new Set(opened)) {
      if (listed.has(start) && !points.has(start)) draft.insert(start, BEGINS_STATEMENT, Infinity, ';')
    }
  }
  return { draft, variables, point: pointAt(false) }
}

/**
 * A loop in chunks. Where something is called that may cut the budget, the budget itself is counted down; otherwise a
 * copy is, and the budget is -1 meanwhile, so that a chunk that ends by an error has used it up. A round whose point
 * was the yield is not counted again.
 *
 * @param {Draft} draft @param {Loop} loop @param {string} left @param {(name: string) => string} name
 */
function rewriteChunks(draft, { first, start, end, open, close, semicolons, word, hasCalls, exits, again }, left, name) {
  const isDo = word === 'do'
  const count = name(hasCalls ? '$goes' : '$left')
  const refilled = `(${left} > 0 ? ${left} : 1)${isDo ? '' : ' + 1'}`
  const check = hasCalls ? `(${count} = --${left} > 0)` : `--${count} > 0`
  const point = isDo ? `if (--${left} <= 0) yield; ` : ''
  const before = hasCalls ? (isDo ? `${count} = true; ` : '') : `${left} = -1; `
  const keep = `if (${left} < 0) ${left} = ${count};`
  const after = hasCalls ? `if (${count}) break; yield;${isDo ? '' : ` ${left} = ${refilled};`}`
    : `if (${count} > 0) { ${keep} break } yield; ${count} = ${refilled};`
  draft.insert(first, BEGINS_STATEMENT, end, `{ ${point}${hasCalls ? '' : `${count} = ${isDo ? refilled : left}; `}`)
  if (word === 'for') {
    const [testStart, testEnd] = semicolons
    const tokens = new Tokens(draft.source, testStart + 1)
    tokens.next(true)
    const hasTest = tokens.start < testEnd
    draft.insert(testStart + 1, BEGINS_STATEMENT, end, `;) { ${before}for (; ${check}${hasTest ? ' && (' : ''}`)
    if (hasTest) draft.insert(testEnd, ENDS_STATEMENT, start, ')')
  } else {
    draft.insert(start, BEGINS_STATEMENT, end - 1, `for (;;) { ${before}`)
    draft.insert(open, BEGINS_BODY, close, isDo ? '(' : `${check} && (`)
    draft.insert(close, ENDS_BODY, open, isDo ? `) && ${check}` : ')')
  }
  draft.insert(end, ENDS_STATEMENT, first, `; ${after} } }`)
  if (!hasCalls) {
    for (const exit of exits) draft.enclose(exit.start, exit.end, BEGINS_STATEMENT, `{ ${keep} `, ' }')
  }
  for (const label of again) draft.replace(label.start, label.end, '')
}

/**
 * `for await (head of iterable) body`: the iterator's steps are awaited by yields. What it does when the loop is left,
 * and when something fails, is as the language has it; the labels stay with the loop.
 *
 * @param {Draft} draft @param {Loop} loop @param {(name: string) => string} name @param {string} point
 */
function rewriteForAwait(draft, loop, name, point) {
  const { first, start, open, ofStart, of, close, body, bodyEnd, end } = loop
  const iterator = name('$iterator')
  const error = name('$error')
  const head = () => draft.text(open, ofStart)
  draft.insert(first, BEGINS_STATEMENT, end, () => `{ const ${iterator} = ${name('$iterate')}(${draft.text(of, close)}); try { `)
  draft.replace(start, close + 1, `for (; ${iterator}.take(yield ${iterator}.next());)`)
  draft.insert(body, BEGINS_BODY, bodyEnd, () => ` { ${loop.declares ? `${head()} = ${iterator}.value;` : `;(${head()} = ${iterator}.value);`} ${point} `)
  draft.insert(bodyEnd, ENDS_BODY, body, ' }')
  draft.insert(end, ENDS_STATEMENT, first, ` } catch (${error}) { throw ${iterator}.fail(${error}) } ` +
    `finally { if (${iterator}.isOpen) try { yield ${iterator}.leave() } catch (${error}) { ${iterator}.suppress(${error}) } } }`)
}


/**
 * A call of a member keeps its `this`; what cuts the chain short before it, cuts it short with it:
 *
 *   a.b(c)      ->  ($result = $member(($object = a).b).call($object, c), ...)
 *   a?.b(c).d   ->  (($object = a) == null ? undefined : ($result = $member($object.b).call($object, c), ...).d)
 *
 * @param {Draft} draft @param {Call} call @param {string} member @param {(name: string) => string} name
 * @param {Set<number>} done the optional links that are written already
 * @returns {number} where it begins
 */
function delegateMember(draft, call, member, name, done) {
  const { start, open, dot, optionals, chainEnd } = call
  const object = name('$object')
  let begin = start
  let isOptionalCall = false
  for (const at of optionals) {
    if (at > dot) {
      isOptionalCall = true
      continue
    }
    begin = at
    if (done.has(at)) continue
    done.add(at)
    draft.insert(start, BEGINS_EXPRESSION, chainEnd, `((${object} = `)
    draft.insert(at, BEGINS_STATEMENT, chainEnd, ') == null ? undefined : ')
    const tokens = new Tokens(draft.source, at + 2)
    tokens.next(false)
    draft.replace(at, at + 2, tokens.type === PUNCTUATOR ? object : `${object}.`)
    draft.insert(chainEnd, ENDS_EXPRESSION, start, ')')
  }
  const isSuper = call.isSuper
  const self = isSuper ? 'this' : object
  const result = `(${name('$result')} = `
  const isAtDot = begin === dot
  const opening = isAtDot || isSuper ? '' : `(${object} = `
  if (isOptionalCall) {
    draft.insert(begin, BEGINS_EXPRESSION, chainEnd, `((${name('$call')} = ${opening}`)
  } else {
    draft.insert(begin, BEGINS_EXPRESSION, call.end, `${result}${member}(${opening}`)
  }
  if (opening !== '') draft.insert(dot, ENDS_EXPRESSION, begin, ')')
  if (isOptionalCall) {
    const at = optionals[optionals.length - 1]
    draft.replace(at, open + 1, `) == null ? undefined : ${result}${member}(${name('$call')}).call(${self}, `)
    draft.insert(chainEnd, ENDS_EXPRESSION, begin, ')')
  } else {
    draft.replace(open, open + 1, `).call(${self}, `)
  }
  return begin
}

// What the rewritten functions run on.

/** How many calls may be nested on the engine's own stack before the scheduler's takes over. */
const DEEPEST = 150

/** A call that has not returned yet, and how many are nested. */
const calls = {
  /** @type {any} */
  pending: null,
  depth: 0,
  /** Whether what is started next has done with its guards. */
  skips: false,
  take() {
    const { pending } = calls
    calls.pending = null
    return pending
  }
}

/**
 * A delegated call. Most return before the budget is used up, and then they have cost no more than the generator.
 * Otherwise the caller yields what is pending, and from there on the scheduler resumes the callee itself: calls stand
 * on the engine's stack only while they run, and a yield costs the same at any depth.
 *
 * @param {any} generator
 */
function run(generator) {
  if (calls.depth < DEEPEST && budget.left > 1) return start(generator)
  calls.pending = generator
}

/** @param {any} generator */
function start(generator) {
  let step
  calls.depth++
  try {
    step = generator.next()
  } finally {
    calls.depth--
  }
  if (step.done) return step.value
  calls.pending = new Suspended(generator, step)
}

/** A point where names are not to be trusted. */
const withinWith = {
  get point() {
    return --budget.left <= 0
  }
}

/** What `await` waits for. @param {any} value */
const waitFor = value => Promise.resolve(value)

/** The steps of a `for await`, each value in a box of its own: an async generator awaits what it yields. */
async function* each(/** @type {any} */ iterable) {
  for await (const value of iterable) yield { value }
}

/** A `for await` loop that is left and goes on where the engine's own would. */
class AsyncSteps {
  /** @param {any} iterable */
  constructor(iterable) {
    this.steps = each(iterable)
    /** Whether the body runs: then to leave is to close. */
    this.isOpen = false
    this.hasFailed = false
    /** @type {any} */
    this.value = undefined
  }

  next() {
    this.isOpen = false
    return this.steps.next()
  }

  /** @param {any} step @returns {boolean} whether there is one more */
  take({ done, value }) {
    if (done) return false
    this.value = value.value
    return this.isOpen = true
  }

  /** @param {any} error of the body */
  fail(error) {
    this.hasFailed = true
    return error
  }

  leave() {
    return this.steps.return()
  }

  /** The body's error is the one that counts. @param {any} error */
  suppress(error) {
    if (!this.hasFailed) throw error
  }
}

/** @param {any} value */
const isObject = value => (typeof value === 'object' && value !== null) || typeof value === 'function'

/** What is known of a rewritten function: a property, which is quicker found than an entry of a map. */
const known = Symbol('preemptible')

/**
 * @typedef {object} Known
 * @property {any} original
 * @property {boolean} isAsync
 * @property {boolean} isGenerator
 * @property {Function} call how a delegated call begins
 * @property {Function} awaited the same, of an async function that is awaited; not awaited, it runs beside its caller
 */

/** @type {WeakMap<Function, Function>} */
const rewritten = new WeakMap()

const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor
/** @param {any} value */
const isGeneratorFunction = value => typeof value === 'function' && value instanceof GeneratorFunction

/**
 * Preemption points for a function that was not written for the scheduler: its source (Function.prototype.toString)
 * is rewritten at run time into a generator function, by the rules of RT.js (III-B, Table I).
 *
 * ```js
 * const encrypt = preemptify(function encrypt(text) { ... }) // loops, calls, recursion as they are
 * const cipher = await rt.spawn(encrypt, { deadline: 500 }, text)
 * ```
 *
 * @param {any} fn a function, arrow function, method, async function or generator; with `methods`, a class or an object
 * @param {object} [options]
 * @param {Record<string, any>} [options.scope] values for variables that the function closes over; a generator function
 *   among them is called as a preemptible one
 * @param {(source: string) => any} [options.evaluate] `s => eval(s)`, written where the function was: its variables, its
 *   `this` and its strictness are those of the function then
 * @param {Record<string, any>} [options.calls] preemptible functions by the names they are called by. They are looked up at
 *   each call, so that functions that call each other can be added one after the other.
 * @param {boolean} [options.strict] whether the function is strict, where its source and the engine do not tell;
 *   default: as strict as its source allows
 * @param {boolean} [options.budgeted] default true: points are counted, `if (--budget.left <= 0) yield`; false: they yield
 * @param {any} [options.this] the `this` of an arrow function
 * @param {object} [options.home] the object or prototype that a method with `super` belongs to
 * @param {string[]} [options.methods] the methods of a class or an object to rewrite; the result is a class or an object
 * @returns {any} a generator function of the same name and length, with its text as `source`
 * @throws {TypeError} when `fn` cannot be rewritten: native, bound or proxied functions, accessors, constructors, async
 *   generators
 * @throws {SyntaxError} when a preemptible function is called where no yield can stand
 * @throws {EvalError} when the Content-Security-Policy of the page forbids evaluation
 */
export function preemptify(fn, options = {}) {
  if (typeof options !== 'object' || options === null) throw wrongType('options', 'an object', options)
  if (options.methods !== undefined) return preemptifyMethods(fn, options)
  if (typeof fn !== 'function') throw wrongType('fn', 'a function', fn)
  if (Object.hasOwn(fn, known)) return fn
  const isDefault = Object.keys(options).length === 0
  if (isDefault && rewritten.has(fn)) return rewritten.get(fn)
  const rewriting = new Rewriting(fn, sourceOf(fn), options)
  const result = rewriting.result()
  if (isDefault) rewritten.set(fn, result)
  return result
}

/** @param {any} fn @returns {string} how errors name it */
const labelOf = fn => `preemptify(${typeof fn.name === 'string' && fn.name !== '' ? fn.name : 'an anonymous function'})`

/** @param {any} fn @returns {string} */
function sourceOf(fn) {
  const source = Function.prototype.toString.call(fn)
  const tokens = new Tokens(source, source.lastIndexOf('{') + 1)
  const isNative = ['[', 'native', 'code', ']', '}', ''].every(value => {
    tokens.next(false)
    return tokens.value === value
  })
  if (isNative) {
    throw new TypeError(`${labelOf(fn)}: a native, bound or proxied function has no source to rewrite; ` +
      'give the function behind it, or write a generator that calls it')
  }
  return source
}

/** @param {string} source @returns {boolean} whether it reads as a method, and not as an expression */
function isMethodSource(source) {
  const tokens = new Tokens(source)
  const next = () => {
    tokens.next(true)
    return tokens.value
  }
  const first = next()
  const second = next()
  if (first === 'function' || first === '(' || second === '=>') return false
  if (first === 'class') return second === '('
  if (first !== 'async' || tokens.newline) return true
  return second !== 'function' && second !== '(' && next() !== '=>'
}

/** @param {string} source @param {(name: string) => boolean} watches @param {(name: string) => boolean} watchesMember */
function read(source, watches, watchesMember) {
  if (!isMethodSource(source)) {
    const reading = new Reading(source, OPERAND, watches, watchesMember)
    if (reading.own !== null || reading.isClass) return reading // otherwise a method called async
  }
  return new Reading(source, PROPERTY, watches, watchesMember)
}

/**
 * Whether a function is strict. Engines tell it of plain functions only: the `caller` of a sloppy one can be read.
 *
 * @param {any} fn @param {Reading} reading @returns {boolean | undefined}
 */
function strictness(fn, { own, element, isStrict }) {
  if (isStrict) return true
  if (own === null || own.isArrow || own.isAsync || own.isGenerator || element !== null) return undefined
  try {
    void fn.caller
    return false
  } catch {
    return true
  }
}

/** How many have been compiled: every text has a name of its own in the debugger. */
let compilations = 0

/**
 * Evaluates source text, where the caller says or in the global scope.
 *
 * @param {string} text an arrow function @param {any} fn
 * @param {((source: string) => any) | undefined} evaluate @returns {any}
 */
function evaluated(text, fn, evaluate) {
  const name = encodeURIComponent(fn.name || 'anonymous')
  const source = `${text}\n//# sourceURL=preemptify/${++compilations}/${name}.js`
  let result
  try {
    result = evaluate === undefined ? (0, eval)(source) : evaluate(source)
  } catch (error) {
    if (error instanceof EvalError) {
      throw new EvalError(`${labelOf(fn)}: the page's Content-Security-Policy forbids evaluation (script-src without ` +
        "'unsafe-eval', or require-trusted-types-for 'script'); allow it, or write the generator by hand: function*, " +
        'with a yield in its loops', { cause: error })
    }
    throw error
  }
  if (typeof result !== 'function') {
    throw new TypeError(`evaluate must return what eval returns, as in s => eval(s), got ${describe(result)}`)
  }
  return result
}

/** A function on its way from its source to a generator function. */
class Rewriting {
  /**
   * @param {any} fn @param {string} source @param {any} options
   * @param {{ text: string, members: string[] }} [around] the class that a method belongs to
   */
  constructor(fn, source, options, around) {
    const { scope = {}, evaluate, calls: callees, strict, budgeted = true, home } = options
    if (!isObject(scope)) throw wrongType('scope', 'an object of values by name', scope)
    if (callees !== undefined && !isObject(callees)) {
      throw wrongType('calls', 'an object of generator functions by name', callees)
    }
    if (evaluate !== undefined) callable('evaluate', evaluate)
    if (strict !== undefined && typeof strict !== 'boolean') throw wrongType('strict', 'true or false', strict)
    if (typeof budgeted !== 'boolean') throw wrongType('budgeted', 'true or false', budgeted)
    if (home !== undefined && !isObject(home)) throw wrongType('home', 'the object of the method', home)
    this.fn = fn
    this.source = source
    this.options = options
    this.label = labelOf(fn)
    this.scope = scope
    this.evaluate = evaluate
    this.callees = callees
    this.home = home
    this.isInClass = around !== undefined
    /** Members that may be preemptible methods. @type {Set<string>} */
    this.members = new Set(around?.members)
    /** What names of preemptible functions stand for. @type {Map<string, { kind: string, callee?: any, get: () => any }>} */
    this.table = new Map()
    for (const name of Object.keys(scope)) {
      refuseName('scope', name)
      const value = scope[name]
      if (isGeneratorFunction(value)) this.table.set(name, { kind: 'scope', callee: value, get: () => value })
      else if (typeof value === 'object' && value !== null) this.watchMethods(value)
    }
    for (const name of Object.keys(callees ?? {})) {
      refuseName('calls', name)
      const { get, value } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(callees, name))
      if (get === undefined && value !== undefined && value !== null && !isGeneratorFunction(value)) {
        throw wrongType(`calls.${name}`, 'a generator function, as preemptify returns it', value)
      }
      this.table.set(name, { kind: 'calls', callee: value, get: () => callees[name] })
      this.members.add(name)
    }
    const isLate = callees !== undefined && evaluate === undefined
    this.reading = read(source,
      name => name === 'yield' || name === 'arguments' || name === fn.name || this.table.has(name) || (isLate && !(name in globalThis)),
      name => this.members.has(name))
    this.refuse()
    this.name = freshNames(around?.text ?? source, [...this.reading.escaped, ...Object.keys(scope)])
    /** What the text refers to, as parameters of what it is compiled in. @type {Map<string, any>} */
    this.bindings = new Map()
    /** Declarations around it. @type {string[]} */
    this.helpers = []
    /** The generator function, when it is there. @type {any} */
    this.self = null
    /** Whether its name is one that cannot be assigned to, as that of a function expression. */
    this.isConstant = false
    const free = this.free = this.reading.top.uses ?? new Map()
    this.bindNames(free)
    this.lost = this.lostNames()
    const { draft, variables, point } = rewrite(this.reading, {
      budgeted, name: this.name, delegate: call => this.delegate(call)
    })
    this.replaceWords(draft)
    this.draft = draft
    this.delegates = variables.size > 0 || this.reading.awaits.length > 0
    this.variables = variables.size > 0 ? ` let ${[...variables].join(', ')};` : ''
    this.point = point
  }

  /** The generator methods of an object in scope. @param {any} object */
  watchMethods(object) {
    for (let holder = object; holder !== null && holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
        if (isGeneratorFunction(value)) this.members.add(name)
      }
    }
  }

  /** What cannot be rewritten. */
  refuse() {
    const { own, element, isClass, lexical, usesSuper } = this.reading
    const { label, evaluate, home, options } = this
    if (isClass || element?.key === 'constructor' && this.isInClass) {
      throw new TypeError(`${label}: a constructor cannot be a generator; name the methods to rewrite: { methods: [...] }`)
    }
    if (own === null) throw new TypeError(`${label}: its source is no function's`)
    if (element?.accessor) {
      throw new TypeError(`${label}: an accessor cannot be a generator; write a method, or a generator by hand`)
    }
    if (own.isAsync && own.isGenerator) {
      throw new TypeError(`${label}: an async generator cannot be driven; write a generator that yields promises`)
    }
    if (usesSuper && evaluate === undefined && home === undefined && !this.isInClass) {
      throw new TypeError(`${label}: super needs the object of the method; give it as { home }, or rewrite the class or ` +
        'the object itself: { methods: [...] }')
    }
    if (!own.isArrow || evaluate !== undefined) return
    for (const word of [...lexical.map(({ word }) => word), ...this.arguments().map(({ name }) => name)]) {
      if (word === 'this' && !('this' in options)) {
        throw new TypeError(`${label}: the this of an arrow function is that of the code around it; give it as ` +
          '{ this: value }, or { evaluate: s => eval(s) } from there')
      }
      if (word !== 'this' && word !== 'super') {
        throw new TypeError(`${label}: ${word} of an arrow function is that of the function around it; give ` +
          '{ evaluate: s => eval(s) } from there')
      }
    }
  }

  /** Where it uses its arguments, or an arrow function those around it. @returns {Mention[]} */
  arguments() {
    const { reading } = this
    const home = /** @type {Routine} */ (reading.own).home
    return (reading.top.uses?.get('arguments') ?? []).filter((/** @type {Mention} */ { routine }) =>
      routine.home === home || routine.home === reading.top.routine)
  }

  /** What the names that the function uses, and does not declare, shall mean. @param {Map<string, any>} free */
  bindNames(free) {
    const { fn, scope, evaluate, callees, table, reading, bindings } = this
    for (const name of Object.keys(scope)) {
      if (free.has(name) || reading.usesEval) bindings.set(name, scope[name])
    }
    if (evaluate !== undefined) this.refuseHidden(free)
    const ownName = reading.name || fn.name
    if (free.has(ownName) && !table.has(ownName) && !bindings.has(ownName)) {
      const present = evaluate === undefined ? undefined : this.present(ownName)
      if (present === fn) {
        table.set(ownName, { kind: 'visible', get: () => this.self })
      } else if (reading.name !== '') {
        table.set(ownName, { kind: 'own', get: () => this.self })
        bindings.set(ownName, fn)
        this.isConstant = true
      }
    }
    if (evaluate !== undefined) return
    for (const [name, mentions] of free) {
      if (callees === undefined || bindings.has(name) || mentions === null) continue
      const isCalled = mentions.some((/** @type {Mention} */ mention) => mention.isCall)
      if (!table.has(name) && isCalled && name !== 'yield' && !(name in globalThis)) {
        table.set(name, { kind: 'calls', get: () => callees[name] }) // to be added later
      }
      if (table.has(name)) {
        const callee = callees[name]
        bindings.set(name, callee?.[known]?.original ?? callee)
      }
    }
  }

  /** What a name means where `evaluate` stands. @param {string} name */
  present(name) {
    try {
      return this.evaluate(`typeof ${name} === 'undefined' ? undefined : ${name}`)
    } catch {
      return undefined // not initialized yet
    }
  }

  /** `s => eval(s)` hides a variable called s. @param {Map<string, any>} free */
  refuseHidden(free) {
    const { evaluate, scope, label } = this
    let reading
    try {
      reading = read(sourceOf(evaluate), () => false, () => false)
    } catch {
      return // eval itself, or something that is bound
    }
    for (const name of reading.parameterNames) {
      if (free.has(name) && !(name in scope) && !this.table.has(name) && !(name in globalThis)) {
        throw new TypeError(`${label}: it uses a variable ${name}, which the parameter ${name} of evaluate hides; ` +
          'give the parameter another name')
      }
    }
  }

  /**
   * The text by which a preemptible function is called.
   *
   * @param {Call} call @returns {string | null} null where the call stays as it is
   */
  delegate(call) {
    const { mention, zone, lead, guarded, end, chainEnd } = call
    const { reading, name, bindings } = this
    const own = /** @type {Routine} */ (reading.own)
    if (mention === null) {
      if (zone !== '' || call.isTagged || this.cutsCall(call)) return null
      const isAwaited = lead === 'await' && chainEnd === end
      const text = name(isAwaited ? '$awaited' : '$member')
      bindings.set(text, (/** @type {any} */ callee) => this.memberEntry(callee, isAwaited))
      return text
    }
    const found = mention.scope === null && !mention.within ? this.table.get(mention.name) : undefined
    if (found === undefined) return null
    const { kind, get, callee } = found
    const isAlone = chainEnd === end
    if (zone !== '') {
      if (kind === 'own' || kind === 'visible' || call.routine.isGenerator) return null
      throw new SyntaxError(`${this.label}: ${mention.name}() is called in ${zone}, where no yield can stand ` +
        `(${this.position(mention.start)}); move the call into the function itself`)
    }
    if (own.isGenerator) {
      if (isAlone && (lead === 'yield' || lead === 'yield*')) {
        call.isRaw = true
        const text = `${name('$generator')}_${mention.name}`
        bindings.set(text, function (/** @type {any[]} */ ...args) { return Reflect.apply(get(), this, args) })
        return text
      }
      if (kind === 'own' || kind === 'visible') return null // it makes an iterator
    }
    const isAwaited = isAlone && (lead === 'await' ||
      (lead === 'return' && own.isAsync && !guarded && reading.returns.some(({ end }) => end === chainEnd)))
    const way = isAwaited ? 'awaited' : 'call'
    if (kind === 'visible') {
      const text = name(isAwaited ? '$async' : '$own')
      bindings.set(text, (/** @type {any} */ callee) =>
        callee === this.fn ? this.self[known][way] : callee?.[known]?.[way] ?? callee)
      return `${text}(${mention.name})`
    }
    if (kind === 'own' && !own.isAsync && this.lost.length === 0) return name('$enter')
    const text = `${name(isAwaited ? '$async' : '$call')}_${mention.name}`
    bindings.set(text, entry(callee, get, way, mention.name))
    return text
  }

  /**
   * A member is preemptible if it is a generator function, or the original of one that is to be called instead.
   *
   * @param {any} callee @param {boolean} isAwaited
   */
  memberEntry(callee, isAwaited) {
    if (typeof callee !== 'function') return () => { throw new TypeError('what is called is not a function') }
    const way = isAwaited ? 'awaited' : 'call'
    const { [known]: rewriting } = callee
    if (rewriting !== undefined) return rewriting[way]
    if (isGeneratorFunction(callee)) return wayInto(callee)
    for (const { get } of this.table.values()) {
      const target = get()?.[known]
      if (target?.original === callee) return target[way]
    }
    return callee
  }

  /** Whether a chain may be cut short at a call whose `this` would be lost. @param {Call} call */
  cutsCall({ optionals, dot }) {
    return optionals.some(at => {
      const tokens = new Tokens(this.source, at + 2)
      tokens.next(false)
      return at < dot && tokens.value === '('
    })
  }

  /** @param {number} at */
  position(at) {
    const lines = this.source.slice(0, at).split(/\r\n?|[\n\u2028\u2029]/)
    return `line ${lines.length}, column ${lines[lines.length - 1].length + 1}`
  }

  /** Words that would mean something else in a generator. @param {Draft} draft */
  replaceWords(draft) {
    const { reading, name, helpers, options, evaluate, home, bindings } = this
    const own = /** @type {Routine} */ (reading.own)
    const isLexical = own.isArrow
    const isProxied = reading.usesSuper && evaluate !== undefined && home === undefined && !this.isInClass
    const used = new Set()
    for (const { start, end, word } of isLexical ? reading.lexical : []) {
      if (word === 'super') continue
      const text = name(word === 'new.target' ? '$target' : `$${word}`)
      used.add(word)
      draft.replace(start, end, `${text}()`)
    }
    if (used.has('this') && 'this' in options) bindings.set(name('$this'), () => options.this)
    else if (used.has('this')) helpers.push(`const ${name('$this')} = () => this;`)
    if (isLexical) this.replaceByAccess(draft, this.arguments(), name('$arguments'), 'arguments', 'arguments = value')
    if (used.has('new.target')) helpers.push(`const ${name('$target')} = () => new.target;`)
    if (isProxied) {
      const text = name('$super')
      for (const { start, end, word } of reading.lexical) if (word === 'super') draft.replace(start, end, text)
      for (const open of reading.superCalls) {
        draft.replace(open, open + 1, `.call(${isLexical ? `${name('$this')}()` : 'this'}, `)
      }
      if (isLexical && !used.has('this')) helpers.push(`const ${name('$this')} = () => this;`)
      helpers.push(`const ${text} = new Proxy({}, { get: (_, key) => super[key], ` +
        'set: (_, key, value) => { super[key] = value; return true } });')
    }
    this.replaceYield(draft)
    if (this.isConstant) this.replaceName(draft)
  }

  /** Assignments to the name of a function expression have no effect, or throw. @param {Draft} draft */
  replaceName(draft) {
    const { reading, name, helpers, bindings } = this
    const mentions = this.free.get(reading.name) ?? []
    const isAssigned = mentions.some((/** @type {Mention} */ { start, end }) => isTarget(reading, start, end))
    if (!isAssigned) return
    const text = name('$name')
    const original = name('$original')
    for (const { start, end, isShorthand, isCall } of mentions) {
      if (draft.edits.some(({ at, to }) => at === start && to === end)) continue
      draft.replace(start, end, `${isShorthand ? `${reading.name}: ` : ''}${isCall ? `(0, ${text}.value)` : `${text}.value`}`)
    }
    bindings.delete(reading.name)
    bindings.set(original, this.fn)
    helpers.push(`const ${text} = { get value() { return ${original} }, ` +
      `set value(value) { (function ${reading.name}() { ${reading.name} = value })() } };`)
  }

  /**
   * Names that cannot be written where they stand are reached through an object.
   *
   * @param {Draft} draft @param {Mention[]} mentions @param {string} text of the object @param {string} get @param {string} set
   */
  replaceByAccess(draft, mentions, text, get, set) {
    if (mentions.length === 0) return
    for (const { name, start, end, isShorthand, isCall } of mentions) {
      draft.replace(start, end, (isShorthand ? `${name}: ` : '') + (isCall ? `(0, ${text}.value)` : `${text}.value`))
    }
    const isSet = mentions.some(({ start, end }) => isTarget(this.reading, start, end))
    this.bindings.set(this.name('$access'), access)
    this.helpers.push(`const ${text} = ${this.name('$access')}(() => ${get}${isSet ? `, value => { ${set} }` : ''});`)
  }

  /** In a generator `yield` is no name. @param {Draft} draft */
  replaceYield(draft) {
    const { reading, name } = this
    const own = /** @type {Routine} */ (reading.own)
    if (own.isGenerator) return
    const isWithin = (/** @type {Routine | null} */ routine) => {
      while (routine !== null && routine !== own && routine.isArrow) routine = routine.outer
      return routine === own
    }
    const text = name('$yield')
    const free = []
    for (const mention of reading.yields) {
      const { scope, routine, start, end, isShorthand } = mention
      if (scope === null) {
        if (isWithin(routine)) free.push(mention)
      } else if (isWithin(scope.routine)) {
        draft.replace(start, end, isShorthand ? `yield: ${text}` : text)
      }
    }
    this.replaceByAccess(draft, free, text, 'yield', 'yield = value')
    for (const { start, end, routine } of reading.yieldLabels) if (isWithin(routine)) draft.replace(start, end, text)
  }

  /** Assignments to the name of a function expression have no effect, or throw. @param {Draft} draft */
  replaceName(draft) {
    const { reading, name, bindings } = this
    const own = reading.name
    const mentions = (this.free.get(own) ?? []).filter((/** @type {Mention} */ { start, end }) =>
      !draft.edits.some(({ at, to }) => at === start && to === end))
    if (!mentions.some((/** @type {Mention} */ { start, end }) => isTarget(reading, start, end))) return
    const original = name('$original')
    bindings.delete(own)
    bindings.set(original, this.fn)
    this.replaceByAccess(draft, mentions, name('$name'), original, `(function ${own}() { ${own} = value })()`)
  }

  /** The statements that it begins with may end it before it needs to be a generator. */
  guard() {
    const { reading, draft, name, source } = this
    const { guards, hazards, assignments } = reading
    const has = (/** @type {number[]} */ positions, /** @type {number} */ from, /** @type {number} */ to) =>
      positions.some(at => at >= from && at < to)
    const skips = name('$skips')
    let end = 0
    let last = ''
    for (const guard of guards) {
      const { start, open, close } = guard
      if (guard.isReturn) {
        const returnEnd = reading.returns.find(other => other.start === start)?.end ?? 0
        if (open === 0 || close === 0 || has(hazards, start, open) || has(assignments, start, open)) break
        const condition = source.slice(start + 6, open)
        if (!has(hazards, open, close)) {
          last = `if (${condition}) return ${source.slice(open + 1, close)};`
          draft.enclose(start + 6, open, BEGINS_BODY, ` !${skips} && (`, ')')
        } else if (!has(hazards, close, returnEnd)) {
          last = `if (!(${condition})) return ${source.slice(close + 1, returnEnd)};`
          draft.enclose(start + 6, open, BEGINS_BODY, ` ${skips} || (`, ')')
        }
        break
      }
      if (guard.end === 0 || guard.returned === 0 || has(hazards, start, guard.end) || has(assignments, open, close)) break
      end = guard.end
    }
    if (end === 0 && last === '') return ''
    const first = guards[0].start
    this.point = `const ${skips} = ${name('$calls')}.skips; ${name('$calls')}.skips = false; if (!${skips}) { ${this.point}`
    if (end === 0) this.point += ' }'
    else draft.insert(end, ENDS_BODY, 0, ' }')
    return `${source.slice(first, end || first)}; ${last}`
  }

  /** A function that begins a call, and does without a generator where it can. */
  entry() {
    const { reading, name, options, source } = this
    const own = /** @type {Routine} */ (reading.own)
    const { parameterNames, isSimple, usesThis, usesEval, usesSuper, usesWith, yields, lexical } = reading
    const self = name('$self')
    const run = name('$run')
    const left = `${name('$budget')}.left`
    const isPlain = isSimple && this.arguments().length === 0 && !usesEval && !usesSuper && !usesWith && yields.length === 0 && !own.isGenerator &&
      !own.isAsync && options.budgeted !== false && !(own.isArrow && lexical.length > 0) &&
      new Set(parameterNames).size === parameterNames.length
    if (!isPlain) return `function (...args) { return ${run}(${self}.apply(this, args)) }`
    const names = parameterNames.join(', ')
    const given = usesThis ? `.call(this${names && `, ${names}`})` : `(${names})`
    const head = `function (${names}) {`
    if (reading.loops.length === 0 && !this.delegates) {
      const points = reading.callStatements.length + 1
      const plain = name('$plain')
      return `(${plain} => ${head} if (${left} > ${points}) { ${left} -= ${points}; return ${plain}${given} } ` +
        `return ${run}(${self}${given}) })(${own.isArrow ? source : `function ${source.slice(reading.parameters)}`})`
    }
    const guards = this.guard()
    if (guards === '') return `${head} return ${run}(${self}${given}) }`
    return `${head} if (${left} > 1 && ${name('$calls')}.depth < ${DEEPEST}) { ${left}--; ${guards} ` +
      `${name('$calls')}.skips = true; return ${name('$start')}(${self}${given}) } return ${run}(${self}${given}) }`
  }

  /** Its parameters and its body. */
  text() {
    const { draft, reading, variables, point } = this
    const start = `${variables} ${point}`
    draft.sort()
    const { parameters, parametersEnd, body, bodyEnd, prologueEnd, hasBlock } = reading
    let head = draft.text(parameters, parametersEnd)
    if (!head.startsWith('(')) head = `(${head})`
    if (!hasBlock) return `${head} {${start} return (${draft.text(body, bodyEnd)}) }`
    const prologue = this.source.slice(body, prologueEnd)
    return `${head} {${prologue}${prologue === '' ? '' : ';'}${start}${draft.text(prologueEnd, bodyEnd)}}`
  }

  /** @returns {any} */
  result() {
    const { fn, reading, evaluate, options, home, helpers } = this
    const own = /** @type {Routine} */ (reading.own)
    // In the body of a `with` no name is sure to be ours; `super` is.
    const isMethod = (reading.usesSuper && home !== undefined) || reading.usesWith
    const { name } = this
    const entry = this.entry()
    const text = this.text()
    const key = JSON.stringify(fn.name)
    const strict = options.strict ?? (evaluate === undefined ? strictness(fn, reading) : false)
    this.bindDefaults()
    const holder = name('$holder')
    const self = name('$self')
    const enter = name('$enter')
    const build = (/** @type {boolean} */ isStrict) => evaluated(`((${[...this.bindings.keys()].join(', ')}) => {` +
      `${isStrict ? " 'use strict';" : ''}${helpers.length > 0 ? ` ${helpers.join(' ')}` : ''} ` +
      `const ${holder} = { ${isMethod ? `*${key}` : `${key}: function* `}${text} }, ${self} = ${holder}[${key}], ` +
      `${enter} = ${entry}; return { holder: ${holder}, self: ${self}, enter: ${enter} } })`, fn, evaluate)
    let factory
    try {
      factory = build(strict ?? true)
    } catch (error) {
      if (!(error instanceof SyntaxError) || strict !== undefined) throw this.explained(error)
      factory = build(false)
    }
    const made = factory(...this.bindings.values())
    if (isMethod) Object.setPrototypeOf(made.holder, home === undefined ? withinWith : Object.getPrototypeOf(home))
    let generatorFunction = made.self
    define(generatorFunction, fn, undefined)
    if (own.isAsync) generatorFunction = adopting(generatorFunction)
    if (this.lost.length > 0) generatorFunction = this.explaining(generatorFunction, this.lost)
    define(generatorFunction, fn, `function* ${text}`)
    register(generatorFunction, fn, own, generatorFunction === made.self ? made.enter : wayInto(generatorFunction))
    return this.self = generatorFunction
  }

  bindDefaults() {
    const { name, bindings } = this
    bindings.set(name('$budget'), budget)
    bindings.set(name('$calls'), calls)
    bindings.set(name('$run'), run)
    bindings.set(name('$start'), start)
    if (this.reading.awaits.length > 0) bindings.set(name('$wait'), waitFor)
    if (this.reading.loops.some(loop => loop.isAwait)) {
      bindings.set(name('$iterate'), (/** @type {any} */ iterable) => new AsyncSteps(iterable))
    }
  }

  /** @param {any} error */
  explained(error) {
    if (!(error instanceof SyntaxError)) return error
    return new SyntaxError(`${this.label}: ${error.message}` + (this.reading.usesSuper
      ? '; super needs { home }, or evaluate from inside the method'
      : '; private names need evaluate from inside the class'), { cause: error })
  }

  /** Variables that neither the page nor the options have. @returns {string[]} */
  lostNames() {
    if (this.evaluate !== undefined) return []
    return [...this.free.keys()].filter(name => name !== 'arguments' && name !== 'yield' && !this.bindings.has(name) &&
      !(name in globalThis))
  }

  /** @param {any} inner @param {string[]} lost */
  explaining(inner, lost) {
    const { fn } = this
    return function* (/** @type {any[]} */ ...args) {
      try {
        return yield* Reflect.apply(inner, this, args)
      } catch (error) {
        const name = error instanceof ReferenceError && lost.find(name => error.message.split(/[^\w$]/).includes(name))
        if (!name) throw error
        throw new ReferenceError(`${name} is not defined: preemptify evaluates the source of ${fn.name || 'the function'} ` +
          'anew, outside of where it was written; hand its variables in, { evaluate: s => eval(s) } for all, ' +
          `{ scope: { ${name} } } for values, { calls: { ${name} } } for preemptible functions`, { cause: error })
      }
    }
  }
}

/**
 * @param {any} generatorFunction @param {any} original @param {{ isAsync: boolean, isGenerator: boolean }} kind
 * @param {Function} awaited
 */
function register(generatorFunction, original, { isAsync, isGenerator }, awaited) {
  const call = isAsync ? original : awaited
  Object.defineProperty(generatorFunction, known, { value: { original, isAsync, isGenerator, call, awaited } })
}

/** @param {any} generatorFunction @param {any} fn @param {string | undefined} source */
function define(generatorFunction, fn, source) {
  Object.defineProperty(generatorFunction, 'name', { value: fn.name, configurable: true })
  Object.defineProperty(generatorFunction, 'length', { value: fn.length, configurable: true })
  if (source !== undefined) Object.defineProperty(generatorFunction, 'source', { value: source, configurable: true })
}

/** An async function's errors reject, its parameters' too, and its result is awaited. @param {any} inner */
function adopting(inner) {
  return function* (/** @type {any[]} */ ...args) {
    const result = yield* Reflect.apply(inner, this, args)
    return isObject(result) ? yield new Promise(resolve => resolve(result)) : result
  }
}

/** A variable as a property. @param {() => any} get @param {(value: any) => void} set */
const access = (get, set) => ({
  get value() {
    return get()
  },
  set value(value) {
    set(value)
  }
})

/** How a call of a generator function begins. @param {any} generatorFunction @returns {Function} */
function wayInto(generatorFunction) {
  return function (/** @type {any[]} */ ...args) {
    const result = Reflect.apply(generatorFunction, this, args)
    return isIterator(result) ? run(result) : result
  }
}

/**
 * How a call of a preemptible function begins; one that is not there yet is looked up when it is called.
 *
 * @param {any} callee @param {() => any} get @param {'call' | 'awaited'} way @param {string} name @returns {Function}
 */
function entry(callee, get, way, name) {
  if (isGeneratorFunction(callee)) return callee[known]?.[way] ?? wayInto(callee)
  /** @type {any} */
  let found
  return function (/** @type {any[]} */ ...args) {
    if (found === undefined) {
      const callee = get()
      if (!isGeneratorFunction(callee)) throw new TypeError(`${name} is not a preemptible function`)
      found = entry(callee, get, way, name)
    }
    return Reflect.apply(found, this, args)
  }
}

/**
 * Whether a name may be assigned to where it stands; when in doubt it may.
 *
 * @param {Reading} reading @param {number} start @param {number} end
 */
function isTarget({ source }, start, end) {
  const tokens = new Tokens(source, end)
  tokens.next(false)
  return !['(', '.', ')', ';', '?.', '==', '===', '!=', '!==', '+', '-', '&&', '||', '?', '`'].includes(tokens.value) ||
    (/[+-]\s*$/).test(source.slice(Math.max(0, start - 20), start))
}

/** @param {string} option @param {string} name */
function refuseName(option, name) {
  const tokens = new Tokens(name)
  tokens.next(false)
  if (tokens.type !== NAME || tokens.start !== 0 || tokens.end !== name.length) {
    throw new TypeError(`${option} has a key that is not a name: ${describe(name)}`)
  }
}

/** @param {any} target @param {any} options */
function preemptifyMethods(target, options) {
  const { methods } = options
  if (!Array.isArray(methods)) throw wrongType('methods', 'an array of names', methods)
  for (const name of methods) {
    if (typeof name !== 'string' && typeof name !== 'symbol') throw wrongType('methods', 'an array of names', methods)
  }
  if (typeof target === 'function') return preemptifyClass(target, options)
  if (!isObject(target)) throw wrongType('fn', 'a class or an object with methods', target)
  const { methods: _, ...others } = options
  const result = Object.create(Object.getPrototypeOf(target), Object.getOwnPropertyDescriptors(target))
  /** @type {[string | symbol, any][]} */
  const made = []
  for (const name of methods) {
    const descriptor = Object.getOwnPropertyDescriptor(target, name)
    if (typeof descriptor?.value !== 'function') {
      throw new TypeError(`methods names ${describe(name)}, which is no method of the object`)
    }
    const { value } = descriptor
    const rewriting = new Rewriting(value, sourceOf(value), { ...others, home: result }, { text: '', members: methods })
    made.push([name, { ...descriptor, value: rewriting.result() }])
  }
  for (const [name, descriptor] of made) Object.defineProperty(result, name, descriptor)
  return result
}

/**
 * The source of a class is evaluated anew, with some of its methods rewritten; so its private names and `super` are
 * its own.
 *
 * @param {any} target @param {any} options
 */
function preemptifyClass(target, options) {
  const { methods, evaluate, ...others } = options
  const source = sourceOf(target)
  const members = methods.filter((/** @type {any} */ name) => typeof name === 'string')
  const reading = read(source, () => false, () => false)
  if (!reading.isClass) throw new TypeError(`${labelOf(target)}: { methods } is for classes and objects`)
  const draft = new Draft(source)
  const bindings = new Map(Object.entries(options.scope ?? {}))
  /** @type {string[]} */
  const helpers = []
  /** @type {{ key: string, isStatic: boolean, isAsync: boolean, isGenerator: boolean }[]} */
  const made = []
  for (const method of methods) {
    const elements = reading.elements.filter(element => nameOf(element) === method)
    if (elements.length === 0) throw new TypeError(`methods names ${describe(method)}, which is no method of ${target.name}`)
    for (const element of elements) {
      const text = source.slice(element.codeStart, element.end)
      const rewriting = new Rewriting(target, text, { ...others, evaluate }, { text: source, members })
      for (const [name, value] of rewriting.bindings) bindings.set(name, value)
      rewriting.bindDefaults()
      for (const [name, value] of rewriting.bindings) bindings.set(name, value)
      helpers.push(...rewriting.helpers)
      const { element: own } = rewriting.reading
      draft.replace(element.codeStart, element.end, `*${text.slice(own.keyStart, own.keyEnd)}${rewriting.text()}`)
      made.push({ key: method, isStatic: element.isStatic, isAsync: own.isAsync, isGenerator: own.isGenerator })
    }
  }
  draft.sort()
  const text = draft.text(0, source.length)
  const factory = evaluated(`((${[...bindings.keys()].join(', ')}) => { ${[...new Set(helpers)].join(' ')} ` +
    `return ${text} })`, target, evaluate)
  const result = factory(...bindings.values())
  for (const { key, isStatic, isAsync, isGenerator } of made) {
    if (key.startsWith('#')) continue
    const original = (isStatic ? target : target.prototype)[key]
    const method = (isStatic ? result : result.prototype)[key]
    register(method, original, { isAsync, isGenerator }, wayInto(method))
  }
  if (!Object.hasOwn(result, 'source')) Object.defineProperty(result, 'source', { value: text, configurable: true })
  return result
}

/** @param {any} element */
const nameOf = ({ key, keyType, isComputed }) => isComputed ? undefined
  : keyType === STRING ? (0, eval)(key) : keyType === LITERAL ? String(Number(key)) : key
