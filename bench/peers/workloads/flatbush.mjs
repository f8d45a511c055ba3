import Flatbush from 'flatbush'
import { digest, outcome, points } from './inputs.mjs'

export const sizes = { small: 10, full: 100000 }

export function main(size) {
  const index = new Flatbush(size)
  for (const [x, y] of points(size)) index.add(x, y, x + 3, y + 2)
  index.finish()
  const found = []
  for (let i = 0; i < Math.min(size, 3000); i++)
    found.push(
      index.search(i % 900, i % 800, (i % 900) + 10, (i % 800) + 10, id => id % 2 === 0).length,
      index.neighbors(i % 1000, i % 700, 3)[0]
    )
  return [
    digest(found),
    outcome(() => (index.search ? new Flatbush(2).search(0, 0, 1, 1) : 0)),
    Flatbush.from(index.data).numItems,
    outcome(() => new Flatbush(0))
  ]
}
