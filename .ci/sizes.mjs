// Prints the sizes of the modules and of bundles that pages make of them. esbuild must be on the path.
//
// Lines of code exclude comments and blank lines. `transferred` is what a page without tools loads: the raw file, gzipped.
// The size of a bundle is minified and gzipped; bundles of other modules do not include rt.mjs, which every page has.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const CORE = '{ rt, Scheduler, Task, Job, edf, fp, rm, budget }'
/** The imports of typical pages. */
const IMPORTS = [
  ['rt.mjs', CORE],
  ['alarms.mjs', '{ after, every, sleep }'], ['alarms.mjs', '{ on }'],
  ['sync.mjs', '{ nonPreemptive }'], ['sync.mjs', '{ Mutex }'], ['sync.mjs', '{ Mutex, Semaphore }'],
  ['sync.mjs', '{ Channel, choice, par, race }'],
  ['addons/adopt.mjs', '{ adopt }'],
  ['addons/connect.mjs', '{ connect }'],
  ['addons/deadlock.mjs', '{ reportDeadlocks }'],
  ['addons/preemptify.mjs', '{ preemptify }'],
  ['addons/preemptify/runtime.mjs', '{ support, budget }'],
  ['addons/reservations.mjs', '{ Reservation }'], ['addons/reservations.mjs', '{ interrupt }'],
  ['addons/schedulable.mjs', '{ schedulable }'],
  ['addons/scheduler.mjs', '{ scheduler }'],
  ['addons/shared.mjs', '{ SharedMutex }'],
  ['addons/workers.mjs', '{ Workers }']
]
/** The page that loads a module and its own folder, without a build. */
const filesOf = name => [name, ...listed(name.replace(/\.mjs$/, ''))]

/** @param {string} folder @returns {string[]} */
function listed(folder) {
  try {
    return readdirSync(folder).filter(name => name.endsWith('.mjs')).map(name => `${folder}/${name}`)
  } catch {
    return []
  }
}

/** @param {string} source @returns {number} lines that are neither blank nor comment */
function linesOf(source) {
  let count = 0
  let isComment = false
  for (const line of source.split('\n').map(line => line.trim())) {
    if (!isComment && line !== '' && !line.startsWith('//') && !/^\/\*.*\*\/$/.test(line) && !line.startsWith('/*')) count++
    if (line.startsWith('/*')) isComment = true
    if (line.includes('*/')) isComment = false
  }
  return count
}

const kB = bytes => (bytes / 1000).toFixed(1)
const sum = numbers => numbers.reduce((total, number) => total + number, 0)
const read = name => readFileSync(name, 'utf8')

/** @param {string} from @param {string} exported @returns {number} bytes */
function bundleSize(from, exported) {
  const options = ['--bundle', '--minify', '--format=esm', '--target=es2022']
  if (from !== 'rt.mjs') options.push('--external:*/rt.mjs')
  return gzipSync(execFileSync('esbuild', options, { input: `export ${exported} from './${from}'` }), { level: 9 }).length
}

const modules = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...listed('addons')]
console.log('| module, with its folder | files | lines of code | transferred, kB | all of it, minified and gzipped, kB |')
console.log('| --- | ---: | ---: | ---: | ---: |')
for (const name of modules) {
  const texts = filesOf(name).map(read)
  const transferred = sum(texts.map(text => gzipSync(text, { level: 9 }).length))
  console.log(`| ${name} | ${texts.length} | ${sum(texts.map(linesOf))} | ${kB(transferred)} | ${kB(bundleSize(name, '*'))} |`)
}
const longest = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...readdirSync('addons', { recursive: true })
  .filter(name => name.endsWith('.mjs')).map(name => `addons/${name}`)].map(name => [name, linesOf(read(name))]).sort((a, b) => b[1] - a[1])
console.log(`\nlongest files: ${longest.slice(0, 5).map(([name, lines]) => `${name} ${lines}`).join(', ')} lines of code`)

console.log('\n| import | minified and gzipped, kB |\n| --- | ---: |')
for (const [name, exported] of IMPORTS) console.log(`| ${name}: ${exported} | ${kB(bundleSize(name, exported))} |`)
