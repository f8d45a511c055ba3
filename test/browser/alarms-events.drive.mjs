import { deepEqual, equal, ok } from 'node:assert/strict'
import { until } from './page-control.mjs'

/** Tests that depend on the resolution of the clock, which is coarser in a page that is not isolated. */
const TIMED = /^keys release jobs|^the job of an event|^endless jobs/

/** Clicks into the text field and waits for the two click handlers of the document. */
async function focus(browser) {
  await browser.click('input')
  await browser.evaluate(() => logged(2))
}

/**
 * The value of the text field. A character is inserted after the jobs of its keydown event, so the value may
 * be incomplete at first.
 */
const typed = (browser, length) => until(browser, length => {
  const { value } = document.querySelector('input')
  return value.length >= length && value
}, length)

const tests = {
  async 'keys release jobs with the time of the press, in the order of deadlines'(browser) {
    await focus(browser)
    for (const key of ['r', 't', 'ArrowLeft', 'm']) {
      await browser.press(key)
      const expected = key === 'r' ? ['fast', 'once', 'slow'] : ['fast', 'slow']
      const entries = await browser.evaluate(count => logged(count), expected.length)
      deepEqual(entries.map(({ name }) => name), expected, key)
      for (const entry of entries) {
        const { key: pressed, trusted, released, queued } = entry
        deepEqual([pressed, trusted, released, queued], [key, true, true, true])
      }
    }
    equal(await typed(browser, 3), 'rmt')
  },

  async 'before() can prevent the default action of a key'(browser) {
    await focus(browser)
    for (const key of ['a', 'x', 'b']) await browser.press(key)
    const entries = await browser.evaluate(() => logged(7))
    deepEqual(entries.filter(({ prevented }) => prevented).map(({ key }) => key), ['x', 'x'])
    equal(await typed(browser, 2), 'ab')
  },

  async 'before() can prevent a submit and pass values to the job'(browser) {
    const address = await browser.evaluate('location.href')
    await focus(browser)
    await browser.press('v')
    await browser.evaluate(() => logged(3))
    await browser.click('button')
    // The click releases a job for each of the two handlers of the document.
    const entries = await browser.evaluate(() => logged(3))
    deepEqual(entries.find(({ name }) => name === 'submit'), { name: 'submit', target: 'form', value: 'v' })
    equal(await browser.evaluate('location.href'), address)
  },

  async 'clicks are handled by deadline, in any order of the listeners'(browser) {
    await browser.click('#pad')
    deepEqual(await browser.evaluate(() => logged(3)), [
      { name: 'inner', trusted: true, at: 'pad' }, { name: 'outer', trusted: true, at: '' },
      { name: 'captured', trusted: true, at: '' }
    ])
  },

  async 'a cancelled handler gets no event, while handlers with the same listener do'(browser) {
    await browser.evaluate(() => { window.end = listen() })
    const names = async count => {
      const entries = await browser.evaluate(count => logged(count), count)
      return entries.map(({ name }) => name)
    }
    await browser.click('#pad')
    deepEqual(await names(4), ['temporary', 'inner', 'outer', 'captured'])
    equal(await browser.evaluate('end()'), true)
    await browser.click('#pad')
    deepEqual(await names(3), ['inner', 'outer', 'captured'])
  },

  async 'the job of an event runs right after its last listener, before other tasks'(browser) {
    const followed = () => browser.evaluate(() => logged(3))
    await browser.evaluate(() => { follow('window', 'keyup') })
    await browser.click('#pad')
    await browser.evaluate(() => logged(3)) // the jobs of the click
    for (let n = 0; n < 4; n++) {
      await browser.press('a')
      deepEqual(await followed(), ['listener', 'job', 'task'], `keyup ${n}`)
    }
  },

  async 'jobs of dispatched and non-bubbling events run right after the last listener'(browser) {
    await browser.evaluate(() => {
      follow('input', 'blur')
      follow('window', 'note')
      follow('apart', 'note')
    })
    for (const place of ['window', 'apart']) {
      for (let n = 0; n < 3; n++) {
        await browser.evaluate(place => { dispatch(place, 'note') }, place)
        const entries = await browser.evaluate(() => logged(4))
        deepEqual(entries, ['listener', 'goes on', 'job', 'task'], `${place} ${n}`)
      }
    }
    await browser.evaluate(() => {
      const field = document.querySelector('input')
      for (let n = 0; n < 3; n++) {
        field.focus()
        field.blur()
      }
    })
    const entries = await browser.evaluate(() => logged(9))
    deepEqual(entries.slice(0, 6), ['listener', 'listener', 'listener', 'job', 'job', 'job'])
  },

  async 'endless jobs continue while events are handled'(browser) {
    const rounds = () => browser.evaluate('[...rounds]')
    const before = await rounds()
    await browser.click('#pad')
    await browser.evaluate(() => logged(3))
    const after = await rounds()
    ok(after.every((count, index) => count > before[index]), `${before} ${after}`)
  }
}

const inOrigin = (origin, run) => async ({ browser, server }) => {
  await browser.open(`${server[origin]}/test/browser/alarms-events.html`)
  await run(browser)
}

export default Object.fromEntries(Object.entries(tests).flatMap(([title, run]) => [
  [title, inOrigin('isolated', run)],
  ...TIMED.test(title) ? [[`${title}, not isolated`, inOrigin('plain', run)]] : []
]))
