import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { internals } from '../../support/phases.mjs'
import { seeded } from '../../support/seeded.mjs'

const { mapOf, mapLine, readModule, rewriteModule } = internals('mapOf', 'mapLine', 'readModule', 'rewriteModule')

const root = fileURLToPath(new URL('../../..', import.meta.url))

const maps = suite('source maps')

const startsOf = text => [0, ...[...text.matchAll(/\r\n|[\n\r\u2028\u2029]/g)].map(({ 0: end, index }) => index + end.length)]

/** @returns {[line: number, column: number]} both from 0 */
function placeOf(text, offset) {
  const starts = startsOf(text)
  const line = starts.findLastIndex(start => start <= offset)
  return [line, offset - starts[line]]
}

const decoded = mappings => new SourceMap({ version: 3, sources: ['x.js'], names: [], mappings })

maps('a map of one piece in one line has one segment', () => {
  assert.is(mapOf('a', 'a', [0, 0, 1]), 'AAAA')
})

maps('inserted text maps to the piece before it, in each of its lines', () => {
  const source = 'first()\nsecond()'
  const text = 'new\n//\nfirst(), also\n, and\nsecond()'
  const map = decoded(mapOf(source, text, [7, 0, 6, 27, 8, 8]))
  const line = row => {
    const { originalLine } = map.findEntry(row, 1)
    return originalLine
  }
  assert.equal([line(2), line(3), line(4)], [0, 0, 1])
})

maps('a map finds each kept character with any line ends', () => {
  const random = seeded(1)
  const below = n => random.integer(0, n - 1)
  const parts = ['a', 'bc', ' ', '\n', '\r\n', '\u2028']
  const word = most => Array.from({ length: below(most) }, () => parts[below(parts.length)]).join('')
  for (let round = 0; round < 2000; round++) {
    const source = word(30)
    let text = ''
    const kept = []
    for (let pieces = below(6); pieces > 0; pieces--) {
      text += word(4)
      const from = below(source.length + 1)
      const length = below(source.length - from + 1)
      if (text.endsWith('\r') && source[from] === '\n') continue
      kept.push(text.length, from, length)
      text += source.slice(from, from + length)
    }
    const mappings = mapOf(source, text, kept)
    const map = decoded(mappings)
    assert.ok(mappings.split(';').length <= startsOf(text).length)
    for (let i = 0; i < kept.length; i += 3) {
      for (let offset = 0; offset < kept[i + 2]; offset++) {
        const [row, column] = placeOf(text, kept[i] + offset)
        const { originalLine, originalColumn, generatedColumn } = map.findEntry(row, column)
        const shown = JSON.stringify({ source, text, kept, offset, mappings })
        assert.equal([originalLine, originalColumn + column - generatedColumn], placeOf(source, kept[i + 1] + offset), shown)
      }
    }
  }
})

maps('a source map names the function of each twin', () => {
  const source = `export function walk(list) { for (const x of list) go(x) }
    const o = { step(n) { for (;;) go(n) } }, arrow = n => { for (;;) go(n) }
    class A { #hidden() { for (;;) go() } draw() { for (;;) this.#hidden() } }`
  const text = preemptify.source(source, { url: 'http://localhost/a.js' })
  const map = new SourceMap(JSON.parse(Buffer.from(/base64,(.*)/.exec(text)[1], 'base64').toString()))
  const found = []
  text.split('\n').forEach((line, row) => {
    for (let column = 0; column < line.length; column++) {
      const { name, generatedColumn, originalLine, originalColumn } = map.findEntry(row, column)
      if (name === undefined || generatedColumn !== column) continue
      // Node gives an entry without a name the name of the previous entry.
      const original = source.split('\n')[originalLine].slice(originalColumn)
      if (original.startsWith(name === 'arrow' ? 'n =>' : name)) found.push(name)
    }
  })
  assert.equal([...new Set(found)].sort(), ['#hidden', 'arrow', 'draw', 'step', 'walk'])
})

maps('the last line contains the map as a data URL', () => {
  const line = mapLine('a', 'a', [0, 0, 1], 'http://localhost/ä.js')
  const { 1: base64 } = /^\n\/\/# sourceMappingURL=data:application\/json;base64,(\S+)$/.exec(line)
  assert.equal(JSON.parse(Buffer.from(base64, 'base64').toString()),
    { version: 3, sources: ['http://localhost/ä.js'], names: [], mappings: 'AAAA' })
})

maps('a map encodes any address, even if a page replaced String methods', () => {
  const { replace } = String.prototype
  String.prototype.replace = () => 'replaced'
  let text
  try {
    text = preemptify.source('for (;;);', { url: 'm\u00fc\ud83d\ude00.mjs' })
  } finally {
    String.prototype.replace = replace
  }
  const { 1: base64 } = /base64,(\S+)$/.exec(text)
  assert.equal(JSON.parse(Buffer.from(base64, 'base64').toString()).sources, ['m\u00fc\ud83d\ude00.mjs'])
})

maps('stack traces name the lines of the source in plain calls and jobs', () => {
  const program = `
    import { rt } from './rt.mjs'
import { preemptify } from './addons/preemptify.mjs'
    const { fail } = await preemptify.import('./test/fixtures/import/stack.mjs')
    const lines = []
    for (const list of [[2], [-1]]) {
      for (const run of [() => fail(list), () => rt.spawn(fail, undefined, list)]) {
        try {
          await run()
        } catch ({ message, stack }) {
          lines.push(message.slice('line '.length), /stack\\.mjs:(\\d+)/.exec(stack)?.[1])
        }
      }
    }
    console.log(JSON.stringify(lines))`
  const flags = ['--enable-source-maps', '--no-warnings', '--input-type=module', '--eval', program]
  const lines = JSON.parse(execFileSync(process.execPath, flags, { cwd: root, encoding: 'utf8' }))
  assert.equal(lines, ['5', '5', '5', '5', '9', '9', '9', '9'])
})

const first = readFileSync(new URL('../../fixtures/import/cycle/first.mjs', import.meta.url), 'utf8')
const imported = `import.meta.url; ${first.replace(/\n(?=import)/g, "; import('./x.mjs'); ")}`
for (const [name, source, text] of [
  ['a text', first, preemptify.source(first, { url: 'first.mjs' })],
  ['an imported module', imported, rewriteModule(imported, readModule(imported, 'first.mjs'), 'first.mjs', true)]
]) maps(`a map finds each word of ${name} in its source`, () => {
  const { 1: base64 } = /base64,(\S+)$/.exec(text)
  const map = new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString()))
  const places = startsOf(source)
  const rows = text.split('\n').slice(0, -1)
  let found = 0
  for (const [row, line] of rows.entries()) {
    for (const { 0: word, index } of line.matchAll(/\b(?:tagged|shorthand|assignments|renamed|hidden|typeof)\b/g)) {
      const { originalLine, originalColumn, generatedColumn } = map.findEntry(row, index)
      const at = places[originalLine] + originalColumn + index - generatedColumn
      assert.is(source.slice(at, at + word.length), word, `${row}:${index}`)
      found++
    }
  }
  assert.ok(found > 10)
})

maps.run()
