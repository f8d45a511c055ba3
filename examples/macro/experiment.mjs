import { worksOf } from './loads.mjs'
import { eventTiming, frameRates, spread } from './statistics.mjs'

/**
 * @typedef {import('./ways.mjs').Way} Way
 * @typedef {import('./statistics.mjs').Spread} Spread
 * @typedef {{ typing?: boolean, aes?: boolean, tasks?: boolean, endless?: boolean }} Loads
 *
 * @typedef {object} World what a benchmark runs in
 * @property {import('../../rt.mjs').Host} host
 * @property {(fn: () => void) => void} post runs `fn` in the next turn of the event loop
 * @property {HTMLInputElement | (EventTarget & { value: string })} field for text
 * @property {EventTarget} [page] of its `visibilitychange`
 * @property {(time: number) => void} [move] draws the box
 * @property {(text: string, ms: number) => void} [echo] shows what was typed so many ms ago
 * @property {(bytes: Uint8Array) => void} [show] shows what was encrypted
 * @property {import('./loads.mjs').TaskSet} taskSet
 * @property {string[]} words for simulated typing
 * @property {import('./loads.mjs').Computations} [computations]
 * @property {import('./timings.mjs').Timings} [timings] what the browser measures itself
 *
 * @typedef {object} Inputs
 * @property {number} count
 * @property {number} trusted of them
 * @property {number} lost never handled
 * @property {Spread | null} latency ms until the handler was done
 * @property {ReturnType<typeof eventTiming>} timing ms until the next paint, of the trusted ones (Event Timing)
 *
 * @typedef {object} Outcome of one subtest
 * @property {string} way
 * @property {string} title of the way
 * @property {string} subtest
 * @property {Loads} loads
 * @property {number} seconds that were measured
 * @property {import('./statistics.mjs').FrameRates} frames
 * @property {Inputs} input
 * @property {{ blocks: number, worked: number }} perSecond AES blocks, and ms of the task set's work
 * @property {{ ended: number, late: number, longest: number }} jobs of all tasks; longest: ms, the greatest
 *   lateness
 * @property {{ count: number, longest: number, blocking: number } | null} longFrames as Chromium tells; ms
 * @property {object | null} scheduler its own figures
 */

/** The subtests of the paper, in its order, and one that leaves nothing of the thread over. */
export const subtests = {
  none: { title: 'Box and input', short: 'neither', loads: {} },
  aes: { title: 'AES', short: 'AES', loads: { aes: true } },
  tasks: { title: 'Task set', short: 'task set', loads: { tasks: true } },
  all: { title: 'AES and task set', short: 'both', loads: { aes: true, tasks: true } },
  endless: { title: 'AES without end', short: 'no end', loads: { endless: true } }
}

/** The four of the paper's figure 8. */
export const paperSubtests = /** @type {const} */ (['none', 'aes', 'tasks', 'all'])

/** ms between two simulated words. */
const wordPeriod = 500

/** A word that is typed by nobody. Its time is when it was due: timers come late to a busy thread. */
class Typed extends Event {
  #due

  /** @param {number} due */
  constructor(due) {
    super('input', { bubbles: true })
    this.#due = due
  }

  get timeStamp() { return this.#due }
}

/** What happens while a load runs: frames, inputs, jobs; without the time in which nobody sees the page. */
export class Watch {
  /** When it began and the times of all frames, without what was hidden. @type {number[]} */
  frames
  /** ms from each input until its handler was done. @type {number[]} */
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

  /** ms that somebody could see. */
  now() {
    return (this.#hiddenSince?.time ?? this.#host.now()) - this.#hidden
  }

  /** Resolves with the first frame at `time` or later. @param {number} time as `now` tells it */
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
    // The timers of a hidden page come when they like.
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

  // What was computed meanwhile was computed in no time that counts.
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
 * Runs a load until it is told to stop.
 *
 * @param {World} world
 * @param {Way} way
 * @param {Loads} loads
 * @param {(watch: Watch) => boolean} [isOver] asked by callbacks before they begin: behind a long one, what
 *   ends a subtest comes late
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
    // The key came before its input; where no key was, as with a phone's keyboard, the input counts.
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
 * A word now and then, as by a user: however busy the thread is, he goes on.
 *
 * @param {World} world
 * @returns {() => void} ends it, with the words that were due before
 */
function type({ host, field, words }) {
  let due = host.now() + wordPeriod
  let count = 0
  let cancel
  const write = () => {
    // Of a page that was asleep nobody expects all that he did not type.
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
 * @param {boolean} [options.typing] simulated; otherwise somebody types, or nobody does
 * @param {AbortSignal} [options.signal]
 * @param {(watch: Watch) => void} [options.onStart]
 * @returns {Promise<Outcome>}
 * @throws the reason of `signal`, when that is aborted
 */
export async function runSubtest(world, way, subtest, options) {
  const { seconds, typing = true, signal, onStart = () => {} } = options
  const loads = { ...subtests[subtest].loads, typing }
  const { host, timings } = world
  signal?.throwIfAborted()
  world.field.value = ''
  // From a frame to a frame: so that n frames are n intervals.
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
 * @typedef {{ way: Way, subtest: keyof typeof subtests }} Step
 *
 * The automatic run: subtest after subtest, with a pause between them in which what is left over can happen.
 *
 * @param {World} world
 * @param {Step[]} steps
 * @param {object} options
 * @param {number} options.seconds of each
 * @param {boolean} [options.typing]
 * @param {number} [options.grace] ms of the pauses
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

/** Four subtests by each of the ways, as in figure 8. @param {readonly Way[]} ways @returns {Step[]} */
export const stepsOf = ways => ways.flatMap(way => paperSubtests.map(subtest => ({ way, subtest })))
