import dayjs from 'dayjs'
import customParseFormat from 'dayjs/plugin/customParseFormat.js'
import duration from 'dayjs/plugin/duration.js'
import relativeTime from 'dayjs/plugin/relativeTime.js'
import utc from 'dayjs/plugin/utc.js'
import 'dayjs/locale/de.js'
import { digest, seeded } from './inputs.mjs'

for (const plugin of [customParseFormat, duration, relativeTime, utc]) dayjs.extend(plugin)

export const sizes = { small: 3, full: 2500 }

export function main(size) {
  const random = seeded(1)
  const start = dayjs.utc('2020-01-01')
  const results = []
  for (let i = 0; i < size; i++) {
    const date = start.add(random.integer(0, 900), 'day').subtract(random.integer(0, 99), 'hour')
    results.push(
      date.format('YYYY-MM-DD[T]HH:mm dddd MMMM'),
      date.locale('de').format('dddd, D. MMM'),
      dayjs.utc(date.format('DD-MM-YYYY'), 'DD-MM-YYYY').valueOf(),
      date.diff(start, 'month', true).toFixed(3),
      date.from(start),
      date.startOf('week').valueOf(),
      date.isBefore(start)
    )
  }
  return [
    digest(results),
    dayjs.duration({ hours: 30 }).humanize(),
    dayjs.duration(99999999).format('D HH:mm'),
    dayjs('x').isValid(),
    dayjs.utc('31/31/2020', 'DD/MM/YYYY', true).isValid()
  ]
}
