// Counts substrings with maps, sorting with a comparison, iterators, and callbacks of built-in functions.

function sequence(length) {
  let seed = 42
  const random = max => {
    seed = (seed * 3877 + 29573) % 139968
    return max * seed / 139968
  }
  const table = [['a', 0.3029549426680], ['c', 0.1979883004921], ['g', 0.1975473066391], ['t', 1]]
  return Array.from({ length }, () => {
    let at = random(1)
    return table.find(([, p]) => (at -= p) < 0)?.[0] ?? 't'
  }).join('').toUpperCase()
}

function count(text, size) {
  const counts = new Map()
  for (let i = 0; i + size <= text.length; i++) {
    const key = text.slice(i, i + size)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

const byCount = ([a, m], [b, n]) => n - m || (a < b ? -1 : 1)

export function main(length) {
  const text = sequence(length)
  const lines = []
  for (const size of [1, 2]) {
    const counts = count(text, size)
    const total = [...counts.values()].reduce((a, b) => a + b, 0)
    for (const [key, number] of [...counts].sort(byCount)) lines.push(`${key} ${(number * 100 / total).toFixed(3)}`)
  }
  for (const key of ['GGT', 'GGTA', 'GGTATT', 'GGTATTTTAATT', 'GGTATTTTAATTTATAGT']) {
    lines.push(`${count(text, key.length).get(key) ?? 0}\t${key}`)
  }
  const complement = { A: 'T', C: 'G', G: 'C', T: 'A' }
  const reversed = text.replace(/[ACGT]/g, letter => complement[letter]).split('').reverse().join('')
  lines.push(reversed.slice(0, 60), String(new Set(reversed.match(/.{1,8}/g)).size))
  return lines
}

export const sizes = { small: 120, full: 120000 }
