import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { errorOf, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'

/** Asserts that a call throws an error of a class, and that the message contains all parts. */
function assertThrows(fn, type, ...parts) {
  const error = errorOf(fn)
  assert.is(error.constructor, type, `${error}`)
  for (const part of parts) {
    const has = part instanceof RegExp ? part.test(error.message) : error.message.includes(part)
    assert.ok(has, `${error}: no ${part}`)
  }
  return error
}

const refusals = suite('functions that cannot be rewritten')

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
  refusals(`preemptify throws a TypeError with the reason for ${name}`, () => {
    assertThrows(() => preemptify(fn), TypeError, ...parts)
  })
}

refusals('a function with a comment like the text of a native function is rewritten', () => {
  assert.is(drive(preemptify(sloppy('function () { return 1 /* { [native code] } */ }'))()), 1)
  assert.is(drive(preemptify(sloppy('function () { return "{ [native code] }" }'))()), '{ [native code] }')
  assert.is(drive(preemptify(sloppy('() => 1 // { [native code] }'))()), 1)
})

refusals('methods called class, constructor, get, set and async are rewritten', () => {
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
  refusals(`an arrow function with ${name} needs the option this or evaluate`, () => {
    const parts = ['arrow function', '{ this: value }', '{ evaluate: s => eval(s) }']
    assertThrows(() => preemptify(make()), TypeError, ...parts)
  })
}

refusals('the option this does not replace the arguments of an arrow function', () => {
  const fn = sloppy('(function () { return () => arguments })()')
  assertThrows(() => preemptify(fn, { this: {} }), TypeError, 'arguments')
})

refusals('a method with super needs the option home or the class', () => {
  class A { run() { return super.toString() } }
  const parts = ['preemptify(run)', 'super', '{ home }', '{ methods: [...] }']
  assertThrows(() => preemptify(A.prototype.run), TypeError, ...parts)
})

refusals('a method with private names needs the class or the option evaluate', () => {
  class A { #x = 1; run() { return this.#x } }
  const parts = ['preemptify(run)', 'private names', '{ methods: [...] }', 'evaluate']
  assertThrows(() => preemptify(A.prototype.run), SyntaxError, ...parts)
})

for (const methods of [['x'], ['constructor'], ['go']]) {
  refusals(`preemptify throws for { methods: ['${methods}'] } if it is not a method`, () => {
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
  options(`an invalid value of ${option} is a TypeError with the value`, () => {
    for (const value of values) {
      const given = option === 'fn' ? [value] : [() => {}, option === 'options' ? value : { [option]: value }]
      const shown = typeof value === 'function' ? 'function'
        : typeof value === 'object' && value !== null ? /object|\{/i : String(value)
      assertThrows(() => preemptify(...given), TypeError, option, shown)
    }
  })
}

options('keys of scope and calls that are not identifiers are a TypeError', () => {
  for (const key of ['a b', '', '1', 'a-b', 'a\n', ' a', 'a/* */', '#x', 'a.b', '"', "'", '`', '/*', '/']) {
    assertThrows(() => preemptify(() => {}, { scope: { [key]: 1 } }), TypeError, 'scope')
    assertThrows(() => preemptify(() => {}, { calls: { [key]: function* () {} } }), TypeError, 'calls')
  }
  for (const key of ['$', '_', 'é', 'a1', '\u{20BB7}', 'of', 'let_']) {
    assert.is(drive(preemptify(sloppy(`() => ${key}`), { scope: { [key]: 1 } })()), 1, key)
  }
})

options('calls with a function that is not preemptible is a TypeError', () => {
  for (const value of [1, 'f', () => {}, function f() {}, {}, null, Math.max, async () => {}]) {
    assertThrows(() => preemptify(() => {}, { calls: { encrypt: value } }), TypeError, 'calls.encrypt')
  }
})

options('a plain function that is added to calls later throws when it is called', () => {
  const calls = {}
  const work = preemptify(sloppy('n => encrypt(n)'), { calls })
  calls.encrypt = x => x
  assertThrows(() => drive(work(1)), TypeError, 'calls.encrypt', 'preemptify returns')
  calls.encrypt = preemptify(x => x + 1)
  assert.is(drive(work(1)), 2)
})

options('lists in scope and calls accept only arrow functions of variables', () => {
  const a = { b: 1 }
  for (const value of [1, null, 'a', {}, function () { return a }, () => a.b, () => a(), () => [a], () => { return a },
    b => b, () => !a, Math.max]) {
    const shown = typeof value !== 'function' || value === Math.max ? [] : [String(value)]
    assertThrows(() => preemptify(() => {}, { scope: [() => a, value] }), TypeError, 'scope[1]', '() => name', ...shown)
    assertThrows(() => preemptify(() => {}, { calls: [value] }), TypeError, 'calls[0]', '() => name', ...shown)
  }
})

options('a variable in calls without a preemptible function is a TypeError', () => {
  const encrypt = x => x
  assertThrows(() => preemptify(() => {}, { calls: [() => encrypt] }), TypeError, 'calls.encrypt')
})

options('a variable in scope by an arrow function cannot be assigned', () => {
  const a = 1
  for (const body of ['a = 1', 'a++', 'for (a of []);', '() => { a += 1 }']) {
    assertThrows(() => preemptify(sloppy(`function () { ${body} }`), { scope: [() => a] }), TypeError,
      'a cannot be assigned to', '{ evaluate: s => eval(s) }')
  }
  assertThrows(() => drive(preemptify(sloppy('function () { [a] = [1] }'), { scope: [() => a] })()), TypeError,
    'a cannot be assigned to')
})

options('inherited properties of scope are ignored', () => {
  const scope = Object.create({ inherited: 1 })
  assert.is(drive(preemptify(sloppy('() => typeof inherited'), { scope })()), 'undefined')
})

options('after an error of preemptify the function and object are unchanged', () => {
  const fn = sloppy('function f() { return [1].map(x => g(x)) }')
  assert.instance(errorOf(() => preemptify(fn, { calls: { g: function* () {} } })), SyntaxError)
  assert.equal(drive(preemptify(fn, { scope: { g: x => x } })()), [1])
  const object = { run() { return 1 }, get x() { return 2 } }
  const before = Object.getOwnPropertyDescriptors(object)
  assert.instance(errorOf(() => preemptify(object, { methods: ['run', 'x'] })), TypeError)
  assert.equal(Object.getOwnPropertyDescriptors(object), before)
})

options('an error of a getter of the options is thrown', () => {
  const error = new RangeError('getter')
  assert.is(errorOf(() => preemptify(() => {}, { get scope() { throw error } })), error)
})

options.run()

const lost = suite('variables outside the function')

const outer = 1

lost('a missing variable is a ReferenceError with the options that pass it', () => {
  const work = preemptify(function twice(n) { return n * outer })
  const error = assertThrows(() => drive(work(1)), ReferenceError,
    'outer is not defined', 'preemptify(twice)', 'evaluates the source anew', '{ evaluate: s => eval(s) }',
    '{ scope: { outer } }', '{ calls: { outer } }')
  assert.instance(error.cause, ReferenceError)
})

lost('a missing variable after a yield or an await is a ReferenceError', async () => {
  const work = preemptify(n => { for (let i = 0; i < n; i++); return outer })
  assertThrows(() => drive(work(9), { limit: 1 }), ReferenceError, '{ scope: { outer } }')
  const error = await driveAsync(preemptify(async () => { await 1; return outer })()).catch(error => error)
  assert.match(error.message, '{ scope: { outer } }')
})

lost('an assignment to a missing variable is a ReferenceError', () => {
  const work = preemptify(sloppy('function () { "use strict"; around = 1 }'))
  assertThrows(() => drive(work()), ReferenceError, '{ scope: { around } }')
})

lost('typeof of a missing variable is undefined', () => {
  assert.is(drive(preemptify(() => typeof outer)()), 'undefined')
})

lost('other ReferenceErrors keep their messages', () => {
  for (const source of [
    'function () { x; let x }', 'function () { throw new ReferenceError("mine") }', 'function (a = b, b) {}',
    'function () { if (0) around; x; const x = 1 }', 'function () { if (0) x; { x; let x } }',
    'function () { if (0) mine; throw new ReferenceError("mine") }'
  ]) {
    const work = preemptify(sloppy(source))
    assertThrows(() => drive(work()), ReferenceError, /^(Cannot access '.' before initialization|mine)$/)
  }
})

lost('global variables need no options', () => {
  globalThis.around = 5
  try {
    const work = preemptify(sloppy('() => [around, Math.max(1, 2), typeof undefined]'))
    assert.equal(drive(work()), [5, 2, 'undefined'])
  } finally {
    delete globalThis.around
  }
})

lost('a function can catch the ReferenceError of a missing variable', () => {
  const work = preemptify(() => { try { return outer } catch (error) { return error.constructor } })
  assert.is(drive(work()), ReferenceError)
})

lost('evaluate with a parameter that hides a variable is a TypeError', () => {
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

lost('evaluate that does not return the value of eval is a TypeError', () => {
  for (const evaluate of [() => {}, s => { eval(s) }, s => s]) {
    assertThrows(() => preemptify(() => 1, { evaluate }), TypeError, 'evaluate', 's => eval(s)')
  }
})

lost('an error of evaluate is thrown unchanged', () => {
  const error = new RangeError('evaluate')
  assert.is(errorOf(() => preemptify(() => 1, { evaluate() { throw error } })), error)
})

lost.run()

const forbidden = suite('pages that forbid evaluation')

const csp = () => { throw new EvalError('Refused to evaluate a string as JavaScript') }

forbidden('an EvalError names the function, the directives and the remedy', () => {
  const error = assertThrows(() => preemptify(function encrypt() { return 1 }, { evaluate: csp }), EvalError,
    'preemptify(encrypt)', 'Content-Security-Policy', 'script-src', "'unsafe-eval'",
    'require-trusted-types-for', 'generator with a yield')
  assert.instance(error.cause, EvalError)
})

forbidden('an EvalError names the class', () => {
  const rewrite = () => preemptify(class A { run() {} }, { methods: ['run'], evaluate: csp })
  assertThrows(rewrite, EvalError, 'preemptify(A)', 'script-src')
})

forbidden('preemptify works after an EvalError if evaluation is allowed again', () => {
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
