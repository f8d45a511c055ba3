import { bytes } from './inputs.mjs'

function crc32(input) {
  const table = []
  for (let n = 0; n < 256; n++) {
    let c = n
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ c >>> 1 : c >>> 1
    table[n] = c
  }
  let crc = -1
  for (const byte of input) crc = crc >>> 8 ^ table[(crc ^ byte) & 255]
  return (crc ^ -1) >>> 0
}

export default {
  name: 'CRC-32',
  kind: 'loop',
  fn: crc32,
  inputs: size => [bytes(size)],
  sizes: [0, 1, 100],
  benchSize: 1_000_000
}
