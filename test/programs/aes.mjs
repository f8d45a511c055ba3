// The complete AES of the corpus: a module that calls a function exported by another module.
import aes from '../corpus/aes.mjs'

export function main(size) {
  return Array.from(aes.fn(...aes.inputs(size)))
}

export const sizes = { small: 64, full: 400000 }
