/** Performs the programs of `mixed-program.mjs`, and checks every promise of the scheduler. */
import { DeadlineError, DeadlockError, Scheduler, edf, extend, fp, rm } from '../../rt.mjs'
import { TimeoutError, after, sleep, timeout } from '../../alarms.mjs'
import { reportDeadlocks } from '../../addons/deadlock.mjs'
import { AdmissionError, IoReservation, Reservation } from '../../addons/reservations.mjs'
import {
  Channel, ChannelError, Mutex, OwnershipError, Resource, Semaphore, choice, nonPreemptive, par, race
} from '../../sync.mjs'
import { checkInvariants, compare, coreOf, isAwaited, presentRank } from './internals.mjs'
import { record } from './trace.mjs'
import { microtasks } from './virtual-host.mjs'

const ENDED = ['done', 'failed', 'cancelled']
/** Errors of misuse, and errors that programs provoke on purpose: none of them ends a job. */
const EXPECTED = [TimeoutError, DeadlockError, ChannelError, OwnershipError, AdmissionError, RangeError]
/** Maximum number of macrotasks, and of steps of jobs, before a program counts as endless. */
const MOST_TURNS = 20_000
const MOST_STEPS = 20_000

class Thrown extends Error { name = 'Thrown' }
class Fault extends Error { name = 'Fault' }

/** Like `fp`, but jobs of equal priority rank by release, and the policy has no key. */
const own = fault => ({
  name: 'own',
  compare(a, b) {
    fault()
    return b.priority - a.priority || (a.release ?? 0) - (b.release ?? 0)
  },
  level: task => task.priority
})

/** @typedef {ReturnType<typeof newActor>} Actor a job, and the events of its life */

const newActor = name => ({
  name,
  /** @type {any} */
  job: null,
  isAsync: false,
  isHandled: true,
  isChild: false,
  started: false,
  ended: false,
  spent: 0,
  /** The waits of the job, outermost first. @type {{ kind: string, [more: string]: any }[]} */
  waits: [],
  /** The reasons that were thrown into it. @type {unknown[]} */
  delivered: [],
  /** Points passed since a cancellation that was not delivered yet. @type {number | null} */
  untold: null,
  /** The outcome of the code. @type {{ value?: unknown, error?: unknown } | null} */
  outcome: null,
  /** The outcomes of the promise. @type {{ value?: unknown, error?: unknown }[]} */
  settled: []
})

/**
 * @param {import('./mixed-program.mjs').Program} program
 * @param {{ hostOf: import('./platform-host.mjs').HostOf, leastTurn?: number }} options
 * @returns {Promise<{ problems: string[], trace: string, log: string }>} `log`: the steps of the jobs with
 *   their times; it must not depend on whether the scheduler is watched
 */
export async function perform(program, options) {
  /** @type {string[]} */
  const crashes = []
  const onCrash = error => { crashes.push(`crash: ${error?.stack}`) }
  process.on('uncaughtException', onCrash)
  try {
    const { problems, ...rest } = await run(program, options)
    return { problems: [...crashes, ...problems], ...rest }
  } catch (error) {
    onCrash(error)
    return { problems: crashes, log: '', trace: '' }
  } finally {
    process.off('uncaughtException', onCrash)
  }
}

/** @param {import('./mixed-program.mjs').Program} program @param {Parameters<typeof perform>[1]} options */
async function run(program, { hostOf, leastTurn = 0 }) {
  const host = hostOf({ turn: Math.max(program.turn, leastTurn), frame: 16, delay: Math.ceil })
  /** @type {string[]} */
  const problems = []
  /** @type {string[]} */
  const log = []
  const note = text => { if (problems.length < 20) problems.push(`at ${host.time}: ${text}`) }
  const enter = text => { log.push(`${host.time} ${text}`) }
  const isFaulty = program.faults.length > 0

  // The faults, by the function in which they throw.
  let isArmed = false
  /** The functions that have thrown. @type {Set<string>} */
  const struck = new Set()
  const fault = where => {
    const plans = program.faults.filter(plan => plan.where === where).map(({ skip }) => ({ left: skip }))
    return () => {
      for (const plan of plans) {
        if (!isArmed || plan.left-- !== 0) continue
        struck.add(where)
        throw new Fault(where)
      }
    }
  }

  const policy = { edf, fp, rm, own: own(fault('compare')) }[program.policy]
  const scheduler = new Scheduler({
    host, policy, budget: program.budget, slice: program.slice, round: program.round,
    onError: error => { errors.push(error) }
  })
  /** @type {unknown[]} */
  const errors = []
  if (program.closed) reportDeadlocks(scheduler)
  const core = coreOf(scheduler)
  const trace = program.isWatched ? record(scheduler) : null

  const mutexes = Array.from({ length: program.mutexes }, (_, index) => new Mutex({ name: `m${index}` }))
  const semaphores = program.semaphores.map((permits, index) => ({
    permits, inside: 0, semaphore: new Semaphore(permits, { name: `s${index}` })
  }))
  const resources = program.resources.map((ceiling, index) =>
    new Resource({ name: `r${index}`, ceiling: ceiling ?? undefined }))
  const channels = program.channels.map(({ size, overflow }, index) =>
    ({ size, overflow, channel: new Channel(size, { name: `c${index}`, overflow }) }))
  const mains = []
  const ios = []
  for (const { kind, ...rest } of program.reservations) {
    try {
      const name = `${kind}${mains.length + ios.length}`
      if (kind === 'io') ios.push(new IoReservation({ utilization: 0.1, name, scheduler }))
      else mains.push(new Reservation({ kind, name, scheduler, ...rest }))
    } catch (error) {
      if (!(error instanceof AdmissionError)) throw error
    }
  }
  const accounts = [...mains, ...ios]

  /** @type {Actor[]} */
  const actors = []
  /** @type {Map<any, Actor>} */
  const byJob = new Map()
  /** @type {Map<Mutex, Actor>} */
  const inside = new Map()
  /** @type {{ id: number, link: any, isSent: boolean, isFull: boolean, receivers: string[] }[]} */
  const messages = []
  let charged = 0
  let inCallbacks = 0
  let steps = 0
  let isOver = false
  /** @type {Actor | null} */
  let executing = null

  /** Number of callbacks that the program has scheduled on the host, and that have not run yet. */
  let expected = 0
  const later = (ms, fn) => {
    expected++
    host.after(ms, () => {
      expected--
      fn()
    })
  }

  const at = (list, index) => list[index % list.length]
  const isLive = ({ job }) => job !== null && !ENDED.includes(job.state)
  const isExpected = error => error instanceof Fault || EXPECTED.some(kind => error instanceof kind)

  /** @param {Actor} actor @param {any} job */
  function adopt(actor, job) {
    actor.job = job
    byJob.set(job, actor)
  }

  const isOff = name => accounts.some(account => account.name === name && account[extend.protocol].isOff)
  const invariants = () => {
    const wasArmed = isArmed
    isArmed = false
    // If comparisons threw, their jobs counted as equal, and stay where they are.
    checkInvariants(core, byJob.keys(), { isOrdered: !struck.has('compare'), isOff }, note)
    isArmed = wasArmed
  }

  // --- jobs

  /** Notes that the code of a job continues. @param {Actor} actor */
  function resumes(actor, atPoint = true) {
    const { job, name } = actor
    if (executing !== null) note(`${name} runs inside ${executing.name}`)
    executing = actor
    enter(`${name} goes on`)
    if (actor.ended) note(`${name} runs after its end`)
    if (scheduler.current !== job) note(`${name} runs, current is ${scheduler.current?.name}`)
    if (job.state !== 'running') note(`${name} runs and is ${job.state}`)
    invariants()
    if (atPoint && program.budget === 1 && !actor.isAsync && !isFaulty) mostEligible(actor)
  }

  /**
   * Checks that the most eligible job runs: with a budget of 1, each point reads the clock.
   *
   * @param {Actor} actor
   */
  function mostEligible(actor) {
    // Changes by an observer of a dispatch take effect at the next point.
    if (core.sections.length > 0 || program.observers.length > 0) return
    const own = presentRank(actor.job)
    for (const other of byJob.keys()) {
      if (other.core !== core || other.state !== 'ready' || compare(presentRank(other), own) >= 0) continue
      note(`${actor.name} goes on, ${other.name} is ready and more eligible`)
    }
  }

  const leaves = () => { executing = null }

  /** @param {Actor} actor @param {number} ms */
  function compute(actor, ms) {
    host.advance(ms)
    charged += ms
    actor.spent += ms
  }

  /**
   * Yields once, as a wait or a call.
   *
   * @param {Actor} actor @param {any} value @param {{ kind: string, [more: string]: any }} [wait]
   */
  function* pass(actor, value, wait) {
    if (wait !== undefined) actor.waits.push(wait)
    leaves()
    const isCall = wait !== undefined && ['call', 'family', 'mutex', 'permit', 'join'].includes(wait.kind)
    let isAtPoint = true
    try {
      const result = value === undefined ? yield : yield value
      if (!isCall) goesOn(actor)
      return result
    } catch (error) {
      // An error that leaves a call may have released a lock to another job, which runs at the next point.
      isAtPoint = !isCall
      delivery(actor, error, !isCall)
      throw error
    } finally {
      if (wait !== undefined) actor.waits.splice(actor.waits.indexOf(wait), 1)
      resumes(actor, isAtPoint && wait?.kind !== 'call')
    }
  }

  /**
   * Notes the delivery of a cancellation, which must happen once; calls pass it on.
   *
   * @param {Actor} actor @param {any} error @param {boolean} isLeaf
   */
  function delivery(actor, error, isLeaf) {
    if (error?.cancels !== actor.job) return
    actor.untold = null
    if (actor.delivered.includes(error)) {
      if (isLeaf) note(`${actor.name} was told twice of a cancellation`)
      return
    }
    actor.delivered.push(error)
    if (actor.delivered.length > 1) note(`${actor.name} was told of two cancellations`)
  }

  /**
   * Checks that a cancellation arrives at the first point, or at the second after a hand-over.
   *
   * @param {Actor} actor
   */
  function goesOn(actor) {
    if (actor.untold === null || core.sections.some(({ job }) => job === actor.job)) return
    if (++actor.untold > 1) note(`${actor.name} was cancelled and passes point after point`)
  }

  /** @param {Actor} actor @param {any} plan */
  function* main(actor, plan) {
    if (actor.job === null) adopt(actor, scheduler.current)
    actor.started = true
    resumes(actor)
    try {
      yield* body(actor, plan)
      const value = Symbol(actor.name)
      actor.outcome = { value }
      return value
    } catch (error) {
      actor.outcome = { error }
      throw error
    } finally {
      actor.ended = true
      enter(`${actor.name} ends`)
      leaves()
    }
  }

  /** @param {Actor} actor @param {any[]} list */
  function* body(actor, list) {
    for (const step of list) {
      if (++steps > MOST_STEPS) throw new Thrown('endless')
      enter(`${actor.name} ${step.op}`)
      try {
        yield* acts[step.op](actor, step)
      } catch (error) {
        if (!isExpected(error) || error instanceof DeadlineError) throw error
        enter(`${actor.name} met ${error.name}`)
      }
    }
  }

  const acts = {
    *compute(actor, { ms }) { compute(actor, ms) },
    *point(actor) { yield* pass(actor) },
    *points(actor, { count }) {
      for (let n = 0; n < count; n++) {
        compute(actor, 1)
        yield* pass(actor)
      }
    },
    *sleep(actor, { ms }) {
      const until = host.time + ms
      yield* pass(actor, sleep(ms), { kind: 'sleep', until })
      // A clock that threw did not advance.
      if (host.time < until) note(`${actor.name} slept until ${host.time}, not ${until}`)
    },
    *promise(actor, { ms, isRejected }) {
      const failure = new Thrown('rejected')
      const promise = new Promise((resolve, reject) => {
        later(ms, () => isRejected ? reject(failure) : resolve())
      })
      promise.catch(() => {})
      try {
        yield* pass(actor, promise, { kind: 'promise' })
      } catch (error) {
        if (error !== failure) throw error
      }
    },
    *join(actor, { job }) {
      const target = at(actors, job)
      if (target === actor || target.job === null) return
      try {
        const value = yield* pass(actor, target.job, { kind: 'join', target })
        if (value !== target.outcome?.value && !target.isAsync) note(`${actor.name} got no result of ${target.name}`)
      } catch (error) {
        if (actor.delivered.includes(error) || !ENDED.includes(target.job.state)) throw error
      }
      if (target.started && !target.ended && !target.isAsync) note(`${actor.name} has joined ${target.name}, not ended`)
    },
    *call(actor, { isDelegated, body: inner }) {
      if (isDelegated) return yield* body(actor, inner)
      yield* pass(actor, called(actor, inner), { kind: 'call' })
    },
    *deep(actor, { depth, body: inner }) {
      yield* pass(actor, called(actor, inner, depth), { kind: 'call' })
    },
    *attempt(actor, { manner, body: inner, otherwise }) {
      try {
        yield* body(actor, inner)
      } catch (error) {
        if (manner !== 'catch') throw error
        yield* body(actor, otherwise)
      } finally {
        if (manner === 'finally') yield* body(actor, otherwise)
      }
    },
    *use(actor, { mutex: index, body: inner }) {
      const mutex = at(mutexes, index)
      const wait = { kind: 'mutex', mutex }
      yield* pass(actor, mutex.use(() => locked(actor, mutex, inner, wait)), wait)
    },
    *lock(actor, { mutex: index, ms, body: inner }) {
      const mutex = at(mutexes, index)
      const lock = mutex.lock()
      yield* pass(actor, ms == null ? lock : timeout(ms, lock), { kind: ms == null ? 'mutex' : 'timeout', mutex })
      try {
        owns(actor, mutex)
        yield* body(actor, inner)
      } finally {
        inside.delete(mutex)
        if (mutex.owner === actor.job) mutex.unlock()
        else note(`${actor.name} has lost ${mutex.name} to ${mutex.owner?.name}`)
      }
    },
    *permit(actor, { semaphore: index, ms, isUsed, body: inner }) {
      const of = at(semaphores, index)
      const { semaphore } = of
      const wait = { kind: ms == null || isUsed ? 'permit' : 'timeout', semaphore }
      if (isUsed) return yield* pass(actor, semaphore.use(() => permitted(actor, of, inner, wait)), wait)
      yield* pass(actor, ms == null ? semaphore.acquire() : timeout(ms, semaphore.acquire()), wait)
      try {
        yield* held(actor, of, inner)
      } finally {
        semaphore.release()
      }
    },
    *resource(actor, { resource: index, body: inner }) {
      const resource = at(resources, index)
      let isInside = false
      try {
        yield* pass(actor, resource.use(function* () {
          resumes(actor, false)
          isInside = true
          const { name, holder } = resource
          if (holder !== actor.job) note(`${name} is held by ${holder?.name}, not ${actor.name}`)
          try {
            yield* body(actor, inner)
          } finally {
            leaves()
          }
        }), { kind: 'call' })
      } catch (error) {
        // The resource was not declared.
        if (isInside || !(error instanceof TypeError)) throw error
      }
    },
    *nonPreemptive(actor, { body: inner }) {
      yield* pass(actor, nonPreemptive(() => called(actor, inner)), { kind: 'call' })
    },
    *send(actor, { channel: index, ms }) {
      const link = at(channels, index)
      const message = newMessage(link)
      const send = link.channel.send(message)
      yield* pass(actor, ms == null ? send : timeout(ms, send), { kind: ms == null ? 'send' : 'timeout', link })
      message.isSent = true
    },
    *receive(actor, { channel: index, ms }) {
      const link = at(channels, index)
      const receive = link.channel.receive()
      const wait = { kind: ms == null ? 'receive' : 'timeout', link }
      received(actor.name, link, yield* pass(actor, ms == null ? receive : timeout(ms, receive), wait))
    },
    /** Receives a message inside nested calls, which pass it on. */
    *receiveDeep(actor, { channel: index, depth }) {
      const link = at(channels, index)
      const nested = function* (n) { return n > 0 ? yield nested(n - 1) : yield link.channel.receive() }
      received(actor.name, link, yield* pass(actor, nested(depth), { kind: 'receive', link }))
    },
    *choice(actor, { fair, guards }) {
      const happens = []
      const ways = guards.map(({ kind, channel: index, ms }, place) => {
        if (kind === 'timeout' || channels.length === 0) return { timeout: ms ?? 0 }
        const link = at(channels, index)
        if (kind === 'receive') {
          happens[place] = value => received(actor.name, link, value)
          return { receive: link.channel }
        }
        const message = newMessage(link)
        happens[place] = () => { message.isSent = true }
        return { send: link.channel, value: message }
      })
      const isTimed = ways.some(way => 'timeout' in way)
      const wait = { kind: isTimed ? 'timeout' : 'choice', ways }
      const { index, value } = yield* pass(actor, choice(ways, { fair }), wait)
      happens[index]?.(value)
    },
    *par(actor, { bodies }) { yield* family(actor, par, bodies) },
    *race(actor, { bodies }) { yield* family(actor, race, bodies) },

    // Steps without a wait.
    *spawn(_, { plan }) { create(plan) },
    *cancel(_, { job }) { cancel(at(actors, job)) },
    *deadline(_, { job, to }) { rekey(at(actors, job), 'deadline', to) },
    *priority(_, { job, to }) { rekey(at(actors, job), 'priority', to) },
    *resize(_, { reservation, capacity, period }) {
      if (mains.length > 0) at(mains, reservation).resize({ capacity, period })
    },
    *pause(_, { ms }) {
      scheduler.pause()
      later(ms, () => scheduler.resume())
    },
    *offer(_, { channel: index }) {
      const link = at(channels, index)
      const message = newMessage(link)
      message.isSent = link.channel.offer(message)
    },
    /** Cancels the receiver of a message between its wake-up and its next step. */
    *offerAndCancel(_, { channel: index }) {
      const link = at(channels, index)
      const message = newMessage(link)
      const receiver = actors.find(actor => isLive(actor) && actor.waits.at(-1)?.link === link &&
        actor.waits.at(-1)?.kind === 'receive')
      message.isSent = link.channel.offer(message)
      if (message.isSent && receiver !== undefined) cancel(receiver)
    },
    *poll(actor, { channel: index }) {
      const link = at(channels, index)
      const message = link.channel.poll()
      if (message !== undefined) received(actor?.name ?? 'outside', link, message)
    },
    *throw() { throw new Thrown('thrown') }
  }

  function* called(actor, inner, depth = 1) {
    resumes(actor, false)
    try {
      if (depth > 1) yield* pass(actor, called(actor, inner, depth - 1), { kind: 'call' })
      else yield* body(actor, inner)
    } finally {
      leaves()
    }
  }

  function* locked(actor, mutex, inner, wait) {
    wait.kind = 'call'
    resumes(actor, false)
    try {
      owns(actor, mutex)
      yield* body(actor, inner)
    } finally {
      inside.delete(mutex)
      leaves()
    }
  }

  /** @param {Actor} actor @param {Mutex} mutex */
  function owns(actor, mutex) {
    if (mutex.owner !== actor.job) note(`${actor.name} is inside ${mutex.name} of ${mutex.owner?.name}`)
    const other = inside.get(mutex)
    if (other !== undefined && isLive(other)) note(`${actor.name} is inside ${mutex.name} beside ${other.name}`)
    inside.set(mutex, actor)
  }

  function* permitted(actor, of, inner, wait) {
    wait.kind = 'call'
    resumes(actor, false)
    try {
      yield* held(actor, of, inner)
    } finally {
      leaves()
    }
  }

  function* held(actor, of, inner) {
    if (++of.inside > of.permits) note(`${of.inside} are inside ${of.semaphore.name} of ${of.permits}`)
    try {
      yield* body(actor, inner)
    } finally {
      of.inside--
    }
  }

  /** @param {Actor} actor @param {typeof par} combine @param {any[][]} bodies */
  function* family(actor, combine, bodies) {
    const children = bodies.map((_, index) => {
      const child = newActor(`${actor.name}.${actors.length + index}`)
      child.isChild = true
      return child
    })
    actors.push(...children)
    let isStuck = false
    try {
      yield* pass(actor, combine(...children.map((child, index) => () => main(child, bodies[index]))),
        { kind: 'family', children })
    } catch (error) {
      // A child may need a lock of its parent to clean up, so the parent has to unlock.
      isStuck = [error, ...error.errors ?? []].some(one => one instanceof DeadlockError)
      throw error
    } finally {
      for (const child of children) {
        if (child.started && !child.ended && !isStuck) note(`${actor.name} goes on while its child ${child.name} does`)
      }
    }
  }

  /** @param {Actor} actor @param {any} job @param {any[]} list */
  async function asyncMain(actor, job, list) {
    if (actor.job === null) adopt(actor, job)
    actor.started = true
    resumes(actor, false)
    try {
      await asyncBody(actor, list)
      const value = Symbol(actor.name)
      actor.outcome = { value }
      return value
    } catch (error) {
      actor.outcome = { error }
      throw error
    } finally {
      actor.ended = true
      enter(`${actor.name} ends`)
      if (executing === actor) leaves()
    }
  }

  /** @param {Actor} actor */
  async function asyncPass(actor) {
    if (executing === actor) leaves()
    try {
      await actor.job.yield()
    } catch (error) {
      delivery(actor, error, true)
      // The job has ended in the meantime, or receives its cancellation outside the scheduler.
      if (scheduler.current !== actor.job) throw error
      resumes(actor, false)
      throw error
    }
    resumes(actor, false)
  }

  /** @param {Actor} actor @param {any[]} list */
  async function asyncBody(actor, list) {
    for (const step of list) {
      enter(`${actor.name} ${step.op}`)
      try {
        if (step.op === 'point') await asyncPass(actor)
        else if (step.op === 'promise') {
          if (executing === actor) leaves()
          await new Promise(resolve => { later(step.ms, () => resolve(undefined)) })
          await asyncPass(actor)
        } else if (step.op === 'attempt') {
          try {
            await asyncBody(actor, step.body)
          } catch (error) {
            if (step.manner !== 'catch') throw error
            await asyncBody(actor, step.otherwise)
          } finally {
            if (step.manner === 'finally') await asyncBody(actor, step.otherwise)
          }
        } else if (step.op !== 'compute' || executing === actor) {
          for (const _ of acts[step.op](actor, step)) note(`${step.op} waits`)
        }
      } catch (error) {
        if (!isExpected(error) || error instanceof DeadlineError) throw error
      }
    }
  }

  // --- steps of jobs, events and observers

  function newMessage(link) {
    const { channel, size } = link
    const message = { id: messages.length, link, isSent: false, isFull: channel.length >= size, receivers: [] }
    messages.push(message)
    return message
  }

  function received(name, link, message) {
    enter(`${name} received ${message?.id}`)
    if (message?.link !== link) return note(`${name} got ${String(message)} over ${link.channel.name}`)
    message.receivers.push(name)
    if (message.receivers.length > 1) note(`message ${message.id} was received by ${message.receivers}`)
  }

  /** @param {Actor} actor */
  const reasonFor = ({ name, job }) => Object.assign(new Error(`cancel ${name}`), { cancels: job })

  /** @param {Actor} actor */
  function cancel(actor) {
    if (actor?.job == null) return
    const { job } = actor
    const wasLive = isLive(actor)
    const taken = job.cancel(reasonFor(actor))
    if (taken && !wasLive) note(`${actor.name} had ended and was cancelled`)
    if (taken && !actor.isAsync) actor.untold = 0
    if (wasLive && job.started === undefined && isLive(actor)) {
      note(`${actor.name} is cancelled before its start and is ${job.state}`)
    }
  }

  /** @param {Actor} actor @param {'deadline' | 'priority'} key @param {number} to */
  function rekey(actor, key, to) {
    if (actor?.job == null) return
    const { job } = actor
    const before = job[key]
    const wasLive = isLive(actor)
    try {
      job[key] = to
    } catch (error) {
      if (!isFaulty && job[key] !== before) note(`${actor.name}: ${key} = ${to} has thrown and is ${job[key]}`)
      throw error
    }
    if (wasLive && job[key] !== to) note(`${actor.name}: ${key} = ${to} is ${job[key]}`)
  }

  /** @param {import('./mixed-program.mjs').JobPlan} plan */
  function create(plan) {
    if (actors.length > 40 || isOver) return
    const actor = newActor(`j${actors.length}`)
    actor.isAsync = plan.kind === 'async'
    actor.isHandled = plan.isHandled
    const main_ = plan.reservation === null || mains.length === 0 ? undefined : at(mains, plan.reservation)
    const isErrand = plan.io && ios.length > 0 && main_ !== undefined
    const work = actor.isAsync ? job => asyncMain(actor, job, plan.body) : () => main(actor, plan.body)
    const before = scheduler.stats().jobs
    let job
    try {
      job = scheduler.spawn(actor.isAsync ? async () => work(scheduler.current) : work, {
        name: actor.name,
        release: plan.release > 0 ? host.time + plan.release : undefined,
        deadline: plan.deadline,
        priority: plan.priority,
        period: plan.period,
        reservation: isErrand ? ios[0].for(main_) : main_,
        uses: plan.uses.map(index => at(resources, index)),
        miss: plan.miss
      })
    } catch (error) {
      if (!isFaulty && scheduler.stats().jobs !== before) note(`${actor.name} was refused and counts`)
      throw error
    }
    actors.push(actor)
    if (actor.job === null) adopt(actor, job)
    else if (actor.job !== job) note(`${actor.name} is another job`)
    if (!actor.isHandled) return
    job.then(
      value => { actor.settled.push({ value }) },
      error => { actor.settled.push({ error }) })
  }

  /** Performs a step in a callback of an alarm, an event or an observer. @param {any} step */
  function act(step) {
    if (step.op === 'compute') {
      host.advance(step.ms)
      // Time caused by a job is charged to the job. Time of an outside event belongs to no round.
      const actor = byJob.get(scheduler.current)
      if (actor !== undefined) {
        charged += step.ms
        actor.spent += step.ms
      } else if (core.inRound) {
        inCallbacks += step.ms
      }
      return
    }
    for (const _ of acts[step.op](null, step)) note(`${step.op} waits`)
  }
  const attempt = run => {
    try {
      run()
    } catch (error) {
      if (!isExpected(error) && !(error instanceof Thrown)) throw error
    }
  }

  for (const { type, skip, step } of program.observers) {
    let left = skip
    scheduler.observe(record => {
      if (record.type !== type || left-- !== 0 || isOver) return
      enter(`observer ${step.op}`)
      // The record of a round arrives after the round.
      if (type === 'round' && step.op === 'compute') host.advance(step.ms)
      else act(step)
    })
  }

  for (const plan of program.jobs) attempt(() => create(plan))
  for (const { at: time, via, step } of program.events) {
    const happens = () => {
      enter(`event ${step.op}`)
      act(step)
    }
    if (via === 'alarm') after(time, happens, { scheduler })
    else later(time, () => attempt(happens))
  }
  isArmed = true

  // --- running and winding up

  async function drain() {
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      await microtasks()
      const before = host.turns
      try {
        host.run({ turns: 1 })
      } catch (error) {
        // A host whose timer throws also throws when the test itself sets a timer.
        if (!(error instanceof Fault)) throw error
      }
      await microtasks()
      if (scheduler.current === null) {
        executing = null
        invariants()
      }
      // Timers of browsers do not reveal whether a job waits for them.
      if (host.turns === before || expected === 0 && !isAwaited(core)) return
    }
    note('the program never rests')
  }

  let idle = 0
  let deadlocks = 0
  const askIdle = () => scheduler.idle().then(() => {
    idle++
    const living = actors.filter(actor => isLive(actor) || actor.started && !actor.ended)
    if (living.length > 0) note(`idle() has answered while ${living.map(({ name }) => name)} went on`)
  }, error => {
    deadlocks++
    if (!(error instanceof DeadlockError && program.closed)) note(`idle() rejected with ${String(error)}`)
  })
  askIdle()
  await drain()
  isArmed = false
  if (scheduler.paused) scheduler.resume()
  await drain()
  // A replenishment that no job needs does not keep a process alive.
  if (program.closed) await host.drain({ until: host.time + 100 })
  checkWaiting()
  isOver = true
  for (const reservation of mains) attempt(() => reservation.resize({ capacity: reservation.period * 0.01 || 1 }))
  for (let n = 0; n < 30 && actors.some(isLive); n++) {
    for (const actor of actors) if (isLive(actor)) actor.job.cancel(reasonFor(actor))
    // A job that was cancelled before may wait again, for an event from outside.
    if (n > 5) for (const { channel } of channels) channel.close()
    if (n > 5) for (const of of semaphores) lend(of)
    await drain()
  }
  const told = idle
  askIdle()
  await drain()
  if (idle === told) note('idle() does not answer')
  checkEnd()
  return { problems, log: log.join('\n'), trace: trace?.text() ?? '' }

  function lend(of) {
    if (of.semaphore.available > 0) return
    of.permits++
    of.semaphore.release()
  }

  // --- final checks

  /** Checks that each unfinished job waits for an event that cannot occur. */
  function checkWaiting() {
    const waiting = actors.filter(isLive)
    const isTold = deadlocks > 0 || errors.some(error => error?.message?.includes('nothing can wake'))
    const isStuck = waiting.length > 0 && waiting.every(({ job }) => job.state === 'waiting')
    if (program.closed && !isFaulty && isStuck && !isTold) {
      note(`no deadlock is reported, ${waiting.map(({ name }) => name)} are left`)
    }
    const waitsFor = (actor, kind, link) => actor.waits.some(wait => wait.kind === kind && wait.link === link ||
      wait.kind === 'choice' && wait.ways.some(way => way[kind] === link.channel))
    for (const actor of waiting) {
      const { name, job } = actor
      const wait = actor.waits[actor.waits.length - 1]
      if (job.state === 'depleted' && mains.some(({ capacity }) => capacity === 0)) continue
      if (job.state !== 'waiting') {
        note(`${name} is left ${job.state}`)
        continue
      }
      if (actor.isAsync || wait === undefined) {
        note(`${name} is left waiting for nothing`)
        continue
      }
      const { kind, mutex, semaphore, target, link, children, ways } = wait
      if (kind === 'mutex' && !mutex.locked) note(`${name} is left waiting for ${mutex.name}, which is free`)
      if (kind === 'permit' && semaphore.available > 0) note(`${name} is left waiting for permits, which are there`)
      if (kind === 'join' && !isLive(target)) note(`${name} is left waiting for ${target.name}, which has ended`)
      if (kind === 'family' && children.every(child => child.job !== null && !isLive(child))) {
        note(`${name} is left waiting for children that have ended`)
      }
      if (['sleep', 'timeout', 'promise', 'call'].includes(kind)) note(`${name} is left at a ${kind}`)
      const links = kind !== 'choice' ? [link].filter(Boolean)
        : channels.filter(({ channel }) => ways.some(way => (way.send ?? way.receive) === channel))
      for (const one of links) {
        const { channel, size, overflow } = one
        const sends = waitsFor(actor, 'send', one)
        const hasRoom = channel.length < size || overflow !== 'block'
        if (sends && hasRoom) note(`${name} is left sending to ${channel.name}, which has room`)
        if (!sends && channel.length > 0) note(`${name} is left receiving from ${channel.name}, which has messages`)
        const partner = waiting.find(other => other !== actor && other.job.state === 'waiting' &&
          waitsFor(other, sends ? 'receive' : 'send', one))
        if (partner !== undefined) note(`${name} and ${partner.name} do not meet at ${channel.name}`)
      }
    }
  }

  function checkEnd() {
    for (const actor of actors) checkOutcome(actor)
    checkMessages()
    for (const { name, locked: isLocked } of mutexes) if (isLocked) note(`${name} is still locked`)
    for (const { semaphore, permits } of semaphores) {
      if (semaphore.available !== permits) note(`${semaphore.name} has ${semaphore.available} permits of ${permits}`)
    }
    for (const { name, holder } of resources) if (holder !== null) note(`${name} is still held by ${holder.name}`)
    if (core.sections.length > 0) note('the ceiling stack is not empty')
    for (const reservation of accounts) {
      const { jobs, busy } = reservation[Object.getOwnPropertySymbols(reservation)[0]]
      if (jobs.size > 0 || busy.size > 0) note(`${reservation.name} still has ${jobs.size} jobs, ${busy.size} busy`)
    }
    if (scheduler.current !== null) note(`${scheduler.current.name} is current in the end`)
    if (core.live !== 0) note(`${core.live} jobs count as living`)
    if (core.holds !== 0) note(`${core.holds} wakers are counted`)
    for (const error of errors) {
      const isOurs = isExpected(error) || error instanceof Thrown || error?.cancels !== undefined
      if (!isOurs) note(`reported: ${error?.stack}`)
    }
    if (!isFaulty) checkTime()
  }

  function checkTime() {
    const { busy, overhead } = scheduler.stats()
    const sum = actors.reduce((sum, { job }) => sum + (job?.cost ?? 0), 0)
    if (sum !== charged) note(`jobs were charged ${sum} ms, and have run for ${charged}`)
    if (busy + overhead !== charged + inCallbacks) {
      note(`${busy} ms busy, ${overhead} of overhead, after ${charged} ms of jobs and ${inCallbacks} of callbacks`)
    }
    if (inCallbacks === 0 && busy !== charged) note(`stats().busy is ${busy} after ${charged} ms`)
    for (const { name, job, spent } of actors) {
      if (job !== null && job.cost !== spent) note(`${name} was charged ${job.cost} ms after ${spent}`)
    }
  }

  /** @param {Actor} actor */
  function checkOutcome(actor) {
    const { name, job, started, ended, outcome, settled, isHandled, isChild } = actor
    if (job === null) return // a child that was cancelled before its start
    const { state } = job
    if (!ENDED.includes(state)) return note(`${name} never ended: ${state}, ${actor.waits.map(({ kind }) => kind)}`)
    if (started && !ended) note(`${name} is ${state}, its code has not ended`)
    if (job.finished === undefined) note(`${name} has no finish time`)
    if (started && job.started === undefined) note(`${name} has run and not started`)
    if (!started && state !== 'cancelled') note(`${name} is ${state} and has not run`)
    if (state === 'done' && outcome?.value === undefined) note(`${name} is done and has not returned`)
    if (state === 'failed' && outcome?.error === undefined) note(`${name} failed and has not thrown`)
    if (isChild || !isHandled) return
    if (settled.length !== 1) return note(`the promise of ${name} has settled ${settled.length} times, it is ${state}`)
    const [said] = settled
    if (('value' in said) !== (state === 'done')) note(`the promise of ${name} denies: ${state}`)
    if (state === 'done' && said.value !== outcome?.value) note(`the promise of ${name} has another value`)
    if (state === 'failed' && said.error !== outcome?.error) note(`the promise of ${name} has another error`)
  }

  /** Checks that each accepted message was received once, is kept, or was dropped by the overflow rule. */
  function checkMessages() {
    for (const link of channels) {
      const kept = new Set()
      for (let message = link.channel.poll(); message !== undefined; message = link.channel.poll()) kept.add(message)
      for (const message of messages) {
        if (message.link !== link) continue
        const isThere = message.receivers.length > 0 || kept.has(message)
        if (message.receivers.length > 0 && kept.has(message)) note(`message ${message.id} was received and kept`)
        if (isThere && !message.isSent) note(`message ${message.id} has arrived, its sender does not know`)
        if (message.isSent && !isThere && link.overflow === 'block') note(`message ${message.id} is lost`)
      }
    }
  }
}
