// The corpus's AES, whole: a module that calls what another one exports.
import aes from '../corpus/aes.mjs'

export function main(size) {
  return Array.from(aes.fn(...aes.inputs(size)))
}

export const sizes = { small: 64, full: 400000 }
