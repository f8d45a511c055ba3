import esprima from 'esprima'
import { digest, outcome, program } from './inputs.mjs'

export const sizes = { small: 4, full: 5000 }

const text = size => `function work(list, a, b) { ${program(size).replaceAll('let ', 'var ')} }`

export function main(size) {
  const kinds = {}
  const tree = esprima.parseScript(text(size), { loc: true, comment: true, tolerant: true }, node => {
    kinds[node.type] = (kinds[node.type] ?? 0) + 1
  })
  return [
    digest(tree),
    kinds,
    esprima.tokenize(text(size)).length,
    digest(
      esprima.parseModule(
        'import a, { b as c } from "d"; export default class extends a { static *m() { yield `x${b}` } }'
      )
    ),
    ['a b', '({', '"', 'for (', '/(/'].map(wrong => outcome(() => esprima.parseScript(wrong)))
  ]
}
