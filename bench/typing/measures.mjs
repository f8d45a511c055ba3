/** The measures of one way, from its recordings. */
import { eventTiming, quantile } from '../../examples/macro/statistics.mjs'

/** @typedef {import('./watch.mjs').Recording & { text: string }} Round `text`: the text that was typed */

/**
 * @typedef {object} Measures
 * @property {number[]} keyToPaint ascending, ms from the time stamp of a key press to the animation frame
 *   that paints the key
 * @property {number | null} interaction the 98th percentile of Event Timing, the basis of INP, ms; `null`
 *   without Event Timing
 * @property {number} rate frames per second from the first key press to the last one
 * @property {number[]} result ascending, ms from the last key press of a round to the animation frame that
 *   paints the result of the whole text
 */

/** @param {Round[]} rounds @returns {Measures} */
export function measuresOf(rounds) {
  const keys = sum(rounds.map(({ keys }) => keys.length))
  const durations = rounds.map(({ interactions }) => interactions)
  const frames = sum(rounds.map(({ keys, frames }) => within(frames, keys[0], keys.at(-1)).length))
  return {
    keyToPaint: ascending(rounds.flatMap(({ keys, frames, text }) => keys.map((time, i) =>
      delayOf(frames, time, frame => text.startsWith(frame.text) && frame.text.length > i)))),
    interaction: durations.includes(null) ? null : eventTiming(durations.flat(), keys)?.p98 ?? null,
    rate: 1000 * frames / sum(rounds.map(({ keys }) => keys.at(-1) - keys[0])),
    result: ascending(rounds.map(({ keys, frames, text }) =>
      delayOf(frames, keys.at(-1), ({ status }) => status.startsWith(`${text}: `))))
  }
}

/** The compared measures, each with the number that represents a way. Fewer ms and more frames are better. */
export const compared = [
  { name: 'key to paint p50', of: ({ keyToPaint }) => quantile(keyToPaint, 0.5) },
  { name: 'key to paint p95', of: ({ keyToPaint }) => quantile(keyToPaint, 0.95) },
  { name: 'Event Timing p98', of: ({ interaction }) => interaction },
  { name: 'frames/s', of: ({ rate }) => rate, isRate: true },
  { name: 'last key to result p50', of: ({ result }) => quantile(result, 0.5) }
]

/** Smaller differences count as a draw: a factor, and one frame at 60 Hz in ms. */
const FACTOR = 1.2
const FRAME = 1000 / 60

/**
 * Compares a way with another way by one measure. Times below one frame count as one frame, because no user
 * sees a difference between them.
 *
 * @param {typeof compared[number]} measure @param {Measures} way @param {Measures} other
 * @returns {string} a text such as '2.1 x better', '1.4 x worse' or 'a draw'
 */
export function verdict({ of, isRate = false }, way, other) {
  if (of(way) === null || of(other) === null) return '-'
  const [own, theirs] = [way, other].map(measures => isRate ? of(measures) : Math.max(FRAME, of(measures)))
  const factor = Math.max(own, theirs) / Math.min(own, theirs)
  if (factor < FACTOR || !isRate && Math.abs(own - theirs) < FRAME) return 'a draw'
  const outcome = own > theirs === isRate ? 'better' : 'worse'
  return Number.isFinite(factor) ? `${factor.toFixed(factor < 10 ? 1 : 0)} x ${outcome}` : outcome
}

/** Returns the time from `time` to the first later frame with a property, ms. */
function delayOf(frames, time, isPainted) {
  const frame = frames.find(frame => frame.time >= time && isPainted(frame))
  if (frame === undefined) throw new Error('a key was never painted')
  return frame.time - time
}

/** Returns the frames between two times. @param {import('./watch.mjs').Frame[]} frames */
const within = (frames, from, to) => frames.filter(({ time }) => time >= from && time <= to)

/** @param {number[]} numbers */
const ascending = numbers => numbers.sort((a, b) => a - b)

/** @param {number[]} numbers */
const sum = numbers => numbers.reduce((all, number) => all + number, 0)
