/**
 * Complete schedules with critical sections, compared with a textbook machine that shares no code with the
 * scheduler.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, Scheduler, edf, fp } from '../../rt.mjs'
import { sleep } from '../../alarms.mjs'
import { Mutex, Resource, nonPreemptive } from '../../sync.mjs'
import { WORK_CONSERVING } from '../support/platform-host.mjs'
import { nested, randomSections, simulate } from '../support/protocols.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { assertTrace, executions, nameOf, record } from '../support/trace.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

const POLICIES = { fp, edf }

/** A chart with a row per job and a column per tick. `#` means that the job runs. */
const chart = ({ intervals }, jobs) => Object.fromEntries(jobs.map(({ name }, index) => {
  const row = []
  for (const [start, end] of intervals[index]) for (let time = start; time < end; time++) row[time] = '#'
  return [name, Array.from(row, mark => mark ?? '.').join('')]
}))

const job = (name, priority, release, ...steps) => ({ name, priority, release, steps })
const lock = resource => ['lock', resource]
const unlock = resource => ['unlock', resource]

// ---------------------------------------------------------------------------------------------- the machine

const machine = suite('the textbook machine')

// The lowest and the highest job share a resource. The middle job makes the inversion unbounded.
const inversion = [
  job('high', 3, 2, 1, lock('r'), 1, unlock('r'), 1),
  job('middle', 2, 4, 4),
  job('low', 1, 0, 1, lock('r'), 3, unlock('r'), 1)
]

machine('the machine shows the inversion and its treatment by each protocol', () => {
  const under = protocol => chart(simulate(inversion, 'fp', protocol), inversion)
  assert.equal(under('none'), {
    high: '..#......##',
    middle: '....####',
    low: '##.#....#..#'
  })
  assert.equal(under('inheritance'), {
    high: '..#..##',
    middle: '.......####',
    low: '##.##......#'
  })
  const atOnce = {
    high: '....###',
    middle: '.......####',
    low: '####.......#'
  }
  for (const protocol of ['stack', 'immediate', 'npcs']) assert.equal(under(protocol), atOnce, protocol)
})

machine('the stack policy and immediate ceilings are equal under fixed priorities', () => {
  return forSeeds(500, random => {
    const jobs = randomSections(random)
    const options = { staticCeilings: true }
    const [stack, immediate] = ['stack', 'immediate'].map(protocol => simulate(jobs, 'fp', protocol, options))
    assertTrace(immediate.trace, stack.trace)
  })
})

machine('without sections every protocol gives the same schedule', () => forSeeds(100, random => {
  const jobs = randomSections(random).map(({ steps, ...rest }) => {
    return { ...rest, steps: steps.filter(step => typeof step === 'number') }
  })
  const policy = random.pick(['fp', 'edf'])
  const plain = simulate(jobs, policy, 'none').trace
  for (const protocol of ['inheritance', 'npcs', 'stack']) {
    assertTrace(simulate(jobs, policy, protocol).trace, plain)
  }
}))

machine('the machine finds the deadlock of sections nested in opposite order', () => {
  const crossed = [
    job('x', 1, 0, lock('a'), 2, lock('b'), 1, unlock('b'), 1, unlock('a'), 1),
    job('y', 2, 1, lock('b'), 1, lock('a'), 1, unlock('a'), 1, unlock('b'), 1)
  ]
  assert.equal(simulate(crossed, 'fp', 'inheritance').deadlock, ['x', 'y'])
  assert.is(simulate(crossed, 'fp', 'stack').deadlock, null)
})

machine.run()

// ----------------------------------------------------------------------------------------------- comparison

/** Performs the steps of the jobs with a point before each tick, and their sections in the given protocol. */
function realise(jobs, policy, protocol, {
  staticCeilings = false, delegates = false, hostOf = virtualHost, ...options
} = {}) {
  const host = hostOf()
  const scheduler = new Scheduler({
    host, policy: POLICIES[policy], slice: Infinity, round: Infinity, budget: 1, ...options
  })
  const trace = record(scheduler, { except: ['round', 'miss', 'alarm'] })
  /** @type {Map<string, any>} */
  const sections = new Map()
  const levelOf = ({ priority, deadline = Infinity }) => policy === 'fp' ? priority : -deadline
  const usersOf = name => jobs.filter(({ steps }) => steps.some(step => step[1] === name))
  const named = name => {
    if (protocol === 'inheritance') return new Mutex({ name })
    const ceiling = staticCeilings ? Math.max(...usersOf(name).map(levelOf)) : undefined
    return new Resource({ name, ceiling })
  }
  for (const name of new Set(jobs.flatMap(({ steps }) => steps.flatMap(step => step[0] === 'lock' ? step[1] : [])))) {
    sections.set(name, named(name))
  }

  function* perform(parts) {
    for (const part of parts) {
      if (typeof part === 'number') {
        for (let tick = 0; tick < part; tick++) {
          yield
          host.advance(1)
        }
      } else if ('act' in part) {
        yield
        const [what, on, to] = part.act
        if (what === 'sleep') yield sleep(on)
        else if (what === 'cancel') byName.get(on).cancel(new Error('cancelled'))
        else if (policy === 'fp') byName.get(on).priority = to
        else byName.get(on).deadline = to
      } else {
        const [name, ...inside] = part
        yield // jobs released at this time come first
        const section = () => perform(inside)
        const call = protocol === 'npcs' ? nonPreemptive(section) : sections.get(name).use(section)
        if (delegates) yield* call
        else yield call
      }
    }
  }

  /** @type {Map<string, any>} */
  const byName = new Map()
  const spawned = jobs.map(({ name, priority, release, deadline, steps }) => {
    const named = [...sections].filter(([own]) => steps.some(step => step[1] === own))
    const uses = protocol === 'stack' && !staticCeilings ? named.map(([, resource]) => resource) : undefined
    const job = scheduler.spawn(() => perform(nested(steps)), { name, priority, release, deadline, uses })
    byName.set(name, job)
    return job
  })
  return { host, scheduler, trace, spawned, sections }
}

/**
 * Asserts that the real schedule equals that of the textbook machine, and that all locks are free in the end.
 */
function assertTextbook(jobs, policy, protocol, options = {}) {
  const { host, trace, spawned, sections } = realise(jobs, policy, protocol, options)
  host.run()
  const expected = simulate(jobs, policy, protocol, options)
  const text = trace.text().replace(/on=Sleep$/gm, 'on=sleep')
  assertTrace(text, expected.trace, `under ${policy} and ${protocol} the schedules differ`)
  const ran = executions(trace.records)
  assert.equal(spawned.map(job => ran.get(job) ?? []), expected.intervals)
  assert.equal(spawned.map(({ finished }) => finished), expected.finish)
  for (const section of sections.values()) {
    if (section instanceof Mutex) assert.equal([section.locked, section.owner], [false, null])
    else assert.is(section.holder, null)
  }
}

const random = suite('random sets equal the textbook machine')

for (const policy of ['fp', 'edf']) for (const { where, hostOf, part } of WORK_CONSERVING) {
  const under = `under ${policy}, on ${where}`

  random(`non-preemptive sections ${under}`, () => forSeeds(400 * part, random => {
    assertTextbook(randomSections(random), policy, 'npcs', { hostOf, delegates: random.chance(0.5) })
  }))

  random(`resources with the ceilings of their users, ${under}`, () => forSeeds(600 * part, random => {
    assertTextbook(randomSections(random), policy, 'stack', { hostOf, delegates: random.chance(0.5) })
  }))

  random(`resources with given ceilings, ${under}`, () => forSeeds(400 * part, random => {
    const options = { hostOf, staticCeilings: true, delegates: random.chance(0.5) }
    assertTextbook(randomSections(random), policy, 'stack', options)
  }))

  random(`mutexes nested in order, ${under}`, () => forSeeds(600 * part, random => {
    const jobs = randomSections(random, { ordered: true })
    assertTextbook(jobs, policy, 'inheritance', { hostOf, delegates: random.chance(0.5) })
  }))

  random(`mutexes of jobs that sleep, cancel and re-key each other, ${under}`, () => forSeeds(600 * part, random => {
    const jobs = randomSections(random, { ordered: true, acts: true })
    assertTextbook(jobs, policy, 'inheritance', { hostOf, delegates: random.chance(0.5) })
  }))

  random(`mutexes nested in any order, up to the first cycle, ${under}`, () => forSeeds(500 * part, async random => {
    const jobs = randomSections(random)
    const { deadlock, trace: expected } = simulate(jobs, policy, 'inheritance')
    if (deadlock === null) return assertTextbook(jobs, policy, 'inheritance', { hostOf })
    const { host, trace, spawned } = realise(jobs, policy, 'inheritance', { hostOf })
    const outcomes = Promise.allSettled(spawned)
    host.run()
    // The last job waits in the machine. It fails in the scheduler, so that the other jobs end.
    const until = expected.split('\n').slice(0, -1)
    assertTrace(trace.text().split('\n').slice(0, until.length).join('\n'), until.join('\n'))
    const [first] = trace.records.filter(({ type }) => type === 'fail')
    assert.is(nameOf(first.job), deadlock[0])
    for (const { status, reason } of await outcomes) {
      if (status === 'rejected') assert.instance(reason, DeadlockError)
    }
  }))
}

random.run()

// -------------------------------------------------------------------------------------------- named examples

const examples = suite('textbook examples')

/** Asserts that the machine and the scheduler both produce the chart. */
function shows(jobs, policy, protocol, expected) {
  assert.equal(chart(simulate(jobs, policy, protocol), jobs), expected)
  assertTextbook(jobs, policy, protocol)
}

// Sha, Rajkumar, Lehoczky 1990, section III: the high job needs two locks, each held by another job.
const chained = [
  job('high', 3, 4, 1, lock('s1'), 1, lock('s2'), 1, unlock('s2'), 1, unlock('s1'), 1),
  job('middle', 2, 2, 1, lock('s2'), 3, unlock('s2'), 1),
  job('low', 1, 0, 1, lock('s1'), 3, unlock('s1'), 1)
]

examples('chained blocking: under inheritance the high job waits for two sections', () => {
  shows(chained, 'fp', 'inheritance', {
    high: '....#..#..###',
    middle: '..##....##...#',
    low: '##...##.......#'
  })
})

examples('chained blocking: under the stack policy a job waits once, before it starts', () => {
  shows(chained, 'fp', 'stack', {
    high: '....#####',
    middle: '.........#####',
    low: '####..........#'
  })
})

examples('inheritance through a chain of locks', () => {
  const jobs = [
    job('high', 4, 5, lock('outer'), 1, unlock('outer'), 1),
    job('between', 3, 6, 3),
    job('owner', 2, 2, lock('outer'), 1, lock('inner'), 1, unlock('inner'), 1, unlock('outer'), 1),
    job('low', 1, 0, 1, lock('inner'), 5, unlock('inner'), 1)
  ]
  shows(jobs, 'fp', 'inheritance', {
    high: '.........##',
    between: '...........###',
    owner: '..#....##.....#',
    low: '##.####........#'
  })
})

examples('the end of an inner section admits a job above the outer ceiling', () => {
  const jobs = [
    job('low', 1, 0, lock('a'), 1, lock('b'), 3, unlock('b'), 2, unlock('a'), 1),
    job('high', 2, 2, 1, lock('b'), 1, unlock('b'), 1)
  ]
  shows(jobs, 'fp', 'stack', {
    low: '####...###',
    high: '....###'
  })
})

examples('under edf a shorter deadline starts above the ceiling of longer ones', () => {
  const jobs = [
    { ...job('long', 0, 0, 1, lock('r'), 4, unlock('r'), 1), deadline: 30 },
    { ...job('user', 0, 2, 1, lock('r'), 1, unlock('r'), 1), deadline: 15 },
    { ...job('short', 0, 3, 2), deadline: 5 }
  ]
  shows(jobs, 'edf', 'stack', {
    long: '###..##...#',
    user: '.......###',
    short: '...##'
  })
})

examples.run()
