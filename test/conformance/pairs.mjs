/**
 * Runs pairs of calls of packages as two jobs, and compares their results with calls one after the other:
 *
 *   npm --prefix bench/peers install                     once
 *   node test/conformance/pairs.mjs [options] [part of a package's name]...
 *     --results FILE    one line of JSON per pair; a later run skips the packages that FILE names
 *     --lanes 2         processes at a time
 *     --table           prints the results of FILE only
 *
 * The packages are loaded through the hook of examples/node, in one process per package, with inferred claims
 * and without claims. With claims, each pair must give the results of one of the two orders of calls. Pairs
 * that are right without claims should interleave with claims. The table has two counts: pairs whose jobs change
 * places at least three times while both are in their calls, and pairs whose jobs change places at least a
 * quarter as often as without claims. The first count includes pairs that wait for a claim soon after they
 * start. A pair whose jobs change places less than three times without claims does not count.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** ms for one package in one mode. */
const TIMEOUT = 200_000
/** Places that two jobs must change to interleave. */
const MIN_SWITCHES = 3
/** A pair is free if its jobs change places at least this often, as a share of the changes without claims. */
const MIN_SHARE = 0.25
/** Packages of pure functions. */
const PURE = ['d3-array', 'd3-hierarchy', 'simple-statistics', 'ramda', 'diff']
const MODES = ['claims', 'none']

const folder = new URL('../../bench/peers/pairs/', import.meta.url)
const HOOK = new URL('../../examples/node/register.mjs', import.meta.url).href
const CHILD = fileURLToPath(new URL('pairs-child.mjs', import.meta.url))

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    results: { type: 'string', default: 'pairs-results.jsonl' },
    lanes: { type: 'string', default: '2' },
    table: { type: 'boolean', default: false }
  }
})

/**
 * @typedef {object} Line
 * @property {string} name the package
 * @property {string} mode
 * @property {string} [failure] the reason why the process ended
 * @property {string[]} pair
 * @property {boolean} isSteady whether the calls give the same results a second time
 * @property {number} switches
 * @property {string} wrong empty if the results are right
 * @property {number} cycles cycles of claims that the console names
 * @property {string[]} blocks the locations that a job waited for
 */
/** @type {Line[]} */
const lines = existsSync(values.results)
  ? readFileSync(values.results, 'utf8').trim().split('\n').filter(Boolean).map(line => JSON.parse(line)) : []
if (!values.table) await runAll()
summarize()

async function runAll() {
  if (!existsSync(new URL('../node_modules/pug', folder))) {
    console.log('Install the packages first: npm --prefix bench/peers install')
    process.exit(2)
  }
  const done = new Set(lines.map(({ name, mode }) => `${name} ${mode}`))
  const queue = readdirSync(folder).filter(file => /\.mjs$/.test(file) && !/\.copy\./.test(file))
    .map(file => file.slice(0, -'.mjs'.length))
    .filter(name => positionals.length === 0 || positionals.some(part => name.includes(part)))
    .flatMap(name => MODES.map(mode => ({ name, mode })))
    .filter(({ name, mode }) => !done.has(`${name} ${mode}`))
  await Promise.all(Array.from({ length: Number(values.lanes) }, async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      for (const line of await outcomesOf(next.name, next.mode)) {
        lines.push(line)
        appendFileSync(values.results, `${JSON.stringify(line)}\n`)
        if (line.failure) console.log(`${line.name}, ${line.mode}: ${line.failure}`)
        if (!line.wrong || line.mode === 'none') continue
        console.log(`${line.name}: ${line.pair.join(' and ')}: ${line.wrong}`)
      }
    }
  }))
}

/** @param {string} name @param {string} mode @returns {Promise<Line[]>} */
function outcomesOf(name, mode) {
  const match = encodeURIComponent('/node_modules/')
  const hook = `${HOOK}?match=${match}${mode === 'none' ? '&exclusive=false' : ''}`
  const calls = fileURLToPath(new URL(`${name}.mjs`, folder))
  const child = spawn(process.execPath, ['--no-warnings', '--import', hook, CHILD, calls],
    { stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT, killSignal: 'SIGKILL' })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', text => { output += text })
  child.stderr.setEncoding('utf8').on('data', text => { errors += text })
  return new Promise(resolve => child.on('close', (code, signal) => {
    const found = output.split('\n').slice(0, -1).filter(line => line.startsWith('{'))
      .map(line => ({ name, mode, ...JSON.parse(line) }))
    if (code !== 0) {
      const reason = errors.split('\n').find(line => /Error/.test(line)) ?? errors.slice(-300)
      const failure = `${signal ?? code}: ${reason}`
      found.push({ name, mode, failure, pair: [], isSteady: true, switches: 0, wrong: '', cycles: 0, blocks: [] })
    }
    resolve(found)
  }))
}

/** Prints a table, one row for each package. */
function summarize() {
  const keyOf = (/** @type {Line} */ { name, pair }) => `${name} ${pair}`
  const without = new Map(lines.filter(({ mode, failure }) => mode === 'none' && !failure)
    .map(line => [keyOf(line), line]))
  const rows = new Map()
  const all = rowOf()
  const pure = rowOf()
  for (const line of lines) {
    const { name, mode, failure, wrong, isSteady, cycles, switches, blocks } = line
    if (mode !== 'claims' || failure || !isSteady) continue
    if (!rows.has(name)) rows.set(name, rowOf())
    const bare = without.get(keyOf(line))
    for (const row of [rows.get(name), all, ...(PURE.includes(name) ? [pure] : [])]) {
      row.pairs++
      if (wrong) row[cycles ? 'inCycle' : 'wrong']++
      if (bare && !bare.wrong && bare.switches >= MIN_SWITCHES) {
        row.right++
        if (switches >= MIN_SWITCHES) row.changes++
        if (switches >= Math.max(MIN_SWITCHES, bare.switches * MIN_SHARE)) row.free++
        else for (const block of blocks) row.blocks.set(block, (row.blocks.get(block) ?? 0) + 1)
      }
      if (bare?.wrong) row.fragile++
    }
  }
  console.log('| package | pairs | wrong with claims | in a named cycle | wrong without | right without ' +
    '| of these change places | interleave freely | locations that block |\n' +
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |')
  for (const [name, row] of [...rows].sort(([a], [b]) => a < b ? -1 : 1)) print(name, row)
  print(`*${PURE.join(', ')}*`, pure)
  print('**all**', all)
}

function rowOf() {
  return { pairs: 0, wrong: 0, inCycle: 0, fragile: 0, right: 0, changes: 0, free: 0, blocks: new Map() }
}

/** @param {string} name @param {ReturnType<typeof rowOf>} row */
function print(name, { pairs, wrong, inCycle, fragile, right, changes, free, blocks }) {
  const share = right ? `${free} (${Math.floor(free / right * 100)} %)` : ''
  const worst = [...blocks].sort(([, a], [, b]) => b - a).slice(0, 3)
    .map(([location, count]) => `\`${location}\`: ${count}`).join(', ').replaceAll('|', '\\|')
  console.log(`| ${[name, pairs, wrong, inCycle, fragile, right, changes, share, worst].join(' | ')} |`)
}
