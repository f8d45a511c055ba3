import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Slow benches, and benches that need browsers, which some machines lack. They run only when they are named.
const onlyWhenNamed = new Set([
  'adopt', 'cold', 'in-pages', 'page', 'page-alarms', 'page-fields', 'page-markdown', 'page-others',
  'programs-in-pages', 'typing'
])

const folder = fileURLToPath(new URL('.', import.meta.url))

/** The names of all benches: every module in this folder except this one and the shared ones. */
const benches = readdirSync(folder)
  .filter(file => file.endsWith('.mjs') && file !== 'run.mjs' && !file.startsWith('support'))
  .map(file => file.slice(0, -'.mjs'.length))

// Arguments after the name of a bench that are not benches themselves are passed to it:
// `preemptify marked acorn`.
const named = []
for (const argument of process.argv.slice(2)) {
  if (benches.includes(argument)) named.push([argument])
  else if (named.length > 0) named.at(-1).push(argument)
  else {
    console.error(`unknown bench: ${argument}. There are: ${benches.join(', ')}`)
    process.exit(2)
  }
}

const failed = []
const all = benches.filter(name => !onlyWhenNamed.has(name)).map(name => [name])
for (const [name, ...patterns] of named.length > 0 ? named : all) {
  const started = performance.now()
  // Use one process per bench: otherwise the type feedback of one bench would slow down the next one.
  if (await exitCode(name, patterns) !== 0) failed.push(name)
  console.log(`\n(${name}: ${Math.round((performance.now() - started) / 1000)} s)\n`)
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`)
  process.exitCode = 1
}

function exitCode(name, patterns) {
  const child = spawn(process.execPath, ['--expose-gc', `${folder}${name}.mjs`, ...patterns], { stdio: 'inherit' })
  return new Promise((resolve, reject) => child.on('error', reject).on('exit', code => resolve(code ?? 1)))
}
