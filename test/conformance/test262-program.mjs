/** The program of a test of test262, and the object `$262` of its realm: see test262.mjs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import vm from 'node:vm'

/** Taken now, because tests replace built-in functions. */
const { String } = globalThis

/** @param {string} text the source of a test @returns {string} the YAML that describes the test */
const headOf = text => text.match(/\/\*---([^]*?)---\*\//)?.[1] ?? ''

/** @param {string} head @param {string} key @returns {string[]} the entries of a list in the YAML */
function listed(head, key) {
  const list = new RegExp(`^${key}:(?: *\\[(.*?)\\]|((?:\\r?\\n +- .*)+))`, 'm')
  const [, inline, lines] = head.match(list) ?? []
  const names = (inline ?? lines?.replace(/\r?\n +- /g, ',') ?? '').split(',')
  return names.map(name => name.trim()).filter(Boolean)
}

/** Features of the language that are global objects, so that a test without them cannot pass. */
const GLOBALS = ['Temporal', 'ShadowRealm']

/** @param {string} text the source of the test @returns {string | null} */
export function reasonToLeaveOut(text) {
  const head = headOf(text)
  if (/^negative:/m.test(head)) return 'negative'
  const flag = listed(head, 'flags').find(name => name === 'module' || name === 'raw')
  if (flag !== undefined) return flag
  const features = listed(head, 'features')
  if (features.includes('tail-call-optimization')) return 'tail calls'
  const missing = features.find(name => GLOBALS.includes(name) && !(name in globalThis))
  return missing === undefined ? null : `native: no ${missing}`
}

/**
 * The scripts of a test: its harness files, and a script that assigns the test as a function to `$program`.
 *
 * @typedef {object} Program
 * @property {boolean} isAsync
 * @property {string[]} harness
 * @property {string} test
 */
/** @param {string} checkout @param {string} file @returns {Program} */
export function programOf(checkout, file) {
  const text = readFileSync(join(checkout, 'test', file), 'utf8')
  const head = headOf(text)
  const flags = listed(head, 'flags')
  const isAsync = flags.includes('async')
  const names = ['assert.js', 'sta.js', ...isAsync ? ['doneprintHandle.js'] : [], ...listed(head, 'includes')]
  const harness = names.map(name => readFileSync(join(checkout, 'harness', name), 'utf8'))
  const directive = flags.includes('onlyStrict') ? '"use strict";' : ''
  return { isAsync, harness, test: `var $program = function () {${directive}\n${text}\n}` }
}

/** The object `$262` of a realm. @param {any} global @param {(text: string) => any} evalScript */
export function host(global, evalScript) {
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

/**
 * The function `print` of a realm.
 *
 * @param {(outcome: string) => void} end called with 'passed' or the failure of an async test
 * @returns {(message: unknown) => void}
 */
export const printer = end => message => {
  const text = String(message)
  if (text === 'Test262:AsyncTestComplete') end('passed')
  else if (text.startsWith('Test262:AsyncTestFailure')) end(text)
}

/** @param {any} error @returns {string} */
export function describe(error) {
  try {
    return `${error?.constructor?.name ?? typeof error}: ${error?.message ?? String(error)}`
  } catch {
    return 'an error without text'
  }
}
