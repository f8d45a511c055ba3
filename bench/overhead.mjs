import {
  chooseSets, conditions, measure, optionsHelp, overheadMeaning, parseOptions
} from '../examples/task-sets/command.mjs'
import { overheadTable, summarize } from '../examples/task-sets/report.mjs'
import { loadTaskSets } from '../examples/task-sets/task-sets.mjs'
import { heading, quantile, target } from './support.mjs'

// Figure 6 of RT.js. All of it, in about 45 minutes: node bench/overhead.mjs --sets all --seconds 10
const defaults = ['--sets', '10', '--policy', 'fp,edf']
const options = parseOptions([...defaults, ...process.argv.slice(2)])

if (options.help) console.log(`Scheduler time / job time of generated task sets\n${optionsHelp}`)
else await compare()

async function compare() {
  const sets = chooseSets(await loadTaskSets(), options)
  const policies = options.policies.filter(policy => policy !== 'fcfs')
  heading('what scheduling costs generated task sets', conditions(options, sets))
  const results = await measure(sets, { ...options, policies })
  console.log(`${overheadMeaning}\n`)
  console.log(`${overheadTable(summarize(results), policies)}\n`)
  const overheads = results.map(({ overhead }) => overhead * 100)
  target('median overhead', quantile(overheads, 0.5), { most: 1, unit: ' %' })
  target('worst overhead of a set', quantile(overheads, 1), { most: 3, unit: ' %' })
}
