import { seeded } from '../support/seeded.mjs'

function floydWarshall(distances) {
  var n = distances.length, next = []
  for (var a in distances) next.push(distances[a].map((length, b) => length < Infinity ? b : -1))
  for (var k = 0; k < n; k++)
    for (var i = 0; i < n; i++)
      for (var j = 0; j < n; j++)
        if (distances[i][k] + distances[k][j] < distances[i][j]) {
          distances[i][j] = distances[i][k] + distances[k][j]
          next[i][j] = next[i][k]
        }
  return { distances, next }
}

function inputs(size) {
  const random = seeded(23)
  const length = (i, j) => i === j ? 0 : random.chance(0.3) ? random.integer(1, 100) : Infinity
  return [Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => length(i, j)))]
}

export default {
  name: 'Floyd-Warshall',
  kind: 'loop',
  fn: floydWarshall,
  inputs,
  sizes: [0, 1, 2, 12],
  benchSize: 150
}
