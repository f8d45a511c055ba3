import { equal } from 'node:assert/strict'
import { firstExample } from '../readme/snippets.mjs'

/**
 * Pastes a module script into an empty document. An import map stands for the CDN.
 *
 * @param {string} script @param {string} address of rt.mjs @returns {Promise<string>} the text on the console
 */
function paste(script, address) {
  const [, cdn] = script.match(/'(https:[^']+)'/)
  const frame = document.createElement('iframe')
  const output = new Promise(resolve => { window.onmessage = ({ data }) => resolve(data) })
  frame.srcdoc = `<script>console.log = value => parent.postMessage(String(value), '*')</script>
    <script type="importmap">${JSON.stringify({ imports: { [cdn]: address } })}</script>
    <script type="module">${script}</script>`
  document.body.append(frame)
  return output
}

export default {
  async 'the first example of the README prints its sum when it is pasted into a page'({ browser, server }) {
    await browser.open(`${server.plain}/test/browser/driver.html`)
    const output = await browser.evaluate(paste, firstExample, `${server.plain}/rt.mjs`)
    equal(Math.round(Number(output) * 1000), 1535)
  }
}
