import { transform } from 'sucrase'
import { digest, javascript, outcome } from './inputs.mjs'

export const sizes = { small: 1, full: 250 }

export function main(size) {
  const text = javascript(size)
  const typed =
    'interface A { b: string }\nclass B<T> implements A { constructor(private readonly c: number, public b = "d") {} m?(x: T): asserts x is T {} }\n' +
    'enum E { F = 1 << 2, G }\nexport type { A }\nexport default <div className="x">{(a as any)!.b}</div>\n'
  return [
    digest(transform(text, { transforms: ['imports'] }).code),
    digest(
      transform(typed, {
        transforms: ['typescript', 'jsx', 'imports'],
        jsxRuntime: 'automatic',
        production: true,
        filePath: 'a.tsx'
      }).code
    ),
    digest(
      transform(text, { transforms: ['typescript'], sourceMapOptions: { compiledFilename: 'a.js' }, filePath: 'a.ts' })
        .sourceMap.mappings
    ),
    outcome(() => transform('let = {', { transforms: [] }))
  ]
}
