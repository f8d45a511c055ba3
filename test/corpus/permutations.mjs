function permutations(list) {
  if (list.length <= 1) return [[...list]]
  const result = []
  for (const [i, first] of list.entries()) {
    const rest = [...list.slice(0, i), ...list.slice(i + 1)]
    for (const permutation of permutations(rest)) result.push([first, ...permutation])
  }
  return result
}

export default {
  name: 'permutations',
  kind: 'recursive',
  fn: permutations,
  inputs: size => [Array.from({ length: size }, (_, i) => i)],
  sizes: [0, 1, 3, 5],
  benchSize: 8
}
