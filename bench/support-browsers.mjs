import { setTimeout as elapse } from 'node:timers/promises'
import { findBrowser } from '../test/browser/process.mjs'
import { serveTests } from '../test/browser/results.mjs'
import { browsers } from '../test/browser/run.mjs'

/** The browsers that the tests drive. */
export const kinds = Object.keys(browsers)

/**
 * Visits the installed ones of some browsers, one after another.
 *
 * @param {string[]} wanted
 * @param {(browser: import('../test/browser/run.mjs').Browser,
 *   server: Awaited<ReturnType<typeof serveTests>>) => Promise<void>} visit
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

/** Calls an export in the page without waiting for it, because browser drivers time out. */
function call(report, module, name, args) {
  import(module).then(all => all[name](...args)).then(value => ({ value }), error => ({ error: String(error) }))
    .then(found => fetch(report, { method: 'POST', body: JSON.stringify(found) }))
}

/**
 * Loads a page and calls an export of a module in it.
 *
 * @param {import('../test/browser/run.mjs').Browser} browser
 * @param {Awaited<ReturnType<typeof serveTests>>} server
 * @param {'isolated' | 'plain'} origin @param {string} module @param {string} name @param {any[]} args
 * @returns {Promise<any>} the result, converted to JSON and back
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

/** Yields keys until the page has reported, even if the page does not react. @param {Promise<any>} settled */
export function* keysUntil(settled) {
  let isSettled = false
  settled.finally(() => { isSettled = true }).catch(() => {})
  for (let typed = 0; !isSettled; typed++) yield typed % 9 === 8 ? ' ' : 'abcdefgh'[typed % 9]
}

/**
 * Types keys as a user does, whether the page reacts or not. The pauses are uneven, so that the keys do not
 * synchronize with frames or rounds.
 *
 * @param {import('../test/browser/run.mjs').Browser} browser @param {Iterable<string>} keys
 * @param {number} pause minimum pause between two keys, ms; the maximum is twice as long
 * @returns {Promise<number>} number of typed keys
 */
export async function type(browser, keys, pause) {
  let typed = 0
  let last = Promise.resolve()
  for (const key of keys) {
    // Chromium's driver waits until the page has handled a key. A user does not wait, so keys are sent in
    // parallel.
    const press = () => browser.press(key).catch(() => {})
    last = browser.kind === 'chromium' ? Promise.all([last, press()]) : last.then(press)
    typed++
    await elapse(pause * (1 + typed * 37 % 100 / 100))
  }
  await last
  return typed
}
