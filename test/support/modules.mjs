/**
 * Modules as texts: each one is loaded natively and rewritten. Its `main` runs natively, rewritten and called
 * plainly, and as a job. The function `log` of the text records effects.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { Scheduler, defaultHost } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'

const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
/** Without a long source, the limit of growth makes most twins generators. */
const PADDING = `\n/*${' padding'.repeat(2000)} */`
let folder
let files = 0

/** Writes a file that is deleted when the process ends. Returns its URL. */
export function written(text, extension = 'mjs') {
  if (folder === undefined) {
    folder = mkdtempSync(join(tmpdir(), 'modules-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  }
  const file = join(folder, `${++files}.${extension}`)
  writeFileSync(file, text)
  return pathToFileURL(file)
}

/** Resolves to the namespace of a module. */
export const nativeModule = text => import(written(text))
/** Resolves to the namespace of a rewritten module. */
export const rewrittenModule = (text, { padding = PADDING } = {}) =>
  import(written(preemptify.source(text + padding, { runtime })))

/** Resolves to the outcome of a call and to the effects that it has logged. */
export async function outcomeOf(namespace, call) {
  const log = []
  namespace.logTo?.(log)
  let outcome
  try {
    outcome = { value: await call(namespace.main) }
  } catch (error) {
    outcome = { error: `${error?.name}: ${error?.message ?? error}` }
  }
  await new Promise(resolve => setImmediate(resolve))
  return { ...outcome, log }
}

const HEAD = `
let list = []
export const logTo = to => { list = to }
const log = (...values) => { list.push(values.join(' ')) }
function work(n) { let s = 0; for (let i = 0; i < 3; i++) s += i; return s + n }
`

/** The modes of a program, as functions of its `main` and a scheduler. */
const JOBS = { 'a point suspends each time': { budget: 1 }, 'no point suspends': { budget: 1e6 } }

/**
 * Asserts that a program has the same outcome and effects natively, called plainly, and as a job.
 *
 * @param {string} text the text of a module that exports `main`
 */
export async function assertLikeNative(text) {
  const expected = await outcomeOf(await nativeModule(HEAD + text), main => main())
  for (const padding of ['', PADDING]) {
    const namespace = await rewrittenModule(HEAD + text, { padding })
    assert.equal(await outcomeOf(namespace, main => main()), expected, 'called plainly')
    for (const [mode, options] of Object.entries(JOBS)) {
      // The end of a round would delay continuations, while microtasks of the engine continue.
      const scheduler = new Scheduler({ round: Infinity, slice: Infinity })
      assert.equal(await outcomeOf(namespace, main => scheduler.spawn(main, options)), expected, mode)
      await scheduler.idle()
    }
  }
  return expected
}

/**
 * Resolves to the number of times that the scheduler could preempt a job of `main`: it reads its clock at
 * each point.
 *
 * @param {string} text the text of a module that exports `main`
 */
export async function pointsOf(text) {
  let reads = 0
  const platform = defaultHost()
  const host = { ...platform, now: () => (reads++, platform.now()) }
  const scheduler = new Scheduler({ host })
  const { main } = await rewrittenModule(HEAD + text)
  await scheduler.spawn(main, { budget: 1 })
  await scheduler.idle()
  return reads
}
