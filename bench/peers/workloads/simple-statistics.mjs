import * as ss from 'simple-statistics'
import { digest, integers, outcome, points, reals } from './inputs.mjs'

export const sizes = { small: 12, full: 40000 }

export function main(size) {
  const values = Array.from(reals(size))
  const pairs = points(size)
  const line = ss.linearRegression(pairs)
  const bayes = new ss.BayesianClassifier()
  for (const n of integers(size, 100)) bayes.train({ odd: n % 2, large: n > 50 }, n % 3 ? 'a' : 'b')
  return [
    ss.mean(values),
    ss.median(values),
    ss.sampleStandardDeviation(values),
    ss.interquartileRange(values),
    ss.rSquared(pairs, ss.linearRegressionLine(line)),
    digest(ss.ckmeans(values.slice(0, 400), 4)),
    digest(ss.equalIntervalBreaks(values, 5)),
    ss.sampleCorrelation(
      values,
      values.map(v => v * v)
    ),
    ss.jenks(values.slice(0, 120), 3),
    bayes.score({ odd: 1 }),
    ss.mode(integers(size, 9)),
    ss.kernelDensityEstimation(values)(0.1),
    digest(ss.permutationsHeap([1, 2, 3, 4, 5])),
    ss.wilcoxonRankSum(values.slice(0, 9), values.slice(5, 14)),
    digest(ss.combinations([1, 2, 3, 4], 2)),
    outcome(() => ss.mean([])),
    ss.errorFunction(0.5),
    ss.tTestTwoSample(values.slice(0, 30), values.slice(30, 60))
  ]
}
