import { deepEqual } from 'node:assert/strict'

/** @param {any} browser @param {any} server @param {string} when @returns {Promise<string[]>} the failures */
async function failuresAfterRemoval(browser, server, when) {
  const { report, results } = server.expect(60_000)
  results.catch(() => {})
  await browser.open(`${server.isolated}/test/browser/changed-builtins.html?${new URLSearchParams({ when, report })}`)
  return (await results).failures
}

export default {
  async 'every export works without iterators, removed before the import'({ browser, server }) {
    deepEqual(await failuresAfterRemoval(browser, server, 'before'), [])
  },

  async 'every export works without iterators, removed after the import'({ browser, server }) {
    deepEqual(await failuresAfterRemoval(browser, server, 'after'), [])
  }
}
