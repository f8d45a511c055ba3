import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Slow or dependent on what not every machine has (browsers): these run only when they are named.
const onlyWhenNamed = new Set(['page', 'page-alarms', 'cold'])

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Every module beside this one is a bench, but for those that benches share. */
const benches = readdirSync(folder)
  .filter(file => file.endsWith('.mjs') && file !== 'run.mjs' && !file.startsWith('support'))
  .map(file => file.slice(0, -'.mjs'.length))

const named = process.argv.slice(2)
const unknown = named.filter(name => !benches.includes(name))
if (unknown.length > 0) {
  console.error(`unknown bench: ${unknown.join(', ')}. There are: ${benches.join(', ')}`)
  process.exit(2)
}

const failed = []
for (const name of named.length > 0 ? named : benches.filter(name => !onlyWhenNamed.has(name))) {
  const started = performance.now()
  // A process each: what one bench teaches the compiler about the scheduler would slow down the next one.
  if (await exitCode(name) !== 0) failed.push(name)
  console.log(`\n(${name}: ${Math.round((performance.now() - started) / 1000)} s)\n`)
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`)
  process.exitCode = 1
}

function exitCode(name) {
  const child = spawn(process.execPath, ['--expose-gc', `${folder}${name}.mjs`], { stdio: 'inherit' })
  return new Promise((resolve, reject) => child.on('error', reject).on('exit', code => resolve(code ?? 1)))
}
