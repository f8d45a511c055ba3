import { execFileSync } from 'node:child_process'
import { callIn, eachBrowser } from './support-browsers.mjs'
import { figure, heading, median, optionsOf, table, target } from './support.mjs'
import { loops, names } from './support-cold.mjs'

const values = optionsOf({ pages: '3', places: 'node,chromium,firefox', origin: 'isolated', functions: names.join() })
const pages = Number(values.pages)
if (!(pages >= 1)) throw new RangeError(`pages must be a number >= 1, got ${values.pages}`)
if (!['isolated', 'plain'].includes(values.origin)) {
  throw new RangeError(`origin must be isolated or plain, got ${values.origin}`)
}
const chosen = values.functions.split(',')
/** Number of runs in each page. The first one is cold. */
const runs = 4

function inProcess(name, way) {
  const script = `import { times } from ${JSON.stringify(import.meta.resolve('./support-cold.mjs'))}
    process.stdout.write(JSON.stringify(await times('${name}', '${way}', ${runs})))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
}

/** Measures the first run and the later runs of each function, plain and preempted, ms. */
async function measure(timesOf) {
  const rows = []
  for (const name of chosen) {
    const found = { plain: { first: [], again: [] }, auto: { first: [], again: [] } }
    for (let page = 0; page < pages; page++) {
      for (const way of ['plain', 'auto']) {
        const [first, ...again] = await timesOf(name, way)
        found[way].first.push(first)
        found[way].again.push(median(again))
      }
    }
    // Take minimums: other processes can only lengthen a run, and do so more in some pages than in others.
    const { plain, auto } = found
    rows.push({
      name,
      plain: Math.min(...plain.first),
      plainAgain: Math.min(...plain.again),
      first: Math.min(...auto.first),
      again: Math.min(...auto.again)
    })
  }
  return rows
}

function print(place, rows) {
  console.log(`### ${place}\n`)
  table(
    ['function', 'plain, first run, ms', 'again', 'first to again', "under 'auto', first run, ms", 'again', 'first to again',
      'first to plain'],
    rows.map(({ name, plain, plainAgain, first, again }) =>
      [name, plain, plainAgain, plain / plainAgain, first, again, first / again, first / plain])
  )
  const worst = (claim, of, ratio, most) => {
    if (of.length === 0) return
    const { name } = of.reduce((left, right) => ratio(right) > ratio(left) ? right : left)
    const missed = of.filter(row => ratio(row) > most)
      .map(row => `${row.name} ${figure(ratio(row))} (plain, first run to later ones: ${figure(row.plain / row.plainAgain)})`)
    target(`${claim}, worst (${name})`, Math.max(...of.map(ratio)), { most, unit: ' x' })
    if (missed.length > 0) console.log(`  - missed: ${missed.join(', ')}`)
  }
  worst("first run under 'auto' to later ones", rows, ({ first, again }) => first / again, 1.5)
  worst('loops, first run to plain', rows.filter(({ name }) => loops.includes(name)), ({ first, plain }) => first / plain,
    place.startsWith('Firefox') ? 4 : 1.6)
  worst('a loop by hand to plain', rows.filter(({ name }) => name === 'by-hand'),
    ({ first, plain }) => first / plain, 2)
  console.log('')
}

heading('what the first run of new code costs as a job', `best of ${pages} fresh pages or processes; again: the median of ${runs - 1} more runs in each`)

const places = values.places.split(',')
if (places.includes('node')) print('Node', await measure(async (name, way) => inProcess(name, way)))
await eachBrowser(places.filter(place => place !== 'node'), async (browser, server) => {
  const isolation = values.origin === 'isolated' ? '' : 'not '
  print(`${browser.name}, ${isolation}isolated`, await measure((name, way) =>
    callIn(browser, server, values.origin, '/bench/support-cold.mjs', 'times', name, way, runs)))
})
