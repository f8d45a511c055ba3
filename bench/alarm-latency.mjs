import { after, every } from '../alarms.mjs'
import { budget, defaultHost, Scheduler } from '../rt.mjs'
import { figure, heading, quantile, seededRandom, table, target } from './support.mjs'
import { processorClock } from './support-clock.mjs'

const duration = 3000 // ms per condition
const warmUp = 600
const chains = 40
const periods = [10, 30, 100, 300]
const crowd = 100_000

const random = seededRandom(2003)
const { wall, running, takenSince } = processorClock()
const scheduler = new Scheduler({ host: { ...defaultHost(), now: wall } })

/**
 * Returns a random delay in whole ms, because setTimeout truncates fractions. All magnitudes are equally
 * likely.
 */
const delay = () => Math.round(1000 ** random())

let recording = false
let goesOn = false
/** @type {Map<string, { wall: number, ms: number }[]>} latenesses by kind of alarm and condition */
const samples = new Map()

function record(name, due) {
  if (!recording) return
  if (!samples.has(name)) samples.set(name, [])
  samples.get(name).push(latenessOf(due))
}

/** Returns the lateness in wall time, and without the time that other processes took since the due time. */
function latenessOf(due) {
  const late = wall() - due
  return { wall: late, ms: late - takenSince(due) }
}

/** Starts a chain of alarms: each alarm sets the next one, so that alarms are set at all times of a round. */
function afterChain(name) {
  const ms = delay()
  const due = wall() + ms
  after(ms, () => {
    record(name, due)
    if (goesOn) afterChain(name)
  }, { scheduler })
}

function timeoutChain(name) {
  const ms = delay()
  const due = wall() + ms
  setTimeout(() => {
    record(name, due)
    if (goesOn) timeoutChain(name)
  }, ms)
}

function everyPeriod(name, period) {
  const alarm = every(period, time => record(name, time), { scheduler })
  return () => alarm.cancel()
}

/**
 * Starts an interval. Each call is due one period after the previous call, so that earlier delays do not
 * count.
 */
function intervalPeriod(name, period) {
  let latest = wall()
  const interval = setInterval(() => {
    record(name, latest + period)
    latest = wall()
  }, period)
  return () => clearInterval(interval)
}

function jobs() {
  for (let i = 0; i < 4; i++) {
    scheduler.spawn(function* () {
      while (goesOn) if (--budget.left <= 0) yield
    })
  }
}

function plainJobs() {
  if (!goesOn) return
  const ends = running() + 20 + 30 * random()
  while (running() < ends);
  setImmediate(plainJobs)
}

/** The lower bound: a loop that only polls the clock, for as long as a round, between event-loop turns. */
function polling(name) {
  const due = Array.from({ length: chains }, () => wall() + delay())
  const poll = () => {
    const ends = wall() + 5
    for (let time = wall(); time < ends; time = wall()) {
      for (let n = 0; n < chains; n++) {
        if (due[n] > time) continue
        record(name, due[n])
        due[n] = wall() + delay()
      }
    }
    if (goesOn) setImmediate(poll)
  }
  setImmediate(poll)
  return []
}

const elapse = ms => new Promise(resolve => setTimeout(resolve, ms))

async function turn(start) {
  goesOn = true
  const ends = start()
  await elapse(warmUp)
  recording = true
  await elapse(duration)
  recording = goesOn = false
  for (const end of ends) end()
  // Wait for the last alarms of the chains.
  await elapse(1100)
}

function alarms(names) {
  for (let i = 0; i < chains; i++) afterChain(names.after)
  return periods.map(period => everyPeriod(names.every, period))
}

function timers(names) {
  for (let i = 0; i < chains; i++) timeoutChain(names.timeout)
  return periods.map(period => intervalPeriod(names.interval, period))
}

const names = condition => ({
  after: `${condition}: after`,
  every: `${condition}: every`,
  timeout: `${condition}: setTimeout`,
  interval: `${condition}: setInterval`
})
const idle = names('idle')
const busy = names('jobs at 100 %')
const plain = names('plain JavaScript at 100 %')
const polled = 'a bare loop that polls the clock'
const crowded = `jobs at 100 %: ${figure(crowd)} alarms within 1 s`

await turn(() => [...alarms(idle), ...timers(idle)])
await turn(() => {
  jobs()
  return [...alarms(busy), ...timers(busy)]
})
await turn(() => polling(polled))
await turn(() => {
  setImmediate(plainJobs)
  return timers(plain)
})

await new Promise(resolve => {
  let left = crowd
  recording = goesOn = true
  jobs()
  for (let i = 0; i < crowd; i++) {
    // No alarm is due before all are set.
    const ms = 1000 + 1000 * random()
    const due = wall() + ms
    after(ms, () => {
      record(crowded, due)
      if (--left === 0) resolve()
    }, { scheduler })
  }
})
recording = goesOn = false

heading('how late alarms of 1 ms to 1 s come',
  `what other processes took is left out, but for wall time; ${chains} chains of alarms and periods of ` +
  `${periods.join(', ')} ms, ${duration / 1000} s each; jobs: 4 endless ones with counted points; ` +
  'plain JavaScript: jobs of 20 to 50 ms')

const lateness = name => samples.get(name).map(({ ms }) => ms)
const inWallTime = name => samples.get(name).map(({ wall }) => wall)
const p50 = name => quantile(lateness(name), 0.5)
const p99 = name => quantile(lateness(name), 0.99)
const early = name => inWallTime(name).filter(ms => ms < 0).length
const rows = (names, floor) => names.filter(name => samples.has(name)).map(name => [
  name, samples.get(name).length, p50(name), p99(name), quantile(lateness(name), 1),
  quantile(inWallTime(name), 0.99), early(name), p50(name) / p50(floor), p99(name) / p99(floor)
])
table(
  ['what comes', 'times', 'lateness, ms: p50', 'p99', 'max', 'p99 in wall time', 'early', 'p50 to after',
    'p99 to after'],
  [
    ...rows(Object.values(idle), idle.after),
    ...rows([...Object.values(busy), polled, ...Object.values(plain), crowded], busy.after)
  ]
)

const ours = [idle.after, idle.every, busy.after, busy.every, crowded]
const count = ours.reduce((sum, name) => sum + samples.get(name).length, 0)
target(`early ones of ${figure(count)} alarms`, ours.reduce((sum, name) => sum + early(name), 0), { most: 0 })
target('lateness of after, jobs at 100 %, p99', p99(busy.after), { most: 0.3, unit: ' ms' })
target('the same, beyond that of a bare loop that polls the clock', p99(busy.after) - p99(polled), { most: 0.3, unit: ' ms' })
target('lateness of setTimeout beside plain JavaScript to that of after beside jobs, p99',
  p99(plain.timeout) / p99(busy.after), { least: 20 })
