import { getEventListeners, setMaxListeners } from 'node:events'
import { IoReservation, Reservation } from '../addons/reservations.mjs'
import { after } from '../alarms.mjs'
import { Scheduler, Task } from '../rt.mjs'
import { Channel, Mutex } from '../sync.mjs'
import { barChart, picture } from './support-chart.mjs'
import { figure, heading, optionsOf, table, target } from './support.mjs'

if (globalThis.gc === undefined) {
  console.error('heap needs the collector: node --expose-gc bench/heap.mjs, or npm run bench -- heap')
  process.exit(2)
}

// With --kept, skip the growth of the heap, whose measurement takes minutes.
const { kept: isShort } = optionsOf({ kept: false })

const scheduler = new Scheduler()
const controller = new AbortController()
setMaxListeners(0, controller.signal)
const neverSettles = new Promise(() => {})
const ignore = () => {}
const anHour = 3_600_000

function nothing() {}

function* nothingToYield() {}

function* yields(times) {
  for (let i = 0; i < times; i++) yield
}

function* waitsForPromises(times) {
  for (let i = 0; i < times; i++) yield Promise.resolve(i)
}

function* waitsFor(waitable) {
  yield waitable
}

async function asyncYields(times) {
  const job = scheduler.current
  for (let i = 0; i < times; i++) await job.yield()
}

function fails() {
  throw new Error('on purpose')
}

/** Spawns in batches, as a page would, so that the queue stays short although there are many jobs. */
async function inBatches(times, spawn) {
  for (let i = 0; i < times; i += 1000) {
    for (let k = 0; k < 1000; k++) spawn(i + k)
    await scheduler.idle()
  }
}

const cases = [
  ['yields of one job', 10_000_000, times => scheduler.spawn(yields, undefined, times)],
  ['yields of 100 jobs', 10_000_000, async times => {
    for (let i = 0; i < 100; i++) scheduler.spawn(yields, undefined, times / 100)
    await scheduler.idle()
  }],
  ['jobs, functions', 1_000_000, times => inBatches(times, () => scheduler.spawn(nothing))],
  ['jobs, generator functions', 1_000_000, times => inBatches(times, () => scheduler.spawn(nothingToYield))],
  ['jobs, deadline in an hour', 1_000_000, times =>
    inBatches(times, () => scheduler.spawn(nothingToYield, { deadline: anHour }))],
  ['jobs, results awaited', 200_000, times => inBatches(times, () => scheduler.spawn(nothing).then(ignore))],
  ['jobs that fail, handled', 100_000, times => inBatches(times, () => scheduler.spawn(fails).catch(ignore))],
  ['waits on promises', 1_000_000, times => scheduler.spawn(waitsForPromises, undefined, times)],
  ['jobs that wait for a job', 200_000, times =>
    inBatches(times, () => scheduler.spawn(waitsFor, undefined, scheduler.spawn(nothing)))],
  ['yields of an async job', 1_000_000, times => scheduler.spawn(asyncYields, undefined, times)],
  ['await scheduler.yield()', 1_000_000, async times => {
    for (let i = 0; i < times; i++) await scheduler.yield()
  }],
  ['jobs cancelled before they start', 200_000, times =>
    inBatches(times, () => scheduler.spawn(nothing).cancel())],
  ['jobs cancelled before their release', 200_000, times =>
    inBatches(times, () => scheduler.spawn(nothing, { release: scheduler.now() + anHour }).cancel())],
  ['jobs cancelled in a wait for a job', 200_000, async times => {
    const awaited = scheduler.spawn(waitsFor, undefined, new Promise(ignore))
    for (let i = 0; i < times; i += 1000) {
      const jobs = Array.from({ length: 1000 }, () => scheduler.spawn(waitsFor, undefined, awaited))
      await new Promise(setImmediate)
      for (const job of jobs) job.cancel()
      await new Promise(setImmediate)
    }
    awaited.cancel()
    await scheduler.idle()
  }],
  ['jobs cancelled in a wait for a promise', 200_000, times =>
    cancelledWaits(times, () => new Promise(ignore))],
  ['the same, one promise that never settles', 100_000, times => cancelledWaits(times, () => neverSettles)],
  ['jobs that listen to one abort signal', 200_000, times =>
    inBatches(times, () => scheduler.spawn(nothing, { signal: controller.signal }))],
  ['jobs aborted by their own signals', 100_000, times => inBatches(times, () => {
    const own = new AbortController()
    scheduler.spawn(nothing, { signal: own.signal })
    own.abort()
  })]
]

async function cancelledWaits(times, promise) {
  for (let i = 0; i < times; i += 1000) {
    const jobs = Array.from({ length: 1000 }, () => scheduler.spawn(waitsFor, undefined, promise()))
    await new Promise(setImmediate)
    for (const job of jobs) job.cancel()
    await scheduler.idle()
  }
}

/** Returns the used heap after everything collectable has been collected. */
async function heapUsed() {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise(setImmediate)
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}

heading('what yields and jobs leave behind in the heap', 'after forced collections')
if (!isShort) await measureGrowth()

async function measureGrowth() {
  const outcomes = []
  for (const [name, times, run] of cases) {
    // Warm up: the first runs create code and tables that stay. They are not a leak.
    await run(times / 20)
    const before = await heapUsed()
    await run(times)
    const after = await heapUsed()
    outcomes.push({ name, times, before, growth: after - before })
  }
  table(
    ['what', 'times', 'before, kB', 'growth, kB', 'bytes each'],
    outcomes.map(({ name, times, before, growth }) =>
      [name, figure(times), before / 1000, growth / 1000, Math.max(0, growth / times)])
  )
  // An object takes at least 16 bytes, so a smaller growth consists of tables and code.
  const each = ({ growth, times }) => growth / times
  // A promise keeps the reactions of jobs that have stopped waiting until it settles; no program can remove
  // them.
  const ours = outcomes.filter(({ name }) => !name.endsWith('never settles'))
  const worst = ours.reduce((left, right) => each(right) > each(left) ? right : left)
  target(`largest growth: ${worst.name}`, each(worst), { most: 4, unit: ' bytes each' })
  const listeners = getEventListeners(controller.signal, 'abort')
  target('listeners left on the abort signal', listeners.length, { most: 0 })
}

/** The objects whose size is measured, as in Qduino's Table VIII. */
const kept = [
  ['an empty object', () => ({})],
  ['a generator', () => yields(1)],
  ['a promise', () => new Promise(ignore)],
  ['Task', () => new Task(nothingToYield)],
  ['job, ready: function', () => paused.spawn(nothing)],
  ['job, ready: generator function', () => paused.spawn(nothingToYield)],
  ['job, ready, with a deadline and a name', () => paused.spawn(nothing, { deadline: anHour, name: 'job' })],
  ['job, waiting for a promise of its own', () => scheduler.spawn(waitsFor, undefined, new Promise(ignore))],
  ['job, ended', () => scheduler.spawn(nothing)],
  ['alarm', () => after(anHour, nothing, { scheduler, ref: false })],
  ['Reservation', () => new Reservation({ capacity: 0, period: 10, scheduler })],
  ['IoReservation', () => new IoReservation({ utilization: 0, scheduler })],
  ['Channel', () => new Channel()],
  ['Channel of 16, full', () => filled(new Channel(16))],
  ['Mutex', () => new Mutex()],
  ['Scheduler', () => new Scheduler()]
]
const paused = new Scheduler({ paused: true })

function filled(channel) {
  for (let i = 0; i < 16; i++) channel.offer(i)
  return channel
}

/** @param {() => unknown} make @param {number} [count] */
async function bytesOf(make, count = 2000) {
  const all = new Array(count)
  for (let i = 0; i < 100; i++) all[i] = make()
  await new Promise(resolve => setTimeout(resolve, 10))
  const before = await heapUsed()
  for (let i = 0; i < count; i++) all[i] = make()
  await new Promise(resolve => setTimeout(resolve, 10))
  const taken = await heapUsed() - before
  return all.length && taken / count
}

console.log('\n### What is kept, bytes each (Qduino, Table VIII: a sketch of two loops 7192, its kernel 1 274 874)\n')
const footprints = []
for (const [name, make] of kept) footprints.push([name, await bytesOf(make)])
table(['', 'bytes'], footprints)
// Use many jobs, so that tables and chunks of the heap do not matter.
target('a ready job, of 100 000', await bytesOf(() => paused.spawn(nothing), 100_000), { most: 220, unit: ' bytes' })
await picture('qduino-table-8', barChart({
  title: 'Table VIII, bytes; published, text and data of a sketch of two loops, and of its kernel', least: 10,
  groups: [
    ...footprints.filter(([name]) => /^[A-Z]\w+$|^alarm|^job, ready: f/.test(name)).map(([label, value]) => ({ label, bars: [{ name: 'bytes', value }] })),
    ...[['sketch', 7192], ['kernel', 1_274_874]].map(([label, beside]) => ({ label, bars: [{ name: 'bytes', value: 0, beside }] }))
  ]
}))
process.exit()
