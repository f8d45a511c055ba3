import { equal } from 'node:assert/strict'
import { firstExample } from '../readme/snippets.mjs'

/**
 * Inserts the first example into an empty document and focuses its field. An import map replaces the CDN.
 *
 * @param {string} example
 * @param {string} root the address of the modules
 */
async function paste(example, root) {
  const addresses = example.match(/https:\/\/esm\.sh\/[^']+/g)
  const imports = Object.fromEntries(addresses.map(address =>
    [address, `${root}/${address.match(/@[^/]+\/(\w+)$/)?.[1] ?? 'rt'}.mjs`]))
  const frame = document.createElement('iframe')
  frame.srcdoc = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>${example}`
  const loaded = new Promise(resolve => { frame.onload = resolve })
  document.body.append(frame)
  await loaded
  window.example = frame.contentDocument
  frame.contentWindow.focus()
  window.example.getElementById('field').focus()
}

/**
 * Waits for the answer to an input of 99.
 * @returns {Promise<string>} the result
 */
async function resultFor99() {
  const found = window.example.getElementById('found')
  while (!/ 99$/.test(found.value)) await new Promise(requestAnimationFrame)
  return found.value
}

export default {
  async 'the first example of the README shows the result for typed text'({ browser, server }) {
    await browser.open(`${server.plain}/test/browser/driver.html`)
    await browser.evaluate(paste, firstExample, server.plain)
    await browser.press('9')
    await browser.press('9')
    equal(await browser.evaluate(resultFor99), '544870 numbers contain 99')
  }
}
