/**
 * A host whose time moves only when a test moves it: whole schedules in no time, the same on every machine.
 *
 * One turn of the event loop runs one macrotask. A posted function is ready `turn` ms after it was posted, a
 * timer when its delay has passed; what is ready earliest goes first, ties in order of creation. So a thread
 * that is busy past a timer fires it late, as a browser does.
 */

const STUCK = 1e5

/**
 * @typedef {object} VirtualHostOptions
 * @property {number} [start] what the clock shows at first, ms
 * @property {number} [resolution] now() is rounded down to a multiple of this; 0 is exact
 * @property {number} [turn] ms that pass between a post and its callback
 * @property {number} [early] timers fire this many ms before their time, as setTimeout does now and then
 * @property {number} [read] ms that a call of now() takes
 * @property {number} [frame] ms between two animation frames
 * @property {(ms: number) => number} [delay] what a timer makes of its delay; by default it keeps it
 */

/**
 * @typedef {object} RunOptions
 * @property {number} [until] runs what is ready up to this time, then sets the clock to it
 * @property {number} [turns] runs at most so many macrotasks
 */

/**
 * @typedef {object} Macrotask
 * @property {'post' | 'timer' | 'frame'} kind
 * @property {number} time when it is ready
 * @property {number} order of creation
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

  // On a coarse clock, re-arming for a rest below any measure would take turns without end: the clock stands
  // until its next tick.
  function leastDelay() {
    if (resolution === 0) return 0
    const tick = (Math.floor(time / resolution) + 1) * resolution
    return Math.min(resolution / 16, tick - time)
  }

  /** @param {number} until */
  function next(until) {
    // Timers without a reference do not keep a process alive, so they alone do not keep run() going.
    const alive = until < Infinity || tasks.some(task => task.ref)
    /** @type {Macrotask | undefined} */
    let first
    for (const task of tasks) {
      if (task.kind === 'frame' && host.isHidden) continue
      if (!first || (task.time - first.time || task.order - first.order) < 0) first = task
    }
    return alive && first && first.time <= until ? first : undefined
  }

  /** @param {number} until @returns {boolean} whether there was a macrotask to run */
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
    // --- what a scheduler sees

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
      // A delay no longer than `early` is kept: otherwise re-arming for the rest would never end.
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

    // --- what a test does

    /**
     * Lets time pass, as the work of a job does; fires nothing.
     * @param {number} ms
     */
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`ms must be a number >= 0, got ${ms}`)
      time += ms
    },

    /**
     * Runs macrotasks in order, jumping over idle waits, until nothing is left that keeps a process alive.
     * Promises do not settle meanwhile; `drain` is for those.
     * @param {RunOptions} [options]
     * @returns {number} the time
     */
    run({ until = Infinity, turns = Infinity } = {}) {
      while (turns > 0 && step(until)) turns--
      if (turns > 0 && until < Infinity) time = Math.max(time, until)
      return time
    },

    /**
     * The same with all microtasks run before the first and after every macrotask.
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

    /** Set to true while the page should look hidden: no frames then. */
    isHidden: false,
    /** Set to true while user input should look pending. */
    hasInput: false,
    /** @type {unknown[]} what was reported */
    errors: [],
    /** calls of now() */
    reads: 0,
    /** macrotasks run */
    turns: 0,
    /** the most posts ever outstanding; a scheduler never needs two */
    maxPosts: 0,

    /** The exact time; looking at it is not counted as a read of the clock. */
    get time() {
      return time
    },

    /** Posts outstanding. */
    get posts() {
      return count('post')
    },

    /** Timers outstanding, the earliest first. */
    get timers() {
      return tasks.filter(task => task.kind === 'timer')
        .sort((a, b) => a.time - b.time || a.order - b.order)
        .map(({ time, ref }) => ({ time, ref }))
    },

    /** Animation frames requested and not yet given. */
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
 * Work for a job: `ms` of execution time with a preemption point after every step but the last, so that it
 * ends when its time is up and not one resume later.
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

/** The same in steps of 1 ms with a point before each: what happens in a step is seen before the next one. @type {typeof execute} */
export function* work(host, ms) {
  for (; ms > 0; ms--) {
    yield
    host.advance(1)
  }
}
