/**
 * Runs pairs of calls of one package as two jobs, for pairs.mjs: node --import HOOK pairs-child.mjs CALLS
 *
 * Prints one line of JSON for each pair. CALLS is a module whose `calls` has a function for each call, and
 * whose `inputs` returns the argument of a call for a number.
 */
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { Scheduler, defaultHost } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'

/** Limits of one job between two points, and the length of a time slice in reads of the clock. */
const SETTINGS = [
  { budget: 1, reads: 1 }, { budget: 1, reads: 20 }, { budget: 5, reads: 1 }, { budget: 50, reads: 3 }
]
/** ms of virtual time that one read of the clock takes. */
const READ = 0.01
/** Reads of the clock after which jobs are cancelled: without claims, wrong state can make a loop endless. */
const MAX_READS = 1_000_000

const { calls, inputs } = await importWithoutClaims(process.argv[2])
/** Messages of the console in the present run. @type {string[]} */
let said = []
console.warn = text => { said.push(`${text}`) }
console.error = console.warn

/**
 * Imports the rewritten calls without claims. The calls keep no state, so only the package makes claims.
 *
 * @param {string} file
 */
async function importWithoutClaims(file) {
  const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
  const text = preemptify.source(readFileSync(file, 'utf8'), { runtime, exclusive: false })
  const copy = file.replace(/\.mjs$/, `.${process.pid}.copy.mjs`)
  writeFileSync(copy, text)
  try {
    return await import(pathToFileURL(copy).href)
  } finally {
    unlinkSync(copy)
  }
}

/** @param {unknown} value @returns {string} the structure of a result */
function textOf(value) {
  return inspect(value, {
    depth: 12, maxArrayLength: Infinity, maxStringLength: Infinity, compact: true, breakLength: Infinity
  })
}

/** @param {() => unknown} call @returns {string} */
function outcome(call) {
  try {
    return textOf(call())
  } catch (error) {
    return `throws ${/** @type {any} */ (error)?.name}: ${/** @type {any} */ (error)?.message}`
  }
}

/**
 * The arguments of both calls. Each run has new ones, because a call can change its argument.
 *
 * @param {string[]} pair
 */
const argumentsOf = pair => pair.map((name, which) => inputs(name, which))

/** @param {string[]} pair the names of two calls */
async function outcomeOf(pair) {
  const orders = [[0, 1], [1, 0], [0, 1]].map(order => {
    const given = argumentsOf(pair)
    const results = ['', '']
    for (const which of order) results[which] = outcome(() => calls[pair[which]](given[which]))
    return results.join('\n')
  })
  const line = {
    pair, isSteady: orders[0] === orders[2], switches: 0, wrong: '', cycles: 0, blocks: /** @type {string[]} */ ([])
  }
  for (const setting of SETTINGS) {
    const { results, switches, blocks, cycles } = await twoAtOnce(pair, setting)
    line.switches = Math.max(line.switches, switches)
    line.cycles += cycles
    line.blocks = [...new Set([...line.blocks, ...blocks])]
    if (!orders.includes(results.join('\n')) && !line.wrong) {
      const [one, other] = results.map((text, which) =>
        text === orders[0].split('\n')[which] ? 'equal' : text.slice(0, 200))
      line.wrong = `budget ${setting.budget}, ${setting.reads} reads: ${one} | ${other}`
    }
  }
  return line
}

/**
 * Runs two calls as jobs that take turns.
 *
 * @param {string[]} pair @param {{ budget: number, reads: number }} setting
 */
async function twoAtOnce(pair, { budget, reads }) {
  const platform = defaultHost()
  let time = 0
  const host = { ...platform, now: () => (time += READ) }
  const scheduler = new Scheduler({ host, slice: reads * READ * 0.99, round: Infinity, budget })
  said = []
  let switches = 0
  /** @type {unknown} */
  let last = null
  /** @type {Set<unknown>} */
  const started = new Set()
  const blocks = new Set()
  scheduler.observe((/** @type {any} */ { type, job, function: name, location }) => {
    if (type === 'block' && location) blocks.add(`${location} (${name})`)
    if (type !== 'start' && type !== 'resume') return
    if (time > MAX_READS * READ) for (const job of jobs) job.cancel(new Error('the job does not end'))
    if (type === 'start') started.add(job)
    const areBothIn = started.size === 2 && jobs.every(job => !/^(?:done|failed|cancelled)$/.test(job.state))
    if (areBothIn && last && job !== last) switches++
    last = job
  })
  const given = argumentsOf(pair)
  const jobs = pair.map((name, which) => scheduler.spawn(calls[name], { budget }, given[which]))
  const results = await Promise.all(jobs.map(job => job.then(textOf,
    (/** @type {any} */ error) => `throws ${error?.name}: ${error?.message}`)))
  const cycles = said.filter(text => /each waits for the other/.test(text)).length
  return { results, switches, blocks, cycles }
}

const names = Object.keys(calls)
for (let i = 0; i < names.length; i++) {
  for (let k = i; k < names.length; k++) {
    process.stdout.write(`${JSON.stringify(await outcomeOf([names[i], names[k]]))}\n`)
  }
}
process.stdout.write('', () => process.exit(0))
