import { parse } from '@babel/parser'
import traversal from '@babel/traverse'
import { digest, javascript, outcome } from './inputs.mjs'

const { default: traverse } = traversal

export const sizes = { small: 1, full: 40 }

export function main(size) {
  const constants = Array.from(
    { length: size },
    (_, i) => `const c${i} = ${i} * 2 + (${i} ? 60 << 2 : 'a'.length)`
  )
  const tree = parse(`${javascript(size)}${constants.join('\n')}`, { sourceType: 'module' })
  const kinds = {}
  const log = []
  let deepest = 0
  traverse(tree, {
    enter(path) {
      kinds[path.type] = (kinds[path.type] ?? 0) + 1
      deepest = Math.max(deepest, path.getAncestry().length)
    },
    Scopable: {
      exit({ scope }) {
        for (const [name, { kind, references, constantViolations }] of Object.entries(scope.bindings))
          log.push(`${name} ${kind} ${references} ${constantViolations.length}`)
      }
    }
  })
  // A small compiler: folds constants, renames variables, adds and removes statements.
  const state = { folded: 0, removed: 0 }
  traverse(
    tree,
    {
      BinaryExpression(path) {
        const { confident, value } = path.evaluate()
        if (confident && typeof value === 'number') {
          path.replaceWith({ type: 'NumericLiteral', value })
          this.folded++
        }
      },
      'FunctionDeclaration|ClassMethod'(path) {
        path.scope.rename('total')
        path.get('body').unshiftContainer('body', { type: 'EmptyStatement' })
      },
      ArrowFunctionExpression(path) {
        path.arrowFunctionToExpression()
      },
      IfStatement(path) {
        if (path.get('consequent').isContinueStatement()) path.get('test').skip()
      },
      EmptyStatement(path) {
        path.remove()
        this.removed++
      },
      ExportNamedDeclaration: path => void path.replaceWith(path.node.declaration)
    },
    undefined,
    state
  )
  const after = []
  traverse.cache.clear()
  traverse(tree, {
    Identifier: ({ node, key, listKey, scope }) =>
      void after.push(`${node.name} ${listKey ?? key} ${scope.hasBinding(node.name)}`),
    Program: ({ scope }) => void after.push(Object.keys(scope.globals).join(' '), scope.generateUid('work0'))
  })
  return [
    kinds,
    deepest,
    digest(log.join('\n')),
    state,
    digest(after.join('\n')),
    outcome(() => traverse(parse('let a'), { NoneSuch() {} })),
    outcome(() =>
      traverse(parse('a; b'), {
        Identifier(path) {
          throw new RangeError(`no ${path.node.name} in ${path.parentPath.type}`)
        }
      })
    )
  ]
}
