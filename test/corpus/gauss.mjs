import { seeded } from '../support/seeded.mjs'

// Gaussian elimination with partial pivoting
function solve(matrix, right) {
  const n = right.length
  for (let column = 0; column < n; column++) {
    let pivot = column
    for (let row = column + 1; row < n; row++) {
      if (Math.abs(matrix[row][column]) > Math.abs(matrix[pivot][column])) pivot = row
    }
    if (matrix[pivot][column] === 0) throw new RangeError('the matrix is singular')
    if (pivot !== column) {
      [matrix[column], matrix[pivot]] = [matrix[pivot], matrix[column]];
      [right[column], right[pivot]] = [right[pivot], right[column]]
    }
    for (let row = column + 1; row < n; row++) {
      const factor = matrix[row][column] / matrix[column][column]
      if (factor === 0) continue
      for (let k = column; k < n; k++) matrix[row][k] -= factor * matrix[column][k]
      right[row] -= factor * right[column]
    }
  }
  const x = new Array(n)
  for (let row = n - 1; row >= 0; row--) {
    let sum = right[row]
    for (let k = row + 1; k < n; k++) sum -= matrix[row][k] * x[k]
    x[row] = sum / matrix[row][row]
  }
  return x
}

function inputs(size) {
  const random = seeded(29)
  const row = () => Array.from({ length: size }, () => random.integer(-9, 9))
  return [Array.from({ length: size }, row), row()]
}

export default {
  name: 'Gaussian elimination',
  kind: 'loop',
  fn: solve,
  inputs,
  sizes: [0, 1, 2, 12],
  benchSize: 200
}
