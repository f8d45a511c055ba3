// `arguments`, stack traces and messages show the original function, not its twin.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../../../addons/preemptify.mjs'
import { assertSame, modesOf } from '../../support/modes.mjs'

const LOOP = 'for (let i = 0; i < 3; i++) Math.sqrt(i);'

const callee = suite('arguments.callee')

for (const [name, program] of Object.entries({
  'of a declared function is the function': `function f() { ${LOOP} return arguments.callee === f } function main() { return f() }`,
  'by a computed key is the function': `function f(key) { ${LOOP} return arguments[key] === f } function main() { return f('callee') }`,
  'by a literal key is the function': `function f() { ${LOOP} return arguments['callee'] === f } function main() { return f() }`,
  'of an alias is the function': `function f() { const list = arguments; ${LOOP} return list.callee === f } function main() { return f() }`,
  'in a pattern is the function': `function f() { var { callee } = arguments; ${LOOP} return callee === f } function main() { return f() }`,
  'in another function is the function': `
    var calleeOf = list => { ${LOOP} return list.callee }
    function f() { ${LOOP} return calleeOf(arguments) === f } function main() { return f() }`,
  'in an arrow function is the function around it': `
    function f() { ${LOOP} return (() => arguments.callee)() === f } function main() { return f() }`,
  'of a function expression is the function': `
    var f = function () { ${LOOP} return arguments.callee === f }, o = { f: function g() { ${LOOP} return arguments.callee === o.f } }
    function main() { return [f(), o.f()] }`,
  'of an anonymous function is the function': `
    var list = [function () { ${LOOP} return arguments.callee === list[0] }]
    function main() { return list[0]() }`,
  'of a method is the method': `var o = { f() { ${LOOP} return arguments.callee === o.f } }; function main() { return o.f() }`,
  'of a function in a function is the one of this call': `
    function make() { ${LOOP} return inner; function inner() { ${LOOP} return arguments.callee === inner } }
    function main() { return [make()(), make()()] }`,
  'of a function in a loop is the one of this round': `
    function main() {
      const list = []
      for (let i = 0; i < 3; i++) { function f() { ${LOOP} return arguments.callee } list.push(f) }
      return list.map(f => f() === f)
    }`,
  'of a function whose name means another thing is the function': `
    function f(f) { ${LOOP} return arguments.callee } var g = f
    function main() { var kept = g; f = null; return g(1) === kept }`,
  'of a function without a body of its own is the function': `
    function main() { function f() { const h = () => { ${LOOP} return 1 }; h(); return arguments.callee === f } ${LOOP} return f() }`,
  'can be called again': `
    function main() { var f = function (n) { ${LOOP} return n < 2 ? 1 : n * arguments.callee(n - 1) }; return f(5) }`,
  'of an async function is the function': `
    async function f() { ${LOOP} await null; return arguments.callee === f } function main() { return f() }`,
  'is no enumerable property': `function f() { ${LOOP} const { callee } = arguments; return [callee === f, Object.keys(arguments).join()] } function main() { return f(1, 2) }`,
  'throws in strict functions': `function f() { 'use strict'; ${LOOP} return arguments.callee } function main() { return f() }`,
  'throws where parameters have values': `function f(a = 1) { ${LOOP} return arguments.callee } function main() { return f() }`
})) callee(`arguments.callee ${name}`, () => assertSame(program, 'script'))

callee('compiled Python finds the attributes of a function by arguments.callee', async () => {
  assert.is(await assertSame(`
    var add = function (a, b) { var self = arguments['callee']; ${LOOP} return a + b + self.__defaults__[0] + self.__name__ }
    add.__name__ = 'add'; add.__defaults__ = [100]
    function main() { return add(1, 2) }`, 'script'), '103add')
})

for (const [name, program] of Object.entries({
  'the caller of a function is the function that called it': `
    function called() { return called.caller === calling } function calling() { ${LOOP} return called() } function main() { return calling() }`,
  'the caller of arguments.callee is the function that called it': `
    function called() { ${LOOP} return arguments.callee.caller === calling } function calling() { ${LOOP} return called() }
    function main() { return calling() }`,
  'the caller of a parameter is the function that called it': `
    var callerOf = function (f) { ${LOOP} return f['caller'] } , called = function () { ${LOOP} return callerOf(called) === calling }
    function calling() { ${LOOP} return called() } function main() { return calling() }`,
  'the caller in a pattern is the function that called it': `
    function called() { var { caller } = called; return caller === calling } function calling() { ${LOOP} return called() }
    function main() { return calling() }`,
  'the caller of an alias is the function that called it': `
    function called() { var self; self = called; return self.caller === calling } function calling() { ${LOOP} return called() }
    function main() { return calling() }`,
  'the arguments of a function are those of the running call': `
    function f(a) { ${LOOP} return f.arguments ? [f.arguments.length, f.arguments[0]] : 'none' } function main() { return f(7, 8) }`,
  'the arguments of a caller are those of its call': `
    function called() { return arguments.callee.caller.arguments[0] } function calling(a) { ${LOOP} return called() }
    function main() { return calling(7) }`
})) callee(name, () => assertSame(program, 'script'))

callee('a node with arguments keeps no function from being preempted', () => {
  const walk = 'function walk(node) { for (const part of node.arguments) walk(part) }'
  const refused = text => preemptify.report(text, { type: 'script' }).filter(({ claims }) => !claims)
    .filter(({ reason }) => reason === 'the caller or the arguments of a function').map(({ name }) => name)
  assert.equal(refused(`${walk} function f() { ${LOOP} return f.caller }`), ['walk', 'f'])
  assert.equal(refused(walk), [])
})

callee.run()

const stacks = suite('names in stack traces')

/** The functions of a stack trace, without the lines of rt.mjs, of Node, of steps of generators, and of the
 * helpers of a text. */
const NAMES = `
  const namesIn = error => error.stack.split('\\n').slice(1)
    .filter(line => !/rt\\.mjs|addons\\/preemptify|modes\\.mjs|node:|\\.next \\(|at \\$\\w \\(/.test(line))
    .map(line => /at (?:async |new )?([^ ]*) \\(/.exec(line)?.[1] ?? '')
`

/** Each program makes an error in functions that call each other, and returns their names. */
const callers = {
  'declared functions': `
    function inner(n) { ${LOOP} const list = namesIn(new Error('here')); return list }
    function outer(n) { ${LOOP} const list = inner(n); return list }
    export function main() { ${LOOP} const list = outer(3); return list.slice(0, 3) }`,
  'function expressions and arrow functions': `
    const inner = function (n) { ${LOOP} const list = namesIn(new Error('here')); return list }
    const outer = n => { ${LOOP} const list = inner(n); return list }
    export function main() { ${LOOP} const list = outer(3); return list.slice(0, 2) }`,
  'functions with names of their own': `
    const a = function inner(n) { ${LOOP} const list = namesIn(new Error('here')); return list }
    export function main() { ${LOOP} const list = a(3); return list.slice(0, 1) }`,
  methods: `
    class Page { draw(n) { ${LOOP} const list = this.layout(n); return list } layout(n) { ${LOOP} const list = namesIn(new Error('here')); return list } }
    export function main() { ${LOOP} const list = new Page().draw(3); return list.slice(0, 2) }`,
  'static methods and methods of objects': `
    class Page { static draw(n) { ${LOOP} const list = view.layout(n); return list } }
    const view = { layout(n) { ${LOOP} const list = namesIn(new Error('here')); return list } }
    export function main() { ${LOOP} const list = Page.draw(3); return list.slice(0, 1) }`,
  'functions in functions': `
    const make = () => { ${LOOP} function inner(n) { ${LOOP} const list = namesIn(new Error('here')); return list } return inner }
    export function main() { const inner = make(); const list = inner(3); return list.slice(0, 1) }`,
  'functions whose closures share what changes': `
    function inner(n) { let count = 0; const add = () => { count++ }; ${LOOP} add(); const list = namesIn(new Error('here')); return list }
    export function main() { ${LOOP} const list = inner(3); return list.slice(0, 1) }`
}

for (const [name, program] of Object.entries(callers)) {
  stacks(`a stack trace names ${name}`, () => assertSame(NAMES + program, 'module', { budget: 1000 }))
}

for (const [name, program] of Object.entries(callers)) {
  stacks(`no stack trace shows a generated name of ${name} after suspensions`, async () => {
    const { native, job, 'job of a short text': short } = await modesOf(NAMES + program)
    assert.is(job[0], native[0].split('.').at(-1)) // a frame keeps the `this` of a method only if the method uses it
    for (const found of [...job, ...short]) assert.not.match(found, /\$/)
  })
}

stacks('an anonymous function has no generated name in stack traces', async () => {
  const results = await modesOf(`${NAMES}
    const list = [n => { ${LOOP} const list = namesIn(new Error('here')); return list }, function (n) { ${LOOP} const list = namesIn(new Error('here')); return list }]
    export function main() { ${LOOP} const names = list.map(f => { const names = f(3); return names[0] ?? '' }); return names }`)
  for (const mode in results) for (const found of results[mode]) assert.not.match(found, /\$/)
})

stacks.run()

const captured = suite('Error.captureStackTrace')

/** Whether a stack trace has frames, and whether the function that is left out is one of them. */
const SEES = `
  const LINES = error => error.stack.split('\\n').filter(line => /^\\s+at /.test(line) && !/\\.next \\(/.test(line))
  const sees = error => [LINES(error).length > 0, LINES(error).some(line => /^\\s+at [\\w. ]*fail/i.test(line))]
`
for (const [name, program] of Object.entries({
  'a function': `
    function fail() { const error = {}; ${LOOP} Error.captureStackTrace(error, fail); return error }
    export function main() { ${LOOP} const error = fail(); return sees(error) }`,
  'a function by a helper': `
    const capture = (error, f) => { ${LOOP} Error.captureStackTrace(error, f); return error }
    function fail() { ${LOOP} const error = capture({}, fail); return error }
    export function main() { ${LOOP} const error = fail(); return sees(error) }`,
  'a function whose closures share what changes': `
    function fail() { let n = 0; const add = () => { n++ }; ${LOOP} add(); const error = {}; Error.captureStackTrace(error, fail); return error }
    export function main() { ${LOOP} const error = fail(); return sees(error) }`,
  'a constructor': `
    function Failure() { ${LOOP} Error.captureStackTrace(this, Failure) }
    export function main() { ${LOOP} const error = new Failure(); return sees(error) }`,
  'a class': `
    class Failure { constructor() { ${LOOP} Error.captureStackTrace(this, this.constructor) } } // ${'.'.repeat(2000)}
    export function main() { ${LOOP} const error = new Failure(); return sees(error) }`,
  'a short function': `
    const fail = error => { Error.captureStackTrace(error, fail); return error }
    export function main() { ${LOOP} const error = fail({}); return sees(error) }`,
  'no function': `
    function inner() { ${LOOP} const error = {}; Error.captureStackTrace(error); return error }
    export function main() { ${LOOP} const error = inner(); return [LINES(error).length > 0, LINES(error)[0].includes('inner')] }`
})) {
  captured(`Error.captureStackTrace leaves out ${name}, not its callers`, () => assertSame(SEES + program))
  captured(`Error.captureStackTrace leaves out ${name} where nothing suspends`, () => assertSame(SEES + program, 'module', { budget: 1000 }))
}

captured('Error.captureStackTrace calls the prepareStackTrace of a program once, with the frames', async () => {
  await assertSame(`
    function fail() { const error = {}; ${LOOP} Error.captureStackTrace(error, fail); return error }
    export function main() {
      const { prepareStackTrace, stackTraceLimit } = Error
      let calls = 0
      Error.prepareStackTrace = (error, frames) => { calls++; return frames.some(frame => frame.getFunctionName() === 'fail') }
      try {
        const error = fail()
        return [error.stack, calls, Error.stackTraceLimit === stackTraceLimit]
      } finally {
        Error.prepareStackTrace = prepareStackTrace
      }
    }`)
})

captured.run()

const messages = suite('messages')

/** Calls of values that are not functions, in a function with the parameters `a` and `list`. */
const wrong = {
  'a name': 'a(1)',
  'a global name': 'missing(1)',
  'a member': 'a.foo(1)',
  'a member of this': 'this.foo(1)',
  'members of members': 'a.b.c.d(1)',
  'a computed member': 'a[list](1)',
  'a member by a number': 'a[0](1)',
  'a member by a text': "a['key'](1)",
  'a member of a call': 'long(a).foo(1)',
  'the result of a call': 'long(a)(1)',
  'a member of a text': "'text'.foo(1)",
  'a member that is an object': 'a.b(1)',
  'a sequence': '(0, a.foo)(1)',
  'an optional call': 'a?.foo(1)',
  'an optional call of a value': 'a.b?.(1)',
  'a call with a call': 'a.foo(long(1))',
  'a call with a spread': 'a.foo(...list)',
  'a tag': 'a`text`',
  'a constructor': 'new a(1)',
  'a constructor that is a member': 'new a.B(1)',
  'a constructor without arguments': 'new a.B',
  'a returned call': 'return a.foo(1)',
  'a call in a loop': 'for (let i = 0; i < 2; i++) a.foo(i)',
  'two calls of one name': 'try { a.foo(1) } catch {} a.b.foo(1)',
  'a loop over an object': 'for (const x of a) long(x)',
  'a loop over undefined': 'for (const x of a.foo) long(x)',
  'a loop over null': 'for (const x of null) long(x)',
  'a loop over a number': 'for (const x of list.length) long(x)',
  'a loop over a call': 'for (const x of long(a)) long(x)',
  'a spread': 'long(...a)',
  'a member of undefined': 'a.foo.bar(1)',
  'a callback': 'list.map(a)'
}
for (const [name, code] of Object.entries(wrong)) {
  messages(`the message of an error shows ${name} as the source has it: ${code}`, () => assertSame(`
    function long(x) { ${LOOP} return x }
    function test(a, list) { ${LOOP} ${code} }
    export function main() {
      try { return test.call({}, { b: { c: {} } }, [1, 2]) } catch (error) { return \`\${error.name}: \${error.message}\` }
    }`))
  messages(`the message of an error in a generator shows ${name}`, () => assertSame(`
    function long(x) { ${LOOP} return x }
    function* test(a, list) { ${LOOP} yield long(0); ${code} }
    export function main() {
      try { return [...test.call({}, { b: { c: {} } }, [1, 2])] } catch (error) { return \`\${error.name}: \${error.message}\` }
    }`))
}

messages('an error of a call comes after its arguments have been evaluated', () => assertSame(`
  let log
  function long(x) { ${LOOP} log.push(x); return x }
  function test(a) { ${LOOP} return a.foo(long(1), long(2)) }
  export function main() { log = []; try { test({}) } catch (error) { return [log, error.message] } }`))

messages('the stack trace of an error of a call starts with the calling function', async () => {
  for (const code of ['a(1)', 'a.foo(1)', 'new a.B(1)', 'for (const x of a) g(x)']) {
    await assertSame(`${NAMES}
      const g = x => { ${LOOP} return x }
      function test(a) { ${LOOP} ${code} }
      export function main() { try { return test({}) } catch (error) { return namesIn(error)[0] } }`)
  }
})

messages.run()
