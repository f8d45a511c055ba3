import { seeded } from '../support/seeded.mjs'

function heapPush(heap, item) {
  let i = heap.push(item) - 1
  while (i > 0) {
    const parent = i - 1 >> 1
    if (heap[parent].distance <= item.distance) break
    heap[i] = heap[parent]
    i = parent
  }
  heap[i] = item
}

function heapPop(heap) {
  const top = heap[0]
  const last = heap.pop()
  if (heap.length === 0) return top
  let i = 0
  for (;;) {
    let child = 2 * i + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && heap[child + 1].distance < heap[child].distance) child++
    if (last.distance <= heap[child].distance) break
    heap[i] = heap[child]
    i = child
  }
  heap[i] = last
  return top
}

function dijkstra(graph, start) {
  const distances = new Map([[start, 0]])
  const before = new Map()
  const done = new Set()
  const heap = [{ node: start, distance: 0 }]
  while (heap.length) {
    const { node, distance } = heapPop(heap)
    if (done.has(node)) continue
    done.add(node)
    for (const [next, length] of graph.get(node) ?? []) {
      const through = distance + length
      if (!(through < (distances.get(next) ?? Infinity))) continue
      distances.set(next, through)
      before.set(next, node)
      heapPush(heap, { node: next, distance: through })
    }
  }
  return { distances, before }
}

function inputs(size) {
  const random = seeded(13)
  const graph = new Map()
  for (let node = 0; node < size; node++) {
    const edges = Array.from({ length: 6 }, () => [`n${random.integer(0, size)}`, random.integer(1, 100)])
    graph.set(`n${node}`, edges)
  }
  return [graph, 'n0']
}

export default {
  name: 'Dijkstra',
  kind: 'calls',
  fn: dijkstra,
  calls: { heapPush, heapPop },
  inputs,
  sizes: [0, 1, 60],
  benchSize: 5000
}
