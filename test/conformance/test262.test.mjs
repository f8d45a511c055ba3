import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const RUNNER = fileURLToPath(new URL('test262.mjs', import.meta.url))
const test = suite('the runner of test262')

/** A checkout with few tests, and a harness that has one function. */
const FILES = {
  'harness/assert.js': 'function assert(value) { if (!value) throw new Error("not true") }',
  'harness/sta.js': '',
  'harness/doneprintHandle.js': 'function $DONE() { print("Test262:AsyncTestComplete") }',
  'harness/sum.js': 'function sum(list) { let sum = 0; for (const value of list) sum += value; return sum }',
  'test/language/loop.js': '/*---\nincludes: [sum.js]\n---*/\nassert(sum([1, 2]) === 3)',
  'test/language/async.js': '/*---\nflags: [async]\n---*/\nPromise.resolve().then($DONE)',
  'test/language/realm.js': '/*---\n---*/\nassert($262.createRealm().global.Array !== Array)',
  'test/language/negative.js': '/*---\nnegative:\n  type: SyntaxError\n---*/\nlet let',
  'test/language/fails.js': '/*---\n---*/\nassert(false)',
  'test/language/strict.js': `/*---
flags: [onlyStrict]
---*/
assert((function () { return this })() === undefined)`
}

/**
 * Calls `use` with a function that runs the runner over FILES and returns its output.
 *
 * @param {(run: (...options: string[]) => string) => void} use
 */
function withCheckout(use) {
  const checkout = mkdtempSync(join(tmpdir(), 'test262-'))
  try {
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(join(checkout, dirname(name)), { recursive: true })
      writeFileSync(join(checkout, name), text)
    }
    const options = [checkout, '--under', 'language', '--results', join(checkout, 'results.jsonl')]
    use((/** @type {string[]} */ ...more) =>
      execFileSync(process.execPath, [RUNNER, ...options, ...more], { encoding: 'utf8' }))
  } finally {
    rmSync(checkout, { recursive: true })
  }
}

test('the runner compares three runs of each test, and resumes from its results', () => {
  withCheckout(run => {
    assert.match(run(), /^6 tests, 0 of them in [^]*4 equal, 0 differ, 2 left out\n$/)
    assert.match(run(), /^6 tests, 6 of them in [^]*4 equal, 0 differ, 2 left out\n$/)
  })
})

test('the runner gives the same counts if each run has its own process', () => {
  withCheckout(run => assert.match(run('--apart'), /4 equal, 0 differ, 2 left out\n$/))
})

test.run()
