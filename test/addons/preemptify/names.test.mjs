import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { internals } from '../../support/phases.mjs'

const { analyseScopes, read } = internals('analyseScopes', 'read')

/** Returns all nodes of a tree with parents, in any order. */
function nodesOf(tree) {
  const nodes = [tree]
  for (const node of nodes) {
    for (const [key, part] of Object.entries(node)) {
      if (key === 'parent') continue
      for (const item of [part].flat()) if (typeof item?.type === 'string') nodes.push(item)
    }
  }
  return nodes
}

/** Returns the source with the number of its variable after each name; 0: undeclared, ~: possibly another variable. */
function resolved(source, type = 'script') {
  const tree = read(source, type)
  analyseScopes(tree)
  const identifiers = new Map()
  for (const node of nodesOf(tree)) if (node.type === 'Identifier' && node.scope) identifiers.set(node.start, node)
  const numbers = new Map([[null, 0]])
  let text = ''
  let at = 0
  for (const node of [...identifiers.values()].sort((a, b) => a.start - b.start)) {
    if (!numbers.has(node.variable)) numbers.set(node.variable, numbers.size)
    const end = node.start + /^(?:\\u\{?\w+\}?|[\w$])+/.exec(source.slice(node.start))[0].length
    text += `${source.slice(at, end)}#${numbers.get(node.variable)}${node.isDynamic ? '~' : ''}`
    at = end
  }
  return text + source.slice(at)
}

/** Checks sources that contain the expected numbers after their names. */
function check(test, kind, texts, type) {
  test(kind, () => {
    for (const text of texts) assert.is(resolved(text.replace(/#\d+~?/g, ''), type), text)
  })
}

const scopes = suite('resolution of names')

check(scopes, 'let, const and class: in their block, before their line too', [
  'a#1; let a#1 = b#2; const b#2 = a#1; { let a#3; a#3 } a#1',
  'let a#1; { a#2; { a#2; { let a#3; a#3 } } class a#2 {} }',
  'for (let i#1 = 0, n#2 = i#1; i#1 < n#2; i#1++) { let i#3; i#3 } i#0',
  'for (const x#1 of x#1) x#1; for (let k#2 in k#2) k#2; x#0, k#0',
  'switch (a#0) { case a#1: let a#1; default: a#1 }',
  'if (a#0) { let a#1; a#1 } else a#0'
])

check(scopes, 'var: in the whole function, whatever it stands in', [
  'a#1; { { var a#1 } } a#1',
  'function f#1() { a#2; for (var a#2 in {}) for (var b#3 of []) ; a#2; b#3 } a#0',
  'try {} catch { var a#1 } a#1; () => { var a#2; a#2 }',
  'switch (1) { case 2: var a#1 } with ({}) var b#2~; a#1; b#2',
  'var { a#1, b: [c#2, ...d#3] = e#0, [f#0]: g#4 = a#1 } = h#0; c#2; g#4; b#0'
])

check(scopes, 'function declarations: hoisted', [
  'f#1(); function f#1(a#2) { return f#1(a#2) } f#1 = 3',
  'function f#1() { g#2(); function g#2() { g#2() } } g#0',
  '"use strict"; { f#1(); function f#1() {} } f#0',
  'l: function f#1() { f#1 } f#1'
])

check(scopes, 'function declarations in blocks: of the function too, where the code is sloppy (Annex B.3.3)', [
  'f#1; { f#2; function f#2() { f#2 } } f#1',
  'function g#1() { { { function f#2() {} } } f#3 } f#0',
  'if (a#0) function f#1() { f#1 } else function f#2() { f#2 } f#3',
  'switch (1) { case 1: function f#1() {} } f#2',
  'let f#1; { function f#2() {} } f#1',
  '{ let f#1; { function f#2() {} } } f#0',
  '{ function f#1() {} { function f#2() {} } } f#3',
  '{ async function f#1() {} function* g#2() {} } f#0; g#0',
  'function g#1(f#2) { { function f#3() {} } f#2 }',
  'function g#1(f#2, a#3 = f#2) { { function f#4() {} } f#2 }',
  'function g#1() { "use strict"; { function f#2() {} } f#0 }',
  'class A#1 { static { { function f#2() {} } f#0 } }',
  'try {} catch (f#1) { { function f#2() {} } } f#3',
  'try {} catch ({ f#1 }) { { function f#2() {} } } f#0'
])

check(scopes, 'parameters: one scope with the body, two if they hold expressions', [
  'function f#1(a#2, { b#3, c: [d#4] }, ...e#5) { var a#2; let g#6; return [a#2, b#3, d#4, e#5, g#6, c#0] }',
  'function f#1(a#2, b#3 = () => a#2) { var a#4; a#4; b#3 }',
  'function f#1({ [a#0]: b#2 }) { var b#3, a#4; b#3 }',
  'function f#1(a#2 = b#0, c#3 = a#2) { var b#4; { let c#5; c#5 } c#3; b#4 }',
  '(a#1, [b#2] = a#1) => b#2; a#0',
  'function f#1(a#2, a#2) { a#2 }',
  'a#1 => a#2 => a#2'
])

check(scopes, 'the own name of a function expression and of a class', [
  'x#0 = function f#1() { f#1; f#1 = 2 }; f#0',
  'x#0 = function f#1(f#2) { f#2 }',
  'x#0 = function f#1() { var f#2; f#2 }',
  'x#0 = class A#1 extends A#1 { [A#1]() { A#1 } x = A#1; static { A#1 } }; A#0',
  'class A#1 extends A#2 { f() { A#2 } } A#1'
])

check(scopes, 'catch', [
  'try {} catch (e#1) { e#1; { let e#2; e#2 } } e#0',
  'try {} catch ({ a#1, b: [c#2 = a#1] }) { c#2; b#0 }',
  'e#1; try {} catch (e#2) { var e#2 = 1; e#2 }',
  'try { e#0 } catch { e#0 } finally { e#0 }'
])

check(scopes, 'no references: labels, keys, members, meta properties', [
  'a: for (;;) { b: { break b } continue a } a#0',
  'x#0 = { a: 1, b() {}, get c() {}, async *d() {}, "e": a#0, [f#0]: 1, g#0 }; x#0.a.b; x#0[a#0]?.c[d#0]',
  'class A#1 { a = 1; static b; c() {} #d = this.#d; [e#0] = f#0; get g() {} static [h#0]() {} }',
  'function f#1() { new.target; target#0 }'
])

check(scopes, 'targets of assignments', [
  'let a#1, b#2; [a#1, { x: b#2, y: c#0.d[a#1] = b#2, ...e#0 }, ...f#0] = g#0; ({ a#1 = 1 } = {})'
])

check(scopes, 'modules', [
  'import a#1, { b#2, c as d#3, "e" as f#4 } from "m"; import * as g#5 from "n"; a#1(b#2, d#3, f#4, g#5, c#0, e#0)',
  'let a#1, b#2; export { a#1, b#2 as c }; export { d, e as f } from "m"; export * as g from "m"; export * from "m"; f#0',
  'export const a#1 = b#2, { c: b#2 } = a#1; b#2; export function d#3() { d#3 } export default class E#4 { f() { E#5 } }',
  'export default function () { import.meta; import(a#0) }',
  'import a#1 from "m" with { type: "json" }; type#0',
  'f#0; { function f#1() {} }'
], 'module')

check(scopes, 'with: what is in it may mean a property', [
  'var a#1; with (a#1) { a#1~; b#0~; let c#2; c#2; function f#3() { a#1~; var d#4; d#4 } }',
  'function f#1() { with (this) return () => { { f#1~ } } }',
  'with (a#0) with (b#0~) c#0~'
])

check(scopes, 'direct eval: in sloppy code it may declare', [
  'var a#1; function f#2(b#3) { eval#0~(b#3); a#1~; b#3; { let c#4; eval#0~(c#4) } }',
  'var a#1; function f#2() { "use strict"; eval#0(a#1); a#1 }',
  'var a#1; function f#2() { eval#0?.(a#1); (0, eval#0)(a#1); a#1 }',
  'var a#1; function f#2(b#3 = eval#0~()) { a#1~; b#3; var c#4; c#4 }',
  'var a#1; function f#2(b#3 = 1) { eval#0~(); b#3~ }',
  'var a#1; function f#2() { () => { eval#0~() }; a#1 }'
])

check(scopes, 'arguments: of the function that is no arrow function', [
  'function f#1() { arguments#2; () => arguments#2; function g#3() { arguments#4 } }',
  'arguments#0; () => arguments#0',
  'function f#1(arguments#2) { arguments#2 } function g#3() { let arguments#4; arguments#4 }',
  'function f#1() { var arguments#2; arguments#2 }',
  'function f#1(a#2 = arguments#3) { var arguments#4; arguments#4 }'
])

check(scopes, 'escapes, and names that objects have', [
  'let \\u0061b#1; ab#1; a\\u{62}#1',
  'let __proto__#1, constructor#2; { let toString#3; __proto__#1; constructor#2; toString#3; hasOwnProperty#0 }'
])

scopes('variables have their kinds, assignments and uses by eval', () => {
  const kinds = (source, type = 'script') => {
    const tree = read(source, type)
    analyseScopes(tree)
    const seen = new Set()
    for (const node of nodesOf(tree)) if (node.variable) seen.add(node.variable)
    return [...seen].sort((a, b) => (a.declarations[0]?.start ?? -1) - (b.declarations[0]?.start ?? -1))
      .map(({ name, kind, isAssigned, isDynamic, declarations, references }) => [
        `${kind} ${name}`, declarations.length > 1 ? `declared ${declarations.length} times` : '',
        references.length ? `used ${references.length} times` : '', isAssigned ? 'assigned' : '', isDynamic ? 'dynamic' : ''
      ].filter(Boolean).join(', '))
  }
  assert.equal(kinds('var a = 1, b; let c; const d = 2; class E {} function f(g) {} b = 3; c++; [f] = []; for (g of []);'), [
    'var a', 'var b, used 1 times, assigned', 'let c, used 1 times, assigned', 'const d', 'class E',
    'function f, used 1 times, assigned', 'parameter g'
  ])
  assert.equal(kinds('function f() { arguments } function f() {} var f; try {} catch (e) {} x = function h() {}'), [
    'arguments arguments, used 1 times', 'function f, declared 3 times', 'catch e', 'name h'
  ])
  assert.equal(kinds('{ function f() {} } f'), ['var f, used 1 times, assigned', 'function f'])
  assert.equal(kinds('var a; function f(b) { function g() { let c; { eval(1) } } let d; () => { let e } }'), [
    'var a, dynamic', 'function f, dynamic', 'parameter b, dynamic', 'function g, dynamic', 'let c, dynamic',
    'let d, dynamic', 'let e'
  ])
  assert.equal(kinds('import a, { b } from "m"; import * as c from "m"', 'module'), ['import a', 'import b', 'import c'])
})

scopes('analyseScopes lists the references of each undeclared name', () => {
  const free = analyseScopes(read('a(b); { let a; a } b = () => c + b; typeof toString', 'script'))
  assert.equal(Object.keys(free).map(key => `${key} ${free[key].length}`), ['a 1', 'b 3', 'c 1', 'toString 1'])
})

scopes.run()

const functions = suite('summaries of functions')

/** Returns an indented line for each function, with its flags and the contents of its lists. */
function outline(source, type = 'script') {
  const tree = read(source, type)
  analyseScopes(tree)
  const lines = []
  const add = (facts, indent) => {
    const { node } = facts
    const flags = Object.keys(facts).filter(key => facts[key] === true)
    const lists = ['loops', 'calls', 'awaits', 'yields', 'returns'].filter(key => facts[key].length)
      .map(key => `${key} ${facts[key].map(({ start, end }) => source.slice(start, end).replace(/[( ;].*/, '')).join(' ')}`)
    lines.push(`${indent}${node.id?.name ?? node.type}: ${[...flags, ...lists].join(', ')}`)
    for (const inner of facts.functions) add(inner, `${indent}  `)
  }
  add(tree.facts, '')
  return lines.join('\n')
}

for (const [name, source, expected, type] of [
  ['kinds', 'async function a() {} function* b() {} x = () => {}; async () => {}', `
Program:
  a: isAsync
  b: isGenerator
  ArrowFunctionExpression: isArrow
  ArrowFunctionExpression: isArrow, isAsync`],
  ['methods and classes', 'x = { m() {}, get a() {}, b: function () {}, c: 1 }; ' +
    'class A extends B { constructor() { super() } set x(v) {} y = () => this; z; static { this } [k]() {} }', `
Program:
  FunctionExpression: isMethod
  FunctionExpression: isMethod, isAccessor
  FunctionExpression:
  FunctionExpression: isStrict, isMethod, isConstructor, isDerived, usesSuper, calls super
  FunctionExpression: isStrict, isMethod, isAccessor
  PropertyDefinition: isStrict, usesThis
    ArrowFunctionExpression: isArrow, isStrict, usesThis
  StaticBlock: isStrict, usesThis
  FunctionExpression: isStrict, isMethod`],
  ['arrow functions use what the function around them has', 'function f() { return () => [() => this, arguments] } ' +
    'function g() { () => new.target } x = { m() { () => super.m() } }; function h() { () => eval(1) }', `
Program:
  f: usesThis, usesArguments, returns return
    ArrowFunctionExpression: isArrow, usesThis, usesArguments
      ArrowFunctionExpression: isArrow, usesThis
  g: usesNewTarget
    ArrowFunctionExpression: isArrow, usesNewTarget
  FunctionExpression: isMethod, usesSuper
    ArrowFunctionExpression: isArrow, usesSuper, calls super.m
  h: usesEval
    ArrowFunctionExpression: isArrow, usesEval, calls eval`],
  ['others do not pass it on', 'function f() { function g() { this; arguments } class A { a = this; m() { super.m } } }', `
Program:
  f:
    g: usesThis, usesArguments
    PropertyDefinition: isStrict, usesThis
    FunctionExpression: isStrict, isMethod, usesSuper`],
  ['arguments that are declared are not used', 'function f(arguments) { arguments } function g() { let arguments; () => arguments }', `
Program:
  f:
  g:
    ArrowFunctionExpression: isArrow, usesArguments`],
  ['strict by a directive, a class or a module', 'function f() { "a"; "use strict"; () => {} } function g() { ("use strict") } class A { m() {} }', `
Program:
  f: isStrict
    ArrowFunctionExpression: isArrow, isStrict
  g:
  FunctionExpression: isStrict, isMethod`],
  ['a module', 'await x(); for await (const a of b()) ; export default () => 1', `
Program: isStrict, loops for, calls x b, awaits await
  ArrowFunctionExpression: isArrow, isStrict`, 'module'],
  ['lists, in the order of the source', 'function* f(a = g()) { while (a) { do yield h(a.b()).c(); while (i()) } for (;;) { for (x in y) new K(j`${k()}`) } ' +
    'if (a) return yield* l(); with (m()) return; switch (n()) { case o(): p() } for (q of r()) ; }', `
Program:
  f: isGenerator, hasWith, loops while do for for for, calls g h h a.b i new j\`\${k k l m n o p r, yields yield yield*, returns return return`]
]) {
  functions(name, () => assert.is(outline(source, type).trim().replace(/ +$/gm, ''), expected.trim()))
}

functions('every node has its parent', () => {
  for (const [source, type] of [
    ['import a, { b as c } from "m"; import * as d from "m" with { type: "json" }; export { a as e }; export { f as g } from "m"; ' +
      'export * as h from "m"; export default class A extends B { #x = 1; y; static [z] = 2; static { a } m() {} get n() {} }', 'module'],
    ['l: for (const [a, { b: c = d, e, ...f }] of g) { if (a) continue l; else break } switch (h) { case i: default: j }', 'script'],
    ['function k(m, n = () => new.target) { try { with (o) p?.q[r]`s${t}` } catch ({ u }) { v++ } finally { return { w, x: y, [z]() {} } } }', 'script'],
    ['async function* a() { yield* await b; for await (const c of d) ; } (class { async *e() {} }), function f() {}, f => g ? h : (i, j)', 'script']
  ]) {
    const tree = read(source, type)
    analyseScopes(tree)
    for (const node of nodesOf(tree)) {
      if (node === tree) continue
      const parts = Object.entries(node.parent ?? {}).flatMap(([key, part]) => key === 'parent' ? [] : part)
      assert.ok(parts.includes(node), `${node.type} ${source.slice(node.start, node.end)}`)
    }
  }
})

functions('an async generator method has a summary with its awaits and yields', () => {
  const tree = read('class A { async *m() { await 1; yield 2; for await (x of y) ; } }', 'script')
  analyseScopes(tree)
  const [facts] = tree.facts.functions
  assert.equal([facts.isAsync, facts.isGenerator, facts.awaits.length, facts.yields.length, facts.loops.length], [true, true, 1, 1, 1])
  assert.is(facts.parent, tree.facts)
  assert.is(facts.node.facts, facts)
})

functions('a variable is captured if an inner function reads or writes it', () => {
  const tree = read(`function f(read, written, own, free) {
    let inBlock = own; { inBlock++ }
    () => { written = read; let own; own }
    class A { field = free }
  }`, 'script')
  analyseScopes(tree)
  const [{ scopes }] = tree.facts.functions
  const declared = scopes.flatMap(({ declared }) => declared)
  const captured = declared.filter(({ isCaptured }) => isCaptured).map(({ name }) => name)
  assert.equal(captured, ['read', 'written', 'free'])
})

functions.run()

const depth = suite('depth and size')

depth('nesting is limited by memory only, in linear time', () => {
  const nested = n => read(`${'(() => { let a; { '.repeat(n)}a = b${' } })'.repeat(n)}`, 'script')
  for (const n of [10, 10_000]) assert.is(analyseScopes(nested(n)).b.length, 1)
  assert.is(analyseScopes(read(`a${' + a'.repeat(20_000)}`, 'script')).a.length, 20_001)
})

depth.run()
