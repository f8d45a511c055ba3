/**
 * Collects the browser's own measurements of responsiveness: Event Timing, on which Interaction to Next Paint
 * is based, and long animation frames (Chromium). A browser may lack either.
 *
 * @typedef {{ count: number, longest: number, blocking: number }} LongFrames frames of more than 50 ms: their
 *   number, the longest, and the time in which they would have blocked input (Total Blocking Time), ms
 *
 * @typedef {object} Timings
 * @property {(from: number, to: number) => Promise<Observed>} between returns the measurements that started
 *   in an interval
 *
 * @typedef {object} Observed
 * @property {number[] | null} events ms from each reported interaction to the next paint
 * @property {LongFrames | null} longFrames
 */

/** How long the browser may take to report an event, ms. */
const patience = 150

/** @returns {Timings} */
export function watchTimings() {
  const { PerformanceEventTiming: { prototype } = {} } = /** @type {any} */ (globalThis)
  const isInteraction = prototype && 'interactionId' in prototype ? ({ interactionId }) => interactionId > 0
    : ({ name }) => name === 'keydown'
  const events = collect('event', { durationThreshold: 16 }, isInteraction)
  const longFrames = collect('long-animation-frame', {}, () => true)
  return {
    async between(from, to) {
      await new Promise(resolve => setTimeout(resolve, patience))
      const within = ({ startTime }) => startTime >= from && startTime < to
      const long = longFrames?.().filter(within)
      return {
        events: events === null ? null : interactions(events().filter(within)),
        longFrames: long === undefined ? null : {
          count: long.length,
          longest: Math.max(0, ...long.map(({ duration }) => duration)),
          blocking: long.reduce((sum, { blockingDuration }) => sum + blockingDuration, 0)
        }
      }
    }
  }
}

/**
 * Returns the duration of each interaction: the longest of its events. A key has several.
 *
 * @param {any[]} events @returns {number[]} ms
 */
function interactions(events) {
  const longest = new Map()
  for (const { interactionId, startTime, duration } of events) {
    const id = interactionId ?? startTime
    longest.set(id, Math.max(duration, longest.get(id) ?? 0))
  }
  return [...longest.values()]
}

/**
 * @returns {(() => any[]) | null} returns the entries so far; null if the browser has no entries of this type
 */
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
