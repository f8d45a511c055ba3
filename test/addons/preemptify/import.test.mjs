import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { rt } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { bundled } from '../../support/bundle.mjs'
import { drive } from '../../support/drive.mjs'

const base = new URL('../../fixtures/import/', import.meta.url)
const load = name => preemptify.import(name, { base })

async function rejection(promise) {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it was not rejected')
}

/** Returns the number of points of a twin, and its result. */
function pointsOf(fn, ...args) {
  let points = 0
  const result = drive(preemptify(fn)(...args), { limit: 1, onPoint: () => { points++ } })
  return { points, result }
}

const modules = suite('preemptify.import')

modules('twins use the variables of their module and call twins of imports', async () => {
  const { sum, called, square } = await load('./sums.mjs')
  assert.is(sum(10), 285)
  const { points, result } = pointsOf(sum, 10)
  assert.is(result, 285)
  assert.ok(points > 10 + 45, `points of the callees are among them: ${points}`)
  assert.is(called(), 2)
  assert.ok(pointsOf(square, 5).points > 4)
})

modules('a module is rewritten once for each address, apart from its original', async () => {
  const namespace = await load('./sums.mjs')
  assert.is(await load(new URL('sums.mjs', base)), namespace)
  assert.is(await preemptify.import(new URL('sums.mjs', base).href), namespace)
  assert.is(await load('../import/sums.mjs'), namespace)
  assert.is((await load('./square.mjs')).square, namespace.square)
  assert.is.not(await load('./sums.mjs?other'), namespace)
  assert.is.not(await import(new URL('sums.mjs', base)), namespace)
})

modules('import.meta has the values of the original module', async () => {
  const { meta } = await load('./sums.mjs')
  assert.equal(meta, { url: new URL('sums.mjs', base).href, square: new URL('square.mjs', base).href })
})

modules('modules that import() loads later are rewritten', async () => {
  const { load: loadFrom, loadData, square, square3 } = await load('./sums.mjs')
  assert.is(square3, 9)
  assert.is((await loadFrom('./square.mjs')).square, square)
  assert.equal((await loadData()).default, { start: 0 })
})

modules('imports of rt.mjs give the running instance', async () => {
  const namespace = await load('./sums.mjs')
  assert.is(namespace.rt, rt)
  assert.is((await load('../../../rt.mjs')).rt, rt)
  assert.is(await load('../../../alarms.mjs'), await import('../../../alarms.mjs'))
})

modules('modules that import each other behave like native modules', async () => {
  const native = await import(new URL('cycle/entry.mjs', base))
  const rewritten = await load('./cycle/entry.mjs')
  assert.equal(Object.keys(rewritten), Object.keys(native))
  assert.is(rewritten.observed(), native.observed())
})

modules('packages are rewritten, built-in modules and CommonJS files are not', async () => {
  const { Bench, existsSync: exists, common, marked } = await load('./package.mjs')
  assert.is(exists, existsSync)
  assert.type(Bench, 'function')
  assert.is((await preemptify.import('tinybench')).Bench, Bench)
  // CommonJS files are not rewritten.
  assert.is(common, createRequire(import.meta.url)('../../fixtures/import/common.cjs'))
  assert.is(marked, common.marked)
})

modules('a path is relative to the current directory, even with a document', async () => {
  assert.is((await preemptify.import('./test/fixtures/import/square.mjs')).square(2), 4)
  globalThis.document = { baseURI: 'http://localhost/' }
  try {
    assert.is((await preemptify.import('./test/fixtures/import/square.mjs')).square(3), 9)
    assert.is((await preemptify.import(new URL('./square.mjs', base))).square(3), 9)
  } finally {
    delete globalThis.document
  }
})

modules('data: addresses are rewritten', async () => {
  const { f } = await preemptify.import('data:text/javascript,export function f(n) { for (let i = 0; i < n; i++); return n }')
  assert.equal(pointsOf(f, 3).result, 3)
})

modules('missing modules and exports reject like import()', async () => {
  const missing = await rejection(load('./nothing.mjs'))
  assert.is(missing.code, 'ERR_MODULE_NOT_FOUND')
  assert.ok(missing.message.includes(fileURLToPath(new URL('nothing.mjs', base))))
  assert.is((await rejection(load('nothing-of-that-name'))).code, 'ERR_MODULE_NOT_FOUND')
  assert.instance(await rejection(load('./missing-export.mjs')), SyntaxError)
  const thrown = await rejection(load('./throws.mjs'))
  assert.is(thrown.message, 'thrown by a module')
  assert.is(await rejection(load('./throws.mjs')), thrown)
})

modules('a module with a syntax error rejects with its address', async () => {
  const error = await rejection(load('./broken.mjs'))
  assert.instance(error, SyntaxError)
  assert.match(error.message + error.stack, 'broken.mjs')
})

modules('the hook of the examples rewrites matching files when Node loads them', async () => {
  const program = `
    import { runtime } from './addons/preemptify/runtime.mjs'
    import { square } from './test/fixtures/import/square.mjs'
    import common from './test/fixtures/import/common.cjs'
    import { record } from './test/support/trace.mjs'
    const hasTwin = fn => runtime.get(fn) !== undefined
    console.log(JSON.stringify([square(3), hasTwin(square), hasTwin(common.loop), hasTwin(record)]))`
  const hook = './examples/node/register.mjs?match=/fixtures/import/'
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', hook, '--input-type=module', '--eval', program],
    { cwd: fileURLToPath(new URL('../../..', import.meta.url)) })
  assert.equal(JSON.parse(stdout), [9, true, true, false])
})

modules('rewritten modules run if the global object cannot be extended', async () => {
  const program = `
    import { rt } from './rt.mjs'
    import { preemptify } from './addons/preemptify.mjs'
    Object.preventExtensions(globalThis)
    const { sum } = await preemptify.import('./test/fixtures/import/sums.mjs')
    console.log(await rt.spawn(sum, {}, 10))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program],
    { cwd: fileURLToPath(new URL('../../..', import.meta.url)) })
  assert.is(stdout, '285\n')
})

modules('preemptify.import in a bundle rejects in Node', async () => {
  const text = `export const { preemptify } = ${bundled(['addons/preemptify.mjs'], ['preemptify'])}`
  for (const url of ['https://example.com/bundle.mjs', undefined]) {
    const bundle = text.replace(/\(\{ url: '[^']*' \}\)/g, `({ url: ${url && `'${url}'`} })`)
    const { preemptify } = await import(`data:text/javascript,${encodeURIComponent(bundle)}`)
    const { name, message } = await rejection(preemptify.import('./sums.mjs', { base }))
    assert.is(`${name}: ${message}`, 'TypeError: preemptify.import: in Node, bundles have to leave rt.mjs outside (external)')
  }
})

modules('invalid arguments reject with a TypeError', async () => {
  const said = async (...args) => {
    const { name, message } = await rejection(preemptify.import(...args))
    return `${name}: ${message}`
  }
  assert.match(await said(), /^TypeError: url must be a string or a URL, got undefined/)
  assert.match(await said('./x.mjs', { base: 5 }), /^TypeError: base must be a string or a URL, got 5/)
  assert.match(await said('./x.mjs', { bass: '' }), /^TypeError: unknown option 'bass'; known are .*base/)
  assert.match(await said('./x.mjs', { base: 'http:' }), /^TypeError: preemptify\.import: /)
})

modules.run()
