import { worksOf } from './loads.mjs'
import { eventTiming, frameRates, spread } from './statistics.mjs'

/**
 * @typedef {import('./ways.mjs').Way} Way
 * @typedef {import('./statistics.mjs').Spread} Spread
 * @typedef {{ typing?: boolean, aes?: boolean, tasks?: boolean, endless?: boolean }} Loads
 *
 * @typedef {object} World environment of a benchmark: a page, or a simulation of one
 * @property {import('../../rt.mjs').Host} host
 * @property {(fn: () => void) => void} post calls `fn` in a later event-loop turn
 * @property {HTMLInputElement | (EventTarget & { value: string })} field the text input
 * @property {EventTarget} [page] the target of `visibilitychange` events
 * @property {(time: number) => void} [move] draws the box
 * @property {(text: string, ms: number) => void} [echo] shows the text that was typed `ms` ago
 * @property {(bytes: Uint8Array) => void} [show] shows encrypted bytes
 * @property {import('./loads.mjs').TaskSet} taskSet
 * @property {string[]} words texts for simulated typing
 * @property {import('./loads.mjs').Computations} [computations]
 * @property {import('./timings.mjs').Timings} [timings] the browser's own measurements
 *
 * @typedef {object} Inputs
 * @property {number} count
 * @property {number} trusted number of inputs by a user or a browser driver
 * @property {number} lost number of inputs that were never handled
 * @property {Spread | null} latency ms from an input until its handler has returned
 * @property {ReturnType<typeof eventTiming>} timing ms from a trusted input until the next paint (Event
 *   Timing)
 *
 * @typedef {object} Outcome result of a subtest
 * @property {string} way
 * @property {string} title title of the way
 * @property {string} subtest
 * @property {Loads} loads
 * @property {number} seconds measured time
 * @property {import('./statistics.mjs').FrameRates} frames
 * @property {Inputs} input
 * @property {{ blocks: number, worked: number }} perSecond AES blocks, and ms of the task set's work
 * @property {{ ended: number, late: number, longest: number }} jobs jobs of all tasks; `longest`: the
 *   greatest lateness, ms
 * @property {{ count: number, longest: number, blocking: number } | null} longFrames long animation frames,
 *   ms; only Chromium reports them
 * @property {object | null} scheduler statistics of the scheduler
 */

/** The subtests of the paper in its order, and a subtest whose load uses all of the thread's time. */
export const subtests = {
  none: { title: 'Box and input', short: 'neither', loads: {} },
  aes: { title: 'AES', short: 'AES', loads: { aes: true } },
  tasks: { title: 'Task set', short: 'task set', loads: { tasks: true } },
  all: { title: 'AES and task set', short: 'both', loads: { aes: true, tasks: true } },
  endless: { title: 'AES without end', short: 'no end', loads: { endless: true } }
}

/** The four subtests of the paper's figure 8. */
export const paperSubtests = /** @type {const} */ (['none', 'aes', 'tasks', 'all'])

/** Time between two simulated words, ms. */
const wordPeriod = 500

/**
 * A simulated input. Its timestamp is the time at which it was due, because timers fire late on a busy
 * thread.
 */
class Typed extends Event {
  #due

  /** @param {number} due */
  constructor(due) {
    super('input', { bubbles: true })
    this.#due = due
  }

  get timeStamp() { return this.#due }
}

/** Records the frames, inputs and jobs of a running load. Time while the page is hidden does not count. */
export class Watch {
  /** Start time and the times of all frames, without hidden time. @type {number[]} */
  frames
  /** Times from each input until its handler returned, ms. @type {number[]} */
  latencies = []
  inputs = 0
  trusted = 0
  handledInputs = 0
  jobs = { ended: 0, late: 0, longest: 0 }
  progress = { blocks: 0, worked: 0 }
  #host
  #cancelFrame
  #hidden = 0
  #shown = -Infinity
  /** @type {{ time: number, blocks: number, worked: number } | null} */
  #hiddenSince = null
  #unlisten
  /** @type {((time: number) => void)[]} */
  #awaiting = []

  /** @param {Pick<World, 'host' | 'page'>} world */
  constructor({ host, page }) {
    this.#host = host
    const change = () => host.hidden?.() ? this.#hide() : this.#show()
    page?.addEventListener('visibilitychange', change)
    this.#unlisten = () => page?.removeEventListener('visibilitychange', change)
    if (host.hidden?.()) this.#hide()
    this.frames = [this.now()]
    const frame = () => {
      this.#cancelFrame = host.frame(frame)
      if (this.#hiddenSince === null) this.#draw(host.now())
    }
    this.#cancelFrame = host.frame(frame)
  }

  /** Time without hidden time, ms. */
  now() {
    return (this.#hiddenSince?.time ?? this.#host.now()) - this.#hidden
  }

  /** Resolves with the first frame at `time` or later. @param {number} time a time of `now` */
  frameAt(time) {
    return new Promise(resolve => {
      const look = frame => frame >= time ? resolve(frame) : this.#awaiting.push(look)
      this.#awaiting.push(look)
    })
  }

  /** @param {import('./loads.mjs').Work} work @param {number} lateness */
  ended({ deadline }, lateness) {
    if (deadline === Infinity || this.#hiddenSince !== null) return
    const { jobs } = this
    jobs.ended++
    if (lateness > 0) jobs.late++
    jobs.longest = Math.max(jobs.longest, lateness)
  }

  /** @param {number} happened @param {number} handled */
  handled(happened, handled) {
    this.handledInputs++
    // Ignore inputs of a hidden page, because its timers are throttled.
    if (this.#hiddenSince === null && happened >= this.#shown) this.latencies.push(handled - happened)
  }

  end() {
    this.#cancelFrame()
    this.#unlisten()
  }

  #draw(time) {
    const seen = time - this.#hidden
    this.frames.push(seen)
    for (const look of this.#awaiting.splice(0)) look(seen)
  }

  #hide() {
    const { blocks, worked } = this.progress
    this.#hiddenSince ??= { time: this.#host.now(), blocks, worked }
  }

  // Discards the work that was done while the page was hidden.
  #show() {
    if (this.#hiddenSince === null) return
    const { time, blocks, worked } = this.#hiddenSince
    this.#hiddenSince = null
    this.#shown = this.#host.now()
    this.#hidden += this.#shown - time
    this.progress.blocks = blocks
    this.progress.worked = worked
  }
}

/**
 * Runs a load until `end` is called.
 *
 * @param {World} world
 * @param {Way} way
 * @param {Loads} loads
 * @param {(watch: Watch) => boolean} [isOver] called before each callback. A long callback can delay the end
 *   of a subtest, and later callbacks must not start after it
 */
export function run(world, way, loads, isOver = () => false) {
  const { host, field, post, taskSet, computations } = world
  const { move = () => {}, echo = () => {}, show = () => {} } = world
  const watch = new Watch(world)
  const { progress } = watch
  const works = worksOf({
    now: host.now,
    move,
    echo: ({ text, happened }) => {
      echo(text, host.now() - happened)
      watch.handled(happened, host.now())
      if (loads.aes) executor.release(works.aes, lastWord(text))
    },
    show,
    progress,
    taskSet,
    computations
  })

  let pressed = NaN
  const press = event => { pressed = host.eventTime(event) }
  field.addEventListener('keydown', press)
  const pick = event => {
    watch.inputs++
    if (event.isTrusted) watch.trusted++
    // Latency counts from the keydown. Phone keyboards may send none; then it counts from the input.
    const happened = pressed > 0 ? pressed : host.eventTime(event)
    pressed = NaN
    return { text: field.value, happened }
  }

  const executor = way.start({
    host, post, field, isOver: () => isOver(watch), ended: (work, lateness) => watch.ended(work, lateness)
  })
  executor.eachInput(works.input, pick)
  executor.eachFrame(works.box)
  if (loads.tasks) for (const task of works.tasks) executor.periodically(task)
  if (loads.endless) executor.endlessly(works.endless)
  const endTyping = loads.typing ? type(world) : () => {}

  return {
    watch,
    async end() {
      endTyping()
      watch.end()
      const scheduler = await executor.end()
      field.removeEventListener('keydown', press)
      return scheduler
    }
  }
}

/** @param {string} text */
export const lastWord = text => text.trimEnd().split(' ').at(-1) ?? ''

/**
 * Types a word every `wordPeriod` ms, as a user would, however busy the thread is.
 *
 * @param {World} world
 * @returns {() => void} stops typing, after the words that are already due
 */
function type({ host, field, words }) {
  let due = host.now() + wordPeriod
  let count = 0
  let cancel
  const write = () => {
    // After a long sleep of the page, skip the words of that time.
    if (host.now() - due > 60_000) due = host.now()
    for (; due <= host.now(); due += wordPeriod) {
      field.value = words[count++ % words.length]
      field.dispatchEvent(new Typed(due))
    }
  }
  const next = () => {
    cancel = host.after(Math.max(0, due - host.now()), () => {
      write()
      next()
    }, { ref: true })
  }
  next()
  return () => {
    cancel()
    write()
  }
}

/**
 * @param {World} world
 * @param {Way} way
 * @param {keyof typeof subtests} subtest
 * @param {object} options
 * @param {number} options.seconds
 * @param {boolean} [options.typing] whether typing is simulated; default true
 * @param {AbortSignal} [options.signal]
 * @param {(watch: Watch) => void} [options.onStart]
 * @returns {Promise<Outcome>}
 * @throws the reason of `signal` if the signal is aborted
 */
export async function runSubtest(world, way, subtest, options) {
  const { seconds, typing = true, signal, onStart = () => {} } = options
  const loads = { ...subtests[subtest].loads, typing }
  const { host, timings } = world
  signal?.throwIfAborted()
  world.field.value = ''
  // Measure from frame to frame, so that n frames are n intervals.
  await Promise.race([new Promise(resolve => host.frame(resolve)), aborted(signal)])
  let ends = Infinity
  const running = run(world, way, loads, watch => watch.now() >= ends)
  const { watch } = running
  const begins = host.now()
  ends = watch.now() + seconds * 1000
  onStart(watch)
  try {
    await Promise.race([watch.frameAt(ends), aborted(signal)])
  } catch (error) {
    await running.end()
    throw error
  }
  const { blocks, worked } = watch.progress
  const over = host.now()
  const jobs = { ...watch.jobs }
  const { frames } = watch
  const scheduler = await running.end() ?? null
  const measured = (frames[frames.length - 1] - frames[0]) / 1000
  const observed = await timings?.between(begins, over)
  return {
    way: way.id,
    title: way.title,
    subtest,
    loads,
    seconds: measured,
    frames: frameRates(frames),
    input: {
      count: watch.inputs,
      trusted: watch.trusted,
      lost: watch.inputs - watch.handledInputs,
      latency: spread(watch.latencies),
      timing: observed?.events ? eventTiming(observed.events, watch.trusted) : null
    },
    perSecond: { blocks: blocks / measured, worked: worked / measured },
    jobs,
    longFrames: observed?.longFrames ?? null,
    scheduler
  }
}

/** @param {AbortSignal | undefined} signal @returns {Promise<never>} */
function aborted(signal) {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/**
 * Runs subtests one after another. Between two subtests is a pause in which leftover callbacks can run.
 *
 * @typedef {{ way: Way, subtest: keyof typeof subtests }} Step
 *
 * @param {World} world
 * @param {Step[]} steps
 * @param {object} options
 * @param {number} options.seconds duration of each subtest
 * @param {boolean} [options.typing]
 * @param {number} [options.grace] duration of the pauses, ms
 * @param {AbortSignal} [options.signal]
 * @param {(step: Step, index: number, watch: Watch) => void} [options.onStart]
 * @returns {AsyncGenerator<Outcome, void>}
 */
export async function* runSteps(world, steps, { grace = 400, onStart = () => {}, ...options }) {
  for (const [index, step] of steps.entries()) {
    await new Promise(resolve => world.host.after(grace, () => resolve(undefined), { ref: true }))
    const starts = watch => onStart(step, index, watch)
    yield runSubtest(world, step.way, step.subtest, { ...options, onStart: starts })
  }
}

/** Returns the four subtests of figure 8 for each way. @param {readonly Way[]} ways @returns {Step[]} */
export const stepsOf = ways => ways.flatMap(way => paperSubtests.map(subtest => ({ way, subtest })))
