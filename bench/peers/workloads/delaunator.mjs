import Delaunator from 'delaunator'
import { digest, points } from './inputs.mjs'

export const sizes = { small: 8, full: 60000 }

export function main(size) {
  const { triangles, hull } = Delaunator.from(points(size))
  const grid = Delaunator.from(
    Array.from({ length: Math.min(size, 900) }, (_, i) => ({ x: i % 30, y: (i / 30) | 0 })),
    p => p.x,
    p => p.y
  )
  return [
    triangles.length,
    digest(Array.from(triangles.subarray(0, 3000))),
    Array.from(hull).length,
    grid.triangles.length,
    new Delaunator([0, 0, 1, 1, 2, 2]).triangles.length
  ]
}
