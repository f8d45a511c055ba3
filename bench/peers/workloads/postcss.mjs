import postcss from 'postcss'
import { css, digest, outcome } from './inputs.mjs'

export const sizes = { small: 3, full: 1800 }

export function main(size) {
  const double = {
    postcssPlugin: 'double',
    Once(root, { result }) {
      result.messages.push({ type: 'n', n: root.nodes.length })
    },
    Declaration(node) {
      if (node.prop === 'margin' && !node.value.endsWith(' '))
        node.value = node.value.replace(/(\d+)px/, (_, n) => `${n * 2}px`) + ' '
    },
    AtRule: {
      media(node) {
        node.params = node.params.toUpperCase()
      }
    }
  }
  const text = css(size)
  const result = postcss([double]).process(text, { from: undefined })
  let selectors = 0
  const root = postcss.parse(text)
  root.walkRules(rule => {
    selectors += rule.selectors.length
  })
  root.walkDecls('color', decl => decl.cloneBefore({ prop: '-x-color' }))
  return [
    digest(result.css),
    result.messages,
    selectors,
    digest(root.toString()),
    outcome(() => postcss.parse('a { b: c')),
    outcome(() => postcss.parse('}')),
    postcss.list.comma('a, "b, c", d(e, f)')
  ]
}
