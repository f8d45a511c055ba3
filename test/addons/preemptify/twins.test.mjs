// Run-time support of rewritten code, tested with hand-written twins in the form of rewritten text.
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AsyncEvent, after, every, sleep } from '../../../alarms.mjs'
import { IoReservation, interrupt, loop } from '../../../addons/reservations.mjs'
import { Scheduler, Task, budget, fp } from '../../../rt.mjs'
import { preemptify } from '../../../addons/preemptify.mjs'
import { standInOf } from '../../../addons/preemptify/helpers.mjs'
import { runtime } from '../../../addons/preemptify/runtime.mjs'
import { Channel, Mutex, Resource, choice, nonPreemptive, par, race } from '../../../sync.mjs'
import { drive } from '../../support/drive.mjs'
import { instance } from '../../support/bundle.mjs'
import { virtualHost } from '../../support/virtual-host.mjs'

const { apply, awaited, construct, drive: runPlainly, enter, suspended, twin, wait } = runtime

/** Budgets that yield at every point, at every second point, sometimes, and never. */
const budgets = [1, 2, 7, 2 ** 30]

// ------------------------------------------------------------- hand-written: twins like in a rewritten module

let result

/** Sums the results of `f` for the numbers below n; both forms. */
function sum(n, f) {
  let total = 0
  for (let i = 0; i < n; i++) total += f(i)
  return total
}
twin(sum, function* (n, f) {
  let total = 0
  for (let i = 0; i < n; i++) {
    if (--budget.left <= 0) yield
    total += ((result = enter(f)(i)) === budget ? yield suspended() : result)
  }
  return total
})

function square(x) {
  let y = 0
  for (let i = 0; i < x; i++) y += x
  return y
}
twin(square, function* (x) {
  let y = 0
  for (let i = 0; i < x; i++) {
    if (--budget.left <= 0) yield
    y += x
  }
  return y
})

/** A function with only one body: a plain call runs it to completion. */
function fib(n) {
  return runPlainly(fibTwin(n))
}
function* fibTwin(n) {
  if (--budget.left <= 0) yield
  return n < 2 ? n : ((result = enter(fib)(n - 1)) === budget ? yield suspended() : result) +
    ((result = enter(fib)(n - 2)) === budget ? yield suspended() : result)
}
twin(fib, fibTwin)

function depth(n) {
  return runPlainly(depthTwin(n))
}
function* depthTwin(n) {
  if (--budget.left <= 0) yield
  return n === 0 ? 0 : 1 + ((result = enter(depth)(n - 1)) === budget ? yield suspended() : result)
}
twin(depth, depthTwin)

function fail(n) {
  return runPlainly(failTwin(n))
}
function* failTwin(n) {
  if (--budget.left <= 0) yield
  if (n === 0) throw new RangeError('at the bottom')
  try {
    return ((result = enter(fail)(n - 1)) === budget ? yield suspended() : result)
  } catch (error) {
    error.message += n
    throw error
  }
}
twin(fail, failTwin)

function method(n) {
  this.count += n
  return this
}
twin(method, function* (n) {
  for (let i = 0; i < n; i++) {
    if (--budget.left <= 0) yield
    this.count++
  }
  return this
})

/** Runs the twin of a function under a budget. */
const asTwin = (fn, args, limit, self) => drive(Reflect.apply(preemptify(fn), self, args), { limit })

/** Runs one job to completion on a virtual host. */
async function run(work, args = [], options) {
  const host = virtualHost({ read: 0.001 })
  const scheduler = new Scheduler({ host, budget: 1, ...options })
  const job = scheduler.spawn(work, undefined, ...args)
  job.catch(() => {})
  await host.drain()
  return { job, outcome: await job, points: scheduler.stats().yields }
}

// -------------------------------------------------------------------------------------------------- the stamp

const stamps = suite('the stamp')

stamps('a function with a twin has no additional properties', () => {
  const own = Reflect.ownKeys(square)
  assert.equal(own.filter(key => !['length', 'name', 'arguments', 'caller', 'prototype'].includes(key)), [])
  assert.is(Object.getPrototypeOf(square), Function.prototype)
})

stamps('frozen, bound and arrow functions and methods can have twins', () => {
  const frozen = Object.freeze(() => 1)
  for (const fn of [frozen, (() => 1).bind(), { m() { return 1 } }.m, class { static m() { return 1 } }.m]) {
    assert.is(twin(fn, function* () { return 2 }), fn)
    assert.is(drive(preemptify(fn)()), 2)
    assert.is(fn(), 1)
  }
})

stamps('proxies of a function and objects that inherit from it have no twin', () => {
  const proxy = new Proxy(square, {})
  const heir = Object.setPrototypeOf(() => 1, square)
  assert.is(enter(proxy), proxy)
  assert.is(enter(heir), heir)
})

stamps('a value without a twin is called unchanged', () => {
  for (const value of [undefined, null, 1, 'f', {}, Math.max, class {}, function* () {}]) assert.is(enter(value), value)
})

stamps.run()

// -------------------------------------------------------------------------------------------------- calls

const calls = suite('calls')

for (const limit of budgets) {
  calls(`a call of a function with a twin yields inside it, budget ${limit}`, () => {
    let points = 0
    const job = preemptify(sum)(4, square)
    assert.is(drive(job, { limit, onPoint: () => { points++ } }), 14)
    if (limit === 1) assert.is(points, 4 + 6 + 1)
  })

  calls(`a call of a function without a twin is native, budget ${limit}`, () => {
    assert.is(asTwin(sum, [4, x => x + 1], limit), 10)
    assert.throws(() => asTwin(sum, [4, undefined], limit), TypeError)
  })

  calls(`a twin receives this and arguments, budget ${limit}`, () => {
    const object = { count: 1 }
    assert.is(asTwin(method, [3], limit, object), object)
    assert.is(object.count, 4)
    const step = apply(enter(method), object, [0])
    assert.is(step === budget ? drive(suspended(), { limit }) : step, object)
  })

  calls(`twins can recurse and throw, budget ${limit}`, () => {
    assert.is(asTwin(fib, [12], limit), 144)
    assert.throws(() => asTwin(fail, [4], limit), error => error instanceof RangeError && error.message === 'at the bottom1234')
    assert.is(asTwin(depth, [20_000], limit), 20_000)
  })
}

calls('the entry of a twin may return a result without the generator', () => {
  const log = []
  const f = x => x * 2
  twin(f, function* (x) { return log.push('generator'), x * 2 }, x => { log.push('entry'); return x * 2 })
  assert.is(asTwin(sum, [3, f], 1), 6)
  assert.equal(log, ['entry', 'entry', 'entry'])
})

calls('an async function is native outside of jobs, unless it is awaited', async () => {
  const f = async x => x - 1
  twin(f, function* (x) { return (yield wait(x)) + 1 }, false)
  assert.is(await enter(f)(1), 0)
  budget.left = 2
  assert.is(awaited(f)(1), budget)
  assert.is((await run(suspended)).outcome, 2)
  assert.is(awaited(square), enter(square))
})

calls.run()

// ---------------------------------------------------------------------------------------------- plain calls

const plain = suite('plain calls of functions that only have a twin')

plain('plain calls run to completion', () => {
  assert.is(fib(15), 610)
  assert.throws(() => fail(3), error => error instanceof RangeError && error.message === 'at the bottom123')
})

plain('plain calls can nest 100,000 levels deep', () => {
  assert.is(depth(100_000), 100_000)
})

plain('infinite recursion is a RangeError', () => {
  assert.throws(() => depth(Infinity), RangeError)
  assert.is(depth(3), 3)
})

plain('plain calls can nest through code that is not rewritten', () => {
  const descend = n => runPlainly(function* () {
    if (--budget.left <= 0) yield
    return n === 0 ? fib(10) : [n].map(() => descend(n - 1))[0]
  }())
  assert.is(descend(50), 55)
})

plain('plain calls count their points in the budget of the calling job', () => {
  budget.left = 1000
  fib(5)
  assert.is(budget.left, 1000 - 15)
  budget.left = 10
  fib(5)
  assert.is(budget.left, 0)
})

plain('a plain call keeps a request to end the budget', () => {
  budget.left = 1000
  runPlainly(function* () {
    budget.left = 0
    if (--budget.left <= 0) yield
  }())
  assert.is(budget.left, 0)
})

plain('no other job runs during a plain call', async () => {
  const log = []
  const host = virtualHost({ read: 0.001 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const atomic = n => runPlainly(function* () {
    for (let i = 0; i < n; i++) {
      if (--budget.left <= 0) yield
      log.push('a')
    }
  }())
  scheduler.spawn(function* () {
    yield
    atomic(5)
    yield
    atomic(5)
  })
  scheduler.spawn(function* () {
    for (let i = 0; i < 3; i++) {
      log.push('b')
      yield
    }
  })
  await host.drain()
  assert.match(log.join(''), /^b*aaaaab*aaaaab*$/)
})

plain.run()

// ------------------------------------------------------------------------------------------------------- new

const constructing = suite('new')

function Point(x) {
  this.x = square(x)
  this.target = this.constructor
}
twin(Point, function* (x) {
  this.x = ((result = enter(square)(x)) === budget ? yield suspended() : result)
  this.target = this.constructor
})

/** Constructs like `new F(...args)` in rewritten code. */
function* made(F, args, ...target) {
  return ((result = construct(F, args, ...target)) === budget ? yield suspended() : result)
}

for (const limit of budgets) {
  const make = (...given) => drive(made(...given), { limit })

  constructing(`a new object has the current prototype of its function, budget ${limit}`, () => {
    const point = make(Point, [3])
    assert.is(point.x, 9)
    assert.is(Object.getPrototypeOf(point), Point.prototype)
    assert.is(point.target, Point)
    const before = Point.prototype
    Point.prototype = { constructor: 1 }
    assert.is(Object.getPrototypeOf(make(Point, [3])), Point.prototype)
    Point.prototype = 7
    assert.is(Object.getPrototypeOf(make(Point, [3])), Object.prototype)
    Point.prototype = before
  })

  constructing(`new returns the object that the function returns, budget ${limit}`, () => {
    for (const value of [{}, [], () => {}, 1, null, undefined, 's']) {
      function F() { return value }
      twin(F, function* () {
        if (--budget.left <= 0) yield
        return value
      })
      const made = make(F, [])
      assert.is(made === value, Object(value) === value)
      if (Object(value) !== value) assert.instance(made, F)
    }
  })

  constructing(`new may have another new.target, budget ${limit}`, () => {
    class Other {}
    const point = make(Point, [3], Other)
    assert.is(point.x, 9)
    assert.instance(point, Other)
  })

  constructing(`new throws the error of the function, budget ${limit}`, () => {
    function F() { throw new RangeError('no') }
    twin(F, function* () {
      if (--budget.left <= 0) yield
      throw new RangeError('no')
    })
    assert.throws(() => make(F, []), RangeError)
  })
}

constructing('new of classes, built-in functions and functions without a twin is native', () => {
  class A { constructor(x) { this.x = x; this.target = new.target } }
  class B extends A {}
  assert.equal({ ...construct(B, [1]) }, { x: 1, target: B })
  assert.is(Object.getPrototypeOf(construct(A, [1], Map)), Map.prototype)
  assert.equal(construct(Array, [1, 2]), [1, 2])
})

constructing('new of a value that is not a constructor is a TypeError', () => {
  const arrow = twin(() => {}, function* () {})
  const { m } = { m() {} }
  twin(m, function* () {})
  for (const value of [undefined, null, 1, {}, Math.max, arrow, m]) assert.throws(() => construct(value, []), TypeError)
})

constructing.run()

// --------------------------------------------------------------------------------------------- jobs

const works = suite('jobs run twins')

works('jobs run the twins of functions and methods with their arguments', async () => {
  const { job, outcome, points } = await run(sum, [5, square])
  assert.is(outcome, 30)
  assert.is(job.name, 'sum')
  assert.ok(points >= 5 + 10)
})

works('tasks run the twin of their function or of their run method', async () => {
  class Sum extends Task {
    run(n) { return sum(n, square) }
  }
  twin(Sum.prototype.run, function* (n) {
    assert.instance(this, Sum)
    return (result = enter(sum)(n, square)) === budget ? yield suspended() : result
  })
  for (const task of [new Sum(), new Task(sum)]) {
    const host = virtualHost({ read: 0.001 })
    task.scheduler = new Scheduler({ host, budget: 1 })
    const job = task.release(5, square)
    await host.drain()
    assert.is(await job, 30)
    assert.ok(task.scheduler.stats().yields >= 5 + 10)
  }
})

works('jobs run the twins of async functions', async () => {
  const host = virtualHost({ read: 0.001 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const f = async x => {
    const job = scheduler.current
    await job.yield()
    return [job, x]
  }
  twin(f, function* (x) {
    const job = scheduler.current
    yield wait(job.yield())
    for (let i = 0; i < 3; i++) yield
    return [job, x]
  }, f)
  const job = scheduler.spawn(f, undefined, 1)
  await host.drain()
  assert.equal((await job).map(one => one === job || one), [true, 1])
  assert.ok(scheduler.stats().yields >= 3)
})

works('an error in a generator job still recommends a yield', async () => {
  const host = virtualHost({ read: 0.001 })
  const job = new Scheduler({ host }).spawn(function* () { yield job.yield() })
  job.catch(() => {})
  await host.drain()
  assert.match((await job.catch(error => error)).message, /write `yield`/)
})

works('par, race, sections, locks and choices run twins', async () => {
  const host = virtualHost({ read: 0.001 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const resource = new Resource({ ceiling: 100 })
  const mutex = new Mutex()
  const channel = new Channel(1)
  const other = new Channel(3)
  const log = []
  const noting = name => twin(value => { log.push(`plain ${name}`) }, function* (value) {
    yield
    log.push(name)
    return name
  })
  const job = scheduler.spawn(function* () {
    const results = [
      yield par(noting('par'), noting('par')),
      yield race(noting('race')),
      yield nonPreemptive(noting('section')),
      yield resource.use(noting('resource')),
      yield mutex.use(noting('mutex'))
    ]
    yield channel.send(1)
    results.push(yield choice([{ receive: channel, action: noting('action') }]))
    yield other.send(1)
    other.close()
    yield other.forEach(noting('each'))
    return results
  }, { uses: [resource] })
  await host.drain()
  assert.equal(await job, [['par', 'par'], { index: 0, value: 'race' }, 'section', 'resource', 'mutex',
    { index: 0, value: 'action' }])
  assert.equal(log, ['par', 'par', 'race', 'section', 'resource', 'mutex', 'action', 'each'])
})

works('an alarm runs a callback with a twin as a job with the time', async () => {
  const times = async isTwin => {
    const host = virtualHost()
    const scheduler = new Scheduler({ host, budget: 1 })
    const log = []
    const note = time => { log.push([time, scheduler.current]) }
    if (isTwin) {
      twin(note, function* (time) {
        yield
        log.push([time, scheduler.current.state])
      })
    }
    after(5, note, { scheduler })
    every(10, note, { scheduler, count: 2 })
    await host.drain()
    return log
  }
  assert.equal(await times(false), [[5, null], [10, null], [20, null]])
  assert.equal(await times(true), [[5, 'running'], [10, 'running'], [20, 'running']])
})

works('handlers, bottom halves and loops run twins and wait for the results', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, policy: fp })
  const log = []
  const noting = name => twin(() => {
    log.push(`plain ${name}`)
    host.advance(1)
  }, function* () {
    yield
    log.push(name)
    return sleep(5)
  })
  const event = new AsyncEvent({ scheduler })
  for (const name of ['first', 'second']) event.handle(noting(name))
  event.fire()
  const target = new EventTarget()
  const io = new IoReservation({ utilization: 0.1, scheduler })
  const bottomHalf = noting('half')
  interrupt(target, 'ping', ({ type }) => { log.push(type) }, { capacity: 1, period: 10, io, bottomHalf, scheduler })
  target.dispatchEvent(new Event('ping'))
  const { job } = loop(noting('loop'), { capacity: 1, period: 10, scheduler })
  await host.drain({ until: 11 })
  assert.equal(log.toSorted(), ['first', 'half', 'loop', 'loop', 'loop', 'ping', 'second'])
  job.cancel()
})

works('preemptify returns the twin with its source without evaluation', () => {
  const before = globalThis.eval
  globalThis.eval = () => { throw new Error('evaluated') }
  try {
    const generator = preemptify(sum)
    assert.is(preemptify(sum), generator)
    assert.is(preemptify(generator), generator)
    assert.is(generator.name, 'sum')
    assert.is(generator.length, 2)
    assert.match(generator.source, /^function\* \(n, f\) \{/)
    assert.is(drive(generator(5, square)), 30)
  } finally {
    globalThis.eval = before
  }
})

for (const [how, options, text] of [
  ['by a value in scope', { scope: { square } }, 'square(5)'],
  ['by a variable in scope', { scope: [() => square] }, 'square(5)'],
  ['as one of the calls', { calls: { square } }, 'square(5)'],
  ['as a member of what is in scope', { scope: { lib: { square } } }, 'lib.square(5)']
]) {
  works(`a preemptible function calls a function with a twin, ${how}`, () => {
    const fn = preemptify((0, eval)(`(function () { return ${text} + 1 })`), options)
    let points = 0
    assert.is(drive(fn(), { limit: 1, onPoint: () => points++ }), 26)
    assert.ok(points > 5)
  })
}

works.run()

// ---------------------------------------------------------------------------------------------------- scripts

const scripts = suite('scripts')
const key = Symbol.for('rt.mjs')

/** Makes an unused copy of rt.mjs. */
const fresh = () => instance(['addons/preemptify.mjs', 'rt.mjs'], ['Scheduler', 'budget', 'preemptify', 'runtime'])

/** A rewritten script with a function of each kind. */
const script = () => (0, eval)(`
  var $p = ${standInOf("globalThis")};
  (() => {
    function count(n) { let i = 0; while (i < n) i++; return i }
    $p.runtime.twin(count, function* (n) {
      let i = 0
      while (i < n) { if (--$p.budget.left <= 0) yield; i++ }
      return i
    })
    function* twice$t(f, n) {
      let r
      return ((r = $p.runtime.enter(f)(n)) === $p.budget ? yield $p.runtime.suspended() : r) +
        ((r = $p.runtime.apply($p.runtime.enter(f), this, [n])) === $p.budget ? yield $p.runtime.suspended() : r)
    }
    function twice(f, n) { return $p.runtime.drive(twice$t.call(this, f, n)) }
    $p.runtime.twin(twice, twice$t)
    function Made(n) { this.n = n }
    $p.runtime.twin(Made, function* (n) { this.n = n })
    const arrow = $p.runtime.twin(() => 'plain', function* () { return this.twin }, null, [{ twin: 'twin' }])
    function* made(n) {
      const made = $p.runtime.make(Made, [n])
      return made === $p.budget ? yield $p.runtime.suspended() : made
    }
    return { count, twice, made: n => $p.runtime.drive(made(n)), arrow, named: $p.runtime.named(() => 1, 'given') }
  })()`)

/** Asserts that plain calls of the functions of the script have their results. */
function assertPlain({ count, twice, made, arrow, named }) {
  assert.is(count(3), 3)
  assert.is(twice(count, 3), 6)
  assert.is(made(3).n, 3)
  assert.is(arrow(), 'plain')
  assert.is(named.name, 'given')
}

/** Asserts that the functions run as jobs of a copy of rt.mjs, and yield. */
async function assertPreemptible({ count, twice, arrow }, copy) {
  const host = virtualHost({ read: 0.001 })
  const scheduler = new copy.Scheduler({ host, budget: 1 })
  const job = scheduler.spawn(twice, {}, count, 5)
  const other = scheduler.spawn(arrow)
  await host.drain()
  assert.is(await job, 10)
  assert.is(await other, 'twin')
  assert.ok(scheduler.stats().yields >= 10)
  assert.is(copy.preemptify(count), copy.preemptify(count))
  assert.is(copy.preemptify(arrow), copy.preemptify(arrow))
}

scripts.before.each(context => {
  context.before = globalThis[key]
  delete globalThis[key]
})
scripts.after.each(context => {
  globalThis[key] = context.before
})

/** Statements so deep in functions that there are only twins of these. @param {string} body */
function nested(body) {
  for (let i = 0; i < 9; i++) body = `for (let i = 0; i < 1; i++) inner(); function inner() { ${body} }`
  return body
}

scripts('scripts run without rt.mjs, and connect to rt.mjs when it is imported', async () => {
  const functions = script()
  assertPlain(functions)
  assert.ok(globalThis[key].runtime.isStandIn)
  const copy = await fresh()
  assert.is(globalThis[key].budget, copy.budget)
  await assertPreemptible(functions, copy)
  assertPlain(functions)
  const later = script()
  assertPlain(later)
  await assertPreemptible(later, copy)
})

scripts('a job is preempted in functions that a script called before rt.mjs loaded', async () => {
  const body = nested('for (let i = 0; i < 2; i++) sum += o.count(n)')
  const text = `({ count(n) { let i = 0; while (i < n) i++; return i }, twice(o, n) { let sum = 0; ${body}; return sum } })`
  const made = (0, eval)(preemptify.source(text, { type: 'script' }))
  assert.is(made.twice(made, 3), 6)
  assert.ok(globalThis[key].runtime.isStandIn)
  const { Scheduler } = await fresh()
  const host = virtualHost({ read: 0.001 })
  const scheduler = new Scheduler({ host, budget: 1 })
  const job = scheduler.spawn(made.twice, {}, made, 100)
  await host.drain()
  assert.is(await job, 200)
  assert.ok(job.cost >= 0.2) // the clock is read at each point
})

scripts('scripts without rt.mjs run after a loop has thrown and from accessors in loops', () => {
  const made = (0, eval)(preemptify.source(`({
    get three() { return this.count(3) },
    count(n) { let sum = 0; ${nested('for (let i = 0; i < n; i++) sum++')}; return sum },
    thrown(n) { let name; ${nested('try { for (let i = 0; i < n; i++) none.x } catch (error) { name = error.name } for (let i = 0; i < n; i++);')}; return name },
    sum(o) { let sum = 0; ${nested('for (let i = 0; i < 2; i++) sum += o.three')}; return sum }
  })`, { type: 'script' }))
  assert.ok(globalThis[key].runtime.isStandIn)
  assert.is(made.sum(made), 6)
  assert.is(made.thrown(3), 'ReferenceError')
  assert.is(made.count(3), 3)
})

scripts('scripts connect to an unused rt.mjs at its next use', async () => {
  const copy = await fresh()
  const functions = script()
  assert.ok(globalThis[key].runtime.isStandIn)
  assertPlain(functions)
  await assertPreemptible(functions, copy)
  assert.is(globalThis[key].runtime, copy.runtime)
})

scripts('scripts connect immediately to a used rt.mjs', async () => {
  const copy = await fresh()
  copy.runtime.twin(() => {}, function* () {})
  const functions = script()
  assert.is(globalThis[key].runtime, copy.runtime)
  assertPlain(functions)
  await assertPreemptible(functions, copy)
})

scripts('importing rt.mjs and ordinary jobs adds no global property', async () => {
  const { Scheduler, preemptify } = await fresh()
  const host = virtualHost()
  new Scheduler({ host }).spawn(() => {})
  new Scheduler({ host }).spawn(preemptify(n => n))
  await host.drain()
  assert.not(key in globalThis)
})

scripts('another copy of rt.mjs runs the same twins', async () => {
  const first = await fresh()
  first.runtime.twin(() => {}, function* () {})
  const functions = script()
  await assertPreemptible(functions, await fresh())
})

scripts.run()
