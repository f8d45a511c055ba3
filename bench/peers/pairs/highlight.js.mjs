import hljs from 'highlight.js'
import { css, html, javascript } from '../workloads/inputs.mjs'

const texts = { javascript, css, html, auto: css, relevance: css }
export const inputs = (name, which) => texts[name](1, which + 1).slice(0, 300)

export const calls = {
  javascript: text => hljs.highlight(text, { language: 'javascript' }).value,
  css: text => hljs.highlight(text, { language: 'css' }).value,
  html: text => hljs.highlight(text, { language: 'xml' }).value,
  auto: text => hljs.highlightAuto(text.slice(0, 60), ['css', 'json']).value
}
