// Tests of the hook that rewrites packages when Node loads them.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const root = new URL('../../', import.meta.url)
const N = 300
const LOOP = 'let s = 0; for (let i = 0; i < n; i++) s += i; return s'
/** A package that re-exports names of a required file, in the form that TypeScript emits. */
const REEXPORT = `'use strict'
Object.defineProperty(exports, '__esModule', { value: true })
var core = require('./core.js')
Object.keys(core).forEach(function (k) { if (k !== 'default' && !Object.prototype.hasOwnProperty.call(exports, k)) exports[k] = core[k] })
exports.twice = function (n) { return 2 * core.area(n) }`

/**
 * Writes files, starts one of them with the hook, and returns its output and the warnings.
 *
 * @param {Record<string, string>} files the texts by path; the text of `start` calls `spawn(work)`
 */
function run(files, start, query = '') {
  const folder = mkdtempSync(join(tmpdir(), 'register-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, name === start ? `${text}
async function spawn(work) {
  const { Scheduler, defaultHost } = await import(${JSON.stringify(new URL('rt.mjs', root).href)})
  let points = 0
  const host = { ...defaultHost(), now: () => (points++, performance.now()) }
  const value = await new Scheduler({ host }).spawn(work, { budget: 1 }, ${N})
  console.log(JSON.stringify({ value, isPreempted: points > ${N} }))
}
` : text)
    }
    const hook = new URL(`examples/node/register.mjs${query}`, root).href
    const output = execFileSync(process.execPath, ['--import', hook, join(folder, start)],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    return JSON.parse(output.trim().split('\n').at(-1))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const SHAPES = {
  'node_modules/shapes/package.json': '{ "name": "shapes", "main": "index.js" }',
  'node_modules/shapes/core.js': `#!/usr/bin/env node\nconst { Symbol } = globalThis; exports.area = function (n) { ${LOOP} }; if (this !== exports) throw new Error('this')`,
  'node_modules/shapes/index.js': REEXPORT
}

const hook = suite('the Node hook')

hook('a CommonJS application loads preemptible packages', () => {
  const { value, isPreempted } = run({ ...SHAPES, 'app.cjs': 'const { area } = require("shapes"); spawn(area)' }, 'app.cjs')
  assert.equal([value, isPreempted], [44850, true])
})

hook('a module imports names that a CommonJS package re-exports', () => {
  const { value, isPreempted } = run({ ...SHAPES, 'app.mjs': 'import { area, twice } from "shapes"; spawn(n => area(n) + twice(n))' }, 'app.mjs')
  assert.is(value, 3 * 44850)
  assert.is(isPreempted, false) // the arrow function was not rewritten
  assert.is(run({ ...SHAPES, 'app.mjs': 'import { area } from "shapes"; spawn(area)' }, 'app.mjs').isPreempted, true)
})

hook('the entry file of a CommonJS package is rewritten', () => {
  assert.is(run({ ...SHAPES, 'app.mjs': 'import { twice } from "shapes"; spawn(twice)' }, 'app.mjs').isPreempted, true)
})

hook('a package of modules is rewritten', () => {
  const files = {
    'node_modules/shapes/package.json': '{ "name": "shapes", "type": "module", "exports": "./index.js" }',
    'node_modules/shapes/index.js': `export function area(n) { ${LOOP} }`
  }
  assert.is(run({ ...files, 'app.mjs': 'import { area } from "shapes"; spawn(area)' }, 'app.mjs').isPreempted, true)
})

hook('?exclusive claims the listed packages as a whole', () => {
  const files = {
    'node_modules/shapes/package.json': '{ "name": "shapes", "type": "module", "exports": "./index.js" }',
    'node_modules/shapes/index.js': `let last = 0\nexport function area(n) { ${LOOP} }\nexport function keep(n) { last = n }`,
    'app.mjs': `import { readFileSync } from 'node:fs'
import { area } from "shapes"
import { Scheduler } from ${JSON.stringify(new URL('rt.mjs', root).href)}
const scheduler = new Scheduler({ slice: 0.001, budget: 1 })
let blocks = 0
scheduler.observe(({ type }) => { if (type === 'block') blocks++ })
await Promise.all([1, 2].map(() => scheduler.spawn(area, {}, ${100 * N})))
console.log(JSON.stringify({ isBlocked: blocks > 0 }))`
  }
  const isBlocked = query => run(files, 'app.mjs', query).isBlocked
  assert.equal(['', '?exclusive=other', '?exclusive=other,shapes', '?exclusive=true'].map(isBlocked), [false, false, true, true])
})

/** A package with a function `area` that calls another file, and two jobs that call `area`. */
const helped = (core, index) => ({
  'node_modules/shapes/package.json': '{ "name": "shapes" }',
  'node_modules/shapes/core.js': core,
  'node_modules/shapes/index.js': index ?? "const { sum } = require('./core'); const rows = [{ y: 1 }]; exports.area = n => sum(rows, n)",
  'app.mjs': `import shapes from "shapes"
import { Scheduler, defaultHost } from ${JSON.stringify(new URL('rt.mjs', root).href)}
let time = 0
const scheduler = new Scheduler({ host: { ...defaultHost(), now: () => time++ }, slice: 1, budget: 1 })
let jobs = []
let last
let switches = 0
scheduler.observe(({ type, job }) => {
  if (type !== 'resume' && type !== 'start') return
  if (last !== job) switches++
  last = job
})
const values = await Promise.all([1, 2].map(() => scheduler.spawn(shapes.area, {}, 50)))
console.log(JSON.stringify({ values, isFree: switches > 10 }))`
})

hook('functions of a CommonJS package are known before the package runs', () => {
  const sum = body => `exports.sum = (rows, n) => { let s = 0; for (let i = 0; i < n; i++) { ${body} } return s }`
  assert.equal(run(helped(sum('s += rows[0].y')), 'app.mjs'), { values: [50, 50], isFree: true })
  assert.equal(run(helped(sum('s += rows[0].y++')), 'app.mjs'), { values: [1275, 3775], isFree: false })
})

hook('a CommonJS file that another file replaces, or that is missing, is unknown', () => {
  const core = 'exports.sum = (rows, n) => { let s = 0; for (let i = 0; i < n; i++) s += rows[0].y; return s }'
  const use = "const rows = [{ y: 1 }]; exports.area = n => sum(rows, n)"
  const replace = `const file = require.resolve('./core'); require.cache[file] = { id: file, filename: file, loaded: true, exports: {
    sum(rows, n) { let s = 0; for (let i = 0; i < n; i++) s += rows[0].y++; return s } } }`
  assert.equal(run({ ...helped(core, "require('./replace'); module.exports = require('./use')"),
    'node_modules/shapes/replace.js': replace,
    'node_modules/shapes/use.js': `const { sum } = require('./core'); ${use}` }, 'app.mjs').isFree, false)
  const fallback = `let sum; try { ({ sum } = require('./missing')) } catch { ({ sum } = require('./core')) } ${use}`
  assert.equal(run(helped(core, fallback), 'app.mjs').values, [50, 50])
})

hook('a required file with a syntax error fails when Node requires it', () => {
  const index = "let name; try { require('./core') } catch (error) { name = error.name } exports.area = n => { let s = 0; for (let i = 0; i < n; i++) s++; return name + s }"
  assert.equal(run(helped('if (', index), 'app.mjs').values, ['SyntaxError50', 'SyntaxError50'])
})

hook('a CommonJS file requires JSON, built-in modules and modules', () => {
  const index = `const { size } = require('./size.json'); const path = require('path'); const fs = require('node:fs')
    let kind = 'none'; try { kind = require('./core.mjs').kind } catch {}
    exports.area = n => { let s = 0; for (let i = 0; i < n; i++) s += size; return path.basename('a/b') + fs.existsSync('/') + s }`
  const files = { ...helped('', index), 'node_modules/shapes/size.json': '{ "size": 2 }', 'node_modules/shapes/core.mjs': 'export const kind = 1' }
  assert.equal(run(files, 'app.mjs').values, ['btrue100', 'btrue100'])
})

hook('files outside packages stay unchanged', () => {
  assert.is(run({ 'own.cjs': `exports.area = function (n) { ${LOOP} }`, 'app.cjs': 'spawn(require("./own.cjs").area)' }, 'app.cjs').isPreempted, false)
})

hook.run()
