import YAML from 'yaml'
import { digest, outcome, records } from './inputs.mjs'

export const sizes = { small: 2, full: 300 }

export function main(size) {
  const text = YAML.stringify({ list: records(size), text: 'a\nb: c\n', shared: null })
  const document = YAML.parseDocument(
    `# comment\n${text}anchors:\n  a: &a { x: 1 }\n  b: *a\n  c: !!set { p, q }\n  d: |2\n     kept\n  e: >-\n    folded\n    text\n`
  )
  let scalars = 0
  YAML.visit(document, {
    Scalar() {
      scalars++
    }
  })
  document.setIn(['list', 0, 'name'], 'changed')
  return [
    digest(text),
    digest(YAML.parse(text)),
    digest(document.toString()),
    scalars,
    document.errors.length,
    outcome(() => YAML.parse('a: b: c')),
    outcome(() => YAML.parse('- *none')),
    YAML.parseAllDocuments('--- 1\n--- 2\n').length,
    digest(YAML.stringify(records(3), (key, value) => (key === 'age' ? `${value}` : value)))
  ]
}
