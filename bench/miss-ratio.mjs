import { chooseSets, conditions, measure, optionsHelp, parseOptions } from '../examples/task-sets/command.mjs'
import { disturbances, missTable, summarize, undisturbed } from '../examples/task-sets/report.mjs'
import { loadTaskSets } from '../examples/task-sets/task-sets.mjs'
import { heading, target } from './support.mjs'

// Figure 5 of RT.js. All of it, in about an hour: node bench/miss-ratio.mjs --sets all --seconds 10
const options = parseOptions(process.argv.slice(2))

if (options.help) console.log(`Missed deadlines of generated task sets\n${optionsHelp}`)
else await compare()

async function compare() {
  const sets = chooseSets(await loadTaskSets(), options)
  heading('deadlines missed by generated task sets', conditions(options, sets))
  const results = await measure(sets, options)
  console.log(`Miss ratio, mean of the sets, beside that of the exact schedule without overhead (ideal).
Beyond: misses, of jobs released after the first 500 ms, that the exact schedule does not have.\n`)
  console.log(`${missTable(summarize(results), options.policies)}\n\n${disturbances(results)}\n`)
  // By wall time, whatever else the machine does causes misses.
  if (options.clock === 'wall') return
  const bounded = undisturbed(results)
    .filter(({ set, policy }) => set.utilization <= 0.9 && policy !== 'fcfs')
  const beyond = bounded.reduce((sum, result) => sum + result.beyond, 0)
  const claim = 'misses beyond the ideal after the first 500 ms, utilization <= 0.9, undisturbed runs'
  if (bounded.length) target(claim, beyond, { most: 0 })
}
