import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { path as socketPath } from '../../examples/chat/server.mjs'
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
  await symlink(join(directory, 'secret.txt'), join(root, 'way-out.txt'))
  await symlink(join(root, '.hidden'), join(root, 'to-hidden.txt'))
  Object.assign(context, { directory, server: await serve({ root, port: 0 }), root })
})

test.after(async ({ server, directory }) => {
  await server.close()
  await rm(directory, { recursive: true })
})

// fetch() would tidy up the path before it sends it.
const get = (port, path, method = 'GET', headers = {}) => new Promise((resolve, reject) => {
  request({ host: '127.0.0.1', port, path, method, headers }, async response => {
    let body = ''
    for await (const part of response) body += part
    resolve({ status: response.statusCode, headers: response.headers, body })
  }).on('error', reject).end()
})

test('serves modules as JavaScript', async ({ server }) => {
  const { status, headers, body } = await get(server.port, '/a%20b.mjs?query')
  assert.is(status, 200)
  assert.is(headers['content-type'], 'text/javascript; charset=utf-8')
  assert.is(body, 'export {}')
})

test('serves index.html for a directory, redirects to its slash', async ({ server }) => {
  assert.is((await get(server.port, '/page/')).body, '<p>page')
  const { status, headers } = await get(server.port, '/page')
  assert.is(status, 301)
  assert.is(headers.location, '/page/')
  assert.is((await get(server.port, '//page')).headers.location, '/page/')
  assert.is((await get(server.port, '/empty/')).status, 404)
})

test('isolates pages by default only', async ({ server, root }) => {
  const { headers } = await get(server.port, '/page/')
  assert.is(headers['cross-origin-opener-policy'], 'same-origin')
  assert.is(headers['cross-origin-embedder-policy'], 'require-corp')
  const plain = await serve({ root, port: 0, isolated: false })
  assert.not.ok('cross-origin-embedder-policy' in (await get(plain.port, '/page/')).headers)
  await plain.close()
})

test('leads nowhere outside', async ({ server }) => {
  const paths = ['/../secret.txt', '/%2e%2e/secret.txt', '/page/..%2f..%2fsecret.txt', '/..%5csecret.txt',
    '/../root-beside/secret.txt', '/way-out.txt', '/to-hidden.txt', '/.hidden', '/%00', '/%', '//etc/passwd', '/missing']
  for (const path of paths) {
    const { status, body } = await get(server.port, path)
    assert.ok(status === 404 || status === 400, `${path}: ${status}`)
    assert.not.match(body, /secret|hidden/)
  }
})

test('answers HEAD without a body and refuses what would write', async ({ server }) => {
  const head = await get(server.port, '/page/', 'HEAD')
  assert.is(head.headers['content-length'], '7')
  assert.is(head.body, '')
  assert.is((await get(server.port, '/page/', 'POST')).status, 405)
})

test('takes the next port when one is taken', async ({ server, root }) => {
  const other = await serve({ root, port: server.port })
  assert.ok(other.port > server.port)
  assert.is((await get(other.port, '/page/')).status, 200)
  await other.close()
})

test('hands every request to its handler first', async ({ root }) => {
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

test('every answer forbids the browser to guess content types', async ({ server }) => {
  for (const path of ['/page/', '/missing']) {
    assert.is((await get(server.port, path)).headers['x-content-type-options'], 'nosniff')
  }
})

const upgrade = {
  connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ=='
}

test.run()
