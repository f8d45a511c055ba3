// Exports of modules that import each other: preemptify.import without Node's hooks equals native linking.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { forSeeds } from '../../support/seeded.mjs'

const folder = mkdtempSync(join(tmpdir(), 'cycles-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

let count = 0

/** Imports by preemptify.import without Node's hooks, as in pages. Files take the place of blobs. */
async function importAsPage(url) {
  const { fetch, Blob } = globalThis
  const { getBuiltinModule } = process
  const { createObjectURL, revokeObjectURL } = URL
  process.getBuiltinModule = undefined
  globalThis.Blob = class { constructor(texts) { this.texts = texts } }
  globalThis.fetch = async url => ({
    ok: true, status: 200, url, headers: new Headers({ 'content-type': 'text/javascript' }), text: async () => readFileSync(new URL(url), 'utf8')
  })
  URL.createObjectURL = ({ texts }) => {
    const file = join(folder, `blob-${count++}.mjs`)
    writeFileSync(file, texts.join(''))
    return pathToFileURL(file).href
  }
  URL.revokeObjectURL = () => {}
  try {
    return await preemptify.import(url)
  } finally {
    Object.assign(globalThis, { fetch, Blob })
    Object.assign(URL, { createObjectURL, revokeObjectURL })
    process.getBuiltinModule = getBuiltinModule
  }
}

/** @param {string[]} texts the texts of modules @returns the address of the first module */
function write(texts) {
  const place = join(folder, `modules-${count++}`)
  mkdirSync(place)
  texts.forEach((text, i) => writeFileSync(join(place, `${i}.mjs`), text))
  return pathToFileURL(join(place, '0.mjs')).href
}

/**
 * Imports the first module natively and by preemptify.import.
 *
 * @param {string[]} texts @returns two namespaces or errors
 */
async function both(texts) {
  const url = write(texts)
  const failed = error => error
  return [await import(url).catch(failed), await importAsPage(url).catch(failed)]
}

/** Returns the contents of a namespace as text. */
function shown(value, depth = 3) {
  if (value instanceof Error) return value.name
  if (typeof value === 'function') return shown(value(), depth)
  if (typeof value !== 'object') return `${value}`
  return depth ? `{${Object.keys(value).map(name => `${name}: ${shown(value[name], depth - 1)}`)}}` : '{}'
}

/** Makes random modules with few names, most of which are exports of other modules. */
function randomExports(random) {
  const size = random.integer(2, 5)
  return Array.from({ length: size }, (_, i) => {
    const lines = ['']
    const names = random.shuffle(['a', 'b', 'c', 'default', '"a name"'])
    const from = () => `from './${random.integer(0, size - 1)}.mjs'`
    for (let n = random.integer(1, 4); n > 0; n--) {
      const name = names.pop()
      const other = random.pick(['a', 'b', 'c', 'default'])
      switch (random.pick(['star', 'star', 'star', 'own', 'own', 'own', 'passed', 'namespace', 'imported', 'seen'])) {
        case 'own': lines.push(`const own${n} = '${name.replaceAll('"', '')} of ${i}'; export { own${n} as ${name} }`); break
        case 'passed': lines.push(`export { ${other} as ${name} } ${from()}`); break
        // Each namespace has a separate module: V8 rejects one namespace by two paths as ambiguous, contrary to
        // ECMA-262 (ResolveExport).
        case 'namespace': lines.push(`export * as ${name} from './${(i + 1) % size}.mjs'`); break
        case 'imported': lines.push(`import { ${other} as imported${n} } ${from()}`, `export { imported${n} as ${name} }`); break
        case 'seen': lines.push(`import * as space${n} ${from()}`, `const see${n} = () => Object.keys(space${n}).join()`, `export { see${n} as ${name} }`); break
        default: lines.push(`export * ${from()}`)
      }
    }
    return lines.join('\n')
  })
}

const cycles = suite('modules that import each other')

cycles('export * in a cycle of modules exports the names of all modules', async () => {
  const [native, rewritten] = await both([
    "export * from './1.mjs'; export const a = 1", "export * from './2.mjs'; export const b = 2", "export * from './0.mjs'; export const c = 3"
  ])
  assert.is(shown(rewritten), '{a: 1,b: 2,c: 3}')
  assert.is(shown(rewritten), shown(native))
})

cycles('random exports are linked or rejected as by the engine', () => forSeeds(150, async random => {
  const texts = randomExports(random)
  const [native, rewritten] = await both(texts)
  if (shown(native) !== shown(rewritten)) throw new Error(`${shown(rewritten)}\n${shown(native)}\n${rewritten.stack}\n${texts.join('\n//--\n')}`)
}))

cycles('defaults of all kinds have their native names and initialization times', async () => {
  const user = name => `import made from './0.mjs'; let early = 'none'; try { early = ${name} } catch {} export { early }`
  for (const [text, name] of [
    ['function () { return 1 }', 'made()'], ['async function () { for (;;) await 1 }', 'typeof made'], ['function* () { yield* [1] }', '[...made()][0]'],
    ['class { static own = this.name }'], ['() => {}'], ['(function () {})'], ['[1]', 'made[0]']
  ]) {
    for (const end of ['', ';', '\n']) {
      const head = "import * as other from './1.mjs'; export const seen = () => other.early + '+' + own.name; import own from './0.mjs'; "
      const [native, rewritten] = await both([`${head}export default ${text}${end}`, user(name ?? 'made.name')])
      assert.is(rewritten.seen?.(), native.seen(), text)
      assert.is(rewritten.default.name, native.default.name, text)
    }
  }
})

cycles('a module that imports and declares the same name is a SyntaxError', async () => {
  for (const text of [
    "import { a } from './0.mjs'; export const a = 1", "import { b } from './1.mjs'; { var b } export let a", "import b, { b } from './1.mjs'; export let a"
  ]) {
    const [native, rewritten] = await both([text, "import { a } from './0.mjs'; export default 1; export let b"])
    assert.is(`${native.name} ${rewritten.name}`, 'SyntaxError SyntaxError', text)
  }
})

cycles('namespaces in a cycle of modules cannot be changed', async () => {
  const change = text => `import * as other from './1.mjs'; let failed = 0; for (const change of [${text}]) try { change() } catch { failed++ } export { failed }`
  const [native, rewritten] = await both([
    change('() => { other.a = 1 }, () => { other.b = 1 }, () => { delete other.a }, () => { other = {} }'), "import './0.mjs'; export let a = 0"
  ])
  assert.is(native.failed, 4)
  assert.is(rewritten.failed, 4)
})

cycles('a chain of imports can be as deep as in the engine', async () => {
  const chain = size => Array.from({ length: size }, (_, i) => i < size - 1 ? `export { a } from './${i + 1}.mjs'` : 'export const a = 1')
  let size = 3000
  while (await import(write(chain(size))).catch(() => null) === null) size >>= 1
  assert.ok(size > 100, `the engine links ${size} only`)
  assert.is(shown(await importAsPage(write(chain(size)))), '{a: 1}')
})

cycles.run()
