import earcut, { deviation, flatten } from 'earcut'
import { digest } from './inputs.mjs'

export const sizes = { small: 8, full: 10000 }

export function main(size) {
  const ring = (count, radius, wobble) =>
    Array.from({ length: count }, (_, i) => {
      const angle = (i / count) * 2 * Math.PI
      const r = radius * (1 + wobble * Math.sin(angle * 17))
      return [r * Math.cos(angle), r * Math.sin(angle)]
    })
  const { vertices, holes, dimensions } = flatten([ring(size, 100, 0.2), ring((size / 2) | 0, 30, 0.1).reverse()])
  const triangles = earcut(vertices, holes, dimensions)
  return [
    triangles.length,
    digest(triangles),
    deviation(vertices, holes, dimensions, triangles) < 1e-9,
    earcut([0, 0, 1, 1]).length
  ]
}
