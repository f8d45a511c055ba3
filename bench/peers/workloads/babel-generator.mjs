import generator from '@babel/generator'
import { parse } from '@babel/parser'
import { digest, javascript, outcome } from './inputs.mjs'

const { default: generate } = generator

export const sizes = { small: 1, full: 60 }

const typed = `
enum Level { Low = 1, High }
abstract class Base<T extends object = {}> extends f<T>(1) implements Own<T>, Other {
  constructor(protected readonly value?: T, private other: string = f\`a\${b}\`) { super() }
  @inject() abstract get(): T | undefined; static #count = 0; declare x: number; [key: string]: unknown
}
type Deep<T> = { readonly [K in keyof T as \`on\${K}\`]?: T[K] extends infer U
  ? (x: U, ...rest: any[]) => asserts x is U : never }
namespace N.M { export import a = b.c; export default interface I { (): void; new <T>(x: T): I } }
const view = <Own.Part a="b" {...rest} c={<>text {d} &amp; more</>}>{/* none */}</Own.Part>
`

export function main(size) {
  const text = javascript(size)
  const tree = parse(text, { sourceType: 'module' })
  const { code, map } = generate(tree, { sourceMaps: true, sourceFileName: 'in.js' }, text)
  const other = parse(typed, { sourceType: 'module', plugins: ['typescript', 'jsx', 'decorators'] })
  return [
    digest(code),
    digest(map.mappings),
    map.names.length,
    digest(generate(tree, { minified: true, comments: false }).code),
    digest(generate(tree, { retainLines: true, jsescOption: { quotes: 'single' } }, text).code),
    digest(generate(tree, { compact: true, shouldPrintComment: comment => comment.endsWith('1') }).code),
    generate(other).code,
    generate(
      parse('a = (b, c) => ({}).d ** -(h ?? (e || f)); new (g())(); (function () {})(); (let)[0]; "\\u2028"')
    ).code,
    outcome(() => generate({ type: 'Program', body: [{ type: 'NoneSuch' }], directives: [] }))
  ]
}
