/** The pages of texts, and the folder of static files. test/browser/site.drive.mjs opens the pages. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { check } from '../../.ci/prose.mjs'
import { writeSite } from '../../examples/site.mjs'
import { highlight } from '../../examples/site/highlight.mjs'
import { markdown } from '../../examples/site/markdown.mjs'
import { pasted, readPage } from '../../examples/site/read.mjs'
import { installed } from '../support/peers.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = path => readFileSync(join(root, path), 'utf8')
const texts = ['README.md', 'bench/README.md', 'CHANGELOG.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md',
  'examples/recipes/README.md']
/** The text that HTML shows. */
const shown = html => html.replace(/<[^>]*>/g, '')
  .replace(/&(?:lt|gt|quot|amp);/g, entity => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' })[entity])

const render = suite('examples/site/markdown')
const html = text => markdown(text).html.trim()

render('lines without markup become paragraphs, which an empty line ends', () => {
  assert.is(html('one\ntwo\n\nthree <b>'), '<p>one\ntwo</p>\n<p>three &lt;b&gt;</p>')
})

render('headings get the identifiers that code hosts make, each one once', () => {
  assert.is(html('# A `b`, c!\n## Same\n## Same'),
    '<h1 id="a-b-c">A <code>b</code>, c!</h1>\n<h2 id="same">Same</h2>\n<h2 id="same-1">Same</h2>')
  assert.is(markdown('x\n# The *title*').title, 'The title')
})

render('code, emphasis, links, images and escapes are recognized within a line', () => {
  assert.is(html('`a *b*` **c `d`** *e* 2 * 3 * 4 \\*f\\* a_b_c'),
    '<p><code>a *b*</code> <strong>c <code>d</code></strong> <em>e</em> 2 * 3 * 4 *f* a_b_c</p>')
  assert.is(html('``a ` b``'), '<p><code>a ` b</code></p>')
  assert.is(markdown('[a `b`](c.md#d) ![e](f.svg) <https://g>', address => `to/${address}`).html,
    '<p><a href="to/c.md#d">a <code>b</code></a> <img src="to/f.svg" alt="e"> <a href="https://g">https://g</a></p>\n')
})

render('items continue on indented lines and contain blocks', () => {
  assert.is(html('- one\n  more\n- two\n  - inner\n\nend'),
    '<ul>\n<li>one\nmore</li>\n<li>two<ul>\n<li>inner</li>\n</ul>\n</li>\n</ul>\n<p>end</p>')
  assert.is(html('1. one\n2. two'), '<ol>\n<li>one</li>\n<li>two</li>\n</ol>')
  assert.is(html('1. one\n\n   more'), '<ol>\n<li><p>one</p>\n<p>more</p>\n</li>\n</ol>')
})

render('tables align their columns and keep escaped bars in a cell', () => {
  const table = html('| a | b |\n| --- | ---: |\n| `x \\| y` | 1 |\nend')
  assert.ok(table.includes('<th>a</th><th class="end">b</th>'), table)
  assert.ok(table.includes('<td class="short"><code>x | y</code></td><td class="end short">1</td>'), table)
  assert.ok(table.endsWith('<p>end</p>'), table)
})

render('fences keep their text, and quotations and details contain blocks', () => {
  assert.is(html('```\n# a <b>\n\n- c\n```'), '<pre class="code" tabindex="0"><code># a &lt;b&gt;\n\n- c</code></pre>')
  assert.is(html('> # a\n> b'), '<blockquote><h1 id="a">a</h1>\n<p>b</p>\n</blockquote>')
  assert.is(html('<details>\n<summary>a</summary>\n\n*b*\n</details>'),
    '<details>\n<summary>a</summary>\n<p><em>b</em></p>\n</details>')
})

render('the Markdown files of the repository leave no markup in the text', () => {
  for (const name of texts) {
    const prose = markdown(read(name)).html.replace(/<(pre|code)\b[^]*?<\/\1>/g, '')
    assert.not.match(shown(prose), /\*\*|\]\(|`|^#|^\|/m, name)
  }
})

render.run()

const colors = suite('examples/site/highlight')

/** The tokens of a text: `k:const`. */
const tokensOf = (text, name) => Array.from(highlight(text, name).matchAll(/<i class="(\w)">(.*?)<\/i>/g),
  ([, kind, token]) => `${kind}:${shown(token)}`)

colors('tokens of JavaScript are keywords, strings, numbers, calls and comments', () => {
  assert.equal(tokensOf('const a = `b ${c}` // d', 'js'), ['k:const', 's:`b ${c}`', 'c:// d'])
  assert.equal(tokensOf('if (a / 2 > 1 / b) f(/x[/]"/g, 0x1f)', 'a.mjs'), ['k:if', 'n:2', 'n:1', 'f:f', 's:/x[/]"/g', 'n:0x1f'])
  assert.equal(tokensOf("map.set({ get: 1 }, 'https://a')", 'js'), ['f:set', 'n:1', "s:'https://a'"])
})

colors('tokens of HTML are tags, attributes, comments, and the script inside', () => {
  assert.equal(tokensOf('<!-- a --><p id="b">c</p><script>let d</script>', 'html'),
    ['c:<!-- a -->', 'k:<p', 's:"b"', 'k:>', 'k:</p', 'k:>', 'k:<script', 'k:>', 'k:let', 'k:</script', 'k:>'])
})

colors('tokens of a shell are commands, options, strings and comments', () => {
  assert.equal(tokensOf("npm install --silent 'a b' # c", 'sh'), ['f:npm', 'n:--silent', "s:'a b'", 'c:# c'])
})

colors('colored code has the text of the code', () => {
  const files = readdirSync(join(root, 'examples'), { recursive: true }).map(name => `examples/${name}`)
    .filter(name => /\.(?:mjs|js|html|css)$/.test(name) && !name.includes('node_modules'))
  assert.ok(files.length > 50)
  for (const file of ['rt.mjs', 'sync.mjs', ...files]) assert.ok(shown(highlight(read(file), file)) === read(file), file)
})

colors('an unknown language stays without colors', () => {
  assert.is(highlight('const <a>', 'text'), 'const &lt;a&gt;')
  assert.is(highlight('const a'), 'const a')
})

colors.run()

const pages = suite('examples/site/read')

pages('links between texts lead to pages, and other links to the files', () => {
  const page = readPage('a/b.md', '[c](../c.md#d) [e](e.mjs) [f](f.html) ![g](g.svg) [h](#i) [j](https://k/l.md)')
  const addresses = [...page.slice(page.indexOf('<main')).matchAll(/(?:href|src)="(.*?)"/g)].map(([, address]) => address)
  assert.equal(addresses, ['../../../read/c.md/#d', '../../../read/a/e.mjs/', '../../../a/f.html', '../../../a/g.svg', '#i', 'https://k/l.md'])
})

pages('a recipe to paste needs nothing of this site', () => {
  const names = readdirSync(join(root, 'examples/recipes')).filter(name => name.endsWith('.html'))
  for (const name of names) {
    const text = pasted(read(`examples/recipes/${name}`))
    assert.not.match(text, /\.\.\/|recipe\.css|site\/|<nav/, name)
    assert.match(text, /"rt\.mjs": "\.\/node_modules\/rt\.mjs\/rt\.mjs"/, name)
    assert.match(text, /^<!doctype html>\n<!-- Your? /, name)
  }
})

pages('the page of a recipe names its packages and its file', () => {
  const page = name => shown(readPage(`examples/recipes/${name}`, read(`examples/recipes/${name}`)))
  assert.match(page('search.html'), /npm install rt\.mjs\n.*search\.html beside node_modules\.\n/)
  assert.match(page('search-library.html'), /npm install rt\.mjs fuse\.js\n.*together with search-library\.mjs\.\n/)
  assert.match(page('use-job.react.mjs'), /npm install rt\.mjs react\n/)
  assert.match(page('server.mjs'), /npm install rt\.mjs\n.*\nRun node server\.mjs\.\n/)
})

pages.run()

const site = suite('examples/site')

site.before(async context => {
  context.isInstalled = await installed(new URL('../../examples/packages/', import.meta.url))
  if (!context.isInstalled) return
  context.folder = mkdtempSync(join(tmpdir(), 'rt-site-'))
  await writeSite(context.folder)
})
site.after(({ folder }) => folder && rmSync(folder, { recursive: true }))

/** The HTML files of a folder, by their paths. */
const documentsIn = folder => new Map(readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && entry.name.endsWith('.html'))
  .map(({ parentPath, name }) => join(parentPath, name))
  .map(file => [file.slice(folder.length).replaceAll('\\', '/'), readFileSync(file, 'utf8')]))

site('every link of every page leads to a file and an identifier of the site', ({ folder, isInstalled }) => {
  if (!isInstalled) return
  const documents = documentsIn(folder)
  for (const [path, text] of documents) {
    for (const [, address] of text.matchAll(/<(?:a|link|script|img)\b[^>]* (?:href|src)="([^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(address.replaceAll('&amp;', '&'), `https://site${path}`)
      if (origin !== 'https://site') continue
      const target = pathname.endsWith('/') ? `${pathname}index.html` : pathname
      assert.ok(existsSync(join(folder, target)), `${path}: ${address}`)
      if (hash) assert.ok(documents.get(target).includes(` id="${decodeURIComponent(hash.slice(1))}"`), `${path}: ${address}`)
    }
  }
})

site('no page loads from another host', ({ folder, isInstalled }) => {
  if (!isInstalled) return
  for (const [path, text] of documentsIn(folder)) {
    assert.not.match(text.replace(/<pre\b[^]*?<\/pre>/g, ''), /<(?:script|link|img|iframe)\b[^>]*="https?:|"imports"[^}]*https?:/, path)
  }
})

site('the headers isolate the pages and give modules their type', ({ folder, isInstalled }) => {
  if (!isInstalled) return
  const headers = readFileSync(join(folder, '_headers'), 'utf8')
  assert.match(headers, /^\/\*\n(?: .*\n)* {2}Cross-Origin-Opener-Policy: same-origin\n {2}Cross-Origin-Embedder-Policy: require-corp\n/)
  assert.match(headers, /^\/\*\.mjs\n {2}Content-Type: text\/javascript/m)
})

site('pages that need a server are left out', ({ folder, isInstalled }) => {
  if (!isInstalled) return
  assert.not.ok(existsSync(join(folder, 'examples/chat')))
  assert.not.match(readFileSync(join(folder, 'examples/index.html'), 'utf8'), /chat/)
})

site('a folder with files is rejected', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rt-site-'))
  writeFileSync(join(folder, 'a'), '')
  const error = await writeSite(folder).then(() => null, error => error)
  rmSync(folder, { recursive: true })
  assert.is(error.message, `${folder} must be empty`)
})

site('libraries of the pages have the versions that the tests use', () => {
  const [pages, tests] = ['examples/packages', 'test/peers'].map(name => JSON.parse(read(`${name}/package.json`)).dependencies)
  for (const name in pages) if (tests[name]) assert.is(pages[name], tests[name], name)
})

site('no sentence of a page breaks a rule of the prose check', () => {
  const pages = readdirSync(join(root, 'examples'), { recursive: true }).map(name => `examples/${name}`.replaceAll('\\', '/'))
    .filter(name => /^examples\/(?:\w[\w-]*\/)?[\w-]+\.html$/.test(name))
  assert.ok(pages.length > 15)
  for (const page of pages) assert.equal(check(page, read(page)).lines, [], page)
})

site.run()

const front = suite('examples/index.html')
const frontPage = read('examples/index.html')
/** The cards of the front page: title and address. */
const cards = Object.fromEntries(Array.from(frontPage.matchAll(/<li[^>]*><a href="([^"]+)">.*?<b>(.*?)<\/b>/g),
  ([, address, title]) => [title, address]))

front('each recipe has a card', () => {
  const recipes = [...read('examples/recipes/README.md').matchAll(/^- \[(.+)\]/gm)].map(([, name]) => name)
  const addresses = Object.values(cards).map(address => address.replace(/\/$/, '').split('/').at(-1))
  assert.equal(addresses.filter(name => recipes.includes(name)).sort(), recipes.sort())
})

front('a card names each of five situations in the words of its user', () => {
  const recipes = { 'A search field freezes': 'search.html', 'A large CSV file freezes': 'csv.html',
    'A React list filters slowly': 'use-job.react.mjs', 'A Node server with deadlines': 'server.mjs',
    'Cancel children with their parent': 'children.mjs' }
  for (const [title, name] of Object.entries(recipes)) assert.match(cards[title] ?? '', new RegExp(`recipes/${name}`), title)
})

front('recipes come before the other pages', () => {
  const order = Object.values(cards)
  assert.ok(order.findLastIndex(address => address.includes('recipes/') && !address.endsWith('.md/')) <
    order.findIndex(address => address.endsWith('/index.html')))
})

front.run()
