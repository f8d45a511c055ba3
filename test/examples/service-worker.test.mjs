// The rules of the service worker's address. test/browser/service-worker.drive.mjs runs the worker.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exclusiveRule } from '../../addons/preemptify.mjs'

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
