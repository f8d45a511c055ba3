import { createReadStream } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { serve } from '../../examples/server.mjs'
import { within } from './process.mjs'

/**
 * Starts servers for this repository. The pages of `isolated` are cross-origin isolated, all pages can post
 * results, and the modules of `cdn` can be imported from any origin. A request with `?policy=` gets that
 * Content-Security-Policy.
 *
 * @returns {Promise<{
 *   isolated: string, plain: string, cdn: string,
 *   expect(ms: number): { report: string, results: Promise<any> },
 *   close(): Promise<unknown>
 * }>} addresses, and a function `expect` that returns a path and a promise of the results that are posted to
 * this
 *   path within `ms` ms
 */
export async function serveTests() {
  let last = 0
  const waiting = new Map()
  const handle = (request, response) => {
    const policy = new URL(request.url, 'http://localhost').searchParams.get('policy')
    if (policy) response.setHeader('content-security-policy', policy)
    if (request.headers['service-worker']) response.setHeader('service-worker-allowed', '/')
    if (isWebKitsPage(request)) {
      withProblems(request, response)
      return true
    }
    // The module loader resolves the package, because its folder can be a link to another directory, which
    // the server does not follow.
    if (request.url === '/packages/tinybench') {
      response.setHeader('content-type', 'text/javascript')
      createReadStream(fileURLToPath(import.meta.resolve('tinybench'))).pipe(response)
      return true
    }
    if (request.method !== 'POST' || !request.url.startsWith('/results/')) return false
    let body = ''
    request.setEncoding('utf8')
    request.on('data', part => { body += part })
    request.on('end', () => {
      response.statusCode = 204
      response.end()
      waiting.get(request.url)?.(JSON.parse(body))
      waiting.delete(request.url)
    })
    return true
  }
  const open = (_, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('cross-origin-resource-policy', 'cross-origin')
    return false
  }
  const servers = await Promise.all([[true, handle], [false, handle], [false, open]].map(([isolated, handle]) => serve({ port: 0, isolated, handle })))
  return {
    isolated: servers[0].address,
    plain: servers[1].address,
    cdn: servers[2].address,
    expect(ms) {
      const report = `/results/${++last}`
      const posted = new Promise(resolve => waiting.set(report, resolve))
      return { report, results: within(posted, ms, 'the page\'s results') }
    },
    close: () => Promise.all(servers.map(server => server.close()))
  }
}

const isWebKitsPage = ({ headers }) => headers['sec-fetch-dest'] === 'document' &&
  /AppleWebKit/.test(headers['user-agent']) && !/Chrome/.test(headers['user-agent'])

/** Answers a request with its page, in which problems.js precedes all scripts. */
async function withProblems({ url, headers }, response) {
  const answer = await fetch(`http://${headers.host}${url}`)
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
  response.end(`<!doctype html><script src="/test/browser/problems.js"></script>${await answer.text()}`)
}
