/** The recipes as files of a strict project, with the packages that they import. */
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const recipes = fileURLToPath(new URL('../../examples/recipes/', import.meta.url))
const packages = fileURLToPath(new URL('../peers/node_modules/', import.meta.url))
const imported = ['fuse.js', 'react', 'svelte', 'vue', '@types/react', '@types/node']

/**
 * The script of a page. The names of its elements become variables of their types.
 *
 * @param {string} page @returns {string}
 */
function scriptOf(page) {
  const elements = [...page.matchAll(/<(\w+) id="(\w+)"/g)].map(([, tag, id]) =>
    `const ${id} = /** @type {HTMLElementTagNameMap['${tag}']} */ (document.getElementById('${id}'))`)
  const [, script] = page.match(/<script type="module">\n([^]*?)<\/script>/) ?? []
  if (script === undefined) throw new Error('the page has no module script')
  return `${elements.join('\n')}\n${script}`
}

/**
 * Writes the recipes into a project, and links the packages.
 *
 * @param {string} project @returns {string[]} the names of the files
 */
export function writeRecipes(project) {
  const modules = join(project, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  for (const name of imported) symlinkSync(join(packages, name), join(modules, name))
  writeFileSync(join(project, 'runes.d.ts'), '/// <reference types="svelte" />\n/// <reference types="node" />\n')
  const names = readdirSync(recipes).filter(name => /\.(?:html|m?js)$/.test(name))
  return ['runes.d.ts', ...names.map(name => {
    const text = readFileSync(join(recipes, name), 'utf8')
    const file = name.replace(/\.html$/, '.page.mjs')
    writeFileSync(join(project, file), name.endsWith('.html') ? scriptOf(text) : text)
    return file
  })]
}
