import { deepEqual, equal, match } from 'node:assert/strict'
import { until } from './page-control.mjs'

/** Waits for an element whose text matches `pattern` and returns the text. */
const untilText = (browser, selector, pattern) => until(browser, async (selector, source) => {
  const pattern = new RegExp(source)
  // Some texts appear only for a moment.
  for (let looks = 0; looks < 20; looks++) {
    const text = document.querySelector(selector)?.textContent ?? ''
    if (pattern.test(text)) return text
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}, selector, pattern.source)

/** Runs in the page: chooses the size of the picture, which starts it. */
function choosePixels(size) {
  const { pixels } = document.querySelector('#controls').elements
  pixels.value = size
  pixels.dispatchEvent(new Event('change'))
}

/** Opens the farm and waits for its smallest picture. */
async function openFarm(browser, server) {
  await browser.open(`${server.isolated}/examples/farm/index.html`)
  await browser.evaluate(choosePixels, '600 400')
  return untilText(browser, '#status', /; 400 rows$/)
}

/**
 * Waits until the farm has computed a picture, and the picture is shown and differs from an earlier one.
 *
 * @returns {Promise<string>} the hash of the picture
 */
const shown = (browser, earlier) => until(browser, earlier => {
  if (!document.querySelector('#status').textContent.endsWith(' rows')) return ''
  const { width, height } = document.querySelector('#picture')
  const { data } = document.querySelector('#picture').getContext('2d').getImageData(0, 0, width, height)
  let hash = 0
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] < 255) return '' // a row is missing
    hash = (hash * 31 + data[i + 2]) | 0
  }
  return `${hash}` !== earlier && `${hash}`
}, earlier)

const lines = async browser => (await browser.evaluate(
  "[...document.querySelectorAll('#entries .said')].map(item => item.textContent)"))
  .filter(line => line.startsWith('Driver') && line.endsWith(browser.kind))

export default {
  async 'examples/farm computes a picture, and another after zooming'({ browser, server }) {
    match(await openFarm(browser, server), /^[\d.]+ s, /)
    const first = await shown(browser, '')
    await browser.click('#picture')
    const other = await shown(browser, first)
    await browser.click('#back')
    // The last frame of the other picture may have come after its text.
    let again = await shown(browser, other)
    while (again !== first) again = await shown(browser, again)
  },

  async 'examples/farm can be cancelled during a picture'({ browser, server }) {
    await openFarm(browser, server)
    await browser.evaluate(choosePixels, '3000 2000')
    await browser.evaluate(async () => {
      const isBusy = () => document.querySelector('#status').textContent.startsWith('computing') &&
        document.querySelector('#progress').value > 0
      while (!isBusy()) await new Promise(resolve => setTimeout(resolve))
      document.querySelector('#start').click()
    })
    match(await untilText(browser, '#status', /cancelled/), /cancelled after \d+ of 2000 rows/)
    equal(await browser.evaluate("document.querySelector('#start').textContent"), 'Start')
  },

  async 'examples/chat sends text typed while disconnected once'({ browser, server }) {
    await browser.open(`${server.isolated}/examples/chat/index.html?name=Driver`)
    await untilText(browser, '#status', /on the line$/)
    const say = text => browser.evaluate(text => {
      document.querySelector('#text').value = text
      document.querySelector('#form').requestSubmit()
    }, text)
    // The chat room keeps the messages of other browsers.
    const text = what => `${what} in ${browser.kind}`
    await say(text('before'))
    await untilText(browser, '#entries', new RegExp(text('before')))
    await browser.click('#cut')
    await untilText(browser, '#status', /^cut off/)
    await say(text('meanwhile'))
    await say(text('more'))
    await untilText(browser, '#entries', new RegExp(text('more')))
    deepEqual((await lines(browser)).slice(-3),
      ['before', 'meanwhile', 'more'].map(what => `Driver${text(what)}`))
    await untilText(browser, '#status', /^on the line$/)
  }
}
