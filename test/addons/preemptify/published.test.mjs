// Situations with published packages, which tests install.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { sporadic } from '../../../alarms.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { written } from '../../support/modules.mjs'
import { importPeers } from '../../support/peers.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'
import { TEMPLATES } from '../../support/templates.mjs'

const runtime = new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href
const { resolve } = createRequire(new URL('../../peers/package.json', import.meta.url))
const peers = await importPeers('fuse.js', 'express')

const search = suite('search as you type')

if (peers !== null) {
  const { default: Fuse } = peers[0]
  const file = resolve('fuse.js').replace(/\.cjs$/, '.mjs')
  const text = preemptify.source(readFileSync(file, 'utf8'), { runtime, url: pathToFileURL(file).href })
  const { default: Rewritten } = await import(written(text))
  const words = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel']
  const list = Array.from({ length: 400 }, (_, i) => `${words[i % 8]} ${words[i * 3 % 7]} ${words[i * 5 % 6]} ${i}`)
  const keys = ['d', 'de', 'del', 'delt', 'delta', 'delta ', 'delta e', 'delta ec']

  /** Types all keys, each in the middle of the search for the keys before. */
  async function typed(excess) {
    const host = virtualHost({ read: 0.01 })
    const scheduler = new Scheduler({ host, round: 5, budget: 20 })
    const index = new Rewritten(list)
    const shown = []
    const jobs = []
    const show = sporadic(function* (text) { shown.push([text, yield* preemptify(index.search).call(index, text)]) },
      { excess, scheduler })
    const delays = []
    for (let i = 0; i < keys.length; i++) {
      host.after(1 + 4 * i, () => {
        const pressed = scheduler.now()
        scheduler.spawn(() => { delays.push(scheduler.now() - pressed) }, { priority: 1 })
        const job = show(keys[i])
        if (job) jobs.push(job)
      })
    }
    await host.drain()
    return { shown, jobs, delays }
  }

  search('a new key cancels the previous search of fuse.js, and the last list is right', async () => {
    const { shown, delays } = await typed('restart')
    const [last, found] = shown.at(-1)
    assert.is(last, keys.at(-1))
    assert.equal(found, new Fuse(list).search(last))
    assert.ok(shown.length < keys.length, `${shown.length} searches have ended`)
    // A key waits for the rest of a budget, and not for a search.
    assert.ok(Math.max(...delays) < 1, `${Math.max(...delays)} ms`)
  })

  search('searches of fuse.js in order return the lists of plain calls', async () => {
    const { shown } = await typed('queue')
    assert.equal(shown, keys.map(key => [key, new Fuse(list).search(key)]))
  })
}

search.run()

const requests = suite('requests')

if (peers !== null) {
  requests('concurrent requests of an Express application get their own pages', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'express-'))
    try {
      const home = join(folder, 'node_modules', 'templates')
      mkdirSync(home, { recursive: true })
      writeFileSync(join(home, 'package.json'), '{ "name": "templates", "type": "module", "exports": "./index.js" }')
      writeFileSync(join(home, 'index.js'), TEMPLATES)
      const hook = new URL('../../../examples/node/register.mjs', import.meta.url).href
      const child = fileURLToPath(new URL('../../support/express-child.mjs', import.meta.url))
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--no-warnings', '--import', hook, child, pathToFileURL(resolve('express')).href, pathToFileURL(join(home, 'index.js')).href
      ], { timeout: 60_000 })
      const { answers, switches } = JSON.parse(stdout)
      const page = (name, count) => `<h1>${name}</h1>${Array.from({ length: count }, (_, i) => `<li>${name}${i}</li>`).join('')}`
      assert.equal(answers, [page('a', 30), page('b', 40), page('c', 20)])
      assert.ok(switches > 3, `${switches} switches`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

requests.run()
