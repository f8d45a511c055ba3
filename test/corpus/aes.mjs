import { bytes } from './inputs.mjs'

// FIPS-197 section 5.1.1: the multiplicative inverse in GF(2^8), then an affine transformation
const sbox = new Uint8Array(256)
for (let p = 1, q = 1, first = true; first || p !== 1; first = false) {
  p ^= p << 1 ^ (p & 0x80 ? 0x11b : 0)
  p &= 0xff
  q ^= q << 1
  q ^= q << 2
  q ^= q << 4
  q &= 0xff
  if (q & 0x80) q ^= 0x09
  sbox[p] = q ^ (q << 1 | q >> 7) ^ (q << 2 | q >> 6) ^ (q << 3 | q >> 5) ^ (q << 4 | q >> 4) ^ 0x63
}
sbox[0] = 0x63

function expandKey(key) {
  const words = new Uint8Array(176)
  words.set(key)
  let roundConstant = 1
  for (let i = 16; i < 176; i += 4) {
    let [a, b, c, d] = words.subarray(i - 4, i)
    if (i % 16 === 0) {
      [a, b, c, d] = [sbox[b] ^ roundConstant, sbox[c], sbox[d], sbox[a]]
      roundConstant = roundConstant << 1 ^ (roundConstant & 0x80 ? 0x11b : 0)
    }
    words[i] = words[i - 16] ^ a
    words[i + 1] = words[i - 15] ^ b
    words[i + 2] = words[i - 14] ^ c
    words[i + 3] = words[i - 13] ^ d
  }
  return words
}

function subBytesShiftRows(from, to) {
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) to[column * 4 + row] = sbox[from[(column + row) % 4 * 4 + row]]
  }
}

function mixColumns(state) {
  for (let i = 0; i < 16; i += 4) {
    const a = state[i], b = state[i + 1], c = state[i + 2], d = state[i + 3]
    const all = a ^ b ^ c ^ d
    const double = x => x << 1 ^ (x & 0x80 ? 0x11b : 0)
    state[i] = a ^ all ^ double(a ^ b)
    state[i + 1] = b ^ all ^ double(b ^ c)
    state[i + 2] = c ^ all ^ double(c ^ d)
    state[i + 3] = d ^ all ^ double(d ^ a)
  }
}

function addRoundKey(state, keys, round) {
  for (let i = 0; i < 16; i++) state[i] ^= keys[round * 16 + i]
}

function encryptBlock(block, keys) {
  let state = Uint8Array.from(block)
  let next = new Uint8Array(16)
  addRoundKey(state, keys, 0)
  for (let round = 1; round <= 10; round++) {
    subBytesShiftRows(state, next)
    if (round < 10) mixColumns(next)
    addRoundKey(next, keys, round)
    ;[state, next] = [next, state]
  }
  return state
}

// NIST SP 800-38A section 6.5
function aesCounterMode(key, counter, text) {
  const keys = expandKey(key)
  const block = Uint8Array.from(counter)
  const result = new Uint8Array(text.length)
  for (let start = 0; start < text.length; start += 16) {
    const stream = encryptBlock(block, keys)
    for (let i = start; i < Math.min(start + 16, text.length); i++) result[i] = text[i] ^ stream[i - start]
    let i = 15
    do block[i] = block[i] + 1
    while (block[i--] === 0 && i >= 0)
  }
  return result
}

export default {
  name: 'AES-128-CTR',
  kind: 'calls',
  fn: aesCounterMode,
  calls: { expandKey, subBytesShiftRows, mixColumns, addRoundKey, encryptBlock },
  scope: { sbox },
  inputs: size => [bytes(16, 1), bytes(16, 2), bytes(size, 3)],
  sizes: [0, 1, 16, 200],
  benchSize: 50_000
}
