import { nextPeriod, periodic } from '../alarms.mjs'
import { budget, defaultHost, Scheduler } from '../rt.mjs'
import { figure, heading, quantile, seededRandom, table, target } from './support.mjs'
import { processorClock } from './support-clock.mjs'

// RTJPerf, periodic thread test (Corsaro and Schmidt 2003, 4.3.2).
const periods = [1, 5, 10, 50, 100, 500] // ms
const duration = 2000 // ms of each turn
const warmUp = 500

const { wall, running: now, takenSince } = processorClock()
const host = { ...defaultHost(), now }
const random = seededRandom(2003)
const elapse = ms => new Promise(resolve => setTimeout(resolve, ms))

let busy = false
let scheduler = new Scheduler({ host })
let began = 0

function* endless() {
  while (busy) if (--budget.left <= 0) yield
}

function jobsBeside() {
  for (let i = 0; i < 4; i++) scheduler.spawn(endless)
}

const later = globalThis.setImmediate ?? setTimeout

function plainJobsBeside() {
  if (!busy) return
  const ends = now() + 20 + 30 * random()
  while (now() < ends);
  later(plainJobsBeside)
}

function outcomeOf(period, came, { release, start }, elapsed = now() - began) {
  return { came: came / Math.floor(1 + elapsed / period), release, start }
}

function jobs(period) {
  const task = periodic(function* () {}, { period, deadline: period, scheduler })
  return () => {
    task.cancel()
    return outcomeOf(period, task.jobs, task.jitter())
  }
}

function loop(period) {
  let came = 0
  const task = periodic(function* () {
    for (;;) {
      came++
      yield nextPeriod()
    }
  }, { period, deadline: period, scheduler })
  return () => {
    task.cancel()
    return outcomeOf(period, came, task.jitter())
  }
}

/**
 * How much longer than the period the actual one was, as RTJPerf measures: what was lost before, or comes
 * early, is not held against it.
 */
function interval(period) {
  const deviations = []
  const begunAt = wall()
  let latest = begunAt
  const timer = setInterval(() => {
    const due = latest + period
    latest = wall()
    deviations.push(Math.max(0, latest - due - takenSince(due)))
  }, period)
  return () => {
    clearInterval(timer)
    const start = {
      mean: deviations.reduce((sum, value) => sum + value, 0) / deviations.length,
      p99: quantile(deviations, 0.99),
      max: quantile(deviations, 1)
    }
    return outcomeOf(period, deviations.length + 1, { start }, wall() - begunAt)
  }
}

const variants = [
  ['periodic, a job per period', jobs, jobsBeside],
  ['periodic, a loop with nextPeriod()', loop, jobsBeside],
  ['setInterval', interval, plainJobsBeside]
]

async function turn(begin, ms) {
  began = now()
  const ends = periods.map(begin)
  await elapse(ms)
  return ends.map(end => end())
}

async function compare(isBusy) {
  const outcomes = []
  for (const [, begin, load] of variants) {
    busy = isBusy
    scheduler = new Scheduler({ host })
    if (busy) load()
    await turn(begin, warmUp)
    outcomes.push(await turn(begin, duration))
    busy = false
    await elapse(60)
  }
  return outcomes
}

function print(outcomes) {
  const cell = value => value === undefined ? '' : figure(value)
  table(
    ['period, ms', 'released by', 'came / due', 'release jitter, ms: mean', 'p99', 'max',
      'start jitter, ms: mean', 'p99', 'max', 'p99 to setInterval'],
    periods.flatMap((period, i) => variants.map(([name], variant) => {
      const { came, release, start } = outcomes[variant][i]
      const plain = outcomes[variants.length - 1][i]
      return [
        String(period), name, came, ...['mean', 'p99', 'max'].map(key => cell(release?.[key])),
        start.mean, start.p99, start.max, start.p99 / plain.start.p99
      ]
    }))
  )
}

const idleOutcomes = await compare(false)
const busyOutcomes = await compare(true)

heading('how punctual periodic work is',
  `what other processes took is left out; all periods at once for ${duration / 1000} s, the last 1000 of ` +
  'each; setInterval: how much longer than the period the actual one was')
console.log('Nothing else to do:\n')
print(idleOutcomes)
console.log('Beside 100 % of work (four endless jobs; beside setInterval, plain jobs of 20 to 50 ms):\n')
print(busyOutcomes)

// Of the other periods there are too few for a 99th percentile that is not the maximum.
const shortest = variant => busyOutcomes[variant][0].start.p99
const came = Math.min(...busyOutcomes[0].map(({ came }) => came))
target('start jitter at 100 %, period 1 ms, jobs, p99', shortest(0), { most: 1, unit: ' ms' })
target('the same, loops', shortest(1), { most: 1, unit: ' ms' })
target('jobs that came to those due, at 100 %', came, { least: 0.95 })
