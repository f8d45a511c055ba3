/**
 * Loads whole modules that preemptify.source has rewritten. The files that a module reaches by import or
 * require are rewritten into a separate folder with the same structure, and imported from there.
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
 * @property {number} read characters read
 * @property {number} written characters written
 * @property {number} time the time of preemptify.source alone, ms
 */

/**
 * @param {string | URL} url the address of an ES module in this repository
 * @param {object} [options]
 * @param {typeof preemptify.source} [options.source] the function that rewrites a text
 * @param {() => number} [options.now] returns the time in ms
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

/**
 * The rewritten path of a file of the repository. All package.json files above the file are copied as well.
 */
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

/** The package.json files above a file, the nearest first. */
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

/**
 * A CommonJS module as Node loads it: the body of a function. It stays on one line, so that line numbers
 * stay.
 */
const wrapped = text =>
  `(function (exports, require, module, __filename, __dirname) {${text.replace(/^#!.*/, '')}\n` +
  '}).call(this, exports, require, module, __filename, __dirname)'

/**
 * The files to which the specifiers in a text refer. The function searches strings and ignores syntax: an
 * additional file is harmless, because no module loads it.
 */
function references(text, file, isModule) {
  const require = createRequire(file)
  const parent = pathToFileURL(file).href
  const files = []
  for (const [, , specifier] of text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*(["'`])([^"'`\n]+)\1/g)) {
    try {
      const resolved = !isModule ? require.resolve(specifier)
        : /^\.{0,2}\//.test(specifier) ? fileURLToPath(new URL(specifier, parent))
          // The second parameter needs --experimental-import-meta-resolve. Only packages use it.
          : fileURLToPath(import.meta.resolve(specifier, parent))
      if (/\.([mc]?js|json)$/.test(resolved) && existsSync(resolved)) files.push(resolved)
    } catch (error) {
      if (!['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_INVALID_URL_SCHEME', 'ERR_PACKAGE_PATH_NOT_EXPORTED',
        'ERR_PACKAGE_IMPORT_NOT_DEFINED', 'ERR_INVALID_MODULE_SPECIFIER', 'ERR_INVALID_ARG_VALUE'].includes(error.code)) throw error
    }
  }
  return files
}
