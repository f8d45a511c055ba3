import { setTimeout as elapse } from 'node:timers/promises'
import { quantile } from '../examples/macro/statistics.mjs'
import { builtPages } from '../test/support/pages.mjs'
import { eachBrowser, type } from './support-browsers.mjs'
import { heading, optionsOf, table, target } from './support.mjs'

const usage = `node bench/page-fields.mjs [options]
  --apps react,vue,svelte,preact,solid   bundles of test/pages
  --work 200                             work per key, ms
  --keys 20                              typed keys
  --pause 300                            minimum pause between two keys, ms; the maximum is twice as long
  --browsers chromium,firefox            WebKit reports no interactions`

const values = optionsOf({
  apps: 'react,vue,svelte,preact,solid', work: '200', keys: '20', pause: '300', browsers: 'chromium,firefox'
}, usage)
const keys = Array.from({ length: Number(values.keys) }, (_, i) => 'abcdefgh '[i % 9])

/** Waits until an expression in the page is true. */
async function wait(browser, expression) {
  for (const patience = performance.now() + 120_000; !await browser.evaluate(expression); await elapse(100)) {
    if (performance.now() > patience) throw new Error(`never true: ${expression}`)
  }
}

async function measure(browser, server, rounds, app, way) {
  await browser.open(`${server.isolated}/test/pages/index.html?${new URLSearchParams({ app, way, rounds })}`)
  await wait(browser, "window.measured?.state === 'ready' && document.querySelector('input') !== null")
  await browser.evaluate("(begin(), document.querySelector('input').focus())")
  await type(browser, keys, Number(values.pause))
  await wait(browser, `measured.answers >= ${keys.length}`)
  await elapse(500)
  const found = await browser.evaluate("({ ...measured, text: document.querySelector('input').value })")
  const interactions = Object.values(found.interactions).sort((a, b) => a - b)
  return { app, way, isKept: found.text === keys.join(''), inp: quantile(interactions, 0.98), frameGap: found.frameGap }
}

heading('pages of frameworks with controlled fields, plain and adopted', `${values.work} ms of work per key, ${keys.length} keys`)
if (!await builtPages()) throw new Error('the frameworks of test/pages cannot be installed')
await eachBrowser(values.browsers.split(','), async (browser, server) => {
  // The same work for all pages, because other processes disturb each measurement.
  await browser.open(`${server.isolated}/test/pages/index.html?app=vue&rounds=1`)
  await wait(browser, "window.measured?.state === 'ready'")
  const rounds = Math.round(Number(values.work) * await browser.evaluate('roundsPerMs()'))
  const rows = []
  for (const app of values.apps.split(',')) {
    for (const way of ['plain', 'adopted']) rows.push(await measure(browser, server, rounds, app, way))
  }
  console.log(`### ${browser.name}\n`)
  table(['page', 'way', 'text', 'INP (p98), ms', 'longest interval between frames, ms'],
    rows.map(({ app, way, isKept, inp, frameGap }) => [app, way, isKept ? 'kept' : 'lost', inp.toFixed(0), frameGap.toFixed(0)]))
  for (let i = 0; i < rows.length; i += 2) {
    target(`${rows[i].app}: INP, adopted, of plain`, rows[i + 1].inp / rows[i].inp, { most: 1, unit: ' x' })
  }
  if (rows.some(({ isKept }) => !isKept)) process.exitCode = 1
})
