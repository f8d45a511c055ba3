// One example per export. The API page and the tests run each example; its last comment states the expected
// log.
import { adopt } from '../../addons/adopt.mjs'
import { accept, connect } from '../../addons/connect.mjs'
import { reportDeadlocks } from '../../addons/deadlock.mjs'
import { isModule, isOwnModule, preemptify } from '../../addons/preemptify.mjs'
import {
  IoReservation, Reservation, admit, interrupt, loop, worstCaseDelay
} from '../../addons/reservations.mjs'
import { AdmissionError, schedulable } from '../../addons/schedulable.mjs'
import { TaskController, scheduler, schedulerOf } from '../../addons/scheduler.mjs'
import { Latest, Ring, SharedMutex, SharedSemaphore } from '../../addons/shared.mjs'
import { Workers } from '../../addons/workers.mjs'
import {
  Alarm, AsyncEvent, TimeoutError, after, at, events, every, frames, nextPeriod, on, periodic, sleep, sporadic,
  timeout, until
} from '../../alarms.mjs'
import {
  DeadlineError, DeadlockError, Job, Scheduler, Task, budget, defaultHost, edf, fp, rm, rt
} from '../../rt.mjs'
import {
  Barrier, Channel, ChannelError, Mutex, OwnershipError, Resource, Semaphore, choice, nonPreemptive, par, race
} from '../../sync.mjs'

/**
 * Examples by the name of their export.
 *
 * @type {Record<string, (log: (...values: unknown[]) => void) => unknown>}
 */
export const examples = {
  async rt(log) {
    const slow = rt.spawn(function* () {
      for (let i = 0; i < 1000; i++) yield
      log('slow')
    }, { deadline: 1000 })
    rt.spawn(() => log('urgent'), { deadline: 10 })
    await slow
    // → urgent, slow
  },

  async Scheduler(log) {
    const scheduler = new Scheduler({ policy: fp, onMiss: job => log(`${job.name} is late`) })
    const stop = scheduler.observe(({ type, job }) => type === 'finish' && log(job.name))
    scheduler.spawn(() => {}, { name: 'low' })
    scheduler.spawn(() => {}, { name: 'high', priority: 5 })
    await scheduler.idle()
    stop()
    log(scheduler.stats().jobs)
    // → high, low, 2
  },

  async 'Scheduler.spawn'(log) {
    const counter = {
      count: 0,
      *add(n) {
        for (let i = 0; i < n; i++, yield) this.count++
        return this.count
      }
    }
    log(await rt.spawn([counter, 'add'], { deadline: 100 }, 3)) // a method
    log(await rt.spawn(async (a, b) => a + b, { deadline: 100 }, 2, 3))
    // → 3, 5
  },

  async Task(log) {
    class Count extends Task {
      *run(n) {
        for (let i = 0; i < n; i++) yield
        return n
      }
    }
    const task = new Count({ deadline: 500, miss: 'abort' })
    log(await task.release(100), await task.release(200))
    // → 100, 200
  },

  async Job(log) {
    const job = rt.spawn(function* () {
      try {
        for (;;) yield
      } finally {
        log('tidied up')
      }
    }, { name: 'endless' })
    await sleep(5)
    log(job instanceof Job, job.state)
    job.cancel()
    await job.catch(({ name }) => log(name))
    log(job.state)
    // → true, ready, tidied up, AbortError, cancelled
  },

  async 'Job.cancel'(log) {
    const job = rt.spawn(async () => {
      const { signal } = rt.current // pass it on, for example fetch(url, { signal })
      signal.onabort = () => log('aborted')
      await sleep(1000, { signal })
    })
    await sleep(5)
    job.cancel() // `using job = ...` does this at the end of the block
    await job.catch(({ name }) => log(name))
    // → aborted, AbortError
  },

  async budget(log) {
    const sum = rt.spawn(function* () {
      let sum = 0
      for (let i = 0; i < 1e6; i++) {
        sum += i
        if (--budget.left <= 0) yield
      }
      return sum
    })
    log(await sum)
    // → 499999500000
  },

  async edf(log) {
    const scheduler = new Scheduler({ policy: edf })
    scheduler.spawn(() => log('later'), { deadline: 200 })
    scheduler.spawn(() => log('sooner'), { deadline: 100 })
    await scheduler.idle()
    // → sooner, later
  },

  async fp(log) {
    const scheduler = new Scheduler({ policy: fp })
    scheduler.spawn(() => log('low'), { priority: 1 })
    scheduler.spawn(() => log('high'), { priority: 2 })
    await scheduler.idle()
    // → high, low
  },

  async rm(log) {
    const scheduler = new Scheduler({ policy: rm })
    scheduler.spawn(() => log('every 50 ms'), { period: 50 })
    scheduler.spawn(() => log('every 10 ms'), { period: 10 })
    await scheduler.idle()
    // → every 10 ms, every 50 ms
  },

  async preemptify(log) {
    const isPrime = preemptify(function isPrime(n) {
      for (let d = 2; d * d <= n; d++) if (n % d === 0) return false
      return true
    })
    log(await rt.spawn(isPrime, { deadline: 1000 }, 2 ** 31 - 1))
    // → true
  },

  async 'preemptify.import'(log) {
    const url = 'data:text/javascript,export const count = n => { let i = 0; while (i < n) i++; return i }'
    const { count } = await preemptify.import(url)
    log(count(10), await rt.spawn(count, { deadline: 1000 }, 1e6))
    // → 10, 1000000
  },

  'preemptify.source'(log) {
    const runtime = '/addons/preemptify/runtime.mjs'
    const text = preemptify.source('export function count(n) { while (n > 0) n-- }', { runtime })
    log(text.includes('budget'), text.includes(runtime))
    // → true, true
  },

  'preemptify.report'(log) {
    const text = 'class Text { get length() { let n = 0; for (const line of this.lines) n += line.length; return n } }'
    for (const { line, reason } of preemptify.report(text)) log(`line ${line}: ${reason}`)
    // → line 1: an accessor
  },

  isModule(log) {
    log(isModule('export const a = 1'), isModule('var a = 1'))
    // → true, false
  },

  isOwnModule(log) {
    log(isOwnModule(import.meta.resolve('../../rt.mjs')), isOwnModule('https://example.com/rt.mjs'))
    // → true, false
  },

  async schedulable(log) {
    const tasks = [{ wcet: 2, period: 5 }, { wcet: 4, period: 10 }]
    log(schedulable(tasks).schedulable, schedulable(tasks, { policy: rm }).response)
    // → true, [2,8]
  },

  async scheduler(log) {
    const task = scheduler.postTask(async () => {
      log('one')
      await scheduler.yield()
      log('two')
    })
    scheduler.postTask(() => log('background'), { priority: 'background' })
    await task
    await rt.idle()
    // → one, two, background
  },

  async schedulerOf(log) {
    const core = new Scheduler({ policy: fp, round: 2 })
    log(await schedulerOf(core).postTask(() => 42), core.stats().jobs)
    // → 42, 1
  },

  async TaskController(log) {
    const controller = new TaskController({ priority: 'background' })
    const task = scheduler.postTask(() => log('first'), { signal: controller.signal })
    scheduler.postTask(() => log('second'))
    controller.setPriority('user-blocking')
    await task
    await rt.idle()
    // → first, second
  },

  async defaultHost(log) {
    // A custom host: the default host, extended to count event-loop turns.
    const host = defaultHost()
    let turns = 0
    const scheduler = new Scheduler({ host: { ...host, post: (fn, goesOn) => { turns++; host.post(fn, goesOn) } } })
    await scheduler.spawn(() => {})
    log(turns)
    // → 1
  },

  async DeadlineError(log) {
    const job = rt.spawn(function* () { for (;;) yield }, { deadline: 5, miss: 'abort' })
    await job.catch(error => log(error instanceof DeadlineError, job.missed))
    // → true, true
  },

  async DeadlockError(log) {
    const left = new Mutex({ name: 'left' })
    const right = new Mutex({ name: 'right' })
    const both = new Barrier(2)
    const take = (one, other) => function* () {
      yield one.lock()
      yield both.wait()
      yield other.lock()
    }
    const results = await Promise.allSettled([rt.spawn(take(left, right)), rt.spawn(take(right, left))])
    log(results.some(({ reason }) => reason instanceof DeadlockError))
    // → true
  },

  async reportDeadlocks(log) {
    const core = new Scheduler()
    reportDeadlocks(core)
    core.spawn(function* () { yield new Channel().receive() }, { name: 'reader' })
    await core.idle().catch(({ message }) => log(message))
    // → deadlock: nothing can wake reader
  },

  async after(log) {
    after(5, () => log('a callback'))
    after(10, function* () { log('a job') }, { deadline: 5 })
    await sleep(20)
    await rt.idle()
    // → a callback, a job
  },

  async at(log) {
    at(rt.now() + 5, () => log('now'))
    await sleep(10)
    // → now
  },

  async every(log) {
    let ticks = 0
    await new Promise(resolve => every(5, () => ++ticks === 3 && resolve(), { count: 3 }))
    log(ticks)
    // → 3
  },

  async Alarm(log) {
    const alarm = after(5, () => log('never'))
    log(alarm instanceof Alarm, alarm.cancel(), alarm.time)
    // → true, true, undefined
  },

  async sleep(log) {
    const begin = rt.now()
    await rt.spawn(function* () { yield sleep(20) })
    log(rt.now() - begin >= 20)
    // → true
  },

  async until(log) {
    const time = rt.now() + 10
    await until(time)
    log(rt.now() >= time)
    // → true
  },

  async timeout(log) {
    const nobody = new Channel()
    await rt.spawn(function* () {
      try {
        yield timeout(5, nobody.receive())
      } catch ({ name }) {
        log(name)
      }
    })
    // → TimeoutError
  },

  async TimeoutError(log) {
    await timeout(5, sleep(1000)).then(null, error => log(error instanceof TimeoutError))
    // → true
  },

  async periodic(log) {
    let measured = 0
    await new Promise(resolve => periodic(function* measure() {
      if (++measured === 3) resolve()
    }, { period: 10, count: 3, excess: 'queue' }))
    log(measured)
    // → 3
  },

  async nextPeriod(log) {
    let rounds = 0
    const job = rt.spawn(function* () {
      for (;;) {
        if (++rounds === 3) return
        yield nextPeriod()
      }
    }, { period: 5 })
    await job
    log(rounds)
    // → 3
  },

  async sporadic(log) {
    const save = sporadic(function* save(text) { log(text) }, { interarrival: 1000, late: 'drop' })
    save('first')
    log(save('too early'))
    await rt.idle()
    // → null, first
  },

  async frames(log) {
    const time = await new Promise(resolve => {
      const drawing = frames(function* draw(time) {
        drawing.cancel()
        resolve(time)
      })
    })
    log(time > 0)
    // → true
  },

  async on(log) {
    const target = new EventTarget()
    const handling = on(target, 'shout', function* (text) { log(text) }, {
      deadline: 30, before: event => event.type.toUpperCase()
    })
    target.dispatchEvent(new Event('shout'))
    await rt.idle()
    handling.cancel()
    // → SHOUT
  },

  async events(log) {
    const target = new EventTarget()
    const keys = events(target, 'key')
    target.dispatchEvent(new Event('key'))
    await rt.spawn(function* () {
      const { type } = yield keys
      log(type)
    })
    keys.cancel()
    // → key
  },

  async adopt(log) {
    const page = adopt(globalThis, { rules: { timer: { deadline: 50 } } })
    const called = new Promise(resolve => setTimeout(function blink() { resolve(rt.current.deadline) }, 5))
    log(await called)
    page.release()
    log(page.report().find(({ name }) => name === 'blink').kind)
    // → 50, timer
  },

  async AsyncEvent(log) {
    const changed = new AsyncEvent()
    changed.handle(() => log('background'), { deadline: 1000 })
    changed.handle(() => log('urgent'), { deadline: 10 })
    changed.fire()
    await rt.idle()
    // → urgent, background
  },

  async Reservation(log) {
    const video = new Reservation({ capacity: 5, period: 20 })
    const decode = rt.spawn(function* () {
      for (const end = rt.now() + 10; rt.now() < end;) yield
    }, { reservation: video })
    await decode
    log(video.used > 0, video.utilization)
    video.resize({ capacity: 0 })
    // → true, 0.25
  },

  async IoReservation(log) {
    const io = new IoReservation({ utilization: 0.05 })
    const bumper = new EventTarget()
    await new Promise(resolve => {
      interrupt(bumper, 'hit', resolve, { capacity: 1, period: 10, io, once: true })
      bumper.dispatchEvent(new Event('hit'))
    })
    log(io.utilization)
    // → 0.05
  },

  async admit(log) {
    const scheduler = new Scheduler()
    admit([], { share: 0.8, scheduler })
    const first = new Reservation({ capacity: 5, period: 10, scheduler })
    try {
      new Reservation({ capacity: 4, period: 10, scheduler })
    } catch (error) {
      log(first.utilization, error instanceof AdmissionError)
    }
    // → 0.5, true
  },

  async AdmissionError(log) {
    try {
      admit({ wcet: 12, period: 10 }, { scheduler: new Scheduler() })
    } catch (error) {
      log(error instanceof AdmissionError)
    }
    // → true
  },

  async loop(log) {
    let turns = 0
    await new Promise(resolve => {
      const steering = loop(function* () {
        yield sleep(5)
        if (++turns < 3) return
        steering.cancel()
        resolve()
      }, { capacity: 2, period: 10 })
    })
    log(turns)
    // → 3
  },

  async interrupt(log) {
    const sensor = new EventTarget()
    const share = { capacity: 2, period: 10 }
    const handling = interrupt(sensor, 'change', function* ({ type }) { log(type) }, share)
    sensor.dispatchEvent(new Event('change'))
    await rt.idle()
    log(handling.reservation.utilization)
    handling.cancel()
    // → change, 0.2
  },

  worstCaseDelay(log) {
    log(worstCaseDelay({ handler: { capacity: 3, period: 10 }, io: { capacity: 2, period: 10 }, bottomHalf: 1 }))
    // → 16
  },

  async nonPreemptive(log) {
    const holder = rt.spawn(function* () {
      yield nonPreemptive(function* () {
        rt.spawn(() => log('urgent'), { deadline: 1 })
        yield
        log('in one piece')
      })
    })
    await holder
    await rt.idle()
    // → in one piece, urgent
  },

  async Resource(log) {
    const table = new Resource()
    await rt.spawn(function* () {
      log(yield table.use(function* () {
        yield
        return table.holder.name
      }))
    }, { name: 'writer', uses: [table] })
    // → writer
  },

  async Mutex(log) {
    const lock = new Mutex()
    const write = name => function* () {
      yield lock.use(function* () {
        log(`${name} begins`)
        yield sleep(2)
        log(`${name} ends`)
      })
    }
    rt.spawn(write('one'), { deadline: 50 })
    await rt.spawn(write('two'), { deadline: 100 })
    // → one begins, one ends, two begins, two ends
  },

  async Semaphore(log) {
    const seats = new Semaphore(2)
    await rt.spawn(function* () {
      yield seats.acquire()
      log(seats.available)
      seats.release()
    })
    // → 1
  },

  async Barrier(log) {
    const start = new Barrier(2)
    const runner = name => function* () {
      yield start.wait()
      log(name)
    }
    rt.spawn(runner('one'))
    await sleep(5)
    log('go')
    await rt.spawn(runner('two'))
    await rt.idle()
    // → go, one, two
  },

  async Channel(log) {
    const lines = new Channel()
    rt.spawn(function* () {
      for (const line of ['one', 'two']) yield lines.send(line)
      lines.close()
    })
    await rt.spawn(() => lines.forEach(line => log(line)))
    // → one, two
  },

  async ChannelError(log) {
    const lines = new Channel()
    lines.close('no more')
    await lines.receive().then(null, error => log(error instanceof ChannelError, error.reason))
    // → true, no more
  },

  async choice(log) {
    const orders = new Channel(1)
    const offers = new Channel()
    orders.offer('tea')
    await rt.spawn(function* () {
      const { index, value } = yield choice([
        { receive: orders, action: order => `${order} it is` },
        { send: offers, value: 5, when: false },
        { timeout: 100 }
      ])
      log(index, value)
    })
    // → 0, tea it is
  },

  async par(log) {
    const [left, right] = await par(
      function* () { return 'left' },
      function* () { yield sleep(5); return 'right' })
    log(left, right)
    // → left, right
  },

  async race(log) {
    const { index, value } = await race(sleep(500), function* () { return 'fast' })
    log(index, value)
    // → 1, fast
  },

  async Latest(log) {
    const distance = new Latest(0)
    distance.write(17)
    distance.write(18)
    log(distance.read())
    // → 18
  },

  async Ring(log) {
    const samples = new Ring(2)
    log(samples.write(1), samples.write(2), samples.write(3), samples.read())
    // → true, true, false, 1
  },

  async SharedMutex(log) {
    const lock = new SharedMutex()
    const same = SharedMutex.from(lock.buffer) // in a worker that received the buffer
    await rt.spawn(function* () {
      yield lock.use(function* () {
        log(same.locked)
        yield
      })
    })
    log(same.locked)
    // → true, false
  },

  async SharedSemaphore(log) {
    const seats = new SharedSemaphore(2)
    const same = SharedSemaphore.from(seats.buffer) // in a worker that received the buffer
    await seats.acquire()
    log(same.available)
    seats.release()
    log(same.available)
    // → 1, 2
  },

  async accept(log) {
    const open = () => {
      const { port1, port2 } = new MessageChannel() // a real program has sockets
      accept(port2, session => {
        const lines = connect(session, 'lines')
        rt.spawn(() => lines.forEach(log))
      })
      return port1
    }
    const lines = connect(open, 'lines')
    await lines.send('first')
    await lines.send('second')
    lines.close()
    // → first, second
  },

  async connect(log) {
    const { port1, port2 } = new MessageChannel()
    const here = connect(port1, 'numbers')
    const there = connect(port2, 'numbers') // for example in a worker
    const sent = rt.spawn(() => here.send(42))
    log(await there.receive())
    await sent
    here.close()
    there.close()
    port1.close()
    // → 42
  },

  async Workers(log) {
    const works = 'data:text/javascript,export function* count(n) { let i = 0; while (i < n) { i++; yield } return i }'
    const workers = new Workers(works, { size: 2 }) // pass the URL of your module
    log(await workers.spawn('count', { deadline: 1000 }, 1000))
    await workers.close()
    // → 1000
  },

  async OwnershipError(log) {
    try {
      new Mutex().unlock()
    } catch (error) {
      log(error instanceof OwnershipError)
    }
    // → true
  }
}

/**
 * Returns the text of an example: the body of its function, unindented.
 *
 * @param {string} name @returns {string}
 */
export const textOf = name => String(examples[name]).replace(/^[^{]*\{\n|\n[^\n]*$/g, '').replace(/^ {4}/gm, '')

/**
 * Runs one example.
 *
 * @param {string} name
 * @returns {Promise<{ said: string, wanted: string }>} `said`: the values that the example logged; `wanted`:
 *   the values that its last comment states
 */
export async function run(name) {
  /** @type {string[]} */
  const lines = []
  await examples[name]((...values) => {
    for (const value of values) lines.push(typeof value === 'object' ? JSON.stringify(value) : String(value))
  })
  return { said: lines.join(', '), wanted: /\/\/ → (.*)$/.exec(textOf(name))?.[1] ?? '' }
}
