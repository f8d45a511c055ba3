/**
 * addons/adopt.mjs: makes jobs of the callbacks of a page (RT.js V-B).
 *
 * `adopt` replaces the functions and properties by which a page registers callbacks, for example setTimeout,
 * with proxies of themselves. A proxy hands the platform an entry in place of the callback. The platform
 * still decides whether a listener exists, its order, `this`, `once` and duplicates. When the platform calls
 * the entry, `Calls.enter` makes a job of the call:
 *
 *   the page registers a callback -> proxy -> entry -> the platform calls the entry -> Calls.enter
 *     -> the job starts inside the call, and continues after its first budget if its function has a twin
 *     -> or the job waits for its turn, if calls of at least its rank have not ended
 *
 * Words of this file:
 * - realm: a global object whose functions are replaced, with the listeners of its page
 * - entry: the function, or object with `handleEvent`, that the platform calls in place of a callback
 * - call: one invocation of a callback, until its job has ended
 * - owner and part: the key by which the page can take a call back, for example the id of a timer
 * - row: the line of a callback in the report
 * - twin: the preemptible version of a function that preemptify makes
 *
 * Invariants:
 * 1. Calls of equal rank start in the platform's order, each when the call before it has ended.
 * 2. A call that the page takes back before it has started (clearTimeout, removeEventListener) never starts.
 * 3. After `release()` every property has its original value, unless the page has replaced it since.
 * 4. The books are `hardened` collections: methods that a page later puts on Map or Set do not affect them.
 *
 * @module adopt
 */

import { Handle, apply, releaseOf, scriptAddress, startsJob } from '../alarms.mjs'
import { Task, extend } from '../rt.mjs'
/** @import { Job, Scheduler } from '../rt.mjs' */

const { Waitable, Waiter, check, here, protocol } = extend
const { elsewhere, flag, options: checked, text, wrongType } = check

/**
 * @typedef {object} AdoptionRule
 * @property {number} [deadline] ms, counted from the event's time stamp, or from the call
 * @property {number} [priority]
 * @property {object} [reservation]
 * @property {boolean} [latest] of the calls of a callback that come while one waits for its turn, only the
 *   newest is made; so a listener waits also where its event could be cancelled, which it cannot be any more
 *   then
 */
/**
 * @typedef {AdoptionRule & { type?: string | string[], target?: string | EventTarget | ((target: any) =>
 *   boolean) }} EventRule
 */
/**
 * A callback, or all that look like it.
 *
 * @typedef {object} AdoptionRow
 * @property {string} kind 'timer', 'frame', 'idle', 'observer', 'message', the type of the event, or
 *   'script': no callback, but part of a long animation frame
 * @property {string} name of the function
 * @property {string} where it was registered first
 * @property {number} calls that have ended
 * @property {number} time ms
 * @property {number} longest ms that a call took
 * @property {number} stalls how often it kept the thread for longer than a slice
 * @property {number} longestStall ms
 * @property {number} misses
 */

/**
 * Makes jobs of the callbacks of a page, a worker or Node. This covers callbacks that any code registers from
 * now on: timers, animation frames, idle callbacks, event listeners, `on...` properties, observers and
 * messages. It also covers `on...` properties that exist already on the global object, the document and, for
 * common events, its elements. Platforms do not list listeners, so earlier listeners stay native.
 *
 * Native as well:
 * - `on...` properties of devices, payments, speech recognition, audio in scripts and other rare objects; but
 *   their listeners become jobs
 * - attributes like `onclick="..."` that are added later
 * - reactions of custom elements, reactions of promises, and `queueMicrotask`
 * - other realms: call `adopt` for the window of an iframe. Firefox then has no `window.event` there
 *
 * A callback with a twin (see `preemptify.source`) starts inside its event. It continues as a job at the end
 * of its first budget, or of a slice if the budget is automatic. A callback without a twin runs to
 * completion. Its time is charged, and it is named if it stalls.
 *
 * Calls of equal rank keep the platform's order: a call starts when the call before has ended and its
 * microtasks have run. A call that finds unfinished calls waits, and starts outside of its event. If the
 * event is cancelable and its rule is not `latest`, the unfinished calls run first, for at most one round,
 * and the call starts inside the event. These stay as they are: `this`, arguments, `target`, `currentTarget`,
 * `eventPhase`, exceptions, `once`, `signal`, `passive` and `capture`. clearTimeout, removeEventListener and
 * disconnect prevent calls that have not started.
 *
 * A call that has left its event has these limits:
 * - preventDefault and stopPropagation have no effect. preventDefault works if a passive listener continues
 *   in a later listener of the same event that is not passive
 * - composedPath() is empty, and `window.event` is undefined
 * - the event does not reach listeners that the call adds
 * - the state of the target may have changed
 * - microtasks run while the call is suspended
 *
 * So some callbacks do not leave their event. Listeners of readystatechange start inside it. These run to
 * completion:
 * - listeners whose script waits for the event (dispatchEvent, click, focus)
 * - listeners of submit, beforeunload and other events that need an answer
 * - listeners of events after which the page may be frozen
 * - listeners with data that only the event has: dragged data, `waitUntil`, a database
 * - handlers in `on...` properties of cancelable events, if they may return a value
 * - async functions, until their first await
 *
 * A string given to setTimeout stays native.
 *
 * @param {any} [target] a global object, default globalThis
 * @param {{ rules?: { timer?: AdoptionRule, frame?: AdoptionRule, idle?: AdoptionRule, observer?:
 *   AdoptionRule, message?: AdoptionRule, event?: EventRule | EventRule[] }, scheduler?: Scheduler, warn?:
 *   boolean }} [options] `rules`: the first rule for events that matches by `type` and `target` counts;
 *   `target` is a selector, an EventTarget, or a function that receives the target. Default deadlines: 16 ms
 *   for input and frames; for a timer its delay, at least 16 ms; otherwise none. `warn`: whether the console
 *   warns of a callback that stalls, and again when it reaches 10, 100, ... ms; default true
 * @returns {{ release(): void, cancel(): boolean, report(): AdoptionRow[] }} `release` restores all functions
 *   and properties, and waiting calls run. An event whose listener calls `release` does not reach the next
 *   listeners of the same target. `cancel` is `release`; it returns `true` if the page was adopted. `report`
 *   lists all callbacks, the most expensive first
 * @throws {TypeError | RangeError} if a parameter is wrong; TypeError if the target is adopted already
 */
export function adopt(target = globalThis, options = {}) {
  if (typeof target?.setTimeout !== 'function') throw wrongType('target', 'a global object', target)
  const { rules: given, warn = true } = checked(options, ADOPTION)
  const scheduler = here(options)
  const rules = rulesOf(scheduler, given)
  if (realms.has(target)) throw new TypeError('target is adopted already; release() it first')
  realms.add(target)

  const calls = new Calls(scheduler, target, warn)
  const realm = new Realm(target, calls, rules)
  adoptTimers(realm)
  adoptObservers(realm)
  adoptListeners(realm)
  adoptHandlers(realm)
  const cancel = () => {
    if (calls.isReleased) return false
    calls.release()
    realm.release()
    return true
  }
  return Object.assign(new Handle(), { cancel, release: () => { cancel() }, report: () => calls.report() })
}

// ----------------------------------------------------------------------------------------------------- calls

/**
 * A collection whose methods remain as they are now, whatever a page makes of the prototype later.
 *
 * @template {new (...args: any[]) => any} C @param {C} Class @returns {C}
 */
function hardened(Class) {
  class Hardened extends Class {
    /** @param {any[]} args none: the default constructor would take the iterator of Array.prototype */
    constructor(...args) {
      super(args[0])
    }
  }
  const { prototype } = Class
  Reflect.ownKeys(prototype).forEach(key => {
    Object.defineProperty(Hardened.prototype, key, descriptorOf(prototype, key))
  })
  return /** @type {any} */ (Hardened)
}

const OwnMap = /* @__PURE__ */ hardened(Map)
const OwnSet = /* @__PURE__ */ hardened(Set)
const OwnWeakMap = /* @__PURE__ */ hardened(WeakMap)

/**
 * How a callback is called.
 *
 * @typedef {object} Invocation
 * @property {AdoptionRow} row
 * @property {Function} fn
 * @property {any} self
 * @property {any[]} args
 * @property {any} owner by which the page can take it back: a timer's id, an observer, or all listeners of
 *   its kind
 * @property {any} [part] which of the owner's: the kind of timer, the listener, or null for the handler in a
 *   property
 * @property {any} [event]
 * @property {any} [called] what the event calls
 * @property {boolean} [isWhole] whether it runs to its end
 */

/** A call that has not ended; as a waitable, its turn. */
class Call extends Waitable {
  /** @type {Job | null} */
  made = null
  /** What the function returned. @type {any} */
  value = undefined
  isWaiting = false
  isQueued = false

  /** @param {Invocation} invocation @param {number} absoluteDeadline @param {number} priority */
  constructor(invocation, absoluteDeadline, priority) {
    super()
    const { event } = invocation
    this.invocation = invocation
    /**
     * Where its event was when its listener was called.
     *
     * @type {{ target: any, currentTarget: any, eventPhase: number } | undefined}
     */
    this.place = event && { target: event.target, currentTarget: event.currentTarget, eventPhase: event.eventPhase }
    this.absoluteDeadline = absoluteDeadline
    this.priority = priority
  }
  get isRanked() { return false }
  get isExternal() { return true } // a task of the platform wakes it

  /** Neither waits for its turn nor, in a scheduler that is paused, for its first dispatch. */
  get hasBegun() { return !this.isWaiting && this.made?.started !== undefined }
  /** It is not to be made, unless it has begun. */
  drop() {
    if (!this.hasBegun) this.made?.cancel()
  }
}

/** The calls of a page's callbacks, as jobs. */
class Calls {
  isReleased = false
  /**
   * The calls that have not ended, by reservation, in order of eligibility; equals as they came.
   *
   * @type {Map<any, Call[]>}
   */
  #queues = new OwnMap()
  /** Those that have not ended where they began. @type {WeakMap<Job, Call>} */
  #calls = new OwnWeakMap()
  /** That which begins. @type {Call | null} */
  #begun = null
  /** @type {Map<string, AdoptionRow>} */
  #rows = new OwnMap()
  /** The event for which others had to end, and until when. */
  #event = null
  #until = 0
  /** Those that have not ended, by what the page has to take them back. @type {Map<any, Set<Call>>} */
  #pending = new OwnMap()
  /** The call of a function that waits, where only the newest is made. @type {WeakMap<Function, Call>} */
  #newest = new OwnWeakMap()
  #source = Function.prototype.toString
  #unwatch

  /** @param {Scheduler} scheduler @param {any} target @param {boolean} warn */
  constructor(scheduler, target, warn) {
    const { console, reportError } = target
    this.scheduler = scheduler
    this.fail = reportError?.bind(target) ?? ((/** @type {unknown} */ error) => queueMicrotask(() => { throw error }))
    this.#unwatch = extend.page.onStall(scheduler, (job, ms) => {
      const row = this.#callOf(job)?.invocation.row
      if (row === undefined) return
      const isWorse = Math.floor(Math.log10(ms)) > Math.floor(Math.log10(row.longestStall))
      addStall(row, ms)
      if (!isWorse || !warn) return
      const { kind, name, where } = row
      console?.warn(`${kind} ${name}${where && `, registered at ${where},`} kept the thread for ${Math.round(ms * 10) / 10} ms`.trimStart())
    })
  }

  /**
   * Found by what the function looks like, so that one that is made anew for each timer is one callback; a
   * stack is taken for the first only.
   *
   * @param {string} kind @param {any} fn @returns {AdoptionRow}
   */
  row(kind, fn) {
    const isFunction = typeof fn === 'function'
    const text = isFunction ? apply(this.#source, fn, []) : nameOf(Object.getPrototypeOf(fn)?.constructor)
    const name = () => (isFunction ? nameOf(fn) : text) || 'anonymous'
    return this.#rowOf(`${kind} ${text.length} ${text.slice(0, SHOWN)}`, kind, name, callingPlace)
  }

  /**
   * @param {string} key @param {string} kind @param {() => string} name @param {() => string} where
   * @returns {AdoptionRow}
   */
  #rowOf(key, kind, name, where) {
    let row = this.#rows.get(key)
    if (row !== undefined) return row
    if (this.#rows.size >= MOST_ROWS && key !== '') return this.#rowOf('', '', () => 'others', () => '')
    row = { kind, name: name(), where: where(), calls: 0, time: 0, longest: 0, stalls: 0, longestStall: 0, misses: 0 }
    this.#rows.set(key, row)
    return row
  }

  /**
   * A script that made a frame long, and was no callback of ours.
   *
   * @param {any} script PerformanceScriptTiming
   */
  tell({ sourceURL, sourceFunctionName, sourceCharPosition, invoker, duration }) {
    if ([import.meta.url, scriptAddress(), extend.page.url].includes(sourceURL)) return
    const where = `${sourceURL}:${sourceCharPosition}`
    const row = this.#rowOf(`script ${where}`, 'script', () => sourceFunctionName || invoker, () => where)
    this.#add(row, duration)
    addStall(row, duration)
  }

  /** Calls that wait are made; further ones are the platform's. */
  release() {
    this.isReleased = true
    this.#unwatch()
  }

  report() {
    /** @type {AdoptionRow[]} */
    const rows = []
    this.#rows.forEach(row => rows.push({ ...row }))
    return rows.sort((a, b) => b.time - a.time)
  }

  /**
   * Begins a call, or has it wait for its turn; unless it is part of what runs right now, or no job any more.
   *
   * @param {Invocation} invocation @param {AdoptionRule} [rule]
   * @returns {any} what it returned, if it has ended
   */
  enter(invocation, rule = {}) {
    const { row, fn, self, args, event, called } = invocation
    if (this.isReleased || extend.page.isBusy() || event?.isTrusted === false) return apply(fn, self, args)
    const { scheduler } = this
    const { deadline = Infinity, priority: given = 0, reservation, latest = false } = rule
    const release = event === undefined ? scheduler.now() : releaseOf(scheduler, event)
    const priority = scheduler.policy.priority?.({ deadline, priority: given, period: Infinity }) ?? given
    const call = new Call(invocation, release + deadline, priority)
    const queue = this.#queueOf(reservation)
    let { isWhole = false } = invocation
    const waits = call.isWaiting = queue.length > 0 && scheduler.policy.compare(queue[0], call) <= 0
    if (waits && event !== undefined && scheduler.host.nested?.(called)) return apply(fn, self, args)
    const { stalls } = row
    /** @type {any} */
    let end
    const spawn = () => {
      const work = () => call.isWaiting ? this.#startInTurn(call) : this.#start(call)
      const job = call.made = scheduler.spawn(work, { name: `${row.kind} ${row.name}`, deadline, priority: given, reservation, release })
      end = Waitable.of(job) // its errors are the platform's to report
      return job
    }
    this.#begun = call
    if (waits || scheduler.paused) spawn()
    else extend.page.run(scheduler, spawn, isWhole ? Infinity : undefined)
    const job = /** @type {Job} */ (call.made)
    if (!waits && event !== undefined && job.finished === undefined && scheduler.host.nested?.(called)) {
      isWhole = true
      extend.page.run(scheduler, () => job, Infinity)
    }
    if (isWhole && row.stalls === stalls && job.cost > scheduler.slice) extend.page.stall(job) // by all of its steps
    if (end.enlist(new Waiter(null, () => this.#leave(queue, call, end)))) {
      this.#count(call)
      if (end.isFulfilled) return call.value
      throw end.outcome
    }
    this.#calls.set(job, call)
    this.#insert(queue, call)
    if (event !== undefined) this.#keepPlace(event)
    if (waits && latest) this.#replace(fn, call)
    const { owner } = invocation
    const others = this.#pending.get(owner) ?? new OwnSet()
    this.#pending.set(owner, others.add(call))
    if (!waits || event === undefined) return
    if (event.cancelable && !latest || isWhole || event.type === 'readystatechange') { // whose listeners look at a state that goes on
      this.#makeWay(queue, call)
      if (job.finished !== undefined) return
      call.isWaiting = false
      extend.page.run(scheduler, () => job, isWhole ? Infinity : undefined)
      if (isWhole && row.stalls === stalls && job.cost > scheduler.slice) extend.page.stall(job)
      if (end.isFulfilled) return call.value
    }
  }

  /** @param {any} owner @param {any} [part] @returns {Call[]} that have not ended */
  pending(owner, part) {
    const calls = this.#pending.get(owner)
    return calls === undefined ? []
      : extend.membersOf(calls).filter(({ invocation }) => invocation.part === part)
  }

  /** What has not begun is not to be called. @param {any} owner @param {any} [part] */
  drop(owner, part) {
    this.pending(owner, part).forEach(call => call.drop())
  }

  /** @param {Call} call @returns {any} the call of a twin */
  #start(call) {
    call.isWaiting = false
    const { fn, self, args } = call.invocation
    const isAsync = startsJob(fn) // its rest is the platform's
    const body = isAsync ? fn : extend.preemptible(fn)
    const result = apply(body, self, args)
    if (body !== fn) return this.#end(call, result)
    call.value = result
  }

  /**
   * A promise that it returns is not waited for.
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

  /** @param {Function} fn @param {Call} call that waits, in place of another of the same target */
  #replace(fn, call) {
    const before = this.#newest.get(fn)
    if (before?.place?.currentTarget === call.place?.currentTarget) before?.drop()
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

  /** @param {Call[]} queue @param {Call} call the youngest of its equals */
  #insert(queue, call) {
    const { policy } = this.scheduler
    let place = queue.length
    while (place > 0 && policy.compare(call, queue[place - 1]) < 0) place--
    queue.splice(place, 0, call)
    call.isQueued = true
  }

  /**
   * An event that can be cancelled cannot wait: those before it go on here, for a round at most.
   *
   * @param {Call[]} queue @param {Call} call
   */
  #makeWay(queue, call) {
    const { scheduler } = this
    if (this.#event !== call.invocation.event) {
      this.#event = call.invocation.event
      this.#until = scheduler.now() + scheduler.round
    }
    while (call.isQueued && queue[0] !== call) { // its listener may be removed meanwhile
      const first = queue[0]
      const left = this.#until - scheduler.now()
      if (!(left > 0)) break
      first.wake()
      extend.page.run(scheduler, () => /** @type {Job} */ (first.made), left)
      if (queue[0] === first) break // it waits for something else
    }
  }

  /** @param {Call[]} queue @param {Call} call @param {any} end */
  #leave(queue, call, end) {
    queue.splice(queue.indexOf(call), 1)
    call.isQueued = false
    const { owner } = call.invocation
    const others = /** @type {Set<Call>} */ (this.#pending.get(owner))
    others.delete(call)
    if (others.size === 0) this.#pending.delete(owner)
    if (call.hasBegun) this.#count(call)
    if (!end.isFulfilled && /** @type {Job} */ (call.made).state === 'failed') this.fail(end.outcome)
    // In a task of its own, so that the microtasks of this one come before.
    if (queue[0]?.isWaiting) this.scheduler.host.post(() => queue[0]?.wake())
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

  /** To a job, its event remains where its listener was called. @param {any} event */
  #keepPlace(event) {
    PLACE.forEach(name => {
      if (Object.hasOwn(event, name)) return
      const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(holderOf(event, name), name))
      const own = () => {
        const { current } = this.scheduler
        const running = current === null ? undefined : this.#callOf(current)
        return running?.place && running.invocation.event === event ? running.place[name] : apply(get, event, [])
      }
      Object.defineProperty(event, name, /** @type {any} */ ({ __proto__: null, configurable: true, get: own }))
    })
  }
}

// ---------------------------------------------------------------------------------------------------- realms

/** What is done instead of a function. @typedef {(native: any, self: any, args: any[]) => any} Replacement */

/** A global object that is adopted. */
class Realm {
  /** What has been replaced. @type {(() => void)[]} */
  undo = []
  /**
   * What the platform has of ours, in its order: by target, by phase and type, and by listener, which is null
   * for a property.
   *
   * @type {WeakMap<any, Map<string, Map<any, any>>>}
   */
  #registered = new OwnWeakMap()
  /** Targets that still are. @type {Set<WeakRef<any>>} */
  #targets = new OwnSet()
  #gone = new FinalizationRegistry(ref => this.#targets.delete(ref))

  /** @param {any} target @param {Calls} calls @param {any} rules */
  constructor(target, calls, rules) {
    this.target = target
    this.calls = calls
    this.rules = rules
  }

  /**
   * Makes a callback a function of the target's realm. The platform takes `window.event` and the receiver of
   * errors from the realm of the callback.
   *
   * @template {object} T @param {T} callback @returns {T}
   */
  own(callback) {
    const { Proxy: Other = Proxy } = this.target
    return Other === Proxy ? callback : new Other(callback, handlerOf({}))
  }

  /**
   * @param {any} holder @param {PropertyKey} name
   * @param {Record<string, any>} replaced parts of the property; a page may have frozen it
   */
  put(holder, name, replaced) {
    const before = descriptorOf(holder, name)
    const keys = Object.keys(replaced)
    if (!before?.configurable || keys.some(key => !(key in before))) return
    Object.defineProperty(holder, name, Object.assign(Object.create(null), before, replaced))
    this.undo.push(() => {
      const now = descriptorOf(holder, name) // a page may have replaced it since
      const isOurs = now?.configurable && keys.every(key => now[key] === replaced[key])
      if (isOurs) Object.defineProperty(holder, name, before)
    })
  }

  /**
   * @param {any} holder @param {PropertyKey} name
   * @param {Record<string, Replacement>} own of its value, or its getter and setter
   */
  redefine(holder, name, own) {
    const before = descriptorOf(holder, name)
    const keys = Object.keys(own)
    if (keys.some(key => typeof before?.[key] !== 'function')) return
    /** @type {Record<string, any>} */
    const replaced = {}
    keys.forEach(key => {
      const native = before[key]
      const replacement = (/** @type {any} */ _, /** @type {any} */ self, /** @type {any[]} */ args) =>
        this.calls.isReleased ? apply(native, self, args) : own[key](native, self, args)
      replaced[key] = new Proxy(native, handlerOf({ apply: replacement }))
    })
    this.put(holder, name, replaced)
  }

  /** @param {any} holder @param {PropertyKey} name @param {Replacement} value */
  replace(holder, name, value) {
    this.redefine(holder, name, { value })
  }

  /** @param {any} at @param {string} type @param {boolean} [capture] @returns {Map<any, any>} */
  listenersOf(at, type, capture = false) {
    let keys = this.#registered.get(at)
    if (keys === undefined) {
      const ref = new WeakRef(at)
      this.#targets.add(ref)
      this.#gone.register(at, ref)
      this.#registered.set(at, keys = new OwnMap())
    }
    const key = `${capture} ${type}`
    if (!keys.has(key)) keys.set(key, new OwnMap())
    return /** @type {any} */ (keys.get(key))
  }

  /** The platform has it no more. @param {Map<any, any>} listeners @param {any} listener */
  forget(listeners, listener) {
    this.calls.drop(listeners, listener)
    listeners.delete(listener)
  }

  /**
   * @param {Map<any, any>} listeners @param {any} listener null in a property @param {any} given by the page
   * @param {string} type @returns {any}
   */
  entryFor(listeners, listener, given, type) {
    const { calls, rules } = this
    const isMessage = type === 'message' || type === 'messageerror'
    const row = calls.row(isMessage ? 'message' : type, given)
    const isInput = INPUT.includes(type)
    const mustEnd = WHOLE.includes(type)
    /** @param {any} event @returns {AdoptionRule} */
    const ruleOf = event => {
      const deadline = isMessage || !isInput && event.view === undefined ? Infinity : SOON
      return { deadline, ...isMessage ? rules.message : rules.event.find(fits(type, event.currentTarget)) }
    }
    /** Whether what it returns might prevent the default. @type {boolean | undefined} */
    let answers
    const begin = () => { if (entry.once && listeners.get(listener) === entry) listeners.delete(listener) }
    /** @param {any} fn @param {any} [object] whose method it is */
    const enteringOf = (fn, object) => {
      /** @type {any} */
      const entering = /** @this {any} @param {any[]} args */ function (...args) {
        const event = args[0]
        begin()
        if (event?.eventPhase === undefined) return apply(fn, this, args) // onerror of a window, `on` of a port of Node
        const isWhole = mustEnd || event.waitUntil !== undefined || listener === null && event.cancelable && (answers ??= extend.code.answers(given))
        const self = object ?? this
        const answer = calls.enter({ row, fn, self, args, owner: listeners, part: listener, event, called: entering, isWhole }, ruleOf(event))
        return answer // not in one: WebKit takes a function that calls last from the stack, where `nested` looks for it
      }
      return entering
    }
    /** @type {any} Where the method is none, the platform says so. */
    const entry = this.own(typeof given === 'function' ? enteringOf(given) : {
      get handleEvent() {
        begin()
        const { handleEvent } = given
        return typeof handleEvent === 'function' ? enteringOf(handleEvent, given) : handleEvent
      }
    })
    return entry
  }

  release() {
    extend.membersOf(this.#targets).forEach(ref => {
      this.#registered.get(ref.deref())?.forEach(all => all.forEach(entry => entry.restore()))
    })
    this.undo.reverse().forEach(undone => undone())
    realms.delete(this.target)
  }
}

/** Timers, frames, idle callbacks. @param {Realm} realm */
function adoptTimers(realm) {
  const { target, calls, rules } = realm
  TIMERS.forEach(({ 0: set, 1: clear, 2: kind }) => {
    const isDelayed = set === 'setTimeout' || set === 'setInterval'
    realm.replace(holderOf(target, set), set, (native, self, args) => {
      const fn = args[0]
      if (!isOthers(fn)) return apply(native, self, args)
      const row = calls.row(kind, fn)
      if (isDelayed) args[1] = +args[1] || 0
      const deadline = kind === 'idle' ? Infinity : isDelayed ? Math.max(SOON, args[1] | 0) : SOON // a delay beyond 32 bits is cut by browsers
      args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
        const owner = numberOf(id)
        if (calls.pending(owner, kind).length > 0) return // an interval is late
        calls.enter({ row, fn, self: this, args: given, owner, part: kind }, { deadline, ...rules[kind] })
      })
      const id = apply(native, self, args)
      return id
    })
    realm.replace(holderOf(target, clear), clear, (native, self, args) => {
      args[0] = numberOf(args[0]) // an object is asked once
      calls.drop(args[0], kind)
      return apply(native, self, args)
    })
  })
}

/** @param {Realm} realm */
function adoptObservers(realm) {
  const { target, calls, rules } = realm
  const { PerformanceObserver } = target
  if (PerformanceObserver?.supportedEntryTypes?.includes('long-animation-frame')) {
    const observer = new PerformanceObserver((/** @type {any} */ list) => {
      list.getEntries().forEach((/** @type {any} */ { scripts }) => {
        scripts.forEach((/** @type {any} */ script) => calls.tell(script))
      })
    })
    observer.observe({ type: 'long-animation-frame' })
    realm.undo.push(() => observer.disconnect())
  }
  OBSERVERS.forEach(name => {
    const native = target[name]
    if (typeof native !== 'function') return
    const value = new Proxy(native, handlerOf({
      construct(_, args, made) {
        const fn = args[0]
        if (isOthers(fn)) {
          const row = calls.row('observer', fn)
          args[0] = realm.own(/** @this {any} @param {any[]} given */ function (...given) {
            return calls.enter({ row, fn, self: this, args: given, owner: given[1] }, rules.observer)
          })
        }
        return Reflect.construct(native, args, made)
      }
    }))
    realm.put(holderOf(target, name), name, { value })
    realm.put(native.prototype, 'constructor', { value })
    realm.replace(native.prototype, 'disconnect', (native, self, args) => {
      calls.drop(self)
      return apply(native, self, args)
    })
  })
}

const asObject = (/** @type {any} */ options) => Object(options) === options ? options : { capture: options }
const isListener = (/** @type {any} */ listener) => isOthers(listener) || typeof listener === 'object' && listener !== null

/** @param {Realm} realm */
function adoptListeners(realm) {
  const { target } = realm
  const own = holderOf(target, 'addEventListener')
  const other = holderOf(target.EventTarget?.prototype ?? null, 'addEventListener')
  const holders = own === other ? [own] : [own, other]
  holders.forEach(holder => {
    const { addEventListener: add, removeEventListener: remove } = holder ?? {}
    realm.replace(holder, 'addEventListener', (native, self, args) => {
      const { 1: listener } = args
      if (!isListener(listener)) return apply(native, self, args)
      const at = self ?? target
      const type = `${args[0]}`
      const { capture, once, passive, signal } = asObject(args[2]) // read once, in the platform's order: what they say may change
      /** @type {any} */
      const options = { __proto__: args[2], capture: !!capture, once, passive, signal }
      const listeners = realm.listenersOf(at, type, !!capture)
      // Those that hear of an abort before us may add anew what the platform has removed.
      if (listeners.get(listener)?.signal?.aborted) realm.forget(listeners, listener)
      const known = listeners.get(listener)
      const entry = known ?? realm.entryFor(listeners, listener, listener, type)
      apply(native, self, [type, entry, options])
      if (known !== undefined || signal?.aborted) return
      apply(remove, self, [type, listener, options]) // it may have been there before: then it is not to be called twice
      if (signal) extend.onAbort(signal, aborting(new WeakRef(entry)))
      const abort = () => (listeners.get(listener) ?? entry) === entry && realm.forget(listeners, listener) // else it was added anew since
      const restore = () => {
        apply(remove, at, [type, entry, options])
        apply(add, at, [type, listener, options])
      }
      listeners.set(listener, Object.assign(entry, { once, signal, restore, abort }))
    })
    realm.replace(holder, 'removeEventListener', (native, self, args) => {
      const { 1: listener } = args
      if (!isListener(listener)) return apply(native, self, args)
      const type = args[0] = `${args[0]}`
      const capture = !!asObject(args[2]).capture
      if (args.length > 2) args[2] = capture
      const listeners = realm.listenersOf(self ?? target, type, capture)
      const entry = listeners.get(listener)
      if (entry !== undefined) apply(native, self, [type, entry, capture])
      apply(native, self, args)
      realm.forget(listeners, listener)
    })
  })
}

const isOn = (/** @type {string} */ name) => name.startsWith('on')

/** Properties `on...`. @param {Realm} realm */
function adoptHandlers(realm) {
  const { target, calls } = realm
  /**
   * What the page has put there, by what the platform has: the body has properties of the window.
   *
   * @type {WeakMap<Function, any>}
   */
  const handlers = new OwnWeakMap()
  const holders = [target].concat(HANDLED.map(name => target[name]?.prototype)).filter(Boolean)
  holders.forEach(holder => {
    Object.getOwnPropertyNames(holder).filter(isOn).forEach(name => {
      const { get, set } = /** @type {any} */ (Object.getOwnPropertyDescriptor(holder, name))
      realm.redefine(holder, name, {
        get(native, self, args) {
          const value = apply(native, self, args)
          return handlers.get(value) ?? value
        },
        set(native, self, args) {
          const handler = args[0]
          const at = self ?? target
          const type = name.slice(2)
          const listeners = realm.listenersOf(at, type)
          if (!isOthers(handler)) {
            realm.forget(listeners, null)
            return apply(native, self, args)
          }
          const entry = realm.entryFor(listeners, null, handler, type)
          handlers.set(entry, handler)
          entry.restore = () => {
            if (apply(get, at, []) !== entry) return
            /** @type {any[]} */
            const keys = []
            listeners.forEach((_, key) => keys.push(key))
            // The handler moves after the earlier listeners that have been added again.
            if (keys[0] !== null) apply(set, at, [null])
            apply(set, at, [handler])
          }
          apply(native, self, [entry])
          // The new handler is called in the place of the old one.
          calls.pending(listeners, null).forEach(call => { call.invocation.fn = handler })
          listeners.set(null, entry) // in its place, too
        }
      })
    })
  })
  const { document } = target
  const elements = document?.querySelectorAll('*') ?? []
  adoptPresent(target, namesOn(target))
  if (document) adoptPresent(document, namesOn(document))
  for (let i = 0; i < elements.length; i++) adoptPresent(elements[i], COMMON)
}

/** The properties `on...` of a global object or document. @param {any} object @returns {string[]} */
const namesOn = object => Object.getOwnPropertyNames(holderOf(object, 'onclick') ?? object).filter(isOn)

/** Adopts the handlers that an object has already. @param {any} object @param {string[]} names */
function adoptPresent(object, names) {
  for (let i = 0; i < names.length; i++) {
    try {
      if (isOthers(object[names[i]])) object[names[i]] = object[names[i]] // set again, through ours
    } catch {} // something else that the page has put there
  }
}

// ----------------------------------------------------------------------------------------------------- rules

const ADOPTION = { rules: elsewhere, scheduler: check.scheduler, warn: flag }

/** @param {Scheduler} scheduler @param {any} rules @returns {any} */
function rulesOf(scheduler, rules = {}) {
  const checks = { deadline: elsewhere, priority: elsewhere, reservation: elsewhere, latest: flag }
  const eventChecks = {
    ...checks,
    type(/** @type {string} */ name, /** @type {any} */ types) {
      const all = [types].flat()
      all.forEach(type => { if (type !== undefined) text(name, type) })
    },
    target(/** @type {string} */ name, /** @type {any} */ target) {
      if (['string', 'function'].includes(typeof target) || typeof target?.addEventListener === 'function') return
      throw wrongType(name, 'a selector, a function or an EventTarget', target)
    }
  }
  const checkRule = (/** @type {string} */ where, /** @type {any} */ rule, /** @type {any} */ known = checks) => {
    check.knownOptions(rule, known, where)
    const { deadline, priority, reservation } = checked(rule, known)
    new Task(/** @type {any} */ (() => {}), { deadline, priority, reservation })
    if (reservation?.[protocol].needsMain || (reservation?.scheduler ?? scheduler) !== scheduler) {
      throw new TypeError(`${where}.reservation must be a Reservation, or io.for(main), of the scheduler of the jobs`)
    }
    return rule
  }
  check.knownOptions(rules, check.unchecked('timer', 'frame', 'idle', 'observer', 'message', 'event'), 'rules')
  const { event = [], ...others } = rules
  Object.keys(others).forEach(kind => checkRule(`rules.${kind}`, others[kind]))
  return { ...others, event: [event].flat().map((rule, index) => checkRule(`rules.event[${index}]`, rule, eventChecks)) }
}

// -------------------------------------------------------------------------------------- functions and tables

/**
 * @param {any} object @param {PropertyKey} name
 * @returns {any} whose own property that is; null where there is none
 */
function holderOf(object, name) {
  while (object !== null && !Object.hasOwn(object, name)) object = Object.getPrototypeOf(object)
  return object
}

/**
 * The descriptor of an own property. It inherits nothing: `get` on Object.prototype would make it invalid.
 *
 * @param {any} object @param {PropertyKey} name @returns {any} undefined if there is none
 */
function descriptorOf(object, name) {
  const descriptor = object ? Object.getOwnPropertyDescriptor(object, name) : undefined
  return descriptor && Object.assign(Object.create(null), descriptor)
}

/**
 * The handler of a proxy. It inherits no traps from Object.prototype.
 *
 * @param {ProxyHandler<any>} traps @returns {ProxyHandler<any>}
 */
const handlerOf = traps => Object.assign(Object.create(null), traps)

/** @param {AdoptionRow} row @param {number} ms */
function addStall(row, ms) {
  row.stalls++
  row.longestStall = Math.max(row.longestStall, ms)
}

/** Without calling what a page may have put there. @param {any} fn @returns {string} */
function nameOf(fn) {
  const name = descriptorOf(fn, 'name')?.value
  return typeof name === 'string' ? name : ''
}

/**
 * Where the page has called what leads here, as far as the engine tells.
 *
 * @returns {string} file:line, or ''
 */
function callingPlace() {
  const line = `${new Error().stack}`.split('\n').find(line => /:\d+:\d+/.test(line) && !line.includes(import.meta.url))
  return /([^\s()@]+:\d+):\d+/.exec(line ?? '')?.[1] ?? ''
}

/** What stands for a timer: a number, of anything that is one; Node's immediates are none. @param {any} id */
function numberOf(id) {
  const number = typeof id === 'symbol' || typeof id === 'bigint' ? NaN : Number(id)
  return number === number ? number | 0 : id
}

/**
 * Of a listener's target nothing else is in reach from here: its signal may outlive that.
 *
 * @param {WeakRef<any>} entry
 */
const aborting = entry => () => { entry.deref()?.abort() }

/** @type {WeakSet<object>} */
const realms = new WeakSet()

/** @param {any} fn */
const isOthers = fn => typeof fn === 'function' && !extend.page.isInternal(fn)

/** @param {string} type @param {any} at @returns {(rule: EventRule) => boolean} */
const fits = (type, at) => ({ type: types, target: wanted }) => (types === undefined || [types].flat().includes(type)) &&
  (typeof wanted === 'string' ? at.matches?.(wanted) : typeof wanted === 'function' ? wanted(at) : wanted === undefined || wanted === at)

/** How a function that sets a timer is called, what takes that back, and what rule its callbacks go by. */
const TIMERS = /** @type {const} */ ([
  ['setTimeout', 'clearTimeout', 'timer'], ['setInterval', 'clearInterval', 'timer'], ['setImmediate', 'clearImmediate', 'timer'],
  ['requestAnimationFrame', 'cancelAnimationFrame', 'frame'], ['requestIdleCallback', 'cancelIdleCallback', 'idle']
])
/** The properties of an event that change on its way. */
const PLACE = /** @type {const} */ (['target', 'currentTarget', 'eventPhase'])
const OBSERVERS = ['MutationObserver', 'ResizeObserver', 'IntersectionObserver', 'PerformanceObserver', 'ReportingObserver']
/**
 * What has `on...` properties beside the global object; to look at all that there is would have a browser
 * make all of it, in 17 to 40 ms.
 */
const HANDLED = [
  'HTMLElement', 'HTMLBodyElement', 'HTMLFrameSetElement', 'HTMLMediaElement', 'HTMLVideoElement', 'SVGElement', 'MathMLElement', 'Document',
  'ShadowRoot', 'MessagePort', 'Worker', 'SharedWorker', 'ServiceWorker', 'ServiceWorkerContainer', 'ServiceWorkerRegistration',
  'BroadcastChannel', 'WebSocket', 'EventSource', 'RTCDataChannel', 'RTCPeerConnection', 'XMLHttpRequest', 'XMLHttpRequestEventTarget',
  'FileReader', 'IDBRequest', 'IDBOpenDBRequest', 'IDBTransaction', 'IDBDatabase', 'MediaQueryList', 'VisualViewport', 'Screen',
  'ScreenOrientation', 'Animation', 'FontFaceSet', 'Notification', 'PermissionStatus', 'AbortSignal', 'MediaRecorder', 'MediaSource',
  'SourceBuffer', 'MediaStream', 'MediaStreamTrack', 'TextTrack', 'AudioScheduledSourceNode', 'SpeechSynthesisUtterance'
]
/** Events whose listeners run to their ends: what they may do, they may do there only, or the page ends. */
const WHOLE = [
  'beforeunload', 'unload', 'pagehide', 'visibilitychange', 'freeze', 'beforeprint', 'submit', 'reset', 'formdata', 'copy', 'cut', 'paste',
  'dragstart', 'drop', 'navigate', 'audioprocess', 'success', 'upgradeneeded', 'error'
]
/** Input, beside UIEvents. */
const INPUT = ['input', 'change', 'submit', 'scroll', 'select', 'selectionchange', 'toggle']
/** Of which the elements of a page are asked for handlers that they have. */
const COMMON = [
  'onclick', 'ondblclick', 'oninput', 'onchange', 'onsubmit', 'onkeydown', 'onkeypress', 'onkeyup', 'onmousedown', 'onmouseup',
  'onmousemove', 'onmouseover', 'onmouseout', 'onmouseenter', 'onmouseleave', 'onpointerdown', 'onpointermove', 'onpointerup',
  'ontouchstart', 'ontouchmove', 'ontouchend', 'onwheel', 'onscroll', 'onfocus', 'onblur', 'onload'
]
/** Callbacks that are told apart; what comes after these is counted together. */
const MOST_ROWS = 1000
/** How much of a function tells it from others. */
const SHOWN = 200
/** The deadline of input and of frames, ms. */
const SOON = 16
