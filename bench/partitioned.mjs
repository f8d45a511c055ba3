// Measures how much first fit places on 1 to 256 cores, beside the proven bounds. The schedule of each core
// then runs on a virtual host.
import { Workers } from '../addons/workers.mjs'
import { loadTaskSets } from '../examples/task-sets/task-sets.mjs'
import { Scheduler, edf, rm } from '../rt.mjs'
import { seeded } from '../test/support/seeded.mjs'
import { execute, virtualHost } from '../test/support/virtual-host.mjs'
import { cpuTime, heading, table } from './support.mjs'

const MOST = 0.5
/** Simulated time of each core, ms. */
const HORIZON = 200

/** Proven bounds: the share of each core that is always placed if no task uses more than MOST of a core. */
const bounds = {
  // Lopez, Diaz, Garcia 2004, with b = floor(1 / MOST)
  edf: cores => (Math.floor(1 / MOST) * cores + 1) / (Math.floor(1 / MOST) + 1) / cores,
  // Oh, Baker 1998
  rm: () => Math.SQRT2 - 1
}

const recorded = (await loadTaskSets()).flatMap(({ tasks }) => tasks)
  .map(([wcet, period]) => ({ wcet, period })).filter(({ wcet, period }) => wcet > 0 && wcet <= MOST * period)
const random = seeded(1)
const drawn = Array.from({ length: 2000 }, () => {
  const period = random.integer(10, 100)
  return { wcet: Math.max(1, Math.round(random.real(0, MOST) * period)), period }
})

/**
 * Returns the longest prefix of tasks that fits. The error message names the first task that does not fit.
 *
 * @param {any[]} tasks @param {any} options
 */
function fill(tasks, options) {
  try {
    Workers.partition(tasks.map((task, index) => ({ ...task, name: String(index) })), options)
    return tasks
  } catch (error) {
    return tasks.slice(0, parseInt(error.message, 10))
  }
}

/** Simulates one core and returns the number of misses. @param {any[]} tasks @param {any} policy */
function simulate(tasks, policy) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy, budget: 1, slice: Infinity, round: Infinity })
  for (const task of tasks) {
    const { wcet, period } = task
    for (let release = 0; release < HORIZON; release += period) {
      scheduler.spawn(execute(host, wcet), { release, deadline: period, period })
    }
  }
  host.run()
  return scheduler.stats().misses
}

/**
 * Measures `spawn` with placement by load, us per job of the spawning thread. The workers never answer.
 *
 * @param {number} size
 */
function spawning(size) {
  const deaf = { postMessage() {}, addEventListener() {}, removeEventListener() {} }
  const workers = new Workers(() => ({ ...deaf }), { size })
  for (let i = 0; i < 4 * size; i++) workers.spawn('work', { wcet: 1 })
  const count = 200
  const began = cpuTime()
  for (let i = 0; i < count; i++) workers.spawn('work', { deadline: 10, wcet: 0.001 })
  return (cpuTime() - began) * 1000 / count
}

heading('partitioned scheduling: what first fit places on virtual cores', `no task above ${MOST} of a core, CPU time`)
const rows = []
for (const cores of [1, 4, 16, 64, 256]) {
  const spawn = spawning(cores)
  for (const policy of [edf, rm]) {
    const options = { size: cores, policy }
    for (const [name, all] of Object.entries({ recorded, random: drawn })) {
      const tasks = fill(all, options)
      const began = cpuTime()
      const places = Workers.partition(tasks, options)
      const cost = (cpuTime() - began) * 1000 / tasks.length
      const used = tasks.reduce((sum, { wcet, period }) => sum + wcet / period, 0) / cores
      const misses = Array.from({ length: cores }, (_, core) => simulate(tasks.filter((_, i) => places[i] === core), policy))
      rows.push([cores, policy.name, name, tasks.length, used, bounds[policy.name](cores), cost, spawn, misses.reduce((a, b) => a + b)])
    }
  }
}
table(['cores', 'policy', 'tasks', 'placed', 'of each core', 'proved', 'us to place a task', 'us to spawn a job by load', 'misses'], rows)
process.exit() // the workers that never answer keep the process alive
