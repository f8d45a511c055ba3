/** A sample of kill-workers.mjs: threads of `Workers` are terminated at random times. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runKilled } from '../../support/killed-workers.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const SAMPLE = 12
const kills = suite('Workers: threads terminated at random')

kills(`each job settles once, with the right outcome (${SAMPLE} of 500 seeds)`, async () => {
  let terminated = 0
  await forSeeds(SAMPLE, async random => { terminated += (await runKilled(random)).kills })
  if (process.env.SEED === undefined) assert.ok(terminated > 0)
})

kills.run()
