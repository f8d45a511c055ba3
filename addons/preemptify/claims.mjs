/**
 * addons/preemptify/claims.mjs: the critical sections of plain code, at run time.
 *
 * Plain code relies on run-to-completion, so it does not mark its critical sections. The compiler infers
 * which state each function uses (effects.mjs), and a function claims the locks of this state when the
 * function starts. A job holds its claims until its stay ends: until the job awaits, finishes, or reaches the
 * scheduler by a `yield` in the source. So plain code in one stay sees no effects of another stay.
 *
 *   claim     is granted when no other stay holds a conflicting claim, and no conflicting claim of at least
 *             the same rank waits. Two shared claims do not conflict
 *   holders   inherit the rank of the best waiting claim
 *   cannot wait (a plain call, a critical section, a listener in its event)
 *             the holders run to the end of their stays inside the current step
 *   cycle     a claim that would close a cycle, or that would wait for code below it on the call stack, is
 *             granted, and the console names both functions
 *
 * Rewritten text compares a field of the lock with the stay of the running job, and calls the lock only if
 * they differ:
 *
 *   if (lock.h !== budget.s && lock.X(site)) yield claimed()
 *
 * Invariants:
 *   1 `lock.h` is null if no stay holds the lock. It is a stay only if this stay holds the lock exclusively,
 *     or has ended.
 *   2 `lock.r` is null if no stay holds the lock. It is a stay only if this stay holds the lock or has ended.
 *   3 Each holder of a lock is a job whose stay lists the lock. The exception is the lock of an activation:
 *     the stay in which the activation started does not list it until another stay claims it.
 *   4 Only waiting claims give the lock owners, so an uncontested claim costs no inheritance.
 */

import { extend } from '../../rt.mjs'
import {
  apply, assign, emptyMap, emptySet, emptyWeakMap, filter, find, forEach, push, pushAll, realm,
  setPrototypeOf, sort, split, startsWith, symbolIterator, takeLast
} from './primordials.mjs'
import { expect, isDriving, steps, takeExpected, undriven } from './run.mjs'
/** @import { Job } from '../../rt.mjs' */

const { Waitable, WaitQueue, code } = extend
const { counts } = code

/** The value of `lock.h` if the lock is held shared, and of `lock.r` if the last noted holder has left. */
const HELD = {}

/** The number of the first site that a stand-in gives to a script. */
export const STAND_IN_SITES = 2 ** 30
/** How many site numbers a stand-in gives to a script. Messages name wrong sites if a script has more. */
export const SITES_PER_SCRIPT = 2 ** 12

/** No claims. @type {any[]} */
const NONE = []

/** Minimum wait of a claim that the console reports, ms. */
const NOTABLE = 50

/**
 * A position in the code where a function makes a claim.
 *
 * @typedef {{ fn: string, location: string }} Site the names for messages
 */

/** All sites, by their numbers in rewritten text. @type {Map<number, Site>} */
const sites = emptyMap()
let nextSite = 0

/**
 * Registers the sites of a text.
 *
 * @param {string} names lines with alternating names of functions and of locations
 * @returns {number} the number of the first site
 */
export function addSites(names) {
  const first = nextSite
  nextSite += numberSites(names, first)
  return first
}

/** Registers the sites of scripts that a stand-in has numbered. @param {string[]} texts */
export function adoptSites(texts) {
  for (let i = 0; i < texts.length; i++) numberSites(texts[i], STAND_IN_SITES + i * SITES_PER_SCRIPT)
}

/** @param {string} names @param {number} first @returns {number} how many sites there are */
function numberSites(names, first) {
  const list = split(names, '\n')
  const count = list.length / 2
  for (let i = 0; i < count; i++) sites.set(first + i, { fn: list[2 * i], location: list[2 * i + 1] })
  return count
}

/** The claims of a job. */
class Stay {
  /** @type {Lock[]} */
  locks = []
  isExclusive = false
  /** Whether the job claims objects by identity. */
  hasObjects = false

  /** @param {Job} job */
  constructor(job) {
    this.job = job
  }

  /** Releases all claims. @param {Job} job */
  end(job) {
    const { locks } = this
    if (this.hasObjects) code.countHolders(-1)
    for (let i = 0; i < locks.length; i++) locks[i].remove(job)
    for (let i = 0; i < locks.length; i++) locks[i].grant()
  }
}

/**
 * Whether the stay of a job holds claims, other than the claims of its arguments by identity: each callback
 * of a page claims its receiver and its event.
 *
 * @param {Job} job
 */
export function holdsClaims(job) {
  const stay = /** @type {Stay | null} */ (code.stayOf(job))
  return stay !== null && find(stay.locks, ({ isOfObject }) => !isOfObject) !== undefined
}

/** A job that waits for a lock. */
class Claim extends Waitable {
  /** @param {Lock} lock @param {boolean} isExclusive @param {number} site */
  constructor(lock, isExclusive, site) {
    super()
    this.lock = lock
    this.isExclusive = isExclusive
    this.site = site
    this.since = code.now(/** @type {Job} */ (counts.job))
    /** The first holder that blocks the claim. @type {Hold | undefined} */
    this.holder = lock.conflicts(counts.job, isExclusive)[0]
  }

  get isClaim() { return true }
  get name() { return sites.get(this.site)?.location ?? 'a claim' }
  /** Details of the record 'block'. */
  get details() {
    const { fn, location } = sites.get(this.site) ?? {}
    return { function: fn, location }
  }

  /** @param {Job | null} job */
  try(job) {
    // Other jobs may have run since the code made the claim, for example if its call ended the budget.
    const { lock, isExclusive, site } = this
    return job !== null && lock.take(job, isExclusive, site) && this.fulfill()
  }
  enter() {
    this.lock.enqueue(this)
  }
  leave() {
    this.lock.dequeue(this)
  }
  owners() {
    return jobsOf(this.lock.conflicts(this.job, this.isExclusive))
  }
}

/** Whether a yielded value is a claim. @param {any} value */
export const isClaim = value => value instanceof Claim

/** Jobs whose code is on the call stack below a job that runs inside a step. @type {Job[]} */
const below = []
const isBelow = (/** @type {Job} */ job) => find(below, other => other === job) !== undefined

/**
 * A claim that a job holds.
 *
 * @typedef {{ job: Job, isExclusive: boolean, site: number }} Hold `site`: the position of the first claim,
 *   or of the claim that made the hold exclusive
 */

/** @param {{ job: Job | null }[]} list @returns {Job[]} */
function jobsOf(list) {
  /** @type {Job[]} */
  const jobs = []
  forEach(list, ({ job }) => job !== null && push(jobs, job))
  return jobs
}

/** The lock of contested state. Rewritten text uses the members with short names. */
export class Lock {
  /** See invariant 1. @type {any} */
  h = null
  /** See invariant 2. @type {any} */
  r = null
  /** Whether no known function writes the guarded state, so that no claim is necessary. */
  isIdle = false
  /** Whether the lock belongs to one object: see mustWaitFor. */
  isOfObject = false
  /** The locks that have been merged with this lock. The first peer has the claims. @type {Lock[]} */
  peers = [this]
  /** @type {Hold[]} */
  holds = NONE
  /** The stay in which the activation of the guarded variables started. @type {Stay | null} */
  birth = null
  /** The waiting claims; null before the first one. @type {InstanceType<typeof WaitQueue> | null} */
  queue = null
  /** The waiting claims in order of arrival. @type {Claim[]} */
  waiting = NONE

  /** Claims exclusively. @param {number} site @returns {boolean} whether the code must wait */
  X(site) {
    return mustWait(this.peers[0], true, site)
  }
  /** Claims shared. @param {number} site @returns {boolean} whether the code must wait */
  S(site) {
    return mustWait(this.peers[0], false, site)
  }
  /** Claims exclusively in code that cannot wait. @param {number} site */
  P(site) {
    claimAtOnce(this.peers[0], true, site)
  }
  /** Claims shared in code that cannot wait. @param {number} site */
  Q(site) {
    claimAtOnce(this.peers[0], false, site)
  }

  /** @param {Job | null} job @returns {Hold | undefined} */
  holdOf(job) {
    return find(this.holds, hold => hold.job === job)
  }

  /**
   * Returns the holds of other jobs that conflict with a claim.
   *
   * @param {Job | null} job @param {boolean} isExclusive @returns {Hold[]}
   */
  conflicts(job, isExclusive) {
    return filter(this.holds, hold => hold.job !== job && (isExclusive || hold.isExclusive))
  }

  /**
   * Whether a claim can be granted now.
   *
   * @param {Job} job @param {boolean} isExclusive @param {Claim} [claim] the claim, if it is waiting already
   */
  isFree(job, isExclusive, claim) {
    if (this.holds.length > 0 && this.conflicts(job, isExclusive).length > 0) return false
    return this.waiting.length === 0 || this.before(job, isExclusive, claim).length === 0
  }

  /**
   * Returns the earlier conflicting claims of at least the same rank. These are granted first. A holder that
   * becomes exclusive does not queue, because all other claims wait for this holder.
   *
   * @param {Job} job @param {boolean} isExclusive @param {Claim} [claim] see `isFree`
   */
  before(job, isExclusive, claim) {
    if (this.holdOf(job) !== undefined) return []
    let isEarlier = true
    return filter(this.waiting, other => {
      isEarlier &&= other !== claim
      return isEarlier && other.job !== null && (isExclusive || other.isExclusive) &&
        code.compare(other.job, job) <= 0
    })
  }

  /**
   * Grants the claim of a job that runs, if no other claim conflicts, or if a wait would close a cycle.
   *
   * @param {Job} job @param {boolean} isExclusive @param {number} site
   * @returns {boolean} whether the claim is granted
   */
  take(job, isExclusive, site) {
    const hold = this.holdOf(job)
    if (hold !== undefined && (hold.isExclusive || !isExclusive)) {
      this.note(job)
      return true
    }
    if (!this.isFree(job, isExclusive)) {
      if (!closesCycle(this, job, isExclusive)) return false
      warnOfCycle(this, job, isExclusive, site)
    }
    this.add(job, isExclusive, site)
    return true
  }

  /** Grants a claim. @param {Job} job @param {boolean} isExclusive @param {number} site */
  add(job, isExclusive, site) {
    const stay = stayFor(job)
    stay.isExclusive ||= isExclusive
    const hold = this.holdOf(job)
    if (hold === undefined) {
      this.holds = pushAll(pushAll([], this.holds), [{ job, isExclusive, site }])
      push(stay.locks, this)
      if (this.isOfObject && !stay.hasObjects) {
        stay.hasObjects = true
        code.countHolders(1)
      }
      if (this.queue !== null && this.queue.size > 0) this.queue.addOwner(job)
    } else if (isExclusive) {
      hold.isExclusive = true
      hold.site = site
    }
    this.note(job)
  }

  /** Shows a holder to rewritten text. @param {Job} job */
  note(job) {
    const stay = stayFor(job)
    this.show(this.holdOf(job)?.isExclusive ? stay : HELD, stay)
  }

  /** Sets the fields that rewritten text compares. @param {any} h @param {any} r */
  show(h, r) {
    const { peers } = this
    for (let i = 0; i < peers.length; i++) {
      peers[i].h = h
      peers[i].r = r
    }
  }

  /**
   * Joins another lock with this lock: the holders of either lock hold the joined lock. A waiting claim that
   * is now part of a cycle is granted.
   *
   * @param {Lock} other the first of its peers
   */
  merge(other) {
    const { peers, isIdle } = this
    const { 0: last, length } = other.peers
    const { holds } = last
    const claims = pushAll(pushAll([], this.waiting), last.waiting)
    for (let i = 0; i < length; i++) push(peers, other.peers[i])
    for (let i = 0; i < peers.length; i++) {
      peers[i].peers = peers
      peers[i].isIdle = isIdle && last.isIdle
    }
    forEach(claims, claim => {
      claim.lock.dequeue(claim)
      claim.lock = this
    })
    forEach(holds, ({ job, isExclusive, site }) => {
      last.remove(job)
      this.add(job, isExclusive, site)
    })
    forEach(claims, claim => {
      const { job, isExclusive, site } = claim
      if (job === null || !closesCycle(this, job, isExclusive)) return this.enqueue(claim)
      warnOfCycle(this, job, isExclusive, site)
      this.add(job, isExclusive, site)
      claim.wake()
    })
  }

  /**
   * Makes the stay in which the activation started an ordinary holder. Called when another stay, or code
   * outside jobs, claims the lock of the activation.
   */
  settle() {
    const birth = /** @type {Stay} */ (this.birth)
    this.birth = null
    this.h = this.r = null
    if (code.stayOf(birth.job) === birth) this.add(birth.job, true, -1)
  }

  /** Removes a holder whose stay has ended. @param {Job} job */
  remove(job) {
    this.holds = filter(this.holds, hold => hold.job !== job)
    const left = this.holds.length > 0 ? HELD : null
    this.show(left, left)
    this.queue?.deleteOwner(job)
  }

  /** Grants the waiting claims that can be granted, in order of rank. */
  grant() {
    while (this.waiting.length > 0) {
      const order = sort(filter(this.waiting, ({ job }) => job !== null), compareClaims)
      const canHave = (/** @type {any} */ claim) => this.isFree(claim.job, claim.isExclusive, claim)
      const claim = find(order, canHave)
      if (claim === undefined) return
      const { job } = claim
      this.dequeue(claim)
      this.add(job, claim.isExclusive, claim.site)
      explain(claim.site, claim.holder, job, code.now(job) - claim.since)
      claim.wake()
    }
  }

  /** @param {Claim} claim */
  enqueue(claim) {
    this.queue ??= new WaitQueue()
    const { queue } = this
    this.waiting = pushAll(pushAll([], this.waiting), [claim])
    queue.push(claim)
    forEach(this.holds, ({ job }) => queue.addOwner(job))
  }
  /** @param {Claim} claim */
  dequeue(claim) {
    this.queue?.remove(claim)
    this.waiting = filter(this.waiting, other => other !== claim)
    const { queue } = this
    if (queue !== null && queue.size === 0) forEach(this.holds, ({ job }) => queue.deleteOwner(job))
  }
}

/** @param {any} a @param {any} b another waiting claim */
const compareClaims = (a, b) => code.compare(a.job, b.job)

/**
 * Claims a lock for the stay of the running job.
 *
 * @param {Lock} lock @param {boolean} isExclusive @param {number} site
 * @returns {boolean} whether the code must wait for the claim that was passed to `expect`
 */
function mustWait(lock, isExclusive, site) {
  const { job } = counts
  if (lock.birth !== null) lock.settle()
  if (lock.isIdle || job !== null && code.isFree(job)) return false
  if (job === null || isDriving() || code.isInSection(job) || code.isInEvent(job)) {
    claimAtOnce(lock, isExclusive, site)
    return false
  }
  if (lock.take(job, isExclusive, site)) return false
  expect(new Claim(lock, isExclusive, site))
  return true
}

/**
 * Claims a lock in code that cannot wait: the other holders run to the end of their stays first. Code outside
 * of jobs keeps no claim, because nothing can interrupt it.
 *
 * @param {Lock} lock @param {boolean} isExclusive @param {number} site
 */
function claimAtOnce(lock, isExclusive, site) {
  const { job } = counts
  if (lock.birth !== null) lock.settle()
  if (lock.isIdle || job !== null && code.isFree(job)) return
  const hold = job === null ? undefined : lock.holdOf(job)
  if (job !== null && hold !== undefined && (hold.isExclusive || !isExclusive)) return lock.note(job)
  finishHolders(lock, job, isExclusive, site)
  if (job !== null) lock.add(job, isExclusive, site)
}

/**
 * Runs the holders of a lock to the end of their stays, in the order of their ranks.
 *
 * @param {Lock} lock @param {Job | null} job the claiming job @param {boolean} isExclusive
 * @param {number} site
 */
function finishHolders(lock, job, isExclusive, site) {
  if (lock.conflicts(job, isExclusive).length === 0) return
  if (job !== null) push(below, job)
  finishEach(lock, job, isExclusive, hold => {
    const since = code.now(hold.job)
    const isFinished = finishStay(hold.job)
    if (isFinished) explain(site, hold, job, code.now(hold.job) - since)
    else warn(hold.site, site)
    return isFinished
  })
  if (job !== null) takeLast(below)
}

/**
 * Finishes the holders of a lock, the one with the highest rank first. The end of a stay grants the lock to a
 * waiting job, which is then a holder too.
 *
 * @param {Lock} lock @param {Job | null} job the claiming job @param {boolean} isExclusive
 * @param {(hold: Hold) => boolean} finish returns `false` if the holder cannot be finished
 * @returns {boolean} whether all holders were finished
 */
function finishEach(lock, job, isExclusive, finish) {
  const stuck = emptySet()
  for (;;) {
    const holds = filter(lock.conflicts(job, isExclusive), hold => !stuck.has(hold.job))
    if (holds.length === 0) return stuck.size === 0
    sort(holds, (/** @type {Hold} */ a, /** @type {Hold} */ b) => code.compare(a.job, b.job))
    if (!finish(holds[0])) stuck.add(holds[0].job)
  }
}

/**
 * Runs a suspended job to the end of its stay, inside the current step.
 *
 * @param {Job} job
 * @returns {boolean} `false` if the call stack contains code of the job, or code that the job waits for
 */
export function finishStay(job) {
  const stay = code.stayOf(job)
  const isOver = () => code.stayOf(job) !== stay
  while (!isOver()) {
    if (isBelow(job)) return false
    const waitable = code.waitOf(job)
    if (waitable instanceof Claim) {
      push(below, job)
      const { lock, isExclusive } = waitable
      const isFinished = finishEach(lock, job, isExclusive, hold => finishStay(hold.job))
      takeLast(below)
      if (isOver()) break
      if (!isFinished) return false
      if (code.waitOf(job) === waitable) lock.grant()
      if (code.waitOf(job) === waitable && lock.isFree(job, isExclusive, waitable)) return false
    } else {
      undriven(() => code.runInside(job, isOver))
      if (!isOver() && !(code.waitOf(job) instanceof Claim)) return false
    }
  }
  return true
}

/**
 * Whether a holder waits for the claiming job, directly or through other jobs, or is below it on the call
 * stack.
 *
 * @param {Lock} lock @param {Job} job @param {boolean} isExclusive
 */
function closesCycle(lock, job, isExclusive) {
  /** @type {Job[]} */
  const found = []
  /** Collects the jobs that a claim waits for. */
  const visit = (/** @type {{ lock: Lock, job: Job, isExclusive: boolean, claim: Claim | undefined }} */
    { lock, job, isExclusive, claim }) => {
    const others = jobsOf(lock.conflicts(job, isExclusive))
    pushAll(others, jobsOf(lock.before(job, isExclusive, claim)))
    forEach(others, other => find(found, job => job === other) === undefined && push(found, other))
  }
  visit({ lock, job, isExclusive, claim: undefined })
  for (let i = 0; i < found.length; i++) {
    if (found[i] === job || isBelow(found[i])) return true
    const waitable = code.waitOf(found[i])
    if (waitable instanceof Claim) {
      visit({ lock: waitable.lock, job: found[i], isExclusive: waitable.isExclusive, claim: waitable })
    }
  }
  return false
}

// Explanations

/** Pairs of sites that the console has reported. @type {Set<string>} */
const told = emptySet()

/**
 * Reports a long wait of a claim on the console.
 *
 * @param {number} site @param {Hold | undefined} holder the first holder that blocked the claim
 * @param {Job | null} job the job that has waited, or null for code outside jobs @param {number} ms
 */
function explain(site, holder, job, ms) {
  if (ms < NOTABLE) return
  const holderSite = holder?.site ?? -1
  const location = sites.get(site)?.location ?? 'the same state'
  const remedy = holder && job ? code.noteWait(job, holder.job, location, ms) : undefined
  say(`w ${site} ${holderSite}`, `${nameOf(site)} waited ${Math.round(ms)} ms for ${nameOf(holderSite)}, ` +
    `because both use ${location}. If they may interleave, ${remedy ?? OVERRIDE}.`)
}

const OVERRIDE = 'import the package with { exclusive: false }'

/** @param {number} site */
const nameOf = site => sites.get(site)?.fn || 'a function'

/** @param {number} holder @param {number} site */
const warn = (holder, site) => say(`c ${holder} ${site}`,
  `${nameOf(site)} and ${nameOf(holder)} interleave, because each waits for the other. Both use ` +
  `${sites.get(site)?.location ?? 'the same state'}.`)

/** @param {Lock} lock @param {Job} job @param {boolean} isExclusive @param {number} site */
function warnOfCycle(lock, job, isExclusive, site) {
  forEach(lock.conflicts(job, isExclusive), hold => warn(hold.site, site))
}

/** @param {string} key @param {string} text */
function say(key, text) {
  if (told.has(key)) return
  told.add(key)
  realm.console?.warn(`rt.mjs: ${text}`)
}

/** Returns the stay of a job. A stay starts with the first claim. @param {Job} job @returns {Stay} */
function stayFor(job) {
  let stay = /** @type {Stay | null} */ (code.stayOf(job))
  if (stay === null) code.setStay(job, stay = new Stay(job))
  return stay
}

/**
 * Makes the lock of an activation. The current stay holds the lock, and this hold costs nothing until another
 * stay claims the lock.
 *
 * @returns {Lock}
 */
export function ownLock() {
  const lock = new Lock()
  const { job } = counts
  if (job !== null) lock.h = lock.r = lock.birth = stayFor(job)
  return lock
}

// Claims by identity

/**
 * The locks of objects that were arguments of calls from code that is not rewritten.
 *
 * @type {WeakMap<object, Lock>}
 */
const identities = /* @__PURE__ */ emptyWeakMap()

/** Whether a value is an object that can be claimed. @param {any} value */
const isObject = value => typeof value === 'object' && value !== null && value !== realm

/** @param {object} object @returns {Lock} */
function lockOfObject(object) {
  let lock = identities.get(object)
  if (lock === undefined) {
    identities.set(object, lock = new Lock())
    lock.isOfObject = true
  }
  return lock
}

/**
 * Claims an argument by its identity. Claims by identity exclude only each other.
 *
 * @param {any} value @param {boolean} isExclusive @returns {boolean} whether the job must wait
 */
const mustWaitFor = (value, isExclusive) =>
  isObject(value) && mustWait(lockOfObject(value), isExclusive, -1)

/**
 * Claims an argument by its identity in code that cannot wait.
 *
 * @param {any} value @param {boolean} isExclusive
 */
function claimObjectAtOnce(value, isExclusive) {
  if (!isObject(value) || (counts.job === null && !identities.has(value))) return
  claimAtOnce(lockOfObject(value), isExclusive, -1)
}

/**
 * Whether a function may change an argument.
 *
 * @param {number} changes a bit for each argument that the function may change; bit 0 is `this`
 * @param {number} index the number of the argument; 0 is `this`
 */
const isChanged = (changes, index) => (changes >> index & 1) > 0

/**
 * Claims the arguments of a plain call.
 *
 * @param {number} changes see `isChanged` @param {any[]} values `this`, and the arguments
 */
export function claimArguments(changes, values) {
  for (let i = 0; i < values.length; i++) claimObjectAtOnce(values[i], isChanged(changes, i))
}

/** `this` and the arguments of a call that spans several stays. Rewritten text calls the members. */
export class Arguments {
  /** @param {number} changes see `isChanged` @param {any[]} values `this`, and the arguments */
  constructor(changes, values) {
    this.changes = changes
    this.values = values
    /** The last stay that has claimed the arguments. @type {any} */
    this.stay = null
  }

  /** Claims the arguments in code that cannot wait. */
  P() {
    const { changes, values, stay } = this
    if (counts.job === null ? counts.i === 0 : stay !== null && stay === counts.stay) return
    claimArguments(changes, values)
    this.stay = counts.stay
  }

  /** Claims the arguments. @returns {Generator<any, void, any>} a call that the scheduler runs */
  *X() {
    const { changes, values } = this
    for (let i = 0; i < values.length; i++) {
      if (mustWaitFor(values[i], isChanged(changes, i))) yield takeExpected()
    }
  }
}

/** @param {number} changes @param {any[]} values see `Arguments` */
export const argumentsOf = (changes, values) => new Arguments(changes, values)

/**
 * Returns the function that the scheduler calls to start a twin: it claims `this` and the arguments.
 *
 * @param {any} generatorFunction @param {number} changes see `isChanged`
 */
export const startingWith = (generatorFunction, changes) => /** @this {any} @param {any[]} args */ function (
  ...args
) {
  if (mustWaitForAll(this, args, changes)) return startLater(generatorFunction, this, args, changes)
  return apply(generatorFunction, this, args)
}

/**
 * Waits for the claim of an argument, claims the following arguments, and starts the twin.
 *
 * @param {any} generatorFunction @param {any} self @param {any[]} args @param {number} changes
 * @returns {Generator<any, any, any>}
 */
function* startLater(generatorFunction, self, args, changes) {
  do yield takeExpected()
  while (mustWaitForAll(self, args, changes))
  return yield apply(generatorFunction, self, args)
}

/**
 * Returns a twin for code that is not rewritten. The twin claims `this` and the arguments when it starts.
 *
 * @param {any} generatorFunction @param {number} changes see `isChanged`
 */
export const claimingTwin = (generatorFunction, changes) =>
  /** @this {any} @param {any[]} args @returns {Generator<any, any, any>} */ function* (...args) {
    while (mustWaitForAll(this, args, changes)) yield takeExpected()
    const { job } = counts
    code.enter(job, 1)
    try {
      return yield* /** @type {any} */ (new Delegate(apply(generatorFunction, this, args)))
    } finally {
      code.enter(job, -1)
    }
  }

/**
 * A generator with methods that a page cannot replace. Code that yields the generator itself would suspend
 * the job once more before the body starts.
 */
class Delegate {
  /** @param {any} generator */
  constructor(generator) {
    this.generator = generator
  }
  /** @param {any} value */
  next(value) { return apply(steps.next.value, this.generator, [value]) }
  /** @param {any} error */
  throw(error) { return apply(steps.throw.value, this.generator, [error]) }
  /** @param {any} value */
  return(value) { return apply(steps.return.value, this.generator, [value]) }
  [symbolIterator]() { return this }
}

/**
 * Claims `this` and the arguments, up to the first claim that must wait.
 *
 * @param {any} self @param {any[]} args @param {number} changes see `isChanged`
 * @returns {boolean} whether the job must wait
 */
function mustWaitForAll(self, args, changes) {
  if (mustWaitFor(self, isChanged(changes, 0))) return true
  for (let i = 0; i < args.length; i++) if (mustWaitFor(args[i], isChanged(changes, i + 1))) return true
  return false
}

/**
 * Returns a function that claims contested locations and the arguments for a function without a twin.
 *
 * @param {() => boolean} claim @param {number} changes see `whole`
 * @returns {(self: any, args: any[]) => boolean} whether the job must wait
 */
export const claimingAll = (claim, changes) => (self, args) => mustWaitForAll(self, args, changes) || claim()

/**
 * Returns the function that the scheduler calls to start a function without a twin. Its claims come before
 * the call, because the scheduler can wait.
 *
 * @param {any} fn @param {() => boolean} claim @param {number} changes see `whole`
 */
export const startingAfter = (fn, claim, changes) => {
  const claimAll = claimingAll(claim, changes)
  return /** @this {any} @param {any[]} args */ function (...args) {
    return claimAll(this, args) ? callLater(fn, this, args, claimAll) : apply(fn, this, args)
  }
}

/**
 * @param {any} fn @param {any} self @param {any[]} args
 * @param {(self: any, args: any[]) => boolean} claim whether the job must wait
 * @returns {Generator<any, any, any>}
 */
function* callLater(fn, self, args, claim) {
  do yield takeExpected()
  while (claim(self, args))
  return apply(fn, self, args)
}

// Locks by name

/** @type {Map<string, Lock>} */
const locks = emptyMap()

/** The name of the lock of the objects that own code imports from unknown texts. */
export const IMPORTS = 'imported objects'
/** The start of the names of the locks of global variables, and a name of the lock of all of them. */
export const GLOBALS = 'global '

/** Makes a lock of the object that a stand-in has given to a script. @param {any} lock */
export function adoptLock(lock) {
  const { names, isContested, isExporting } = lock
  assign(setPrototypeOf(lock, Lock.prototype), new Lock())
  lock.peers = [lock]
  lock.isIdle = !isContested
  if (names !== undefined) lockOf(names, isContested, isExporting).merge(lock)
}

/** Locks of own code that guard exported objects. @type {Lock[]} */
const exporting = []

/**
 * Returns the lock of a package, or of a group of locations. Two locks with a common name are merged.
 *
 * @param {string} names the names of the lock, in lines
 * @param {boolean} [isContested] whether a function writes one of the locations; otherwise claims are
 *   ignored until another text contests the group
 * @param {boolean} [isExporting] whether unknown texts can import one of the objects
 * @returns {Lock}
 */
export function lockOf(names, isContested = false, isExporting = false) {
  const list = split(names, '\n')
  const first = find(list, name => locks.has(name))
  const lock = first === undefined ? new Lock() : /** @type {Lock} */ (locks.get(first)).peers[0]
  if (first === undefined) lock.isIdle = true
  const join = (/** @type {Lock | undefined} */ other) => {
    if (other !== undefined && other.peers !== lock.peers) lock.merge(other.peers[0])
  }
  forEach(list, name => {
    join(locks.get(name))
    locks.set(name, lock)
  })
  if (isExporting) {
    push(exporting, lock)
    join(locks.get(IMPORTS))
  }
  if (find(list, name => name === IMPORTS)) forEach(exporting, join)
  if (find(list, name => startsWith(name, GLOBALS))) join(locks.get(GLOBALS))
  if (find(list, name => name === GLOBALS)) {
    locks.forEach((other, name) => { if (startsWith(name, GLOBALS)) join(other) })
  }
  if (isContested) forEach(lock.peers, peer => { peer.isIdle = false })
  return lock
}
