// The complete SHA-256 of the corpus, and the text form of its digest.
import sha256 from '../corpus/sha256.mjs'

export function main(size) {
  return sha256.fn(...sha256.inputs(size))
}

export const sizes = { small: 200, full: 2000000 }
