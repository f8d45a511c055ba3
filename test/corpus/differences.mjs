import { prose } from './inputs.mjs'

// Myers, An O(ND) Difference Algorithm and Its Variations, 1986
function differences(a, b) {
  const longest = a.length + b.length
  const furthest = { 1: 0 }
  const history = []
  search: for (let d = 0; d <= longest; d++) {
    history.push({ ...furthest })
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || k !== d && furthest[k - 1] < furthest[k + 1] ? furthest[k + 1] : furthest[k - 1] + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest[k] = x
      if (x >= a.length && x - k >= b.length) break search
    }
  }

  const edits = []
  for (let x = a.length, y = b.length, d = history.length - 1; d >= 0; d--) {
    const k = x - y
    const before = history[d]
    const down = k === -d || k !== d && before[k - 1] < before[k + 1]
    const startX = before[down ? k + 1 : k - 1]
    const startY = startX - (down ? k + 1 : k - 1)
    while (x > startX && y > startY) x--, y--
    if (d > 0) edits.push(down ? `+${startY} ${b[startY]}` : `-${startX} ${a[startX]}`)
    x = startX
    y = startY
  }
  return edits.reverse()
}

const lines = (count, seed) => prose(count, seed).split(/ /)

function inputs(size) {
  const a = lines(size, 1)
  const b = a.filter((_, i) => i % 7 !== 3)
  b.splice(size >> 1, 0, ...lines(size >> 3, 2))
  return [a, b]
}

export default {
  name: 'differences',
  kind: 'loop',
  fn: differences,
  inputs,
  sizes: [0, 1, 40],
  benchSize: 400
}
