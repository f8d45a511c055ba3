/**
 * Checks the invariants 1 to 6 of rt.mjs's header in the objects of a scheduler: its Core, its queues, the
 * groups of reservations, the timeline and the ceiling stack.
 */
import { extend } from '../../rt.mjs'

const [PENDING, READY, WAITING, DONE] = [0, 1, 2, 3]
const WAITED = 2
const BANDS = { ordinary: 0, background: -1 }

/** @param {import('../../rt.mjs').Scheduler} scheduler @returns {any} the Core of the scheduler */
export function coreOf(scheduler) {
  const entry = /** @type {any} */ (extend.at(scheduler, Infinity, () => {}, { ref: false }))
  entry.cancel()
  return entry.core
}

/** Whether the pending work of a scheduler keeps a process alive. @param {any} core */
export const isAwaited = ({ timeline, loop, running, ready }) => timeline.refs > 0 || loop.isPosted ||
  running !== null || ready.size > 0

/**
 * Compares two ranks, independently of rt.mjs.
 *
 * @param {any} a @param {any} b @returns {number} negative if `a` is better
 */
export function compare(a, b) {
  const difference = b.band - a.band || order(a.key, b.key) || order(a.tie, b.tie)
  if (difference !== 0 || !a.comparison || !a.keys || !b.keys || a === b) return difference
  return a.comparison(a.keys, b.keys)
}
/** @param {number} a @param {number} b */
const order = (a, b) => a < b ? -1 : a > b ? 1 : 0
/** @param {any} a @param {any} b */
const precedes = (a, b) => compare(a.rank, b.rank) < 0 || compare(a.rank, b.rank) === 0 && a.seq < b.seq

/** @param {any} rank */
const shown = ({ band, deadline, priority, key, tie }) =>
  `band ${band}, deadline ${deadline}, priority ${priority}, keys ${key} ${tie}`

/** A node of any queue, as text. @param {any} node @returns {string} */
const named = node => node === null ? 'nothing' : node.members ? `[${node.members.map(named)}]`
  : node.hooks ? `the group ${node.hooks.name ?? ''} of ${named(node.first)}`
    : node.action ? `an entry at ${node.key}` : node.notify ? `a waiter of ${node.job?.name}` : node.name

/**
 * Checks a queue: its links, slots, keys, size and order.
 *
 * @param {any} queue @param {string} title @param {(text: string) => void} note
 * @param {(text: string) => void} misplaced notes a wrong order
 * @returns {Set<any>} the nodes of the queue
 */
function checkQueue(queue, title, note, misplaced) {
  const { first, heads, keys, last, size } = queue
  const nodes = new Set()
  const walk = (/** @type {any} */ head) => {
    for (let node = head, before = null; node !== null; before = node, node = node.after) {
      if (nodes.has(node)) return note(`${named(node)} is twice in ${title}`)
      nodes.add(node)
      if (node.queue !== queue) note(`${named(node)} is in ${title} and does not know it`)
      if (node.before !== before) note(`the links of ${named(node)} in ${title} are broken`)
      if (before !== null && !precedes(before, node)) {
        misplaced(`${named(before)} is before ${named(node)} in ${title}`)
      }
    }
  }
  if (first === null && heads.length > 0) note(`${title} has runs and no first node`)
  if (first !== null) walk(first)
  for (const [slot, head] of heads.entries()) {
    walk(head)
    if (head.slot !== slot) note(`${named(head)} is in slot ${slot} of ${title}, and knows ${head.slot}`)
    const { band, key } = head.rank
    if (!Object.is(keys[slot], band === 0 ? key : -band * Infinity)) {
      note(`the key of ${named(head)} in ${title} is wrong`)
    }
    const parent = slot === 0 ? first : heads[(slot - 1) >> 2]
    if (precedes(head, parent)) misplaced(`${named(parent)} is above ${named(head)} in ${title}`)
  }
  if (keys.length !== heads.length) note(`${title} has ${keys.length} keys for ${heads.length} runs`)
  if (nodes.size !== size) note(`${title} counts ${size} nodes and has ${nodes.size}`)
  if (last !== null && (!nodes.has(last) || last.after !== null)) {
    note(`the last node of ${title} is not the end of a run`)
  }
  return nodes
}

/**
 * Notes violations. Call it while no operation of the scheduler runs: from the code of jobs, and between the
 * macrotasks of its host.
 *
 * @param {any} core
 * @param {Iterable<any>} jobs the known jobs, ended or not, of this scheduler and of others
 * @param {{ isOrdered?: boolean, queues?: any[], isOff?: (name: string) => boolean }} options
 *   `isOrdered`: whether the policy has never thrown. `queues`: wait queues of the branches of choices.
 *   `isOff`: whether a reservation has a capacity of 0, and therefore no replenishment
 * @param {(text: string) => void} note
 */
export function checkInvariants(core, jobs, { isOrdered = true, queues = [], isOff = () => false }, note) {
  const misplaced = isOrdered ? note : () => {}
  const own = [...jobs].filter(job => job.core === core)
  const ready = checkQueue(core.ready, 'the ready queue', note, misplaced)
  const entries = checkTimeline(core, note)
  const members = checkGroups(own, ready, entries, isOff, note, misplaced)
  checkWaitQueues(own, queues, note, misplaced)

  // 1
  const { running } = core
  const { current } = core.scheduler
  if (current !== null && current !== running) note(`${named(current)} is current, not running`)
  if (running !== null && running.status !== READY) {
    note(`${named(running)} is the running job, and not ready`)
  }

  for (const job of own) {
    const { status, queue, extras: { wait, owned, group } } = job
    /** @param {number} wanted @param {boolean} isThere @param {string} where */
    const is = (wanted, isThere, where) => {
      if ((status === wanted) !== isThere) {
        note(`${named(job)} is ${job.state} and ${isThere ? '' : 'not '}${where}`)
      }
    }
    // 2
    is(READY, ready.has(job) || members.has(job), 'in the ready queue or in a group')
    if (ready.has(job) && members.has(job)) note(`${named(job)} is in the ready queue and in a group`)
    const isPending = status === PENDING && entries.has(job.entry) && job.entry.time === job.release
    is(PENDING, isPending, 'on the timeline')
    if (status === PENDING && queue !== null) note(`${named(job)} is pending and in a queue`)
    if (status >= DONE) {
      if (queue !== null || wait !== null || owned.length > 0 || group !== null || job.entry !== null) {
        note(`${named(job)} has ended, and left something behind`)
      }
      continue
    }
    const isAway = job.extras.driver !== null && job.extras.driver.promise === null && wait === null
    if (!isAway) is(WAITING, wait !== null, 'waiting for something')
    if (wait !== null) checkWait(job, wait, note)
    // 5
    if (status === WAITING && job.extras.sections > 0) note(`${named(job)} waits inside a critical section`)
    checkMiss(job, entries, note)
    checkRank(job, misplaced)
  }
  checkSections(core, own, note)
}

/**
 * Invariant 4: the ceiling stack.
 *
 * @param {any} core @param {any[]} jobs @param {(text: string) => void} note
 */
function checkSections(core, jobs, note) {
  let ceiling = -Infinity
  for (const section of core.sections) {
    ceiling = Math.max(ceiling, section.level)
    if (section.isClosed) note(`a section of ${named(section.job)} is closed and on the ceiling stack`)
    if (section.job.status >= DONE) note(`${named(section.job)} has ended inside a section`)
    if (section.ceiling !== ceiling) {
      note(`the ceiling of a section of ${named(section.job)} is ${section.ceiling}, not ${ceiling}`)
    }
  }
  for (const job of jobs) {
    const open = core.sections.filter((/** @type {any} */ section) => section.job === job).length
    if (job.status < DONE && open !== job.extras.sections) {
      note(`${named(job)} counts ${job.extras.sections} sections, and has ${open}`)
    }
  }
}

/**
 * Checks that the waitable knows the job that waits for it.
 *
 * @param {any} job @param {any} wait @param {(text: string) => void} note
 */
function checkWait(job, wait, note) {
  const { waiter, phase } = wait
  if (phase !== WAITED) note(`${named(job)} waits for something in phase ${phase}`)
  const isKnown = waiter === job || waiter?.members?.includes(job)
  if (!isKnown) note(`${named(job)} waits for something that ${named(waiter)} waits for`)
  if (waiter !== job && job.queue !== null) {
    note(`${named(job)} is in a queue, and waits together with others`)
  }
}

/**
 * Checks that a job with a deadline is on the timeline until it has missed.
 *
 * @param {any} job @param {Set<any>} entries @param {any} note
 */
function checkMiss(job, entries, note) {
  if (job.status === PENDING) return
  const isExpected = job.absoluteDeadline < Infinity && !job.missed
  const isSet = job.entry !== null && entries.has(job.entry)
  if (isExpected && !isSet) note(`${named(job)} has a deadline that is not on the timeline`)
  if (isSet && !(job.entry.time > job.absoluteDeadline && job.entry.time < job.absoluteDeadline + 1e-3)) {
    note(`the miss of ${named(job)} is due at ${job.entry.time}, its deadline is ${job.absoluteDeadline}`)
  }
}

/**
 * Checks the timeline: its order, references and due entries.
 *
 * @param {any} core @param {(text: string) => void} note
 */
function checkTimeline(core, note) {
  const { timeline, loop } = core
  const entries = checkQueue(timeline, 'the timeline', note, note)
  let refs = 0
  for (const entry of entries) {
    if (entry.ref) refs++
    if (entry.core !== core) note('an entry is on the timeline of another scheduler')
    if (entry.key < entry.time) note(`an entry for ${entry.time} fires at ${entry.key}`) // 8
    // No due entry may be overlooked, unless it was postponed to the next round.
    if (entry.key < timeline.due && !loop.isPosted && !timeline.isLate) {
      note(`an entry at ${entry.key} is due before ${timeline.due}`)
    }
  }
  if (refs !== timeline.refs) note(`${refs} entries keep the process alive, ${timeline.refs} are counted`)
  return entries
}

/**
 * Checks the groups of the reservations of known jobs.
 *
 * @param {any[]} jobs @param {Set<any>} ready @param {Set<any>} entries @param {(name: string) => boolean}
 *   isOff
 * @param {(text: string) => void} note @param {(text: string) => void} misplaced
 * @returns {Set<any>} the jobs that are ready in a group
 */
function checkGroups(jobs, ready, entries, isOff, note, misplaced) {
  const groups = new Set(jobs.map(({ extras }) => extras.group).filter(group => group !== null))
  for (const node of ready) if (node.hooks) groups.add(node)
  const members = new Set()
  for (const group of groups) {
    const inside = checkQueue(group.jobs, 'a group', note, misplaced)
    const { first } = group.jobs
    for (const job of inside) {
      members.add(job)
      if (job.extras.group !== group) note(`${named(job)} is in the group of another reservation`)
    }
    if (ready.has(group) !== (first !== null && !group.isOut)) {
      note(`${named(group)} is ${ready.has(group) ? '' : 'not '}ready`)
    }
    if (!ready.has(group)) {
      if (group.queue !== null) note(`${named(group)} is in a queue, and not in the ready queue`)
    } else {
      if (group.seq !== first.seq) note(`${named(group)} does not have the place of its first job`)
      if (compare(group.rank, rankOfReservation(group, first)) !== 0) {
        misplaced(`${named(group)} has the rank of another job`)
      }
    }
    // 6
    const { name } = group.hooks
    const isReplenished = [...entries]
      .some(({ subject }) => subject?.isReplenishment && subject.fn.of === name)
    if (group.isOut && inside.size > 0 && name !== undefined && !isReplenished && !isOff(name)) {
      note(`${name} is depleted and has no replenishment on the timeline`)
    }
  }
  return members
}

/** @param {any} group @param {any} job @returns {any} */
function rankOfReservation(group, job) {
  return group.isBackground ? { ...ownRank(job), band: BANDS.background } : group.shared
}

/** The rank of a job's own keys, computed here. @param {any} job */
function ownRank(job) {
  const { core, release, deadline, priority, extras, rank } = job
  const { keys, comparison } = extras.own ?? rank
  const absoluteDeadline = release + deadline
  const shared = { band: BANDS.ordinary, deadline, priority, comparison, keys }
  if (comparison !== null) return { ...shared, key: 0, tie: 0 }
  const isFixed = core.order === 2
  return { ...shared, key: isFixed ? -priority : absoluteDeadline, tie: isFixed ? 0 : -priority }
}

/** The rank by which a job or a waiter competes. @param {any} node @returns {any} */
export function presentRank(node) {
  const { group } = node.extras ?? {}
  return group && node.queue === group.jobs ? rankOfReservation(group, node) : node.rank
}

/**
 * Checks the rank of a job. The rank is the best among its base rank and the ranks of the first waiters of its
 * queues. The base rank is the rank of its reservation, if it has one, or its own rank.
 *
 * @param {any} job @param {(text: string) => void} note
 */
function checkRank(job, note) {
  const { extras: { group, owned, wait, sections }, status } = job
  if (status === PENDING) return // a pending job gets its rank at the release
  // A group updates only jobs whose rank can matter while they are outside the group.
  if (group !== null && status !== READY && !wait?.isRanked) return
  let right = group === null ? ownRank(job) : rankOfReservation(group, job)
  for (const { first } of owned) {
    const isOfJob = first !== null && (first.members ? first.members.some(hasJob) : hasJob(first))
    if (isOfJob && compare(first.rank, right) < 0) right = first.rank
  }
  const present = presentRank(job)
  if (sections > 0 && group !== null && right.band < present.band) return // the job finishes its section
  if (compare(present, right) !== 0) {
    note(`${named(job)}, ${job.state}, ranks by ${shown(present)}, not ${shown(right)}`)
  }
}
/** @param {any} node */
const hasJob = node => node.extras !== undefined || node.job !== null

/**
 * Checks the wait queues in which known jobs wait, and the queues that they own.
 *
 * @param {any[]} jobs @param {any[]} others further queues @param {(text: string) => void} note
 * @param {(text: string) => void} misplaced
 */
function checkWaitQueues(jobs, others, note, misplaced) {
  const queues = new Set(others)
  for (const { extras: { wait, owned }, queue } of jobs) {
    for (const one of [queue, wait?.waiter?.queue, ...owned]) {
      if (one instanceof extend.WaitQueue) queues.add(one)
    }
  }
  for (const queue of queues) {
    for (const node of checkQueue(queue, 'a wait queue', note, misplaced)) {
      const wait = node.extras ? node.extras.wait : node.wait
      if (wait?.waiter !== node) note(`${named(node)} is in a wait queue, and waits for something else`)
      const ranks = (node.members ?? [node.job ?? node]).map(presentRank)
      const best = ranks.reduce((/** @type {any} */ a, /** @type {any} */ b) => compare(b, a) < 0 ? b : a)
      if (compare(node.rank, best) !== 0) {
        misplaced(`${named(node)} waits by ${shown(node.rank)}, and ranks by ${shown(best)}`)
      }
    }
    for (const owner of queue.owners) {
      if (owner === null) continue
      const times = owner.extras.owned.filter((/** @type {any} */ one) => one === queue).length
      if (times !== 1) note(`${named(owner)} owns a wait queue, and knows of ${times}`)
    }
  }
  for (const job of jobs) {
    for (const queue of job.extras.owned) {
      if (!queue.owners.includes(job)) note(`${named(job)} inherits from a wait queue that it does not own`)
    }
  }
}
