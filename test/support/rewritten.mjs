/**
 * Whole modules as preemptify.source rewrites them: what a module reaches by import or require is written, rewritten,
 * into a folder of its own that mirrors the one where it stands, and imported from there.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { preemptify } from '../../addons/preemptify.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runtime = pathToFileURL(join(root, 'addons/preemptify/runtime.mjs')).href
let folder

/**
 * @typedef {object} Cost
 * @property {number} files
 * @property {number} read characters
 * @property {number} written characters
 * @property {number} time in ms, of preemptify.source alone
 */

/**
 * @param {string | URL} url of an ES module in this repository
 * @param {object} [options]
 * @param {typeof preemptify.source} [options.source] what rewrites
 * @param {() => number} [options.now] ms
 * @returns {Promise<{ namespace: any, cost: Cost }>}
 */
export async function rewritten(url, { source = preemptify.source, now = () => performance.now() } = {}) {
  const cost = { files: 0, read: 0, written: 0, time: 0 }
  const entry = fileURLToPath(url)
  const files = [entry]
  const seen = new Set(files)
  for (const file of files) {
    const original = readFileSync(file, 'utf8')
    const to = mirrored(file)
    mkdirSync(dirname(to), { recursive: true })
    if (file.endsWith('.json')) {
      writeFileSync(to, original)
      continue
    }
    const isModule = isModuleFile(file)
    const text = isModule ? original : wrapped(original)
    const options = { type: isModule ? 'module' : 'script', runtime, url: pathToFileURL(file).href }
    const started = now()
    const result = source(text, options)
    cost.time += now() - started
    cost.files++
    cost.read += text.length
    cost.written += result.replace(/\n\/\/# sourceMappingURL=data:.*\s*$/, '').length
    writeFileSync(to, result)
    for (const reached of references(original, file, isModule)) {
      if (seen.has(reached)) continue
      seen.add(reached)
      files.push(reached)
    }
  }
  return { namespace: await import(pathToFileURL(mirrored(entry)).href), cost }
}

/** Where a file of the repository has its rewritten form; all package.json above it come along. */
function mirrored(file) {
  if (folder === undefined) {
    folder = mkdtempSync(join(tmpdir(), 'rewritten-'))
    if (process.env.KEEP) console.error(folder)
    else process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  }
  for (const manifest of manifestsOf(file)) {
    const to = join(folder, relative(root, manifest))
    if (!existsSync(to)) cpSync(manifest, to)
  }
  const to = join(folder, relative(root, file))
  if (!to.startsWith(folder + sep)) throw new Error(`${file} is not in ${root}: its rewritten form would be written over another file`)
  return to
}

/** The nearest first. */
function manifestsOf(file) {
  const found = []
  for (let above = dirname(file); join(above, sep).startsWith(root); above = dirname(above)) {
    if (existsSync(join(above, 'package.json'))) found.push(join(above, 'package.json'))
  }
  return found
}

function isModuleFile(file) {
  if (/\.[mc]js$/.test(file)) return file.endsWith('.mjs')
  return JSON.parse(readFileSync(manifestsOf(file)[0], 'utf8')).type === 'module'
}

/** A CommonJS module as the script that it is to Node: the body of a function. On one line, so that lines stay. */
const wrapped = text =>
  `(function (exports, require, module, __filename, __dirname) {${text.replace(/^#!.*/, '')}\n` +
  '}).call(this, exports, require, module, __filename, __dirname)'

/**
 * The files that the specifiers in a text stand for. It looks at strings, not at syntax: one too many is a file
 * that nobody loads.
 */
function references(text, file, isModule) {
  const require = createRequire(file)
  const parent = pathToFileURL(file).href
  const files = []
  for (const [, , specifier] of text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*(["'`])([^"'`\n]+)\1/g)) {
    try {
      const resolved = !isModule ? require.resolve(specifier)
        : /^\.{0,2}\//.test(specifier) ? fileURLToPath(new URL(specifier, parent))
          // The second parameter exists by --experimental-import-meta-resolve; only packages need it.
          : fileURLToPath(import.meta.resolve(specifier, parent))
      if (/\.([mc]?js|json)$/.test(resolved) && existsSync(resolved)) files.push(resolved)
    } catch (error) {
      if (!['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_INVALID_URL_SCHEME', 'ERR_PACKAGE_PATH_NOT_EXPORTED',
        'ERR_PACKAGE_IMPORT_NOT_DEFINED', 'ERR_INVALID_MODULE_SPECIFIER', 'ERR_INVALID_ARG_VALUE'].includes(error.code)) throw error
    }
  }
  return files
}
