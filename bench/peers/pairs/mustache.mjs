import Mustache from 'mustache'
import { records } from '../workloads/inputs.mjs'

export const inputs = (name, which) => ({ list: records(4, which + 1), title: `a < ${which}` })

export const calls = {
  render: view => Mustache.render('{{title}}{{#list}}<b>{{name}}</b>{{^active}}-{{/active}}{{/list}}', view),
  partial: view => Mustache.render('{{#list}}{{> row}}{{/list}}', view, { row: '{{id}} {{{name}}}' }),
  parse: view => Mustache.parse(`{{#a}}${view.title}{{/a}}`).length
}
