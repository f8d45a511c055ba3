import Big from 'big.js'
import { outcome } from './inputs.mjs'

export const sizes = { small: 3, full: 700 }

export function main(size) {
  Big.DP = (20 + size / 10) | 0
  let product = new Big(1)
  let sum = new Big(0)
  for (let i = 1; i <= size; i++) {
    product = product.times(i)
    sum = sum.plus(new Big(1).div(i))
  }
  return [
    product.toExponential(20),
    sum.toString(),
    new Big(2).sqrt().toFixed(30),
    new Big(1.01).pow(40).toString(),
    outcome(() => new Big(1).div(0)),
    outcome(() => new Big('1x')),
    sum.cmp(5),
    product.mod(1009).toString()
  ]
}
