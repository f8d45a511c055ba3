// Runs the tests that need a real browser, in Chromium and in Firefox:
//   <name>.page.mjs  a suite that runs in a page and in a worker, cross-origin isolated and not
//   <name>.drive.mjs tests that drive the browser; default export: { title({ browser, server }) {} }
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from './chromium.mjs'
import { firefox } from './firefox.mjs'
import { findBrowser, within } from './process.mjs'
import { serveTests } from './results.mjs'

/**
 * @typedef {object} Browser
 * @property {'chromium' | 'firefox'} kind
 * @property {string} name with its version
 * @property {number} pid of its first process; the others are of its group
 * @property {(url: string) => Promise<void>} open resolves when the page has loaded
 * @property {(script: string | Function, ...args: unknown[]) => Promise<any>} evaluate an expression, or a
 *   function called with `args`, in the page; waits for a promise
 * @property {(key: string) => Promise<void>} press one character or a named key, as if typed by a user
 * @property {(selector: string) => Promise<void>} click the middle of an element, as if by a user
 * @property {(width: number, height: number) => Promise<void>} resize the page; 500 is Firefox's least width
 * @property {(file: string) => Promise<void>} screenshot what is seen of the page, as PNG
 * @property {() => Promise<void>} hide the page behind another tab
 * @property {() => Promise<void>} show it again
 * @property {() => string[]} takeProblems errors on the console and uncaught ones since the last call; those
 *   that nobody catches in a worker are not among them in Firefox
 * @property {() => Promise<void>} close
 */

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')

/** How each browser is started. */
export const browsers = { chromium, firefox }

/**
 * @param {{ wanted?: (file: string) => boolean, required?: boolean, timeout?: number }} [options] `required`:
 *   a browser that is not there is a failure; `timeout`: ms per test
 * @returns {Promise<{ files: number, passed: number, failed: number, skipped: number }>}
 */
export async function runBrowsers({ wanted = () => true, required = false, timeout = 60_000 } = {}) {
  const files = readdirSync(here).filter(name => /\.(?:page|drive)\.mjs$/.test(name)).sort()
    .filter(name => wanted(`test/browser/${name}`))
  const total = { files: files.length, passed: 0, failed: 0, skipped: 0 }
  if (!files.length) return total

  const server = await serveTests()
  try {
    for (const kind of /** @type {const} */ (['chromium', 'firefox'])) {
      if (!findBrowser(kind)) {
        const result = required ? 'FAIL' : 'skip'
        console.log(`${result} ${kind} was not found, so these did not run in it: ${files.join(', ')}`)
        total[required ? 'failed' : 'skipped'] += files.length
        continue
      }
      const session = new Session(kind, server, timeout)
      for (const file of files) {
        const begin = performance.now()
        const results = await (file.endsWith('.page.mjs') ? session.runSuite(file) : session.runFile(file))
        if (!results.length) results.push({ title: file, error: 'no test ran' })
        const failures = results.filter(({ error }) => error)
        total.passed += results.length - failures.length
        total.failed += failures.length
        print(`test/browser/${file}, ${session.name}`, results.length, failures, performance.now() - begin)
      }
      await session.close()
    }
  } finally {
    await server.close()
  }
  return total
}

class Session {
  #kind
  #server
  #timeout
  /** @type {Browser | undefined} */
  #browser
  name

  constructor(kind, server, timeout) {
    this.#kind = kind
    this.#server = server
    this.#timeout = timeout
    this.name = kind
  }

  async runSuite(file) {
    const modules = readdirSync(root).filter(name => name.endsWith('.mjs')).join()
    const results = []
    for (const origin of /** @type {const} */ (['isolated', 'plain'])) {
      for (const scope of ['window', 'worker']) {
        const place = `${scope}, ${origin === 'plain' ? 'not ' : ''}isolated`
        await this.#attempt(place, results, async browser => {
          const { report, results: posted } = this.#server.expect(this.#timeout)
          const parameters = new URLSearchParams({ suite: file, scope, report, modules })
          // Nobody else listens if the page does not even load.
          posted.catch(() => {})
          await browser.open(`${this.#server[origin]}/test/browser/page.html?${parameters}`)
          const { tests, provoked, error } = await posted
          results.push(...tests.map(({ title, error }) => ({ title: `${place}: ${title}`, error })))
          if (error) throw new Error(error)
          return provoked
        }, true)
      }
    }
    return results
  }

  async runFile(file) {
    const results = []
    let tests
    try {
      tests = (await import(`./${file}`)).default
    } catch (error) {
      return [{ title: file, error: error.stack }]
    }
    for (const title in tests) {
      await this.#attempt(title, results, browser => tests[title]({ browser, server: this.#server }))
    }
    return results
  }

  /**
   * Any failure ends the browser, since nobody knows its state; the next attempt begins with a new one.
   * `work` may return the texts of the errors that it wanted on the console.
   */
  async #attempt(title, results, work, silent = false) {
    try {
      this.#browser ??= await browsers[this.#kind]()
      this.name = this.#browser.name
      const provoked = await within(work(this.#browser), this.#timeout, title) ?? []
      const problems = this.#browser.takeProblems()
        .filter(problem => !provoked.some(text => problem.includes(text)))
      if (problems.length) throw new Error(`errors on the console:\n${problems.join('\n')}`)
      await this.#browser.open('about:blank')
      if (!silent) results.push({ title })
    } catch (error) {
      const problems = this.#browser?.takeProblems() ?? []
      results.push({ title, error: [relevant(error.stack), ...problems].join('\n') })
      await this.close()
    }
  }

  async close() {
    await this.#browser?.close()
    this.#browser = undefined
  }
}

/** The stack without this runner and Node's own functions. */
function relevant(stack) {
  const own = /^ +at .*(?:node:|test\/(?:browser\/)?run\.mjs)/
  return stack.split('\n').filter(line => !own.test(line)).join('\n')
}

function print(name, count, failures, ms) {
  const passed = count - failures.length
  const counts = `${passed} passed${failures.length ? `, ${failures.length} failed` : ''}`
  console.log(`${failures.length ? 'FAIL' : 'ok  '} ${name}  ${counts}  ${(ms / 1000).toFixed(1)} s`)
  for (const { title, error } of failures) {
    console.log(`     ${title}\n       ${error.replaceAll('\n', '\n       ')}`)
  }
}
