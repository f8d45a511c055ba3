import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { install } from './pack.mjs'

const read = name => readFileSync(new URL(name, import.meta.url), 'utf8')
const { version } = JSON.parse(read('../../package.json'))

const test = suite('package')

test.before(context => {
  context.project = mkdtempSync(join(tmpdir(), 'rt-package-'))
  install(context.project, { declared: false })
})

test.after(({ project }) => rmSync(project, { recursive: true }))

const addons = readdirSync(new URL('../../addons', import.meta.url), { recursive: true })
  .filter(name => name.endsWith('.mjs')).map(name => `addons/${name}`).sort()

test('the package contains the files that its users import and no others', ({ project }) => {
  const files = readdirSync(join(project, 'node_modules/rt.mjs'), { recursive: true }).filter(name => /\./.test(name.slice(1))).sort()
  assert.equal(files, [
    'CHANGELOG.md', 'README.md', ...addons, 'alarms.mjs', 'examples/devtools.mjs', 'examples/gantt.mjs',
    ...['drawing', 'intervals', 'pens', 'picture', 'surroundings', 'words'].map(name => `examples/gantt/${name}.mjs`),
    'examples/node/register.mjs', 'examples/region.mjs', 'examples/service-worker/sw.mjs', 'examples/trace-events.mjs', 'package.json', 'rt.mjs', 'sync.mjs'])
})

test('an installed package works in Node', async ({ project }) => {
  writeFileSync(join(project, 'app.mjs'), read('./app.mjs'))
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: project })
  assert.equal(JSON.parse(stdout), { received: 4999950000, isTraced: true, chart: 'function' })
})

test('the changelog and the lock file have the version of the package', () => {
  assert.is(read('../../CHANGELOG.md').match(/^## \[(?!Unreleased)(.*?)\]/m)[1], version)
  assert.is(JSON.parse(read('../../package-lock.json')).version, version)
})

test('the version that addons know is the version of the package', async () => {
  assert.is((await import('../../addons/preemptify.mjs')).version, version)
})

test.run()
