/**
 * Recognizes the address or the text of a module.
 *
 * @param {string} text
 * @returns {{ url?: string, text?: string } | null} null if the text is neither
 */
export function moduleIn(text) {
  const line = text.trim()
  if (/^(?:https?:\/\/|\.{0,2}\/(?!\*|\/))\S+$/.test(line)) return { url: line }
  return /^\s*(?:import\b\s*[\w{*'"]|export\b\s*(?:default|const|let|var|class|function|async|[{*]))/m.test(text) ? { text } : null
}

/**
 * Returns a function that evaluates a call in the scope of a module's exports. The default export is named
 * `main`.
 *
 * @param {{ url?: string, text?: string }} module
 * @param {string} call source of the call
 * @param {(url: string) => Promise<any>} importing imports a module
 * @returns {Promise<() => any>}
 */
export async function caller({ url, text }, call, importing) {
  if (call.trim() === '') throw new TypeError('enter a call, for example sort([3, 1, 2])')
  const address = url === undefined ? addressOf(text) : new URL(url, document.baseURI).href
  const names = Object.keys(await import(address))
    .filter(name => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name))
    .map(name => name === 'default' ? 'default as main' : name)
  const driver = addressOf(`import { ${names.join(', ')} } from ${JSON.stringify(address)}\nexport const call = () => (${call}\n)\n`)
  return (await importing(driver)).call
}

/** @type {Map<string, string>} */
const addresses = new Map()

/**
 * Returns a blob URL. Equal texts get the same URL, so that both ways import the same module.
 *
 * @param {string} text
 */
function addressOf(text) {
  if (!addresses.has(text)) addresses.set(text, URL.createObjectURL(new Blob([text], { type: 'text/javascript' })))
  return addresses.get(text)
}

/**
 * Returns the text of a module.
 *
 * @param {{ url?: string, text?: string }} module @returns {Promise<string>}
 */
export async function textOf({ url, text }) {
  if (url === undefined) return text
  const response = await fetch(url)
  if (!response.ok) throw new TypeError(`${url}: status ${response.status}`)
  return response.text()
}

/** Modules to start with. @type {import('./functions.mjs').Ready[]} */
export const readyModules = [
  {
    id: 'module',
    title: 'A module: classes, closures, callbacks, a sort',
    args: 'longest(60000)',
    text: `class Index {
  #words = new Map()

  add(word, place) {
    const places = this.#words.get(word) ?? []
    this.#words.set(word, [...places.slice(-8), place])
    return this
  }

  entries() {
    return [...this.#words].map(([word, places]) => ({ word, places }))
  }
}

function* letters(seed) {
  for (;;) yield String.fromCharCode(97 + (seed = seed * 16807 % 2147483647) % 6)
}

export function index(text, least) {
  const all = new Index()
  text.replace(/[a-e]+/g, (word, place) => {
    if (word.length >= least) all.add(word, place)
    return word
  })
  const byPlaces = (a, b) => b.places.length - a.places.length || (a.word < b.word ? -1 : 1)
  return all.entries().sort(byPlaces)
}

export function longest(length) {
  let text = ''
  for (const letter of letters(7)) if ((text += letter).length > length) break
  const prefixes = Array.from({ length: 40 }, (_, least) => index(text, least))
  return prefixes.flatMap(list => list.slice(0, 2)).reduce((a, b) => a.word.length > b.word.length ? a : b).word
}
`
  },
  {
    id: 'marked',
    title: 'A module by its address: marked, as published',
    args: "marked.parse('# Title\\n\\nA *long* text, `code` and [a link](/).\\n\\n'.repeat(2e4)).length",
    text: 'https://cdn.jsdelivr.net/npm/marked@17.0.1/lib/marked.esm.js'
  }
]
