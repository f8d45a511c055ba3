// Runs all parts together for minutes, and fails unless the heap after collection stays flat.
//   node --expose-gc test/soak.mjs [MINUTES]       default: 15
// Each round spawns and cancels jobs, and uses channels, choices, alarms, reservations, workers and sessions.
import { Scheduler, fp, rt } from '../rt.mjs'
import { after, every, on, periodic, sleep, timeout } from '../alarms.mjs'
import { Channel, Mutex, Semaphore, choice, par, race } from '../sync.mjs'
import { accept, connect } from '../addons/connect.mjs'
import { IoReservation, Reservation, interrupt, loop } from '../addons/reservations.mjs'
import { Workers } from '../addons/workers.mjs'

const { gc } = globalThis
if (gc === undefined) throw new Error('start it with --expose-gc')
const minutes = Number(process.argv[2] ?? 15)
if (!(minutes > 0)) throw new RangeError(`MINUTES must be a number > 0, got ${process.argv[2]}`)

/** Number of samples of the heap, evenly spread. */
const SAMPLES = 30
/** The first part of the samples warms up: code is compiled, and caches fill. */
const WARM_UP = 1 / 3
/** Maximum growth of the heap after the warm-up, MB: the engine compiles some code late. */
const ALLOWED = 1

const errors = []
process.on('unhandledRejection', error => errors.push(error))

const workers = new Workers(new URL('fixtures/workers/works.mjs', import.meta.url), { size: 1, restart: 3 })
const threads = []
const mortal = new Workers(() => {
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const thread = new Worker(new URL('fixtures/workers/thread.mjs', import.meta.url))
  threads.push(thread)
  return thread
}, { size: 1, restart: true })

/** The scenarios, each with its own name, so that a failure names one. */
const SCENARIOS = {
  async jobs() {
    const scheduler = new Scheduler({ policy: fp })
    const work = function* (n) { for (let i = 0; i < n; i++) yield }
    const jobs = Array.from({ length: 200 }, (_, i) => scheduler.spawn(work, { priority: i % 5 }, i))
    for (let i = 0; i < jobs.length; i += 3) jobs[i].cancel()
    await Promise.allSettled(jobs)
    await scheduler.idle()
  },
  async sleepers() {
    const controller = new AbortController()
    const jobs = Array.from({ length: 100 }, (_, i) =>
      rt.spawn(function* () { yield sleep(i < 50 ? 1e6 : 1, { signal: controller.signal }) }))
    controller.abort(new Error('enough'))
    await Promise.allSettled(jobs)
  },
  async channels() {
    const channel = new Channel(2)
    const producer = rt.spawn(function* () {
      for (let i = 0; i < 200; i++) yield choice([{ send: channel, value: i }, { timeout: 1e5 }])
      channel.close()
    })
    await rt.spawn(() => channel.forEach(() => {}))
    await producer
  },
  async locks() {
    const mutex = new Mutex(), semaphore = new Semaphore(2)
    const jobs = Array.from({ length: 50 }, (_, i) => rt.spawn(function* () {
      yield mutex.use(function* () { yield })
      yield semaphore.use(function* () { yield })
    }, { priority: i % 3 }))
    for (let i = 0; i < jobs.length; i += 7) jobs[i].cancel()
    await Promise.allSettled(jobs)
  },
  async groups() {
    await rt.spawn(function* () {
      yield par(function* () { yield }, function* () { yield })
      yield race(function* () { yield }, function* () { yield sleep(1e5) })
    })
  },
  async alarms() {
    const handles = [after(1e6, () => {}), every(1e5, () => {}), periodic(function* () { yield }, { period: 1e5 })]
    await new Promise(resolve => after(1, resolve))
    for (const handle of handles) handle.cancel()
    const target = new EventTarget()
    const heard = on(target, 'ping', function* () { yield })
    for (let i = 0; i < 20; i++) target.dispatchEvent(new Event('ping'))
    await timeout(1e5, rt.spawn(function* () { yield }))
    heard.cancel()
  },
  async reservations() {
    const scheduler = new Scheduler()
    const io = new IoReservation({ utilization: 0.1, scheduler })
    const target = new EventTarget()
    const handle = interrupt(target, 'ping', function* () { yield }, { capacity: 2, period: 10, io, bottomHalf: event => event.type, scheduler })
    for (let i = 0; i < 20; i++) {
      target.dispatchEvent(new Event('ping'))
      new Reservation({ capacity: 1, period: 10, scheduler }).cancel()
    }
    const turns = loop(function* () { yield sleep(1) }, { capacity: 1, period: 10, scheduler })
    await scheduler.spawn(function* () { yield })
    turns.cancel()
    await turns.job.catch(() => {})
    handle.cancel()
    io.cancel()
    await scheduler.idle()
  },
  async workers() {
    const jobs = Array.from({ length: 20 }, (_, i) => workers.run.add(i, 1))
    const { port1, port2 } = new MessageChannel()
    const progress = workers.run.progress(port2, 3)
    const line = connect(port1, 'progress')
    const heard = []
    for await (const step of line) heard.push(step)
    await progress
    port1.close()
    await Promise.all(jobs)
  },
  async killed() {
    const jobs = Array.from({ length: 5 }, (_, i) => mortal.run.add(i, 1))
    threads.splice(0).at(-1)?.terminate()
    await Promise.allSettled(jobs)
  },
  async sessions() {
    const { port1, port2 } = new MessageChannel()
    const answers = []
    accept(port2, session => {
      const echo = connect(session, 'echo')
      answers.push(rt.spawn(function* () { for (let i = 0; i < 5; i++) yield echo.send((yield echo.receive()) + 1) }))
    })
    const line = connect(() => port1, 'echo')
    for (let i = 0; i < 5; i++) {
      await line.send(i)
      await line.receive()
    }
    await Promise.all(answers)
    line.close()
    await sleep(1)
    port1.close()
    port2.close()
  }
}

/** @returns {Promise<number>} MB in use after collections */
async function heapInUse() {
  for (let i = 0; i < 4; i++) {
    await new Promise(resolve => setTimeout(resolve, 20))
    gc()
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

const start = performance.now()
/** @type {number[]} */
const heaps = []
let rounds = 0
console.log('| s | rounds | MB after collection |\n| ---: | ---: | ---: |')
for (let sample = 1; sample <= SAMPLES; sample++) {
  while (performance.now() - start < sample * minutes * 60_000 / SAMPLES) {
    for (const name of Object.keys(SCENARIOS)) {
      try {
        await SCENARIOS[name]()
      } catch (error) {
        throw new Error(`${name}, round ${rounds}`, { cause: error })
      }
    }
    rounds++
  }
  heaps.push(await heapInUse())
  console.log(`| ${Math.round((performance.now() - start) / 1000)} | ${rounds} | ${heaps.at(-1)?.toFixed(2)} |`)
}
await Promise.all([workers.close(), mortal.close()])
await rt.idle()

// The slope of a least-squares line through the samples after the warm-up: single samples differ by chance.
const first = Math.floor(SAMPLES * WARM_UP)
const kept = heaps.slice(first)
const middle = (kept.length - 1) / 2
const mean = kept.reduce((sum, heap) => sum + heap, 0) / kept.length
const slope = kept.reduce((sum, heap, i) => sum + (i - middle) * (heap - mean), 0) /
  kept.reduce((sum, _, i) => sum + (i - middle) ** 2, 0)
const growth = slope * (kept.length - 1)
const isFlat = growth <= ALLOWED
console.log(`\n${isFlat ? 'flat' : 'NOT FLAT'}: ${growth.toFixed(2)} MB of growth after the warm-up, ` +
  `${errors.length} unhandled rejections`)
for (const error of errors.slice(0, 5)) console.log(error)
process.exitCode = Number(!isFlat || errors.length > 0)
