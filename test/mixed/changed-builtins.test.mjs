/**
 * Tests that every export works in a page that has changed its built-ins, before or after it loads the
 * modules.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MODULES } from '../support/smokes.mjs'

const child = fileURLToPath(new URL('../support/smokes-child.mjs', import.meta.url))
const execute = promisify(execFile)

/**
 * Runs the smoke tests of all exports in a new process.
 *
 * @param {string} change statements that change the built-ins
 * @param {string} when 'before' or 'after' the import
 * @param {string[]} [modules]
 * @returns {Promise<string[]>} the failures
 */
async function failuresAfter(change, when, modules = MODULES) {
  const { stdout } = await execute(process.execPath, [child, change, when, modules.join(',')])
  return JSON.parse(/\[.*\]$/.exec(stdout)?.[0] ?? `["no report: ${stdout}"]`)
}

/** The function of an old library. The modules must not call it. */
const CALLED = "function () { throw new Error('the function of the page was called') }"

const inherited = suite('properties of Object.prototype')

const additions = {
  'a number': 'Object.prototype.foo = 1',
  'a function': `Object.prototype.each = ${CALLED}`,
  'functions with the names of members': 'call read finished prepare contend arrives drain'.split(' ')
    .map(name => `Object.prototype.${name} = ${CALLED}`).join('; ')
}
for (const [title, change] of Object.entries(additions)) {
  for (const when of ['before', 'after']) {
    inherited(`every export works with ${title} there, added ${when} the import`, async () => {
      assert.equal(await failuresAfter(change, when), [])
    })
  }
}

inherited('every export works if Object.prototype has a get property', async () => {
  const change = 'Object.prototype.get = 1'
  assert.equal(await failuresAfter(change, 'after'), [])
})

inherited.run()

const iterators = suite('iterators of built-in objects')

const removals = {
  'Array.prototype': 'delete Array.prototype[Symbol.iterator]',
  'Array, Map, Set and String': '[Array, Map, Set, String].forEach(({ prototype }) => delete prototype[Symbol.iterator])'
}
for (const [title, change] of Object.entries(removals)) {
  for (const when of ['before', 'after']) {
    iterators(`every export works without iterators of ${title} (${when} the import)`, async () => {
      assert.equal(await failuresAfter(change, when), [])
    })
  }
}

iterators.run()

const frozen = suite('frozen prototypes')

for (const when of ['before', 'after']) {
  frozen(`every export works with frozen prototypes of Object, Array and Error (${when} the import)`, async () => {
    const change = '[Object, Array, Error].forEach(({ prototype }) => Object.freeze(prototype))'
    assert.equal(await failuresAfter(change, when), [])
  })
}

frozen.run()
