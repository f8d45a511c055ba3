import * as ss from 'simple-statistics'
import { points, reals } from '../workloads/inputs.mjs'

export const inputs = (name, which) => name === 'regression' ? points(30, which + 1) : Array.from(reals(40, which + 1))

export const calls = {
  deviation: list => [ss.mean(list), ss.sampleStandardDeviation(list), ss.interquartileRange(list)],
  ckmeans: list => ss.ckmeans(list, 3),
  jenks: list => ss.jenks(list, 3),
  regression: list => ss.rSquared(list, ss.linearRegressionLine(ss.linearRegression(list))),
  kernel: list => ss.kernelDensityEstimation(list)(0.1),
  permutations: list => ss.permutationsHeap(list.slice(0, 4))
}
