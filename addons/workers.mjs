/**
 * addons/workers.mjs: jobs in workers, each with a scheduler of its own: partitioned scheduling.
 *
 *   page                                    worker
 *   Workers.spawn -> Remote -> Site, Line ~~~ Line -> labour -> scheduler.spawn
 *
 * Words:
 * - works: the exports of the module that the workers run
 * - site: a worker, as the pool sees it: its jobs, its connection, and the processor time that is promised of
 *   it
 * - slot: promised processor time, `wcet` per `period`, used by one job after the other
 * - remote: a job that runs at a site; its Job is known here
 * - held: a job that no site has yet, because all have enough to do
 * - line: the connection between a site and its worker; `labour` serves the end in the worker
 *
 * Invariants:
 * 1. Each spawned job ends exactly once, with the outcome from its worker or with a ChannelError.
 * 2. Jobs with a slot passed `schedulable` together with all other promises of their site.
 * 3. A job that may restart starts in one worker at a time.
 * 4. Sites without jobs do not keep Node alive.
 *
 * A worker of Node or of a browser begins with this module itself, at the address with ENTRY; bundlers drop
 * that part, so in a bundle `url` is a function that makes a worker.
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
/** @import { TaskOptions, TraceRecord } from '../rt.mjs' */
/** @import { TaskParameters } from './schedulable.mjs' */
/** @typedef {InstanceType<typeof extend.Waitable>} Waitable */

export { AdmissionError }

const { Heap, Waitable, Waiter, WaitQueue, check, here } = extend

/**
 * Jobs are held here while those before them keep a worker busy for so many ms more, or are too many. With
 * half as much, workers that share their cores with this thread run dry before it is heard.
 */
const BUSY = 10
const MOST = 64
/** ms that jobs have to end in when they are cancelled by `close`. */
const GRACE = 1000
/** Engines without explicit resource management have no such symbol. @type {symbol} */
const ASYNC_DISPOSE = /* @__PURE__ */ (() => /** @type {any} */ (Symbol).asyncDispose ?? Symbol('asyncDispose'))()

/**
 * @typedef {object} WorkersOptions
 * @property {number} [size] how many workers; default: as many as there are cores
 * @property {Policy} [policy] of their schedulers: `edf` (default), `fp` or `rm`
 * @property {boolean | number} [admit] the share of each worker that may be promised, > 0 and <= 1; default
 *   true, which is 1; false: nothing is promised, nor refused
 * @property {boolean | number} [restart] how often a job is started again whose worker has gone; default 0,
 *   true is 3
 * @property {number} [limit] of jobs that have not ended; default 16384
 * @property {boolean} [preemptify] whether the works are to be preemptified as `preemptify.import` does;
 *   default false
 * @property {number} [slice] ms, of their schedulers
 * @property {number} [round] ms
 * @property {number | 'auto'} [budget] points
 */
/**
 * Options of one job in a worker.
 *
 * @typedef {Pick<TaskOptions, 'name' | 'deadline' | 'priority' | 'period' | 'wcet' | 'budget' | 'miss' |
 *   'onMiss' | 'onOverrun' | 'scheduler'> & JobOptions & { transfer?: any[], restart?: boolean | number }}
 *   RemoteOptions `scheduler`: where the job is known; `transfer`: exactly what of the arguments to transfer;
 *   `restart`: instead of that of all
 */

/**
 * Jobs in workers: partitioned scheduling on Web Workers or the threads of Node. Each worker has its own
 * scheduler.
 *
 * ```js
 * const workers = new Workers(new URL('works.mjs', import.meta.url))
 * const picture = await workers.spawn('render', { deadline: 100 }, scene)
 * ```
 *
 * The works are the exports of a module; each export is work as for `rt.spawn`. `spawn` returns a job of this
 * thread, which can be awaited and cancelled, and whose deadline and priority can be set. A cancelled job
 * ends after its `finally` blocks in the worker. Its times, cost and misses come from the worker, up to 20 ms
 * late.
 *
 * Arguments and results are cloned. Buffers of 64 KiB and more are transferred, and so are objects that
 * cannot be cloned, for example a MessagePort; this includes elements and properties of an argument. If a job
 * has no deadline and its result is not an object, the worker reports the result at the end of its round. A
 * worker that dies before loses these results.
 *
 * A job that declares wcet and period goes to the first worker where `schedulable` admits it beside the other
 * such jobs. The worker reserves this time until the period ends. The next job with the same parameters gets
 * it first, and is not released before. Every other job goes to the worker that will be free first, estimated
 * by the costs so far, and waits in this thread while all workers have enough jobs.
 *
 * When a worker ends, its jobs fail with a ChannelError or are started again (`restart`). A job whose
 * arguments cannot be cloned is never started again. Idle workers do not keep Node alive.
 *
 * @template {Record<string, any>} [M=Record<string, (...args: any[]) => unknown>] the module's type:
 *   `Workers<typeof works>`, of its namespace
 */
export class Workers {
  #options
  /** @type {Site[]} */
  #sites
  /** Jobs that have not ended. @type {Set<Remote>} */
  #all = new Set()
  /** Those that no worker has yet. @type {InstanceType<typeof Heap<any>>} */
  #held = new Heap()
  /** What works have cost lately, ms. @type {Map<string, number>} */
  #costs = new Map()
  /** @type {Set<(record: any) => void>} */
  #observers = new Set()
  #waiters = new WaitQueue()
  #spawned = 0
  #isTelling = false
  #isClosed = false

  /**
   * @param {string | URL | (() => any)} url of the module, relative to the page, or to the working directory;
   *   or a function that makes a worker, or another endpoint, at whose other side `Workers.serve` is called:
   *   in bundles
   * @param {WorkersOptions} [options]
   * @throws {TypeError | RangeError} naming the parameter
   */
  constructor(url, options = {}) {
    const { size = countOfCores(), policy = edf, admit = true, restart = false, limit = 2 ** 14, preemptify = false, ...settings } =
      check.options(options, CREW)
    const isMade = typeof url === 'function'
    if (!isMade && typeof url !== 'string' && kindOf(url) !== 'URL') throw check.wrongType('url', 'an address or a function', url)
    const address = isMade ? '' : addressOf(url)
    const source = { url: address, preemptify, settings: { ...settings, policy: policy.name } }
    this.#options = { policy, share: Number(admit), restart, limit, source, make: isMade ? url : makeWorker }
    this.#sites = sitesOf(size)
    try {
      this.#sites.forEach(site => this.#start(site))
    } catch (error) {
      this.#sites.forEach(end)
      throw error
    }
  }

  /**
   * Releases a job in a worker.
   *
   * @template {keyof M & string} K
   * @param {K} name of the work
   * @param {RemoteOptions} [options]
   * @param {ArgumentsOf<M[K]>} args
   * @returns {Job<ResultOf<M[K]>>}
   * @throws {AdmissionError} when no worker has time for its wcet and period
   * @throws {RangeError} when there are as many jobs as may be: wait for `ready()`
   * @throws {ChannelError} when the workers have been closed
   * @throws {TypeError | RangeError | DOMException} naming the parameter, or what cannot be cloned
   */
  spawn(name, options = {}, ...args) {
    return this.#spawn(name, options, args)
  }

  /**
   * Releases a job without options: `workers.run.render(scene)`.
   *
   * @type {{ readonly [K in keyof M & string]: (...args: ArgumentsOf<M[K]>) => Job<ResultOf<M[K]>> }}
   */
  run = new Proxy(/** @type {any} */ (Object.freeze(Object.create(null))), /** @type {any} */ ({
    __proto__: null, // a property of Object.prototype is no trap
    // `await workers.run` must not start a work of the name `then`.
    get: (/** @type {any} */ _, /** @type {PropertyKey} */ name) =>
      typeof name !== 'string' || name === 'then' ? undefined : (/** @type {any[]} */ ...args) => this.#spawn(name, {}, args)
  }))

  /** @param {string} name @param {any} options @param {any[]} args @returns {any} */
  #spawn(name, options, args) {
    const { restart: usual, limit, policy } = this.#options
    const { transfer, restart = usual, scheduler: wanted, ...parameters } = check.options(options, SPAWNED)
    check.text('name', name)
    checkArguments(name, args, transfer)
    if (this.#isClosed) throw new ChannelError('the workers have been closed')
    if (this.#all.size >= limit) throw new RangeError(`more than ${limit} jobs have not ended: wait for ready()`)
    const { signal, onMiss, onOverrun, ...given } = parameters
    const scheduler = here({ scheduler: wanted })
    const priority = policy.priority?.({ deadline: Infinity, priority: 0, period: Infinity, ...given }) ?? given.priority
    const remote = new Remote(this.#far, scheduler, ++this.#spawned, name, given, args, transfer, timesOf(restart), onOverrun)
    this.#all.add(remote)
    try {
      const release = this.#admit(remote, given.release ?? scheduler.now())
      const { deadline, period, miss } = given
      const options = { name: given.name ?? name, deadline, period, miss, priority, release, signal, onMiss }
      const job = remote.local = /** @type {any} */ (extend.spawn(scheduler, () => {}, options, [], remote.admit))
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
  /** What has not begun has taken no time. @param {Remote} remote @param {unknown} error */
  #refuse(remote, error) {
    if (remote.promised !== null) Object.assign(remote.promised, remote.promised.before)
    this.#finish(remote, 'cancelled', error)
  }

  /** How many workers there are. */
  get size() { return this.#sites.length }
  /** How many jobs have not ended. */
  get unfinished() { return this.#all.size }

  /**
   * Waits until another job may be spawned, which is to be done at once: nothing is kept for who has waited.
   *
   * @param {{ signal?: AbortSignal }} [options] `signal`: ends the wait
   * @returns {Awaitable<void>}
   */
  ready(options) {
    return withSignal(new Room(() => this.#all.size < this.#options.limit, this.#waiters), options)
  }

  /**
   * Tells of the schedules of all workers, as `Scheduler.observe` does: some 20 ms later, with copies of the
   * jobs, those that works spawn among them, and with the index of the worker, `worker`, in each record.
   *
   * @param {(record: TraceRecord & { worker: number }) => void} fn
   * @returns {() => void} ends it
   */
  observe(fn) {
    const observers = this.#observers
    const scheduler = here()
    const observer = (/** @type {any} */ record) => extend.callUser(scheduler, 'observer', fn, record)
    const tell = () => this.#sites.forEach(({ line }) => line?.say('observe', [observers.size > 0]))
    check.callable('fn', fn)
    observers.add(observer)
    tell()
    return () => {
      observers.delete(observer)
      tell()
    }
  }

  /**
   * Sums of what their schedulers' `stats` said lately, the longest of what is longest; and each one's.
   *
   * @returns {ReturnType<Scheduler['stats']> & { workers: ReturnType<Scheduler['stats']>[] }}
   */
  stats() {
    const workers = this.#sites.map(({ stats }) => stats)
    /** @type {any} */
    const total = { ...NO_STATS }
    workers.forEach(stats => STATS.forEach(key => {
      total[key] = key.startsWith('longest') ? Math.max(total[key], stats[key]) : total[key] + stats[key]
    }))
    return { ...total, workers }
  }

  /**
   * Ends the workers, when all jobs have ended; no more are taken.
   *
   * @param {{ cancel?: boolean }} [options] `cancel`: whether to cancel them; those that have not ended
   *   a second later, as what awaits for ever or hangs, end with their workers
   * @returns {Promise<void>} when that has happened
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
      const lose = () => this.#sites.forEach(site => this.#lose(site, 'closed'))
      all[0]?.scheduler.host.after(GRACE, lose, { ref: false })
      all.forEach(({ local }) => local.cancel())
    }
    await ended
    this.#sites.forEach(end)
  }

  /**
   * Where periodic tasks would go, one after the other: first fit, which is best in order of falling
   * utilization.
   *
   * @param {readonly TaskParameters[]} tasks
   * @param {Pick<WorkersOptions, 'size' | 'policy' | 'admit'>} [options]
   * @returns {number[]} the worker of each, from 0 on
   * @throws {AdmissionError} when one does not fit
   */
  static partition(tasks, options = {}) {
    const { size = countOfCores(), policy = edf, admit = true } = check.options(options, PLACING)
    const sites = sitesOf(size)
    anArray('tasks', tasks)
    tasks.forEach((task, index) => demandOf(`tasks[${index}]`, task, policy))
    return tasks.map(({ deadline = Infinity, priority = 0, ...task }) => {
      const slot = firstFit(sites, { ...task, deadline, priority }, 0, { policy, share: Number(admit) })
      slot.site.take(slot, 0)
      return sites.indexOf(slot.site)
    })
  }

  /**
   * In a worker that the user has made: runs what `Workers` at its other side spawn.
   *
   * @param {any} works by name, or a promise of them
   * @param {{ endpoint?: any, scheduler?: Scheduler }} [options] by default the thread's own, and `rt`
   */
  static serve(works, { endpoint = threadEnd(), scheduler } = {}) {
    labour(() => works, endpoint, here({ scheduler }))
  }

  /**
   * @param {Remote} remote @param {number} time @returns {number} when it may be released
   * @throws {AdmissionError}
   */
  #admit(remote, time) {
    const { name = remote.name, wcet = Infinity, period = Infinity, deadline = Infinity, priority = 0 } = remote.given
    if (this.#options.share === 0 || wcet === Infinity || period === Infinity) return time
    const slot = remote.promised = firstFit(this.#sites, { name, wcet, period, deadline, priority }, time, this.#options)
    return slot.site.take(slot, time)
  }

  /** @param {Remote} remote */
  #place(remote) {
    const { promised, local, args, transfer } = remote
    const unique = remote.restarts > 0 ? (transfer ?? transferablesIn(args)).find(one => !CLONED.includes(kindOf(one))) : undefined
    if (unique !== undefined) Object.assign(remote, { unique: platformKindOf(unique), restarts: 0 })
    const { restarts } = remote
    const { first } = this.#held
    const isBehind = first !== null && this.#options.policy.compare(first.local, local) <= 0
    const site = promised?.site ?? (isBehind ? null : this.#siteFor(local))
    if (restarts > 0 || site === null) {
      const { 0: copies, 1: moved } = snapshot(args, restarts > 0 ? transfer ?? NONE : transfer)
      remote.args = copies
      remote.transfer = restarts > 0 ? NONE : moved // for the next worker there is to be one, too
      remote.unsent = moved
    }
    if (site !== null) this.#send(remote, site)
    else this.#hold(remote)
  }
  /** @param {Remote} remote */
  #hold(remote) {
    const { absoluteDeadline, priority } = remote.local
    const isByDeadline = this.#options.policy === edf
    remote.rank = { band: 0, key: isByDeadline ? absoluteDeadline : -priority, tie: isByDeadline ? -priority : 0, comparison: null }
    this.#held.insert(remote)
  }

  /**
   * @param {Job} job @returns {Site | null} the one that will be free for it first, unless it is to be held
   */
  #siteFor(job) {
    const { policy } = this.#options
    let least = BUSY
    /** @type {Site | null} */
    let free = null
    for (let i = 0; i < this.#sites.length; i++) {
      const site = this.#sites[i]
      let count = 0
      let ms = 0
      site.jobs.forEach(other => {
        if (policy.compare(other.local, job) > 0) return
        count++
        // Of what has taken longer than was expected, as much again.
        ms += Math.abs((other.given.wcet ?? this.#costs.get(other.name) ?? 1) - other.local.cost)
      })
      const isFuller = ms === least && free !== null && site.jobs.size >= free.jobs.size
      if (count >= MOST || ms > least || isFuller) continue
      least = ms
      free = site
    }
    return free
  }

  /** @param {Remote} remote @param {Site} site @param {boolean} [wasHeld] */
  #send(remote, site, wasHeld = false) {
    const { id, name, given, args, transfer, local } = remote
    remote.site = site
    site.jobs.set(id, remote)
    if (site.line === null && !this.#start(site)) return // it is lost as others are
    const { line } = site
    if (site.jobs.size === 1) line?.endpoint.ref?.()
    const options = { ...given, release: local.release }
    transferring(args, transfer, chosen => line?.say('start', [id, name, options, args], chosen, wasHeld))
    remote.unsent = NONE
  }

  #sendHeld() {
    for (let first = this.#held.first; first !== null; first = this.#held.first) {
      const site = this.#siteFor(first.local)
      if (site === null) return
      this.#held.delete(first)
      this.#attempt(first, () => this.#send(first, site, true))
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

  /** @param {Site} site @returns {boolean} whether its worker has not gone meanwhile */
  #start(site) {
    const { make, source } = this.#options
    const line = site.line = new Line(make())
    const gone = (/** @type {string} */ why, /** @type {unknown} */ error = undefined) => {
      if (site.line === line) this.#lose(site, why, error)
    }
    const { endpoint } = line
    const { terminate } = endpoint
    endpoint.on?.('error', (/** @type {unknown} */ error) => gone('an error was not handled', error))
    // Browsers do not say so, and who has said nothing yet has no life to watch.
    if (line.isSilent && terminate) endpoint.terminate = () => { terminate.call(endpoint); gone('terminated') }
    line.hear((kind, content) => actOf(this.#acts, kind)(site, content), gone)
    endpoint.unref?.()
    line.say('begin', [{ ...source, life: line.life, origin: performance.timeOrigin }])
    if (this.#observers.size > 0) line.say('observe', [true])
    return site.line === line
  }

  /**
   * The messages of a worker. Each is checked before it changes anything; an error loses the worker.
   *
   * @type {Record<string, (site: Site, content: any[]) => void>}
   */
  #acts = {
    life: ({ line }) => line?.watch(),
    broken: (site, { 0: error }) => this.#lose(site, 'its works could not be loaded', restored(error), true),
    tell: (site, { 0: id, 1: event }) => {
      site.jobs.get(JOB_ID('id', id))?.tell(EVENT('event', event))
    },
    ended: (site, { 0: id, 1: state, 2: outcome, 3: isTold, 4: missed, 5: counts }) => {
      const remote = site.jobs.get(JOB_ID('id', id))
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
    status: (site, { 0: changed, 1: stats, 2: records }) => {
      const changes = list('changes', changed).map(({ 0: id, 1: state, 2: counts }) => {
        JOB_ID('id', id)
        LIVING('state', state)
        // The worker reports the end of a job by `ended`: a job that has a finish would never end here.
        return { id, state, accounts: { ...accountsIn(counts), finished: undefined } }
      })
      const known = statsIn(stats)
      const seen = list('records', records).map(recordIn)
      site.stats = known
      changes.forEach(({ id, state, accounts }) => {
        const remote = site.jobs.get(id)
        if (remote === undefined) return
        remote.shownState = state
        extend.elsewhere.setAccounts(remote.local, accounts)
      })
      this.#sendHeld()
      const worker = this.#sites.indexOf(site)
      seen.forEach(record => this.#observers.forEach(observer => observer({ ...record, worker })))
    }
  }

  /** @param {Remote} remote @param {Job['state']} state @param {unknown} outcome @param {boolean} [isTold] */
  #finish(remote, state, outcome, isTold) {
    const { promised, scheduler, site, id } = remote
    if (!this.#all.delete(remote)) return
    remote.args = NONE
    closeAll(remote.unsent)
    remote.unsent = NONE
    if (remote.queue !== null) this.#held.delete(remote)
    if (site?.jobs.delete(id) && site.jobs.size === 0) site.line?.endpoint.unref?.()
    promised?.site.leave(promised, scheduler.now())
    remote.end(state, outcome, isTold)
    this.#tellOfRoom(scheduler)
  }

  /**
   * A job has ended here: after its outcome is known, or because it was cancelled before its release.
   *
   * @param {Remote} remote
   */
  #forget(remote) {
    const { site, id, local, accounts } = remote
    if (accounts !== null) extend.elsewhere.setAccounts(local, accounts)
    if (!this.#all.has(remote)) return
    site?.line?.say('cancel', [id, NONE])
    this.#finish(remote, 'cancelled', undefined)
  }

  /**
   * Who is told need not spawn: if there is room a while later, the next one is, too.
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
   * A worker has gone.
   *
   * @param {Site} site @param {string} why @param {unknown} [error]
   * @param {boolean} [isBroken] for others, too
   */
  #lose(site, why, error, isBroken = false) {
    const { jobs } = site
    site.jobs = new Map()
    end(site)
    jobs.forEach(remote => {
      const { promised, scheduler, isCancelled, name, unique } = remote
      remote.site = null
      if (isBroken || isCancelled || remote.restarts-- === 0) {
        const rest = unique && `, and with it the ${unique} that was transferred: it is not started again`
        const reason = new ChannelError(`${name}: its worker has gone (${why})${rest}`, error)
        return this.#finish(remote, isCancelled ? 'cancelled' : 'failed', reason)
      }
      remote.shownState = 'ready'
      promised?.site.take(promised, scheduler.now())
      this.#attempt(remote, () => this.#place(remote))
    })
    this.#sendHeld()
  }

  /** `await using workers = new Workers(url)` closes the workers at the end of the block. */
  [ASYNC_DISPOSE]() { return this.close() }

  /** What is done to jobs here. */
  #far = {
    cancel: (/** @type {Remote} */ remote, /** @type {unknown} */ reason) => {
      const { site, id } = remote
      if (site === null) return this.#finish(remote, 'cancelled', reason)
      site.line?.say('cancel', [id, portable(reason)])
    },
    change: (/** @type {Remote} */ remote, /** @type {string} */ key, /** @type {number} */ value) => {
      if (remote.queue === null) return remote.site?.line?.say('change', [remote.id, key, value])
      this.#held.delete(remote)
      this.#hold(remote)
      this.#sendHeld()
    }
  }
}

/** @param {Site} site */
function end(site) {
  const { line } = site
  site.line = null
  line?.unlisten()
  line?.endpoint.terminate?.()
}

/** @param {number} size @returns {Site[]} */
function sitesOf(size) {
  /** @type {Site[]} */
  const sites = []
  while (sites.length < size) sites.push(new Site())
  return sites
}

/** Waits until another job may be spawned. */
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
 * A job in a worker. The local job waits for it from its release on, never starts, and ends with it. It is a
 * node of the heap of held jobs, too.
 */
class Remote extends Waitable {
  /** The job here. @type {any} */
  local = null
  /** @type {Site | null} */
  site = null
  /** @type {Slot | null} */
  promised = null
  isCancelled = false
  /** @type {unknown} */
  reason = undefined
  /**
   * The kind of argument that cannot be cloned, so that the job starts once; '' if all can be cloned.
   */
  unique = ''
  /** Its deadline and priority, as its worker knows them. @type {Record<string, number> | null} */
  keys = null
  /** What its worker says of its times and cost, once it has ended. @type {any} */
  accounts = null
  /** Transferred objects that no worker has got, because the job was held here. @type {any[]} */
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
   * @param {any} far what is done to jobs here @param {Scheduler} scheduler @param {number} id
   * @param {string} name of the work
   * @param {any} given options that go there @param {any[]} args @param {any[] | undefined} transfer
   * @param {number} restarts how often it may still be started again
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
    this.rekeyed(job) // it may have been changed while it was pending
    return this
  }

  /** @param {unknown} reason */
  cancel(reason) {
    this.isCancelled = true
    this.reason = reason
    this.far.cancel(this, reason)
  }
  /** @param {Job} job its deadline or priority may have changed */
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
   * @param {boolean} [isTold] whether it knew of its cancellation
   */
  end(state, outcome, isTold = false) {
    const { local } = this
    if (local === null || local.finished !== undefined) return
    const hasCancelled = state === 'cancelled' && !this.isCancelled // by itself, or at its deadline
    if (hasCancelled) local.cancel(outcome)
    if (this.isCancelled && (state === 'cancelled' || state === 'done' && !isTold)) extend.elsewhere.finish(local, this.reason, true)
    else extend.elsewhere.finish(local, outcome, state !== 'done')
  }
}

// ------------------------------------------------------------------------------------------------ placement

/** @typedef {{ name?: string, wcet: number, period: number, deadline: number, priority: number }} Promised */

/**
 * Time of a processor that is promised, once in every period: to one job after the other.
 *
 * @typedef {Promised & { site: Site, isBusy: boolean, isPast: boolean, until: number, before?: object }} Slot
 *   `isBusy`: a job has it; `isPast`: since its job ended there was a time without any promised job; `until`:
 *   when its period is over; `before`: both, before its last job had it
 */

const KEYS = /** @type {const} */ (['wcet', 'period', 'deadline', 'priority'])
/** @param {Promised[]} tasks */
const usedBy = tasks => tasks.reduce((sum, { wcet, period }) => sum + wcet / period, 0)

/**
 * A worker's processor, by what is promised of it. The jobs of one busy period all have slots that passed the
 * test together, and no two jobs of a slot are closer than its period: so they are what was tested. A slot is
 * taken anew, or given up, only after that.
 */
class Site {
  /** @type {Slot[]} */
  slots = []
  /** @type {Map<number, Remote>} */
  jobs = new Map()
  /** @type {Line | null} */
  line = null
  /** @type {any} */
  stats = NO_STATS

  /** @param {Slot} slot @param {number} time @returns {number} when its next job may be released */
  take(slot, time) {
    const { isPast, until } = slot
    const release = isPast ? time : Math.max(time, until)
    Object.assign(slot, { isBusy: true, isPast: false, until: release + slot.period, before: { isPast, until } })
    return release
  }

  /** @param {Slot} slot whose job has ended @param {number} time */
  leave(slot, time) {
    slot.isBusy = false
    if (this.slots.some(({ isBusy }) => isBusy)) return
    this.slots = this.slots.filter(({ until, period }) => until + period > time) // for others nobody has come
    this.slots.forEach(one => { one.isPast = true })
  }
}

/**
 * First fit: the first of the sites at which all will meet their deadlines.
 *
 * @param {Site[]} sites @param {Promised} task @param {number} time
 * @param {{ policy: Policy, share: number }} options the share of each that may be promised
 * @returns {Slot}
 * @throws {AdmissionError}
 */
function firstFit(sites, task, time, { policy, share }) {
  const free = sites.flatMap(({ slots }) => slots).find(slot => !slot.isBusy && KEYS.every(key => slot[key] === task[key]))
  if (free !== undefined) return free
  // Beside all that have been promised, or else those whose time is not over.
  for (let i = 0; i < 2 * sites.length; i++) {
    const from = i < sites.length ? -Infinity : time
    const site = sites[i % sites.length]
    const slots = site.slots.filter(({ isPast, until }) => !isPast || until > from)
    const demands = /** @type {Promised[]} */ (slots).concat(task).map(one => ({ ...one, wcet: one.wcet / share }))
    if (usedBy(demands) > 1 + 1e-9 || !schedulable(demands, { policy }).schedulable) continue
    const slot = { ...task, site, isBusy: false, isPast: true, until: 0 }
    site.slots = slots.concat(slot)
    return slot
  }
  const sums = sites.map(({ slots }) => usedBy(slots))
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
 * What is said to a worker, in arrays of WORK and pairs of a kind and an array:
 *
 *   begin    where the works are, settings
 *   start    number, name, options, arguments of a job
 *   cancel   number, reason
 *   change   number, 'deadline' or 'priority', value
 *   observe  whether to
 *
 * and by it, with times on the clock of who spawns:
 *
 *   life     the lock that its thread holds, where nothing else tells that a thread has ended
 *   broken   why there are no works
 *   tell     number, 'onMiss' or 'onOverrun'
 *   ended    number, state, outcome, whether it knew of its cancellation, whether missed, times
 *   status   of each job that has changed: number, state, times; statistics; records
 */
const WORK = 'rt.mjs work'
/** ms between two reports of a worker. */
const REPORT = 20
const MALFORMED = 'sent a malformed message'

/**
 * The name of the lock that a worker holds until its thread ends. The prefix keeps a peer from naming other
 * locks.
 *
 * @param {string} life
 */
const lockOf = life => `${WORK} ${life}`

/** Between a worker and who has it work. */
class Line extends Transport {
  /** What ends the watch on the other side's thread. */
  #watch = new AbortController()
  /** @type {(why: string, error?: unknown) => void} */
  #gone = () => {}
  /** Names the lock that the other side is to hold; '' where the platform reports its end. */
  life = this.isSilent ? crypto.randomUUID() : ''
  #isWatched = false
  /** Whether acts of the present message still count. */
  #isHeard = false
  /** What waits for the end of the turn. @type {[string, any[]][]} */
  #waiting = []
  /** @type {any[]} */
  #transfer = []

  /** @param {any} endpoint */
  constructor(endpoint) {
    super(endpoint)
  }

  /**
   * @param {string} kind @param {any[]} content @param {any[]} [transfer]
   * @param {boolean} [mayWait] for others, until the turn or round is over: each message wakes a thread,
   *   which takes the core of another one where there are few. Nobody changes it meanwhile, and nothing of it
   *   is refused
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
   * Hears the other side, until it has gone: each pair is an act of that name. An error of an act means that
   * the message was malformed: the other side counts as gone.
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
          for (let i = 1; i < message.length && this.#isHeard; i++) act(message[i][0], list('content', message[i][1]))
        } catch (error) {
          gone(MALFORMED, error)
        }
      })
    }
    this.#isHeard = true
    this.listen({ receive, gone, closeUnreadable: () => gone('a message could not be read') })
  }

  /** The thread of the other side holds its lock. */
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

// A worker runs code that this page need not trust, so its messages are checked like arguments.
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
 * The figures of a job, and nothing else of what a worker has sent.
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
 * A clone takes 20 to 30 us in Node.
 *
 * @param {any} value @returns {boolean} whether it is cloned as what it is
 */
const isConstant = value => Object(value) !== value && typeof value !== 'symbol'

/**
 * @param {any[]} values @param {any[]} [given]
 * @returns {[any[], any[]]} them as they are now, and what of that to transfer
 */
function snapshot(values, given) {
  if (given === undefined && values.every(isConstant)) return [values, NONE]
  return transferring(values, given, transfer =>
    structuredClone([values, transfer], { transfer: sequence(transfer) }))
}

/** Objects that their peers hold on to until they are closed. */
const CLOSED = ['MessagePort', 'RTCDataChannel', 'ImageBitmap', 'VideoFrame', 'AudioData']

/** Closes objects that were transferred to a job, and that no worker gets. @param {any[]} objects */
function closeAll(objects) {
  objects.forEach(object => { if (CLOSED.includes(platformKindOf(object))) object.close() })
}

/**
 * Rejects arguments that cannot be cloned, and instances of classes that a worker would get as empty objects.
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

/** Whether a value is an instance of a class that a clone does not have. @param {any} value */
function isLost(value) {
  const prototype = typeof value === 'object' ? Object.getPrototypeOf(value) : null
  // The prototypes of plain objects, of any realm, have no prototype.
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

/** Errors that stay what they are. @type {Record<string, any>} */
const THROWN = { ...ERRORS, AggregateError, AdmissionError, ChannelError, DeadlineError, DeadlockError, OwnershipError }

/** @param {any} error @param {number} [depth] of causes @returns {any[]} what can be cloned of it */
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
  const error = /** @type {any} */ (kind === 'DOMException' ? new DOMException(message, name) : new Error(message))
  if (Object.hasOwn(THROWN, kind)) Object.setPrototypeOf(error, THROWN[kind].prototype)
  if (cause !== null) own.push(['cause', restored(cause)])
  if (errors !== null) own.push(['errors', list('errors', errors).map(restored)])
  own.forEach(({ 0: key, 1: value }) => {
    if (error[key] === value) return
    Object.defineProperty(error, key, /** @type {any} */ ({ __proto__: null, value, writable: true, configurable: true }))
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
 * A worker's side: runs what it is told to.
 *
 * @param {(source: any) => any} load the works @param {any} endpoint @param {Scheduler} scheduler
 */
function labour(load, endpoint, scheduler) {
  const line = new Line(endpoint)
  /** @type {Map<number, { job: Job, isTold: boolean, state: string, cost: number }>} */
  const jobs = new Map()
  /** @type {any} */
  let works = null
  /** What is said before they are there. @type {[string, any[]][]} */
  const early = []
  /** ms that this clock is ahead. */
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
      // Between rounds nobody runs.
      changed.push([id, state === 'ready' && cost > entry.cost ? 'running' : state, copied(entry.job, COUNTS)])
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
    // A Map keeps what it had, in old tables, until all is collected: of 4000 jobs of 1 ms 3 instead of 11 MB
    // become old.
    if (entry) entry.job = null
    const result = state === 'done' ? outcome : portable(outcome)
    // What others may change does not wait for them, and what cannot be cloned is refused here.
    const mayWait = (!job || job.deadline === Infinity) && isConstant(result)
    try {
      transferring([result], undefined, transfer =>
        line.say('ended', [id, state, result, isTold, job?.missed, job && copied(job, COUNTS)], transfer, mayWait))
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
        if (work === undefined) throw new TypeError(`${name} is not among the works, ${Object.keys(works).join(', ')}`)
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
  deadline: check.positive, priority: check.finite, period: check.positive, wcet: check.notNegative, release: check.finite,
  budget: check.points, onOverrun: check.callable, transfer: anArray, restart: /* @__PURE__ */ orFlag(restartCount),
  .../* @__PURE__ */ check.unchecked('scheduler', 'name', 'miss', 'onMiss', 'signal')
}
/**
 * @param {boolean | number} restart @returns {number} how often: works that end their worker have to end, too
 */
const timesOf = restart => restart === true ? 3 : Number(restart)
/** @returns {number} */
const countOfCores = () => globalThis.navigator?.hardwareConcurrency ??
  /** @type {any} */ (globalThis).process.getBuiltinModule('node:os').availableParallelism()

// ---------------------------------------------------------------------- workers that begin with this module

/** At such an address of this module a worker begins. */
const ENTRY = '#worker'

/**
 * The absolute address of a module of works. Throws in a bundle: a worker begins with this module, which has
 * no address of its own there. `beginAsWorker`, which bundlers drop, replaces this function by one that
 * resolves the address.
 *
 * @type {(url: string | URL) => string}
 */
let addressOf = () => {
  throw new TypeError('in a bundle, url must be a function that makes a worker, which calls Workers.serve()')
}
/** Makes a worker that begins with this module. @type {() => any} */
let makeWorker

/** One for all workers, since who may take it away when is nobody's to know. */
let blob = ''
/** @param {string} script */
const blobOf = script =>
  blob ||= URL.createObjectURL(new Blob(sequence([script]), { type: 'text/javascript' }))
/** What a worker speaks to its maker by. @returns {any} */
const threadEnd = () => typeof globalThis.postMessage === 'function' ? globalThis : threads()?.parentPort

/** @param {URL} address at which a worker begins @returns {any} */
function workerAt(address) {
  const script = `import ${JSON.stringify(address)}`
  // Node drops what says so from the address of a file.
  if (!globalThis.Worker) return new (threads().Worker)(new URL(`data:text/javascript,${encodeURIComponent(script)}`))
  // A page's worker is of its origin, but what it imports may come from a CDN.
  const isElsewhere = (globalThis.origin ?? address.origin) !== address.origin
  return new Worker(isElsewhere ? blobOf(script) : address, { type: 'module' })
}

/**
 * Does nothing but where a worker begins with this module. Bundlers leave it out, and with it all that only
 * workers need.
 */
function beginAsWorker() {
  const address = import.meta.url ?? '' // bundles that are no modules have none
  if (!/\/addons\/workers[.]mjs(?:[?#]|$)/.test(address)) return
  const { document, location, process } = /** @type {any} */ (globalThis)
  addressOf = url => new URL(url, document?.baseURI ?? location?.href ?? `file://${process?.cwd()}/`).href
  makeWorker = () => workerAt(new URL(ENTRY, address))
  if (!address.endsWith(ENTRY)) return
  const load = (/** @type {string} */ url) => import(/* webpackIgnore: true */ url)
  labour(async ({ url, preemptify }) => {
    if (!preemptify) return load(url)
    const module = await load(new URL('preemptify.mjs', address).href)
    return module.preemptify.import(url)
  }, threadEnd(), here())
}
/* @__PURE__ */ beginAsWorker()
