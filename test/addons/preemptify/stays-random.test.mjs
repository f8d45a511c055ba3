// Random jobs with stays, mutexes, resources and channels: no deadlock, and no lost update.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { forSeeds } from '../../support/seeded.mjs'
import { counters, runStays } from '../../support/random-stays.mjs'

const stays = suite('random stays')

// SEEDS=10000 runs 10,000 programs.
stays('random jobs with stays, mutexes, resources and channels all end', async () => {
  const seen = { programs: 0, blocks: 0, cycles: 0 }
  let packages = await counters()
  await forSeeds(100, async random => {
    const { violations, blocks, cycles } = await runStays(random, packages)
    if (cycles > 0) packages = await counters()
    assert.equal(violations, [])
    seen.programs++
    seen.blocks += blocks
    seen.cycles += cycles
  })
  assert.ok(seen.blocks > 0 || seen.programs < 100)
  if (process.env.SEEDS) console.log(JSON.stringify(seen))
})

stays.run()
