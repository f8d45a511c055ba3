/**
 * One use of each export, for pages whose built-ins were changed. The code takes no iterators of built-in
 * objects, because the smokes also run where these have been deleted.
 */

/** The modules, by the path of each from the root. */
export const MODULES = [
  'rt.mjs', 'alarms.mjs', 'sync.mjs', 'addons/adopt.mjs', 'addons/connect.mjs', 'addons/deadlock.mjs',
  'addons/preemptify.mjs', 'addons/reservations.mjs', 'addons/schedulable.mjs', 'addons/scheduler.mjs',
  'addons/shared.mjs', 'addons/workers.mjs'
]

/** Exports for the addons, and constants: other smokes use them. */
export const INTERNAL = [
  'Alarm', 'Cycle', 'EventHandler', 'Fifo', 'HANDLING', 'Handle', 'InterruptMask', 'JobSource', 'apply',
  'checkTarget', 'parametersOf', 'releaseOf', 'scriptAddress', 'startsJob', 'End', 'NOTHING', 'Supply', 'Turn',
  'withSignal', 'demandOf', 'percent', 'isModule', 'isOwnModule', 'schedulerOf', 'exclusiveRule',
  'forgetAhead', 'version'
]

/**
 * Resolves to the namespaces of the modules, in one object without a prototype.
 *
 * @param {string[]} [modules]
 */
export async function load(modules = MODULES) {
  const all = Object.create(null)
  for (let i = 0; i < modules.length; i++) {
    const namespace = await import(`../../${modules[i]}`)
    const names = Object.keys(namespace)
    for (let j = 0; j < names.length; j++) all[names[j]] = namespace[names[j]]
  }
  return all
}

/** @param {unknown} is @param {unknown} wanted */
function expect(is, wanted) {
  if (!Object.is(is, wanted)) throw new Error(`expected ${String(wanted)}, got ${String(is)}`)
}

/**
 * Whether an error has the wanted class.
 *
 * @param {() => any} act @param {any} Class
 */
function expectThrown(act, Class) {
  let thrown
  try {
    act()
  } catch (error) {
    thrown = error
  }
  if (!(thrown instanceof Class)) throw new Error(`expected a ${Class.name}, got ${String(thrown)}`)
}

/**
 * Two ends of an endpoint that calls the listeners of the other end.
 *
 * @param {'socket' | 'process'} kind a socket carries bytes, a child process carries JSON
 */
function pairOf(kind) {
  const isSocket = kind === 'socket'
  const makeEnd = () => {
    let listeners = []
    return Object.assign(isSocket ? { readyState: 1, binaryType: 'arraybuffer' } : {}, {
      other: null,
      addEventListener(type, listener) { listeners.push({ type, listener }) },
      removeEventListener(type, listener) { listeners = listeners.filter(entry => entry.listener !== listener) },
      fire(type, data) { listeners.slice().forEach(entry => { if (entry.type === type) entry.listener({ data }) }) },
      send(message) {
        const sent = isSocket ? message : JSON.parse(JSON.stringify(message))
        queueMicrotask(() => this.other.fire('message', sent))
      },
      close() { queueMicrotask(() => this.other.fire('close')) }
    })
  }
  const a = makeEnd(), b = makeEnd()
  a.other = b
  b.other = a
  return { a, b }
}

/** Some builds of WebKit have no SharedArrayBuffer. */
const hasSharedMemory = typeof SharedArrayBuffer !== 'undefined'

/** A message with all kinds of values that JSON cannot express. */
function variedMessage() {
  const map = new Map(), set = new Set(), holes = []
  map.set('key', { nested: [1, undefined] })
  set.add(-0)
  holes[2] = 'end'
  return {
    map, set, holes, dollar: { $: 1 }, date: new Date(5), error: new RangeError('no'), big: 12n, pattern: /a/g,
    bytes: new Uint8Array(70_000), text: 'text'
  }
}

/** @param {any} message a variedMessage that has arrived */
function expectVaried({ map, set, holes, dollar, date, error, big, pattern, bytes, text }) {
  const { nested } = map.get('key')
  expect(nested.length === 2 && nested[0] === 1 && nested[1] === undefined, true)
  expect(set.has(0) && set.size === 1 && holes.length === 3 && !(0 in holes) && holes[2] === 'end', true)
  expect(dollar.$ === 1 && date.getTime() === 5 && error instanceof RangeError && big === 12n, true)
  expect(pattern.flags === 'g' && bytes.length === 70_000 && text === 'text', true)
}

const works = `export function add(a, b) { return a + b }
export function fail() { throw new RangeError("no") }
export const typeOf = value => value.constructor.name
export const pass = value => value`
const loops = 'export const f = n => { let sum = 0; for (let i = 0; i < n; i++) sum += [1].map(x => x * i)[0]; return sum }'

/**
 * The smokes by export; each resolves, or throws.
 *
 * @param {any} all the exports
 * @returns {Record<string, () => any>}
 */
export function smokesOf(all) {
  const { rt } = all
  const smokes = {
    // rt.mjs
    async rt() {
      expect(await rt.spawn(function* (n) { yield; return n }, { deadline: 50, name: 'job' }, 3), 3)
      expect(await rt.spawn(async n => { await rt.yield(); return n }, { priority: 1 }, 4), 4)
      expect(await rt.spawn(function* () { return yield (function* () { yield; return 5 })() }), 5)
      expect(await rt.spawn(function* () { return yield Promise.resolve(6) }), 6)
      expect(await rt.spawn([{ method: n => n }, 'method'], {}, 7), 7)
      const error = await rt.spawn(() => { throw new RangeError('no') }).catch(error => error)
      expect(error instanceof RangeError, true)
      await rt.idle()
    },
    async Scheduler() {
      const seen = []
      const scheduler = new all.Scheduler({ slice: 1, round: 5, onError: error => seen.push(error) })
      const stop = scheduler.observe(() => {})
      const job = scheduler.spawn(function* () { yield }, { release: scheduler.now() + 1, wcet: 0, onOverrun() {} })
      await job
      scheduler.spawn(() => { throw new RangeError('no') })
      await scheduler.idle()
      expect(seen.length, 1)
      stop()
      scheduler.configure({ slice: 2 })
      expect(scheduler.stats().jobs, 2)
      expectThrown(() => scheduler.spawn(() => {}, { deadline: NaN }), RangeError)
      expectThrown(() => scheduler.spawn(() => {}, { unknown: 1 }), TypeError)
    },
    async Task() {
      class Sum extends all.Task {
        constructor(options) { super(options) }
        run(a, b) { return a + b }
      }
      expect(await new Sum({ priority: 2 }).release(1, 2), 3)
      expect(await new all.Task(function* (n) { yield; return n }, { deadline: 50 }).release(1), 1)
    },
    async Job() {
      const job = rt.spawn(function* () { yield new Promise(() => {}) })
      expect(job instanceof all.Job, true)
      expect(job.cancel('reason'), true)
      expect(await job.catch(reason => reason), 'reason')
      expect(job.state, 'cancelled')
    },
    edf: () => policy(all, all.edf),
    fp: () => policy(all, all.fp),
    rm: () => policy(all, all.rm),
    budget: () => rt.spawn(function* () { for (let i = 0; i < 3000; i++) if (--all.budget.left <= 0) yield }),
    async DeadlineError() {
      const job = rt.spawn(function* () { yield all.sleep(1e5) }, { deadline: 1, miss: 'abort' })
      expect(await job.catch(error => error instanceof all.DeadlineError), true)
    },
    async DeadlockError() {
      const a = new all.Mutex({ name: 'a' }), b = new all.Mutex({ name: 'b' }), met = new all.Barrier(2)
      const cross = (first, second) => function* () {
        yield first.use(function* () {
          yield met.wait()
          yield second.use(() => {})
        })
      }
      const one = rt.spawn(cross(a, b)).catch(error => error)
      const other = rt.spawn(cross(b, a)).catch(error => error)
      const first = await one, second = await other
      expect(first instanceof all.DeadlockError || second instanceof all.DeadlockError, true)
    },
    defaultHost: () => new Promise(resolve => all.defaultHost().post(resolve)),
    async extend() {
      const controller = new AbortController()
      const reasons = []
      all.extend.onAbort(controller.signal, reason => reasons.push(reason))
      controller.abort('reason')
      expect(reasons[0], 'reason')
      let hasEnded = false
      const job = rt.spawn(() => {})
      all.extend.ended(job, () => { hasEnded = true })
      await job
      expect(hasEnded, true)
    },
    // alarms.mjs
    after: () => new Promise(resolve => all.after(1, resolve)),
    at: () => new Promise(resolve => all.at(0, function* () { yield; resolve() }, { name: 'alarm' })),
    every: () => new Promise(resolve => {
      let count = 0
      all.every(1, () => { if (++count === 2) resolve() }, { count: 2, catchUp: 'all', phase: 0 })
    }),
    periodic: () => new Promise(resolve => {
      const task = all.periodic(function* () { yield; resolve() }, { period: 5, count: 1 })
      expect(task.jobs, 0)
    }),
    nextPeriod: () => new Promise(resolve => all.periodic(function* () {
      yield all.nextPeriod()
      resolve()
    }, { period: 1, count: 2 })),
    async sporadic() {
      const release = all.sporadic(n => n, { interarrival: 1, excess: 'queue' })
      expect(await release(1), 1)
    },
    async on() {
      const target = new EventTarget()
      const handled = new Promise(resolve => {
        const handle = all.on(target, 'ping', function* (value) { yield; resolve(value); handle.cancel() },
          { before: event => event.type, excess: 'queue' })
      })
      target.dispatchEvent(new Event('ping'))
      expect(await handled, 'ping')
    },
    async events() {
      const target = new EventTarget()
      const queue = all.events(target, 'ping', { size: 1, overflow: 'slide' })
      target.dispatchEvent(new Event('ping'))
      expect((await queue.receive()).type, 'ping')
      expect(queue.cancel(), true)
    },
    frames: () => typeof requestAnimationFrame === 'undefined'
      ? expectThrown(() => all.frames(() => {}), TypeError)
      : new Promise(resolve => {
        const handle = all.frames(() => { handle.cancel(); resolve() })
      }),
    async AsyncEvent() {
      const event = new all.AsyncEvent()
      const handled = new Promise(resolve => {
        event.handle(() => {}, { priority: 1 })
        event.handle(resolve)
      })
      event.fire('value')
      expect(await handled, 'value')
    },
    sleep: () => all.sleep(1),
    until: () => all.until(rt.now()),
    async timeout() {
      expect(await all.timeout(1e5, Promise.resolve(1)), 1)
      await all.timeout(1e5, rt.spawn(() => {}))
    },
    TimeoutError: () => all.timeout(1, new Promise(() => {})).catch(error => {
      expect(error instanceof all.TimeoutError, true)
    }),
    // sync.mjs
    async Channel() {
      const channel = new all.Channel(1, { name: 'channel' })
      const sender = rt.spawn(function* () {
        for (let i = 0; i < 5; i++) yield channel.send(i)
        channel.close()
      })
      let sum = 0
      await rt.spawn(() => channel.forEach(message => { sum += message }))
      await sender
      expect(sum, 10)
      const drops = new all.Channel(1, { overflow: 'drop' })
      expect(drops.offer(1), true)
      expect(drops.poll(), 1)
    },
    ChannelError() {
      const channel = new all.Channel()
      channel.close('reason')
      return channel.receive().catch(error => expect(error instanceof all.ChannelError, true))
    },
    async Mutex() {
      const mutex = new all.Mutex()
      const held = await mutex.lock()
      held.unlock()
      expect(await rt.spawn(function* () { return yield mutex.use(function* () { yield; return 1 }) }), 1)
    },
    OwnershipError: () => expectThrown(() => new all.Mutex().unlock(), all.OwnershipError),
    async Semaphore() {
      const semaphore = new all.Semaphore(1)
      await semaphore.acquire()
      semaphore.release()
      expect(await semaphore.use(() => 2), 2)
    },
    async Barrier() {
      const barrier = new all.Barrier(2)
      const one = rt.spawn(function* () { yield barrier.wait() })
      await rt.spawn(function* () { yield barrier.wait() })
      await one
    },
    async Resource() {
      const resource = new all.Resource({ name: 'resource' })
      const work = function* () { return yield resource.use(() => 3) }
      expect(await rt.spawn(work, { uses: [resource], deadline: 50 }), 3)
    },
    async choice() {
      const channel = new all.Channel(1)
      const chosen = await rt.spawn(function* () {
        return yield all.choice([
          { receive: channel }, { timeout: 1, action: () => 'late' }, { wait: new Promise(() => {}) }
        ], { fair: true })
      })
      expect(chosen.index, 1)
      expect(chosen.value, 'late')
      expect((await all.choice([{ send: channel, value: 1 }, { skip: true }])).index, 0)
    },
    async par() {
      const results = await rt.spawn(function* () { return yield all.par(() => 1, function* () { yield; return 2 }) })
      expect(results[0] + results[1], 3)
    },
    async race() {
      const { index } = await all.race(() => 1, function* () { yield all.sleep(1e5) })
      expect(index, 0)
    },
    nonPreemptive: async () => expect(await all.nonPreemptive(function* () { yield; return 1 }), 1),
    // addons
    async adopt() {
      const native = setTimeout
      const adopted = all.adopt(globalThis, { rules: { timer: { deadline: 50 }, event: { type: 'ping' } } })
      const isReplaced = setTimeout !== native
      await new Promise(resolve => setTimeout(resolve, 1))
      const target = new EventTarget()
      const heard = new Promise(resolve => target.addEventListener('ping', resolve, { once: true }))
      target.dispatchEvent(new Event('ping'))
      await heard
      const { length } = adopted.report()
      expect(adopted.cancel(), true)
      expect(isReplaced && length > 0 && setTimeout === native, true)
    },
    async connect() {
      const { port1, port2 } = new MessageChannel()
      const a = all.connect(port1, 'smoke', {}), b = all.connect(port2, 'smoke')
      const received = rt.spawn(function* () { return yield b.receive() })
      await a.send({ value: 1 })
      expect((await received).value, 1)
      a.close()
      b.close()
      const { port1: port, port2: moved } = new MessageChannel()
      const bare = all.connect(port2, 'ports')
      const arrived = rt.spawn(function* () { return yield bare.receive() })
      await all.connect(port1, 'ports').send(moved)
      expect((await arrived) !== moved, true)
      port.close()
      port1.close()
      for (let i = 0; i < 2; i++) {
        const ends = pairOf(i === 0 ? 'socket' : 'process')
        const over = all.connect(ends.a, 'varied'), under = all.connect(ends.b, 'varied')
        const taken = rt.spawn(function* () { return yield under.receive() })
        await over.send(variedMessage())
        expectVaried(await taken)
        over.close(['a', 'reason'])
        const closed = await under.receive().catch(error => error)
        expect(closed instanceof all.ChannelError && closed.reason[1] === 'reason', true)
      }
    },
    async accept() {
      const { a, b } = pairOf('socket')
      const served = new Promise((resolve, reject) => all.accept(b, session => {
        const echo = all.connect(session, 'echo')
        rt.spawn(function* () { yield echo.send(yield echo.receive()) }).then(resolve, reject)
      }))
      const line = all.connect(() => a, 'echo')
      await line.send(variedMessage())
      expectVaried(await line.receive())
      await served
      expect(line.close(), true)
    },
    async reportDeadlocks() {
      const scheduler = new all.Scheduler({ onError() {} })
      const stop = all.reportDeadlocks(scheduler)
      const job = scheduler.spawn(function* () { yield new all.Channel().receive() })
      expect((await scheduler.idle().catch(error => error)) instanceof all.DeadlockError, true)
      stop()
      job.cancel()
    },
    async preemptify() {
      const { preemptify } = all
      const sum = preemptify(function f(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum })
      expect(await rt.spawn(sum, {}, 5), 10)
      const each = preemptify(function f(list) { const out = []; list.forEach(x => { out.push(x) }); return out.length })
      expect(await rt.spawn(each, {}, [1, 2]), 2)
      const text = preemptify.source(loops, { runtime: new URL('../../addons/preemptify/runtime.mjs', import.meta.url).href })
      const module = await import(`data:text/javascript,${encodeURIComponent(text)}`)
      expect(module.f(5), 10)
      expect(await rt.spawn(module.f, {}, 5), 10)
      preemptify.report(loops)
      preemptify.report(function f() { for (;;) break })
    },
    async support() {
      expect(all.support.budget === all.budget, true)
      const text = all.preemptify.source(loops, { runtime: new URL('../../addons/preemptify.mjs', import.meta.url).href })
      expect((await import(`data:text/javascript,${encodeURIComponent(text)}`)).f(5), 10)
    },
    async Reservation() {
      const scheduler = new all.Scheduler({ policy: all.fp })
      const cpu = new all.Reservation({ capacity: 1, period: 10, kind: 'deferrable', scheduler })
      await scheduler.spawn(function* () { yield }, { reservation: cpu })
      cpu.resize({ capacity: 2 })
      expect(cpu.cancel(), true)
    },
    IoReservation: () => expect(new all.IoReservation({ utilization: 0.01 }).cancel(), true),
    AdmissionError: () => expectThrown(() => {
      const scheduler = new all.Scheduler()
      for (let i = 0; i < 2; i++) new all.Reservation({ capacity: 8, period: 10, scheduler })
    }, all.AdmissionError),
    admit: () => expect(all.admit([{ wcet: 1, period: 10 }], { scheduler: new all.Scheduler() }).utilization, 0.1),
    async interrupt() {
      const target = new EventTarget()
      const io = new all.IoReservation({ utilization: 0.1 })
      const handled = new Promise(resolve => {
        const handle = all.interrupt(target, 'ping', value => { resolve(value); handle.cancel() },
          { capacity: 5, period: 10, io, bottomHalf: event => event.type })
      })
      target.dispatchEvent(new Event('ping'))
      expect(await handled, 'ping')
      io.cancel()
    },
    loop: () => new Promise(resolve => {
      const loop = all.loop(function* () { yield; resolve(); loop.cancel() }, { capacity: 1, period: 10 })
      loop.job.catch(() => {})
    }),
    worstCaseDelay: () => expect(all.worstCaseDelay({ handler: { capacity: 1, period: 10 } }), 9),
    schedulable() {
      const tasks = [{ period: 10, wcet: 1, deadline: 10 }, { period: 20, wcet: 2, sections: [{ wcet: 1 }] }]
      expect(all.schedulable(tasks).schedulable, true)
      expect(all.schedulable(tasks, { policy: all.rm }).schedulable, true)
    },
    scheduler: async () => expect(await all.scheduler.postTask(() => 1, { priority: 'background', delay: 1 }), 1),
    async TaskController() {
      const controller = new all.TaskController({ priority: 'background' })
      const task = all.scheduler.postTask(() => 2, { signal: controller.signal })
      controller.setPriority('user-blocking')
      expect(await task, 2)
    },
    Latest() {
      const latest = new all.Latest({ value: 1 })
      latest.write({ value: 2 })
      expect(latest.read().value, 2)
      if (!hasSharedMemory) return
      const shared = new all.Latest(0, { shared: true, bytes: 80_000 })
      all.Latest.from(shared.buffer).write(variedMessage())
      expectVaried(shared.read())
    },
    async Ring() {
      const ring = new all.Ring(4)
      ring.write(1)
      expect(await ring.receive(), 1)
      if (!hasSharedMemory) return
      const shared = new all.Ring(2, { shared: true })
      const received = shared.receive()
      all.Ring.from(shared.buffer).write({ value: 2 })
      expect((await received).value, 2)
    },
    async SharedMutex() {
      if (hasSharedMemory) expect(await new all.SharedMutex().use(() => 1), 1)
    },
    async SharedSemaphore() {
      if (hasSharedMemory) expect(await new all.SharedSemaphore(1).use(() => 1), 1)
    },
    async Workers() {
      const workers = new all.Workers(`data:text/javascript,${encodeURIComponent(works)}`, { size: 1 })
      expect(await workers.run.add(1, 2), 3)
      const task = { wcet: 1, period: 100, deadline: 50 }
      expect(await workers.spawn('add', task, 3, 4), 7)
      expect((await workers.spawn('fail').catch(error => error)) instanceof RangeError, true)
      const { port1, port2 } = new MessageChannel()
      expect(await workers.run.typeOf(port2), 'MessagePort')
      port1.close()
      const stop = workers.observe(() => {})
      expect((await workers.run.pass(variedMessage())).map.size, 1)
      stop()
      workers.stats()
      await workers.close()
    }
  }
  return Object.assign(Object.create(null), smokes)
}

/** @param {any} all @param {any} policy */
async function policy(all, policy) {
  const scheduler = new all.Scheduler({ policy })
  const order = []
  const work = name => function* () { order.push(name); yield }
  scheduler.spawn(work('late'), { deadline: 90, priority: 1, period: 90 })
  scheduler.spawn(work('soon'), { deadline: 50, priority: 2, period: 50 })
  await scheduler.idle()
  expect(order[0], 'soon')
}

/**
 * Runs smokes one after the other.
 *
 * @param {Record<string, () => any>} smokes @param {string[]} names
 * @returns {Promise<string[]>} the failures
 */
export async function run(smokes, names) {
  const failures = []
  for (let i = 0; i < names.length; i++) {
    let timer
    try {
      await new Promise((resolve, reject) => {
        timer = setTimeout(reject, 10_000, new Error('no result within 10 s'))
        const smoke = async () => smokes[names[i]]()
        smoke().then(resolve, reject)
      })
    } catch (error) {
      failures.push(`${names[i]}: ${error?.message}`)
    } finally {
      clearTimeout(timer)
    }
  }
  return failures
}
