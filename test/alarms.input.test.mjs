import { getEventListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, seam } from '../rt.mjs'
import {
  Alarm, AsyncEvent, after, at, every, frames, nextPeriod, on, periodic, sleep, sporadic, timeout, until
} from '../alarms.mjs'
import { virtualHost } from './support/virtual-host.mjs'

// --- values, and how messages show them

const throws = () => { throw new Error('user code was run') }

/** @type {[shown: string, value: any][]} */
const VALUES = [
  ['null', null],
  ['NaN', NaN],
  ['0', 0],
  ['-1', -1],
  ['1.5', 1.5],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['9007199254740992', 2 ** 53],
  ['true', true],
  ['5', 5n],
  ['""', ''],
  ['"5"', '5'],
  ['"toString"', 'toString'],
  ['Symbol(five)', Symbol('five')],
  ['an object (Object)', {}],
  ['an object (no constructor)', Object.create(null)],
  ['an object (Number)', new Number(5)],
  ['an object (Promise)', Promise.resolve(5)],
  ['an object (Object)', { valueOf: throws, toString: throws, [Symbol.toPrimitive]: throws }],
  ['an object', { get constructor() { return throws() } }],
  ['an object', { constructor: { name: Symbol('name') } }],
  ['an array', []],
  ['function five', function five() {}],
  ['function (anonymous)', (() => () => {})()]
]

const isNumber = value => typeof value === 'number'
const isObject = value => typeof value === 'object' && value !== null
const isFunction = value => typeof value === 'function'
const none = () => false

// What a parameter wants, which of the values above it takes, and whether other numbers are out of its range.
const isFinite = Number.isFinite
const DURATION = { wants: 'a finite number >= 0', takes: value => isFinite(value) && value >= 0, range: true }
const INTERVAL = { wants: 'a finite number > 0', takes: value => isFinite(value) && value > 0, range: true }
const TIME = { wants: 'a finite number', takes: isFinite, range: true }
const COUNT = { wants: 'an integer >= 1 or Infinity', takes: value => value === Infinity, range: true }
const BOOLEAN = { wants: 'a boolean', takes: value => typeof value === 'boolean' }
const STRING = { wants: 'a string', takes: value => typeof value === 'string' }
const FUNCTION = { wants: 'a function', takes: isFunction }
const OBJECT = { wants: 'an object', takes: isObject }
const WORK = { wants: 'a Task or a function', takes: isFunction }
const SIGNAL = { wants: 'an AbortSignal', takes: none }
const SCHEDULER = { wants: 'a Scheduler', takes: none }
const TARGET = { wants: 'an EventTarget', takes: none }
const AWAITED = { wants: 'a promise, a job or a waitable', takes: value => value instanceof Promise }
const oneOf = (...choices) => ({ wants: choices.map(choice => `'${choice}'`).join(' or '), takes: none })

// What a task is released with; rt.mjs says what each wants.
const JOB_OPTIONS = {
  name: STRING,
  deadline: { wants: 'a number > 0', takes: value => isNumber(value) && value > 0, range: true },
  priority: TIME,
  wcet: { wants: 'a number >= 0', takes: value => isNumber(value) && value >= 0, range: true },
  budget: { wants: "an integer >= 1 or 'auto'", takes: none, range: true },
  miss: oneOf('continue', 'abort'),
  onMiss: FUNCTION,
  onOverrun: FUNCTION,
  reservation: { wants: 'a Reservation', takes: none },
  uses: { wants: 'an array of Resources', takes: Array.isArray },
  scheduler: SCHEDULER
}

// --- what must be after a refusal as it was before

const generate = function* () {}

/** A scheduler, and everything in which a call could leave traces. */
function world() {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, closed: true })
  const { signal } = new AbortController()
  const target = new EventTarget()
  const event = new AsyncEvent({ scheduler })
  const partner = { [seam.protocol]: { attach() {}, detach() {}, standing: job => ({ band: 0, job }) } }
  const traces = () => ({
    stats: scheduler.stats(),
    posts: host.posts,
    timers: host.timers,
    frames: host.frames,
    listeners: getEventListeners(signal, 'abort').length + getEventListeners(target, 'ping').length
  })
  return { host, scheduler, signal, target, event, partner, traces }
}

/** @param {() => void} act */
function errorOf(act) {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

/** @param {any} here @param {() => void} act @param {Function} type @param {string} message */
function assertRefusal(here, act, type, message) {
  const before = here.traces()
  const error = errorOf(act)
  assert.ok(error, `nothing was thrown where this was due: ${message}`)
  assert.is(error.message, message)
  assert.is(error.constructor, type, message)
  assert.equal(here.traces(), before, `something is left of what was refused: ${message}`)
  // Of an event that is listened to, or a handler that is left, something would be left now.
  here.target.dispatchEvent(new Event('ping'))
  here.event.fire()
  assert.equal(here.traces(), before, `something acts of what was refused: ${message}`)
}

/**
 * Every value that the parameter does not take is refused, with a message that names both.
 * @param {string} name @param {{ wants: string, takes(value: any): boolean, range?: boolean }} kind
 * @param {(here: any, value: any) => void} act @param {[string, any][]} [more]
 */
function assertKind(name, kind, act, more = []) {
  const wrong = [...VALUES, ...more].filter(([, value]) => !kind.takes(value))
  assert.ok(wrong.length > 0)
  for (const [shown, value] of wrong) {
    const here = world()
    const type = kind.range && isNumber(value) ? RangeError : TypeError
    assertRefusal(here, () => act(here, value), type, `${name} must be ${kind.wants}, got ${shown}`)
  }
}

// --- the calls: good values for everything, so that whatever is registered too early shows

const ALARM_OPTIONS = { ref: BOOLEAN, signal: SIGNAL }
const given = ({ scheduler, signal, partner }) => ({
  scheduler, signal, name: 'good', deadline: 10, priority: 1, wcet: 3, budget: 4, miss: 'abort',
  reservation: partner, uses: [partner]
})

/** @type {Record<string, { call(here: any, own: any): any, parameters: any, options: any }>} */
const CALLS = {
  after: {
    call: (here, { ms = 5, work = generate, options }) => after(ms, work, options(given(here))),
    parameters: { ms: DURATION, work: WORK },
    options: { ...ALARM_OPTIONS, ...JOB_OPTIONS }
  },
  at: {
    call: (here, { time = 5, work = generate, options }) => at(time, work, options(given(here))),
    parameters: { time: TIME, work: WORK },
    options: { ...ALARM_OPTIONS, ...JOB_OPTIONS }
  },
  every: {
    call: (here, { period = 5, work = generate, options }) => every(period, work, options(given(here))),
    parameters: { period: INTERVAL, work: WORK },
    options: {
      ...ALARM_OPTIONS, ...JOB_OPTIONS, phase: DURATION, count: COUNT, catchUp: oneOf('skip', 'all')
    }
  },
  periodic: {
    call: (here, { task = generate, options }) => periodic(task, options({ ...given(here), period: 5 })),
    parameters: { task: WORK },
    options: {
      ...ALARM_OPTIONS, ...JOB_OPTIONS, period: INTERVAL, phase: DURATION, count: COUNT,
      excess: oneOf('skip', 'queue', 'abort')
    }
  },
  sporadic: {
    call: (here, { task = generate, options }) => {
      return sporadic(task, options({ ...given(here), interarrival: 5 }))
    },
    parameters: { task: WORK },
    options: { ...JOB_OPTIONS, interarrival: INTERVAL, excess: oneOf('defer', 'drop') }
  },
  frames: {
    call: (here, { task = generate, options }) => frames(task, options(given(here))),
    parameters: { task: WORK },
    options: { ...JOB_OPTIONS, signal: SIGNAL }
  },
  on: {
    call: (here, own) => {
      const { target = here.target, type = 'ping', task = generate, options } = own
      return on('target' in own ? own.target : target, type, task, options(given(here)))
    },
    parameters: { target: TARGET, type: STRING, task: WORK },
    options: {
      ...JOB_OPTIONS, signal: SIGNAL, before: FUNCTION, once: BOOLEAN, passive: BOOLEAN, capture: BOOLEAN
    }
  },
  'AsyncEvent.handle': {
    call: (here, { task = generate, options }) => {
      const { signal, ...rest } = given(here)
      return here.event.handle(task, options(rest))
    },
    parameters: { task: WORK },
    options: JOB_OPTIONS
  },
  sleep: {
    call: (here, { ms = 5, options }) => sleep(ms, options({ scheduler: here.scheduler })),
    parameters: { ms: DURATION },
    options: { scheduler: SCHEDULER }
  },
  until: {
    call: (here, { time = 5, options }) => until(time, options({ scheduler: here.scheduler })),
    parameters: { time: TIME },
    options: { scheduler: SCHEDULER }
  },
  timeout: {
    call: (here, own) => timeout('ms' in own ? own.ms : 5, 'awaited' in own ? own.awaited : sleep(9),
      own.options({ scheduler: here.scheduler })),
    parameters: { ms: DURATION, awaited: AWAITED },
    options: { scheduler: SCHEDULER }
  },
  'new AsyncEvent': {
    call: (here, { options }) => new AsyncEvent(options({ scheduler: here.scheduler })),
    parameters: {},
    options: { scheduler: SCHEDULER }
  }
}

const same = options => options

for (const [name, { call, parameters, options }] of Object.entries(CALLS)) {
  const tests = suite(name)

  tests(`${name}: what is right is taken`, () => {
    call(world(), { options: same })
  })

  for (const [parameter, kind] of Object.entries(parameters)) {
    tests(`${name}: ${parameter} must be ${kind.wants}`, () => {
      assertKind(parameter, kind, (here, value) => call(here, { [parameter]: value, options: same }))
    })
  }

  for (const [option, kind] of Object.entries(options)) {
    tests(`${name}: ${option} must be ${kind.wants}`, () => {
      assertKind(option, kind, (here, value) => {
        call(here, { options: given => ({ ...given, [option]: value }) })
      })
    })
  }

  tests(`${name}: options must be an object`, () => {
    assertKind('options', OBJECT, (here, value) => call(here, { options: () => value }))
  })

  tests(`${name}: undefined stands for the default of every option that has one`, () => {
    const required = ['scheduler', 'period', 'interarrival']
    const names = Object.keys(options).filter(option => !required.includes(option))
    const undefineds = Object.fromEntries(names.map(option => [option, undefined]))
    call(world(), { options: given => ({ ...given, ...undefineds }) })
  })

  tests(`${name}: what a getter of the options throws comes out, and nothing is registered`, () => {
    for (const option of Object.keys(options)) {
      const here = world()
      assertRefusal(here, () => {
        call(here, { options: given => Object.defineProperty(given, option, { get: throws }) })
      }, Error, 'user code was run')
    }
  })

  tests(`${name}: options need no prototype, or may be inherited`, () => {
    for (const options of [
      given => Object.assign(Object.create(null), given),
      given => Object.create(given)
    ]) call(world(), { options })
  })

  tests.run()
}

// ------------------------------------------------------------------------------ what only some calls have

const wrong = suite('what only some calls have')

wrong('an async generator is no work', () => {
  async function* stream() {}
  for (const [name, { call, parameters }] of Object.entries(CALLS)) {
    const parameter = 'work' in parameters ? 'work' : 'task' in parameters ? 'task' : undefined
    if (parameter === undefined) continue
    for (const [shown, work] of [
      ['function stream', stream], ['function bound stream', stream.bind(null)],
      ['an object (Task)', new Task(stream)]
    ]) {
      const here = world()
      assertRefusal(here, () => call(here, { [parameter]: work, options: same }), TypeError,
        `${parameter} must be a generator function, not an async one, got ${shown}`)
      assert.ok(name)
    }
  }
})

wrong('a generator that has begun is no work: it could run once only', () => {
  for (const { call, parameters } of Object.values(CALLS)) {
    const parameter = 'work' in parameters ? 'work' : 'task' in parameters ? 'task' : undefined
    if (parameter === undefined) continue
    const here = world()
    const error = errorOf(() => call(here, { [parameter]: generate(), options: same }))
    assert.instance(error, TypeError)
    assert.match(error.message, `${parameter} must be a Task or a function, got an object`)
  }
})

wrong('a task that has become invalid is refused', () => {
  for (const { call, parameters } of Object.values(CALLS)) {
    const parameter = 'work' in parameters ? 'work' : 'task' in parameters ? 'task' : undefined
    if (parameter === undefined) continue
    const here = world()
    const task = new Task(generate)
    task.wcet = -1
    assertRefusal(here, () => {
      call(here, { [parameter]: task, options: ({ wcet, ...given }) => given })
    }, RangeError, 'wcet must be a number >= 0, got -1')
    const broken = Object.assign(new Task(generate), { run: 5 })
    assertRefusal(here, () => call(here, { [parameter]: broken, options: same }), TypeError,
      `${parameter} must be a Task or a function, got an object (Task)`)
  }
})

wrong('what only looks like an AbortSignal is refused', () => {
  const addEventListener = () => {}
  const removeEventListener = () => {}
  for (const [name, { call, options }] of Object.entries(CALLS)) {
    if (!('signal' in options)) continue
    for (const signal of [
      { aborted: false, addEventListener }, { aborted: false, removeEventListener },
      { aborted: 'no', addEventListener, removeEventListener }
    ]) {
      const here = world()
      assertRefusal(here, () => call(here, { options: given => ({ ...given, signal }) }), TypeError,
        'signal must be an AbortSignal, got an object (Object)')
    }
    const here = world()
    const signal = new Proxy({}, { get: throws })
    const error = errorOf(() => call(here, { options: given => ({ ...given, signal }) }))
    assert.instance(error, TypeError, name)
    assert.match(error.message, 'signal must be an AbortSignal, got an object')
  }
})

wrong('periodic: without a period of its own, or its task\'s, there is none', () => {
  const here = world()
  const message = 'period must be a finite number > 0, got'
  assertRefusal(here, () => periodic(generate), TypeError, `${message} undefined`)
  assertRefusal(here, () => periodic(new Task(generate)), RangeError, `${message} Infinity`)
})

wrong('sporadic: options are required, and the interarrival time in them', () => {
  const here = world()
  const act = /** @type {any} */ (sporadic)
  assertRefusal(here, () => act(generate), TypeError, 'options must be an object, got undefined')
  assertRefusal(here, () => act(generate, {}), TypeError,
    'interarrival must be a finite number > 0, got undefined')
})

wrong('count is a whole number, or none', () => {
  for (const count of [1, 7, 2 ** 53 - 1, Infinity]) {
    const { scheduler } = world()
    every(5, () => {}, { scheduler, count })
    periodic(generate, { period: 5, scheduler, count })
  }
})

wrong('what is at the edge of a range is taken', () => {
  const { scheduler } = world()
  for (const ms of [0, -0, Number.MIN_VALUE, 1e300]) {
    after(ms, () => {}, { scheduler })
    sleep(ms)
    timeout(ms, sleep(1))
    every(1, () => {}, { scheduler, phase: ms })
  }
  for (const time of [-1e300, -0, 1e300]) {
    at(time, () => {}, { scheduler })
    until(time)
  }
  for (const period of [Number.MIN_VALUE, 1e300]) every(period, () => {}, { scheduler })
})

wrong('required parameters have no default', () => {
  /** @type {[string, any, any[], { wants: string }][]} */
  const calls = [
    ['ms', after, [], DURATION], ['work', after, [1], WORK], ['time', at, [], TIME], ['work', at, [1], WORK],
    ['period', every, [], INTERVAL], ['work', every, [1], WORK], ['ms', sleep, [], DURATION],
    ['time', until, [], TIME], ['ms', timeout, [], DURATION], ['awaited', timeout, [1], AWAITED],
    ['target', on, [], TARGET], ['type', on, [new EventTarget()], STRING],
    ['task', on, [new EventTarget(), 'ping'], WORK]
  ]
  for (const [parameter, call, args, { wants }] of calls) {
    assertRefusal(world(), () => call(...args), TypeError, `${parameter} must be ${wants}, got undefined`)
  }
})

wrong('timeout: a generator is nothing to wait for', () => {
  assertRefusal(world(), () => timeout(5, generate()), TypeError,
    `awaited must be a promise, a job or a waitable, got an object (${generate().constructor.name})`)
})

wrong('timeout: jobs, promises, thenables and waitables are', () => {
  const { scheduler } = world()
  for (const awaited of [
    scheduler.spawn(generate), Promise.resolve(), { then() {} }, sleep(1), timeout(1, sleep(1))
  ]) {
    assert.instance(timeout(5, awaited), seam.Waitable)
  }
})

wrong('frames: there must be some', () => {
  const { host, signal } = world()
  const scheduler = new Scheduler({ host: { ...host, frame: undefined } })
  const error = errorOf(() => frames(generate, { scheduler, signal }))
  assert.is(error.constructor, TypeError)
  assert.is(error.message, 'there are no animation frames here')
  assert.is(getEventListeners(signal, 'abort').length, 0)
})

wrong('on: a target must have both, what adds a listener and what removes it', () => {
  const listener = () => {}
  for (const target of [{ addEventListener: listener }, { removeEventListener: listener }]) {
    assertRefusal(world(), () => on(/** @type {any} */ (target), 'ping', generate), TypeError,
      'target must be an EventTarget, got an object (Object)')
  }
})

wrong('on: what the target throws comes out, and nothing is left', () => {
  const here = world()
  const target = { addEventListener: throws, removeEventListener() {} }
  assertRefusal(here, () => on(target, 'ping', generate, given(here)), Error, 'user code was run')
  // The listener that failed is not taken for one that is there.
  target.addEventListener = () => { target.added = true }
  on(target, 'ping', generate, given(here))
  assert.ok(target.added)
})

wrong('on: capacity is refused rather than ignored', () => {
  const here = world()
  const options = /** @type {any} */ ({ ...given(here), capacity: 2, period: 10 })
  const error = errorOf(() => on(here.target, 'ping', generate, options))
  assert.is(error.constructor, TypeError)
  assert.match(error.message, /^capacity /)
  assert.is(getEventListeners(here.target, 'ping').length, 0)
})

wrong('AsyncEvent.handle: the scheduler can be no other than the event\'s', () => {
  const here = world()
  const { scheduler } = world()
  const message = 'scheduler must be that of the event'
  assertRefusal(here, () => here.event.handle(generate, { scheduler }), TypeError, message)
  assertRefusal(here, () => here.event.handle(new Task(generate, { scheduler })), TypeError, message)
})

wrong('alarms are made by after, at and every only', () => {
  const make = () => new /** @type {any} */ (Alarm)()
  assertRefusal(world(), make, TypeError, 'alarms are made by after(), at() and every()')
})

wrong('nextPeriod: takes nothing, and does nothing until it is yielded', () => {
  const here = world()
  const before = here.traces()
  nextPeriod()
  assert.equal(here.traces(), before)
})

wrong.run()
