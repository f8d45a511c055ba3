// Rewrites scripts as a page fetches them, so that their functions are preemptible. A page needs no build, no
// eval and no blobs for this: `script-src 'self'` is enough. Copy this file to the top of a site, change the
// addresses of the two addons, and register it from a module of the page, which imports
// addons/preemptify/runtime.mjs from the same address:
//
//   await navigator.serviceWorker.register('/sw.mjs?match=/vendor/', { type: 'module' })
//
// Parameters of the address:
// - `match`: a regular expression. A script of the page's own origin is rewritten if the expression is found
//   in its path; default: the scripts below node_modules, packages and vendor. A script of another origin is
//   rewritten if the expression matches the start of its address, for example
//   `match=https://cdn[.]example/lib/`. The page must fetch it with CORS:
//   `<script crossorigin>`, or `import`. A script whose address has `?plain` stays unchanged.
// - `exclusive`: `true` claims each package as a whole, `false` claims nothing, and a list such as
//   `marked,jshint` claims these packages as a whole.
// - `cdn`: the address of a list of files on the page's own origin. The worker fetches a listed file from its
//   `url`, checks the hash, and answers with the file as a script of the page's own origin. For example:
//
//     { "packages/x/index.js": { "url": "https://cdn.example/x@1.0.0/index.js", "integrity": "sha256-..." } }
//
//   Paths are relative to the list. `openssl dgst -sha256 -binary FILE | base64` prints the hash.
//
// Rewritten texts are kept in the CacheStorage of the origin. Any script of the origin can write there, and
// later pages run what it has written. So do not share the origin with code that you do not trust.
import { exclusiveRule, isModule, isOwnModule, preemptify, version } from '../../addons/preemptify.mjs'

/** The run-time support, which is all that rewritten scripts import. */
const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
const { searchParams, origin } = new URL(self.location.href)
const match = searchParams.get('match') ?? '/(?:node_modules|packages|vendor)/'
const ownPaths = new RegExp(match)
const otherAddresses = new RegExp(match, 'y')
const exclusive = exclusiveRule(searchParams.get('exclusive'))
const listAddress = addressOfList(searchParams.get('cdn'))
const STORE = 'preemptified'
/** Maximum number of rewritten texts in the store. A script can have another text at each visit. */
const MAX_TEXTS = 200

/** Settles when the texts of an old version are deleted. Texts that are stored earlier would be deleted too. */
let cleared = Promise.resolve(false)

// A page keeps the scripts that it has loaded. So a new version of the worker waits until no page is left
// (there is no skipWaiting), and drops the texts that the old version has rewritten.
self.addEventListener('activate', event => {
  cleared = caches.delete(STORE)
  event.waitUntil(cleared.then(() => self.clients.claim()))
})

// A page that was loaded before the worker, or past it (reloaded with Shift), asks the worker to control it.
self.addEventListener('message', event => {
  if (event.data === 'claim') event.waitUntil(cleared.then(() => self.clients.claim()))
})

self.addEventListener('fetch', event => {
  const { request } = event
  const { origin: from, pathname } = new URL(request.url)
  if (request.destination !== 'script' && request.destination !== 'worker') return
  const isListable = listAddress !== undefined && from === origin
  if (!isWanted(request)) {
    if (isListable) event.respondWith(fetched(request, pathname))
    return
  }
  event.respondWith(rewritten(event, isListable ? fetched(request, pathname) : fetch(request)))
})

/** @param {Request} request */
function isWanted({ url, integrity }) {
  // A rewritten text has another hash, so a script with a hash stays unchanged.
  if (integrity !== '') return false
  const address = new URL(url)
  if (isOwnModule(address.href) || address.searchParams.has('plain')) return false
  if (address.origin === origin) return ownPaths.test(address.pathname)
  otherAddresses.lastIndex = 0
  return otherAddresses.test(address.href)
}

/**
 * Returns the rewritten script, or the original if it cannot be rewritten.
 *
 * @param {any} event the event of the fetch @param {Promise<Response>} answer
 */
async function rewritten(event, answer) {
  const response = await answer
  const { ok, status, redirected, headers } = response
  const type = headers.get('content-type') ?? ''
  const isScript = /^(?:text|application)\/(?:x-)?(?:java|ecma)script\b/i.test(type)
  // A new response would lose the address after a redirection, which is the base of the imports.
  if (!ok || status === 206 || redirected || !isScript) return response
  const original = response.clone()
  try {
    const text = await stored(event, decoded(await response.arrayBuffer(), type))
    const given = new Headers(headers)
    for (const name of ['content-length', 'content-encoding', 'etag', 'last-modified']) given.delete(name)
    given.set('content-type', 'text/javascript; charset=utf-8')
    return new Response(text, { headers: given })
  } catch (error) {
    console.warn(`${event.request.url} stays unchanged: ${error.message}`)
    return original
  }
}

/**
 * Decodes a script in UTF-8. The element or the document can name the charset too, and the worker sees
 * neither of them: so texts that may have another charset are rejected.
 *
 * @param {ArrayBuffer} bytes @param {string} type the content type
 * @throws {TypeError | RangeError} if the charset is not UTF-8
 */
function decoded(bytes, type) {
  const [, charset] = /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(type) ?? []
  const decoder = new TextDecoder(charset ?? 'utf-8', { fatal: true })
  if (decoder.encoding !== 'utf-8') throw new TypeError(`its charset is ${charset}`)
  const text = decoder.decode(bytes)
  // ISO-2022-JP consists of ASCII characters, and changes its character sets by ESC.
  const isAmbiguous = charset === undefined && text.includes('\x1b')
  if (isAmbiguous) throw new TypeError('it contains ESC, and its charset is unknown')
  return text
}

// ------------------------------------------------------------------------------------------------- listed
// files

/** @param {string | null} given the parameter `cdn` */
function addressOfList(given) {
  if (given === null) return undefined
  const address = new URL(given, self.location.href)
  if (address.origin === origin) return address.href
  throw new TypeError(`cdn must be the address of a list of files on ${origin}, got ${given}`)
}

/** The listed files by path; undefined before the first use. @type {Promise<Map<string, any>> | undefined} */
let reading

/** Reads the list. A redirection is an error, because it could lead to another origin. */
async function readList() {
  const response = await fetch(listAddress, { mode: 'same-origin', redirect: 'error' })
  if (!response.ok) throw new TypeError(`${listAddress}: ${response.status}`)
  const files = Object.entries(await response.json())
  return new Map(files.map(([path, file]) => [new URL(path, listAddress).pathname, file]))
}

/**
 * Fetches a script of the page's own origin, or the listed file in its place.
 *
 * @param {Request} request @param {string} path
 */
async function fetched(request, path) {
  try {
    const file = (await (reading ??= readList())).get(path)
    if (file !== undefined) return await listed(file)
  } catch (error) {
    reading = undefined
    console.warn(`${request.url} does not come from the list: ${error.message}`)
  }
  return fetch(request)
}

/** @param {{ url: string, integrity: string }} file @throws {TypeError} if the text has another hash */
async function listed({ url, integrity }) {
  const response = await fetch(url, { mode: 'cors', credentials: 'omit', referrerPolicy: 'no-referrer' })
  if (!response.ok) throw new TypeError(`${url}: ${response.status}`)
  const bytes = await response.arrayBuffer()
  const hash = `sha256-${await digest(bytes)}`
  if (hash !== integrity) throw new TypeError(`${url} has the hash ${hash} instead of ${integrity}`)
  return new Response(bytes, { headers: { 'content-type': 'text/javascript; charset=utf-8' } })
}

// --------------------------------------------------------------------------------------------- rewritten
// texts

/** @param {BufferSource} bytes @returns {Promise<string>} the SHA-256 hash in base64 */
async function digest(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))))
}

/**
 * Returns the rewritten text, from the store if it is there. Several copies of rt.mjs can share the store:
 * the key has all that the result depends on.
 *
 * @param {any} event @param {string} text @returns {Promise<string>}
 */
async function stored(event, text) {
  const { url } = event.request
  const parts = [runtime, version, searchParams.get('exclusive'), url, text]
  const hash = await digest(new TextEncoder().encode(JSON.stringify(parts)))
  const key = new URL(`/${STORE}/${encodeURIComponent(hash)}`, origin).href
  await cleared
  const store = await caches.open(STORE)
  const found = await store.match(key)
  if (found) return found.text()
  const type = isModuleText(text) ? 'module' : 'script'
  const made = preemptify.source(text, { type, runtime, url, ...exclusive })
  event.waitUntil(keep(store, key, made).catch(() => {})) // the quota may be used up
  return made
}

/**
 * Adds a text to the store and removes the oldest ones.
 *
 * @param {Cache} store @param {string} key @param {string} text
 */
async function keep(store, key, text) {
  await store.put(key, new Response(text))
  const keys = await store.keys()
  await Promise.all(keys.slice(0, Math.max(0, keys.length - MAX_TEXTS)).map(old => store.delete(old)))
}

/**
 * Whether only a module can have this text. The mode of the request does not tell: classic scripts with
 * `crossorigin` are fetched with CORS, and WebKit fetches `import()` of a classic script without CORS. A text
 * without the syntax of modules is rewritten as a script: that is right for both.
 *
 * @param {string} text
 */
function isModuleText(text) {
  try {
    return /\b(?:import|export)\b/.test(text) && isModule(text)
  } catch {
    return false // for example the statement `with`, which modules do not have
  }
}
