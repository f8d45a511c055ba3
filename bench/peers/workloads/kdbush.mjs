import KDBush from 'kdbush'
import { digest, outcome, points } from './inputs.mjs'

export const sizes = { small: 10, full: 240000 }

export function main(size) {
  const index = new KDBush(size)
  for (const [x, y] of points(size)) index.add(x, y)
  outcome(() => index.finish())
  const found = []
  for (let i = 0; i < Math.min(size, 3000); i++)
    found.push(
      index.range(i % 900, i % 800, (i % 900) + 20, (i % 800) + 15).length,
      index.within(i % 1000, i % 700, 12).length
    )
  return [
    digest(found),
    digest(Array.from(index.ids.subarray(0, 100))),
    outcome(() => new KDBush(-1)),
    KDBush.from(index.data).numItems
  ]
}
