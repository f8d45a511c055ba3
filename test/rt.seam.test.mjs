/**
 * What alarms.mjs and sync.mjs stand on, shown by what they make of it: textbook schedules of locks, ceilings and alarms;
 * waitables, events and closed schedulers.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlineError, DeadlockError, Scheduler, edf, fp, seam } from '../rt.mjs'
import { Reservation, TimeoutError, after, every, sleep, timeout } from '../alarms.mjs'
import { Channel, Mutex, Resource, Semaphore, choice, nonPreemptive } from '../sync.mjs'
import { assertTrace, executions, record } from './support/trace.mjs'
import { execute, microtasks, virtualHost } from './support/virtual-host.mjs'
import { finishOrder, world as plainWorld, exactWorld as world } from './support/world.mjs'

/** Waits for all of several jobs, as a fork and join would. */
class All extends seam.Waitable {
  constructor(...jobs) {
    super()
    this.parts = jobs.map(job => seam.Waitable.of(job))
  }

  begin(job) {
    let left = this.parts.length
    const woken = () => { if (--left === 0) this.wake(this.parts.map(({ outcome }) => outcome)) }
    this.party = { job, woken }
    for (const part of this.parts) if (part.enlist(this.party)) woken()
  }

  undo() {
    for (const part of this.parts) part.leave(this.party)
  }

  refresh() {
    for (const part of this.parts) part.refresh()
  }
}

/** Steps of work with a point before each: what happens in a step is seen before the next one. */
function* work(host, ms) {
  for (; ms > 0; ms--) {
    yield
    host.advance(1)
  }
}

/** The first of several things to wait for. */
const either = (...ways) => choice(ways.map(wait => ({ wait })))

const rejection = promise => promise.then(() => assert.unreachable('it was fulfilled'), error => error)

const LONGEST_DELAY = 2 ** 31 - 1

// -------------------------------------------------------------------------------------- priority inheritance

const inheritance = suite('locks with priority inheritance')

/** The bus of the Mars Pathfinder: a short user of low priority, one of high, a long job between. */
function pathfinder(bus) {
  const { host, scheduler, trace } = world()
  scheduler.spawn(function* () {
    yield bus.use(() => work(host, 3))
    yield* work(host, 1)
  }, { name: 'weather', priority: 1 })
  scheduler.spawn(function* () {
    yield* work(host, 1)
    yield bus.use(() => work(host, 1))
  }, { name: 'manager', priority: 3, release: 1, deadline: 5 })
  scheduler.spawn(() => work(host, 5), { name: 'radio', priority: 2, release: 2 })
  host.run()
  return trace
}

inheritance('priority inversion without it: the middle job keeps the high one waiting, which misses', () => {
  assertTrace(pathfinder(new Semaphore(1, { name: 'bus' })), `
    0 release weather
    0 start weather
    1 release manager
    1 preempt weather by=manager
    1 start manager
    2 release radio
    2 block manager on=bus.acquire()
    2 start radio
    7 finish radio
    7 miss manager
    7 resume weather
    9 wake manager
    9 preempt weather by=manager
    9 resume manager
    10 finish manager
    10 resume weather
    11 finish weather`)
})

inheritance('no priority inversion with it: the holder runs on the standing of its waiter', () => {
  assertTrace(pathfinder(new Mutex({ name: 'bus' })), `
    0 release weather
    0 start weather
    1 release manager
    1 preempt weather by=manager
    1 start manager
    2 release radio
    2 block manager on=bus
    2 resume weather
    4 wake manager
    4 preempt weather by=manager
    4 resume manager
    5 finish manager
    5 start radio
    10 finish radio
    10 resume weather
    11 finish weather`)
})

/** c holds inner and never waits; b holds outer and waits for inner; a waits for outer. */
function chain({ host, scheduler }, more = () => {}) {
  const inner = new Mutex({ name: 'inner' })
  const outer = new Mutex({ name: 'outer' })
  const jobs = {
    c: scheduler.spawn(function* () {
      yield inner.use(() => work(host, 6))
      yield* work(host, 1)
    }, { name: 'c', priority: 1 }),
    b: scheduler.spawn(function* () {
      yield outer.use(function* () {
        yield* work(host, 1)
        yield inner.use(() => work(host, 1))
      })
      yield* work(host, 1)
    }, { name: 'b', priority: 2, release: 1 }),
    a: scheduler.spawn(() => outer.use(() => work(host, 1)), { name: 'a', priority: 4, release: 3 })
  }
  scheduler.spawn(() => work(host, 2), { name: 'between', priority: 3, release: 4 })
  more(jobs)
  host.run()
}

inheritance('is transitive', () => {
  const run = world()
  chain(run)
  assertTrace(run.trace, `
    0 release c
    0 start c
    1 release b
    1 preempt c by=b
    1 start b
    2 block b on=inner
    2 resume c
    3 release a
    3 preempt c by=a
    3 start a
    3 block a on=outer
    3 resume c
    4 release between
    7 wake b
    7 preempt c by=b
    7 resume b
    8 wake a
    8 preempt b by=a
    8 resume a
    9 finish a
    9 start between
    11 finish between
    11 resume b
    12 finish b
    12 resume c
    13 finish c`)
})

inheritance('is undone along the chain when the waiter at its end is cancelled', () => {
  const run = world()
  chain(run, ({ a }) => {
    run.scheduler.spawn(() => { a.cancel('no more') }, { name: 'canceller', priority: 5, release: 5 })
  })
  assertTrace(run.trace, `
    0 release c
    0 start c
    1 release b
    1 preempt c by=b
    1 start b
    2 block b on=inner
    2 resume c
    3 release a
    3 preempt c by=a
    3 start a
    3 block a on=outer
    3 resume c
    4 release between
    5 release canceller
    5 preempt c by=canceller
    5 start canceller
    5 wake a
    5 finish canceller
    5 resume a
    5 cancel a error=no more
    5 start between
    7 finish between
    7 resume c
    9 wake b
    9 preempt c by=b
    9 resume b
    11 finish b
    11 resume c
    12 finish c`)
})

inheritance('follows a waiter whose priority is changed, up and down, along the chain', () => {
  const run = world()
  const { host, scheduler } = run
  chain(run, ({ a }) => {
    after(4.5, () => { a.priority = 2.5 }, { scheduler }) // below between
    after(5.5, () => { a.priority = 3.5 }, { scheduler }) // above it again
  })
  const ran = executions(run.trace.records)
  const intervals = Object.fromEntries([...ran].map(([job, list]) => [job.name, list]))
  assert.equal(intervals, {
    c: [[0, 1], [2, 5], [6, 8], [12, 13]],
    b: [[1, 2], [8, 9], [11, 12]],
    a: [[9, 10]],
    between: [[5, 6], [10, 11]]
  })
  assert.is(host.time, 13)
})

inheritance('follows a waiter whose deadline is changed; under edf the holder runs by it', () => {
  const { host, scheduler, trace } = world({ policy: edf })
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(() => work(host, 4)), { name: 'holder', deadline: 100 })
  const use = () => mutex.use(() => work(host, 1))
  const waiter = scheduler.spawn(use, { name: 'waiter', deadline: 60, release: 1 })
  scheduler.spawn(() => work(host, 3), { name: 'rival', deadline: 40, release: 2 })
  scheduler.spawn(() => { waiter.deadline = 20 }, { name: 'setter', deadline: 10, release: 3 })
  host.run()
  assertTrace(trace, `
    0 release holder
    0 start holder
    1 release waiter
    1 preempt holder by=waiter
    1 start waiter
    1 block waiter on=mutex
    1 resume holder
    2 release rival
    2 preempt holder by=rival
    2 start rival
    3 release setter
    3 preempt rival by=setter
    3 start setter
    3 finish setter
    3 resume holder
    5 wake waiter
    5 finish holder
    5 resume waiter
    6 finish waiter
    6 resume rival
    8 finish rival`)
})

inheritance('a holder raised by the running job, through its waiter, goes on at the next point', () => {
  const { host, scheduler, log } = world({ budget: 100 })
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(function* () {
    yield sleep(1)
    log.push('holder')
  }), { priority: 0 })
  const waiter = scheduler.spawn(() => mutex.use(() => {}), { priority: 0 })
  scheduler.spawn(function* () {
    yield sleep(0.5)
    host.advance(1)
    for (let i = 0; i < 100; i++) yield // meanwhile the holder wakes, and is ready
    waiter.priority = 5
    log.push('running')
    yield
    log.push('running')
  }, { priority: 1 })
  host.run()
  assert.equal(log, ['running', 'holder', 'running'])
})

inheritance('belongs to whoever owns the queue, from when he does until he does no more', () => {
  const { host, scheduler, log } = world()
  const queue = new seam.Queue()
  class Turn extends seam.Waitable {
    begin(job) { queue.push(this, job) }
  }
  scheduler.spawn(function* () { yield new Turn() }, { priority: 5 })
  const [one, other] = ['one', 'other'].map(name => scheduler.spawn(function* () {
    for (let i = 0; i < 3; i++) {
      yield* work(host, 1)
      log.push(name)
    }
  }, { name, priority: 0 }))
  scheduler.spawn(function* () {
    yield* work(host, 2)
    log.push('rival')
  }, { priority: 1, release: 1 })
  queue.owner = other
  assert.is(queue.owner, other)
  after(1, () => { queue.owner = one }, { scheduler })
  after(2, () => { queue.owner = null }, { scheduler })
  host.run()
  assert.equal(log, ['other', 'one', 'rival', 'one', 'one', 'other', 'other'])
})

inheritance('leaves deadlines and misses with their owner', () => {
  const { host, scheduler } = world({ policy: edf })
  const mutex = new Mutex({ name: 'mutex' })
  const use = ms => mutex.use(() => work(host, ms))
  const holder = scheduler.spawn(use, { name: 'holder', deadline: 100 }, 5)
  const waiter = scheduler.spawn(use, { name: 'waiter', deadline: 3, release: 1 }, 1)
  host.run()
  assert.equal([holder.missed, holder.absoluteDeadline, holder.lateness], [false, 100, -95])
  assert.equal([waiter.missed, waiter.lateness], [true, 2])
})

inheritance('hands the lock over by eligibility, among equals in order of arrival; re-keying counts', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const user = (name, priority, release) => scheduler.spawn(() => mutex.use(function* () {
    log.push(name)
    yield* work(host, 1)
  }), { name, priority, release })
  user('holder', 9)
  user('low', 1, 0.1)
  user('equal 1', 2, 0.2)
  const raised = user('raised', 0, 0.3)
  user('equal 2', 2, 0.4)
  user('high', 3, 0.5)
  // Each of them is released, and blocks, while the holder's section lasts.
  scheduler.spawn(() => { raised.priority = 2.5 }, { priority: 10, release: 1 })
  host.run()
  assert.equal(log, ['holder', 'high', 'raised', 'equal 1', 'equal 2', 'low'])
})

inheritance('under edf waiters of equal deadlines are served by priority', () => {
  const { host, scheduler, log } = world({ policy: edf })
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(() => sleep(1)), { deadline: 5 })
  for (const priority of [1, 3, 2]) {
    const job = scheduler.spawn(() => mutex.use(() => { log.push(priority) }), { deadline: 20 })
    after(0.5, () => { job.priority = priority }, { scheduler })
  }
  host.run()
  assert.equal(log, [3, 2, 1])
})

inheritance('every owner inherits from a job that waits for one of several locks', () => {
  const { host, scheduler, log } = world()
  const first = new Mutex({ name: 'first' })
  const second = new Mutex({ name: 'second' })
  const holder = (name, mutex) => scheduler.spawn(() => mutex.use(function* () {
    yield sleep(1)
    yield* work(host, 1)
    log.push(`${name} at ${host.time}`)
  }), { name, priority: 1 })
  holder('a', first)
  holder('b', second)
  const waiter = scheduler.spawn(function* () {
    const { index } = yield either(first.lock(), second.lock())
    log.push(`waiter has ${index} at ${host.time}`)
    ;[first, second][index].unlock()
  }, { name: 'waiter', priority: 3, release: 0.5 })
  scheduler.spawn(() => work(host, 4), { name: 'rival', priority: 2, release: 0.5 })
  host.run()
  // b loses what it inherited when the choice has committed.
  assert.equal(log, ['a at 2.5', 'waiter has 0 at 2.5', 'b at 6.5'])
  assert.equal([first.locked, second.locked], [false, false])
  assert.is(waiter.state, 'done')
})

inheritance('raising a job that waits for one of several locks raises all of their owners', () => {
  const { host, scheduler, log } = world()
  const one = new Mutex({ name: 'one' })
  const other = new Mutex({ name: 'other' })
  scheduler.spawn(() => one.use(function* () {
    yield sleep(3)
    log.push('owner of one')
    yield sleep(20)
  }), { priority: 1 })
  scheduler.spawn(() => other.use(function* () {
    yield sleep(2)
    log.push('owner of the other')
  }), { priority: 1 })
  const waiter = scheduler.spawn(function* () { yield either(other.lock(), one.lock()) }, { priority: 0.5 })
  for (const priority of [5, 4, 3, 2]) {
    scheduler.spawn(function* () {
      yield sleep(2.5)
      log.push(priority)
    }, { priority })
  }
  scheduler.spawn(function* () {
    yield sleep(1)
    waiter.priority = 1.8
    yield* work(host, 4)
    waiter.priority = 10
  }, { priority: 20 })
  host.run({ until: 10 })
  assert.equal(log, ['owner of one', 'owner of the other', 5, 4, 3, 2])
})

inheritance('raising a job that waits for several jobs raises all of them', () => {
  for (const count of [2, 3, 7]) {
    const { host, scheduler, log } = world()
    const parent = scheduler.spawn(function* () {
      const children = Array.from({ length: count }, (_, i) => scheduler.spawn(function* () {
        yield sleep(count - i)
        log.push('child')
        yield sleep(1)
      }, { priority: i % 2 }))
      yield new All(...children)
      log.push('parent')
    }, { priority: 1.5 })
    for (const priority of [5, 4, 3, 2]) {
      scheduler.spawn(function* () {
        yield sleep(count / 2)
        log.push(priority)
      }, { priority })
    }
    scheduler.spawn(function* () {
      yield sleep(0.5)
      yield* work(host, 10) // meanwhile all the others wake, but none can run
      parent.priority = 10
    }, { priority: 20 })
    host.run()
    assert.equal(log, [...Array(count).fill('child'), 5, 4, 3, 2, 'parent'])
  }
})

inheritance('goes on through jobs that wait for jobs', () => {
  const { host, scheduler, trace } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const use = ms => mutex.use(() => work(host, ms))
  scheduler.spawn(use, { name: 'holder', priority: 1 }, 2)
  const child = scheduler.spawn(use, { name: 'child', priority: 2, release: 0.5 }, 1)
  scheduler.spawn(function* () { yield child }, { name: 'parent', priority: 4, release: 0.5 })
  scheduler.spawn(() => work(host, 1), { name: 'rival', priority: 3, release: 0.5 })
  host.run()
  assertTrace(trace, `
    0 release holder
    0 start holder
    1 release child
    1 release parent
    1 release rival
    1 preempt holder by=parent
    1 start parent
    1 block parent on=child
    1 start child
    1 block child on=mutex
    1 resume holder
    2 wake child
    2 finish holder
    2 resume child
    3 finish child
    3 wake parent
    3 resume parent
    3 finish parent
    3 start rival
    4 finish rival`)
})

inheritance.run()

// ------------------------------------------------------------------------------------------------- ownership

const ownership = suite('owners and cycles')

/** Jobs that lock `first`, wait, lock `second`. */
function crossing({ host, scheduler }, pairs) {
  return pairs.map(([name, first, second], i) => scheduler.spawn(() => first.use(function* () {
    yield sleep(1)
    yield second.use(() => work(host, 1))
  }), { name, priority: i }))
}

ownership('a cycle of two locks is found when it closes: DeadlockError with the names', async () => {
  const run = world()
  const a = new Mutex({ name: 'a' })
  const b = new Mutex({ name: 'b' })
  const [left, right] = crossing(run, [['left', a, b], ['right', b, a]])
  const error = rejection(left)
  run.host.run()
  assert.instance(await error, DeadlockError)
  assert.is((await error).message, 'deadlock: left waits for right waits for left')
  assert.equal((await error).jobs, [right, left])
  assert.equal([left.state, right.state, run.host.time], ['failed', 'done', 2])
})

ownership('a cycle of three locks is found when it closes', async () => {
  const run = world()
  const [a, b, c] = ['a', 'b', 'c'].map(name => new Mutex({ name }))
  const [one, two, three] = crossing(run, [['one', a, b], ['two', b, c], ['three', c, a]])
  // Three waits for one, which inherits and so waits for two, which inherits and closes the circle.
  const error = rejection(two)
  run.host.run()
  assert.is((await error).message, 'deadlock: two waits for three waits for one waits for two')
  assert.equal([one.state, three.state], ['done', 'done'])
})

ownership('a cycle of a lock and a job that waits for a job is found', async () => {
  const { host, scheduler } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const owner = scheduler.spawn(() => mutex.use(function* () {
    yield scheduler.spawn(() => mutex.use(() => work(host, 1)), { name: 'child' })
  }), { name: 'owner' })
  const error = rejection(owner)
  host.run()
  assert.is((await error).message, 'deadlock: child waits for owner waits for child')
})

ownership('a lock taken twice by one job is a cycle of one', async () => {
  const { host, scheduler } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const twice = () => mutex.use(() => mutex.use(() => work(host, 1)))
  const error = rejection(scheduler.spawn(twice, { name: 'job' }))
  host.run()
  assert.is((await error).message, 'deadlock: job waits for job')
  assert.is(mutex.owner, null)
})

ownership('who catches the DeadlockError may go on', async () => {
  const { host, scheduler, log } = world()
  const a = new Mutex({ name: 'a' })
  const b = new Mutex({ name: 'b' })
  const careful = function* () {
    yield a.lock()
    yield sleep(1)
    try {
      yield b.lock()
    } catch (error) {
      log.push(error.name)
      a.unlock()
      yield b.lock()
    }
    b.unlock()
  }
  const job = scheduler.spawn(careful)
  const other = scheduler.spawn(() => b.use(function* () {
    yield sleep(1)
    yield a.use(() => work(host, 1))
  }), { priority: 1 })
  host.run()
  assert.equal([job.state, other.state, log], ['done', 'done', ['DeadlockError']])
  assert.equal([a.owner, b.owner], [null, null])
})

ownership('sections release their lock when they throw and when they are cancelled', async () => {
  const { host, scheduler, trace } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const broken = rejection(scheduler.spawn(() => mutex.use(function* () {
    yield* work(host, 1)
    throw new Error('no')
  }), { name: 'broken', priority: 3 }))
  const stopped = scheduler.spawn(() => mutex.use(() => work(host, 9)), { name: 'stopped', priority: 2 })
  scheduler.spawn(() => mutex.use(() => work(host, 1)), { name: 'last', priority: 1 })
  after(4, () => stopped.cancel('enough'), { scheduler })
  host.run()
  await broken
  assertTrace(trace, `
    0 release broken
    0 release stopped
    0 release last
    0 start broken
    1 fail broken error=Error
    1 start stopped
    4 alarm due=4
    4 cancel stopped error=enough
    4 start last
    5 finish last`)
})

ownership('a lock whose owner ended without unlocking goes to whoever asks next', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(function* () { yield mutex.lock() }, { name: 'dead' })
  scheduler.spawn(() => mutex.use(() => { log.push(mutex.owner.name) }), { name: 'heir', release: 1 })
  host.run()
  assert.equal(log, ['heir'])
})

ownership('a waiter that is cancelled or times out leaves the queue, and takes back what it lent', () => {
  const { host, scheduler, log, trace } = world()
  const mutex = new Mutex({ name: 'mutex' })
  scheduler.spawn(() => mutex.use(() => work(host, 6)), { name: 'owner', priority: 1 })
  scheduler.spawn(function* () {
    try {
      yield timeout(2, mutex.lock())
    } catch (error) {
      log.push(error.name)
    }
  }, { name: 'patient', priority: 3, release: 1 })
  scheduler.spawn(() => work(host, 1), { name: 'rival', priority: 2, release: 2 })
  host.run()
  assert.equal(log, ['TimeoutError'])
  assert.is(mutex.locked, false)
  assertTrace(trace, `
    0 release owner
    0 start owner
    1 release patient
    1 preempt owner by=patient
    1 start patient
    1 block patient on=Timeout
    1 resume owner
    2 release rival
    3 alarm due=3
    3 wake patient
    3 preempt owner by=patient
    3 resume patient
    3 finish patient
    3 start rival
    4 finish rival
    4 resume owner
    7 finish owner`)
})

ownership('a waiter cancelled twice over, and its owner too, leave no trace in the queue', () => {
  const { host, scheduler } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const use = () => mutex.use(() => work(host, 5))
  const owner = scheduler.spawn(use, { priority: 4 })
  const waiters = [1, 2, 3].map(priority => scheduler.spawn(use, { priority }))
  after(2, () => {
    for (const job of [...waiters, owner, ...waiters]) job.cancel('all')
  }, { scheduler })
  host.run()
  assert.equal([owner, ...waiters].map(({ state }) => state), Array(4).fill('cancelled'))
  assert.is(mutex.locked, false)
})

ownership('a job that is cancelled between the hand-over and its next step unlocks what it got', () => {
  const { host, scheduler, log } = world()
  const mutex = new Mutex({ name: 'mutex' })
  const first = scheduler.spawn(function* () {
    yield mutex.use(() => work(host, 1))
    second.cancel('too late')
    yield
  }, { priority: 3 })
  const second = scheduler.spawn(() => mutex.use(() => { log.push('never') }), { priority: 2 })
  const third = scheduler.spawn(() => mutex.use(() => work(host, 1)), { priority: 1 })
  host.run()
  assert.equal([first, second, third].map(({ state }) => state), ['done', 'cancelled', 'done'])
  assert.equal(log, [])
})

ownership('cycles of inheritance that a choice leaves open do not loop', () => {
  const { host, scheduler, log } = world()
  const a = new Mutex({ name: 'a' })
  const b = new Mutex({ name: 'b' })
  const crossed = (name, first, second, ms) => scheduler.spawn(() => first.use(function* () {
    yield sleep(1)
    const { index } = yield either(second.lock(), sleep(ms))
    if (index === 0) second.unlock()
    log.push(`${name} ${index === 0 ? 'has both' : 'gives up'} at ${host.time}`)
  }), { name })
  const left = crossed('left', a, b, 5)
  const right = crossed('right', b, a, 10)
  after(3, () => {
    left.priority = 5
    right.priority = 6
    left.priority = 7
  }, { scheduler })
  host.run()
  assert.equal([log, host.errors], [['left gives up at 6', 'right has both at 6'], []])
})

ownership.run()

// -------------------------------------------------------------------------------------------- critical sections

const sections = suite('critical sections')

/** An urgent job arrives when the holder has executed for 1 ms; sections of `parts` ms are closed one by one, with a point before each. */
function assertProtected(...parts) {
  const { host, scheduler, trace } = plainWorld({ except: [], slice: Infinity })
  const holder = scheduler.spawn(function* () {
    const gates = parts.map(() => seam.gate(holder, Infinity))
    for (const ms of parts) {
      yield* execute(host, ms)
      yield
      gates.pop().close()
    }
    yield
    host.advance(1)
  }, { name: 'holder', deadline: 50 })
  scheduler.spawn(execute(host, 1), { name: 'urgent', deadline: 9, release: 1 })
  host.run()
  assertTrace(trace, `
    0 release holder
    0 start holder
    1 release urgent
    4 preempt holder by=urgent
    4 start urgent
    5 finish urgent
    5 round start=0
    5 resume holder
    6 finish holder
    6 round start=5`)
}

sections('an arrival inside a section does not block its holder, and goes first after it', () => assertProtected(4))

sections('arrivals and wakes between the rounds of a section do not block its holder, either', () => {
  const { host, scheduler, trace } = plainWorld({ except: [], round: 1, slice: Infinity })
  const waitable = new seam.Waitable()
  scheduler.spawn(function* () {
    yield waitable
    host.advance(1)
  }, { name: 'woken', deadline: 20 })
  const holder = scheduler.spawn(function* () {
    const gate = seam.gate(holder, Infinity)
    yield* execute(host, 4)
    yield
    gate.close()
    yield
    host.advance(1)
  }, { name: 'holder', deadline: 50 })
  host.after(2, () => {
    waitable.wake()
    scheduler.spawn(execute(host, 1), { name: 'urgent', deadline: 5 })
  })
  host.run()
  assertTrace(trace.records.filter(({ type }) => type !== 'round'), `
    0 release woken
    0 release holder
    0 start woken
    0 block woken on=Waitable
    0 start holder
    2 wake woken
    2 release urgent
    4 preempt holder by=urgent
    4 start urgent
    5 finish urgent
    5 resume woken
    6 finish woken
    6 resume holder
    7 finish holder`)
})

sections('sections nest', () => assertProtected(2, 2))

sections('they must be closed in the reverse order', () => {
  const { host, scheduler } = plainWorld({ except: [] })
  let error
  const job = scheduler.spawn(function* () {
    const outer = seam.gate(job, Infinity)
    const inner = seam.gate(job, Infinity)
    try {
      outer.close()
    } catch (caught) {
      error = caught
    }
    inner.close()
    outer.close()
    outer.close()
  })
  host.run()
  assert.is(error.message, 'critical sections must nest')
  assert.is(job.state, 'done')
})

sections('a lower ceiling lets jobs of a higher level pass, and only those', () => {
  const { host, scheduler, trace } = plainWorld({ except: [], slice: Infinity, policy: fp })
  const holder = scheduler.spawn(function* () {
    const gate = seam.gate(holder, 5)
    yield* execute(host, 4)
    yield
    gate.close()
    yield
    host.advance(1)
  }, { name: 'holder', priority: 1 })
  for (const priority of [4, 5, 6]) {
    scheduler.spawn(execute(host, 1), { name: `at ${priority}`, priority, release: 1 })
  }
  host.run()
  assert.is(finishOrder(trace), 'at 6 at 5 at 4 holder')
  const dispatches = trace.records.filter(({ type }) => type === 'start' || type === 'resume')
  assertTrace(dispatches, `
    0 start holder
    1 start at 6
    2 resume holder
    5 start at 5
    6 start at 4
    7 resume holder`)
})

sections('to wait inside a section is an error at that yield, and the section ends as usual', () => {
  const { host, scheduler, trace } = plainWorld({ except: [] })
  const seen = []
  const job = scheduler.spawn(function* () {
    const gate = seam.gate(job, Infinity)
    const other = scheduler.spawn(() => {}, { name: 'other' })
    for (const waitable of [Promise.resolve(), new seam.Waitable(), other]) {
      try {
        yield waitable
      } catch (error) {
        seen.push(`${error}`)
      }
    }
    gate.close()
  }, { name: 'job', deadline: 5 })
  host.run()
  assert.equal(seen, Array(3).fill('TypeError: job waits inside a critical section'))
  assert.is(finishOrder(trace), 'job other')
})

sections.run()

// ----------------------------------------------------------------------------------- non-preemptive sections

const npcs = suite('non-preemptive sections')

npcs('nobody preempts; who came meanwhile runs at the first point after it', () => {
  const { host, scheduler, trace } = world()
  scheduler.spawn(function* () {
    yield* work(host, 1)
    yield nonPreemptive(() => work(host, 3))
    yield* work(host, 2)
  }, { name: 'holder' })
  scheduler.spawn(() => work(host, 1), { name: 'before', priority: 1, release: 1 })
  scheduler.spawn(() => work(host, 1), { name: 'inside', priority: 2, release: 3 })
  host.run()
  assertTrace(trace, `
    0 release holder
    0 start holder
    1 release before
    1 preempt holder by=before
    1 start before
    2 finish before
    2 resume holder
    3 release inside
    5 preempt holder by=inside
    5 start inside
    6 finish inside
    6 resume holder
    8 finish holder`)
})

npcs('equals do not rotate inside; a woken equal waits for the end', () => {
  const { host, scheduler, trace } = world({ slice: 1 })
  scheduler.spawn(function* () {
    yield nonPreemptive(() => work(host, 3))
    yield* work(host, 1)
  }, { name: 'holder' })
  scheduler.spawn(() => work(host, 2), { name: 'equal' })
  host.run()
  assertTrace(trace, `
    0 release holder
    0 release equal
    0 start holder
    3 preempt holder by=equal
    3 start equal
    4 preempt equal by=holder
    4 resume holder
    5 finish holder
    5 resume equal
    6 finish equal`)
})

npcs('rounds end, timers and alarms fire inside; releases keep their true time', () => {
  const { host, scheduler, log, trace } = world({ round: 2 })
  scheduler.spawn(() => nonPreemptive(() => work(host, 5)), { name: 'holder' })
  scheduler.spawn(() => { log.push('released') }, { name: 'urgent', priority: 9, release: 2.5 })
  host.after(3, () => log.push(`timer at ${host.time}`))
  after(1, () => log.push(`alarm at ${host.time}`), { scheduler })
  host.run()
  assert.equal(log, ['alarm at 1', 'timer at 4', 'released'])
  assert.is(scheduler.stats().rounds, 3)
  assertTrace(trace, `
    0 release holder
    0 start holder
    1 alarm due=1
    3 release urgent
    5 preempt holder by=urgent
    5 start urgent
    5 finish urgent
    5 resume holder
    5 finish holder`)
  assert.is(trace.records.find(({ type }) => type === 'release').job.release, 0)
  assert.is(trace.records.find(({ job }) => job?.name === 'urgent').job.release, 2.5)
})

npcs('nests: the outermost end counts', () => {
  const { host, scheduler, log } = world()
  scheduler.spawn(() => nonPreemptive(function* () {
    yield nonPreemptive(() => work(host, 1))
    yield* work(host, 1)
    log.push('end')
    yield
  }))
  scheduler.spawn(() => { log.push('urgent') }, { priority: 1, release: 0.5 })
  host.run()
  assert.equal(log, ['end', 'urgent'])
})

npcs('waiting inside is a TypeError at that yield, whatever for; what acts at once is too', async () => {
  const { host, scheduler, log } = world()
  const other = scheduler.spawn(function* () { yield sleep(5) }, { name: 'other' })
  const waits = [() => sleep(1), () => new Mutex().lock(), () => Promise.resolve(), () => other]
  const job = scheduler.spawn(() => nonPreemptive(function* () {
    for (const wait of waits) {
      try {
        yield wait()
        log.push('waited')
      } catch (error) {
        log.push(`${error.name}: ${error.message}`)
      }
    }
    return 'result'
  }), { name: 'job' })
  host.run()
  assert.is(job.state, 'done')
  assert.equal(log, Array(4).fill('TypeError: job waits inside a critical section'))
})

npcs('ends when the section throws', () => {
  const { host, scheduler, log } = world({ onError: error => log.push(error.message) })
  scheduler.spawn(function* () {
    try {
      yield nonPreemptive(function* () {
        yield* work(host, 1)
        throw new Error('no')
      })
    } catch (error) {
      log.push(error.message)
    }
    yield
    log.push('after')
  })
  scheduler.spawn(() => { log.push('urgent') }, { priority: 1, release: 0.5 })
  host.run()
  assert.equal(log, ['no', 'urgent', 'after'])
})

npcs('a job that ends inside, by a leaked gate, sets the others free', () => {
  const { host, scheduler, log } = world({ onError: error => log.push(error.message) })
  const holder = scheduler.spawn(function* () {
    seam.gate(holder, Infinity)
    yield* work(host, 1)
    throw new Error('leaked')
  })
  scheduler.spawn(() => { log.push('other') })
  host.run()
  assert.equal(log, ['other', 'leaked'])
})

npcs('a cancellation is thrown at the first yield after it; before, cleaning up may wait', () => {
  const { host, scheduler, trace, log } = world()
  const job = scheduler.spawn(function* () {
    try {
      yield nonPreemptive(function* () {
        yield* work(host, 3)
        log.push(`end at ${host.time}`)
      })
      yield
      log.push('never')
    } finally {
      yield sleep(2)
      log.push(`clean at ${host.time}`)
    }
  }, { name: 'job' })
  after(1, () => job.cancel('stop'), { scheduler })
  host.run()
  assert.equal(log, ['end at 3', 'clean at 5'])
  assertTrace(trace, `
    0 release job
    0 start job
    1 alarm due=1
    3 block job on=Sleep
    5 alarm due=5
    5 wake job
    5 resume job
    5 cancel job error=stop`)
})

npcs('its end cuts the budget for who waits for it: a more eligible job, a cancellation', () => {
  for (const isCancelled of [false, true]) {
    const { host, scheduler, log } = world({ budget: 100 })
    const job = scheduler.spawn(function* () {
      yield nonPreemptive(function* () {
        if (isCancelled) job.cancel()
        else scheduler.spawn(() => { log.push('urgent') }, { priority: 1 })
        for (let i = 0; i < 5; i++) yield
        log.push('end')
      })
      yield
      log.push('after')
    })
    host.run()
    assert.equal(log, isCancelled ? ['end'] : ['end', 'urgent', 'after'])
  }
})

npcs('a job that is to abort at its deadline does so after it', () => {
  const { host, scheduler, log } = world()
  const job = scheduler.spawn(function* () {
    try {
      yield nonPreemptive(() => work(host, 4))
    } catch (error) {
      log.push(host.time, error instanceof DeadlineError)
      throw error
    }
  }, { deadline: 2, miss: 'abort' })
  host.run()
  assert.equal([log, job.state, job.missed], [[4, true], 'cancelled', true])
})

npcs('an async job that goes away inside one fails; nobody else comes to harm', async () => {
  const { host, scheduler } = world()
  const holder = scheduler.spawn(async job => {
    const gate = seam.gate(job, Infinity)
    await new Promise(resolve => host.after(5, resolve))
    gate.close()
  }, { name: 'holder' })
  const others = [1, -1].map(priority => scheduler.spawn(() => work(host, 2), { priority }))
  assert.instance(await Promise.race([rejection(holder), host.drain()]), TypeError)
  await host.drain()
  assert.equal([holder, ...others].map(({ state }) => state), ['failed', 'done', 'done'])
})

npcs('sections must nest', () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(function* () {
    const outer = seam.gate(job, 1)
    const inner = seam.gate(job, 2)
    assert.throws(() => outer.close(), 'critical sections must nest')
    inner.close()
    inner.close()
    outer.close()
    yield
    return 'result'
  })
  host.run()
  assert.is(job.state, 'done')
})

npcs.run()

// ------------------------------------------------------------------------------------- stack resource policy

const srp = suite('the stack resource policy')

/** Work before, in a section of each resource in turn, and after. */
function* visits(host, ...parts) {
  for (const part of parts) {
    if (typeof part === 'number') yield* work(host, part)
    else yield part[0].use(() => visits(host, ...part.slice(1)))
  }
}

srp('a job declared while the resource is held raises the ceiling at once', () => {
  const { host, scheduler, trace } = world()
  const r = new Resource({ name: 'r' })
  scheduler.spawn(() => visits(host, [r, 4]), { name: 'low', priority: 1, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { name: 'middle', priority: 2, release: 3 })
  after(2, () => {
    scheduler.spawn(() => visits(host, [r, 1]), { name: 'late', priority: 3, uses: [r] })
  }, { scheduler })
  host.run()
  assertTrace(trace, `
    0 release low
    0 start low
    2 alarm due=2
    2 release late
    3 release middle
    4 preempt low by=late
    4 start late
    5 finish late
    5 start middle
    6 finish middle
    6 resume low
    6 finish low`)
})

srp('raising the ceiling of an outer section counts inside an inner one', () => {
  const { host, scheduler, log } = world()
  const [outer, inner] = [new Resource({ name: 'outer' }), new Resource({ name: 'inner' })]
  const nested = () => visits(host, [outer, 1, [inner, 2], 1])
  scheduler.spawn(nested, { name: 'low', priority: 1, uses: [outer, inner] })
  const starts = name => () => { log.push(`${name} at ${host.time}`) }
  after(2, () => {
    scheduler.spawn(starts('user'), { name: 'user', priority: 3, uses: [outer] })
    scheduler.spawn(starts('other'), { name: 'other', priority: 2 })
    scheduler.spawn(starts('above'), { name: 'above', priority: 4 })
  }, { scheduler })
  host.run()
  assert.equal(log, ['above at 2', 'user at 4', 'other at 4'])
})

srp('the test applies to a job that wakes, too', () => {
  const { host, scheduler, trace } = world()
  const r = new Resource({ name: 'r' })
  scheduler.spawn(function* () {
    yield sleep(2)
    yield r.use(() => work(host, 1))
  }, { name: 'high', priority: 2, uses: [r] })
  scheduler.spawn(() => visits(host, 1, [r, 3], 1), { name: 'low', priority: 1, uses: [r] })
  host.run()
  assertTrace(trace, `
    0 release high
    0 release low
    0 start high
    0 block high on=Sleep
    0 start low
    2 alarm due=2
    2 wake high
    4 preempt low by=high
    4 resume high
    5 finish high
    5 resume low
    6 finish low`)
})

srp('only the holder of the top ceiling runs while the most eligible may not, never a third job', () => {
  const { host, scheduler, trace } = world()
  const r = new Resource({ name: 'r' })
  scheduler.spawn(() => visits(host, [r, 3]), { name: 'low', priority: 1, uses: [r] })
  scheduler.spawn(() => visits(host, [r, 1]), { name: 'high', priority: 5, release: 1, uses: [r] })
  scheduler.spawn(() => visits(host, 1), { name: 'third', priority: 3, release: 1 })
  host.run()
  assertTrace(trace, `
    0 release low
    0 start low
    1 release high
    1 release third
    3 preempt low by=high
    3 start high
    4 finish high
    4 start third
    5 finish third
    5 resume low
    5 finish low`)
})

srp('levels are fixed at the release: who becomes urgent later does not pass a ceiling', () => {
  for (const policy of [edf, fp]) {
    const { host, scheduler, trace } = world({ policy })
    const r = new Resource({ name: 'r' })
    scheduler.spawn(() => visits(host, [r, 4]), { name: 'low', deadline: 50, uses: [r] })
    scheduler.spawn(() => {}, { name: 'user', deadline: 40, priority: 1, release: 100, uses: [r] })
    const options = { name: 'late', deadline: 60, priority: -1, release: 1 }
    const late = scheduler.spawn(() => visits(host, 1), options)
    after(2, () => {
      late.deadline = 5
      late.priority = 9
    }, { scheduler })
    host.run({ until: 50 })
    assertTrace(trace, `
      0 release low
      0 start low
      1 release late
      2 alarm due=2
      4 preempt low by=late
      4 start late
      5 finish late
      5 resume low
      5 finish low`)
  }
})

srp('an undeclared use and waiting inside are errors', async () => {
  const { host, scheduler } = world()
  const r = new Resource({ name: 'r' })
  const undeclared = rejection(scheduler.spawn(() => visits(host, [r, 1]), { name: 'job' }))
  const sleeper = () => r.use(function* () { yield sleep(1) })
  const waiting = rejection(scheduler.spawn(sleeper, { name: 'job', uses: [r] }))
  host.run()
  assert.match((await undeclared).message, 'job does not declare r')
  assert.is((await waiting).message, 'job waits inside a critical section')
  assert.is(r.holder, null)
})

srp('what uses names must be resources', () => {
  const { scheduler } = world()
  const refused = (options, pattern) => assert.throws(() => scheduler.spawn(() => {}, options), pattern)
  refused({ uses: [{}] }, /uses must be an array of Resources, got an object/)
  refused({ uses: new Resource() }, /uses must be an array of Resources/)
  refused({ reservation: {} }, /reservation must be a Reservation/)
  assert.is(scheduler.stats().jobs, 0)
})

srp('a level changed before the release raises the ceilings of what the job declares', () => {
  for (const policy of [edf, fp]) {
    const { host, scheduler, log } = world({ policy, onError: error => log.push(error.message) })
    const r = new Resource({ name: 'r' })
    scheduler.spawn(() => visits(host, [r, 3]), { name: 'low', deadline: 100, uses: [r] })
    const options = { name: 'user', deadline: 200, release: 1, uses: [r] }
    const user = scheduler.spawn(() => visits(host, [r, 1]), options)
    user.deadline = 10
    user.priority = 1
    host.run()
    assert.equal([log, user.state, user.started], [[], 'done', 3])
  }
})

srp.run()

const alarms = suite('the timeline')

alarms('what is due happens by kind, then by time, then by creation', () => {
  const { host, scheduler, log, trace } = world()
  scheduler.spawn(() => { host.advance(10) }, { name: 'long', deadline: 3 })
  scheduler.spawn(() => {}, { name: 'late', release: 2, priority: 1 })
  scheduler.spawn(() => {}, { name: 'early', release: 1 })
  after(5, () => log.push('third'), { scheduler })
  after(4, () => log.push('first'), { scheduler })
  after(4, () => log.push('second'), { scheduler })
  seam.at(scheduler, 6, time => log.push(`replenished at ${time}`), { replenishment: true })
  host.run()
  assert.equal(log, ['replenished at 10', 'first', 'second', 'third'])
  assertTrace(trace, `
    0 release long
    0 start long
    10 stall long ms=10
    10 finish long
    10 replenish due=6
    10 alarm due=4
    10 alarm due=4
    10 alarm due=5
    10 release early
    10 release late
    10 miss long
    10 start late
    10 finish late
    10 start early
    10 finish early`.replace('10 stall long ms=10\n', ''))
})

alarms('keep their times, without drift, and catch up after a long step', () => {
  const { host, scheduler, log } = world()
  const alarm = every(10, time => log.push(`${time} at ${host.time}`), { scheduler, catchUp: 'all' })
  scheduler.spawn(() => { host.advance(4) }, { release: 18 })
  scheduler.spawn(() => { host.advance(33) }, { release: 35 })
  after(75, () => alarm.cancel(), { scheduler })
  host.run()
  assert.equal(log, ['10 at 10', '20 at 22', '30 at 30', '40 at 68', '50 at 68', '60 at 68', '70 at 70'])
})

alarms('never fire early, on hosts whose timers do and whose clock is coarse', () => {
  const delays = [0, 0.1, 1, 2.5, 7, 1000]
  const hosts = [{ early: 1 }, { early: 0.3, resolution: 1 }, { resolution: 5 }, { start: 1e9, early: 3 }]
  for (const options of hosts) {
    const { host, scheduler, log } = world({ host: options })
    const began = scheduler.now()
    for (const ms of delays) after(ms, time => log.push([ms, time - began >= ms]), { scheduler })
    host.run()
    assert.equal(log, delays.map(ms => [ms, true]))
  }
})

alarms('need one timer of the host, for the earliest; cancelling that arms the next', () => {
  const { host, scheduler } = world()
  const timers = () => host.timers.map(({ time }) => time)
  const late = after(30, () => {}, { scheduler })
  assert.equal(timers(), [30])
  const early = after(10, () => {}, { scheduler })
  after(20, () => {}, { scheduler })
  assert.equal(timers(), [10])
  assert.is(early.cancel(), true)
  assert.equal(timers(), [20])
  assert.is(late.cancel(), true)
  assert.is(late.cancel(), false)
  assert.equal(timers(), [20])
  host.run()
  assert.equal([timers(), host.time], [[], 20])
})

alarms('say whether they were still to happen when cancelled', () => {
  const { host, scheduler, log } = world()
  const fired = after(1, () => log.push('fired'), { scheduler })
  const self = after(2, () => log.push(self.cancel()), { scheduler })
  host.run()
  assert.equal([fired.cancel(), log], [false, ['fired', false]])
})

alarms('may make and cancel alarms; one that sets itself anew for now waits for the next reading', () => {
  const { host, scheduler, log } = world()
  const doomed = after(5, () => log.push('never'), { scheduler })
  after(3, () => {
    log.push('first')
    doomed.cancel()
    after(0, () => log.push(`again at ${host.time}`), { scheduler })
    after(2, () => log.push(`later at ${host.time}`), { scheduler })
  }, { scheduler })
  let count = 0
  const repeat = () => {
    if (++count < 5) after(0, repeat, { scheduler })
  }
  after(6, repeat, { scheduler })
  scheduler.spawn(() => log.push(`job at ${host.time}, ${count}`), { release: 6 })
  host.run()
  assert.equal(log, ['first', 'again at 3', 'later at 5', 'job at 6, 1'])
  assert.is(count, 5)
})

alarms('that throw disturb nobody', () => {
  const { host, scheduler, log } = world()
  after(1, () => { throw new Error('thrown') }, { scheduler })
  after(1, () => log.push('next'), { scheduler })
  scheduler.spawn(() => { log.push('job') }, { release: 1 })
  host.run()
  assert.equal([log, host.errors.map(({ message }) => message)], [['next', 'job'], ['thrown']])
})

alarms('run outside jobs, between the budgets of whoever runs', () => {
  const { host, scheduler, log } = world({ budget: 2 })
  scheduler.spawn(() => work(host, 6), { name: 'job' })
  every(3, () => log.push(`${host.time} ${scheduler.current}`), { scheduler, ref: false })
  host.run()
  assert.equal(log, ['3 null', '6 null'])
})

alarms('without a reference let the process end', () => {
  const { host, scheduler } = world()
  const quiet = every(10, () => {}, { scheduler, ref: false })
  assert.equal(host.timers, [{ time: 10, ref: false }])
  const loud = after(30, () => {}, { scheduler })
  assert.equal(host.timers, [{ time: 10, ref: true }])
  assert.is(host.run(), 30)
  assert.equal(host.timers, [{ time: 40, ref: false }])
  assert.is(loud.cancel(), false)
  after(100, () => {}, { scheduler }).cancel()
  assert.equal(host.timers, [{ time: 40, ref: false }])
  quiet.cancel()
  assert.equal(host.timers, [])
})

alarms('do not fire while the scheduler is paused; afterwards they catch up', () => {
  const { host, scheduler, log } = world()
  every(10, () => log.push(host.time), { scheduler, ref: false, catchUp: 'all' })
  after(15, () => scheduler.pause(), { scheduler })
  host.run({ until: 42 })
  assert.equal([log, host.timers], [[10], []])
  scheduler.resume()
  host.run({ until: 50 })
  assert.equal(log, [10, 42, 42, 42, 50])
})

alarms('may pause the scheduler: then nothing runs before it is resumed', () => {
  const { host, scheduler, log } = world()
  after(5, () => scheduler.pause(), { scheduler })
  scheduler.spawn(function* () {
    log.push(host.time)
    yield
    log.push(host.time)
  }, { release: 5 })
  after(5, () => log.push('alarm'), { scheduler })
  host.run({ until: 10 })
  assert.equal(log, [])
  scheduler.resume()
  host.run()
  assert.equal(log, ['alarm', 10, 10])
})

alarms('may pause the scheduler between two rounds: the job that ran then runs no more', () => {
  const { host, scheduler } = world({ host: { turn: 1 }, round: 2 })
  const job = scheduler.spawn(() => work(host, 10))
  after(3.5, () => scheduler.pause(), { scheduler }) // falls into the turn of the event loop
  host.run({ until: 20 })
  assert.is(job.cost, 2)
})

alarms('begin the next period of a loop: its deadline counts from there, and can be missed anew', () => {
  const { host, scheduler } = world({ policy: edf })
  const trace = record(scheduler, { except: ['round', 'alarm'] })
  class NextPeriod extends seam.Waitable {
    begin(job) {
      const finished = scheduler.now()
      // A period is renewed when it is over: between its end and the next one there is nothing to miss.
      const conclude = () => {
        if (finished > job.absoluteDeadline && !job.missed) return void seam.at(scheduler, finished, conclude)
        seam.renew(job, job.release + 10)
        seam.at(scheduler, job.release, () => this.wake())
      }
      seam.at(scheduler, finished, conclude)
    }
  }
  const loop = scheduler.spawn(function* () {
    for (const ms of [4, 1, 5]) {
      yield* execute(host, ms)
      yield new NextPeriod()
    }
  }, { name: 'loop', deadline: 3 })
  const rival = scheduler.spawn(function* () {
    yield sleep(19)
    yield* execute(host, 4)
  }, { name: 'rival', deadline: 24 })
  host.run()
  assert.equal([loop.release, loop.absoluteDeadline, loop.missed, rival.missed], [30, 33, false, true])
  assertTrace(trace, `
    0 release loop
    0 release rival
    0 start loop
    4 block loop on=NextPeriod
    4 miss loop
    4 start rival
    4 block rival on=Sleep
    10 wake loop
    10 resume loop
    11 block loop on=NextPeriod
    20 wake loop
    20 resume loop
    23 wake rival
    24 miss loop
    25 block loop on=NextPeriod
    25 miss rival
    25 resume rival
    29 finish rival
    30 wake loop
    30 resume loop
    30 finish loop`)
})

alarms('in the past fire at the next reading', () => {
  const { host, scheduler, log } = world({ host: { start: 100 } })
  seam.at(scheduler, 50, time => log.push(time))
  seam.at(scheduler, -Infinity, time => log.push(time))
  host.run()
  assert.equal(log, [100, 100])
})

alarms('left for later by a long one, and then cancelled, leave no turn to be taken', () => {
  const { host, scheduler } = world({ slice: 1 })
  seam.at(scheduler, 4, () => host.advance(1))
  const left = seam.at(scheduler, 4, () => assert.unreachable())
  scheduler.spawn(() => { host.advance(6) })
  scheduler.spawn(function* () { yield new seam.Waitable() }, { deadline: 4, onMiss: () => { left.cancel() } })
  host.run({ turns: 100 })
  assert.is(host.turns, 1)
})

alarms('that set themselves anew in the past keep nobody from firing', () => {
  const { host, scheduler, log } = world()
  let count = 0
  const again = () => { if (++count < 50) seam.at(scheduler, 0, again) }
  seam.at(scheduler, 1, again)
  after(2, () => log.push(count), { scheduler })
  host.after(0, () => host.advance(3))
  host.run()
  assert.ok(log[0] <= 2, `${log[0]} others came first`)
})

/** Sets alarms and notes, with each, how long after its time it fired. */
function lateness({ host, scheduler }, times) {
  const late = {}
  for (const time of times) seam.at(scheduler, time, () => { late[time] = host.time - time })
  return late
}

alarms('an alarm never fires early, although timers of the host do', () => {
  for (const early of [0.125, 1, 5]) {
    const made = plainWorld({ except: [], host: { early } })
    const times = [0.5, 3, 10, 10.25, 99.75]
    const late = lateness(made, times)
    made.host.run()
    assert.equal(late, Object.fromEntries(times.map(time => [time, 0])), `timers that come ${early} ms early`)
  }
})

alarms('an alarm never fires early, although the clock is coarse', () => {
  const made = plainWorld({ except: [], host: { resolution: 1, start: 0.6 } })
  const late = lateness(made, [2, 2.5, 7.1])
  made.host.run({ until: 20 })
  for (const [time, ms] of Object.entries(late)) assert.is(ms >= 0 && ms <= 1, true, `${ms} after ${time}`)
  assert.is(Object.keys(late).length, 3)
})

alarms('delays longer than a timer can keep are waited for in full', () => {
  const made = plainWorld({ except: [] })
  const { host } = made
  const { after } = host
  host.after = (ms, ...rest) => after(Math.min(ms, LONGEST_DELAY), ...rest)
  const far = 3 * LONGEST_DELAY + 5
  const late = lateness(made, [LONGEST_DELAY, LONGEST_DELAY + 1, far])
  const job = made.scheduler.spawn(() => {}, { release: far })
  host.run()
  assert.equal(late, { [LONGEST_DELAY]: 0, [LONGEST_DELAY + 1]: 0, [far]: 0 })
  assert.is(job.started, far)
  assert.is(host.turns, 5)
})

alarms('an alarm can be cancelled, and its timer with it', () => {
  const { host, scheduler, trace } = plainWorld({ except: [] })
  const first = seam.at(scheduler, 10, () => {})
  const second = seam.at(scheduler, 20, () => {})
  assert.equal(host.timers.map(({ time }) => time), [10])
  assert.is(first.cancel(), true)
  assert.equal(host.timers.map(({ time }) => time), [20])
  assert.equal([second.cancel(), second.cancel(), host.timers], [true, false, []])
  host.run({ until: 100 })
  assertTrace(trace, '')
})

alarms('an alarm that has fired cannot be cancelled any more', () => {
  const { host, scheduler } = plainWorld({ except: [] })
  const alarm = seam.at(scheduler, 10, () => {})
  host.run()
  assert.is(alarm.cancel(), false)
})

alarms('times and delays are not confused on a host that has been up for long', () => {
  const up = 1e9
  const { host, scheduler, trace } = plainWorld({ except: [], host: { start: up } })
  seam.at(scheduler, up + 5, () => {})
  seam.at(scheduler, 5, () => {})
  scheduler.spawn(() => {}, { name: 'job', release: up + 3, deadline: 1 })
  host.run()
  assertTrace(trace, `
    1000000000 alarm due=5
    1000000003 release job
    1000000003 start job
    1000000003 finish job
    1000000003 round start=1000000003
    1000000005 alarm due=1000000005`)
})

alarms('one timer serves all alarms', () => {
  const { host, scheduler } = plainWorld({ except: [] })
  for (let n = 100; n > 0; n--) {
    seam.at(scheduler, n, () => {})
    assert.is(host.timers.length, 1)
  }
  host.run()
  assert.is(host.turns, 100)
})

alarms.run()

// ------------------------------------------------------------------------------------------------- waitables

const waitables = suite('waitables')

waitables('act when they are waited for, once, and then repeat their outcome', async () => {
  const { host, scheduler, log } = world()
  const nap = sleep(5)
  let begun = 0
  class Counted extends seam.Waitable {
    begin() {
      begun++
      this.wake(begun)
    }
  }
  const counted = new Counted()
  const failing = timeout(1, sleep(9))
  scheduler.spawn(function* () {
    yield nap
    log.push(host.time)
    yield nap
    log.push(host.time)
    log.push(yield counted, yield counted, begun)
    for (let i = 0; i < 2; i++) {
      try {
        yield failing
      } catch (error) {
        log.push(`${error.name} at ${host.time}`)
      }
    }
  }, { release: 3 })
  host.run()
  assert.equal(log, [8, 8, 1, 1, 1, 'TimeoutError at 9', 'TimeoutError at 9'])
})

waitables('can be delegated to, which types the outcome', () => {
  const { host, scheduler } = world()
  const channel = new Channel()
  const job = scheduler.spawn(function* () {
    return (yield* channel.receive()) + (yield* timeout(5, channel.receive()))
  })
  scheduler.spawn(function* () {
    yield* channel.send(1)
    yield* channel.send(2)
  })
  job.then(value => assert.is(value, 3))
  host.run()
  assert.is(job.state, 'done')
})

waitables('can be awaited outside jobs and in async jobs', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  const outside = async () => {
    await sleep(2, { scheduler })
    log.push(`outside at ${host.time}`)
    log.push(await channel.receive())
  }
  outside()
  scheduler.spawn(async job => {
    await sleep(5)
    await job.yield()
    log.push(`job at ${host.time}`)
    await channel.send('message')
  })
  await host.drain()
  assert.equal(log, ['outside at 2', 'job at 5', 'message'])
})

waitables('begin anew after the last who waited has left', () => {
  const { host, scheduler, log } = world()
  const nap = sleep(10)
  const first = scheduler.spawn(function* () { yield nap }, { name: 'first' })
  after(4, () => first.cancel(), { scheduler })
  scheduler.spawn(function* () {
    yield nap
    log.push(host.time)
  }, { release: 6 })
  host.run({ until: 5 })
  assert.equal(host.timers, [{ time: 6, ref: true }])
  host.run()
  assert.equal(log, [16])
})

waitables('shared by several who wait: all are told; one may leave', () => {
  const { host, scheduler, log } = world()
  const nap = sleep(10)
  const { begin } = nap
  nap.begin = () => {
    log.push('begun')
    begin.call(nap)
  }
  const jobs = ['a', 'b', 'c'].map(name => scheduler.spawn(function* () {
    yield nap
    log.push(name)
  }, { name }))
  after(5, () => jobs[0].cancel(), { scheduler })
  host.run()
  assert.equal(log, ['begun', 'b', 'c'])
})

waitables('can be made of jobs and promises, and of nothing else', async () => {
  const { host, scheduler, log } = world()
  const { of } = seam.Waitable
  const nap = sleep(1)
  assert.is(of(nap), nap)
  assert.equal([of(1), of({}), of(null), of(function* () {}())], [null, null, null, null])
  const child = scheduler.spawn(function* () {
    yield sleep(3)
    return 'child'
  })
  scheduler.spawn(function* () {
    log.push(yield either(child, sleep(5)))
    log.push(yield either(sleep(5), child))
    log.push(yield timeout(5, Promise.resolve('promise')))
    try {
      yield timeout(5, new Promise(() => {}))
    } catch (error) {
      log.push(`${error.name} at ${host.time}`)
    }
  })
  await host.drain()
  const chosen = [{ index: 0, value: 'child' }, { index: 1, value: 'child' }]
  assert.equal(log, [...chosen, 'promise', 'TimeoutError at 8'])
})

waitables('made of a job: its failure is heard by whoever waits, and not reported', () => {
  const { host, scheduler, log } = world({ onError: error => log.push(`reported ${error.message}`) })
  const failing = message => scheduler.spawn(function* () {
    yield sleep(1)
    throw new Error(message)
  })
  scheduler.spawn(function* () {
    for (const waitable of [either(failing('choice'), sleep(9)), timeout(9, failing('timeout'))]) {
      try {
        yield waitable
      } catch (error) {
        log.push(error.message)
      }
    }
  })
  failing('nobody')
  host.run()
  assert.equal(log, ['choice', 'timeout', 'reported nobody'])
})

waitables('that hand something over do so although the job is cancelled before it goes on', () => {
  for (const [handsOver, expected] of [[true, ['message', 'AbortError']], [false, ['AbortError']]]) {
    const { host, scheduler, log } = world()
    class Message extends seam.Waitable {
      get handsOver() { return handsOver }
    }
    const message = new Message()
    const receiver = scheduler.spawn(function* () {
      try {
        log.push(yield message)
        yield
        log.push('not reached')
      } catch (error) {
        log.push(error.name)
      }
    }, { priority: 1 })
    scheduler.spawn(function* () {
      message.wake('message')
      receiver.cancel()
    })
    host.run()
    assert.equal(log, expected)
  }
})

waitables('that fail in begin throw at the yield', () => {
  const { host, scheduler, log } = world()
  class Broken extends seam.Waitable {
    begin() { throw new Error('broken') }
  }
  scheduler.spawn(function* () {
    try {
      yield new Broken()
    } catch (error) {
      log.push(error.message)
    }
  })
  host.run()
  assert.equal(log, ['broken'])
})

waitables('timeout lets go of what it waited for', () => {
  const { host, scheduler, log } = world()
  const [a, b] = [new Channel(0, { name: 'a' }), new Channel(0, { name: 'b' })]
  scheduler.spawn(function* () {
    try {
      yield timeout(5, either(a.receive(), timeout(9, b.send(1))))
    } catch (error) {
      log.push(`${error instanceof TimeoutError} at ${host.time}`)
    }
  })
  host.run()
  assert.equal([log, a.offer(1), b.poll(), host.timers], [['true at 5'], false, undefined, []])
})

waitables('of those who await outside jobs rank like jobs without deadline and priority', async () => {
  const { host, scheduler, log } = world()
  const channel = new Channel()
  channel.receive().then(value => log.push(`outside ${value}`))
  await microtasks()
  const receiver = (name, options) => scheduler.spawn(function* () {
    log.push(`${name} ${yield channel.receive()}`)
  }, options)
  // Under fp the deadlines decide nothing.
  receiver('low', { priority: -1, deadline: 5 })
  receiver('high', { priority: 1, deadline: 100 })
  receiver('middle', { priority: 0.5, deadline: 10 })
  scheduler.spawn(function* () {
    for (let i = 1; i <= 4; i++) yield channel.send(i)
  }, { priority: -2 })
  await host.drain()
  assert.equal(log.sort(), ['high 1', 'low 4', 'middle 2', 'outside 3'])
})

waitables('act on the scheduler of the running job, outside on the one given', () => {
  const first = world()
  const second = world()
  assert.is(seam.here({ scheduler: second.scheduler }), second.scheduler)
  assert.throws(() => seam.here({ scheduler: {} }), /scheduler must be a Scheduler, got an object/)
  first.scheduler.spawn(function* () {
    first.log.push(seam.here() === first.scheduler)
    yield sleep(1)
    first.log.push(first.host.time, second.host.timers.length)
  })
  first.host.run()
  assert.equal(first.log, [true, 1, 0])
})

waitables('and others may write into the trace', () => {
  const { host, scheduler, trace } = world()
  const lend = () => seam.emit(scheduler, 'lend', job, { to: 'somebody' })
  const job = scheduler.spawn(lend, { name: 'job' })
  host.run()
  trace.stop()
  seam.emit(scheduler, 'lend', null)
  assertTrace(trace, `
    0 release job
    0 start job
    0 lend job to=somebody
    0 finish job`)
})

waitables.run()

// ---------------------------------------------------------------------------------------------------- events

const events = suite('events')

class Message extends seam.Waitable {
  name = 'message'
}

/** A job that takes `ms` for each message, and what brings one, as a listener does. */
function listening({ host, scheduler }, name, ms = 1, options = {}) {
  let arrived = 0
  let message = new Message()
  scheduler.spawn(function* () {
    for (;; arrived--) {
      if (arrived === 0) yield message = new Message()
      host.advance(ms)
    }
  }, { name, ...options })
  host.run()
  return () => {
    arrived++
    message.wake()
  }
}

events('whom an event wakes runs behind its handler, in the same turn and with no post', () => {
  const { host, scheduler, trace } = world()
  const wake = listening({ host, scheduler }, 'job')
  const { rounds } = scheduler.stats()
  const { turns } = host
  trace.take()
  host.after(5, () => {
    seam.event(() => {
      wake()
      assert.is(scheduler.current, null)
      assert.is(host.time, 5)
    })
    assert.is(host.time, 6)
    assert.is(host.posts, 0)
  })
  host.run()
  assertTrace(trace, `
    5 wake job
    5 resume job
    6 block job on=message`)
  assert.is(host.turns, turns + 1)
  assert.is(scheduler.stats().rounds, rounds + 1)
})

events('all of an event is handled before the most eligible runs', () => {
  const { host, scheduler, trace } = world()
  const wakers = [1, 3, 2].map(priority => listening({ host, scheduler }, `p${priority}`, 1, { priority }))
  trace.take()
  const [one, three, two] = wakers
  host.after(5, () => seam.event(() => {
    seam.event(two)
    one()
    three()
  }))
  host.run()
  assert.equal(trace.records.filter(({ type }) => type === 'resume').map(({ job }) => job.name), ['p3', 'p2', 'p1'])
  assert.equal(trace.records.slice(0, 3).map(({ type }) => type), ['wake', 'wake', 'wake'])
})

events('what an event wakes in a round runs in that round, at its next point', () => {
  const { host, scheduler, trace } = world()
  const wake = listening({ host, scheduler }, 'woken', 1, { priority: 1 })
  trace.take()
  scheduler.spawn(function* () {
    seam.event(wake)
    host.advance(1)
    yield
  }, { name: 'running' })
  host.run()
  assertTrace(trace, `
    0 release running
    0 start running
    0 wake woken
    1 preempt running by=woken
    1 resume woken
    2 block woken on=message
    2 resume running
    2 finish running`)
})

events('a round of another scheduler is not interrupted by one', () => {
  const { host, scheduler } = world()
  const other = world({ hostOf: () => host })
  const wake = listening(other, 'other')
  other.trace.take()
  scheduler.spawn(function* () {
    seam.event(wake)
    host.advance(3)
  })
  host.run()
  assertTrace(other.trace, `
    0 wake other
    3 resume other
    4 block other on=message`)
})

events('each scheduler that an event has woken runs its round', () => {
  const { host, scheduler } = world()
  const other = world({ hostOf: () => host })
  const wakers = [listening({ host, scheduler }, 'one'), listening(other, 'other')]
  const { turns } = host
  host.after(5, () => seam.event(() => { for (const wake of wakers) wake() }))
  assert.is(host.run(), 7)
  assert.is(host.turns, turns + 1)
})

events('a paused scheduler stays paused, also when it is paused by the event', () => {
  for (const before of [true, false]) {
    const { host, scheduler, trace } = world()
    const wake = listening({ host, scheduler }, 'job')
    trace.take()
    if (before) scheduler.pause()
    host.after(5, () => seam.event(() => {
      wake()
      scheduler.pause()
    }))
    host.after(9, () => scheduler.resume())
    host.run()
    assertTrace(trace, `
      5 wake job
      9 resume job
      10 block job on=message`)
  }
})

events('a turn that is posted already is not overtaken, and the only one', () => {
  const { host, scheduler } = world({ host: { turn: 2 } })
  const wake = listening({ host, scheduler }, 'job')
  const { rounds } = scheduler.stats()
  const { turns } = host
  host.after(5, () => {
    wake()
    seam.event(wake)
    assert.is(host.posts, 1)
  })
  host.run()
  assert.is(host.turns, turns + 2)
  assert.is(scheduler.stats().rounds, rounds + 1)
})

events('rounds behind events take as long together as one, until the host has been asked for a turn', () => {
  const { host, scheduler, trace } = world({ round: 5 })
  const wake = listening({ host, scheduler }, 'job', 2)
  trace.take()
  const posts = []
  // All are ready at the same time, as messages are that have piled up.
  for (let n = 0; n < 8; n++) {
    host.after(10, () => {
      seam.event(wake)
      posts.push(host.posts)
    })
  }
  host.run()
  assert.equal(posts, [0, 0, 0, 1, 1, 1, 1, 1])
  assert.is(trace.records.filter(({ type }) => type === 'resume').length, 4)
})

events('a round behind an event ends when those before it have used up its time', () => {
  const { host, scheduler } = world({ round: 5 })
  const wake = listening({ host, scheduler }, 'job', 4)
  host.after(10, () => seam.event(wake))
  host.after(20, () => seam.event(() => {
    wake()
    scheduler.spawn(execute(host, 3), { priority: -1 })
  }))
  host.run({ until: 19 })
  const { rounds } = scheduler.stats()
  host.run({ until: 20, turns: 1 })
  assert.is(host.time, 24)
  assert.is(host.posts, 1)
  assert.is(scheduler.stats().rounds, rounds + 1)
  assert.is(host.run(), 27)
})

events('a turn that a timer has brought counts like one that was asked for', () => {
  const { host, scheduler } = world({ round: 5 })
  const wake = listening({ host, scheduler }, 'job', 4)
  host.after(10, () => seam.event(wake))
  seam.at(scheduler, 20, () => {})
  host.after(30, () => seam.event(() => {
    wake()
    scheduler.spawn(execute(host, 3), { priority: -1 })
  }))
  host.run({ until: 29 })
  host.run({ turns: 1 })
  assert.is(host.time, 35)
})

events('an error of the handler is its caller\'s, and whom it has woken runs', () => {
  const { host, scheduler } = world()
  const wake = listening({ host, scheduler }, 'job')
  assert.throws(() => seam.event(() => {
    wake()
    throw new Error('wrong')
  }), 'wrong')
  assert.is(host.time, 1)
  assert.is(host.posts, 0)
})

events('a scheduler that the handler gives another host runs there', async () => {
  const { host, scheduler } = world()
  const next = virtualHost()
  seam.event(() => {
    scheduler.spawn(() => {}).cancel()
    scheduler.configure({ host: next })
    scheduler.spawn(function* () { next.advance(1) })
  })
  host.run()
  next.run()
  assert.is(host.time, 0)
  assert.is(next.time, 1)
})

events('what was ready before an event runs right after it where the event is its own, and the most eligible first', () => {
  const { host, scheduler, trace } = world({ slice: 5, round: 5 })
  scheduler.spawn(execute(host, 1), { name: 'first' })
  scheduler.spawn(execute(host, 1), { name: 'urgent', priority: 1 })
  assert.is(host.posts, 1)
  seam.event(() => {}, [scheduler])
  assertTrace(trace, `
    0 release first
    0 release urgent
    0 start urgent
    1 finish urgent
    1 start first
    2 finish first`)
  host.run() // what had been posted before finds nothing to do
  assert.is(scheduler.stats().rounds, 1)
})

events('a round right after an event lasts a slice; the rest is posted', () => {
  const { host, scheduler } = world({ slice: 2, round: 5 })
  seam.event(() => scheduler.spawn(execute(host, 4)), [scheduler])
  assert.equal([host.time, host.posts], [2, 1])
  host.run()
  assert.equal([host.time, scheduler.stats().rounds], [4, 2])
})

events('a scheduler that has nothing to do takes no turn, and a paused one stays paused', () => {
  const { host, scheduler } = world()
  seam.event(() => {}, [scheduler])
  assert.equal([host.posts, host.timers.length], [0, 0])
  const job = scheduler.spawn(execute(host, 1))
  scheduler.pause()
  seam.event(() => {}, [scheduler])
  assert.is(job.state, 'ready')
  scheduler.resume()
  host.run()
  assert.is(job.state, 'done')
})

events('a job that has begun its round in microtasks is not overtaken', async () => {
  const { host, scheduler } = world({ slice: 1, round: 5 })
  const log = []
  scheduler.spawn(async job => {
    for (let n = 0; n < 3; n++) {
      log.push(n)
      queueMicrotask(() => seam.event(() => {}, [scheduler]))
      host.advance(1)
      await job.yield()
    }
  })
  await host.drain()
  assert.equal(log, [0, 1, 2])
})

events.run()

// ----------------------------------------------------------------------------------------- closed schedulers

const closed = suite('closed schedulers')

/** Two jobs that wait for messages of each other. */
function stuck(scheduler) {
  const [there, back] = [new Channel(0, { name: 'there' }), new Channel(0, { name: 'back' })]
  const pass = (name, from, to) => scheduler.spawn(function* () {
    yield from.receive()
    yield to.send(1)
  }, { name })
  return [pass('ping', back, there), pass('pong', there, back)]
}

closed('idle() rejects with a DeadlockError that names the jobs, when nothing can wake them', async () => {
  const { host, scheduler } = world({ closed: true })
  const jobs = stuck(scheduler)
  const error = rejection(scheduler.idle())
  host.run()
  assert.instance(await error, DeadlockError)
  assert.is((await error).message, 'deadlock: nothing can wake ping, pong')
  assert.equal((await error).jobs, jobs)
})

closed('onError is told, once, whoever asks for idleness', async () => {
  const onError = (error, job) => log.push(`${error.name} ${job}`)
  const { host, scheduler, log } = world({ closed: true, onError })
  stuck(scheduler)
  const idle = rejection(scheduler.idle())
  host.run()
  await idle
  assert.instance(await rejection(scheduler.idle()), DeadlockError)
  assert.equal(log, ['DeadlockError null'])
})

closed('an alarm, a release, a promise and a hold may still wake them', async () => {
  const wakers = [
    ({ scheduler }, wake) => after(5, wake, { scheduler }),
    ({ host, scheduler }, wake) => {
      after(5, wake, { scheduler, ref: false })
      host.after(6, () => {}) // keeps the process alive for as long
    },
    ({ scheduler }, wake) => scheduler.spawn(() => wake(), { release: 5 }),
    ({ host, scheduler }, wake) => scheduler.spawn(function* () {
      yield new Promise(resolve => host.after(5, resolve))
      wake()
    }),
    ({ host, scheduler }, wake) => scheduler.spawn(async () => {
      await new Promise(resolve => host.after(5, resolve))
      wake()
    }),
    ({ host, scheduler }, wake) => {
      const release = seam.hold(scheduler)
      host.after(5, () => {
        wake()
        release()
      })
    }
  ]
  for (const prepare of wakers) {
    const run = world({ closed: true, onError(error) { run.log.push(error.message) } })
    const { host, scheduler, log } = run
    const waitable = new seam.Waitable()
    scheduler.spawn(function* () { yield waitable }, { name: 'waiter' })
    prepare(run, () => waitable.wake())
    scheduler.idle().then(() => log.push(`idle at ${host.time}`), error => log.push(error.message))
    await host.drain()
    assert.equal(log, ['idle at 5'])
  }
})

closed('the end of the last hold is when the deadlock is noticed', async () => {
  const { host, scheduler, log } = world({ closed: true })
  stuck(scheduler)
  const [first, last] = [seam.hold(scheduler), seam.hold(scheduler)]
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  for (const time of [1, 2, 3]) host.after(time, first) // which counts once
  host.after(5, last)
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake ping, pong at 5'])
})

closed('async jobs hold it only while they are away', async () => {
  const away = (host, ms) => new Promise(resolve => host.after(ms, resolve))
  const ends = [
    async ({ host }) => { await away(host, 5) },
    async ({ host }, job) => {
      await away(host, 5)
      await job.yield()
    },
    async ({ host }, job) => {
      host.after(3, () => job.cancel()) // which cannot leave what it awaits
      await away(host, 5)
    }
  ]
  for (const end of ends) {
    const run = world({ closed: true })
    const { host, scheduler, log } = run
    stuck(scheduler)
    scheduler.spawn(async job => end(run, job), { name: 'away' })
    scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
    await host.drain({ until: 20 })
    assert.equal(log, ['deadlock: nothing can wake ping, pong at 5'])
  }
})

closed('deadlines wake nobody: the deadlock is noticed before they are missed', async () => {
  const { host, scheduler, log } = world({ closed: true })
  for (const job of stuck(scheduler)) job.deadline = 1000
  scheduler.idle().catch(error => log.push(`${error.message} at ${host.time}`))
  await host.drain()
  assert.equal(log, ['deadlock: nothing can wake ping, pong at 0'])
})

closed('deadlines at which jobs abort do wake them', async () => {
  const { host, scheduler, log } = world({ closed: true })
  scheduler.spawn(function* () { yield new Channel().receive() }, { deadline: 5, miss: 'abort' })
  scheduler.idle().then(() => log.push('idle'), error => log.push(error.message))
  await host.drain()
  assert.equal(log, ['idle'])
})

closed('after the jobs have been cancelled, it is idle', async () => {
  const { host, scheduler } = world({ closed: true })
  const jobs = stuck(scheduler)
  const first = rejection(scheduler.idle())
  host.run()
  await first
  for (const job of jobs) job.cancel()
  host.run()
  await scheduler.idle()
})

closed('an open scheduler waits in silence', async () => {
  const { host, scheduler, log } = world({ onError: error => log.push(error) })
  const jobs = stuck(scheduler)
  scheduler.idle().then(() => log.push('idle'), error => log.push(error))
  await host.drain()
  assert.equal([log, jobs.map(({ state }) => state)], [[], ['waiting', 'waiting']])
})

closed.run()
