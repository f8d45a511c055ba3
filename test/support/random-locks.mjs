/** Random jobs that share locks, semaphores and barriers, and check the promises of these. */
import { Scheduler, edf, fp } from '../../rt.mjs'
import { TimeoutError, after, sleep, timeout } from '../../alarms.mjs'
import { Barrier, DeadlockError, Mutex, Semaphore, choice } from '../../sync.mjs'
import { record } from './trace.mjs'
import { virtualHost } from './virtual-host.mjs'

const GRAIN = 0.25
const ENDED = ['done', 'failed', 'cancelled']

/** @typedef {ReturnType<typeof newActor>} Actor a job and its state */

const newActor = () => ({
  /** @type {any} */
  job: null,
  /** @type {any} */
  scheduler: null,
  /** The lock for which the job waits. @type {Mutex | null} */
  wants: null,
  /** Whether the wait has an alternative, so that it is not part of a cycle. */
  isChoosing: false,
  /** The locks that the job holds, in order. @type {Mutex[]} */
  holds: [],
  /** The semaphore or barrier at which the job waits. @type {Semaphore | Barrier | null} */
  waitsAt: null
})

/**
 * @param {import('./seeded.mjs').Random} random
 * @param {{ hostOf?: typeof virtualHost }} [options]
 * @returns {{ run(): void, seen: Record<string, number> }} `run` throws the violations with the trace; `seen`
 *   counts the events
 */
export function locks(random, { hostOf = virtualHost } = {}) {
  const policy = random.pick([edf, fp])
  const host = hostOf({ turn: random.pick([0, 0, GRAIN]) })
  const schedulers = Array.from({ length: random.chance(0.15) ? 2 : 1 }, () => new Scheduler({
    host,
    policy,
    budget: random.pick([1, 1, 2, 5, 'auto']),
    slice: random.pick([GRAIN, 1, 3, Infinity]),
    round: random.pick([GRAIN, 1, 5, Infinity])
  }))
  const traces = schedulers.map(scheduler => record(scheduler))
  /** @param {number} least @param {number} most @param {(index: number) => any} make */
  const many = (least, most, make) =>
    Array.from({ length: random.integer(least, most) }, (_, index) => make(index))
  const cancels = random.chance(0.5) ? 0.4 : 0
  const forgets = random.chance(0.3) ? 0.1 : 0
  /** @type {Mutex[]} */
  const mutexes = many(1, 4, index => new Mutex({ name: `m${index}` }))
  const permits = random.integer(0, 3)
  /** @type {Semaphore[]} */
  const semaphores = many(0, 2, index => new Semaphore(permits, { name: `s${index}` }))
  /** @type {Barrier[]} */
  const barriers = many(0, 1, index => new Barrier(random.integer(1, 3), { name: `b${index}` }))
  /** @type {Actor[]} */
  const actors = []
  /** @type {Map<any, Actor>} */
  const byJob = new Map()
  /** The job inside each mutex, as the jobs see it. @type {Map<Mutex, Actor>} */
  const inside = new Map()
  /** Mutexes whose owner has ended, and that no later owner has unlocked. @type {Set<Mutex>} */
  const orphans = new Set()
  /** Permits in use. @type {Map<Semaphore, number>} */
  const used = new Map(semaphores.map(semaphore => [semaphore, 0]))
  /** @type {string[]} */
  const violations = []
  const seen = { locked: 0, deadlocks: 0, timeouts: 0, forgotten: 0, lent: 0, met: 0, cancelled: 0 }

  const note = (/** @type {string} */ text) => { violations.push(`at ${host.time}: ${text}`) }
  const isWaiting = (/** @type {Actor} */ { job }) => job.state === 'waiting'

  /**
   * The best rank of a job and of all jobs that wait for its locks, transitively.
   * @param {Actor} actor @returns {any}
   */
  function standing(actor, passed = new Set()) {
    passed.add(actor)
    let best = actor.job
    for (const other of actors) {
      if (passed.has(other) || !isWaiting(other) || other.wants?.owner !== actor.job) continue
      const theirs = standing(other, passed)
      if (policy.compare(theirs, best) < 0) best = theirs
    }
    return best
  }

  /** Checks after a point that no ready job ranks higher. @param {Actor} actor */
  function goesOn(actor) {
    const { job, scheduler } = actor
    if (scheduler.current !== job) note(`${job.name} runs, current is ${scheduler.current?.name}`)
    const own = standing(actor)
    if (own !== job) seen.lent++
    for (const other of actors) {
      if (other === actor || other.scheduler !== scheduler || other.job.state !== 'ready') continue
      if (policy.compare(standing(other), own) >= 0) continue
      note(`${job.name} goes on, ${other.job.name} stands better`)
    }
    for (const mutex of actor.holds) {
      if (mutex.owner !== job) note(`${job.name} holds ${mutex.name}, its owner is ${mutex.owner?.name}`)
    }
  }

  /** @param {Actor} actor */
  function* work(actor) {
    for (let n = random.integer(0, 3); n > 0; n--) {
      host.advance(GRAIN * random.integer(0, 4))
      yield
      goesOn(actor)
    }
  }

  /**
   * Whether a wait for a mutex closes a cycle of owners and waiters.
   *
   * @param {Mutex} mutex @param {any} job
   */
  function closes(mutex, job) {
    const passed = new Set()
    for (let next = mutex; ;) {
      const { owner } = next
      if (owner === job) return true
      const actor = byJob.get(owner)
      if (actor === undefined || passed.has(actor) || actor.wants === null || !isWaiting(actor)) return false
      if (actor.isChoosing) return false
      passed.add(actor)
      next = actor.wants
    }
  }

  /** @param {Actor} actor @param {Mutex} mutex @param {boolean} wasCycle whether the wait closed a cycle */
  function locked(actor, mutex, wasCycle) {
    seen.locked++
    actor.wants = null
    const other = inside.get(mutex)
    if (other !== undefined && !ENDED.includes(other.job.state)) {
      note(`${actor.job.name} is inside ${mutex.name} besides ${other.job.name}`)
    }
    if (other !== undefined) orphans.add(mutex)
    const { name, abandoned } = mutex
    if (abandoned !== orphans.has(mutex)) note(`${name} says ${abandoned} of being abandoned`)
    inside.set(mutex, actor)
    actor.holds.push(mutex)
    if (wasCycle) note(`${actor.job.name} was not told of a cycle`)
    if (mutex.owner !== actor.job) note(`${actor.job.name} has locked ${mutex.name} of ${mutex.owner?.name}`)
  }

  /** @param {Actor} actor @param {Mutex} mutex */
  function leaves(actor, mutex) {
    inside.delete(mutex)
    orphans.delete(mutex)
    actor.holds.splice(actor.holds.indexOf(mutex), 1)
  }

  /**
   * Checks an error of a wait for a lock, after which the job continues.
   * @param {Actor} actor @param {Mutex} mutex @param {any} error
   * @param {boolean} wasCycle whether the wait closed a cycle
   */
  function survives(actor, mutex, error, wasCycle) {
    if (error instanceof TimeoutError) {
      seen.timeouts++
      if (wasCycle) note(`${actor.job.name} was told of a time-out, not of a cycle`)
    } else if (error instanceof DeadlockError) {
      seen.deadlocks++
      const { name } = actor.job
      if (!wasCycle) note(`${name} was told of a cycle that is none: ${error.message}`)
      if (!error.message.includes(name)) note(`a cycle does not name ${name}: ${error.message}`)
    } else {
      throw error
    }
  }

  /** @param {Actor} actor @param {number} depth */
  function* within(actor, depth) {
    yield* work(actor)
    while (depth < 3 && random.chance(0.4)) yield* act(actor, depth + 1)
  }

  /** @param {Actor} actor @param {Mutex} mutex @param {number} depth */
  function* uses(actor, mutex, depth) {
    let isInside = false
    const wasCycle = closes(mutex, actor.job)
    actor.wants = mutex
    try {
      yield mutex.use(function* () {
        isInside = true
        locked(actor, mutex, false)
        try {
          yield* within(actor, depth)
        } finally {
          leaves(actor, mutex)
        }
      })
    } catch (error) {
      if (isInside) throw error
      // Another job may have run between the call and the lock.
      survives(actor, mutex, error, error instanceof DeadlockError && (wasCycle || closes(mutex, actor.job)))
    } finally {
      actor.wants = null
    }
  }

  /** @param {Actor} actor @param {Mutex} mutex @param {number} depth */
  function* locksAndUnlocks(actor, mutex, depth) {
    const ms = GRAIN * random.integer(0, 12)
    const way = random.pick(['plain', 'timeout', 'choice'])
    actor.isChoosing = way === 'choice'
    const wasCycle = !actor.isChoosing && closes(mutex, actor.job)
    actor.wants = mutex
    try {
      if (way === 'plain') yield mutex.lock()
      else if (way === 'timeout') yield timeout(ms, mutex.lock())
      else {
        const { index } = yield choice([{ wait: mutex.lock() }, { timeout: ms }])
        if (index === 1) return
      }
    } catch (error) {
      return survives(actor, mutex, error, wasCycle)
    } finally {
      actor.wants = null
      actor.isChoosing = false
    }
    locked(actor, mutex, wasCycle)
    goesOn(actor)
    const isForgotten = random.chance(forgets)
    try {
      yield* within(actor, depth)
    } finally {
      if (isForgotten) seen.forgotten++
      else {
        leaves(actor, mutex)
        mutex.unlock()
      }
    }
  }

  /** @param {Actor} actor @param {number} depth */
  function* takesPermit(actor, depth) {
    const semaphore = random.pick(semaphores)
    const now = () => /** @type {number} */ (used.get(semaphore))
    actor.waitsAt = semaphore
    const holds = function* () {
      actor.waitsAt = null
      used.set(semaphore, now() + 1)
      if (now() > permits) note(`${now()} are inside ${semaphore.name} of ${permits}`)
      try {
        yield* within(actor, depth)
      } finally {
        used.set(semaphore, now() - 1)
      }
    }
    try {
      if (random.chance(0.4)) return yield semaphore.use(holds)
      if (random.chance(0.3)) yield semaphore.acquire()
      else yield timeout(GRAIN * random.integer(0, 12), semaphore.acquire())
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error
      seen.timeouts++
      return
    } finally {
      actor.waitsAt = null
    }
    try {
      yield* holds()
    } finally {
      semaphore.release()
    }
  }

  /** @param {Actor} actor */
  function* meets(actor) {
    const barrier = random.pick(barriers)
    actor.waitsAt = barrier
    try {
      yield random.chance(0.2) ? barrier.wait() : timeout(GRAIN * random.integer(0, 12), barrier.wait())
      seen.met++
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error
      seen.timeouts++
    } finally {
      actor.waitsAt = null
    }
  }

  /** @param {Actor} actor @param {number} depth */
  function* act(actor, depth) {
    const kind = random.weighted({
      uses: 3, locks: 4, permit: semaphores.length, meets: barriers.length, sleeps: 1
    })
    if (kind === 'sleeps') yield sleep(GRAIN * random.integer(0, 8))
    else if (kind === 'permit') yield* takesPermit(actor, depth)
    else if (kind === 'meets') yield* meets(actor)
    else if (kind === 'uses') yield* uses(actor, random.pick(mutexes), depth)
    else yield* locksAndUnlocks(actor, random.pick(mutexes), depth)
  }

  /** @param {Actor} actor */
  function* live(actor) {
    try {
      for (let n = random.integer(1, 5); n > 0; n--) {
        yield* work(actor)
        yield* act(actor, 1)
      }
    } finally {
      // Even a cancelled job can still lock a mutex.
      if (random.chance(0.2)) yield* locksAndUnlocks(actor, random.pick(mutexes), 3)
    }
  }

  for (let count = random.integer(2, 7), index = 0; index < count; index++) {
    const actor = newActor()
    actors.push(actor)
    const scheduler = actor.scheduler = random.pick(schedulers)
    const job = actor.job = scheduler.spawn(() => live(actor), {
      name: `j${index}`,
      priority: random.integer(0, 4),
      deadline: random.pick([5, 10, 20, 20, Infinity, random.real(1, 60)]),
      release: random.chance(0.3) ? 0 : GRAIN * random.integer(0, 40)
    })
    byJob.set(job, actor)
    job.catch(() => {})
    for (let n = random.chance(cancels) ? random.integer(1, 2) : 0; n > 0; n--) {
      after(GRAIN * random.integer(0, 80), () => { job.cancel(new Error('cancelled')) }, { scheduler })
    }
    if (random.chance(0.2)) {
      after(GRAIN * random.integer(0, 40), () => {
        if (policy === fp) job.priority = random.integer(0, 4)
        else job.deadline = random.real(1, 60)
      }, { scheduler })
    }
  }

  /** Checks that each waiting job waits for a lock, a permit or a barrier that is not available. */
  function checkWaiters() {
    for (const actor of actors) {
      const { job, wants, waitsAt } = actor
      if (ENDED.includes(job.state)) continue
      if (job.state !== 'waiting') note(`${job.name} is left ${job.state}`)
      else if (wants !== null) {
        if (!wants.locked) note(`${job.name} is left waiting for ${wants.name}, which is free`)
        if (closes(wants, job)) note(`${job.name} is left in a cycle through ${wants.name}`)
      } else if (waitsAt instanceof Semaphore) {
        if (waitsAt.available > 0) note(`${job.name} is left waiting for ${waitsAt.name}, which has permits`)
      } else if (waitsAt instanceof Barrier) {
        const { waiting, parties } = waitsAt
        if (waiting === 0 || waiting >= parties) note(`${job.name} is left at ${waitsAt.name}`)
      } else {
        note(`${job.name} is left waiting for nothing`)
      }
    }
  }

  return {
    seen,
    run() {
      host.run()
      checkWaiters()
      // A finally block of a job can wait again.
      for (let n = 0; n < 20 && actors.some(({ job }) => !ENDED.includes(job.state)); n++) {
        for (const { job } of actors) job.cancel(new Error('cancelled in the end'))
        host.run()
      }
      for (const { job } of actors) {
        if (!ENDED.includes(job.state)) note(`${job.name} never ended: ${job.state}`)
        else if (job.state === 'failed') note(`${job.name} failed`)
        else if (job.state === 'cancelled') seen.cancelled++
      }
      for (const { name, locked, owner } of mutexes) {
        if (locked || owner !== null) note(`${name} is still held by ${owner?.name}`)
      }
      for (const { name, available } of semaphores) {
        if (available !== permits) note(`${name} has ${available} permits`)
      }
      for (const { name, waiting } of barriers) if (waiting > 0) note(`${waiting} wait at ${name}`)
      if (host.errors.length > 0) note(`reported: ${host.errors.join(', ')}`)
      if (violations.length === 0) return
      const schedules = traces.map(trace => trace.text()).join('\n\n')
      throw new Error(`${violations.slice(0, 5).join('\n')}\n\n${schedules}`)
    }
  }
}
