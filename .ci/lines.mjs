// Checks that no line of the modules has more than 110 characters.
import { readFileSync, readdirSync } from 'node:fs'

const MAX = 110
const root = new URL('../', import.meta.url)
const addons = readdirSync(new URL('addons', root), { recursive: true })
  .filter(name => name.endsWith('.mjs')).map(name => `addons/${name.replaceAll('\\', '/')}`)

for (const file of ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...addons.sort()]) {
  readFileSync(new URL(file, root), 'utf8').split('\n').forEach((line, i) => {
    if (line.length <= MAX) return
    console.log(`${file}:${i + 1} has ${line.length} characters, more than ${MAX}`)
    process.exitCode = 1
  })
}
