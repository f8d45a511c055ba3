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

hook('files outside packages stay unchanged', () => {
  assert.is(run({ 'own.cjs': `exports.area = function (n) { ${LOOP} }`, 'app.cjs': 'spawn(require("./own.cjs").area)' }, 'app.cjs').isPreempted, false)
})

hook.run()
