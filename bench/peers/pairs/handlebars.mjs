import Handlebars from 'handlebars'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => ({ list: records(3, which + 1), title: `a < ${which}` })

export const calls = {
  render: view => Handlebars.compile('{{title}}{{#each list}}<b>{{name}}</b>{{#if active}}+{{/if}}{{/each}}')(view),
  own: view => Handlebars.create().compile('{{#with list}}{{length}}{{/with}}')(view),
  parse: view => Handlebars.parse(`{{#if a}}${view.title}{{/if}}`).body.length
}
