import { seeded } from '../support/seeded.mjs'

function knapsack(items, capacity) {
  const rows = [new Array(capacity + 1).fill(0)]
  for (const { weight, value } of items) {
    const above = rows[rows.length - 1]
    const row = above.slice()
    for (let room = weight; room <= capacity; room++) {
      const taken = above[room - weight] + value
      if (taken > row[room]) row[room] = taken
    }
    rows.push(row)
  }
  const chosen = []
  let room = capacity
  let n = items.length
  while (n --> 0) {
    if (rows[n + 1][room] === rows[n][room]) continue
    chosen.unshift(n)
    room -= items[n].weight
  }
  return { value: rows[items.length][capacity], chosen }
}

function inputs(size) {
  const random = seeded(19)
  const item = () => ({ weight: random.integer(1, 50), value: random.integer(1, 99) })
  return [Array.from({ length: size }, item), size * 10]
}

export default {
  name: 'knapsack',
  kind: 'loop',
  fn: knapsack,
  inputs,
  sizes: [0, 1, 12],
  benchSize: 400
}
