// The service worker beside hostile or unusual scripts: charsets, cookies, other origins, listed files and
// its store.
import { createHash } from 'node:crypto'
import { equal, deepEqual, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { serve } from '../../examples/server.mjs'
import { until } from './page-control.mjs'

const WORKER = '/examples/service-worker/sw.mjs'
const LOOP = 'let s = 0; for (let i = 0; i < n; i++) s += i'
/** Answers for any origin: `{ body, type, headers }`, or a function of the request. */
const script = (body, headers = {}) => ({ body, headers: { 'content-type': 'text/javascript', ...headers } })

/**
 * Serves the project with further answers by path, and a second origin with `others`. Resolves to what `work`
 * returns.
 *
 * @param {{ files?: Record<string, any>, others?: Record<string, any>, copies?: RegExp }} pages
 * @param {(context: { origin: string, other: string, asked: string[] }) => Promise<any>} work
 */
async function served({ files = {}, others = {}, copies = /^(?!)/ }, work) {
  const asked = []
  const answering = (table, isOther) => (request, response) => {
    const path = request.url.split('?')[0]
    if (isOther) asked.push(request.url)
    if (request.headers['service-worker']) response.setHeader('service-worker-allowed', '/')
    const answer = typeof table[path] === 'function' ? table[path](request) : table[path]
    if (answer === undefined) {
      request.url = request.url.replace(copies, '')
      return false
    }
    response.writeHead(200, { 'cross-origin-resource-policy': 'cross-origin', ...answer.headers })
    response.end(answer.body)
    return true
  }
  // Pages that are not isolated take scripts of other origins without further headers.
  const open = (table, isOther) => serve({ port: 0, isolated: false, handle: answering(table, isOther) })
  const servers = await Promise.all([open(files, false), open(others, true)])
  try {
    return await work({ origin: servers[0].address, other: servers[1].address, asked })
  } finally {
    await Promise.all(servers.map(server => server.close()))
  }
}

/** Opens a page and registers the worker. Resolves to the reason if the worker is rejected. */
async function registered(browser, origin, query, { folder = '', scope = '/' } = {}) {
  await browser.open(`${origin}${folder}/test/browser/service-worker.html`)
  return browser.evaluate(async (url, scope) => {
    try {
      const { controlled } = await import('/examples/service-worker/register.mjs')
      await controlled(url, { scope })
    } catch (error) {
      return error.name
    }
  }, `${folder}${WORKER}${query}`, scope)
}

/** Adds a classic script to the page. Resolves to 'loaded' or 'failed'. */
const load = (browser, src, attributes = {}) => browser.evaluate((src, attributes) => new Promise(resolve => {
  const script = document.createElement('script')
  for (const name in attributes) script.setAttribute(name, attributes[name])
  script.onload = () => resolve('loaded')
  script.onerror = () => resolve('failed')
  script.src = src
  document.head.append(script)
}), src, attributes)

const valueOf = (browser, name) => browser.evaluate(name => window[name], name)
/** Rewritten classic scripts have twins if the page has imported the run-time support before. */
const importRuntime = browser => browser.evaluate(() => import('/addons/preemptify/runtime.mjs').then(() => {}))
/**
 * Whether a function has preemption points for the scheduler of a copy: with a budget of one point, the
 * scheduler reads the clock at each of them.
 */
const isRewritten = (browser, name, folder = '') => browser.evaluate(async (name, folder) => {
  const { Scheduler, defaultHost } = await import(`${folder}/rt.mjs`)
  let readings = 0
  const host = { ...defaultHost(), now: () => (readings++, performance.now()) }
  await new Scheduler({ host }).spawn(window[name], { budget: 1 }, 300)
  return readings > 300
}, name, folder)
const hashOf = text => `sha256-${createHash('sha256').update(text).digest('base64')}`

export default {
  'service worker: only texts in UTF-8 are rewritten'({ browser }) {
    const text = name => `window.${name} = function (n) { ${LOOP}; return "caf\u00e9" }`
    const latin1 = name => Buffer.from(text(name), 'latin1')
    const files = {
      '/vendor/utf8.js': script(text('utf8')),
      '/vendor/named.js': script(text('named'), { 'content-type': 'text/javascript; charset="UTF-8"' }),
      '/vendor/header.js': script(latin1('header'), { 'content-type': 'text/javascript; charset=iso-8859-1' }),
      '/vendor/attribute.js': script(latin1('attribute')),
      '/vendor/utf16.js': script(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text('utf16'), 'utf16le')])),
      '/vendor/escapes.js': script(`window.escapes = function (n) { ${LOOP}; return "\x1b$B%F\x1b(B" }`)
    }
    return served({ files }, async ({ origin }) => {
      const charsets = { attribute: 'iso-8859-1', escapes: 'iso-2022-jp' }
      const values = async query => {
        const found = {}
        for (const path in files) {
          const name = /(\w+)\.js/.exec(path)[1]
          const attributes = charsets[name] ? { charset: charsets[name] } : {}
          equal(await load(browser, `${path}?${query}`, attributes), 'loaded')
          found[name] = await browser.evaluate(name => window[name](1), name)
        }
        return found
      }
      await browser.open(`${origin}/test/browser/service-worker.html`)
      const plain = await values('without')
      equal(await registered(browser, origin, '?match=/vendor/'), undefined)
      await importRuntime(browser)
      deepEqual(await values('with'), plain)
      const rewritten = []
      for (const name in plain) if (await isRewritten(browser, name)) rewritten.push(name)
      deepEqual(rewritten, ['utf8', 'named'])
    })
  },

  'service worker: scripts of other origins keep their cookies'({ browser }) {
    const who = ({ headers: { cookie = '' } }) => script(`window.user = ${JSON.stringify(cookie)}`)
    const others = {
      '/set': script('0', { 'set-cookie': 'user=alice; Path=/' }),
      '/who': request => {
        const { body, headers } = who(request)
        const { origin = '*' } = request.headers
        return { body, headers: { ...headers, 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' } }
      },
      '/opaque': script('window.isLoaded = true')
    }
    return served({ others }, async ({ origin, other, asked }) => {
      await browser.open(`${origin}/test/browser/service-worker.html`)
      await load(browser, `${other}/set`)
      await load(browser, `${other}/who?plain-page`)
      equal(await valueOf(browser, 'user'), 'user=alice')
      for (const query of ['', `?match=${encodeURIComponent(`${other}/`)}`]) {
        equal(await registered(browser, origin, query), undefined)
        await load(browser, `${other}/who?${query}`)
        equal(await valueOf(browser, 'user'), 'user=alice', query)
        await load(browser, `${other}/who?anonymous${query}`, { crossorigin: 'anonymous' })
        equal(await valueOf(browser, 'user'), '', query)
        const count = asked.filter(url => url === '/opaque').length
        equal(await load(browser, `${other}/opaque`), 'loaded')
        equal(asked.filter(url => url === '/opaque').length, count + 1)
        await browser.evaluate(() => navigator.serviceWorker.getRegistration().then(found => found?.unregister()))
      }
    })
  },

  'service worker: match finds own paths, and other origins by the start of the URL'({ browser }) {
    const any = { 'access-control-allow-origin': '*' }
    const text = name => script(`window.${name} = function (n) { ${LOOP} }`, any)
    const files = { '/packages/own.js': text('own'), '/query.js': text('query') }
    const others = { '/packages/path.js': text('path'), '/lib/named.js': text('named') }
    return served({ files, others }, async ({ origin, other }) => {
      const match = encodeURIComponent(`/packages/|${other}/lib/`)
      equal(await registered(browser, origin, `?match=${match}`), undefined)
      await importRuntime(browser)
      for (const path in files) equal(await load(browser, `${path}?from=/packages/`), 'loaded')
      for (const path in others) equal(await load(browser, `${other}${path}?from=/packages/`, { crossorigin: '' }), 'loaded')
      const names = []
      for (const name of ['own', 'query', 'path', 'named']) if (await isRewritten(browser, name)) names.push(name)
      deepEqual(names, ['own', 'named'])
    })
  },

  "service worker: only listed files of a CDN pass script-src 'self'"({ browser }) {
    const evil = script('window.hasRun = true', { 'access-control-allow-origin': '*' })
    const list = { body: '{}', headers: { 'access-control-allow-origin': '*', 'content-type': 'application/json' } }
    const others = { '/npm/evil/x.js': evil, '/list.json': list }
    const injected = src => ({
      body: `<!doctype html><link rel=icon href="data:,"><script src="${src}"></script>`,
      headers: { 'content-type': 'text/html', 'content-security-policy': "script-src 'self'" }
    })
    const paths = ['/x/packages/evil/x.js', '/packages/..%2f..%2fevil/x.js', '/packages/..%5cevil/x.js', '/packages/a.js%3f']
    const files = Object.fromEntries(paths.map((path, i) => [`/injected/${i}`, injected(path)]))
    return served({ files, others }, async ({ origin, other, asked }) => {
      files['/moved.json'] = { headers: {}, body: '' }
      files['/list.json'] = script(JSON.stringify({ 'packages/a.js': { url: `${other}/npm/evil/x.js`, integrity: hashOf(evil.body) } }))
      match(await registered(browser, origin, `?cdn=${other}/list.json`), /Error/)
      equal(await registered(browser, origin, '?match=/packages/&cdn=/list.json'), undefined)
      for (const i of paths.keys()) {
        await browser.open(`${origin}/injected/${i}`)
        equal(await valueOf(browser, 'hasRun'), undefined)
      }
      deepEqual(asked, [])
      await browser.open(`${origin}/test/browser/service-worker.html`)
      equal(await load(browser, '/packages/a.js?v=1'), 'loaded')
      equal(await valueOf(browser, 'hasRun'), true)
      return ['404', 'cdn must be', 'ServiceWorker', 'service worker', 'Content Security Policy', 'sw.mjs', 'MIME', ...paths]
    })
  },

  'service worker: listed files are rewritten, files with another hash rejected'({ browser }) {
    const text = name => script(`window.${name} = function (n) { ${LOOP} }`, { 'access-control-allow-origin': '*' })
    const others = { '/good.js': text('good'), '/changed.js': text('changed'), '/plain.js': text('plain') }
    const files = { '/packages/local.js': text('local') }
    return served({ files, others }, async ({ origin, other }) => {
      const entry = (name, body = others[`/${name}.js`].body) => ({ url: `${other}/${name}.js`, integrity: hashOf(body) })
      files['/list.json'] = script(JSON.stringify({
        'packages/good.js': entry('good'),
        '/packages/plain.js': entry('plain'),
        'packages/changed.js': entry('changed', 'another text'),
        'packages/nohash.js': { url: `${other}/changed.js`, integrity: '' },
        'packages/local.js': entry('gone', files['/packages/local.js'].body)
      }))
      equal(await registered(browser, origin, '?match=/packages/&cdn=/list.json'), undefined)
      await importRuntime(browser)
      const outcomes = {}
      for (const name of ['good', 'plain', 'changed', 'nohash', 'local', 'unlisted']) {
        outcomes[name] = await load(browser, `/packages/${name}.js${name === 'plain' ? '?plain' : ''}`)
      }
      deepEqual(outcomes, { good: 'loaded', plain: 'loaded', changed: 'failed', nohash: 'failed', local: 'loaded', unlisted: 'failed' })
      const rewritten = []
      for (const name of ['good', 'plain', 'local']) if (await isRewritten(browser, name)) rewritten.push(name)
      deepEqual(rewritten, ['good', 'local'])
      return ['404', 'gone.js', 'MIME']
    })
  },

  'service worker: copies keep their texts apart, and the store drops old texts'({ browser }) {
    let version = 0
    // 200 texts take long to load.
    const few = readFileSync(new URL(`../..${WORKER}`, import.meta.url), 'utf8').replace('MAX_TEXTS = 200', 'MAX_TEXTS = 10')
    ok(few.includes('MAX_TEXTS = 10'))
    const files = {
      ...Object.fromEntries(['/copy1', '/copy2'].map(folder => [`${folder}${WORKER}`, script(few)])),
      '/vendor/module.mjs': script(`export function f(n) { ${LOOP} }`),
      '/vendor/changing.js': () => script(`window.version = ${++version}; window.loop = n => { ${LOOP} }`)
    }
    return served({ files, copies: /^\/copy\d/ }, async ({ origin }) => {
      for (const folder of ['/copy2', '/copy1']) {
        const options = { folder, scope: `${folder}/` }
        equal(await registered(browser, origin, '?match=/vendor/', options), undefined)
        await browser.evaluate(() => import('/vendor/module.mjs').then(({ f }) => { window.f = f }))
        ok(await isRewritten(browser, 'f', folder), folder)
      }
      for (let i = 0; i < 20; i++) await load(browser, `/vendor/changing.js?${i}`)
      equal(await valueOf(browser, 'version'), 20)
      // The worker stores a text, and drops others, after its answer.
      await until(browser, async () => {
        const store = await caches.open('preemptified')
        const texts = await Promise.all((await store.keys()).map(async key => (await store.match(key))?.text()))
        return texts.length === 10 && texts.at(-1)?.includes('window.version = 20')
      })
    })
  },

  'service worker: no page is claimed before the texts of an old version are deleted'({ browser }) {
    const address = new URL(`../..${WORKER}`, import.meta.url)
    // The worker deletes the old texts when the page allows it, and answers each message.
    const late = readFileSync(address, 'utf8').replace('cleared = caches.delete(STORE)',
      'cleared = allowed.then(() => caches.delete(STORE))')
    ok(late.includes('allowed.then'))
    const gate = `let allow; const allowed = new Promise(resolve => { allow = resolve })
      addEventListener('message', ({ data, ports }) => { if (data === 'delete') allow(); ports[0]?.postMessage('done') })\n`
    const files = { [WORKER]: script(late + gate), '/vendor/a.js': script(`window.f = function (n) { ${LOOP} }`) }
    return served({ files }, async ({ origin }) => {
      await browser.open(`${origin}/test/browser/service-worker.html`)
      equal(await browser.evaluate(async url => {
        const { serviceWorker } = navigator
        const { active, installing, waiting } = await serviceWorker.register(url, { type: 'module', scope: '/' })
        const worker = active ?? waiting ?? installing
        while (worker.state !== 'activating' && worker.state !== 'activated') {
          await new Promise(resolve => worker.addEventListener('statechange', resolve, { once: true }))
        }
        const send = data => new Promise(resolve => {
          const { port1, port2 } = new MessageChannel()
          port1.onmessage = resolve
          worker.postMessage(data, [port2])
        })
        await send('claim')
        await send('ask again')
        const isEarly = serviceWorker.controller !== null
        const change = new Promise(resolve => serviceWorker.addEventListener('controllerchange', resolve, { once: true }))
        await send('delete')
        if (!isEarly) await change
        return isEarly
      }, `${WORKER}?match=/vendor/`), false)
      equal(await load(browser, '/vendor/a.js'), 'loaded')
      equal(await browser.evaluate(async () => {
        const store = await caches.open('preemptified')
        while ((await store.keys()).length === 0) await new Promise(resolve => setTimeout(resolve, 20))
        return (await store.keys()).length
      }), 1)
    })
  },

  'service worker: ?exclusive claims packages; a list without a name is rejected'({ browser }) {
    const text = name => script(`let a = 0\nexport function f(n) { ${LOOP}; return a += n }\nexport const g = n => { ${LOOP}; return "package ${name}" }`)
    const files = { '/packages/x@1.0.0/a.mjs': text('x'), '/packages/y@1.0.0/a.mjs': text('y') }
    return served({ files }, async ({ origin }) => {
      const texts = []
      for (const query of ['', '&exclusive=true', '&exclusive=false', '&exclusive=x,z']) {
        equal(await registered(browser, origin, `?match=/packages/${query}`), undefined)
        texts.push(await browser.evaluate(async paths => {
          for (const path of paths) await import(path)
          const store = await caches.open('preemptified')
          // The worker answers before it has stored the text.
          while ((await store.keys()).length < paths.length) await new Promise(resolve => setTimeout(resolve, 20))
          const found = {}
          for (const key of await store.keys()) {
            const text = await (await store.match(key)).text()
            found[/package (\w)/.exec(text)[1]] = text.length
          }
          await caches.delete('preemptified')
          await (await navigator.serviceWorker.getRegistration()).unregister()
          return found
        }, Object.keys(files)))
      }
      const [inferred, all, none, listed] = texts
      ok(all.x > inferred.x && inferred.x > none.x, JSON.stringify(texts))
      deepEqual(listed, { x: all.x, y: inferred.y })
      match(await registered(browser, origin, '?exclusive=x,,'), /Error/)
      return ['exclusive must be', 'ServiceWorker', 'service worker', 'sw.mjs']
    })
  }
}
