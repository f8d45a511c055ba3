// Random programs whose calls run as jobs: the results are those of one order of the calls.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { forSeeds } from '../../support/seeded.mjs'
import { randomProgram, randomRewriting, randomSettings, rewrite, runAsJobs, serialStates } from '../../support/random-claims.mjs'

const programs = suite('random programs')

// SEEDS=10000 runs 10,000 programs.
programs('jobs of random programs give the results of one order of their calls', async () => {
  const seen = { programs: 0, switches: 0, cycles: 0 }
  await forSeeds(60, async random => {
    const program = randomProgram(random)
    const expected = await serialStates(program)
    const texts = rewrite(program, randomRewriting(random))
    for (let i = 0; i < 2; i++) {
      const settings = randomSettings(random, program)
      const { state, cycles, switches } = await runAsJobs(program, texts, settings)
      seen.switches += switches
      seen.cycles += cycles
      if (cycles === 0) assert.ok(expected.includes(state), `${JSON.stringify(settings)} got\n${state}\ninstead of\n${expected.join('\nor\n')}`)
    }
    seen.programs++
  })
  assert.ok(seen.switches > seen.programs, `${seen.switches} switches`)
  if (process.env.SEEDS) console.log(JSON.stringify(seen))
})

programs.run()
