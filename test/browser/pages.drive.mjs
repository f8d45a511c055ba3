// Pages of frameworks with controlled fields, in their production builds: an adopted page ends with the text
// and the state of the plain page. test/pages has the apps.
import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as elapse } from 'node:timers/promises'
import { until } from './page-control.mjs'
import { builtPages } from '../support/pages.mjs'

const FRAMEWORKS = ['react', 'vue', 'svelte', 'preact', 'solid']
const KEYS = 'abcdefgh bcd'
/** The time between two keys and the work per key, ms. */
const PAUSE = 50, WORK = 100

async function open(browser, server, query) {
  await browser.open(`${server.isolated}/test/pages/index.html?${new URLSearchParams(query)}`)
  const state = await until(browser, () => window.measured?.state !== 'loading' && window.measured?.state)
  equal(state, 'ready')
  await until(browser, () => document.querySelector('input, button') !== null)
}

/** Presses keys in even intervals, even if the page does not answer. */
async function type(browser, keys) {
  let last = Promise.resolve()
  for (const key of keys) {
    const press = () => browser.press(key)
    last = browser.kind === 'chromium' ? Promise.all([last, press()]) : last.then(press)
    await elapse(PAUSE)
  }
  await last
}

async function typed(browser, server, app, way) {
  await open(browser, server, { app, way, work: WORK })
  await browser.evaluate(() => document.querySelector('input').focus())
  await type(browser, KEYS)
  await until(browser, count => measured.answers >= count, KEYS.length)
  await elapse(500)
  return browser.evaluate(() => {
    const { answers, errors } = measured
    const [field, shown] = ['input', 'output'].map(name => document.querySelector(name))
    return { field: field.value, shown: shown.textContent, answers, errors }
  })
}

const expected = { field: KEYS, shown: KEYS, answers: KEYS.length, errors: [] }

/** A click while React renders a transition. */
async function clicked(browser, server, way) {
  await open(browser, server, { app: 'react', mount: 'mountList', way, work: WORK })
  await browser.click('#fill')
  await browser.click('#click')
  await browser.click('#click')
  await until(browser, () => document.querySelector('li:last-child').textContent === '1.19')
  return browser.evaluate(() => ({
    clicks: document.querySelector('output').textContent,
    items: [...document.querySelectorAll('li')].map(({ textContent }) => textContent).join(),
    answers: measured.answers,
    errors: measured.errors
  }))
}

const items = Array.from({ length: 20 }, (_, i) => `1.${i}`).join()

export default {
  ...Object.fromEntries(FRAMEWORKS.flatMap(app => ['plain', 'adopted'].map(way => [
    `a controlled field of ${app} keeps every character, ${way}`,
    async ({ browser, server }) => {
      if (!await builtPages()) return false
      deepEqual(await typed(browser, server, app, way), expected)
    }
  ]))),
  ...Object.fromEntries(['plain', 'adopted'].map(way => [
    `clicks during a render of React take effect once, ${way}`,
    async ({ browser, server }) => {
      if (!await builtPages()) return false
      deepEqual(await clicked(browser, server, way), { clicks: '2', items, answers: 2, errors: [] })
    }
  ]))
}
