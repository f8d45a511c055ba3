// What the modules measure: lines of code, without comments and blank lines, and bytes as a page gets them, minified
// and gzipped. esbuild is expected on the path.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const CORE = '{ rt, Scheduler, Task, Job, edf, fp, rm, budget }'
/** What pages take of the others, which is all that a bundler is to leave. */
const PARTS = [['alarms.mjs', '{ after, every, sleep }'], ['sync.mjs', '{ Channel, choice, par, race }'], ['sync.mjs', '{ Mutex, Semaphore }']]

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

/** @param {string} exported @param {string} from @returns {number} bytes of what a bundler leaves of it, gzipped */
function sizeOf(exported, from) {
  const options = ['--bundle', '--minify', '--format=esm', '--target=es2022']
  if (from !== './rt.mjs') options.push('--external:./rt.mjs')
  return gzipSync(execFileSync('esbuild', options, { input: `export ${exported} from '${from}'` }), { level: 9 }).length
}

const rt = readFileSync('rt.mjs', 'utf8')
const core = rt.slice(0, rt.search(/^\/\/ -+ 8 preemptify$/m))

const rows = [
  ['rt.mjs', linesOf(rt), sizeOf('*', './rt.mjs')],
  [`rt.mjs without preemptify: ${CORE}`, linesOf(core), sizeOf(CORE, './rt.mjs')],
  ['alarms.mjs', linesOf(readFileSync('alarms.mjs', 'utf8')), sizeOf('*', './alarms.mjs')],
  ['sync.mjs', linesOf(readFileSync('sync.mjs', 'utf8')), sizeOf('*', './sync.mjs')],
  ...PARTS.map(([module, exported]) => [`${module}: ${exported}`, '', sizeOf(exported, `./${module}`)])
]
console.log('| module | lines of code | bytes, minified and gzipped |\n| --- | ---: | ---: |')
for (const row of rows) console.log(`| ${row.join(' | ')} |`)
