import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { internals } from '../../support/phases.mjs'

const { read } = internals('read')

/**
 * Returns a tree as text: the type, the properties and the parts of each node, in the order of the source. A node
 * without parts is shown as its source.
 *
 * @param {string} source @param {any} node @returns {string}
 */
function printed(source, node) {
  if (node === null) return '-'
  const { type, start, end } = node
  const words = [type.replace(/(Expression|Statement|Declaration)$/, '')]
  /** @type {[number, string][]} */
  const parts = []
  for (const [key, value] of Object.entries(node)) {
    if (value === true) words.push(key)
    else if (/^(kind|operator)$/.test(key) && !/^(init|method)$/.test(value)) words.push(value)
    else if (key === 'directive' && value !== undefined) words.push('directive')
    else if (key === 'parent' || typeof value !== 'object' || value === null || value.length === 0) continue
    else if (!Array.isArray(value)) parts.push([value.start, printed(source, value)])
    else parts.push([value[0]?.start ?? start, `[${value.map(part => printed(source, part)).join(' ')}]`])
  }
  if (!parts.length) return source.slice(start, end)
  parts.sort((a, b) => a[0] - b[0])
  return `(${[...words, ...parts.map(([, text]) => text)].join(' ')})`
}

const reading = suite('syntax trees')

/** Sources and their trees, a line for each statement. @type {Record<string, [string, string, string?][]>} */
const trees = {
  precedence: [
    ['a + b * c - d', '(Expression (Binary - (Binary + a (Binary * b c)) d))'],
    ['(a + b) * c', '(Expression (Binary * (Binary + a b) c))'],
    ['a ** b ** c', '(Expression (Binary ** a (Binary ** b c)))'],
    ['(-a) ** b', '(Expression (Binary ** (Unary - a) b))'],
    ['a || b && c | d ^ e & f == g < h << i + j * k',
      '(Expression (Logical || a (Logical && b (Binary | c (Binary ^ d (Binary & e (Binary == f (Binary < g (Binary ' +
        '<< h (Binary + i (Binary * j k)))))))))))'],
    ['a ?? b ?? c', '(Expression (Logical ?? (Logical ?? a b) c))'],
    ['a = b += c', '(Expression (Assignment = a (Assignment += b c)))'],
    ['a ? b : c ? d : e', '(Expression (Conditional a b (Conditional c d e)))'],
    ['a ? b = c : d = e', '(Expression (Conditional a (Assignment = b c) (Assignment = d e)))'],
    ['a = b ? c : d, e', '(Expression (Sequence [(Assignment = a (Conditional b c d)) e]))'],
    ['!a in b', '(Expression (Binary in (Unary ! a) b))'],
    ['typeof a.b instanceof c', '(Expression (Binary instanceof (Unary typeof (Member a b)) c))'],
    ['- - a++', '(Expression (Unary - (Unary - (Update ++ a))))'],
    ['await_ / b / c', '(Expression (Binary / (Binary / await_ b) c))'],
    ['a, (b, c), d', '(Expression (Sequence [a (Sequence [b c]) d]))'],
    ['delete a?.b.c + 1', '(Expression (Binary + (Unary delete (Chain (Member (Member optional a b) c))) 1))']
  ],
  'members, calls and new': [
    ['a.b[c](d)`e`.f',
      '(Expression (Member (TaggedTemplate (Call (Member computed (Member a b) c) [d]) `e`) f))'],
    ['a?.b[c](d)', '(Expression (Chain (Call (Member computed (Member optional a b) c) [d])))'],
    ['(a?.b).c', '(Expression (Member (Chain (Member optional a b)) c))'],
    ['a?.[b]?.(c)', '(Expression (Chain (Call optional (Member computed optional a b) [c])))'],
    ['new a', '(Expression (New a))'],
    ['new a.b(c).d(e)', '(Expression (Call (Member (New (Member a b) [c]) d) [e]))'],
    ['new new a()()', '(Expression (New (New a)))'],
    ['new (a().b)', '(Expression (New (Member (Call a) b)))'],
    ['new a`b`(c)', '(Expression (New (TaggedTemplate a `b`) [c]))'],
    ['new a[b()]', '(Expression (New (Member computed a (Call b))))'],
    ['a(...b, c,)', '(Expression (Call a [(SpreadElement b) c]))'],
    ['function f() { new new.target() }', '(Function f (Block [(Expression (New (MetaProperty new target)))]))'],
    ['import("a", b)', '(Expression (Import "a" b))'],
    ['a?.5:b', '(Expression (Conditional a .5 b))'],
    ['a.if.new', '(Expression (Member (Member a if) new))'],
    ['({ a() { super.b(super[c]) } })',
      '(Expression (Object [(Property method a (Function (Block [(Expression (Call (Member super b) [(Member computed ' +
        'super c)]))])))]))']
  ],
  'a slash: division or regular expression': [
    ['a\n/b/g', '(Expression (Binary / (Binary / a b) g))'],
    ['a++ / b / c', '(Expression (Binary / (Binary / (Update ++ a) b) c))'],
    ['(a) / b / c', '(Expression (Binary / (Binary / a b) c))'],
    ['if (a) /b/.c', '(If a (Expression (Member /b/ c)))'],
    ['{} /a/g', '{}\n(Expression /a/g)'],
    ['({}) / a / g', '(Expression (Binary / (Binary / {} a) g))'],
    ['x = function () {} / a / g', '(Expression (Assignment = x (Binary / (Binary / (Function {}) a) g)))'],
    ['function f() {} /a/g', '(Function f {})\n(Expression /a/g)'],
    ['a = b => {}\n/c/g', '(Expression (Assignment = a (ArrowFunction [b] {})))\n(Expression /c/g)'],
    ['a ? /b/ : /[/]/', '(Expression (Conditional a /b/ /[/]/))'],
    ['this / a / b', '(Expression (Binary / (Binary / this a) b))'],
    ['a.return / b / c', '(Expression (Binary / (Binary / (Member a return) b) c))'],
    ['`${/}/}` / a', '(Expression (Binary / (TemplateLiteral [/}/]) a))'],
    ['typeof /a/ / b', '(Expression (Binary / (Unary typeof /a/) b))'],
    ['a /= /=/', '(Expression (Assignment /= a /=/))'],
    ['function* g() { yield /a/ }', '(Function generator g (Block [(Expression (Yield /a/))]))'],
    ['yield / a / b', '(Expression (Binary / (Binary / yield a) b))'],
    ['async function f() { await /a/ }', '(Function async f (Block [(Expression (Await /a/))]))'],
    ['await / a / b', '(Expression (Binary / (Binary / await a) b))']
  ],
  'a line end: the end of a statement or not': [
    ['a\n(b)', '(Expression (Call a [b]))'],
    ['a\n++b', '(Expression a)\n(Expression (Update ++ b))'],
    ['a\n++\nb', '(Expression a)\n(Expression (Update ++ b))'],
    ['var a\n(b)', '(Variable var [(VariableDeclarator a)])\n(Expression b)'],
    ['let a = b\n(c)', '(Variable let [(VariableDeclarator a (Call b [c]))])'],
    ['a => {}\n(b)', '(Expression (ArrowFunction [a] {}))\n(Expression b)'],
    ['function f() { return\na }', '(Function f (Block [return (Expression a)]))'],
    ['a: for (;;) { break\na }', '(Labeled a (For (Block [break (Expression a)])))'],
    ['function* g() { yield\na }', '(Function generator g (Block [(Expression yield) (Expression a)]))'],
    ['do a; while (b) c', '(DoWhile (Expression a) b)\n(Expression c)'],
    ['async\nfunction f() {}', '(Expression async)\n(Function f {})'],
    ['let\na', '(Variable let [(VariableDeclarator a)])'],
    ['if (a) let\n{}', '(If a (Expression let))\n{}'],
    ['while (a) let\nb', '(While a (Expression let))\n(Expression b)'],
    ['throw a\nb', '(Throw a)\n(Expression b)'],
    ['class A { a\nb\n*c() {} get\nd() {} static\nasync\ne() {} }',
      '(Class A (ClassBody [(PropertyDefinition a) (PropertyDefinition b) (MethodDefinition c (Function generator ' +
        '{})) (MethodDefinition get d (Function {})) (PropertyDefinition static async) (MethodDefinition e (Function ' +
        '{}))]))'],
    ['export default () => {}\n(a)', '(ExportDefault (ArrowFunction {}))\n(Expression a)', 'module']
  ],
  'a brace: a block, an object or a body': [
    ['{ a: 1 }', '(Block [(Labeled a (Expression 1))])'],
    ['({ a: 1 })', '(Expression (Object [(Property a 1)]))'],
    ['a => {}', '(Expression (ArrowFunction [a] {}))'],
    ['a => ({})', '(Expression (ArrowFunction [a] {}))'],
    ['a = {}', '(Expression (Assignment = a {}))'],
    ['switch (a) { case {}: {} default: }', '(Switch a [(SwitchCase {} [{}]) default:])'],
    ['`${{}}`', '(Expression (TemplateLiteral [{}]))']
  ],
  'keywords that are names': [
    ['let = let', '(Expression (Assignment = let let))'],
    ['let in a', '(Expression (Binary in let a))'],
    ['let\n[a] = b', '(Variable let [(VariableDeclarator (ArrayPattern [a]) b)])'],
    ['(let)[a] = b', '(Expression (Assignment = (Member computed let a) b))'],
    ['for (let in a);', '(ForIn let a ;)'],
    ['for (let of of a);', '(ForOf (Variable let [(VariableDeclarator of)]) a ;)'],
    ['for (let of = a;;);', '(For (Variable let [(VariableDeclarator of a)]) ;)'],
    ['for (let;;);', '(For let ;)'],
    ['for (async of => a;;);', '(For (ArrowFunction async [of] a) ;)'],
    ['for (async in a);', '(ForIn async a ;)'],
    ['async(a, b)', '(Expression (Call async [a b]))'],
    ['async\n(a)', '(Expression (Call async [a]))'],
    ['async => async', '(Expression (ArrowFunction [async] async))'],
    ['async async => async', '(Expression (ArrowFunction async [async] async))'],
    ['async (async) => await async', '(Expression (ArrowFunction async [async] (Await async)))'],
    ['async.a', '(Expression (Member async a))'],
    ['of\nget\nset\nstatic\nawait',
      '(Expression of)\n(Expression get)\n(Expression set)\n(Expression static)\n(Expression await)'],
    ['yield * a', '(Expression (Binary * yield a))'],
    ['function f(yield) { yield }', '(Function f [yield] (Block [(Expression yield)]))'],
    ['({ get, set, async, static: a, await() {}, get get() {}, set set(a) {}, async async() {}, async() {}, get() {} })',
      '(Expression (Object [(Property shorthand get get) (Property shorthand set set) (Property shorthand async ' +
        'async) (Property static a) (Property method await (Function {})) (Property get get (Function {})) (Property ' +
        'set set (Function [a] {})) (Property method async (Function async {})) (Property method async (Function {})) ' +
        '(Property method get (Function {}))]))'],
    ['class A { static static; static get; get; set; async; static() {} get() {} static get get() {} static async async() {} }',
      '(Class A (ClassBody [(PropertyDefinition static static) (PropertyDefinition static get) (PropertyDefinition ' +
        'get) (PropertyDefinition set) (PropertyDefinition async) (MethodDefinition static (Function {})) ' +
        '(MethodDefinition get (Function {})) (MethodDefinition static get get (Function {})) (MethodDefinition static ' +
        'async (Function async {}))]))'],
    ['({ if: a, in() {}, get new() {} })',
      '(Expression (Object [(Property if a) (Property method in (Function {})) (Property get new (Function {}))]))'],
    ['async: a', '(Labeled async (Expression a))'],
    ['\\u0061\\u{62}', '(Expression \\u0061\\u{62})'],
    ['using(a)', '(Expression (Call using [a]))']
  ],
  arrows: [
    ['() => a', '(Expression (ArrowFunction a))'],
    ['(a, b = c, ...d) => e', '(Expression (ArrowFunction [a (AssignmentPattern = b c) (RestElement d)] e))'],
    ['({ a = 1, b: [c] } = {}) => d',
      '(Expression (ArrowFunction [(AssignmentPattern = (ObjectPattern [(Property shorthand a (AssignmentPattern a ' +
        '1)) (Property b (ArrayPattern [c]))]) {})] d))'],
    ['(a,) => b', '(Expression (ArrowFunction [a] b))'],
    ['((a), b)', '(Expression (Sequence [a b]))'],
    ['a => b => c', '(Expression (ArrowFunction [a] (ArrowFunction [b] c)))'],
    ['a => b, c', '(Expression (Sequence [(ArrowFunction [a] b) c]))'],
    ['a ? b => c : d => d', '(Expression (Conditional a (ArrowFunction [b] c) (ArrowFunction [d] d)))'],
    ['a ? (b) : c => d', '(Expression (Conditional a b (ArrowFunction [c] d)))'],
    ['a ? (b) => (c) : d => e', '(Expression (Conditional a (ArrowFunction [b] c) (ArrowFunction [d] e)))'],
    ['async (a, b) => c', '(Expression (ArrowFunction async [a b] c))'],
    ['async () => {}', '(Expression (ArrowFunction async {}))'],
    ['async a => await b', '(Expression (ArrowFunction async [a] (Await b)))'],
    ['f(async (a) => b, async(c))', '(Expression (Call f [(ArrowFunction async [a] b) (Call async [c])]))']
  ],
  patterns: [
    ['[a, , b = 1, ...[c]] = d',
      '(Expression (Assignment = (ArrayPattern [a - (AssignmentPattern = b 1) (RestElement (ArrayPattern [c]))]) d))'],
    ['({ a, b: c, [d]: e = 1, f = 2, ...g } = h)',
      '(Expression (Assignment = (ObjectPattern [(Property shorthand a a) (Property b c) (Property computed d ' +
        '(AssignmentPattern = e 1)) (Property shorthand f (AssignmentPattern f 2)) (RestElement g)]) h))'],
    ['[a.b, (c)] = d', '(Expression (Assignment = (ArrayPattern [(Member a b) c]) d))'],
    ['a = [b] = c', '(Expression (Assignment = a (Assignment = (ArrayPattern [b]) c)))'],
    ['for ([a, b] of c);', '(ForOf (ArrayPattern [a b]) c ;)'],
    ['for ({ a } in b);', '(ForIn (ObjectPattern [(Property shorthand a a)]) b ;)'],
    ['var { a, b: [c = d] = e, ...f } = g',
      '(Variable var [(VariableDeclarator (ObjectPattern [(Property shorthand a a) (Property b (AssignmentPattern = ' +
        '(ArrayPattern [(AssignmentPattern = c d)]) e)) (RestElement f)]) g)])'],
    ['let [, a] = b, c', '(Variable let [(VariableDeclarator (ArrayPattern [- a]) b) (VariableDeclarator c)])'],
    ['function f({ a }, [b] = [], ...c) {}',
      '(Function f [(ObjectPattern [(Property shorthand a a)]) (AssignmentPattern = (ArrayPattern [b]) []) ' +
        '(RestElement c)] {})'],
    ['try {} catch ({ a = b }) {}',
      '(Try {} (CatchClause (ObjectPattern [(Property shorthand a (AssignmentPattern a b))]) {}))'],
    ['for (var a = 0 in b);', '(ForIn (Variable var [(VariableDeclarator a 0)]) b ;)'],
    ['for (var a = (b in c), d;;);', '(For (Variable var [(VariableDeclarator a (Binary in b c)) (VariableDeclarator d)]) ;)'],
    ['for (a = b ? c in d : e;;);', '(For (Assignment = a (Conditional b (Binary in c d) e)) ;)'],
    ['for (const a of b);', '(ForOf (Variable const [(VariableDeclarator a)]) b ;)']
  ],
  statements: [
    ['if (a) if (b) c; else d; else e', '(If a (If b (Expression c) (Expression d)) (Expression e))'],
    ['if (a) function f() {}', '(If a (Function f {}))'],
    ['a: b: for (;;) continue a', '(Labeled a (Labeled b (For (Continue a))))'],
    ['for (a in b, c) d', '(ForIn a (Sequence [b c]) (Expression d))'],
    ['for (;;) ;', '(For ;)'],
    ['async function f() { for await (const a of b) c }',
      '(Function async f (Block [(ForOf await (Variable const [(VariableDeclarator a)]) b (Expression c))]))'],
    ['do a\nwhile (b)\nc', '(DoWhile (Expression a) b)\n(Expression c)'],
    ['try { a } catch { b } finally { c }',
      '(Try (Block [(Expression a)]) (CatchClause (Block [(Expression b)])) (Block [(Expression c)]))'],
    ['with (a) b', '(With a (Expression b))'],
    ['debugger', 'debugger'],
    ['\'use strict\'; \'b\'\nc; \'d\'',
      '(Expression directive \'use strict\')\n(Expression directive \'b\')\n(Expression c)\n(Expression \'d\')'],
    ['(\'a\')', '(Expression \'a\')'],
    ['function f() { "use strict"; "a" + b }',
      '(Function f (Block [(Expression directive "use strict") (Expression (Binary + "a" b))]))']
  ],
  'functions and classes': [
    ['async function* f() { for await (a of b); }', '(Function generator async f (Block [(ForOf await a b ;)]))'],
    ['function* g() { yield; yield* a; b = yield c, yield }',
      '(Function generator g (Block [(Expression yield) (Expression (Yield delegate a)) (Expression (Sequence ' +
        '[(Assignment = b (Yield c)) yield]))]))'],
    ['({ *[a]() {}, async *b() {}, "c"() {}, 1: 2, get [d]() {}, __proto__: e })',
      '(Expression (Object [(Property method computed a (Function generator {})) (Property method b (Function ' +
        'generator async {})) (Property method "c" (Function {})) (Property 1 2) (Property computed get d (Function ' +
        '{})) (Property __proto__ e)]))'],
    ['class A extends B.c(d) { static { a } static #b = #b in c; constructor() { super(a) } static async *#d() {} "e" = 1; [f]() {} }',
      '(Class A (Call (Member B c) [d]) (ClassBody [(StaticBlock [(Expression a)]) (PropertyDefinition static #b ' +
        '(Binary in #b c)) (MethodDefinition constructor constructor (Function (Block [(Expression (Call super ' +
        '[a]))]))) (MethodDefinition static #d (Function generator async {})) (PropertyDefinition "e" 1) ' +
        '(MethodDefinition computed f (Function {}))]))'],
    ['(class {})', '(Expression (Class {}))'],
    ['(class A extends (a, b) {})', '(Expression (Class A (Sequence [a b]) {}))'],
    ['class A { static constructor() {} get constructor_() {} "constructor"() {} }',
      '(Class A (ClassBody [(MethodDefinition static constructor (Function {})) (MethodDefinition get constructor_ ' +
        '(Function {})) (MethodDefinition constructor "constructor" (Function {}))]))'],
    ['class A { ["constructor"]() {} ;; }', '(Class A (ClassBody [(MethodDefinition computed "constructor" (Function {}))]))'],
    ['function* g() { function h(yield) { yield } }',
      '(Function generator g (Block [(Function h [yield] (Block [(Expression yield)]))]))']
  ],
  'literals, templates and comments': [
    ['[1, .5, 5., 1e-3, 0b1, 017.a, 1..a, 0xfn, 1_0]',
      '(Expression (Array [1 .5 5. 1e-3 0b1 (Member 017 a) (Member 1. a) 0xfn 1_0]))'],
    ['\'a\\\'b\' + "c\\\nd"', '(Expression (Binary + \'a\\\'b\' "c\\\nd"))'],
    ['({ "\\x61\\u{62}\\u0063\\n\\0\\\n": a })', '(Expression (Object [(Property "\\x61\\u{62}\\u0063\\n\\0\\\n" a)]))'],
    ['`a${b}c${`d${e}`}`', '(Expression (TemplateLiteral [b (TemplateLiteral [e])]))'],
    ['`\\`\\${`', '(Expression `\\`\\${`)'],
    ['`${a => {}}`.b + c', '(Expression (Binary + (Member (TemplateLiteral [(ArrowFunction [a] {})]) b) c))'],
    ['<!-- a\nb\n--> c', '(Expression b)'],
    ['a --> b', '(Expression (Binary > (Update -- a) b))'],
    ['/*\n*/ --> a\nb', '(Expression b)'],
    ['a <!--b', '(Expression (Binary < a (Unary ! (Update -- b))))', 'module'],
    ['#! a\nb', '(Expression b)'],
    ['a /* b */ + // c\nd', '(Expression (Binary + a d))']
  ],
  modules: [
    ['import a, { b, c as d, default as e, "f g" as h } from "i"',
      '(Import [(ImportDefaultSpecifier a) (ImportSpecifier b b) (ImportSpecifier c d) (ImportSpecifier default e) ' +
        '(ImportSpecifier "f g" h)] "i")', 'module'],
    ['import * as a from "b" with { type: "json" }',
      '(Import [(ImportNamespaceSpecifier a)] "b" [(Property type "json")])', 'module'],
    ['import "a"', '(Import "a")', 'module'],
    ['import a, * as b from "c"', '(Import [(ImportDefaultSpecifier a) (ImportNamespaceSpecifier b)] "c")', 'module'],
    ['export * from "a"', '(ExportAll "a")', 'module'],
    ['export * as a from "b"', '(ExportAll a "b")', 'module'],
    ['export { a, b as c, d as "e f" }; let a, b, d',
      '(ExportNamed [(ExportSpecifier a a) (ExportSpecifier b c) (ExportSpecifier d "e f")])\n(Variable let ' +
        '[(VariableDeclarator a) (VariableDeclarator b) (VariableDeclarator d)])', 'module'],
    ['export { default, "a" as b } from "c" with {}',
      '(ExportNamed [(ExportSpecifier default default) (ExportSpecifier "a" b)] "c")', 'module'],
    ['export const a = 1, b = 2',
      '(ExportNamed (Variable const [(VariableDeclarator a 1) (VariableDeclarator b 2)]))', 'module'],
    ['export async function f() {}', '(ExportNamed (Function async f {}))', 'module'],
    ['export default function () {}', '(ExportDefault (Function {}))', 'module'],
    ['export default class {}', '(ExportDefault (Class {}))', 'module'],
    ['export default async () => a', '(ExportDefault (ArrowFunction async a))', 'module'],
    ['export default async function f() {}', '(ExportDefault (Function async f {}))', 'module'],
    ['export default { a }', '(ExportDefault (Object [(Property shorthand a a)]))', 'module'],
    ['import.meta.url', '(Expression (Member (MetaProperty import meta) url))', 'module'],
    ['import("a")', '(Expression (Import "a"))', 'module'],
    ['await a', '(Expression (Await a))', 'module'],
    ['for await (const a of b);', '(ForOf await (Variable const [(VariableDeclarator a)]) b ;)', 'module'],
    ['import { as as as } from "a"', '(Import [(ImportSpecifier as as)] "a")', 'module'],
    ['import from from "a"', '(Import [(ImportDefaultSpecifier from)] "a")', 'module'],
    ['export { from }; let from',
      '(ExportNamed [(ExportSpecifier from from)])\n(Variable let [(VariableDeclarator from)])', 'module']
  ],
  'declarations of resources': [
    ['async function f() { using a = b, c = d; await using e = f; using\ng; await using(h); for (using i of j); for (using of k); }',
      '(Function async f (Block [(Variable using [(VariableDeclarator a b) (VariableDeclarator c d)]) (Variable await ' +
        'using [(VariableDeclarator e f)]) (Expression using) (Expression g) (Expression (Await (Call using [h]))) ' +
        '(ForOf (Variable using [(VariableDeclarator i)]) j ;) (ForOf using k ;)]))']
  ],
  'the text of a function': [
    ['function f() {}', '(Function f {})', 'function'],
    ['function () {}', '(Function {})', 'function'],
    ['async function* f() {}', '(Function generator async f {})', 'function'],
    ['a => a', '(ArrowFunction [a] a)', 'function'],
    ['(a, b) => c', '(ArrowFunction [a b] c)', 'function'],
    ['async a => await a', '(ArrowFunction async [a] (Await a))', 'function'],
    ['async (a) => {}', '(ArrowFunction async [a] {})', 'function'],
    ['class A extends B {}', '(Class A B {})', 'function'],
    ['f(a) {}', '(Property method f (Function [a] {}))', 'function'],
    ['async() {}', '(Property method async (Function {}))', 'function'],
    ['async(a) { b }', '(Property method async (Function [a] (Block [(Expression b)])))', 'function'],
    ['async *f() {}', '(Property method f (Function generator async {}))', 'function'],
    ['get a() {}', '(Property get a (Function {}))', 'function'],
    ['set a(b) {}', '(Property set a (Function [b] {}))', 'function'],
    ['get() {}', '(Property method get (Function {}))', 'function'],
    ['*f() {}', '(Property method f (Function generator {}))', 'function'],
    ['[a + b]() {}', '(Property method computed (Binary + a b) (Function {}))', 'function'],
    ['"a b"() {}', '(Property method "a b" (Function {}))', 'function'],
    ['1() {}', '(Property method 1 (Function {}))', 'function'],
    ['#a() {}', '(Property method #a (Function {}))', 'function'],
    ['get #a() {}', '(Property get #a (Function {}))', 'function'],
    ['async if() {}', '(Property method if (Function async {}))', 'function'],
    ['if(a) {}', '(Property method if (Function [a] {}))', 'function'],
    ['static(a) {}', '(Property method static (Function [a] {}))', 'function'],
    ['class(a) {}', '(Property method class (Function [a] {}))', 'function'],
    ['(a, b) { c }', '(Property method (Function [a b] (Block [(Expression c)])))', 'function'],
    ['/* a */ async /* b */ (c) /* d */ => e', '(ArrowFunction async [c] e)', 'function']
  ]
}

for (const [name, pairs] of Object.entries(trees)) {
  reading(name, () => {
    for (const [source, tree, type = 'script'] of pairs) {
      assert.is(read(source, type).body.map((/** @type {any} */ node) => printed(source, node)).join('\n'), tree, source)
    }
  })
}

reading('names, keys and module specifiers have no escapes in the tree', () => {
  const values = (/** @type {string} */ source) => read(`({ ${source} })`, 'script').body[0].expression.properties
    .map((/** @type {any} */ { key }) => key.name ?? key.value)
  assert.equal(values('\\u0061\\u{62}c: 1, \\u0069f: 2'), ['abc', 'if'])
  assert.equal(values('"\\x61\\u{1F600}\\u0062": 1, "a\\\nb\\\r\nc": 2, "\\n\\t\\0\\v\\q\\\'": 3, "\\141\\400\\8": 4'),
    ['a\u{1F600}b', 'abc', '\n\t\0\vq\'', 'a\x200' + '8'])
  assert.is(read("import 'a\\x2fb'", 'module').body[0].source.value, 'a/b')
  const { body: [{ directive }] } = read("'use\\x20strict'", 'script')
  assert.is(directive, 'use\\x20strict')
})

reading.run()

const places = suite('positions of nodes')

/** @param {any} tree @param {(node: any, parent: any) => void} visit */
function walk(tree, visit) {
  const left = [[tree, null]]
  for (let next; (next = left.pop());) {
    visit(next[0], next[1])
    for (const [key, value] of Object.entries(next[0])) {
      if (key === 'parent') continue
      for (const part of [value].flat().reverse()) if (part?.type) left.push([part, next[0]])
    }
  }
}

/**
 * Returns the ranges of all nodes but the first, in the order of the source.
 *
 * @param {string} source @param {any} [type]
 */
function ranges(source, type = 'script') {
  /** @type {any[]} */
  const list = []
  walk(read(source, type), node => list.push(node))
  list.sort((a, b) => a.start - b.start || b.end - a.end)
  return list.slice(1).map(({ type, start, end }) => `${type} ${start}-${end}`).join(', ')
}

places('the range of a node contains the ranges of its parts', () => {
  for (const [source, , type = 'script'] of Object.values(trees).flat()) {
    walk(read(source, type), (node, parent) => {
      assert.ok(node.start <= node.end && node.end <= source.length, source)
      if (parent) assert.ok(parent.start <= node.start && node.end <= parent.end, `${node.type} in ${source}`)
    })
  }
})

places('parentheses belong to the parent of their expression', () => {
  assert.is(ranges('((a) + (b, c)) * d'), 'ExpressionStatement 0-18, BinaryExpression 0-18, BinaryExpression 1-13, ' +
    'Identifier 2-3, SequenceExpression 8-12, Identifier 8-9, Identifier 11-12, Identifier 17-18')
  assert.is(ranges('(a).b((c)), (d)'), 'ExpressionStatement 0-15, SequenceExpression 0-15, CallExpression 0-10, ' +
    'MemberExpression 0-5, Identifier 1-2, Identifier 4-5, Identifier 7-8, Identifier 13-14')
})

places('semicolons are part of statements and fields', () => {
  assert.is(ranges('a ;b\n;var c ; do ; while (d) ;'), 'ExpressionStatement 0-3, Identifier 0-1, ExpressionStatement 3-6, ' +
    'Identifier 3-4, VariableDeclaration 6-13, VariableDeclarator 10-11, Identifier 10-11, DoWhileStatement 14-30, ' +
    'EmptyStatement 17-18, Identifier 26-27')
  assert.is(ranges('class A { a ; b = c }'), 'ClassDeclaration 0-21, Identifier 6-7, ClassBody 8-21, PropertyDefinition 10-13, ' +
    'Identifier 10-11, PropertyDefinition 14-19, Identifier 14-15, Identifier 18-19')
})

places('the function of a method begins with its parameters', () => {
  assert.is(ranges('({ a (b) {} })'), 'ExpressionStatement 0-14, ObjectExpression 1-13, Property 3-11, Identifier 3-4, ' +
    'FunctionExpression 5-11, Identifier 6-7, BlockStatement 9-11')
  assert.is(ranges('`a${ b }c`'), 'ExpressionStatement 0-10, TemplateLiteral 0-10, Identifier 5-6')
})

places('comments and a hashbang belong to no statement', () => {
  assert.is(read('#!/bin/node\n// a\nb\n', 'script').end, 19)
  assert.is(ranges('/**/ export default a // b'), 'ExportDefaultDeclaration 5-21, Identifier 20-21', 'module')
})

places.run()

const extent = suite('depth and size')

const COUNT = 100_000
const repeated = (/** @type {string} */ before, /** @type {string} */ inner, after = '') =>
  before.repeat(COUNT) + inner + after.repeat(COUNT)

const shapes = {
  parentheses: repeated('(', 'a', ')'),
  arrays: repeated('[', '', ']'),
  patterns: `${repeated('[', 'a', ']')} = b`,
  'parameters that are patterns': `(${repeated('{ a: ', 'a', '}')}) => b`,
  objects: `(${repeated('{ a: ', 'a', '}')})`,
  calls: repeated('f(', 'a', ')'),
  'calls of calls': repeated('', 'f', '()'),
  members: repeated('', 'a', '.a'),
  'computed members': repeated('a[', 'a', ']'),
  templates: repeated('`${', 'a', '}`'),
  'tagged templates': repeated('', 'a', '``'),
  'binary operators': repeated('a + ', 'a'),
  powers: repeated('a ** ', 'a'),
  'unary operators': repeated('- ', 'a'),
  assignments: repeated('a = ', 'a'),
  'conditionals to the right': repeated('a ? b : ', 'c'),
  'conditionals to the left': repeated('a ? ', 'b', ' : c'),
  sequences: repeated('a, ', 'a'),
  new: repeated('new ', 'a'),
  'arrow functions': repeated('a => ', 'a'),
  'arrow functions with bodies': repeated('a => {', '', '}'),
  functions: repeated('function f() {', '', '}'),
  classes: repeated('(class { a = ', 'a', '})'),
  blocks: repeated('{', '', '}'),
  'else-ifs': repeated('if (a) b; else ', 'c'),
  loops: repeated('while (a) ', 'b'),
  labels: repeated('a: ', 'b'),
  statements: repeated('a\n', 'a')
}

for (const [name, source] of Object.entries(shapes)) {
  extent(`100,000 ${name}`, () => {
    assert.is(read(source, 'script').end, source.length)
  })
}

extent.run()

const errors = suite('syntax errors')

errors('a syntax error has its line and column', () => {
  const cases = {
    'a\n  + )': ') (line 2, column 5)',
    '{': 'end (line 1, column 2)',
    'f(a b)': 'b (line 1, column 5)',
    'a = @b': '@ (line 1, column 5)',
    '\r\n\u2028[a': 'end (line 3, column 3)',
    "'a": "' (line 1, column 1)",
    '`a${b': 'end (line 1, column 6)',
    'f(`a)': '` (line 1, column 3)',
    '`a${b}\nc': '} (line 1, column 6)',
    'a = /b': '/ (line 1, column 5)',
    'a = /b\nc/': '/ (line 1, column 5)',
    'if (a) else': 'else (line 1, column 8)',
    'for (a': 'end (line 1, column 7)',
    'a => }': '} (line 1, column 6)',
    '(a': 'end (line 1, column 3)',
    'import { a': 'end (line 1, column 11)',
    'class { a': 'end (line 1, column 10)'
  }
  for (const [source, place] of Object.entries(cases)) {
    assert.throws(() => read(source, 'script'), (/** @type {any} */ error) => {
      assert.is(error.constructor, SyntaxError)
      assert.is(error.message, `unexpected ${place}`, source)
      return true
    })
  }
})

errors.run()
