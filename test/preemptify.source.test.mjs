import { inspect, isDeepStrictEqual } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { preemptify } from '../rt.mjs'
import { budgets } from './fixtures/preemptify/both-ways.mjs'
import { randomProgram } from './fixtures/preemptify/random-source.mjs'
import { driveAsync } from './support/drive.mjs'
import { forSeeds } from './support/seeded.mjs'

const MOST_EFFECTS = 3000
const runtime = new URL('../rt.mjs', import.meta.url).href



/** Evaluates a script inside of a function, with functions that log. @returns what `result` says */
function evaluate(text, result) {
  const effects = []
  const log = value => {
    if (effects.length === MOST_EFFECTS) throw new Error('it goes on for too long')
    effects.push(value)
    return value
  }
  async function* steps(n) {
    try {
      for (let i = 0; i < n; i++) yield log(i)
    } finally {
      log('closed')
    }
  }
  return { effects, functions: new Function('log', 'steps', `${text}\nreturn ${result}`)(log, steps) }
}

const load = (text, { names, isClass }) => evaluate(text, isClass ? 'new Program()' : `{ ${names} }`)

/** What a program leaves behind when its first function is called: `run` calls it. */
async function outcome({ effects, functions }, { names: [first] }, run) {
  effects.length = 0
  try {
    const result = await run(functions[first], functions)
    return { result, effects: [...effects] }
  } catch (error) {
    return { error: `${error}`, effects: [...effects] }
  }
}

const plainly = (fn, self) => fn.call(self, 3, 0)
const asJob = limit => (fn, self) => driveAsync(preemptify(fn).call(self, 3, 0), { limit })

const programs = suite('random programs')

async function checkProgram(program) {
  const expected = await outcome(load(program.source, program), program, plainly)
  const text = preemptify.source(program.source, { type: 'script' })
  const rewritten = load(text, program)
  for (const limit of [0, ...budgets]) {
    const actual = await outcome(rewritten, program, limit === 0 ? plainly : asJob(limit))
    if (isDeepStrictEqual(actual, expected)) continue
    throw new Error(`${limit ? `as a job, budget ${limit}` : 'plainly'}\nrewritten ${inspect(actual)}\noriginal ${inspect(expected)}\n` +
      `${program.source}\n${text}`)
  }
}

programs('rewritten whole they give the same results, errors and effects, plainly and as jobs', () => {
  return forSeeds(300, random => checkProgram(randomProgram(random)))
})

programs.run()

const forms = suite('forms')

/** A module as it is and rewritten. */
async function modules(text) {
  const load = source => import(`data:text/javascript,${encodeURIComponent(source)}`)
  return { original: await load(text), rewritten: await load(preemptify.source(text, { runtime })) }
}

const describe = fn => Reflect.ownKeys(fn).map(key => {
  const { value, ...flags } = Object.getOwnPropertyDescriptor(fn, key)
  return [key, typeof value === 'object' || typeof value === 'function' ? typeof value : value, flags]
})

forms('every kind of function keeps its name, length and keys, its result, and has a twin', async () => {
  const { original, rewritten } = await modules(`
    const loop = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
    const unknown = []
    unknown[0] = loop
    export function declared(a, b) { return unknown[0](a) }
    export default function (a) { return unknown[0](a) }
    export const arrow = (a, b = 2) => unknown[0](a)
    export const short = a => loop(a)
    export let expression = function (a) { return unknown[0](a) }
    export const named = function own(a) { return a < 3 ? own(3) : unknown[0](a) }
    export const rest = (...all) => unknown[0](all[0])
    const object = { method(a) { return unknown[0](a) }, value: a => unknown[0](a), 'a b': function (a) { return unknown[0](a) },
      'c-d'(a) { return unknown[0](a) }, __proto__(a) { return unknown[0](a) } }
    export const { method, value, 'a b': spaced, 'c-d': dashed, __proto__: proto } = object
    class Base { up(a) { return unknown[0](a) } static up(a) { return unknown[0](a) } }
    class Made extends Base {
      method(a) { return super.up(a) }
      static method(a) { return super.up(a) }
      'a b'(a, ...b) { return this.method(a) }
      field = a => this.method(a)
      static field = function (a) { return unknown[0](a) }
    }
    const made = new Made()
    export const inClass = a => made.method(a), bound = made.field, field = Made.field
    export const proper = Made.prototype.method.bind(made), statics = Made.method.bind(Made)
    export const nested = (a => { const inner = b => unknown[0](b); return inner })()
    export var logical; logical ??= a => unknown[0](a)
    export const { pattern = a => unknown[0](a) } = {}
    export const [first = function (a) { return unknown[0](a) }] = []
  `)
  assert.equal(Object.keys(rewritten), Object.keys(original))
  for (const key of Object.keys(original)) {
    const fn = rewritten[key]
    assert.equal(describe(fn), describe(original[key]), key)
    assert.is(fn(9), 36, key)
    if (/^bound |^proper|^statics/.test(key)) continue
    let points = 0
    assert.is(await driveAsync(preemptify(fn)(9), { limit: 1, onPoint: () => points++ }), 36, key)
    assert.ok(points > 9, `${key}: ${points} points`)
  }
})

forms.run()
