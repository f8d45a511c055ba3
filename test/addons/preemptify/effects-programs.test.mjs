/** Random programs, whose accesses are recorded and compared with the claims. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { withLimit } from '../../support/analysis-limit.mjs'
import { driveRandomly, programOfOneWay, randomProgram } from '../../support/effects-program.mjs'
import { analysed, titleOf, unguarded } from '../../support/effects-watch.mjs'
import { randomProgram as programOfCalls } from '../../support/random-claims.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const programs = suite('preemptify.effects programs')

programs('two stays that use one object, and one writes it, hold conflicting claims', async () => {
  let runs = 0
  let failures = 0
  await forSeeds(150, random => {
    const texts = randomProgram(random)
    try {
      const found = unguarded(texts, (units, stay) => driveRandomly(random, units, stay))
      runs++
      assert.equal(found, [], `${texts.a}\n// b\n${texts.b}\n`)
    } catch (error) {
      // Some programs fail while they load.
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error
      failures++
    }
  })
  assert.ok(runs > failures || runs + failures === 1, `${failures} of ${runs + failures} programs failed`)
})

programs('an object that takes a random way to a write is claimed by writer and readers', async () => {
  await forSeeds(300, random => {
    const texts = programOfOneWay(random)
    const found = unguarded(texts, ({ a: { f, g, h } }, stay) => {
      for (const fn of [f, g, h, f, g, h]) stay(fn, undefined, [])
    })
    assert.equal(found, [], texts.a)
  })
})

programs('stays of packages that are claimed as a whole hold conflicting claims', async () => {
  let runs = 0
  await forSeeds(150, random => {
    const texts = random.chance(0.5) ? randomProgram(random) : programOfOneWay(random)
    try {
      const found = withLimit(0, () => unguarded(texts, (units, stay) => driveRandomly(random, units, stay)))
      runs++
      assert.equal(found, [], `${texts.a}\n// b\n${texts.b}\n`)
    } catch (error) {
      // Some programs fail while they load.
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    }
  })
  assert.ok(runs > 50, `${runs} programs ran`)
})

programs('an update by a callback or a made closure is claimed exclusively', async () => {
  let updates = 0
  await forSeeds(300, random => {
    const { a, b, isCommonJS } = programOfCalls(random)
    if (isCommonJS) return
    for (const { plans, text } of analysed({ a, b }).units) {
      for (const plan of plans.filter(plan => /^[ab]u(?:c\d|m)$/.test(titleOf(plan)))) {
        updates++
        const body = text.slice(plan.node.start, plan.node.end)
        const objects = body.match(/\b(?:[ab](?:o\d|i)|kept)\b/g) ?? []
        const parts = plans.filter(part => part === plan || isInside(part.node, plan.node) || (/^[ab]w\d$/.test(titleOf(part)) && body.includes(titleOf(part))))
        const isClaimed = ({ location: { name }, isExclusive }) => isExclusive && (objects.includes(name) || name === 'objects.*')
        assert.ok(parts.some(({ claims, claimsAll }) => claimsAll || claims.some(isClaimed)), body)
      }
    }
  })
  assert.ok(updates > 100 || process.env.SEED, `${updates} updates`)
})

/** Whether a node stands in another node. */
const isInside = (node, around) => node.start > around.start && node.end < around.end

programs('the check finds two stays without claims', () => {
  const text = 'let n = 0; export function f() { n++; return n }'
  const drive = ({ a }, stay) => {
    stay(a.f, undefined, [])
    stay(a.f, undefined, [])
  }
  assert.equal(unguarded({ a: text }, drive), [])
  assert.is(unguarded({ a: text }, drive, { isBlind: true }).length, 1)
})

programs.run()
