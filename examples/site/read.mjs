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
    .replace(/^<(?:link rel="stylesheet"|script src=|nav class="way").*\n/gm, '')
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

/** @param {string} path @param {string} text @param {string} root */
function code(path, text, root) {
  const listing = `<pre class="code" tabindex="0"><code>${highlight(text, path)}</code></pre>\n`
  if (!RECIPE.test(path)) return { title: path, html: `<h1>${escape(path)}</h1>\n${listing}` }
  const name = path.slice(path.lastIndexOf('/') + 1)
  const title = text.match(/<title>(.*)<\/title>/)?.[1] ?? name
  return { title, html: `<h1>${title}</h1>\n${instructions(path, name, text, root)}${listing}` }
}

const BARE_IMPORT = /(?:from |import\()'((?:@[\w-]+\/)?[a-z][\w.-]*)(?:\/[\w.-]+)?'/g
const RUN_TIME = `<p class="note">A bundler leaves out the modules that <code>preemptify.import</code> loads. Put them and
  their libraries into the folder of static files (<code>public</code> in Vite), and change the import map.</p>\n`
const BUNDLED = '<p class="note">If a bundler builds your page, omit the import map.</p>\n'

/**
 * The steps from an empty project to a running recipe. test/package/recipes.mjs takes these steps.
 *
 * @param {string} path @param {string} name @param {string} text @param {string} root
 */
function instructions(path, name, text, root) {
  const isPage = name.endsWith('.html')
  const packages = new Set(Array.from(text.matchAll(BARE_IMPORT), ([, name]) => name))
  for (const [, name] of text.matchAll(/node_modules\/([\w.-]+)/g)) packages.add(name)
  const part = text.match(/import\('\.\/([\w.-]+)'/)?.[1]
  const partLink = part && `, together with <a href="${root}read/examples/recipes/${part}/"><code>${part}</code></a>`
  const steps = [
    packages.size > 0 && `<code>npm install ${[...packages].join(' ')}</code>`,
    `Save the code below as <code>${name}</code>${isPage ? ' beside <code>node_modules</code>' : ''}${partLink ?? ''}.`
  ]
  if (isPage) steps.push('Serve the folder with any web server, for example <code>npx http-server</code>.')
  else if (/^\/\/ {3}/m.test(text)) steps.push('Import the function where you need it. The comment at the top shows a call.')
  else if (text.includes("'node:")) steps.push(`Run <code>node ${name}</code>.`)
  const list = steps.filter(Boolean).map(step => `<li>${step}`).join('\n')
  const running = isPage ? `<p><a href="${root}${path}">See it run</a></p>\n` : ''
  return `${running}<ol>\n${list}\n</ol>\n${isPage ? text.includes('preemptify.import(') ? RUN_TIME : BUNDLED : ''}`
}
