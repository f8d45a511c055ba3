/** The folder that examples/site.mjs writes, on a host of static pages that sends no headers. */
import { equal, ok } from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { writeSite } from '../../examples/site.mjs'
import { installed } from '../support/peers.mjs'
import { serveStatically } from '../support/static-server.mjs'
import { until, withoutUnfinished } from './page-control.mjs'

/** @type {Promise<string | null> | undefined} */
let created
async function create() {
  if (!await installed(new URL('../../examples/packages/', import.meta.url))) return null
  const folder = mkdtempSync(join(tmpdir(), 'rt-site-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  await writeSite(folder)
  return folder
}

/** A test that uses the site. @param {(address: string, browser: any, folder: string) => unknown} use */
const onSite = use => async ({ browser }) => {
  const folder = await (created ??= create())
  if (folder === null) return false
  const server = await serveStatically(folder)
  try {
    const result = await use(server.address, browser, folder)
    await browser.open('about:blank')
    equal(server.missing.join(' '), '')
    return result
  } finally {
    await server.close()
  }
}

/** Runs in a page: its measures, and the requests that went to other hosts. */
const inspect = () => ({
  width: innerWidth,
  content: document.documentElement.scrollWidth,
  mains: document.querySelectorAll('main').length,
  foreign: performance.getEntriesByType('resource').map(({ name }) => name)
    .filter(name => /^https?:/.test(name) && !name.startsWith(location.origin)),
  nameless: [...document.querySelectorAll('button, input, select, textarea')]
    .filter(field => !field.ariaLabel && !field.textContent.trim() && !field.labels?.length).map(field => field.outerHTML)
})

/** A test that opens the pages whose paths match. @param {RegExp} which */
const fit = which => onSite(async (address, browser, folder) => {
  const pages = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.html') && entry.parentPath !== folder)
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1).replaceAll('\\', '/'))
    .filter(page => which.test(page))
  ok(pages.length > 5, `${pages.length} pages`)
  await browser.resize(390, 844)
  for (const page of pages) {
    await browser.open(`${address}/${page.replace(/^(read\/.*)index\.html$/, '$1')}`)
    if (!page.startsWith('read/')) await elapse(300) // for workers and other late requests
    await until(browser, () => document.querySelector('[aria-busy=true]') === null)
    const { width, content, mains, foreign, nameless } = await browser.evaluate(inspect)
    equal(mains, 1, page)
    ok(content <= width, `${page} is ${content} wide on a screen of ${width}`)
    equal(foreign.join(' '), '', page)
    equal(nameless.join(' '), '', page)
    equal(withoutUnfinished(await browser.takeProblems()).join('\n'), '', page)
  }
  await browser.resize(1000, 800)
})

export default {
  'each text of the site loads without a failed request and fits a phone': fit(/^read\//),
  'each recipe of the site loads without a failed request and fits a phone': fit(/^examples\/recipes\//),
  'each other page of the site loads without a failed request and fits a phone': fit(/^examples\/(?!recipes\/)/),

  'the root of the site leads to the front page': onSite(async (address, browser) => {
    await browser.open(`${address}/`)
    await until(browser, () => location.pathname === '/examples/index.html' && document.querySelector('#recipes') !== null)
  }),

  'the recipe with fuse.js works without another host': onSite(async (address, browser) => {
    await browser.open(`${address}/examples/recipes/search-library.html`)
    await until(browser, () => document.querySelector('#field')?.disabled === false)
    await browser.click('#field')
    for (const key of 'balo') await browser.press(key)
    await until(browser, () => document.getElementById('total').value.endsWith('names are like balo'))
  }),

  'a recipe shows how to install its library if it is missing': onSite(async (address, browser) => {
    await browser.open(`${address}/examples/recipes/search.html`)
    const text = await browser.evaluate(async () => {
      document.querySelector('script[type=importmap]').textContent = '{ "imports": { "marked": "../packages/marked" } }'
      await import('/examples/site/program.mjs?again')
      dispatchEvent(new ErrorEvent('error', { error: new TypeError('not found') }))
      return document.querySelector('[role=alert]:not([hidden])').textContent
    })
    ok(text.startsWith('TypeError: not found. In a clone, npm --prefix examples/packages install'), text)
  })
}
