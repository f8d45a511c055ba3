/**
 * Runs test262, the tests of the ECMAScript language, as rewritten programs:
 *
 *   node test/conformance/test262.mjs CHECKOUT [options]
 *     --under language,built-ins   directories below CHECKOUT/test
 *     --match PATTERN              a regular expression for paths
 *     --every 1                    runs each Nth test only
 *     --lanes 2                    processes at a time
 *     --results FILE               one line of JSON per test; a later run skips the tests that FILE names
 *
 * CHECKOUT is a clone of tc39/test262. Each test is the body of one function, together with its harness
 * files. The function runs natively, rewritten and called plainly, and rewritten as a job, each time in the
 * main realm of its own process, because tests change the built-in objects. The three runs must end in the
 * same way.
 *
 * These tests are left out: negative tests, modules, raw scripts, tests of tail calls, and tests that fail
 * natively in this version of Node. All 47,500 files take about six hours on two cores.
 */
import { execFile } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const CHILD = fileURLToPath(new URL('test262-child.mjs', import.meta.url))
/** ms for one run of one test. */
const TIMEOUT = 15_000

const { positionals: [checkout], values } = parseArgs({
  allowPositionals: true,
  options: {
    under: { type: 'string', default: 'language,built-ins' },
    match: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '2' },
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
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const line = await outcomeOf(file)
    lines.push(line)
    appendFileSync(values.results, `${JSON.stringify(line)}\n`)
    if (line.result === 'differs') console.log(`${file}: ${line.reason}`)
    if (lines.length % 500 === 0) console.log(`${lines.length} tests, ${queue.length} to run`)
  }
}

/** @param {string} file @returns {Promise<Line>} */
async function outcomeOf(file) {
  const reason = reasonToLeaveOut(readFileSync(join(checkout, 'test', file), 'utf8'))
  if (reason !== null) return { file, result: 'left out', reason }
  const native = await run('native', file)
  if (native !== 'passed') return { file, result: 'left out', reason: `native: ${native}` }
  for (const mode of ['plain', 'job']) {
    const found = await run(mode, file)
    if (found !== 'passed') return { file, result: 'differs', reason: `${mode}: ${found}` }
  }
  return { file, result: 'equal', reason: '' }
}

/** @param {string} text the source of the test @returns {string | null} */
function reasonToLeaveOut(text) {
  const [, head = ''] = text.match(/\/\*---([^]*?)---\*\//) ?? []
  if (/^negative:/m.test(head)) return 'negative'
  const [, flags = ''] = head.match(/^flags: *\[(.*?)\]/m) ?? []
  const flag = flags.split(',').map(name => name.trim()).find(name => ['module', 'raw'].includes(name))
  if (flag !== undefined) return flag
  return /tail-call-optimization/.test(head) ? 'tail calls' : null
}

/**
 * @param {string} mode 'native', 'plain' or 'job' @param {string} file
 * @returns {Promise<string>} 'passed', or the reason of the failure
 */
function run(mode, file) {
  const options = { timeout: TIMEOUT, killSignal: /** @type {const} */ ('SIGKILL') }
  return new Promise(resolve => {
    execFile(process.execPath, ['--expose-gc', '--no-warnings', CHILD, mode, checkout, file], options,
      (error, stdout) => {
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
