import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

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

export default {
  ...Object.fromEntries(pages.map(page => [`examples/${page} loads and fits, on a phone too`, loads(page)])),
  'the list of examples leads to them': links
}
