// The example page of the service worker, and the rules of its address. test/browser/service-worker.drive.mjs
// runs the worker.
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exclusiveRule } from '../../addons/preemptify.mjs'

const folder = new URL('../../examples/service-worker/', import.meta.url)
const read = name => readFileSync(new URL(name, folder), 'utf8')

const list = suite('list of files')

list('the list names each package of the page, its version and a hash', () => {
  const paths = read('page.mjs').match(/(?<=')packages\/[^']+/g)
  const files = JSON.parse(read('packages.json'))
  assert.equal(Object.keys(files).sort(), paths.sort())
  for (const path of paths) {
    assert.is(files[path].url, path.replace('packages/', 'https://cdn.jsdelivr.net/npm/'))
    assert.match(files[path].integrity, /^sha256-[\w+/]{43}=$/)
  }
})

list.run()

const rule = suite('exclusive in an address')

rule('no text, true, false and names of packages become the option of preemptify', () => {
  assert.equal(exclusiveRule(null), {})
  assert.equal(exclusiveRule('true'), { exclusive: true })
  assert.equal(exclusiveRule('false'), { exclusive: false })
  assert.equal(exclusiveRule('marked,@scope/name'), { exclusive: ['marked', '@scope/name'] })
})

rule('a list without a name is a TypeError that shows the list', () => {
  for (const given of ['', ',', 'marked,']) {
    assert.throws(() => exclusiveRule(given), error => error instanceof TypeError && error.message.endsWith(`got '${given}'`))
  }
})

rule.run()
