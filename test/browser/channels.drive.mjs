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

const lines = async browser => (await browser.evaluate(
  "[...document.querySelectorAll('#entries .said')].map(item => item.textContent)"))
  .filter(line => line.startsWith('Driver') && line.endsWith(browser.kind))

export default {
  async 'examples/farm computes a picture, and another after zooming'({ browser, server }) {
    await browser.open(`${server.isolated}/examples/farm/index.html`)
    match(await untilText(browser, '#status', / rows$/), /; 800 rows$/)
    const drawn = () => browser.evaluate(() => {
      const { data } = document.querySelector('#picture').getContext('2d').getImageData(0, 0, 1200, 800)
      let painted = 0
      let sum = 0
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255) painted++
        sum = (sum * 31 + data[i + 2]) | 0
      }
      return { painted, sum }
    })
    // A frame shows the last rows.
    const shown = async isIt => {
      for (let looks = 0; looks < 200; looks++) {
        const picture = await drawn()
        if (picture.painted === 1200 * 800 && isIt(picture.sum)) return picture.sum
      }
      throw new Error('that picture is not shown')
    }
    const first = await shown(() => true)
    await browser.click('#picture')
    await untilText(browser, '#status', /computing/)
    await untilText(browser, '#status', / rows$/)
    await shown(sum => sum !== first)
    await browser.click('#back')
    await untilText(browser, '#status', /computing/)
    await untilText(browser, '#status', / rows$/)
    await shown(sum => sum === first)
  },

  async 'examples/farm can be cancelled during a picture'({ browser, server }) {
    await browser.open(`${server.isolated}/examples/farm/index.html`)
    await untilText(browser, '#status', / rows$/)
    await browser.evaluate(() => {
      const { pixels } = document.querySelector('#controls').elements
      pixels.value = '3000 2000'
      pixels.dispatchEvent(new Event('change'))
    })
    await untilText(browser, '#status', /computing/)
    await browser.evaluate(async () => {
      const progress = document.querySelector('#progress')
      while (progress.value < 0.01) await new Promise(resolve => setTimeout(resolve, 10))
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
