// Whether packages, rewritten whole, do what they did: node bench/peers/check.mjs [part of a name]...
// After npm --prefix bench/peers install. Each is called plainly and runs as a job under several budgets.
import { find, programs } from '../support-programs.mjs'

const patterns = process.argv.slice(2)
const list = [...programs('programs', patterns), ...programs('packages', patterns)]
const queue = [...list]
let failed = 0

async function lane() {
  for (let entry; (entry = queue.shift()) !== undefined; ) {
    const { failure, failures = [['rewriting', failure]], yields, cost } = await find(entry.url, 'check')
    if (failures.length > 0 || yields === 0) failed++
    const growth = cost && (cost.written / cost.read).toFixed(2)
    console.log(
      `${failures.length > 0 ? 'FAIL' : yields === 0 ? 'ATOMIC' : 'ok  '} ${entry.name}, grown ${growth} x, ${yields} points at budget 1`
    )
    for (const [way, what] of failures) console.log(`     ${way}: ${String(what).replaceAll('\n', '\n     ')}`)
  }
}

await Promise.all([lane(), lane()])
console.log(`\n${list.length - failed} of ${list.length} passed`)
process.exitCode = failed > 0 ? 1 : 0
