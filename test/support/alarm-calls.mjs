/** Checks the arguments of the calls of alarms.mjs and addons/reservations.mjs. */
import { getEventListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Task, extend } from '../../rt.mjs'
import { AsyncEvent, events, on } from '../../alarms.mjs'
import { IoReservation, Reservation, admit } from '../../addons/reservations.mjs'
import {
  BOOLEAN, FINITE, FUNCTION, MISS, NOT_NEGATIVE, NULL, OBJECT, POINTS, POSITIVE, RESERVATION,
  SCHEDULER, SIGNAL, STRING, UNREADABLE, USES, VALUES, assertKind as assertKindOn, assertRefusal, errorOf,
  isFunction, none, throws
} from './refusals.mjs'
import { abortListeners, hookOf, world as plainWorld } from './world.mjs'

// The kinds of parameters: the wanted value, the accepted values of VALUES, and whether numbers can be out of
// range.
export const INTERVAL = {
  wants: 'a finite number > 0', takes: value => Number.isFinite(value) && value > 0, range: true
}
export const COUNT = { wants: 'an integer >= 1 or Infinity', takes: value => value === Infinity, range: true }
export const WORK = { wants: 'a Task or a function', takes: isFunction }
export const TARGET = { wants: 'an EventTarget', takes: none }
export const oneOf = (...choices) => ({
  wants: choices.map(choice => `'${choice}'`).join(' or '), takes: none
})

// The options of released jobs with their kinds.
export const JOB_OPTIONS = {
  name: STRING,
  deadline: POSITIVE,
  priority: FINITE,
  wcet: NOT_NEGATIVE,
  budget: POINTS,
  miss: MISS,
  onMiss: FUNCTION,
  onOverrun: FUNCTION,
  reservation: RESERVATION,
  uses: USES,
  scheduler: SCHEDULER
}

/** The options of jobs that can overlap. */
export const RELEASE_OPTIONS = { ...JOB_OPTIONS, excess: oneOf('queue', 'skip', 'latest', 'restart') }

/** The options of `on` with their kinds. */
export const ON_OPTIONS = {
  ...RELEASE_OPTIONS, signal: SIGNAL, before: FUNCTION, once: BOOLEAN, passive: BOOLEAN, capture: BOOLEAN,
  size: COUNT
}

// --- the state that a rejected call must leave unchanged

export const generate = function* () {}

/** A scheduler, and all objects in which a call could leave traces. */
export function world() {
  const { host, scheduler } = plainWorld({ budget: 'auto' })
  const { signal } = new AbortController()
  const target = new EventTarget()
  const event = new AsyncEvent({ scheduler })
  const partner = { [extend.protocol]: { ...hookOf(scheduler), attach() {}, detach() {} } }
  const reservation = new Reservation({ capacity: 2, period: 10, scheduler })
  const io = new IoReservation({ utilization: 0.1, scheduler })
  const handling = on(target, 'pong', generate, { scheduler })
  const queue = events(target, 'pong')
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
  // A listener or a handler that a rejected call left behind would act on these events.
  const stir = () => {
    target.dispatchEvent(new Event('ping'))
    event.fire()
  }
  return { host, scheduler, signal, target, event, partner, reservation, io, handling, queue, traces, stir }
}

const OUR_VALUES = [...VALUES, NULL, ...UNREADABLE.slice(0, 2).map(([, value]) => ['an object', value])]

/** @type {(name: string, kind: any, act: (here: any, value: any) => void) => void} */
export const assertKind = (name, kind, act) => {
  assertKindOn(name, kind, act, { create: world, values: OUR_VALUES })
}

/** Valid values for all options, so that anything that is registered too early is visible. */
export const given = ({ scheduler, signal, partner }) => ({
  scheduler, signal, name: 'good', deadline: 10, priority: 1, wcet: 3, budget: 4, miss: 'abort',
  reservation: partner, uses: [partner]
})

export const same = options => options

/**
 * Tests each call: valid arguments are accepted, invalid arguments are rejected, and a rejected call leaves
 * no trace.
 *
 * @param {Record<string, { call(here: any, own: any): any, parameters: any, options: any }>} calls
 */
export function testCalls(calls) {
  for (const [name, { call, parameters, options }] of Object.entries(calls)) {
    const tests = suite(name)

    tests(`${name}: valid arguments are accepted`, () => {
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

    tests(`${name}: an option with an unknown name is rejected, with any value`, () => {
      for (const value of [5, undefined]) {
        const here = world()
        const error = errorOf(() => call(here, { options: given => ({ ...given, dedline: value }) }))
        assertRefusal(here, () => { throw error }, TypeError, error.message)
        assert.ok(error.message.startsWith("unknown option 'dedline'; known are "), error.message)
      }
    })

    tests(`${name}: the error of a getter in the options is thrown, and nothing is registered`, () => {
      for (const option of Object.keys(options)) {
        const here = world()
        assertRefusal(here, () => {
          call(here, { options: given => Object.defineProperty(given, option, { get: throws }) })
        }, Error, 'user code was run')
      }
    })

    tests(`${name}: options can lack a prototype, or inherit properties`, () => {
      for (const options of [
        given => Object.assign(Object.create(null), given),
        given => Object.create(given)
      ]) call(world(), { options })
    })

    tests.run()
  }

  const work = suite('work and signals')

  work('an async generator function is rejected as work', () => {
    async function* stream() {}
    for (const [name, { call, parameters }] of Object.entries(calls)) {
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

  work('a generator that has started is rejected as work, because it could run only once', () => {
    for (const { call, parameters } of Object.values(calls)) {
      const parameter = 'work' in parameters ? 'work' : 'task' in parameters ? 'task' : undefined
      if (parameter === undefined) continue
      const here = world()
      const error = errorOf(() => call(here, { [parameter]: generate(), options: same }))
      assert.instance(error, TypeError)
      assert.match(error.message, `${parameter} must be a Task or a function, got an object`)
    }
  })

  work('a task that has become invalid is rejected', () => {
    for (const { call, parameters } of Object.values(calls)) {
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

  work('an object that only resembles an AbortSignal is rejected', () => {
    const addEventListener = () => {}
    const removeEventListener = () => {}
    for (const [name, { call, options }] of Object.entries(calls)) {
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

  work.run()
}
