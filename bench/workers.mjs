import { Worker } from 'node:worker_threads'
import { whole } from '../examples/farm/mandelbrot.mjs'
import { Workers } from '../sync.mjs'
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

const echo = new Worker("require('node:worker_threads').parentPort.on('message', m => require('node:worker_threads').parentPort.postMessage(m))", { eval: true })
const one = new Workers(works, { size: 1 })
const ways = {
  'a bare message there and back': () => new Promise(resolve => {
    echo.once('message', resolve)
    echo.postMessage([1, 2])
  }),
  'a job by Workers.spawn': () => one.spawn('add', {}, 1, 2)
}
const times = new Map(Object.keys(ways).map(name => [name, []]))
for (let pass = 0; pass < passes + 2; pass++) {
  for (const [name, way] of Object.entries(ways)) {
    const ms = await msOf(async () => { for (let i = 0; i < 300; i++) await way() })
    if (pass > 1) times.get(name).push(ms * 1000 / 300)
  }
}
const [bare, spawned] = [...times.values()]
table(['one at a time', 'us'], [...times].map(([name, all]) => [name, median(all)]))
target('a job, of a bare message there and back', median(spawned.map((us, pass) => us / bare[pass])), { most: 3 })
await echo.terminate()

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

const two = new Workers(works, { size: 2 })
const view = whole(1200, 800)
const picture = workers => Promise.all(Array.from({ length: view.height }, (_, index) => workers.spawn('row', {}, view, index)))
const speedUps = []
for (let pass = 0; pass < 5; pass++) {
  const [alone, together] = [await msOf(() => picture(one)), await msOf(() => picture(two))]
  if (pass > 0) speedUps.push(alone / together)
}
target('a Mandelbrot set of 1200 x 800 by two workers, of one', median(speedUps), { least: 1.8 })
await Promise.all([one.close(), two.close()])
