/**
 * Typing into a search field, when a search takes about as long as the pause between two keys. The three
 * parts are a search by hand, a library that blocks, and React. Each part runs the same search in several
 * ways, and all ways must end with the same list.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as elapse } from 'node:timers/promises'
import { quantile } from '../examples/macro/statistics.mjs'
import { eachBrowser, kinds, type } from './support-browsers.mjs'
import { heading, optionsOf, table } from './support.mjs'
import { texts } from './typing/items.mjs'
import { compared, measuresOf, verdict } from './typing/measures.mjs'
import { animatedSvg } from './typing/picture.mjs'
/** @import { Measures, Round } from './typing/measures.mjs' */

/** The ways of each part. A way is named like its module in bench/typing. */
const parts = [
  {
    title: 'A search by hand: 200,000 items, the best 50 are shown',
    ways: {
      'search-plain': 'plain JavaScript',
      'search-yield': '`scheduler.yield()` every 5 ms',
      'search-mts-interactive': 'main-thread-scheduling, interactive',
      'search-mts-smooth': 'main-thread-scheduling, smooth',
      'search-rt': 'rt.mjs by hand',
      'search-preemptify': 'rt.mjs, `preemptify.import`'
    }
  },
  {
    title: 'A library that blocks: fuse.js, 50,000 items, the best 50 are shown',
    ways: { 'fuse-plain': 'plain JavaScript', 'fuse-rt': 'rt.mjs, `preemptify.import`' }
  },
  {
    title: 'React: 200,000 items, the best 200 are shown',
    ways: {
      'react-memo': '`useMemo`',
      'react-deferred': '`useDeferredValue`',
      'react-rt': 'rt.mjs, `useJob`'
    }
  }
]
const all = parts.flatMap(({ ways }) => Object.keys(ways))
const isOurs = way => /-(?:rt|preemptify)$/.test(way)

/** The packages that the ways need. */
const peers = ['main-thread-scheduling', 'fuse.js', 'react', 'react-dom']

const usage = `node bench/typing.mjs [options]
  --browsers chromium,firefox  some of ${kinds.join()}
  --ways ${parts.map(({ ways }) => Object.keys(ways).join()).join(',\n         ')}
  --keys 9                     the keys of a round, at most 9
  --rounds 5
  --pause 133                  ms between two keys, at least; twice as long at most, 200 ms on average
  --picture FILE               writes an animated SVG of search-plain and search-rt, and no tables`

const values = optionsOf({
  browsers: 'chromium,firefox', ways: all.join(), keys: '9', rounds: '5', pause: '133', picture: undefined
}, usage)
const [keys, rounds, pause] = [values.keys, values.rounds, values.pause].map(Number)
const wanted = values.ways.split(',')
const unknown = wanted.filter(way => !all.includes(way))
if (unknown.length > 0) throw new RangeError(`ways must be some of ${all.join()}, got ${unknown.join()}`)

if (values.picture === undefined) await compare()
else await draw(values.picture)

async function compare() {
  const versions = peers.map(versionOf)
  if (versions.includes(null)) {
    console.log('the peers are not installed: npm --prefix bench/peers install')
    return
  }
  heading(
    'a search field, while the user types',
    `headless, pages not cross-origin isolated; ${rounds} rounds of ${keys} trusted keys, ` +
    `${pause} to ${2 * pause} ms apart; ${peers.map((name, i) => `${name} ${versions[i]}`).join(', ')}`
  )
  await eachBrowser(values.browsers.split(','), async (browser, server) => {
    console.log(`### ${browser.name}\n`)
    for (const { title, ways } of parts) {
      const chosen = Object.keys(ways).filter(way => wanted.includes(way))
      if (chosen.length === 0) continue
      const found = new Map()
      for (const way of chosen) found.set(way, await recordings(browser, server, way))
      checkResults(found)
      console.log(`${title}.\n`)
      print(ways, new Map([...found].map(([way, rounds]) => [way, measuresOf(rounds)])))
    }
  })
}

/** @returns {Promise<Round[]>} */
async function recordings(browser, server, way) {
  await open(browser, server, way)
  const found = []
  for (let round = 0; round < rounds; round++) {
    found.push(await record(browser, texts[round % texts.length].slice(0, keys)))
  }
  const problems = await browser.takeProblems()
  if (problems.length > 0) throw new Error(`${way}: errors on the console:\n${problems.join('\n')}`)
  if (way === 'search-yield' && await browser.evaluate('globalThis.scheduler?.yield === undefined')) {
    console.log(`${browser.name} has no \`scheduler.yield\`: setTimeout(0) replaces it.\n`)
  }
  return found
}

async function open(browser, server, way) {
  await browser.open(`${server.plain}/bench/typing/index.html?way=${way}`)
  await browser.evaluate('typing.ready')
}

/** Types a text. @param {number} [after] ms to record after the result @returns {Promise<Round>} */
async function record(browser, text, after = 0) {
  await browser.evaluate('typing.begin()')
  await elapse(1000)
  await type(browser, text, pause)
  const end = performance.now() + 60_000
  while (!await browser.evaluate(`typing.hasShown('${text}')`)) {
    if (performance.now() > end) throw new Error(`${browser.name}: no result of '${text}' within 60 s`)
    await elapse(100)
  }
  await elapse(after)
  return { text, ...await browser.evaluate('typing.recording()') }
}

/** All ways must end each round with the list of the first way. @param {Map<string, Round[]>} found */
function checkResults(found) {
  const [[first, expected]] = found
  for (const [way, rounds] of found) {
    rounds.forEach(({ text, list, frames }, i) => {
      const { list: expectedList, frames: expectedFrames } = expected[i]
      if (list !== expectedList || frames.at(-1).status !== expectedFrames.at(-1).status) {
        throw new Error(`'${text}': the results of ${way} differ from the results of ${first}`)
      }
    })
  }
}

/** @param {Record<string, string>} ways @param {Map<string, Measures>} measured */
function print(ways, measured) {
  const ms = value => value === null ? '-' : value.toFixed(0)
  const columns = [
    'key to paint p50 / p95, ms', 'Event Timing p98, ms', 'frames/s', 'last key to result p50 / longest, ms'
  ]
  table(
    ['', ...columns],
    [...measured].map(([way, { keyToPaint, interaction, rate, result }]) => [
      ways[way],
      `${ms(quantile(keyToPaint, 0.5))} / ${ms(quantile(keyToPaint, 0.95))}`,
      ms(interaction),
      rate.toFixed(1),
      `${ms(quantile(result, 0.5))} / ${ms(result.at(-1))}`
    ])
  )
  const others = [...measured.keys()].filter(way => !isOurs(way))
  for (const way of [...measured.keys()].filter(isOurs)) {
    if (others.length === 0) continue
    table([`${ways[way]}, compared with`, ...compared.map(({ name }) => name)], others.map(other =>
      [ways[other], ...compared.map(measure => verdict(measure, measured.get(way), measured.get(other)))]))
  }
}

/** Records a round of plain JavaScript and of rt.mjs in Chromium, and draws both. @param {string} file */
async function draw(file) {
  await eachBrowser(['chromium'], async (browser, server) => {
    const sides = []
    for (const [way, title] of [['search-plain', 'plain JavaScript'], ['search-rt', 'rt.mjs']]) {
      await open(browser, server, way)
      const round = await record(browser, texts[0].slice(0, keys), 10_000)
      sides.push({ ...round, title, rate: measuresOf([round]).rate })
    }
    const [plain, ours] = sides.map(({ keys }) => keys.map(time => time - keys[0]))
    const difference = Math.round(Math.max(...plain.map((time, i) => Math.abs(time - ours[i]))))
    if (difference > 50) throw new Error(`the keys of the two sides differ by ${difference} ms: try again`)
    const svg = animatedSvg(sides)
    writeFileSync(file, svg)
    const size = (svg.length / 1000).toFixed(1)
    console.log(`${file}: ${size} kB; the keys of the two sides differ by at most ${difference} ms`)
  })
}

/** @returns {string | null} `null` if the package is not installed */
function versionOf(name) {
  const file = new URL(`peers/node_modules/${name}/package.json`, import.meta.url)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : null
}
