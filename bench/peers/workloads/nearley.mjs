import nearley from 'nearley'
import { digest, outcome, seeded } from './inputs.mjs'

export const sizes = { small: 2, full: 1000 }

const number = { test: token => /[0-9]/.test(token) }
const grammar = {
  ParserRules: [
    { name: 'main', symbols: ['sum'], postprocess: ([value]) => value },
    { name: 'sum', symbols: ['sum', /[-+]/, 'product'], postprocess: ([a, op, b]) => (op === '+' ? a + b : a - b) },
    { name: 'sum', symbols: ['product'], postprocess: ([a]) => a },
    { name: 'product', symbols: ['product', { literal: '*' }, 'atom'], postprocess: ([a, , b]) => (a * b) % 1009 },
    { name: 'product', symbols: ['atom'], postprocess: ([a]) => a },
    { name: 'atom', symbols: [{ literal: '(' }, 'sum', { literal: ')' }], postprocess: ([, a]) => a },
    { name: 'atom', symbols: ['digits'], postprocess: ([digits]) => Number(digits) },
    { name: 'digits', symbols: [number], postprocess: ([d]) => d },
    { name: 'digits', symbols: ['digits', number], postprocess: ([a, b]) => a + b }
  ],
  ParserStart: 'main'
}

export function main(size) {
  const random = seeded(1)
  const term = depth =>
    depth > 3 || random.chance(0.4)
      ? String(random.integer(0, 999))
      : `(${term(depth + 1)}${random.pick(['+', '-', '*'])}${term(depth + 1)})`
  const text = Array.from({ length: size }, () => term(0)).join('+')
  const parser = new nearley.Parser(nearley.Grammar.fromCompiled(grammar))
  parser.feed(text)
  return [
    parser.results,
    digest(text),
    outcome(() => new nearley.Parser(nearley.Grammar.fromCompiled(grammar)).feed('1+)'))
  ]
}
