import { Parser, parse, tokenizer } from 'acorn'
import { digest, javascript, outcome } from './inputs.mjs'

export const sizes = { small: 1, full: 100 }

export function main(size) {
  const text = javascript(size)
  const comments = []
  const tree = parse(text, { ecmaVersion: 'latest', sourceType: 'module', locations: true, onComment: comments })
  let tokens = 0
  for (const token of tokenizer(text, { ecmaVersion: 'latest', sourceType: 'module' }))
    tokens += token.type.label.length
  const Own = Parser.extend(
    Base =>
      class extends Base {
        parseExprAtom(...args) {
          const node = super.parseExprAtom(...args)
          node.own = true
          return node
        }
      }
  )
  const errors = ['a b', '({', 'let let', 'for (', '`${', '/(/', 'await 1', '"\\u{110000}"'].map(wrong =>
    outcome(() => Own.parse(wrong, { ecmaVersion: 2022 }))
  )
  return [digest(tree), tokens, comments.length, digest(Own.parse('f(a, b => [c])', { ecmaVersion: 2022 })), errors]
}
