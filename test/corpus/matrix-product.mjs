import { reals } from './inputs.mjs'

function matrixProduct(a, b, n) {
  const c = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0
      for (let k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j]
      c[i * n + j] = sum
    }
  }
  return c
}

export default {
  name: 'matrix product',
  kind: 'loop',
  fn: matrixProduct,
  inputs: size => [reals(size * size, 1), reals(size * size, 2), size],
  sizes: [0, 1, 7, 20],
  benchSize: 200
}
