/**
 * addons/adopt/calls.mjs: the calls of a page's callbacks, as jobs.
 */

import { apply, releaseOf, scriptAddress, startsJob } from '../../alarms.mjs'
import { extend } from '../../rt.mjs'
import { OwnMap, OwnSet, OwnWeakMap, holderOf, nameOf } from './books.mjs'
import { followsEdit, precedesEdit } from './edits.mjs'
/** @import { Job, Scheduler } from '../../rt.mjs' */
/** @import { AdoptionRow, AdoptionRule, AdoptionWait } from '../adopt.mjs' */
/** @import { Edit } from './edits.mjs' */

const { Waitable, Waiter } = extend

/**
 * An invocation of a callback: the function with its receiver, arguments and event.
 *
 * @typedef {object} Invocation
 * @property {AdoptionRow} row
 * @property {Function} fn
 * @property {any} self
 * @property {any[]} args
 * @property {any} owner the key by which the page can take the call back: the id of a timer, an observer, or
 *   the map of all listeners of the same type and phase
 * @property {any} [part] the key within the owner: the kind of timer, the listener, or null for the handler
 *   in a property
 * @property {any} [event]
 * @property {any} [called] the function that the event calls
 * @property {boolean} [isWhole] whether the callback runs to completion
 * @property {(fn: (time: number) => void) => void} [nextFrame] calls a function in the next frame; only for
 *   frame callbacks
 */

/** A call that has not ended. A job that waits for this waitable waits for the turn of the call. */
class Call extends Waitable {
  /** @type {Job | null} */
  made = null
  /** The waitable that settles when the job ends. @type {any} */
  end = null
  /** The value that the callback returned. @type {any} */
  value = undefined
  isWaiting = false
  isQueued = false
  /** How long the call stays in its event: see `#useOf`. */
  use = 0
  /** Whether the call runs to completion inside its event. */
  isWhole = false
  /** Whether a listener is called right after an edit, and no rule lets it interleave. */
  followsEdit = false
  /** Whether a frame callback waits for claims, before its first statement. */
  isAtEntry = false

  /**
   * @param {Invocation} invocation @param {AdoptionRule} rule @param {number} release
   * @param {number} priority the priority under the policy of the scheduler
   */
  constructor(invocation, rule, release, priority) {
    super()
    const { event } = invocation
    this.invocation = invocation
    this.rule = rule
    this.release = release
    /** The innermost target of the event. Listeners of its parents receive the event too. */
    this.target = event && (event.composedPath?.()[0] ?? event.target)
    /**
     * The position of the event on its path when the listener was called.
     *
     * @type {{ target: any, currentTarget: any, eventPhase: number } | undefined}
     */
    this.propagation = event && propagationOf(event)
    this.absoluteDeadline = release + (rule.deadline ?? Infinity)
    this.priority = priority
  }
  get isRanked() { return false }
  get isExternal() { return true } // a task of the platform wakes the job

  /** Whether the call waits neither for its turn nor, in a paused scheduler, for its first dispatch. */
  get hasBegun() { return !this.isWaiting && this.made?.started !== undefined }
  /** Cancels the call if it has not started. */
  drop() {
    if (!this.hasBegun) this.made?.cancel()
  }
}

/** Runs the calls of a page's callbacks as jobs. */
export class Calls {
  isReleased = false
  /**
   * The calls that have not ended, by reservation, in order of rank. Calls of equal rank keep their order of
   * arrival.
   *
   * @type {Map<any, Call[]>}
   */
  #queues = new OwnMap()
  /** The calls that had not ended when `enter` returned, by job. @type {WeakMap<Job, Call>} */
  #calls = new OwnWeakMap()
  /** The call that has been entered most recently. @type {Call | null} */
  #begun = null
  /** @type {Map<string, AdoptionRow>} */
  #rows = new OwnMap()
  /** The event for which earlier calls had to finish, and the time limit for these calls. */
  #event = null
  #until = 0
  /** The calls that have not ended, by owner. @type {Map<any, Set<Call>>} */
  #pending = new OwnMap()
  /** The newest waiting call of each callback with the rule `latest`. @type {WeakMap<Function, Call>} */
  #newest = new OwnWeakMap()
  /**
   * The latest calls that have ended, and have started asynchronous code.
   *
   * @type {Set<Call>}
   */
  #tails = new OwnSet()
  #source = Function.prototype.toString
  #unwatch
  #unwait
  /** Records how long the user's edit waited for a call. @type {(row: AdoptionRow, ms: number) => void} */
  #warnOfEdit

  /** @param {Scheduler} scheduler @param {any} target @param {boolean} warn */
  constructor(scheduler, target, warn) {
    const { console, reportError } = target
    this.scheduler = scheduler
    const warned = new OwnSet()
    const fail = (/** @type {unknown} */ error) => queueMicrotask(() => { throw error })
    this.fail = reportError?.bind(target) ?? fail
    this.#unwatch = extend.page.onStall(scheduler, (job, ms) => {
      const call = this.#callOf(job)
      if (call === undefined || call === null) return
      const { row } = call.invocation
      addStall(row, ms)
      if (!warn || ms < LONG_TASK || warned.has(row)) return
      warned.add(row)
      const { kind, name, where } = row
      const registration = where && `, registered at ${where},`
      const time = `${Math.round(ms)} ms`
      console?.warn(
        `${kind} ${name}${registration} kept the thread for ${time}: ${remedyFor(call)}`.trimStart())
    })
    this.#unwait = extend.page.onWait(scheduler, (job, holder, location, ms) => {
      const row = this.#callOf(job)?.invocation.row
      const other = this.#callOf(holder)?.invocation.row
      if (row === undefined) return
      const rule = ruleFor(row)
      addWait(row, { for: other === undefined ? holder.name : titleOf(other), location, ms, rule })
      return `give adopt() the rule ${rule}`
    })
    this.#warnOfEdit = (/** @type {AdoptionRow} */ row, /** @type {number} */ ms) => {
      if (ms < LONG_TASK) return
      const rule = ruleFor(row)
      const isFirst = addWait(row, { for: "the user's next edit", location: 'the edited field', ms, rule })
      if (!isFirst || !warn) return
      console?.warn(`${titleOf(row)} finished before the user's next edit, for ${Math.round(ms)} ms. ` +
        `If it only reads the field, give adopt() the rule ${rule}.`)
    }
  }

  /**
   * Returns the row of a callback, found by the text of its function. Functions that a page creates again for
   * each timer therefore share a row. Only the first registration captures a stack trace.
   *
   * @param {string} kind @param {any} fn @param {() => string} [where] @returns {AdoptionRow}
   */
  row(kind, fn, where = callingLine) {
    const isFunction = typeof fn === 'function'
    const text = isFunction ? apply(this.#source, fn, []) : nameOf(Object.getPrototypeOf(fn)?.constructor)
    const name = () => (isFunction ? nameOf(fn) : text) || 'anonymous'
    return this.#rowOf(`${kind} ${text.length} ${text.slice(0, SHOWN)}`, kind, name, where)
  }

  /**
   * @param {string} key @param {string} kind @param {() => string} name @param {() => string} where
   * @returns {AdoptionRow}
   */
  #rowOf(key, kind, name, where) {
    let row = this.#rows.get(key)
    if (row !== undefined) return row
    if (this.#rows.size >= MAX_ROWS && key !== '') return this.#rowOf('', '', () => 'others', () => '')
    const counts = { calls: 0, time: 0, longest: 0, stalls: 0, longestStall: 0, misses: 0 }
    row = { kind, name: name(), where: where(), ...counts }
    this.#rows.set(key, row)
    return row
  }

  /**
   * Adds a script of a long animation frame to the report, unless the script is part of the scheduler.
   *
   * @param {any} script PerformanceScriptTiming
   */
  tell({ sourceURL, sourceFunctionName, sourceCharPosition, invoker, duration }) {
    if (isOwnLocation(sourceURL) || [scriptAddress(), extend.page.url].includes(sourceURL)) return
    const where = `${sourceURL}:${sourceCharPosition}`
    const row = this.#rowOf(`script ${where}`, 'script', () => sourceFunctionName || invoker, () => where)
    this.#add(row, duration)
    addStall(row, duration)
  }

  /** Stops the adoption: waiting calls still run as jobs; the platform makes later calls natively. */
  release() {
    this.isReleased = true
    this.#unwatch()
    this.#unwait()
  }

  report() {
    /** @type {AdoptionRow[]} */
    const rows = []
    this.#rows.forEach(row => rows.push(row.waits ? { ...row, waits: row.waits.slice() } : { ...row }))
    return rows.sort((a, b) => b.time - a.time)
  }

  /**
   * Starts a call as a job, or lets it wait for its turn. A call inside another call, a call by a script
   * (`isTrusted` is `false`) and a call after `release` are made natively.
   *
   * @param {Invocation} invocation @param {AdoptionRule} [rule]
   * @returns {any} the result of the callback, if the call has ended
   */
  enter(invocation, rule = {}) {
    const { row, fn, self, args, event, called } = invocation
    const { scheduler } = this
    const isNative = this.isReleased || extend.page.isBusy() || event?.isTrusted === false
    if (isNative) return apply(fn, self, args)
    const isNested = () => event !== undefined && scheduler.host.nested?.(called)
    const call = this.#newCall(invocation, rule)
    const queue = this.#queueOf(rule.reservation)
    const waits = call.isWaiting = this.#mustWait(queue, call)
    if (waits && isNested()) return apply(fn, self, args)
    const { stalls } = row
    const options = optionsOf(call)
    const spawn = () => this.#spawn(queue, call)
    this.#begun = call
    if (waits || scheduler.paused) spawn()
    else extend.page.run(scheduler, spawn, options)
    const job = /** @type {Job} */ (call.made)
    if (!waits && job.finished === undefined && isNested()) {
      call.isWhole = true
      extend.page.run(scheduler, () => job, WHOLE)
    }
    this.#reportStall(call, stalls)
    const hasEnded = call.end.enlist(new Waiter(null, () => this.#leave(queue, call)))
    if (hasEnded) return this.#resultOf(call)
    this.#addUnfinished(queue, call, waits)
    if (event === undefined) return this.#renewTime(call)
    if (waits && mustStartInEvent(call)) return this.#startInEvent(queue, call, options, stalls)
  }

  /** @param {Invocation} invocation @param {AdoptionRule} rule @returns {Call} */
  #newCall(invocation, rule) {
    const { scheduler } = this
    const { event } = invocation
    const { deadline = Infinity, priority: given = 0, latest, interleave } = rule
    const release = event === undefined ? scheduler.now() : releaseOf(scheduler, event)
    const priority = scheduler.policy.priority?.({ deadline, priority: given, period: Infinity }) ?? given
    const call = new Call(invocation, rule, release, priority)
    call.use = this.#useOf(call)
    call.isWhole = call.use === TO_END
    call.followsEdit = event !== undefined && !latest && !interleave && followsEdit(event, call.target)
    return call
  }

  /** Spawns the job of a call. @param {Call[]} queue @param {Call} call */
  #spawn(queue, call) {
    const { invocation: { row }, rule, release } = call
    const { deadline = Infinity, priority = 0, reservation, interleave } = rule
    const work = () => call.isWaiting ? this.#startInTurn(call) : this.#start(call)
    const parameters = { name: `${row.kind} ${row.name}`, deadline, priority, reservation, release }
    const job = call.made = this.scheduler.spawn(work, parameters)
    if (interleave) extend.code.waive(job)
    extend.page.serve(job, time => this.#postpone(queue, call, time))
    call.end = Waitable.of(job) // the platform reports the errors of the job
    return job
  }

  /**
   * Reports a call that runs to completion if all of its steps together take longer than a slice. Its steps
   * are not reported again.
   *
   * @param {Call} call @param {number} stalls the stalls of its row before the call
   */
  #reportStall({ isWhole, made, invocation: { row } }, stalls) {
    const job = /** @type {Job} */ (made)
    if (isWhole && row.stalls === stalls && job.cost > this.scheduler.slice) extend.page.stall(job)
  }

  /** Returns the result of a call that has ended, or throws its error. @param {Call} call */
  #resultOf(call) {
    this.#count(call)
    this.#keepTail(call)
    if (call.end.isFulfilled) return call.value
    throw call.end.outcome
  }

  /** @param {Call[]} queue @param {Call} call @param {boolean} waits whether the call waits for its turn */
  #addUnfinished(queue, call, waits) {
    const { fn, event, owner } = call.invocation
    this.#calls.set(/** @type {Job} */ (call.made), call)
    this.#insert(queue, call)
    if (event !== undefined) this.#keepPropagation(event)
    if (waits && call.rule.latest) this.#replace(fn, call)
    const others = this.#pending.get(owner) ?? new OwnSet()
    this.#pending.set(owner, others.add(call))
  }

  /**
   * Starts a waiting call inside its event, after the calls before it.
   *
   * @param {Call[]} queue @param {Call} call
   * @param {any} options the options of `extend.page.run`
   * @param {number} stalls the stalls of its row before the call
   * @returns {any} the result of the callback, if the call has ended
   */
  #startInEvent(queue, call, options, stalls) {
    const job = /** @type {Job} */ (call.made)
    this.#makeWay(queue, call)
    if (job.finished !== undefined) return
    call.isWaiting = false
    extend.page.run(this.scheduler, () => job, options)
    this.#reportStall(call, stalls)
    if (call.end.isFulfilled) return call.value
  }

  /**
   * Whether a call must wait until earlier calls have ended. In a plain page no other callback runs between
   * an edit and its listeners. So a listener of an edit starts before other callbacks that have not ended.
   *
   * @param {Call[]} queue @param {Call} call
   */
  #mustWait(queue, call) {
    const { policy } = this.scheduler
    if (queue.length === 0 || policy.compare(queue[0], call) > 0) return false
    // Listeners of earlier edits have finished before this edit.
    if (!call.followsEdit || queue.every(other => other.followsEdit)) return true
    queue.filter(other => other.followsEdit).forEach(other => this.#finish(other))
    return false
  }

  /** @param {any} owner @param {any} [part] @returns {Call[]} the calls that have not ended */
  pending(owner, part) {
    const calls = this.#pending.get(owner)
    return calls === undefined ? []
      : extend.membersOf(calls).filter(({ invocation }) => invocation.part === part)
  }

  /** Cancels the calls that have not started. @param {any} owner @param {any} [part] */
  drop(owner, part) {
    this.pending(owner, part).forEach(call => call.drop())
  }

  /**
   * Returns how long a call stays in its event: 0 (not at all), UNTIL_USE (until the last use of the event)
   * or TO_END (to completion).
   *
   * @param {Call} call
   */
  #useOf({ invocation: { fn, event, isWhole }, rule: { atomic, interleave }, target }) {
    if (isWhole || atomic) return TO_END
    if (event === undefined || startsJob(fn)) return 0
    if (precedesEdit(event, target)) return TO_END
    const use = extend.code.eventUseOf(fn)
    // A listener that only passes its event on may interleave, if the page's author says so.
    return interleave && use === TO_END ? 0 : use
  }

  /** @param {Call} call @returns {any} the call of a twin */
  #start(call) {
    call.isWaiting = false
    const { invocation: { fn, self, args, nextFrame }, rule: { atomic } } = call
    const isAsync = startsJob(fn) // the platform runs the code after the first await
    const body = isAsync || atomic ? fn : extend.preemptible(fn)
    const note = (/** @type {boolean} */ isWaiting) => { call.isAtEntry = isWaiting }
    const result = nextFrame === undefined || body === fn ? apply(body, self, args)
      : extend.code.startAtEntry(fn, self, args, note)
    if (body !== fn) return this.#end(call, result)
    call.value = result
  }

  /**
   * Runs the twin and stores the result of the callback. A promise as the result is not awaited.
   *
   * @param {Call} call @param {Generator<any, any, any>} twin
   */
  *#end(call, twin) {
    call.value = yield* twin
  }

  /** @param {Call} call @returns {Generator<any, any, any>} */
  *#startInTurn(call) {
    yield call
    yield this.#start(call)
  }

  /**
   * Cancels the waiting call of a callback at the same target, because a newer call replaces it.
   *
   * @param {Function} fn @param {Call} call the newer call
   */
  #replace(fn, call) {
    const before = this.#newest.get(fn)
    if (before?.propagation?.currentTarget === call.propagation?.currentTarget) before?.drop()
    this.#newest.set(fn, call)
  }

  /** @param {Job} job */
  #callOf(job) {
    return this.#begun?.made === job ? this.#begun : this.#calls.get(job)
  }

  /** @param {any} reservation @returns {Call[]} */
  #queueOf(reservation) {
    const queue = this.#queues.get(reservation) ?? []
    this.#queues.set(reservation, queue)
    return queue
  }

  /** Inserts a call after the calls of equal rank. @param {Call[]} queue @param {Call} call */
  #insert(queue, call) {
    const { policy } = this.scheduler
    let index = queue.length
    while (index > 0 && policy.compare(call, queue[index - 1]) < 0) index--
    queue.splice(index, 0, call)
    call.isQueued = true
  }

  /**
   * Moves a call in its queue after the rank of its job has changed.
   *
   * @param {Call[]} queue @param {Call} call @param {number} absoluteDeadline
   */
  #postpone(queue, call, absoluteDeadline) {
    call.absoluteDeadline = absoluteDeadline
    if (!call.isQueued) return
    queue.splice(queue.indexOf(call), 1)
    this.#insert(queue, call)
    this.#beginNext(queue)
  }

  /** Wakes the next call in a separate task, after the microtasks of this task. @param {Call[]} queue */
  #beginNext(queue) {
    if (queue[0]?.isWaiting) this.scheduler.host.post(() => { queue[0]?.wake() })
  }

  /**
   * Gives a frame callback that waits until the next frame the time of that frame.
   *
   * @param {Call} call
   */
  #renewTime(call) {
    const { args, nextFrame } = call.invocation
    if (call.isWaiting || call.isAtEntry) nextFrame?.((/** @type {number} */ time) => {
      if (!call.isWaiting && !call.isAtEntry || call.made?.finished !== undefined) return
      args[0] = time
      this.#renewTime(call)
    })
  }

  /**
   * Finishes the calls of listeners that an edit affects, and the calls before them in their queues. If the
   * edit changes a field, also finishes the calls that hold claims, and the listeners of earlier edits. Calls
   * with the rule `interleave` are not finished.
   *
   * @param {Edit} edit @returns {Call[]} the calls that may have been suspended
   */
  finish({ changesField, isAffected }) {
    const isAffectedCall = (/** @type {Call} */ { target, invocation: { event } }) =>
      event !== undefined && isAffected(event.type, target)
    const mustPrecede = (/** @type {Call} */ { followsEdit, made }) =>
      changesField && (followsEdit || extend.code.isInStay(/** @type {Job} */ (made)))
    /** @type {Call[]} */
    let found = extend.membersOf(this.#tails).filter(call => isAffectedCall(call) || mustPrecede(call))
    this.#queues.forEach(queue => {
      const last = queue.findLastIndex(call => !call.rule.interleave && isAffectedCall(call))
      found = found.concat(queue.filter((call, index) => index <= last || mustPrecede(call)))
    })
    found = found.filter(({ rule }) => !rule.interleave)
    found.forEach(call => this.#finish(call))
    return found
  }

  /**
   * Finishes asynchronous code that calls have started.
   *
   * @param {Call[]} calls @returns {boolean} `true` if asynchronous code of a call was unfinished
   */
  finishTails(calls) {
    const busy = calls.filter(({ made }) => extend.code.isBusy(/** @type {Job} */ (made)))
    busy.forEach(call => this.#finish(call))
    return busy.length > 0
  }

  /** @param {Call} call */
  #finish(call) {
    const job = /** @type {Job} */ (call.made)
    if (call.isWaiting) call.wake()
    const finish = () => {
      extend.code.finish(job)
      return job
    }
    const { cost } = job
    extend.page.run(this.scheduler, finish, WHOLE)
    this.#warnOfEdit(call.invocation.row, job.cost - cost)
  }

  /**
   * Runs the calls before a call that must start inside its event, for at most one round per event.
   *
   * @param {Call[]} queue @param {Call} call
   */
  #makeWay(queue, call) {
    const { scheduler } = this
    if (this.#event !== call.invocation.event) {
      this.#event = call.invocation.event
      this.#until = scheduler.now() + scheduler.round
    }
    while (call.isQueued && queue[0] !== call) { // an earlier call may remove the listener
      const first = queue[0]
      const left = this.#until - scheduler.now()
      if (!(left > 0)) break
      first.wake()
      extend.page.run(scheduler, () => /** @type {Job} */ (first.made), { ms: left })
      if (queue[0] === first) break // the first call is blocked
    }
  }

  /** @param {Call[]} queue @param {Call} call */
  #leave(queue, call) {
    queue.splice(queue.indexOf(call), 1)
    call.isQueued = false
    const { owner } = call.invocation
    const others = /** @type {Set<Call>} */ (this.#pending.get(owner))
    others.delete(call)
    if (others.size === 0) this.#pending.delete(owner)
    if (call.hasBegun) this.#count(call)
    const { end } = call
    if (!end.isFulfilled && /** @type {Job} */ (call.made).state === 'failed') this.fail(end.outcome)
    this.#keepTail(call)
    this.#beginNext(queue)
  }

  /** Keeps a call that has started asynchronous code. @param {Call} call */
  #keepTail(call) {
    if (extend.code.isBusy(/** @type {Job} */ (call.made)) === undefined) return
    this.#tails.add(call)
    if (this.#tails.size <= MAX_TAILS) return
    const isIdle = (/** @type {Call} */ { made }) => !extend.code.isBusy(/** @type {Job} */ (made))
    const oldest = extend.membersOf(this.#tails).find(isIdle)
    if (oldest !== undefined) this.#tails.delete(oldest)
  }

  /** @param {Call} call */
  #count({ invocation: { row }, made }) {
    const { cost, missed } = /** @type {Job} */ (made)
    this.#add(row, cost)
    if (missed) row.misses++
  }

  /** @param {AdoptionRow} row @param {number} ms */
  #add(row, ms) {
    row.calls++
    row.time += ms
    row.longest = Math.max(row.longest, ms)
  }

  /**
   * Redefines the properties of an event that change on its path: a job that reads them gets the values at
   * the call of its listener.
   *
   * @param {any} event
   */
  #keepPropagation(event) {
    PROPAGATION.forEach(name => {
      if (Object.hasOwn(event, name)) return
      const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(holderOf(event, name), name))
      const own = () => {
        const { current } = this.scheduler
        const running = current === null ? undefined : this.#callOf(current)
        const isOwn = running?.invocation.event === event
        return isOwn && running?.propagation ? running.propagation[name] : apply(get, event, [])
      }
      const property = { __proto__: null, configurable: true, get: own }
      Object.defineProperty(event, name, /** @type {any} */ (property))
    })
  }
}

/** Returns how the page runs a call. @param {Call} call */
function optionsOf({ invocation: { row, event }, rule: { atomic = false }, use }) {
  return {
    ms: use === TO_END ? Infinity : undefined,
    isInEvent: event !== undefined && (row.kind !== 'message' || use > 0) || atomic,
    usedEvent: use === UNTIL_USE ? event : null
  }
}

/** Whether the call of a listener must start before its event ends. @param {Call} call */
function mustStartInEvent({ invocation: { event }, rule: { latest = false }, use, isWhole }) {
  // Listeners of readystatechange read a state that changes while they wait.
  if (isWhole || event.type === 'readystatechange') return true
  return !latest && (event.cancelable || use === UNTIL_USE)
}

/** Returns why a stalled call could not be preempted, and the remedy. @param {Call} call */
function remedyFor({ invocation: { fn }, isWhole }) {
  const hasTwin = startsJob(fn) || extend.preemptible(fn) !== fn
  if (!hasTwin) return 'it was not rewritten; use the service worker or preemptify.import'
  if (isWhole) return 'it has a twin but was called plainly, inside its event; move the work to a job'
  if (startsJob(fn)) return 'it has a twin but was called plainly, up to its first await; await rt.yield()'
  return 'it made one call of the engine, or of code that was not rewritten; see preemptify.report'
}

/** Returns the title of a callback in messages. @param {AdoptionRow} row */
const titleOf = ({ kind, name }) => `${kind} ${name}`

/** Returns the text of the rule that waives the protection of a callback. @param {AdoptionRow} row */
const ruleFor = ({ kind }) => TIMED.test(kind) ? `{ ${kind}: { interleave: true } }`
  : `{ event: { type: '${kind}', interleave: true } }`
/** The kinds of callbacks with separate rules. */
const TIMED = /^(?:timer|frame|idle|observer|message)$/

/**
 * Adds a wait to a row, or lengthens the known wait of the same pair.
 *
 * @param {AdoptionRow} row @param {AdoptionWait} wait @returns {boolean} `true` if the pair is new
 */
function addWait(row, wait) {
  const waits = row.waits ??= []
  const known = waits.find(other => other.for === wait.for && other.location === wait.location)
  if (known !== undefined) known.ms = Math.max(known.ms, wait.ms)
  else if (waits.length < MAX_WAITS) waits.push(wait)
  return known === undefined
}
/** Maximum number of pairs that a row lists. */
const MAX_WAITS = 20

/** @param {AdoptionRow} row @param {number} ms */
function addStall(row, ms) {
  row.stalls++
  row.longestStall = Math.max(row.longestStall, ms)
}

/**
 * Returns the position of the page's code that registers the callback, from a stack trace.
 *
 * @returns {string} file:line, or '' if the engine does not report the position
 */
function callingLine() {
  const lines = `${new Error().stack}`.split('\n')
  const line = lines.find(line => /:\d+:\d+/.test(line) && !isOwnLocation(line))
  return /([^\s()@]+:\d+):\d+/.exec(line ?? '')?.[1] ?? ''
}

/** The address of the folder of this addon, or of the bundle that contains its files. */
const ADDRESS = import.meta.url.replace(/\/adopt\/\w+\.mjs$/, '/adopt/')

/** Whether a line of a stack, or an address, names one of our files. @param {string} location */
const isOwnLocation = location => location.includes(ADDRESS)

/** @param {any} event */
const propagationOf = ({ target, currentTarget, eventPhase }) => ({ target, currentTarget, eventPhase })

/** Maximum number of ended calls whose asynchronous code is finished before an edit. */
const MAX_TAILS = 100
/** Codes for the use of an event by its listener: see addons/preemptify/event-use.mjs. */
const UNTIL_USE = 1
const TO_END = 2
/** Options of a call that runs to completion. */
const WHOLE = { ms: Infinity }

/** The properties of an event that change on its path. */
const PROPAGATION = /** @type {const} */ (['target', 'currentTarget', 'eventPhase'])

/** Minimum duration of a stall or wait for a warning on the console, ms: a long task (W3C Long Tasks). */
const LONG_TASK = 50
/** Maximum number of rows in the report. Further callbacks share one row. */
const MAX_ROWS = 1000
/** How many characters of the text of a function identify its row. */
const SHOWN = 200
