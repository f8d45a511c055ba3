/** Measures and checks whole programs and packages that preemptify.source rewrites. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { cpuTime, figure, median, table, target } from './support.mjs'

const here = new URL('.', import.meta.url)
const folders = { programs: new URL('../test/programs/', here), packages: new URL('peers/workloads/', here) }

/**
 * @param {'programs' | 'packages'} kind packages are returned only if they are installed
 * @param {string[]} patterns parts of names; an empty list selects all programs
 */
export function programs(kind, patterns) {
  if (kind === 'packages' && !existsSync(new URL('peers/node_modules/marked', here))) return []
  return readdirSync(folders[kind])
    .filter(file => file !== 'inputs.mjs')
    .map(file => ({ name: file.slice(0, -'.mjs'.length), url: new URL(file, folders[kind]).href }))
    .filter(({ name }) => patterns.length === 0 || patterns.some(pattern => name.includes(pattern)))
}

/**
 * Returns the findings of support-program.mjs, which runs in a separate process.
 * @param {string} url
 * @param {'check' | 'measure' | 'why'} what
 */
export function find(url, what) {
  const child = spawn(
    process.execPath,
    [
      '--expose-gc',
      '--experimental-import-meta-resolve',
      fileURLToPath(new URL('support-program.mjs', here)),
      url,
      what
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000, killSignal: 'SIGKILL' }
  )
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text
  })
  return new Promise(resolve =>
    child.on('close', (code, signal) => {
      try {
        resolve(JSON.parse(output.trimEnd().split('\n').at(-1)))
      } catch {
        resolve({ failure: `${signal ?? code}: ${errors.slice(-1500)}` })
      }
    })
  )
}

/**
 * Runs each program natively, rewritten and called plainly, and rewritten as a job, and prints the costs of
 * each way.
 */
export async function comparePrograms(title, list) {
  const rows = []
  const failures = []
  const found = []
  for (const { name, url } of list) {
    const findings = await find(url, 'measure')
    if (findings.failure) {
      failures.push(`- ${name}: ${findings.failure.split('\n')[0]}`)
      continue
    }
    const { cost, native, plain, job, cold, stretch, usual, whole, coldStretch } = findings
    const speed = cost.read / cost.time / 1000
    const growth = cost.written / cost.read
    found.push({ name, url, plain, job, cold, stretch, speed, growth, read: cost.read })
    rows.push([name, native, job, plain, cold.job, cold.plain, stretch, usual, whole, coldStretch, cost.read / 1000, speed, growth])
  }
  table(
    [
      title,
      'native, ms',
      'job, x',
      'plain, x',
      'cold job, x',
      'cold plain, x',
      'stretch, ms',
      'median',
      'with GC',
      'cold, ms',
      'kB',
      'MB/s',
      'growth, x'
    ],
    rows
  )
  if (failures.length > 0) console.log(`Not measured:\n${failures.join('\n')}\n`)
  if (found.length > 1) {
    const all = key => found.map(entry => entry[key])
    target('run time as a job, median', median(all('job')), { most: 2.5, unit: ' x' })
    target('run time as a job, worst', Math.max(...all('job')), { most: 8, unit: ' x' })
    target('run time called plainly, median', median(all('plain')), { most: 1.5, unit: ' x' })
    target('longest stretch without a point, worst', Math.max(...all('stretch')), { most: 5, unit: ' ms' })
    const large = found.filter(({ read }) => read > 1e5)
    if (large.length > 0)
      target('rewriting of what is longer than 100 kB, slowest', Math.min(...large.map(({ speed }) => speed)), {
        least: 3,
        unit: ' MB/s'
      })
    target('growth of the text, worst', Math.max(...all('growth')), { most: 4, unit: ' x' })
    console.log('')
  }
  await nameStretches(found.filter(({ stretch }) => stretch > 5))
}

async function nameStretches(list) {
  if (list.length === 0) return
  console.log('Stretches of more than 5 ms that two of three more runs have, by CPU profiles, ms:\n')
  for (const { name, url, stretch } of list) {
    const { stretches = [], failure } = await find(url, 'why')
    const what = failure ?? (stretches.length > 0 ? '' : 'none that repeats')
    console.log(`- ${name}, ${figure(stretch)} ms${what && `: ${what}`}`)
    for (const { ms, name: what } of stretches) console.log(`  - ${figure(ms)}: ${what}`)
  }
  console.log('')
}

/**
 * Measures the same programs with Stopify, which rewrites ES5 ahead of time: the second run relative to a
 * native one.
 */
export async function compareStopify(list) {
  const require = createRequire(new URL('peers/package.json', here))
  let stopify, typescript
  try {
    stopify = require('@stopify/stopify')
    typescript = require('typescript')
  } catch {
    console.log('Stopify: peer not installed: npm --prefix bench/peers install\n')
    return
  }
  // Programs compiled by Stopify look for it in this global.
  globalThis.stopify = stopify
  const rows = []
  for (const { name, url } of list) {
    const text = readFileSync(fileURLToPath(url), 'utf8')
    if (/^import /m.test(text)) continue
    const native = await import(url)
    const { job, failure } = await find(url, 'measure')
    rows.push([name, failure ? 'failed' : job, await byStopify(text, native, stopify, typescript)])
  }
  table(['program', 'as a job, x', 'Stopify, x'], rows)
}

async function byStopify(text, { main, sizes: { full } }, { stopifyLocally }, typescript) {
  main(full)
  const started = cpuTime()
  const expected = main(full)
  const native = cpuTime() - started
  const { outputText } = typescript.transpileModule(text.replace(/^export /gm, ''), {
    compilerOptions: { target: 'ES5', downlevelIteration: true }
  })
  const source = `${outputText}\nmain(${full}); started = now(); result = main(${full}); ended = now()`
  try {
    const run = stopifyLocally(source, {}, { estimator: 'reservoir', yieldInterval: 5 })
    if (run.kind === 'error') throw run.exception
    run.g = Object.assign(run.g, {
      Math,
      Array,
      Float64Array,
      Uint32Array,
      Uint8Array,
      Object,
      Error,
      String,
      Number,
      Map,
      Set,
      SyntaxError,
      ReferenceError,
      JSON,
      result: undefined,
      started: 0,
      ended: 0,
      now: cpuTime
    })
    await new Promise((resolve, reject) =>
      run.run(({ type, value }) => (type === 'normal' ? resolve() : reject(value)))
    )
    if (JSON.stringify(run.g.result) !== JSON.stringify(expected)) return 'another result'
    return (run.g.ended - run.g.started) / native
  } catch (error) {
    return String(error).slice(0, 40)
  }
}
