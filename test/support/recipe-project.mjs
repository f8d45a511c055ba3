/** An empty project into which the pages of examples/recipes are pasted. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve } from '../../examples/server.mjs'
import { pasted } from '../../examples/site/read.mjs'
import { importPeers } from './peers.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const recipes = join(root, 'examples', 'recipes')
const fixtures = join(root, 'test', 'fixtures', 'recipes')
const packages = join(root, 'test', 'peers', 'node_modules')

/** The pages of recipes. */
export const pages = readdirSync(recipes).filter(name => name.endsWith('.html'))
/** The frameworks that have a recipe, and the entry of the component that uses it. */
export const frameworks = { React: 'react.jsx', Vue: 'vue.js', Svelte: 'svelte.js' }

/** Libraries that the pages import. */
const imported = ['fuse.js', 'marked']

/** Compiles components and modules of Svelte. @param {any} svelte the compiler of Svelte */
const sveltePlugin = svelte => ({
  name: 'svelte',
  setup(build) {
    build.onLoad({ filter: /\.svelte(\.js)?$/ }, ({ path: filename }) => {
      const compile = filename.endsWith('.js') ? svelte.compileModule : svelte.compile
      return { contents: compile(readFileSync(filename, 'utf8'), { filename }).js.code }
    })
  }
})

/** @returns {Promise<string | null>} the folder of the project; null if packages are missing */
async function create() {
  const peers = await importPeers('esbuild', 'svelte/compiler')
  if (peers === null) return null
  const [esbuild, svelte] = peers.map(peer => peer.default)
  const project = mkdtempSync(join(tmpdir(), 'rt-recipes-'))
  process.on('exit', () => rmSync(project, { recursive: true }))
  for (const name of ['rt.mjs', 'alarms.mjs', 'sync.mjs', 'addons', 'package.json']) {
    cpSync(join(root, name), join(project, 'node_modules', 'rt.mjs', name), { recursive: true })
  }
  for (const name of imported) cpSync(join(packages, name), join(project, 'node_modules', name), { recursive: true })
  cpSync(join(root, 'test', 'browser', 'problems.js'), join(project, 'problems.js'))
  for (const name of readdirSync(recipes)) cpSync(join(recipes, name), join(project, name))
  for (const page of pages) {
    const text = pasted(readFileSync(join(recipes, page), 'utf8'))
    writeFileSync(join(project, page), text.replace('<html', '<script src="problems.js"></script><html'))
  }
  for (const [name, entry] of Object.entries(frameworks)) {
    const folder = join(project, name)
    mkdirSync(folder)
    await esbuild.build({
      entryPoints: [join(fixtures, entry)], outfile: join(folder, 'bundle.js'), bundle: true, format: 'esm',
      jsx: 'automatic', conditions: ['browser'], define: { 'process.env.NODE_ENV': '"development"' },
      nodePaths: [join(project, 'node_modules'), packages], plugins: [sveltePlugin(svelte)], logLevel: 'error'
    })
    writeFileSync(join(folder, 'index.html'), `<!doctype html><script src="../problems.js"></script>
      <link rel="icon" href="data:,"><main></main><script type="module" src="bundle.js"></script>`)
  }
  return project
}
/** @type {Promise<string | null> | undefined} */
let created

/**
 * Serves the project.
 *
 * @param {(address: string) => Promise<unknown>} use
 * @returns {Promise<any>} the result of `use`; false if packages are missing
 */
export async function withProject(use) {
  const project = await (created ??= create())
  if (project === null) return false
  const server = await serve({ root: project, port: 0, isolated: false })
  try {
    return await use(server.address)
  } finally {
    await server.close()
  }
}
