// How long it takes to draw 100 000 records, in Node as SVG and in both browsers on a canvas:
//   node test/browser/gantt.measure.mjs [records]
import { scheduleOf, toSVG } from '../../examples/gantt.mjs'
import { traceEvents } from '../../examples/trace-events.mjs'
import { busyRecords } from './gantt.records.mjs'
import { findBrowser } from './process.mjs'
import { serveTests } from './results.mjs'
import { browsers } from './run.mjs'

const count = Number(process.argv[2] ?? 100_000)
const records = busyRecords(count)

const best = (times, work) => Math.min(...Array.from({ length: times }, () => {
  const begin = performance.now()
  work()
  return performance.now() - begin
}))
const schedule = scheduleOf(records)
const built = best(5, () => scheduleOf(records))
const drawn = best(5, () => toSVG(schedule))
const exported = best(2, () => traceEvents(records))
const kilobytes = toSVG(schedule).length / 1000
console.log(`${count} records, Node ${process.versions.node}: intervals ${built.toFixed(0)} ms ` +
  `(${(built / count * 1e6).toFixed(0)} ns a record), all as SVG ${drawn.toFixed(0)} ms ` +
  `(${kilobytes.toFixed(0)} kB), trace events ${exported.toFixed(0)} ms\n`)

console.log('| browser | view | drawing, ms: median | p95 | until done: median | p95 | frame: median | p95 |')
console.log('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |')
const server = await serveTests()
try {
  for (const kind in browsers) {
    if (!findBrowser(kind)) continue
    const browser = await browsers[kind]()
    try {
      await browser.resize(1000, 800)
      await browser.open(`${server.isolated}/test/browser/gantt.html`)
      await browser.evaluate(count => measure(count, 10), count)
      const { runs } = await browser.evaluate(count => measure(count), count)
      for (const [view, { draw, done, frame }] of Object.entries(runs)) {
        const cells = [...draw, ...done, ...frame].map(ms => ms.toFixed(1))
        console.log(`| ${browser.name} | ${view} | ${cells.join(' | ')} |`)
      }
    } finally {
      await browser.close()
    }
  }
} finally {
  await server.close()
}
