import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { Workers } from '../addons/workers.mjs'
import { farm } from '../examples/farm/farm.mjs'
import { whole } from '../examples/farm/mandelbrot.mjs'
import { loadTaskSets, releasesOf, spread } from '../examples/task-sets/task-sets.mjs'
import { edf, rm, rt } from '../rt.mjs'
import { heading, median, table, target } from './support.mjs'

const works = new URL('support-works.mjs', import.meta.url)
const passes = 9

/** @param {() => Promise<unknown>} act */
async function msOf(act) {
  const began = performance.now()
  await act()
  return performance.now() - began
}

heading('jobs in workers', `wall time, median of ${passes} passes in turn`)

// Use one thread for both ways, in turn, so that Linux keeps the two threads on the same cores for both.
const { port1: bare, port2: port } = new MessageChannel()
const one = new Workers(() => new Worker(works, { workerData: { is: 'both', port }, transferList: [port] }), { size: 1 })
const ways = {
  'a bare message there and back': () => new Promise(resolve => {
    bare.once('message', resolve)
    bare.postMessage([1, 2])
  }),
  'a job by Workers.spawn': () => one.spawn('add', {}, 1, 2)
}
const times = new Map(Object.keys(ways).map(name => [name, []]))
// Warm up long enough: for its first thousands of jobs, each thread's compiler needs a core as well.
for (let pass = -12; pass < passes; pass++) {
  const sums = new Map(Object.keys(ways).map(name => [name, 0]))
  for (let i = 0; i < 300; i++) {
    for (const [name, way] of Object.entries(ways)) sums.set(name, sums.get(name) + await msOf(way))
  }
  if (pass >= 0) for (const [name, sum] of sums) times.get(name).push(sum * 1000 / 300)
}
const [messages, spawned] = [...times.values()]
table(['one at a time', 'us'], [...times].map(([name, all]) => [name, median(all)]))
target('a job, of a bare message there and back', median(spawned.map((us, pass) => us / messages[pass])), { most: 3 })
bare.close()

const inFlight = () => Promise.all(Array.from({ length: 10_000 }, (_, i) => one.spawn('add', {}, i, 1)))
const used = () => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
}
for (let i = 0; i < 3; i++) await inFlight()
const before = used()
const each = []
for (let i = 0; i < 5; i++) each.push(await msOf(inFlight) / 10)
console.log(`\n10 000 jobs at once: ${median(each).toFixed(1)} us each; five times, the heap has grown by ${(used() - before).toFixed(2)} MB\n`)

// --- a picture, with one worker and with two

const two = new Workers(works, { size: 2 })
const view = whole(3000, 2000) // the view of Communicating Generators, figure 10
const threads = (is, size) => Array.from({ length: size }, () => new Worker(works, { workerData: { is } }))
const bareWorkers = threads('bare', 2)

/** Draws with bare workers. Each worker has a current row and a next row. */
const byBare = workers => new Promise(resolve => {
  let next = 0
  let done = 0
  for (const worker of workers) {
    const feed = () => { if (next < view.height) worker.postMessage([view, next++]) }
    worker.removeAllListeners('message')
    worker.on('message', () => {
      feed()
      if (++done === view.height) resolve()
    })
    feed()
    feed()
  }
})
const byJobs = workers => rt.spawn(farm(workers, view, () => {}))
const pictures = {
  'one bare worker': () => byBare(bareWorkers.slice(1)),
  'two bare workers': () => byBare(bareWorkers),
  'Workers, size 1': () => byJobs(one),
  'Workers, size 2': () => byJobs(two)
}
const took = new Map(Object.keys(pictures).map(name => [name, []]))
for (let pass = -1; pass < 5; pass++) {
  for (const [name, draw] of Object.entries(pictures)) {
    const ms = await msOf(draw)
    if (pass >= 0) took.get(name).push(ms)
  }
}
const speedUp = (name, to) => median(took.get(to).map((ms, pass) => ms / took.get(name)[pass]))
table([`Mandelbrot set, ${view.width} x ${view.height}`, 'ms'], [...took].map(([name, all]) => [name, median(all)]))
console.log(`- two bare workers, of one: the ceiling: **${speedUp('two bare workers', 'one bare worker').toFixed(2)}**`)
target('Workers, two of one', speedUp('Workers, size 2', 'Workers, size 1'), { least: 1.8 })
await Promise.all([one.close(), two.close(), ...bareWorkers.map(worker => worker.terminate())])

// --- the task sets of RT.js, on real threads

/** Creates workers on a clock that stops while a thread is ready but another one has its core. */
const crew = (size, options) => new Workers(() => threads('undisturbed', 1)[0], { size, ...options })
const SHARE = 0.8
const pairs = spread(await loadTaskSets(), 8, { from: SHARE, to: 1 })
  .map(({ tasks }) => tasks.filter(([wcet]) => wcet > 0).map(([wcet, period]) => ({ wcet, period })))

/** Returns the tasks of two sets that fit, the largest first. */
function chosen(index, options) {
  const all = [...pairs[index], ...pairs[index + 1]].sort((a, b) => b.wcet / b.period - a.wcet / a.period)
  return all.reduce((fit, task) => {
    try {
      Workers.partition([...fit, task], { size: 2, ...options })
      return [...fit, task]
    } catch {
      return fit
    }
  }, [])
}

/** Runs the jobs of each task for some seconds. The next job is spawned when the previous one has ended. */
async function periods(workers, tasks, seconds) {
  const start = Math.ceil(rt.now()) + 50
  const outcome = { jobs: 0, misses: 0 }
  await Promise.all(tasks.map(async ({ wcet, period }) => {
    for (let at = 0; at < seconds * 1000; at += period) {
      const job = workers.spawn('spin', { wcet, period, deadline: period, release: start + at }, wcet)
      await job
      if (at < 500) continue // warm-up
      outcome.jobs++
      outcome.misses += Number(job.missed)
    }
  }))
  return outcome
}

/**
 * Limits of an undisturbed run, ms: the longest unexplained pause, and the total time of other processes on
 * both cores.
 */
const DISTURBING = 1
const BUSY = 100

/** Returns the time that other processes and the hypervisor have used on all cores, ms. Linux only. */
function takenByOthers() {
  const [user, nice, system, , , interrupts, softInterrupts, stolen] =
    readFileSync('/proc/stat', 'latin1').split('\n', 1)[0].split(/ +/).slice(1).map(ticks => Number(ticks) * 10)
  const own = process.cpuUsage()
  return user + nice + system + interrupts + softInterrupts + stolen - (own.user + own.system) / 1000
}

const rows = []
const undisturbed = []
for (const policy of [edf, rm]) {
  for (const index of [0, 2, 4, 6]) {
    const options = { policy, admit: SHARE }
    const tasks = chosen(index, options)
    const workers = crew(2, options)
    // Warm up. A thread needs 80 to 140 ms for its first job and 1 ms for the next one, so early jobs would
    // be late.
    await Promise.all([0, 1].map(() => workers.spawn('spin', { wcet: 5 }, 5)))
    const since = performance.timeOrigin + performance.now() + 550
    const before = takenByOthers()
    const { jobs, misses } = await periods(workers, tasks, 3)
    const others = takenByOthers() - before
    const pauses = await Promise.all([0, 1].map(() => workers.spawn('longest', { wcet: 5 }, since)))
    const [collected, taken] = ['collected', 'taken'].map(by => Math.max(...pauses.map(pause => pause[by])))
    await workers.close()
    const used = tasks.reduce((sum, { wcet, period }) => sum + wcet / period, 0) / 2
    rows.push([policy.name, tasks.length, used, jobs, misses, collected, taken, others])
    if (taken <= DISTURBING && others <= BUSY) undisturbed.push(misses)
  }
}
table(['policy', 'tasks', 'of each worker', 'jobs', 'misses', 'longest collection, ms', 'longest pause by neither it nor Linux', 'others had, ms'], rows)
target(`misses in the ${undisturbed.length} of ${rows.length} runs where nothing else took more than ${DISTURBING} ms in one go, ${BUSY} ms in all`,
  undisturbed.length ? undisturbed.reduce((sum, misses) => sum + misses, 0) : NaN, { most: 0 })

const crews = [crew(1), crew(2)]
const jobs = releasesOf({ tasks: [...pairs[0], ...pairs[1]].map(({ wcet, period }) => [wcet, period]) }, 3)
const flood = workers => Promise.all(jobs.map(({ wcet, deadline }) => workers.spawn('spin', { wcet, deadline }, wcet)))
const ratios = []
for (let pass = 0; pass < 3; pass++) {
  const [alone, together] = [await msOf(() => flood(crews[0])), await msOf(() => flood(crews[1]))]
  ratios.push(alone / together)
}
target(`${jobs.length} jobs of two task sets at once, by two workers of one`, median(ratios), { least: 1.8 })
await Promise.all(crews.map(workers => workers.close()))
