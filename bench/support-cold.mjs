// Runs functions plainly and as jobs for the first time, in pages and in Node.
import { rt } from '../rt.mjs'
import { ready } from '../examples/preemptify/functions.mjs'
import { argumentsOf, read, rewrite } from '../examples/preemptify/pasted.mjs'

/** The functions of the playground that compute, and a handwritten loop. */
export const names = [...ready.filter(({ id, isEndless }) => !isEndless && id !== 'async').map(({ id }) => id), 'by-hand']

/** The functions that contain only loops. */
export const loops = ['product', 'mandelbrot', 'collatz']

/** Returns the time in ms: CPU time in Node, which excludes other processes; wall time in pages. */
const clock = () => {
  const used = globalThis.process?.cpuUsage()
  return used ? (used.user + used.system) / 1000 : performance.now()
}

/**
 * Measures several runs.
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
    // Let the browser finish the work that the previous run left.
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

/** Returns a loop with a handwritten preemption point. The module of each run has its own address. */
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
