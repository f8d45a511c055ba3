import RBush from 'rbush'
import { digest, points } from './inputs.mjs'

export const sizes = { small: 12, full: 20000 }

class Points extends RBush {
  toBBox([x, y]) {
    return { minX: x, minY: y, maxX: x, maxY: y }
  }
  compareMinX(a, b) {
    return a[0] - b[0]
  }
  compareMinY(a, b) {
    return a[1] - b[1]
  }
}

export function main(size) {
  const list = points(size)
  const tree = new Points(4)
  for (const point of list) tree.insert(point)
  const bulk = new RBush().load(list.map(([x, y], id) => ({ minX: x, minY: y, maxX: x + 2, maxY: y + 2, id })))
  for (const point of list.slice(0, size / 2)) tree.remove(point)
  const found = Array.from({ length: Math.min(size, 1000) }, (_, i) => [
    tree.search({ minX: i % 900, minY: i % 700, maxX: (i % 900) + 30, maxY: (i % 700) + 30 }).length,
    bulk.collides({ minX: i, minY: i, maxX: i + 1, maxY: i + 1 })
  ])
  return [
    tree.all().length,
    digest(found),
    digest(bulk.toJSON().height),
    RBush.prototype.constructor.name,
    bulk.remove({ id: 3, minX: 0, minY: 0, maxX: 1e4, maxY: 1e4 }, (a, b) => a.id === b.id).all().length
  ]
}
