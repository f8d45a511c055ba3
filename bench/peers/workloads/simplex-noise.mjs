import { createNoise2D, createNoise3D, createNoise4D } from 'simplex-noise'
import { seeded } from './inputs.mjs'

export const sizes = { small: 3, full: 700 }

export function main(size) {
  const random = seeded(1)
  const [two, three, four] = [createNoise2D, createNoise3D, createNoise4D].map(create => create(() => random.real()))
  let sum = 0
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) sum += two(x / 9, y / 9) + three(x / 9, y / 9, 0.5) + four(x / 9, y / 9, 0.5, x)
  return [sum, two(0.1, 0.2), three(1, 2, 3.5), four(4, 3, 2, 1.5)]
}
