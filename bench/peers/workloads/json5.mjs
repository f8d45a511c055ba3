import JSON5 from 'json5'
import { digest, outcome, prose, records } from './inputs.mjs'

export const sizes = { small: 3, full: 1200 }

const words = seed => prose(6, seed).replaceAll('\n', '\\\n').replaceAll("'", '’')

const settings = count =>
  Array.from(
    { length: count },
    (_, i) => `
  // settings of part ${i}
  part${i}: {
    $name: 'it\\'s "${i}"', "text": '${words(i + 1)}',
    hexadecimal: 0xC0FFEE, half: .5, whole: ${i}., signed: +${i}, huge: -Infinity,
    none: NaN, /* inner */ exponent: 1e-${i % 30},
    list: [null, true, false, [], {}, '\\x41\\u00e9\\0\\v',],
  },`
  ).join('')

export function main(size) {
  const text = `{${settings(size)}\n}`
  const value = JSON5.parse(text)
  const revived = JSON5.parse(text, function (key, inner) {
    return key === 'list' ? inner.length : typeof inner === 'number' && !(inner < 1e9) ? null : inner
  })
  const list = records(size)
  return [
    Object.keys(value).length,
    value.part0,
    digest(JSON5.stringify(value)),
    digest(JSON5.stringify(revived, null, 2)),
    digest(JSON5.stringify(list, (key, inner) => (key === 'score' ? undefined : inner), '\t')),
    digest(JSON5.stringify(list, ['id', 'name', 'tags'])),
    JSON5.parse(JSON5.stringify(list)).length,
    JSON5.stringify(
      { a: new Date(0), b: "it's", c: [undefined, () => {}], d: { toJSON5: () => 'own' } },
      { quote: '"' }
    ),
    ['{a: 1,, }', '[1', "'\n'", '0x', '{"a" 1}', '\\u0031', '', '// only'].map(wrong =>
      outcome(() => JSON5.parse(wrong))
    ),
    outcome(() => {
      const circle = {}
      circle.circle = circle
      JSON5.stringify(circle)
    })
  ]
}
