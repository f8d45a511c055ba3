/**
 * Runs tests of test262 with a fresh realm for each run, many in one process: see test262.mjs.
 *
 * Each realm has its own built-in objects and its own copy of rt.mjs and preemptify, a script that is
 * compiled once. Messages: the path of a test in; its Outcome out.
 */
import vm from 'node:vm'
import { preemptify } from '../../addons/preemptify.mjs'
import { bundled } from '../support/bundle.mjs'
import { describe, host, printer, programOf } from './test262-program.mjs'

/** ms until an async test must have called $DONE. */
const TIMEOUT = 3000
/** The parts of the platform that rt.mjs uses. */
const PLATFORM = {
  performance, process, console, queueMicrotask, setTimeout, clearTimeout, setImmediate, clearImmediate,
  MessageChannel, AbortController, AbortSignal, Event, EventTarget, structuredClone, URL
}

const [checkout] = process.argv.slice(2)
const modules = new vm.Script(bundled(['addons/preemptify.mjs', 'rt.mjs'], ['support', 'rt']))

function createRealm() {
  const context = vm.createContext({ ...PLATFORM })
  const global = vm.runInContext('globalThis', context)
  const evaluate = (/** @type {string} */ text) => vm.runInContext(text, context)
  global.$262 = host(global, evaluate)
  return { context, global, evaluate }
}

/** Called with an error that no run has handled. @type {(outcome: string) => void} */
let fail = () => {}
process.on('uncaughtException', error => fail(describe(error)))
process.on('unhandledRejection', () => {}) // tests reject promises on purpose

/**
 * @param {string} mode 'native', 'plain' or 'job' @param {boolean} isAsync @param {string[]} scripts
 * @returns {Promise<string>} 'passed', or the failure
 */
function run(mode, isAsync, scripts) {
  const { context, global, evaluate } = createRealm()
  const { support, rt } = mode === 'native' ? {} : modules.runInContext(context)
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve('the test did not call $DONE'), TIMEOUT)
    const end = (/** @type {string} */ outcome) => {
      clearTimeout(timer)
      resolve(outcome)
    }
    global.print = printer(end)
    fail = end
    const start = async () => {
      if (support) global[Symbol.for('rt.mjs')] = support
      const spawn = rt?.spawn.bind(rt) // taken now, because tests replace built-in functions
      scripts.forEach(text => evaluate(text))
      if (mode === 'job') await spawn([global, '$program'])
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
  /** @returns {Outcome} */
  const failed = (/** @type {unknown} */ error) => ({ native: 'passed', rewritten: describe(error) })
  process.send?.(await outcomeOf(`${file}`).catch(failed))
})
