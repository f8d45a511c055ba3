/** The invariants of rt.mjs's header, looked up in the scheduler's own objects. */
import { extend } from '../../rt.mjs'

const [PENDING, READY, WAITING, DONE] = [0, 1, 2, 3]
const [REPLENISHMENT, , RELEASE] = [0, 1, 2, 3]

/** @param {import('../../rt.mjs').Scheduler} scheduler @returns {any} its dispatcher */
export function dispatcherOf(scheduler) {
  const entry = /** @type {any} */ (extend.at(scheduler, Infinity, () => {}, { ref: false }))
  entry.cancel()
  return entry.dispatcher
}

/** @param {import('../../rt.mjs').Job} job @returns {any} its activation */
export function activationOf(job) {
  // Who asks for it this way counts as somebody who will see its failure.
  const { target } = /** @type {any} */ (extend.Waitable.of(job))
  target.handled = false
  return target
}

/** Whether a process would go on for what its scheduler still has to do. @param {any} dispatcher */
export const isAwaited = ({ timeline, loop, hasWork }) => timeline.refs > 0 || loop.isPosted || hasWork

/** The nodes of a heap, each with those that must come after it. @param {any} heap */
function orderedPairs(heap) {
  const pairs = []
  const nodes = new Set()
  const heads = [heap.first, ...heap.heads]
  for (const [slot, head] of heads.entries()) {
    if (slot > 0) pairs.push([heads[(slot + 2) >> 2], head])
    for (let node = head; node !== null; node = node.after) {
      nodes.add(node)
      if (node.after !== null) pairs.push([node, node.after])
    }
  }
  return { nodes, pairs }
}

/**
 * Notes what is violated. To be called when the scheduler is in no operation: from the code of jobs, and between the
 * macrotasks of its host.
 *
 * @param {any} dispatcher @param {Iterable<any>} activations those that are known, ended or not
 * @param {Iterable<any>} reservations
 * @param {{ isOrdered: boolean }} options isOrdered: whether the policy has never thrown
 * @param {(text: string) => void} note
 */
export function checkInvariants(dispatcher, activations, reservations, { isOrdered }, note) {
  const { ready, running, current, gates, timeline } = dispatcher
  const named = (/** @type {any} */ a) => a.job.name
  const { nodes, pairs } = orderedPairs(ready)

  // 1, 2
  if (nodes.size !== ready.size) note(`the ready queue counts ${ready.size} nodes and has ${nodes.size}`)
  if (current !== null && current !== running) note(`${named(current)} is current, not running`)
  const misplaced = isOrdered ? note : () => {}
  const pools = new Set()
  for (const a of activations) {
    if (a.dispatcher !== dispatcher) continue
    const { state, extras } = a
    const is = (/** @type {number} */ wanted, /** @type {boolean} */ isThere, /** @type {string} */ where) => {
      if ((state === wanted) !== isThere) note(`${named(a)} is ${a.job.state} and ${isThere ? '' : 'not '}${where}`)
    }
    const { pool } = extras
    if (pool !== null && pool !== extras.server?.pool) note(`${named(a)} is ready in the pool of another reservation`)
    is(READY, nodes.has(a) || pool !== null && a.queue !== null && a.queue !== ready, 'in the ready queue or in a pool')
    if (nodes.has(a) && pool !== null) note(`${named(a)} is in the ready queue and in a pool`)
    if (pool !== null) pools.add(pool)
    if (running === a && state !== READY) note(`${named(a)} is the running job, and not ready`)
    if (state >= DONE) continue
    const isAway = extras.driver !== null && extras.driver.promise === null
    if (state !== WAITING || !isAway) is(WAITING, a.waiting !== null, 'waiting for something')
    is(PENDING, a.entry !== null && a.entry.kind === RELEASE && a.entry.queue !== null,
      'on the timeline')
    checkStanding(dispatcher, a, misplaced)
  }
  for (const pool of pools) checkPool(dispatcher, pool, activations, nodes, note, misplaced)
  // 3
  for (const [a, b] of pairs) {
    if (!(ready.order(a, b) < 0)) misplaced(`${named(a.first)} is before ${named(b.first)} in the ready queue`)
  }
  // 4
  let ceiling = -Infinity
  for (const gate of gates) {
    if (gate.closed) note(`a section of ${named(gate.activation)} is closed and on the ceiling stack`)
    if (gate.activation.state >= DONE) note(`${named(gate.activation)} has ended inside a section`)
    if (gate.ceiling < ceiling || gate.ceiling < gate.level) note('the ceiling stack falls towards the top')
    ceiling = gate.ceiling
  }
  // 6
  const due = [...orderedPairs(timeline.lines[REPLENISHMENT]).nodes]
  for (const reservation of reservations) {
    const { server, name, isOff, busy } = reservation[extend.protocol]
    if (isOff || !server.isDepleted || busy.size === 0) continue
    const isExpected = due.some(({ subject, time }) => subject.of === name && time === server.next)
    if (!isExpected) note(`${name} is depleted and has no replenishment on the timeline`)
  }
  // What is due is not overlooked, but for what has been put off to the next round.
  const isPutOff = dispatcher.loop.isPosted
  let refs = 0
  for (const line of timeline.lines) {
    const entries = orderedPairs(line)
    if (entries.nodes.size !== line.size) note(`a timeline counts ${line.size} entries and has ${entries.nodes.size}`)
    for (const entry of entries.nodes) {
      if (entry.ref) refs++
      if (entry.key < timeline.due && !isPutOff) note(`an entry at ${entry.key} is due before ${timeline.due}`)
    }
    for (const [a, b] of entries.pairs) if (a.key > b.key) note('a timeline is out of order')
  }
  if (refs !== timeline.refs) note(`${refs} entries keep the process alive, ${timeline.refs} are counted`)
}

/**
 * Whether a pool is in the ready queue by the first of its jobs; in none while it is out or empty.
 *
 * @param {any} dispatcher @param {any} pool @param {Iterable<any>} activations @param {Set<any>} ready
 * @param {(text: string) => void} note @param {(text: string) => void} misplaced notes what is out of order
 */
function checkPool(dispatcher, pool, activations, ready, note, misplaced) {
  const { first, isOut } = pool
  const named = (/** @type {any} */ a) => a.job.name
  if (ready.has(pool) !== (first !== null)) note(`a pool is ${first ? 'not ' : ''}in the ready queue`)
  const members = [...activations].filter(a => a.extras.pool === pool)
  if (isOut && first !== null) note(`${named(first)} is out and first in the ready queue`)
  if (!isOut && first === null && members.length > 0) note(`${named(members[0])} is not in the ready queue`)
  if (first === null) return
  for (const a of members) {
    if (a !== first && !(dispatcher.compareAs(first, first, a, a) < 0)) misplaced(`${named(a)} goes before the first of its pool`)
  }
}

/**
 * Whether a job stands as it should, and those it waits for know.
 *
 * @param {any} dispatcher @param {any} a @param {(text: string) => void} note
 */
function checkStanding(dispatcher, a, note) {
  // Those that nobody asks find it when somebody does.
  const pool = a.extras.server?.pool
  if (a.state === READY && a.extras.pool && a !== a.extras.pool.first) return
  const isAsked = a.state === READY || a.waiting?.isRanked
  if (pool !== undefined && !isAsked) return
  const isEqual = (/** @type {any} */ one, /** @type {any} */ other) =>
    one === other || dispatcher.compareStandings(one, other) === 0
  const right = dispatcher.standingOf(a)
  const { name, state } = a.job
  if (!isEqual(a.standing, right)) note(`${name}, ${state}, stands at ${keys(a.standing)}, not ${keys(right)}`)
  const { waiting } = a
  if (!waiting?.queue || waiting.activation !== a) return
  if (!isEqual(waiting.standing, a.standing)) {
    note(`${a.job.name} waits by ${keys(waiting.standing)}, and stands at ${keys(a.standing)}`)
  }
  const { first } = waiting.queue
  if (first !== waiting && dispatcher.compareStandings(first.standing, waiting.standing) > 0) {
    note(`${a.job.name} waits after ${first.activation?.job.name}, and stands better`)
  }
}

/** @param {any} standing */
const keys = ({ band, job: { absoluteDeadline, priority } }) =>
  `band ${band}, deadline ${absoluteDeadline}, priority ${priority}`
