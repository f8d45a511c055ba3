import { spawnSync } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  DeadlineError, DeadlockError, Job, Scheduler, Task, budget, defaultHost, edf, fp, rt, extend
} from '../../rt.mjs'
import { HOSTS } from '../support/platform-host.mjs'
import { forSeeds } from '../support/seeded.mjs'
import { assertTrace, record } from '../support/trace.mjs'
import { execute, microtasks, virtualHost } from '../support/virtual-host.mjs'
import { hookOf, world as plainWorld } from '../support/world.mjs'

const world = ({ turn, read, ...options } = {}) => plainWorld({ host: { turn, read }, ...options })

const TOLD = [
  'id', 'name', 'task', 'state', 'release', 'deadline', 'absoluteDeadline', 'priority', 'started', 'finished',
  'cost', 'missed', 'lateness', 'preemptions'
]

/** The properties of a job that user code can read. */
const told = job => Object.fromEntries(TOLD.map(name => [name, job[name]]))

/** The outcome of a promise: 'pending', or an object with its value or reason. */
async function outcomeOf(promise) {
  let outcome = 'pending'
  promise.then(value => { outcome = { value } }, reason => { outcome = { reason } })
  await microtasks()
  return outcome
}

// --- Task

const tasks = suite('Task')

tasks('a derived class: run is called on the task with the arguments of release', async () => {
  const { host, scheduler } = world()
  class Encrypt extends Task {
    * run(text, times) {
      yield
      return [this.key, text, times, this instanceof Encrypt]
    }

    key = 'k'
  }
  const task = new Encrypt({ scheduler, deadline: 5 })
  const job = task.release('text', 2)
  host.run()
  assert.equal(await job, ['k', 'text', 2, true])
  assert.equal([job.name, job.deadline], ['Encrypt', 5])
  assert.is(job.task, task)
})

tasks('a derived class can call the run method of its base class', async () => {
  const { host, scheduler } = world()
  class Base extends Task {
    * run(n) {
      yield
      return n + 1
    }
  }
  class Derived extends Base {
    * run(n) { return 10 * (yield super.run(n)) }
  }
  const job = new Derived({ scheduler }).release(4)
  host.run()
  assert.is(await job, 50)
})

tasks('fields of a derived class are the parameters of the task', () => {
  const { scheduler } = world()
  class Urgent extends Task {
    * run() {}

    deadline = 3
    priority = 2
    name = 'urgent'
    scheduler = scheduler
  }
  const { name, deadline, priority } = new Urgent().release()
  assert.equal({ name, deadline, priority }, { name: 'urgent', deadline: 3, priority: 2 })
})

tasks('accessors of a derived class are the parameters of the task', () => {
  const { scheduler } = world()
  let limit = 3
  class Asked extends Task {
    * run() {}

    get deadline() { return limit }
    set deadline(value) { limit = value }
    get name() { return 'asked' }
  }
  const asked = new Asked({ scheduler, deadline: 4 })
  limit++
  const { name, deadline, priority } = asked.release()
  assert.equal({ name, deadline, priority, limit }, { name: 'asked', deadline: 5, priority: 0, limit: 5 })
})

tasks('a parameter of a derived class that is undefined has its default', () => {
  const { scheduler } = world()
  class Declared extends Task {
    deadline
    priority
    period
    wcet
    miss

    * run() {}
  }
  const cleared = new Task(function* () {}, { deadline: 3, priority: 2, period: 4, wcet: 1, miss: 'abort' })
  Object.assign(cleared, { deadline: undefined, priority: undefined, period: undefined, wcet: undefined, miss: undefined })
  for (const task of [new Declared(), cleared]) {
    const { deadline, priority, period } = scheduler.spawn(task)
    assert.equal({ deadline, priority, period }, { deadline: Infinity, priority: 0, period: Infinity })
  }
})

tasks('a task of a generator, plain or async function calls it on the task', async () => {
  const { host, scheduler } = world()
  const results = []
  const task = new Task(function* (...args) { return [this, ...args] }, { scheduler })
  const plain = new Task(function (...args) { return [this, ...args] }, { scheduler })
  const async = new Task(async function (...args) { return [this, ...args] }, { scheduler })
  const jobs = [task, plain, async].map(one => one.release(1, 2))
  await host.drain()
  for (const job of jobs) results.push(await job)
  assert.is(results[0][0], task)
  assert.is(results[1][0], plain)
  assert.is(results[2][0], async)
  assert.equal(results.map(result => result.slice(1)), [[1, 2], [1, 2], [1, 2]])
})

tasks('parameters of a task are read once, at each release', async () => {
  const { host, scheduler } = world({ policy: fp })
  const task = new Task(function* () { return 'old' }, { name: 'first', deadline: 5, priority: 1, scheduler })
  const first = task.release()
  Object.assign(task, { deadline: 7, priority: 3 })
  const second = task.release()
  task.priority = 2
  const seen = [first, second].map(({ deadline, priority, level }) => ({ deadline, priority, level }))
  assert.equal(seen, [{ deadline: 5, priority: 1, level: 1 }, { deadline: 7, priority: 3, level: 3 }])
  host.run()
  assert.is(await second, 'old')
})

tasks('options of spawn override the parameters of the task', () => {
  const { host, scheduler } = world()
  const seen = []
  const task = new Task(function* () {}, {
    name: 'task', deadline: 5, priority: 1, period: 10, wcet: 3, onMiss: () => seen.push('task')
  })
  const job = scheduler.spawn(task, { name: 'job', deadline: 2, release: -4, onMiss: () => seen.push('job') })
  const { name, deadline, priority, period, release } = job
  assert.equal({ name, deadline, priority, period, release }, {
    name: 'job', deadline: 2, priority: 1, period: 10, release: -4
  })
  assert.is(job.task, task)
  assert.is(task.deadline, 5)
  host.run()
  assert.equal(seen, ['job'])
  const plain = scheduler.spawn(task)
  assert.equal([plain.name, plain.deadline, plain.release], ['task', 5, 0])
})

tasks('spawn passes its arguments to a task', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(new Task((...args) => args), {}, 'a', undefined, 'c')
  host.run()
  assert.equal(await job, ['a', undefined, 'c'])
})

tasks('several jobs of one task run concurrently', async () => {
  const { host, scheduler } = world({ slice: 1 })
  const task = new Task(function* (n) {
    yield* execute(host, n)
    return n
  }, { scheduler })
  const jobs = [task.release(2), task.release(3), task.release(1)]
  host.run()
  assert.equal(await Promise.all(jobs), [2, 3, 1])
  assert.equal(jobs.map(job => [job.id, job.finished]), [[1, 4], [2, 6], [3, 3]])
})

tasks('a task releases on its own scheduler, else on the current one, else on rt', () => {
  const one = world()
  const other = world()
  const free = new Task(function* () {})
  const bound = new Task(function* () {}, { scheduler: other.scheduler })
  one.scheduler.spawn(() => {
    free.release()
    bound.release()
  })
  one.host.run()
  assert.equal([one.scheduler.stats().jobs, other.scheduler.stats().jobs], [2, 1])
  const host = virtualHost()
  const before = rt.stats().jobs
  rt.configure({ host })
  try {
    free.release()
    assert.is(rt.stats().jobs, before + 1)
    host.run()
  } finally {
    rt.configure({ host: defaultHost() })
  }
})

tasks.run()

// --- properties of a job

const accounts = suite('properties of a job')

accounts('the properties of a job change at each step from release to finish', () => {
  const { host, scheduler } = world({ policy: fp, round: 1 })
  const seen = []
  const look = () => { seen.push(told(job)) }
  const waitable = new extend.Waitable()
  const job = scheduler.spawn(function* () {
    look()
    yield* execute(host, 2)
    yield
    yield waitable
    yield* execute(host, 1)
    look()
  }, { name: 'job', release: 10, deadline: 5, priority: 1 })
  scheduler.spawn(execute(host, 3), { release: 11, priority: 2 })
  look()
  host.after(13, look)
  host.run({ until: 20 })
  look()
  waitable.wake()
  look()
  host.run()
  look()
  const named = { id: 1, name: 'job', task: null }
  const always = { ...named, release: 10, deadline: 5, absoluteDeadline: 15, priority: 1, started: 10 }
  const open = { ...always, finished: undefined, missed: false, lateness: undefined }
  assert.equal(seen, [
    { ...open, state: 'pending', started: undefined, cost: 0, preemptions: 0 },
    { ...open, state: 'running', cost: 0, preemptions: 0 },
    { ...open, state: 'ready', cost: 1, preemptions: 1 },
    { ...open, state: 'waiting', cost: 2, preemptions: 1, missed: true },
    { ...open, state: 'ready', cost: 2, preemptions: 1, missed: true },
    { ...open, state: 'running', cost: 2, preemptions: 1, missed: true },
    { ...always, state: 'done', finished: 21, cost: 3, missed: true, lateness: 6, preemptions: 1 }
  ])
})

accounts('failed and cancelled jobs keep their times and costs', () => {
  const { host, scheduler } = world()
  const failed = scheduler.spawn(function* () {
    yield* execute(host, 2)
    throw new Error('failed')
  }, { deadline: 3 })
  const cancelled = scheduler.spawn(execute(host, 9), { deadline: 4 })
  const never = scheduler.spawn(execute(host, 9), { deadline: 9, release: 1000 })
  const unstarted = scheduler.spawn(execute(host, 9))
  host.after(2, () => cancelled.cancel())
  never.cancel()
  unstarted.cancel()
  for (const job of [failed, cancelled, never, unstarted]) job.catch(() => {})
  host.run()
  const seen = [failed, cancelled, never, unstarted].map(job => {
    const { state, started, finished, cost, missed, lateness } = job
    return [state, started, finished, cost, missed, lateness]
  })
  assert.equal(seen, [
    ['failed', 0, 2, 2, false, -1],
    ['cancelled', 2, 5, 3, true, 1],
    ['cancelled', undefined, 0, 0, false, -1009],
    ['cancelled', undefined, 0, 0, false, -Infinity]
  ])
})

accounts('a job is named by its option, else its task, its function or its number', () => {
  const { scheduler } = world()
  const named = function* work() {}
  const task = new Task(named, { name: 'task' })
  const names = [
    scheduler.spawn(named, { name: 'own' }),
    scheduler.spawn(task, { name: 'own' }),
    scheduler.spawn(task),
    scheduler.spawn(new Task(named)),
    scheduler.spawn(named),
    scheduler.spawn((() => () => {})()),
    scheduler.spawn(named()),
    scheduler.spawn(named(), { name: '' })
  ].map(({ name }) => name)
  assert.equal(names, ['own', 'own', 'task', 'work', 'work', 'job 6', 'job 7', 'job 8'])
})

accounts('ids number the jobs of each scheduler', () => {
  const one = world()
  const other = world()
  const ids = [one.spawn('A').id, other.spawn('B').id, one.spawn('C').id]
  assert.equal(ids, [1, 1, 2])
})

accounts('the properties of a job are read-only, except deadline and priority', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(() => host.advance(3))
  await host.drain()
  const before = told(job)
  for (const name of TOLD.filter(name => name !== 'deadline' && name !== 'priority')) {
    assert.throws(() => { job[name] = 5 }, TypeError, name)
  }
  assert.equal(told(job), before)
})

accounts('Object.prototype.toString names a job [object Job]', () => {
  const { spawn } = world()
  const job = spawn('job')
  assert.is(Object.prototype.toString.call(job), '[object Job]')
  assert.instance(job, Job)
})

accounts.run()

// --- work as an object and a method

const methods = suite('a pair of an object and a method')

class Cipher {
  * encrypt(text) {
    yield
    return [this, text, this.key]
  }
  key = 7
  async later(text) { return [this, text, this.key] }
  plain(text) { return [this, text, this.key] }
  async * stream() {}
  static * [Symbol.iterator](text) { return [this, text, 0] }
}

methods('a pair of an object and a method is called as a method, with its arguments', async () => {
  const { host, scheduler } = world()
  const cipher = new Cipher()
  const jobs = ['encrypt', 'later', 'plain'].map(name => scheduler.spawn([cipher, name], {}, 'text'))
  jobs.push(scheduler.spawn([Cipher, Symbol.iterator], { name: 'given' }, 'text'))
  assert.equal(jobs.map(({ name }) => name), ['encrypt', 'later', 'plain', 'given'])
  await host.drain()
  for (const job of jobs.slice(0, 3)) {
    const [self, ...rest] = await job
    assert.is(self, cipher)
    assert.equal(rest, ['text', 7])
  }
  assert.is((await jobs[3])[0], Cipher)
  assert.is(scheduler.spawn([Cipher, Symbol.iterator]).name, 'Symbol(Symbol.iterator)')
})

methods('a job of a pair has no task and accepts all options', () => {
  const { scheduler } = world()
  const job = scheduler.spawn([new Cipher(), 'plain'], { deadline: 5, priority: 2 })
  assert.equal([job.task, job.deadline, job.priority], [null, 5, 2])
})

methods('spawn checks a pair at the call', () => {
  const { scheduler } = world()
  const cipher = new Cipher()
  const wanted = "work must be a Task, a generator, a function or [object, 'method'], got an array"
  for (const [pair, message] of [
    [[], wanted],
    [[cipher], wanted],
    [[cipher, 'plain', 1], wanted],
    [[null, 'plain'], 'work[0], whose method is plain, must be an object, got null'],
    [['text', 'at'], "work[0], whose method is at, must be an object, got \"text\""],
    [[cipher, 'decrypt'], 'work[1]: decrypt must be a function, got undefined'],
    [[cipher, 'key'], 'work[1]: key must be a function, got 7'],
    [[cipher, 'stream'], 'work must be a generator function, not an async one, got function stream']
  ]) {
    assert.throws(() => scheduler.spawn(pair), error => error instanceof TypeError && error.message === message, message)
  }
  assert.is(scheduler.stats().jobs, 0)
})

methods.run()

// --- the signal of a job

const signals = suite('job.signal')

signals('job.signal is created on first use and stays the same', () => {
  const { host, spawn } = world()
  const job = spawn('job')
  const { signal } = job
  assert.instance(signal, AbortSignal)
  assert.is(job.signal, signal)
  host.run()
  assert.equal([job.state, job.signal === signal, signal.aborted], ['done', true, false])
})

signals('cancel() aborts job.signal with its reason immediately, in any state', () => {
  const { host, scheduler, log } = world()
  const spawn = (name, work, options) => {
    const job = scheduler.spawn(work, { name, ...options })
    job.signal.addEventListener('abort', () => log.push(`${name} ${job.signal.reason} ${job.state}`))
    return job
  }
  const pending = spawn('pending', () => {}, { release: 9 })
  const waiting = spawn('waiting', function* () { yield new extend.Waitable() }, { priority: 1 })
  const itself = spawn('itself', function* () {
    itself.cancel('own')
    log.push('on')
    yield
  })
  host.run({ until: 5 })
  waiting.cancel('while it waits')
  pending.cancel('before its release')
  host.run()
  assert.equal(log, [
    'itself own running', 'on', 'waiting while it waits ready', 'pending before its release cancelled'
  ])
})

signals('job.signal of a cancelled job is already aborted', () => {
  const { host, scheduler, spawn } = world()
  const early = spawn('early')
  early.cancel('early')
  const late = scheduler.spawn(function* () { yield new extend.Waitable() })
  host.run()
  late.cancel('late')
  assert.equal([early, late].map(({ signal }) => [signal.aborted, signal.reason]), [[true, 'early'], [true, 'late']])
  host.run()
  assert.is(late.signal.reason, 'late')
})

signals('job.signal of a failed or missed job is not aborted', async () => {
  const { host, scheduler, spawn } = world()
  const failed = scheduler.spawn(() => { throw new Error('failed') })
  const missed = spawn('missed', { deadline: 1 }, 3)
  const aborted = spawn('aborted', { deadline: 1, miss: 'abort' }, 3)
  const [one, other, { reason }] = [failed, missed, aborted].map(({ signal }) => signal)
  await host.drain()
  assert.equal([one.aborted, other.aborted, reason, aborted.signal.reason.name], [false, false, undefined, 'DeadlineError'])
})

signals('a child with the signal of its parent is cancelled with the parent', () => {
  const { host, scheduler } = world()
  let child
  const parent = scheduler.spawn(function* () {
    child = scheduler.spawn(execute(host, 9), { signal: scheduler.current.signal })
    yield new extend.Waitable()
  })
  extend.at(scheduler, 3, () => parent.cancel('both'))
  host.run()
  assert.equal([parent.state, child.state, child.cost], ['cancelled', 'cancelled', 3])
})

signals('job[Symbol.dispose]() cancels the job', () => {
  const { host, spawn } = world()
  const [job, done] = [spawn('job', { release: 5 }), spawn('done')]
  host.run({ until: 2 })
  for (const one of [job, done]) {
    assert.is(one[Symbol.dispose](), undefined)
    assert.is(one[Symbol.dispose](), undefined)
  }
  host.run()
  assert.equal([job, done].map(({ state }) => state), ['cancelled', 'done'])
})

signals.run()

// --- a job as a promise

const thenables = suite('awaiting a job')

const RESULTS = {
  '0': 0, undefined, null: null, false: false, 'an empty string': '', NaN, 'a symbol': Symbol('result'),
  'a function': () => {}, 'an object': {}, 'an array': [1], 'a bigint': 0n
}

thenables('the result of a job is returned unchanged by generators and functions', async () => {
  for (const [name, result] of Object.entries(RESULTS)) {
    const { host, scheduler } = world()
    const jobs = [
      function* () { return result },
      function* () {
        yield
        return result
      },
      () => result,
      async () => result
    ].map(work => scheduler.spawn(work))
    const asked = jobs.map(job => job.then(value => ({ value })))
    await host.drain()
    for (const promise of asked) assert.ok(Object.is((await promise).value, result), name)
    for (const job of jobs) assert.ok(Object.is(await job, result), name)
    assert.equal(jobs.map(({ state }) => state), ['done', 'done', 'done', 'done'], name)
  }
})

thenables('the result of a function decides: an iterator is driven, a thenable awaited', async () => {
  const { host, scheduler, trace } = world()
  let left = 3
  const iterator = { next: () => ({ done: --left === 0, value: left === 0 ? 'driven' : undefined }) }
  const jobs = [
    scheduler.spawn(() => iterator, { name: 'iterator' }),
    scheduler.spawn(() => Promise.resolve('awaited'), { name: 'promise' }),
    scheduler.spawn(() => ({ then: resolve => resolve('called') }), { name: 'thenable' }),
    scheduler.spawn(() => [1, 2], { name: 'array' })
  ]
  await host.drain()
  assert.equal(await Promise.all(jobs), ['driven', 'awaited', 'called', [1, 2]])
  assert.is(left, 0)
  assert.equal(trace.records.filter(({ type }) => type === 'finish').length, 4)
})

thenables('a failure closes an iterator without throw and return, like yield*', async () => {
  const { host, scheduler } = world()
  const failure = new Error('rejected')
  const job = scheduler.spawn(() => ({ next: () => ({ done: false, value: Promise.reject(failure) }) }))
  const asked = outcomeOf(job)
  await host.drain()
  await asked
  assert.equal(await outcomeOf(job), { reason: failure })
})

thenables('a job can be awaited before, while and after it runs, with the same result', async () => {
  const { host, scheduler } = world()
  const answers = []
  const work = scheduler.spawn(function* () {
    work.then(value => answers.push(['while', value]))
    yield* execute(host, 2)
    return 'value'
  })
  work.then(value => answers.push(['before', value]))
  await host.drain()
  work.then(value => answers.push(['after', value]))
  await microtasks()
  assert.equal(answers, [['before', 'value'], ['while', 'value'], ['after', 'value']])
})

thenables('then, catch and finally of a job work like those of a promise', async () => {
  const { host, scheduler } = world()
  const failure = new Error('failed')
  const done = scheduler.spawn(() => 'value')
  const failed = scheduler.spawn(() => { throw failure })
  const called = []
  const promises = [
    done.then(value => `${value} then`),
    done.then(null, () => 'never'),
    done.then(),
    done.catch(() => 'never'),
    done.finally(function () {
      called.push(arguments.length)
      return 'ignored'
    }),
    done.then(() => { throw failure }),
    done.finally(() => { throw failure }),
    failed.then(() => 'never'),
    failed.then(() => 'never', reason => [reason, 'handled']),
    failed.catch(reason => [reason, 'caught']),
    failed.finally(() => 'ignored'),
    failed.finally(() => Promise.reject(new Error('another')))
  ]
  assert.ok(promises.every(promise => promise instanceof Promise))
  const outcomes = Promise.allSettled(promises)
  await host.drain()
  assert.equal((await outcomes).map(({ value, reason }) => value ?? reason.message ?? reason), [
    'value then', 'value', 'value', 'value', 'value', 'failed', 'failed',
    'failed', [failure, 'handled'], [failure, 'caught'], 'failed', 'another'
  ])
  assert.equal(called, [0])
  assert.equal(host.errors, [])
})

thenables('Promise.all, allSettled, any, race and resolve accept jobs', async () => {
  const { host, scheduler, spawn } = world()
  const returning = (value, ms) => scheduler.spawn(function* () {
    yield* execute(host, ms)
    return value
  })
  const slow = returning('slow', 3)
  const quick = returning('quick', 1)
  const failure = new Error('failed')
  const failed = scheduler.spawn(() => { throw failure })
  const asked = Promise.all([
    Promise.all([slow, quick]),
    Promise.race([slow, quick]),
    Promise.any([failed, slow]),
    Promise.resolve(quick),
    Promise.allSettled([quick, failed]),
    Promise.all([slow, failed]).catch(reason => reason)
  ])
  spawn('other')
  await host.drain()
  assert.equal(await asked, [
    ['slow', 'quick'], 'quick', 'slow', 'quick',
    [{ status: 'fulfilled', value: 'quick' }, { status: 'rejected', reason: failure }],
    failure
  ])
  assert.equal(host.errors, [])
})

thenables('waiters of a job receive its result in the order in which they asked', async () => {
  const { host, scheduler } = world()
  const heard = []
  const job = scheduler.spawn(() => 'value')
  const await_ = async name => { heard.push([name, await job]) }
  for (const name of ['one', 'two', 'three']) await_(name)
  scheduler.spawn(function* () { heard.push(['job', yield job]) })
  await host.drain()
  assert.equal(heard, [['job', 'value'], ['one', 'value'], ['two', 'value'], ['three', 'value']])
})

thenables('a job can wait for a job of another scheduler', async () => {
  const one = world()
  const other = new Scheduler({ host: one.host })
  const slow = other.spawn(function* () {
    yield* execute(one.host, 3)
    return 'from the other'
  })
  const failure = new Error('failed')
  const job = one.scheduler.spawn(function* () {
    const results = [yield slow]
    try {
      yield other.spawn(() => { throw failure })
    } catch (error) {
      results.push(error)
    }
    return results
  })
  await one.host.drain()
  assert.equal(await job, ['from the other', failure])
  assert.equal(one.host.errors, [])
})

const failure = new Error('adopted')
const rejecting = () => Promise.reject(failure)
const resolving = value => ({ then: resolve => { resolve(value) } })
const calling = then => ({ then })
const waiting = enter => Object.assign(new extend.Waitable(), { enter })

const twice = resolve => {
  resolve(7)
  resolve(8)
}
const andThrow = resolve => {
  resolve(9)
  throw failure
}

/** Results that resolve to another value, and that value. */
const RESOLVED = {
  'a promise': [() => Promise.resolve(1), 1],
  'a promise of a thenable': [() => Promise.resolve().then(() => resolving(2)), 2],
  'a thenable': [() => resolving(3), 3],
  'a thenable of a thenable': [() => resolving(resolving(4)), 4],
  'a thenable of a promise': [() => resolving(Promise.resolve(5)), 5],
  'a thenable that is a function': [() => Object.assign(() => {}, resolving(6)), 6],
  'a thenable that resolves twice': [() => calling(twice), 7],
  'a thenable that resolves and throws': [() => calling(andThrow), 9],
  'a waitable': [() => waiting(function () { this.wake(10) }), 10],
  'a job': [scheduler => scheduler.spawn(() => 11), 11]
}
const REJECTED = {
  'a rejected promise': rejecting,
  'a thenable that rejects': () => calling((_, reject) => reject(failure)),
  'a thenable that throws': () => calling(() => { throw failure }),
  'a then that cannot be read': () => ({ get then() { throw failure } }),
  'a thenable of a rejected promise': () => resolving(rejecting()),
  'a waitable that fails': () => waiting(() => { throw failure }),
  'a job that failed': scheduler => scheduler.spawn(() => { throw failure })
}
const ADOPTED = [
  ...Object.entries(RESOLVED).map(([name, [make, value]]) => [name, make, { value }]),
  ...Object.entries(REJECTED).map(([name, make]) => [name, make, { reason: failure }])
]

for (const [name, make, outcome] of ADOPTED) {
  thenables(`a job whose result is ${name} resolves to its value`, async () => {
    const works = {
      generator: function* (scheduler) { return make(scheduler) },
      'generator after a point': function* (scheduler) {
        yield
        return make(scheduler)
      },
      function: scheduler => make(scheduler),
      'async function': async scheduler => make(scheduler)
    }
    for (const [kind, work] of Object.entries(works)) {
      const { host, scheduler } = world()
      const job = scheduler.spawn(work, {}, scheduler)
      job.catch(() => {})
      await host.drain()
      assert.equal(await outcomeOf(job), outcome, kind)
      assert.is(job.state, 'value' in outcome ? 'done' : 'failed', kind)
      assert.equal(host.errors, [], kind)
      await scheduler.idle()
    }
  })
}

thenables('a job waits for the promise that it returns', async () => {
  const { host, scheduler, trace } = world()
  let resolve
  const promise = new Promise(settle => { resolve = settle })
  const job = scheduler.spawn(function* () {
    yield* execute(host, 1)
    return promise
  }, { name: 'job', deadline: 10 })
  host.after(4, () => resolve('late'))
  await host.drain()
  assertTrace(trace, `
    0 release job, start   job
    1 block   job on=Promise
    4 wake    job, resume  job, finish  job`)
  assert.equal([await job, job.finished, job.cost], ['late', 4, 1])
})

thenables('a job that returns itself fails with a TypeError', async () => {
  const { host, scheduler } = world()
  const job = scheduler.spawn(function* itself() { return job })
  const { reason } = (host.run(), await outcomeOf(job))
  assert.instance(reason, TypeError)
  assert.is(reason.message, 'itself waits for itself')
})

thenables.run()

// --- failures

const failures = suite('failures')

failures('a job that throws does not affect other jobs', () => {
  const { host, scheduler, spawn, trace } = world({ slice: 2 })
  spawn('A', {}, 4)
  scheduler.spawn(function* () {
    yield* execute(host, 1)
    throw new Error('failed')
  }, { name: 'fails' })
  spawn('B', {}, 3)
  host.run()
  assertTrace(trace, `
    0 release A, release fails, release B, start   A
    2 preempt A by=fails, start   fails
    3 fail    fails error=Error, start   B
    5 preempt B by=A, resume  A
    7 finish  A, resume  B
    8 finish  B`)
})

failures('a job fails with any thrown value, wherever it is thrown', async () => {
  const places = {
    'a function': thrown => () => { throw thrown },
    'an async function': thrown => async () => { throw thrown },
    'a generator': thrown => function* () { throw thrown },
    'after a point': thrown => function* () {
      yield
      throw thrown
    },
    'a call': thrown => function* () {
      yield (function* () {
        yield
        throw thrown
      })()
    },
    'a finally block': thrown => function* () {
      try {
        yield
        throw new Error('replaced')
      } finally {
        yield
        throw thrown
      }
    },
    'a wait': thrown => function* () { yield Promise.reject(thrown) }
  }
  for (const [place, work] of Object.entries(places)) {
    for (const thrown of [new Error('thrown'), undefined, null, 0, '', Symbol('thrown')]) {
      const { host, scheduler } = world()
      const job = scheduler.spawn(work(thrown))
      const asked = outcomeOf(job)
      await host.drain()
      await asked
      assert.equal([job.state, await outcomeOf(job)], ['failed', { reason: thrown }], place)
      assert.equal(host.errors, [])
    }
  }
})

failures('an unhandled failure is reported once with its job, at the end of the round', () => {
  const host = virtualHost()
  const errors = [new Error('one'), new Error('two')]
  const reported = []
  const onError = (error, job) => reported.push([host.time, error, job])
  const scheduler = new Scheduler({ host, budget: 1, onError })
  const jobs = errors.map((error, index) => scheduler.spawn(function* () {
    yield* execute(host, 1)
    throw error
  }, { name: `job ${index}` }))
  scheduler.spawn(execute(host, 9), { deadline: 100, release: 1 })
  host.run()
  assert.equal(reported, [[5, errors[0], jobs[0]], [11, errors[1], jobs[1]]])
  assert.equal(host.errors, [])
})

failures('without onError the host reports an unhandled failure', () => {
  const { host, scheduler } = world()
  const errors = [new Error('one'), undefined, 0]
  for (const error of errors) scheduler.spawn(() => { throw error })
  host.run()
  assert.equal(host.errors, errors)
})

failures('a failure that is handled before the end of the round is not reported', async () => {
  const asks = {
    then: job => { job.then(undefined, () => {}) },
    catch: job => { job.catch(() => {}) },
    await: async job => {
      try {
        await job
      } catch {}
    },
    'another job': (job, scheduler) => {
      scheduler.spawn(function* () {
        try {
          yield job
        } catch {}
      })
    },
    'another job, later in the round': (job, scheduler, host) => {
      scheduler.spawn(function* () {
        yield* execute(host, 3)
        yield
        try {
          yield job
        } catch {}
      })
    }
  }
  for (const [name, ask] of Object.entries(asks)) {
    const { host, scheduler } = world({ round: Infinity })
    const job = scheduler.spawn(function* () { throw new Error('failed') })
    ask(job, scheduler, host)
    await host.drain()
    assert.is(job.state, 'failed', name)
    assert.equal(host.errors, [], name)
  }
})

failures('a job that waits for a failed job fails, and only its failure is reported', () => {
  const { host, scheduler } = world()
  const error = new Error('failed')
  const job = scheduler.spawn(() => { throw error })
  const waits = scheduler.spawn(function* () { yield job })
  host.run()
  assert.equal([job.state, waits.state, host.errors], ['failed', 'failed', [error]])
})

failures('a cancelled job is never reported, handled or not', async () => {
  const { host, spawn } = world()
  const reason = new Error('not needed any more')
  spawn('unstarted').cancel(reason)
  spawn('pending', { release: 9 }).cancel()
  const started = spawn('started', {}, 9)
  host.after(1, () => started.cancel(reason))
  const late = spawn('late', { deadline: 2, miss: 'abort' }, 9)
  await host.drain()
  assert.equal([started.state, late.state, host.errors], ['cancelled', 'cancelled', []])
  assert.equal(await outcomeOf(started), { reason })
  assert.instance((await outcomeOf(late)).reason, DeadlineError)
})

failures('an error of onError is reported by the host', async () => {
  const host = virtualHost()
  const thrown = new Error('thrown by onError')
  const scheduler = new Scheduler({ host, onError() { throw thrown } })
  scheduler.spawn(() => { throw new Error('failed') })
  const next = scheduler.spawn(() => 'went on')
  host.run()
  assert.equal(host.errors, [thrown])
  assert.is(await next, 'went on')
})

/**
 * Runs a module in its own process.
 * @param {string} body
 */
function inProcess(body) {
  const script = `
    import { Scheduler, rt } from ${JSON.stringify(new URL('../../rt.mjs', import.meta.url).href)}
    ${body}`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8'
  })
  return { status, stderr, lines: stdout.split('\n').filter(Boolean) }
}

failures('in Node an unhandled failure ends the process, like an unhandled rejection', () => {
  const { status, stderr, lines } = inProcess(`
    const scheduler = new Scheduler({ round: Infinity })
    scheduler.spawn(function* () { throw new Error('nobody asks') })
    scheduler.spawn(function* () { console.log('the round goes on') })
    setTimeout(() => console.log('too late'), 10_000)`)
  assert.is(status, 1)
  assert.match(stderr, /Error: nobody asks/)
  assert.equal(lines, ['the round goes on'])
})

failures('in Node an unhandled failure that is handled late emits rejectionHandled', () => {
  const { status, stderr, lines } = inProcess(`
    process.on('unhandledRejection', (reason, promise) => {
      console.log('unhandled', reason.message, promise instanceof Promise)
      job.catch(reason => console.log('caught', reason.message))
    })
    process.on('rejectionHandled', () => console.log('handled'))
    const job = rt.spawn(function* () { throw new Error('failed') })`)
  assert.equal([status, stderr], [0, ''])
  assert.equal(lines, ['unhandled failed true', 'caught failed', 'handled'])
})

failures('in Node handled failures and cancelled jobs emit no unhandledRejection', () => {
  const { status, stderr, lines } = inProcess(`
    process.on('unhandledRejection', reason => console.log('unhandled', reason))
    const fails = () => { throw new Error('failed') }
    const scheduler = new Scheduler({ round: Infinity })
    scheduler.spawn(fails).catch(() => console.log('caught'))
    const job = scheduler.spawn(fails)
    scheduler.spawn(function* () {
      try {
        yield job
      } catch {
        console.log('thrown')
      }
    })
    scheduler.spawn(fails).cancel()
    const cancelled = rt.spawn(function* () { for (;;) yield })
    setTimeout(() => cancelled.cancel(), 1)
    await scheduler.idle()
    await rt.idle()
    console.log('idle')`)
  assert.equal([status, stderr], [0, ''])
  assert.equal(lines, ['thrown', 'caught', 'idle'])
})

failures('in Node an error of a handler is an uncaught exception, and jobs continue', () => {
  const { status, stderr, lines } = inProcess(`
    process.on('uncaughtException', error => console.log('uncaught', error.message))
    const scheduler = new Scheduler({ onMiss() { throw new Error('in onMiss') } })
    const job = scheduler.spawn(function* () {
      while (!job.missed) yield
      return 'done'
    }, { deadline: 0.001 })
    console.log(await job)`)
  assert.equal([status, stderr], [0, ''])
  assert.equal(lines.sort(), ['done', 'uncaught in onMiss'])
})

failures.run()

// --- handlers

const handlers = suite('handlers')

handlers('misses, overruns and stalls call the handler of the job, then the scheduler\'s', () => {
  const host = virtualHost()
  const told = []
  const tell = name => (...args) => told.push([host.time, name, ...args, scheduler.current])
  const scheduler = new Scheduler({
    host, budget: 1, slice: 3, onMiss: tell('onMiss'), onOverrun: tell('onOverrun'), onStall: tell('onStall')
  })
  const job = scheduler.spawn(function* () {
    yield* execute(host, 3)
    yield
    yield* execute(host, 3)
    yield
    host.advance(7)
  }, { deadline: 4, wcet: 2, onMiss: tell('own onMiss'), onOverrun: tell('own onOverrun') })
  host.run()
  assert.equal(told, [
    [3, 'own onOverrun', job, null],
    [3, 'onOverrun', job, null],
    [5, 'own onMiss', job, null],
    [5, 'onMiss', job, null],
    [13, 'onStall', job, 7, null]
  ])
  const { misses, overruns, stalls, longestBudget } = scheduler.stats()
  assert.equal([misses, overruns, stalls, longestBudget], [1, 1, 1, 7])
})

handlers('the handlers of a task are read at its release', () => {
  const { host, scheduler } = world()
  const told = []
  const tell = name => job => told.push([host.time, name, job])
  const task = new Task(() => execute(host, 3), {
    scheduler, deadline: 1, wcet: 2, onMiss: tell('miss'), onOverrun: tell('overrun')
  })
  const job = task.release()
  Object.assign(task, { onMiss: undefined, onOverrun: undefined })
  host.run()
  assert.equal(told, [[2, 'miss', job], [3, 'overrun', job]])
})

handlers('a handler that throws is reported and does not change the schedule', () => {
  const program = handlersOf => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host, budget: 1, ...handlersOf(host) })
    const trace = record(scheduler)
    const { onMiss, onOverrun } = handlersOf(host)
    scheduler.spawn(execute(host, 6, 3), { name: 'A', deadline: 4, wcet: 5, onMiss, onOverrun })
    scheduler.spawn(execute(host, 2), { name: 'B', deadline: 5 })
    host.run()
    return { host, text: trace.text() }
  }
  const { text } = program(() => ({}))
  const thrown = []
  const throws = () => {
    thrown.push(new Error('thrown by a handler'))
    throw thrown.at(-1)
  }
  const throwing = program(() => ({ onMiss: throws, onOverrun: throws, onStall: throws }))
  assertTrace(throwing.text, text)
  assert.equal(throwing.host.errors, thrown)
  assert.is(thrown.length, 7)
})

handlers('an error of a handler goes to onError without a job', () => {
  const host = virtualHost()
  const error = new Error('thrown by a handler')
  const reported = []
  const scheduler = new Scheduler({
    host, budget: 1, onMiss() { throw error }, onError: (error, job) => reported.push([error, job])
  })
  scheduler.spawn(execute(host, 3), { deadline: 1 })
  host.run()
  assert.equal(reported, [[error, null]])
  assert.equal(host.errors, [])
})

handlers('a handler may cancel a job at its end, unless the job has failed', async () => {
  const { host, scheduler } = world({ slice: 2, onStall: job => { job.cancel('too long') } })
  const done = scheduler.spawn(execute(host, 3, 3))
  const fails = scheduler.spawn(() => {
    host.advance(3)
    throw 'its own'
  })
  const outcomes = Promise.allSettled([done, fails])
  await host.drain()
  assert.equal((await outcomes).map(({ reason }) => reason), ['too long', 'its own'])
  assert.equal([done.state, fails.state], ['cancelled', 'failed'])
})

handlers('a handler may spawn, cancel and re-key jobs', () => {
  const { host, scheduler, spawn, trace } = world()
  spawn('late', {
    deadline: 2,
    onMiss(job) {
      job.cancel('too late')
      spawn('instead', { deadline: 2 })
      other.deadline = 1
    }
  }, 5)
  const other = spawn('other')
  host.run()
  assertTrace(trace, `
    0 release late, release other, start   late
    3 miss    late, release instead, preempt late by=other, start   other
    4 finish  other, miss    other, resume  late, cancel  late error=too late, start   instead
    5 finish  instead`)
  assert.equal(scheduler.stats().misses, 2)
})

handlers.run()

// --- observers

const observers = suite('observe')

const EVENTFUL = `
  0 release waits
  0 release reserved
  0 release lax
  0 release gone
  0 cancel  gone error=not needed
  0 release fails
  0 start   waits
  1 block   waits on=Waitable
  1 start   reserved
  2 release urgent
  2 deplete reserved
  2 start   urgent
  4 finish  urgent
  4 start   lax
  5 round   start=0
  6 miss    waits
  6 alarm   due=6
  6 wake    waits
  6 preempt lax by=waits
  6 resume  waits
  9 stall   waits ms=3
  9 overrun waits
  9 finish  waits
  9 start   fails
  9 fail    fails error=Error
  9 resume  lax
  10 finish lax
  10 round  start=5
  12 replenish due=12
  12 wake   reserved
  12 resume reserved
  13 finish reserved
  13 round  start=12`

/** A schedule that produces a record of every type. */
function eventful(observe = () => {}) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, slice: 2 })
  observe(scheduler)
  const keys = { absoluteDeadline: 20, priority: 0 }
  const hook = hookOf(scheduler, {
    keys,
    drain() {
      if (host.time > 2) return
      extend.at(scheduler, 12, () => hook.group.change(keys), { replenishment: true })
      hook.group.change(null)
    }
  })
  const reservation = { [extend.protocol]: hook }
  const waitable = new extend.Waitable()
  scheduler.spawn(function* () {
    yield* execute(host, 1)
    yield waitable
    host.advance(3)
  }, { name: 'waits', deadline: 5, wcet: 2 })
  scheduler.spawn(execute(host, 2), { name: 'reserved', deadline: 20, reservation })
  scheduler.spawn(execute(host, 2), { name: 'urgent', deadline: 3, release: 1.5 })
  scheduler.spawn(execute(host, 3), { name: 'lax' })
  scheduler.spawn(execute(host, 3), { name: 'gone' }).cancel('not needed')
  scheduler.spawn(() => { throw new Error('failed') }, { name: 'fails' })
  extend.at(scheduler, 6, () => waitable.wake())
  host.run()
  return { host, scheduler }
}

observers('an observer receives every record of a schedule', () => {
  let trace
  eventful(scheduler => { trace = record(scheduler) })
  assertTrace(trace, EVENTFUL)
})

const KEYS = {
  release: [], start: [], preempt: ['by'], resume: [], block: ['on'], wake: [], finish: [], cancel: ['error'],
  fail: ['error'], miss: [], overrun: [], stall: ['ms'], deplete: [], replenish: ['due'], alarm: ['due'],
  round: ['start']
}

observers('records are plain objects of type, time, job and the keys of their type', () => {
  const records = []
  eventful(scheduler => scheduler.observe(record => records.push(record)))
  for (const record of records) {
    assert.is(Object.getPrototypeOf(record), Object.prototype)
    assert.equal(Object.keys(record), ['type', 'time', 'job', ...KEYS[record.type]], record.type)
    assert.type(record.time, 'number')
    if (['round', 'alarm', 'replenish'].includes(record.type)) assert.is(record.job, null)
    else assert.instance(record.job, Job)
  }
  assert.equal([...new Set(records.map(({ type }) => type))].sort(), Object.keys(KEYS).sort())
  assert.is(new Set(records).size, records.length)
})

observers('observing does not change the schedule', () => {
  const seen = []
  const watched = eventful(scheduler => scheduler.observe(record => seen.push(record)))
  const unwatched = eventful()
  assert.ok(seen.length > 20)
  assert.equal(watched.scheduler.stats(), unwatched.scheduler.stats())
  assert.is(watched.host.time, unwatched.host.time)
  assert.is(watched.host.turns, unwatched.host.turns)
})

observers('an observer receives records from observe() until it unsubscribes', () => {
  const { host, scheduler, spawn } = world()
  const heard = []
  spawn('before')
  const stop = scheduler.observe(({ type }) => heard.push(type))
  spawn('A')
  stop()
  stop()
  spawn('B')
  const other = scheduler.observe(({ type }) => heard.push(`again ${type}`))
  stop()
  spawn('C')
  other()
  host.run()
  assert.equal(heard, ['release', 'again release'])
})

observers('a function that observes twice is called twice and unsubscribes separately', () => {
  const { scheduler, spawn } = world()
  let heard = 0
  const observer = () => { heard++ }
  const stops = [scheduler.observe(observer), scheduler.observe(observer)]
  spawn('A')
  assert.is(heard, 2)
  stops[0]()
  stops[0]()
  spawn('B')
  assert.is(heard, 3)
  stops[1]()
  spawn('C')
  assert.is(heard, 3)
})

observers('an observer may unsubscribe itself and others, and add others, while notified', () => {
  const { scheduler, spawn } = world()
  const heard = []
  const stops = {}
  const add = (name, then = () => {}) => {
    stops[name] = scheduler.observe(({ job }) => {
      heard.push(`${name} ${job.name}`)
      then()
    })
  }
  add('one', () => {
    stops.one()
    stops.two()
    add('three')
  })
  add('two')
  spawn('A')
  spawn('B')
  assert.equal(heard, ['one A', 'two A', 'three B'])
})

observers('the only observer may unsubscribe at any record', () => {
  const { scheduler: expected, host: { time } } = eventful()
  for (let last = 0; last < EVENTFUL.trim().split('\n').length; last++) {
    let left = last
    const { scheduler, host } = eventful(watched => {
      const stop = watched.observe(() => { if (left-- === 0) stop() })
    })
    assert.equal([scheduler.stats(), host.time], [expected.stats(), time], `record ${last}`)
  }
})

observers('an observer that throws is reported and affects no schedule and no observer', () => {
  const error = new Error('thrown by an observer')
  let trace
  let times = 0
  const { host } = eventful(scheduler => {
    scheduler.observe(() => {
      times++
      throw error
    })
    trace = record(scheduler)
  })
  assertTrace(trace, EVENTFUL)
  assert.is(times, trace.records.length)
  assert.is(host.errors.filter(one => one === error).length, times)
})

observers('observers are notified while the current job is null', () => {
  const { host, scheduler, spawn } = world()
  const seen = []
  scheduler.observe(({ type }) => seen.push([type, scheduler.current]))
  spawn('job', { deadline: 1 }, 2)
  host.run()
  assert.equal(seen, ['release', 'start', 'finish', 'miss', 'round'].map(type => [type, null]))
})

observers.run()

// --- pause and resume

const pausing = suite('pause and resume')

pausing('a scheduler created with paused: true runs no job until resume()', () => {
  const { host, scheduler, spawn, trace } = world({ paused: true })
  spawn('A')
  spawn('pending', { release: 2 })
  scheduler.spawn(() => {})
  assert.equal([scheduler.paused, host.posts, host.timers], [true, 0, []])
  host.run({ until: 5 })
  assert.is(scheduler.stats().rounds, 0)
  scheduler.resume()
  assert.is(scheduler.paused, false)
  trace.take()
  host.run()
  assertTrace(trace, `
    5 release pending, start   A
    6 finish  A, start   job 3, finish  job 3, start   pending
    7 finish  pending`)
})

pausing('a job that calls pause() stops at its next point and resumes there', () => {
  const { host, scheduler, spawn, trace } = world({ budget: 1000, slice: 10 })
  scheduler.spawn(function* () {
    yield* execute(host, 2)
    scheduler.pause()
    host.advance(1)
    yield
    host.advance(1)
  }, { name: 'pauses' })
  spawn('urgent', { release: 1, deadline: 5 })
  host.run({ until: 20 })
  assert.equal([host.posts, host.timers, scheduler.stats().rounds], [0, [], 1])
  scheduler.resume()
  host.run()
  assertTrace(trace, `
    0  release pauses
    0  start   pauses
    20 release urgent, miss    urgent, preempt pauses by=urgent, start   urgent
    21 finish  urgent, resume  pauses
    22 finish  pauses`)
})

pausing('pause() between rounds prevents further rounds and clears the timer', () => {
  const { host, scheduler, spawn, trace } = world({ round: 2 })
  spawn('long', {}, 6)
  spawn('pending', { release: 4, deadline: 1 })
  host.after(2, () => scheduler.pause())
  host.after(10, () => scheduler.resume())
  host.run({ until: 9 })
  assert.equal([host.posts, host.timers.length], [0, 1])
  host.run()
  assertTrace(trace, `
    0  release long
    0  start   long
    10 release pending, miss    pending, preempt long by=pending, start   pending
    11 finish  pending, resume  long
    15 finish  long`)
})

pausing('after a job calls pause(), no alarm fires, not even at its next point', () => {
  const { host, scheduler } = world()
  const fired = []
  scheduler.spawn(function* () {
    scheduler.pause()
    host.advance(3)
    yield
  })
  extend.at(scheduler, 2, () => fired.push(host.time))
  host.run({ until: 10 })
  assert.equal(fired, [])
  scheduler.resume()
  host.run()
  assert.equal(fired, [10])
})

pausing('repeated pause() and resume() calls post once', () => {
  const { host, scheduler, spawn } = world()
  spawn('A')
  for (let n = 0; n < 3; n++) {
    scheduler.pause()
    scheduler.pause()
    scheduler.resume()
    scheduler.resume()
  }
  assert.is(host.posts, 1)
  host.run()
  assert.equal([host.maxPosts, scheduler.stats().rounds], [1, 1])
})

pausing('a round that was posted before pause() does nothing while paused', () => {
  const { host, scheduler, spawn } = world()
  const job = spawn('A')
  scheduler.pause()
  host.run()
  assert.equal([job.state, scheduler.stats().rounds], ['ready', 0])
  scheduler.resume()
  host.run()
  assert.is(job.state, 'done')
})

pausing('while paused, jobs can be cancelled and re-keyed, and idle() waits', async () => {
  const { host, scheduler, spawn, trace } = world({ policy: fp })
  scheduler.pause()
  const cancelled = spawn('cancelled')
  spawn('A')
  const second = spawn('B')
  cancelled.cancel()
  assert.is(cancelled.state, 'cancelled')
  second.priority = 1
  let idle = false
  scheduler.idle().then(() => { idle = true })
  await host.drain()
  assert.is(idle, false)
  trace.take()
  scheduler.resume()
  await host.drain()
  assertTrace(trace, `
    0 start  B
    1 finish B, start  A
    2 finish A`)
  assert.is(idle, true)
})

pausing.run()

// --- configure

const configuring = suite('configure')

configuring('configure() changes policy, slice, round and budget for later jobs', () => {
  const { host, scheduler, trace } = world({ policy: edf, slice: 1, round: 5 })
  const run = () => {
    scheduler.spawn(execute(host, 3), { name: 'A', deadline: 100, priority: 1 })
    scheduler.spawn(execute(host, 3), { name: 'B', deadline: 100, priority: 1 })
    scheduler.spawn(execute(host, 1), { name: 'C', deadline: 50 })
    host.run()
  }
  run()
  assertTrace(trace.take(), `
    0 release A, release B, release C, start   C
    1 finish  C, start   A
    2 preempt A by=B, start   B
    3 preempt B by=A, resume  A
    4 preempt A by=B, resume  B
    5 preempt B by=A, resume  A
    6 finish  A, resume  B
    7 finish  B`)
  assert.is(scheduler.stats().rounds, 2)
  scheduler.configure({ policy: fp, slice: 2, round: 1, budget: 2 })
  run()
  assertTrace(trace.take(), `
    7  release A
    7  release B
    7  release C
    7  start   A
    9  preempt A by=B
    9  start   B
    11 preempt B by=A, resume  A
    12 finish  A, resume  B
    13 finish  B, start   C
    14 finish  C`)
  assert.is(scheduler.stats().rounds, 2 + 5)
})

configuring('configure() moves a scheduler to a new host and releases the old one', () => {
  const { host, scheduler, spawn } = world()
  extend.at(scheduler, 50, () => {})
  spawn('cancelled').cancel()
  assert.equal([host.posts, host.timers.length], [1, 0])
  const next = virtualHost({ start: 30 })
  scheduler.configure({ host: next })
  assert.equal(host.timers, [])
  assert.is(scheduler.now(), 30)
  const job = scheduler.spawn(execute(next, 1))
  host.run()
  assert.equal([job.state, host.posts, next.posts], ['ready', 0, 1])
  next.run()
  assert.equal([job.state, job.release, job.finished], ['done', 30, 31])
  assert.equal([next.posts, next.timers], [0, []])
})

configuring('configure() replaces handlers and keeps those that are undefined', () => {
  const host = virtualHost()
  const told = []
  const scheduler = new Scheduler({ host, budget: 1, onMiss: () => told.push('first') })
  const miss = () => {
    scheduler.spawn(execute(host, 2), { deadline: 1 })
    host.run()
  }
  miss()
  scheduler.configure({ onMiss: undefined })
  miss()
  scheduler.configure({ onMiss: () => told.push('second') })
  miss()
  assert.equal(told, ['first', 'first', 'second'])
})

configuring('configure() can pause a scheduler and does not resume it', () => {
  const { host, scheduler, spawn } = world()
  scheduler.configure({ paused: true })
  scheduler.configure({ slice: 2 })
  assert.equal([scheduler.paused, scheduler.slice], [true, 2])
  const job = spawn('A')
  host.run()
  assert.is(job.state, 'ready')
  scheduler.resume()
  host.run()
  assert.is(job.state, 'done')
})

configuring('configure() keeps counters, observers and job numbers', () => {
  const { host, scheduler, spawn, trace } = world()
  spawn('A')
  host.run()
  scheduler.configure({ policy: fp })
  const job = spawn('B')
  host.run()
  assert.equal([job.id, scheduler.stats().jobs], [2, 2])
  assertTrace(trace, `
    0 release A, start   A
    1 finish  A, release B, start   B
    2 finish  B`)
})

configuring.run()

// --- several schedulers

const several = suite('several schedulers on one host')

several('several schedulers on one host alternate round by round', () => {
  const host = virtualHost()
  const ran = []
  const schedulers = [2, 3].map(round => new Scheduler({ host, budget: 1, round }))
  schedulers.forEach((scheduler, index) => {
    scheduler.observe(({ type, time, start }) => { if (type === 'round') ran.push([index, start, time]) })
    scheduler.spawn(execute(host, 5))
  })
  host.run()
  assert.equal(ran, [[0, 0, 2], [1, 2, 5], [0, 5, 7], [1, 7, 9], [0, 9, 10]])
  assert.is(host.maxPosts, 2)
})

several('each scheduler keeps its own times and costs', () => {
  const host = virtualHost()
  const one = new Scheduler({ host, budget: 1 })
  const other = new Scheduler({ host, budget: 1 })
  const fast = one.spawn(execute(host, 7))
  const slow = other.spawn(execute(host, 4))
  host.run()
  assert.equal([fast.cost, fast.finished, slow.cost, slow.finished], [7, 11, 4, 9])
  const sums = [one, other].map(scheduler => {
    const { jobs, busy, overhead, rounds } = scheduler.stats()
    return [jobs, busy, overhead, rounds]
  })
  assert.equal(sums, [[1, 7, 0, 2], [1, 4, 0, 1]])
})

several('a job that acts on another scheduler keeps its own budget', () => {
  const host = virtualHost()
  const one = new Scheduler({ host, budget: 100 })
  const other = new Scheduler({ host, budget: 1 })
  const left = []
  const started = other.spawn(execute(host, 50))
  host.run({ turns: 1 })
  assert.is(started.cost, 5)
  one.spawn(function* () {
    yield
    left.push(budget.left)
    other.spawn(() => {}, { deadline: 1 })
    other.pause()
    other.resume()
    left.push(budget.left)
    one.spawn(() => {}, { deadline: 1 })
    left.push(budget.left)
  })
  host.run()
  assert.equal(left, [99, 99, 0])
})

several('current is null on all schedulers except the one whose job runs', () => {
  const host = virtualHost()
  const schedulers = ['one', 'other'].map(() => new Scheduler({ host }))
  const seen = []
  const jobs = schedulers.map(scheduler => scheduler.spawn(() => {
    seen.push(schedulers.map(({ current }) => current))
  }))
  host.run()
  assert.equal(seen, [[jobs[0], null], [null, jobs[1]]])
})

several('a paused or idle scheduler leaves the thread to the other', () => {
  const host = virtualHost()
  const one = new Scheduler({ host, budget: 1, round: 1, paused: true })
  const other = new Scheduler({ host, budget: 1, round: 1 })
  const held = one.spawn(execute(host, 2))
  const job = other.spawn(execute(host, 3))
  host.run()
  assert.equal([held.state, job.finished, host.maxPosts], ['ready', 3, 1])
  one.resume()
  host.run()
  assert.is(held.finished, 5)
})

several.run()

// --- current

const currents = suite('current')

currents('current is the running job, also in calls, and null in timers and handlers', async () => {
  const host = virtualHost()
  const seen = {}
  const note = name => { seen[name] = scheduler.current }
  const scheduler = new Scheduler({ host, budget: 1, onMiss: () => note('onMiss') })
  note('before')
  const job = scheduler.spawn(function* () {
    note('generator')
    yield (function* () {
      yield
      note('call')
    })()
    Promise.resolve().then(() => note('microtask'))
    scheduler.spawn(() => note('function'))
    note('after spawning')
    host.advance(2)
    yield Promise.resolve()
    note('after a wait')
  }, { deadline: 1 })
  note('after spawn')
  host.after(0.5, () => note('timer'))
  extend.at(scheduler, 1, () => note('alarm'))
  await host.drain()
  const { function: other, ...rest } = seen
  assert.equal(rest, {
    before: null, 'after spawn': null, generator: job, call: job, 'after spawning': job, 'after a wait': job,
    microtask: null, timer: null, onMiss: null, alarm: null
  })
  assert.is(other.id, 2)
})

currents('a function job and an async job are current while their own code runs', async () => {
  const { host, scheduler } = world()
  const seen = []
  const job = scheduler.spawn(async () => {
    seen.push(scheduler.current)
    await job.yield()
    seen.push(scheduler.current)
    await new Promise(resolve => host.after(1, resolve))
    seen.push(scheduler.current)
    await job.yield()
    seen.push(scheduler.current)
  })
  await host.drain()
  assert.equal(seen, [job, job, null, job])
})

currents('after a job that throws, current is null', () => {
  const { host, scheduler } = world()
  scheduler.spawn(() => { throw new Error('failed') })
  host.run()
  assert.is(scheduler.current, null)
  assert.is(extend.here(), rt)
})

currents.run()

// --- idle

const idling = suite('idle')

/** A log of the `idle()` calls that have resolved, in order. */
function idleLog(scheduler) {
  const log = []
  return { log, ask: name => { scheduler.idle().then(() => log.push(name)) } }
}

idling('without jobs idle() resolves immediately', async () => {
  const { scheduler } = world()
  const { log, ask } = idleLog(scheduler)
  ask('now')
  await Promise.resolve()
  assert.equal(log, ['now'])
  assert.is(await scheduler.idle(), undefined)
})

for (const [state, given] of Object.entries({
  pending: { release: 10 }, ready: {}, waiting: { waits: true }, running: { runs: true }
})) {
  idling(`idle() waits for a job that is ${state}`, async () => {
    const { host, scheduler } = world()
    const { log, ask } = idleLog(scheduler)
    const waitable = new extend.Waitable()
    const job = scheduler.spawn(function* () {
      if (given.runs) ask('idle')
      if (given.waits) yield waitable
      yield* execute(host, 2)
    }, { release: given.release })
    if (given.waits) await host.drain()
    if (!given.runs) {
      assert.is(job.state, state)
      ask('idle')
    }
    await microtasks()
    assert.equal(log, [])
    waitable.wake()
    await host.drain()
    assert.equal([job.state, log], ['done', ['idle']])
  })
}

idling('idle() resolves at the end of the round for all callers, and again later', async () => {
  const { host, scheduler, spawn } = world()
  const { log, ask } = idleLog(scheduler)
  spawn('A')
  ask('one')
  ask('two')
  await host.drain()
  assert.equal(log, ['one', 'two'])
  spawn('B')
  ask('three')
  await microtasks()
  assert.equal(log, ['one', 'two'])
  await host.drain()
  assert.equal(log, ['one', 'two', 'three'])
})

idling('idle() resolves when the last job fails or is cancelled, also between rounds', async () => {
  const { host, scheduler, spawn } = world()
  const { log, ask } = idleLog(scheduler)
  scheduler.spawn(() => { throw new Error('failed') })
  ask('failed')
  await host.drain()
  assert.equal(log, ['failed'])
  const ready = spawn('ready')
  const pending = spawn('pending', { release: 100 })
  ask('cancelled')
  ready.cancel()
  await microtasks()
  assert.equal(log, ['failed'])
  pending.cancel()
  await microtasks()
  assert.equal(log, ['failed', 'cancelled'])
})

idling('a job spawned in the same round delays idle()', async () => {
  const { host, scheduler } = world()
  const { log, ask } = idleLog(scheduler)
  scheduler.spawn(() => { scheduler.spawn(execute(host, 9)) })
  ask('idle')
  await host.drain({ turns: 1 })
  assert.equal(log, [])
  await host.drain()
  assert.equal(log, ['idle'])
})

idling('an idle scheduler leaves no post, timer or listener', async () => {
  const { host, scheduler, spawn } = world()
  spawn('A', { deadline: 50 })
  spawn('B', { deadline: 1 }, 2)
  spawn('C', { release: 9, deadline: 50, miss: 'abort' })
  spawn('D', { release: 99 }).cancel()
  const { signal } = new AbortController()
  spawn('E', { signal, deadline: 40 })
  await host.drain()
  await scheduler.idle()
  assert.equal([host.posts, host.timers, host.errors], [0, [], []])
})

idling.run()

// --- stats

const accounting = suite('stats')

accounting('stats() of a new scheduler are all zero', () => {
  const { scheduler } = world()
  assert.equal(scheduler.stats(), {
    jobs: 0, rounds: 0, slices: 0, yields: 0, busy: 0, overhead: 0, misses: 0, overruns: 0, stalls: 0,
    longestBudget: 0, longestRound: 0
  })
})

accounting('stats() match a known schedule', () => {
  const { host, scheduler, spawn } = world({ slice: 2, round: 4 })
  spawn('A', { deadline: 3, wcet: 2 }, 4)
  spawn('B', {}, 3)
  scheduler.spawn(function* () { host.advance(5) })
  host.run()
  assert.equal(scheduler.stats(), {
    jobs: 3, rounds: 3, slices: 5, yields: 5, busy: 12, overhead: 0, misses: 1, overruns: 1, stalls: 1,
    longestBudget: 5, longestRound: 7
  })
})

/**
 * Callbacks that take 5 ms within a round: the name in the stall report, and the ms that are charged as busy
 * time.
 */
const CALLBACKS = {
  'alarm tick': ({ host, scheduler }) => {
    extend.at(scheduler, 2, function tick() { host.advance(5) })
    return 5
  },
  onMiss: ({ host, spawn }) => {
    spawn('misses', { priority: -1, release: 1, deadline: 0.5, onMiss: () => host.advance(5) }, 0)
    return 5
  }
}

for (const [name, take] of Object.entries(CALLBACKS)) {
  accounting(`a slow callback is reported by name and not charged to the job: ${name}`, () => {
    const told = []
    const here = world({ policy: fp, slice: 4, round: Infinity, onStall: (...stall) => told.push(stall) })
    const charged = take(here)
    const goesOn = here.spawn('goes on', { deadline: 100, wcet: 4 }, 4)
    here.host.run()
    const { busy, overhead, stalls, overruns, longestBudget } = here.scheduler.stats()
    assert.equal({ cost: goesOn.cost, busy, overhead, stalls, overruns, longestBudget }, {
      cost: 4, busy: 4 + charged, overhead: 5 - charged, stalls: 1, overruns: 0, longestBudget: 1
    })
    assert.equal(told, [[{ name }, 5]])
    assert.is(here.host.time, 9)
  })
}

accounting('the time of an observer is overhead and is not charged to the resumed job', () => {
  const { host, scheduler, spawn } = world({ policy: fp, slice: 4, round: Infinity })
  const stop = scheduler.observe(({ type }) => {
    if (type !== 'alarm') return
    host.advance(5)
    stop()
  })
  extend.at(scheduler, 2, () => {})
  const goesOn = spawn('goes on', { deadline: 100, wcet: 4 }, 4)
  host.run()
  const { busy, overhead, stalls, overruns, longestBudget } = scheduler.stats()
  assert.equal({ cost: goesOn.cost, busy, overhead, stalls, overruns, longestBudget }, {
    cost: 4, busy: 4, overhead: 5, stalls: 0, overruns: 0, longestBudget: 1
  })
  assert.is(host.time, 9)
})

accounting('a slow onError at the end of a round is reported by name', () => {
  const told = []
  const { host, scheduler } = world({ slice: 4, onError: () => host.advance(5), onStall: (...stall) => told.push(stall) })
  scheduler.spawn(() => { throw new Error('unhandled') })
  host.run()
  assert.equal(told, [[{ name: 'onError' }, 5]])
})

const close = (actual, expected, name) => {
  assert.ok(Math.abs(actual - expected) < 1e-9, `${name} is ${actual}, not ${expected}`)
}

accounting('random jobs: busy is the sum of their costs, and with overhead all of the rounds', () => {
  return forSeeds(100, async random => {
    const host = random.pick(HOSTS).hostOf({ turn: random.pick([0, 0.25]) })
    const scheduler = new Scheduler({
      host,
      policy: random.pick([edf, fp]),
      budget: random.pick([1, 2, 7, 'auto']),
      slice: random.pick([0.5, 1, 3]),
      round: random.pick([1, 5])
    })
    const counts = {}
    const rounds = []
    scheduler.observe(({ type, time, start }) => {
      counts[type] = (counts[type] ?? 0) + 1
      if (type === 'round') rounds.push(time - start)
    })
    let executed = 0
    function* work() {
      for (let n = random.integer(0, 8); n > 0; n--) {
        const ms = 0.25 * random.integer(0, 8)
        host.advance(ms)
        executed += ms
        const wait = random.integer(0, 9)
        yield random.chance(0.8) ? undefined : new Promise(resolve => host.after(wait, resolve))
      }
      if (random.chance(0.1)) throw new Error('failed')
    }
    const jobs = Array.from({ length: random.integer(1, 20) }, () => scheduler.spawn(work, {
      deadline: random.pick([1, 5, 20, Infinity]),
      wcet: random.pick([1, 3, Infinity]),
      release: random.integer(-3, 20),
      priority: random.integer(0, 3)
    }))
    await host.drain()
    const stats = scheduler.stats()
    const sum = numbers => numbers.reduce((sum, number) => sum + number, 0)
    close(stats.busy, executed, 'busy')
    close(sum(jobs.map(job => job.cost)), executed, 'the sum of the costs')
    close(stats.busy + stats.overhead, sum(rounds), 'busy + overhead')
    close(stats.longestRound, Math.max(...rounds), 'longestRound')
    assert.is(stats.jobs, jobs.length)
    assert.is(stats.rounds, rounds.length)
    assert.is(stats.misses, jobs.filter(job => job.missed).length)
    const { release, start, resume = 0, preempt = 0, block = 0, finish = 0, fail = 0, ...noticed } = counts
    const { miss = 0, overrun = 0, stall = 0 } = noticed
    assert.equal([miss, overrun, stall], [stats.misses, stats.overruns, stats.stalls])
    assert.equal([release, start, finish + fail], [jobs.length, jobs.length, jobs.length])
    assert.is(start + resume, preempt + block + finish + fail, 'every dispatch ends in one way')
  })
})

accounting.run()
