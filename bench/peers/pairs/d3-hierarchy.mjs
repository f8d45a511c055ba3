import { cluster, hierarchy, pack, partition, stratify, tree, treemap, treemapSquarify } from 'd3-hierarchy'
import { seeded } from '../workloads/inputs.mjs'

export function inputs(name, which) {
  const random = seeded(which + 1)
  return Array.from({ length: 24 + which }, (_, i) => ({
    id: String(i), parent: i === 0 ? '' : String(random.integer(Math.max(0, (i / 5 - 3) | 0), i - 1)), value: random.integer(1, 50)
  }))
}

const rooted = rows => stratify().id(d => d.id).parentId(d => d.parent)(rows).sum(d => d.value)
const numbers = root => root.descendants().map(({ x, y, r, x0, y1 }) => [x ?? x0, y ?? y1, r ?? 0].join())

export const calls = {
  tree: rows => numbers(tree().size([100, 100])(rooted(rows))),
  cluster: rows => numbers(cluster()(rooted(rows))),
  treemap: rows => numbers(treemap().tile(treemapSquarify.ratio(1)).size([500, 500]).padding(1)(rooted(rows))),
  pack: rows => numbers(pack().size([500, 500]).padding(1)(rooted(rows))),
  partition: rows => numbers(partition()(rooted(rows))),
  walk: rows => rooted(rows).sort((a, b) => b.value - a.value).links().map(link => link.target.id),
  hierarchy: rows => hierarchy({ children: rows.map(row => ({ children: [row] })) }).leaves().length
}
