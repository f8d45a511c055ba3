import escodegen from 'escodegen'
import esprima from 'esprima'
import estraverse from 'estraverse'
import { digest, program } from './inputs.mjs'

export const sizes = { small: 4, full: 3500 }

export function main(size) {
  const tree = esprima.parseScript(`function work(list, a, b) { ${program(size).replaceAll('let ', 'var ')} }`)
  let depth = 0,
    deepest = 0
  estraverse.traverse(tree, {
    enter() {
      deepest = Math.max(deepest, ++depth)
    },
    leave() {
      depth--
    }
  })
  const renamed = estraverse.replace(tree, {
    enter: node =>
      node.type === 'Identifier' && node.name === 'total' ? { type: 'Identifier', name: 'renamed' } : undefined
  })
  return [
    deepest,
    digest(escodegen.generate(renamed)),
    digest(escodegen.generate(renamed, { format: escodegen.FORMAT_MINIFY }))
  ]
}
