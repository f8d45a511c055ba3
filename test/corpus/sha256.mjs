import { bytes } from './inputs.mjs'

// FIPS 180-4
function sha256(message) {
  var K = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
  ]
  var state = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
  ]

  // a one bit, zeros, the length in bits as 64-bit big endian
  var padded = new Uint8Array(((message.length + 8) >> 6) + 1 << 6)
  padded.set(message)
  padded[message.length] = 0x80
  var view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(message.length / 0x20000000))
  view.setUint32(padded.length - 4, message.length << 3)

  var w = new Int32Array(64), t
  for (var block = 0; block < padded.length; block += 64) {
    for (t = 0; t < 16; t++) w[t] = view.getInt32(block + t * 4)
    for (; t < 64; t++) {
      var x = w[t - 15], y = w[t - 2]
      var s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3
      var s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10
      w[t] = w[t - 16] + s0 + w[t - 7] + s1 | 0
    }
    var [a, b, c, d, e, f, g, h] = state
    for (t = 0; t < 64; t++) {
      var big1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)
      var t1 = h + big1 + (e & f ^ ~e & g) + K[t] + w[t] | 0
      var big0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)
      var t2 = big0 + (a & b ^ a & c ^ b & c) | 0
      h = g
      g = f
      f = e
      e = d + t1 | 0
      d = c
      c = b
      b = a
      a = t1 + t2 | 0
    }
    ;[a, b, c, d, e, f, g, h].forEach((value, i) => { state[i] = state[i] + value | 0 })
  }
  return state.map(word => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

export default {
  name: 'SHA-256',
  kind: 'loop',
  fn: sha256,
  inputs: size => [bytes(size)],
  sizes: [0, 1, 55, 56, 64, 300],
  benchSize: 200_000
}
