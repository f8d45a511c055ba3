import { parse, parseFragment, serialize } from 'parse5'
import { digest, html } from './inputs.mjs'

export const sizes = { small: 3, full: 1200 }

export function main(size) {
  const text = html(size)
  const errors = []
  const document = parse(text, {
    sourceCodeLocationInfo: true,
    onParseError: error => {
      errors.push(error.code)
    }
  })
  return [
    digest(serialize(document)),
    digest(errors),
    serialize(parseFragment('<table><b>x<tr><td>y</b></table><template><p>z')),
    document.mode
  ]
}
