import { readFileSync, readdirSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { examplesOf, run } from '../../examples/api/examples.mjs'
import { MODULES, documentedModules } from '../../examples/api/jsdoc.mjs'

// The default host looks for animation frames when rt.mjs is imported.
Object.assign(globalThis, { requestAnimationFrame: fn => setTimeout(() => fn(performance.now()), 16), cancelAnimationFrame: clearTimeout })

const test = suite('examples/api')

const modules = await documentedModules(url => readFileSync(url, 'utf8'))
const exports = modules.flatMap(({ exports }) => exports)
const examples = examplesOf(modules)

test('the API page lists every module', () => {
  const addons = readdirSync(new URL('../../addons', import.meta.url)).filter(name => name.endsWith('.mjs'))
  const found = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...addons.map(name => `addons/${name}`)]
  assert.equal(MODULES.map(name => `${name}.mjs`).sort(), found.sort())
})

test('every export has a description and an example', () => {
  const publicOf = ({ namespace, internal }) => Object.keys(namespace).filter(name => !internal.has(name))
  const wanted = modules.flatMap(publicOf)
  assert.equal(exports.map(({ name }) => name).sort(), [...new Set(wanted)].sort())
  assert.equal([...examples.keys()].filter(name => !name.includes('.')).sort(), [...new Set(wanted)].sort())
  for (const { name, comments } of exports) assert.ok(comments[0].text, `${name} is not described`)
})

test('every parameter has a type, and every function describes its result', () => {
  for (const { name, signature, comments, members } of exports.flatMap(entry => [entry, ...entry.members])) {
    const { tags } = comments.at(-1) ?? { tags: {} }
    const [, list] = /^(?:new )?[\w.]+\((.*)\)$/.exec(signature) ?? []
    if (list === undefined) continue
    const known = (tags.param ?? []).filter(({ type }) => type).map(({ name }) => name.replace(/[[\]]|=.*/g, '')).filter(name => !name.includes('.'))
    assert.equal(list.split(', ').filter(Boolean).map(name => name.replace(/^\.\.\.|\?$/g, '')), known, `the parameters of ${name}`)
    assert.ok(members.length || comments[0].text || tags.returns, `${name} is not described`)
  }
})

test('the page shows the comments of the source', () => {
  const { comments, signature } = exports.find(({ name }) => name === 'every')
  assert.is(signature, 'every(period, work, options?)')
  const [{ text, tags }] = comments
  assert.match(text, /^Calls `work` every `period` ms, or releases `work` as a job\./)
  assert.equal(tags.param[0], { name: 'period', type: 'number', text: 'ms, > 0' })
  assert.is(tags.returns[0].type, 'Alarm')
  assert.is(tags.throws[0].type, 'TypeError | RangeError')
  const types = modules[0].types.get('TaskOptions')
  assert.is(types.comments[0].tags.property.find(({ name }) => name === '[deadline]').text, 'ms after the release, > 0; default Infinity')
})

test('the API page finds the types that only reject invalid arguments', () => {
  const page = readFileSync(new URL('../../examples/api/page.mjs', import.meta.url), 'utf8')
  const [, word] = /text[.]startsWith\('(\w+)'\)/.exec(page)
  const types = modules.flatMap(({ types }) => [...types.values()])
  const found = types.filter(({ comments: [{ text }] }) => text.startsWith(word)).map(({ name }) => name)
  assert.ok(found.includes('Checked') && found.includes('Taking'), `found ${found.join(', ')}`)
})

test('every example has at most six lines, and states its log', () => {
  for (const [name, text] of examples) {
    const lines = text.split('\n').length
    assert.ok(lines <= 6, `the example of ${name} has ${lines} lines`)
    assert.match(text, /\/\/ → ./, `the example of ${name}`)
  }
})

for (const [name, text] of examples) {
  test(`the example of ${name} prints its expected output`, async () => {
    const { said, wanted } = await run(text, modules)
    assert.is(said, wanted)
  })
}

test.run()
