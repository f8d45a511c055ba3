/**
 * addons/schedulable.mjs: whether a set of tasks will meet its deadlines, calculated before any of them runs.
 *
 * Reservations and workers use the same tests for admission, so the error of a failed admission is defined
 * here.
 *
 * @module schedulable
 */

import { edf, fp, extend } from '../rt.mjs'
/** @import { Policy } from '../rt.mjs' */

const {
  duration, finite, interval, knownOptions, notNegative, outOfRange, policy: policyOf, positive, record, unchecked,
  wrongType
} = extend.check

/**
 * What `schedulable` has to know of a task: a Task has it, and so may any object. Times in ms.
 *
 * @typedef {object} TaskParameters
 * @property {number} wcet worst-case execution time, >= 0
 * @property {number} period the least time from one release to the next, > 0
 * @property {number} [deadline] after the release, > 0; default, as for `periodic`, and for Infinity: the
 *   period
 * @property {number} [priority] default 0; under rm the rate
 * @property {number} [phase] when it is released first; default 0
 * @property {readonly unknown[]} [uses] the resources it declares: Resources of sync.mjs, or what stands for
 *   them. One without a section counts as held from the beginning of a job to its end.
 * @property {readonly CriticalSection[]} [sections] how long it holds them
 */
/**
 * @typedef {object} CriticalSection
 * @property {any} [resource] without one, the section is non-preemptive
 * @property {number} wcet its worst-case execution time, ms; at most that of the task
 */
/**
 * @typedef {object} Schedulability
 * @property {boolean} schedulable whether every job is certain to meet its deadline
 * @property {boolean} exact whether the test is necessary, too; if not, it may refuse what would do
 * @property {number} utilization the sum of wcet / period
 * @property {number[]} [response] by fixed priority: the longest time from a release to its finish, of each
 *   task; Infinity where there is none
 * @property {TaskParameters | null} failed the most important task that may miss its deadline; under edf the
 *   one at whose deadline more is asked of the processor than there is time; null when there is none, or no
 *   single one
 */

/** Times of which one is longer by no more than this part count as equal: sums of 0.1 are not exact. */
const TOLERANCE = 2 ** -36
const LESS = 1 - TOLERANCE
const MORE = 1 + TOLERANCE
/** Terms of sums after which `schedulable` gives up: few sets need as many. @param {number} count of tasks */
const mostTerms = count => 2e7 + 8 * count ** 2
/** What a sum costs beside its terms. */
const SUM = 10

/**
 * Whether all jobs of a set of tasks will meet their deadlines, before any of them has run.
 *
 * edf: the processor demand of no interval exceeds its length (Baruah, Rosier, Howell 1990), for deadlines of
 * any length, by QPA (Zhang, Burns 2009); more than a utilization of 1 is refused. Fixed priorities: no
 * response time exceeds its deadline (Joseph, Pandya 1986; Audsley et al. 1993); where a deadline exceeds the
 * period, none of a busy period (Lehoczky 1990), if jobs of a task run one after the other. With sections, a
 * job is blocked once at most, by the longest of a less urgent task whose ceiling reaches it (Baker 1991).
 *
 * Yes is certain. No is certain (`exact`) for independent tasks that are all released at one time, or at any
 * times no less than a period apart. It is not where sections block or phases differ, nor, by fixed priority,
 * where equal priorities have different deadlines: they take turns, so each counts as held up by the others.
 * Beyond a utilization of 1 it is, always.
 *
 * What the page takes for itself is not known here. Neither is the time between two preemption points; where
 * it matters, it is a section without a resource. A reservation counts as a task: capacity, period.
 *
 * @param {readonly TaskParameters[]} tasks
 * @param {{ policy?: Policy }} [options] `edf` (default), `fp`, `rm`, or one that compares as these do, like
 *   deadline monotonic: `{ ...fp, priority: task => -task.deadline }`
 * @returns {Schedulability}
 * @throws {TypeError | RangeError} naming the parameter
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
 * A checked task.
 *
 * @typedef {object} Demand
 * @property {number} wcet
 * @property {number} period
 * @property {number} deadline
 * @property {number} priority
 * @property {number} phase
 * @property {number} level
 * @property {Required<CriticalSection>[]} sections
 * @property {number} blocking ms that a less urgent one may hold it up
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
 * Finds out how long each may be blocked (Baker 1991).
 *
 * @param {Demand[]} demands @returns {boolean} whether any
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
 * By fixed priority. The longest response is that of a job released together with one of everybody above,
 * when a less urgent section has just begun (Liu, Layland 1973).
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
    // One of several that have to be done by the same time is the last.
    const peers = above.filter(other => other.priority === priority)
    if (peers.some(peer => peer.deadline !== deadline || peer.period < deadline)) isExact = false
    if (share > LESS || share + wcet / period > MORE) return Infinity
    let longest = 0
    for (let jobs = 1, end = 0; ; jobs++) {
      const own = blocking + jobs * wcet
      // From below: what is asked for meanwhile is at least the share of the time.
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
  return { schedulable: failed === null, isExact, response: demands.map(demand => responses[order.indexOf(demand)]), failed }
}

/**
 * By deadline. If jobs miss theirs, they do in a busy period that begins with a release of everybody, and
 * what has to be done by some deadline in it is more than the time until there (Baruah, Rosier, Howell 1990).
 *
 * @param {Demand[]} demands @param {number} utilization
 * @returns {{ schedulable: boolean, isExact: boolean, failed: Demand | null }}
 */
function byDemand(demands, utilization) {
  const order = demands.toSorted((a, b) => a.deadline - b.deadline)
  if (utilization > MORE || isSparse(order)) return { schedulable: utilization <= MORE, isExact: true, failed: null }

  let terms = mostTerms(order.length)

  /** What has to be done from 0 to `time`, and the latest deadline before that. @param {number} time */
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
      if (deadline < early) before = Math.max(before, deadline + (Math.ceil((early - deadline) / period) - 1) * period)
    }
    return { asked, before }
  }

  /**
   * QPA: when no more than some earlier time is asked for by now, as little is by any moment between the two.
   *
   * @param {number} from @param {number} to deadlines before it @param {number} blocked
   * @returns {number | null} by when too much is asked for
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
  // What blocks depends on who has to be done, so it changes with the deadlines of the tasks only.
  for (let index = 0; index < order.length - 1 && overload === null; index++) {
    const { deadline: from, blocking } = order[index]
    const to = order[index + 1].deadline
    if (blocking > 0 && to > from) overload = overloadWithin(from, to, blocking)
  }
  // The busy period is looked through as far as it is known to last: most overloads are early, and its end
  // may be long in coming.
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
  const since = (/** @type {Demand} */ { deadline, period }) => deadline > late ? Infinity : (late - deadline) % period
  const failed = order.reduce((latest, demand) => since(demand) < since(latest) ? demand : latest)
  return { schedulable: false, isExact: true, failed }
}

/**
 * A quick yes (Devi 2003): demands grow no steeper than utilizations, so each task's first deadline will do.
 * At a utilization of 1 the busy period, which the search is for, may not end in a lifetime.
 *
 * @param {Demand[]} order by deadline
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
 * What has been released by a time.
 *
 * @param {number} time @param {Demand[]} demands
 * @param {boolean} [isInstant] for one that needs no time at all: it waits until they have nothing to do, not
 *   even from that moment on
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
 * @property {number} demand what is compared with the bound: the same, with what jitter and early deadlines
 *   cost
 * @property {number} bound
 * @property {number} share of the processor
 * @property {'utilization' | 'equation 1' | 'schedulable'} test see `admit` of addons/reservations.mjs
 */

/** Formats a share of the processor. @internal @param {number} part */
export const percent = part => `${Math.round(part * 1e4) / 100} %`

/** The processor has not that much left. */
export class AdmissionError extends Error {
  // A field: an assignment would fail where Error.prototype is frozen.
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

/** @param {string} name of the task @param {any} task @returns {Required<CriticalSection>[]} */
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
