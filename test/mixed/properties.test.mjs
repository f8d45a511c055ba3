/**
 * Random programs that combine all features, on every host. They use reservations, locks, sections, channels,
 * child jobs and async jobs. They also cancel and re-key jobs, change capacities, and throw from observers,
 * policies and hosts.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { generate, show, shrink } from '../support/mixed-program.mjs'
import { perform } from '../support/mixed-run.mjs'
import { HOSTS } from '../support/platform-host.mjs'
import { forSeeds, seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'

// Set SEEDS=10000, or SEEDS=5001-10000, in the environment for the long run.

/** The kind of a violation, without its names and numbers. */
const kindOf = ([problem = '']) => problem.replace(/at [\d.]+: /, '').replace(/\bj[\d.]+/g, 'j').replace(/[\d.]+/g, '#')

/**
 * Performs a program. On a violation, throws an error that shows the smallest program with the same kind of
 * violation.
 */
async function assertKept(program, host) {
  const { problems } = await perform(program, host)
  if (problems.length === 0) return
  const kind = kindOf(problems)
  const least = await shrink(program, async candidate => {
    return kindOf((await perform(candidate, host)).problems) === kind
  })
  throw new Error(`${(await perform(least, host)).problems.join('\n')}\n\n${show(least)}`)
}

const properties = suite('random programs with all features')

for (const host of HOSTS) {
  properties(`random programs keep all invariants and come to rest on ${host.where}`, () => {
    return forSeeds(500 * host.part, random => assertKept(generate(random), host))
  })
}

for (const [seed, what] of Object.entries({
  1598: 'a job that was cancelled stayed in the pool of the reservation that it had left',
  4943: 'a job that others wait for sank to the background with its reservation',
  7510: 'of two replenishments due at once, the first decided who runs before the second had happened'
})) {
  properties(`random programs have found: ${what}`, () =>
    assertKept(generate(seeded(Number(seed))), HOSTS[0]))
}

properties('a random program runs alike each time on each host, and in Node as virtually', () => {
  const [virtual, node] = HOSTS
  return forSeeds(60, async ({ seed }) => {
    const text = async host => {
      const { log, trace } = await perform(generate(seeded(seed)), host)
      return `${log}\n${trace}`
    }
    const expected = await text(virtual)
    for (const host of [virtual, node]) assertTrace(await text(host), expected, `on ${host.where}`)
    for (const host of HOSTS.slice(2)) assertTrace(await text(host), await text(host), `on ${host.where}`)
  })
})

properties.run()

const shrinking = suite('shrinking of failing programs')

shrinking('a failing program is reduced to the failing step', async () => {
  const program = generate(seeded(8))
  program.jobs[0].body.push({ op: 'call', isDelegated: false, body: [{ op: 'point' }, { op: 'throw' }] })
  const throws = steps => steps.some(({ op, body = [] }) => op === 'throw' || throws(body))
  const least = await shrink(program, async ({ jobs }) => jobs.some(({ body }) => throws(body)))
  assert.equal(least.jobs.map(({ body }) => body), [[{ op: 'throw' }]])
  assert.equal([least.events, least.observers, least.faults], [[], [], []])
})

shrinking.run()
