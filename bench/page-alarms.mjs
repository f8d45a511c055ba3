import { parseArgs } from 'node:util'
import { findBrowser } from '../test/browser/process.mjs'
import { serveTests } from '../test/browser/results.mjs'
import { browsers } from '../test/browser/run.mjs'
import { heading, table, target } from './support.mjs'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '6' } } })
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new RangeError(`seconds must be a number > 0, got ${values.seconds}`)

/** Runs in the page. */
async function measure(seconds) {
  const { Scheduler, budget } = await import('/rt.mjs')
  const { after } = await import('/alarms.mjs')
  const scheduler = new Scheduler()
  const rounds = []
  scheduler.observe(record => { if (record.type === 'round') rounds.push([record.start, record.time]) })
  for (let n = 0; n < 3; n++) {
    scheduler.spawn(function* () {
      for (let sum = 0; ;) {
        for (let i = 0; i < 20; i++) sum += Math.sqrt(i)
        if (--budget.left <= 0) yield
      }
    })
  }
  // The page draws, as pages do that keep the thread this busy.
  let frames = 0
  requestAnimationFrame(function draw() {
    frames++
    requestAnimationFrame(draw)
  })
  await new Promise(resolve => setTimeout(resolve, 500))

  const fired = []
  const ends = scheduler.now() + seconds * 1000
  const set = () => {
    const delay = 1 + 19 * Math.random()
    const due = scheduler.now() + delay
    after(delay, () => {
      fired.push([due, scheduler.now()])
      if (due < ends) set()
    }, { scheduler })
  }
  for (let chain = 0; chain < 200; chain++) set()
  await new Promise(resolve => setTimeout(resolve, seconds * 1000 + 200))
  scheduler.pause()

  // What came due between two rounds could not fire before the next one: that wait is the browser's.
  fired.sort((a, b) => a[0] - b[0])
  const within = []
  const gaps = rounds.slice(1).map(([start], n) => start - rounds[n][1])
  let next = 0
  for (const [due, time] of fired) {
    while (next < rounds.length - 1 && rounds[next][1] < due) next++
    within.push(time - Math.max(due, rounds[next][0]))
  }
  const quantiles = list => {
    list.sort((a, b) => a - b)
    return [0.5, 0.99, 1].map(share => list[Math.ceil(share * list.length) - 1])
  }
  return {
    times: fired.length,
    early: fired.filter(([due, time]) => time < due).length,
    all: quantiles(fired.map(([due, time]) => time - due)),
    within: quantiles(within),
    gaps: quantiles(gaps),
    frames: frames / (seconds + 0.7)
  }
}

heading(
  'how late alarms fire in a page whose jobs never end',
  `headless; 200 chains of alarms of 1 to 20 ms, 3 endless jobs, an animation; ${seconds} s; ` +
  'within rounds: from when the alarm was due, or the first round after that began'
)

const rows = []
const server = await serveTests()
let early = 0
let worst = 0
try {
  for (const kind in browsers) {
    if (!findBrowser(kind)) {
      console.log(`${kind} was not found\n`)
      continue
    }
    const browser = await browsers[kind]()
    try {
      for (const isolated of [true, false]) {
        await browser.open(`${isolated ? server.isolated : server.plain}/examples/index.html`)
        const found = await browser.evaluate(measure, seconds)
        early += found.early
        if (isolated) worst = Math.max(worst, found.within[1])
        rows.push([
          `${browser.name}, ${isolated ? '' : 'not '}isolated`, String(found.times), String(found.early),
          ...found.within.map(ms => ms.toFixed(2)),
          ...found.all.map(ms => ms.toFixed(2)),
          ...found.gaps.map(ms => ms.toFixed(2)),
          found.frames.toFixed(1)
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
  'page', 'alarms', 'early', 'late within rounds, ms: p50', 'p99', 'max', 'late in all, ms: p50', 'p99', 'max',
  'between rounds, ms: p50', 'p99', 'max', 'frames/s'
], rows)
target('early alarms', early, { most: 0 })
target('lateness within rounds, p99, isolated pages', worst, { most: 1, unit: ' ms' })
