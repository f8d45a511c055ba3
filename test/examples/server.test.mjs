import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { path as socketPath } from '../../examples/chat/server.mjs'
import { acceptWebSocket } from '../../examples/chat/web-socket.mjs'
import { serve } from '../../examples/server.mjs'

const test = suite('examples/server')

test.before(async context => {
  const directory = await mkdtemp(join(tmpdir(), 'rt-server-'))
  const root = join(directory, 'root')
  await mkdir(join(root, 'page'), { recursive: true })
  await mkdir(join(root, 'empty'))
  await mkdir(join(directory, 'root-beside'))
  await writeFile(join(directory, 'secret.txt'), 'secret')
  await writeFile(join(directory, 'root-beside', 'secret.txt'), 'secret')
  await writeFile(join(root, '.hidden'), 'hidden')
  await writeFile(join(root, 'a b.mjs'), 'export {}')
  await writeFile(join(root, 'page', 'index.html'), '<p>page')
  await writeFile(join(root, 'data.json'), '{}')
  await writeFile(join(root, 'page', 'text.md'), '# Title\n[data](../data.json)')
  await symlink(join(directory, 'secret.txt'), join(root, 'way-out.txt'))
  await symlink(join(root, '.hidden'), join(root, 'to-hidden.txt'))
  Object.assign(context, { directory, server: await serve({ root, port: 0 }), root })
})

test.after(async ({ server, directory }) => {
  await server.close()
  await rm(directory, { recursive: true })
})

// fetch() would normalize the path before it sends the request.
const get = (port, path, method = 'GET', headers = {}) => new Promise((resolve, reject) => {
  request({ host: '127.0.0.1', port, path, method, headers }, async response => {
    let body = ''
    for await (const part of response) body += part
    resolve({ status: response.statusCode, headers: response.headers, body })
  }).on('error', reject).end()
})

test('the server serves modules as JavaScript', async ({ server }) => {
  const { status, headers, body } = await get(server.port, '/a%20b.mjs?query')
  assert.is(status, 200)
  assert.is(headers['content-type'], 'text/javascript; charset=utf-8')
  assert.is(body, 'export {}')
})

test('the server serves index.html for a directory and redirects to its slash', async ({ server }) => {
  assert.is((await get(server.port, '/page/')).body, '<p>page')
  const { status, headers } = await get(server.port, '/page')
  assert.is(status, 301)
  assert.is(headers.location, '/page/')
  assert.is((await get(server.port, '//page')).headers.location, '/page/')
  assert.is((await get(server.port, '/empty/')).status, 404)
})

test('the server shows a text below /read/ as a page and redirects to its slash', async ({ server }) => {
  const { status, headers, body } = await get(server.port, '/read/page/text.md/')
  assert.is(status, 200)
  assert.is(headers['content-type'], 'text/html; charset=utf-8')
  assert.match(body, /<h1 id="title">Title<\/h1>\n<p><a href="\.\.\/\.\.\/\.\.\/read\/data\.json\/">data<\/a><\/p>/)
  assert.is((await get(server.port, '/read/page/text.md')).headers.location, '/read/page/text.md/')
  assert.is((await get(server.port, '/read/page/')).status, 404)
  assert.is((await get(server.port, '/read/way-out.txt/')).status, 404)
  assert.is((await get(server.port, '/read/page/text.md/', 'HEAD')).body, '')
})

test('the root of the repository leads to the front page, other roots to nothing', async ({ server }) => {
  assert.is((await get(server.port, '/')).status, 404)
  const repository = await serve({ port: 0 })
  const { status, headers } = await get(repository.port, '/')
  await repository.close()
  assert.is(status, 302)
  assert.is(headers.location, '/examples/index.html')
})

test('the server isolates pages unless isolated is false', async ({ server, root }) => {
  const { headers } = await get(server.port, '/page/')
  assert.is(headers['cross-origin-opener-policy'], 'same-origin')
  assert.is(headers['cross-origin-embedder-policy'], 'require-corp')
  const plain = await serve({ root, port: 0, isolated: false })
  assert.not.ok('cross-origin-embedder-policy' in (await get(plain.port, '/page/')).headers)
  await plain.close()
})

test('the server serves no file outside its root and no hidden file', async ({ server }) => {
  const paths = ['/../secret.txt', '/%2e%2e/secret.txt', '/page/..%2f..%2fsecret.txt', '/..%5csecret.txt',
    '/../root-beside/secret.txt', '/way-out.txt', '/to-hidden.txt', '/.hidden', '/%00', '/%', '//etc/passwd', '/missing',
    '/read/../secret.txt/', '/read/.hidden/', '/read/way-out.txt/', '/read/']
  for (const path of paths) {
    const { status, body } = await get(server.port, path)
    assert.ok(status === 404 || status === 400, `${path}: ${status}`)
    assert.not.match(body, /secret|hidden/)
  }
})

test('the server answers HEAD without a body and rejects POST', async ({ server }) => {
  const head = await get(server.port, '/page/', 'HEAD')
  assert.is(head.headers['content-length'], '7')
  assert.is(head.body, '')
  assert.is((await get(server.port, '/page/', 'POST')).status, 405)
})

test('the server uses the next port if its port is taken', async ({ server, root }) => {
  const other = await serve({ root, port: server.port })
  assert.ok(other.port > server.port)
  assert.is((await get(other.port, '/page/')).status, 200)
  await other.close()
})

test('the server passes every request to its handler first', async ({ root }) => {
  const handle = (request, response) => request.method === 'POST' && Boolean(response.end('mine'))
  const server = await serve({ root, port: 0, handle })
  assert.is((await get(server.port, '/anything', 'POST')).body, 'mine')
  assert.is((await get(server.port, '/page/')).body, '<p>page')
  await server.close()
})

test('the server answers only requests whose Host names the server', async ({ server }) => {
  const statusFor = async host => (await get(server.port, '/page/', 'GET', { host })).status
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:8000', '[::1]:8000']) {
    assert.is(await statusFor(host), 200, host)
  }
  for (const host of ['evil.example', 'evil.example:8000', 'localhost.evil.example', '192.0.2.1']) {
    assert.is(await statusFor(host), 421, host)
  }
})

test('the server refuses a WebSocket whose Host is a foreign name', async ({ server }) => {
  const headers = { ...upgrade, host: 'evil.example', origin: 'http://evil.example' }
  assert.is((await get(server.port, socketPath, 'GET', headers)).status, 421)
})

test('every answer but JSON forbids the browser to guess content types', async ({ server }) => {
  for (const [path, value] of [['/page/', 'nosniff'], ['/missing', 'nosniff'], ['/data.json', undefined]]) {
    assert.is((await get(server.port, path)).headers['x-content-type-options'], value)
  }
})

const upgrade = {
  connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ=='
}

/** Builds a frame of a client, masked with zeros. */
const frame = (opcode, payload = [], isLast = true) =>
  Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0, ...payload])

/**
 * Sends frames to a WebSocket. Resolves to its messages and close code. `reads` specifies whether the client
 * reads.
 */
async function exchange(bytes, { reads = true } = {}) {
  const server = createServer()
  const messages = []
  const closed = new Promise(resolve => server.on('upgrade', (request, socket, head) => {
    const connection = acceptWebSocket(request, socket, head)
    connection.on('message', message => messages.push(message))
    connection.on('close', resolve)
  }))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const client = request({ host: '127.0.0.1', port: server.address().port, headers: upgrade })
  client.on('upgrade', (response, socket) => {
    socket.on('error', () => {})
    if (reads) socket.resume().on('end', () => socket.end())
    socket.write(bytes)
  }).end()
  const code = await closed
  client.destroy()
  await new Promise(resolve => server.close(resolve))
  return { code, messages }
}

test('a WebSocket answers a forbidden close code with a protocol error', async () => {
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 2999, 5000]) {
    assert.is((await exchange(frame(8, [code >> 8, code & 255]))).code, 1002, String(code))
  }
  assert.is((await exchange(frame(8, [3]))).code, 1002)
  for (const code of [1000, 1003, 1007, 1014, 3000, 4999]) {
    assert.is((await exchange(frame(8, [code >> 8, code & 255]))).code, code)
  }
})

test('a WebSocket delivers no message that follows a close frame', async () => {
  const { messages } = await exchange(Buffer.concat([frame(1, [97]), frame(8), frame(1, [98])]))
  assert.equal(messages, ['a'])
})

test('a WebSocket closes when a message has too many empty fragments', async () => {
  const fragments = Array(2 ** 14).fill(frame(0, [], false))
  assert.is((await exchange(Buffer.concat([frame(1, [], false), ...fragments]))).code, 1009)
})

test('a WebSocket answers a burst of pings while its peer reads', async () => {
  const pings = Array(1000).fill(frame(9))
  assert.is((await exchange(Buffer.concat([...pings, frame(8)]))).code, 1000)
})

test('a WebSocket ends when its peer sends pings and reads no pongs', async () => {
  const pings = Buffer.concat(Array(100_000).fill(frame(9, Array(125).fill(0))))
  assert.is((await exchange(pings, { reads: false })).code, 1006)
})

test.run()
