import Papa from 'papaparse'
import { digest, records } from './inputs.mjs'

export const sizes = { small: 6, full: 5000 }

export function main(size) {
  const rows = records(size).map(({ tags, address, ...row }) => ({
    ...row,
    tags: tags.join(';'),
    city: address?.city ?? '',
    note: 'a "quoted", text\nof two lines'
  }))
  const csv = Papa.unparse(rows)
  const typed = Papa.parse(csv, {
    header: true,
    dynamicTyping: true,
    skipEmptyLines: true,
    transformHeader: name => name.toUpperCase()
  })
  const steps = []
  Papa.parse(csv, {
    step: ({ data }) => {
      steps.push(data.length)
    },
    delimiter: ',',
    newline: '\r\n'
  })
  const guessed = Papa.parse(csv.replaceAll(',', '\t').slice(0, 3000), { transform: value => value.trim() })
  return [
    digest(csv),
    digest(typed.data),
    typed.errors,
    typed.meta.fields,
    steps.length,
    digest(guessed),
    Papa.parse('a,b\n1,"2\n3', { header: true }).errors,
    Papa.unparse(
      [
        [1, 'x'],
        [null, undefined]
      ],
      { quotes: true, delimiter: ';' }
    )
  ]
}
