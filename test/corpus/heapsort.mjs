import { integers } from './inputs.mjs'

function siftDown(heap, root, end) {
  for (let child; (child = 2 * root + 1) < end; root = child) {
    if (child + 1 < end && heap[child] < heap[child + 1]) child++
    if (heap[root] >= heap[child]) return
    [heap[root], heap[child]] = [heap[child], heap[root]]
  }
}

function heapsort(list) {
  let end = list.length
  for (let start = (end >> 1) - 1; start >= 0; start--) siftDown(list, start, end)
  while (--end > 0) {
    [list[0], list[end]] = [list[end], list[0]]
    siftDown(list, 0, end)
  }
  return list
}

export default {
  name: 'heapsort',
  kind: 'calls',
  fn: heapsort,
  calls: { siftDown },
  inputs: size => [integers(size, size * 4)],
  sizes: [0, 1, 2, 200],
  benchSize: 20_000
}
