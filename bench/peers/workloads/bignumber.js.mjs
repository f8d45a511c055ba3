import BigNumber from 'bignumber.js'
import { digest } from './inputs.mjs'

export const sizes = { small: 3, full: 400 }

export function main(size) {
  const Own = BigNumber.clone({
    DECIMAL_PLACES: (20 + size / 20) | 0,
    FORMAT: { groupSize: 3, groupSeparator: ' ', decimalSeparator: ',' }
  })
  let factorial = new Own(1)
  let sum = new Own(0)
  const results = []
  for (let i = 1; i <= size; i++) {
    factorial = factorial.times(i)
    sum = sum.plus(new Own(1).div(i))
    if (i % 7 === 0)
      results.push(
        new Own(i).sqrt().toFormat(10),
        factorial.toString(16).slice(0, 40),
        factorial.mod(1000007).toString(),
        new Own(i / 7).pow(5).toExponential(9),
        sum.comparedTo(i)
      )
  }
  return [
    factorial.toString().slice(0, 50),
    factorial.sd(),
    sum.toString(),
    digest(results),
    new Own('abc', 16).toString(),
    new Own('zz').isNaN(),
    Own.minimum(3, 1, 2).toString(),
    new Own(0.1).toFraction().toString()
  ]
}
