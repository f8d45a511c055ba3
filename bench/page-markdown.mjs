import { existsSync } from 'node:fs'
import { eachBrowser, keysUntil, kinds, type } from './support-browsers.mjs'
import { figure, heading, optionsOf, table, target } from './support.mjs'

const usage = `node bench/page-markdown.mjs [options]
  --size 5                          MB of Markdown
  --browsers ${kinds.join()}
  --ways plain,import,worker        as it is, by preemptify.import, by examples/service-worker`

const values = optionsOf({ size: '5', browsers: kinds.join(), ways: 'plain,import,worker' }, usage)
if (!existsSync(new URL('../examples/packages/node_modules/marked', import.meta.url))) {
  console.log('it takes npm --prefix examples/packages install')
  process.exit()
}

/** Renders the text and measures the page. Runs in the page. */
async function start(report, way, size) {
  const { Frames, runPlain, runPreempted } = await import('/examples/preemptify/experiment.mjs')
  const { markdown } = await import('/examples/service-worker/markdown.mjs')
  const { quantile } = await import('/examples/macro/statistics.mjs')
  const { preemptify } = await import('/addons/preemptify.mjs')
  const folder = new URL('/examples/service-worker/', location.href).href
  if (way === 'worker') await (await import('/examples/service-worker/register.mjs')).controlled(`${folder}sw.mjs?match=/packages/|/work[.]mjs`, { scope: '/' })
  const load = path => way === 'import' ? preemptify.import(folder + path) : import(`${folder}${path}${way === 'plain' ? '?plain' : ''}`)
  const began = performance.now()
  const [{ Marked }, { default: hljs }, { render }] = await Promise.all(
    ['../packages/marked/lib/marked.esm.js', '../packages/@highlightjs/cdn-assets/es/highlight.min.js', 'work.mjs'].map(load))
  const loading = performance.now() - began
  const text = markdown(size * 1e6)

  const field = document.createElement('input')
  document.body.prepend(field)
  field.focus()
  const delays = []
  field.addEventListener('input', ({ timeStamp }) => requestAnimationFrame(() => delays.push(performance.now() - timeStamp)))
  const frames = new Frames()
  const drawn = count => new Promise(resolve => requestAnimationFrame(() => resolve(count && drawn(count - 1))))
  requestAnimationFrame(function draw(time) {
    frames.add(time)
    requestAnimationFrame(draw)
  })
  // Not awaited, because keys must arrive during the measurement.
  const measure = async () => {
    await drawn(60)
    frames.watch(performance.now())
    const { state, error, result, elapsed } = await (way === 'plain' ? runPlain : runPreempted)(render, [{ Marked, hljs }, text])
    await drawn(2)
    if (state !== 'done') throw error
    const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(result))
    return {
      ...frames.unwatch(), loading, elapsed, keys: delays.length, delay: quantile(delays.sort((a, b) => a - b), 0.95),
      html: `${result.length} ${new Uint8Array(digest).join('.')}`
    }
  }
  measure().catch(error => ({ error: String(error?.stack ?? error) }))
    .then(results => fetch(report, { method: 'POST', body: JSON.stringify(results) }))
}

async function measure(browser, server, way) {
  const { report, results } = server.expect(300_000)
  results.catch(() => {})
  await browser.open(`${server.isolated}/bench/support-node.html`)
  await browser.evaluate(start, report, way, Number(values.size))
  await type(browser, keysUntil(results), 100)
  const found = await results
  if (found.error) throw new Error(`${browser.name}, ${way}: ${found.error}`)
  return { way, ...found }
}

heading(
  `${values.size} MB of Markdown, parsed by marked and highlighted by highlight.js, as published, while the user types`,
  'headless, trusted keys every 100 to 200 ms'
)
await eachBrowser(values.browsers.split(','), async (browser, server) => {
  const found = []
  for (const way of values.ways.split(',')) found.push(await measure(browser, server, way))
  console.log(`### ${browser.name}\n`)
  table(['way', 'ms', 'libraries fetched, ms', 'frames/s', 'longest freeze, ms', 'key to echo p95, ms', 'keys', 'HTML'], found.map(one => [
    one.way, figure(one.elapsed), figure(one.loading), one.rate.toFixed(1), figure(one.longest), one.delay.toFixed(1), String(one.keys),
    one.html === found[0].html ? 'the same' : 'differs'
  ]))
  console.log()
  for (const { way, rate, delay, html } of found) {
    if (way === 'plain') continue
    target(`${way}: frames per second`, rate, { least: 59 })
    target(`${way}: key to echo, p95`, delay, { most: 20, unit: ' ms' })
    if (html !== found[0].html) process.exitCode = 1
  }
  console.log()
})
