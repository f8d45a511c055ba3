import { all, create } from 'mathjs'
import { digest, outcome } from './inputs.mjs'

export const sizes = { small: 1, full: 20 }

let math

export function main(size) {
  math ??= create(all, { randomSeed: 'a' })
  const results = []
  for (let i = 1; i <= size; i++) {
    results.push(
      math.evaluate(`f(x) = x ^ 2 + ${i}; a = [1, 2; 3, ${i}]; det(a) + f(3) + sqrt(-${i})`).toString(),
      math.simplify(`2 * x + ${i} * x - x / ${i}`).toString(),
      math.derivative(`sin(x ^ ${i}) * exp(x)`, 'x').toString(),
      math.format(math.evaluate(`${i} inch to cm`), 6),
      String(math.fraction(i, 7)),
      math.bignumber(i).pow(20).div(7).toString(),
      math.parse(`a[${i}] + b.c(${i})`).toTex()
    )
  }
  const n = 3 + size
  const matrix = math.matrix(
    Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => ((i * 7 + j * 3) % 11) + (i === j ? 20 : 0))
    )
  )
  const product = math.multiply(matrix, math.inv(matrix))
  return [
    digest(results),
    math.format(math.sum(product), 8),
    outcome(() => math.evaluate('1 +')),
    outcome(() => math.evaluate('foo(1)')),
    math.format(math.det(matrix), 6),
    math.mean([1, 2, 3]),
    math.sort([3, 1, 2], 'desc'),
    math.typed('own', { 'number, string': (a, b) => a + b })(1, 'x'),
    math.map([1, 2, 3], x => x * 2),
    math.format(
      math
        .lusolve(
          matrix,
          Array.from({ length: n }, () => 1)
        )
        .toArray()
        .flat()
        .slice(0, 3),
      6
    )
  ]
}
