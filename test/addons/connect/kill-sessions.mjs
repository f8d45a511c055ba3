// Kill test of sessions on a virtual clock: lines are cut, hang, lose and double messages, and both ends
// restart without notice.
//
//   node test/addons/connect/kill-sessions.mjs [from] [to]    seeds, default 1 1000, about a minute
import { runWithRestarts } from '../../support/faulty-lines.mjs'
import { seeded } from '../../support/seeded.mjs'

const [from = 1, to = 1000] = process.argv.slice(2).map(Number)
const total = {}
let failed = 0
for (let seed = from; seed <= to; seed++) {
  try {
    for (const [name, count] of Object.entries(runWithRestarts(seeded(seed)))) total[name] = (total[name] ?? 0) + count
  } catch (error) {
    failed++
    console.log(`seed ${seed}: ${error.stack}`)
  }
}
console.log(`${to - from + 1} seeds, ${failed} failed: ${JSON.stringify(total)}`)
process.exitCode = Math.min(failed, 1)
