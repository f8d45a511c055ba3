// Runs the tests that need a real browser, in Chromium, Firefox and WebKit:
//   <name>.page.mjs  a suite that runs in a page and in a worker, cross-origin isolated and not
//   <name>.drive.mjs tests that drive the browser; default export: { title({ browser, server }) {} }
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from './chromium.mjs'
import { firefox } from './firefox.mjs'
import { webkit } from './webkit.mjs'
import { withoutUnfinished } from './page-control.mjs'
import { findBrowser, within } from './process.mjs'
import { serveTests } from './results.mjs'

/**
 * @typedef {object} Browser
 * @property {'chromium' | 'firefox' | 'webkit'} kind
 * @property {string} name the name and the version
 * @property {number} pid the id of the first process, which leads the process group
 * @property {(url: string) => Promise<void>} open resolves when the page has loaded
 * @property {(script: string | Function, ...args: unknown[]) => Promise<any>} evaluate evaluates an
 *   expression or calls a function with `args` in the page, and awaits the result
 * @property {<T>(categories: string[], work: () => Promise<T>) => Promise<{ result: T, events: any[] }>}
 *   [trace] records the trace events during `work`; Chromium only
 * @property {(key: string) => Promise<void>} press presses a character or a named key, like a user
 * @property {(key: string) => Promise<void>} command presses Control and a key of `commands`, like a user
 * @property {(selector: string) => Promise<void>} click clicks the middle of an element, like a user
 * @property {(width: number, height: number) => Promise<void>} resize resizes the page; the least width in
 *   Firefox is 500
 * @property {(file: string) => Promise<void>} screenshot writes the visible part of the page to a PNG file
 * @property {undefined | (() => Promise<void>)} hide hides the page behind another tab; `undefined` in WebKit
 * @property {undefined | (() => Promise<void>)} show shows the page again
 * @property {() => string[] | Promise<string[]>} takeProblems returns the console errors and the uncaught
 *   errors since the last call. Uncaught errors of workers are missing in Firefox, all errors of workers in
 *   WebKit.
 * @property {() => Promise<void>} close
 */

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
/** Tests that need most of a processor, so they run one at a time. */
const measuring = /^(?:hidden|load)\./
/**
 * Number of tests that run at the same time. They wait for timers, frames and polls for half of their time, so
 * four of them keep two cores busy. Tests of one file run at the same time too, so that no file runs alone at the
 * end.
 */
const LANES = 4

/** The places of a suite: a scope, and whether the page is cross-origin isolated. */
const EVERYWHERE = [['window', 'isolated'], ['worker', 'isolated'], ['window', 'plain'], ['worker', 'plain']]
/** The places for code that depends on the scope, but not on isolation: each origin occurs once. */
const IN_SCOPES = [['window', 'isolated'], ['worker', 'plain']]
/** The places of the suites that do not depend on all of them. */
const PLACES = {
  'adopt.page.mjs': IN_SCOPES,
  // A page that is not isolated has no shared memory; nothing else of the suite depends on isolation.
  'channels.page.mjs': [['window', 'isolated'], ['worker', 'isolated'], ['window', 'plain']],
  'importing-modules.page.mjs': IN_SCOPES,
  // Locks of shared memory need isolation, and no other test of the suite depends on it.
  'kills.page.mjs': [['window', 'isolated'], ['worker', 'isolated']],
  'preemptify.page.mjs': IN_SCOPES,
  // Scripts need a document.
  'rewritten.page.mjs': [['window', 'isolated']],
  'scheduler.page.mjs': IN_SCOPES,
  'workers.page.mjs': IN_SCOPES
}

/** Maximum number of tests that may pass only on the second try: more show a defect, not a busy machine. */
const MAX_FLAKY = 3

/** The functions that start the browsers. */
export const browsers = { chromium, firefox, webkit }

/**
 * Runs tests in all browsers. A failed test is repeated at the end, alone in a new browser after a pause,
 * because a busy machine can cause failures. If it passes then, it is counted as passed and as flaky. Flaky
 * tests are printed last.
 *
 * @param {{ wanted?: (file: string) => boolean, required?: boolean, timeout?: number, pause?: number, lanes?: number,
 *   engines?: Record<string, () => Promise<Browser>>, found?: (kind: any) => unknown, directory?: string }}
 *   [options]
 *   `required`: whether a missing browser is a failure. `timeout`: ms per test. `pause`: ms before a
 *   repetition. `lanes`: the number of tests that run at the same time. `engines`, `found` and `directory`
 *   replace the browsers, their detection and the tests.
 * @returns {Promise<{ files: number, passed: number, failed: number, skipped: number, flaky: number }>}
 */
export async function runBrowsers({
  wanted = () => true, required = false, timeout = process.env.SEEDS ? 1_200_000 : 300_000, pause = 5000,
  lanes = LANES, engines = browsers, found = findBrowser, directory = here
} = {}) {
  const files = readdirSync(directory).filter(name => /\.(?:page|drive)\.mjs$/.test(name)).sort()
    .filter(name => wanted(`test/browser/${name}`))
  const total = { files: files.length, passed: 0, failed: 0, skipped: 0, flaky: 0 }
  if (!files.length) return total

  const isThere = kind => {
    if (found(kind)) return true
    const result = required ? 'FAIL' : 'skip'
    console.log(`${result} ${kind} was not found, so these did not run in it: ${files.join(', ')}`)
    total[required ? 'failed' : 'skipped'] += files.length
  }
  const runs = Object.keys(engines).filter(isThere).flatMap(kind => files.map(file => ({ kind, file })))
  const server = await serveTests()
  const again = []
  /** Adds the results of a test, and prints the file after its last test. */
  const note = ({ run, attempt }, results, ms, name) => {
    const errors = results.filter(({ error }) => error)
    if (errors.length) again.push({ ...run, attempt })
    else if (results.some(({ isSkipped }) => isSkipped)) run.skipped++
    else run.passed += results.length
    run.failures.push(...errors)
    run.ms += ms
    if (--run.left > 0) return
    total.passed += run.passed
    total.skipped += run.skipped
    print(run.failures.length ? 'once' : 'ok  ', `${run.file}, ${name}`, run.passed, run.failures, run.ms, run.skipped)
  }
  const lane = async queue => {
    let session
    while (queue.length) {
      const { run, attempt } = queue.shift()
      if (session?.kind !== run.kind) {
        await session?.close()
        session = new Session(run.kind, engines[run.kind], timeout, pause)
      }
      const begin = performance.now()
      const results = await session.run(attempt)
      note({ run, attempt }, results, performance.now() - begin, session.name)
    }
    await session?.close()
  }
  try {
    const tests = []
    for (const { kind, file } of runs) {
      const all = await attempts(join(directory, file), server, timeout)
      const run = { kind, file, left: all.length, passed: 0, skipped: 0, failures: [], ms: 0 }
      tests.push(...all.map(attempt => ({ run, attempt })))
    }
    const quick = tests.filter(({ run }) => !measuring.test(run.file))
    await Promise.all(Array.from({ length: lanes }, () => lane(quick)))
    await lane(tests.filter(({ run }) => measuring.test(run.file)))
    const flaky = []
    for (const { kind, file, attempt } of again) {
      await elapse(pause)
      const begin = performance.now()
      const session = new Session(kind, engines[kind], timeout, pause)
      const results = await session.run(attempt)
      await session.close()
      const failures = results.filter(({ error }) => error)
      total.passed += results.length - failures.length
      total.failed += failures.length
      const name = `${file}, ${session.name}, ${attempt.title}`
      const ms = performance.now() - begin
      if (!failures.length) flaky.push({ name, passed: results.length, ms })
      else print('FAIL', name, results.length - failures.length, failures, ms)
    }
    total.flaky = flaky.length
    for (const { name, passed, ms } of flaky) {
      print('flaky: passed on the second try:', name, passed, [], ms)
    }
    if (flaky.length > MAX_FLAKY) {
      total.failed++
      console.log(`FAIL ${flaky.length} tests passed on the second try, at most ${MAX_FLAKY} may`)
    }
  } finally {
    await server.close()
  }
  return total
}

/**
 * The parts of a test file that run separately: the places of a suite, or the tests of a drive.
 *
 * @typedef {{ title: string, isSuite?: boolean, work: (browser: Browser, results: object[]) => any }} Attempt
 *   `work` may return the texts of the console errors that the test causes on purpose, or false if the
 *   browser does not support the test. A suite adds its own results.
 * @returns {Promise<Attempt[]>}
 */
async function attempts(path, server, timeout) {
  if (path.endsWith('.page.mjs')) {
    return (PLACES[basename(path)] ?? EVERYWHERE).map(([scope, origin]) => place(path, origin, scope))
  }
  try {
    const tests = (await import(pathToFileURL(path).href)).default
    if (!Object.keys(tests).length) throw new Error('no test was found')
    return Object.keys(tests).map(title => ({ title, work: browser => tests[title]({ browser, server }) }))
  } catch (error) {
    return [{ title: 'import', work() { throw error } }]
  }

  function place(path, origin, scope) {
    const title = `${scope}, ${origin === 'plain' ? 'not ' : ''}isolated`
    const work = async (browser, results) => {
      const modules = readdirSync(root).filter(name => name.endsWith('.mjs')).join()
      const { report, results: posted } = server.expect(timeout)
      const { SEED = '', SEEDS = '' } = process.env
      const parameters = new URLSearchParams({ suite: basename(path), scope, report, modules, SEED, SEEDS })
      // If the page does not load, no other code handles the rejection.
      posted.catch(() => {})
      await browser.open(`${server[origin]}/test/browser/page.html?${parameters}`)
      const { tests, provoked, error } = await posted
      results.push(...tests.map(({ title: name, error }) => ({ title: `${title}: ${name}`, error })))
      if (error) throw new Error(error)
      if (!tests.length) throw new Error('no test ran')
      return provoked
    }
    return { title, isSuite: true, work }
  }
}

class Session {
  #start
  #timeout
  #pause
  /** @type {Browser | undefined} */
  #browser
  kind
  name

  constructor(kind, start, timeout, pause) {
    this.kind = kind
    this.name = kind
    this.#start = start
    this.#timeout = timeout
    this.#pause = pause
  }

  /**
   * Runs a test. After a failure the state of the browser is unknown, so the next test starts a new browser.
   */
  async run({ title, isSuite, work }) {
    const results = []
    try {
      this.#browser ??= await this.#started()
      this.name = this.#browser.name
      const provoked = await within(work(this.#browser, results), this.#timeout, title)
      const problems = await this.#browser.takeProblems()
      await this.#browser.open('about:blank')
      // The last messages of a page can arrive after its test.
      problems.push(...await this.#browser.takeProblems())
      const unexpected = withoutUnfinished(problems)
        .filter(problem => !provoked || !provoked.some(text => problem.includes(text)))
      if (unexpected.length) throw new Error(`errors on the console:\n${unexpected.join('\n')}`)
      if (!isSuite) results.push({ title, isSkipped: provoked === false })
    } catch (error) {
      const problems = await new Promise(resolve => resolve(this.#browser?.takeProblems())).catch(() => []) ?? []
      results.push({ title, error: [relevant(error.stack), ...problems].join('\n') })
    }
    if (results.some(({ error }) => error)) await this.close()
    return results
  }

  async #started() {
    try {
      return await this.#start()
    } catch (error) {
      console.log(`${this.name} did not start, and is started again: ${error.message}`)
      await elapse(this.#pause)
      return this.#start()
    }
  }

  async close() {
    await this.#browser?.close()
    this.#browser = undefined
  }
}

/** The stack without the functions of this runner and of Node. */
function relevant(stack) {
  const own = /^ +at .*(?:node:|test\/(?:browser\/)?run\.mjs)/
  return stack.split('\n').filter(line => !own.test(line)).join('\n')
}

function print(outcome, name, passed, failures, ms, skipped = 0) {
  const counts = `${passed} passed${failures.length ? `, ${failures.length} failed` : ''}${skipped ? `, ${skipped} skipped` : ''}`
  console.log(`${outcome} test/browser/${name}  ${counts}  ${(ms / 1000).toFixed(1)} s`)
  for (const { title, error } of failures) {
    console.log(`     ${title}\n       ${error.replaceAll('\n', '\n       ')}`)
  }
}
