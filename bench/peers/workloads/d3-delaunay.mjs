import { Delaunay } from 'd3-delaunay'
import { digest, points } from './inputs.mjs'

export const sizes = { small: 6, full: 6000 }

export function main(size) {
  const delaunay = Delaunay.from(points(size))
  const voronoi = delaunay.voronoi([0, 0, 1000, 1000])
  let neighbours = 0
  for (let i = 0; i < size; i++) for (const j of voronoi.neighbors(i)) neighbours += j
  let found = 0
  for (let i = 0; i < size; i++) found = delaunay.find(i % 1000, (i * 7) % 1000, found)
  return [
    digest(voronoi.render()),
    digest([...voronoi.cellPolygons()].map(p => p.length)),
    neighbours,
    found,
    digest(delaunay.renderHull()),
    voronoi.contains(0, 1, 1),
    digest([...delaunay.trianglePolygons()].length)
  ]
}
