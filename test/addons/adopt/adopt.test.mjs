import { setMaxListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Window } from 'happy-dom'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { IoReservation, Reservation } from '../../../addons/reservations.mjs'
import { adopt } from '../../../addons/adopt.mjs'
import * as plain from '../../support/page-cases.mjs'
import { play, randomPage } from '../../support/page-program.mjs'
import { rewritten } from '../../support/rewritten.mjs'
import { forSeeds } from '../../support/seeded.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'
import { virtualPage } from '../../support/virtual-page.mjs'

const { namespace: twins } = await rewritten(new URL('../../support/page-cases.mjs', import.meta.url))

setMaxListeners(0) // for AbortSignals

/** Makes a page and a scheduler that suspends at every point, except with another `budget`. */
function pageOf(options = {}) {
  const host = virtualHost({ frame: 16.3 })
  const window = virtualPage(host)
  const scheduler = new Scheduler({ host: window.host, budget: 1, ...options })
  return { host, window, scheduler, log: [] }
}

const ways = {
  'by itself': [plain, null],
  adopted: [plain, {}],
  'adopted, with twins': [twins, { budget: 'auto' }],
  'suspended at every point': [twins, { budget: 1 }]
}

const cases = suite('effects of a page with and without adopt')

for (const [way, [scripts, options]] of Object.entries(ways)) {
  for (const [title, { log: expected, errors = '', run }] of Object.entries({ ...scripts.pageCases, ...scripts.windowCases })) {
    cases(`${title}: ${way}`, () => {
      const { host, window, scheduler, log } = pageOf(options ?? {})
      const adoption = options && adopt(window, { scheduler, warn: false })
      const { port1: target, port2 } = new window.MessageChannel()
      run({ window, log: text => log.push(text), source: () => ({ target, type: 'message', fire: () => port2.postMessage(null) }) })
      host.run({ until: 200 })
      assert.is(log.join(' '), expected)
      assert.is(window.errors.map(({ message }) => message).join(), errors.replace(', ', ','))
      adoption?.release()
    })
  }
}

cases('random programs with equal ranks have the same effects when adopted', async () => {
  const { namespace } = await rewritten(new URL('../../support/page-program.mjs', import.meta.url))
  const equal = { deadline: Infinity }
  const rules = { timer: equal, frame: equal, event: equal }
  const logOf = (program, play, options) => {
    const { host, window, scheduler, log } = pageOf(options ?? {})
    const adoption = options && adopt(window, { scheduler, rules, warn: false })
    play(window, program, text => log.push(text))
    host.run({ until: 500 })
    adoption?.release()
    return [...log, ...window.errors].join('\n')
  }
  await forSeeds(300, random => {
    for (const suspends of [false, true]) {
      const program = randomPage(random, { suspends })
      const expected = logOf(program, play, null)
      assert.is(logOf(program, play, {}), expected)
      assert.is(logOf(program, namespace.play, { budget: suspends ? random.integer(1, 4) : 'auto' }), expected)
    }
  })
})

cases.run()

// ------------------------------------------------------------------------------------------- jobs

const jobs = suite('adopted callbacks as jobs')

/** Callbacks of an ordinary module that take some ms, with a preemption point after each ms. */
const { working, lookTwice, preemptiveFalse, returning, withoutAnswer, stopping } = await import(`data:text/javascript,${encodeURIComponent(preemptify.source(`
  export const working = (host, log, name, ms) => function () {
    for (let i = 0; i < ms; i++) {
      log.push(host.time + ' ' + name)
      host.advance(1)
    }
  }
  export const lookTwice = look => event => { for (let i = 0; i < 2; i++) look(event) }
  export const preemptiveFalse = work => () => {
    work()
    return false
  }
  export const stopping = work => event => {
    event.stopImmediatePropagation()
    work()
  }
  export const returning = (work, value) => () => {
    work()
    return value
  }
  export const withoutAnswer = work => function () {
    [1].forEach(one => { return one }) // return 'this'
    work()
  }
`, { exclusive: false, runtime: new URL('../../../addons/preemptify/runtime.mjs', import.meta.url).href }))}`)

/** Makes an adopted page and callbacks that take some ms. */
function adopted({ rules, budget = 'auto', warn = false, ...options } = {}) {
  const { host, window, scheduler, log } = pageOf({ budget, slice: 1, ...options })
  const body = window.element('body', null)
  const adoption = adopt(window, { scheduler, rules, warn })
  const work = (name, ms = 1) => working(host, log, name, ms)
  return { host, window, scheduler, log, adoption, body, work, button: window.element('button', body) }
}

jobs('input preempts a long timer callback, which resumes afterwards', () => {
  const { host, window, log, work, button } = adopted({ round: 1 })
  button.addEventListener('input', work('input', 2))
  window.setTimeout(work('timer', 5), 50)
  host.after(53, () => { window.fire(button, 'input') })
  host.run()
  assert.equal(log, ['50 timer', '51 timer', '52 timer', '53 timer', '54 input', '55 input', '56 timer'])
})

jobs('callbacks get default deadlines by kind, which rules override', () => {
  const deadlines = rules => {
    const { host, window, scheduler, adoption, button } = adopted({ rules })
    const { port1, port2 } = new window.MessageChannel()
    const note = name => () => { found[name] = scheduler.current.deadline }
    const found = {}
    button.addEventListener('input', note('input'))
    button.addEventListener('other', note('other'))
    port1.onmessage = note('message')
    window.setTimeout(note('timer 5'), 5)
    window.setTimeout(note('timer 50'), 50)
    window.setTimeout(note('timer 32 bits'), 2 ** 32 + 40)
    window.requestAnimationFrame(note('frame'))
    for (const type of ['input', 'other']) window.fire(button, type)
    port2.postMessage(1)
    host.run()
    adoption.release()
    return found
  }
  assert.equal(deadlines(), { input: 16, other: Infinity, message: Infinity, 'timer 5': 16, 'timer 50': 50, 'timer 32 bits': 40, frame: 16 })
  assert.equal(deadlines({
    timer: { deadline: 7 }, frame: { priority: 1 }, message: { deadline: 3 },
    event: [{ type: ['x', 'other'], target: 'button', deadline: 9 }, { type: 'other', deadline: 1 }, { target: at => at.localName === 'body' }]
  }), { input: 16, other: 9, message: 3, 'timer 5': 7, 'timer 50': 7, 'timer 32 bits': 7, frame: 16 })
})

jobs('callbacks run one after the other, and idle() waits for waiting calls', async () => {
  const { host, window, scheduler, log, work } = adopted()
  let isIdle = false
  for (const name of ['a', 'b', 'c']) window.setTimeout(work(name, 3), 10)
  host.run({ until: 11 })
  scheduler.idle().then(() => { isIdle = true })
  await host.drain({ until: 13 })
  assert.not(isIdle)
  await host.drain()
  assert.ok(isIdle)
  assert.equal(log, ['10 a', '11 a', '12 a', '13 b', '14 b', '15 b', '16 c', '17 c', '18 c'])
})

for (const cancelable of [false, true]) {
  jobs(`latest runs only the newest waiting call, ${cancelable ? 'also where the event can be cancelled' : 'where it cannot'}`, () => {
    const { host, window, log, work, button } = adopted({ round: 1, rules: { event: { type: 'pointermove', latest: true } } })
    window.setTimeout(work('timer', 4), 0)
    button.addEventListener('pointermove', ({ detail }) => log.push(`${host.time} move${detail}`))
    for (const detail of [1, 2, 3, 9]) host.after(detail, () => { window.fire(button, 'pointermove', { detail, cancelable }) })
    host.run()
    assert.equal(log, ['0 timer', '1 timer', '2 timer', '3 timer', '4 move3', '9 move9'])
  })
}

jobs('a cancelable event is handled in its task, after one round of earlier calls', () => {
  const { host, window, log, work, button } = adopted({ round: 3 })
  button.addEventListener('input', work('input', 9))
  button.addEventListener('keydown', event => {
    log.push(`${host.time} keydown`)
    event.preventDefault()
  })
  window.fire(button, 'input')
  host.after(1, () => { window.fire(button, 'keydown', { cancelable: true }) })
  host.run()
  assert.equal(log.slice(4), ['4 input', '5 input', '6 input', '7 keydown', '7 input', '8 input']) // after a round
})

jobs('pending input does not suspend calls that must finish inside an event', () => {
  const { host, window, log, work, button } = adopted({ round: 20 })
  host.hasInput = true
  button.addEventListener('submit', work('submit', 3))
  button.addEventListener('submit', () => log.push('submitted'))
  window.fire(button, 'submit')
  host.run()
  button.addEventListener('input', work('input', 4))
  button.addEventListener('keydown', () => log.push('keydown'))
  window.fire(button, 'input')
  window.fire(button, 'keydown', { cancelable: true })
  host.run()
  assert.equal(log, ['0 submit', '1 submit', '2 submit', 'submitted', '3 input', '4 input', '5 input', '6 input', 'keydown'])
})

jobs('listeners of submit and handlers with a return value run to completion', () => {
  const { host, window, log, work, button } = adopted()
  button.addEventListener('submit', work('submit', 3))
  button.onclick = preemptiveFalse(work('click', 2))
  button.addEventListener('submit', () => log.push('after'))
  button.addEventListener('input', work('input', 2))
  button.onerror = () => log.push('error')
  for (const type of ['input', 'error']) window.fire(button, type)
  window.fire(button, 'submit', { cancelable: true })
  window.fire(button, 'click', { cancelable: true })
  button.addEventListener('click', event => log.push(String(event.defaultPrevented)))
  host.run()
  assert.equal(log, ['0 input', '1 input', 'error', '2 submit', '3 submit', '4 submit', 'after', '5 click', '6 click', 'true'])
})

jobs('listeners of the last events of a page and of install run to completion', () => {
  const { host, window, log, work, button } = adopted()
  for (const type of ['visibilitychange', 'freeze', 'beforeprint', 'install']) {
    button.addEventListener(type, work(type, 2))
    if (type === 'install') window.Event.prototype.waitUntil = () => {}
    window.fire(button, type)
    host.post(() => log.push('after'))
    host.run()
    assert.equal(log.splice(0).map(line => line.replace(/^\d+ /, '')), [type, type, 'after'])
  }
})

jobs('a listener of readystatechange starts inside its event', () => {
  const { host, window, log, work, button } = adopted({ round: 1 })
  const request = window.element('request', null)
  button.addEventListener('input', work('input', 9))
  request.addEventListener('readystatechange', () => log.push(`state ${request.readyState}`))
  window.fire(button, 'input')
  for (const state of [3, 4]) {
    host.post(() => { request.readyState = state })
    window.fire(request, 'readystatechange')
  }
  host.post(() => { request.readyState = 0 })
  host.run()
  assert.equal(log.filter(line => line.startsWith('state')), ['state 3', 'state 4'])
  assert.is(log.at(-1), '8 input')
})

jobs('a listener starts inside its event even if an observer takes time before', () => {
  const { host, window, scheduler, log, button, work } = adopted()
  scheduler.observe(({ type }) => { if (type === 'start') host.advance(5) })
  button.addEventListener('click', stopping(work('click', 2)))
  button.addEventListener('click', () => log.push('never'))
  window.fire(button, 'click')
  host.run()
  assert.equal(log, ['5 click', '6 click'])
})

jobs('a handler without a return value continues as a job after a cancelable event', () => {
  const { host, window, log, work, button } = adopted()
  button.onclick = withoutAnswer(work('click', 2))
  window.fire(button, 'click', { cancelable: true })
  host.post(() => log.push('after'))
  host.run()
  assert.equal(log, ['0 click', 'after', '1 click'])
})

jobs('removing a handler or disconnecting an observer drops its waiting calls', () => {
  const { host, window, log, work, button } = adopted({ round: 1 })
  button.addEventListener('input', work('first', 3))
  button.oninput = work('never')
  window.fire(button, 'input')
  const observer = new window.MutationObserver(work('never'))
  host.after(1, () => {
    button.oninput = null
    observer.notify()
  })
  host.after(2, () => { observer.disconnect() })
  host.run()
  assert.equal(log, ['0 first', '1 first', '2 first'])
})

jobs('removed callbacks of a paused scheduler or depleted reservation do not run', () => {
  const { host, window, scheduler, log, adoption, work, button } = adopted()
  const [removed, kept] = ['removed', 'kept'].map(name => work(name))
  for (const listener of [removed, kept]) button.addEventListener('input', listener)
  const timers = ['cleared', 'timer'].map(name => window.setTimeout(work(name), 1))
  scheduler.pause()
  window.fire(button, 'input')
  host.run({ until: 2 })
  button.removeEventListener('input', removed)
  window.clearTimeout(timers[0])
  scheduler.resume()
  host.run()
  assert.equal(log, ['2 kept', '3 timer'])
  assert.is(adoption.report().reduce((sum, { calls }) => sum + calls, 0), 2)
  adoption.release()
  const reservation = new Reservation({ capacity: 1, period: 10, depleted: 'wait', scheduler })
  const again = adopt(window, { scheduler, rules: { timer: { reservation } }, warn: false })
  const reserved = ['used', 'cleared'].map(name => window.setTimeout(work(name), 1))
  host.after(3, () => { window.clearTimeout(reserved[1]) })
  host.run({ until: 30 })
  assert.is(log.at(-1), '5 used')
  again.release()
})

jobs('a promise that a callback returns does not delay the next callback', async () => {
  const { host, window, log, work, button } = adopted({ round: 1 })
  const never = { then() { log.push('waited for') } }
  window.setTimeout(returning(work('timer', 3), never), 0)
  button.addEventListener('input', returning(work('input'), never))
  button.addEventListener('input', returning(work('next'), never))
  host.after(1, () => { window.fire(button, 'input') })
  host.run()
  assert.equal(log, ['0 timer', '1 timer', '2 timer', '3 input', '4 next'])
})

jobs('a listener of focus runs to completion inside focus()', () => {
  const { host, window, log, work, button } = adopted()
  button.addEventListener('focus', work('focus', 3))
  window.setTimeout(() => {
    button.focus()
    log.push('after')
  })
  host.post(() => {})
  host.run()
  assert.equal(log, ['0 focus', '1 focus', '2 focus', 'after'])
})

jobs('clearTimeout drops waiting calls only, and a late interval is called once', () => {
  const { host, window, log, work } = adopted({ round: 1 })
  const a = window.setTimeout(work('a', 3), 0)
  const b = window.setTimeout(work('b', 3), 0)
  const ticks = window.setInterval(() => log.push(`${host.time} tick`), 2)
  host.after(1, () => {
    window.clearTimeout(String(a))
    window.clearTimeout(b)
    assert.throws(() => window.clearInterval(BigInt(ticks)), TypeError) // browsers throw as well
  })
  host.after(7, () => { window.clearInterval(ticks) })
  host.run()
  assert.equal(log, ['0 a', '1 a', '2 a', '3 tick', '4 tick', '6 tick'])
})

jobs('a rule with a reservation limits the time of timers', () => {
  const { host, window, scheduler } = pageOf({ budget: 'auto' })
  const reservation = new Reservation({ capacity: 1, period: 10, depleted: 'wait', scheduler })
  const log = []
  const adoption = adopt(window, { scheduler, rules: { timer: { reservation } }, warn: false })
  window.setTimeout(working(host, log, 'timer', 3), 5)
  host.run({ until: 100 })
  assert.equal(log, ['5 timer', '15 timer', '25 timer'])
  adoption.release()
})

jobs('a listener reads its own target, currentTarget and eventPhase at any time', () => {
  const { host, window, log, body, button } = adopted({ budget: 2 })
  button.isShadowed = true // like images in Chromium
  const look = event => log.push(`${event.target?.localName} ${event.currentTarget?.localName} ${event.eventPhase}`)
  button.addEventListener('click', lookTwice(look))
  body.addEventListener('click', lookTwice(look))
  window.fire(button, 'click', { bubbles: true })
  /** @type {any} */
  let kept
  button.addEventListener('click', event => { kept = event }, { capture: true })
  host.run()
  look(kept)
  assert.equal(log, ['button button 2', 'button button 2', 'button body 3', 'button body 3', 'undefined undefined 0'])
})

jobs('the report and a warning name the stalled callback and its registration', () => {
  const { host, window, scheduler } = pageOf({ budget: 'auto' })
  const warned = []
  window.console = { warn: text => warned.push(text) }
  const adoption = adopt(window, { scheduler })
  function slow() { host.advance(57) }
  const target = window.element('input', null)
  target.addEventListener('input', slow)
  for (let n = 0; n < 3; n++) window.fire(target, 'input')
  for (let n = 0; n < 2000; n++) window.setTimeout(() => {}, 1)
  host.run()
  const [first, ...others] = adoption.report()
  assert.match(first.where, /adopt\.test\.mjs:\d+$/)
  assert.equal({ ...first, where: '' }, { kind: 'input', name: 'slow', where: '', calls: 3, time: 171, longest: 57, stalls: 3, longestStall: 57, misses: 3 })
  assert.equal(others.map(({ kind, name, calls }) => [kind, name, calls]), [['timer', 'anonymous', 2000]])
  const remedy = 'it was not rewritten; use the service worker or preemptify.import'
  assert.equal(warned, [`input slow, registered at ${first.where}, kept the thread for 57 ms: ${remedy}`])
  for (let n = 0; n < 3000; n++) target.addEventListener(`type ${n}`, slow)
  assert.is(adoption.report().length, 1001)
  window.fire(target, 'type 2999')
  host.run()
  assert.is(warned.at(-1), `others kept the thread for 57 ms: ${remedy}`)
})

jobs('the console names a callback once, at its first stall of at least 50 ms', () => {
  const { host, window, scheduler } = pageOf({ budget: 'auto' })
  const warned = []
  window.console = { warn: text => warned.push(/\w+ \w+(?=,).*?[\d.]+ ms/.exec(text)[0].replace(/,.*,/, '')) }
  const adoption = adopt(window, { scheduler })
  const target = window.element('input', null)
  target.addEventListener('input', function first({ detail }) { host.advance(detail) })
  target.addEventListener('change', function second({ detail }) { host.advance(detail) })
  for (const detail of [7, 0, 49, 51, 2, 99, 130]) window.fire(target, 'input', { detail })
  window.fire(target, 'change', { detail: 50 })
  host.run()
  assert.equal(warned, ['input first kept the thread for 51 ms', 'change second kept the thread for 50 ms'])
  assert.equal(adoption.report().map(({ stalls, longestStall }) => [stalls, longestStall]), [[6, 130], [1, 50]])
})

jobs('a warning names the reason why the callback was not preempted', () => {
  const warned = []
  const { host, window, scheduler } = pageOf({ budget: 'auto', slice: 3 })
  window.console = { warn: text => warned.push(`${/^\w+/.exec(text)}: ${/(?<=ms: )[^,;]*/.exec(text)}`) }
  adopt(window, { scheduler })
  const button = window.element('button', null)
  const work = name => working(host, [], name, 60)
  const engine = () => host.advance(60)
  button.addEventListener('input', () => host.advance(60))
  button.addEventListener('submit', work('submit'))
  button.addEventListener('change', returning(engine))
  button.addEventListener('select', work('select'))
  for (const type of ['input', 'submit', 'change', 'select']) {
    window.fire(button, type)
    host.run()
  }
  assert.equal(warned, [
    'input: it was not rewritten',
    'submit: it has a twin but was called plainly',
    'change: it made one call of the engine'
  ])
})

jobs('a callback that runs to completion stalls if its steps exceed a slice', () => {
  const told = []
  const { window, host, adoption, button, work } = adopted({ slice: 3, onStall: ({ name }, ms) => told.push(`${name} ${ms}`) })
  const rest = () => host.advance(2)
  button.addEventListener('submit', work('submit', 2))
  button.addEventListener('submit', work('submit', 4))
  button.addEventListener('reset', rest)
  button.addEventListener('reset', () => host.advance(4))
  button.addEventListener('focus', work('focus', 5))
  for (const type of ['submit', 'reset']) window.fire(button, type)
  host.run()
  assert.equal(told.splice(0), ['submit anonymous 4', 'reset anonymous 4'])
  button.addEventListener('click', () => { window.queueMicrotask(() => button.focus()) }) // after the job
  window.fire(button, 'click')
  host.run()
  assert.equal(told, ['focus anonymous 5'])
  assert.equal(adoption.report().map(({ kind, stalls, longestStall }) => `${kind} ${stalls} ${longestStall}`),
    ['submit 1 4', 'focus 1 5', 'reset 1 4', 'reset 0 0', 'click 0 0'])
})

jobs('the report lists scripts of long frames, except files of the scheduler', () => {
  const { window, scheduler } = pageOf()
  let tell = list => list
  window.PerformanceObserver = class {
    static supportedEntryTypes = ['long-animation-frame']
    constructor(fn) { tell = fn }
    observe() {}
    disconnect() {}
  }
  const adoption = adopt(window, { scheduler, warn: false })
  const modules = ['rt', 'alarms', 'addons/adopt/realms', 'addons/adopt/timers']
  const ours = modules.map(name => new URL(`../../../${name}.mjs`, import.meta.url).href)
  const scripts = ['page.mjs', ...ours]
    .map(sourceURL => ({ sourceURL, sourceFunctionName: 'slow', sourceCharPosition: 5, invoker: '', duration: 80 }))
  tell({ getEntries: () => [{ scripts }] })
  const row = { kind: 'script', name: 'slow', where: 'page.mjs:5', calls: 1, time: 80, longest: 80, stalls: 1, longestStall: 80, misses: 0 }
  assert.equal(adoption.report(), [row])
})

jobs('release restores functions, properties and listeners, and runs waiting calls', () => {
  const made = pageOf({ budget: 2 })
  const { host, log } = made
  const { EventTarget, HTMLElement, MessagePort, MutationObserver } = made.window
  const holders = [made.window, ...[EventTarget, HTMLElement, MessagePort, MutationObserver].map(({ prototype }) => prototype)]
  const look = () => holders.flatMap(holder => Object.entries(Object.getOwnPropertyDescriptors(holder)).flat())
    .flatMap(part => typeof part === 'string' ? [part] : Object.entries(part).flat())
  const before = look()
  const button = made.window.element('button', null)
  const early = () => log.push('early')
  button.onclick = early
  const adoption = adopt(made.window, { scheduler: made.scheduler, warn: false })
  assert.is(button.onclick, early)
  const work = name => working(host, log, name, 2)
  const [removed, kept] = [work('removed'), work('kept')]
  button.addEventListener('click', removed)
  button.addEventListener('click', kept, { once: true })
  button.oninput = () => log.push('replaced')
  button.addEventListener('input', () => log.push('first'))
  button.oninput = null
  button.addEventListener('input', () => log.push('second'), true)
  button.oninput = () => log.push('third')
  button.addEventListener('input', () => log.push('fourth'))
  made.window.setTimeout(work('a'))
  made.window.setTimeout(work('b'))
  const cleared = made.window.setTimeout(work('cleared'), 5)
  host.run({ turns: 2 })
  assert.equal(log, ['0 a'])
  adoption.release()
  adoption.release()
  button.removeEventListener('click', removed)
  made.window.clearTimeout(cleared)
  for (const type of ['click', 'click', 'input']) made.window.fire(button, type)
  host.run()
  assert.equal(log, ['0 a', '1 a', 'early', '2 kept', '3 kept', 'early', 'second', 'first', 'third', 'fourth', '4 b', '5 b'])
  assert.is(made.window.setTimeout.name, 'setTimeout')
  assert.ok(look().length === before.length && look().every((part, index) => Object.is(part, before[index])))
})

jobs('adopt calls no getters for the name or constructor of a listener', () => {
  const { host, window, log, button } = adopted()
  const get = () => { throw new Error('asked') }
  const [named, unnamed] = [() => log.push('named'), () => log.push('unnamed')]
  Object.defineProperty(named, 'name', { get })
  Object.defineProperty(unnamed, 'name', { value: Symbol('name') })
  const object = Object.defineProperty({ handleEvent: () => log.push('object') }, 'constructor', { get })
  const bare = Object.assign(Object.create(null), { handleEvent: () => log.push('bare') })
  for (const listener of [named, unnamed, object, bare]) button.addEventListener('click', listener)
  window.setTimeout(unnamed)
  window.fire(button, 'click')
  host.run()
  assert.equal(log.toSorted(), ['bare', 'named', 'object', 'unnamed', 'unnamed'])
})

jobs('adopt keeps the names, lengths, classes and errors of the globals it replaces', () => {
  const { host, window } = pageOf()
  const { setTimeout, MutationObserver } = window
  const adoption = adopt(window, { warn: false })
  window.addEventListener('click', {})
  window.fire(window, 'click')
  host.run()
  assert.equal(window.errors.map(String), ['TypeError: callback.handleEvent is not a function']) // the message of the platform
  assert.is.not(window.setTimeout, setTimeout)
  assert.equal([window.setTimeout.name, window.setTimeout.length], [setTimeout.name, setTimeout.length])
  assert.match(Function.prototype.toString.call(window.setTimeout), 'native code')
  const observer = new window.MutationObserver(() => {})
  assert.ok(observer instanceof MutationObserver && observer instanceof window.MutationObserver)
  assert.is(observer.constructor, window.MutationObserver)
  class Own extends window.MutationObserver {}
  assert.ok(new Own(() => {}) instanceof Own)
  adoption.release()
})

jobs('adopted callbacks run after the page replaces methods of prototypes', () => {
  const { host, window, log, button, adoption } = adopted()
  const replaced = [[Map.prototype, 'get'], [WeakMap.prototype, 'get'], [Set.prototype, 'forEach'], [Function.prototype, 'call'], [Function.prototype, 'apply']]
    .map(([prototype, name]) => [prototype, name, prototype[name]])
  for (const [prototype, name] of replaced) prototype[name] = () => { throw new Error(`${name} was called`) }
  try {
    const listener = () => log.push('listener')
    button.addEventListener('click', listener)
    window.setTimeout(() => log.push('timer'))
    window.fire(button, 'click')
    host.run()
    button.removeEventListener('click', listener)
    adoption.release()
  } finally {
    for (const [prototype, name, own] of replaced) prototype[name] = own
  }
  assert.equal(log.toSorted(), ['listener', 'timer'])
})

jobs('a signal that outlives its targets does not keep them alive', async () => {
  setFlagsFromString('--expose-gc')
  const { window, adoption } = adopted()
  const { signal } = new AbortController()
  const elements = Array.from({ length: 9 }, () => {
    const element = window.element('p', null)
    element.addEventListener('click', () => {}, { signal })
    return new WeakRef(element)
  })
  for (let n = 0; n < 3; n++) {
    await new Promise(resolve => { setTimeout(resolve) }) // until then a WeakRef keeps its target alive
    runInNewContext('gc')()
  }
  assert.ok(elements.filter(element => element.deref() !== undefined).length < 2)
  adoption.release()
  assert.not(signal.aborted)
})

jobs('adopt leaves frozen and replaced properties unchanged and adopts the rest', () => {
  const frozen = { configurable: false, writable: false }
  const strange = {
    'a frozen function': window => { Object.defineProperty(window, 'clearTimeout', frozen) },
    'a frozen class': window => { Object.defineProperty(window, 'MutationObserver', frozen) },
    'a frozen prototype': window => { Object.freeze(window.MutationObserver.prototype) },
    'a class by a getter': window => { Object.defineProperty(window, 'MutationObserver', { get: () => class {}, configurable: true }) },
    'a class without a prototype': window => { window.MutationObserver = () => {} },
    'a handler that cannot be set': window => { Object.defineProperty(window, 'onready', { value() {} }) },
    'a handler that cannot be asked': window => { Object.defineProperty(window, 'onready', { get() { throw new Error('asked') } }) },
    'nothing, but all of it later': () => {}
  }
  for (const [title, make] of Object.entries(strange)) {
    const { host, window, scheduler } = pageOf()
    make(window)
    const { setTimeout } = window
    const adoption = adopt(window, { scheduler, warn: false })
    assert.is.not(window.setTimeout, setTimeout, title)
    for (const one of [window, window.EventTarget.prototype]) if (title.includes('later')) Object.freeze(one)
    window.addEventListener('click', () => {})
    window.fire(window, 'click')
    host.run()
    adoption.release()
    assert.is(adoption.report().length, 1, title)
    adopt(window, { scheduler, warn: false }).release()
  }
})

jobs('adopt rejects invalid options by name and adopts nothing', () => {
  const { window } = pageOf()
  const { setTimeout } = window
  const refused = [
    [null, {}, 'target must be a global object, got null'],
    [{}, {}, 'target must be a global object'],
    [window, { rule: {} }, "unknown option 'rule'; known are rules"],
    [window, { warn: 1 }, 'warn must be a boolean, got 1'],
    [window, { rules: { timers: {} } }, "unknown option 'rules.timers'; known are timer"],
    [window, { rules: { timer: { deadline: -1 } } }, 'deadline must be a number > 0, got -1'],
    [window, { rules: { frame: { latest: 1 } } }, 'latest must be a boolean, got 1'],
    [window, { rules: { timer: { type: 'x' } } }, 'type'],
    [window, { rules: { event: { type: 1 } } }, 'type must be a string, got 1'],
    [window, { rules: { timer: { reservation: new Reservation({ capacity: 1, period: 10, scheduler: new Scheduler() }) } } }, 'rules.timer.reservation must be'],
    [window, { rules: { event: { reservation: new IoReservation({ utilization: 0.1 }) } } }, 'rules.event[0].reservation must be'],
    [window, { rules: { event: [{ target: 1 }] } }, 'target must be a selector, a function or an EventTarget, got 1'],
    [window, { scheduler: {} }, 'scheduler must be a Scheduler']
  ]
  for (const [target, options, message] of refused) {
    assert.throws(() => adopt(target, options), error => (error instanceof TypeError || error instanceof RangeError) && error.message.includes(message), message)
  }
  assert.is(window.setTimeout, setTimeout)
  const adoption = adopt(window, { warn: false })
  assert.throws(() => adopt(window), /adopted already/)
  adoption.release()
  adopt(window, { warn: false }).release()
})

jobs('timers and immediates of Node run as jobs', async () => {
  const adoption = adopt(globalThis, { scheduler: new Scheduler(), warn: false })
  const log = []
  await new Promise(resolve => {
    setTimeout(name => log.push(name), 1, 'timer')
    const immediate = setImmediate(() => log.push('never'))
    clearImmediate(immediate)
    setImmediate(({ description }) => log.push(description), Symbol('immediate'))
    const id = setInterval(() => {
      clearInterval(id)
      resolve(undefined)
    }, 5)
  })
  adoption.release()
  assert.equal(log.toSorted(), ['immediate', 'timer'])
})

jobs('listeners of a Node port by on() and once() get values instead of events', async () => {
  const adoption = adopt(globalThis, { scheduler: new Scheduler(), warn: false })
  const { port1, port2 } = new MessageChannel()
  const log = []
  port1.once('message', value => log.push(value))
  port1.on('message', value => log.push(value))
  for (const value of [null, undefined, { x: 1 }]) port2.postMessage(value)
  while (log.length < 4) await new Promise(resolve => { setTimeout(resolve) })
  port1.close()
  adoption.release()
  assert.equal(log, [null, null, undefined, { x: 1 }])
})

jobs('clearTimeout of Node accepts the object and the number of a waiting timer', async () => {
  const log = []
  const later = setTimeout // the native function
  const adoption = adopt(globalThis, { scheduler: new Scheduler({ budget: 2 }), warn: false })
  const clock = { time: 0, advance() {} }
  await new Promise(resolve => {
    setTimeout(working(clock, log, 'first', 3), 1)
    const [a, b] = [1, 1].map(ms => setTimeout(working(clock, log, 'never', 3), ms))
    later(() => {
      log.push('cleared')
      clearTimeout(a)
      clearTimeout(+b)
      clearTimeout(Symbol('no timer')) // Node ignores it
      setTimeout(resolve, 1)
    }, 1)
    const end = process.hrtime.bigint() + 3_000_000n
    while (process.hrtime.bigint() < end); // so that all timers are due together
  })
  adoption.release()
  assert.equal(log, ['0 first', 'cleared', '0 first', '0 first'])
})

jobs('listeners of a happy-dom window become jobs until the release', () => {
  const host = virtualHost()
  const window = /** @type {any} */ (new Window())
  const log = []
  const scheduler = new Scheduler({ host, budget: 2 })
  const { document } = window
  document.body.innerHTML = '<button>press</button>'
  const button = document.querySelector('button')
  const adoption = adopt(window, { scheduler, warn: false })
  const listener = working(host, log, 'listener', 2)
  button.addEventListener('click', listener)
  document.addEventListener('click', () => log.push('document'), { once: true })
  button.dispatchEvent(new window.Event('click', { bubbles: true }))
  assert.equal(log, ['0 listener'])
  host.run()
  assert.equal(log, ['0 listener', '1 listener', 'document'])
  adoption.release()
  button.removeEventListener('click', listener)
  button.dispatchEvent(new window.Event('click', { bubbles: true }))
  assert.is(log.length, 3)
})

jobs.run()
