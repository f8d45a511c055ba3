// Functions that a program makes from text.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { compiler } from '../../../addons/preemptify/made.mjs'
import { assertLikeNative, pointsOf, rewrittenModule } from '../../support/modules.mjs'

/** Bodies of a function `main`. */
const PROGRAMS = {
  'new Function': 'return new Function("a", "b = 2", "for (var i = 0; i < 3; i++) a += i; return a + b")(1)',
  'Function': 'return Function("for (var i = 0; i < 3; i++); return [i, this === globalThis, typeof arguments]")()',
  'apply, call and bind': 'const text = "let s = 0; for (const x of arguments) s += x; return s"; return [Function.apply(null, [text])(1, 2), Function.call(null, text)(3), Function.bind(null, text)()(4)]',
  'Reflect.construct': 'return Reflect.construct(Function, ["for (;;) return 5"])()',
  'names, lengths and prototypes': 'const f = new Function("a", "b", "for (;;) return 1"); return [f.name, f.length, f.constructor === Function, f instanceof Function, Object.getPrototypeOf(f) === Function.prototype, typeof f.prototype]',
  'no scope': 'const local = 1; globalThis.made = 2; try { return new Function("for (;;) return [typeof local, made]")() } finally { delete globalThis.made }',
  'strict functions': 'return new Function("\\"use strict\\"; for (;;) return this === undefined")()',
  'parameters with comments': 'return new Function("a, b /* second */", "c // third", "for (;;) return [a, b, c]")(1, 2, 3)',
  'syntax errors': 'const all = []; for (const list of [["return }"], ["a b", ""], ["/*", "*/){"]]) try { new Function(...list) } catch (e) { all.push(e.name + e.message) } return all',
  'errors of conversions': 'try { new Function({ toString() { throw new RangeError("x") } }) } catch (e) { return e.message }',
  'the name anonymous': 'return [typeof new Function("for (;;) return typeof anonymous")(), new Function("for (;;) return typeof anonymous")()]',
  'the text of a short function': 'return String(new Function("a", "return a"))',
  'functions in functions': 'const make = Function("n", "return { add(x) { for (let i = 0; i < 2; i++) x += n; return x } }"); return make(3).add(4)',
  'each call makes another function': 'const make = () => new Function("for (;;) return 1"); return make() === make()',
  'new of a made function': 'const F = new Function("for (this.x = 0; this.x < 3;) this.x++"); return [new F().x, new F() instanceof F]',
  'async functions': 'const { constructor: AsyncFunction } = async () => {}; return new AsyncFunction("a", "for (let i = 0; i < 2; i++) a += await i; return a")(1)',
  'generator functions': 'const { constructor: GeneratorFunction } = function* () {}; return [...new GeneratorFunction("n", "for (let i = 0; i < n; i++) yield i")(3)]',
  'async generator functions': 'const { constructor: Made } = async function* () {}; const all = []; for await (const x of new Made("n", "for (let i = 0; i < n; i++) yield i")(3)) all.push(x); return all',
  'a derived class': 'class Own extends Function { constructor() { super("for (;;) return 7") } } const f = new Own(); return [f(), f instanceof Own]',
  'indirect eval': 'const value = (0, eval)("var declared = 5; for (var i = 0; i < 3; i++); declared + i"); try { return [value, declared, typeof i] } finally { delete globalThis.declared; delete globalThis.i }',
  'indirect eval of a function': 'return (0, eval)("(function (n) { for (let i = 0; i < 3; i++) n += i; return n })")(1)',
  'indirect eval without a value': 'return [(0, eval)("function declared() { for (;;) return 1 }"), declared(), delete globalThis.declared]',
  'indirect eval of what is no text': 'const o = {}; return [(0, eval)(o) === o, (0, eval)()]',
  'errors of indirect eval': 'try { (0, eval)("for (;;) throw new RangeError(1)") } catch (e) { return e.name }',
  'direct eval': 'const local = 4; return eval("let s = 0; for (let i = 0; i < 3; i++) s += local; s")'
}

const made = suite('functions made from text')

for (const [name, body] of Object.entries(PROGRAMS)) {
  made(`a job makes functions like native code: ${name}`, () => assertLikeNative(`export async function main() { work(1); ${body} }`))
}

const LOOP = 'let s = 0; for (let i = 0; i < n; i++) s += i; return s'
const PIECES = {
  'a function by new Function': `new Function('n', '${LOOP}')(500)`,
  'a function by Function': `Function('n', '${LOOP}')(500)`,
  'a function in a made function': `Function('return { f(n) { ${LOOP} } }')().f(500)`,
  'a function that plain code made': 'made(500)',
  'a made async function': `await new (async () => {}).constructor('n', 'await null; ${LOOP}')(500)`,
  'a function of indirect eval': `(0, eval)('(function (n) { ${LOOP} })')(500)`
}

for (const [name, body] of Object.entries(PIECES)) {
  made(`a job is preempted in ${name}`, async () => {
    assert.ok(await pointsOf(`const made = new Function('n', '${LOOP}'); export async function main() { ${body} }`) > 500)
  })
}

made('a text is rewritten once', async () => {
  const { rewrite } = compiler
  let count = 0
  compiler.rewrite = text => (count++, rewrite(text))
  try {
    const { main } = await rewrittenModule('export const main = () => { for (let i = 0; i < 5; i++) new Function("for (;;) return " + 12345)() }')
    await new Scheduler().spawn(main)
    assert.is(count, 1)
  } finally {
    compiler.rewrite = rewrite
  }
})

made('without the compiler made functions are native', async () => {
  const { rewrite } = compiler
  compiler.rewrite = null
  try {
    const { main } = await rewrittenModule('export const main = () => { for (let i = 0; i < 1; i++); return String(new Function("for (;;) return 1")) }')
    assert.is(await new Scheduler().spawn(main), String(new Function('for (;;) return 1')))
  } finally {
    compiler.rewrite = rewrite
  }
})

made.run()
