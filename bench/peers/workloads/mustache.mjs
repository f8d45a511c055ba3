import Mustache from 'mustache'
import { digest, outcome, records } from './inputs.mjs'

export const sizes = { small: 2, full: 14000 }

export function main(size) {
  const template =
    '{{#records}}<li>{{name}} {{#address}}{{city}}{{> zip}}{{/address}}{{^address}}none{{/address}} ' +
    '{{{score}}}{{#upper}}{{age}} years{{/upper}}{{#tags}}{{.}},{{/tags}}</li>\n{{/records}}'
  Mustache.clearCache()
  const view = {
    records: records(size),
    upper() {
      return (text, render) => render(text).toUpperCase()
    }
  }
  return [
    digest(Mustache.render(template, view, { zip: ' ({{zip}})' })),
    digest(Mustache.parse(template.repeat(1 + size / 50))),
    outcome(() => Mustache.render('{{#a}}', {})),
    Mustache.render('<% x %>{{x}}', { x: '<&>' }, {}, ['<%', '%>'])
  ]
}
