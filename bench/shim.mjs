import { scheduler } from '../addons/scheduler.mjs'
import { rt, Scheduler } from '../rt.mjs'
import { cpuTime, heading, median, peer, quantile, table, target } from './support.mjs'

const duration = 200 // ms per run
const passes = 5

// The polyfill needs `self`, which Node does not have.
globalThis.self ??= globalThis
await peer('scheduler-polyfill/dist/scheduler-polyfill.js')
const polyfill = globalThis.scheduler

/** Counts of the current run: preemptions of async code, and yields of generator jobs. */
let count = 0
let beside = 0
let ends = 0

/** Reads the clock every 64 preemptions, because some variants let no timer fire that could end the run. */
const goesOn = () => (++count & 63) !== 0 || performance.now() < ends

async function loop(next) {
  while (goesOn()) await next()
}

/** Spawns an async job. @param {Scheduler} scheduler */
const asyncJob = scheduler => scheduler.spawn(async () => {
  const job = scheduler.current
  while (goesOn()) await job.yield()
})

function* generatorJob() {
  while ((++beside & 63) !== 0 || performance.now() < ends) yield
}

const rotating = new Scheduler({ slice: Number.MIN_VALUE, budget: 1 })
const rtYield = () => rt.yield()
const immediate = () => new Promise(resolve => setImmediate(resolve))

const oneJob = 'one async job, `await job.yield()`'
const immediates = 'setImmediate as a promise'
const twoJobs = 'two async jobs'
const twoRotatingJobs = 'two async jobs that rotate at every yield'
const twoFunctions = 'two async functions, `await rt.yield()`'
const variants = [
  ['`await null`', () => [loop(() => null)]],
  [immediates, () => [loop(immediate)]],
  [oneJob, () => [asyncJob(rt)]],
  [twoJobs, () => [asyncJob(rt), asyncJob(rt)]],
  [twoRotatingJobs, () => [asyncJob(rotating), asyncJob(rotating)]],
  ['two async jobs, one generator job', () => [asyncJob(rt), asyncJob(rt), rt.spawn(generatorJob)]],
  [twoFunctions, () => [loop(rtYield), loop(rtYield)]],
  ['`await rt.yield()`, one generator job', () => [loop(rtYield), rt.spawn(generatorJob)]],
  ...polyfill === undefined ? [] : [
    ['two async functions, scheduler-polyfill yield', () => {
      const polyfillYield = () => polyfill.yield()
      return [loop(polyfillYield), loop(polyfillYield)]
    }]
  ]
]

async function turn(start) {
  const fired = { timeouts: 0, intervals: 0 }
  let timeout
  const again = () => {
    fired.timeouts++
    timeout = setTimeout(again, 1)
  }
  count = beside = 0
  const cpuStarted = cpuTime()
  const started = performance.now()
  ends = started + duration
  timeout = setTimeout(again, 1)
  const interval = setInterval(() => { fired.intervals++ }, 10)
  await Promise.all(start())
  const elapsed = performance.now() - started
  clearTimeout(timeout)
  clearInterval(interval)
  return {
    rate: count / 1000 / elapsed,
    // CPU time excludes other processes.
    cpuRate: count / 1000 / (cpuTime() - cpuStarted),
    beside: beside / 1000 / elapsed,
    ...fired
  }
}

heading('how often async code can be preempted', `${passes} turns of ${duration} ms`)

const turns = new Map(variants.map(([name]) => [name, []]))
for (let pass = 0; pass <= passes; pass++) {
  for (const [name, start] of variants) {
    const outcome = await turn(start)
    // Discard the first pass as warm-up.
    if (pass > 0) turns.get(name).push(outcome)
  }
}

const summary = name => {
  const outcomes = turns.get(name)
  const of = property => outcomes.map(outcome => outcome[property])
  return [
    median(of('cpuRate')), quantile(of('cpuRate'), 0.01), median(of('rate')), median(of('beside')),
    median(of('timeouts')), median(of('intervals'))
  ]
}
table(
  ['what is awaited', 'million per CPU second, median', '1st percentile', 'per second of wall time',
    'generator yields, million', 'setTimeout 1 ms fired', 'setInterval 10 ms fired'],
  variants.map(([name]) => [name, ...summary(name)])
)
for (const name of [twoJobs, twoRotatingJobs, twoFunctions]) {
  target(name, summary(name)[0], { least: 2, unit: ' million/s' })
}
const perTurn = name => turns.get(name).map(({ cpuRate }, i) => cpuRate / turns.get(immediates)[i].cpuRate)
target(`${oneJob}, times setImmediate as a promise`, median(perTurn(oneJob)), { least: 2.4 })

const many = 100_000

/**
 * Measures ns of CPU time per task, all posted at once. `all`: whether to await every task or only the last
 * one.
 */
async function posting(scheduler, all) {
  const started = cpuTime()
  const tasks = []
  for (let i = 0; i < many; i++) tasks.push(scheduler.postTask(() => {}))
  await (all ? Promise.all(tasks) : tasks.at(-1))
  return (cpuTime() - started) * 1e6 / many
}

heading('`postTask`, 100 000 at once', `${passes} passes, after one to warm up`)
const posters = [['rt.mjs/scheduler', scheduler], ...polyfill === undefined ? [] : [['scheduler-polyfill', polyfill]]]
const costs = new Map(posters.map(([name]) => [name, [[], []]]))
for (let pass = 0; pass <= passes; pass++) {
  for (const [name, scheduler] of posters) {
    for (const all of [0, 1]) {
      const cost = await posting(scheduler, all)
      if (pass > 0) costs.get(name)[all].push(cost)
    }
  }
}
table(['scheduler', 'ns a task, the last is awaited', 'ns a task, all are awaited'],
  [...costs].map(([name, [last, all]]) => [name, median(last), median(all)]))
if (polyfill !== undefined) {
  const [ours, theirs] = [...costs.values()]
  for (const [all, what] of ['the last is awaited', 'all are awaited'].entries()) {
    const parts = ours[all].map((cost, pass) => cost / theirs[all][pass])
    target(`\`postTask\`, ${what}, to scheduler-polyfill`, median(parts), { most: 0.5 })
  }
}

// The polyfill's MessageChannel would keep the process alive.
process.exit()
