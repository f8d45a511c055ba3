import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { assertAlike, assertAlikeAsync, errorOf, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

/** Calls the rewritten function with a yield at every point. */
const call = (work, ...args) => callOn(undefined, work, ...args)
const callOn = (receiver, work, ...args) => drive(Reflect.apply(work, receiver, args), { limit: 1 })

const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor

const functions = suite('functions')

functions('functions of all kinds become generator functions', () => {
  function declared(n) { return n + 1 }
  for (const fn of [declared, function (n) { return n + 1 }, n => n + 1, function* (n) { return n + 1 }]) {
    const work = preemptify(fn)
    assert.instance(work, GeneratorFunction)
    assert.is(call(work, 1), 2)
  }
})

functions('the result has the name and the length of the function', () => {
  const symbol = Symbol('of a symbol')
  for (const fn of [
    function add(a, b) {}, (a, b = 1, c) => {}, function (...rest) {}, async function wait(a) {},
    function* walk(a, b) {}, { 'a b'(c) {} }['a b'], { [symbol](a) {} }[symbol]
  ]) {
    const work = preemptify(fn)
    assert.is(work.name, fn.name)
    assert.is(work.length, fn.length)
  }
})

functions('a function may have any name, for example a keyword or an empty text', () => {
  const names = [
    '', 'class', 'a b', '"', '\\', '\n', '*/', '${}', '\u2028', '#x', '0', 'eval', 'yield', '__proto__'
  ]
  for (const name of names) {
    const work = preemptify(Object.defineProperty(x => x + 1, 'name', { value: name }))
    assert.is(work.name, name)
    assert.is(call(work, 1), 2, name)
  }
})

functions('source is the text of a generator function', () => {
  const work = preemptify(function twice(n) { return n * 2 })
  assert.match(work.source, /^function\* \(n\) \{.*return n \* 2 \}$/)
})

functions('preemptify rewrites a function once', () => {
  const fn = function (n) { while (n > 0) n-- }
  const original = globalThis.eval
  const work = preemptify(fn)
  try {
    globalThis.eval = () => { throw new Error('evaluated again') }
    assert.is(preemptify(fn), work)
    assert.is(preemptify(fn, {}), work)
  } finally {
    globalThis.eval = original
  }
})

functions('preemptify with options rewrites a function each time', () => {
  const fn = x => (typeof a === 'undefined' ? 0 : a) + x
  const plain = preemptify(fn)
  assert.is(call(preemptify(fn, { scope: { a: 1 } }), 1), 2)
  assert.is(call(preemptify(fn, { scope: { a: 2 } }), 1), 3)
  assert.is(preemptify(fn), plain)
})

functions('preemptify returns a preemptible function unchanged', () => {
  const work = preemptify(function () {})
  assert.is(preemptify(work), work)
  assert.is(preemptify(work, { budgeted: false }), work)
})

functions('preemptify does not change the function', () => {
  const fn = function fn(n) { return n ? fn(n - 1) : 0 }
  const source = `${fn}`
  preemptify(fn)
  assert.is(fn(3), 0)
  assert.is(`${fn}`, source)
  const untouched = function untouched() {}
  assert.equal(Reflect.ownKeys(fn), Reflect.ownKeys(untouched))
})

functions('a Task and spawn run a preemptible function in independent runs', async () => {
  const host = virtualHost({ read: 0.01 })
  const scheduler = new Scheduler({ host, budget: 1, slice: 0.02 })
  const work = preemptify(function sum(list) {
    let total = 0
    for (const x of list) total += x
    for (let i = 0; i < list.length; i++) total += list[i]
    return total
  })
  const jobs = [1, 2, 3].map(n => scheduler.spawn(work, { name: `${n}` }, new Array(20).fill(n)))
  await host.drain()
  assert.equal(await Promise.all(jobs), [40, 80, 120])
  assert.ok(jobs.every(({ preemptions }) => preemptions > 0))
})

functions('the stack of an error has a readable sourceURL with name and line', () => {
  const work = preemptify(function explode(n) {
    for (let i = 0; i < n; i++);
    throw new Error('here')
  })
  const { stack } = errorOf(() => call(work, 3))
  assert.match(stack, /explode.*\(preemptify\/\d+\/explode\.js:\d+:\d+\)/)
  const line = of => Number(of.match(/explode\.js:(\d+)/)[1])
  const other = preemptify(function explode(n) { throw new Error('here') })
  const first = line(errorOf(() => call(other)).stack)
  assert.is(line(stack) - first, 2, 'lines count as in the source')
})

functions('every rewritten text has a distinct sourceURL', () => {
  const url = () => {
    const work = preemptify(function f() { throw new Error() })
    return errorOf(() => call(work)).stack.match(/preemptify\/\d+/)[0]
  }
  assert.is.not(url(), url())
})

functions('a sourceURL is a valid URL for any name', () => {
  const name = 'a b\n//é'
  const { stack } = errorOf(() => call(preemptify({ [name]() { throw new Error() } }[name])))
  assert.match(stack, /preemptify\/\d+\/a%20b%0A%2F%2F%C3%A9\.js/)
})

functions.run()

const words = suite('this, arguments, new.target')

words('this is boxed in sloppy code only', () => {
  const sloppily = preemptify(sloppy('function () { return this }'))
  assert.is(callOn(undefined, sloppily), globalThis)
  assert.is(callOn(null, sloppily), globalThis)
  assert.is(typeof callOn(1, sloppily), 'object')
  const strictly = preemptify(sloppy('function () { "use strict"; return this }'))
  assert.is(callOn(undefined, strictly), undefined)
  assert.is(callOn(1, strictly), 1)
})

words('arguments contains all arguments, and maps parameters in sloppy code only', () => {
  for (const source of [
    'function (a, b) { return [...arguments, arguments.length] }',
    'function (a, b) { a = 7; return arguments[0] }',
    'function (a, b) { arguments[0] = 7; return a }',
    'function (a, b) { "use strict"; a = 7; return arguments[0] }',
    'function (a, b = 1) { a = 7; return arguments[0] }',
    'function (a, a) { arguments[1] = 7; return a }',
    'function () { return (() => arguments[0])() }',
    'function () { var arguments = 7; return arguments }',
    'function () { function arguments() { return 7 } return arguments() }',
    'function (arguments) { return arguments }',
    'function () { for (let i = 0; i < arguments.length; i++) arguments[0] += i; return arguments[0] }',
    'function () { return eval("arguments.length") }',
    'function () { return (function () { return arguments.length })() }'
  ]) {
    for (const given of [[], [1], [1, 2, 3]]) assertAlike(sloppy(source), { args: () => given })
  }
})

words('arguments.callee is the called function, and throws in strict code', () => {
  const work = preemptify(sloppy('function () { return typeof arguments.callee }'))
  assert.is(call(work), 'function')
  assertAlike(sloppy('function () { "use strict"; return arguments.callee }'))
})

words('new.target is undefined, as in every call', () => {
  assertAlike(sloppy('function (log) { return [new.target, (() => new.target)(), log(new.target)] }'))
})

words('an arrow function with evaluate has the outer this, arguments and new.target', () => {
  class Around {
    constructor() {
      this.pairs = [
        () => this,
        () => [...arguments],
        () => new.target,
        x => { for (let i = 0; i < 2; i++) this.x = x; return (() => this.x + arguments[0])() },
        ({ x }, ...[y]) => [this, x, y]
      ].map(fn => [fn, preemptify(fn, { evaluate: s => eval(s) })])
    }
  }
  for (const [fn, work] of new Around(5, 6).pairs) assert.equal(call(work, 1), fn(1), `${fn}`)
})

words('an arrow function can assign to the outer arguments', () => {
  function around() {
    const work = preemptify(() => { arguments[0] = 7 }, { evaluate: s => eval(s) })
    call(work)
    return arguments[0]
  }
  assert.is(around(1), 7)
})

words('a line that starts with -- does not assign to the previous word', () => {
  function around() {
    let n = 2
    return preemptify(() => {
      const words = [this]
      words[1] = new.target
      --n
      words[2] = this
      --n
      return [...words, n]
    }, { evaluate: s => eval(s) })
  }
  assert.equal(call(around.call(7)), [7, undefined, 7, 0])
})

words('an arrow function has the this of the option this', () => {
  const receiver = { x: 1 }
  const fn = n => { for (let i = 0; i < n; i++) this.x++; return (() => this)() }
  assert.is(call(preemptify(fn, { this: receiver }), 3), receiver)
  assert.is(receiver.x, 4)
  for (const value of [undefined, null, 1]) {
    assert.is(callOn({}, preemptify(() => this, { this: value })), value)
  }
})

words('an arrow function without this needs no option', () => {
  assert.is(callOn({ x: 1 }, preemptify(x => x ?? 7)), 7)
  const nested = x => (function () { return this === x && arguments.length }).call(x)
  assert.is(call(preemptify(nested), globalThis), 0)
})

words.run()

const parameters = suite('parameters')

for (const source of [
  'function (log, a = log(1), b = log(a + 1), c) { return [a, b, c] }',
  'function (log, { a = log(1), b: { c } = { c: log(2) }, ...rest } = { d: log(3) }) { return [a, c, rest] }',
  'function (log, [a, , b = log(1)] = [1, 2], ...[c, d = log(4)]) { return [a, b, c, d] }',
  'function (log, ...rest) { return rest }',
  'function (log, a = () => b, b = 2) { var b = 3; return [a(), b] }',
  'function (log, a = b, b = 1) { return a }',
  'function (log, a = this, b = arguments.length, c = new.target) { return [a === globalThis, b, c] }',
  'function (log, a = (() => { for (let i = 0; i < 3; i++) log(i) })()) { return a }',
  'function (log, a = eval("var inner = 3; 4"), b = typeof inner) { return [a, b, typeof inner] }',
  'function (log, { [log("key")]: a = log(1) } = {}) { return a }',
  'function (log, a = `${[...`${log(1)}`]}`, b = /[)]/.test(")")) { return [a, b] }',
  'function (log, a = {}.none.none) { return log("never") }',
  'function (log, /* ) */ a /* , */, // )\n b) { return [a, b] }',
  '(log, a = log(1), { b } = { b: log(2) }, ...c) => [a, b, c]',
  'log => log(log => log)(3)',
  '(log, a = (b, c = 1) => c) => a()'
]) {
  parameters(`parameters have their native effects: ${source}`, () => {
    assertAlike(sloppy(source))
    assertAlike(sloppy(source), { args: log => [log, undefined, undefined, undefined, 5, 6] })
  })
}

parameters('errors of parameters are thrown at the first step, not at the call', () => {
  const work = preemptify(function (a = b, b) {})
  const error = errorOf(() => call(work))
  assert.instance(error, ReferenceError)
})

parameters.run()

const modes = suite('sloppy and strict')

const isSloppy = 'return typeof this === "object"'

modes('the engine shows whether a plain function is strict', () => {
  assertAlike(sloppy(`function () { ${isSloppy} }`))
  assertAlike(sloppy(`(function () { 'use strict'; return function () { ${isSloppy} } })()`))
  assertAlike(function () { return typeof this })
})

modes('only a valid directive makes a function strict', () => {
  for (const start of [
    "'use strict'", '"use strict";', "'a'; 'use strict'", "'a'\n'use strict'\n",
    "/* c */ 'use strict' // c\n", "('use strict')", "'use strict' + 1", "'use\\x20strict'",
    "'use strict'.length", "'use strict', 1", "1; 'use strict'",
    "'use strict'\n.length", "'use strict'\n+ 1", "'use strict'; 'x'", "; 'use strict'"
  ]) assertAlike(sloppy(`function () { ${start}; ${isSloppy} }`))
})

modes('other functions are strict, unless their source is invalid in strict code', () => {
  const unsure = source => sloppy(`{ method() { ${source} } }`).method
  assert.is(call(preemptify(unsure(isSloppy))), false)
  assert.is(call(preemptify(unsure(`with ({ a: 1 }) ${isSloppy} && a`))), 1)
  assert.is(call(preemptify(unsure(`var let = 017; ${isSloppy}`))), true)
})

modes('the option strict decides whether the function is strict', () => {
  const fn = sloppy(`{ method() { ${isSloppy} } }`).method
  assert.is(call(preemptify(fn, { strict: false })), true)
  assert.is(call(preemptify(fn, { strict: true })), false)
  assert.is(call(preemptify(sloppy(`function () { ${isSloppy} }`), { strict: true })), false)
})

modes('a function is strict if the code around evaluate is strict', () => {
  const here = s => eval(s)
  const there = sloppy('s => eval(s)')
  const fn = sloppy(`{ method() { ${isSloppy} } }`).method
  assert.is(call(preemptify(fn, { evaluate: here })), false)
  assert.is(call(preemptify(fn, { evaluate: there })), true)
  assert.is(call(preemptify(fn, { evaluate: there, strict: true })), false)
})

modes('assignments to undeclared or read-only names have their native effects', () => {
  for (const body of [
    'undeclaredName = 1; delete globalThis.undeclaredName', 'undefined = 1', 'Object.freeze(log).x = 1',
    'delete Object.prototype'
  ]) {
    assertAlike(sloppy(`function (log) { ${body}; return 7 }`))
  }
  const strictly = preemptify(sloppy('function () { "use strict"; undefined = 1 }'))
  assert.instance(errorOf(() => call(strictly)), TypeError)
})

modes('keywords of strict code are names in sloppy code', () => {
  const names = ['yield', 'let', 'static', 'async', 'of', 'get', 'set', 'await', 'implements', 'package']
  for (const name of names) {
    for (const body of [
      `var ${name} = 1; ${name}++; return { ${name}, f: () => ${name} }.f()`,
      `var ${name}; ${name} = [2]; return ${name}[0] / 2 / ${name}`,
      `${name}: for (;;) { for (;;) break ${name} } return 7`,
      `function ${name}(x) { return x } ${name}(1); return ${name} (log(2))`,
      `return { ${name}: 1, ${name}() { return 2 } }.${name}()`
    ]) assertAlike(sloppy(`function (log) { ${body} }`))
    assertAlike(sloppy(`function (log, ${name}) { return typeof ${name} }`))
  }
})

modes('yield may be a variable, a label or a free name', () => {
  for (const body of [
    'var yield = 3; return yield / 2 / 1',
    'var yield = [3]; return yield[0] + yield\n[0]',
    'var yield = log; yield(1); yield`a`; return [yield = 4, yield++, yield, typeof yield, { yield }]',
    'var { yield } = { yield: 4 }; return (() => yield)()',
    'var { a: yield = 1, ...rest } = { b: 5 }; return [yield, rest]',
    'try { throw 3 } catch (yield) { return yield }',
    'for (var yield = 0; yield < 3; yield++) log(yield)',
    'var yield; for (yield of [1, 2]) log(yield); for (yield in { a: 1 }) log(yield)',
    'return (yield => yield + 1)(2) + (function (yield) { return yield + 1 })(2)',
    'return (function* () { yield 3 })().next()',
    'var yield = 3; return [...(function* (x) { yield x })(yield)]',
    'yield: { log(1); break yield; log(2) } return 3',
    'yield: do { for (;;) continue yield } while (log(0)); return 7',
    'return yield = 1, yield += 1, [yield, delete globalThis.yield]',
    'return class { static yield() { return 7 } }.yield()'
  ]) assertAlike(sloppy(`function (log) { ${body} }`))
})

modes('typeof of an undeclared name yield is undefined', () => {
  assertAlike(sloppy('function () { return typeof yield }'))
})

modes.run()

const evals = suite('direct eval')

for (const body of [
  'return eval("log(1)")',
  'let x = 1; eval("x = 2"); return x',
  'eval("var x = 3"); return x',
  'for (let i = 0; i < 3; i++) eval("log(i)")',
  'return eval("this") === globalThis',
  'return eval("() => arguments.length")()',
  'return eval?.("typeof log") + (0, eval)("typeof log")',
  'var eval = x => x + 1; return eval(1)',
  'return (function (eval) { return eval(1) })(log)',
  'eval("for (var i = 0; i < 3; i++) log(i)"); return i',
  'return eval("new.target")'
]) evals(body, () => assertAlike(sloppy(`function (log) { ${body} }`)))

evals.run()

const methods = suite('methods')

methods('methods of objects with keys of all kinds are rewritten', () => {
  const symbol = Symbol('symbol')
  const object = {
    short(n) { return n + 1 },
    'a string'(n) { return n + 2 },
    12(n) { return n + 3 },
    1.5(n) { return n + 3.5 },
    [`com${'puted'}`](n) { return n + 4 },
    [symbol](n) { return n + 5 },
    class(n) { return n + 6 },
    get(n) { return n + 7 },
    set(n) { return n + 8 },
    async(n) { return n + 9 },
    static(n) { return n + 10 },
    function(n) { return n + 11 },
    await(n) { return n + 12 },
    of(n) { return n + 13 },
    new(n) { return n + 14 },
    *generator(n) { return n + 15 },
    *'g s'(n) { return n + 16 },
    *async_(n) { return n + 17 },
    /* c */ get /* c */ (n) { return n + 18 },
    async
    (n) { return n + 19 },
    'constructor'(n) { return n + 20 },
    if(n) { return n + 21 },
    in(n) { return n + 22 },
    assigned: n => n + 23,
    expression: function (n) { return n + 24 }
  }
  for (const key of Reflect.ownKeys(object)) {
    const fn = object[key]
    const work = preemptify(fn)
    assert.is(work.name, fn.name)
    const result = fn(1)
    const expected = typeof result === 'number' ? result : result.next().value
    assert.is(callOn(object, work, 1), expected, String(key))
  }
})

methods('async methods are rewritten', async () => {
  const object = {
    async short(n) { return await n + 1 },
    async 'a string'(n) { return await n + 1 },
    async ['computed'](n) { return await n + 1 },
    async 7(n) { return await n + 1 },
    async async(n) { return await n + 1 },
    async get(n) { return await n + 1 },
    async static(n) { return await n + 1 },
    async function(n) { return await n + 1 },
    async class(n) { return await n + 1 }
  }
  for (const key of Object.keys(object)) assert.is(await driveAsync(preemptify(object[key])(1)), 2, key)
})

methods('methods of classes are rewritten, static methods too', () => {
  class Counter {
    static count = 3
    static total() { return this.count }
    static static() { return this.count + 1 }
    static async() { return this.count + 2 }
    static get() { return this.count + 3 }
    static ['x']() { return this.count + 4 }
    n = 5
    own() { return this.n }
  }
  for (const key of ['total', 'static', 'async', 'get', 'x']) {
    assert.is(callOn(Counter, preemptify(Counter[key])), Counter[key]())
  }
  assert.is(callOn(new Counter(), preemptify(Counter.prototype.own)), 5)
})

methods('super finds the members of the current prototype of the home object', () => {
  const home = { __proto__: { m: () => 'old' }, run() { super.own = 1; return [super.m(), this.own] } }
  const work = preemptify(home.run, { home })
  assert.equal(callOn({}, work), ['old', 1])
  Object.setPrototypeOf(home, {
    m: () => 'new',
    set own(x) { Object.defineProperty(this, 'own', { value: [x] }) }
  })
  assert.equal(callOn({}, work), home.run.call({}))
  assert.equal(callOn({}, work), ['new', [1]])
})

methods('super works with the option home', () => {
  const base = {
    x: 1,
    f(y) { return [this.x, y] },
    get g() { return this.x + 10 },
    set h(value) { this.set = value }
  }
  const home = {
    __proto__: base,
    x: 2,
    run(key) {
      super.h = 5
      super[key] = 6
      return [super.f(3), super.x, super[key], super.g, super['f'](4), (() => super.f(5))(), delete this.own]
    }
  }
  const twin = Object.create(home)
  const expected = home.run.call(twin, 'own')
  assert.equal(callOn(twin, preemptify(home.run, { home }), 'own'), expected)
  assert.is(twin.set, 5)
})

methods('super works with evaluate inside the method', () => {
  class Base {
    f(x) { return [this.n, x] }
    get g() { return this.n + 1 }
    set h(value) { this.set = value }
  }
  class Derived extends Base {
    n = 1
    works() {
      return [
        () => super.f(2),
        () => super['f'](super.g),
        () => { super.h = 3; return super.own = 4 },
        () => { for (let i = 0; i < 2; i++) super.f(i); return super.none?.(1) },
        () => super.none
      ].map(fn => [fn(), call(preemptify(fn, { evaluate: s => eval(s) }))])
    }
  }
  const derived = new Derived()
  for (const [expected, actual] of derived.works()) assert.equal(actual, expected)
  assert.is(derived.set, 3)
  assert.is(derived.own, 4)
})

methods('private names work with evaluate inside the class', () => {
  class Secret {
    #x = 1
    #f(y) { return this.#x + y }
    work() {
      return preemptify(n => {
        while (n-- > 0) this.#x++
        return [#x in this, this.#f(1)]
      }, { evaluate: s => eval(s) })
    }
  }
  assert.equal(call(new Secret().work(), 3), [true, 5])
})

methods.run()

const wholes = suite('classes and objects with the option methods')

/** Calls a method, and drives the result of a rewritten method. */
const invoke = (object, key, ...args) => callOn(object, object[key], ...args)

wholes('a new class has the rewritten methods and otherwise equals the old class', () => {
  class Cipher {
    static made = 0
    static make(...args) { return new this(...args) }
    #key
    log = []
    constructor(key) {
      this.#key = key
      Cipher.made++
    }
    get key() { return this.#key }
    encrypt(text) {
      for (const c of text) this.#step(c)
      return this.plain()
    }
    #step(c) { this.log.push(c.charCodeAt(0) ^ this.#key) }
    plain() { return [this.log.join(), new.target, this instanceof Cipher] }
  }
  const Rewritten = preemptify(Cipher, { methods: ['encrypt', '#step'] })
  assert.is.not(Rewritten, Cipher)
  assert.is(Rewritten.name, 'Cipher')
  assert.is(Rewritten.made, 0)
  const cipher = Rewritten.make(3)
  assert.instance(cipher.encrypt, GeneratorFunction)
  assert.equal(invoke(cipher, 'encrypt', 'abc'), new Cipher(3).encrypt('abc'))
  assert.is(cipher.key, 3)
  assert.is(Rewritten.made, 1, 'its own name is the new class')
  assert.is(Object.getOwnPropertyDescriptor(Rewritten.prototype, 'encrypt').enumerable, false)
  assert.match(Rewritten.source, /\*encrypt\(text\) \{/)
  assert.type(new Cipher(3).encrypt('a'), 'object')
})

wholes('methods may have statements and blocks of all kinds', () => {
  class Kinds {
    run(n) {
      for (let i = 0; i < n; i++) { if (i % 2) continue; else n-- }
      { if (n < 0) return n }
      try { if (n) throw n } catch (x) { if (x !== n) return x }
      switch (n) { case 1: if (n) n++; default: while (n < 9) { if (n++ === 8) break } }
      return n ? this.other(n) : 0
    }
    other(n) { if (n > 9) { if (n > 10) { return 1 } } return n }
    untouched(n) { if (n) { if (n > 1) return 1 } return n ? 2 : 3 }
  }
  const New = preemptify(Kinds, { methods: ['run', 'other'] })
  for (const n of [0, 1, 5, 20]) assert.is(invoke(new New(), 'run', n), new Kinds().run(n))
  assert.equal([0, 1, 2].map(n => new New().untouched(n)), [3, 2, 1])
})

wholes('an anonymous class keeps its inferred name', () => {
  const Given = class { run() { return 1 } }
  const New = preemptify(Given, { methods: ['run'] })
  assert.is(New.name, 'Given')
  assert.is(invoke(new New(), 'run'), 1)
})

wholes('methods can call each other by super and by this', () => {
  class Base {
    area() { return 1 }
    sum(n) { return n ? this.area() + this.sum(n - 1) : 0 }
  }
  class Square extends Base {
    side = 3
    area() { return super.area() + this.side ** 2 }
    twice(n) { return super.sum(n) + this.sum(n) }
  }
  const NewBase = preemptify(Base, { methods: ['area', 'sum'] })
  const New = preemptify(Square, {
    methods: ['area', 'twice'],
    calls: { sum: NewBase.prototype.sum },
    evaluate: source => (Base => eval(source))(NewBase)
  })
  assert.is(invoke(new New(), 'twice', 4), new Square().twice(4))
  assert.instance(new New(), NewBase)
})

wholes('methods may have keys of all kinds', () => {
  class Keys {
    'a b'() { return 1 }
    12() { return 2 }
    get() { return 3 }
    static static() { return 4 }
    static #hidden() { return 5 }
    static shown() { return this.#hidden() }
    class() { return 6 }
    async() { return 7 }
    static async() { return 8 }
    get value() { return 9 }
  }
  const methods = ['a b', '12', 'get', 'static', '#hidden', 'shown', 'class', 'async']
  const New = preemptify(Keys, { methods })
  const keys = new New()
  assert.equal(['a b', 12, 'get', 'class', 'async'].map(key => invoke(keys, key)), [1, 2, 3, 6, 7])
  assert.equal(['static', 'shown', 'async'].map(key => invoke(New, key)), [4, 5, 8])
  assert.is(keys.value, 9)
})

wholes('async methods run concurrently unless they are awaited', async () => {
  class Loader {
    log = []
    async load(n) {
      this.log.push(`load ${n}`)
      await null
      this.log.push(`loaded ${n}`)
      return n
    }
    async all() {
      const beside = this.load(1)
      this.log.push('goes on')
      const [a, b] = [await this.load(2), await beside]
      return this.load(a + b)
    }
  }
  const New = preemptify(Loader, { methods: ['load', 'all'] })
  const [loader, reference] = [new New(), new Loader()]
  assert.is(await driveAsync(loader.all(), { limit: 1 }), 3)
  assert.is(await reference.all(), 3)
  assert.equal([...loader.log].sort(), [...reference.log].sort())
  assert.equal(loader.log.slice(0, 3), ['load 1', 'goes on', 'load 2'])
})

wholes('static blocks, fields and computed keys run once for the new class', () => {
  globalThis.seen = []
  const Noisy = class {
    static { seen.push('block') }
    static field = seen.push('field');
    [(seen.push('key'), 'run')]() { return 1 }
    go() { return 2 }
  }
  seen.length = 0
  const New = preemptify(Noisy, { methods: ['go'] })
  assert.equal(seen, ['key', 'block', 'field'])
  assert.is(invoke(new New(), 'go'), 2)
  delete globalThis.seen
})

wholes('a new object has the rewritten methods and the same prototype', () => {
  const base = { greet() { return `I am ${this.name}` } }
  const object = {
    __proto__: base,
    name: 'object',
    get loud() { return this.name.toUpperCase() },
    greet() { return `${super.greet()}, ${this.loud}` },
    all(n) { return n ? `${this.greet()} ${this.all(n - 1)}` : '' },
    field: 1
  }
  const rewritten = preemptify(object, { methods: ['greet', 'all'] })
  assert.is(Object.getPrototypeOf(rewritten), base)
  assert.equal(Object.keys(rewritten), Object.keys(object))
  assert.is(invoke(rewritten, 'all', 2), object.all(2))
  rewritten.name = 'other'
  assert.is(object.name, 'object')
  assert.is(rewritten.loud, 'OTHER')
  assert.match(rewritten.greet.source, /^function\* \(\) \{/)
})

wholes('scope, calls, evaluate and budgeted apply to methods', () => {
  let count = 0
  const step = preemptify(x => x + 1)
  class Walker {
    walk(n) {
      for (let i = 0; i < n; i++) count += step(i) * factor
      return count
    }
  }
  const factor = 2
  const evaluate = s => eval(s)
  const New = preemptify(Walker, { methods: ['walk'], evaluate, calls: { step }, budgeted: false })
  let yields = -1
  assert.is(drive(new New().walk(3), { onPoint: () => { yields++ } }), 12)
  assert.is(count, 12)
  assert.ok(yields >= 4)
})

wholes('a name in methods that is not a method is a TypeError', () => {
  class A { run() {} get got() { return 1 } static make() {} }
  for (const [target, methods, text] of [
    [A, ['walk'], /preemptify\(A\): walk is no method/],
    [A, ['constructor'], /constructor/],
    [A, ['got'], /accessor/],
    [{ run() {} }, ['walk'], /method walk must be a function, got undefined/],
    [{ x: 1 }, ['x'], /method x must be a function, got 1/],
    [A, 'run', /methods must be an array of names/],
    [A, [1], /methods must be an array of names/],
    [function () {}, ['run'], /class or an object/],
    [1, ['run'], /class or an object/],
    [null, ['run'], /class or an object/]
  ]) {
    const error = errorOf(() => preemptify(target, { methods }))
    assert.instance(error, TypeError)
    assert.match(error.message, text)
  }
})

wholes.run()

const asyncs = suite('async functions and generators')

asyncs('async functions and arrow functions can be rewritten', async () => {
  for (const source of [
    'async function (log) { return log(await 1) }',
    'async log => log(await log(1))',
    'async (log, a = 2) => { await null; return a }',
    'async function named(log) { return named.name }'
  ]) await assertAlikeAsync(sloppy(source))
})

asyncs('an async arrow function keeps its this', async () => {
  class Around {
    x = 1
    work = preemptify(async () => { await null; return this }, { evaluate: s => eval(s) })
  }
  const around = new Around()
  assert.is(await driveAsync(around.work()), around)
})

asyncs('generators keep their yields, and receive sent values and errors', () => {
  const work = preemptify(function* (log) {
    const sent = yield 1
    try {
      yield sent + 1
    } catch (error) {
      yield* [error, 4]
    } finally {
      yield 5
    }
    return 6
  })
  const steps = work()
  assert.is(steps.next().value, 1)
  assert.is(steps.next(1).value, 2)
  assert.is(steps.throw(3).value, 3)
  assert.is(steps.next().value, 4)
  assert.is(steps.next().value, 5)
  assert.equal(steps.next(), { value: 6, done: true })
})

asyncs('generator methods of objects and classes can be rewritten', () => {
  class Tree {
    constructor(value, ...children) { Object.assign(this, { value, children }) }
    *walk() {
      yield this.value
      for (const child of this.children) yield* child.walk()
    }
  }
  const New = preemptify(Tree, { methods: ['walk'] })
  assert.equal([...new New(1, new New(2, new New(3)), new New(4)).walk()], [1, 2, 3, 4])
})

asyncs('return() of a preemptible generator runs its finally blocks', () => {
  const log = []
  const steps = preemptify(function* (log) {
    try {
      yield 1
    } finally {
      log.push('finally')
    }
  })(log)
  steps.next()
  assert.equal(steps.return(2), { value: 2, done: true })
  assert.equal(log, ['finally'])
})

asyncs.run()
