import { edf, fp, Scheduler, Task } from '../rt.mjs'
import {
  cpuTime, figure, find, heading, measure, median, peer, printRows, ratio, seededRandom, synchronousHost,
  table, target
} from './support.mjs'

const batch = 1000

// Without this setting, React's scheduler runs in development mode, which measures and warns.
process.env.NODE_ENV = 'production'
const react = await peer('scheduler/index.js')
const byReact = work => react.unstable_scheduleCallback(react.unstable_NormalPriority, work)

function nothing() {}

function* nothingToYield() {}

/** Returns a scheduler that runs synchronously, and its host. */
function onTheSpot(options = {}) {
  const host = synchronousHost()
  return { scheduler: new Scheduler({ ...options, host }), host }
}

const byDeadline = onTheSpot()
const byPriority = onTheSpot({ policy: fp })

function batchOf(name, { scheduler, host }, spawn) {
  return {
    name,
    operations: batch,
    run() {
      let job
      for (let i = 0; i < batch; i++) job = spawn(scheduler, i)
      host.drain()
      if (job.state !== 'done') throw new Error(`the last job is ${job.state}`)
    }
  }
}

/** Schedules a function `times` times. Resolves when it has run as often. */
const allRun = (schedule, times) => new Promise(resolve => {
  let left = times
  const work = () => {
    if (--left === 0) resolve()
  }
  for (let i = 0; i < times; i++) schedule(work)
})

const eventually = (name, schedule) =>
  ({ name, operations: batch, run: () => allRun(schedule, batch), async: true })

heading('what it costs to spawn, run and settle a job that does nothing', 'CPU time')

const onDefaultHost = new Scheduler()
const onHost = 'function, on the default host'
const byRt = work => onDefaultHost.spawn(work)
const deadline = { deadline: 100 }
const task = new Task(nothingToYield, { scheduler: byDeadline.scheduler })

console.log(`### batches of ${figure(batch)}\n`)
const rows = await measure([
  {
    name: 'bare generator',
    operations: batch,
    run() {
      for (let i = 0; i < batch; i++) nothingToYield().next()
    }
  },
  batchOf('function', byDeadline, scheduler => scheduler.spawn(nothing)),
  batchOf('generator function', byDeadline, scheduler => scheduler.spawn(nothingToYield)),
  batchOf('generator', byDeadline, scheduler => scheduler.spawn(nothingToYield())),
  batchOf('function, deadline', byDeadline, scheduler => scheduler.spawn(nothing, deadline)),
  batchOf('generator function, deadline', byDeadline, scheduler => scheduler.spawn(nothingToYield, deadline)),
  batchOf('generator function, fp, 7 priorities', byPriority,
    (scheduler, i) => scheduler.spawn(nothingToYield, { priority: i % 7 })),
  batchOf('task.release()', byDeadline, () => task.release()),
  batchOf('function, its result asked for by then()', byDeadline, scheduler => {
    const job = scheduler.spawn(nothing)
    job.then(nothing)
    return job
  }),
  eventually(onHost, byRt),
  eventually('setImmediate', work => setImmediate(work)),
  ...react === undefined ? [] : [eventually('React scheduler', byReact)]
])
printRows('job', 'us per job', rows, 1000)
for (const name of ['function', 'generator function', 'generator function, deadline']) {
  target(`spawn, run and settle: ${name}`, find(rows, name).median / 1000, { most: 0.3, unit: ' us' })
}
if (react !== undefined) {
  target(`batches of ${figure(batch)}, to React's scheduler`, ratio(rows, onHost, 'React scheduler'), { most: 0.8 })
}

// The hold model of priority queues: each job that leaves the queue is replaced by a job that is due a random
// time after it. The length and the order of the queue therefore keep their distribution.
const random = seededRandom(1)
const whiles = Float64Array.from({ length: 0x10000 }, () => random() * 1000)
let turn = 0
const randomWhile = () => whiles[turn++ & 0xFFFF]

const standings = [
  { name: 'equal', policy: edf, options: () => undefined },
  {
    name: 'random deadlines, edf',
    policy: edf,
    options: (scheduler, parent) => ({
      deadline: randomWhile() + (parent === null ? 1 : Math.max(1, parent.absoluteDeadline - scheduler.now()))
    })
  },
  {
    name: 'random priorities, fp',
    policy: fp,
    options: (scheduler, parent) => ({ priority: (parent === null ? 0 : parent.priority) - randomWhile() })
  }
]
const populations = [1, 100, 10_000, 100_000]
const held = 2000

/** Measures a queue in which `ready` jobs are always ready. Each job that runs spawns its successor. */
function successors({ name, policy, options }, ready) {
  let world
  let left
  const work = () => {
    const { scheduler } = world
    scheduler.spawn(work, options(scheduler, scheduler.current))
    if (--left === 0) scheduler.pause()
  }
  return {
    name: `${name}, ${figure(ready)} ready`,
    operations: held,
    setup() {
      world = onTheSpot({ policy })
      world.scheduler.pause()
      for (let i = 0; i < ready; i++) world.scheduler.spawn(work, options(world.scheduler, null))
    },
    run() {
      left = held
      world.scheduler.resume()
      world.host.drain()
      if (left !== 0) throw new Error(`${left} jobs did not run`)
    },
    teardown() {
      world = undefined
    }
  }
}

const rekeyings = {
  'equal': () => {},
  'random deadlines, edf': job => { job.deadline = job.absoluteDeadline + randomWhile() - job.release },
  'random priorities, fp': job => { job.priority -= randomWhile() }
}

/** Measures `ready` generators that switch at every yield. */
function rotation({ name, policy, options }, ready) {
  let world
  let left
  const rekey = rekeyings[name]
  function* work() {
    const { scheduler } = world
    for (;;) {
      rekey(scheduler.current)
      if (--left === 0) scheduler.pause()
      yield
    }
  }
  return {
    name: `${name}, ${figure(ready)} ready`,
    operations: held,
    setup() {
      world = onTheSpot({ policy, slice: Number.MIN_VALUE, budget: 1 })
      world.scheduler.pause()
      for (let i = 0; i < ready; i++) {
        world.scheduler.spawn(work, name === 'equal' ? undefined : options(world.scheduler, null))
      }
    },
    run() {
      left = held
      world.scheduler.resume()
      world.host.drain()
      if (left !== 0) throw new Error(`${left} switches did not take place`)
    },
    teardown() {
      world = undefined
    }
  }
}

/** The cost of memory access alone: generators in random order, without a queue. */
function bareGenerators(ready) {
  let generators
  function* work() {
    for (;;) yield
  }
  return {
    name: `bare generators, ${figure(ready)} in random order`,
    operations: held,
    setup() {
      generators = Array.from({ length: ready }, work)
    },
    run() {
      for (let i = 0; i < held; i++) generators[Math.floor(randomWhile() * ready / 1000)].next()
    },
    teardown() {
      generators = undefined
    }
  }
}

async function byPopulation(title, variants, claim) {
  console.log(`\n### ${title}\n`)
  const rows = await measure(variants, { passes: 4, time: 20, floor: `equal, ${figure(1)} ready` })
  printRows('ready queue', 'us', rows, 1000)
  for (const { name } of standings) {
    const named = ready => `${name}, ${figure(ready)} ready`
    target(`${claim}, ${name}: 100 000 to 100 ready`, ratio(rows, named(100_000), named(100)), { most: 4 })
  }
}

await byPopulation('a job ends and spawns its successor, while others are ready',
  standings.flatMap(standing => populations.map(ready => successors(standing, ready))), 'a job')

await byPopulation('generators hand over at every yield, picked anew each time',
  [
    ...standings.flatMap(standing => populations.map(ready => rotation(standing, ready))),
    ...populations.map(bareGenerators)
  ], 'picking')

console.log('\n### 100 000 at once\n')

const many = 100_000
const atOnce = standings.map(({ name, policy, options }) => {
  const spawned = []
  const run = []
  for (let turn = 0; turn < 5; turn++) {
    globalThis.gc?.()
    const { scheduler, host } = onTheSpot({ policy })
    const started = cpuTime()
    let job
    for (let i = 0; i < many; i++) job = scheduler.spawn(nothingToYield, options(scheduler, null))
    const waiting = cpuTime()
    host.drain()
    const ended = cpuTime()
    if (job.state !== 'done') throw new Error(`the last job is ${job.state}`)
    spawned.push((waiting - started) * 1000 / many)
    run.push((ended - waiting) * 1000 / many)
  }
  return [name, median(spawned), median(run), median(spawned.map((cost, turn) => cost + run[turn]))]
})
table(['standing', 'spawn, us per job', 'run and settle', 'together'], atOnce)

console.log("\n### 100 000 functions at once on the default host, beside React's scheduler\n")

const hosts = { 'rt.mjs': byRt, setImmediate, ...react === undefined ? {} : { 'React scheduler': byReact } }
const costs = Object.fromEntries(Object.keys(hosts).map(name => [name, []]))
for (let turn = -2; turn < 9; turn++) {
  for (const [name, schedule] of Object.entries(hosts)) {
    globalThis.gc?.()
    const started = cpuTime()
    await allRun(work => schedule(work), many)
    if (turn >= 0) costs[name].push((cpuTime() - started) * 1000 / many)
  }
}
table(['scheduler', 'us per job, median', 'least', 'largest'],
  Object.entries(costs).map(([name, all]) => [name, median(all), Math.min(...all), Math.max(...all)]))
if (react !== undefined) {
  const ratios = costs['rt.mjs'].map((cost, turn) => cost / costs['React scheduler'][turn])
  target('100 000 at once, to React\'s scheduler', median(ratios), { most: 1.6 })
}
