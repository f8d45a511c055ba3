/**
 * What the browser itself measures of how a page answers, where it does: Event Timing (both browsers), long
 * animation frames (Chromium).
 *
 * @typedef {{ count: number, longest: number, blocking: number }} LongFrames those of more than 50 ms; the
 *   longest, and how much of all would have kept input waiting, ms
 *
 * @typedef {object} Timings
 * @property {(from: number, to: number) => Promise<Observed>} between of what began in this time
 *
 * @typedef {object} Observed
 * @property {number[] | null} events ms from each reported key to the next paint
 * @property {LongFrames | null} longFrames
 */

/** How long the browser may take to report what has happened. */
const patience = 150

/** @returns {Timings} */
export function watchTimings() {
  const events = collect('event', { durationThreshold: 16 }, ({ name }) => name === 'keydown')
  const longFrames = collect('long-animation-frame', {}, () => true)
  return {
    async between(from, to) {
      await new Promise(resolve => setTimeout(resolve, patience))
      const within = ({ startTime }) => startTime >= from && startTime < to
      const long = longFrames?.().filter(within)
      return {
        events: events?.().filter(within).map(({ duration }) => duration) ?? null,
        longFrames: long === undefined ? null : {
          count: long.length,
          longest: Math.max(0, ...long.map(({ duration }) => duration)),
          blocking: long.reduce((sum, { blockingDuration }) => sum + blockingDuration, 0)
        }
      }
    }
  }
}

/** @returns {(() => any[]) | null} the entries so far; null where there are none of this type */
function collect(type, options, suits) {
  if (!PerformanceObserver.supportedEntryTypes.includes(type)) return null
  let entries = []
  const take = list => {
    entries.push(...list.filter(suits))
    if (entries.length > 20_000) entries = entries.slice(-10_000)
  }
  const observer = new PerformanceObserver(list => take(list.getEntries()))
  observer.observe({ type, buffered: true, ...options })
  return () => {
    take(observer.takeRecords())
    return entries
  }
}
