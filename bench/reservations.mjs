import { oneOf, wholeNumber } from '../examples/task-sets/command.mjs'
import { predictableEvents } from './reservations/delivery.mjs'
import { isolatedLoops } from './reservations/isolation.mjs'
import { predictableLoops } from './reservations/predictability.mjs'
import { eventStorms } from './reservations/storm.mjs'
import { multipleLoops } from './reservations/threads.mjs'
import { repeated } from './reservations/workloads.mjs'
import { heading, optionsOf } from './support.mjs'

// Qduino's experiments. For a longer run: node bench/reservations.mjs --periods 100 --runs 10 --events 400
const experiments = {
  predictability: predictableLoops,
  isolation: isolatedLoops,
  delivery: predictableEvents,
  storm: eventStorms,
  threads: multipleLoops
}
const names = Object.keys(experiments).join(',')

const help = `Qduino's experiments, with and without reservations
  --only ${names}
  --periods 16     in which the progress of a loop is measured
  --runs 2         of the loop of least capacity, beside the others; and of one loop or two
  --events 32      that are delivered
  --clock process  wall time less what the system gave to other processes, idle waits skipped; or wall
  --svg directory  writes tables III to VII as figures 7 to 11, beside what is published`

await experiment(optionsOf({ only: names, periods: '16', runs: '2', events: '32', clock: 'process' }, help))

async function experiment({ only, ...values }) {
  const options = {
    periods: wholeNumber('periods', values.periods, 2),
    runs: wholeNumber('runs', values.runs, 2),
    events: wholeNumber('events', values.events, 2),
    clock: oneOf('clock', values.clock, ['process', 'wall'])
  }
  const chosen = only.split(',').map(name => oneOf('only', name, Object.keys(experiments)))
  const time = options.clock === 'wall' ? 'wall time'
    : 'wall time less what the system gave to other processes, idle waits skipped'
  heading("Qduino's experiments, with and without reservations",
    `${time}; budget auto, slice 1 ms, round 5 ms`)
  for (const name of chosen) await experiments[name](options)
  if (repeated > 0) console.log(`The machine disturbed ${repeated} runs, which were repeated.`)
}
