/** Programs of random jobs that check the promises of a scheduler while they run. */
import { DeadlineError, DeadlockError, Scheduler, budget as points, edf, fp } from '../../rt.mjs'
import { checkInvariants, coreOf } from './internals.mjs'
import { watch } from './invariants.mjs'
import { virtualHost } from './virtual-host.mjs'

// Execution times are multiples of this value, ms.
const GRAIN = 0.25
const EPSILON = 1e-9

/** @typedef {ReturnType<typeof newActor>} Actor a job and the events of its life */

/** @param {import('./seeded.mjs').Random} random */
const newActor = random => ({
  /** @type {any} */
  job: null,
  isAsync: random.chance(0.15),
  /** Whether a handler is attached from the start. Without one, a failure must be reported. */
  handled: random.chance(0.7),
  /** Whether another job has waited for this job. */
  joined: false,
  started: false,
  ended: false,
  threw: false,
  /** @type {unknown} */
  value: undefined,
  /** @type {unknown} */
  error: undefined,
  spent: 0,
  /** @type {Error[]} the reasons of its cancellations */
  reasons: [],
  /** @type {unknown[]} the reasons that were thrown into the job */
  delivered: [],
  /** @type {{ value?: unknown, error?: unknown } | null} the outcome of its promise */
  settled: null
})

/**
 * A program of random jobs. Each job acts by the random numbers, and checks at every step that the right job
 * runs. Two programs of one seed are equal. Programs grow with their seeds, so that the first failure is a
 * small one.
 *
 * @param {import('./seeded.mjs').Random} random
 * @param {{ blind?: boolean, hostOf?: typeof virtualHost }} [options] `blind`: without observers and checks
 */
export function program(random, { hostOf = virtualHost, ...options } = {}) {
  const size = 1 + random.seed % 12
  const host = hostOf({
    turn: random.pick([0, 0, 0, GRAIN]),
    early: random.pick([0, 0, 0.5]),
    resolution: random.pick([0, 0, 0, 0, 0, 0, 0, 1]),
    read: random.pick([0, 0, 0, 0, 0, 0, 0, GRAIN / 8])
  })
  const policy = random.pick([edf, fp])
  const budget = random.pick([1, 1, 1, 2, 3, 8, 'auto'])
  const slice = random.pick([GRAIN, 1, 1, 3, Infinity])
  const round = random.pick([GRAIN, 1, 5, 5, Infinity])
  const scheduler = new Scheduler({ host, policy, budget, slice, round })
  const seen = watch(scheduler, host, policy, options)
  const core = coreOf(scheduler)
  /** @type {Actor[]} */
  const actors = []
  /** @type {Actor | null} the job whose code runs */
  let inside = null
  let idle = false

  const alive = () => actors.filter(({ job }) => !['done', 'failed', 'cancelled'].includes(job.state))

  /** Called by a job whenever it continues. The return from a call is not a preemption point. */
  function enter(actor, atPoint = true) {
    const { job } = actor
    if (inside) seen.note(`${job.name} runs inside ${inside.job.name}`)
    inside = actor
    if (actor.ended) seen.note(`${job.name} runs after its end`)
    if (scheduler.current !== job) seen.note(`${job.name} runs, current is ${scheduler.current?.name}`)
    if (job.state !== 'running') seen.note(`${job.name} runs and is ${job.state}`)
    if (seen.running !== job) seen.note(`${job.name} runs, ${seen.running?.name} was dispatched`)
    if (!options.blind) checkInvariants(core, actors.map(actor => actor.job), {}, seen.note)
    if (!atPoint) return
    if (budget === 1) checkChoice(actor)
    else if (seen.takeAlert() && !actor.isAsync) seen.mostEligible(job, 'goes on')
  }

  /** Checks that the right job continues after a reading of the clock. */
  function checkChoice({ job, isAsync }) {
    // A microtask can wake another job between the choice and the continuation of an async job.
    if (!isAsync) seen.mostEligible(job, 'goes on')
    for (const { job: other } of actors) {
      if (seen.exact && other.state === 'pending' && other.release <= host.time) {
        seen.note(`${job.name} goes on before ${other.name} is released, due at ${other.release}`)
      }
    }
    for (const other of isAsync ? [] : seen.woken) {
      if (seen.compare(other, job) === 0) seen.note(`${job.name} goes on, its equal ${other.name} was woken`)
    }
    for (const other of seen.inState('ready')) {
      const together = seen.executed - Math.max(seen.runningSince, seen.readySince(other), seen.keysSince)
      if (seen.exact && together >= slice && seen.compare(other, job) === 0) {
        seen.note(`${job.name} goes on after ${together} ms, its equal ${other.name} is ready`)
      }
    }
  }

  function leave() {
    inside = null
  }

  function compute(actor, ms = GRAIN * random.pick([0, 1, 1, 2, 4, 12])) {
    if (inside !== actor) seen.note(`${actor.job.name} computes outside its turn`)
    seen.executes(ms)
    actor.spent += ms
  }

  /** Yields once. A cancellation may be thrown here only if it was requested, and only once. */
  function* pass(actor, ...values) {
    leave()
    try {
      return values.length ? yield values[0] : yield
    } catch (error) {
      if (actor.delivered.includes(error)) seen.note(`${actor.job.name} was thrown ${error.message} twice`)
      noteCancellation(actor, error)
      throw error
    } finally {
      enter(actor)
    }
  }

  /** Notes a cancellation. A call is a yield too, and can be the first place where it arrives. */
  function noteCancellation(actor, error) {
    if (actor.delivered.includes(error)) return
    const itsOwn = error instanceof DeadlineError && error.message.startsWith(`${actor.job.name} `)
    if (itsOwn || error?.cancels === actor.job) actor.delivered.push(error)
  }

  function expect({ job }, what, actual, wanted) {
    if (actual === wanted) return
    seen.note(`${job.name} got ${String(actual)} from ${what}, not ${String(wanted)}`)
  }

  /** Catches only the wanted error. */
  function* trap(actor, wanted, value) {
    let result
    try {
      result = yield* pass(actor, value)
    } catch (error) {
      if (actor.delivered.includes(error)) throw error
      return expect(actor, 'a wait', error, wanted)
    }
    seen.note(`${actor.job.name} got ${String(result)}, not an error`)
  }

  const actions = {
    *compute(actor) {
      compute(actor)
    },

    *point(actor) {
      compute(actor)
      yield* pass(actor)
    },

    *points(actor) {
      for (let n = random.integer(1, 8); n > 0; n--) {
        compute(actor, GRAIN)
        yield* pass(actor)
      }
    },

    *countedPoints(actor) {
      for (let n = random.integer(1, 12); n > 0; n--) {
        compute(actor, GRAIN)
        if (--points.left <= 0) yield* pass(actor)
      }
    },

    *iterator(actor) {
      const token = Symbol('returned')
      let n = random.integer(0, 4)
      leave()
      try {
        const result = yield {
          next() {
            enter(actor)
            compute(actor, GRAIN)
            leave()
            return n-- > 0 ? { done: false, value: undefined } : { done: true, value: token }
          }
        }
        expect(actor, 'an iterator', result, token)
      } catch (error) {
        noteCancellation(actor, error)
        throw error
      } finally {
        enter(actor, false)
      }
    },

    *call(actor, depth) {
      if (depth > 4) return
      const token = Symbol('returned')
      leave()
      let result
      try {
        result = yield called(actor, depth + 1, token)
      } catch (error) {
        noteCancellation(actor, error)
        throw error
      } finally {
        enter(actor, false)
      }
      expect(actor, 'a call', result, token)
    },

    *delegate(actor, depth) {
      if (depth > 4) return
      const token = Symbol('returned')
      expect(actor, 'a delegated call', yield* body(actor, depth + 1, token), token)
    },

    *callThatThrows(actor) {
      const failure = new Error('thrown by a call')
      leave()
      try {
        yield failing(actor, failure)
        seen.note('a call that throws returned')
      } catch (error) {
        noteCancellation(actor, error)
        if (error !== failure) throw error
      } finally {
        enter(actor, false)
      }
    },

    *promise(actor) {
      const token = Symbol('resolved')
      const ms = GRAIN * random.integer(0, 20)
      const promise = new Promise(resolve => { host.after(ms, () => resolve(token)) })
      expect(actor, 'a promise', yield* pass(actor, promise), token)
    },

    *resolved(actor) {
      const token = Symbol('resolved')
      expect(actor, 'a resolved promise', yield* pass(actor, Promise.resolve(token)), token)
    },

    *thenable(actor) {
      const token = Symbol('resolved at once')
      expect(actor, 'a thenable', yield* pass(actor, { then: resolve => resolve(token) }), token)
    },

    *brokenThenable(actor) {
      const failure = new Error('thrown by then')
      yield* trap(actor, failure, { then() { throw failure } })
    },

    *rejected(actor) {
      const failure = new Error('rejected')
      const promise = new Promise((_, reject) => {
        if (random.chance(0.5)) reject(failure)
        else host.after(GRAIN * random.integer(0, 20), () => reject(failure))
      })
      // A job that is cancelled before its wait never handles the promise.
      promise.catch(() => {})
      yield* trap(actor, failure, promise)
    },

    *wrongValue(actor) {
      compute(actor)
      try {
        yield* pass(actor, random.pick([0, 1, '', 'text', null, true, {}, Symbol('nothing to wait for')]))
        seen.note('a wrong value was accepted')
      } catch (error) {
        if (!(error instanceof TypeError)) throw error
      }
    },

    *itself(actor) {
      try {
        yield* pass(actor, actor.job)
        seen.note('a job waited for itself')
      } catch (error) {
        if (!(error instanceof TypeError)) throw error
      }
    },

    *join(actor) {
      const target = random.pick(actors)
      if (target === actor) return
      const circle = seen.closes(actor.job, target.job)
      target.joined = true
      let value
      let thrown = null
      try {
        value = yield* pass(actor, target.job)
      } catch (error) {
        if (actor.delivered.includes(error)) throw error
        thrown = { error }
      }
      if (circle || thrown?.error instanceof DeadlockError) {
        if (!circle) seen.note(`${actor.job.name} met a deadlock that is none`)
        if (!(thrown?.error instanceof DeadlockError)) seen.note(`${actor.job.name} closed a circle of waits`)
        return
      }
      const { state } = target.job
      if (target.started && !target.ended) {
        seen.note(`${actor.job.name} waited for ${target.job.name}, now ${state}`)
      }
      if (thrown) expect(actor, 'a job', state === 'cancelled' || thrown.error === target.error, true)
      else expect(actor, 'a job', value, target.value)
    },

    *spawn() {
      spawnOne()
    },

    *cancelOther() {
      cancelOne()
    },

    *cancelItself(actor) {
      cancel(actor)
    },

    *throw() {
      if (random.chance(0.5)) throw new Error('thrown')
    },

    *rekey() {
      rekey()
    }
  }

  const weights = {
    compute: 3, point: 6, points: 4, countedPoints: 2, iterator: 1, call: 4, delegate: 2, callThatThrows: 1,
    promise: 2, resolved: 1, thenable: 1, brokenThenable: 0.5, rejected: 1, wrongValue: 1, itself: 0.3,
    join: 2, spawn: 3, cancelOther: 0.6, cancelItself: 0.3, throw: 0.4, rekey: 1
  }

  function* called(actor, depth, token) {
    enter(actor)
    try {
      return yield* body(actor, depth, token)
    } finally {
      leave()
    }
  }

  function* failing(actor, failure) {
    enter(actor)
    try {
      compute(actor)
      yield* pass(actor)
      throw failure
    } finally {
      leave()
    }
  }

  function* body(actor, depth, token) {
    const manner = random.weighted({ plain: 6, finally: 1, catch: 1 })
    try {
      for (let n = random.integer(0, 5); n > 0; n--) yield* actions[random.weighted(weights)](actor, depth)
      return token
    } catch (error) {
      if (manner !== 'catch') throw error
      compute(actor)
      yield* pass(actor)
      return token
    } finally {
      if (manner === 'finally') {
        compute(actor)
        yield* pass(actor)
        compute(actor)
      }
    }
  }

  function* main(actor) {
    actor.started = true
    enter(actor)
    actor.value = Symbol('result')
    try {
      return yield* body(actor, 0, actor.value)
    } catch (error) {
      actor.threw = true
      actor.error = error
      throw error
    } finally {
      actor.ended = true
      leave()
    }
  }

  /** An async job is outside the scheduler between a foreign await and the next job.yield(). */
  async function asyncMain(actor, job) {
    actor.job = job
    actor.started = true
    enter(actor, false)
    actor.value = Symbol('result')
    try {
      for (let n = random.integer(0, 6); n > 0; n--) {
        compute(actor)
        const foreign = random.chance(0.3)
        if (random.chance(0.1)) spawnOne()
        if (random.chance(0.05)) throw new Error('thrown')
        leave()
        if (foreign) await new Promise(resolve => { host.after(GRAIN * random.integer(0, 20), resolve) })
        try {
          await job.yield()
        } catch (error) {
          noteCancellation(actor, error)
          throw error
        }
        enter(actor)
      }
      leave()
      return actor.value
    } catch (error) {
      if (inside === actor) leave()
      actor.threw = true
      actor.error = error
      throw error
    } finally {
      actor.ended = true
    }
  }

  function create() {
    const actor = newActor(random)
    const release = random.chance(0.3) ? host.time + GRAIN * random.integer(-8, 40) : undefined
    const controller = random.chance(0.1) ? new AbortController() : null
    const work = actor.isAsync ? async () => asyncMain(actor, scheduler.current)
      : random.chance(0.5) ? () => main(actor) : main(actor)
    actor.job = scheduler.spawn(work, {
      name: `J${actors.length}`,
      release,
      deadline: random.chance(0.3) ? undefined : GRAIN * random.integer(1, 80),
      priority: random.pick([0, 0, 0, -1, 1.5, 2]),
      miss: random.chance(0.15) ? 'abort' : 'continue',
      signal: controller?.signal
    })
    actors.push(actor)
    if (actor.handled) {
      actor.job.then(
        value => { actor.settled = { value } },
        error => { actor.settled = { error } }
      )
    }
    if (controller) {
      host.after(GRAIN * random.integer(0, 80), () => {
        const reason = reasonFor(actor)
        controller.abort(reason)
      })
    }
    return actor
  }

  function spawnOne() {
    if (actors.length < 4 * size) create()
  }

  function reasonFor(actor) {
    const reason = Object.assign(new Error(`cancel ${actor.job.name}`), { cancels: actor.job })
    actor.reasons.push(reason)
    return reason
  }

  function cancel(actor) {
    actor.job.cancel(reasonFor(actor))
    if (!actor.started && actor.job.state !== 'cancelled') {
      seen.note(`${actor.job.name} has not started, is cancelled, and is ${actor.job.state}`)
    }
  }

  function cancelOne() {
    const living = alive()
    if (living.length) cancel(random.pick(living))
  }

  function rekey() {
    const living = alive()
    if (!living.length) return
    const { job } = random.pick(living)
    seen.keysChange()
    if (random.chance(0.5)) job.priority = random.pick([0, -1, 1.5, 2])
    else job.deadline = random.chance(0.2) ? Infinity : GRAIN * random.integer(1, 80)
  }

  const outside = {
    spawn: spawnOne,
    cancel: cancelOne,
    rekey,
    pause() {
      seen.pauses(true)
      scheduler.pause()
      host.after(GRAIN * random.integer(0, 12), () => {
        seen.pauses(false)
        scheduler.resume()
      })
    }
  }

  for (let n = random.integer(1, size); n > 0; n--) create()
  for (let n = random.integer(0, size); n > 0; n--) {
    const event = random.weighted({ spawn: 4, cancel: 1, rekey: 2, pause: 0.3 })
    host.after(GRAIN * random.integer(0, 200), outside[event])
  }

  async function run() {
    scheduler.idle().then(() => {
      for (const { job } of alive()) seen.note(`idle() resolved while ${job.name} is ${job.state}`)
    }, error => seen.note(`idle() rejected with ${String(error)}`))
    await host.drain()
    scheduler.idle().then(() => { idle = true }, error => seen.note(`idle() rejected with ${String(error)}`))
    await host.drain()
    check()
    return seen
  }

  function check() {
    const jobs = actors.map(({ job }) => job)
    seen.end(jobs)
    if (!idle) seen.note('idle() did not resolve')
    if (scheduler.current) seen.note(`${scheduler.current.name} is current at the end`)
    for (const actor of actors) checkOutcome(actor)
    for (const error of host.errors) {
      const owners = actors.filter(({ error: theirs }) => theirs === error)
      if (!owners.length) seen.note(`${String(error)} was reported, no job failed with it`)
      for (const { job, handled } of owners) {
        if (job.state !== 'failed') seen.note(`${job.name} was reported as unhandled and is ${job.state}`)
        if (handled) seen.note(`${job.name} was reported as unhandled and is handled`)
      }
    }
  }

  function checkOutcome(actor) {
    const { job, settled, reasons, delivered } = actor
    const { state } = job
    if (seen.exact && Math.abs(job.cost - actor.spent) > EPSILON) {
      seen.note(`${job.name} was charged ${job.cost} ms after ${actor.spent} ms`)
    }
    if (actor.started !== (job.started !== undefined)) seen.note(`${job.name} started: ${job.started}`)
    if (actor.started && !actor.ended) seen.note(`${job.name} was left half way`)
    if (!actor.started && state !== 'cancelled') seen.note(`${job.name} is ${state} and never ran`)
    if (delivered.length > 1) seen.note(`${job.name} was cancelled ${delivered.length} times`)
    if (actor.threw && state !== (delivered.includes(actor.error) ? 'cancelled' : 'failed')) {
      seen.note(`${job.name} threw ${String(actor.error)} and is ${state}`)
    }
    if (actor.ended && !actor.threw && state !== 'done' && !reasons.length) {
      seen.note(`${job.name} returned and is ${state}`)
    }
    if (state === 'failed' && !actor.handled && !actor.joined) {
      const reports = host.errors.filter(error => error === actor.error).length
      if (reports !== 1) seen.note(`${job.name} failed unhandled and was reported ${reports} times`)
    }
    if (!actor.handled) return
    if (!settled) return seen.note(`the promise of ${job.name} is pending, it is ${state}`)
    if ('value' in settled !== (state === 'done')) seen.note(`the promise of ${job.name} denies: ${state}`)
    const { value, error } = settled
    if (state === 'done' && value !== actor.value) seen.note(`${job.name} resolved with another value`)
    if (state === 'failed' && error !== actor.error) seen.note(`${job.name} rejected with another error`)
    if (state === 'cancelled' && !(reasons.includes(error) || error instanceof DeadlineError)) {
      seen.note(`${job.name} was cancelled with ${String(error)}`)
    }
  }

  return { run, seen, actors, host }
}

/** The outcome of every job of a program, as text. @param {ReturnType<typeof program>} program */
export function outcomes({ actors }) {
  return actors.map(({ job }) => {
    const { name, state, started, finished, cost, missed, preemptions } = job
    return [name, state, started, finished, cost, missed, preemptions].join(' ')
  }).join('\n')
}
