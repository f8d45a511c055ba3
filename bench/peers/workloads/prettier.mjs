import * as babel from 'prettier/plugins/babel'
import * as estree from 'prettier/plugins/estree'
import * as markdownPlugin from 'prettier/plugins/markdown'
import * as postcss from 'prettier/plugins/postcss'
import prettier from 'prettier/standalone'
import { css, digest, javascript, markdown } from './inputs.mjs'

export const sizes = { small: 1, full: 8 }

const plugins = [babel, estree, markdownPlugin, postcss]

export async function main(size) {
  const text = javascript(size)
  const formatted = await prettier.format(text, { parser: 'babel', plugins })
  const { formatted: same, cursorOffset } = await prettier.formatWithCursor(formatted, {
    parser: 'babel',
    plugins,
    cursorOffset: 200,
    semi: false,
    singleQuote: true,
    printWidth: 40,
    useTabs: true
  })
  const view =
    'const a = <A b="c" {...d}>{e ? <f>text {" "} more</f> : null}{list.map(x => <li key={x}>{x}</li>)}</A>'
  return [
    digest(formatted),
    digest(same),
    cursorOffset,
    await prettier.check(formatted, { parser: 'babel', plugins }),
    digest(await prettier.format(css(size * 8), { parser: 'css', plugins })),
    digest(await prettier.format(markdown(size * 3), { parser: 'markdown', plugins, proseWrap: 'always' })),
    await prettier.format(view, { parser: 'babel', plugins, jsxSingleQuote: true }),
    await prettier
      .format('let let', { parser: 'babel', plugins })
      .catch(error => `${error.name} ${error.message}`),
    await prettier
      .format('a { b: c', { parser: 'css', plugins })
      .catch(error => `${error.name} ${error.message}`)
  ]
}
