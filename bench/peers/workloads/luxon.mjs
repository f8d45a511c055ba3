import { DateTime, Duration, Interval } from 'luxon'
import { digest, seeded } from './inputs.mjs'

export const sizes = { small: 2, full: 600 }

export function main(size) {
  const random = seeded(1)
  const results = []
  const start = DateTime.fromISO('2020-01-01T00:00:00', { zone: 'utc' })
  for (let i = 0; i < size; i++) {
    const date = start.plus({ days: random.integer(0, 900), minutes: random.integer(0, 1439) })
    results.push(
      date.toISO(),
      date.toFormat("yyyy LLL dd 'at' HH:mm, WW, o"),
      date.setZone('America/New_York').toISO(),
      DateTime.fromFormat(date.toFormat('dd/MM/yyyy HH:mm'), 'dd/MM/yyyy HH:mm', { zone: 'utc' }).toMillis(),
      date.diff(start, ['months', 'days', 'hours']).toObject(),
      date.startOf('week').toISODate(),
      date.hasSame(start, 'year')
    )
  }
  return [
    digest(results),
    Interval.fromDateTimes(start, start.plus({ days: 20 }))
      .splitBy({ days: 3 })
      .map(String),
    Duration.fromObject({ hours: 50 }).shiftTo('days', 'hours').toHuman({ locale: 'en' }),
    DateTime.fromISO('2020-13-01').invalidReason,
    DateTime.max(start, start.plus(5)).toMillis()
  ]
}
