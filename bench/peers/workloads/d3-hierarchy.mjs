import { cluster, hierarchy, pack, partition, stratify, tree, treemap, treemapSquarify } from 'd3-hierarchy'
import { digest, seeded } from './inputs.mjs'

export const sizes = { small: 6, full: 4000 }

export function main(size) {
  const random = seeded(1)
  const rows = Array.from({ length: size }, (_, i) => ({
    id: String(i),
    parent: i === 0 ? '' : String(random.integer(Math.max(0, (i / 5 - 3) | 0), i - 1)),
    value: random.integer(1, 50)
  }))
  const root = stratify()
    .id(d => d.id)
    .parentId(d => d.parent)(rows)
    .sum(d => d.value)
    .sort((a, b) => b.value - a.value || a.id - b.id)
  const numbers = layout => {
    const laid = layout(root.copy())
    const result = []
    laid.each(({ x, y, r, x0, y1 }) => {
      result.push(Math.round((x ?? x0) * 1000), Math.round((y ?? y1) * 1000), Math.round((r ?? 0) * 1000))
    })
    return digest(result)
  }
  return [
    numbers(tree().size([100, 100])),
    numbers(cluster()),
    numbers(treemap().tile(treemapSquarify.ratio(1)).size([500, 500]).padding(1)),
    numbers(pack().size([500, 500]).padding(1)),
    numbers(partition()),
    root.leaves().length,
    root.height,
    digest(root.links().map(l => l.target.id)),
    [...hierarchy({ children: [{}, {}] })].length,
    root.path(root.leaves()[0]).map(n => n.id)
  ]
}
