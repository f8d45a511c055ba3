// The running function is the function that the program knows: in stack traces and in messages.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { assertSame, modesOf } from '../../support/modes.mjs'

const LOOP = 'for (let i = 0; i < 3; i++) Math.sqrt(i);'

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
