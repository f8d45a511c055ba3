import { addMonths, differenceInDays, eachDayOfInterval, format, formatDistance, parse } from 'date-fns'

export const inputs = (name, which) => new Date(2020 + which, 3, 5 + which, 12, 30)

export const calls = {
  format: date => format(date, "EEEE, do MMMM yyyy 'at' HH:mm"),
  distance: date => formatDistance(date, new Date(2022, 1, 1)),
  parse: date => parse(`0${date.getDate()}/04/2021`, 'dd/MM/yyyy', date).getTime(),
  days: date => eachDayOfInterval({ start: date, end: addMonths(date, 1) }).length,
  difference: date => differenceInDays(addMonths(date, 14), date)
}
