import pako from 'pako'
import { digest, outcome, prose } from './inputs.mjs'

export const sizes = { small: 20, full: 30000 }

export function main(size) {
  const text = prose(size)
  const bytes = new TextEncoder().encode(text)
  const sizes = [1, 6, 9].map(level => {
    const packed = pako.deflate(bytes, { level })
    return [packed.length, pako.inflate(packed, { to: 'string' }) === text]
  })
  const chunks = []
  const inflate = new pako.Inflate({ chunkSize: 1000 })
  inflate.onData = chunk => {
    chunks.push(chunk.length)
  }
  inflate.push(pako.gzip(bytes), true)
  return [
    sizes,
    chunks.length,
    inflate.err,
    digest(Array.from(pako.deflateRaw(bytes).subarray(0, 300))),
    outcome(() => pako.inflate(new Uint8Array([1, 2, 3, 4]))),
    pako.ungzip(pako.gzip('x'), { to: 'string' })
  ]
}
