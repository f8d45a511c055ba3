/** The claims of CommonJS files that are analysed together. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { wrapped } from '../../../addons/preemptify/commonjs.mjs'
import { forgetAhead, treeAt } from '../../../addons/preemptify/graph.mjs'
import { withLimit } from '../../support/analysis-limit.mjs'
import { claimsInGraph, shown, titleOf } from '../../support/effects-watch.mjs'

const files = suite('CommonJS files')

const SUM = 'function sum(list) { let s = 0; for (const x of list) s += x.y; return s }'
const PUSH = 'function sum(list) { for (let i = 0; i < 9; i++) list.push(i) }'

/** The claims of a function `f` of a file that requires `./sum.cjs`. */
const claimsOfUser = (use, sum, others = {}) =>
  claimsInGraph({ './use.cjs': use, './sum.cjs': sum, ...others }).f

const exporting = {
  'exports.sum = sum': 'sum',
  'module.exports.sum = sum': 'sum',
  'module.exports = { sum }': 'sum',
  'module.exports = { get sum() { return sum } }': 'sum',
  'exports = module.exports = { sum }': 'sum',
  'module.exports = exports = {}; exports.sum = sum': 'sum',
  'const all = { sum }; module.exports = all': 'sum',
  'const all = {}; module.exports = all; all.sum = sum': 'sum',
  'module.exports = Object.freeze({ sum })': 'sum',
  'this.sum = sum': 'sum',
  'Object.assign(exports, { sum })': 'sum',
  'const name = "sum"; exports[name] = sum': 'sum',
  'Object.defineProperty(exports, "sum", { value: sum })': 'sum',
  'Object.defineProperty(exports, "sum", { enumerable: true, get: function () { return sum } })': 'sum',
  'for (const name of ["sum"]) Object.defineProperty(exports, name, { get: () => sum })': 'sum',
  '_export(exports, { sum: function () { return sum } }); function _export(target, all) { for (const name in all) Object.defineProperty(target, name, { get: all[name] }) }': 'sum',
  'exports.default = sum': 'default',
  'function all() {} module.exports = all; all.sum = sum': 'sum',
  '(function (root, factory) { if (typeof exports === "object") factory(exports); else factory(root.all = {}) })(this, function (exports) { exports.sum = sum })': 'sum',
  'module.exports = class { static sum(list) { return sum(list) } }': 'sum'
}
for (const [text, name] of Object.entries(exporting)) {
  files(`a call reaches the function of ${text.length < 40 ? text : `${text.slice(0, 36)} ...`}`, () => {
    for (const call of [`const all = require('./sum.cjs'); const rows = [{}]; exports.f = () => all.${name}(rows)`,
      `require('./sum.cjs'); const rows = [{}]; exports.f = () => require('./sum.cjs').${name}(rows)`]) {
      assert.match(claimsOfUser(call, `${text}\n${PUSH}`), /rows!/, call)
    }
  })
}

for (const text of [
  'exports.sum = sum', 'module.exports = { sum }', 'exports = module.exports = { sum }', 'this.sum = sum', 'Object.assign(exports, { sum })',
  'const all = {}; module.exports = all; all.sum = sum', 'Object.defineProperty(exports, "sum", { value: sum })',
  '_export(exports, { sum: () => sum }); function _export(target, all) { for (const name in all) Object.defineProperty(target, name, { get: all[name] }) }',
  'Object.defineProperty(exports, "sum", { enumerable: true, get: function () { return sum } })'
]) {
  files(`callers of a function that only reads claim nothing: ${text.slice(0, 20)} ...`, () => {
    for (const call of ["const { sum } = require('./sum.cjs'); const rows = [{}]; exports.f = () => sum(rows)",
      "const all = require('./sum.cjs'); const rows = [{}]; exports.f = () => all.sum(rows)"]) {
      assert.is(claimsOfUser(call, `${text}\n${SUM}`), '', call)
    }
  })
}

/** Compiled forms of `import sum from './sum.cjs'; export function f() { return sum(rows) }`, and of exports. */
const IMPORTS = {
  Babel: `var _sum = _interopRequireDefault(require('./sum.cjs'))
    function _interopRequireDefault(e) { return e && e.__esModule ? e : { default: e } }
    exports.f = function () { return (0, _sum.default)(rows) }`,
  TypeScript: `var __importDefault = (this && this.__importDefault) || function (mod) { return (mod && mod.__esModule) ? mod : { "default": mod } }
    const sum_1 = __importDefault(require('./sum.cjs')); exports.f = function () { return (0, sum_1.default)(rows) }`,
  tslib: `const tslib_1 = require('tslib'); const sum_1 = tslib_1.__importStar(require('./sum.cjs'))
    exports.f = function () { return sum_1.default(rows) }`,
  Rollup: `var sum = require('./sum.cjs'); function _interopDefaultLegacy(e) { return e && typeof e === 'object' && 'default' in e ? e : { 'default': e } }
    var sum__default = /*#__PURE__*/_interopDefaultLegacy(sum); exports.f = function () { return sum__default['default'](rows) }`,
  esbuild: `var import_sum = __toESM(require('./sum.cjs')); exports.f = function () { return (0, import_sum.default)(rows) }
    function __toESM(mod, isNodeMode) { const to = isNodeMode || !mod.__esModule ? { default: mod } : {}; for (const key in mod) to[key] ??= mod[key]; return to }`
}
const DEFAULTS = {
  'a function': 'module.exports = sum',
  'a marked export': 'exports.__esModule = true; exports.default = sum',
  'a defined mark': 'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = void 0; exports.default = sum',
  esbuild: `module.exports = __toCommonJS(src); var src = {}; __export(src, { default: () => sum })
    function __export(target, all) { for (const name in all) Object.defineProperty(target, name, { get: all[name], enumerable: true }) }
    function __toCommonJS(mod) { const to = {}; for (const key in mod) to[key] = mod[key]; return Object.defineProperty(to, '__esModule', { value: true }) }`
}
for (const [compiler, text] of Object.entries(IMPORTS)) {
  files(`a default import that ${compiler} compiled reaches the function`, () => {
    for (const [form, exported] of Object.entries(DEFAULTS)) {
      const use = `const rows = [{}]; ${text}`
      assert.match(claimsOfUser(use, `${exported}\n${PUSH}`), /rows!/, form)
      assert.is(claimsOfUser(use, `${exported}\n${SUM}`), '', form)
    }
  })
}

const STARS = {
  TypeScript: `var __exportStar = function (m, exports) { for (var p in m) if (p !== "default") exports[p] = m[p] }
    __exportStar(require('./sum.cjs'), exports)`,
  esbuild: `var src = {}; module.exports = __toCommonJS(src); __reExport(src, require('./sum.cjs'), module.exports)
    function __reExport(target, mod, second) { for (const key in mod) target[key] = mod[key] } function __toCommonJS(mod) { return mod }`
}
for (const [compiler, text] of Object.entries(STARS)) {
  files(`a name that ${compiler} re-exports reaches the function`, () => {
    const use = "const all = require('./all.cjs'); const rows = [{}]; exports.f = () => all.sum(rows)"
    const rest = 'exports.other = list => { list.push(1) }'
    assert.match(claimsOfUser(use, `exports.sum = sum; ${PUSH}; ${rest}`, { './all.cjs': text }), /rows!/)
    assert.is(claimsOfUser(use, `exports.sum = sum; ${SUM}; ${rest}`, { './all.cjs': text }), '')
  })
}

files('a property that no file assigns may hold an unknown function', () => {
  const use = "const { other } = require('./sum.cjs'); const rows = [{}]; exports.f = () => other(rows)"
  for (const text of ['exports.sum = sum', 'exports.sum = sum; exports[Math.random()] = sum']) assert.is(claimsOfUser(use, `${text}; ${PUSH}`), 'rows!')
})

files('a file that is not known makes its functions unknown', () => {
  const use = "const { sum } = require('./missing.cjs'); const rows = [{}]; exports.f = () => sum(rows)"
  assert.is(claimsOfUser(use, ''), 'rows!')
  const local = "const { sum } = require('./sum.cjs'); const rows = [{}]; exports.f = () => sum(rows); function require() { return unknown }"
  assert.is(claimsOfUser(local, `exports.sum = sum; ${SUM}`), 'rows!')
})

files('a function that may replace an export is known in all files', () => {
  const set = `exports.sum = sum; ${SUM}; exports.set = () => { exports.sum = ${PUSH} }`
  const use = "const all = require('./sum.cjs'); const rows = [{}]; exports.f = () => all.sum(rows)"
  assert.match(claimsOfUser(use, set), /rows!/)
  assert.match(claimsOfUser(use, set), /exports/)
  const add = "require('./sum.cjs').sum = list => { list.push(1) }"
  assert.match(claimsOfUser(`${use}; require('./add.cjs')`, `exports.sum = sum; ${SUM}`, { './add.cjs': add }), /rows!/)
  const pass = 'module.exports = object => { object.sum = list => { list.push(1) } }'
  const passing = `require('./pass.cjs')(exports); exports.sum = sum; ${SUM}`
  assert.match(claimsOfUser(use, passing, { './pass.cjs': pass }), /rows!/)
})

files('state of one file is claimed in another file', () => {
  const found = claimsInGraph({
    './use.cjs': "const { table } = require('./table.cjs'); exports.get = k => table[k] + 1; exports.set = (k, v) => { require('./table.cjs').table[k] = v }",
    './table.cjs': 'exports.table = {}'
  })
  assert.equal([found.get, found.set], ['module.exports.table', 'module.exports.table!'])
})

files('a constant of another file is no state', () => {
  const { f } = claimsInGraph({
    './use.cjs': "const { MAX } = require('./constants.cjs'); let n = 0; exports.f = x => x > MAX; exports.g = () => { n = {} }",
    './constants.cjs': 'const MAX = 5; module.exports = { MAX }'
  })
  assert.is(f, '')
})

files('files that require each other are analysed together', () => {
  const found = claimsInGraph({
    './one.cjs': `module.exports = one; const { sum } = require('./two.cjs'); const rows = [{}]; function one() { return sum(rows) }`,
    './two.cjs': `exports.sum = sum; const one = require('./one.cjs'); const lines = []; exports.f = () => one(lines); ${SUM}`
  })
  assert.equal([found.one, found.f, found.sum], ['', '', ''])
})

files('a file that functions require later is known if another file loads it', () => {
  const use = "const rows = [{}]; exports.f = () => require('./sum.cjs').sum(rows)"
  assert.match(claimsOfUser(use, `exports.sum = sum; ${SUM}`), /rows!/)
  assert.is(claimsOfUser(`${use}; require('./sum.cjs')`, `exports.sum = sum; ${SUM}`), '')
})

files('all files of a package count as functions of the package', () => {
  const texts = {
    './npm/large@1.0.0/index.cjs': "require('./more.cjs'); exports.f = list => { for (const x of list) x.y }; const own = []; exports.g = () => { own.push(1) }",
    './npm/large@1.0.0/more.cjs': 'function unused() {}'.repeat(20)
  }
  assert.is(claimsInGraph(texts).g, 'own!')
  assert.is(withLimit(15, () => claimsInGraph(texts)).g, 'the package!')
})

files('a file whose text changes after it was read ahead claims its package', () => {
  const text = "require('./b.cjs'); exports.f = () => 1"
  const get = specifier => ({ url: 'changed:/b.cjs', text: `exports.sum = sum; ${SUM}`, type: 'commonjs' })
  treeAt(wrapped(text), 'changed:/a.cjs', get, 'commonjs')
  const { plans } = treeAt(wrapped(`exports.sum = sum; ${SUM};`), 'changed:/b.cjs', get, 'commonjs')
  assert.equal(plans.map(plan => [titleOf(plan), shown(plan)]).at(-1), ['sum', 'the package!'])
})

files('a file that is required after its package has run claims the package', () => {
  const load = after => {
    const base = `late:/${after}/`
    const texts = { 'a.cjs': "if (x) require('./b.cjs'); exports.f = () => 1", 'b.cjs': 'let n = 0; exports.g = x => { n = x }' }
    const get = (specifier, from) => ({ url: new URL(specifier, from).href, text: texts[specifier.slice(2)], type: 'commonjs' })
    treeAt(wrapped(texts['a.cjs']), `${base}a.cjs`, get, 'commonjs')
    if (after) forgetAhead(`${base}a.cjs`)
    return shown(treeAt(wrapped(texts['b.cjs']), `${base}b.cjs`, get, 'commonjs').plans.at(-1))
  }
  assert.equal([load(false), load(true)], ['n!', 'the package!'])
})

files('a file that is loaded again claims its package if it uses state', () => {
  const text = wrapped('let n = 0; exports.f = x => { n = x }; exports.g = x => x.y')
  const get = () => undefined
  const load = () => treeAt(text, 'again:/a.cjs', get, 'commonjs').plans.slice(2).map(shown)
  assert.equal([load(), load()], [['n!', ''], ['the package!', '']])
})

files('the rewritten text of a CommonJS file is a CommonJS file', () => {
  const text = preemptify.source('#!/usr/bin/env node\nconst two = require("two"); exports.f = n => { for (; n > 9;) n /= two; return this === exports && n }',
    { type: 'commonjs' })
  const module = { exports: {} }
  new Function('exports', 'require', 'module', '__filename', '__dirname', text).call(module.exports, module.exports, () => 2, module)
  assert.is(module.exports.f(80), 5)
  assert.throws(() => preemptify.source('', { type: 'common' }), /type must be 'module' or 'script' or 'commonjs'/)
})

files('a cache that another package reads may call functions of its package', () => {
  const { set, f } = claimsInGraph({
    './node_modules/b/b.cjs': "const { cache } = require('../a/a.cjs'); exports.f = k => cache.get(k)",
    '../a/a.cjs': `const cache = new Map(); let n = 0; function make(k) { n += k; return {} }
      exports.set = k => { cache.set(k, make(k)) }; exports.cache = cache`
  })
  assert.equal([set, f], ['cache! n!', 'cache!'])
})

files('a file with a syntax error fails only when it is loaded', () => {
  const texts = { './use.cjs': "try { require('./bad.cjs') } catch {} exports.f = () => 1", './bad.cjs': 'if (' }
  assert.is(claimsInGraph(texts).f, '')
  assert.throws(() => claimsInGraph({ './bad.cjs': 'if (' }), SyntaxError)
  assert.throws(() => claimsInGraph({ './bad.cjs': '}); (function () {' }), SyntaxError)
})

files.run()
