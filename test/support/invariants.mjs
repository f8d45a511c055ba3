/**
 * Watches a scheduler from outside, by its records and public properties only, and notes violations of its
 * invariants. Violations are collected instead of thrown, because an error thrown in a job would count as a
 * failure of that job.
 */
import { format, nameOf } from './trace.mjs'

// Sums of ms in different orders.
const EPSILON = 1e-9

const ENDED = ['done', 'failed', 'cancelled']
const ENDINGS = ['finish', 'fail', 'cancel']

/** The possible states of a job before each type of record, and the state after it. */
const STEPS = {
  release: { from: ['new', 'pending'], to: 'ready' },
  start: { from: ['ready'], to: 'running' },
  resume: { from: ['ready'], to: 'running' },
  preempt: { from: ['running'], to: 'ready' },
  block: { from: ['running'], to: 'waiting' },
  wake: { from: ['waiting'], to: 'ready' },
  deplete: { from: ['running', 'ready'], to: 'depleted' },
  finish: { from: ['running'], to: 'ended' },
  fail: { from: ['running'], to: 'ended' },
  cancel: { from: ['new', 'pending', 'ready', 'running', 'waiting', 'depleted'], to: 'ended' }
}

/**
 * Watches a scheduler. On a clock that is coarse or takes time to read, only properties without exact times
 * count.
 *
 * @param {import('../../rt.mjs').Scheduler} scheduler
 * @param {ReturnType<import('./virtual-host.mjs').virtualHost>} host
 * @param {{ compare(a: any, b: any): number }} policy the policy of the scheduler
 * @param {{ blind?: boolean }} [options] `blind`: only counts, to test whether watching changes a schedule
 */
export function watch(scheduler, host, policy, { blind = false } = {}) {
  const exact = host.resolution === 0 && host.read === 0
  /** @type {any[]} */
  const records = []
  /** @type {string[]} */
  const violations = []
  /** @type {Map<any, string>} */
  const states = new Map()
  /** @type {Map<any, any>} the job that a waiting job waits for */
  const waitsFor = new Map()
  const released = new Set()
  const started = new Set()
  let alert = false
  /** Jobs that were woken, other than by a change of keys, while the running job ran. */
  const woken = new Set()
  /** @type {any} */
  let running = null
  // In ms of execution, because the time of the event loop belongs to no job.
  let runningSince = 0
  let keysSince = 0
  /** @type {Map<any, number>} */
  const readySince = new Map()
  let latest = host.time
  let executed = 0
  let executedThen = 0
  let paused = false

  /** @param {string} text */
  function note(text) {
    if (!blind) violations.push(`at ${host.time}: ${text}`)
  }

  /** @param {string} state */
  const inState = state => [...states].filter(([, value]) => value === state).map(([job]) => job)

  /** The best rank of a job and of all jobs that wait for it, transitively. @param {any} job */
  function standing(job, seen = new Set()) {
    seen.add(job)
    let best = job
    for (const [waiting, target] of waitsFor) {
      if (target !== job || seen.has(waiting)) continue
      const theirs = standing(waiting, seen)
      if (policy.compare(theirs, best) < 0) best = theirs
    }
    return best
  }

  /** @param {any} a @param {any} b */
  const compare = (a, b) => policy.compare(standing(a), standing(b))

  /** Notes jobs that are ready and strictly more eligible. @param {any} job @param {string} doing */
  function mostEligible(job, doing) {
    for (const other of inState('ready')) {
      if (other !== job && compare(other, job) < 0) {
        note(`${nameOf(job)} ${doing} while ${nameOf(other)} is ready and more eligible`)
      }
    }
  }

  // Time without an executing job is idle time. No job may have been ready then.
  /** @param {number} time */
  function noIdling(time) {
    const idle = time - latest - (executed - executedThen)
    if (exact && idle > host.turn + EPSILON && !paused) {
      const ready = inState('ready')
      if (ready.length) note(`idle for ${idle} ms while ${ready.map(nameOf).join(', ')} was ready`)
    }
    latest = time
    executedThen = executed
  }

  // The last budget of a round may exceed the round.
  /** @param {number} ms */
  function endRound(ms) {
    if (exact && ms > scheduler.round + scheduler.stats().longestBudget) note(`a round took ${ms} ms`)
  }

  const stop = blind ? () => {} : scheduler.observe(record => {
    const { type, time, job, on } = record
    records.push(record)
    if (type === 'round') endRound(time - record.start)
    if (exact && time !== host.time) note(`a record of ${type} carries the time ${time}`)
    if (time < (records[records.length - 2]?.time ?? -Infinity)) note(`${type} is recorded out of order`)
    noIdling(host.time)
    const step = /** @type {any} */ (STEPS)[type]
    if (!job || !step) return
    const before = states.get(job) ?? 'new'
    if (!step.from.includes(before)) note(`${type} of ${nameOf(job)}, which was ${before}`)
    states.set(job, step.to)
    if (step.to === 'running') {
      if (running) note(`${nameOf(job)} is dispatched besides ${nameOf(running)}`)
      if ((type === 'start') === started.has(job)) note(`${type} is not what ${nameOf(job)} does now`)
      started.add(job)
      if (job.release > host.time) note(`${nameOf(job)} is dispatched before its release at ${job.release}`)
      running = job
      runningSince = executed
      mostEligible(job, 'is dispatched')
    } else if (running === job) {
      running = null
    }
    if (step.to === 'ready') readySince.set(job, executed)
    if (type === 'release') released.add(job)
    if (step.to === 'ready' && type !== 'preempt' && scheduler.current) alert = true
    if (step.to === 'running') alert = false
    woken.delete(job)
    if (type === 'wake') woken.add(job)
    if (step.to === 'running') woken.clear()
    const isJob = typeof on === 'object' && on !== null && 'absoluteDeadline' in on
    if (type === 'block' && isJob) {
      waitsFor.set(job, on)
      keysSince = executed
    } else if (step.to !== 'waiting' && waitsFor.delete(job)) {
      keysSince = executed
    }
  })

  return {
    exact,
    records,
    violations,
    note,
    stop,

    get running() {
      return running
    },

    get runningSince() {
      return runningSince
    },

    /** The time at which the rank of any job last changed. */
    get keysSince() {
      return keysSince
    },

    keysChange() {
      keysSince = executed
      if (scheduler.current) alert = true
      woken.clear()
    },

    /** Whether the running job changed the ready jobs or their ranks since the last call. */
    takeAlert() {
      const was = alert
      alert = false
      return was
    },

    /** Jobs of equal rank to which the running job must switch at its next point. */
    get woken() {
      return [...woken]
    },

    /** @param {any} job */
    readySince: job => readySince.get(job) ?? 0,

    /** @param {number} ms execution time of the running job */
    executes(ms) {
      host.advance(ms)
      executed += ms
    },

    get executed() {
      return executed
    },

    /** @param {boolean} value */
    pauses(value) {
      noIdling(host.time)
      paused = value
    },

    mostEligible,
    compare,
    inState,

    /** Whether a wait for `target` would close a cycle. @param {any} job @param {any} target */
    closes(job, target) {
      for (let next = target; next; next = waitsFor.get(next)) if (next === job) return true
      return false
    },

    /** Checks all jobs ever spawned, at the end. @param {any[]} jobs */
    end(jobs) {
      noIdling(host.time)
      for (const job of jobs) {
        if (!ENDED.includes(job.state)) note(`${nameOf(job)} never ended: ${job.state}`)
        if (job.finished === undefined) note(`${nameOf(job)} has no finish time`)
        const ends = records.filter(record => record.job === job && ENDINGS.includes(record.type)).length
        if (ends !== 1) note(`${nameOf(job)} ended ${ends} times`)
        if (released.has(job) && job.lateness > 0 && !job.missed) {
          note(`${nameOf(job)} was ${job.lateness} ms late, and not missed`)
        }
      }
      const { jobs: count, busy, misses } = scheduler.stats()
      const charged = jobs.reduce((sum, job) => sum + job.cost, 0)
      const missed = jobs.filter(job => job.missed).length
      const recorded = records.filter(({ type }) => type === 'miss').length
      if (count !== jobs.length) note(`stats().jobs is ${count} after ${jobs.length} jobs`)
      // If a reading of the clock takes time, so do callbacks.
      if (charged - busy > EPSILON || exact && busy - charged > EPSILON) note(`jobs were charged ${charged} ms, stats().busy is ${busy}`)
      if (exact && Math.abs(busy - executed) > EPSILON) note(`stats().busy is ${busy} after ${executed} ms`)
      if (misses !== missed || misses !== recorded) {
        note(`stats().misses is ${misses}, ${missed} jobs missed, ${recorded} misses were recorded`)
      }
      if (host.posts) note(`${host.posts} posts are left`)
      if (host.timers.length) note(`${host.timers.length} timers are left`)
      if (host.maxPosts > (host.mostPosts ?? 1)) note(`${host.maxPosts} posts were outstanding at once`)
    },

    /** Throws an error with the violations and the trace, if there are violations. */
    assert() {
      if (!violations.length) return
      throw new Error(`${violations.slice(0, 5).join('\n')}\n\n${format(records)}`)
    }
  }
}
