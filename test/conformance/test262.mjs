/**
 * Runs test262, the tests of the ECMAScript language, as rewritten programs:
 *
 *   node test/conformance/test262.mjs CHECKOUT [options]
 *     --under language,built-ins   directories below CHECKOUT/test
 *     --match PATTERN              a regular expression for paths
 *     --every 1                    runs each Nth test only
 *     --lanes 2                    processes at a time
 *     --apart                      runs each test in three processes only
 *     --results FILE               one line of JSON per test; a later run skips the tests that FILE names
 *
 * CHECKOUT is a clone of tc39/test262. Harness files are scripts; each test is the body of one function. The
 * function runs natively, rewritten and called plainly, and rewritten as a job, each time in a fresh realm,
 * because tests change the built-in objects. The harness is rewritten too. The three runs must end in the
 * same way.
 *
 * A realm of `vm` with the modules takes 4 ms, and a process 200 ms. So the three runs of a test share a
 * process that has realms first. If all three pass there, the test is equal. If one fails, the test runs
 * again in the main realms of three processes, and these decide.
 *
 * These tests are left out: negative tests, modules, raw scripts, tests of tail calls, and tests that fail
 * natively in this version of Node.
 *
 * Node 20.20.2, all 47,533 files: 34,738 equal, 4 differ, 12,791 left out (5,340 of them negative, modules,
 * raw or tail calls; 4,671 for Temporal or ShadowRealm). A test takes 20 ms of processor time. The four:
 *   Array.prototype.flatMap of a Proxy of an array reads `length` once more
 *   Function.prototype.toString shows the rewritten text of two classes
 *   for await over a list takes two more microtasks for each step
 */
import { execFile, fork } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { reasonToLeaveOut } from './test262-program.mjs'
/** @import { Outcome } from './test262-realms.mjs' */

const CHILD = fileURLToPath(new URL('test262-child.mjs', import.meta.url))
const REALMS = fileURLToPath(new URL('test262-realms.mjs', import.meta.url))
const FLAGS = ['--expose-gc', '--no-warnings']
/** Room for the garbage of a few realms, MB: collections take a fifth of the time otherwise. */
const REALM_FLAGS = [...FLAGS, '--max-semi-space-size=64']
/** ms for one run of one test. */
const TIMEOUT = 15_000
/** Maximum number of tests in one process with realms. Node keeps some memory of each realm. */
const MAX_TESTS = 200

const { positionals: [checkout], values } = parseArgs({
  allowPositionals: true,
  options: {
    under: { type: 'string', default: 'language,built-ins' },
    match: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '2' },
    apart: { type: 'boolean', default: false },
    results: { type: 'string', default: 'test262-results.jsonl' }
  }
})
if (checkout === undefined || !existsSync(join(checkout, 'harness'))) {
  console.log('the first argument must be a checkout of tc39/test262')
  process.exit(2)
}

/** @typedef {{ file: string, result: 'equal' | 'differs' | 'left out', reason: string }} Line */
/** @type {Line[]} */
const lines = existsSync(values.results)
  ? readFileSync(values.results, 'utf8').trim().split('\n').filter(Boolean).map(line => JSON.parse(line)) : []
const done = new Set(lines.map(({ file }) => file))
const files = testFiles()
const queue = files.filter(file => !done.has(file))
console.log(`${files.length} tests, ${files.length - queue.length} of them in ${values.results}`)

await Promise.all(Array.from({ length: Number(values.lanes) }, runLane))
summarize()

async function runLane() {
  const realms = realmsOfLane()
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const line = await lineOf(file, realms.outcomeOf)
    lines.push(line)
    appendFileSync(values.results, `${JSON.stringify(line)}\n`)
    if (line.result === 'differs') console.log(`${file}: ${line.reason}`)
    if (lines.length % 500 === 0) console.log(`${lines.length} tests, ${queue.length} to run`)
  }
  realms.end()
}

/**
 * @param {string} file
 * @param {(file: string) => Promise<Outcome>} outcomeInRealms
 * @returns {Promise<Line>}
 */
async function lineOf(file, outcomeInRealms) {
  const reason = reasonToLeaveOut(readFileSync(join(checkout, 'test', file), 'utf8'))
  if (reason !== null) return { file, result: 'left out', reason }
  if (!values.apart) {
    const { native, rewritten } = await outcomeInRealms(file)
    if (rewritten === 'passed') return { file, result: 'equal', reason: '' }
    if (isCertain(native)) return { file, result: 'left out', reason: `native: ${native}` }
  }
  const native = await runApart('native', file)
  if (native !== 'passed') return { file, result: 'left out', reason: `native: ${native}` }
  for (const mode of ['plain', 'job']) {
    const found = await runApart(mode, file)
    if (found !== 'passed') return { file, result: 'differs', reason: `${mode}: ${found}` }
  }
  return { file, result: 'equal', reason: '' }
}

/**
 * Whether a native run fails in each realm in the same way: by its syntax, by an import, which scripts
 * without a loader cannot make, or by a missing built-in object.
 *
 * @param {string} failure @returns {boolean}
 */
function isCertain(failure) {
  const [, name] = failure.match(/^ReferenceError: ([A-Z]\w*) is not defined$/) ?? []
  return /^SyntaxError|dynamic import callback/.test(failure) || name !== undefined && !(name in globalThis)
}

/** Runs the tests of one lane in processes with realms; see test262-realms.mjs. */
function realmsOfLane() {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child
  let count = 0
  const end = () => {
    child?.kill('SIGKILL')
    child = undefined
    count = 0
  }
  const outcomeOf = (/** @type {string} */ file) => new Promise(resolve => {
    if (count++ === MAX_TESTS) end()
    const current = child ??= fork(REALMS, [checkout], {
      execArgv: REALM_FLAGS, stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    const settle = (/** @type {any} */ outcome) => {
      clearTimeout(timer)
      current.removeAllListeners()
      if (typeof outcome !== 'object') end()
      resolve(typeof outcome === 'object' ? outcome : { native: 'no result', rewritten: '' })
    }
    const timer = setTimeout(settle, TIMEOUT)
    current.once('message', settle).once('exit', settle).once('error', settle)
    current.send(file)
  })
  return { outcomeOf, end }
}

/**
 * @param {string} mode 'native', 'plain' or 'job' @param {string} file
 * @returns {Promise<string>} 'passed', or the reason of the failure
 */
function runApart(mode, file) {
  const options = { timeout: TIMEOUT, killSignal: /** @type {const} */ ('SIGKILL') }
  return new Promise(resolve => {
    execFile(process.execPath, [...FLAGS, CHILD, mode, checkout, file], options, (error, stdout) => {
      if (stdout.startsWith('passed')) resolve('passed')
      else resolve(stdout.trim().split('\n')[0] || (error?.killed ? 'timed out' : 'no result'))
    })
  })
}

/** @returns {string[]} the paths of the wanted tests below CHECKOUT/test */
function testFiles() {
  const pattern = new RegExp(values.match)
  const all = values.under.split(',').flatMap(folder =>
    readdirSync(join(checkout, 'test', folder), { recursive: true }).map(name => join(folder, String(name))))
  return all.filter(file => /(?<!_FIXTURE)\.js$/.test(file) && pattern.test(file)).sort()
    .filter((_, index) => index % Number(values.every) === 0)
}

function summarize() {
  const wanted = new Set(files)
  const counts = { equal: 0, differs: 0, 'left out': 0 }
  for (const { file, result } of lines) if (wanted.has(file)) counts[result]++
  console.log(`\n${counts.equal} equal, ${counts.differs} differ, ${counts['left out']} left out`)
  process.exitCode = counts.differs > 0 ? 1 : 0
}
