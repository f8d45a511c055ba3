// Runs in pages and in Node: functions as they are and as jobs, in a place where nothing of them has run before.
import { rt } from '../rt.mjs'
import { ready } from '../examples/preemptify/functions.mjs'
import { argumentsOf, read, rewrite } from '../examples/preemptify/pasted.mjs'

/** The functions of the playground that compute, and a loop by hand. */
export const names = [...ready.filter(({ id, isEndless }) => !isEndless && id !== 'async').map(({ id }) => id), 'by-hand']

/** Those that are nothing but loops. */
export const loops = ['product', 'mandelbrot', 'collatz']

/** ms; in Node of processor time, which leaves out what other processes took. */
const clock = () => {
  const used = globalThis.process?.cpuUsage()
  return used ? (used.user + used.system) / 1000 : performance.now()
}

/**
 * How long each of several runs takes.
 *
 * @param {string} name
 * @param {'plain' | 'auto'} way
 * @param {number} count
 * @returns {Promise<number[]>} ms
 */
export async function times(name, way, count) {
  const run = name === 'by-hand' ? byHand()[way] : fromPlayground(name)[way]
  const found = []
  for (let i = 0; i < count; i++) {
    // What the run before left to the browser is done.
    await new Promise(resolve => setTimeout(resolve, 50))
    const began = clock()
    await run()
    found.push(clock() - began)
  }
  return found
}

function fromPlayground(name) {
  const { text, args } = ready.find(({ id }) => id === name)
  const pasted = read(text)
  const { work } = rewrite(pasted)
  const given = argumentsOf(pasted, args)
  return { plain: () => pasted.fn(...given), auto: () => rt.spawn(work, undefined, ...given) }
}

/** A loop whose preemption point is written by hand. The module of each run has its own address. */
function byHand() {
  const rtURL = new URL('../rt.mjs', import.meta.url)
  const sum = (/** @type {string} */ point) => `let sum = 0
    for (let i = 0; i < 1e7; i++) {
      sum += Math.sin(i)
      ${point}
    }
    return sum`
  const module = `import { rt, budget } from '${rtURL}'
    await rt.spawn(function* () { ${sum('if (--budget.left <= 0) yield')} }, { deadline: 5000 })`
  return {
    plain: new Function(sum('')),
    auto: () => import(`data:text/javascript,${encodeURIComponent(`${module}\n// ${performance.now()}`)}`)
  }
}
