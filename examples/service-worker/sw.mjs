// Rewrites scripts as a page fetches them, so that they can be preempted: no build, no eval, no blob, and `script-src 'self'`
// is enough. Copy this file to the top of a site, change the addresses of the two addons, and register it from a module of
// the page, which imports addons/preemptify/runtime.mjs from the same address:
//
//   await navigator.serviceWorker.register('/sw.mjs?match=/vendor/', { type: 'module' })
//
// `match` is a regular expression: a script is rewritten if it is found in its address; by default if it is not from here, or
// below a directory of packages. An address with `?plain` is left alone. What is not there below /packages/ comes from `cdn`, if
// there is one in the address.
import { isModule, isOwnModule, preemptify } from '../../addons/preemptify.mjs'

/** The run-time support, which is all that rewritten scripts need. */
const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
const { searchParams, origin } = new URL(self.location.href)
const match = searchParams.get('match')
const wanted = match === null ? undefined : new RegExp(match)
const cdn = searchParams.get('cdn')
const STORE = 'preemptified'

// A page goes on with the scripts it has begun with: a new version waits until no page is left (so no skipWaiting), and then
// what the old one has rewritten is of no use.
self.addEventListener('activate', event => event.waitUntil(caches.delete(STORE).then(() => self.clients.claim())))

// A page that has been loaded before, or past the worker (reloaded with Shift), asks to be taken over.
self.addEventListener('message', event => {
  if (event.data === 'claim') event.waitUntil(self.clients.claim())
})

self.addEventListener('fetch', event => {
  const { request } = event
  const { url, destination } = request
  if (destination !== 'script' && destination !== 'worker') return
  if (isWanted(request)) event.respondWith(rewritten(event))
  else if (inPackages(url) !== undefined) event.respondWith(fetched(request))
})

/** What is below /packages/. @param {string} url @returns {string | undefined} */
const inPackages = url => cdn === null ? undefined : /\/packages\/([^?#]+)/.exec(url)?.[1]

/** @param {Request} request */
function isWanted({ url, integrity }) {
  // What was rewritten has another hash: who wants it intact gets it as it is.
  if (integrity !== '') return false
  const address = new URL(url)
  if (isOwnModule(address.href) || address.searchParams.has('plain')) return false
  return wanted ? wanted.test(url) : address.origin !== origin || /\/(?:node_modules|packages|vendor)\//.test(address.pathname)
}

/** @param {any} event of a fetch */
async function rewritten(event) {
  const response = await fetched(event.request)
  const { ok, status, redirected, headers } = response
  const isScript = /^(?:text|application)\/(?:x-)?(?:java|ecma)script\b/.test(headers.get('content-type') ?? '')
  // The address after a redirection, which its imports are relative to, would be lost.
  if (!ok || status === 206 || redirected || !isScript) return response
  const original = response.clone()
  try {
    const text = await stored(event, await response.text())
    const given = new Headers(headers)
    for (const name of ['content-length', 'content-encoding', 'etag', 'last-modified']) given.delete(name)
    given.set('content-type', 'text/javascript; charset=utf-8')
    return new Response(text, { headers: given })
  } catch (error) {
    console.warn(`${event.request.url} stays as it is: ${error.message}`)
    return original
  }
}

/**
 * A script of another origin that a page includes without `crossorigin` is opaque; if its origin allows, it can be read.
 *
 * @param {Request} request @returns {Promise<Response>}
 */
async function fetched(request) {
  const { url, mode, referrer } = request
  const name = inPackages(url)
  if (name !== undefined) {
    const here = await fetch(url)
    if (here.ok) return here
    const { ok, body, headers } = await fetch(cdn + name)
    return ok ? new Response(body, { headers: { 'content-type': headers.get('content-type') } }) : here
  }
  if (mode === 'no-cors' && new URL(url).origin !== origin) {
    try {
      return await fetch(url, { mode: 'cors', credentials: 'omit', referrer })
    } catch {
      // Its origin does not: it stays opaque.
    }
  }
  return fetch(request)
}

/** The rewritten text, kept by what it was made of. @param {any} event @param {string} text @returns {Promise<string>} */
async function stored(event, text) {
  const { url, mode } = event.request
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${mode} ${url}\n${text}`))
  const hash = Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, '0')).join('')
  const key = new URL(`/${STORE}/${hash}`, origin).href
  const store = await caches.open(STORE)
  const found = await store.match(key)
  if (found) return found.text()
  const made = rewrite(text, url, mode)
  event.waitUntil(store.put(key, new Response(made)).catch(() => {})) // the quota may be used up
  return made
}

/**
 * Classic scripts are fetched without CORS, modules with; but so are classic scripts with `crossorigin`. One that has nothing
 * of a module is rewritten as a script: that is right for both.
 *
 * @param {string} text @param {string} url @param {RequestMode} mode
 */
function rewrite(text, url, mode) {
  const type = mode === 'no-cors' || !isModule(text) ? 'script' : 'module'
  return preemptify.source(text, { type, runtime, url })
}
