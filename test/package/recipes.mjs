// The recipes in empty projects, by the steps that their pages name: see examples/site/read.mjs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as elapse } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pasted } from '../../examples/site/read.mjs'
import { chromium } from '../browser/chromium.mjs'
import { until } from '../browser/page-control.mjs'
import { serveStatically } from '../support/static-server.mjs'

const recipes = fileURLToPath(new URL('../../examples/recipes/', import.meta.url))

/** The keys for each page, and a part of the result that the page shows. @type {Record<string, [string, string]>} */
const typed = {
  'search.html': ['1z', 'words contain 1z'],
  'search-library.html': ['balo', 'names are like balo'],
  'table.html': ['Kiel 12', 'rows by id'],
  'markdown.html': ['*a*', '<em>a</em>']
}
const parts = ['search-library.mjs', 'table.mjs']
/** The libraries of the pages, as files for Vite's folder of static files. */
const libraries = { 'fuse.js': 'fuse.js/dist/fuse.mjs', marked: 'marked/lib/marked.esm.js' }

/** Saves recipes as their pages show them. @param {any} project @param {string[]} names @param {string} [folder] */
export function paste(project, names, folder = '.') {
  for (const name of names) project.write(join(folder, name), pasted(readFileSync(join(recipes, name), 'utf8')))
}

/** Types into the pages of a host. @param {string} address */
async function tryPages(address) {
  const browser = await chromium()
  try {
    for (const [page, [text, result]] of Object.entries(typed)) {
      await browser.open(`${address}/${page}`)
      await until(browser, () => document.getElementById('field')?.disabled === false)
      await elapse(300) // Vite can load the page again after it has bundled a package
      await until(browser, () => document.getElementById('field')?.disabled === false)
      await browser.click('#field')
      for (const key of text) await browser.press(key)
      await until(browser, result =>
        (document.getElementById('preview')?.srcdoc ?? document.getElementById('total').value).includes(result), result)
    }
    const problems = browser.takeProblems()
    if (problems.length) throw new Error(problems.join('\n'))
    return browser.name
  } finally {
    await browser.close()
  }
}

/** Serves a folder while `use` runs. @param {string} folder @param {(address: string) => Promise<any>} use */
async function serving(folder, use) {
  const server = await serveStatically(folder)
  try {
    return await use(server.address)
  } finally {
    await server.close()
  }
}

/** Runs Vite's own server while `use` runs. @param {any} project @param {(address: string) => Promise<any>} use */
async function serveByVite(project, use) {
  const vite = spawn(process.execPath, ['node_modules/vite/bin/vite.js', '--host', '127.0.0.1'],
    { cwd: project.folder, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } })
  try {
    let output = ''
    for await (const text of vite.stdout.setEncoding('utf8')) {
      output += text
      const [address] = output.match(/http:\/\/127\.0\.0\.1:\d+/) ?? []
      if (address !== undefined) return await use(address)
    }
    throw new Error(`Vite ended: ${output}`)
  } finally {
    vite.kill()
    await once(vite, 'exit')
  }
}

/** The recipes for Node. @param {any} project */
export function inNode(project) {
  paste(project, ['sort.mjs', 'json.mjs', 'children.mjs', 'stream.mjs', 'server.mjs'])
  cpSync(fileURLToPath(new URL('recipes-app.mjs', import.meta.url)), join(project.folder, 'recipes-app.mjs'))
  const output = project.run('node', 'recipes-app.mjs')
  const expected = 'The server listens\n{"list":[1,2,3],"text":"[1,{\\"a\\":[2]}]","counts":[3,3],"records":2,"primes":"25\\n"}'
  if (output !== expected) throw new Error(`expected ${expected}, got ${output}`)
  return process.version
}

/** The recipes that are pages, by their import maps. @param {any} project */
export function inPages(project) {
  paste(project, [...Object.keys(typed), ...parts])
  return serving(project.folder, tryPages)
}

/** The same pages, served and built by Vite. @param {any} project */
export async function inVite(project) {
  paste(project, [...Object.keys(typed), ...parts])
  await serveByVite(project, tryPages)
  paste(project, parts, 'public')
  for (const [name, path] of Object.entries(libraries)) {
    cpSync(join(project.folder, 'node_modules', path), join(project.folder, 'public', `${name}.mjs`))
  }
  for (const page of Object.keys(typed)) {
    const text = pasted(readFileSync(join(recipes, page), 'utf8'))
    project.write(page, text.replace(/\.\/node_modules\/(fuse\.js|marked)\/[^"]*/, './$1.mjs'))
  }
  project.write('vite.config.mjs',
    `export default { build: { target: 'es2022', rollupOptions: { input: ${JSON.stringify(Object.keys(typed))} } } }`)
  project.run('vite', 'build')
  return serving(join(project.folder, 'dist'), tryPages)
}

const APP = `import { StrictMode, createElement as h, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { budget } from 'rt.mjs'
import { useJob } from './use-job.react.mjs'

function* search(text) {
  let count = 0
  for (let n = 0; n < 100_000; n++) {
    if (String(n).includes(text)) count++
    if (--budget.left <= 0) yield
  }
  return count
}
function App() {
  const [text, setText] = useState('')
  const found = useJob(search, [text])
  return h('p', {}, h('input', { id: 'field', value: text, onChange: event => setText(event.target.value) }),
    h('output', { id: 'total' }, found))
}
createRoot(document.querySelector('main')).render(h(StrictMode, {}, h(App)))
`

/** The hook in an app that Vite builds. @param {any} project */
export function inReact(project) {
  paste(project, ['use-job.react.mjs'])
  project.write('app.mjs', APP)
  project.write('index.html', '<!doctype html><link rel="icon" href="data:,"><main></main><script type="module" src="/app.mjs"></script>')
  project.run('vite', 'build')
  return serving(join(project.folder, 'dist'), async address => {
    const browser = await chromium()
    try {
      await browser.open(`${address}/`)
      await until(browser, () => document.getElementById('total')?.textContent === '100000')
      await browser.click('#field')
      for (const key of '99') await browser.press(key)
      await until(browser, () => document.getElementById('total').textContent === '3691')
      return browser.name
    } finally {
      await browser.close()
    }
  })
}
