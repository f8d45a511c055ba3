import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, extend } from '../../rt.mjs'
import {
  Alarm, AsyncEvent, after, at, events, every, frames, nextPeriod, on, periodic, sleep, sporadic, timeout, until
} from '../../alarms.mjs'
import {
  COUNT, INTERVAL, JOB_OPTIONS, ON_OPTIONS, RELEASE_OPTIONS, TARGET, WORK, generate, given, oneOf, testCalls,
  world
} from '../support/alarm-calls.mjs'
import {
  BOOLEAN, DURATION, NOT_NEGATIVE, SCHEDULER, SIGNAL, STRING, assertRefusal, errorOf, isNumber, throws
} from '../support/refusals.mjs'
import { abortListeners } from '../support/world.mjs'

// An alarm with an infinite delay, or at an infinite time, never fires.
const DELAY = NOT_NEGATIVE
const WHEN = { wants: 'a number > -Infinity', takes: value => isNumber(value) && value > -Infinity, range: true }
const AWAITED = { wants: 'a promise, a job or a waitable', takes: value => value instanceof Promise }

const SIZE = {
  wants: 'an integer >= 0 or Infinity',
  takes: value => value === Infinity || Number.isSafeInteger(value) && value >= 0,
  range: true
}

const ALARM_OPTIONS = { ref: BOOLEAN, signal: SIGNAL }

testCalls({
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
      ...ALARM_OPTIONS, ...RELEASE_OPTIONS, period: INTERVAL, phase: DURATION, count: COUNT
    }
  },
  sporadic: {
    call: (here, { task = generate, options }) => {
      const { signal, ...rest } = given(here)
      return sporadic(task, options({ ...rest, interarrival: 5 }))
    },
    parameters: { task: WORK },
    options: { ...RELEASE_OPTIONS, interarrival: DURATION, late: oneOf('defer', 'drop') }
  },
  frames: {
    call: (here, { task = generate, options }) => frames(task, options(given(here))),
    parameters: { task: WORK },
    options: { ...RELEASE_OPTIONS, signal: SIGNAL }
  },
  on: {
    call: (here, own) => {
      const { target = here.target, type = 'ping', task = generate, options } = own
      return on('target' in own ? own.target : target, type, task, options(given(here)))
    },
    parameters: { target: TARGET, type: STRING, task: WORK },
    options: ON_OPTIONS
  },
  'on().noInterrupts': {
    call: ({ handling }, { options }) => handling.noInterrupts(options({ drop: true })),
    parameters: {},
    options: { drop: BOOLEAN }
  },
  'AsyncEvent.handle': {
    call: (here, { task = generate, options }) => {
      const { signal, ...rest } = given(here)
      return here.event.handle(task, options(rest))
    },
    parameters: { task: WORK },
    options: RELEASE_OPTIONS
  },
  events: {
    call: (here, own) => {
      const { target = here.target, type = 'ping', options } = own
      return events('target' in own ? own.target : target, type, options({ size: 5, signal: here.signal }))
    },
    parameters: { target: TARGET, type: STRING },
    options: { size: SIZE, overflow: oneOf('block', 'drop', 'slide'), signal: SIGNAL }
  },
  'events().receive': {
    call: ({ queue }, { options }) => queue.receive(options({})),
    parameters: {},
    options: { signal: SIGNAL }
  },
  sleep: {
    call: (here, { ms = 5, options }) => sleep(ms, options({ scheduler: here.scheduler })),
    parameters: { ms: DELAY },
    options: { scheduler: SCHEDULER, signal: SIGNAL }
  },
  until: {
    call: (here, { time = 5, options }) => until(time, options({ scheduler: here.scheduler })),
    parameters: { time: WHEN },
    options: { scheduler: SCHEDULER, signal: SIGNAL }
  },
  timeout: {
    call: (here, own) => timeout('ms' in own ? own.ms : 5, 'awaited' in own ? own.awaited : sleep(9),
      own.options({ scheduler: here.scheduler })),
    parameters: { ms: DELAY, awaited: AWAITED },
    options: { scheduler: SCHEDULER, signal: SIGNAL, cancel: BOOLEAN }
  },
  'new AsyncEvent': {
    call: (here, { options }) => new AsyncEvent(options({ scheduler: here.scheduler })),
    parameters: {},
    options: { scheduler: SCHEDULER }
  }
})

// ----------------------------------------------------------------------------------- checks of single calls

const wrong = suite('checks of single calls')

wrong('periodic() throws without a period in the options or the task', () => {
  const here = world()
  const message = 'period must be a finite number > 0, got'
  assertRefusal(here, () => periodic(generate), TypeError, `${message} undefined`)
  assertRefusal(here, () => periodic(new Task(generate)), RangeError, `${message} Infinity`)
})

wrong('sporadic() without options releases a job at each call', () => {
  const { scheduler } = world()
  const release = sporadic(generate, { scheduler })
  assert.equal([release(), release()].map(job => job?.state), ['ready', 'ready'])
})

wrong('count is a positive integer or Infinity', () => {
  for (const count of [1, 7, 2 ** 53 - 1, Infinity]) {
    const { scheduler } = world()
    every(5, () => {}, { scheduler, count })
    periodic(generate, { period: 5, scheduler, count })
  }
})

wrong('values at the edge of a range are accepted', () => {
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
    ['task', on, [new EventTarget(), 'ping'], WORK]
  ]
  for (const [parameter, call, args, { wants }] of calls) {
    assertRefusal(world(), () => call(...args), TypeError, `${parameter} must be ${wants}, got undefined`)
  }
})

wrong('timeout() rejects a generator', () => {
  assertRefusal(world(), () => timeout(5, generate()), TypeError,
    `awaited must be a promise, a job or a waitable, got an object (${generate().constructor.name})`)
})

wrong('timeout() accepts jobs, promises, thenables and waitables', () => {
  const { scheduler } = world()
  for (const awaited of [
    scheduler.spawn(generate), Promise.resolve(), { then() {} }, sleep(1), timeout(1, sleep(1))
  ]) {
    assert.instance(timeout(5, awaited), extend.Waitable)
  }
})

wrong('frames() throws on a host without animation frames', () => {
  const { host, signal } = world()
  const scheduler = new Scheduler({ host: { ...host, frame: undefined } })
  const error = errorOf(() => frames(generate, { scheduler, signal }))
  assert.is(error.constructor, TypeError)
  assert.is(error.message, 'there are no animation frames here')
  assert.is(abortListeners(signal), 0)
})

wrong('on() throws if the target cannot both add and remove listeners', () => {
  const listener = () => {}
  for (const target of [{ addEventListener: listener }, { removeEventListener: listener }]) {
    assertRefusal(world(), () => on(/** @type {any} */ (target), 'ping', generate), TypeError,
      'target must be an EventTarget, got an object (Object)')
  }
})

wrong('an error of addEventListener is thrown, and no handler is left', () => {
  const here = world()
  const target = { addEventListener: throws, removeEventListener() {} }
  assertRefusal(here, () => on(target, 'ping', generate, given(here)), Error, 'user code was run')
  // A failed addEventListener does not count as an active listener.
  target.addEventListener = () => { target.added = true }
  on(target, 'ping', generate, given(here))
  assert.ok(target.added)
})

wrong('on() rejects the options of interrupt()', () => {
  const { io } = world()
  const options = { capacity: 2, kind: 'sporadic', depleted: 'wait', io, bottomHalf: generate }
  for (const [name, value] of Object.entries(options)) {
    const here = world()
    const error = errorOf(() => on(here.target, 'ping', generate, { ...given(here), [name]: value }))
    assertRefusal(here, () => { throw error }, TypeError, error.message)
    assert.ok(error.message.startsWith(`unknown option '${name}'; known are `), error.message)
  }
})

wrong('AsyncEvent.handle() rejects a scheduler other than the event\'s', () => {
  const here = world()
  const { scheduler } = world()
  const message = 'scheduler must be the scheduler of the event'
  assertRefusal(here, () => here.event.handle(generate, { scheduler }), TypeError, message)
  assertRefusal(here, () => here.event.handle(new Task(generate, { scheduler })), TypeError, message)
})

wrong('new Alarm() throws', () => {
  const make = () => new /** @type {any} */ (Alarm)()
  assertRefusal(world(), make, TypeError, 'alarms are made by after(), at() and every()')
})

wrong('nextPeriod() has no effect until it is yielded', () => {
  const here = world()
  const before = here.traces()
  nextPeriod()
  assert.equal(here.traces(), before)
})

wrong.run()
