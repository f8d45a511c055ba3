import Long from 'long'

export const sizes = { small: 5, full: 80000 }

export function main(size) {
  let a = Long.fromString('1234567890123456789')
  let hash = Long.fromNumber(14695981039346656037, true)
  const texts = []
  for (let i = 1; i <= size; i++) {
    a = a.mul(6364136223846793005).add(i).xor(a.shru(13))
    hash = hash.xor(i & 255).mul(Long.fromString('1099511628211', true))
    if (i % 8 === 0) texts.push(a.div(i).toString().length, a.mod(i).toString(36), hash.toString(2).length)
  }
  return [
    a.toString(),
    hash.toString(16),
    texts.slice(-9),
    texts.length,
    Long.MAX_VALUE.add(1).eq(Long.MIN_VALUE),
    Long.fromBytes(a.toBytes()).eq(a)
  ]
}
