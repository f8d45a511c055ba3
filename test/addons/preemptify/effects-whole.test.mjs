/** The claims of packages with too many functions for an analysis. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { lockOf } from '../../../addons/preemptify/claims.mjs'
import { withLimit } from '../../support/analysis-limit.mjs'
import { claimsIn, claimsInGraph } from '../../support/effects-watch.mjs'

const whole = suite('a package that is claimed as a whole')

/** The names of the functions that claim the whole package. */
const claiming = (text, type) => withLimit(0, () => Object.entries(claimsIn(text, type)))
  .filter(([, claims]) => claims === 'the package!').map(([name]) => name)

const functions = {
  'that uses its arguments and new objects claims nothing': [
    [], 'function f(list) { const sum = { n: 0 }; for (const x of list) sum.n += x.n; list.sum = sum; return [sum, this.a] }'
  ],
  'that calls constant functions claims nothing': [
    [], 'function f(a) { for (;;) g(a, new C()) } function g(a) { for (;;) a.b() } class C { c() { for (;;) this.d() } }'
  ],
  'that reads a constant with a primitive value claims nothing': [[], 'const limit = 5; function f(n) { return n < limit }'],
  'that uses a constant regular expression claims': [['f'], 'const word = /a/g; function f(s) { return word.test(s) }'],
  'that calls built-in functions claims nothing': [
    [], 'function f(x) { return Math.max(x, Math.PI * 2) + Object.keys(x).length + (x instanceof Map) + parseInt(x) + undefined }'
  ],
  'that uses a variable of an outer function claims': [['f', 'g'], 'let n = 0; function f() { return n } function g() { n = 1 }'],
  'that uses an object of its module claims': [['f'], 'const all = []; function f(x) { all.push(x) }'],
  'claims if an inner function uses its variable': [
    ['f', 'g'], 'function f() { const list = []; return function g(x) { list.push(x) } }'
  ],
  'that passes a function on claims, since the function may have properties': [['f'], 'function f(x) { x.h = g } function g() {}'],
  'that uses a global variable claims': [['f', 'g'], 'function f() { return state } function g() { document.title = "" }'],
  'that changes a built-in object claims': [
    ['f', 'g', 'h'], 'function f() { Math.a = 1 } function g(x) { x.o = Array } function h() { delete Number.a }'
  ],
  'that suspends claims': [['f', 'g'], 'async function f(a) { await a; a.b = 1 } function* g(a) { yield a; a.b = 1 }'],
  'with eval claims': [['f'], 'function f(text) { return eval(text) }'],
  'that calls a short function with a claim claims': [
    ['f', 'g'], 'let n = 0; function f(list) { for (const x of list) g() } function g() { n++ }'
  ],
  'that imports claims': [['f'], 'import { a } from "b"; function f() { return a() }']
}

for (const [title, [expected, text]] of Object.entries(functions)) {
  whole(`a function ${title}`, () => assert.equal(claiming(text), expected))
}

whole('a function that other scripts can replace may be called without a claim', () => {
  assert.equal(claiming('function f() { for (;;) g() } function g() { for (;;); }', 'script'), [])
  assert.equal(claiming('var n = 5; function f() { return n }', 'script'), ['f'])
})

whole('with the option exclusive, functions without state claim too', () => {
  const text = 'let n = 0; export function f(a) { for (;;) a() } export function g(a) { for (;;) n = a() }'
  const claims = result => Array.from(result.matchAll(/if\(\$X0\(/g)).length
  assert.is(claims(preemptify.source(text, { exclusive: true })), 2)
  assert.is(claims(withLimit(0, () => preemptify.source(text))), 1)
})

whole('the lock guards the packages that the text imports and requires', () => {
  const text = `import { state } from 'lib'
    let n = 0
    export async function f() { const { a } = await import('@scope/other/a.js'); n = a(state, require('third').b) }
    export { join } from 'node:path'`
  const url = 'https://page/npm/name@1.0.0/a.mjs'
  const [, names] = /lockOf\("(.*?)"/.exec(preemptify.source(text, { url, exclusive: true }))
  const of = name => [`package ${name}`, `exports of ${name}`]
  assert.equal(names.split('\\n').sort(), ['package name', ...of('lib'), ...of('@scope/other'), ...of('third')].sort())
})

whole('the lock of own code guards objects that unknown code can reach, and exports', () => {
  const text = 'let n = 0; export function f() { return n++ }'
  const result = preemptify.source(text, { url: 'https://page/app.mjs', exclusive: true })
  assert.match(result, /lockOf\("https:\/\/page\/app.mjs\\nunknown objects\\nglobal ",!0,!0\)/)
})

whole('a lock of all global variables is joined with the locks of single ones', () => {
  const earlier = lockOf('global effects-whole-earlier')
  const all = lockOf('effects-whole\nglobal ', true)
  const later = lockOf('global effects-whole-later')
  assert.is(earlier.peers, all.peers)
  assert.is(later.peers, all.peers)
  assert.not.ok(later.isIdle)
})

whole('a call of a method may reach a package that is not analysed', () => {
  const large = './npm/large@1.0.0/large.mjs'
  const texts = {
    './app.mjs': `import '${large}'
      const own = { list: [] }
      class A { visit(list) { for (const x of list) x.y; return list.length } }
      export function f(x) { x.visit(own.list) }
      export function g() { own.list.push(1) }`,
    [large]: `export class B { visit(list) { for (const x of list) list.push(x) } } ${'function unused() {}'.repeat(20)}`
  }
  assert.is(claimsInGraph({ ...texts, [large]: '' }).f, 'own')
  assert.is(withLimit(15, () => claimsInGraph(texts)).f, 'own!')
})

whole.run()
