/** Tests that reservations, `interrupt`, `loop`, `admit` and `worstCaseDelay` reject invalid arguments. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, fp } from '../../../rt.mjs'
import * as schedulability from '../../../addons/schedulable.mjs'
import {
  AdmissionError, IoReservation, Reservation, admit, interrupt, loop, worstCaseDelay
} from '../../../addons/reservations.mjs'
import {
  COUNT, INTERVAL, JOB_OPTIONS, ON_OPTIONS, TARGET, WORK, assertKind, generate, given, oneOf, testCalls, world
} from '../../support/alarm-calls.mjs'
import {
  BOOLEAN, DURATION, FINITE, FUNCTION, OBJECT, SCHEDULER, SIGNAL, STRING, assertRefusal, errorOf, isNumber,
  isObject, none
} from '../../support/refusals.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const FRACTION = {
  wants: 'a number from 0 to 1', takes: value => isNumber(value) && value >= 0 && value <= 1, range: true
}
const SHARE = {
  wants: 'a number > 0 and <= 1', takes: value => isNumber(value) && value > 0 && value <= 1, range: true
}
const KIND = oneOf('sporadic', 'deferrable', 'polling', 'constant-bandwidth')
const DEPLETED = oneOf('background', 'wait', 'postpone')

testCalls({
  interrupt: {
    call: (here, own) => {
      const { target = here.target, type = 'ping', task = generate, options } = own
      return interrupt('target' in own ? own.target : target, type, task, options(given(here)))
    },
    parameters: { target: TARGET, type: STRING, task: WORK },
    options: ON_OPTIONS
  },
  'interrupt with a reservation': {
    call: (here, { options }) => {
      const { reservation, ...rest } = given(here)
      return interrupt(here.target, 'ping', generate, options({
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
  }
})

// -------------------------------------------------------------------------------- checks of single calls

const wrong = suite('checks of single calls')

wrong('interrupt rejects options that need a reservation, and a second reservation', () => {
  const here = world()
  const { partner, io } = here
  const { reservation, ...rest } = given(here)
  const act = more => () => interrupt(here.target, 'ping', generate, { ...rest, ...more })
  assertRefusal(here, act({ capacity: 2, period: 10, reservation: partner }), TypeError,
    'reservation is made by interrupt(), of capacity and period')
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

wrong('missing required parameters of interrupt, loop, admit and worstCaseDelay throw', () => {
  /** @type {[string, any, any[], { wants: string }][]} */
  const calls = [
    ['target', interrupt, [], TARGET], ['type', interrupt, [new EventTarget()], STRING],
    ['task', interrupt, [new EventTarget(), 'ping'], WORK], ['body', loop, [], FUNCTION],
    ['set', admit, [], { wants: 'reservations or tasks' }], ['options', worstCaseDelay, [], OBJECT],
    ['handler', worstCaseDelay, [{}], { wants: 'a reservation' }]
  ]
  for (const [parameter, call, args, { wants }] of calls) {
    assertRefusal(world(), () => call(...args), TypeError, `${parameter} must be ${wants}, got undefined`)
  }
})

wrong('reservations.mjs exports the AdmissionError of schedulable.mjs', () => {
  assert.is(AdmissionError, schedulability.AdmissionError)
})

wrong('loop rejects the option reservation and an async generator function as body', () => {
  const here = world()
  const { partner, scheduler } = here
  const options = /** @type {any} */ ({ capacity: 2, period: 10, scheduler })
  assertRefusal(here, () => loop(generate, { ...options, reservation: partner }), TypeError,
    'reservation is made by loop(), of capacity and period')
  assertRefusal(here, () => loop(async function* stream() {}, options), TypeError,
    'body must be a generator function, not an async one, got function stream')
})

wrong('reservations require a capacity and a period, or a utilization', () => {
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

wrong('an invalid period is named in the error, also without an explicit priority', () => {
  /** @type {[any, (here: any, period: any) => void][]} */
  const acts = [
    [INTERVAL, ({ scheduler }, period) => new Reservation({ capacity: 0, period, scheduler })],
    [INTERVAL, ({ reservation }, period) => reservation.resize({ capacity: 0, period })],
    [INTERVAL, ({ scheduler }, period) => loop(generate, { capacity: 0, period, scheduler })],
    [INTERVAL, ({ scheduler, target }, period) => {
      interrupt(target, 'ping', generate, { capacity: 0, period, scheduler })
    }],
    [INTERVAL, (here, period) => worstCaseDelay({ handler: { capacity: 0, period } })]
  ]
  for (const [kind, act] of acts) assertKind('period', kind, act)
})

wrong('a capacity above the period throws a RangeError', () => {
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

wrong('`depleted: \'postpone\'` throws under fp', () => {
  const scheduler = new Scheduler({ host: virtualHost(), policy: fp })
  const error = errorOf(() => new Reservation({ capacity: 1, period: 10, depleted: 'postpone', scheduler }))
  assert.is(error.constructor, TypeError)
  assert.is(error.message, `depleted must be 'background' or 'wait', got "postpone"`)
})

wrong('an object that only resembles a Reservation is rejected', () => {
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

wrong('interrupt rejects kind and depleted without a capacity', () => {
  for (const option of [{ kind: 'sporadic' }, { depleted: 'wait' }]) {
    const here = world()
    const act = () => interrupt(here.target, 'ping', generate, { ...given(here), ...option })
    assertRefusal(here, act, TypeError,
      'kind and depleted are those of a reservation, which needs a capacity and a period')
  }
})

wrong.run()
