import {
  chooseSets, conditions, machine, measure, optionsHelp, overheadMeaning, parseDrawingOptions
} from './command.mjs'
import {
  disturbances, drawSchedule, missTable, overheadTable, policyNames, scheduleLegend, summarize
} from './report.mjs'
import { loadTaskSets } from './task-sets.mjs'

const help = `Runs the task sets of the RT.js evaluation and counts missed deadlines.

  node examples/task-sets/run.mjs [options]
${optionsHelp}
  --schedule 121         the set whose schedule is shown (default: the last one)
  --span 150             ms of the schedule that are shown
  --json                 print all there is to know as JSON
  --help`

const request = await understand(process.argv.slice(2))
if (request.error) {
  console.error(`${request.error.message}\n--help lists the options`)
  process.exitCode = 2
} else if (request.options.help) {
  console.log(help)
} else {
  const { options, sets, drawn } = request
  // Recording costs time, so only the printed part of the printed set's schedule is recorded.
  const results = await measure(sets, options, set => set === drawn ? options.span : 0)
  if (options.json) printJson(results, options)
  else printText(results, sets, drawn, options)
}

async function understand(args) {
  const all = await loadTaskSets()
  try {
    const options = parseDrawingOptions(args)
    const sets = chooseSets(all, options)
    const { schedule = sets.at(-1).id } = options
    const drawn = sets.find(({ id }) => id === schedule)
    if (!drawn) throw new RangeError(`--schedule must be one of the sets that run, got ${schedule}`)
    return { options, sets, drawn }
  } catch (error) {
    return { error }
  }
}

function printText(results, sets, drawn, options) {
  const rows = summarize(results)
  const { policies, span } = options
  console.log(`${machine()}\n${conditions(options, sets)}\n`)
  console.log(`Missed deadlines, mean of the sets; ideal = one processor without overhead;
beyond = misses, of jobs released after the first 500 ms, that the ideal schedule does not have\n`)
  console.log(`${missTable(rows, policies)}\n\n${disturbances(results)}\n`)
  if (policies.some(policy => policy !== 'fcfs')) {
    console.log(`${overheadMeaning}\n\n${overheadTable(rows, policies)}\n`)
  }
  console.log(`The first ${span} ms of set ${drawn.id}, utilization ${drawn.utilization.toFixed(2)}`)
  console.log(scheduleLegend)
  const columns = Math.max(40, Math.min(150, (process.stdout.columns ?? 110) - 20))
  for (const result of results.filter(({ set }) => set === drawn)) {
    console.log(`\n${policyNames[result.policy]}\n${drawSchedule(result, { span, columns })}`)
  }
}

function printJson(results, options) {
  const microseconds = time => typeof time === 'number' ? Math.round(time * 1000) / 1000 : time
  const rounded = record =>
    Object.fromEntries(Object.entries(record).map(([key, time]) => [key, microseconds(time)]))
  const compact = ({ set, outcomes, segments, rounds, releases, ...result }) => ({
    ...result,
    set: set.id,
    utilization: set.utilization,
    outcomes: outcomes.map(({ wcet, period, ...job }) => rounded(job)),
    segments: segments.map(({ job, from, to }) => {
      const { task, release } = releases[job]
      return rounded({ task, release, from, to })
    }),
    rounds: rounds.map(rounded)
  })
  console.log(JSON.stringify({
    machine: machine(), options, summary: summarize(results), results: results.map(compact)
  }))
}
