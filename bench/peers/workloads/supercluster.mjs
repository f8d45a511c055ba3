import Supercluster from 'supercluster'
import { digest, outcome, points } from './inputs.mjs'

export const sizes = { small: 6, full: 6000 }

export function main(size) {
  const index = new Supercluster({
    radius: 40,
    maxZoom: 12,
    map: ({ n }) => ({ sum: n }),
    reduce: (all, { sum }) => {
      all.sum += sum
    }
  })
  index.load(
    points(size).map(([x, y], n) => ({
      type: 'Feature',
      properties: { n },
      geometry: { type: 'Point', coordinates: [x * 0.36 - 180, y * 0.16 - 80] }
    }))
  )
  const clusters = [0, 3, 6, 9].map(zoom => digest(index.getClusters([-180, -85, 180, 85], zoom)))
  const [first] = index.getClusters([-180, -85, 180, 85], 1)
  return [
    clusters,
    digest(index.getTile(2, 1, 1)),
    outcome(() => first.id && index.getLeaves(first.id, 5).length),
    outcome(() => index.getChildren(99999999))
  ]
}
