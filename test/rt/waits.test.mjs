import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlockError, Scheduler, edf, fp, extend } from '../../rt.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute, microtasks } from '../support/virtual-host.mjs'
import { deferred, world } from '../support/world.mjs'

const setup = options => world({ except: [], slice: Infinity, ...options })

/** The outcome of a wait in a job: ['value', value] or ['error', error]. */
function* outcomeOf(waitable) {
  try {
    return ['value', yield waitable]
  } catch (error) {
    return ['error', error]
  }
}

/** Runs one job that waits for `waitable`, and returns the outcome. */
async function wait(waitable) {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(outcomeOf(waitable))
  await host.drain()
  assert.is(job.state, 'done')
  assert.equal(host.errors, [])
  return job
}

const promises = suite('promises')

promises('a job that waits for a promise receives its value while other jobs run', async () => {
  const { host, scheduler, trace } = setup()
  const later = deferred()
  let got
  scheduler.spawn(function* () {
    got = yield later.promise
    host.advance(1)
  }, { name: 'waits', deadline: 5 })
  scheduler.spawn(function* () {
    yield* execute(host, 3)
    later.resolve('value')
  }, { name: 'other', deadline: 50 })
  await host.drain()
  assert.is(got, 'value')
  assertTrace(trace, `
    0 release waits, release other, start waits, block waits on=Promise, start other
    3 finish other, round start=0, wake waits, resume waits
    4 finish waits, round start=3`)
})

promises('every value of a promise is returned unchanged', async () => {
  for (const value of [undefined, null, 0, '', false, NaN, 5n, Symbol.iterator, () => {}, []]) {
    const [kind, got] = await wait(Promise.resolve(value))
    assert.is(kind, 'value')
    assert.is(Object.is(got, value), true)
  }
})

promises('a rejection is thrown at its yield, and the job may continue', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('rejected')
  const job = scheduler.spawn(function* () {
    const first = yield* outcomeOf(Promise.reject(error))
    yield
    return [first, yield Promise.resolve(2)]
  })
  await host.drain()
  assert.equal(await job, [['error', error], 2])
})

promises('a rejection that the job does not catch fails it and is reported once', async () => {
  const { host, scheduler, trace } = setup()
  const error = new RangeError('rejected')
  scheduler.spawn(function* () { yield Promise.reject(error) }, { name: 'job' })
  await host.drain()
  assert.equal(host.errors, [error])
  assertTrace(trace, `
    0 release job, start job, block job on=Promise, round start=0, wake job, resume job
    0 fail job error=RangeError, round start=0`)
})

promises('a wait deep in calls resumes the innermost call', async () => {
  const { host, scheduler } = setup()
  const later = deferred()
  function* leaf() { return [yield later.promise] }
  function* delegates() { return [...yield* leaf(), 'delegated'] }
  const job = scheduler.spawn(function* () { return [...yield delegates(), 'called'] })
  await host.drain()
  assert.is(job.state, 'waiting')
  later.resolve('value')
  await host.drain()
  assert.equal(await job, ['value', 'delegated', 'called'])
})

promises('several jobs that wait for one promise wake in the order of their waits', async () => {
  const { host, scheduler, trace } = setup()
  const later = deferred()
  for (const name of ['a', 'b', 'c']) scheduler.spawn(function* () { yield later.promise }, { name })
  await host.drain()
  trace.take()
  later.resolve()
  await host.drain()
  assertTrace(trace, `
    0 wake a, wake b, wake c, resume a, finish a, resume b, finish b, resume c, finish c, round start=0`)
})

promises('a job that returns a promise waits for it and settles with its outcome', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('rejected')
  const later = deferred()
  const jobs = [
    scheduler.spawn(function* () { return later.promise }),
    scheduler.spawn(() => later.promise),
    scheduler.spawn(function* () { return Promise.reject(error) })
  ]
  const caught = jobs[2].catch(reason => reason)
  await host.drain()
  assert.equal(jobs.map(({ state }) => state), ['waiting', 'waiting', 'failed'])
  later.resolve('value')
  await host.drain()
  assert.equal(await Promise.all(jobs.slice(0, 2)), ['value', 'value'])
  assert.is(await caught, error)
})

promises('a wait for a promise that never settles takes no turns and delays idle()', async () => {
  const { host, scheduler } = setup()
  let idle = false
  const job = scheduler.spawn(function* () { yield new Promise(() => {}) })
  scheduler.idle().then(() => { idle = true })
  await host.drain()
  assert.equal([job.state, idle, host.posts, host.timers, host.turns], ['waiting', false, 0, [], 1])
})

promises.run()

const thenables = suite('thenables')

thenables('a thenable that settles synchronously does not end the budget', async () => {
  const { host, scheduler, trace } = setup({ budget: 100 })
  scheduler.spawn(function* () {
    const before = host.reads
    const got = yield { then(resolve) { resolve('value') } }
    assert.equal([got, host.reads], ['value', before])
    assert.equal(yield* outcomeOf({ then(_, reject) { reject('reason') } }), ['error', 'reason'])
  }, { name: 'job' })
  await host.drain()
  assertTrace(trace, `
    0 release job, start job, finish job, round start=0`)
})

thenables('a thenable that settles synchronously is still a preemption point', () => {
  const { host, scheduler, trace } = setup({ budget: 1 })
  scheduler.spawn(function* () {
    host.advance(1)
    yield { then(resolve) { resolve('value') } }
    host.advance(1)
  }, { name: 'job', deadline: 9 })
  scheduler.spawn(execute(host, 1), { name: 'urgent', release: 1, deadline: 3 })
  host.run()
  assertTrace(trace, `
    0 release job, start job
    1 release urgent, preempt job by=urgent, start urgent
    2 finish urgent, resume job
    3 finish job, round start=0`)
})

thenables('a value that arrives at the end of a budget survives a preemption', () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(function* () {
    scheduler.spawn(function* () { yield }, { deadline: 1 })
    const first = yield { then(resolve) { resolve('value') } }
    scheduler.spawn(function* () { yield }, { deadline: 1 })
    return [first, yield* outcomeOf({ then(_, reject) { reject('reason') } })]
  })
  host.run()
  assert.is(job.preemptions, 2)
  return job.then(outcome => assert.equal(outcome, ['value', ['error', 'reason']]))
})

thenables('then is called once, on the thenable', async () => {
  const calls = []
  const thenable = {
    then(...callbacks) {
      calls.push([this === thenable, callbacks.map(callback => typeof callback)])
      callbacks[0]()
    }
  }
  await wait(thenable)
  assert.equal(calls, [[true, ['function', 'function']]])
})

const endless = {
  itself() {
    const own = { then(resolve) { resolve(own) } }
    return own
  },
  'a new thenable each time'() {
    const next = () => ({ then(resolve) { resolve(next()) } })
    return next()
  }
}
for (const [title, make] of Object.entries(endless)) {
  thenables(`a thenable that resolves with ${title} fails with a RangeError`, async () => {
    const [kind, error] = await wait(make())
    assert.is(kind, 'error')
    assert.instance(error, RangeError)
    assert.match(error.message, /more than 1000 thenables have resolved with each other/)
  })

  thenables(`a job that returns a thenable that resolves with ${title} fails`, async () => {
    const { host, scheduler } = setup()
    const job = scheduler.spawn(() => make())
    const outcome = job.catch(error => error)
    await host.drain()
    assert.instance(await outcome, RangeError)
  })
}

thenables('a chain of 900 thenables returns the last value', async () => {
  const chain = depth => depth === 0 ? 'last' : { then(resolve) { resolve(chain(depth - 1)) } }
  assert.equal(await wait(chain(900)), ['value', 'last'])
})

thenables('a function with a then method is a thenable', async () => {
  assert.equal(await wait(Object.assign(() => {}, { then(resolve) { resolve(1) } })), ['value', 1])
})

const twice = {
  'resolves twice': (resolve) => {
    resolve(1)
    resolve(2)
  },
  'resolves, then rejects': (resolve, reject) => {
    resolve(1)
    reject(2)
  },
  'resolves, then throws': resolve => {
    resolve(1)
    throw new RangeError('too late')
  },
  'resolves later, then again': resolve => {
    queueMicrotask(() => {
      resolve(1)
      resolve(2)
    })
  },
  'resolves at once, then later': resolve => {
    resolve(1)
    queueMicrotask(() => resolve(2))
  },
  'resolves with one that resolves later, then with a value': resolve => {
    resolve({ then(inner) { queueMicrotask(() => inner(1)) } })
    resolve(2)
  },
  'resolves with one that resolves later, then rejects': (resolve, reject) => {
    resolve({ then(inner) { queueMicrotask(() => inner(1)) } })
    reject(2)
  },
  'resolves with one that resolves twice': resolve => {
    resolve({
      then(inner) {
        inner(1)
        inner(2)
      }
    })
    resolve(3)
  }
}

for (const [title, then] of Object.entries(twice)) {
  thenables(`the first answer of a thenable counts, if it ${title}`, async () => {
    assert.equal(await wait({ then }), ['value', 1])
  })
}

thenables('after the first answer, a thenable passed to resolve is not called', async () => {
  let asked = false
  const spy = { then() { asked = true } }
  assert.equal(await wait({
    then(resolve) {
      resolve(1)
      resolve(spy)
      queueMicrotask(() => resolve(spy))
    }
  }), ['value', 1])
  assert.is(asked, false)
})

thenables('after a rejection, later answers are ignored', async () => {
  assert.equal(await wait({
    then(resolve, reject) {
      reject(1)
      resolve(2)
      throw new RangeError('too late')
    }
  }), ['error', 1])
})

thenables('a late second answer does not affect the next wait', async () => {
  const { host, scheduler } = setup()
  const answers = []
  const next = deferred()
  const job = scheduler.spawn(function* () {
    const first = yield { then(resolve) { answers.push(resolve) } }
    return [first, yield next.promise]
  })
  await host.drain()
  answers[0]('first')
  await host.drain()
  answers[0]('second')
  await host.drain()
  assert.is(job.state, 'waiting')
  next.resolve('next')
  await host.drain()
  assert.equal(await job, ['first', 'next'])
})

thenables('a thenable whose then throws rejects', async () => {
  const error = new RangeError('thrown')
  assert.equal(await wait({ then() { throw error } }), ['error', error])
})

thenables('nested thenables are resolved, nested reasons are not', async () => {
  const nest = (value, levels) => levels === 0 ? value : {
    then(resolve) { resolve(nest(value, levels - 1)) }
  }
  const nestLater = (value, levels) => levels === 0 ? value : {
    then(resolve) { queueMicrotask(() => resolve(nestLater(value, levels - 1))) }
  }
  assert.equal(await wait(nest(1, 5)), ['value', 1])
  assert.equal(await wait(nestLater(1, 5)), ['value', 1])
  assert.equal(await wait(nest(Promise.resolve(1), 2)), ['value', 1])
  const reason = nest(1, 2)
  assert.is((await wait({ then(_, reject) { reject(reason) } }))[1], reason)
})

const nested = {
  'throws at once': error => ({ then() { throw error } }),
  'rejects at once': error => ({ then(_, reject) { reject(error) } }),
  'has a getter that throws': error => ({ get then() { throw error } })
}

for (const [title, inner] of Object.entries(nested)) {
  for (const later of [false, true]) {
    const when = later ? 'later' : 'at once'
    thenables(`a thenable that ${title} rejects the thenable that resolves with it ${when}`, async () => {
      const error = new RangeError('inner')
      // An error that escapes from a callback would end the process.
      let escaped
      const outer = {
        then(resolve) {
          const call = () => {
            try {
              resolve(inner(error))
            } catch (caught) {
              escaped = caught
            }
          }
          if (later) queueMicrotask(call)
          else call()
        }
      }
      const { host, scheduler } = setup()
      const job = scheduler.spawn(outcomeOf(outer))
      const returns = scheduler.spawn(() => outer)
      returns.catch(() => {})
      await host.drain()
      assert.is(escaped, undefined)
      assert.equal([job.state, returns.state], ['done', 'failed'])
      assert.equal(await job, ['error', error])
    })
  }
}

thenables('the thenable of a cancelled wait has no effect when it settles', async () => {
  const { host, scheduler } = setup()
  let answer
  const job = scheduler.spawn(function* () {
    try {
      yield { then(resolve) { answer = resolve } }
    } catch {
      return [yield, yield Promise.resolve('next')]
    }
  })
  host.run()
  job.cancel()
  let asked = false
  answer({ then() { asked = true } })
  await host.drain()
  assert.equal([asked, await job], [false, [undefined, 'next']])
})

thenables.run()

const jobs = suite('waits for jobs')

jobs('a wait for a job that has ended returns its outcome immediately', async () => {
  const { host, scheduler, trace } = setup()
  const error = new RangeError('failed')
  const done = scheduler.spawn(() => 'result')
  const failed = scheduler.spawn(() => { throw error })
  const cancelled = scheduler.spawn(() => {}, { release: 100 })
  failed.catch(() => {})
  cancelled.cancel('reason')
  host.run()
  trace.take()
  const job = scheduler.spawn(function* () {
    return [yield* outcomeOf(done), yield* outcomeOf(failed), yield* outcomeOf(cancelled)]
  }, { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job, finish job, round start=0`)
  assert.equal(await job, [['value', 'result'], ['error', error], ['error', 'reason']])
})

jobs('a job can wait for a pending, ready, waiting or running job', async () => {
  const { host, scheduler, trace } = setup()
  const child = scheduler.spawn(function* () {
    yield* execute(host, 1)
    return 'result'
  }, { name: 'child', release: 5 })
  const parent = scheduler.spawn(function* () {
    return [yield child]
  }, { name: 'parent' })
  host.run()
  assertTrace(trace, `
    0 release parent, start parent, block parent on=child, round start=0
    5 release child, start child
    6 finish child, wake parent, resume parent, finish parent, round start=5`)
  assert.equal(await parent, ['result'])
})

jobs('the error of a job is thrown at the wait for it and not reported', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('failed')
  const parent = scheduler.spawn(function* () {
    const child = scheduler.spawn(function* () {
      yield
      throw error
    })
    return yield* outcomeOf(child)
  })
  await host.drain()
  assert.equal(await parent, ['error', error])
  assert.equal(host.errors, [])
})

jobs('the error of a job without waiters is reported once, at the end of the round', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('failed')
  const child = scheduler.spawn(() => { throw error })
  let early
  scheduler.spawn(function* () {
    yield
    early = [child.state, host.errors.length]
  })
  await host.drain()
  assert.equal(early, ['failed', 0])
  assert.equal(host.errors, [error])
})

jobs('a failed job that another job awaits in the same round is not reported', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('failed')
  const child = scheduler.spawn(() => { throw error })
  const parent = scheduler.spawn(function* () {
    yield
    return yield* outcomeOf(child)
  })
  await host.drain()
  assert.equal(await parent, ['error', error])
  assert.equal(host.errors, [])
})

jobs('a job that waits for a cancelled job receives the reason of the cancellation', async () => {
  const { host, scheduler } = setup()
  const child = scheduler.spawn(function* () { yield new extend.Waitable() })
  const parent = scheduler.spawn(outcomeOf(child))
  host.run()
  child.cancel('reason')
  host.run()
  assert.equal(await parent, ['error', 'reason'])
  assert.equal(host.errors, [])
})

jobs('several jobs can wait for one job and receive its result, highest rank first', () => {
  const { host, scheduler, trace } = setup()
  const child = scheduler.spawn(execute(host, 2), { name: 'child', deadline: 90 })
  for (const [name, deadline] of [['c', 30], ['a', 10], ['b', 20]]) {
    scheduler.spawn(function* () {
      yield child
    }, { name, deadline })
  }
  host.run()
  assertTrace(trace, `
    0 release child, release c, release a, release b, start a, block a on=child, start child
    2 finish child, wake a, resume a, finish a, start b, finish b, start c, finish c, round start=0`)
})

jobs('several jobs that wait for one job wake in the order of their ranks', () => {
  const { host, scheduler, trace } = setup()
  const gate = new extend.Waitable()
  const child = scheduler.spawn(function* () { yield gate }, { name: 'child' })
  for (const [name, deadline] of [['c', 30], ['a', 10], ['b', 20]]) {
    scheduler.spawn(function* () { yield child }, { name, deadline })
  }
  host.run()
  trace.take()
  gate.wake()
  host.run()
  assertTrace(trace, `
    0 wake child, resume child, finish child, wake a, wake b, wake c, resume a, finish a, resume b, finish b
    0 resume c, finish c, round start=0`)
})

jobs('yield* job returns the result of the job', async () => {
  const { host, scheduler } = setup()
  const child = scheduler.spawn(function* () {
    yield
    return 'result'
  })
  const parent = scheduler.spawn(function* () { return yield* child })
  host.run()
  assert.is(await parent, 'result')
})

jobs('a job that returns another job ends after it, with its outcome', async () => {
  const { host, scheduler, trace } = setup()
  const gate = new extend.Waitable()
  const child = scheduler.spawn(function* () {
    return yield gate
  }, { name: 'child' })
  const parents = [function* () { return child }, () => child].map((work, n) => {
    return scheduler.spawn(work, { name: `parent ${n}` })
  })
  extend.at(scheduler, 2, () => gate.wake('result'))
  host.run()
  assertTrace(trace, `
    0 release child, release parent 0, release parent 1, start child, block child on=Waitable, start parent 0
    0 block parent 0 on=child, start parent 1, block parent 1 on=child, round start=0
    2 alarm due=2, wake child, resume child, finish child, wake parent 0, wake parent 1, resume parent 0
    2 finish parent 0, resume parent 1, finish parent 1, round start=2`)
  assert.equal(await Promise.all(parents), ['result', 'result'])
})

jobs('outside, then, catch and finally of a job work before and after its end', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('failed')
  const done = scheduler.spawn(() => 'result')
  const failed = scheduler.spawn(() => { throw error })
  const listen = () => Promise.all([
    done, done.then(value => `${value}!`), done.catch(() => 'caught'), done.finally(() => 'ignored'),
    failed.then(() => 'no', reason => reason), failed.catch(reason => reason),
    failed.finally(() => {}).catch(reason => reason)
  ])
  const early = listen()
  await host.drain()
  const expected = ['result', 'result!', 'result', 'result', error, error, error]
  assert.equal(await early, expected)
  assert.equal(await listen(), expected)
  assert.equal(host.errors, [])
})

jobs('a job can wait for a job of another scheduler', async () => {
  const { host, scheduler } = setup()
  const other = new Scheduler({ host, budget: 1 })
  const child = other.spawn(function* () {
    yield* execute(host, 3)
    return 'result'
  })
  const parent = scheduler.spawn(function* () { return yield child })
  await host.drain()
  assert.is(await parent, 'result')
})

jobs.run()

const inheritance = suite('priority inheritance')

for (const policy of [edf, fp]) {
  inheritance(`${policy.name}: a job inherits the rank of the job that waits for it`, () => {
    const { host, scheduler, trace } = setup({ policy })
    const low = scheduler.spawn(execute(host, 3), { name: 'low', deadline: 90, priority: 1 })
    scheduler.spawn(execute(host, 3), { name: 'middle', deadline: 50, priority: 2, release: 1 })
    const high = scheduler.spawn(function* () {
      yield low
      yield* execute(host, 1)
    }, { name: 'high', deadline: 20, priority: 3, release: 1 })
    host.run()
    assertTrace(trace, `
      0 release low, start low
      1 release middle, release high, preempt low by=high, start high, block high on=low, resume low
      3 finish low, wake high, resume high
      4 finish high, start middle
      5 round start=0
      7 finish middle, round start=5`)
    assert.equal([low.deadline, low.priority, low.missed, high.missed], [90, 1, false, false])
  })
}

inheritance('priority inheritance is transitive', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const first = scheduler.spawn(execute(host, 1), { name: 'first', deadline: 99 })
  const second = scheduler.spawn(function* () {
    yield first
    yield* execute(host, 1)
  }, { name: 'second', deadline: 98, release: 0 })
  const third = scheduler.spawn(function* () {
    yield second
    yield* execute(host, 1)
  }, { name: 'third', deadline: 97 })
  scheduler.spawn(execute(host, 1), { name: 'middle', deadline: 50 })
  scheduler.spawn(function* () {
    yield third
  }, { name: 'high', deadline: 10 })
  host.run()
  assertTrace(trace, `
    0 release first, release second, release third, release middle, release high, start high
    0 block high on=third, start third, block third on=second, start second, block second on=first
    0 start first
    1 finish first, wake second, resume second
    2 finish second, wake third, resume third
    3 finish third, wake high, resume high, finish high, start middle
    4 finish middle, round start=0`)
})

/** `low` waits for `lowest`. `high` waits for `low`. */
function chain(options) {
  const made = setup({ round: Infinity, ...options })
  const { host, scheduler } = made
  const lowest = scheduler.spawn(execute(host, 4), { name: 'lowest', deadline: 99 })
  const low = scheduler.spawn(function* () { yield lowest }, { name: 'low', deadline: 90 })
  const middle = scheduler.spawn(execute(host, 2), { name: 'middle', deadline: 50, release: 1 })
  const high = scheduler.spawn(function* () { yield low }, { name: 'high', deadline: 20 })
  return { ...made, lowest, low, middle, high }
}

inheritance('inheritance ends along the whole chain when its waiting job is cancelled', () => {
  const { host, scheduler, trace, high } = chain()
  extend.at(scheduler, 2, () => high.cancel())
  host.run()
  assertTrace(trace, `
    0 release lowest, release low, release high, start high, block high on=low, start low, block low on=lowest
    0 start lowest
    1 release middle
    2 alarm due=2, wake high, preempt lowest by=high, resume high, cancel high error=AbortError, start middle
    4 finish middle, resume lowest
    6 finish lowest, wake low, resume low, finish low, round start=0`)
})

inheritance('inheritance follows a deadline along the whole chain, earlier and later', () => {
  const { host, scheduler, trace, high } = chain()
  extend.at(scheduler, 2, () => { high.deadline = 60 })
  extend.at(scheduler, 3, () => { high.deadline = 40 })
  host.run()
  assertTrace(trace, `
    0 release lowest, release low, release high, start high, block high on=low, start low, block low on=lowest
    0 start lowest
    1 release middle
    2 alarm due=2, preempt lowest by=middle, start middle
    3 alarm due=3, preempt middle by=lowest, resume lowest
    5 finish lowest, wake low, resume low, finish low, wake high, resume high, finish high, resume middle
    6 finish middle, round start=0`)
})

inheritance('a job that ranks above its waiters runs with its own rank', () => {
  const { host, scheduler, trace, lowest } = chain()
  scheduler.spawn(execute(host, 1), { name: 'urgent', deadline: 5, release: 2 })
  extend.at(scheduler, 2, () => { lowest.deadline = 3 })
  host.run()
  const after = trace.records.filter(({ time, type }) => time >= 2 && type !== 'alarm')
  assertTrace(after, `
    2 release urgent
    4 finish lowest, wake low, miss lowest, start urgent
    5 finish urgent, resume low, finish low, wake high, resume high, finish high, start middle
    7 finish middle, round start=0`)
})

inheritance('a job inherits the highest rank of its waiters, and the next when one leaves', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const gate = new extend.Waitable()
  const low = scheduler.spawn(function* () {
    yield gate
    yield* execute(host, 6)
  }, { name: 'low', deadline: 5 })
  const waiter = function* () { yield low }
  const best = scheduler.spawn(waiter, { name: 'best', deadline: 20 })
  const next = scheduler.spawn(waiter, { name: 'next', deadline: 40 })
  scheduler.spawn(execute(host, 1), { name: 'at 30', deadline: 29, release: 1 })
  scheduler.spawn(execute(host, 1), { name: 'at 50', deadline: 49, release: 1 })
  host.run({ until: 0 })
  low.deadline = 99
  trace.take()
  extend.at(scheduler, 1, () => gate.wake())
  extend.at(scheduler, 3, () => best.cancel())
  extend.at(scheduler, 5, () => next.cancel())
  host.run()
  assertTrace(trace, `
    1 release at 30, release at 50, alarm due=1, wake low, resume low
    3 alarm due=3, wake best, preempt low by=best, resume best, cancel best error=AbortError, start at 30
    4 finish at 30, resume low
    5 alarm due=5, wake next, preempt low by=next, resume next, cancel next error=AbortError, start at 50
    6 finish at 50, resume low
    9 finish low, round start=1`)
})

inheritance('a pending job inherits the rank of its waiters from its release on', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const child = scheduler.spawn(execute(host, 1), { name: 'child', deadline: 90, release: 2 })
  scheduler.spawn(function* () { yield child }, { name: 'parent', deadline: 10 })
  scheduler.spawn(execute(host, 4), { name: 'middle', deadline: 50 })
  host.run()
  assertTrace(trace, `
    0 release parent, release middle, start parent, block parent on=child, start middle
    2 release child, preempt middle by=child, start child
    3 finish child, wake parent, resume parent, finish parent, resume middle
    5 finish middle, round start=0`)
})

inheritance('a waiting job that lends its rank keeps its own deadline and its own miss', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const child = scheduler.spawn(execute(host, 5), { name: 'child', deadline: 90 })
  const parent = scheduler.spawn(function* () { yield child }, { name: 'parent', deadline: 2 })
  host.run()
  assertTrace(trace, `
    0 release child, release parent, start parent, block parent on=child, start child
    3 miss parent
    5 finish child, wake parent, resume parent, finish parent, round start=0`)
  assert.equal([child.missed, parent.missed, scheduler.stats().misses], [false, true, 1])
})

inheritance('code that awaits a job outside lends no rank', async () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const low = scheduler.spawn(execute(host, 1), { name: 'low', deadline: 90 })
  low.then(() => {})
  scheduler.spawn(execute(host, 1), { name: 'middle', deadline: 50 })
  await host.drain()
  assertTrace(trace, `
    0 release low, release middle, start middle
    1 finish middle, start low
    2 finish low, round start=0`)
})

for (const [what, cancelsAt, finished] of [['', Infinity, 5], [', and back when the last leaves', 2, 10]]) {
  inheritance(`inheritance follows a chain of 20 000 jobs${what}`, async () => {
    const { host, scheduler } = setup({ policy: fp })
    const first = scheduler.spawn(function* () { yield new extend.Sleep(5, true) }, { name: 'first' })
    const jobs = [first]
    for (let n = 1; n < 20_000; n++) jobs.push(scheduler.spawn(function* () { yield jobs[n - 1] }))
    host.run({ until: 0 })
    const urgent = scheduler.spawn(function* () { yield jobs.at(-1) }, { priority: 9 })
    scheduler.spawn(() => execute(host, 10), { priority: 5 })
    extend.at(scheduler, cancelsAt, () => urgent.cancel())
    await host.drain()
    assert.is(first.finished, finished)
    assert.is(jobs.every(job => job.state === 'done'), true)
  })
}

inheritance.run()

const deadlock = suite('deadlock cycles')

/** Spawns jobs that each wait for the next, the last for the first. Returns the outcome of each job. */
function circle(names) {
  const { host, scheduler } = setup()
  const members = names.map((name, n) => scheduler.spawn(function* () {
    const outcome = yield* outcomeOf(members[(n + 1) % names.length])
    yield
    return outcome
  }, { name }))
  host.run()
  return { host, scheduler, members }
}

deadlock('two jobs that wait for each other: the second wait throws a DeadlockError', async () => {
  const { members: [a, b] } = circle(['a', 'b'])
  const [, error] = await b
  assert.instance(error, DeadlockError)
  assert.is(error.name, 'DeadlockError')
  assert.is(error.message, 'deadlock: b waits for a waits for b')
  assert.equal(error.jobs.map(({ name }) => name), ['a', 'b'])
  assert.equal(error.jobs.every((job, n) => job === [a, b][n]), true)
  const [kind, value] = await a
  assert.equal([kind, value[0], value[1] === error], ['value', 'error', true])
})

deadlock('a cycle of four jobs throws a DeadlockError at the wait that closes it', async () => {
  const { members, host } = circle(['a', 'b', 'c', 'd'])
  const [, error] = await members[3]
  assert.is(error.message, 'deadlock: d waits for a waits for b waits for c waits for d')
  assert.equal(members.map(({ state }) => state), Array(4).fill('done'))
  assert.equal(host.errors, [])
})

deadlock('a DeadlockError names the jobs of the cycle, not jobs that wait for them', async () => {
  const { host, scheduler } = setup()
  const tail = scheduler.spawn(function* () { yield a }, { name: 'tail' })
  const a = scheduler.spawn(function* () { return yield* outcomeOf(b) }, { name: 'a' })
  const b = scheduler.spawn(function* () { return yield* outcomeOf(a) }, { name: 'b' })
  host.run()
  assert.is((await b)[1].message, 'deadlock: b waits for a waits for b')
  assert.is(tail.state, 'done')
})

deadlock('a job that waits for itself throws a TypeError', async () => {
  const { host, scheduler } = setup()
  const seen = []
  const self = scheduler.spawn(function* narcissus() {
    seen.push(yield* outcomeOf(self))
    seen.push(yield outcomeOf(self))
    yield
    return self
  })
  const direct = scheduler.spawn(function echo() { return direct })
  for (const job of [self, direct]) job.catch(error => seen.push(['error', error]))
  await host.drain()
  assert.equal([self.state, direct.state], ['failed', 'failed'])
  assert.equal(seen.map(([kind, error]) => `${kind} ${error}`), [
    'error TypeError: narcissus waits for itself',
    'error TypeError: narcissus waits for itself',
    'error TypeError: narcissus waits for itself',
    'error TypeError: echo waits for itself'
  ])
})

deadlock('a job that returns its own waiter closes a cycle', async () => {
  const { host, scheduler } = setup()
  const a = scheduler.spawn(function* () { return yield* outcomeOf(b) }, { name: 'a' })
  const b = scheduler.spawn(function* () { return a }, { name: 'b' })
  const caught = b.catch(error => error)
  await host.drain()
  assert.is((await caught).message, 'deadlock: b waits for a waits for b')
  assert.equal([a.state, b.state], ['done', 'failed'])
})

deadlock('two jobs that wait for the same job form no cycle', async () => {
  const { host, scheduler } = setup()
  const base = scheduler.spawn(function* () { yield* execute(host, 1) })
  const left = scheduler.spawn(function* () { yield base })
  const right = scheduler.spawn(function* () { yield base })
  const top = scheduler.spawn(function* () {
    yield left
    yield right
    return 'top'
  })
  host.run()
  assert.is(await top, 'top')
})

deadlock('a wait that has ended closes no cycle', async () => {
  const { host, scheduler } = setup()
  const a = scheduler.spawn(function* () {
    const first = yield* outcomeOf(b)
    yield* execute(host, 2)
    return first
  }, { name: 'a' })
  const b = scheduler.spawn(function* () {
    yield new extend.Waitable()
  }, { name: 'b' })
  host.run()
  a.cancel('given up')
  const c = scheduler.spawn(outcomeOf(a), { name: 'c' })
  b.cancel('too')
  host.run()
  assert.equal([await a, await c], [['error', 'given up'], ['value', ['error', 'given up']]])
})

deadlock('a cycle of 20 000 jobs is detected, and its message stays short', async () => {
  const { host, scheduler } = setup()
  const later = deferred()
  let last
  const first = scheduler.spawn(function* () {
    yield later.promise
    yield last
  }, { name: 'first' })
  last = first
  for (let n = 0; n < 20_000; n++) {
    const before = last
    last = scheduler.spawn(function* () { yield before }, { name: `job ${n}` })
  }
  host.run()
  later.resolve()
  await host.drain()
  const error = await first.catch(error => error)
  assert.instance(error, DeadlockError)
  assert.is(error.jobs.length, 20_001)
  assert.ok(error.message.length < 300, error.message)
})

deadlock.run()

const economy = suite('while all jobs wait')

economy('waiting jobs need no posts, no timers and no clock readings', async () => {
  const { host, scheduler } = setup()
  const waits = deferred()
  const made = Array.from({ length: 100 }, () => scheduler.spawn(function* () { yield waits.promise }))
  await host.drain()
  const { reads, turns } = host
  const { yields } = scheduler.stats()
  assert.equal([host.posts, host.timers, turns], [0, [], 1])
  await host.drain({ until: 1000 })
  assert.equal([host.reads, host.turns, scheduler.stats().yields], [reads, turns, yields])
  waits.resolve()
  await microtasks()
  assert.is(host.posts, 1)
  await host.drain()
  assert.equal([host.turns, host.maxPosts, made.every(({ state }) => state === 'done')], [turns + 1, 1, true])
})

economy('while one job runs, waiting jobs are not resumed', async () => {
  const { host, scheduler } = setup()
  let resumed = 0
  scheduler.spawn(function* () {
    yield new extend.Waitable()
    resumed++
  })
  scheduler.spawn(execute(host, 50))
  await host.drain()
  assert.equal([resumed, scheduler.stats().yields, host.turns], [0, 50, 10])
})

economy('jobs woken between rounds cause one post and run in the next round', async () => {
  const { host, scheduler, trace } = setup()
  const waits = [deferred(), deferred(), deferred()]
  for (const [n, { promise }] of waits.entries()) {
    scheduler.spawn(function* () { yield promise }, { name: `job ${n}`, deadline: 30 - 10 * n })
  }
  host.after(4, () => {
    for (const { resolve } of waits) resolve()
  })
  await host.drain()
  assertTrace(trace, `
    0 release job 0, release job 1, release job 2, start job 2, block job 2 on=Promise, start job 1
    0 block job 1 on=Promise, start job 0, block job 0 on=Promise, round start=0
    4 wake job 0, wake job 1, wake job 2, resume job 2, finish job 2, resume job 1, finish job 1, resume job 0
    4 finish job 0, round start=4`)
  assert.is(host.maxPosts, 1)
})

economy('a job of higher rank that is woken between rounds preempts the running job', async () => {
  const { host, scheduler, trace } = setup({ round: 2 })
  const waitable = new extend.Waitable()
  scheduler.spawn(function* () {
    yield waitable
    yield* execute(host, 1)
  }, { name: 'woken', deadline: 10 })
  scheduler.spawn(execute(host, 4), { name: 'running', deadline: 50 })
  host.after(1, () => waitable.wake())
  await host.drain()
  assertTrace(trace, `
    0 release woken, release running, start woken, block woken on=Waitable, start running
    2 round start=0, wake woken, preempt running by=woken, resume woken
    3 finish woken, resume running
    4 round start=2
    5 finish running, round start=4`)
})

economy('a job woken while the scheduler is paused waits for resume()', async () => {
  const { host, scheduler, trace } = setup()
  const waitable = new extend.Waitable()
  scheduler.spawn(function* () { yield waitable }, { name: 'job' })
  host.run()
  scheduler.pause()
  waitable.wake()
  await host.drain()
  assert.is(host.posts, 0)
  scheduler.resume()
  await host.drain()
  assertTrace(trace, `
    0 release job, start job, block job on=Waitable, round start=0, wake job, resume job, finish job
    0 round start=0`)
})

economy.run()

const waiting = suite('wake-ups')

waiting('many waits cause no additional rounds per turn of the event loop', async () => {
  const { host, scheduler } = world({ except: [] })
  scheduler.spawn(function* () {
    for (let n = 0; n < 50; n++) yield Promise.resolve()
    yield* execute(host, 20)
  })
  for (let n = 0; n < 20; n++) scheduler.spawn(function* () { yield Promise.resolve() })
  await host.drain()
  // 50 waits end one round each, and 20 ms of work take four more.
  assert.equal([host.turns, host.maxPosts], [54, 1])
})

waiting('a parent that waits for one child is not woken by another child', () => {
  const { host, scheduler, trace } = world({ except: [] })
  const children = [3, 1, 2].map(ms => {
    return scheduler.spawn(execute(host, ms), { name: `child ${ms}`, deadline: 10 * ms })
  })
  const parent = scheduler.spawn(function* () {
    for (const child of children) yield child
  }, { name: 'parent', deadline: 5 })
  host.run()
  assert.is(parent.state, 'done')
  assertTrace(trace.records.filter(({ job, type }) => job === parent || type === 'finish'), `
    0 release parent, start parent, block parent on=child 3
    3 finish child 3, wake parent, resume parent, block parent on=child 1
    4 finish child 1, wake parent, resume parent, block parent on=child 2
    6 finish child 2, wake parent, miss parent, resume parent, finish parent`)
})

waiting.run()
