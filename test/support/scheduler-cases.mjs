/**
 * Programs that use the Prioritized Task Scheduling API only, and the log of each on the platform's own
 * `scheduler`. They cover the same behaviour as Web Platform Tests: the order of tasks and continuations at
 * all priorities, delays, signals, aborts, changes of priority, timers, idle callbacks, and inheritance by
 * yield().
 *
 * @typedef {object} World the environment of a program; its methods can be called without it
 * @property {any} scheduler
 * @property {any} TaskController
 * @property {any} [TaskSignal] the platform's class, for `any`
 * @property {(word: unknown) => void} log logs a word, which may take time
 * @property {(fn: () => void, ms?: number) => void} timer
 * @property {(ms: number) => void} spin blocks the thread
 * @property {(fn: () => void) => void} [idle]
 */
/**
 * A log that differs from the platform's log, and the reason.
 *
 * @typedef {{ log: string, why: string }} Difference
 */
/**
 * @typedef {object} Case
 * @property {string} name
 * @property {(world: World) => Promise<unknown>} run
 * @property {string} log the words in the order of the platform
 * @property {Difference & { varies?: boolean }} [ours] the log of our scheduler; in pages, either log
 * @property {Difference} [untold] the log of our scheduler if the engine does not reveal the job after an
 *   await
 * @property {{ log?: string, why: string }} [firefox] the log of Firefox's own scheduler; without `log`,
 *   either log
 * @property {string} [inRound] why the log is ours only if no slice or round ends in between
 * @property {'TaskSignal' | 'idle'} [needs] a property that a world may lack
 */

/** @type {Case[]} */
export const CASES = []

/**
 * @param {string} name
 *
 * @param {(world: World) => any} run @param {string} log @param {Partial<Case>} [more]
 */
const add = (name, run, log, more) => CASES.push({ name, run: async world => run(world), log, ...more })

/** Whether a world has the property that a case needs. @param {Case} one @param {World} world */
export const isPossible = ({ needs }, world) => needs === undefined || world[needs] !== undefined

/**
 * @param {Case} one @param {boolean} isTold whether the engine reveals the job after an await
 * @returns {string} the expected log of our scheduler
 */
export const ourLog = ({ log, ours, untold }, isTold) => (!isTold && untold ? untold : ours ?? { log }).log

export const PRIORITIES = ['user-blocking', 'user-visible', 'background']
const SHORT = { 'user-blocking': 'ub', 'user-visible': 'uv', background: 'bg' }

/** @param {any} promise @returns {Promise<any>} the reason of its rejection */
const rejection = promise => promise.then((/** @type {any} */ value) => `fulfilled:${value}`, (/** @type {any} */ error) => error)
/** @param {any} error */
const nameOf = error => error?.name ?? String(error)

/** Posts a task that logs its name. @param {World} world @param {string} name @param {object} [options] */
const post = ({ scheduler, log }, name, options) => scheduler.postTask(() => log(name), options)

/** Two tasks of each priority, the most important first. @param {World} world */
const postAll = world => PRIORITIES.flatMap(priority => [1, 2].map(i => {
  return post(world, SHORT[/** @type {keyof typeof SHORT} */ (priority)] + i, { priority })
}))

/** @param {World} world @param {number} [ms] */
const sleep = ({ timer }, ms) => new Promise(resolve => timer(/** @type {any} */ (resolve), ms))

function deferred() {
  let resolve = /** @type {(value?: any) => void} */ (() => {})
  const promise = new Promise(settle => { resolve = settle })
  return { promise, resolve }
}

// --------------------------------------------------------------------------------------------------- results

for (const priority of PRIORITIES) {
  add(`results of ${priority} tasks: values, promises and thenables`, async ({ scheduler, log }) => {
    const options = { priority }
    const tasks = [
      scheduler.postTask(() => 1, options), scheduler.postTask(async () => 2, options),
      scheduler.postTask(() => Promise.resolve(3), options),
      scheduler.postTask(() => ({ then: (/** @type {any} */ done) => done(4) }), options),
      scheduler.postTask(() => scheduler.postTask(() => 5, options), options), scheduler.postTask(() => {}, options)
    ]
    for (const value of await Promise.all(tasks)) log(value)
  }, '1 2 3 4 5 undefined')

  add(`errors of ${priority} tasks: thrown, rejected, returned`, async ({ scheduler, log }) => {
    const options = { priority }
    const tasks = [
      scheduler.postTask(() => { throw 'thrown' }, options), scheduler.postTask(async () => { throw 'async' }, options),
      scheduler.postTask(() => Promise.reject('returned'), options), scheduler.postTask(() => 'next', options)
    ].map(rejection)
    for (const error of await Promise.all(tasks)) log(error)
  }, 'thrown async returned fulfilled:next')
}

add('the callback is called later, without arguments', async ({ scheduler, log }) => {
  const task = scheduler.postTask((/** @type {any[]} */ ...args) => log(args.length))
  log('posted')
  await task
}, 'posted 0')

add('an iterator that a task returns is its result', async ({ scheduler, log }) => {
  const iterator = new Map([['a', 1]]).keys()
  log(await scheduler.postTask(() => iterator) === iterator)
}, 'true')

add('a task returns a promise', async ({ scheduler, log }) => {
  const task = scheduler.postTask(() => {})
  log(task instanceof Promise)
  log(await Promise.resolve(task).then(() => 'then') === await task.then(() => 'then'))
}, 'true true')

add('a generator that a task returns is its result', async ({ scheduler, log }) => {
  const result = await scheduler.postTask(function* () { return 'end' })
  log(typeof result === 'string' ? result : typeof result.next)
}, 'function', { ours: { log: 'end', why: 'generators are work, and driven' } })

// ----------------------------------------------------------------------------------------------------- order

add('tasks run by priority, then in the order posted', async world => {
  const order = ['bg1', 'uv1', 'ub1', 'bg2', 'uv2', 'ub2']
  const priorityOf = (/** @type {string} */ name) => PRIORITIES.find(priority => name.startsWith(SHORT[/** @type {'background'} */ (priority)]))
  await Promise.all(order.map(name => post(world, name, { priority: priorityOf(name) })))
}, 'ub1 ub2 uv1 uv2 bg1 bg2')

add('the default priority is user-visible', async world => {
  const visible = { priority: 'user-visible' }
  const options = [visible, undefined, {}, { priority: undefined }, visible]
  await Promise.all([
    post(world, 'bg', { priority: 'background' }), ...options.map((each, i) => post(world, `${i}`, each)),
    post(world, 'ub', { priority: 'user-blocking' })
  ])
}, 'ub 0 1 2 3 4 bg')

for (const priority of PRIORITIES) {
  const name = SHORT[/** @type {'background'} */ (priority)]
  add(`tasks posted by a ${priority} task run by their own priority`, async world => {
    let inner = /** @type {Promise<unknown>[]} */ ([])
    await world.scheduler.postTask(() => {
      world.log('task')
      inner = [post(world, 'default'), ...postAll(world).reverse()]
    }, { priority })
    await Promise.all(inner)
  }, 'task ub1 ub2 default uv1 uv2 bg1 bg2')

  add(`${priority} tasks with microtasks in between`, async world => {
    await Promise.all([1, 2, 3].map(i => world.scheduler.postTask(() => {
      world.log(name + i)
      queueMicrotask(() => world.log(`m${i}`))
    }, { priority }).then(() => world.log(`t${i}`))))
  }, [1, 2, 3].map(i => `${name}${i} m${i} t${i}`).join(' '))

  add(`${priority} tasks, awaited one after the other, among others of the same priority`, async world => {
    const others = [1, 2].map(i => post(world, `o${i}`, { priority }))
    for (const i of [1, 2]) await post(world, `a${i}`, { priority })
    await Promise.all(others)
  }, 'o1 o2 a1 a2')
}

add('important tasks, awaited one after the other, do not wait for lesser ones', async world => {
  const others = [1, 2, 3].map(i => post(world, `bg${i}`, { priority: 'background' }))
  for (const i of [1, 2, 3]) await post(world, `ub${i}`, { priority: 'user-blocking' })
  await Promise.all(others)
}, 'ub1 ub2 ub3 bg1 bg2 bg3')

add('code that awaits a task runs before the next task, and can post an urgent one', async world => {
  const tasks = [1, 2].map(i => post(world, `uv${i}`))
  await tasks[0]
  world.log('awaited')
  await Promise.all([post(world, 'uv3'), post(world, 'ub', { priority: 'user-blocking' }), tasks[1]])
}, 'uv1 awaited ub uv2 uv3')

add('async tasks start in order, and their ends do not delay the next', async world => {
  const gate = deferred()
  await Promise.all([1, 2, 3].map(i => world.scheduler.postTask(async () => {
    world.log(`begin${i}`)
    if (i === 3) gate.resolve()
    await gate.promise
    world.log(`end${i}`)
  })))
}, 'begin1 begin2 begin3 end1 end2 end3')

// ---------------------------------------------------------------------------------------------------- delays

const FIREFOX_SETTLED = 'it knows whose code runs after promises that were pending'
const SETTLED_IN_PARTS = 'what is due is settled for a slice at a time'
const FIREFOX_DELAYS = 'its delays are timers, which post the task when they fire'

for (const priority of PRIORITIES) {
  add(`a ${priority} task never starts before its delay ends`, async ({ scheduler, log, timer }) => {
    const begun = performance.now()
    let isTime = false
    timer(() => { isTime = true }, 10)
    await scheduler.postTask(() => log(isTime || performance.now() - begun >= 10), { priority, delay: 11 })
  }, 'true')
}

add('delayed tasks run when their delays end, after those without', async world => {
  const delays = [200, 0, 100, undefined, 300] // far apart, because a busy machine can block
  await Promise.all(delays.map(delay => post(world, `${delay}`, { delay })))
}, '0 undefined 100 200 300', { firefox: { why: FIREFOX_DELAYS } })

add('a delayed task waits, whatever its priority', async world => {
  await Promise.all([
    post(world, 'delayed', { priority: 'user-blocking', delay: 250 }), ...postAll(world),
    post(world, 'last', { priority: 'background', delay: 280 })
  ])
}, 'ub1 ub2 uv1 uv2 bg1 bg2 delayed last')

add('tasks whose delays end during another task run by priority', async world => {
  await world.scheduler.postTask(() => {
    const tasks = [...PRIORITIES].reverse().map(priority => post(world, priority, { priority, delay: 5 }))
    world.spin(30)
    return Promise.all(tasks)
  })
}, 'user-blocking user-visible background', { firefox: { why: FIREFOX_DELAYS }, inRound: SETTLED_IN_PARTS })

add('a delayed task that is aborted in time never runs', async world => {
  const controller = new AbortController()
  const task = rejection(post(world, 'never', { delay: 250, signal: controller.signal }))
  world.timer(() => controller.abort(), 5)
  world.log(nameOf(await task))
  await sleep(world, 270)
}, 'AbortError')

// --------------------------------------------------------------------------------------------------- signals

for (const [kind, options] of /** @type {[string, object][]} */ ([['a plain signal', {}], ['a signal and a priority', { priority: 'background' }]])) {
  add(`${kind}, aborted before: the task is rejected with the reason, without a call`, async world => {
    const standard = post(world, 'never', { signal: AbortSignal.abort(), ...options })
    const own = post(world, 'never', { signal: AbortSignal.abort('own'), ...options })
    world.log(nameOf(await rejection(standard)))
    world.log(await rejection(own))
  }, 'AbortError own')

  add(`${kind}, aborted while tasks are queued: they never run, others do`, async world => {
    const controller = new AbortController()
    const { signal } = controller
    const aborted = [1, 2].map(i => rejection(post(world, `never${i}`, { signal, ...options })))
    const other = post(world, 'other')
    controller.abort('stop')
    for (const reason of await Promise.all(aborted)) world.log(reason)
    await other
  }, 'stop stop other')

  add(`${kind}, aborted by a more important task`, async world => {
    const controller = new AbortController()
    const { signal } = controller
    const aborted = rejection(post(world, 'never', { signal, ...options }))
    await world.scheduler.postTask(() => {
      world.log('abort')
      controller.abort()
    }, { priority: 'user-blocking' })
    world.log(nameOf(await aborted))
  }, 'abort AbortError')
}

add('a signal aborted within its own callback: the task is rejected', async ({ scheduler, log }) => {
  const controller = new AbortController()
  const task = rejection(scheduler.postTask(() => {
    controller.abort()
    log('on')
    return 'result'
  }, { signal: controller.signal }))
  log(nameOf(await task))
}, 'on AbortError')

add('a signal aborted within its own callback, which throws: the reason counts', async ({ scheduler, log }) => {
  const controller = new AbortController()
  log(nameOf(await rejection(scheduler.postTask(() => {
    controller.abort()
    throw 'error'
  }, { signal: controller.signal }))))
}, 'AbortError')

add('a signal aborted in the first part of an async callback: the task is rejected', async ({ scheduler, log }) => {
  const controller = new AbortController()
  log(nameOf(await rejection(scheduler.postTask(async () => {
    controller.abort()
    return 'result'
  }, { signal: controller.signal }))))
}, 'AbortError')

add('a signal aborted in the first part of an endless async callback: it is rejected', async ({ scheduler, log }) => {
  const controller = new AbortController()
  log(nameOf(await rejection(scheduler.postTask(() => {
    controller.abort()
    return new Promise(() => {})
  }, { signal: controller.signal }))))
}, 'AbortError')

add('a signal aborted later in an async callback, which throws: the error counts', async world => {
  const controller = new AbortController()
  world.log(await rejection(world.scheduler.postTask(async () => {
    await sleep(world)
    controller.abort()
    throw 'error'
  }, { signal: controller.signal })))
}, 'error')

add('a signal aborted later in an async callback: the result arrives', async world => {
  const controller = new AbortController()
  world.log(await world.scheduler.postTask(async () => {
    await sleep(world)
    controller.abort()
    return 'result'
  }, { signal: controller.signal }))
}, 'result')

add('a signal aborted after the end: nothing happens', async world => {
  const controller = new AbortController()
  const { signal } = controller
  const tasks = [post(world, 'task', { signal }), world.scheduler.postTask(() => sleep(world), { signal })]
  await Promise.all(tasks)
  controller.abort()
  world.log(signal.aborted)
  await Promise.all(tasks)
}, 'task true')

add('a signal aborts its own tasks only', async world => {
  const controllers = [1, 2, 3].map(() => new world.TaskController())
  const tasks = controllers.map(({ signal }, i) => rejection(post(world, `${i}`, { signal })))
  controllers[1].abort('stop')
  world.log((await Promise.all(tasks))[1])
}, '0 2 stop')

add('a combined signal aborts with the first', async world => {
  const controllers = [1, 2].map(() => new AbortController())
  const signal = AbortSignal.any(controllers.map(({ signal }) => signal))
  const task = rejection(post(world, 'never', { signal }))
  controllers[1].abort('second')
  controllers[0].abort('first')
  world.log(await task)
}, 'second')

// ----------------------------------------------------------------------------------------------- priorities

add('a task has the priority of its signal', async world => {
  await Promise.all([...PRIORITIES].reverse().map(priority => {
    return post(world, priority, { signal: new world.TaskController({ priority }).signal })
  }))
}, 'user-blocking user-visible background')

add('a controller begins with user-visible', async world => {
  const { signal } = new world.TaskController()
  await Promise.all([
    post(world, 'bg', { priority: 'background' }), post(world, 'uv'), post(world, 'signal', { signal }),
    post(world, 'ub', { priority: 'user-blocking' })
  ])
  world.log(signal.priority)
}, 'ub uv signal bg user-visible')

add('a plain signal leaves the default', async world => {
  const { signal } = new AbortController()
  await Promise.all([
    post(world, 'bg', { priority: 'background' }), post(world, 'plain', { signal }),
    post(world, 'ub', { priority: 'user-blocking' })
  ])
}, 'ub plain bg')

add('an explicit priority overrides the signal, and does not follow it', async world => {
  const controller = new world.TaskController({ priority: 'user-blocking' })
  const { signal } = controller
  const tasks = [
    post(world, 'fixed', { signal, priority: 'background' }), post(world, 'follows', { signal }), post(world, 'uv')
  ]
  controller.setPriority('user-visible')
  controller.setPriority('user-blocking')
  await Promise.all(tasks)
}, 'follows uv fixed')

for (const priority of PRIORITIES) {
  add(`a change to ${priority} moves queued tasks, in their order`, async world => {
    const controller = new world.TaskController({ priority: priority === 'background' ? 'user-blocking' : 'background' })
    const { signal } = controller
    const tasks = [post(world, 'a', { signal }), post(world, 'b', { signal }), ...postAll(world)]
    controller.setPriority(priority)
    tasks.push(post(world, 'c', { signal }))
    await Promise.all(tasks)
  }, {
    'user-blocking': 'a b ub1 ub2 c uv1 uv2 bg1 bg2', 'user-visible': 'ub1 ub2 a b uv1 uv2 c bg1 bg2',
    background: 'ub1 ub2 uv1 uv2 a b bg1 bg2 c'
  }[priority] ?? '')
}

add('changes of several controllers, some of them reverted', async world => {
  const controllers = Array.from({ length: 4 }, () => new world.TaskController({ priority: 'background' }))
  const tasks = controllers.flatMap(({ signal }, i) => ['a', 'b'].map(name => post(world, name + i, { signal })))
  tasks.push(post(world, 'uv'))
  controllers[2].setPriority('user-blocking')
  controllers[3].setPriority('user-blocking')
  controllers[3].setPriority('background')
  await Promise.all(tasks)
}, 'a2 b2 uv a0 b0 a1 b1 a3 b3')

add('a change within a task moves the remaining tasks', async world => {
  const controller = new world.TaskController()
  const { signal } = controller
  await Promise.all([
    world.scheduler.postTask(() => {
      world.log('first')
      controller.setPriority('background')
    }, { signal }),
    post(world, 'second', { signal }), post(world, 'uv')
  ])
}, 'first uv second')

add('a change during a delay counts when the delay ends', async world => {
  const controller = new world.TaskController({ priority: 'background' })
  await world.scheduler.postTask(() => {
    const tasks = [post(world, 'delayed', { signal: controller.signal, delay: 10 }), post(world, 'uv')]
    controller.setPriority('user-blocking')
    world.spin(30)
    return Promise.all(tasks)
  })
}, 'delayed uv', { firefox: { why: FIREFOX_DELAYS }, inRound: SETTLED_IN_PARTS })

add('a combined signal has a fixed priority, or follows another signal', async world => {
  const controller = new world.TaskController()
  const fixed = world.TaskSignal.any([], { priority: 'background' })
  const following = world.TaskSignal.any([], { priority: controller.signal })
  const tasks = [
    post(world, 'fixed', { signal: fixed }), post(world, 'uv'), post(world, 'following', { signal: following })
  ]
  controller.setPriority('user-blocking')
  await Promise.all(tasks)
}, 'following uv fixed', { needs: 'TaskSignal' })

add('a combined signal of tasks aborts with the first', async world => {
  const controllers = [1, 2].map(() => new world.TaskController())
  const signal = world.TaskSignal.any(controllers.map(each => each.signal), { priority: 'user-blocking' })
  const tasks = [post(world, 'uv'), rejection(post(world, 'never', { signal }))]
  controllers[1].abort('stop')
  world.log((await Promise.all(tasks))[1])
}, 'uv stop', { needs: 'TaskSignal' })

add('each change of priority fires one event, with the previous priority', async ({ TaskController, log }) => {
  const controller = new TaskController({ priority: 'user-blocking' })
  controller.signal.onprioritychange = () => log('on')
  controller.signal.addEventListener('prioritychange', (/** @type {any} */ event) => {
    log(`${event.type}:${event.previousPriority}-${event.target.priority}`)
  })
  for (const priority of ['user-blocking', 'background', 'background', 'user-visible']) controller.setPriority(priority)
}, 'on prioritychange:user-blocking-background on prioritychange:background-user-visible')

add('a change of priority within the event of another change is rejected', async ({ TaskController, log }) => {
  const controller = new TaskController()
  controller.signal.addEventListener('prioritychange', () => {
    try {
      controller.setPriority('user-blocking')
    } catch (error) {
      log(nameOf(error))
    }
  })
  controller.setPriority('background')
  log(controller.signal.priority)
}, 'NotAllowedError background')

// ------------------------------------------------------------------------------------------ the order of
// yield

/** A task that yields three times. @param {World} world @param {object} [options] @param {string} [name] */
const yielding = ({ scheduler, log }, options, name = 'y') => scheduler.postTask(async () => {
  log(`${name}0`)
  for (const i of [1, 2, 3]) {
    await scheduler.yield()
    log(name + i)
  }
}, options)

for (const [priority, order] of /** @type {const} */ ([
  ['user-blocking', 'y0 y1 y2 y3 ub1 ub2 uv1 uv2 bg1 bg2'],
  ['user-visible', 'ub1 ub2 y0 y1 y2 y3 uv1 uv2 bg1 bg2'],
  ['background', 'ub1 ub2 uv1 uv2 y0 y1 y2 y3 bg1 bg2']
])) {
  add(`yield() in a ${priority} task precedes tasks of equal priority`, async world => {
    await Promise.all([yielding(world, { priority }), ...postAll(world)])
  }, order)

  add(`yield() in a ${priority} task by its signal precedes tasks of equal priority`, async world => {
    const { signal } = new world.TaskController({ priority })
    await Promise.all([yielding(world, { signal }), ...postAll(world)])
  }, order)

  add(`yield() in a ${priority} task whose signal has another priority`, async world => {
    const { signal } = new world.TaskController({ priority: priority === 'background' ? 'user-blocking' : 'background' })
    await Promise.all([yielding(world, { signal, priority }), ...postAll(world)])
  }, order)

  add(`yield() in several ${priority} tasks: one after the other`, async world => {
    await Promise.all([...['a', 'b'].map(name => yielding(world, { priority }, name)), post(world, 'c', { priority })])
  }, 'a0 a1 a2 a3 b0 b1 b2 b3 c')

  add(`yield() in a ${priority} task that posts tasks of every priority`, async world => {
    const { scheduler, log } = world
    let inner = /** @type {any[]} */ ([])
    await scheduler.postTask(async () => {
      for (const i of [1, 2]) {
        inner.push(...PRIORITIES.map(each => post(world, SHORT[/** @type {'background'} */ (each)] + i, { priority: each })))
        await scheduler.yield()
        log(`y${i}`)
      }
    }, { priority })
    await Promise.all(inner)
  }, {
    'user-blocking': 'y1 y2 ub1 ub2 uv1 uv2 bg1 bg2', 'user-visible': 'ub1 y1 ub2 y2 uv1 uv2 bg1 bg2',
    background: 'ub1 uv1 y1 ub2 uv2 y2 bg1 bg2'
  }[priority] ?? '')

  add(`a ${priority} task that yields in a helper, and in a nested helper`, async world => {
    const { scheduler, log } = world
    const helper = async (/** @type {number} */ n) => {
      await scheduler.yield()
      log(`h${n}`)
      if (n > 0) await helper(n - 1)
    }
    await Promise.all([scheduler.postTask(() => helper(2), { priority }), post(world, 'task', { priority })])
  }, 'h2 h1 h0 task')
}

add('yield() outside tasks: before user-visible tasks, after more important ones', async world => {
  const tasks = postAll(world)
  for (const i of [1, 2]) {
    await world.scheduler.yield()
    world.log(`y${i}`)
  }
  await Promise.all(tasks)
}, 'ub1 ub2 y1 y2 uv1 uv2 bg1 bg2')

add('yields outside tasks rotate', async ({ scheduler, log }) => {
  await Promise.all(['a', 'b', 'c'].map(async name => {
    for (const i of [1, 2, 3]) {
      await scheduler.yield()
      log(name + i)
    }
  }))
}, 'a1 b1 c1 a2 b2 c2 a3 b3 c3')

add('yield() after an awaited task is outside tasks', async world => {
  const { scheduler, log } = world
  await post(world, 'bg', { priority: 'background' })
  const task = post(world, 'uv')
  await scheduler.yield()
  log('y')
  await task
}, 'bg y uv')

add('yield() follows the priority of the signal', async world => {
  const controller = new world.TaskController()
  const { scheduler, log } = world
  await scheduler.postTask(async () => {
    log('y0')
    const tasks = [post(world, 'uv1'), post(world, 'uv2')]
    for (const i of [1, 2, 3, 4]) {
      if (i === 3) controller.setPriority('background')
      await scheduler.yield()
      log(`y${i}`)
    }
    await Promise.all(tasks)
  }, { signal: controller.signal })
}, 'y0 y1 y2 uv1 uv2 y3 y4')

add('a change of priority moves a waiting continuation', async world => {
  const controller = new world.TaskController({ priority: 'background' })
  const { scheduler, log } = world
  const yielder = scheduler.postTask(async () => {
    const tasks = [post(world, 'bg', { priority: 'background' }), post(world, 'uv')]
    tasks.push(scheduler.postTask(() => {
      log('ub')
      controller.setPriority('user-blocking')
    }, { priority: 'user-blocking' }))
    await scheduler.yield()
    log('y')
    await Promise.all(tasks)
  }, { signal: controller.signal })
  await yielder
}, 'ub y uv bg')

add('a task that does not await its yield ends before the yield', async world => {
  const { scheduler, log } = world
  const after = deferred()
  const task = scheduler.postTask(() => {
    scheduler.yield().then(() => {
      log('y')
      after.resolve()
    })
    return 'ended'
  })
  log(await task)
  await after.promise
}, 'ended y')

// ---------------------------------------------------------------------------------------------------- aborts

/** Logs the outcomes of two yields. @param {World} world */
async function yieldTwice({ scheduler, log }) {
  for (const i of [1, 2]) {
    try {
      await scheduler.yield()
      log(`${i}:on`)
    } catch (error) {
      log(`${i}:${error}`)
    }
  }
}

add('every yield() rejects after the signal was aborted', async world => {
  const controller = new AbortController()
  const end = deferred()
  const task = rejection(world.scheduler.postTask(async () => {
    controller.abort('stop')
    await yieldTwice(world)
    end.resolve()
  }, { signal: controller.signal }))
  const reason = await task
  await end.promise
  world.log(reason)
}, '1:stop 2:stop stop', { firefox: { log: '1:stop 2:on stop', why: FIREFOX_SETTLED } })

add('a task that aborts its own signal is rejected, even if its await never ends', async world => {
  const controller = new AbortController()
  world.log(await rejection(world.scheduler.postTask(async () => {
    controller.abort('stop')
    await new Promise(() => {})
  }, { signal: controller.signal })))
}, 'stop')

add('yield() rejects when a more important task aborts the signal', async world => {
  const controller = new world.TaskController()
  world.log(await world.scheduler.postTask(async () => {
    world.scheduler.postTask(() => controller.abort('stop'), { priority: 'user-blocking' })
    await yieldTwice(world)
    return 'result'
  }, { signal: controller.signal }))
}, '1:stop 2:stop result')

add('a loop of yields ends when it is aborted', async ({ scheduler, log, spin, TaskController }) => {
  const controller = new TaskController()
  scheduler.postTask(() => controller.abort('stop'), { priority: 'user-blocking', delay: 5 })
  log(await rejection(scheduler.postTask(async () => {
    for (let i = 0; i < 50; i++) {
      spin(1)
      await scheduler.yield()
    }
  }, { signal: controller.signal })))
}, 'stop', { firefox: { why: FIREFOX_DELAYS } })

add('code that awaits a promise of a task is not aborted with the task', async world => {
  const { scheduler, log } = world
  const controller = new world.TaskController()
  const met = deferred()
  const producer = rejection(scheduler.postTask(async () => {
    await scheduler.yield()
    met.resolve()
    for (let i = 0; i < 50; i++) await scheduler.yield()
  }, { signal: controller.signal }))
  await met.promise
  for (let i = 0; i < 3; i++) await scheduler.yield().catch(() => log('bystander'))
  controller.abort('stop')
  for (let i = 0; i < 3; i++) await scheduler.yield().catch(() => log('bystander'))
  log(await producer)
}, 'stop')

// ----------------------------------------------------------------------------------------------- inheritance

const UNTOLD = 'only the engine knows whose code runs after an await of anything else'

const SETTLED = ['an await of a settled promise', 'an await of no promise', 'then() of a settled promise']

/**
 * Code that can run between the start of a task and its yield.
 *
 * @type {Record<string, (world: World, rest: () => any) => any>}
 */
const WAYS = {
  'a timer that is awaited': async (world, rest) => {
    await sleep(world)
    return rest()
  },
  'two timers that are awaited': async (world, rest) => {
    await sleep(world)
    await sleep(world, 2)
    return rest()
  },
  'an await of a settled promise': async (world, rest) => {
    await Promise.resolve()
    return rest()
  },
  'an await of no promise': async (world, rest) => {
    await null
    return rest()
  },
  'an await of a thenable': async (world, rest) => {
    await { then: (/** @type {any} */ done) => done() }
    return rest()
  },
  'then() of a settled promise': (world, rest) => Promise.resolve().then(rest),
  'a chain of then()': (world, rest) => Promise.resolve().then(() => {}).then(rest),
  'an await of a microtask': async (world, rest) => {
    await new Promise(resolve => queueMicrotask(/** @type {any} */ (resolve)))
    return rest()
  },
  'an await of another task': async (world, rest) => {
    await world.scheduler.postTask(() => {}, { priority: 'user-blocking' })
    return rest()
  },
  'an async function that yields': async (world, rest) => {
    await (async () => { await world.scheduler.yield() })()
    return rest()
  }
}

/** @param {string} way @param {string} log the log as outside of tasks */
const unlike = (way, log) => ({
  untold: { log, why: UNTOLD },
  ...SETTLED.includes(way) && { firefox: { log, why: FIREFOX_SETTLED } }
})

for (const [way, go] of Object.entries(WAYS)) {
  for (const priority of PRIORITIES) {
    const own = priority === 'user-blocking' ? 'here ub uv bg' : priority === 'background' ? 'ub uv here bg' : 'ub here uv bg'
    add(`yield() in a ${priority} task after ${way}: its own priority`, async world => {
      const { scheduler, log } = world
      await scheduler.postTask(() => go(world, async () => {
        const tasks = PRIORITIES.map(each => post(world, SHORT[/** @type {'background'} */ (each)], { priority: each }))
        await scheduler.yield()
        log('here')
        await Promise.all(tasks)
      }), { priority })
    }, own, priority === 'user-visible' ? {} : unlike(way, 'ub here uv bg'))
  }

  add(`yield() after ${way}: rejects when the task is aborted`, async world => {
    const { scheduler, log } = world
    const controller = new world.TaskController()
    await scheduler.postTask(() => go(world, async () => {
      scheduler.postTask(() => controller.abort('stop'), { priority: 'user-blocking' })
      log(await rejection(scheduler.yield()))
    }), { signal: controller.signal })
  }, 'stop', unlike(way, 'fulfilled:undefined'))
}

// ------------------------------------------------------------------------------------ timers and idle
// callbacks

add('a timer that a task sets inherits nothing', async world => {
  const { scheduler, log, timer } = world
  const end = deferred()
  scheduler.postTask(() => timer(async () => {
    const task = post(world, 'uv')
    await scheduler.yield()
    log('y')
    end.resolve(task)
  }), { priority: 'background' })
  await end.promise
}, 'y uv')

add('yield() in a timer: before the timers that are due', async world => {
  const { scheduler, log, timer } = world
  await Promise.all([
    new Promise(resolve => timer(async () => {
      log('t1')
      for (const i of [1, 2, 3]) {
        await scheduler.yield()
        log(`y${i}`)
      }
      resolve(undefined)
    })),
    ...['t2', 't3'].map(name => new Promise(resolve => timer(() => resolve(log(name)))))
  ])
}, 't1 y1 y2 y3 t2 t3', { ours: { log: 't1 t2 t3 y1 y2 y3', why: 'a round begins with a message, which waits its turn', varies: true } })

add('yield() in a task: before a timer that it has set', async world => {
  const { scheduler, log, timer } = world
  await scheduler.postTask(async () => {
    const set = new Promise(resolve => timer(() => resolve(log('t'))))
    for (const i of [1, 2, 3]) {
      await scheduler.yield()
      log(`y${i}`)
    }
    await set
  })
}, 'y1 y2 y3 t', { inRound: 'then the event loop decides' })

add('tasks posted by a timer, concurrently with another timer', async world => {
  const { timer, log } = world
  await Promise.all([
    new Promise(resolve => timer(() => {
      log('t1')
      resolve(Promise.all([post(world, 'bg', { priority: 'background' }), post(world, 'ub', { priority: 'user-blocking' })]))
    })),
    new Promise(resolve => timer(() => resolve(log('t2')), 200))
  ])
}, 't1 ub bg t2')

add('yield() in an idle callback: background', async world => {
  const { scheduler, log, idle } = world
  await new Promise(resolve => /** @type {any} */ (idle)(async () => {
    log('i')
    const tasks = [post(world, 'uv'), post(world, 'bg', { priority: 'background' })]
    for (const i of [1, 2]) {
      await scheduler.yield()
      log(`y${i}`)
    }
    resolve(Promise.all(tasks))
  }))
}, 'i uv y1 y2 bg', {
  needs: 'idle', ours: { log: 'i y1 y2 uv bg', why: 'nothing tells code that it runs in an idle callback' }
})

// ----------------------------------------------------------------------------------------------- invalid
// arguments

/** Whether a call fails synchronously or by its promise. @param {() => any} call */
async function howItFails(call) {
  let promise
  try {
    promise = call()
  } catch (error) {
    return `throws:${nameOf(error)}`
  }
  const failed = await promise.then(() => null, (/** @type {any} */ error) => ({ error }))
  return failed === null ? 'runs' : `rejects:${nameOf(failed.error)}`
}

const AT_ONCE = 'misuse fails at the call'
/** @type {[string, (scheduler: any) => any, string, Difference?][]} */
const ARGUMENTS = [
  ['no callback', scheduler => scheduler.postTask(), 'rejects:TypeError', { log: 'throws:TypeError', why: AT_ONCE }],
  ['a callback that is none', scheduler => scheduler.postTask({}), 'rejects:TypeError', { log: 'throws:TypeError', why: AT_ONCE }],
  ['options that are null', scheduler => scheduler.postTask(() => {}, null), 'runs'],
  ['options that are no object', scheduler => scheduler.postTask(() => {}, 5), 'rejects:TypeError', { log: 'throws:TypeError', why: AT_ONCE }],
  ['an unknown option', scheduler => scheduler.postTask(() => {}, { dealy: 5 }), 'runs', { log: 'throws:TypeError', why: 'it may be misspelled' }],
  ['an unknown priority', scheduler => scheduler.postTask(() => {}, { priority: 'urgent' }), 'rejects:TypeError', { log: 'throws:TypeError', why: AT_ONCE }],
  ['a priority of null', scheduler => scheduler.postTask(() => {}, { priority: null }), 'rejects:TypeError', { log: 'throws:TypeError', why: AT_ONCE }],
  ['a priority that is a number', scheduler => scheduler.postTask(() => {}, { priority: 3 }), 'rejects:TypeError', { log: 'runs', why: 'any finite number is a priority' }],
  ['a signal that is none', scheduler => scheduler.postTask(() => {}, { signal: {} }), 'rejects:TypeError', { log: 'throws:TypeError', why: AT_ONCE }],
  ['a negative delay', scheduler => scheduler.postTask(() => {}, { delay: -1 }), 'rejects:TypeError', { log: 'throws:RangeError', why: AT_ONCE }],
  ['a delay without end', scheduler => scheduler.postTask(() => {}, { delay: Infinity }), 'rejects:TypeError', { log: 'throws:RangeError', why: AT_ONCE }],
  ['a delay in letters', scheduler => scheduler.postTask(() => {}, { delay: '2' }), 'runs', { log: 'throws:TypeError', why: 'arguments are not converted' }],
  ['a delay of null', scheduler => scheduler.postTask(() => {}, { delay: null }), 'runs', { log: 'throws:TypeError', why: 'arguments are not converted' }],
  ['a delay in parts of ms', scheduler => scheduler.postTask(() => {}, { delay: 1.5 }), 'runs']
]
for (const [name, call, log, ours] of ARGUMENTS) {
  add(`postTask with ${name}`, async world => world.log(await howItFails(() => call(world.scheduler))), log, ours && { ours })
}

add('yield with options that are null', async world => world.log(await howItFails(() => world.scheduler.yield(null))), 'runs')
add('yield with options that are not an object', async world => world.log(await howItFails(() => world.scheduler.yield('inherit'))), 'runs',
  { ours: { log: 'throws:TypeError', why: AT_ONCE } })
