// Checks that no line of the modules has more than 110 characters.
//
// long-lines.json has the present number of longer lines per file. A number may only shrink: this script fails if a file has
// more, and `node .ci/lines.mjs --lower` writes the numbers after lines were shortened.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'

const MAX = 110
const list = new URL('long-lines.json', import.meta.url)
const root = new URL('../', import.meta.url)
const files = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...readdirSync(new URL('addons', root), { recursive: true })
  .filter(name => name.endsWith('.mjs')).map(name => `addons/${name.replaceAll('\\', '/')}`)].sort()
const allowed = JSON.parse(readFileSync(list, 'utf8'))
const isLower = process.argv.includes('--lower')

/** @type {Record<string, number>} */
const found = {}
for (const file of files) {
  const lines = readFileSync(new URL(file, root), 'utf8').split('\n')
  const long = lines.map((line, i) => [i + 1, line.length]).filter(([, length]) => length > MAX)
  if (long.length > 0) found[file] = long.length
  if (long.length > (allowed[file] ?? 0)) {
    console.log(`${file}: ${long.length} lines have more than ${MAX} characters, ${allowed[file] ?? 0} are allowed`)
    for (const [line, length] of long.slice(0, isLower ? 0 : 20)) console.log(`  ${file}:${line} ${length}`)
    process.exitCode = 1
  }
}
const stale = Object.keys(allowed).filter(file => (found[file] ?? 0) < allowed[file])
if (isLower && !process.exitCode) writeFileSync(list, `${JSON.stringify(found, null, 2)}\n`)
else if (stale.length > 0) {
  console.log(`these have fewer long lines than long-lines.json says: ${stale.join(', ')}; run node .ci/lines.mjs --lower`)
  process.exitCode = 1
}
const total = Object.values(found).reduce((sum, count) => sum + count, 0)
console.log(`${total} lines of the modules have more than ${MAX} characters`)
