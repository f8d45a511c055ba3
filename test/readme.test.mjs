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

/** Runs what a section shows, after some lines of ours. @param {string} heading @param {string} before @param {[string, string][]} more replaced */
async function shown(heading, before, ...more) {
  const [, script] = readme.slice(readme.indexOf(`\n${heading}\n`)).match(/```js\n([^]*?)```/)
  let text = script
  for (const [from, to] of [['\'rt.mjs\'', `'${new URL('../rt.mjs', import.meta.url)}'`], ...more]) text = text.replace(from, to)
  return import(`data:text/javascript,${encodeURIComponent(`${before}\n${text}`)}`)
}

test('the function that preemptify is shown with', async () => {
  const { result } = await shown('## Functions that were not written for it: preemptify', `
    const n = 500, a = new Float64Array(n * n).fill(2), b = a
    export { c as result }`)
  assert.is(result.length, 500 * 500)
  assert.ok(result.every(value => value === 2000))
})

test('the module that preemptify.import is shown with', async () => {
  const vendor = 'data:text/javascript,export const marked = { parse(text) { for (const letter of text); return text + "!" } }'
  const { html: result } = await shown('### Whole modules', `
    import { preemptify, rt } from '${new URL('../rt.mjs', import.meta.url)}'
    const text = 'text'
    export { html }`, ['\'./vendor/marked.esm.js\'', `'${vendor}'`])
  assert.is(result, 'text!')
})

test.run()
