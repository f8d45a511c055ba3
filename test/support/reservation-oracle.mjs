/**
 * Reservations as in the literature, on one CPU without overhead, in integer milliseconds. A scheduler is
 * compared with this oracle. The module also checks properties that must hold for every schedule.
 *
 * Servers: sporadic (Sprunt, Sha, Lehoczky 1989, with the corrections of Stanovich, Baker, Wang, Gonzalez
 * Harbour, RTAS 2010), deferrable and polling (Lehoczky, Sha, Strosnider 1987), constant-bandwidth (Abeni,
 * Buttazzo 1998; `wait` and `background` recharge at the deadline, `postpone` recharges immediately). The
 * sporadic server of POSIX is included as a wrong server.
 *
 * At each instant, the events occur in this order. The job that has reached a preemption point is charged. If
 * the job ends, the work of its server may end as well. Servers are replenished. Jobs are released. The most
 * eligible job runs. A job that is released at the start of a period is present when the period starts.
 */

/**
 * @typedef {object} ReservationScenario
 * @property {'fp' | 'edf'} policy
 * @property {ReservedCapacity[]} reservations
 * @property {ScenarioJob[]} jobs
 * @property {number} until the simulated time, ms
 * @property {number} [slice] ms before jobs of equal rank rotate; default Infinity
 */
/**
 * @typedef {object} ReservedCapacity
 * @property {string} name
 * @property {'sporadic' | 'deferrable' | 'polling' | 'constant-bandwidth' | 'posix'} kind
 * @property {number} capacity
 * @property {number} period
 * @property {number} [priority] larger is more important; default rate monotonic
 * @property {'background' | 'wait' | 'postpone'} [depleted] default 'background'
 * @property {number} [limit] the maximum number of pending replenishments of a sporadic server; default
 *   Infinity
 * @property {number} [low] the priority of a depleted POSIX server, among the priorities of all jobs
 */
/**
 * @typedef {object} ScenarioJob
 * @property {string} name
 * @property {number} release
 * @property {number} work ms
 * @property {string} [reservation]
 * @property {number} [priority] default 0
 * @property {number} [deadline] relative; default Infinity
 * @property {number} [grain] ms from one preemption point to the next; default 1
 * @property {{ after: number, ms: number }[]} [pauses] the job waits for `ms` after `after` ms of work
 */
/**
 * The job that ran for a millisecond; null if no job ran.
 *
 * @typedef {{ job: string, server: string | null, foreground: boolean, deadline: number } | null} Tick
 */

/** @typedef {{ band: number, deadline: number, priority: number }} Rank larger bands first */

// Infinity - Infinity is NaN.
const ascending = (/** @type {number} */ a, /** @type {number} */ b) => (a < b ? -1 : a > b ? 1 : 0)

// ----------------------------------------------------------------------------------------------- the servers

/** Number of periods after which a sporadic server does not make up for unused time. */
const STOPPED = 4

/**
 * A sporadic server is a set of periodic tasks, one for each replenishment. An amount that was due at `time`
 * and was used up is due again one period after `time`, even if the use was later. A server that had no work
 * starts again now.
 *
 * @param {ReservedCapacity} parameters
 */
function sporadic({ capacity, period, limit = Infinity }) {
  /** The refills, ordered by time; the amounts always sum to the capacity. */
  const refills = [{ time: -Infinity, amount: capacity }]
  /** The used part of the first refill, which is split only when the work ends. */
  let used = 0
  let now = -Infinity

  /** @param {number} time @param {number} amount */
  function expect(time, amount) {
    const last = refills[refills.length - 1]
    // An amount that is due when the previous refill is used up can be part of that refill.
    if (last !== undefined && last.time + last.amount >= time) last.amount += amount
    else refills.push({ time, amount })
  }

  function begin() {
    const [head] = refills
    if (head.time > now) return
    head.time = now
    while (refills.length > 1 && refills[1].time <= now + head.amount) {
      head.amount += refills.splice(1, 1)[0].amount
    }
  }

  /**
   * Splits the first refill: the used part is due one period after the refill, without regard to the rest.
   */
  function split() {
    if (used === 0) return
    const [head] = refills
    const time = head.time + period
    const amount = used
    used = 0
    if (refills.length < limit) {
      head.amount -= amount
      head.time += amount
      return expect(time, amount)
    }
    // There is no room for another refill: the rest returns later than necessary.
    if (refills.length === 1) return void (head.time = time)
    refills.shift()
    refills[0].amount += head.amount - amount
    expect(time, amount)
  }

  return {
    deadline: Infinity,
    get remaining() {
      return refills.reduce((sum, { time, amount }) => sum + (time <= now ? amount : 0), -used)
    },
    refills: () => refills.map(({ time, amount }) => ({ time, amount })),
    /** @param {number} time */
    advance(time) { now = time },
    wake: begin,
    rest: split,
    /** @param {number} ms @param {number} time */
    charge(ms, time) {
      now = time
      // A server that had work and capacity for so long without a use counts as suspended, as in the addon.
      if (used === 0 && refills[0].time + STOPPED * period <= now - ms) refills[0].time = now - ms
      used += ms
      // An overrun uses up amounts that are not due yet.
      while (used >= refills[0].amount) {
        const [{ time, amount }] = refills.splice(0, 1)
        used -= amount
        expect(time + period, amount)
      }
      if (refills[0].time + used > now) split()
    }
  }
}

/**
 * The capacity returns at every multiple of the period, and is kept.
 *
 * @param {ReservedCapacity} parameters
 */
function deferrable({ capacity, period }) {
  let remaining = capacity
  let next = period
  return {
    deadline: Infinity,
    get remaining() { return remaining },
    refills: () => [],
    /** @param {number} time */
    advance(time) {
      for (; next <= time; next += period) remaining = capacity + Math.min(0, remaining)
    },
    wake() {},
    rest() {},
    /** @param {number} ms */
    charge(ms) { remaining -= ms }
  }
}

/**
 * The capacity returns at every multiple of the period if the server has work, and is lost when the work
 * ends.
 *
 * @param {ReservedCapacity} parameters
 */
function polling(parameters) {
  const { capacity, period } = parameters
  let remaining = capacity
  let next = period
  return {
    ...deferrable(parameters),
    get remaining() { return remaining },
    /** @param {number} time */
    advance(time) {
      for (; next <= time; next += period) remaining = capacity + Math.min(0, remaining)
    },
    rest() { remaining = Math.min(0, remaining) },
    /** @param {number} ms */
    charge(ms) { remaining -= ms }
  }
}

/**
 * The capacity belongs to a deadline. The demand never exceeds the bandwidth, capacity / period.
 *
 * @param {ReservedCapacity} parameters
 */
function constantBandwidth({ capacity, period, depleted }) {
  let remaining = 0
  let deadline = -Infinity
  let now = -Infinity

  function recharge() {
    remaining += capacity
    deadline += period
  }

  return {
    get remaining() { return remaining },
    get deadline() { return deadline },
    refills: () => [],
    /** @param {number} time */
    advance(time) {
      now = time
      if (depleted === 'postpone' || deadline === -Infinity) return
      while (remaining <= 0 && deadline <= now) {
        recharge()
        // A server that is late by a whole period starts again, as in Linux (sched/deadline.c).
        if (remaining > 0 && deadline <= now) deadline = now + period
      }
    },
    wake() {
      // remaining >= (deadline - now) * capacity / period, without a division
      if (remaining * period < (deadline - now) * capacity) return
      remaining = capacity
      deadline = now + period
    },
    rest() {},
    /** @param {number} ms */
    charge(ms) {
      remaining -= ms
      while (depleted === 'postpone' && remaining <= 0) recharge()
    }
  }
}

/**
 * SCHED_SPORADIC of POSIX, with its defects. Used time is counted from the activation of the thread, and
 * returns one period after it, even the part that arrived only later. An overrun is forgiven, and returns as
 * well.
 *
 * @param {ReservedCapacity} parameters
 */
function posix({ capacity, period }) {
  let remaining = capacity
  let used = 0
  let activation = 0
  let now = 0
  /** @type {{ time: number, amount: number }[]} */
  let pending = []

  function schedule() {
    if (used > 0) pending.push({ time: activation + period, amount: used })
    used = 0
  }

  return {
    deadline: Infinity,
    get remaining() { return remaining },
    refills: () => pending,
    /** @param {number} time */
    advance(time) {
      now = time
      for (const { amount } of pending.filter(refill => refill.time <= now)) {
        if (remaining === 0) activation = now
        remaining = Math.min(capacity, remaining + amount)
      }
      pending = pending.filter(refill => refill.time > now)
    },
    wake() { activation = now },
    rest: schedule,
    /** @param {number} ms */
    charge(ms) {
      used += ms
      remaining = Math.max(0, remaining - ms)
      if (remaining === 0) schedule()
    }
  }
}

const KINDS = { sporadic, deferrable, polling, 'constant-bandwidth': constantBandwidth, posix }

// -------------------------------------------------------------------------------------------- the simulation

/**
 * @param {ReservationScenario} scenario
 * @returns {{ ticks: Tick[], finish: Record<string, number>, depletions: Record<string, number[]>,
 *   replenishments: Record<string, number[]>, refills: Record<string, { time: number, amount: number }[]> }}
 *   `finish`: the finish of each job that ends in time. `depletions`: when each server was depleted, or
 *   recharged early. `replenishments`: when each server was replenished. `refills`: the available and the
 *   pending refills of sporadic servers at the end
 */
export function simulate({ policy, reservations, jobs, until, slice = Infinity }) {
  const servers = reservations.map(parameters => ({
    ...parameters,
    priority: parameters.priority ?? 1 / parameters.period,
    depleted: parameters.depleted ?? 'background',
    server: KINDS[parameters.kind](parameters),
    hasWork: false,
    depletions: /** @type {number[]} */ ([]),
    replenishments: /** @type {number[]} */ ([])
  }))
  const all = jobs.map((job, index) => ({
    deadline: Infinity,
    priority: 0,
    grain: 1,
    ...job,
    index,
    rest: job.work,
    /** The time of the release or of the wake-up. */
    arrival: job.release,
    by: servers.find(({ name }) => name === job.reservation),
    isHere: false,
    isReady: false,
    /** Time in the present budget, time in the present slice, and the order among jobs of equal rank. */
    ran: 0,
    turn: 0,
    stamp: 0
  }))
  for (const { reservation, by } of all) {
    if (reservation && !by) throw new RangeError(`no reservation ${reservation}`)
  }

  /** @param {typeof all[0]} job @returns {Rank} */
  const ownRank = ({ release, deadline, priority }) =>
    ({ band: 0, deadline: policy === 'edf' ? release + deadline : 0, priority })

  /** @param {typeof all[0]} job @returns {Rank | null} null while the job may not run */
  function rankOf(job) {
    const { by } = job
    const own = ownRank(job)
    if (by === undefined) return own
    if (by.server.remaining > 0) {
      if (policy === 'edf') return { band: 0, deadline: by.server.deadline, priority: by.priority }
      return { band: by.kind === 'posix' ? 0 : 1, deadline: 0, priority: by.priority }
    }
    if (by.low !== undefined) return { band: 0, deadline: 0, priority: by.low }
    return by.depleted === 'background' ? { ...own, band: -1 } : null
  }

  const pauseOf = (/** @type {typeof all[0]} */ { pauses = [], work, rest }) => {
    return pauses.find(({ after }) => after === work - rest)
  }

  const compareRanks = (/** @type {Rank} */ a, /** @type {Rank} */ b) =>
    b.band - a.band || ascending(a.deadline, b.deadline) || b.priority - a.priority

  const inTurn = (/** @type {typeof all[0]} */ a, /** @type {typeof all[0]} */ b) =>
    a.stamp - b.stamp || a.release - b.release || a.index - b.index

  /** @type {Tick[]} */
  const ticks = []
  /** @type {Record<string, number>} */
  const finish = {}
  let rotation = 0
  /** @type {typeof all[0] | null} */
  let running = null
  /** Whether the reservation pays for the present budget. */
  let isPaid = false

  for (let now = 0; ; now++) {
    const isAtPoint = running === null || running.rest === 0 || running.ran === running.grain
    if (isAtPoint) {
      const paying = running !== null && isPaid ? running.by : undefined
      if (running !== null) {
        if (paying !== undefined) {
          const left = paying.server.remaining - running.ran
          paying.server.charge(running.ran, now)
          if (paying.server.remaining <= 0 || paying.depleted === 'postpone' && left <= 0) {
            paying.depletions.push(now)
          }
        }
        running.turn += running.ran
        running.ran = 0
        if (running.rest === 0) {
          finish[running.name] = now
          running.isReady = false
          running = null
        } else if (pauseOf(running) !== undefined) {
          running.arrival = now + /** @type {{ ms: number }} */ (pauseOf(running)).ms
          running.isHere = running.isReady = false
          running = null
        }
      }
      for (const by of servers) {
        const hasWork = all.some(job => job.by === by && job.rest > 0 && job.isHere)
        if (by.hasWork && !hasWork) by.server.rest()
        by.hasWork = hasWork
      }
      for (const by of servers) {
        const { remaining } = by.server
        by.server.advance(now)
        if (by.server.remaining > remaining) by.replenishments.push(now)
      }
      const arrived = all.filter(job => !job.isHere && job.arrival <= now)
      for (const job of arrived) job.isHere = true
      for (const by of servers) {
        const hasWork = all.some(job => job.by === by && job.rest > 0 && job.isHere)
        if (hasWork && !by.hasWork) by.server.wake()
        if (!hasWork) by.server.rest()
        by.hasWork = hasWork
      }
      for (const job of all) {
        const isReady = job.rest > 0 && job.isHere && rankOf(job) !== null
        if (isReady && !job.isReady) {
          if (arrived.includes(job)) job.stamp = rotation
          job.turn = 0
          const rank = running && rankOf(running)
          const isWoken = !arrived.includes(job) || job.arrival > job.release
          const isEqual = running && rank && compareRanks(/** @type {Rank} */ (rankOf(job)), rank) === 0 &&
            (job.by === undefined || job.by !== running.by || compareRanks(ownRank(job), ownRank(running)) === 0)
          if (isWoken && running && isEqual) {
            running.stamp = ++rotation
            running.turn = 0
          }
        }
        job.isReady = isReady
      }
      if (running !== null && running.turn >= slice) {
        running.stamp = ++rotation
        running.turn = 0
      }
      // Each server proposes the job that ranks first without the server. The most eligible of these runs.
      const first = all.filter(job => job.isReady && !all.some(other => other.isReady && other !== job &&
        other.by !== undefined && other.by === job.by &&
        (compareRanks(ownRank(other), ownRank(job)) || inTurn(other, job)) < 0))
      running = null
      for (const job of first) {
        const order = running === null ? -1 : compareRanks(
          /** @type {Rank} */ (rankOf(job)), /** @type {Rank} */ (rankOf(running))) || inTurn(job, running)
        if (order < 0) running = job
      }
      isPaid = running?.by !== undefined && running.by.server.remaining > 0
    }
    if (now >= until) break
    if (running === null) {
      ticks.push(null)
      continue
    }
    const { name, by } = running
    ticks.push({
      job: name,
      server: by === undefined ? null : by.name,
      foreground: by === undefined || isPaid,
      deadline: by === undefined ? running.release + running.deadline : by.server.deadline
    })
    running.rest--
    running.ran++
  }
  const named = (/** @type {(by: typeof servers[0]) => any} */ fn) =>
    Object.fromEntries(servers.map(by => [by.name, fn(by)]))
  return {
    ticks,
    finish,
    depletions: named(by => by.depletions),
    replenishments: named(by => by.replenishments),
    refills: named(by => by.server.refills())
  }
}

/**
 * A schedule in one line: the intervals of each reservation or job. `*` marks the execution of a depleted
 * reservation after all others. `byJob` distinguishes the jobs of one reservation.
 *
 * @param {readonly Tick[]} ticks
 * @param {{ byJob?: boolean }} [options]
 */
export function timetable(ticks, { byJob = false } = {}) {
  const names = ticks.map(tick => {
    if (tick === null) return ''
    return (byJob || tick.server === null ? tick.job : tick.server) + (tick.foreground ? '' : '*')
  })
  const parts = []
  for (let start = 0, end = 0; start < names.length; start = end) {
    while (end < names.length && names[end] === names[start]) end++
    if (names[start] !== '') parts.push(`${start}-${end} ${names[start]}`)
  }
  return parts.join(', ')
}

// ------------------------------------------------------------------------- properties of every schedule

/** A violation of isolation in a schedule. */
export class IsolationError extends Error {
  name = 'IsolationError'
}

/** @param {ReservedCapacity} reservation */
const priorityOf = ({ priority, period }) => priority ?? 1 / period

/**
 * The jitter of a periodic task that interferes as much as this server. A deferrable server can keep its
 * capacity to the end of a period (Strosnider, Lehoczky, Sha 1995). The other servers act like periodic tasks
 * without jitter (Sprunt et al. 1989; Stanovich et al. 2010).
 *
 * @param {ReservedCapacity} reservation
 */
export const jitterOf = ({ kind, capacity, period }) => kind === 'deferrable' ? period - capacity : 0

/**
 * The maximum execution time that a periodic task with this jitter receives in an interval of `ms`. At the
 * start of the interval, neither the task nor a more eligible one has pending work.
 *
 * @param {number} capacity @param {number} period @param {number} ms @param {number} jitter
 */
export function mostService(capacity, period, ms, jitter = 0) {
  const span = ms + jitter
  return Math.min(ms, Math.floor(span / period) * capacity + Math.min(capacity, span % period))
}

/**
 * Worst-case response times of servers under fixed priorities, as of periodic tasks with jitter (Audsley et
 * al. 1993). The time is Infinity if a server may not receive its capacity within its period.
 *
 * @param {readonly ReservedCapacity[]} reservations the reservations, with different priorities
 */
export function responsesOf(reservations) {
  return reservations.map(reservation => {
    const { capacity, period } = reservation
    const higher = reservations.filter(other => priorityOf(other) > priorityOf(reservation))
    let response = capacity
    for (;;) {
      const demand = higher.reduce((sum, other) => {
        return sum + Math.ceil((response + jitterOf(other)) / other.period) * other.capacity
      }, capacity)
      if (demand > period) return Infinity
      if (demand === response) return response
      response = demand
    }
  })
}

/**
 * Whether every server receives its capacity in every period for certain.
 *
 * @param {ReservationScenario} scenario
 */
export function isAdmitted({ policy, reservations }) {
  if (policy === 'fp') return responsesOf(reservations).every(response => response < Infinity)
  // Integers are summed, because a sum of quotients is not exactly 1.
  const common = reservations.reduce((product, { period }) => product * period, 1)
  return reservations.reduce((sum, { capacity, period }) => sum + capacity * (common / period), 0) <= common
}

/**
 * The maximal intervals in which each reservation has work.
 *
 * @param {ReservationScenario} scenario @param {readonly Tick[]} ticks
 * @returns {Map<string, { from: number, to: number }[]>}
 */
function backlogs({ jobs, reservations }, ticks) {
  /** @type {Map<string, { from: number, to: number }[]>} */
  const byServer = new Map(reservations.map(({ name }) => [name, []]))
  for (const { name, reservation, release, work, pauses = [] } of jobs) {
    if (reservation === undefined) continue
    const spans = /** @type {{ from: number, to: number }[]} */ (byServer.get(reservation))
    let from = release
    let done = 0
    for (let now = release; now < ticks.length && done < work; now++) {
      if (ticks[now]?.job === name) done++
      else continue
      const pause = pauses.find(({ after }) => after === done)
      if (done < work && pause === undefined) continue
      spans.push({ from, to: now + 1 })
      from = now + 1 + (pause?.ms ?? 0)
    }
    if (done < work && from < ticks.length) spans.push({ from, to: ticks.length })
  }
  for (const [name, spans] of byServer) byServer.set(name, joined(spans))
  return byServer
}

/** @param {{ from: number, to: number }[]} spans */
function joined(spans) {
  /** @type {{ from: number, to: number }[]} */
  const all = []
  for (const span of spans.sort((a, b) => a.from - b.from)) {
    const last = all[all.length - 1]
    if (last !== undefined && span.from < last.to) last.to = Math.max(last.to, span.to)
    else all.push({ ...span })
  }
  return all
}

/** Running totals of a server's foreground service. @param {readonly Tick[]} ticks @param {string} name */
function serviceOf(ticks, name) {
  const totals = [0]
  for (const tick of ticks) {
    const isServed = tick !== null && tick.server === name && tick.foreground
    totals.push(totals[totals.length - 1] + (isServed ? 1 : 0))
  }
  return totals
}

/**
 * Asserts that no server interferes with others more than a periodic task (capacity, period) would.
 *
 * Under fixed priorities, take any time at which neither the server nor a more eligible one has work. From
 * then on, its service is bounded by `mostService`. For servers with fixed periods, the service of each
 * period stays within the period. Under edf, take the deadlines within an interval. The service for these
 * deadlines that was not available before the interval is at most the server's share of the interval (Abeni,
 * Buttazzo 1998, theorem 1). Jobs with fewer preemption points can exceed the bound by one last budget in
 * total, and delay others until their next point.
 *
 * @param {ReservationScenario} scenario
 * @param {readonly Tick[]} ticks
 * @throws {IsolationError}
 */
export function assertBounded(scenario, ticks) {
  const backlog = backlogs(scenario, ticks)
  for (const reservation of scenario.reservations) {
    const overrun = scenario.jobs.reduce((most, { reservation: name, grain = 1 }) => {
      return name === reservation.name ? Math.max(most, grain - 1) : most
    }, 0)
    // A job between two points delays more eligible jobs, like jitter.
    const blocking = Math.max(0, ...scenario.jobs.map(({ grain = 1 }) => grain - 1))
    if (scenario.policy === 'edf') {
      assertDemand(reservation, ticks, overrun)
    } else {
      const jitter = blocking + jitterOf(reservation)
      assertSupplyBound(scenario, reservation, ticks, { overrun, jitter })
    }
    if (reservation.kind === 'deferrable' || reservation.kind === 'polling') {
      assertAligned(reservation, ticks, overrun)
    }
    // Polls also wait for the next point.
    if (reservation.kind === 'polling' && blocking === 0) {
      assertPolled(reservation, ticks, backlog.get(reservation.name) ?? [])
    }
  }
}

/**
 * @param {ReservationScenario} scenario @param {ReservedCapacity} reservation @param {readonly Tick[]} ticks
 * @param {{ overrun: number, jitter: number }} tolerance
 */
function assertSupplyBound({ reservations }, reservation, ticks, { overrun, jitter }) {
  const { name, capacity, period } = reservation
  const atLeast = new Set(reservations.filter(other => priorityOf(other) >= priorityOf(reservation))
    .map(other => other.name))
  const totals = serviceOf(ticks, name)
  const isQuiet = (/** @type {Tick | undefined} */ tick) =>
    !tick || tick.server === null || !tick.foreground || !atLeast.has(tick.server)
  for (let from = 0; from < ticks.length; from++) {
    if (!isQuiet(ticks[from - 1]) || isQuiet(ticks[from])) continue
    for (let to = from + 1; to <= ticks.length; to++) {
      const got = totals[to] - totals[from]
      const most = mostService(capacity, period, to - from, jitter) + overrun
      if (got > most) {
        throw new IsolationError(
          `${name} (${capacity} in ${period}) ran ${got} ms from ${from} to ${to}, not ${most}`)
      }
    }
  }
}

/** @param {ReservedCapacity} reservation @param {readonly Tick[]} ticks @param {number} overrun */
function assertAligned({ name, capacity, period }, ticks, overrun) {
  const totals = serviceOf(ticks, name)
  for (let from = 0; from < ticks.length; from += period) {
    const to = Math.min(from + period, ticks.length)
    const got = totals[to] - totals[from]
    // An overrun of the previous period counts here too, in addition to the overrun of this period.
    if (got <= capacity + 2 * overrun) continue
    throw new IsolationError(`${name} ran ${got} ms in its period ${from}..${to}, not ${capacity}`)
  }
}

/**
 * @param {ReservedCapacity} reservation @param {readonly Tick[]} ticks
 * @param {readonly { from: number, to: number }[]} spans
 */
function assertPolled({ name, period }, ticks, spans) {
  ticks.forEach((tick, now) => {
    if (tick === null || tick.server !== name || !tick.foreground) return
    const poll = now - now % period
    if (spans.some(({ from, to }) => from <= poll && now < to)) return
    throw new IsolationError(`${name} ran at ${now}, but was not busy all the time since ${poll}`)
  })
}

/** @param {ReservedCapacity} reservation @param {readonly Tick[]} ticks @param {number} overrun */
function assertDemand({ name, capacity, period }, ticks, overrun) {
  // The entries are the deadlines, each with the start of its availability and the service for it. The
  // availability starts one period before the deadline, or at the first service if that is earlier.
  /** @type {{ from: number, deadline: number, served: number }[]} */
  const parts = []
  ticks.forEach((tick, now) => {
    if (tick === null || tick.server !== name || !tick.foreground) return
    const last = parts[parts.length - 1]
    if (last !== undefined && last.deadline === tick.deadline) last.served++
    else {
      const from = Math.max(tick.deadline - period, last === undefined ? 0 : last.deadline - period)
      parts.push({ from: Math.min(now, from), deadline: tick.deadline, served: 1 })
    }
  })
  for (let first = 0; first < parts.length; first++) {
    let served = 0
    for (let last = first; last < parts.length; last++) {
      served += parts[last].served
      const span = parts[last].deadline - parts[first].from
      if ((served - overrun) * period > span * capacity) {
        throw new IsolationError(`${name} (${capacity} in ${period}) ran ${served} ms of the deadlines up ` +
          `to ${parts[last].deadline} since ${parts[first].from}, more than ${span * capacity / period}`)
      }
    }
  }
}

/**
 * Asserts that every server of an admitted set receives its capacity in every period in which it always has
 * work. The periods of a sporadic server start with its replenishments: it receives its capacity in all
 * periods but one, and in all periods from a time with full capacity. A constant-bandwidth server that
 * postpones receives some capacity early, and less later, but the same total. The scenario must have a
 * preemption point every millisecond. Under edf, jobs without a reservation must have no deadline.
 *
 * @param {ReservationScenario} scenario an admitted scenario
 * @param {readonly Tick[]} ticks
 * @throws {IsolationError}
 */
export function assertSupplied(scenario, ticks) {
  const backlog = backlogs(scenario, ticks)
  for (const { name, kind, capacity, period, depleted } of scenario.reservations) {
    const totals = serviceOf(ticks, name)
    const receives = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ least) => {
      const got = totals[to] - totals[from]
      if (got >= least) return
      throw new IsolationError(`${name} (${capacity} in ${period}) had work from ${from} to ${to} and ran ` +
        `${got} ms, not ${least}`)
    }
    for (const { from, to } of backlog.get(name) ?? []) {
      if (kind === 'deferrable' || kind === 'polling') {
        for (let at = Math.ceil(from / period) * period; at + period <= to; at += period) {
          receives(at, at + period, capacity)
        }
        continue
      }
      // All capacity has returned if none was used for a period.
      const isFull = totals[from] - totals[Math.max(0, from - period)] === 0 && kind === 'sporadic' ||
        totals[from] === 0
      for (let periods = 1; isFull && from + periods * period <= to; periods++) {
        receives(from, from + periods * period, periods * capacity)
      }
      if (depleted === 'postpone') continue
      for (let at = from; isFull && at + period <= to; at += period) receives(at, at + period, capacity)
      for (let at = from; at < to; at++) {
        receives(at, to, Math.max(0, Math.floor((to - at) / period) - 1) * capacity)
      }
    }
  }
}
