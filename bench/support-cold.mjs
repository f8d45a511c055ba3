// Runs in pages and in Node: functions as they are and as jobs, in a place where nothing of them has run before.
import { rt } from '../rt.mjs'
import { ready } from '../examples/preemptify/functions.mjs'
import { argumentsOf, read, rewrite } from '../examples/preemptify/pasted.mjs'

/** The functions of the playground that compute, and README's first example. */
export const names = [...ready.filter(({ id, isEndless }) => !isEndless && id !== 'async').map(({ id }) => id), 'README']

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
 * @param {string} readme its text
 * @returns {Promise<number[]>} ms
 */
export async function times(name, way, count, readme) {
  const run = name === 'README' ? fromReadme(readme)[way] : fromPlayground(name)[way]
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

function fromReadme(readme) {
  const script = readme.match(/<script type="module">\n([^]*?)<\/script>/)[1]
  const here = script.replace(/'https:.*rt\.mjs'/, `'${new URL('../rt.mjs', import.meta.url)}'`)
  const body = script.match(/function\* \(\) \{\n([^]*?)\n {2}\},/)[1].replace(/^.*yield.*$/m, '')
  return {
    plain: new Function(body),
    auto: () => import(`data:text/javascript,${encodeURIComponent(`${here}\n// ${performance.now()}`)}`)
  }
}
