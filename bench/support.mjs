import { cpus, availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Bench } from 'tinybench'

/**
 * A variant to measure. `run` performs `operations` operations. It returns a promise if `async` is set.
 * `setup` and `teardown` run before and after its turn in each pass and are not measured.
 * @typedef {object} Variant
 * @property {string} name
 * @property {number} operations
 * @property {() => unknown} run
 * @property {boolean} [async]
 * @property {() => void} [setup]
 * @property {() => void} [teardown]
 *
 * @typedef {{ name: string, median: number, p99: number, ratio: number }} Row ns per operation
 */

/**
 * Parses the options of a bench.
 * @param {Record<string, string | boolean | undefined>} defaults default values; false means a flag
 * @param {string} [usage] the text for `--help`; default: a list of the options
 * @returns {Record<string, any>}
 */
export function optionsOf(defaults, usage = Object.entries(defaults).map(([name, value]) => `--${name} ${value || ''}`).join('\n')) {
  const options = Object.entries({ help: false, svg: undefined, ...defaults })
    .map(([name, value]) => [name, { type: typeof value === 'boolean' ? 'boolean' : 'string', default: value }])
  const { values } = parseArgs({ options: Object.fromEntries(options) })
  if (values.help) {
    console.log(usage)
    process.exit()
  }
  return values
}

/**
 * Returns the CPU time of this process in ms. Unlike wall time, it does not include other processes.
 * @returns {number}
 */
export function cpuTime() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/**
 * Returns a host without an event loop. `drain()` runs the posted rounds synchronously, so that a measurement
 * contains only the scheduler. Jobs on this host must not wait for time: `after` never fires.
 * @param {() => number} [now]
 */
export function synchronousHost(now = performance.now.bind(performance)) {
  const posted = []
  return {
    now,
    post(fn) {
      posted.push(fn)
    },
    after: () => () => {},
    drain() {
      while (posted.length > 0) posted.shift()()
    }
  }
}

/**
 * Returns a clock that stops while this process is not running, so that other processes cause no stalls. Use
 * it only for work that never waits: the part of a gap that is not CPU time counts as taken by other
 * processes.
 * @returns {() => number} ms
 */
export function undisturbedClock() {
  const wall = performance.now.bind(performance)
  let latest = wall()
  let sampledWall = latest
  let sampledCpu = cpuTime()
  let taken = 0
  return () => {
    const time = wall()
    if (time - latest > 0.05) {
      const cpu = cpuTime()
      taken += Math.max(0, time - sampledWall - (cpu - sampledCpu))
      sampledWall = time
      sampledCpu = cpu
    }
    latest = time
    return time - taken
  }
}

/**
 * Returns a generator of random numbers in [0, 1) that are the same in every run (mulberry32).
 * @param {number} seed
 * @returns {() => number}
 */
export function seededRandom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6D2B79F5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * @param {number[]} values a non-empty list
 * @param {number} fraction 0.5 is the median
 * @returns {number}
 */
export function quantile(values, fraction) {
  const sorted = Float64Array.from(values).sort()
  const position = fraction * (sorted.length - 1)
  const below = Math.floor(position)
  const above = Math.min(below + 1, sorted.length - 1)
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below)
}

export const median = values => quantile(values, 0.5)

/** @param {number[]} values */
export const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length

/** Returns the standard deviation. @param {number[]} values */
export function deviation(values) {
  const average = mean(values)
  return Math.sqrt(mean(values.map(value => (value - average) ** 2)))
}

/** Column titles of `statistics`, as in the tables of RTJPerf. */
export const statisticsColumns = ['mean', 'deviation', '99 %', 'maximum']

/** @param {number[]} values */
export const statistics = values => [mean(values), deviation(values), quantile(values, 0.99), Math.max(...values)]

/**
 * Measures the variants in turns. The ratio of a variant to the floor is the median of the ratios within a
 * pass: a shared machine changes its speed during a run, but neighbouring measurements see nearly the same
 * speed.
 * @param {Variant[]} variants the first one is the floor, unless `floor` names another
 * @param {{ passes?: number, time?: number, clock?: () => number, floor?: string }} [options] `time`: ms per
 *   variant and pass
 * @returns {Promise<Row[]>}
 */
export async function measure(variants, options = {}) {
  const { passes = 9, time = 30, clock = cpuTime, floor = variants[0].name } = options
  const samples = new Map(variants.map(({ name }) => [name, []]))
  for (let pass = 0; pass < passes; pass++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const variant = variants[(turn + pass) % variants.length]
      samples.get(variant.name).push(await sample(variant, time, clock))
    }
  }
  const floors = samples.get(floor).map(median)
  return variants.map(({ name }) => {
    const medians = samples.get(name).map(median)
    return {
      name,
      median: median(medians),
      p99: quantile(samples.get(name).flat(), 0.99),
      ratio: median(medians.map((value, pass) => value / floors[pass]))
    }
  })
}

async function sample({ name, operations, run, async = false, setup, teardown }, time, clock) {
  setup?.()
  // Collect the garbage of earlier variants first. A forced collection also discards compiled code, so every
  // pass needs a warm-up.
  globalThis.gc?.()
  const bench = new Bench({
    now: clock, retainSamples: true, throws: true, time, iterations: 2, warmupTime: time / 2,
    warmupIterations: 2
  })
  bench.add(name, run, { async })
  if (async) await bench.run()
  else bench.runSync()
  teardown?.()
  return bench.tasks[0].result.latency.samples.map(ms => ms * 1e6 / operations)
}

/**
 * Returns the measured ratio between two variants of one table.
 * @param {Row[]} rows
 * @param {string} name
 * @param {string} to
 * @returns {number}
 */
export const ratio = (rows, name, to) => find(rows, name).ratio / find(rows, to).ratio

/**
 * @param {Row[]} rows
 * @param {string} name
 * @returns {Row}
 */
export function find(rows, name) {
  const row = rows.find(candidate => candidate.name === name)
  if (row === undefined) throw new Error(`no variant is named '${name}'`)
  return row
}

/**
 * Prints the heading of a bench: the question, the runtime, the machine and the conditions.
 * @param {string} question
 * @param {string} [conditions]
 */
export function heading(question, conditions = '') {
  const name = process.argv[1].match(/([^/\\]+)\.mjs$/)[1]
  const { node, v8 } = process.versions
  const versions = node ? `Node ${node} (V8 ${v8.split('-')[0]})` : 'a page'
  const processor = `${cpus()[0].model.trim()}, ${availableParallelism()} cores`
  const machine = `${process.platform} ${process.arch}, ${processor}`
  console.log(`## ${name}: ${question}\n\n${versions}, ${machine}${conditions && `; ${conditions}`}\n`)
}

/**
 * Prints a Markdown table. The first column is aligned to the left, the others to the right.
 * @param {string[]} columns
 * @param {(string | number)[][]} rows
 */
export function table(columns, rows) {
  const cells = [columns, ...rows].map(row => row.map(cell => typeof cell === 'number' ? figure(cell) : cell))
  const widths = columns.map((_, column) => Math.max(4, ...cells.map(row => row[column].length)))
  const line = row => `| ${row.map((cell, column) => pad(cell, column, widths[column])).join(' | ')} |`
  const rule = widths.map((width, column) => column === 0 ? '-'.repeat(width) : '-'.repeat(width - 1) + ':')
  console.log([line(cells[0]), line(rule), ...cells.slice(1).map(line)].join('\n') + '\n')
}

const pad = (cell, column, width) => column === 0 ? cell.padEnd(width) : cell.padStart(width)

/**
 * Prints the rows of `measure`.
 * @param {string} subject the heading of the first column
 * @param {string} unit such as 'ns per yield'
 * @param {Row[]} rows
 * @param {number} [scale] the unit in ns
 */
export function printRows(subject, unit, rows, scale = 1) {
  const floor = rows.find(row => row.ratio === 1) ?? rows[0]
  table(
    [subject, `${unit}, median`, 'p99', `ratio to ${floor.name}`],
    rows.map(row => [row.name, row.median / scale, row.p99 / scale, row.ratio])
  )
}

/**
 * Prints a measured value and whether it meets its target, or that it was not measured.
 * @param {string} claim
 * @param {number} value
 * @param {{ most?: number, least?: number, unit?: string }} bound
 */
export function target(claim, value, { most, least, unit = '' }) {
  const met = most === undefined ? value >= least : value <= most
  const bound = most === undefined ? `at least ${figure(least)}` : `at most ${figure(most)}`
  const verdict = !Number.isFinite(value) ? 'not measured' : met ? 'met' : 'not met'
  console.log(`- ${claim}: **${figure(value)}${unit}** (target: ${bound}${unit}, ${verdict})`)
}

/**
 * Formats a number with three significant digits, grouped by thousands.
 * @param {number} value
 * @returns {string}
 */
export function figure(value) {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
  return String(Number(value.toPrecision(3)))
}

/**
 * Imports a package of bench/peers. Only comparisons need these packages.
 * @param {string} path path of the module below bench/peers/node_modules
 * @returns {Promise<any>} undefined if the package is not installed
 */
export async function peer(path) {
  try {
    return await import(new URL(`./peers/node_modules/${path}`, import.meta.url))
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    const folder = relative(process.cwd(), fileURLToPath(new URL('./peers', import.meta.url)))
    console.log(`${path.split('/')[0]}: peer not installed: npm --prefix ${folder} install\n`)
  }
}
