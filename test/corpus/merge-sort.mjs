import { seeded } from '../support/seeded.mjs'

function mergeSort(list, compare) {
  if (list.length < 2) return list
  const middle = list.length >>> 1
  const left = mergeSort(list.slice(0, middle), compare)
  const right = mergeSort(list.slice(middle), compare)
  const merged = []
  let i = 0, j = 0
  while (i < left.length && j < right.length)
    merged.push(compare(left[i], right[j]) <= 0 ? left[i++] : right[j++])
  while (i < left.length) merged.push(left[i++])
  while (j < right.length) merged.push(right[j++])
  return merged
}

const byAge = (a, b) => a.age - b.age

function inputs(size) {
  const random = seeded(3)
  const people = Array.from({ length: size }, (_, id) => ({ id, age: random.integer(0, size / 3) }))
  return [people, byAge]
}

export default {
  name: 'merge sort',
  kind: 'recursive',
  fn: mergeSort,
  inputs,
  sizes: [0, 1, 2, 200],
  benchSize: 10_000
}
