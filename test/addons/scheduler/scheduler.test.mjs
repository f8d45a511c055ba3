import { getEventListeners, setMaxListeners } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Scheduler, edf } from '../../../rt.mjs'
import { TaskController, schedulerOf } from '../../../addons/scheduler.mjs'
import { platformHost, PLATFORMS } from '../../support/platform-host.mjs'
import { CASES, isPossible, ourLog } from '../../support/scheduler-cases.mjs'
import { assertTrace } from '../../support/trace.mjs'
import { execute, virtualHost } from '../../support/virtual-host.mjs'
import { abortListeners, deferred, exactWorld, rejection } from '../../support/world.mjs'

/** Whether the engine reveals the job of a microtask; see context.test.mjs. */
const isKnown = globalThis.AsyncContext !== undefined
const engine = isKnown ? 'AsyncContext' : 'no engine'

/** A world whose `core` is a Scheduler of rt.mjs, and whose `scheduler` is the platform's API for it. */
function world(options) {
  const { scheduler, ...rest } = exactWorld(options)
  return { ...rest, core: scheduler, scheduler: schedulerOf(scheduler) }
}

// ------------------------------------------------------------------------------- Prioritized Task Scheduling

const PRIORITIES = ['user-blocking', 'user-visible', 'background']

/** The number of abort and prioritychange listeners of a signal. @param {AbortSignal} signal */
const listenersOf = signal => getEventListeners(signal, 'abort').length + getEventListeners(signal, 'prioritychange').length

const tasks = suite('postTask')

tasks('postTask resolves with the result of a callback, a promise, a thenable or a job', async () => {
  const { host, scheduler } = world()
  const results = Promise.all([
    scheduler.postTask(() => 1),
    scheduler.postTask(async () => 2),
    scheduler.postTask(() => Promise.resolve(3)),
    scheduler.postTask(() => ({ then: done => done(4) })),
    scheduler.postTask(() => scheduler.postTask(() => 5)),
    scheduler.postTask(() => {})
  ])
  await host.drain()
  assert.equal(await results, [1, 2, 3, 4, 5, undefined])
})

tasks('postTask rejects with the error of the callback or of its promise', async () => {
  const { host, scheduler } = world()
  const errors = Promise.all([
    rejection(scheduler.postTask(() => { throw new Error('thrown') })),
    rejection(scheduler.postTask(async () => { throw new Error('async') })),
    rejection(scheduler.postTask(() => Promise.reject(new Error('returned'))))
  ])
  await host.drain()
  assert.equal((await errors).map(({ message }) => message), ['thrown', 'async', 'returned'])
})

tasks('postTask calls the callback later, without arguments', async () => {
  const { host, scheduler, log } = world()
  scheduler.postTask((...args) => log.push(args))
  scheduler.postTask(async (...args) => log.push(args))
  assert.equal(log, [])
  await host.drain()
  assert.equal(log, [[], []])
})

tasks('postTask drives a generator function, with preemption points', async () => {
  const { host, scheduler, log } = world()
  const result = scheduler.postTask(function* () {
    log.push('one')
    scheduler.postTask(() => log.push('blocking'), { priority: 'user-blocking' })
    yield
    log.push('two')
    return yield Promise.resolve('result')
  })
  await host.drain()
  assert.is(await result, 'result')
  assert.equal(log, ['one', 'blocking', 'two'])
})

tasks('postTask returns a native promise; the job has the name and priority of the task', async () => {
  const { host, core, scheduler, log } = world()
  const promise = scheduler.postTask(function encode() {
    const { name, priority, state } = core.current
    log.push(name, priority, state)
  }, { priority: 'background' })
  assert.is(Object.getPrototypeOf(promise), Promise.prototype)
  assert.is(Object.getPrototypeOf(scheduler.postTask(() => {})), Promise.prototype)
  await host.drain()
  assert.equal(log, ['encode', -1, 'running'])
})

tasks('tasks take any finite priority; the names are 1, 0 and -1', async () => {
  const { host, scheduler, log } = world()
  const order = [0, 'background', 1, 'user-visible', -1, 2, 'user-blocking', -2]
  for (const priority of order) scheduler.postTask(() => log.push(priority), { priority })
  await host.drain()
  assert.equal(log, [2, 1, 'user-blocking', 0, 'user-visible', 'background', -1, -2])
})

tasks('tasks keep their order under edf, and a deadline outranks every priority', async () => {
  const { host, scheduler, log } = world({ policy: edf })
  for (const priority of [...PRIORITIES].reverse()) scheduler.postTask(() => log.push(priority), { priority })
  scheduler.postTask(() => log.push('deadline'), { priority: 'background', deadline: 50 })
  await host.drain()
  assert.equal(log, ['deadline', ...PRIORITIES])
})

tasks('a task with a delay starts when the delay ends; a delay of 0 has no effect', async () => {
  const { host, scheduler, log } = world()
  const post = delay => scheduler.postTask(() => log.push(`${delay} at ${host.time}`), { delay })
  for (const delay of [20, 5, 0, 2.5]) post(delay)
  await host.drain()
  assert.equal(log, ['0 at 0', '2.5 at 2.5', '5 at 5', '20 at 20'])
})

tasks('tasks with ended delays run by priority, then in the order of these ends', async () => {
  const { host, scheduler, log } = world()
  const post = (name, delay, priority) => scheduler.postTask(() => log.push(name), { delay, priority })
  post('bg 5', 5, 'background')
  post('uv 9', 9)
  post('uv 8', 8)
  post('uv 8 again', 8)
  post('ub 10', 10, 'user-blocking')
  post('ub 11', 11, 'user-blocking')
  scheduler.postTask(() => host.advance(10.5)) // all but the last delay end during this one
  scheduler.postTask(() => log.push('uv 0'))
  await host.drain()
  assert.equal(log, ['ub 10', 'uv 0', 'uv 8', 'uv 8 again', 'uv 9', 'bg 5', 'ub 11'])
})

tasks('a task that returns an iterator resolves with it; a generator is driven', async () => {
  const { host, scheduler } = world()
  const iterator = new Map([['a', 1]]).values()
  const own = { next: () => ({ done: true, value: 'own' }) }
  const results = Promise.all([
    scheduler.postTask(() => iterator),
    scheduler.postTask(() => own),
    scheduler.postTask(async () => iterator),
    scheduler.postTask(() => (function* () { yield; return 'driven' })())
  ])
  await host.drain()
  const [first, second, third, fourth] = await results
  assert.is(first, iterator)
  assert.is(second, own)
  assert.is(third, iterator)
  assert.equal([[...first], fourth], [[1], 'driven'])
})

tasks('code that awaits a task runs before the next task', async () => {
  for (const round of [1, 5, Infinity]) {
    const { host, scheduler, log } = world({ round })
    const post = (name, priority) => scheduler.postTask(() => {
      host.advance(0.4)
      log.push(name)
    }, { priority })
    const deep = async (n, name) => n > 0 ? deep(n - 1, name) : await post(name)
    post('t1').then(() => log.push('m1'))
    deep(0, 't2').then(() => log.push('m2'))
    const third = (async () => {
      await scheduler.postTask(async () => { log.push('t3') })
      log.push('m3')
    })()
    post('t4')
    await host.drain()
    await third
    assert.is(log.join(' '), 't1 m1 t2 m2 t3 m3 t4', `rounds of ${round} ms`)
  }
})

tasks('urgent tasks awaited one after the other do not wait for background tasks', async () => {
  for (const kind of [() => {}, async () => {}]) {
    const { host, scheduler } = world({ round: 5 })
    let background = 0
    for (let i = 0; i < 100; i++) {
      scheduler.postTask(() => {
        host.advance(1)
        background++
      }, { priority: 'background' })
    }
    const urgent = (async () => {
      for (let i = 0; i < 20; i++) await scheduler.postTask(kind, { priority: 'user-blocking' })
      return background
    })()
    await host.drain()
    assert.is(await urgent, 0)
    assert.is(background, 100)
  }
})

tasks('ended tasks do not keep Node alive', async () => {
  const { host, scheduler } = world()
  scheduler.postTask(() => {}, { delay: 10, deadline: 1000 })
  assert.equal(host.timers, [{ time: 10, ref: true }])
  assert.is(await host.drain(), 10)
  assert.equal(host.timers, [])
})

tasks('postTask rejects invalid arguments at the call, and registers nothing', () => {
  const { host, core, scheduler } = world()
  for (const fn of [undefined, null, {}, 'x', 1]) {
    assert.throws(() => scheduler.postTask(fn), /fn must be a function, got/)
  }
  const refused = (options, pattern, kind) => {
    assert.throws(() => scheduler.postTask(() => {}, options), error => {
      return error instanceof kind && pattern.test(error.message)
    }, `${JSON.stringify(options)}`)
  }
  refused(5, /options must be an object, got 5/, TypeError)
  refused({ priority: 'urgent' }, /priority must be .*got "urgent"/, TypeError)
  refused({ priority: '' }, /priority must be .*got ""/, TypeError)
  refused({ priority: 'toString' }, /priority must be .*got "toString"/, TypeError)
  refused({ priority: NaN }, /priority must be a finite number, got NaN/, RangeError)
  refused({ delay: -1 }, /delay must be a finite number >= 0, got -1/, RangeError)
  refused({ delay: NaN }, /delay must be a finite number >= 0, got NaN/, RangeError)
  refused({ delay: Infinity }, /delay must be a finite number >= 0, got Infinity/, RangeError)
  refused({ delay: '5' }, /delay must be a finite number >= 0, got "5"/, TypeError)
  refused({ deadline: 0 }, /deadline must be a number > 0, got 0/, RangeError)
  refused({ signal: {} }, /signal must be an AbortSignal, got an object/, TypeError)
  refused({ signal: 'inherit' }, /signal must be an AbortSignal, got "inherit"/, TypeError)
  assert.throws(() => scheduler.postTask(async function* () {}), /async/)
  assert.is(core.stats().jobs, 0)
  assert.equal([host.posts, host.timers], [0, []])
})

tasks.run()

// --------------------------------------------------------------------------------------------------- signals

const signals = suite('postTask with a signal')

signals('a signal that was aborted before rejects the task, and prevents the callback', async () => {
  const { host, scheduler, log } = world()
  const post = options => scheduler.postTask(() => log.push('called'), options)
  const standard = await rejection(post({ signal: AbortSignal.abort() }))
  assert.equal([standard instanceof DOMException, standard.name], [true, 'AbortError'])
  const reason = new Error('why')
  assert.is(await rejection(post({ signal: AbortSignal.abort(reason), delay: 10 })), reason)
  assert.equal([host.posts, host.timers, log], [0, [], []])
  await host.drain()
  assert.equal(log, [])
})

signals('an abort removes a queued task from the queue immediately', async () => {
  const { host, scheduler, log, trace } = world()
  const controller = new TaskController()
  const { signal } = controller
  const first = rejection(scheduler.postTask(() => log.push('first'), { signal }))
  const second = rejection(scheduler.postTask(() => log.push('second'), { signal }))
  scheduler.postTask(() => log.push('third'))
  controller.abort()
  assert.equal([(await first).name, (await second).name], ['AbortError', 'AbortError'])
  await host.drain()
  assert.equal(log, ['third'])
  assertTrace(trace, `
    0 release job 1, release job 2, release job 3, cancel job 1 error=AbortError, cancel job 2 error=AbortError
    0 start job 3, finish job 3`)
})

signals('an abort by another task or during the delay prevents the callback', async () => {
  const { host, scheduler, log } = world()
  const controller = new TaskController()
  const { signal } = controller
  const queued = rejection(scheduler.postTask(() => log.push('queued'), { signal }))
  const delayed = rejection(scheduler.postTask(() => log.push('delayed'), { signal, delay: 50 }))
  scheduler.postTask(() => controller.abort('by a task'), { priority: 'user-blocking' })
  assert.is(await host.drain(), 0)
  assert.equal([await queued, await delayed, log], ['by a task', 'by a task', []])
})

signals('an abort within the callback rejects the task, even if the callback ends', async () => {
  const { host, scheduler, log } = world()
  const sync = new TaskController()
  const callback = rejection(scheduler.postTask(() => {
    sync.abort()
    log.push('on')
    return 'result'
  }, { signal: sync.signal }))
  const begun = new TaskController()
  const caught = rejection(scheduler.postTask(async () => {
    begun.abort('at first')
    for (let i = 0; i < 2; i++) {
      try {
        await scheduler.yield()
      } catch (error) {
        log.push(error)
      }
    }
    return 'result'
  }, { signal: begun.signal }))
  await host.drain()
  assert.equal([(await callback).name, await caught, log], ['AbortError', 'at first', ['on', 'at first', 'at first']])
})

signals('after an abort, the promise of a callback still counts, and its yields reject', async () => {
  const { host, core, scheduler, log } = world()
  const controllers = Array.from({ length: 4 }, () => new TaskController())
  const post = (i, fn) => scheduler.postTask(fn, { signal: controllers[i].signal })
  const sleep = ms => new Promise(resolve => host.after(ms, resolve))
  const results = [
    post(0, async () => {
      await sleep(5)
      controllers[0].abort('from within')
      return 'result'
    }),
    post(1, async () => {
      const job = core.current
      await sleep(9)
      for (let i = 0; i < 2; i++) await job.yield().catch(error => log.push(error))
      return 'caught'
    }),
    post(3, () => scheduler.postTask(() => 'adopted', { delay: 9 })),
    rejection(post(2, async () => { for (;; host.advance(1)) await scheduler.yield() }))
  ]
  const abort = () => controllers.forEach(controller => controller.abort('stop'))
  scheduler.postTask(abort, { delay: 6, priority: 'user-blocking' })
  await host.drain()
  assert.equal(await Promise.all(results), ['result', 'caught', 'adopted', 'stop'])
  assert.equal(log, ['stop', 'stop'])
  assert.equal(host.errors, [])
})

signals('a task that aborts itself keeps this outcome when its promise rejects later', async () => {
  const { host, core, scheduler } = world()
  const controller = new TaskController()
  const later = deferred()
  let job = null
  const outcome = rejection(scheduler.postTask(async () => {
    job = core.current
    controller.abort('self')
    await later.promise
    throw new Error('late error')
  }, { signal: controller.signal }))
  await host.drain()
  later.resolve()
  await later.promise
  const seen = core.spawn(function* () {
    try {
      return yield job
    } catch (reason) {
      return reason
    }
  })
  await host.drain()
  assert.equal([await outcome, await seen], ['self', 'self'])
})

signals('an abort after the end has no effect, and no listener remains', async () => {
  const { host, scheduler } = world()
  const controller = new TaskController()
  const { signal } = controller
  const before = listenersOf(signal)
  const done = scheduler.postTask(() => 'result', { signal })
  const delayed = scheduler.postTask(() => 'later', { signal, delay: 5 })
  assert.is(listenersOf(signal), before + 2) // for aborts and for changes of priority
  await host.drain()
  assert.is(listenersOf(signal), before)
  controller.abort()
  controller.setPriority('background')
  assert.equal([await done, await delayed], ['result', 'later'])
})

signals('a signal of many tasks has one listener of each kind, and aborts all tasks', async () => {
  const { host, scheduler } = world()
  const controller = new TaskController()
  const before = listenersOf(controller.signal)
  const warnings = []
  const warn = warning => warnings.push(warning.name)
  process.on('warning', warn)
  const ended = Array.from({ length: 50 }, () => rejection(scheduler.postTask(() => {}, { signal: controller.signal })))
  assert.is(listenersOf(controller.signal), before + 2)
  await host.drain({ turns: 0 })
  controller.abort('all')
  assert.equal(new Set(await Promise.all(ended)), new Set(['all']))
  process.off('warning', warn)
  assert.equal([warnings, listenersOf(controller.signal)], [[], before])
})

const controllerPriority = /^priority must be 'user-blocking' or 'user-visible' or 'background', got /

signals('a TaskController accepts only the three priorities of the platform', () => {
  for (const options of [undefined, null, {}, { priority: undefined }]) {
    assert.is(new TaskController(options).signal.priority, 'user-visible')
  }
  const controller = new TaskController()
  for (const [priority, got] of [[0, '0'], [1, '1'], [null, 'null'], ['urgent', '"urgent"'], ['toString', '"toString"']]) {
    const refused = error => error instanceof TypeError && controllerPriority.test(error.message) && error.message.endsWith(`, got ${got}`)
    assert.throws(() => new TaskController({ priority }), refused)
    assert.throws(() => controller.setPriority(priority), refused)
  }
  assert.is(controller.signal.priority, 'user-visible')
  assert.throws(() => new TaskController(7), /^options must be an object, got 7$/)
  assert.throws(() => new TaskController({ prority: 'background' }), /^unknown option 'prority'; known are priority$/)
})

signals('a change of priority during one task reaches another task of the signal', async () => {
  const { host, scheduler, trace } = world()
  const controller = new TaskController({ priority: 'user-blocking' })
  scheduler.postTask(async function first() {
    host.advance(1)
    controller.setPriority('background')
    host.advance(1)
    await scheduler.yield()
    host.advance(1)
  }, { signal: controller.signal })
  scheduler.postTask(function second() { host.advance(1) }, { signal: controller.signal })
  scheduler.postTask(function visible() { host.advance(1) })
  await host.drain()
  assertTrace(trace, `
    0 release first, release second, release visible, start first
    2 preempt first by=visible, start visible
    3 finish visible, resume first
    4 finish first, start second
    5 finish second`)
})

signals('a yield with a signal leaves no listener behind', async () => {
  const { host, scheduler } = world({ except: [] })
  const { signal } = new AbortController()
  setMaxListeners(0, signal)
  let most = 0
  const loop = (async () => {
    for (let n = 0; n < 200; n++) {
      await scheduler.yield({ signal })
      most = Math.max(most, abortListeners(signal))
    }
  })()
  await host.drain()
  await loop
  assert.equal([abortListeners(signal), most <= 1], [0, true])
})

signals('a task that is aborted while it is queued leaves the queue', async () => {
  const { host, core, scheduler } = world({ except: [] })
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  let ran = 0
  const { signal } = controller
  const tasks = Array.from({ length: 50 }, () => scheduler.postTask(() => { ran++ }, { signal }))
  const last = scheduler.postTask(() => 'last')
  controller.abort('reason')
  for (const task of tasks) assert.is(await rejection(task), 'reason')
  let idle = false
  core.idle().then(() => { idle = true })
  await host.drain()
  assert.equal([ran, await last, idle, host.turns], [0, 'last', true, 1])
})

signals.run()

// -------------------------------------------------------------------------------------------- yield in tasks

const continuations = suite('yield in tasks')

/** A task that yields three times, then two tasks of each priority, posted in this order. */
function postAround({ scheduler, log }, options, pause = () => scheduler.yield()) {
  scheduler.postTask(async () => {
    log.push('y0')
    for (let i = 1; i <= 3; i++) {
      await pause()
      log.push(`y${i}`)
    }
  }, options)
  for (const [name, priority] of [['ub', 'user-blocking'], ['uv', 'user-visible'], ['bg', 'background']]) {
    for (const i of [1, 2]) scheduler.postTask(() => log.push(`${name}${i}`), { priority })
  }
}

const ORDERS = {
  'user-blocking': 'y0 y1 y2 y3 ub1 ub2 uv1 uv2 bg1 bg2',
  'user-visible': 'ub1 ub2 y0 y1 y2 y3 uv1 uv2 bg1 bg2',
  background: 'ub1 ub2 uv1 uv2 y0 y1 y2 y3 bg1 bg2'
}

continuations('a continuation inherits the priority of its task, and precedes equal tasks', async () => {
  for (const budget of [1, 2, 'auto']) {
    for (const priority of PRIORITIES) {
      for (const options of [{ priority }, { signal: new TaskController({ priority }).signal }]) {
        const run = world({ budget })
        postAround(run, options)
        await run.host.drain()
        assert.is(run.log.join(' '), ORDERS[priority])
      }
    }
    const run = world({ budget })
    postAround(run)
    await run.host.drain()
    assert.is(run.log.join(' '), ORDERS['user-visible'])
  }
})

continuations('continuations precede tasks that have not started, across slices and rounds', async () => {
  for (const [slice, round, budget] of [[1, 5, 1], [1, 5, 'auto'], [0.1, 1, 3], [3, 2, 1], [Infinity, Infinity, 8]]) {
    for (const step of [0, 0.4, 1, 3, 7]) {
      const { host, scheduler, log } = world({ slice, round, budget })
      for (const name of ['a', 'b']) {
        scheduler.postTask(async () => {
          for (let i = 1; i <= 3; i++) {
            host.advance(step)
            log.push(name + i)
            await scheduler.yield()
          }
        })
      }
      scheduler.postTask(() => log.push('c'))
      await host.drain()
      assert.is(log.join(' '), 'a1 a2 a3 b1 b2 b3 c', `${step} ms at a time, slice ${slice}, round ${round}`)
    }
  }
})

continuations('continuations rotate with each other, and with jobs of equal rank', async () => {
  const { host, core, scheduler, log } = world({ slice: 2 })
  const step = name => {
    host.advance(1)
    log.push(name)
  }
  const loop = name => async () => { for (let i = 1; i <= 3; i++, await scheduler.yield()) step(name + i) }
  scheduler.postTask(async () => {
    scheduler.postTask(loop('a'))
    await scheduler.yield()
    loop('b')()
    await scheduler.yield()
  })
  await host.drain()
  assert.is(log.splice(0).join(' '), 'b1 b2 b3 a1 a2 a3')

  scheduler.postTask(loop('a'))
  core.spawn(function* () { for (let i = 1; i <= 3; i++, yield) step(`g${i}`) })
  await host.drain()
  assert.is(log.join(' '), 'a1 a2 g1 g2 a3 g3')
})

continuations('a forgotten continuation does not block the generator that its task returns', async () => {
  const { host, core, scheduler, log } = world()
  let job
  const task = scheduler.postTask(() => {
    job = core.current
    scheduler.yield().catch(() => {})
    return (function* () {
      try {
        yield new Promise(() => {})
      } finally {
        log.push('finally')
      }
    })()
  })
  const reason = rejection(task)
  scheduler.postTask(() => job.cancel('stop'), { delay: 5 })
  await host.drain()
  assert.equal([await reason, log], ['stop', ['finally']])
})

continuations('a continuation settles after its task has ended', async () => {
  const { host, scheduler, log } = world()
  const value = scheduler.postTask(() => {
    scheduler.yield().then(() => log.push('after a value'))
    return 'value'
  })
  const job = scheduler.postTask(() => {
    scheduler.yield().then(() => log.push('after a job'))
    return scheduler.postTask(() => 'adopted')
  })
  await host.drain()
  assert.equal([await value, await job], ['value', 'adopted'])
  assert.equal(log.sort(), ['after a job', 'after a value'])
})

continuations('outside tasks, a continuation precedes equal tasks', async () => {
  const { host, scheduler, log } = world()
  scheduler.postTask(() => log.push('equal'))
  scheduler.postTask(() => log.push('background'), { priority: 'background' })
  scheduler.postTask(() => log.push('blocking'), { priority: 'user-blocking' })
  const helper = async () => {
    for (let i = 1; i <= 2; i++) {
      await scheduler.yield()
      log.push(i)
    }
  }
  helper()
  await host.drain()
  assert.equal(log, ['blocking', 1, 2, 'equal', 'background'])
})

continuations.run()

// ------------------------------------------------------------------------------- the caller of rt.yield()

const whose = suite(`the caller of rt.yield(), by ${engine}`)
const settings = [1, 3, 100, 'auto'].map(budget => ({ budget }))
const sleep = (host, ms) => new Promise(resolve => host.after(ms, resolve))

/** Logs `name` between tasks of larger, equal and smaller priority than its continuation. */
async function place(scheduler, log, name) {
  for (const priority of PRIORITIES) scheduler.postTask(() => log.push(priority), { priority })
  await scheduler.yield()
  log.push(name)
}
const placed = priority => ['user-blocking', 'user-visible', 'background'].flatMap(each => {
  return each === priority ? ['here', each] : [each]
})

for (const priority of PRIORITIES) {
  whose(`in a ${priority} task, it is the task: in the call, in helpers, and in a loop`, async () => {
    for (const options of settings) {
      const { host, core, scheduler, log } = world(options)
      const task = scheduler.postTask(async () => {
        for (let i = 0; i < 5; i++) await scheduler.yield()
        await place(scheduler, log, 'here')
      }, { priority })
      await host.drain()
      await task
      assert.equal(log.splice(0), placed(priority))

      scheduler.postTask(() => place(scheduler, log, 'here'), { priority })
      await host.drain()
      assert.equal(log, placed(priority))
    }
  })

  const ways = {
    'a foreign await': host => sleep(host, 3),
    'a foreign await, and a yield of the job': (host, scheduler, job) => sleep(host, 3).then(() => job.yield()),
    'an async helper that yields': async (host, scheduler) => { await scheduler.yield() },
    'an async helper three deep': async (host, scheduler) => {
      const deep = async n => { if (n > 0) await deep(n - 1); await scheduler.yield() }
      await deep(3)
    },
    'what a promise leads to': host => Promise.resolve().then(() => {}).then(() => sleep(host, 1)),
    'another job': (host, scheduler, job, core) => core.spawn(function* () { yield })
  }
  for (const [name, way] of Object.entries(ways)) {
    whose(`${priority} task after ${name}: the yield is ${isKnown ? 'its own' : 'that of nobody'}`, async () => {
      for (const options of settings) {
        const { host, core, scheduler, log } = world(options)
        scheduler.postTask(async () => {
          await way(host, scheduler, core.current, core)
          await place(scheduler, log, 'here')
        }, { priority })
        await host.drain()
        assert.equal(log, placed(isKnown ? priority : 'user-visible'))
      }
    })
  }
}

whose('after a foreign await: ' + (isKnown ? 'the task ends when it is aborted' : 'nobody is told of an abort'), async () => {
  const { host, scheduler } = world()
  const controller = new AbortController()
  let rounds = 0
  const task = scheduler.postTask(async () => {
    for (; rounds < 10; rounds++) {
      await sleep(host, 1)
      await scheduler.yield()
    }
    return 'to its end'
  }, { signal: controller.signal }).catch(error => error)
  host.after(4.5, () => controller.abort('stop'))
  await host.drain()
  assert.equal([await task, rounds], isKnown ? ['stop', 4] : ['to its end', 10])
})

const producers = {
  'and yields': scheduler => scheduler.yield(),
  'and awaits something else': (scheduler, host) => sleep(host, 50),
  'and a settled promise': () => Promise.resolve(),
  'and calls a helper that yields': async scheduler => { await scheduler.yield() }
}
for (const [name, goOn] of Object.entries(producers)) {
  whose(`the caller is never a task that resolves an awaited promise ${name}`, async () => {
    for (const options of settings) {
      for (const isEarly of [true, false]) {
        const { host, scheduler, log } = world(options)
        const controller = new AbortController()
        const { promise, resolve } = deferred()
        const producer = scheduler.postTask(async () => {
          if (!isEarly) await scheduler.yield()
          resolve()
          for (let i = 0; i < 50; i++) await goOn(scheduler, host)
        }, { signal: controller.signal, priority: 'user-blocking' })
        producer.catch(() => {})
        const bystander = (async () => {
          await promise
          for (let i = 0; i < 20; i++) await scheduler.yield()
          controller.abort()
          for (let i = 0; i < 20; i++) await scheduler.yield()
          await place(scheduler, log, 'here')
        })()
        await host.drain()
        await bystander
        assert.equal(log, placed('user-visible'))
      }
    }
  })
}

whose('when two tasks meet, each yield belongs to its own task', async () => {
  for (const options of settings) {
    const { host, scheduler, log } = world(options)
    const { promise, resolve } = deferred()
    const controller = new AbortController()
    const waiting = scheduler.postTask(async () => {
      await promise
      await scheduler.yield()
      return 'whole'
    }, { priority: 'background' })
    const aborted = rejection(scheduler.postTask(async () => {
      await scheduler.yield()
      resolve()
      controller.abort('stop')
      await scheduler.yield()
    }, { signal: controller.signal }))
    await host.drain()
    assert.equal([await waiting, await aborted], ['whole', 'stop'])
  }
})

whose.run()

// --------------------------------------------------------------------------------------------------- interop

const interop = suite('code written for `scheduler`')

/** Code that uses the Prioritized Task Scheduling API only. */
async function renderThumbnails(scheduler, images, { signal, visit }) {
  const done = await Promise.allSettled(images.map(image => scheduler.postTask(async () => {
    const tiles = []
    for (let tile = 0; tile < image.tiles; tile++) {
      tiles.push(visit(`${image.name}${tile}`))
      await scheduler.yield()
    }
    return tiles.length
  }, { signal, priority: image.isVisible ? 'user-visible' : 'background', delay: image.delay })))
  return done.map(({ status, value, reason }) => status === 'fulfilled' ? value : reason.name)
}

const IMAGES = [
  { name: 'a', tiles: 3, isVisible: false },
  { name: 'b', tiles: 2, isVisible: true },
  { name: 'c', tiles: 2, isVisible: true },
  { name: 'd', tiles: 2, isVisible: true, delay: 50 },
  { name: 'e', tiles: 1, isVisible: false, delay: 20 }
]

interop('code written for `scheduler` runs unmodified on a Scheduler', async () => {
  const { host, scheduler, log } = world()
  const controller = new AbortController()
  const visit = tile => {
    log.push(`${tile}@${host.time}`)
    host.advance(10)
    if (tile === 'd0') controller.abort()
    return tile
  }
  const result = renderThumbnails(scheduler, IMAGES, { signal: controller.signal, visit })
  await host.drain()
  assert.equal(log, ['b0@0', 'b1@10', 'c0@20', 'c1@30', 'a0@40', 'd0@50'])
  assert.equal(await result, ['AbortError', 2, 2, 'AbortError', 'AbortError'])
})

interop('code can feature-detect the scheduler like the global object', () => {
  const { scheduler } = world()
  assert.equal(['postTask', 'yield'].map(name => typeof scheduler[name]), ['function', 'function'])
  assert.instance(scheduler.postTask(() => {}), Promise)
})

interop.run()

// ---------------------------------------------------------------- the same cases as for the platform's
// scheduler

const HOSTS = [['a virtual host', virtualHost], ...PLATFORMS.map(platform => [`the default host in ${platform}`, () => platformHost({ platform })])]
const WAYS = [
  { budget: 'auto' }, { budget: 1 }, { budget: 3 }, { slice: 5, step: 0.3 },
  ...[0.15, 1, 6].map(step => ({ budget: 'auto', slice: 0.1, round: 0.2, step }))
]

/** Runs one of CASES. Each word of its log takes `step` ms. */
async function logOf({ run }, host, { step = 0, ...options }) {
  const scheduler = schedulerOf(new Scheduler({ host, ...options }))
  const words = []
  const log = word => {
    words.push(String(word))
    host.advance(step)
  }
  const timer = (fn, ms = 0) => { host.after(ms, fn) }
  const done = run({ scheduler, TaskController, log, timer, spin: host.advance })
  let hasEnded = false
  const ended = done.then(() => { hasEnded = true })
  for (let turns = 0; !hasEnded && turns < 20; turns++) await host.drain()
  if (!hasEnded) words.push('unfinished')
  else await ended
  return words.join(' ')
}

for (const [where, hostOf] of HOSTS) {
  const cases = suite(`the platform's cases on ${where}, by ${engine}`)
  for (const one of CASES) {
    if (!isPossible(one, {})) continue
    cases(one.name, async () => {
      for (const way of WAYS) {
        if (way.round && one.inRound) continue
        assert.is(await logOf(one, hostOf(), way), ourLog(one, isKnown), JSON.stringify(way))
      }
    })
  }
  cases.run()
}

/** More tests of posted tasks. */
const others = suite('posted tasks')

others('a task that an observer cancels at its first dispatch is not entered', async () => {
  const { host, core, scheduler, log } = world({ round: Infinity })
  core.observe(({ type, job }) => {
    if (type === 'start') job.cancel('observer')
  })
  const posted = scheduler.postTask(() => { log.push('posted') })
  await host.drain()
  assert.is(await rejection(posted), 'observer')
  assert.equal(log, [])
})

others('the listener of a signal is removed when the task has ended', async () => {
  const { host, scheduler } = world()
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  const posted = Array.from({ length: 200 }, () => scheduler.postTask(() => {}, { signal: controller.signal }))
  await host.drain()
  assert.is(abortListeners(controller.signal), 0)
  controller.abort()
  await host.drain()
  await Promise.all(posted)
})

others('tasks count among the jobs of the scheduler', () => {
  const { core, scheduler, spawn } = world()
  spawn('A')
  scheduler.postTask(() => {})
  assert.is(core.stats().jobs, 2)
})

others.run()
