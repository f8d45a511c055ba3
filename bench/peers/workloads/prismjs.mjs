import Prism from 'prismjs'
import { css, digest, html, javascript } from './inputs.mjs'

export const sizes = { small: 1, full: 60 }

export function main(size) {
  Prism.hooks.add('wrap', env => {
    if (env.type === 'keyword') env.classes.push('own')
  })
  const tokens = Prism.tokenize(javascript(size), Prism.languages.javascript)
  const marked = [
    ['javascript', javascript(size)],
    ['css', css(size)],
    ['markup', html(size)]
  ].map(([language, text]) => digest(Prism.highlight(text, Prism.languages[language], language)))
  Prism.hooks.all.wrap.pop()
  return [digest(tokens), marked]
}
