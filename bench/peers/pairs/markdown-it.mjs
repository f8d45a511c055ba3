import MarkdownIt from 'markdown-it'
import { markdown } from '../workloads/inputs.mjs'

export const inputs = (name, which) => markdown(2, which + 1).slice(0, 500)

export const calls = {
  render: text => new MarkdownIt().render(text),
  inline: text => new MarkdownIt({ html: true, typographer: true }).renderInline(text.slice(0, 150)),
  parse: text => new MarkdownIt('commonmark').parse(text, {}).length
}
