import { PerformanceObserver } from 'node:perf_hooks'
import { setImmediate } from 'node:timers'
import { periodic } from '../alarms.mjs'
import { Region } from '../examples/region.mjs'
import { budget, edf, Scheduler, Task } from '../rt.mjs'
import { figure, heading, mean, quantile, statistics, statisticsColumns, table, target } from './support.mjs'

// RTJPerf's memory tests (Corsaro and Schmidt 2003, 4.3.1): allocation by size, and creating, entering and
// leaving a scope; then the effect of the garbage collector on deadlines. As in RTJPerf, a sample is one
// operation in wall time.
const clock = performance.now.bind(performance)
const samples = 1000
const lifetimes = 500
const warmUps = 3

heading('memory of a scope beside memory of the heap', `${samples} samples each`)

// Run this test first, so that it does not collect the garbage of the other tests.
console.log('### Deadlines and the garbage collector\n')
console.log('Every 5 ms a job filters 32 blocks of 8 kB into new arrays, beside a job that runs always; 10 s each.\n')
const ways = [['heap', false], ['region', true]]
const rows = []
for (const [name, scoped] of ways) {
  await new Promise(setImmediate)
  const { lateness, misses, collections } = await deadlines(scoped)
  const pauses = collections.map(({ duration }) => duration)
  rows.push([
    name, collections.length, pauses.reduce((sum, ms) => sum + ms, 0), Math.max(0, ...pauses),
    quantile(lateness, 0.5), quantile(lateness, 0.99), Math.max(...lateness), misses
  ])
}
table(['arrays from', 'collections', 'ms in all', 'longest, ms', 'response p50, ms', 'p99', 'maximum', 'misses'], rows)
if (rows[0][1] > 0) target('time in collections with a region, of that without', rows[1][2] / rows[0][2], { most: 0.5, unit: ' x' })

console.log('\n### Time to allocate an array of bytes, us\n')
const sizes = [32, 128, 512, 2048, 8192, 16_384]
const allocations = sizes.map(size => [size, inRegion(size), onHeap(size)])
table(
  ['bytes', ...['region', 'heap'].flatMap(kind => statisticsColumns.map(word => `${kind}: ${word}`))],
  allocations.map(([size, ...both]) => [String(size), ...both.flatMap(statistics)])
)
const largest = allocations.at(-1)
target('16 384 bytes in a region, beside the heap, mean', mean(largest[1]) / mean(largest[2]), { most: 1, unit: ' x' })

console.log('\n### Lifetime of a scope, us\n')
table(
  ['region, bytes', ...['create', 'enter', 'fill', 'leave'].flatMap(step => [`${step}: mean`, '99 %', 'maximum'])],
  [4096, 16_384, 65_536, 262_144, 1_048_576].map(size => [
    String(size), ...lifetime(size).flatMap(taken => [mean(taken), quantile(taken, 0.99), Math.max(...taken)])
  ])
)

console.log('### Lost to alignment, of what 10 000 random arrays of 1 to 256 bytes take\n')
table(['arrays of', 'lost'], [1, 2, 4, 8].map(width => [`${width}-byte elements`, `${figure(lost(width) * 100)} %`]))

/** Measures allocations in the steady state, in which the same scope is entered repeatedly, us. */
function inRegion(size) {
  const region = new Region(size * samples)
  return repeated(taken => scoped(region, () => {
    for (let i = 0; i < samples; i++) {
      const start = clock()
      region.array(Uint8Array, size)
      taken.push((clock() - start) * 1000)
    }
  }))
}

function onHeap(size) {
  return repeated(taken => {
    const kept = []
    for (let i = 0; i < samples; i++) {
      const start = clock()
      const array = new Uint8Array(size)
      taken.push((clock() - start) * 1000)
      kept.push(array)
    }
    return kept
  })
}

/** Returns the samples of the last of several runs. The first runs are slowed down by compilation. */
function repeated(run) {
  for (let i = 0; i < warmUps; i++) run([])
  const taken = []
  run(taken)
  return taken
}

function scoped(region, work) {
  region.enter(function* () { work() }).next()
}

function lifetime(size) {
  const steps = [[], [], [], []]
  for (let i = -warmUps; i < lifetimes; i++) {
    const times = [clock()]
    const region = new Region(size)
    times.push(clock())
    const scope = region.enter(function* () {
      times.push(clock())
      for (let left = size; left > 0; left -= 64) region.array(Uint8Array, 64)
      times.push(clock())
    })
    scope.next()
    times.push(clock())
    if (i >= 0) steps.forEach((taken, step) => taken.push((times[step + 1] - times[step]) * 1000))
  }
  return steps
}

function lost(width) {
  const type = { 1: Uint8Array, 2: Uint16Array, 4: Float32Array, 8: Float64Array }[width]
  const region = new Region(4_000_000)
  let asked = 0
  let taken = 0
  scoped(region, () => {
    for (let i = 0; i < 10_000; i++) asked += region.array(type, 1 + (i * 7919) % (256 / width)).byteLength
    taken = region.used
  })
  return 1 - asked / taken
}

async function deadlines(inScope) {
  globalThis.gc?.()
  const scheduler = new Scheduler({ policy: edf })
  const region = new Region(1 << 20)
  const block = inScope ? length => region.array(Float64Array, length) : length => new Float64Array(length)
  const lateness = []
  const filter = function* () {
    let last = block(1024)
    for (let i = 0; i < 32; i++) {
      const next = block(1024)
      for (let at = 1; at < next.length; at++) next[at] = last[at - 1] * 0.5 + at
      last = next
      yield
    }
    lateness.push(scheduler.now() - scheduler.current.release)
  }
  const task = new Task(inScope ? () => region.enter(filter) : filter, { name: 'filter', deadline: 5, scheduler })
  const collections = []
  const observer = new PerformanceObserver(list => collections.push(...list.getEntries()))
  observer.observe({ type: 'gc' })
  const load = scheduler.spawn(function* () {
    // Use counted points, because each plain `yield` would create an object and cause collections.
    for (;;) if (--budget.left <= 0) yield
  }, { name: 'load' })
  const { misses } = scheduler.stats()
  const timer = periodic(task, { period: 5, scheduler, count: 2000 })
  await new Promise(resolve => setTimeout(resolve, 10_100))
  timer.cancel()
  load.cancel()
  await load.catch(() => {})
  await scheduler.idle()
  await new Promise(setImmediate)
  observer.disconnect()
  return { lateness, misses: scheduler.stats().misses - misses, collections }
}
