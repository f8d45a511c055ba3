// The page of a text file: Markdown as a document, other files as code with colors. The page of `README.md`
// has the address `read/README.md/`. The server makes such pages on demand, and examples/site.mjs writes them.
import { escape, highlight } from './highlight.mjs'
import { markdown } from './markdown.mjs'

/** Files that have a page: texts that browsers would show without colors, or would save. */
const READABLE = /\.(?:md|mjs|js|jsx|ts|svelte|json|css|html|sh)$/

/** @param {string} path a path from the root of the repository @returns {boolean} whether it can have a page */
export const isReadable = path => READABLE.test(path)

const RECIPE = /^examples\/recipes\/[^/]+\.(?:html|m?js)$/

/**
 * Prepares a recipe for an empty project: the package comes from node_modules, and the parts that belong to
 * this site are removed.
 *
 * @param {string} text
 */
export function pasted(text) {
  return text
    .replace(/^<(?:link rel="(?:stylesheet|icon)"|script src=|nav class="way").*\n/gm, '')
    .replaceAll('../../', './node_modules/rt.mjs/')
    .replaceAll('../packages/', './node_modules/')
}

/**
 * @param {string} path a path from the root of the repository
 * @param {string} text the content of the file
 * @returns {string} a document
 */
export function readPage(path, text) {
  const root = '../'.repeat(path.split('/').length + 1)
  const { title, html } = path.endsWith('.md')
    ? markdown(text, address => addressFrom(path, address, root))
    : code(path, RECIPE.test(path) ? pasted(text) : text, root)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escape(title)}${title === 'rt.mjs' ? '' : ' – rt.mjs'}</title>
<link rel="stylesheet" href="${root}examples/style.css">
<script type="module" src="${root}examples/site/copy.mjs"></script>

${navigation(root)}
<main class="text">
${html}</main>
`
}

/** @param {string} root the address of the root of the repository */
const navigation = root => `<nav class="way" aria-label="Site"><a class="logo" href="${root}examples/index.html">rt.mjs</a>
  <a href="${root}examples/index.html#recipes">Recipes</a>
  <a href="${root}examples/api/index.html">API</a>
  <a href="${root}read/README.md/">README</a>
  <a href="${root}read/bench/README.md/">Measurements</a></nav>`

/**
 * Returns the address of a link in a file: the page of another readable file, else the file itself. Recipes
 * that are pages run in the browser, so a link leads to the running page.
 *
 * @param {string} path @param {string} address @param {string} root
 */
function addressFrom(path, address, root) {
  if (/^(?:[a-z]+:|#)/i.test(address)) return address
  const { pathname, hash } = new URL(address, `https://host/${path}`)
  const target = pathname.slice(1)
  return isReadable(target) && !target.endsWith('.html') ? `${root}read/${target}/${hash}` : `${root}${target}${hash}`
}

/** The packages that a recipe imports, with the versions that its tests use. */
const IMPORTED = /(?:from |import\()'((?:@[\w-]+\/)?[a-z][\w.-]*)(?:\/[\w.-]+)?'/g

/** @param {string} path @param {string} text @param {string} root */
function code(path, text, root) {
  const name = path.split('/').at(-1) ?? path
  const shown = `<pre class="code" tabindex="0"><code>${highlight(text, name)}</code></pre>\n`
  if (!RECIPE.test(path)) return { title: path, html: `<h1>${escape(path)}</h1>\n${shown}` }
  const isPage = name.endsWith('.html')
  const parts = [...new Set([...text.matchAll(/import\('(\.\/[\w./-]+)'/g)].map(([, part]) => part.slice(2)))]
  const packages = [...new Set([...text.matchAll(IMPORTED)].map(([, name]) => name)
    .concat([...text.matchAll(/node_modules\/([\w.-]+)/g)].map(([, name]) => name)))]
    .filter(name => !name.startsWith('node:'))
  const title = text.match(/<title>(.*)<\/title>/)?.[1] ?? name
  const links = parts.map(part => `<a href="${root}read/examples/recipes/${part}/"><code>${part}</code></a>`)
  const steps = [
    `<li><code>npm install ${packages.join(' ')}</code>`,
    `<li>Save the code below as <code>${name}</code>${isPage ? ' beside <code>node_modules</code>' : ''}${
      links.length ? `, together with ${links.join(' and ')}` : ''}.`,
    isPage ? '<li>Serve the folder with any web server, for example <code>npx vite</code>.'
      : /^\/\/ {3}/m.test(text) ? '<li>Import the functions where you need them. The comment at the top shows the call.'
        : text.includes("'node:") ? `<li>Run <code>node ${name}</code>.` : ''
  ]
  const running = isPage ? `<p><a href="${root}${path}">See it run</a></p>\n` : ''
  return { title, html: `<h1>${title}</h1>\n${running}<ol>\n${steps.join('\n')}\n</ol>\n${shown}` }
}
