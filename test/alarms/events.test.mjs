import { Window } from 'happy-dom'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, defaultHost, edf, fp, rm } from '../../rt.mjs'
import { AsyncEvent, at, on, sleep } from '../../alarms.mjs'
import { reportDeadlocks } from '../../addons/deadlock.mjs'
import { Reservation } from '../../addons/reservations.mjs'
import { Channel } from '../../sync.mjs'
import { seeded } from '../support/seeded.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, microtasks } from '../support/virtual-host.mjs'
import { abortListeners, exactWorld } from '../support/world.mjs'

/** A scheduler that reads its clock at every point and does not rotate, unless the options say otherwise. */
const world = (/** @type {any} */ options = {}) => exactWorld({ except: ['round', 'alarm'], ...options })

const window = new Window()
const { document } = window

/** Creates a button in a form in the page. */
function page() {
  document.body.innerHTML = '<form><button type="button">press</button></form>'
  return {
    form: /** @type {any} */ (document.querySelector('form')),
    button: /** @type {any} */ (document.querySelector('button'))
  }
}

/** Creates an event of the page with the time stamp `time`. */
function event(type, time, options = {}) {
  const made = new window.Event(type, { bubbles: true, cancelable: true, ...options })
  if (time !== undefined) Object.defineProperty(made, 'timeStamp', { value: time })
  return /** @type {any} */ (made)
}

/** Records the calls of an event target, in order. */
function watched(target) {
  const calls = []
  for (const name of ['addEventListener', 'removeEventListener']) {
    const original = target[name]
    target[name] = (type, listener, options) => {
      calls.push([name, type, options])
      return original.call(target, type, listener, options)
    }
  }
  return calls
}

/** Clicks at 0, 1, 2 and 3 ms. Each click is handled for 4 ms. */
function clicks(options) {
  const made = world({ slice: Infinity })
  const { host, scheduler } = made
  const { button } = page()
  const handling = on(button, 'click', () => execute(host, 4), { scheduler, ...options })
  for (const time of [0, 1, 2, 3]) at(time, () => button.dispatchEvent(event('click')), { scheduler })
  host.run()
  return { ...made, handling }
}

// -------------------------------------------------------------------------------------- jobs for events

const handling = suite('on')

handling('an event releases a job with the event as its argument', () => {
  const { host, scheduler, trace, log } = world()
  const { button } = page()
  on(button, 'click', function* clicked(event) {
    log.push([event.type, event.target === button])
    yield* execute(host, 2)
  }, { scheduler })
  button.dispatchEvent(event('click'))
  assert.equal(log, [])
  host.run()
  assertTrace(trace, `
    0 release clicked, start clicked
    2 finish clicked
  `)
  assert.equal(log, [['click', true]])
  button.dispatchEvent(event('input'))
  host.run()
  assert.is(scheduler.stats().jobs, 1)
})

handling('the release is the time of the event, so the deadline includes its queueing', () => {
  const { host, scheduler, log } = world({ onMiss: ({ name }) => { log.push([name, 'missed']) } })
  const { button } = page()
  on(button, 'click', function* ({ timeStamp }) {
    const { release, absoluteDeadline, started } = scheduler.current
    log.push([timeStamp, release, absoluteDeadline, started])
  }, { scheduler, deadline: 20, name: 'click' })
  host.advance(50)
  button.dispatchEvent(event('click', 40))
  button.dispatchEvent(event('click', 50))
  button.dispatchEvent(event('click', 12.5))
  host.run()
  assert.equal(log, [['click', 'missed'], [40, 40, 60, 50], [50, 50, 70, 50], [12.5, 12.5, 32.5, 50]])
})

handling('a time stamp that counts from the epoch is converted to the clock of the host', () => {
  const { host, log } = world({ host: { start: 1000 } })
  const { button } = page()
  const { eventTime } = defaultHost()
  const scheduler = new Scheduler({ host: { ...host, eventTime } })
  on(button, 'click', function* () { log.push(Math.round(scheduler.current.release)) }, { scheduler })
  button.dispatchEvent(event('click', performance.timeOrigin + 700))
  button.dispatchEvent(event('click', 800))
  host.run()
  assert.equal(log, [700, 800])
})

handling('without host.eventTime the time stamp is the release', () => {
  const { host, log } = world({ host: { start: 1000 } })
  const { button } = page()
  const scheduler = new Scheduler({ host: { ...host, eventTime: undefined } })
  on(button, 'click', function* () { log.push(scheduler.current.release) }, { scheduler })
  button.dispatchEvent(event('click', 700))
  host.run()
  assert.equal(log, [700])
})

handling('an invalid or future time stamp is replaced by the current time', () => {
  const { host, scheduler, log } = world({ host: { start: 100 } })
  const { button } = page()
  on(button, 'click', function* () { log.push(scheduler.current.release) }, { scheduler })
  for (const time of [0, 100.5, NaN, null, -3]) button.dispatchEvent(event('click', time))
  host.run()
  assert.equal(log, [100, 100, 100, 100, 100])
})

handling('events of a real page have times on the clock of the default host', async () => {
  const scheduler = new Scheduler()
  const { button } = page()
  const before = performance.now()
  const released = new Promise(resolve => {
    on(button, 'click', function* () { resolve(scheduler.current.release) }, { scheduler, once: true })
  })
  button.dispatchEvent(event('click'))
  const release = await released
  assert.ok(release >= before && release <= performance.now())
})

handling('jobs of several handlers run in the order of the policy', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  for (const priority of [1, 3, 2, 3]) {
    on(button, 'click', function* () { log.push(priority) }, { scheduler, priority })
  }
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, [3, 3, 2, 1])
})

handling('an event between two rounds preempts jobs of lower rank', () => {
  const { host, scheduler, trace } = world({ round: 5 })
  const { button } = page()
  on(button, 'click', function* click() { yield* execute(host, 2) }, { scheduler, priority: 1 })
  scheduler.spawn(execute(host, 9), { name: 'long' })
  host.after(3, () => { button.dispatchEvent(event('click', 3)) }, {})
  host.run()
  assertTrace(trace, `
    0 release long, start long
    5 release click, preempt long by=click, start click
    7 finish click, resume long
    11 finish long
  `)
})

handling('latest: the newest event replaces a waiting event', () => {
  const { trace, handling } = clicks({ excess: 'latest' })
  assertTrace(trace, `
    0 release job 1, start job 1
    1 release job 2, block job 2 on=Turn
    2 cancel job 2 error=AbortError, release job 3, block job 3 on=Turn
    3 cancel job 3 error=AbortError, release job 4, block job 4 on=Turn
    4 finish job 1, wake job 4, start job 4
    8 finish job 4
  `)
  assert.equal([handling.waiting, handling.dropped], [0, 2])
})

handling('skip loses events while a job runs, restart cancels the job, queue runs all', () => {
  const ends = excess => {
    const { trace, handling } = clicks({ excess })
    return [handling.dropped, ...trace.records.filter(({ type }) => type === 'finish').map(({ time }) => time)]
  }
  assert.equal(ends('skip'), [3, 4])
  assert.equal(ends('restart'), [0, 7])
  assert.equal(ends('queue'), [0, 4, 8, 12, 16])
})

handling('async handlers receive only the event, and a task is the this of its run', async () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  on(button, 'click', async (...args) => {
    log.push(['async', scheduler.current !== null, args.length, args[0].type])
  }, { scheduler })
  class Click extends Task {
    *run(event) { log.push(['task', scheduler.current.task === this, event.type]) }
  }
  on(button, 'click', new Click({ deadline: 5 }), { scheduler })
  on(button, 'click', event => { log.push(['function', event.type]) }, { scheduler })
  button.dispatchEvent(event('click'))
  await host.drain()
  assert.equal(log, [['async', true, 1, 'click'], ['task', true, 'click'], ['function', 'click']])
})

handling('a job that fails is reported and affects no other handler', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  on(button, 'click', function* () { throw new Error('failed') }, { scheduler })
  on(button, 'click', function* () { log.push('other') }, { scheduler })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal([host.errors.map(String), log], [['Error: failed'], ['other']])
})

handling('while the scheduler is paused, events wait and keep their times', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  on(button, 'click', function* () { log.push([scheduler.current.release, host.time]) }, { scheduler })
  scheduler.pause()
  host.advance(10)
  button.dispatchEvent(event('click', 8))
  host.run({ until: 30 })
  assert.equal(log, [])
  scheduler.resume()
  host.run()
  assert.equal(log, [[8, 30]])
})

handling('every object with event listeners is accepted as a target', async () => {
  const { host, scheduler, log } = world()
  const { port1, port2 } = new MessageChannel()
  const node = new EventTarget()
  const { signal } = new AbortController()
  const handlers = [
    [node, 'ping'], [window, 'resize'], [document, 'ping'], [signal, 'abort'], [port1, 'message']
  ].map(([target, type]) => on(target, type, function* ({ type }) { log.push(type) }, { scheduler }))
  node.dispatchEvent(new Event('ping'))
  window.dispatchEvent(event('resize'))
  document.dispatchEvent(event('ping'))
  signal.dispatchEvent(new Event('abort'))
  host.run()
  assert.equal(log, ['ping', 'resize', 'ping', 'abort'])
  assert.equal(handlers.map(handler => handler.cancel()), Array(5).fill(true))
  port2.close()
})

handling.run()

// ------------------------------------------------------------------------------------------------- before

const before = suite('before')

before('before() runs in the listener, so preventDefault has an effect', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  on(button, 'click', function* ({ defaultPrevented }) { log.push(['job', defaultPrevented]) }, {
    scheduler,
    before(event) {
      log.push(['before', event.defaultPrevented, scheduler.current])
      event.preventDefault()
    }
  })
  assert.is(button.dispatchEvent(event('click')), false)
  assert.equal(log, [['before', false, null]])
  host.run()
  assert.equal(log, [['before', false, null], ['job', true]])
})

before('the result of before() replaces the event, unless it is undefined', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const clicked = event('click')
  for (const value of ['picked', 0, null, false, '', undefined, clicked]) {
    on(button, 'click', function* (argument) {
      log.push([value, argument === (value ?? argument), argument === clicked])
    }, { scheduler, once: true, before: () => value })
  }
  button.dispatchEvent(clicked)
  host.run()
  assert.equal(log, [
    ['picked', true, false], [0, true, false], [null, true, false], [false, true, false], ['', true, false],
    [undefined, true, true], [clicked, true, true]
  ])
})

before('before() can read currentTarget and pick values for the job', () => {
  const { host, scheduler, log } = world()
  const { form, button } = page()
  on(form, 'click', function* (argument) { log.push(argument) }, {
    scheduler, before: ({ currentTarget, target }) => [currentTarget === form, target === button]
  })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, [[true, true]])
})

before('an error of before() is reported and releases no job of its handler', () => {
  const { host, scheduler, log } = world({ onError: (error, job) => { log.push([error.message, job]) } })
  const { button } = page()
  on(button, 'click', function* () { log.push('job') }, { scheduler, before() { throw new Error('thrown') } })
  on(button, 'click', function* () { log.push('other') }, { scheduler })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, [['thrown', null], 'other'])
})

before('a before() that outlasts a slice is reported as a stall with its name', () => {
  const told = []
  const { host, scheduler } = world({ slice: 1, onStall: ({ name }, ms) => { told.push(`${name} ${ms}`) } })
  const { button } = page()
  const slow = () => host.advance(3)
  on(button, 'click', () => {}, { scheduler, before: slow })
  on(button, 'click', () => {}, { scheduler, before() { host.advance(2) } })
  button.dispatchEvent(event('click'))
  assert.equal(told, ['before click slow 3', 'before click 2'])
})

before('the time of before() inside an alarm is charged once', () => {
  const { host, scheduler } = world()
  const { button } = page()
  on(button, 'click', () => {}, { scheduler, before: () => host.advance(2) })
  at(1, () => button.dispatchEvent(event('click')), { scheduler })
  host.run()
  const { busy, overhead } = scheduler.stats()
  assert.equal([busy, overhead], [2, 0])
})

before('a task that has become invalid is reported and affects no other handler', () => {
  const { host, scheduler, log } = world({ onError: error => { log.push(error.message) } })
  const { button } = page()
  const task = new Task(function* () { log.push('task') })
  on(button, 'click', task, { scheduler })
  on(button, 'click', function* () { log.push('other') }, { scheduler })
  task.deadline = 0
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['deadline must be a number > 0, got 0', 'other'])
})

before.run()

// -------------------------------------------------------------------------------- listeners and options

const listening = suite('listeners')

listening('handlers of one target and type share a listener, removed with the last handler', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const calls = watched(button)
  const handlers = [1, 2, 3].map(name => on(button, 'click', function* () { log.push(name) }, { scheduler }))
  assert.equal(calls, [['addEventListener', 'click', { capture: false }]])
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, [1, 2, 3])
  handlers[0].cancel()
  handlers[2].cancel()
  assert.is(calls.length, 1)
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, [1, 2, 3, 2])
  handlers[1].cancel()
  assert.equal(calls.slice(1), [['removeEventListener', 'click', { capture: false }]])
  button.dispatchEvent(event('click'))
  host.run()
  assert.is(log.length, 4)
  on(button, 'click', function* () { log.push('again') }, { scheduler })
  assert.is(calls.length, 3)
  button.dispatchEvent(event('click'))
  host.run()
  assert.is(log.at(-1), 'again')
})

listening('handlers that differ in target, type, capture or passive share no listener', () => {
  const { scheduler } = world()
  const { button, form } = page()
  const calls = watched(button)
  const others = watched(form)
  const add = (type, options) => on(button, type, function* () {}, { scheduler, ...options })
  for (const options of [
    {}, { passive: true }, { passive: false }, { capture: true }, { capture: true, passive: true }
  ]) {
    add('click', options)
    add('click', options)
  }
  add('input')
  on(form, 'click', function* () {}, { scheduler })
  assert.equal(calls.map(([, type, options]) => [type, options]), [
    ['click', { capture: false }], ['click', { capture: false, passive: true }],
    ['click', { capture: false, passive: false }], ['click', { capture: true }],
    ['click', { capture: true, passive: true }], ['input', { capture: false }]
  ])
  assert.equal(others, [['addEventListener', 'click', { capture: false }]])
})

listening('handlers of several schedulers share one listener', () => {
  const first = world()
  const second = world()
  const { button } = page()
  const calls = watched(button)
  for (const { scheduler, log } of [first, second]) {
    on(button, 'click', function* () { log.push('ran') }, { scheduler })
  }
  button.dispatchEvent(event('click'))
  first.host.run()
  assert.equal([first.log, second.log], [['ran'], []])
  second.host.run()
  assert.equal([second.log, calls.length], [['ran'], 1])
})

listening('capturing handlers run before bubbling handlers', () => {
  const { host, scheduler, log } = world()
  const { form, button } = page()
  const note = name => ({ scheduler, before: () => { log.push(name) } })
  on(form, 'click', function* () {}, note('bubbling'))
  on(button, 'click', function* () {}, note('target'))
  on(form, 'click', function* () {}, { ...note('capture'), capture: true })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['capture', 'target', 'bubbling'])
})

listening('a passive handler cannot prevent the default action', () => {
  const { host, scheduler } = world()
  const { button } = page()
  const prevent = event => { event.preventDefault() }
  on(button, 'wheel', function* () {}, { scheduler, passive: true, before: prevent })
  assert.is(button.dispatchEvent(event('wheel')), true)
  on(button, 'wheel', function* () {}, { scheduler, passive: false, before: prevent })
  assert.is(button.dispatchEvent(event('wheel')), false)
  host.run()
})

listening('a handler with once: true gets only the first of nested events', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const handler = on(button, 'click', function* () { log.push('job') }, {
    scheduler, once: true,
    before() {
      log.push('before')
      if (log.length < 5) button.dispatchEvent(event('click'))
    }
  })
  on(button, 'click', function* () { log.push('always') }, { scheduler })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['before', 'always', 'job', 'always'])
  assert.is(handler.cancel(), false)
})

listening('cancel() returns whether the handler was active, and released jobs still run', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const handler = on(button, 'click', function* () { log.push('ran') }, { scheduler })
  button.dispatchEvent(event('click'))
  assert.is(handler.cancel(), true)
  assert.is(handler.cancel(), false)
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['ran'])
})

listening('a handler cancelled during the dispatch does not get the event', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const note = name => function* () { log.push(name) }
  on(button, 'click', note('first'), { scheduler, before() { second.cancel() } })
  const second = on(button, 'click', note('second'), { scheduler })
  on(button, 'click', note('third'), { scheduler })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['first', 'third'])
})

listening('a handler that cancels itself and the last other handler removes the listener', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const calls = watched(button)
  const first = on(button, 'click', function* () { log.push('first') }, {
    scheduler,
    before() {
      first.cancel()
      second.cancel()
    }
  })
  const second = on(button, 'click', function* () { log.push('second') }, { scheduler })
  button.dispatchEvent(event('click'))
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['first'])
  assert.equal(calls.map(([name]) => name), ['addEventListener', 'removeEventListener'])
})

listening('a handler added during the dispatch gets the next event', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  on(button, 'click', function* () { log.push('first') }, {
    scheduler, once: true,
    before() { on(button, 'click', function* () { log.push('added') }, { scheduler }) }
  })
  on(button, 'click', function* () { log.push('second') }, { scheduler })
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['first', 'second'])
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['first', 'second', 'second', 'added'])
})

listening('a function can be registered twice', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const work = function* () { log.push('ran') }
  const [first] = [on(button, 'click', work, { scheduler }), on(button, 'click', work, { scheduler })]
  button.dispatchEvent(event('click'))
  first.cancel()
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['ran', 'ran', 'ran'])
})

listening('aborting the signal cancels the handler and removes all listeners', () => {
  const { host, scheduler, log } = world()
  const { button } = page()
  const calls = watched(button)
  const controller = new AbortController()
  const { signal } = controller
  const handler = on(button, 'click', function* () { log.push('ran') }, { scheduler, signal })
  button.dispatchEvent(event('click'))
  controller.abort()
  button.dispatchEvent(event('click'))
  host.run()
  assert.equal(log, ['ran'])
  assert.is(handler.cancel(), false)
  assert.is(abortListeners(controller.signal), 0)
  assert.equal(calls.map(([name]) => name), ['addEventListener', 'removeEventListener'])
})

listening('the abort listener is removed on cancel() or after the only event', () => {
  const { host, scheduler } = world()
  const { button } = page()
  const { signal } = new AbortController()
  on(button, 'click', function* () {}, { scheduler, signal }).cancel()
  assert.is(abortListeners(signal), 0)
  on(button, 'click', function* () {}, { scheduler, signal, once: true })
  assert.is(abortListeners(signal), 1)
  button.dispatchEvent(event('click'))
  assert.is(abortListeners(signal), 0)
  host.run()
})

listening('with a signal that is already aborted, no listener stays', () => {
  const { scheduler } = world()
  const { button } = page()
  const calls = watched(button)
  const signal = AbortSignal.abort()
  assert.is(on(button, 'click', function* () {}, { scheduler, signal }).cancel(), false)
  assert.is(calls.filter(([name]) => name === 'addEventListener').length,
    calls.filter(([name]) => name === 'removeEventListener').length)
  assert.is(abortListeners(signal), 0)
})

listening('a scheduler is not deadlocked while a listener of on() can release jobs', () => {
  const { host, scheduler, log } = world({ onError: error => { log.push(error.name) } })
  reportDeadlocks(scheduler)
  const { button } = page()
  const handlers = [1, 2].map(() => on(button, 'click', function* () {}, { scheduler }))
  scheduler.spawn(function* () { yield new Channel().receive() })
  host.run()
  handlers[0].cancel()
  handlers[0].cancel()
  assert.equal(log, [])
  handlers[1].cancel()
  assert.equal(log, ['DeadlockError'])
})

/** A node that dispatches events like a browser: microtasks run after each listener. */
class Place {
  #listeners = []

  addEventListener(type, fn, options = {}) {
    const { capture = options === true, once = false } = options
    if (!this.#find(type, fn, capture)) this.#listeners.push({ type, fn, capture, once })
  }
  removeEventListener(type, fn, options = {}) {
    const found = this.#find(type, fn, options === true || options.capture === true)
    this.#listeners = this.#listeners.filter(listener => listener !== found)
  }
  #find(type, fn, capture) {
    return this.#listeners.find(one => one.type === type && one.fn === fn && one.capture === capture)
  }
  get size() { return this.#listeners.length }

  async hear(event, capture) {
    for (const listener of [...this.#listeners]) {
      if (listener.type !== event.type || listener.capture !== capture || !this.#listeners.includes(listener)) continue
      if (listener.once) this.removeEventListener(event.type, listener.fn, { capture })
      listener.fn(event)
      await microtasks()
    }
  }
}

/** @param {Place[]} path the nodes from the target outwards */
async function dispatch(path, { bubbles = true } = {}) {
  const event = { type: 'key', timeStamp: 0, bubbles, target: path[0], composedPath: () => path }
  for (const place of path.toReversed()) await place.hear(event, true)
  for (const place of bubbles ? path : [path[0]]) await place.hear(event, false)
}

const kinds = {
  'at the window': { on: 'window', target: 'window' },
  'below the window': { on: 'button', target: 'button' },
  'at the window, of a target below': { on: 'window', target: 'button' },
  'captured by the window': { on: 'window', target: 'button', capture: true },
  'that does not bubble': { on: 'button', target: 'button', bubbles: false },
  'that does not bubble, captured by the window': { on: 'window', target: 'button', bubbles: false, capture: true }
}

for (const [kind, { on: place, target, bubbles = true, capture }] of Object.entries(kinds)) {
  listening(`jobs of an event ${kind} run right after its last listener`, async () => {
    const { host, scheduler, log } = world({ slice: 5 })
    const places = { window: new Place(), button: new Place() }
    const { addEventListener, removeEventListener } = globalThis
    globalThis.addEventListener = places.window.addEventListener.bind(places.window)
    globalThis.removeEventListener = places.window.removeEventListener.bind(places.window)
    try {
      const handlers = [['lax', 0], ['urgent', 1]].map(([name, priority]) =>
        on(/** @type {any} */ (places)[place], 'key', () => { log.push(name) }, { scheduler, priority, capture }))
      const path = target === 'window' ? [places.window] : [places.button, places.window]
      const listeners = bubbles ? path : [places.button]
      for (const one of listeners) one.addEventListener('key', () => { log.push('listener') })
      for (let n = 0; n < 4; n++) {
        await dispatch(path, { bubbles })
        assert.equal(log.splice(0), [...listeners.map(() => 'listener'), 'urgent', 'lax'])
      }
      for (const handler of handlers) handler.cancel()
      assert.is(places.window.size + places.button.size, listeners.length)
      host.run()
    } finally {
      globalThis.addEventListener = addEventListener
      globalThis.removeEventListener = removeEventListener
    }
  })
}

listening('without a window on the path, jobs run right after the dispatching code', async () => {
  const { scheduler, log } = world({ slice: 5 })
  const target = new EventTarget()
  on(target, 'note', () => { log.push('job') }, { scheduler })
  target.addEventListener('note', () => { log.push('listener') })
  for (let n = 0; n < 3; n++) {
    target.dispatchEvent(new Event('note'))
    log.push('goes on')
    await microtasks()
    assert.equal(log.splice(0), ['listener', 'goes on', 'job'])
  }
})

listening.run()

// ---------------------------------------------------------------------------------- asynchronous events

const firing = suite('AsyncEvent')

firing('every handler gets the event with its time of firing, highest rank first', () => {
  const { host, scheduler, trace, log } = world()
  const event = new AsyncEvent({ scheduler })
  for (const [name, priority] of [['low', 1], ['high', 3], ['middle', 2]]) {
    event.handle(function* (...args) {
      log.push([name, ...args])
      yield* execute(host, 2)
    }, { name, priority, deadline: 10 })
  }
  scheduler.spawn(execute(host, 4), { name: 'other', priority: 2.5 })
  event.fire('a', 1)
  host.run()
  assertTrace(trace, `
    0 release other, release high, start high
    1 release middle
    2 finish high, start other
    6 finish other, start middle
    7 release low
    8 finish middle, start low
    10 finish low
  `)
  assert.equal(log, [['high', 'a', 1], ['middle', 'a', 1], ['low', 'a', 1]])
  const jobs = new Set(trace.records.map(({ job }) => job))
  assert.equal([...jobs].map(({ release, absoluteDeadline }) => [release, absoluteDeadline]), [
    [0, Infinity], [0, 10], [0, 10], [0, 10]
  ])
})

const eligibility = {
  'edf: by deadline, then priority': [edf, [
    { deadline: 30 }, { deadline: 10 }, {}, { deadline: 20, priority: 1 }, { deadline: 20, priority: 2 },
    { priority: 1 }
  ], [1, 4, 3, 0, 5, 2]],
  'fp: by priority': [fp, [
    { priority: 1 }, {}, { priority: 2.5, deadline: 99 }, { priority: -1, deadline: 1 }
  ], [2, 0, 1, 3]],
  'rm: by rate': [rm, [
    { period: 30 }, { priority: 0.001 }, { period: 10 }, {}, { period: 20, priority: 9 }
  ], [2, 4, 0, 1, 3]]
}

for (const [title, [policy, handlers, order]] of Object.entries(eligibility)) {
  firing(`the order is ${title}, and handlers of equal rank run by registration`, () => {
    const { host, scheduler, log } = world({ policy })
    const event = new AsyncEvent({ scheduler })
    for (const twin of ['', ' too']) {
      handlers.forEach((options, index) => { event.handle(function* () { log.push(index + twin) }, options) })
    }
    event.fire()
    host.run()
    assert.equal(log, order.flatMap(index => [String(index), `${index} too`]))
  })
}

firing('options of handle() override the parameters of the task', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  class Handler extends Task {
    *run(value) { log.push([this.name, this.priority, value]) }
  }
  const other = function* (value) { log.push(['other', value]) }
  event.handle(new Handler({ name: 'a', priority: 1 }))
  event.handle(other, { priority: 2 })
  event.handle(new Handler({ name: 'b', priority: 3 }))
  event.handle(new Handler({ name: 'c', priority: 0 }), { priority: 4 })
  event.fire('x')
  host.run()
  assert.equal(log, [['c', 0, 'x'], ['b', 3, 'x'], ['other', 'x'], ['a', 1, 'x']])
})

firing('the jobs belong to the task and have its name', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  class Handler extends Task {
    *run() {
      const { name, task, deadline, priority } = scheduler.current
      log.push([name, task instanceof Handler, deadline, priority])
    }
  }
  event.handle(new Handler({ deadline: 30 }), { priority: 2 })
  event.fire()
  host.run()
  assert.equal(log, [['Handler', true, 30, 2]])
})

firing('with a thousand handlers, fire() releases only the job of the highest rank', () => {
  const { host, scheduler, trace, log } = world({ budget: 'auto' })
  const event = new AsyncEvent({ scheduler })
  const random = seeded(1)
  const order = random.shuffle(Array.from({ length: 1000 }, (_, index) => index))
  for (const index of order) event.handle(function* () { log.push(index) }, { priority: index })
  event.fire()
  assert.is(scheduler.stats().jobs, 1)
  trace.stop()
  host.run()
  assert.equal(log, order.toSorted((a, b) => b - a))
  assert.is(scheduler.stats().jobs, 1000)
})

firing('the highest-ranked handler preempts at the next point, and the others wait', () => {
  const { host, scheduler, trace } = world()
  const event = new AsyncEvent({ scheduler })
  event.handle(function* () { yield* execute(host, 1) }, { name: 'urgent', priority: 2 })
  event.handle(function* () { yield* execute(host, 1) }, { name: 'idle', priority: -1 })
  scheduler.spawn(function* () {
    host.advance(1)
    event.fire()
    host.advance(1)
    yield
    host.advance(1)
  }, { name: 'firing' })
  host.run()
  assertTrace(trace, `
    0 release firing, start firing
    1 release urgent
    2 preempt firing by=urgent, start urgent
    3 finish urgent, release idle, resume firing
    4 finish firing, start idle
    5 finish idle
  `)
})

firing('jobs of overlapping events run by rank, each event in its own order', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  for (const priority of [1, 2, 3]) {
    event.handle(function* (name) {
      log.push(`${name}${priority}`)
      yield* execute(host, 2)
    }, { priority })
  }
  event.fire('a')
  at(3, () => { event.fire('b') }, { scheduler })
  host.run()
  assert.equal(log, ['a3', 'a2', 'b3', 'b2', 'a1', 'b1'])
})

firing('handlers that wait or fail do not delay other handlers', async () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  event.handle(function* () {
    yield sleep(10)
    log.push(['waited', host.time])
  }, { priority: 3 })
  event.handle(function* () { throw new Error('failed') }, { priority: 2 })
  event.handle(function () { throw new Error('failed too') }, { priority: 1 })
  event.handle(function* () { log.push(['last', host.time]) })
  event.fire()
  await host.drain()
  assert.equal(log, [['last', 0], ['waited', 10]])
  assert.equal(host.errors.map(error => error.message), ['failed', 'failed too'])
})

firing('async handlers and plain functions receive only the arguments of fire()', async () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  event.handle(async (...args) => {
    const job = scheduler.current
    await job.yield()
    log.push([job.name, job === scheduler.current, ...args])
  }, { name: 'along', priority: 1 })
  event.handle((...args) => { log.push(args) })
  event.handle(new Task(async function (...values) {
    log.push([this.name, scheduler.current.name, ...values])
  }, { name: 'task' }))
  event.fire(1, 2)
  await host.drain()
  assert.equal(log, [['along', true, 1, 2], [1, 2], ['task', 'task', 1, 2]])
})

firing('a cancelled handler gets no event, not even a fired one', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  const note = name => function* () {
    log.push(name)
    yield* execute(host, 2)
  }
  event.handle(note('first'), { priority: 3 })
  const second = event.handle(note('second'), { priority: 2 })
  const third = event.handle(note('third'), { priority: 1 })
  event.handle(note('last'))
  assert.is(second.cancel(), true)
  assert.is(second.cancel(), false)
  event.fire()
  at(3, () => { assert.is(third.cancel(), true) }, { scheduler })
  host.run()
  assert.equal(log, ['first', 'third', 'last'])
  event.fire()
  host.run()
  assert.equal(log.slice(3), ['first', 'last'])
})

firing('cancelling all handlers of a fired event ends the event', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  const handlers = [2, 1, 0].map(priority => event.handle(function* () { log.push(priority) }, { priority }))
  event.fire()
  for (const handler of handlers) handler.cancel()
  host.run()
  // The job of the highest-ranked handler was already released.
  assert.equal(log, [2])
})

firing('a handler added while an event is handled gets the next event', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  event.handle(function* () {
    log.push('first')
    event.handle(function* () { log.push('added') }, { priority: -1 })
  })
  event.fire()
  host.run()
  assert.equal(log, ['first'])
  event.fire()
  host.run()
  assert.equal(log, ['first', 'first', 'added'])
})

firing('a job cancelled before its start passes the event to the next handler', () => {
  const { host, scheduler, trace, log } = world()
  const event = new AsyncEvent({ scheduler })
  for (const name of ['a', 'b', 'c']) {
    event.handle(function* () {
      log.push(name)
      yield* execute(host, 2)
    }, { name })
  }
  const jobs = () => trace.records.filter(({ type }) => type === 'release').map(({ job }) => job)
  event.fire()
  jobs()[0].cancel()
  assert.equal(jobs().map(({ name, state }) => [name, state]), [['a', 'cancelled'], ['b', 'ready']])
  at(1, () => { jobs()[1].cancel() }, { scheduler })
  host.run()
  assert.equal(log, ['b', 'c'])
  assert.equal(jobs().map(({ name, state }) => [name, state]), [
    ['a', 'cancelled'], ['b', 'cancelled'], ['c', 'done']
  ])
})

firing('a task that has become invalid is reported, and the next handler gets the event', () => {
  const { host, scheduler, log } = world()
  const event = new AsyncEvent({ scheduler })
  const broken = [2, 1].map(priority => new Task(function* () { log.push('broken') }, { priority }))
  event.handle(function* () { log.push('first') }, { priority: 3 })
  for (const task of broken) event.handle(task)
  event.handle(function* () { log.push('last') })
  for (const task of broken) task.deadline = NaN
  event.fire()
  host.run()
  assert.equal(log, ['first', 'last'])
  const message = 'deadline must be a number > 0, got NaN'
  assert.equal(host.errors.map(error => error.message), [message, message])
})

firing('handlers with a reservation are released immediately and delay no other handler', () => {
  const { host, scheduler, trace, log } = world()
  const reservation = new Reservation({ scheduler, capacity: 2, period: 100, depleted: 'wait' })
  const event = new AsyncEvent({ scheduler })
  const note = name => function* () {
    log.push([name, host.time])
    yield* execute(host, 3)
  }
  event.handle(note('best'), { priority: 5 })
  event.handle(note('reserved'), { reservation })
  event.handle(note('last'), { priority: -1 })
  event.fire()
  assert.is(trace.records.filter(({ type }) => type === 'release').length, 2)
  host.run({ until: 20 })
  event.fire()
  host.run()
  assert.equal(log, [
    ['reserved', 0], ['best', 2], ['last', 5], ['best', 20], ['last', 23], ['reserved', 101]
  ])
})

firing('configure() of another policy changes the order of the handlers', () => {
  const { host, scheduler, log } = world({ policy: fp })
  const event = new AsyncEvent({ scheduler })
  const handlers = [
    { priority: 1, deadline: 20, period: 5 }, { priority: 2, deadline: 30, period: 50 },
    { priority: 0, deadline: 10, period: 15 }
  ].map(options => event.handle(function* () { log.push(options.deadline) }, options))
  event.fire()
  host.run()
  for (const policy of [edf, rm]) {
    scheduler.configure({ policy })
    event.fire()
    host.run()
  }
  assert.equal(log, [30, 20, 10, 10, 20, 30, 20, 10, 30])
  handlers[0].cancel()
  event.fire()
  host.run()
  assert.equal(log.slice(9), [10, 30])
})

firing('an event created in a job belongs to the scheduler of the job', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(function* () {
    const event = new AsyncEvent()
    event.handle(function* () { log.push('handled') })
    event.fire()
  })
  host.run()
  assert.equal(log, ['handled'])
})

firing('an event without handlers releases no job', () => {
  const { host, scheduler } = world()
  new AsyncEvent({ scheduler }).fire('anything')
  host.run()
  assert.is(scheduler.stats().jobs, 0)
})

firing.run()
