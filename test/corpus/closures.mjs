import { integers } from './inputs.mjs'

// Closures keep the bindings of loops: one per iteration with let, one for all iterations with var
function polynomials(coefficients, x) {
  const terms = []
  const powers = []
  for (let n = 0, power = 1; n < coefficients.length; n++, power *= x) {
    const weight = coefficients[n]
    if (weight === 0) continue
    terms.push(() => weight * x ** n)
    powers.push(() => power)
  }
  for (var last = 0; last < 3; last++) terms.push(() => last)
  let sum = 0
  for (const term of terms) sum += term()
  const seen = {}
  for (const key in coefficients) (seen[coefficients[key]] ||= []).push(() => key)
  return {
    sum,
    powers: powers.map(power => power()),
    seen: Object.entries(seen).map(([value, keys]) => [value, ...keys.map(key => key())])
  }
}

export default {
  name: 'closures in loops',
  kind: 'loop',
  fn: polynomials,
  inputs: size => [integers(size, 5), 1.001],
  sizes: [0, 1, 30],
  benchSize: 5000
}
