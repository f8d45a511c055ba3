import { gunzipSync, gzipSync, strToU8, unzipSync, zipSync, zlibSync } from 'fflate'
import { prose } from '../workloads/inputs.mjs'

export const inputs = (name, which) => prose(20, which + 1)

export const calls = {
  gzip: text => String.fromCharCode(...gunzipSync(gzipSync(strToU8(text), { mtime: 1 }))),
  zlib: text => zlibSync(strToU8(text), { level: 9 }).length,
  zip: text => Object.keys(unzipSync(zipSync({ 'a.txt': strToU8(text) }, { mtime: '2020-01-01' }))),
  bytes: text => strToU8(text).length
}
