import qs from 'qs'
import { digest, outcome, records } from './inputs.mjs'

export const sizes = { small: 4, full: 700 }

export function main(size) {
  const list = records(size)
  const styles = ['indices', 'brackets', 'repeat', 'comma']
  // Servers receive many small queries, such as one per record. Forms can send all records in one query.
  const queries = list.map(record =>
    qs.stringify({ filter: record, page: { size: 20, after: record.id }, q: record.name })
  )
  const parsed = queries.map(query => qs.parse(query))
  const whole = qs.stringify({ list }, { encodeValuesOnly: true, arrayFormat: 'indices' })
  const all = qs.parse(whole, { depth: 8, parameterLimit: Infinity, arrayLimit: size, charsetSentinel: true })
  return [
    digest(queries.join('\n')),
    parsed.reduce((sum, { filter, page }) => sum + Number(filter.age) + Number(page.after), 0),
    parsed[1],
    digest(whole),
    all.list.length,
    all.list[2],
    styles.map(arrayFormat =>
      digest(list.map(record => qs.stringify(record, { arrayFormat, allowDots: true })).join('&'))
    ),
    digest(
      qs.stringify(list[0], {
        sort: (a, b) => (a < b ? -1 : 1),
        filter: (prefix, value) => (prefix === 'score' ? undefined : value),
        encoder: (text, plain, charset, kind) => (kind === 'key' ? text.toUpperCase() : plain(text))
      })
    ),
    qs.parse('a[b][]=1&a[b][]=2&c.d=%F6&e[9999]=x&f&g[h][i][j][k][l][m][n]=o', {
      charset: 'iso-8859-1',
      allowDots: true
    }),
    qs.parse('a=1;b=2,3;c=&#9786;', { delimiter: /[;,]/, comma: true, interpretNumericEntities: true }),
    qs.stringify(
      { a: new Date(0), b: null, c: undefined, d: [], 'ö ': 'ẞ~()' },
      { strictNullHandling: true, format: 'RFC1738' }
    ),
    outcome(() => qs.parse('a=1&b=2', { parameterLimit: 1, throwOnLimitExceeded: true })),
    outcome(() => {
      const circle = {}
      circle.circle = circle
      qs.stringify(circle)
    })
  ]
}
