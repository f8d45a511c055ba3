import { loop } from '../../addons/reservations.mjs'
import { every, sleep } from '../../alarms.mjs'
import { lineChart, picture } from '../support-chart.mjs'
import { mean, seededRandom, table, target } from '../support.mjs'
import {
  count, countOn, disturbanceOf, end, hogs, laboratory, undisturbed, variation
} from './workloads.mjs'

const period = 100
const warmUp = 3 // periods
/**
 * Maximum CV of the processor's speed, %. On a processor of uneven speed, the progress of a loop does not
 * show how evenly the processor was allocated.
 */
const unevenSpeed = 1.5

/**
 * @typedef {object} Setup
 * @property {'fp' | 'edf'} policy
 * @property {number} hogs
 * @property {number} [capacity] capacity of the loop's reservation; without it, the loop has no reservation
 * @property {'wait' | 'background'} [depleted] default 'wait'
 * @property {boolean} [comeAndGo] whether the hogs pause at times
 * @property {import('./workloads.mjs').Clock} clock
 *
 * @typedef {{ progress: number, used: number }} Period increments, and processor time in ms
 */

/**
 * Measures a foreground loop that increments a counter, sampled at the start of each period.
 * @param {Setup} setup
 * @param {number} length number of periods
 * @returns {Promise<ReturnType<typeof summary> & { disturbance: number }>}
 */
async function progressOf(setup, length) {
  const { policy, hogs: number, capacity, depleted = 'wait', comeAndGo = false, clock } = setup
  const { scheduler, now } = laboratory(policy, clock)
  const progress = { count: 0 }
  const job = capacity === undefined ? scheduler.spawn(countOn, {}, progress)
    : loop(() => count(progress), { capacity, period, depleted, scheduler }).job
  const others = hogs(scheduler, number, comeAndGo ? comingAndGoing(now) : undefined)
  /** @type {Period[]} */
  const totals = []
  const sampling = await new Promise(resolve => {
    const alarm = every(period, () => {
      totals.push({ progress: progress.count, used: job.cost })
      if (totals.length > warmUp + length) resolve(alarm)
    }, { scheduler })
  })
  sampling.cancel()
  await end(scheduler, [job, ...others])
  const periods = totals.slice(1).map(({ progress, used }, i) =>
    ({ progress: progress - totals[i].progress, used: used - totals[i].used }))
  const found = summary(periods.slice(warmUp, warmUp + length))
  return { ...found, disturbance: Math.max(disturbanceOf(scheduler), found.speed.variation / unevenSpeed) }
}

/** Returns hogs that are busy for 50 to 250 ms and then pause for as long. @param {() => number} now */
function comingAndGoing(now) {
  const random = seededRandom(1989)
  const duration = () => 50 + 200 * random()
  return function* () {
    for (;;) {
      const ends = now() + duration()
      while (now() < ends) yield* count({ count: 0 })
      yield sleep(duration())
    }
  }
}

/**
 * Reproduces table IV and figure 8.
 *
 * @param {{ periods: number, clock: import('./workloads.mjs').Clock }} options
 */
export async function predictableLoops({ periods: length, clock }) {
  console.log(`### Predictable loop execution (Qduino, Table IV and figure 8)

The progress of a loop that counts, in each of ${length} periods of 100 ms, beside hogs without reservations.
Depleted, it waits; what it gets in the background depends on the hogs, and is no share of its own.
CV: coefficient of variation. The processor's speed, in increments per ms, varies by itself; where its CV is
above ${unevenSpeed} %, the run is repeated, twice at most.
`)
  const reserved = [50, 70, 90].flatMap(capacity => [2, 4].map(hogs => ({ policy: 'fp', capacity, hogs })))
  const setups = [
    ...reserved,
    ...reserved.filter(({ hogs }) => hogs === 4).map(setup => ({ ...setup, policy: 'edf' })),
    { policy: 'fp', hogs: 2 },
    { policy: 'fp', hogs: 4 },
    { policy: 'fp', hogs: 4, comeAndGo: true, capacity: 50 },
    { policy: 'fp', hogs: 4, comeAndGo: true, capacity: 50, depleted: 'background' },
    { policy: 'fp', hogs: 4, comeAndGo: true },
    { policy: 'fp', hogs: 4, capacity: 50, clock: 'wall' }
  ].map(setup => ({ clock, ...setup }))
  // Discard the first run, which is slowed down by compilation.
  await progressOf(setups[0], 5)
  const results = []
  for (const setup of setups) {
    results.push({ ...setup, ...await undisturbed(() => progressOf(setup, length), setup.clock) })
  }
  table(
    ['reservation', 'hogs', 'progress per period', 'min', 'max', 'CV, %', 'ms per period', 'CV, %',
      'CV of the speed, %'],
    results.map(({ progress, ms, speed, ...setup }) => [
      reservationOf(setup), `${setup.hogs}${setup.comeAndGo ? ', come and go' : ''}`,
      progress.mean, progress.min, progress.max, progress.variation, ms.mean, ms.variation, speed.variation
    ])
  )
  await picture('qduino-figure-8', lineChart({
    title: 'Table IV, increments of a loop in each period (published: about the same in each, but for loops of Linux)', across: 'periods',
    curves: results.filter(({ policy, clock: own, comeAndGo }) => policy === 'fp' && own === clock && !comeAndGo).map(({ counts, ...setup }) =>
      ({ name: `${reservationOf(setup)}; ${setup.hogs} hogs`, points: counts.map((count, i) => [i + 1, count]) }))
  }))
  const bounded = results.filter(({ capacity, hogs, comeAndGo, clock }) =>
    capacity !== undefined && hogs === 4 && comeAndGo === undefined && clock === 'process')
  if (bounded.length === 0) return
  target('CV of the progress, with reservations and 4 hogs, the highest',
    Math.max(...bounded.map(({ progress }) => progress.variation)), { most: 2, unit: ' %' })
  target('CV of the ms, with reservations and 4 hogs, the highest',
    Math.max(...bounded.map(({ ms }) => ms.variation)), { most: 2, unit: ' %' })
  console.log()
}

/** @param {Setup} setup */
function reservationOf({ policy, capacity, depleted = 'wait', clock }) {
  const name = capacity === undefined ? 'none, equal jobs' : `${policy}, ${capacity}/${period}`
  return `${name}${depleted === 'wait' ? '' : `, ${depleted}`}${clock === 'wall' ? ', wall clock' : ''}`
}

/** @param {Period[]} periods */
function summary(periods) {
  const of = values =>
    ({ mean: mean(values), min: Math.min(...values), max: Math.max(...values), variation: variation(values) })
  return {
    counts: periods.map(({ progress }) => progress),
    progress: of(periods.map(({ progress }) => progress)),
    ms: of(periods.map(({ used }) => used)),
    speed: of(periods.filter(({ used }) => used > 1).map(({ progress, used }) => progress / used))
  }
}
