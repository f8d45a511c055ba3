import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, budget } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { assertAlike, budgets, errorOf, sloppy } from '../../fixtures/preemptify/both-ways.mjs'
import { drive, driveAsync } from '../../support/drive.mjs'
import { assertTrace, record } from '../../support/trace.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor

/** Runs one job to completion on a virtual host. */
async function run(work, args = [], options) {
  const host = virtualHost({ read: 0.001 })
  const scheduler = new Scheduler({ host, ...options })
  const job = scheduler.spawn(work, undefined, ...args)
  job.catch(() => {})
  await host.drain()
  return job
}

const self = suite('self recursion')

for (const source of [
  'function f(log, n = 4) { return n < 2 ? 1 : n * f(log, n - 1) }',
  'function f(log, n = 4) { if (n < 2) return log(1); log(n); f(log, n - 1); return log(-n) }',
  'function f(log, n = 4) { return n && 1 + f(log, n - 1) + f(log, n >> 1) }',
  'function f(log, n = 4) { const rest = n ? f(log, n - 1) : []; return [n, ...rest] }',
  'function f(log, n = 4) { try { if (!n) throw n; return f(log, n - 1) } catch (e) { throw log(e + n) } }',
  'function f(log, n = 4) { try { if (!n) throw n; return f(log, n - 1) } finally { log(n) } }',
  'function f(log, n = 4, ...rest) { return n ? f(log, n - 1, ...rest, n) : rest }',
  'function f(log, n = 4) { return n ? f.call(this, log, n - 1) : this === globalThis }',
  'function f(log, n = 4) { return n ? [1, 2].map(x => x < 2 && f(log, 0)) : n }',
  'function f(log, n = 4) { function g() { return f(log, n - 1) } return n ? g() : n }',
  'function f(log, n = 4) { for (let i = 0; i < n; i++) f(log, n - i - 1); return log(n) }',
  'function f(log, n = 4) { return n ? (0, f)(log, n - 1) + (f)(log, n - 1) : log(1) }',
  'function f(log, n = 4) { return n ? new f(log, n - 1) : log(1) }',
  'function f(log, n = 4) { return n ? f.name + f?.(log, n - 1) : typeof f }',
  'function f(log, n) { "use strict"; return n < 5 ? f(log, 5) : this }',
  'function f(log) { log(typeof f); f = 0; return new f }'
]) self(source, () => assertAlike(sloppy(source)))

self('the name of a function expression cannot be assigned to', () => {
  assertAlike(sloppy('function f(n) { f = 3; return typeof f }'))
  assertAlike(sloppy('function f(n) { "use strict"; f = 3; return typeof f }'))
  assertAlike(sloppy('function f(n = 3) { f = 3; return n > 0 ? f(n - 1) : n }'), { args: () => [3] })
  const assignments = ['f++', 'f += 1', '[f] = [1]', '({ f } = {})', 'for (f of [1]);', 'for (f in [1]);']
  for (const body of assignments) {
    assertAlike(sloppy(`function f(log) { ${body}; return f.name }`))
    assertAlike(sloppy(`function f(log) { 'use strict'; ${body}; return f.name }`))
  }
})

self('an assignment to the name of a function expression throws in strict code', () => {
  const strict = '"use strict"; '
  for (const [outer, inner] of [['', ''], [strict, ''], ['', strict], ["'x'; 'use strict'\n", '']]) {
    for (const assignment of ['f = 1', 'f += 1', '[f] = [1]', '({ f } = {})', 'for (f of [1]);']) {
      for (const body of [assignment, `(function () { ${inner}${assignment} })()`, `(() => { ${inner}${assignment} })()`,
        `class A { static a = () => { ${assignment} } } A.a()`]) {
        const source = `function f(log) { ${outer}try { ${body} } catch (error) { return '' + error } return typeof f }`
        // The test calls the function by a variable of another name, so it is an expression.
        assertAlike(sloppy(source))
        assertAlike(sloppy(source), { options: { evaluate: s => (0, eval)(s) } })
        assertAlike(sloppy(source), { options: { strict: outer !== '' } })
      }
    }
  }
})

self('a call of a redeclared name is not recursion', () => {
  for (const body of [
    'var f = log; return f(1)',
    'let f = log; return f(1)',
    'function f(x) { return log(x) } return f(1)',
    '{ const f = log; f(2) } return typeof f',
    'try { throw log } catch (f) { f(1) }',
    'return (f => f(1))(log)',
    'return (({ f }) => f(1))({ f: log })',
    'return (([f = log]) => f(1))([])',
    'for (const f of [log]) f(1)',
    'for (let f = log, i = 0; i < 2; i++) f(i)',
    'for (var f in {}); return f && f(1)',
    'class f {} return f.name',
    'if (log) { function f(x) { return x } } return f(1)',
    'return function f(n) { return n && f(n - 1) }(3)',
    'return class f { static g() { return typeof f } }.g()',
    'switch (1) { case 1: let f = log; f(1) }',
    'with ({ f: log }) return f(1)',
    'with ({ f: log }) { for (let i = 0; i < 2; i++) f(i) }'
  ]) assertAlike(sloppy(`function f(log) { ${body} }`))
  for (const head of ['(f)', '({ f })', '(a, f = x => x + 1)', '(...[, f])']) {
    const source = `function f${head} { return typeof f === 'function' && f(1) }`
    assertAlike(sloppy(source), { args: log => [{ f: log }] })
  }
})

self('recursion calls a declaration that was replaced in the scope of evaluate', () => {
  function countdown(n) { return n ? countdown(n - 1) : 'own' }
  const work = preemptify(countdown, { evaluate: s => eval(s) })
  assert.is(drive(work(3)), 'own')
  countdown = () => 'another'
  assert.is(drive(work(3)), 'another')
})

self('an arrow function calls itself by its variable with evaluate', () => {
  const factorial = n => n < 2 ? 1 : n * factorial(n - 1)
  assert.is(drive(preemptify(factorial, { evaluate: s => eval(s) })(6), { limit: 1 }), 720)
})

self('an arrow function calls itself by its variable with calls', () => {
  const factorial = n => n < 2 ? 1 : n * factorial(n - 1)
  const calls = {}
  calls.factorial = preemptify(factorial, { calls })
  assert.is(drive(calls.factorial(6), { limit: 1 }), 720)
})

self.run()

const guards = suite('calls that end without a generator')

// The entry of the twin runs the first statements. They must have the same effects as in the function.
for (const body of [
  'if (n < 1) return 0; return f(log, n - 1) + 1',
  'if (n < 1) { return 0 } return f(log, n - 1) + 1',
  'if (n < 1) return 0; else return f(log, n - 1) + 1',
  'if (n < 1) return 0 // c\n return f(log, n - 1) + 1',
  'if (n < 1 // c\n) return 0 /* c */ // c\n return f(log, n - 1) + 1',
  'if (n < 1) { /* c */ return 0 // c\n } return f(log, n - 1) + 1',
  'if (n < 1) return\n if (n < 2) return 2\n return f(log, n - 1)',
  'if (n < 1) { return } return f(log, n - 1)',
  'return n < 1 ? 0 : f(log, n - 1) + 1',
  'return n < 1 ?\n 0 :\n f(log, n - 1) + 1',
  'return n >= 1 ?\n f(log, n - 1) + 1 :\n 0',
  'return n < 1 ? /*\n*/ 0 : /*\n*/ f(log, n - 1) + 1',
  'return n >= 1 ? // c\n f(log, n - 1) + 1 : // c\n 0 // c\n',
  'return n < 1\n ? 0\n : f(log, n - 1)\n + 1',
  'return n < 1 ? 0 : n < 3 ? f(log, n - 1) + 1 : f(log, n - 2) + 2',
  'return n < 1 ? n ? 1 : 2 : f(log, n - 1) + 1',
  'return n < 1 ? { n } : f(log, n - 1)',
  'return n < 1 ? function () { return 1 }() : f(log, n - 1)',
  'return n < 1 ? (n, 4) : f(log, n - 1), 3',
  'return n = n - 1, n < 1 ? 4 : f(log, n)',
  'return n = n < 1 ? 4 : f(log, n - 1)',
  'return n ||= f(log, n - 1)',
  'return (x => n ? 1 : f(log, 2))()',
  'if (n-- < 1) return n; return f(log, n - 1)',
  'if ((() => n -= 1)() < 1) return n; return f(log, n)',
  'if (log(n) < 1) return log("end"); return f(log, n - 1)',
  'if (n < 1) { log(1); return 0 } return f(log, n - 1)',
  'if (n < 1) { n = 7; return n } return f(log, n - 1)',
  'n--\n if (n < 1) return n; return f(log, n) + n',
  'n -= 1; if (n < 1) return n; else log = [].concat(log)[0]; return f(log, n) + n',
  'log.n = n; if (n < 1) return log.n; return f(log, n - 1) + log.n',
  'a = n; if (n < 1) return a; var a; return [a, f(log, n - 1)]',
  'f.n = n; if (n < 1) return (() => n)(); return f(log, n - 1)',
  'if (n < 1) return typeof this; return f(log, n - 1)',
  'if (n < 1) return typeof this; return f.call(1, log, n - 1)',
  'if (n < 1) return arguments.length; return f(log, n - 1, 1, 2)',
  'if (n < 1) return new.target; return f(log, n - 1)',
  'if (n < 1) throw log(n); return f(log, n - 1)',
  'if (n < 1) null.x; return f(log, n - 1)',
  'if (n.none.none < 1) return 1; return f(log, n - 1)',
  'if (n < 1) { while (n < 5) n++; return n } return f(log, n - 1)',
  'if (n < 1) { for (const x of [1]) n += x; return n } return f(log, n - 1)',
  'if (n < 1) { try { n.x.y } catch { return 8 } } return f(log, n - 1)',
  'if (n < 1) { switch (n) { case 0: return 7; default: return 3 } } return f(log, n - 1)',
  'if (n) { if (n < 2) return 1 } return n ? f(log, n - 1) : 0',
  'if (n > 1) { f(log, n - 1); return n } return 1',
  'if (n < 1) if (n > 5) return 4; else return 5; return f(log, n - 1)',
  // names that the body declares are variables of the body, at any position
  'if (n < 1) return g(); return f(log, n - 1); function g() { return 7 }',
  'if (n < 1) return typeof a; var a = 1; return f(log, n - 1)',
  'if (n < 1) return a; let a = 1; return f(log, n - 1)',
  'if (n < 1) return a; const a = 1; return f(log, n - 1)',
  'if (n < 1) return A; class A {} return f(log, n - 1)',
  'return n < 1 ? g() : f(log, n - 1); function g() { return 7 }',
  'return n < 1 ? typeof globalThis : f(log, n - 1); var globalThis',
  'if (!globalThis && n < 2) return typeof globalThis; var globalThis = 0; return f(log, n - 1)',
  'if (n < 1) return typeof g; if (n) { function g() {} } return f(log, n - 1)',
  'if (n < 1) return typeof x; for (var x of [1]); return f(log, n - 1)',
  'if (n < 1) return typeof x; { var { a: [x] } = { a: [1] } } return f(log, n - 1)',
  'if (n < 1) { let a = n; return a } let a = f(log, n - 1); return a + 1',
  'if (n < 1) { var a = n; return a } return [a, f(log, n - 1)]',
  'if (n < 1) { function g() { return 2 } return g() } return [typeof g, f(log, n - 1)]',
  'if (n < 1) return (g => g())(() => 3); return f(log, n - 1); function g() {}',
  'var n; if (n < 1) return n; return f(log, n - 1)',
  'if (n < 1) { a: { break a } return 3 } return f(log, n - 1)',
  'if (n < 1) return eval("n"); return f(log, n - 1)',
  'if (n < 1) return delete n; return f(log, n - 1)',
  '"use strict"; if (n < 1) return this; return f(log, n - 1)',
  '; if (n < 1) return n; return f(log, n - 1)',
  '{ if (n < 1) return n } return f(log, n - 1)'
]) {
  guards(body, () => assertAlike(sloppy(`function f(log, n) { ${body} }`), { args: log => [log, 4] }))
}

guards('a guard may use parameters with defaults, patterns and duplicate names', () => {
  for (const source of [
    'function f(log, n = 4) { if (n < 1) return n; return f(log, n - 1) }',
    'function f(log, [n] = [4]) { if (n < 1) return n; return f(log, [n - 1]) }',
    'function f(log, { n = 4 } = {}) { return n < 1 ? n : f(log, { n: n - 1 }) }',
    'function f(log, ...[n = 4]) { if (n < 1) return n; return f(log, n - 1) }',
    'function f(log, a, a) { if (!a) return 3; return f(log, 1, 0) }'
  ]) assertAlike(sloppy(source), { args: log => [log, undefined, undefined] })
})

for (const body of ['if (a > 3) return a; return f(log, 1, 5)', 'return a > 3 ? log(a) : f(log, 1, 5)', 'return log(a)']) {
  guards(`the last of two parameters with the same name counts: ${body}`, () => {
    const source = `function f(log, a, a) { ${body} }`
    assertAlike(sloppy(source), { args: log => [log, 9, 2] })
  })
}

guards('a guard needs no white space', () => {
  for (const source of [
    'function f(log,n){if(n<1)return n;return f(log,n-1)}',
    'function f(log,n){if(n<1)return{n};return n<2?[n]:f(log,n-1)}',
    'function f(log,n){return n<1?n:f(log,n-1)}',
    'function f(log,n){"use strict";return n<1?-n:f(log,n-1)}'
  ]) assertAlike(sloppy(source), { args: log => [log, 4] })
})

guards('a call that ends immediately counts as a point', () => {
  const work = preemptify(function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) })
  const calls = n => n < 2 ? 1 : 1 + calls(n - 1) + calls(n - 2)
  for (const limit of budgets) {
    let spent = 0
    drive(work(9), { limit, onPoint: points => {
      spent += points
      assert.ok(points <= limit + 2, `${points} points in a budget of ${limit}`)
    } })
    assert.ok(spent >= calls(9), `budget ${limit}: ${spent} points in ${calls(9)} calls`)
  }
})

guards.run()

const linked = suite('calls')

const even = n => n === 0 ? true : odd(n - 1)
const odd = n => n === 0 ? false : even(n - 1)

for (const [when, link] of Object.entries({
  'filled afterwards'() {
    const calls = {}
    calls.even = preemptify(even, { calls })
    calls.odd = preemptify(odd, { calls })
    return calls
  },
  'announced first, filled afterwards'() {
    const calls = { even: undefined, odd: undefined }
    for (const fn of [even, odd]) calls[fn.name] = preemptify(fn, { calls })
    return calls
  },
  'by getters'() {
    const made = {}
    const calls = {
      get even() { return made.even ??= preemptify(even, { calls }) },
      get odd() { return made.odd ??= preemptify(odd, { calls }) }
    }
    return calls
  },
  'by evaluate, filled afterwards'() {
    const calls = { even: undefined, odd: undefined }
    for (const fn of [even, odd]) calls[fn.name] = preemptify(fn, { calls, evaluate: s => eval(s) })
    return calls
  }
})) {
  linked(`mutual recursion, ${when}`, () => {
    const calls = link()
    for (const limit of budgets) {
      assert.is(drive(calls.even(20), { limit }), true)
      assert.is(drive(calls.odd(20), { limit }), false)
    }
    let yields = 0
    drive(calls.even(10), { limit: 1, onPoint: () => { yields++ } })
    assert.ok(yields >= 11, `${yields} yields: the calls are delegated`)
  })
}

linked('calling a name that calls never defines throws a ReferenceError', () => {
  for (const calls of [{}, { odd: undefined }]) {
    const work = preemptify(even, { calls })
    assert.is(drive(work(0)), true)
    const error = errorOf(() => drive(work(3)))
    assert.instance(error, ReferenceError)
    assert.match(error.message, /odd is not defined.*if it is preemptible, \{ calls: \{ odd \} \}/)
  }
})

linked('generator functions in scope and calls are called as preemptible functions', () => {
  function* step(x) {
    yield
    return x + 1
  }
  const fn = x => step(step(x)) * 2
  assert.is(drive(preemptify(fn, { scope: { step } })(1), { limit: 1 }), 6)
  assert.is(drive(preemptify(fn, { calls: { step } })(1), { limit: 1 }), 6)
})

linked('a preemptible function in calls is its original where it is not called', () => {
  const twice = function twice(x) { return x * 2 }
  const preemptible = preemptify(twice)
  const calls = { twice: preemptible }
  const mentions = list => [list.map(twice).join(), typeof twice, twice.name, twice.call(null, 3), twice(4)]
  assert.equal(drive(preemptify(mentions, { calls })([1, 2])), ['2,4', 'function', 'twice', 6, 8])
  assert.instance(errorOf(() => preemptify(list => list.map(x => twice(x)), { calls })), SyntaxError)
})

linked('a member is called preemptibly only if it is preemptible', async () => {
  class Stack {
    items = []
    push(x) { this.items.push(x); return this }
  }
  const push = preemptify(Stack.prototype.push)
  const fn = (stack, n) => {
    for (let i = 0; i < n; i++) stack.push(i).push(-i)
    return stack.items.length
  }
  const work = preemptify(fn, { calls: { push } })
  assert.is(drive(work(new Stack(), 4), { limit: 1 }), 8, 'the original is called preemptibly')
  Stack.prototype.push = push
  assert.is(drive(work(new Stack(), 4), { limit: 1 }), 8, 'the preemptible one as well')
  assert.is(drive(work({ items: [1], push() { return this } }, 4), { limit: 1 }), 1, 'another one as it is')
  assert.match(errorOf(() => drive(work({}, 1))).message, /not a function/)
})

linked('members of an object in scope are called preemptibly', () => {
  const tools = { step: preemptify(function step(x) { return this.by + x }), by: 3 }
  const work = preemptify(x => tools.step(tools.step(x)), { scope: { tools } })
  assert.is(drive(work(1), { limit: 1 }), 7)
})

linked.run()

/** Each position of an expression allows a preemptible call. `f` logs and returns its argument. */
const positions = {
  'arguments': 'return [f(f(1), ...f([f(2), f(3)])), Math.max(f(1), f(2))]',
  'operands, left to right': 'return f(1) + f(2) * f(3) ** f(1) - -f(4)',
  'logical operators cut it short':
    'return [f(0) && f(1), f(1) || f(2), f(null) ?? f(3), f(0) ? f(1) : f(2)]',
  'assignments': 'let x = f(1); x += f(2); x ||= f(3); log[f("a")] = f(4); return [x, log.a]',
  'assignment targets before values': 'const o = {}; f(o)[f("x")] = f(1); f(o).x += f(2); f(o).x++; return o',
  'a value read before the call': 'let x = 1; return x + (x = f(5)) + x',
  'conditions': 'if (f(0)) f(1); else if (f(1)) f(2); return f(3) ? 1 : 2',
  'loop heads':
    'for (let i = f(0); i < f(2); i += f(1)) f(i); for (const x of f([1, 2])) f(x); for (const k in ' +
      'f({ a: 1 })) f(k)',
  'while, do while': 'let i = 0; while (f(i) < 2) i++; do i--; while (f(i) > 0); return i',
  'for, all of it': 'for (f(0); f(0); f(0)); for (var i = f(0); i < 2; i = f(i + 1));  return i',
  'switch': 'switch (f(2)) { case f(1): f(9); case f(2): f(8); case f(3): f(7); break; default: f(6) }',
  'return': 'return f(1)',
  'return of nothing before it': 'return void f(1)',
  'throw': 'throw f(1)',
  'template holes': 'return `a${f(1)}b${`c${f(2)}`}d`',
  'a tag': 'return f`a${1}b`',
  'an argument of a tag': 'return String.raw`${f(1)}`',
  'array and object literals':
    'return [f(1), , ...f([2])], { [f("a")]: f(1), ...f({ b: 2 }), c: f(3), __proto__: f(null) }',
  'destructuring':
    'const { a = f(1), [f("b")]: b = f(2), c: [d = f(3)] = f([]), ...rest } = f({ e: 5 }); return [a, ' +
      'b, d, rest]',
  'destructuring assignments':
    'let a, b; [a = f(1), b = f(2)] = f([7]); ({ x: f({}).y = f(3), [f("z")]: a } = f({ z: 4 })); ' +
      'return [a, b]',
  'destructuring in loop heads and catch':
    'for (const { x = f(1) } of f([{}, { x: 2 }])) f(x); try { throw {} } catch ({ y = f(3) }) { f(y) }',
  'optional chains':
    'return [f?.(1), f(null)?.x.y[f(9)], f({ x: log })?.x(f(2)), f({})?.x?.[f(9)], f({ x: 1 })?.["x"]]',
  'members of the result': 'return f({ a: { b: [1, log] } }).a.b[f(1)](f(7))',
  'call of the result': 'return f(log)(f(1)), f(f)(2)',
  'new of the result': 'return new (f(Array))(f(2)).length',
  'new with it as argument': 'return new Array(f(2), f(3))',
  'unary operators': 'return [typeof f(1), !f(0), -f(1), ~f(1), void f(1), delete f({}).x]',
  'in, instanceof': 'return [f("a") in f({ a: 1 }), f([]) instanceof f(Array)]',
  'a comma': 'return f(1), f(2)',
  'an element of a class':
    'return new class extends f(Object) { [f("x")]() { return 1 } static [f("y")] = 2 }().x()',
  'arrow function around the result': 'const x = f(1); return (() => x)()',
  'labels, blocks': 'a: { f(1); break a } { f(2) } return f(3)',
  'exponentiation': 'return f(2) ** f(3) ** f(2) + (-f(2)) ** 2',
  'with regular expressions around': 'return f(8) / f(2) / 1 + /f(1)/.source',
  'nullish with brackets': 'return (f(null) ?? f(1)) || f(2)',
  'update of a result': 'return f([1])[0]++ + --f([2])[0]',
  'spread of a new': 'return [...new Set(f([1, 1]))]',
  'parentheses': 'return (((f(1)))) + ((f)(2))',
  'a line that begins with it': 'let x = 1\nf(x)\nlet y = x\nf(y)\nx++\nf(x)\nreturn x',
  'a comment before it': 'return /* a\n */ 1; f(1)',
  'let on the line before': 'var a\nvar b = a\nf(1)\nif (f(0)) f(1)\nelse f(2)\ndo f(3); while (0) f(4)',
  'in a try': 'try { f(1); throw f(2) } catch (e) { return f(e) } finally { f(3) }',
  'in a closure of a loop':
    'const list = []; for (let i = 0; i < 3; i++) { f(i); list.push(() => i) } return list.map(g => g())',
  'object and this': 'const o = { f, x: 1 }; return o.f(1)',
  'mentions': 'return [f.name, typeof f, [1].map(f), f === f, { f }.f === f]',
  'sequence in a for': 'for (let i = 0, j = f(3); i < j; i++, f(i)) ; return 1',
  'async names': 'var async = f; return async(1) + f (2)',
  'await as a name': 'var await = f(1); return await'
}

const places = suite('positions of preemptible calls')

/** Logs an effect of the current run. */
let log
function outcome(run) {
  const effects = []
  log = value => {
    effects.push(typeof value === 'function' ? value.name : String(value))
    return value
  }
  try {
    return { result: JSON.stringify(run(log)), effects }
  } catch (error) {
    return { error: `${error}`, effects }
  }
}

const f = function f(x) { return log(x) }
const preemptible = preemptify(f, { evaluate: s => eval(s) })

for (const [name, body] of Object.entries(positions)) {
  places(`${name}: ${body}`, () => {
    const fn = new Function('f', `return function (log) { ${body}\n }`)(f)
    const expected = outcome(fn)
    for (const limit of budgets) {
      for (const budgeted of [true, false]) {
        const work = preemptify(fn, { calls: { f: preemptible }, budgeted })
        const actual = outcome(log => drive(work(log), { limit }))
        assert.equal(actual, expected, `budget ${limit}: ${work.source}`)
      }
    }
  })
}

places('new calls the original of a preemptible function', () => {
  function Point(x) { this.x = x }
  const fn = x => [new Point(x).x, new Point(x) instanceof Point]
  assert.equal(drive(preemptify(fn, { calls: { Point: preemptify(Point) } })(1)), [1, true])
})

for (const [zone, source] of [
  ['its parameters', 'function fn(a = f(1)) {}'],
  ['nested code', 'function fn() {\n  return [1].map(function (x) { return f(x) })\n}'],
  ['nested code', 'function fn() {\n  return [1].map(x => f(x))\n}'],
  ['nested code', 'function fn() {\n  return [1].map((x = f(1)) => x)\n}'],
  ['nested code', 'function fn() {\n  return { g() { return f(1) } }\n}'],
  ['nested code', 'function fn() {\n  return class { g = f(1) }\n}'],
  ['nested code', 'function fn() {\n  return class { static { f(1) } }\n}']
]) {
  places(`a call in ${zone} is a SyntaxError with its position: ${source}`, () => {
    const error = errorOf(() => preemptify(sloppy(source), { calls: { f: function* () {} } }))
    const before = source.slice(0, source.search(/\bf\(/)).split('\n')
    assert.instance(error, SyntaxError)
    assert.is(error.message, `preemptify(fn): f() in ${zone} (line ${before.length}, column ` +
      `${before.at(-1).length + 1}) cannot yield; move it into the function itself`)
  })
}

places('nested generator functions may call a function in calls', () => {
  const fn = () => [...(function* () { yield* f(2) })()]
  assert.equal(drive(preemptify(fn, { calls: { f: function* (n) { yield n } } })()), [2])
})

places('recursive calls in nested functions call the original', () => {
  assertAlike(sloppy('function f(log, n = 3) { return n ? [n].map(x => f(log, x - 1))[0] : log(n) }'))
})

places('a chain keeps its this and evaluates its objects once', () => {
  const step = preemptify(function step(x) { return [this.n, x] })
  const o = n => ({ n, step, get next() { return o(n + 1) }, pass(x) { return this.next } })
  for (const [source, expected] of [
    ['o.step(1)', [0, 1]],
    ['o.next.step(o.step(1))', [1, [0, 1]]],
    ['o.next["next"].step(2)', [2, 2]],
    ['o?.step(1)', [0, 1]],
    ['o?.next.step(1)', [1, 1]],
    ['o.next?.step(1)', [1, 1]],
    ['o?.next?.step(1)', [1, 1]],
    ['o?.next?.next?.step(1)?.[0]', 2],
    ['o?.next?.["next"]?.step?.(1)', [2, 1]],
    ['o?.next?.none?.step(log(1))', undefined],
    ['o.none?.step(log(1))', undefined],
    ['o.none?.next.next.step(log(1)).x.y.z', undefined],
    ['o.step?.(1)', [0, 1]],
    ['o?.step?.(1)', [0, 1]],
    ['o.next.step?.(1)[0]', 1],
    ['o.nothing?.step?.(log(1))', undefined],
    ['o["next"].step?.(o.step?.(3))', [1, [0, 3]]],
    ['o.step(1).concat(o.step(2))', [0, 1, 0, 2]],
    ['o?.next.pass(o.step(1)).step(2)', [2, 2]],
    ['o?.pass(o.step(1))?.pass(o.step(2)).step?.(3)', [2, 3]],
    ['o?.[[o.step(0), "next"][1]].step(3)', [1, 3]],
    ['o.step(o.step(o.step(1)))', [0, [0, [0, 1]]]],
    ['[...o.step(1), ...o.next.step(2)]', [0, 1, 1, 2]],
    ['delete o.step(1)[0]', true],
    ['typeof o?.step(1)', 'object'],
    ['!o.none?.step(1)', true]
  ]) {
    const effects = []
    const log = x => { effects.push(x) }
    for (const limit of budgets) {
      const work = preemptify(sloppy(`function (o, log) { return ${source} }`), { calls: { step } })
      assert.equal(drive(work(o(0), log), { limit }), expected, `${source}: ${work.source}`)
    }
    assert.equal(effects, [], source)
  }
})

places('a chain throws after its arguments if the member is not a function', () => {
  const step = preemptify(function step() {})
  const log = []
  const work = preemptify((o, log) => o.step(log.push(1)), { calls: { step } })
  assert.instance(errorOf(() => drive(work({}, log))), TypeError)
  assert.instance(errorOf(() => drive(work(null, log))), TypeError)
  assert.equal(log, [1])
})

places.run()

const depth = suite('depth of calls')

const deep = preemptify(function deep(n) { return n === 0 ? 0 : 1 + deep(n - 1) })

depth('a job can recurse 100,000 levels', async () => {
  const job = await run(deep, [100000])
  assert.is(await job, 100000)
})

depth('a job can recurse 100,000 levels with a yield at every point', async () => {
  const job = await run(deep, [100000], { budget: 1, round: Infinity })
  assert.is(await job, 100000)
})

depth('recursion is at least as deep as in the original', () => {
  const plain = n => n === 0 ? 0 : 1 + plain(n - 1)
  let most = 1000
  try {
    for (;; most *= 2) plain(most)
  } catch {}
  assert.is(drive(deep(most)), most)
})

depth('methods can call each other 50,000 levels deep', async () => {
  class Parity {
    even(n) { return n === 0 ? true : this.odd(n - 1) }
    odd(n) { return n === 0 ? false : this.even(n - 1) }
  }
  const parity = new (preemptify(Parity, { methods: ['even', 'odd'] }))()
  const job = await run(n => parity.even(n), [50000])
  assert.is(await job, true)
})

depth('resuming after a yield runs only the innermost callee', () => {
  const resumed = []
  const leaf = preemptify(function leaf(n, note) {
    if (n > 0) return leaf(n - 1, note)
    for (let i = 0; i < 3; i++) note(i)
  })
  assert.is(drive(leaf(5000, i => { resumed.push(i) }), { limit: 1 }), undefined)
  assert.equal(resumed, [0, 1, 2])
})

depth.run()

const errors = suite('errors through preemptible calls')

errors('try, catch and finally blocks at every level may yield', () => {
  const source = `function f(log, n = 5) {
    try {
      log(n)
      if (n === 0) throw new RangeError('deep')
      return f(log, n - 1)
    } catch (error) {
      log(error.message + n)
      if (n < 3) throw error
      for (let i = 0; i < 2; i++) log(i)
      return n
    } finally {
      for (const x of [1]) log(-n)
    }
  }`
  assertAlike(sloppy(source))
})

errors('an error is thrown at the call, before and after a yield of the callee', () => {
  const fail = preemptify(function fail(n) {
    for (let i = 0; i < n; i++);
    throw new RangeError(`after ${n}`)
  })
  const work = preemptify((log, n) => {
    try {
      return fail(n)
    } catch (error) {
      log.push(error.message)
      return log.length
    }
  }, { calls: { fail } })
  for (const limit of budgets) {
    for (const n of [0, 20]) {
      const log = []
      assert.is(drive(work(log, n), { limit }), 1)
      assert.equal(log, [`after ${n}`])
    }
  }
})

errors('return, break and continue in finally replace an error', () => {
  for (const body of [
    'try { return f(0) } finally { return log(2) }',
    'for (;;) { try { f(0) } finally { break } } return log(3)',
    'let i = 0; for (;;) { try { if (i++ > 2) return i; f(0) } finally { if (i < 3) continue } }',
    'a: try { f(0) } finally { break a } return log(4)'
  ]) {
    const fn = sloppy(`function g(log) { ${body}\n function h() {} }`)
    const f = function f(n) { for (let i = 0; i < 3; i++) if (i === 2) throw new RangeError('f'); return n }
    const expected = outcome(log => (0, eval)(`(f => ${fn})`)(f)(log))
    const work = preemptify(fn, { calls: { f: preemptify(f) } })
    for (const limit of budgets) assert.equal(outcome(log => drive(work(log), { limit })), expected, body)
  }
})

errors('a stack overflow in other code is thrown at the call', () => {
  const endless = () => endless()
  const work = preemptify(f => {
    try {
      f()
    } catch (error) {
      return error.constructor.name
    }
  })
  assert.is(drive(work(endless)), 'RangeError')
  assert.is(drive(deep(3000)), 3000, 'and nothing is left of it')
})

errors('a call that has returned has no pending state', () => {
  const f = preemptify(function f(n) { for (let i = 0; i < n; i++); return n })
  const work = preemptify(() => f(1) + f(2), { calls: { f } })
  budget.left = 1000
  assert.equal(work().next(), { value: 3, done: true })
  assert.ok(budget.left < 1000)
  const failing = preemptify(() => f(1) + none.none, { calls: { f }, scope: { none: undefined } })
  assert.instance(errorOf(() => drive(failing())), TypeError)
  budget.left = 1000
  assert.equal(work().next(), { value: 3, done: true }, 'one step: no generator was driven by the scheduler')
})

errors.run()

const cancelling = suite('cancelling')

cancelling('finally blocks of nested calls run innermost first and may yield', async () => {
  const log = []
  const work = preemptify(function f(n, log) {
    try {
      if (n === 0) for (;;) log.length
      return f(n - 1, log)
    } finally {
      for (let i = 0; i < 2; i++) log.push(`${n}.${i}`)
    }
  })
  const host = virtualHost({ read: 0.01 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const job = scheduler.spawn(work, { name: 'work' }, 3, log)
  job.catch(() => {})
  await host.drain({ until: 1 })
  assert.is(job.state, 'ready')
  const reason = new Error('enough')
  job.cancel(reason)
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.equal(log, ['0.0', '0.1', '1.0', '1.1', '2.0', '2.1', '3.0', '3.1'])
})

cancelling('a job that catches its cancellation continues', async () => {
  const work = preemptify(function (n) {
    try {
      for (;;) n++
    } catch (error) {
      return error.message
    }
  })
  const host = virtualHost({ read: 0.01 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const job = scheduler.spawn(work, undefined, 0)
  await host.drain({ until: 1 })
  job.cancel(new Error('enough'))
  await host.drain()
  assert.is(await job, 'enough')
})

cancelling('cancelling a job that awaits in nested calls runs its finally blocks', async () => {
  const log = []
  const wait = preemptify(async function wait(n, log) {
    try {
      if (n > 0) return await wait(n - 1, log)
      await new Promise(() => {})
    } finally {
      log.push(n)
    }
  })
  const host = virtualHost({ read: 0.01 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const job = scheduler.spawn(wait, undefined, 2, log)
  job.catch(() => {})
  await host.drain()
  assert.is(job.state, 'waiting')
  job.cancel()
  await host.drain()
  assert.is(job.state, 'cancelled')
  assert.equal(log, [0, 1, 2])
})

cancelling.run()

const beside = suite('async functions that are called')

const order = async run => {
  const log = []
  await run(log)
  return log
}

beside('an async call is part of its caller only if awaited or returned', async () => {
  async function child(log, n) {
    log.push(`begin ${n}`)
    await null
    log.push(`end ${n}`)
    return n
  }
  async function parent(log) {
    const a = child(log, 1)
    log.push(a instanceof Promise)
    const b = await child(log, 2)
    const all = await Promise.all([a, child(log, 3), child(log, 4)])
    log.push(all.join(), b)
    return child(log, 5)
  }
  const expected = await order(log => parent(log))
  const work = preemptify(parent, { calls: { child: preemptify(child) } })
  for (const limit of budgets) {
    const actual = await order(log => driveAsync(work(log), { limit }))
    assert.equal([...actual].sort(), [...expected].sort())
    assert.equal(actual.slice(0, 3), expected.slice(0, 3))
    assert.is(actual.at(-1), 'end 5')
  }
})

beside('a concurrent async call rejects its promise only', async () => {
  async function child() { throw new RangeError('child') }
  async function parent(log) {
    const beside = child()
    log.push('goes on')
    try {
      await beside
    } catch (error) {
      return error.message
    }
  }
  const log = []
  const work = preemptify(parent, { calls: { child: preemptify(child) } })
  assert.is(await driveAsync(work(log), { limit: 1 }), 'child')
  assert.equal(log, ['goes on'])
})

beside('a try block does not catch the rejection of a promise that it returns', async () => {
  async function child() { throw new RangeError('child') }
  async function parent() {
    try {
      return child()
    } catch {
      return 'caught'
    }
  }
  const work = preemptify(parent, { calls: { child: preemptify(child) } })
  const error = await driveAsync(work(), { limit: 1 }).catch(error => error)
  assert.instance(error, RangeError)
})

beside('an async function can call itself with and without await', async () => {
  async function sum(n) {
    if (n === 0) return 0
    const rest = sum(n - 1)
    return n + await rest + await sum(0)
  }
  assert.is(await driveAsync(preemptify(sum)(10), { limit: 1 }), 55)
})

beside('awaited calls can nest 20,000 levels deep', async () => {
  async function deep(n) { return n === 0 ? 0 : 1 + await deep(n - 1) }
  const job = await run(preemptify(deep), [20000])
  assert.is(await job, 20000)
})

beside.run()

const scheduled = suite('preemptible calls in jobs')

scheduled('a more urgent arrival preempts a preemptible function at its next point', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const trace = record(scheduler)
  const work = preemptify(function (rounds, advance) {
    for (let i = 0; i < rounds; i++) advance(1)
    return rounds
  })
  scheduler.spawn(work, { name: 'long', deadline: 100 }, 5, ms => host.advance(ms))
  scheduler.spawn(work, { name: 'urgent', deadline: 10, release: 2.5 }, 2, ms => host.advance(ms))
  host.run()
  assertTrace(trace, `
    0 release long, start long
    3 release urgent, preempt long by=urgent, start urgent
    5 finish urgent, round start=0, resume long
    7 finish long, round start=5`)
})

scheduled('a callee, a method and a loop in it can be preempted and resume directly', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, slice: 2, round: Infinity })
  const trace = record(scheduler)
  const leaf = preemptify(function leaf(n, advance) {
    for (let i = 0; i < n; i++) advance(1)
    return n
  })
  const root = preemptify(function root(n, advance) {
    return leaf(n, advance) + leaf(n, advance)
  }, { calls: { leaf } })
  const jobs = ['a', 'b'].map(name => scheduler.spawn(root, { name }, 2, ms => host.advance(ms)))
  host.run()
  assert.equal(jobs.map(({ state }) => state), ['done', 'done'])
  assertTrace(trace, `
    0 release a, release b, start a
    2 preempt a by=b, start b
    4 preempt b by=a, resume a
    6 finish a, resume b
    8 finish b, round start=0`)
})

scheduled('a callee that spawns a more urgent job is preempted at its next point', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1000, round: Infinity })
  const log = []
  const spawn = () => scheduler.spawn(() => { log.push('urgent') }, { deadline: 1 })
  const leaf = preemptify(function leaf(log, spawn) {
    for (let i = 0; i < 4; i++) {
      log.push(i)
      if (i === 1) spawn()
    }
  })
  const root = preemptify((log, spawn) => { leaf(log, spawn) }, { calls: { leaf } })
  scheduler.spawn(root, { name: 'root' }, log, spawn)
  host.run()
  assert.equal(log, [0, 1, 'urgent', 2, 3])
})

/** An object that spawns when it is read, written, converted or iterated. */
const eager = spawn => Object.defineProperties([], {
  now: { get: spawn, set: spawn },
  valueOf: { value: spawn },
  toString: { value: spawn },
  [Symbol.iterator]: { value: () => [spawn()].values() }
})

/** Functions that spawn between two points, and their log until the urgent job runs. */
const between = {
  'a call in a leaf, before a call statement': ['note(1); x = spawn(); note(2)', '1 spawn urgent 2'],
  'the argument of a call statement': ['note(spawn()); note(2)', 'spawn 0 urgent 2'],
  'a call statement in a leaf': ['spawn(); note(2)', 'spawn urgent 2'],
  'a getter in a leaf': ['x = o.now; note(2)', 'spawn urgent 2'],
  'a conversion in a leaf': ['x = -o; note(2)', 'spawn urgent 2'],
  'a condition in a leaf': ['if (spawn() === 0) note(2)', 'spawn urgent 2'],
  'a guard of a leaf': ['if (spawn() === 0) return note(2); note(3)', 'spawn 2 urgent'],
  'a loop with calls': ['for (let i = 0; i < 3; i++) { out[out.length] = i; if (i === 1) x = spawn() }', '0 1 spawn urgent 2'],
  'a test with calls': ['for (let i = 0; i !== 1 || spawn() === 0; i++) { out[out.length] = i; if (i === 2) return }',
    '0 spawn urgent 1 2'],
  'the test of a while': ['let i = 0; while (i !== 1 || spawn() === 0) { out[out.length] = i; if (++i > 2) break }',
    '0 spawn urgent 1 2'],
  'the test of a do while': ['let i = 0; do out[out.length] = i; while (i++ < 2 && spawn() === 0)',
    '0 spawn urgent 1 spawn urgent 2'],
  'the update of a for': ['for (let i = 0; i < 2; i++, x = spawn()) out[out.length] = i', '0 spawn urgent 1 spawn urgent'],
  'a getter in a loop': ['for (let i = 0; i < 3; i++) { out[out.length] = i; if (i === 1) x = o.now }', '0 1 spawn urgent 2'],
  'a setter in a loop': ['for (let i = 0; i < 3; i++) { out[out.length] = i; if (i === 1) o.now = i }', '0 1 spawn urgent 2'],
  'a template in a loop': ['for (let i = 0; i < 3; i++) { out[out.length] = i; if (i === 1) x = `${o}` }', '0 1 spawn urgent 2'],
  'a pattern in a loop': ['for (let i = 0; i < 3; i++) { out[out.length] = i; if (i === 1) [x] = o }', '0 1 spawn urgent 2'],
  'a spread in a loop': ['let i = 0; do { out[out.length] = i; if (i === 1) x = [...o] } while (i++ < 2)', '0 1 spawn urgent 2'],
  'a constructor in a loop': ['for (let i = 0; i < 3; i++) { out[out.length] = i; if (i === 1) x = new spawn() }',
    '0 1 spawn urgent 2'],
  'a getter in a loop that is left': ['for (;;) { out[out.length] = 1; if (o.now === 0) break } out[out.length] = 2; note(3)',
    '1 spawn 2 urgent 3'],
  'an iterator': ['for (const y of o) { out[out.length] = 1 }', 'spawn urgent 1']
}

for (const [name, [body, expected]] of Object.entries(between)) {
  scheduled(`a more urgent job runs at the next point after ${name}`, () => {
    for (const limit of [50, 2 ** 30]) {
      const host = virtualHost()
      const scheduler = new Scheduler({ host, budget: limit, round: Infinity, slice: Infinity })
      const out = []
      const spawn = function () {
        out.push('spawn')
        scheduler.spawn(() => { out.push('urgent') }, { deadline: 1 })
        return 0
      }
      const leaf = preemptify(sloppy(`function leaf(note, spawn, o, out, x) { ${body} }`))
      const root = preemptify(function root(note, spawn, o, out) {
        leaf(note, spawn, o, out)
        note('end')
      }, { calls: { leaf } })
      scheduler.spawn(root, undefined, value => { out.push(value) }, spawn, eager(spawn), out)
      host.run()
      assert.is(out.join(' '), `${expected} end`)
    }
  })
}

scheduled.run()

const kinds = suite('preemptible calls and generators')

kinds('calls accepts a generator function', () => {
  assert.instance(preemptify(() => {}, { calls: { f: function* () {} } }), GeneratorFunction)
})

kinds('yield* f() and yield f() in a generator run the generator of f', () => {
  function* walk(n) {
    if (n === 0) return 'end'
    yield n
    return yield* walk(n - 1)
  }
  assert.equal([...preemptify(walk)(3)], [3, 2, 1])
  const list = preemptify(function* (log) { log.push(yield* walk(2)) }, { calls: { walk: preemptify(walk) } })
  const log = []
  assert.equal([...list(log)], [2, 1])
  assert.equal(log, ['end'])
})

kinds('a preemptible function may return the budget object', async () => {
  const own = preemptify(() => budget, { scope: { budget } })
  for (const left of [1, 2]) {
    const caller = preemptify(function (limit) {
      budget.left = limit
      const result = own()
      return [result]
    }, { scope: { budget }, calls: { own } })
    assert.is((await run(caller, [left]))[0], budget)
  }
})

kinds('a generator that calls itself gets an iterator', () => {
  function* leaves(tree) {
    for (const branch of tree) {
      if (typeof branch === 'number') yield branch
      else for (const leaf of leaves(branch)) yield leaf
    }
  }
  budget.left = 1000
  assert.equal([...preemptify(leaves)([1, [2, [3]], 4])], [1, 2, 3, 4])
})

kinds.run()
