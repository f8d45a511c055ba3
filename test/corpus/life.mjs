import { seeded } from '../support/seeded.mjs'

function life(picture, generations) {
  let cells = picture.split('\n').map(line => [...line].map(c => c === '#'))
  while (generations-- > 0) {
    cells = cells.map((line, y) => {
      const result = []
      for (let x = 0; x < line.length; x++) {
        let neighbours = 0
        for (let dy = -1; dy <= 1; dy++)
          for (let dx = -1; dx <= 1; dx++)
            if ((dx || dy) && cells[y + dy]?.[x + dx]) neighbours++
        result.push(neighbours === 3 || line[x] && neighbours === 2)
      }
      return result
    })
  }
  return cells.map(line => line.map(alive => alive ? '#' : '.').join('')).join('\n')
}

function inputs(size) {
  const random = seeded(17)
  const line = () => Array.from({ length: size }, () => random.chance(0.4) ? '#' : '.').join('')
  return [Array.from({ length: size }, line).join('\n'), size]
}

export default {
  name: 'game of life, by map',
  kind: 'loop',
  fn: life,
  inputs,
  sizes: [0, 1, 3, 12],
  benchSize: 40
}
