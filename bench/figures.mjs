import { chooseSets, conditions, measure, optionsHelp, parseOptions, text, wholeNumber } from '../examples/task-sets/command.mjs'
import { disturbances, percent, policyNames, summarize } from '../examples/task-sets/report.mjs'
import { loadTaskSets } from '../examples/task-sets/task-sets.mjs'
import { barChart, picture } from './support-chart.mjs'
import { generateTaskSets } from './support-generated.mjs'
import { heading, table, target } from './support.mjs'

// Draws figures 5 and 6 of RT.js on both clocks, beside the published ones. The paper's scale is 1000 sets of
// 10 s with each policy, which takes about half a day:
//
//   node bench/figures.mjs --sets all --generated 750 --seconds 10 --svg .
const { generated, ...options } = parseOptions(process.argv.slice(2), { generated: text('0'), svg: text(undefined) })

/**
 * The means published by Dietrich et al. (Node 8, i5-6400), percent. FCFS is plain JavaScript. The overheads
 * of all sets are medians.
 */
const published = {
  bins: ['0.0-0.1', '0.1-0.2', '0.2-0.3', '0.3-0.4', '0.4-0.5', '0.5-0.6', '0.6-0.7', '0.7-0.8', '0.8-0.9', '0.9-1.0', '> 1', 'all'],
  misses: {
    fcfs: [0.679, 2.63, 6.478, 10.23, 16.583, 23.185, 32.823, 45.342, 61.442, 82.084, 96.174, 29.591],
    fp: [0.0004, 0, 0.0003, 0.0009, 0.0008, 0.0047, 0.0036, 0.0063, 0.0174, 0.2767, 0.8134, 0.0453],
    edf: [0, 0, 0, 0.0009, 0.0003, 0.0011, 0.0033, 0, 0.0007, 2.8207, 41.317, 1.1194]
  },
  overhead: {
    fp: [13.16, 6.71, 5.32, 4.79, 4.49, 4.29, 4.14, 4.06, 3.98, 3.91, 3.81, 4.38],
    edf: [7.68, 4.78, 4.21, 4.01, 3.83, 3.79, 3.68, 3.65, 3.59, 3.51, 3.5, 3.84]
  }
}

if (options.help) {
  console.log(`Figures 5 and 6 of RT.js${optionsHelp}
  --generated 0          so many sets besides, generated as the paper's
  --svg DIRECTORY        writes rtjs-figure-5-<clock>.svg and rtjs-figure-6-<clock>.svg there`)
} else await draw()

async function draw() {
  const count = wholeNumber('generated', generated, 0)
  const sets = [...chooseSets(await loadTaskSets(), options), ...generateTaskSets(count)]
    .sort((a, b) => a.utilization - b.utilization)
  heading('task sets as in the paper', `of the ${sets.length} sets ${count} are generated`)
  for (const clock of /** @type {const} */ (['wall', 'cpu'])) {
    const results = await measure(sets, { ...options, clock })
    const rows = summarize(results)
    console.log(`### Clock: ${clock}\n\n${conditions({ ...options, clock }, sets)}\n`)
    console.log('Figure 5: deadlines missed, %, mean and standard deviation of the sets (of the exact schedule; published)\n')
    print(rows, options.policies, 'misses', ({ missRatio, deviation, ideal }) => [missRatio, deviation, `${percent(ideal)}; `])
    console.log(`${disturbances(results)}\n`)
    const scheduled = options.policies.filter(policy => policy !== 'fcfs')
    console.log('Figure 6: scheduler time / job time, %, mean and standard deviation of the sets (published)\n')
    print(rows, scheduled, 'overhead', ({ overhead }) => overhead && [overhead.mean, overhead.deviation])
    for (const policy of scheduled) {
      const { overhead, inflation } = rows.at(-1).figures[policy]
      if (overhead === null) continue
      console.log(`- ${policyNames[policy]}: rounds outlast the work of their jobs by ${percent(inflation)} % in the median, points and clock included`)
      target(`${policyNames[policy]}, median overhead`, overhead.median * 100, { most: 2, unit: ' %' })
    }
    console.log()
    await drawFigures(rows, clock)
  }
}

function print(rows, policies, figure, select) {
  table(['U', 'sets', ...policies.map(policy => policyNames[policy])], rows.map(({ label, sets, figures }) => [
    label, String(sets), ...policies.map(policy => {
      const value = select(figures[policy])
      if (!value) return ''
      const there = published[figure][policy][published.bins.indexOf(label)]
      return `${percent(value[0])} ± ${percent(value[1])} (${value[2] ?? ''}${there})`
    })
  ]))
}

async function drawFigures(rows, clock) {
  const figures = [
    ['rtjs-figure-5', 'misses', 'Deadlines missed, %', ({ missRatio, deviation }) => [missRatio, deviation]],
    ['rtjs-figure-6', 'overhead', 'Scheduler time / job time, %', ({ overhead }) => overhead ? [overhead.mean, overhead.deviation] : [0, 0]]
  ]
  for (const [name, figure, title, select] of figures) {
    const policies = options.policies.filter(policy => published[figure][policy])
    await picture(`${name}-${clock}`, barChart({
      title,
      least: figure === 'misses' ? 1e-4 : 0.01,
      groups: rows.map(({ label, figures }) => ({
        label,
        bars: policies.map(policy => {
          const [value, deviation] = select(figures[policy])
          return {
            name: policyNames[policy], value: value * 100, deviation: deviation * 100,
            beside: published[figure][policy][published.bins.indexOf(label)]
          }
        })
      }))
    }))
  }
}
