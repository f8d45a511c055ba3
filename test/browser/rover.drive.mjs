import { until } from './page-control.mjs'

const page = '/examples/rover/index.html'

// The first column contains the name.
const cell = (row, at) => document.getElementById(row).cells[at].textContent
const isFilled = `(row, at) => /[0-9]/.test((${cell})(row, at))`
const filled = (browser, row, at) => until(browser, `(${isFilled})(${JSON.stringify(row)}, ${at})`)

const everyWay = async ({ browser, server }) => {
  await browser.open(server.isolated + page)
  await filled(browser, 'reserved', 1)
  await browser.press('b')
  await filled(browser, 'reserved', 6)
  for (const way of ['turns', 'single']) {
    await browser.click(`.${way} input`)
    await filled(browser, way, 1)
    await browser.click('#bumper')
    await filled(browser, way, 6)
  }
  await browser.evaluate(() => {
    const { policy, way } = document.forms[0].elements
    policy.value = 'fp'
    way.value = 'reserved'
    policy.dispatchEvent(new Event('input', { bubbles: true }))
  })
  await browser.click('#forget')
  await until(browser, `!(${isFilled})('single', 1)`)
  await filled(browser, 'reserved', 1)
}

const driven = async ({ browser, server }) => {
  await browser.open(`${server.isolated}${page}?hogs=2&speed=1.2`)
  await filled(browser, 'reserved', 1)
  await browser.press('ArrowLeft')
  await browser.press('o')
  await browser.click('#obstacle')
  await browser.click('#field')
  await browser.click('[name=hogging]')
  await browser.click('#left')
  await browser.click('#start')
  await until(browser, `document.getElementById('start').textContent === 'Go on'`)
  // The page shows its figures every 500 ms, so the figure may change once after the pause.
  const count = Number(await until(browser, `(async () => {
    const before = (${cell})('reserved', 1)
    await new Promise(resolve => setTimeout(resolve, 700))
    return (${cell})('reserved', 1) === before && before
  })()`))
  await browser.click('#reset')
  await browser.click('#start')
  await until(browser, `(${cell})('reserved', 1) > ${count + 5}`)
  await browser.evaluate(() => { document.getElementById('sketch').open = true })
  await until(browser, `document.getElementById('source').textContent.includes('loop(function* actuation')`)
}

export default {
  'examples/rover drives in each way and policy and handles a bump': everyWay,
  'examples/rover can be steered, paused and resumed, and shows its sketch': driven
}
