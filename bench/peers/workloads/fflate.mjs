import {
  decompressSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
  strFromU8,
  strToU8,
  unzipSync,
  zipSync,
  zlibSync,
  unzlibSync,
  Inflate
} from 'fflate'
import { digest, outcome, prose } from './inputs.mjs'

export const sizes = { small: 30, full: 60000 }

export function main(size) {
  const text = prose(size)
  const bytes = strToU8(text)
  const sizes = []
  for (const level of [1, 6, 9]) {
    const packed = deflateSync(bytes, { level })
    sizes.push(packed.length, strFromU8(inflateSync(packed)) === text)
  }
  const zip = zipSync(
    { 'a.txt': bytes, dir: { 'b.txt': [bytes.subarray(0, 100), { level: 0 }] } },
    { mtime: new Date(2020, 1, 1) }
  )
  const parts = []
  const stream = new Inflate((chunk, final) => {
    parts.push(chunk.length, final)
  })
  stream.push(deflateSync(bytes.subarray(0, 5000)), true)
  return [
    sizes,
    Object.keys(unzipSync(zip, { filter: file => file.name.endsWith('.txt') })),
    digest(Array.from(zip.subarray(0, 500))),
    digest(strFromU8(gunzipSync(gzipSync(bytes, { mtime: 0 })))),
    decompressSync(zlibSync(bytes)).length,
    unzlibSync(zlibSync(bytes)).length,
    parts,
    outcome(() => inflateSync(new Uint8Array([7, 7, 7]))),
    outcome(() => unzipSync(new Uint8Array(3)))
  ]
}
