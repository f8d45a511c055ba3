import { deepEqual } from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MODULES } from '../../examples/api/jsdoc.mjs'
import { keyOf } from '../../examples/api/render.mjs'
import { until } from './page-control.mjs'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
/** The folder for pictures of the pages; without it, no pictures are taken. */
const { SCREENSHOTS } = process.env

const pages = ['index.html', ...readdirSync(examples).map(name => `${name}/index.html`)]
  .filter(page => existsSync(join(examples, page)))

/**
 * The only page that examples/site.mjs leaves out. site.drive.mjs opens the other pages at the size of a phone, and
 * site.test.mjs follows their links.
 */
const NOT_ON_SITE = 'chat/index.html'

const loads = page => async ({ browser, server }) => {
  const shoot = async size => {
    if (!SCREENSHOTS) return
    await elapse(500)
    mkdirSync(SCREENSHOTS, { recursive: true })
    const name = page.replace(/\/?index\.html$/, '') || 'index'
    await browser.screenshot(join(SCREENSHOTS, `${name}-${browser.kind}-${size}.png`))
  }
  const onPhone = page === NOT_ON_SITE || SCREENSHOTS
  await browser.open(`${server.isolated}/examples/${page}`)
  await shoot('desk')
  if (onPhone) await browser.resize(390, 844)
  await shoot('phone')
  await elapse(200) // for workers and other late requests
  const { isolated, width, content, mains, nameless, hasWayBack, broken } = await browser.evaluate(async followed => ({
    isolated: crossOriginIsolated,
    width: innerWidth,
    content: document.documentElement.scrollWidth,
    mains: document.querySelectorAll('main').length,
    nameless: [...document.querySelectorAll('button, input, select, textarea')]
      .filter(field => !field.ariaLabel && !field.textContent.trim() && !field.labels?.length).map(field => field.outerHTML),
    hasWayBack: [...document.links].some(({ pathname }) => pathname === '/examples/index.html'),
    broken: (await Promise.all([...document.links].filter(({ href }) => followed && href.startsWith(location.origin))
      .map(({ href }) => fetch(href)))).filter(({ ok }) => !ok).map(({ url }) => url)
  }), page === NOT_ON_SITE)
  if (onPhone) await browser.resize(1000, 800)
  if (!isolated) throw new Error('the page is not isolated')
  if (content > width) throw new Error(`the page is ${content} wide on a screen of ${width}`)
  if (broken.length) throw new Error(`broken links: ${broken.join(' ')}`)
  if (nameless.length) throw new Error(`fields without a name: ${nameless.join(' ')}`)
  if (mains !== 1) throw new Error(`${mains} main parts`)
  if (!hasWayBack && page !== 'index.html') throw new Error('no link to the front page')
}

const bothWays = async ({ browser, server }) => {
  const says = text => until(browser, text => document.body.innerText.includes(text), text)
  await browser.open(`${server.isolated}/examples/preemptify/index.html?function=fib`)
  await browser.evaluate(() => { document.forms[0].elements.args.value = '' })
  await browser.click('[name=args]')
  for (const key of ['1', '5', 'Enter']) await browser.press(key)
  await says('Now run it plainly.')
  await browser.click('#run-plain')
  await says('✓ the same')
  await browser.click('[name=text]')
  await browser.press('x')
  await says('ReferenceError')
}

const runsAll = async ({ browser, server }) => {
  await browser.open(`${server.isolated}/examples/api/index.html`)
  const wrong = await browser.evaluate(async () => {
    const { examplesOf, run } = await import('/examples/api/examples.mjs')
    const { documentedModules } = await import('/examples/api/jsdoc.mjs')
    const modules = await documentedModules(async url => (await fetch(url)).text())
    const wrong = []
    // Some builds of WebKit have no shared memory, so the shared locks cannot be created.
    const refused = typeof SharedArrayBuffer === 'undefined' ? ['SharedMutex', 'SharedSemaphore'] : []
    for (const [name, text] of examplesOf(modules)) {
      if (refused.includes(name)) {
        const error = await run(text, modules).then(() => 'no error', String)
        if (!error.startsWith(`TypeError: no ${name} here`)) wrong.push(`${name} says ${error}`)
        continue
      }
      const { said, wanted } = await run(text, modules)
      if (said !== wanted) wrong.push(`${name} says ${said}`)
    }
    return wrong
  })
  if (wrong.length) throw new Error(wrong.join('\n'))
}

/** Maximum height of a page of the API on a desk, px. */
const MAX_HEIGHT = 8000

const rendered = browser => until(browser, () => !document.querySelector('[aria-busy]'), 'the page is rendered')

/** Shows all modules in one page, since each load of the page reads the comments of all modules. */
const fitsEachModule = async ({ browser, server }) => {
  await browser.resize(1280, 900)
  await browser.open(`${server.plain}/examples/api/index.html?module=${keyOf(MODULES[0])}`)
  await rendered(browser)
  const measure = () => browser.evaluate(async () => {
    const { documentedModules } = await import('/examples/api/jsdoc.mjs')
    const { rendered } = await import('/examples/api/render.mjs')
    window.pages ??= rendered(await documentedModules(async url => (await fetch(url)).text())).pages
    return [...window.pages].map(([name, html]) => {
      document.getElementById('page').innerHTML = html
      const { scrollWidth, scrollHeight } = document.documentElement
      return { name, excess: scrollWidth - innerWidth, height: scrollHeight }
    })
  })
  const onDesk = await measure()
  await browser.resize(390, 844)
  const onPhone = await measure()
  await browser.resize(1000, 800)
  deepEqual(onDesk.map(({ name }) => keyOf(name)).sort(), MODULES.map(keyOf).sort())
  const wrong = [...onDesk.filter(({ excess, height }) => excess > 0 || height > MAX_HEIGHT), ...onPhone.filter(({ excess }) => excess > 0)]
  deepEqual(wrong, [])
}

const findsAndRuns = async ({ browser, server }) => {
  await browser.open(`${server.plain}/examples/api/index.html?module=sync`)
  await rendered(browser)
  await browser.click('#search')
  for (const key of 'catchup') await browser.press(key)
  await until(browser, () => document.querySelector('#results b')?.textContent === 'catchUp', 'the option is found')
  await browser.open(await browser.evaluate('document.querySelector("#results a").href'))
  await until(browser, () => {
    const { top, bottom } = document.getElementById('option-every.catchUp')?.getBoundingClientRect() ?? {}
    return top >= 0 && bottom <= innerHeight
  }, 'the option is shown')
  await browser.open(`${server.plain}/examples/api/index.html?module=rt#Job.cancel`)
  await until(browser, () => document.getElementById('Job.cancel')?.open, 'the member is open')
  await browser.evaluate(() => document.querySelector('#spawn button').click())
  await until(browser, () => document.querySelector('#spawn output').value === '42, a-b', 'the example has run')
}

export default {
  ...Object.fromEntries(pages.map(page => [`examples/${page} loads without errors in an isolated page`, loads(page)])),
  'examples/api runs every example': runsAll,
  'examples/api shows each module on a page of at most 8,000 px': fitsEachModule,
  'examples/api finds an option in all modules, and runs an example': findsAndRuns,
  'examples/preemptify runs a function both ways': bothWays
}
