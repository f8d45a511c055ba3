import { periodic, sleep } from '../../alarms.mjs'
import { defaultHost, Scheduler } from '../../rt.mjs'

/**
 * Each voice is a periodic task whose period and phase are in beats. The last voice plays three against two.
 * @typedef {{ name: string, beats: number, offset: number }} Voice
 * @type {readonly Voice[]}
 */
export const voices = [
  { name: 'Kick', beats: 1, offset: 0 },
  { name: 'Snare', beats: 2, offset: 1 },
  { name: 'Hat', beats: 1 / 4, offset: 0 },
  { name: 'Clave', beats: 2 / 3, offset: 0 }
]

/** Length of a piece of background work, ms. */
export const workLength = 40

/** Time from the start to the first beat, ms. The cost of starting must not count as lateness. */
export const leadIn = 150

/**
 * Returns the start of the background work, ms after the start. By then every interval has started on its
 * beat; an interval that starts late stays late.
 * @param {number} tempo
 */
export const workFrom = tempo => leadIn + ms(1, tempo) + 20

/**
 * Returns the pause between two pieces of background work that use a share of the thread, ms.
 * @param {number} share a number from 0 to 1
 */
export const pauseFor = share => share > 0 ? workLength * (1 - share) / share : workLength

/**
 * @typedef {Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'>} Timers
 *
 * @typedef {object} Setup
 * @property {number} tempo beats per minute
 * @property {() => number} load returns the share of the thread for the background work, from 0 to 1; called
 *   before each piece
 * @property {(voice: number, lateness: number, time: number) => void} onTick `lateness`: ms after the beat;
 *   `time`: host timestamp
 * @property {(ms: number) => void} [onWork] called after each piece of background work with its duration
 * @property {import('../../rt.mjs').Host} [host]
 * @property {Timers} [timers]
 * @property {() => void} [step] performs a little background work
 */

/**
 * Plays the voices as periodic tasks beside a background job without a deadline.
 *
 * @param {Setup} setup
 * @returns {() => void} stops playing
 */
export function playScheduled({
  tempo, load, onTick, onWork = () => {}, host = defaultHost(), step = compute
}) {
  const scheduler = new Scheduler({ host })
  const tasks = voices.map(({ name, beats, offset }, voice) => {
    const tick = () => {
      const time = scheduler.now()
      onTick(voice, time - scheduler.current.release, time)
    }
    const period = ms(beats, tempo)
    return periodic(tick, { name, scheduler, period, phase: phaseOf(offset, tempo) })
  })

  function* work() {
    yield sleep(workFrom(tempo))
    for (;;) {
      const share = load()
      if (share > 0) {
        const before = background.cost
        while (background.cost - before < workLength) {
          step()
          yield
        }
        onWork(background.cost - before)
      }
      if (share < 1) yield sleep(pauseFor(share))
    }
  }
  const background = scheduler.spawn(work)

  return () => {
    background.cancel()
    for (const task of tasks) task.cancel()
  }
}

/**
 * Plays the same without a scheduler: an interval per voice, and background work in pieces that run to
 * completion.
 *
 * @param {Setup} setup
 * @returns {() => void} stops playing
 */
export function playByTimers({
  tempo, load, onTick, onWork = () => {}, host = defaultHost(), timers = globalThis, step = compute
}) {
  const began = host.now()
  const ends = voices.map(({ beats, offset }, voice) => {
    // Browsers truncate the period. The same period is used for the lateness, so that drifting ahead costs
    // nothing.
    const period = Math.floor(ms(beats, tempo))
    const phase = phaseOf(offset, tempo)
    const origin = began + phase
    const tick = () => {
      const time = host.now()
      onTick(voice, latenessAt(time, origin, period), time)
    }
    let interval
    const first = timers.setTimeout(() => {
      tick()
      interval = timers.setInterval(tick, period)
    }, phase)
    return () => {
      timers.clearTimeout(first)
      timers.clearInterval(interval)
    }
  })

  let next
  function work() {
    const share = load()
    if (share > 0) {
      const begun = host.now()
      while (host.now() - begun < workLength) step()
      onWork(host.now() - begun)
    }
    next = timers.setTimeout(work, pauseFor(share))
  }
  next = timers.setTimeout(work, workFrom(tempo))

  return () => {
    timers.clearTimeout(next)
    for (const end of ends) end()
  }
}

const ms = (beats, tempo) => beats * 60_000 / tempo
const phaseOf = (offset, tempo) => leadIn + ms(offset, tempo)

/**
 * Returns the lateness of a tick, ms. A timer may fire up to 1 ms early; then it belongs to the next beat.
 *
 * @param {number} time @param {number} origin @param {number} period
 */
export function latenessAt(time, origin, period) {
  const beat = Math.max(0, Math.floor((time - origin + 1) / period))
  return time - origin - beat * period
}

let sum = 0
function compute() {
  for (let i = 0; i < 200; i++) sum += Math.sqrt(i)
}

/** The latenesses of a voice: recent values and their summary. */
export class Lateness {
  /** The latest values, sorted by time. @type {{ time: number, ms: number }[]} */
  recent = []
  count = 0

  /** @param {number} time @param {number} ms */
  add(time, ms) {
    this.count++
    this.recent.push({ time, ms })
    // Remove many at once: each shift() would move all other items.
    if (this.recent.length >= 2000) this.recent.splice(0, 1000)
  }

  /**
   * @returns {{ mean: number, p99: number, max: number }} summary of the recent values; NaN if there are none
   */
  summary() {
    const sorted = this.recent.map(({ ms }) => ms).sort((a, b) => a - b)
    const { length } = sorted
    return {
      mean: sorted.reduce((sum, ms) => sum + ms, 0) / length,
      p99: sorted[Math.ceil(length * 0.99) - 1] ?? NaN,
      max: sorted[length - 1] ?? NaN
    }
  }
}
