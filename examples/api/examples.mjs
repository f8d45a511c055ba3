/** The examples in the JSDoc of the modules: as texts, as programs to copy, and as runs. */

/**
 * @typedef {import('./jsdoc.mjs').Entry} Entry
 * @typedef {{ name: string, namespace: Record<string, unknown>, exports: Entry[] }} Module
 */

/**
 * Returns the examples of exports and of their members, by name: for example `Job` and `Job.cancel`.
 *
 * @param {Module[]} modules @returns {Map<string, string>}
 */
export function examplesOf(modules) {
  /** @type {Map<string, string>} */
  const examples = new Map()
  for (const { name, comments, members } of modules.flatMap(({ exports }) => exports)) {
    const entries = [{ name, comments }, ...members.map(member => ({ ...member, name: memberId(member.name, name) }))]
    for (const { name, comments } of entries) {
      const [example] = comments.flatMap(({ tags }) => tags.example ?? [])
      if (example) examples.set(name, example.text)
    }
  }
  return examples
}

/** @param {string} member @param {string} owner @returns {string} a name like `Job.cancel` */
export const memberId = (member, owner) => member.includes('.') ? member : `${owner}.${member}`

/**
 * Returns the exports that an example uses, by module.
 *
 * @param {string} text @param {Module[]} modules @returns {{ module: Module, names: string[] }[]}
 */
function usedBy(text, modules) {
  const code = text.replace(/'[^'\n]*'|\/\/.*/g, '')
  const isUsed = name => new RegExp(`(?<![.\\w])${name}\\b(?!:)`).test(code)
  const isDeclared = name => new RegExp(`(?:const|let|function) ${name}\\b`).test(code)
  return modules.map(module => {
    const names = module.exports.map(({ name }) => name).filter(name => isUsed(name) && !isDeclared(name))
    return { module, names: names.sort() }
  }).filter(({ names }) => names.length > 0)
}

/**
 * Returns an example as a program that a reader can copy: its imports and its text.
 *
 * @param {string} text @param {Module[]} modules @returns {string}
 */
export function programOf(text, modules) {
  const imports = usedBy(text, modules).map(({ module: { name }, names }) => {
    const from = name === 'rt' ? 'rt.mjs' : `rt.mjs/${name.replace('addons/', '')}`
    return `import { ${names.join(', ')} } from '${from}'\n`
  })
  return imports.join('') + text
}

const AsyncFunction = /** @type {any} */ ((async () => {}).constructor)

/**
 * Runs an example.
 *
 * @param {string} text @param {Module[]} modules
 * @returns {Promise<{ said: string, wanted: string }>} `said`: the values that the example logged; `wanted`:
 *   the values that its comments with arrows state
 */
export async function run(text, modules) {
  const used = usedBy(text, modules).flatMap(({ module: { namespace }, names }) => names.map(name => [name, namespace[name]]))
  /** @type {string[]} */
  const said = []
  const log = (...values) => {
    for (const value of values) said.push(typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  await new AsyncFunction('console', ...used.map(([name]) => name), text)({ log }, ...used.map(([, value]) => value))
  const wanted = [...text.matchAll(/\/\/ → (.*)$/gm)].map(([, values]) => values)
  return { said: said.join(', '), wanted: wanted.join(', ') }
}
