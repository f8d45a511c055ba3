// Three nested loops, and an array of bits.

export function main(size) {
  const bytes = new Uint8Array(Math.ceil(size / 8) * size)
  let sum = 0
  for (let y = 0; y < size; y++) {
    const ci = 2 * y / size - 1
    for (let x = 0; x < size; x++) {
      const cr = 2 * x / size - 1.5
      let zr = 0, zi = 0, i = 0
      while (i < 50 && zr * zr + zi * zi < 4) {
        const next = zr * zr - zi * zi + cr
        zi = 2 * zr * zi + ci
        zr = next
        i++
      }
      if (i === 50) bytes[y * Math.ceil(size / 8) + (x >> 3)] |= 128 >> x % 8
      sum = sum * 31 + i | 0
    }
  }
  return [sum, Array.from(bytes.subarray(0, 1000))]
}

export const sizes = { small: 12, full: 1400 }
