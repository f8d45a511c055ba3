import { generate, lexer, parse, walk } from 'css-tree'
import { css } from '../workloads/inputs.mjs'

export const inputs = (name, which) => css(2, which + 1).slice(0, 250)

export const calls = {
  parse: text => generate(parse(text)),
  walk(text) {
    const found = []
    walk(parse(text), node => { found.push(node.type) })
    return found
  },
  match: text => lexer.matchProperty('margin', `${text.length}px auto`).error?.message
}
