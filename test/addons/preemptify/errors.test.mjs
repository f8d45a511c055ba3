import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { errorOf, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'

/** That a call throws an error of a class, whose message has all the parts. */
function assertThrows(fn, type, ...parts) {
  const error = errorOf(fn)
  assert.is(error.constructor, type, `${error}`)
  for (const part of parts) {
    const has = part instanceof RegExp ? part.test(error.message) : error.message.includes(part)
    assert.ok(has, `${error}: no ${part}`)
  }
  return error
}

const refusals = suite('what cannot be rewritten')

function named() {}

const accessor = (object, key) => {
  const { get, set } = Object.getOwnPropertyDescriptor(object, key)
  return get ?? set
}

for (const [name, fn, ...parts] of [
  ['native functions', Math.max, 'preemptify(max)', 'native'],
  ['native classes', Map, 'preemptify(Map)', 'native'],
  ['bound functions', named.bind(null), 'preemptify(bound named)', 'bound'],
  ['proxied functions', new Proxy(named, {}), 'preemptify(named)', 'proxied'],
  ['getters', accessor({ get x() { return 1 } }, 'x'), 'preemptify(get x)', 'accessor', 'method'],
  ['setters', accessor({ set x(y) {} }, 'x'), 'preemptify(set x)', 'accessor'],
  ['getters called get', accessor({ get get() { return 1 } }, 'get'), 'accessor'],
  ['static getters', accessor(class { static get x() { return 1 } }, 'x'), 'accessor'],
  ['computed getters', accessor({ get ['x']() { return 1 } }, 'x'), 'accessor'],
  ['classes', class Cipher {}, 'preemptify(Cipher)', 'constructor', 'methods: ['],
  ['derived classes', class Cipher extends Map { run() {} }, 'constructor', 'methods: ['],
  ['classes without a name', (0, class {}), 'preemptify(anonymous)', 'constructor'],
  ['async generators', async function* walk() {}, 'preemptify(walk)', 'async generator', 'yields promises'],
  ['async generator methods', { async *walk() {} }.walk, 'async generator'],
  ['async generator methods with computed names', { async *['walk']() {} }.walk, 'async generator']
]) {
  refusals(`${name}: a TypeError with the reason`, () => {
    assertThrows(() => preemptify(fn), TypeError, ...parts)
  })
}

refusals('a function whose last comment looks native is none', () => {
  assert.is(drive(preemptify(sloppy('function () { return 1 /* { [native code] } */ }'))()), 1)
  assert.is(drive(preemptify(sloppy('function () { return "{ [native code] }" }'))()), '{ [native code] }')
  assert.is(drive(preemptify(sloppy('() => 1 // { [native code] }'))()), 1)
})

refusals('methods and functions called like what is refused are none', () => {
  const object = {
    class() { return 1 },
    constructor() { return 2 },
    get() { return 3 },
    set() { return 4 },
    async() { return 5 }
  }
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
    const parts = ['arrow function', '{ this: value }', '{ evaluate: s => eval(s) }']
    assertThrows(() => preemptify(make()), TypeError, ...parts)
  })
}

refusals('this: value does not bring arguments', () => {
  const fn = sloppy('(function () { return () => arguments })()')
  assertThrows(() => preemptify(fn, { this: {} }), TypeError, 'arguments')
})

refusals('a method with super needs its home, or the whole class', () => {
  class A { run() { return super.toString() } }
  const parts = ['preemptify(run)', 'super', '{ home }', '{ methods: [...] }']
  assertThrows(() => preemptify(A.prototype.run), TypeError, ...parts)
})

refusals('a method with private names needs the whole class, or evaluate', () => {
  class A { #x = 1; run() { return this.#x } }
  const parts = ['preemptify(run)', 'private names', '{ methods: [...] }', 'evaluate']
  assertThrows(() => preemptify(A.prototype.run), SyntaxError, ...parts)
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
      const shown = typeof value === 'function' ? 'function'
        : typeof value === 'object' && value !== null ? /object|\{/i : String(value)
      assertThrows(() => preemptify(...given), TypeError, option, shown)
    }
  })
}

options('scope and calls: keys that are no names are named', () => {
  for (const key of ['a b', '', '1', 'a-b', 'a\n', ' a', 'a/* */', '#x', 'a.b', '"', "'", '`', '/*', '/']) {
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
  assertThrows(() => drive(work(1)), TypeError, 'calls.encrypt', 'preemptify returns')
  calls.encrypt = preemptify(x => x + 1)
  assert.is(drive(work(1)), 2)
})

options('scope and calls: what is no arrow function of a variable is named', () => {
  const a = { b: 1 }
  for (const value of [1, null, 'a', {}, function () { return a }, () => a.b, () => a(), () => [a], () => { return a },
    b => b, () => !a, Math.max]) {
    const shown = typeof value !== 'function' || value === Math.max ? [] : [String(value)]
    assertThrows(() => preemptify(() => {}, { scope: [() => a, value] }), TypeError, 'scope[1]', '() => name', ...shown)
    assertThrows(() => preemptify(() => {}, { calls: [value] }), TypeError, 'calls[0]', '() => name', ...shown)
  }
})

options('calls: a variable that holds nothing preemptible is named', () => {
  const encrypt = x => x
  assertThrows(() => preemptify(() => {}, { calls: [() => encrypt] }), TypeError, 'calls.encrypt')
})

options('scope: a variable given by an arrow function cannot be assigned to', () => {
  const a = 1
  for (const body of ['a = 1', 'a++', 'for (a of []);', '() => { a += 1 }']) {
    assertThrows(() => preemptify(sloppy(`function () { ${body} }`), { scope: [() => a] }), TypeError,
      'a cannot be assigned to', '{ evaluate: s => eval(s) }')
  }
  assertThrows(() => drive(preemptify(sloppy('function () { [a] = [1] }'), { scope: [() => a] })()), TypeError,
    'a cannot be assigned to')
})

options('scope is not asked for what is inherited', () => {
  const scope = Object.create({ inherited: 1 })
  assert.is(drive(preemptify(sloppy('() => typeof inherited'), { scope })()), 'undefined')
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
  const work = preemptify(function twice(n) { return n * outer })
  const error = assertThrows(() => drive(work(1)), ReferenceError,
    'outer is not defined', 'preemptify(twice)', 'evaluates the source anew', '{ evaluate: s => eval(s) }',
    '{ scope: { outer } }', '{ calls: { outer } }')
  assert.instance(error.cause, ReferenceError)
})

lost('one that is read behind a yield or an await, too', async () => {
  const work = preemptify(n => { for (let i = 0; i < n; i++); return outer })
  assertThrows(() => drive(work(9), { limit: 1 }), ReferenceError, '{ scope: { outer } }')
  const error = await driveAsync(preemptify(async () => { await 1; return outer })()).catch(error => error)
  assert.match(error.message, '{ scope: { outer } }')
})

lost('one that is assigned to', () => {
  const work = preemptify(sloppy('function () { "use strict"; around = 1 }'))
  assertThrows(() => drive(work()), ReferenceError, '{ scope: { around } }')
})

lost('typeof of one is no error', () => {
  assert.is(drive(preemptify(() => typeof outer)()), 'undefined')
})

lost('other ReferenceErrors stay as they are', () => {
  for (const source of [
    'function () { x; let x }', 'function () { throw new ReferenceError("mine") }', 'function (a = b, b) {}',
    'function () { if (0) around; x; const x = 1 }', 'function () { if (0) x; { x; let x } }',
    'function () { if (0) mine; throw new ReferenceError("mine") }'
  ]) {
    const work = preemptify(sloppy(source))
    assertThrows(() => drive(work()), ReferenceError, /^(Cannot access '.' before initialization|mine)$/)
  }
})

lost('the global ones are there', () => {
  globalThis.around = 5
  try {
    const work = preemptify(sloppy('() => [around, Math.max(1, 2), typeof undefined]'))
    assert.equal(drive(work()), [5, 2, 'undefined'])
  } finally {
    delete globalThis.around
  }
})

lost('one that is caught by the function is its own', () => {
  const work = preemptify(() => { try { return outer } catch (error) { return error.constructor } })
  assert.is(drive(work()), ReferenceError)
})

lost('evaluate whose parameter hides a variable is a TypeError, before anything runs', () => {
  const s = 1
  const fn = () => s
  const parts = ['a variable s', 'hidden by the parameter of evaluate']
  assertThrows(() => preemptify(fn, { evaluate: s => eval(s) }), TypeError, ...parts)
  assertThrows(() => preemptify(fn, { evaluate: function (s) { return eval(s) } }), TypeError, 'hidden')
  assertThrows(() => preemptify(() => () => s, { evaluate: s => eval(s) }), TypeError, 'hidden')
  assert.is(drive(preemptify(fn, { evaluate: source => eval(source) })()), s)
  const own = x => { const s = x; return s }
  assert.is(drive(preemptify(own, { evaluate: s => eval(s) })(2)), 2, 'its own s is not hidden')
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
    'preemptify(encrypt)', 'Content-Security-Policy', 'script-src', "'unsafe-eval'",
    'require-trusted-types-for', 'generator with a yield')
  assert.instance(error.cause, EvalError)
})

forbidden('for classes as well', () => {
  const rewrite = () => preemptify(class A { run() {} }, { methods: ['run'], evaluate: csp })
  assertThrows(rewrite, EvalError, 'preemptify(A)', 'script-src')
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
