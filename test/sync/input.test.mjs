/**
 * Tests of the errors of sync.mjs: invalid arguments, calls at the wrong time, and calls from other
 * schedulers.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, edf, fp } from '../../rt.mjs'
import { after, sleep, timeout } from '../../alarms.mjs'
import * as module from '../../sync.mjs'
import { errorOf, exportTests, isNumber, isObject, none, parameterTests, throws } from '../support/refusals.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { virtualHost } from '../support/virtual-host.mjs'
import { exactWorld } from '../support/world.mjs'

const {
  Barrier, Channel, ChannelError, DeadlockError, Mutex, OwnershipError, Resource, Semaphore, choice, nonPreemptive, par, race
} = module

const isCount = least => value => Number.isSafeInteger(value) && value >= least

// The requirement in words, the accepted values of the list, and whether other numbers are out of range.
const NAME = { wants: 'a string', takes: value => typeof value === 'string', isOption: true }
const FUNCTION = { wants: 'a function', takes: value => typeof value === 'function', isRequired: true }
const OBJECT = { wants: 'an object', takes: isObject, isOption: true }
const COUNT = { wants: 'an integer >= 0', takes: isCount(0), range: true, isRequired: true }
const PARTIES = { wants: 'an integer >= 1', takes: isCount(1), range: true, isRequired: true }
const SIZE = {
  wants: 'an integer >= 0 or Infinity', takes: value => isCount(0)(value) || value === Infinity, range: true,
  isOption: true
}
const OVERFLOW = { wants: "'block' or 'drop' or 'slide'", takes: none, isOption: true }
const LEVEL = {
  wants: 'a number', takes: value => isNumber(value) && !Number.isNaN(value), range: true, isOption: true
}
const BOOLEAN = { wants: 'a boolean', takes: value => typeof value === 'boolean', isOption: true }
const SIGNAL = { wants: 'an AbortSignal', takes: none, isOption: true }
const SCHEDULER = { wants: 'a Scheduler', takes: none, isOption: true }
const GUARDS = { wants: 'an array', takes: Array.isArray, isRequired: true }
const GUARD = { wants: 'an object', takes: isObject, isRequired: true }
const CHANNEL = { wants: 'a Channel', takes: none }
const DURATION = { wants: 'a number >= 0', takes: value => isNumber(value) && value >= 0, range: true }
const TIME = { ...LEVEL, isOption: false }
const TRUE = { wants: 'true', takes: value => value === true }
const AWAITED = { wants: 'a promise, a job or a waitable', takes: value => value instanceof Promise, isLookedAt: true }
const ACTION = { ...FUNCTION, isRequired: false, isOption: true }
const WORK = {
  wants: 'a function, a Task, a generator, or something to wait for', takes: value => FUNCTION.takes(value) || AWAITED.takes(value),
  isRequired: true, isLookedAt: true
}

/** An object of each kind, and for each object a job that waits. */
function world() {
  const { host, scheduler } = exactWorld()
  const mutex = new Mutex({ name: 'm' })
  const semaphore = new Semaphore(0, { name: 's' })
  const barrier = new Barrier(3, { name: 'b' })
  const empty = new Channel(0, { name: 'empty' })
  const full = new Channel(1, { name: 'full' })
  const resource = new Resource({ name: 'r' })
  full.offer('kept')
  const jobs = [
    function* () { yield mutex.lock(); yield sleep(100) },
    function* () { yield mutex.lock() },
    function* () { yield semaphore.acquire() },
    function* () { yield barrier.wait() },
    function* () { yield empty.receive() },
    function* () { yield full.send('waits') }
  ].map((work, index) => scheduler.spawn(work, { name: `j${index}`, uses: [resource] }))
  for (const job of jobs) job.catch(() => {})
  host.run({ until: 1 })
  const traces = () => ({
    stats: scheduler.stats(),
    states: jobs.map(({ state }) => state),
    posts: host.posts,
    timers: host.timers,
    owner: mutex.owner?.name,
    available: semaphore.available,
    waiting: barrier.waiting,
    channels: [empty, full].map(({ closed, length }) => [closed, length]),
    resource: [resource.holder, resource.ceiling]
  })
  return { host, scheduler, mutex, semaphore, barrier, empty, full, resource, traces }
}

// Every parameter of every export, with valid values for all other parameters.
/** @type {[call: string, name: string, kind: any, act: (here: any, value: any) => void][]} */
const PARAMETERS = [
  ['nonPreemptive', 'section', FUNCTION, (_, value) => nonPreemptive(value)],
  ['nonPreemptive', 'options', OBJECT, (_, value) => nonPreemptive(() => {}, value)],
  ['nonPreemptive', 'scheduler', SCHEDULER, (_, scheduler) => nonPreemptive(() => {}, { scheduler })],
  ['Resource', 'options', OBJECT, (_, value) => new Resource(value)],
  ['Resource', 'ceiling', LEVEL, (_, ceiling) => new Resource({ ceiling })],
  ['Resource', 'name', NAME, (_, name) => new Resource({ name })],
  ['Resource.use', 'section', FUNCTION, ({ resource }, value) => resource.use(value)],
  ['Resource.use', 'options', OBJECT, ({ resource }, value) => resource.use(() => {}, value)],
  ['Resource.use', 'signal', SIGNAL, ({ resource }, signal) => resource.use(() => {}, { signal })],
  ['Resource.use', 'scheduler', SCHEDULER, ({ resource }, scheduler) => resource.use(() => {}, { scheduler })],
  ['Mutex', 'options', OBJECT, (_, value) => new Mutex(value)],
  ['Mutex', 'name', NAME, (_, name) => new Mutex({ name })],
  ['Mutex.lock', 'options', OBJECT, ({ mutex }, value) => mutex.lock(value)],
  ['Mutex.lock', 'signal', SIGNAL, ({ mutex }, signal) => mutex.lock({ signal })],
  ['Mutex.use', 'section', FUNCTION, ({ mutex }, value) => mutex.use(value)],
  ['Mutex.use', 'options', OBJECT, ({ mutex }, value) => mutex.use(() => {}, value)],
  ['Mutex.use', 'signal', SIGNAL, ({ mutex }, signal) => mutex.use(() => {}, { signal })],
  ['Mutex.use', 'scheduler', SCHEDULER, ({ mutex }, scheduler) => mutex.use(() => {}, { scheduler })],
  ['Semaphore', 'permits', COUNT, (_, value) => new Semaphore(value)],
  ['Semaphore', 'options', OBJECT, (_, value) => new Semaphore(1, value)],
  ['Semaphore', 'name', NAME, (_, name) => new Semaphore(1, { name })],
  ['Semaphore.acquire', 'options', OBJECT, ({ semaphore }, value) => semaphore.acquire(value)],
  ['Semaphore.acquire', 'signal', SIGNAL, ({ semaphore }, signal) => semaphore.acquire({ signal })],
  ['Semaphore.use', 'section', FUNCTION, ({ semaphore }, value) => semaphore.use(value)],
  ['Semaphore.use', 'options', OBJECT, ({ semaphore }, value) => semaphore.use(() => {}, value)],
  ['Semaphore.use', 'scheduler', SCHEDULER, ({ semaphore }, scheduler) => semaphore.use(() => {}, { scheduler })],
  ['Barrier', 'parties', PARTIES, (_, value) => new Barrier(value)],
  ['Barrier', 'options', OBJECT, (_, value) => new Barrier(1, value)],
  ['Barrier', 'name', NAME, (_, name) => new Barrier(1, { name })],
  ['Barrier.wait', 'options', OBJECT, ({ barrier }, value) => barrier.wait(value)],
  ['Barrier.wait', 'signal', SIGNAL, ({ barrier }, signal) => barrier.wait({ signal })],
  ['Channel', 'size', SIZE, (_, value) => new Channel(value)],
  ['Channel', 'options', OBJECT, (_, value) => new Channel(1, value)],
  ['Channel', 'overflow', OVERFLOW, (_, overflow) => new Channel(1, { overflow })],
  ['Channel', 'name', NAME, (_, name) => new Channel(1, { name })],
  ['Channel.send', 'options', OBJECT, ({ full }, value) => full.send(1, value)],
  ['Channel.send', 'signal', SIGNAL, ({ full }, signal) => full.send(1, { signal })],
  ['Channel.receive', 'options', OBJECT, ({ full }, value) => full.receive(value)],
  ['Channel.receive', 'signal', SIGNAL, ({ full }, signal) => full.receive({ signal })],
  ['Channel.forEach', 'work', FUNCTION, ({ full }, value) => full.forEach(value)],
  ['Channel.forEach', 'options', OBJECT, ({ full }, value) => full.forEach(() => {}, value)],
  ['Channel.forEach', 'signal', SIGNAL, ({ full }, signal) => full.forEach(() => {}, { signal })],
  ['Channel.forEach', 'scheduler', SCHEDULER, ({ full }, scheduler) => full.forEach(() => {}, { scheduler })],
  ['choice', 'guards', GUARDS, (_, value) => choice(value)],
  ['choice', 'options', OBJECT, ({ full }, value) => choice([{ receive: full }], value)],
  ['choice', 'fair', BOOLEAN, ({ full }, fair) => choice([{ receive: full }], { fair })],
  ['choice', 'signal', SIGNAL, ({ full }, signal) => choice([{ receive: full }], { signal })],
  ['choice', 'scheduler', SCHEDULER, ({ full }, scheduler) => choice([{ receive: full }], { scheduler })],
  ['choice', 'guards[1]', GUARD, ({ full }, value) => choice([{ receive: full }, value])],
  ['choice', 'guards[1].receive', CHANNEL, ({ full }, receive) => choice([{ receive: full }, { receive }])],
  ['choice', 'guards[1].send', CHANNEL, ({ full }, send) => choice([{ receive: full }, { send, value: 1 }])],
  ['choice', 'guards[1].timeout', DURATION, ({ full }, ms) => choice([{ receive: full }, { timeout: ms }])],
  ['choice', 'guards[1].until', TIME, ({ full }, until) => choice([{ receive: full }, { until }])],
  ['choice', 'guards[1].skip', TRUE, ({ full }, skip) => choice([{ receive: full }, { skip }])],
  ['choice', 'guards[1].wait', AWAITED, ({ full }, wait) => choice([{ receive: full }, { wait }])],
  ['choice', 'guards[1].when', BOOLEAN, ({ full }, when) => {
    choice([{ receive: full }, { skip: true, when }])
  }],
  ['choice', 'guards[1].action', ACTION, ({ full }, action) => {
    choice([{ receive: full }, { skip: true, action }])
  }],
  ['par', 'works[1]', WORK, (_, value) => par(() => {}, value)],
  ['par', 'signal', SIGNAL, (_, signal) => par(() => {}, { signal })],
  ['par', 'scheduler', SCHEDULER, (_, scheduler) => par(() => {}, { scheduler })],
  ['race', 'works[1]', WORK, (_, value) => race(() => {}, value)],
  ['race', 'signal', SIGNAL, (_, signal) => race(() => {}, { signal })],
  ['race', 'scheduler', SCHEDULER, (_, scheduler) => race(() => {}, { scheduler })]
]

/** Exports that only the addons use. */
const INTERNAL = ['End', 'NOTHING', 'Supply', 'Turn', 'withSignal']

/** @param {() => void} act @param {Function} type */
const assertThrows = (act, type) => assert.instance(errorOf(act), type)

// ----------------------------------------------------------------------------------------- invalid arguments

const refusals = suite('invalid arguments')

parameterTests(refusals, PARAMETERS, world)

for (const [call, act, message] of /** @type {[string, (here: any) => void, string][]} */ ([
  ['Resource', () => new Resource({ cieling: 1 }), "'cieling'; known are name, ceiling"],
  ['Mutex.use', ({ mutex }) => mutex.use(() => {}, { schedular: 1 }), "'schedular'; known are scheduler, signal"],
  ['Mutex', () => new Mutex({ title: 'm' }), "'title'; known are name"],
  ['Semaphore', () => new Semaphore(1, { nmae: 's' }), "'nmae'; known are name"],
  ['Barrier', () => new Barrier(1, { size: 2 }), "'size'; known are name"],
  ['Channel', () => new Channel(1, { overFlow: 'drop' }), "'overFlow'; known are name, overflow"],
  ['choice', ({ full }) => choice([{ receive: full }], { fiar: true }), "'fiar'; known are scheduler, signal, fair"],
  ['a guard', ({ full }) => choice([{ skip: true }, { receive: full, actoin() {} }]),
    "'guards[1].actoin'; known are receive, send, timeout, until, wait, skip, value, when, action"]
])) {
  refusals(`${call}: an unknown option is rejected`, () => {
    const here = world()
    const before = here.traces()
    const error = errorOf(() => act(here))
    assert.instance(error, TypeError)
    assert.is(error.message, `unknown option ${message}`)
    assert.equal(here.traces(), before)
  })
}

exportTests(refusals, module, PARAMETERS, [...INTERNAL, 'ChannelError', 'DeadlockError', 'OwnershipError'])

refusals('a Resource is rejected as a reservation', () => {
  const scheduler = new Scheduler({ host: virtualHost() })
  const message = 'reservation must be a Reservation, got an object (Resource)'
  assert.throws(() => scheduler.spawn(function* () {}, { reservation: new Resource() }), error => error.message === message)
  assert.is(scheduler.stats().jobs, 0)
})

refusals('a guard needs exactly one kind, a choice one guard, and a race one work', () => {
  const { full } = world()
  const kinds = 'receive, send, timeout, until, wait, skip'
  for (const [guard, got] of [[{}, 'none'], [{ receive: full, timeout: 1 }, 'receive and timeout']]) {
    const error = errorOf(() => choice([guard]))
    assert.instance(error, TypeError)
    assert.is(error.message, `guards[0] must have one of ${kinds}, got ${got}`)
  }
  for (const guards of [[], [{ skip: true, when: false }]]) assertThrows(() => choice(guards), TypeError)
  assertThrows(() => race(), TypeError)
})

refusals('an async generator function is rejected at the call, for every kind of work', () => {
  const given = async function* each() {}
  for (const [name, call] of Object.entries({
    section: () => nonPreemptive(given), work: () => new Channel().forEach(given), 'guards[0].action': () => choice([{ skip: true, action: given }])
  })) {
    assert.throws(call, error => error.message === `${name} must be a generator function, not an async one, got function each`)
  }
})

refusals('the error for works in an array shows how to write the call', () => {
  const got = 'works[0] must be a function, a Task, a generator, or something to wait for, got an array'
  assert.is(errorOf(() => par([() => {}, () => {}])).message, `${got}: write par(...works)`)
  assert.is(errorOf(() => race([() => {}])).message, `${got}: write race(...works)`)
})

refusals('a rejected choice, par or race does not wait for its other waitables', async () => {
  const { host, scheduler } = world()
  const failing = () => scheduler.spawn(() => { throw new Error('nobody waits') })
  for (const act of [
    job => choice([{ skip: true }, { wait: job, when: false }]),
    job => choice([{ wait: job, when: false }, { receive: 5 }]),
    job => choice([{ wait: job }, { receive: 5 }]),
    job => choice([{ wait: job }], 5),
    job => par(job, 5),
    job => race(job, 5)
  ]) {
    const job = failing()
    errorOf(() => act(job))
    const before = host.errors.length
    await host.drain({ until: host.time + 1 })
    assert.is(host.errors.length, before + 1, 'its failure is not reported')
  }
})

refusals.run()

// ----------------------------------------------------------------------------------- calls at the wrong time

const late = suite('calls at the wrong time')

/** The outcome of each act in a job: the name of its error, or its value. */
function seenBy(acts, options = {}) {
  const here = world()
  const log = []
  const job = here.scheduler.spawn(function* () {
    for (const act of acts) {
      try {
        const result = act(here)
        log.push(result !== null && typeof result === 'object' ? yield result : result)
      } catch (error) {
        log.push(error.name)
      }
    }
  }, { name: 'tests', ...options })
  job.catch(() => {})
  here.host.run({ until: 50 })
  return { ...here, log, job }
}

late('unlocking a mutex that is not held throws an OwnershipError', () => {
  const own = new Mutex()
  const { log, mutex } = seenBy([
    () => own.lock(), () => own.unlock(), () => own.unlock(), () => own.unlock(), () => own.locked,
    ({ mutex }) => mutex.unlock()
  ])
  assert.equal(log.map(one => one?.unlock ? 'held' : String(one)), ['held', 'undefined', 'OwnershipError', 'OwnershipError', 'false', 'OwnershipError'])
  assert.is(mutex.owner.name, 'j0')
})

late('locking a held mutex again throws a DeadlockError', () => {
  const own = new Mutex()
  const { log } = seenBy([
    () => own.lock(), () => own.lock(), () => own.use(() => 1), () => own.unlock(), () => own.locked
  ])
  assert.equal(log.map(one => one?.unlock ? 'held' : String(one)), ['held', 'DeadlockError', 'DeadlockError', 'undefined', 'false'])
})

late('a held lock can only be unlocked once, through its own unlock', async () => {
  const mutex = new Mutex()
  const first = await mutex.lock()
  assertThrows(() => mutex.unlock(), OwnershipError)
  const { unlock } = first
  assert.is(mutex.locked, true)
  unlock()
  assertThrows(() => first.unlock(), OwnershipError)
  const second = await mutex.lock()
  assertThrows(() => first.unlock(), OwnershipError)
  assert.is(mutex.locked, true)
  second.unlock()
  assert.is(mutex.locked, false)
})

late('a closed channel accepts no message, reports its reason and closes once', () => {
  const channel = new Channel(2)
  const reason = new Error('broken')
  channel.offer(1)
  assert.equal([channel.close(reason), channel.close('again'), channel.offer(2)], [true, false, false])
  const errors = []
  const catching = waitable => function* () {
    try {
      return yield waitable
    } catch (error) {
      errors.push(error)
    }
  }
  const { log } = seenBy([
    () => catching(channel.send(3))(), () => channel.receive(), () => catching(channel.receive())(),
    () => channel.poll(),
    () => catching(choice([{ receive: channel }, { skip: true }]))()
  ])
  assert.equal(log, [undefined, 1, undefined, undefined, undefined])
  assert.is(errors.length, 3)
  for (const error of errors) {
    assert.instance(error, ChannelError)
    assert.equal([error.reason, error.cause], [reason, reason])
  }
})

late('a wait in a critical section throws a TypeError and leaves no job in a queue', () => {
  const own = new Resource()
  const [mutex, semaphore, barrier] = [new Mutex(), new Semaphore(1), new Barrier(2)]
  const [channel, roomy] = [new Channel(), new Channel(Infinity)]
  const waits = [
    () => mutex.lock(), () => mutex.use(() => 1), () => timeout(1, mutex.lock()), () => semaphore.acquire(),
    () => barrier.wait(), () => channel.send(1), () => channel.receive(), () => channel.forEach(() => {}),
    () => choice([{ receive: channel }, { timeout: 5 }]), () => par(() => 1), () => race(() => 1),
    () => sleep(1), () => Promise.resolve(1)
  ]
  for (const section of [inside => nonPreemptive(inside), inside => own.use(inside)]) {
    const log = []
    const { scheduler, host, job } = seenBy([() => section(function* () {
      for (const wait of waits) {
        try {
          log.push(yield wait())
        } catch (error) {
          log.push(error.name)
        }
      }
      yield roomy.send(1)
      log.push((yield choice([{ receive: channel }, { skip: true }])).index, channel.offer(1), channel.poll())
    })], { uses: [own] })
    assert.equal(log, [...waits.map(() => 'TypeError'), 1, false, undefined])
    assert.is(job.state, 'done')
    assert.equal([mutex.locked, semaphore.available, barrier.waiting, own.holder], [false, 1, 0, null])
    assert.is(scheduler.spawn(function* () {}).state, 'ready')
    host.run({ until: 60 })
  }
})

late('nested use of one resource throws an OwnershipError and keeps the outer section', () => {
  const own = new Resource()
  const { log } = seenBy([
    () => own.use(function* () {
      try {
        yield own.use(throws)
      } catch (error) {
        return [error.name, own.holder.name, own.ceiling].join(' ')
      }
    }),
    () => own.holder,
    () => own.use(() => 'again')
  ], { uses: [own] })
  assert.equal(log, ['OwnershipError tests 0', null, 'again'])
})

late('a section of an undeclared resource throws a TypeError before it starts', () => {
  const { log, resource } = seenBy([({ resource }) => resource.use(throws), () => 'goes on'])
  assert.equal([log, resource.holder], [['TypeError', 'goes on'], null])
})

late('critical sections, par and race throw outside jobs', () => {
  assertThrows(() => nonPreemptive(() => 1).next(), TypeError)
  assertThrows(() => new Resource().use(() => 1)[Symbol.iterator]().next(), TypeError)
  assertThrows(() => par()[Symbol.iterator]().next(), TypeError)
})

late('finally blocks of cancelled jobs can wait in all ways', () => {
  const { host, scheduler } = world()
  const [mutex, semaphore, barrier] = [new Mutex(), new Semaphore(0), new Barrier(2)]
  const [there, back] = [new Channel(), new Channel()]
  const log = []
  const cancelled = scheduler.spawn(function* () {
    try {
      yield sleep(1000)
    } finally {
      yield mutex.lock()
      log.push(mutex.owner.name)
      mutex.unlock()
      yield semaphore.acquire()
      yield barrier.wait()
      yield there.send('sent')
      log.push(yield back.receive(), (yield choice([{ receive: back }, { timeout: 3 }])).index)
      log.push(...yield par(() => 'a', function* () { yield sleep(1); return 'b' }))
      log.push(yield nonPreemptive(() => 'section'))
    }
  }, { name: 'cancelled' })
  scheduler.spawn(function* () {
    yield mutex.use(() => sleep(4))
    semaphore.release()
    yield barrier.wait()
    log.push(yield there.receive())
    yield back.send('answered')
  })
  const reason = new Error('cancelled')
  let error
  cancelled.catch(given => { error = given })
  after(2, () => { cancelled.cancel(reason) }, { scheduler })
  return host.drain({ until: 50 }).then(() => {
    assert.equal(log, ['cancelled', 'sent', 'answered', 1, 'a', 'b', 'section'])
    assert.equal([cancelled.state, error], ['cancelled', reason])
  })
})

late('an aborted signal ends any wait of its job', () => {
  const waits = {
    lock: ({ mutex }) => mutex.lock(),
    use: ({ mutex }) => mutex.use(throws),
    acquire: ({ semaphore }) => semaphore.acquire(),
    barrier: ({ barrier }) => barrier.wait(),
    receive: ({ empty }) => empty.receive(),
    send: ({ full }) => full.send('never'),
    choice: ({ empty, full }) => choice([{ receive: empty, action: throws }, { send: full, value: 'never' }]),
    forEach: ({ empty }) => empty.forEach(throws),
    par: ({ empty }) => par(() => empty.receive(), () => empty.receive()),
    race: ({ empty }) => race(() => empty.receive())
  }
  for (const [name, wait] of Object.entries(waits)) {
    const here = world()
    const { host, scheduler, mutex, semaphore, barrier, empty, full } = here
    const controller = new AbortController()
    const job = scheduler.spawn(function* () { yield wait(here) }, { signal: controller.signal })
    job.catch(() => {})
    host.run({ until: 5 })
    assert.is(job.state, 'waiting', name)
    controller.abort()
    host.run({ until: 6 })
    assert.is(job.state, 'cancelled', name)
    // The calls below serve the other waiters. After them no job must be waiting.
    semaphore.release()
    semaphore.release()
    assert.equal([semaphore.available, barrier.waiting], [1, 1], name)
    assert.equal([empty.offer(1), empty.offer(2)], [true, false], name)
    assert.equal([full.poll(), full.poll(), full.poll()], ['kept', 'waits', undefined], name)
    host.run({ until: 200 })
    assert.equal([mutex.locked, host.errors], [false, []], name)
  }
})

late('waitables cancelled before their start have no effect when awaited later', async () => {
  const { host, scheduler, empty } = world()
  const send = new Channel(1)
  const lazy = [send.send(1), new Mutex().lock(), choice([{ send, value: 2, action: throws }]), par(throws)]
  const job = scheduler.spawn(function* () { for (const one of lazy) yield one })
  job.cancel()
  job.catch(() => {})
  await host.drain({ until: 5 })
  assert.equal([job.state, send.length, empty.closed], ['cancelled', 0, false])
})

late.run()

// ---------------------------------------------------------------------------------------- other schedulers

const foreign = suite('synchronization of several schedulers')

/** Two schedulers with different policies on one host. */
function pair() {
  const host = virtualHost()
  const options = { host, slice: 1, round: 2, budget: 1 }
  const [one, other] = [fp, edf].map(policy => new Scheduler({ ...options, policy }))
  return { host, one, other }
}

foreign('a mutex excludes jobs of several schedulers and detects cycles across them', async () => {
  const { host, one, other } = pair()
  const [a, b] = [new Mutex({ name: 'a' }), new Mutex({ name: 'b' })]
  let inside = 0
  const visit = () => a.use(function* () {
    assert.is(++inside, 1)
    yield sleep(1)
    inside--
  })
  const visits = [one, other, one, other].map(scheduler => scheduler.spawn(function* () {
    for (let n = 0; n < 5; n++) yield visit()
  }))
  host.run()
  assert.equal([visits.map(({ state }) => state), a.locked, host.time], [Array(4).fill('done'), false, 20])

  const nest = (first, second) => function* () {
    yield first.use(function* () {
      yield sleep(1)
      yield second.use(() => {})
    })
  }
  const crossed = [one.spawn(nest(a, b)), other.spawn(nest(b, a))]
  const outcomes = Promise.allSettled(crossed)
  await host.drain()
  assert.equal((await outcomes).map(({ reason }) => reason?.constructor).filter(Boolean), [DeadlockError])
  assert.equal([a.locked, b.locked], [false, false])
})

foreign('channels, semaphores and barriers connect jobs of several schedulers', () => {
  const { host, one, other } = pair()
  const [channel, semaphore, barrier] = [new Channel(), new Semaphore(0), new Barrier(2)]
  const log = []
  one.spawn(function* () {
    for (let n = 0; n < 3; n++) yield channel.send(n)
    semaphore.release()
    yield barrier.wait()
    log.push('one')
  })
  other.spawn(function* () {
    for (let n = 0; n < 3; n++) log.push(yield choice([{ receive: channel, action: value => value * 2 }]))
    yield semaphore.acquire()
    log.push('acquired')
    yield barrier.wait()
    log.push('other')
  })
  host.run()
  assert.equal(log.slice(0, 4), [0, 2, 4].map(value => ({ index: 0, value })).concat('acquired'))
  assert.equal(log.slice(4).sort(), ['one', 'other'])
})

foreign('channels, barriers and semaphores serve code outside jobs together with jobs', async () => {
  const { host, one } = pair()
  const [channel, barrier, semaphore] = [new Channel(), new Barrier(2), new Semaphore(0)]
  one.spawn(function* () {
    yield channel.send('from a job')
    yield barrier.wait()
    semaphore.release()
  })
  const awaited = Promise.all([
    channel.receive(), barrier.wait(), semaphore.acquire(),
    choice([{ receive: channel }, { skip: true }]), timeout(5, channel.receive(), { scheduler: one })
  ].map(waitable => Promise.resolve(waitable).catch(error => error.name)))
  await host.drain({ until: 10 })
  const skipped = { index: 1, value: undefined }
  assert.equal(await awaited, ['from a job', undefined, undefined, skipped, 'TimeoutError'])
})

/** Calls that take a function, each with the part of its outcome that is the result of the function. */
const CALLS = {
  nonPreemptive: [(work, options) => nonPreemptive(work, options), value => value],
  'resource.use': [(work, options) => new Resource({ ceiling: 0 }).use(work, options), value => value],
  'mutex.use': [(work, options) => new Mutex().use(work, options), value => value],
  'semaphore.use': [(work, options) => new Semaphore(1).use(work, options), value => value],
  par: [(work, options) => par(...[work, options].filter(Boolean)), ([value]) => value],
  race: [(work, options) => race(...[work, options].filter(Boolean)), ({ value }) => value],
  choice: [(work, options) => choice([{ skip: true, action: work }], options), ({ value }) => value],
  'channel.forEach': [(work, options) => {
    const channel = new Channel(1)
    channel.offer(1)
    channel.close()
    return channel.forEach(work, options)
  }, () => undefined]
}

for (const [name, [call, resultOf]] of Object.entries(CALLS)) {
  foreign(`${name} outside jobs runs in a job of the given scheduler`, async () => {
    const { host, one, other } = pair()
    const seen = []
    const work = function* () {
      seen.push(one.current !== null, other.current !== null)
      yield
      return 'result'
    }
    const outcomes = [call(work, { scheduler: one }), call(() => work(), { scheduler: other })]
      .map(called => called.then(resultOf))
    await host.drain()
    assert.equal(seen, [true, false, false, true])
    const result = name === 'channel.forEach' ? undefined : 'result'
    assert.equal(await Promise.all(outcomes), [result, result])
  })

  foreign(`${name} in a job runs on the scheduler of that job, not on the given one`, () => {
    const { host, one, other } = pair()
    const seen = []
    const job = one.spawn(function* () {
      yield call(() => seen.push(one.current !== null, other.current), { scheduler: other })
    })
    host.run()
    assert.equal([seen, job.state], [[true, null], 'done'])
  })
}

foreign('a section awaited outside jobs returns its result or throws its error', async () => {
  const { host, one } = pair()
  const wrong = new Error('inside')
  const outcomes = Promise.allSettled([
    nonPreemptive(() => 1, { scheduler: one }),
    nonPreemptive(function* () { yield; return 2 }, { scheduler: one }),
    nonPreemptive(() => { throw wrong }, { scheduler: one })
  ])
  await host.drain()
  assert.equal((await outcomes).map(({ value, reason }) => value ?? reason), [1, 2, wrong])
})

foreign('a choice outside jobs uses the clock of the given scheduler', async () => {
  const { host, one } = pair()
  const scheduler = one
  const outcomes = [
    choice([{ receive: new Channel() }, { timeout: 5 }], { scheduler }),
    choice([{ until: 7 }, { timeout: 9 }], { scheduler }),
    choice([{ timeout: Infinity }, { until: Infinity }, { timeout: 8, action: () => 'late' }], { scheduler })
  ].map(one => one.then(({ index, value }) => [index, value, host.time]))
  await host.drain()
  assert.is(host.time, 8)
  assert.equal(await Promise.all(outcomes), [[1, undefined, 5], [0, undefined, 7], [2, 'late', 8]])
})

foreign.run()

// ----------------------------------------------------------------------------------- memory after waits

const memory = suite('memory after waits')

const MANY = 1e5

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

/** Bytes of the heap after a garbage collection. */
function heap() {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

memory('100 000 waits that time out or lose a choice leave no job in a queue', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 'auto', slice: Infinity, round: Infinity })
  const [mutex, semaphore, barrier] = [new Mutex(), new Semaphore(0), new Barrier(2)]
  const channels = [new Channel(), new Channel()]
  const hold = scheduler.spawn(function* () {
    yield mutex.lock()
    yield new Channel().receive()
  })
  hold.catch(() => {})
  scheduler.spawn(function* () {
    for (let n = 0; n < MANY / 5; n++) {
      yield choice([
        { wait: mutex.lock() }, { wait: semaphore.acquire() }, { wait: barrier.wait() },
        { receive: channels[0] }, { send: channels[1], value: n }, { timeout: 1 }, { timeout: 1e7 }
      ])
    }
  })
  host.run()
  assert.is(host.time, MANY / 5)
  semaphore.release()
  hold.cancel()
  host.run()
  assert.equal([mutex.locked, semaphore.available, barrier.waiting], [false, 1, 0])
  assert.equal([host.timers, host.posts], [[], 0])
  assert.equal([channels[0].offer(1), channels[1].poll()], [false, undefined])
})

memory('100 000 cancelled jobs leave no entry in the queues where they waited', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 'auto', slice: Infinity, round: Infinity })
  const mutex = new Mutex()
  const [there, back] = [new Channel(), new Channel()]
  scheduler.spawn(function* () {
    yield mutex.lock()
    yield new Channel().receive()
  }, { deadline: 1 }).catch(() => {})
  await host.drain()
  const before = heap()
  for (let n = 0; n < MANY / 1000; n++) {
    const jobs = Array.from({ length: 1000 }, (_, index) => scheduler.spawn(function* () {
      if (index % 3 === 0) yield mutex.lock()
      else if (index % 3 === 1) yield there.receive()
      else yield choice([{ receive: there }, { send: back, value: index }])
    }, { deadline: index + 1 }))
    for (const job of jobs) job.catch(() => {})
    await host.drain({ until: host.time + 1 })
    for (const job of jobs) {
      assert.is(job.state, 'waiting')
      job.cancel()
    }
    await host.drain({ until: host.time + 1 })
    for (const job of jobs) assert.is(job.state, 'cancelled')
  }
  assert.equal([there.offer(1), back.poll(), host.timers, host.posts], [false, undefined, [], 0])
  const grown = heap() - before
  assert.ok(grown < 20 * MANY, `${grown} bytes are left`)
})

memory('random waits and cancellations keep the queues in order', () => forSeeds(100, random => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, policy: fp, budget: 1, slice: Infinity, round: Infinity })
  const channel = new Channel()
  const log = []
  const jobs = Array.from({ length: random.integer(1, 30) }, (_, index) => {
    const priority = random.integer(0, 3)
    const job = scheduler.spawn(function* () { log.push([yield channel.receive(), index]) }, { priority })
    job.catch(() => {})
    return { index, job, priority }
  })
  host.run()
  const left = jobs.filter(({ job }) => {
    const leaves = random.chance(0.5)
    if (leaves) job.cancel()
    return !leaves
  })
  host.run()
  left.forEach((_, n) => {
    assert.is(channel.offer(n), true)
    host.run()
  })
  assert.is(channel.offer('too many'), false)
  const order = left.sort((a, b) => b.priority - a.priority || a.index - b.index)
  assert.equal(log, order.map(({ index }, n) => [n, index]))
}))

memory.run()
