// uvu loses errors of hooks, stops at a test that throws a value other than an Error, and ignores suites
// without run(). This module replaces uvu in test files: it has the same suites and records these problems.
import { inspect } from 'node:util'

// In this mode uvu queues the suites, and `exec` runs them.
globalThis.UVU_DEFER = true
globalThis.UVU_QUEUE = [[]]
const uvu = await import('uvu')

/** Problems other than failed tests, as texts. */
export const problems = []

const suites = []
const queue = []
let onStart = () => {}

/** A suite, as in uvu. */
export const suite = (name = '', state = {}) => watch(uvu.suite(name, state), name)

/** The unnamed suite of uvu. */
export const test = watch(uvu.test, '')

/**
 * Runs the queued suites one after the other.
 *
 * @param {(title: string) => void} start is called with the title of each test before it runs
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
export async function exec(start) {
  onStart = start
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const { run, record } of queue) {
    try {
      const [errors, passed, , tests] = await run()
      if (typeof errors === 'string') console.log(`\n${errors}`)
      total.passed += passed
      total.failed += tests - passed
    } catch {
      // A hook after all tests threw. The hook has recorded the error.
    }
    if (record.only) problems.push(`${of(record)}.only() was left in: other tests did not run`)
  }
  for (const record of suites) {
    total.skipped += record.skipped
    if (record.skipped) problems.push(`${of(record)}.skip() was left in`)
    if (record.titles.length) {
      problems.push(`${of(record)}.run() was not called after ${quoted(record.titles)}`)
    }
  }
  if (!suites.length) problems.push('no suite was made')
  else if (!queue.length) problems.push('run() was never called')
  else if (!total.passed && !total.failed) problems.push('no test ran')
  return total
}

const of = record => record.name ? `suite ${inspect(record.name)}: test` : 'test'
const quoted = titles => titles.map(title => inspect(title)).join(', ')

function watch(real, name) {
  const record = { name, titles: [], only: false, skipped: 0 }
  const note = (title, handler) => {
    if (!suites.includes(record)) suites.push(record)
    record.titles.push(title)
    return async state => {
      onStart(name ? `${name}: ${title}` : title)
      try {
        await handler(state)
      } catch (error) {
        throw typeof error?.name === 'string' ? error : new Error(`threw ${inspect(error)}`, { cause: error })
      }
    }
  }
  const guard = (kind, handler) => async state => {
    try {
      await handler(state)
    } catch (error) {
      problems.push(`${of(record)}.${kind}() threw ${inspect(error)}`)
      throw error
    }
  }
  const watched = (title, handler) => real(title, note(title, handler))
  watched.only = (title, handler) => {
    record.only = true
    real.only(title, note(title, handler))
  }
  watched.skip = title => {
    if (!suites.includes(record)) suites.push(record)
    record.skipped++
    real.skip(title)
  }
  watched.before = handler => real.before(guard('before', handler))
  watched.before.each = handler => real.before.each(guard('before.each', handler))
  watched.after = handler => real.after(guard('after', handler))
  watched.after.each = handler => real.after.each(guard('after.each', handler))
  watched.run = () => {
    record.titles = []
    real.run()
    queue.push({ run: globalThis.UVU_QUEUE[0].pop(), record })
  }
  if (name) suites.push(record)
  return watched
}
