/** Runs one test of test262 in one mode, and prints 'passed' or the failure: see test262.mjs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import vm from 'node:vm'
import { rt } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { support } from '../../addons/preemptify/runtime.mjs'

const [mode, checkout, file] = process.argv.slice(2)
const print = process.stdout.write.bind(process.stdout)
/** Taken now, because tests replace built-in functions. */
const { String } = globalThis
const runScript = vm.runInThisContext
const spawn = rt.spawn.bind(rt)

/** @param {unknown} outcome */
function end(outcome) {
  print(`${outcome}\n`, () => process.exit())
}

/** @param {string} text @returns {{ isAsync: boolean, program: string }} a script that defines the program */
function programOf(text) {
  const [, head = ''] = text.match(/\/\*---([^]*?)---\*\//) ?? []
  const listed = (/** @type {string} */ key) => {
    const [, inline, lines] = head.match(new RegExp(`^${key}:(?: *\\[(.*?)\\]|((?:\\n +- .*)+))`, 'm')) ?? []
    const names = (inline ?? lines?.replace(/\n +- /g, ',') ?? '').split(',')
    return names.map(name => name.trim()).filter(Boolean)
  }
  const flags = listed('flags')
  const isAsync = flags.includes('async')
  const names = ['assert.js', 'sta.js', ...isAsync ? ['doneprintHandle.js'] : [], ...listed('includes')]
  const harness = names.map(name => readFileSync(join(checkout, 'harness', name), 'utf8'))
  const directive = flags.includes('onlyStrict') ? '"use strict";' : ''
  return { isAsync, program: `var $program = function () {${directive}\n${harness.join('\n')}\n${text}\n}` }
}

/** The object `$262` of a realm. @param {any} global @param {(text: string) => any} evalScript */
function host(global, evalScript) {
  return {
    global,
    evalScript,
    gc: globalThis.gc,
    detachArrayBuffer: (/** @type {ArrayBuffer} */ buffer) => structuredClone(buffer, { transfer: [buffer] }),
    createRealm() {
      const context = vm.createContext({})
      const realm = vm.runInContext('globalThis', context)
      realm.$262 = host(realm, text => vm.runInContext(text, context))
      return realm.$262
    }
  }
}

const { isAsync, program } = programOf(readFileSync(join(checkout, 'test', file), 'utf8'))
Object.assign(globalThis, {
  $262: host(globalThis, text => runScript(text)),
  print(/** @type {unknown} */ message) {
    const text = String(message)
    if (text === 'Test262:AsyncTestComplete') end('passed')
    else if (text.startsWith('Test262:AsyncTestFailure')) end(text)
  }
})
process.on('uncaughtException', error => end(describe(error)))
process.on('unhandledRejection', () => {}) // tests reject promises on purpose

/** @param {any} error */
function describe(error) {
  try {
    return `${error?.constructor?.name ?? typeof error}: ${error?.message ?? String(error)}`
  } catch {
    return 'an error without text'
  }
}

try {
  if (mode === 'native') {
    runScript(program)
    globalThis.$program()
  } else {
    globalThis[Symbol.for('rt.mjs')] = support
    runScript(preemptify.source(program, { type: 'script' }))
    if (mode === 'plain') globalThis.$program()
    else await spawn(globalThis.$program)
  }
  if (!isAsync) end('passed')
  else process.on('beforeExit', () => end('the test did not call $DONE'))
} catch (error) {
  end(describe(error))
}
