import MagicString, { Bundle } from 'magic-string'
import { digest, javascript, outcome, seeded } from './inputs.mjs'

export const sizes = { small: 2, full: 100 }

export function main(size) {
  const random = seeded(1)
  const text = javascript(size)
  const edited = new MagicString(text, { filename: 'in.js' })
  for (const { index, 0: word } of text.matchAll(/\b[a-z]\w*\b/gi)) {
    const end = index + word.length
    if (word === 'total') edited.overwrite(index, end, 'sum', { storeName: true })
    else if (word === 'export') edited.remove(index, end)
    else if (random.chance(0.2)) edited.appendLeft(index, '/* ').prependRight(end, ' */')
    else if (random.chance(0.1)) edited.update(index, end, `${word}_${index}`)
  }
  const blocks = [...text.matchAll(/^\/\/ function \d+$/gm)].map(({ index }) => index)
  for (let i = 3; i < blocks.length; i += 3) edited.move(blocks[i - 1], blocks[i], blocks[0])
  edited
    .indent('  ', { exclude: [0, blocks[0]] })
    .trim()
    .prepend('{\n')
    .append('\n}')
  const map = edited.generateMap({ hires: true, includeContent: true, source: 'in.js' })
  const coarse = edited.generateDecodedMap({ hires: 'boundary', file: 'out.js' })
  const source = new MagicString(text)
  const bundle = new Bundle({ separator: '\n;\n' })
  for (let i = 0; i < blocks.length - 1; i++)
    bundle.addSource({
      filename: `part${i % 5}.js`,
      content: source.snip(blocks[i], blocks[i + 1]).trimLines()
    })
  bundle.indent().prepend('(function () {').append('})()')
  return [
    digest(edited.toString()),
    digest(map.mappings),
    map.names,
    coarse.mappings.reduce((sum, line) => sum + line.length, 0),
    digest(bundle.toString()),
    digest(bundle.generateMap({ hires: false }).toString()),
    new MagicString(text)
      .replaceAll('list', 'items')
      .replace(/const (\w+) =/g, (_, name) => `var ${name} =`)
      .length(),
    new MagicString('a  b').overwrite(1, 3, ' ').clone().prependRight(0, 'x').toString(),
    outcome(() => edited.overwrite(5, 5, 'none')),
    outcome(() => edited.move(0, 10, 5)),
    outcome(() => new MagicString('abc').remove(0, 9))
  ]
}
