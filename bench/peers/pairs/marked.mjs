import { Lexer, Marked, marked } from 'marked'
import { markdown } from '../workloads/inputs.mjs'

export const inputs = (name, which) => name === 'emphasis' ? `*a **b${which}* c** \`code\` [x](y) __d_ e__ `.repeat(6) : markdown(4, which + 1)

export const calls = {
  parse: text => marked.parse(text),
  emphasis: text => marked.parse(text),
  inline: text => marked.parseInline(text.slice(0, 200)),
  own: text => new Marked({ renderer: { hr: () => '<hr class=x>' } }).parse(text),
  lex: text => new Lexer({ gfm: false }).lex(text).length
}
