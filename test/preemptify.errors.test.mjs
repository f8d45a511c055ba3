import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../rt.mjs'
import { errorOf, sloppy } from './fixtures/preemptify/both-ways.mjs'
import { drive, driveAsync } from './support/drive.mjs'

/** That a call throws an error of a class, whose message has all the parts. */
function assertThrows(fn, type, ...parts) {
  const error = errorOf(fn)
  assert.is(error.constructor, type, `${error}`)
  for (const part of parts) {
    assert.ok(part instanceof RegExp ? part.test(error.message) : error.message.includes(part), `${error}: no ${part}`)
  }
  return error
}

const refusals = suite('what cannot be rewritten')

function named() {}

for (const [name, fn, ...parts] of [
  ['native functions', Math.max, 'preemptify(max)', 'native'],
  ['native classes', Map, 'preemptify(Map)', 'native'],
  ['bound functions', named.bind(null), 'preemptify(bound named)', 'bound'],
  ['proxied functions', new Proxy(named, {}), 'preemptify(named)', 'proxied'],
  ['getters', Object.getOwnPropertyDescriptor({ get x() { return 1 } }, 'x').get, 'preemptify(get x)', 'accessor', 'method'],
  ['setters', Object.getOwnPropertyDescriptor({ set x(y) {} }, 'x').set, 'preemptify(set x)', 'accessor'],
  ['getters called get', Object.getOwnPropertyDescriptor({ get get() { return 1 } }, 'get').get, 'accessor'],
  ['static getters', Object.getOwnPropertyDescriptor(class { static get x() { return 1 } }, 'x').get, 'accessor'],
  ['computed getters', Object.getOwnPropertyDescriptor({ get ['x']() { return 1 } }, 'x').get, 'accessor'],
  ['classes', class Cipher {}, 'preemptify(Cipher)', 'constructor', 'methods: ['],
  ['derived classes', class Cipher extends Map { run() {} }, 'constructor', 'methods: ['],
  ['classes without a name', (0, class {}), 'preemptify(an anonymous function)', 'constructor'],
  ['async generators', async function* walk() {}, 'preemptify(walk)', 'async generator', 'yields promises'],
  ['async generator methods', { async *walk() {} }.walk, 'async generator'],
  ['async generator methods with computed names', { async *['walk']() {} }.walk, 'async generator']
]) refusals(`${name}: a TypeError with the reason`, () => assertThrows(() => preemptify(fn), TypeError, ...parts))

refusals('a function whose last comment looks native is none', () => {
  assert.is(drive(preemptify(sloppy('function () { return 1 /* { [native code] } */ }'))()), 1)
  assert.is(drive(preemptify(sloppy('function () { return "{ [native code] }" }'))()), '{ [native code] }')
  assert.is(drive(preemptify(sloppy('() => 1 // { [native code] }'))()), 1)
  assert.equal(drive(preemptify(sloppy('function () { function f() { [native, code] } let native, code; return [native] }'))()), [undefined])
})

refusals('methods and functions called like what is refused are none', () => {
  const object = { class() { return 1 }, constructor() { return 2 }, get() { return 3 }, set() { return 4 }, async() { return 5 } }
  for (const key of Object.keys(object)) assert.is(drive(preemptify(object[key])()), object[key]())
})

for (const [name, make] of Object.entries({
  'this': () => () => this,
  'this in a nested arrow': () => () => () => this,
  'this in a parameter': () => (x = this) => x,
  'arguments': () => sloppy('(function () { return () => arguments })()'),
  'new.target': () => sloppy('(function () { return () => new.target })()')
})) {
  refusals(`an arrow function with ${name} that is not handed in`, () => {
    assertThrows(() => preemptify(make()), TypeError, 'arrow function', '{ this: value }', '{ evaluate: s => eval(s) }')
  })
}

refusals('this: value does not bring arguments', () => {
  assertThrows(() => preemptify(sloppy('(function () { return () => arguments })()'), { this: {} }), TypeError, 'arguments')
})

refusals('a method with super needs its home, or the whole class', () => {
  class A { run() { return super.toString() } }
  assertThrows(() => preemptify(A.prototype.run), TypeError, 'preemptify(run)', 'super', '{ home }', '{ methods: [...] }')
})

refusals('a method with private names needs the whole class, or evaluate', () => {
  class A { #x = 1; run() { return this.#x } }
  assertThrows(() => preemptify(A.prototype.run), SyntaxError, 'preemptify(run)', 'private names', '{ methods: [...] }', 'evaluate')
})

for (const methods of [['x'], ['constructor'], ['go']]) {
  refusals(`{ methods: ['${methods}'] } of a class where that is none that can be rewritten`, () => {
    class A { constructor() {} get x() { return 1 } async *go() {} }
    assertThrows(() => preemptify(A, { methods }), TypeError, 'A')
  })
}

refusals.run()

const options = suite('options')

const wrong = {
  fn: [undefined, null, 1, 'function () {}', {}, Symbol('f')],
  options: [null, 1, 'x', () => {}],
  scope: [null, 1, 'x', true],
  calls: [null, 1, 'x', true],
  evaluate: [null, 1, 's => eval(s)', {}],
  strict: [null, 1, 'true', {}],
  budgeted: [null, 1, 'true', 0],
  home: [1, 'x', true, null]
}

for (const [option, values] of Object.entries(wrong)) {
  options(`${option}: a TypeError names it and the value`, () => {
    for (const value of values) {
      const given = option === 'fn' ? [value] : [() => {}, option === 'options' ? value : { [option]: value }]
      const shown = typeof value === 'string' ? value : typeof value === 'object' && value ? /object|\{/i : String(value)
      assertThrows(() => preemptify(...given), TypeError, option, typeof value === 'function' ? 'function' : shown)
    }
  })
}

options('scope and calls: keys that are no names are named', () => {
  for (const key of ['a b', '', '1', 'a-b', 'a\n', ' a', 'a/* */', '#x', 'a.b']) {
    assertThrows(() => preemptify(() => {}, { scope: { [key]: 1 } }), TypeError, 'scope')
    assertThrows(() => preemptify(() => {}, { calls: { [key]: function* () {} } }), TypeError, 'calls')
  }
  for (const key of ['$', '_', 'é', 'a1', '\u{20BB7}', 'of', 'let_']) {
    assert.is(drive(preemptify(sloppy(`() => ${key}`), { scope: { [key]: 1 } })()), 1, key)
  }
})

options('calls: what is not preemptible is named', () => {
  for (const value of [1, 'f', () => {}, function f() {}, {}, null, Math.max, async () => {}]) {
    assertThrows(() => preemptify(() => {}, { calls: { encrypt: value } }), TypeError, 'calls.encrypt')
  }
})

options('calls: one added later that is not preemptible is a TypeError where it is called', () => {
  const calls = {}
  const work = preemptify(sloppy('n => encrypt(n)'), { calls })
  calls.encrypt = x => x
  assertThrows(() => drive(work(1)), TypeError, 'calls.encrypt', 'preemptify returned')
  calls.encrypt = preemptify(x => x + 1)
  assert.is(drive(work(1)), 2)
})

options('scope is not asked for what is inherited', () => {
  assert.is(drive(preemptify(sloppy('() => typeof inherited'), { scope: Object.create({ inherited: 1 }) })()), 'undefined')
})

options('nothing is half done: after an error all is as before', () => {
  const fn = sloppy('function f() { return [1].map(x => g(x)) }')
  assert.instance(errorOf(() => preemptify(fn, { calls: { g: function* () {} } })), SyntaxError)
  assert.equal(drive(preemptify(fn, { scope: { g: x => x } })()), [1])
  const object = { run() { return 1 }, get x() { return 2 } }
  const before = Object.getOwnPropertyDescriptors(object)
  assert.instance(errorOf(() => preemptify(object, { methods: ['run', 'x'] })), TypeError)
  assert.equal(Object.getOwnPropertyDescriptors(object), before)
})

options('a getter of the options is asked, and its error passed on', () => {
  const error = new RangeError('getter')
  assert.is(errorOf(() => preemptify(() => {}, { get scope() { throw error } })), error)
})

options.run()

const lost = suite('variables of the code around')

const outer = 1

lost('a lost one is a ReferenceError that says how to hand it in', () => {
  const error = assertThrows(() => drive(preemptify(function twice(n) { return n * outer })(1)), ReferenceError,
    'outer is not defined', 'preemptify(twice)', 'evaluates the source anew', '{ evaluate: s => eval(s) }',
    '{ scope: { outer } }', '{ calls: { outer } }')
  assert.instance(error.cause, ReferenceError)
})

lost('one that is read behind a yield or an await, too', async () => {
  assertThrows(() => drive(preemptify(n => { for (let i = 0; i < n; i++); return outer })(9), { limit: 1 }), ReferenceError, '{ scope: { outer } }')
  const error = await driveAsync(preemptify(async () => { await 1; return outer })()).catch(error => error)
  assert.match(error.message, '{ scope: { outer } }')
})

lost('one that is assigned to', () => {
  assertThrows(() => drive(preemptify(sloppy('function () { "use strict"; around = 1 }'))()), ReferenceError, '{ scope: { around } }')
})

lost('typeof of one is no error', () => {
  assert.is(drive(preemptify(() => typeof outer)()), 'undefined')
})

lost('other ReferenceErrors stay as they are', () => {
  for (const source of [
    'function () { x; let x }', 'function () { throw new ReferenceError("mine") }', 'function (a = b, b) {}',
    'function () { if (0) around; x; const x = 1 }'
  ]) assertThrows(() => drive(preemptify(sloppy(source))()), ReferenceError, /^(Cannot access '.' before initialization|mine)$/)
})

lost('the global ones are there', () => {
  globalThis.around = 5
  try {
    assert.equal(drive(preemptify(sloppy('() => [around, Math.max(1, 2), typeof undefined]'))()), [5, 2, 'undefined'])
  } finally {
    delete globalThis.around
  }
})

lost('one that is caught by the function is its own', () => {
  assert.is(drive(preemptify(() => { try { return outer } catch (error) { return error.constructor } })()), ReferenceError)
})

lost('evaluate whose parameter hides a variable is a TypeError, before anything runs', () => {
  const s = 1
  const fn = () => s
  assertThrows(() => preemptify(fn, { evaluate: s => eval(s) }), TypeError, 'a variable s', 'hidden by the parameter of evaluate')
  assertThrows(() => preemptify(fn, { evaluate: function (s) { return eval(s) } }), TypeError, 'hidden')
  assertThrows(() => preemptify(() => () => s, { evaluate: s => eval(s) }), TypeError, 'hidden')
  assert.is(drive(preemptify(fn, { evaluate: source => eval(source) })()), s)
  assert.is(drive(preemptify(x => { const s = x; return s }, { evaluate: s => eval(s) })(2)), 2, 'its own s is not hidden')
})

lost('evaluate that gives no function', () => {
  for (const evaluate of [() => {}, s => { eval(s) }, s => s]) {
    assertThrows(() => preemptify(() => 1, { evaluate }), TypeError, 'evaluate', 's => eval(s)')
  }
})

lost('evaluate that throws: its error is passed on', () => {
  const error = new RangeError('evaluate')
  assert.is(errorOf(() => preemptify(() => 1, { evaluate() { throw error } })), error)
})

lost.run()

const forbidden = suite('where evaluation is forbidden')

const csp = () => { throw new EvalError('Refused to evaluate a string as JavaScript') }

forbidden('an EvalError names the function, the directives and what to do', () => {
  const error = assertThrows(() => preemptify(function encrypt() { return 1 }, { evaluate: csp }), EvalError,
    'preemptify(encrypt)', 'Content-Security-Policy', 'script-src', "'unsafe-eval'", 'require-trusted-types-for', 'generator with a yield')
  assert.instance(error.cause, EvalError)
})

forbidden('for classes as well', () => {
  assertThrows(() => preemptify(class A { run() {} }, { methods: ['run'], evaluate: csp }), EvalError, 'preemptify(A)', 'script-src')
})

forbidden('it may work later: nothing is remembered', () => {
  const fn = function () { return 7 }
  const original = globalThis.eval
  try {
    globalThis.eval = csp
    assert.instance(errorOf(() => preemptify(fn)), EvalError)
  } finally {
    globalThis.eval = original
  }
  assert.is(drive(preemptify(fn)()), 7)
})

forbidden.run()
