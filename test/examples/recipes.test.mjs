/** The recipes for Node and for any place, as a user imports them: by the name of the package. */
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { rt } from 'rt.mjs'
import { countWords } from '../../examples/recipes/children.mjs'
import { parseArray, stringifyArray } from '../../examples/recipes/json.mjs'
import { sorted } from '../../examples/recipes/sort.mjs'
import { fetchRecords } from '../../examples/recipes/stream.mjs'

const folder = new URL('../../examples/recipes/', import.meta.url)
const read = name => readFileSync(new URL(name, folder), 'utf8')
/** Modules that a page imports belong to the recipe of this page. */
const isPart = name => name.endsWith('.mjs') && existsSync(new URL(name.replace(/mjs$/, 'html'), folder))
const recipes = readdirSync(folder).filter(name => /\.(?:html|m?js)$/.test(name))
  .filter(name => !isPart(name))

const list = suite('examples/recipes')

list('the list links to each recipe once', () => {
  const links = [...read('README.md').matchAll(/^- \[(.+)\]\(\1\): /gm)].map(([, name]) => name)
  assert.equal(links.sort(), recipes)
})

list('each recipe starts with the situation and the result, in two sentences', () => {
  for (const name of recipes) {
    const [comment] = read(name).replace(/^<!doctype html>\n/, '').match(/^(?:<!--[^]*?-->|(?:\/\/ .*\n)+)/) ?? ['']
    const [sentences] = comment.replace(/^<!--|-->$|\n?\/\/ /g, ' ').split(/\n\/\/\n/)
    assert.is(sentences.match(/[.](?=\s|$)/g)?.length, 2, name)
    assert.match(sentences, /\. Here /, name)
  }
})

list('each recipe has at most 80 lines', () => {
  for (const name of recipes) assert.ok(read(name).split('\n').length <= 80, name)
})

list.run()

/** Serves requests while `use` runs. */
async function serving(listener, use) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await use(`http://127.0.0.1:${server.address().port}/`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
const failureOf = job => job.then(() => null, error => error)

const sorts = suite('examples/recipes/sort')

sorts('sorted and Array.sort return equal arrays, with equal elements in their order', async () => {
  const compare = (a, b) => a.key - b.key
  for (const length of [0, 1, 2, 3, 7, 64, 1000]) {
    const items = Array.from({ length }, (_, id) => ({ id, key: id * 7919 % 31 }))
    const copy = [...items]
    assert.equal(await rt.spawn(sorted, {}, items, compare), [...items].sort(compare))
    assert.equal(items, copy)
  }
})

sorts('sorted can be preempted between two comparisons', () => {
  let comparisons = 0
  const job = sorted([3, 1, 2], (a, b) => (comparisons++, a - b))
  let step = job.next()
  while (!step.done) step = job.next()
  assert.equal(step.value, [1, 2, 3])
  assert.is(comparisons, 3)
})

sorts.run()

const json = suite('examples/recipes/json')

const TEXTS = [
  '[]', ' [ ] \n', '[1]', '[1, [2, [3]], {"a": [4, {"b": 5}]}]', '["a,]}\\"[", "\\\\", "\\u005d"]',
  '[null, true, -1.5e3, "", {}, []]\n'
]

json('parseArray and JSON.parse return equal arrays', async () => {
  for (const text of TEXTS) assert.equal(await rt.spawn(parseArray, {}, text), JSON.parse(text))
})

json('parseArray rejects each text that JSON.parse rejects', async () => {
  const texts = [
    '', '[', '[1', '[1}', '[1,]', '[,]', '[,1]', '[1 2]', '[1] 2', '[1]]', '["a]', '[{]}', '[{"a":1]', '1 [2]',
    '[tru]', '[[1,]]', '["\\x"]'
  ]
  for (const text of texts) {
    assert.throws(() => JSON.parse(text), undefined, text)
    assert.instance(await failureOf(rt.spawn(parseArray, {}, text)), SyntaxError, text)
  }
  assert.instance(await failureOf(rt.spawn(parseArray, {}, '{"a": [1]}')), SyntaxError)
})

json('stringifyArray and JSON.stringify return equal texts', async () => {
  for (const elements of [[], [1], [undefined, () => {}, { a: [1, 'b"'] }, null, new Date(0)]]) {
    assert.is(await rt.spawn(stringifyArray, {}, elements), JSON.stringify(elements))
  }
})

json.run()

const streams = suite('examples/recipes/stream')

streams('fetchRecords parses records whose lines and characters are split', async () => {
  const bytes = Buffer.from('{"name":"Bjørn"}\n\n{"name":"Zoë"}\r\n{"name":"last"}')
  const found = []
  const count = await serving(async (request, response) => {
    for (const byte of bytes) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  }, url => rt.spawn(fetchRecords, {}, url, record => found.push(record.name)))
  assert.is(count, 3)
  assert.equal(found, ['Bjørn', 'Zoë', 'last'])
})

streams('cancelling fetchRecords ends the request', async () => {
  const ended = await serving((request, response) => response.write('{}\n'), async url => {
    const job = rt.spawn(fetchRecords, {}, url, () => job.cancel())
    return failureOf(job)
  })
  assert.is(ended.name, 'AbortError')
})

streams('fetchRecords fails if the server reports an error', async () => {
  const error = await serving((request, response) => response.writeHead(404).end(),
    url => failureOf(rt.spawn(fetchRecords, {}, url, () => {})))
  assert.match(error.message, /status 404/)
})

streams.run()

const children = suite('examples/recipes/children')

children('countWords returns the number of words of each text', async () => {
  const counts = await serving((request, response) => response.end(request.url === '/a' ? 'one two' : 'three'),
    url => rt.spawn(countWords, {}, [`${url}a`, `${url}b`]))
  assert.equal(counts, [2, 1])
})

children('cancelling the parent cancels each child and its request', async () => {
  let parent
  const closed = []
  const listener = (request, response) => {
    closed.push(once(response, 'close'))
    if (closed.length === 2) parent.cancel()
  }
  const states = []
  const stop = rt.observe(({ type, job }) => { if (type === 'cancel') states.push(job.name) })
  await serving(listener, async url => {
    parent = rt.spawn(countWords, {}, [`${url}a`, `${url}b`])
    assert.is((await failureOf(parent)).name, 'AbortError')
    await rt.idle()
    await Promise.all(closed)
  })
  stop()
  assert.equal(states.sort(), ['countWords', 'countWordsOf', 'countWordsOf'])
})

children('a child that fails cancels the other children', async () => {
  const requests = []
  let closed
  const listener = (request, response) => {
    requests.push(request)
    if (request.url === '/b') closed = once(response, 'close')
    if (requests.length === 2) requests.find(({ url }) => url === '/a').socket.destroy()
  }
  await serving(listener, async url => {
    const parent = rt.spawn(countWords, {}, [`${url}a`, `${url}b`])
    assert.is((await failureOf(parent)).name, 'TypeError')
    await rt.idle()
    await closed
  })
})

children.run()

const servers = suite('examples/recipes/server')

servers.before(async context => {
  process.env.PORT = '0'
  context.server = (await import('../../examples/recipes/server.mjs')).server
  if (!context.server.listening) await once(context.server, 'listening')
  context.url = `http://127.0.0.1:${context.server.address().port}/?limit=`
})
servers.after(({ server }) => {
  server.closeAllConnections()
  server.close()
})

servers('a request gets its answer', async ({ url }) => {
  const response = await fetch(`${url}100`)
  assert.is(await response.text(), '25\n')
})

servers('a short request overtakes a long request, which misses its deadline', async ({ url }) => {
  const order = []
  const long = fetch(`${url}1e12`).then(({ status }) => { order.push('long'); return status })
  const short = fetch(`${url}1000`).then(response => { order.push('short'); return response.text() })
  assert.is(await short, '168\n')
  assert.is(await long, 503)
  assert.equal(order, ['short', 'long'])
})

servers('a closed connection cancels the job of its request', async ({ url }) => {
  const cancelled = new Promise(resolve => {
    const stop = rt.observe(({ type, job }) => {
      if (type === 'start') request.destroy()
      if (type !== 'cancel') return
      stop()
      resolve(job.state)
    })
  })
  const request = get(`${url}1e12`)
  request.on('error', () => {})
  assert.is(await cancelled, 'cancelled')
})

servers.run()
