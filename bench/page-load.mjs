import { parseArgs } from 'node:util'
import { findBrowser } from '../test/browser/process.mjs'
import { measureLoad } from '../test/browser/measure-load.mjs'
import { serveTests } from '../test/browser/results.mjs'
import { browsers } from '../test/browser/run.mjs'
import { heading, table } from './support.mjs'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '6' } } })
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new RangeError(`seconds must be a number > 0, got ${values.seconds}`)

const percent = share => `${(share * 100).toFixed(1)} %`
const ms = value => value === null ? '-' : value.toFixed(1)

heading(
  'what a page notices of three jobs that never end',
  `headless, requestAnimationFrame and trusted keys every 100 to 200 ms, ${seconds} s after 1 s of warm-up`
)

const rows = []
const server = await serveTests()
try {
  for (const kind in browsers) {
    if (!findBrowser(kind)) {
      console.log(`${kind} was not found\n`)
      continue
    }
    const browser = await browsers[kind]()
    try {
      for (const isolated of [true, false]) {
        const load = await measureLoad(browser, server, { isolated, seconds })
        rows.push([
          `${browser.name}, ${isolated ? '' : 'not '}isolated`,
          load.framesPerSecond.toFixed(1),
          ...[load.frameInterval.median, load.frameInterval.p95, load.frameInterval.p99].map(ms),
          ...[load.keyLatency.median, load.keyLatency.p95].map(ms),
          String(load.keys),
          percent(load.busy),
          percent(load.overhead),
          ms(load.longestRound)
        ])
      }
    } finally {
      await browser.close()
    }
  }
} finally {
  await server.close()
}

table([
  'page', 'frames/s', 'frame interval median, ms', 'p95', 'p99', 'key to handler median, ms', 'p95', 'keys',
  'time in jobs', 'overhead', 'longest round, ms'
], rows)
