import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runBrowsers } from '../browser/run.mjs'
import { runFile } from './file.mjs'

const path = name => fileURLToPath(new URL(name, import.meta.url))

const runFixture = (name, options) => runFile(path(`../fixtures/runner/${name}.mjs`), options)

const counts = ({ passed, failed, skipped }) => [passed, failed, skipped]

const test = suite('runner')

test('the runner counts passed tests', async () => {
  const result = await runFixture('ok')
  assert.equal(counts(result), [3, 0, 0])
  assert.equal(result.problems, [])
})

test('the runner counts failed tests, shows the errors and continues', async () => {
  const result = await runFixture('fails')
  assert.equal(counts(result), [2, 2, 0])
  assert.match(result.output, 'one is not two')
  assert.match(result.output, `threw 'text'`)
})

const rejected = {
  'forgets-run': `suite 'forgetful': test.run() was not called after 'one'`,
  'forgets-one-run': `suite 'mindful': test.run() was not called after 'late'`,
  'makes-no-suite': 'no suite was made',
  'makes-no-test': 'no test ran',
  'hook-before-throws': `suite 'hooked': test.before() threw Error: from the hook`,
  'hook-before-each-throws': `suite 'hooked': test.before.each() threw Error: from the hook`,
  'hook-after-throws': `suite 'hooked': test.after() threw Error: from the hook`,
  'hook-after-each-throws': `suite 'hooked': test.after.each() threw Error: from the hook`,
  only: `suite 'narrow': test.only() was left in`,
  skip: `suite 'lazy': test.skip() was left in`,
  unhandled: 'with exit code 1',
  exits: 'the process ended in "hasty: two" with exit code 0',
  'exit-code': 'the process ended after its tests with exit code 3',
  'never-settles': 'the process ended in "patient: waits" with exit code 13',
  'does-not-parse': 'the process ended before its first test with exit code 1'
}

for (const name in rejected) {
  test(`the runner rejects a file: ${name}`, async () => {
    const result = await runFixture(name)
    assert.ok(result.failed > 0)
    assert.ok(result.problems.some(problem => problem.includes(rejected[name])), result.problems.join('\n'))
  })
}

test('the runner names every suite that is never run', async () => {
  const { problems, passed } = await runFixture('forgets-one-run')
  assert.is(problems.length, 2)
  assert.is(passed, 1)
})

test('the runner counts skipped tests', async () => {
  const result = await runFixture('skip')
  assert.equal(counts(result), [1, 1, 1])
})

test('the runner stops a file that takes too long and names the current test', async () => {
  const { failed, problems } = await runFixture('spins', { timeout: 5000 })
  assert.is(failed, 1)
  assert.equal(problems, ['timed out after 5 s in "busy: two"'])
})

test('the runner stops a file that leaves a handle open', async () => {
  const { passed, failed, problems } = await runFixture('left-open', { grace: 200 })
  assert.equal([passed, failed], [1, 1])
  assert.match(problems[0], 'did not end within 0.2 s')
})

const runAll = (...args) => spawnSync(process.execPath, [path('../run.mjs'), '--no-browsers', ...args], {
  encoding: 'utf8'
})
const lastLine = ({ stdout }) => stdout.trimEnd().split('\n').at(-1)

test('the last line is the sum, and the exit code is 0', () => {
  const run = runAll('examples/server')
  assert.match(lastLine(run), /^[1-9]\d* passed, 0 failed$/)
  assert.is(run.status, 0)
})

test('a pattern without test files fails', () => {
  const run = runAll('no-such-file')
  assert.is(lastLine(run), '0 passed, 1 failed')
  assert.match(run.stdout, 'no test file is below no-such-file')
  assert.is(run.status, 1)
})

/**
 * Runs fixtures/browser in fake browsers. Returns the totals, the printed lines and the names of the started
 * browsers.
 */
async function inFakes(fake, { wanted = () => true, directory = path('../fixtures/browser'), lanes = 1 } = {}) {
  const { log } = console
  const lines = []
  const names = []
  console.log = line => { lines.push(line) }
  const start = async () => {
    const name = `fake ${names.length + 1}`
    names.push(name)
    return { name, open: async () => {}, takeProblems: () => [], close: async () => {}, ...fake(name) }
  }
  try {
    const total = await runBrowsers({
      engines: { fake: /** @type {any} */ (start) }, found: () => true, directory, pause: 1, lanes, wanted
    })
    return { total, lines, names }
  } finally {
    console.log = log
  }
}

test('a failed browser test is retried in a new browser and reported as flaky', async () => {
  const log = []
  const { total, lines } = await inFakes(name => ({
    outcome(title) {
      log.push(`${title}, ${name}`)
      const tries = log.filter(entry => entry.startsWith(title)).length
      if (title === 'fails once' && tries === 1 || title === 'fails twice') throw new Error(`try ${tries}`)
    }
  }))
  assert.equal(log, [
    'passes, fake 1', 'fails once, fake 1', 'fails twice, fake 2', 'fails once, fake 3', 'fails twice, fake 4'
  ])
  assert.equal(total, { files: 1, passed: 2, failed: 1, skipped: 0, flaky: 1 })
  const shown = lines.map(line => line.replace(/ {2}[\d.]+ s$|\n[^]*/, ''))
  assert.equal(shown, [
    'once test/browser/tries.drive.mjs, fake 2  1 passed, 2 failed', '     fails once', '     fails twice',
    'FAIL test/browser/tries.drive.mjs, fake 4, fails twice  0 passed, 1 failed', '     fails twice',
    'flaky: passed on the second try: test/browser/tries.drive.mjs, fake 3, fails once  1 passed'
  ])
  assert.match(lines[1], 'Error: try 1')
})

test('more than three tests that pass only on the second try fail the run', async () => {
  const failOnce = () => {
    const tried = new Set()
    return () => ({
      outcome(title) {
        if (tried.has(title)) return
        tried.add(title)
        throw new Error('first try')
      }
    })
  }
  const directory = path('../fixtures/flaky')
  const three = await inFakes(failOnce(), { directory, wanted: file => file.includes('three') })
  assert.equal(three.total, { files: 1, passed: 3, failed: 0, skipped: 0, flaky: 3 })
  const four = await inFakes(failOnce(), { directory, wanted: file => file.includes('four') })
  assert.equal(four.total, { files: 1, passed: 4, failed: 1, skipped: 0, flaky: 4 })
  assert.is(four.lines.at(-1), 'FAIL 4 tests passed on the second try, at most 3 may')
})

test('--browser names a known browser', () => {
  const { status, stderr } = spawnSync(process.execPath, [path('../run.mjs'), 'no-such-file', '--browser', 'opera'], {
    encoding: 'utf8'
  })
  assert.is(status, 1)
  assert.match(stderr, '--browser must be chromium, firefox, webkit, got opera')
})

test('tests of one file run in several browsers at the same time', async () => {
  const running = new Set()
  let most = 0
  const { total, lines, names } = await inFakes(() => ({
    async outcome(title) {
      running.add(title)
      most = Math.max(most, running.size)
      await new Promise(setImmediate)
      running.delete(title)
    }
  }), { lanes: 2 })
  assert.equal(total, { files: 1, passed: 3, failed: 0, skipped: 0, flaky: 0 })
  assert.equal([most, names.length], [2, 2])
  assert.is(lines.length, 1)
})

test('a browser test file without tests fails', async () => {
  const { total, lines } = await inFakes(() => ({ outcome() {} }), { directory: path('../fixtures/empty') })
  assert.equal(total, { files: 1, passed: 0, failed: 1, skipped: 0, flaky: 0 })
  assert.match(lines.join('\n'), 'no test was found')
})

test('an error on the console fails the browser test that caused it', async () => {
  let taken = 0
  const { total } = await inFakes(() => ({ outcome() {}, takeProblems: () => ++taken === 1 ? ['said'] : [] }))
  assert.equal(total, { files: 1, passed: 3, failed: 0, skipped: 0, flaky: 1 })
})

test('tests that a browser cannot run are skipped and counted', async () => {
  const { total } = await inFakes(() => ({ outcome: title => title === 'passes' ? false : undefined }))
  assert.equal(total, { files: 1, passed: 2, failed: 0, skipped: 1, flaky: 0 })
})

test('a browser that does not start is started again once', async () => {
  let starts = 0
  const late = () => {
    if (++starts === 1) throw new Error('not today')
    return { outcome() {} }
  }
  assert.equal((await inFakes(late)).total, { files: 1, passed: 3, failed: 0, skipped: 0, flaky: 0 })
  const never = await inFakes(() => { throw new Error('never') })
  assert.equal(never.total, { files: 1, passed: 0, failed: 3, skipped: 0, flaky: 0 })
})

test.run()
