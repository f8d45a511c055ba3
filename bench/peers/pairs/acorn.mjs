import { parse, tokenizer } from 'acorn'
import { javascript } from '../workloads/inputs.mjs'

export const inputs = (name, which) => javascript(1, which + 1).slice(0, 500).replace(/export (?=async|function)/, '').replace(/export class[^]*/, '')

export const calls = {
  parse: text => parse(text, { ecmaVersion: 'latest' }).body.length,
  locations: text => parse(text, { ecmaVersion: 2022, locations: true, ranges: true }).body[0].loc,
  tokens: text => [...tokenizer(text, { ecmaVersion: 'latest' })].length,
  error: text => parse(`${text} let a, a`, { ecmaVersion: 'latest' })
}
