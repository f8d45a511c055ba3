import { setTimeout as elapse } from 'node:timers/promises'
import { findBrowser } from '../test/browser/process.mjs'
import { serveTests } from '../test/browser/results.mjs'
import { browsers } from '../test/browser/run.mjs'

/** The browsers that the tests drive. */
export const kinds = Object.keys(browsers)

/**
 * Visits each of some browsers that is there, one after the other.
 *
 * @param {string[]} wanted
 * @param {(browser: import('../test/browser/run.mjs').Browser, server: Awaited<ReturnType<typeof serveTests>>) => Promise<void>} visit
 */
export async function eachBrowser(wanted, visit) {
  const server = await serveTests()
  try {
    for (const kind of wanted) {
      if (!findBrowser(/** @type {any} */ (kind))) {
        console.log(`${kind} was not found\n`)
        continue
      }
      const browser = await browsers[kind]()
      try {
        await visit(browser, server)
      } finally {
        await browser.close()
      }
    }
  } finally {
    await server.close()
  }
}

/** Runs in the page, which is not waited for: drivers lose patience. */
function call(report, module, name, args) {
  import(module).then(all => all[name](...args)).then(value => ({ value }), error => ({ error: String(error) }))
    .then(found => fetch(report, { method: 'POST', body: JSON.stringify(found) }))
}

/**
 * Loads a page and calls there what a module exports.
 *
 * @param {import('../test/browser/run.mjs').Browser} browser @param {Awaited<ReturnType<typeof serveTests>>} server
 * @param {'isolated' | 'plain'} origin @param {string} module @param {string} name @param {any[]} args
 * @returns {Promise<any>} what it gives, as far as JSON can tell
 */
export async function callIn(browser, server, origin, module, name, ...args) {
  const { report, results } = server.expect(300_000)
  results.catch(() => {})
  await browser.open(`${server[origin]}/test/browser/driver.html`)
  await browser.evaluate(call, report, module, name, args)
  const { value, error } = await results
  if (error) throw new Error(`${name} of ${module}, ${args.slice(0, 2).join(', ')}: ${error}`)
  return value
}

/** Until the page has reported, whether it answers or not. @param {Promise<any>} settled */
export function* keysUntil(settled) {
  let isSettled = false
  settled.finally(() => { isSettled = true }).catch(() => {})
  for (let typed = 0; !isSettled; typed++) yield typed % 9 === 8 ? ' ' : 'abcdefgh'[typed % 9]
}

/**
 * Types keys, as a user does: whether the page answers or not, and unevenly, so that they do not fall into step with frames or
 * rounds.
 *
 * @param {import('../test/browser/run.mjs').Browser} browser @param {Iterable<string>} keys @param {number} pause ms at least; twice that at most
 * @returns {Promise<number>} how many
 */
export async function type(browser, keys, pause) {
  let typed = 0
  let last = Promise.resolve()
  for (const key of keys) {
    // Chromium's driver waits for the page to take a key; a user does not.
    const press = () => browser.press(key).catch(() => {})
    last = browser.kind === 'chromium' ? Promise.all([last, press()]) : last.then(press)
    typed++
    await elapse(pause * (1 + typed * 37 % 100 / 100))
  }
  await last
  return typed
}
