import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from './page-control.mjs'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
const screenshots = join(tmpdir(), 'rt-screenshots')

const pages = ['index.html', ...readdirSync(examples).map(name => `${name}/index.html`)]
  .filter(page => existsSync(join(examples, page)))

const loads = page => async ({ browser, server }) => {
  mkdirSync(screenshots, { recursive: true })
  const shoot = async size => {
    const name = page.replace(/\/?index\.html$/, '') || 'index'
    await browser.screenshot(join(screenshots, `${name}-${browser.kind}-${size}.png`))
  }
  await browser.resize(1000, 800)
  await browser.open(`${server.isolated}/examples/${page}`)
  await elapse(1000)
  await shoot('desk')
  await browser.resize(390, 844)
  await elapse(200)
  const { width, content } = await browser.evaluate(
    '({ width: innerWidth, content: document.documentElement.scrollWidth })')
  await shoot('phone')
  await browser.resize(1000, 800)
  if (content > width) throw new Error(`the page is ${content} wide on a screen of ${width}`)
}

const links = async ({ browser, server }) => {
  await browser.open(`${server.isolated}/examples/index.html`)
  const missing = await browser.evaluate(async () => {
    const answers = await Promise.all([...document.links].map(({ href }) => fetch(href)))
    return answers.filter(({ ok }) => !ok).map(({ url }) => url)
  })
  if (missing.length) throw new Error(`links lead nowhere: ${missing.join(', ')}`)
}

const bothWays = async ({ browser, server }) => {
  const says = text => until(browser, text => document.body.innerText.includes(text), text)
  await browser.open(`${server.isolated}/examples/preemptify/index.html?function=fib`)
  await browser.evaluate(() => { document.forms[0].elements.args.value = '' })
  await browser.click('[name=args]')
  for (const key of ['1', '5', 'Enter']) await browser.press(key)
  await says('Now run it as it is.')
  await browser.click('#run-plain')
  await says('✓ the same')
  await browser.click('[name=text]')
  await browser.press('x')
  await says('x is not defined')
}

const runsAll = async ({ browser, server }) => {
  await browser.open(`${server.isolated}/examples/api/index.html`)
  const wrong = await browser.evaluate(async () => {
    const { examples, run } = await import('/examples/api/examples.mjs')
    const wrong = []
    for (const name in examples) {
      const { said, wanted } = await run(name)
      if (said !== wanted) wrong.push(`${name} says ${said}`)
    }
    return wrong
  })
  if (wrong.length) throw new Error(wrong.join('\n'))
}

export default {
  ...Object.fromEntries(pages.map(page => [`examples/${page} loads and fits, on a phone too`, loads(page)])),
  'examples/api runs every example': runsAll,
  'examples/preemptify runs a function both ways': bothWays,
  'the list of examples leads to them': links
}
