import { clone, find, fromPlainObject, generate, lexer, parse, tokenize, toPlainObject, walk } from 'css-tree'
import { css, digest } from './inputs.mjs'

export const sizes = { small: 2, full: 150 }

export function main(size) {
  const text = css(size)
  const errors = []
  const tree = parse(text, {
    positions: true,
    parseCustomProperty: true,
    onParseError: error => {
      errors.push(error.message)
    }
  })
  const kinds = {}
  const wrong = []
  walk(tree, {
    enter(node) {
      kinds[node.type] = (kinds[node.type] ?? 0) + 1
    },
    leave(node) {
      if (node.type === 'Declaration' && wrong.length < 50)
        wrong.push(lexer.matchDeclaration(node).error?.message ?? 'ok')
    }
  })
  let tokens = 0
  tokenize(text, () => {
    tokens++
  })
  return [
    digest(generate(tree)),
    kinds,
    digest(wrong),
    errors.length,
    tokens,
    digest(generate(fromPlainObject(toPlainObject(clone(tree))))),
    find(tree, node => node.type === 'Url')?.value
  ]
}
