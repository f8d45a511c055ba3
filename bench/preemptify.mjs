import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'
import { preemptify } from '../addons/preemptify.mjs'
import { Scheduler } from '../rt.mjs'
import { corpus } from '../test/corpus/index.mjs'
import { preemptible } from '../test/support/drive.mjs'
import { comparePrograms, compareStopify, programs } from './support-programs.mjs'
import { cpuTime, figure, heading, median, table, target } from './support.mjs'

// Arguments: none runs functions and whole programs; `functions`, `programs`, `packages` and `stopify` run
// only these. Any other word is a part of a name and selects the entries with this part: `fib sort`,
// `marked`.
const words = process.argv.slice(2)
const groups = words.filter(word => ['functions', 'programs', 'packages', 'stopify'].includes(word))
const patterns = words.filter(word => !groups.includes(word))
const wanted = group => groups.length > 0 ? groups.includes(group) : patterns.length > 0 || ['functions', 'programs'].includes(group)
const chosen = corpus.filter(({ name }) => patterns.length === 0 || patterns.some(part => name.includes(part)))

heading('what rewriting costs, and how fast the result runs', 'CPU time')
if (patterns.length === 0 && wanted('functions')) {
  rewriteSpeed()
  size()
}
if (wanted('functions') && chosen.length > 0) await runTime()
for (const kind of ['programs', 'packages']) {
  const list = wanted(kind) ? programs(kind, patterns) : []
  if (list.length > 0) await comparePrograms(kind, list)
}
if (groups.includes('stopify')) await compareStopify(programs('programs', patterns))

function rewriteSpeed() {
  console.log('### rewriting\n')
  const bodies = corpus.flatMap(({ fn, calls }) => [fn, ...Object.values(calls ?? {})])
    .map(String)
    .filter(source => source.startsWith('function'))
    .map(source => source.slice(source.indexOf(') {\n') + 2))
  let made = 0

  /**
   * Returns a function of about `length` characters: blocks with bodies of the corpus, different in each
   * call.
   */
  function source(length) {
    const blocks = []
    for (let rest = length, i = made++; rest > 100; i++) {
      const body = bodies[i % bodies.length]
      if (body.length <= rest) blocks.push(body)
      else if (bodies.every(other => other.length > rest)) break
      else continue
      rest -= body.length + 1
    }
    return `function work${made}(list, a, b, n) {\n${blocks.join('\n')}\n}`
  }

  /** Measures ms per character: the minimum and the median of nine passes over `count` functions each. */
  function perCharacter(length, count, work) {
    const costs = []
    for (let turn = 0; turn < 9; turn++) {
      const sources = Array.from({ length: count }, () => source(length))
      const inputs = sources.map(text => work.prepare(text))
      const characters = sources.reduce((sum, text) => sum + text.length, 0)
      const started = cpuTime()
      for (const input of inputs) work.run(input)
      costs.push((cpuTime() - started) / characters)
    }
    return { best: Math.min(...costs), middle: median(costs) }
  }

  const rewriting = { prepare: text => new Function(`return ${text}`)(), run: fn => preemptify(fn) }
  // The lower bound: the time in which the built-in parser scans the same source without compiling inner
  // functions.
  const compiling = { prepare: text => `return ${text}`, run: text => new Function(text) }

  const speed = perCharacterCost => 1 / (perCharacterCost * 1000)
  const rows = []
  const speeds = new Map()
  const first = new Function(`return ${source(1e4)}`)()
  const started = cpuTime()
  preemptify(first)
  const cold = cpuTime() - started
  perCharacter(1e5, 5, rewriting)
  const sources = [['1 KB', 1e3, 200], ['10 KB', 1e4, 40], ['100 KB', 1e5, 5], ['1 MB', 1e6, 1]]
  for (const [name, length, count] of sources) {
    const floor = perCharacter(length, count, compiling)
    const { best, middle } = perCharacter(length, count, rewriting)
    speeds.set(name, speed(best))
    rows.push([name, speed(middle), speed(best), speed(floor.best), best / floor.best])
  }
  table(['source', 'preemptify, MB/s, median', 'best', 'new Function, best', 'times as long'], rows)
  console.log(`The first 10 KB in this process, when nothing of it was compiled yet: ${figure(cold)} ms.\n`)
  target('1 MB', speeds.get('1 MB'), { least: 5, unit: ' MB/s' })
  target('linear: 10 KB to 1 MB, MB/s to MB/s', speeds.get('10 KB') / speeds.get('1 MB'), { most: 1.5 })
  console.log('')
}

/** Prints the sizes of the compiler and of the run-time support, which pages load in addition to rt.mjs. */
function size() {
  console.log('### size\n')
  const bundles = ['addons/preemptify.mjs', 'addons/preemptify/runtime.mjs', 'rt.mjs'].map(bundleOf)
  if (bundles.some(bundle => bundle === undefined)) {
    console.log('Not measured: esbuild could not be run.\n')
    return
  }
  table(
    ['bundle, minified, without rt.mjs', 'files', 'lines', 'kB', 'gzip, kB'],
    bundles.map(({ entry, files, lines, bytes, zipped }) => [entry, files, lines, bytes / 1000, zipped / 1000])
  )
  target('preemptify, minified and zipped', bundles[0].zipped / 1000, { most: 9, unit: ' kB' })
  console.log('')
}

/** @param {string} entry a module of this repository */
function bundleOf(entry) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const external = entry === 'rt.mjs' ? [] : ['--external:./rt.mjs']
  const esbuild = (...options) => execFileSync(
    'npx',
    ['-y', 'esbuild@0.25.12', entry, '--bundle', '--minify', '--format=esm', '--target=es2022', ...external, ...options],
    { cwd: root, maxBuffer: 2 ** 25, stdio: ['ignore', 'pipe', 'ignore'] }
  )
  try {
    const bundle = esbuild()
    const map = esbuild('--sourcemap=inline').toString().split('sourceMappingURL=data:application/json;base64,').at(-1)
    const { sources, sourcesContent } = JSON.parse(Buffer.from(map, 'base64').toString())
    const lines = sourcesContent.reduce((sum, text) => sum + text.split('\n').length, 0)
    return { entry, files: sources.length, lines, bytes: bundle.length, zipped: gzipSync(bundle, { level: 9 }).length }
  } catch {
    return undefined
  }
}

async function runTime() {
  console.log('### run time, rewritten to original\n')
  console.log('A run is a job, under budget auto; medians of interleaved runs in one warm process.\n')
  const scheduler = new Scheduler()
  const ratios = new Map()
  const kinds = { loop: 'loops', calls: 'calls of others', recursive: 'calls of itself', mixed: 'all three' }
  for (const [kind, title] of Object.entries(kinds)) {
    const rows = []
    for (const entry of chosen.filter(candidate => candidate.kind === kind)) {
      const row = await compare(entry, scheduler)
      ratios.set(entry.name, row)
      const { original, budgeted, yielding } = row
      rows.push([
        `${entry.name}, ${entry.benchSize}`, original, budgeted.median, budgeted.best, yielding.median
      ])
    }
    if (rows.length === 0) continue
    const middle = [2, 3, 4].map(column => median(rows.map(row => row[column])))
    if (rows.length > 1) rows.push(['median', '', ...middle])
    table([title, 'original, ms', 'rewritten, times as long', 'best to best', 'budgeted: false'], rows)
  }
  const all = [...ratios.values()].map(({ budgeted }) => budgeted.median)
  if (ratios.has('matrix product')) {
    target('matrix product, 200 x 200', ratios.get('matrix product').budgeted.median, { most: 2.5 })
  }
  if (ratios.has('fib')) target('fib(25)', ratios.get('fib').budgeted.median, { most: 8 })
  if (patterns.length === 0) target(`median of ${all.length} algorithms`, median(all), { most: 1.5 })
}

/** Measures the CPU time of the original in ms, and of the two rewritten forms as ratios to it. */
async function compare(entry, scheduler) {
  const { fn, inputs, benchSize } = entry
  const counted = preemptible(entry)
  const yielding = preemptible(entry, { budgeted: false })
  const variants = {
    original: args => fn(...args),
    budgeted: args => scheduler.spawn(counted, undefined, ...args),
    yielding: args => scheduler.spawn(yielding, undefined, ...args)
  }
  const expected = await fn(...inputs(benchSize))
  const costs = {}
  for (const [name, run] of Object.entries(variants)) {
    const result = await run(inputs(benchSize))
    if (!isDeepStrictEqual(result, expected)) throw new Error(`${entry.name}, ${name}: another result`)
    costs[name] = []
  }

  const sample = async run => {
    const args = inputs(benchSize)
    // Start from the event loop, as the code of a page does.
    await new Promise(resolve => { setImmediate(resolve) })
    const started = cpuTime()
    await run(args)
    return cpuTime() - started
  }
  for (const run of Object.values(variants)) {
    for (let spent = 0, runs = 0; spent < 60 && runs < 30; runs++) spent += await sample(run)
  }
  globalThis.gc?.()
  const order = Object.entries(variants)
  for (let pass = 0, since = cpuTime(); pass < 21 && (pass < 7 || cpuTime() - since < 500); pass++) {
    // Rotate the order. Collections happen at regular intervals and would otherwise always hit the same
    // variant.
    order.push(...order.splice(0, 1))
    for (const [name, run] of order) {
      const cost = await sample(run)
      // Discard the first passes, which warm up again after the forced collection.
      if (pass >= 2) costs[name].push(cost)
    }
  }
  const to = name => ({
    median: median(costs[name].map((cost, pass) => cost / costs.original[pass])),
    best: Math.min(...costs[name]) / Math.min(...costs.original)
  })
  return { original: median(costs.original), budgeted: to('budgeted'), yielding: to('yielding') }
}
