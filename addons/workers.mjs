/**
 * addons/workers.mjs: jobs in workers, each with a separate scheduler: partitioned scheduling.
 *
 *   page                                          worker
 *   Workers.spawn -> Remote -> WorkerSlot, Line ~~~ Line -> serveWorks -> scheduler.spawn
 *
 * The works are the exports of the module that the workers run. A Workers object keeps one WorkerSlot per
 * worker, with the jobs, the connection (a Line) and the promised processor time of the worker. A Remote is a
 * job of a worker together with the local Job that represents it in this thread. While every worker has
 * enough jobs, further jobs are held: they have no worker slot yet. Jobs with `wcet` and `period` use an
 * allotment of processor time, one job after the other.
 *
 * Invariants:
 * 1. Each spawned job ends exactly once, with the outcome from its worker or with a ChannelError.
 * 2. Jobs with an allotment passed `schedulable` together with all other allotments of their worker slot.
 * 3. A job that may restart starts in one worker at a time.
 * 4. Worker slots without jobs do not keep Node alive.
 *
 * A worker of Node or of a browser starts with this module itself, at the address with ENTRY. Bundlers drop
 * that part, so in a bundle `url` must be a function that makes a worker.
 *
 * @module workers
 */

import { DeadlineError, DeadlockError, Job, Scheduler, edf, extend, fp, rm } from '../rt.mjs'
import { ChannelError, OwnershipError, withSignal } from '../sync.mjs'
import { ERRORS, NONE, cannotClone, isCount, kindOf } from './internal/bytes.mjs'
import {
  CLONED, Transport, anArray, platformKindOf, transferablesIn, transferring
} from './internal/endpoints.mjs'
import { sequence } from './internal/sequences.mjs'
import { hold, threads, whenReleased } from './internal/threads.mjs'
import { AdmissionError, demandOf, percent, schedulable } from './schedulable.mjs'
/** @import { ArgumentsOf, Awaitable, JobOptions, Policy, ResultOf } from '../rt.mjs' */
/** @import { TaskOptions, TraceRecord, Work } from '../rt.mjs' */
/** @import { TaskParameters } from './schedulable.mjs' */
/** @typedef {InstanceType<typeof extend.Waitable>} Waitable */

export { AdmissionError }

const { Heap, Waitable, Waiter, WaitQueue, check, here } = extend

/**
 * A job is held in this thread while the jobs ranked ahead of it need more than BUSY ms in each worker, or
 * number MAX_JOBS. With half of these values, workers that share their cores with this thread become idle
 * before this thread processes their reports.
 */
const BUSY = 10
const MAX_JOBS = 64
/** Time for cancelled jobs to end after `close`, ms. */
const GRACE = 1000
/** Engines without explicit resource management lack this symbol. @type {symbol} */
const ASYNC_DISPOSE = /* @__PURE__ */ (() =>
  /** @type {any} */ (Symbol).asyncDispose ?? Symbol('asyncDispose'))()

/**
 * @typedef {object} WorkersOptions
 * @property {number} [size] the number of workers; default: the number of cores
 * @property {Policy} [policy] the policy of their schedulers: `edf` (default), `fp` or `rm`
 * @property {boolean | number} [admit] the share of each worker that can be promised, > 0 and <= 1. Default
 *   true, which is 1. With false, no time is promised and no job is rejected
 * @property {boolean | number} [restart] how often a job is started again after its worker has ended; default
 *   0, true is 3
 * @property {number} [limit] the maximum number of unfinished jobs; default 16384
 * @property {boolean} [preemptify] whether the works are rewritten as by `preemptify.import`; default false
 * @property {number} [slice] the slice of their schedulers, ms
 * @property {number} [round] the round of their schedulers, ms
 * @property {number | 'auto'} [budget] the budget of their schedulers, in points
 */
/**
 * Options of one job in a worker.
 *
 * @typedef {Pick<TaskOptions, 'name' | 'deadline' | 'priority' | 'period' | 'wcet' | 'budget' | 'miss' |
 *   'onMiss' | 'onOverrun' | 'scheduler'> & JobOptions & { transfer?: any[], restart?: boolean | number }}
 *   RemoteOptions `scheduler`: the scheduler of the local job; `transfer`: the exact list of objects in the
 *   arguments to transfer; `restart`: overrides the option of the workers for this job
 */

/**
 * The names of the exports that are work.
 *
 * @template M
 * @typedef {{ [K in keyof M & string]: M[K] extends Work ? K : never }[keyof M & string]} NameOf
 */

/**
 * Runs jobs in Web Workers or in threads of Node. Each worker has its own scheduler (partitioned scheduling).
 *
 * The works are the exports of a module; each export is work as for `rt.spawn`. `spawn` returns a job of this
 * thread. You can await and cancel the job, and set its deadline and priority. A cancelled job ends after its
 * `finally` blocks in the worker. Its times, cost and misses arrive from the worker up to 20 ms late.
 *
 * Arguments and results are cloned. Buffers of 64 KiB and more are transferred, and so are objects that
 * cannot be cloned, for example a MessagePort; this includes elements and properties of an argument. If a job
 * has no deadline and its result is not an object, the worker reports the result at the end of its round. If
 * the worker dies before, these results are lost.
 *
 * A job that declares wcet and period goes to the first worker where `schedulable` admits it in addition to
 * the other such jobs. The worker reserves this time until the period ends. The next job with the same
 * parameters gets the reserved time first, and its release is delayed until the period has ended. Every other
 * job goes to the worker that will be free first, estimated by the costs so far. It waits in this thread
 * while all workers have enough jobs.
 *
 * When a worker ends, its jobs fail with a ChannelError or are started again (`restart`). A job whose
 * arguments cannot be cloned is never started again. Idle workers do not keep Node alive.
 *
 * @template {Record<string, any>} [M=Record<string, (...args: any[]) => unknown>] the type of the module's
 *   namespace: `Workers<typeof works>`
 *
 * @example
 * const works = 'data:text/javascript,export const double = n => n * 2' // the URL of your module
 * const workers = new Workers(works, { size: 2 })
 * console.log(await workers.spawn('double', { deadline: 1000 }, 21)) // → 42
 * await workers.close()
 */
export class Workers {
  #options
  /** @type {WorkerSlot[]} */
  #workerSlots
  /** Jobs that have not ended. @type {Set<Remote>} */
  #all = new Set()
  /** Jobs that have no worker yet. @type {InstanceType<typeof Heap<any>>} */
  #held = new Heap()
  /** Moving average of the cost of each work, ms. @type {Map<string, number>} */
  #costs = new Map()
  /** @type {Set<(record: any) => void>} */
  #observers = new Set()
  #waiters = new WaitQueue()
  #spawned = 0
  #isTelling = false
  #isClosed = false

  /**
   * @param {string | URL | (() => any)} url the address of the module, relative to the page or to the working
   *   directory. In a bundle: a function that returns a worker or another endpoint whose peer calls
   *   `Workers.serve`
   * @param {WorkersOptions} [options]
   * @throws {TypeError | RangeError} if an argument has the wrong type or is out of range
   */
  constructor(url, options = {}) {
    const {
      size = countOfCores(), policy = edf, admit = true, restart = false, limit = 2 ** 14, preemptify = false,
      ...settings
    } = check.options(options, CREW)
    const isMade = typeof url === 'function'
    if (!isMade && typeof url !== 'string' && kindOf(url) !== 'URL') {
      throw check.wrongType('url', 'an address or a function', url)
    }
    const address = isMade ? '' : addressOf(url)
    const source = { url: address, preemptify, settings: { ...settings, policy: policy.name } }
    this.#options = { policy, share: Number(admit), restart, limit, source, make: isMade ? url : makeWorker }
    this.#workerSlots = newWorkerSlots(size)
    try {
      this.#workerSlots.forEach(workerSlot => this.#start(workerSlot))
    } catch (error) {
      this.#workerSlots.forEach(end)
      throw error
    }
  }

  /**
   * Releases a job in a worker.
   *
   * @template {NameOf<M>} K
   * @param {K} name the name of the work
   * @param {RemoteOptions} [options]
   * @param {ArgumentsOf<M[K]>} args
   * @returns {Job<ResultOf<M[K]>>}
   * @throws {AdmissionError} if no worker has time for its wcet and period
   * @throws {RangeError} if `limit` jobs are unfinished: wait for `ready()`
   * @throws {ChannelError} if the workers have been closed
   * @throws {TypeError | RangeError | DOMException} if a parameter is invalid or an argument cannot be cloned
   */
  spawn(name, options = {}, ...args) {
    return this.#spawn(name, options, args)
  }

  /**
   * Releases a job without options: `workers.run.render(scene)`.
   *
   * @type {{ readonly [K in NameOf<M>]: (...args: ArgumentsOf<M[K]>) => Job<ResultOf<M[K]>> }}
   */
  run = new Proxy(/** @type {any} */ (Object.freeze(Object.create(null))), /** @type {any} */ ({
    __proto__: null, // a property of Object.prototype must not act as a trap
    // `await workers.run` must not start a work with the name `then`.
    get: (/** @type {any} */ _, /** @type {PropertyKey} */ name) =>
      typeof name !== 'string' || name === 'then' ? undefined
        : (/** @type {any[]} */ ...args) => this.#spawn(name, {}, args)
  }))

  /** @param {string} name @param {any} options @param {any[]} args @returns {any} */
  #spawn(name, options, args) {
    const { restart: usual, limit, policy } = this.#options
    const { transfer, restart = usual, scheduler: wanted, ...parameters } = check.options(options, SPAWNED)
    check.text('name', name)
    checkArguments(name, args, transfer)
    if (this.#isClosed) throw new ChannelError('the workers have been closed')
    if (this.#all.size >= limit) {
      throw new RangeError(`more than ${limit} jobs have not ended: wait for ready()`)
    }
    const { signal, onMiss, onOverrun, ...given } = parameters
    const scheduler = here({ scheduler: wanted })
    const times = { deadline: Infinity, priority: 0, period: Infinity, ...given }
    const priority = policy.priority?.(times) ?? given.priority
    const remote = new Remote(
      this.#far, scheduler, ++this.#spawned, name, given, args, transfer, timesOf(restart), onOverrun
    )
    this.#all.add(remote)
    try {
      const release = this.#admit(remote, given.release ?? scheduler.now())
      const { deadline, period, miss } = given
      const options = { name: given.name ?? name, deadline, period, miss, priority, release, signal, onMiss }
      const job = /** @type {any} */ (extend.spawn(scheduler, () => {}, options, [], remote.admit))
      remote.local = job
      if (job.state === 'cancelled') {
        this.#refuse(remote, undefined)
      } else {
        remote.rekeyed(job)
        extend.ended(job, () => this.#forget(remote))
        this.#place(remote)
      }
      return job
    } catch (error) {
      this.#refuse(remote, error)
      throw error
    }
  }
  /**
   * Ends a job that was not started, and restores its allotment.
   *
   * @param {Remote} remote @param {unknown} error
   */
  #refuse(remote, error) {
    if (remote.promised !== null) Object.assign(remote.promised, remote.promised.before)
    this.#finish(remote, 'cancelled', error)
  }

  /** The number of workers. */
  get size() { return this.#workerSlots.length }
  /** The number of jobs that have not ended. */
  get unfinished() { return this.#all.size }

  /**
   * Waits until another job can be spawned. Spawn it immediately, because no place is reserved for the
   * caller.
   *
   * @param {{ signal?: AbortSignal }} [options] `signal`: ends the wait
   * @returns {Awaitable<void>}
   */
  ready(options) {
    return withSignal(new Room(() => this.#all.size < this.#options.limit, this.#waiters), options)
  }

  /**
   * Reports the schedules of all workers, as `Scheduler.observe` does. Records arrive about 20 ms late. They
   * contain copies of the jobs, including jobs that the works spawn. Each record has the index of its worker
   * in `worker`.
   *
   * @param {(record: TraceRecord & { worker: number }) => void} fn
   * @returns {() => void} unsubscribes `fn`
   */
  observe(fn) {
    const observers = this.#observers
    const scheduler = here()
    const observer = (/** @type {any} */ record) => extend.callUser(scheduler, 'observer', fn, record)
    const tell = () => this.#workerSlots.forEach(({ line }) => line?.say('observe', [observers.size > 0]))
    check.callable('fn', fn)
    observers.add(observer)
    tell()
    return () => {
      observers.delete(observer)
      tell()
    }
  }

  /**
   * Returns the sums of the latest `stats` of all workers, with the maximum of each `longest` value, and the
   * statistics of each worker in `workers`.
   *
   * @returns {ReturnType<Scheduler['stats']> & { workers: ReturnType<Scheduler['stats']>[] }}
   */
  stats() {
    const workers = this.#workerSlots.map(({ stats }) => stats)
    /** @type {any} */
    const total = { ...NO_STATS }
    workers.forEach(stats => STATS.forEach(key => {
      total[key] = key.startsWith('longest') ? Math.max(total[key], stats[key]) : total[key] + stats[key]
    }))
    return { ...total, workers }
  }

  /**
   * Ends the workers after all jobs have ended. The workers accept no further jobs.
   *
   * @param {{ cancel?: boolean }} [options] `cancel`: whether to cancel the jobs. Jobs that have not ended a
   *   second later, for example because they hang, end with their workers
   * @returns {Promise<void>} fulfilled when the workers have ended
   */
  async close(options = {}) {
    const { cancel = false } = check.options(options, { cancel: check.flag })
    this.#isClosed = true
    const all = extend.membersOf(this.#all)
    const ended = new Promise(resolve => {
      let left = all.length
      if (left === 0) resolve(undefined)
      all.forEach(({ local }) => extend.ended(local, () => { if (--left === 0) resolve(undefined) }))
    })
    if (cancel) {
      const lose = () => this.#workerSlots.forEach(workerSlot => this.#lose(workerSlot, 'closed'))
      all[0]?.scheduler.host.after(GRACE, lose, { ref: false })
      all.forEach(({ local }) => local.cancel())
    }
    await ended
    this.#workerSlots.forEach(end)
  }

  /**
   * Returns the worker that each periodic task would get. The tasks are placed one after the other by first
   * fit. Sort them by falling utilization for the best result.
   *
   * @param {readonly TaskParameters[]} tasks
   * @param {Pick<WorkersOptions, 'size' | 'policy' | 'admit'>} [options]
   * @returns {number[]} the index of the worker of each task, from 0
   * @throws {AdmissionError} if a task does not fit
   */
  static partition(tasks, options = {}) {
    const { size = countOfCores(), policy = edf, admit = true } = check.options(options, PLACING)
    const workerSlots = newWorkerSlots(size)
    anArray('tasks', tasks)
    tasks.forEach((task, index) => demandOf(`tasks[${index}]`, task, policy))
    return tasks.map(({ deadline = Infinity, priority = 0, ...task }) => {
      const allotment = firstFit(workerSlots, { ...task, deadline, priority }, 0, {
        policy, share: Number(admit)
      })
      allotment.workerSlot.take(allotment, 0)
      return workerSlots.indexOf(allotment.workerSlot)
    })
  }

  /**
   * Runs the jobs that the `Workers` at the peer spawn. Call it in a worker that you have made yourself.
   *
   * @param {any} works an object with the works by name, or a promise of it
   * @param {{ endpoint?: any, scheduler?: Scheduler }} [options] `endpoint`: default, the endpoint of this
   *   thread; `scheduler`: default `rt`
   */
  static serve(works, { endpoint = threadEnd(), scheduler } = {}) {
    serveWorks(() => works, endpoint, here({ scheduler }))
  }

  /**
   * @param {Remote} remote @param {number} time @returns {number} the earliest time of its release
   * @throws {AdmissionError} if no worker has time for it
   */
  #admit(remote, time) {
    const {
      name = remote.name, wcet = Infinity, period = Infinity, deadline = Infinity, priority = 0
    } = remote.given
    if (this.#options.share === 0 || wcet === Infinity || period === Infinity) return time
    const task = { name, wcet, period, deadline, priority }
    const allotment = remote.promised = firstFit(this.#workerSlots, task, time, this.#options)
    return allotment.workerSlot.take(allotment, time)
  }

  /** @param {Remote} remote */
  #place(remote) {
    const { promised, local, args, transfer } = remote
    const unique = remote.restarts === 0 ? undefined
      : (transfer ?? transferablesIn(args)).find(one => !CLONED.includes(kindOf(one)))
    if (unique !== undefined) Object.assign(remote, { unique: platformKindOf(unique), restarts: 0 })
    const { restarts } = remote
    const { first } = this.#held
    const isBehind = first !== null && this.#options.policy.compare(first.local, local) <= 0
    const workerSlot = promised?.workerSlot ?? (isBehind ? null : this.#workerSlotFor(local))
    if (restarts > 0 || workerSlot === null) {
      const { 0: copies, 1: moved } = snapshot(args, restarts > 0 ? transfer ?? NONE : transfer)
      remote.args = copies
      // A job that can restart transfers nothing: the next worker would lack the transferred object.
      remote.transfer = restarts > 0 ? NONE : moved
      remote.unsent = moved
    }
    if (workerSlot !== null) this.#send(remote, workerSlot)
    else this.#hold(remote)
  }
  /** @param {Remote} remote */
  #hold(remote) {
    const { absoluteDeadline, priority } = remote.local
    const isByDeadline = this.#options.policy === edf
    const key = isByDeadline ? absoluteDeadline : -priority
    remote.rank = { band: 0, key, tie: isByDeadline ? -priority : 0, comparison: null }
    this.#held.insert(remote)
  }

  /**
   * @param {Job} job
   * @returns {WorkerSlot | null} the slot of the worker that will be free first; null if the job must be held
   */
  #workerSlotFor(job) {
    const { policy } = this.#options
    let least = BUSY
    /** @type {WorkerSlot | null} */
    let free = null
    for (let i = 0; i < this.#workerSlots.length; i++) {
      const workerSlot = this.#workerSlots[i]
      let count = 0
      let ms = 0
      workerSlot.jobs.forEach(other => {
        if (policy.compare(other.local, job) > 0) return
        count++
        // A job that has exceeded its expected cost is expected to need the excess once more.
        ms += Math.abs((other.given.wcet ?? this.#costs.get(other.name) ?? 1) - other.local.cost)
      })
      const isFuller = ms === least && free !== null && workerSlot.jobs.size >= free.jobs.size
      if (count >= MAX_JOBS || ms > least || isFuller) continue
      least = ms
      free = workerSlot
    }
    return free
  }

  /** @param {Remote} remote @param {WorkerSlot} workerSlot @param {boolean} [wasHeld] */
  #send(remote, workerSlot, wasHeld = false) {
    const { id, name, given, args, transfer, local } = remote
    remote.workerSlot = workerSlot
    workerSlot.jobs.set(id, remote)
    // A job fails or restarts with its worker.
    if (workerSlot.line === null && !this.#start(workerSlot)) return
    const { line } = workerSlot
    if (workerSlot.jobs.size === 1) line?.endpoint.ref?.()
    const options = { ...given, release: local.release }
    transferring(args, transfer, chosen => line?.say('start', [id, name, options, args], chosen, wasHeld))
    remote.unsent = NONE
  }

  #sendHeld() {
    for (let first = this.#held.first; first !== null; first = this.#held.first) {
      const workerSlot = this.#workerSlotFor(first.local)
      if (workerSlot === null) return
      this.#held.delete(first)
      this.#attempt(first, () => this.#send(first, workerSlot, true))
    }
  }

  /** @param {Remote} remote @param {() => void} act */
  #attempt(remote, act) {
    try {
      act()
    } catch (error) {
      this.#finish(remote, 'failed', error)
    }
  }

  /** @param {WorkerSlot} workerSlot @returns {boolean} `false` if the new worker has already ended */
  #start(workerSlot) {
    const { make, source } = this.#options
    const line = workerSlot.line = new Line(make())
    const gone = (/** @type {string} */ why, /** @type {unknown} */ error = undefined) => {
      if (workerSlot.line === line) this.#lose(workerSlot, why, error)
    }
    const { endpoint } = line
    const { terminate } = endpoint
    endpoint.on?.('error', (/** @type {unknown} */ error) => gone('an error was not handled', error))
    // Browsers do not report that a worker was terminated. A worker that has not sent `life` yet cannot be
    // watched either.
    if (line.isSilent && terminate) {
      endpoint.terminate = () => {
        terminate.call(endpoint)
        gone('terminated')
      }
    }
    line.hear((kind, content) => actOf(this.#acts, kind)(workerSlot, content), gone)
    endpoint.unref?.()
    line.say('begin', [{ ...source, life: line.life, origin: performance.timeOrigin }])
    if (this.#observers.size > 0) line.say('observe', [true])
    return workerSlot.line === line
  }

  /**
   * The handlers of a worker's messages. Each checks its message before it changes anything. If a handler
   * throws, the worker counts as lost.
   *
   * @type {Record<string, (workerSlot: WorkerSlot, content: any[]) => void>}
   */
  #acts = {
    life: ({ line }) => line?.watch(),
    broken: (workerSlot, { 0: error }) =>
      this.#lose(workerSlot, 'its works could not be loaded', restored(error), true),
    tell: (workerSlot, { 0: id, 1: event }) => {
      workerSlot.jobs.get(JOB_ID('id', id))?.tell(EVENT('event', event))
    },
    ended: (workerSlot, { 0: id, 1: state, 2: outcome, 3: isTold, 4: missed, 5: counts }) => {
      const remote = workerSlot.jobs.get(JOB_ID('id', id))
      ENDED('state', state)
      if (remote === undefined) return
      const accounts = counts === undefined ? null : accountsIn(counts)
      const result = state === 'done' ? outcome : restored(outcome)
      const { name } = remote
      if (accounts !== null) {
        this.#costs.set(name, ((this.#costs.get(name) ?? accounts.cost) * 3 + accounts.cost) / 4)
      }
      if (missed) remote.tell('onMiss')
      remote.accounts = accounts
      this.#finish(remote, state, result, Boolean(isTold))
      this.#sendHeld()
    },
    status: (workerSlot, { 0: changed, 1: stats, 2: records }) => {
      const changes = list('changes', changed).map(({ 0: id, 1: state, 2: counts }) => {
        JOB_ID('id', id)
        LIVING('state', state)
        // The worker reports the end of a job by `ended`. A finish time in `status` would keep the job from
        // ending.
        return { id, state, accounts: { ...accountsIn(counts), finished: undefined } }
      })
      const known = statsIn(stats)
      const seen = list('records', records).map(recordIn)
      workerSlot.stats = known
      changes.forEach(({ id, state, accounts }) => {
        const remote = workerSlot.jobs.get(id)
        if (remote === undefined) return
        remote.shownState = state
        extend.elsewhere.setAccounts(remote.local, accounts)
      })
      this.#sendHeld()
      const worker = this.#workerSlots.indexOf(workerSlot)
      seen.forEach(record => this.#observers.forEach(observer => observer({ ...record, worker })))
    }
  }

  /** @param {Remote} remote @param {Job['state']} state @param {unknown} outcome @param {boolean} [isTold] */
  #finish(remote, state, outcome, isTold) {
    const { promised, scheduler, workerSlot, id } = remote
    if (!this.#all.delete(remote)) return
    remote.args = NONE
    closeAll(remote.unsent)
    remote.unsent = NONE
    if (remote.queue !== null) this.#held.delete(remote)
    if (workerSlot?.jobs.delete(id) && workerSlot.jobs.size === 0) workerSlot.line?.endpoint.unref?.()
    promised?.workerSlot.leave(promised, scheduler.now())
    remote.end(state, outcome, isTold)
    this.#tellOfRoom(scheduler)
  }

  /**
   * Called when a local job has ended: after its outcome is known, or because it was cancelled before its
   * release.
   *
   * @param {Remote} remote
   */
  #forget(remote) {
    const { workerSlot, id, local, accounts } = remote
    if (accounts !== null) extend.elsewhere.setAccounts(local, accounts)
    if (!this.#all.has(remote)) return
    workerSlot?.line?.say('cancel', [id, NONE])
    this.#finish(remote, 'cancelled', undefined)
  }

  /**
   * Wakes a job that waits for `ready()`. The woken job may decide not to spawn, so the next waiter is woken
   * after a delay if there is still room.
   *
   * @param {Scheduler} scheduler
   */
  #tellOfRoom(scheduler) {
    if (this.#all.size >= this.#options.limit) return
    this.#waiters.shift()?.wake()
    if (this.#waiters.size === 0 || this.#isTelling) return
    this.#isTelling = true
    scheduler.host.after(REPORT, () => {
      this.#isTelling = false
      this.#tellOfRoom(scheduler)
    }, { ref: true })
  }

  /**
   * Handles the end of a worker: its jobs fail or restart.
   *
   * @param {WorkerSlot} workerSlot @param {string} why @param {unknown} [error]
   * @param {boolean} [isBroken] whether any other worker would fail in the same way
   */
  #lose(workerSlot, why, error, isBroken = false) {
    const { jobs } = workerSlot
    workerSlot.jobs = new Map()
    end(workerSlot)
    jobs.forEach(remote => {
      const { promised, scheduler, isCancelled, name, unique } = remote
      remote.workerSlot = null
      if (isBroken || isCancelled || remote.restarts-- === 0) {
        const rest = unique && `, and with it the ${unique} that was transferred: it is not started again`
        const reason = new ChannelError(`${name}: its worker has gone (${why})${rest}`, error)
        return this.#finish(remote, isCancelled ? 'cancelled' : 'failed', reason)
      }
      remote.shownState = 'ready'
      promised?.workerSlot.take(promised, scheduler.now())
      this.#attempt(remote, () => this.#place(remote))
    })
    this.#sendHeld()
  }

  /** `await using workers = new Workers(url)` closes the workers at the end of the block. */
  [ASYNC_DISPOSE]() { return this.close() }

  /** The operations on local jobs that must reach the worker. */
  #far = {
    cancel: (/** @type {Remote} */ remote, /** @type {unknown} */ reason) => {
      const { workerSlot, id } = remote
      if (workerSlot === null) return this.#finish(remote, 'cancelled', reason)
      workerSlot.line?.say('cancel', [id, portable(reason)])
    },
    change: (/** @type {Remote} */ remote, /** @type {string} */ key, /** @type {number} */ value) => {
      if (remote.queue === null) return remote.workerSlot?.line?.say('change', [remote.id, key, value])
      this.#held.delete(remote)
      this.#hold(remote)
      this.#sendHeld()
    }
  }
}

/** @param {WorkerSlot} workerSlot */
function end(workerSlot) {
  const { line } = workerSlot
  workerSlot.line = null
  line?.unlisten()
  line?.endpoint.terminate?.()
}

/** @param {number} size @returns {WorkerSlot[]} */
function newWorkerSlots(size) {
  /** @type {WorkerSlot[]} */
  const workerSlots = []
  while (workerSlots.length < size) workerSlots.push(new WorkerSlot())
  return workerSlots
}

/** A waitable that ends when another job can be spawned. */
class Room extends Waitable {
  /** @param {() => boolean} hasRoom @param {InstanceType<typeof WaitQueue>} queue */
  constructor(hasRoom, queue) {
    super()
    this.hasRoom = hasRoom
    this.queue = queue
  }
  get name() { return 'workers.ready()' }
  get handsOver() { return true }
  try() {
    return this.hasRoom() && this.fulfill()
  }
  enter() {
    this.queue.push(this)
  }
}

/**
 * A job in a worker. The local job waits for this waitable from its release, never starts itself, and ends
 * with the job in the worker. A Remote is also a node in the heap of held jobs.
 */
class Remote extends Waitable {
  /** The local job. @type {any} */
  local = null
  /** @type {WorkerSlot | null} */
  workerSlot = null
  /** @type {Allotment | null} */
  promised = null
  isCancelled = false
  /** @type {unknown} */
  reason = undefined
  /** The kind of an argument that cannot be cloned, so that the job starts once; '' if there is none. */
  unique = ''
  /** The deadline and priority that the worker knows. @type {Record<string, number> | null} */
  keys = null
  /** The times and cost that the worker reported at the end of the job. @type {any} */
  accounts = null
  /** Transferred objects that no worker has received, because the job was held here. @type {any[]} */
  unsent = NONE
  /** @type {any} */
  rank = null
  /** @type {any} */
  queue = null
  slot = 0
  /** @type {any} */
  before = null
  /** @type {any} */
  after = null

  /**
   * @param {any} far see `Workers.#far` @param {Scheduler} scheduler @param {number} id
   * @param {string} name the name of the work
   * @param {any} given the options for the worker @param {any[]} args @param {any[] | undefined} transfer
   * @param {number} restarts how often the job can still be started again
   * @param {((job: Job) => void) | undefined} onOverrun
   */
  constructor(far, scheduler, id, name, given, args, transfer, restarts, onOverrun) {
    super()
    this.far = far
    this.scheduler = scheduler
    this.id = this.seq = id
    this.name = name
    this.given = given
    this.args = args
    this.transfer = transfer
    this.restarts = restarts
    this.onOverrun = onOverrun
    /** The state of the local job while it waits. @type {Job['state']} */
    this.shownState = 'ready'
  }

  get isExternal() { return true }

  /** Called at the release of the local job. @param {Job} job @returns {Waitable} */
  admit = job => {
    this.local = job
    this.rekeyed(job) // the deadline or priority may have changed while the job was pending
    return this
  }

  /** @param {unknown} reason */
  cancel(reason) {
    this.isCancelled = true
    this.reason = reason
    this.far.cancel(this, reason)
  }
  /** @param {Job} job a job whose deadline or priority may have changed */
  rekeyed({ deadline, priority }) {
    const { keys, given, far } = this
    /** @type {Record<string, number>} */
    const present = this.keys = { deadline, priority }
    Object.keys(present).forEach(key => {
      if (keys === null || keys[key] === present[key]) return
      given[key] = present[key]
      far.change(this, key, present[key])
    })
  }
  /** @param {'onMiss' | 'onOverrun'} event */
  tell(event) {
    const { onOverrun, local, scheduler } = this
    if (event === 'onMiss') extend.elsewhere.miss(local)
    else if (onOverrun !== undefined) extend.callUser(scheduler, event, onOverrun, local)
  }
  /**
   * @param {Job['state']} state @param {unknown} outcome
   * @param {boolean} [isTold] whether the job in the worker received its cancellation
   */
  end(state, outcome, isTold = false) {
    const { local } = this
    if (local === null || local.finished !== undefined) return
    const hasCancelled = state === 'cancelled' && !this.isCancelled // or missed its deadline
    if (hasCancelled) local.cancel(outcome)
    const hasEnded = state === 'cancelled' || state === 'done' && !isTold
    if (this.isCancelled && hasEnded) extend.elsewhere.finish(local, this.reason, true)
    else extend.elsewhere.finish(local, outcome, state !== 'done')
  }
}

// ------------------------------------------------------------------------------------------------ placement

/** @typedef {{ name?: string, wcet: number, period: number, deadline: number, priority: number }} Promised */

/**
 * Promised processor time, once in every period, for one job after the other.
 *
 * @typedef {Promised & {
 *   workerSlot: WorkerSlot, isBusy: boolean, isPast: boolean, until: number, before?: object
 * }} Allotment
 *   `isBusy`: a job uses the allotment; `isPast`: since the last job of the allotment ended, the worker was
 *   without promised jobs for a time; `until`: the end of the current period; `before`: `isPast` and `until`
 *   before the last job took the allotment
 */

const KEYS = /** @type {const} */ (['wcet', 'period', 'deadline', 'priority'])
/** @param {Promised[]} tasks */
const usedBy = tasks => tasks.reduce((sum, { wcet, period }) => sum + wcet / period, 0)

/**
 * The processor of a worker, and the time promised there. All allotments in one busy period passed the test
 * together, and two jobs of an allotment start at least one period apart. The real schedule is therefore
 * within the tested one. An allotment is used again early, or removed, only after the busy period.
 */
class WorkerSlot {
  /** @type {Allotment[]} */
  allotments = []
  /** @type {Map<number, Remote>} */
  jobs = new Map()
  /** @type {Line | null} */
  line = null
  /** @type {any} */
  stats = NO_STATS

  /**
   * @param {Allotment} allotment @param {number} time
   * @returns {number} the earliest release of the allotment's next job
   */
  take(allotment, time) {
    const { isPast, until } = allotment
    const release = isPast ? time : Math.max(time, until)
    const before = { isPast, until }
    Object.assign(allotment, { isBusy: true, isPast: false, until: release + allotment.period, before })
    return release
  }

  /** @param {Allotment} allotment an allotment whose job has ended @param {number} time */
  leave(allotment, time) {
    allotment.isBusy = false
    if (this.allotments.some(({ isBusy }) => isBusy)) return
    // The removed allotments were unused for a whole period.
    this.allotments = this.allotments.filter(({ until, period }) => until + period > time)
    this.allotments.forEach(one => { one.isPast = true })
  }
}

/**
 * First fit: returns an allotment of the first worker in which all tasks will meet their deadlines.
 *
 * @param {WorkerSlot[]} workerSlots @param {Promised} task @param {number} time
 * @param {{ policy: Policy, share: number }} options `share`: the share of each worker that can be promised
 * @returns {Allotment}
 * @throws {AdmissionError} if no worker has time for the task
 */
function firstFit(workerSlots, task, time, { policy, share }) {
  const free = workerSlots.flatMap(({ allotments }) => allotments)
    .find(allotment => !allotment.isBusy && KEYS.every(key => allotment[key] === task[key]))
  if (free !== undefined) return free
  // The first pass counts all allotments, the second pass only allotments whose period has not expired.
  for (let i = 0; i < 2 * workerSlots.length; i++) {
    const from = i < workerSlots.length ? -Infinity : time
    const workerSlot = workerSlots[i % workerSlots.length]
    const allotments = workerSlot.allotments.filter(({ isPast, until }) => !isPast || until > from)
    const demands = /** @type {Promised[]} */ (allotments).concat(task)
      .map(one => ({ ...one, wcet: one.wcet / share }))
    if (usedBy(demands) > 1 + 1e-9 || !schedulable(demands, { policy }).schedulable) continue
    const allotment = { ...task, workerSlot, isBusy: false, isPast: true, until: 0 }
    workerSlot.allotments = allotments.concat(allotment)
    return allotment
  }
  const sums = workerSlots.map(({ allotments }) => usedBy(allotments))
  const utilization = usedBy([task])
  throw new AdmissionError(
    `${task.name ?? 'a task'} asks for ${percent(utilization)}, for which no worker has time ` +
    `beside ${sums.map(percent).join(', ')}`, policy, {
      utilization, demand: sums.reduce((a, b) => Math.min(a, b)) + utilization, bound: share, share,
      test: 'schedulable'
    })
}

// --------------------------------------------------------------------------------------------- the protocol

/**
 * The protocol. A message is an array of WORK and pairs of a kind and an array. Messages to a worker:
 *
 *   begin    the address of the works, settings
 *   start    number, name, options, arguments of a job
 *   cancel   number, reason
 *   change   number, 'deadline' or 'priority', value
 *   observe  whether to send records
 *
 * Messages from a worker, with times on the clock of the spawning thread:
 *
 *   life     the thread holds its lock; sent if the platform does not report the end of a thread
 *   broken   the error that prevents the works from loading
 *   tell     number, 'onMiss' or 'onOverrun'
 *   ended    number, state, outcome, whether the job received its cancellation, whether it missed, times
 *   status   number, state and times of each job that has changed; statistics; records
 */
const WORK = 'rt.mjs work'
/** Time between two reports of a worker, ms. */
const REPORT = 20
const MALFORMED = 'sent a malformed message'

/**
 * The name of the lock that a worker holds until its thread ends. The prefix keeps a peer from naming other
 * locks.
 *
 * @param {string} life
 */
const lockOf = life => `${WORK} ${life}`

/** The connection between a worker and the thread that spawns its jobs. */
class Line extends Transport {
  /** Ends the watch on the peer's thread. */
  #watch = new AbortController()
  /** @type {(why: string, error?: unknown) => void} */
  #gone = () => {}
  /** Names the lock that the peer must hold; '' if the platform reports the end of its thread. */
  life = this.isSilent ? crypto.randomUUID() : ''
  #isWatched = false
  /** Whether messages are still processed: `false` after `unlisten`. */
  #isHeard = false
  /** Messages that will be sent together at the next microtask. @type {[string, any[]][]} */
  #waiting = []
  /** @type {any[]} */
  #transfer = []

  /** @param {any} endpoint */
  constructor(endpoint) {
    super(endpoint)
  }

  /**
   * @param {string} kind @param {any[]} content @param {any[]} [transfer]
   * @param {boolean} [mayWait] whether the message may wait until the end of the round, to be sent together
   *   with others: each message wakes a thread, which can take the core of another thread. The content must
   *   be clonable, and must not change while it waits
   */
  say(kind, content, transfer = NONE, mayWait = false) {
    if (!mayWait) {
      this.#flush()
      return this.post([WORK, [kind, content]], transfer)
    }
    this.#transfer = this.#transfer.concat(transfer)
    if (this.#waiting.push([kind, content]) === 1) queueMicrotask(() => this.#flush())
  }
  #flush() {
    const waiting = this.#waiting.splice(0)
    if (waiting.length > 0) this.post(/** @type {any[]} */ ([WORK]).concat(waiting), this.#transfer.splice(0))
  }

  /**
   * Processes messages of the peer until the peer has gone. Each pair in a message is a call of `act`. If
   * `act` throws, the message was malformed, and the peer counts as gone.
   *
   * @param {(kind: string, content: any[]) => void} act
   * @param {(why: string, error?: unknown) => void} [gone]
   */
  hear(act, gone = () => {}) {
    this.#gone = gone
    const receive = (/** @type {any} */ message) => {
      if (!Array.isArray(message) || message[0] !== WORK) return
      extend.event(() => {
        try {
          for (let i = 1; i < message.length && this.#isHeard; i++) {
            act(message[i][0], list('content', message[i][1]))
          }
        } catch (error) {
          gone(MALFORMED, error)
        }
      })
    }
    this.#isHeard = true
    this.listen({ receive, gone, closeUnreadable: () => gone('a message could not be read') })
  }

  /** Watches the lock of the peer's thread, which the thread holds until its end. */
  watch() {
    if (this.#isWatched) return
    this.#isWatched = true
    whenReleased(lockOf(this.life), () => this.#gone('its thread has ended'),
      { signal: this.#watch.signal, mayBeForeign: this.kind === 'MessagePort' })
  }
  unlisten() {
    super.unlisten()
    this.#isHeard = false
    this.#watch.abort()
  }
}

// ---------------------------------------------------------------------------------------- checks of messages

// A worker runs code that the page need not trust, so its messages are checked like arguments.
const JOB_ID = /* @__PURE__ */ check.number('an integer >= 1', value => isCount(value) && value > 0)
const KEY = /* @__PURE__ */ check.among('deadline', 'priority')
const EVENT = /* @__PURE__ */ check.among('onMiss', 'onOverrun')
const ENDED = /* @__PURE__ */ check.among('done', 'failed', 'cancelled')
const LIVING = /* @__PURE__ */ check.among('pending', 'ready', 'running', 'waiting', 'depleted')
/** @type {ReturnType<Scheduler['stats']>} */
const NO_STATS = {
  jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0, misses: 0, overruns: 0, stalls: 0,
  longestBudget: 0, longestRound: 0
}
const STATS = /** @type {(keyof typeof NO_STATS)[]} */ (/* @__PURE__ */ Object.keys(NO_STATS))

/** @param {Record<string, any>} acts @param {unknown} kind @returns {(...args: any[]) => void} */
function actOf(acts, kind) {
  if (typeof kind === 'string' && Object.hasOwn(acts, kind)) return acts[kind]
  throw check.wrongType('kind', 'that of a known message', kind)
}

/** @param {string} name @param {any} value @returns {any[]} */
function list(name, value) {
  anArray(name, value)
  return value
}

/**
 * Returns the checked times and counts of a job, without any other property that the worker sent.
 *
 * @param {any} counts
 * @returns {{ started?: number, finished?: number, cost: number, preemptions: number }}
 */
function accountsIn(counts) {
  const { started, finished, cost, preemptions } = check.record('counts', counts)
  if (started !== undefined) check.finite('started', started)
  if (finished !== undefined) check.finite('finished', finished)
  check.duration('cost', cost)
  check.duration('preemptions', preemptions)
  return { started, finished, cost, preemptions }
}

/** @param {any} stats @returns {ReturnType<Scheduler['stats']>} */
function statsIn(stats) {
  check.record('stats', stats)
  const known = { ...NO_STATS }
  STATS.forEach(key => { known[key] = check.duration(`stats.${key}`, stats[key]) })
  return known
}

/** @param {any} record @returns {any} */
function recordIn(record) {
  const { type, time } = check.record('record', record)
  check.text('record.type', type)
  check.finite('record.time', time)
  return record
}

/**
 * Whether a clone of a value is the value itself. Callers skip the clone then: it takes 20 to 30 us in Node.
 *
 * @param {any} value @returns {boolean}
 */
const isConstant = value => Object(value) !== value && typeof value !== 'symbol'

/**
 * @param {any[]} values @param {any[]} [given]
 * @returns {[any[], any[]]} a copy of the values, and the objects in it to transfer
 */
function snapshot(values, given) {
  if (given === undefined && values.every(isConstant)) return [values, NONE]
  return transferring(values, given, transfer =>
    structuredClone([values, transfer], { transfer: sequence(transfer) }))
}

/** Kinds of objects that their peers retain until the objects are closed. */
const CLOSED = ['MessagePort', 'RTCDataChannel', 'ImageBitmap', 'VideoFrame', 'AudioData']

/** Closes objects that were transferred to a job and that no worker received. @param {any[]} objects */
function closeAll(objects) {
  objects.forEach(object => { if (CLOSED.includes(platformKindOf(object))) object.close() })
}

/**
 * Rejects arguments that cannot be cloned, and instances of classes that arrive in a worker as empty objects.
 *
 * @param {string} name the name of the work @param {any[]} args @param {any[]} [transfer]
 * @throws {DOMException} DataCloneError
 */
function checkArguments(name, args, transfer = NONE) {
  args.forEach((value, index) => {
    if (isConstant(value) || transfer.includes(value) || !isLost(value)) return
    throw new DOMException(`args[${index}] of ${name}, ${check.describe(value)}, cannot be cloned: ` +
      'its class stays in this thread', 'DataCloneError')
  })
}

/** Whether a value is an instance of a class that its clone would lose. @param {any} value */
function isLost(value) {
  const prototype = typeof value === 'object' ? Object.getPrototypeOf(value) : null
  // The prototype of a plain object, of any realm, has no prototype itself.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return false
  const kind = kindOf(value)
  const isTagged = kind !== 'Object'
  if (isTagged ? kind in globalThis : Object.keys(value).length > 0) return false
  try {
    return Object.getPrototypeOf(Object.getPrototypeOf(structuredClone(value))) === null
  } catch {
    return false // the error of the platform names the value
  }
}

// --------------------------------------------------------------------------------------- errors in messages

/** Classes of errors that are restored with their class. @type {Record<string, any>} */
const THROWN = {
  ...ERRORS, AggregateError, AdmissionError, ChannelError, DeadlineError, DeadlockError, OwnershipError
}

/**
 * @param {any} error @param {number} [depth] levels of causes @returns {any[]} a clonable form of the error
 */
function portable(error, depth = 4) {
  if (!(error instanceof Error)) return isClonable(error) ? [error] : portable(cannotClone(error))
  const { name, message, stack, cause, errors } = /** @type {any} */ (error)
  const own = Object.entries({ ...error, name, stack }).filter(({ 1: value }) => isClonable(value))
  const kind = error instanceof DOMException ? 'DOMException' : String(name)
  const inner = (/** @type {any} */ one) => portable(one, depth - 1)
  return [
    message, kind, own, cause === undefined || depth === 0 ? null : inner(cause),
    Array.isArray(errors) && depth > 0 ? errors.map(inner) : null
  ]
}

/**
 * @param {any} sent an error as `portable` returns it @returns {any}
 * @throws {TypeError} if `portable` cannot have made it
 */
function restored(sent) {
  const { 0: message, 1: kind, 2: properties, 3: cause, 4: errors } = list('error', sent)
  if (kind === undefined) return message
  check.text('kind', kind)
  const own = list('properties', properties).map(({ 0: key, 1: value }) => [check.text('key', key), value])
  const name = own.find(({ 0: key }) => key === 'name')?.[1]
  const isException = kind === 'DOMException'
  const error = /** @type {any} */ (isException ? new DOMException(message, name) : new Error(message))
  if (Object.hasOwn(THROWN, kind)) Object.setPrototypeOf(error, THROWN[kind].prototype)
  if (cause !== null) own.push(['cause', restored(cause)])
  if (errors !== null) own.push(['errors', list('errors', errors).map(restored)])
  own.forEach(({ 0: key, 1: value }) => {
    if (error[key] === value) return
    const property = { __proto__: null, value, writable: true, configurable: true }
    Object.defineProperty(error, key, /** @type {any} */ (property))
  })
  return error
}

/** @param {any} value @returns {boolean} */
function isClonable(value) {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}

// ---------------------------------------------------------------------------------------------- in a worker

const POLICIES = /** @type {Record<string, Policy>} */ ({ edf, fp, rm })
const COUNTS = ['started', 'finished', 'cost', 'preemptions']
const SHOWN = /* @__PURE__ */ [
  'id', 'name', 'release', 'absoluteDeadline', 'deadline', 'priority', 'period', 'missed'
].concat(COUNTS)
const TIMES = ['release', 'absoluteDeadline', 'started', 'finished', 'time', 'start', 'due']

/**
 * The end in a worker: runs the jobs that the peer starts.
 *
 * @param {(source: any) => any} load the works @param {any} endpoint @param {Scheduler} scheduler
 */
function serveWorks(load, endpoint, scheduler) {
  const line = new Line(endpoint)
  /** @type {Map<number, { job: Job, isTold: boolean, state: string, cost: number }>} */
  const jobs = new Map()
  /** @type {any} */
  let works = null
  /** Messages that arrived before the works were loaded. @type {[string, any[]][]} */
  const early = []
  /** The lead of this clock over the clock of the spawning thread, ms. */
  let ahead = 0
  /** @type {any[]} */
  let records = []
  let stopObserving = () => {}
  let isReporting = false

  /** @param {any} from @param {string[]} [keys] @returns {any} */
  const copied = (from, keys = Object.keys(from)) => {
    /** @type {any} */
    const copy = {}
    keys.forEach(key => {
      const isTime = TIMES.includes(key) && from[key] !== undefined
      copy[key] = isTime ? from[key] - ahead : shown(from[key])
    })
    return copy
  }
  const shown = (/** @type {any} */ value) => value instanceof Job ? copied(value, SHOWN)
    : Object(value) === value ? String(value.name ?? platformKindOf(value)) : value

  function report() {
    isReporting = false
    /** @type {any[]} */
    const changed = []
    jobs.forEach((entry, id) => {
      const { state, cost } = entry.job
      if (state === entry.state && cost === entry.cost) return
      // Reports are sent between rounds, when no job runs: a job that has received execution time is shown as
      // running.
      const shown = state === 'ready' && cost > entry.cost ? 'running' : state
      changed.push([id, shown, copied(entry.job, COUNTS)])
      Object.assign(entry, { state, cost })
    })
    line.say('status', [changed, scheduler.stats(), records])
    records = []
    if (jobs.size > 0) reportSoon()
  }
  function reportSoon() {
    if (!isReporting) scheduler.host.after(REPORT, report, { ref: false })
    isReporting = true
  }

  /**
   * @param {number} id @param {Job['state']} state @param {any} outcome @param {Job} [job]
   * @param {boolean} [isTold]
   */
  function ended(id, state, outcome, job, isTold = false) {
    const entry = /** @type {any} */ (jobs.get(id))
    jobs.delete(id)
    // A Map keeps deleted entries in old tables until the next garbage collection. Without this line, 4000
    // jobs of 1 ms promote 11 MB instead of 3 MB to the old generation.
    if (entry) entry.job = null
    const result = state === 'done' ? outcome : portable(outcome)
    // Only constants wait for other messages. Other jobs could change an object before it is sent, and an
    // object that cannot be cloned must throw here.
    const mayWait = (!job || job.deadline === Infinity) && isConstant(result)
    try {
      const outcome = [id, state, result, isTold, job?.missed, job && copied(job, COUNTS)]
      transferring([result], undefined, transfer => line.say('ended', outcome, transfer, mayWait))
    } catch (error) {
      ended(id, 'failed', error, job, isTold)
    }
  }

  /** @type {Record<string, (content: any[]) => void>} */
  const acts = {
    async begin({ 0: given }) {
      try {
        const { origin, life, settings, ...source } = check.record('source', given)
        ahead = origin - performance.timeOrigin
        if (life) hold(lockOf(life), () => line.say('life', []))
        scheduler.configure({ ...settings, policy: POLICIES[settings.policy] })
        const loaded = await load(source)
        if (Object(loaded) !== loaded) throw check.wrongType('works', 'an object', loaded)
        works = loaded
        early.forEach(({ 0: kind, 1: content }) => acts[kind](content))
      } catch (error) {
        line.say('broken', [portable(error)])
      }
    },
    start({ 0: id, 1: name, 2: options, 3: args }) {
      const work = Object.hasOwn(works, name) ? works[name] : undefined
      const telling = (/** @type {string} */ event) => (/** @type {Job} */ job) => {
        work[event]?.(job)
        line.say('tell', [id, event])
      }
      try {
        if (work === undefined) {
          throw new TypeError(`${name} is not among the works, ${Object.keys(works).join(', ')}`)
        }
        const job = extend.spawn(scheduler, work, {
          name, ...options, release: options.release + ahead,
          onMiss: telling('onMiss'), onOverrun: telling('onOverrun')
        }, args)
        const entry = { job, isTold: false, state: 'ready', cost: 0 }
        jobs.set(id, entry)
        const end = /** @type {Waitable} */ (Waitable.of(job))
        const woken = () => ended(id, job.state, end.outcome, job, entry.isTold)
        if (end.enlist(new Waiter(null, woken))) woken()
      } catch (error) {
        ended(id, 'failed', error)
      }
      reportSoon()
    },
    cancel({ 0: id, 1: reason }) {
      const entry = jobs.get(id)
      if (entry?.job.cancel(restored(reason))) entry.isTold = true
    },
    change({ 0: id, 1: key, 2: value }) {
      KEY('key', key)
      const entry = jobs.get(id)
      if (entry) Object.assign(entry.job, { [key]: value })
    },
    observe({ 0: isWanted }) {
      stopObserving()
      stopObserving = !isWanted ? () => {} : scheduler.observe(record => {
        records.push(copied(record))
        reportSoon()
      })
    }
  }
  line.hear((kind, content) => {
    const act = actOf(acts, kind)
    if (works === null && kind !== 'begin') early.push([kind, content])
    else act(content)
  }, (why, error) => { if (why === MALFORMED) line.say('broken', [portable(error)]) })
}

// -------------------------------------------------------------------------------------------------- options

const workerCount = /* @__PURE__ */ check.number('an integer >= 1', value => isCount(value) && value > 0)
const restartCount = /* @__PURE__ */ check.number('an integer >= 0', isCount)
const aShare = /* @__PURE__ */ check.number('a number > 0 and <= 1', value => value > 0 && value <= 1)
/** @param {(name: string, value: any) => unknown} check @returns {(name: string, value: any) => unknown} */
const orFlag = check => (name, value) => typeof value === 'boolean' || check(name, value)
const PLACING = {
  size: workerCount,
  policy: (/** @type {string} */ name, /** @type {any} */ value) => {
    if (POLICIES[value?.name] !== value) throw check.wrongType(name, 'edf, fp or rm', value)
  },
  admit: /* @__PURE__ */ orFlag(aShare)
}
const CREW = {
  ...PLACING, restart: /* @__PURE__ */ orFlag(restartCount), limit: workerCount, preemptify: check.flag,
  slice: check.positive, round: check.positive, budget: check.points
}
const SPAWNED = {
  deadline: check.positive, priority: check.finite, period: check.positive, wcet: check.notNegative,
  release: check.finite, budget: check.points, onOverrun: check.callable, transfer: anArray,
  restart: /* @__PURE__ */ orFlag(restartCount),
  .../* @__PURE__ */ check.unchecked('scheduler', 'name', 'miss', 'onMiss', 'signal')
}
/**
 * @param {boolean | number} restart
 * @returns {number} the maximum number of restarts. It is finite, because a job that ends its worker each
 *   time must end as well
 */
const timesOf = restart => restart === true ? 3 : Number(restart)
/** @returns {number} */
const countOfCores = () => globalThis.navigator?.hardwareConcurrency ??
  /** @type {any} */ (globalThis).process.getBuiltinModule('node:os').availableParallelism()

// ---------------------------------------------------------------------- workers that begin with this module

/** The fragment of this module's address at which a worker starts. */
const ENTRY = '#worker'

/**
 * Returns the absolute address of a module of works. It throws in a bundle, because workers start with this
 * module, which has no separate address there. `beginAsWorker`, which bundlers drop, replaces this function
 * by one that resolves the address.
 *
 * @type {(url: string | URL) => string}
 */
let addressOf = () => {
  throw new TypeError('in a bundle, url must be a function that makes a worker, which calls Workers.serve()')
}
/** Makes a worker that starts with this module. @type {() => any} */
let makeWorker

/** The address of a blob for all workers. It is never revoked, because a later worker may still load it. */
let blob = ''
/** @param {string} script */
const blobOf = script =>
  blob ||= URL.createObjectURL(new Blob(sequence([script]), { type: 'text/javascript' }))
/** The endpoint between a worker and the thread that made it. @returns {any} */
const threadEnd = () => typeof globalThis.postMessage === 'function' ? globalThis : threads()?.parentPort

/** @param {URL} address the address with which the worker starts @returns {any} */
function workerAt(address) {
  const script = `import ${JSON.stringify(address)}`
  // Node drops the fragment of a file's address, so a data: module imports the address with its fragment.
  if (!globalThis.Worker) {
    return new (threads().Worker)(new URL(`data:text/javascript,${encodeURIComponent(script)}`))
  }
  // A worker must have the origin of the page. A blob has it, and can import a module from a CDN.
  const isElsewhere = (globalThis.origin ?? address.origin) !== address.origin
  return new Worker(isElsewhere ? blobOf(script) : address, { type: 'module' })
}

/**
 * Prepares the creation of workers, and serves this thread if it is a worker that started with this module.
 * Bundlers drop this function together with all code that only workers need.
 */
function beginAsWorker() {
  const address = import.meta.url ?? '' // a bundle that is not a module has no address
  if (!/\/addons\/workers[.]mjs(?:[?#]|$)/.test(address)) return
  const { document, location, process } = /** @type {any} */ (globalThis)
  addressOf = url => new URL(url, document?.baseURI ?? location?.href ?? `file://${process?.cwd()}/`).href
  makeWorker = () => workerAt(new URL(ENTRY, address))
  if (!address.endsWith(ENTRY)) return
  const load = (/** @type {string} */ url) => import(/* webpackIgnore: true */ url)
  serveWorks(async ({ url, preemptify }) => {
    if (!preemptify) return load(url)
    const module = await load(new URL('preemptify.mjs', address).href)
    return module.preemptify.import(url)
  }, threadEnd(), here())
}
/* @__PURE__ */ beginAsWorker()
