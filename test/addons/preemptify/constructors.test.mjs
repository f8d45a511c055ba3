// Constructors of derived classes, and `new.target`.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { assertLikeNative, pointsOf } from '../../support/modules.mjs'

const BASES = `
class Shape { constructor(n) { log('Shape', new.target.name, n); this.n = work(n); for (let i = 0; i < 2; i++) work(i) } get kind() { return 'shape' } m() { return work(1) } }
class Fielded { own = log('field of Fielded'); constructor() { for (let i = 0; i < 2; i++) work(i); log('Fielded', 'own' in this) } }
function Old(n) { for (let i = 0; i < 2; i++) work(i); this.n = n; log('Old', this instanceof Old) }
Old.prototype.m = function () { return 4 }
const show = o => [o.constructor.name, Object.getPrototypeOf(o) === o.constructor.prototype, JSON.stringify(o)]
`

/** Bodies of a function `main`. */
const PROGRAMS = {
  'the body follows super': 'class A extends Shape { constructor(n) { super(n + 1); this.m(); log("A", this.n) } } return show(new A(1))',
  'statements before super': 'class A extends Shape { constructor(n) { const m = work(n); log("before"); super(m); this.k = m } } return show(new A(1))',
  'parameters with defaults and patterns':
    'class A extends Shape { constructor(n = work(3), { k } = { k: 1 }, ...rest) { super(n); this.k = [k, rest]; this.m() } } return [show(new A()), show(new A(1, { k: 2 }, 3, 4)), A.length]',
  'arguments': 'class A extends Shape { constructor() { super(...arguments); this.m() } } return show(new A(5))',
  'fields come after super': 'class A extends Shape { k = log("field", this.n); f = () => this.n; constructor(n) { super(n); log("body", "k" in this); this.m() } } const a = new A(2); return [show(a), a.f(), a.f.name]',
  'private fields and methods': 'class A extends Shape { #k = 5; #get() { return this.#k + this.n } constructor(n) { super(n); this.m(); this.sum = this.#get() } } return [show(new A(2)), show(new A(3))]',
  'fields of base classes': 'class A extends Fielded { k = log("field of A", this.own); constructor() { super(); work(this.k); for (let i = 0; i < 2; i++) work(i) } } return show(new A())',
  'no constructor': 'class A extends Shape {} class B extends A { k = log("k", this.n) } return [show(new A(1)), show(new B(2))]',
  'no constructor, and a base class with fields': 'class A extends Fielded {} return show(new A())',
  'several levels': 'class A extends Shape { a = 1; constructor(n) { super(n); log("A"); this.m() } } class B extends A { b = this.a + 1; constructor(...list) { super(...list); log("B", this.b); this.m() } } return show(new B(1))',
  'a base function': 'class A extends Old { constructor(n) { super(n); this.k = this.m(); work(1) } } const a = new A(1); return [show(a), a instanceof Old]',
  'a built-in base': 'class A extends Map { constructor(n) { super([[1, n]]); for (let i = 0; i < 2; i++) work(i); this.k = this.get(1) } } const a = new A(7); return [a.k, a.size, String(a)]',
  'an array': 'class A extends Array { constructor(...list) { super(); for (const x of list) this.push(x) } } const a = new A(1, 2); return [a.length, a.map(x => x * 2) instanceof A, Array.isArray(a)]',
  'an error': 'class A extends Error { constructor(n) { super("x" + n); for (let i = 0; i < 2; i++) work(i); this.n = n } } const a = new A(1); return [String(a), a.n, a instanceof A, a.stack.includes("x1")]',
  'a promise': 'class A extends Promise { constructor(fn) { super(fn); for (let i = 0; i < 2; i++) work(i) } } const a = new A(f => f(1)); return a instanceof A && Object.getPrototypeOf(a) === A.prototype',
  'null': 'class A extends null { constructor() { super(); work(1) } } try { new A() } catch (e) { return e.name }',
  'what is no constructor': 'const f = { m() {} }.m; class A extends Shape { constructor() { super(1); this.m() } } Object.setPrototypeOf(A, f); try { new A() } catch (e) { return e.name }',
  'another parent at run time': 'class A extends Shape { constructor(n) { super(n); this.m?.() } } Object.setPrototypeOf(A, Fielded); return show(new A(1))',
  'a returned object': 'class A extends Shape { constructor(n) { super(n); this.m(); if (n) return { n: "other", constructor: A } } } return [show(new A(0)), new A(1).n]',
  'a returned number': 'class A extends Shape { constructor(n) { super(n); this.m(); return 1 } } try { new A() } catch (e) { return e.name }',
  'no super': 'class A extends Shape { constructor(n) { if (n) return; super(n); this.m() } } try { new A(1) } catch (e) { return e.name }',
  'an object instead of super': 'class A extends Shape { constructor(n) { if (n) return { k: 1, constructor: A }; super(n); this.m() } } return new A(1).k',
  'super in a branch': 'class A extends Shape { constructor(n) { if (n) super(1); else super(2); this.m() } } return [show(new A(0)), show(new A(1))]',
  'super in an arrow function': 'class A extends Shape { constructor(n) { const up = () => super(n); up(); this.m() } } return show(new A(3))',
  'super twice': 'class A extends Shape { constructor(n) { super(n); try { super(n) } catch (e) { log(e.name) } this.m() } } return show(new A(1))',
  'this before super': 'class A extends Shape { constructor(n) { try { this.x = 1 } catch (e) { log(e.name) } super(n); this.m() } } return show(new A(1))',
  'a closure over this before super': 'class A extends Shape { constructor(n) { const f = () => this.n; super(n); this.m(); this.k = f() } } return show(new A(1))',
  'arrow functions use this': 'class A extends Shape { constructor(n) { super(n); const f = () => { for (let i = 0; i < 2; i++) this.n++; return this.n }; this.k = f() + this.m() } } return show(new A(1))',
  'super methods': 'class A extends Shape { constructor(n) { super(n); this.k = super.m() } m() { return 9 } } return show(new A(1))',
  'declared functions and variables': 'class A extends Shape { constructor(n) { super(f(n)); var x = 1; function f(n) { return n + 1 } this.k = f(x); this.m() } } return show(new A(1))',
  'a variable with the name of a parameter': 'class A extends Shape { constructor(n) { super(n); var n; this.k = n; this.m() } } return show(new A(6))',
  'new.target': 'class A extends Shape { constructor(n) { log(new.target === A); super(n); this.m(); log(new.target.name) } } class B extends A {} new A(1); return show(new B(1))',
  'new.target of a base class': 'class A { constructor() { for (let i = 0; i < 2; i++) work(i); if (new.target === A) throw new TypeError("abstract") } } class B extends A { constructor() { super(); work(1) } } try { new A() } catch (e) { return [e.message, show(new B())] }',
  'new.target of functions': 'function F(n) { for (let i = 0; i < 2; i++) work(i); if (!new.target) return new F(n); this.n = n; log(new.target.name) } class A extends F { constructor() { super(3); this.k = 1; work(1) } } return [show(F(1)), show(new F(2)), show(new A()), F.call(null, 4) instanceof F]',
  'new.target of a bound function': 'function F() { for (let i = 0; i < 2; i++) work(i); return { name: new.target?.name ?? "none" } } const B = F.bind(null); return [new B().name, B().name]',
  'new.target of a species constructor': 'function F(n) { log(new.target === F, n); for (let i = 0; i < 2; i++) work(i) } const list = [[1], [2]]; list.constructor = { [Symbol.species]: F }; return show(list.flatMap(x => x))',
  'a species constructor that shrinks the buffer of a typed array': 'const buffer = new ArrayBuffer(4, { maxByteLength: 8 }); let shrinks = false; class A extends Uint8Array { constructor(...list) { super(...list); if (shrinks) buffer.resize(2) } } const list = new A(buffer); shrinks = true; return list.map(x => { work(1); log(x); return 3 }).join()',
  'new.target as an operand': 'function F() { "use strict"; for (let i = 0; i < 2; i++) work(i); return [delete new.target, delete (new.target), typeof new.target, !new.target] } return F()',
  'classes that extend themselves': 'try { class A extends A {} } catch (e) { log(e.name) } try { class B extends C {} class C extends B {} } catch (e) { log(e.name) } return work(1)',
  'new.target beside a rest parameter': 'function F(n, ...m) { log(new.target === F, n, m.length); for (let i = 0; i < 2; i++) work(i) } const list = [[1], [2]]; list.constructor = { [Symbol.species]: F }; return show(list.flatMap(x => x))',
  'Reflect.construct': 'class A extends Shape { k = 1; constructor(n) { super(n); log(new.target.name); this.m() } } class B extends Shape {} const a = Reflect.construct(A, [1], B); return [a instanceof A, a instanceof B, a.k, a.n]',
  'Reflect.construct with a function': 'function F(n) { const made = Reflect.construct(Shape, [n], new.target); made.k = 1; return made } F.prototype = Object.create(Shape.prototype, { constructor: { value: F } }); const a = new F(1); return [a instanceof F, a.k, a.n]',
  'a bound class': 'class A extends Shape { constructor(n, k) { super(n); this.k = k; this.m() } } const B = A.bind(null, 1); return show(new B(2))',
  'a frozen class with fields': 'class A extends Shape { k = 1; constructor(n) { super(n); this.m() } } Object.freeze(A); return show(new A(1))',
  'static members see their parent while fields are initialized': 'class A extends Shape { static make() { return 5 } } class B extends A { k = B.make(); p = Object.getPrototypeOf(B) === A; constructor(n) { super(n); this.m() } } return [show(new B(1)), Object.getPrototypeOf(B) === A]',
  'class expressions': 'const made = n => class extends Shape { k = n; constructor(x) { super(x); this.m() } }; const A = made(1), B = made(2); return [new A(3).k, new B(4).k, new (class extends A {})(5).n]',
  'nested constructions': 'class A extends Shape { constructor(n) { super(n); this.next = n > 0 ? new A(n - 1) : null; this.m() } } return JSON.stringify(new A(3))',
  'an error in the body': 'class A extends Shape { constructor(n) { super(n); this.m(); throw new RangeError("x") } } try { new A() } catch (e) { return e.message }',
  'a call without new': 'class A extends Shape { constructor(n) { super(n); this.m() } } try { A() } catch (e) { return e.message }'
}

const constructors = suite('derived constructors')

for (const [name, body] of Object.entries(PROGRAMS)) {
  constructors(`a job constructs like native code: ${name}`, () => assertLikeNative(`${BASES} export function main() { ${body} }`))
}

const LONG = `const N = 500
function long(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }
class Base { constructor(n) { this.s = long(n) } }
class Empty {}
`
const PIECES = {
  'the body of a derived constructor': 'class A extends Empty { constructor(n) { super(); this.s = long(n) } } new A(N)',
  'a derived constructor with fields': 'class A extends Empty { f = 1; #g = 2; constructor(n) { super(); this.s = long(n) } } new A(N)',
  'the arguments of super': 'class A extends Empty { constructor(n) { super(long(n)) } } new A(N)',
  'the parent of a derived class': 'class A extends Base { constructor(n) { super(n); this.k = 1 } } new A(N)',
  'the parent of a class without a constructor': 'class A extends Base {} class B extends A { k = 1 } new B(N)',
  'a method that a derived constructor calls': 'class A extends Empty { constructor(n) { super(); this.build(n) } build(n) { long(n) } } new A(N)',
  'a derived constructor of a built-in class': 'class A extends Map { constructor(n) { super(); this.set(1, long(n)) } } new A(N)',
  'Reflect.construct with another target': 'class A extends Empty { constructor(n) { super(); long(n) } } Reflect.construct(A, [N], Empty)',
  'a function that uses new.target': 'function F(n) { if (!new.target) return; long(n) } new F(N)'
}

for (const [name, body] of Object.entries(PIECES)) {
  constructors(`a job is preempted in ${name}`, async () => {
    assert.ok(await pointsOf(`${LONG} export function main() { ${body} }`) > 500)
  })
}

constructors.run()
