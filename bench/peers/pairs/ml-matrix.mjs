import { EigenvalueDecomposition, Matrix, SVD, determinant, inverse, solve } from 'ml-matrix'
import { reals } from '../workloads/inputs.mjs'

export const inputs = (name, which) => Array.from({ length: 4 }, (_, i) => Array.from(reals(4, which * 9 + i + 1)))

export const calls = {
  multiply: rows => new Matrix(rows).mmul(new Matrix(rows).transpose()).to2DArray(),
  inverse: rows => inverse(new Matrix(rows)).to2DArray(),
  determinant: rows => determinant(new Matrix(rows)),
  solve: rows => solve(new Matrix(rows), Matrix.columnVector([1, 2, 3, 4])).to1DArray(),
  svd: rows => new SVD(new Matrix(rows)).diagonal,
  eigenvalues: rows => new EigenvalueDecomposition(new Matrix(rows)).realEigenvalues
}
