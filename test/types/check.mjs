// Checks the JSDoc of all modules and their unused bindings, packs them, and checks the uses of their declarations beside this
// file as a strict project that has installed the package, README's snippet among them. tsc must be on the path: `npm run types`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from '../package/pack.mjs'

const uses = fileURLToPath(new URL('.', import.meta.url))
const project = mkdtempSync(join(tmpdir(), 'rt-types-'))
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })

const root = fileURLToPath(new URL('../..', import.meta.url))
const modules = ['rt.mjs', 'alarms.mjs', 'sync.mjs', ...readdirSync(join(root, 'addons'), { recursive: true })
  .filter(name => name.endsWith('.mjs')).map(name => join('addons', name))]
const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable',
  '--typeRoots', 'none']

try {
  run('tsc', [...options, '--allowJs', '--checkJs', '--noUnusedLocals', '--noUnusedParameters', ...modules], root)
  install(project)
  const names = readdirSync(uses).filter(name => name.endsWith('.ts'))
  for (const name of names) copyFileSync(join(uses, name), join(project, name))
  const [, snippet] = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').match(/```ts\n([^]*?)```/)
  writeFileSync(join(project, 'readme.ts'), readFileSync(join(uses, 'readme.ts'), 'utf8').replace('// the snippet', () => snippet))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  run('tsc', [...options, ...names], project)
} catch (error) {
  if (error.status === undefined) throw error
  process.exitCode = 1
} finally {
  rmSync(project, { recursive: true })
}
