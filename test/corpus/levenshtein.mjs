import { prose } from './inputs.mjs'

function levenshtein(a, b) {
  if (a === b) return 0
  if (!a.length || !b.length) return a.length || b.length
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 0; i < a.length; i++) {
    const current = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const cost = a[i] === b[j] ? 0 : 1
      current[j + 1] = Math.min(current[j] + 1, previous[j + 1] + 1, previous[j] + cost)
    }
    previous = current
  }
  return previous[b.length]
}

export default {
  name: 'Levenshtein',
  kind: 'loop',
  fn: levenshtein,
  inputs: size => [prose(size, 1).slice(0, size), prose(size, 2).slice(0, size)],
  sizes: [0, 1, 5, 40],
  benchSize: 600
}
