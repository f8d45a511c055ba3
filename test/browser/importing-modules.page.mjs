import { Scheduler, rt } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { equal, inWebKit, ok, rejection, test } from './page.mjs'

const base = new URL('../fixtures/import/', import.meta.url).href
const load = name => preemptify.import(name, { base })
const address = name => new URL(name, base).href

/** Runs a function as a job with a budget of one point, and returns the number of yields. */
async function asJob(fn, ...args) {
  const scheduler = new Scheduler({ budget: 1 })
  const result = await scheduler.spawn(fn, undefined, ...args)
  return { result, points: scheduler.stats().yields }
}

test('twins use the variables of their module and call twins of imports', async () => {
  const { sum, called } = await load('./sums.mjs')
  equal(sum(10), 285)
  const { result, points } = await asJob(sum, 10)
  equal(result, 285)
  ok(points > 20, `points of the callees are among them: ${points}`)
  equal(called(), 2)
})

test('a module is rewritten once for each address, apart from its original', async () => {
  const namespace = await load('./sums.mjs')
  equal(await load(address('sums.mjs')) === namespace, true)
  equal(await load(new URL(address('sums.mjs'))) === namespace, true)
  equal((await load('./square.mjs')).square === namespace.square, true)
  equal(await load('./sums.mjs?other') === namespace, false)
  equal(await import(address('sums.mjs')) === namespace, false)
  const [one, other] = await Promise.all([load('./square.mjs?twice'), load('./square.mjs?twice')])
  equal(one === other, true)
})

test('import.meta has the values of the original module', async () => {
  const { meta } = await load('./sums.mjs')
  equal(meta, { url: address('sums.mjs'), square: address('square.mjs') })
})

test('modules that import() loads later are rewritten', async () => {
  const { load: loadFrom, loadData, square, square3 } = await load('./sums.mjs')
  equal(square3, 9)
  equal((await loadFrom('./square.mjs')).square === square, true)
  equal((await loadData()).default, { start: 0 })
  equal((await rejection(loadFrom('nothing'))).name, 'TypeError')
})

test('imports of rt.mjs give the running instance', async () => {
  equal((await load('./sums.mjs')).rt === rt, true)
  equal((await load('../../../rt.mjs')).rt === rt, true)
})

test('modules that import each other behave like native modules', async () => {
  const native = await import(address('cycle/entry.mjs'))
  const rewritten = await load('./cycle/entry.mjs')
  equal(Object.keys(rewritten), Object.keys(native))
  equal(rewritten.observed(), native.observed())
  equal((await load('./cycle/second.mjs')).Thing === rewritten.first.passed.Thing, true)
})

/** Returns a text of functions with a given length. */
function largeText(length) {
  let text = ''
  for (let i = 0; text.length < length; i++) {
    text += `export function f${i}(list, g) { let sum = 0; for (const x of list) sum += g(x.length, f${i % 9}) + list[x]; return sum }\n`
  }
  return text
}

/** Returns how often a timer of 4 ms fires until the import of a module settles. */
async function firedWhile(text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  await load('./square.mjs')
  let fired = 0
  const timer = setInterval(() => { fired++ }, 4)
  const settled = await preemptify.import(url).catch(error => error)
  clearInterval(timer)
  URL.revokeObjectURL(url)
  return { fired, settled }
}

test('timers of the page fire while a large module is compiled', async () => {
  const { fired, settled: { f0 } } = await firedWhile(largeText(2e5))
  equal(f0(['a'], () => 1), NaN)
  ok(fired >= 20, `the timer fired ${fired} times`)
})

test('timers of the page fire while a large module with an error at its end is read', async () => {
  const { fired, settled } = await firedWhile(`${largeText(2e6)}let = ;`)
  equal(settled.name, 'SyntaxError')
  ok(fired >= 20, `the timer fired ${fired} times`)
})

test('errors of imports have their class, their message and their cause', async () => {
  const broken = URL.createObjectURL(new Blob(['let = ;'], { type: 'text/javascript' }))
  const failed = await rejection(preemptify.import(broken))
  equal([failed instanceof SyntaxError, failed.message.includes(broken), failed.cause instanceof SyntaxError], [true, true, true])
  URL.revokeObjectURL(broken)
  const missing = await withFetch(async () => new Response('', { status: 404 }), () => rejection(load('./nothing.mjs')))
  equal([missing instanceof TypeError, missing.message.includes('nothing.mjs could not be fetched: status 404')], [true, true])
})

/** Replaces the global function `fetch` while something runs. */
async function withFetch(replacement, run) {
  const { fetch } = globalThis
  globalThis.fetch = replacement
  try {
    return await run()
  } finally {
    globalThis.fetch = fetch
  }
}

test('a module that could not be fetched is fetched again at the next import', async () => {
  const offline = () => Promise.reject(new TypeError('offline'))
  const failed = await withFetch(offline, () => rejection(load('./square.mjs?offline')))
  equal([failed.name, failed.cause.message], ['TypeError', 'offline'])
  equal((await load('./square.mjs?offline')).square(3), 9)
})

test('preemptify.import revokes all of its blobs', async () => {
  const { createObjectURL, revokeObjectURL } = URL
  const left = new Set()
  URL.createObjectURL = blob => {
    const url = createObjectURL.call(URL, blob)
    left.add(url)
    return url
  }
  URL.revokeObjectURL = url => {
    left.delete(url)
    revokeObjectURL.call(URL, url)
  }
  try {
    await load('./cycle/entry.mjs?again')
    equal(left.size, 0)
  } finally {
    Object.assign(URL, { createObjectURL, revokeObjectURL })
  }
})

test('errors name their module, and the next import tries again', async () => {
  const text = await rejection(load('../../browser/page.html'))
  equal(text.message.includes('page.html is no JavaScript but text/html'), true)
  const bare = await rejection(load('nothing'))
  ok(bare.message.startsWith("preemptify.import: 'nothing' in "), bare.message)
  const unlinked = await rejection(load('./missing-export.mjs'))
  equal(unlinked.name, 'SyntaxError')
  ok(!unlinked.message.includes('blob:'), unlinked.message)
  const thrown = await rejection(load('./throws.mjs'))
  equal(thrown.message, 'thrown by a module')
  // WebKit does not keep the error of a module, not even for native imports.
  if (inWebKit) equal(Object.keys(await load('./throws.mjs')), ['fail'])
  else equal(await rejection(load('./throws.mjs')) === thrown, true)
  equal((await rejection(load('./broken.mjs'))).name, 'SyntaxError')

  const { fetch } = globalThis
  try {
    globalThis.fetch = async () => new Response('', { status: 404 })
    const missing = await rejection(load('./nothing.mjs'))
    equal(missing.message, `preemptify.import: ${address('nothing.mjs')} could not be fetched: status 404`)
    globalThis.fetch = () => Promise.reject(new TypeError('offline'))
    const offline = await rejection(load('./square.mjs?later'))
    ok(offline.message.includes('could not be fetched'), offline.message)
  } finally {
    globalThis.fetch = fetch
  }
  equal((await load('./square.mjs?later')).square(2), 4)
})
