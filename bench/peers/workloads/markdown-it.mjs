import MarkdownIt from 'markdown-it'
import { digest, markdown } from './inputs.mjs'

export const sizes = { small: 4, full: 700 }

export function main(size) {
  const text = markdown(size)
  const md = new MarkdownIt({
    html: true,
    linkify: true,
    typographer: true,
    highlight: code => `<i>${code.length}</i>`
  })
  const plain =
    md.renderer.rules.link_open ?? ((tokens, at, options, env, self) => self.renderToken(tokens, at, options))
  md.renderer.rules.link_open = (tokens, at, ...rest) => {
    tokens[at].attrPush(['target', '_blank'])
    return plain(tokens, at, ...rest)
  }
  md.core.ruler.push('count', state => {
    state.env.count = state.tokens.length
  })
  const env = {}
  return [
    digest(md.render(text, env)),
    env.count,
    digest(new MarkdownIt('commonmark').render(text)),
    digest(md.parse(text, {}).map(token => token.type)),
    md.renderInline('(c) "quoted" -- www.example.com')
  ]
}
