/**
 * AES-128 (FIPS 197) in ordinary code: loops and arrays, without any preemption points.
 */

/** The irreducible polynomial, x^8 + x^4 + x^3 + x + 1. */
const polynomial = 0x11b

const substitutes = substitution()
const doubles = Uint8Array.from({ length: 256 }, (_, byte) => byte << 1 ^ (byte >> 7) * polynomial)

/** Computes the S-box: an affine map of the multiplicative inverse of each byte. */
function substitution() {
  const box = new Uint8Array(256)
  let power = 1 // runs through the powers of 3
  let inverse = 1 // runs through the powers of the inverse of 3
  do {
    power = power ^ power << 1 ^ (power >> 7) * polynomial
    inverse ^= inverse << 1
    inverse ^= inverse << 2
    inverse ^= inverse << 4
    inverse &= 0xff
    if (inverse & 0x80) inverse ^= 0x09
    const turn = bits => inverse << bits | inverse >> 8 - bits
    box[power] = inverse ^ turn(1) ^ turn(2) ^ turn(3) ^ turn(4) ^ 0x63
  } while (power !== 1)
  box[0] = 0x63
  return box
}

/** @param {Uint8Array} key 16 bytes @returns {Uint8Array} 11 round keys */
export function expandKey(key) {
  const keys = new Uint8Array(176)
  keys.set(key)
  let constant = 1
  for (let at = 16; at < 176; at += 4) {
    let word = keys.subarray(at - 4, at)
    if (at % 16 === 0) {
      word = Uint8Array.of(word[1], word[2], word[3], word[0]).map(byte => substitutes[byte])
      word[0] ^= constant
      constant = doubles[constant]
    }
    for (let i = 0; i < 4; i++) keys[at + i] = keys[at + i - 16] ^ word[i]
  }
  return keys
}

const shifted = new Uint8Array(16)

/** Encrypts a block in place. @param {Uint8Array} bytes @param {number} at @param {Uint8Array} keys */
export function encryptBlock(bytes, at, keys) {
  for (let i = 0; i < 16; i++) bytes[at + i] ^= keys[i]
  for (let round = 1; round <= 10; round++) {
    for (let i = 0; i < 16; i++) shifted[i] = substitutes[bytes[at + (i + 4 * (i & 3) & 15)]]
    if (round < 10) {
      for (let column = 0; column < 16; column += 4) {
        const a = shifted[column]
        const b = shifted[column + 1]
        const c = shifted[column + 2]
        const d = shifted[column + 3]
        const all = a ^ b ^ c ^ d
        shifted[column] ^= all ^ doubles[a ^ b]
        shifted[column + 1] ^= all ^ doubles[b ^ c]
        shifted[column + 2] ^= all ^ doubles[c ^ d]
        shifted[column + 3] ^= all ^ doubles[d ^ a]
      }
    }
    for (let i = 0; i < 16; i++) bytes[at + i] = shifted[i] ^ keys[16 * round + i]
  }
}

/** @param {string} text @returns {Uint8Array} the bytes of the text, padded with zeros to whole blocks */
export function blocksOf(text) {
  const bytes = new TextEncoder().encode(text)
  const blocks = new Uint8Array(Math.max(16, Math.ceil(bytes.length / 16) * 16))
  blocks.set(bytes)
  return blocks
}

/**
 * Encrypts a text `times` times. The RT.js page benchmark calls `encrypt(text.repeat(16), key, 350)`.
 *
 * @param {string} text
 * @param {Uint8Array} key 16 bytes
 * @param {number} times
 * @param {{ blocks: number }} progress counts the encrypted blocks
 * @returns {Uint8Array}
 */
export function encrypt(text, key, times, progress) {
  const keys = expandKey(key)
  const bytes = blocksOf(text)
  for (let time = 0; time < times; time++) {
    for (let at = 0; at < bytes.length; at += 16) {
      encryptBlock(bytes, at, keys)
      progress.blocks++
    }
  }
  return bytes
}
