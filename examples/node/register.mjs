// Makes packages preemptible as Node loads them:
//
//   node --import ./examples/node/register.mjs app.mjs
//   node --import './examples/node/register.mjs?match=/marked/' app.mjs
//
// `match` is a regular expression: a file is rewritten if the expression is found in its URL; default: all
// files below node_modules. The hook warns about each file that it cannot rewrite.
//
// `?exclusive=true` claims each package as a whole, `?exclusive=false` claims nothing, and a list such as
// `?exclusive=marked,jshint` claims these packages as a whole.
//
// The loader hooks of Node rewrite modules. CommonJS files are rewritten when they are compiled, in all
// versions of Node. Node therefore finds the names of their exports in the original text, and
// `import { name } from 'package'` works.
import { existsSync, readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { exclusiveRule, isOwnModule, preemptify } from '../../addons/preemptify.mjs'

/** URL of the run-time support, the only import of rewritten code. */
const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
const wanted = new RegExp(new URL(import.meta.url).searchParams.get('match') ?? '/node_modules/')
const rule = exclusiveRule(new URL(import.meta.url).searchParams.get('exclusive'))
const isWanted = url => wanted.test(url) && !isOwnModule(url)
/** Formats that contain no JavaScript. */
const OTHER = new Set(['addon', 'builtin', 'json', 'wasm'])

/**
 * Returns an imported module, so that it is analysed together with its importer, or undefined if this hook
 * does not rewrite it.
 *
 * @param {string} specifier @param {string} base
 */
function moduleFor(specifier, base) {
  const url = /^\.{0,2}\/|^file:/.test(specifier) ? new URL(specifier, base).href : entryOf(specifier, new URL(base))
  return url && isWanted(url) && !url.endsWith('.cjs') ? { url, text: readFileSync(new URL(url), 'utf8') } : undefined
}

/** The conditions that lead to the module of a package. */
const CONDITIONS = ['node', 'module', 'import', 'default']

/**
 * Finds the entry of a package of modules, as Node does for most packages.
 *
 * @param {string} specifier @param {URL} base @returns {string | undefined}
 */
function entryOf(specifier, base) {
  const [, name, path] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? []
  for (let folder = new URL('./', base); ; folder = new URL('../', folder)) {
    const file = new URL(`node_modules/${name}/package.json`, folder)
    if (existsSync(file)) {
      const { exports, main = 'index.js', type } = JSON.parse(readFileSync(file, 'utf8'))
      let found = exports?.[`.${path}`] ?? (path === '' ? exports ?? main : path.slice(1))
      while (typeof found === 'object' && found !== null) found = found[CONDITIONS.find(key => key in found)]
      const isModule = typeof found === 'string' && (found.endsWith('.mjs') || type === 'module')
      return isModule ? new URL(found, file).href : undefined
    }
    if (folder.pathname === '/') return undefined
  }
}

/** @param {string} url @param {string} reason */
function warn(url, reason) {
  process.emitWarning(`${url} stays as it is: ${reason}`, 'preemptify')
}

/**
 * Returns a required CommonJS file, so that the file is analysed together with the file that requires it. The
 * result is undefined if the hook does not rewrite the required file, or if Node has already loaded it.
 *
 * @param {string} specifier @param {string} base
 */
function fileFor(specifier, base) {
  const filename = createRequire(base).resolve(specifier)
  if (!/\.c?js$/.test(filename) || module._cache[filename]) return undefined
  const url = pathToFileURL(filename)
  if (!isWanted(url.href) || (filename.endsWith('.js') && typeAt(new URL('./', url)) === 'module')) return undefined
  return { url: url.href, text: readFileSync(filename, 'utf8'), type: 'commonjs' }
}

/** The types of the packages, by their directories. @type {Map<string, string>} */
const types = new Map()

/** Returns the `type` of the nearest package.json. @param {URL} folder @returns {string} */
function typeAt(folder) {
  const known = types.get(folder.href)
  if (known !== undefined) return known
  const file = new URL('package.json', folder)
  const type = existsSync(file) ? `${JSON.parse(readFileSync(file, 'utf8')).type ?? 'commonjs'}`
    : folder.pathname.endsWith('/node_modules/') || folder.pathname === '/' ? 'commonjs' : typeAt(new URL('../', folder))
  types.set(folder.href, type)
  return type
}

/** @param {string} text the text of a module @param {string} url */
const rewrittenModule = (text, url) =>
  preemptify.source(text, { type: 'module', runtime, url, get: moduleFor, ...rule })

/**
 * Returns the result of a load hook with a rewritten module. A CommonJS file keeps its text, or has none, so
 * that Node gives the text to `Module.prototype._compile`: see `compile`.
 *
 * @param {string} url @param {any} loaded @param {any} context the conditions tell `require()` from `import`
 */
function rewritten(url, loaded, { conditions = [] }) {
  const { format, source } = loaded
  if (!isWanted(url) || OTHER.has(format)) return loaded
  const isRequired = format === undefined || format === null || conditions.includes('require')
  if (isRequired && format !== 'module') return loaded
  if (format === 'commonjs') return url.startsWith('file:') ? { ...loaded, source: null } : loaded
  if (format !== 'module' || !source) {
    warn(url, `its format is ${format}`)
    return loaded
  }
  try {
    return { ...loaded, source: rewrittenModule(typeof source === 'string' ? source : new TextDecoder().decode(source), url) }
  } catch (error) {
    warn(url, error.message)
    return loaded
  }
}

/**
 * Returns the rewritten text of a file that is loaded by require().
 *
 * @param {string} text @param {string} filename
 * @param {string} [format] format of the file; Node passes it from version 22 on; undefined if Node must
 *   detect it
 */
function rewrittenFile(text, filename, format) {
  const url = pathToFileURL(filename).href
  if (!isWanted(url)) return text
  try {
    if (format === 'module') return rewrittenModule(text, url)
    try {
      return preemptify.source(text, { type: 'commonjs', url, get: fileFor, ...rule })
    } catch (error) {
      if (format === 'commonjs' || error.name !== 'SyntaxError') throw error
      return rewrittenModule(text, url)
    }
  } catch (error) {
    warn(url, error.message)
    return text
  }
}

/** Rewrites the CommonJS files of this thread when Node compiles them. */
function compile() {
  const { prototype } = module
  const own = prototype._compile
  if (typeof own !== 'function') return warn('CommonJS', 'this version of Node compiles it in another way')
  prototype._compile = function (text, filename, format, ...rest) {
    const isText = typeof text === 'string' && typeof filename === 'string'
    return own.call(this, isText ? rewrittenFile(text, filename, format) : text, filename, format, ...rest)
  }
}

/** The load hook for Node 20, which runs hooks in their own thread. */
export const load = async (url, context, next) => rewritten(url, await next(url, context), context)

if (!import.meta.url.endsWith('#hooks')) {
  compile()
  const hook = (url, context, next) => rewritten(url, next(url, context), context)
  if (module.registerHooks) module.registerHooks({ load: hook })
  else module.register(`${import.meta.url}#hooks`)
}
