import moment from 'moment'
import { digest, seeded } from './inputs.mjs'

export const sizes = { small: 2, full: 1500 }

export function main(size) {
  const random = seeded(1)
  const start = moment.utc('2020-01-01')
  const results = []
  for (let i = 0; i < size; i++) {
    const date = start.clone().add(random.integer(0, 900), 'days').add(random.integer(0, 1439), 'minutes')
    results.push(
      date.format('dddd, MMMM Do YYYY, h:mm:ss a, w'),
      moment.utc(date.format('DD.MM.YYYY HH:mm'), ['YYYY-MM-DD', 'DD.MM.YYYY HH:mm'], true).valueOf(),
      date.from(start),
      date.diff(start, 'weeks', true).toFixed(4),
      date.calendar(start),
      date.isoWeek(),
      date.isSame(start, 'year')
    )
  }
  return [
    digest(results),
    moment.duration(5, 'hours').humanize(true),
    moment.duration('P1Y2M3DT4H').toISOString(),
    moment.utc('nonsense', 'YYYY').isValid(),
    moment.utc('2020-02-31', 'YYYY-MM-DD', true).invalidAt(),
    moment.localeData().ordinal(22)
  ]
}
