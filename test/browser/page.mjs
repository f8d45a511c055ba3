// The harness of suites that run in a page or a worker: <name>.page.mjs registers tests, start.mjs runs them.

const parameters = new URL(globalThis.location?.href ?? import.meta.url).searchParams

/** Addresses of the modules of this package that exist. */
export const modules = (parameters.get('modules') ?? '').split(',').filter(Boolean)
  .map(name => new URL(`../../${name}`, import.meta.url).href)

/** Whether it runs in WebKit, which lacks what the tests then say. */
export const inWebKit = /AppleWebKit/.test(navigator.userAgent) && !/Chrome/.test(navigator.userAgent)

/** Whether the suite runs in a worker. */
export const inWorker = typeof globalThis.document === 'undefined'

const tests = []

/**
 * @param {string} title
 * @param {() => unknown} run
 * @param {{ timeout?: number }} [options] ms
 */
export function test(title, run, { timeout = parameters.get('SEEDS') ? 480_000 : 60_000 } = {}) {
  tests.push({ title, run, timeout })
}

/** @param {unknown} value @param {string} [message] */
export function ok(value, message = `expected a true value, got ${show(value)}`) {
  if (!value) throw new Error(message)
}

/** Deep and strict: numbers as Object.is has them, objects by their own enumerable properties. */
export function equal(actual, expected, message = '') {
  if (same(actual, expected)) return
  throw new Error(`${message} expected ${show(expected)}, got ${show(actual)}`.trim())
}

/** @param {PromiseLike<unknown>} promise @returns {Promise<any>} what it was rejected with */
export function rejection(promise) {
  return Promise.resolve(promise).then(value => {
    throw new Error(`expected a rejection, got ${show(value)}`)
  }, error => error)
}

/** @param {number} ms */
export const elapse = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Posts what was found to the server, which expects it there. */
export function report(results) {
  // The page may be left before the answer is back.
  fetch(parameters.get('report'), { method: 'POST', body: JSON.stringify(results) }).catch(() => {})
}

/**
 * Runs the tests one after the other.
 *
 * @returns {Promise<{ tests: { title: string, error?: string }[], provoked: string[] }>} `provoked`: what was
 *   thrown and not caught because a test wanted it so; browsers show it on their consoles nevertheless
 */
export async function runTests() {
  let stray = []
  const provoked = []
  const note = (event, error) => {
    // Who provokes one prevents the default, perhaps in a listener that comes after this one.
    setTimeout(() => {
      if (event.defaultPrevented) provoked.push(String(error?.message ?? error))
      else stray.push(error)
    })
  }
  addEventListener('error', event => note(event, event.error ?? event.message))
  addEventListener('unhandledrejection', event => note(event, event.reason))

  const results = []
  for (const { title, run, timeout } of tests) {
    stray = []
    let error
    try {
      await within(run, timeout)
      await elapse(0)
      if (stray.length) error = `not handled: ${stray.map(describe).join('; ')}`
    } catch (thrown) {
      error = describe(thrown)
    }
    results.push({ title, error })
  }
  return { tests: results, provoked }
}

async function within(run, timeout) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not finished after ${timeout / 1000} s`)), timeout)
  })
  try {
    await Promise.race([run(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Firefox leaves the message out of the stack. */
export function describe(error) {
  if (!(error instanceof Error)) return show(error)
  const { name, message, stack = '' } = error
  return stack.includes(message) ? stack : `${name}: ${message}\n${stack}`
}

function same(a, b) {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  const names = Object.keys(a)
  return names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && same(a[name], b[name]))
}

function show(value) {
  if (typeof value === 'function' || typeof value === 'symbol') return String(value)
  if (value instanceof Error) return String(value)
  return JSON.stringify(value, (key, part) => typeof part === 'bigint' ? `${part}n`
    : typeof part === 'number' && !Number.isFinite(part) ? String(part)
      : part === undefined ? 'undefined' : part) ?? 'undefined'
}
