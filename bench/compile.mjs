import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { preemptify } from '../addons/preemptify.mjs'
import { cpuTime, heading, median, peer, table, target } from './support.mjs'

// Compiles large programs repeatedly in one process, each time after acorn has parsed the same text. No
// collection is forced, because it would discard compiled code, and this bench measures a warm process. The
// peak memory is measured in a separate process that compiles a program once.

const passes = 5
const folder = new URL('./peers/node_modules/', import.meta.url)
const programs = ['elkjs/lib/elk-worker.min.js', '@babel/standalone/babel.min.js']

const [script] = process.argv.slice(2)
if (script) {
  preemptify.source(readFileSync(new URL(script, folder), 'utf8'), { type: 'script' })
  console.log(process.resourceUsage().maxRSS)
} else await compare()

async function compare() {
  heading('how fast preemptify compiles large minified programs', 'CPU time')
  const acorn = await peer('acorn/dist/acorn.mjs')
  const found = programs.filter(name => existsSync(new URL(name, folder)))
  if (!acorn || found.length === 0) return
  const results = found.map(name => ({ name, ...costs(name, acorn) }))
  table(
    ['program', 'kB', 'MB/s, cold', 'MB/s, median', 'acorn, MB/s', 'to acorn', 'growth', 'peak memory, MB'],
    results.map(({ name, size, cold, speed, parsing, ratio, growth, memory }) =>
      [name.split('/').at(-1), size * 1000, cold, speed, parsing, ratio, growth, memory])
  )
  for (const { name, ratio, growth, memory } of results) {
    const file = name.split('/').at(-1)
    target(`${file}: speed, to acorn's`, ratio, { least: 0.3 })
    target(`${file}: growth`, growth, { most: 4 })
    if (name.startsWith('elkjs')) target(`${file}: peak memory`, memory, { most: 400, unit: ' MB' })
  }
  console.log('')
}

/** Measures MB/s of the compiler and of acorn, the growth of the text, and the peak memory, MB. */
function costs(name, acorn) {
  const text = readFileSync(new URL(name, folder), 'utf8')
  const size = text.length / 1e6
  const parse = () => acorn.parse(text, { ecmaVersion: 'latest', sourceType: 'script' })
  const compile = () => preemptify.source(text, { type: 'script' }).length
  const speedOf = work => {
    const started = cpuTime()
    work()
    return size / (cpuTime() - started) * 1000
  }
  const cold = speedOf(compile)
  const samples = []
  for (let pass = 0; pass < passes; pass++) samples.push({ parsing: speedOf(parse), speed: speedOf(compile) })
  return {
    size,
    cold,
    speed: median(samples.map(({ speed }) => speed)),
    parsing: median(samples.map(({ parsing }) => parsing)),
    ratio: median(samples.map(({ speed, parsing }) => speed / parsing)),
    growth: compile() / text.length,
    memory: Number(execFileSync(process.execPath, [new URL(import.meta.url).pathname, name], { encoding: 'utf8' })) / 1000
  }
}
