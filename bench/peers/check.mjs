// Checks that rewritten packages give the results of the originals:
// node bench/peers/check.mjs [--table] [part of a name]...
// Needs npm --prefix bench/peers install. Each package is called plainly and runs as a job under several budgets.
// --table then measures the packages one after another and prints a table. Failures stay in the table.
import { existsSync, readFileSync } from 'node:fs'
import { find, programs } from '../support-programs.mjs'
import { table } from '../support.mjs'

const patterns = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const isTable = process.argv.includes('--table')
const list = [...(isTable ? [] : programs('programs', patterns)), ...programs('packages', patterns)]
const queue = [...list]
const checked = new Map()
let failed = 0

async function lane() {
  for (let entry; (entry = queue.shift()) !== undefined; ) {
    const { failure, failures = [['rewriting', failure]], yields, cost } = await find(entry.url, 'check')
    if (failures.length > 0 || yields === 0) failed++
    checked.set(entry.name, { isEqual: failures.length === 0, yields })
    const growth = cost && (cost.written / cost.read).toFixed(2)
    console.log(
      `${failures.length > 0 ? 'FAIL' : yields === 0 ? 'ATOMIC' : 'ok  '} ${entry.name}, grown ${growth} x, ${yields} points at budget 1`
    )
    for (const [way, what] of failures) console.log(`     ${way}: ${String(what).replaceAll('\n', '\n     ')}`)
  }
}

await Promise.all([lane(), lane()])
console.log(`\n${list.length - failed} of ${list.length} passed`)
if (isTable) await printTable()
process.exitCode = failed > 0 ? 1 : 0

/** Stretches are CPU time without garbage collection. The ratios are medians of interleaved runs. */
async function printTable() {
  const rows = []
  for (const { name, url } of list) {
    const { stretch, coldStretch, native, job, plain } = await find(url, 'measure')
    const equal = checked.get(name).isEqual ? 'yes' : 'no'
    const figures = [native, stretch, coldStretch, job, plain].map(value => value ?? '-')
    rows.push([...packageOf(name, url), equal, ...figures])
  }
  console.log('')
  table(
    ['package', 'version', 'equal', 'native, ms', 'stretch, ms', 'cold stretch, ms', 'job, x', 'plain, x'],
    rows
  )
}

/** Name and version of the package that a workload measures: its namesake, or else the first import. */
function packageOf(name, url) {
  const text = readFileSync(new URL(url), 'utf8')
  const imports = text.matchAll(/^(?:import|\}) .*from '((?:@[^/']+\/)?[^./'][^/']*)/gm)
  const names = [...imports].map(([, imported]) => imported)
  const found = names.find(other => other.replace('@', '').replace('/', '-') === name) ?? names[0]
  const manifest = new URL(`node_modules/${found}/package.json`, import.meta.url)
  return [found, existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : 'not installed']
}
