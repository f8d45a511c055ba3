import { parse, parseExpression } from '@babel/parser'
import { digest, javascript, outcome } from './inputs.mjs'

export const sizes = { small: 1, full: 30 }

export function main(size) {
  const text = javascript(size)
  return [
    digest(parse(text, { sourceType: 'module' })),
    digest(
      parse(text, {
        sourceType: 'module',
        plugins: ['typescript', 'jsx', 'decorators'],
        tokens: true,
        errorRecovery: true
      })
    ),
    digest(parseExpression('a?.b ?? (c => c)')),
    parse('let a; let a; await', { errorRecovery: true }).errors.map(e => e.message),
    ['a b', '({', '<a>', '`${'].map(wrong => outcome(() => parse(wrong))),
    digest(
      parse('enum A { B = 1 } type C<T> = T extends infer U ? U : never; let x = <a b="c">{d}</a>', {
        plugins: ['typescript', 'jsx']
      })
    )
  ]
}
