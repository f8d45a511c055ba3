/**
 * Computes the exact schedules of one CPU without overhead, with which a scheduler can be compared.
 *
 * No scheduler is simulated. Under a policy with fixed keys, no job ever delays a more eligible job. The
 * oracle therefore places the jobs one after the other, the most eligible first, each into the earliest time
 * after its release that earlier jobs left free. The result is the only work-conserving preemptive schedule
 * of that order. First come, first served needs only Lindley's recursion (1952).
 */

/**
 * @typedef {object} OracleJob
 * @property {number} release
 * @property {number} wcet the exact execution time
 * @property {number} [deadline] absolute
 * @property {number} [priority] larger is more important
 */

/** @typedef {[start: number, end: number]} Interval */

/**
 * @typedef {object} Schedule
 * @property {number[]} finish the finish of each job, in the given order
 * @property {Interval[][]} intervals the intervals in which each job runs, in the given order
 * @property {number} misses number of jobs that finish after their deadline
 * @property {number} finishSum
 * @property {number} maxLateness the maximum time from a deadline to a later finish; 0 if no job is late
 */

/** @typedef {OracleJob & { index: number, deadline: number, priority: number }} Placed */

/** @typedef {(a: Placed, b: Placed) => number} Order */

// This avoids a subtraction, because Infinity - Infinity is NaN.
const ascending = (/** @type {number} */ a, /** @type {number} */ b) => (a < b ? -1 : a > b ? 1 : 0)

// Ties are broken by release, then by position in the list.
/** @type {Order} */
const byRelease = (a, b) => a.release - b.release || a.index - b.index

/** @type {Order} */
const byPriority = (a, b) => ascending(b.priority, a.priority) || byRelease(a, b)

/** @type {Order} */
const byDeadline = (a, b) => ascending(a.deadline, b.deadline) || byPriority(a, b)

/**
 * @param {readonly OracleJob[]} jobs
 * @param {'fcfs' | 'fp' | 'edf'} policy
 * @returns {Schedule}
 */
export function ideal(jobs, policy) {
  const all = jobs.map((job, index) => ({ deadline: Infinity, priority: 0, ...job, index }))
  const order = policy === 'fp' ? byPriority : byDeadline
  const intervals = policy === 'fcfs' ? inSequence(all) : inGaps(all, order)
  const finish = intervals.map(list => list[list.length - 1][1])
  const lateness = finish.map((time, index) => time - all[index].deadline)
  return {
    finish,
    intervals,
    misses: lateness.filter(late => late > 0).length,
    finishSum: finish.reduce((sum, time) => sum + time, 0),
    maxLateness: lateness.reduce((most, late) => Math.max(most, late), 0)
  }
}

/** @param {Placed[]} jobs */
function inSequence(jobs) {
  /** @type {Interval[][]} */
  const intervals = []
  let free = -Infinity
  for (const job of [...jobs].sort(byRelease)) {
    const start = Math.max(free, job.release)
    free = start + job.wcet
    intervals[job.index] = [[start, free]]
  }
  return intervals
}

/** @param {Placed[]} jobs @param {Order} order */
function inGaps(jobs, order) {
  /** @type {Interval[][]} */
  const intervals = []
  // The taken intervals: disjoint, not adjacent, in ascending order.
  /** @type {Interval[]} */
  const taken = []
  for (const job of [...jobs].sort(order)) {
    const from = firstEndingAtOrAfter(taken, job.release)
    /** @type {Interval[]} */
    const own = []
    let time = job.release
    let rest = job.wcet
    let next = from
    for (;;) {
      // Intervals are half-open: an interval that starts at `time` leaves no free time there.
      if (next < taken.length && taken[next][0] <= time) {
        time = Math.max(time, taken[next++][1])
        continue
      }
      const end = Math.min(time + rest, next < taken.length ? taken[next][0] : Infinity)
      if (end > time || rest === 0) own.push([time, end])
      rest -= end - time
      time = end
      if (rest === 0) break
    }
    intervals[job.index] = own
    if (job.wcet > 0) take(taken, from, next, Math.min(own[0][0], taken[from]?.[0] ?? Infinity), time)
  }
  return intervals
}

/**
 * Replaces taken[from..next) by start..end, merged with an adjacent interval.
 * @param {Interval[]} taken
 * @param {number} from
 * @param {number} next
 * @param {number} start
 * @param {number} end
 */
function take(taken, from, next, start, end) {
  const touches = next < taken.length && taken[next][0] === end
  taken.splice(from, next - from + (touches ? 1 : 0), [start, touches ? taken[next][1] : end])
}

/** @param {Interval[]} taken @param {number} time */
function firstEndingAtOrAfter(taken, time) {
  let low = 0
  let high = taken.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (taken[middle][1] < time) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The jobs that periodic tasks release before `until`, ordered by release, then by task. The jobs have no
 * priorities. For fp the caller adds them. Under edf they would decide ties, which the published schedules
 * decide by release.
 * @param {readonly { wcet: number, period: number, deadline?: number, phase?: number }[]} tasks
 * @param {number} until
 */
export function jobsOf(tasks, until) {
  const jobs = tasks.flatMap(({ wcet, period, deadline = period, phase = 0 }, task) => {
    const count = Math.max(0, Math.ceil((until - phase) / period))
    return Array.from({ length: count }, (_, n) => {
      const release = phase + n * period
      return { task, release, wcet, period, deadline: release + deadline }
    })
  })
  return jobs.sort((a, b) => a.release - b.release || a.task - b.task)
}
