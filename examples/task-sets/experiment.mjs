import { Scheduler, budget as points, edf, fp } from '../../rt.mjs'
import { idealSchedule } from './ideal.mjs'
import { releasesOf } from './task-sets.mjs'

/**
 * @typedef {import('./task-sets.mjs').TaskSet} TaskSet
 * @typedef {import('./task-sets.mjs').Release} Release
 * @typedef {import('./ideal.mjs').Segment} Segment
 * @typedef {'fcfs' | 'fp' | 'edf'} PolicyName fcfs = plain JavaScript, fp = rate monotonic
 * @typedef {{ blocking(wcet: number): void, preemptible(wcet: number): Iterator<void>,
 *   longestPause?: number }} Work the work of a job, with and without preemption points
 * @typedef {Release & { started: number, finished: number, missed: boolean }} Outcome ms from the start of
 *   the run
 * @typedef {{ from: number, to: number }} Round an interval in which the scheduler had the thread
 * @typedef {{ outcomes: Outcome[], segments: Segment[], rounds: Round[], pause: number, stats?: object }} Run
 *   `segments` and `rounds` cover the first `watch` ms; `pause`: the longest time in which the machine kept a
 *   job from running, ms
 * @typedef {{ host?: any, work?: Work, slice?: number, round?: number, budget?: number | 'auto',
 *   watch?: number, signal?: AbortSignal }} RunOptions
 *   `watch`: recorded part of the schedule, ms (default 0);
 *   `signal`: ends the run early; `outcomes` then contains only the jobs that finished
 */

const schedulers = { fp, edf }

// Delay before time 0, ms. All jobs must have been spawned by then.
const leadTime = 20

/** The clock and the timers of the page or the process. */
export const wallClock = {
  now: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms)
    return () => clearTimeout(timer)
  }
}

/**
 * Returns work that spins until it has consumed its execution time on the clock `now`. The work only reads
 * the clock, so a pause between two readings is caused by the machine, not by the scheduler.
 * @param {() => number} now
 * @returns {Work & { longestPause: number }}
 */
export function spinning(now) {
  const work = {
    longestPause: 0,
    blocking(wcet) {
      let last = now()
      const end = last + wcet
      while (last < end) {
        const time = now()
        if (time - last > work.longestPause) work.longestPause = time - last
        last = time
      }
    },
    *preemptible(wcet) {
      let left = wcet
      let last = now()
      for (;;) {
        const time = now()
        const passed = time - last
        if (passed > work.longestPause) work.longestPause = passed
        left -= passed
        if (left <= 0) return
        last = time
        if (--points.left <= 0) {
          yield
          // Other jobs and the scheduler may have run during the yield.
          last = now()
        }
      }
    }
  }
  return work
}

/**
 * Runs the jobs as plain JavaScript does: each timer's callback runs to completion, in the order in which the
 * timers expire. All timers are set at the start, so that blocking delays neither releases nor deadlines.
 * @param {Release[]} releases
 * @param {RunOptions} [options]
 * @returns {Promise<Run>}
 */
export async function runPlain(releases, options = {}) {
  const { host = wallClock, work = spinning(host.now), watch = 0, signal } = options
  // Node counts a timer's delay from the start of the current event-loop turn, so start in a new turn.
  await new Promise(resolve => host.after(0, resolve))
  const start = host.now() + leadTime
  /** @type {Run} */
  const run = { outcomes: [], segments: [], rounds: [], pause: 0 }
  let unfinished = releases.length
  await new Promise(resolve => {
    // Delays are integers, and timers are set in order: of timers with equal times, the first one set fires
    // first.
    const cancels = releases.map((release, job) => host.after(leadTime + release.release, () => {
      const started = host.now() - start
      work.blocking(release.wcet)
      const finished = host.now() - start
      run.outcomes.push({ ...release, started, finished, missed: finished > release.deadline })
      if (started < watch && finished > started) run.segments.push({ job, from: started, to: finished })
      if (--unfinished === 0) resolve()
    }))
    const stop = () => {
      cancels.forEach(cancel => cancel())
      resolve()
    }
    if (signal?.aborted || unfinished === 0) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
  run.pause = work.longestPause ?? 0
  return run
}

/**
 * Runs the jobs on a new scheduler, which releases them.
 * @param {Release[]} releases
 * @param {RunOptions & { policy: 'fp' | 'edf' }} options
 * @returns {Promise<Run>}
 */
export async function runScheduled(releases, { policy, host, watch = 0, signal, ...others }) {
  const { work = spinning(host?.now ?? wallClock.now), ...dispatching } = others
  const given = Object.entries({ ...dispatching, host }).filter(([, value]) => value !== undefined)
  const options = { policy: schedulers[policy], paused: true, ...Object.fromEntries(given) }
  const scheduler = new Scheduler(options)
  const start = Math.ceil(scheduler.now() + leadTime)
  const jobs = releases.map(({ task, wcet, period, release }) => scheduler.spawn(work.preemptible, {
    name: `task ${task}`,
    release: start + release,
    deadline: period,
    // Rate monotonic. Under edf, priorities would override the order of release for equal deadlines.
    priority: policy === 'fp' ? -period : 0
  }, wcet))
  const recording = watch > 0 ? record(scheduler, jobs, start, watch) : { segments: [], rounds: [] }
  const stop = () => jobs.forEach(job => job.cancel())
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  scheduler.resume()
  await scheduler.idle()
  signal?.removeEventListener('abort', stop)
  const outcomes = releases.map((release, i) => ({
    ...release,
    started: jobs[i].started - start,
    finished: jobs[i].finished - start,
    missed: jobs[i].missed
  })).filter((_, i) => jobs[i].state === 'done')
  return { outcomes, ...recording, pause: work.longestPause ?? 0, stats: scheduler.stats() }
}

const begins = new Set(['start', 'resume'])
const ends = new Set(['preempt', 'block', 'finish', 'cancel', 'fail'])

function record(scheduler, jobs, start, watch) {
  const indexes = new Map(jobs.map((job, i) => [job, i]))
  /** @type {Segment[]} */
  const segments = []
  /** @type {Round[]} */
  const rounds = []
  let running = null
  let from = 0
  let firstOfRound = 0

  function close(now) {
    if (running && now > from) segments.push({ job: indexes.get(running), from, to: now })
    from = now
  }

  function closeRound(now, began) {
    close(now)
    // A job that runs at the end of a round resumes in the next one. Only the next round's record states its
    // start.
    const first = segments[firstOfRound]
    if (first) first.from = Math.max(first.from, began)
    firstOfRound = segments.length
    rounds.push({ from: began, to: now })
  }

  const unsubscribe = scheduler.observe(event => {
    const now = event.time - start
    if (event.type === 'round') {
      closeRound(now, event.start - start)
      if (now > watch) unsubscribe()
    } else if (begins.has(event.type)) {
      close(now)
      running = event.job
    } else if (ends.has(event.type) && event.job === running) {
      close(now)
      running = null
    }
  })
  return { segments, rounds }
}

/** Length of the warm-up, ms. Earlier, a run mostly measures compilation. */
export const warmUp = 500

/**
 * @typedef {object} Result
 * @property {TaskSet} set
 * @property {PolicyName} policy
 * @property {number} seconds
 * @property {number} jobs number of finished jobs
 * @property {number} misses
 * @property {number} missRatio
 * @property {number} idealMisses misses of the same jobs in the exact schedule
 * @property {number} idealMissRatio
 * @property {number} beyond misses that the exact schedule does not have, of jobs released after the warm-up
 * @property {number | null} overhead scheduler time / job time, as the scheduler accounts for it; null for
 *   plain JavaScript, which has no scheduler
 * @property {number | null} inflation (time in rounds - execution times of the jobs) / execution times of the
 *   jobs: the total cost of scheduling, including preemption points and clock readings
 * @property {Release[]} releases all planned jobs
 * @property {Outcome[]} outcomes
 * @property {Segment[]} segments
 * @property {Round[]} rounds
 * @property {number} pause the longest time in which the machine kept a job from running, ms
 * @property {object} [stats] statistics of the scheduler
 */

/**
 * Runs one task set under one policy, and compares it with the exact schedule.
 * @param {TaskSet} set
 * @param {RunOptions & { policy: PolicyName, seconds: number }} options
 * @returns {Promise<Result>}
 */
export async function runSet(set, { policy, seconds, ...options }) {
  const releases = releasesOf(set, seconds)
  const run = policy === 'fcfs'
    ? await runPlain(releases, options)
    : await runScheduled(releases, { policy, ...options })
  return { set, policy, seconds, releases, ...compare(releases, run, policy), ...run }
}

function compare(releases, { outcomes, stats }, policy) {
  const ideal = idealSchedule(releases, policy)
  const idealMissed = new Set(releases.filter((job, i) => ideal.finished[i] > job.deadline).map(nameOf))
  const missed = outcomes.filter(job => job.missed)
  const worked = outcomes.reduce((sum, { wcet }) => sum + wcet, 0)
  const idealMisses = outcomes.filter(job => idealMissed.has(nameOf(job))).length
  return {
    jobs: outcomes.length,
    misses: missed.length,
    missRatio: missed.length / (outcomes.length || 1),
    idealMisses,
    idealMissRatio: idealMisses / (outcomes.length || 1),
    beyond: missed.filter(job => job.release >= warmUp && !idealMissed.has(nameOf(job))).length,
    overhead: stats ? stats.overhead / stats.busy : null,
    inflation: stats ? (stats.busy + stats.overhead) / worked - 1 : null
  }
}

const nameOf = ({ task, release }) => `${task}@${release}`

/**
 * Runs every set under every policy, one after another.
 * @param {TaskSet[]} sets
 * @param {RunOptions & { policies: readonly PolicyName[], seconds: number,
 *   before?(set: TaskSet, policy: PolicyName, done: number, total: number): void | Promise<void> }} options
 * @returns {AsyncGenerator<Result, void>} ends early if `signal` is aborted, without the result of the
 *   current run
 */
export async function* runSets(sets, { policies, before, ...options }) {
  const total = sets.length * policies.length
  let done = 0
  for (const set of sets) {
    for (const policy of policies) {
      await before?.(set, policy, done, total)
      if (options.signal?.aborted) return
      const result = await runSet(set, { ...options, policy })
      if (options.signal?.aborted) return
      done++
      yield result
    }
  }
}
