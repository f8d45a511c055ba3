/**
 * Runs a program natively, rewritten and called plainly, and rewritten as a job that suspends at every point.
 *
 * A program is the text of a script, a module or a CommonJS file that declares or exports `main`. A script
 * must declare everything by `var` or `function`, because it is evaluated several times.
 */
import { createRequire } from 'node:module'
import { runInThisContext } from 'node:vm'
import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'

const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href

/**
 * A long comment: the growth of a text is limited, and with this comment the limit allows every kind of twin.
 */
const PADDING = `\n/*${' padding'.repeat(2000)} */`

/** How each kind of program is loaded. Each resolves to its `main`. */
const loaders = {
  module: async text => (await import(`data:text/javascript,${encodeURIComponent(text)}`)).main,
  script: text => runInThisContext(`${text}\n;main`, { filename: 'program.js' }),
  commonjs: text => {
    const module = { exports: {} }
    const wrapper = runInThisContext(`(function (exports, require, module) {${text}\n})`, { filename: 'program.cjs' })
    wrapper.call(module.exports, module.exports, createRequire(import.meta.url), module)
    return module.exports.main
  }
}

/** Rewrites a program. @param {string} text @param {'module' | 'script' | 'commonjs'} type */
const rewrite = (text, type) =>
  preemptify.source(text, type === 'module' ? { type, runtime } : { type: 'script' })

/** Calls a function. Resolves to its result, or to the text of its error. */
async function settled(call) {
  try {
    return await call()
  } catch (error) {
    return `throws ${error}`
  }
}

/**
 * Runs a program in all modes.
 *
 * @param {string} text @param {'module' | 'script' | 'commonjs'} [type]
 * @param {object} [options] parameters of the job
 * @returns {Promise<Record<string, any>>} the result of each mode
 */
export async function modesOf(text, type = 'module', options = { budget: 1 }) {
  const run = async (text, call) => {
    const main = await loaders[type](text)
    return await settled(() => call(main))
  }
  const spawn = main => new Scheduler().spawn(main, options)
  const short = rewrite(text, type)
  const long = rewrite(text + PADDING, type)
  // The modes run one after the other, because scripts share their global functions.
  return {
    native: await run(text, main => main()),
    plain: await run(long, main => main()),
    job: await run(long, spawn),
    'job of a short text': await run(short, spawn)
  }
}

/**
 * Asserts that a program gives the same result in all modes.
 *
 * @param {string} text @param {'module' | 'script' | 'commonjs'} [type] @param {object} [options]
 * @returns {Promise<any>} the native result
 */
export async function assertSame(text, type, options) {
  const { native, ...others } = await modesOf(text, type, options)
  for (const mode in others) assert.is(inspect(others[mode]), inspect(native), `${mode}:\n${text}`)
  return native
}
