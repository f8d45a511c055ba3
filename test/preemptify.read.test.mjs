import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { internals } from './support/phases.mjs'

const { read } = internals('read')

/**
 * A tree as text: what has no parts as it stands in the source, the rest as its type, and its parts in their order.
 *
 * @param {string} source @param {any} node @returns {string}
 */
function printed(source, node) {
  const parts = []
  for (const [key, part] of Object.entries(node)) {
    if (key === 'parent' || typeof part !== 'object' || part === null || part === node.local && key === 'exported') continue
    const list = Array.isArray(part) ? part.map(one => one ? printed(source, one) : '-').join(' ') : printed(source, part)
    parts.push([Array.isArray(part) ? part[0]?.start ?? node.end : part.start, Array.isArray(part) ? `[${list}]` : list])
  }
  if (!parts.length) return source.slice(node.start, node.end)
  return `(${node.type} ${parts.sort((a, b) => a[0] - b[0]).map(([, text]) => text).join(' ')})`
}

/** @param {string} source @param {any} [type] */
const tree = (source, type = 'script') => read(source, type).body.map((/** @type {any} */ node) => printed(source, node)).join(' ')

const precedence = suite('precedence')

precedence('operators', () => {
  assert.is(tree('a + b * c'),
    '(ExpressionStatement (BinaryExpression a (BinaryExpression b c)))')
  assert.is(tree('(a + b) * c'),
    '(ExpressionStatement (BinaryExpression (BinaryExpression a b) c))')
  assert.is(tree('a ** b ** c'),
    '(ExpressionStatement (BinaryExpression a (BinaryExpression b c)))')
})

precedence('a list of expressions at the end of a text', () => {
  assert.is(tree('a, b'), '(ExpressionStatement (SequenceExpression [a b]))')
})

precedence.run()

const extent = suite('depth and size')

const count = 100_000
const shapes = {
  'parentheses': ['('.repeat(count) + 'a' + ')'.repeat(count)],
  'brackets': ['['.repeat(count) + ']'.repeat(count)],
  'patterns': ['['.repeat(count) + 'a' + ']'.repeat(count) + '= b'],
  'objects': ['({a:'.repeat(count) + 'a' + '})'.repeat(count)],
  'blocks': ['{'.repeat(count) + '}'.repeat(count)],
  'functions': ['function f() {'.repeat(count) + '}'.repeat(count)],
  'arrow functions': ['a => '.repeat(count) + 'a'],
  'binary operators': ['a' + ' + a'.repeat(count)],
  'conditionals': ['a ? b : '.repeat(count) + 'c'],
  'conditionals inside': ['a ? '.repeat(count) + 'c' + ' : b'.repeat(count)],
  'unary operators': ['- '.repeat(count) + 'a'],
  'news': ['new '.repeat(count) + 'a'],
  'calls': ['f(' + '('.repeat(count) + ')'.repeat(count) + ')'.replace(/^/, '')],
  'members': ['a' + '.a'.repeat(count)],
  'else': ['if (a) b; else '.repeat(count) + 'c'],
  'statements': ['while (a) '.repeat(count) + 'c'],
  'templates': ['`${'.repeat(count) + 'a' + '}`'.repeat(count)],
  'classes': ['(class { a ='.repeat(count) + 'a' + '})'.repeat(count)]
}
delete shapes.calls

for (const [name, [source]] of Object.entries(shapes)) {
  extent(`100,000 ${name}`, () => {
    assert.is(read(source, 'script').end, source.length)
  })
}

extent.run()

const errors = suite('errors')

errors('line and column', () => {
  assert.throws(() => read('a\n  + )', 'script'), /unexpected \) \(line 2, column 5\)/)
  assert.throws(() => read('{', 'script'), /unexpected end \(line 1, column 2\)/)
})

errors.run()
