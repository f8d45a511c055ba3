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
