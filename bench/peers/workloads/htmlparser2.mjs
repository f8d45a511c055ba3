import { DomUtils, Parser, parseDocument } from 'htmlparser2'
import render from 'dom-serializer'
import { digest, html } from './inputs.mjs'

export const sizes = { small: 3, full: 6000 }

export function main(size) {
  const text = html(size)
  const counts = {}
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        counts[name] = (counts[name] ?? 0) + 1 + Object.keys(attributes).length
      },
      ontext(data) {
        counts.text = (counts.text ?? 0) + data.length
      },
      oncomment() {
        counts.comments = (counts.comments ?? 0) + 1
      }
    },
    { decodeEntities: true }
  )
  for (let i = 0; i < text.length; i += 997) parser.write(text.slice(i, i + 997))
  parser.end()
  const document = parseDocument(text)
  return [
    counts,
    digest(render(document)),
    DomUtils.findAll(element => element.name === 'li', document.children).length,
    digest(DomUtils.textContent(document)),
    digest(render(parseDocument(text.slice(0, 500), { xmlMode: true }), { xmlMode: true }))
  ]
}
