/**
 * Performs the scenarios of the reservation oracle on a real scheduler, with a preemption point and a reading
 * of the clock every millisecond. Also makes random scenarios.
 */
import { sleep } from '../../alarms.mjs'
import { Scheduler, edf, fp, extend } from '../../rt.mjs'
import { isAdmitted } from './reservation-oracle.mjs'
import { utilizations } from './seeded.mjs'
import { virtualHost } from './virtual-host.mjs'

/** @typedef {import('./reservation-oracle.mjs').ReservationScenario} ReservationScenario */
/** @typedef {import('./reservation-oracle.mjs').Tick} Tick */

/**
 * @typedef {object} Run
 * @property {(Tick)[]} ticks the schedule in the form of the oracle
 * @property {Record<string, number>} finish
 * @property {Record<string, any>} reservations
 * @property {Scheduler} scheduler
 * @property {ReturnType<typeof virtualHost>} host
 * @property {Record<string, any>} jobs
 */

/**
 * @param {ReservationScenario} scenario a scenario with kinds of the addon only
 * @param {new (options: any) => any} Reservation
 * @param {{ isAhead?: boolean, observe?: (scheduler: Scheduler) => void, hostOf?: typeof virtualHost }}
 *   [options] `isAhead`: whether all jobs are spawned at the start, with their releases; otherwise each job
 *   is spawned at its release, by the event loop
 * @returns {Run}
 */
export function perform(scenario, Reservation, { isAhead = true, observe = () => {}, hostOf = virtualHost } = {}) {
  const { policy, slice = Infinity, until } = scenario
  const host = hostOf()
  const scheduler = new Scheduler({
    host, slice, policy: policy === 'edf' ? edf : fp, budget: 1, round: isAhead ? Infinity : 1
  })
  observe(scheduler)
  const reservations = Object.fromEntries(scenario.reservations.map(({ low, limit, ...given }) => {
    return [given.name, new Reservation({ scheduler, priority: 1 / given.period, ...given })]
  }))
  /** @type {Tick[]} */
  const ticks = Array(until).fill(null)
  /** @type {Record<string, number>} */
  const finish = {}
  /** @type {Record<string, any>} */
  const jobs = {}

  /** @param {import('./reservation-oracle.mjs').ScenarioJob} given */
  function start({ name, release, work, reservation: server, priority, deadline, grain = 1, pauses = [] }) {
    const reservation = server === undefined ? undefined : reservations[server]
    const job = jobs[name] = scheduler.spawn(function* () {
      for (let rest = work; rest > 0;) {
        const foreground = reservation === undefined || reservation.remaining > 0
        const ms = Math.min(grain, rest)
        for (let tick = 0; tick < ms && host.time + tick < until; tick++) {
          ticks[host.time + tick] = {
            job: name, server: server ?? null, foreground, deadline: deadlineOf(job, reservation)
          }
        }
        rest -= ms
        host.advance(ms)
        const pause = pauses.find(({ after }) => after === work - rest)
        if (rest > 0) yield pause && sleep(pause.ms)
      }
      if (host.time <= until) finish[name] = host.time
    }, { name, release, reservation, priority, deadline })
  }

  for (const job of scenario.jobs) {
    if (isAhead || job.release === 0) start(job)
    else host.after(job.release, () => start(job))
  }
  extend.at(scheduler, until, () => scheduler.pause())
  host.run({ until })
  return { ticks, finish, reservations, scheduler, host, jobs }
}

/** @param {any} job @param {any} reservation */
function deadlineOf(job, reservation) {
  if (reservation === undefined) return job.absoluteDeadline
  const { keys } = reservation[extend.protocol]
  return keys === 'background' ? job.absoluteDeadline : keys?.absoluteDeadline
}

// ----------------------------------------- the defects of the POSIX sporadic server (Stanovich et al. 2010)

/**
 * Premature replenishment. S has 4 of 10 ms and uses 3 ms at 0, which are due at 10. At 5 it wakes with 1 ms,
 * and H delays it until 11. The 3 ms arrive at 10. POSIX counts all 4 ms from 5, when the thread became
 * active, and returns them at 15. The 3 ms return 5 ms early: 11 ms within 19, whereas a periodic task has 8.
 *
 * @param {'sporadic' | 'posix'} kind
 * @returns {ReservationScenario}
 */
export const premature = kind => ({
  policy: 'fp',
  until: 30,
  reservations: [
    { name: 'H', kind: 'sporadic', capacity: 6, period: 100, priority: 2 },
    { name: 'S', kind, capacity: 4, period: 10, priority: 1, depleted: 'wait' }
  ],
  jobs: [
    { name: 'a', release: 0, work: 3, reservation: 'S' },
    { name: 'b', release: 5, work: 20, reservation: 'S' },
    { name: 'h', release: 5, work: 6, reservation: 'H' }
  ]
})

/**
 * Budget amplification. S has 4 of 20 ms, and uses them in pieces of 1 ms at 0, 4, 8 and 12. From 20 on it
 * always has work, with preemption points 3 ms apart. POSIX sets negative amounts to zero, but returns the
 * full use. Each piece of 1 ms becomes 3 ms, and S permanently has 12 of 20 ms.
 *
 * @param {'sporadic' | 'posix'} kind
 * @returns {ReservationScenario}
 */
export const amplified = kind => ({
  policy: 'fp',
  until: 80,
  reservations: [{ name: 'S', kind, capacity: 4, period: 20, depleted: 'wait' }],
  jobs: [
    ...[0, 4, 8, 12].map(release => ({ name: `a${release}`, release, work: 1, reservation: 'S' })),
    { name: 'b', release: 20, work: 99, grain: 3, reservation: 'S' }
  ]
})

/**
 * Unreliable temporal isolation. A depleted POSIX server continues at its low priority without a limit, so
 * that a job of lower priority waits forever. In the background, a server ranks after all jobs and delays
 * none.
 *
 * @param {{ kind: 'sporadic' | 'posix', low?: number, depleted?: 'background' | 'wait' }} more
 * @returns {ReservationScenario}
 */
export const victimized = more => ({
  policy: 'fp',
  until: 14,
  reservations: [{ name: 'S', capacity: 2, period: 10, priority: 9, ...more }],
  jobs: [
    { name: 'greedy', release: 0, work: 99, priority: 9, reservation: 'S' },
    { name: 'victim', release: 0, work: 4, priority: 3, deadline: 10 }
  ]
})

// ---------------------------------------------------------------------------------------------------- random

const KINDS = { fp: ['sporadic', 'sporadic', 'deferrable', 'polling'], edf: ['constant-bandwidth'] }

/**
 * A random scenario without ties: no two reservations or jobs have the same priority.
 *
 * @param {import('./seeded.mjs').Random} random
 * @param {object} [options]
 * @param {'fp' | 'edf'} [options.policy] default: any
 * @param {string[]} [options.kinds] default: those of the policy
 * @param {('background' | 'wait' | 'postpone')[]} [options.depleted] default: those of the policy
 * @param {boolean} [options.isAdmitted] whether every server is certain to receive its capacity in every
 *   period
 * @param {boolean} [options.hasOverruns] whether some jobs have preemption points several ms apart
 * @param {number} [options.until] default 150 ms
 * @returns {ReservationScenario}
 */
export function randomScenario(random, {
  policy = random.pick(['fp', 'edf']),
  kinds = KINDS[policy],
  depleted = policy === 'edf' ? ['background', 'wait', 'postpone'] : ['background', 'wait'],
  isAdmitted: admitted = random.chance(0.6),
  hasOverruns = false,
  until = 150
} = {}) {
  const reservations = reservationsOf(random, policy, kinds, depleted)
  while (admitted && !isAdmitted({ policy, reservations, jobs: [], until })) {
    const largest = reservations.reduce((a, b) => b.capacity / b.period > a.capacity / a.period ? b : a)
    if (largest.capacity === 1) reservations.splice(reservations.indexOf(largest), 1)
    else largest.capacity--
  }
  const jobs = reservations.flatMap(({ name, capacity, period }) => {
    return requests(random, name, capacity, period, until)
  })
  for (let n = random.integer(0, 3); n > 0; n--) jobs.push(...requests(random, undefined, 3, 20, until))
  // The choice of a job within a reservation must not matter. All have as many points, and only a single job
  // pauses.
  const grains = Object.fromEntries(reservations.map(({ name }) => [name, random.integer(1, 5)]))
  const isAlone = (/** @type {{ reservation?: string }} */ { reservation }) => {
    return jobs.filter(job => job.reservation === reservation).length === 1
  }
  const priorities = random.shuffle(jobs.map((_, index) => index))
  return {
    policy,
    until,
    reservations,
    jobs: jobs.map((job, index) => ({
      ...job,
      name: `${job.reservation ?? 'job'} ${index}`,
      priority: priorities[index],
      // Under edf a deadline is a claim, and deadlines of jobs without a reservation are not admitted.
      deadline: admitted && policy === 'edf' && job.reservation === undefined || random.chance(0.3)
        ? Infinity : random.integer(1, 40),
      ...budgeted(job.work, hasOverruns ? grains[job.reservation ?? ''] ?? random.integer(1, 5) : 1,
        job.reservation === undefined || isAlone(job) ? random : null)
    }))
  }
}

/**
 * @param {import('./seeded.mjs').Random} random @param {'fp' | 'edf'} policy @param {string[]} kinds
 * @param {string[]} depleted
 */
function reservationsOf(random, policy, kinds, depleted) {
  const count = random.integer(1, 4)
  const periods = Array.from({ length: count }, () => random.integer(2, 25)).sort((a, b) => a - b)
  // Mostly rate monotonic, and above the priorities of the jobs.
  const byRate = periods.map((_, index) => index)
  const order = random.chance(0.8) ? byRate : random.shuffle(byRate)
  return utilizations(random, count, random.real(0.3, 1.2)).map((utilization, index) => {
    const period = periods[index]
    return /** @type {import('./reservation-oracle.mjs').ReservedCapacity} */ ({
      name: 'ABCD'[index],
      kind: random.pick(kinds),
      capacity: Math.min(period, Math.max(1, Math.round(utilization * period))),
      period,
      priority: 1000 - order[index],
      depleted: random.pick(depleted)
    })
  })
}

/**
 * Work in budgets of a length, with pauses between some of them.
 *
 * @param {number} work @param {number} grain
 * @param {import('./seeded.mjs').Random | null} random null for no pauses
 */
function budgeted(work, grain, random) {
  const budgets = Math.ceil(work / grain)
  const count = random !== null && budgets > 1 ? random.pick([0, 1, 3, 10]) : 0
  /** @type {Map<number, number>} */
  const pauses = new Map()
  for (let n = 0; n < count && random !== null; n++) {
    pauses.set(random.integer(1, Math.min(budgets - 1, 40)) * grain, random.integer(1, 12))
  }
  return { work: budgets * grain, grain, pauses: [...pauses].map(([after, ms]) => ({ after, ms })) }
}

/**
 * Releases of jobs: one endless job, periodic jobs, or bursts.
 *
 * @param {import('./seeded.mjs').Random} random @param {string | undefined} reservation
 * @param {number} capacity @param {number} period @param {number} until
 */
function requests(random, reservation, capacity, period, until) {
  const manner = random.pick(['hog', 'periodic', 'bursts', 'bursts'])
  if (manner === 'hog') return [{ reservation, release: random.integer(0, period), work: until }]
  if (manner === 'periodic') {
    const work = random.integer(1, capacity)
    const phase = random.integer(0, period)
    const count = Math.ceil((until - phase) / period)
    return Array.from({ length: count }, (_, n) => ({ reservation, release: phase + n * period, work }))
  }
  return Array.from({ length: random.integer(1, 12) }, () => {
    return { reservation, release: random.integer(0, until - 1), work: random.integer(1, 2 * capacity) }
  })
}
