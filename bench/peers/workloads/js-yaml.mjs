import yaml from 'js-yaml'
import { digest, outcome, records } from './inputs.mjs'

export const sizes = { small: 2, full: 2500 }

export function main(size) {
  const text = yaml.dump(records(size), { sortKeys: true })
  const point = new yaml.Type('!point', {
    kind: 'sequence',
    resolve: data => data.length === 2,
    construct: ([x, y]) => ({ x, y })
  })
  const seen = []
  return [
    digest(text),
    digest(yaml.load(text)),
    yaml.load('- !point [1, 2]', { schema: yaml.DEFAULT_SCHEMA.extend([point]) }),
    outcome(() => yaml.load('a: [1')),
    outcome(() => yaml.load('&a *b')),
    yaml.loadAll('--- 1\n--- {a: 0x1F, b: 2001-12-14}\n', value => {
      seen.push(String(value))
    }) ?? seen,
    yaml.dump({ f: [null, undefined, 1.5e300] }, { skipInvalid: true })
  ]
}
