#!/usr/bin/env node
// Writes this site as a folder of static files: `node examples/site.mjs FOLDER`. The folder has the modules, the
// examples, the pages of texts (see site/read.mjs), the libraries of the examples, and `_headers`, in which
// Netlify and Cloudflare Pages look for the headers. On other hosts the pages work too, with coarser clocks and
// without shared memory.
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isReadable, readPage } from './site/read.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Files and folders of the repository that the pages load. */
const COPIED = ['rt.mjs', 'alarms.mjs', 'sync.mjs', 'addons', 'examples', 'LICENSE']
/** Parts of the examples that need a server or Node. */
const LEFT_OUT = /^examples\/(?:chat|packages|farm\/broker|server\.mjs|site\.mjs)(?:\/|$)|(?:^|\/)\.|\.d\.mts$/
/** Texts that no other page may link to, but that belong to the site. */
const TEXTS = ['README.md', 'CHANGELOG.md', 'examples/recipes/README.md']

const HEADERS = `/*
  Cross-Origin-Opener-Policy: same-origin
  Cross-Origin-Embedder-Policy: require-corp
  Cache-Control: no-cache
/*.mjs
  Content-Type: text/javascript; charset=utf-8
`

const FRONT = `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=examples/index.html">
<link rel="icon" href="data:,">
<title>rt.mjs</title>
<p><a href="examples/index.html">rt.mjs</a></p>
`

/** @param {string} path @param {string} [folder] */
const read = (path, folder = root) => readFile(join(folder, path), 'utf8')

/** Writes a file and the folders above it. @param {string} file @param {string} text */
async function write(file, text) {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

/** @param {string} folder @returns {Promise<string[]>} the paths of the files below it, with slashes */
async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1).replaceAll('\\', '/'))
}

/**
 * Writes the pages of texts: `TEXTS`, the texts to which the written pages link, and so on.
 *
 * @param {string} folder
 */
async function writePages(folder) {
  const pages = (await filesIn(folder)).filter(path => path.endsWith('.html'))
  const found = new Set(TEXTS)
  for (const path of pages) for (const text of linkedTexts(path, await read(path, folder))) found.add(text)
  // A set visits the members that are added during the loop.
  for (const path of found) {
    if (!isReadable(path)) throw new Error(`${path} is linked but cannot be shown as a page`)
    const page = readPage(path, await read(path))
    await write(join(folder, 'read', path, 'index.html'), page)
    for (const text of linkedTexts(`read/${path}/index.html`, page)) found.add(text)
  }
}

/** @param {string} path @param {string} html @returns {string[]} the paths of the texts to which a page links */
function linkedTexts(path, html) {
  return Array.from(html.matchAll(/ href="([^"#:]+)["#]/g), ([, address]) => posix.join(posix.dirname(path), address))
    .filter(target => target.startsWith('read/')).map(target => target.slice('read/'.length, -1))
}

/**
 * Copies the files of installed libraries that the pages load, and their licences.
 *
 * @param {string} folder
 */
async function copyPackages(folder) {
  const from = join(root, 'examples', 'packages', 'node_modules')
  const names = Object.keys(JSON.parse(await read('examples/packages/package.json')).dependencies)
  const files = new Set()
  for (const path of await filesIn(join(folder, 'examples'))) {
    if (!/\.(?:html|mjs)$/.test(path)) continue
    const text = await read(path, join(folder, 'examples'))
    for (const [, file] of text.matchAll(/\.\.\/packages\/([\w@./-]+\.m?js)/g)) files.add(file)
  }
  for (const file of files) {
    const name = names.find(name => file.startsWith(`${name}/`))
    if (name === undefined) throw new Error(`examples/packages/package.json lacks the package of ${file}`)
    for (const path of [file, ...(await readdir(join(from, name))).filter(isLicence).map(path => `${name}/${path}`)]) {
      await cp(join(from, path), join(folder, 'examples', 'packages', path))
    }
  }
}
const isLicence = name => /^licen[cs]e/i.test(name)

/**
 * Writes the site.
 *
 * @param {string} folder is created; must be empty if it exists
 * @throws {Error} if the folder has files, or if the libraries of the examples are not installed
 */
export async function writeSite(folder) {
  await mkdir(folder, { recursive: true })
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} must be empty`)
  await readdir(join(root, 'examples', 'packages', 'node_modules')).catch(() => {
    throw new Error('the libraries of the examples are missing: run npm --prefix examples/packages install')
  })
  const isWanted = file => !LEFT_OUT.test(file.slice(root.length).replaceAll('\\', '/'))
  for (const path of COPIED) await cp(join(root, path), join(folder, path), { recursive: true, filter: isWanted })
  const front = await read('examples/index.html')
  await write(join(folder, 'examples', 'index.html'), front.replace(/^ *<li data-needs-server>.*\n/gm, ''))
  await copyPackages(folder)
  await writePages(folder)
  await write(join(folder, '_headers'), HEADERS)
  await write(join(folder, '.nojekyll'), '') // so that GitHub Pages serves all files
  await write(join(folder, 'index.html'), FRONT)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new TypeError('usage: node examples/site.mjs FOLDER')
  await writeSite(folder)
}
