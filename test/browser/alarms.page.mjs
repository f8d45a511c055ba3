import { rt, Scheduler } from '../../rt.mjs'
import {
  AsyncEvent, TimeoutError, after, at, every, frames, nextPeriod, on, periodic, sleep, sporadic, timeout, until
} from '../../alarms.mjs'
import { elapse, equal, inWorker, ok, rejection, test } from './page.mjs'
import { load } from './page-load.mjs'

/** Sets alarms within the next half second and asserts that no alarm fires early or out of order. */
async function manyAlarms(scheduler, count) {
  const begin = performance.now()
  const early = []
  const disordered = []
  let last = { time: -Infinity, index: -1 }
  let left = count
  await new Promise(resolve => {
    for (let index = 0; index < count; index++) {
      // The times are not random, so that a failure can be reproduced.
      const time = begin + (index * 48271 % 9973) / 20
      at(time, () => {
        const now = performance.now()
        if (now < time) early.push([time, now])
        const isNext = last.time < time || last.time === time && last.index < index
        // An alarm that was already due when it was set may fire after a later one.
        if (!isNext && time > set) disordered.push([last, { time, index }])
        last = { time, index }
        if (--left === 0) resolve(undefined)
      }, { scheduler })
    }
    const set = performance.now()
  })
  equal(early, [])
  equal(disordered, [])
}

test('thousands of alarms are never early, next to endless jobs', async () => {
  const scheduler = new Scheduler()
  const stop = load(scheduler)
  await manyAlarms(scheduler, 4000)
  await stop()
})

test('thousands of alarms are never early on an idle page', async () => {
  await manyAlarms(new Scheduler(), 2000)
})

test('successive alarms are never early by the clock that set them', async () => {
  const scheduler = new Scheduler()
  for (let i = 0; i < 60; i++) {
    const ms = i % 12 + i / 60
    const before = performance.now()
    const fired = await new Promise(resolve => { after(ms, () => resolve(performance.now()), { scheduler }) })
    // An alarm can fire exactly at a clock tick, and the difference of two times is rounded.
    ok(fired - before >= ms - 1e-6, `${ms} ms took ${fired - before}`)
  }
})

test('alarms fire during a round, while timers of the page wait for its end', async () => {
  // The round is longer than any pause of a busy machine. The budget is long, because a round also ends after
  // 1,000 budgets within one tick of the clock; WebKit's clock has ticks of 1 ms, in which a fast machine passes
  // 100,000 points.
  const scheduler = new Scheduler({ round: 2000, budget: 1000 })
  const order = []
  const job = scheduler.spawn(function* () {
    const end = performance.now() + 60
    after(10, () => { order.push('alarm') })
    setTimeout(() => { order.push('timer') }, 10)
    // A busy machine can pause the loop beyond its end.
    const isLate = () => order.length === 0 && performance.now() < end + 1000
    while (performance.now() < end || isLate()) yield
    order.push('job')
  })
  await job
  await elapse(20)
  equal(order, ['alarm', 'job', 'timer'])
})

for (const [title, busy] of [['on an idle page', false], ['beside jobs that never end', true]]) {
  test(`every does not drift ${title}`, async () => {
    const scheduler = new Scheduler()
    const stop = busy ? load(scheduler) : async () => {}
    const period = 7.3
    const times = []
    const note = time => { times.push([time, performance.now()]) }
    const alarm = every(period, note, { scheduler, catchUp: 'all', count: 40 })
    const first = alarm.time
    while (times.length < 40) await elapse(50)
    await stop()
    equal(times.map(([time]) => time), Array.from({ length: 40 }, (_, index) => first + index * period))
    equal(times.filter(([time, now]) => now < time), [])
    equal(alarm.time, undefined)
  })
}

test('jobs sleep until their times and never too briefly', async () => {
  const short = await rt.spawn(function* () {
    const found = []
    for (const ms of [0, 1, 3.5, 20]) {
      const before = performance.now()
      yield sleep(ms)
      if (performance.now() - before < ms) found.push(ms)
      const time = performance.now() + ms
      yield until(time)
      if (performance.now() < time) found.push(time)
    }
    return found
  })
  equal(short, [])
})

test('sleep can be awaited outside jobs', async () => {
  const before = performance.now()
  await sleep(10)
  ok(performance.now() - before >= 10)
})

test('a timeout returns a value in time and fails otherwise', async () => {
  const results = await rt.spawn(function* () {
    const found = [yield timeout(5000, elapse(5).then(() => 'in time'))]
    try {
      yield timeout(5, new Promise(() => {}))
    } catch (error) {
      found.push(error instanceof TimeoutError)
    }
    return found
  })
  equal(results, ['in time', true])
  const error = await rejection(timeout(5, new Promise(() => {})))
  equal(error.name, 'TimeoutError')
})

test('a periodic task is released on time, and a loop keeps its periods', async () => {
  const scheduler = new Scheduler()
  const stop = load(scheduler)
  const releases = []
  const periods = []
  let start
  const ends = [
    new Promise(resolve => {
      periodic(function* () {
        releases.push(scheduler.current.release)
        yield
        if (releases.length === 20) resolve(undefined)
      }, { period: 8, count: 20, excess: 'queue', scheduler })
    }),
    new Promise(resolve => {
      periodic(function* () {
        start = scheduler.current.release
        let index = 0
        while (periods.length < 20) {
          index += 1 + (yield nextPeriod())
          periods.push([scheduler.current.release, start + index * 9.1, performance.now()])
        }
        resolve(undefined)
      }, { period: 9.1, scheduler })
    })
  ]
  await Promise.all(ends)
  await stop()
  equal(releases, Array.from({ length: 20 }, (_, index) => releases[0] + index * 8))
  equal(periods.filter(([release, exact, now]) => release !== exact || now < release), [])
})

test('a sporadic task keeps its minimum interarrival time', async () => {
  const scheduler = new Scheduler()
  const work = function* () { return scheduler.current.release }
  const release = sporadic(work, { interarrival: 6.5, scheduler })
  const calls = Array.from({ length: 8 }, () => release())
  const called = performance.now()
  const times = await Promise.all(calls)
  // A busy machine can pause this thread between two calls. The later call then releases its job at once.
  const isRight = (time, previous) => time === previous + 6.5 || time > previous + 6.5 && time <= called
  equal(times.filter((time, index) => index > 0 && !isRight(time, times[index - 1])), [])
})

test('a job per animation frame has the time of the frame and is due at the next', async () => {
  if (typeof requestAnimationFrame !== 'function') {
    equal(inWorker, true)
    let error
    try {
      frames(function* () {})
    } catch (thrown) {
      error = thrown
    }
    return equal(error?.message, 'there are no animation frames here')
  }
  const scheduler = new Scheduler()
  const shown = []
  await new Promise(resolve => {
    const drawn = frames(function* (time) {
      const { release, absoluteDeadline } = scheduler.current
      shown.push({ time, release, absoluteDeadline, now: performance.now() })
      if (shown.length < 12) return
      drawn.cancel()
      resolve(undefined)
    }, { scheduler })
  })
  const count = shown.length
  await elapse(100)
  equal(shown.length, count)
  for (const [index, { time, release, absoluteDeadline, now }] of shown.entries()) {
    ok(release <= time && release <= now, `frame ${index} of ${time} was released at ${release}, ${now}`)
    ok(absoluteDeadline > time)
    if (index > 0) ok(time > shown[index - 1].time)
  }
})

test('an event releases a job with the time of the event', async () => {
  const scheduler = new Scheduler()
  const stop = load(scheduler)
  const target = new EventTarget()
  const log = []
  const handlers = [10_000, 1000].map(deadline => on(target, 'ping', function* (event) {
    const { release, started } = scheduler.current
    const isItsTime = release <= event.timeStamp && event.timeStamp - release < 1e-3
    log.push([deadline, event.type, isItsTime, started >= release])
  }, { scheduler, deadline }))
  target.dispatchEvent(new Event('ping'))
  while (log.length < 2) await elapse(1)
  for (const handler of handlers) handler.cancel()
  target.dispatchEvent(new Event('ping'))
  await elapse(20)
  await stop()
  equal(log, [[1000, 'ping', true, true], [10_000, 'ping', true, true]])
})

test('before() can extract the data of a message for its job', async () => {
  const { port1, port2 } = new MessageChannel()
  const got = new Promise(resolve => {
    on(port1, 'message', function* (data) { resolve(data) }, { before: ({ data }) => data, once: true })
  })
  port1.start()
  port2.postMessage({ text: 'hello' })
  equal(await got, { text: 'hello' })
  port1.close()
})

test('handlers of an AsyncEvent run by rank', async () => {
  const scheduler = new Scheduler()
  const event = new AsyncEvent({ scheduler })
  const order = []
  for (const deadline of [3000, 1000, 2000]) {
    event.handle(async value => {
      await scheduler.current?.yield()
      order.push([deadline, value])
    }, { deadline })
  }
  event.fire('value')
  while (order.length < 3) await elapse(1)
  equal(order, [[1000, 'value'], [2000, 'value'], [3000, 'value']])
})

test('cancelled and aborted alarms no longer fire', async () => {
  const scheduler = new Scheduler()
  const controller = new AbortController()
  const { signal } = controller
  let fired = 0
  const count = () => { fired++ }
  every(2, count, { scheduler, signal })
  periodic(function* () { count() }, { period: 2, phase: 5, scheduler, signal })
  after(10, count, { scheduler }).cancel()
  controller.abort()
  await elapse(50)
  equal(fired, 0)
})
