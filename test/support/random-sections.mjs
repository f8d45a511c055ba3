/** Random jobs with critical sections that check the promises of the stack resource policy while they run. */
import { Scheduler, budget as points, edf, fp } from '../../rt.mjs'
import { after, sleep } from '../../alarms.mjs'
import { Resource, nonPreemptive } from '../../sync.mjs'
import { format, record } from './trace.mjs'
import { virtualHost } from './virtual-host.mjs'

const GRAIN = 0.25
const ENDED = ['done', 'failed', 'cancelled']

/** @typedef {ReturnType<typeof newActor>} Actor a job, and its events since its release or wake-up */

const newActor = () => ({
  /** @type {any} */
  job: null,
  /** @type {Resource[]} */
  uses: [],
  /** The sections in which the job is, outermost first. @type {Section[]} */
  open: [],
  /** The number of records at its release or wake-up. */
  arrived: 0,
  /** Whether the job has run since then. */
  hasRun: false,
  /** The outermost sections of jobs of lower levels that ran in its place since then. @type {Set<Section>} */
  blockers: new Set()
})

/**
 * @typedef {object} Section
 * @property {Actor} actor
 * @property {Resource | null} resource null for a non-preemptive section
 * @property {number} entered the number of records at the entry
 * @property {number} ceiling the highest ceiling since the entry: jobs that declared the resource may have
 *   ended
 */

/**
 * @param {import('./seeded.mjs').Random} random
 * @param {{ hostOf?: typeof virtualHost }} [options]
 * @returns {{ run(): void, trace: ReturnType<typeof record> }} `run` throws the violations with the trace
 */
export function sections(random, { hostOf = virtualHost } = {}) {
  const policy = random.pick([edf, fp])
  const host = hostOf({ turn: random.pick([0, 0, GRAIN]) })
  const scheduler = new Scheduler({
    host,
    policy,
    budget: random.pick([1, 1, 2, 5, 'auto']),
    slice: random.pick([GRAIN, 1, 3, Infinity]),
    round: random.pick([GRAIN, 1, 5, Infinity])
  })
  const trace = record(scheduler)
  const mayWait = random.chance(0.4)
  const mayBeCancelled = random.chance(0.3)
  const isCeilingGiven = random.chance(0.2)
  // With a late declaration, a ceiling can rise above jobs that have passed it.
  const declareLate = random.chance(0.2)
  const resources = Array.from({ length: random.integer(1, 4) }, (_, index) => {
    return new Resource({ name: `r${index}`, ceiling: isCeilingGiven && random.chance(0.5) ? 5 : undefined })
  })
  /** @type {Actor[]} */
  const actors = []
  /** @type {Map<any, Actor>} */
  const byJob = new Map()
  /** All open sections in order of their entry. @type {Section[]} */
  const stack = []
  /** @type {string[]} */
  const violations = []
  let records = 0

  const note = (/** @type {string} */ text) => { violations.push(`at ${host.time}: ${text}`) }
  const systemCeiling = () => Math.max(-Infinity, ...stack.map(({ ceiling }) => ceiling))

  scheduler.observe(({ type, job, on }) => {
    records++
    const actor = byJob.get(job)
    if (actor === undefined) return
    if (type === 'release' || type === 'wake') {
      actor.arrived = records
      actor.hasRun = false
      actor.blockers.clear()
    }
    if (type === 'start' || type === 'resume') actor.hasRun = true
    if (type === 'block' && actor.open.length > 0) note(`${job.name} waits for ${on} inside a section`)
    if (type === 'start' && stack.length > 0 && !(job.level > systemCeiling())) {
      note(`${job.name} of level ${job.level} starts below the ceiling ${systemCeiling()}`)
    }
  })

  /** Checks that the right job continues after a point. @param {Actor} actor */
  function goesOn(actor) {
    const { job } = actor
    if (scheduler.current !== job) note(`${job.name} runs, current is ${scheduler.current?.name}`)
    const [outermost] = actor.open
    const ready = actors.filter(other => other.job.state === 'ready')
    for (const other of ready) {
      if (policy.compare(other.job, job) >= 0) continue
      // The rule is about the most eligible job. Others wait for it, and for the job that runs on its behalf.
      if (ready.some(another => policy.compare(another.job, other.job) < 0)) continue
      const { name, level } = other.job
      if (outermost === undefined) {
        note(`${job.name} goes on outside sections, ${name} is ready and more eligible`)
        continue
      }
      if (level > systemCeiling()) {
        note(`${job.name} goes on, ${name} is more eligible and passes the ceiling`)
      }
      if (declareLate) continue
      if (other.hasRun) note(`${job.name} blocks ${name}, which has run since it was released or woken`)
      if (outermost.entered > other.arrived) note(`${job.name} entered its section after ${name} had come`)
      if (!(job.level < level)) continue
      other.blockers.add(outermost)
      if (other.blockers.size > 1) note(`${name} is blocked by ${other.blockers.size} outermost sections`)
    }
  }

  /** @param {Actor} actor */
  function* work(actor) {
    for (let n = random.integer(0, 4); n > 0; n--) {
      host.advance(GRAIN * random.integer(0, 4))
      if (random.chance(0.2) && --points.left > 0) continue
      yield
      goesOn(actor)
    }
  }

  /** @param {Actor} actor @param {number} depth */
  function* visit(actor, depth) {
    const free = actor.uses.filter(resource => !actor.open.some(open => open.resource === resource))
    const resource = free.length === 0 || random.chance(0.15) ? null : random.pick(free)
    const fails = random.chance(0.05)
    const failure = new Error('inside')
    // The job is inside from the call on, not only from the first step.
    const inside = () => {
      enter(actor, resource)
      return steps()
    }
    const steps = function* () {
      try {
        yield* work(actor)
        while (depth < 3 && random.chance(0.35)) {
          if (random.chance(0.5)) yield visit(actor, depth + 1)
          else yield* visit(actor, depth + 1)
          yield* work(actor)
        }
        if (fails) throw failure
      } finally {
        leave(actor)
      }
    }
    const section = resource === null ? nonPreemptive(inside) : resource.use(inside)
    try {
      if (random.chance(0.5)) yield* section
      else yield section
      // A section that fails does not end at a point.
      goesOn(actor)
      if (fails) note(`${actor.job.name} was not told of a failure`)
    } catch (error) {
      if (error !== failure) throw error
    }
  }

  /** @param {Actor} actor @param {Resource | null} resource */
  function enter(actor, resource) {
    const { job } = actor
    if (resource !== null) {
      const other = stack.find(section => section.resource === resource)
      if (other !== undefined) note(`${job.name} enters ${resource.name} besides ${other.actor.job.name}`)
      const { holder } = resource
      if (holder !== job) note(`${resource.name} is held by ${holder?.name}, not ${job.name}`)
    }
    const section = { actor, resource, entered: records, ceiling: resource?.ceiling ?? Infinity }
    actor.open.push(section)
    stack.push(section)
  }

  /** @param {Actor} actor */
  function leave(actor) {
    const section = actor.open.pop()
    if (stack.pop() !== section) note(`${actor.job.name} leaves a section that is not the last entered`)
  }

  /** @param {Actor} actor */
  function* live(actor) {
    try {
      for (let n = random.integer(1, 5); n > 0; n--) {
        yield* work(actor)
        yield* visit(actor, 1)
        if (mayWait && random.chance(0.4)) {
          yield sleep(GRAIN * random.integer(0, 12))
          goesOn(actor)
        }
      }
      yield* work(actor)
    } finally {
      if (actor.open.length > 0) note(`${actor.job.name} is cancelled inside a section`)
    }
  }

  /** @param {string} name @param {number} release */
  function spawn(name, release) {
    const actor = newActor()
    actor.uses = resources.filter(() => random.chance(0.6))
    const job = actor.job = scheduler.spawn(() => live(actor), {
      name,
      priority: random.integer(0, 4),
      deadline: random.pick([5, 10, 20, 20, 40, random.real(1, 60)]),
      release,
      uses: actor.uses
    })
    for (const section of stack) {
      section.ceiling = Math.max(section.ceiling, section.resource?.ceiling ?? Infinity)
    }
    actors.push(actor)
    byJob.set(job, actor)
    job.catch(() => {})
    // The job is released already.
    if (job.state === 'ready') actor.arrived = records
    if (!mayBeCancelled || random.chance(0.7)) return
    after(GRAIN * random.integer(0, 120), () => { job.cancel(new Error('cancelled')) }, { scheduler })
  }

  for (let count = random.integer(2, 7), index = 0; index < count; index++) {
    const release = random.chance(0.3) ? 0 : GRAIN * random.integer(0, 80)
    const come = () => { spawn(`j${index}`, release) }
    if (declareLate && random.chance(0.5)) after(release, come, { scheduler })
    else come()
  }

  return {
    trace,
    run() {
      host.run()
      for (const { job } of actors) {
        const isRight = job.state === 'done' || job.state === 'cancelled' && mayBeCancelled
        if (!isRight) note(`${job.name} is ${job.state} in the end`)
      }
      for (const { name, holder, ceiling } of resources) {
        if (holder !== null) note(`${name} is still held by ${holder.name}`)
        if (ceiling !== -Infinity && ceiling !== 5) note(`${name} still has the ceiling ${ceiling}`)
      }
      if (host.errors.length > 0) note(`reported: ${host.errors.join(', ')}`)
      if (violations.length === 0) return
      throw new Error(`${violations.slice(0, 5).join('\n')}\n\n${format(trace.records)}`)
    }
  }
}
