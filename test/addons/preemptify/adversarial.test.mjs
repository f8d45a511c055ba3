import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { assertAlike, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { drive } from '../../support/drive.mjs'

// Bodies of sloppy functions with the parameter `log`, by the syntax that they resemble.
const traps = {
  'a slash: division or regular expression': [
    'var a = 1, foo = 2, g = 3\n/foo/g\nreturn a',
    'var g = 2, a = 8\n/2/g\nreturn a',
    "if (log) /re/.test('re'); return 1",
    "while (log(0)) /re/.test('re'); return 1",
    'var o = { if(x) { return 8 } }, g = 2; return o.if(1) /4/g',
    'var o = { if: 8 }, g = 2; return o.if /4/g + o?.if /2/g',
    'var g = 1; return {} / 1 / g',
    'var g = 1; {} /1/g; return 2',
    'var x = function () {} / 2 / 1; return x',
    'function q() {} /2/.test(1); return 3',
    'class A {} /2/.test(1); return 3',
    'var x = class {} / 2; return x',
    'var i = 1; i++\n/2/1; return i',
    'var i = 4; return i-- / 2 / 1',
    'var a = x => x\n/1/g\nreturn 1; var g',
    'var a = x => {}\n/1/g\nreturn 1',
    "return /[/]/.test('/') / 1",
    'return /\\/[\\]/]/.source',
    'return typeof /a/ + void /b/g + -/c/',
    "switch (1) { case /a/ / 1: log(1); default: /x/.test('x') && log(2) }",
    "do /x/.test('x'); while (log(0)) /y/g.test('y')",
    'var f = () => /a/; return f() / 1',
    'return [/a/, /b/ / 2, {} / 1].length / 1',
    'return `${/}/}` / 1',
    'for (var x of [/a/]) /b/.test(x); return x / 2',
    'var of = 8, g = 2; return of /4/g',
    'var yield = 8, g = 2; return yield /4/g',
    'var let = 8, g = 2; return let /4/g',
    'var async = 8, g = 2; return async /4/g',
    "var a = 8, g = 2; return (a) /4/g + [8] /4/g + `8` /4/g + '8' /4/g + 8. /4/g",
    'return this /2/ 1',
    'return null /2/ 1',
    'x: /a/g; return 1',
    'if (0); else /a/g.test(1); return 3',
    'return log(1), /a/.source',
    "return !/a/.test('b') && /=/.test('=') || /*/*/ 3",
    'var a = 8; a /= 2; return a /= /2/.source'
  ],
  'a line end: the end of a statement or not': [
    'let\nx = 1; return x',
    'var let = 1; let\n= 2; return let',
    'var async = 3; async\nfunction f() {} return typeof f(async)',
    'for (;;) { return\n3 }',
    'var i = 0; for (;;) { if (i++ > 3) break\n} return i',
    'a: for (;;) { for (;;) { break\na } break }\nvar a',
    'log(1)\nlog(2)\n;(log)(3)',
    'var a = [1, 2]\n;[a[0], a[1]] = [a[1], a[0]]\nreturn a',
    'debugger; debugger\nreturn 1',
    ';;; return 1;;',
    'do ; while (log(0)) log(3)',
    'do { } while (log(0)) log(3)',
    'var i = 0; do i++; while (i < 3) i = 9; return i',
    'while (0) let\nx: return 1',
    'if (0) let\n{ log(1) } return 2; var let',
    'var a = 1, b = 2; a\n++b\nreturn [a, b]',
    'var a = log\n(1); return typeof a',
    'var x = 1\n+1; return x',
    'return 1\n, 2',
    'throw 1\n2',
    'var a = 1; /*\n*/ return a',
    'return /*\n*/ 3',
    'var yield = 2; yield\n* 2\nreturn yield',
    'const a = 1\nconst b = () => a\n;`${b()}`\nreturn b`x`'
  ],
  'a brace: a block, an object or a body': [
    '{ a: 1 } return { a: 1 }.a',
    '({ a: 1 }); return 2',
    'a: { b: { break a } } return 1',
    'return (() => ({}))() + (() => {})()',
    'return x => {} , 4',
    'if (1) {} {} return {}',
    'var f = function () {} ; {} return typeof f',
    'return [{}, {}].length',
    'switch (1) { case 1: {} default: ({}) } return 3',
    'return { f() {}, get g() { return {} }, [`h`]: {} }.g',
    'for (var k in {}) {} for (var x of [{}]) {} return x',
    'do {} while ({} === 1) return {}',
    'throw {}',
    'var { a = {} } = {}; return a',
    'try {} catch {} finally {} return {}',
    'return function () { return {} }()',
    'return class {}.name + {}',
    'var x = 1 ? {} : {}; return x',
    'return typeof {} + !{}',
    'l: {} return `${{}}`',
    'return { __proto__: { a: 1 }, async: 1, get: 2, static: 3 }.a'
  ],
  'a keyword that is a name': [
    'for (let of of [1, 2]) log(of)',
    'for (let of = 0; of < 3; of++) log(of)',
    'var of = [1]; for (var of of of) log(of)',
    'for (var let of [1, 2]) log(let)',
    'var let = [1]; for (let = 0; let < 3; let++) log(let); return let',
    'var let = [2]; return let[0]',
    'var let = [2]; if (1) throw let[0]',
    'var async = x => x; return async(1) + async (2)',
    'var async; for (async of => 3; async; ) log(1)',
    'var async = 1; for (async in { q: 1 }) log(async)',
    'var get = 1, set = 2, of = 3, static = 4, await = 5; return { get, set, of, static, await }',
    'return { if: 1, for: 2, new: 3 }.for + { class() { return 1 } }.class()',
    'return log?.\\u0063all?.(null, 3)',
    'return \\u0061(); function a() { return 4 }',
    'var \\u{62} = 3; return b',
    'var o = { async() { return 1 }, get() { return 2 }, set() { return 3 }, static() { return 4 }, ' +
      'await() { return 5 } }; return o.async() + o.get() + o.set() + o.static() + o.await()',
    'var { if: x, let: y = 2 } = { if: 1 }; return [x, y]',
    'var o = { async *a() {}, async b() {}, get c() { return 1 }, set c(x) {}, get get() { return 2 }, ' +
      'set set(x) {}, async async() {}, async get() {}, *static() {} }; return Object.keys(o)',
    'var x = async () => {}, y = async x => x, z = async (a, b) => { await a }, w = async function () ' +
      '{}; return [x, y, z, w].map(f => f.constructor.name)',
    'var async = (a, b) => a + b; return async (1, 2)\n+ async\n(3, 4)',
    'var target = 1; return { target }.target',
    'label: for (const as of [1]) { log(as); continue label }',
    'var undefined_ = undefined; return undefined_',
    'var enum_ = 1, NaN_ = NaN; return [enum_, NaN_]'
  ],
  'classes in a function': [
    'class A { static #x = 1; static { log(this.#x) } get; set; static; async; static static; static ' +
      'async = 1; static get = 2; \'x\' = 3; 1 = 2\ny\n*z() {} static get [3]() { return 4 } static { ' +
      'for (;;) break } accessor; in\na = 1; static async\nb() { return 4 } } return [Object.keys(new ' +
      'A()), Object.keys(A), A[3], A.prototype.b.name]',
    'class A { #x; static has(o) { return #x in o } } return A.has(new A())',
    'class A extends (log(1), Object) { constructor() { super(); log(super.toString === ' +
      'Object.prototype.toString) } } new A',
    'class A extends class { f() { return 1 } } { f() { return super.f() + 1 } } return new A().f()',
    'class A extends (class {}) {} return A.name',
    "return class { static [log('k')] = log('v') }.k",
    'return new class { a = log(1); b = () => this.a; c = [this.a, log(2)] }().b()',
    'class A { async *a() { for await (const x of []) yield x } static async b() { await 1 } static ' +
      '*[log(\'c\')]() { yield* [1] } } return Object.getOwnPropertyNames(A)',
    'class A { static async *#p() {} static { this.q = typeof this.#p } } return A.q',
    'class A { if() { return 1 } static for() { return 2 } get new() { return 3 } } return [new ' +
      'A().if(), A.for(), new A().new]',
    "class A { 'constructor'() { log(1) } } new A(); return A.length",
    'class A { get\nx() { return 1 } static\ny() { return 2 } } return [new A().x, A.y()]'
  ],
  'numbers, strings, templates': [
    'return 1..toString() + 1.0.toFixed() + 1.5.toFixed() + 0x1f.toString() + 1e3.toFixed() + ' +
      '017.toString() + 08.5.toFixed() + 1n.toString() + 1_000.5.toFixed()',
    'return [017.$x, 017.é, 1n.$x, 1..$x, 1.\u00a0+ 2, 1.\u2028/ 2, 1?.5e-1:.1e+1, [...[1.,2.]]]',
    'return [.5, 5., 5.e3, 5e-3, 0b11, 0o17, 0XfF, 0xen, 1e+3, 0.0, 00, 0]',
    'return 0xe+1',
    'return 1e+1+1',
    'var x = 5; return x ?.5 : 1',
    'return 1.+1',
    'return log`a${{ a: { b: `c${1}` } }.a.b}d`[0]',
    'return [...`${`${`}`}`}`]',
    'return `\\`\\${1}\\\\` + \'\\\'\' + "\\"" + `$` + `$$${1}{`',
    'return \'a\\\nb\' + `a\\\nb`',
    "return '  '.length + ` `.length",
    'return `a\r\nb\rc`.length',
    'return String.raw`\\u{}\\x${1}\\u`.length',
    "return '</script><!-- -->'",
    'return \'//\' + "/*" + `*/`',
    'return \'\\u{1F600}\'.length + \'\\x41\\101\''
  ],
  "HTML's comments": [
    '<!-- html\nreturn 3\n--> also\n',
    'var a = 4; a\n--> }\nreturn a',
    'var a = 4; /*\n*/ --> }\nreturn a',
    'var i = 3; while (i --> 0) log(i)',
    'var a = 4, b = 2; return a<! --b',
    'return 3 // c <!--\n<!-- d'
  ],
  'loops and what leaves them': [
    'let i = 0; do { if (i++ < 3) continue; log(i) } while (i < 6)',
    "let i = 0; do { try { if (i++ < 3) continue; log(i) } finally { log('f') } } while (log(i) < 6)",
    'let i = 0; l: do { for (;;) { if (i++ < 3) continue l; break l } } while (log(i) < 6)',
    'for (let i = 0, j = 9; log(i) < log(j); i++, j--) log(i, j)',
    "for (let i = 0; i < 5; log(i++)) { if (i == 2) continue; log('b') }",
    'for (var i = 0; i < 5; i++); return i',
    'var i; for (i in { a: 1, b: 2 }) ; return i',
    'for (var i = 7 in { }) ; return i',
    'l: for (const x of [1, 2, 3]) { for (const y of [1, 2, 3]) { if (y == 2) continue l; if (x == 2) ' +
      'break l; log([x, y]) } }',
    'l: { for (;;) { break l } }',
    "l: { try { for (;;) { break l } } finally { log('f') } }",
    'for (;;) { try { return log(1) } finally { break } } return 2',
    'for (var i = 0; i < 3; i++) { try { continue } finally { log(i) } }',
    'for (var i = 0; i < 3; i++) { try { return i } finally { if (i < 2) continue } }',
    'var n = 0; l: m: n: while (true) { while (true) { if (n++ < 3) continue m; break l } } return n',
    's: switch (1) { case 1: for (;;) { break s } } return 1',
    'for (var i = 0; i < 3; i++) switch (i) { case 0: continue; case 1: break; default: log(i) }',
    'while (log(0)) ; { log(1) }',
    'while (log.n = (log.n | 0) + 1, log.n < 4) ; return log.n',
    "for (log('init'); log(0), false; log('never')) ;",
    'for (;log.x = (log.x ?? 0) + 1, log.x < 5;) { log(log.x) }',
    'while (1) if (log) break; else log(2); return 3',
    'if (log(1)) do log.x = 1; while (0); else log(2); return log.x',
    'if (log(0)) for (;;); else while (log(0)); return 3',
    'var i = 0; while (i++ < 3) do log(i); while (0) return i',
    'if (0) if (1) log(1); else log(2); else log(3)',
    'do if (1) log(1); else log(2); while (0) log(3)',
    "for (var i = ('a' in { a: 1 }); i < 3; i++) log(i)",
    'for (var f = function () { for (var k in { a: 1 }) return k in { a: 1 } }; f; f = 0) log(f())',
    "for (let i = 0; i < 3; i++, i < 2 ? log('x') : 0) ;",
    'for (const x = 1; ; ) { return x }',
    'for (let i = 0, n = 2; i < n; i++) { let i = 5; log(i) }',
    'let a = 1; { let a = 2; for (; a < 5; a++) log(a) } return a',
    'for (let [a] = [1]; a < 3; a++) log(a)',
    'for (let { x } = { x: 0 }; x < 3; x++) log(x)',
    'for (var [a, b = log(1)] of [[1], [2, 3]]) log([a, b])',
    'for (var { length: l } in { abc: 1 }) log(l)',
    'for (log.x of [1, 2]) log(log.x)',
    'for ([log.x] of [[1], [2]]) log(log.x)',
    'for (let i = 0, s = { get x() { return log.x = (log.x ?? 0) + 1 } }; s.x < 4; i++) log(i)'
  ],
  'closures over variables of loops': [
    'var fs = []; for (let i = 0; i < 3; i++) fs.push(() => i++); return fs.map(f => [f(), f()])',
    'var fs = []; for (let i = 0, g = () => i; i < 3; i++) fs.push(g); return fs.map(f => f())',
    'for (let i = 0, a = [() => i]; i < 3; a.push(() => i), i++) { i += 0; if (i == 2) return a.map(f ' +
      '=> f()) }',
    'var fs = []; for (const x of [1, 2]) fs.push(() => x); return fs.map(f => f())',
    'var fs = []; for (let i = 0; fs.push(() => i), i < 3; i++); return fs.map(f => f())',
    'var fs = []; for (let i = 0; i < 3; fs.push(() => i), i++); return fs.map(f => f())',
    'var fs = []; for (var i = 0; i < 3; i++) fs.push(() => i); return fs.map(f => f())',
    'var fs = []; for (let i = 0; i < 3; i++) { let j = i; fs.push({ get x() { return i + j }, set ' +
      'x(y) { i = y } }) } return fs.map(f => (f.x = 5, f.x))',
    'var fs = []; for (let i = 0; i < 3; i++) fs.push(class { static x = i }); return fs.map(f => f.x)',
    "for (let i = 0; i < 3; i++) { setTimeout(() => i); eval('log(i)') }"
  ],
  'patterns and parentheses before an arrow': [
    'return ((a, b) => ({ a, b }))(1, 2)',
    'var f = a => b => c => a + b + c; return f(1)(2)(3)',
    'return (() => { for (let i = 0; ; i++) if (i > 3) return i })()',
    'return ((x) => x, 3)',
    'return (a => a) ? 1 : 2',
    'return (log ? a => a : b => b).length',
    'return (log ? (a, b) => (a) : (b) => b).length',
    'return (log ? (log) : (log) => 3) === log',
    'return [log ? (a) : a => 1, 2].length; var a',
    'return ((a, { b, c: [d = 3, ...e] = [] } = {}, ...[f, g = 4]) => [a, b, d, e, f, g])(1)',
    'var a, b; [a = log(1), [b] = [log(2)], ...{ length: log.z }] = [,, 3]; return [a, b, log.z]',
    "var { a, b: { c = log(1), ...d } = {}, [log('k')]: e = 3, ...f } = { k: 2 }; return [a, c, d, e, f]",
    'return ((a = (b, c = log(1)) => c, d = ((log(2)))) => [a(), d])()',
    'return (async ({ a }, [b]) => 1).length + (async () => 2).length',
    'var x = (1, log)(3), y = ((log))(4); return x + y',
    'return (() => {}).name + (function () {}).name'
  ],
  'functions in blocks': [
    'if (0) function f() { return 1 } else function g() {} return typeof f + typeof g',
    'l: function f() { return 3 } return f()',
    '{ function f() { return 3 } } return f()',
    "f(); function f() { log('f') } return typeof f;",
    'return typeof f; var f; function f() {}',
    'switch (1) { case 1: function f() { return 2 } } return f()',
    'try { function f() { return 2 } } finally { } return f()'
  ],
  'statements around statements': [
    'try { throw 1 } catch { log(1) } finally { log(2) }',
    'try { try { throw 1 } finally { log(1) } } catch ({ x = log(7) }) { return x }',
    'try { return log(1) } finally { log(2) }',
    'try { return 1 } finally { return 2 }',
    "switch (log(2)) { case log(1): log('a'); case log(2): { log('b'); break } default: log('c') }",
    "switch (3) { default: log('d'); case 1: log(1); break; case 2: log(2) }",
    'var x = log; x(1), x(2); (x)(3); (0, x)(4); new x(5)',
    'log(1); -log(2); log(3)\n;[4].forEach(x => log(x))',
    'delete log.x; void log(1); typeof log(2); !log(3); +log(4)',
    'if (1) log(1); else log(2) ; log(3)',
    "with ({ a: 1, get b() { return log('b') } }) { for (var i = 0; i < 3; i++) log([a, b]); return a }",
    'with ({ log(x) { return x } }) { log(1); while (log(0)) ; return log(2) }',
    'with ({ $budget: 1, $left: 2 }) { while (log(0)); return $budget + $left }',
    'return new.target',
    'return 2 ** 3 ** 0 + (-2) ** 2',
    'return log ? log ? 1 : 2 : 3',
    'var a = 1, b = 2; return a+++b + a- -b + a - --b'
  ]
}

const reading = suite('ambiguous tokens')

for (const [name, bodies] of Object.entries(traps)) {
  reading(name, () => {
    for (const body of bodies) {
      const source = `function (log) { ${body}\n}`
      try {
        assertAlike(sloppy(source))
      } catch (error) {
        error.message = `${source}\n${error.message}`
        throw error
      }
    }
  })
}

/** The compiler reads classes by a separate path, and classes are strict. */
function methodOf(body) {
  try {
    return sloppy(`class Trap { field = 1\n run(log) { ${body}\n}\n other() { ${body}\n} }`)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

for (const [name, bodies] of Object.entries(traps)) {
  reading(`${name}, in the methods of a class`, () => {
    const classes = bodies.map(methodOf).filter(Trap => Trap !== null)
    assert.ok(classes.length > 0)
    for (const Trap of classes) {
      assertAlike(Trap.prototype.run, {
        rewrite: (_, options) => preemptify(Trap, { ...options, methods: ['run'] }).prototype.run
      })
    }
  })
}

reading.run()

const spacing = suite('white space, line ends, comments')

// A middle dot allows white space, comments and line ends; a bullet requires them; a space is a space.
const dotted = [
  'function•name·(·log·,·{·a·=·1·,·...·b·}·=·{·c·:·2·}·,·...·[·d·]·)·{·for·(·let•i·=·0·;·i·<·3·;·++·i·)·' +
    'log·(·i·)·;·for·(·const•x•of·[·1·,·2·]·)·{·log·(·x·)·}·for·(·const•k•in·{·[·"k"·]·:·1·}·)·log·(·k·)·;·' +
    'return [·a·,·b·,·d·]·}',
  'function·(·log·)·{·"use strict"·;·let•n·=·2·;·while·(·n--·>·0·)·log·(·n·)·;·do•n++·;·while·(·n·<·3·)·' +
    'log·(·9·)·;·one·:·two·:·for·(·;·;·)·{·if·(·n--·<·0·)·break one·;·else•continue two·;·}·return this·}',
  'function·(·log·)·{·switch·(·1·)·{·case•1·:·log·(·1·)·;·default·:·log·(·2·)·;·}·try·{·throw 1·;·}·catch·' +
    '(·e·)·{·log·(·e·)·}·finally·{·log·(·3·)·}·return [·/[/]/g·,·`a${·log·(·4·)·}b`·,·log·?·.5·:·1·,·' +
    'log·?.·(·5·)·,·typeof•log·,·-·!·1·]·}',
  'function·(·log·)·{·return [·(·x·)=>·x·,·y=>·{·}·,·async (·)=>·{·}·,·class·{·static·#p·=·1·;·q·(·)·{·}·' +
    'get•r·(·)·{·}·}·]·.·length·}',
  '(·log·,·a·=·(·1·)·)=>·{·{·log·(·a·)·;·}·if·(·a·)·log·(·2·)·;·else•log·(·3·)·;·return typeof·(·a·)·+·-·a·}',
  'log=>·(·{·a·:·log·(·1·)·}·)'
]

/** The forms of white space. @type {Record<string, string>} */
const spaces = {
  'nothing': '',
  'a space': ' ',
  'a comment': '/* } ) ` \' / */',
  'a comment of lines': '/*\n} */',
  'a comment to the end of the line': '// } ) ` \'\n',
  'comments in turn': '/**//*/*/// /*\n/***/',
  'a line feed': '\n',
  'a carriage return': '\r',
  'both': '\r\n',
  'a line separator': '\u2028',
  'a paragraph separator': '\u2029',
  'a comment ended by a line separator': '// c\u2028',
  'a comment ended by a carriage return': '// c\r',
  'tabs': '\t\v\f',
  'unusual spaces': '\xa0\ufeff\u1680\u2000\u200a\u202f\u205f\u3000',
  "HTML's comment": '\n<!-- }\n',
  "HTML's closing comment": '\n--> }\n'
}

for (const [name, space] of Object.entries(spaces)) {
  spacing(`${name} between all tokens`, () => {
    for (const source of dotted) {
      assertAlike(sloppy(source.replaceAll('·', space).replaceAll('•', space || ' ')))
    }
  })
}

spacing('names may have letters of all alphabets, joiners and escapes', () => {
  for (const name of ['é', 'ℵ', '変数', '\u{20BB7}', 'a\u200cb', 'a\u200db', '℮', 'ªb', '$', '_', 'a·']) {
    const loop = `for (${name} = 0; ${name} < 3; ${name}++) log(${name})`
    assertAlike(sloppy(`function (log, ${name}) { ${loop}; return { ${name} } }`))
  }
  const loop = 'for (a\\u{62} = 0; ab < 3; \\u0061\\u0062++) log(ab)'
  assertAlike(sloppy(`function (log, \\u0061b) { ${loop}; return { \\u0061b } }`))
})

spacing('the source may contain generated names as variables, strings and in eval', () => {
  for (const body of [
    'var $budget = 1, $left = 2, $goes = 3; for (let i = 0; i < 2; i++) $left++; return [$budget, $left]',
    'var $calls = 4, $result = 5; return f(1); function f(x) { return x ? f(x - 1) : $calls + $result }',
    'var $holder = 1, $self = 2, $enter = 3, $run = 4, $plain = 5; return $holder + $self + $enter',
    'var budget = 1, $ = 3, $_ = 4, $budget_ = 5, $budget__ = 6; while (budget--) log($budget_); return $',
    'var \\u0024budget = 1; for (let i = 0; i < 2; i++) \\u0024budget++; return \\u0024budget',
    'eval("var $left = 7"); for (let i = 0; i < 2; i++); return typeof $left',
    'return { $budget: 1, $left() { return 2 } }.$left()'
  ]) assertAlike(sloppy(`function (log) { ${body} }`))
})

spacing('the source may declare names of globals that the rewritten text uses', () => {
  for (const name of ['undefined', 'Promise', 'eval', 'Symbol', 'Object', 'Reflect', 'globalThis']) {
    const body = `for (let i = 0; i < 3; i++) log(i); log(4); return typeof ${name}`
    assertAlike(sloppy(`function (log, ${name}) { ${body} }`))
  }
})

spacing.run()

const extent = suite('depth and size')

/** Returns 10,000, or half of the deepest nesting that the engine can parse: rewritten text nests deeper. */
function deepest(make) {
  let low = 16
  let high = 10000
  if (runs(make(high))) return high
  while (high - low > low / 16) {
    const middle = (low + high) >> 1
    if (runs(make(middle))) low = middle
    else high = middle
  }
  return low >> 1
}

function runs(source) {
  try {
    sloppy(source)(x => x)
    return true
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError) return false
    throw error
  }
}

const repeat = (text, n) => text.repeat(n)
const nests = {
  'parentheses': n => `function (log) { return ${repeat('(', n)}7${repeat(')', n)} }`,
  'arrays': n => `function (log) { return typeof ${repeat('[', n)}${repeat(']', n)} }`,
  'objects': n => `function (log) { return typeof ${repeat('{ a: ', n)}1${repeat('}', n)} }`,
  'patterns': n => `function (log) { try { var ${repeat('[', n)}a${repeat(']', n)} = 1 } catch {} }`,
  'calls': n => `function (log) { return ${repeat('log(', n)}7${repeat(')', n)} }`,
  'members': n => `function (log) { return ${repeat('log[', n)}7${repeat(']', n)} === undefined }`,
  'templates': n => `function (log) { return ${repeat('`a${', n)}7${repeat('}`', n)}.length }`,
  'blocks': n => `function (log) { ${repeat('{', n)} log(7) ${repeat('}', n)} }`,
  'if': n => `function (log) { ${repeat('if (log) ', n)} return 7 }`,
  'loops with braces': n => `function (log) { ${repeat('for (;;) { ', n)} return 7 ${repeat('}', n)} }`,
  'functions': n => `function (log) { return !${repeat('function () { return ', n)}7${repeat('}', n)} }`,
  'arrow functions': n => `function (log) { return typeof (${repeat('a => ', n)}7) }`,
  'arrow functions in brackets': n => `function (log) { return !${repeat('(a => ', n)}7${repeat(')', n)} }`,
  'classes': n => `function (log) { return typeof ${repeat('class { a = ', n)}7${repeat('}', n)} }`,
  'conditionals': n => `function (log) { return ${repeat('log ? ', n)}7${repeat(' : 1', n)} }`,
  'chained conditionals': n => `function (log) { return ${repeat('!log ? 1 : ', n)}7 }`,
  'unary operators': n => `function (log) { return ${repeat('- ', n)}7 }`,
  'else if': n => `function (log) { ${repeat('if (!log) log(1); else ', n)} return 7 }`,
  'labels': n => `function (log) { ${Array.from({ length: n }, (_, i) => `l${i}: `).join('')} { log(7) } }`,
  'try': n => `function (log) { ${repeat('try { ', n)} log(7) ${repeat('} finally {}', n)} }`,
  'assignments': n => `function (log) { var a; return ${repeat('a = ', n)}7 }`,
  'exponents': n => `function (log) { return ${repeat('1 ** ', n)}7 }`
}

for (const [name, make] of Object.entries(nests)) {
  extent(`${name} may nest 10,000 deep, or half as deep as the engine can parse`, () => {
    const depth = deepest(make)
    assert.ok(depth > 100, `the engine reads ${depth} only`)
    assertAlike(sloppy(make(depth)))
  })
}

extent('a thread with a large stack rewrites 10,000 nested brackets and templates', async () => {
  const worker = new Worker(new URL('../../fixtures/preemptify/deep.worker.mjs', import.meta.url), {
    resourceLimits: { stackSizeMb: 64 }
  })
  const [results] = await once(worker, 'message')
  assert.equal(results, [7, 'object', 30001, 7])
})

extent('a sum of 20,000 terms is rewritten', () => {
  assertAlike(sloppy(`function () { return ${repeat('1 + ', 20000)}1 }`))
  assertAlike(sloppy(`function (log) { let x = 1; return ${repeat('x + x * ', 10000)}x }`))
})

extent('20,000 statements, cases, arguments, elements and members are rewritten', () => {
  const n = 20000
  assertAlike(sloppy(`function (log) { let x = 0; ${repeat('x++; ', n)} return x }`))
  assertAlike(sloppy(`function (log) { let x = 0; ${repeat('if (x < 9) x++\n', n)} return x }`))
  const numbered = write => Array.from({ length: n }, (_, i) => write(i)).join('')
  assertAlike(sloppy(`function (log) { switch (-1) { ${numbered(i => `case ${i}: log(${i}); `)} } }`))
  assertAlike(sloppy(`function (log) { return [${repeat('1, ', n)}].length }`))
  assertAlike(sloppy(`function (log) { return Object.keys({ ${numbered(i => `a${i}: ${i}, `)} }).length }`))
  const chain = repeat('.a', 1000)
  assertAlike(sloppy(`function (log) { const f = { get a() { return f } }; return f${chain} === f }`))
})

extent('1,500 names are distinct although each name starts with the previous name', () => {
  let sum = 0
  const names = Array.from({ length: 1500 }, (_, i) => `$${'_'.repeat(i)}`)
  const source = `function (log) { let ${names.map(name => `${name} = 1`)}; for (let i = 0; i < 2; i++) log(i); ` +
    `return ${names.join(' + ')} }`
  const work = preemptify(sloppy(source))
  assert.is(drive(work(i => { sum += i }), { limit: 1 }), names.length)
  assert.is(sum, 1)
})

extent('an expression with 1,000 preemptible calls is rewritten', () => {
  const own = preemptify(sloppy(`function f(n) { return n ? ${repeat('f(n - 1) + ', 1000)}0 : 1 }`))
  for (const limit of [1, 7, 2 ** 30]) assert.is(drive(own(1), { limit }), 1000)
})

extent('preemptify keeps the text and code of a function, but not its syntax tree', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  const used = () => {
    gc()
    return process.memoryUsage().heapUsed
  }
  const source = i => `function f${i}(n, o) { let total = ${i}; ${repeat('if (n) { total += g(n); o.step(total) } ', 600)} ` +
    `return total + f${i}(n - 1, o) }`
  const calls = { g: preemptify(x => x), step: preemptify(x => x) }
  const made = []
  const before = used()
  for (let i = 0; i < 20; i++) made.push(preemptify(sloppy(source(i)), { calls, budgeted: i < 10 }))
  const kept = (used() - before) / made.length / made[0].source.length
  assert.ok(kept < 12, `${kept} bytes for each character of the text`)
})

extent('a function of 1 MB is rewritten', () => {
  const part = i => `
  function part${i}(x) { return x ? { a: [/[)}]/g.source, \`\${x}\`] } : (y => y / 2)(x) }
  for (let i = 0; i < 2; i++) { total += i * ${i} } // a comment }
  while (total > 1e6) total -= 1e6
  if (total % 3) log(total); else { total++ }
  switch (total & 1) { case 0: total += part${i}(0); break; default: do total++; while (total & 1) }
`
  let body = ''
  let parts = 0
  while (body.length < 2 ** 20) body += part(parts++)
  const fn = sloppy(`function (log) { let total = 0;${body} return total }`)
  const expected = []
  const result = fn(x => { expected.push(x) })
  const work = preemptify(fn)
  for (const limit of [7, 2 ** 30]) {
    const actual = []
    let spent = 0
    assert.is(drive(work(x => { actual.push(x) }), { limit, onPoint: points => { spent += points } }), result)
    assert.equal(actual, expected)
    assert.ok(spent > 3 * parts)
  }
})

extent.run()
