/** Invalid values, the kinds of parameters, and checks of rejected calls. */
import * as assert from 'uvu/assert'

export const throws = () => { throw new Error('user code was run') }

/** Each value with its text in messages. @type {[shown: string, value: any][]} */
export const VALUES = [
  ['NaN', NaN],
  ['0', 0],
  ['0', -0],
  ['-1', -1],
  ['1.5', 1.5],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['9007199254740992', 2 ** 53],
  ['true', true],
  ['false', false],
  ['5', 5n],
  ['""', ''],
  ['"5"', '5'],
  ['"auto"', 'auto'],
  ['"toString"', 'toString'],
  ['Symbol(five)', Symbol('five')],
  ['an object (Object)', {}],
  ['an object (no constructor)', Object.create(null)],
  ['an object (Number)', new Number(5)],
  ['an object (Date)', new Date(5)],
  ['an object (Promise)', Promise.resolve(5)],
  ['an object (Object)', new Proxy({}, {})],
  ['an object (Object)', { valueOf: throws, toString: throws, [Symbol.toPrimitive]: throws }],
  ['an array', []],
  ['function five', function five() {}],
  ['function (anonymous)', (() => () => {})()]
]
/** @type {[shown: string, value: any]} */
export const NULL = ['null', null]
/** @type {[shown: string, value: any]} */
export const UNDEFINED = ['undefined', undefined]

/**
 * Objects that throw or return nonsense when any property is read.
 *
 * @type {[label: string, value: any][]}
 */
export const UNREADABLE = [
  ['its constructor cannot be read', { get constructor() { return throws() } }],
  ['its constructor has a symbol for a name', { constructor: { name: Symbol('name') } }],
  ['a proxy that answers nothing', new Proxy({}, { get: throws, has: throws })]
]

export const isNumber = value => typeof value === 'number'
export const isFunction = value => typeof value === 'function'
export const isObject = value => typeof value === 'object' && value !== null
export const none = () => false

// The kinds of parameters: the wanted value, the accepted values of VALUES, and whether numbers can be out of
// range.
export const POSITIVE = { wants: 'a number > 0', takes: value => isNumber(value) && value > 0, range: true }
export const NOT_NEGATIVE = { wants: 'a number >= 0', takes: value => isNumber(value) && value >= 0, range: true }
export const DURATION = { wants: 'a finite number >= 0', takes: value => Number.isFinite(value) && value >= 0, range: true }
export const FINITE = { wants: 'a finite number', takes: Number.isFinite, range: true }
export const POINTS = { wants: "an integer >= 1 or 'auto'", takes: value => value === 'auto', range: true }
export const STRING = { wants: 'a string', takes: value => typeof value === 'string' }
export const BOOLEAN = { wants: 'a boolean', takes: value => typeof value === 'boolean' }
export const FUNCTION = { wants: 'a function', takes: isFunction }
export const OBJECT = { wants: 'an object', takes: isObject }
export const MISS = { wants: "'continue' or 'abort'", takes: none }
export const SIGNAL = { wants: 'an AbortSignal', takes: none }
export const RESERVATION = { wants: 'a Reservation', takes: none }
export const USES = { wants: 'an array of Resources', takes: Array.isArray }
export const SCHEDULER = { wants: 'a Scheduler', takes: none }

/** @param {() => void} act */
export function errorOf(act) {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

/**
 * Asserts that a call throws an error, and leaves no trace.
 *
 * @param {{ traces(): any, stir?(): void }} here `traces`: returns all objects in which the call could leave
 *   a trace; `stir`: triggers everything that the call may have left behind
 * @param {() => void} act @param {Function} type @param {string} message
 */
export function assertRefusal(here, act, type, message) {
  const before = here.traces()
  const error = errorOf(act)
  assert.ok(error, `nothing was thrown where this was due: ${message}`)
  assert.is(error.message, message)
  assert.is(error.constructor, type, message)
  assert.equal(here.traces(), before, `something is left of what was refused: ${message}`)
  if (here.stir === undefined) return
  here.stir()
  assert.equal(here.traces(), before, `something acts of what was refused: ${message}`)
}

/**
 * Asserts that each value that the parameter does not accept is rejected, with a message that names both.
 *
 * @param {string} name @param {{ wants: string, takes(value: any): boolean, range?: boolean }} kind
 * @param {(here: any, value: any) => void} act
 * @param {{ values?: [string, any][], create: () => any }} options `create`: makes a new world for each call
 */
export function assertKind(name, kind, act, { values = VALUES, create }) {
  const wrong = values.filter(([, value]) => !kind.takes(value))
  assert.ok(wrong.length > 0)
  for (const [shown, value] of wrong) {
    const here = create()
    const type = kind.range && isNumber(value) ? RangeError : TypeError
    assertRefusal(here, () => act(here, value), type, `${name} must be ${kind.wants}, got ${shown}`)
  }
}

/**
 * Adds two tests for each parameter: invalid values are rejected, and so are objects that cannot be read.
 *
 * @param {(name: string, test: () => void) => void} tests the suite
 * @param {[call: string, name: string, kind: any, act: (here: any, value: any) => void][]} parameters `kind`:
 *   the accepted values. With `isRequired`, undefined is rejected; with `isOption`, it is accepted. With
 *   `isLookedAt`, properties of the value are read, so that errors of getters are thrown
 * @param {() => any} create makes the world of a call, see `assertRefusal`
 */
export function parameterTests(tests, parameters, create) {
  for (const [call, name, kind, act] of parameters) {
    tests(`${call}: ${name} must be ${kind.wants}`, () => {
      const values = [...VALUES, NULL, ...kind.isRequired ? [UNDEFINED] : []]
      assertKind(name, kind, act, { create, values })
      if (kind.isOption) act(create(), undefined)
    })

    tests(`${call}: ${name} that cannot be read is rejected like any other value`, () => {
      for (const [, value] of UNREADABLE) {
        if (kind.takes(value)) continue
        const here = create()
        const before = here.traces()
        const error = errorOf(() => act(here, value))
        assert.equal(here.traces(), before)
        if (kind.isLookedAt && error?.message === 'user code was run') continue
        assert.is(error?.constructor, TypeError, `${error}`)
        assert.ok(error.message.startsWith(`${name} must be ${kind.wants}, got `), error.message)
      }
    })
  }
}

/**
 * Adds two tests of the exports of a module.
 *
 * @param {(name: string, test: () => void) => void} tests the suite @param {object} module the namespace
 * @param {any[]} parameters see `parameterTests` @param {string[]} others exports without parameters to check
 */
export function exportTests(tests, module, parameters, others) {
  tests('each export is in the table of parameters, or an error', () => {
    const covered = new Set(parameters.map(([call]) => call))
    assert.equal(Object.keys(module).filter(name => !covered.has(name)).sort(), [...others].sort())
  })

  tests('classes cannot be called without new', () => {
    for (const exported of Object.values(module)) {
      if (!/^class\b/.test(String(exported))) continue
      assert.instance(errorOf(() => exported(1)), TypeError)
    }
  })
}
