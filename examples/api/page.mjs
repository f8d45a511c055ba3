import { examplesOf, memberId, programOf, run } from './examples.mjs'
import { bare, documentedModules } from './jsdoc.mjs'

/** @typedef {import('./jsdoc.mjs').Entry} Entry */
/** @typedef {import('./jsdoc.mjs').Comment} Comment */

const modules = await documentedModules(async url => (await fetch(url)).text())
const examples = examplesOf(modules)

/** Element ids of all exports and types, by name. @type {Map<string, string>} */
const places = new Map()
/** Types that the page mentions and therefore shows, by module. @type {Map<string, Set<string>>} */
const mentioned = new Map(modules.map(({ name }) => [name, new Set()]))
for (const { types } of modules) for (const name of types.keys()) places.set(name, `type-${name}`)
for (const { exports } of modules) for (const { name } of exports) places.set(name, name)

const escape = text => text.replace(/[&<>"]/g, letter => `&#${letter.charCodeAt(0)};`)

/**
 * Types that only reject invalid arguments. The page omits them, because they tell a reader nothing:
 * `W & Checked<W>` is shown as `W`.
 */
const checks = new Set(modules.flatMap(({ types }) => [...types.values()])
  .filter(({ comments: [{ text }] }) => text.startsWith('Rejects')).map(({ name }) => name))

/** @param {string} type @returns {string} */
function typeOf(type) {
  let shown = type.replace(/NoInfer<(\w+)>/g, '$1')
  for (const name of checks) {
    for (let at; (at = shown.indexOf(` & ${name}<`)) >= 0;) {
      let end = at + name.length + 4
      for (let depth = 1; depth > 0; end++) depth += shown[end] === '<' ? 1 : shown[end] === '>' && shown[end - 1] !== '=' ? -1 : 0
      shown = shown.slice(0, at) + shown.slice(end)
    }
  }
  return escape(shown).replace(/\b[A-Z]\w+\b/g, name => {
    if (checks.has(name)) return name
    const module = modules.find(({ types }) => types.has(name))
    if (module && places.get(name) !== name) mentioned.get(module.name).add(name)
    return places.has(name) ? `<a href="#${places.get(name)}">${name}</a>` : name
  })
}

/** Renders the Markdown of a comment as HTML. @param {string} text @returns {string} */
function prose(text) {
  return text.split(/^```\w*$/m).map((part, index) => index % 2 ? `<pre><code>${escape(part.trim())}</code></pre>` : part.split(/\n{2,}/)
    .filter(Boolean).map(paragraph => /^ {2}\S/.test(paragraph) ? `<pre>${escape(paragraph)}</pre>` : `<p>${inline(paragraph)}</p>`).join('')).join('')
}

const inline = text => escape(text).replace(/`([^`]+)`/g, (_, code) => places.has(code) && !code.startsWith('type-')
  ? `<a href="#${places.get(code)}"><code>${code}</code></a>` : `<code>${code}</code>`)

/** @param {import('./jsdoc.mjs').Tag[]} [tags] parameters or properties */
const list = (tags = []) => tags.length === 0 ? '' : `<dl>${tags.map(tag => {
  const name = `${bare(tag)}${tag.name?.startsWith('[') ? '?' : ''}`
  return `<dt><code>${name}</code>${tag.type ? ` <code class="type">${typeOf(tag.type)}</code>` : ''}<dd>${inline(tag.text)}`
}).join('')}</dl>`

/** @param {Comment} comment */
function body({ text, tags }) {
  const outcome = [
    ...(tags.returns ?? []).map(({ type, text }) => `<dt>returns <code class="type">${typeOf(type)}</code><dd>${inline(text)}`),
    ...(tags.throws ?? []).map(({ type, text }) => `<dt>throws <code class="type">${typeOf(type)}</code><dd>${inline(text)}`)
  ]
  return prose(text) + list(tags.param?.filter(({ type }) => type)) + list(tags.property) + (outcome.length ? `<dl>${outcome.join('')}</dl>` : '')
}

/**
 * @param {string} name
 * @param {number} level
 * @param {string} signature
 * @param {string} id
 * @param {string} inside
 */
const article = (level, signature, id, inside) =>
  `<article id="${id}"><h${level}><a href="#${id}">${escape(signature)}</a></h${level}>${inside}</article>`

/** @param {Entry} member */
function memberOf({ name, signature, comments }, owner) {
  const id = memberId(name, owner)
  const { tags = {} } = comments[0] ?? {}
  const type = (tags.type ?? tags.returns)?.[0].type
  // An accessor has no signature: the page shows its type and its text.
  if (!signature.endsWith(')')) {
    return `<dl id="${id}"><dt><code>${name}</code>${type ? ` <code class="type">${typeOf(type)}</code>` : ''}` +
      `<dd>${inline([comments[0]?.text, tags.returns?.[0].text].filter(Boolean).join(' '))}</dl>`
  }
  return article(4, signature, id, comments.map(body).join('') + exampleOf(id))
}

/** @param {Entry} entry */
function exportOf({ name, signature, comments, members, base }) {
  // The last comment belongs to the implementation: after the overloads, only its @throws tags are shown.
  const overloads = comments.filter(({ tags }) => tags.overload)
  const shown = overloads.length ? [...comments.filter(comment => !comment.tags.overload && comment.text), ...overloads,
    { text: '', tags: { throws: comments.at(-1)?.tags.throws ?? [] } }] : comments
  const isShown = base !== undefined && places.get(base) === base
  const inherited = isShown ? `<p>Extends <a href="#${base}"><code>${base}</code></a>.</p>` : ''
  return article(3, signature, name, shown.map(body).join('') + inherited +
    members.map(member => memberOf(member, name)).join('') + exampleOf(name))
}

/** @param {string} name */
const exampleOf = name => examples.has(name) ? `<details data-example="${name}"><summary>Example</summary><pre><code>${escape(programOf(examples.get(name), modules))}</code></pre>
  <p class="row"><button type="button">Run</button> <output role="status"></output></p></details>` : ''

const main = modules.map(({ name, exports }) => `<h2 id="module-${name}">${name}.mjs</h2>${exports.map(exportOf).join('')}<!--${name}-->`).join('')

/** Renders the types of a module, including the types that these types mention. */
function typesOf({ name, types }) {
  const shown = new Map()
  for (const type of mentioned.get(name)) {
    const { comments, members } = types.get(type)
    const [{ tags: { typedef = [] } }] = comments
    const own = typedef.length && typedef[0].type !== 'object'
      ? `<p><code class="type">${typeOf(typedef[0].type)}</code></p>${typedef[0].text ? `<p>${inline(typedef[0].text)}</p>` : ''}` : ''
    shown.set(type, article(4, type, `type-${type}`, comments.map(body).join('') + own + members.map(member => memberOf(member, type)).join('')))
  }
  return shown.size ? `<h3>Types of ${name}.mjs</h3>${[...shown.values()].join('')}` : ''
}
// A type can mention types of earlier modules, so later modules are rendered first.
const types = new Map(modules.toReversed().map(module => [module.name, typesOf(module)]))

const place = document.getElementById('modules')
place.innerHTML = main.replace(/<!--([\w/]+)-->/g, (_, name) => types.get(name))
place.removeAttribute('aria-busy')
document.getElementById('list').innerHTML = modules.map(({ name, exports }) =>
  `<p><a href="#module-${name}"><b>${name}.mjs</b></a> ${exports.map(({ name }) => `<a href="#${name}">${name}</a>`).join(' · ')}</p>`).join('')

place.addEventListener('click', async ({ target }) => {
  if (!(target instanceof HTMLButtonElement)) return
  const { example } = target.closest('details').dataset
  const output = target.parentElement.querySelector('output')
  target.disabled = true
  const { said, wanted } = await run(examples.get(example), modules).catch(error => ({ said: String(error), wanted: '' }))
  output.value = said
  output.classList.toggle('wrong', said !== wanted)
  target.disabled = false
})

// The element that the address names did not exist while the browser parsed the page.
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView()
