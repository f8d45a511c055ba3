import LZString from 'lz-string'
import { digest, prose } from './inputs.mjs'

export const sizes = { small: 15, full: 16000 }

export function main(size) {
  const text = prose(size)
  return ['', 'ToBase64', 'ToEncodedURIComponent', 'ToUTF16'].map(kind => {
    const packed = LZString[`compress${kind}`](text)
    return [kind, digest(packed), LZString[`decompress${kind.replace('To', 'From')}`](packed) === text]
  })
}
