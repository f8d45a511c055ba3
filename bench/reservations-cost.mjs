import { IoReservation, Reservation, interrupt } from '../addons/reservations.mjs'
import { budget, edf, fp, Scheduler } from '../rt.mjs'
import {
  cpuTime, figure, heading, measure, median, printRows, ratio, synchronousHost, table, target
} from './support.mjs'

const yields = 20_000
const points = 3_000_000
// More capacity than a run needs, and only half of the processor, because the I/O reservation needs its share
// as well.
const plenty = { capacity: 5e8, period: 1e9, depleted: 'wait' }

function* yielding(count) {
  for (let i = 0; i < count; i++) yield
}

function* counting(count) {
  for (let i = 0; i < count; i++) if (--budget.left <= 0) yield
}

// Polling servers are not listed: they consume their capacity like deferrable ones.
const kinds = [
  ['none, fp', fp, () => undefined],
  ['none, edf', edf, () => undefined],
  ['sporadic', fp, scheduler => new Reservation({ ...plenty, scheduler })],
  ['deferrable', fp, scheduler => new Reservation({ ...plenty, kind: 'deferrable', scheduler })],
  ['I/O, for a sporadic one', fp, scheduler =>
    new IoReservation({ utilization: 0.4, scheduler }).for(new Reservation({ ...plenty, scheduler }))],
  ['constant-bandwidth', edf, scheduler => new Reservation({ ...plenty, scheduler })]
]

/**
 * Returns variants with equal jobs in one reservation. Each run makes a new reservation, which is never
 * depleted.
 * @param {number} operations
 * @param {(count: number) => Generator} work
 * @param {number} jobs
 * @param {object} options options of the scheduler
 */
const variants = (operations, work, jobs, options) => kinds.map(([name, policy, reserve]) => ({
  name,
  operations,
  run() {
    const host = synchronousHost()
    const scheduler = new Scheduler({ policy, host, round: Infinity, ...options })
    const reservation = reserve(scheduler)
    const all = Array.from({ length: jobs }, () => scheduler.spawn(work, { reservation }, operations / jobs))
    host.drain()
    if (all.some(job => job.state !== 'done')) throw new Error(`${name}: a job has not ended`)
  }
}))

heading('what reservations cost', 'CPU time')

console.log(`### A budget: one job; ${figure(yields)} yields, the clock read at each\n`)
const budgets = await measure(variants(yields, yielding, 1, { slice: Infinity, budget: 1 }), { passes: 7 })
printRows('reservation', 'ns per budget', budgets)

console.log(`### A point: one job; ${figure(points)} counted points, budget auto\n`)
const counted = await measure(variants(points, counting, 1, {}), { passes: 5, time: 100 })
printRows('reservation', 'ns per point', counted)

console.log(`### A switch: two equal jobs, in the same reservation, that hand over at every yield\n`)
const handingOver = { slice: Number.MIN_VALUE, budget: 1 }
const switches = await measure(variants(yields, yielding, 2, handingOver), { passes: 7 })
printRows('reservation', 'ns per switch', switches)

console.log('### A depletion and a replenishment: 4 budgets of 16; a job without reservation has the rest\n')

/** Returns a clock whose every reading takes 1 ms, so that a capacity of n ms lasts for n budgets. */
function ticking() {
  let ticks = 0
  return () => ++ticks
}

const depletions = kinds.filter(([name]) => !name.startsWith('I/O')).map(([name, policy, reserve]) => {
  const host = synchronousHost(ticking())
  const scheduler = new Scheduler({ policy, host, round: Infinity, slice: Infinity, budget: 1 })
  const reservation = reserve(scheduler)?.resize({ capacity: 4, period: 16 })
  return {
    name,
    operations: yields / 16,
    run() {
      scheduler.spawn(yielding, { reservation }, yields / 4)
      scheduler.spawn(yielding, {}, yields * 3 / 4)
      host.drain()
    }
  }
})
printRows('reservation', 'ns per 16 budgets', await measure(depletions, { passes: 7 }))

console.log('### The same with many jobs of the reservation ready, which take turns\n')

/** @param {any} policy @param {'wait' | 'background'} depleted @param {number} jobs @returns {number} us */
function depletion(policy, depleted, jobs) {
  const host = synchronousHost(ticking())
  const scheduler = new Scheduler({ host, policy, slice: 1, round: Infinity, budget: 1 })
  const reservation = new Reservation({ capacity: 4, period: 16, depleted, scheduler })
  for (let i = 0; i < jobs; i++) scheduler.spawn(yielding, { reservation }, Infinity)
  scheduler.spawn(function* () {
    yield* yielding(yields)
    scheduler.pause()
  })
  const began = cpuTime()
  host.drain()
  return (cpuTime() - began) * 1000 / reservation.depletions
}
const many = [10, 100, 1000, 10_000, 30_000]
const crowds = [['fp', fp, 'wait'], ['fp', fp, 'background'], ['edf', edf, 'wait']].map(([name, policy, depleted]) => {
  return [`${name}, ${depleted}`, ...many.map(jobs => median([1, 2, 3, 4, 5].map(() => depletion(policy, depleted, jobs))))]
})
table(['us per 16 budgets', ...many.map(jobs => `${figure(jobs)} jobs`)], crowds)

console.log('### Creation\n')

/**
 * @param {(scheduler: Scheduler) => object} make
 * @param {number} count
 * @returns {number} us per reservation, if `count` reservations are made on one scheduler
 */
function creation(make, count) {
  const times = []
  for (let pass = 0; pass < 20; pass++) {
    const scheduler = new Scheduler({ policy: fp, host: synchronousHost() })
    const began = cpuTime()
    for (let i = 0; i < count; i++) make(scheduler)
    times.push((cpuTime() - began) * 1000 / count)
  }
  return median(times)
}

const makers = [
  ['Reservation', scheduler => new Reservation({ capacity: 1e-4, period: 1, scheduler })],
  ['IoReservation', scheduler => new IoReservation({ utilization: 1e-4, scheduler })]
]
const counts = [10, 100, 1000]
table(['us each', ...counts.map(count => `${figure(count)} of a scheduler`)],
  makers.map(([name, make]) => [name, ...counts.map(count => creation(make, count))]))

console.log('### A storm: events that are raised all at once, then handled, by a handler that counts\n')

/**
 * @param {number} count
 * @param {(scheduler: Scheduler) => object} options
 * @returns {number[]} us per event: to raise it, to handle it
 */
function storm(count, options) {
  const host = { ...synchronousHost(), eventTime: performance.now.bind(performance) }
  const scheduler = new Scheduler({ policy: fp, host, round: Infinity })
  const source = new EventTarget()
  const event = new Event('change')
  let handled = 0
  interrupt(source, 'change', () => { handled++ }, { scheduler, ...options(scheduler) })
  const began = cpuTime()
  for (let i = 0; i < count; i++) source.dispatchEvent(event)
  const raised = cpuTime()
  host.drain()
  const ended = cpuTime()
  if (handled !== count) throw new Error(`only ${handled} of ${count} events handled`)
  return [(raised - began) * 1000 / count, (ended - raised) * 1000 / count]
}

const own = { capacity: 5e8, period: 1e9 }
const handlings = [
  ['none: a job per event', () => ({})],
  ['capacity and period', () => own],
  ['capacity, period and io', scheduler =>
    ({ ...own, io: new IoReservation({ utilization: 0.4, scheduler }) })]
]
const sizes = [1000, 100_000]
const rows = handlings.map(([name, options]) => [name, ...sizes.flatMap(size => {
  const passes = Array.from({ length: size > 1000 ? 3 : 20 }, () => storm(size, options))
  return [0, 1].map(which => median(passes.map(pass => pass[which])))
})])
table(['reservation', ...sizes.flatMap(size => [`${figure(size)} events: raised, us each`, 'handled'])], rows)

const floors = { sporadic: 'none, fp', 'constant-bandwidth': 'none, edf' }
const tables = [['a budget', budgets, 1.75], ['a counted point', counted, 1.05], ['a switch', switches, 1.75]]
for (const [what, rows, most] of tables) {
  for (const [name, none] of Object.entries(floors)) {
    target(`${what} in a ${name} reservation to one in none`, ratio(rows, name, none), { most })
  }
}
for (const [name, , few, , , most] of crowds) target(`a depletion among 30 000 jobs to one among 100, ${name}`, most / few, { most: 4 })
for (const [name, , few, , many] of rows) {
  target(`an event among 100 000 to one among 1000, ${name}`, many / few, { most: 2 })
}
