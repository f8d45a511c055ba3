/**
 * @typedef {{ count: number, median: number, p95: number, longest: number }} Spread ms
 * @typedef {object} FrameRates
 * @property {number} mean frames per second
 * @property {number | null} minimum the lowest rate of a whole second; null if there is no whole second
 * @property {number[]} perSecond
 * @property {Spread | null} interval ms from frame to frame
 */

/**
 * @param {number[]} sorted ascending
 * @param {number} share 0.5 is the median
 */
export function quantile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}

/** @param {number[]} values @returns {Spread | null} null if there are no values */
export function spread(values) {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  return {
    count: sorted.length,
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    longest: sorted[sorted.length - 1]
  }
}

/**
 * @param {number[]} times frame times in ascending order, ms; the measurement lasts from the first to the
 *   last frame
 * @returns {FrameRates}
 */
export function frameRates(times) {
  const intervals = times.slice(1).map((time, i) => time - times[i])
  const begin = times[0]
  const length = times.length > 1 ? times[times.length - 1] - begin : 0
  const perSecond = Array(Math.floor(length / 1000)).fill(0)
  for (const time of times.slice(1)) {
    // A frame at the end of a second belongs to that second, so a second of n frames has n intervals.
    const second = Math.ceil((time - begin) / 1000) - 1
    if (second < perSecond.length) perSecond[second]++
  }
  return {
    mean: length > 0 ? intervals.length / length * 1000 : 0,
    minimum: perSecond.length > 0 ? Math.min(...perSecond) : null,
    perSecond,
    interval: spread(intervals)
  }
}

/**
 * Returns the spread of the times from interactions to the next paint. Browsers do not report interactions
 * below 16 ms; these count as 8 ms.
 *
 * @param {number[]} durations reported durations, ms
 * @param {number} count number of all interactions
 * @returns {Spread & { p98: number } | null} `p98`: Interaction to Next Paint, which ignores one interaction
 *   in 50
 */
export function eventTiming(durations, count) {
  const unreported = Math.max(0, count - durations.length)
  const all = [...durations, ...Array(unreported).fill(8)].sort((a, b) => a - b)
  const spreadOut = spread(all)
  return spreadOut && { ...spreadOut, p98: quantile(all, 0.98) }
}
