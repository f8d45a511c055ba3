// Pages of frameworks with controlled fields, in their production builds: an adopted page ends with the text
// and the state of the plain page. test/pages has the apps.
import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as elapse } from 'node:timers/promises'
import { until } from './page-control.mjs'
import { builtPages } from '../support/pages.mjs'

const FRAMEWORKS = ['react', 'vue', 'svelte', 'preact', 'solid']
const KEYS = 'abcd bcd'
/** The time between two keys and the work per key, ms. */
const PAUSE = 30, WORK = 60

async function open(browser, server, query) {
  await browser.open(`${server.isolated}/test/pages/index.html?${new URLSearchParams(query)}`)
  const state = await until(browser, () => window.measured?.state !== 'loading' && window.measured?.state)
  equal(state, 'ready')
}

/** Mounts another part of the app. The page is loaded once, because rewriting React takes seconds. */
async function mount(browser, name, work) {
  await browser.evaluate((name, work) => { window.mount(name, work) }, name, work)
  await until(browser, () => document.querySelector('button, textarea') !== null)
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

/** Runs in the page: a late render would change a field within three frames. */
const severalFrames = async () => {
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame)
}

async function typed(browser) {
  await until(browser, () => document.querySelector('input') !== null)
  await browser.evaluate(() => document.querySelector('input').focus())
  await type(browser, KEYS)
  await until(browser, keys => measured.answers >= keys.length && document.querySelector('output').textContent === keys, KEYS)
  await browser.evaluate(severalFrames)
  return browser.evaluate(() => {
    const { answers, errors } = measured
    const [field, shown] = ['input', 'output'].map(name => document.querySelector(name))
    return { field: field.value, shown: shown.textContent, answers, errors }
  })
}

const expected = { field: KEYS, shown: KEYS, answers: KEYS.length, errors: [] }

/** The edits of all kinds of fields while a timer renders them: the state that the page shows. */
async function edited(browser) {
  await mount(browser, 'mountForm', WORK / 2)
  await browser.click('#area')
  await type(browser, 'abcd')
  await until(browser, () => document.querySelector('#area').value === 'abcd') // Firefox delivers keys later than commands and clicks
  for (const key of ['a', 'x', 'v', 'v', 'z']) await browser.command(key)
  if (browser.compose) await browser.compose(['n', 'ni', 'nih', 'niho'], 'niho')
  await type(browser, 'e')
  await until(browser, () => document.querySelector('#area').value.endsWith('e'))
  for (let i = 0; i < 3; i++) await browser.click('#box')
  await browser.evaluate(() => document.querySelector('#choice').focus())
  await type(browser, 'b') // a second key would search for both letters if it came in time
  await until(browser, () => document.querySelector('#choice').value === 'b')
  await browser.click('#rich')
  await type(browser, 'fghi')
  await until(browser, () => {
    const [area, box, choice, rich] = ['#area', '#box', '#choice', '#rich'].map(name => document.querySelector(name))
    const state = { area: area.value, box: box.checked, choice: choice.value, rich: rich.textContent }
    return rich.textContent.length === 4 && document.querySelector('output').textContent === JSON.stringify(state)
  })
  return browser.evaluate(() => ({ ...JSON.parse(document.querySelector('output').textContent), errors: measured.errors }))
}

/** A click while React renders a transition. */
async function clicked(browser) {
  await mount(browser, 'mountList', WORK)
  await browser.click('#fill')
  await browser.click('#click')
  await browser.click('#click')
  await until(browser, () => document.querySelector('li:last-child').textContent === '1.19' &&
    Number(document.querySelector('output').textContent) >= 2)
  await browser.evaluate(severalFrames)
  return browser.evaluate(() => ({
    clicks: document.querySelector('output').textContent,
    items: [...document.querySelectorAll('li')].map(({ textContent }) => textContent).join(),
    answers: measured.answers,
    errors: measured.errors
  }))
}

const items = Array.from({ length: 20 }, (_, i) => `1.${i}`).join()

/** Plain pages confirm the expected results. They run no code of this project, so one browser is enough. */
const isNeeded = (browser, way) => way === 'adopted' || browser.kind === 'chromium'

export default Object.fromEntries(FRAMEWORKS.flatMap(app => ['plain', 'adopted'].map(way => [
  `a page of ${app} keeps every character, edit and click, ${way}`,
  async ({ browser, server }) => {
    if (!isNeeded(browser, way) || !await builtPages()) return false
    await open(browser, server, { app, way, work: WORK })
    deepEqual(await typed(browser), expected)
    if (app === 'react') deepEqual(await clicked(browser), { clicks: '2', items, answers: 2, errors: [] })
    const area = { chromium: 'abcdnihoe', firefox: 'abcde', webkit: 'abcdabcde' }[browser.kind] // no undo in WebKitGTK
    deepEqual(await edited(browser), { area, box: true, choice: 'b', rich: 'fghi', errors: [] })
  }
])))
