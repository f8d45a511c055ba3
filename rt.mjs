/**
 * rt.mjs: a real-time scheduler for web pages, as one ES module without imports.
 *
 * Work is written as generators. Each `yield` is a preemption point: there the scheduler may give the
 * processor to a job with an earlier deadline or a higher priority (Dietrich et al., RT.js, RTSS 2019).
 *
 *   event loop | round ........................ | browser | round ....
 *              | slice ....... | slice ........ |
 *              | budget budget | budget budget  |
 *                ^ points          ^ read the clock, charge, fire due entries, choose the next job
 *
 *   budget  preemption points between two readings of the clock
 *   slice   ms before jobs of equal rank take turns
 *   round   ms before the scheduler returns to the event loop
 *   rank    the keys by which a node is ordered: a job's own, those of its reservation, or inherited ones
 *   node    an element of a queue: a job, a waiter outside of jobs, a group of reserved jobs, or an entry of
 *           the timeline
 *
 * States of a job. Each arrow names the function that moves it.
 *
 *            spawn            arrive         dispatch
 *   (release) ---> pending ----------> ready <------> running --finish--> done, failed, cancelled
 *                                      ^   ^            |  |
 *                               unblock|   |Group       |  |block
 *                                      |   v change     |  |
 *                                      |  depleted <----+  |
 *                                    waiting <-------------+
 *
 * Invariants. Tests check 1 to 6 after every slice, and 7 to 9 over whole runs.
 *   1 At most one job is dispatched.
 *   2 A job is in exactly one of timeline, ready queue, group, wait queue, ended. The running job stays where
 *     it was ready.
 *   3 The ready order is total: band, keys of the policy, sequence number.
 *   4 The stack of critical sections is last in, first out, and its ceilings never fall towards the top.
 *   5 A job that passed the ceiling test never blocks on a Resource.
 *   6 A depleted group has a replenishment on the timeline or a postponed deadline.
 *   7 Charged time sums to slice time.
 *   8 No alarm fires early.
 *   9 A resume allocates nothing beyond the engine's own iterator result.
 *
 * Times are milliseconds on the host's clock. A larger priority is more important.
 *
 * @module rt
 */

// Globals are read once, because modules also see later declarations of page scripts, for example `class
// Map`.
const {
  Array, Error, JSON, Map, Math, Number, Object, Promise, RangeError, Reflect, Set, String, Symbol, TypeError,
  WeakMap, WeakSet
} = globalThis

// -------------------------------------------------------------------------------------- 1 policies and ranks

/**
 * A scheduling policy. Keys stay fixed between releases, except by setting a job's deadline or priority, by
 * inheritance, and by reservations.
 *
 * @typedef {object} Policy
 * @property {string} name
 * @property {(a: Keys, b: Keys) => number} compare negative if `a` is more eligible, 0 if both rank equal
 * @property {(task: { deadline: number, priority: number, period: number }) => number} level the preemption
 *   level, fixed at release: a job of a larger level preempts one of a smaller level (Baker 1991)
 * @property {(task: { deadline: number, priority: number, period: number }) => number} [priority] the
 *   priority at release, if the policy assigns priorities
 */
/**
 * The values that a policy can compare: a job's, or a copy of them.
 *
 * @typedef {{ readonly absoluteDeadline: number, readonly priority: number, readonly deadline?: number,
 *   readonly release?: number, readonly period?: number, readonly id?: number, readonly name?: string,
 *   readonly task?: Task | null }} Keys
 */

/**
 * Earliest deadline first, then the larger priority (Liu, Layland 1973).
 *
 * @type {Policy}
 *
 * @example
 * const scheduler = new Scheduler({ policy: edf })
 * scheduler.spawn(() => console.log('later'), { deadline: 200 })
 * scheduler.spawn(() => console.log('sooner'), { deadline: 100 })
 * await scheduler.idle() // → sooner, later
 */
export const edf = Object.freeze({
  name: 'edf',
  compare: (a, b) => a.absoluteDeadline === b.absoluteDeadline ? b.priority - a.priority
    : a.absoluteDeadline - b.absoluteDeadline,
  level: task => -task.deadline,
  priority: undefined // not one of Object.prototype
})

/**
 * Fixed priority: the larger priority first.
 *
 * @type {Policy}
 *
 * @example
 * const scheduler = new Scheduler({ policy: fp })
 * scheduler.spawn(() => console.log('low'), { priority: 1 })
 * scheduler.spawn(() => console.log('high'), { priority: 2 })
 * await scheduler.idle() // → high, low
 */
export const fp = Object.freeze({
  name: 'fp',
  compare: (a, b) => b.priority - a.priority,
  level: task => task.priority,
  priority: undefined
})

/**
 * Rate monotonic: fixed priority, where the priority of a task with a period is its rate, 1 / period. A task
 * without a period keeps its own priority; the default priority 0 ranks below every rate (Liu, Layland 1973).
 *
 * @type {Policy}
 *
 * @example
 * const scheduler = new Scheduler({ policy: rm })
 * scheduler.spawn(() => console.log('every 50 ms'), { period: 50 })
 * scheduler.spawn(() => console.log('every 10 ms'), { period: 10 })
 * await scheduler.idle() // → every 10 ms, every 50 ms
 */
export const rm = Object.freeze({
  ...fp,
  name: 'rm',
  priority: task => task.period < Infinity ? 1 / task.period : task.priority
})

/** Bands order ranks before their keys do. */
const RESERVED = 1 // above all jobs without a reservation (fixed priority)
const ORDINARY = 0
const BACKGROUND = -1 // after all other jobs: a depleted reservation
const DEPLETED = -2 // does not run

/**
 * The keys by which a node is ordered. A rank is immutable: if the keys of a node change, the node gets
 * another rank. Inheritance therefore copies a single reference, which includes the reservation that pays
 * (bandwidth inheritance).
 */
class Rank {
  /**
   * @param {number} band @param {number} key
   * @param {number} tie the numbers of the policy: smaller ones rank first
   * @param {number} deadline relative, ms @param {number} priority
   * @param {Group | null} group the reservation that pays for time under this rank
   * @param {Comparison | null} comparison null for edf, fp and rm
   * @param {Keys | null} keys the arguments of `comparison`
   */
  constructor(band, key, tie, deadline, priority, group, comparison, keys) {
    this.band = band
    this.key = key
    this.tie = tie
    this.deadline = deadline
    this.priority = priority
    this.group = group
    this.comparison = comparison
    this.keys = keys
  }
}

/** @typedef {(a: Keys, b: Keys) => number} Comparison */

/** The rank of jobs that do not run. */
const DEPLETED_RANK = /* @__PURE__ */ new Rank(DEPLETED, 0, 0, Infinity, 0, null, null, null)

/**
 * @param {Rank} a @param {Rank} b @returns {number} negative if `a` is more eligible, 0 if both rank equal
 */
function compareRanks(a, b) {
  if (a === b) return 0
  if (a.band !== b.band) return b.band - a.band
  if (a.key !== b.key) return a.key < b.key ? -1 : 1
  if (a.tie !== b.tie) return a.tie < b.tie ? -1 : 1
  return a.comparison === null || a.keys === null || b.keys === null ? 0 : a.comparison(a.keys, b.keys)
}

/** The rank of code that waits outside of jobs: after all jobs with a deadline or a priority. */
const OUTSIDE = /* @__PURE__ */ new Rank(ORDINARY, Infinity, 0, Infinity, 0, null, null,
  { absoluteDeadline: Infinity, priority: 0 })

/**
 * Makes a rank from the keys of a job or a reservation.
 *
 * @param {Core} core @param {number} band @param {Keys} keys @param {number} deadline relative, ms
 * @param {Group | null} group
 */
function rankOf(core, band, keys, deadline, group) {
  const { absoluteDeadline, priority } = keys
  switch (core.order) {
    case EDF: return new Rank(band, absoluteDeadline, -priority, deadline, priority, group, null, null)
    case FP: return new Rank(band, -priority, 0, deadline, priority, group, null, null)
    default: return new Rank(band, 0, 0, deadline, priority, group, core.comparison, keys)
  }
}

// How a scheduler turns keys into numbers. Policies are recognized by their compare functions.
const EDF = 1
const FP = 2
const CUSTOM = 3
/** @param {Policy} policy */
const orderOf = ({ compare }) => compare === edf.compare ? EDF : compare === fp.compare ? FP : CUSTOM

/**
 * A user's `compare`, wrapped once: an error or NaN counts as equal, so that no queue loses a job. The error
 * is reported once per round.
 *
 * @param {Core} core @returns {Comparison}
 */
const comparisonOf = core => (a, b) => {
  try {
    return core.policy.compare(a, b) || 0
  } catch (error) {
    reportOfPolicy(core, error)
    return 0
  }
}

/**
 * Reports an error of a policy, once per round, and ends the round.
 *
 * @param {Core} core @param {unknown} error
 */
function reportOfPolicy(core, error) {
  if (core.roundEnds === -Infinity) return
  core.roundEnds = -Infinity
  report(core, error, null)
}

/** The rank of a job's own keys. @param {Job} job @param {number} deadline @param {number} priority */
function ownRank(job, deadline, priority) {
  const { core, release } = job
  if (core.order !== CUSTOM && deadline === Infinity && priority === 0) return core.plainRank
  const absoluteDeadline = release + deadline
  if (core.order !== CUSTOM) return rankOf(core, ORDINARY, { absoluteDeadline, priority }, deadline, null)
  const { id, name, task, period } = job
  const keys = { id, name, task, release, deadline, absoluteDeadline, priority, period }
  return rankOf(core, ORDINARY, keys, deadline, null)
}

// ------------------------------------------------------------------------------------------- 2 the one queue

/**
 * A member of a queue. `seq` is its place in the order of arrival. `queue` is null outside of queues. `slot`
 * is the slot of its run, if the node starts a run. `before` and `after` are its neighbours in the run.
 *
 * @typedef {{ rank: any, seq: number, queue: any, slot: number, before: any, after: any }} Node
 */

/**
 * @param {Node} a @param {Node} b
 * @returns {boolean} the total order of all queues: by rank, then by sequence number
 */
function precedes(a, b) {
  const order = compareRanks(a.rank, b.rank)
  return order < 0 || order === 0 && a.seq < b.seq
}

/** @param {Rank} rank @returns {number} a number that follows the order of ranks as far as one number can */
const numberOf = ({ band, key }) => band !== 0 ? -band * Infinity : key

/**
 * A stable priority queue in O(log n): a 4-ary heap of sorted runs. A node that follows the node pushed last
 * extends its run at the cost of one comparison. Nodes that arrive in order, as nodes of equal rank do,
 * therefore cost the same in a queue of 10 as in a queue of 100,000. Without runs, spawning 1000 functions is
 * 1.9 to 2.5 times slower (Node 20).
 *
 * @template {Node} N
 */
class Queue {
  constructor() {
    this.size = 0
    /** @type {N | null} */
    this.first = null
    /** The first nodes of all runs, except the run of `first`. Usually empty. @type {N[]} */
    this.heads = []
    /** The numbers of these nodes, so that most comparisons look at no node. @type {number[]} */
    this.keys = []
    /** The node pushed last, or the node before it in its run. @type {N | null} */
    this.last = null
  }

  /** @param {N} node a node outside of queues */
  insert(node) {
    insertInto(this, node)
  }

  /** @returns {N | null} the first node, removed */
  pop() {
    const { first } = this
    if (first !== null) this.delete(first)
    return first
  }

  /**
   * @param {N} node @throws {Error} if the node is in another queue: its state and its queue are inconsistent
   */
  delete(node) {
    deleteFrom(this, node)
  }

  /** @param {N | null} next the node after the removed first node in its run */
  findFirst(next) {
    const other = this.heads.length === 0 ? null : this.heads[0]
    const isNext = other === null || next !== null && precedes(next, other)
    this.first = isNext ? next : other
    if (!isNext) this.fill(0, next)
  }

  /**
   * Fills a free slot.
   *
   * @param {number} slot @param {N | null} next the rest of its run; null: the last run moves there
   */
  fill(slot, next) {
    if (next !== null) return this.#sift(slot, next, numberOf(next.rank))
    const node = /** @type {N} */ (this.heads.pop())
    const key = /** @type {number} */ (this.keys.pop())
    if (slot < this.heads.length) this.#sift(slot, node, key)
  }

  /**
   * Puts a run where it belongs, starting at a free slot.
   *
   * @param {number} slot @param {N} node @param {number} key
   */
  #sift(slot, node, key) {
    const { heads, keys } = this
    while (slot > 0) {
      const parent = (slot - 1) >> 2
      if (!this.#isBefore(node, key, parent)) break
      this.#set(slot, heads[parent], keys[parent])
      slot = parent
    }
    for (;;) {
      let child = 4 * slot + 1
      const end = Math.min(child + 4, heads.length)
      for (let other = child + 1; other < end; other++) {
        if (this.#isBefore(heads[other], keys[other], child)) child = other
      }
      if (child >= end || this.#isBefore(node, key, child)) break
      this.#set(slot, heads[child], keys[child])
      slot = child
    }
    this.#set(slot, node, key)
  }

  /** @param {N} node @param {number} key @param {number} slot the slot of another run */
  #isBefore(node, key, slot) {
    const other = this.keys[slot]
    return key < other || key === other && precedes(node, this.heads[slot])
  }

  /** @param {number} slot @param {N} node @param {number} key */
  #set(slot, node, key) {
    this.heads[slot] = node
    this.keys[slot] = key
    node.slot = slot
  }
}

/** @template {Node} N @param {Queue<N>} queue @param {N} node */
function insertInto(queue, node) {
  node.queue = queue
  if (queue.size++ === 0) {
    queue.first = queue.last = node
    return
  }
  const { first, last } = queue
  if (last !== null && precedes(last, node)) {
    last.after = node
    node.before = last
  } else {
    const isFirst = precedes(node, /** @type {N} */ (first))
    if (isFirst) queue.first = node
    queue.fill(queue.heads.length, isFirst ? first : node)
  }
  queue.last = node
}

/** @template {Node} N @param {Queue<N>} queue @param {N} node */
function deleteFrom(queue, node) {
  if (node.queue !== queue) throw new Error('removed from a queue that it is not in')
  node.queue = null
  if (--queue.size === 0) {
    queue.first = queue.last = null
    return
  }
  const { before, after, slot } = node
  node.before = node.after = null
  if (queue.last === node) queue.last = before
  if (after !== null) after.before = before
  if (before !== null) before.after = after
  else if (node !== queue.first) queue.fill(slot, after)
  else queue.findFirst(after)
}

// ------------------------------------------------------------------------------------------ 3 tasks and jobs

/** A value that a job may yield. @typedef {void | Iterator<any, any, any> | PromiseLike<any>} Yieldable */
/** A function that can be work. @typedef {(...args: any[]) => any} AnyFunction */
/**
 * Work: the code of a job. A pair is a method call: `[object, 'method']`.
 *
 * @typedef {AnyFunction | Task<any, any> | Iterator<any, any, any> | readonly [object, PropertyKey]} Work
 */
/**
 * The result of a job whose code returns `T`.
 *
 * @template T
 * @typedef {T extends Iterator<any, infer R, any> ? R : Awaited<T>} Outcome
 */
/**
 * The function of a pair.
 *
 * @template W
 * @typedef {W extends readonly [infer O, infer K] ? K extends keyof O ? O[K] : never : never} MethodOf
 */
/**
 * The result of work.
 *
 * @template W
 * @typedef {W extends readonly [object, PropertyKey] ? ResultOf<MethodOf<W>>
 *   : W extends { run(...args: any[]): infer R } ? Outcome<R>
 *   : W extends (...args: any[]) => infer R ? Outcome<R> : Outcome<W>} ResultOf
 */
/**
 * The arguments of work.
 *
 * @template W
 * @typedef {W extends readonly [object, PropertyKey] ? ArgumentsOf<MethodOf<W>>
 *   : W extends { run: infer F } ? ArgumentsOf<F> : W extends (...args: infer A) => any ? A : []} ArgumentsOf
 */
/**
 * @template W
 * @typedef {W extends readonly [object, PropertyKey] ? YieldOf<MethodOf<W>> : W extends { run: infer F } ?
 *   YieldOf<F> : W extends (...args: any[]) => infer R ? YieldOf<R> : W extends Iterator<infer Y, any, any> ?
 *   Y : W extends AsyncIterator<any, any, any> ? 'not a generator' : never} YieldOf
 */
/**
 * Rejects work that yields a value that a job may not yield.
 *
 * @internal
 * @template W
 * @typedef {[YieldOf<W>] extends [Yieldable] ? unknown : unknown extends YieldOf<W> ? unknown
 *   : 'a job may yield nothing, a generator, a promise, a job or a waitable'} Checked
 */
/**
 * Rejects work that cannot be called with the arguments `A`, of which it may leave some out.
 *
 * @internal
 * @template W @template {any[]} A
 * @typedef {A extends [...ArgumentsOf<W>, ...any[]] ? Checked<W> : ArgumentsOf<W>} Taking
 */

/**
 * @typedef {object} TaskOptions
 * @property {string} [name] the name in traces and messages; default: the name of the function or class
 * @property {number} [deadline] ms after the release, > 0; default Infinity
 * @property {number} [priority] a finite number, larger is more important; default 0
 * @property {number} [period] ms, > 0; default Infinity
 * @property {number} [wcet] the declared worst-case execution time, ms, >= 0; default Infinity
 * @property {number | 'auto'} [budget] preemption points between two readings of the clock; default: the
 *   scheduler's
 * @property {'continue' | 'abort'} [miss] whether a job is cancelled at its deadline; default 'continue'
 * @property {(job: Job) => void} [onMiss] called once per job when its miss is detected, before the
 *   scheduler's handler
 * @property {(job: Job) => void} [onOverrun] called once per job when its cost exceeds its wcet, before the
 *   scheduler's handler
 * @property {Scheduler} [scheduler] the scheduler of the jobs; default: the scheduler of the running job, or
 *   `rt`
 * @property {object} [reservation] the Reservation (addons/reservations.mjs) that pays for the jobs
 * @property {object[]} [uses] the Resources (sync.mjs) that the jobs may use
 * @property {readonly { resource?: any, wcet: number }[]} [sections] critical sections, for
 *   addons/schedulable.mjs
 */
/**
 * @typedef {object} JobOptions the options of one job
 * @property {number} [release] host timestamp, ms, past or future; default now. The deadline counts from the
 *   release
 * @property {AbortSignal} [signal] cancels the job with its reason
 */

const AUTO = 0

// Options whose code checks them itself.
const unchecked = () => {}
/**
 * The parameters of a task or job: name, check, default. Every other list of parameters derives from this
 * one.
 */
const PARAMETERS = {
  /** @type {[check: Check, value: string]} */
  name: [text, ''],
  /** @type {[check: Check, value: number]} */
  deadline: [positive, Infinity],
  /** @type {[check: Check, value: number]} */
  priority: [finite, 0],
  /** @type {[check: Check, value: number]} */
  period: [positive, Infinity],
  /** @type {[check: Check, value: number]} */
  wcet: [notNegative, Infinity],
  /** @type {[check: Check, value: any]} */
  budget: [points, undefined],
  /** @type {[check: Check, value: string]} */
  miss: [/* @__PURE__ */ oneOf('continue', 'abort'), 'continue'],
  /** @type {[check: Check, value: any]} */
  onMiss: [callable, undefined],
  /** @type {[check: Check, value: any]} */
  onOverrun: [callable, undefined],
  /** @type {[check: Check, value: any]} */
  reservation: [reservationHook, undefined],
  /** @type {[check: Check, value: any]} */
  uses: [resourceHooks, undefined],
  /** @type {[check: Check, value: any]} */
  sections: [array, undefined],
  /** @type {[check: Check, value: any]} */
  scheduler: [schedulerOption, undefined]
}
const PARAMETER_NAMES = /* @__PURE__ */ Object.keys(PARAMETERS)
/** @type {any} */
const DEFAULTS = {
  .../* @__PURE__ */ tableOf(PARAMETER_NAMES, name => /** @type {any} */ (PARAMETERS)[name][1])
}
/** @type {Record<string, Check>} */
const TASK_OPTIONS = /* @__PURE__ */ tableOf(PARAMETER_NAMES, () => unchecked)
const SPAWN_OPTIONS = { ...TASK_OPTIONS, release: unchecked, signal: unchecked }
/** @type {any} */
const NO_OPTIONS = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ tableOf([], unchecked))

/**
 * The checked parameters of a job.
 *
 * @typedef {{ name: string, deadline: number, priority: number, period: number, wcet: number, budget: number
 *   | undefined, miss: 'continue' | 'abort', onMiss?: (job: Job) => void, onOverrun?: (job: Job) => void,
 *   reservation: any, uses: ResourceHook[] | undefined }} Parameters
 */

/**
 * Checks the parameters of a job.
 *
 * @param {any} given options of the spawn, which override those of the task @param {any} task
 * @returns {Parameters}
 * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
 */
function parametersOf(given, task) {
  const parameters = { ...DEFAULTS }
  // Reading all parameters of few options doubles the time of a spawn (Node 20, `bench/spawn.mjs`).
  const isPlainObject = task === null && Object.getPrototypeOf(given) === Object.prototype
  const names = isPlainObject ? Object.getOwnPropertyNames(given) : PARAMETER_NAMES
  for (let i = 0; i < names.length; i++) {
    const name = names[i]
    if (isPlainObject && !hasOwn(PARAMETERS, name)) continue
    // The name of a task is the name of its jobs anyway.
    let value = given[name]
    if (value === undefined && task !== null && name !== 'name') value = task[name]
    if (value !== undefined) parameters[name] = /** @type {any} */ (PARAMETERS)[name][0](name, value)
  }
  return parameters
}

/** The parameters of most jobs. @type {Parameters} */
const PLAIN = /* @__PURE__ */ Object.freeze(parametersOf(NO_OPTIONS, null))
/** Parameters of a continuation outside of jobs: see `rt.yield`. @type {Parameters} */
const CONTINUATION = /* @__PURE__ */ Object.freeze({ ...PLAIN, name: 'continuation' })

/** Whether the rank of a job holds all of its parameters. @param {Parameters} parameters */
const isPlain = ({ name, period, wcet, budget, miss, onMiss, onOverrun, reservation, uses }) =>
  name === '' && period === Infinity && wcet === Infinity && budget === undefined && miss === 'continue' &&
  onMiss === undefined && onOverrun === undefined && reservation === undefined && uses === undefined

/**
 * Recurring work and its static parameters: each `release` makes a job (Liu, Layland 1973). Give it a
 * function, or derive a class with a method `run`; write either as a generator if the work should be
 * preemptible.
 *
 * The parameters are properties of the task. They are checked and read at each release.
 *
 * @template {any[]} [A=any[]] the arguments of a release
 * @template [R=unknown] the result
 *
 * @example
 * const count = new Task(function* (n = 0) {
 *   for (let i = 0; i < n; i++) yield
 *   return n
 * }, { deadline: 500, miss: 'abort' })
 * console.log(await count.release(100)) // → 100
 * console.log(await count.release(200)) // → 200
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
   * @param {(...args: A) => Iterator<Yieldable, R, any>} work the code of a job
   * @param {TaskOptions} [options]
   */
  /**
   * @overload
   * @param {(...args: A) => PromiseLike<R>} work
   * @param {TaskOptions} [options]
   */
  /**
   * @overload
   * @param {((...args: A) => R) & Checked<R>} work
   * @param {TaskOptions} [options]
   */
  /**
   * @overload
   * @param {TaskOptions} [options] the options of a derived class, whose method `run` is the code of a job
   */
  /**
   * @param {any} [work] @param {any} [options]
   * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
   */
  constructor(work, options) {
    if (typeof work === 'function') {
      this.run = work
      this.name = nameOf(work)
    } else {
      const isOptions = options === undefined && typeof work === 'object' && work !== null
      if (options !== undefined || new.target === Task) {
        throw wrongType('work', isOptions ? 'a function, and the options come after it' : 'a function', work)
      }
      callable(`${new.target.name}.run`, this.run === Task.prototype.run ? undefined : this.run)
      this.name = this.constructor.name
      options = work
    }
    if (options !== undefined) knownOptions(options, TASK_OPTIONS)
    for (let i = 0; i < PARAMETER_NAMES.length; i++) {
      const name = PARAMETER_NAMES[i]
      // Fields would hide the accessors of a derived class.
      const isInherited = name in new.target.prototype && !(name in Object.prototype)
      if (isInherited) delete (/** @type {any} */ (this)[name])
      const value = options?.[name]
      if (value !== undefined) /** @type {any} */ (this)[name] = value
    }
    parametersOf(this, null)
  }

  /**
   * The code of a job; derived classes override it.
   *
   * @param {A} args the arguments of `release`
   * @returns {Iterator<Yieldable, R, any> | PromiseLike<R> | R}
   */
  run(...args) {
    void args
    throw new TypeError(`${this.name} has no run method: pass a function to new Task(), or override run()`)
  }

  /**
   * Releases a job now.
   *
   * @param {ArgumentsOf<this['run']>} args the arguments of `run`
   * @returns {Job<ResultOf<this>>}
   * @throws {TypeError | RangeError} if a parameter has become invalid
   */
  release(...args) {
    return /** @type {any} */ (spawn(coreOf(here(this)), this, undefined, args))
  }
}

// The numbers of `job.status`.
const PENDING = 0
const READY = 1
const WAITING = 2
const DONE = 3
const FAILED = 4
const CANCELLED = 5
const STATES = /** @type {const} */ (['pending', 'ready', 'waiting', 'done', 'failed', 'cancelled'])

/**
 * A promise and the functions that settle it.
 *
 * @typedef {{
 *   promise: Promise<any>, resolve: (value: any) => void, reject: (error: unknown) => void
 * }} Deferred
 */

/** The promise of a job's outcome. Tasks have one from the start: see `extend.task`. */
class PromisedOutcome {
  /**
   * @param {boolean} isTask @param {AbortSignal | null} signal each yield rejects once it has been aborted
   */
  constructor(isTask, signal) {
    this.isTask = isTask
    this.signal = signal
    /** @type {(value: any) => void} */
    this.resolve = unchecked
    /** @type {(error: unknown) => void} */
    this.reject = unchecked
    /** @type {Promise<any>} */
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

/**
 * All jobs without arguments share this array: 100,000 jobs spawned together take 15 % less time (Node 20).
 *
 * @type {any[]}
 */
const NO_ARGUMENTS = []
/** `job.generator` of a function that has not been called. */
const UNSTARTED = Symbol('unstarted')

// The progress of a cancellation, in `extras.cancellation`.
const NONE = 0
const REQUESTED = 1
const THROWN = 2

/**
 * The fields that only some jobs need. A job gets its own record at its first wait, or at the end of its
 * first budget.
 */
class Extras {
  constructor() {
    /** @type {Parameters} */
    this.parameters = PLAIN
    /** The rank of the job's own keys, if `job.rank` can be another one. @type {Rank | null} */
    this.own = null
    /**
     * The preemption level, if the deadline or the priority has changed after the release.
     *
     * @type {number | undefined}
     */
    this.level = undefined

    // Calls and resuming
    /** Suspended callers, outermost first. @type {any[] | null} */
    this.callers = null
    /** The waitable that the job waits for. @type {Waitable | null} */
    this.wait = null
    /** Whether the next resume throws `job.input`. */
    this.isThrowing = false
    /** Whether the next resume must hand over `job.input` even to a cancelled job. */
    this.keepsInput = false
    /** @type {AsyncDriver | null} */
    this.driver = null
    /** @type {Admission | null} */
    this.admit = null
    /** Called when the job starts to wait, and when it ends. @type {(() => void) | null} */
    this.onRest = null
    /** The claims that the job holds in rewritten code. @type {Stay | null} */
    this.stay = null
    /** Whether the job claims nothing. */
    this.isFree = false
    /** How many calls of rewritten code by code that is not rewritten have not ended. */
    this.entered = 0

    // Accounts
    /** @type {BudgetTuner | null} */
    this.tuner = null
    /** The cost at the last rotation: slices count from it, across preemptions. */
    this.sliceStart = 0
    /** The cost at the start of the period; Infinity after an overrun. */
    this.periodStart = 0
    /** The cost at which the job has used its deadline, and is ranked anew: see `serve`. */
    this.rechargeAt = Infinity
    /** Called when the job is ranked anew. @type {((absoluteDeadline: number) => void) | null} */
    this.onRecharge = null
    this.preemptions = 0
    this.isMissed = false
    /** Whether some code will see the failure of the job. */
    this.isHandled = false

    // Cancellation, reservation, sections, inheritance. `isSpecial` is true if any of these can matter.
    this.isSpecial = false
    this.cancellation = NONE
    /** @type {unknown} */
    this.reason = undefined
    /** Host timestamp of the request. */
    this.cancelledAt = 0
    /** Unsubscribes from `options.signal`. @type {(() => void) | null} */
    this.unsubscribe = null
    /** Aborts `job.signal`. @type {AbortController | null} */
    this.controller = null
    /** @type {Group | null} */
    this.group = null
    /** The rank after all other jobs, for a depleted reservation. @type {Rank | null} */
    this.background = null
    /** How many critical sections the job is in. */
    this.sections = 0
    /** The wait queues whose first waiter the job inherits from. @type {WaitQueue[]} */
    this.owned = []
    /** @type {WaitQueue | null} */
    this.joiners = null
  }
}

/**
 * The time in which rewritten code would run alone: see addons/preemptify/claims.mjs.
 *
 * @typedef {{ readonly isExclusive: boolean, end(job: Job): void }} Stay `isExclusive`: whether it holds an
 *   exclusive claim, which puts off a cancellation; `end`: releases the claims
 */

/**
 * Called with a job, the job that held the claim, the location that both use, and the time of the wait in ms.
 *
 * @typedef {(job: Job, holder: Job, location: string, ms: number) => string | undefined} WaitListener
 */

/** The record that all other jobs share; it is only read. */
const NO_EXTRAS = /* @__PURE__ */ Object.freeze(new Extras())
/** @param {Job} job @returns {Extras} a record that may be written */
const extrasOf = job => job.extras === NO_EXTRAS ? job.extras = new Extras() : job.extras
/** @param {Job} job @returns {Extras} a record of a job that needs attention at each switch */
function specialOf(job) {
  const extras = extrasOf(job)
  extras.isSpecial = true
  return extras
}

/** @param {Job} job @returns {Rank} */
const ownRankOf = ({ extras, rank }) => extras.own ?? rank

/** @typedef {typeof STATES[number] | 'running' | 'depleted'} JobState */

/** Allows `new Job` for this module only. */
let isCreating = false

/**
 * One run of work, from its release to its finish. `spawn` and `release` create jobs.
 *
 * A job is a thenable: `await job` returns its result or throws its error. In another job, `yield job` does
 * the same. While the other job waits, this job inherits the deadline and the priority of the other job.
 *
 * @template [T=unknown] the result
 *
 * @example
 * const job = rt.spawn(function* () { for (;;) yield }, { name: 'endless' })
 * await sleep(5)
 * console.log(job.name, job.state) // → endless, ready
 * job.cancel()
 * await job.catch(error => console.log(error.name)) // → AbortError
 * console.log(job.state) // → cancelled
 */
export class Job {
  /**
   * @internal
   * @param {Core} core @param {any} work @param {any} generator @param {any} input the arguments
   * @param {number} release
   */
  constructor(core, work, generator, input, release) {
    if (!isCreating) throw new TypeError('jobs are made by spawn() and release()')
    // The fields of a node. There is no base class, because V8 does not inline base constructors in large
    // programs.
    /** @internal @type {Rank} */
    this.rank = core.plainRank
    /** @internal */
    this.seq = 0
    /** @internal @type {any} */
    this.queue = null
    /** @internal */
    this.slot = 0
    /** @internal @type {any} */
    this.before = null
    /** @internal @type {any} */
    this.after = null

    /** @internal @type {Core} */
    this.core = core
    /** @internal a Task, a function, a pair or an iterator */
    this.work = work
    /** @internal */
    this.serial = ++core.stats.jobs
    /** @internal */
    this.status = PENDING
    /** @internal */
    this.releaseTime = release
    /** @internal the innermost generator; UNSTARTED before a function is called; null if there is none */
    this.generator = generator
    /**
     * @internal the arguments, then the value for the next resume, in the end the result or the error
     * @type {any}
     */
    this.input = input
    /** @internal @type {number | undefined} */
    this.startTime = undefined
    /** @internal @type {number | undefined} */
    this.finishTime = undefined
    /** @internal */
    this.charged = 0
    /** @internal on the timeline: the release of a pending job, then the deadline @type {Entry | null} */
    this.entry = null
    /** @internal @type {PromisedOutcome | null} */
    this.deferred = null
    /** @internal @type {Extras} */
    this.extras = NO_EXTRAS
  }

  /** Unique in its scheduler, in the order of creation. */
  get id() { return this.serial }
  /** Host timestamp of the release, ms. */
  get release() { return this.releaseTime }
  /** Host timestamp of the first dispatch, ms; undefined before. @returns {number | undefined} */
  get started() { return this.startTime }
  /** Host timestamp, ms; undefined until the job has ended. @returns {number | undefined} */
  get finished() { return this.finishTime }
  /** Execution time that the job has received, ms. */
  get cost() { return this.charged }
  /** The name given, else the name of the task or function, else 'job' and the id. @returns {string} */
  get name() {
    const { work, id, extras: { parameters } } = this
    return parameters.name || nameOfWork(work) || `job ${id}`
  }
  /** The task of the job; null for work that is not a Task. @returns {Task | null} */
  get task() { return this.work instanceof Task ? this.work : null }
  /**
   * 'pending' until its release; 'ready', 'running', 'waiting', 'depleted'; in the end 'done', 'failed' or
   * 'cancelled'.
   *
   * @returns {JobState}
   */
  get state() {
    const { core, status, extras: { wait } } = this
    const shown = special(wait)?.shownState
    if (core.running === this) return core.inRound ? 'running' : 'ready'
    if (shown !== undefined) return shown
    return isDepleted(this) ? 'depleted' : STATES[status]
  }
  /** Host timestamp, ms; Infinity without a deadline. */
  get absoluteDeadline() { return this.release + this.deadline }
  /**
   * Whether the job missed its deadline: it finished after the deadline, or a reading of the clock after the
   * deadline found it unfinished.
   */
  get missed() { return this.extras.isMissed }
  /**
   * `finished - absoluteDeadline`, signed, ms; undefined until the job has finished.
   *
   * @returns {number | undefined}
   */
  get lateness() { return this.finished === undefined ? undefined : this.finished - this.absoluteDeadline }
  /** How often the job lost the processor while it could continue. */
  get preemptions() { return this.extras.preemptions }
  /** ms; Infinity without a period. */
  get period() { return this.extras.parameters.period }
  /** The preemption level, fixed at the release (Baker 1991). */
  get level() { return levelOf(this) }

  /**
   * The relative deadline, ms after the release. Setting it moves the job in its queue immediately.
   *
   * @returns {number}
   */
  get deadline() { return ownRankOf(this).deadline }
  set deadline(value) {
    setDeadline(this, positive('deadline', value))
  }
  /**
   * The priority: larger is more important. Setting it moves the job in its queue immediately.
   *
   * @returns {number}
   */
  get priority() { return ownRankOf(this).priority }
  set priority(value) {
    changeKeys(this, this.release, this.deadline, finite('priority', value))
  }

  /**
   * An AbortSignal that is aborted when the job is cancelled, for example for `fetch(url, { signal })`. It is
   * created on first use.
   *
   * @returns {AbortSignal}
   */
  get signal() {
    const extras = extrasOf(this)
    if (extras.controller === null) {
      extras.controller = new AbortController()
      if (extras.cancellation !== NONE || this.status === CANCELLED) extras.controller.abort(extras.reason)
    }
    return extras.controller.signal
  }

  /**
   * @template [R=T], [E=never]
   * @param {((value: T) => R | PromiseLike<R>) | null} [onDone]
   * @param {((error: any) => E | PromiseLike<E>) | null} [onFailed]
   * @returns {Promise<R | E>}
   */
  then(onDone, onFailed) {
    return promiseOf(this).then(onDone, onFailed)
  }
  /**
   * @template [E=never] @param {((error: any) => E | PromiseLike<E>) | null} [onFailed]
   * @returns {Promise<T | E>}
   */
  catch(onFailed) {
    return this.then(/** @type {any} */ (undefined), onFailed)
  }
  /** @param {(() => void) | null} [onEnded] @returns {Promise<T>} */
  finally(onEnded) {
    return promiseOf(this).finally(onEnded)
  }

  /**
   * Cancels the job. The reason is thrown once at its current `yield`, in the innermost call; inside a
   * critical section it is thrown at the first yield after the section. The job stops waiting. Its `finally`
   * blocks may yield and wait. A job that has not started ends immediately; a job that catches the reason
   * continues. An async job that awaits a foreign promise gets the reason at its next `job.yield()`.
   *
   * @param {unknown} [reason] default: an AbortError
   * @returns {boolean} `true` if this call cancelled the job; `false` if it had ended or had been cancelled
   *   before
   *
   * @example
   * const job = rt.spawn(async () => {
   *   await sleep(1000, { signal: rt.current?.signal }) // fetch takes the signal, too
   * })
   * after(5, () => job.cancel()) // `using job = ...` cancels the job at the end of the block
   * await job.catch(({ name }) => console.log(name)) // → AbortError
   */
  cancel(reason) {
    return cancel(this, reason)
  }

  /**
   * A preemption point of an async job, after any `await`.
   *
   * @returns {Promise<void>} resolves when the policy picks the job again; rejects if the job has been
   *   cancelled
   * @throws {TypeError} if the job is a generator: write `yield` there
   */
  yield() {
    return yieldIn(this)
  }

  /** @internal settles the wait: see Waitable @param {Waitable} waitable */
  woken(waitable) {
    const { extras } = this
    extras.wait = null
    extras.isThrowing = waitable.phase === REJECTED
    extras.keepsInput = waitable.handsOver && !extras.isThrowing
    this.input = waitable.outcome
    unblock(this)
  }
  /** @internal the job that a node of the ready queue stands for */
  get first() { return this }

  /** Makes `yield* job` work, which types the result. @returns {Generator<Job<T>, T, unknown>} */
  *[Symbol.iterator]() {
    return /** @type {T} */ (yield this)
  }
  /** A job in JSON. */
  toJSON() { return { id: this.id, name: this.name, state: this.state } }
  get [Symbol.toStringTag]() { return 'Job' }

  static {
    // Engines without explicit resource management lack this symbol.
    const { dispose } = /** @type {any} */ (Symbol)
    if (dispose) {
      const end = /** @this {Job} */ function () { this.cancel() }
      Object.defineProperty(this.prototype, dispose, hiddenProperty(end))
    }
  }
}

/** @param {Core} core @param {any} work @param {any} generator @param {any[]} args @param {number} release */
function createJob(core, work, generator, args, release) {
  isCreating = true
  const job = new Job(core, work, generator, args.length === 0 ? NO_ARGUMENTS : args, release)
  isCreating = false
  return job
}

/** @param {any} work @returns {string} */
function nameOfWork(work) {
  if (typeof work === 'function' || work instanceof Task) return nameOf(work)
  return Array.isArray(work) ? String(work[1]) : ''
}

/** @param {unknown} value @returns {value is Job} */
const isJob = value => value instanceof Job

/** @param {Job} job @returns {number} */
const levelOf = job => job.extras.level ?? levelNow(job)
/** @param {Job} job @returns {number} the level by its present keys */
function levelNow(job) {
  try {
    return job.core.policy.level(job)
  } catch (error) {
    reportOfPolicy(job.core, error)
    return -Infinity
  }
}

/** The promise of a job's outcome, created on first use. @param {Job} job @returns {Promise<any>} */
function promiseOf(job) {
  if (job.deferred === null) {
    job.deferred = new PromisedOutcome(false, null)
    if (job.status >= DONE) settlePromise(job, job.deferred)
  }
  return job.deferred.promise
}

/** @template {object} D @param {D} target @returns {D & Deferred} the target, with a new promise */
function defer(target) {
  const deferred = /** @type {D & Deferred} */ (target)
  deferred.promise = new Promise((resolve, reject) => {
    deferred.resolve = resolve
    deferred.reject = reject
  })
  return deferred
}

/** @param {Job} job an ended job @param {PromisedOutcome} deferred */
function settlePromise(job, { promise, resolve, reject }) {
  if (job.status === DONE) return resolve(job.input)
  reject(job.input)
  if (job.status === CANCELLED) promise.catch(() => {}) // a cancellation is never reported as unhandled
}

// ------------------------------------------------------------------------------------------------- 4 waiting

// The phases of a waitable.
const IDLE = 0
const ENTERING = 1 // `enter` is running
const WAITED = 2
const FULFILLED = 3
const REJECTED = 4

/**
 * A node that waits for code outside of jobs, or for a branch of a choice.
 *
 * @internal
 */
class Waiter {
  /**
   * @param {Job | null} job the waiting job: its rank orders the waiter
   * @param {(waitable: Waitable) => void} notify called once when the waitable settles
   * @param {Waitable | null} [combinator] the choice or group whose member the waiter waits for
   */
  constructor(job, notify, combinator = null) {
    this.rank = job === null ? OUTSIDE : effectiveRank(job)
    this.seq = 0
    /** @type {any} */
    this.queue = null
    this.slot = 0
    /** @type {any} */
    this.before = null
    /** @type {any} */
    this.after = null
    this.job = job
    this.notify = notify
    this.combinator = combinator
    /** @type {Waitable | null} */
    this.wait = null
  }

  /** Whether a choice can still prefer another waitable. @returns {boolean} */
  get isBranch() {
    const { combinator } = this
    if (combinator === null) return false
    const { isChoice, waiter } = combinator
    return isChoice || waiter instanceof Waiter && waiter.isBranch
  }

  /** @param {Waitable} waitable */
  woken(waitable) {
    this.wait = null
    this.notify(waitable)
  }

  /** Moves the waiter in its queue after the rank of its job has changed. */
  refresh() {
    if (this.combinator !== null) this.job = this.combinator.job // the most eligible of several jobs
    const { job } = this
    const rank = job === null ? OUTSIDE : effectiveRank(job)
    if (rank === this.rank) return
    if (this.queue !== null) this.queue.rerank(this, rank)
    else this.rank = rank
    const { wait } = this
    if (wait?.waiter instanceof Crowd) wait.waiter.refresh()
    else wait?.refresh()
  }
}

/** Several waiters of one waitable, as one node. */
class Crowd extends Waiter {
  /** @param {(Job | Waiter)[]} members */
  constructor(members) {
    super(null, () => {})
    this.members = members
    this.rank = this.best
  }

  /** The best rank of the members. */
  get best() {
    return this.members.map(effectiveRankOfNode)
      .reduce((best, rank) => compareRanks(rank, best) < 0 ? rank : best)
  }

  /** @param {Waitable} waitable */
  woken(waitable) {
    this.wait = null
    // A member that is woken can end the waits of others.
    const { members } = this
    for (let i = 0; i < members.length; i++) if (waitOf(members[i]) === waitable) members[i].woken(waitable)
  }

  refresh() {
    const { best } = this
    if (best === this.rank) return
    if (this.queue !== null) this.queue.rerank(this, best)
    else this.rank = best
    this.wait?.refresh()
  }
}

/** @param {Job | Waiter} node @returns {Job | null} */
const jobOf = node => node instanceof Job ? node : node.job
/** @param {Job | Waiter} node @returns {Rank} */
const effectiveRankOfNode = node => node instanceof Job ? effectiveRank(node) : node.rank
/** @param {Job | Waiter | null} node @returns {{ combinator?: Waitable | null }} */
const asWaiter = node => node instanceof Waiter ? node : {}
/** @param {Job | Waiter} node @returns {Waitable | null} */
const waitOf = node => node instanceof Job ? node.extras.wait : node.wait
/** @param {Job | Waiter} node @param {Waitable | null} waitable */
function setWait(node, waitable) {
  if (node instanceof Job) extrasOf(node).wait = waitable
  else node.wait = waitable
}

/**
 * An operation to wait for: `yield` or `yield*` it in a job, `await` it anywhere.
 *
 * @template [T=unknown]
 * @typedef {PromiseLike<T> & {
 *   catch<E = never>(onFailed?: ((error: any) => E | PromiseLike<E>) | null): Promise<T | E>,
 *   finally(onEnded?: (() => void) | null): Promise<T>,
 *   [Symbol.iterator](): Generator<Awaitable<T>, T, unknown>
 * }} Awaitable
 */
/**
 * An operation that a job can wait for. It is lazy, acts once, and then repeats its outcome.
 *
 *   yielded    settled, or `try` settles it: the job continues, and no queue is touched
 *              else the job is blocked: `enter` puts the waitable into a wait queue, or sets a timer
 *   partner    `queue.shift().wake(value)` settles the waitable and makes its job ready
 *   cancelled  `leave` takes the waitable out of its queue again
 *
 * Derived classes override `try`, `enter` and `leave`.
 *
 * @internal
 */
class Waitable {
  /**
   * @param {{ signal?: AbortSignal }} [options] `signal`: ends the wait; the waitable then fails with its
   *   reason
   */
  constructor(options) {
    this.phase = IDLE
    /** @type {any} */
    this.outcome = undefined
    /** @type {Job | Waiter | null} */
    this.waiter = null
    const signal = options?.signal
    if (signal !== undefined) {
      /** @type {AbortSignal | null} null on the prototype */
      this.signal = abortSignal('signal', signal)
      /** @type {() => void} */
      this.unsubscribe = () => {}
    }
  }

  /**
   * Acts now: `return this.fulfill(value)` or `return this.reject(error)`. A thrown error rejects the
   * waitable.
   *
   * @param {Job | null} _job the waiting job; null outside of jobs
   * @returns {boolean} `true` if it has settled; else nothing has changed
   */
  try(_job) { return false }
  /**
   * Starts to wait, after `try` has failed: `queue.push(this)`, or a timer. It may settle by `wake` or
   * `fail`.
   *
   * @param {Job | null} _job
   */
  enter(_job) {}
  /** Stops waiting, before the outcome: undoes `enter`. After that it can be tried again. */
  leave() {
    this.waiter?.queue?.delete(this.waiter)
  }
  /** Called after the rank of the waiting job has changed. */
  refresh() {}
  /** Whether waiting is forbidden in critical sections. */
  get mayBlock() { return true }
  /**
   * Whether a cancelled job must still receive the outcome, because a message or a lock would be lost
   * otherwise.
   */
  get handsOver() { return false }
  /** Whether a job that wakes a job of equal rank by this operation continues until its next yield. */
  get goesOn() { return false }
  /** Whether the rank of the waiter can matter. */
  get isRanked() { return true }
  /** Whether code outside of jobs can settle it: a promise, an event, a peer in another thread. */
  get isExternal() { return false }
  /** Whether other branches lose when one settles. */
  get isChoice() { return false }
  /** Whether rewritten code waits for a claim, which does not end its stay. */
  get isClaim() { return false }
  /**
   * Whether `enter` would commit a branch of a choice, although it settles later: a message to another
   * thread. A choice enters such a branch first, after `try` of all branches before it has failed.
   */
  get commits() { return false }
  /** Commits: combinators leave their other members, because this one will settle. */
  commit() {
    const { waiter } = this
    const waiters = waiter instanceof Crowd ? waiter.members : [waiter]
    waiters.map(asWaiter).forEach(({ combinator }) => combinator?.committed(this))
  }
  /** Called after a member has committed. @param {Waitable} _member */
  committed(_member) {
    this.commit()
  }
  /**
   * The jobs that must act before this can settle; null for code outside of jobs.
   *
   * @returns {(Job | null)[]}
   */
  owners() {
    const queue = this.waiter?.queue
    return queue ? queue.owners : []
  }

  /** The job that waits; the most eligible of several. @returns {Job | null} */
  get job() {
    const { waiter } = this
    if (waiter instanceof Crowd) return jobOf(waiter.members.reduce(moreEligible))
    return waiter && jobOf(waiter)
  }
  get isFulfilled() { return this.phase === FULFILLED }
  get isSettled() { return this.phase >= FULFILLED }

  /** Settles in `try`. @param {any} [value] @returns {true} */
  fulfill(value) {
    settle(this, FULFILLED, value)
    return true
  }
  /** Settles in `try`. @param {unknown} error @returns {true} */
  reject(error) {
    settle(this, REJECTED, error)
    return true
  }
  /** Settles, and wakes the waiters. @param {any} [value] */
  wake(value) {
    settle(this, FULFILLED, value)
  }
  /** Settles with an error, and wakes the waiters. @param {unknown} error */
  fail(error) {
    settle(this, REJECTED, error)
  }

  /**
   * @param {Job | null} job
   * @returns {boolean} `true` if it is settled, or settles now; it never starts to wait
   */
  attempt(job) {
    return this.phase >= FULFILLED || this.phase === IDLE && attempt(this, job)
  }

  /**
   * Waits for the outcome.
   *
   * @param {Waiter} waiter
   * @returns {boolean} `true` if it is settled now; else `waiter.notify` will be called once
   */
  enlist(waiter) {
    return this.attempt(waiter.job) || this.waitBy(waiter)
  }
  /**
   * Waits after `attempt` has failed. A choice attempts all branches before it waits for any, so that no
   * branch can be the partner of another one.
   *
   * @param {Waiter} waiter
   * @returns {boolean} see `enlist`
   */
  waitBy(waiter) {
    return this.phase >= FULFILLED || !enter(this, waiter, waiter.job)
  }

  /** Removes a waiter. No effect if the waiter does not wait for this. @param {Waiter} waiter */
  dismiss(waiter) {
    if (waitOf(waiter) === this) abandon(waiter)
  }

  /** @param {any} [onDone] @param {any} [onFailed] @returns {Promise<any>} */
  then(onDone, onFailed) {
    return new Promise((resolve, reject) => {
      const notify = () => this.phase === FULFILLED ? resolve(this.outcome) : reject(this.outcome)
      if (this.enlist(new Waiter(null, notify))) notify()
    }).then(onDone, onFailed)
  }
  /** @param {any} [onFailed] @returns {Promise<any>} */
  catch(onFailed) {
    return this.then(undefined, onFailed)
  }
  /** @param {any} [onEnded] @returns {Promise<any>} */
  finally(onEnded) {
    return this.then().finally(onEnded)
  }

  /** Makes `yield* waitable` work, which types the outcome. @returns {Generator<this, any, any>} */
  *[Symbol.iterator]() {
    return yield this
  }

  /**
   * @param {any} value
   * @returns {Waitable | null} the value, or a waitable for a job or thenable; null for other values
   */
  static of(value) {
    if (value instanceof Waitable) return value
    if (isJob(value)) return new Join(value)
    const hook = Object(value) === value ? value[protocol] : undefined
    if (hook?.waitable !== undefined) return hook.waitable()
    return isThenable(value) ? new Settlement(value) : null
  }
}
// Members that most waitables do not have: a page can add properties of these names to Object.prototype.
const OPTIONAL_MEMBERS = ['call', 'shownState', 'cancel', 'rekeyed', 'thenable', 'unsubscribe', 'name']
OPTIONAL_MEMBERS.concat('signal').forEach(name => {
  const value = name === 'signal' ? null : undefined
  Object.defineProperty(/** @type {any} */ (Waitable.prototype), name, hiddenProperty(value))
})

/**
 * Optional members of waitables.
 *
 * @typedef {Waitable & {
 *   call?: (job: Job) => Iterator<any, any, any>, shownState?: JobState, cancel?: (reason: unknown) => void,
 *   rekeyed?: (job: Job) => void, thenable?: PromiseLike<any>, details?: object
 * }} SpecialWaitable `call`: code that the yielding job runs; `shownState`: the state of the waiting job;
 *   `thenable`: the value that traces show in place of the waitable; `details`: more for the record
 *   'block'. For work in other threads: `cancel` is
 *   called instead of ending the wait, `rekeyed` when the keys of the job change
 */
/** @param {Waitable | null} waitable @returns {SpecialWaitable | null} */
const special = waitable => waitable
/** @param {Job} job */
const isElsewhere = job => special(job.extras.wait)?.cancel !== undefined

/** @param {Waitable} waitable idle @param {Job | null} job @returns {boolean} whether it has settled */
function attempt(waitable, job) {
  try {
    if (waitable.signal !== null && waitable.signal.aborted) return waitable.reject(waitable.signal.reason)
    return waitable.try(job)
  } catch (error) {
    return waitable.reject(error)
  }
}

/**
 * Makes a node wait.
 *
 * @param {Waitable} waitable @param {Job | Waiter} node @param {Job | null} job
 * @returns {boolean} `false` if the waitable has settled in the meantime
 */
function enter(waitable, node, job) {
  if (waitable.phase === WAITED) return joinCrowd(waitable, node)
  setWait(node, waitable)
  waitable.waiter = node
  waitable.phase = ENTERING
  try {
    waitable.enter(job)
  } catch (error) {
    waitable.reject(error)
  }
  if (waitable.phase !== ENTERING) {
    setWait(node, null)
    return false
  }
  waitable.phase = WAITED
  const { signal } = waitable
  if (signal !== null) waitable.unsubscribe = onAbort(signal, reason => endWait(waitable, reason))
  return true
}

/**
 * Adds a waiter to a waitable that already has one.
 *
 * @param {Waitable} waitable @param {Job | Waiter} node @returns {true}
 */
function joinCrowd(waitable, node) {
  const { waiter } = waitable
  setWait(node, waitable)
  if (waiter === null) { // a call that runs in a job
    waitable.waiter = node
    waitable.refresh()
    return true
  }
  if (waiter instanceof Crowd) {
    waiter.members.push(node)
    waiter.refresh()
    return true
  }
  const first = /** @type {Job | Waiter} */ (waiter)
  const crowd = new Crowd([first, node])
  crowd.wait = waitable
  replaceNode(first, crowd)
  waitable.waiter = crowd
  waitable.refresh()
  return true
}

/** Replaces a node in its queue by another. @param {Job | Waiter} node @param {Job | Waiter} other */
function replaceNode(node, other) {
  const { queue, seq } = node
  other.seq = seq
  if (queue === null) return
  queue.delete(node)
  queue.insert(other)
}

/**
 * Ends the wait for a waitable whose signal was aborted.
 *
 * @param {Waitable} waitable @param {unknown} reason
 */
function endWait(waitable, reason) {
  if (waitable.phase !== WAITED) return
  waitable.leave()
  waitable.fail(reason)
}

/** @param {Waitable} waitable @param {number} phase @param {any} outcome */
function settle(waitable, phase, outcome) {
  if (waitable.phase >= FULFILLED) return
  const { waiter } = waitable
  const isWaited = waitable.phase === WAITED
  waitable.phase = phase
  waitable.outcome = outcome
  if (waiter === null) return
  waitable.waiter = null
  if (waiter.queue !== null) waiter.queue.delete(waiter)
  if (!isWaited) return
  if (waitable.signal !== null) waitable.unsubscribe?.()
  waiter.woken(waitable)
}

/** Ends the wait of a node without an outcome. @param {Job | Waiter} node */
function abandon(node) {
  const waitable = /** @type {Waitable} */ (waitOf(node))
  setWait(node, null)
  if (waitable.phase >= FULFILLED) return // `settle` is waking the other waiters
  const { waiter } = waitable
  if (waiter instanceof Crowd && waiter !== node) {
    waiter.members.splice(waiter.members.indexOf(node), 1)
    if (waiter.members.length > 0) {
      waiter.refresh()
      return waitable.refresh() // a combinator waits on behalf of its best waiter
    }
  }
  waitable.phase = IDLE
  if (waitable.signal !== null) waitable.unsubscribe?.()
  waitable.leave()
  waitable.waiter = null
}

/**
 * Waitables in the order of the ranks of their jobs; jobs of equal rank in order of arrival. The owner
 * inherits the rank of the first waiter (priority inheritance; Sha, Rajkumar, Lehoczky 1990).
 *
 * @internal
 * @extends {Queue<Job | Waiter>}
 */
class WaitQueue extends Queue {
  /**
   * @param {Job | null} [owner]
   * @param {(job: Job) => void} [onOwnerEnded] called after an owner has ended. The job is then no longer an
   *   owner
   */
  constructor(owner = null, onOwnerEnded) {
    super()
    /** @type {Job | null} */
    this.holder = null
    /** @type {Set<Job> | null} further owners */
    this.holders = null
    this.arrivals = 0
    this.onOwnerEnded = onOwnerEnded
    if (owner !== null) this.owner = owner
  }

  /** The job that inherits from the first waiter. */
  get owner() { return this.holder }
  set owner(job) {
    const last = this.holder
    if (job === last) return
    this.holder = job
    if (last !== null) this.#disown(last)
    if (job !== null) this.#own(job)
  }
  /** @returns {(Job | null)[]} */
  get owners() {
    /** @type {(Job | null)[]} */
    const owners = [this.holder]
    return this.holders === null ? owners : owners.concat(membersOf(this.holders))
  }
  /** Adds a further owner. @param {Job} job */
  addOwner(job) {
    this.holders ??= new Set()
    if (!this.holders.has(job)) this.#own(job)
    this.holders.add(job)
  }
  /** @param {Job} job */
  deleteOwner(job) {
    if (this.holders?.delete(job)) this.#disown(job)
  }

  /** @param {Job} job */
  #own(job) {
    const { owned, group } = specialOf(job)
    owned.push(this)
    group?.dependents.add(job)
    updateRank(job)
    if (this.size > 0) breakCycle(job)
  }
  /** @param {Job} job */
  #disown(job) {
    const { owned } = extrasOf(job)
    owned.splice(owned.indexOf(this), 1)
    updateRank(job)
  }
  /** Removes an owner that has ended. @param {Job} job */
  orphan(job) {
    this.onOwnerEnded?.(job)
    if (job === this.holder) this.owner = null
    this.deleteOwner(job)
  }

  /** The first waitable. @returns {Waitable | null} */
  get next() { return this.first === null ? null : waitOf(this.first) }

  /** Adds a waitable that enters. @param {Waitable} waitable */
  push(waitable) {
    const node = /** @type {Job | Waiter} */ (waitable.waiter)
    node.seq = this.arrivals++
    this.insert(node)
  }
  /** Removes the first waitable. @returns {Waitable | null} */
  shift() {
    const { first } = this
    if (first === null) return null
    this.delete(first)
    return waitOf(first)
  }
  /** Removes a waitable. No effect if it is not inside. @param {Waitable} waitable */
  remove(waitable) {
    if (waitable.waiter !== null && waitable.waiter.queue === this) this.delete(waitable.waiter)
  }

  /** @param {Job | Waiter} node */
  insert(node) {
    insertInto(this, node)
    if (this.holder !== null || this.holders !== null) updateOwners(this)
  }
  /** @param {Job | Waiter} node */
  delete(node) {
    deleteFrom(this, node)
    if (this.holder !== null || this.holders !== null) updateOwners(this)
  }
  /** @param {Job | Waiter} node @param {Rank} rank */
  rerank(node, rank) {
    deleteFrom(this, node)
    node.rank = rank
    this.insert(node)
  }
}

/** Updates the ranks of the owners, because the first waiter may have changed. @param {WaitQueue} queue */
function updateOwners({ holder, holders }) {
  if (holder !== null) updateRank(holder)
  if (holders !== null) holders.forEach(updateRank)
}

/** Waits for a promise or thenable. */
class Settlement extends Waitable {
  /** @param {PromiseLike<any>} thenable */
  constructor(thenable) {
    super()
    this.thenable = thenable
    /** Number of waits so far: an outcome counts only for the present wait. */
    this.waits = 0
  }
  get isRanked() { return false }
  get isExternal() { return true }
  enter() {
    const wait = ++this.waits
    const isWaited = () => wait === this.waits
    follow(this.thenable, isWaited, (isFulfilled, outcome) => {
      if (isFulfilled) this.wake(outcome)
      else this.fail(outcome)
    })
  }
  leave() {
    this.waits++
  }
}

/**
 * Maximum number of thenables that resolve with each other, so that a thenable that resolves with itself
 * fails with an error.
 */
const MAX_THENABLES = 1000

/**
 * Follows a thenable as a promise does, but synchronously if it calls back synchronously.
 *
 * @param {any} value @param {() => boolean} isWaited whether the outcome still counts
 * @param {(isFulfilled: boolean, outcome: any) => void} settled
 * @param {number} [depth] the number of thenables that have resolved with this value
 */
function follow(value, isWaited, settled, depth = 0) {
  let hasCalled = false
  const once = (/** @type {(outcome: any) => void} */ act) => (/** @type {any} */ outcome) => {
    if (hasCalled || !isWaited()) return
    hasCalled = true
    act(outcome)
  }
  const fail = once(error => settled(false, error))
  try {
    if (!isThenable(value)) return settled(true, value)
    if (depth >= MAX_THENABLES) {
      throw new RangeError(`more than ${MAX_THENABLES} thenables have resolved with each other`)
    }
    value.then(once(result => follow(result, isWaited, settled, depth + 1)), fail)
  } catch (error) {
    fail(error)
  }
}

/** Waits for another job to end. */
class Join extends Waitable {
  /** @param {Job} target */
  constructor(target) {
    super()
    this.target = target
    extrasOf(target).isHandled = true
  }
  get name() { return this.target.name }
  try() {
    const { status, input } = this.target
    if (status < DONE) return false
    return status === DONE ? this.fulfill(input) : this.reject(input)
  }
  enter() {
    const { target } = this
    const queue = specialOf(target).joiners ??= new WaitQueue(target)
    queue.push(this)
  }
}

/** @param {any} value @returns {value is PromiseLike<any>} */
const isThenable = value => (typeof value === 'object' || typeof value === 'function') && value !== null &&
  typeof value.then === 'function'

/** The value as users know it, for traces. @param {Waitable} waitable */
const subjectOf = waitable => waitable instanceof Join ? waitable.target
  : special(waitable)?.thenable ?? waitable

/** @param {Job | Waiter} a @param {Job | Waiter} b */
const moreEligible = (a, b) => compareRanks(effectiveRankOfNode(b), effectiveRankOfNode(a)) < 0 ? b : a

// Inheritance

/** Jobs whose rank must be computed again. @type {Job[]} */
const outdated = []
let isUpdating = false
/** Maximum number of rank updates for one change. A cycle of choices could otherwise re-rank jobs forever. */
const MAX_UPDATES = 1e6

/**
 * Computes the rank of a job again. A changed rank moves the job in its queue, which can change the rank of
 * the owner of that queue: a work list makes inheritance transitive without recursion.
 *
 * @param {Job} job
 */
function updateRank(job) {
  outdated.push(job)
  if (isUpdating) return
  isUpdating = true
  try {
    for (let updates = 0; outdated.length > 0 && updates < MAX_UPDATES; updates++) {
      applyRank(/** @type {Job} */ (outdated.pop()))
    }
  } finally {
    while (outdated.length > 0) outdated.pop()
    isUpdating = false
  }
}

/** The rank by which a job competes, wherever it is. @param {Job} job @returns {Rank} */
function effectiveRank(job) {
  const { group } = job.extras
  return group !== null && job.queue === group.jobs ? group.rankFor(job) : job.rank
}

/**
 * The best among the base rank of a job and the ranks of the first waiters of its queues. The base rank is
 * the rank of its reservation, if it has one, or its own rank.
 *
 * @param {Job} job
 */
function rankToHave(job) {
  const { extras } = job
  const { group, owned, sections } = extras
  let best = group === null ? ownRankOf(job) : group.rankFor(job)
  for (let i = 0; i < owned.length; i++) {
    const { first } = owned[i]
    if (first !== null && jobOf(first) !== null || first instanceof Crowd) {
      if (compareRanks(first.rank, best) < 0) best = first.rank
    }
  }
  // A depletion inside a critical section lets the section finish.
  const present = effectiveRank(job)
  return sections > 0 && group !== null && best.band < present.band ? present : best
}

/** @param {Job} job */
function applyRank(job) {
  if (job.status >= DONE) return
  const { core, extras } = job
  const rank = rankToHave(job)
  const isGrouped = isGroupRank(job, rank)
  const isReady = job.status === READY
  const wasGrouped = extras.group !== null && job.queue === extras.group.jobs
  if (isReady ? isGrouped === wasGrouped && (isGrouped || rank === job.rank) : rank === job.rank) return
  extras.own ??= job.rank
  if (!isReady) {
    job.rank = rank
    if (job.status === WAITING) refreshWait(job)
    return
  }
  const wasDepleted = isDepleted(job) && job !== core.running
  dequeue(job)
  if (wasDepleted && rank.band > DEPLETED) {
    job.rank = rank
    return unblock(job)
  }
  placeReady(job, rank)
  if (!wasDepleted && isDepleted(job) && job !== core.running) noteDepletion(job)
  reconsider(core)
}

/** Moves a waiting job in its wait queue. @param {Job} job */
function refreshWait(job) {
  const { wait } = job.extras
  if (wait === null) return
  const { waiter } = wait
  if (waiter instanceof Crowd) return waiter.refresh()
  if (job.queue !== null) job.queue.rerank(job, job.rank)
  wait.refresh()
}

// Ownership cycles

/** @param {WaitQueue} queue */
const hasWaiters = ({ size }) => size > 0

/**
 * A deadlock needs a cycle, and only a job with waiters can close one. Most jobs have none, so most waits
 * skip the search.
 *
 * @param {Job} waiting @param {Waitable} waitable
 * @returns {DeadlockError | null} an error, if an owner of the awaited resource waits for the job, directly
 *   or through other jobs
 */
function cycleOf(waiting, waitable) {
  if (!waiting.extras.owned.some(hasWaiters)) return null
  /** Maps each job found to a job that waits for it. @type {Map<Job, Job>} */
  const waiters = new Map()
  const found = [waiting]
  for (let i = 0; i < found.length; i++) {
    const job = found[i]
    const owners = (job === waiting ? waitable : job.extras.wait)?.owners() ?? []
    for (let j = 0; j < owners.length; j++) {
      const owner = owners[j]
      if (owner === waiting) return deadlock(waiters, waiting, job)
      if (owner === null || waiters.has(owner)) continue
      waiters.set(owner, job)
      found.push(owner)
    }
  }
  return null
}

/** @param {Map<Job, Job>} waiters @param {Job} waiting @param {Job} last the job that waits for `waiting` */
function deadlock(waiters, waiting, last) {
  const jobs = [waiting]
  for (let job = last; job !== waiting; job = /** @type {Job} */ (waiters.get(job))) jobs.unshift(job)
  const names = [waiting].concat(jobs).map(({ name }) => name)
  const shown = names.length <= 12 ? names
    : names.slice(0, 6).concat(`${names.length - 12} more`, names.slice(-6))
  return new DeadlockError(`deadlock: ${shown.join(' waits for ')}`, jobs)
}

/** Fails the wait of a job that has become part of a cycle. @param {Job} job */
function breakCycle(job) {
  const { wait } = job.extras
  const error = wait && cycleOf(job, wait)
  if (!error) return
  abandon(job)
  if (job.started === undefined) return finish(job, FAILED, error)
  job.input = error
  job.extras.isThrowing = true
  unblock(job)
}

// ------------------------------------------------------------------------------------- 5 calls and resuming

/** The prototype of all generator objects of this realm. */
const generatorPrototype = Object.getPrototypeOf(function* () {}).prototype
/** The built-in methods, taken once: a load from a user's generator object is megamorphic. */
const { next, throw: raise } = generatorPrototype
const { pop, slice } = Array.prototype

/**
 * Adds an own element to a list, like CreateDataProperty. An assignment takes 2 ns instead of 150 ns, but it
 * would call a setter or fail if a prototype has the index.
 *
 * @param {any} list @param {any} index an index without an element @param {any} value
 */
function addElement(list, index, value) {
  if (index in list) {
    Object.defineProperty(list, index, /** @type {any} */ ({
      __proto__: null, value, writable: true, enumerable: true, configurable: true
    }))
  } else list[index] = value
}
/** The class of generators for `instanceof`, which costs less than a load of `value.next`. @type {any} */
const Generator = /* @__PURE__ */ Object.assign(function () {}, { prototype: generatorPrototype })

// Results of a resume. DONE and FAILED are states.
const POINT = -1 // at a preemption point
const BLOCKED = -2 // waits
const ASYNC = -3 // in async code, which continues when the stack is empty
const AWAY = -4 // awaits a foreign promise

/**
 * Marks an iterator that a job drives, so that no second job can drive it and mix the results. A WeakSet
 * instead of this property makes a yielded call 2.5 times slower (Node 20, `bench/channels.mjs`).
 */
const driven = Symbol('driven')

/** @param {any} iterator @param {boolean} isDriven */
function mark(iterator, isDriven) {
  try {
    iterator[driven] = isDriven
  } catch {} // a frozen iterator is not protected
}

/** Yields since the last charge. */
let received = 0

/** Maximum number of nested calls of a job, so that endless recursion fails with an error. */
const MAX_CALLS = 2 ** 21
/**
 * Maximum number of calls that return in a row without a preemption point. An error can unwind millions of
 * calls.
 */
const MAX_RETURNS = 64

// The extra fields of the budget are for rewritten code: see addons/preemptify.
const ROOM = 150
/** `counts.s` of a job without a stay: it equals no holder of a lock. */
const NO_STAY = Object.freeze({})
class Counts {
  left = 0
  /** How many more calls of rewritten code may nest on the call stack. */
  room = ROOM
  /** Whether rewritten code saves its state and returns. */
  away = false
  /** The job whose code is on the stack, of any scheduler. @type {Job | null} */
  job = null
  /** The stay of this job. @type {Stay | null} */
  stay = null
  /**
   * The identity of the stay, which rewritten text compares with the holder of a lock.
   *
   * @type {Stay | typeof NO_STAY | null}
   */
  s = null
  /** The number of stays that hold claims of objects by identity. */
  held = 0
  /** Whether plain calls claim their arguments, as a number: see noteHeld. */
  i = 0
  /** Whether the next `yield` is a preemption point that rewriting has inserted. */
  isPoint = false
  /** The event that rewritten code has used for the last time. @type {any} */
  e = null

  /**
   * The value `undefined`, which rewritten code yields at a point. Reading it marks the next yield as a
   * point. The accessor is on the prototype, because V8 stores an object with an own accessor as a
   * dictionary: Fibonacci numbers in a job are then 3.6 times slower (Node 20).
   */
  get p() {
    if (this.stay !== null) this.isPoint = true
    return undefined
  }
}
const counts = new Counts()

/**
 * The preemption points that the running job may pass before the clock is read. The scheduler refills
 * `budget.left` before it resumes a job.
 *
 * @type {{ left: number }}
 *
 * @example
 * let sum = 0
 * await rt.spawn(function* () {
 *   for (let i = 0; i < 1e6; sum += i++)
 *     if (--budget.left <= 0) yield // a preemption point that costs 2 ns
 * })
 * console.log(sum) // → 499999500000
 */
export const budget = counts

/**
 * The rest of a call that has started outside of the scheduler, from its latest yield on.
 *
 * @internal
 */
class Suspended {
  /**
   * @param {any} generator @param {IteratorResult<any, any> | null} step the latest step; null after `take()`
   */
  constructor(generator, step) {
    this.generator = generator
    this.step = step
  }

  /** Returns the yielded value. */
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
    // Like `yield*`, this closes an iterator without `throw`. Unlike `yield*`, it throws the error to the
    // caller.
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

/** @param {any} value @returns {boolean} whether it is an iterator that can be driven */
const isIterator = value => typeof value === 'object' && value !== null &&
  (value instanceof Generator ||
    typeof value.next === 'function' && value[asyncIterator] === undefined)

/**
 * Wraps any other iterator in a generator, so that `drive` never checks the kind of iterator.
 *
 * @param {any} iterator
 */
const resumable = iterator =>
  iterator instanceof Generator && !(iterator instanceof Suspended) ? iterator : resumedBy(iterator)
/** @param {any} iterator @returns {Generator<any, any, any>} */
function* resumedBy(iterator) {
  // Suspended inherits how a generator is iterated.
  return yield* /** @type {any} */ (iterator instanceof Suspended ? iterator : new Suspended(iterator, null))
}

/**
 * Resumes a job until its budget is used up, it waits, or it ends. The scheduler keeps the call stack of the
 * job, so that a yield costs the same at any depth, and the depth is limited by MAX_CALLS only.
 *
 * @param {Job} job
 * @returns {number} POINT, BLOCKED, ASYNC, DONE or FAILED; the last two with the outcome in `job.input`
 */
function drive(job) {
  if (job.extras.isSpecial) deliverCancellation(job)
  let { input, extras: { isThrowing } } = job
  /** Points that were left when the job woke an equal job and continued. */
  let credit = 0
  let returns = 0
  if (job.generator === UNSTARTED) {
    const result = isThrowing ? conclude(job, input, true) : start(job)
    if (result !== POINT) return result
    input = undefined
  } else if (job.generator === null) {
    const { extras } = job
    if (extras.driver === null || !extras.driver.isAsync) return conclude(job, input, isThrowing)
    job.input = undefined
    extras.isThrowing = extras.keepsInput = false
    return extras.driver.resume(isThrowing, input)
  }
  job.input = undefined
  if (job.extras !== NO_EXTRAS) job.extras.isThrowing = job.extras.keepsInput = false
  for (;;) {
    const { generator } = job
    let value
    let done
    counts.room = ROOM
    try {
      const step = isThrowing ? raise.call(generator, input) : advance(generator, input)
      value = step.value
      done = step.done
      isThrowing = false
    } catch (error) {
      value = error
      done = isThrowing = true
    }
    if (done) {
      if (!leaveCall(job)) return isThrowing ? conclude(job, value, true) : finishWith(job, value)
      input = value
      if (++returns < MAX_RETURNS) continue
      return stopAt(job, input, isThrowing, true) // there is no yield at which a cancellation could be thrown
    }
    received++
    returns = 0
    input = undefined
    /** @type {Waitable | null} */
    let acted = null
    const before = credit > 0 ? credit : budget.left
    credit = 0
    if (counts.stay !== null && value === undefined) noteYield()
    if (value !== undefined) {
      // The reason is thrown at this yield, by the next resume.
      if (job.extras.isSpecial && isDoomed(job)) {
        if (value instanceof Suspended) enterSuspended(job, value)
        else markHandled(value)
        return stopAt(job, undefined, false, false)
      }
      try {
        acted = accept(job, value)
        if (acted !== null) {
          if (acted.phase < FULFILLED) return BLOCKED
          input = acted.outcome
          isThrowing = acted.phase === REJECTED
        }
      } catch (error) {
        input = error
        isThrowing = true
      }
    }
    const { left } = budget // the job's code can write it
    if (typeof left === 'number' && left > 1) {
      budget.left = left - 1
    } else if (inside === 0 && acted !== null && acted.goesOn && typeof before === 'number' && before > 1 &&
      job.core.granted > 0) {
      // After an operation that woke a job of equal rank, the job may continue until its next other yield.
      credit = before - 1
      job.core.granted++
      budget.left = 1
    } else {
      budget.left = 0
      return stopAt(job, input, isThrowing, acted !== null && acted.handsOver && !isThrowing)
    }
  }
}

/**
 * Resumes a generator until it yields a value, ends, or has used up the budget.
 *
 * @param {any} generator @param {any} input @returns {IteratorResult<any, any>} the last step
 */
function advance(generator, input) {
  let step = next.call(generator, input)
  while (step.value === undefined && !step.done) {
    const { left } = budget // the job's code can write it
    if (!(left > 1)) break
    if (counts.stay !== null) {
      noteYield()
      if (!(budget.left > 1)) break
    }
    budget.left = left - 1
    received++
    step = next.call(generator)
  }
  return step
}

/** Ends the stay at a hand-written `yield`. Rewritten code marks its own points. */
function noteYield() {
  if (counts.isPoint) counts.isPoint = false
  else endStay()
}

/**
 * Ends the stay of a job, because its code has reached the scheduler by a hand-written `yield`, or waits.
 *
 * @param {Job} [job] default: the job whose code is on the stack
 */
function endStay(job = /** @type {Job} */ (counts.job)) {
  const { extras } = job
  const { stay } = extras
  if (stay === null) return
  extras.stay = null
  if (job === counts.job) {
    counts.stay = null
    counts.s = NO_STAY
    if (inside > 0) budget.left = 0 // the job must not begin another stay before runInside returns
  }
  stay.end(job)
}

/** How many jobs run inside of the steps of others: see runInside. */
let inside = 0

/**
 * Handles a value that a job has yielded: starts a call or a wait.
 *
 * @param {Job} job @param {any} value
 * @returns {Waitable | null} the waitable: settled, or the job is blocked; null for a call
 */
function accept(job, value) {
  if (value instanceof Waitable) {
    const { call: code } = /** @type {SpecialWaitable} */ (value)
    if (code === undefined || value.phase !== IDLE) return wait(job, value)
    value.phase = WAITED // other jobs wait for it like for any waitable
    return call(job, code.call(value, job))
  }
  if (value instanceof Generator) {
    if (!(value instanceof Suspended)) return call(job, value)
    const yielded = enterSuspended(job, value)
    if (yielded !== undefined) return accept(job, yielded)
    if (counts.stay !== null) noteYield()
    return null
  }
  if (!isJob(value) && isIterator(value)) return call(job, value)
  return wait(job, waitableOf(job, value))
}

/**
 * Marks a failure as handled. A cancelled job does not wait for the value that it yields, and a failure of
 * this value is not reported, as if the job had been cancelled while it waited.
 *
 * @param {any} value
 */
function markHandled(value) {
  if (isJob(value)) extrasOf(value).isHandled = true
  else if (value instanceof Promise) value.catch(() => {})
}

/** @param {Job} job @param {any} value @returns {Waitable} */
function waitableOf(job, value) {
  if (value === job) throw new TypeError(`${job.name} waits for itself`)
  const waitable = Waitable.of(value)
  if (waitable !== null) return waitable
  throw new TypeError(
    'a job may yield nothing, a generator, a promise, a job or a waitable; ' +
    `${job.name} yielded ${describe(value)}` +
    (Array.isArray(value) ? ': for several at once, yield par(...) of sync.mjs, or Promise.all(...)' : ''))
}

/** @param {Job} job @param {any} iterator @returns {null} */
function call(job, iterator) {
  const callee = resumable(iterator)
  if (callee[driven] === true) {
    throw new TypeError(`${job.name} yielded the generator that is running already`)
  }
  mark(callee, true)
  enterCall(job, callee)
  return null
}

/**
 * Enters suspended calls.
 *
 * @param {Job} job @param {any} value @returns {any} the value that the innermost one has yielded
 */
function enterSuspended(job, value) {
  while (value instanceof Suspended) {
    enterCall(job, value.generator)
    value = value.take()
  }
  return value
}

/** @param {Job} job @param {any} callee */
function enterCall(job, callee) {
  const callers = extrasOf(job).callers ??= []
  addElement(callers, callers.length, job.generator)
  job.generator = callee
  if (callers.length > MAX_CALLS) {
    throw new RangeError(`${job.name} has more than ${MAX_CALLS} calls that have not ended`)
  }
}

/**
 * @param {Job} job @returns {boolean} whether the innermost generator, which has ended, returns to a caller
 */
function leaveCall(job) {
  const { callers } = job.extras
  const caller = callers === null ? undefined : pop.call(callers)
  if (caller === undefined) return false
  mark(job.generator, false)
  job.generator = caller
  return true
}

/** @param {Job} job @param {Waitable} waitable @returns {Waitable} settled, or the job is blocked */
function wait(job, waitable) {
  if (job.extras.stay !== null && !waitable.isClaim) endStay(job)
  if (job.extras.sections > 0 && waitable.mayBlock) {
    throw new TypeError(`${job.name} waits inside a critical section`)
  }
  if (waitable.phase < FULFILLED && !(waitable.phase === IDLE && attempt(waitable, job))) block(job, waitable)
  return waitable
}

/**
 * Moves the running job from the ready queue to the wait queue of a waitable.
 *
 * @param {Job} job @param {Waitable} waitable
 * @throws {DeadlockError} if the wait would close an ownership cycle
 */
function block(job, waitable) {
  const { core, extras: { isSpecial } } = job
  const rank = isSpecial ? effectiveRank(job) : job.rank
  dequeue(job)
  job.status = WAITING
  job.rank = rank
  const isWaiting = enter(waitable, job, job)
  // A job that waits for a lock of its own gets its first waiter now.
  const error = isWaiting && job.extras.isSpecial ? cycleOf(job, waitable) : null
  if (error !== null) abandon(job)
  if (isWaiting && error === null) {
    core.running = null
    if (job.extras.group !== null && waitable.isRanked) job.extras.group.dependents.add(job)
    return
  }
  job.status = READY
  placeReady(job, rank)
  if (error !== null) throw error
}

/**
 * Stops a job at a point.
 *
 * @param {Job} job @param {any} input @param {boolean} isThrowing @param {boolean} keepsInput
 */
function stopAt(job, input, isThrowing, keepsInput) {
  job.input = input
  if (isThrowing || keepsInput) {
    const extras = extrasOf(job)
    extras.isThrowing = isThrowing
    extras.keepsInput = keepsInput
  }
  return POINT
}

/** @param {Job} job @param {any} outcome @param {boolean} isError @returns {number} DONE or FAILED */
function conclude(job, outcome, isError) {
  job.generator = null
  job.input = outcome
  return isError ? FAILED : DONE
}

/**
 * Ends a job with a result. A thenable result is awaited first.
 *
 * @param {Job} job @param {any} result @returns {number}
 */
function finishWith(job, result) {
  job.generator = null
  try {
    if (!isThenable(result)) return conclude(job, result, false)
    const { outcome, phase } = wait(job, waitableOf(job, result))
    return phase < FULFILLED ? BLOCKED : conclude(job, outcome, phase === REJECTED)
  } catch (error) {
    return conclude(job, error, true)
  }
}

/**
 * Returns the function that a job runs for a function: its preemptible twin, if preemptify knows one.
 *
 * @type {(fn: any) => any}
 */
let twinOf = fn => fn
/**
 * Returns the function that a job starts in place of `fn`: the twin, with the claims of its arguments.
 *
 * @type {(fn: any) => any}
 */
let startOf = fn => fn
/** Whether a function may return a value. preemptify replaces this. @type {(fn: any) => boolean} */
let answers = () => true
/**
 * Returns advice for a job that has stalled, given the function of the job. preemptify sets this.
 *
 * @type {((fn: any) => string | undefined) | null}
 */
let adviceFor = null
/** See `extend.code`; preemptify sets these. @type {(fn: any) => number} */
let eventUseOf = () => 0
/** @type {(job: Job) => void} */
let finishJob = () => {}
/** @type {(job: Job) => boolean | undefined} */
let isJobBusy = () => undefined
/** @type {(job: Job) => boolean} */
let isJobInStay = () => false
/** @type {(fn: any, self: any, args: any[], note: (isWaiting: boolean) => void) => any} */
let startAtEntry = (fn, self, args) => apply(twinOf(fn), self, args)

// Read once: a script may declare variables with the names `Reflect` and `Symbol`, which modules see too.
const apply = Reflect.apply
const asyncIterator = Symbol.asyncIterator
const toStringTag = Symbol.toStringTag

/** @param {any} fn */
const isAsync = fn => fn?.[toStringTag] === 'AsyncFunction'

/**
 * @param {any} work a function, a pair or a Task; undefined for a continuation
 * @returns {any} the function that it calls
 */
const functionOf = work =>
  typeof work === 'function' ? work : Array.isArray(work) ? work[0][work[1]] : work?.run

/**
 * Calls the function of a job. Its return value decides how the job continues.
 *
 * @param {Job} job @returns {number}
 */
function start(job) {
  const { work, input: args } = job
  const isFunction = typeof work === 'function'
  try {
    const run = functionOf(work)
    const self = isFunction ? undefined : Array.isArray(work) ? work[0] : work
    const code = startOf(run)
    const context = asyncContext === undefined ? asyncContext = engineContext() : asyncContext
    const result = context !== null ? context.run(job, () => apply(code, self, args))
      : apply(code, self, args)
    return startWith(job, result)
  } catch (error) {
    return conclude(job, error, true)
  } finally {
    // A plain function has called job.yield().
    const { driver } = job.extras
    if (driver !== null && !driver.isAsync) PASSED.then(() => driver.resume(false, undefined))
  }
}

/** @param {Job} job @param {any} result the return value of its function @returns {number} */
function startWith(job, result) {
  if (result instanceof Waitable) {
    const { call: code } = /** @type {SpecialWaitable} */ (result)
    if (code === undefined || result.phase !== IDLE) return finishWith(job, result)
    result.phase = WAITED
    result = code.call(result, job)
  }
  const isResult = isTask(job) && !(result instanceof Generator)
  if (!isResult && isIterator(result) && !isJob(result)) {
    const generator = resumable(result)
    if (generator[driven] === true) throw new TypeError('work is driven by another job already')
    mark(generator, true)
    job.generator = generator
    return POINT
  }
  if (result?.[asyncIterator] !== undefined && typeof result.next === 'function') {
    throw new TypeError(`${job.name} is an async generator, which cannot be driven; write a generator`)
  }
  if (!isThenable(result) || isJob(result)) return finishWith(job, result)
  driverOf(job).follow(result)
  // An aborted task ends now: the promise that it awaits may never settle.
  if (isTask(job) && isDoomed(job)) return conclude(job, job.extras.reason, true)
  job.generator = null
  return ASYNC
}

// Cancellation

/** Whether a reason was not thrown yet, and can be thrown now. @param {Job} job @returns {boolean} */
const isDoomed = job => job.extras.cancellation === REQUESTED && job.extras.sections === 0 && !isShielded(job)

/** Maximum time by which an exclusive claim postpones a cancellation, ms. */
const GRACE = 100

/**
 * Whether a stay postpones the cancellation of a job, so that the job leaves no half-written state.
 *
 * @param {Job} job
 */
const isShielded = ({ core, extras: { stay, cancelledAt } }) =>
  stay !== null && stay.isExclusive && core.time - cancelledAt < GRACE

/** The only place that throws a cancellation: the next resume throws the reason. @param {Job} job */
function deliverCancellation(job) {
  const { extras } = job
  if (!isDoomed(job) || extras.keepsInput) return
  extras.cancellation = THROWN
  extras.isThrowing = true
  job.input = extras.reason
}

/** @param {Job} job @param {unknown} reason @returns {boolean} */
function cancel(job, reason) {
  if (job.status >= DONE || job.extras.cancellation !== NONE) return false
  const { core } = job
  const extras = specialOf(job)
  extras.cancellation = REQUESTED
  extras.reason = reason === undefined ? new DOMException('The job was cancelled', 'AbortError') : reason
  extras.cancelledAt = readClock(core)
  if (currentOf(core) !== job) leaveGroup(job)
  const elsewhere = special(extras.wait)
  if (elsewhere?.cancel !== undefined) {
    extras.cancellation = THROWN // elsewhere: the wait ends by itself, and its outcome counts
    elsewhere.cancel(extras.reason)
  } else if (job.started === undefined) {
    if (extras.wait !== null) abandon(job)
    finish(job, CANCELLED, extras.reason)
  } else if (currentOf(core) === job) {
    interrupt(core)
  } else if (extras.wait !== null) {
    if (isDoomed(job)) stopWaiting(job)
    else setEntry(new Entry(core, core.time + GRACE, stopWaitingAtLast, job, true))
  }
  // Async code that awaits a foreign promise gets the reason at its next yield.
  if (extras.controller !== null) callUser(core, 'abort', () => extras.controller?.abort(extras.reason))
  return true
}

/**
 * The signal of a job cancels it; that of a task only until its function has returned.
 *
 * @param {Job} job @param {unknown} reason
 */
function abort(job, reason) {
  if (!isTask(job) || job.generator !== null) cancel(job, reason)
}

/**
 * Ends the wait of a cancelled job whose claims have postponed the cancellation until now.
 *
 * @param {Job} job
 */
function stopWaitingAtLast(job) {
  if (job.extras.wait !== null && isDoomed(job)) stopWaiting(job)
}

/** Ends the wait of a cancelled job. @param {Job} job */
function stopWaiting(job) {
  abandon(job)
  job.input = undefined
  unblock(job)
}

// -------------------------------------------------------------------------------- 6 the choice and the round

/** The scheduler whose job runs; null between budgets. @type {Core | null} */
let dispatching = null
/** @param {Core | null} core @param {Job | null} job the job whose code runs next, or null */
function setDispatching(core, job) {
  dispatching = core
  counts.job = job
  counts.stay = job === null ? null : job.extras.stay
  counts.s = job === null ? null : counts.stay ?? NO_STAY
  noteHeld()
}
/**
 * Sets `counts.i`. Plain calls claim their arguments if no rewritten code of the job has called them. The
 * stay of a job keeps these claims; code outside jobs only finishes other holders.
 */
function noteHeld() {
  const { job, held } = counts
  if (job === null) counts.i = held
  else counts.i = job.extras.entered === 0 ? 1 : 0
}
/** How many rounds this thread is in. Rounds of several schedulers never nest. */
let rounds = 0
/**
 * During an event: the schedulers that take a turn right after it; null outside of events.
 *
 * @type {Set<Core> | null}
 */
let following = null

/** How often observers may change the choice before a job is dispatched. */
const MAX_CHOICES = 8

/**
 * THE RULE. The most eligible job runs if its level passes the system ceiling, or if it holds the top of the
 * ceiling stack. Otherwise the holder of the top runs, never a third job (Baker 1991).
 *
 * A job has its own keys, or the keys of its reservation. A more eligible job that waits in one of its queues
 * replaces them (section 4). So the first node of the ready queue is the most eligible job, and only ceilings
 * remain to be tested here.
 *
 * @param {Core} core
 * @returns {Job | null} the job that must run next
 */
function choose(core) {
  const { running, sections } = core
  if (running !== null && isDepleted(running)) {
    noteDepletion(running)
    core.running = null
  } else if (running !== null && core.mustRotate) {
    rotate(core, running)
  }
  core.mustRotate = false
  const best = bestOf(core)
  if (best === null || sections.length === 0) return best
  const top = sections[sections.length - 1]
  const passesCeiling = levelOf(best) > top.ceiling
  const holdsTop = best === top.job
  return passesCeiling || holdsTop ? best : top.job
}

/** The first of the ready jobs, the running one included. @param {Core} core @returns {Job | null} */
const bestOf = ({ ready: { first } }) => first === null ? null : first.first

/**
 * Runs one round: fires due entries, then runs jobs until the round ends. The round continues in microtasks
 * while async jobs run.
 *
 * @param {Core} core
 * @param {number} [length] ms @param {number} [due] when the round must end
 * @param {(() => Job) | null} [only] returns the only job that may run
 */
function runRound(core, length = core.round, due = Infinity, only = null) {
  if (core.inRound || core.paused) return
  // If a job requested this turn, its async context must not reach other jobs.
  if (asyncContext?.get()) return void asyncContext.run(null, () => runRound(core, length, due, only))
  core.inRound = true
  rounds++
  const time = core.mark = core.roundStart = readClock(core)
  core.roundEnds = Math.min(time + length, due)
  core.fireFrom = -Infinity
  core.busyBefore = core.stats.busy
  core.hasRun = false
  core.equalReadings = 0
  let isAsync = false
  try {
    fireDue(core)
    isAsync = runJobs(core, only === null ? null : only())
  } catch (error) {
    reportInternalError(core, error)
  }
  if (isAsync) continueAsync(core)
  else endRound(core)
}

/**
 * Dispatches jobs, one budget after the other.
 *
 * @param {Core} core @param {Job | null} only the only job that may run
 * @returns {boolean} whether the round continues in microtasks
 */
function runJobs(core, only = null) {
  do {
    const job = dispatch(core, only)
    if (job === null) return false
    core.hasRun = true
    core.mark = core.time
    grantBudget(core, job)
    setDispatching(core, job)
    core.lent = job.extras.isSpecial ? effectiveRank(job) : null
    const result = drive(job)
    if (result === ASYNC) return true
    account(core, job, result)
    if (needsCheckpoint(job)) return true
  } while (!isRoundOver(core, only !== null))
  return false
}

/**
 * Makes the chosen job the running one.
 *
 * @param {Core} core @param {Job | null} only @returns {Job | null}
 */
function dispatch(core, only) {
  for (let choices = 0; choices < MAX_CHOICES; choices++) {
    core.mustChoose = false
    if (core.paused) return null
    const isReady = only === null || only.status === READY && !isDepleted(only)
    const job = only === null ? choose(core) : isReady ? only : null
    if (job === null) return null
    if (job !== core.running) switchTo(core, job)
    if (core.hasNotified) readClock(core) // observers' time is overhead
    if (!core.mustChoose) break
  }
  return core.running
}

/** @param {Core} core @param {Job} job */
function switchTo(core, job) {
  const { running: last, stats } = core
  const isFirst = job.started === undefined
  if (last !== null) {
    const extras = extrasOf(last)
    extras.preemptions++
    if (extras.tuner === null || extras.sliceStart !== last.cost) stats.slices++
  }
  core.running = job
  if (isFirst) job.startTime = core.time
  if (core.observers === null) return
  if (last !== null) emit(core, 'preempt', last, { by: job })
  emit(core, isFirst ? 'start' : 'resume', job)
}

/**
 * Runs a suspended job inside of the present step, until `isOver` returns true, or the job waits or ends.
 * During this time, the job is the running job and is charged. No other job is chosen, and no entry of the
 * timeline fires.
 *
 * @param {Job} job ready @param {() => boolean} isOver
 */
function runInside(job, isOver) {
  const { core } = job
  const { running: outer, granted, lent } = core
  const { left, room, away, job: current } = counts
  const around = dispatching
  const used = Math.max(0, readClock(core) - core.mark) // belongs to the outer job
  if (core.observers !== null && outer !== job) {
    if (outer !== null) emit(core, 'preempt', outer, { by: job })
    emit(core, 'resume', job)
  }
  inside++
  try {
    while (job.status === READY && !isOver()) {
      core.running = job
      core.mark = readClock(core)
      grantBudget(core, job)
      setDispatching(core, job)
      core.lent = job.extras.isSpecial ? effectiveRank(job) : null
      const result = drive(job)
      endBudget(core, job, result)
      if (result === BLOCKED) noteBlock(core, job)
      inspect(core, job)
      if (result >= DONE) finish(job, result, job.input)
    }
  } finally {
    inside--
  }
  if (core.observers !== null && outer !== null && outer !== job) {
    if (job.status === READY) emit(core, 'preempt', job, { by: outer })
    emit(core, 'resume', outer)
  }
  core.running = outer?.status === READY ? outer : null // `outer` can be the job itself
  core.granted = granted
  core.lent = lent
  core.mark = readClock(core) - used
  setDispatching(around, current)
  counts.left = left
  counts.room = room
  counts.away = away
  if (outer !== bestOf(core)) interrupt(core)
}

/**
 * Settles the accounts of a job after its budget: charges it, ends or blocks it, fires due entries, and
 * rotates it at the end of its slice.
 *
 * @param {Core} core @param {Job} job @param {number} result the result of `drive`
 */
function account(core, job, result) {
  // The job cannot be cancelled now.
  if (result >= DONE && job.extras !== NO_EXTRAS) job.extras.keepsInput = true
  endBudget(core, job, result)
  if (result === AWAY) result = awayInSection(job) ? FAILED : blockAway(core, job)
  else if (result === BLOCKED) noteBlock(core, job)
  if (result !== POINT) core.stats.slices++
  inspect(core, job)
  if (result >= DONE) finish(job, result, job.input)
  fireDue(core)
  if (core.running === job && job.cost - job.extras.sliceStart >= core.slice) {
    rotate(core, job)
    core.stats.slices++
  }
}

/** @param {Job} job a job that awaits a foreign promise @returns {boolean} */
function awayInSection(job) {
  if (job.extras.sections === 0) return false
  job.input = new TypeError(`${job.name} waits inside a critical section`)
  return true
}

/**
 * An async job awaits a foreign promise: it is outside of the scheduler until its next point.
 *
 * @param {Core} core @param {Job} job
 */
function blockAway(core, job) {
  const rank = effectiveRank(job)
  dequeue(job)
  job.status = WAITING
  job.rank = rank
  core.running = null
  job.extras.group?.departs(job, core.time)
  if (core.observers !== null) emit(core, 'block', job, { on: null })
  return AWAY
}

/** @param {Core} core @param {Job} job a job that has started to wait */
function noteBlock(core, job) {
  job.extras.group?.departs(job, core.time)
  if (job.status !== WAITING) return
  const { wait } = job.extras
  if (core.observers !== null && wait !== null) {
    emit(core, 'block', job, { on: subjectOf(wait), ...special(wait)?.details })
  }
  // The act of waiting may have cancelled the job.
  if (job.status === WAITING && wait !== null && job.extras.wait === wait && isDoomed(job)) stopWaiting(job)
  if (job.status === WAITING && !wait?.isClaim) job.extras.onRest?.()
}

/** Moves a job after the jobs of equal rank. @param {Core} core @param {Job} job ready */
function rotate(core, job) {
  job.extras === NO_EXTRAS || (job.extras.sliceStart = job.cost)
  const { queue } = job
  queue.delete(job)
  job.seq = isContinuation(job) && !hasPeer(core, job) ? core.firstSeq++ : ++core.lastSeq
  queue.insert(job)
  job.extras.group?.refreshFirst()
}

/**
 * Budgets in a row with equal readings of the clock, after which a round ends. A clock that was set back, or
 * replaced by fake timers, stands still; a round that ends by time alone would then block the event loop.
 */
const MAX_EQUAL_READINGS = 1000

/**
 * @param {Core} core @param {boolean} isPart whether the round is part of an event, which ends after the
 *   round
 */
function isRoundOver(core, isPart = false) {
  const { time, running } = core
  if (time >= core.roundEnds || core.paused || core.equalReadings >= MAX_EQUAL_READINGS) return true
  if (isPart) return core.usedEvent !== null && counts.e === core.usedEvent
  // Within 1 ms of the start of a slice or round, the host is not asked: each round makes progress.
  const used = running === null ? 0 : running.cost - running.extras.sliceStart
  if (used > 0 && (used < SLICE || time - core.roundStart < SLICE)) return false
  return core.host.inputPending?.() ?? false
}

/** @param {Core} core */
function endRound(core) {
  rounds--
  const { stats } = core
  const time = readClock(core)
  const length = time - core.roundStart
  core.loop.taken += length
  stats.overhead += length - (stats.busy - core.busyBefore)
  if (length > stats.longestRound) stats.longestRound = length
  if (core.hasRun) {
    stats.rounds++
    if (core.observers !== null) emit(core, 'round', null, { start: core.roundStart })
  }
  core.inRound = core.inEvent = false
  core.usedEvent = counts.e = null
  reportFailures(core)
  answerIdlers(core)
  core.loop.requestTurn(true)
}

/**
 * Settles the promises of `idle()` if no job is left, or if the remaining jobs are deadlocked.
 *
 * @param {Core} core
 */
function answerIdlers(core) {
  if (core.live > 0) return core.findDeadlock === null ? undefined : reportDeadlock(core, core.findDeadlock)
  if (core.stats.jobs !== core.shapedJobs) keepShapes(core)
  if (core.idlers.length > 0) core.idlers.splice(0).forEach(({ resolve }) => resolve())
}

/** @param {Core} core a core with jobs @param {(live: number) => unknown} find */
function reportDeadlock(core, find) {
  const error = isQuiet(core) ? find(core.live) : null
  const isNew = error !== null && error !== core.deadlock
  core.deadlock = error
  if (error === null) return
  const idlers = core.idlers.splice(0)
  if (isNew && (core.onError !== undefined || idlers.length === 0)) report(core, error, null)
  idlers.forEach(({ reject }) => reject(error))
}

/** Whether no code outside of jobs, and no entry of the timeline, can make a job ready. @param {Core} core */
function isQuiet(core) {
  if (hasWork(core) || core.holds > 0) return false
  return nodesOf(core.timeline).every(({ action, subject, time, ref }) => {
    return action === fireAlarm ? subject.isReplenishment || time === Infinity : !ref
  })
}

/**
 * V8 discards the code compiled for a hidden class when a full collection finds no object of it, as between
 * two bursts of jobs. So one object of each hot class is kept. They are made again at each idle time, because
 * hidden classes change with the values that their fields have held. Without it, a burst of 1000 jobs after a
 * collection takes 17 to 28 us a job instead of 2.3 (Node 20).
 *
 * @param {Core} core
 */
function keepShapes(core) {
  const job = createJob(core, undefined, null, NO_ARGUMENTS, core.time)
  core.shapedJobs = --core.stats.jobs
  core.shapes = [job, new Extras(), new BudgetTuner(), new Entry(core, 0, null, null, false), new WaitQueue()]
  for (let i = 0; i < shapeMakers.length; i++) addElement(core.shapes, core.shapes.length, shapeMakers[i]())
}
/** Makes objects of hot classes of other modules. @type {(() => object)[]} */
const shapeMakers = []

/** An internal error ends one round, not the scheduler. @param {Core} core @param {unknown} error */
function reportInternalError(core, error) {
  setDispatching(null, null)
  report(core, error, null)
}

// Readiness: the only functions that put jobs into the ready queue or a group, and take them out.

/** @param {Job} job ready */
function dequeue(job) {
  const { queue, extras: { group } } = job
  if (group !== null && queue === group.jobs) group.delete(job)
  else queue.delete(job)
}

/** Whether a job ranks by its reservation only. @param {Job} job @param {Rank} rank */
function isGroupRank(job, rank) {
  const { group, sections } = job.extras
  return group !== null && sections === 0 && rank === group.rankFor(job)
}

/** Queues a ready job by a rank. @param {Job} job a job outside of queues @param {Rank} rank */
function placeReady(job, rank) {
  const { core, extras: { group } } = job
  if (group !== null && isGroupRank(job, rank)) {
    if (job.extras.owned.length === 0) group.dependents.delete(job)
    job.rank = ownRankOf(job)
    group.insert(job)
  } else {
    group?.dependents.add(job)
    if (rank !== job.rank) job.extras.own ??= job.rank
    job.rank = rank
    core.ready.insert(job)
  }
}

/**
 * Makes a job ready, after the jobs of equal rank. Its state and its queue change before observers are
 * notified, because observers may call anything.
 *
 * @param {Job} job a job outside of all queues @param {'release' | 'wake'} type the type of the record
 */
function makeReady(job, type) {
  const { core, extras } = job
  job.status = WAITING // the group must not find it in a queue
  // A running job wakes others in the middle of its budget, so the clock must be read.
  if (extras.group !== null) extras.group.arrives(job, currentOf(core) === null ? core.time : readClock(core))
  if (job.status >= DONE) return // an observer of the replenishment has cancelled it
  job.seq = ++core.lastSeq
  job.status = READY
  if (extras.isSpecial) placeReady(job, rankToHave(job))
  else core.ready.insert(job)
  if (core.observers === null) return
  emit(core, type, job)
  if (isDepleted(job)) emitDepletion(job)
}

/** Makes a job ready that has waited. @param {Job} job */
function unblock(job) {
  const { core } = job
  if (job.extras !== NO_EXTRAS) job.extras.sliceStart = job.cost
  if (!core.inRound || core.observers !== null) readClock(core)
  makeReady(job, 'wake')
  if (!isDepleted(job)) preemptFor(job)
  if (!core.inRound) core.loop.requestTurn()
}

/** Preempts the running job in favour of a woken one that ranks at least as high. @param {Job} job */
function preemptFor(job) {
  const { core } = job
  const { running } = core
  if (running === null || running === job) return
  const isInGroup = job.queue !== core.ready || running.queue !== core.ready
  const order = isInGroup && job.queue !== running.queue
    ? compareRanks(effectiveRank(job), effectiveRank(running))
    : compareRanks(job.rank, running.rank)
  if (order > 0) return
  if (order < 0) return interrupt(core)
  // Switches to an equal at the next point: rotation at the end of slices alone would make choices unfair.
  core.mustRotate = core.mustChoose = true
  if (running.extras !== NO_EXTRAS) running.extras.sliceStart = running.cost
  if (dispatching !== core) return
  const { left } = budget // the job's code can write it
  // The budget counts as ended here, so that its cost still measures the price of a point.
  if (typeof left === 'number' && left > 1) core.granted -= left - 1
  budget.left = 0
}

/**
 * Ends the budget of the running job at its next point, because another job may be more eligible.
 *
 * @param {Core} core
 */
function interrupt(core) {
  core.mustChoose = true
  if (dispatching !== core) return
  core.granted = CUT_SHORT
  budget.left = 0
}

/** Ends the budget of the running job if it is no longer the most eligible. @param {Core} core */
function reconsider(core) {
  if (core.running !== null && core.running !== bestOf(core)) interrupt(core)
}

/** The job whose code runs right now. @param {Core} core @returns {Job | null} */
const currentOf = core => dispatching === core ? core.running : null

// From the release to the end

const WORK = "a Task, a generator, a function or [object, 'method']"
/** @param {any} work @returns {any} `job.generator` of a new job */
function generatorOf(work) {
  if (typeof work === 'function') {
    refuseAsyncGenerator('work', work, work)
    return UNSTARTED
  }
  if (work instanceof Task) {
    refuseAsyncGenerator('work', callable('work.run', work.run), work)
    return UNSTARTED
  }
  if (Array.isArray(work)) return methodPair(work)
  if (!isIterator(work) || isJob(work)) throw wrongType('work', WORK, work)
  if (work[driven] === true) throw new TypeError('work is driven by another job already')
  return resumable(work)
}

/**
 * @param {any[]} pair @returns {typeof UNSTARTED}
 * @throws {TypeError} if it is not an object and the name of a method
 */
function methodPair(pair) {
  const { 0: object, 1: name } = pair
  const isObject = typeof object === 'object' && object !== null || typeof object === 'function'
  if (pair.length !== 2) throw wrongType('work', WORK, pair)
  if (!isObject) throw wrongType(`work[0], whose method is ${String(name)},`, 'an object', object)
  refuseAsyncGenerator('work', callable(`work[1]: ${String(name)}`, object[name]), object[name])
  return UNSTARTED
}

/**
 * @param {Core} core @param {any} work @param {any} options @param {any[]} args
 * @param {Admission | null} [admit]
 * @returns {Job}
 */
function spawn(core, work, options, args, admit = null) {
  if (work instanceof Waitable && special(work)?.call !== undefined) {
    const call = work
    work = () => call
  }
  const generator = generatorOf(work)
  if (options === undefined) options = NO_OPTIONS
  else if (options !== NO_OPTIONS) knownOptions(options, SPAWN_OPTIONS)
  const { release, signal, scheduler } = options
  if (scheduler !== undefined && scheduler !== core.scheduler) {
    throw new TypeError('scheduler must be the one that spawns')
  }
  if (release !== undefined) finite('release', release)
  if (signal !== undefined) abortSignal('signal', signal)
  const task = work instanceof Task ? work : null
  const parameters = task !== null || options !== NO_OPTIONS ? parametersOf(options, task) : PLAIN
  return launch(core, work, generator, args, release, parameters, signal, admit)
}

/**
 * Creates a job of checked parameters.
 *
 * @param {Core} core @param {any} work @param {any} generator @param {any[]} args
 * @param {number | undefined} release
 * @param {Parameters} parameters @param {AbortSignal} [signal] @param {Admission | null} [admit]
 * @returns {Job}
 */
function launch(core, work, generator, args, release, parameters, signal, admit = null) {
  const { deadline, reservation, uses } = parameters
  const priority = core.policy.priority?.(parameters) ?? parameters.priority
  const now = readClock(core)
  const job = createJob(core, work, generator, args, release ?? now)
  if (generator !== UNSTARTED) job.input = undefined
  if (!isPlain(parameters)) extrasOf(job).parameters = parameters
  if (admit !== null) extrasOf(job).admit = admit
  job.rank = ownRank(job, deadline, priority)
  const isAborted = signal !== undefined && signal.aborted
  try {
    if (signal !== undefined && !isAborted) {
      extrasOf(job).unsubscribe = onAbort(signal, reason => abort(job, reason))
    }
    if (!isAborted && (reservation !== undefined || uses !== undefined)) attach(job, uses ?? [], reservation)
  } catch (error) {
    job.extras.unsubscribe?.()
    core.stats.jobs--
    throw error
  }
  if (generator !== UNSTARTED && generator !== null) {
    mark(work, true)
    mark(generator, true)
  }
  core.live++
  if (isAborted) cancel(job, signal.reason)
  else if (job.release <= now) arrive(job)
  else {
    job.entry = setEntry(new Entry(core, job.release, arrive, job, true))
    core.loop.requestTurn()
  }
  return job
}

/**
 * Attaches a job to its reservation and to its declared resources.
 *
 * @param {Job} job @param {ResourceHook[]} uses @param {any} reservation
 */
function attach(job, uses, reservation) {
  const { core: { scheduler } } = job
  const extras = specialOf(job)
  extras.own = job.rank
  if (reservation?.level !== undefined) extras.level = reservation.level // resources compute ceilings by it
  const attached = []
  try {
    for (let i = 0; i < uses.length; i++) {
      uses[i].attach(job, scheduler)
      attached.push(uses[i])
    }
    extras.group = reservation?.groupFor(job, scheduler) ?? null
  } catch (error) {
    attached.forEach(hook => hook.detach(job))
    throw error
  }
}

/**
 * Called when the release of a job is due. It may cancel the job, or return a waitable that the job waits for
 * before it starts; the waitable settles with the arguments of the job.
 *
 * @typedef {(job: Job) => Waitable | null} Admission
 */

/** Handles the release of a job. @param {Job} job */
function arrive(job) {
  const { core, extras: { admit } } = job
  expectMiss(job)
  const waitable = admit === null ? null : admit(job)
  if (job.status >= DONE) return
  if (waitable === null) enqueue(job)
  else holdBack(job, waitable)
  core.loop.requestTurn()
}

/** Makes a released job ready. @param {Job} job */
function enqueue(job) {
  const { core } = job
  makeReady(job, 'release')
  // A job can also move its group after the other jobs of the same rank.
  if (job === bestOf(core) || job.extras.group !== null) reconsider(core)
}

/** Makes a job wait before it starts. @param {Job} job a job outside of queues @param {Waitable} waitable */
function holdBack(job, waitable) {
  const { core, extras } = job
  job.status = WAITING
  extras.own ??= job.rank
  job.rank = rankToHave(job)
  enter(waitable, job, job)
  if (isElsewhere(job) && job.entry !== null) {
    clearEntry(job.entry)
    job.entry = null
  }
  extras.group?.dependents.add(job)
  if (core.observers !== null) emit(core, 'release', job)
  if (core.observers !== null && extras.wait === waitable) emit(core, 'block', job, { on: waitable })
  if (extras.wait === waitable) breakCycle(job)
}

/**
 * Sets an entry for the miss of a job, unless the job runs in another thread, whose reports are late.
 *
 * @param {Job} job
 */
function expectMiss(job) {
  const { core, absoluteDeadline } = job
  const isExpected = absoluteDeadline < Infinity && !isElsewhere(job)
  // Only a miss that acts keeps the process alive.
  const ref = job.extras.parameters.miss === 'abort'
  job.entry = isExpected ? setEntry(new Entry(core, justAfter(absoluteDeadline), missDue, job, ref)) : null
}

/**
 * The next time after a time >= 0, so that a job that finishes exactly at its deadline is on time.
 *
 * @param {number} time
 */
const justAfter = time => time + Math.max(Math.abs(time) * Number.EPSILON * 0.75, Number.MIN_VALUE)

/** @param {Job} job @param {Entry} entry */
function missDue(job, entry) {
  if (job.entry === entry) job.entry = null
  miss(job)
}

/** Reports a miss. @param {Job} job */
function miss(job) {
  const { core, extras: { parameters } } = job
  extrasOf(job).isMissed = true
  core.stats.misses++
  if (core.observers !== null) emit(core, 'miss', job)
  notifyHandlers(core, 'onMiss', job)
  if (parameters.miss === 'continue' || job.status >= DONE) return
  cancel(job, new DeadlineError(`${job.name} missed its deadline, ${job.deadline} ms after its release`))
}

/** @param {Job} job @param {number} deadline */
function setDeadline(job, deadline) {
  changeKeys(job, job.release, deadline, job.priority)
  if (job.status === PENDING || job.status >= DONE) return
  if (job.entry !== null) clearEntry(job.entry)
  if (job.missed) job.entry = null
  else expectMiss(job)
  job.core.loop.requestTurn()
}

/**
 * Starts the next period of a job: its deadline counts from the new release.
 *
 * @param {Job} job @param {number} release
 */
function nextPeriod(job, release) {
  // A miss of the period that ends here is reported with the other misses of the next reading.
  if (job.entry !== null && readClock(job.core) > job.absoluteDeadline) job.entry = null
  const extras = extrasOf(job)
  changeKeys(job, release, job.deadline, job.priority)
  extras.isMissed = false
  extras.periodStart = job.cost
  setDeadline(job, job.deadline)
}

/**
 * Changes the keys of a job. Nothing changes if a resource rejects the level that a pending job would get.
 *
 * @param {Job} job @param {number} release @param {number} deadline @param {number} priority
 */
function changeKeys(job, release, deadline, priority) {
  if (job.status >= DONE) return
  const extras = specialOf(job)
  const before = job.release
  const isPending = job.status === PENDING
  if (!isPending) extras.level ??= levelNow(job) // fixed at the release
  const own = ownRankOf(job)
  job.releaseTime = release
  const rank = ownRank(job, deadline, priority)
  extras.own = rank
  extras.background = null
  special(extras.wait)?.rekeyed?.(job)
  if (!isPending) return own === rank ? undefined : moveOwnRank(job, own)
  const resources = extras.parameters.uses ?? []
  const declareAgain = () => {
    resources.forEach(resource => resource.detach(job))
    resources.forEach(resource => resource.attach(job, job.core.scheduler))
  }
  job.rank = rank
  try {
    declareAgain()
  } catch (error) {
    job.releaseTime = before
    extras.own = job.rank = own
    declareAgain()
    throw error
  }
}

/** Moves a job after its own rank has changed. @param {Job} job @param {Rank} last */
function moveOwnRank(job, last) {
  const { core, extras: { group } } = job
  if (job.status !== READY) return updateRank(job)
  if (group !== null && job.queue === group.jobs) {
    group.delete(job)
    job.rank = ownRankOf(job)
    group.insert(job)
  } else {
    const isLent = job.rank !== last
    if (isLent) return updateRank(job)
    job.queue.delete(job)
    placeReady(job, rankToHave(job))
  }
  reconsider(core)
}

/** A cancelled job leaves its reservation: otherwise its `finally` might never run. @param {Job} job */
function leaveGroup(job) {
  const { core, extras } = job
  const { group } = extras
  if (group === null) return
  const wasDepleted = isDepleted(job) && job !== core.running
  const isReady = job.status === READY
  if (isReady) {
    dequeue(job)
    job.status = WAITING // the group must not find it in a queue
  }
  extras.group = null
  group.detach(job)
  if (wasDepleted) return unblock(job)
  if (isReady) {
    job.status = READY
    placeReady(job, rankToHave(job))
    reconsider(core)
  } else updateRank(job)
}

/** @param {Job} job @param {number} status DONE, FAILED or CANCELLED @param {any} outcome */
function finish(job, status, outcome) {
  const { core, extras } = job
  if (extras.cancellation !== NONE) {
    const wasTold = extras.cancellation === THROWN
    // The job ended before it received the error, or rethrew the error.
    if ((status === DONE || isTask(job)) && !wasTold) outcome = extras.reason
    if (Object.is(outcome, extras.reason) && !(status === DONE && wasTold)) status = CANCELLED
  }
  if (job.status === READY) dequeue(job)
  const { entry } = job
  job.finishTime = core.time
  const isLate = entry !== null && job.status !== PENDING && core.time > job.absoluteDeadline
  job.status = status
  job.generator = null
  job.input = outcome
  core.live--
  if (core.running === job) core.running = null
  if (entry !== null) clearEntry(entry)
  job.entry = null
  if (isLate) extrasOf(job).isMissed = true
  if (core.observers !== null) {
    emit(core, status === DONE ? 'finish' : status === FAILED ? 'fail' : 'cancel', job,
      status === DONE ? undefined : { error: outcome })
  }
  if (job.deferred !== null) settlePromise(job, job.deferred)
  if (job.extras !== NO_EXTRAS) release(job, job.extras)
  if (status === FAILED && !extras.isHandled && job.deferred === null) core.failures.push(job)
  if (isLate) miss(job)
  extras.onRest?.()
  if (core.inRound) return
  reportFailures(core)
  answerIdlers(core)
  core.loop.requestTurn()
}

/** Releases the resources of a job that ends. @param {Job} job @param {Extras} extras */
function release(job, extras) {
  const { core } = job
  const { driver, group, parameters, joiners } = extras
  if (driver !== null && driver.promise !== null) {
    const isDone = job.status === DONE
    driver.resume(!isDone, isDone ? undefined : job.input)
  }
  extras.unsubscribe?.()
  extras.callers = null
  endStay(job)
  if (extras.sections > 0) {
    core.sections = core.sections.filter(section => section.job !== job)
    raiseCeilings(core)
  }
  if (group !== null) {
    extras.group = null
    group.detach(job)
  }
  parameters.uses?.forEach(resource => resource.detach(job))
  const owned = slice.call(extras.owned)
  for (let i = 0; i < owned.length; i++) if (owned[i] !== joiners) owned[i].orphan(job)
  if (joiners === null) return
  for (let join = joiners.shift(); join !== null; join = joiners.shift()) {
    if (job.status === DONE) join.wake(job.input)
    else join.fail(job.input)
  }
  joiners.owner = null
}

/**
 * Reports the failures that no code handles, as the platform reports unhandled rejections.
 *
 * @param {Core} core
 */
function reportFailures(core) {
  if (core.failures.length === 0) return
  const failures = core.failures.splice(0)
  for (let i = 0; i < failures.length; i++) {
    const job = failures[i]
    if (job.extras.isHandled || job.deferred !== null) continue
    if (core.onError !== undefined || core.host.report !== undefined) {
      callUser(core, 'onError', () => report(core, job.input, job))
    } else {
      promiseOf(job)
    }
  }
}

// Critical sections

/** A critical section: while it is open, jobs of a level up to its ceiling do not preempt its holder. */
class Section {
  /** @param {Job} job @param {number} level */
  constructor(job, level) {
    this.job = job
    this.level = level
    /** The highest level from the bottom of the stack up to this section. */
    this.ceiling = level
    this.isClosed = false
  }

  /** Raises the level of an open section. @param {number} level */
  raise(level) {
    if (this.isClosed || !(level > this.level)) return
    this.level = level
    raiseCeilings(this.job.core)
  }

  /**
   * Closes the section. A section of another job can be above it on the stack: that job waits in its section
   * until this job has run to the end of its stay (see runInside).
   *
   * @throws {Error} if a section inside is still open
   */
  close() {
    if (this.isClosed) return
    const { job } = this
    const { core, extras } = job
    const { sections } = core
    let at = sections.length - 1
    while (sections[at] !== this) {
      if (sections[at--].job === job) throw new Error('critical sections must nest')
    }
    this.isClosed = true
    sections.splice(at, 1)
    if (at < sections.length) raiseCeilings(core)
    extras.sections--
    if (extras.sections === 0) {
      updateRank(job)
      if (isDoomed(job)) return interrupt(core)
    }
    // Baker 1991: jobs that the ceiling held back are tested as soon as it has fallen.
    if (core.running !== bestOf(core)) interrupt(core)
  }
}

/** @param {Job} job @param {number} level @returns {Section} */
function openSection(job, level) {
  const { core } = job
  const section = new Section(job, level)
  specialOf(job).sections++
  if (job.extras.group !== null) updateRank(job)
  core.sections.push(section)
  raiseCeilings(core)
  return section
}

/** @param {Core} core */
function raiseCeilings({ sections }) {
  let ceiling = -Infinity
  for (let i = 0; i < sections.length; i++) {
    ceiling = Math.max(ceiling, sections[i].level)
    sections[i].ceiling = ceiling
  }
}

// Reservations

/** Whether the reservation of a ready job has no capacity left. @param {Job} job */
const isDepleted = ({ extras: { group }, queue }) => group !== null && queue === group.jobs && group.isOut

/** @param {Job} job */
function noteDepletion(job) {
  extrasOf(job).sliceStart = job.cost
  if (job.core.observers !== null) emitDepletion(job)
}
/** @param {Job} job */
function emitDepletion(job) {
  const name = job.extras.group?.hooks.name
  emit(job.core, 'deplete', job, name === undefined ? undefined : { reservation: name })
}

/**
 * The ready jobs of a reservation, as one node of the ready queue: it is ordered by the keys of the
 * reservation, and its jobs among each other by their own. While the reservation is depleted, the node is in
 * no queue.
 *
 * The operations follow LITMUS^RT. The scheduler calls the hooks `arrives`, `departs` and `drain`; the
 * reservation calls `change` when its keys have changed.
 */
class Group {
  /**
   * @param {Core} core
   * @param {{ name?: string, arrives?(job: Job, time: number): void, departs?(job: Job, time: number): void,
   *   drain?(job: Job, ms: number, time: number, isBackground: boolean): void, detach?(job: Job): void }}
   *   hooks `isBackground`: whether the job ran after all other jobs
   */
  constructor(core, hooks) {
    this.core = core
    this.hooks = hooks
    /** @type {Rank} */
    this.rank = DEPLETED_RANK
    this.seq = 0
    /** @type {any} */
    this.queue = null
    this.slot = 0
    /** @type {any} */
    this.before = null
    /** @type {any} */
    this.after = null
    /** @type {Queue<Job>} */
    this.jobs = new Queue()
    /** Whether its jobs do not run. */
    this.isOut = false
    /** Whether its jobs run after all others, by their own keys. */
    this.isBackground = false
    /** The rank of all of its jobs, unless it is in the background. @type {Rank} */
    this.shared = DEPLETED_RANK
    /**
     * The jobs outside of its queue, and the jobs that can leave the queue by inheritance.
     *
     * @type {Set<Job>}
     */
    this.dependents = new Set()
  }

  /** The job that the node stands for. */
  get first() { return this.jobs.first }

  /** @param {Job} job @returns {Rank} the rank that the reservation gives a job */
  rankFor(job) {
    if (!this.isBackground) return this.shared
    const { key, tie, deadline, priority, comparison, keys } = ownRankOf(job)
    const { extras } = job
    return extras.background ??= new Rank(BACKGROUND, key, tie, deadline, priority, this, comparison, keys)
  }

  /** @param {Job} job ready */
  insert(job) {
    this.jobs.insert(job)
    this.refreshFirst()
  }
  /** @param {Job} job */
  delete(job) {
    this.jobs.delete(job)
    this.refreshFirst()
  }

  /** Moves the node in the ready queue after its first job has changed. */
  refreshFirst() {
    const { core, jobs: { first } } = this
    if (this.queue !== null) core.ready.delete(this)
    if (first === null || this.isOut) return
    this.rank = this.rankFor(first)
    this.seq = first.seq
    core.ready.insert(this)
  }

  /**
   * Changes the keys of the reservation.
   *
   * @param {{ absoluteDeadline: number, priority: number, isAbove?: boolean } | 'background' | null} keys
   *   `isAbove`: above all jobs without a reservation; 'background': after all other jobs; null: depleted
   */
  change(keys) {
    const { core } = this
    const wasOut = this.isOut
    if (keys !== null) this.isOut = false
    this.isBackground = keys === 'background'
    this.shared = keys === null ? DEPLETED_RANK : keys === 'background' ? this.shared
      : rankOf(core, keys.isAbove ? RESERVED : ORDINARY, keys, Infinity, this)
    const isObserved = core.observers !== null && wasOut !== (keys === null)
    // Jobs that inherit were not depleted.
    const returning = isObserved && wasOut ? nodesOf(this.jobs) : null
    // Jobs that inherit leave the queue before the group is depleted, and return after that.
    membersOf(this.dependents).forEach(updateRank)
    this.isOut = keys === null
    this.refreshFirst()
    const { first } = this.jobs
    if (wasOut && !this.isOut && first !== null) preemptFor(first)
    else reconsider(core)
    if (isObserved) this.#notify(returning ?? nodesOf(this.jobs))
    core.loop.requestTurn()
  }

  /** @param {Job[]} jobs jobs that are depleted now, or were depleted */
  #notify(jobs) {
    const { core } = this
    readClock(core)
    jobs.forEach(job => {
      if (job === core.running || job.queue !== this.jobs) return
      if (this.isOut) emitDepletion(job)
      else emit(core, 'wake', job)
    })
  }

  /** @param {Job} job @param {number} time */
  arrives(job, time) {
    this.hooks.arrives?.(job, time)
  }
  /** @param {Job} job @param {number} time */
  departs(job, time) {
    this.hooks.departs?.(job, time)
  }
  /** @param {Job} job */
  detach(job) {
    this.dependents.delete(job)
    this.hooks.detach?.(job)
  }
}

/** @template {Node} N @param {Queue<N>} queue @returns {N[]} the nodes, unordered */
function nodesOf({ first, heads }) {
  /** @type {N[]} */
  const nodes = []
  for (let i = -1; i < heads.length; i++) {
    for (let node = i < 0 ? first : heads[i]; node !== null; node = node.after) nodes.push(node)
  }
  return nodes
}

// ------------------------------------------------------------------------------------ 7 accounts and budgets

/** `core.granted` of a budget that was cut short, and therefore tells nothing about the price of points. */
const CUT_SHORT = -1

/** @param {Core} core @returns {number} the clock, which never runs backwards here, nor to Infinity */
function readClock(core) {
  const time = core.host.now()
  core.hasNotified = false
  return core.time = time > core.time && time < Infinity ? time : core.time
}

/**
 * Ends the budget of a job: reads the clock, and charges the job and the reservations that pay.
 *
 * @param {Core} core @param {Job} job @param {number} result the result of `drive`
 */
function endBudget(core, job, result) {
  setDispatching(null, null)
  const time = readClock(core)
  const elapsed = time > core.mark ? time - core.mark : 0
  const { stats } = core
  core.mark = time
  core.elapsed = elapsed
  job.charged += elapsed
  stats.busy += elapsed
  stats.yields += received
  received = 0
  if (elapsed > stats.longestBudget) stats.longestBudget = elapsed
  core.equalReadings = elapsed > 0 ? 0 : core.equalReadings + 1
  if (elapsed > 0 && elapsed < core.resolution) core.resolution = elapsed
  if (result < DONE) learn(core, job)
  if (core.lent !== null) bill(core, job, core.lent)
}

/** Learns the price of points from a budget. @param {Core} core @param {Job} job */
function learn(core, job) {
  const extras = extrasOf(job)
  extras.tuner ??= new BudgetTuner()
  if ((extras.parameters.budget ?? core.budget) !== AUTO) return
  const { left } = budget // the job's code can write it
  const { granted } = core
  if (typeof left !== 'number' || !(left <= granted)) return
  const passed = granted - Math.max(0, left) || 1
  if (passed > 0) extras.tuner.learn(passed, core.elapsed, core.resolution, core.budgetCeiling)
}

/**
 * Charges the reservation of a job, and the reservation whose rank the job inherited. A reservation thus
 * lends no more than it has (bandwidth inheritance: Lamastra, Lipari, Abeni 2001).
 *
 * @param {Core} core @param {Job} job @param {Rank} rank the rank by which the job ran
 */
function bill(core, job, rank) {
  const { extras: { group } } = job
  const { elapsed, time } = core
  const isBackground = rank.band < ORDINARY
  group?.hooks.drain?.(job, elapsed, time, isBackground)
  if (rank.group !== null && rank.group !== group) rank.group.hooks.drain?.(job, elapsed, time, isBackground)
  if (group !== null && job.extras.cancellation !== NONE) leaveGroup(job)
  if (core.hasNotified) core.mark = readClock(core)
}

/** Detects stalls and overruns. @param {Core} core @param {Job} job */
function inspect(core, job) {
  if (core.elapsed > core.slice) stall(core, job, core.elapsed)
  const { extras } = job
  if (job.cost >= extras.rechargeAt) recharge(core, job)
  if (extras === NO_EXTRAS || !(job.cost - extras.periodStart > extras.parameters.wcet)) return
  extras.periodStart = Infinity
  core.stats.overruns++
  if (core.observers !== null) emit(core, 'overrun', job)
  notifyHandlers(core, 'onOverrun', job)
}

/**
 * Serves a job by a constant bandwidth (Abeni and Buttazzo 1998): whenever it has used its deadline in
 * processor time, it is ranked by the present time plus that deadline. So a long job delays jobs that are
 * released later by about their own deadlines. A reservation ranks its jobs itself.
 *
 * @param {Job} job @param {((absoluteDeadline: number) => void) | null} onRecharge called with the deadline
 *   by which the job is ranked from then on
 */
function serve(job, onRecharge) {
  const { deadline } = ownRankOf(job)
  if (deadline === Infinity || job.extras.group !== null) return
  const extras = extrasOf(job)
  extras.rechargeAt = job.cost + deadline
  extras.onRecharge = onRecharge
}

/** @param {Core} core @param {Job} job a job that has used its deadline */
function recharge(core, job) {
  const extras = specialOf(job)
  const own = ownRankOf(job)
  const { deadline, priority } = own
  if (extras.group !== null) return void (extras.rechargeAt = Infinity)
  const absoluteDeadline = core.time + deadline
  const { id, name, task, release, period } = job
  const keys = { id, name, task, release, deadline, absoluteDeadline, priority, period }
  extras.rechargeAt = job.cost + deadline
  extras.own = rankOf(core, ORDINARY, keys, deadline, null)
  moveOwnRank(job, own)
  extras.onRecharge?.(absoluteDeadline)
}

/**
 * Calls the handler of the job, then that of the scheduler.
 *
 * @param {Core} core @param {'onMiss' | 'onOverrun'} event @param {Job} job
 */
function notifyHandlers(core, event, job) {
  callUser(core, event, job.extras.parameters[event], job)
  callUser(core, event, core[event], job)
}

/**
 * Calls user code outside of jobs, for example an alarm callback or a handler. In a round, its time is
 * charged, to the running job if there is one. A callback that runs longer than a slice is reported by name.
 *
 * @param {Core} core @param {string} kind
 * @param {((...args: any[]) => void) & { of?: string } | undefined} callback `of`: the name to report, if not
 *   its own
 * @param {any[]} args
 */
function callUser(core, kind, callback, ...args) {
  if (callback !== undefined) applyUser(core, kind, callback, args)
}

/**
 * @param {Core} core @param {string} kind @param {((...args: any[]) => void) & { of?: string }} callback
 * @param {any[]} args
 */
function applyUser(core, kind, callback, args) {
  if (!core.inRound || core.hasNotified) readClock(core)
  const { time: start, stats } = core
  const { busy } = stats
  try {
    apply(callback, undefined, args)
  } catch (error) {
    report(core, error, null)
  }
  if (currentOf(core) !== null) return
  const ms = readClock(core) - start
  if (core.inRound) stats.busy = busy + ms // includes the callbacks that it called
  if (ms <= core.slice) return
  const name = labelOf(callback)
  const by = { name: name && name !== kind ? `${kind} ${name}` : kind }
  stats.stalls++
  if (core.observers !== null) emit(core, 'stall', null, { ms, by })
  if (kind !== 'onStall') callUser(core, 'onStall', core.onStall, by, ms)
}

/**
 * Reports that a budget of a job outlasted the slice.
 *
 * @param {Core} core @param {Job} job @param {number} ms
 */
function stall(core, job, ms) {
  core.stats.stalls++
  if (core.observers !== null) emit(core, 'stall', job, { ms })
  const { stallListeners } = core
  for (let i = 0; i < stallListeners.length; i++) stallListeners[i](job, ms)
  /** @type {string | undefined} */
  let advice
  if (adviceFor !== null) callUser(core, 'onStall', () => { advice = adviceFor?.(functionOf(job.work)) })
  if (advice === undefined) callUser(core, 'onStall', core.onStall, job, ms)
  else callUser(core, 'onStall', core.onStall, job, ms, advice)
}

/** @param {Core} core @param {unknown} error @param {Job | null} job */
function report(core, error, job) {
  const handlers = [core.onError, core.host.report, reportToPlatform]
  for (let i = 0; i < handlers.length; i++) {
    try {
      if (handlers[i] !== undefined) return void handlers[i]?.(error, job)
    } catch (another) {
      error = another
    }
  }
}

/**
 * An event of a schedule.
 *
 * @typedef {{ type: string, time: number, job: Job | null, [more: string]: unknown }} TraceRecord
 */

/**
 * @param {Core} core a core with observers @param {string} type @param {Job | null} job
 * @param {object} [more]
 */
function emit(core, type, job, more) {
  core.hasNotified = true
  const record = { type, time: core.time, job, ...more }
  const observers = core.observers ?? [] // never changed in place: an observer may remove the others
  for (let i = 0; i < observers.length; i++) {
    try {
      observers[i](record)
    } catch (error) {
      report(core, error, null)
    }
  }
}

// Budgets

/** @param {Core} core @param {Job} job */
function grantBudget(core, job) {
  const { extras } = job
  const limit = extras.parameters.budget ?? core.budget
  // A cancelled job that was handed a message or a lock runs to its next point.
  const isShort = extras.isSpecial && isDoomed(job)
  const points = isShort ? 1 : limit !== AUTO ? limit : extras.tuner === null ? 1 : extras.tuner.points
  // The entry of a function is a point too.
  core.granted = budget.left = core.isFirstBudget ? points + 1 : points
  core.isFirstBudget = false
}

/**
 * Ends a budget while the code of the job is on the stack, and grants the next one if there is nothing to
 * decide. Firefox resumes a suspended generator in slow code: a Mandelbrot set takes 300 ms with this
 * function and 650 ms without (bench/cold).
 *
 * @param {Core} core
 * @returns {boolean} whether the job must yield
 */
function endBudgetInPlace(core) {
  const job = /** @type {Job} */ (core.running)
  const { extras } = job
  // A reservation that pays is charged when no code is on the stack.
  if (core.lent !== null && (core.lent.group !== null || extras.group !== null) || isDoomed(job)) return true
  endBudget(core, job, POINT)
  inspect(core, job)
  if (core.hasNotified) readClock(core)
  core.mark = core.time // time of handlers and observers is not the job's
  const isOver = core.mustChoose || isDoomed(job) || core.time >= core.timeline.due || isRoundOver(core) ||
    job.cost - job.extras.sliceStart >= core.slice
  setDispatching(core, job)
  if (isOver) core.granted = CUT_SHORT // the points until the yield tell nothing
  else grantBudget(core, job)
  return isOver
}

/**
 * Duration of a short automatic budget, ms. A reading of the clock takes 1 to 2 % of it (60 to 140 ns in
 * browsers).
 */
const SHORT_BUDGET = 0.006
/** Minimum number of points of a short budget, if points are expensive. */
const MIN_POINTS = 8
/** Duration of a long automatic budget, ms: alarms can be late by one budget. */
const LONG_BUDGET = 0.1
/** Maximum number of points: more make no point cheaper (2.7 ns in budgets of 1000 as well; bench/budget). */
const MAX_POINTS = 4096
/**
 * Switch to the other length when points cost 1.1 times as much. The margin exceeds the measurement noise.
 */
const MARGIN = 1.1
/** Measurements between two trials of the other length; trials then take 6 % of the time. */
const MIN_PATIENCE = 32
/** The same after many trials with the same result: 0.4 %. */
const MAX_PATIENCE = 512

/**
 * Finds the number of points of a job's automatic budgets from the cost of the points before.
 *
 * A budget at most doubles, and shrinks immediately. It has at most MAX_POINTS points, and costs at most
 * `ceiling` (see `learn`), rounded up. So if points that cost p ms suddenly cost P ms, the longest budget
 * takes at most
 *
 *   P * min(MAX_POINTS, ceil(ceiling / p)) ms
 *
 * whatever the clock, and wherever in a budget that happens. A budget can be much shorter than a tick of the
 * clock, so the price of a point is an average over several budgets; a budget that contradicts it by more
 * than the resolution starts a new average.
 *
 * Budgets are short, so that alarms are on time, unless points are cheaper in long budgets: Firefox executes
 * slow code for up to a thousand rounds of a loop after each resume. So a job starts with long budgets, and
 * now and then the other length is tried.
 */
class BudgetTuner {
  constructor() {
    /** The points of the next budget. */
    this.points = 1
    /** Points and ms of budgets that ended early. */
    this.earlyPoints = 0
    this.earlyTime = 0
    /** The average price is `time / passed`; older budgets count less. */
    this.passed = 0
    this.time = 0
    this.isLong = true
    /** Points and ms by which the present length is judged. */
    this.judgedPoints = 0
    this.judgedTime = 0
    /** During a trial: the price of a point in budgets of the other length, ms; else 0. */
    this.rival = 0
    /** Measurements until the next one counts. The first one after a switch does not: budgets grow in it. */
    this.wait = 1
    this.patience = MIN_PATIENCE
  }

  /**
   * Learns from a budget. Budgets that waits cut short count together: CommsTime takes 5 % longer if each one
   * counts.
   *
   * @param {number} points > 0 @param {number} ms
   * @param {number} resolution the resolution of the clock, ms; Infinity while it is unknown
   * @param {number} ceiling the maximum cost of a budget, ms
   */
  learn(points, ms, resolution, ceiling) {
    const passed = this.earlyPoints += points
    const elapsed = this.earlyTime += ms
    if (passed < this.points && elapsed < ceiling) return
    this.earlyPoints = this.earlyTime = 0
    const tick = Math.min(1, resolution)
    const expected = this.time / this.passed * passed
    if (elapsed - resolution > 2 * expected || elapsed + resolution < expected / 4) {
      this.time = this.passed = 0
    } else {
      this.judgedTime += elapsed
      this.judgedPoints += passed
      if (this.judgedTime >= Math.max(2 * ceiling, 8 * tick)) this.judge(tick)
    }
    this.time += elapsed
    this.passed += passed
    // The points so far may have cost up to one tick more than the clock shows; or, if a tick is short, one
    // point more.
    const price = (this.time + tick) / (this.passed + 1)
    const worth = this.isLong ? ceiling : Math.min(ceiling, Math.max(SHORT_BUDGET, MIN_POINTS * price))
    this.points = Math.max(1, Math.min(Math.floor(worth / price), 2 * this.points, MAX_POINTS))
    if (this.time > 8 * Math.max(worth, tick)) {
      this.time /= 2
      this.passed /= 2
    }
  }

  /**
   * Starts or ends a trial of the other length, when it is time.
   *
   * @param {number} tick the error of a measurement, ms
   */
  judge(tick) {
    const price = (this.judgedTime + (this.isLong ? tick : -tick)) / this.judgedPoints
    this.judgedTime = this.judgedPoints = 0
    if (this.wait-- > 0) return
    if (this.rival === 0) {
      this.rival = price
      this.isLong = !this.isLong
      this.wait = 1
      return
    }
    const paysLong = this.isLong ? price * MARGIN < this.rival : this.rival * MARGIN < price
    this.patience = paysLong === this.isLong ? MIN_PATIENCE : Math.min(2 * this.patience, MAX_PATIENCE)
    this.isLong = paysLong
    this.wait = this.patience
    this.rival = 0
  }
}

// ------------------------------------------------------------------------- 8 the timeline and the event loop

/** Number of entries that fire without a reading of the clock. */
const UNREAD = 64

/**
 * An entry of the timeline: an action at a time. It is its own rank, so that the timeline is a Queue like the
 * others.
 */
class Entry {
  /**
   * @param {Core} core @param {number} time @param {any} action called with the subject and the entry
   * @param {any} subject @param {boolean} ref whether it keeps the process alive
   */
  constructor(core, time, action, subject, ref) {
    /** @type {any} */
    this.rank = this
    this.seq = 0
    /** @type {any} */
    this.queue = null
    this.slot = 0
    /** @type {any} */
    this.before = null
    /** @type {any} */
    this.after = null
    // These fields make an entry a rank.
    this.band = 0
    /** When it fires: its time, or the present reading if that is later. */
    this.key = time
    this.tie = 0
    /** @type {Comparison | null} */
    this.comparison = null

    this.core = core
    this.time = time
    this.action = action
    this.subject = subject
    this.ref = ref
  }

  /** Whether it will still fire. */
  get isSet() { return this.queue !== null }

  /** Sets it (again). @param {number} time */
  set(time) {
    if (this.queue !== null) clearEntry(this)
    this.time = time
    setEntry(this)
    this.core.loop.requestTurn()
  }

  /** @returns {boolean} whether it would still have fired */
  cancel() {
    this.subject = undefined // the entry may be due
    if (this.queue === null) return false
    clearEntry(this)
    this.core.loop.requestTurn()
    return true
  }
}

/** The entries that have not fired. @extends {Queue<Entry>} */
class Timeline extends Queue {
  constructor() {
    super()
    /** No entry is due earlier. */
    this.due = Infinity
    /** Entries that keep the process alive. */
    this.refs = 0
    this.created = 0
    /** The key of the entry that fires. */
    this.firing = -Infinity
    /** Whether due entries have been left for the next turn. */
    this.isLate = false
  }
}

/** @param {Entry} entry an entry outside of queues @returns {Entry} */
function setEntry(entry) {
  const { core, time } = entry
  const { timeline } = core
  // An entry that is set for a time that has fired already waits for the next reading.
  entry.key = time > timeline.firing ? time : core.time
  entry.seq = timeline.created++
  timeline.insert(entry)
  if (entry.ref) timeline.refs++
  if (entry.key < timeline.due) timeline.due = entry.key
  return entry
}

/** @param {Entry} entry */
function clearEntry(entry) {
  if (entry.queue === null) return
  const { timeline } = entry.core
  timeline.delete(entry)
  if (entry.ref) timeline.refs--
}

/**
 * Fires due entries by time, then creation, for at most one slice. After the page was suspended, thousands of
 * entries can be due; the rest fire later, so that neither jobs nor the page starve.
 *
 * @param {Core} core
 */
function fireDue(core) {
  const { timeline, time } = core
  if (time < timeline.due || time < core.fireFrom || core.paused) return
  const until = Math.max(time, Math.min(time + core.slice, core.roundEnds))
  const { created } = timeline
  let fired = 0
  timeline.isLate = false
  for (;;) {
    const entry = /** @type {Entry | null} */ (timeline.first)
    if (entry === null || entry.key > time || core.paused) break
    // Another entry of this reading has set this entry for a time that has passed.
    if (entry.seq >= created && (entry.key <= timeline.firing || entry.time < entry.key)) break
    if (fired > 0 && core.time > until) {
      timeline.isLate = true
      break
    }
    if (++fired % UNREAD === 0) readClock(core)
    timeline.firing = entry.key
    clearEntry(entry)
    entry.action(entry.subject, entry)
  }
  timeline.firing = -Infinity
  timeline.due = timeline.first === null ? Infinity : timeline.first.key
  timeline.isLate &&= timeline.due <= time
  // Jobs get a slice before further entries fire.
  const hasJobs = core.running !== null || core.ready.size > 0
  core.fireFrom = timeline.isLate && hasJobs ? core.time + core.slice : -Infinity
}

/**
 * Fires an alarm or a replenishment.
 *
 * @param {{ fn: any, isReplenishment: boolean } | undefined} subject @param {Entry} entry
 */
function fireAlarm(subject, entry) {
  if (subject === undefined) return
  const { core, time } = entry
  const { fn, isReplenishment } = subject
  if (core.observers !== null) {
    if (!isReplenishment) emit(core, 'alarm', null, { due: time })
    else {
      const due = fn.of === undefined ? { due: time } : { reservation: fn.of, due: time }
      emit(core, 'replenish', null, due)
    }
  }
  if (entry.subject === undefined) return // an observer has cancelled it
  callUser(core, isReplenishment ? 'replenishment' : 'alarm', fn, isReplenishment ? core.time : time)
}

/** Whether a turn is needed now. @param {Core} core */
const hasWork = ({ running, ready, timeline, time }) => running !== null || ready.size > 0 ||
  timeline.isLate && timeline.first !== null && timeline.first.key <= time

/** The turns of a scheduler in the event loop: a post while there is work, one timer when there will be. */
class EventLoop {
  /** @param {Core} core */
  constructor(core) {
    this.core = core
    this.isPosted = false
    /** ms that rounds have taken since the host was last asked for a turn. */
    this.taken = 0
    /** @type {(() => void) | null} */
    this.disarm = null
    this.armedFor = Infinity
    this.isArmedRef = false
  }

  /**
   * Makes the host call again when there is something to do.
   *
   * @param {boolean} [isContinued] whether a round has just ended
   */
  requestTurn(isContinued = false) {
    const { core } = this
    const isFollowing = following !== null && this.taken < core.round
    if (core.inRound || this.isPosted && following === null) return
    if (core.paused) this.arm(Infinity)
    else if (!hasWork(core)) this.arm(core.timeline.first === null ? Infinity : core.timeline.first.key)
    else if (isFollowing) /** @type {Set<Core>} */ (following).add(core)
    else if (!this.isPosted) this.post(isContinued)
  }

  /**
   * Takes a turn right after an event: at most a slice, and at most a round until the host has been asked for
   * a turn, so that a flood of events starves no other work of the page.
   */
  follow() {
    const { core } = this
    if (core.paused || rounds > 0) this.requestTurn()
    else runRound(core, Math.min(core.slice, core.round - this.taken))
  }

  /** @param {boolean} isContinued */
  post(isContinued) {
    this.taken = 0
    this.arm(Infinity)
    this.isPosted = true
    this.core.host.post((due = Infinity) => {
      const { core } = this
      if (core.loop !== this) return // another host has been configured
      this.isPosted = false
      runRound(core, core.round - this.taken, core.round > FRAME ? Infinity : due)
    }, isContinued)
  }

  /** Makes the host call at a time, by one timer. @param {number} time */
  arm(time) {
    const { core } = this
    const ref = core.timeline.refs > 0
    if (time === this.armedFor && ref === this.isArmedRef) return
    this.disarm?.()
    this.disarm = null
    this.armedFor = time
    this.isArmedRef = ref
    if (time === Infinity) return
    this.disarm = core.host.after(Math.max(0, time - readClock(core)), () => {
      this.disarm = null
      this.armedFor = Infinity
      this.taken = 0
      runRound(core)
    }, { ref })
  }
}

// ---------------------------------------------------------------------------------------------- 9 async jobs

// A continuation of async code runs in a microtask, which does not reveal the job of the code. Four cases:
//
//   in the first part of the function    `rt.current` is the job
//   directly after a yield of the job    `certainJob` is the job. It is set in the microtask before the
//                                        continuation, and reset in the microtask after it
//   after any other await                AsyncContext knows the job; without it, the job is unknown
//   after `rt.yield()` outside of jobs   the continuation is a separate job without a deadline, priority 0

/**
 * Number of microtasks after which an async job that has not yielded counts as waiting for a foreign promise.
 * Each async function that returns takes one microtask: with 4, a yield in helpers four deep leaves the
 * scheduler; with 16, a yield in helpers 25 deep.
 */
const PATIENCE = 32
/**
 * Microtasks for the code that awaits a task, before the next task: an async function around the await takes
 * the second.
 */
const CHECKPOINT = 2
const PASSED = Promise.resolve()
const YIELD_OPTIONS = { priority: finite, signal: abortSignal, deadline: positive }

/** The async job whose continuation runs for certain. @type {Job | null} */
let certainJob = null
/**
 * AsyncContext, if the engine has it; undefined until the first job starts.
 *
 * @type {{ run(job: Job | null, fn: () => any): any, get(): Job | null | undefined } | null | undefined}
 */
let asyncContext

/** @returns {Exclude<typeof asyncContext, undefined>} */
function engineContext() {
  const { AsyncContext } = /** @type {any} */ (globalThis)
  return AsyncContext?.Variable === undefined ? null : new AsyncContext.Variable()
}
const forgetJob = () => { certainJob = null }

/**
 * Drives async code: the job is at a point while its promise is pending, and away while it awaits a foreign
 * promise.
 */
class AsyncDriver {
  /** @param {Job} job */
  constructor(job) {
    this.job = job
    /** Pending while the job is at a point. @type {Promise<void> | null} */
    this.promise = null
    /** @type {((value: any) => void) | null} */
    this.resolve = null
    /** @type {((error: unknown) => void) | null} */
    this.reject = null
    /** Whether the job passed a point within its budget. */
    this.hasPassed = false
    /** Whether its code continues in microtasks: its function has returned a promise. */
    this.isAsync = false
    /** DONE or FAILED after that promise has settled. */
    this.result = 0
    /** Whether it continues code that inherits nothing from a job. */
    this.inheritsNothing = false
    /**
     * The job whose code continues after a yield; null outside of jobs, or if the engine has AsyncContext.
     *
     * @type {Job | null}
     */
    this.owner = asyncContext ? null : job
  }

  /** @param {PromiseLike<any>} thenable the return value of the function */
  follow(thenable) {
    this.isAsync = true
    follow(thenable, () => this.result === 0, (isFulfilled, outcome) => {
      this.end(isFulfilled ? DONE : FAILED, outcome)
    })
  }

  /**
   * Notes the outcome of the promise that the function returned. A waiting job finishes now. Any other job
   * finishes when it is dispatched next.
   *
   * @param {number} result DONE or FAILED @param {any} outcome
   */
  end(result, outcome) {
    const { job } = this
    if (job.status >= DONE || this.result !== 0) return
    this.result = result
    job.input = outcome
    if (job.status !== WAITING) return
    readClock(job.core)
    finish(job, result, outcome)
  }

  /**
   * Continues the code after its point, by settling the promise that the point returned.
   *
   * @param {boolean} isThrowing @param {any} input @returns {number}
   */
  resume(isThrowing, input) {
    const signal = signalOf(this.job)
    const isAborted = !isThrowing && signal !== null && signal.aborted
    const settle = isThrowing || isAborted ? this.reject : this.resolve
    this.promise = this.resolve = this.reject = null
    if (settle !== null) this.settle(settle, isAborted ? signal.reason : input)
    return ASYNC
  }

  /**
   * Settles in a microtask, without a switch.
   *
   * @param {boolean} isThrowing @param {any} input @returns {Promise<any>}
   */
  answer(isThrowing, input) {
    return new Promise((resolve, reject) => {
      PASSED.then(() => this.settle(isThrowing ? reject : resolve, input))
    })
  }

  /** @param {(input: any) => void} settle settles a promise of this job @param {any} input */
  settle(settle, input) {
    const { owner } = this
    if (owner === null) return settle(input)
    // Between these two microtasks, only code that awaits the promise runs.
    PASSED.then(() => { certainJob = owner })
    settle(input)
    PASSED.then(forgetJob)
  }
}

/** @param {Job} job */
const driverOf = job => extrasOf(job).driver ??= new AsyncDriver(job)
/** Whether a job continues code outside of jobs. @param {Job} job */
const isOfNoJob = ({ extras }) => extras.parameters === CONTINUATION
/** Whether a job was spawned by `extend.task`. @param {Job} job */
const isTask = ({ deferred }) => deferred !== null && deferred.isTask
/** The signal that the yields of a task obey. @param {Job} job @returns {AbortSignal | null} */
const signalOf = ({ deferred }) => deferred === null ? null : deferred.signal
/** Whether a job runs before tasks of equal rank that have not started. @param {Job} job */
const isContinuation = job => isOfNoJob(job) || isTask(job) && job.extras.driver !== null
/** Whether code that awaits a finished task must run before the next task. @param {Job} job */
const needsCheckpoint = job => job.status >= DONE && isTask(job)
/** Whether the code of a job is a generator. @param {Job} job */
const hasGenerator = ({ generator }) => generator !== null && generator !== UNSTARTED

/**
 * The round continues in microtasks while async jobs run, right after their continuations, until a generator
 * is next.
 *
 * @param {Core} core
 */
async function continueAsync(core) {
  try {
    do {
      const job = core.running
      if (job !== null) {
        const driver = driverOf(job)
        for (let quiet = 0; driver.result === 0 && driver.promise === null && quiet < PATIENCE; quiet++) {
          await PASSED
          if (!driver.hasPassed) continue
          driver.hasPassed = false
          quiet = 0
        }
        const isAway = driver.result === 0 && !isOfNoJob(job)
        endStay(job)
        account(core, job, driver.promise !== null ? POINT : isAway ? AWAY : driver.result || DONE)
        if (!needsCheckpoint(job)) continue
      }
      for (let turn = 0; turn < CHECKPOINT; turn++) await PASSED
      readClock(core)
    } while (!isRoundOver(core) && runJobs(core))
  } catch (error) {
    reportInternalError(core, error)
  }
  endRound(core)
}

/** `job.yield()`. @param {Job} job @returns {Promise<void>} */
function yieldIn(job) {
  const { core } = job
  const isRunning = currentOf(core) === job && !hasGenerator(job)
  if (!isRunning && job.extras.driver === null) {
    const { work } = job
    // The preemptible versions of async functions yield this promise.
    if (isAsync(typeof work === 'function' ? work : work.run)) return PASSED
    throw new TypeError('job.yield() is for async jobs; in a generator write `yield`')
  }
  const driver = driverOf(job)
  if (job.status >= DONE) {
    return Promise.reject(job.status === CANCELLED ? job.input : new TypeError(`${job.name} has ended`))
  }
  const signal = signalOf(job)
  if (signal !== null && signal.aborted) return driver.answer(true, signal.reason)
  if (driver.promise !== null) return driver.promise
  const isFirst = isContinuation(job)
  if (isRunning) {
    received++
    if (budget.left > 1 && (!isFirst || goFirst(job))) {
      budget.left--
      driver.hasPassed = true
      return driver.isAsync && driver.owner === null ? PASSED : driver.answer(false, undefined)
    }
  }
  const { promise } = defer(driver)
  if (job.status === WAITING && job.extras.wait === null) {
    job.input = undefined
    unblock(job)
  }
  if (isFirst) goFirst(job)
  return promise
}

/** The job whose code calls, if that is certain. @param {Core} core @returns {Job | null} */
function callerOf(core) {
  const current = currentOf(core)
  if (current !== null && current.generator !== null) return current // microtasks do not interrupt its code
  const job = certainJob ?? asyncContext?.get() ?? null
  return job !== null && job.core === core ? job : null
}

/** `rt.yield()`. @param {Core} core @param {any} options @returns {Promise<void>} */
function yieldAsync(core, options) {
  const caller = callerOf(core)
  const current = currentOf(core)
  const isBare = options === undefined || options === null
  if (isBare && caller !== null && !hasGenerator(caller) && caller.status < DONE) return yieldIn(caller)
  // A continuation that inherits nothing can be the rest of any code that inherits nothing.
  if (isBare && caller === null && current?.extras.driver?.inheritsNothing) return yieldIn(current)
  const checked = optionsOf(options ?? NO_OPTIONS, YIELD_OPTIONS)
  const { deadline: given, priority = caller?.priority ?? 0, signal: own } = checked
  const signal = isBare && caller !== null ? signalOf(caller) : own ?? null
  if (signal !== null && signal.aborted) return Promise.reject(signal.reason)
  const now = readClock(core)
  const deadline = given ?? (caller === null ? Infinity : caller.absoluteDeadline - now)
  const job = createJob(core, undefined, null, NO_ARGUMENTS, now)
  job.input = undefined
  extrasOf(job).parameters = CONTINUATION
  job.rank = ownRank(job, deadline, priority)
  const driver = driverOf(job)
  driver.isAsync = true
  driver.inheritsNothing = isBare && caller === null
  driver.owner = driver.inheritsNothing ? null : caller?.extras.driver ? caller.extras.driver.owner : job
  const { promise } = defer(driver)
  core.live++
  if (signal !== null) extrasOf(job).unsubscribe = onAbort(signal, reason => { cancel(job, reason) })
  arrive(job)
  goFirst(job)
  return promise
}

/**
 * Puts a continuation before other jobs of equal rank, after earlier continuations.
 *
 * @param {Job} job @returns {boolean} whether it is the most eligible
 */
function goFirst(job) {
  const { core } = job
  const isReady = job.status === READY
  const rank = effectiveRank(job)
  if (isReady) dequeue(job)
  job.seq = core.firstSeq++
  if (isReady) placeReady(job, rank)
  return job === bestOf(core)
}

/**
 * Whether a job of equal rank rotates with a continuation at the end of a slice. A task that has not started
 * does not rotate: on the platform, continuations run before tasks.
 *
 * @param {Core} core @param {Job} job a job outside of all queues
 */
function hasPeer(core, job) {
  const best = bestOf(core)
  return best !== null && best.seq >= 0 && !(best.started === undefined && isTask(best)) &&
    compareRanks(effectiveRank(best), effectiveRank(job)) === 0
}

// ------------------------------------------------------------------------------------------ 10 the scheduler

/**
 * @typedef {object} SchedulerOptions
 * @property {Policy} [policy] `edf` (default), `fp`, `rm`, or your own
 * @property {number} [slice] ms before jobs of equal rank take turns; default 1; may be Infinity
 * @property {number} [round] ms before the scheduler returns to the event loop; default 5; may be Infinity
 * @property {number | 'auto'} [budget] preemption points between two readings of the clock; default 'auto'
 * @property {Host} [host] default: the platform's
 * @property {boolean} [paused] default false
 * @property {(job: Job) => void} [onMiss] called once per job when its miss is detected
 * @property {(job: Job) => void} [onOverrun] called once per job when its cost exceeds its wcet
 * @property {(by: Job | { name: string }, ms: number, advice?: string) => void} [onStall] called when one
 *   budget of a job, or one callback, outlasted the slice; callbacks have names such as 'alarm tick' or
 *   'before click'. `advice` names a preemptible function that the job called plainly, and the remedy
 * @property {(error: unknown, job: Job | null) => void} [onError] called with errors of callbacks, and with
 *   the error of a failed job that no code handles by the end of the round; default: reports errors like the
 *   platform
 */

const SLICE = 1
const ROUND = 5

/**
 * The options in force, and the values derived from them.
 *
 * @typedef {Required<Pick<SchedulerOptions, 'policy' | 'slice' | 'round' | 'host' | 'paused'>> &
 *   Pick<SchedulerOptions, 'onMiss' | 'onOverrun' | 'onStall' | 'onError'> & { budget: number, order: number,
 *   comparison: Comparison | null, plainRank: Rank, budgetCeiling: number }} SettingsInForce
 */
/** Declares their types only. @type {new () => SettingsInForce} */
const Settings = /** @type {any} */ (class {})

/** The state of a scheduler. */
class Core extends Settings {
  /** @param {Scheduler} scheduler @param {any} settings */
  constructor(scheduler, settings) {
    super()
    this.scheduler = scheduler
    configureCore(this, settings)

    // Queues
    /** @type {Queue<any>} */
    this.ready = new Queue()
    this.timeline = new Timeline()
    this.loop = new EventLoop(this)
    /** The ceiling stack. @type {Section[]} */
    this.sections = []
    /** The job that holds the processor, across budgets and rounds. @type {Job | null} */
    this.running = null
    this.lastSeq = 0
    /** Sequence numbers of continuations, which run before their equals. */
    this.firstSeq = Number.MIN_SAFE_INTEGER

    // The choice
    /** Whether the choice may have changed. */
    this.mustChoose = false
    /** Whether the running job has woken an equal, which runs next. */
    this.mustRotate = false
    /** The points of the present budget; CUT_SHORT if it was cut. */
    this.granted = 0
    /** Whether the next budget is the first of a job that runs in its event. */
    this.isFirstBudget = false
    /** The rank by which the present budget runs, if a reservation can pay. @type {Rank | null} */
    this.lent = null

    // The round
    this.inRound = false
    /** Whether the round is the first part of a listener, inside of its event. */
    this.inEvent = false
    /** The event that the listener of this round uses; the round ends after the last use. @type {any} */
    this.usedEvent = null
    this.roundStart = 0
    this.roundEnds = 0
    this.busyBefore = 0
    this.hasRun = false
    /** Budgets of this round since the clock moved. */
    this.equalReadings = 0
    /** The time from which due entries fire. */
    this.fireFrom = -Infinity

    // Accounts
    /** The latest reading of the clock. */
    this.time = -Infinity
    /** The start of the time that is charged next. */
    this.mark = 0
    /** ms of the latest budget. */
    this.elapsed = 0
    /** The smallest step of the clock so far, ms. */
    this.resolution = Infinity
    /** @type {((record: TraceRecord) => void)[] | null} */
    this.observers = null
    /** Whether observers have been called since the clock was read. */
    this.hasNotified = false
    /** @type {((job: Job, ms: number) => void)[]} */
    this.stallListeners = []
    /** @type {WaitListener[]} */
    this.waitListeners = []
    this.stats = {
      jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0,
      misses: 0, overruns: 0, stalls: 0, longestBudget: 0, longestRound: 0
    }

    // Jobs that have not ended, and the callers of `idle()`
    this.live = 0
    /** Jobs that failed in this round. @type {Job[]} */
    this.failures = []
    /** @type {{ resolve: () => void, reject: (error: unknown) => void }[]} */
    this.idlers = []
    /** How many sources outside of jobs can make jobs ready: see `extend.hold`. */
    this.holds = 0
    /** See `extend.onQuiet`. @type {((live: number) => unknown) | null} */
    this.findDeadlock = null
    /** The latest error that it returned; null if the scheduler is not deadlocked. @type {unknown} */
    this.deadlock = null
    /** @type {object[]} */
    this.shapes = []
    this.shapedJobs = 0
  }
}

/** @param {Core | any} core @param {any} settings */
function configureCore(core, settings) {
  Object.assign(core, settings)
  core.order = orderOf(core.policy)
  core.comparison = core.order === CUSTOM ? comparisonOf(core) : null
  core.plainRank = rankOf(core, ORDINARY, { absoluteDeadline: Infinity, priority: 0 }, Infinity, null)
  core.budgetCeiling = Math.min(core.slice / 10, core.round / 10, LONG_BUDGET)
}

/** @type {(scheduler: Scheduler) => Core} */
let coreOf

/** The options of a scheduler. @type {Record<string, Check>} */
const SETTINGS = {
  policy: (name, value) => withMethods(name, policyOf(name, value), ['compare', 'level'], ['priority']),
  slice: positive,
  round: positive,
  budget: points,
  host: (name, value) => withMethods(name, value, ['now', 'post', 'after'],
    ['inputPending', 'frame', 'hidden', 'eventTime', 'nested', 'report']),
  paused: flag,
  onMiss: callable,
  onOverrun: callable,
  onStall: callable,
  onError: callable
}

/** @param {any} options @param {any} present settings for options that are not given @returns {any} */
function settingsOf(options, present) {
  knownOptions(options, SETTINGS)
  /** @type {any} */
  const settings = {}
  Object.keys(SETTINGS).forEach(name => {
    settings[name] = options[name] === undefined ? present[name] : SETTINGS[name](name, options[name])
  })
  settings.host ??= defaultHost()
  return settings
}

/**
 * Runs jobs by a policy, in rounds, inside the event loop. One scheduler per thread is the intended use;
 * several take turns.
 *
 * Start with the defaults. If key presses must be handled within a few ms, set `round: 3`. In a worker or a
 * server that does nothing else, use `round: 20` or more. Set `slice: 0.5` if jobs of equal rank have
 * deadlines of a few ms, and `budget: 1` if preemption points are far apart.
 *
 * An automatic budget lasts 6 us, or 8 points if these take longer; at first, and if long budgets make points
 * cheaper, it lasts up to 0.1 ms. If points of `p` ms suddenly cost `P` ms, one budget takes at most
 * `P * min(4096, ceil(0.1 / p))` ms, and the next budgets are shorter.
 *
 * @example
 * const scheduler = new Scheduler({ policy: fp, round: 3 })
 * scheduler.spawn(() => console.log('low'), { priority: 1 })
 * scheduler.spawn(() => console.log('high'), { priority: 5 })
 * await scheduler.idle() // → high, low
 */
export class Scheduler {
  /** @type {Core} */
  #core

  static {
    coreOf = scheduler => scheduler.#core
  }

  /**
   * @param {SchedulerOptions} [options]
   * @throws {TypeError | RangeError} if an option has the wrong type or is out of range
   */
  constructor(options = {}) {
    this.#core = new Core(this, settingsOf(options, {
      policy: edf, slice: SLICE, round: ROUND, budget: AUTO, paused: false
    }))
  }

  /**
   * Changes options while no job lives.
   *
   * @param {SchedulerOptions} options
   * @throws {TypeError | RangeError} if an option has the wrong type or is out of range; TypeError while a
   *   job lives
   */
  configure(options) {
    const core = this.#core
    const settings = settingsOf(options, core)
    if (core.live > 0 || core.inRound) {
      throw new TypeError('configure() needs a scheduler without jobs, between rounds; wait for idle()')
    }
    core.loop.arm(Infinity)
    if (settings.host !== core.host) {
      core.time = -Infinity
      core.resolution = Infinity
      core.loop = new EventLoop(core) // a posted turn counts for the loop that posted it
    }
    configureCore(core, settings)
    core.loop.requestTurn()
  }

  /**
   * Runs work as a job: from now on, in slices, until it returns.
   *
   * A job that another job has started does not end with that job. The option
   * `signal: rt.current.signal` cancels it when the other job is cancelled.
   *
   * @template {Work} const W
   * @param {W & Checked<W>} work usually a generator function, which is called with `args` when the job
   *   starts. Other functions work too: a returned thenable is awaited, any other value is the result. `work`
   *   may also be a task, a generator object, or a pair of an object and the name of its method. In
   *   TypeScript, a generic function needs its types, or its result is unknown:
   *   `rt.spawn(first<number>, {}, [1, 2])`
   * @param {TaskOptions & JobOptions} [options] parameters of this job, which override the parameters of the
   *   task
   * @param {ArgumentsOf<W>} args
   * @returns {Job<ResultOf<W>>}
   * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
   *
   * @example
   * const double = function* (n = 0) { yield; return 2 * n }
   * const job = rt.spawn(double, { deadline: 100 }, 21)
   * console.log(await job) // → 42
   * const joined = rt.spawn([['a', 'b'], 'join'], { deadline: 100 }, '-') // calls a method
   * console.log(await joined) // → a-b
   */
  spawn(work, options, ...args) {
    return /** @type {any} */ (spawn(this.#core, work, options, args))
  }

  /**
   * Stops dispatching: no job runs and no alarm fires until `resume()`. The running job stops at its next
   * point.
   */
  pause() {
    this.#core.paused = true
    interrupt(this.#core)
    this.#core.loop.requestTurn()
  }

  /** Resumes dispatching after `pause()` or `paused: true`. */
  resume() {
    this.#core.paused = false
    this.#core.loop.requestTurn()
  }

  /** @returns {boolean} */
  get paused() { return this.#core.paused }
  /** @returns {Host} */
  get host() { return this.#core.host }
  /** @returns {Policy} */
  get policy() { return this.#core.policy }
  /** ms @returns {number} */
  get slice() { return this.#core.slice }
  /** ms @returns {number} */
  get round() { return this.#core.round }

  /** @returns {Promise<void>} resolves when no job is pending, ready, running or waiting */
  idle() {
    const core = this.#core
    return new Promise((resolve, reject) => {
      core.idlers.push({ resolve, reject })
      if (!core.inRound) answerIdlers(core)
    })
  }

  /** The job whose code runs right now. @returns {Job | null} */
  get current() { return currentOf(this.#core) }

  /** The host's clock, ms. */
  now() {
    return readClock(this.#core)
  }

  /**
   * Counters since the scheduler was created; times in ms. `busy` is the time charged to jobs, alarm
   * callbacks and handlers; `overhead` is the other time of rounds, including observers. `yields` counts the
   * returns from jobs to the scheduler; `slices` counts switches between jobs and starts of slices.
   *
   * @returns {{ jobs: number, rounds: number, slices: number, yields: number, busy: number, overhead: number,
   *   misses: number, overruns: number, stalls: number, longestBudget: number, longestRound: number }}
   */
  stats() {
    return { ...this.#core.stats }
  }

  /**
   * Calls a function for each event of the schedule. Without observers this costs nothing.
   *
   * A job causes `release`, `start`, `preempt` (with `by`), `resume`, `block` (with `on`), `wake`, `finish`,
   * `cancel` and `fail`. Watching its time causes `miss`, `overrun` and `stall`. A reservation causes
   * `deplete` and `replenish`. The other types are `alarm` and `round` (with `start`).
   *
   * @param {(record: TraceRecord) => void} fn called synchronously
   * @returns {() => void} unsubscribes
   */
  observe(fn) {
    callable('fn', fn)
    const core = this.#core
    const observer = (/** @type {TraceRecord} */ record) => fn(record) // unique, however often `fn` is given
    core.observers = core.observers === null ? [observer] : core.observers.concat(observer)
    return () => {
      const others = core.observers?.filter(other => other !== observer) ?? []
      core.observers = others.length === 0 ? null : others
    }
  }

  /**
   * A preemption point of any async code: the continuation runs when the policy picks it, without a trip
   * through the event loop until the round ends.
   *
   * In an async job it is the job's own point, with its deadline and priority. The calling job is known in
   * the first part of its function, and in code that directly awaits a yield; after another await only in
   * engines with AsyncContext. Elsewhere `job.yield()` brings the job back. Without it, the continuation has
   * priority 0 and no deadline.
   *
   * @param {{ deadline?: number, priority?: number, signal?: AbortSignal }} [options] the rank of the
   *   continuation: `deadline` in ms from now; default: the deadline and priority of the calling job
   * @returns {Promise<void>} rejects if the job has been cancelled, or `signal` has been aborted
   * @throws {TypeError | RangeError} if an option has the wrong type or is out of range
   */
  yield(options) {
    return yieldAsync(this.#core, options)
  }
}

/**
 * Returns the scheduler for an operation.
 *
 * @param {{ scheduler?: Scheduler }} [options] @returns {Scheduler}
 */
function here(options) {
  const scheduler = options?.scheduler
  if (scheduler === undefined) return dispatching === null ? rt : dispatching.scheduler
  if (!(scheduler instanceof Scheduler)) throw wrongType('scheduler', 'a Scheduler', scheduler)
  return scheduler
}

// -------------------------------------------------------------------------------- 11 errors and input checks

/**
 * The reason with which a job with `miss: 'abort'` is cancelled at its deadline.
 *
 * @example
 * const job = rt.spawn(function* () { for (;;) yield }, { deadline: 5, miss: 'abort' })
 * await job.catch(error => console.log(error instanceof DeadlineError)) // → true
 */
export class DeadlineError extends Error {
  name = 'DeadlineError'

  // Classes here have no default constructors: in V8 11 those take the iterator of Array.prototype.
  /** @param {string} [message] @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options)
  }
}

/**
 * The error of a job that would wait in a cycle of jobs, none of which could continue.
 *
 * @example
 * const mutex = new Mutex()
 * const job = rt.spawn(function* () {
 *   yield mutex.lock()
 *   yield mutex.lock()
 * })
 * await job.catch(error => console.log(error instanceof DeadlockError)) // → true
 */
export class DeadlockError extends Error {
  name = 'DeadlockError'

  /** @param {string} message @param {Job[]} jobs */
  constructor(message, jobs) {
    super(message)
    /** The jobs of the cycle. @type {Job[]} */
    this.jobs = jobs
  }
}

/** Taken once: pages replace built-in functions. */
const hasOwn = Object.hasOwn

/**
 * Makes a table without a prototype, because a page can add properties to Object.prototype.
 *
 * @template T @param {string[]} names @param {(name: string) => T} valueOf @returns {Record<string, T>}
 */
function tableOf(names, valueOf) {
  const table = Object.create(null)
  names.forEach(name => { table[name] = valueOf(name) })
  return table
}

/**
 * The descriptor of a property. It inherits nothing: `get` on Object.prototype would make it invalid.
 *
 * @param {any} value @returns {any}
 */
function hiddenProperty(value) {
  return { __proto__: null, value, writable: true, configurable: true }
}

/**
 * The members of a set as an array. These modules take no iterators of built-in objects, because a page can
 * delete or replace `Array.prototype[Symbol.iterator]`.
 *
 * @template T @param {Set<T>} set @returns {T[]}
 */
function membersOf(set) {
  /** @type {T[]} */
  const members = []
  set.forEach(member => { members.push(member) })
  return members
}

/**
 * A check returns the value, or throws an error that names the parameter and the value.
 *
 * @typedef {(name: string, value: any) => any} Check
 */

/** @param {any} value @returns {string} */
function describe(value) {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}...` : value)
  }
  if (typeof value === 'function') {
    return readIn(value, fn => `function ${fn.name || '(anonymous)'}`) ?? 'a function'
  }
  if (typeof value !== 'object' || value === null) return String(value)
  if (readIn(value, Array.isArray)) return 'an array'
  return readIn(value, object => `an object (${object.constructor?.name ?? 'no constructor'})`) ?? 'an object'
}

/**
 * Reads a value of any kind.
 *
 * @template T @param {any} value @param {(value: any) => T} read @returns {T | null} null if `read` throws
 */
function readIn(value, read) {
  try {
    return read(value)
  } catch {
    return null
  }
}

/**
 * The name of a function or task; '' if the name is not a string or cannot be read.
 *
 * @param {any} named @returns {string}
 */
function nameOf(named) {
  const name = readIn(named, one => one.name)
  return typeof name === 'string' ? name : ''
}

/**
 * The name of a callback in reports: its property `of`, else its own name.
 *
 * @param {any} callback @returns {string}
 */
function labelOf(callback) {
  const label = readIn(callback, one => one.of)
  return typeof label === 'string' ? label : nameOf(callback)
}

/** @param {string} name @param {string} wanted @param {unknown} value */
function wrongType(name, wanted, value) {
  return new TypeError(`${name} must be ${wanted}, got ${describe(value)}`)
}
/** @param {string} name @param {string} wanted @param {unknown} value */
function outOfRange(name, wanted, value) {
  return new RangeError(`${name} must be ${wanted}, got ${describe(value)}`)
}

/** @param {string} type @param {string} wanted @param {(value: any) => boolean} [isValid] @returns {Check} */
function typed(type, wanted, isValid) {
  return (name, value) => {
    if (typeof value !== type) throw wrongType(name, wanted, value)
    if (isValid !== undefined && !isValid(value)) throw outOfRange(name, wanted, value)
    return value
  }
}
/** @param {string} wanted @param {(value: number) => boolean} isValid @returns {Check} */
function number(wanted, isValid) { return typed('number', wanted, isValid) }

// Function declarations, because the tables above this section use them.
/** @type {Check} */
function positive(name, value) { return POSITIVE(name, value) }
/** @type {Check} */
function notNegative(name, value) { return NOT_NEGATIVE(name, value) }
/** @type {Check} */
function finite(name, value) { return FINITE(name, value) }
/** @type {Check} */
function points(name, value) { return value === 'auto' ? AUTO : POINTS(name, value) }
/** @type {Check} */
function callable(name, value) { return CALLABLE(name, value) }
/** @type {Check} */
function flag(name, value) { return FLAG(name, value) }
/** @type {Check} */
function text(name, value) { return TEXT(name, value) }
const POSITIVE = /* @__PURE__ */ number('a number > 0', value => value > 0)
const NOT_NEGATIVE = /* @__PURE__ */ number('a number >= 0', value => value >= 0)
const FINITE = /* @__PURE__ */ number('a finite number', Number.isFinite)
const DURATION = /* @__PURE__ */ number('a finite number >= 0', value => value >= 0 && value < Infinity)
const INTERVAL = /* @__PURE__ */ number('a finite number > 0', value => value > 0 && value < Infinity)
const POINTS = /* @__PURE__ */ number("an integer >= 1 or 'auto'",
  value => Number.isSafeInteger(value) && value >= 1)
const CALLABLE = /* @__PURE__ */ typed('function', 'a function')
const FLAG = /* @__PURE__ */ typed('boolean', 'a boolean')
const TEXT = /* @__PURE__ */ typed('string', 'a string')

/** @param {string[]} choices @returns {Check} */
function oneOf(...choices) {
  return (name, value) => {
    for (let i = 0; i < choices.length; i++) if (choices[i] === value) return value
    throw wrongType(name, choices.map(choice => `'${choice}'`).join(' or '), value)
  }
}
/** @type {Check} */
function array(name, value) {
  if (!Array.isArray(value)) throw wrongType(name, 'an array', value)
  return value
}
/** @type {Check} */
function record(name, value) {
  if (typeof value !== 'object' || value === null) throw wrongType(name, 'an object', value)
  return value
}
/** @type {Check} */
function schedulerOption(_, scheduler) { return here({ scheduler }) }

/** @param {string} name @param {any} fn @param {unknown} given */
function refuseAsyncGenerator(name, fn, given) {
  if (fn[toStringTag] === 'AsyncGeneratorFunction') {
    throw wrongType(name, 'a generator function, not an async one', given)
  }
}

/**
 * Checks that an object has only known options, because other options would be ignored silently.
 *
 * @param {unknown} value @param {Record<string, Check>} checks @param {string} [of] the name of the parameter
 * @returns {any}
 * @throws {TypeError} if an option is unknown
 */
function knownOptions(value, checks, of = 'options') {
  const options = record(of, value)
  for (const name in options) {
    if (hasOwn(checks, name) || !hasOwn(options, name)) continue
    const known = Object.keys(checks).join(', ')
    throw new TypeError(`unknown option '${of === 'options' ? '' : `${of}.`}${name}'; known are ${known}`)
  }
  return options
}

/**
 * Checks the names and the values of options.
 *
 * @param {unknown} value @param {Record<string, Check>} checks @returns {any}
 */
function optionsOf(value, checks) {
  const options = knownOptions(value, checks)
  for (const name in checks) {
    if (options[name] !== undefined && hasOwn(checks, name)) checks[name](name, options[name])
  }
  return options
}

/** @type {Check} */
function policyOf(name, value) {
  if (value === 'edf' || value === 'fp' || value === 'rm') {
    throw wrongType('policy', `the object that rt.mjs exports as ${value}`, value)
  }
  return record(name, value)
}

/** @param {string} name @param {any} value @param {string[]} required @param {string[]} optional */
function withMethods(name, value, required, optional) {
  record(name, value)
  required.forEach(method => callable(`${name}.${method}`, value[method]))
  const given = optional.filter(method => value[method] !== undefined)
  given.forEach(method => callable(`${name}.${method}`, value[method]))
  return value
}

/** @type {Check} */
function abortSignal(name, value) {
  const isSignal = readIn(value, signal => typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function')
  if (!isSignal) throw wrongType(name, 'an AbortSignal', value)
  return value
}

/**
 * The hooks of a Resource.
 *
 * @typedef {object} ResourceHook
 * @property {(job: Job, scheduler: Scheduler) => void} attach called at the release; an error that it throws
 *   rejects the job
 * @property {(job: Job) => void} detach called at the end of the job
 */
/** @type {Check} */
function resourceHooks(name, value) {
  if (!Array.isArray(value)) throw wrongType(name, 'an array of Resources', value)
  const hooks = []
  for (let i = 0; i < value.length; i++) {
    const hook = readIn(value[i], one => one[protocol])
    if (!hook) throw wrongType(name, 'an array of Resources', value[i])
    hooks.push(hook)
  }
  return hooks
}
/** @type {Check} */
function reservationHook(name, value) {
  const hook = readIn(value, one => one[protocol])
  if (!hook?.groupFor) throw wrongType(name, 'a Reservation', value)
  return hook
}

/**
 * Subscriptions per signal. One listener serves all of them: a signal searches its listeners one by one, and
 * 10,000 take 160 ms (Node 20).
 *
 * @type {WeakMap<AbortSignal, { calls: Set<(reason: unknown) => void>, listener: () => void }>}
 */
const subscriptions = new WeakMap()

/** @param {AbortSignal} signal @param {(reason: unknown) => void} fn @returns {() => void} unsubscribes */
function onAbort(signal, fn) {
  let subscription = subscriptions.get(signal)
  if (subscription === undefined) {
    /** @type {Set<(reason: unknown) => void>} */
    const calls = new Set()
    const listener = markInternal(() => membersOf(calls).forEach(call => call(signal.reason)))
    subscription = { calls, listener }
    subscriptions.set(signal, subscription)
  }
  const { calls, listener } = subscription
  const call = (/** @type {unknown} */ reason) => fn(reason)
  if (calls.size === 0) signal.addEventListener('abort', listener)
  calls.add(call)
  return () => {
    if (calls.delete(call) && calls.size === 0) signal.removeEventListener('abort', listener)
  }
}

// -------------------------------------------------------------------------------------------------- 12 hosts

/**
 * The interface to a platform. Only hosts touch globals.
 *
 * @typedef {object} Host
 * @property {() => number} now a monotonic clock, ms
 * @property {(fn: (due?: number) => void, isContinued?: boolean) => void} post runs `fn` once in a later turn
 *   of the event loop. `due`: when the next frame is due, which ends the round. `isContinued`: a round has
 *   just ended, and the next one follows
 * @property {(ms: number, fn: () => void, options: { ref: boolean }) => (() => void)} after runs `fn` once
 *   after `ms`; it may run early. `ref: false` does not keep the process alive. Returns a function that
 *   cancels
 * @property {() => boolean} [inputPending] whether input waits for the event loop
 * @property {(fn: (time: number) => void) => (() => void)} [frame] runs `fn` before the next frame; returns a
 *   function that cancels
 * @property {() => boolean} [hidden] whether the page is hidden
 * @property {(event: { timeStamp: number }) => number} [eventTime] the time of an event on this clock; NaN if
 *   it is unknown
 * @property {(listener: Function) => boolean} [nested] whether script on the stack has called `listener` and
 *   waits for it
 * @property {(error: unknown) => void} [report] reports errors that no code handles; default: as the platform
 *   does
 */

/** Maximum delay of setTimeout, ms: a longer one would fire immediately. */
const MAX_DELAY = 2 ** 31 - 1

/** Callbacks of these modules, which adopted pages call unmodified. @type {WeakSet<Function>} */
const internalCallbacks = /* @__PURE__ */ new WeakSet()

/** @template {Function} F @param {F} fn @returns {F} */
function markInternal(fn) {
  internalCallbacks.add(fn)
  return fn
}

/** @type {Host | undefined} */
let sharedHost

/**
 * The host of this platform: a page, a worker, or Node. There is one per thread. It is created on first use,
 * and touches only the clock until then.
 *
 * @returns {Host}
 *
 * @example
 * let turns = 0
 * const host = defaultHost() // a custom host can extend it, here to count turns of the event loop
 * const post = (fn = () => {}, goesOn = false) => { turns++; host.post(fn, goesOn) }
 * await new Scheduler({ host: { ...host, post } }).spawn(() => {})
 * console.log(turns) // → 1
 */
export function defaultHost() {
  return sharedHost ??= makeHost(/** @type {any} */ (globalThis))
}

/**
 * Creates a function on its first call.
 *
 * @template {(...args: any[]) => any} F @param {() => F} make @returns {F}
 */
function lazily(make) {
  /** @type {F | undefined} */
  let made
  return /** @type {F} */ ((...args) => apply(made ??= make(), undefined, args))
}

/** @param {any} platform the global object @returns {Host} */
function makeHost(platform) {
  const { performance, document, navigator, scheduler, setImmediate, setTimeout, clearTimeout } = platform
  const now = performance.now.bind(performance)
  const hidden = () => document?.visibilityState === 'hidden'
  return {
    now,
    hidden,
    // The platform's own functions, taken now: pages replace `scheduler`, and tests replace timers for a
    // while.
    post: lazily(() => setImmediate ? immediatePost(setImmediate)
      : document && platform.requestAnimationFrame ? pacedPost(platform, scheduler, now, hidden)
        : channelPost(platform)),
    after: lazily(() => setImmediate || !platform.MessageChannel
      ? timerAfter(setTimeout, clearTimeout) : preciseAfter(platform, now, hidden)),
    // The time stamps of events count from the epoch or from the time origin of their page or frame.
    eventTime(event) {
      const { timeStamp, target } = /** @type {any} */ (event)
      const { timeOrigin } = performance
      const { performance: clock } = (target?.ownerDocument ?? target)?.defaultView ?? target ?? {}
      // Events of ports and requests do not reveal their realm.
      const { timeOrigin: origin = event instanceof Object ? timeOrigin : NaN } = clock ?? {}
      return timeStamp - (timeStamp > 1e12 ? timeOrigin : timeOrigin - origin)
    },
    nested(listener) {
      const trace = { stack: '' }
      const { captureStackTrace } = /** @type {any} */ (Error)
      captureStackTrace?.(trace, listener)
      return /\n\s+at (?!async )|^[^*\n]*@/.test(trace.stack) // frames of V8, or of the other engines
    },
    inputPending: navigator?.scheduling?.isInputPending
      ? () => navigator.scheduling.isInputPending() : undefined,
    frame: platform.requestAnimationFrame ? fn => {
      const request = platform.requestAnimationFrame(markInternal(fn))
      return () => platform.cancelAnimationFrame(request)
    } : undefined
  }
}

/**
 * Node drains about a thousand messages of a MessageChannel per turn, which starves its timers, and an open
 * channel keeps the process alive. setImmediate does neither.
 *
 * @param {any} setImmediate @returns {(fn: () => void) => void}
 */
const immediatePost = setImmediate => fn => setImmediate(markInternal(fn))

/** @param {any} setTimeout @param {any} clearTimeout @returns {Host['after']} */
const timerAfter = (setTimeout, clearTimeout) => (ms, fn, { ref }) => {
  const timer = setTimeout(markInternal(fn), Math.min(Math.max(0, Math.ceil(ms)), MAX_DELAY))
  if (!ref) timer.unref?.() // pages have no such method
  return () => clearTimeout(timer)
}

/** Minimum delay of nested timers, ms. Browsers raise shorter delays to this value (HTML standard). */
const MIN_DELAY = 4
/** ms by which a timer is set earlier: browsers fire up to half a ms late. */
const LEAD = 0.5
/**
 * Maximum number of event-loop turns in a row before a timer is set again. Firefox paints no frames during
 * back-to-back turns, and a frozen clock would never end them.
 */
const MAX_TURNS = 1000

/**
 * Timers of browsers take whole ms, fire up to half a ms late, and last at least 4 ms if they are nested. So
 * short delays are set by a message, and the end of a wait passes in turns of the event loop: a fifth of the
 * wait, at most 1 ms. Alarms of every ms are then up to half a ms late and take a quarter of the processor;
 * turns alone would take all of it. Timers of hidden pages fire once per second or less, so no turns are
 * spent on them.
 *
 * @param {any} platform @param {() => number} now @param {() => boolean} hidden @returns {Host['after']}
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
      else if (left <= inTurns && !hidden() && turns++ < MAX_TURNS) post(wait)
      else timer = platform.setTimeout(onTimer, Math.min(Math.max(1, Math.floor(left - LEAD)), MAX_DELAY))
    }
    const start = (/** @type {number} */ left) =>
      left >= MIN_DELAY + LEAD || hidden() ? wait(left) : post(wait)
    const onTimer = markInternal(() => {
      turns = 0
      start(due - now())
    })
    if (ms > 0) start(ms)
    else post(wait) // callers expect to return first
    return () => {
      isOver = true
      platform.clearTimeout(timer)
    }
  }
}

/**
 * Posts by messages, which no browser delays; by timers in test environments that have no MessageChannel.
 *
 * @param {any} platform @returns {(fn: () => void) => void}
 */
function channelPost(platform) {
  const { MessageChannel, setTimeout } = platform
  if (!MessageChannel) return fn => setTimeout(markInternal(fn), 0)
  const { port1, port2 } = new MessageChannel()
  /** @type {(() => void)[]} */
  const posted = []
  port1.onmessage = markInternal(() => /** @type {() => void} */ (posted.shift())())
  return fn => {
    posted.push(fn)
    port2.postMessage(null)
  }
}

/** ms after which a round no longer waits for other tasks of the page; it then takes turns with them. */
const MAX_BACKGROUND = 4

/**
 * Firefox makes input wait behind ordinary tasks until shortly before the next frame, and cannot tell that it
 * is pending. Background tasks rank below input.
 *
 * @param {any} platform @param {any} scheduler the platform's @returns {(fn: () => void) => void}
 */
const backgroundPost = (platform, scheduler) => fn => {
  // A signal per post: a task that is overtaken leaves the queue, and no signal collects listeners.
  const overtaken = new platform.AbortController()
  const late = platform.setTimeout(markInternal(() => {
    overtaken.abort()
    fn()
  }), MAX_BACKGROUND)
  const turn = () => {
    platform.clearTimeout(late)
    fn()
  }
  scheduler.postTask(turn, { priority: 'background', signal: overtaken.signal })
    .catch((/** @type {any} */ error) => { if (error?.name !== 'AbortError') throw error })
}

/** ms between frames, until they are measured. Longer rounds are meant to outlast frames. */
const FRAME = 1000 / 60
/** Number of frames whose shortest gap counts as the frame interval. */
const FRAMES_SEEN = 30

/**
 * Measures the ms between frames. After a late frame the next one can come early: of two gaps the longer one
 * counts.
 *
 * @param {number} [tried] the number of frames, among FRAMES_SEEN, that are expected after the shortest
 *   interval ever measured. Otherwise a few late frames would delay all later frames
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
    const interval = latest.reduce((least, other) => Math.min(least, other))
    shortest = Math.min(shortest, interval)
    return count % FRAMES_SEEN < tried ? shortest : interval
  }
}

/** Delay of frames after their due time, ms. A round that ends then finds its frame pending. */
const FRAME_DELAY = 2
/** Time before a frame in which a turn can last until the frame, ms. */
const FRAME_NEAR = 7
/** If a turn waits longer than this, ms, it waits for other tasks of the page. */
const CROWDED = 3

/**
 * Firefox gives pending ordinary tasks precedence over a frame as long as its queue never runs empty: a page
 * with back-to-back rounds falls to 15 frames per second. So a round ends when the frame is due, and the next
 * round waits for the frame, unless other tasks keep the queue full anyway. Timers could replace this, but
 * they fire late and jitter.
 *
 * @param {any} platform @param {any} scheduler the platform's @param {() => number} now
 * @param {() => boolean} hidden
 * @returns {Host['post']}
 */
function pacedPost(platform, scheduler, now, hidden) {
  // Chromium, which reports pending input, lets frames and messages take turns: no round has to wait there.
  const takesTurns = platform.navigator?.scheduling?.isInputPending !== undefined
  const send = takesTurns || scheduler?.postTask === undefined
    ? channelPost(platform) : backgroundPost(platform, scheduler)
  /** @type {(() => void)[]} */
  const held = []
  const intervalAfter = frameInterval(2) // rounds last until the next frame is expected
  let interval = FRAME
  let shown = -Infinity // the time of the latest frame; the times of callbacks jitter by half an interval
  let due = -Infinity // the next frame
  let isRequested = false
  let isStopped = false // no frames come although the page counts as visible
  let late = 0 // turns in a row that waited for other tasks
  let worked = 0 // ms of finished turns
  let start = Infinity // when the present turn began
  let end = -Infinity // when the latest turn ended
  /** @type {any} */
  let fallback

  const post = (/** @type {() => void} */ turn) => {
    const others = Math.min(now(), start) - worked
    send(() => {
      start = now()
      late = start - worked - others > CROWDED ? late + 1 : 0
      turn()
      if (!hidden()) request()
      end = now()
      worked += end - start
      start = Infinity
    })
  }
  const releaseHeld = markInternal(() => {
    platform.clearTimeout(fallback)
    held.splice(0).forEach(post)
  })
  const onFrame = markInternal((/** @type {number} */ frame) => {
    interval = intervalAfter(frame - shown)
    shown = frame
    due = frame + interval + FRAME_DELAY
    isRequested = isStopped = false
    if (held.length > 0) request() // the round can last until the next frame
    releaseHeld()
  })
  const request = () => {
    if (!isRequested) platform.requestAnimationFrame(onFrame)
    isRequested = true
  }
  platform.document.addEventListener('visibilitychange', releaseHeld)
  return (fn, isContinued = false) => {
    const time = now()
    const turn = () => fn(isStopped || late > 1 || hidden() || takesTurns && now() >= due ? Infinity : due)
    if (hidden()) return post(turn)
    // Code that waited for a job of the latest turn posts right after it.
    const isNext = isContinued || time - end <= 1
    if (!isNext) {
      const passed = shown === -Infinity ? 0 : Math.ceil((time - shown) / interval)
      due = (passed > 0 ? shown + passed * interval : time + interval) + FRAME_DELAY
    }
    if (isNext || due - time < FRAME_NEAR) request()
    if (takesTurns || isStopped || late > 1 || !isNext || time < due) return post(turn)
    if (held.push(turn) > 1) return
    fallback = platform.setTimeout(markInternal(() => {
      isStopped = true
      releaseHeld()
    }), 50)
  }
}

/** @param {unknown} error */
function reportToPlatform(error) {
  const { reportError } = /** @type {any} */ (globalThis)
  if (reportError) reportError(error)
  else queueMicrotask(() => { throw error })
}

// -------------------------------------------------------------------------------- 13 the extension interface

/**
 * The property by which `reservation` and `uses` reach their hooks. A hook with `waitable()` makes an object
 * that a job can yield repeatedly: each wait uses the waitable that this method returns.
 */
const protocol = Symbol('rt.mjs')

/** Waits for a time. @internal */
class Sleep extends Waitable {
  /** @type {Entry | null} */
  #entry = null

  /**
   * @param {number} time host timestamp; ms from the start of the wait if `isRelative`
   * @param {boolean} isRelative
   * @param {{ scheduler?: Scheduler, signal?: AbortSignal }} [options] `scheduler`: outside of jobs
   * @param {() => void} [ring] called at the time; by default the waitable settles
   */
  constructor(time, isRelative, options, ring) {
    super(options)
    this.time = time
    this.isRelative = isRelative
    this.options = options
    this.ring = ring
  }

  get isRanked() { return false }
  /** @param {Job | null} job */
  enter(job) {
    const scheduler = here(job === null ? this.options : undefined)
    this.sleepUntil(scheduler, this.isRelative ? scheduler.now() + this.time : this.time)
  }
  /** @param {Scheduler} scheduler @param {number} time */
  sleepUntil(scheduler, time) {
    if (time < Infinity) this.#entry = extend.at(scheduler, time, this.ring ?? (() => this.wake()))
  }
  leave() {
    this.#entry?.cancel()
  }
}

/**
 * The checks for other modules: each returns the value, or throws an error that names the parameter and the
 * value.
 */
const check = /* @__PURE__ */ Object.freeze({
  number, positive, notNegative, finite, duration: DURATION, interval: INTERVAL, points,
  callable, flag, text, array, record,
  among: oneOf, elsewhere: unchecked,
  unchecked: (/** @type {string[]} */ ...names) => tableOf(names, () => unchecked), tableOf,
  signal: abortSignal, scheduler: schedulerOption, policy: policyOf,
  options: optionsOf, knownOptions, wrongType, outOfRange, describe, refuseAsyncGenerator,
  /** The names of TaskOptions, as checks. */
  parameters: TASK_OPTIONS
})

/**
 * The interface for authors of locks, reservations and event sources: alarms.mjs, sync.mjs and the addons use
 * nothing else.
 *
 *   a lock             Waitable, WaitQueue (its owners inherit), Waiter, section
 *   a reservation      protocol, group, at(..., { replenishment: true }), groupOf, reservationOf
 *   an event source    at, Sleep, spawn, nextPeriod, ended, hold, event, callUser, onAbort
 *   every module       check, here, emit, preemptible, keepShape, nameOf, labelOf, hiddenProperty, membersOf
 *
 * Four members are for one addon each: `tasks` (scheduler.mjs), `elsewhere` (workers.mjs), `page` (adopt.mjs)
 * and `code` (preemptify.mjs).
 *
 * @internal
 */
export const extend = /* @__PURE__ */ Object.freeze({
  Waitable,
  Waiter,
  WaitQueue,
  Sleep,
  /**
   * A stable priority queue of nodes: `{ rank: { band, key, tie, comparison: null }, seq }`; insert, delete,
   * pop, first, size.
   */
  Heap: Queue,
  check,
  here,
  protocol,

  /**
   * Sets an entry of the timeline.
   *
   * @param {Scheduler} scheduler @param {number} time Infinity: never
   * @param {((time: number) => void) & { of?: string }} fn called with `time`; `of`: the name of the
   *   reservation, for traces
   * @param {{ ref?: boolean, replenishment?: boolean }} [options] `ref`: whether it keeps the process alive;
   *   default true
   * @returns {Entry} has `time`, `isSet`, `set(time)` and `cancel()`
   */
  at(scheduler, time, fn, { ref = true, replenishment = false } = {}) {
    const core = coreOf(scheduler)
    const subject = { fn, isReplenishment: replenishment }
    const entry = setEntry(new Entry(core, time, fireAlarm, subject, ref && time < Infinity))
    core.loop.requestTurn()
    return entry
  },

  /**
   * Releases a job like `scheduler.spawn`. `admit` is called when the release is due: it may cancel the job,
   * or return a waitable that the job waits for before it starts. The waitable must settle with `args`.
   *
   * @param {Scheduler} scheduler @param {any} work @param {any} options @param {any[]} args
   * @param {Admission} [admit]
   * @returns {Job}
   */
  spawn: (scheduler, work, options, args, admit) => spawn(coreOf(scheduler), work, options, args, admit),

  /**
   * Holds a scheduler open: code outside of jobs can still release jobs, for example an event listener. While
   * a scheduler is held, it is not deadlocked. Entries of the timeline and waitables with `isExternal` need
   * no hold.
   *
   * @param {Scheduler} scheduler @returns {() => void} releases the hold
   */
  hold(scheduler) {
    const core = coreOf(scheduler)
    let isHeld = true
    core.holds++
    return () => {
      if (!isHeld) return
      isHeld = false
      core.holds--
      if (!core.inRound) answerIdlers(core)
    }
  },

  /**
   * Passes on an event of the event loop: jobs that `fn` makes ready, and ready jobs of `schedulers`, run
   * right after it. This saves another task, which a browser could put off until the next frame. No other
   * code may be on the stack.
   *
   * @param {() => void} fn @param {Scheduler[] | Set<Scheduler>} [schedulers]
   */
  event(fn, schedulers = []) {
    if (following !== null || rounds > 0) return fn()
    /** @type {Set<Core>} */
    const cores = following = new Set()
    try {
      fn()
      schedulers.forEach((/** @type {Scheduler} */ scheduler) => coreOf(scheduler).loop.requestTurn())
    } finally {
      following = null
      cores.forEach(core => core.loop.follow())
    }
  },

  /**
   * Calls a function when a job has ended; this does not count as handling its outcome.
   *
   * @param {Job} job @param {() => void} fn
   */
  ended(job, fn) {
    const { isHandled } = job.extras
    const join = new Join(job)
    extrasOf(job).isHandled = isHandled
    const notify = () => {
      try {
        fn()
      } catch (error) {
        report(job.core, error, null)
      }
    }
    if (join.enlist(new Waiter(null, notify))) notify()
  },

  nextPeriod,

  /**
   * Calls user code outside of jobs. Its time is charged, and it is named if it stalls.
   *
   * @param {Scheduler} scheduler @param {string} kind
   * @param {((...args: any[]) => void) & { of?: string }} fn @param {any[]} args
   */
  callUser: (scheduler, kind, fn, ...args) => applyUser(coreOf(scheduler), kind, fn, args),

  /**
   * Opens a critical section of a job. Until it closes, only jobs of a larger level than `level` preempt the
   * job, waiting is an error, and a cancellation is put off. Sections nest. `raise(level)` raises the level
   * of an open section, `close()` closes the innermost section. The level must be at least the level of the
   * job itself.
   *
   * @param {Job} job @param {number} level @returns {{ raise(level: number): void, close(): void }}
   */
  section: (job, level) => openSection(job, level),

  /**
   * Creates the group of a reservation: its ready jobs compete with other jobs by the keys of the
   * reservation, and with each other by their own. Until the first `group.change(keys)`, the group ranks
   * after all jobs.
   *
   * A reservation is an object whose property `protocol` is `{ groupFor(job, scheduler), level }`. The
   * scheduler calls `groupFor` at the release, and rejects the job with an error that it throws. `level` is
   * optional: the preemption level of all jobs.
   *
   * The hooks are optional. `name`: for traces. `arrives(job, time)`: a job becomes ready; `change` takes
   * effect before its rank is asked for. `departs(job, time)`: it has started to wait. `drain(job, ms,
   * time)`: after each budget of its jobs, and of a job that ran by a rank inherited from one of them.
   * `detach(job)`: the job has ended, or was cancelled: it leaves the group, so that its `finally` blocks
   * run.
   *
   * `group.change(null)` takes the group out: it is depleted. Jobs in critical sections and jobs that inherit
   * from others still run. `at(..., { replenishment: true })` sets the entry that calls `change` again; its
   * function gets the present time.
   *
   * @param {Scheduler} scheduler @param {Group['hooks']} hooks
   */
  group: (scheduler, hooks) => new Group(coreOf(scheduler), hooks),

  /** The group that pays for a job, or null. @param {Job} job */
  groupOf: job => job.extras.group,
  /**
   * The reservation that pays for a job, for the option `reservation` of another job.
   *
   * @param {Job} job @returns {any}
   */
  reservationOf: ({ extras: { group, parameters } }) =>
    group === null ? undefined : { [protocol]: parameters.reservation },

  /**
   * Writes a record into the trace.
   *
   * @param {Scheduler} scheduler @param {string} type @param {Job | null} job @param {object} [more]
   */
  emit(scheduler, type, job, more) {
    const core = coreOf(scheduler)
    if (core.observers !== null) emit(core, type, job, more)
  },

  /**
   * Calls `find` if jobs are left, but nothing is ready, will become due, or holds the scheduler open. This
   * is tested at the end of a round, and when `idle()` is called. `idle()` rejects with the error that `find`
   * returns. The scheduler reports each such error object once.
   *
   * @param {Scheduler} scheduler
   * @param {(live: number) => Error | null} find called with the number of jobs that have not ended
   * @returns {() => void} removes `find`
   */
  onQuiet(scheduler, find) {
    const core = coreOf(scheduler)
    core.findDeadlock = find
    return () => { if (core.findDeadlock === find) core.findDeadlock = null }
  },

  /** Calls a function with the reason when a signal is aborted. Returns a function that unsubscribes. */
  onAbort,
  markInternal,
  /**
   * The function that a job runs in place of a function: its twin, or itself.
   *
   * @param {any} fn @returns {any}
   */
  preemptible: fn => twinOf(fn),
  /** The name of a function or task; '' if the name is not a string or cannot be read. */
  nameOf,
  /** The name of a callback in reports: its property `of`, else its own name. */
  labelOf,
  /** A descriptor for Object.defineProperty. It inherits nothing from Object.prototype. */
  hiddenProperty,
  /** The members of a set as an array, without an iterator. */
  membersOf,
  /** Adds a maker of objects whose hidden classes must be kept. @param {() => object} make */
  keepShape: make => { shapeMakers.push(make) },

  /** Tasks of the Prioritized Task Scheduling API: see addons/scheduler.mjs. */
  tasks: {
    /**
     * Releases a task: a job in the order of the Prioritized Task Scheduling API. Its continuations run
     * before tasks of equal rank that have not started, and code that awaits `promiseOf(job)` runs before the
     * next task. An iterator that `fn` returns is a result, unless it is a generator. `signal` cancels the
     * job until `fn` has returned; after that, each yield rejects instead.
     *
     * @param {Scheduler} scheduler @param {() => any} fn
     * @param {{ deadline: number, priority: number, delay: number, signal?: AbortSignal }} options checked
     * @returns {Job}
     */
    release(scheduler, fn, { deadline, priority, delay, signal }) {
      const core = coreOf(scheduler)
      const parameters = deadline === Infinity && priority === 0 ? PLAIN : { ...PLAIN, deadline, priority }
      const release = delay > 0 ? readClock(core) + delay : undefined
      const job = launch(core, fn, UNSTARTED, NO_ARGUMENTS, release, parameters, signal)
      const outcome = job.deferred = new PromisedOutcome(true, signal ?? null)
      if (job.status >= DONE) settlePromise(job, outcome)
      return job
    },
    /** The promise of a job's outcome, created on first use. @param {Job} job @returns {Promise<any>} */
    promiseOf,
    /**
     * The job whose code calls, or null. In a microtask, the job is known directly after a yield, and in
     * engines with AsyncContext after any await.
     *
     * @param {Scheduler} scheduler @returns {Job | null}
     */
    callerOf: scheduler => callerOf(coreOf(scheduler))
  },

  /** Jobs that run in other threads: see addons/workers.mjs. */
  elsewhere: {
    /**
     * Ends a job that runs elsewhere: one that waits for a waitable with `cancel`, or is pending.
     *
     * @param {Job} job @param {any} outcome
     * @param {boolean} hasFailed a cancelled job ends as cancelled by failing with the reason
     */
    finish(job, outcome, hasFailed) {
      if (job.status >= DONE) return
      if (job.extras.wait !== null) abandon(job)
      readClock(job.core)
      finish(job, hasFailed ? FAILED : DONE, outcome)
    },
    /** Reports that a job that runs elsewhere has missed its deadline. @param {Job} job */
    miss(job) {
      if (!job.missed) miss(job)
    },
    /**
     * Sets the accounts of a job that runs elsewhere.
     *
     * @param {Job} job
     * @param {{ started?: number, finished?: number, cost: number, preemptions: number }} accounts
     */
    setAccounts(job, { started, finished, cost, preemptions }) {
      extrasOf(job).preemptions = preemptions
      job.startTime = started ?? job.startTime
      job.finishTime = finished ?? job.finishTime
      job.charged = cost
    }
  },

  /** Callbacks of a page: see addons/adopt.mjs. */
  page: {
    /** Whether a round is on the stack, of any scheduler. */
    isBusy: () => rounds > 0,
    /**
     * Runs one job now, even if more eligible jobs are ready; not while `isBusy()`.
     *
     * @param {Scheduler} scheduler @param {() => Job} job
     * @param {{ ms?: number, isInEvent?: boolean, usedEvent?: any }} [options]
     *   - `ms`: how long the job runs. Default: for its first budget.
     *   - `isInEvent`: whether its claims cannot wait. Default: true.
     *   - `usedEvent`: the job runs until it says by `budget.e` that it needs this event no longer.
     */
    run(scheduler, job, { ms, isInEvent = true, usedEvent = null } = {}) {
      const core = coreOf(scheduler)
      runRound(core, usedEvent === null ? ms : Infinity, Infinity, () => {
        core.inEvent = isInEvent
        core.usedEvent = usedEvent
        if (ms === undefined && usedEvent === null) {
          core.roundEnds = core.time + (core.budget === AUTO ? core.slice : 0)
        }
        const only = job()
        if (only.started === undefined) core.isFirstBudget = true
        return only
      })
    },
    /**
     * Calls a function for each job that stalls.
     *
     * @param {Scheduler} scheduler @param {(job: Job, ms: number) => void} fn
     */
    onStall(scheduler, fn) {
      const core = coreOf(scheduler)
      core.stallListeners.push(fn)
      return () => { core.stallListeners = core.stallListeners.filter(other => other !== fn) }
    },
    /** Reports that a job has blocked the thread since it started. @param {Job} job */
    stall(job) {
      stall(job.core, job, job.cost)
    },
    serve,
    /**
     * Calls a function for each claim of a job that has waited long. It returns the remedy for the message,
     * or undefined.
     *
     * @param {Scheduler} scheduler @param {WaitListener} fn
     */
    onWait(scheduler, fn) {
      const core = coreOf(scheduler)
      core.waitListeners.push(fn)
      return () => { core.waitListeners = core.waitListeners.filter(other => other !== fn) }
    },
    /** @param {Function} fn */
    isInternal: fn => internalCallbacks.has(fn),
    frameInterval,
    // Read on access: otherwise bundlers would keep this object for pages without use for it.
    get url() { return import.meta.url }
  },

  /** Code that preemptify has rewritten: see addons/preemptify/run.mjs. */
  code: {
    /**
     * @param {{ twinOf?: (fn: any) => any, startOf?: (fn: any) => any, answers?: (fn: any) => boolean,
     *   adviceFor?: (fn: any) => string | undefined, eventUseOf?: (fn: any) => number,
     *   finish?: (job: Job) => void, isBusy?: (job: Job) => boolean | undefined,
     *   isInStay?: (job: Job) => boolean,
     *   startAtEntry?: (fn: any, self: any, args: any[], note: (isWaiting: boolean) => void) => any }} hooks
     *   replacements of the functions `twinOf`, `startOf`, `answers` and `adviceFor` of this module; the
     *   others are described below
     */
    link(hooks) {
      eventUseOf = hooks.eventUseOf ?? eventUseOf
      finishJob = hooks.finish ?? finishJob
      isJobBusy = hooks.isBusy ?? isJobBusy
      isJobInStay = hooks.isInStay ?? isJobInStay
      startAtEntry = hooks.startAtEntry ?? startAtEntry
      twinOf = hooks.twinOf ?? twinOf
      startOf = hooks.startOf ?? startOf
      answers = hooks.answers ?? answers
      adviceFor = hooks.adviceFor ?? adviceFor
    },
    /** Whether a function may return a value. @param {any} fn @returns {boolean} */
    answers: fn => answers(fn),
    /**
     * Returns a code for the use of the event by a listener. 0: the listener reads only data of the event.
     * 1: the listener needs its event until it writes to `budget.e`. 2: the listener needs its event until
     * the listener has ended.
     *
     * @param {any} fn @returns {number}
     */
    eventUseOf: fn => eventUseOf(fn),
    /**
     * Runs a suspended job, and the asynchronous code that it has started, until nothing of them is ready.
     * The holders of claims that they wait for finish first. Called in a round.
     *
     * @param {Job} job
     */
    finish: job => finishJob(job),
    /**
     * Whether asynchronous code that a job has started is suspended.
     *
     * @param {Job} job @returns {boolean | undefined} undefined: the job has started none
     */
    isBusy: job => isJobBusy(job),
    /**
     * Whether a job, or asynchronous code that it has started, is suspended and holds claims.
     *
     * @param {Job} job @returns {boolean}
     */
    isInStay: job => isJobInStay(job),
    /**
     * Starts a twin whose arguments may change while it waits for the claims at its entry.
     *
     * @param {any} fn @param {any} self @param {any[]} args
     * @param {(isWaiting: boolean) => void} note called when the twin begins to wait, and when it has waited
     * @returns {any} the call of the twin
     */
    startAtEntry: (fn, self, args, note) => startAtEntry(fn, self, args, note),
    /**
     * Reports that a claim of a job has waited long, and returns a remedy if some listener of `onWait` knows
     * one.
     *
     * @type {WaitListener}
     */
    noteWait(job, holder, location, ms) {
      /** @type {string | undefined} */
      let remedy
      job.core.waitListeners.forEach(fn => { remedy ??= fn(job, holder, location, ms) })
      return remedy
    },
    /** Whether the claims of a job are waived. @param {Job} job */
    isFree: job => job.extras.isFree,
    /** Waives the claims of a job. @param {Job} job */
    waive: job => { extrasOf(job).isFree = true },
    counts,
    ROOM,
    Suspended,
    addElement,
    /** The job whose code is on the stack, of any scheduler, or null. */
    current: () => dispatching === null ? null : dispatching.running,
    /**
     * Starts a child job in its caller's turn, for a call whose first part has run on the caller's stack. The
     * child has the rank, the budget and the reservation of its parent. It never misses the deadline, because
     * the parent does.
     *
     * @param {Job} parent also one that has ended @param {Function} fn names the child
     * @param {any[]} calls generators, outermost first. All but the innermost are suspended in a call
     * @param {Waitable | null} waitable the wait of the innermost generator; null: the child is ready
     * @returns {Job}
     */
    child(parent, fn, calls, waitable) {
      const { core, extras: { parameters } } = parent
      const job = createJob(core, fn, calls.pop(), NO_ARGUMENTS, parent.release)
      const extras = extrasOf(job)
      job.input = undefined
      job.rank = ownRankOf(parent)
      job.startTime = readClock(core)
      extras.callers = calls
      extras.isFree = parent.extras.isFree
      extras.entered = 1
      if (parent.extras.rechargeAt < Infinity) serve(job, null)
      const { budget, reservation } = parameters
      if (parameters !== PLAIN) extras.parameters = { ...PLAIN, budget, reservation }
      if (reservation !== undefined) attach(job, [], reservation)
      core.live++
      if (waitable !== null) holdBack(job, waitable)
      else enqueue(job)
      core.loop.requestTurn()
      return job
    },
    /**
     * Calls a function whenever a job starts to wait, and when it ends.
     *
     * @param {Job} job @param {() => void} fn
     */
    onRest(job, fn) {
      extrasOf(job).onRest = fn
    },
    /**
     * Sets the stay of a job, which has its claims. The scheduler ends the stay when the job ends, waits, or
     * yields in hand-written code.
     *
     * @param {Job} job @param {Stay} stay
     */
    setStay(job, stay) {
      specialOf(job).stay = stay
      if (job === counts.job) counts.stay = counts.s = stay
    },
    /** @param {Job} job @returns {Stay | null} */
    stayOf: job => job.extras.stay,
    /**
     * Notes that code which is not rewritten calls rewritten code, or that this call has ended.
     *
     * @param {Job | null} job the job of the call @param {1 | -1} change
     */
    enter(job, change) {
      if (job !== null) extrasOf(job).entered += change
      noteHeld()
    },
    /** Counts the stays that claim objects by identity. @param {1 | -1} change */
    countHolders(change) {
      counts.held += change
      noteHeld()
    },
    /** The waitable for which a job waits. @param {Job} job @returns {Waitable | null} */
    waitOf: job => job.extras.wait,
    /** Whether a job is in a critical section, where it cannot wait. @param {Job} job */
    isInSection: job => job.extras.sections > 0,
    /** Whether a job runs inside of an event, which ends after the job's first part. @param {Job} job */
    isInEvent: ({ core }) => core.inEvent,
    /** The time of the host of a job, ms. @param {Job} job */
    now: ({ core }) => readClock(core),
    /** Orders jobs, the most eligible first. @param {Job} a @param {Job} b */
    compare: (a, b) => compareRanks(effectiveRank(a), effectiveRank(b)),
    runInside,
    /** Ends the budget without a yield. @returns {boolean} whether the job must yield */
    checkpoint: () => dispatching === null || endBudgetInPlace(dispatching),
    /** Ends the budget of the running job at its next point. */
    interrupt: () => { if (dispatching !== null) interrupt(dispatching) }
  }
})

/**
 * The scheduler of this thread. Most programs need no other: `rt.spawn(work)` runs work as a job.
 *
 * @example
 * const slow = rt.spawn(function* () {
 *   for (let i = 0; i < 1000; i++) yield
 *   console.log('slow')
 * }, { deadline: 1000 })
 * rt.spawn(() => console.log('urgent'), { deadline: 10 })
 * await slow // → urgent, slow
 */
export const rt = /* @__PURE__ */ new Scheduler()
