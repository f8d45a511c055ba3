// The test harness for pages and workers: <name>.page.mjs registers tests, start.mjs runs them.

const parameters = new URL(globalThis.location?.href ?? import.meta.url).searchParams

/** Addresses of the modules of this package. */
export const modules = (parameters.get('modules') ?? '').split(',').filter(Boolean)
  .map(name => new URL(`../../${name}`, import.meta.url).href)

/** Whether the suite runs in WebKit, which lacks some features. */
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

/**
 * Asserts deep, strict equality: numbers as in Object.is, objects by prototype and own enumerable properties.
 */
export function equal(actual, expected, message = '') {
  if (same(actual, expected)) return
  throw new Error(`${message} expected ${show(expected)}, got ${show(actual)}`.trim())
}

/** @param {PromiseLike<unknown>} promise @returns {Promise<any>} the reason of its rejection */
export function rejection(promise) {
  return Promise.resolve(promise).then(value => {
    throw new Error(`expected a rejection, got ${show(value)}`)
  }, error => error)
}

/** @param {number} ms */
export const elapse = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Posts the results to the server, which waits for them. */
export function report(results) {
  // The browser may leave the page before the response arrives.
  fetch(parameters.get('report'), { method: 'POST', body: JSON.stringify(results) }).catch(() => {})
}

/**
 * Runs the tests one after the other.
 *
 * @returns {Promise<{ tests: { title: string, error?: string }[], provoked: string[] }>} `provoked`: the
 *   uncaught errors that tests caused on purpose, because browsers show them on their consoles
 */
export async function runTests() {
  let stray = []
  const provoked = []
  const note = (event, error) => {
    // A test that causes an error on purpose prevents its default, perhaps in a later listener.
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

/** The text of an error. The stack in Firefox lacks the message. */
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
