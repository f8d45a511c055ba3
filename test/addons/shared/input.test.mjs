/** Tests the invalid arguments of addons/shared.mjs. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as module from '../../../addons/shared.mjs'
import {
  BOOLEAN, OBJECT, STRING, errorOf, exportTests, none, parameterTests
} from '../../support/refusals.mjs'

const { Latest, Ring, SharedMutex, SharedSemaphore } = module

const NAME = { ...STRING, isOption: true }
const OPTIONS = { ...OBJECT, isOption: true }
const FLAG = { ...BOOLEAN, isOption: true }
const BUFFER = { wants: 'a SharedArrayBuffer', takes: none, isOption: true, isLookedAt: true }
const PERMITS = {
  wants: 'an integer >= 0', takes: value => Number.isSafeInteger(value) && value >= 0, range: true,
  isRequired: true
}

/** @type {[call: string, name: string, kind: any, act: (here: any, value: any) => void][]} */
const PARAMETERS = [
  ['SharedMutex', 'options', OPTIONS, (_, value) => new SharedMutex(value)],
  ['SharedMutex', 'name', NAME, (_, name) => new SharedMutex({ name })],
  ['SharedMutex', 'buffer', BUFFER, (_, buffer) => new SharedMutex({ buffer })],
  ['SharedSemaphore', 'permits', PERMITS, (_, value) => new SharedSemaphore(value)],
  ['SharedSemaphore', 'options', OPTIONS, (_, value) => new SharedSemaphore(1, value)],
  ['SharedSemaphore', 'name', NAME, (_, name) => new SharedSemaphore(1, { name })],
  ['SharedSemaphore', 'buffer', BUFFER, (_, buffer) => new SharedSemaphore(1, { buffer })],
  ['Latest', 'options', OPTIONS, (_, value) => new Latest(0, value)],
  ['Latest', 'shared', FLAG, (_, shared) => new Latest(0, { shared })],
  ['Ring', 'options', OPTIONS, (_, value) => new Ring(1, value)],
  ['Ring', 'shared', FLAG, (_, shared) => new Ring(1, { shared })]
]

const refusals = suite('shared: invalid arguments')

parameterTests(refusals, PARAMETERS, () => ({ traces: () => null }))
exportTests(refusals, module, PARAMETERS, [])

for (const [call, act, message] of /** @type {[string, () => void, string][]} */ ([
  ['SharedMutex', () => new SharedMutex({ shared: true }), "'shared'; known are name, buffer"],
  ['SharedSemaphore', () => new SharedSemaphore(1, { nmae: 's' }), "'nmae'; known are name, buffer"],
  ['Latest', () => new Latest(0, { share: true }), "'share'; known are shared, bytes, buffer"],
  ['Ring', () => new Ring(1, { byte: 8 }), "'byte'; known are shared, bytes, buffer"]
])) {
  refusals(`${call}: an unknown option is rejected`, () => {
    const error = errorOf(act)
    assert.instance(error, TypeError)
    assert.is(error.message, `unknown option ${message}`)
  })
}

refusals('locks without shared memory name the headers that a page needs', () => {
  const original = globalThis.SharedArrayBuffer
  for (const [name, value, told] of /** @type {const} */ ([
    ['SharedArrayBuffer', undefined, 'this engine has no SharedArrayBuffer'],
    ['crossOriginIsolated', false, 'SharedArrayBuffer needs a cross-origin isolated page; serve it with ' +
      'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp']
  ])) {
    globalThis[name] = value
    try {
      assert.is(errorOf(() => new SharedMutex()).message, `no SharedMutex here: ${told}`)
      assert.is(errorOf(() => new SharedSemaphore(1)).message, `no SharedSemaphore here: ${told}`)
    } finally {
      globalThis.SharedArrayBuffer = original
      delete globalThis.crossOriginIsolated
    }
  }
})

refusals('a shared lock is an instance of its class in sync.mjs, and can be joined', () => {
  const [mutex, semaphore] = [new SharedMutex({ name: 'm' }), new SharedSemaphore(2, { name: 's' })]
  const { buffer } = semaphore
  const joined = [SharedMutex.from(mutex.buffer, { name: 'n' }), new SharedSemaphore(0, { buffer })]
  assert.equal([mutex.name, semaphore.name, ...joined.map(({ name }) => name)], ['m', 's', 'n', 'semaphore'])
  assert.equal(joined.map(({ buffer }) => buffer), [mutex.buffer, semaphore.buffer])
  assert.is(joined[1].available, 2)
  assert.equal([mutex, semaphore].map(String), ['[object SharedMutex]', '[object SharedSemaphore]'])
})

refusals.run()
