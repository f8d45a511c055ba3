/** Runs one test of test262 in one mode, and prints 'passed' or the failure: see test262.mjs. */
import vm from 'node:vm'
import { rt } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { support } from '../../addons/preemptify/runtime.mjs'
import { describe, host, printer, programOf } from './test262-program.mjs'

const [mode, checkout, file] = process.argv.slice(2)
// Taken now, because tests replace built-in functions.
const print = process.stdout.write.bind(process.stdout)
const runScript = vm.runInThisContext
const spawn = rt.spawn.bind(rt)

/** @param {unknown} outcome */
function end(outcome) {
  print(`${outcome}\n`, () => process.exit())
}

const { isAsync, harness, test } = programOf(checkout, file)
Object.assign(globalThis, { $262: host(globalThis, text => runScript(text)), print: printer(end) })
process.on('uncaughtException', error => end(describe(error)))
process.on('unhandledRejection', () => {}) // tests reject promises on purpose

try {
  const scripts = [...harness, test]
  if (mode === 'native') {
    scripts.forEach(text => runScript(text))
  } else {
    globalThis[Symbol.for('rt.mjs')] = support
    scripts.map(text => preemptify.source(text, { type: 'script' })).forEach(text => runScript(text))
  }
  if (mode === 'job') await spawn([globalThis, '$program'])
  else globalThis.$program()
  if (!isAsync) end('passed')
  else process.on('beforeExit', () => end('the test did not call $DONE'))
} catch (error) {
  end(describe(error))
}
