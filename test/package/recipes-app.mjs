// Uses the recipes for Node, in a project into which they are pasted: see recipes.mjs.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { rt } from 'rt.mjs'
import { countWords } from './children.mjs'
import { parseArray, stringifyArray } from './json.mjs'
import { sorted } from './sort.mjs'
import { fetchRecords } from './stream.mjs'

process.env.PORT = '0'
const { server } = await import('./server.mjs')
if (!server.listening) await once(server, 'listening')
const other = createServer((request, response) => response.end(request.url === '/records' ? '{}\n{}\n' : 'one two three'))
await once(other.listen(0), 'listening')
const address = server => `http://127.0.0.1:${server.address().port}`

const list = await rt.spawn(sorted, {}, [3, 1, 2], (a, b) => a - b)
const text = await rt.spawn(stringifyArray, {}, await rt.spawn(parseArray, {}, '[1, {"a": [2]}]'))
const counts = await rt.spawn(countWords, {}, [`${address(other)}/a`, `${address(other)}/b`])
const records = await rt.spawn(fetchRecords, {}, `${address(other)}/records`, () => {})
const primes = await fetch(`${address(server)}/?limit=100`).then(response => response.text())
console.log(JSON.stringify({ list, text, counts, records, primes }))
server.close()
other.close()
server.closeAllConnections()
other.closeAllConnections()
