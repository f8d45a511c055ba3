import Decimal from 'decimal.js'
import { digest, outcome } from './inputs.mjs'

export const sizes = { small: 3, full: 400 }

export function main(size) {
  const Own = Decimal.clone({ precision: (20 + size / 10) | 0, rounding: Decimal.ROUND_HALF_EVEN })
  let sum = new Own(0)
  const results = []
  for (let i = 1; i <= size; i++) {
    sum = sum.plus(new Own(1).div(i)).times(i % 5 === 0 ? 1.01 : 1)
    if (i % 10 === 3)
      results.push(
        new Own(i).sqrt().toString(),
        Own.ln(i).toString(),
        Own.sin(i).toFixed(20),
        new Own(i).pow(0.3).toSD(15).toString(),
        new Own(i).toBinary(),
        Own.exp(-i / 10).toExponential(12)
      )
  }
  return [
    sum.toString(),
    digest(results),
    Own.max(1, '2', 3).toString(),
    new Own('0x1f.8').toString(),
    outcome(() => new Own('x')),
    new Own(10).toFraction(5).toString(),
    Own.hypot(3, 4).toString(),
    new Own(-7).mod(3).toString(),
    Own.atan2(1, -1).toString()
  ]
}
