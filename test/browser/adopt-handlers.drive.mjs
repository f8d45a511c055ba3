// Handlers that elements have before the adoption, or get by an attribute: an event adopts them on its path.
import { deepEqual, equal } from 'node:assert/strict'

/** Opens a page with elements, and adopts it. */
async function open({ browser, server }, html) {
  await browser.open(`${server.isolated}/test/browser/driver.html`)
  await browser.evaluate(async html => {
    window.log = []
    document.body.innerHTML = html
    const { adopt } = await import('/addons/adopt.mjs')
    window.before = document.querySelector('[onclick]')?.onclick
    window.adoption = adopt(globalThis, { warn: false })
  }, html)
}
/** The finished calls of the handlers in attributes. The driver has listeners of its own. */
const calls = browser => browser.evaluate(() => adoption.report().filter(({ name }) => /^on/.test(name))
  .map(({ kind, calls }) => `${kind} ${calls}`).sort())
const log = browser => browser.evaluate('log.splice(0)')

export default {
  async 'adopt takes over the handlers on the path of an event, and calls each once'(context) {
    const { browser } = context
    await open(context, '<div onclick="log.push(\'outer\')"><button onclick="log.push(\'inner\')">press</button></div>')
    for (let i = 0; i < 2; i++) await browser.click('button')
    deepEqual(await log(browser), ['inner', 'outer', 'inner', 'outer'])
    deepEqual(await calls(browser), ['click 2', 'click 2'])
  },

  async 'adopt takes over handlers of events that do not bubble, also in open shadow trees'(context) {
    const { browser } = context
    await open(context, '<input onfocus="log.push(\'focus\')"><p></p>')
    await browser.evaluate(async () => {
      const root = document.querySelector('p').attachShadow({ mode: 'open' })
      root.innerHTML = '<input onfocus="log.push(\'shadow\')">'
      document.querySelector('input').focus()
      root.querySelector('input').focus()
      document.body.insertAdjacentHTML('beforeend', '<img onload="log.push(\'load\')" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">')
      while (!log.includes('load')) await new Promise(resolve => setTimeout(resolve, 5))
    })
    deepEqual(await log(browser), ['focus', 'shadow', 'load'])
    deepEqual(await calls(browser), ['focus 1', 'focus 1', 'load 1'])
  },

  async 'adopt takes over a handler that an attribute has replaced'(context) {
    const { browser } = context
    await open(context, '<button id="one" onclick="log.push(\'first\')">press</button>')
    await browser.click('button')
    await browser.evaluate(() => document.querySelector('button').setAttribute('onclick', "log.push('a longer second')"))
    for (let i = 0; i < 2; i++) await browser.click('button')
    deepEqual(await log(browser), ['first', 'a longer second', 'a longer second'])
    deepEqual(await calls(browser), ['click 1', 'click 2'])
    const places = () => adoption.report().filter(({ name }) => /^on/.test(name)).map(({ where }) => where)
    deepEqual(await browser.evaluate(places), ['button#one', 'button#one'])
  },

  async 'a handler that was taken over keeps its order and is restored by release'(context) {
    const { browser } = context
    await open(context, '<button onclick="log.push(\'handler\')">press</button>')
    await browser.evaluate(() => document.querySelector('button').addEventListener('click', () => log.push('listener')))
    await browser.click('button')
    deepEqual(await log(browser), ['handler', 'listener'])
    equal(await browser.evaluate(() => document.querySelector('button').onclick === before), true)
    await browser.evaluate(() => { adoption.release() })
    equal(await browser.evaluate(() => document.querySelector('button').onclick === before), true)
    await browser.click('button')
    deepEqual(await log(browser), ['handler', 'listener'])
    deepEqual(await calls(browser), ['click 1'])
  },

  async 'adopt reads no handlers of elements before an event reaches them'(context) {
    const { browser } = context
    await open(context, '<button>press</button>')
    const count = await browser.evaluate(async () => {
      adoption.release()
      let reads = 0
      Object.defineProperty(document.querySelector('button'), 'onclick', { get: () => { reads++ } })
      const { adopt } = await import('/addons/adopt.mjs')
      window.adoption = adopt(globalThis, { warn: false })
      return reads
    })
    equal(count, 0)
  }
}
