import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { firstScript, importsFor, readme, snippets, snippetsIn, surroundingsOf } from './snippets.mjs'

const root = new URL('../../', import.meta.url)
const read = name => readFileSync(new URL(name, root), 'utf8')
const { version } = JSON.parse(read('package.json'))
const test = suite('README')

const FRAMES = 'data:text/javascript,globalThis.requestAnimationFrame = fn => setTimeout(fn, 5, 5)'
/** The module search.js of the README. */
const SEARCH = 'data:text/javascript,export function search(text) { for (const _ of text); show(text + "!") }'

/** Runs a program in its own process. @param {string} text @returns {Promise<string>} the output */
async function outputOf(text) {
  const pathOf = name => existsSync(new URL(`${name}.mjs`, root)) ? `${name}.mjs` : `addons/${name}.mjs`
  const program = text.replace(/'rt\.mjs(?:\/(\w+))?'/g,
    (_, name = 'rt') => `'${new URL(pathOf(name), root)}'`)
  const { stdout } = await promisify(execFile)(process.execPath,
    ['--import', FRAMES, '--input-type=module', '-e', program])
  return stdout.trim()
}

test('the first example shows the number of matches for the last text', async () => {
  const modules = firstScript.replace(/'https:\/\/esm\.sh\/(rt\.mjs)@[^/']*/g, '\'$1')
  const elements = `import { rt } from 'rt.mjs'
    const field = Object.assign(new EventTarget(), { value: '' }), found = {}`
  const keys = `for (const value of ['9', '99']) {
      field.value = value
      field.dispatchEvent(new Event('input'))
    }
    await rt.idle()
    console.log(found.value)`
  const output = await outputOf(`${elements}\n${modules.replace('1e7', '1e5')}\n${keys}`)
  assert.is(output, '3691 numbers contain 99')
})

test('every snippet has surroundings', () => {
  const texts = [...snippetsIn('js'), ...snippetsIn('ts')]
  assert.equal(texts.map(text => surroundingsOf(text).length), texts.map(() => 1))
  assert.is(texts.length, snippets.length)
})

for (const text of snippetsIn('js')) {
  const [{ before, result, expected }] = surroundingsOf(text)
  test(`the snippet "${text.split('\n', 1)[0]}" runs`, async () => {
    const program = text.replace('./search.js', SEARCH)
    const end = `console.log(JSON.stringify(${result})); process.exit()`
    const output = await outputOf(`${importsFor(program + before)}\n${before}\n${program}\n${end}`)
    assert.equal(JSON.parse(output), expected)
  })
}

test('the README has at most 200 lines, and the limits end by line 60', () => {
  const lines = readme.trimEnd().split('\n')
  assert.ok(lines.length <= 200, `${lines.length} lines`)
  const install = lines.indexOf('## Install')
  assert.ok(install > 0 && install <= 62, `## Install is line ${install + 1}`)
})

test('no line of code in the README is longer than 90 characters', () => {
  const blocks = [...readme.matchAll(/```\w*\n([^]*?)```/g)].flatMap(([, text]) => text.split('\n'))
  assert.equal(blocks.filter(line => line.length > 90), [])
})

test('every CDN address in the README names the version of the package', () => {
  const addresses = readme.match(/https:\/\/(?:esm\.sh|cdn\.jsdelivr\.net)[^\s'`]*/g)
  assert.ok(addresses.length >= 2)
  for (const address of addresses) assert.ok(address.includes(`rt.mjs@${version}`), address)
})

test('the sizes of the modules in the README are within 3 %', () => {
  const sizes = readme.match(/have (\d+), (\d+) and (\d+) kB/).slice(1).map(Number)
  for (const [i, name] of ['rt', 'alarms', 'sync'].entries()) {
    const size = Buffer.byteLength(read(`${name}.mjs`)) / 1000
    assert.ok(Math.abs(sizes[i] - size) < 0.03 * size, `${name}.mjs has ${size} kB`)
  }
})

test('every relative link of the Markdown files leads to a file that a code host renders', () => {
  for (const name of ['README.md', 'bench/README.md', 'CHANGELOG.md']) {
    for (const [, link, heading] of read(name).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = link === '' ? name : new URL(link, new URL(name, root))
      assert.ok(existsSync(typeof file === 'string' ? new URL(file, root) : file), `${name}: ${link}`)
      if (name === 'README.md') assert.match(link, /\.(?:md|mjs|svg)$/)
      if (heading === undefined) continue
      const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)]
        .map(([, text]) => text.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-'))
      assert.ok(headings.includes(heading), `${name}: ${link}#${heading}`)
    }
  }
})

test('every benchmark that the Markdown files name exists', () => {
  for (const text of [readme, read('bench/README.md')]) {
    for (const [, name] of text.matchAll(/`(?:npm run bench -- |node (?:--\S+ )?bench\/)(\w[\w/-]*)/g)) {
      assert.ok(existsSync(new URL(`bench/${name}.mjs`, root)), name)
    }
  }
})

test('every import of a benchmark exists', () => {
  const folder = new URL('bench/', root)
  for (const file of readdirSync(folder).filter(file => file.endsWith('.mjs'))) {
    const imports = read(`bench/${file}`).matchAll(/^import \{ ?([^}]*?)\s*\} from '(\..*)'/gm)
    for (const [, names, from] of imports) {
      const text = readFileSync(new URL(from, folder), 'utf8')
      for (const name of names.trim().split(/,\s*/)) {
        const [own] = name.split(' as ')
        const exported = `^export (?:(?:async )?(?:function\\*?|class|const|let) ${own}|\\{[^}]*\\b${own})\\b`
        assert.match(text, new RegExp(exported, 'm'), `${file}: ${own} of ${from}`)
      }
    }
  }
})

test.run()
