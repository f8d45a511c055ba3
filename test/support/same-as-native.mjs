/** Programs that must do the same natively, rewritten and called plainly, and rewritten as a job. */
import { inspect } from 'node:util'
import { runInThisContext } from 'node:vm'
import * as assert from 'uvu/assert'
import { preemptify } from '../../addons/preemptify.mjs'
import { driveAsync } from './drive.mjs'
import { internals } from './phases.mjs'

const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
/** A comment that leaves room for frames. Twins of a short text are mostly generators. */
const PADDING = `\n/*${'.'.repeat(20_000)}*/`
/** Budgets of jobs: a suspension at every point, at some points, never. */
const LIMITS = [1, 2, 7, 2 ** 30]

/** Another instance of the compiler, whose twins are all generators. */
const generators = internals('preemptify', 'optimisations')
generators.optimisations.frame = false

const compilers = {
  frames: preemptify.source,
  generators: generators.preemptify.source,
  'a short text': (text, options) => preemptify.source(text.replace(PADDING, ''), options)
}

let loads = 0

/** Evaluates a module or the scripts of a page. Resolves to their function `main`. */
async function mainOf(texts, type, rewrite) {
  const id = ++loads
  const sources = texts.map(text => rewrite(`${text.replaceAll('UNIQUE', id)}\n// ${id}${PADDING}`))
  if (type === 'module') return (await import(`data:text/javascript,${encodeURIComponent(sources[0])}`)).main
  for (const source of sources) runInThisContext(source)
  return globalThis.main
}

/** Returns the result or the kind of error of a program, and the values that the program has logged. */
async function outcomeOf(run) {
  const logged = []
  globalThis.log = value => {
    logged.push(inspect(value))
    return value
  }
  try {
    return inspect({ result: await run(), logged }, { depth: 9 })
  } catch (error) {
    return inspect({ error: error.name, logged })
  } finally {
    delete globalThis.log
  }
}

/**
 * Asserts that a program does the same in every way to run it. The program declares `main`, which has to be
 * able to run long, and records effects by `log(value)`. `UNIQUE` in a text becomes a new number each time.
 *
 * @param {'module' | 'script'} type
 * @param {...string} texts a module, or the scripts of a page in their order
 */
export async function assertSameAsNative(type, ...texts) {
  const expected = await outcomeOf(async () => (await mainOf(texts, type, text => text))())
  for (const [name, source] of Object.entries(compilers)) {
    const rewrite = text => source(text, type === 'module' ? { type, runtime } : { type })
    const plain = async () => (await mainOf(texts, type, rewrite))()
    assert.is(await outcomeOf(plain), expected, `${name}, called plainly`)
    for (const limit of LIMITS) {
      const job = async () => driveAsync(preemptify(await mainOf(texts, type, rewrite))(), { limit })
      assert.is(await outcomeOf(job), expected, `${name}, a job with a budget of ${limit}`)
    }
  }
}
