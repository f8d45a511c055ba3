// Changes the modules at random places, one change at a time, and runs the tests of the changed module in Node.
// A mutant that no test notices (a survivor) shows behaviour that the tests do not pin.
//
//   node .ci/mutants.mjs --count 100 --seed 1 --results FILE
//   node .ci/mutants.mjs --again FILE     the mutants of these results: the test that noticed each one runs first
//   node .ci/mutants.mjs --only rt.mjs    mutants of one module, or of the modules below a folder
//
// A mutant negates a condition, changes a number by 1, or deletes a statement. The files of tests run in a
// copy of the project, one after the other until one fails. Files that take more than `--slow` seconds of the
// processor are left out. A mutant that uses MAX_SECONDS dies, and so does one that waits for longer than MAX_WAIT.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { read } from '../addons/preemptify/read.mjs'
import { runFile } from '../test/runner/file.mjs'
import { seeded } from '../test/support/seeded.mjs'

/** The limit for the processor time of a file with a mutant, because a mutant can make a loop endless. */
const MAX_SECONDS = 20
/** The limit for the elapsed time of a file with a mutant, ms, because a mutant can lose a message or an event. */
const MAX_WAIT = 180_000
const command = ['sh', '-c', `ulimit -t ${MAX_SECONDS}; exec "$0" "$@"`]

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    slow: { type: 'string', default: '3' },
    results: { type: 'string' },
    again: { type: 'string' }
  }
})

const names = directory => readdirSync(join(root, directory), { recursive: true }).map(String)
const modules = ['rt.mjs', 'alarms.mjs', 'sync.mjs']
  .concat(names('addons').filter(name => name.endsWith('.mjs')).sort().map(name => `addons/${name}`))
  .filter(name => name.startsWith(values.only))
const sources = new Map(modules.map(name => [name, readFileSync(join(root, name), 'utf8')]))

/**
 * @typedef {{ module: string, at: number, from: string, to: string, killer?: string }} Mutant
 *   `at`, `from`, `to`: the offset, the old text and the new text. `killer`: the file of the test that failed
 */
const copy = mkdtempSync(join(tmpdir(), 'mutants-'))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
const { mutants, seconds } = values.again ? JSON.parse(readFileSync(values.again, 'utf8'))
  : { mutants: choose(), seconds: {} }
for (const name of readdirSync(root)) {
  if (name === 'node_modules') symlinkSync(join(root, name), join(copy, name))
  else if (name !== '.git') cpSync(join(root, name), join(copy, name), { recursive: true, verbatimSymlinks: true })
}

const kills = {}
for (const [i, mutant] of mutants.entries()) {
  const { module, at, from, to } = mutant
  const source = sources.get(module)
  if (source.slice(at, at + from.length) !== from) throw new Error(`${module} has changed at ${at}`)
  const previous = mutant.killer
  mutant.killer = undefined
  for (const file of await quickFiles(module, previous)) {
    writeFileSync(join(copy, module), source.slice(0, at) + to + source.slice(at + from.length))
    const { failed } = await runFile(join(copy, file), { command, timeout: MAX_WAIT })
    writeFileSync(join(copy, module), source)
    if (!failed) continue
    mutant.killer = file
    kills[file] = (kills[file] ?? 0) + 1
    break
  }
  const line = source.slice(0, at).split('\n').length
  const change = [from, to].map(text => text.replace(/\s+/g, ' ').slice(0, 70)).join(' -> ')
  console.log(`${i + 1} ${mutant.killer ? 'dies' : 'SURVIVES'} ${module}:${line} ${change}  ${mutant.killer ?? ''}`)
  if (values.results) writeFileSync(values.results, JSON.stringify({ mutants, seconds }, null, 1))
}
console.log(`${mutants.filter(({ killer }) => killer).length} of ${mutants.length} mutants die`)

/** The test files of a module, the likely killers first. The first call measures each file. */
async function quickFiles(module, previous) {
  const likely = file => file === previous ? Infinity
    : (1 + (kills[file] ?? 0)) / seconds[file] + (basename(file, '.test.mjs') === basename(module, '.mjs') ? 5 : 0)
  const files = suitesOf(module)
  for (const file of files) {
    if (seconds[file] !== undefined) continue
    const { failed, cpu, output, problems } = await runFile(join(copy, file))
    if (failed) throw new Error(`${file} fails without a mutant: ${problems.join()}\n${output}`)
    seconds[file] = cpu / 1000
  }
  return files.filter(file => seconds[file] <= Number(values.slow)).sort((a, b) => likely(b) - likely(a))
}

function suitesOf(module) {
  const name = basename(module, '.mjs')
  const folders = module.startsWith('addons/internal/') ? ['addons/connect', 'addons/shared', 'addons/workers']
    : module.startsWith('addons/') ? [`addons/${module.split('/')[1].replace('.mjs', '')}`] : [name]
  return folders.flatMap(folder => names(`test/${folder}`).filter(file => file.endsWith('.test.mjs')).sort()
    .map(file => `test/${folder}/${file}`))
}

/** @returns {Mutant[]} */
function choose() {
  const all = modules.flatMap(module => candidates(module, sources.get(module)))
  const random = seeded(Number(values.seed))
  return random.shuffle(all).slice(0, Number(values.count))
}

/** All mutants of a module. @returns {Mutant[]} */
function candidates(module, source) {
  const found = []
  const change = (node, to) => found.push({
    module, at: node.start, from: source.slice(node.start, node.end), to: to(source.slice(node.start, node.end))
  })
  const walk = node => {
    if (node.type === 'IfStatement' || node.type === 'ConditionalExpression' || node.type === 'WhileStatement') {
      change(node.test, text => `(!(${text}))`)
    }
    if (node.type === 'ExpressionStatement' && !node.directive) change(node, () => ';')
    const text = source.slice(node.start, node.end)
    if (node.type === 'Literal' && /^\d+$/.test(text)) {
      change(node, () => String(Number(text) + (text === '1' ? -1 : 1)))
    }
    for (const key in node) {
      if (key === 'parent') continue
      for (const part of [node[key]].flat()) if (typeof part?.type === 'string') walk(part)
    }
  }
  walk(read(source, 'module'))
  return found
}
