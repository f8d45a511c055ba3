import { periodic, sleep } from '../../alarms.mjs'
import { defaultHost, Scheduler } from '../../rt.mjs'

/**
 * Each voice is a periodic task, its period and phase in beats. The last one plays three against two.
 * @typedef {{ name: string, beats: number, offset: number }} Voice
 * @type {readonly Voice[]}
 */
export const voices = [
  { name: 'Kick', beats: 1, offset: 0 },
  { name: 'Snare', beats: 2, offset: 1 },
  { name: 'Hat', beats: 1 / 4, offset: 0 },
  { name: 'Clave', beats: 2 / 3, offset: 0 }
]

/** How long a piece of background work takes, ms. */
export const workLength = 40

/** From the start to the first beat, ms: what it takes to begin should not count as late. */
export const leadIn = 150

/**
 * When the background work begins, ms after the start: once every interval has begun on its beat. One that
 * begins late stays late.
 * @param {number} tempo
 */
export const workFrom = tempo => leadIn + ms(1, tempo) + 20

/**
 * The ms between two pieces of background work that take a share of the thread.
 * @param {number} share of 0 to 1
 */
export const pauseFor = share => share > 0 ? workLength * (1 - share) / share : workLength

/**
 * @typedef {Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'>} Timers
 *
 * @typedef {object} Setup
 * @property {number} tempo beats per minute
 * @property {() => number} load share of the thread for the background work, of 0 to 1; asked again and again
 * @property {(voice: number, lateness: number, time: number) => void} onTick ms behind the beat; host
 *   timestamp
 * @property {(ms: number) => void} [onWork] background work that was done
 * @property {import('../../rt.mjs').Host} [host]
 * @property {Timers} [timers]
 * @property {() => void} [step] a little of the background work
 */

/**
 * The voices as periodic tasks beside a background job without a deadline.
 *
 * @param {Setup} setup
 * @returns {() => void} ends it
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
 * The same with what JavaScript has: an interval per voice, and background work in pieces that run to their
 * ends.
 *
 * @param {Setup} setup
 * @returns {() => void} ends it
 */
export function playByTimers({
  tempo, load, onTick, onWork = () => {}, host = defaultHost(), timers = globalThis, step = compute
}) {
  const began = host.now()
  const ends = voices.map(({ beats, offset }, voice) => {
    // Browsers cut the fraction off; that it runs ahead of the beat is not held against it.
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
 * How far behind the beat, ms. Timers come up to 1 ms early: that is before this beat, not late for the last.
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

/** The lateness of a voice: the last ones, and what they amount to. */
export class Lateness {
  /** In order of time. @type {{ time: number, ms: number }[]} */
  recent = []
  count = 0

  /** @param {number} time @param {number} ms */
  add(time, ms) {
    this.count++
    this.recent.push({ time, ms })
    // In pieces, as each shift moves all the others.
    if (this.recent.length >= 2000) this.recent.splice(0, 1000)
  }

  /** @returns {{ mean: number, p99: number, max: number }} of the last ones; NaN of none */
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
