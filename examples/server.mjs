#!/usr/bin/env node
import { createReadStream } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { openChat } from './chat/server.mjs'
import { isReadable, readPage } from './site/read.mjs'

const repository = fileURLToPath(new URL('..', import.meta.url))

/** The front page, to which the root of the repository leads. */
const FRONT = 'examples/index.html'

const types = {
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp'
}

// Only a cross-origin isolated page gets SharedArrayBuffer, and a clock finer than 0.1 ms (Chromium) or 1 ms
// (Firefox).
const isolation = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp'
}

/**
 * Serves the files below `root`. Resolves when the server is listening.
 *
 * @param {object} [options]
 * @param {string} [options.root] directory to serve; default: the repository
 * @param {string} [options.host] address to listen on; by default only this machine can connect
 * @param {number} [options.port] first port to try; if it is in use, the next free one is used; 0 means any
 *   free port
 * @param {boolean} [options.isolated] whether pages are cross-origin isolated
 * @param {import('node:http').RequestListener} [options.handle] called first for every request; returns true
 *   if it answers the request itself
 * @returns {Promise<{ address: string, port: number, close(): Promise<void> }>}
 */
export async function serve({
  root = repository, host = '127.0.0.1', port = 8000, isolated = true, handle = () => false
} = {}) {
  const top = await realpath(root)
  const everywhere = host === '0.0.0.0' || host === '::'
  const shown = everywhere ? 'localhost' : bracketed(host)
  const headers = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff', ...(isolated ? isolation : {}) }
  const server = createServer((request, response) => {
    for (const name in headers) response.setHeader(name, headers[name])
    if (!isOwnHost(request, shown)) end(response, 421)
    else if (!handle(request, response)) answer(top, request, response).catch(() => end(response, 500))
  })
  const chat = openChat()
  server.on('upgrade', (request, socket, head) => {
    if (isOwnHost(request, shown)) return chat.upgrade(request, socket, head)
    socket.on('error', () => socket.destroy())
    socket.end('HTTP/1.1 421 Misdirected Request\r\nconnection: close\r\n\r\n')
  })
  const taken = await listen(server, host, port)
  return {
    address: `http://${shown}:${taken}`,
    port: taken,
    close() {
      chat.close()
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    }
  }
}

const bracketed = address => address.includes(':') ? `[${address}]` : address

/**
 * Whether the Host header names this server: a loopback name, the printed address, or the address of the
 * connection. A foreign page that points its own name at this server (DNS rebinding) sends that name instead.
 */
function isOwnHost({ headers, socket }, shown) {
  const name = headers.host?.toLowerCase().replace(/:\d*$/, '')
  const address = bracketed((socket.localAddress ?? '').replace(/^::ffff:/, ''))
  return ['localhost', '127.0.0.1', '[::1]', shown.toLowerCase(), address].includes(name)
}

async function answer(top, request, response) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    return end(response, 405)
  }
  const path = decode(request.url)
  if (path === undefined) return end(response, 400)
  if (path === '/favicon.ico') return end(response, 204)
  const names = path.split('/').filter(Boolean)
  // Never serve hidden files. This rule also rejects `..`.
  if (names.some(name => name.startsWith('.'))) return end(response, 404)

  if (names[0] === 'read') return answerPage(top, path, names.slice(1), response)

  let file = await inside(top, join(top, ...placed(names)))
  if (file?.stats.isDirectory()) {
    if (!path.endsWith('/')) return redirectToFolder(names, response)
    if (path === '/' && await inside(top, join(top, FRONT))) {
      response.setHeader('location', `/${FRONT}`)
      return end(response, 302)
    }
    file = await inside(top, join(file.name, 'index.html'))
  } else if (path.endsWith('/')) return end(response, 404)
  if (!file?.stats.isFile()) return end(response, 404)

  const extension = extname(file.name).toLowerCase()
  response.setHeader('content-type', types[extension] ?? 'application/octet-stream')
  // Firefox and WebKit workers treat every import as JavaScript and would reject JSON modules under
  // `nosniff`.
  if (extension === '.json') response.removeHeader('x-content-type-options')
  response.setHeader('content-length', file.stats.size)
  if (request.method === 'HEAD') return response.end()
  pipeline(createReadStream(file.name), response, () => {})
}

/**
 * Answers with the page of a text file: see site/read.mjs.
 *
 * @param {string} top @param {string} path @param {string[]} names the path of the file
 * @param {import('node:http').ServerResponse} response
 */
async function answerPage(top, path, names, response) {
  const file = await inside(top, join(top, ...names))
  if (!file?.stats.isFile() || !isReadable(file.name)) return end(response, 404)
  if (!path.endsWith('/')) return redirectToFolder(['read', ...names], response)
  const page = readPage(names.join('/'), await readFile(file.name, 'utf8'))
  response.setHeader('content-type', types['.html'])
  response.end(page)
}

/** Redirects to the same path with a slash, because links of the page are relative to the folder. */
function redirectToFolder(names, response) {
  response.setHeader('location', `/${names.map(encodeURIComponent).join('/')}/`)
  return end(response, 301)
}

/**
 * Maps examples/packages to the packages that `npm --prefix examples/packages install` installs there.
 *
 * @param {string[]} names
 */
function placed(names) {
  const isPackage = names[0] === 'examples' && names[1] === 'packages'
  return isPackage ? ['examples', 'packages', 'node_modules', ...names.slice(2)] : names
}

function decode(url) {
  try {
    const path = decodeURIComponent(url.split(/[?#]/, 1)[0])
    return path.startsWith('/') && !/[\0\\]/.test(path) ? path : undefined
  } catch {
    return undefined
  }
}

// Resolves links first, so that no link can lead outside or to a hidden file.
async function inside(top, name) {
  try {
    const real = await realpath(name)
    if (real !== top && !real.startsWith(top.endsWith(sep) ? top : top + sep)) return undefined
    if (relative(top, real).split(sep).some(name => name.startsWith('.'))) return undefined
    return { name: real, stats: await stat(real) }
  } catch {
    return undefined
  }
}

function end(response, status) {
  if (response.headersSent) return response.destroy()
  response.statusCode = status
  response.removeHeader('content-length')
  if (status < 400) return response.end()
  response.setHeader('content-type', types['.txt'])
  response.end(`${status}\n`)
}

function listen(server, host, port) {
  return new Promise((resolve, reject) => {
    server.once('listening', () => resolve(server.address().port))
    server.on('error', error => {
      if (error.code !== 'EADDRINUSE' || port === 0 || port >= 65535) return reject(error)
      server.listen(++port, host)
    })
    server.listen(port, host)
  })
}

async function main() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: process.env.PORT ?? '8000' },
      host: { type: 'string', default: '127.0.0.1' },
      'no-isolation': { type: 'boolean', default: false }
    }
  })
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new RangeError(`port must be an integer from 0 to 65535, got ${values.port}`)
  }
  const { address } = await serve({ host: values.host, port, isolated: !values['no-isolation'] })
  console.log(`${address}/`)
}

if (process.argv[1] && import.meta.url === pathToFileURL(await realpath(process.argv[1])).href) {
  main().catch(error => {
    console.error(error.message)
    process.exitCode = 1
  })
}
