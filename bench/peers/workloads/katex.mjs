import katex from 'katex'
import { digest, outcome } from './inputs.mjs'

export const sizes = { small: 1, full: 60 }

export function main(size) {
  const formulas = [
    '\\frac{a_1^2 + \\sqrt[3]{b}}{\\sum_{i=0}^{n} x_i}',
    '\\begin{pmatrix} 1 & 2 \\\\ 3 & \\dfrac{4}{5} \\end{pmatrix} \\otimes \\vec{v}',
    '\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx = \\sqrt{\\pi} \\tag{1}',
    '\\def\\foo#1{\\mathbb{#1}} \\foo{R} \\ni \\overbrace{x + y}^{\\text{sum}} \\left( \\binom{n}{k} \\right)',
    '\\color{red}{\\mathcal{L}} \\underset{n \\to \\infty}{\\lim} \\begin{cases} a & b \\\\ c & d \\end{cases}'
  ]
  const results = []
  for (let i = 0; i < size; i++)
    results.push(
      ...formulas.map(formula =>
        digest(
          katex.renderToString(`${formula} + ${i}`, {
            displayMode: i % 2 === 0 || formula.includes('tag'),
            output: 'htmlAndMathml',
            macros: { '\\own': `x^${i}` }
          })
        )
      )
    )
  return [
    digest(results),
    outcome(() => katex.renderToString('\\frac{1}')),
    katex.renderToString('\\undefined', { throwOnError: false }).length,
    outcome(() => katex.renderToString(5))
  ]
}
