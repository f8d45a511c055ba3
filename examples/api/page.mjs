import { examplesOf, run } from './examples.mjs'
import { documentedModules } from './jsdoc.mjs'
import { keyOf, rendered } from './render.mjs'

const modules = await documentedModules(async url => (await fetch(url)).text())
const examples = examplesOf(modules)
const { overview, pages, found } = rendered(modules)

/** @param {string} id */
const element = id => /** @type {any} */ (document.getElementById(id))
const main = element('page')
const key = new URLSearchParams(location.search).get('module')
const current = modules.find(({ name }) => keyOf(name) === key)

main.innerHTML = current ? pages.get(current.name) : overview
main.removeAttribute('aria-busy')
if (current) document.title = `${current.name}.mjs – rt.mjs: API`

// ------------------------------------------------------------------------------------------------ the index

element('modules').innerHTML = modules.map(module => {
  const { name } = module
  const entries = found.filter(({ place, address }) => place === `${name}.mjs` && !/#(?:[A-Z]\w*[.]|rt[.]|type-)/.test(address))
  const unique = [...new Map(entries.map(entry => [entry.address, entry])).values()]
  const list = unique.map(({ address }) => `<li><a href="${address}">${address.split('#')[1]}</a></li>`).join('')
  return `<details${module === current ? ' open' : ''}><summary>${name}.mjs</summary><ul>
    <li><a href="?module=${keyOf(name)}"${module === current ? ' aria-current="page"' : ''}>Summary</a></li>${list}</ul></details>`
}).join('')

// On a narrow page, the index stands above the text and starts collapsed.
const index = element('index')
const isWide = matchMedia('(min-width: 60rem)')
const fit = () => { index.open = isWide.matches }
isWide.addEventListener('change', fit)
fit()

// ----------------------------------------------------------------------------------------------- the search

const MAX_RESULTS = 40
const field = element('search')
const results = element('results')

/**
 * Ranks a name for a search: equal names first, then names that start with the text, and names that contain it.
 *
 * @param {{ name: string, use: string }} entry @param {string} text @returns {number} Infinity if nothing fits
 */
function rankOf({ name, use }, text) {
  const last = name.split('.').at(-1).toLowerCase()
  if (name.toLowerCase() === text || last === text) return 0
  if (last.startsWith(text)) return 1
  if (name.toLowerCase().includes(text)) return 2
  return use.toLowerCase().includes(text) ? 3 : Infinity
}

function search() {
  const text = field.value.trim().toLowerCase()
  const ranked = text === '' ? [] : found.map(entry => ({ entry, rank: rankOf(entry, text) }))
    .filter(({ rank }) => rank < Infinity).toSorted((a, b) => a.rank - b.rank).slice(0, MAX_RESULTS)
  results.replaceChildren(...ranked.map(({ entry: { name, place, address, use } }) => {
    const link = Object.assign(document.createElement('a'), { href: address })
    const part = (tag, text) => Object.assign(document.createElement(tag), { textContent: text })
    link.append(part('b', name), ' ', part('small', place), part('span', use.replaceAll('`', '')))
    const item = document.createElement('li')
    item.append(link)
    return item
  }))
  results.hidden = text === ''
  index.hidden = text !== ''
  element('count').value = text === '' ? '' : ranked.length === 0 ? 'No export, member or option fits.' : ''
}
field.addEventListener('input', search)
field.form.addEventListener('submit', event => {
  event.preventDefault()
  results.querySelector('a')?.click()
})
addEventListener('keydown', event => {
  if (event.key !== '/' || /** @type {Element} */ (event.target).matches('input')) return
  event.preventDefault()
  field.focus()
})

// --------------------------------------------------------------------------------- places and runs of examples

/** Shows the element that the address names, in opened details. */
function showPlace() {
  const id = decodeURIComponent(location.hash.slice(1))
  const target = document.getElementById(id)
  if (!target) return
  for (let at = target; at; at = at.parentElement.closest('details')) if (at.matches('details')) at.open = true
  target.scrollIntoView()
}
addEventListener('hashchange', showPlace)
showPlace()

main.addEventListener('click', async ({ target }) => {
  if (!(target instanceof HTMLButtonElement)) return
  const { example } = target.parentElement.dataset
  const output = target.parentElement.querySelector('output')
  target.disabled = true
  const { said, wanted } = await run(examples.get(example), modules).catch(error => ({ said: String(error), wanted: '' }))
  output.value = said
  output.classList.toggle('wrong', said !== wanted)
  target.disabled = false
})
