// What went wrong in the original implementation of RT.js, and in the schedulers of others: a case for each.
import { execFile } from 'node:child_process'
import { getEventListeners, setMaxListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, Task, defaultHost, edf, fp, rm, seam } from '../rt.mjs'
import { assertTrace, record } from './support/trace.mjs'
import { execute, virtualHost } from './support/virtual-host.mjs'

const LONGEST_DELAY = 2 ** 31 - 1

function setup(options, clock) {
  const host = virtualHost(clock)
  const scheduler = new Scheduler({ host, budget: 1, ...options })
  return { host, scheduler, trace: record(scheduler) }
}

/** The names of the jobs in the order in which they ended. */
const order = ({ records }) => records.flatMap(({ type, job }) => type === 'finish' ? job.name : []).join(' ')

/** Runs a module in a Node process of its own, on the platform's own host; it must end by itself. */
const run = source => new Promise(resolve => {
  const module = new URL('../rt.mjs', import.meta.url)
  const text = `import { rt, seam } from '${module}'\n${source}`
  const options = { timeout: 60000, killSignal: 'SIGKILL' }
  execFile(process.execPath, ['--input-type=module', '-e', text], options, (error, stdout, stderr) => {
    resolve({ code: error ? error.code ?? error.signal : 0, output: (stdout + stderr).trim() })
  })
})

const sections = suite('critical sections')

sections('an arrival inside a section does not block its holder, and goes first after it', () => {
  const { host, scheduler, trace } = setup()
  const holder = scheduler.spawn(function* () {
    const gate = seam.gate(holder, Infinity)
    yield* execute(host, 3, 0.5)
    yield
    gate.close()
    yield* execute(host, 2)
  }, { name: 'holder', deadline: 50 })
  scheduler.spawn(execute(host, 1), { name: 'urgent', deadline: 5, release: 1 })
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
})

sections('arrivals and wakes between the rounds of a section do not block its holder, either', () => {
  const { host, scheduler, trace } = setup({ round: 1, slice: Infinity })
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

sections('sections nest', () => {
  const { host, scheduler, trace } = setup({ slice: Infinity })
  const holder = scheduler.spawn(function* () {
    const outer = seam.gate(holder, Infinity)
    const inner = seam.gate(holder, Infinity)
    yield* execute(host, 2)
    yield
    inner.close()
    yield* execute(host, 2)
    yield
    outer.close()
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
})

sections('they must be closed in the reverse order', () => {
  const { host, scheduler } = setup()
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
  const { host, scheduler, trace } = setup({ slice: Infinity, policy: fp })
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
  assert.is(order(trace), 'at 6 at 5 at 4 holder')
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
  const { host, scheduler, trace } = setup()
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
  assert.is(order(trace), 'job other')
})

sections.run()

const waiting = suite('waiting')

waiting('a rejected promise does not hang its job', async () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(function* () {
    try {
      yield Promise.reject(new RangeError('rejected'))
    } catch (error) {
      return error.message
    }
  })
  await host.drain()
  assert.is(await job, 'rejected')
})

waiting('waits do not add up to more rounds per turn of the event loop', async () => {
  const { host, scheduler } = setup()
  scheduler.spawn(function* () {
    for (let n = 0; n < 50; n++) yield Promise.resolve()
    yield* execute(host, 20)
  })
  for (let n = 0; n < 20; n++) scheduler.spawn(function* () { yield Promise.resolve() })
  await host.drain()
  // 50 waits end a round each, and 20 ms are four more.
  assert.equal([host.turns, host.maxPosts], [54, 1])
})

waiting('while all jobs wait nothing spins', async () => {
  const { host, scheduler } = setup()
  for (let n = 0; n < 10; n++) scheduler.spawn(function* () { yield new Promise(() => {}) })
  await host.drain()
  const { reads } = host
  await host.drain({ until: 1e6 })
  assert.equal([host.turns, host.reads - reads, host.posts, host.timers], [1, 0, 0, []])
})

waiting('thenables that are no promises are awaited', async () => {
  const { host, scheduler } = setup()
  const job = scheduler.spawn(function* () {
    return yield { then(resolve) { queueMicrotask(() => resolve('value')) } }
  })
  await host.drain()
  assert.is(await job, 'value')
})

waiting("one child's end does not wake a parent that waits for another", () => {
  const { host, scheduler, trace } = setup()
  const children = [3, 1, 2].map(ms => {
    return scheduler.spawn(execute(host, ms), { name: `child ${ms}`, deadline: 10 * ms })
  })
  const parent = scheduler.spawn(function* () {
    for (const child of children) yield child
  }, { name: 'parent', deadline: 5 })
  host.run()
  assert.is(parent.state, 'done')
  assertTrace(trace.records.filter(({ job, type }) => job === parent || type === 'finish'), `
    0 release parent
    0 start parent
    0 block parent on=child 3
    3 finish child 3
    3 wake parent
    3 resume parent
    3 block parent on=child 1
    4 finish child 1
    4 wake parent
    4 resume parent
    4 block parent on=child 2
    6 finish child 2
    6 wake parent
    6 miss parent
    6 resume parent
    6 finish parent`)
})

waiting.run()

const ends = suite('yields and ends')

ends('a job that throws ends alone', () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(function* () {
    yield
    throw new RangeError('failed')
  }, { name: 'failing' })
  scheduler.spawn(() => { throw new RangeError('at once') }, { name: 'failing at once' })
  scheduler.spawn(execute(host, 3), { name: 'other' })
  host.run()
  assert.is(order(trace), 'other')
  assert.equal(host.errors.map(({ message }) => message), ['failed', 'at once'])
  assert.is(host.turns, 1)
})

ends('yield 0 does not end a job', async () => {
  const { host, scheduler } = setup()
  for (const value of [0, false, '', null]) {
    const job = scheduler.spawn(function* () {
      let error
      try {
        yield value
      } catch (caught) {
        error = caught
      }
      yield
      return [error.constructor]
    })
    host.run()
    assert.equal(await job, [TypeError])
  }
})

ends('a result of 0 is not lost', async () => {
  const { host, scheduler } = setup()
  for (const value of [0, false, '', null, NaN]) {
    const jobs = [
      scheduler.spawn(() => value),
      scheduler.spawn(function* () {
        yield
        return value
      }),
      scheduler.spawn(function* () {
        return yield (function* () { return value })()
      }),
      scheduler.spawn(async () => value)
    ]
    await host.drain()
    assert.equal(await Promise.all(jobs), Array(4).fill(value))
  }
})

ends('spawning does not resume a paused scheduler', () => {
  const { host, scheduler, trace } = setup()
  scheduler.spawn(execute(host, 3), { name: 'before' })
  host.run({ turns: 0 })
  scheduler.pause()
  scheduler.spawn(execute(host, 1), { name: 'during' })
  new Task(() => {}, { name: 'released', scheduler }).release()
  host.run({ until: 100 })
  assert.is(order(trace), '')
  scheduler.resume()
  host.run()
  assert.is(order(trace), 'during released before')
})

ends.run()

const alarms = suite('alarms')

/** Sets alarms and notes, with each, how long after its time it fired. */
function lateness({ host, scheduler }, times) {
  const late = {}
  for (const time of times) seam.at(scheduler, time, () => { late[time] = host.time - time })
  return late
}

alarms('an alarm never fires early, although timers of the host do', () => {
  for (const early of [0.125, 1, 5]) {
    const made = setup({}, { early })
    const times = [0.5, 3, 10, 10.25, 99.75]
    const late = lateness(made, times)
    made.host.run()
    assert.equal(late, Object.fromEntries(times.map(time => [time, 0])), `timers that come ${early} ms early`)
  }
})

alarms('an alarm never fires early, although the clock is coarse', () => {
  const made = setup({}, { resolution: 1, start: 0.6 })
  const late = lateness(made, [2, 2.5, 7.1])
  made.host.run({ until: 20 })
  for (const [time, ms] of Object.entries(late)) assert.is(ms >= 0 && ms <= 1, true, `${ms} after ${time}`)
  assert.is(Object.keys(late).length, 3)
})

alarms('delays longer than a timer can keep are waited for in full', () => {
  const made = setup()
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

alarms("the platform's host asks its timer for no longer delay than it keeps", () => {
  const { setTimeout } = globalThis
  const delays = []
  globalThis.setTimeout = (fn, ms) => {
    delays.push(ms)
    return setTimeout(() => {}, 0)
  }
  try {
    for (const ms of [LONGEST_DELAY, LONGEST_DELAY + 1, 1e15, 2.25, 0, -5]) {
      defaultHost().after(ms, () => {}, { ref: false })()
    }
  } finally {
    globalThis.setTimeout = setTimeout
  }
  assert.equal(delays, [LONGEST_DELAY, LONGEST_DELAY, LONGEST_DELAY, 3, 0, 0])
})

alarms('an alarm can be cancelled, and its timer with it', () => {
  const { host, scheduler, trace } = setup()
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
  const { host, scheduler } = setup()
  const alarm = seam.at(scheduler, 10, () => {})
  host.run()
  assert.is(alarm.cancel(), false)
})

alarms('times and delays are not confused on a host that has been up for long', () => {
  const up = 1e9
  const { host, scheduler, trace } = setup({}, { start: up })
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
  const { host, scheduler } = setup()
  for (let n = 100; n > 0; n--) {
    seam.at(scheduler, n, () => {})
    assert.is(host.timers.length, 1)
  }
  host.run()
  assert.is(host.turns, 100)
})

alarms.run()

const policies = suite('policies')

policies('EDF: the earliest deadline runs first, in whatever order and number they come', () => {
  const deadlines = [9000, 5000, 7000, 1000, 8000, 2000, 6000, 3000, 4000]
  for (let shift = 0; shift < deadlines.length; shift++) {
    const { host, scheduler, trace } = setup({ policy: edf, round: Infinity })
    const shifted = [...deadlines.slice(shift), ...deadlines.slice(0, shift)]
    for (const deadline of shifted) scheduler.spawn(execute(host, 2), { name: String(deadline), deadline })
    host.run()
    assert.is(order(trace), [...deadlines].sort((a, b) => a - b).join(' '))
  }
})

policies('FP: any finite priority is one, negative and fractional ones too', () => {
  for (const policy of [fp, rm]) {
    const { host, scheduler, trace } = setup({ policy, round: Infinity })
    for (const priority of [0, -1, 1.5, 1, -1e9, 1e300, 0.5, -0.5, Number.MIN_VALUE]) {
      scheduler.spawn(execute(host, 2), { name: String(priority), priority })
    }
    host.run()
    assert.is(order(trace), '1e+300 1.5 1 0.5 5e-324 0 -0.5 -1 -1000000000')
  }
})

policies('FP: no level is scanned: the distance of two priorities costs nothing', () => {
  const comparisons = distance => {
    let count = 0
    const compare = (a, b) => {
      count++
      return b.priority - a.priority
    }
    const { host, scheduler } = setup({ policy: { name: 'counting', compare, level: () => 0 } })
    for (let n = 0; n < 10; n++) scheduler.spawn(execute(host, 3), { priority: n * distance })
    host.run()
    return count
  }
  assert.is(comparisons(1), comparisons(1e12))
})

policies('equals take turns', () => {
  for (const policy of [edf, fp, rm]) {
    const { host, scheduler, trace } = setup({ policy, slice: 1, round: Infinity })
    for (const name of ['a', 'b', 'c']) scheduler.spawn(execute(host, 2, 0.5), { name })
    host.run()
    assertTrace(trace.records.filter(({ type }) => type === 'start' || type === 'resume'), `
      0 start a
      1 start b
      2 start c
      3 resume a
      4 resume b
      5 resume c`)
  }
})

policies('EDF: no deadline is the latest of all', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  scheduler.spawn(execute(host, 1), { name: 'none' })
  scheduler.spawn(execute(host, 1), { name: 'Infinity', deadline: Infinity })
  scheduler.spawn(execute(host, 1), { name: 'a year', deadline: 3e10 })
  scheduler.spawn(execute(host, 1), { name: 'soon', deadline: 5 })
  host.run()
  assert.is(order(trace), 'soon a year none Infinity')
})

policies('a deadline counts from the release, not from when the task or the job was made', () => {
  const { host, scheduler, trace } = setup({ round: Infinity })
  const task = new Task(function* () { yield* execute(host, 1) }, { name: 'task', deadline: 10, scheduler })
  const pending = scheduler.spawn(execute(host, 1), { name: 'pending', deadline: 10, release: 100 })
  host.run({ until: 95 })
  const job = task.release()
  assert.equal([job.release, job.absoluteDeadline], [95, 105])
  assert.equal([pending.release, pending.absoluteDeadline], [100, 110])
  const again = task.release()
  assert.is(again.absoluteDeadline, 105)
  host.run({ until: 200 })
  assert.is(order(trace), 'task task pending')
  assert.is(scheduler.stats().misses, 0)
})

policies('time that a round takes without running a job is accounted for', () => {
  const { host, scheduler } = setup()
  seam.at(scheduler, 3, () => host.advance(2))
  scheduler.spawn(() => {}, { release: 10 }).cancel()
  host.run()
  const { overhead, busy } = scheduler.stats()
  assert.equal([overhead, busy], [0, 2])

  const early = setup({}, { read: 0.5 })
  early.scheduler.spawn(() => early.scheduler.pause())
  early.host.run()
  const { overhead: rest, busy: work, longestRound } = early.scheduler.stats()
  assert.is(rest + work, longestRound)
  assert.is(rest > 0, true)
})

policies.run()

const peers = suite('defects of peers')

peers('jobs that never wait do not starve timers', async () => {
  const { host, scheduler } = setup({ budget: 'auto' })
  const fired = []
  for (const ms of [1, 7, 12]) host.after(ms, () => { fired.push([ms, host.time]) })
  scheduler.spawn(function* () {
    while (fired.length < 3) {
      host.advance(0.25)
      yield
    }
  })
  await host.drain()
  assert.is(fired.every(([ms, time]) => time - ms <= 5.25), true, JSON.stringify(fired))
})

peers('continuations do not starve timers', async () => {
  const { host, scheduler } = setup({ budget: 'auto' })
  const fired = []
  for (const ms of [1, 7, 12]) host.after(ms, () => { fired.push([ms, host.time]) })
  const loop = async () => {
    while (fired.length < 3) {
      host.advance(0.25)
      await scheduler.yield()
    }
    return 'ended'
  }
  const loops = [loop(), loop(), scheduler.spawn(loop)]
  await host.drain()
  assert.equal(await Promise.all(loops), Array(3).fill('ended'))
  assert.is(fired.every(([ms, time]) => time - ms <= 6), true, JSON.stringify(fired))
})

const busy = {
  'a generator': `rt.spawn(function* () { while (!fired) yield })`,
  'an async job': `rt.spawn(async job => { while (!fired) await job.yield() })`,
  'a continuation': `;(async () => { while (!fired) await rt.yield() })()`,
  'jobs that spawn jobs': `const again = () => { if (!fired) rt.spawn(again) }
    again()`
}

for (const [title, work] of Object.entries(busy)) {
  peers(`in Node timers fire while ${title} keeps the thread busy`, async () => {
    const { code, output } = await run(`
      let fired = 0
      setTimeout(() => { fired++ }, 5)
      ${work}
      process.on('exit', () => console.log(fired))`)
    assert.equal([code, output], [0, '1'])
  })
}

peers('yielding with a signal leaves no listener behind', async () => {
  const { host, scheduler } = setup()
  const { signal } = new AbortController()
  setMaxListeners(0, signal)
  let most = 0
  const loop = (async () => {
    for (let n = 0; n < 200; n++) {
      await scheduler.yield({ signal })
      most = Math.max(most, getEventListeners(signal, 'abort').length)
    }
  })()
  await host.drain()
  await loop
  assert.equal([getEventListeners(signal, 'abort').length, most <= 1], [0, true])
})

peers('a task that is aborted while it is queued leaves the queue', async () => {
  const { host, scheduler } = setup()
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  let ran = 0
  const { signal } = controller
  const tasks = Array.from({ length: 50 }, () => scheduler.postTask(() => { ran++ }, { signal }))
  const last = scheduler.postTask(() => 'last')
  controller.abort('reason')
  assert.is(tasks.every(({ state }) => state === 'cancelled'), true)
  let idle = false
  scheduler.idle().then(() => { idle = true })
  await host.drain()
  assert.equal([ran, await last, idle, host.turns], [0, 'last', true, 1])
})

const exits = {
  'is only imported': '',
  'has run its jobs': `await rt.spawn(function* () { for (let n = 0; n < 1000; n++) yield })`,
  'has run async jobs': `await rt.spawn(async job => { for (let n = 0; n < 1000; n++) await job.yield() })`,
  'has posted tasks': `await rt.postTask(() => {}, { delay: 1 })`,
  'has jobs that wait for ever': `rt.spawn(function* () { yield new Promise(() => {}) })
    rt.spawn(function* () { yield new seam.Waitable() }, { deadline: 1e6 })
    rt.spawn(async () => { await new Promise(() => {}) })`,
  'has an alarm that asks for no reference': `seam.at(rt, rt.now() + 1e6, () => {}, { ref: false })`,
  'is paused': `rt.spawn(() => {}, { release: rt.now() + 1e6 })
    rt.pause()
    rt.spawn(() => {})`,
  'has cancelled what was pending': `rt.spawn(() => {}, { release: rt.now() + 1e6 }).cancel()
    seam.at(rt, rt.now() + 1e6, () => {}).cancel()`
}

for (const [title, source] of Object.entries(exits)) {
  peers(`Node is not kept alive by a scheduler that ${title}`, async () => {
    assert.equal(await run(source), { code: 0, output: '' })
  })
}

peers('Node is kept alive until what is pending has happened', async () => {
  const { code, output } = await run(`
    const seen = []
    rt.spawn(() => seen.push('released'), { release: rt.now() + 10 })
    seam.at(rt, rt.now() + 20, () => seen.push('fired'))
    rt.spawn(function* () { yield new seam.Waitable() }, { deadline: 30, miss: 'abort' }).catch(error => {
      seen.push(error.name)
    })
    process.on('exit', () => console.log(seen.sort().join(' ')))`)
  assert.equal([code, output], [0, 'DeadlineError fired released'])
})

peers.run()
