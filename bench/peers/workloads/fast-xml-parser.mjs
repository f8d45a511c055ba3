import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 3, full: 1200 }

export function main(size) {
  const data = {
    all: { record: records(size).map(({ id, ...rest }) => ({ '@_id': id, ...rest, note: '<&>' })), '#text': 'x' }
  }
  const xml = new XMLBuilder({ ignoreAttributes: false, format: true }).build(data)
  const parsed = new XMLParser({
    ignoreAttributes: false,
    parseAttributeValue: true,
    isArray: name => name === 'tags',
    tagValueProcessor: (name, value) => (name === 'zip' ? `z${value}` : value)
  }).parse(xml)
  return [
    digest(xml),
    digest(parsed),
    digest(new XMLParser({ preserveOrder: true }).parse(xml)),
    XMLValidator.validate(xml),
    XMLValidator.validate('<a><b></a>'),
    XMLValidator.validate('<a x=1></a>')
  ]
}
