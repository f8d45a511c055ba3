/**
 * Random programs of jobs that wait by `extend`. They wait for locks, reader-writer locks, messages, times,
 * promises and each other, alone and in choices. They use critical sections and token-bucket servers, and
 * there are cancellations, signals and changed keys. Each job checks the promises of its scheduler, and the
 * invariants are checked at every step.
 */
import { DeadlockError, Scheduler, edf, extend, fp, rm } from '../../rt.mjs'
import { RwLock, TokenBucket } from './extensions.mjs'
import { checkInvariants, coreOf } from './internals.mjs'
import { Lock, Mailbox, either, sleep } from './mailbox.mjs'
import { record } from './trace.mjs'
import { virtualHost } from './virtual-host.mjs'

const GRAIN = 0.25
const EPSILON = 1e-9
const OWN = { name: 'own', compare: (a, b) => edf.compare(a, b) || fp.compare(a, b), level: edf.level }

/**
 * @param {import('./seeded.mjs').Random} random
 * @param {{ hostOf?: typeof virtualHost }} [options]
 */
export function waitingProgram(random, { hostOf = virtualHost } = {}) {
  const size = 2 + random.seed % 9
  const host = hostOf({ turn: random.pick([0, 0, GRAIN]) })
  const policy = random.pick([edf, fp, rm, OWN])
  const budget = random.pick([1, 1, 1, 2, 5, 'auto'])
  const slice = random.pick([GRAIN, 1, 3, Infinity])
  const round = random.pick([1, 5, Infinity])
  const scheduler = new Scheduler({ host, policy, budget, slice, round })
  const core = coreOf(scheduler)
  const trace = record(scheduler)
  /** @type {string[]} */
  const problems = []
  const note = text => { problems.push(`at ${host.time}: ${text}`) }

  const locks = Array.from({ length: random.integer(1, 2) }, () => ({ lock: new Lock(), inside: new Set() }))
  const rwLocks = Array.from({ length: random.integer(0, 1) }, () => ({
    lock: new RwLock(), readers: new Set(), writers: new Set()
  }))
  const mailboxes = Array.from({ length: random.integer(1, 2) }, () => ({
    mailbox: new Mailbox(), sent: [], got: []
  }))
  const buckets = Array.from({ length: random.integer(0, 2) }, (_, index) => new TokenBucket({
    scheduler, name: `bucket ${index}`, size: random.pick([0.5, 1, 3]), rate: random.pick([0.1, 0.3, 0.7]),
    priority: random.integer(-1, 2), deadline: random.pick([10, 50, Infinity])
  }))
  const isEveryPoint = budget === 1
  /** Messages that several jobs can wait for. @type {any[]} */
  const shared = []
  const actors = []
  let inside = null
  let messages = 0

  const alive = () => actors.filter(({ job }) => job.finished === undefined)
  const queues = [
    ...[...locks, ...rwLocks].map(({ lock }) => lock.waiters),
    ...mailboxes.flatMap(({ mailbox: { senders, receivers } }) => [senders, receivers])
  ]
  const check = () => checkInvariants(core, actors.map(({ job }) => job), { queues }, note)

  /** The job that must run by the one rule. */
  function chosen() {
    const best = core.ready.first?.first ?? null
    const top = core.sections.at(-1)
    return top === undefined || best === null || best.level > top.ceiling || best === top.job ? best : top.job
  }

  /** Code of a job continues. */
  function enter(actor, isPoint = true) {
    const { job } = actor
    if (inside !== null) note(`${job.name} runs inside ${inside.job.name}`)
    inside = actor
    if (scheduler.current !== job) note(`${job.name} runs, current is ${scheduler.current?.name}`)
    if ((isEveryPoint || actor.mustSwitch) && isPoint && chosen() !== job) {
      note(`${job.name} runs, and ${chosen()?.name} is chosen`)
    }
    check()
  }

  function* pass(actor, ...values) {
    // If the job has made another job more eligible, its budget ends here.
    actor.mustSwitch = chosen() !== actor.job
    inside = null
    try {
      return values.length > 0 ? yield values[0] : yield
    } catch (error) {
      if (error?.cancels === actor.job && actor.told.push(error) > 1) {
        note(`${actor.job.name} was cancelled twice`)
      }
      if (error?.cancels === actor.job && actor.sections > 0) {
        note(`${actor.job.name} was cancelled in its section`)
      }
      throw error
    } finally {
      // A wait that settles immediately is a point too, but within the budget.
      enter(actor, values.length === 0)
    }
  }

  function* compute(actor, most = 4) {
    for (let n = random.integer(0, most); n > 0; n--) {
      host.advance(GRAIN)
      actor.spent += GRAIN
      yield* pass(actor)
    }
  }

  /** Waits, sometimes within a choice or with a signal, so that no wait lasts forever. */
  function* bounded(actor, waitable) {
    const { index, value } = yield* pass(actor, random.chance(0.3)
      ? either(sleep(GRAIN * random.integer(0, 12)), either(waitable, sleep(50)))
      : either(waitable, sleep(GRAIN * random.integer(0, 12))))
    const isNested = index === 1 && value !== undefined
    if (isNested) return value.index === 0 ? [value.value] : null
    return index === 0 && value !== undefined ? [value] : null
  }

  const actions = {
    * compute(actor) {
      yield* compute(actor)
    },

    * sleep(actor) {
      const time = host.time
      const ms = GRAIN * random.integer(0, 12)
      yield* pass(actor, sleep(ms))
      if (host.time < time + ms) note(`${actor.job.name} slept for ${host.time - time} ms, not ${ms}`)
    },

    * lock(actor) {
      const { lock, inside: holders } = random.pick(locks)
      if (holders.has(actor) || actor.sections > 0) return
      try {
        yield* pass(actor, lock.lock())
      } catch (error) {
        if (error instanceof DeadlockError) return
        throw error
      }
      holders.add(actor)
      if (holders.size > 1) note(`${actor.job.name} shares a lock`)
      try {
        yield* compute(actor)
        yield* body(actor, 3)
      } finally {
        holders.delete(actor)
        lock.unlock()
      }
    },

    * rwLock(actor) {
      if (rwLocks.length === 0 || actor.sections > 0) return
      const { lock, readers, writers } = random.pick(rwLocks)
      if (readers.has(actor) || writers.has(actor)) return
      const isWriter = random.chance(0.4)
      const controller = random.chance(0.3) ? new AbortController() : null
      const options = controller === null ? {} : { signal: controller.signal }
      const reason = new Error('no longer wanted')
      if (controller !== null) host.after(GRAIN * random.integer(0, 12), () => controller.abort(reason))
      try {
        yield* pass(actor, isWriter ? lock.write(options) : lock.read(options))
      } catch (error) {
        if (error instanceof DeadlockError || error === reason) return
        throw error
      }
      const holders = isWriter ? writers : readers
      holders.add(actor)
      if (writers.size > 1 || writers.size > 0 && readers.size > 0) {
        note(`${actor.job.name} shares a reader-writer lock`)
      }
      try {
        yield* compute(actor)
        yield* body(actor, 3)
      } finally {
        holders.delete(actor)
        lock.leave()
      }
    },

    * send(actor) {
      if (actor.sections > 0) return
      const { mailbox, sent } = random.pick(mailboxes)
      const message = ++messages
      const result = yield* bounded(actor, confirmed(mailbox.send(message)))
      if (result !== null) sent.push(message)
    },

    * receive(actor) {
      if (actor.sections > 0) return
      const { mailbox, got } = random.pick(mailboxes)
      const result = yield* bounded(actor, mailbox.receive())
      if (result !== null) got.push(result[0])
    },

    * share(actor) {
      if (actor.sections > 0) return
      const { mailbox, got } = random.pick(mailboxes)
      if (shared.length === 0 || shared.at(-1).end.isSettled) {
        shared.push({ end: mailbox.receive(), got, value: null })
      }
      const one = shared.at(-1)
      const result = yield* bounded(actor, one.end)
      if (result === null) return
      if (one.value === null) one.got.push(result[0])
      else if (one.value !== result[0]) note(`${actor.job.name} got ${result[0]}, not ${one.value}`)
      one.value = result[0]
    },

    * section(actor) {
      const level = Math.max(actor.job.level, random.pick([Infinity, 0, -Infinity]))
      const section = extend.section(actor.job, level)
      actor.sections++
      try {
        yield* compute(actor)
        if (random.chance(0.3)) section.raise(random.integer(0, 3))
        if (random.chance(0.3)) yield* actions.section(actor)
        yield* compute(actor)
      } finally {
        actor.sections--
        section.close()
      }
    },

    * promise(actor) {
      if (actor.sections > 0) return
      yield* pass(actor, new Promise(resolve => { host.after(GRAIN * random.integer(0, 12), resolve) }))
    },

    * join(actor) {
      const other = random.pick(actors)
      if (other === actor || actor.sections > 0) return
      try {
        yield* pass(actor, other.job)
      } catch (error) {
        if (actor.told.includes(error)) throw error
      }
    },

    * call(actor) {
      inside = null
      try {
        yield called(actor)
      } catch (error) {
        if (error?.cancels === actor.job && !actor.told.includes(error)) actor.told.push(error)
        throw error
      } finally {
        enter(actor, false)
      }
    },

    * spawn() {
      if (actors.length < 3 * size) create()
    },

    * cancel(actor) {
      cancel(random.chance(0.2) ? actor : random.pick(alive()))
    },

    * rekey() {
      rekey()
    }
  }
  const weights = {
    compute: 6, sleep: 2, lock: 4, rwLock: 3, send: 3, receive: 2, share: 2, section: 1.5, promise: 1,
    join: 1.5, call: 1.5, spawn: 1,
    cancel: 0.7, rekey: 1.5
  }

  /** Gives a sent message a value, because a send has none. */
  const confirmed = end => Object.assign(end, {
    fulfill: () => extend.Waitable.prototype.fulfill.call(end, 'sent'),
    wake: () => extend.Waitable.prototype.wake.call(end, 'sent')
  })

  function* called(actor) {
    enter(actor, false)
    try {
      yield* body(actor, 2)
    } finally {
      inside = null
    }
  }

  function* body(actor, most) {
    for (let n = random.integer(0, most); n > 0; n--) yield* actions[random.weighted(weights)](actor)
  }

  function* main(actor) {
    enter(actor)
    try {
      yield* body(actor, 8)
    } catch (error) {
      if (!actor.told.includes(error)) note(`${actor.job.name} failed with ${error}`)
      else if (random.chance(0.3)) yield* compute(actor)
      else throw error
    } finally {
      inside = null
    }
  }

  function create() {
    const actor = { job: null, spent: 0, told: [], sections: 0, mustSwitch: false }
    actor.job = scheduler.spawn(main(actor), {
      name: `J${actors.length}`,
      release: random.chance(0.3) ? host.time + GRAIN * random.integer(-4, 40) : undefined,
      deadline: random.chance(0.3) ? undefined : GRAIN * random.integer(1, 80),
      priority: random.integer(-1, 2),
      period: random.pick([undefined, 4, 10]),
      reservation: buckets.length > 0 && random.chance(0.6) ? random.pick(buckets) : undefined
    })
    actors.push(actor)
    actor.job.catch(() => {})
  }

  function cancel({ job }) {
    job.cancel(Object.assign(new Error(`cancel ${job.name}`), { cancels: job }))
    if (job.state === 'depleted') note(`${job.name} is cancelled and depleted`)
  }

  function rekey() {
    const living = alive()
    if (living.length === 0) return
    const { job } = random.pick(living)
    if (random.chance(0.5)) job.priority = random.integer(-1, 2)
    else job.deadline = random.chance(0.2) ? Infinity : GRAIN * random.integer(1, 80)
  }

  const outside = {
    spawn: () => { if (actors.length < 3 * size) create() },
    cancel: () => { if (alive().length > 0) cancel(random.pick(alive())) },
    rekey,
    pause() {
      scheduler.pause()
      host.after(GRAIN * random.integer(0, 8), () => scheduler.resume())
    }
  }

  for (let n = random.integer(1, size); n > 0; n--) create()
  for (let n = random.integer(0, size); n > 0; n--) {
    const event = random.weighted({ spawn: 3, cancel: 1, rekey: 3, pause: 0.3 })
    host.after(GRAIN * random.integer(0, 100), outside[event])
  }

  async function run() {
    let turns = -1
    let isIdle = false
    while (host.turns > turns && problems.length < 5) {
      turns = host.turns
      await host.drain({ turns: 1 })
      check()
    }
    scheduler.idle().then(() => { isIdle = true })
    await host.drain()
    if (!isIdle) note('idle() did not resolve')
    for (const { job, spent } of actors) {
      if (job.finished === undefined) note(`${job.name} is ${job.state} at the end`)
      if (Math.abs(job.cost - spent) > EPSILON) {
        note(`${job.name} was charged ${job.cost} ms after ${spent} ms`)
      }
    }
    for (const { lock, inside } of locks) {
      if (inside.size > 0 || lock.waiters.size > 0 || lock.waiters.owner !== null) {
        note('a lock is held at the end')
      }
    }
    for (const { lock } of rwLocks) {
      if (lock.inside.size > 0 || lock.waiters.size > 0 || lock.waiters.owners.length > 1) {
        note('a reader-writer lock is held')
      }
    }
    for (const { mailbox, sent, got } of mailboxes) {
      if (mailbox.senders.size + mailbox.receivers.size > 0) note('an end is left in a mailbox')
      const all = list => list.sort((a, b) => a - b).join(' ')
      if (all(sent) !== all(got)) note(`sent ${all(sent)}; received ${all(got)}`)
    }
    const { busy } = scheduler.stats()
    const sum = actors.reduce((ms, { spent }) => ms + spent, 0)
    if (Math.abs(busy - sum) > EPSILON) note(`stats().busy is ${busy} after ${sum} ms`)
    if (core.live !== 0 || core.sections.length > 0 || core.ready.size > 0 || core.timeline.size > 0) {
      note('something is left')
    }
    if (host.posts > 0 || host.timers.length > 0) note('a post or a timer is left')
    for (const error of host.errors) note(`reported: ${error?.stack ?? error}`)
    if (problems.length > 0) throw new Error(`${problems.slice(0, 5).join('\n')}\n\n${trace.text()}`)
  }

  return { run, trace }
}
