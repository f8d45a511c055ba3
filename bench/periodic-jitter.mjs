import { setImmediate } from 'node:timers'
import { nextPeriod, periodic } from '../alarms.mjs'
import { budget, defaultHost, Scheduler } from '../rt.mjs'
import { heading, optionsOf, quantile, seededRandom, statistics, statisticsColumns, table, target } from './support.mjs'
import { processorClock } from './support-clock.mjs'

// RTJPerf, periodic thread test (Corsaro and Schmidt 2003, 4.3.2, figure 11). For 1000 samples each, as in
// the paper: --seconds 500
const values = optionsOf({ seconds: '2' })
const periods = [1, 5, 10, 50, 100, 500] // ms
const duration = Number(values.seconds) * 1000 // ms per variant
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

function plainJobsBeside() {
  if (!busy) return
  const ends = now() + 20 + 30 * random()
  while (now() < ends);
  setImmediate(plainJobsBeside)
}

function outcomeOf(period, times, late, elapsed = now() - began) {
  return {
    came: times.length / Math.floor(1 + elapsed / period), late, intervals: times.slice(1).map((time, i) => time - times[i])
  }
}

function jobs(period) {
  const times = []
  const task = periodic(function* () { times.push(now()) }, { period, deadline: period, scheduler })
  return () => {
    task.cancel()
    return outcomeOf(period, times, task.jitter().start.p99)
  }
}

function loop(period) {
  const times = []
  const task = periodic(function* () {
    for (;;) {
      times.push(now())
      yield nextPeriod()
    }
  }, { period, deadline: period, scheduler })
  return () => {
    task.cancel()
    return outcomeOf(period, times, task.jitter().start.p99)
  }
}

/**
 * Measures how far the actual period exceeds the nominal period, as RTJPerf does. Earlier delays, and calls
 * that come early, do not count.
 */
function interval(period) {
  const deviations = []
  const begunAt = wall()
  const times = [begunAt]
  let latest = begunAt
  const timer = setInterval(() => {
    const due = latest + period
    latest = wall()
    times.push(latest)
    deviations.push(Math.max(0, latest - due - takenSince(due)))
  }, period)
  return () => {
    clearInterval(timer)
    return outcomeOf(period, times, quantile(deviations, 0.99), wall() - begunAt)
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
  table(
    ['period, ms', 'released by', 'came / due', 'start jitter p99, ms', 'to setInterval', 'actual period, ms: mean', ...statisticsColumns.slice(1)],
    periods.flatMap((period, i) => variants.map(([name], variant) => {
      const { came, late, intervals } = outcomes[variant][i]
      return [String(period), name, came, late, late / outcomes[variants.length - 1][i].late, ...statistics(intervals)]
    }))
  )
}

const idleOutcomes = await compare(false)
const busyOutcomes = await compare(true)

heading('how punctual periodic work is',
  `what other processes took is left out; all periods at once for ${duration / 1000} s; jitter of the last 1000 of ` +
  'each; of setInterval, how much longer than the period the actual one was')
console.log('Nothing else to do:\n')
print(idleOutcomes)
console.log('Beside 100 % of work (four endless jobs; beside setInterval, plain jobs of 20 to 50 ms):\n')
print(busyOutcomes)

// The longer periods have too few samples for a 99th percentile below the maximum.
const shortest = variant => busyOutcomes[variant][0].late
const came = Math.min(...busyOutcomes[0].map(({ came }) => came))
target('start jitter at 100 %, period 1 ms, jobs, p99', shortest(0), { most: 1, unit: ' ms' })
target('the same, loops', shortest(1), { most: 1, unit: ' ms' })
target('jobs that came to those due, at 100 %', came, { least: 0.95 })
