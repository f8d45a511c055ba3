import JSZip from 'jszip'
import { digest, prose } from './inputs.mjs'

export const sizes = { small: 10, full: 80000 }
export const isAdopted = true

export async function main(size) {
  const zip = new JSZip()
  const date = new Date(Date.UTC(2020, 1, 1))
  zip.file('a.txt', prose(size), { date }).folder('b').file('c.txt', prose(10), { date })
  const progress = []
  const bytes = await zip.generateAsync({ type: 'uint8array', compression: 'DEFLATE' }, ({ percent }) => {
    progress.push(percent | 0)
  })
  const again = await JSZip.loadAsync(bytes)
  const names = []
  again.forEach(path => {
    names.push(path)
  })
  const wrong = await JSZip.loadAsync(new Uint8Array(9)).catch(error => error.message)
  return [
    bytes.length > 100,
    names,
    digest(await again.file('a.txt').async('string')),
    (await again.file('b/c.txt').async('uint8array')).length,
    again.filter(path => path.endsWith('.txt')).length,
    progress.at(-1),
    wrong
  ]
}
