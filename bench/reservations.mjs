import { parseArgs } from 'node:util'
import { predictableEvents } from './reservations/delivery.mjs'
import { isolatedLoops } from './reservations/isolation.mjs'
import { predictableLoops } from './reservations/predictability.mjs'
import { eventStorms } from './reservations/storm.mjs'
import { multipleLoops } from './reservations/threads.mjs'
import { repeated } from './reservations/workloads.mjs'
import { heading } from './support.mjs'

// Qduino's experiments. Longer: node bench/reservations.mjs --periods 100 --runs 10 --events 400
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
  --clock process  wall time less what the system gave to other processes, idle waits skipped; or wall`

const text = value => ({ type: /** @type {const} */ ('string'), default: value })

await experiment(parseArgs({
  options: {
    only: text(names), periods: text('16'), runs: text('2'), events: text('32'), clock: text('process'),
    help: { type: 'boolean', short: 'h', default: false }
  }
}).values)

async function experiment({ only, help: asksForHelp, ...values }) {
  if (asksForHelp) return console.log(help)
  const options = {
    periods: wholeNumber('periods', values.periods),
    runs: wholeNumber('runs', values.runs),
    events: wholeNumber('events', values.events),
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

function wholeNumber(name, value) {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 2) return number
  throw new RangeError(`--${name} must be a whole number >= 2, got '${value}'`)
}

function oneOf(name, value, values) {
  if (values.includes(value)) return value
  throw new TypeError(`--${name} must be ${values.join(' or ')}, got '${value}'`)
}
