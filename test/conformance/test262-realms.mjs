/**
 * Runs tests of test262 with a fresh realm for each run, many in one process: see test262.mjs.
 *
 * Each realm has its own built-in objects and its own copy of rt.mjs and preemptify. The process compiles the
 * modules once, and rewrites each test once. Messages: the path of a test in; its Outcome out.
 */
import { readFileSync } from 'node:fs'
import vm from 'node:vm'
import { preemptify } from '../../addons/preemptify.mjs'
import { describe, host, printer, programOf } from './test262-program.mjs'

/** ms until an async test must have called $DONE. */
const TIMEOUT = 3000
const RT = new URL('../../rt.mjs', import.meta.url).href
const ADDON = new URL('../../addons/preemptify.mjs', import.meta.url).href
const RUNTIME = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
/** The parts of the platform that rt.mjs uses. */
const PLATFORM = {
  performance, process, console, queueMicrotask, setTimeout, clearTimeout, setImmediate, clearImmediate,
  MessageChannel, AbortController, AbortSignal, Event, EventTarget, structuredClone, URL
}

const { SourceTextModule } = /** @type {any} */ (vm)
const [checkout] = process.argv.slice(2)

/** The sources of the modules, by URL. @type {Map<string, { text: string, cachedData: Buffer }>} */
const sources = new Map()

/** @param {string} url a module; its imports are read too */
function readSource(url) {
  if (sources.has(url)) return
  const text = readFileSync(new URL(url), 'utf8')
  sources.set(url, { text, cachedData: new SourceTextModule(text, { identifier: url }).createCachedData() })
  for (const [, name] of text.matchAll(/^(?:import|\}) [^'\n]*?from '(\.[^']+)'/gm)) {
    readSource(new URL(name, url).href)
  }
}
readSource(ADDON)

/** A realm without modules. */
function createRealm() {
  const context = vm.createContext({ ...PLATFORM })
  const global = vm.runInContext('globalThis', context)
  const run = (/** @type {string} */ text) => vm.runInContext(text, context)
  global.$262 = host(global, run)
  return { context, global, run }
}

/**
 * Loads rt.mjs and preemptify in a realm.
 *
 * @param {vm.Context} context
 * @returns {Promise<(url: string) => any>} returns the namespace of a module
 */
async function loadModules(context) {
  const modules = new Map()
  const initializeImportMeta = (/** @type {any} */ meta, /** @type {any} */ { identifier }) => {
    meta.url = identifier
  }
  for (const [url, { text, cachedData }] of sources) {
    modules.set(url, new SourceTextModule(text, { identifier: url, context, cachedData, initializeImportMeta }))
  }
  const entry = modules.get(ADDON)
  await entry.link((/** @type {string} */ name, /** @type {any} */ { identifier }) =>
    modules.get(new URL(name, identifier).href))
  await entry.evaluate()
  return url => modules.get(url).namespace
}

/** Called with an error that no run has handled. @type {(outcome: string) => void} */
let fail = () => {}
process.on('uncaughtException', error => fail(describe(error)))
process.on('unhandledRejection', () => {}) // tests reject promises on purpose

/**
 * @param {string} mode 'native', 'plain' or 'job' @param {boolean} isAsync @param {string[]} scripts
 * @returns {Promise<string>} 'passed', or the failure
 */
async function run(mode, isAsync, scripts) {
  const { context, global, run } = createRealm()
  const load = mode === 'native' ? undefined : await loadModules(context)
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve('the test did not call $DONE'), TIMEOUT)
    const end = (/** @type {string} */ outcome) => {
      clearTimeout(timer)
      resolve(outcome)
    }
    global.print = printer(end)
    fail = end
    const start = async () => {
      if (load) global[Symbol.for('rt.mjs')] = load(RUNTIME).support
      // Taken now, because tests replace built-in functions.
      const spawn = mode === 'job' ? load?.(RT).rt.spawn.bind(load(RT).rt) : undefined
      scripts.forEach(text => run(text))
      if (spawn) await spawn(global.$program)
      else global.$program()
      if (!isAsync) end('passed')
    }
    start().catch(error => end(describe(error)))
  })
}

/** @param {string} text */
const rewrite = text => preemptify.source(text, { type: 'script' })
/** Rewritten harness files, by their text. @type {Map<string, string>} */
const rewrittenHarness = new Map()

/** @param {string} text */
function rewriteHarness(text) {
  const known = rewrittenHarness.get(text) ?? rewrite(text)
  rewrittenHarness.set(text, known)
  return known
}

/**
 * The outcome of one test.
 *
 * @typedef {object} Outcome
 * @property {string} native 'passed', or the failure of the native run
 * @property {string} rewritten 'passed', or the first failure of a rewritten run
 */
/** @param {string} file @returns {Promise<Outcome>} */
async function outcomeOf(file) {
  const { isAsync, harness, test } = programOf(checkout, file)
  const native = await run('native', isAsync, [...harness, test])
  if (native !== 'passed') return { native, rewritten: '' }
  const rewritten = [...harness.map(text => rewriteHarness(text)), rewrite(test)]
  for (const mode of ['plain', 'job']) {
    const found = await run(mode, isAsync, rewritten)
    if (found !== 'passed') return { native, rewritten: `${mode}: ${found}` }
  }
  return { native, rewritten: 'passed' }
}

process.on('message', async file => {
  const outcome = await outcomeOf(`${file}`).catch(error => ({ native: 'passed', rewritten: describe(error) }))
  process.send?.(outcome)
})
