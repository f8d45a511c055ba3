/**
 * Bundles modules of the project into one script, which creates new instances of the modules in any realm.
 */
import { readFileSync } from 'node:fs'
import { runInThisContext } from 'node:vm'

const root = new URL('../../', import.meta.url)
/** Import and export statements as the modules write them. */
const IMPORT = /^import (?:\{([^}]*)\} from )?'([^']+)'$/gm
const EXPORT_LIST = /^export \{([^}]*)\}$/gm
const DECLARED = /^(?:export )?(?:async )?(?:const|let|class|function\*?) ?([\w$]+)/gm

/**
 * Returns the text of a script whose value is an object with the wanted names.
 *
 * @param {string[]} entries paths from the root of the project
 * @param {string[]} names the names of top-level declarations, exported or not; of two files, the later one
 *   wins
 * @returns {string}
 */
export function bundled(entries, names) {
  /**
   * The number of each module, in the order in which the modules are evaluated.
   *
   * @type {Map<string, number>}
   */
  const numbers = new Map()
  const parts = []
  const owners = new Map()

  /** @param {URL} url */
  const visit = url => {
    if (numbers.has(url.href)) return
    numbers.set(url.href, -1)
    const source = readFileSync(url, 'utf8')
    for (const [, , from] of source.matchAll(IMPORT)) visit(new URL(from, url))
    const number = numbers.size * 1000 + parts.length
    numbers.set(url.href, number)
    const declared = [...source.matchAll(DECLARED)].map(([, name]) => name)
    for (const name of declared) if (names.includes(name)) owners.set(name, number)
    const given = [...new Set([...declared, ...[...source.matchAll(EXPORT_LIST)].flatMap(([, list]) => split(list))])]
    const text = source
      .replace(IMPORT, (_, list, from) => list ? `const { ${rename(list)} } = $${numbers.get(new URL(from, url).href)};` : '')
      .replace(EXPORT_LIST, '')
      .replace(/^export /gm, '')
      .replaceAll('import.meta', `({ url: '${url.href}' })`)
    parts.push(`const $${number} = (() => { ${text}\nreturn { ${given.map(accessor).join(', ')} } })()`)
  }
  for (const entry of entries) visit(new URL(entry, root))
  const result = names.map(name => `${name}: $${owners.get(name)}.${name}`)
  return `(() => { 'use strict'; ${parts.join('\n')}\nreturn { ${result.join(', ')} } })()`
}

const split = list => list.split(',').map(name => name.trim().split(' as ').at(-1)).filter(Boolean)
const rename = list => list.replaceAll(' as ', ': ')
/** Returns a getter, because a variable can change after its module has been evaluated. */
const accessor = name => `get ${name}() { return ${name} }`

/**
 * Creates another instance of the project's modules in this realm.
 *
 * @param {string[]} entries @param {string[]} names see `bundled` @returns {any} the named values
 */
export const instance = (entries, names) => runInThisContext(bundled(entries, names), { filename: 'rt.mjs' })
