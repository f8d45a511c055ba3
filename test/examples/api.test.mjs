import { readFileSync, readdirSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { problemsOf } from '../../.ci/prose.mjs'
import { examplesOf, run } from '../../examples/api/examples.mjs'
import { MODULES, documentedModules } from '../../examples/api/jsdoc.mjs'
import { keyOf, rendered } from '../../examples/api/render.mjs'
import { textsOfPage } from '../support/page-text.mjs'

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

test('every error of an export is described by its condition', () => {
  for (const { name, comments, members } of exports) {
    for (const { tags } of [...comments, ...members.flatMap(({ comments }) => comments)]) {
      for (const { type, text } of tags.throws ?? []) {
        assert.match(text, /^(?:\(rejects\) )?(?:with `\w+`, )?if /, `${name}: ${type} ${text}`)
      }
    }
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

// --------------------------------------------------------------------------------------------- the pages

const { overview, pages, found } = rendered(modules)
const all = new Map([['overview', overview], ...pages])

test('a page has a summary with every export, and an article with its example', () => {
  for (const { name, exports } of modules) {
    const html = pages.get(name)
    const [, summary] = /<table>([^]*?)<\/table>/.exec(html)
    for (const { name: id } of exports) {
      assert.match(summary, `href="?module=${keyOf(name)}#${id}"`, `the summary of ${name}`)
      const start = html.indexOf(`<article id="${id}">`)
      assert.ok(start > 0, `the article of ${id}`)
      const article = html.slice(start, html.indexOf('</article>', start))
      assert.match(article, `<div class="example" data-example="${id}">`)
    }
  }
})

test('the page of rt.mjs starts with spawn and shows its options', () => {
  const [first] = pages.get('rt').match(/<article [^]*?<\/article>/)
  assert.match(first, '<article id="spawn">')
  for (const option of ['deadline', 'priority', 'miss', 'signal']) {
    assert.match(first, `<dt id="option-spawn.${option}">`)
  }
})

test('the pages describe options of literal types one by one', () => {
  const html = pages.get('alarms')
  assert.match(html, /<dt id="option-every[.]catchUp"><code>catchUp\?<\/code><\/dt><dd>[^]*?whether the times/)
  assert.match(html, /<dt id="option-on[.]excess">[^]*?'restart': the new job starts/)
})

test('all links of the pages and of the search lead to an element', () => {
  const keys = new Map(modules.map(({ name }) => [keyOf(name), name]))
  const texts = [...all.values(), ...found.map(({ address }) => `href="${address}"`)]
  for (const [, address, key, id] of texts.join('\n').matchAll(/href="(\?module=([\w-]+)(?:#([^"]*))?|[^"]*)"/g)) {
    assert.ok(keys.has(key), `${address} leads to no module`)
    if (id) assert.match(pages.get(keys.get(key)), ` id="${id}"`, `${address} leads to no element`)
  }
})

test('each element of a page has a separate identifier', () => {
  for (const [name, html] of pages) {
    const ids = Array.from(html.matchAll(/ id="([^"]*)"/g), ([, id]) => id)
    assert.equal(ids.filter((id, i) => ids.indexOf(id) !== i), [], `repeated in ${name}`)
  }
})

test('the pages show no code that is not tested as an example', () => {
  for (const [name, html] of pages) assert.not.match(html, '```', name)
  for (const { name, comments } of modules.flatMap(({ types }) => [...types.values()])) {
    assert.not.ok(comments.some(({ text, tags }) => text.includes('```') || tags.example), name)
  }
})

test('the search finds exports, members and options with their uses', () => {
  const wanted = ['spawn', 'Job.cancel', 'catchUp', 'Channel', 'alarms.mjs', 'preemptify.report']
  for (const name of wanted) {
    const entry = found.find(entry => entry.name === name)
    assert.ok(entry?.use, `${name} is not found, or has no use`)
  }
})

test('the pages leave out the types that only reject invalid arguments', () => {
  for (const [name, html] of pages) assert.not.match(html, /&amp; (?:Checked|Taking|Alarmed)&lt;/, name)
})

test('no text of the pages breaks a rule of prose', () => {
  const texts = [...all].flatMap(([name, html]) => textsOfPage(html).map(text => ({ name, text })))
  assert.ok(texts.length > 500, `only ${texts.length} texts were found`)
  for (const { name, text } of texts) {
    const plain = text.replace(/`[^`]*`/g, 'X')
    assert.equal(problemsOf({ kind: 'paragraph', line: 0, text: plain }), [], `${name}: ${text}`)
  }
})

// ------------------------------------------------------------------------------------------------ the examples

test('every example has at most six lines, and states its log', () => {
  for (const [name, text] of examples) {
    const lines = text.split('\n').length
    assert.ok(lines <= 6, `the example of ${name} has ${lines} lines`)
    assert.match(text, /\/\/ → ./, `the example of ${name}`)
  }
})

test('an example that has run leaves no processor time reserved', async () => {
  const { Reservation } = modules.find(({ name }) => name === 'addons/reservations').namespace
  for (const name of ['Reservation', 'IoReservation', 'interrupt', 'loop']) await run(examples.get(name), modules)
  await modules[0].namespace.rt.idle()
  new Reservation({ capacity: 10, period: 10 }).cancel()
})

for (const [name, text] of examples) {
  test(`the example of ${name} prints its expected output`, async () => {
    const { said, wanted } = await run(text, modules)
    assert.is(said, wanted)
  })
}

test.run()
