/**
 * A host whose time moves only when a test moves it. Whole schedules take no time, and are the same on every
 * machine.
 *
 * Each turn of the event loop runs one macrotask. A posted function is ready `turn` ms after it was posted,
 * and a timer is ready after its delay. The task that is ready earliest runs first; ties go by order of
 * creation. A thread that is busy past a timer therefore fires it late, as a browser does.
 */

const STUCK = 1e5

/**
 * @typedef {object} VirtualHostOptions
 * @property {number} [start] the initial time of the clock, ms
 * @property {number} [resolution] now() is rounded down to a multiple of this; 0 is exact
 * @property {number} [turn] ms that pass between a post and its callback
 * @property {number} [early] timers fire this many ms too early, as setTimeout does at times
 * @property {number} [read] duration of a call of now(), ms
 * @property {number} [frame] ms between two animation frames
 * @property {(ms: number) => number} [delay] the delay that a timer uses in place of `ms`; default `ms`
 */

/**
 * @typedef {object} RunOptions
 * @property {number} [until] runs the tasks that are ready up to this time, then sets the clock to it
 * @property {number} [turns] the maximum number of macrotasks to run
 */

/**
 * @typedef {object} Macrotask
 * @property {'post' | 'timer' | 'frame'} kind
 * @property {number} time when the task is ready
 * @property {number} order the order of its creation
 * @property {boolean} ref
 * @property {Function} fn
 */

/** @param {VirtualHostOptions} [options] */
export function virtualHost({ start = 0, resolution = 0, turn = 0, early = 0, read = 0, frame = 16, delay: kept = ms => ms } = {}) {
  let time = start
  let created = 0
  let running = false
  let unmoved = 0
  /** @type {Macrotask[]} */
  let tasks = []

  /** @param {Macrotask['kind']} kind @param {number} at @param {boolean} ref @param {Function} fn */
  function add(kind, at, ref, fn) {
    if (typeof fn !== 'function') throw new TypeError(`fn must be a function, got ${String(fn)}`)
    const task = { kind, time: at, order: created++, ref, fn }
    tasks.push(task)
    return () => { tasks = tasks.filter(other => other !== task) }
  }

  /** @param {Macrotask['kind']} kind */
  const count = kind => tasks.reduce((sum, task) => sum + (task.kind === kind ? 1 : 0), 0)

  // A timer for a rest below the resolution would be set again forever, because the coarse clock does not
  // advance before its next tick.
  function leastDelay() {
    if (resolution === 0) return 0
    const tick = (Math.floor(time / resolution) + 1) * resolution
    return Math.min(resolution / 16, tick - time)
  }

  /** @param {number} until */
  function next(until) {
    // Timers without a reference do not keep a process alive, so run() does not continue for them alone.
    const alive = until < Infinity || tasks.some(task => task.ref)
    /** @type {Macrotask | undefined} */
    let first
    for (const task of tasks) {
      if (task.kind === 'frame' && host.isHidden) continue
      if (!first || (task.time - first.time || task.order - first.order) < 0) first = task
    }
    return alive && first && first.time <= until ? first : undefined
  }

  /** @param {number} until @returns {boolean} `false` if there was no macrotask to run */
  function step(until) {
    if (running) throw new Error('run() must not be called by a macrotask')
    const task = next(until)
    if (!task) return false
    tasks.splice(tasks.indexOf(task), 1)
    const before = time
    time = Math.max(time, task.time)
    host.turns++
    running = true
    try {
      task.fn(...(task.kind === 'frame' ? [time] : []))
    } finally {
      running = false
    }
    unmoved = time === before ? unmoved + 1 : 0
    if (unmoved > STUCK) throw new Error(`the clock stood at ${time} for ${STUCK} turns of the event loop`)
    return true
  }

  const host = {
    // --- the interface for schedulers

    now() {
      host.reads++
      time += read
      return resolution > 0 ? Math.floor(time / resolution) * resolution : time
    },

    /** @param {() => void} fn */
    post(fn) {
      add('post', time + turn, true, fn)
      host.maxPosts = Math.max(host.maxPosts, count('post'))
    },

    /** @param {number} ms @param {() => void} fn @param {{ ref?: boolean }} [options] */
    after(ms, fn, { ref = true } = {}) {
      if (!Number.isFinite(ms)) throw new RangeError(`ms must be a finite number, got ${ms}`)
      const whole = kept(ms)
      // A delay of at most `early` is not shortened: otherwise a timer for the rest would be set again
      // forever.
      const delay = whole > early ? whole - early : Math.max(whole, 0)
      return add('timer', time + (delay > 0 ? Math.max(delay, leastDelay()) : 0), ref, fn)
    },

    /** @param {(time: number) => void} fn */
    frame(fn) {
      return add('frame', (Math.floor(time / frame) + 1) * frame, true, fn)
    },

    inputPending() {
      return host.hasInput
    },

    hidden() {
      return host.isHidden
    },

    /** @param {{ timeStamp: number }} event */
    eventTime(event) {
      return event.timeStamp
    },

    /** @param {unknown} error */
    report(error) {
      host.errors.push(error)
    },

    // --- the interface for tests

    /**
     * Lets time pass, like the work of a job. Fires no timers.
     *
     * @param {number} ms
     */
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`ms must be a number >= 0, got ${ms}`)
      time += ms
    },

    /**
     * Runs macrotasks in order, and skips idle time, until no task is left that keeps a process alive.
     * Promises do not settle during the call; use `drain` for promises.
     *
     * @param {RunOptions} [options]
     * @returns {number} the time
     */
    run({ until = Infinity, turns = Infinity } = {}) {
      while (turns > 0 && step(until)) turns--
      if (turns > 0 && until < Infinity) time = Math.max(time, until)
      return time
    },

    /**
     * Like `run`, but all microtasks run before the first and after every macrotask.
     *
     * @param {RunOptions} [options]
     * @returns {Promise<number>} the time
     */
    async drain({ until = Infinity, turns = Infinity } = {}) {
      await microtasks()
      while (turns > 0 && step(until)) {
        turns--
        await microtasks()
      }
      if (turns > 0 && until < Infinity) time = Math.max(time, until)
      return time
    },

    resolution,
    turn,
    read,

    /** Set this to `true` to make the page look hidden: it then draws no frames. */
    isHidden: false,
    /** Set this to `true` to make user input look pending. */
    hasInput: false,
    /** @type {unknown[]} the reported errors */
    errors: [],
    /** Number of calls of now(). */
    reads: 0,
    /** Number of macrotasks that were run. */
    turns: 0,
    /** Maximum number of pending posts; a scheduler never needs two. */
    maxPosts: 0,

    /** The exact time. A read of this property does not count as a read of the clock. */
    get time() {
      return time
    },

    /** Number of pending posts. */
    get posts() {
      return count('post')
    },

    /** The pending timers, the earliest first. */
    get timers() {
      return tasks.filter(task => task.kind === 'timer')
        .sort((a, b) => a.time - b.time || a.order - b.order)
        .map(({ time, ref }) => ({ time, ref }))
    },

    /** Number of pending animation frames. */
    get frames() {
      return count('frame')
    }
  }

  return host
}

/** Resolves when every microtask, and every microtask these cause, has run. */
export function microtasks() {
  return new Promise(resolve => { setImmediate(resolve) })
}

/**
 * Work of a job: `ms` of execution time, with a preemption point after every step but the last. The job
 * therefore ends when its time is up, and not one resume later.
 *
 * @param {{ advance(ms: number): void }} host
 * @param {number} ms
 * @param {number} [step]
 */
export function* execute(host, ms, step = 1) {
  for (; ms > step; ms -= step) {
    host.advance(step)
    yield
  }
  if (ms > 0) host.advance(ms)
}

/**
 * Work in steps of 1 ms with a point before each step: events of one step are handled before the next step.
 *
 * @type {typeof execute}
 */
export function* work(host, ms) {
  for (; ms > 0; ms--) {
    yield
    host.advance(1)
  }
}
