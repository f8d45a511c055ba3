import { Lexer, Marked, marked } from 'marked'
import { digest, markdown } from './inputs.mjs'

export const sizes = { small: 4, full: 400 }

export function main(size) {
  const text = markdown(size)
  const headings = []
  const own = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens)
        headings.push(inner)
        return `<h${depth} id="${headings.length}">${inner}</h${depth}>`
      }
    },
    walkTokens(token) {
      if (token.type === 'link') token.href += '#'
    }
  })
  return [
    digest(marked.parse(text)),
    digest(own.parse(text)),
    new Lexer({ gfm: false }).lex(text).length,
    headings.slice(0, 3),
    marked.parse(text.slice(0, 500), { breaks: true, gfm: false, pedantic: true })
  ]
}
