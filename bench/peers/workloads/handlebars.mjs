import Handlebars from 'handlebars'
import { digest, outcome, records } from './inputs.mjs'

export const sizes = { small: 2, full: 400 }

export function main(size) {
  const own = Handlebars.create()
  own.registerHelper('bold', function (options) {
    return new Handlebars.SafeString(`<b>${options.fn(this)}</b>`)
  })
  own.registerHelper('list', (items, { hash }) => items.map(item => `${item}${hash.end}`).join(''))
  own.registerPartial(
    'row',
    '{{#if active}}{{#bold}}{{name}}{{/bold}}{{else}}{{name}}{{/if}}: {{list tags end=";"}}{{address.city}}'
  )
  const source =
    '{{#each records}}{{@index}}{{> row}}{{#unless @last}},{{/unless}}\n{{/each}}{{#with first}}{{../title}} {{{age}}}{{/with}}{{lookup records 0}}'.repeat(
      1 + size / 40
    )
  const results = []
  for (let i = 0; i < Math.ceil(size / 20); i++)
    results.push(digest(own.compile(source)({ records: records(20, i), first: { age: '<i>' }, title: 'T & t' })))
  return [
    results,
    outcome(() => own.compile('{{#if}}')({})),
    outcome(() => own.precompile('{{#a}}{{/b}}')),
    digest(own.parse(source)),
    digest(own.precompile(source))
  ]
}
