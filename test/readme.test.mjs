import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

const test = suite('README')

test('the first example runs as it is, the urgent job first', async () => {
  const [, script] = readme.match(/<script type="module">\n([^]*?)<\/script>/)
  const here = script.replace(/'https:\S+rt\.mjs'/, `'${new URL('../rt.mjs', import.meta.url)}'`)
  assert.is.not(here, script)
  const { log } = console
  const lines = []
  console.log = line => lines.push(line)
  try {
    await import(`data:text/javascript,${encodeURIComponent(here)}`)
  } finally {
    console.log = log
  }
  assert.is(lines.length, 2)
  assert.match(lines[0], /^first/)
  assert.is(Math.round(lines[1] * 1000), 1535)
})

test.run()
