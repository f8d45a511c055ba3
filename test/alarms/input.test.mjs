import { getEventListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, fp, seam } from '../../rt.mjs'
import {
  Alarm, AsyncEvent, IoReservation, Reservation, admit, after, at, every, frames, loop, nextPeriod, on,
  periodic, sleep, sporadic, timeout, until, worstCaseDelay
} from '../../alarms.mjs'
import {
  BOOLEAN, DURATION, EXCESS, FINITE, FUNCTION, MISS, NOT_NEGATIVE, NULL, OBJECT, POINTS, POSITIVE, RESERVATION, SCHEDULER,
  SIGNAL, STRING, UNREADABLE, USES, VALUES, assertRefusal, errorOf, isFunction, isNumber, isObject, none, throws,
  assertKind as assertKindOn
} from '../support/refusals.mjs'
import { virtualHost } from '../support/virtual-host.mjs'
import { abortListeners, hookOf, world as plainWorld } from '../support/world.mjs'

// What a parameter wants, which of the values above it takes, and whether other numbers are out of its range.
const INTERVAL = { wants: 'a finite number > 0', takes: value => Number.isFinite(value) && value > 0, range: true }
// What is to happen after an infinite time, or at one, never happens.
const DELAY = NOT_NEGATIVE
const WHEN = { wants: 'a number > -Infinity', takes: value => isNumber(value) && value > -Infinity, range: true }
const COUNT = { wants: 'an integer >= 1 or Infinity', takes: value => value === Infinity, range: true }
const WORK = { wants: 'a Task or a function', takes: isFunction }
const TARGET = { wants: 'an EventTarget', takes: none }
const AWAITED = { wants: 'a promise, a job or a waitable', takes: value => value instanceof Promise }
const FRACTION = {
  wants: 'a number from 0 to 1', takes: value => isNumber(value) && value >= 0 && value <= 1, range: true
}
const SHARE = {
  wants: 'a number > 0 and <= 1', takes: value => isNumber(value) && value > 0 && value <= 1, range: true
}
const oneOf = (...choices) => ({ wants: choices.map(choice => `'${choice}'`).join(' or '), takes: none })
const KIND = oneOf('sporadic', 'deferrable', 'polling', 'constant-bandwidth')
const DEPLETED = oneOf('background', 'wait', 'postpone')

// What a task is released with; rt.mjs says what each wants.
const JOB_OPTIONS = {
  name: STRING,
  deadline: POSITIVE,
  priority: FINITE,
  wcet: NOT_NEGATIVE,
  budget: POINTS,
  miss: MISS,
  excess: EXCESS,
  onMiss: FUNCTION,
  onOverrun: FUNCTION,
  reservation: RESERVATION,
  uses: USES,
  scheduler: SCHEDULER
}

// --- what must be after a refusal as it was before

const generate = function* () {}

/** A scheduler, and everything in which a call could leave traces. */
function world() {
  const { host, scheduler } = plainWorld({ budget: 'auto', closed: true })
  const { signal } = new AbortController()
  const target = new EventTarget()
  const event = new AsyncEvent({ scheduler })
  const partner = { [seam.protocol]: hookOf(scheduler) }
  const reservation = new Reservation({ capacity: 2, period: 10, scheduler })
  const io = new IoReservation({ utilization: 0.1, scheduler })
  const handling = on(target, 'pong', generate, { scheduler })
  const traces = () => ({
    reservation: [reservation.capacity, reservation.period, reservation.priority, reservation.remaining],
    io: [io.utilization, io.isOn, io.drops],
    promised: admit([], { scheduler }).utilization,
    stats: scheduler.stats(),
    posts: host.posts,
    timers: host.timers,
    frames: host.frames,
    listeners: abortListeners(signal) + getEventListeners(target, 'ping').length
  })
  // Of an event that is listened to, or a handler that is left, something would be left.
  const stir = () => {
    target.dispatchEvent(new Event('ping'))
    event.fire()
  }
  return { host, scheduler, signal, target, event, partner, reservation, io, handling, traces, stir }
}

const OUR_VALUES = [...VALUES, NULL, ...UNREADABLE.slice(0, 2).map(([, value]) => ['an object', value])]

/** @type {(name: string, kind: any, act: (here: any, value: any) => void) => void} */
const assertKind = (name, kind, act) => assertKindOn(name, kind, act, { create: world, values: OUR_VALUES })

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
    parameters: { ms: DELAY, work: WORK },
    options: { ...ALARM_OPTIONS, ...JOB_OPTIONS }
  },
  at: {
    call: (here, { time = 5, work = generate, options }) => at(time, work, options(given(here))),
    parameters: { time: WHEN, work: WORK },
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
      ...ALARM_OPTIONS, ...JOB_OPTIONS, period: INTERVAL, phase: DURATION, count: COUNT
    }
  },
  sporadic: {
    call: (here, { task = generate, options }) => {
      const { signal, ...rest } = given(here)
      return sporadic(task, options({ ...rest, interarrival: 5 }))
    },
    parameters: { task: WORK },
    options: { ...JOB_OPTIONS, interarrival: INTERVAL, excess: oneOf('defer', 'drop', 'queue', 'skip', 'replace', 'abort') }
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
  'on with a reservation': {
    call: (here, { options }) => {
      const { reservation, ...rest } = given(here)
      return on(here.target, 'ping', generate, options({
        ...rest, capacity: 2, period: 10, kind: 'constant-bandwidth', depleted: 'postpone', io: here.io,
        bottomHalf: generate, size: 3
      }))
    },
    parameters: {},
    options: {
      capacity: DURATION, period: INTERVAL, kind: KIND, depleted: DEPLETED, priority: FINITE, name: STRING,
      io: { wants: 'an IoReservation', takes: none }, bottomHalf: FUNCTION, size: COUNT, scheduler: SCHEDULER
    }
  },
  loop: {
    call: (here, { body = generate, options }) => {
      const { reservation, ...rest } = given(here)
      return loop(body, options({
        ...rest, capacity: 2, period: 10, kind: 'constant-bandwidth', depleted: 'postpone'
      }))
    },
    parameters: { body: FUNCTION },
    options: (({ reservation, ...options }) => ({
      ...options, capacity: DURATION, period: INTERVAL, kind: KIND, depleted: DEPLETED, signal: SIGNAL
    }))(JOB_OPTIONS)
  },
  'new Reservation': {
    call: ({ scheduler }, { options }) => new Reservation(options({
      scheduler, name: 'good', capacity: 2, period: 10, kind: 'constant-bandwidth', depleted: 'postpone',
      priority: 1
    })),
    parameters: {},
    options: {
      name: STRING, capacity: DURATION, period: INTERVAL, kind: KIND, depleted: DEPLETED, priority: FINITE,
      scheduler: SCHEDULER
    }
  },
  'Reservation.resize': {
    call: ({ reservation }, { options }) => {
      return reservation.resize(options({ capacity: 3, period: 9, priority: 2 }))
    },
    parameters: {},
    options: { capacity: DURATION, period: INTERVAL, priority: FINITE }
  },
  'new IoReservation': {
    call: ({ scheduler }, { options }) => new IoReservation(options({
      scheduler, name: 'good', utilization: 0.2, depleted: 'background'
    })),
    parameters: {},
    options: {
      name: STRING, utilization: FRACTION, depleted: oneOf('background', 'wait'), scheduler: SCHEDULER
    }
  },
  'new IoReservation with a period of its own': {
    call: ({ scheduler }, { options }) => new IoReservation(options({ scheduler, capacity: 2, period: 10 })),
    parameters: {},
    options: { capacity: DURATION, period: INTERVAL, scheduler: SCHEDULER }
  },
  'IoReservation.resize': {
    call: ({ io }, { options }) => io.resize(options({ utilization: 0.2 })),
    parameters: {},
    options: { utilization: FRACTION }
  },
  'IoReservation.resize with a period of its own': {
    call: ({ io }, { options }) => io.resize(options({ capacity: 2, period: 10 })),
    parameters: {},
    options: { capacity: DURATION, period: INTERVAL }
  },
  'IoReservation.noInterrupts': {
    call: ({ io }, { options }) => io.noInterrupts(options({ drop: true })),
    parameters: {},
    options: { drop: BOOLEAN }
  },
  'on().noInterrupts': {
    call: ({ handling }, { options }) => handling.noInterrupts(options({ drop: true })),
    parameters: {},
    options: { drop: BOOLEAN }
  },
  admit: {
    call: ({ scheduler }, { set = [{ wcet: 1, period: 10 }], options }) => {
      return admit(set, options({ scheduler, share: 0.9 }))
    },
    parameters: { set: { wants: 'reservations or tasks', takes: isObject } },
    options: { share: SHARE, scheduler: SCHEDULER }
  },
  worstCaseDelay: {
    call: (here, { options }) => worstCaseDelay(options({
      handler: { capacity: 3, period: 10 }, io: { capacity: 2, period: 10 }, bottomHalf: 2
    })),
    parameters: {},
    options: {
      handler: { wants: 'a reservation', takes: isObject },
      io: { wants: 'an I/O reservation', takes: isObject },
      bottomHalf: DURATION
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
    parameters: { ms: DELAY },
    options: { scheduler: SCHEDULER }
  },
  until: {
    call: (here, { time = 5, options }) => until(time, options({ scheduler: here.scheduler })),
    parameters: { time: WHEN },
    options: { scheduler: SCHEDULER }
  },
  timeout: {
    call: (here, own) => timeout('ms' in own ? own.ms : 5, 'awaited' in own ? own.awaited : sleep(9),
      own.options({ scheduler: here.scheduler })),
    parameters: { ms: DELAY, awaited: AWAITED },
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
    const required = ['scheduler', 'period', 'interarrival', 'capacity', 'utilization', 'handler']
    const names = Object.keys(options).filter(option => !required.includes(option))
    const undefineds = Object.fromEntries(names.map(option => [option, undefined]))
    call(world(), { options: given => ({ ...given, ...undefineds }) })
  })

  tests(`${name}: an option of an unknown name is refused, whatever its value`, () => {
    for (const value of [5, undefined]) {
      const here = world()
      const hint = 'deadline' in options ? "; did you mean 'deadline'?" : ''
      const error = errorOf(() => call(here, { options: given => ({ ...given, dedline: value }) }))
      assertRefusal(here, () => { throw error }, TypeError, error.message)
      assert.ok(error.message.startsWith(`unknown option 'dedline'${hint}`), error.message)
    }
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
    ['ms', after, [], DELAY], ['work', after, [1], WORK], ['time', at, [], WHEN], ['work', at, [1], WORK],
    ['period', every, [], INTERVAL], ['work', every, [1], WORK], ['ms', sleep, [], DELAY],
    ['time', until, [], WHEN], ['ms', timeout, [], DELAY], ['awaited', timeout, [1], AWAITED],
    ['target', on, [], TARGET], ['type', on, [new EventTarget()], STRING],
    ['task', on, [new EventTarget(), 'ping'], WORK], ['body', loop, [], FUNCTION],
    ['set', admit, [], { wants: 'reservations or tasks' }], ['options', worstCaseDelay, [], OBJECT],
    ['handler', worstCaseDelay, [{}], { wants: 'a reservation' }]
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
  assert.is(abortListeners(signal), 0)
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

wrong('on: what belongs to a reservation needs one, and only one', () => {
  const here = world()
  const { partner, io } = here
  const { reservation, ...rest } = given(here)
  const act = more => () => on(here.target, 'ping', generate, /** @type {any} */ ({ ...rest, ...more }))
  assertRefusal(here, act({ capacity: 2, period: 10, reservation: partner }), TypeError,
    'reservation is made by on(), of capacity and period')
  assertRefusal(here, act({ bottomHalf: generate, capacity: 2, period: 10 }), TypeError,
    'bottomHalf needs an io, which does it')
  for (const more of [{}, { reservation: partner }]) {
    assertRefusal(here, act({ io, ...more }), TypeError,
      'io takes its standing from the handler, which needs a capacity and a period')
  }
  assertRefusal(here, act({ io: world().io, capacity: 2, period: 10 }), TypeError,
    'io must be of the scheduler of the handler')
  assertRefusal(here, act({ capacity: 2 }), TypeError, 'period must be a finite number > 0, got undefined')
  assertRefusal(here, act({ capacity: 11, period: 10 }), RangeError,
    'capacity must not exceed the period of 10 ms, got 11')
})

wrong('loop: the reservation is its own, the body no async generator', () => {
  const here = world()
  const { partner, scheduler } = here
  const options = /** @type {any} */ ({ capacity: 2, period: 10, scheduler })
  assertRefusal(here, () => loop(generate, { ...options, reservation: partner }), TypeError,
    'reservation is made by loop(), of capacity and period')
  assertRefusal(here, () => loop(async function* stream() {}, options), TypeError,
    'body must be a generator function, not an async one, got function stream')
})

wrong('reservations: capacity and period, or utilization, are required', () => {
  const here = world()
  const { scheduler } = here
  const act = (more = {}) => () => new Reservation(/** @type {any} */ ({ scheduler, ...more }))
  assertRefusal(here, act(), TypeError, 'capacity must be a finite number >= 0, got undefined')
  assertRefusal(here, act({ capacity: 2 }), TypeError, 'period must be a finite number > 0, got undefined')
  assertRefusal(here, () => new IoReservation(/** @type {any} */ ({ scheduler })), TypeError,
    'utilization must be a number from 0 to 1, got undefined')
  assertRefusal(here, () => here.io.resize(/** @type {any} */ ({})), TypeError,
    'utilization must be a number from 0 to 1, got undefined')
  assertRefusal(here, () => here.io.resize({ utilization: 0.1, capacity: 1, period: 10 }), TypeError,
    'utilization must not be given beside capacity and period')
  for (const call of [Reservation, IoReservation]) {
    assertRefusal(here, () => new /** @type {any} */ (call)(), TypeError,
      'options must be an object, got undefined')
  }
  assertRefusal(here, () => loop(generate, /** @type {any} */ (undefined)), TypeError,
    'options must be an object, got undefined')
})

wrong('reservations: a period of the wrong kind is named, also where the priority follows from it', () => {
  /** @type {[any, (here: any, period: any) => void][]} */
  const acts = [
    [INTERVAL, ({ scheduler }, period) => new Reservation({ capacity: 0, period, scheduler })],
    [INTERVAL, ({ reservation }, period) => reservation.resize({ capacity: 0, period })],
    [INTERVAL, ({ scheduler }, period) => loop(generate, { capacity: 0, period, scheduler })],
    [INTERVAL, ({ scheduler, target }, period) => {
      on(target, 'ping', generate, { capacity: 0, period, scheduler })
    }],
    [INTERVAL, (here, period) => worstCaseDelay({ handler: { capacity: 0, period } })]
  ]
  for (const [kind, act] of acts) assertKind('period', kind, act)
})

wrong('reservations: capacity is at most the period', () => {
  const here = world()
  const { scheduler, reservation } = here
  assertRefusal(here, () => new Reservation({ capacity: 10.1, period: 10, scheduler }), RangeError,
    'capacity must not exceed the period of 10 ms, got 10.1')
  assertRefusal(here, () => reservation.resize({ capacity: 10.1 }), RangeError,
    'capacity must not exceed the period of 10 ms, got 10.1')
  assertRefusal(here, () => reservation.resize({ period: 1 }), RangeError,
    'capacity must not exceed the period of 1 ms, got 2')
  assertRefusal(here, () => loop(generate, { capacity: 3, period: 2, scheduler }), RangeError,
    'capacity must not exceed the period of 2 ms, got 3')
  const handler = { capacity: 3, period: 10 }
  assertRefusal(here, () => worstCaseDelay({ handler: { capacity: 11, period: 10 } }), RangeError,
    'capacity must not exceed the period of 10 ms, got 11')
  assertRefusal(here, () => worstCaseDelay({ handler, io: { capacity: 11, period: 10 } }), RangeError,
    'capacity must not exceed the period of 10 ms, got 11')
  assertRefusal(here, () => worstCaseDelay({ handler, io: { utilization: 2 } }), RangeError,
    'utilization must be a number from 0 to 1, got 2')
})

wrong('reservations: postponing is for a constant bandwidth', () => {
  const scheduler = new Scheduler({ host: virtualHost(), policy: fp })
  const error = errorOf(() => new Reservation({ capacity: 1, period: 10, depleted: 'postpone', scheduler }))
  assert.is(error.constructor, TypeError)
  assert.is(error.message, `depleted must be 'background' or 'wait', got "postpone"`)
})

wrong('reservations: what only looks like one is none', () => {
  const here = world()
  const { scheduler, partner, io, reservation } = here
  /** @type {[string, any][]} */
  const others = [
    ['an object (Object)', partner], ['an object (IoReservation)', io], ['undefined', undefined]
  ]
  for (const [shown, main] of others) {
    assertRefusal(here, () => io.for(main), TypeError, `main must be a Reservation, got ${shown}`)
  }
  assertRefusal(here, () => io.for(world().reservation), TypeError,
    'main must be of the scheduler of I/O reservation')
  assert.is(typeof io.for(reservation), 'object')
  for (const value of [{}, 5, null, generate]) {
    const error = errorOf(() => scheduler.spawn(generate, { reservation: /** @type {any} */ (value) }))
    assert.instance(error, TypeError)
    assert.match(error.message, /^reservation must be a Reservation, got /)
  }
})

wrong('on: what belongs to a reservation is refused without one', () => {
  for (const option of [{ kind: 'sporadic' }, { depleted: 'wait' }]) {
    const here = world()
    assertRefusal(here, () => on(here.target, 'ping', generate, /** @type {any} */ ({ ...given(here), ...option })),
      TypeError, 'kind and depleted are those of a reservation, which needs a capacity and a period')
  }
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
