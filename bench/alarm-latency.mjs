import { after, every } from '../alarms.mjs'
import { budget, defaultHost, Scheduler } from '../rt.mjs'
import { figure, heading, quantile, seededRandom, table, target, undisturbedClock } from './support.mjs'

const duration = 2200 // ms of each turn
const warmUp = 600
const chains = 40
const crowd = 100_000
const periods = [10, 30, 100, 300]
const wall = performance.now.bind(performance)

const random = seededRandom(2003)
/** Whole ms, which is all that setTimeout takes; as many of one magnitude as of the next. */
const delay = () => Math.round(1000 ** random())

let recording = false
/** @type {Map<string, number[]>} lateness by what was to come */
let samples = new Map()
let chainsGoOn = false

function record(name, lateness) {
  if (!recording) return
  if (!samples.has(name)) samples.set(name, [])
  samples.get(name).push(lateness)
}

/** Each alarm makes the next one, so that they are made at all times of a round. */
function afterChain(name, scheduler) {
  const ms = delay()
  const due = scheduler.now() + ms
  after(ms, () => {
    record(name, scheduler.now() - due)
    if (chainsGoOn) afterChain(name, scheduler)
  }, { scheduler })
}

function timeoutChain(name) {
  const ms = delay()
  const due = wall() + ms
  setTimeout(() => {
    record(name, wall() - due)
    if (chainsGoOn) timeoutChain(name)
  }, ms)
}

function everyPeriod(name, scheduler, period) {
  const alarm = every(period, time => record(name, scheduler.now() - time), { scheduler })
  return () => alarm.cancel()
}

/** Against the call before: what setInterval has lost until then is not held against it. */
function intervalPeriod(name, period) {
  let latest = wall()
  const interval = setInterval(() => {
    const time = wall()
    record(name, time - latest - period)
    latest = time
  }, period)
  return () => clearInterval(interval)
}

function* endless() {
  for (let i = 0; recording || chainsGoOn; i++) if (--budget.left <= 0) yield
}

function jobs(scheduler) {
  for (let i = 0; i < 4; i++) scheduler.spawn(endless)
}

function plainJobs() {
  if (!chainsGoOn) return
  const ends = wall() + 20 + 30 * random()
  while (wall() < ends);
  setImmediate(plainJobs)
}

async function turn(start) {
  chainsGoOn = true
  const ends = start()
  await new Promise(resolve => setTimeout(resolve, warmUp))
  recording = true
  await new Promise(resolve => setTimeout(resolve, duration))
  recording = chainsGoOn = false
  for (const end of ends) end()
  // The chains' last links.
  await new Promise(resolve => setTimeout(resolve, 1100))
}

function alarms(names, scheduler) {
  for (let i = 0; i < chains; i++) afterChain(names.after, scheduler)
  return periods.map(period => everyPeriod(names.every, scheduler, period))
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
const undisturbed = names('jobs at 100 %, undisturbed')
const plain = names('plain JavaScript at 100 %')

const scheduler = new Scheduler()
const undisturbedScheduler = new Scheduler({ host: { ...defaultHost(), now: undisturbedClock() } })

await turn(() => [...alarms(idle, scheduler), ...timers(idle)])
await turn(() => {
  jobs(scheduler)
  return [...alarms(busy, scheduler), ...timers(busy)]
})
await turn(() => {
  jobs(undisturbedScheduler)
  return alarms(undisturbed, undisturbedScheduler)
})
await turn(() => {
  setImmediate(plainJobs)
  return timers(plain)
})

const crowdLateness = await new Promise(resolve => {
  const lateness = []
  const scheduler = undisturbedScheduler
  chainsGoOn = true
  jobs(scheduler)
  for (let i = 0; i < crowd; i++) {
    const ms = 1 + 999 * random()
    const due = scheduler.now() + ms
    after(ms, () => {
      if (lateness.push(scheduler.now() - due) < crowd) return
      chainsGoOn = false
      resolve(lateness)
    }, { scheduler })
  }
})

heading('how late alarms of 1 ms to 1 s come',
  `wall time, ${chains} chains of alarms and periods of ${periods.join(', ')} ms for ${duration / 1000} s; ` +
  'jobs: 4 endless ones with counted points; plain JavaScript: jobs of 20 to 50 ms, one per setImmediate; undisturbed: time that other processes took left out')

const floors = { idle: samples.get(idle.after), busy: samples.get(busy.after) }
const early = values => values.filter(ms => ms < 0).length
const row = (name, floor) => {
  const values = samples.get(name)
  return [
    name, values.length, ...[0.5, 0.99, 1].map(fraction => quantile(values, fraction)), early(values),
    quantile(values, 0.5) / quantile(floor, 0.5), quantile(values, 0.99) / quantile(floor, 0.99)
  ]
}
table(
  ['what comes', 'times', 'lateness, ms: p50', 'p99', 'max', 'early', 'p50 to after', 'p99 to after'],
  [
    ...Object.values(idle).map(name => row(name, floors.idle)),
    ...Object.values(busy).map(name => row(name, floors.busy)),
    ...[undisturbed.after, undisturbed.every].map(name => row(name, floors.busy)),
    ...[plain.timeout, plain.interval].map(name => row(name, floors.busy)),
    [`${figure(crowd)} alarms within 1 s beside jobs, undisturbed`, crowd,
      ...[0.5, 0.99, 1].map(fraction => quantile(crowdLateness, fraction)), early(crowdLateness),
      ...[0.5, 0.99].map(fraction => quantile(crowdLateness, fraction) / quantile(floors.busy, fraction))]
  ]
)

const ours = [idle.after, idle.every, busy.after, busy.every, undisturbed.after, undisturbed.every]
target('alarms that came early', ours.reduce((sum, name) => sum + early(samples.get(name)), early(crowdLateness)),
  { most: 0 })
target('lateness of after, jobs at 100 %, p99', quantile(floors.busy, 0.99), { most: 1, unit: ' ms' })
target('the same, undisturbed',
  quantile(samples.get(undisturbed.after), 0.99), { most: 0.3, unit: ' ms' })
