import {
  CholeskyDecomposition,
  EigenvalueDecomposition,
  LuDecomposition,
  Matrix,
  QrDecomposition,
  SingularValueDecomposition,
  determinant,
  inverse,
  solve
} from 'ml-matrix'
import { outcome, seeded } from './inputs.mjs'

export const sizes = { small: 3, full: 110 }

const rounded = list => Array.from(list, value => Math.round(Math.abs(value) * 1e6) / 1e6)

export function main(size) {
  const random = seeded(1)
  const a = Matrix.zeros(size, size).apply(function (i, j) {
    this.set(i, j, random.real(-1, 1) + (i === j ? size : 0))
  })
  const symmetric = a.transpose().mmul(a)
  return [
    rounded([determinant(inverse(a).mul(size))]),
    rounded(new EigenvalueDecomposition(symmetric).realEigenvalues.slice(0, 9)),
    rounded(new SingularValueDecomposition(a).diagonal.slice(0, 9)),
    rounded(new QrDecomposition(a).orthogonalMatrix.diag().slice(0, 9)),
    rounded(new CholeskyDecomposition(symmetric).lowerTriangularMatrix.diag().slice(0, 9)),
    rounded(solve(a, Matrix.ones(size, 1)).to1DArray().slice(0, 9)),
    new LuDecomposition(a).isSingular(),
    outcome(() => a.mmul(Matrix.ones(size + 1, 1)).rows),
    outcome(() => new Matrix(-1, 2)),
    a.toString().length > 9
  ]
}
