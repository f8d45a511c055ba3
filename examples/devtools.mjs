import { Schedule } from './gantt/intervals.mjs'
import { accusation } from './gantt/words.mjs'

/**
 * Shows the schedule in the Performance panel of Chrome's DevTools, as custom tracks beside the browser's
 * own. Each task has a track with its executions; a callback that blocked the thread for longer than a slice
 * is shown as well. A missed deadline is a marker that names the jobs that ran instead. Other browsers show
 * the same as plain User Timing entries.
 *
 *   const stop = devtools(scheduler)
 *
 * Entries are added at the end of each round, because the executions of a round are known only then, or after
 * a callback that blocked the thread. Each entry is removed from the page's timeline immediately, so that the
 * timeline does not grow without bound.
 *
 * @see https://developer.chrome.com/docs/devtools/performance/extension
 */

const colors = ['primary', 'secondary', 'tertiary', 'primary-dark', 'secondary-dark', 'tertiary-dark']

/** Maximum number of executions per round that are shown; the shortest are omitted. */
const mostOfRound = 50

/**
 * @param {{ observe(fn: (record: any) => void): () => void, now(): number }} scheduler
 * @param {object} [options]
 * @param {string} [options.group] name of the group of tracks; default 'rt.mjs'
 * @param {Pick<Performance, 'now' | 'measure' | 'mark' | 'clearMeasures' | 'clearMarks'>} [options.timeline]
 *   default: performance
 * @returns {() => void} stops the recording
 */
export function devtools(scheduler, { group = 'rt.mjs', timeline = performance } = {}) {
  const offset = offsetOf(scheduler, timeline)
  // A job can miss its deadline long after its release, so the schedule keeps enough records.
  const schedule = new Schedule({ limit: 5000 })
  /** Executions up to this time have been shown, or are too old to be shown. */
  let shown = scheduler.now()
  /** Misses that have been detected; `pending` has the ones that are not shown yet. */
  const told = new WeakSet()
  const pending = new Set()
  /** @type {Map<import('./gantt/intervals.mjs').Row, string>} */
  const colorOf = new Map()

  const colorFor = row => {
    if (!colorOf.has(row)) colorOf.set(row, colors[colorOf.size % colors.length])
    return colorOf.get(row)
  }
  const measure = (name, from, to, details) => {
    // The timeline has no negative times.
    const start = Math.max(0, from + offset)
    const detail = { devtools: { dataType: 'track-entry', trackGroup: group, ...details } }
    timeline.measure(name, { start, end: Math.max(start, to + offset), detail })
    timeline.clearMeasures(name)
  }
  const mark = (name, time, details) => {
    const detail = { devtools: { dataType: 'marker', ...details } }
    timeline.mark(name, { startTime: Math.max(0, time + offset), detail })
    timeline.clearMarks(name)
  }

  /** @returns {number} how long the execution blocked the thread, ms; 0 if not longer than a slice */
  const stallOf = ({ activation, from, to }) => {
    const { stalls } = schedule
    let longest = 0
    for (let i = stalls.length - 1; i >= 0 && stalls[i].to > from; i--) {
      const stall = stalls[i]
      if (stall.activation === activation && stall.from < to) longest = Math.max(longest, stall.to - stall.from)
    }
    return longest
  }

  const showRun = run => {
    const { activation, from, to, how } = run
    const { name, id, row, release, deadline, cost } = activation
    const title = id < 0 ? name : `${name} #${id}` // a callback has no job number
    const isLate = to > deadline
    const stall = stallOf(run)
    measure(title, from, to, {
      track: row.name,
      color: isLate ? 'error' : colorFor(row),
      tooltipText: `${title}${stall > 0 ? ` kept the thread for ${milliseconds(stall)}` : ''}${isLate ? ', past its deadline' : ''}`,
      properties: [
        ['Released', `${milliseconds(from - release)} before`],
        ['Deadline', deadline === Infinity ? 'none'
          : isLate ? `${milliseconds(to - deadline)} ago` : `in ${milliseconds(deadline - to)}`],
        ['Executed so far', milliseconds(cost)],
        ['Ended by', how],
        ...stall > 0 ? [['Kept the thread for', milliseconds(stall)]] : []
      ]
    })
  }

  const showMiss = activation => {
    const { name, id, row, release, deadline, ended } = activation
    const blame = schedule.blame(activation)
    const late = ended === undefined ? 'not finished yet' : `finished ${milliseconds(ended - deadline)} late`
    const details = {
      color: 'error',
      tooltipText: `${name} #${id} missed its deadline, ${late}. ${accusation(blame)}`,
      properties: [
        ...blame.others.map(({ name, ms }) => [`${name} ran for`, milliseconds(ms)]),
        ['The job itself ran for', milliseconds(blame.own)],
        ['The page had the thread for', milliseconds(blame.away)]
      ]
    }
    const title = `${name} #${id} late`
    mark(title, deadline, details)
    // The job's window from release to deadline, beside the jobs that ran in it.
    measure(title, release, deadline, { ...details, track: `${row.name}: missed` })
  }

  /** Executions of this round that were too short to be shown. */
  let left = 0
  const showRuns = time => {
    const { runs } = schedule
    let first = runs.length
    while (first > 0 && runs[first - 1].to > shown) first--
    const fresh = runs.slice(first)
    const seen = fresh.length <= mostOfRound ? fresh : longest(fresh, mostOfRound)
    for (const run of seen) showRun(run)
    left += fresh.length - seen.length
    shown = time
  }

  const showRound = ({ start, time }) => {
    showRuns(time)
    measure(`${group} round`, start, time, {
      track: 'rounds',
      color: 'tertiary-light',
      tooltipText: `round${left ? `, ${left} short executions not shown` : ''}`
    })
    left = 0
  }

  /**
   * Shows the misses of jobs that have ended, and of jobs that have not ended `patience` ms after the
   * deadline.
   * @param {number} patience ms
   */
  const showMisses = patience => {
    const { misses, end } = schedule
    for (let i = misses.length - 1; i >= 0 && !told.has(misses[i]); i--) {
      told.add(misses[i])
      pending.add(misses[i])
    }
    for (const activation of pending) {
      if (activation.ended === undefined && end - activation.deadline < patience) continue
      pending.delete(activation)
      showMiss(activation)
    }
  }

  const unsubscribe = scheduler.observe(record => {
    schedule.add(record)
    if (record.type === 'stall' && record.by) showRuns(record.time) // a callback can run outside of a round
    if (record.type !== 'round') return
    showRound(/** @type {any} */ (record))
    showMisses(1000)
  })
  return () => {
    unsubscribe()
    showMisses(0)
  }
}

/** Returns the time to add to the host's time to get the time of the timeline, ms. */
function offsetOf(scheduler, timeline) {
  const before = timeline.now()
  const time = scheduler.now()
  const after = timeline.now()
  // The default host reads the same clock as the timeline.
  if (time >= before && time <= after) return 0
  return (before + after) / 2 - time
}

const longest = (runs, count) => runs.toSorted((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, count)
  .sort((a, b) => a.from - b.from)

const milliseconds = ms => `${ms.toFixed(Math.abs(ms) < 10 ? 2 : 1)} ms`
