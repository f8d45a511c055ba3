import { execFile } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DeadlineError, Scheduler, budget, extend } from '../../rt.mjs'
import { preemptify } from '../../addons/preemptify.mjs'
import { Mailbox } from '../support/mailbox.mjs'
import { assertTrace } from '../support/trace.mjs'
import { execute } from '../support/virtual-host.mjs'
import { abortListeners, hookOf, world } from '../support/world.mjs'

const setup = options => world({ except: [], slice: Infinity, ...options })

/** Writes a line into the trace. */
const note = (scheduler, of) => extend.emit(scheduler, 'note', null, { of })

/** Writes every error that is thrown into `work` to the trace and rethrows it. */
function* noting(scheduler, name, work) {
  try {
    return yield* work
  } catch (error) {
    note(scheduler, `${name} is thrown ${error?.name ?? error}`)
    throw error
  }
}

function* points(count = Infinity) {
  for (let n = 0; n < count; n++) yield
}

const reasonOf = job => job.then(
  value => { throw new Error(`nothing was thrown; the result is ${String(value)}`) }, error => error)

const states = suite('cancel() in every state of a job')

states('cancelling a pending job ends it immediately and removes its release', async () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(() => note(scheduler, 'never'), { name: 'job', release: 20 })
  assert.equal([job.state, host.timers.length], ['pending', 1])
  assert.is(job.cancel('reason'), true)
  assert.equal([job.state, job.started, job.finished, host.timers], ['cancelled', undefined, 0, []])
  host.run({ until: 100 })
  assertTrace(trace, '0 cancel job error=reason')
  assert.is(await reasonOf(job), 'reason')
})

states('cancelling a ready job that has not started removes it from the queue', async () => {
  const { host, scheduler, trace } = setup()
  const jobs = ['a', 'b', 'c'].map(name => scheduler.spawn(() => note(scheduler, name), { name }))
  jobs[1].cancel('reason')
  assert.equal(jobs.map(({ state }) => state), ['ready', 'cancelled', 'ready'])
  host.run()
  assertTrace(trace, `
    0 release a, release b, release c, cancel b error=reason, start a, note of=a, finish a, start c, note of=c
    0 finish c, round start=0`)
  assert.is(await reasonOf(jobs[1]), 'reason')
})

states('cancelling a job that has not started never enters its generator object', () => {
  const { host, scheduler } = setup()
  let entered = false
  const job = scheduler.spawn((function* () {
    try {
      entered = true
      yield
    } finally {
      entered = true
    }
  })())
  job.cancel()
  host.run()
  assert.equal([entered, job.state], [false, 'cancelled'])
})

states('a cancelled preempted job receives the reason at its yield when it resumes', () => {
  const { host, scheduler, trace } = setup()
  const low = scheduler.spawn(noting(scheduler, 'low', execute(host, 9)), { name: 'low', deadline: 90 })
  scheduler.spawn(function* () {
    low.cancel()
    note(scheduler, low.state)
    yield* execute(host, 2)
  }, { name: 'high', deadline: 5, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release low, start low
    2 release high, preempt low by=high, start high, note of=ready
    4 finish high, resume low, note of=low is thrown AbortError, cancel low error=AbortError, round start=0`)
})

states('a job cancelled between rounds receives the reason in the next round', () => {
  const { host, scheduler, trace } = setup({ round: 2 })
  const job = scheduler.spawn(noting(scheduler, 'job', execute(host, 9)), { name: 'job' })
  host.run({ turns: 1 })
  job.cancel('reason')
  assert.is(job.state, 'ready')
  host.run()
  assertTrace(trace, `
    0 release job, start job
    2 round start=0, note of=job is thrown reason, cancel job error=reason, round start=2`)
})

states('a job that cancels itself receives the reason at its next yield', () => {
  const { host, scheduler, trace } = setup({ budget: 100 })
  let left
  const job = scheduler.spawn(noting(scheduler, 'job', (function* () {
    yield
    assert.is(job.cancel('reason'), true)
    left = budget.left
    host.advance(1)
    note(scheduler, 'still there')
    yield
    note(scheduler, 'never')
  })()), { name: 'job' })
  host.run()
  assert.is(left, 0)
  assertTrace(trace, `
    0 release job, start job, note of=still there
    1 note of=job is thrown reason, cancel job error=reason, round start=0`)
})

const yields = {
  'a promise': () => Promise.resolve(),
  'a thenable that calls back at once': () => ({ then(resolve) { resolve() } }),
  'a call': () => points(1),
  'another job': scheduler => scheduler.spawn(points(1)),
  'junk': () => 5
}

for (const [title, value] of Object.entries(yields)) {
  states(`a job that cancels itself and yields ${title} receives the reason there`, async () => {
    for (const limit of [1, 100]) {
      const { host, scheduler } = setup({ budget: limit })
      const job = scheduler.spawn(function* () {
        job.cancel('reason')
        try {
          yield value(scheduler)
        } catch (error) {
          return [error, yield]
        }
      })
      await host.drain()
      assert.equal(await job, ['reason', undefined])
    }
  })
}

states('a job that cancels itself does not start the operation that it yields', () => {
  const { host, scheduler } = setup()
  const begun = []
  class Door extends extend.Waitable {
    enter() { begun.push('waitable') }
  }
  const values = [
    new Door(), { then() { begun.push('thenable') } }, (function* () { begun.push('call') })()
  ]
  for (const value of values) {
    const job = scheduler.spawn(function* () {
      job.cancel()
      yield value
    })
  }
  host.run()
  assert.equal(begun, [])
})

states('a job that cancels itself and ends without another yield is cancelled', async () => {
  const ends = [() => 'result', function* () { return 'result' }, function* () { return Promise.resolve() }]
  for (const end of ends) {
    const { host, scheduler } = setup()
    const job = scheduler.spawn(() => {
      job.cancel('reason')
      return end()
    })
    await host.drain()
    assert.equal([job.state, await reasonOf(job)], ['cancelled', 'reason'])
    assert.equal(host.errors, [])
  }
})

states('a job that cancels itself and then throws another error fails', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('failed')
  const job = scheduler.spawn(() => {
    job.cancel('reason')
    throw error
  })
  await host.drain()
  assert.is(job.state, 'failed')
  assert.equal(host.errors, [error])
})

states('cancelling a job that waits for a promise wakes it with the reason', async () => {
  const { host, scheduler, trace } = setup()
  let settle
  const promise = new Promise(resolve => { settle = resolve })
  const job = scheduler.spawn(noting(scheduler, 'job', (function* () { yield promise })()), { name: 'job' })
  await host.drain({ until: 3 })
  job.cancel('reason')
  assert.is(job.state, 'ready')
  settle('too late')
  await host.drain()
  assertTrace(trace, `
    0 release job, start job, block job on=Promise, round start=0
    3 wake job, resume job, note of=job is thrown reason, cancel job error=reason, round start=3`)
})

states('cancelling a job that waits for another job ends only the wait', () => {
  const { host, scheduler, trace } = setup()
  const child = scheduler.spawn(execute(host, 4), { name: 'child', deadline: 90 })
  const parent = scheduler.spawn(noting(scheduler, 'parent', (function* () { yield child })()), {
    name: 'parent', deadline: 10
  })
  scheduler.spawn(execute(host, 1), { name: 'middle', deadline: 50 })
  extend.at(scheduler, 2, () => parent.cancel('reason'))
  host.run()
  assertTrace(trace, `
    0 release child, release parent, release middle, start parent, block parent on=child, start child
    2 alarm due=2, wake parent, preempt child by=parent, resume parent, note of=parent is thrown reason
    2 cancel parent error=reason, start middle
    3 finish middle, resume child
    5 finish child, round start=0`)
})

states('leave() of a waitable is called once when its waiting job is cancelled', () => {
  const { host, scheduler } = setup()
  const seen = []
  class Door extends extend.Waitable {
    enter(job) { seen.push(`enter ${job.name}`) }
    leave() { seen.push('leave') }
  }
  const door = new Door()
  const jobs = ['a', 'b'].map(name => scheduler.spawn(function* () { yield door }, { name }))
  host.run()
  jobs[0].cancel()
  assert.equal(seen, ['enter a'])
  jobs[1].cancel()
  assert.equal(seen, ['enter a', 'leave'])
  host.run()
  door.wake()
  host.run()
  assert.equal(seen, ['enter a', 'leave'])
  assert.equal(jobs.map(({ state }) => state), ['cancelled', 'cancelled'])
})

states('a job cancelled by its own wait operation receives the reason at that yield', async () => {
  for (const answers of [false, true]) {
    const { host, scheduler } = setup()
    const job = scheduler.spawn(function* () {
      try {
        yield {
          then(resolve) {
            job.cancel('reason')
            if (answers) resolve('value')
          }
        }
        yield
      } catch (error) {
        return ['caught', error, yield, yield Promise.resolve(1)]
      }
    })
    await host.drain()
    assert.equal(await job, ['caught', 'reason', undefined, 1])
  }
})

states('a job cancelled between its wake-up and its resume receives the reason', async () => {
  const { host, scheduler } = setup()
  const waitable = new extend.Waitable()
  const job = scheduler.spawn(function* () {
    try {
      return yield waitable
    } catch (error) {
      return ['caught', error]
    }
  })
  host.run()
  waitable.wake('value')
  job.cancel('reason')
  host.run()
  assert.equal(await job, ['caught', 'reason'])
})

states('a job that waits for the job it returned is cancelled immediately', async () => {
  const { host, scheduler } = setup()
  const child = scheduler.spawn(function* () { yield new extend.Waitable() })
  const parents = [scheduler.spawn(function* () { return child }), scheduler.spawn(() => child)]
  host.run()
  for (const parent of parents) parent.cancel('reason')
  host.run()
  assert.equal(parents.map(({ state }) => state), ['cancelled', 'cancelled'])
  assert.is(child.state, 'waiting')
  child.cancel()
  host.run()
  assert.equal(parents.map(({ state }) => state), ['cancelled', 'cancelled'])
})

states('a cancelled depleted job leaves its reservation, and its finally block runs', () => {
  const { host, scheduler, trace } = setup()
  const seen = []
  const hook = hookOf(scheduler, {
    keys: { absoluteDeadline: 5, priority: 0 },
    groupFor(job) {
      seen.push(`groupFor ${job.name}`)
      return hook.group
    },
    detach: job => seen.push(`detach ${job.name}`)
  })
  const reservation = { [extend.protocol]: hook }
  const job = scheduler.spawn(noting(scheduler, 'job', execute(host, 9)), { name: 'job', reservation })
  extend.at(scheduler, 2, () => hook.group.change(null))
  extend.at(scheduler, 4, () => {
    note(scheduler, job.state)
    job.cancel('reason')
  })
  host.run()
  assert.equal(seen, ['groupFor job', 'detach job'])
  assertTrace(trace, `
    0 release job, start job
    2 alarm due=2, deplete job, round start=0
    4 alarm due=4, note of=depleted, wake job, resume job, note of=job is thrown reason
    4 cancel job error=reason, round start=4`)
})

states('cancel() of a job that has ended returns false and keeps its state', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('failed')
  const jobs = [
    scheduler.spawn(() => 'result'), scheduler.spawn(() => { throw error }), scheduler.spawn(points(1))
  ]
  jobs[1].catch(() => {})
  jobs[2].cancel('first')
  host.run()
  assert.equal(jobs.map(job => job.cancel('second')), [false, false, false])
  assert.equal(jobs.map(({ state }) => state), ['done', 'failed', 'cancelled'])
  assert.equal([await jobs[0], await reasonOf(jobs[1]), await reasonOf(jobs[2])], ['result', error, 'first'])
})

states.run()

const throwing = suite('the reason of a cancellation')

throwing('the reason is thrown at the innermost call first and propagates outwards', () => {
  const { host, scheduler, trace } = setup()
  const level = function* (n) {
    if (n === 3) yield new extend.Waitable()
    else if (n % 2) yield noting(scheduler, `level ${n + 1}`, level(n + 1))
    else yield* noting(scheduler, `level ${n + 1}`, level(n + 1))
  }
  const job = scheduler.spawn(noting(scheduler, 'level 0', level(0)), { name: 'job' })
  host.run()
  trace.take()
  job.cancel('reason')
  host.run()
  assertTrace(trace, `
    0 wake job, resume job, note of=level 3 is thrown reason, note of=level 2 is thrown reason
    0 note of=level 1 is thrown reason, note of=level 0 is thrown reason, cancel job error=reason
    0 round start=0`)
})

throwing('if a call catches the reason, its callers continue', async () => {
  const { host, scheduler } = setup()
  const child = function* () {
    try {
      yield* execute(host, 9)
    } catch (error) {
      return error
    }
  }
  const job = scheduler.spawn(function* () {
    const got = yield child()
    yield* points(3)
    return [got, yield Promise.resolve('goes on')]
  })
  extend.at(scheduler, 2, () => job.cancel('reason'))
  await host.drain()
  assert.equal([job.state, await job], ['done', ['reason', 'goes on']])
})

throwing('a cancelled job handles the failures of the promise and the job that it yields', async () => {
  const failures = []
  const { host, scheduler } = setup({ onError: error => failures.push(error) })
  const unhandled = error => failures.push(error)
  process.on('unhandledRejection', unhandled)
  const values = [() => Promise.reject(new Error('promise')), () => scheduler.spawn(function* () {
    yield
    throw new Error('job')
  })]
  for (const value of values) {
    const job = scheduler.spawn(function* () {
      job.cancel()
      yield value()
    })
    await host.drain()
    assert.is(job.state, 'cancelled')
  }
  await new Promise(setImmediate)
  process.off('unhandledRejection', unhandled)
  assert.equal(failures, [])
})

throwing('finally blocks run in order and may yield and wait', async () => {
  const { host, scheduler, trace } = setup()
  const child = function* () {
    try {
      yield new extend.Waitable()
    } finally {
      yield* execute(host, 2)
      note(scheduler, yield Promise.resolve('child'))
      note(scheduler, yield scheduler.spawn(function* () {
        yield* execute(host, 1)
        return 'spawned in finally'
      }, { name: 'helper' }))
    }
  }
  const job = scheduler.spawn(function* () {
    try {
      yield child()
    } finally {
      yield
      note(scheduler, 'parent')
    }
  }, { name: 'job' })
  host.run()
  trace.take()
  job.cancel('reason')
  await host.drain()
  assertTrace(trace, `
    0 wake job, resume job
    2 block job on=Promise, round start=0, wake job, resume job, note of=child, release helper
    2 block job on=helper, start helper
    3 finish helper, wake job, resume job, note of=spawned in finally, note of=parent, cancel job error=reason
    3 round start=2`)
})

throwing('the reason is thrown once, even if cancel() is called again during finally', async () => {
  const { host, scheduler } = setup()
  const seen = []
  const job = scheduler.spawn(function* () {
    try {
      yield new extend.Waitable()
    } finally {
      for (let n = 0; n < 3; n++) {
        seen.push(job.cancel('again'))
        try {
          yield
          yield Promise.resolve()
          yield points(2)
        } catch (error) {
          seen.push(error)
        }
      }
    }
  })
  host.run()
  assert.equal([job.cancel('reason'), job.cancel('second')], [true, false])
  await host.drain()
  assert.equal(seen, [false, false, false])
  assert.is(await reasonOf(job), 'reason')
})

throwing('a job that catches the reason continues and is not cancelled', async () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(function* () {
    for (;;) {
      try {
        yield* execute(host, 3)
        host.advance(1)
        return 'result'
      } catch (error) {
        note(scheduler, `caught ${error}`)
      }
    }
  }, { name: 'job', deadline: 50 })
  extend.at(scheduler, 1, () => job.cancel('reason'))
  extend.at(scheduler, 2, () => note(scheduler, job.cancel('again')))
  host.run()
  assertTrace(trace, `
    0 release job, start job
    1 alarm due=1, note of=caught reason
    2 alarm due=2, note of=false
    5 finish job, round start=0`)
  assert.equal([job.state, await job], ['done', 'result'])
})

throwing('a job that throws another error instead of the reason fails and is reported', async () => {
  const { host, scheduler } = setup()
  const error = new RangeError('in finally')
  const job = scheduler.spawn(function* () {
    try {
      yield new extend.Waitable()
    } finally {
      throw error
    }
  })
  host.run()
  job.cancel()
  host.run()
  assert.is(job.state, 'failed')
  assert.equal(host.errors, [error])
})

throwing('a return in finally replaces the reason', async () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(function* () {
    try {
      yield new extend.Waitable()
    } finally {
      return 'result'
    }
  })
  host.run()
  job.cancel()
  host.run()
  assert.equal([job.state, await job], ['done', 'result'])
})

throwing('an iterator without throw is closed on cancellation', () => {
  const { host, scheduler } = setup()
  const seen = []
  const iterator = name => ({
    next() {
      host.advance(1)
      return { value: undefined, done: false }
    },
    return() {
      seen.push(name)
      return {}
    }
  })
  const work = scheduler.spawn(iterator('work'))
  const call = scheduler.spawn(function* () { yield iterator('call') })
  extend.at(scheduler, 2, () => work.cancel())
  extend.at(scheduler, 4, () => call.cancel())
  host.run()
  assert.equal([work.state, call.state, seen], ['cancelled', 'cancelled', ['work', 'call']])
})

throwing('cancel() without a reason throws the AbortError of the platform', async () => {
  const { host, scheduler } = setup()
  for (const cancel of [job => job.cancel(), job => job.cancel(undefined)]) {
    const job = scheduler.spawn(points())
    cancel(job)
    const error = await reasonOf(job)
    assert.instance(error, DOMException)
    assert.equal([error.name, error.message], ['AbortError', 'The job was cancelled'])
  }
  host.run()
})

throwing('any reason is passed on unchanged', async () => {
  const { host, scheduler } = setup()
  for (const reason of [null, 0, '', false, 'text', Symbol.iterator, {}, new RangeError('reason')]) {
    let caught
    const job = scheduler.spawn(function* () {
      try {
        yield new extend.Waitable()
      } catch (error) {
        caught = error
        throw error
      }
    })
    host.run()
    job.cancel(reason)
    host.run()
    assert.is(Object.is(caught, reason), true)
    assert.is(Object.is(await reasonOf(job), reason), true)
    assert.is(job.state, 'cancelled', String(reason))
  }
  assert.equal(host.errors, [])
})

throwing('cancelling a parent leaves its children running', () => {
  const { host, scheduler } = setup()
  let child
  const parent = scheduler.spawn(function* () {
    child = scheduler.spawn(execute(host, 3))
    yield child
  })
  scheduler.spawn(() => parent.cancel(), { release: 1, deadline: 1 })
  host.run()
  assert.equal([parent.state, child.state], ['cancelled', 'done'])
})

throwing('observers, alarms and handlers can cancel jobs', () => {
  const { host, scheduler, trace } = setup({ round: Infinity, onMiss: job => job.cancel('onMiss') })
  scheduler.observe(({ type, job }) => {
    if (type === 'preempt') job.cancel('observer')
  })
  scheduler.spawn(execute(host, 9), { name: 'preempted', deadline: 90 })
  scheduler.spawn(execute(host, 9), { name: 'late', deadline: 3, release: 2 })
  host.run()
  assertTrace(trace, `
    0 release preempted, start preempted
    2 release late, preempt preempted by=late, start late
    6 miss late, cancel late error=onMiss, resume preempted, cancel preempted error=observer, round start=0`)
})

throwing('a job that an observer cancels at its start record is never entered', async () => {
  const works = [function* () { log.push('generator') }, () => { log.push('plain') }, async () => { log.push('async') }]
  const { host, scheduler, log } = setup({ round: Infinity })
  scheduler.observe(({ type, job }) => {
    if (type === 'start') job.cancel('observer')
  })
  const jobs = works.map(work => scheduler.spawn(work))
  await host.drain()
  for (const job of jobs) assert.is(await reasonOf(job), 'observer')
  assert.equal(log, [])
})

for (const event of ['onOverrun', 'onStall']) {
  throwing(`${event} can cancel a preemptible loop that counts its points without suspending`, async () => {
    const { host, scheduler } = setup({ budget: 9, slice: 5, round: 99, [event]: job => job.cancel(event) })
    const { now } = host
    let reads = 0
    host.now = () => {
      host.advance(reads++ === 20 ? 6 : 0.1)
      return now()
    }
    const job = scheduler.spawn(preemptify(function loop(n) { for (let i = 0; i < n; i++); }), { wcet: 6 }, 999)
    host.run()
    assert.is(await reasonOf(job), event)
    assert.ok(job.cost < 9, `it ends after ${job.cost} ms`)
  })
}

for (const depth of [1, 10, 62, 63, 64, 65, 200]) {
  for (const [what, when] of [['right after it was woken', 'wake'], ['when it has been resumed', 'resume']]) {
    throwing(`a message taken ${depth} calls deep is not lost when the job is cancelled ${what}`, async () => {
      const { host, scheduler } = setup({ budget: 7 })
      const channel = new Mailbox()
      const got = []
      function* nested(level) {
        return level === 0 ? yield channel.receive() : yield nested(level - 1)
      }
      const taker = scheduler.spawn(function* () {
        got.push(yield nested(depth))
        yield
        got.push('went on')
      }, { name: 'taker' })
      scheduler.observe(({ type, job }) => {
        if (type === when && job === taker) taker.cancel()
      })
      const sent = scheduler.spawn(function* () { yield channel.send('message') })
      await host.drain()
      assert.is(taker.state, 'cancelled')
      assert.is(sent.state, 'done')
      assert.equal(got, ['message'])
    })
  }
}

throwing('a job cancelled between wake and resume gets its value and at most one point', async () => {
  const { host, scheduler } = setup({ budget: 4096 })
  const channel = new Mailbox()
  let points = 0
  const taker = scheduler.spawn(function* () {
    yield channel.receive()
    for (;;) {
      points++
      yield
    }
  }, { name: 'taker' })
  scheduler.spawn(function* () {
    yield channel.send('message')
    taker.cancel()
  }, { deadline: 5 })
  await host.drain()
  assert.is(taker.state, 'cancelled')
  assert.is(points, 1)
})

throwing.run()

const sections = suite('critical sections')

sections('a cancellation during a section is thrown at the first yield after the section', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(noting(scheduler, 'job', (function* () {
    const gate = extend.section(job, Infinity)
    yield* execute(host, 2)
    yield
    gate.close()
    note(scheduler, 'closed')
    host.advance(1)
    yield
    note(scheduler, 'never')
  })()), { name: 'job' })
  extend.at(scheduler, 1, () => note(scheduler, job.cancel('reason')))
  host.run()
  assertTrace(trace, `
    0 release job, start job
    1 alarm due=1, note of=true
    2 note of=closed
    3 note of=job is thrown reason, cancel job error=reason, round start=0`)
})

sections('the outermost of nested sections delays the cancellation', () => {
  const { host, scheduler, trace } = setup({ budget: 100 })
  const job = scheduler.spawn(noting(scheduler, 'job', (function* () {
    const outer = extend.section(job, Infinity)
    const inner = extend.section(job, Infinity)
    job.cancel('reason')
    yield* points(3)
    inner.close()
    yield* points(3)
    note(scheduler, 'between')
    outer.close()
    note(scheduler, budget.left)
    yield
    note(scheduler, 'never')
  })()), { name: 'job' })
  host.run()
  assertTrace(trace, `
    0 release job, start job, note of=between, note of=0, note of=job is thrown reason
    0 cancel job error=reason, round start=0`)
})

sections('a job that fails inside a section releases the section', () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(function* () {
    extend.section(job, Infinity)
    yield
    throw new RangeError('inside')
  }, { name: 'job', deadline: 50 })
  scheduler.spawn(execute(host, 1), { name: 'other', deadline: 90 })
  host.run()
  assertTrace(trace, `
    0 release job, release other, start job, fail job error=RangeError, start other
    1 finish other, round start=0`)
})

sections.run()

const signals = suite('signals')

signals('a job whose signal is already aborted never starts and adds no listener', async () => {
  const { host, scheduler, trace } = setup()
  const signal = AbortSignal.abort('reason')
  const job = scheduler.spawn(() => note(scheduler, 'never'), { name: 'job', signal })
  assert.equal([job.state, abortListeners(signal), host.posts, host.timers], ['cancelled', 0, 0, []])
  host.run()
  assertTrace(trace, '0 cancel job error=reason')
  assert.is(await reasonOf(job), 'reason')
  assert.is(scheduler.stats().jobs, 1)
  await scheduler.idle()
})

signals('a signal that is aborted later throws its reason into the job', async () => {
  const { host, scheduler } = setup()
  const controller = new AbortController()
  const { signal } = controller
  let caught
  const job = scheduler.spawn(function* () {
    try {
      yield new extend.Waitable()
    } catch (error) {
      caught = error
      throw error
    }
  }, { signal })
  host.run()
  assert.is(abortListeners(signal), 1)
  controller.abort()
  host.run()
  assert.equal([job.state, caught === signal.reason, caught.name], ['cancelled', true, 'AbortError'])
  assert.is(await reasonOf(job), signal.reason)
  assert.is(abortListeners(signal), 0)
})

const ends = {
  'done': scheduler => signal => scheduler.spawn(points(1), { signal }),
  'failed': scheduler => signal => scheduler.spawn(() => { throw new RangeError('failed') }, { signal }),
  'cancelled, not started': scheduler => signal => {
    const job = scheduler.spawn(points(1), { signal })
    job.cancel()
    return job
  },
  'cancelled, pending': scheduler => signal => {
    const job = scheduler.spawn(points(1), { signal, release: 1e6 })
    job.cancel()
    return job
  },
  'cancelled, waiting': scheduler => signal => {
    const job = scheduler.spawn(function* () { yield new extend.Waitable() }, { signal })
    scheduler.spawn(() => job.cancel(), { priority: -1 })
    return job
  },
  'done although thrown the reason': scheduler => signal => {
    const job = scheduler.spawn(function* () {
      try {
        yield new extend.Waitable()
      } catch {
        yield
      }
    }, { signal })
    scheduler.spawn(() => job.cancel(), { priority: -1 })
    return job
  },
  'async': scheduler => signal => scheduler.spawn(async () => { await scheduler.current.yield() }, { signal })
}

for (const [title, spawn] of Object.entries(ends)) {
  signals(`the listener on the signal is removed when the job ends: ${title}`, async () => {
    const { host, scheduler } = setup()
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    const jobs = Array.from({ length: 200 }, () => spawn(scheduler)(controller.signal))
    for (const job of jobs) job.catch(() => {})
    await host.drain()
    const [state] = title.split(/\W/)
    if (['done', 'failed', 'cancelled'].includes(state)) assert.is(jobs[0].state, state)
    assert.is(abortListeners(controller.signal), 0)
    controller.abort()
    await host.drain()
    assert.is(jobs.every(job => job.state === jobs[0].state), true)
  })
}

signals('aborted queued jobs leave the queue and never run', () => {
  const { host, scheduler } = setup()
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  let ran = 0
  const jobs = Array.from({ length: 100 }, (_, n) => scheduler.spawn(() => { ran++ }, n % 2 ? {} : {
    signal: controller.signal
  }))
  controller.abort()
  assert.is(jobs.filter(({ state }) => state === 'cancelled').length, 50)
  host.run()
  assert.is(ran, 50)
})

signals('spawn rejects a signal that is not an AbortSignal', () => {
  const { scheduler } = setup()
  for (const signal of [null, true, {}, { aborted: false }, new AbortController()]) {
    assert.throws(() => scheduler.spawn(() => {}, { signal }), error => {
      return error instanceof TypeError && /^signal must be an AbortSignal, got /.test(error.message)
    })
  }
  assert.is(scheduler.stats().jobs, 0)
})

signals.run()

const deadlines = suite("miss: 'abort'")

deadlines('a missed job rejects with a DeadlineError, which is not reported', async () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(execute(host, 9), { name: 'job', deadline: 3, miss: 'abort' })
  host.run()
  const error = await reasonOf(job)
  assert.instance(error, DeadlineError)
  assert.instance(error, Error)
  assert.equal([error.name, job.state], ['DeadlineError', 'cancelled'])
  assert.equal(host.errors, [])
})

deadlines('the finally block of a missed job may still yield and wait', async () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(function* () {
    try {
      yield* execute(host, 9)
    } finally {
      yield* execute(host, 2)
      yield Promise.resolve()
      host.advance(1)
    }
  }, { name: 'job', deadline: 2, miss: 'abort' })
  await host.drain()
  assertTrace(trace, `
    0 release job, start job
    3 miss job
    5 block job on=Promise, round start=0, wake job, resume job
    6 cancel job error=DeadlineError, round start=5`)
})

deadlines('a job cancelled before its deadline keeps the first reason', async () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(function* () {
    try {
      yield new extend.Waitable()
    } finally {
      yield* execute(host, 5)
    }
  }, { deadline: 3, miss: 'abort' })
  host.run({ until: 1 })
  job.cancel('first')
  host.run()
  assert.equal([await reasonOf(job), job.missed], ['first', true])
})

deadlines.run()

const shim = suite('async jobs')

shim('cancelling an async job that has not started ends it immediately', async () => {
  const { host, scheduler } = setup()
  let ran = false
  const job = scheduler.spawn(async () => { ran = true })
  job.cancel('reason')
  await host.drain()
  assert.equal([ran, job.state, await reasonOf(job)], [false, 'cancelled', 'reason'])
})

shim('a cancelled async job receives the reason once, at its current point', async () => {
  const { host, scheduler, trace } = setup()
  const job = scheduler.spawn(async () => {
    try {
      for (;;) {
        host.advance(1)
        await job.yield()
      }
    } catch (error) {
      note(scheduler, `thrown ${error}`)
      await job.yield()
      note(scheduler, 'goes on')
      throw error
    }
  }, { name: 'job', deadline: 50 })
  scheduler.spawn(() => { job.cancel('reason') }, { name: 'high', deadline: 5, release: 2 })
  await host.drain()
  assertTrace(trace, `
    0 release job, start job
    2 release high, preempt job by=high, start high, finish high, resume job, note of=thrown reason
    2 note of=goes on, cancel job error=reason, round start=0`)
})

shim('an async job that cancels itself receives the reason at its next point', async () => {
  const { host, scheduler } = setup({ budget: 100 })
  const seen = []
  const job = scheduler.spawn(async () => {
    await job.yield()
    job.cancel('reason')
    seen.push('still there')
    try {
      await job.yield()
    } catch (error) {
      seen.push(error)
      throw error
    }
  })
  await host.drain()
  assert.equal([seen, job.state], [['still there', 'reason'], 'cancelled'])
})

shim('an async job that awaits a promise receives the reason once, at its next point', async () => {
  const { host, scheduler } = setup()
  let settle
  const promise = new Promise(resolve => { settle = resolve })
  const seen = []
  const job = scheduler.spawn(async () => {
    await promise
    for (let n = 0; n < 2; n++) await job.yield().catch(error => seen.push(error))
    seen.push(scheduler.current)
  })
  await host.drain()
  assert.is(job.state, 'waiting')
  job.cancel('reason')
  assert.is(job.state, 'waiting')
  let idle = false
  scheduler.idle().then(() => { idle = true })
  await host.drain()
  assert.is(idle, false)
  settle()
  await host.drain()
  assert.equal(seen, ['reason', job])
  assert.equal([job.state, await job, host.errors, idle], ['done', undefined, [], true])
})

shim('an async job that catches the reason continues and ends as done', async () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(async () => {
    try {
      for (;;) {
        host.advance(1)
        await job.yield()
      }
    } catch (error) {
      await job.yield()
      return error
    }
  })
  extend.at(scheduler, 3, () => job.cancel('reason'))
  await host.drain()
  assert.equal([job.state, job.cost, await job], ['done', 3, 'reason'])
})

shim('a plain function that passed a point and returned a job can be cancelled', async () => {
  const { host, scheduler } = setup()
  const child = scheduler.spawn(function* () { yield new extend.Waitable() })
  const job = scheduler.spawn(() => {
    job.yield()
    return child
  })
  await host.drain()
  assert.is(job.state, 'waiting')
  job.cancel('reason')
  child.cancel()
  await host.drain()
  assert.equal([job.state, child.state], ['cancelled', 'cancelled'])
  await scheduler.idle()
})

shim.run()

const accounts = suite('after cancellations')

accounts('after cancellations in every state, idle() resolves and the sums are right', async () => {
  const { host, scheduler, trace } = setup({ slice: 1 })
  let idle = false
  const jobs = []
  const spawn = (...spawned) => jobs[jobs.push(scheduler.spawn(...spawned)) - 1]
  const forever = function* () {
    try {
      for (;;) {
        host.advance(0.25)
        yield
      }
    } finally {
      host.advance(0.5)
      yield
    }
  }
  const waits = function* (waitable) {
    try {
      yield waitable
    } finally {
      yield Promise.resolve()
    }
  }
  spawn(forever)
  spawn(forever, { deadline: 3, miss: 'abort' })
  spawn(forever, { deadline: 4 })
  spawn(waits, {}, new Promise(() => {}))
  spawn(waits, {}, jobs[0])
  spawn(waits, { deadline: 1 }, new extend.Waitable())
  spawn(points(1), { release: 50 })
  spawn(async () => {
    const job = scheduler.current
    for (;;) await job.yield()
  })
  spawn(async () => { await new Promise(() => {}) })
  for (const job of jobs) job.catch(() => {})
  scheduler.idle().then(() => { idle = true })
  extend.at(scheduler, 7, () => {
    const late = spawn(points(5))
    late.cancel()
    for (const job of jobs) job.cancel()
  })
  await host.drain()
  assert.equal(jobs.map(({ state }) => state), Array(10).fill('cancelled'))
  assert.is(idle, true)
  const { jobs: count, busy, misses } = scheduler.stats()
  assert.equal([count, misses], [10, jobs.filter(({ missed }) => missed).length])
  assert.is(jobs.reduce((sum, { cost }) => sum + cost, 0), busy)
  assert.is(trace.records.filter(({ type }) => type === 'cancel').length, 10)
  assert.equal([host.posts, host.timers, host.errors, host.maxPosts], [0, [], [], 1])
  const next = scheduler.spawn(() => 'still works')
  await host.drain()
  assert.is(await next, 'still works')
})

/** Runs a module in its own Node process, on the default host. */
const run = source => new Promise(resolve => {
  const module = new URL('../../rt.mjs', import.meta.url)
  const text = `import { rt, extend, Scheduler } from '${module}'\n${source}`
  execFile(process.execPath, ['--input-type=module', '-e', text], (error, stdout, stderr) => {
    resolve({ code: error ? error.code : 0, stdout: stdout.trim(), stderr: stderr.trim() })
  })
})

accounts('a cancelled job never causes an unhandled rejection, in any state', async () => {
  const { code, stdout, stderr } = await run(`
    const forever = function* () { for (;;) yield }
    const waits = function* () { yield new extend.Waitable() }
    const jobs = [
      rt.spawn(forever), rt.spawn(forever, { release: rt.now() + 1e6 }), rt.spawn(waits),
      rt.spawn(waits), rt.spawn(async () => { for (const job = rt.current;;) await job.yield() }),
      rt.spawn(async () => { await new Promise(resolve => setTimeout(resolve, 10)) }), rt.spawn(forever),
      rt.spawn(forever, { deadline: 1, miss: 'abort' }), rt.spawn(forever, { signal: AbortSignal.abort() })
    ]
    jobs[0].cancel()
    jobs[1].then(() => {}, () => {})
    // Somebody looked at the promise, and does not care.
    jobs[2].finally(() => {}).catch(() => {})
    setTimeout(() => {
      for (const job of jobs) job.cancel(new RangeError('reason'))
      rt.idle().then(() => console.log(jobs.map(job => job.state).join(' ')))
    }, 5)`)
  assert.equal([code, stderr], [0, ''])
  assert.is(stdout, Array(9).fill('cancelled').join(' '))
})

accounts.run()
