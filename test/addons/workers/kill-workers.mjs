// Terminates threads of `Workers` at random, for 500 seeds; the suite runs a sample (kills.test.mjs).
//   node test/addons/workers/kill-workers.mjs            SEEDS=1-100: other seeds; SEED=7: one
import { runKilled } from '../../support/killed-workers.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const total = {}
let seeds = 0
await forSeeds(500, async random => {
  const counts = await runKilled(random)
  for (const key of Object.keys(counts)) total[key] = (total[key] ?? 0) + counts[key]
  if (++seeds % 50 === 0) console.log(`${seeds} seeds`)
})
console.log(JSON.stringify({ seeds, ...total }))
