import { bytes, prose } from './inputs.mjs'

// The block format of LZ4: literals and matches of 4 bytes or more, at most 65535 bytes back
function compress(input) {
  var output = []
  var table = new Int32Array(4096).fill(-1)
  var anchor = 0

  function emitLength(length) {
    for (; length >= 255; length -= 255) output.push(255)
    output.push(length)
  }
  function emit(end, offset, matched) {
    var literals = end - anchor
    var more = offset ? matched - 4 : 0
    output.push(Math.min(literals, 15) << 4 | Math.min(more, 15))
    if (literals >= 15) emitLength(literals - 15)
    for (var k = anchor; k < end; k++) output.push(input[k])
    if (offset) {
      output.push(offset & 255, offset >> 8)
      if (more >= 15) emitLength(more - 15)
    }
  }

  // The last match starts 12 bytes before the end or earlier, the last 5 bytes are literals.
  var i = 0
  while (i < input.length - 12) {
    var word = input[i] | input[i + 1] << 8 | input[i + 2] << 16 | input[i + 3] << 24
    var hash = Math.imul(word, 2654435761) >>> 20
    var candidate = table[hash]
    table[hash] = i
    if (candidate < 0 || i - candidate > 65535 || input[candidate] !== input[i] ||
        input[candidate + 1] !== input[i + 1] || input[candidate + 2] !== input[i + 2] ||
        input[candidate + 3] !== input[i + 3]) {
      i++
      continue
    }
    var length = 4
    while (i + length < input.length - 5 && input[candidate + length] === input[i + length]) length++
    emit(i, i - candidate, length)
    i += length
    anchor = i
  }
  emit(input.length)
  return Uint8Array.from(output)
}

function decompress(input, size) {
  const output = new Uint8Array(size)
  let from = 0
  let to = 0
  for (;;) {
    const token = input[from++]
    let length = token >> 4
    if (length === 15) {
      let more
      do {
        more = input[from++]
        length += more
      } while (more === 255)
    }
    while (length--) output[to++] = input[from++]
    if (from >= input.length) break
    let back = to - (input[from++] | input[from++] << 8)
    length = (token & 15) + 4
    if (length === 19) {
      let more
      do length += more = input[from++]
      while (more === 255)
    }
    for (const end = to + length; to < end;) output[to++] = output[back++]
  }
  if (to !== size) throw new RangeError(`expected ${size} bytes, got ${to}`)
  return output
}

/** Bytes of prose, followed by stretches of noise and of zeros. */
function text(size) {
  const half = size >> 1
  const words = new TextEncoder().encode(prose(half)).subarray(0, half)
  const mixed = bytes(size, 5).map((byte, i) => i % 64 < 32 ? byte : 0)
  mixed.set(words)
  return mixed
}

export const lzCompress = {
  name: 'LZ compress',
  kind: 'loop',
  fn: compress,
  inputs: size => [text(size)],
  sizes: [0, 1, 13, 14, 600],
  benchSize: 300_000
}

export const lzDecompress = {
  name: 'LZ decompress',
  kind: 'loop',
  fn: decompress,
  inputs: size => [compress(text(size)), size],
  sizes: [0, 1, 14, 600],
  benchSize: 300_000
}
