import { IoReservation, Reservation } from '../../addons/reservations.mjs'
import { sleep } from '../../alarms.mjs'
import { barChart, picture } from '../support-chart.mjs'
import { median, table, target } from '../support.mjs'
import { findPrime, laboratory } from './workloads.mjs'

const period = 500
const work = 600 // processor time of findPrime, ms
const writes = 200
const blocked = 1 // duration of each write, ms

function* digitalWrites() {
  for (let i = 0; i < writes; i++) yield sleep(blocked)
}

/**
 * The jobs of each case, with the paper's parameters. A single loop has 498/500. Of two loops, findPrime has
 * 495/500, and the other loop runs in an I/O reservation of 3/500 that works for this reservation.
 */
const cases = [
  ['one loop: digitalWrite', start => [start(498, digitalWrites)]],
  ['one loop: findPrime', (start, prime) => [start(498, prime)]],
  ['one loop: digitalWrite and findPrime', (start, prime) => [start(498, function* () {
    yield* digitalWrites()
    yield* prime()
  })]],
  ['two loops: digitalWrite, findPrime', (start, prime) => [start(495, prime), start(0, digitalWrites)]]
]

/** @returns {Promise<number>} ms until all jobs have finished */
async function durationOf(jobsOf, isReserved, clock) {
  const { scheduler, now } = laboratory('fp', clock)
  let main
  const reserve = capacity => {
    if (capacity === 0) return new IoReservation({ utilization: 3 / 500, scheduler }).for(main)
    return main = new Reservation({ capacity, period, depleted: 'wait', scheduler })
  }
  const start = (capacity, work) =>
    scheduler.spawn(work, { reservation: isReserved ? reserve(capacity) : undefined })
  const began = now()
  const jobs = jobsOf(start, () => findPrime(scheduler, work))
  await Promise.all(jobs)
  return Math.max(...jobs.map(job => job.finished)) - began
}

/**
 * Reproduces table III and figure 7.
 *
 * @param {{ runs: number, clock: import('./workloads.mjs').Clock }} options
 */
export async function multipleLoops({ runs, clock }) {
  console.log(`### One loop or two (Qduino, Table III and figure 7)

findPrime, ${work} ms of the processor, and ${writes} writes that block for ${blocked} ms each. Median of
${runs} runs.
`)
  const rows = []
  for (const [name, jobsOf] of cases) {
    const column = []
    for (const isReserved of [true, false]) {
      const durations = []
      for (let run = 0; run < runs; run++) durations.push(await durationOf(jobsOf, isReserved, clock))
      column.push(median(durations))
    }
    rows.push([name, ...column])
  }
  const columns = ['with reservations, ms', 'without, ms']
  table(['case', ...columns], rows)
  const [, , [, ...together], [, apart]] = rows
  // Published gains of two loops over one: 31 % with Qduino; 28 % with Linux, without reservations.
  const published = [1.31, 1.28]
  await picture('qduino-figure-7', barChart({
    title: 'Table III, one loop or two',
    groups: rows.map(([label, ...durations], row) => ({
      label, bars: durations.map((value, i) => ({ name: columns[i], value, beside: row === 3 ? together[i] / published[i] : undefined }))
    }))
  }))
  const gain = (together[0] / apart - 1) * 100
  target('what two loops gain over one, with reservations', gain, { least: 28, unit: ' %' })
  console.log()
}
