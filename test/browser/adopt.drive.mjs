import { deepEqual, equal } from 'node:assert/strict'

const logged = (browser, last) => browser.evaluate(last => logged(last), last)

/** Opens the page, and waits until its script has run. */
async function open({ browser, server }) {
  await browser.open(`${server.isolated}/test/browser/adopt.html`)
  await browser.evaluate(async () => { while (!window.isReady) await new Promise(resolve => { setTimeout(resolve, 5) }) })
  return browser
}

const long = (name, ...more) => [`${name}0`, `${name}1`, `${name}2`, `${name} true true`, ...more]

export default {
  async 'keys: a listener goes on after its event, the next one waits for it, and defaults are prevented'(context) {
    const browser = await open(context)
    await browser.click('input')
    for (const key of ['a', 'x', 'b']) {
      await browser.press(key)
      if (key !== 'x') deepEqual(await logged(browser, 'after input'), long('input', 'after input'))
    }
    equal(await browser.evaluate(() => document.querySelector('input').value), 'ab')
  },

  async 'clicks: a form is not sent that a listener keeps, and what its script waits for has happened'(context) {
    const browser = await open(context)
    const address = await browser.evaluate('location.href')
    await browser.click('button')
    deepEqual(await logged(browser, 'focused'), [...long('submit'), ...long('focus'), 'focused'])
    await browser.click('a')
    deepEqual(await logged(browser, 'link true true'), long('link'))
    equal(await browser.evaluate('location.href'), address)
  },

  async 'the report names them, and after the release they are the page\'s own'(context) {
    const browser = await open(context)
    await browser.click('a')
    await logged(browser, 'link true true')
    const rows = await browser.evaluate(() => adoption.report())
    const here = rows.filter(({ kind, where }) => kind === 'click' && /^a$|adopt\.html:\d+$/.test(where))
    deepEqual(here.map(({ calls }) => calls), [1, 1]) // the handler, which is named by its element, and the listener
    await browser.evaluate(() => { adoption.release() })
    await browser.click('a')
    deepEqual(await logged(browser, 'link true true'), long('link'))
    equal(await browser.evaluate(() => String(document.links[0].onclick)), '() => false')
  }
}
