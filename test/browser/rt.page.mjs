import { scheduler } from '../../addons/scheduler.mjs'
import { budget, edf, fp, rt, Scheduler, Task } from '../../rt.mjs'
import { elapse, equal, ok, rejection, test } from './page.mjs'

test('a generator runs as a job and its result is awaited', async () => {
  const job = rt.spawn(function* (n) {
    let sum = 0
    for (let i = 1; i <= n; i++) {
      sum += i
      yield
    }
    return sum
  }, { name: 'sum', deadline: 1000 }, 1000)
  equal(job.name, 'sum')
  equal(await job, 500500)
  equal(job.state, 'done')
  ok(job.finished >= job.started && job.started >= job.release)
})

test('jobs finish in the order of their deadlines', async () => {
  const order = []
  const work = function* (name) {
    for (let i = 0; i < 100; i++) yield
    order.push(name)
  }
  const jobs = [30_000, 10_000, 20_000, Infinity].map(deadline => rt.spawn(work, { deadline }, deadline))
  await Promise.all(jobs)
  equal(order, [10_000, 20_000, 30_000, Infinity])
})

test('jobs finish in the order of their priorities', async () => {
  const scheduler = new Scheduler({ policy: fp })
  const order = []
  const task = new Task(function* (name) {
    yield
    order.push(name)
  }, { scheduler })
  const jobs = [-1, 1.5, 0, 7].map(priority => {
    const job = task.release(priority)
    job.priority = priority
    return job
  })
  await Promise.all(jobs)
  equal(order, [7, 1.5, 0, -1])
})

test('an urgent job preempts a long job at its next point', async () => {
  const order = []
  let points = 0
  let late
  const long = rt.spawn(function* () {
    for (;;) {
      if (++points === 1000) late = rt.spawn(function* () { order.push('urgent') }, { deadline: 10 })
      if (points === 5000) break
      yield
    }
    order.push('long')
  })
  await long
  await late
  equal(order, ['urgent', 'long'])
})

test('calls run at any depth, and promises and other jobs are awaited', async () => {
  const leaf = function* (n) {
    yield
    return n + 1
  }
  const deep = function* (n) {
    return n === 0 ? yield leaf(0) : (yield deep(n - 1)) + 1
  }
  const other = rt.spawn(function* () {
    yield
    return 'other'
  })
  const job = rt.spawn(function* () {
    const values = [yield deep(500), yield* leaf(1), yield Promise.resolve('promise')]
    values.push(yield elapse(5), yield other)
    try {
      yield Promise.reject(new Error('thrown here'))
    } catch (error) {
      values.push(error.message)
    }
    return values
  })
  equal(await job, [501, 2, 'promise', undefined, 'other', 'thrown here'])
})

test('a counted point lets other jobs run like a yield', async () => {
  let stop = false
  let rounds = 0
  const job = rt.spawn(function* () {
    while (!stop) {
      rounds++
      if (--budget.left <= 0) yield
    }
    return rounds
  })
  while (rounds <= 1000) await elapse(5)
  stop = true
  ok(await job > 1000)
})

test('a cancelled job runs its finally block and rejects', async () => {
  const events = []
  let begun = false
  const job = rt.spawn(function* () {
    try {
      for (;;) {
        begun = true
        yield
      }
    } finally {
      yield elapse(1)
      events.push('cleaned up')
    }
  })
  while (!begun) await elapse(5)
  job.cancel()
  const error = await rejection(job)
  equal(error.name, 'AbortError')
  equal(events, ['cleaned up'])
  equal(job.state, 'cancelled')
})

test('an abort signal cancels a job', async () => {
  const controller = new AbortController()
  const job = rt.spawn(function* () { for (;;) yield }, { signal: controller.signal })
  const rejected = rejection(job)
  await elapse(5)
  controller.abort(new Error('no longer wanted'))
  equal((await rejected).message, 'no longer wanted')
})

test('a job that throws does not affect other jobs', async () => {
  const failing = rt.spawn(function* () {
    yield
    throw new Error('alone')
  })
  const other = rt.spawn(function* () {
    for (let i = 0; i < 10; i++) yield
    return 'fine'
  })
  equal((await rejection(failing)).message, 'alone')
  equal(await other, 'fine')
})

test('an unhandled failure of a job is an unhandledrejection event', async () => {
  const heard = new Promise(resolve => {
    addEventListener('unhandledrejection', event => {
      event.preventDefault()
      resolve(event.reason)
    }, { once: true })
  })
  rt.spawn(function* () { throw new Error('not handled') })
  equal((await heard).message, 'not handled')
})

test('an async function runs as a job', async () => {
  const job = rt.spawn(async n => {
    const job = rt.current
    for (let i = 0; i < n; i++) await job.yield()
    await elapse(1)
    await job.yield()
    return n
  }, { deadline: 1000 }, 100)
  equal(await job, 100)
})

test('rt.yield continues in the order of the policy', async () => {
  const order = []
  const work = async deadline => {
    for (let i = 0; i < 3; i++) {
      await rt.yield({ deadline })
      order.push(deadline)
    }
  }
  await Promise.all([work(20_000), work(10_000)])
  equal(order, [10_000, 10_000, 10_000, 20_000, 20_000, 20_000])
})

test('scheduler.postTask runs by priority, then in order', async () => {
  const order = []
  const priorities = ['background', 'user-visible', 'user-blocking', 'background', 'user-blocking', undefined]
  const results = await Promise.all(priorities.map((priority, index) =>
    scheduler.postTask(() => (order.push(index), index * 2), { priority })))
  equal(order, [2, 4, 1, 5, 0, 3])
  equal(results, [0, 2, 4, 6, 8, 10])
  const controller = new AbortController()
  const task = scheduler.postTask(() => order.push('aborted'), { signal: controller.signal, delay: 5 })
  controller.abort()
  equal((await rejection(task)).name, 'AbortError')
})

test('timers fire while jobs never end', async () => {
  const jobs = [1, 2].map(() => rt.spawn(function* () { for (;;) yield }))
  for (let i = 0; i < 10; i++) await elapse(1)
  for (const job of jobs) job.cancel()
  await Promise.allSettled(jobs)
  ok(rt.stats().rounds > 5)
})

test('the default policy is edf, and idle() resolves after all tests', async () => {
  equal(new Scheduler().policy ?? edf, edf)
  await rt.idle()
  equal(rt.current, null)
})
