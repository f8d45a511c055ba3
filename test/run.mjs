// Runs the tests: every test/**/*.test.mjs in its own Node process, then test/browser in real browsers.
// A path selects the files below it: `node test/run.mjs rt/`, `addons/preemptify`, `rt/dispatch`, `browser/adopt`.
// `--no-browsers` leaves the browsers out; `--browser chromium` runs in this one only (or firefox, or webkit).
import { readdirSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runFile } from './runner/file.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'no-browsers': { type: 'boolean', default: false },
    browser: { type: 'string', multiple: true },
    timeout: { type: 'string', default: '600' }
  }
})
// A path starts at the name of a folder or file, so that `rt/` does not select `support/`.
const paths = positionals.map(path => `/${path.replace(/^(\.?\/)+/, '')}`)
const wanted = file => !paths.length || paths.some(path => `/${file}`.includes(path))

const total = { passed: 0, failed: 0, skipped: 0, flaky: 0 }
const add = result => {
  for (const count in total) total[count] += result[count] ?? 0
}

const files = find(here).filter(wanted)
await inPairs(files, async file => {
  const result = await runFile(join(root, file), { timeout: Number(values.timeout) * 1000 })
  add(result)
  print(file, result)
})

let pages = 0
if (!values['no-browsers']) {
  const { browsers, runBrowsers } = await import('./browser/run.mjs')
  const chosen = values.browser ?? Object.keys(browsers)
  for (const name of chosen) {
    if (Object.hasOwn(browsers, name)) continue
    throw new RangeError(`--browser must be ${Object.keys(browsers).join(', ')}, got ${name}`)
  }
  const engines = Object.fromEntries(chosen.map(name => [name, browsers[name]]))
  const result = await runBrowsers({ wanted, engines, required: process.env.REQUIRE_BROWSERS === '1' })
  pages = result.files
  add(result)
}

if (!files.length && !pages) {
  console.log(`no test file is below ${positionals.join(' or ')}`)
  total.failed++
}
const rest = ['skipped', 'flaky'].filter(count => total[count]).map(count => `, ${total[count]} ${count}`)
console.log(`\n${total.passed} passed, ${total.failed} failed${rest.join('')}`)
process.exitCode = total.failed ? 1 : 0

function find(directory) {
  return readdirSync(directory, { recursive: true })
    .map(name => relative(root, join(directory, name)).split(sep).join('/'))
    .filter(file => file.endsWith('.test.mjs') && !/^test\/browser\/|(^|\/)node_modules\//.test(file))
    .sort()
}

// Two at a time: more would disturb the clocks of tests that watch them.
async function inPairs(items, work) {
  const rest = [...items]
  const lane = async () => {
    while (rest.length) await work(rest.shift())
  }
  await Promise.all([lane(), lane()])
}

function print(file, { passed, failed, skipped, problems, output, ms, cpu }) {
  const rest = `${failed ? `, ${failed} failed` : ''}${skipped ? `, ${skipped} skipped` : ''}`
  const times = `${(ms / 1000).toFixed(1)} s${cpu >= 0 ? ` (processor: ${(cpu / 1000).toFixed(1)} s)` : ''}`
  console.log(`${failed ? 'FAIL' : 'ok  '} ${file}  ${passed} passed${rest}  ${times}`)
  if (!failed) return
  for (const problem of problems) console.log(`     ${problem.replaceAll('\n', '\n     ')}`)
  if (output) console.log(`\n${output}\n`)
}
