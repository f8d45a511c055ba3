import { HtmlRenderer, Parser, XmlRenderer } from 'commonmark'
import { digest, markdown } from './inputs.mjs'

export const sizes = { small: 4, full: 800 }

export function main(size) {
  const text = markdown(size)
  const parsed = new Parser({ smart: true }).parse(text)
  const walker = parsed.walker()
  const kinds = {}
  for (let event; (event = walker.next()); ) {
    if (event.entering) kinds[event.node.type] = (kinds[event.node.type] ?? 0) + 1
  }
  return [
    digest(new HtmlRenderer({ safe: true }).render(parsed)),
    digest(new XmlRenderer({ sourcepos: true }).render(parsed)),
    kinds
  ]
}
