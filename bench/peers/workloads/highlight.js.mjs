import hljs from 'highlight.js'
import { css, digest, html, javascript, markdown, outcome } from './inputs.mjs'

export const sizes = { small: 1, full: 80 }

export function main(size) {
  const python =
    'def f(x, *args):\n    """doc {x}"""\n    return [i ** 2 for i in range(10) if i % 2]  # comment\n'.repeat(size)
  return [
    ...[
      ['javascript', javascript(size)],
      ['css', css(size)],
      ['xml', html(size)],
      ['markdown', markdown(size)],
      ['python', python]
    ].map(([language, text]) => {
      const { value, relevance } = hljs.highlight(text, { language })
      return [language, relevance, digest(value)]
    }),
    hljs.highlightAuto(css(2)).language,
    hljs.listLanguages().length,
    outcome(() => hljs.highlight('x', { language: 'none' }))
  ]
}
