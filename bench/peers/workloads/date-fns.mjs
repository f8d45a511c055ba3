import {
  addBusinessDays,
  addMonths,
  areIntervalsOverlapping,
  differenceInBusinessDays,
  eachDayOfInterval,
  eachWeekOfInterval,
  format,
  formatDistance,
  formatDuration,
  formatISO,
  getISOWeek,
  intervalToDuration,
  isValid,
  parse,
  parseISO,
  startOfWeek,
  sub
} from 'date-fns'
import { de } from 'date-fns/locale'
import { digest, outcome, seeded } from './inputs.mjs'

export const sizes = { small: 3, full: 1200 }

export function main(size) {
  const random = seeded(5)
  const start = new Date(2020, 0, 1)
  const results = []
  for (let i = 0; i < size; i++) {
    const date = new Date(
      2020,
      random.integer(0, 40),
      random.integer(1, 28),
      random.integer(0, 23),
      random.integer(0, 59)
    )
    const text = format(date, "yyyy-MM-dd'T'HH:mm:ss")
    results.push(
      format(date, 'PPPPpppp'),
      format(date, "EEEE, do MMMM yyyy 'at' h:mm a, QQQ, wo", { locale: de }),
      parseISO(text).getTime() === date.getTime(),
      parse(format(date, 'dd/MM/yy HH:mm'), 'dd/MM/yy HH:mm', start).getTime(),
      formatDistance(date, start, { addSuffix: true, locale: i % 2 ? de : undefined }),
      getISOWeek(date),
      formatISO(addMonths(date, i % 30)),
      differenceInBusinessDays(date, start),
      formatDuration(intervalToDuration({ start, end: date })),
      addBusinessDays(date, 10).getTime()
    )
  }
  return [
    digest(results),
    eachDayOfInterval({ start, end: addMonths(start, 2) }).length,
    eachWeekOfInterval({ start, end: addMonths(start, 5) }, { weekStartsOn: 1 }).map(d => startOfWeek(d).getDate()),
    isValid(parse('x', 'yyyy', start)),
    sub(start, { months: 1, days: 3 }).getTime(),
    areIntervalsOverlapping(
      { start, end: addMonths(start, 1) },
      { start: addMonths(start, 2), end: addMonths(start, 3) }
    ),
    outcome(() => format(new Date(NaN), 'yyyy')),
    outcome(() => format(start, 'YYYY'))
  ]
}
