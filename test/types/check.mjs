// Checks the JSDoc of all modules and their unused bindings. Then packs the modules, installs the package in a
// strict project, and compiles the files beside this one, the snippets of README.md, the examples of the API
// and the recipes there. tsc must be on the path: `npm run types`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { examplesOf, programOf } from '../../examples/api/examples.mjs'
import { documentedModules } from '../../examples/api/jsdoc.mjs'
import { TYPED } from '../../examples/api/render.mjs'
import { install } from '../package/pack.mjs'
import { firstScript, importsFor, snippetsIn, surroundingsOf } from '../readme/snippets.mjs'
import { importPeers } from '../support/peers.mjs'
import { writeRecipes } from './recipe-files.mjs'

const uses = fileURLToPath(new URL('.', import.meta.url))
const project = mkdtempSync(join(tmpdir(), 'rt-types-'))
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })

const root = fileURLToPath(new URL('../..', import.meta.url))
const modules = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...readdirSync(join(root, 'addons'), { recursive: true })
  .filter(name => name.endsWith('.mjs')).map(name => join('addons', name))]
const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable',
  '--typeRoots', 'none']

/** Writes each snippet of the README as a file of the project. @returns {string[]} the names of the files */
function readmeFiles() {
  const texts = [...snippetsIn('js'), ...snippetsIn('ts')].map(text => {
    const program = `${surroundingsOf(text)[0].declared}\n${text}`
    return `${importsFor(program)}\n${program}`
  })
  const elements = 'declare const field: HTMLInputElement, found: HTMLOutputElement'
  texts.push(`${elements}\n${firstScript.replace(/https:\/\/esm\.sh\/(rt\.mjs)@[^/']*/g, '$1')}`)
  return texts.map((text, index) => {
    const name = `readme-${index}.ts`
    writeFileSync(join(project, name), `${text}\nexport {}\n`)
    return name
  })
}

/** Writes each example of the API as a file of the project. @returns {Promise<string[]>} the names of the files */
async function exampleFiles() {
  const modules = await documentedModules(url => readFileSync(url, 'utf8'))
  const programs = Array.from(examplesOf(modules), ([name, text]) => ({ name, text: programOf(text, modules) }))
  return [...programs, { name: 'overview', text: TYPED }].map(({ name, text }, index) => {
    // Some names differ only by case, and file systems may not.
    const file = `example-${index}-${name}.ts`
    writeFileSync(join(project, file), `${text}\nexport {}\n`)
    return file
  })
}

try {
  run('tsc', [...options, '--allowJs', '--checkJs', '--noUnusedLocals', '--noUnusedParameters', ...modules], root)
  install(project)
  const names = readdirSync(uses).filter(name => name.endsWith('.ts'))
  for (const name of names) copyFileSync(join(uses, name), join(project, name))
  names.push(...readmeFiles())
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  const strict = [...options, '--exactOptionalPropertyTypes']
  run('tsc', [...strict, ...names], project)
  run('tsc', [...strict, '--noUnusedLocals', ...await exampleFiles()], project)
  if (await importPeers('esbuild') !== null) {
    run('tsc', [...strict, '--skipLibCheck', '--allowJs', '--checkJs', ...writeRecipes(project)], project)
  }
} catch (error) {
  if (error.status === undefined) throw error
  process.exitCode = 1
} finally {
  rmSync(project, { recursive: true })
}
