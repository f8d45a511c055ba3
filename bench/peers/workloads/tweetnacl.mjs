import nacl from 'tweetnacl'
import { outcome } from './inputs.mjs'

export const sizes = { small: 0, full: 12 }

const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

export function main(size) {
  const seed = new Uint8Array(32).fill(7)
  const results = [
    hex(nacl.hash(new Uint8Array(200 + size * 1000))),
    hex(nacl.secretbox(new Uint8Array(100), new Uint8Array(24), seed))
  ]
  for (let i = 0; i < size; i++) {
    const keys = nacl.sign.keyPair.fromSeed(seed.map(byte => byte + i))
    const signature = nacl.sign.detached(new Uint8Array([i]), keys.secretKey)
    results.push(hex(signature), nacl.sign.detached.verify(new Uint8Array([i]), signature, keys.publicKey))
  }
  return [results, outcome(() => nacl.secretbox('x'))]
}
