import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, budget } from '../../rt.mjs'
import { assertTrace, record } from '../support/trace.mjs'
import { virtualHost } from '../support/virtual-host.mjs'

/** Runs one job to completion and returns its result, or throws its error. */
async function run(work, options, ...args) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1, ...options })
  const job = scheduler.spawn(work, undefined, ...args)
  job.catch(() => {})
  await host.drain()
  assert.is(['done', 'failed', 'cancelled'].includes(job.state), true, `the job is ${job.state}`)
  return job
}

/** The error with which a promise or job is rejected. */
async function errorOf(promise) {
  let result
  try {
    result = await promise
  } catch (error) {
    return error
  }
  throw new Error(`nothing was thrown; the result is ${String(result)}`)
}

const calls = suite('yielded generators')

calls('a yielded generator is a call: the yield returns its return value', async () => {
  function* add(a, b) {
    yield
    return a + b
  }
  assert.is(await run(function* () {
    return (yield add(1, 2)) * (yield add(3, 4))
  }), 21)
})

calls('every return value is passed on unchanged, also falsy values and undefined', async () => {
  const values = [0, '', false, null, undefined, NaN, -0, 5n, Symbol.iterator, [], {}, () => {}]
  function* echo(value) { return value }
  const seen = await run(function* () {
    const seen = []
    for (const value of values) seen.push(yield echo(value))
    return seen
  })
  assert.is(seen.length, values.length)
  for (const [n, value] of values.entries()) assert.is(Object.is(seen[n], value), true, `value ${n}`)
})

calls('a promise that a call returns is passed on unawaited, as with yield*', async () => {
  const promise = Promise.resolve(1)
  function* child() { return promise }
  assert.equal(await run(function* () {
    return [(yield child()) === promise, (yield* child()) === promise]
  }), [true, true])
})

calls('a thenable that the outermost generator returns is awaited', async () => {
  assert.is(await run(function* () { return Promise.resolve(5) }), 5)
  const error = new RangeError('rejected')
  assert.is(await errorOf(run(function* () { return Promise.reject(error) })), error)
})

calls('an error of a call is thrown at its yield', async () => {
  const error = new RangeError('thrown')
  function* child() {
    yield
    throw error
  }
  assert.equal(await run(function* () {
    try {
      yield child()
    } catch (caught) {
      return [caught === error, yield (function* () { return 'goes on' })()]
    }
  }), [true, 'goes on'])
})

calls('an error propagates through all levels that do not catch it, innermost first', async () => {
  const order = []
  function* level(n) {
    try {
      if (n === 4) throw new RangeError('thrown')
      return yield level(n + 1)
    } catch (error) {
      order.push(`catch ${n}`)
      if (n > 1) throw error
      return error.message
    } finally {
      order.push(`finally ${n}`)
    }
  }
  assert.is(await run(level, {}, 0), 'thrown')
  assert.equal(order, [
    'catch 4', 'finally 4', 'catch 3', 'finally 3', 'catch 2', 'finally 2',
    'catch 1', 'finally 1', 'finally 0'
  ])
})

calls('an uncaught error fails its job and no other job', async () => {
  const error = new RangeError('thrown')
  function* child() {
    yield
    throw error
  }
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const trace = record(scheduler)
  const failing = scheduler.spawn(function* () { yield child() }, { name: 'failing' })
  scheduler.spawn(function* () { yield }, { name: 'other' })
  const caught = errorOf(failing)
  await host.drain()
  assert.is(await caught, error)
  assertTrace(trace, `
    0 release failing, release other, start failing, fail failing error=RangeError, start other, finish other
    0 round start=0`)
})

calls('finally blocks may yield and call, and their return replaces the error', async () => {
  const order = []
  function* cleanUp(name) {
    yield
    order.push(name)
  }
  function* child() {
    try {
      throw new RangeError('thrown')
    } finally {
      yield cleanUp('child')
    }
  }
  assert.is(await run(function* () {
    try {
      yield child()
    } finally {
      yield
      yield cleanUp('parent')
      return 'instead'
    }
  }), 'instead')
  assert.equal(order, ['child', 'parent'])
})

calls('any value can be thrown, also falsy values', async () => {
  const values = [undefined, null, 0, '', false, 'text', Symbol.iterator]
  function* child(value) { throw value }
  const seen = await run(function* () {
    const seen = []
    for (const value of values) {
      try {
        yield child(value)
        seen.push('nothing thrown')
      } catch (error) {
        seen.push(error)
      }
    }
    return seen
  })
  assert.equal(seen, values)
  for (const value of [undefined, 0]) {
    const job = (await errorOf(run(function* () { yield child(value) })))
    assert.is(job, value)
  }
})

calls('after a caught error, bare yields are preemption points again', async () => {
  function* child() { throw new RangeError('thrown') }
  const job = run(function* () {
    let got
    try {
      yield child()
    } catch {
      got = [yield, yield]
    }
    return got
  })
  assert.equal(await job, [undefined, undefined])
})

for (const limit of [1, 2, 3, 'auto']) {
  calls(`recursion 100 000 deep, budget ${limit}: results and errors reach the caller`, async () => {
    const depth = 100000
    function* down(n) {
      if (n === 0) return 0
      return 1 + (yield down(n - 1))
    }
    assert.is(await run(down, { budget: limit }, depth), depth)

    let passed = 0
    function* fail(n) {
      if (n === 0) throw new RangeError('bottom')
      try {
        yield fail(n - 1)
      } finally {
        passed++
      }
    }
    const error = await errorOf(run(fail, { budget: limit }, depth))
    assert.equal([error.message, passed], ['bottom', depth])
  })
}

calls('at depth 50 each point resumes the leaf and none of its callers', async () => {
  const resumed = Array(51).fill(0)
  function* level(n) {
    if (n === 50) {
      for (let k = 0; k < 20; k++) {
        yield
        resumed[n]++
      }
      return 'leaf'
    }
    const value = yield level(n + 1)
    resumed[n]++
    return value
  }
  assert.is(await run(level, {}, 0), 'leaf')
  assert.equal(resumed, [...Array(50).fill(1), 20])
})

calls('calls and yield* can be mixed at any depth', async () => {
  const order = []
  function* level(n) {
    order.push(n)
    if (n === 12) return n
    yield
    try {
      const value = n % 2 ? yield* level(n + 1) : yield level(n + 1)
      return value + n
    } finally {
      order.push(-n)
    }
  }
  assert.is(await run(level, {}, 0), 78)
  assert.equal(order, [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, -0
  ])
})

calls('errors pass from a call to yield* and from yield* to a call', async () => {
  function* leaf() {
    yield
    throw new RangeError('leaf')
  }
  function* delegates() { yield* leaf() }
  function* callsLeaf() { yield leaf() }
  function* both() { yield* callsLeaf() }
  const seen = []
  await run(function* () {
    for (const work of [delegates, callsLeaf, both]) {
      try {
        yield work()
      } catch (error) {
        seen.push(error.message)
      }
      try {
        yield* work()
      } catch (error) {
        seen.push(error.message)
      }
    }
  })
  assert.equal(seen, Array(6).fill('leaf'))
})

calls('a call without a yield is still a preemption point of its caller', () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const trace = record(scheduler)
  function* child() { return 1 }
  scheduler.spawn(function* () {
    host.advance(0.5)
    scheduler.spawn(function* () {}, { name: 'urgent', deadline: 1 })
    yield child()
    host.advance(0.5)
  }, { name: 'job', deadline: 9 })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    0.5 release urgent, preempt job by=urgent, start urgent, finish urgent, resume job
    1 finish job, round start=0`)
})

calls('a call of a finished generator returns undefined', async () => {
  function* child() { return 1 }
  assert.equal(await run(function* () {
    const call = child()
    return [yield call, yield call]
  }), [1, undefined])
})

calls('a generator object can be spawned, started or not', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  function* work(text) {
    const seen = [text]
    seen.push(yield)
    seen.push(yield)
    return seen
  }
  const begun = work('begun')
  begun.next()
  const jobs = [
    scheduler.spawn(work('new')), scheduler.spawn(begun), scheduler.spawn(work('late'), { release: 5 })
  ]
  await host.drain()
  assert.equal(await Promise.all(jobs), [
    ['new', undefined, undefined], ['begun', undefined, undefined], ['late', undefined, undefined]
  ])
})

calls('work is a generator function, a function that returns a generator, or a task', async () => {
  function* work(a, b) {
    yield
    return [this === undefined || this instanceof Task, a, b]
  }
  class Derived extends Task {
    * run(a, b) {
      return [...yield work.call(this, a, b), this instanceof Derived]
    }
  }
  assert.equal(await run(work, {}, 1, 2), [true, 1, 2])
  assert.equal(await run((a, b) => work(a, b), {}, 1, 2), [true, 1, 2])
  assert.equal(await run(new Task(work), {}, 1, 2), [true, 1, 2])
  assert.equal(await run(new Derived(), {}, 1, 2), [true, 1, 2, true])
})

calls('a result that is not a generator ends the job with that result', async () => {
  for (const value of [0, '', false, null, undefined, 'text', 5n]) assert.is(await run(() => value), value)
  const list = [1]
  assert.is(await run(() => list), list)
})

/**
 * Runs a job that calls 10 000 levels deep, where leaving one call takes 0.01 ms, and returns its budgets.
 */
async function budgetsOf(atTheBottom, budget) {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget })
  const job = scheduler.spawn(function* descend(depth) {
    try {
      return depth === 0 ? atTheBottom() : (yield descend(depth - 1)) + 1
    } finally {
      host.advance(0.01)
    }
  }, undefined, 10_000)
  const outcome = job.then(result => result, error => error.message)
  const urgent = scheduler.spawn(function* () { return host.time }, { release: 50, deadline: 10 })
  await host.drain()
  return { outcome: await outcome, urgent: await urgent, longest: scheduler.stats().longestBudget }
}

for (const budget of [1, 1000, 'auto']) {
  calls(`urgent jobs run between the returns of nested calls, budget ${budget}`, async () => {
    const { outcome, urgent, longest } = await budgetsOf(() => 0, budget)
    assert.is(outcome, 10_000)
    assert.ok(longest < 1, `${longest} ms`)
    assert.ok(urgent < 51, `at ${urgent} ms`)
  })

  calls(`urgent jobs run while an error unwinds nested calls, budget ${budget}`, async () => {
    const { outcome, urgent, longest } = await budgetsOf(() => { throw new Error('from below') }, budget)
    assert.is(outcome, 'from below')
    assert.ok(longest < 1, `${longest} ms`)
    assert.ok(urgent < 51, `at ${urgent} ms`)
  })
}

calls('endless recursion fails with a RangeError before memory runs out', async () => {
  let depth = 0
  let left = 0
  const error = await errorOf(run(function* descend() {
    depth++
    try {
      yield descend()
    } finally {
      left++
    }
  }, { budget: 'auto' }))
  assert.instance(error, RangeError)
  assert.match(error.message, 'descend has more than')
  assert.ok(depth > 1e6, `${depth} calls`)
  assert.is(left, depth, 'each is left by its finally')
})

calls.run()

const iterators = suite('other iterators')

iterators('an iterator without throw and return is driven to completion', async () => {
  const count = n => ({ next: () => n-- ? { value: undefined, done: false } : { value: 'end', done: true } })
  assert.is(await run(count(3)), 'end')
  assert.is(await run(function* () { return yield count(3) }), 'end')
})

iterators('an error for an iterator without throw calls return(), then reaches the caller', async () => {
  const closed = []
  const junk = name => ({
    next: () => ({ value: 'junk', done: false }),
    return: () => {
      closed.push(name)
      return {}
    }
  })
  const bare = { next: () => ({ value: 'junk', done: false }) }
  const errors = await run(function* () {
    const errors = []
    for (const iterator of [junk('a'), bare]) {
      try {
        yield iterator
      } catch (error) {
        errors.push(error.constructor)
      }
    }
    return errors
  })
  assert.equal(errors, [TypeError, TypeError])
  assert.equal(closed, ['a'])
  assert.instance(await errorOf(run(junk('b'))), TypeError)
  assert.equal(closed, ['a', 'b'])
})

iterators('an error that return() throws replaces the first error', async () => {
  const iterator = {
    next: () => ({ value: 'junk', done: false }),
    return() { throw new RangeError('closing') }
  }
  assert.is((await errorOf(run(iterator))).message, 'closing')
})

iterators('throw() of an iterator can catch the error and continue', async () => {
  const thrown = []
  const iterator = {
    next: () => ({ value: 'junk', done: false }),
    throw(error) {
      thrown.push(error.constructor)
      return { value: 'caught', done: true }
    }
  }
  assert.is(await run(function* () { return yield iterator }), 'caught')
  assert.equal(thrown, [TypeError])
})

iterators('next() receives the result of each yield', async () => {
  const given = []
  const yields = [undefined, (function* () { return 'call' })(), Promise.resolve('promise')]
  await run({
    next(value) {
      given.push(value)
      return given.length > 3 ? { value: 0, done: true } : { value: yields[given.length - 1], done: false }
    }
  })
  assert.equal(given, [undefined, undefined, 'call', 'promise'])
})

iterators('the first next() of a call receives undefined', async () => {
  const given = []
  await run(function* () {
    yield {
      next(...values) {
        given.push(values[0])
        return { value: undefined, done: given.length > 1 }
      }
    }
  })
  assert.equal(given, [undefined, undefined])
})

iterators('an iterator that throws or returns no result object fails only its caller', async () => {
  const broken = {
    'next throws': { next() { throw new RangeError('next') } },
    'no result': { next() {} },
    'a result that is null': { next: () => null }
  }
  for (const [title, iterator] of Object.entries(broken)) {
    assert.is(await run(function* () {
      try {
        yield iterator
      } catch {
        return 'caught'
      }
    }), 'caught', title)
    assert.is((await errorOf(run(iterator))) instanceof Error, true, title)
  }
})

/** Defines a getter that throws at its `nth` use and returns `value` before. */
const trap = (object, name, value, nth) => {
  let uses = 0
  return Object.defineProperty(object, name, {
    get() {
      if (++uses >= nth) throw new RangeError(`${String(name)}, use ${nth}`)
      return value
    }
  })
}

// A getter that throws fails the job, whichever property is read first and however often.
const results = {
  'value at once': nth => trap({ done: false }, 'value', 'junk', nth),
  'value of a point': nth => trap({ done: false }, 'value', undefined, nth),
  'value of the end': nth => trap({ done: true }, 'value', 'result', nth),
  'done of a point': nth => trap({ value: undefined }, 'done', false, nth),
  'done of a call': nth => trap({ value: (function* () {})() }, 'done', false, nth),
  'done of junk': nth => trap({ value: 'junk' }, 'done', false, nth),
  'done of the end': nth => trap({ value: 'result' }, 'done', true, nth)
}

for (const [title, result] of Object.entries(results)) {
  iterators(`a throwing getter of a result fails the job, not the scheduler: ${title}`, async () => {
    for (const nth of [1, 2]) {
      const host = virtualHost()
      const scheduler = new Scheduler({ host, budget: 1 })
      let calls = 0
      const iterator = () => ({ next: () => ++calls > 5 ? { value: 0, done: true } : result(nth) })
      const job = scheduler.spawn(iterator())
      const caller = scheduler.spawn(function* () {
        try {
          yield iterator()
        } catch (error) {
          return error
        }
      })
      const other = scheduler.spawn(function* () {
        yield
        return 'done'
      })
      job.catch(() => {})
      await host.drain()
      assert.is(scheduler.current, null)
      assert.is(await other, 'done')
      assert.is(['done', 'failed'].includes(job.state), true, `${job.state}, getter ${nth}`)
      assert.is(caller.state, 'done')
      if (nth === 1) assert.is((await errorOf(job)) instanceof RangeError, true)
    }
  })
}

iterators('a throwing getter of a yielded value throws at that yield', async () => {
  for (const name of ['next', 'then', Symbol.asyncIterator]) {
    const object = name === Symbol.asyncIterator ? { next() {} } : {}
    assert.is(await run(function* () {
      try {
        yield trap(object, name, undefined, 1)
      } catch (error) {
        yield
        return error.constructor
      }
    }), RangeError, String(name))
  }
})

iterators.run()

const junk = suite('yields of unsupported values')

async function* asyncGenerator() {}

const values = {
  'null': null,
  'true': true,
  'false': false,
  '0': 0,
  '1': 1,
  'NaN': NaN,
  'an empty string': '',
  'a string': 'text',
  'a bigint': 5n,
  'a symbol': Symbol('text'),
  'a plain object': {},
  'an object without a prototype': Object.create(null),
  'an array': [1, 2],
  'an empty array': [],
  'a function': () => {},
  'a generator function': function* () {},
  'a class': class {},
  'an async generator': asyncGenerator(),
  'a map': new Map(),
  'a date': new Date(0),
  'an object with next that is no function': { next: 1 },
  'an object with then that is no function': { then: {} },
  'a task': new Task(() => {}),
  'a scheduler': new Scheduler({ host: virtualHost() })
}

for (const [title, value] of Object.entries(values)) {
  junk(`${title} throws a TypeError at its yield, and the job may continue`, async () => {
    for (const limit of [1, 100]) {
      const error = await run(function* job() {
        try {
          yield value
        } catch (error) {
          yield
          yield (function* () {})()
          return error
        }
      }, { budget: limit })
      assert.instance(error, TypeError)
      assert.match(error.message, /^a job may yield nothing, a generator, .*; job yielded /)
    }
    assert.instance(await errorOf(run(function* () { yield value })), TypeError)
  })
}

junk('the error message names the yielded value', async () => {
  const messages = await run(function* painter() {
    const messages = []
    for (const value of [0, 'text', null, [1], { a: 1 }, Symbol('s'), 5n, function paint() {}]) {
      try {
        yield value
      } catch (error) {
        messages.push(error.message.replace(/.* painter yielded /, ''))
      }
    }
    return messages
  })
  assert.equal(messages, [
    '0', '"text"', 'null', 'an array: for several at once, yield par(...) of sync.mjs, or Promise.all(...)', 'an object (Object)', 'Symbol(s)', '5', 'function paint'
  ])
})

junk('the error of an unsupported value reaches the innermost call first', async () => {
  const order = []
  function* child() {
    try {
      yield 5
    } finally {
      order.push('child')
    }
  }
  await errorOf(run(function* () {
    try {
      yield child()
    } finally {
      order.push('parent')
    }
  }))
  assert.equal(order, ['child', 'parent'])
})

junk('an array iterator is driven, and its first element throws a TypeError', async () => {
  assert.instance(await errorOf(run(function* () { yield [1, 2][Symbol.iterator]() })), TypeError)
})

junk('a generator that yields itself throws a TypeError', async () => {
  for (const wrap of [work => work, work => (function* () { return yield work })()]) {
    const self = (function* () {
      try {
        yield self
      } catch (error) {
        yield
        return error.message
      }
    })()
    assert.match(await run(wrap(self)), /yielded the generator that is running/)
  }
})

junk('async generators and functions that return one are rejected', async () => {
  const scheduler = new Scheduler({ host: virtualHost() })
  assert.throws(() => scheduler.spawn(asyncGenerator), error => error instanceof TypeError)
  assert.throws(() => scheduler.spawn(asyncGenerator()), error => error instanceof TypeError)
  assert.is(scheduler.stats().jobs, 0)
  const error = await errorOf(run(() => asyncGenerator()))
  assert.match(error.message, /is an async generator, which cannot be driven/)
})

junk('spawn rejects an unsupported work immediately', () => {
  const scheduler = new Scheduler({ host: virtualHost() })
  const works = [undefined, null, 0, 'text', {}, [], Promise.resolve(), new Map(), { next: 1 }, Symbol('s')]
  for (const work of works) {
    assert.throws(() => scheduler.spawn(work), error => {
      return error instanceof TypeError && /^work must be /.test(error.message)
    })
  }
  assert.throws(() => scheduler.spawn(scheduler.spawn(() => {})), error => error instanceof TypeError)
  assert.is(scheduler.stats().jobs, 1)
})

junk('a job that yields unsupported values does not affect another job', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const failing = scheduler.spawn(function* () { yield 1 })
  const other = scheduler.spawn(function* () {
    for (let n = 0; n < 3; n++) yield
    return budget.left
  })
  await host.drain()
  assert.equal([failing.state, other.state], ['failed', 'done'])
  assert.equal(host.errors.map(error => error.constructor), [TypeError])
})

junk('a second yield of a generator that is already being driven throws a TypeError', async () => {
  const host = virtualHost()
  const scheduler = new Scheduler({ host, budget: 1 })
  const shared = (function* () {
    yield Promise.resolve()
    return 'result'
  })()
  const caller = function* () { return yield shared }
  const jobs = [scheduler.spawn(caller), scheduler.spawn(caller)]
  const outer = (function* () {
    return yield (function* () { return yield outer })()
  })()
  jobs.push(scheduler.spawn(outer))
  await host.drain()
  assert.is(await jobs[0], 'result')
  for (const job of jobs.slice(1)) {
    assert.match(await job.catch(error => error.message), /yielded the generator that is running already/)
  }
})

junk.run()
