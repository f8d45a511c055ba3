import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { documentedModules } from '../examples/api/jsdoc.mjs'

const root = new URL('../', import.meta.url)
const read = name => readFileSync(new URL(name, root), 'utf8')
const readme = read('README.md')
const publicNames = ['after', 'at', 'every', 'frames', 'on', 'periodic', 'sleep', 'timeout', 'until']

const test = suite('README')

/** Runs a program in a process of its own. @param {string} text @returns {Promise<string>} what it says */
async function said(text) {
  const pathOf = name => existsSync(new URL(`${name}.mjs`, root)) ? `${name}.mjs` : `addons/${name}.mjs`
  const here = text.replace(/'rt\.mjs(?:\/(\w+))?'/g, (_, name = 'rt') => `'${new URL(pathOf(name), root)}'`)
  const frames = 'data:text/javascript,globalThis.requestAnimationFrame = fn => setTimeout(fn, 5, 5)'
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', frames, '--input-type=module', '-e', here])
  return stdout.trim()
}

test('the first example runs as it is, the urgent job first', async () => {
  const [, script] = readme.match(/<script type="module">\n([^]*?)<\/script>/)
  const [first, second] = (await said(script.replace(/'https:\S+rt\.mjs'/, '\'rt.mjs\''))).split('\n')
  assert.match(first, /^first/)
  assert.is(Math.round(second * 1000), 1535)
})

/** Of each recipe: how it begins, what it takes for granted, and what it must have done. @type {[string, string, string, unknown][]} */
const recipes = [
  ['import { scheduler }', 'const rows = [1, 2], done = []; const render = row => done.push(row), save = () => done.push("saved")', 'done',
    [1, 2, 'saved']],
  ['on(field', `const shown = [], show = text => shown.push(text), field = Object.assign(new EventTarget(), { value: "x" })
    const search = function* (text) { yield; return text + "!" }, buildIndex = function* () { yield; shown.push("index") }`,
  '(field.dispatchEvent(new Event("input")), await rt.idle(), shown)', ['x!', 'index']],
  ['const isPrime', 'const text = "text"', '[prime, html]', [true, 'text!']],
  ['const page', 'let rows; console.table = given => { rows = given }', '(await new Promise(resolve => setTimeout(resolve, 1, rows)))', []],
  ['periodic(', `const did = new Set(), measure = function* () { did.add("measured") }, steer = () => did.add("steered")
    const tick = () => did.add("ticked"), paint = () => did.add("painted"), drive = () => did.add("driven"), look = function* () { yield }
    const decode = function* () { yield; did.add("decoded") }, all = new Promise(resolve => {
      const add = did.add.bind(did); did.add = value => add(value).size === 6 && resolve() })`,
  '(await all, [...did].sort())', ['decoded', 'driven', 'measured', 'painted', 'steered', 'ticked']],
  ['const job', 'const url = "data:,x", stop = {}, { signal } = new AbortController()', '[await job, typeof stop.onclick]', [200, 'function']],
  ['const orders', `const { port1: worker, port2: self } = new MessageChannel(), got = [], drawn = [], row = 5
    const url = 'data:text/javascript,export const add = (a, b) => a + b'
    const boil = value => value + " boiled", weigh = value => value + " weighed", write = (...values) => got.push(...values)
    rt.spawn(() => connect(self, 'rows').forEach(row => drawn.push(row)))`, '(await cook, [drawn, got, sum])', [[5], [0, 'tea boiled', 'tea weighed'], 5]]
]

const shown = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, text]) => text)
const [, ofSync, ofOwn, ofReservations] = readme.match(
  /^`rt` comes from rt\.mjs, (.*) from sync\.mjs, .*:\n(.*) come from the addon of that name; (.*) from `reservations`\.$/m)
const names = text => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name)
const elsewhere = Object.fromEntries([...names(ofOwn).map(name => [name, `rt.mjs/${name.toLowerCase()}`]),
  ...names(ofReservations).map(name => [name, 'rt.mjs/reservations']), ...names(ofSync).map(name => [name, 'rt.mjs/sync'])])
const imports = Object.entries({ rt: 'rt.mjs', ...elsewhere, ...Object.fromEntries(publicNames.map(name => [name, 'rt.mjs/alarms'])) })
  .map(([name, module]) => `import { ${name} } from '${module}'`).join('\n')
const vendor = 'data:text/javascript,export const marked = { parse(text) { for (const letter of text); return text + "!" } }'

test('every snippet is among these', () => {
  assert.equal(shown.map(text => recipes.filter(([begin]) => text.startsWith(begin)).length), recipes.map(() => 1))
})

for (const [begin, before, after, expected] of recipes) {
  test(`the recipe that begins with ${begin}`, async () => {
    const recipe = shown.find(text => text.startsWith(begin)).replace('./vendor/marked.esm.js', vendor)
    const end = `console.log(JSON.stringify(${after})); process.exit()`
    assert.equal(JSON.parse(await said(`${imports}\n${before}\n${recipe}\n${end}`)), expected)
  })
}

test('copied modules are as large as it says', () => {
  const told = readme.match(/(\d+), (\d+) and (\d+) kB with all comments/).slice(1).map(Number)
  for (const [i, name] of ['rt', 'alarms', 'sync'].entries()) {
    const size = Buffer.byteLength(read(`${name}.mjs`)) / 1000
    assert.ok(Math.abs(told[i] - size) < 0.03 * size, `${name}.mjs has ${size} kB`)
  }
})

test('its links lead somewhere', () => {
  for (const name of ['README.md', 'bench/README.md', 'CHANGELOG.md']) {
    for (const [, link] of read(name).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      assert.ok(existsSync(new URL(link, new URL(name, root))), `${name}: ${link}`)
    }
  }
})

test('every bench finds what it imports, and every one that is named is there', () => {
  const folder = new URL('bench/', root)
  const benches = readdirSync(folder).filter(file => file.endsWith('.mjs'))
  for (const [, name] of read('bench/README.md').matchAll(/`(?:npm run bench -- |node (?:--\S+ )?bench\/)(\w[\w-]*)/g)) {
    assert.ok(benches.includes(`${name}.mjs`), name)
  }
  const figures = readme.slice(readme.indexOf('\n## Figures\n'), readme.indexOf('\n## Every option\n')).split('\n').filter(line => /^\| (?!by|---)/.test(line))
  assert.is(figures.length, 5)
  for (const line of figures) assert.ok(/^\| the same/.test(line) || benches.includes(`${line.match(/^\| `([\w-]+)/)[1]}.mjs`), line)
  for (const file of benches) {
    for (const [, names, from] of read(`bench/${file}`).matchAll(/^import \{ ?([^}]*?)\s*\} from '(\..*)'/gm)) {
      const there = readFileSync(new URL(from, folder), 'utf8')
      for (const name of names.trim().split(/,\s*/)) {
        const [own] = name.split(' as ')
        assert.match(there, new RegExp(`^export (?:(?:async )?(?:function\\*?|class|const|let) ${own}|\\{[^}]*\\b${own})\\b`, 'm'), `${file}: ${own} of ${from}`)
      }
    }
  }
})

test('its table has every option', async () => {
  const table = readme.slice(readme.indexOf('\n## Every option\n'), readme.indexOf('\n## TypeScript\n'))
  const missing = new Set()
  for (const { exports, types } of await documentedModules(url => readFileSync(url, 'utf8'))) {
    const options = ({ name = '' }) => /^\[?options|^(?:guards|set)/.test(name)
    const given = exports.flatMap(({ comments, members }) => [...comments, ...members.flatMap(({ comments }) => comments)])
      .flatMap(({ tags }) => tags.param ?? []).filter(options)
    for (const { type } of given) {
      for (const [, option] of type.matchAll(/[{,] (\w+)\??: /g)) missing.add(option)
      for (const [used] of type.matchAll(/\b[A-Z]\w+\b/g)) {
        for (const { name } of types.get(used)?.comments[0].tags.property ?? []) missing.add(name.replace(/[[\]]/g, ''))
      }
    }
  }
  for (const option of missing) if (table.includes(`\`${option}\``)) missing.delete(option)
  assert.equal([...missing], [])
})

test.run()
