import { integers } from './inputs.mjs'

function clone(value, seen = new Map()) {
  if (typeof value !== 'object' || value === null) return value
  if (seen.has(value)) return seen.get(value)
  if (value instanceof Date) return new Date(+value)
  const copy = Array.isArray(value) ? [] : {}
  seen.set(value, copy)
  for (const key in value) if (Object.hasOwn(value, key)) copy[key] = clone(value[key], seen)
  return copy
}

/** A binary search tree with `size` nodes. Each node refers to its parent. */
function inputs(size) {
  let root = null
  for (const key of integers(size, 1000)) {
    const node = { key, made: new Date(key), tags: [key % 2 ? 'odd' : 'even'] }
    let parent = root
    for (let next = root; next; next = key < next.key ? next.left : next.right) parent = next
    if (parent) {
      node.parent = parent
      parent[key < parent.key ? 'left' : 'right'] = node
    } else root = node
  }
  return [root]
}

export default {
  name: 'deep clone',
  kind: 'recursive',
  fn: clone,
  inputs,
  sizes: [0, 1, 30],
  benchSize: 5000
}
