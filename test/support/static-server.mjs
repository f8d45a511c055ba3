/** A host of static pages: it knows files, `index.html` of folders, and types by the ending. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'

/** @type {Record<string, string>} */
const types = {
  '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.mjs': 'text/javascript',
  '.svg': 'image/svg+xml'
}

/**
 * Serves a folder.
 *
 * @param {string} folder
 * @returns {Promise<{ address: string, missing: string[], close(): Promise<unknown> }>} `missing`: the paths of
 *   requests for files that do not exist
 */
export async function serveStatically(folder) {
  /** @type {string[]} */
  const missing = []
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    const path = `${decodeURIComponent(pathname)}${pathname.endsWith('/') ? 'index.html' : ''}`
    const text = await readFile(join(folder, path)).catch(() => null)
    if (text === null) missing.push(pathname)
    response.writeHead(text === null ? 404 : 200, { 'content-type': types[extname(path)] ?? 'text/plain' })
    response.end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    address: `http://127.0.0.1:${port}`,
    missing,
    close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      return closed
    }
  }
}
