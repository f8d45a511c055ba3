import { existsSync, writeFileSync } from 'node:fs'
import { paperSubtests, subtests } from '../examples/macro/experiment.mjs'
import { lineChart, picture } from './support-chart.mjs'
import { eachBrowser, keysUntil, kinds as everyKind, type } from './support-browsers.mjs'
import { figure, heading, mean, median, optionsOf, table, target } from './support.mjs'

const usage = `node bench/page.mjs [options]
  --seconds 2.5                     of each subtest
  --passes 1                        all subtests so many times; of throughput the median counts
  --browsers chromium,firefox
  --pages isolated,plain            cross-origin isolated, and not
  --ways plain,fp,edf,paper,yield,timeout,react
  --loads none,aes,tasks,all,endless
  --paper                           figure 8 of RT.js: 60 s x 5 by plain JavaScript and by its parameters (rounds of 1 ms, budget 300,
                                    of AES 10), words typed by a timer; shorter with --seconds and --passes
  --json file                       writes all that was found
  --svg directory                   writes the frames of each second, means of the passes
Without --ways and --loads: every load by plain JavaScript and by earliest deadline; in isolated pages also
AES and the task set by the others.`

const everyWay = ['plain', 'fp', 'edf', 'paper', 'yield', 'timeout', 'react']
const everyLoad = Object.keys(subtests)
const scheduled = ['fp', 'edf', 'paper']

const values = optionsOf({
  seconds: undefined, passes: undefined, paper: false, browsers: everyKind.join(), pages: 'isolated,plain', ways: undefined, loads: undefined,
  json: undefined
}, usage)
const { paper } = values
Object.assign(values, {
  ...paper ? { seconds: '60', passes: '5', ways: 'plain,paper', loads: paperSubtests.join() } : { seconds: '2.5', passes: '1' },
  ...values
})
const seconds = Number(values.seconds)
if (!(seconds >= 1)) throw new RangeError(`seconds must be a number >= 1, got ${values.seconds}`)
const passes = Number(values.passes)
if (!(Number.isInteger(passes) && passes >= 1)) {
  throw new RangeError(`passes must be a whole number >= 1, got ${values.passes}`)
}
// The page fetches React's scheduler only if it is installed. A failed request would log an error.
const hasReact = existsSync(new URL('./peers/node_modules/scheduler', import.meta.url))
const listed = (name, known) => values[name].split(',').map(item => {
  if (!known.includes(item)) throw new RangeError(`${name} must be of ${known.join(', ')}, got ${item}`)
  return item
})
const kinds = listed('browsers', everyKind)
const origins = listed('pages', ['isolated', 'plain'])

/**
 * Returns the ways and loads of a pass in running order. Ways that are compared run one after another,
 * because machines change their speed over time.
 *
 * @param {string} origin @returns {[string, string][]}
 */
function stepsIn(origin) {
  const each = (ways, loads) => loads.flatMap(load => ways.map(way => [way, load]))
  if (values.ways !== undefined || values.loads !== undefined) {
    const ways = values.ways === undefined ? ['plain', 'edf'] : listed('ways', everyWay)
    return each(ways, values.loads === undefined ? everyLoad : listed('loads', everyLoad))
  }
  const others = origin === 'isolated' ? ['fp', 'yield', 'timeout', 'react'] : []
  return [...each(['plain', 'edf'], everyLoad), ...each(others, ['all'])]
}

/** Runs the subtests. Runs in the page. */
async function start(report, steps, seconds, hasReact, typing) {
  const { benchmark } = await import('/examples/macro/page.mjs')
  const { ways } = await import('/examples/macro/ways.mjs')
  const { peers } = await import('/bench/support-page.mjs')
  const known = [...ways, ...await peers(hasReact)]
  const field = document.getElementById('field')
  let keys = 0
  field.addEventListener('keydown', event => { if (event.isTrusted) keys++ })
  field.focus()
  const found = steps.map(([id, subtest]) => ({ way: known.find(way => way.id === id), subtest }))
    .filter(({ way }) => way !== undefined)
  // Not awaited, because keys must arrive during the measurement.
  benchmark({ steps: found, seconds, typing }).then(async results => {
    // Wait for the last typed keys, which may not have arrived yet.
    await new Promise(resolve => setTimeout(resolve, 500))
    return { ...results, keys }
  }, error => ({ error: error.stack })).then(results => {
    fetch(report, { method: 'POST', body: JSON.stringify(results) })
  })
}

async function measure(browser, server, origin) {
  const steps = Array(passes).fill(stepsIn(origin)).flat()
  const { report, results } = server.expect(steps.length * (seconds + 10) * 1000 + 30_000)
  results.catch(() => {})
  await browser.open(`${server[origin]}/examples/macro/index.html`)
  await browser.evaluate(start, report, steps, seconds, hasReact, paper)
  const typed = paper ? 0 : await type(browser, keysUntil(results), 100)
  const found = await results
  if (found.error) throw new Error(`${browser.name}: ${found.error}`)
  const problems = await browser.takeProblems()
  if (problems.length > 0) throw new Error(`errors on the console:\n${problems.join('\n')}`)
  return { ...found, typed }
}

/** Draws figure 8 of RT.js: the frames of each second. */
async function draw(page, { outcomes }) {
  const curves = [...new Set(outcomes.map(({ title }) => title))].map(name => {
    const own = outcomes.filter(({ title }) => title === name)
    const loads = [...new Set(own.map(({ subtest }) => subtest))]
    const rates = loads.flatMap(load => {
      const runs = own.filter(({ subtest }) => subtest === load).map(({ frames }) => frames.perSecond)
      return Array.from({ length: Math.min(...runs.map(({ length }) => length)) }, (_, i) => mean(runs.map(run => run[i])))
    })
    return { name, points: rates.map((rate, i) => /** @type {[number, number]} */ ([i + 1, rate])) }
  })
  const seconds = Math.max(...curves.map(({ points }) => points.length))
  await picture(`rtjs-figure-8-${page.toLowerCase().replace(/\W+/g, '-')}`, lineChart({
    title: `${page}: frames in each second of ${[...new Set(outcomes.map(({ subtest }) => subtests[subtest].title))].join('; ')}`,
    across: 's',
    curves: [...curves, { name: 'published, by RT.js', points: [[1, 60], [seconds, 60]] }]
  }))
}

const pair = spread => spread === null ? '-' : `${spread.median.toFixed(1)} / ${spread.p95.toFixed(1)}`
const timing = ms => ms < 16 ? '<16' : String(ms)
const rate = value => value > 0 ? figure(value) : '-'

/**
 * Returns the background work of a run relative to plain JavaScript in the same pass; null if the load has no
 * background work.
 */
function throughput(outcome, outcomes) {
  const alike = way => outcomes.filter(other => other.way === way && other.subtest === outcome.subtest)
  const plain = alike('plain')[alike(outcome.way).indexOf(outcome)]
  if (plain === undefined) return null
  const shares = ['blocks', 'worked'].filter(work => plain.perSecond[work] > 0)
    .map(work => outcome.perSecond[work] / plain.perSecond[work])
  return shares.length > 0 ? Math.min(...shares) : null
}

heading(
  'the page benchmark of RT.js: what a page notices of the work behind it',
  `headless, ${paper ? 'words typed by a timer' : 'trusted keys every 100 to 200 ms'}, ${seconds} s each, ${passes} ${passes > 1 ? 'passes' : 'pass'}`
)

const all = []
await eachBrowser(kinds, async (browser, server) => {
  for (const origin of origins) {
    const found = await measure(browser, server, origin)
    const page = `${browser.name}, ${origin === 'isolated' ? '' : 'not '}isolated`
    all.push({ page, ...found })
    print(page, found)
    await draw(page, found)
  }
})
if (values.json) writeFileSync(values.json, `${JSON.stringify(all, null, 2)}\n`)
judge()

function print(page, { outcomes, typed, keys }) {
  console.log(`### ${page}\n`)
  table([
    'run by, load', 'frames/s', 'worst second', 'frame interval p95, ms', 'key to echo p50 / p95, ms',
    'to next paint p50 / p98 (INP), ms', 'long frames', 'longest, ms', 'total blocking time, ms', 'AES blocks/s', 'task set, ms/s', 'of plain',
    'late jobs'
  ], outcomes.map(outcome => {
    const { title, subtest, frames, input, longFrames, perSecond, jobs } = outcome
    const share = throughput(outcome, outcomes)
    return [
      `${title}, ${subtests[subtest].title}`,
      frames.mean.toFixed(1),
      String(frames.minimum ?? '-'),
      frames.interval === null ? '-' : frames.interval.p95.toFixed(1),
      pair(input.latency),
      input.timing === null ? '-' : `${timing(input.timing.median)} / ${timing(input.timing.p98)}`,
      longFrames === null ? '-' : String(longFrames.count),
      longFrames === null ? '-' : longFrames.longest.toFixed(0),
      longFrames === null ? '-' : longFrames.blocking.toFixed(0),
      rate(perSecond.blocks),
      rate(perSecond.worked),
      share === null ? '-' : `${(share * 100).toFixed(0)} %`,
      `${jobs.late} of ${jobs.ended}`
    ]
  }))
  const lost = outcomes.reduce((sum, { input }) => sum + input.lost, 0)
  const untold = [
    ...outcomes.every(({ input }) => input.timing === null) ? ['Event Timing'] : [],
    ...outcomes.every(({ longFrames }) => longFrames === null) ? ['Long Animation Frames, nor by them Total Blocking Time'] : []
  ]
  if (untold.length > 0) console.log(`This engine has no ${untold.join(', no ')}.\n`)
  console.log(`${typed} keys typed, ${keys} arrived, ${lost} of those within subtests were not handled.\n`)
}

/** Compares the worst results of all pages with the targets. */
function judge() {
  const outcomes = all.flatMap(({ outcomes }) => outcomes)
  const ours = outcomes.filter(({ way }) => scheduled.includes(way))
  if (ours.length === 0) return
  const least = values => Math.min(...values)
  const most = values => Math.max(...values)
  const known = values => values.filter(value => value !== null && value !== undefined)
  console.log('By the scheduler, the worst of all subtests and pages:\n')
  const of = value => known(ours.map(value))
  target('frames per second', least(of(({ frames }) => frames.mean)), { least: 59.5 })
  target('worst second', least(of(({ frames }) => frames.minimum)), { least: 57, unit: ' frames' })
  target('frame interval, p95', most(of(({ frames }) => frames.interval?.p95)), { most: 22, unit: ' ms' })
  target('key to echo, p95', most(of(({ input }) => input.latency?.p95)), { most: 16, unit: ' ms' })
  target('keys lost', all.reduce((sum, { typed, keys, outcomes }) =>
    outcomes.reduce((lost, { input }) => lost + input.lost, sum + typed - keys), 0), { most: 0 })
  const shares = all.flatMap(({ outcomes }) => {
    const alike = new Map()
    for (const outcome of outcomes.filter(({ way }) => scheduled.includes(way))) {
      const share = throughput(outcome, outcomes)
      const id = `${outcome.way} ${outcome.subtest}`
      if (share !== null) alike.set(id, [...alike.get(id) ?? [], share])
    }
    return [...alike.values()].map(median)
  })
  if (shares.length > 0) {
    const claim = 'background work, of what plain JavaScript gets through'
    target(claim, least(shares) * 100, { least: 85, unit: ' %' })
  }
  const plain = outcomes.filter(({ way, loads }) => way === 'plain' && loads.tasks)
  if (plain.length > 0) {
    const rate = most(plain.map(({ frames }) => frames.mean))
    target('plain JavaScript beside the task set', rate, { most: 9.9, unit: ' frames/s' })
  }
}
