// Rewritten programs in a page have their native results in plain calls and in jobs, and preemption points in
// each kind of call.
import { Scheduler, defaultHost } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { show } from '../../examples/preemptify/values.mjs'
import { equal, ok, test } from './page.mjs'

const runtime = new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href
const scheduler = new URL('../../rt.mjs', import.meta.url).href
/** A comment that makes a text long enough for frames. Twins of a short text are mostly generators. */
const PADDING = `\n/*${'.'.repeat(20_000)}*/`

/** A function in which a job can be suspended, and that returns its argument. */
const STEP = 'function step(x) { for (var i = 0; i < 2; i++) log(i); return x }\n'

/** A function that calls another one. It returns the kind of its error, and whether the message has a word. */
const MESSAGE = `const messageOf = (f, word) => {
  try { return f() } catch (e) { return e.name + e.message.includes(word) }
}
`

/**
 * The scripts of a page. `main` is called twice in the realm of the page; `log` records effects. `plain`: a
 * script that is not rewritten.
 *
 * @type {Record<string, (string | { plain: string })[]>}
 */
const scripts = {
  'a function that another script assigns': [
    'function greet() { return step("old") } function main() { return greet() }',
    { plain: 'greet = () => "new"' }
  ],
  'a function that a property of the global object replaces': [
    'function greet() { return step("old") } function main() { const first = greet(); window.greet = () => step("new"); return [first, greet()] }'
  ],
  'a function that a second script declares again': [
    'function helper() { return step(1) } function main() { return helper() }', 'function helper() { return step(2) }'
  ],
  'a constant function, and a class that another script assigns': [
    `const fixed = () => step('fixed')
    let changed = () => step('old')
    class Shape { name() { return step('old') } }
    function main() { return [fixed(), changed(), new Shape().name()] }`,
    { plain: 'changed = () => "new"; Shape = class { name() { return "new" } }; try { fixed = 1 } catch (e) { log(e.name) }' }
  ],
  'a function that is replaced for a while': [
    `function read() { return step('file') }
    function main() {
      const real = window.read
      window.read = () => 'stub'
      try { return [read(), real(), window.read === real] } finally { window.read = real }
    }`
  ],
  'operands before a call that changes them': [
    `var n, o, f
    function change() { step(0); window.n++; window.o = { get: x => ['new', x] }; window.f = x => ['new', x]; return 'x' }
    function main() {
      n = 1, o = { get: x => ['old', x] }, f = x => ['old', x]
      return [n + change(), [n, change(), n], o.get(change()), f(change()), \`\${n}\${change()}\`, { n, x: change() }]
    }`
  ],
  'a case whose body changes its value': [
    'var n = 1; function change() { window.n = 2; return step(1) } function main() { switch (n) { case n: change(); return n; case 2: return "two" } }'
  ],
  'an operand that a function of another script changes': [
    'var sum = 1; function main() { return [sum * more() + sum, sum] }', 'function more() { sum += 5; return step(2) }'
  ],
  'block variables with the names of functions': [
    `function main() {
      function a() { return step('a') }
      function b() { return step('b') }
      function c() { return step('c') }
      { let a = step(1); log(a) }
      for (let b = 0; b < 2; b++) log(step(b))
      try { throw step(2) } catch (c) { log(step(c)) }
      return [a(), b(), c()]
    }`
  ],
  'a variable of a loop deep in functions': [
    `function main() {
      function one() { function two() { function three() { function four() {
        function r() { return 'r' }
        for (let r of [1, 2]) log(step(r))
        return step(r())
      } return step(four()) } return step(three()) } return step(two()) }
      return step(one())
    }`
  ],
  'holes of a template that change earlier holes': [
    `function main() {
      const list = [1, 2], o = { n: 0, toString() { return 'o' + this.n } }
      return [\`\${list}|\${step(list.pop())}|\${list}\`, \`\${o}-\${step(++o.n)}-\${o}\`, list + '|' + step(list.pop()) + list]
    }`
  ],
  'var arguments': [
    `function declared() { var arguments; step(1); return arguments.length }
    function assigned() { var arguments = step(5); return arguments }
    function main() { return [declared(1, 2), assigned(1)] }`
  ],
  'the shorthand __proto__': [
    `function main() { var __proto__ = { a: 1 }; const o = { __proto__, b: step(2) }; return [Object.keys(o), o.a] }`
  ],
  'super after a change of the prototype': [
    `class A { m() { return step('A') } static s() { return step('A.s') } }
    class B { m() { return step('B') } static s() { return step('B.s') } }
    class C extends A { m() { step(0); return super.m() } static s() { step(0); return super.s() } }
    Object.setPrototypeOf(C.prototype, B.prototype)
    Object.setPrototypeOf(C, B)
    const o = { __proto__: new A(), m() { step(0); return super.m() } }
    Object.setPrototypeOf(o, new B())
    function main() { return [new C().m(), C.s(), o.m()] }`
  ],
  'dead zones in loop heads, operands and cases': [
    `const nameOf = f => { try { return f() } catch (e) { return e.name } }
    function main() {
      let x = [1]
      return [
        nameOf(() => { for (let x of step(x)) log(x) }), nameOf(() => { for (let x in step(x)) log(x) }),
        nameOf(() => { const f = g => g(); const a = f(() => a * step(3)) }),
        nameOf(() => { switch (step(1)) { case 0: let v; case 1: return v } })
      ]
    }`
  ],
  'results of an inner iterator': [
    `function main() {
      let reads = 0, round = 0
      const inner = { [Symbol.iterator]() { return this }, next: () => ({ done: ++round > 2, get value() { return step(++reads) } }) }
      function* outer() { step(0); return yield* inner }
      const all = outer()
      return [all.next().done, reads, all.next().done, reads, all.next().done, reads]
    }`
  ],
  'callee of arguments in each spelling': [
    `function a() { step(0); return arguments['callee'] === a }
    function b(key) { step(0); return arguments[key] === b }
    function c() { var { callee } = arguments; step(0); return callee === c }
    function d() { const all = arguments; step(0); return calleeOf(all) === d }
    function calleeOf(list) { step(0); return list.callee }
    function main() { return [a(), b('callee'), c(), d(), (function (n) { return n < 2 ? 1 : n * arguments.callee(step(n - 1)) })(4)] }`
  ],
  'declarations that declare nothing': [
    `function main() {
      var list = [1], n = 0
      for (var {} = list; n < 2;) n += step(1)
      for (let [] = list; n < 4;) n += step(1)
      for (const [,] = list; n < 6;) n += step(1)
      for (var {} of [1, 2]) n += step(1)
      const {} = step(1), [] = step([])
      return n
    }`
  ],
  'comparators of booleans, and contradictions': [
    `function main() {
      const list = Array.from({ length: 30 }, (_, i) => i * 17 % 31)
      return [list.slice().sort((a, b) => step(a) > b), list.slice().sort((a, b) => step(a * 7 + b * 13) % 5 - 2)]
    }`
  ],
  'a script that declares var Symbol': [
    'var root = this; var Symbol = root.Symbol; function main() { return typeof step(Symbol.iterator) }'
  ],
  'a script that declares function Symbol': [
    'function Symbol(x) { return "symbol " + x } function main() { return step(Symbol("a")) }'
  ],
  'a script that declares let Reflect and const Symbol': [
    'let Reflect = "reflect"; const Symbol = "symbol"; function main() { return step(Reflect) + Symbol }'
  ],
  'a script that declares const Object, class Map and let Promise': [
    'const Object = 1; class Map {} let Promise, Array = 2, Math, Set; function main() { return step(Object) + Array + typeof new Map() }'
  ],
  'messages of calls of values that are no functions': [
    `${MESSAGE}function main(missing, o = { p: {} }) {
      return [messageOf(() => { step(0); return missing(1) }, 'missing is not'), messageOf(() => { step(0); return o.p.none(1) }, 'o.p.none is not')]
    }`
  ],
  'messages of new, and of calls of missing members': [
    `${MESSAGE}function main(missing, o = { p: {} }) {
      return [messageOf(() => { step(0); return new o.None(1) }, 'is not a constructor'), messageOf(() => { step(0); return o.none.more(1) }, 'undefined')]
    }`
  ],
  'messages of super and of loops': [
    `${MESSAGE}class A { run() { step(0); return super.none() } }
    function main(missing) { return [messageOf(() => new A().run(), '.none is not'), messageOf(() => { for (const x of missing) step(x) }, '')] }`
  ],
  'errors of made functions': [
    `const nameOf = f => { try { return f() } catch (e) { return e.name } }
    function main() { return [nameOf(() => step(new Function('return ('))), nameOf(() => step((0, eval)('let let'))), new Function('a', 'return a + 1')(step(1))] }`
  ]
}

for (const [name, parts] of Object.entries(scripts)) {
  test(`a page gives its native results, plainly and as a job: ${name}`, async () => {
    const expected = await resultsOf(parts, text => text, false)
    const source = text => preemptify.source(text, { type: 'script' })
    const padded = text => source(text + PADDING)
    equal(await resultsOf(parts, padded, true), expected, 'rewritten:')
    equal(await resultsOf(parts, source, true), expected, 'a short text:')
  })
}

/**
 * Loads scripts in a new frame, and calls `main` twice. In a rewritten page, the second call is a job that is
 * suspended at every point.
 *
 * @param {(string | { plain: string })[]} parts @param {(text: string) => string} source
 * @param {boolean} isRewritten
 * @returns {Promise<string[]>} each result with its effects
 */
async function resultsOf(parts, source, isRewritten) {
  const frame = document.createElement('iframe')
  document.body.append(frame)
  try {
    const page = /** @type {any} */ (frame.contentWindow)
    const add = (/** @type {string} */ text, type = '') => {
      page.document.head.append(Object.assign(page.document.createElement('script'), { type, textContent: text }))
    }
    await new Promise(resolve => {
      page.loaded = resolve
      if (isRewritten) add(`import { rt } from ${JSON.stringify(scheduler)}
        import { support } from ${JSON.stringify(runtime)}
        self[Symbol.for('rt.mjs')] = support
        loaded(self.rt = rt)`, 'module')
      else resolve(undefined)
    })
    /** @type {string[]} */
    let effects = []
    page.log = (/** @type {unknown} */ value) => effects.push(show(value))
    page.onerror = (/** @type {string} */ message) => effects.push(message)
    for (const part of [STEP, ...parts]) add(typeof part === 'string' ? source(part) : part.plain)
    const results = []
    for (const isJob of [false, isRewritten]) {
      effects = []
      const result = await (isJob ? page.rt.spawn(page.main, { budget: 1 }) : page.main())
      results.push(`${show(result)} after ${effects.join()}`)
    }
    return results
  } catch (error) {
    throw new Error(`${error}`) // the frame has its own Error
  } finally {
    frame.remove()
  }
}

/** A loop with N points, and an async function of it. */
const WORK = `const N = 300
function work(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }
async function later(n) { await null; return work(n) }
class Base { constructor(n) { this.sum = work(n) } method(n) { return work(n) } }
`

/** Modules whose `main` calls `work` a number of times. @type {Record<string, [calls: number, text: string]>} */
const modules = {
  'an arrow function of an async function': [1, 'const load = async n => later(n); export const main = async () => load(N)'],
  'a conditional await': [1, 'export async function main() { return N ? await later(N) : 0 }'],
  'a conditional and a logical return': [2, 'const a = async n => n ? later(n) : 0; const b = async n => n && later(n); export async function main() { return [await a(N), await b(N)] }'],
  'a return inside try': [1, 'async function main() { try { return later(N) } finally { await null } } export { main }'],
  'a call of an async function by a function': [1, 'const start = n => later(n); export async function main() { const p = start(N); return await p }'],
  'a promise that is awaited later': [1, 'export async function main() { const p = later(N); await null; return await p }'],
  'Promise.all of a map': [3, 'export const main = () => Promise.all([N, N, N].map(n => later(n)))'],
  'callbacks of then, catch and finally': [3, 'export const main = () => Promise.resolve(N).then(work).then(() => Promise.reject(N)).catch(work).finally(() => work(N))'],
  'an executor': [1, 'export const main = () => new Promise(resolve => resolve(work(N)))'],
  'queueMicrotask': [1, 'export const main = () => new Promise(resolve => queueMicrotask(() => resolve(work(N))))'],
  'for await': [2, 'async function* all() { yield work(N); yield work(N) } export async function main() { let s = 0; for await (const x of all()) s += x; return s }'],
  'a derived class of a base class': [1, 'class A extends Base { constructor(n) { super(n); this.k = 1 } } export const main = () => new A(N).sum'],
  'a loop and a method in a derived constructor': [2, 'class A extends Base { constructor(n) { super(n); this.k = this.method(n) } } export const main = () => new A(N).k'],
  'a derived class of a built-in class': [1, 'class A extends Map { constructor(n) { super([[1, 2]]); this.k = work(n) } } export const main = () => [new A(N).k, new A(0).size]'],
  'a derived class without a constructor': [1, 'class A extends Base {} class B extends A { k = 1 } export const main = () => new B(N).sum'],
  'the arguments of super': [1, 'class A extends Base { constructor(n) { super(work(n) && 1) } } export const main = () => new A(N).sum'],
  'Reflect.construct': [1, 'class A extends Base {} export const main = () => Reflect.construct(Base, [N], A) instanceof A'],
  'new Function': [1, 'const made = new Function("n", "let s = 0; for (let i = 0; i < n; i++) s += i; return s"); export const main = () => made(N)'],
  'Function without new, and a callback': [2, 'const made = Function("f", "n", "return f(n) + f(n)"); export const main = () => made(work, N)'],
  'the constructor of generator functions': [1, 'const Made = Object.getPrototypeOf(function* () {}).constructor; const made = new Made("n", "for (let i = 0; i < n; i++) yield i"); export function main() { let s = 0; for (const x of made(N)) s += x; return s }'],
  'indirect eval': [1, 'export const main = () => (0, eval)("(function (n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s })")(N)']
}

for (const [name, [calls, text]] of Object.entries(modules)) {
  test(`a job has points in ${name}`, async () => {
    const native = await moduleOf(WORK + text)
    const expected = show(await native.main())
    for (const padding of ['', PADDING]) {
      const { main } = await moduleOf(preemptify.source(WORK + text + padding, { runtime }))
      equal(show(await main()), expected, 'called plainly:')
      const { value, points } = await runAsJob(main)
      equal(show(value), expected)
      ok(points > calls * 300, `${points} points`)
    }
  })
}

/** Modules that run code where no job can be suspended. @type {Record<string, string>} */
const inOnePiece = {
  'a reviver and Symbol.hasInstance': 'const A = { [Symbol.hasInstance]: x => work(N) > x }; export const main = () => [JSON.parse("1", () => work(N)), 1 instanceof A]',
  'conversions': 'const o = { toString: () => String(work(N)), toJSON() { return work(N) }, valueOf() { return work(N) } }; export const main = () => [`${o}`, 1 + o, JSON.stringify(o)]',
  'an array pattern of a generator': 'function* all() { yield work(N) } export function main() { const [first] = all(); return first }',
  'a default value of a parameter': 'function f(n = work(N)) { return n } export const main = () => f()',
  'an accessor': 'const o = { get n() { return work(N) } }; export const main = () => o.n',
  'a class that a function declares': 'export function main() { class A { constructor(n) { this.n = work(n) } } return new A(N).n }',
  'an iterator written by hand': 'const o = { [Symbol.iterator]() { let n = 0; return { next: () => ({ done: n++ > 0, value: work(N) }) } } }; export function main() { let s = 0; for (const x of o) s += x; return s }',
  'a listener of an EventTarget': 'const t = new EventTarget(); t.addEventListener("x", () => { t.n = work(N) }); export function main() { t.dispatchEvent(new Event("x")); return t.n }',
  'a trap of a proxy': 'const o = new Proxy({}, { get: () => work(N) }); export const main = () => o.n'
}

for (const [name, text] of Object.entries(inOnePiece)) {
  test(`preemptify.report names a reason, or a job has points: ${name}`, async () => {
    const native = await moduleOf(WORK + text)
    const { main } = await moduleOf(preemptify.source(WORK + text + PADDING, { runtime }))
    const { value, points } = await runAsJob(main)
    equal(show(value), show(await native.main()))
    ok(points > 300 || preemptify.report(WORK + text).some(({ claims }) => claims === undefined), `${points} points, and an empty report`)
  })
}

/** @param {string} text @returns {Promise<any>} the namespace of a module */
async function moduleOf(text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  try {
    return await import(url)
  } finally {
    URL.revokeObjectURL(url)
  }
}

/** Runs a job that reads the clock at every point. @param {any} main */
async function runAsJob(main) {
  let points = 0
  const platform = defaultHost()
  const own = new Scheduler({ host: { ...platform, now: () => (points++, platform.now()) } })
  return { value: await own.spawn(main, { budget: 1 }), points }
}
