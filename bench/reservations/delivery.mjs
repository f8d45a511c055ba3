import { IoReservation, admit, interrupt, worstCaseDelay } from '../../addons/reservations.mjs'
import { after, on } from '../../alarms.mjs'
import { spinning } from '../../examples/task-sets/experiment.mjs'
import { barChart, picture } from '../support-chart.mjs'
import { quantile, seededRandom, table, target } from '../support.mjs'
import { end, hogs, laboratory, longestUndisturbed, undisturbed } from './workloads.mjs'

const bottomHalf = 2.33 // ms
const longestPause = 2.3 // maximum time between two events, ms

/**
 * @typedef {{ capacity: number, period: number }} Share
 * @type {{ io: Share, handler: Share }[]}
 */
const cases = [
  { io: { capacity: 2, period: 10 }, handler: { capacity: 3, period: 10 } },
  { io: { capacity: 1, period: 10 }, handler: { capacity: 3, period: 10 } },
  { io: { capacity: 3, period: 10 }, handler: { capacity: 3, period: 10 } },
  { io: { capacity: 2, period: 10 }, handler: { capacity: 2, period: 10 } },
  { io: { capacity: 2, period: 10 }, handler: { capacity: 3, period: 20 } }
]

/**
 * Raises events at random times, and measures the delay from the listener to the handler of each event.
 * Alarms raise the events. They fire between any two budgets, like interrupts.
 * @param {object} setup
 * @param {'fp' | 'edf'} setup.policy
 * @param {{ io: Share, handler: Share }} [setup.reserved] the reservations; without them, one job per event
 *   does both halves
 * @param {boolean} [setup.isQueue] whether events are also raised while others are handled
 * @param {number} setup.hogs
 * @param {number} setup.events
 * @param {import('./workloads.mjs').Clock} setup.clock
 * @returns {Promise<{ fromListener: number[], fromIdle: number[], longestBudget: number,
 *   disturbance: number }>} ms; `fromIdle`: from the end of the previous event's handler, if that is later
 */
async function deliveriesOf({ policy, reserved, isQueue = false, hogs: number, events, clock }) {
  const { scheduler, now } = laboratory(policy, clock)
  const work = spinning(now)
  const random = seededRandom(1998)
  const pin = new EventTarget()
  const fromListener = []
  const fromIdle = []
  let idleSince = -Infinity
  let finish
  const finished = new Promise(resolve => { finish = resolve })

  const raiseSoon = () => after(longestPause * random(), () => {
    const change = new Event('change')
    change.raised = now()
    if (isQueue) raiseSoon()
    pin.dispatchEvent(change)
  }, { scheduler })
  const lower = () => work.preemptible(bottomHalf)
  const upper = function* ({ raised }) {
    const started = now()
    fromListener.push(started - raised)
    fromIdle.push(started - Math.max(raised, idleSince))
    yield* work.preemptible((reserved ?? cases[0]).handler.capacity * random())
    idleSince = now()
    if (fromListener.length === events) finish()
    else if (!isQueue) raiseSoon()
  }
  const both = function* (change) {
    yield* lower()
    yield* upper(change)
  }
  const attach = ({ io: share, handler }) => {
    const io = new IoReservation({ ...share, scheduler })
    const size = isQueue ? 1 : Infinity
    const options = { ...handler, depleted: 'wait', io, bottomHalf: lower, size, scheduler }
    const handling = interrupt(pin, 'change', upper, options)
    admit([io, handling.reservation], { scheduler })
    return handling
  }

  const others = hogs(scheduler, number)
  const handling = reserved === undefined ? on(pin, 'change', both, { scheduler }) : attach(reserved)
  raiseSoon()
  await finished
  handling.cancel()
  const { longestBudget } = scheduler.stats()
  // In queueing mode alarms keep raising events, so the scheduler is paused instead of waiting for its jobs.
  if (isQueue) scheduler.pause()
  else await end(scheduler, others)
  return { fromListener, fromIdle, longestBudget, disturbance: longestBudget / longestUndisturbed }
}

/**
 * Reproduces table V and figure 9.
 *
 * @param {{ events: number, clock: import('./workloads.mjs').Clock }} options
 */
export async function predictableEvents({ events, clock }) {
  console.log(`### Event delivery (Qduino, Table V and figure 9)

From an event's listener to its handler, ms, beside 4 hogs. Bottom half: ${bottomHalf} ms; handler: up to
all its capacity, at random. Depleted, handlers wait. Paced: ${events} events, each 0 to ${longestPause} ms after the
one before has been handled. Queueing: ${Math.ceil(events / 2)} events, each 0 to ${longestPause} ms after the one
before came; one waits, others are lost; from idle: since the one before had been handled.
`)
  // Discard the first deliveries, which are slowed down by compilation.
  await deliveriesOf({ policy: 'fp', reserved: cases[0], hogs: 4, events: 8, clock })
  const rows = []
  let excess = -Infinity
  for (const policy of /** @type {const} */ (['fp', 'edf'])) {
    for (const reserved of cases) {
      const predicted = worstCaseDelay({ ...reserved, bottomHalf })
      const setup = { policy, reserved, hogs: 4, clock }
      const paced = await undisturbed(() => deliveriesOf({ ...setup, events }), clock)
      const queued = await undisturbed(() =>
        deliveriesOf({ ...setup, isQueue: true, events: Math.ceil(events / 2) }), clock)
      const latest = Math.max(...paced.fromListener)
      const latestFromIdle = Math.max(...queued.fromIdle)
      excess = Math.max(excess, latest - predicted - paced.longestBudget,
        latestFromIdle - predicted - queued.longestBudget)
      rows.push([
        `${policy}, ${[reserved.io, reserved.handler].map(({ capacity, period }) => `${capacity}/${period}`).join(', ')}`, predicted,
        quantile(paced.fromListener, 0.5), quantile(paced.fromListener, 0.99), latest, paced.longestBudget,
        quantile(queued.fromListener, 0.99), Math.max(...queued.fromListener), latestFromIdle
      ])
    }
  }
  table(
    ['policy, I/O, handler', 'worst case predicted', 'paced: p50', 'p99', 'max', 'longest budget',
      'queueing: p99', 'max', 'max from idle'],
    rows
  )
  await picture('qduino-figure-9', barChart({
    title: 'Table V, longest from listener to handler, ms; published, the worst case by equation 3',
    groups: rows.map(([label, beside, , , paced]) => ({ label, bars: [{ name: 'paced events', value: paced, beside }] }))
  }))
  target('observed beyond the predicted worst case and one budget, the most', excess,
    { most: 0, unit: ' ms' })
  console.log(`
Paced, with the reservations of the first case, and without any, hogs and handlers being equals:
`)
  const byHogs = []
  for (const number of [4, 16, 64]) {
    const of = reserved => undisturbed(() =>
      deliveriesOf({ policy: 'fp', reserved, hogs: number, events: Math.ceil(events / 4), clock }), clock)
    const { fromListener: without } = await of(undefined)
    const { fromListener: within } = await of(cases[0])
    byHogs.push([
      String(number), quantile(within, 0.5), Math.max(...within), quantile(without, 0.5), Math.max(...without)
    ])
  }
  table(['hogs', 'with reservations, ms: p50', 'max', 'without: p50', 'max'], byHogs)
}
