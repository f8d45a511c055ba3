import { loop } from '../../addons/reservations.mjs'
import { barChart, picture } from '../support-chart.mjs'
import { mean, table, target } from '../support.mjs'
import { disturbanceOf, end, findPrime, laboratory, undisturbed } from './workloads.mjs'

const period = 100
const capacities = [40, 20, 10]
const work = 145 // processor time of one execution of findPrime, ms

/**
 * Runs loops that execute findPrime repeatedly.
 * @param {object} setup
 * @param {'fp' | 'edf'} setup.policy
 * @param {boolean} setup.isReserved
 * @param {number[]} setup.capacities a capacity for each loop
 * @param {number} setup.executions minimum number of executions of each loop
 * @param {import('./workloads.mjs').Clock} setup.clock
 * @returns {Promise<{ loops: { ms: number, tested: number, executions: number }[], disturbance: number }>}
 *   `ms`: mean duration of an execution; `tested`: mean number of tested numbers per execution
 */
async function executionsOf({ policy, isReserved, capacities, executions, clock }) {
  const { scheduler, now } = laboratory(policy, clock)
  const done = capacities.map(() => [])
  let loops
  await new Promise(resolve => {
    loops = capacities.map((capacity, i) => {
      const body = function* () {
        const began = now()
        const tested = yield* findPrime(scheduler, work)
        done[i].push({ ms: now() - began, tested })
        if (done.every(({ length }) => length >= executions)) resolve()
      }
      if (isReserved) return loop(body, { capacity, period, depleted: 'wait', scheduler })
      return scheduler.spawn(function* () {
        for (;;) yield* body()
      })
    })
  })
  await end(scheduler, loops)
  return {
    loops: done.map(each => ({
      ms: mean(each.map(({ ms }) => ms)),
      tested: mean(each.map(({ tested }) => tested)),
      executions: each.length
    })),
    disturbance: disturbanceOf(scheduler)
  }
}

/**
 * Reproduces table VI and figure 10.
 *
 * @param {{ runs: number, clock: import('./workloads.mjs').Clock }} options
 */
export async function isolatedLoops({ runs, clock }) {
  console.log(`### Temporal isolation between loops (Qduino, Table VI and figure 10)

Loops of findPrime, ${work} ms of the processor each time, with 40, 20 and 10 of 100 ms: all together,
until the last has executed it ${runs} times, and each alone, as often. Depleted, they wait; in the
background, one alone would have the whole processor.
`)
  const rows = []
  const ratios = []
  const setups = [['fp', true], ['edf', true], ['fp', false]]
  for (const [policy, isReserved] of setups) {
    const run = (capacities, executions) =>
      undisturbed(() => executionsOf({ policy, isReserved, capacities, executions, clock }), clock)
    await run(capacities, 1) // warm-up
    const { loops: together } = await run(capacities, runs)
    for (const [i, capacity] of capacities.entries()) {
      const { loops: [alone] } = await run([capacity], together[i].executions)
      const ratio = together[i].ms / alone.ms
      if (isReserved) ratios.push(ratio)
      rows.push([
        isReserved ? `${policy}, ${capacity}/${period}` : `none, loop ${i + 1} of equals`,
        alone.ms, together[i].ms, ratio, together[i].tested / alone.tested
      ])
    }
  }
  table(
    ['reservation', 'alone, ms', 'together, ms', 'together to alone', 'numbers tested, together to alone'],
    rows
  )
  const bars = ['fp', 'edf', 'none'].map(way => ({ name: way, found: rows.filter(([name]) => name.startsWith(way)) }))
  await picture('qduino-figure-10', barChart({
    title: 'Table VI, loops together to alone',
    groups: capacities.map((capacity, i) => ({
      label: `${capacity}/${period}`, bars: bars.map(({ name, found }) => ({ name, value: found[i][3], beside: name === 'none' ? undefined : 1 }))
    }))
  }))
  target('findPrime together to alone, with reservations, the highest', Math.max(...ratios), { most: 1.02 })
  console.log()
}
