/**
 * addons/schedulable.mjs: tests whether a set of tasks will meet its deadlines, before any of them runs.
 *
 * Reservations and workers use the same tests for admission, so the error of a failed admission is defined
 * here.
 *
 * @module schedulable
 */

import { edf, fp, extend } from '../rt.mjs'
/** @import { Policy } from '../rt.mjs' */

const {
  duration, finite, interval, knownOptions, notNegative, outOfRange, policy: policyOf, positive, record,
  unchecked, wrongType
} = extend.check

/**
 * The parameters of a task that `schedulable` needs. A Task has them; a plain object works too. Times are in
 * ms.
 *
 * @typedef {object} TaskParameters
 * @property {number} wcet worst-case execution time, >= 0
 * @property {number} period the minimum time between two releases, > 0
 * @property {number} [deadline] time after the release, > 0. If it is missing or Infinity, the period
 *   applies, as for `periodic`
 * @property {number} [priority] default 0; under rm the rate
 * @property {number} [phase] the time of the first release; default 0
 * @property {readonly unknown[]} [uses] the resources that the task declares: Resources of sync.mjs, or any
 *   objects in their place. A resource without a section counts as held from the start of a job to its end.
 * @property {readonly CriticalSection[]} [sections] how long the task holds the resources
 */
/**
 * @typedef {object} CriticalSection
 * @property {any} [resource] if it is missing, the section is non-preemptive
 * @property {number} wcet the worst-case execution time of the section, ms; at most the wcet of the task
 */
/**
 * @typedef {object} Schedulability
 * @property {boolean} schedulable whether every job is certain to meet its deadline
 * @property {boolean} exact whether the test is also necessary; if not, it may reject sets that meet all
 *   deadlines
 * @property {number} utilization the sum of wcet / period
 * @property {number[]} [response] the longest time from the release of each task to its finish, under fixed
 *   priorities only; Infinity if it has no limit
 * @property {TaskParameters | null} failed the most important task that may miss its deadline. Under edf: the
 *   task at whose deadline the demand exceeds the available time. null if no task fails, or if the failure
 *   has no single task
 */

/** Relative difference below which two times count as equal, because sums of 0.1 are not exact. */
const TOLERANCE = 2 ** -36
const LESS = 1 - TOLERANCE
const MORE = 1 + TOLERANCE
/**
 * Maximum number of summands before `schedulable` gives up; few sets need it.
 *
 * @param {number} count the number of tasks
 */
const mostTerms = count => 2e7 + 8 * count ** 2
/** Cost of each sum in addition to its summands. */
const SUM = 10

/**
 * Tests whether all jobs of a set of tasks will meet their deadlines, before any of them runs.
 *
 * edf: in each interval, the processor demand must not exceed the length of the interval (Baruah, Rosier,
 * Howell 1990). Deadlines can have any length. The test uses QPA (Zhang, Burns 2009), and rejects a
 * utilization above 1.
 *
 * Fixed priorities: no response time may exceed its deadline (Joseph, Pandya 1986; Audsley et al. 1993). If a
 * deadline exceeds the period, this holds for each response in a busy period (Lehoczky 1990), if jobs of a
 * task run one after the other. With sections, a job is blocked at most once: by the longest section of a
 * less urgent task whose ceiling reaches the level of the job (Baker 1991).
 *
 * A positive result is always certain. A negative result is certain (`exact`) for independent tasks that are
 * released together, or at arbitrary times at least one period apart. It is not certain if sections block or
 * phases differ. Under fixed priorities, it is also not certain if tasks of equal priority have different
 * deadlines: their jobs rotate, so the test counts each as delayed by the others. A utilization above 1
 * always makes a negative result certain.
 *
 * The test does not know the time that the page itself takes. It also does not know the time between two
 * preemption points; if that time matters, declare it as a section without a resource. For a reservation,
 * pass a task with its capacity as wcet and its period.
 *
 * @param {readonly TaskParameters[]} tasks
 * @param {{ policy?: Policy }} [options] `edf` (default), `fp`, `rm`, or a policy with the same `compare`
 *   function, for example deadline monotonic: `{ ...fp, priority: task => -task.deadline }`
 * @returns {Schedulability}
 * @throws {TypeError | RangeError} if a parameter has the wrong type or is out of range
 *
 * @example
 * const tasks = [{ wcet: 2, period: 5 }, { wcet: 4, period: 10 }]
 * console.log(schedulable(tasks).schedulable) // → true
 * console.log(schedulable(tasks, { policy: rm }).response) // → [2,8]
 */
export function schedulable(tasks, options = {}) {
  const { policy = edf } = knownOptions(options, unchecked('policy'))
  const isByDeadline = policyOf('policy', policy).compare === edf.compare
  if (!isByDeadline && policy.compare !== fp.compare) {
    throw wrongType('policy', 'edf, fp, rm, or one that compares as these do', policy)
  }
  if (!Array.isArray(tasks)) throw wrongType('tasks', 'an array of Tasks', tasks)
  /** @type {Demand[]} */
  const demands = []
  for (let i = 0; i < tasks.length; i++) demands.push(demandOf(`tasks[${i}]`, tasks[i], policy))
  const isIndependent = !block(demands)
  const utilization = utilizationOf(demands)
  const { failed, isExact, ...result } = isByDeadline ? byDemand(demands, utilization) : byResponse(demands)
  const isSynchronous = demands.every(({ phase }) => phase === demands[0].phase)
  return {
    exact: utilization > MORE || isExact && isSynchronous && isIndependent,
    utilization,
    ...result,
    failed: failed && tasks[demands.indexOf(failed)]
  }
}

/**
 * The checked parameters of a task.
 *
 * @typedef {object} Demand
 * @property {number} wcet
 * @property {number} period
 * @property {number} deadline
 * @property {number} priority
 * @property {number} phase
 * @property {number} level
 * @property {Required<CriticalSection>[]} sections
 * @property {number} blocking the longest section of a less urgent task that can delay this task, ms
 */

/** @param {Demand[]} demands */
const utilizationOf = demands => demands.reduce((sum, { wcet, period }) => sum + wcet / period, 0)

/**
 * Checks the parameters of a task for a test.
 *
 * @internal
 * @param {string} name @param {any} task @param {Policy} policy
 * @returns {Demand}
 */
export function demandOf(name, task, policy) {
  const { period, wcet, deadline: given = Infinity, priority: own = 0, phase = 0 } = record(name, task)
  duration(`${name}.wcet`, wcet)
  interval(`${name}.period`, period)
  const deadline = given === Infinity ? period : positive(`${name}.deadline`, given)
  finite(`${name}.priority`, own)
  finite(`${name}.phase`, phase)
  const ranked = { deadline, priority: own, period }
  const priority = policy.priority === undefined ? own : finite('policy.priority()', policy.priority(ranked))
  const level = policy.level({ ...ranked, priority })
  return { wcet, period, deadline, priority, phase, level, sections: sectionsOf(name, task), blocking: 0 }
}

/**
 * Sets the maximum blocking time of each task (Baker 1991).
 *
 * @param {Demand[]} demands @returns {boolean} `true` if any task can be blocked
 */
function block(demands) {
  /** @type {Map<any, number>} */
  const ceilings = new Map()
  ceilings.set(undefined, Infinity)
  demands.forEach(({ level, sections }) => sections.forEach(({ resource }) => {
    const given = resource?.ceiling > -Infinity ? resource.ceiling : -Infinity
    ceilings.set(resource, Math.max(ceilings.get(resource) ?? -Infinity, given, level))
  }))
  const blockers = demands.flatMap(({ level, sections }) => sections.map(({ resource, wcet }) => {
    return { level, wcet, ceiling: /** @type {number} */ (ceilings.get(resource)) }
  })).filter(({ level, wcet, ceiling }) => wcet > 0 && ceiling > level)
  demands.forEach(demand => {
    demand.blocking = blockers.reduce((most, { level, wcet, ceiling }) => {
      return level < demand.level && ceiling >= demand.level ? Math.max(most, wcet) : most
    }, 0)
  })
  return demands.some(({ blocking }) => blocking > 0)
}

/**
 * The test for fixed priorities. A response is longest if the job is released together with jobs of all more
 * urgent tasks, just after a less urgent section has started (Liu, Layland 1973).
 *
 * @param {Demand[]} demands
 */
function byResponse(demands) {
  const order = demands.toSorted((a, b) => b.priority - a.priority)
  let terms = mostTerms(demands.length)
  let isExact = true

  /** @param {Demand} demand */
  function responseOf(demand) {
    const { wcet, period, deadline, priority, blocking } = demand
    const above = order.filter(other => other.priority >= priority && other !== demand)
    const share = utilizationOf(above)
    // Among peers with equal deadlines, one job finishes last, so the bound is exact for the set.
    const peers = above.filter(other => other.priority === priority)
    if (peers.some(peer => peer.deadline !== deadline || peer.period < deadline)) isExact = false
    if (share > LESS || share + wcet / period > MORE) return Infinity
    let longest = 0
    for (let jobs = 1, end = 0; ; jobs++) {
      const own = blocking + jobs * wcet
      // A lower bound to start from: in any time t, the more urgent tasks demand at least share * t.
      end = Math.max(end, own / (1 - share + 1e-12))
      for (let before = -1; end > before * MORE; end = own + releasedBy(end, above, wcet === 0)) {
        terms -= above.length + SUM
        if (terms < 0) {
          isExact &&= Math.max(longest, end - (jobs - 1) * period) > deadline * MORE
          return Infinity
        }
        before = end
      }
      if (!(end < Infinity)) return Infinity
      longest = Math.max(longest, end - (jobs - 1) * period)
      if (end <= jobs * period * MORE) return longest
    }
  }

  const responses = order.map(responseOf)
  const failed = order.find(({ deadline }, place) => responses[place] > deadline * MORE) ?? null
  const response = demands.map(demand => responses[order.indexOf(demand)])
  return { schedulable: failed === null, isExact, response, failed }
}

/**
 * The test for deadlines. If any job misses its deadline, a job does so in a busy period that starts with a
 * release of all tasks. By some deadline in that period, the demand exceeds the elapsed time (Baruah, Rosier,
 * Howell 1990).
 *
 * @param {Demand[]} demands @param {number} utilization
 * @returns {{ schedulable: boolean, isExact: boolean, failed: Demand | null }}
 */
function byDemand(demands, utilization) {
  const order = demands.toSorted((a, b) => a.deadline - b.deadline)
  if (utilization > MORE || isSparse(order)) {
    return { schedulable: utilization <= MORE, isExact: true, failed: null }
  }

  let terms = mostTerms(order.length)

  /** The demand of jobs due from 0 to `time`, and the latest deadline before `time`. @param {number} time */
  function demandBy(time) {
    terms -= order.length + SUM
    const early = time * LESS
    const late = time * MORE
    let asked = 0
    let before = -Infinity
    for (let i = 0; i < order.length; i++) {
      const { wcet, period, deadline } = order[i]
      if (deadline > late) break
      if (wcet > 0) asked += (Math.floor((late - deadline) / period) + 1) * wcet
      if (deadline < early) {
        before = Math.max(before, deadline + (Math.ceil((early - deadline) / period) - 1) * period)
      }
    }
    return { asked, before }
  }

  /**
   * QPA: if the demand by `time` is at most an earlier time t, no deadline between t and `time` is
   * overloaded. The search then continues at t.
   *
   * @param {number} from @param {number} to the search covers deadlines before `to` @param {number} blocked
   * @returns {number | null} the deadline by which the demand is too large
   */
  function overloadWithin(from, to, blocked) {
    for (let time = demandBy(to).before; time >= from && terms >= 0;) {
      const { asked, before } = demandBy(time)
      if (!(asked + blocked <= time * MORE)) return time
      time = asked + blocked < time * LESS ? asked + blocked : before
    }
    return null
  }

  let overload = null
  // Blocking depends on which tasks have a deadline in the interval. It therefore changes only at the
  // relative deadlines of the tasks.
  for (let index = 0; index < order.length - 1 && overload === null; index++) {
    const { deadline: from, blocking } = order[index]
    const to = order[index + 1].deadline
    if (blocking > 0 && to > from) overload = overloadWithin(from, to, blocking)
  }
  // The search covers the busy period as far as it is known to last. Most overloads are early, and the end of
  // the busy period may be very late.
  let end = order.reduce((sum, { wcet }) => sum + wcet, 0)
  for (let from = order[0].deadline, isOver = false; overload === null && !isOver && terms >= 0; from = end) {
    const asked = releasedBy(end, order)
    terms -= order.length + SUM
    isOver = asked <= end * MORE
    end = Math.max(asked, end * MORE)
    overload = overloadWithin(from, end, 0)
  }
  if (overload === null) return { schedulable: terms >= 0, isExact: terms >= 0, failed: null }
  const late = overload * MORE
  const since = (/** @type {Demand} */ { deadline, period }) =>
    deadline > late ? Infinity : (late - deadline) % period
  const failed = order.reduce((latest, demand) => since(demand) < since(latest) ? demand : latest)
  return { schedulable: false, isExact: true, failed }
}

/**
 * A quick sufficient test (Devi 2003). Demands grow no faster than utilizations, so it tests only the first
 * deadline of each task. At a utilization of 1, the full search could otherwise need a busy period that
 * practically never ends.
 *
 * @param {Demand[]} order sorted by deadline
 */
function isSparse(order) {
  let asked = 0
  let slope = 0
  let last = 0
  return order.every(({ wcet, period, deadline, blocking }) => {
    asked += slope * (deadline - last) + wcet
    slope += wcet / period
    last = deadline
    return asked + blocking <= deadline * MORE
  })
}

/**
 * The execution time of all jobs released by a time.
 *
 * @param {number} time @param {Demand[]} demands
 * @param {boolean} [isInstant] whether jobs released exactly at `time` count too. A task with a wcet of 0
 *   waits for these jobs
 */
function releasedBy(time, demands, isInstant = false) {
  const early = time * LESS
  const late = time * MORE
  let sum = 0
  for (let i = 0; i < demands.length; i++) {
    const { wcet, period } = demands[i]
    sum += (isInstant ? Math.floor(late / period) + 1 : Math.ceil(early / period)) * wcet
  }
  return sum
}

// ------------------------------------------------------------------------------------------ admission

/**
 * The demand for processor time, and the time available.
 *
 * @typedef {object} Sums
 * @property {number} utilization the sum of capacity / period, utilization, and wcet / period
 * @property {number} demand the amount that is compared with the bound: the utilization, and under 'equation
 *   1' the extra demand of I/O and deferrable reservations
 * @property {number} bound
 * @property {number} share the usable share of the processor
 * @property {'utilization' | 'equation 1' | 'schedulable'} test see `admit` of addons/reservations.mjs
 */

/** Formats a share of the processor. @internal @param {number} part */
export const percent = part => `${Math.round(part * 1e4) / 100} %`

/**
 * The error if the processor has too little time left for a reservation or a task.
 *
 * @example
 * try {
 *   admit({ wcet: 12, period: 10 }, { scheduler: new Scheduler() })
 * } catch (error) {
 *   console.log(error instanceof AdmissionError) // → true
 * }
 */
export class AdmissionError extends Error {
  // A field, because an assignment would throw if Error.prototype is frozen.
  name = 'AdmissionError'

  /** @param {string} message @param {Policy} policy @param {Sums} sums */
  constructor(message, policy, sums) {
    super(`${message} (${sums.test}, ${policy.name}, share ${sums.share})`)
    this.sums = Object.freeze(sums)
    this.utilization = sums.utilization
    this.demand = sums.demand
    this.bound = sums.bound
    this.share = sums.share
  }
}

const SECTION = /* @__PURE__ */ unchecked('resource', 'wcet')

/** @param {string} name the name of the task @param {any} task @returns {Required<CriticalSection>[]} */
function sectionsOf(name, { sections = [], uses = [], wcet }) {
  if (!Array.isArray(sections)) throw wrongType(`${name}.sections`, 'an array of sections', sections)
  if (!Array.isArray(uses)) throw wrongType(`${name}.uses`, 'an array of Resources', uses)
  const declared = sections.map((section, index) => {
    const where = `${name}.sections[${index}]`
    const { resource, wcet: length } = knownOptions(section, SECTION, where)
    if (notNegative(`${where}.wcet`, length) <= wcet) return { resource, wcet: length }
    throw outOfRange(`${where}.wcet`, `at most that of its task, ${wcet}`, length)
  })
  const known = declared.map(({ resource }) => resource)
  const unknown = uses.filter(resource => !known.includes(resource))
  return declared.concat(unknown.map(resource => ({ resource, wcet })))
}
